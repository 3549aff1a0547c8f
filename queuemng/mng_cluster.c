/* mng_cluster.c: starts and watches a queuemng; common/supervisor/cluster.h has the whole story. */
#include "common/supervisor/cluster.h"
#include "common/supervisor/cluster_args.h"

static const struct cfg_key keys[] = {
    CLUSTER_KEYS("queuemng", "127.0.0.1:7070", "1", "127.0.0.1:7071", "", "always"),
};

int main(int argc, char **argv)
{
    static const struct cluster_kind kind = {
        .program = "mng_cluster",
        .what = "starts and watches a queuemng",
        .child = "queuemng",
        .keys = keys,
        .shares_port = false,
    };

    return cluster_main(&kind, argc, argv);
}

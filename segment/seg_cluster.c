/* seg_cluster.c: starts and watches the segment nodes of this machine
 * (common/supervisor/cluster.h). */
#include "common/supervisor/cluster.h"
#include "common/supervisor/cluster_args.h"

static const struct cfg_key keys[] = {
    CLUSTER_KEYS("segment", "127.0.0.1:7200", "1", "127.0.0.1:7300", "127.0.0.1:7070", "auto"),
};

int main(int argc, char **argv)
{
    static const struct cluster_kind kind = {
        .program = "seg_cluster",
        .what = "starts and watches the segment nodes of this machine",
        .child = "segment",
        .keys = keys,
        .shares_port = false,
    };

    return cluster_main(&kind, argc, argv);
}

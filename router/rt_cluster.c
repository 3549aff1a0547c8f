/* rt_cluster.c: starts and watches the routers of this machine: see
 * common/supervisor/cluster.h. */
#include "common/supervisor/cluster.h"
#include "common/supervisor/cluster_args.h"

static const struct cfg_key keys[] = {
    CLUSTER_KEYS("router", "0.0.0.0:8080", "0", "127.0.0.1:7100", "127.0.0.1:7070", "auto"),
};

int main(int argc, char **argv)
{
    static const struct cluster_kind kind = {
        .program = "rt_cluster",
        .what = "starts and watches the routers of this machine",
        .child = "router",
        .keys = keys,
        .shares_port = true,
    };

    return cluster_main(&kind, argc, argv);
}

/* main.c: rt_cluster, seg_cluster, task_cluster and mng_cluster: supervisors (cluster.h) that differ in
 * what they start. The Makefile builds this file once for each: CLUSTER is its row. */
#include "common/supervisor/cluster.h"
#include "common/supervisor/cluster_args.h"

#define MANAGER "127.0.0.1:7070"

enum { rt_cluster, seg_cluster, task_cluster, mng_cluster };

static const struct cfg_key routers[] = {
    CLUSTER_KEYS("router", "0.0.0.0:8080", "0", "127.0.0.1:7100", MANAGER, "auto"),
};
static const struct cfg_key segments[] = {
    CLUSTER_KEYS("segment", "127.0.0.1:7200", "1", "127.0.0.1:7300", MANAGER, "auto"),
};
static const struct cfg_key tasks[] = {
    CLUSTER_KEYS("task", "127.0.0.1:7400", "1", "127.0.0.1:7500", MANAGER, "auto"),
};
static const struct cfg_key managers[] = {
    CLUSTER_KEYS("queuemng", MANAGER, "1", "127.0.0.1:7071", "", "always"),
};

static const struct cluster_kind kinds[] = {
    [rt_cluster] = { "rt_cluster", "starts and watches the routers of this machine", "router", routers,
                     .shares_port = true },
    [seg_cluster] = { "seg_cluster", "starts and watches the segment nodes of this machine", "segment",
                      segments, .shares_port = false },
    [task_cluster] = { "task_cluster", "starts and watches the task nodes of this machine", "task", tasks,
                       .shares_port = false },
    [mng_cluster] = { "mng_cluster", "starts and watches a queuemng", "queuemng", managers,
                      .shares_port = false },
};

int main(int argc, char **argv)
{
    return cluster_main(&kinds[CLUSTER], argc, argv);
}

/* cluster.h: the supervisor that rt_cluster, seg_cluster, task_cluster and mng_cluster are. Shell
 * around supervise.c and spawn.c; never in the data path.
 *
 * One configuration file; each child gets its node id (<name>.<i>), its addresses and
 * everything under `set` on its command line. One supervisor per name and state_dir (a
 * lock file). What runs is published in <state_dir>/<name>.status.json (written beside,
 * renamed).
 *
 * When the supervisor dies, also by kill -9, its children go on serving. A new one reads
 * the status file and takes every process over whose pid, start time and boot id are
 * those written there; children whose arguments differ from what the configuration says now,
 * or whose program's file is another one now, are then restarted, one after the other. After
 * start-up the supervisor does not exit by itself.
 *
 * HUP: reads its configuration again (a broken one is refused, the old one stays), passes
 * HUP to the children, starts and ends children when their number changed; restarts, one
 * after the other, those whose arguments or program have changed: so that is an upgrade.
 * TERM, INT: TERM to the children, waits, KILL after `grace`; then exits. */
#ifndef SEGQ_CLUSTER_H
#define SEGQ_CLUSTER_H

#include "common/config/cfg.h"

enum cluster_fork { CLUSTER_AUTO, CLUSTER_ALWAYS };

struct cluster_cfg {
    char *name;
    int64_t children;
    char *program;           /* "": `child` beside this program */
    char *config;            /* YAML of the children; "": none */
    char *listen, *admin;    /* addresses of child 0 */
    int64_t port_step;       /* child i listens on port + i * port_step */
    struct cfg_list managers;
    struct cfg_list set;     /* "KEY=VALUE" for every child */
    char *state_dir, *log_dir;
    int64_t grace_ms, ready_ms, restart_max_ms;
    int fork;                /* enum cluster_fork */
    int log_level;
    char *log_file;
};

struct cluster_kind {
    const char *program; /* "rt_cluster" */
    const char *what;    /* a line for -h */
    const char *child;   /* "router" */
    const struct cfg_key *keys;
    bool shares_port;    /* children may listen on one port (SO_REUSEPORT) */
};

/* All of main(). */
int cluster_main(const struct cluster_kind *k, int argc, char **argv);

#endif

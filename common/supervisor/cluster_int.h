/* cluster_int.h: the data of a supervisor. Only cluster*.c include it. */
#ifndef SEGQ_CLUSTER_INT_H
#define SEGQ_CLUSTER_INT_H

#include "common/supervisor/cluster.h"
#include "common/net/ev.h"
#include "common/supervisor/prog.h"
#include "common/supervisor/spawn.h"
#include "common/supervisor/supervise.h"

struct cluster;

struct child { /* owned by the cluster's array; freed by cluster_sweep() only */
    struct cluster *cl;        /* ref */
    unsigned index;
    char name[NAME_MAX_LEN + 12];
    struct sup_child sup;
    struct spawn_proc proc;
    struct ev_io *exit_io, *ready_io;
    struct ev_timer *timer;
    uint64_t args_hash;        /* hash for the process that runs */
    uint64_t wanted_hash;      /* hash for the configuration of now */
    char *listen, *admin;      /* owned; of the process that runs */
    int64_t since_s;           /* Unix time of the last change of state */
};

struct cluster {
    const struct cluster_kind *kind;
    struct prog prog;
    struct cluster_cfg cfg;
    struct sup_opts opts;
    struct ev *ev;
    struct rng rng;
    struct child **child;      /* owned; by index, without gaps */
    size_t n;
    int lock_fd;
    char status_path[4200], lock_path[4200], program_path[4200];
    bool dirty;                /* the status file is behind */
    bool write_failed;         /* said so already */
    bool ending, told_ready;
};

#endif

/* cluster_child.h: one child process of a supervisor: what is done to it. Shell. */
#ifndef SEGQ_CLUSTER_CHILD_H
#define SEGQ_CLUSTER_CHILD_H

#include "common/net/ev.h"
#include "common/supervisor/cluster.h"
#include "common/supervisor/cluster_status.h"
#include "common/supervisor/program.h"
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

struct child *child_new(struct cluster *cl, unsigned index); /* NULL: no memory */
void child_free(struct child *c);
/* Puts an event into the table; performs the act. */
void child_feed(struct child *c, enum sup_event ev);
/* Takes a process of an earlier supervisor over; false: it is gone. */
bool child_adopt(struct child *c, const struct cluster_entry *was);
/* Notes what the configuration says now; the roll restarts it if that differs. */
void child_want(struct child *c);
void child_entry(const struct child *c, struct cluster_entry *out);

#endif

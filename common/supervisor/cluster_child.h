/* cluster_child.h: one child process of a supervisor: what is done to it. Shell. */
#ifndef SEGQ_CLUSTER_CHILD_H
#define SEGQ_CLUSTER_CHILD_H

#include "common/base/base.h"
#include "common/base/err.h"
#include "common/net/ev.h"
#include "common/supervisor/cluster.h"
#include "common/supervisor/program.h"
#include "common/supervisor/spawn.h"
#include "common/supervisor/supervise.h"

/* The status file of a supervisor. */

struct cluster_entry { /* a child */
    char name[NAME_MAX_LEN + 12];
    char state[20];
    int64_t pid;         /* 0: none */
    uint64_t start_ticks;
    uint64_t restarts;
    uint64_t args_hash;  /* with the identity of the program's file */
    int64_t since_s;     /* Unix time of the last change of state */
    char listen[80], admin[80];
};
struct cluster_status {
    char name[NAME_MAX_LEN + 1];
    int64_t pid;         /* pid of the supervisor */
    struct cluster_entry *v; /* owned */
    size_t n;
};
SQ_CHECK int cluster_status_write(const char *path, const struct cluster_status *s,
                                  struct err *e);
/* A missing file, or one of an earlier boot, is an empty status. */
SQ_CHECK int cluster_status_read(const char *path, struct cluster_status *s,
                                 struct err *e);

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

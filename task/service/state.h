/* state.h: the state of the task process: its links, its table, what it counts. Data only.
 *
 *   service.c  start, the end of a turn, stop
 *   links.c    links that come and go; messages in and out
 *   journal.c  what must not be forgotten
 *   metrics.c  the page for Prometheus */
#ifndef SEGQ_TASK_STATE_H
#define SEGQ_TASK_STATE_H

#include "common/base/list.h"
#include "common/http/admin.h"
#include "common/net/rpc.h"
#include "task/service/journal.h"

#define TASK_MANAGERS 16

struct task_peer { /* a live channel; its data */
    struct list_node node; /* task_service.peers */
    peer_no no;
    struct rpc_chan *ch; /* ref */
    enum rpc_role role;
};

struct task_shell_counts { /* ever; for metrics */
    uint64_t frames;     /* of routers and managers */
    uint64_t bad_frames; /* damaged, or not allowed from that peer */
    uint64_t unknown;    /* types */
    uint64_t unsent;     /* messages that were dropped: peer gone, or too large */
    uint64_t late_turns; /* more than a second after they were due */
};

struct task_service {
    struct ev *ev;             /* ref */
    struct rpc *rpc;           /* owned, like all below */
    struct admin *admin;
    struct tasktab *tab;
    struct keeper *keeper;     /* NULL: nothing survives the process */
    struct bodies *bodies;
    struct ev_timer *tick, *clock, *gone;
    struct rpc_link *manager[TASK_MANAGERS];
    size_t n_managers;
    struct list peers;         /* of struct task_peer */
    peer_no last_peer;
    struct arena mem;          /* of the frame at hand */
    struct outbox out;
    struct task_shell_counts n;
    uint64_t recovered;        /* tasks, at the start */
    uint8_t seed[NAMES_SEED];
    uint32_t max_tasks, max_keys;
    msec_t wall_ms, began_ms;  /* at the start: of the wall, of the loop: the node's axis */
    msec_t clock_ms;           /* when the clock is due; 0: not */
    bool ready, stopping;
    struct {                   /* by a standby manager, in this turn; "" = nothing */
        char addr[64], name[NAME_MAX_LEN + 1];
    } told_leader;
    char advertise[64];
    void (*on_ready)(void *ctx);
    void (*on_gone)(void *ctx);
    void *ctx;
};

/* The current one may be removed and freed. */
#define each_task_peer(s, p) list_each_of(&(s)->peers, struct task_peer, node, p)

/* The node's axis: the wall clock at the start, and monotonic from there. */
static inline struct task_now task_service_now(const struct task_service *s)
{
    return (struct task_now){ s->wall_ms + ev_now(s->ev) - s->began_ms, ev_wall_ms(s->ev) };
}

/* The same, read anew: a delay runs from when it was asked for, not from the turn's begin. */
static inline struct task_now task_service_read_now(const struct task_service *s)
{
    return (struct task_now){ s->wall_ms + ev_read_mono_us() / 1000 - s->began_ms,
                              ev_read_wall_ms() };
}

#endif

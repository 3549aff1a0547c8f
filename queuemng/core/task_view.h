/* task_view.h: views of task queues' pools, partitions, endpoints and nodes, and of budgets: for the admin
 * API, metrics, the simulation. Good as those of view.h are. */
#ifndef SEGQ_QUEUEMNG_CORE_TASK_VIEW_H
#define SEGQ_QUEUEMNG_CORE_TASK_VIEW_H

#include "common/task/state.h"
#include "common/wire/msg_task_manager.h"
#include "queuemng/core/view.h"
#include "queuemng/policy/claim.h"

struct budget_def;
struct endpoint_def;
struct pool_def;

struct mng_target_place {
    const char *url, *address; /* address: by `discover`; "": none */
};

struct mng_probe_view { /* the last probe by hand, at one node */
    const char *node;
    struct mng_target_place target; /* url "": the endpoint has a url of its own */
    bool there, heard;   /* has a link; has said something of this probe */
    uint8_t state;       /* enum probe_state: ASKED while it has not said anything */
    uint64_t ms;
    const char *said;
};

struct mng_readings { /* words of its page of metrics (task/calls/throttle.h) */
    uint32_t closed, narrowed, blind; /* nodes by whose reading it is */
    const char *said; /* by one of these, if there is one; "" */
};

struct mng_told_view { /* by answers: so many are left of a quota, for so long; ms 0: they say nothing */
    uint64_t left, ms;
};

struct mng_endpoint_view {
    const struct endpoint_def *def;
    uint64_t version;
    uint32_t nodes, open, half_open; /* nodes that call it; of these, with an open breaker, or trying */
    const char *unusable; /* why a node cannot call it as it is defined; "" */
    bool tripped;
    uint64_t probe; /* the number of the last one by hand; 0: none since this manager leads */
    struct mng_readings readings;
    struct mng_told_view told[TOLD_MAX];
    const struct meter *meter; /* calendar windows of UNIT_RATES_MAX rates; number 0: none */
    struct endpoint_row sum; /* sum of what was reported last; texts are not set */
};

struct mng_target_view {
    const char *url, *address; /* address: of the url's name, by `discover`; "": all that it has */
    uint64_t max_concurrent, weight, slots; /* max_concurrent 0: any; slots: that nodes may use now */
    const struct cfg_list *rates; /* struct unit_rate_def */
    bool draining, gone;     /* gone: not in the definition any more, and not yet empty */
    uint32_t nodes, open, half_open;
    const char *unusable;    /* see mng_endpoint_view */
    struct mng_readings readings;
    struct mng_told_view told[TOLD_MAX];
    const struct meter *meter;
    struct endpoint_row sum;
};
/* Lists the targets of an endpoint that has several, by their numbers. */
void mng_each_target(const struct mng *m, const char *name, mng_each_fn fn, void *ctx);
/* The url of the endpoint's target of this number, and its address; "": not known. */
struct mng_target_place mng_target_place(const struct mng *m, const char *name, uint32_t no);

struct mng_name_view { /* a name whose addresses are targets */
    const char *url;
    unsigned addresses, targets, left_out; /* targets: of these, fewer while numbers of such that have gone are in use */
    msec_t heard_ms, next_ms; /* since its last answer with an address, -1: none; until it is asked for again */
    const char *why;          /* no answer, or none with all that counts: reason; "" */
    uint64_t failing_ms;      /* since when that is so; 0: it is not */
};
/* Lists names of an endpoint's targets with `discover`. */
void mng_each_name(const struct mng *m, const char *endpoint, mng_each_fn fn, void *ctx);

bool mng_endpoint_tripped(const struct mng *m, const char *name); /* false also: there is none */

struct mng_pool_view {
    const struct pool_def *def;
    part_no id; /* number of a partition of it, which no other pool ever has */
    uint64_t version;
    uint32_t partitions, away;  /* away: of them, not in service now */
    bool paused;
    uint64_t warn_waiting;      /* bound of its definition; 0: any number may wait */
    double rate_per_s;          /* by metrics; < 0: it has no such limits */
    const char *limited_by;     /* the metric; "fallback" */
    struct part_status_row sum; /* sum of what was reported last */
    struct waits waits;         /* likewise */
};

/* More wait than the operator wants to hear nothing of. */
static inline bool mng_is_crowded(const struct mng_pool_view *v)
{
    return v->warn_waiting != 0 && v->sum.waiting > v->warn_waiting;
}

/* Counts of those in line what no limit, pause or endpoint holds up: only workers are missing. */
uint64_t mng_lacks_workers(const struct mng_pool_view *v);

struct mng_part_view {
    const char *pool, *node; /* node: "" if nobody has it yet */
    const char *to;          /* the node to which it moves; "" */
    uint32_t share;
    bool up;                 /* in service at its node */
    bool paused;             /* pause of its pool: nothing is taken */
    const char *endpoint;    /* endpoint that the pool's tasks are calls to; "": none */
    bool targeted;           /* which has several targets */
    peer_no peer;            /* the link to that node; 0: none */
    struct part_status_row st;
};

struct mng_task_node_view {
    node_no no;
    const char *name, *addr, *admin, *region, *zone;
    uint64_t incarnation;
    bool up, draining;
    msec_t silent_ms;
    uint32_t partitions, moving; /* moving: of them, to another node */
};

struct mng_part_moves { /* moves of partitions to other nodes, since this manager leads */
    uint64_t running, done, aborted;
};
struct mng_part_moves mng_part_moves(const struct mng *m);

/* False: there is none of this number. */
bool mng_part(const struct mng *m, part_no no, struct mng_part_view *v);
/* The partitions that may have tasks of a queue: first where routers send them now, then those of other
 * pools that its name matches, which had it before there was a closer one. */
void mng_each_part_of(const struct mng *m, const char *queue, mng_each_fn fn, void *ctx);
void mng_each_pool(const struct mng *m, mng_each_fn fn, void *ctx);
void mng_each_part(const struct mng *m, const char *match, mng_each_fn fn, void *ctx);
void mng_each_endpoint(const struct mng *m, mng_each_fn fn, void *ctx);
/* Lists its last probe by hand, for each node that calls it. */
void mng_each_probe(const struct mng *m, const char *name, mng_each_fn fn, void *ctx);
void mng_each_task_node(const struct mng *m, mng_each_fn fn, void *ctx);

struct mng_budget_view {
    const struct budget_def *def;
    uint64_t version;
    const char *limited_by;    /* the metric; "fixed", "fallback"; "" without a rate */
    struct bears whole, used;  /* now; ENDPOINT_ANY: any. used: the sum of its members' */
    const struct meter *meter; /* calendar windows of UNIT_RATES_MAX rates; number 0: none */
    struct bears held;         /* part that cannot be given to others: release/budgets.h */
    struct endpoint_row sum;   /* used[]: units that are gone from the room of each of its rates in units */
};
void mng_each_budget(const struct mng *m, mng_each_fn fn, void *ctx);

struct mng_member_view {
    const char *kind, *name; /* "queue", "endpoint" */
    int64_t weight;
    struct bears part, used, held;
};
void mng_each_member(const struct mng *m, const char *budget, mng_each_fn fn, void *ctx);

#endif

/* view.h: views of the manager's objects: for the admin API, metrics, the simulation. A view is
 * good for the time of the call; a copy of it, until the manager takes its next step. */
#ifndef SEGQ_QUEUEMNG_CORE_VIEW_H
#define SEGQ_QUEUEMNG_CORE_VIEW_H

#include "common/wire/msg_segment_manager.h"
#include "queuemng/chain/move.h"
#include "queuemng/policy/joins.h"
#include "queuemng/state/out.h"

struct eta_errors;
struct mng;
struct mng_counts;

struct mng_seg_view {
    seg_id id;
    const char *node;       /* name of it */
    int state;              /* SEG_OPEN or SEG_SEALED */
    uint32_t capacity;
    struct seg_status st;   /* last report */
    uint64_t ahead;
    bool reachable, lost, rebuild;
    uint64_t move;          /* 0 = none */
};

struct mng_lane_view {
    queue_id queue;
    const char *queue_name, *lane;
    unsigned lane_no;
    uint64_t waiting, returning, ready, active, released, joined, left, expired, no_shows;
    double rate_per_s;      /* rate that this lane gets now, smoothed */
    double eta_per_s;
    double eta_last_s;      /* wait of the last in line; 0: nobody waits; -1: not known */
    const char *eta_reason; /* why not; or why it is not as told before; NULL: as told */
    size_t n_segs, n_aliases;
    size_t n_away;          /* part of n_segs: lost, or being rebuilt */
    uint64_t missing;       /* people of those who are not back yet, at most */
};

struct mng_queue_view {
    queue_id id;
    const struct queue_def *def;
    const char *public_state; /* state in GET /v1/queues/{queue} */
    uint64_t version;
    double allowed_per_s;
    char limited_by[NAME_MAX_LEN + 1];
    uint64_t inside;        /* people, at most */
    uint64_t inside_flushed; /* part of them released before the last flush */
    int64_t flushed_until_ms; /* wall clock: until then they count; 0: nobody does */
    int64_t opens_ms, closed_ms; /* Unix ms; 0: it waits for no opening; it was not closed by the clock */
    uint64_t granted;       /* releases ever allowed (credits) */
    const struct flood *flood; /* joins, and whether they need a challenge */
    uint32_t suspects;         /* address prefixes, of each router */
    bool push_none;            /* pools_push_none() */
    double claim_rate, boost; /* share of the released that come; what is made of it */
    struct mng_shadow_view {
        uint64_t waiting, joined, would_wait; /* now; ever; those of them that waited more than a second */
        msec_t wait_ms, longest_ms;           /* longest that anybody waits now; ever */
        double allowed_per_s;
        char limited_by[NAME_MAX_LEN + 1];
    } shadow;
    bool has_shadow;
};

struct mng_node_view {
    node_no no;
    const char *name, *addr, *admin, *region, *zone;
    uint64_t incarnation;
    bool up, draining, retired; /* retired: drained and gone */
    msec_t silent_ms;
    msec_t forget_in_ms;        /* by itself; -1: it is not */
    uint64_t tickets, max_tickets;
    uint32_t segments, max_segments;
    struct drain_state drain; /* draining: how far it is */
};

struct mng_router_view {
    const char *name, *http, *admin, *region, *zone;
    uint64_t incarnation, map_version;
};

struct mng_suspect_view { /* word of one router */
    const char *queue;
    const struct suspect_row *row;
};

struct mng_move_view {
    uint64_t id;
    seg_id from, to;
    const char *state;
    uint32_t tickets;
};

struct mng_metric_view {
    const char *name;
    bool ok;
    double value;
    msec_t age_ms; /* -1: never read */
    const char *why; /* if not ok */
};

struct mng_place_view { /* where a token's segment is */
    const char *queue, *lane, *node;
    seg_id segment; /* segment itself, or the one that has absorbed it */
    bool reachable, rebuild, moving;
    bool prequeue; /* before the queue opens: places are drawn then */
};

typedef void (*mng_each_fn)(void *ctx, const void *view);

/* False: nowhere. */
bool mng_place(const struct mng *m, seg_id seg, struct mng_place_view *v);
void mng_each_queue(const struct mng *m, mng_each_fn fn, void *ctx);
/* 0 = all. */
void mng_each_lane(const struct mng *m, queue_id q, mng_each_fn fn, void *ctx);
void mng_each_seg(const struct mng *m, queue_id q, unsigned lane, mng_each_fn fn,
                  void *ctx);
/* The sum of a queue's lanes, with the estimate of the slowest one. */
struct mng_lane_view mng_queue_sum(const struct mng *m, queue_id q);
/* People in line; 0 also if there is no such queue. */
uint64_t mng_queue_waiting(const struct mng *m, const char *queue);
void mng_each_node(const struct mng *m, mng_each_fn fn, void *ctx);
void mng_each_suspect(const struct mng *m, mng_each_fn fn, void *ctx);
void mng_each_router(const struct mng *m, mng_each_fn fn, void *ctx);
void mng_each_move(const struct mng *m, mng_each_fn fn, void *ctx);
void mng_each_metric(const struct mng *m, msec_t now_ms, mng_each_fn fn, void *ctx);
/* Errors of the waiting times that people were told. */
const struct eta_errors *mng_eta_errors(const struct mng *m);
void mng_count(const struct mng *m, struct mng_counts *c);

#endif

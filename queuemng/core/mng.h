/* mng.h: the manager's whole brain: members, chains, placement, moves, release. Pure.
 * The shell (mng_service.c) and the simulation feed it the same events.
 *
 * What it must not forget (epoch, next ids, queue definitions, chains, aliases) leaves as
 * MNG_PUT / MNG_DEL acts; the messages that depend on them come after them in the same
 * list: the shell makes the puts durable before it sends anything that follows. A new
 * mng is fed the stored pairs by mng_load() before its first step. Everything else is
 * rebuilt from what the segment nodes report. */
#ifndef SEGQ_MNG_H
#define SEGQ_MNG_H

#include "common/wire/outbox.h"
#include "queuemng/policy/eta_lane.h"
#include "queuemng/policy/queue_def.h"

struct mng;

struct mng_opts {
    uint32_t tick_ms;        /* of the release controller; 0 = 100 */
    uint32_t lost_after_ms;  /* a silent node's segments are given up; 0 = 30 s */
    uint32_t skip_after_ms;  /* releases skip an unreachable head; 0 = 5 s */
    uint32_t forget_after_ms; /* a drained node that is gone is forgotten; 0 = 5 min */
    uint32_t undo_ms;        /* a deleted queue can be restored; 0 = 10 min */
    const char *issuer;      /* "iss" of passes; NULL = "segq" */
    uint64_t seed;
    uint8_t secret[DRAW_SEED]; /* random; seeds of draws are made from it */
};

struct mng *mng_new(const struct mng_opts *o); /* NULL: no memory */
void mng_free(struct mng *m);

enum mng_act_kind { MNG_SEND, MNG_PUT, MNG_DEL };
struct mng_act {
    enum mng_act_kind kind;
    uint32_t item;            /* MNG_SEND: index into out->box.v */
    const char *key;          /* MNG_PUT, MNG_DEL */
    const char *val;          /* MNG_PUT: JSON text */
};
struct mng_out {
    struct outbox box;
    struct mng_act *act;
    uint32_t n, cap;
};
/* If box.failed is set after a step, there was no memory to note down what the core has
 * decided. Then nothing of that step may be stored or sent, and the core is of no use any
 * more: the shell makes another one from what is stored, as after a restart. */
void mng_out_init(struct mng_out *o);
void mng_out_fini(struct mng_out *o);
void mng_out_reset(struct mng_out *o);

/* Stored pairs, in any order, then mng_start() once: takes the next epoch. */
SQ_CHECK int mng_load(struct mng *m, const char *key, const char *val, struct err *e);
void mng_start(struct mng *m, msec_t now_ms, int64_t wall_ms, struct mng_out *out);
/* Before mng_start(): the epoch was given with the lease, in place of the next one. */
void mng_set_epoch(struct mng *m, uint64_t epoch);
/* 0, or: nodes obey this epoch, or (if it is ours) another manager under it. A leader that
 * finds itself here has to take a higher one. */
uint64_t mng_outranked(const struct mng *m);
/* Nodes are there, and all of them obey managers that have another store. */
bool mng_is_stranger(const struct mng *m);

/* Peers are numbered by the shell. */
void mng_peer_up(struct mng *m, msec_t now_ms, peer_no p, int role, const char *node,
                 uint64_t incarnation, struct mng_out *out);
void mng_peer_down(struct mng *m, msec_t now_ms, peer_no p, struct mng_out *out);
void mng_msg(struct mng *m, msec_t now_ms, peer_no p, const struct msg *msg,
             struct mng_out *out);
/* Every tick_ms. */
void mng_tick(struct mng *m, msec_t now_ms, int64_t wall_ms, struct mng_out *out);
/* A reading of a monitor: queuemng/policy/release.h validates it. */
void mng_reading(struct mng *m, msec_t now_ms, const char *metric, double value,
                 msec_t taken_ms);
/* The monitors that there are (at most MNG_METRICS_MAX; without this call: any). From now on
 * no definition may begin to name another one; one that a queue names already is said to be
 * missing, one that nobody names is forgotten. */
#define MNG_METRICS_MAX 32
void mng_metrics_set(struct mng *m, msec_t now_ms, const char *const *names, size_t n);
void mng_reading_failed(struct mng *m, msec_t now_ms, const char *metric, const char *why);

/* ---- orders of operators: 0, or SQ_EUNKNOWN, SQ_ECONFLICT, SQ_EINVAL with a sentence. */
SQ_CHECK int mng_queue_put(struct mng *m, msec_t now_ms, const struct queue_def *d,
                           struct mng_out *out, struct err *e); /* create or replace */
struct mng_deleted_view {
    const char *name;
    int64_t until_ms;         /* wall clock: until then it can be restored; 0: no more */
    uint64_t waiting, inside; /* people */
};
/* Not final: nobody joins or is let in, everybody keeps what he has, and it can be restored
 * for undo_ms. Final: everybody is gone, also of one that was deleted before. */
SQ_CHECK int mng_queue_delete(struct mng *m, msec_t now_ms, const char *name, bool final,
                              struct mng_deleted_view *v, struct mng_out *out,
                              struct err *e);
SQ_CHECK int mng_queue_restore(struct mng *m, msec_t now_ms, const char *name,
                               struct mng_out *out, struct err *e);
/* NULL: unknown. version: of the definition, for ETags. */
const struct queue_def *mng_queue_get(const struct mng *m, const char *name,
                                      uint64_t *version);
enum mng_order {
    MNG_PAUSE,
    MNG_RESUME,
    MNG_CLOSE,
    MNG_OPEN,
    MNG_PASSTHROUGH,
    MNG_REJECT,
    MNG_FLUSH
};
SQ_CHECK int mng_order(struct mng *m, msec_t now_ms, const char *queue, enum mng_order o,
                       struct mng_out *out, struct err *e);
SQ_CHECK int mng_release(struct mng *m, msec_t now_ms, const char *queue, uint64_t n,
                         struct mng_out *out, struct err *e);
SQ_CHECK int mng_drain(struct mng *m, msec_t now_ms, const char *node, bool on,
                       struct mng_out *out, struct err *e);

/* A node that will not come back. SQ_ECONFLICT: it is up, or (not by force) its segments
 * are not opened elsewhere yet. By force they are given up at once. */
struct mng_forget_end {
    bool forgotten;
    uint32_t segments; /* else: so many wait for a node with room; it is forgotten after */
};
SQ_CHECK int mng_forget(struct mng *m, msec_t now_ms, const char *node, bool force,
                        struct mng_forget_end *end, struct mng_out *out, struct err *e);

/* One ticket to the last place of another lane (mng_ticket.c): begins it. 0 and *order, to
 * be asked about after each step until it has ended; or as above, or SQ_EBUSY. The ticket
 * is as its token names it. */
SQ_CHECK int mng_ticket_move(struct mng *m, msec_t now_ms, const char *queue, seg_id seg,
                             uint32_t number, const char *lane, struct mng_out *out,
                             uint64_t *order, struct err *e);
struct mng_ticket_end {
    int rc;          /* 0; SQ_EUNKNOWN: no such ticket (any more); SQ_ECONFLICT: it has been
                      * let in already; SQ_EBUSY: its line is drawn first;
                      * SQ_EUNAVAIL: could not be done now, nothing has changed; SQ_ETIMEOUT: not certain, to be asked again */
    seg_id seg;      /* 0: where it is now */
    uint32_t number;
    bool was;        /* it was in that lane already */
};
/* True: it has ended, and is forgotten with that. */
bool mng_ticket_ended(struct mng *m, uint64_t order, struct mng_ticket_end *end);

/* ---- looking: for the admin API, metrics, the simulation -------------------------- */
struct mng_seg_view {
    seg_id id;
    node_no node;
    int state;              /* enum seg_state */
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
    double rate_per_s;      /* what this lane gets now, smoothed */
    double eta_per_s;
    double eta_last_s;      /* of the last in line; 0: nobody waits; -1: not known */
    const char *eta_reason; /* why not; or why it is not as told before; NULL: as told */
    size_t n_segs, n_aliases;
    size_t n_away;          /* of n_segs: lost, or being rebuilt */
    uint64_t missing;       /* people of those who are not back yet, at most */
};
struct mng_queue_view {
    queue_id id;
    const struct queue_def *def;
    const char *public_state; /* what GET /v1/queues/{queue} says */
    uint64_t version;
    double allowed_per_s;
    const char *limited_by;
    uint64_t inside;        /* at most so many are */
    uint64_t inside_flushed; /* of them, released before the last flush */
    int64_t flushed_until_ms; /* wall clock: until then they count; 0: nobody does */
    uint64_t granted;       /* releases ever allowed (credits) */
    double claim_rate, boost; /* of the released, how many come; what is made of it */
};
struct mng_node_view {
    node_no no;
    const char *name, *addr, *admin;
    uint64_t incarnation;
    bool up, draining, retired; /* retired: drained and gone */
    msec_t silent_ms;
    msec_t forget_in_ms;        /* by itself; -1: it is not */
    uint64_t tickets, max_tickets;
    uint32_t segments, max_segments;
};
struct mng_router_view {
    const char *name, *http, *admin;
    uint64_t incarnation, map_version;
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
    seg_id segment; /* its own, or the one that has absorbed it */
    bool reachable, rebuild, moving;
};
bool mng_place(const struct mng *m, seg_id seg, struct mng_place_view *v); /* false: nowhere */
/* A view and its words are good for the time of the call. */
typedef void (*mng_each_fn)(void *ctx, const void *view);
void mng_each_queue(const struct mng *m, mng_each_fn fn, void *ctx);
void mng_each_deleted(const struct mng *m, mng_each_fn fn, void *ctx);
void mng_each_lane(const struct mng *m, queue_id q, mng_each_fn fn, void *ctx); /* 0 = all */
void mng_each_seg(const struct mng *m, queue_id q, unsigned lane, mng_each_fn fn, void *ctx);
void mng_each_node(const struct mng *m, mng_each_fn fn, void *ctx);
void mng_each_router(const struct mng *m, mng_each_fn fn, void *ctx);
void mng_each_move(const struct mng *m, mng_each_fn fn, void *ctx);
const struct eta_errors *mng_eta_errors(const struct mng *m); /* of what people were told */
void mng_each_metric(const struct mng *m, msec_t now_ms, mng_each_fn fn, void *ctx);

struct mng_counts {
    uint64_t epoch, map_version, queues, segments, nodes_up, nodes_foreign, routers_up;
    uint64_t opened, removed, moves_started, moves_committed, moves_aborted;
    uint64_t lost_segments, rebuilt;
    uint64_t released, pops_sent, pops_skipped, monitor_failures, maps_sent;
};
void mng_count(const struct mng *m, struct mng_counts *c);

#endif

/* segrig.h: one or two segment nodes in one thread, with a clock and a wire of our own.
 * Every message goes through the codec, so that what the wire refuses shows. */
#ifndef SEGQ_TESTS_SEGRIG_H
#define SEGQ_TESTS_SEGRIG_H

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/codec.h"
#include "common/base/log.h"
#include "segment/node/segtab.h"

enum { RIG_MNG = 1, RIG_ROUTER = 2, RIG_PEER = 3, RIG_MNG2 = 4 };

struct rig_wire {
    int from, to; /* nodes; to -1: the manager */
    peer_no peer; /* to the manager: as which peer it was addressed */
    uint16_t type;
    uint64_t rid;
    struct buf body;
};

struct rig {
    struct segtab *t[2];
    int n;
    struct seg_now now;
    struct rig_wire q[4096];
    uint32_t head, tail;
    bool linked;              /* the two nodes */
    uint32_t copies;          /* messages between the nodes so far */
    uint32_t lose_at, cut_at; /* which of them is lost, or breaks the link; 0 = none */
    uint64_t epoch;
    uint32_t ttl_s; /* of a pass; 0: 10 */
    uint32_t hold_s; /* of sessions without a manager */
    /* what the manager heard */
    struct seg_status status[64]; /* by segment id */
    bool gone[64];
    uint32_t n_status, n_full, n_frames;
    uint64_t last_epoch;
    bool holds, no_room; /* as it said last */
    struct msg_seg_popped popped;
    uint32_t n_popped;
    uint8_t in_report, out_report;
    uint32_t in_tickets;
    char why[200];
    int32_t error;
    /* what the router heard */
    struct pass_row ended;   /* the last one */
    struct sess_req longer;
    uint32_t n_ended, n_longer;
    void (*hear)(void *ctx, const struct rig_wire *w, const struct msg *m); /* NULL, or also */
    void *hear_ctx;
    struct arena mem;
};

static inline int rig_pass(void *ctx, const struct seg_pass *p, char *out)
{
    (void)ctx;
    return snprintf(out, MSG_PASS_MAX, "%s/%s/%s/%.*s/%llu-%u/%lld/%lld%.*s", p->issuer,
                    p->queue, p->lane, (int)p->subject_len,
                    p->subject != NULL ? p->subject : "", (unsigned long long)p->seg,
                    p->number, (long long)p->released_at_ms, (long long)p->expires_s,
                    (int)p->bound_len, p->bound != NULL ? p->bound : "");
}

static inline void rig_hear_status(struct rig *r, const struct msg_seg_status *s)
{
    r->n_frames++;
    r->n_full += s->full;
    r->last_epoch = s->epoch;
    r->holds = s->holds;
    r->no_room = s->no_room;
    for (uint32_t i = 0; i < s->n; i++) {
        r->n_status++;
        if (s->v[i].seg < 64) {
            r->status[s->v[i].seg] = s->v[i];
            r->gone[s->v[i].seg] = false;
        }
    }
    for (uint32_t i = 0; i < s->n_gone; i++)
        if (s->gone[i] < 64)
            r->gone[s->gone[i]] = true;
}

static inline void rig_hear(struct rig *r, const struct msg *m)
{
    if (m->type == MSG_SEG_STATUS) {
        rig_hear_status(r, &m->seg_status);
    } else if (m->type == MSG_SEG_POPPED) {
        r->popped = m->seg_popped;
        r->n_popped++;
        if (m->seg_popped.seg < 64)
            r->status[m->seg_popped.seg] = m->seg_popped.status;
    } else if (m->type == MSG_MOVE_STATUS) {
        if (m->move_status.side == MOVE_SIDE_IN) {
            r->in_report = m->move_status.report;
            r->in_tickets = m->move_status.tickets;
        } else {
            r->out_report = m->move_status.report;
        }
        if (m->move_status.report == MOVE_ABORTED)
            snprintf(r->why, sizeof(r->why), "%s", m->move_status.why);
    } else if (m->type == MSG_PASSES) {
        r->n_ended += m->passes.n;
        r->ended = m->passes.rows[m->passes.n - 1];
    } else if (m->type == MSG_SESSION) {
        r->n_longer += m->session.n;
        r->longer = m->session.req[m->session.n - 1];
    } else if (m->type == MSG_ERROR) {
        r->error = m->error.code;
    }
}

static inline void rig_take(struct rig *r, int from, struct outbox *out)
{
    cr_assert_not(out->failed);
    for (uint32_t i = 0; i < out->n; i++) {
        struct rig_wire *w = &r->q[r->tail++ % ARRAY_LEN(r->q)];

        cr_assert_lt(r->tail - r->head, ARRAY_LEN(r->q));
        w->from = from;
        w->peer = out->v[i].to;
        w->to = out->v[i].to == RIG_PEER ? 1 - from : -1;
        w->type = (uint16_t)out->v[i].m.type;
        w->rid = out->v[i].rid;
        buf_init(&w->body);
        cr_assert_eq(msg_encode(&out->v[i].m, &w->body), 0, "encode %s",
                     msg_name(out->v[i].m.type));
    }
    outbox_reset(out);
}

static inline void rig_step(struct rig *r, int node, struct segtab_in in)
{
    struct outbox out;

    outbox_init(&out);
    in.now = r->now;
    segtab_step(r->t[node], &in, &out);
    rig_take(r, node, &out);
    outbox_fini(&out);
}

static inline void rig_cut(struct rig *r)
{
    if (!r->linked)
        return;
    r->linked = false;
    for (uint32_t i = r->head; i != r->tail; i++) /* what was on the wire is gone */
        if (r->q[i % ARRAY_LEN(r->q)].to >= 0)
            r->q[i % ARRAY_LEN(r->q)].type = 0;
    for (int i = 0; i < 2; i++)
        rig_step(r, i, (struct segtab_in) { .kind = SEGTAB_DOWN, .peer = RIG_PEER });
}

static inline void rig_deliver(struct rig *r, struct rig_wire *w)
{
    struct msg m;

    if (w->type == 0)
        return;
    if (w->to >= 0) {
        r->copies++;
        if (r->copies == r->lose_at || !r->linked)
            return;
        if (r->copies == r->cut_at) {
            rig_cut(r);
            return;
        }
    }
    arena_reset(&r->mem);
    cr_assert_eq(msg_decode(w->type, w->body.data, w->body.len, &r->mem, &m), 0,
                 "decode %s", msg_name((enum msg_type)w->type));
    if (w->to < 0 && r->hear != NULL)
        r->hear(r->hear_ctx, w, &m);
    if (w->to < 0)
        rig_hear(r, &m);
    else
        rig_step(r, w->to,
                 (struct segtab_in) { .kind = SEGTAB_MSG, .peer = RIG_PEER, .msg = &m });
}

/* Delivers up to n messages; UINT32_MAX: until it is quiet. */
static inline void rig_pump(struct rig *r, uint32_t n)
{
    for (; n > 0 && r->head != r->tail; n--) {
        struct rig_wire w = r->q[r->head++ % ARRAY_LEN(r->q)];

        rig_deliver(r, &w);
        buf_fini(&w.body);
    }
}

static inline void rig_up(struct rig *r, int node, peer_no p, uint8_t role, const char *name)
{
    rig_step(r, node, (struct segtab_in){ .kind = SEGTAB_UP, .peer = p, .role = role, .name = name });
}

static inline void rig_down(struct rig *r, int node, peer_no p)
{
    rig_step(r, node, (struct segtab_in) { .kind = SEGTAB_DOWN, .peer = p });
}

static inline void rig_link(struct rig *r)
{
    r->linked = true;
    rig_up(r, 0, RIG_PEER, RPC_SEGMENT, "node1");
    rig_up(r, 1, RIG_PEER, RPC_SEGMENT, "node0");
    rig_pump(r, UINT32_MAX);
}

/* An order, as the manager (or its rival) gives it. */
static inline void rig_order_as(struct rig *r, int node, peer_no p, struct msg m)
{
    rig_step(r, node, (struct segtab_in) { .kind = SEGTAB_MSG, .peer = p, .msg = &m });
}

static inline void rig_order(struct rig *r, int node, struct msg m)
{
    rig_order_as(r, node, RIG_MNG, m);
    rig_pump(r, UINT32_MAX);
}

/* The same while no router is heard. */
static inline void rig_run_silent(struct rig *r, msec_t ms)
{
    for (msec_t silent = 100; silent <= ms; silent += 100) {
        r->now.now_ms += 100;
        r->now.wall_ms += 100;
        for (int i = 0; i < r->n; i++)
            rig_step(r, i, (struct segtab_in) { .kind = SEGTAB_TICK, .silent_ms = silent });
        rig_pump(r, UINT32_MAX);
    }
}

/* Ticks every 100 ms; the wire is emptied after each. */
static inline void rig_run(struct rig *r, msec_t ms)
{
    for (; ms > 0; ms -= 100) {
        r->now.now_ms += 100;
        r->now.wall_ms += 100;
        for (int i = 0; i < r->n; i++)
            rig_step(r, i, (struct segtab_in) { .kind = SEGTAB_TICK });
        rig_pump(r, UINT32_MAX);
    }
}

static inline void rig_jump(struct rig *r, msec_t ms) /* nobody ran us for so long */
{
    r->now.now_ms += ms;
    r->now.wall_ms += ms;
}

static inline struct msg_rules rig_rules(const struct rig *r)
{
    return (struct msg_rules) { .epoch = r->epoch,
                                .queue = 7,
                                .name = "login",
                                .issuer = "test",
                                .idle_ms = { 3000, 5000, 8000 },
                                .claim_ms = 2000,
                                .grace_ms = 3000,
                                .pass_ttl_s = r->ttl_s != 0 ? r->ttl_s : 10,
                                .session_hold_s = r->hold_s,
                                .n_lanes = 2,
                                .lanes = { "default", "vip" } };
}

static inline struct segtab_opts rig_opts(uint64_t max_tickets)
{
    return (struct segtab_opts) { .max_tickets = max_tickets,
                                  .max_segments = 20000,
                                  .addr = "127.0.0.1:1",
                                  .admin = "",
                                  .make_pass = rig_pass };
}

/* The node alone keeps the directory of subjects; dirrig.h: both do. */
static inline void rig_member(struct rig *r, int node)
{
    struct member_row v = { .no = 1, .name = node == 0 ? "node0" : "node1", .addr = "127.0.0.1:1" };

    rig_order(r, node,
              (struct msg) { .type = MSG_MEMBERS,
                             .members = { .epoch = r->epoch, .version = 1, .self = 1, .n = 1,
                                          .v = &v } });
}

/* The manager and a router are there. */
static inline void rig_start(struct rig *r, int node)
{
    rig_up(r, node, RIG_MNG, RPC_MANAGER, "mng");
    rig_up(r, node, RIG_ROUTER, RPC_ROUTER, "rt");
    rig_order(r, node,
              (struct msg) { .type = MSG_NODE_OK, .node_ok = { r->epoch, 1 } });
    rig_member(r, node);
    rig_order(r, node, (struct msg) { .type = MSG_RULES, .rules = rig_rules(r) });
}

/* log: of each node; its context is log_ctx[node]. NULL: none. */
static inline struct rig *rig_new_logged(int nodes, uint64_t max_tickets,
                                         void (*log)(void *, const struct jrec *),
                                         void *const *log_ctx)
{
    struct rig *r = calloc(1, sizeof(*r));
    struct segtab_opts o = rig_opts(max_tickets);

    log_set_level(LOG_ERROR);
    r->n = nodes;
    r->epoch = 1;
    r->now = (struct seg_now) { 1000000, 1700000000000 };
    arena_init(&r->mem);
    for (int i = 0; i < nodes; i++) {
        o.log = log;
        o.log_ctx = log != NULL ? log_ctx[i] : NULL;
        r->t[i] = segtab_new(&o);
        rig_start(r, i);
    }
    return r;
}

static inline struct rig *rig_new(int nodes, uint64_t max_tickets)
{
    return rig_new_logged(nodes, max_tickets, NULL, NULL);
}

static inline void rig_free(struct rig *r)
{
    for (uint32_t i = r->head; i != r->tail; i++)
        buf_fini(&r->q[i % ARRAY_LEN(r->q)].body);
    for (int i = 0; i < r->n; i++)
        segtab_free(r->t[i]);
    arena_fini(&r->mem);
    free(r);
}

static inline void rig_open(struct rig *r, int node, seg_id seg, uint8_t kind,
                            uint32_t capacity, uint64_t ahead)
{
    rig_order(r, node, (struct msg) { .type = MSG_RULES, .rules = rig_rules(r) });
    rig_order(
        r, node,
        (struct msg) { .type = MSG_SEG_OPEN,
                       .seg_open = { .epoch = r->epoch, .seg = seg, .queue = 7, .lane = 0,
                                     .kind = kind, .capacity = capacity,
                                     .ahead = ahead } });
}

static inline void rig_seal(struct rig *r, int node, seg_id seg, seg_id next)
{
    rig_order(r, node,
              (struct msg) { .type = MSG_SEG_SEAL, .seg_seal = { r->epoch, seg, next } });
}

/* The manager has stored the releases of this pop: they may be told. */
static inline void rig_stored(struct rig *r, int node, seg_id seg, uint64_t tick)
{
    struct kept_entry k = { seg, tick };

    rig_order(r, node, (struct msg) { .type = MSG_SEG_AHEAD,
                                      .seg_ahead = { .epoch = r->epoch, .n_kept = 1, .kept = &k } });
}

static inline uint32_t rig_pop(struct rig *r, int node, seg_id seg, uint64_t tick,
                               uint32_t n)
{
    rig_order(r, node,
              (struct msg) { .type = MSG_SEG_POP,
                             .seg_pop = { .epoch = r->epoch, .seg = seg, .tick = tick,
                                          .n = n, .released_at_ms = r->now.wall_ms } });
    rig_stored(r, node, seg, tick);
    return r->popped.n;
}

static inline struct append_ans rig_join_as(struct rig *r, int node, seg_id seg,
                                            const char *subject)
{
    struct append_req q = { .seg = seg };
    struct append_ans a;

    if (subject != NULL) {
        q.subject = subject;
        q.subject_len = (uint8_t)strlen(subject);
        for (const char *c = subject; *c != 0; c++)
            q.subject_hash = q.subject_hash * 31 + (uint8_t)*c + 1;
    }
    segtab_append(r->t[node], r->now, &q, 1, &a, &r->mem);
    return a;
}

static inline void rig_join(struct rig *r, int node, seg_id seg, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        cr_assert_eq(rig_join_as(r, node, seg, NULL).state, APPEND_OK);
}

static inline struct place_ans rig_poll(struct rig *r, int node, seg_id seg,
                                        uint32_t number)
{
    struct place_req q = { .seg = seg, .number = number };
    struct place_ans a;

    segtab_place(r->t[node], r->now, &q, 1, &a, &r->mem);
    return a;
}

static inline struct drop_ans rig_leave(struct rig *r, int node, seg_id seg,
                                        uint32_t number)
{
    struct drop_req q = { .seg = seg, .number = number };
    struct drop_ans a;

    segtab_drop(r->t[node], r->now, &q, 1, &a);
    return a;
}

static inline struct sess_ans rig_session(struct rig *r, int node, seg_id seg,
                                          uint32_t number, enum sess_command c,
                                          int64_t until_s)
{
    struct sess_req q = { .seg = seg, .number = number, .command = (uint8_t)c,
                          .until_s = until_s };
    struct sess_ans a;

    segtab_session(r->t[node], r->now, &q, 1, &a, &r->mem);
    return a;
}

/* The pass lives in r->mem. */
static inline struct sess_ans rig_renew(struct rig *r, int node, seg_id seg, uint32_t number,
                                        int64_t until_s)
{
    struct sess_req q = { .seg = seg, .number = number, .command = SESS_EXTEND, .renews = 1,
                          .until_s = until_s };
    struct sess_ans a;

    segtab_session(r->t[node], r->now, &q, 1, &a, &r->mem);
    return a;
}

static inline void rig_poll_all(struct rig *r, int node, seg_id seg, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        rig_poll(r, node, seg, i);
        if (i % 64 == 0)
            arena_reset(&r->mem);
    }
}

#endif

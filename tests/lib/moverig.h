/* moverig.h: the real manager core and real tables of tasks, a router with callers and workers,
 * links that break and reorder, disks that lose the turn at hand; on top of poolrig.h.
 *
 * What callers and workers were told is kept apart, and judged after each step:
 *   J18  a partition is in service at one node at most, and an epoch at one node ever
 *   J1   a task that was answered is there, with its own body, under its one number
 *   J3   an attempt is handed out once; none while a lease runs; none after the end was answered
 *   J13  a schedule's tick makes one task, and none is lost
 *   the end of each task is told in another queue, under one key; and no other end is
 *   leases hold: who acknowledges in time is heard, whoever has the partition by then */
#ifndef SEGQ_TESTS_MOVERIG_H
#define SEGQ_TESTS_MOVERIG_H

#include "common/task/queue_name.h"
#include "task/archive/archive_line.h"
#include "task/engine/look.h"
#include "task/engine/replay.h"
#include "task/table/keep.h"
#include "task/table/parts.h"
#include "tests/lib/poolrig.h"

#define MV_TASKS   400
#define MV_ASKS    64
#define MV_BODIES  60000
#define MV_QUEUES  6
#define MV_BEATS   3 /* queues behind them: of schedules; nobody takes from them */
#define MV_EVERY   2000
#define MV_FROM    10000 /* the first tick */
#define MV_START   ((msec_t)1800000000000)
#define MV_LEASE   20000
#define MV_ROUTER  PR_NODES /* an end of a link */

struct mv_node {
    struct tasktab *t; /* NULL: it does not run */
    struct outbox out;
    struct buf disk, snap, pend, slice; /* records: kind, length, bytes; pend, slice: not written */
    size_t snap_from; /* of disk: what the next snapshot does not have */
    bool snapping;
    struct buf body[MV_BODIES]; /* by reference; as written, or as put in this turn */
    uint32_t n_bodies, bodies_written, old_to;
    bool fails; /* the disk: this turn */
    struct calls *calls; /* ref; NULL: workers take its tasks */
    struct mv *w;
};

struct mv_wire { /* a message between nodes, or of the router */
    peer_no link;
    int to;
    uint64_t rid;
    uint16_t type;
    struct buf body;
};

struct mv_link {
    peer_no no; /* 0: down */
};

struct mv_ask { /* of the router */
    enum { MV_FREE, MV_PUT, MV_TAKE, MV_ACK, MV_SCHEDULE } kind;
    unsigned task, queue;
    bool sent;
    peer_no link;
    uint64_t rid;
    msec_t until; /* TAKE: waits so long. ACK: the end of its lease */
    uint64_t lease;
};

struct mv_task { /* as it is known outside */
    bool put, told, acked, doubt; /* doubt: an ack may have been heard */
    part_no part;
    task_no no;
    uint64_t lease;
    msec_t lease_until; /* 0: nobody has it */
    uint32_t attempts;
    int64_t notice_ms; /* the end that the other queue was told; 0: none was */
};

struct mv;

struct mv_sender { /* nodes that make calls (tests/lib/callnodes.h) */
    void (*self)(struct mv *w, int i, const struct out_item *it); /* a task whose START is written */
    void (*final)(struct mv *w, int i, const struct task_end *end);
    void (*dies)(struct mv *w, int i);
    void (*before)(struct mv *w, int i);  /* in a turn, before its records */
    void (*written)(struct mv *w, int i);
    void (*target)(struct mv *w);
};

struct mv {
    struct pr *r;
    const struct mv_sender *sender; /* NULL: none */
    struct mv_node node[PR_NODES];
    struct mv_link link[PR_NODES + 1][PR_NODES]; /* who dialled, whom */
    peer_no last_link;
    struct mv_wire *q;
    uint32_t n_q, cap_q;
    struct mv_ask ask[MV_ASKS];
    struct mv_task task[MV_TASKS];
    unsigned n_tasks;
    uint64_t last_rid;
    double kill, fail, snap; /* chances of a turn */
    bool quiet;              /* nobody submits or takes */
    bool asked[MV_BEATS], beats[MV_BEATS]; /* its schedule; known before its first tick */
    int8_t owner[PR_NOS][200];
    uint64_t kills, stale, starts, taken, again, ticks, notices;
};

#define MV_BAD(w, ...) PR_BAD((w)->r, __VA_ARGS__)

static inline struct task_now mv_now(const struct mv *w)
{
    return (struct task_now){ MV_START + w->r->now, MV_START + w->r->now };
}

/* ---- disks --------------------------------------------------------------------------- */

static inline void *mv_put_record(struct buf *b, uint8_t kind, size_t n)
{
    uint32_t len = (uint32_t)n;

    buf_byte(b, kind);
    buf_append(b, &len, sizeof(len));
    if (buf_reserve(b, n) == NULL)
        return NULL;
    b->len += n;
    return b->data + b->len - n;
}

static inline void *mv_record(void *ctx, uint8_t kind, size_t n)
{
    return mv_put_record(&((struct mv_node *)ctx)->pend, kind, n);
}

static inline void *mv_slice(void *ctx, uint8_t kind, size_t n)
{
    return mv_put_record(&((struct mv_node *)ctx)->slice, kind, n);
}

static inline int mv_body_put(void *ctx, const uint8_t *p, uint32_t n, uint64_t *ref)
{
    struct mv_node *d = ctx;

    if (d->n_bodies + 1 >= MV_BODIES)
        return SQ_EFULL;
    *ref = ++d->n_bodies;
    buf_append(&d->body[*ref], p, n);
    return 0;
}

static inline int mv_body_get(void *ctx, uint64_t ref, struct buf *out)
{
    struct mv_node *d = ctx;

    if (ref > d->n_bodies || d->body[ref].len == 0) {
        MV_BAD(d->w, "a body that is gone is asked for");
        return SQ_EPROTO;
    }
    buf_append(out, d->body[ref].data, d->body[ref].len);
    return 0;
}

static inline void mv_body_drop(void *ctx, uint64_t ref)
{
    struct mv_node *d = ctx;

    if (ref > d->n_bodies || d->body[ref].len == 0)
        MV_BAD(d->w, "a body goes twice");
    else
        buf_fini(&d->body[ref]);
}

static inline bool mv_body_is_old(void *ctx, uint64_t ref)
{
    return ref <= ((struct mv_node *)ctx)->old_to;
}

static inline int mv_body_copy(void *ctx, uint64_t ref, uint64_t *to)
{
    struct buf b = { 0 };
    int rc = mv_body_get(ctx, ref, &b);

    if (rc == 0)
        rc = mv_body_put(ctx, b.data, (uint32_t)b.len, to);
    buf_fini(&b);
    return rc;
}

static inline bool mv_body_live(void *ctx, uint64_t ref)
{
    struct mv_node *d = ctx;

    return ref <= d->n_bodies && d->body[ref].len > 0;
}

static inline int mv_replay(struct mv_node *d, bool snap)
{
    const struct buf *b = snap ? &d->snap : &d->disk;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < b->len;) {
        uint32_t n;

        memcpy(&n, b->data + i + 1, sizeof(n));
        rc = tasktab_replay(d->t, snap, b->data[i], b->data + i + 5, n);
        if (rc < 0)
            MV_BAD(d->w, "record %s of the %s: %s", trec_name(b->data[i]), snap ? "snapshot" : "log",
                   sq_strerror(rc));
        i += 5 + n;
    }
    return rc;
}

static inline void mv_ended(void *ctx, const struct task_end *end)
{
    struct mv_node *d = ctx;

    if (d->w->sender != NULL)
        d->w->sender->final(d->w, (int)(d - d->w->node), end);
}

/* What was not written has not happened. */
static inline void mv_node_end(struct mv *w, int i)
{
    struct mv_node *d = &w->node[i];

    tasktab_free(d->t);
    d->t = NULL;
    if (w->sender != NULL)
        w->sender->dies(w, i);
    outbox_reset(&d->out);
    buf_reset(&d->pend);
    buf_reset(&d->slice);
    d->snapping = false;
    for (; d->n_bodies > d->bodies_written; d->n_bodies--)
        buf_fini(&d->body[d->n_bodies]);
}

static inline void mv_node_begin(struct mv *w, int i)
{
    struct mv_node *d = &w->node[i];
    char addr[32];
    struct tasktab_opts o = { .addr = addr, .admin = "", .max_tasks = 10000, .max_keys = 1000,
                              .seed = { (uint8_t)(i + 1) },
                              .bodies = { mv_body_put, mv_body_get, mv_body_drop, NULL, mv_body_is_old,
                                          mv_body_copy, d },
                              .record = mv_record, .record_ctx = d, .ended = mv_ended,
                              .ended_ctx = d, .calls = d->calls };
    bool *used = calloc(MV_BODIES, sizeof(*used));

    snprintf(addr, sizeof(addr), "10.0.0.%d:7400", i + 1);
    d->t = tasktab_new(&o);
    if (d->t == NULL || used == NULL)
        abort();
    if (mv_replay(d, true) == 0 && mv_replay(d, false) == 0 &&
        tasktab_replayed(d->t, mv_now(w), false, mv_body_live, d) < 0)
        MV_BAD(w, "node %d cannot read its journal", i);
    each_part (d->t, p)
        for (task_slot s = 0; s < p->e.store.n_slots; s++)
            if (task_at(&p->e.store, s)->state != TASK_FREE)
                used[task_at(&p->e.store, s)->body] = used[replies_of(&p->e.replies, s)] = true;
    for (uint32_t b = 1; b <= d->n_bodies; b++) /* nobody said that they live */
        if (!used[b])
            buf_fini(&d->body[b]);
    free(used);
    w->starts++;
}

/* ---- links --------------------------------------------------------------------------- */

static inline void mv_link_down(struct mv *w, int a, int b)
{
    peer_no no = w->link[a][b].no;

    w->link[a][b].no = 0;
    if (no == 0)
        return;
    if (a != MV_ROUTER && w->node[a].t != NULL)
        tasktab_down(w->node[a].t, no);
    if (w->node[b].t != NULL)
        tasktab_down(w->node[b].t, no);
    for (unsigned i = 0; a == MV_ROUTER && i < MV_ASKS; i++) {
        struct mv_ask *k = &w->ask[i];

        if (!k->sent || k->link != no)
            continue;
        k->sent = false;
        if (k->kind == MV_TAKE)
            k->kind = MV_FREE; /* what it would have got lapses */
        else if (k->kind == MV_ACK)
            w->task[k->task].doubt = true;
    }
}

static inline void mv_links_down(struct mv *w, int i)
{
    for (int k = 0; k <= PR_NODES; k++)
        mv_link_down(w, k, i);
    for (int k = 0; k < PR_NODES; k++)
        mv_link_down(w, i, k);
}

static inline void mv_link_up(struct mv *w, int a, int b)
{
    char name[24];

    if (w->link[a][b].no != 0 || w->node[b].t == NULL)
        return;
    w->link[a][b].no = 1000000 + ++w->last_link;
    snprintf(name, sizeof(name), a == MV_ROUTER ? "router" : "task-%d", a);
    tasktab_up(w->node[b].t, w->link[a][b].no, a == MV_ROUTER ? RPC_ROUTER : RPC_TASK, name,
               &w->node[b].out);
    snprintf(name, sizeof(name), "task-%d", b);
    if (a != MV_ROUTER)
        tasktab_up(w->node[a].t, w->link[a][b].no, RPC_TASK, name, &w->node[a].out);
}

static inline void mv_dial(struct mv *w)
{
    struct node_want v[PR_NODES];

    for (int i = 0; i < PR_NODES; i++) {
        size_t n = w->node[i].t != NULL ? tasktab_wants(w->node[i].t, v, PR_NODES) : 0;

        mv_link_up(w, MV_ROUTER, i);
        for (size_t k = 0; k < n; k++)
            mv_link_up(w, i, v[k].name[strlen("task-")] - '0');
    }
}

static inline void mv_send(struct mv *w, peer_no link, int to, uint64_t rid, const struct msg *m)
{
    struct mv_wire *x;

    if (!GROW(w->q, w->n_q, w->cap_q, 64))
        abort();
    x = &w->q[w->n_q++];
    *x = (struct mv_wire){ .link = link, .to = to, .rid = rid, .type = (uint16_t)m->type };
    buf_init(&x->body);
    if (msg_encode(m, &x->body) < 0)
        MV_BAD(w, "%s cannot be encoded", msg_name(m->type));
}

/* Everything that a node wants said goes to its manager, or on a link. */
static inline void mv_node_says(struct mv *w, int i)
{
    struct mv_node *d = &w->node[i];

    for (uint32_t k = 0; k < d->out.n; k++) {
        const struct out_item *it = &d->out.v[k];

        if (it->to == PEER_SELF) {
            w->sender->self(w, i, it);
            continue;
        }
        if (it->to == w->r->node[i].peer) {
            pr_send(w->r, i, true, &it->m);
            continue;
        }
        for (int a = 0; a <= PR_NODES; a++)
            for (int b = 0; b < PR_NODES; b++)
                if (w->link[a][b].no == it->to && (a == i || b == i))
                    mv_send(w, it->to, a == i ? b : a, it->rid, &it->m);
    }
    if (d->out.failed)
        MV_BAD(w, "an outbox without memory");
    outbox_reset(&d->out);
}

/* ---- the router: what callers and workers say ------------------------------------------ */

static inline const struct map_part *mv_share(const struct mv *w, unsigned queue)
{
    const struct msg_task_map *map = &w->r->map;
    char name[8];

    snprintf(name, sizeof(name), "q%u", queue);
    for (uint32_t i = 0; i < map->n_pools; i++) /* an endpoint has a pool of its own */
        if (strcmp(map->pools[i].match, "q*") == 0)
            return &map->pools[i].v[part_share(name, strlen(name), map->pools[i].n)];
    return NULL;
}

static inline int mv_node_of(const struct mv *w, const struct map_part *p)
{
    for (uint32_t i = 0; i < w->r->map.n_nodes; i++)
        if (w->r->map.nodes[i].no == p->node)
            return w->r->map.nodes[i].addr[strlen("10.0.0.")] - '1';
    return -1;
}

static inline void mv_ask_send(struct mv *w, struct mv_ask *k)
{
    const struct map_part *p = mv_share(w, k->queue);
    int to = p != NULL ? mv_node_of(w, p) : -1;
    struct mv_task *t = &w->task[k->task];
    char queue[8], body[40];
    struct task_put put;
    struct settle_row row;
    struct msg m = { 0 };

    if (to < 0 || w->link[MV_ROUTER][to].no == 0)
        return;
    snprintf(queue, sizeof(queue), "q%u", k->queue);
    snprintf(body, sizeof(body), k->kind == MV_ACK ? "result of %u" : "body of %u", k->task);
    if (k->kind == MV_PUT) {
        put = (struct task_put){ .part = p->part, .epoch = p->epoch, .queue = queue, .key1 = "",
                                 .key2 = "", .name = "", .digest = k->task + 1,
                                 .key = { sizeof(k->task), (const uint8_t *)&k->task },
                                 .body = { (uint32_t)strlen(body), (const uint8_t *)body } };
        m = (struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &put } };
    } else if (k->kind == MV_SCHEDULE) {
        m = (struct msg){ .type = MSG_TASK_SCHEDULE,
                          .task_schedule = { p->part, p->epoch, SCHEDULE_PUT, queue, "beat", .cron = "",
                                             .every_ms = MV_EVERY, .zone = "",
                                             .catch_up = CATCH_UP_ALL, .catch_up_max = RECUR_MAKE_UP,
                                             .from_ms = MV_START + MV_FROM } };
        m.task_schedule.put = (struct task_put){ .queue = "", .key1 = "", .key2 = "", .name = "",
                                                 .digest = 1, .own.labels = "",
                                                 .body = { 4, (const uint8_t *)"beat" } };
    } else if (k->kind == MV_TAKE) {
        m = (struct msg){ .type = MSG_TASK_TAKE,
                          .task_take = { p->part, p->epoch, queue, 3, MV_LEASE,
                                         (uint32_t)ms_max(k->until - w->r->now, 0) } };
    } else {
        row = (struct settle_row){ p->part, p->epoch, SETTLE_ACK, t->no, k->lease, 0,
                                   { (uint32_t)strlen(body), (const uint8_t *)body }, { 0 } };
        m = (struct msg){ .type = MSG_TASK_SETTLE, .task_settle = { 1, &row } };
    }
    k->sent = true;
    k->link = w->link[MV_ROUTER][to].no;
    k->rid = ++w->last_rid;
    mv_send(w, k->link, to, k->rid, &m);
}

static inline struct mv_ask *mv_ask_new(struct mv *w)
{
    for (unsigned i = 0; i < MV_ASKS; i++)
        if (w->ask[i].kind == MV_FREE)
            return &w->ask[i];
    return NULL;
}

/* Which task it is, by its own body; of none, 0: it is wrong. */
static inline unsigned mv_body_task(struct mv *w, const struct taken_row *row)
{
    unsigned id = MV_TASKS;
    char want[40], got[40] = "";

    if (row->body.n < sizeof(got))
        memcpy(got, row->body.p, row->body.n);
    (void)sscanf(got, "body of %u", &id);
    snprintf(want, sizeof(want), "body of %u", id);
    if (id >= w->n_tasks || strcmp(got, want) != 0) {
        MV_BAD(w, "J1: a task has the body \"%s\"", got);
        return 0;
    }
    if (w->task[id].told && w->task[id].no != row->no)
        MV_BAD(w, "J1: task %u has two numbers", id);
    return id;
}

static inline void mv_taken(struct mv *w, const struct taken_row *row)
{
    unsigned id = mv_body_task(w, row);
    struct mv_task *t = &w->task[id];

    if (t->acked)
        MV_BAD(w, "J3: task %u is handed out after its end", id);
    if (row->attempt <= t->attempts)
        MV_BAD(w, "J3: attempt %u of task %u twice", row->attempt, id);
    if (t->lease_until > mv_now(w).ms)
        MV_BAD(w, "J3: task %u is handed out while its lease runs", id);
    t->no = row->no;
    t->attempts = row->attempt;
    t->lease = row->lease;
    t->lease_until = row->until_ms;
    t->doubt = false;
    w->taken++;
}

static inline void mv_answer_put(struct mv *w, struct mv_ask *k, const struct task_put_row *a)
{
    struct mv_task *t = &w->task[k->task];
    const struct map_part *p = mv_share(w, k->queue);

    if (a->code == CODE_STALE || a->code == CODE_BUSY) {
        w->stale++;
        return;
    }
    if (a->code != CODE_DONE && a->code != CODE_SAME)
        MV_BAD(w, "task %u is answered %u", k->task, a->code);
    if ((t->told || t->attempts > 0) && (t->no != a->no || a->code == CODE_DONE))
        MV_BAD(w, "J1: task %u is accepted twice", k->task);
    t->told = true;
    t->no = a->no;
    t->part = p->part;
    k->kind = MV_FREE;
}

static inline void mv_answer_ack(struct mv *w, struct mv_ask *k, uint8_t code)
{
    struct mv_task *t = &w->task[k->task];

    if (code == CODE_STALE || code == CODE_BUSY) {
        w->stale++;
        return;
    }
    k->kind = MV_FREE;
    if (code == CODE_DONE)
        t->acked = true;
    else if (code != CODE_CONFLICT || (!t->doubt && mv_now(w).ms < k->until))
        MV_BAD(w, "task %u: a lease that runs for another %ld ms does not hold: %u", k->task,
               (long)(k->until - mv_now(w).ms), code);
}

static inline void mv_answer_schedule(struct mv *w, struct mv_ask *k, uint8_t code)
{
    if (code == CODE_STALE || code == CODE_BUSY) {
        w->stale++;
        return;
    }
    if (code != CODE_DONE && code != CODE_SAME)
        MV_BAD(w, "the schedule of queue %u is answered %u", k->queue, code);
    w->beats[k->queue - MV_QUEUES] = w->r->now < MV_FROM;
    k->kind = MV_FREE;
}

static inline void mv_answer(struct mv *w, uint64_t rid, const struct msg *m)
{
    struct mv_ask *k = NULL;

    for (unsigned i = 0; i < MV_ASKS; i++)
        if (w->ask[i].kind != MV_FREE && w->ask[i].sent && w->ask[i].rid == rid)
            k = &w->ask[i];
    if (k == NULL)
        return;
    k->sent = false;
    if (m->type == MSG_TASK_PUT_ANS) {
        mv_answer_put(w, k, &m->task_put_ans.v[0]);
    } else if (m->type == MSG_TASK_SCHEDULE_ANS) {
        mv_answer_schedule(w, k, m->task_schedule_ans.code);
    } else if (m->type == MSG_TASK_SETTLE_ANS) {
        mv_answer_ack(w, k, m->task_settle_ans.v[0].code);
    } else if (m->type == MSG_TASK_TAKE_ANS) {
        if (m->task_take_ans.code == CODE_STALE || m->task_take_ans.code == CODE_BUSY) {
            w->again++; /* it goes over */
            return;
        }
        k->kind = MV_FREE;
        for (uint32_t i = 0; i < m->task_take_ans.n; i++)
            mv_taken(w, &m->task_take_ans.v[i]);
    }
}

/* An end of a task: the other queue takes it, or is full; or the router dies with it, or with the
 * answer. */
static inline void mv_notice(struct mv *w, peer_no link, const struct msg_task_notice *m)
{
    struct rng *g = &w->r->rng;
    struct msg a = { .type = MSG_TASK_NOTICE_ANS,
                     .task_notice_ans = { m->part, m->id, m->no, CODE_DONE } };
    struct mv_task *t = NULL;

    for (unsigned i = 0; i < w->n_tasks; i++)
        if (w->task[i].told && w->task[i].part == m->part && w->task[i].no == m->no)
            t = &w->task[i];
    if (!w->quiet && rng_chance(g, 0.1))
        return;
    if (!w->quiet && rng_chance(g, 0.1)) {
        a.task_notice_ans.code = CODE_FULL;
    } else if (t != NULL) { /* else its submission was never answered */
        if (t->notice_ms != 0 && t->notice_ms != m->ended_ms)
            MV_BAD(w, "two ends of task %u are told", (unsigned)(t - w->task));
        if (!task_state_is_final((enum task_state)m->state) || strcmp(m->queue, "hook") != 0)
            MV_BAD(w, "a notice of another end");
        a.task_notice_ans.code = t->notice_ms != 0 ? CODE_SAME : CODE_DONE;
        t->notice_ms = m->ended_ms;
        w->notices++;
    }
    if (!w->quiet && rng_chance(g, 0.1))
        return;
    for (int i = 0; i < PR_NODES; i++)
        if (w->link[MV_ROUTER][i].no == link)
            mv_send(w, link, i, 0, &a);
}

/* Somebody says something new. */
static inline void mv_callers(struct mv *w)
{
    struct rng *g = &w->r->rng;
    struct mv_ask *k = mv_ask_new(w);
    unsigned id = w->n_tasks > 0 ? (unsigned)rng_below(g, w->n_tasks) : 0;

    if (k == NULL)
        return;
    for (unsigned i = 0; i < MV_BEATS && w->sender == NULL; i++)
        if (!w->asked[i]) {
            w->asked[i] = true;
            *k = (struct mv_ask){ .kind = MV_SCHEDULE, .queue = MV_QUEUES + i };
            return;
        }
    if (rng_chance(g, 0.3) && w->n_tasks < MV_TASKS && !w->quiet) {
        *k = (struct mv_ask){ .kind = MV_PUT, .task = w->n_tasks, .queue = w->n_tasks % MV_QUEUES };
        w->task[w->n_tasks++].put = true;
    } else if (w->sender == NULL && rng_chance(g, 0.3) && !w->quiet) {
        *k = (struct mv_ask){ .kind = MV_TAKE, .queue = (unsigned)rng_below(g, MV_QUEUES),
                              .until = w->r->now + (msec_t)rng_below(g, 5000) };
    } else if (w->n_tasks > 0 && w->task[id].lease_until > mv_now(w).ms && !w->task[id].acked) {
        for (unsigned i = 0; i < MV_ASKS; i++)
            if (w->ask[i].kind == MV_ACK && w->ask[i].task == id)
                return;
        *k = (struct mv_ask){ .kind = MV_ACK, .task = id, .queue = id % MV_QUEUES,
                              .lease = w->task[id].lease, .until = w->task[id].lease_until };
    }
}

/* ---- a step -------------------------------------------------------------------------- */

/* The first on its link, of any link. */
static inline bool mv_deliver(struct mv *w)
{
    struct rng *g = &w->r->rng;
    struct mv_wire x;
    uint32_t at;
    struct msg m;
    bool up = false;

    if (w->n_q == 0)
        return false;
    at = (uint32_t)rng_below(g, w->n_q);
    for (uint32_t i = 0; i < at; i++)
        if (w->q[i].link == w->q[at].link && w->q[i].to == w->q[at].to)
            at = i;
    x = w->q[at];
    memmove(w->q + at, w->q + at + 1, (--w->n_q - at) * sizeof(*w->q));
    for (int a = 0; a <= PR_NODES; a++)
        for (int b = 0; b < PR_NODES; b++)
            up |= w->link[a][b].no == x.link;
    arena_reset(&w->r->mem_in);
    if (up && msg_decode(x.type, x.body.data, x.body.len, &w->r->mem_in, &m) < 0)
        MV_BAD(w, "%s cannot be decoded", msg_name((enum msg_type)x.type));
    else if (up && x.to == MV_ROUTER && m.type == MSG_TASK_NOTICE)
        mv_notice(w, x.link, &m.task_notice);
    else if (up && x.to == MV_ROUTER)
        mv_answer(w, x.rid, &m);
    else if (up && w->node[x.to].t != NULL)
        tasktab_msg(w->node[x.to].t, mv_now(w), x.link, x.rid, &m, &w->node[x.to].out);
    buf_fini(&x.body);
    return true;
}

static inline void mv_snapshot(struct mv *w, struct mv_node *d)
{
    bool begin = !d->snapping, more;

    if (tasktab_is_receiving(d->t) || (begin && !rng_chance(&w->r->rng, w->snap)))
        return;
    if (begin)
        d->snap_from = d->disk.len;
    d->snapping = true;
    more = tasktab_snapshot(d->t, begin, mv_slice, d);
    if (tasktab_snapshot_spoilt(d->t)) {
        d->snapping = false;
        buf_reset(&d->slice);
    } else if (!more) { /* at once: what it has put into the log leaves with the next turn */
        d->snapping = false;
        buf_reset(&d->snap);
        buf_append(&d->snap, d->slice.data, d->slice.len);
        buf_reset(&d->slice);
        memmove(d->disk.data, d->disk.data + d->snap_from, d->disk.len - d->snap_from);
        d->disk.len -= d->snap_from;
    }
}

/* The process is killed, or its disk fails: links break, what was not written has not happened. */
static inline void mv_kill(struct mv *w, int i, bool stays_down)
{
    mv_links_down(w, i);
    pr_cut(w->r, i);
    mv_node_end(w, i);
    w->kills++;
    if (stays_down)
        pr_node_run(w->r, i, false);
    else
        mv_node_begin(w, i);
}

static inline void mv_turn(struct mv *w, int i)
{
    struct mv_node *d = &w->node[i];
    struct rng *g = &w->r->rng;
    bool dies = rng_chance(g, w->kill);

    if (w->sender != NULL)
        w->sender->before(w, i);
    if (!tasktab_turn(d->t, mv_now(w), &d->out))
        MV_BAD(w, "a turn without memory");
    if ((dies && rng_chance(g, 0.5)) || rng_chance(g, w->fail)) { /* before the write */
        mv_kill(w, i, dies);
        return;
    }
    buf_append(&d->disk, d->pend.data, d->pend.len);
    buf_reset(&d->pend);
    d->bodies_written = d->n_bodies;
    if (w->sender != NULL)
        w->sender->written(w, i);
    if (dies) { /* after it, before anything is said */
        mv_kill(w, i, true);
        return;
    }
    mv_node_says(w, i);
    tasktab_written(d->t);
    mv_snapshot(w, d);
    if (rng_chance(g, 0.003)) {
        d->old_to = d->n_bodies;
        tasktab_copy_bodies(d->t, mv_now(w));
        d->old_to = 0;
    }
}

static inline void mv_check_owners(struct mv *w)
{
    int8_t has[PR_NOS] = { 0 };

    for (int i = 0; i < PR_NODES; i++) {
        if (w->node[i].t == NULL)
            continue;
        each_part (w->node[i].t, p) {
            if (p->life != PART_OWNED)
                continue;
            if (has[p->no] != 0)
                MV_BAD(w, "J18: partition %u is in service at %d and at %d", p->no, has[p->no] - 1, i);
            has[p->no] = (int8_t)(i + 1);
            if (p->epoch >= 200) {
                MV_BAD(w, "partition %u has epoch %lu", p->no, p->epoch);
                continue;
            }
            if (w->owner[p->no][p->epoch] != 0 && w->owner[p->no][p->epoch] != i + 1)
                MV_BAD(w, "J18: epoch %lu of partition %u has two owners", p->epoch, p->no);
            w->owner[p->no][p->epoch] = (int8_t)(i + 1);
        }
    }
}

static struct mv *mv_of; /* one world at a time: poolrig's calls have no context */

static inline void mv_tick(struct pr *r)
{
    struct mv *w = mv_of;

    for (int i = 0; i < PR_NODES; i++) /* also while no manager is there */
        if (r->node[i].runs && w->node[i].t == NULL)
            mv_node_begin(w, i);
    mv_dial(w);
    for (unsigned i = 0; i < 4; i++)
        mv_callers(w);
    for (unsigned i = 0; i < MV_ASKS; i++)
        if (w->ask[i].kind != MV_FREE && !w->ask[i].sent)
            mv_ask_send(w, &w->ask[i]);
    for (unsigned turns = 0; turns < 4; turns++) {
        for (unsigned n = (unsigned)rng_below(&r->rng, 30); n > 0 && mv_deliver(w); n--)
            continue;
        if (w->sender != NULL)
            w->sender->target(w);
        for (int i = 0; i < PR_NODES; i++)
            if (w->node[i].t != NULL)
                mv_turn(w, i);
        mv_check_owners(w);
    }
}

static inline void mv_up(struct pr *r, int i)
{
    if (mv_of->node[i].t == NULL)
        mv_node_begin(mv_of, i);
    tasktab_up(mv_of->node[i].t, r->node[i].peer, RPC_MANAGER, "m", &mv_of->node[i].out);
}

static inline void mv_down(struct pr *r, int i, peer_no p)
{
    (void)r;
    if (mv_of->node[i].t != NULL)
        tasktab_down(mv_of->node[i].t, p);
}

/* The pool tells ends in a queue that the manager knows nothing of. */
static inline void mv_msg(struct pr *r, int i, const struct msg *m)
{
    struct msg told = *m;

    if (m->type == MSG_PART_OPEN)
        told.part_open.notify = "hook";
    if (mv_of->node[i].t != NULL)
        tasktab_msg(mv_of->node[i].t, mv_now(mv_of), r->node[i].peer, 0, &told, &mv_of->node[i].out);
}

/* Without a pool. */
static inline struct mv *mv_world(uint64_t seed)
{
    static const struct pr_real real = { mv_up, mv_down, mv_msg, mv_tick };
    struct mv *w = calloc(1, sizeof(*w));

    if (w == NULL)
        abort();
    mv_of = w;
    w->r = pr_new(seed);
    w->r->real = &real;
    for (int i = 0; i < PR_NODES; i++) {
        w->node[i].w = w;
        outbox_init(&w->node[i].out);
    }
    return w;
}

static inline struct mv *mv_new(uint64_t seed)
{
    struct mv *w = mv_world(seed);
    struct err e = { 0 };

    if (pr_pool(w->r, "{\"match\": \"q*\", \"partitions\": 3, \"result_ttl\": \"30d\", "
                      "\"task_ttl\": \"30d\", \"max_attempts\": 60, \"retry\": {\"max\": \"1s\"}}",
                &e) < 0)
        MV_BAD(w, "%s", e.text);
    return w;
}

static inline void mv_free(struct mv *w)
{
    for (int i = 0; i < PR_NODES; i++) {
        struct mv_node *d = &w->node[i];

        tasktab_free(d->t);
        outbox_fini(&d->out);
        buf_fini(&d->disk);
        buf_fini(&d->snap);
        buf_fini(&d->pend);
        buf_fini(&d->slice);
        for (uint32_t b = 0; b <= d->n_bodies; b++)
            buf_fini(&d->body[b]);
        d->t = NULL;
    }
    for (uint32_t i = 0; i < w->n_q; i++)
        buf_fini(&w->q[i].body);
    free(w->q);
    pr_free(w->r);
    free(w);
}

/* Every tick of a schedule made its task, all of which wait. */
static inline void mv_judge_beats(struct mv *w)
{
    for (unsigned i = 0; i < MV_BEATS && w->r->why[0] == '\0'; i++) {
        const struct map_part *s = mv_share(w, MV_QUEUES + i);
        int node = s != NULL ? mv_node_of(w, s) : -1;
        struct part *p = node >= 0 && w->node[node].t != NULL ? tasktab_part(w->node[node].t, s->part)
                                                              : NULL;
        uint64_t want = (uint64_t)((w->r->now - MV_FROM) / MV_EVERY);
        struct queue_view v = { 0 };
        char name[8];

        snprintf(name, sizeof(name), "q%u", MV_QUEUES + i);
        if (p == NULL || !w->beats[i])
            continue;
        (void)!engine_look_queue(&p->e, &(struct trec_text){ name, 2 }, &v);
        w->ticks += v.tasks;
        if (v.tasks < want || v.tasks > want + 1)
            MV_BAD(w, "J13: %lu ticks of queue %s made %u tasks", want, name, v.tasks);
    }
}

/* All is quiet: every task that was answered is at its owner, as its callers know it. */
static inline void mv_judge(struct mv *w)
{
    for (unsigned id = 0; id < w->n_tasks && w->r->why[0] == '\0'; id++) {
        const struct mv_task *t = &w->task[id];
        const struct map_part *s = mv_share(w, id % MV_QUEUES);
        int i = s != NULL ? mv_node_of(w, s) : -1;
        struct part *p = i >= 0 && w->node[i].t != NULL ? tasktab_part(w->node[i].t, s->part) : NULL;
        struct task_view v;
        struct buf b = { 0 };
        char want[40];

        if (!t->told)
            MV_BAD(w, "task %u was never answered", id);
        else if (p == NULL || p->life != PART_OWNED || p->epoch != s->epoch)
            MV_BAD(w, "task %u: its partition is not in service", id);
        else if (t->part != p->no || engine_look(&p->e, t->no, &v) < 0)
            MV_BAD(w, "J1: task %u is lost", id);
        else if (t->acked && v.state != TASK_SUCCEEDED)
            MV_BAD(w, "J2: task %u was acknowledged, and is %s", id, task_state_word(v.state));
        else if (task_state_is_final(v.state) != (t->notice_ms != 0))
            MV_BAD(w, "task %u is %s, and its end was %s", id, task_state_word(v.state),
                   t->notice_ms != 0 ? "told" : "not told");
        else {
            snprintf(want, sizeof(want), v.state == TASK_SUCCEEDED ? "result of %u" : "body of %u", id);
            (void)mv_body_get(&w->node[i], v.body, &b);
            /* a result is kept behind a head of its own (task/table/result.h) */
            if (b.len < strlen(want) || (v.state != TASK_SUCCEEDED && b.len != strlen(want)) ||
                memcmp(b.data + b.len - strlen(want), want, strlen(want)) != 0)
                MV_BAD(w, "task %u has another body", id);
        }
        buf_fini(&b);
    }
}

#endif

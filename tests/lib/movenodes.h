/* movenodes.h: the task nodes of moverig.h: real tables of tasks, their disks, and the links on which
 * they and the router speak. */
#ifndef SEGQ_TESTS_MOVENODES_H
#define SEGQ_TESTS_MOVENODES_H

#include "task/archive/archive_line.h"
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

#endif

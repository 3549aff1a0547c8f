/* movenodes.h: the task nodes of moverig.h: real tables of tasks, their disks, and the links on which
 * they and the router speak. */
#ifndef SEGQ_TESTS_MOVENODES_H
#define SEGQ_TESTS_MOVENODES_H

#include "tests/lib/moveshared.h"

/* ---- disks --------------------------------------------------------------------------- */

static inline void *mv_record(void *ctx, uint8_t kind, size_t n)
{
    return mv_put_record(&((struct mv_node *)ctx)->pend, kind, n);
}

static inline void *mv_slice(void *ctx, uint8_t kind, size_t n)
{
    return mv_put_record(&((struct mv_node *)ctx)->slice, kind, n);
}

static inline int mv_body_put(struct bodies *ctx, const uint8_t *p, uint32_t n, uint64_t *ref)
{
    struct mv_node *d = (void *)ctx;

    if (d->n_bodies + 1 >= MV_BODIES)
        return SQ_EFULL;
    *ref = ++d->n_bodies;
    buf_append(&d->body[*ref], p, n);
    return 0;
}

static inline int mv_body_get(struct bodies *ctx, uint64_t ref, struct buf *out)
{
    struct mv_node *d = (void *)ctx;

    if (ref > d->n_bodies || d->body[ref].len == 0) {
        MV_BAD(d->w, "a body that is gone is asked for");
        return SQ_EPROTO;
    }
    buf_append(out, d->body[ref].data, d->body[ref].len);
    return 0;
}

static inline void mv_body_drop(struct bodies *ctx, uint64_t ref)
{
    struct mv_node *d = (void *)ctx;

    if (ref > d->n_bodies || d->body[ref].len == 0)
        MV_BAD(d->w, "a body goes twice");
    else
        buf_fini(&d->body[ref]);
}

static inline bool mv_body_is_old(const struct bodies *ctx, uint64_t ref)
{
    return ref <= ((const struct mv_node *)(const void *)ctx)->old_to;
}

static inline int mv_body_copy(struct bodies *ctx, uint64_t ref, uint64_t *to)
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
    ms_dies(d);
    d->snapping = false;
    for (; d->n_bodies > d->bodies_written; d->n_bodies--)
        buf_fini(&d->body[d->n_bodies]);
}

static inline void mv_node_begin(struct mv *w, int i)
{
    struct mv_node *d = &w->node[i];
    char addr[32];
    struct tasktab_opts o = { .addr = addr, .admin = "", .max_tasks = 10000, .max_keys = 1000,
                              .seed = { (uint8_t)(i + 1) }, .boot = { (uint64_t)i + 1, 0 },
                              .bodies = { mv_body_put, mv_body_get, mv_body_drop, NULL, mv_body_is_old,
                                          mv_body_copy, (void *)d },
                              .record = mv_record, .record_ctx = d, .portion = w->portion, .ended = mv_ended,
                              .ended_ctx = d, .calls = d->calls, .answers = d->answers };
    bool *used;

    if (w->sender != NULL && w->sender->begins != NULL)
        w->sender->begins(w, i);
    o.large = d->large;
    if (w->redis != NULL) {
        o.shared = &ms_calls;
        o.shared_ctx = d;
    }
    snprintf(addr, sizeof(addr), "10.0.0.%d:7400", i + 1);
    d->t = tasktab_new(&o);
    w->starts++;
    if (w->redis != NULL)
        return;
    used = calloc(MV_BODIES, sizeof(*used));
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
    if (a == MV_ROUTER && w->sender != NULL)
        w->sender->lost(w, no);
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

        if (w->redis != NULL)
            tasktab_arrived(d->t, &d->out.v[k].m, &d->out.mem);
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

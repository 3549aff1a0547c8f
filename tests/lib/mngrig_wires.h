/* mngrig_wires.h: the world of mngrig.h: its store, its links, and what is on the way on them. */
#ifndef SEGQ_TESTS_MNGRIG_WIRES_H
#define SEGQ_TESTS_MNGRIG_WIRES_H

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/codec.h"
#include "common/base/log.h"
#include "queuemng/core/mng.h"
#include "router/flow/routes.h"
#include "segment/node/segtab.h"

#define MR_NODES   3
#define MR_LINKS   (MR_NODES + MR_NODES * MR_NODES + 1)
#ifndef MR_TICKETS
#define MR_TICKETS 512
#endif
#define MR_KEYS    1024
#define MR_WIRES   4096

enum { MR_MNG = -1, MR_ROUTER = -2 };

struct mr_link {
    int a, b; /* MR_MNG, MR_ROUTER or a node */
    bool up, want;
    uint32_t gen;
    peer_no pa, pb; /* what a calls b, what b calls a */
    msec_t down_until;
};

struct mr_wire {
    uint32_t link, gen;
    int to;
    uint16_t type;
    struct buf body;
};

struct mr_ticket {
    seg_id seg;
    uint32_t number;
    uint64_t position;      /* last told; 0 = never */
    int64_t released_at_ms; /* in its pass */
    bool left, seen, admitted;
};

struct mr {
    struct mng *m;
    struct mng_out out;
    struct segtab *t[MR_NODES];
    uint64_t incarnation[MR_NODES];
    struct routes *routes;
    msec_t now;
    int64_t wall;
    struct mr_link link[MR_LINKS]; /* node i -> manager; node i -> node k; the router's */
    peer_no next_peer;
    struct mr_wire q[MR_WIRES];
    uint32_t head, tail;
    char *key[MR_KEYS], *val[MR_KEYS];
    unsigned n_keys;
    struct mr_ticket ticket[MR_TICKETS];
    uint32_t n_tickets, first_waiting;
    struct arena mem;
    /* the fault */
    uint32_t armed, at;
    void (*fault)(struct mr *r, int arg);
    int arg;
    const char *story;      /* for messages */
    bool may_lose;          /* the queue was flushed or deleted */
    bool refuses[MR_NODES]; /* to open segments */
    unsigned lane;          /* where mr_join() joins */
    bool crowd;             /* too many to look at the line after every message */
    void (*around)(bool in); /* NULL, or called before and after each call of the manager */
    bool may_fail, failed;   /* a step may be without memory; one was */
    void (*other)(void *ctx, const struct out_item *it); /* NULL, or takes what is for task nodes */
    void *other_ctx;
};

#define MR_SAY   "%s fault at message %u"
#define MR_AT(r) (r)->story, (r)->at

static const char *const mr_name[MR_NODES] = { "seg-a", "seg-b", "seg-c" };

static inline void mr_quiet(void *ctx, enum log_level level, const char *line)
{
    (void)ctx;
    (void)level;
    (void)line;
}

static inline int mr_pass(void *ctx, const struct seg_pass *p, char *out)
{
    (void)ctx;
    return snprintf(out, MSG_PASS_MAX, "%llu-%u", (unsigned long long)p->seg, p->number);
}

/* ---- store ----------------------------------------------------------------------- */

static inline void mr_keep(struct mr *r, const struct mng_act *a)
{
    unsigned i = 0;

    while (i < r->n_keys && strcmp(r->key[i], a->key) != 0)
        i++;
    if (i == r->n_keys) {
        cr_assert_lt(i, MR_KEYS);
        r->key[r->n_keys++] = strdup(a->key);
        r->val[i] = NULL;
    }
    free(r->val[i]);
    r->val[i] = a->kind == MNG_PUT ? strdup(a->val) : NULL;
}

/* ---- wires ----------------------------------------------------------------------- */

static inline void mr_send(struct mr *r, int from, const struct out_item *it)
{
    struct mr_wire *w;

    for (uint32_t i = 0; i < MR_LINKS; i++) {
        const struct mr_link *l = &r->link[i];
        bool at_a = l->a == from && l->pa == it->to,
             at_b = l->b == from && l->pb == it->to;

        if (!l->up || (!at_a && !at_b))
            continue;
        w = &r->q[r->tail++ % MR_WIRES];
        cr_assert_lt(r->tail - r->head, MR_WIRES, MR_SAY, MR_AT(r));
        w->link = i;
        w->gen = l->gen;
        w->to = at_a ? l->b : l->a;
        w->type = (uint16_t)it->m.type;
        buf_init(&w->body);
        cr_assert_eq(msg_encode(&it->m, &w->body), 0, "encode %s", msg_name(it->m.type));
        return;
    }
    if (from == MR_MNG && r->other != NULL)
        r->other(r->other_ctx, it);
}

static inline void mr_in_mng(struct mr *r, bool in)
{
    if (r->around != NULL)
        r->around(in);
}

/* Performs what the manager wants. */
static inline void mr_flush_mng(struct mr *r)
{
    cr_assert(r->may_fail || !r->out.box.failed);
    if (r->out.box.failed) {
        r->failed = true; /* of that step nothing is stored or sent */
        mng_out_reset(&r->out);
        return;
    }
    for (uint32_t i = 0; i < r->out.n; i++)
        if (r->out.act[i].kind == MNG_SEND)
            mr_send(r, MR_MNG, &r->out.box.v[r->out.act[i].item]);
        else
            mr_keep(r, &r->out.act[i]);
    mng_out_reset(&r->out);
}

static inline void mr_step(struct mr *r, int node, struct segtab_in in)
{
    struct outbox out;

    outbox_init(&out);
    in.now = (struct seg_now) { r->now, r->wall };
    segtab_step(r->t[node], &in, &out);
    cr_assert_not(out.failed);
    for (uint32_t i = 0; i < out.n; i++)
        mr_send(r, node, &out.v[i]);
    outbox_fini(&out);
}

static inline void mr_router_reg(struct mr *r)
{
    struct out_item it = { .to = r->link[MR_LINKS - 1].pa,
                           .m = { .type = MSG_ROUTER_REG } };

    it.m.router_reg.map_version = routes_version(r->routes);
    it.m.router_reg.map_epoch = routes_epoch(r->routes);
    it.m.router_reg.http = it.m.router_reg.admin = "";
    mr_send(r, MR_ROUTER, &it);
}

static inline void mr_link_up(struct mr *r, struct mr_link *l)
{
    if (l->up)
        return;
    l->up = true;
    l->pa = r->next_peer++;
    l->pb = r->next_peer++;
    if (l->b == MR_MNG) {
        int role = l->a == MR_ROUTER ? RPC_ROUTER : RPC_SEGMENT;

        mr_in_mng(r, true);
        mng_peer_up(r->m, r->now, l->pb, role, l->a == MR_ROUTER ? "rt-1" : mr_name[l->a],
                    l->a == MR_ROUTER ? 1 : r->incarnation[l->a], &r->out);
        mr_in_mng(r, false);
        mr_flush_mng(r);
        if (l->a == MR_ROUTER)
            mr_router_reg(r);
        else
            mr_step(r, l->a,
                    (struct segtab_in) { .kind = SEGTAB_UP,
                                         .peer = l->pa,
                                         .role = RPC_MANAGER,
                                         .name = "mng" });
        return;
    }
    mr_step(r, l->b,
            (struct segtab_in) { .kind = SEGTAB_UP,
                                 .peer = l->pb,
                                 .role = RPC_SEGMENT,
                                 .name = mr_name[l->a] });
    mr_step(r, l->a,
            (struct segtab_in) { .kind = SEGTAB_UP,
                                 .peer = l->pa,
                                 .role = RPC_SEGMENT,
                                 .name = mr_name[l->b] });
}

static inline void mr_link_down(struct mr *r, struct mr_link *l, msec_t for_ms)
{
    l->down_until = r->now + for_ms;
    if (!l->up)
        return;
    l->up = false;
    l->gen++; /* what is on the wire is lost */
    if (l->b == MR_MNG) {
        if (r->m != NULL) { /* NULL: the manager is what went */
            mr_in_mng(r, true);
            mng_peer_down(r->m, r->now, l->pb, &r->out);
            mr_in_mng(r, false);
        }
        mr_flush_mng(r);
    } else if (r->t[l->b] != NULL) {
        mr_step(r, l->b, (struct segtab_in) { .kind = SEGTAB_DOWN, .peer = l->pb });
    }
    if (l->a >= 0 && r->t[l->a] != NULL)
        mr_step(r, l->a, (struct segtab_in) { .kind = SEGTAB_DOWN, .peer = l->pa });
}

static inline struct mr_link *mr_copy_link(struct mr *r, int from, int to)
{
    return &r->link[MR_NODES + from * MR_NODES + to];
}

/* Dials what the nodes want to be linked to, closes what they do not want any more. */
static inline void mr_dial(struct mr *r)
{
    for (int i = 0; i < MR_NODES; i++) {
        struct node_want want[16];
        size_t n = segtab_wanted(r->t[i], want, 16);

        for (int k = 0; k < MR_NODES; k++) {
            struct mr_link *l = mr_copy_link(r, i, k);

            l->want = false;
            for (size_t j = 0; j < n; j++)
                l->want |= strcmp(want[j].name, mr_name[k]) == 0;
            if (l->want && !l->up && r->now >= l->down_until)
                mr_link_up(r, l);
            else if (!l->want && l->up)
                mr_link_down(r, l, 0);
        }
    }
    for (int i = 0; i < MR_NODES; i++)
        if (!r->link[i].up && r->now >= r->link[i].down_until)
            mr_link_up(r, &r->link[i]);
    if (!r->link[MR_LINKS - 1].up)
        mr_link_up(r, &r->link[MR_LINKS - 1]);
}

#endif

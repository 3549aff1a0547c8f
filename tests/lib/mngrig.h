/* mngrig.h: the real manager core, three real segment nodes and a router's map in one
 * thread: every message goes through the codec and over a link that can be cut. After
 * every single message the line is looked at: who waits is a tail of those who joined. */
#ifndef SEGQ_TESTS_MNGRIG_H
#define SEGQ_TESTS_MNGRIG_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/codec.h"
#include "common/log.h"
#include "queuemng/mng.h"
#include "router/routes.h"
#include "segment/segtab.h"

#define MR_NODES   3
#define MR_LINKS   (MR_NODES + MR_NODES * MR_NODES + 1)
#ifndef MR_TICKETS
#define MR_TICKETS 512
#endif
#define MR_KEYS    1024
#define MR_WIRES   4096

enum { MR_MNG = -1, MR_ROUTER = -2 };
enum { MR_ROLE_ROUTER = 1, MR_ROLE_SEGMENT = 2, MR_ROLE_MANAGER = 3 };

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
        int role = l->a == MR_ROUTER ? MR_ROLE_ROUTER : MR_ROLE_SEGMENT;

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
                                         .role = MR_ROLE_MANAGER,
                                         .name = "mng" });
        return;
    }
    mr_step(r, l->b,
            (struct segtab_in) { .kind = SEGTAB_UP,
                                 .peer = l->pb,
                                 .role = MR_ROLE_SEGMENT,
                                 .name = mr_name[l->a] });
    mr_step(r, l->a,
            (struct segtab_in) { .kind = SEGTAB_UP,
                                 .peer = l->pa,
                                 .role = MR_ROLE_SEGMENT,
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
        struct segtab_want want[16];
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

/* ---- the line, after every message ----------------------------------------------- */

static inline void mr_seen(void *ctx, seg_id host, seg_id seg, uint32_t number)
{
    struct mr *r = ctx;

    (void)host;
    for (uint32_t i = 0; i < r->n_tickets; i++)
        if (r->ticket[i].seg == seg && r->ticket[i].number == number)
            r->ticket[i].seen = true;
}

/* Nobody is released before somebody who joined earlier, nobody is lost, nobody returns.
 */
static inline void mr_line(struct mr *r)
{
    uint32_t i = 0;

    if (r->crowd)
        return;
    for (uint32_t k = 0; k < r->n_tickets; k++)
        r->ticket[k].seen = false;
    for (int k = 0; k < MR_NODES; k++)
        segtab_each_waiting(r->t[k], mr_seen, r);
    if (r->may_lose)
        return;
    while (i < r->n_tickets && (r->ticket[i].left || !r->ticket[i].seen))
        i++;
    cr_assert_geq(i, r->first_waiting, MR_SAY ": ticket %u waits again", MR_AT(r), i);
    r->first_waiting = i;
    for (; i < r->n_tickets; i++)
        if (!r->ticket[i].left)
            cr_assert(r->ticket[i].seen,
                      MR_SAY ": ticket %u (%llu-%u) does not wait, %u does", MR_AT(r), i,
                      (unsigned long long)r->ticket[i].seg, r->ticket[i].number,
                      r->first_waiting);
}

static inline void mr_deliver(struct mr *r, const struct mr_wire *w)
{
    struct mr_link *l = &r->link[w->link];
    struct msg g;

    if (!l->up || l->gen != w->gen)
        return;
    if (r->armed != 0 && ++r->armed == r->at + 1 && r->fault != NULL) {
        r->fault(r, r->arg);
        if (!l->up || l->gen != w->gen)
            return; /* it was lost in it */
    }
    arena_reset(&r->mem);
    cr_assert_eq(msg_decode(w->type, w->body.data, w->body.len, &r->mem, &g), 0,
                 "decode %s", msg_name((enum msg_type)w->type));
    if (w->to >= 0 && r->refuses[w->to] && g.type == MSG_SEG_OPEN) {
        struct out_item it = { .to = l->pa, .m = { .type = MSG_ERROR } };

        it.m.error.code = SQ_EUNAVAIL;
        it.m.error.about = MSG_SEG_OPEN;
        it.m.error.text = "too many segments";
        mr_send(r, w->to, &it);
        return;
    }
    if (w->to == MR_MNG) {
        mr_in_mng(r, true);
        mng_msg(r->m, r->now, l->pb, &g, &r->out);
        mr_in_mng(r, false);
        mr_flush_mng(r);
    } else if (w->to == MR_ROUTER) {
        if (g.type == MSG_MAP && routes_apply(r->routes, &g.map) < 0)
            cr_assert_fail(MR_SAY ": a map that does not follow", MR_AT(r));
        if (g.type == MSG_STATS)
            routes_stats(r->routes, &g.stats);
    } else {
        mr_step(r, w->to,
                (struct segtab_in) { .kind = SEGTAB_MSG,
                                     .peer = w->to == l->a ? l->pa : l->pb,
                                     .msg = &g });
    }
}

static inline void mr_pump(struct mr *r)
{
    for (unsigned n = 0; r->head != r->tail; n++) {
        struct mr_wire w = r->q[r->head++ % MR_WIRES];

        cr_assert_lt(n, 20000, MR_SAY ": they never stop talking", MR_AT(r));
        mr_deliver(r, &w);
        mr_dial(r);
        mr_line(r);
        buf_fini(&w.body);
    }
}

static inline void mr_run(struct mr *r, msec_t ms)
{
    for (msec_t end = r->now + ms; r->now < end;) {
        r->now += 100;
        r->wall += 100;
        mr_dial(r);
        for (int i = 0; i < MR_NODES; i++)
            mr_step(r, i, (struct segtab_in) { .kind = SEGTAB_TICK });
        mr_in_mng(r, true);
        mng_tick(r->m, r->now, r->wall, &r->out);
        mr_in_mng(r, false);
        mr_flush_mng(r);
        mr_pump(r);
    }
}

/* ---- life ------------------------------------------------------------------------ */

static inline struct segtab *mr_node_new(void)
{
    struct segtab_opts o = { .max_tickets = 1 << 20,
                             .max_segments = 64,
                             .addr = "127.0.0.1:1",
                             .admin = "",
                             .make_pass = mr_pass };
    struct segtab *t = segtab_new(&o);

    cr_assert_not_null(t);
    return t;
}

static inline void mr_router_up(struct mr *r, int node)
{
    mr_step(r, node,
            (struct segtab_in) {
                .kind = SEGTAB_UP, .peer = 1, .role = MR_ROLE_ROUTER, .name = "rt-1" });
}

static inline void mr_manager_new(struct mr *r)
{
    struct mng_opts o = { .seed = 1 };
    struct err e = { 0 };

    r->m = mng_new(&o);
    for (unsigned i = 0; i < r->n_keys; i++)
        if (r->val[i] != NULL)
            cr_assert_eq(mng_load(r->m, r->key[i], r->val[i], &e), 0, "%s", e.text);
    mng_start(r->m, r->now, r->wall, &r->out);
    mr_flush_mng(r);
}

static inline void mr_put_queue(struct mr *r, const char *json)
{
    struct cfg_node *doc = NULL;
    struct queue_def d = { 0 };
    struct err e = { 0 };

    cr_assert_eq(cfg_parse_json(&doc, json, strlen(json), &e), 0, "%s", e.text);
    cr_assert_eq(cfg_bind(&d, sizeof(d), queue_def_keys, doc, "test", &e), 0, "%s",
                 e.text);
    cr_assert_eq(mng_queue_put(r->m, r->now, &d, &r->out, &e), 0, "%s", e.text);
    mr_flush_mng(r);
    cfg_clear(&d, queue_def_keys);
    cfg_node_free(doc);
}

static inline void mr_order(struct mr *r, enum mng_order o)
{
    struct err e = { 0 };

    cr_assert_eq(mng_order(r->m, r->now, "q", o, &r->out, &e), 0, "%s", e.text);
    mr_flush_mng(r);
}

static inline struct mr *mr_new(const char *story)
{
    struct mr *r = calloc(1, sizeof(*r));

    log_set_sink(mr_quiet, NULL);
    r->story = story;
    r->now = 1000;
    r->wall = 1700000000000;
    r->next_peer = 10;
    r->routes = routes_new();
    mng_out_init(&r->out);
    arena_init(&r->mem);
    for (int i = 0; i < MR_NODES; i++) {
        r->link[i] = (struct mr_link) { .a = i, .b = MR_MNG };
        for (int k = 0; k < MR_NODES; k++)
            *mr_copy_link(r, i, k) = (struct mr_link) { .a = i, .b = k };
        r->incarnation[i] = 1;
    }
    r->link[MR_LINKS - 1] = (struct mr_link) { .a = MR_ROUTER, .b = MR_MNG };
    mr_manager_new(r);
    for (int i = 0; i < MR_NODES; i++) {
        r->t[i] = mr_node_new();
        mr_router_up(r, i);
    }
    mr_run(r, 500);
    return r;
}

/* The node's process with memory and journal; another one is there in a moment. */
static inline void mr_lose(struct mr *r, int no)
{
    segtab_free(r->t[no]);
    r->t[no] = NULL;
    for (int k = 0; k < MR_NODES; k++) {
        mr_link_down(r, mr_copy_link(r, no, k), 0);
        mr_link_down(r, mr_copy_link(r, k, no), 0);
    }
    mr_link_down(r, &r->link[no], 100);
    r->t[no] = mr_node_new();
    r->incarnation[no]++;
    mr_router_up(r, no);
}

static inline void mr_restart_manager(struct mr *r)
{
    mng_free(r->m);
    r->m = NULL;
    for (int i = 0; i < MR_NODES; i++)
        mr_link_down(r, &r->link[i], 0);
    mr_link_down(r, &r->link[MR_LINKS - 1], 0);
    mr_manager_new(r);
}

static inline void mr_free(struct mr *r)
{
    mng_free(r->m);
    mng_out_fini(&r->out);
    for (int i = 0; i < MR_NODES; i++)
        segtab_free(r->t[i]);
    routes_free(r->routes);
    for (; r->head != r->tail; r->head++)
        buf_fini(&r->q[r->head % MR_WIRES].body);
    for (unsigned i = 0; i < r->n_keys; i++) {
        free(r->key[i]);
        free(r->val[i]);
    }
    arena_fini(&r->mem);
    free(r);
}

/* ---- players --------------------------------------------------------------------- */

static inline int mr_node_no(const struct mr *r, node_no no)
{
    const struct route_node *v;
    size_t n = routes_nodes(r->routes, &v);

    for (size_t i = 0; i < n; i++)
        for (int k = 0; v[i].no == no && k < MR_NODES; k++)
            if (strcmp(v[i].name, mr_name[k]) == 0)
                return k;
    cr_assert_fail(MR_SAY ": no such node", MR_AT(r));
    return 0;
}

static inline queue_id mr_queue(const struct mr *r)
{
    const struct route_queue *q = routes_queue(r->routes, "q", 1);

    cr_assert_not_null(q);
    return q->id;
}

static inline void mr_join(struct mr *r, uint32_t n)
{
    while (n > 0) {
        struct append_req req = { .client = CLIENT_GAME };
        struct append_ans a;
        struct route_tail tail;

        cr_assert_eq(routes_tail(r->routes, mr_queue(r), r->lane, &tail), 0);
        req.seg = tail.seg;
        segtab_append(r->t[mr_node_no(r, tail.node)],
                      (struct seg_now) { r->now, r->wall }, &req, 1, &a);
        if (a.state == APPEND_SEALED) {
            routes_sealed(r->routes, tail.seg);
            mr_run(r, 300);
            continue;
        }
        cr_assert_eq(a.state, APPEND_OK);
        cr_assert_lt(r->n_tickets, MR_TICKETS);
        r->ticket[r->n_tickets++] =
            (struct mr_ticket) { .seg = a.seg, .number = a.number };
        n--;
    }
}

/* false: not to be asked just now. */
static inline bool mr_poll(struct mr *r, struct mr_ticket *k, struct place_ans *a)
{
    struct place_req req = { .seg = k->seg, .number = k->number, .client = CLIENT_GAME };
    struct route_owner o;
    struct arena mem;
    int rc = routes_owner(r->routes, k->seg, &o);

    if (rc == SQ_EGONE) {
        *a = (struct place_ans) { .state = PLACE_GONE, .reason = GONE_FINISHED };
        return true;
    }
    if (rc < 0)
        return false;
    if (o.lost) {
        *a = (struct place_ans) { .state = PLACE_GONE, .reason = GONE_LOST };
        return true;
    }
    arena_init(&mem);
    segtab_place(r->t[mr_node_no(r, o.node)], (struct seg_now) { r->now, r->wall }, &req,
                 1, a, &mem);
    arena_fini(&mem);
    return a->state == PLACE_WAITING || a->state == PLACE_ADMITTED ||
           a->state == PLACE_GONE;
}

static inline void mr_leave(struct mr *r, uint32_t i)
{
    struct mr_ticket *k = &r->ticket[i];
    struct drop_req req = { .seg = k->seg, .number = k->number };
    struct route_owner o;
    struct drop_ans a;

    cr_assert_eq(routes_owner(r->routes, k->seg, &o), 0);
    segtab_drop(r->t[mr_node_no(r, o.node)], (struct seg_now) { r->now, r->wall }, &req,
                1, &a);
    cr_assert_eq(a.state, DROP_OK);
    k->left = true;
}

/* Everybody polls; whoever waits is told a place that is not worse than the last. */
static inline void mr_poll_all(struct mr *r)
{
    for (uint32_t i = 0; i < r->n_tickets; i++) {
        struct mr_ticket *k = &r->ticket[i];
        struct place_ans a;

        if (k->left || !mr_poll(r, k, &a))
            continue;
        if (a.state == PLACE_WAITING) {
            cr_assert_not(k->admitted, MR_SAY ": ticket %u was inside and waits", MR_AT(r), i);
            cr_assert(k->position == 0 || a.position <= k->position,
                      MR_SAY ": ticket %u moved back from %llu to %llu", MR_AT(r), i,
                      (unsigned long long)k->position, (unsigned long long)a.position);
            k->position = a.position != 0 ? a.position : k->position;
        } else if (a.state == PLACE_ADMITTED) {
            cr_assert(!k->admitted || a.released_at_ms == k->released_at_ms,
                      MR_SAY ": ticket %u was admitted twice", MR_AT(r), i);
            k->released_at_ms = a.released_at_ms;
            k->admitted = true;
        } else if (!r->may_lose) {
            cr_assert_fail(MR_SAY ": ticket %u is gone, reason %u", MR_AT(r), i,
                           a.reason);
        }
    }
}

static inline void mr_play(struct mr *r, msec_t ms)
{
    for (; ms > 0; ms -= 500) {
        mr_run(r, 500);
        mr_poll_all(r);
    }
}

#endif

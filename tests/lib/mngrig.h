/* mngrig.h: the real manager core, three real segment nodes and a router's map in one
 * thread: every message goes through the codec and over a link that can be cut. After
 * every single message the line is looked at: who waits is a tail of those who joined. */
#ifndef SEGQ_TESTS_MNGRIG_H
#define SEGQ_TESTS_MNGRIG_H

#include "tests/lib/mngrig_wires.h"

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
                .kind = SEGTAB_UP, .peer = 1, .role = RPC_ROUTER, .name = "rt-1" });
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
    cr_assert_eq(mng_define(r->m, DEF_QUEUE, r->now, &d, &r->out, &e), 0, "%s", e.text);
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

/* Its nodes notice after ms. */
static inline void mr_restart_manager_in(struct mr *r, int ms)
{
    mng_free(r->m);
    r->m = NULL;
    for (int i = 0; i < MR_NODES; i++)
        mr_link_down(r, &r->link[i], ms);
    mr_link_down(r, &r->link[MR_LINKS - 1], 0);
    mr_manager_new(r);
}

static inline void mr_restart_manager(struct mr *r)
{
    mr_restart_manager_in(r, 0);
}

static inline uint32_t mr_admitted(const struct mr *r)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->n_tickets; i++)
        n += r->ticket[i].admitted;
    return n;
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
    return q->map.id;
}

static inline void mr_join(struct mr *r, uint32_t n)
{
    while (n > 0) {
        struct append_req req = { .client = CLIENT_GAME };
        struct append_ans a;
        struct route_tail tail;
        struct arena mem; /* of the pass of who is let in at once */

        arena_init(&mem);
        cr_assert_eq(routes_tail(r->routes, mr_queue(r), r->lane, &tail), 0);
        req.seg = tail.seg;
        segtab_append(r->t[mr_node_no(r, tail.node)],
                      (struct seg_now) { r->now, r->wall }, &req, 1, &a, &mem);
        arena_fini(&mem);
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

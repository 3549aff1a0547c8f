/* mngfake.h: the manager core, a store, a router's ear, and nodes that do as they are told (the
 * real ones: mngrig.h). For test_mng.c. */
#ifndef SEGQ_TESTS_MNGFAKE_H
#define SEGQ_TESTS_MNGFAKE_H

#include "tests/lib/criterion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/core/mng.h"
#include "tests/lib/quiet.h"

#define SEGS 64
#define KEYS 128

struct fake { /* a segment node */
    peer_no peer;
    const char *name;
    uint64_t incarnation, epoch;
    struct seg_status v[SEGS];
    uint32_t n;
    bool mute; /* does not answer */
};

struct world {
    struct mng *m;
    struct mng_out out, todo[4096];
    unsigned first, last;
    bool running;
    msec_t now;
    struct fake node[3];
    unsigned n_nodes;
    char *key[KEYS], *val[KEYS]; /* the store */
    unsigned n_keys;
    struct arena mem;
    /* what the router was told last */
    peer_no router;
    uint64_t map_version, last_from;
    uint32_t map_segs, map_open, map_aliases;
    uint8_t queue_state, queue_phase;
    struct lane_stats told; /* figures of the newest STATS: of the default lane */
    char page[300]; /* what the map says of it */
    char message[QUEUE_MESSAGE_MAX + 1];
    unsigned removed;
    uint64_t popped;
};

/* ---- the store ------------------------------------------------------------------- */

static void keep(struct world *w, const struct mng_act *a)
{
    unsigned i = 0;

    while (i < w->n_keys && strcmp(w->key[i], a->key) != 0)
        i++;
    if (i == w->n_keys) {
        cr_assert_lt(i, KEYS);
        w->key[w->n_keys++] = strdup(a->key);
        w->val[i] = NULL;
    }
    free(w->val[i]);
    w->val[i] = a->kind == MNG_PUT ? strdup(a->val) : NULL;
}

/* ---- the fake node --------------------------------------------------------------- */

static void run(struct world *w);

static struct seg_status *seg_at(struct fake *f, seg_id id)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (f->v[i].seg == id)
            return &f->v[i];
    return NULL;
}

static void tell(struct world *w, const struct fake *f, const struct msg *m)
{
    mng_msg(w->m, w->now, f->peer, m, &w->out);
    run(w);
}

static void report(struct world *w, struct fake *f, bool full, seg_id gone)
{
    struct msg m = { .type = MSG_SEG_STATUS };

    m.seg_status.epoch = f->epoch;
    m.seg_status.full = full;
    m.seg_status.n = f->n;
    m.seg_status.v = f->v;
    m.seg_status.n_gone = gone != 0;
    m.seg_status.gone = &gone;
    m.seg_status.max_tickets = 1000000;
    tell(w, f, &m);
}

static void do_open(struct fake *f, const struct msg_seg_open *o)
{
    struct seg_status *s = seg_at(f, o->seg);

    if (s != NULL)
        return;
    cr_assert_lt(f->n, SEGS);
    s = &f->v[f->n++];
    *s = (struct seg_status){ .seg = o->seg,
                              .queue = o->queue,
                              .lane = o->lane,
                              .capacity = o->capacity,
                              .state = o->kind == OPEN_TAIL ? SEG_OPEN : SEG_SEALED };
}

static void do_pop(struct world *w, struct fake *f, const struct msg_seg_pop *p)
{
    struct seg_status *s = seg_at(f, p->seg);
    struct msg m = { .type = MSG_SEG_POPPED };
    uint32_t n = p->n < s->waiting ? p->n : s->waiting;

    if (p->tick == s->last_tick)
        n = 0; /* these tests do not repeat pops that had an effect */
    s->last_tick = p->tick;
    s->waiting -= n;
    s->popped += n;
    w->popped += n;
    m.seg_popped.epoch = f->epoch;
    m.seg_popped.seg = p->seg;
    m.seg_popped.tick = p->tick;
    m.seg_popped.n = n;
    m.seg_popped.status = *s;
    tell(w, f, &m);
}

static void do_remove(struct world *w, struct fake *f, const struct msg_seg_remove *r)
{
    struct seg_status *s = seg_at(f, r->seg);

    if (s != NULL) {
        if (!r->force)
            cr_assert_eq(s->waiting, 0);
        *s = f->v[--f->n];
    }
    w->removed++;
    report(w, f, false, r->seg);
}

static void move_says(struct world *w, struct fake *f, uint64_t move, seg_id from, seg_id to,
                      int side, int what, uint32_t tickets)
{
    struct msg m = { .type = MSG_MOVE_STATUS };

    m.move_status.epoch = f->epoch;
    m.move_status.move = move;
    m.move_status.from = from;
    m.move_status.to = to;
    m.move_status.side = (uint8_t)side;
    m.move_status.report = (uint8_t)what;
    m.move_status.tickets = tickets;
    m.move_status.why = "test";
    tell(w, f, &m);
}

static struct fake *node_with(struct world *w, seg_id id)
{
    for (unsigned i = 0; i < w->n_nodes; i++)
        if (seg_at(&w->node[i], id) != NULL)
            return &w->node[i];
    return NULL;
}

static void do_move_end(struct world *w, struct fake *f, const struct msg_move_end *e)
{
    struct seg_status *from = seg_at(f, e->from), *to = seg_at(f, e->to);
    bool in = to != NULL && (from == NULL || to->move == e->move);

    if (e->commit && in && to->move == e->move) {
        struct fake *y = node_with(w, e->from);

        cr_assert_not_null(y);
        to->waiting += seg_at(y, e->from)->waiting;
        to->move = 0;
        move_says(w, f, e->move, e->from, e->to, MOVE_SIDE_IN, MOVE_COMMITTED, 0);
    } else if (e->commit && from != NULL) {
        *from = f->v[--f->n];
        move_says(w, f, e->move, e->from, e->to, MOVE_SIDE_OUT, MOVE_COMMITTED, 0);
    } else if (!e->commit) {
        if (from != NULL)
            from->move = 0;
        if (to != NULL)
            to->move = 0;
        move_says(w, f, e->move, e->from, e->to, to != NULL ? MOVE_SIDE_IN : MOVE_SIDE_OUT,
                  MOVE_ABORTED, 0);
    }
}

static void do_move_out(struct world *w, struct fake *f, const struct msg_move_out *o)
{
    struct fake *x = node_with(w, o->to);

    seg_at(f, o->from)->move = o->move;
    move_says(w, x, o->move, o->from, o->to, MOVE_SIDE_IN, MOVE_FENCED,
              seg_at(f, o->from)->waiting);
}

static void node_does(struct world *w, struct fake *f, const struct msg *m)
{
    struct seg_status *s;

    if (f->mute)
        return;
    switch (m->type) {
    case MSG_NODE_OK:
        f->epoch = m->node_ok.epoch;
        break;
    case MSG_SEG_OPEN:
        do_open(f, &m->seg_open);
        report(w, f, false, 0);
        break;
    case MSG_SEG_SEAL:
        s = seg_at(f, m->seg_seal.seg);
        s->state = SEG_SEALED;
        s->next = m->seg_seal.next;
        report(w, f, false, 0);
        break;
    case MSG_SEG_NEXT:
        seg_at(f, m->seg_next.seg)->next = m->seg_next.next;
        break;
    case MSG_SEG_POP:
        do_pop(w, f, &m->seg_pop);
        break;
    case MSG_SEG_REMOVE:
        do_remove(w, f, &m->seg_remove);
        break;
    case MSG_MOVE_IN:
        seg_at(f, m->move_in.to)->move = m->move_in.move;
        move_says(w, f, m->move_in.move, m->move_in.from, m->move_in.to, MOVE_SIDE_IN,
                  MOVE_ACCEPTED, 0);
        break;
    case MSG_MOVE_OUT:
        do_move_out(w, f, &m->move_out);
        break;
    case MSG_MOVE_END:
        do_move_end(w, f, &m->move_end);
        break;
    default:
        break;
    }
}

static void router_hears(struct world *w, const struct msg *m)
{
    if (m->type == MSG_STATS && m->stats.n > 0)
        w->told = m->stats.queues[0].lane[0];
    if (m->type != MSG_MAP)
        return;
    cr_assert_geq(m->map.version, w->map_version, "the map version only grows");
    w->map_version = m->map.version;
    w->last_from = m->map.from_version;
    for (uint32_t i = 0; i < m->map.n_queues; i++) {
        const struct map_lane *l = &m->map.queues[i].lanes[0];

        w->queue_state = m->map.queues[i].state;
        w->queue_phase = m->map.queues[i].when.phase;
        snprintf(w->page, sizeof(w->page), "%s", m->map.queues[i].page);
        snprintf(w->message, sizeof(w->message), "%s", m->map.queues[i].message);
        w->map_segs = l->n_segs;
        w->map_aliases = l->n_aliases;
        w->map_open = 0;
        for (uint32_t k = 0; k < l->n_segs; k++)
            w->map_open += l->segs[k].state == SEG_OPEN;
    }
}

static void deliver(struct world *w, const struct out_item *it)
{
    for (unsigned k = 0; k < w->n_nodes; k++)
        if (w->node[k].peer == it->to && it->to != 0)
            node_does(w, &w->node[k], &it->m);
    if (it->to == w->router && it->to != 0)
        router_hears(w, &it->m);
}

static void perform(struct world *w, const struct mng_out *o)
{
    for (uint32_t i = 0; i < o->n; i++) {
        if (o->act[i].kind == MNG_SEND) {
            deliver(w, &o->box.v[o->act[i].item]);
            continue;
        }
        for (uint32_t k = 0; k < i; k++)
            cr_assert_neq(o->act[k].kind, MNG_SEND, "stores come before sends");
        keep(w, &o->act[i]);
    }
}

/* Does what the manager wants; what it wants in answer to that comes after, in order. */
static void run(struct world *w)
{
    w->todo[w->last++ % ARRAY_LEN(w->todo)] = w->out;
    cr_assert_lt(w->last - w->first, ARRAY_LEN(w->todo));
    mng_out_init(&w->out);
    if (w->running)
        return;
    w->running = true;
    while (w->first != w->last) {
        struct mng_out o = w->todo[w->first++ % ARRAY_LEN(w->todo)];

        perform(w, &o);
        mng_out_fini(&o);
    }
    w->running = false;
}

/* ---- driving --------------------------------------------------------------------- */

static void node_join(struct world *w, unsigned i)
{
    struct fake *f = &w->node[i];
    struct msg m = { .type = MSG_NODE_REG };

    mng_peer_up(w->m, w->now, f->peer, 2, f->name, f->incarnation, &w->out);
    run(w);
    m.node_reg.addr = "127.0.0.1:1";
    m.node_reg.admin = "";
    m.node_reg.max_tickets = 1000000;
    m.node_reg.max_segments = 1000;
    tell(w, f, &m);
    report(w, f, true, 0);
}

static void tick(struct world *w, int n)
{
    while (n-- > 0) {
        w->now += 100;
        mng_tick(w->m, w->now, 1700000000000 + w->now, &w->out);
        run(w);
    }
}

static void manager_start(struct world *w)
{
    struct mng_opts o = { .seed = 1 };
    struct err e = { 0 };

    w->m = mng_new(&o);
    for (unsigned i = 0; i < w->n_keys; i++)
        if (w->val[i] != NULL)
            cr_assert_eq(mng_load(w->m, w->key[i], w->val[i], &e), 0, "%s", e.text);
    mng_start(w->m, w->now, 1700000000000 + w->now, &w->out);
    run(w);
}

static void router_join(struct world *w)
{
    struct msg m = { .type = MSG_ROUTER_REG };
    struct fake f = { .peer = 99 };

    w->router = 99;
    w->map_version = 0;
    m.router_reg.http = m.router_reg.admin = "";
    mng_peer_up(w->m, w->now, 99, 1, "r0", 1, &w->out);
    run(w);
    tell(w, &f, &m);
}

static void put_queue(struct world *w, const char *json)
{
    struct cfg_node *doc = NULL;
    struct queue_def d = { 0 };
    struct err e = { 0 };

    cr_assert_eq(cfg_parse_json(&doc, json, strlen(json), &e), 0, "%s", e.text);
    cr_assert_eq(cfg_bind(&d, sizeof(d), queue_def_keys, doc, "test", &e), 0, "%s", e.text);
    cr_assert_eq(mng_define(w->m, DEF_QUEUE, w->now, &d, &w->out, &e), 0, "%s", e.text);
    run(w);
    cfg_clear(&d, queue_def_keys);
    cfg_node_free(doc);
}

static struct world *world_new(unsigned nodes)
{
    static const char *const names[] = { "seg-a", "seg-b", "seg-c" };
    struct world *w = calloc(1, sizeof(*w));

    quiet_log();
    mng_out_init(&w->out);
    w->now = 1000;
    manager_start(w);
    for (unsigned i = 0; i < nodes; i++)
        w->node[i] = (struct fake){ .peer = 10 + i, .name = names[i], .incarnation = 1 };
    w->n_nodes = nodes;
    for (unsigned i = 0; i < nodes; i++)
        node_join(w, i);
    return w;
}

static void world_free(struct world *w)
{
    mng_free(w->m);
    mng_out_fini(&w->out);
    for (unsigned i = 0; i < w->n_keys; i++) {
        free(w->key[i]);
        free(w->val[i]);
    }
    free(w);
}

/* n tickets join the first open segment of the first queue; it seals itself when full. */
static void join(struct world *w, uint32_t n)
{
    while (n > 0) {
        struct seg_status *best = NULL;
        struct fake *at = NULL;

        for (unsigned i = 0; i < w->n_nodes; i++)
            for (uint32_t k = 0; k < w->node[i].n; k++) {
                struct seg_status *s = &w->node[i].v[k];

                if (s->state == SEG_OPEN && (best == NULL || s->seg < best->seg)) {
                    best = s;
                    at = &w->node[i];
                }
            }
        cr_assert_not_null(best, "no open segment");
        uint32_t room = best->capacity - best->joined, k = n < room ? n : room;

        best->joined += k;
        best->waiting += k;
        n -= k;
        if (best->joined == best->capacity)
            best->state = SEG_SEALED;
        report(w, at, false, 0);
        tick(w, 1);
    }
}

#endif

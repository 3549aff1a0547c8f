/* net.c: connections between processes. What was sent arrives in order, after random
 * delays, encoded and decoded on the way; or, when the connection breaks, not at all from
 * some moment on. The two ends learn of that at different times. */
#include "tests/lib/sim/net.h"

#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/faults.h"
#include "tests/lib/sim/proc.h"
#include "tests/lib/sim/told.h"

#include "common/wire/codec.h"
#include "common/base/err.h"

#include <stdlib.h>
#include <string.h>

static struct proc *end_of(struct sim *s, const struct conn *c, unsigned side)
{
    return &s->proc[c->end[side]];
}

peer_no net_peer(const struct conn *c, unsigned side)
{
    return c->id * 2 + side + 1;
}

/* NULL: not a connection of this process (any more). */
struct conn *net_conn(struct sim *s, const struct proc *p, peer_no peer)
{
    uint32_t id = (peer - 1) / 2;
    unsigned side = (peer - 1) % 2;
    struct conn *c = peer != 0 && id < s->n_conns ? s->conn[id] : NULL;

    if (c == NULL || c->end[side] != p->idx || c->inc[side] != p->incarnation)
        return NULL;
    return c;
}

/* The dialler's connection, if it thinks that it is up. */
struct conn *net_up(struct sim *s, const struct proc *from, const struct proc *to)
{
    struct conn *c = s->link[from->idx][to->idx];

    return c != NULL && c->told[0] ? c : NULL;
}

/* The ocean between two processes, of the regions 0 to 2. */
static double ocean_ms(struct sim *s, unsigned from, unsigned to)
{
    double most = s->o.ocean_ms;

    return from == to || most == 0 ? 0 : most * (1 + (from * 3 + to) % 4) / 4 + sim_rand(s, 0, most / 10);
}

static double delay_ms(struct sim *s, unsigned a, unsigned b)
{
    double d = sim_rand(s, 0.1, NET_FAST_MS) + ocean_ms(s, s->proc[a].no % 3, s->proc[b].no % 3);

    if (s->slow_until[a][b] > s->now)
        d += sim_rand(s, 0, 1000);
    return d;
}

static void event_to(struct sim *s, const struct conn *c, unsigned side, double ms,
                     enum event_kind kind)
{
    struct event e = { .kind = (uint8_t)kind,
                       .proc = c->end[side],
                       .incarnation = c->inc[side],
                       .a = c->id,
                       .b = side };

    sim_after_ms(s, ms, e);
}

/* ---- dialling ------------------------------------------------------------------------ */

static void dial_later(struct sim *s, struct proc *from, struct proc *to, double ms)
{
    struct event e = { .kind = E_DIAL,
                       .proc = from->idx,
                       .incarnation = from->incarnation,
                       .a = to->idx };

    s->dialling[from->idx][to->idx] = true;
    sim_after_ms(s, ms, e);
}

void net_want(struct sim *s, struct proc *from, struct proc *to)
{
    if (s->link[from->idx][to->idx] == NULL && !s->dialling[from->idx][to->idx])
        dial_later(s, from, to, sim_rand(s, 0.1, 5));
}

static struct conn *conn_new(struct sim *s, struct proc *from, struct proc *to)
{
    struct conn *c = sim_alloc(sizeof(*c));
    size_t cap = s->cap_conns;

    s->conn = sim_grow(s->conn, &cap, s->n_conns + 1, sizeof(*s->conn));
    s->cap_conns = (uint32_t)cap;
    c->id = s->n_conns++;
    s->conn[c->id] = c;
    c->end[0] = from->idx;
    c->end[1] = to->idx;
    c->inc[0] = from->incarnation;
    c->inc[1] = to->incarnation;
    return c;
}

static void on_dial(struct sim *s, struct proc *from, struct proc *to)
{
    struct conn *c;
    double d;

    s->dialling[from->idx][to->idx] = false;
    if (s->link[from->idx][to->idx] != NULL || !proc_wants(from, to))
        return;
    if (!to->alive || s->blocked_until[from->idx][to->idx] > s->now ||
        to->paused_until > s->now) {
        s->dialling[from->idx][to->idx] = true; /* it must not dial again at once */
        proc_dial_fail(s, from, to);
        s->dialling[from->idx][to->idx] = false;
        if (proc_wants(from, to))
            dial_later(s, from, to, sim_rand(s, 100, 1500)); /* back-off and jitter */
        return;
    }
    c = conn_new(s, from, to);
    s->link[from->idx][to->idx] = c;
    d = delay_ms(s, from->idx, to->idx);
    event_to(s, c, 1, d, E_UP);
    c->last[1] = s->now + (usec_t)(d * 1000) + 1;
    d += delay_ms(s, from->idx, to->idx);
    event_to(s, c, 0, d, E_UP);
    c->last[0] = s->now + (usec_t)(d * 1000) + 1;
}

/* ---- breaking ------------------------------------------------------------------------ */

void net_break(struct sim *s, struct conn *c, double max_ms)
{
    if (c->broken)
        return;
    sim_note(s, "link %lu>%lu breaks (conn %lu)", c->end[0], c->end[1], c->id, 0, 0);
    c->broken = true;
    s->count.links_broken++;
    for (unsigned side = 0; side < 2; side++) {
        c->keeps[side] = rng_chance(&s->rng, 0.5);
        event_to(s, c, side, sim_rand(s, 0, max_ms), E_DOWN);
    }
}

void net_drop(struct sim *s, struct conn *c)
{
    net_break(s, c, NET_FAST_MS);
}

/* Its own end is gone without a word; the others see it soon. */
void net_proc_died(struct sim *s, struct proc *p)
{
    for (uint32_t i = 0; i < s->n_conns; i++) {
        struct conn *c = s->conn[i];

        for (unsigned side = 0; side < 2; side++)
            if (c->end[side] == p->idx && c->inc[side] == p->incarnation)
                net_break(s, c, rng_chance(&s->rng, 0.2) ? 3000 : 100);
    }
    for (unsigned k = 0; k < SIM_PROCS; k++) {
        s->link[p->idx][k] = NULL;
        s->dialling[p->idx][k] = false;
    }
}

void net_proc_hangs_up(struct sim *s, struct proc *p)
{
    for (uint32_t i = 0; i < s->n_conns; i++) {
        struct conn *c = s->conn[i];

        for (unsigned side = 0; side < 2; side++) {
            if (c->end[side] != p->idx || c->inc[side] != p->incarnation)
                continue;
            net_break(s, c, 100);
            c->told[side] = false;
        }
    }
}

/* The next connection of the pair may be up at the acceptor before it has noticed that
 * this one is dead: half-open links are like that. */
static void on_down(struct sim *s, struct conn *c, unsigned side)
{
    struct proc *p = end_of(s, c, side), *other = end_of(s, c, 1 - side);
    bool was = c->told[side];

    c->told[side] = false;
    if (side == 0 && s->link[p->idx][other->idx] == c)
        s->link[p->idx][other->idx] = NULL;
    if (was)
        proc_down(s, p, net_peer(c, side), other);
    if (side == 0 && proc_wants(p, other) && !s->dialling[p->idx][other->idx] &&
        s->link[p->idx][other->idx] == NULL)
        dial_later(s, p, other, sim_rand(s, 20, 500));
}

/* ---- messages ------------------------------------------------------------------------ */

void net_send(struct sim *s, const struct proc *from, peer_no to, const struct msg *m,
              uint64_t rid)
{
    struct conn *c = net_conn(s, from, to);
    unsigned side = (to - 1) % 2; /* ours */
    struct event e;
    struct wire *w;
    usec_t at;

    if (c == NULL || !c->told[side])
        return; /* as a shell does: sent to a channel that is closed */
    s->count.messages++;
    buf_reset(&s->buf);
    if (msg_encode(m, &s->buf) < 0) {
        sim_fail(s, "%s of %s cannot be encoded", msg_name(m->type), from->name);
        return;
    }
    if (c->broken || c->mute[1 - side]) {
        told_lost(end_of(s, c, 1 - side), m->type, s->now);
        return;
    }
    w = sim_alloc(sizeof(*w) + s->buf.len);
    w->type = (uint16_t)m->type;
    w->len = (uint32_t)s->buf.len;
    w->sent = s->now;
    if (w->len > 0)
        memcpy(w->body, s->buf.data, w->len);
    at = s->now + 1 + (usec_t)(1000 * delay_ms(s, c->end[0], c->end[1]));
    if (at <= c->last[1 - side])
        at = c->last[1 - side] + 1;
    c->last[1 - side] = at;
    e = (struct event){ .kind = E_MSG,
                        .proc = c->end[1 - side],
                        .incarnation = c->inc[1 - side],
                        .a = c->id,
                        .b = 1 - side,
                        .c = rid,
                        .data = w };
    sim_at(s, at, e);
}

void net_send_outbox(struct sim *s, const struct proc *from, struct outbox *o)
{
    for (uint32_t i = 0; i < o->n; i++)
        net_send(s, from, o->v[i].to, &o->v[i].m, o->v[i].rid);
    outbox_reset(o);
}

static void on_msg(struct sim *s, struct conn *c, const struct event *e)
{
    struct proc *p = end_of(s, c, e->b), *from = end_of(s, c, 1 - e->b);
    const struct wire *w = e->data;
    struct msg m;
    int rc;

    if (!c->told[e->b] || (c->broken && !c->keeps[e->b])) {
        told_lost(p, w->type, w->sent);
        return;
    }
    if (!c->broken)
        told_arrives(p, w->type);
    arena_reset(&s->arena);
    rc = msg_decode(w->type, w->body, w->len, &s->arena, &m);
    if (rc < 0) {
        sim_fail(s, "%s from %s to %s cannot be decoded: %s",
                 msg_name((enum msg_type)w->type), from->name, p->name, sq_strerror(rc));
        return;
    }
    sim_note(s, "msg %lu>%lu type %lu, %lu bytes", from->idx, p->idx, w->type, w->len, 0);
    proc_msg(s, p, c, net_peer(c, e->b), e->c, &m);
}

void net_event(struct sim *s, const struct event *e)
{
    struct proc *p = &s->proc[e->proc];
    struct conn *c;

    if (e->kind == E_DIAL) {
        on_dial(s, p, &s->proc[e->a]);
        return;
    }
    c = s->conn[e->a];
    if (e->kind == E_DOWN) {
        on_down(s, c, e->b);
    } else if (e->kind == E_UP) {
        if (c->broken)
            return; /* lost */
        c->told[e->b] = true;
        c->up_at = s->now;
        proc_up(s, p, net_peer(c, e->b), end_of(s, c, 1 - e->b));
    } else if (e->kind == E_MSG) {
        on_msg(s, c, e);
    }
}

/* players.c: people. They join, poll when told, are admitted, leave, vanish, or come
 * back late; through whatever router answers. What they are told goes to check_answer(). */
#include "tests/lib/sim/players.h"

#include "tests/lib/sim/check.h"
#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/fault_clocks.h"
#include "tests/lib/sim/opening.h"
#include "tests/lib/sim/proc.h"
#include "tests/lib/sim/replace.h"
#include "tests/lib/sim/sessions.h"
#include "tests/lib/sim/subjects.h"

#include <stdlib.h>
#include <string.h>

#define HTTP_MS_MAX    20.0
#define GIVE_UP_MS     6000 /* no answer at all: the client asks another router */
#define NOBODY         UINT32_MAX
#define QUIET_MS       90000 /* who listens and hears nothing for so long asks again */

static void timer(struct sim *s, uint32_t i, double ms)
{
    struct event e = { .kind = E_PLAYER, .proc = SIM_NOBODY, .a = i };

    s->player[i].listens_until = 0;
    e.c = ++s->player[i].gen;
    sim_after_ms(s, ms, e);
}

static void over(struct sim *s, struct player *p)
{
    p->state = P_OVER;
    p->over_at = s->now;
    p->gen++; /* whatever is still in the air is for nobody */
}

/* ---- asking -------------------------------------------------------------------------- */

/* Clients keep their router until it does not answer. */
static struct proc *router_for(struct sim *s, struct player *p)
{
    if (rng_chance(&s->rng, 0.1))
        p->router = (uint8_t)rng_below(&s->rng, s->o.routers);
    return proc_of(s, SIM_ROUTER, p->router);
}

static void request(struct sim *s, uint32_t i, enum flow_kind kind)
{
    struct player *p = &s->player[i];
    struct sreq *q = sim_alloc(sizeof(*q));
    struct event e = { .kind = E_REQ, .proc = router_for(s, p)->idx, .data = q };

    timer(s, i, GIVE_UP_MS); /* also makes p->gen new: that is the request's */
    q->player = i;
    q->gen = p->gen;
    q->kind = (uint8_t)kind;
    q->queue = p->queue;
    q->replaces = p->state == P_REPLACING;
    q->lane = q->replaces ? p->next_lane : p->lane;
    q->client = p->client;
    q->listens = kind == FLOW_POLL && p->state == P_WAITING && s->o.listen_share > 0 &&
                 rng_chance(&s->rng, s->o.listen_share);
    q->subject = p->subject;
    q->command = p->command;
    if (p->ticket != NOBODY) {
        const struct ticket *t = &s->ticket[p->ticket];

        q->token = (struct token){ .seg = t->seg, .number = t->number, .issued_s = t->issued_s,
                                   .client = p->client, .subject_hash = t->subject };
        q->released_s = t->released_ms / 1000;
        q->expires_s = t->expires_s;
    }
    p->in_air = true;
    sim_after_ms(s, sim_rand(s, 0.2, HTTP_MS_MAX), e);
}

static void leave(struct sim *s, uint32_t i)
{
    struct player *p = &s->player[i];

    p->by_pass = session_ends_by_pass(s, p);
    p->state = P_LEAVING;
    p->leave_asked = true;
    request(s, i, p->by_pass ? FLOW_SESSION : FLOW_LEAVE);
}

/* The timer rang, and nothing is in the air. */
static void act(struct sim *s, uint32_t i)
{
    struct player *p = &s->player[i];

    switch ((enum player_state)p->state) {
    case P_NEW:
    case P_JOINING:
        p->state = P_JOINING;
        request(s, i, FLOW_JOIN);
        break;
    case P_WAITING:
        if (p->leave_at != 0 && s->now >= p->leave_at && !s->calm) {
            leave(s, i);
        } else if (p->vanished) {
            s->count.vanished++;
            over(s, p);
        } else if (p->late_at != 0 && s->now >= p->late_at) {
            p->late_at = 0;
            timer(s, i, (double)p->late_for_ms);
        } else if (p->replace_at != 0 && s->now >= p->replace_at && !s->calm) {
            p->state = P_REPLACING;
            request(s, i, FLOW_JOIN);
        } else {
            request(s, i, FLOW_POLL);
        }
        break;
    case P_REPLACING: /* its claim is good for long: it is used until there is an answer */
        p->replace_tried = true;
        request(s, i, FLOW_JOIN);
        break;
    case P_ADMITTED:
    case P_LEAVING:
        if (p->polls_left == 0 && p->state == P_ADMITTED) {
            if (rng_chance(&s->rng, s->o.session_leave_share))
                leave(s, i);
            else
                over(s, p);
        } else if (p->leave_acked && s->ticket[p->ticket].rebuilt && !s->o.asks_on) {
            over(s, p); /* nobody knows that it had left: it had better not ask */
        } else if (p->leave_acked) {
            request(s, i, FLOW_POLL); /* to see that it is gone */
        } else if (p->leave_asked) {
            request(s, i, p->by_pass ? FLOW_SESSION : FLOW_LEAVE);
        } else if (session_is_extended(s, p)) {
            request(s, i, FLOW_SESSION);
        } else {
            p->polls_left--;
            request(s, i, FLOW_POLL);
        }
        break;
    case P_OVER:
        break;
    }
}

/* ---- answers ------------------------------------------------------------------------- */

/* Clients do as they are told, and are a little late rather than early. */
static void poll_later(struct sim *s, uint32_t i, uint32_t told_ms)
{
    timer(s, i, (double)told_ms * sim_rand(s, 1.0, 1.03));
}

/* It listens on, unless it has other plans by then. */
static void listen_on(struct sim *s, uint32_t i)
{
    struct player *p = &s->player[i];
    usec_t until = s->now + QUIET_MS * 1000;

    until = p->leave_at != 0 && p->leave_at < until ? p->leave_at : until;
    until = p->late_at != 0 && p->late_at < until ? p->late_at : until;
    until = p->replace_at != 0 && p->replace_at < until ? p->replace_at : until;
    p->listens_until = p->vanished ? s->now : until;
}

static void again(struct sim *s, uint32_t i)
{
    struct player *p = &s->player[i];

    if (rng_chance(&s->rng, 0.7)) /* another router may be better off */
        p->router = (uint8_t)rng_below(&s->rng, s->o.routers);
    timer(s, i, sim_rand(s, 100, 1200));
}

static void on_admitted(struct sim *s, uint32_t i)
{
    struct player *p = &s->player[i];

    if (p->state == P_WAITING) {
        p->state = P_ADMITTED;
        p->ended_at = s->now;
        s->count.admitted++;
        p->polls_left = (unsigned)rng_below(&s->rng, 4);
    }
    timer(s, i, p->polls_left == 1 ? (double)s->o.pass_ttl_ms + 3000
                                   : sim_rand(s, 200, 4000));
}

static void told_place(struct player *p, const struct sans *a)
{
    p->position = a->flow.position;
    p->position_at = a->as_of;
}

static void on_joined(struct sim *s, uint32_t i, const struct sans *a)
{
    struct player *p = &s->player[i];
    struct ticket *t = check_ticket(s, a->flow.token.seg, a->flow.token.number);

    if (t == NULL) {
        sim_fail(s, "player %u got a ticket that no segment gave: %llu-%u", i,
                 (unsigned long long)a->flow.token.seg, a->flow.token.number);
        return;
    }
    if (t->player != NOBODY) {
        sim_fail(s, "I6: players %u and %u have the same ticket %llu-%u", t->player, i,
                 (unsigned long long)t->seg, t->number);
        return;
    }
    if (a->flow.admitted && a->pass != t->pass)
        sim_fail(s, "I2: ticket %llu-%u was shown another pass at its join",
                 (unsigned long long)t->seg, t->number);
    opening_told(s, &a->flow);
    s->count.entered += a->flow.admitted;
    t->player = i;
    p->ticket = (uint32_t)(t - s->ticket);
    p->state = P_WAITING;
    told_place(p, a);
    s->count.joined++;
    sim_note(s, "player %lu has %lu-%lu at position %lu", i, t->seg, t->number,
             p->position, 0);
    if (a->flow.admitted)
        on_admitted(s, i);
    else
        poll_later(s, i, a->flow.poll_after_ms);
}

/* It may have a ticket already: its own, of which it has not heard, or another tab's
 * (which may have found this one's before its own answer came). */
static void on_named(struct sim *s, uint32_t i, const struct sans *a)
{
    const struct ticket *t = check_ticket(s, a->flow.token.seg, a->flow.token.number);

    s->count.found += a->flow.result == FLOW_EXISTING;
    if (t == NULL || t->player == NOBODY)
        on_joined(s, i, a);
    else
        over(s, &s->player[i]);
}

static void on_join_answer(struct sim *s, uint32_t i, const struct sans *a)
{
    struct player *p = &s->player[i];

    if (a->flow.result == FLOW_EXISTING || (a->flow.result == FLOW_OK && p->subject != 0))
        on_named(s, i, a);
    else if (a->flow.result == FLOW_OK)
        on_joined(s, i, a);
    else if (a->flow.result == FLOW_CLOSED && !s->healed && rng_chance(&s->rng, 0.3))
        over(s, p); /* does not want to wait for the opening */
    else
        again(s, i);
}

/* He goes on with the old ticket. */
static void stays(struct sim *s, struct player *p, usec_t replace_at)
{
    p->state = P_WAITING;
    p->replace_at = replace_at;
    request(s, (uint32_t)(p - s->player), FLOW_POLL);
}

static void on_other_place(struct sim *s, uint32_t i, const struct sans *a)
{
    struct ticket *old = &s->ticket[s->player[i].ticket];
    const struct ticket *t = check_ticket(s, a->flow.token.seg, a->flow.token.number);

    if (t != NULL && t->player != NOBODY && s->player[i].subject != 0) {
        over(s, &s->player[i]); /* another tab has it */
        return;
    }
    if (t != NULL)
        replace_told(s, old, t);
    s->player[i].lane = s->player[i].next_lane;
    s->player[i].replace_at = 0;
    on_joined(s, i, a);
}

static void on_replace_answer(struct sim *s, uint32_t i, const struct sans *a)
{
    struct player *p = &s->player[i];

    if (a->flow.result == FLOW_OK || a->flow.result == FLOW_EXISTING) {
        on_other_place(s, i, a);
    } else if (a->flow.result == FLOW_GONE) {
        replace_refused(s, &s->ticket[p->ticket]);
        s->count.gone++;
        over(s, p);
    } else if (a->flow.result == FLOW_INSIDE) {
        stays(s, p, 0);
    } else if (a->flow.result == FLOW_CLOSED && !p->replace_tried) {
        stays(s, p, s->now + 5000000);
    } else if (a->flow.result == FLOW_NAMED || a->flow.result == FLOW_OTHER) {
        sim_fail(s, "player %u may not replace his own ticket: %u", i, a->flow.result);
    } else {
        again(s, i);
    }
}

static void count_told(struct sim *s, const struct sans *a)
{
    int64_t late_ms = sim_wall(s) - clock_true(s, a->flow.released_at_ms);

    s->count.let_in_told++;
    s->count.told_late += late_ms > s->o.ocean_ms * 1.1 + 200; /* a way, two ticks */
    if (late_ms > (int64_t)s->count.told_late_ms)
        s->count.told_late_ms = (uint64_t)late_ms;
}

static void on_poll_answer(struct sim *s, uint32_t i, const struct sans *a)
{
    struct player *p = &s->player[i];

    if (a->flow.result == FLOW_GONE) {
        if (a->open && !a->starved && a->flow.reason == GONE_EXPIRED)
            sim_fail(s, "player %u listens, and its ticket has timed out", i);
        s->count.gone++;
        over(s, p);
    } else if (a->flow.result != FLOW_OK) {
        again(s, i);
    } else if (!a->flow.admitted) {
        if (a->flow.position != 0)
            told_place(p, a);
        if (a->open)
            listen_on(s, i);
        else
            poll_later(s, i, a->flow.poll_after_ms);
    } else {
        if (a->open)
            count_told(s, a);
        on_admitted(s, i);
    }
}

static void on_extended(struct sim *s, uint32_t i, const struct sans *a)
{
    if (a->flow.result == FLOW_OK)
        on_admitted(s, i);
    else
        again(s, i); /* it is over: a poll will say so */
}

static void on_answer(struct sim *s, uint32_t i, const struct sans *a)
{
    struct player *p = &s->player[i];

    if (a->gen != p->gen)
        return; /* it has given up on this one */
    p->in_air = false;
    if (a->reset) {
        again(s, i);
        return;
    }
    check_answer(s, p, a);
    if (s->failed)
        return;
    if (a->kind == FLOW_JOIN && p->state == P_REPLACING) {
        on_replace_answer(s, i, a);
    } else if (a->kind == FLOW_JOIN) {
        on_join_answer(s, i, a);
    } else if (a->kind == FLOW_POLL) {
        on_poll_answer(s, i, a);
    } else if (a->kind == FLOW_SESSION && !p->leave_asked) {
        on_extended(s, i, a);
    } else if (a->flow.result == FLOW_OK) {
        p->leave_acked = true;
        p->ended_at = s->now;
        s->count.left++;
        timer(s, i, sim_rand(s, 10, 2000));
    } else {
        again(s, i);
    }
}

void players_event(struct sim *s, const struct event *e)
{
    const struct sans *a = e->data;

    if (e->kind == E_ANS) {
        on_answer(s, a->player, a);
    } else if (e->c == s->player[e->a].gen && s->now < s->player[e->a].listens_until) {
        sim_at(s, s->player[e->a].listens_until, *e);
    } else if (e->c == s->player[e->a].gen) {
        s->player[e->a].in_air = false;
        if (s->player[e->a].state == P_NEW && s->calm)
            timer(s, e->a, 500); /* the street is empty while we look */
        else
            act(s, e->a);
    }
}

bool players_over(const struct sim *s)
{
    for (uint32_t i = 0; i < s->n_players; i++)
        if (s->player[i].state != P_OVER)
            return false;
    return true;
}

/* ---- arriving ------------------------------------------------------------------------ */

static void plan(struct sim *s, struct player *p, usec_t from)
{
    double r = rng_unit(&s->rng);
    usec_t when = from + (usec_t)sim_rand(s, 0, 40e6);

    if (r < s->o.leave_share) {
        p->leave_at = when;
    } else if (r < s->o.leave_share + s->o.vanish_share) {
        p->vanished = true;
    } else if (r < s->o.leave_share + s->o.vanish_share + s->o.late_share) {
        p->late_at = when;
        p->late_for_ms = (msec_t)sim_rand(s, 1000, 1.5 * (double)s->o.idle_ms);
    }
}

void sim_join(struct sim *s, unsigned queue, unsigned lane, unsigned n, msec_t over_ms)
{
    size_t cap = s->cap_players;

    s->player = sim_grow(s->player, &cap, s->n_players + n, sizeof(*s->player));
    s->cap_players = (uint32_t)cap;
    for (unsigned k = 0; k < n; k++) {
        uint32_t i = s->n_players++;
        double at_ms = sim_rand(s, 0, (double)over_ms);
        struct player *p = &s->player[i];

        *p = (struct player){ .state = P_NEW,
                              .queue = (uint8_t)queue,
                              .lane = (uint8_t)lane,
                              .client = (uint8_t)rng_below(&s->rng, CLIENT_NCLASSES),
                              .router = (uint8_t)rng_below(&s->rng, s->o.routers),
                              .ticket = NOBODY };
        p->subject = subject_draw(s, queue);
        plan(s, p, s->now + (usec_t)(at_ms * 1000));
        replace_plan(s, p, s->now + (usec_t)(at_ms * 1000));
        timer(s, i, at_ms);
    }
}

void sim_leave_waiting(struct sim *s, unsigned queue, double share)
{
    for (uint32_t i = 0; i < s->n_players; i++) {
        struct player *p = &s->player[i];

        if (p->state == P_WAITING && p->queue == queue && !p->in_air &&
            rng_chance(&s->rng, share))
            leave(s, i);
    }
}

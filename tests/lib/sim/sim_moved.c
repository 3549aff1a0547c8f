/* sim_moved.c: staff move tickets to other lanes, while everything else goes on; and the
 * truth about it:
 *
 *   at every ADD      the new place is a ticket like any other, of which nobody has heard
 *   at every FORWARD  its old place was alive, and this is the only one that it leads to;
 *                     from then on nobody waits there (the sweep looks)
 *   at every poll     the old token leads to that place, and no other
 *   at its end        staff is told a place of the right lane, to which the token leads
 *
 * A person goes on with the token that he has: moved_now() is where he really is. */
#include "tests/lib/sim/sim_int.h"

#include "common/base/err.h"

#include <string.h>

#define llu(x) (unsigned long long)(x)

struct ticket *moved_now(struct sim *s, struct ticket *t)
{
    while (t->heir != 0)
        t = &s->ticket[t->heir - 1];
    return t;
}

/* ---- what nodes say -------------------------------------------------------------------- */

static void added(struct sim *s, const struct proc *p, const struct msg_ticket *g)
{
    struct append_req q = { .seg = g->to, .client = g->client };
    struct append_ans a = { .state = APPEND_OK, .seg = g->to, .number = g->to_number };

    check_appended(s, p, &q, &a);
}

static void forwarded(struct sim *s, const struct msg_ticket *g)
{
    struct ticket *t = check_ticket(s, g->seg, g->number);
    struct ticket *x = check_ticket(s, g->to, g->to_number);

    if (t == NULL || x == NULL) {
        sim_fail(s, "ticket %llu-%u is moved to %llu-%u, and one of them is not there",
                 llu(g->seg), g->number, llu(g->to), g->to_number);
        return;
    }
    if (t->heir != 0 || t->fate != T_LIVE)
        sim_fail(s, "I1: ticket %llu-%u is moved, and was moved or over before (fate %u)",
                 llu(t->seg), t->number, t->fate);
    if (x->is_heir || x->player != UINT32_MAX || x->lane == t->lane)
        sim_fail(s, "I1: ticket %llu-%u is moved to %llu-%u, which is another's place",
                 llu(t->seg), t->number, llu(x->seg), x->number);
    t->fate = T_MOVED;
    t->heir = (uint32_t)(x - s->ticket) + 1;
    x->is_heir = true;
    x->subject = t->subject;
    x->player = t->player;
    x->leaving = t->leaving;
    s->count.moved++;
}

void moved_said(struct sim *s, const struct proc *p, const struct msg_ticket *g)
{
    if (g->state == TICKET_DONE && g->step == TICKET_ADD)
        added(s, p, g);
    else if (g->state == TICKET_DONE && g->step == TICKET_FORWARD)
        forwarded(s, g);
}

void moved_placed(struct sim *s, const struct ticket *t, const struct place_ans *a)
{
    const struct ticket *x = t->heir != 0 ? &s->ticket[t->heir - 1] : NULL;

    if (a->state == PLACE_MOVED && a->poll_after_ms != 0 &&
        (x == NULL || x->seg != a->moved_to || x->number + 1 != a->poll_after_ms))
        sim_fail(s, "I1: the token of %llu-%u leads to %llu-%u, where it never was",
                 llu(t->seg), t->number, llu(a->moved_to), a->poll_after_ms - 1);
}

/* ---- what staff does ------------------------------------------------------------------- */

static void ask(struct sim *s, uint32_t ticket, unsigned lane)
{
    struct ticket *t = &s->ticket[ticket];
    struct proc *p;
    struct mng *m = s->crash_in_act ? NULL : sim_mng(s, &p);
    struct staff *w = &s->staff[s->n_staff];
    struct err e = { 0 };
    char name[16];

    if (m == NULL || s->n_staff == ARRAY_LEN(s->staff))
        return;
    snprintf(name, sizeof(name), "lane%u", lane);
    *w = (struct staff){ .proc = p, .term = p->mng->term, .incarnation = p->incarnation,
                         .ticket = ticket, .lane = lane };
    sim_note(s, "staff moves %lu-%lu to lane %lu", t->seg, t->number, lane, 0, 0);
    if (mng_ticket_move(m, sim_ms(s), s->queue[t->lane / LANES_MAX].name, t->seg, t->number,
                        name, p->mng->out, &w->order, &e) == 0)
        s->n_staff++;
    smng_done(s, p);
}

/* Somebody who waits, as far as he knows; often twice, and by two hands. */
void fault_move_ticket(struct sim *s)
{
    struct player *p;
    unsigned lane;

    if (s->o.lanes < 2 || s->n_players == 0)
        return;
    for (int i = 0; i < 20; i++) {
        p = &s->player[rng_below(&s->rng, s->n_players)];
        if (p->state != P_WAITING)
            continue;
        lane = (unsigned)rng_below(&s->rng, s->o.lanes);
        ask(s, p->ticket, lane);
        if (rng_chance(&s->rng, 0.3))
            ask(s, p->ticket, (lane + 1) % s->o.lanes);
        return;
    }
}

static void told(struct sim *s, const struct staff *w, const struct mng_ticket_end *e)
{
    struct ticket *t = &s->ticket[w->ticket];
    const struct ticket *x = check_ticket(s, e->seg, e->number);

    sim_note(s, "staff is told %ld: %lu-%lu", e->rc, e->seg, e->number, 0, 0);
    if (e->rc != 0)
        return;
    while (t != x && t->heir != 0)
        t = &s->ticket[t->heir - 1];
    if (t != x || x->lane % LANES_MAX != w->lane)
        sim_fail(s, "staff is told that %llu-%u is %llu-%u in lane %u, and it is not",
                 llu(s->ticket[w->ticket].seg), s->ticket[w->ticket].number, llu(e->seg),
                 e->number, w->lane);
}

void moved_look(struct sim *s)
{
    for (unsigned i = 0; i < s->n_staff; i++) {
        struct staff w = s->staff[i];
        struct mng_ticket_end e = { .rc = SQ_ETIMEOUT };

        if (w.proc->alive && w.proc->incarnation == w.incarnation &&
            w.proc->mng->term == w.term && !mng_ticket_ended(w.proc->mng->core, w.order, &e))
            continue;
        s->staff[i--] = s->staff[--s->n_staff];
        told(s, &w, &e);
    }
}

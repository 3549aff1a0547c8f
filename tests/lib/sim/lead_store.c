/* lead_store.c: see the header. */
#include "tests/lib/sim/lead_store.h"

#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/mng.h"
#include "tests/lib/sim/ops.h"

#include <stdlib.h>
#include <string.h>

#define ANSWER_MS 500

bool lead_begun(const struct proc *p)
{
    return p->mng->lead->begun;
}

bool lead_may_order(const struct sim *s, const struct proc *p)
{
    const struct slead *l = p->mng->lead;

    return l->begun && lease_leads(&l->lease, sim_ms(s));
}

bool lead_has(const struct proc *p, uint64_t need)
{
    return p->mng->lead->done >= need;
}

uint64_t lead_needs(const struct proc *p)
{
    return p->mng->lead->issued;
}

/* ---- events -------------------------------------------------------------------------- */

void lead_later(struct sim *s, const struct proc *p, enum lead_event what, usec_t at,
                uint64_t c, void *data)
{
    struct event e = { .kind = E_LEAD,
                       .proc = p->idx,
                       .incarnation = p->incarnation,
                       .a = what,
                       .b = p->mng->lead->link,
                       .c = c,
                       .data = data };

    sim_at(s, at > s->now ? at : s->now, e);
}

void lead_timer_at(struct sim *s, const struct proc *p, usec_t at)
{
    lead_later(s, p, LEAD_TIMER, at, ++p->mng->lead->timer, NULL);
}

static usec_t delay(struct sim *s)
{
    double ms = sim_rand(s, 0.1, 3);

    if (s->store.slow_until > s->now)
        ms += sim_rand(s, 0, 700);
    return (usec_t)(ms * 1000) + 1;
}

void lead_dial(struct sim *s, struct proc *p, double ms)
{
    lead_later(s, p, LEAD_UP, s->now + (usec_t)(ms * 1000), 0, NULL);
}

/* ---- asking the store ---------------------------------------------------------------- */

bool lead_ask(struct sim *s, struct proc *p, const struct store_msg *q,
              const struct buf *text)
{
    struct slead *l = p->mng->lead;
    struct event e = { .kind = E_STORE, .proc = SIM_NOBODY };
    struct store_msg *m;

    if (!l->up)
        return false;
    m = sim_alloc(sizeof(*m) + (text != NULL ? text->len : 0));
    *m = *q;
    m->proc = p->idx;
    m->incarnation = p->incarnation;
    m->link = l->link;
    m->len = text != NULL ? (uint32_t)text->len : 0;
    if (m->len > 0)
        memcpy(m->text, text->data, text->len);
    l->out_last = u64_max((uint64_t)l->out_last + 1, (uint64_t)(s->now + delay(s)));
    e.data = m;
    sim_at(s, l->out_last, e);
    lead_later(s, p, LEAD_LATE, s->now + ANSWER_MS * 1000, ++l->asked, NULL);
    return true;
}

/* The store has answered: on its way back. */
void lead_answer(struct sim *s, struct store_msg *a)
{
    struct proc *p = &s->proc[a->proc];
    struct slead *l = p->alive && p->incarnation == a->incarnation ? p->mng->lead : NULL;

    if (l == NULL || l->link != a->link) {
        free(a);
        return;
    }
    l->in_last = u64_max((uint64_t)l->in_last + 1, (uint64_t)(s->now + delay(s)));
    lead_later(s, p, LEAD_ANSWER, l->in_last, 0, a);
}

/* ---- writes -------------------------------------------------------------------------- */

void lead_batch_reset(struct batch *b)
{
    buf_reset(&b->text);
    b->open = b->whole = false;
    b->serial = 0;
}

void lead_batch_add(struct sim *s, struct batch *b, const char *key, const char *val)
{
    b->since = b->open ? b->since : s->now;
    b->open = true;
    buf_byte(&b->text, val != NULL ? '+' : '-');
    buf_append(&b->text, key, strlen(key) + 1);
    buf_append(&b->text, val != NULL ? val : "", val != NULL ? strlen(val) + 1 : 1);
}

void lead_write_go(struct sim *s, struct proc *p)
{
    struct slead *l = p->mng->lead;
    struct store_msg q = { .ask = ASK_WRITE };

    if (l->epoch == 0 || l->sent || !l->up)
        return;
    if (!l->in_flight.open) {
        struct batch empty = l->in_flight;

        if (!l->next.open || l->next.serial == 0)
            return;
        l->in_flight = l->next;
        l->next = empty;
    }
    q.epoch = l->epoch;
    q.rev = l->rev;
    q.serial = l->in_flight.serial;
    q.whole = l->in_flight.whole;
    q.write_no = ++l->write_no;
    l->sent = lead_ask(s, p, &q, &l->in_flight.text);
}

void lead_write_again(struct sim *s, struct proc *p)
{
    p->mng->lead->sent = false;
    lead_later(s, p, LEAD_WRITE, s->now + AGAIN_MS * 1000, 0, NULL);
}

void lead_send_ready(struct sim *s, struct proc *p)
{
    struct slead *l = p->mng->lead;
    size_t n = 0;

    for (; n < l->n_steps && l->step[n].need <= l->done; n++) {
        struct mng_out *out = l->step[n].out;

        for (uint32_t k = 0; k < out->n; k++)
            if (out->act[k].kind == MNG_SEND)
                smng_say(s, p, &out->box.v[out->act[k].item]);
        smng_out_free(out);
    }
    l->n_steps -= n;
    memmove(l->step, l->step + n, l->n_steps * sizeof(*l->step));
}

void lead_drop_steps(struct slead *l)
{
    for (size_t i = 0; i < l->n_steps; i++)
        smng_out_free(l->step[i].out);
    l->n_steps = 0;
}

static void kept(struct sim *s, struct proc *p)
{
    struct slead *l = p->mng->lead;

    if (!l->begun)
        return;
    if (lead_may_order(s, p))
        lead_send_ready(s, p);
    else
        lead_drop_steps(l);
    ops_kept(s, p);
}

/* This term must end: the timer does it. */
void lead_fenced(struct sim *s, struct proc *p, uint64_t epoch)
{
    struct slead *l = p->mng->lead;

    l->fenced = true;
    l->fenced_by = u64_max(l->fenced_by, epoch);
    lead_timer_at(s, p, s->now);
}

void lead_written(struct sim *s, struct proc *p, const struct store_msg *a)
{
    struct slead *l = p->mng->lead;

    if (!l->sent || a->write_no != l->write_no)
        return; /* of an earlier term, or connection */
    l->sent = false;
    if (a->result != STORE_DONE) {
        sim_note(s, "process %lu: a write is refused (%lu)", p->idx, (uint64_t)a->result, 0,
                 0, 0);
        l->epoch = 0;
        lead_fenced(s, p, l->lease.epoch);
        return;
    }
    l->rev = a->rev;
    l->has_rev = true;
    l->done = l->in_flight.serial;
    l->dirty = l->next.open;
    lead_batch_reset(&l->in_flight);
    lead_write_go(s, p);
    kept(s, p);
}

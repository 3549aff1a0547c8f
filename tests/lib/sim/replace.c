/* replace.c: players who take a place in another lane by a claim that names their ticket
 * (PROTOCOL.md, "A ticket in another lane").
 *
 *   at every drop for an heir   I1 its new place is there: nobody is left without any;
 *                               I2 it was not let in before
 *   at the answer               whoever is told 410 has no new place that waits
 *   in every sweep              I6 a replaced ticket waits no more, so it is never let in, too
 *
 * Exempt: what was lost with its node. */
#include "tests/lib/sim/replace.h"

#include "tests/lib/sim/engine.h"

#define NOBODY UINT32_MAX

static unsigned long long llu(uint64_t v)
{
    return v;
}

void replace_plan(struct sim *s, struct player *p, usec_t from)
{
    if (s->o.replace_share <= 0 || s->o.lanes < 2 || !rng_chance(&s->rng, s->o.replace_share))
        return;
    p->replace_at = from + (usec_t)sim_rand(s, 0, 20e6);
    p->next_lane = (uint8_t)((p->lane + 1 + rng_below(&s->rng, s->o.lanes - 1)) % s->o.lanes);
}

bool replace_is_heir(const struct ticket *heir, const struct ticket *old)
{
    return heir->old_seg == old->seg && heir->old_number == old->number;
}

static bool is_lost(const struct ticket *t)
{
    return t->lost || t->rebuilt;
}

/* Given in its place, or found in its place since it has the same subject. */
static bool stands_for(const struct ticket *t, const struct ticket *old)
{
    return t != old && (replace_is_heir(t, old) ||
                        (old->subject != 0 && t->subject == old->subject));
}

/* Its new place, which waits or is inside; NULL: there is none. */
static const struct ticket *heir_of(const struct sim *s, const struct ticket *old)
{
    for (uint32_t i = s->n_tickets; i > 0; i--) {
        const struct ticket *t = &s->ticket[i - 1];

        if (stands_for(t, old) &&
            (is_lost(t) || (!t->leaving && !t->timed_out && t->fate != T_GONE)))
            return t;
    }
    return NULL;
}

/* Its new place was lost: no key finds it, and what another try takes is given back. */
static bool has_lost_heir(const struct sim *s, const struct ticket *old)
{
    for (uint32_t i = 0; i < s->n_tickets; i++)
        if (stands_for(&s->ticket[i], old) && is_lost(&s->ticket[i]))
            return true;
    return false;
}

void replace_left(struct sim *s, struct ticket *old)
{
    if (old->fate == T_ADMITTED && s->count.jumps == 0)
        sim_fail(s, "I2: ticket %llu-%u was let in, and is replaced", llu(old->seg), old->number);
    if (heir_of(s, old) == NULL)
        sim_fail(s, "I1: ticket %llu-%u is given up for a new place that is not there",
                 llu(old->seg), old->number);
    old->replaced = true;
    sim_note(s, "ticket %lu-%lu is replaced", old->seg, old->number, 0, 0, 0);
}

void replace_told(struct sim *s, struct ticket *old, const struct ticket *heir)
{
    if (!stands_for(heir, old))
        sim_fail(s, "ticket %llu-%u is told in place of %llu-%u, which it does not replace",
                 llu(heir->seg), heir->number, llu(old->seg), old->number);
    old->replaced = true; /* from now on it must not wait */
    s->count.replaced++;
}

void replace_refused(struct sim *s, const struct ticket *old)
{
    const struct ticket *heir = old->replaced ? heir_of(s, old) : NULL;

    if (heir != NULL && heir->fate == T_LIVE && heir->player == NOBODY &&
        s->now - heir->said < 1000 * ms_min(s->o.claim_ms, s->o.idle_ms) / 2 &&
        !has_lost_heir(s, old))
        sim_fail(s, "I1: ticket %llu-%u is over, and its new place %llu-%u is not told",
                 llu(old->seg), old->number, llu(heir->seg), heir->number);
}

/* told.c: I5 while things happen: of two people in one lane, who is before the other is
 * never told a greater position than the other was told before. Looked at at each place.
 *
 * What cannot be: a node that is stopped, cut off or slow shows what it heard last, and nobody
 * knows for MNG_SILENT_MS that it does. So it is looked at only where no such fault is drawn
 * (sim_opts.told). A link that breaks is such a cut, too, until the manager notices: an `ahead`
 * that it sends meanwhile is lost, and its node is not compared with what others told since,
 * until one arrives. What a router tells by itself was so at as_of, or later (its stamp comes
 * behind its rows): it is compared with what others had told before that. A position may be a tick
 * old, that of a fenced name as old as the fence (a slow disk may make it long): so many more as
 * were released meanwhile. Nodes agree within the time of a message: what was told in that time is
 * not compared; over an ocean that is a way, and a position is older by one there and back. */
#include "tests/lib/sim/told.h"

#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/faults.h"
#include "tests/lib/sim/net.h"

#define OLD_MS   400 /* a position may be so old */

/* The manager takes it for said. */
void told_lost(struct proc *to, unsigned type, usec_t sent)
{
    if (type == MSG_SEG_AHEAD && to->missed == 0)
        to->missed = sent;
}

/* Over a link that is whole: it is later than any that was lost. */
void told_arrives(struct proc *to, unsigned type)
{
    if (type != MSG_SEG_AHEAD || to->missed == 0)
        return;
    to->was_missed = to->missed;
    to->missed_until = to->sim->now;
    to->missed = 0;
}

/* Since when the node that told it had lost an `ahead`, by the state of as_of; 0: it had not. */
static usec_t missed_since(const struct proc *node, usec_t as_of)
{
    return as_of <= node->missed_until ? node->was_missed : node->missed;
}

static uint64_t released_lately(const struct sim *s, msec_t old_ms)
{
    uint64_t n = 2;

    for (size_t i = s->n_rel; i > 0 && s->rel[i - 1].at_ms > sim_wall(s) - old_ms; i--)
        n += s->rel[i - 1].n;
    return n;
}

/* Its order is the one in which it joined, and is not in doubt. */
static bool counts(const struct sim *s, const struct ticket *t)
{
    return !t->relaxed && !t->returned && !t->rebuilt &&
           !s->lane[t->lane].revived;
}

void told_position(struct sim *s, struct ticket *t, uint64_t position, usec_t as_of,
                   msec_t fence_ms)
{
    usec_t missed = missed_since(&s->proc[t->node], as_of);
    usec_t agree_us = (usec_t)((NET_FAST_MS + 1.1 * s->o.ocean_ms) * 1000);
    uint64_t slack;

    t->told_at = s->now;
    t->told_position = position;
    if (!s->o.told || !counts(s, t) || (fence_ms > 0 && s->o.ocean_ms > 0))
        return; /* a bound that falls by a seal during a fence is not counted in releases */
    slack = released_lately(s, OLD_MS + fence_ms + (msec_t)(2.2 * s->o.ocean_ms));
    for (uint32_t i = 0; i < s->n_tickets; i++) {
        const struct ticket *u = &s->ticket[i];

        if (missed != 0 && u->told_at >= missed)
            continue; /* told by an `ahead` that this node does not have */
        if (u->lane == t->lane && u->ord > t->ord && u->told_position != 0 &&
            u->told_at < as_of - agree_us && u->told_position + slack <= position && counts(s, u))
            sim_fail(s, "I5: ticket %llu-%u (ord %llu) is told %llu by %s, and %llu-%u (ord "
                     "%llu) behind it was told %llu by %s at %.3f s",
                     (unsigned long long)t->seg, t->number, (unsigned long long)t->ord,
                     (unsigned long long)position, s->proc[t->node].name,
                     (unsigned long long)u->seg, u->number, (unsigned long long)u->ord,
                     (unsigned long long)u->told_position, s->proc[u->node].name,
                     (double)u->told_at / 1e6);
    }
}

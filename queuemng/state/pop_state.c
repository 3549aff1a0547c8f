/* pop_state.c: the release under way in a lane: its end, and what it waits for. */
#include "queuemng/state/pop_state.h"

#include <assert.h>

#include "queuemng/state/state.h"

#define QUIET_MS 2000 /* a poll is reported at most this long after it came */

double one_tick(const struct mng *m, const struct mqueue *q)
{
    assert(m->opts.tick_ms > 0);
    return q->allowed_per_s * (double)m->opts.tick_ms / 1000.0;
}

void pop_end(struct mng *m, struct mlane *l, uint64_t unused, bool refund)
{
    l->pop.busy = false;
    l->pop.left = 0;
    if (unused != 0 && refund)
        release_refund(&l->q->rel, unused, one_tick(m, l->q));
}

void pop_seg_gone(struct mng *m, struct mseg *s)
{
    if (s->lane->pop.busy && s->lane->pop.seg == s->id)
        pop_end(m, s->lane, 0, false);
}

/* A gap counts as silence only above the longest told interval (a single client may poll that
 * rarely) and above half of `away` (a person who returns in the other half is not overdue). */
msec_t pop_quiet_ms(const struct mqueue *q)
{
    msec_t ms = q->def.away_ms / 2;

    for (unsigned i = 0; i < q->n_lanes; i++)
        ms = ms_max(ms, q->lane[i].most_ms + QUIET_MS);
    return ms;
}

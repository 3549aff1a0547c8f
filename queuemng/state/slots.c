/* slots.c: counts the people inside. */
#include "queuemng/state/slots.h"

#include <assert.h>

#include "queuemng/state/marks.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

static bool is_certain(const struct mseg *s)
{
    return seg_is_reported(s) && !seg_is_lost(s) && !seg_is_uncertain(s);
}

/* Stored releases of the segment, and of what was moved into it, that may be inside. */
static uint64_t by_marks(const struct mng *m, const struct mlane *l, const struct mseg *s)
{
    int64_t life = seg_is_lost(s) ? l->q->def.pass_ttl_ms : queue_session_ms(&l->q->def);
    uint64_t n = 0;

    for (uint32_t i = 0; i < l->n_chunks; i++)
        for (uint32_t k = 0; k < l->chunk[i]->n; k++) {
            const struct mark_row *r = &l->chunk[i]->v[k];

            if ((r->seg == s->id || alias_of(l, r->seg) == s->id) &&
                r->at_ms + life >= m->wall_ms)
                n += r->end - r->from;
        }
    return n;
}

static uint64_t seg_inside(const struct mng *m, const struct mseg *s)
{
    uint64_t n = (uint64_t)s->st.ready + s->st.active + s->unconfirmed + s->credit.open;
    uint64_t marks;

    if (is_certain(s))
        return n;
    marks = by_marks(m, s->lane, s);
    return marks > n ? marks : n;
}

/* By both clocks, as for marks: the wall clock may have leapt. */
static uint64_t unreported_n(const struct mng *m, const struct mqueue *q,
                             const struct munreported *u)
{
    bool over = m->wall_ms > u->until_ms &&
                m->now_ms - u->since_ms > queue_unreported_ms(&q->def);

    return over ? 0 : u->n;
}

static void unreported_set(const struct mng *m, const struct mqueue *q, struct munreported *u,
                       uint64_t n)
{
    u->n = n;
    u->until_ms = m->wall_ms + queue_unreported_ms(&q->def);
    u->since_ms = m->now_ms;
}

uint64_t slots_flushed(const struct mng *m, const struct mqueue *q)
{
    return unreported_n(m, q, &q->flushed);
}

void slots_flush(const struct mng *m, struct mqueue *q)
{
    unreported_set(m, q, &q->flushed, slots_inside(m, q));
    q->lost.n = 0;
}

void slots_lost(const struct mng *m, struct mseg *s)
{
    struct mqueue *q = s->lane->q;

    assert(!seg_is_lost(s)); /* else it counts by its stored releases already */
    s->lost_inside = seg_inside(m, s);
    if (q->def.mode != MODE_RATE && s->lost_inside > 0)
        unreported_set(m, q, &q->lost, unreported_n(m, q, &q->lost) + s->lost_inside);
}

/* The time of the lost may be over, or run on with what was lost since: then they stay counted. */
void slots_found(const struct mng *m, struct mseg *s)
{
    struct mqueue *q = s->lane->q;

    if (q->lost.n >= s->lost_inside && m->now_ms - s->lost_ms <= queue_unreported_ms(&q->def))
        q->lost.n -= s->lost_inside;
    s->lost_inside = 0;
}

uint64_t slots_inside(const struct mng *m, const struct mqueue *q)
{
    uint64_t n = slots_flushed(m, q) + unreported_n(m, q, &q->lost);

    for (unsigned i = 0; i < q->n_lanes; i++) {
        const struct mlane *l = &q->lane[i];

        n += l->pop.busy ? l->pop.n : 0;
        each_seg(l, s)
            n += seg_inside(m, s);
    }
    return n;
}

bool slots_known(const struct mqueue *q)
{
    for (unsigned i = 0; i < q->n_lanes; i++)
        each_seg(&q->lane[i], s)
            if (s->phase == SEG_STORED && !seg_is_lost(s))
                return false;
    return true;
}

uint64_t slots_free(const struct mng *m, const struct mqueue *q)
{
    uint64_t inside, max = (uint64_t)q->def.max_active;

    assert(q->def.max_active >= 0);
    if (q->def.mode == MODE_RATE)
        return UINT64_MAX;
    if (!slots_known(q))
        return 0;
    inside = slots_inside(m, q);
    return inside < max ? max - inside : 0;
}

/* prequeue.c: segments that people join before their queue opens. */
#include "queuemng/state/prequeue.h"

#include <assert.h>

#include "common/base/log.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "prequeue"

bool lane_is_early(const struct mlane *l)
{
    return l->q->sched.phase == SCHED_PREQUEUE;
}

bool prequeue_fits(const struct mseg *s)
{
    return s->pre.early == lane_is_early(s->lane);
}

bool seg_is_undrawn(const struct mseg *s)
{
    return s->pre.early && !s->st.drawn;
}

uint64_t lane_capacity(const struct mlane *l)
{
    const struct queue_def *d = &l->q->def;

    return (uint64_t)(lane_is_early(l) ? d->when.prequeue_capacity : d->segment_capacity);
}

int64_t prequeue_closes_ms(const struct mseg *s)
{
    bool joined = s->pre.early && s->kind == OPEN_TAIL;

    return joined && !s->pre.by_order ? s->lane->q->sched.opens_ms : 0;
}

bool prequeue_time_is_new(const struct mseg *s)
{
    int64_t at_ms = prequeue_closes_ms(s);

    return at_ms != 0 && s->node->closes && seg_is_reported(s) && !s->want_seal &&
           s->st.state == SEG_OPEN && s->st.closes_ms != at_ms;
}

bool prequeue_draw_is_due(const struct mseg *s)
{
    return s->pre.n != 0 && seg_is_undrawn(s) && !seg_is_recovering(s) && s->st.state == SEG_SEALED;
}

void prequeue_sealed(struct mng *m, struct mseg *s)
{
    const struct schedule *sched = &s->lane->q->sched;

    assert(s->state == SEG_SEALED);
    if (!s->st.closed || !lane_is_early(s->lane))
        return;
    s->node->past_opening_ms = sched->opens_ms;
    log_info("event=closed_early seg=%llu node=%s queue=%s by_ms=%lld",
             (unsigned long long)s->id, s->node->name, s->lane->q->def.name,
             (long long)(sched->opens_ms - m->sched_ms));
}

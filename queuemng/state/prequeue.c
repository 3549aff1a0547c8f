/* prequeue.c: segments that people join before their queue opens. */
#include "queuemng/state/prequeue.h"

#include "common/base/log.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "prequeue"

bool lane_is_early(const struct mlane *l)
{
    return l->q->sched.phase == SCHED_PREQUEUE;
}

bool lots_fit(const struct mseg *s)
{
    return s->lots.early == lane_is_early(s->lane);
}

bool lots_pending(const struct mseg *s)
{
    return s->lots.early && !s->st.drawn;
}

uint64_t lane_capacity(const struct mlane *l)
{
    const struct queue_def *d = &l->q->def;

    return (uint64_t)(lane_is_early(l) ? d->when.prequeue_capacity : d->segment_capacity);
}

int64_t lots_closes_ms(const struct mseg *s)
{
    bool joined = s->lots.early && s->kind == OPEN_TAIL;

    return joined && !s->lots.by_order ? s->lane->q->sched.opens_ms : 0;
}

bool lots_clock_order(const struct mseg *s)
{
    int64_t at_ms = lots_closes_ms(s);

    return at_ms != 0 && s->node->closes && seg_is_reported(s) && !s->want_seal &&
           s->st.state == SEG_OPEN && s->st.closes_ms != at_ms;
}

bool lots_order(const struct mseg *s)
{
    return s->lots.n != 0 && lots_pending(s) && !seg_is_away(s) && s->st.state == SEG_SEALED;
}

void lots_sealed(struct mng *m, struct mseg *s)
{
    const struct schedule *sched = &s->lane->q->sched;

    if (!s->st.closed || !lane_is_early(s->lane))
        return;
    s->node->past_ms = sched->opens_ms;
    log_info("event=closed_early seg=%llu node=%s queue=%s by_ms=%lld",
             (unsigned long long)s->id, s->node->name, s->lane->q->def.name,
             (long long)(sched->opens_ms - m->sched_ms));
}

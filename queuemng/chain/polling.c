/* polling.c: the polling intervals of a lane. */
#include "queuemng/chain/polling.h"

#include <assert.h>

#include "queuemng/state/batch.h"
#include "queuemng/state/changed.h"
#include "queuemng/state/node.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/state.h"

static bool pace_differs(const struct pace *a, const struct pace *b)
{
    uint32_t d = a->us_per_place > b->us_per_place ? a->us_per_place - b->us_per_place
                                                   : b->us_per_place - a->us_per_place;

    return a->min_ms != b->min_ms || a->max_ms != b->max_ms ||
           (uint64_t)d * 20 > b->us_per_place;
}

static uint64_t coming(const struct mlane *l)
{
    return l->waiting + (uint64_t)(2 * l->join_per_s);
}

static uint32_t longest_at(const struct pace *p, uint64_t position)
{
    uint32_t ms = pace_interval_ms(p, position);
    struct pace at = { ms, ms, 0 };

    return pace_longest_ms(&at);
}

/* A later manager has to know it, too: as a power of two, so that it is seldom stored. */
static void told_store(struct mng *m, struct mlane *l)
{
    uint64_t left = (uint64_t)(l->told_ms - m->now_ms), rounded = 1;

    if (left <= l->stored_told_ms && left * 4 >= l->stored_told_ms)
        return;
    while (rounded < left)
        rounded *= 2;
    if (left <= poll_max_longest(l->q))
        rounded = 0; /* a later manager assumes it */
    if (rounded == l->stored_told_ms)
        return;
    l->stored_told_ms = rounded;
    queue_chain_changed(m, l->q);
}

/* A rebuild has to wait for whoever was told the longest interval: by a node that does not
 * hear us perhaps one of an older pace. */
static void lane_told(struct mng *m, struct mlane *l, const struct pace *p)
{
    uint64_t last = coming(l) + (uint64_t)l->q->def.segment_capacity;
    uint32_t ms = longest_at(&l->pace, last), next = longest_at(p, last);

    ms = ms > next ? ms : next;
    l->most_ms = m->unreachable && l->most_ms > ms ? l->most_ms : ms;
    if (l->told_ms < m->now_ms + l->most_ms)
        l->told_ms = m->now_ms + l->most_ms;
    told_store(m, l);
}

/* Lanes share the queue's budget as they share its waiters. The plan is for the second to
 * come and its figures are up to one old, so it counts those who join in two: the first
 * ones of a rush would be told the intervals of an empty queue else. */
void lane_pace(struct mng *m, struct mlane *l)
{
    const struct queue_def *d = &l->q->def;
    uint64_t all = 0;
    uint32_t budget;
    double share;
    struct pace p;

    for (unsigned i = 0; i < l->q->n_lanes; i++)
        all += coming(&l->q->lane[i]);
    share = all != 0 ? (double)coming(l) / (double)all : 1.0;
    /* Never nothing: whoever joins an empty lane beside a full one would be told for ever. */
    budget = (uint32_t)((double)d->poll_budget_per_s * share + 0.5);
    p = pace_plan(coming(l), l->release_per_s, budget > 0 ? budget : 1,
                  (uint32_t)d->poll_min_ms, (uint32_t)d->poll_max_ms);
    assert(p.min_ms <= p.max_ms);
    lane_told(m, l, &p);
    if (!pace_differs(&p, &l->pace))
        return;
    l->pace = p;
    each_node(m, n)
        if (n->registered)
            batch_lane_pace(m, l, n);
}

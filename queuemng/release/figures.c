/* figures.c: the rate of a queue without ticks. */
#include "queuemng/release/figures.h"

#include <assert.h>
#include <string.h>

#include "queuemng/release/pop.h"
#include "queuemng/state/state.h"

/* A queue without waiters has no ticks: what it would allow is asked for, so that its page
 * does not show the rate of an hour ago. Told to routers only if it changed. */
void idle_figures(struct mng *m, struct mqueue *q)
{
    assert(!q->active);
    struct release copy;
    double allowed = pops_peek(m, q, &copy);

    if (allowed == q->allowed_per_s && strcmp(copy.limited_by, q->rel.limited_by) == 0)
        return;
    q->allowed_per_s = allowed;
    memcpy(q->rel.limited_by, copy.limited_by, sizeof(q->rel.limited_by));
    q->stats_dirty = true;
}

/* An operator, or the clock, has just changed what it may do: people and operators read the
 * same of it at once, and not a second later. */
void queue_figures_now(struct mng *m, struct mqueue *q)
{
    struct release copy;

    if (!q->active) {
        idle_figures(m, q);
    } else {
        (void)pops_peek(m, q, &copy);
        memcpy(q->rel.limited_by, copy.limited_by, sizeof(q->rel.limited_by));
    }
    q->stats_dirty = m->stats_now = true;
}

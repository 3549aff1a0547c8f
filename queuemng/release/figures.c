/* figures.c: the rate of a queue without ticks. */
#include "queuemng/release/figures.h"

#include <assert.h>
#include <string.h>

#include "queuemng/release/pop.h"
#include "queuemng/state/state.h"

/* Else its page would show the rate of an hour ago. */
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

/* changed.c: notes what has changed, for the end of the step. */
#include "queuemng/state/changed.h"

#include <assert.h>

#include "queuemng/state/queue.h"
#include "queuemng/state/state.h"

void queue_mapped(struct mng *m, struct mqueue *q)
{
    q->map_version = ++m->map_version;
    list_remove(&m->queues, &q->in_all);
    list_push_back(&m->queues, &q->in_all);
}

void map_nodes_changed(struct mng *m)
{
    m->nodes_version = ++m->map_version;
}

void queue_put_later(struct mng *m, struct mqueue *q)
{
    if (!list_linked(&q->in_puts))
        list_push_back(&m->puts, &q->in_puts);
}

void queue_def_changed(struct mng *m, struct mqueue *q)
{
    q->put_def = true;
    queue_put_later(m, q);
}

void queue_chain_changed(struct mng *m, struct mqueue *q)
{
    q->put_chain = true;
    queue_put_later(m, q);
}

void queue_wake(struct mng *m, struct mqueue *q)
{
    if (q->active)
        return;
    assert(!list_linked(&q->in_active));
    q->active = true;
    list_push_back(&m->active, &q->in_active);
}

void queue_urgent(struct mng *m, struct mqueue *q)
{
    if (q->active && !list_linked(&q->in_urgent))
        list_push_back(&m->urgent, &q->in_urgent);
}

void queue_fit_lanes(struct mng *m, struct mqueue *q)
{
    q->n_lanes = def_lane_count(&q->def);
    assert(q->n_lanes >= 1 && q->n_lanes <= LANES_MAX);
    for (unsigned i = 0; i < q->n_lanes; i++)
        lane_touch(m, &q->lane[i]);
}

void lane_touch(struct mng *m, struct mlane *l)
{
    if (l->dirty)
        return;
    assert(!list_linked(&l->in_dirty));
    l->dirty = true;
    list_push_back(&m->dirty_lanes, &l->in_dirty);
}

void seg_todo(struct mng *m, struct mseg *s)
{
    s->ordered_ms = 0;
    if (!list_linked(&s->in_todo))
        list_push_back(&m->todo, &s->in_todo);
}

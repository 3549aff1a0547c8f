/* eta.c: the latest of what stands before a start is told, with its reason. */
#include "task/engine/eta.h"

#include "task/engine/tqueue.h"

/* Those before it in its key go first; in its queue, those of its place. */
static msec_t rates_let(const struct engine *e, task_slot slot, const struct task_view *v)
{
    uint32_t i = tree_turn_at(&e->tree, task_at(&e->store, slot)->turn)->limiter;
    msec_t latest = e->allowance.is_on ? rate_nth(&e->allowance.rate, e->allowance.tat, v->position, e->at) : 0;

    for (; i != 0; i = tree_limiter_at(&e->tree, i)->parent) {
        const struct limiter *l = tree_limiter_at(&e->tree, i);

        latest = ms_max(latest, rate_nth(&l->rule->rate, l->tat,
                                         l->parent == 0 ? v->position : v->ahead_of_key + 1, e->at));
    }
    return latest > e->at ? latest - e->at : 0;
}

static bool is_paused(const struct engine *e, task_slot slot)
{
    uint32_t i = tree_turn_at(&e->tree, task_at(&e->store, slot)->turn)->limiter;

    while (i != 0 && (tree_limiter_at(&e->tree, i)->closed & CLOSED_PAUSE) == 0)
        i = tree_limiter_at(&e->tree, i)->parent;
    return i != 0;
}

static void say(struct task_view *v, enum task_eta by, int64_t ms)
{
    v->eta = by;
    v->eta_ms = ms;
}

static void of_waiting(const struct engine *e, task_slot slot, struct task_view *v)
{
    uint32_t index;
    const struct tqueue *q = tqueue_of(e, slot, &index);
    int64_t pace = starts_ms(&q->starts, v->first ? 1 : v->position, e->at);
    int64_t rate = v->first ? 0 : rates_let(e, slot, v);

    if (is_paused(e, slot))
        say(v, TASK_ETA_PAUSED, -1);
    else if (e->allowance.is_on && e->allowance.none && !v->first)
        say(v, TASK_ETA_RATE, -1);
    else if (rate > pace && (pace >= 0 || (v->limited & CLOSED_RATE) != 0))
        say(v, TASK_ETA_RATE, rate);
    else if (pace < 0)
        say(v, (v->limited & CLOSED_AT_ONCE) != 0 ? TASK_ETA_CONCURRENCY : TASK_ETA_NO_WORKER, -1);
    else
        say(v, TASK_ETA_PACE, pace);
}

void engine_eta(const struct engine *e, task_slot slot, struct task_view *v)
{
    if (v->state == TASK_SCHEDULED || v->state == TASK_RETRYING)
        say(v, TASK_ETA_DELAY, ms_max(v->until_ms - (v->by_wall ? e->wall_at : e->at), 0));
    else if (v->state == TASK_WAITING)
        of_waiting(e, slot, v);
}

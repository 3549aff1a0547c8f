/* look.c: reads, changes nothing. */
#include "task/engine/look.h"

#include <string.h>

#include "common/base/err.h"
#include "task/engine/tqueue.h"

static void look_at_keys(const struct engine *e, task_slot slot, struct task_view *v)
{
    const struct turn *u = tree_turn_at(&e->tree, task_at(&e->store, slot)->turn);
    const char *text[TASK_KEY_LEVELS] = { "", "", "" };
    unsigned n = 0;

    for (uint32_t i = u->limiter; i != 0; i = tree_limiter_at(&e->tree, i)->parent) {
        assert(n < TASK_KEY_LEVELS);
        text[n++] = tree_limiter_at(&e->tree, i)->text;
    }
    v->queue = text[n - 1];
    v->key1 = n > 1 ? text[n - 2] : "";
    v->key2 = n > 2 ? text[n - 3] : "";
}

static void look_at_limits(const struct engine *e, task_slot slot, struct task_view *v)
{
    const struct turn *u = tree_turn_at(&e->tree, task_at(&e->store, slot)->turn);

    for (uint32_t i = u->limiter; i != 0; i = tree_limiter_at(&e->tree, i)->parent) {
        const struct limiter *l = tree_limiter_at(&e->tree, i);

        if (l->closed == 0)
            continue;
        v->limited = l->closed;
        v->limited_by = l->text;
        v->limited_until = l->closed == CLOSED_RATE ? wheel_when(&e->tree.wakes, i) : 0;
        return;
    }
}

void look_at_task(const struct engine *e, task_slot slot, struct task_view *v)
{
    const struct task *t = task_at(&e->store, slot);

    assert(t->state != TASK_FREE);
    *v = (struct task_view){ .state = (enum task_state)t->state, .priority = t->priority,
                             .attempts = t->attempts, .order = t->order, .body = t->body,
                             .entered_ms = (msec_t)t->entered_ms,
                             .until_ms = wheel_when(&e->timers, slot) };
    v->by_wall = t->state == TASK_SCHEDULED && t->cancel;
    v->stopping = t->state == TASK_RUNNING && t->cancel;
    look_at_keys(e, slot, v);
}

int engine_look(const struct engine *e, task_no no, struct task_view *v)
{
    task_slot slot = task_find(&e->store, no);
    const struct tqueue *q;
    uint32_t index;

    if (slot == SLOT_NONE)
        return SQ_EUNKNOWN;
    look_at_task(e, slot, v);
    if (v->state != TASK_WAITING)
        return 0;
    q = tqueue_of(e, slot, &index);
    v->position = rank_before(&q->rank, tqueue_entry(q, task_at(&e->store, slot))) + 1;
    if (q->pool->rules.order != ORDER_NUMBER)
        v->ahead_of_key = line_ahead(&e->store, slot, AHEAD_MOST);
    look_at_limits(e, slot, v);
    return 0;
}

int engine_look_queue(const struct engine *e, const struct trec_text *queue,
                      struct queue_view *v)
{
    const struct tqueue *q = tqueue_find(e, queue->p, queue->n);
    const struct limiter *l;

    if (q == NULL)
        return SQ_EUNKNOWN;
    l = tree_limiter_at(&e->tree, q->limiter);
    *v = (struct queue_view){ q->tasks, q->rank.n, l->running, l->closed };
    return 0;
}

/* take.c: the next one by the tree's rules, again and again. */
#include "task/engine/take.h"

#include "common/base/err.h"
#include "task/engine/apply.h"
#include "task/engine/clock.h"
#include "task/engine/tqueue.h"
#include "task/keys/pick.h"

static void start(struct engine *e, task_slot slot, uint32_t lease_ms, struct taken *out)
{
    const struct task *t = task_at(&e->store, slot);
    struct trec r = { .kind = TREC_START, .no = task_number(&e->store, slot),
                      .lease = e->next_lease, .until = task_end_of(e, lease_ms) };

    task_perform_sure(e, &r);
    assert(t->state == TASK_RUNNING && t->lease == r.lease);
    *out = (struct taken){ r.no, r.lease, (msec_t)r.until, t->body, t->attempts };
    e->counts.started++;
    histo_add(&e->counts.wait, (uint64_t)ms_max(e->at - (msec_t)t->entered_ms, 0) * 1000);
}

static unsigned take(struct engine *e, struct tqueue *q, unsigned n, uint32_t lease_ms,
                     struct taken *out)
{
    unsigned taken = 0;

    for (; taken < n; taken++) {
        uint32_t served;
        task_slot slot = line_head(&q->first);

        if (slot == SLOT_NONE) {
            if (allowance_lets(&e->allowance, e->at))
                slot = tree_pick(&e->tree, q->limiter, q->pool->head_start, &served);
            if (slot == SLOT_NONE)
                break;
            tree_pay(&e->tree, served);
        }
        start(e, slot, lease_ms != 0 ? lease_ms : (uint32_t)q->pool->rules.lease_ms, &out[taken]);
        starts_note(&q->starts, e->at, q->rank.n > 0);
        allowance_pay(&e->allowance, e->at);
    }
    return taken;
}

int engine_take(struct engine *e, const struct trec_text *queue, unsigned n, uint32_t lease_ms,
                struct taken *out)
{
    struct tqueue *q = e->fenced ? NULL : tqueue_find(e, queue->p, queue->n);

    return e->fenced ? SQ_ESTALE : q == NULL ? 0 : (int)take(e, q, n, lease_ms, out);
}

/* Finds a queue with a task that was told to run, whatever its limits say. */
static struct tqueue *queue_of_first(const struct engine *e)
{
    for (uint32_t i = 1; e->firsts > 0 && i < e->n_queues; i++)
        if (tqueue_at(e, i)->pool != NULL && line_head(&tqueue_at(e, i)->first) != SLOT_NONE)
            return tqueue_at(e, i);
    return NULL;
}

int engine_take_any(struct engine *e, uint32_t lease_ms, struct taken *out)
{
    struct tqueue *q = e->fenced ? NULL : queue_of_first(e);
    uint32_t limiter = q != NULL || !engine_has_open(e) ? 0 : tree_next_queue(&e->tree);

    if (limiter != 0)
        q = tqueue_at(e, tree_limiter_at(&e->tree, limiter)->queue);
    return e->fenced ? SQ_ESTALE : q == NULL ? 0 : (int)take(e, q, 1, lease_ms, out);
}

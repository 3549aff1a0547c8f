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
}

int engine_take(struct engine *e, const struct trec_text *queue, unsigned n, uint32_t lease_ms,
                struct taken *out)
{
    struct tqueue *q = e->fenced ? NULL : tqueue_find(e, queue->p, queue->n);
    unsigned taken = 0;

    if (e->fenced)
        return SQ_ESTALE;
    for (; q != NULL && taken < n; taken++) {
        uint32_t served;
        task_slot slot = line_head(&q->first);

        if (slot == SLOT_NONE) {
            slot = tree_pick(&e->tree, q->limiter, q->pool->head_start, &served);
            if (slot == SLOT_NONE)
                break;
            tree_pay(&e->tree, served);
        }
        start(e, slot, lease_ms != 0 ? lease_ms : (uint32_t)q->pool->rules.lease_ms, &out[taken]);
        starts_note(&q->starts, e->at);
    }
    return (int)taken;
}

/* settle.c: the lease decides whose word counts. */
#include "task/engine/settle.h"

#include "common/base/err.h"
#include "task/engine/apply.h"
#include "task/engine/clock.h"
#include "task/engine/tqueue.h"

/* The slot of the task if it runs under this lease; else < 0. */
static int64_t held(const struct engine *e, task_no no, uint64_t lease)
{
    task_slot slot = task_find(&e->store, no);

    if (e->fenced)
        return SQ_ESTALE;
    if (slot == SLOT_NONE)
        return SQ_EUNKNOWN;
    if (task_at(&e->store, slot)->state != TASK_RUNNING ||
        task_at(&e->store, slot)->lease != lease)
        return SQ_ECONFLICT;
    return slot;
}

int engine_ack(struct engine *e, task_no no, uint64_t lease, uint64_t result)
{
    int64_t slot = held(e, no, lease);
    struct trec r = { .kind = TREC_DONE, .no = no, .body = result };
    uint32_t index;

    if (slot < 0)
        return (int)slot;
    r.until = task_end_of(e, tqueue_of(e, (task_slot)slot, &index)->pool->rules.result_ms);
    task_perform_sure(e, &r);
    e->counts.succeeded++;
    return 0;
}

int engine_nack(struct engine *e, task_no no, uint64_t lease, msec_t delay_ms)
{
    int64_t slot = held(e, no, lease);

    if (slot < 0)
        return (int)slot;
    if (delay_ms > DELAY_MAX_MS)
        return SQ_EINVAL;
    task_attempt_failed(e, (task_slot)slot, delay_ms, WHY_NACK);
    return 0;
}

int engine_extend(struct engine *e, task_no no, uint64_t lease, uint32_t lease_ms)
{
    int64_t slot = held(e, no, lease);
    struct trec r = { .kind = TREC_EXTEND, .no = no, .until = task_end_of(e, lease_ms) };

    if (slot < 0)
        return (int)slot;
    task_perform_sure(e, &r);
    return 0;
}

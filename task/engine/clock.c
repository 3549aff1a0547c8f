/* clock.c: a timer's meaning is its task's state. */
#include "task/engine/clock.h"

#include "common/base/err.h"
#include "task/engine/apply.h"
#include "task/engine/tqueue.h"

#define NO_MEMORY_MS 100

uint64_t task_end_of(const struct engine *e, uint64_t for_ms)
{
    return u64_min((uint64_t)e->at + u64_max(for_ms, 1), (uint64_t)WHEEL_MAX - 1);
}

uint64_t task_expiry(const struct engine *e, const struct pool *p)
{
    return p->rules.ttl_ms == 0 ? 0 : task_end_of(e, p->rules.ttl_ms);
}

void task_attempt_failed(struct engine *e, task_slot slot, msec_t delay_ms, enum why why)
{
    const struct task *t = task_at(&e->store, slot);
    uint32_t index;
    const struct pool *p = tqueue_of(e, slot, &index)->pool;
    struct trec r = { .no = task_number(&e->store, slot), .why = why };

    assert(t->state == TASK_RUNNING && t->attempts > 0);
    if (t->cancel) {
        r.kind = TREC_CANCEL;
        r.until = task_end_of(e, p->rules.result_ms);
        e->counts.cancelled++;
    } else if (t->attempts >= p->rules.max_attempts) {
        r.kind = TREC_DEAD;
        r.until = task_end_of(e, p->rules.dead_ms);
        e->counts.dead++;
    } else {
        if (delay_ms < 0)
            delay_ms = backoff_ms(&p->backoff, t->attempts, r.no * 31 + t->attempts);
        r.kind = TREC_RETRY;
        r.until = task_end_of(e, (uint64_t)delay_ms);
        e->counts.retried++;
    }
    task_perform_sure(e, &r);
}

/* due: when its delay was over; in the line it has the place of that moment. */
static void enters(struct engine *e, task_slot slot, msec_t due)
{
    uint32_t index;
    struct trec r = { .kind = TREC_ENTER, .no = task_number(&e->store, slot),
                      .entered = (uint64_t)ms_min(due, e->at) };

    r.until = task_expiry(e, tqueue_of(e, slot, &index)->pool);
    if (task_perform(e, &r) < 0) {
        task_at(&e->store, slot)->cancel = 0;
        wheel_set(&e->timers, slot, e->at + NO_MEMORY_MS);
    }
}

static void is_due(struct engine *e, task_slot slot, msec_t due)
{
    struct trec r = { .no = task_number(&e->store, slot) };
    uint32_t index;
    const struct pool *p = tqueue_of(e, slot, &index)->pool;

    switch ((enum task_state)task_at(&e->store, slot)->state) {
    case TASK_SCHEDULED:
    case TASK_RETRYING:
        enters(e, slot, due);
        return;
    case TASK_WAITING:
        r.kind = TREC_EXPIRE;
        r.until = task_end_of(e, p->rules.result_ms);
        e->counts.expired++;
        break;
    case TASK_RUNNING:
        e->counts.lapsed++;
        task_attempt_failed(e, slot, -1, WHY_LAPSED);
        return;
    default:
        assert(task_state_is_final((enum task_state)task_at(&e->store, slot)->state));
        r.kind = TREC_GONE;
        e->counts.gone++;
        break;
    }
    task_perform_sure(e, &r);
}

bool engine_advance(struct engine *e, struct task_now now, unsigned most)
{
    uint32_t slot;

    assert(now.ms > 0 && now.wall_ms > 0);
    e->at = ms_max(e->at, now.ms + e->ahead_ms);
    e->wall_at = now.wall_ms;
    if (now.wall_ms < e->walls.now)
        wheel_rewind(&e->walls, now.wall_ms);
    if (e->fenced)
        return false;
    while (most > 0) {
        msec_t due;

        slot = wheel_pop_at(&e->timers, e->at, &due);
        if (slot == WHEEL_NONE)
            break;
        is_due(e, slot, due);
        most--;
    }
    /* These enter now, so behind those whose moment was before. */
    while (most > 0 && (slot = wheel_pop(&e->walls, now.wall_ms)) != WHEEL_NONE) {
        enters(e, slot, e->at);
        most--;
    }
    tree_advance(&e->tree, e->at);
    names_advance(&e->names, e->at);
    return most == 0;
}

msec_t engine_idle_ms(const struct engine *e, struct task_now now)
{
    msec_t at = ms_max(e->at, now.ms + e->ahead_ms);
    msec_t first = ms_min(wheel_next(&e->timers), ms_min(tree_next(&e->tree),
                                                         wheel_next(&e->names.ends)));
    msec_t wall = wheel_next(&e->walls);

    first = first == MSEC_NEVER ? MSEC_NEVER : ms_max(first - at, 0);
    return wall == MSEC_NEVER ? first : ms_min(first, ms_max(wall - now.wall_ms, 0));
}

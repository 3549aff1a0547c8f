/* change.c: each looks at the state first, then says a record. */
#include "task/engine/change.h"

#include "common/base/err.h"
#include "task/engine/apply.h"
#include "task/engine/clock.h"
#include "task/engine/tqueue.h"

#define BIT(S) (1u << TASK_##S)

/* Its slot, if it is in one of the states; else < 0. */
static int64_t find(const struct engine *e, task_no no, unsigned states)
{
    task_slot slot = task_find(&e->store, no);

    if (e->fenced)
        return SQ_ESTALE;
    if (slot == SLOT_NONE)
        return SQ_EUNKNOWN;
    if ((states >> task_at(&e->store, slot)->state & 1) == 0)
        return SQ_ECONFLICT;
    return slot;
}

static const struct task_rules *rules_of(const struct engine *e, int64_t slot)
{
    uint32_t index;

    return &tqueue_of(e, (task_slot)slot, &index)->pool->rules;
}

int engine_cancel(struct engine *e, task_no no)
{
    int64_t slot = find(e, no, BIT(SCHEDULED) | BIT(WAITING) | BIT(RETRYING) | BIT(RUNNING));
    struct trec r = { .kind = TREC_CANCEL, .no = no };
    bool runs = slot >= 0 && task_at(&e->store, (task_slot)slot)->state == TASK_RUNNING;

    if (slot < 0)
        return (int)slot;
    if (runs) {
        r.kind = TREC_STOP;
    } else {
        r.until = task_end_of(e, rules_of(e, slot)->result_ms);
        e->counts.cancelled++;
    }
    task_perform_sure(e, &r);
    return runs;
}

int engine_cancel_some(struct engine *e, const struct task_filter *f, task_slot *at,
                       unsigned most)
{
    struct task_filter open = *f;
    task_no no[64];
    int n = 0;

    if (e->fenced)
        return SQ_ESTALE;
    open.states = f->states & (BIT(SCHEDULED) | BIT(WAITING) | BIT(RUNNING) | BIT(RETRYING));
    do {
        unsigned found = engine_list(e, &open, at, no, most < 64 ? most : 64);

        for (unsigned i = 0; i < found; i++)
            n += engine_cancel(e, no[i]) >= 0;
        most -= found;
        if (found < 64)
            break;
    } while (most > 0);
    return n;
}

int engine_run(struct engine *e, task_no no)
{
    int64_t slot = find(e, no, BIT(SCHEDULED) | BIT(WAITING) | BIT(RETRYING));
    struct trec r = { .kind = TREC_RUN, .no = no, .entered = (uint64_t)e->at };
    const struct task *t;
    uint32_t index;

    if (slot < 0)
        return (int)slot;
    t = task_at(&e->store, (task_slot)slot);
    if (t->state == TASK_WAITING && t->cancel)
        return 0;
    if (rules_of(e, slot)->order == ORDER_STRICT) {
        if (t->state == TASK_WAITING)
            return SQ_EINVAL;
        r.kind = TREC_ENTER;
    }
    r.until = task_expiry(e, tqueue_of(e, (task_slot)slot, &index)->pool,
                          owns_of(&e->owns, (task_slot)slot));
    return task_perform(e, &r);
}

int engine_order(struct engine *e, task_no no, int64_t order)
{
    int64_t slot = find(e, no, BIT(SCHEDULED) | BIT(WAITING) | BIT(RETRYING));
    struct trec r = { .kind = TREC_ORDER, .no = no, .order = order };

    if (slot < 0)
        return (int)slot;
    if (rules_of(e, slot)->order != ORDER_NUMBER)
        return SQ_EINVAL; /* in a line by entry it would lose its place, and gain nothing */
    task_perform_sure(e, &r);
    return 0;
}

int engine_delay(struct engine *e, task_no no, msec_t delay_ms, msec_t at_wall_ms)
{
    int64_t slot = find(e, no, BIT(SCHEDULED));
    struct trec r = { .kind = TREC_DELAY, .no = no, .wall = at_wall_ms != 0 };

    if (slot < 0)
        return (int)slot;
    if (delay_ms < 0 || delay_ms > DELAY_MAX_MS || at_wall_ms < 0 ||
        at_wall_ms > e->wall_at + DELAY_MAX_MS || (at_wall_ms != 0 && delay_ms != 0))
        return SQ_EINVAL;
    r.until = at_wall_ms != 0 ? (uint64_t)at_wall_ms : task_end_of(e, (uint64_t)delay_ms);
    task_perform_sure(e, &r);
    return 0;
}

int engine_redrive(struct engine *e, task_no no)
{
    int64_t slot = find(e, no, BIT(DEAD));

    return slot < 0 ? (int)slot : task_redrive(e, (task_slot)slot);
}

int engine_read(struct engine *e, task_no no)
{
    int64_t slot = find(e, no, BIT(SUCCEEDED));
    struct trec r = { .kind = TREC_READ, .no = no };

    if (slot < 0)
        return (int)slot;
    r.until = task_end_of(e, rules_of(e, slot)->read_ms);
    if ((msec_t)r.until < wheel_when(&e->timers, (task_slot)slot))
        task_perform_sure(e, &r);
    return 0;
}

int engine_discard(struct engine *e, task_no no)
{
    int64_t slot = find(e, no, BIT(SUCCEEDED) | BIT(DEAD) | BIT(CANCELLED) | BIT(EXPIRED));
    struct trec r = { .kind = TREC_GONE, .no = no };

    if (slot < 0)
        return (int)slot;
    task_perform_sure(e, &r);
    e->counts.gone++;
    return 0;
}

int engine_moved(struct engine *e, task_no no, uint64_t body)
{
    int64_t slot = find(e, no, ~BIT(FREE));
    struct trec r = { .kind = TREC_MOVED, .no = no, .body = body };

    if (slot < 0)
        return (int)slot;
    task_perform_sure(e, &r);
    return 0;
}

void engine_fence(struct engine *e)
{
    e->fenced = true;
}

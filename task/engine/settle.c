/* settle.c: the lease decides whose word counts. */
#include "task/engine/settle.h"

#include <assert.h>

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

int engine_nack(struct engine *e, task_no no, uint64_t lease, msec_t delay_ms,
                const struct attempt *a)
{
    int64_t slot = held(e, no, lease);

    if (slot < 0)
        return (int)slot;
    if (delay_ms > DELAY_MAX_MS || a->reason_len > ATTEMPT_REASON)
        return SQ_EINVAL;
    task_attempt_ends(e, (task_slot)slot,
                      &(const struct call_failed){ .delay_ms = delay_ms, .how = *a }, false);
    return 0;
}

/* How often it may be tried. */
static uint64_t most_attempts(const struct engine *e, task_slot slot)
{
    const struct task_own *own = owns_of(&e->owns, slot);
    uint32_t index;

    return own != NULL && own->max_attempts != 0
               ? own->max_attempts - 1 : tqueue_of(e, slot, &index)->pool->rules.max_attempts;
}

/* Lets it be tried once more than before. */
static int add_attempt(struct engine *e, task_slot slot)
{
    const struct task_own *was = owns_of(&e->owns, slot);
    struct task_own own = was != NULL ? *was : (struct task_own){ 0 };
    uint64_t most = most_attempts(e, slot);
    struct buf text;
    struct trec r;
    int rc;

    assert(most < ATTEMPTS_MAX);
    own.max_attempts = most + 2; /* the value + 1 */
    buf_init(&text);
    r = task_own_record(task_number(&e->store, slot), &own, &text);
    rc = text.failed ? SQ_ENOMEM : task_perform(e, &r);
    buf_fini(&text);
    return rc;
}

static bool does_not_count(const struct engine *e, task_slot slot, const struct call_failed *f)
{
    bool more = task_at(&e->store, slot)->attempts < most_attempts(e, slot);

    return !f->for_good && (f->spared || (f->excused && more));
}

/* Keeps a reply, which is more than it must: without memory it is let go. */
static void keep_reply(struct engine *e, task_no no, uint64_t reply)
{
    const struct trec r = { .kind = TREC_REPLY, .no = no, .body = reply };

    if (reply != 0 && task_perform(e, &r) < 0)
        buf_append(&e->freed, &reply, sizeof(reply));
}

int engine_call_failed(struct engine *e, task_no no, uint64_t lease, const struct call_failed *f)
{
    int64_t slot = held(e, no, lease);
    bool taken_back = false;
    int rc = 0;

    if (slot < 0)
        return (int)slot;
    if (does_not_count(e, (task_slot)slot, f)) {
        taken_back = most_attempts(e, (task_slot)slot) >= ATTEMPTS_MAX;
        rc = taken_back ? 0 : add_attempt(e, (task_slot)slot);
    }
    if (rc == 0) {
        keep_reply(e, no, f->reply);
        task_attempt_ends(e, (task_slot)slot, f, taken_back);
    }
    return rc;
}

int engine_cut_ends(struct engine *e, task_no no, uint32_t attempt)
{
    task_slot slot = task_find(&e->store, no);

    if (e->fenced || slot == SLOT_NONE || !task_is_cut(task_at(&e->store, slot)) ||
        task_at(&e->store, slot)->attempts != attempt)
        return SQ_ECONFLICT;
    task_cut_ends(e, slot);
    return 0;
}

bool engine_runs(const struct engine *e, task_no no, uint64_t lease)
{
    return held(e, no, lease) >= 0;
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

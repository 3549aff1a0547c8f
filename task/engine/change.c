/* change.c: each looks at the state first, then says a record. */
#include "task/engine/change.h"

#include "common/base/err.h"
#include "task/engine/apply.h"
#include "task/engine/clock.h"
#include "task/engine/tqueue.h"

#define BIT(S) (1u << TASK_##S)

/* Finds its slot, if it is in one of the states; else < 0. */
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

int engine_withdraw(struct engine *e, task_no no)
{
    return engine_was_tried(e, no) ? SQ_ECONFLICT : engine_cancel(e, no);
}

int engine_cut(struct engine *e, task_no no)
{
    int64_t slot = find(e, no, BIT(RUNNING));
    struct trec r = { .kind = TREC_CUT, .no = no };

    if (slot < 0)
        return engine_cancel(e, no);
    e->counts.cancelled++;
    task_perform_sure(e, &r);
    return 0;
}

int engine_cancel_some(struct engine *e, const struct task_filter *f, bool force, task_slot *at,
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
            n += (force ? engine_cut(e, no[i]) : engine_cancel(e, no[i])) >= 0;
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

/* ---- patches ----------------------------------------------------------------------- */

static bool may_be_patched(const struct engine *e, task_slot slot, const struct task_patch *p)
{
    enum task_order order = (enum task_order)rules_of(e, slot)->order;
    struct task_own own = { .labels = p->labels };

    if ((p->has & PATCH_ORDER) != 0 && order != ORDER_NUMBER)
        return false; /* in a line by entry it would lose its place, and gain nothing */
    if ((p->has & PATCH_PRIORITY) != 0 &&
        (order == ORDER_STRICT || p->priority >= TASK_PRIORITIES))
        return false;
    if ((p->has & PATCH_WHEN) != 0 &&
        (p->delay_ms < 0 || p->delay_ms > DELAY_MAX_MS || p->at_ms < 0 ||
         p->at_ms > e->wall_at + DELAY_MAX_MS || (p->at_ms != 0 && p->delay_ms != 0)))
        return false;
    return (p->has & PATCH_LABELS) == 0 || own_ok(&own);
}

static int patch_labels(struct engine *e, task_slot slot, const char *labels)
{
    const struct task_own *now = owns_of(&e->owns, slot);
    struct task_own own = now != NULL ? *now : (struct task_own){ 0 };
    struct trec r;
    struct buf b;
    int rc;

    own.labels = labels;
    buf_init(&b);
    r = task_own_record(task_number(&e->store, slot), &own, &b);
    rc = b.failed ? SQ_ENOMEM : task_perform(e, &r);
    buf_fini(&b);
    return rc;
}

/* Does first what needs memory: the labels, when the turn of the new priority is there. */
static int patch(struct engine *e, task_slot slot, const struct task_patch *p)
{
    struct trec r = { .no = task_number(&e->store, slot), .priority = p->priority,
                      .order = p->order };
    bool moves = (p->has & PATCH_PRIORITY) != 0 && p->priority != task_at(&e->store, slot)->priority;
    uint32_t turn = moves ? tqueue_other_turn(e, slot, p->priority) : 0;
    int rc = moves && turn == 0 ? SQ_ENOMEM : 0;

    if (rc == 0 && (p->has & PATCH_LABELS) != 0)
        rc = patch_labels(e, slot, p->labels);
    if (rc < 0) {
        tree_tidy(&e->tree, turn, 0, e->at);
        return rc;
    }
    if (moves) {
        r.kind = TREC_PRIORITY;
        task_perform_sure(e, &r);
    }
    if ((p->has & PATCH_ORDER) != 0) {
        r.kind = TREC_ORDER;
        task_perform_sure(e, &r);
    }
    if ((p->has & PATCH_WHEN) != 0) {
        r.kind = TREC_DELAY;
        r.wall = p->at_ms != 0;
        r.until = r.wall != 0 ? (uint64_t)p->at_ms : task_end_of(e, (uint64_t)p->delay_ms);
        task_perform_sure(e, &r);
    }
    return 0;
}

int engine_patch(struct engine *e, task_no no, const struct task_patch *p)
{
    unsigned states = BIT(SCHEDULED);
    int64_t slot;

    if ((p->has & PATCH_WHEN) == 0)
        states |= BIT(WAITING) | BIT(RETRYING);
    if (p->has == PATCH_LABELS)
        states |= BIT(RUNNING);
    slot = find(e, no, states);
    if (slot < 0)
        return (int)slot;
    return may_be_patched(e, (task_slot)slot, p) ? patch(e, (task_slot)slot, p) : SQ_EINVAL;
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
    if (task_is_cut(task_at(&e->store, (task_slot)slot)))
        return SQ_ECONFLICT;
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

int engine_moved_reply(struct engine *e, task_no no, uint64_t reply)
{
    int64_t slot = find(e, no, ~BIT(FREE));
    struct trec r = { .kind = TREC_REPLY, .no = no, .body = reply };

    if (slot < 0 || replies_of(&e->replies, (task_slot)slot) == 0)
        return slot < 0 ? (int)slot : SQ_EUNKNOWN;
    task_perform_sure(e, &r); /* the table has its place already */
    return 0;
}

void engine_lost_reply(struct engine *e, task_no no)
{
    struct trec r = { .kind = TREC_REPLY, .no = no };

    replies_drop(&e->replies, task_slot_of(no)); /* nothing to be freed */
    task_perform_sure(e, &r);
}

void engine_fence(struct engine *e, bool on)
{
    e->fenced = on;
}

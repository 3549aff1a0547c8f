/* leave.c: what a task takes up is given back first; then it is in its new state. */
#include "task/engine/leave.h"

#include <stdlib.h>

#include "task/engine/arrive.h"
#include "task/engine/side_records.h"
#include "task/engine/tqueue.h"
#include "task/engine/worker.h"

void leave_row(struct engine *e, task_slot slot)
{
    struct tqueue *q = tqueue_of(e, slot);

    rank_del(&q->rank, tqueue_entry(q, task_at(&e->store, slot)));
}

bool leave_first(struct engine *e, task_slot slot)
{
    struct task *t = task_at(&e->store, slot);

    if (!t->cancel)
        return false;
    line_remove(&tqueue_of(e, slot)->first, &e->store, slot, false);
    e->firsts--;
    t->cancel = 0;
    return true;
}

void leave_line(struct engine *e, task_slot slot)
{
    if (!leave_first(e, slot))
        tree_unwait(&e->tree, slot);
}

static struct end_mark *end_mark(const struct engine *e, task_no no)
{
    return &e->ends[no * 0x9e3779b97f4a7c15 >> 52]; /* 12 bits: END_MARKS */
}

static uint64_t marked(const struct engine *e, task_no no, bool given_back)
{
    const struct end_mark *m = e->ends != NULL ? end_mark(e, no) : NULL;

    return m != NULL && m->no == no && m->given_back == given_back ? m->start : 0;
}

uint64_t engine_done_start(const struct engine *e, task_no no)
{
    task_slot slot = task_find(&e->store, no);
    const struct task *t = slot != SLOT_NONE ? task_at(&e->store, slot) : NULL;

    if (t != NULL)
        return t->state == TASK_SUCCEEDED ? task_done_start(t) : 0;
    return marked(e, no, false);
}

uint64_t engine_given_back_start(const struct engine *e, task_no no)
{
    return marked(e, no, true);
}

/* Without memory it is forgotten, like one that went long ago. */
void leave_mark(struct engine *e, task_no no, uint64_t start, bool given_back)
{
    _Static_assert(END_MARKS == 1 << 12, "as end_mark() has it");
    if (e->ends == NULL)
        e->ends = calloc(END_MARKS, sizeof(*e->ends));
    if (e->ends != NULL)
        *end_mark(e, no) = (struct end_mark){ no, start & (UINT64_MAX >> 1), given_back };
}

/* The attempt that runs has failed. again: when the next one may begin; 0: there is none. */
static void note_attempt(struct engine *e, task_slot slot, uint64_t end, uint64_t again)
{
    const struct task *t = task_at(&e->store, slot);
    struct attempt a = { .no = t->attempts, .end = end > 0 && end <= UINT8_MAX ? (uint8_t)end
                                                                            : ATTEMPT_GIVEN_BACK,
                         .started = (msec_t)t->started, .ended = e->at, .again = (msec_t)again };

    attempts_add(&e->attempts, slot, &a);
    if (end == ATTEMPT_GIVEN_BACK)
        leave_mark(e, task_number(&e->store, slot), t->lease, true);
}

void leave_target(struct engine *e, task_slot slot)
{
    struct task *t = task_at(&e->store, slot);

    if (t->target != 0)
        e->at_target[t->target]--;
    t->target = 0;
}

int leave_retry(struct engine *e, task_slot slot, const struct trec *r)
{
    struct task *t = task_at(&e->store, slot);
    struct offer *f = offers_of(&e->offers, slot);
    bool unseen = r->kind == TREC_SPARED && r->why == 0;

    if (!unseen)
        note_attempt(e, slot, r->why, r->until);
    if (r->kind == TREC_SPARED && t->attempts > 0)
        t->attempts--;
    leave_target(e, slot);
    settled_drop(&e->settled, slot);
    tree_end(&e->tree, slot, false);
    if (f != NULL)
        places_home(e, f);
    t->lease = t->started = t->called = t->passed = t->paid = 0;
    t->cancel = unseen;
    tqueue_set_state(e, slot, TASK_RETRYING);
    task_arm(e, slot, r->until);
    return 0;
}

/* Makes it final, whatever it was doing. */
static void becomes(struct engine *e, task_slot slot, enum task_state to)
{
    struct task *t = task_at(&e->store, slot);
    const struct tqueue *q = tqueue_of(e, slot);
    struct offer *f = offers_of(&e->offers, slot);

    if (f != NULL)
        places_finish(e, f, to);
    t->ended = (uint64_t)e->at & (WHEEL_MAX - 1);
    if (to != TASK_DEAD) {
        over_begins(e, slot, (uint64_t)e->at);
        task_frees_reply(e, slot);
    }
    t->cancel = 0;
    if (to == TASK_CANCELLED || to == TASK_EXPIRED)
        chains_end(&e->chains, slot);
    tqueue_set_state(e, slot, to);
    names_end(&e->names, task_number(&e->store, slot),
              ms_max(e->at, 1) + (msec_t)q->pool->rules.dedup_ms);
}

/* And over: nothing is held for it. */
static void finish(struct engine *e, task_slot slot, enum task_state to, uint64_t until)
{
    struct task *t = task_at(&e->store, slot);

    if (t->state == TASK_RUNNING) {
        t->called = t->passed = t->paid = 0;
        leave_target(e, slot);
        tree_end(&e->tree, slot, true);
    } else if (t->state == TASK_RETRYING) {
        tree_give_up(&e->tree, slot);
    } else if (t->state == TASK_WAITING) {
        leave_row(e, slot);
        leave_line(e, slot);
    }
    if (t->state != TASK_RUNNING)
        t->started = 0;
    task_arm(e, slot, 0);
    becomes(e, slot, to);
    task_arm(e, slot, until);
}

int leave_done(struct engine *e, task_slot slot, const struct trec *r)
{
    uint64_t start = task_at(&e->store, slot)->lease;

    task_frees_body(e, slot);
    task_set_body(&e->store, slot, r->body);
    finish(e, slot, TASK_SUCCEEDED, r->until);
    task_keep_start(task_at(&e->store, slot), start);
    return 0;
}

int leave_dead(struct engine *e, task_slot slot, const struct trec *r)
{
    note_attempt(e, slot, r->why, 0);
    finish(e, slot, TASK_DEAD, r->until);
    dead_add(e, slot);
    return 0;
}

static void note_cancelled(struct engine *e, task_slot slot)
{
    note_attempt(e, slot, task_at(&e->store, slot)->passed ? ATTEMPT_INTERRUPTED : ATTEMPT_CANCELLED, 0);
}

int leave_cancel(struct engine *e, task_slot slot, const struct trec *r)
{
    if (task_at(&e->store, slot)->state == TASK_RUNNING)
        note_cancelled(e, slot);
    finish(e, slot, TASK_CANCELLED, r->until);
    return 0;
}

int leave_cut(struct engine *e, task_slot slot, const struct trec *r)
{
    struct task *t = task_at(&e->store, slot);

    if (t->state == TASK_RUNNING && r->until == 0) {
        note_cancelled(e, slot);
        t->passed = t->paid = 0;
        becomes(e, slot, TASK_CANCELLED);
        t->cancel = 1;
        e->cuts++;
        return 0;
    }
    if (!task_is_cut(t) || r->until == 0)
        return SQ_EPROTO;
    leave_target(e, slot);
    tree_end(&e->tree, slot, true);
    task_arm(e, slot, 0);
    t->cancel = 0;
    e->cuts--;
    task_arm(e, slot, r->until);
    return 0;
}

int leave_expire(struct engine *e, task_slot slot, const struct trec *r)
{
    finish(e, slot, TASK_EXPIRED, r->until);
    return 0;
}

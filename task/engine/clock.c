/* clock.c: a timer's meaning is its task's state. */
#include "task/engine/clock.h"

#include "common/base/err.h"
#include "task/engine/apply.h"
#include "task/engine/tqueue.h"
#include "task/engine/worker.h"

#define NO_MEMORY_MS 100

uint64_t task_end_of(const struct engine *e, uint64_t for_ms)
{
    return u64_min((uint64_t)e->at + u64_max(for_ms, 1), (uint64_t)WHEEL_MAX - 1);
}

uint64_t task_expiry(const struct engine *e, const struct pool *p, const struct task_own *own)
{
    uint64_t ttl_ms = own != NULL && own->ttl_ms != 0 ? own->ttl_ms - 1 : p->rules.ttl_ms;

    return ttl_ms == 0 ? 0 : task_end_of(e, ttl_ms);
}

/* Most have nothing of their own. */
unsigned task_most_attempts(const struct engine *e, task_slot slot, struct backoff *b)
{
    const struct pool *p = tqueue_of(e, slot)->pool;
    const struct task_own *own = owns_of(&e->owns, slot);
    struct task_rules r;

    *b = p->backoff;
    if (own == NULL)
        return (unsigned)p->rules.max_attempts;
    r = p->rules;
    own_rules(own, &r);
    *b = pool_backoff(&r);
    return (unsigned)r.max_attempts;
}

static void explain(struct engine *e, task_no no, const struct attempt *a)
{
    struct trec r = { .kind = TREC_EXPLAIN, .no = no, .lo = a->number,
                      .name = { a->reason, a->reason_len } };

    task_perform_sure(e, &r);
}

void task_attempt_ends(struct engine *e, task_slot slot, const struct call_failed *f, bool taken_back)
{
    const struct task *t = task_at(&e->store, slot);
    const struct task_rules *rules = tqueue_rules(e, slot);
    struct trec r = { .no = task_number(&e->store, slot), .why = f->how.end };
    struct backoff backoff;
    unsigned most = task_most_attempts(e, slot, &backoff);
    msec_t delay_ms = f->delay_ms;

    assert(t->state == TASK_RUNNING && t->attempts > 0);
    if (t->cancel) {
        r.kind = TREC_CANCEL;
        r.until = task_end_of(e, rules->result_ms);
        e->counts.cancelled++;
    } else if (f->for_good || (t->attempts >= most && !taken_back)) {
        r.kind = TREC_DEAD;
        r.until = task_end_of(e, rules->dead_ms);
        e->counts.dead++;
    } else {
        if (delay_ms < 0)
            delay_ms = backoff_ms(&backoff, t->attempts, r.no * 31 + t->attempts);
        r.kind = taken_back ? TREC_SPARED : TREC_RETRY;
        r.until = task_end_of(e, (uint64_t)ms_max(delay_ms, f->least_ms));
        e->counts.retried++;
    }
    task_perform_sure(e, &r);
    if (f->how.number != 0 || f->how.reason_len != 0)
        explain(e, r.no, &f->how);
}

void task_cut_ends(struct engine *e, task_slot slot)
{
    struct trec r = { .kind = TREC_CUT, .no = task_number(&e->store, slot) };

    r.until = task_end_of(e, tqueue_rules(e, slot)->result_ms);
    task_perform_sure(e, &r);
}

/* due: when its delay was over; in the line it has the place of that moment. */
static void enters(struct engine *e, task_slot slot, msec_t due)
{
    struct trec r = { .kind = TREC_ENTER, .no = task_number(&e->store, slot),
                      .entered = (uint64_t)due };

    assert(due >= 0 && due <= e->at);
    r.until = task_expiry(e, tqueue_of(e, slot)->pool, owns_of(&e->owns, slot));
    if (task_perform(e, &r) < 0) {
        if (task_at(&e->store, slot)->state == TASK_SCHEDULED)
            task_at(&e->store, slot)->cancel = 0; /* among the other timers from now on */
        wheel_set(&e->timers, slot, e->at + NO_MEMORY_MS);
    }
}

void task_attempt_unseen(struct engine *e, task_slot slot)
{
    bool stops = task_at(&e->store, slot)->cancel;
    struct trec r = { .kind = TREC_SPARED, .no = task_number(&e->store, slot),
                      .until = task_end_of(e, 1) };

    task_perform_sure(e, &r);
    if (stops) {
        r.kind = TREC_CANCEL;
        r.until = task_end_of(e, tqueue_rules(e, slot)->result_ms);
        e->counts.cancelled++;
        task_perform_sure(e, &r);
    } else {
        enters(e, slot, e->at);
    }
}

static void let_go(struct engine *e, task_slot slot)
{
    task_perform_sure(e, &(const struct trec){ .kind = TREC_GONE, .no = task_number(&e->store, slot) });
    e->counts.gone++;
}

bool engine_give_way(struct engine *e)
{
    uint32_t slot = e->fenced ? WHEEL_NONE : wheel_first(&e->overs);

    if (slot == WHEEL_NONE)
        return false;
    let_go(e, slot);
    e->counts.gave_way++;
    return true;
}

static void is_due(struct engine *e, task_slot slot, msec_t due)
{
    struct trec r = { .no = task_number(&e->store, slot) };

    switch ((enum task_state)task_at(&e->store, slot)->state) {
    case TASK_SCHEDULED:
    case TASK_RETRYING:
        histo_add(&e->counts.late, (uint64_t)(e->at - due) * 1000);
        enters(e, slot, due);
        return;
    case TASK_WAITING:
        r.kind = TREC_EXPIRE;
        r.until = task_end_of(e, tqueue_rules(e, slot)->result_ms);
        e->counts.expired++;
        break;
    case TASK_RUNNING:
        e->counts.lapsed++;
        task_attempt_ends(e, slot, &(const struct call_failed){ .delay_ms = -1,
                                                                .how.end = ATTEMPT_LAPSED }, false);
        return;
    default:
        assert(task_state_is_final((enum task_state)task_at(&e->store, slot)->state));
        if (task_is_cut(task_at(&e->store, slot)))
            task_cut_ends(e, slot);
        else
            let_go(e, slot);
        return;
    }
    task_perform_sure(e, &r);
}

int task_redrive(struct engine *e, task_slot slot)
{
    struct trec r = { .kind = TREC_REDRIVE, .no = task_number(&e->store, slot),
                      .entered = (uint64_t)e->at,
                      .until = task_expiry(e, tqueue_of(e, slot)->pool,
                                           owns_of(&e->owns, slot)) };

    return task_perform(e, &r);
}

/* Redrives as many of a queue's dead as its rate lets through now, at most `most`. How many. */
static unsigned redrive(struct engine *e, uint32_t queue, unsigned most)
{
    struct tqueue *q = tqueue_at(e, queue);
    struct rate rate = dead_rate(q);
    unsigned n = 0;
    int rc = 0;

    for (; n < most && q->redrive_last != 0 && rate_lets(&rate, q->redrive_tat, e->at); n++) {
        rc = task_redrive(e, line_head(&q->dead));
        if (rc < 0)
            break;
        q->redrive_tat = rate_pass(&rate, q->redrive_tat, e->at);
    }
    if (q->redrive_last != 0)
        wheel_set(&e->redrives, queue,
                  rc < 0 ? e->at + NO_MEMORY_MS : ms_max(e->at, rate_when(&rate, q->redrive_tat)));
    return n;
}

/* The next of both wheels by the moment at which it was due (clock.h); WHEEL_NONE. */
static uint32_t pop_due(struct engine *e, msec_t *due)
{
    msec_t shown = MSEC_NEVER, timed = MSEC_NEVER;
    uint32_t moment = wheel_due(&e->walls, e->wall_at, &shown);
    uint32_t timer = wheel_due(&e->timers, e->at, &timed);

    if (moment != WHEEL_NONE)
        shown += e->at - e->wall_at;
    if (timer != WHEEL_NONE && timed <= shown) {
        wheel_clear(&e->timers, timer);
        *due = ms_max(timed, e->swept);
        return timer;
    }
    if (moment != WHEEL_NONE)
        wheel_clear(&e->walls, moment);
    *due = ms_max(shown, e->swept);
    return moment;
}

bool engine_advance(struct engine *e, struct task_now now, unsigned most)
{
    uint32_t slot, queue;
    msec_t due;

    assert(now.ms > 0 && now.wall_ms > 0);
    e->at = engine_now(e, now.ms);
    e->wall_at = now.wall_ms;
    if (now.wall_ms < e->walls.now)
        wheel_rewind(&e->walls, now.wall_ms);
    if (e->fenced)
        return false;
    for (; most > 0 && (slot = pop_due(e, &due)) != WHEEL_NONE; most--)
        is_due(e, slot, due);
    if (most > 0)
        e->swept = e->at;
    for (; most > 0 && (slot = wheel_due(&e->overs, e->at, &due)) != WHEEL_NONE; most--)
        let_go(e, slot);
    while (most > 0 && (queue = wheel_pop(&e->redrives, e->at)) != WHEEL_NONE)
        most -= redrive(e, queue, most);
    tree_advance(&e->tree, e->at);
    allowance_advance(&e->allowance, e->at);
    names_advance(&e->names, e->at);
    return most == 0;
}

msec_t engine_idle_ms(const struct engine *e, struct task_now now)
{
    msec_t at = engine_now(e, now.ms);
    msec_t first = ms_min(ms_min(ms_min(wheel_next(&e->timers), wheel_next(&e->overs)),
                                 wheel_next(&e->redrives)),
                          ms_min(ms_min(tree_next(&e->tree), wheel_next(&e->names.ends)),
                                 allowance_next(&e->allowance, at)));
    msec_t wall = wheel_next(&e->walls);

    first = first == MSEC_NEVER ? MSEC_NEVER : ms_max(first - at, 0);
    return wall == MSEC_NEVER ? first : ms_min(first, ms_max(wall - now.wall_ms, 0));
}

/* worker.c: a task starts, and its attempt ends. */
#include "task/engine/worker.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/err.h"
#include "task/engine/apply.h"
#include "task/engine/change.h"
#include "task/engine/engine.h"
#include "task/engine/leave.h"
#include "task/engine/side_records.h"
#include "task/engine/submit.h"
#include "task/engine/tqueue.h"
#include "task/keys/ring.h"

/* ---- takes: the next one by the tree's rules, again and again ----------------------- */

static void note_error(struct histo *h, msec_t waited, msec_t told)
{
    if (told >= 0)
        histo_add(h, (uint64_t)llabs(waited - told) * 1000);
}

/* A task starts of which a wait was told: was it right? Not if an operator told it to run. */
static void promise_ends(struct engine *e, task_slot slot)
{
    struct promise *p = &e->promise[slot % PROMISES];

    if (p->no != task_number(&e->store, slot))
        return;
    p->no = 0;
    if (task_at(&e->store, slot)->cancel)
        return;
    note_error(&e->counts.eta_error, e->at - p->at, p->wait_ms);
    note_error(&e->counts.eta_error_told, e->at - p->at, p->told_ms);
}

static void start(struct engine *e, enum trec_kind kind, task_slot slot, uint32_t lease_ms,
                  struct taken *out)
{
    const struct task *t = task_at(&e->store, slot);
    struct trec r = { .kind = kind, .no = task_number(&e->store, slot), .lease = e->next_lease,
                      .until = task_end_of(e, lease_ms) };

    promise_ends(e, slot);
    task_perform_sure(e, &r);
    assert(t->state == TASK_RUNNING && t->lease == r.lease);
    *out = (struct taken){ r.no, r.lease, (msec_t)r.until, t->body, t->attempts, task_cost(e, slot) };
    e->counts.started++;
    e->counts.units += out->cost;
    histo_add(&e->counts.wait, (uint64_t)ms_max(e->at - (msec_t)t->entered_ms, 0) * 1000);
    waits_add(&e->counts.waits, e->at - (msec_t)t->entered_ms);
}

/* The next one by turns. One that does not fit into a rate in units closes what has that rate, and
 * another one is next; the first of them is its own again when it fits. */
static task_slot next_affordable(struct engine *e, const struct tqueue *q, uint32_t *served)
{
    task_slot slot;

    do
        slot = tree_pick(&e->tree, q->limiter, q->pool->head_start, served);
    while (slot != SLOT_NONE && !tree_affords(&e->tree, slot, task_cost(e, slot), e->at));
    return slot;
}

/* A task that costs more than `most` stays where it is; out[] says its cost, behind those that start. */
static unsigned take(struct engine *e, enum trec_kind kind, struct tqueue *q, unsigned n,
                     uint32_t lease_ms, uint64_t most, struct taken *out)
{
    unsigned taken = 0;

    lease_ms = lease_ms != 0 ? lease_ms : (uint32_t)q->pool->rules.lease_ms;
    for (; taken < n; taken++) {
        uint32_t served = 0;
        task_slot slot = line_head(&q->first);
        uint64_t cost;

        if (slot == SLOT_NONE && allowance_lets(&e->allowance, e->at))
            slot = next_affordable(e, q, &served);
        if (slot == SLOT_NONE)
            break;
        cost = task_cost(e, slot);
        if (cost > most) {
            out[taken].cost = cost;
            break;
        }
        if (served != 0)
            tree_pay(&e->tree, served, cost);
        if (task_at(&e->store, slot)->state == TASK_FREE)
            slot = offer_take(e, slot);
        start(e, kind, slot, lease_ms, &out[taken]);
        task_at(&e->store, slot)->paid = served != 0;
        starts_note(&q->starts, e->at, q->rank.n > 0);
        allowance_pay(&e->allowance, e->at);
    }
    return taken;
}

int engine_take(struct engine *e, const struct trec_text *queue, unsigned n, uint32_t lease_ms,
                struct taken *out)
{
    struct tqueue *q = e->fenced ? NULL : tqueue_find(e, queue->p, queue->n);

    return e->fenced ? SQ_ESTALE : q == NULL ? 0 : (int)take(e, TREC_START, q, n, lease_ms, UINT64_MAX, out);
}

/* Finds a queue with a task that was told to run, whatever its limits say. */
static struct tqueue *queue_of_first(const struct engine *e)
{
    for (uint32_t i = 1; e->firsts > 0 && i < e->n_queues; i++)
        if (tqueue_at(e, i)->pool != NULL && line_head(&tqueue_at(e, i)->first) != SLOT_NONE)
            return tqueue_at(e, i);
    return NULL;
}

/* The queue whose turn it is. */
static uint32_t next_queue(struct engine *e)
{
    uint32_t i = e->unfit;

    e->unfit = 0;
    if (i != 0 && i < e->n_queues && tqueue_at(e, i)->pool != NULL)
        return i;
    return tree_limiter_at(&e->tree, tree_next_queue(&e->tree))->queue;
}

int engine_take_call(struct engine *e, uint32_t lease_ms, uint64_t most, struct taken *out)
{
    struct tqueue *q = e->fenced ? NULL : queue_of_first(e);
    unsigned n;

    *out = (struct taken){ .cost = 0 };
    if (e->fenced)
        return SQ_ESTALE;
    n = q != NULL ? take(e, TREC_CALL, q, 1, lease_ms, most, out) : 0;
    while (n == 0 && out->cost == 0 && engine_has_open(e)) { /* a queue without units is closed by the take */
        uint32_t i = next_queue(e);

        n = take(e, TREC_CALL, tqueue_at(e, i), 1, lease_ms, most, out);
        e->unfit = n == 0 && out->cost != 0 ? i : 0;
    }
    return (int)n;
}

/* ---- what is said of it: the lease decides whose word counts ----------------------- */

/* The slot of the task if it runs under this lease; else < 0. */
static int64_t held(const struct engine *e, task_no no, uint64_t lease)
{
    int64_t slot = engine_find(e, no, 1u << TASK_RUNNING);

    return slot >= 0 && task_at(&e->store, (task_slot)slot)->lease != lease ? SQ_ECONFLICT : slot;
}

int engine_ack(struct engine *e, task_no no, uint64_t lease, uint64_t result)
{
    int64_t slot = held(e, no, lease);
    struct trec r = { .kind = TREC_DONE, .no = no, .body = result };

    if (slot < 0)
        return (int)slot;
    r.until = task_end_of(e, tqueue_rules(e, (task_slot)slot)->result_ms);
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
    leave_mark(e, no, lease, true); /* also where it was to stop, whose record does not say why it ended */
    return 0;
}

int engine_unseen(struct engine *e, task_no no, uint64_t lease)
{
    int64_t slot = held(e, no, lease);

    if (slot < 0)
        return (int)slot;
    task_attempt_unseen(e, (task_slot)slot);
    return 0;
}

/* Lets it be tried once more than `most` times. */
static int add_attempt(struct engine *e, task_slot slot, unsigned most)
{
    const struct task_own *was = owns_of(&e->owns, slot);
    struct task_own own = was != NULL ? *was : (struct task_own){ 0 };

    assert(most < ATTEMPTS_MAX);
    own.max_attempts = (uint64_t)most + 2; /* the value + 1 */
    return task_perform_own(e, task_number(&e->store, slot), &own);
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
    struct backoff b;
    uint64_t units;
    unsigned most;
    int rc = 0;

    if (slot < 0)
        return (int)slot;
    most = task_most_attempts(e, (task_slot)slot, &b);
    if (!f->for_good && !task_at(&e->store, (task_slot)slot)->passed &&
        (f->spared || (f->excused && task_at(&e->store, (task_slot)slot)->attempts < most))) {
        taken_back = most >= ATTEMPTS_MAX;
        rc = taken_back ? 0 : add_attempt(e, (task_slot)slot, most);
    }
    if (rc == 0) {
        if (f->spared && !settled_of(&e->settled, (task_slot)slot, &units))
            task_give_back(e, (task_slot)slot);
        keep_reply(e, no, f->reply);
        task_attempt_ends(e, (task_slot)slot, f, taken_back);
    }
    return rc;
}

int engine_settle(struct engine *e, task_no no, uint64_t lease, uint64_t units)
{
    int64_t slot = held(e, no, lease);

    if (slot < 0)
        return (int)slot;
    return units > TASK_COST_MAX ? SQ_EINVAL : task_settle(e, (task_slot)slot, units);
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

int engine_at_target(struct engine *e, task_no no, uint64_t lease, unsigned target)
{
    int64_t slot = held(e, no, lease);
    const struct trec r = { .kind = TREC_TARGET, .no = no, .lo = target };

    if (slot < 0)
        return (int)slot;
    task_perform_sure(e, &r);
    return 0;
}

int engine_pass(struct engine *e, task_no no, uint64_t lease)
{
    int64_t slot = held(e, no, lease);
    const struct trec r = { .kind = TREC_PASSED, .no = no };

    if (slot < 0)
        return (int)slot;
    if (!task_at(&e->store, (task_slot)slot)->passed)
        task_perform_sure(e, &r);
    return 0;
}

bool engine_is_passed(const struct engine *e, task_no no, uint64_t lease)
{
    int64_t slot = held(e, no, lease);

    return slot >= 0 && task_at(&e->store, (task_slot)slot)->passed;
}

int engine_give_up(struct engine *e, task_no no, uint64_t lease, uint32_t lease_ms,
                   const struct attempt *how)
{
    int64_t slot = held(e, no, lease);
    int rc;

    if (slot < 0)
        return (int)slot;
    if (task_end_of(e, lease_ms) < (uint64_t)wheel_when(&e->timers, (task_slot)slot)) {
        rc = engine_extend(e, no, lease, lease_ms);
        if (rc < 0)
            return rc;
    }
    rc = engine_cut(e, no);
    if (rc == 0)
        task_explain(e, no, how);
    return rc;
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

int engine_progress(struct engine *e, task_no no, uint64_t lease, const struct worker_said *s, uint32_t lease_ms)
{
    int64_t slot = held(e, no, lease);
    int rc = slot < 0 ? (int)slot : progresses_set(&e->progresses, (uint32_t)slot, s, e->at);

    return rc == 0 && lease_ms > 0 ? engine_extend(e, no, lease, lease_ms) : rc;
}

void engine_shorten_calls(struct engine *e, uint32_t ms)
{
    for (task_slot s = 0; s < e->store.n_slots; s++) {
        const struct task *t = task_at(&e->store, s);
        struct trec r = { .kind = TREC_EXTEND, .no = task_number(&e->store, s) };

        if (t->state != TASK_RUNNING || !t->called)
            continue;
        r.until = (uint64_t)ms_max(wheel_when(&e->timers, s) - ms, e->at + ms);
        if ((msec_t)r.until < wheel_when(&e->timers, s))
            task_perform_sure(e, &r);
    }
}

/* ---- first -------------------------------------------------------------------------------- */

/* Starts of a trial. A task that starts leaves its line in truth, and is put back. */

struct attempt_list { /* a list that is being made */
    struct engine *e;
    const struct tqueue *q;
    struct trial trial;
    struct tree tree;
    struct key_rule any; /* rule of the queue without its limits */
    struct allowance allowance;
    task_no *out;
    uint32_t most, begin; /* begin: those before it stood in no line of the tree */
    bool freed;           /* from the queue's limits */
};

static void first_start(struct attempt_list *a, task_slot slot, bool in_line, struct first_tasks *f)
{
    tree_start(&a->tree, slot, in_line, task_cost(a->e, slot), a->e->at);
    allowance_pay(&a->allowance, a->e->at);
    a->out[f->n++] = task_number(&a->e->store, slot);
}

static bool is_costly(const struct attempt_list *a)
{
    return a->tree.steps - a->e->tree.steps > FIRST_STEPS;
}

/* Finds the next one as worker.c does. */
static task_slot next_one(struct attempt_list *a, uint32_t *served)
{
    task_slot slot;

    if (!allowance_lets(&a->allowance, a->e->at))
        return SLOT_NONE;
    do
        slot = tree_pick(&a->tree, a->q->limiter, a->q->pool->head_start, served);
    while (slot != SLOT_NONE && !tree_affords(&a->tree, slot, task_cost(a->e, slot), a->e->at) && !is_costly(a));
    return slot;
}

static void free_queue(struct attempt_list *a)
{
    struct limiter *l = tree_limiter_at(&a->tree, a->q->limiter);

    a->any = (struct key_rule){ .weight = l->rule->weight };
    l->rule = &a->any;
    l->closed = 0;
    a->allowance.is_on = false;
    a->freed = true;
}

static void list(struct attempt_list *a, struct first_tasks *f)
{
    for (task_slot s = line_head(&a->q->first); s != SLOT_NONE && f->n < a->most;
         s = task_at(&a->e->store, s)->next - 1)
        first_start(a, s, false, f);
    a->begin = f->n;
    while (f->n < a->most && !is_costly(a)) {
        uint32_t served = 0;
        task_slot slot = next_one(a, &served);

        if (slot == SLOT_NONE && a->freed)
            return;
        if (is_costly(a))
            break;
        if (slot != SLOT_NONE) {
            tree_pay(&a->tree, served, task_cost(a->e, slot));
            first_start(a, slot, true, f);
        } else {
            f->now = f->n;
            free_queue(a);
        }
    }
    f->cut = f->n < a->most;
}

/* The last one first: so each is in front again. A heap may have another shape, of the same order. */
static void put_back(struct attempt_list *a, uint32_t n)
{
    for (uint32_t i = n; i > a->begin; i--) {
        task_slot slot = task_slot_of(a->out[i - 1]);
        struct turn *u = tree_turn_at(&a->tree, task_at(&a->e->store, slot)->turn);

        if (u->by_order)
            line_add(&u->line, &a->e->store, slot, true);
        else
            line_add_first(&u->line, &a->e->store, slot);
        tree_turn_at(&a->e->tree, task_at(&a->e->store, slot)->turn)->line = u->line;
    }
}

int engine_first(struct engine *e, const struct trec_text *queue, uint32_t most, task_no *out,
                 struct first_tasks *f)
{
    struct attempt_list a = { .e = e, .q = tqueue_find(e, queue->p, queue->n), .allowance = e->allowance,
                              .out = out, .most = most };

    *f = (struct first_tasks){ 0 };
    if (a.q == NULL)
        return 0;
    if (trial_begin(&a.trial, &e->tree, &a.tree) < 0)
        return SQ_ENOMEM;
    f->waiting = (uint32_t)a.q->rank.n;
    list(&a, f);
    f->now = a.freed ? f->now : f->n;
    put_back(&a, f->n);
    for (uint32_t i = 0; i < f->n; i++)
        out[i] = places_task(e, task_slot_of(out[i]));
    trial_end(&a.trial);
    return 0;
}

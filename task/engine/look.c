/* look.c: reads, changes nothing. */
#include "task/engine/look.h"

#include <string.h>

#include "common/base/err.h"
#include "common/base/text.h"
#include "task/engine/submit.h"
#include "task/engine/tqueue.h"
#include "task/keys/buckets.h"

static void look_at_keys(const struct engine *e, task_slot slot, struct task_view *v)
{
    const struct turn *u = tree_turn_at(&e->tree, task_at(&e->store, slot)->turn);
    const char *text[TASK_KEY_LEVELS] = { "", "", "" };
    unsigned n = 0;

    for (uint32_t i = u->limiter; i != 0; i = tree_limiter_at(&e->tree, i)->parent) {
        assert(n < TASK_KEY_LEVELS);
        text[n++] = tree_limiter_at(&e->tree, i)->text;
    }
    v->queue = text[n - 1];
    v->key1 = n > 1 ? text[n - 2] : "";
    v->key2 = n > 2 ? text[n - 3] : "";
}

static msec_t opens_at(const struct engine *e, uint32_t limiter)
{
    return tree_limiter_at(&e->tree, limiter)->closed == CLOSED_RATE
               ? ms_max(wheel_when(&e->tree.wakes, limiter), window_closes(&e->tree, limiter)) : 0;
}

/* Sets both bits of a rate whose calendar window has no room: one alone is the endpoint's. */
static uint8_t closed_by(const struct engine *e, uint32_t limiter)
{
    uint8_t closed = tree_limiter_at(&e->tree, limiter)->closed;

    return window_closes(&e->tree, limiter) == 0 ? closed : closed | CLOSED_WINDOW;
}

static uint32_t limiter_of(const struct engine *e, task_slot slot)
{
    return tree_turn_at(&e->tree, task_at(&e->store, slot)->turn)->limiter;
}

static void look_at_limits(const struct engine *e, uint32_t limiter, struct task_view *v)
{
    for (uint32_t i = limiter; i != 0; i = tree_limiter_at(&e->tree, i)->parent) {
        const struct limiter *l = tree_limiter_at(&e->tree, i);

        if (l->closed == 0)
            continue;
        v->limited = closed_by(e, i);
        v->limited_by = l->text;
        v->limited_until = opens_at(e, i);
        return;
    }
    if (allowance_lets(&e->allowance, e->at))
        return;
    v->limited = CLOSED_RATE;
    v->limited_by = e->pool[0]->match;
    v->limited_until = e->allowance.none ? 0 : rate_when(&e->allowance.rate, e->allowance.tat);
}

/* ---- when it starts: an estimate: between keys it takes a place for a turn ---------- */

/* The same of rates in units, if those before it cost as much as it does: what they cost is not counted. */
static msec_t units_nth(const struct engine *e, uint32_t limiter, uint64_t n, uint64_t cost)
{
    const struct unit_rate *r = tree_limiter_at(&e->tree, limiter)->rule->units;
    const struct unit_bucket *b = bucket_of(&e->tree, limiter);
    msec_t latest = 0;

    for (unsigned k = 0; b != NULL && k < UNIT_RATES_MAX && r[k].units != 0; k++) {
        uint64_t before = n > 1 ? u64_min(n - 1, UINT32_MAX) * cost : 0;
        int64_t tat = b->tat[k];

        if (r[k].window != 0) {
            latest = ms_max(latest, window_when(&e->tree, &r[k], tat, before + cost));
            continue;
        }
        tat = before > 0 ? units_pass(&r[k], tat, before, e->at) : tat;
        latest = ms_max(latest, units_when(&r[k], tat, cost));
    }
    return latest;
}

/* Reckons by rates: those before it in its key go first; in its queue, those of its place. */
static msec_t rates_let(const struct engine *e, uint32_t limiter, uint64_t cost, const struct task_view *v)
{
    msec_t latest = e->allowance.is_on ? rate_nth(&e->allowance.rate, e->allowance.tat, v->turns, e->at) : 0;

    for (uint32_t i = limiter; i != 0; i = tree_limiter_at(&e->tree, i)->parent) {
        const struct limiter *l = tree_limiter_at(&e->tree, i);

        uint64_t n = l->parent == 0 ? v->turns : v->ahead_of_key + 1;

        latest = ms_max(latest, rate_nth(&l->rule->rate, l->tat, n, e->at));
        latest = ms_max(latest, units_nth(e, i, n, cost));
    }
    return latest > e->at ? latest - e->at : 0;
}

static bool is_paused(const struct engine *e, uint32_t i)
{
    while (i != 0 && (tree_limiter_at(&e->tree, i)->closed & CLOSED_PAUSE) == 0)
        i = tree_limiter_at(&e->tree, i)->parent;
    return i != 0;
}

/* The latest of what stands before its start is told, with its reason. */
static void say(struct task_view *v, enum task_eta by, int64_t ms)
{
    v->eta = by;
    v->eta_ms = ms;
}

/* Turns of its queue until a task of this key starts: its place; or, where keys take turns and few of its
 * own are before it, as many rounds of the keys: of a key with one task nobody waits for all of
 * another's. Weights are left out; with several priorities in line it is the place. */
static uint64_t turns_until(const struct engine *e, uint32_t limiter, const struct task_view *v)
{
    const struct limiter *l = limiter != 0 ? tree_limiter_at(&e->tree, limiter) : NULL;
    uint64_t n = (uint64_t)v->ahead_of_key + 1;

    if (l == NULL)
        return v->position;
    n *= (uint64_t)l->below + 1; /* with its own line */
    while (l->parent != 0 && n < v->position) {
        l = tree_limiter_at(&e->tree, l->parent);
        n *= l->below;
    }
    if (n >= v->position || l->turns == 0 || tree_turn_at(&e->tree, l->turns)->sibling != 0)
        return v->position;
    return n;
}

static void of_waiting(const struct engine *e, const struct starts *starts, uint32_t limiter, uint64_t cost,
                       struct task_view *v)
{
    int64_t pace = starts_ms(starts, v->first ? 1 : v->turns, e->at);
    int64_t rate = v->first ? 0 : rates_let(e, limiter, cost, v);

    v->young = starts_are_young(starts, e->at);
    if (is_paused(e, limiter))
        say(v, TASK_ETA_PAUSED, -1);
    else if (e->allowance.is_on && e->allowance.none && !v->first)
        say(v, TASK_ETA_RATE, -1);
    else if (rate > 0 && (v->limited & CLOSED_RATE) != 0 && (pace < 0 || v->young))
        say(v, TASK_ETA_RATE, rate); /* known limit, and no pace yet */
    else if (rate > pace && pace >= 0)
        say(v, TASK_ETA_RATE, rate);
    else if (pace < 0)
        say(v, (v->limited & CLOSED_AT_ONCE) != 0 ? TASK_ETA_CONCURRENCY : TASK_ETA_NO_WORKER, -1);
    else
        say(v, TASK_ETA_PACE, pace);
}

static uint64_t turns_of(const struct engine *e, task_slot slot, const struct task_view *v)
{
    if (v->ahead_of_key >= AHEAD_MOST || tqueue_rules(e, slot)->order == ORDER_NUMBER)
        return v->position;
    return turns_until(e, limiter_of(e, slot), v);
}

static void look_at_start(const struct engine *e, task_slot slot, struct task_view *v)
{
    if (v->state == TASK_SCHEDULED || v->state == TASK_RETRYING)
        say(v, TASK_ETA_DELAY, ms_max(v->until_ms - (v->by_wall ? e->wall_at : e->at), 0));
    else if (v->state == TASK_WAITING)
        of_waiting(e, &tqueue_of(e, slot)->starts, limiter_of(e, slot), task_cost(e, slot), v);
}

/* ---- one ---------------------------------------------------------------------------- */

void look_at_task(const struct engine *e, task_slot slot, struct task_view *v)
{
    const struct task *t = task_at(&e->store, slot);

    assert(t->state != TASK_FREE);
    *v = (struct task_view){ .state = (enum task_state)t->state, .priority = t->priority,
                             .attempts = t->attempts, .order = t->order, .body = t->body,
                             .entered_ms = (msec_t)t->entered_ms,
                             .until_ms = wheel_when(&e->timers, slot) };
    v->own = owns_of(&e->owns, slot);
    v->chain = chains_of(&e->chains, slot);
    v->progress = progress_of_slot(&e->progresses, slot);
    v->is_settled = settled_of(&e->settled, slot, &v->cost_used);
    if (v->state == TASK_RUNNING || v->state == TASK_SUCCEEDED || v->state == TASK_CANCELLED)
        v->started_ms = (msec_t)t->started;
    if (task_state_is_final(v->state) && v->state != TASK_DEAD)
        v->ended_ms = (msec_t)t->ended;
    v->by_wall = t->state == TASK_SCHEDULED && t->cancel;
    v->stopping = t->state == TASK_RUNNING && t->cancel;
    v->first = t->state == TASK_WAITING && t->cancel;
    look_at_keys(e, slot, v);
}

unsigned look_at_history(const struct engine *e, task_slot slot, struct attempt *v,
                         uint32_t *earlier)
{
    const struct task *t = task_at(&e->store, slot);
    unsigned n = attempts_of(&e->attempts, slot, v, earlier);
    enum task_state s = (enum task_state)t->state;
    enum attempt_end end = s == TASK_SUCCEEDED ? ATTEMPT_SUCCEEDED
                           : s == TASK_EXPIRED ? ATTEMPT_EXPIRED : ATTEMPT_CANCELLED;

    if (!task_state_is_final(s) || s == TASK_DEAD || (s == TASK_CANCELLED && t->started != 0))
        return n; /* last attempt is among them */
    v[n++] = (struct attempt){ .no = s == TASK_SUCCEEDED ? t->attempts : 0, .end = (uint8_t)end,
                               .started = s == TASK_SUCCEEDED ? (msec_t)t->started : 0,
                               .ended = (msec_t)t->ended };
    return n;
}

uint64_t engine_max_result(const struct engine *e, task_no no)
{
    task_slot slot = task_find(&e->store, no);
    const struct task_own *own = slot != SLOT_NONE ? owns_of(&e->owns, slot) : NULL;

    if (slot == SLOT_NONE)
        return 0;
    return own != NULL && own->max_result != 0 ? own->max_result - 1
                                               : tqueue_rules(e, slot)->max_result;
}

bool engine_was_tried(const struct engine *e, task_no no)
{
    task_slot slot = task_find(&e->store, no);

    return slot != SLOT_NONE &&
           (task_at(&e->store, slot)->attempts > 0 || attempts_past(&e->attempts, slot) != NULL);
}

const struct task_rules *engine_rules_of(const struct engine *e, const struct trec_text *queue)
{
    const struct tqueue *q = tqueue_find(e, queue->p, queue->n);
    const struct pool *p = q != NULL ? q->pool : tqueue_pool_of(e, queue);

    return p != NULL ? &p->rules : NULL;
}

/* Counts those that go before it: the order of entry, but for priorities: all of a more urgent one, none of
 * a less urgent one. In a queue with keys nothing has these numbers: there the order of entry is told.
 * ahead: in its own line, at most AHEAD_MOST. */
static uint64_t place_of(const struct engine *e, task_slot slot, const struct tqueue *q, uint32_t ahead)
{
    const struct turn *own = tree_turn_at(&e->tree, task_at(&e->store, slot)->turn);
    const msec_t *start = q->pool->head_start;
    uint64_t by_entry = rank_before(&q->rank, tqueue_entry(q, task_at(&e->store, slot)), 0) + 1;
    uint64_t before = u32_min(own->line.n, ahead + 1) + q->first.n;

    if (task_at(&e->store, slot)->cancel || tree_limiter_at(&e->tree, q->limiter)->below > 0 || own->by_order ||
        ahead >= AHEAD_MOST)
        return by_entry; /* also of one that was told to run now: it is in another line */
    for (uint32_t u = tree_limiter_at(&e->tree, q->limiter)->turns; u != 0; u = tree_turn_at(&e->tree, u)->sibling)
        if (start[tree_turn_at(&e->tree, u)->priority] > start[own->priority])
            before += tree_turn_at(&e->tree, u)->line.n;
    return u64_min(before, by_entry);
}

int engine_look(const struct engine *e, task_no no, struct task_view *v)
{
    task_slot slot = task_find(&e->store, no);
    const struct tqueue *q;
    uint32_t ahead;

    if (slot == SLOT_NONE)
        return SQ_EUNKNOWN;
    look_at_task(e, slot, v);
    q = tqueue_of(e, slot);
    if (task_is_cut(task_at(&e->store, slot)))
        v->until_ms += (msec_t)q->pool->rules.result_ms;
    if (v->state == TASK_WAITING) {
        v->waiting = (uint32_t)q->rank.n;
        ahead = line_ahead(&e->store, slot, AHEAD_MOST);
        v->position = place_of(e, slot, q, ahead);
        v->ahead_of_priority = rank_before(&q->rank, tqueue_entry(q, task_at(&e->store, slot)), v->priority);
        if (q->pool->rules.order != ORDER_NUMBER)
            v->ahead_of_key = ahead;
        v->turns = turns_of(e, slot, v);
        look_at_limits(e, limiter_of(e, slot), v);
    }
    look_at_start(e, slot, v);
    return 0;
}

/* ---- one that is not there yet -------------------------------------------------------- */

/* Tasks in line that go before one of this priority that comes now, of one limiter. */
static uint32_t before_new(const struct engine *e, uint32_t limiter, const msec_t *start, unsigned priority)
{
    uint32_t n = 0;

    for (uint32_t u = tree_limiter_at(&e->tree, limiter)->turns; u != 0; u = tree_turn_at(&e->tree, u)->sibling)
        if (start[tree_turn_at(&e->tree, u)->priority] >= start[priority])
            n += tree_turn_at(&e->tree, u)->line.n;
    return n;
}

/* The limiter of the submission's key, or as much of it as there is. */
static uint32_t limiter_for(const struct engine *e, const struct tqueue *q, const struct submit *s, bool *whole)
{
    const struct trec_text *key[] = { &s->key1, &s->key2 };
    uint32_t l = q->limiter;

    *whole = true;
    for (unsigned i = 0; i < ARRAY_LEN(key) && key[i]->n > 0 && *whole; i++) {
        uint32_t below = tqueue_key(e, l, key[i]);

        *whole = below != 0;
        l = below != 0 ? below : l;
    }
    return l;
}

void engine_foresee(const struct engine *e, const struct submit *s, struct task_view *v)
{
    static const struct starts never;
    const struct tqueue *q = tqueue_find(e, s->queue.p, s->queue.n);
    uint32_t limiter = 0;
    bool whole;

    *v = (struct task_view){ .state = TASK_WAITING, .priority = s->priority, .position = 1 };
    if (q != NULL) {
        limiter = limiter_for(e, q, s, &whole);
        v->waiting = (uint32_t)q->rank.n;
        v->position = q->rank.n + 1;
        v->ahead_of_key = whole ? before_new(e, limiter, q->pool->head_start, s->priority) : 0;
        if (limiter == q->limiter && tree_limiter_at(&e->tree, limiter)->below == 0)
            v->position = u64_min(v->position, (uint64_t)v->ahead_of_key + q->first.n + 1);
    }
    v->turns = turns_until(e, limiter, v);
    look_at_limits(e, limiter, v);
    of_waiting(e, q != NULL ? &q->starts : &never, limiter, own_cost(&s->own), v);
}

void engine_foresee_room(const struct engine *e, const struct submit *s, struct task_view *v)
{
    const struct tqueue *q = tqueue_find(e, s->queue.p, s->queue.n);
    uint64_t most = q != NULL ? q->pool->rules.max_waiting_units : 0, needs = own_cost(&s->own);
    double each;

    *v = (struct task_view){ .state = TASK_WAITING, .eta_ms = -1 };
    if (q == NULL || q->rank.n == 0 || q->units + needs <= most)
        return;
    each = (double)q->units / (double)q->rank.n;
    v->waiting = (uint32_t)q->rank.n;
    v->turns = u64_min((uint64_t)((double)u64_min(q->units, q->units + needs - most) / each) + 1, q->rank.n);
    look_at_limits(e, q->limiter, v);
    of_waiting(e, &q->starts, q->limiter, u64_min((uint64_t)each, TASK_COST_MAX), v);
}

/* ---- many -------------------------------------------------------------------------- */

/* The limiter of the queue, or of the key, that is meant; 0: there is none. */
static uint32_t limiter_meant(const struct engine *e, const struct task_filter *f)
{
    const struct tqueue *q = tqueue_find(e, f->queue.p, f->queue.n);
    uint32_t l = q == NULL ? 0 : q->limiter;

    if (l != 0 && f->key1.n > 0)
        l = tqueue_key(e, l, &f->key1);
    if (l != 0 && f->key2.n > 0)
        l = tqueue_key(e, l, &f->key2);
    return l;
}

static bool has_label(const struct engine *e, task_slot slot, const struct trec_text *label)
{
    const struct task_own *own = label->n > 0 ? owns_of(&e->owns, slot) : NULL;

    return label->n == 0 || (own != NULL && own_has_label(own, label->p, label->n));
}

#define LIMITER_ANY UINT32_MAX

static bool is_below(const struct engine *e, task_slot slot, uint32_t limiter)
{
    uint32_t i;

    if (limiter == LIMITER_ANY)
        return true;
    i = tree_turn_at(&e->tree, task_at(&e->store, slot)->turn)->limiter;
    while (i != 0 && i != limiter)
        i = tree_limiter_at(&e->tree, i)->parent;
    return i != 0;
}

/* Ended, or, of those that are not over or are dead, entered. */
static bool is_within(const struct task *t, const struct task_filter *f)
{
    bool over = task_state_is_final((enum task_state)t->state) && t->state != TASK_DEAD;
    msec_t at = over ? (msec_t)t->ended : (msec_t)t->entered_ms;

    return at >= f->since && (f->until == 0 || at < f->until);
}

/* Finds what is listed for a slot of the queue: its task; or the one for which it stands, which waits there, too.
 * SLOT_NONE: nothing is. */
static task_slot listed(const struct engine *e, const struct task_filter *f, task_slot slot)
{
    const struct offer *o = NULL;

    if (task_at(&e->store, slot)->state != TASK_FREE)
        return slot;
    if (!f->any_queue)
        o = offers_of(&e->offers, slot);
    return o != NULL && task_state_waits((enum task_state)task_at(&e->store, o->task)->state) ? o->task : SLOT_NONE;
}

unsigned engine_list(const struct engine *e, const struct task_filter *f, task_slot *at,
                     task_no *out, unsigned most)
{
    uint32_t limiter = f->any_queue ? LIMITER_ANY : limiter_meant(e, f);
    task_slot end = e->store.n_slots, stop = limiter == 0 || *at >= end ? *at
                                             : u32_min(end - *at, LIST_STEPS) + *at;
    unsigned n = 0;

    for (; *at < stop && n < most; ++*at) {
        task_slot slot = listed(e, f, *at);

        if (slot != SLOT_NONE && f->states >> task_at(&e->store, slot)->state & 1 &&
            is_within(task_at(&e->store, slot), f) && is_below(e, *at, limiter) && has_label(e, slot, &f->label))
            out[n++] = task_number(&e->store, slot);
    }
    if (limiter == 0 || *at >= end)
        *at = SLOT_NONE;
    return n;
}

void look_at_more(const struct engine *e, task_slot slot, struct task_more *m)
{
    const struct task *t = task_at(&e->store, slot);
    const struct tqueue *q = tqueue_of(e, slot);
    struct backoff b;
    unsigned most = task_most_attempts(e, slot, &b);

    *m = (struct task_more){ .named = map_get(&e->names.by_task, task_number(&e->store, slot)) != MAP_NONE,
                             .group = groups_of(&e->groups, slot) };
    if (t->attempts > 0)
        m->attempts_left = most > t->attempts ? most - t->attempts : 1;
    if (t->state == TASK_WAITING)
        m->place = rank_before(&q->rank, tqueue_entry(q, t), 0) + 1;
}

static uint32_t waiting_of(const struct engine *e, const struct limiter *l)
{
    uint32_t n = 0;

    for (uint32_t u = l->turns; u != 0; u = tree_turn_at(&e->tree, u)->sibling)
        n += tree_turn_at(&e->tree, u)->line.n;
    return n;
}

static void look_at_key(const struct engine *e, uint32_t i, struct key_view *v)
{
    const struct limiter *l = tree_limiter_at(&e->tree, i);
    const struct limiter *above = tree_limiter_at(&e->tree, l->parent);
    bool lower = above->parent != 0;

    *v = (struct key_view){ .waiting = waiting_of(e, l), .running = l->running,
                            .limited = closed_by(e, i), .limited_until = opens_at(e, i) };
    copy_text(v->key1, sizeof(v->key1), lower ? above->text : l->text);
    copy_text(v->key2, sizeof(v->key2), lower ? l->text : "");
}

struct key_view *key_view_room(struct key_view *v, unsigned *n, unsigned most, uint64_t tasks)
{
    unsigned i = *n;

    if (tasks == 0 || (i == most && tasks <= (uint64_t)v[i - 1].waiting + v[i - 1].dead))
        return NULL;
    for (i = i < most ? (*n)++ : most - 1;
         i > 0 && (uint64_t)v[i - 1].waiting + v[i - 1].dead < tasks; i--)
        v[i] = v[i - 1];
    return &v[i];
}

void engine_top_keys(const struct engine *e, const struct trec_text *queue, uint32_t *at,
                     struct key_view *v, unsigned *n, unsigned most)
{
    const struct tqueue *q = tqueue_find(e, queue->p, queue->n);
    uint32_t end = q == NULL ? 0 : e->tree.n_limiters, stop = u32_min(end, *at + LIST_STEPS);

    for (*at = *at > 0 ? *at : 1; *at < stop; ++*at) {
        const struct limiter *l = tree_limiter_at(&e->tree, *at);
        uint32_t waiting = l->rule == NULL || l->parent == 0 || tqueue_at(e, l->queue) != q
                               ? 0 : waiting_of(e, l);
        struct key_view *k = key_view_room(v, n, most, waiting);

        if (k != NULL)
            look_at_key(e, *at, k);
    }
    if (*at >= end)
        *at = SLOT_NONE;
}

static void look_at_queue(const struct engine *e, const struct tqueue *q, struct key_view *v)
{
    *v = (struct key_view){ .waiting = (uint32_t)q->rank.n, .dead = q->dead.n,
                            .running = tree_limiter_at(&e->tree, q->limiter)->running,
                            .limited = closed_by(e, q->limiter),
                            .limited_until = opens_at(e, q->limiter),
                            .redriving = q->redrive_last != 0 };
    copy_text(v->key1, sizeof(v->key1), q->name);
}

bool engine_queue_view(const struct engine *e, const char *name, struct key_view *v)
{
    const struct tqueue *q = tqueue_find(e, name, (uint32_t)strlen(name));

    *v = (struct key_view){ 0 };
    copy_text(v->key1, sizeof(v->key1), name);
    if (q != NULL)
        look_at_queue(e, q, v);
    return q != NULL;
}

void engine_top_queues(const struct engine *e, uint32_t *at, uint32_t steps, struct key_view *v,
                       unsigned *n, unsigned most)
{
    uint32_t stop = u32_min(e->n_queues, *at + steps);

    for (*at = *at > 0 ? *at : 1; *at < stop; ++*at) {
        const struct tqueue *q = tqueue_at(e, *at);
        struct key_view *k = q->pool != NULL ? key_view_room(v, n, most, q->rank.n + q->dead.n) : NULL;

        if (k != NULL)
            look_at_queue(e, q, k);
    }
    if (*at >= e->n_queues)
        *at = SLOT_NONE;
}

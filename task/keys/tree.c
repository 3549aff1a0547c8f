/* tree.c: limiters and turns: made, found, let go; tasks join and leave; starts are counted. */
#include "task/keys/tree.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "task/keys/buckets.h"
#include "task/keys/ring.h"

void tree_init(struct tree *t, struct task_store *s, uint32_t max_limiters, msec_t now)
{
    assert(max_limiters > 0);
    memset(t, 0, sizeof(*t));
    t->store = s;
    t->max_limiters = max_limiters;
    pages_init(&t->limiters, sizeof(struct limiter));
    pages_init(&t->turns, sizeof(struct turn));
    pages_init(&t->links, sizeof(struct wheel_link));
    pages_init(&t->buckets, sizeof(struct unit_bucket));
    pages_init(&t->debts, sizeof(struct turn_debt));
    wheel_init(&t->wakes, &t->links, now);
    map_init(&t->by_hash, 0); /* hashes are keyed already */
    t->n_limiters = t->n_turns = 1; /* 0 means none */
}

void tree_fini(struct tree *t)
{
    for (uint32_t i = 1; i < t->n_limiters; i++)
        free(tree_limiter_at(t, i)->text);
    pages_fini(&t->limiters);
    pages_fini(&t->turns);
    pages_fini(&t->links);
    pages_fini(&t->buckets);
    pages_fini(&t->debts);
    windows_free(t);
    map_fini(&t->by_hash);
}

int tree_reach_costs(struct tree *t)
{
    int rc = 0;

    for (uint32_t i = 0; !t->has_costs && rc == 0 && i < t->n_turns; i++)
        rc = pages_reach(&t->debts, i);
    if (rc == 0 && !t->has_costs) {
        t->has_costs = true;
        ring_begin_rounds(t);
    }
    return rc;
}

static uint64_t hash_below(uint32_t parent, uint64_t hash)
{
    return hash + parent * 0x9e3779b97f4a7c15u;
}

uint32_t tree_find_limiter(const struct tree *t, uint32_t parent, uint64_t hash)
{
    uint64_t i = map_get(&t->by_hash, hash_below(parent, hash));

    return i == MAP_NONE ? 0 : (uint32_t)i;
}

static void wake_at(struct tree *t, uint32_t limiter, msec_t when)
{
    if (when != MSEC_NEVER)
        wheel_set(&t->wakes, limiter, when);
    else
        wheel_clear(&t->wakes, limiter); /* when the next window begins */
}

/* When its rates let the next one pass. */
static void wake_later(struct tree *t, uint32_t limiter)
{
    if (t->trial == NULL)
        wake_at(t, limiter, bucket_lets_when(t, limiter));
}

/* A new limiter's bucket is full, but for those that began empty with the tree. */
static void fill_bucket(struct tree *t, uint32_t i)
{
    if (!bucket_has_rate(t, i) || t->emptied == 0)
        return;
    bucket_empty(t, i, t->emptied);
    if (bucket_lets_when(t, i) <= t->now)
        return;
    tree_limiter_at(t, i)->closed |= CLOSED_RATE; /* nothing is below it that would have to be taken out */
    wake_later(t, i);
}

uint32_t tree_new_limiter(struct tree *t, uint32_t parent, const struct key_name *k,
                          const struct key_rule *r)
{
    uint32_t i = t->free_limiter != 0 ? t->free_limiter : t->n_limiters;
    char *text = t->limiters_now < t->max_limiters ? strndup(k->text, k->len) : NULL;

    assert(r->weight >= 1 && tree_find_limiter(t, parent, k->hash) == 0);
    if (text == NULL || pages_reach(&t->limiters, i) < 0 || pages_reach(&t->links, i) < 0 ||
        (t->has_units && pages_reach(&t->buckets, i) < 0) ||
        map_set(&t->by_hash, hash_below(parent, k->hash), i) < 0) {
        free(text);
        return 0;
    }
    if (t->free_limiter != 0)
        t->free_limiter = tree_limiter_at(t, i)->parent;
    else
        t->n_limiters++;
    *tree_limiter_at(t, i) = (struct limiter){ .rule = r, .text = text, .parent = parent,
                                               .hash = hash_below(parent, k->hash),
                                               .closed = r->paused ? CLOSED_PAUSE : 0 };
    if (t->has_units)
        *(struct unit_bucket *)pages_at(&t->buckets, i) = (struct unit_bucket){ .needs = 0 };
    bucket_anew(t, i, t->now);
    if (parent != 0)
        tree_limiter_at(t, parent)->below++;
    t->limiters_now++;
    fill_bucket(t, i);
    return i;
}

/* Lets go of a limiter that nobody needs, and of those above it; one whose bucket is not
 * full yet stays until it is. */
static void limiter_release(struct tree *t, uint32_t i, msec_t now)
{
    while (i != 0) {
        struct limiter *l = tree_limiter_at(t, i);
        uint32_t parent = l->parent;

        if (l->turns != 0 || l->below != 0)
            return;
        assert(l->running == 0);
        if (bucket_full_at(t, i) > now) {
            wake_at(t, i, bucket_full_at(t, i));
            return;
        }
        wheel_clear(&t->wakes, i);
        map_del(&t->by_hash, l->hash);
        free(l->text);
        *l = (struct limiter){ .parent = t->free_limiter };
        t->free_limiter = i;
        t->limiters_now--;
        if (parent != 0)
            tree_limiter_at(t, parent)->below--;
        i = parent;
    }
}

uint32_t tree_turn(struct tree *t, uint32_t limiter, uint32_t parent, struct turn_kind kind)
{
    struct limiter *l = tree_limiter_at(t, limiter);
    uint32_t i;

    assert(l->rule != NULL && kind.priority < TASK_PRIORITIES);
    for (i = l->turns; i != 0; i = tree_turn_at(t, i)->sibling)
        if (tree_turn_at(t, i)->priority == kind.priority)
            return i;
    i = t->free_turn != 0 ? t->free_turn : t->n_turns;
    if (pages_reach(&t->turns, i) < 0 || (t->has_costs && pages_reach(&t->debts, i) < 0))
        return 0;
    if (t->free_turn != 0)
        t->free_turn = tree_turn_at(t, i)->parent;
    else
        t->n_turns++;
    *tree_turn_at(t, i) = (struct turn){ .limiter = limiter, .parent = parent,
                                         .sibling = l->turns, .priority = kind.priority,
                                         .strict = kind.strict, .by_order = kind.by_order };
    l->turns = i;
    if ((l->closed & CLOSED_RATE) != 0) /* while nobody had it, it slept until it was full */
        wake_later(t, limiter);
    if (parent != 0)
        tree_turn_at(t, parent)->below++;
    t->turns_now++;
    return i;
}

static void turn_forget(struct tree *t, uint32_t i)
{
    struct turn *u = tree_turn_at(t, i);
    uint32_t *from = &tree_limiter_at(t, u->limiter)->turns;

    assert(u->ring == 0 && u->line.n == 0 && u->busy == 0 && !ring_has_turn(t, i));
    while (*from != i)
        from = &tree_turn_at(t, *from)->sibling;
    *from = u->sibling;
    if (u->parent != 0)
        tree_turn_at(t, u->parent)->below--;
    *u = (struct turn){ .parent = t->free_turn };
    if (t->has_costs)
        *debt_at(t, i) = (struct turn_debt){ .last = 0 };
    t->free_turn = i;
    t->turns_now--;
}

void tree_tidy(struct tree *t, uint32_t turn, uint32_t limiter, msec_t now)
{
    while (turn != 0 && tree_turn_at(t, turn)->tasks == 0 && tree_turn_at(t, turn)->below == 0) {
        uint32_t parent = tree_turn_at(t, turn)->parent;
        uint32_t its = tree_turn_at(t, turn)->limiter;

        turn_forget(t, turn);
        limiter_release(t, its, now);
        turn = parent;
    }
    if (limiter != 0 && tree_limiter_at(t, limiter)->rule != NULL)
        limiter_release(t, limiter, now);
}

void tree_join(struct tree *t, task_slot slot, uint32_t turn)
{
    assert(tree_turn_at(t, turn)->limiter != 0);
    task_at(t->store, slot)->turn = turn;
    tree_turn_at(t, turn)->tasks++;
}

void tree_leave(struct tree *t, task_slot slot, msec_t now)
{
    uint32_t turn = task_at(t->store, slot)->turn;

    assert(tree_turn_at(t, turn)->tasks > 0);
    task_at(t->store, slot)->turn = 0;
    tree_turn_at(t, turn)->tasks--;
    tree_tidy(t, turn, 0, now);
}

/* Sets or clears a reason to be closed, and puts its turns where they belong then. */
static void close_or_open(struct tree *t, uint32_t i, enum closed why, bool closed)
{
    struct limiter *l = tree_limiter_at(t, i);
    uint8_t was = l->closed;

    l->closed = closed ? was | why : was & (uint8_t)~why;
    if ((was == 0) == (l->closed == 0))
        return;
    for (uint32_t u = l->turns; u != 0; u = tree_turn_at(t, u)->sibling)
        ring_settle(t, u);
}

/* Another one may be next: what is closed until the one that was next fits opens, to be asked anew. */
static void forget_needs(struct tree *t, uint32_t turn)
{
    uint32_t i = t->has_units ? tree_turn_at(t, turn)->limiter : 0;

    for (; i != 0; i = tree_limiter_at(t, i)->parent) {
        struct unit_bucket *b = bucket_of(t, i);

        if (b == NULL || b->needs == 0)
            continue;
        t->steps++;
        b->needs = 0;
        if (bucket_lets_when(t, i) <= t->now)
            close_or_open(t, i, CLOSED_RATE, false);
        else
            wake_later(t, i);
    }
}

void tree_wait(struct tree *t, task_slot slot, enum wait_at where)
{
    uint32_t turn = task_at(t->store, slot)->turn;
    struct turn *u = tree_turn_at(t, turn);

    if (where == WAIT_LAST || u->by_order)
        line_add(&u->line, t->store, slot, u->by_order);
    else if (where == WAIT_FIRST)
        line_add_first(&u->line, t->store, slot);
    else
        line_add_by_entry(&u->line, t->store, slot);
    if (where == WAIT_FIRST && u->strict) {
        assert(u->busy > 0); /* the line stood for it */
        u->busy--;
    }
    ring_settle_line(t, turn);
    if (line_head(&u->line) == slot)
        forget_needs(t, turn);
}

void tree_unwait(struct tree *t, task_slot slot)
{
    uint32_t turn = task_at(t->store, slot)->turn;
    struct turn *u = tree_turn_at(t, turn);
    bool was_next = line_head(&u->line) == slot;

    line_remove(&u->line, t->store, slot, u->by_order);
    ring_settle_line(t, turn);
    if (was_next)
        forget_needs(t, turn);
}

bool tree_affords(struct tree *t, task_slot slot, uint64_t cost, msec_t now)
{
    uint32_t turn = task_at(t->store, slot)->turn, i = t->has_units ? tree_turn_at(t, turn)->limiter : 0;

    for (; i != 0; i = tree_limiter_at(t, i)->parent) {
        struct unit_bucket *b = bucket_of(t, i);

        t->steps++;
        if (b == NULL)
            continue;
        b->needs = (uint32_t)cost;
        if (bucket_lets_when(t, i) > now) {
            wake_later(t, i);
            close_or_open(t, i, CLOSED_RATE, true);
            t->misfits++;
            return false;
        }
        b->needs = 0;
    }
    return true;
}

static void count_start(struct tree *t, uint32_t i, uint64_t cost, msec_t now)
{
    struct limiter *l = tree_limiter_at(t, i);
    const struct key_rule *r = l->rule;

    t->steps++;
    l->running++;
    if (r->at_once != 0 && l->running >= r->at_once)
        close_or_open(t, i, CLOSED_AT_ONCE, true);
    bucket_pay(t, i, cost, now);
    if (r->rate.interval_ns == 0)
        return;
    l->tat = rate_pass(&r->rate, l->tat, now);
    if (!rate_lets(&r->rate, l->tat, now)) {
        wake_later(t, i);
        close_or_open(t, i, CLOSED_RATE, true);
    }
}

void tree_start(struct tree *t, task_slot slot, bool in_line, uint64_t cost, msec_t now)
{
    uint32_t turn = task_at(t->store, slot)->turn;
    struct turn *u = tree_turn_at(t, turn);

    if (in_line)
        line_remove(&u->line, t->store, slot, u->by_order);
    if (u->strict)
        u->busy++;
    ring_settle_line(t, turn);
    for (uint32_t i = u->limiter; i != 0; i = tree_limiter_at(t, i)->parent)
        count_start(t, i, cost, now);
}

void tree_resume(struct tree *t, task_slot slot, bool runs)
{
    uint32_t turn = task_at(t->store, slot)->turn;
    struct turn *u = tree_turn_at(t, turn);

    if (u->strict)
        u->busy++;
    ring_settle_line(t, turn);
    for (uint32_t i = runs ? u->limiter : 0; i != 0; i = tree_limiter_at(t, i)->parent) {
        struct limiter *l = tree_limiter_at(t, i);

        l->running++;
        if (l->rule->at_once != 0 && l->running >= l->rule->at_once)
            close_or_open(t, i, CLOSED_AT_ONCE, true);
    }
}

void tree_give_up(struct tree *t, task_slot slot)
{
    uint32_t turn = task_at(t->store, slot)->turn;
    struct turn *u = tree_turn_at(t, turn);

    if (!u->strict)
        return;
    assert(u->busy > 0);
    u->busy--;
    ring_settle_line(t, turn);
}

void tree_end(struct tree *t, task_slot slot, bool final)
{
    uint32_t turn = task_at(t->store, slot)->turn;
    struct turn *u = tree_turn_at(t, turn);

    for (uint32_t i = u->limiter; i != 0; i = tree_limiter_at(t, i)->parent) {
        struct limiter *l = tree_limiter_at(t, i);

        t->steps++;
        assert(l->running > 0);
        l->running--;
        if (l->rule->at_once == 0 || l->running < l->rule->at_once)
            close_or_open(t, i, CLOSED_AT_ONCE, false);
    }
    if (final)
        tree_give_up(t, slot);
}

static void opens(struct tree *t, uint32_t i)
{
    struct unit_bucket *b = bucket_of(t, i);

    if (b != NULL)
        b->needs = 0;
    close_or_open(t, i, CLOSED_RATE, false);
}

/* More closes nothing: tree_affords() asks. */
void tree_settle(struct tree *t, task_slot slot, uint64_t was, uint64_t used, bool paid, msec_t now)
{
    uint32_t turn = task_at(t->store, slot)->turn;
    const struct settlement s = { was, used, task_at(t->store, slot)->lease };

    for (uint32_t i = tree_turn_at(t, turn)->limiter; i != 0; i = tree_limiter_at(t, i)->parent) {
        if (bucket_of(t, i) == NULL)
            continue;
        t->steps++;
        bucket_settle(t, i, &s, now);
        if (used >= was || (tree_limiter_at(t, i)->closed & CLOSED_RATE) == 0)
            continue;
        if (bucket_lets_when(t, i) <= now)
            opens(t, i);
        else
            wake_later(t, i);
    }
    if (paid && t->has_costs)
        tree_pay_anew(t, turn, was, used);
}

void tree_advance(struct tree *t, msec_t now)
{
    uint32_t i;

    t->now = now;
    while ((i = wheel_pop(&t->wakes, now)) != WHEEL_NONE) {
        struct limiter *l = tree_limiter_at(t, i);

        assert(l->rule != NULL);
        if (bucket_lets_when(t, i) <= now)
            opens(t, i);
        else
            wake_later(t, i);
        if (l->turns == 0)
            limiter_release(t, i, now);
    }
}

msec_t tree_next(const struct tree *t)
{
    return wheel_next(&t->wakes);
}

void tree_empty_buckets(struct tree *t, msec_t now)
{
    t->now = t->emptied = now;
    for (unsigned k = 0; t->windows != NULL && k < UNIT_WINDOWS; k++)
        t->windows->v[k].emptied = t->windows->v[k].no != 0;
    for (uint32_t i = 1; i < t->n_limiters; i++) {
        struct limiter *l = tree_limiter_at(t, i);

        if (l->rule == NULL || !bucket_has_rate(t, i))
            continue;
        bucket_empty(t, i, now);
        if (bucket_lets_when(t, i) <= now)
            continue; /* the next one of its tasks says what it needs */
        close_or_open(t, i, CLOSED_RATE, true);
        wake_later(t, i);
    }
}

#define SPREAD 16384 /* ms in which keys that nobody has go */

/* Opens what a window closed, and lets go of what one kept. */
static void look_again(struct tree *t, uint32_t i, msec_t now)
{
    const struct limiter *l = tree_limiter_at(t, i);
    const struct unit_bucket *b = l->rule != NULL ? bucket_of(t, i) : NULL;
    bool has = false;

    for (unsigned k = 0; b != NULL && k < UNIT_RATES_MAX; k++)
        has = has || t->windows->v[b->window[k]].begun;
    if (!has)
        return;
    if ((l->closed & CLOSED_RATE) != 0 && bucket_lets_when(t, i) <= now)
        opens(t, i);
    else if ((l->closed & CLOSED_RATE) != 0)
        wake_later(t, i);
    if (l->turns == 0 && l->below == 0)
        wake_at(t, i, ms_max(bucket_full_at(t, i), now + 1 + (t->windows->in_parts ? i % SPREAD : 0)));
}

void windows_sweep(struct tree *t, uint32_t most, msec_t now)
{
    struct windows *w = t->windows;

    for (; w->at != 0 && w->at < t->n_limiters && most > 0; most--)
        look_again(t, w->at++, now);
    if (w->at < t->n_limiters)
        return;
    w->at = 0;
    for (unsigned k = 0; k < UNIT_WINDOWS; k++)
        w->v[k].begun = false;
}

void window_begins(struct tree *t, uint8_t window, const struct window *w, msec_t now)
{
    struct window *is = window_at(t, window);
    bool wanted = is->wanted;

    if (is->begun)
        windows_sweep(t, UINT32_MAX, now); /* a bucket tells the last two apart, not three */
    *is = *w;
    is->wanted = wanted;
    is->begun = true;
    t->windows->at = 1;
    if (!t->windows->in_parts)
        windows_sweep(t, UINT32_MAX, now);
}

void tree_set_level(struct tree *t, uint32_t i, const struct level *l, msec_t now)
{
    struct unit_bucket *b = bucket_of(t, i);

    tree_limiter_at(t, i)->tat = l->starts;
    for (unsigned k = 0; b != NULL && k < UNIT_RATES_MAX; k++)
        b->tat[k] = l->units[k];
    if (bucket_lets_when(t, i) > now) {
        close_or_open(t, i, CLOSED_RATE, true);
        wake_at(t, i, bucket_lets_when(t, i));
    } else if (tree_limiter_at(t, i)->turns == 0) {
        wake_at(t, i, ms_max(bucket_full_at(t, i), now + 1)); /* goes then */
    }
}

void tree_reconsider_one(struct tree *t, uint32_t limiter, msec_t now)
{
    struct limiter *l = tree_limiter_at(t, limiter);
    bool rate;

    l->tat = rate_anew(&l->rule->rate, l->tat, now);
    bucket_anew(t, limiter, now);
    rate = bucket_lets_when(t, limiter) <= now;
    if (!rate)
        wake_later(t, limiter);
    close_or_open(t, limiter, CLOSED_RATE, !rate);
    close_or_open(t, limiter, CLOSED_AT_ONCE,
                  l->rule->at_once != 0 && l->running >= l->rule->at_once);
    close_or_open(t, limiter, CLOSED_PAUSE, l->rule->paused);
    for (uint32_t u = l->turns; u != 0; u = tree_turn_at(t, u)->sibling)
        ring_reweigh(t, u);
    if (l->turns == 0 && l->below == 0)
        wake_at(t, limiter, ms_max(bucket_full_at(t, limiter), now + 1)); /* a window kept it, perhaps */
}

void tree_reconsider(struct tree *t, msec_t now)
{
    for (uint32_t i = 1; i < t->n_limiters; i++)
        if (tree_limiter_at(t, i)->rule != NULL)
            tree_reconsider_one(t, i, now);
}

/* ---- what holds tasks up ----------------------------------------------------------- */

/* TASK_NHOLDS: nothing does. */
static enum task_hold hold_of(const struct tree *t, const struct turn *u)
{
    for (uint32_t i = u->limiter; i != 0; i = tree_limiter_at(t, i)->parent) {
        const struct limiter *l = tree_limiter_at(t, i);

        if ((l->closed & CLOSED_AT_ONCE) != 0)
            return l->parent == 0 ? HOLD_QUEUE_AT_ONCE : HOLD_KEY_AT_ONCE;
        if ((l->closed & CLOSED_RATE) != 0)
            return l->parent == 0 ? HOLD_QUEUE_RATE : HOLD_KEY_RATE;
        if (l->closed != 0)
            return HOLD_PAUSE;
    }
    return u->strict && u->busy > 0 ? HOLD_ORDER : TASK_NHOLDS;
}

void tree_held(const struct tree *t, uint32_t *at, uint32_t steps, uint64_t held[TASK_NHOLDS])
{
    uint32_t stop = u32_min(t->n_turns, *at + steps);

    assert(*at > 0);
    for (; *at < stop; ++*at) {
        const struct turn *u = tree_turn_at(t, *at);
        enum task_hold h = u->limiter != 0 && u->line.n > 0 ? hold_of(t, u) : TASK_NHOLDS;

        if (h < TASK_NHOLDS)
            held[h] += u->line.n;
    }
    if (*at >= t->n_turns)
        *at = 0;
}

/* order.c: the task that starts is compared with all that wait in its key. */
#include "tests/lib/tasks/order.h"

#include <stdlib.h>

#include "common/base/buf.h"
#include "task/keys/buckets.h"
#include "tests/lib/engine_state.h"
#include "tests/lib/tasks/model.h"
#include "tests/lib/tasks/names.h"

/* ---- limits ------------------------------------------------------------------------ */

static struct bucket *counted_of(struct model *m, uint64_t id, double burst, msec_t at)
{
    for (unsigned i = 0; i < m->n_buckets; i++)
        if (m->bucket[i].id == id)
            return &m->bucket[i];
    if (!GROW(m->bucket, m->n_buckets, m->buckets_cap, 16))
        abort();
    m->bucket[m->n_buckets] = (struct bucket){ id, burst, at, false };
    return &m->bucket[m->n_buckets++];
}

/* J5: at most burst + rate * w in any window w, counted by a bucket of our own. */
static void check_rate(struct world *w, bool first, uint64_t id, uint64_t rate, uint64_t burst,
                       msec_t at)
{
    struct bucket *b;

    if (rate == 0)
        return;
    b = counted_of(w->model, id, (double)burst, at);
    b->level += (double)(at - b->at) * (double)rate / 1e6;
    b->level = b->level > (double)burst ? (double)burst : b->level;
    b->at = at;
    b->level -= 1;
    if (b->level < -1e-6 && !first)
        world_broke(w, "J5: more starts of limiter %lx than its rate", id);
}

/* The begin of the calendar window that is running, which is not over by the wall. */
static msec_t window_of(struct world *w, uint64_t per)
{
    static const msec_t ms[RATE_NPERS] = { 1000, 60000, 3600000, 86400000 };
    const struct window *is = window_at(&w->e->tree, (uint8_t)(RATE_NPERS + per));

    if (is == NULL || is->no == 0 || is->from_ms % ms[per] != 0 || is->to_ms != is->from_ms + ms[per] ||
        w->e->wall_at >= is->to_ms)
        world_broke(w, "J39: a calendar window of the wrong time");
    return is != NULL ? is->from_ms : 0;
}

/* J39: in a calendar window at most its units start, or a single task of more. */
static void check_window(struct world *w, const struct mtask *t, uint64_t id, const uint64_t *u)
{
    double cost = (double)own_cost(&t->own), all = (double)u[0];
    msec_t from = window_of(w, u[1]);
    struct bucket *b = counted_of(w->model, id, all, from);

    if (b->at != from)
        b->level = all;
    b->at = from;
    b->calendar = true;
    if (b->level < cost && b->level < all && !t->first)
        world_broke(w, "J39: more units of limiter %lx than its window has: %f of %f", id, all - b->level + cost, all);
    b->level -= cost;
}

/* J23: what a start costs is in the bucket, or the bucket is full: at most max(room, cost) +
 * units * w / per in any window w. */
static void check_units(struct world *w, const struct mtask *t, uint64_t id, const struct key_limit *l,
                        msec_t at)
{
    const uint64_t *units = &l->units_1;
    static const double per_ms[RATE_NPERS] = { 1e3, 60e3, 3600e3, 86400e3 };
    double cost = (double)own_cost(&t->own);

    for (unsigned i = 0; i < UNIT_RATES_MAX && units[3 * i] != 0; i++) {
        const uint64_t *u = &units[3 * i];
        double room = (double)(u[2] != 0 ? u[2] : u[0]);
        struct bucket *b;

        if (unit_window(l->windows, i, u[1]) != 0) {
            check_window(w, t, id | (uint64_t)(i + 1) << 32, u);
            continue;
        }
        b = counted_of(w->model, id | (uint64_t)(i + 1) << 32, room, at);
        b->level += (double)(at - b->at) * (double)u[0] / per_ms[u[1]];
        b->level = b->level > room ? room : b->level;
        b->at = at;
        if (b->level < (cost < room ? cost : room) - 1e-4 && !t->first)
            world_broke(w, "J23: more units of limiter %lx than its rate %u", id, i);
        b->level -= cost;
    }
}

static uint64_t limiter_of(const struct mtask *t, unsigned level)
{
    return (1 + t->queue) | (level > 0 ? (uint64_t)t->key1 << 8 : 0) |
           (level > 1 ? (uint64_t)t->key2 << 16 : 0);
}

static unsigned levels_of(const struct mtask *t)
{
    return t->key1 == 0 ? 1 : t->key2 == 0 ? 2 : 3;
}

static bool is_below(const struct mtask *t, unsigned level, const struct mtask *of)
{
    return model_is_in(t, of->queue) && (level < 1 || t->key1 == of->key1) &&
           (level < 2 || t->key2 == of->key2);
}

/* Its queue: that of its newest take may be one of a turn that was lost. */
static bool is_running(const struct world *w, task_no no, unsigned queue)
{
    struct task_view v;

    return engine_sees(w->e, no, &v) && v.state == TASK_RUNNING && (unsigned)(v.queue[1] - '0') == queue;
}

/* J4: leases that workers have, of the key at this level, before this one. */
static void check_at_once(struct world *w, const struct mtask *of, unsigned level, uint64_t most)
{
    uint64_t n = 0;

    for (unsigned i = 0; most != 0 && i < w->model->n; i++) {
        const struct mtask *t = &w->model->v[i];

        n += t->no != of->no && is_below(t, level, of) &&
             ((t->queue == of->queue && t->held && t->lease_until > w->e->at) || is_running(w, t->no, of->queue));
    }
    if (most != 0 && n + 1 > most && !of->first)
        world_broke(w, "J4: %lu at once at level %u, %lu may be", n + 1, level, most);
}

/* What a manager said holds for a while; then what the rules say. */
static void check_allowance(struct world *w, const struct mtask *t, msec_t at)
{
    uint64_t rate;

    if (w->told != 0 && at >= w->told_until) {
        w->told = 0;
        model_redefined(w->model);
    }
    rate = (w->told != 0 ? w->told : w->plan.rules.until_told) - 1;
    if (w->plan.rules.until_told == 0)
        return;
    if (rate == 0 && !t->first)
        world_broke(w, "task %lx starts, and the partition may start nothing", t->no);
    check_rate(w, t->first, THE_PARTITION, rate, rate / 10000 + 1, at);
}

static void check_limits(struct world *w, const struct mtask *t, msec_t at)
{
    struct key_place k = { t->queue, t->key1, t->key2 };
    unsigned levels = levels_of(t);

    for (unsigned level = 0; level < levels; level++) {
        struct key_limit l = limits_of(&w->limits, &w->plan.rules, &k, level);

        check_rate(w, t->first, limiter_of(t, level), l.rate, l.burst, at);
        check_units(w, t, limiter_of(t, level), &l, at);
        check_at_once(w, t, level, l.at_once);
        if (l.paused != 0 && !t->first)
            world_broke(w, "task %lx starts while its key is paused at level %u", t->no, level);
    }
}

void order_settle(struct world *w, const struct mtask *t, double more)
{
    static const double per_ms[RATE_NPERS] = { 1e3, 60e3, 3600e3, 86400e3 };
    struct key_place k = { t->queue, t->key1, t->key2 };

    for (unsigned level = 0; level < levels_of(t); level++) {
        struct key_limit l = limits_of(&w->limits, &w->plan.rules, &k, level);
        const uint64_t *u = &l.units_1;

        for (unsigned i = 0; i < UNIT_RATES_MAX && u[3 * i] != 0; i++) {
            double room = (double)(u[3 * i + 2] != 0 ? u[3 * i + 2] : u[3 * i]);
            bool calendar = unit_window(l.windows, i, u[3 * i + 1]) != 0;
            msec_t from = calendar ? window_of(w, u[3 * i + 1]) : 0;
            struct bucket *b = counted_of(w->model, limiter_of(t, level) | (uint64_t)(i + 1) << 32, calendar ? (double)u[3 * i] : room,
                                         calendar ? from : w->e->at);

            if (calendar) { /* less comes back to the window in which it was taken */
                b->level = b->at != from ? (double)u[3 * i] : b->level;
                b->at = from;
                b->calendar = true;
                b->level -= more > 0 || t->window[u[3 * i + 1]] == from ? more : 0;
                continue;
            }
            b->level += (double)(w->e->at - b->at) * (double)u[3 * i] / per_ms[u[3 * i + 1]];
            b->level = (b->level > room ? room : b->level) - more;
            b->at = w->e->at;
        }
    }
}

/* ---- order ------------------------------------------------------------------------- */

/* Was it known to be in line, for the first time, before the other one? */
static bool came_before(const struct mtask *a, const struct mtask *b)
{
    if (a->wall != 0 || b->wall != 0)
        return false; /* the moment is the engine's alone */
    if (a->due != b->due)
        return a->due < b->due;
    return !a->delayed && !b->delayed && a->seq < b->seq;
}

/* May x be in front of y, though it came later? It was put in front again, as what was unseen is: of two
 * such ones either may go first, and one that was told to run, or has another priority now, was
 * in front of older ones before. Once such a one is there, others are put among them by their entry
 * as far as that goes. */
static bool may_pass(const struct world *w, const struct mtask *x, const struct mtask *y)
{
    bool moved = x->moved || y->moved;

    return (x->unseen && (y->unseen || moved)) || (w->model->jumbled && moved);
}

/* Somebody younger may be in front of y, and so hides how long it has waited. */
static bool is_hidden(const struct world *w, const struct mtask *y, const struct task_view *vy)
{
    struct task_view v;

    for (unsigned i = 0; i < w->model->n; i++) {
        const struct mtask *z = &w->model->v[i];

        if (z->no != y->no && is_below(z, 2, y) && may_pass(w, z, y) &&
            engine_sees(w->e, z->no, &v) && v.state == TASK_WAITING &&
            v.priority == vy->priority && v.entered_ms >= vy->entered_ms)
            return true;
    }
    return false;
}

/* y waits while x, of the same key, starts. */
static void check_pair(struct world *w, const struct mtask *x, const struct mtask *y,
                       const struct task_view *vx, const struct task_view *vy)
{
    const uint64_t *h = &w->plan.rules.head_start_1;
    int64_t hx = vx->priority > 0 ? (int64_t)h[vx->priority - 1] : 0;
    int64_t hy = vy->priority > 0 ? (int64_t)h[vy->priority - 1] : 0;
    bool ran = (x->offer != 0 && x->moved) || (y->offer != 0 && y->moved); /* first in one queue, and its moment is lost */
    bool tried = x->tried || y->tried || x->redriven || y->redriven || ran;
    bool first = vx->priority == vy->priority && !tried && came_before(y, x);
    bool late = vx->entered_ms > vy->entered_ms + hx - hy;

    if (w->plan.rules.order == ORDER_NUMBER) {
        if (vx->priority == vy->priority && vy->order < vx->order)
            world_broke(w, "task %lx starts before %lx, whose order is smaller", x->no, y->no);
        return;
    }
    if ((!first && !late) || may_pass(w, x, y) || is_hidden(w, y, vy))
        return;
    if (first)
        world_broke(w, "J6: task %lx starts before %lx of the same key", x->no, y->no);
    if (late)
        world_broke(w, "J11: task %lx (priority %u) came %ld ms after %lx (%u), and starts", x->no,
                    vx->priority, (long)(vx->entered_ms - vy->entered_ms), y->no, vy->priority);
}

/* The line of y has somebody that runs, or will be tried again: maybe one whose acceptance was
 * never answered, so the engine is asked. */
static bool strict_stands(const struct world *w, const struct mtask *y)
{
    task_slot slot = task_find(&w->e->store, y->no);

    return w->plan.rules.order == ORDER_STRICT && slot != SLOT_NONE &&
           tree_turn_at(&w->e->tree, task_at(&w->e->store, slot)->turn)->busy > 0;
}

static void check_order(struct world *w, const struct mtask *x)
{
    struct task_view vx, vy;

    if (x->first || !engine_sees(w->e, x->no, &vx))
        return;
    for (unsigned i = 0; i < w->model->n; i++) {
        const struct mtask *y = &w->model->v[i];

        if (y->queue == x->queue && y->offer == 0 && engine_sees(w->e, y->no, &vy) && vy.first)
            world_broke(w, "task %lx starts before %lx, which was told to run", x->no, y->no);
        if (y->no == x->no || !is_below(y, 2, x) || !engine_sees(w->e, y->no, &vy))
            continue;
        if (w->plan.rules.order == ORDER_STRICT && vy.priority == vx.priority &&
            (vy.state == TASK_RUNNING || vy.state == TASK_RETRYING))
            world_broke(w, "J6: task %lx starts while %lx of its line is not final", x->no, y->no);
        if (vy.state == TASK_WAITING && !strict_stands(w, y))
            check_pair(w, x, y, &vx, &vy);
    }
}

void order_windows(struct world *w, struct mtask *t)
{
    for (unsigned per = PER_MINUTE; per < RATE_NPERS; per++) {
        const struct window *is = window_at(&w->e->tree, (uint8_t)(RATE_NPERS + per));

        t->window[per] = is != NULL ? is->from_ms : 0;
    }
}

void model_start(struct world *w, const struct said *s)
{
    struct mtask *t = model_find(w->model, s->no);

    if (t == NULL) { /* its acceptance was never answered */
        shares_begin(&w->model->shares);
        return;
    }
    if (!model_is_in(t, s->queue))
        world_broke(w, "J40: task %lx starts in queue %u, of %x", t->no, s->queue, t->offer);
    t->queue = s->queue;
    t->unseen |= t->offer != 0; /* it comes back to where it stood: among such ones either may go first */
    if (t->known == KNOWN_CANCELLED)
        world_broke(w, "J12: task %lx starts after its cancellation", t->no);
    if (t->known == KNOWN_DONE)
        world_broke(w, "J1: task %lx starts after it was done", t->no);
    if (s->at < t->due || (t->wall != 0 && !t->wall_seen))
        world_broke(w, "J7: task %lx starts %ld ms early", t->no, (long)(t->due - s->at));
    if (s->at < t->retry_at)
        world_broke(w, "J7: task %lx is tried again %ld ms early", t->no,
                    (long)(t->retry_at - s->at));
    if (s->taken.lease <= t->lease)
        world_broke(w, "J3: lease %lu of task %lx was used before", s->taken.lease, t->no);
    if (t->held && t->lease_until > s->at && t->known == KNOWN_OPEN)
        world_broke(w, "J3: task %lx starts while a worker has it", t->no);
    if (s->taken.attempt > model_rules(w, t).max_attempts)
        world_broke(w, "task %lx has %u attempts", t->no, s->taken.attempt);
    check_allowance(w, t, s->at);
    check_limits(w, t, s->at);
    check_order(w, t);
    if (t->first || t->offer != 0) /* or is not any more, if the order was lost */
        shares_begin(&w->model->shares);
    else
        shares_start(w, t);
}

/* ---- nobody is forgotten ----------------------------------------------------------- */

static bool is_among(const uint32_t *v, unsigned n, uint32_t x)
{
    for (unsigned i = 0; i < n; i++)
        if (v[i] == x)
            return true;
    return false;
}

/* An offered task whose place in the queue nothing holds up. */
static bool could_start(const struct world *w, const struct mtask *t, unsigned queue)
{
    const struct offer *f = offers_of(&w->e->offers, task_slot_of(t->no));
    const struct trec_text name = task_text('q', queue);
    uint32_t l = 0;

    for (unsigned i = 0; f != NULL && i < f->n; i++)
        if (tqueue_of(w->e, f->v[i].slot) == tqueue_find(w->e, name.p, name.n))
            l = tree_turn_at(&w->e->tree, task_at(&w->e->store, f->v[i].slot)->turn)->limiter;
    if (l == 0 || !allowance_lets(&w->e->allowance, w->e->at))
        return l == 0;
    while (l != 0 && tree_limiter_at(&w->e->tree, l)->closed == 0)
        l = tree_limiter_at(&w->e->tree, l)->parent;
    return l == 0;
}

void order_check_left(struct world *w, unsigned queue)
{
    uint32_t shut[32]; /* turns with a limit that is reached: all of a turn have the same */
    unsigned n = 0;

    for (unsigned i = 0; i < w->model->n; i++) {
        const struct mtask *t = &w->model->v[i];
        struct task_view v;
        uint32_t turn;

        if (!model_is_in(t, queue) || !engine_sees(w->e, t->no, &v) || v.state != TASK_WAITING)
            continue;
        if (t->offer != 0) {
            if (could_start(w, t, queue))
                world_broke(w, "J40: task %lx stands in queue %u, and a take did not find it", t->no, queue);
            continue;
        }
        turn = task_at(&w->e->store, task_find(&w->e->store, t->no))->turn;
        if ((!v.first && is_among(shut, n, turn)) || engine_look(w->e, t->no, &v) < 0)
            continue;
        if (v.limited != 0 && !v.first)
            shut[n < ARRAY_LEN(shut) ? n++ : 0] = turn;
        else if (!strict_stands(w, t))
            world_broke(w, "J9: task %lx could start, and a take did not find it", t->no);
    }
}

/* Places of a queue are 1, 2, 3 ... by the moment of entry. */
void order_check_idle(struct world *w)
{
    for (unsigned q = 0; q < w->plan.queues; q++) {
        struct trec_text name = task_text('q', q);
        struct queue_view v;

        if (engine_look_queue(w->e, &name, &v) < 0)
            continue;
        for (task_slot s = 0; s < w->e->store.n_slots; s++) {
            struct task_view t;

            if (engine_look(w->e, task_number(&w->e->store, s), &t) == 0 &&
                t.state == TASK_WAITING && t.queue[1] == name.p[1] &&
                (t.position < 1 || t.position > v.waiting))
                world_broke(w, "a place of %lu among %lu", t.position, v.waiting);
        }
    }
}

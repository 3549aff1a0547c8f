/* actors.c: what is said is drawn; whom it is about, too, among those that the model knows. */
#include "tests/lib/tasks/actors.h"

#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "task/engine/change.h"
#include "task/engine/look.h"
#include "task/engine/worker.h"
#include "tests/lib/tasks/model.h"
#include "tests/lib/tasks/names.h"
#include "tests/lib/tasks/operators.h"
#include "tests/lib/tasks/order.h"
#include "tests/lib/tasks/settled.h"

struct said *actors_say(struct world *w, enum verb verb, task_no no)
{
    struct said *s = &w->said[w->n_said++];

    *s = (struct said){ .verb = verb, .no = no, .at = w->e->at, .wall = w->now.wall_ms };
    return s;
}

static bool has_room(const struct world *w)
{
    return w->n_said + 10 < SAID_MAX;
}

/* Some tasks have something of their own. */
static struct task_own draw_own(struct world *w)
{
    static const char *const labels[] = { "", "red", "red,blue", "green" };
    struct task_own o = { .labels = labels[rng_below(&w->rng, 4)] };

    if (rng_chance(&w->rng, 0.3))
        o.ttl_ms = 2 + rng_below(&w->rng, 20000);
    if (rng_chance(&w->rng, 0.3))
        o.max_attempts = 2 + rng_below(&w->rng, 3);
    if (rng_chance(&w->rng, 0.3))
        o.retry_min_ms = 1 + rng_below(&w->rng, 3000);
    return o;
}

/* The task that it replaces: it leaves its units in each of its queues. */
static task_slot replaced(const struct world *w, const struct said *s)
{
    task_no no = w->model->uniques.v[s->queue][s->unique].no;

    return s->unique != 0 && s->on_conflict == UNIQUE_REPLACE ? task_find(&w->e->store, no) : SLOT_NONE;
}

/* J36: is there room in each of its queues? */
static bool all_fit(const struct world *w, const struct said *s)
{
    uint64_t most = w->plan.rules.max_waiting_units, cost = own_cost(&s->own);
    bool at_once = s->ms == 0 && s->wall_ms <= w->e->wall_at, fit = true;
    uint64_t units[UNIQUES_QUEUES];

    if (most == 0)
        return true;
    model_units(w, replaced(w, s), units);
    for (unsigned i = 0; i < w->plan.queues; i++)
        if (i == s->queue || (s->offer >> i & 1) != 0)
            fit &= (units[i] == 0 && at_once) || units[i] + cost <= most;
    return fit;
}

/* What gets in fits, and only what does not is refused. */
static void check_bound(struct world *w, const struct said *s, bool fits)
{

    if ((s->rc == 0 && !fits) || (s->rc == SQ_EFULL && w->e->full == FULL_UNITS && fits))
        world_broke(w, "J36: of %lu units, %lu more: %d", w->plan.rules.max_waiting_units, own_cost(&s->own), s->rc);
    w->no_units += s->rc == SQ_EFULL && w->e->full == FULL_UNITS;
}

/* Another queue, or both others, in any order. */
static void draw_offer(struct world *w, struct said *s, struct trec_text *to)
{
    static char text[32];
    unsigned a = (s->queue + 1) % w->plan.queues, b = (s->queue + 2) % w->plan.queues;

    if (w->plan.queues == 3 && rng_chance(&w->rng, 0.5)) {
        unsigned first = rng_chance(&w->rng, 0.5) ? a : b;

        snprintf(text, sizeof(text), "q%u,q%u", first, a + b - first);
        s->offer = 7;
    } else {
        snprintf(text, sizeof(text), "q%u", a);
        s->offer = 1u << s->queue | 1u << a;
    }
    *to = (struct trec_text){ text, (uint32_t)strlen(text) };
}

static void submit(struct world *w)
{
    const struct plan *p = &w->plan;
    struct said *s = actors_say(w, SAID_SUBMIT, 0);
    struct submit q = { 0 };
    bool doubt, fits;

    s->queue = (unsigned)rng_below(&w->rng, p->queues);
    s->key1 = (unsigned)rng_below(&w->rng, p->keys + 1);
    s->key2 = s->key1 != 0 ? (unsigned)rng_below(&w->rng, p->below + 1) : 0;
    s->priority = (unsigned)rng_below(&w->rng, p->priorities);
    s->name = rng_chance(&w->rng, p->named) ? 1 + (unsigned)rng_below(&w->rng, MODEL_NAMES - 1) : 0;
    s->digest = rng_below(&w->rng, 3);
    s->body = rng_u64(&w->rng);
    s->order = (int64_t)rng_below(&w->rng, 20) - 10;
    if (rng_chance(&w->rng, p->delayed))
        s->ms = (msec_t)rng_below(&w->rng, rng_chance(&w->rng, 0.1) ? 400000 : 10000);
    else if (rng_chance(&w->rng, p->at_wall))
        s->wall_ms = w->now.wall_ms - 1000 + (msec_t)rng_below(&w->rng, 20000);
    if (rng_chance(&w->rng, p->special))
        s->own = draw_own(w);
    if (rng_chance(&w->rng, p->costly))
        s->own.cost = 1 + 2 + rng_below(&w->rng, p->cost_most - 1); /* the value + 1 */
    q = (struct submit){ .own = s->own, .queue = task_text('q', s->queue), .key1 = task_text('a', s->key1),
                         .key2 = task_text('b', s->key2), .priority = (uint8_t)s->priority,
                         .digest = s->digest, .body = s->body, .order = s->order,
                         .delay_ms = s->ms, .at_wall_ms = s->wall_ms };
    if (s->name % 2 == 0)
        q.key = task_text('n', s->name);
    else
        q.name = task_text('n', s->name);
    if (rng_chance(&w->rng, p->unique)) {
        s->unique = 1 + (unsigned)rng_below(&w->rng, UNIQUES_KEYS - 1);
        q.unique = task_text('u', s->unique);
        q.unique_while = s->lasts = (enum unique_while)rng_below(&w->rng, UNIQUE_NWHILES);
        q.on_conflict = s->on_conflict = (enum unique_conflict)rng_below(&w->rng, UNIQUE_NCONFLICTS);
    }
    uniques_read(w);
    if (rng_chance(&w->rng, p->offered))
        draw_offer(w, s, &q.offer);
    fits = all_fit(w, s);
    doubt = s->unique != 0 && w->model->uniques.v[s->queue][s->unique].doubt;
    s->rc = engine_submit(w->e, &q, &s->no);
    if (!doubt)
        check_bound(w, s, fits);
    if (s->unique != 0)
        uniques_check(w, s);
    w->submitted += s->rc == 0;
}

#define FORETOLD 64u

struct foretold { /* list of the tasks that would start, before a take */
    task_no no[FORETOLD];
    struct first_tasks f;
};

static void foretell(struct world *w, const struct trec_text *queue, struct foretold *t)
{
    if (engine_first(w->e, queue, FORETOLD, t->no, &t->f) < 0 || t->f.cut)
        world_broke(w, "J34: there is no list of the first tasks");
}

/* The i-th take of the same moment got this task; 0: none. */
static void compare(struct world *w, const struct foretold *t, unsigned i, task_no no)
{
    task_no said = i < t->f.now ? t->no[i] : 0;

    if (i < FORETOLD && said != no)
        world_broke(w, "J34: take %u got task %lx, and %lx was to start (%u of %u now)", i, no, said, t->f.now,
                    t->f.n);
}

static void take(struct world *w)
{
    unsigned queue = (unsigned)rng_below(&w->rng, w->plan.queues);
    unsigned n = 1 + (unsigned)rng_below(&w->rng, (uint64_t)w->plan.batch);
    struct trec_text name = task_text('q', queue);
    struct foretold told;
    struct taken one;
    uint64_t steps, misfits;

    foretell(w, &name, &told);

    for (unsigned i = 0; i < n && has_room(w); i++) { /* one by one: each is looked at */
        struct said *s;
        int got;

        steps = w->e->tree.steps;
        misfits = w->e->tree.misfits;
        got = engine_take(w->e, &name, 1, w->plan.lease_ms, &one);
        misfits = w->e->tree.misfits - misfits; /* picks that found no units; each closed a limiter */
        if (w->e->tree.steps - steps > 200 + 50 * misfits)
            world_broke(w, "J9: a take cost %lu steps", w->e->tree.steps - steps);
        compare(w, &told, i, got > 0 ? one.no : 0);
        if (got == 0) {
            order_check_left(w, queue);
            return;
        }
        s = actors_say(w, SAID_TAKE, one.no);
        s->queue = queue;
        s->taken = one;
        w->started++;
        model_start(w, s);
    }
}

/* A task that a worker has, of those drawn; NULL. */
static struct mtask *draw_held(struct world *w)
{
    struct model *m = w->model;

    for (unsigned i = 0; i < 8 && m->n > 0; i++) {
        struct mtask *t = &m->v[rng_below(&w->rng, m->n)];

        if (t->lease != 0 && (t->held || rng_chance(&w->rng, w->plan.late)))
            return t;
    }
    return NULL;
}

static void settle(struct world *w)
{
    struct mtask *t = draw_held(w);
    struct said *s;

    if (t == NULL || rng_chance(&w->rng, w->plan.vanish))
        return;
    if (w->plan.settles > 0 && rng_chance(&w->rng, w->plan.settles))
        settled_say(w, t);
    if (rng_chance(&w->rng, 0.1)) {
        s = actors_say(w, SAID_EXTEND, t->no);
        s->ms = 1 + (msec_t)rng_below(&w->rng, w->plan.lease_ms);
        s->rc = engine_extend(w->e, t->no, t->lease, (uint32_t)s->ms);
    } else if (t->held && rng_chance(&w->rng, w->plan.unseen)) {
        s = actors_say(w, SAID_UNSEEN, t->no);
        s->rc = engine_unseen(w->e, t->no, t->lease);
        t->unseen |= s->rc == 0;
        if (s->rc == 0)
            settled_unseen(w, t);
        w->model->jumbled |= s->rc == 0 && t->moved;
    } else if (rng_chance(&w->rng, w->plan.fail)) {
        s = actors_say(w, SAID_NACK, t->no);
        s->ms = (msec_t)rng_below(&w->rng, 5000) - 1000;
        s->priority = (unsigned)rng_below(&w->rng, 3);
        s->rc = engine_nack(w->e, t->no, t->lease, s->ms, &model_says[s->priority]);
    } else {
        s = actors_say(w, SAID_ACK, t->no);
        s->body = rng_u64(&w->rng);
        s->rc = engine_ack(w->e, t->no, t->lease, s->body);
    }
    if (s->rc == 0 && !t->held && t->known == KNOWN_OPEN && t->lease_until <= s->at)
        world_broke(w, "J3: a lease of task %lx that lapsed is still good", t->no);
    if (s->verb != SAID_EXTEND && s->rc == 0)
        t->held = false; /* from now on the worker does nothing for it, answered or not */
}

static int patch(struct world *w, const struct said *s, enum patch has)
{
    struct task_patch p = { .has = has, .order = s->order, .delay_ms = s->ms, .at_ms = s->wall_ms,
                            .priority = (uint8_t)s->priority };

    return engine_patch(w->e, s->no, &p);
}

static void change(struct world *w)
{
    struct model *m = w->model;
    task_no no = m->n > 0 ? m->v[rng_below(&w->rng, m->n)].no : 0;
    enum verb verb = (enum verb)(SAID_CANCEL + (int)rng_below(&w->rng, 9));
    struct said *s = actors_say(w, verb, no);
    struct task_view v;

    shares_begin(&m->shares);
    if (verb == SAID_CANCEL) {
        s->rc = rng_chance(&w->rng, 0.3) ? engine_cut(w->e, no) : engine_cancel(w->e, no);
    } else if (verb == SAID_ORDER) {
        s->order = (int64_t)rng_below(&w->rng, 20) - 10;
        s->rc = patch(w, s, PATCH_ORDER);
    } else if (verb == SAID_DELAY) {
        if (rng_chance(&w->rng, 0.5))
            s->ms = (msec_t)rng_below(&w->rng, 10000);
        else
            s->wall_ms = w->now.wall_ms + (msec_t)rng_below(&w->rng, 10000);
        s->rc = patch(w, s, PATCH_WHEN);
    } else if (verb == SAID_REDRIVE) {
        s->rc = engine_redrive(w->e, no);
    } else if (verb == SAID_READ) {
        s->rc = engine_read(w->e, no);
    } else if (verb == SAID_PRIORITY) {
        s->priority = (unsigned)rng_below(&w->rng, w->plan.priorities);
        s->rc = patch(w, s, PATCH_PRIORITY);
        if (s->rc == 0)
            model_find(m, no)->moved = true;
    } else if (verb == SAID_RUN) {
        s->rc = engine_run(w->e, no);
        if (s->rc == 0)
            model_runs(model_find(m, no), s->at);
    } else if (verb == SAID_MOVED) {
        if (engine_look(w->e, no, &v) == 0)
            s->body = (v.body & BODY_ITSELF) | rng_u64(&w->rng) << 56;
        s->rc = engine_moved(w->e, no, s->body);
    } else {
        s->rc = engine_discard(w->e, no);
    }
}

void actors_step(struct world *w)
{
    const struct plan *p = &w->plan;

    for (unsigned i = 0; i < 4 && has_room(w); i++) {
        if (rng_chance(&w->rng, p->submit))
            submit(w);
        if (rng_chance(&w->rng, p->take))
            take(w);
        if (has_room(w) && rng_chance(&w->rng, p->settle))
            settle(w);
        if (has_room(w) && rng_chance(&w->rng, p->other))
            change(w);
        if (has_room(w) && rng_chance(&w->rng, p->other / 8))
            operators_step(w);
    }
}

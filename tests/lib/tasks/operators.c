/* operators.c: an order is compared with what became of the tasks that the model knows. */
#include "tests/lib/tasks/operators.h"

#include "task/engine/change.h"
#include "tests/lib/engine_state.h"
#include "tests/lib/tasks/actors.h"
#include "tests/lib/tasks/model.h"
#include "tests/lib/tasks/names.h"

#define CANCEL_MOST 3u

static void redrive_all(struct world *w, unsigned queue)
{
    struct said *s = actors_say(w, SAID_REDRIVE_ALL, 0);
    struct trec_text name = task_text('q', queue);

    s->queue = queue;
    if (rng_chance(&w->rng, 0.8))
        s->per_1000_s = 1 + rng_below(&w->rng, rng_chance(&w->rng, 0.5) ? 3000 : 3000000);
    for (unsigned i = 0; i < w->model->n; i++) {
        struct mtask *t = &w->model->v[i];
        struct task_view v;

        if (model_is_in(t, queue) && engine_sees(w->e, t->no, &v) && v.state == TASK_DEAD) {
            t->redriven = true;
            t->retry_at = 0;
        }
    }
    s->rc = engine_redrive_all(w->e, &name, s->per_1000_s);
}

static void discard_dead(struct world *w, unsigned queue)
{
    struct trec_text name = task_text('q', queue);
    int n = engine_discard_dead(w->e, &name, 1 + (unsigned)rng_below(&w->rng, 4));
    struct task_view v;

    for (unsigned i = 0; n > 0 && i < w->model->n; i++)
        if (!engine_sees(w->e, w->model->v[i].no, &v))
            w->model->v[i].known = KNOWN_DOUBT;
}

static bool is_open(struct world *w, task_slot slot)
{
    const struct task *t = task_at(&w->e->store, slot);

    return t->state != TASK_FREE && !task_state_is_final((enum task_state)t->state) &&
           (t->state != TASK_RUNNING || !t->cancel);
}

/* Of a key, and those below it. */
static void cancel_some(struct world *w, unsigned queue)
{
    unsigned key1 = (unsigned)rng_below(&w->rng, w->plan.keys + 1);
    struct task_filter f = { .queue = task_text('q', queue), .key1 = task_text('a', key1),
                             .states = UINT32_MAX };
    bool red = rng_chance(&w->rng, 0.3), force = rng_chance(&w->rng, 0.3);
    static bool was_open[WORLD_TASKS];
    struct task_view v;
    task_slot at = 0;
    int seen = 0, n;

    for (task_slot s = 0; s < w->e->store.n_slots; s++)
        was_open[s] = is_open(w, s);
    if (red)
        f.label = (struct trec_text){ "red", 3 };
    n = engine_cancel_some(w->e, &f, force, &at, CANCEL_MOST);
    for (task_slot s = 0; s < w->e->store.n_slots; s++) {
        if (!was_open[s] || is_open(w, s))
            continue;
        look_at_task(w->e, s, &v);
        if ((v.queue[1] != f.queue.p[1] && w->plan.offered == 0) || (key1 != 0 && v.key1[1] != f.key1.p[1]))
            world_broke(w, "a task of key %s is cancelled, not of %u", v.key1, key1);
        if (red && (v.own == NULL || !own_has_label(v.own, "red", 3)))
            world_broke(w, "a task without the label is cancelled");
        actors_say(w, SAID_CANCEL, task_number(&w->e->store, s))->rc = v.state == TASK_RUNNING;
        seen++;
    }
    if (n < seen || n > (int)CANCEL_MOST)
        world_broke(w, "%d of a key are cancelled, %d are said", seen, n);
}

void operators_step(struct world *w)
{
    unsigned queue = (unsigned)rng_below(&w->rng, w->plan.queues);
    struct trec_text name = task_text('q', queue);

    shares_begin(&w->model->shares);
    switch (rng_below(&w->rng, 8)) {
    case 0:
        (void)!engine_redrive_stop(w->e, &name);
        break;
    case 1:
        discard_dead(w, queue);
        break;
    case 2:
        cancel_some(w, queue);
        break;
    default:
        redrive_all(w, queue);
        break;
    }
}

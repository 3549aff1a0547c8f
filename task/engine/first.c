/* first.c: starts of a trial. A task that starts leaves its line in truth, and is put back. */
#include "task/engine/first.h"

#include "task/engine/places.h"
#include "task/engine/tqueue.h"
#include "task/keys/ring.h"

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

static void start(struct attempt_list *a, task_slot slot, bool in_line, struct first_tasks *f)
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
        start(a, s, false, f);
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
            start(a, slot, true, f);
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

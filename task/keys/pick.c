/* pick.c: a step per level and priority, whatever is closed. */
#include "task/keys/pick.h"

#include "task/keys/ring.h"

/* When it began to wait, less the head start of its priority: the smaller one goes. */
static msec_t measure(const struct tree *t, const msec_t *head_start, const struct turn *u)
{
    const struct task *a = task_at(t->store, line_head(&u->line));

    return (msec_t)a->entered_ms - head_start[u->priority];
}

/* Among equals the higher priority. */
static bool goes_before(const struct tree *t, const msec_t *head_start, uint32_t a, uint32_t b)
{
    const struct turn *u = tree_turn_at(t, a), *v = tree_turn_at(t, b);
    msec_t x = measure(t, head_start, u), y = measure(t, head_start, v);

    return x != y ? x < y : u->priority > v->priority;
}

/* Finds among all priorities of the key the turn whose first one has the smallest measure. */
static uint32_t best_of_key(struct tree *t, const msec_t *head_start, uint32_t turn)
{
    const struct limiter *l = tree_limiter_at(t, tree_turn_at(t, turn)->limiter);
    uint32_t best = turn;

    for (uint32_t i = l->turns; i != 0; i = tree_turn_at(t, i)->sibling) {
        t->steps++;
        if (ring_has_line(t, i) && goes_before(t, head_start, i, best))
            best = i;
    }
    return best;
}

task_slot tree_pick(struct tree *t, uint32_t queue, const msec_t *head_start, uint32_t *served)
{
    const struct limiter *l = tree_limiter_at(t, queue);
    uint32_t best = 0;

    assert(l->rule != NULL && l->parent == 0);
    for (uint32_t i = l->closed == 0 ? l->turns : 0; i != 0; i = tree_turn_at(t, i)->sibling) {
        uint32_t line;

        t->steps++;
        assert(tree_turn_at(t, i)->parent == 0);
        if (tree_turn_at(t, i)->ring == 0)
            continue;
        line = ring_next_line(t, i);
        if (best == 0 || goes_before(t, head_start, line, best))
            best = line;
    }
    if (best == 0)
        return SLOT_NONE;
    *served = best;
    return line_head(&tree_turn_at(t, best_of_key(t, head_start, best))->line);
}

uint32_t tree_next_queue(struct tree *t)
{
    return ring_next_queue(t);
}

void tree_pay(struct tree *t, uint32_t served)
{
    ring_serve(t, served, true);
    for (uint32_t u = served; tree_turn_at(t, u)->parent != 0; u = tree_turn_at(t, u)->parent)
        ring_serve(t, u, false);
}

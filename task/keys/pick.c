/* pick.c: a step per level and priority, whatever is closed. */
#include "task/keys/pick.h"

#include "task/keys/ring.h"

/* When it began to wait, less the head start of its priority: the smaller one goes. */
static msec_t measure(const struct tree *t, const struct roots *r, const struct turn *u)
{
    const struct task *a = task_at(t->store, line_head(&u->line));

    return (msec_t)a->entered_ms - r->head_start[u->priority];
}

/* Of all priorities of the key, the turn whose first one has the smallest measure. */
static uint32_t best_of_key(struct tree *t, const struct roots *r, uint32_t turn)
{
    const struct limiter *l = tree_limiter_at(t, tree_turn_at(t, turn)->limiter);
    uint32_t best = turn;

    for (uint32_t i = l->turns; i != 0; i = tree_turn_at(t, i)->sibling) {
        t->steps++;
        if (ring_has_line(t, i) &&
            measure(t, r, tree_turn_at(t, i)) < measure(t, r, tree_turn_at(t, best)))
            best = i;
    }
    return best;
}

task_slot tree_pick(struct tree *t, const struct roots *r, uint32_t *served)
{
    uint32_t best = 0;

    for (unsigned p = 0; p < TASK_PRIORITIES; p++) {
        const struct turn *root;
        uint32_t line;

        t->steps++;
        if (r->turn[p] == 0)
            continue;
        root = tree_turn_at(t, r->turn[p]);
        assert(root->parent == 0 && root->priority == p);
        if (tree_limiter_at(t, root->limiter)->closed != 0)
            return SLOT_NONE; /* the queue's own: the same for all priorities */
        if (root->ring == 0)
            continue;
        line = ring_next_line(t, r->turn[p]);
        if (best == 0 ||
            measure(t, r, tree_turn_at(t, line)) <= measure(t, r, tree_turn_at(t, best)))
            best = line; /* among equals the higher priority */
    }
    if (best == 0)
        return SLOT_NONE;
    *served = best;
    return line_head(&tree_turn_at(t, best_of_key(t, r, best))->line);
}

void tree_pay(struct tree *t, uint32_t served)
{
    ring_serve(t, served, true);
    for (uint32_t u = served; tree_turn_at(t, u)->parent != 0; u = tree_turn_at(t, u)->parent)
        ring_serve(t, u, false);
}

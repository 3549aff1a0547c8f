/* held.c: a walk over turns. */
#include "task/keys/held.h"

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

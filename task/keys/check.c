/* check.c: looks at every turn and limiter. */
#include "task/keys/check.h"

#include "task/keys/ring.h"

static const char *check_turn(const struct tree *t, uint32_t i)
{
    const struct turn *u = tree_turn_at(t, i);
    const struct limiter *l = tree_limiter_at(t, u->limiter);
    bool line_open = u->line.n > 0 && !(u->strict && u->busy > 0);
    bool open = u->ring != 0 && l->closed == 0;

    if (l->rule == NULL)
        return "a turn's limiter has gone";
    if (ring_has_line(t, i) != line_open)
        return "a line that can be served is not in its ring, or the other way round";
    if (ring_has_turn(t, i) != open)
        return "a turn that can be served is not in its ring, or the other way round";
    if (u->parent != 0 && tree_turn_at(t, u->parent)->priority != u->priority)
        return "a turn is below another priority";
    if (u->tasks == 0 && u->below == 0)
        return "a turn that nobody has is still there";
    return NULL;
}

static const char *check_limiter(const struct tree *t, uint32_t i)
{
    const struct limiter *l = tree_limiter_at(t, i);
    bool full = l->rule->at_once != 0 && l->running >= l->rule->at_once;

    if (full != ((l->closed & CLOSED_AT_ONCE) != 0))
        return "a limiter is full and open, or has room and is closed";
    if ((l->closed & CLOSED_RATE) != 0 && wheel_when(&t->wakes, i) == 0)
        return "nobody will open a limiter";
    if (((l->closed & CLOSED_PAUSE) != 0) != l->rule->paused)
        return "a limiter is paused, and should not be, or the other way round";
    if (l->turns == 0 && l->below == 0 && wheel_when(&t->wakes, i) == 0)
        return "a limiter that nobody has is still there";
    return NULL;
}

const char *tree_check(const struct tree *t)
{
    uint32_t turns = 0, limiters = 0;
    const char *bad = NULL;

    for (uint32_t i = 1; i < t->n_turns && bad == NULL; i++)
        if (tree_turn_at(t, i)->limiter != 0) {
            turns++;
            bad = check_turn(t, i);
        }
    for (uint32_t i = 1; i < t->n_limiters && bad == NULL; i++)
        if (tree_limiter_at(t, i)->rule != NULL) {
            limiters++;
            bad = check_limiter(t, i);
        }
    if (bad == NULL && (turns != t->turns_now || limiters != t->limiters_now))
        bad = "turns or limiters are not counted right";
    return bad;
}

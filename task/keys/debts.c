/* debts.c: a pairing heap (line.h has one of tasks) in the links that an item of a circle has. */
#include "task/keys/debts.h"

static uint32_t *next(const struct tree *t, uint32_t item)
{
    return &tree_turn_at(t, item / 2)->next[item & 1];
}

static uint32_t *prev(const struct tree *t, uint32_t item)
{
    return &tree_turn_at(t, item / 2)->prev[item & 1];
}

static uint32_t *child(const struct tree *t, uint32_t item)
{
    return &debt_at(t, item / 2)->child[item & 1];
}

static uint64_t wakes(const struct tree *t, uint32_t item)
{
    return debt_at(t, item / 2)->wake[item & 1];
}

/* Two heaps become one; either may be 0. */
static uint32_t join(const struct tree *t, uint32_t a, uint32_t b)
{
    if (a == 0 || b == 0)
        return a + b;
    if (wakes(t, b) < wakes(t, a)) {
        uint32_t c = a;

        a = b;
        b = c;
    }
    *next(t, b) = *child(t, a);
    if (*child(t, a) != 0)
        *prev(t, *child(t, a)) = b;
    *prev(t, b) = a;
    *child(t, a) = b;
    return a;
}

/* Heaps in a row become one: pairs from the left, then all of these from the right. */
static uint32_t join_all(struct tree *t, uint32_t first)
{
    uint32_t pairs = 0, all = 0;

    while (first != 0) {
        uint32_t a = first, b = *next(t, a), pair;

        t->steps++;
        first = b != 0 ? *next(t, b) : 0;
        *next(t, a) = *prev(t, a) = 0;
        if (b != 0)
            *next(t, b) = *prev(t, b) = 0;
        pair = join(t, a, b);
        *next(t, pair) = pairs;
        pairs = pair;
    }
    while (pairs != 0) {
        uint32_t rest = *next(t, pairs);

        *next(t, pairs) = 0;
        all = join(t, all, pairs);
        pairs = rest;
    }
    return all;
}

void debt_sleep(struct tree *t, uint32_t owner, uint32_t item)
{
    struct turn *u = tree_turn_at(t, item / 2);

    assert((u->asleep >> (item & 1) & 1) == 0 && *next(t, item) == 0);
    u->asleep |= (uint8_t)(1 << (item & 1));
    *prev(t, item) = *child(t, item) = 0;
    debt_at(t, owner)->asleep = join(t, debt_at(t, owner)->asleep, item);
}

void debt_wake(struct tree *t, uint32_t owner, uint32_t item)
{
    struct turn *u = tree_turn_at(t, item / 2);
    uint32_t *root = &debt_at(t, owner)->asleep, before = *prev(t, item), behind = *next(t, item);

    assert((u->asleep >> (item & 1) & 1) != 0 && *root != 0);
    if (*root != item) {
        if (*child(t, before) == item)
            *child(t, before) = behind;
        else
            *next(t, before) = behind;
        if (behind != 0)
            *prev(t, behind) = before;
        *root = join(t, *root, join_all(t, *child(t, item)));
    } else {
        *root = join_all(t, *child(t, item));
    }
    if (*root != 0)
        *prev(t, *root) = *next(t, *root) = 0;
    u->asleep &= (uint8_t)~(1 << (item & 1));
    *next(t, item) = *prev(t, item) = *child(t, item) = 0;
}

uint32_t debt_due(const struct tree *t, uint32_t owner)
{
    uint32_t root = debt_at(t, owner)->asleep;

    return root != 0 && wakes(t, root) <= debt_at(t, owner)->round ? root : 0;
}

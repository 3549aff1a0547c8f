/* limits.c: names are a letter and a digit (names.h), so a pattern is compared letter by letter. */
#include "tests/lib/tasks/limits.h"

#include "tests/lib/tasks/plan.h"

#include <stdio.h>
#include <string.h>

static const struct { /* queue, key: pinned; in their order */
    const char *queue, *key;
} kinds[] = {
    { "q0", "a1" }, { "q0", "a2/b1" }, { "q1", "a1" }, { "q1", "a3" },
    { "", "a1" },   { "", "a2/*" },    { "", "a*/b1" }, { "", "a*" }, { "", "*/*" }, { "", "*" },
};

static void draw_one(struct key_limit *l, struct rng *g)
{
    if (rng_chance(g, 0.3)) {
        l->rate = 500 + rng_below(g, 20000);
        l->burst = rng_below(g, 8);
    }
    if (rng_chance(g, 0.3))
        l->at_once = 1 + rng_below(g, 4);
    if (rng_chance(g, 0.7))
        l->weight = 1 + rng_below(g, 9);
    l->paused = rng_chance(g, 0.1);
    if (rng_chance(g, 0.2))
        l->windows = plan_draw_units(&l->units_1, g);
}

void limits_draw(struct limits *l, struct rng *g)
{
    *l = (struct limits){ .n = 0 };
    if (rng_chance(g, 0.5))
        return;
    for (unsigned i = 0; i < ARRAY_LEN(kinds) && l->n < LIMITS_MOST; i++) {
        if (!rng_chance(g, 0.4))
            continue;
        l->v[l->n] = (struct key_limit){ .queue = kinds[i].queue, .key = kinds[i].key };
        draw_one(&l->v[l->n++], g);
    }
}

/* "a1", "a1/b2" */
static void name_of(const struct key_place *k, unsigned level, char name[8])
{
    if (level == 1)
        snprintf(name, 8, "a%c", '0' + k->key1);
    else
        snprintf(name, 8, "a%c/b%c", '0' + k->key1, '0' + k->key2);
}

static bool is_meant(const struct key_limit *l, const struct key_place *k, const char *name)
{
    const char *m = l->key;

    if (l->queue[0] != 0)
        return (unsigned)(l->queue[1] - '0') == k->queue && strcmp(m, name) == 0;
    for (; *m != 0 && *name != 0; name++) {
        if (*m == '*')
            m += name[1] == '/' || name[1] == 0;
        else if (*m++ != *name)
            return false;
    }
    return *m == 0 && *name == 0;
}

struct key_limit limits_of(const struct limits *l, const struct task_rules *r,
                           const struct key_place *k, unsigned level)
{
    char name[8];

    const uint64_t *units = level == 0   ? &r->queue_units_1
                            : level == 1 ? &r->key_units_1
                                         : &r->below_units_1;
    struct key_limit of = { .rate = level == 1 ? r->key_rate : r->below_rate,
                            .burst = level == 1 ? r->key_burst : r->below_burst,
                            .at_once = level == 1 ? r->key_at_once : r->below_at_once,
                            .weight = 1 };

    if (level == 0)
        of = (struct key_limit){ .rate = r->queue_rate, .burst = r->queue_burst,
                                 .at_once = r->queue_at_once, .weight = 1 };
    memcpy(&of.units_1, units, 3 * UNIT_RATES_MAX * sizeof(*units));
    of.windows = r->windows >> LIMIT_WINDOWS * level & ((1u << LIMIT_WINDOWS) - 1);
    if (level == 0)
        return of;
    name_of(k, level, name);
    for (uint32_t i = 0; i < l->n; i++)
        if (is_meant(&l->v[i], k, name)) {
            struct key_limit one = l->v[i];

            one.burst = one.burst > 0 ? one.burst : 1;
            one.weight = one.weight > 0 ? one.weight : 1;
            return one;
        }
    return of;
}

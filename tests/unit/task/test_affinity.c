/* test_affinity.c: a key's calls go to one target, the same at every node; bounded, by weight, and what goes or
 * comes moves no others. */
#include "task/calls/endpoint_lets.h"

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <string.h>

#include "common/base/rng.h"

#define MOST 8
#define KEYS 6000

struct targets {
    size_t n;
    struct target_room v[MOST];
    struct affine at[MOST];
};

static uint64_t named(const char *what, unsigned i)
{
    char text[40];

    return affinity_hash(text, (size_t)snprintf(text, sizeof(text), "%s%u", what, i));
}

static uint64_t key(unsigned i)
{
    return named("tenant", i);
}

static struct targets made(size_t n)
{
    struct targets t = { .n = n };

    for (unsigned i = 0; i < n; i++) {
        t.v[i] = (struct target_room){ .free = 100000, .weight = 1 };
        t.at[i] = (struct affine){ named("http://gpu", i), true };
    }
    return t;
}

static struct affine_choice pick(const struct targets *t, uint64_t k, uint32_t bound)
{
    return affinity_pick(t->v, t->at, t->n, k, bound);
}

static void begins(struct targets *t, size_t i)
{
    t->v[i].free--;
    t->v[i].running++;
}

/* Nodes of different releases meet: these may not change. */
Test(affinity, choice_is_the_same_in_each_release)
{
    static const char first[] = "13333220333323333132";
    struct targets t = made(4);
    char is[sizeof(first)] = "";

    t.v[3].weight = 2;
    cr_expect_eq(affinity_hash("tenant7", 7), 0x582c72b2ffef8af6, "%lx", affinity_hash("tenant7", 7));
    cr_expect_eq(affinity_hash("", 0), 0xcbf29ce484222325);
    for (unsigned i = 0; i + 1 < sizeof(first); i++)
        is[i] = (char)('0' + pick(&t, key(i), 125).at);
    cr_expect_str_eq(is, first);
}

Test(affinity, order_of_the_list_does_not_count)
{
    struct targets t = made(5), back = { .n = 5 };

    for (size_t i = 0; i < 5; i++) {
        back.v[i] = t.v[4 - i];
        back.at[i] = t.at[4 - i];
    }
    for (unsigned k = 0; k < KEYS; k++)
        cr_assert_eq(pick(&t, key(k), 125).at, 4 - pick(&back, key(k), 125).at);
}

Test(affinity, keys_are_spread_by_weight)
{
    struct targets t = made(3);
    unsigned n[3] = { 0 };

    t.v[1].weight = 2;
    t.v[2].weight = 3;
    for (unsigned k = 0; k < KEYS; k++)
        n[pick(&t, key(k), 125).at]++;
    for (unsigned i = 0; i < 3; i++)
        cr_expect(n[i] > 900 * (i + 1) && n[i] < 1100 * (i + 1), "%u: %u of %u", i, n[i], KEYS);
}

static void comes_to(struct targets *t, size_t i, bool there)
{
    t->v[i].free = there ? 100000 : 0;
    t->at[i].there = there;
}

Test(affinity, keys_of_others_stay_where_they_are)
{
    struct targets t = made(5);

    for (unsigned k = 0; k < KEYS; k++) {
        size_t was = pick(&t, key(k), 125).at;
        struct affine_choice now;

        comes_to(&t, 3, false);
        now = pick(&t, key(k), 125);
        cr_assert(was == 3 ? now.at != 3 : now.at == was, "one that goes");
        cr_assert_eq(now.first, now.at, "first of those that are there");
        comes_to(&t, 3, true);
        t.v[3].weight = 4;
        now = pick(&t, key(k), 125);
        cr_assert(now.at == was || now.at == 3, "more weight");
        t.v[3].weight = 1;
    }
}

/* One key has all calls: its first choice has no more than the bound, and the rest goes on in its order. */
Test(affinity, one_key_overflows_to_the_next)
{
    static const uint32_t bounds[] = { 100, 125, 200, 10000 };

    for (size_t b = 0; b < ARRAY_LEN(bounds); b++) {
        struct targets t = made(4);

        for (unsigned n = 1; n <= 400; n++) {
            struct affine_choice c = pick(&t, key(1), bounds[b]);

            cr_assert_neq(c.at, TARGET_NONE);
            begins(&t, c.at);
            cr_assert_leq(t.v[c.at].running * 100, n * bounds[b] / 4 + 100, "bound %u, call %u", bounds[b], n);
        }
        cr_expect_eq(t.v[pick(&t, key(1), 125).first].running, u64_min(400, bounds[b]), "bound %u", bounds[b]);
    }
}

Test(affinity, a_full_one_is_still_the_first_choice)
{
    struct targets t = made(3);
    size_t first = pick(&t, key(1), 125).at;
    struct affine_choice c;

    t.v[first].free = 0;
    c = pick(&t, key(1), 125);
    cr_expect_eq(c.first, first);
    cr_expect(c.at != first && c.at != TARGET_NONE);
    for (size_t i = 0; i < 3; i++)
        t.v[i].free = 0;
    cr_expect_eq(pick(&t, key(1), 125).at, TARGET_NONE);
    cr_expect_eq(affinity_pick(t.v, t.at, 0, key(1), 125).first, TARGET_NONE);
}

Test(affinity, one_aside_comes_last)
{
    struct targets t = made(2);
    size_t first = pick(&t, key(1), 125).at;

    t.v[first].aside = true;
    cr_expect_eq(pick(&t, key(1), 125).at, 1 - first);
    t.v[1 - first].free = 0;
    cr_expect_eq(pick(&t, key(1), 125).at, first);
}

/* Whatever is under way: one is picked if one has a slot free, and it is within its bound. */
Test(affinity, property)
{
    struct rng r;

    rng_seed(&r, 11);
    for (unsigned round = 0; round < 20000; round++) {
        struct targets t = made(1 + rng_below(&r, MOST));
        uint32_t bound = 100 + (uint32_t)rng_below(&r, 200);
        uint64_t running = 1, weight = 0;
        struct affine_choice c;
        bool some = false, near = false;

        for (size_t i = 0; i < t.n; i++) {
            t.v[i] = (struct target_room){ rng_below(&r, 3), rng_below(&r, 30), 1 + (uint32_t)rng_below(&r, 5),
                                           rng_chance(&r, 0.1), 0 };
            some |= t.v[i].free > 0;
            near |= t.v[i].free > 0 && !t.v[i].aside;
        }
        for (size_t i = 0; i < t.n; i++)
            if (t.v[i].free > 0 && t.v[i].aside != near) {
                running += t.v[i].running;
                weight += t.v[i].weight;
            }
        c = pick(&t, rng_u64(&r), bound);
        cr_assert_eq(c.at != TARGET_NONE, some);
        if (!some)
            continue;
        cr_assert(t.v[c.at].free > 0 && t.v[c.at].aside != near);
        cr_assert_lt((double)t.v[c.at].running, (double)bound / 100 * (double)running * t.v[c.at].weight / (double)weight + 1e-6);
    }
}

/* test_target_pick.c: how calls are spread over targets: by slots and weights, never to one that lets none. */
#include "task/calls/endpoint_lets.h"

#include "tests/lib/criterion.h"
#include <string.h>

#include "common/base/rng.h"

#define MOST 32

/* So many calls, each of which stays: how many each has. */
static void fill(struct target_room *v, size_t n, unsigned calls)
{
    for (unsigned k = 0; k < calls; k++) {
        size_t i = target_pick(v, n);

        cr_assert_neq(i, TARGET_NONE, "call %u", k);
        v[i].free--;
        v[i].running++;
    }
}

Test(target_pick, none_where_none_lets)
{
    struct target_room v[] = { { .weight = 1 }, { .weight = 5, .running = 3 } };

    cr_expect_eq(target_pick(v, 2), TARGET_NONE);
    cr_expect_eq(target_pick(v, 0), TARGET_NONE);
}

Test(target_pick, equal_ones_get_equal_parts)
{
    struct target_room v[3] = { { .free = 10, .weight = 1 }, { .free = 10, .weight = 1 }, { .free = 10, .weight = 1 } };

    fill(v, 3, 15);
    for (int i = 0; i < 3; i++)
        cr_expect(v[i].running >= 4 && v[i].running <= 6, "%d: %lu", i, v[i].running);
}

Test(target_pick, slots_are_filled_to_like_parts)
{
    struct target_room v[2] = { { .free = 10, .weight = 1 }, { .free = 40, .weight = 1 } };

    fill(v, 2, 25);
    cr_expect(v[0].running >= 3 && v[0].running <= 8, "%lu of 10", v[0].running);
    fill(v, 2, 25);
    cr_expect_eq(v[0].running, 10, "up to the last slot");
    cr_expect_eq(v[1].running, 40);
    cr_expect_eq(target_pick(v, 2), TARGET_NONE);
}

Test(target_pick, idle_ones_share_by_weight)
{
    struct target_room v[2] = { { .free = 8, .weight = 1 }, { .free = 8, .weight = 3 } };
    unsigned n[2] = { 0 };

    for (int k = 0; k < 400; k++)
        n[target_pick(v, 2)]++; /* each ends at once */
    cr_expect_eq(n[0], 100);
    cr_expect_eq(n[1], 300);
}

Test(target_pick, endless_slots_are_least_request)
{
    struct target_room v[2] = { { .free = 1000, .weight = 1 }, { .free = 1000, .weight = 1 } };

    v[1].running = 50; /* slow */
    fill(v, 2, 40);
    cr_expect(v[0].running >= 28, "%lu", v[0].running);
}

Test(target_pick, one_aside_comes_last)
{
    struct target_room v[2] = { { .free = 8, .weight = 9, .aside = true }, { .free = 1, .weight = 1 } };

    cr_expect_eq(target_pick(v, 2), 1);
    v[1].free = 0;
    cr_expect_eq(target_pick(v, 2), 0, "where no other can");
}

/* Whatever comes and goes: only one with a free slot is picked, one always if there is one, never one that is
 * aside before one that is not; and none that could all the time waits for ever. */
Test(target_pick, property)
{
    struct rng r;

    rng_seed(&r, 7);
    for (unsigned round = 0; round < 500; round++) {
        size_t n = 1 + rng_below(&r, MOST);
        struct target_room v[MOST];
        unsigned since[MOST] = { 0 };

        memset(v, 0, sizeof(v));
        for (size_t i = 0; i < n; i++)
            v[i].weight = 1 + (uint32_t)rng_below(&r, rng_chance(&r, 0.5) ? 3 : 1000);
        for (unsigned step = 0; step < 200; step++) {
            size_t k = rng_below(&r, n), i;
            bool some = false, near = false;

            v[k].free = rng_chance(&r, 0.3) ? 0 : rng_below(&r, rng_chance(&r, 0.1) ? UINT32_MAX : 10);
            v[k].running = rng_below(&r, 20);
            v[k].aside = rng_chance(&r, 0.2);
            for (size_t j = 0; j < n; j++) {
                some |= v[j].free > 0;
                near |= v[j].free > 0 && !v[j].aside;
            }
            i = target_pick(v, n);
            cr_assert_eq(i != TARGET_NONE, some);
            if (i == TARGET_NONE)
                continue;
            cr_assert(i < n && v[i].free > 0);
            cr_assert(!near || !v[i].aside);
        }
        for (size_t i = 0; i < n; i++)
            v[i] = (struct target_room){ .free = 5, .weight = v[i].weight, .credit = v[i].credit };
        for (unsigned step = 0; step < 100000 && n > 0; step++) {
            size_t i = target_pick(v, n), late = 0;

            since[i] = step + 1;
            for (size_t j = 0; j < n; j++)
                late += since[j] == 0;
            if (late == 0)
                break;
            cr_assert_lt(step, 99999u, "one of %zu never had a call", n);
        }
    }
}

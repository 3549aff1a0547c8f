/* test_wheel.c: never early, in order, nothing lost: against a plain list of moments. */
#include "task/containers/wheel.h"

#include "tests/lib/criterion.h"

#include "common/base/rng.h"

#define START ((msec_t)1780000000000)
#define DAY   ((msec_t)24 * 3600 * 1000)

struct rig {
    struct pages links;
    struct wheel w;
};

static void rig_init(struct rig *r, uint32_t n)
{
    pages_init(&r->links, sizeof(struct wheel_link));
    for (uint32_t i = 0; i < n; i++)
        cr_assert_eq(pages_reach(&r->links, i), 0);
    wheel_init(&r->w, &r->links, START);
}

Test(wheel, each_is_given_out_at_its_moment_and_not_before)
{
    static const msec_t in[] = { 1, 2, 63, 64, 65, 4095, 4096, 262143, 262144, DAY, 366 * DAY };
    struct rig r;

    rig_init(&r, ARRAY_LEN(in));
    for (uint32_t i = 0; i < ARRAY_LEN(in); i++)
        wheel_set(&r.w, i, START + in[i]);
    for (uint32_t i = 0; i < ARRAY_LEN(in); i++) {
        cr_expect_eq(wheel_pop(&r.w, START + in[i] - 1), WHEEL_NONE, "%u early", i);
        cr_expect_eq(wheel_pop(&r.w, START + in[i]), i);
        cr_expect_eq(wheel_when(&r.w, i), 0);
    }
    cr_expect_eq(wheel_next(&r.w), MSEC_NEVER);
    pages_fini(&r.links);
}

Test(wheel, what_has_passed_is_due_at_once)
{
    struct rig r;

    rig_init(&r, 1);
    wheel_set(&r.w, 0, START - 5);
    cr_expect_eq(wheel_next(&r.w), START);
    cr_expect_eq(wheel_pop(&r.w, START), 0u);
    pages_fini(&r.links);
}

/* A year ahead the owner is woken at most once a level before. */
Test(wheel, far_ones_cost_few_wakings)
{
    struct rig r;
    msec_t now = START;
    unsigned wakings = 0;

    rig_init(&r, 1);
    wheel_set(&r.w, 0, START + 365 * DAY + 7);
    for (; wheel_pop(&r.w, now) == WHEEL_NONE; wakings++) {
        cr_assert_gt(wheel_next(&r.w), now);
        now = wheel_next(&r.w);
    }
    cr_expect_eq(now, START + 365 * DAY + 7);
    cr_expect_leq(wakings, WHEEL_LEVELS);
    pages_fini(&r.links);
}

#define N 2000u

static msec_t draw_delay(struct rng *g)
{
    return (msec_t)(rng_u64(g) >> (24 + rng_below(g, 40))) % (366 * DAY) - 3;
}

/* Pops all until now, and compares with the list. */
static void drain(struct rig *r, msec_t *due, msec_t now)
{
    msec_t last = 0;
    uint32_t id;

    while ((id = wheel_pop(&r->w, now)) != WHEEL_NONE) {
        cr_assert_neq(due[id], 0);
        cr_assert_leq(due[id], now, "early");
        cr_assert_geq(due[id], last, "out of order");
        last = due[id];
        due[id] = 0;
    }
    for (uint32_t i = 0; i < N; i++)
        cr_assert(due[i] == 0 || due[i] > now, "%u is forgotten", i);
}

Test(wheel, any_sets_clears_and_steps_agree_with_a_list)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        static msec_t due[N];
        struct rig r;
        struct rng g;
        msec_t now = START, floor_ms = START;

        rng_seed(&g, seed);
        rig_init(&r, N);
        for (uint32_t i = 0; i < N; i++)
            due[i] = 0;
        for (unsigned step = 0; step < 20000; step++) {
            uint32_t id = (uint32_t)rng_below(&g, N);

            if (rng_chance(&g, 0.2)) {
                wheel_clear(&r.w, id);
                due[id] = 0;
            } else {
                msec_t when = now + draw_delay(&g);

                due[id] = when > floor_ms ? when : floor_ms; /* so that order can be judged */
                wheel_set(&r.w, id, due[id]);
            }
            if (rng_chance(&g, 0.05)) {
                floor_ms = now += (msec_t)(rng_u64(&g) >> (30 + rng_below(&g, 34)));
                drain(&r, due, now);
            }
        }
        drain(&r, due, now + 400 * DAY);
        drain(&r, due, WHEEL_MAX - 1);
        cr_expect_eq(r.w.n, 0);
        pages_fini(&r.links);
    }
}

Test(wheel, a_clock_that_goes_back_makes_nothing_early)
{
    struct rig r;

    rig_init(&r, 3);
    wheel_set(&r.w, 0, START + 1000);
    wheel_set(&r.w, 1, START + DAY);
    cr_expect_eq(wheel_pop(&r.w, START + 999), WHEEL_NONE);
    wheel_rewind(&r.w, START - DAY);
    wheel_set(&r.w, 2, START - DAY + 10);
    cr_expect_eq(wheel_pop(&r.w, START - DAY + 9), WHEEL_NONE);
    cr_expect_eq(wheel_pop(&r.w, START - DAY + 10), 2u);
    cr_expect_eq(wheel_pop(&r.w, START + 999), WHEEL_NONE);
    cr_expect_eq(wheel_pop(&r.w, START + 1000), 0u);
    cr_expect_eq(wheel_pop(&r.w, START + DAY), 1u);
    pages_fini(&r.links);
}

/* Two wheels share links: each knows its own. */
Test(wheel, two_wheels_share_links)
{
    struct rig r;
    struct wheel other;

    rig_init(&r, 600);
    wheel_init(&other, &r.links, 5);
    wheel_set(&r.w, 3, START + 3);
    wheel_set(&other, 599, 8);
    cr_expect_eq(wheel_pop(&other, 8), 599u);
    cr_expect_eq(wheel_pop(&r.w, START + 2), WHEEL_NONE);
    cr_expect_eq(wheel_pop(&r.w, START + 3), 3u);
    pages_fini(&r.links);
}

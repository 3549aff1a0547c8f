/* test_rank.c: ranks against counting; memory goes back. */
#include "task/containers/rank.h"

#include "tests/lib/criterion.h"
#include <stdlib.h>

#include "common/base/err.h"
#include "common/base/rng.h"

#define N 100000u

/* level: of each number that is there, + 1; 0: it is not. */
static void compare(const struct rank *r, const uint8_t *level, uint64_t base, uint32_t n)
{
    uint64_t before[RANK_LEVELS] = { 0 };

    for (uint32_t i = 0; i < n; i++) {
        cr_assert_eq(rank_has(r, base + i), level[i] != 0);
        for (unsigned l = 0; l < RANK_LEVELS && (level[i] != 0 || i % 97 == 0); l++)
            cr_assert_eq(rank_before(r, base + i, l), before[l], "%u of %u", i, l);
        for (unsigned l = 0; l < level[i]; l++)
            before[l]++;
    }
    cr_assert_eq(r->n, before[0]);
}

static unsigned any_level(struct rng *g, uint64_t seed)
{
    return seed % 4 == 0 ? 0 : (unsigned)rng_below(g, seed % RANK_LEVELS + 1);
}

Test(rank, agrees_with_counting_while_numbers_come_and_go_and_change_their_levels)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        uint8_t *level = calloc(N, 1);
        struct rank r;
        struct rng g;
        uint64_t base = RANK_FIRST + seed * 12345678901u;
        uint32_t n = 0;

        rng_seed(&g, seed);
        rank_init(&r);
        for (unsigned round = 0; round < 6; round++) {
            for (uint32_t to = n + N / 6; n < to; n += 1 + (uint32_t)rng_below(&g, seed)) {
                level[n] = (uint8_t)any_level(&g, seed) + 1;
                cr_assert_eq(rank_add(&r, base + n, level[n] - 1u), 0);
            }
            n = n < N ? n : N - 1;
            for (uint32_t i = 0; i < n; i++) {
                if (level[i] != 0 && rng_chance(&g, i < n / 2 ? 0.9 : 0.3)) {
                    rank_del(&r, base + i);
                    level[i] = 0;
                } else if (level[i] != 0 && rng_chance(&g, 0.2)) {
                    level[i] = (uint8_t)any_level(&g, seed) + 1;
                    cr_assert_eq(rank_reach_level(&r, base + i, level[i] - 1u), 0);
                    rank_set_level(&r, base + i, level[i] - 1u);
                }
            }
            compare(&r, level, base, n);
            if (n >= N - N / 6)
                break;
        }
        rank_fini(&r);
        free(level);
    }
}

Test(rank, memory_follows_what_is_there)
{
    struct rank r;

    rank_init(&r);
    for (uint64_t i = 0; i < 10; i++)
        cr_assert_eq(rank_add(&r, RANK_FIRST + i, 0), 0);
    cr_expect_leq(rank_bytes(&r), 200);
    for (uint64_t i = 10; i < 1000000; i++)
        cr_assert_eq(rank_add(&r, RANK_FIRST + i, 0), 0);
    cr_expect_leq(rank_bytes(&r), 1000000 / 8 * 2);
    for (uint64_t i = 1; i < 999999; i++)
        rank_del(&r, RANK_FIRST + i);
    cr_expect_leq(rank_bytes(&r), 60000);
    cr_expect_eq(rank_before(&r, RANK_FIRST + 999999, 0), 1);
    rank_fini(&r);
    for (unsigned i = 0; i < 1000000; i++)
        cr_assert_eq(rank_add(&r, RANK_FIRST + i, i % RANK_LEVELS), 0);
    cr_expect_leq(rank_bytes(&r), 1000000 * 6 / 10, "%lu", rank_bytes(&r));
    cr_expect_eq(rank_before(&r, RANK_FIRST + 999999, 7), 1000000 / RANK_LEVELS - 1);
    rank_fini(&r);
}

Test(rank, the_low_half_of_a_number_is_enough)
{
    struct rank r;

    rank_init(&r);
    cr_assert_eq(rank_add(&r, RANK_FIRST + 7, 0), 0);
    cr_assert_eq(rank_add(&r, RANK_FIRST + RANK_SPAN - 1, 0), 0);
    cr_expect_eq(rank_add(&r, RANK_FIRST + RANK_SPAN, 0), SQ_EFULL);
    rank_del(&r, RANK_FIRST + 7);
    cr_assert_eq(rank_add(&r, RANK_FIRST + RANK_SPAN, 0), 0);
    cr_expect_eq(rank_before(&r, RANK_FIRST + RANK_SPAN, 0), 1);
    rank_fini(&r);
}

Test(rank, a_few_come_in_front_of_all)
{
    enum { MANY = 40000 };
    uint64_t number = 0, last = RANK_FIRST;
    struct rank r;
    struct rng g;

    rng_seed(&g, 1);
    rank_init(&r);
    cr_assert_eq(rank_add_first(&r, &number, 0), 0);
    cr_expect_eq(number, RANK_FIRST, "the first of all");
    for (unsigned i = 1; i < MANY; i++) {
        cr_assert_eq(rank_add_first(&r, &number, 0), 0);
        cr_assert_eq(number, last - 1);
        last = number;
        if (rng_chance(&g, 0.1))
            cr_assert_eq(rank_add(&r, r.next, 0), 0);
        cr_assert_eq(rank_before(&r, number, 0), 0);
        cr_assert_eq(rank_before(&r, RANK_FIRST, 0), i);
    }
    for (uint64_t n = last; n < r.next; n++)
        rank_del(&r, n);
    cr_expect_eq(r.n, 0);
    cr_assert_eq(rank_add_first(&r, &number, 0), 0);
    cr_expect_eq(number, r.next - 1);
    rank_fini(&r);
    rank_init(&r);
    cr_assert_eq(rank_add(&r, RANK_FIRST, 0), 0);
    cr_assert_eq(rank_add(&r, RANK_FIRST + RANK_SPAN - 100, 0), 0);
    cr_expect_eq(rank_add_first(&r, &number, 0), SQ_EFULL, "its block would begin too far from the last");
    cr_expect_eq(r.n, 2);
    rank_fini(&r);
}

/* test_replica_line.c: who waits of one name, as rows of MSG_REPLICA say it. */
#include "router/replica/line.h"

#include "tests/lib/criterion.h"
#include <string.h>

#include "common/base/rng.h"
#include "common/wire/replica_bytes.h"

static struct line_pool pool;
static struct line line;
static uint8_t bytes[1 << 16], more[1 << 16];

static void begin(void)
{
    line_pool_init(&pool, 1 << 26);
    line_init(&line, &pool);
}

static void end(void)
{
    line_fini(&line);
    line_pool_fini(&pool); /* which says that all memory is back */
}

#define APPLY(...) line_apply(&line, &(struct replica_row) { __VA_ARGS__ })

static uint32_t rank(uint32_t number)
{
    uint32_t r;

    return line_rank(&line, number, &r) ? r : UINT32_MAX;
}

/* A run of full blocks from `first` on, then one of these words. */
static uint32_t run(uint32_t first, uint32_t full, const uint64_t bits[BITS512_WORDS])
{
    uint32_t next = 0;
    uint8_t *p = lines_put(bytes, &next, first, full, bits != NULL);

    if (bits != NULL)
        memcpy(p, bits, 64);
    return (uint32_t)(p - bytes) + (bits != NULL ? 64 : 0);
}

Test(replica_line, a_new_line_is_dead_but_for_its_lines, .init = begin, .fini = end)
{
    const uint64_t bits[BITS512_WORDS] = { 5, 0, 1 };

    cr_assert_eq(APPLY(.flags = REPLICA_NEW, .end = 2000, .lines = bytes,
                       .n_lines = run(1, 1, bits)), 0);
    line_settle(&line);
    cr_expect_eq(rank(511), UINT32_MAX);
    cr_expect_eq(rank(512), 0);
    cr_expect_eq(rank(1023), 511);
    cr_expect_eq(rank(1024), 512);
    cr_expect_eq(rank(1025), UINT32_MAX);
    cr_expect_eq(rank(1026), 513);
    cr_expect_eq(rank(1024 + 128), 514);
    cr_expect_eq(rank(1999), UINT32_MAX);
    cr_expect_eq(rank(UINT32_MAX), UINT32_MAX);
}

Test(replica_line, a_full_run_stops_at_the_end, .init = begin, .fini = end)
{
    cr_assert_eq(APPLY(.flags = REPLICA_NEW, .end = 600, .lines = bytes,
                       .n_lines = run(0, 2, NULL)), 0);
    line_settle(&line);
    cr_expect_eq(rank(599), 599);
    cr_expect_eq(rank(600), UINT32_MAX);
    cr_assert_eq(APPLY(.end = 601), 0);
    line_settle(&line);
    cr_expect_eq(rank(600), 600);
}

Test(replica_line, joins_deaths_and_the_head_change_ranks_together, .init = begin, .fini = end)
{
    uint32_t next = 700;
    uint8_t *p = more;

    cr_assert_eq(APPLY(.flags = REPLICA_NEW), 0);
    cr_assert_eq(APPLY(.end = 1500), 0);
    line_settle(&line);
    cr_expect_eq(rank(1499), 1499);
    p = dead_put(p, &next, 700);
    p = dead_put(p, &next, 1400);
    cr_assert_eq(APPLY(.end = 1501, .head = 700, .dead = more, .n_dead = (uint32_t)(p - more)), 0);
    line_settle(&line);
    cr_expect_eq(rank(699), UINT32_MAX);
    cr_expect_eq(rank(700), UINT32_MAX);
    cr_expect_eq(rank(701), 0);
    cr_expect_eq(rank(1400), UINT32_MAX);
    cr_expect_eq(rank(1500), 1500 - 701 - 1);
}

Test(replica_line, the_head_takes_what_lines_brought_below_it, .init = begin, .fini = end)
{
    cr_assert_eq(APPLY(.flags = REPLICA_NEW, .end = 2000, .head = 1030, .lines = bytes,
                       .n_lines = run(0, 4, NULL)), 0);
    line_settle(&line);
    cr_expect_eq(rank(1029), UINT32_MAX);
    cr_expect_eq(rank(1030), 0);
    cr_assert_eq(APPLY(.end = 2000, .head = 1030, .lines = bytes, .n_lines = run(0, 4, NULL)), 0);
    line_settle(&line);
    cr_expect_eq(rank(3), UINT32_MAX, "the head did not move, and yet counts");
    cr_expect_eq(rank(1999), 1999 - 1030);
}

Test(replica_line, a_line_said_anew_forgets_what_it_was, .init = begin, .fini = end)
{
    cr_assert_eq(APPLY(.flags = REPLICA_NEW, .end = 5000, .lines = bytes,
                       .n_lines = run(0, 9, NULL)), 0);
    cr_assert_eq(APPLY(.flags = REPLICA_NEW, .end = 100), 0);
    line_settle(&line);
    cr_expect_eq(rank(5), UINT32_MAX);
    cr_assert_eq(APPLY(.end = 102), 0);
    line_settle(&line);
    cr_expect_eq(rank(101), 1);
}

Test(replica_line, rows_that_do_not_follow_are_refused, .init = begin, .fini = end)
{
    const uint64_t high[BITS512_WORDS] = { [1] = 1ull << 36 }; /* 100 */
    uint32_t next = 10;

    cr_assert_eq(APPLY(.flags = REPLICA_NEW, .end = 100, .head = 10), 0);
    cr_expect_eq(APPLY(.end = 99, .head = 10), SQ_EPROTO, "the end falls");
    cr_expect_eq(APPLY(.end = 100, .head = 9), SQ_EPROTO, "the head falls");
    cr_expect_eq(APPLY(.end = 100, .head = 10, .lines = bytes, .n_lines = run(0, 0, high)),
                 SQ_EPROTO, "a number that was not given");
    cr_expect_eq(APPLY(.end = 100, .head = 10, .lines = bytes, .n_lines = run(1, 1, NULL)),
                 SQ_EPROTO, "a block behind the end");
    cr_expect_eq(APPLY(.end = 100, .head = 10, .lines = bytes, .n_lines = 1), SQ_EPROTO);
    cr_expect_eq(APPLY(.end = 100, .head = 10, .dead = more,
                       .n_dead = (uint32_t)(dead_put(more, &next, 100) - more)),
                 SQ_EPROTO, "nobody was given 100");
    memset(more, 0x80, 20);
    cr_expect_eq(APPLY(.end = 100, .head = 10, .dead = more, .n_dead = 20), SQ_EPROTO);
}

Test(replica_line, memory_is_bounded_and_comes_back, .init = begin, .fini = end)
{
    pool.max_bytes = 64 * 1024;
    cr_assert_eq(APPLY(.flags = REPLICA_NEW), 0);
    cr_expect_eq(APPLY(.end = UINT32_MAX), SQ_ENOMEM, "8 million blocks");
    cr_assert_eq(APPLY(.flags = REPLICA_NEW), 0);
    cr_expect_eq(APPLY(.end = 512 * 1024), SQ_ENOMEM, "its bits are 64 KiB");
    cr_expect_leq(pool.n_bytes, pool.max_bytes);
    line_fini(&line);
    cr_expect_eq(pool.n_bytes, 0);
}

Test(replica_line, the_last_block_of_all_does_not_wrap, .init = begin, .fini = end)
{
    pool.max_bytes = 1ull << 30;
    cr_assert_eq(APPLY(.flags = REPLICA_NEW, .end = UINT32_MAX, .lines = bytes,
                       .n_lines = run((1u << 23) - 1, 1, NULL)), 0);
    line_settle(&line);
    cr_expect_eq(rank(UINT32_MAX - 1), 510);
    cr_expect_eq(rank(UINT32_MAX), UINT32_MAX);
    cr_assert_eq(APPLY(.end = UINT32_MAX, .head = UINT32_MAX, .lines = bytes,
                       .n_lines = run(1u << 23, 0, NULL)), 0);
    cr_expect_eq(rank(UINT32_MAX - 1), UINT32_MAX);
}

/* ---- against a model -------------------------------------------------------------------- */

#define N 6000
static bool lives[N];

static uint32_t random_dead(struct rng *r, uint32_t head, uint32_t stop)
{
    uint32_t next = head;
    uint8_t *p = more;

    for (uint32_t i = head; i < stop; i++)
        if (rng_chance(r, 0.02)) { /* also one that is dead already */
            p = dead_put(p, &next, i);
            lives[i] = false;
        }
    return (uint32_t)(p - more);
}

static uint32_t random_block(struct rng *r, uint32_t stop)
{
    uint64_t bits[BITS512_WORDS] = { 0 };
    uint32_t b;

    if (stop == 0 || rng_chance(r, 0.5))
        return 0;
    b = (uint32_t)rng_below(r, (stop + 511) / 512);
    for (uint32_t i = 0; i < 512 && b * 512 + i < stop; i++)
        if ((lives[b * 512 + i] = rng_chance(r, 0.5)))
            bits[i / 64] |= 1ull << (i % 64);
    return run(b, 0, bits);
}

static uint32_t first_living(uint32_t stop)
{
    uint32_t i = 0;

    while (i < stop && !lives[i])
        i++;
    return i;
}

Test(replica_line, ranks_are_those_of_a_plain_array, .init = begin, .fini = end)
{
    struct rng r;
    uint32_t stop = 0, head = 0;

    rng_seed(&r, 5);
    cr_assert_eq(APPLY(.flags = REPLICA_NEW), 0);
    for (unsigned k = 0; k < 300; k++) {
        struct replica_row row = { .lines = bytes, .dead = more };
        uint32_t n = 0, was = stop;

        stop += (uint32_t)rng_below(&r, u64_min(60, N - stop + 1));
        head += (uint32_t)rng_below(&r, u64_min(15, stop - head + 1));
        for (uint32_t i = was; i < stop; i++)
            lives[i] = true;
        row.n_lines = random_block(&r, stop);
        row.n_dead = random_dead(&r, head, stop);
        for (uint32_t i = 0; i < head; i++)
            lives[i] = false;
        row.end = stop;
        row.head = head;
        cr_assert_eq(line_apply(&line, &row), 0);
        line_settle(&line);
        for (uint32_t i = 0; i < stop; i++) {
            cr_assert_eq(rank(i), lives[i] ? n : UINT32_MAX, "round %u, number %u", k, i);
            n += lives[i];
        }
        cr_assert_eq(line_first(&line), first_living(stop), "round %u", k);
    }
}

/* Its node may count it before others until it says so: their places do not fall and rise again. */
Test(replica_line, a_ticket_that_is_over_here_stays_so_and_keeps_its_place, .init = begin, .fini = end)
{
    uint32_t next = 0;

    cr_assert_eq(APPLY(.flags = REPLICA_NEW), 0);
    cr_assert_eq(APPLY(.end = 1000), 0);
    line_settle(&line);
    line_over(&line, 7);
    line_over(&line, 7);
    line_over(&line, 9);
    line_over(&line, 5000);
    cr_expect_eq(rank(7), UINT32_MAX);
    cr_expect_eq(rank(8), 8);
    cr_assert_eq(APPLY(.end = 1000, .dead = more,
                       .n_dead = (uint32_t)(dead_put(more, &next, 7) - more)), 0);
    line_settle(&line);
    cr_expect_eq(rank(999), 998);
    cr_expect(rank(9) == UINT32_MAX && rank(10) == 9, "no row has said so yet");
    cr_expect_eq(line.over.n, 1);
    cr_assert_eq(APPLY(.end = 1000, .head = 20), 0);
    line_settle(&line);
    cr_expect_eq(line.over.n, 0);
    cr_expect_eq(line_first(&line), 20);
    line_over(&line, 20);
    cr_expect_eq(line_first(&line), 21, "who is over here does not wait");
}

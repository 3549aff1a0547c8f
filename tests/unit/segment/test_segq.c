/* test_segq.c: the waiting line against a plain array of living numbers. */
#include "tests/lib/criterion.h"
#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"
#include "segment/line/segq.h"

#define MAX 60000

struct model { /* what must be true, without any cleverness */
    bool alive[MAX];
    uint8_t deadline[MAX], why[MAX];
    uint32_t end, waiting;
};

static struct block_pool pool;
static struct segq q;
static struct model m;
static uint32_t out[MAX];

static void setup(void)
{
    block_pool_init(&pool, 1u << 20);
    segq_init(&q, &pool);
    memset(&m, 0, sizeof(m));
}

static void teardown(void)
{
    segq_fini(&q);
    cr_assert_eq(pool.n_blocks, 0);
    block_pool_fini(&pool);
}

TestSuite(segq, .init = setup, .fini = teardown);

static void join(uint8_t deadline)
{
    uint32_t n;

    cr_assert_eq(segq_append(&q, deadline, &n), 0);
    cr_assert_eq(n, m.end);
    m.alive[n] = true;
    m.deadline[n] = deadline;
    m.end++;
    m.waiting++;
}

static void die(uint32_t n, enum dead why)
{
    m.alive[n] = false;
    m.why[n] = (uint8_t)why;
    m.waiting--;
}

static void join_many(const uint8_t *deadline, uint32_t n)
{
    cr_assert_eq(segq_append_many(&q, deadline, n), 0);
    for (uint32_t i = 0; i < n; i++, m.end++) {
        m.alive[m.end] = true;
        m.deadline[m.end] = deadline[i];
    }
    m.waiting += n;
    cr_assert_eq(q.end, m.end);
}

static void leave(uint32_t n)
{
    cr_assert_eq(segq_drop(&q, n, DEAD_LEFT), m.alive[n]);
    if (m.alive[n])
        die(n, DEAD_LEFT);
}

static void pop(uint32_t n)
{
    uint32_t got = segq_pop(&q, n, out), at = 0;

    cr_assert_eq(got, n < m.waiting ? n : m.waiting);
    for (uint32_t i = 0; i < got; i++) {
        while (!m.alive[at])
            at++;
        cr_assert_eq(out[i], at, "popped in order of joining");
        die(at, DEAD_POPPED);
    }
}

static void sweep(uint8_t now)
{
    uint32_t at = 0, n = 0, i = 0;

    while (at < q.n_blocks)
        n += segq_sweep(&q, now, &at, out + n);
    for (uint32_t k = 0; k < m.end; k++) {
        if (!m.alive[k] || (int8_t)(uint8_t)(m.deadline[k] - now) > 0)
            continue;
        cr_assert_lt(i, n);
        cr_assert_eq(out[i++], k);
        die(k, DEAD_EXPIRED);
    }
    cr_assert_eq(i, n);
}

static void compare(void)
{
    uint32_t rank = 0, last = 0, at = segq_next(&q, 0);

    for (uint32_t n = 0; n < m.end; n++) { /* stale tags: ordered and never too small */
        if (!m.alive[n])
            continue;
        cr_assert_geq(segq_rank(&q, n), rank);
        cr_assert(rank == 0 || segq_rank(&q, n) > last);
        last = segq_rank(&q, n);
        rank++;
    }
    segq_settle(&q);
    rank = 0;
    for (uint32_t n = 0; n < m.end; n++) {
        cr_assert_eq(segq_is_alive(&q, n), m.alive[n], "number %u", n);
        if (!m.alive[n]) {
            enum dead e = segq_death(&q, n);
            cr_assert(e == m.why[n] || e == DEAD_UNKNOWN);
            continue;
        }
        cr_assert_eq(segq_rank(&q, n), rank);
        cr_assert_eq(at, n);
        at = segq_next(&q, n + 1);
        rank++;
    }
    cr_assert_eq(at, SEGQ_NONE);
    cr_assert_eq(q.waiting, m.waiting);
    cr_assert_eq(rank, m.waiting);
}

/* Often over several blocks, sometimes within one, or nobody. */
static void join_crowd(struct rng *r, uint8_t now)
{
    uint32_t n = (uint32_t)rng_below(r, rng_chance(r, 0.5) ? 30 : 1300);
    uint8_t v[1300];

    if (m.end + n > MAX)
        return;
    for (uint32_t i = 0; i < n; i++)
        v[i] = (uint8_t)(now + 1 + rng_below(r, 126));
    join_many(v, n);
}

static void act(struct rng *r, uint8_t now)
{
    uint64_t d = rng_below(r, 1000);

    if (d < 520 && m.end < MAX)
        join((uint8_t)(now + 1 + rng_below(r, 126)));
    else if (d < 900 && m.end > 0)
        leave((uint32_t)rng_below(r, m.end));
    else if (d < 990 && m.end > 0) {
        uint32_t n = (uint32_t)rng_below(r, m.end);

        if (m.alive[n]) {
            m.deadline[n] = (uint8_t)(now + 1 + rng_below(r, 126));
            segq_mark(&q, n, m.deadline[n]);
        }
    } else if (d < 998)
        pop((uint32_t)rng_below(r, 40));
    else if (d < 999)
        segq_settle(&q);
    else
        join_crowd(r, now);
}

static void run(uint64_t seed, unsigned steps)
{
    struct rng r;
    uint8_t now = 0;

    rng_seed(&r, seed);
    for (unsigned i = 0; i < steps; i++) {
        act(&r, now);
        if (i % 997 == 0)
            sweep(now++);
        if (i % 4999 == 0)
            compare();
    }
    segq_seal(&q);
    compare();
    pop(m.waiting);
    cr_assert_eq(pool.n_blocks, 0, "everything given back");
    compare();
}

Test(segq, agrees_with_an_array_seed_1) { run(1, 100000); }
Test(segq, agrees_with_an_array_seed_2) { run(2, 100000); }
Test(segq, agrees_with_an_array_seed_3) { run(3, 100000); }
Test(segq, agrees_with_an_array_seed_4) { run(4, 100000); }

Test(segq, many_fill_the_blocks_exactly)
{
    static const uint32_t sizes[] = { 1, 63, 64, 65, 319, 0, 512, 1024, 511, 2 };
    uint8_t v[1024];

    memset(v, 77, sizeof(v));
    for (unsigned i = 0; i < ARRAY_LEN(sizes); i++) {
        join_many(v, sizes[i]);
        compare();
    }
    segq_seal(&q);
    cr_expect_eq(segq_append_many(&q, v, 1), SQ_ESEALED);
}

Test(segq, empty_blocks_are_freed_anywhere)
{
    for (unsigned i = 0; i < 10 * BLOCK_SLOTS; i++)
        join(100);
    cr_assert_eq(pool.n_blocks, 10);
    for (unsigned i = 3 * BLOCK_SLOTS; i < 5 * BLOCK_SLOTS; i++)
        leave(i);
    cr_assert_eq(pool.n_blocks, 8);
    cr_assert_eq(segq_death(&q, 4 * BLOCK_SLOTS), DEAD_LEFT, "the tomb remembers");
    cr_assert_not(segq_is_alive(&q, 4 * BLOCK_SLOTS + 7));
    compare();
    pop(4 * BLOCK_SLOTS);
    cr_assert_eq(q.popped_end, 6 * BLOCK_SLOTS);
    compare();
}

Test(segq, sealed_refuses_and_reserved_room_holds_through_unseal)
{
    uint32_t n;

    for (unsigned i = 0; i < 700; i++)
        join(100);
    segq_seal(&q);
    cr_assert_eq(segq_append(&q, 1, &n), SQ_ESEALED);
    pool.max_blocks = 4;
    cr_assert_eq(segq_reserve(&q, 2000), SQ_ENOMEM);
    cr_assert_eq(pool.n_blocks, 2);
    cr_assert_eq(segq_reserve(&q, 1000), 0);
    for (unsigned i = 512; i < 700; i++)
        leave(i); /* frees the last block between promise and use */
    pool.max_blocks = 0;
    segq_unseal(&q);
    segq_settle(&q);
    cr_assert_eq(q.end, 1024);
    for (unsigned i = 0; i < 1000; i++)
        cr_assert_eq(segq_append(&q, 7, &n), 0);
    cr_assert_eq(n, 2023);
    segq_settle(&q);
    cr_assert_eq(segq_rank(&q, 1024), 512);
    cr_assert_eq(segq_rank(&q, n), 1511);
}

Test(segq, no_memory_changes_nothing)
{
    uint32_t n;

    pool.max_blocks = 1;
    for (unsigned i = 0; i < BLOCK_SLOTS; i++)
        join(100);
    cr_assert_eq(segq_append(&q, 1, &n), SQ_ENOMEM);
    compare();
}

static uint8_t plus_one(void *ctx, uint8_t d)
{
    (*(unsigned *)ctx)++;
    return (uint8_t)(d + 1);
}

Test(segq, remark_reaches_every_living_deadline)
{
    unsigned n = 0;

    for (unsigned i = 0; i < 1200; i++)
        join(5);
    leave(3);
    segq_remark(&q, plus_one, &n);
    cr_assert_eq(n, 1199);
    for (uint32_t i = 0; i < m.end; i++)
        m.deadline[i] = 6;
    sweep(5);
    cr_assert_eq(m.waiting, 1199);
    sweep(6);
    cr_assert_eq(m.waiting, 0);
}

Test(segq, a_sweep_passes_over_a_last_block_in_which_nobody_is_left)
{
    for (uint32_t i = 0; i < 2 * BLOCK_SLOTS; i++)
        join(5);
    for (uint32_t i = BLOCK_SLOTS; i < 2 * BLOCK_SLOTS; i++)
        leave(i);
    cr_assert_null(q.block[1]);
    sweep(4);
    cr_assert_eq(m.waiting, BLOCK_SLOTS);
}

Test(segq, an_unknown_segment_may_be_empty)
{
    segq_fini(&q);
    segq_init(&q, &pool);
    cr_assert_eq(segq_rebuild(&q, 0), 0);
    cr_expect(q.sealed);
    cr_expect_eq(q.n_blocks, 0);
    cr_expect_not(segq_is_unknown(&q, 0));
}

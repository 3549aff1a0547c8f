/* test_block.c: ranks, time-outs and memory of blocks. */
#include "tests/lib/criterion.h"
#include <stdlib.h>

#include "common/base/rng.h"
#include "segment/line/block.h"

static struct block_pool pool;

static void setup(void)
{
    block_pool_init(&pool, 1000);
}

static void teardown(void)
{
    block_pool_fini(&pool);
    cr_assert_eq(block_pool_bytes(&pool), 0);
}

TestSuite(block, .init = setup, .fini = teardown);

Test(block, rank_follows_every_raise_and_kill)
{
    struct block *b = block_take(&pool);
    uint64_t sub = 0;
    struct rng r;

    rng_seed(&r, 5);
    for (unsigned round = 0; round < 3000; round++) {
        unsigned slot = (unsigned)rng_below(&r, BLOCK_SLOTS), n = 0;

        if (block_is_alive(b, slot))
            block_kill(b, &sub, slot, DEAD_LEFT);
        else
            block_raise(b, &sub, slot, 9);
        for (unsigned i = 0; i < BLOCK_SLOTS; i++) {
            cr_assert_eq(block_rank(b, sub, i), n, "slot %u", i);
            n += block_is_alive(b, i);
        }
        cr_assert_eq(bits512_count(b->alive), n);
    }
}

Test(block, full_block_counts_to_512)
{
    struct block *b = block_take(&pool);
    uint64_t sub = 0;

    for (unsigned i = 0; i < BLOCK_SLOTS; i++)
        block_raise(b, &sub, i, 0);
    cr_assert_eq(block_rank(b, sub, 511), 511);
    cr_assert_eq(bits512_count(b->alive), 512);
    cr_assert_eq(bits512_subs(b->alive), sub);
}

Test(block, due_is_modular_and_only_for_the_living)
{
    struct block *b = block_take(&pool);
    uint64_t sub = 0;

    for (unsigned now = 0; now < 256; now++) {
        for (unsigned i = 0; i < 64; i++) {
            if (block_is_alive(b, 64 + i))
                block_kill(b, &sub, 64 + i, DEAD_LEFT);
            if (i % 3 != 0)
                block_raise(b, &sub, 64 + i, (uint8_t)(now + i * 4 - 128));
        }
        for (unsigned i = 0; i < 64; i++) {
            bool due = (block_due(b, 1, (uint8_t)now) >> i) & 1;

            cr_assert_eq(due, i % 3 != 0 && (int)i * 4 - 128 <= 0, "now %u slot %u", now,
                         i);
        }
    }
    cr_assert_eq(block_due(b, 0, 0), 0);
}

Test(block, epitaph_is_said_only_if_common)
{
    struct block *b = block_take(&pool);
    uint64_t sub = 0;

    for (unsigned i = 0; i < 10; i++) {
        block_raise(b, &sub, i, 0);
        block_kill(b, &sub, i, DEAD_LEFT);
    }
    cr_assert_eq(block_death(b, 10), DEAD_LEFT);
    b->idle[3] = DEAD_EXPIRED;
    cr_assert_eq(block_death(b, 10), DEAD_UNKNOWN);
    cr_assert_eq(block_death(b, 0), DEAD_UNKNOWN);
}

Test(block, pool_is_bounded_and_gives_memory_back)
{
    struct block *v[1000];
    struct rng r;

    rng_seed(&r, 1);
    for (unsigned i = 0; i < 1000; i++) {
        v[i] = block_take(&pool);
        cr_assert_not_null(v[i]);
        cr_assert_eq((uintptr_t)v[i] % SLAB_LINE, 0);
        v[i]->alive[0] = i;
    }
    cr_assert_null(block_take(&pool));
    for (unsigned i = 999; i > 0; i--) {
        unsigned j = (unsigned)rng_below(&r, i + 1);
        struct block *t = v[i];

        v[i] = v[j];
        v[j] = t;
    }
    for (unsigned i = 0; i < 1000; i++)
        block_give(&pool, v[i]);
    cr_assert_eq(pool.n_blocks, 0);
    cr_assert_leq(block_pool_bytes(&pool), 205 * sizeof(struct block));
    v[0] = block_take(&pool);
    cr_assert_eq(v[0]->alive[0], 0, "a taken block is empty");
    block_give(&pool, v[0]);
}

Test(block, a_large_pool_grows_by_large_chunks_and_shrinks_too)
{
    struct block **v = malloc(20000 * sizeof(*v));

    pool.max_blocks = 20000;
    for (unsigned i = 0; i < 20000; i++) {
        v[i] = block_take(&pool);
        cr_assert_not_null(v[i]);
        cr_assert_eq((uintptr_t)v[i] % SLAB_LINE, 0);
    }
    cr_assert_leq(block_pool_bytes(&pool), 20000 * sizeof(struct block) + (3u << 20));
    for (unsigned i = 0; i < 20000; i++)
        block_give(&pool, v[i]);
    cr_assert_leq(block_pool_bytes(&pool), 2u << 20);
    free(v);
}

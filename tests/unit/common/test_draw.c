/* test_draw.c: lots that anybody can check: the shuffle, the commitment, and the line that
 * is put into the drawn order. */
#include "tests/lib/criterion.h"
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/ticket/draw.h"
#include "segment/tickets/draw.h"

static const uint8_t seed[DRAW_SEED] = "an answer is worth a good seed!";

TestSuite(draw, .timeout = 60);

static void seed_of(uint8_t out[DRAW_SEED], uint32_t i)
{
    memcpy(out, seed, DRAW_SEED);
    memcpy(out, &i, sizeof(i));
}

Test(draw, everybody_has_one_place)
{
    static const uint32_t counts[] = { 1, 2, 3, 511, 512, 513, 100000 };

    for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
        struct draw *d = draw_new(17, counts[c], seed);
        uint32_t moved = 0;

        cr_assert_not_null(d);
        for (uint32_t n = 0; n < counts[c]; n++) {
            cr_assert_lt(draw_place(d, n), counts[c]);
            cr_assert_eq(draw_number(d, draw_place(d, n)), n);
            moved += draw_place(d, n) != n;
        }
        cr_expect(counts[c] < 500 || moved > counts[c] * 9 / 10);
        cr_expect_eq(draw_place(d, counts[c] + 5), counts[c] + 5, "came after the draw");
        cr_expect_eq(draw_number(d, counts[c]), counts[c]);
        draw_free(d);
    }
}

/* The same for ever: a journal holds nothing but seed and count. The numbers are those of
 * the description in draw.h, worked out in Python's standard library. */
Test(draw, draw_follows_the_published_algorithm)
{
    static const uint32_t first[] = { 707, 171, 813, 770, 847, 300, 739, 180 };
    struct draw *d = draw_new(17, 1000, seed), *other = draw_new(18, 1000, seed);
    uint8_t hash[DRAW_SEED];
    char hex[2 * DRAW_SEED + 1];
    uint32_t same = 0;

    for (uint32_t i = 0; i < ARRAY_LEN(first); i++)
        cr_expect_eq(draw_number(d, i), first[i], "%u: %u", i, draw_number(d, i));
    for (uint32_t i = 0; i < 1000; i++)
        same += d->number[i] == other->number[i];
    cr_expect_lt(same, 20, "another segment is another draw");
    draw_commitment("login", seed, hash);
    sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
    cr_expect_str_eq(hex, 
                     "920156f10e896beabfc86d75e49c265f3b721be81582386867b60ea41712afa6");
    draw_free(d);
    draw_free(other);
}

/* 24 orders of four, 24000 draws: chi-square with 23 degrees of freedom stays below 58.6
 * but once in 20 000 (and these seeds are fixed). */
Test(draw, all_orders_are_as_likely)
{
    uint32_t seen[256] = { 0 };
    double chi = 0;
    uint8_t s[DRAW_SEED];
    uint32_t kinds = 0;

    for (uint32_t i = 0; i < 24000; i++) {
        struct draw *d;

        seed_of(s, i);
        d = draw_new(1, 4, s);
        seen[d->number[0] << 6 | d->number[1] << 4 | d->number[2] << 2 | d->number[3]]++;
        draw_free(d);
    }
    for (int i = 0; i < 256; i++) {
        kinds += seen[i] != 0;
        chi += seen[i] != 0 ? (seen[i] - 1000.0) * (seen[i] - 1000.0) / 1000.0 : 0;
    }
    cr_expect_eq(kinds, 24);
    cr_expect_lt(chi, 58.6, "%g", chi);
}

/* Each place of 64 for the first who came: 63 degrees of freedom. */
Test(draw, first_comer_may_draw_any_place)
{
    uint32_t seen[64] = { 0 };
    double chi = 0;
    uint8_t s[DRAW_SEED];

    for (uint32_t i = 0; i < 64000; i++) {
        struct draw *d;

        seed_of(s, i);
        d = draw_new(7, 64, s);
        seen[draw_place(d, 0)]++;
        draw_free(d);
    }
    for (int i = 0; i < 64; i++)
        chi += (seen[i] - 1000.0) * (seen[i] - 1000.0) / 1000.0;
    cr_expect_lt(chi, 115, "%g", chi);
}

/* ---- the line ------------------------------------------------------------------------ */

static struct block_pool pool;

static void fill(struct segq *q, uint32_t n)
{
    uint32_t number;

    block_pool_init(&pool, UINT64_MAX);
    segq_init(q, &pool);
    for (uint32_t i = 0; i < n; i++)
        cr_assert_eq(segq_append(q, (uint8_t)i, &number), 0);
}

Test(draw, a_line_is_put_into_the_drawn_order)
{
    struct draw *d = draw_new(3, 3000, seed);
    uint32_t out[3000], rank = 0, n;
    struct segq q;

    fill(&q, 3000);
    for (uint32_t i = 0; i < 3000; i += 3)
        segq_drop(&q, i, i % 2 ? DEAD_LEFT : DEAD_EXPIRED);
    for (uint32_t i = 512; i < 1024; i++)
        segq_drop(&q, i, DEAD_LEFT); /* a block that is freed */
    segq_seal(&q);
    n = q.waiting;
    cr_assert_eq(segq_permute(&q, 3000, d->number), 0);
    cr_assert_eq(q.waiting, n);
    for (uint32_t p = 0; p < 3000; p++) {
        uint32_t i = draw_number(d, p);
        bool alive = i % 3 != 0 && (i < 512 || i >= 1024);

        cr_assert_eq(segq_is_alive(&q, p), alive, "place %u", p);
        if (!alive) {
            cr_assert_eq(segq_death(&q, p), i >= 512 && i < 1024 ? DEAD_UNKNOWN
                                              : i % 2              ? DEAD_LEFT
                                                                   : DEAD_EXPIRED);
            continue;
        }
        cr_assert_eq(segq_rank(&q, p), rank++);
        cr_assert_eq(segq_block(&q, p)->idle[p & (BLOCK_SLOTS - 1)], (uint8_t)i);
    }
    cr_assert_eq(segq_pop(&q, 3000, out), n);
    for (uint32_t i = 1; i < n; i++)
        cr_assert_lt(out[i - 1], out[i]);
    segq_fini(&q);
    cr_expect_eq(pool.n_blocks, 0);
    block_pool_fini(&pool);
    draw_free(d);
}

/* Numbers that a torn journal has lost have places, too, and nobody on them. */
Test(draw, draw_larger_than_the_line)
{
    struct draw *d = draw_new(3, 2000, seed);
    uint32_t alive = 0;
    struct segq q;

    fill(&q, 700);
    segq_seal(&q);
    cr_assert_eq(segq_permute(&q, 2000, d->number), 0);
    cr_expect_eq(q.waiting, 700);
    for (uint32_t p = 0; p < 2000; p++) {
        cr_assert_eq(segq_is_alive(&q, p), draw_number(d, p) < 700);
        alive += segq_is_alive(&q, p);
    }
    cr_expect_eq(alive, 700);
    segq_fini(&q);
    block_pool_fini(&pool);
    draw_free(d);
}

Test(draw, without_room_nothing_changes)
{
    struct draw *d = draw_new(3, 2048, seed);
    struct segq q;

    fill(&q, 2048);
    for (uint32_t i = 0; i < 1024; i++)
        segq_drop(&q, i, DEAD_LEFT);
    segq_seal(&q);
    pool.max_blocks = pool.n_blocks;
    cr_assert_eq(segq_permute(&q, 2048, d->number), SQ_ENOMEM);
    cr_expect_eq(q.waiting, 1024);
    cr_expect(segq_is_alive(&q, 1024) && !segq_is_alive(&q, 5));
    cr_expect_eq(pool.n_blocks, 2);
    pool.max_blocks = UINT64_MAX;
    cr_assert_eq(segq_permute(&q, 2048, d->number), 0);
    cr_expect_eq(q.waiting, 1024);
    segq_fini(&q);
    block_pool_fini(&pool);
    draw_free(d);
}

/* test_slab.c: pieces do not overlap, lie where they should, their memory goes back. */
#include "tests/lib/criterion.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/rng.h"

#define PIECE 576u

static struct slab_pool pool;

static void setup(void)
{
    slab_init(&pool, PIECE);
}

static void teardown(void)
{
    slab_fini(&pool);
    cr_assert_eq(pool.n_bytes, 0);
}

TestSuite(slab, .init = setup, .fini = teardown);

static size_t pages_in_core(void *slab)
{
    unsigned char core[SLAB_BYTES / 4096];
    size_t n = 0;

    cr_assert_eq(mincore(slab, SLAB_BYTES, core), 0);
    for (size_t i = 0; i < sizeof(core); i++)
        n += core[i] & 1;
    return n;
}

static void *slab_of(void *piece)
{
    return (void *)((uintptr_t)piece & ~(uintptr_t)(SLAB_BYTES - 1));
}

Test(slab, pieces_are_apart_and_on_lines)
{
    unsigned n = pool.per_slab * 2 + 10;
    unsigned char **v = malloc(n * sizeof(*v));

    for (unsigned i = 0; i < n; i++) {
        v[i] = slab_take(&pool);
        cr_assert_not_null(v[i]);
        cr_assert_eq((uintptr_t)v[i] % SLAB_LINE, 0);
        memset(v[i], (int)(i % 251), PIECE);
    }
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < PIECE; k++)
            cr_assert_eq(v[i][k], i % 251);
    cr_assert_eq(pool.n_used, n);
    cr_assert_eq(pool.n_bytes, (uint64_t)n * PIECE);
    free(v);
}

Test(slab, freed_slots_are_reused_first)
{
    void *a = slab_take(&pool), *b = slab_take(&pool), *c = slab_take(&pool);

    slab_give(&pool, a);
    slab_give(&pool, b);
    cr_assert_eq(slab_take(&pool), b);
    cr_assert_eq(slab_take(&pool), a);
    cr_assert_eq(pool.n_used, 3);
    cr_assert_eq(pool.n_bytes, 3 * PIECE);
    slab_give(&pool, c);
}

Test(slab, few_pieces_are_few_pages)
{
    void *p = slab_take(&pool);

    memset(p, 1, PIECE);
    cr_assert_leq(pages_in_core(slab_of(p)), 1);
}

Test(slab, an_empty_slab_keeps_no_pages)
{
    unsigned n = pool.per_slab;
    void **v = calloc(n, sizeof(*v)), *slab;

    for (unsigned i = 0; i < n; i++) {
        v[i] = slab_take(&pool);
        memset(v[i], 1, PIECE);
    }
    slab = slab_of(v[0]);
    cr_assert_geq(pages_in_core(slab), n * PIECE / 4096);
    for (unsigned i = 0; i < n; i++)
        slab_give(&pool, v[i]);
    cr_assert_eq(pool.n_bytes, 0);
    cr_assert_leq(pages_in_core(slab), 1);
    cr_assert_eq(slab_of(slab_take(&pool)), slab, "the slab itself was kept");
    free(v);
}

/* Takes and gives at random around a size that rises and falls over several slabs. */
Test(slab, any_order_ends_with_one_slab)
{
    unsigned cap = pool.per_slab * 3, n = 0;
    unsigned **v = malloc(cap * sizeof(*v)), most = 0;
    struct rng r;

    rng_seed(&r, 11);
    for (unsigned i = 0; i < 200000; i++) {
        unsigned grow = i / 20000 % 2 == 0 ? 70 : 30;
        bool take = n == 0 || (n < cap && rng_below(&r, 100) < grow);
        unsigned at = n > 0 ? (unsigned)rng_below(&r, n) : 0;

        if (take) {
            v[n] = slab_take(&pool);
            cr_assert_not_null(v[n]);
            *v[n] = i; /* nobody else may write there */
            v[n][PIECE / 4 - 1] = i;
            n++;
        } else {
            cr_assert_eq(v[at][0], v[at][PIECE / 4 - 1]);
            slab_give(&pool, v[at]);
            v[at] = v[--n];
        }
        cr_assert_eq(pool.n_used, n);
        most = n > most ? n : most;
    }
    cr_assert_gt(most, pool.per_slab * 2);
    while (n > 0)
        slab_give(&pool, v[--n]);
    cr_assert_eq(pool.open.n + pool.full.n, 1);
    cr_assert_eq(pool.n_empty, 1);
    free(v);
}

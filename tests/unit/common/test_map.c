/* test_map.c: against a plain array as the model, with many collisions and removals. */
#include "common/base/map.h"

#include "tests/lib/criterion.h"

#include "common/base/err.h"
#include "common/base/rng.h"

#define KEYS 2000

static void compare(const struct map *m, const uint64_t *model)
{
    uint64_t key, val;
    size_t n = 0;

    for (unsigned k = 0; k < KEYS; k++)
        cr_assert_eq(map_get(m, k * 64), model[k]);
    for (size_t i = 0; (i = map_next(m, i, &key, &val)) != 0; n++)
        cr_assert_eq(model[key / 64], val);
    cr_assert_eq(n, m->n);
}

static void random_walk(uint64_t seed)
{
    static uint64_t model[KEYS];
    struct map m;
    struct rng r;

    map_init(&m, seed);
    rng_seed(&r, seed + 1);
    for (unsigned k = 0; k < KEYS; k++)
        model[k] = MAP_NONE;
    for (unsigned i = 0; i < 60000; i++) {
        uint64_t k = rng_below(&r, KEYS);

        if (rng_chance(&r, i < 30000 ? 0.6 : 0.4)) {
            model[k] = rng_below(&r, 1000);
            cr_assert_eq(map_set(&m, k * 64, model[k]), 0);
        } else {
            cr_assert_eq(map_del(&m, k * 64), model[k] != MAP_NONE);
            model[k] = MAP_NONE;
        }
        if (i % 5000 == 0)
            compare(&m, model);
    }
    compare(&m, model);
    map_fini(&m);
}

Test(map, behaves_like_an_array)
{
    random_walk(0);
    random_walk(0x1234567890abcdefu);
}

Test(map, empty_and_odd_keys)
{
    struct map m;
    int x;

    map_init(&m, 0);
    cr_expect_eq(map_get(&m, 1), MAP_NONE);
    cr_expect_null(map_get_ptr(&m, 1));
    cr_expect_not(map_del(&m, 1));
    cr_expect_eq(map_set_ptr(&m, 0, &x), 0);
    cr_expect_eq(map_set(&m, UINT64_MAX, 0), 0);
    cr_expect_eq(map_get_ptr(&m, 0), &x);
    cr_expect_eq(map_get(&m, UINT64_MAX), 0);
    cr_expect_eq(map_set(&m, 5, MAP_NONE), SQ_EINVAL);
    cr_expect_eq(m.n, 2);
    map_fini(&m);
    cr_expect_eq(map_get(&m, 0), MAP_NONE);
}

/* test_signature_cache.c: the table of passes that were found good. */
#include "router/gate/passes.h"

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <string.h>

static const uint8_t key[SIGCACHE_KEY_BYTES] = { 1, 2, 3 };

static struct known_pass of(const struct sigcache *v, unsigned i, int64_t exp)
{
    struct known_pass x = { .exp_s = exp, .seg = i };
    char pass[32];

    sigcache_hash(v, pass, (size_t)snprintf(pass, sizeof(pass), "pass %u", i), x.hash);
    return x;
}

Test(signature_cache, what_was_put_is_found_and_nothing_else)
{
    struct sigcache *v = sigcache_new(64, key);
    struct known_pass a = of(v, 1, 100), b = of(v, 2, 100);

    cr_assert_null(sigcache_find(v, a.hash));
    sigcache_put(v, &a);
    cr_assert_not_null(sigcache_find(v, a.hash));
    cr_assert_eq(sigcache_find(v, a.hash)->seg, 1);
    cr_assert_null(sigcache_find(v, b.hash));
    sigcache_again(v, b.hash, 7); /* it is not here */
    sigcache_again(v, a.hash, 9);
    cr_assert_eq(sigcache_find(v, a.hash)->again_ms, 9);
    sigcache_clear(v);
    cr_assert_null(sigcache_find(v, a.hash));
    sigcache_free(v);
}

Test(signature_cache, a_newcomer_takes_the_place_of_the_soonest_to_expire)
{
    struct sigcache *v = sigcache_new(4, key); /* one set */
    struct known_pass x;

    for (unsigned i = 0; i < 4; i++) {
        x = of(v, i, 100 + i);
        sigcache_put(v, &x);
    }
    x = of(v, 9, 200);
    sigcache_put(v, &x);
    cr_assert_not_null(sigcache_find(v, x.hash));
    for (unsigned i = 0; i < 4; i++) {
        x = of(v, i, 0);
        cr_assert_eq(sigcache_find(v, x.hash) == NULL, i == 0, "%u", i);
    }
    sigcache_free(v);
}

Test(signature_cache, the_key_decides)
{
    static const uint8_t other[SIGCACHE_KEY_BYTES] = { 9 };
    struct sigcache *v = sigcache_new(64, key), *w = sigcache_new(64, other);

    cr_assert_neq(of(v, 1, 9).hash[0], of(w, 1, 9).hash[0]);
    sigcache_free(v);
    sigcache_free(w);
}

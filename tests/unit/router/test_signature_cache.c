/* test_signature_cache.c: the table of passes that were found good. */
#include "router/gate/signature_cache.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const uint8_t key[VERDICT_KEY_BYTES] = { 1, 2, 3 };

static struct verdict of(const struct verdicts *v, unsigned i, int64_t exp)
{
    struct verdict x = { .exp_s = exp, .seg = i };
    char pass[32];

    verdicts_hash(v, pass, (size_t)snprintf(pass, sizeof(pass), "pass %u", i), x.hash);
    return x;
}

Test(verdicts, what_was_put_is_found_and_nothing_else)
{
    struct verdicts *v = verdicts_new(64, key);
    struct verdict a = of(v, 1, 100), b = of(v, 2, 100);

    cr_assert_null(verdicts_find(v, a.hash));
    verdicts_put(v, &a);
    cr_assert_not_null(verdicts_find(v, a.hash));
    cr_assert_eq(verdicts_find(v, a.hash)->seg, 1);
    cr_assert_null(verdicts_find(v, b.hash));
    verdicts_again(v, b.hash, 7); /* it is not here */
    verdicts_again(v, a.hash, 9);
    cr_assert_eq(verdicts_find(v, a.hash)->again_ms, 9);
    verdicts_clear(v);
    cr_assert_null(verdicts_find(v, a.hash));
    verdicts_free(v);
}

Test(verdicts, a_newcomer_takes_the_place_of_the_soonest_to_expire)
{
    struct verdicts *v = verdicts_new(4, key); /* one set */
    struct verdict x;

    for (unsigned i = 0; i < 4; i++) {
        x = of(v, i, 100 + i);
        verdicts_put(v, &x);
    }
    x = of(v, 9, 200);
    verdicts_put(v, &x);
    cr_assert_not_null(verdicts_find(v, x.hash));
    for (unsigned i = 0; i < 4; i++) {
        x = of(v, i, 0);
        cr_assert_eq(verdicts_find(v, x.hash) == NULL, i == 0, "%u", i);
    }
    verdicts_free(v);
}

Test(verdicts, the_key_decides)
{
    static const uint8_t other[VERDICT_KEY_BYTES] = { 9 };
    struct verdicts *v = verdicts_new(64, key), *w = verdicts_new(64, other);

    cr_assert_neq(of(v, 1, 9).hash[0], of(w, 1, 9).hash[0]);
    verdicts_free(v);
    verdicts_free(w);
}

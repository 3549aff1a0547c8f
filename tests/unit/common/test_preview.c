/* test_preview.c: the right to look at the waiting page's states. */
#include "common/ticket/keys.h"

#include "tests/lib/criterion.h"
#include <sodium.h>
#include <string.h>

static struct cluster_keys keys_of(uint8_t c)
{
    struct cluster_keys k = { .has_other_link = false };

    cr_assert_geq(sodium_init(), 0);
    memset(k.link, c, sizeof(k.link));
    return k;
}

Test(preview, good_for_one_queue_and_a_time)
{
    struct cluster_keys k = keys_of(1), other = keys_of(2);
    char t[PREVIEW_TEXT_CAP];

    preview_write(t, &k, "login", 10000);
    cr_expect(preview_ok(t, &k, "login", 9000));
    cr_expect(preview_ok(t, &k, "login", 10000));
    cr_expect_not(preview_ok(t, &k, "login", 10001), "over");
    cr_expect_not(preview_ok(t, &k, "login", 10000 - 2 * PREVIEW_TTL_S - 1), "too long");
    cr_expect_not(preview_ok(t, &k, "logi", 9000));
    cr_expect_not(preview_ok(t, &other, "login", 9000));
}

/* While the cluster's secret changes, both are good. */
Test(preview, both_secrets_count)
{
    struct cluster_keys old = keys_of(1), k = keys_of(2);
    char t[PREVIEW_TEXT_CAP];

    preview_write(t, &old, "login", 10000);
    cr_expect_not(preview_ok(t, &k, "login", 9000));
    memcpy(k.other_link, old.link, sizeof(k.other_link));
    k.has_other_link = true;
    cr_expect(preview_ok(t, &k, "login", 9000));
    preview_write(t, &k, "login", 10000);
    cr_expect(preview_ok(t, &k, "login", 9000));
}

Test(preview, nothing_else_is_good)
{
    struct cluster_keys k = keys_of(1);
    char t[PREVIEW_TEXT_CAP], changed[PREVIEW_TEXT_CAP + 2];

    preview_write(t, &k, "login", 10000);
    for (size_t i = 0; t[i] != '\0'; i++) {
        strcpy(changed, t);
        changed[i] ^= 1;
        cr_expect_not(preview_ok(changed, &k, "login", 9000), "%s", changed);
        strcpy(changed, t);
        changed[i] = '\0';
        cr_expect_not(preview_ok(changed, &k, "login", 9000), "%s", changed);
    }
    strcpy(changed, t);
    strcat(changed, "0");
    cr_expect_not(preview_ok(changed, &k, "login", 9000));
    cr_expect_not(preview_ok("", &k, "login", 9000));
    cr_expect_not(preview_ok(".", &k, "login", 9000));
    cr_expect_not(preview_ok("99999999999999999999.00", &k, "login", 9000));
}

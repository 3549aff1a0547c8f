/* test_task_token.c: a fixed answer, round trips, and that nothing but the one true text is
 * accepted: of tasks' tokens and of leases. */
#include "common/ticket/token.h"

#include "tests/lib/criterion.h"
#include <string.h>

#include "common/base/err.h"
#include "common/base/rng.h"

static struct token_key key_00_0f(void)
{
    struct token_key k = { 0 };

    for (unsigned i = 0; i < TOKEN_KEY_BYTES; i++)
        k.mac[i] = (uint8_t)i;
    return k;
}

Test(task_token, known_answer)
{
    static const char want[] = "IAECAwQFBgcICQoLDAAAAAAHmY5QZqoxjA6813sadjMK";
    struct token_key k = key_00_0f();
    char text[TASK_TOKEN_LEN + 1] = { 0 };
    uint32_t part;
    uint64_t no;

    task_token_write(0x01020304, 0x05060708090a0b0c, &k, text);
    cr_expect_str_eq(text, want);
    cr_expect_eq(task_token_read(&part, &no, &k, text, TASK_TOKEN_LEN), 0);
    cr_expect_eq(part, 0x01020304);
    cr_expect_eq(no, 0x05060708090a0b0c);
}

Test(task_token, any_changed_character_is_refused)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/= .";
    struct token_key k = key_00_0f();
    char text[TASK_TOKEN_LEN + 1] = { 0 };
    struct rng r;
    uint32_t part;
    uint64_t no;

    rng_seed(&r, 5);
    for (unsigned i = 0; i < 200; i++) {
        uint32_t p = (uint32_t)rng_u64(&r);
        uint64_t n = rng_u64(&r);

        task_token_write(p, n, &k, text);
        cr_assert_eq(task_token_read(&part, &no, &k, text, TASK_TOKEN_LEN), 0);
        cr_assert(part == p && no == n);
        for (unsigned at = 0; at < TASK_TOKEN_LEN; at++) {
            char was = text[at];

            for (const char *d = digits; *d != '\0'; d++) {
                text[at] = *d;
                cr_assert(*d == was || task_token_read(&part, &no, &k, text, TASK_TOKEN_LEN) < 0);
            }
            text[at] = was;
        }
    }
    cr_expect_eq(task_token_read(&part, &no, &k, text, TASK_TOKEN_LEN - 1), SQ_EINVAL);
    cr_expect_eq(task_token_read(&part, &no, &k, "", 0), SQ_EINVAL);
}

Test(task_token, the_cluster_s_other_key_is_accepted_while_it_has_one)
{
    struct token_key k = key_00_0f(), later = key_00_0f();
    char text[TASK_TOKEN_LEN];
    uint32_t part;
    uint64_t no;

    task_token_write(7, 8, &k, text);
    memcpy(later.other_mac, k.mac, sizeof(k.mac));
    later.mac[0] ^= 1;
    cr_expect_eq(task_token_read(&part, &no, &later, text, sizeof(text)), SQ_EAUTH);
    later.has_other = true;
    cr_expect_eq(task_token_read(&part, &no, &later, text, sizeof(text)), 0);
}

Test(task_token, a_lease_has_one_text)
{
    static const uint64_t some[] = { 0, 1, UINT64_MAX, 0x0123456789abcdef };
    char text[LEASE_TEXT_LEN + 1] = { 0 };
    uint64_t got;

    for (unsigned i = 0; i < ARRAY_LEN(some); i++) {
        lease_write(some[i], text);
        cr_expect(lease_read(&got, text, LEASE_TEXT_LEN) && got == some[i]);
        text[LEASE_TEXT_LEN - 1]++; /* the two spare bits */
        cr_expect_not(lease_read(&got, text, LEASE_TEXT_LEN));
    }
    cr_expect_not(lease_read(&got, "AAAAAAAAAA", 10));
    cr_expect_not(lease_read(&got, "AAAAAAAAAA=", 11));
    cr_expect_not(lease_read(&got, "irde\215000000", 11)); /* libsodium takes it */
}

Test(task_token, a_right_has_one_text_and_one_mac_under_each_seed)
{
    const uint8_t seed[RIGHT_KEY_BYTES] = { 7 }, other[RIGHT_KEY_BYTES] = { 8 };
    struct attempt_right r = { .part = 3, .no = 17, .lease = 5, .attempt = 2 }, read;
    char text[RIGHT_TEXT_LEN + 1] = { 0 };

    right_sign(&r, seed);
    right_write(&r, text);
    cr_expect_eq(text[0], 'M', "no task's token, and no ticket's, begins so");
    cr_assert(right_read(&read, text, RIGHT_TEXT_LEN));
    cr_expect(read.part == 3 && read.no == 17 && read.lease == 5 && read.attempt == 2);
    cr_expect(right_is_signed(&read, seed));
    cr_expect_not(right_is_signed(&read, other));
    for (unsigned at = 0; at < RIGHT_TEXT_LEN; at++) {
        char was = text[at];

        for (const char *d = "AMz9-_+/= ."; *d != '\0'; d++) {
            text[at] = *d;
            cr_expect(*d == was || !right_read(&read, text, RIGHT_TEXT_LEN) ||
                      !right_is_signed(&read, seed), "%u %c", at, *d);
        }
        text[at] = was;
    }
    cr_expect_not(right_read(&read, text, RIGHT_TEXT_LEN - 1));
    cr_expect_not(right_read(&read, text, TASK_TOKEN_LEN));
}

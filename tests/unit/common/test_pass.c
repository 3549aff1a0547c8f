/* test_pass.c: a fixed key and fixed claims give a fixed JWT (made by another program);
 * what is not signed by us, or not JWT, is refused. */
#include "common/ticket/pass.h"

#include "tests/lib/criterion.h"
#include <sodium.h>
#include <string.h>

#include "common/base/err.h"

static const char want[] =
    "eyJhbGciOiJFZERTQSIsInR5cCI6IkpXVCIsImtpZCI6IjF4Q0xRaThsekY0In0."
    "eyJpc3MiOiJzZWdxIiwiYXVkIjoibG9naW4iLCJzdWIiOiJhbm5hIFwieFwiIiwianRpIjoiMTctNDIiLCJp"
    "YXQiOjE3MDAwMDAwMDAsIm5iZiI6MTcwMDAwMDAwMCwiZXhwIjoxNzAwMDAwMzAwLCJsYW5lIjoiZGVmYXVs"
    "dCJ9."
    "dSMwXqDonQSH4TvGIL4owpemZ9tB7bIOky-eAKyiphKl2plgar9jZOWH0Mhm99213b0-FdPgM1nrKvIp8zm4"
    "CA";

static struct pass_key rfc_8032_key(void)
{
    static const char hex[] =
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    uint8_t seed[32];
    struct pass_key k;

    cr_assert_geq(sodium_init(), 0);
    sodium_hex2bin(seed, sizeof(seed), hex, strlen(hex), NULL, NULL, NULL);
    crypto_sign_seed_keypair(k.public, k.secret, seed);
    return k;
}

static struct pass_claims claims(void)
{
    return (struct pass_claims){ .iss = "segq", .aud = "login", .lane = "default",
                                 .sub = "anna \"x\"", .sub_len = 8, .seg = 17, .number = 42,
                                 .iat_s = 1700000000, .exp_s = 1700000300 };
}

/* A JWT with that header and payload, signed with our key. */
static size_t sign(char *out, const char *head, const char *body)
{
    struct pass_key k = rfc_8032_key();
    uint8_t sig[64];
    size_t n;

    sodium_bin2base64(out, 1000, (const uint8_t *)head, strlen(head), 7);
    strcat(out, ".");
    n = strlen(out);
    sodium_bin2base64(out + n, 4000, (const uint8_t *)body, strlen(body), 7);
    n = strlen(out);
    crypto_sign_detached(sig, NULL, (uint8_t *)out, n, k.secret);
    strcat(out, ".");
    sodium_bin2base64(out + n + 1, 100, sig, 64, 7);
    return strlen(out);
}

static int check(const char *jwt, size_t n, struct pass_view *v)
{
    struct pass_key k = rfc_8032_key();

    return pass_check(v, jwt, n, (const uint8_t(*)[32])k.public, 1);
}

Test(pass, known_answer_and_the_same_again)
{
    struct pass_key k = rfc_8032_key();
    struct pass_claims c = claims();
    char out[1400];
    int n = pass_make(&c, &k, out, sizeof(out));

    cr_assert_eq(n, (int)strlen(want));
    cr_expect_eq(memcmp(out, want, (size_t)n), 0, "%.*s", n, out);
}

Test(pass, checked_claims)
{
    struct pass_view v;

    cr_assert_eq(check(want, strlen(want), &v), 0);
    cr_expect_str_eq(v.iss, "segq");
    cr_expect_str_eq(v.aud, "login");
    cr_expect_str_eq(v.sub, "anna \"x\"");
    cr_expect_str_eq(v.jti, "17-42");
    cr_expect_str_eq(v.lane, "default");
    cr_expect_eq(v.iat_s, 1700000000);
    cr_expect_eq(v.nbf_s, 1700000000);
    cr_expect_eq(v.exp_s, 1700000300);
}

Test(pass, the_ticket_is_the_default_subject)
{
    struct pass_key k = rfc_8032_key();
    struct pass_claims c = claims();
    struct pass_view v;
    char out[1400];
    int n;

    c.sub = NULL;
    n = pass_make(&c, &k, out, sizeof(out));
    cr_assert_gt(n, 0);
    cr_assert_eq(check(out, (size_t)n, &v), 0);
    cr_expect_str_eq(v.sub, "17-42");
}

Test(pass, longest_subject_fits_and_too_small_a_buffer_is_said)
{
    struct pass_key k = rfc_8032_key();
    struct pass_claims c = claims();
    char sub[SUBJECT_MAX_LEN], out[1400];
    struct pass_view v;
    int n;

    memset(sub, 0x01, sizeof(sub)); /* each becomes six characters */
    c.sub = sub;
    c.sub_len = sizeof(sub);
    n = pass_make(&c, &k, out, sizeof(out));
    cr_assert_gt(n, 0);
    cr_assert_eq(check(out, (size_t)n, &v), 0);
    cr_expect_eq(strlen(v.sub), sizeof(sub));
    for (size_t cap = 0; cap < (size_t)n; cap++)
        cr_assert_eq(pass_make(&c, &k, out, cap), SQ_ETOOBIG);
    cr_expect_eq(pass_make(&c, &k, out, (size_t)n), n);
}

Test(pass, any_changed_character_is_refused)
{
    struct pass_view v;
    char jwt[sizeof(want)];

    for (size_t i = 0; i < strlen(want); i++) {
        memcpy(jwt, want, sizeof(want));
        jwt[i] = jwt[i] == 'A' ? 'B' : 'A';
        cr_assert_lt(check(jwt, strlen(want), &v), 0, "at %zu", i);
    }
    for (size_t n = 0; n < strlen(want); n++)
        cr_assert_lt(check(want, n, &v), 0);
}

Test(pass, old_and_new_key)
{
    struct pass_key ours = rfc_8032_key(), other;
    struct pass_view v;
    uint8_t keys[2][32];

    crypto_sign_keypair(other.public, other.secret);
    memcpy(keys[0], other.public, 32);
    memcpy(keys[1], ours.public, 32);
    cr_expect_eq(pass_check(&v, want, strlen(want), (const uint8_t(*)[32])keys, 2), 0);
    cr_expect_eq(pass_check(&v, want, strlen(want), (const uint8_t(*)[32])keys, 1), SQ_EAUTH);
    cr_expect_eq(pass_check(&v, want, strlen(want), NULL, 0), SQ_EAUTH);
}

Test(pass, headers)
{
    static const struct {
        const char *head;
        int rc;
    } t[] = {
        { "{\"alg\":\"EdDSA\"}", 0 },
        { "{\"alg\":\"EdDSA\",\"kid\":\"operator-1\"}", 0 },
        { "{\"alg\":\"none\"}", SQ_EINVAL },
        { "{\"alg\":\"HS256\"}", SQ_EINVAL },
        { "{\"alg\":\"EdDSA\",\"alg\":\"none\"}", SQ_EINVAL },
        { "{\"alg\":\"EdDSA\",\"crit\":[\"b64\"]}", SQ_EINVAL },
        { "{\"alg\":7}", SQ_EINVAL },
        { "[]", SQ_EINVAL },
        { "{\"alg\":\"EdDSA\"", SQ_EINVAL },
    };
    char jwt[8000];
    struct pass_view v;

    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        size_t n = sign(jwt, t[i].head, "{\"exp\":5}");

        cr_expect_eq(check(jwt, n, &v), t[i].rc, "%s", t[i].head);
    }
}

Test(pass, payloads)
{
    static const struct {
        const char *body;
        int rc;
    } t[] = {
        { "{}", 0 },
        { "{\"exp\":1.5e9,\"nbf\":3,\"more\":[{}]}", 0 },
        { "{\"exp\":\"5\"}", SQ_EINVAL },
        { "{\"exp\":1e300}", SQ_EINVAL },
        { "{\"aud\":[\"a\"]}", SQ_EINVAL },
        { "{\"exp\":1,\"exp\":2}", SQ_EINVAL },
        { "{\"sub\":\"a\\u0000b\"}", SQ_EINVAL },
        { "nonsense", SQ_EINVAL },
    };
    char jwt[8000], big[1300];
    struct pass_view v;

    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        size_t n = sign(jwt, "{\"alg\":\"EdDSA\"}", t[i].body);

        cr_expect_eq(check(jwt, n, &v), t[i].rc, "%s", t[i].body);
    }
    memset(big, ' ', sizeof(big));
    memcpy(big, "{}", 2);
    big[sizeof(big) - 1] = '\0';
    cr_expect_eq(check(jwt, sign(jwt, "{\"alg\":\"EdDSA\"}", big), &v), SQ_EINVAL);
}

Test(pass, one_without_an_end_is_over)
{
    struct pass_view v;
    char jwt[6000];
    size_t n = sign(jwt, "{\"alg\":\"EdDSA\",\"typ\":\"JWT\"}",
                    "{\"iss\":\"segq\",\"aud\":\"login\",\"sub\":\"a\",\"jti\":\"1-2\","
                    "\"lane\":\"default\",\"iat\":1700000000}");

    cr_assert_eq(check(jwt, n, &v), 0);
    cr_expect_eq(v.exp_s, 0);
}

/* test_web_push.c: the example of RFC 8291 (section 5, appendix A); who sends it; foreign subscriptions. */
#include "router/state/contact.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <sodium.h>
#include <string.h>

#include "tests/lib/criterion.h"

#define P256DH "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
#define AUTH   "BTBZMqHH6r4Tts7J_aSIgg"
#define SUB(endpoint, p256dh, auth) "{\"endpoint\":\"" endpoint "\",\"expirationTime\":null,\"keys\":{\"p256dh\":\"" p256dh "\",\"auth\":\"" auth "\"}}"

static const char *read_of(struct web_push *w, const char *json)
{
    static char copy[1000];

    snprintf(copy, sizeof(copy), "%s", json);
    return web_push_read(w, (struct slice){ copy, strlen(copy) });
}

static size_t bytes(uint8_t *out, size_t cap, const char *text)
{
    size_t n = 0;

    cr_assert_eq(sodium_base642bin(out, cap, text, strlen(text), NULL, &n, NULL, sodium_base64_VARIANT_URLSAFE_NO_PADDING), 0);
    return n;
}

Test(web_push, the_example_of_the_rfc)
{
    static char said[] = "When I grow up, I want to be a watermelon";
    uint8_t secret[32], salt[16], want[300];
    struct web_push w;
    struct buf b;
    size_t n;

    buf_init(&b);
    cr_assert_null(read_of(&w, SUB("https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV", P256DH, AUTH)));
    cr_expect_str_eq(w.host, "push.example.net");
    cr_expect_str_eq(w.path, "/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV");
    bytes(secret, sizeof(secret), "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw");
    bytes(salt, sizeof(salt), "DGv6ra1nlYgDCS1FRnbzlw");
    n = bytes(want, sizeof(want), "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLoc"
                                  "InmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLV"
                                  "WGNWQexSgSxsj_Qulcy4a-fN");
    cr_assert_eq(web_push_seal_with(&w, secret, salt, (struct slice){ said, strlen(said) }, &b), 0);
    cr_assert_eq(b.len, n);
    cr_expect_arr_eq(b.data, want, n);
    buf_reset(&b);
    cr_assert_eq(web_push_seal(&w, (struct slice){ said, strlen(said) }, &b), 0);
    cr_expect_eq(b.len, n);
    cr_expect_neq(memcmp(b.data, want, n), 0, "a key and a salt of its own");
    memcpy(want, b.data, n);
    buf_reset(&b);
    cr_assert_eq(web_push_seal(&w, (struct slice){ said, strlen(said) }, &b), 0);
    cr_expect_neq(memcmp(b.data, want, PUSH_SALT), 0, "a salt for each message");
    cr_expect_neq(memcmp(b.data + PUSH_SALT + 5, want + PUSH_SALT + 5, P256_POINT), 0, "a key for each message");
    w.point[10] ^= 1;
    cr_expect_eq(web_push_seal(&w, (struct slice){ said, strlen(said) }, &b), SQ_EINVAL, "no point of the curve");
    buf_fini(&b);
}

/* Reads the signature with the key that the word names. */
static bool is_signed(const char *token, size_t n, const uint8_t point[P256_POINT], const uint8_t raw[64])
{
    OSSL_PARAM_BLD *b = OSSL_PARAM_BLD_new();
    EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    EVP_MD_CTX *m = EVP_MD_CTX_new();
    ECDSA_SIG *s = ECDSA_SIG_new();
    OSSL_PARAM *params;
    EVP_PKEY *key = NULL;
    uint8_t *der = NULL;
    int der_n;
    bool ok;

    OSSL_PARAM_BLD_push_utf8_string(b, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
    OSSL_PARAM_BLD_push_octet_string(b, OSSL_PKEY_PARAM_PUB_KEY, point, P256_POINT);
    params = OSSL_PARAM_BLD_to_param(b);
    cr_assert(EVP_PKEY_fromdata_init(c) == 1 && EVP_PKEY_fromdata(c, &key, EVP_PKEY_PUBLIC_KEY, params) == 1);
    ECDSA_SIG_set0(s, BN_bin2bn(raw, 32, NULL), BN_bin2bn(raw + 32, 32, NULL));
    der_n = i2d_ECDSA_SIG(s, &der);
    ok = EVP_DigestVerifyInit(m, NULL, EVP_sha256(), NULL, key) == 1 &&
         EVP_DigestVerify(m, der, (size_t)der_n, (const uint8_t *)token, n) == 1;
    OPENSSL_free(der);
    ECDSA_SIG_free(s);
    EVP_MD_CTX_free(m);
    EVP_PKEY_free(key);
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(b);
    EVP_PKEY_CTX_free(c);
    return ok;
}

Test(web_push, who_sends_it_can_be_checked)
{
    uint8_t contact[CONTACT_KEY_BYTES] = { 7 }, other[CONTACT_KEY_BYTES] = { 8 }, claims[300], raw[64], point[P256_POINT];
    struct web_push_key k, again, k2;
    char *token, *dot, *last, *comma;
    struct buf b;

    buf_init(&b);
    cr_assert(web_push_key_of(&k, contact) == 0 && web_push_key_of(&again, contact) == 0 && web_push_key_of(&k2, other) == 0);
    cr_expect_str_eq(k.text, again.text, "the same at all routers");
    cr_expect_str_neq(k.text, k2.text);
    cr_expect_eq(strlen(k.text), PUSH_KEY_LEN);
    cr_assert_eq(web_push_authorize(&k, "push.example.net", 1453523768, "mailto:push@example.com", &b), 0);
    buf_byte(&b, 0);
    token = (char *)b.data + strlen("vapid t=");
    cr_assert_eq(strncmp((char *)b.data, "vapid t=eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.", 45), 0, "the head of RFC 8292, 2.4");
    dot = strchr(token, '.');
    last = strrchr(token, '.');
    comma = strstr(last, ",k=");
    cr_assert(comma != NULL);
    *comma = '\0';
    *last = '\0';
    claims[bytes(claims, sizeof(claims) - 1, dot + 1)] = '\0';
    cr_expect_str_eq((char *)claims, "{\"aud\":\"https://push.example.net\",\"exp\":1453523768,\"sub\":\"mailto:push@example.com\"}");
    cr_assert_eq(bytes(raw, sizeof(raw), last + 1), 64);
    cr_assert_eq(bytes(point, sizeof(point), comma + 3), P256_POINT);
    cr_expect(is_signed(token, strlen(token), point, raw));
    raw[5] ^= 1;
    cr_expect(!is_signed(token, strlen(token), point, raw));
    buf_fini(&b);
}

Test(web_push, what_is_foreign_is_looked_at)
{
    static const char *const bad[] = {
        "{}", "[]", "\"x\"", SUB("http://push.example/x", P256DH, AUTH), SUB("https://push.example:8443/x", P256DH, AUTH),
        SUB("https://a@push.example/x", P256DH, AUTH), SUB("https:///x", P256DH, AUTH), SUB("https://push.example", P256DH, AUTH),
        SUB("https://push.example/../x", P256DH, AUTH), SUB("https://push.example/a b", P256DH, AUTH),
        SUB("https://push.example/x#y", P256DH, AUTH), SUB("https://push.example/\\u0000", P256DH, AUTH),
        SUB("https://push.example/x", "BCV", AUTH), SUB("https://push.example/x", P256DH, "BTBZ"),
        SUB("https://push.example/x", P256DH, "BTBZMqHH6r4Tts7J_aSIgg+"), SUB("https://push.example/x", P256DH "AA", AUTH),
        "{\"endpoint\":7,\"keys\":{\"p256dh\":\"" P256DH "\",\"auth\":\"" AUTH "\"}}",
    };
    char queue[TASK_NAME_MAX + 1];
    struct web_push w;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_not_null(read_of(&w, bad[i]), "%s", bad[i]);
    cr_assert_null(read_of(&w, SUB("https://Push.Example/x?token=a%2Fb", P256DH, AUTH "==")));
    cr_expect(web_push_queue(&w, "shop", queue));
    cr_expect_str_eq(queue, "shop/push.example");
    cr_assert_null(read_of(&w, SUB("https://[::1]/x", P256DH, AUTH)));
    cr_expect(!web_push_queue(&w, "shop", queue), "no queue is called so");
    snprintf(w.host, sizeof(w.host), "%0*d", TASK_NAME_MAX - 4, 0);
    cr_expect(!web_push_queue(&w, "shop", queue));
}

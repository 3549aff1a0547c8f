/* proofs.h: proofs of keys as a browser makes them (router/gate/proof.h), and bad ones. */
#ifndef SEGQ_TESTS_PROOFS_H
#define SEGQ_TESTS_PROOFS_H

#include <criterion/criterion.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define PROOF_B64 sodium_base64_VARIANT_URLSAFE_NO_PADDING

struct proof_key {
    EVP_PKEY *pair;
    char x[44], y[44];
};

static inline void proof_key_new(struct proof_key *k)
{
    unsigned char point[65];
    size_t n;

    k->pair = EVP_EC_gen("P-256");
    cr_assert_eq(EVP_PKEY_get_octet_string_param(k->pair, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point), &n), 1);
    cr_assert(n == 65 && point[0] == 4);
    sodium_bin2base64(k->x, sizeof(k->x), point + 1, 32, PROOF_B64);
    sodium_bin2base64(k->y, sizeof(k->y), point + 33, 32, PROOF_B64);
}

static inline void proof_sign(const struct proof_key *k, const char *text, unsigned char raw[64])
{
    unsigned char der[100];
    const unsigned char *at = der;
    size_t n = sizeof(der);
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    ECDSA_SIG *s;

    cr_assert_eq(EVP_DigestSignInit(c, NULL, EVP_sha256(), NULL, k->pair), 1);
    cr_assert_eq(EVP_DigestSign(c, der, &n, (const unsigned char *)text, strlen(text)), 1);
    s = d2i_ECDSA_SIG(NULL, &at, (long)n);
    cr_assert_eq(BN_bn2binpad(ECDSA_SIG_get0_r(s), raw, 32), 32);
    cr_assert_eq(BN_bn2binpad(ECDSA_SIG_get0_s(s), raw + 32, 32), 32);
    ECDSA_SIG_free(s);
    EVP_MD_CTX_free(c);
}

/* Of any head and body, signed by k; in one buffer, until the next. */
static inline char *proof_of(const struct proof_key *k, const char *head, const char *body)
{
    static char text[4096];
    unsigned char raw[64];
    size_t n;

    sodium_bin2base64(text, sizeof(text), (const unsigned char *)head, strlen(head), PROOF_B64);
    strcat(text, ".");
    n = strlen(text);
    sodium_bin2base64(text + n, sizeof(text) - n, (const unsigned char *)body, strlen(body), PROOF_B64);
    proof_sign(k, text, raw);
    strcat(text, ".");
    n = strlen(text);
    sodium_bin2base64(text + n, sizeof(text) - n, raw, sizeof(raw), PROOF_B64);
    return text;
}

static inline const char *proof_head(const struct proof_key *k)
{
    static char head[300];

    snprintf(head, sizeof(head), "{\"typ\":\"dpop+jwt\",\"alg\":\"ES256\",\"jwk\":{\"kty\":\"EC\",\"crv\":\"P-256\","
             "\"x\":\"%s\",\"y\":\"%s\"}}", k->x, k->y);
    return head;
}

static inline const char *proof_body(const char *htu, const char *nonce)
{
    static char body[600];

    snprintf(body, sizeof(body), "{\"htm\":\"POST\",\"htu\":\"https://shop.example%s\",\"iat\":1,\"jti\":\"a\","
             "\"nonce\":\"%s\"}", htu, nonce);
    return body;
}

#endif

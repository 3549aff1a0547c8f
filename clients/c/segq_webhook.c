/* segq_webhook.c: see segq_tasks.h. Standard Webhooks: HMAC-SHA256 (v1), Ed25519 (v1a). */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "segq_http.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SIGNATURES 16 /* of one call, that are looked at */
#define KEY_MAX    64

struct key {
    const char *version;
    unsigned char raw[KEY_MAX + 4];
    size_t n;
};

/* The bytes of n characters of base64, with padding; -1: it is none, or longer than that. */
static int bytes_of(const char *text, size_t n, unsigned char *out, size_t cap)
{
    int got;

    if (n == 0 || n % 4 != 0 || n / 4 * 3 > cap ||
        strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") < n)
        return -1;
    got = EVP_DecodeBlock(out, (const unsigned char *)text, (int)n);
    return got < 0 ? -1 : got - (text[n - 1] == '=') - (text[n - 2] == '=');
}

static int read_key(struct key *k, const char *text)
{
    int hmac = strncmp(text, "whsec_", 6) == 0, open = strncmp(text, "whpk_", 5) == 0, got;

    if (!hmac && !open)
        return -1;
    text += hmac ? 6 : 5;
    got = bytes_of(text, strcspn(text, " \r\n"), k->raw, sizeof(k->raw));
    if (got < 0 || (hmac && (got < 24 || got > KEY_MAX)) || (open && got != 32))
        return -1;
    k->version = hmac ? "v1" : "v1a";
    k->n = (size_t)got;
    return 0;
}

static int is_signed(const struct key *k, const unsigned char *sig, size_t n, const void *text,
                     size_t size)
{
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned n_mac = 0;
    EVP_PKEY *key;
    EVP_MD_CTX *c;
    int good;

    if (strcmp(k->version, "v1") == 0)
        return HMAC(EVP_sha256(), k->raw, (int)k->n, text, size, mac, &n_mac) != NULL &&
               n == n_mac && CRYPTO_memcmp(mac, sig, n) == 0;
    key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, k->raw, k->n);
    c = EVP_MD_CTX_new();
    good = key != NULL && c != NULL && n == 64 &&
           EVP_DigestVerifyInit(c, NULL, NULL, NULL, key) == 1 &&
           EVP_DigestVerify(c, sig, n, text, size) == 1;
    EVP_MD_CTX_free(c);
    EVP_PKEY_free(key);
    return good;
}

/* Has any of the keys made any of the signatures ("v1,BASE64 v1a,BASE64")? */
static int is_known(const char *const *keys, size_t n, const char *said, const void *text,
                    size_t size)
{
    for (int i = 0; i < SIGNATURES && *said != '\0'; i++) {
        const char *comma = strchr(said, ',');
        size_t end = strcspn(said, " ");
        unsigned char sig[96];
        struct key k;
        int got = -1;

        if (comma != NULL && comma < said + end)
            got = bytes_of(comma + 1, end - (size_t)(comma + 1 - said), sig, sizeof(sig));
        for (size_t j = 0; got > 0 && j < n; j++)
            if (read_key(&k, keys[j]) == 0 && strlen(k.version) == (size_t)(comma - said) &&
                strncmp(said, k.version, (size_t)(comma - said)) == 0 &&
                is_signed(&k, sig, (size_t)got, text, size))
                return 1;
        said += end + (said[end] == ' ');
    }
    return 0;
}

static int not_signed(struct segq_error *e, const char *why)
{
    segq_fail(e, SEGQ_SIGNATURE, 401, "signature_invalid", why);
    return -1;
}

int segq_webhook_verify(const char *const *keys, size_t n, const char *id, const char *timestamp,
                        const char *signature, const void *body, size_t size, long tolerance_s,
                        struct segq_error *e)
{
    size_t head;
    long long at, now = (long long)time(NULL);
    struct key k;
    char *text;
    int good;

    for (size_t i = 0; i < n; i++)
        if (read_key(&k, keys[i]) < 0)
            return not_signed(e, "a key: whsec_ and base64 of 24 to 64 bytes, or whpk_ of 32");
    if (id == NULL || timestamp == NULL || signature == NULL)
        return not_signed(e, "a header is missing: webhook-id, -timestamp or -signature");
    if (strchr(id, '.') != NULL) /* it parts what is signed, which could be parted elsewhere */
        return not_signed(e, "webhook-id has a full stop");
    if (timestamp[0] == '\0' || strspn(timestamp, "0123456789") != strlen(timestamp) ||
        strlen(timestamp) > 18)
        return not_signed(e, "webhook-timestamp is no number");
    at = atoll(timestamp);
    tolerance_s = tolerance_s > 0 ? tolerance_s : 300;
    if (at > now + tolerance_s || at < now - tolerance_s)
        return not_signed(e, "too old, or one of the two clocks is wrong");
    head = strlen(id) + strlen(timestamp) + 2;
    text = malloc(head + size + 1);
    if (text == NULL)
        return not_signed(e, "no memory");
    snprintf(text, head + 1, "%s.%s.", id, timestamp);
    if (size > 0)
        memcpy(text + head, body, size);
    good = is_known(keys, n, signature, text, head + size);
    free(text);
    return good ? 0 : not_signed(e, "no signature of a key that is known");
}

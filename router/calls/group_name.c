/* group_name.c: see group_name.h. */
#include "router/calls/group_name.h"

#include <sodium.h>
#include <string.h>

#define VERSION   1 /* others are given up; */
#define KEEPS     2 /* they are kept: older routers refuse the name */
#define ONE_BYTES 16 /* segment, number, time of issue */
#define PLAIN_MAX (2 + ONE_BYTES * PLACES_MAX)
#define NONCE     crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG       crypto_aead_xchacha20poly1305_ietf_ABYTES
#define RAW_MAX   (NONCE + PLAIN_MAX + TAG)

_Static_assert(GROUP_NAME_ROOM >= (RAW_MAX * 4 + 2) / 3 + 1, "it holds the longest name");

static void seal_key(uint8_t key[32], const uint8_t mac[TOKEN_KEY_BYTES])
{
    static const char what[] = "segq places 1";

    crypto_generichash(key, 32, (const uint8_t *)what, sizeof(what) - 1, mac, TOKEN_KEY_BYTES);
}

void group_name_write(const struct places *p, const struct token_key *k, char out[GROUP_NAME_ROOM])
{
    uint8_t raw[RAW_MAX], plain[PLAIN_MAX] = { p->keeps ? KEEPS : VERSION, (uint8_t)p->v[0].token.client }, key[32];
    uint8_t *at = plain + 2;
    unsigned long long n;

    for (unsigned i = 0; i < p->n; i++, at += ONE_BYTES) {
        memcpy(at, &p->v[i].token.seg, 8);
        memcpy(at + 8, &p->v[i].token.number, 4);
        memcpy(at + 12, &p->v[i].token.issued_s, 4);
    }
    seal_key(key, k->mac);
    randombytes_buf(raw, NONCE);
    crypto_aead_xchacha20poly1305_ietf_encrypt(raw + NONCE, &n, plain, (size_t)(at - plain), NULL, 0, NULL,
                                               raw, key);
    sodium_bin2base64(out, GROUP_NAME_ROOM, raw, NONCE + n, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

static bool unseal(uint8_t plain[PLAIN_MAX], size_t *len, const uint8_t *raw, size_t n,
                   const uint8_t mac[TOKEN_KEY_BYTES])
{
    unsigned long long got = 0;
    uint8_t key[32];

    seal_key(key, mac);
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(plain, &got, NULL, raw + NONCE, n - NONCE, NULL, 0, raw,
                                                   key) != 0)
        return false;
    *len = got;
    return got >= 2 + ONE_BYTES && (got - 2) % ONE_BYTES == 0 && (plain[0] == VERSION || plain[0] == KEEPS) &&
           plain[1] < CLIENT_NCLASSES;
}

bool group_name_read(struct places *p, const struct token_key *k, struct slice text)
{
    uint8_t raw[RAW_MAX], plain[PLAIN_MAX];
    const char *end = NULL;
    size_t n = 0, len = 0;

    if (text.n >= GROUP_NAME_ROOM ||
        sodium_base642bin(raw, sizeof(raw), text.p, text.n, NULL, &n, &end,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
        end != text.p + text.n || n < NONCE + TAG)
        return false;
    if (!unseal(plain, &len, raw, n, k->mac) &&
        !(k->has_other && unseal(plain, &len, raw, n, k->other_mac)))
        return false;
    p->n = (uint8_t)((len - 2) / ONE_BYTES);
    p->keeps = plain[0] == KEEPS;
    for (unsigned i = 0; i < p->n; i++) {
        struct token *t = &p->v[i].token;
        const uint8_t *at = plain + 2 + i * ONE_BYTES;

        memcpy(&t->seg, at, 8);
        memcpy(&t->number, at + 8, 4);
        memcpy(&t->issued_s, at + 12, 4);
        t->client = plain[1];
    }
    return true;
}

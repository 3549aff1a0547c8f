/* token.c: the text form, and the MAC by SipHash-2-4 with 128 bits.
 * On the path of every poll: no branch per character, no table, no allocation, one MAC. */
#include "common/ticket/token.h"

#include <sodium.h>

#include "common/base/err.h"

#define TOKEN_VERSION 1
#define FIELD_BYTES   25
#define MAC_BYTES     crypto_shorthash_siphashx24_BYTES
#define RAW_BYTES     (FIELD_BYTES + MAC_BYTES)
#define RAW_ROOM      48 /* three vectors */

_Static_assert(RAW_BYTES == 41 && TOKEN_TEXT_LEN == (RAW_BYTES * 8 + 5) / 6, "token size");
_Static_assert(TOKEN_KEY_BYTES == crypto_shorthash_siphashx24_KEYBYTES, "token key");

static inline void put64(uint8_t *p, uint64_t v)
{
    v = __builtin_bswap64(v);
    memcpy(p, &v, 8);
}

static inline uint64_t get64(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, 8);
    return __builtin_bswap64(v);
}

/* ---- the text ---- */

/* The last characters are fifteen: the sixteenth is an 'A', a 0. */
static inline chars16 last_of(const char *text)
{
    char t[16];

    memcpy(t, text + 40, 15);
    t[15] = 'A';
    return chars16_at(t);
}

/* False if a character is not ours, or the two spare bits at the end are not zero (that
 * would be a second spelling of the same token). */
static inline bool decode(const char *text, uint8_t raw[RAW_ROOM])
{
    chars16 bad = { 0 };
    chars16 a = chars64_bytes(chars64_values(chars16_at(text), &bad));
    chars16 b = chars64_bytes(chars64_values(chars16_at(text + 16), &bad));
    chars16 c = chars64_bytes(chars64_values(chars16_at(text + 32), &bad));
    chars16 d = chars64_bytes(chars64_values(last_of(text), &bad)); /* bytes 30..41 */

    /* Together first: words that lie in two stores make the processor wait. */
    a = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19);
    c = __builtin_shufflevector(b, c, 4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 20, 21, 22, 23);
    d = __builtin_shufflevector(d, d, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 12, 12, 12, 12, 12);
    memcpy(raw, &a, 16);
    memcpy(raw + 16, &c, 16);
    memcpy(raw + 32, &d, 16);
    return !chars16_any(bad) && raw[RAW_BYTES] == 0;
}

static inline void encode(const uint8_t raw[RAW_ROOM], char *out)
{
    static const uint8_t from[4] = { 0, 12, 24, 30 }; /* the last overlaps */

#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++) {
        chars16 c;

        memcpy(&c, raw + from[i], 16);
        c = chars64_of(c);
        memcpy(out + from[i] / 3 * 4, &c, i < 3 ? 16 : 15);
    }
}

/* ---- SipHash-2-4 of 25 bytes ---- */

static inline uint64_t rotl(uint64_t x, unsigned n)
{
    return x << n | x >> (64 - n);
}

static inline void rounds(uint64_t v[4], unsigned n)
{
#pragma GCC unroll 4
    for (unsigned i = 0; i < n; i++) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotl(v[1], 13) ^ v[0];
        v[3] = rotl(v[3], 16) ^ v[2];
        v[2] += v[1];
        v[0] = rotl(v[0], 32) + v[3];
        v[1] = rotl(v[1], 17) ^ v[2];
        v[3] = rotl(v[3], 21) ^ v[0];
        v[2] = rotl(v[2], 32);
    }
}

static inline void absorb(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    rounds(v, 2);
    v[0] ^= word;
}

/* Computes crypto_shorthash_siphashx24() without a call and a loop over lengths. mac may be
 * behind the 25 bytes. */
static inline void mac_of(const uint8_t raw[FIELD_BYTES], const uint8_t key[TOKEN_KEY_BYTES],
                          uint8_t mac[MAC_BYTES])
{
    uint64_t k[2], w[3];
    uint64_t v[4] = { 0x736f6d6570736575, 0x646f72616e646f6d ^ 0xee, 0x6c7967656e657261,
                      0x7465646279746573 };

    memcpy(k, key, sizeof(k));
    memcpy(w, raw, sizeof(w));
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++)
        v[i] ^= k[i & 1];
#pragma GCC unroll 3
    for (unsigned i = 0; i < 3; i++)
        absorb(v, w[i]);
    absorb(v, (uint64_t)FIELD_BYTES << 56 | raw[24]);
    v[2] ^= 0xee;
    rounds(v, 4);
    k[0] = v[0] ^ v[1] ^ v[2] ^ v[3];
    v[1] ^= 0xdd;
    rounds(v, 4);
    k[1] = v[0] ^ v[1] ^ v[2] ^ v[3];
    memcpy(mac, k, MAC_BYTES);
}

/* ---- tokens ---- */

void token_write(const struct token *t, const struct token_key *k, char *out)
{
    uint8_t raw[RAW_ROOM] = { 0 };

    put64(raw, (uint64_t)(TOKEN_VERSION << 4 | (t->client & 15)) << 56 | t->seg >> 8);
    put64(raw + 8, t->seg << 56 | (uint64_t)t->number << 24 | t->issued_s >> 8);
    put64(raw + 16, (uint64_t)t->issued_s << 56 | t->subject_hash >> 8);
    raw[24] = (uint8_t)t->subject_hash;
    mac_of(raw, k->mac, raw + FIELD_BYTES);
    encode(raw, out);
}

static inline bool mac_is_right(const uint8_t raw[RAW_ROOM], const uint8_t key[TOKEN_KEY_BYTES])
{
    const uint8_t *has = raw + FIELD_BYTES;
    uint8_t mac[MAC_BYTES];

    mac_of(raw, key, mac);
    return ((get64(mac) ^ get64(has)) | (get64(mac + 8) ^ get64(has + 8))) == 0; /* constant time */
}

int token_read(struct token *t, const struct token_key *k, const char *text, size_t len)
{
    uint8_t raw[RAW_ROOM];
    uint64_t w[3];

    if (len != TOKEN_TEXT_LEN || !decode(text, raw))
        return SQ_EINVAL;
    if (raw[0] >> 4 != TOKEN_VERSION || (raw[0] & 15) >= CLIENT_NCLASSES)
        return SQ_EINVAL;
    if (!mac_is_right(raw, k->mac) && !(k->has_other && mac_is_right(raw, k->other_mac)))
        return SQ_EAUTH;
    for (unsigned i = 0; i < 3; i++)
        w[i] = get64(raw + 8 * i);
    t->client = raw[0] & 15;
    t->seg = w[0] << 8 | w[1] >> 56;
    t->number = (uint32_t)(w[1] >> 24);
    t->issued_s = (uint32_t)(w[1] << 8 | w[2] >> 56);
    t->subject_hash = w[2] << 8 | raw[24];
    return 0;
}

uint64_t token_subject_hash(const struct token_key *k, queue_id q, const char *subject,
                            size_t len)
{
    uint8_t in[4 + SUBJECT_MAX_LEN], out[crypto_shorthash_siphash24_BYTES];
    uint64_t h;

    if (len > SUBJECT_MAX_LEN)
        len = SUBJECT_MAX_LEN; /* the API refuses longer ones before */
    q = __builtin_bswap32(q); /* the same on every machine */
    memcpy(in, &q, 4);
    memcpy(in + 4, subject, len);
    crypto_shorthash_siphash24(out, in, 4 + len, k->subject);
    h = get64(out);
    return h != 0 ? h : 1;
}

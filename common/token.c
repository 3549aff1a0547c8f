/* token.c: the text form by table, the MAC by SipHash-2-4 with 128 bits.
 * On the path of every poll: no branch per character, no allocation, one MAC. */
#include "common/token.h"

#include <sodium.h>
#include <string.h>

#include "common/err.h"

#define TOKEN_VERSION 1
#define FIELD_BYTES   25
#define MAC_BYTES     crypto_shorthash_siphashx24_BYTES
#define RAW_BYTES     (FIELD_BYTES + MAC_BYTES)

_Static_assert(RAW_BYTES == 41 && TOKEN_TEXT_LEN == (RAW_BYTES * 8 + 5) / 6, "token size");
_Static_assert(TOKEN_KEY_BYTES == crypto_shorthash_siphashx24_KEYBYTES, "token key");

static const char text_of[64] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

#define BAD 0x80 /* survives the OR over all characters */
#define B8  BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD
static const uint8_t value_of[256] = {
    B8, B8, B8, B8, B8, /* 0x00 .. 0x27 */
    BAD, BAD, BAD, BAD, BAD, 62, BAD, BAD, /* '-' */
    52, 53, 54, 55, 56, 57, 58, 59, /* '0' */
    60, 61, BAD, BAD, BAD, BAD, BAD, BAD,
    BAD, 0, 1, 2, 3, 4, 5, 6, /* 'A' */
    7, 8, 9, 10, 11, 12, 13, 14,
    15, 16, 17, 18, 19, 20, 21, 22,
    23, 24, 25, BAD, BAD, BAD, BAD, 63, /* '_' */
    BAD, 26, 27, 28, 29, 30, 31, 32, /* 'a' */
    33, 34, 35, 36, 37, 38, 39, 40,
    41, 42, 43, 44, 45, 46, 47, 48,
    49, 50, 51, BAD, BAD, BAD, BAD, BAD,
    B8, B8, B8, B8, B8, B8, B8, B8, B8, B8, B8, B8, B8, B8, B8, B8, /* 0x80 .. 0xff */
};

static inline void put32(uint8_t *p, uint32_t v)
{
    v = __builtin_bswap32(v);
    memcpy(p, &v, 4);
}

static inline void put64(uint8_t *p, uint64_t v)
{
    v = __builtin_bswap64(v);
    memcpy(p, &v, 8);
}

static inline uint32_t get32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, 4);
    return __builtin_bswap32(v);
}

static inline uint64_t get64(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, 8);
    return __builtin_bswap64(v);
}

/* 13 groups of 3 bytes, then 2 bytes as 3 characters. */
static void encode(const uint8_t raw[RAW_BYTES], char *out)
{
    uint32_t w;

    for (unsigned i = 0; i < 13; i++, raw += 3, out += 4) {
        w = (uint32_t)raw[0] << 16 | (uint32_t)raw[1] << 8 | raw[2];
        out[0] = text_of[w >> 18];
        out[1] = text_of[w >> 12 & 63];
        out[2] = text_of[w >> 6 & 63];
        out[3] = text_of[w & 63];
    }
    w = (uint32_t)raw[0] << 16 | (uint32_t)raw[1] << 8;
    out[0] = text_of[w >> 18];
    out[1] = text_of[w >> 12 & 63];
    out[2] = text_of[w >> 6 & 63];
}

/* False if a character is not ours, or the two spare bits at the end are not zero (that
 * would be a second spelling of the same token). */
static bool decode(const char *text, uint8_t raw[RAW_BYTES])
{
    const uint8_t *t = (const uint8_t *)text;
    uint32_t bad = 0;

    for (unsigned i = 0; i < 13; i++, t += 4, raw += 3) {
        uint32_t a = value_of[t[0]], b = value_of[t[1]];
        uint32_t c = value_of[t[2]], d = value_of[t[3]];
        uint32_t w = a << 18 | b << 12 | c << 6 | d;

        bad |= a | b | c | d;
        raw[0] = (uint8_t)(w >> 16);
        raw[1] = (uint8_t)(w >> 8);
        raw[2] = (uint8_t)w;
    }
    uint32_t a = value_of[t[0]], b = value_of[t[1]], c = value_of[t[2]];

    raw[0] = (uint8_t)(a << 2 | b >> 4);
    raw[1] = (uint8_t)(b << 4 | c >> 2);
    bad |= a | b | c;
    return (bad & BAD) == 0 && (c & 3) == 0;
}

void token_write(const struct token *t, const struct token_key *k, char *out)
{
    uint8_t raw[RAW_BYTES];

    raw[0] = (uint8_t)(TOKEN_VERSION << 4 | (t->client & 15));
    put64(raw + 1, t->seg);
    put32(raw + 9, t->number);
    put32(raw + 13, t->issued_s);
    put64(raw + 17, t->subject_hash);
    crypto_shorthash_siphashx24(raw + FIELD_BYTES, raw, FIELD_BYTES, k->mac);
    encode(raw, out);
}

int token_read(struct token *t, const struct token_key *k, const char *text, size_t len)
{
    uint8_t raw[RAW_BYTES], mac[MAC_BYTES];
    uint64_t want[2], have[2];

    if (len != TOKEN_TEXT_LEN || !decode(text, raw))
        return SQ_EINVAL;
    if (raw[0] >> 4 != TOKEN_VERSION || (raw[0] & 15) >= CLIENT_NCLASSES)
        return SQ_EINVAL;
    crypto_shorthash_siphashx24(mac, raw, FIELD_BYTES, k->mac);
    memcpy(want, mac, sizeof(want));
    memcpy(have, raw + FIELD_BYTES, sizeof(have));
    if (((want[0] ^ have[0]) | (want[1] ^ have[1])) != 0) /* constant time */
        return SQ_EAUTH;
    t->client = raw[0] & 15;
    t->seg = get64(raw + 1);
    t->number = get32(raw + 9);
    t->issued_s = get32(raw + 13);
    t->subject_hash = get64(raw + 17);
    return 0;
}

uint64_t token_subject_hash(const struct token_key *k, queue_id q, const char *subject,
                            size_t len)
{
    uint8_t in[4 + SUBJECT_MAX_LEN], out[crypto_shorthash_siphash24_BYTES];
    uint64_t h;

    if (len > SUBJECT_MAX_LEN)
        len = SUBJECT_MAX_LEN; /* the API refuses longer ones before */
    put32(in, q);
    memcpy(in + 4, subject, len);
    crypto_shorthash_siphash24(out, in, 4 + len, k->subject);
    h = get64(out);
    return h != 0 ? h : 1;
}

/* token.c: the text form, and the MAC by SipHash-2-4 with 128 bits.
 * On the path of every poll: no branch per character, no table, no allocation, one MAC. */
#include "common/ticket/token.h"

#include <sodium.h>
#include <string.h>

#include "common/base/err.h"

#define TOKEN_VERSION 1
#define FIELD_BYTES   25
#define MAC_BYTES     crypto_shorthash_siphashx24_BYTES
#define RAW_BYTES     (FIELD_BYTES + MAC_BYTES)

_Static_assert(RAW_BYTES == 41 && TOKEN_TEXT_LEN == (RAW_BYTES * 8 + 5) / 6, "token size");
_Static_assert(TOKEN_KEY_BYTES == crypto_shorthash_siphashx24_KEYBYTES, "token key");

static const char text_of[64] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

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

/* The bytes of a token as numbers: 25 bytes of fields, then the MAC. In registers,
 * because bytes written one by one and read back as words make the processor wait. */
struct raw {
    uint64_t w[3]; /* bytes 0..23, big endian */
    uint8_t last;  /* byte 24 */
    uint64_t m[2]; /* bytes 25..40 */
};

static inline void raw_fields(const struct raw *r, uint8_t out[FIELD_BYTES])
{
    put64(out, r->w[0]);
    put64(out + 8, r->w[1]);
    put64(out + 16, r->w[2]);
    out[24] = r->last;
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

/* Sixteen characters at once, by the vectors that GNU C has on every machine. */
typedef uint8_t chars16 __attribute__((vector_size(16)));

static inline chars16 values(chars16 c, chars16 *bad)
{
    chars16 upper = (chars16)((c - 'A') < 26), lower = (chars16)((c - 'a') < 26);
    chars16 digit = (chars16)((c - '0') < 10);
    chars16 dash = (chars16)(c == '-'), line = (chars16)(c == '_');

    *bad |= ~(upper | lower | digit | dash | line);
    return c - (upper & 'A') - (lower & ('a' - 26)) + (digit & (52 - '0')) +
           (dash & (62 - '-')) - (line & ('_' - 63));
}

/* Eight values of six bits, the first in the highest byte, moved together: 48 bits. */
static inline uint64_t together(uint64_t x)
{
    x = (x >> 2 & 0x0fc00fc00fc00fc0) | (x & 0x003f003f003f003f);
    x = (x >> 4 & 0x00fff00000fff000) | (x & 0x00000fff00000fff);
    return (x >> 8 & 0x0000ffffff000000) | (x & 0x0000000000ffffff);
}

/* False if a character is not ours, or the two spare bits at the end are not zero (that
 * would be a second spelling of the same token). */
static inline bool decode(const char *text, struct raw *r)
{
    static const uint8_t from[4] = { 0, 16, 32, TOKEN_TEXT_LEN - 16 }; /* overlaps */
    chars16 bad = { 0 };
    uint8_t val[64];
    uint64_t any[2], p[7];

#pragma GCC unroll 4 /* and in registers, else half of the time goes into memory */
    for (unsigned i = 0; i < 4; i++) {
        chars16 c;

        memcpy(&c, text + from[i], 16);
        c = values(c, &bad);
        memcpy(val + 16 * i, &c, 16);
    }
#pragma GCC unroll 6
    for (unsigned i = 0; i < 6; i++)
        p[i] = together(get64(val + 8 * i));
    p[6] = together(get64(val + 56) << 8); /* characters 48..54: 40 bits, 8 zeroes */
    r->w[0] = p[0] << 16 | p[1] >> 32;
    r->w[1] = p[1] << 32 | p[2] >> 16;
    r->w[2] = p[2] << 48 | p[3];
    r->last = (uint8_t)(p[4] >> 40);
    r->m[0] = p[4] << 24 | p[5] >> 24;
    r->m[1] = p[5] << 40 | p[6] >> 8;
    memcpy(any, &bad, sizeof(any));
    return (any[0] | any[1] | (p[6] & 0xff)) == 0;
}

void token_write(const struct token *t, const struct token_key *k, char *out)
{
    uint8_t raw[RAW_BYTES];
    const struct raw r = {
        .w = { (uint64_t)(TOKEN_VERSION << 4 | (t->client & 15)) << 56 | t->seg >> 8,
               t->seg << 56 | (uint64_t)t->number << 24 | t->issued_s >> 8,
               (uint64_t)t->issued_s << 56 | t->subject_hash >> 8 },
        .last = (uint8_t)t->subject_hash,
    };

    raw_fields(&r, raw);
    crypto_shorthash_siphashx24(raw + FIELD_BYTES, raw, FIELD_BYTES, k->mac);
    encode(raw, out);
}

static inline bool mac_is_right(const struct raw *r, const uint8_t key[TOKEN_KEY_BYTES])
{
    uint8_t fields[FIELD_BYTES], mac[MAC_BYTES];

    raw_fields(r, fields);
    crypto_shorthash_siphashx24(mac, fields, FIELD_BYTES, key);
    return ((get64(mac) ^ r->m[0]) | (get64(mac + 8) ^ r->m[1])) == 0; /* constant time */
}

int token_read(struct token *t, const struct token_key *k, const char *text, size_t len)
{
    struct raw r;

    if (len != TOKEN_TEXT_LEN || !decode(text, &r))
        return SQ_EINVAL;
    if (r.w[0] >> 60 != TOKEN_VERSION || (r.w[0] >> 56 & 15) >= CLIENT_NCLASSES)
        return SQ_EINVAL;
    if (!mac_is_right(&r, k->mac) && !(k->has_other && mac_is_right(&r, k->other_mac)))
        return SQ_EAUTH;
    t->client = r.w[0] >> 56 & 15;
    t->seg = r.w[0] << 8 | r.w[1] >> 56;
    t->number = (uint32_t)(r.w[1] >> 24);
    t->issued_s = (uint32_t)(r.w[1] << 8 | r.w[2] >> 56);
    t->subject_hash = r.w[2] << 8 | r.last;
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

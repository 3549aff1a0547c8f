/* token.c: the text forms, and their MACs by SipHash-2-4 with 128 bits.
 * On the path of every poll: no branch per character, no table, no allocation, one MAC. */
#include "common/ticket/token.h"

#include <endian.h>
#include <sodium.h>
#include <string.h>

#include "common/base/err.h"

#define TOKEN_VERSION 1
#define FIELD_BYTES   25
#define MAC_BYTES     crypto_shorthash_siphashx24_BYTES
#define BOUND_VERSION 2
#define DEVICE_BYTES  7 /* in a token that is bound */
#define BOUND_MAC     (MAC_BYTES - DEVICE_BYTES)
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

/* ---- tokens that are bound to a device ---- */

/* Over the fields and the device, which stand together. */
static void bound_mac(const uint8_t raw[RAW_ROOM], const uint8_t key[TOKEN_KEY_BYTES], uint8_t mac[MAC_BYTES])
{
    uint8_t in[FIELD_BYTES + DEVICE_BYTES];

    memcpy(in, raw, FIELD_BYTES);
    memcpy(in + FIELD_BYTES, raw + FIELD_BYTES + BOUND_MAC, DEVICE_BYTES);
    crypto_shorthash_siphashx24(mac, in, sizeof(in), key);
}

static __attribute__((noinline)) void bind(uint8_t raw[RAW_ROOM], const struct token *t,
                                           const struct token_key *k)
{
    uint8_t device[8], mac[MAC_BYTES];

    raw[0] = (uint8_t)(BOUND_VERSION << 4 | (raw[0] & 15));
    put64(device, t->device);
    memcpy(raw + FIELD_BYTES + BOUND_MAC, device + 1, DEVICE_BYTES);
    bound_mac(raw, k->mac, mac);
    memcpy(raw + FIELD_BYTES, mac, BOUND_MAC);
}

static bool is_bound_by(const uint8_t raw[RAW_ROOM], const uint8_t key[TOKEN_KEY_BYTES])
{
    uint8_t mac[MAC_BYTES];

    bound_mac(raw, key, mac);
    return sodium_memcmp(mac, raw + FIELD_BYTES, BOUND_MAC) == 0;
}

static inline __attribute__((always_inline)) void fields(struct token *t, const uint8_t raw[RAW_ROOM])
{
    uint64_t w[3];

    for (unsigned i = 0; i < 3; i++)
        w[i] = get64(raw + 8 * i);
    t->bearer = raw[0] & 15;
    t->seg = w[0] << 8 | w[1] >> 56;
    t->number = (uint32_t)(w[1] >> 24);
    t->issued_s = (uint32_t)(w[1] << 8 | w[2] >> 56);
    t->subject_hash = w[2] << 8 | raw[24];
}

static int refuse(struct token *t, int rc)
{
    t->device = 0;
    return rc;
}

/* All but a token of version 1 and a client that is known. */
static __attribute__((noinline)) int read_other(struct token *t, const struct token_key *k,
                                                const uint8_t raw[RAW_ROOM])
{
    uint64_t device = get64(raw + RAW_BYTES - 8) & (UINT64_MAX >> 8);

    if (raw[0] >> 4 != BOUND_VERSION || (raw[0] & 15) >= CLIENT_NCLASSES || device == 0)
        return refuse(t, SQ_EINVAL);
    if (!is_bound_by(raw, k->mac) && !(k->has_other && is_bound_by(raw, k->other_mac)))
        return refuse(t, SQ_EAUTH);
    fields(t, raw);
    t->device = device;
    return TOKEN_BOUND;
}

uint64_t token_device(const struct token_key *k, bool other, const char secret[DEVICE_LEN])
{
    static const char label[] = "segq device";
    uint8_t in[sizeof(label) + DEVICE_LEN], out[crypto_shorthash_siphash24_BYTES];
    uint64_t h;

    memcpy(in, label, sizeof(label));
    memcpy(in + sizeof(label), secret, DEVICE_LEN);
    crypto_shorthash_siphash24(out, in, sizeof(in), other ? k->other_mac : k->mac);
    h = get64(out) >> 8;
    return h != 0 ? h : 1;
}

/* ---- tokens ---- */

void token_write(const struct token *t, const struct token_key *k, char *out)
{
    uint8_t raw[RAW_ROOM] = { 0 };

    put64(raw, (uint64_t)(TOKEN_VERSION << 4 | (t->client & 15)) << 56 | t->seg >> 8);
    put64(raw + 8, t->seg << 56 | (uint64_t)t->number << 24 | t->issued_s >> 8);
    put64(raw + 16, (uint64_t)t->issued_s << 56 | t->subject_hash >> 8);
    raw[24] = (uint8_t)t->subject_hash;
    if (SQ_UNLIKELY(t->device != 0))
        bind(raw, t, k);
    else
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

    if (len != TOKEN_TEXT_LEN || !decode(text, raw))
        return refuse(t, SQ_EINVAL);
    if (SQ_UNLIKELY(raw[0] >> 4 != TOKEN_VERSION || (raw[0] & 15) >= CLIENT_NCLASSES))
        return read_other(t, k, raw);
    if (!mac_is_right(raw, k->mac) && !(k->has_other && mac_is_right(raw, k->other_mac)))
        return refuse(t, SQ_EAUTH);
    fields(t, raw);
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

/* ---- tokens of tasks, leases, rights ---------------------------------------------- */

#define TASK_KIND   0x20
#define TASK_FIELDS 17
#define TASK_BYTES  (TASK_FIELDS + MAC_BYTES)
#define RIGHT_KIND  0x30
#define RIGHT_BYTES 23
#define TEXT_ROOM   64
#define TASK_ROOM   (TEXT_ROOM / 4 * 3 + 4)

_Static_assert(TASK_BYTES * 8 == TASK_TOKEN_LEN * 6, "no bit of the text is spare");
_Static_assert((RIGHT_BYTES + RIGHT_MAC_BYTES) * 8 == RIGHT_TEXT_LEN * 6, "nor of a right's");
_Static_assert(RIGHT_MAC_BYTES == MAC_BYTES && RIGHT_KEY_BYTES == crypto_shorthash_siphashx24_KEYBYTES,
               "SipHash-2-4-128");

static void put_be(uint8_t *p, unsigned n, uint64_t v)
{
    for (; n > 0; v >>= 8)
        p[--n] = (uint8_t)v;
}

static uint64_t get_be(const uint8_t *p, unsigned n)
{
    uint64_t v = 0;

    while (n-- > 0)
        v = v << 8 | *p++;
    return v;
}

/* raw has room for TEXT_ROOM / 4 * 3 bytes and four more; what is behind its own is 0. */
static void put_text(char *out, size_t len, const uint8_t *raw)
{
    for (size_t i = 0; i < len; i += 16) {
        chars16 c;

        memcpy(&c, raw + i / 4 * 3, 16);
        c = chars64_of(c);
        memcpy(out + i, &c, len - i < 16 ? len - i : 16);
    }
}

/* False: it is not the one text of n bytes. */
static bool get_raw(uint8_t raw[TASK_ROOM], size_t n, const char *text, size_t len)
{
    chars16 bad = { 0 };
    char all[TEXT_ROOM];

    memset(all, 'A', sizeof(all)); /* 0 */
    memcpy(all, text, len);
    for (size_t i = 0; i < len; i += 16) {
        chars16 c = chars64_bytes(chars64_values(chars16_at(all + i), &bad));

        memcpy(raw + i / 4 * 3, &c, 16);
    }
    return !chars16_any(bad) && raw[n] == 0;
}

void task_token_write(uint32_t part, uint64_t no, const struct token_key *k, char *out)
{
    uint8_t raw[TASK_ROOM] = { TASK_KIND };

    put_be(raw + 1, 4, part);
    put_be(raw + 5, 8, no);
    crypto_shorthash_siphashx24(raw + TASK_FIELDS, raw, TASK_FIELDS, k->mac);
    put_text(out, TASK_TOKEN_LEN, raw);
}

static bool task_mac_is_right(const uint8_t raw[TASK_BYTES], const uint8_t key[TOKEN_KEY_BYTES])
{
    uint8_t mac[MAC_BYTES];

    crypto_shorthash_siphashx24(mac, raw, TASK_FIELDS, key);
    return sodium_memcmp(mac, raw + TASK_FIELDS, MAC_BYTES) == 0;
}

int task_token_read(uint32_t *part, uint64_t *no, const struct token_key *k, const char *text,
                    size_t len)
{
    uint8_t raw[TASK_ROOM];

    if (len != TASK_TOKEN_LEN || !get_raw(raw, TASK_BYTES, text, len))
        return SQ_EINVAL;
    if (raw[0] != TASK_KIND || get_be(raw + 13, 4) != 0)
        return SQ_EINVAL;
    if (!task_mac_is_right(raw, k->mac) && !(k->has_other && task_mac_is_right(raw, k->other_mac)))
        return SQ_EAUTH;
    *part = (uint32_t)get_be(raw + 1, 4);
    *no = get_be(raw + 5, 8);
    return 0;
}

static void put_right(uint8_t raw[TASK_ROOM], const struct attempt_right *r)
{
    memset(raw, 0, TASK_ROOM);
    raw[0] = RIGHT_KIND;
    put_be(raw + 1, 4, r->part);
    put_be(raw + 5, 8, r->no);
    put_be(raw + 13, 8, r->lease);
    raw[21] = r->attempt;
}

static void right_mac(const struct attempt_right *r, const uint8_t seed[RIGHT_KEY_BYTES],
                      uint8_t mac[RIGHT_MAC_BYTES])
{
    static const uint8_t use[] = "the right of an attempt"; /* the seed has other uses */
    uint8_t key[RIGHT_KEY_BYTES], raw[TASK_ROOM];

    put_right(raw, r);
    crypto_shorthash_siphashx24(key, use, sizeof(use), seed);
    crypto_shorthash_siphashx24(mac, raw, RIGHT_BYTES, key);
}

void right_sign(struct attempt_right *r, const uint8_t seed[RIGHT_KEY_BYTES])
{
    right_mac(r, seed, r->mac);
}

bool right_is_signed(const struct attempt_right *r, const uint8_t seed[RIGHT_KEY_BYTES])
{
    uint8_t mac[RIGHT_MAC_BYTES];

    right_mac(r, seed, mac);
    return sodium_memcmp(mac, r->mac, RIGHT_MAC_BYTES) == 0;
}

void right_write(const struct attempt_right *r, char *out)
{
    uint8_t raw[TASK_ROOM];

    put_right(raw, r);
    memcpy(raw + RIGHT_BYTES, r->mac, RIGHT_MAC_BYTES);
    put_text(out, RIGHT_TEXT_LEN, raw);
}

bool right_read(struct attempt_right *r, const char *text, size_t len)
{
    uint8_t raw[TASK_ROOM];

    if (len != RIGHT_TEXT_LEN || !get_raw(raw, RIGHT_BYTES + RIGHT_MAC_BYTES, text, len) ||
        raw[0] != RIGHT_KIND || raw[22] != 0)
        return false;
    *r = (struct attempt_right){ .part = (uint32_t)get_be(raw + 1, 4), .no = get_be(raw + 5, 8),
                                 .lease = get_be(raw + 13, 8), .attempt = raw[21] };
    memcpy(r->mac, raw + RIGHT_BYTES, RIGHT_MAC_BYTES);
    return true;
}

void lease_key_init(struct lease_key *k, const uint8_t seed[RIGHT_KEY_BYTES])
{
    static const uint8_t use[] = "the leases of workers"; /* the seed has other uses */

    _Static_assert(sizeof(k->bytes) == crypto_shorthash_siphashx24_BYTES, "a MAC is the key");
    _Static_assert(sizeof(k->bytes) == crypto_shorthash_siphash24_KEYBYTES, "of this");
    crypto_shorthash_siphashx24(k->bytes, use, sizeof(use), seed);
}

uint64_t lease_outside(const struct lease_key *k, uint64_t no, uint64_t lease)
{
    uint64_t raw[2] = { htobe64(no), htobe64(lease) }, mac;

    _Static_assert(sizeof(mac) == crypto_shorthash_siphash24_BYTES, "the MAC is one number");
    crypto_shorthash_siphash24((uint8_t *)&mac, (const uint8_t *)raw, sizeof(raw), k->bytes);
    return be64toh(mac);
}

bool lease_is(const struct lease_key *k, uint64_t no, uint64_t lease, uint64_t outside)
{
    return lease_outside(k, no, lease) == outside; /* two registers: in the same time, whatever differs */
}

void lease_write(uint64_t lease, char *out)
{
    uint8_t raw[TASK_ROOM] = { 0 };

    put_be(raw, 8, lease);
    put_text(out, LEASE_TEXT_LEN, raw);
}

bool lease_read(uint64_t *lease, const char *text, size_t len)
{
    uint8_t raw[TASK_ROOM];

    if (len != LEASE_TEXT_LEN || !get_raw(raw, 8, text, len))
        return false;
    *lease = get_be(raw, 8);
    return true;
}

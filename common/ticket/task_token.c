/* task_token.c: see task_token.h. */
#include "common/ticket/task_token.h"

#include <endian.h>
#include <sodium.h>
#include <string.h>

#include "common/base/err.h"
#include "common/ticket/token.h"

#define TASK_KIND   0x20
#define FIELD_BYTES 17
#define MAC_BYTES   crypto_shorthash_siphashx24_BYTES
#define RAW_BYTES   (FIELD_BYTES + MAC_BYTES)
#define RIGHT_KIND  0x30
#define RIGHT_BYTES 23
#define TEXT_ROOM   64
#define RAW_ROOM    (TEXT_ROOM / 4 * 3 + 4)

_Static_assert(RAW_BYTES * 8 == TASK_TOKEN_LEN * 6, "no bit of the text is spare");
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
static bool get_raw(uint8_t raw[RAW_ROOM], size_t n, const char *text, size_t len)
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
    uint8_t raw[RAW_ROOM] = { TASK_KIND };

    put_be(raw + 1, 4, part);
    put_be(raw + 5, 8, no);
    crypto_shorthash_siphashx24(raw + FIELD_BYTES, raw, FIELD_BYTES, k->mac);
    put_text(out, TASK_TOKEN_LEN, raw);
}

static bool mac_is_right(const uint8_t raw[RAW_BYTES], const uint8_t key[TOKEN_KEY_BYTES])
{
    uint8_t mac[MAC_BYTES];

    crypto_shorthash_siphashx24(mac, raw, FIELD_BYTES, key);
    return sodium_memcmp(mac, raw + FIELD_BYTES, MAC_BYTES) == 0;
}

int task_token_read(uint32_t *part, uint64_t *no, const struct token_key *k, const char *text,
                    size_t len)
{
    uint8_t raw[RAW_ROOM];

    if (len != TASK_TOKEN_LEN || !get_raw(raw, RAW_BYTES, text, len))
        return SQ_EINVAL;
    if (raw[0] != TASK_KIND || get_be(raw + 13, 4) != 0)
        return SQ_EINVAL;
    if (!mac_is_right(raw, k->mac) && !(k->has_other && mac_is_right(raw, k->other_mac)))
        return SQ_EAUTH;
    *part = (uint32_t)get_be(raw + 1, 4);
    *no = get_be(raw + 5, 8);
    return 0;
}

static void put_right(uint8_t raw[RAW_ROOM], const struct attempt_right *r)
{
    memset(raw, 0, RAW_ROOM);
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
    uint8_t key[RIGHT_KEY_BYTES], raw[RAW_ROOM];

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
    uint8_t raw[RAW_ROOM];

    put_right(raw, r);
    memcpy(raw + RIGHT_BYTES, r->mac, RIGHT_MAC_BYTES);
    put_text(out, RIGHT_TEXT_LEN, raw);
}

bool right_read(struct attempt_right *r, const char *text, size_t len)
{
    uint8_t raw[RAW_ROOM];

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
    uint8_t raw[RAW_ROOM] = { 0 };

    put_be(raw, 8, lease);
    put_text(out, LEASE_TEXT_LEN, raw);
}

bool lease_read(uint64_t *lease, const char *text, size_t len)
{
    uint8_t raw[RAW_ROOM];

    if (len != LEASE_TEXT_LEN || !get_raw(raw, 8, text, len))
        return false;
    *lease = get_be(raw, 8);
    return true;
}

/* task_token.c: see task_token.h. */
#include "common/ticket/task_token.h"

#include <sodium.h>
#include <string.h>

#include "common/base/err.h"
#include "common/ticket/chars64.h"

#define TASK_KIND   0x20
#define FIELD_BYTES 17
#define MAC_BYTES   crypto_shorthash_siphashx24_BYTES
#define RAW_BYTES   (FIELD_BYTES + MAC_BYTES)
#define TEXT_ROOM   48
#define RAW_ROOM    (TEXT_ROOM / 4 * 3 + 4)

_Static_assert(RAW_BYTES * 8 == TASK_TOKEN_LEN * 6, "no bit of the text is spare");

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

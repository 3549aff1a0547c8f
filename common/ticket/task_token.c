/* task_token.c: see task_token.h. */
#include "common/ticket/task_token.h"

#include <sodium.h>
#include <string.h>

#include "common/base/err.h"

#define TASK_KIND   0x20
#define FIELD_BYTES 17
#define MAC_BYTES   crypto_shorthash_siphashx24_BYTES
#define RAW_BYTES   (FIELD_BYTES + MAC_BYTES)
#define VARIANT     sodium_base64_VARIANT_URLSAFE_NO_PADDING

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

static void put_text(char *out, size_t len, const uint8_t *raw, size_t n)
{
    char text[TASK_TOKEN_LEN + 1];

    sodium_bin2base64(text, len + 1, raw, n, VARIANT);
    memcpy(out, text, len);
}

/* libsodium takes some bytes above ASCII for characters: a token would have other spellings. */
static bool is_ascii(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((uint8_t)text[i] > 0x7f)
            return false;
    return true;
}

static bool get_raw(uint8_t *raw, size_t n, const char *text, size_t len)
{
    size_t got;

    return is_ascii(text, len) && sodium_base642bin(raw, n, text, len, NULL, &got, NULL, VARIANT) == 0 && got == n;
}

void task_token_write(uint32_t part, uint64_t no, const struct token_key *k, char *out)
{
    uint8_t raw[RAW_BYTES] = { TASK_KIND };

    put_be(raw + 1, 4, part);
    put_be(raw + 5, 8, no);
    crypto_shorthash_siphashx24(raw + FIELD_BYTES, raw, FIELD_BYTES, k->mac);
    put_text(out, TASK_TOKEN_LEN, raw, RAW_BYTES);
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
    uint8_t raw[RAW_BYTES];

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
    uint8_t raw[8];

    put_be(raw, 8, lease);
    put_text(out, LEASE_TEXT_LEN, raw, 8);
}

bool lease_read(uint64_t *lease, const char *text, size_t len)
{
    uint8_t raw[8];

    if (len != LEASE_TEXT_LEN || !get_raw(raw, 8, text, len))
        return false;
    *lease = get_be(raw, 8);
    return true;
}

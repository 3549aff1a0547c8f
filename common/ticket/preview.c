/* preview.c: see preview.h. */
#include "common/ticket/preview.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define MAC_BYTES 16

static void put_mac(uint8_t mac[MAC_BYTES], const uint8_t link[LINK_KEY_BYTES], const char *queue,
                    int64_t until_s)
{
    static const char label[] = "segq preview 1";
    uint8_t key[32];
    char text[200];
    int n = snprintf(text, sizeof(text), "%" PRId64 " %.150s", until_s, queue);

    crypto_generichash(key, sizeof(key), (const uint8_t *)label, strlen(label), link,
                       LINK_KEY_BYTES);
    crypto_generichash(mac, MAC_BYTES, (const uint8_t *)text, (size_t)n, key, sizeof(key));
    sodium_memzero(key, sizeof(key));
}

void preview_write(char out[PREVIEW_TEXT_CAP], const struct cluster_keys *k, const char *queue,
                   int64_t until_s)
{
    uint8_t mac[MAC_BYTES];
    int n = snprintf(out, PREVIEW_TEXT_CAP, "%" PRId64 ".", until_s);

    put_mac(mac, k->link, queue, until_s);
    sodium_bin2hex(out + n, PREVIEW_TEXT_CAP - (size_t)n, mac, sizeof(mac));
}

/* Digits, at most those of some thousand years; -1: something else. */
static int64_t read_until(const char *text, const char **end)
{
    int64_t v = 0;
    const char *p = text;

    for (; *p >= '0' && *p <= '9' && p - text < 12; p++)
        v = v * 10 + (*p - '0');
    *end = p + 1;
    return p > text && *p == '.' ? v : -1;
}

bool preview_ok(const char *text, const struct cluster_keys *k, const char *queue, int64_t now_s)
{
    uint8_t got[MAC_BYTES], want[MAC_BYTES];
    const char *mac;
    int64_t until_s = read_until(text, &mac);
    size_t n;
    bool good;

    if (until_s < now_s || until_s > now_s + 2 * PREVIEW_TTL_S || strlen(mac) != 2 * MAC_BYTES ||
        sodium_hex2bin(got, sizeof(got), mac, 2 * MAC_BYTES, NULL, &n, NULL) != 0)
        return false;
    put_mac(want, k->link, queue, until_s);
    good = sodium_memcmp(got, want, sizeof(got)) == 0;
    if (!good && k->has_other_link) {
        put_mac(want, k->other_link, queue, until_s);
        good = sodium_memcmp(got, want, sizeof(got)) == 0;
    }
    return good;
}

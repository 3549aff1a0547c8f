/* contact.c: nonce, tag, and what is sealed, one behind the other. */
#include "router/state/contact.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#define NONCE crypto_secretbox_NONCEBYTES
#define LEAST (NONCE + crypto_secretbox_MACBYTES + TOKEN_TEXT_LEN + 1)

_Static_assert(CONTACT_SEALED_MAX == LEAST + CONTACT_MAX, "the longest fits");
_Static_assert(CONTACT_KEY_BYTES == crypto_secretbox_KEYBYTES, "the key fits");

uint16_t contact_seal(const struct cluster_keys *k, const char *token, const struct contact_in *c,
                      uint8_t out[CONTACT_SEALED_MAX])
{
    uint8_t plain[CONTACT_PLAIN_MAX];
    size_t n = TOKEN_TEXT_LEN;

    assert(c->text.n > 0 && c->text.n <= CONTACT_MAX && (!c->by_other || k->token.has_other));
    memcpy(plain, token, TOKEN_TEXT_LEN);
    if (c->way != CONTACT_UNSAID)
        plain[n++] = (uint8_t)c->way;
    memcpy(plain + n, c->text.p, c->text.n);
    n += c->text.n;
    randombytes_buf(out, NONCE);
    (void)crypto_secretbox_easy(out + NONCE, plain, n, out, c->by_other ? k->other_contact : k->contact);
    sodium_memzero(plain, sizeof(plain));
    return (uint16_t)(NONCE + crypto_secretbox_MACBYTES + n);
}

int contact_open(const struct cluster_keys *k, const uint8_t *sealed, size_t n, char out[CONTACT_PLAIN_MAX])
{
    uint8_t *plain = (uint8_t *)out;

    if (n < LEAST || n > CONTACT_SEALED_MAX)
        return SQ_EAUTH;
    out[n - (LEAST - 1) + TOKEN_TEXT_LEN] = '\0';
    if (crypto_secretbox_open_easy(plain, sealed + NONCE, n - NONCE, sealed, k->contact) == 0)
        return 0;
    return k->token.has_other &&
                   crypto_secretbox_open_easy(plain, sealed + NONCE, n - NONCE, sealed, k->other_contact) == 0
               ? 1
               : SQ_EAUTH;
}

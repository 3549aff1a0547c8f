/* contact.c: nonce, tag, and what is sealed, one behind the other. */
#include "router/state/contact.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#define NONCE crypto_secretbox_NONCEBYTES
#define LEAST (NONCE + crypto_secretbox_MACBYTES + TOKEN_TEXT_LEN + 1)

_Static_assert(CONTACT_SEALED_MAX == LEAST - 1 + CONTACT_MAX, "the longest fits");
_Static_assert(CONTACT_KEY_BYTES == crypto_secretbox_KEYBYTES, "the key fits");

uint16_t contact_seal(const struct cluster_keys *k, const char *token, const char *contact, size_t n,
                      uint8_t out[CONTACT_SEALED_MAX])
{
    uint8_t plain[TOKEN_TEXT_LEN + CONTACT_MAX];

    assert(n > 0 && n <= CONTACT_MAX);
    memcpy(plain, token, TOKEN_TEXT_LEN);
    memcpy(plain + TOKEN_TEXT_LEN, contact, n);
    randombytes_buf(out, NONCE);
    (void)crypto_secretbox_easy(out + NONCE, plain, TOKEN_TEXT_LEN + n, out, k->contact);
    sodium_memzero(plain, sizeof(plain));
    return (uint16_t)(LEAST - 1 + n);
}

int contact_open(const struct cluster_keys *k, const uint8_t *sealed, size_t n,
                 char out[TOKEN_TEXT_LEN + CONTACT_MAX + 1])
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

/* claimrig.h: makes claims as an operator's back end would; and bad ones. */
#ifndef SEGQ_TESTS_CLAIMRIG_H
#define SEGQ_TESTS_CLAIMRIG_H

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define CLAIM_SECRET "0123456789abcdef0123456789ABCDEF"
#define CLAIM_B64    sodium_base64_VARIANT_URLSAFE_NO_PADDING

static inline void claim_part(char *to, size_t cap, const void *p, size_t n)
{
    size_t at = strlen(to);

    sodium_bin2base64(to + at, cap - at, p, n, CLAIM_B64);
}

/* head and payload as JSON; ed: the Ed25519 secret key, NULL: HS256 with CLAIM_SECRET. */
static inline const char *claim_text(const char *head, const char *payload,
                                     const uint8_t *ed)
{
    static char t[8000];
    uint8_t sig[crypto_sign_BYTES];
    size_t n = crypto_auth_hmacsha256_BYTES;
    crypto_auth_hmacsha256_state st;

    t[0] = '\0';
    claim_part(t, sizeof(t), head, strlen(head));
    strcat(t, ".");
    claim_part(t, sizeof(t), payload, strlen(payload));
    if (ed != NULL) {
        n = crypto_sign_BYTES;
        crypto_sign_detached(sig, NULL, (const uint8_t *)t, strlen(t), ed);
    } else {
        crypto_auth_hmacsha256_init(&st, (const uint8_t *)CLAIM_SECRET, strlen(CLAIM_SECRET));
        crypto_auth_hmacsha256_update(&st, (const uint8_t *)t, strlen(t));
        crypto_auth_hmacsha256_final(&st, sig);
    }
    strcat(t, ".");
    claim_part(t, sizeof(t), sig, n);
    return t;
}

#endif

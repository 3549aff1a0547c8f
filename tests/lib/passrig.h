/* passrig.h: a router (routerrig.h) that is told the public key of passes which the test signs. */
#ifndef SEGQ_TEST_PASSRIG_H
#define SEGQ_TEST_PASSRIG_H

#include "tests/lib/routerrig.h"

#include <sodium.h>

static struct pass_key pass_key;

static void pass_setup(void)
{
    static uint8_t public[1][32];

    cr_assert_geq(sodium_init(), 0);
    crypto_sign_keypair(pass_key.public, pass_key.secret);
    memcpy(public[0], pass_key.public, 32);
    map_keys = (const uint8_t(*)[32])public;
    setup_all();
}

/* The next call overwrites it. */
static const char *pass_of(const struct pass_claims *c)
{
    static char text[1500];
    int n = pass_make(c, &pass_key, text, sizeof(text) - 1);

    cr_assert_gt(n, 0);
    text[n] = '\0';
    return text;
}

#endif

/* solve.h: the answer to a challenge, found as a widget does: counters from 0 on. */
#ifndef SEGQ_TESTS_SOLVE_H
#define SEGQ_TESTS_SOLVE_H

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "common/task/sha256.h"

static void challenge_field(uint8_t out[16], const char *challenge, const char *name)
{
    char key[40];
    const char *at;

    snprintf(key, sizeof(key), "\"%s\":\"", name);
    at = strstr(challenge, key);
    cr_assert(at != NULL, "%s has no %s", challenge, name);
    cr_assert_eq(sodium_hex2bin(out, 16, at + strlen(key), 32, NULL, NULL, NULL), 0);
}

/* challenge: as JSON without blanks. */
static const char *challenge_solved(const char *challenge)
{
    static char text[2000], answer[3000];
    uint8_t password[20], salt[16], prefix[16], key[32];
    uint32_t counter = 0, big;
    char hex[65];
    unsigned cost;

    challenge_field(password, challenge, "nonce");
    challenge_field(salt, challenge, "salt");
    challenge_field(prefix, challenge, "keyPrefix");
    cr_assert_eq(sscanf(strstr(challenge, "\"cost\":"), "\"cost\":%u", &cost), 1);
    do {
        cr_assert(counter < 1u << 20, "no counter solves it");
        big = __builtin_bswap32(counter++);
        memcpy(password + 16, &big, 4);
        pbkdf2_256(key, password, sizeof(password), salt, sizeof(salt), cost);
    } while (memcmp(key, prefix, sizeof(prefix)) != 0);
    sodium_bin2hex(hex, sizeof(hex), key, sizeof(key));
    snprintf(text, sizeof(text), "{\"challenge\":%s,\"solution\":{\"counter\":%u,\"derivedKey\":\"%s\"}}", challenge,
             counter - 1, hex);
    return sodium_bin2base64(answer, sizeof(answer), (uint8_t *)text, strlen(text), sodium_base64_VARIANT_ORIGINAL);
}

#endif

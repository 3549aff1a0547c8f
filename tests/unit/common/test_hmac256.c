/* test_hmac256.c: against the vectors of RFC 4231 and 7914, and against libsodium. */
#include "tests/lib/criterion.h"
#include <sodium.h>
#include <string.h>

#include "common/base/rng.h"
#include "common/task/sha256.h"

static const char *hex(const uint8_t *p)
{
    static char text[2 * HMAC256_BYTES + 1];

    return sodium_bin2hex(text, sizeof(text), p, HMAC256_BYTES);
}

Test(hmac256, rfc_4231)
{
    uint8_t mac[HMAC256_BYTES], long_key[131];
    struct hmac256 k;

    hmac256_key(&k, "Jefe", 4);
    hmac256_of(mac, &k, "what do ya want for nothing?", 28);
    cr_expect_str_eq(hex(mac), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(long_key, 0xaa, sizeof(long_key));
    hmac256_key(&k, long_key, sizeof(long_key));
    hmac256_of(mac, &k, "Test Using Larger Than Block-Size Key - Hash Key First", 54);
    cr_expect_str_eq(hex(mac), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

Test(hmac256, same_as_libsodium)
{
    uint8_t key[32], text[300], ours[HMAC256_BYTES], theirs[crypto_auth_hmacsha256_BYTES];
    struct hmac256 k;
    struct rng r;

    rng_seed(&r, 3);
    for (size_t n = 0; n < sizeof(text); n++) {
        for (size_t i = 0; i < sizeof(key); i++)
            key[i] = (uint8_t)rng_below(&r, 256);
        text[n] = (uint8_t)rng_below(&r, 256);
        hmac256_key(&k, key, sizeof(key));
        hmac256_of(ours, &k, text, n);
        crypto_auth_hmacsha256(theirs, text, n, key);
        cr_assert_arr_eq(ours, theirs, sizeof(ours), "%zu bytes", n);
    }
}

Test(hmac256, pbkdf2_vectors)
{
    uint8_t out[HMAC256_BYTES];

    pbkdf2_256(out, "passwd", 6, "salt", 4, 1);
    cr_expect_str_eq(hex(out), "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc");
    pbkdf2_256(out, "Password", 8, "NaCl", 4, 80000);
    cr_expect_str_eq(hex(out), "4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56");
}

/* p256.c: see p256.h. */
#include "router/gate/p256.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#define CURVE   "prime256v1"
#define DER_MAX (P256_SIGNATURE + 16)

/* secret NULL: of the point alone. */
static EVP_PKEY *key_made(const BIGNUM *secret, const uint8_t point[P256_POINT])
{
    EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    OSSL_PARAM_BLD *b = OSSL_PARAM_BLD_new();
    OSSL_PARAM *params = NULL;
    EVP_PKEY *key = NULL;

    if (c != NULL && b != NULL && OSSL_PARAM_BLD_push_utf8_string(b, OSSL_PKEY_PARAM_GROUP_NAME, CURVE, 0) == 1 &&
        OSSL_PARAM_BLD_push_octet_string(b, OSSL_PKEY_PARAM_PUB_KEY, point, P256_POINT) == 1 &&
        (secret == NULL || OSSL_PARAM_BLD_push_BN(b, OSSL_PKEY_PARAM_PRIV_KEY, secret) == 1))
        params = OSSL_PARAM_BLD_to_param(b);
    if (params == NULL || EVP_PKEY_fromdata_init(c) != 1 ||
        EVP_PKEY_fromdata(c, &key, secret != NULL ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY, params) != 1)
        key = NULL;
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(b);
    EVP_PKEY_CTX_free(c);
    ERR_clear_error();
    return key;
}

EVP_PKEY *p256_public(const uint8_t point[P256_POINT])
{
    return point[0] == POINT_CONVERSION_UNCOMPRESSED ? key_made(NULL, point) : NULL;
}

EVP_PKEY *p256_pair(const uint8_t secret[P256_COORD], uint8_t point[P256_POINT])
{
    EC_GROUP *g = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
    BIGNUM *d = BN_secure_new();
    EC_POINT *p = g != NULL ? EC_POINT_new(g) : NULL;
    EVP_PKEY *key = NULL;

    if (p != NULL && d != NULL && BN_bin2bn(secret, P256_COORD, d) != NULL && !BN_is_zero(d) &&
        BN_cmp(d, EC_GROUP_get0_order(g)) < 0 && EC_POINT_mul(g, p, d, NULL, NULL, NULL) == 1 &&
        EC_POINT_point2oct(g, p, POINT_CONVERSION_UNCOMPRESSED, point, P256_POINT, NULL) == P256_POINT)
        key = key_made(d, point);
    EC_POINT_free(p);
    BN_clear_free(d);
    EC_GROUP_free(g);
    ERR_clear_error();
    return key;
}

bool p256_sign(EVP_PKEY *pair, const void *p, size_t n, uint8_t out[P256_SIGNATURE])
{
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    uint8_t der[DER_MAX];
    const uint8_t *at = der;
    size_t der_n = sizeof(der);
    ECDSA_SIG *s = NULL;
    bool ok = c != NULL && EVP_DigestSignInit(c, NULL, EVP_sha256(), NULL, pair) == 1 &&
              EVP_DigestSign(c, der, &der_n, p, n) == 1 && (s = d2i_ECDSA_SIG(NULL, &at, (long)der_n)) != NULL &&
              BN_bn2binpad(ECDSA_SIG_get0_r(s), out, P256_COORD) == P256_COORD &&
              BN_bn2binpad(ECDSA_SIG_get0_s(s), out + P256_COORD, P256_COORD) == P256_COORD;

    ECDSA_SIG_free(s);
    EVP_MD_CTX_free(c);
    ERR_clear_error();
    return ok;
}

/* Two numbers, as OpenSSL wants them. Number of bytes; 0: no memory. */
static size_t der_of(const uint8_t raw[P256_SIGNATURE], uint8_t der[DER_MAX])
{
    ECDSA_SIG *s = ECDSA_SIG_new();
    BIGNUM *a = BN_bin2bn(raw, P256_COORD, NULL), *b = BN_bin2bn(raw + P256_COORD, P256_COORD, NULL);
    int n = 0;

    if (s != NULL && a != NULL && b != NULL && ECDSA_SIG_set0(s, a, b) == 1) {
        a = b = NULL;
        n = i2d_ECDSA_SIG(s, &der);
    }
    BN_free(a);
    BN_free(b);
    ECDSA_SIG_free(s);
    return n > 0 ? (size_t)n : 0;
}

bool p256_is_signed(const uint8_t point[P256_POINT], const void *p, size_t n, const uint8_t signature[P256_SIGNATURE])
{
    EVP_PKEY *key = p256_public(point);
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    uint8_t der[DER_MAX];
    size_t der_n = der_of(signature, der);
    bool good = key != NULL && c != NULL && der_n > 0 && EVP_DigestVerifyInit(c, NULL, EVP_sha256(), NULL, key) == 1 &&
                EVP_DigestVerify(c, der, der_n, p, n) == 1;

    EVP_MD_CTX_free(c);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return good;
}

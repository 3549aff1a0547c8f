/* proof.c: see proof.h. */
#include "router/gate/proof.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "common/base/json_in.h"

#define B64       sodium_base64_VARIANT_URLSAFE_NO_PADDING
#define SECOND    4 /* bytes of a stamp */
#define STAMP_RAW 16
#define COORD     32
#define SIGNATURE (2 * COORD)

/* ---- stamps ---- */

static void mac_of(const uint8_t key[TOKEN_KEY_BYTES], const char *id, const uint8_t second[SECOND], uint8_t mac[16])
{
    static const char label[] = "segq stamp";
    uint8_t in[sizeof(label) + DEVICE_LEN + SECOND] = { 0 };

    memcpy(in, label, sizeof(label));
    if (id != NULL)
        memcpy(in + sizeof(label), id, DEVICE_LEN);
    memcpy(in + sizeof(label) + DEVICE_LEN, second, SECOND);
    crypto_shorthash_siphashx24(mac, in, sizeof(in), key);
}

void stamp_put(const struct token_key *k, const char *id, int64_t now_s, char out[STAMP_LEN])
{
    uint8_t raw[STAMP_RAW], mac[16];
    uint32_t s = __builtin_bswap32((uint32_t)now_s);
    char text[STAMP_LEN + 1];

    memcpy(raw, &s, SECOND);
    mac_of(k->mac, id, raw, mac);
    memcpy(raw + SECOND, mac, STAMP_RAW - SECOND);
    sodium_bin2base64(text, sizeof(text), raw, sizeof(raw), B64);
    memcpy(out, text, STAMP_LEN);
}

static bool is_by(const uint8_t key[TOKEN_KEY_BYTES], const char *id, const uint8_t raw[STAMP_RAW])
{
    uint8_t mac[16];

    mac_of(key, id, raw, mac);
    return sodium_memcmp(mac, raw + SECOND, STAMP_RAW - SECOND) == 0;
}

/* Exactly `size` bytes, in their only spelling. */
static bool bytes_of(const char *p, size_t n, uint8_t *to, size_t size)
{
    size_t len;

    return sodium_base642bin(to, size, p, n, NULL, &len, NULL, B64) == 0 && len == size;
}

int64_t stamp_read(const struct token_key *k, const char *id, const char *text, size_t n)
{
    uint8_t raw[STAMP_RAW];
    uint32_t s;

    if (n != STAMP_LEN || !bytes_of(text, n, raw, sizeof(raw)) ||
        (!is_by(k->mac, id, raw) && !(k->has_other && is_by(k->other_mac, id, raw))))
        return -1;
    memcpy(&s, raw, SECOND);
    return __builtin_bswap32(s);
}

/* ---- a proof ---- */

struct jwt {
    struct slice head, body, signature; /* text of each */
    size_t signed_n; /* head and body, and the dot between them */
};

static bool cut(struct slice *rest, struct slice *part)
{
    char *dot = memchr(rest->p, '.', rest->n);

    if (dot == NULL)
        return false;
    *part = (struct slice){ rest->p, (size_t)(dot - rest->p) };
    *rest = (struct slice){ dot + 1, rest->n - part->n - 1 };
    return true;
}

static bool split(struct jwt *j, struct slice text)
{
    struct slice rest = text;

    if (text.p == NULL || text.n > PROOF_MAX || !cut(&rest, &j->head) || !cut(&rest, &j->body))
        return false;
    j->signature = rest;
    j->signed_n = (size_t)(rest.p - text.p) - 1;
    return true;
}

static json_t *object_of(struct slice part)
{
    char text[PROOF_MAX];
    size_t n;
    json_t *o;

    if (sodium_base642bin((uint8_t *)text, sizeof(text), part.p, part.n, NULL, &n, NULL, B64) != 0)
        return NULL;
    o = json_in(text, n, NULL);
    if (json_is_object(o))
        return o;
    json_decref(o);
    return NULL;
}

static bool says(const json_t *o, const char *member, const char *word)
{
    const char *s = json_string_value(json_object_get(o, member));

    return s != NULL && strcmp(s, word) == 0;
}

static bool coordinate(const json_t *jwk, const char *member, uint8_t to[COORD])
{
    const json_t *v = json_object_get(jwk, member);

    return json_is_string(v) && bytes_of(json_string_value(v), json_string_length(v), to, COORD);
}

/* The key of the head, as an uncompressed point. */
static const char *read_head(const json_t *head, uint8_t point[1 + SIGNATURE])
{
    const json_t *jwk = json_object_get(head, "jwk");

    if (!says(head, "typ", "dpop+jwt") || !says(head, "alg", "ES256") || json_object_get(head, "crit") != NULL)
        return "the head of the proof must have typ dpop+jwt, alg ES256, and no crit";
    point[0] = 4;
    if (!says(jwk, "kty", "EC") || !says(jwk, "crv", "P-256") || json_object_get(jwk, "d") != NULL ||
        !coordinate(jwk, "x", point + 1) || !coordinate(jwk, "y", point + 1 + COORD))
        return "jwk of the proof must be a public key: kty EC, crv P-256, x, y";
    return NULL;
}

/* "https://shop.example/v1/...": a gateway may have another host and scheme than we see. */
static bool is_for(const json_t *body, struct slice path)
{
    const char *htu = json_string_value(json_object_get(body, "htu"));
    size_t n = htu != NULL ? strcspn(htu, "?#") : 0;

    return path.n > 0 && n >= path.n && memcmp(htu + n - path.n, path.p, path.n) == 0;
}

static const char *read_body(const struct proof_ask *a, const json_t *body)
{
    const json_t *nonce = json_object_get(body, "nonce");
    int64_t at_s = json_is_string(nonce)
                       ? stamp_read(a->key, NULL, json_string_value(nonce), json_string_length(nonce))
                       : -1;

    if (!stamp_is_fresh(at_s, a->now_s, PROOF_FRESH_S))
        return "the proof needs the nonce of DPoP-Nonce, which is good for ten minutes";
    if (!says(body, "htm", "POST") || !is_for(body, a->path))
        return "the proof is for another request: htm must be POST, and htu end with its path";
    return NULL;
}

/* RFC 7638: the members in their order, without blanks. */
static void id_of(const uint8_t point[1 + SIGNATURE], char id[DEVICE_LEN + 1])
{
    char x[COORD * 4 / 3 + 2], y[sizeof(x)], text[200];
    uint8_t hash[crypto_hash_sha256_BYTES];
    int n;

    sodium_bin2base64(x, sizeof(x), point + 1, COORD, B64);
    sodium_bin2base64(y, sizeof(y), point + 1 + COORD, COORD, B64);
    n = snprintf(text, sizeof(text), "{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"%s\",\"y\":\"%s\"}", x, y);
    crypto_hash_sha256(hash, (const uint8_t *)text, (unsigned long long)n);
    sodium_bin2base64(id, DEVICE_LEN + 1, hash, 16, B64);
}

/* NULL: the point is on no curve. */
static EVP_PKEY *key_of(uint8_t point[1 + SIGNATURE])
{
    char group[] = "prime256v1";
    OSSL_PARAM with[] = { OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0),
                          OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, 1 + SIGNATURE),
                          OSSL_PARAM_construct_end() };
    EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    EVP_PKEY *key = NULL;

    if (c == NULL || EVP_PKEY_fromdata_init(c) != 1 ||
        EVP_PKEY_fromdata(c, &key, EVP_PKEY_PUBLIC_KEY, with) != 1)
        key = NULL;
    EVP_PKEY_CTX_free(c);
    return key;
}

/* Two numbers, as OpenSSL wants them. Number of bytes; 0: no memory. */
static size_t der_of(const uint8_t raw[SIGNATURE], uint8_t der[SIGNATURE + 16])
{
    ECDSA_SIG *s = ECDSA_SIG_new();
    BIGNUM *a = BN_bin2bn(raw, COORD, NULL), *b = BN_bin2bn(raw + COORD, COORD, NULL);
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

static bool is_signed(const struct jwt *j, uint8_t point[1 + SIGNATURE])
{
    uint8_t raw[SIGNATURE], der[SIGNATURE + 16], hash[crypto_hash_sha256_BYTES];
    EVP_PKEY *key;
    EVP_PKEY_CTX *c;
    size_t n;
    bool good;

    if (!bytes_of(j->signature.p, j->signature.n, raw, sizeof(raw)))
        return false;
    key = key_of(point);
    c = key != NULL ? EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL) : NULL;
    n = der_of(raw, der);
    crypto_hash_sha256(hash, (const uint8_t *)j->head.p, j->signed_n);
    good = c != NULL && n > 0 && EVP_PKEY_verify_init(c) == 1 &&
           EVP_PKEY_verify(c, der, n, hash, sizeof(hash)) == 1;
    EVP_PKEY_CTX_free(c);
    EVP_PKEY_free(key);
    ERR_clear_error(); /* errors of this thread: TLS looks at them */
    return good;
}

const char *proof_check(const struct proof_ask *a, struct slice proof, char id[DEVICE_LEN + 1])
{
    uint8_t point[1 + SIGNATURE];
    json_t *head = NULL, *body = NULL;
    const char *why = NULL;
    struct jwt j;

    if (!split(&j, proof) || (head = object_of(j.head)) == NULL || (body = object_of(j.body)) == NULL)
        why = "the proof must be one JWT (RFC 9449) of 1024 bytes at most";
    if (why == NULL)
        why = read_body(a, body);
    if (why == NULL)
        why = read_head(head, point);
    if (why == NULL) {
        id_of(point, id);
        if (a->may != NULL && !a->may(a->of, id))
            why = PROOF_OTHER;
        else if (!is_signed(&j, point))
            why = "the signature of the proof is not its key's";
    }
    json_decref(head);
    json_decref(body);
    return why;
}

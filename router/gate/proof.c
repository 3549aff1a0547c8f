/* proof.c: see proof.h. */
#include "router/gate/proof.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "common/base/json.h"
#include "router/gate/p256.h"

#define B64       sodium_base64_VARIANT_URLSAFE_NO_PADDING
#define SECOND    4 /* bytes of a stamp */
#define STAMP_RAW 16

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

static bool coordinate(const json_t *jwk, const char *member, uint8_t to[P256_COORD])
{
    const json_t *v = json_object_get(jwk, member);

    return json_is_string(v) && bytes_of(json_string_value(v), json_string_length(v), to, P256_COORD);
}

/* The key of the head, as an uncompressed point. */
static const char *read_head(const json_t *head, uint8_t point[P256_POINT])
{
    const json_t *jwk = json_object_get(head, "jwk");

    if (!says(head, "typ", "dpop+jwt") || !says(head, "alg", "ES256") || json_object_get(head, "crit") != NULL)
        return "the head of the proof must have typ dpop+jwt, alg ES256, and no crit";
    point[0] = 4;
    if (!says(jwk, "kty", "EC") || !says(jwk, "crv", "P-256") || json_object_get(jwk, "d") != NULL ||
        !coordinate(jwk, "x", point + 1) || !coordinate(jwk, "y", point + 1 + P256_COORD))
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
static void id_of(const uint8_t point[P256_POINT], char id[DEVICE_LEN + 1])
{
    char x[P256_COORD * 4 / 3 + 2], y[sizeof(x)], text[200];
    uint8_t hash[crypto_hash_sha256_BYTES];
    int n;

    sodium_bin2base64(x, sizeof(x), point + 1, P256_COORD, B64);
    sodium_bin2base64(y, sizeof(y), point + 1 + P256_COORD, P256_COORD, B64);
    n = snprintf(text, sizeof(text), "{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"%s\",\"y\":\"%s\"}", x, y);
    crypto_hash_sha256(hash, (const uint8_t *)text, (unsigned long long)n);
    sodium_bin2base64(id, DEVICE_LEN + 1, hash, 16, B64);
}

static bool is_signed(const struct jwt *j, const uint8_t point[P256_POINT])
{
    uint8_t raw[P256_SIGNATURE];

    return bytes_of(j->signature.p, j->signature.n, raw, sizeof(raw)) &&
           p256_is_signed(point, j->head.p, j->signed_n, raw);
}

const char *proof_check(const struct proof_ask *a, struct slice proof, char id[DEVICE_LEN + 1])
{
    uint8_t point[P256_POINT];
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

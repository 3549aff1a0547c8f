/* signed_claim.c: opens a claim: form, key, signature, times. */
#include "router/gate/signed_claim.h"

#include <sodium.h>
#include <string.h>

#include "common/base/json.h"

#define B64       sodium_base64_VARIANT_URLSAFE_NO_PADDING
#define PART_MAX  1536 /* decoded: all that CLAIM_MAX_LEN can carry */
#define SIG_MAX   crypto_sign_BYTES
#define TIME_MAX  1e15
#define SPKI_LEN  12 /* DER before the 32 bytes of an Ed25519 key */

_Static_assert(PART_MAX == CLAIM_MAX_LEN / 4 * 3, "a part's size");

int claim_refuse(const char **why, const char *text)
{
    *why = text;
    return SQ_EAUTH;
}

/* ---- form --------------------------------------------------------------------------- */

struct jwt { /* parts of a claim, as they stand */
    const char *head, *body, *sig;
    size_t head_len, body_len, sig_len, signed_len;
};

static bool split(struct jwt *j, const char *p, size_t n)
{
    const char *end = p + n, *dot1 = memchr(p, '.', n), *dot2;

    dot2 = dot1 == NULL ? NULL : memchr(dot1 + 1, '.', (size_t)(end - dot1 - 1));
    if (dot2 == NULL || memchr(dot2 + 1, '.', (size_t)(end - dot2 - 1)) != NULL)
        return false;
    *j = (struct jwt){ .head = p,
                       .body = dot1 + 1,
                       .sig = dot2 + 1,
                       .head_len = (size_t)(dot1 - p),
                       .body_len = (size_t)(dot2 - dot1 - 1),
                       .sig_len = (size_t)(end - dot2 - 1),
                       .signed_len = (size_t)(dot2 - p) };
    return true;
}

/* A JSON object in base64. SQ_EINVAL: it is none (a member that is there twice, a 0 in a
 * text: neither reads the same everywhere); SQ_ENOMEM. */
static int read_object(json_t **out, const char *s, size_t n)
{
    uint8_t raw[PART_MAX];
    json_error_t e;
    size_t len;

    if (sodium_base642bin(raw, sizeof(raw), s, n, NULL, &len, NULL, B64) != 0)
        return SQ_EINVAL;
    *out = json_in((const char *)raw, len, &e);
    if (*out == NULL)
        return json_error_code(&e) == json_error_out_of_memory ? SQ_ENOMEM : SQ_EINVAL;
    if (json_is_object(*out))
        return 0;
    json_decref(*out);
    return SQ_EINVAL;
}

/* ---- the key, and what it signed ------------------------------------------------------ */

static const struct claim_key *key_of(const json_t *head, const struct claim_key *keys,
                                      size_t n, const char **why)
{
    const json_t *kid = json_object_get(head, "kid");

    *why = "the claim is signed with a key that is not configured (kid)";
    if (kid == NULL && n != 1)
        *why = "the claim does not say which key it is signed with (kid)";
    if (kid == NULL)
        return n == 1 ? keys : NULL;
    for (size_t i = 0; json_is_string(kid) && i < n; i++)
        if (strcmp(json_string_value(kid), keys[i].kid) == 0)
            return &keys[i];
    return NULL;
}

static bool is_signed(const struct jwt *j, const struct claim_key *k)
{
    uint8_t sig[SIG_MAX], mac[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256_state st;
    size_t len;

    if (sodium_base642bin(sig, sizeof(sig), j->sig, j->sig_len, NULL, &len, NULL, B64) != 0)
        return false;
    if (k->alg == CLAIM_EDDSA)
        return len == crypto_sign_BYTES &&
               crypto_sign_verify_detached(sig, (const uint8_t *)j->head, j->signed_len,
                                           k->key) == 0;
    crypto_auth_hmacsha256_init(&st, k->key, k->len);
    crypto_auth_hmacsha256_update(&st, (const uint8_t *)j->head, j->signed_len);
    crypto_auth_hmacsha256_final(&st, mac);
    sodium_memzero(&st, sizeof(st));
    return len == sizeof(mac) && sodium_memcmp(sig, mac, len) == 0;
}

static int check_head(const struct jwt *j, const struct claim_key *keys, size_t n,
                      const char **why)
{
    static const char *const algs[] = { [CLAIM_HS256] = "HS256", [CLAIM_EDDSA] = "EdDSA" };
    const struct claim_key *k;
    const char *alg;
    json_t *o = NULL;
    int rc = read_object(&o, j->head, j->head_len);

    if (rc == SQ_ENOMEM)
        return rc;
    if (rc < 0)
        return claim_refuse(why, "the claim is not a JWT");
    k = key_of(o, keys, n, why);
    alg = json_string_value(json_object_get(o, "alg"));
    rc = SQ_EAUTH;
    if (k != NULL && (alg == NULL || strcmp(alg, algs[k->alg]) != 0))
        *why = "the claim's alg is not that of its key";
    else if (k != NULL && json_object_get(o, "crit") != NULL)
        *why = "the claim wants extensions (crit) that nobody here knows";
    else if (k != NULL && !is_signed(j, k))
        *why = "the claim's signature is wrong";
    else if (k != NULL)
        rc = 0;
    if (rc == 0)
        *why = "";
    json_decref(o);
    return rc;
}

/* ---- its times -------------------------------------------------------------------------- */

/* 1: a time; 0: absent; -1: something else. */
static int take_time(const json_t *o, const char *name, double *out)
{
    const json_t *m = json_object_get(o, name);

    if (m == NULL)
        return 0;
    *out = json_number_value(m);
    return json_is_number(m) && *out >= 0 && *out < TIME_MAX ? 1 : -1;
}

static int check_times(const json_t *o, int64_t max_ttl_s, int64_t now_s, const char **why)
{
    double exp = 0, nbf = 0, iat = 0, now = (double)now_s;
    int has = take_time(o, "exp", &exp);

    if (has <= 0)
        return claim_refuse(why, has == 0 ? "the claim does not expire (exp)"
                                    : "the claim's exp is not a time");
    if (take_time(o, "nbf", &nbf) < 0 || take_time(o, "iat", &iat) < 0)
        return claim_refuse(why, "the claim's nbf or iat is not a time");
    if (exp <= now)
        return claim_refuse(why, "the claim has expired");
    if (exp > now + (double)max_ttl_s + CLAIM_LEEWAY_S)
        return claim_refuse(why, "the claim is good for longer than is allowed here (exp)");
    if (nbf > now + CLAIM_LEEWAY_S || iat > now + CLAIM_LEEWAY_S)
        return claim_refuse(why, "the claim is from the future (nbf, iat)");
    return 0;
}

int claim_open(json_t **said, const char *jwt, size_t n, const struct claim_key *keys,
               size_t n_keys, int64_t max_ttl_s, int64_t now_s, const char **why)
{
    json_t *o = NULL;
    struct jwt j;
    int rc;

    *said = NULL;
    *why = "";
    if (n_keys == 0)
        return claim_refuse(why, "no claim can be verified here: no key is configured");
    if (n > CLAIM_MAX_LEN || !split(&j, jwt, n))
        return claim_refuse(why, "the claim is not a JWT");
    rc = check_head(&j, keys, n_keys, why);
    if (rc < 0)
        return rc;
    rc = read_object(&o, j.body, j.body_len);
    if (rc < 0)
        return rc == SQ_ENOMEM ? rc : claim_refuse(why, "the claim's payload is not an object");
    rc = check_times(o, max_ttl_s, now_s, why);
    if (rc < 0)
        json_decref(o);
    else
        *said = o;
    return rc;
}

/* ---- keys ------------------------------------------------------------------------------ */

int claim_public_key(struct claim_key *k, const char *text)
{
    static const uint8_t spki[SPKI_LEN] = { 0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
                                            0x2b, 0x65, 0x70, 0x03, 0x21, 0x00 };
    static const int forms[] = { sodium_base64_VARIANT_ORIGINAL,
                                 sodium_base64_VARIANT_ORIGINAL_NO_PADDING,
                                 sodium_base64_VARIANT_URLSAFE,
                                 sodium_base64_VARIANT_URLSAFE_NO_PADDING };
    uint8_t raw[SPKI_LEN + crypto_sign_PUBLICKEYBYTES];
    size_t len = 0, at;

    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        if (sodium_base642bin(raw, sizeof(raw), text, strlen(text), NULL, &len, NULL,
                              forms[i]) == 0)
            break;
        len = 0;
    }
    at = len == sizeof(raw) && memcmp(raw, spki, SPKI_LEN) == 0 ? SPKI_LEN : 0;
    if (len - at != crypto_sign_PUBLICKEYBYTES)
        return SQ_EINVAL;
    memcpy(k->key, raw + at, crypto_sign_PUBLICKEYBYTES);
    k->len = crypto_sign_PUBLICKEYBYTES;
    return 0;
}

/* ---- claims to a lane ------------------------------------------------------------------- */

static bool is_text(const json_t *m, const char *text)
{
    return json_is_string(m) && strcmp(json_string_value(m), text) == 0;
}

static bool is_for(const json_t *aud, const char *queue)
{
    for (size_t i = 0; i < json_array_size(aud); i++)
        if (is_text(json_array_get(aud, i), queue))
            return true;
    return is_text(aud, queue);
}

static int take_lane(struct lane_claim *c, const json_t *o, const char **why)
{
    const json_t *m = json_object_get(o, "lane");
    size_t n = json_string_length(m);

    if (m == NULL)
        return claim_refuse(why, "the claim does not say for which lane it is (lane)");
    if (n == 0 || n > NAME_MAX_LEN)
        return claim_refuse(why, "the claim's lane is not a name");
    memcpy(c->lane, json_string_value(m), n + 1);
    return 0;
}

static int take_subject(struct lane_claim *c, const json_t *o, const char **why)
{
    static const char bad[] = "the claim's sub is not a text of 1 to 128 bytes without "
                              "control characters";
    const json_t *m = json_object_get(o, "sub");
    const char *s = json_string_value(m);
    size_t n = json_string_length(m);

    if (m == NULL)
        return 0;
    if (n == 0 || n > SUBJECT_MAX_LEN)
        return claim_refuse(why, bad);
    for (size_t i = 0; i < n; i++)
        if ((uint8_t)s[i] < 0x20 || s[i] == 0x7f)
            return claim_refuse(why, bad);
    memcpy(c->sub, s, n);
    c->sub_len = (uint8_t)n;
    return 0;
}

static int take_replaces(struct lane_claim *c, const json_t *o, const char **why)
{
    const json_t *m = json_object_get(o, "replaces");

    if (m == NULL)
        return 0;
    if (json_string_length(m) != sizeof(c->old))
        return claim_refuse(why, "the claim's replaces is not a token");
    c->replaces = true;
    memcpy(c->old, json_string_value(m), sizeof(c->old));
    return 0;
}

static int check_body(struct lane_claim *c, const json_t *o, const char *queue, const char **why)
{
    const json_t *jti = json_object_get(o, "jti");
    int rc = 0;

    if (!is_for(json_object_get(o, "aud"), queue))
        rc = claim_refuse(why, "the claim is not for this queue (aud)");
    if (rc == 0 && jti != NULL && !json_is_string(jti))
        rc = claim_refuse(why, "the claim's jti is not a text");
    return rc
        ?: take_lane(c, o, why)
        ?: take_subject(c, o, why)
        ?: take_replaces(c, o, why);
}

int lane_claim_check(struct lane_claim *c, const char *jwt, size_t n, const struct claim_key *keys,
                     size_t n_keys, const char *queue, int64_t max_ttl_s, int64_t now_s,
                     const char **why)
{
    json_t *o;
    int rc = claim_open(&o, jwt, n, keys, n_keys, max_ttl_s, now_s, why);

    memset(c, 0, sizeof(*c));
    if (rc < 0)
        return rc;
    rc = check_body(c, o, queue, why);
    json_decref(o);
    return rc;
}

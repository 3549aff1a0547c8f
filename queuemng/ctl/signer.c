/* signer.c: reads the key, writes and signs a claim. */
#include "queuemng/ctl/signer.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/ticket/keys.h"

#define B64 sodium_base64_VARIANT_URLSAFE_NO_PADDING

_Static_assert(SIGNER_TEXT_MAX >= crypto_sign_SECRETKEYBYTES, "room for either key");

/* ---- the key ---- */

/* PKCS #8 before the 32 bytes of an Ed25519 seed. */
static const uint8_t pkcs8[16] = { 0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
                                   0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20 };

static int read_pem(struct signer *s, const char *text, const char *path, struct err *e)
{
    static const char head[] = "-----BEGIN PRIVATE KEY-----";
    uint8_t raw[sizeof(pkcs8) + crypto_sign_SEEDBYTES], public[crypto_sign_PUBLICKEYBYTES];
    size_t n = 0;
    bool ok;

    if (strstr(text, "PUBLIC KEY-----") != NULL)
        return err_set(e, SQ_EINVAL, "%s: a public key verifies claims; to sign one takes the "
                                     "private key of the pair", path);
    ok = strncmp(text, head, sizeof(head) - 1) == 0 &&
         sodium_base642bin(raw, sizeof(raw), text + sizeof(head) - 1,
                           strcspn(text + sizeof(head) - 1, "-"), "\r\n", &n, NULL,
                           sodium_base64_VARIANT_ORIGINAL) == 0 &&
         n == sizeof(raw) && memcmp(raw, pkcs8, sizeof(pkcs8)) == 0;
    if (ok) {
        s->ed25519 = true;
        crypto_sign_seed_keypair(public, s->key, raw + sizeof(pkcs8));
    }
    sodium_memzero(raw, sizeof(raw));
    return ok ? 0 : err_set(e, SQ_EINVAL, "%s: not an Ed25519 private key (openssl genpkey "
                                          "-algorithm ed25519)", path);
}

int signer_read(struct signer *s, const char *text, const char *path, struct err *e)
{
    size_t n = strlen(text);

    memset(s, 0, sizeof(*s));
    if (strncmp(text, "-----BEGIN", 10) == 0)
        return read_pem(s, text, path, e);
    if (n < SIGNER_SECRET_MIN || n > SIGNER_TEXT_MAX)
        return err_set(e, SQ_EINVAL, "%s: a secret has %d to %d characters", path,
                       SIGNER_SECRET_MIN, SIGNER_TEXT_MAX);
    s->len = n;
    memcpy(s->key, text, n);
    return 0;
}

int signer_load(struct signer *s, const char *path, struct err *e)
{
    char text[SIGNER_TEXT_MAX + 1];
    int rc = keys_password(text, sizeof(text), path, e);

    if (rc == 0)
        rc = signer_read(s, text, path, e);
    sodium_memzero(text, sizeof(text));
    return rc;
}

/* ---- the claim ---- */

static void put_b64(struct buf *b, const void *p, size_t n)
{
    char *to = (char *)buf_room(b, sodium_base64_ENCODED_LEN(n, B64));

    if (to == NULL)
        return;
    sodium_bin2base64(to, sodium_base64_ENCODED_LEN(n, B64), p, n, B64);
    b->len += strlen(to);
}

/* Takes o. */
static bool put_part(struct buf *b, json_t *o)
{
    char *text = json_dumps(o, JSON_COMPACT);

    json_decref(o);
    if (text == NULL)
        return false;
    put_b64(b, text, strlen(text));
    free(text);
    return true;
}

static void put_signature(struct buf *b, const struct signer *s)
{
    uint8_t sig[crypto_sign_BYTES];
    crypto_auth_hmacsha256_state st;

    if (s->ed25519) {
        crypto_sign_detached(sig, NULL, b->data, b->len, s->key);
    } else {
        crypto_auth_hmacsha256_init(&st, s->key, s->len);
        crypto_auth_hmacsha256_update(&st, b->data, b->len);
        crypto_auth_hmacsha256_final(&st, sig);
        sodium_memzero(&st, sizeof(st));
    }
    buf_byte(b, '.');
    put_b64(b, sig, s->ed25519 ? crypto_sign_BYTES : crypto_auth_hmacsha256_BYTES);
}

static json_t *payload(const struct claim_said *c)
{
    if (c->task != NULL)
        return json_pack("{s:[s],s:s,s:s*,s:i,s:I,s:I}", "queues", c->queue, "jti", c->task, "key",
                         c->task_key, "priority", c->priority, "iat", (json_int_t)c->now_s, "exp",
                         (json_int_t)c->expires_s);
    return json_pack("{s:s,s:s,s:s*,s:s*,s:I,s:I}", "aud", c->queue, "lane", c->lane, "sub",
                     c->subject, "replaces", c->replaces, "iat", (json_int_t)c->now_s, "exp",
                     (json_int_t)c->expires_s);
}

char *signer_claim(const struct signer *s, const struct claim_said *c)
{
    json_t *head = json_pack("{s:s,s:s,s:s*}", "alg", signer_alg(s), "typ", "JWT", "kid", c->kid);
    json_t *said = payload(c);
    char *jwt = NULL;
    struct buf b;
    bool ok;

    assert(c->queue != NULL && (c->lane == NULL) != (c->task == NULL) && c->expires_s > c->now_s);
    buf_init(&b);
    ok = put_part(&b, head);
    buf_byte(&b, '.');
    ok = put_part(&b, said) && ok;
    if (ok && !b.failed)
        put_signature(&b, s);
    if (ok && !b.failed)
        jwt = strndup((const char *)b.data, b.len);
    buf_fini(&b);
    return jwt;
}

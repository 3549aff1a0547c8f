/* contact.c: see contact.h. */
#include "router/state/contact.h"

#include <assert.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <sodium.h>
#include <string.h>

#include "common/json/json_point.h"
#include "common/json/json_scan.h"
#include "common/task/call.h"
#include "common/task/rules.h"
#include "common/task/sha256.h"

/* A sealed contact: nonce, tag, and what is sealed, one behind the other. */
#define NONCE crypto_secretbox_NONCEBYTES
#define LEAST (NONCE + crypto_secretbox_MACBYTES + TOKEN_TEXT_LEN + 1)

_Static_assert(CONTACT_SEALED_MAX == LEAST + CONTACT_MAX, "the longest fits");
_Static_assert(CONTACT_KEY_BYTES == crypto_secretbox_KEYBYTES, "the key fits");

uint16_t contact_seal(const struct cluster_keys *k, const char *token, const struct contact_in *c,
                      uint8_t out[CONTACT_SEALED_MAX])
{
    uint8_t plain[CONTACT_PLAIN_MAX];
    size_t n = TOKEN_TEXT_LEN;

    assert(c->text.n > 0 && c->text.n <= CONTACT_MAX && (!c->by_other || k->token.has_other));
    memcpy(plain, token, TOKEN_TEXT_LEN);
    if (c->way != CONTACT_UNSAID)
        plain[n++] = (uint8_t)c->way;
    memcpy(plain + n, c->text.p, c->text.n);
    n += c->text.n;
    randombytes_buf(out, NONCE);
    (void)crypto_secretbox_easy(out + NONCE, plain, n, out, c->by_other ? k->other_contact : k->contact);
    sodium_memzero(plain, sizeof(plain));
    return (uint16_t)(NONCE + crypto_secretbox_MACBYTES + n);
}

int contact_open(const struct cluster_keys *k, const uint8_t *sealed, size_t n, char out[CONTACT_PLAIN_MAX])
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

/* ---- messages to browsers: names are those of RFC 8291, section 3.4 ---- */

#define HASH     HMAC256_BYTES
#define TAG      16u
#define RECORD   4096u /* bytes: the most that push services take */
#define TEXT_MAX 3000u

/* ---- keys ---------------------------------------------------------------------------------- */

int web_push_key_of(struct web_push_key *k, const uint8_t contact_key[CONTACT_KEY_BYTES])
{
    for (unsigned char label[] = "segq vapid 1"; label[11] <= '9'; label[11]++) {
        EVP_PKEY *key;

        (void)crypto_generichash(k->secret, P256_COORD, label, sizeof(label) - 1, contact_key, CONTACT_KEY_BYTES);
        key = p256_pair(k->secret, k->point);
        if (key == NULL)
            continue;
        EVP_PKEY_free(key);
        sodium_bin2base64(k->text, sizeof(k->text), k->point, P256_POINT, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
        return 0;
    }
    return SQ_ENOMEM;
}

static bool shared_secret(EVP_PKEY *ours, const uint8_t theirs[P256_POINT], uint8_t out[HASH])
{
    EVP_PKEY *peer = p256_public(theirs);
    EVP_PKEY_CTX *c = peer != NULL ? EVP_PKEY_CTX_new(ours, NULL) : NULL;
    size_t n = HASH;
    bool ok = c != NULL && EVP_PKEY_derive_init(c) == 1 && EVP_PKEY_derive_set_peer(c, peer) == 1 &&
              EVP_PKEY_derive(c, out, &n) == 1 && n == HASH;

    EVP_PKEY_CTX_free(c);
    EVP_PKEY_free(peer);
    ERR_clear_error(); /* errors of this thread: TLS looks at them */
    return ok;
}

/* ---- a message ----------------------------------------------------------------------------- */

/* HMAC(key, text, more, 1): HKDF-Expand of one block; more NULL: HMAC(key, text), HKDF-Extract. */
static void mac(const uint8_t *key, size_t key_n, struct slice text, const uint8_t *more, size_t n, uint8_t out[HASH])
{
    struct hmac256 k;
    uint8_t all[200];

    assert(text.n + n + 1 <= sizeof(all));
    memcpy(all, text.p, text.n);
    if (n > 0)
        memcpy(all + text.n, more, n);
    all[text.n + n] = 1;
    hmac256_key(&k, key, key_n);
    hmac256_of(out, &k, all, text.n + n + (more != NULL));
    sodium_memzero(all, sizeof(all));
    sodium_memzero(&k, sizeof(k));
}

static const uint8_t nothing[1];

#define INFO(s) ((struct slice){ (char *)(uintptr_t)(s), sizeof(s) }) /* with its 0 */

/* Content key and nonce. */
static bool keys_of(const struct web_push *w, EVP_PKEY *ours, const uint8_t point[P256_POINT],
                    const uint8_t salt[PUSH_SALT], uint8_t cek[HASH], uint8_t nonce[HASH])
{
    uint8_t ecdh[HASH], prk[HASH], ikm[HASH], points[2 * P256_POINT];
    bool ok = shared_secret(ours, w->point, ecdh);

    memcpy(points, w->point, P256_POINT);
    memcpy(points + P256_POINT, point, P256_POINT);
    if (ok) {
        mac(w->auth, PUSH_AUTH, (struct slice){ (char *)ecdh, HASH }, NULL, 0, prk);
        mac(prk, HASH, INFO("WebPush: info"), points, sizeof(points), ikm);
        mac(salt, PUSH_SALT, (struct slice){ (char *)ikm, HASH }, NULL, 0, prk);
        mac(prk, HASH, INFO("Content-Encoding: aes128gcm"), nothing, 0, cek);
        mac(prk, HASH, INFO("Content-Encoding: nonce"), nothing, 0, nonce);
    }
    sodium_memzero(ecdh, sizeof(ecdh));
    sodium_memzero(prk, sizeof(prk));
    sodium_memzero(ikm, sizeof(ikm));
    return ok;
}

/* Appends text and the byte that ends the last record, sealed, and their tag. */
static bool put_record(const uint8_t *cek, const uint8_t *nonce, struct slice text, struct buf *out)
{
    static const uint8_t last = 2;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    uint8_t sealed[TEXT_MAX + 1 + TAG];
    int n = 0, more = 0, rest = 0;
    bool ok = c != NULL && EVP_EncryptInit_ex(c, EVP_aes_128_gcm(), NULL, cek, nonce) == 1 &&
              EVP_EncryptUpdate(c, sealed, &n, (const uint8_t *)text.p, (int)text.n) == 1 &&
              EVP_EncryptUpdate(c, sealed + n, &more, &last, 1) == 1 &&
              EVP_EncryptFinal_ex(c, sealed + n + more, &rest) == 1 &&
              EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, TAG, sealed + n + more + rest) == 1;

    EVP_CIPHER_CTX_free(c);
    if (ok)
        buf_append(out, sealed, (size_t)(n + more + rest) + TAG);
    return ok && !out->failed;
}

int web_push_seal_with(const struct web_push *w, const uint8_t secret[P256_COORD], const uint8_t salt[PUSH_SALT],
                       struct slice text, struct buf *out)
{
    static const uint8_t record[] = { 0, 0, RECORD >> 8, RECORD & 0xff, P256_POINT };
    uint8_t point[P256_POINT], cek[HASH], nonce[HASH];
    EVP_PKEY *ours = p256_pair(secret, point);
    bool ok = ours != NULL && text.n <= TEXT_MAX && keys_of(w, ours, point, salt, cek, nonce);

    if (ok) {
        buf_append(out, salt, PUSH_SALT);
        buf_append(out, record, sizeof(record));
        buf_append(out, point, P256_POINT);
        ok = put_record(cek, nonce, text, out);
    }
    sodium_memzero(cek, sizeof(cek));
    sodium_memzero(nonce, sizeof(nonce));
    EVP_PKEY_free(ours);
    return ok ? 0 : SQ_EINVAL;
}

int web_push_seal(const struct web_push *w, struct slice text, struct buf *out)
{
    uint8_t secret[P256_COORD], salt[PUSH_SALT];
    int rc;

    randombytes_buf(secret, sizeof(secret));
    randombytes_buf(salt, sizeof(salt));
    rc = web_push_seal_with(w, secret, salt, text, out);
    sodium_memzero(secret, sizeof(secret));
    return rc;
}

/* ---- who sends it -------------------------------------------------------------------------- */

static void put_base64(struct buf *b, const void *p, size_t n)
{
    char text[1000];

    if (sodium_base64_encoded_len(n, sodium_base64_VARIANT_URLSAFE_NO_PADDING) > sizeof(text))
        b->failed = true;
    else
        buf_str(b, sodium_bin2base64(text, sizeof(text), p, n, sodium_base64_VARIANT_URLSAFE_NO_PADDING));
}

int web_push_authorize(const struct web_push_key *k, const char *host, int64_t until_s, const char *sub, struct buf *out)
{
    static const char head[] = "{\"typ\":\"JWT\",\"alg\":\"ES256\"}";
    uint8_t point[P256_POINT], signature[P256_SIGNATURE];
    EVP_PKEY *key = p256_pair(k->secret, point);
    char claims[800];
    int n = snprintf(claims, sizeof(claims), "{\"aud\":\"https://%s\",\"exp\":%lld,\"sub\":\"%s\"}", host,
                     (long long)until_s, sub);
    size_t from;
    bool ok = key != NULL && n > 0 && (size_t)n < sizeof(claims);

    buf_str(out, "vapid t=");
    from = out->len;
    put_base64(out, head, sizeof(head) - 1);
    buf_byte(out, '.');
    put_base64(out, claims, ok ? (size_t)n : 0);
    ok = ok && !out->failed && p256_sign(key, out->data + from, out->len - from, signature);
    buf_byte(out, '.');
    put_base64(out, signature, ok ? sizeof(signature) : 0);
    buf_str(out, ",k=");
    buf_str(out, k->text);
    EVP_PKEY_free(key);
    return ok && !out->failed ? 0 : SQ_ENOMEM;
}

/* ---- a subscription ------------------------------------------------------------------------ */

/* A string at a pointer, decoded in place. */
static bool text_at(struct slice json, const char *pointer, struct slice *text)
{
    struct slice raw;
    struct json_scan s;

    if (json_point(json, slice_of(pointer), &raw) != JSON_POINT_FOUND)
        return false;
    json_scan_init(&s, raw);
    return json_scan_peek(&s) == '"' && json_scan_text(&s, text) && json_scan_ends(&s);
}

static bool bytes_at(struct slice json, const char *pointer, uint8_t *out, size_t n)
{
    struct slice text;
    size_t got;

    return text_at(json, pointer, &text) &&
           sodium_base642bin(out, n, text.p, text.n, "=", &got, NULL, sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0 &&
           got == n;
}

const char *web_push_read(struct web_push *w, struct slice json)
{
    struct slice url;
    EVP_PKEY *known;
    struct url u;
    size_t used;

    if (!bytes_at(json, "/keys/p256dh", w->point, P256_POINT) || !bytes_at(json, "/keys/auth", w->auth, PUSH_AUTH))
        return "keys.p256dh and keys.auth are 65 and 16 bytes in base64url";
    known = p256_public(w->point);
    EVP_PKEY_free(known);
    if (known == NULL)
        return "keys.p256dh is no point of the curve";
    if (!text_at(json, "/endpoint", &url) || url.n > CONTACT_MAX || url_authority(&u, url.p, url.n, &used) != NULL ||
        !u.tls || u.port != 443)
        return "endpoint is an https url, without a port";
    for (size_t i = 0; i <= strlen(u.host); i++)
        w->host[i] = (char)(u.host[i] >= 'A' && u.host[i] <= 'Z' ? u.host[i] | 0x20 : u.host[i]);
    if (call_path_wrong(url.p + used, url.n - used) != NULL)
        return "endpoint has a path with a character that must be escaped, or none";
    memcpy(w->path, url.p + used, url.n - used);
    w->path[url.n - used] = '\0';
    return NULL;
}

bool web_push_queue(const struct web_push *w, const char *queue, char out[TASK_NAME_MAX + 1])
{
    int n = snprintf(out, TASK_NAME_MAX + 1, "%s/%s", queue, w->host);

    return n <= TASK_NAME_MAX && queue_name_ok(out, (size_t)n);
}

/* request.c: the caller's fields first; of ours those that the caller may say go before ours. */
#include "task/calls/request.h"

#include <ctype.h>
#include <sodium.h>
#include <string.h>
#include <strings.h>

#define SECRET_LEAST 24u /* bytes */

_Static_assert(crypto_sign_SECRETKEYBYTES == SIGN_SECRET_MAX, "seed and public key");

/* ---- keys -------------------------------------------------------------------------------- */

static bool is_prefix(const char *p, size_t n, const char *prefix)
{
    return n >= strlen(prefix) && memcmp(p, prefix, strlen(prefix)) == 0;
}

static bool decode(struct sign_key *k, const char *p, size_t n)
{
    size_t len;
    const char *end;

    if (sodium_base642bin(k->bytes, sizeof(k->bytes), p, n, NULL, &len, &end,
                          sodium_base64_VARIANT_ORIGINAL) < 0 || end != p + n)
        return false;
    k->n = (uint8_t)len;
    return true;
}

static const char *read_key(struct sign_key *k, const char *p, size_t n)
{
    uint8_t seed[crypto_sign_SEEDBYTES], public[crypto_sign_PUBLICKEYBYTES];

    k->ed25519 = is_prefix(p, n, "whsk_");
    if (!k->ed25519 && !is_prefix(p, n, "whsec_"))
        return "a key begins with whsec_ or whsk_";
    p += k->ed25519 ? 5 : 6;
    n -= k->ed25519 ? 5 : 6;
    if (!decode(k, p, n))
        return "a key is base64 behind its prefix";
    if (!k->ed25519)
        return k->n >= SECRET_LEAST ? NULL : "a key of HMAC has 24 to 64 bytes";
    if (k->n != sizeof(seed) && k->n != sizeof(k->bytes))
        return "a key of Ed25519 has 32 or 64 bytes";
    memcpy(seed, k->bytes, sizeof(seed)); /* a public key that is there is made anew: it fits */
    crypto_sign_seed_keypair(public, k->bytes, seed);
    k->n = sizeof(k->bytes);
    sodium_memzero(seed, sizeof(seed));
    return NULL;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

const char *sign_keys_read(struct sign_keys *k, const char *text, size_t n, unsigned *line)
{
    const char *end = text + n;

    *k = (struct sign_keys){ 0 };
    *line = 0;
    while (text < end) {
        const char *to = memchr(text, '\n', (size_t)(end - text)), *why;
        const char *next = to != NULL ? to + 1 : end;

        to = to != NULL ? to : end;
        ++*line;
        while (text < to && is_space(*text))
            text++;
        while (to > text && is_space(to[-1]))
            to--;
        if (to > text && *text != '#') {
            if (k->n == SIGN_KEYS_MAX)
                return "there are more than 4 keys";
            why = read_key(&k->key[k->n++], text, (size_t)(to - text));
            if (why != NULL)
                return why;
        }
        text = next;
    }
    return k->n > 0 ? NULL : "there is no key";
}

/* ---- signatures -------------------------------------------------------------------------- */

static void put_base64(const uint8_t *p, size_t n, struct buf *out)
{
    size_t room = sodium_base64_encoded_len(n, sodium_base64_VARIANT_ORIGINAL);
    char *to = (char *)buf_reserve(out, room);

    if (to == NULL)
        return;
    sodium_bin2base64(to, room, p, n, sodium_base64_VARIANT_ORIGINAL);
    out->len += room - 1;
}

static void hmac(const struct sign_key *k, const struct buf *what, struct buf *out)
{
    uint8_t mac[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256_state s;

    crypto_auth_hmacsha256_init(&s, k->bytes, k->n);
    crypto_auth_hmacsha256_update(&s, what->data, what->len);
    crypto_auth_hmacsha256_final(&s, mac);
    buf_str(out, "v1,");
    put_base64(mac, sizeof(mac), out);
}

static void ed25519(const struct sign_key *k, const struct buf *what, struct buf *out)
{
    uint8_t sig[crypto_sign_BYTES];

    crypto_sign_detached(sig, NULL, what->data, what->len, k->bytes);
    buf_str(out, "v1a,");
    put_base64(sig, sizeof(sig), out);
}

void sign_append(const struct sign_keys *k, const char *id, int64_t unix_s, const uint8_t *body,
                 size_t n, struct buf *out)
{
    struct buf what;

    buf_init(&what);
    buf_str(&what, id);
    buf_byte(&what, '.');
    buf_i64(&what, unix_s);
    buf_byte(&what, '.');
    buf_append(&what, body, n);
    out->failed |= what.failed;
    for (unsigned i = 0; i < k->n && !what.failed; i++) {
        if (i > 0)
            buf_byte(out, ' ');
        if (k->key[i].ed25519)
            ed25519(&k->key[i], &what, out);
        else
            hmac(&k->key[i], &what, out);
    }
    buf_fini(&what);
}

/* ---- fields ------------------------------------------------------------------------------ */

static void end_line(struct buf *out)
{
    buf_byte(out, 0);
}

static void line(struct buf *out, const char *name, const char *value)
{
    buf_str(out, name);
    buf_str(out, ": ");
    buf_str(out, value);
    end_line(out);
}

static void number(struct buf *out, const char *name, int64_t value)
{
    buf_str(out, name);
    buf_str(out, ": ");
    buf_i64(out, value);
    end_line(out);
}

static bool is_name(struct call_span name, const char *lower)
{
    return name.n == strlen(lower) && strncasecmp(name.p, lower, name.n) == 0;
}

/* True: the name of the field `auth` is this one, also for a target to which _ and - are one. */
static bool is_auth(const char *auth, struct call_span name)
{
    size_t n = auth != NULL ? strcspn(auth, ":") : 0;

    for (size_t i = 0; i < n && n == name.n; i++)
        if (tolower(name.p[i] == '_' ? '-' : name.p[i]) != tolower(auth[i] == '_' ? '-' : auth[i]))
            return false;
    return n > 0 && n == name.n;
}

/* Which of those that we would say has the caller said? */
static void of_caller(const struct call *c, const char *auth, bool *agent, bool *key, struct buf *out)
{
    struct call_span rest = c->headers, name, value;

    *agent = *key = false;
    while (call_header_next(&rest, &name, &value)) {
        if (is_auth(auth, name))
            continue;
        *agent |= is_name(name, "user-agent");
        *key |= is_name(name, "idempotency-key");
        buf_append(out, name.p, name.n);
        buf_str(out, ": ");
        buf_append(out, value.p, value.n);
        end_line(out);
    }
}

static void signature(const struct call *c, const struct request_facts *f, struct buf *out)
{
    int64_t seconds = f->now_ms / 1000;

    line(out, "webhook-id", f->task);
    number(out, "webhook-timestamp", seconds);
    buf_str(out, "webhook-signature: ");
    sign_append(f->keys, f->task, seconds, (const uint8_t *)c->body.p, c->body.n, out);
    end_line(out);
}

/* Without the routers' address it is a path. */
static void complete_url(const struct request_facts *f, struct buf *out)
{
    buf_str(out, "segq-complete-url: ");
    buf_str(out, f->public_url);
    buf_str(out, "/v1/tasks/");
    buf_str(out, f->right);
    buf_str(out, "/complete");
    end_line(out);
}

void request_fields(const struct call *c, const struct request_facts *f, struct buf *out)
{
    bool agent, key;

    of_caller(c, f->auth, &agent, &key, out);
    if (f->auth != NULL) {
        buf_str(out, f->auth);
        end_line(out);
    }
    if (!agent)
        line(out, "user-agent", "segq/1");
    if (!key)
        line(out, "idempotency-key", f->task);
    line(out, "segq-task", f->task);
    line(out, "segq-queue", f->queue);
    number(out, "segq-attempt", f->attempt);
    if (f->attempt > 1)
        line(out, "segq-redelivered", "1");
    number(out, "segq-due", f->due_ms);
    complete_url(f, out);
    if (f->keys != NULL)
        signature(c, f, out);
}

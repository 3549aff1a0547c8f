/* segq_gate.c: see segq_tasks.h. Passes are JWTs (EdDSA) of the routers' published keys. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "segq_http.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define JWT_MAX   4096
#define KEYS_MS   60000    /* if the answer does not say for how long */
#define AGAIN_MS  5000     /* keys are asked for at most so often */
#define STALE_MS  86400000 /* while no router answers, old keys do */
#define LEEWAY_S  30

struct segq_gate {
    struct segq_client *c;
    char queue[65];
    pthread_mutex_t lock;
    pthread_cond_t change;
    json_t *keys; /* kid: x */
    int64_t until_ms, asked_ms, got_ms;
    int busy; /* somebody asks for keys */
};

static json_t *invalid(struct segq_error *e, const char *code, const char *detail)
{
    segq_fail(e, SEGQ_PASS, 401, code, detail);
    return NULL;
}

/* ---- base64url ---- */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* The bytes of its one form, without padding; -1: it is none, or too long. */
static int bytes_of(const char *text, size_t n, unsigned char *out, size_t cap)
{
    unsigned bits = 0;
    int have = 0;
    size_t w = 0;

    for (size_t i = 0; i < n; i++) {
        const char *at = text[i] != '\0' ? strchr(letters, text[i]) : NULL;

        if (at == NULL)
            return -1;
        bits = bits << 6 | (unsigned)(at - letters);
        have += 6;
        if (have >= 8) {
            have -= 8;
            if (w == cap)
                return -1;
            out[w++] = (unsigned char)(bits >> have);
        }
    }
    return n % 4 == 1 || (bits & ((1u << have) - 1)) != 0 ? -1 : (int)w;
}

/* Appends; 4 characters for 3 bytes. */
static char *put_bytes(char *w, const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i += 3) {
        unsigned v = (unsigned)p[i] << 16 | (i + 1 < n ? (unsigned)p[i + 1] << 8 : 0) |
                     (i + 2 < n ? p[i + 2] : 0);

        for (size_t k = 0; k < 4 && k < n - i + 1; k++)
            *w++ = letters[v >> (18 - 6 * k) & 63];
    }
    *w = '\0';
    return w;
}

static json_t *object_of(const char *text, size_t n)
{
    unsigned char raw[JWT_MAX];
    int got = bytes_of(text, n, raw, sizeof(raw));
    json_t *o = got > 0 ? json_loadb((char *)raw, (size_t)got, JSON_REJECT_DUPLICATES, NULL) : NULL;

    if (json_is_object(o))
        return o;
    json_decref(o);
    return NULL;
}

/* ---- keys ---- */

static void take_keys(struct segq_gate *g, json_t *said)
{
    json_t *fresh = json_object(), *k;
    size_t i;

    json_array_foreach(json_object_get(said, "keys"), i, k)
        if (strcmp(segq_text(k, "crv"), "Ed25519") == 0)
            json_object_set(fresh, segq_text(k, "kid"), json_object_get(k, "x"));
    if (json_object_size(fresh) > 0) {
        json_decref(g->keys);
        g->keys = json_incref(fresh);
        g->got_ms = segq_now_ms();
        g->until_ms = g->got_ms + KEYS_MS;
    }
    json_decref(fresh);
}

/* With the lock, which is open while it asks. */
static void fetch(struct segq_gate *g, struct segq_error *e)
{
    struct segq_ask q = { .method = "GET", .path = "/.well-known/jwks.json", .bearer = "" };
    json_t *said;

    g->busy = 1;
    g->asked_ms = segq_now_ms();
    q.retry_for_ms = json_object_size(g->keys) > 0 ? 0 : 3000;
    pthread_mutex_unlock(&g->lock);
    said = segq_http(g->c, &q, e);
    pthread_mutex_lock(&g->lock);
    g->asked_ms = segq_now_ms();
    g->until_ms = g->asked_ms + AGAIN_MS; /* if it did not work */
    take_keys(g, said);
    if (said == NULL && segq_now_ms() - g->got_ms > STALE_MS)
        json_object_clear(g->keys);
    json_decref(said);
    g->busy = 0;
    pthread_cond_broadcast(&g->change);
}

/* The key of that name; 0: there is none, -1: nobody can say. */
static int find_key(struct segq_gate *g, const char *kid, unsigned char key[32],
                    struct segq_error *e)
{
    int64_t now = segq_now_ms();
    const char *x;
    int known, found = 0;

    pthread_mutex_lock(&g->lock);
    known = json_object_get(g->keys, kid) != NULL;
    while (g->busy && !known) /* who has a key that will do does not wait */
        pthread_cond_wait(&g->change, &g->lock);
    if (!g->busy && !(now < g->until_ms && (known || now < g->asked_ms + AGAIN_MS)) &&
        now >= g->asked_ms)
        fetch(g, e);
    x = json_string_value(json_object_get(g->keys, kid));
    if (x != NULL)
        found = bytes_of(x, strlen(x), key, 32) == 32;
    else if (json_object_size(g->keys) == 0)
        found = -1;
    pthread_mutex_unlock(&g->lock);
    return found;
}

static int is_signed(const unsigned char key[32], const unsigned char *sig, size_t n,
                     const char *text, size_t size)
{
    EVP_PKEY *k = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, 32);
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    int good = k != NULL && c != NULL && n == 64 &&
               EVP_DigestVerifyInit(c, NULL, NULL, NULL, k) == 1 &&
               EVP_DigestVerify(c, sig, n, (const unsigned char *)text, size) == 1;

    EVP_MD_CTX_free(c);
    EVP_PKEY_free(k);
    return good;
}

/* ---- passes ---- */

/* claims, or NULL and why they open nothing. */
static json_t *judge(const struct segq_gate *g, json_t *claims, struct segq_error *e)
{
    json_t *exp = json_object_get(claims, "exp"), *nbf = json_object_get(claims, "nbf");
    long long now = (long long)time(NULL);
    const char *why = NULL, *detail = "";

    if (!json_is_integer(exp) || !json_is_integer(nbf) || segq_text(claims, "jti")[0] == '\0')
        why = "malformed", detail = "members of a pass are missing";
    else if (strcmp(segq_text(claims, "aud"), g->queue) != 0)
        why = "other_queue", detail = "it is for another queue";
    else if (now >= json_integer_value(exp) + LEEWAY_S)
        why = "expired";
    else if (now < json_integer_value(nbf) - LEEWAY_S)
        why = "not_yet_valid", detail = "are the clocks right?";
    else if (json_object_get(claims, "use") != NULL || json_object_get(claims, "htu") != NULL ||
             json_object_get(claims, "htm") != NULL)
        why = "bound", detail = "it is good once, or for one path: ask a router";
    if (why == NULL)
        return claims;
    json_decref(claims);
    return invalid(e, why, detail);
}

json_t *segq_gate_check(struct segq_gate *g, const char *pass, struct segq_error *e)
{
    const char *dot = strchr(pass, '.'), *second = dot != NULL ? strchr(dot + 1, '.') : NULL;
    unsigned char sig[66], key[32];
    json_t *head, *claims;
    char kid[128];
    int n, found;

    if (second == NULL || strchr(second + 1, '.') != NULL || strlen(pass) > JWT_MAX)
        return invalid(e, "malformed", "not three parts");
    head = object_of(pass, (size_t)(dot - pass));
    snprintf(kid, sizeof(kid), "%s", segq_text(head, "kid"));
    found = strcmp(segq_text(head, "alg"), "EdDSA") == 0 && json_object_get(head, "crit") == NULL;
    json_decref(head);
    if (head == NULL)
        return invalid(e, "malformed", "its head is no JSON");
    if (!found)
        return invalid(e, "algorithm", "a pass is signed with EdDSA, and needs no extension");
    if (kid[0] == '\0')
        return invalid(e, "malformed", "it does not say which key has signed it");
    n = bytes_of(second + 1, strlen(second + 1), sig, sizeof(sig));
    claims = n >= 0 ? object_of(dot + 1, (size_t)(second - dot - 1)) : NULL;
    if (claims == NULL)
        return invalid(e, "malformed", "no base64url, or no JSON");
    found = find_key(g, kid, key, e);
    if (found > 0 && is_signed(key, sig, (size_t)n, pass, (size_t)(second - pass)))
        return judge(g, claims, e);
    json_decref(claims);
    if (found < 0)
        return segq_none(e, "no router has told its keys yet");
    return invalid(e, found ? "signature" : "unknown_key",
                   "no router of this cluster has signed it");
}

static void on_header(void *ctx, const char *p, size_t n)
{
    static const char *const names[] = { "ticket", "queue", "subject", "lane", "bypass",
                                         "expires" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t k = strlen(names[i]) + 7;

        if (n > k && strncasecmp(p, "x-segq-", 7) == 0 && p[k] == ':' &&
            strncasecmp(p + 7, names[i], k - 7) == 0) {
            for (k++; k < n && p[k] == ' '; k++)
                ;
            while (n > k && (p[n - 1] == '\r' || p[n - 1] == '\n' || p[n - 1] == ' '))
                n--;
            json_object_set_new(ctx, names[i], json_stringn(p + k, n - k));
            return;
        }
    }
}

json_t *segq_gate_verify(struct segq_gate *g, const char *pass, struct segq_error *e)
{
    struct segq_ask q = { .method = "GET", .bearer = pass, .on_header = on_header,
                          .retry_for_ms = 3000 }; /* a visitor waits */
    json_t *out = json_object(), *said;
    char path[256];

    if (strpbrk(pass, "\r\n") != NULL || strlen(pass) > JWT_MAX) {
        json_decref(out);
        return invalid(e, "malformed", "a line break, or too long");
    }
    q.path = segq_path(path, sizeof(path), "/v1/verify?queue=", g->queue, "");
    q.ctx = out;
    said = segq_http(g->c, &q, e);
    json_decref(said);
    if (said != NULL && q.status == 204 && (json_object_get(out, "ticket") != NULL ||
                                            json_object_get(out, "bypass") != NULL))
        return out;
    json_decref(out);
    return said != NULL ? segq_none(e, "what answers is no router: it lets nobody in") : NULL;
}

struct segq_gate *segq_gate_new(struct segq_client *c, const char *queue)
{
    struct segq_gate *g = calloc(1, sizeof(*g));

    if (g == NULL || strlen(queue) >= sizeof(g->queue)) {
        free(g);
        return NULL;
    }
    strcpy(g->queue, queue);
    g->c = c;
    g->keys = json_object();
    g->asked_ms = g->got_ms = -STALE_MS;
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->change, NULL);
    return g;
}

void segq_gate_free(struct segq_gate *g)
{
    if (g == NULL)
        return;
    json_decref(g->keys);
    pthread_cond_destroy(&g->change);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

/* ---- claims ---- */

char *segq_sign_claim(const char *secret, const char *kid, long ttl_s, json_t *members)
{
    long long now = (long long)time(NULL);
    json_t *head = json_pack("{s:s, s:s, s:s*}", "alg", "HS256", "typ", "JWT", "kid", kid);
    char *a, *b = NULL, *out = NULL, *w;
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned n = 0;

    json_object_set_new(members, "iat", json_integer(now));
    json_object_set_new(members, "exp", json_integer(now + (ttl_s > 0 ? ttl_s : 300)));
    a = json_dumps(head, JSON_COMPACT);
    b = json_dumps(members, JSON_COMPACT);
    if (a != NULL && b != NULL)
        out = malloc((strlen(a) + strlen(b)) * 4 / 3 + 80);
    if (out != NULL) {
        w = put_bytes(out, (unsigned char *)a, strlen(a));
        *w++ = '.';
        w = put_bytes(w, (unsigned char *)b, strlen(b));
        HMAC(EVP_sha256(), secret, (int)strcspn(secret, " \r\n"), (unsigned char *)out,
             (size_t)(w - out), mac, &n);
        *w++ = '.';
        put_bytes(w, mac, n);
    }
    free(a);
    free(b);
    json_decref(head);
    json_decref(members);
    return out;
}

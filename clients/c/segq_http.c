/* segq_http.c: see segq_http.h. Each request by a curl handle that keeps its connection. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "segq_http.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define WORST_MS  30000 /* of the back-off */
#define BODY_MAX  (64u << 20)
#define REDIRECTS 4
#define KEPT      16

struct segq_client {
    char **routers; /* owned, each too */
    size_t n_routers, router;
    char *bearer; /* the header; NULL: none */
    long timeout_ms, retry_for_ms;
    CURL *idle[KEPT];
    int n_idle;
    pthread_mutex_t lock; /* of router and idle */
};

/* ---- time, errors, texts ---- */

int64_t segq_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void segq_sleep(long ms)
{
    struct timespec t;

    t.tv_sec = ms / 1000;
    t.tv_nsec = ms % 1000 * 1000000;
    nanosleep(&t, NULL);
}

void segq_random(unsigned char *out, size_t n)
{
    FILE *f = fopen("/dev/urandom", "rb");

    if (f == NULL || fread(out, 1, n, f) != n)
        abort(); /* keys that others guess are worse */
    fclose(f);
}

long segq_spread(long ms)
{
    unsigned r;

    segq_random((unsigned char *)&r, sizeof(r));
    return ms + (long)(r % (unsigned)(ms / 2 + 1));
}

void segq_fail(struct segq_error *e, enum segq_failure kind, int status, const char *code,
               const char *detail)
{
    memset(e, 0, sizeof(*e));
    e->kind = kind;
    e->status = status;
    snprintf(e->code, sizeof(e->code), "%s", code);
    snprintf(e->detail, sizeof(e->detail), "%s", detail);
}

json_t *segq_none(struct segq_error *e, const char *detail)
{
    segq_fail(e, SEGQ_NETWORK, 0, "no_answer", detail);
    return NULL;
}

int segq_mends(const struct segq_error *e)
{
    return e->kind == SEGQ_NETWORK ||
           (e->kind == SEGQ_API && (e->status >= 500 || e->status == 429) &&
            strcmp(e->code, "wait_too_long") != 0 && strcmp(e->code, "endpoint_failed") != 0 &&
            strcmp(e->code, "wait_over") != 0);
}

const char *segq_text(const json_t *o, const char *member)
{
    const char *s = json_string_value(json_object_get(o, member));

    return s != NULL ? s : "";
}

char *segq_path(char *out, size_t cap, const char *before, const char *name, const char *behind)
{
    size_t n = (size_t)snprintf(out, cap, "%s", before);

    for (; *name != '\0' && n + 4 < cap; name++) {
        int plain = (*name >= '0' && *name <= '9') || (*name >= 'A' && *name <= 'Z') ||
                    (*name >= 'a' && *name <= 'z') || strchr("-._~", *name) != NULL;

        n += (size_t)snprintf(out + n, cap - n, plain ? "%c" : "%%%02X",
                              (unsigned char)*name);
    }
    snprintf(out + n, cap - n, "%s", behind);
    return out;
}

/* ---- birth and death ---- */

struct segq_client *segq_client_new(const char *const *routers, size_t n, const char *token)
{
    struct segq_client *c = calloc(1, sizeof(*c));
    size_t size = token != NULL ? strlen(token) + 32 : 0;

    if (c == NULL)
        return NULL;
    pthread_mutex_init(&c->lock, NULL);
    c->timeout_ms = 10000;
    c->retry_for_ms = 60000;
    c->routers = calloc(n + 1, sizeof(*c->routers));
    c->bearer = token != NULL ? malloc(size) : NULL;
    for (size_t i = 0; c->routers != NULL && i < n; i++) {
        c->routers[i] = strdup(routers[i]);
        for (size_t k = strlen(routers[i]);
             c->routers[i] != NULL && k > 0 && routers[i][k - 1] == '/';)
            c->routers[i][--k] = '\0';
        c->n_routers += c->routers[i] != NULL;
    }
    if (n == 0 || c->n_routers != n || (token != NULL && c->bearer == NULL) ||
        (token != NULL && strpbrk(token, "\r\n") != NULL)) {
        segq_client_free(c);
        return NULL;
    }
    if (token != NULL)
        snprintf(c->bearer, size, "Authorization: Bearer %s", token);
    c->router = (size_t)segq_spread(2000) % n; /* not everybody begins at the same one */
    return c;
}

void segq_client_free(struct segq_client *c)
{
    if (c == NULL)
        return;
    for (int i = 0; i < c->n_idle; i++)
        curl_easy_cleanup(c->idle[i]);
    for (size_t i = 0; c->routers != NULL && i < c->n_routers; i++)
        free(c->routers[i]);
    free(c->routers);
    free(c->bearer);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

void segq_client_times(struct segq_client *c, long timeout_ms, long retry_for_ms)
{
    c->timeout_ms = timeout_ms;
    c->retry_for_ms = retry_for_ms;
}

long segq_client_timeout(const struct segq_client *c)
{
    return c->timeout_ms;
}

static CURL *take_handle(struct segq_client *c)
{
    CURL *h = NULL;

    pthread_mutex_lock(&c->lock);
    if (c->n_idle > 0)
        h = c->idle[--c->n_idle];
    pthread_mutex_unlock(&c->lock);
    return h != NULL ? h : curl_easy_init();
}

static void give_handle(struct segq_client *c, CURL *h)
{
    curl_easy_reset(h); /* the connection stays */
    pthread_mutex_lock(&c->lock);
    if (c->n_idle < KEPT) {
        c->idle[c->n_idle++] = h;
        h = NULL;
    }
    pthread_mutex_unlock(&c->lock);
    if (h != NULL)
        curl_easy_cleanup(h);
}

/* ---- one try ---- */

struct answer {
    struct segq_ask *q;
    CURL *h;
    char *body;
    size_t n;
    int target; /* it is a target's, whatever its status */
};

static size_t on_head(char *p, size_t size, size_t n, void *arg)
{
    struct answer *a = arg;

    if (size * n > 12 && strncasecmp(p, "segq-status:", 12) == 0)
        a->target = 1;
    if (a->q->on_header != NULL)
        a->q->on_header(a->q->ctx, p, size * n);
    return size * n;
}

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
    struct answer *a = arg;
    long status = 0;
    char *more;

    n *= size;
    curl_easy_getinfo(a->h, CURLINFO_RESPONSE_CODE, &status);
    if (a->q->on_piece != NULL && (status < 300 || a->target))
        return a->q->on_piece(a->q->ctx, p, n) == 0 ? n : 0;
    if (a->n + n > BODY_MAX)
        return 0;
    more = realloc(a->body, a->n + n + 1);
    if (more == NULL)
        return 0;
    a->body = more;
    memcpy(a->body + a->n, p, n);
    a->n += n;
    return n;
}

static int on_turn(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct segq_ask *q = arg;

    (void)a, (void)b, (void)c, (void)d;
    return q->stop != NULL && __atomic_load_n(q->stop, __ATOMIC_RELAXED);
}

/* Authorization is for the routers that the caller named: another origin gets none, nor does who is behind it. */
static struct curl_slist *headers_of(const struct segq_client *c, const struct segq_ask *q, int own)
{
    struct curl_slist *l = curl_slist_append(NULL, "Expect:");
    char line[256], pass[4200];

    if (q->value != NULL || q->text != NULL)
        l = curl_slist_append(l, "Content-Type: application/json");
    if (own && q->bearer == NULL && c->bearer != NULL)
        l = curl_slist_append(l, c->bearer);
    if (own && q->bearer != NULL && q->bearer[0] != '\0') {
        snprintf(pass, sizeof(pass), "Authorization: Bearer %s", q->bearer);
        l = curl_slist_append(l, pass);
    }
    if (q->accept != NULL) {
        snprintf(line, sizeof(line), "Accept: %s", q->accept);
        l = curl_slist_append(l, line);
    }
    if (q->last_id != NULL) {
        snprintf(line, sizeof(line), "Last-Event-ID: %s", q->last_id);
        l = curl_slist_append(l, line);
    }
    if (q->key != NULL) {
        snprintf(line, sizeof(line), "Idempotency-Key: %s", q->key);
        l = curl_slist_append(l, line);
    }
    if (q->wait_s > 0) {
        snprintf(line, sizeof(line), "Prefer: wait=%ld", q->wait_s);
        l = curl_slist_append(l, line);
    }
    return l;
}

/* Scheme, host and port, as they are compared. */
static int same_origin(const char *a, const char *b)
{
    static const CURLUPart parts[] = { CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT };
    CURLU *u = curl_url(), *v = curl_url();
    int same = curl_url_set(u, CURLUPART_URL, a, 0) == CURLUE_OK &&
               curl_url_set(v, CURLUPART_URL, b, 0) == CURLUE_OK;

    for (size_t i = 0; same && i < sizeof(parts) / sizeof(parts[0]); i++) {
        char *x = NULL, *y = NULL;

        same = curl_url_get(u, parts[i], &x, CURLU_DEFAULT_PORT) == CURLUE_OK &&
               curl_url_get(v, parts[i], &y, CURLU_DEFAULT_PORT) == CURLUE_OK &&
               strcasecmp(x, y) == 0;
        curl_free(x);
        curl_free(y);
    }
    curl_url_cleanup(u);
    curl_url_cleanup(v);
    return same;
}

static int is_named(const struct segq_client *c, const char *url)
{
    for (size_t i = 0; i < c->n_routers; i++)
        if (same_origin(c->routers[i], url))
            return 1;
    return 0;
}

static void set_up(struct segq_client *c, struct answer *a, const char *url, const char *body,
                   struct curl_slist *headers)
{
    struct segq_ask *q = a->q;
    long ms = q->timeout_ms > 0 ? q->timeout_ms : c->timeout_ms;

    curl_easy_setopt(a->h, CURLOPT_URL, url);
    curl_easy_setopt(a->h, CURLOPT_PATH_AS_IS, 1L); /* a name may be "..", or a stranger's */
    curl_easy_setopt(a->h, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(a->h, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(a->h, CURLOPT_CUSTOMREQUEST, q->method);
    curl_easy_setopt(a->h, CURLOPT_HTTPHEADER, headers);
    if (body != NULL || strcmp(q->method, "POST") == 0)
        curl_easy_setopt(a->h, CURLOPT_POSTFIELDS, body != NULL ? body : "");
    curl_easy_setopt(a->h, CURLOPT_HEADERFUNCTION, on_head);
    curl_easy_setopt(a->h, CURLOPT_HEADERDATA, a);
    curl_easy_setopt(a->h, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(a->h, CURLOPT_WRITEDATA, a);
    curl_easy_setopt(a->h, CURLOPT_XFERINFOFUNCTION, on_turn);
    curl_easy_setopt(a->h, CURLOPT_XFERINFODATA, q);
    curl_easy_setopt(a->h, CURLOPT_NOPROGRESS, 0L);
    if (q->on_piece != NULL) {
        curl_easy_setopt(a->h, CURLOPT_CONNECTTIMEOUT_MS, c->timeout_ms);
        curl_easy_setopt(a->h, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(a->h, CURLOPT_LOW_SPEED_TIME, (ms + 999) / 1000);
    } else {
        curl_easy_setopt(a->h, CURLOPT_TIMEOUT_MS, ms);
    }
}

/* Asks, and where it is redirected to. The body: a->body. */
static CURLcode perform(struct segq_client *c, struct answer *a, const char *router,
                        const char *body)
{
    char *url = malloc(strlen(router) + strlen(a->q->path) + 1), *to;
    CURLcode rc = CURLE_OUT_OF_MEMORY;
    int own = 1;

    if (url != NULL)
        strcat(strcpy(url, router), a->q->path);
    for (int hop = 0; url != NULL; hop++) {
        struct curl_slist *headers;

        own = own && (hop == 0 || is_named(c, url));
        headers = headers_of(c, a->q, own);
        a->n = 0;
        a->target = 0;
        set_up(c, a, url, body, headers);
        rc = curl_easy_perform(a->h);
        curl_slist_free_all(headers);
        to = NULL;
        if (rc == CURLE_OK) {
            curl_off_t after = 0;
            long status = 0;

            curl_easy_getinfo(a->h, CURLINFO_RESPONSE_CODE, &status);
            a->q->status = (int)status;
            curl_easy_getinfo(a->h, CURLINFO_RETRY_AFTER, &after);
            a->q->retry_after_ms = (after < 86400 ? (long)after : 86400) * 1000;
            if ((status == 307 || status == 308) && !a->target)
                curl_easy_getinfo(a->h, CURLINFO_REDIRECT_URL, &to);
        }
        if (to == NULL)
            break;
        rc = CURLE_TOO_MANY_REDIRECTS;
        if (hop >= REDIRECTS || strncmp(to, strncmp(url, "https:", 6) == 0 ? "https:" : "http",
                                        4 + 2 * (strncmp(url, "https:", 6) == 0)) != 0)
            break; /* none leads out of HTTP, or from https to http */
        to = strdup(to);
        free(url);
        url = to;
    }
    free(url);
    return rc;
}

static json_t *refusal(const struct answer *a, const json_t *said, struct segq_error *e)
{
    json_t *ms = json_object_get(said, "poll_after_ms");

    segq_fail(e, SEGQ_API, a->q->status, segq_text(said, "code"), segq_text(said, "detail"));
    e->retry_after_ms = json_is_integer(ms) && json_integer_value(ms) > 0
                            ? (long)json_integer_value(ms) : a->q->retry_after_ms;
    if (e->retry_after_ms > 86400000)
        e->retry_after_ms = 86400000;
    return NULL;
}

static json_t *judge(const struct answer *a, struct segq_error *e)
{
    int status = a->q->status;
    json_t *said;

    if (a->q->on_piece != NULL && (status < 300 || a->target))
        return json_object();
    if (status >= 300 && status < 400)
        return segq_none(e, "a redirect that is not followed");
    if (status < 300 && a->n == 0)
        return json_object();
    said = json_loadb(a->body != NULL ? a->body : "", a->n, 0, NULL);
    if (status < 300)
        return said != NULL ? said : segq_none(e, "an answer that is no JSON");
    refusal(a, said, e);
    json_decref(said);
    return NULL;
}

static json_t *once(struct segq_client *c, struct segq_ask *q, const char *router,
                    const char *body, struct segq_error *e)
{
    struct answer a = { q, take_handle(c), NULL, 0, 0 };
    json_t *said;
    CURLcode rc;

    if (a.h == NULL)
        return segq_none(e, "no memory");
    rc = perform(c, &a, router, body);
    said = rc == CURLE_OK ? judge(&a, e) : segq_none(e, curl_easy_strerror(rc));
    free(a.body);
    give_handle(c, a.h);
    return said;
}

/* ---- until it is answered ---- */

static const char *first_router(struct segq_client *c)
{
    const char *r;

    pthread_mutex_lock(&c->lock);
    r = c->routers[c->router];
    pthread_mutex_unlock(&c->lock);
    return r;
}

static void rotate(struct segq_client *c, const char *failed_one)
{
    pthread_mutex_lock(&c->lock);
    if (c->routers[c->router] == failed_one)
        c->router = (c->router + 1) % c->n_routers;
    pthread_mutex_unlock(&c->lock);
}

json_t *segq_http(struct segq_client *c, struct segq_ask *q, struct segq_error *e)
{
    long retry_ms = q->retry_for_ms < 0 ? c->retry_for_ms : q->retry_for_ms, grown = 1000, pause;
    int64_t end = segq_now_ms() + retry_ms;
    char *body = q->value != NULL ? json_dumps(q->value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

    memset(e, 0, sizeof(*e));
    if (q->value != NULL && body == NULL)
        return segq_none(e, "what is to be sent is no JSON");
    for (int tries = 0;; tries++) {
        const char *router = first_router(c);
        json_t *said = once(c, q, router, body != NULL ? body : q->text, e);

        if (said == NULL && segq_mends(e))
            rotate(c, router);
        pause = segq_spread(e->retry_after_ms > 0 ? e->retry_after_ms : grown);
        if (tries == 0 && e->kind == SEGQ_NETWORK && c->n_routers > 1)
            pause = segq_spread(60); /* another one may well be there */
        if (said != NULL || !segq_mends(e) || segq_now_ms() + pause > end ||
            on_turn(q, 0, 0, 0, 0)) {
            free(body);
            return said;
        }
        segq_sleep(pause);
        grown = grown * 2 < WORST_MS ? grown * 2 : WORST_MS;
    }
}

const char *segq_new_key(char out[SEGQ_KEY_ROOM])
{
    unsigned char seed[16];

    segq_random(seed, sizeof(seed));
    for (int i = 0; i < 16; i++)
        snprintf(out + 2 * i, 3, "%02x", seed[i]);
    return out;
}

json_t *segq_ask(struct segq_client *c, const char *method, const char *path, json_t *body,
                 struct segq_error *e)
{
    static const char places[] = "/v1/places";
    struct segq_ask q = { .method = method, .path = path, .value = body, .retry_for_ms = -1 };
    char key[SEGQ_KEY_ROOM];
    json_t *said;

    if (strncmp(path, places, sizeof(places) - 1) == 0)
        q.bearer = "";
    if (strcmp(path, places) == 0) /* tried again it finds the places of the try before */
        q.key = segq_new_key(key);
    said = segq_http(c, &q, e);

    json_decref(body);
    return said;
}

int segq_stream(struct segq_client *c, const char *method, const char *path, const char *body,
                int (*on_piece)(void *ctx, const char *p, size_t n), void *ctx, long timeout_ms,
                struct segq_error *e)
{
    struct segq_ask q = { .method = method, .path = path, .text = body, .ctx = ctx,
                          .on_piece = on_piece, .timeout_ms = timeout_ms };
    json_t *said = segq_http(c, &q, e);

    json_decref(said);
    return said != NULL ? q.status : -1;
}

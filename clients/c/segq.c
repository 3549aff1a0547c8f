/* segq.c: see segq.h. One curl handle, one request at a time, and the moment of the next. In place
 * of a poll it listens: a request that stays open, whose body are events. */
#if !defined(_WIN32) && !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#include "segq.h"

#include <curl/curl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef _WIN32
#include <windows.h>
#endif

#define BODY_MAX    16384
#define TOKEN_MAX   65
#define DEVICE      "segq_device_"
#define DEVICE_MAX  128
#define NONCE_MAX   128
#define JSON_MAX    1280 /* of a proof: an address is its longest member */
#define PROOF_MAX   2304
#define PROOFS      3 /* in a row, at most: the first may lack a nonce */
#define WHY_MAX     64
#define NUMBER_MAX  40 /* two numbers and a dash */
#define PASS_MAX    4096
#define WORST_MS    30000
#define TIMEOUT_MS  10000
#define LEAVE_TRIES 5
#define FIRST_MS    5000  /* for the first event */
#define SILENCE_S   40    /* a router says something every 15 s */
#define DEAF_MS     60000 /* polls, before it tries to listen again */

struct segq {
    CURLM *multi;
    CURL *easy;
    struct curl_slist *headers;
    char **routers; /* owned, each too */
    size_t n_routers, router;
    char *queue, *body; /* owned; body: of the join */
    void (*on_news)(void *ctx, const struct segq *s, enum segq_state state);
    void *ctx;
    long timeout_ms;
    enum segq_state state;
    int busy, news, tries; /* a request is under way; something was heard; failures */
    int polls_only, listens, heard; /* the request is for events; one has come */
    int64_t due_ms, deaf_ms, begun_ms; /* deaf: it polls until then */
    int64_t told_ms;
    uint64_t random;
    struct segq_ticket ticket;
    struct segq_key key;
    int proves, proofs; /* the key is proved next; refusals that it had to mend, since the last ticket */
    struct curl_slist proof_line; /* before `headers`, of a join */
    char nonce[NONCE_MAX], proof[PROOF_MAX];
    char token[TOKEN_MAX], device[DEVICE_MAX], why[WHY_MAX], pass[PASS_MAX], name[NUMBER_MAX];
    char answer[BODY_MAX + 1];
    size_t n_answer;
};

/* ---- time and chance ---- */

static int64_t now_ms(void)
{
#ifdef _WIN32
    return (int64_t)GetTickCount64();
#else
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
#endif
}

/* So much, and up to half as much again: those who were sent away together shall not come
 * back together. */
static int64_t spread(struct segq *s, int64_t ms)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return ms + (int64_t)(s->random % (uint64_t)(ms / 2 + 1));
}

/* ---- JSON: the members of one flat object ---- */

static const char *blank(const char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')
        p++;
    return p;
}

/* Behind the string that begins at p, or NULL. */
static const char *past_string(const char *p)
{
    for (p++; *p != '"'; p++) {
        if (*p == '\\')
            p++;
        if (*p == '\0')
            return NULL;
    }
    return p + 1;
}

/* Behind any value: what is nested is counted, not understood. NULL: it does not end. */
static const char *past_value(const char *p)
{
    int depth = 0;

    for (;;) {
        if (*p == '"') {
            p = past_string(p);
            if (p == NULL)
                return NULL;
            if (depth == 0)
                return p;
            continue;
        }
        if (*p == '\0')
            return NULL;
        if (depth == 0 && (*p == ',' || *p == '}' || *p == ']'))
            return p;
        depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
        p++;
        if (depth == 0 && (p[-1] == '}' || p[-1] == ']'))
            return p;
    }
}

/* The value of a member, or NULL. */
static const char *member(const char *json, const char *name)
{
    const char *p = blank(json);
    size_t n = strlen(name);

    if (*p++ != '{')
        return NULL;
    for (;;) {
        const char *key = blank(p), *end;

        end = *key == '"' ? past_string(key) : NULL;
        if (end == NULL)
            return NULL;
        p = blank(end);
        if (*p != ':')
            return NULL;
        p = blank(p + 1);
        if ((size_t)(end - key) == n + 2 && memcmp(key + 1, name, n) == 0)
            return p;
        p = past_value(p);
        p = p != NULL ? blank(p) : NULL;
        if (p == NULL || *p++ != ',')
            return NULL;
    }
}

/* A whole object with a token: a body that is cut off is none. */
static int is_ticket(const char *json)
{
    return past_value(blank(json)) != NULL && member(json, "token") != NULL;
}

/* A string without escapes (tokens, passes, codes have none); "" if it is none. */
static void text_of(const char *json, const char *name, char *out, size_t cap)
{
    const char *p = member(json, name);
    size_t n = 0;

    out[0] = '\0';
    if (p == NULL || *p != '"')
        return;
    for (p++; *p != '"'; p++) {
        if (*p == '\\' || *p == '\0' || n + 1 >= cap)
            return;
        n++;
    }
    memcpy(out, p - n, n);
    out[n] = '\0';
}

static long long number_of(const char *json, const char *name, long long other)
{
    const char *p = member(json, name);

    if (p == NULL || !((*p >= '0' && *p <= '9') || *p == '-'))
        return other;
    return strtoll(p, NULL, 10);
}

/* Appends ,"name":"text", escaped. */
static char *put_member(char *w, const char *name, const char *text)
{
    w += sprintf(w, "%s\"%s\":\"", w[-1] == '{' ? "" : ",", name);
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20)
            w += sprintf(w, "\\u%04x", (unsigned)*text);
        else if (*text == '"' || *text == '\\')
            w += sprintf(w, "\\%c", *text);
        else
            *w++ = *text;
    }
    *w++ = '"';
    return w;
}

static char *join_body(const struct segq_options *o)
{
    const char *names[] = { "client", "subject", "lane", "claim" };
    const char *texts[] = { o->client != NULL ? o->client : "game", o->subject, o->lane,
                            o->claim };
    size_t room = 64;
    char *body, *w;

    for (int i = 0; i < 4; i++)
        room += texts[i] != NULL ? strlen(texts[i]) * 6 + 16 : 0;
    body = malloc(room);
    if (body == NULL)
        return NULL;
    w = body;
    *w++ = '{';
    for (int i = 0; i < 4; i++)
        if (texts[i] != NULL)
            w = put_member(w, names[i], texts[i]);
    strcpy(w, "}");
    return body;
}

/* -1: there are none. */
static int random_bytes(unsigned char *p, size_t n)
{
    FILE *f = fopen("/dev/urandom", "rb");
    size_t got = f != NULL ? fread(p, 1, n, f) : 0;

    if (f != NULL)
        fclose(f);
    return got == n ? 0 : -1;
}

/* A line that names this join, and that nobody guesses: if the answer is lost, the next try
 * finds its place. Where there are no random bytes: none. */
static int add_key(struct curl_slist **headers)
{
    char line[60] = "Idempotency-Key: ";
    unsigned char seed[16];
    struct curl_slist *more;

    if (random_bytes(seed, sizeof(seed)) < 0)
        return 0;
    for (size_t i = 0; i < sizeof(seed); i++)
        sprintf(line + strlen(line), "%02x", seed[i]);
    more = curl_slist_append(*headers, line);
    if (more == NULL)
        return -1;
    *headers = more;
    return 0;
}

/* ---- proofs of a key: RFC 9449 ---- */

/* Appends in URL-safe base64, without padding. */
static char *put_b64(char *w, const void *data, size_t n)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const unsigned char *p = data;

    for (size_t i = 0; i < n; i += 3) {
        unsigned v = (unsigned)p[i] << 16 | (i + 1 < n ? (unsigned)p[i + 1] << 8 : 0) |
                     (i + 2 < n ? p[i + 2] : 0);

        for (size_t k = 0; k < 4 && k < n - i + 1; k++)
            *w++ = letters[v >> (18 - 6 * k) & 63];
    }
    *w = '\0';
    return w;
}

/* What JSON has as it is. */
static int is_plain(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] <= ' ' || text[i] > '~' || text[i] == '"' || text[i] == '\\')
            return 0;
    return 1;
}

/* Its first part, which says the key. */
static char *put_proof_head(char *w, const struct segq_key *k)
{
    char json[256], x[48], y[48];

    put_b64(x, k->x, sizeof(k->x));
    put_b64(y, k->y, sizeof(k->y));
    return put_b64(w, json, (size_t)sprintf(json, "{\"typ\":\"dpop+jwt\",\"alg\":\"ES256\",\"jwk\":"
                   "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"%s\",\"y\":\"%s\"}}", x, y));
}

/* The header for a POST to that address; -1: the key does not sign. */
static int set_proof(struct segq *s, const char *url)
{
    unsigned char jti[12] = { 0 }, rs[64];
    char json[JSON_MAX], id[20], *text = s->proof + sprintf(s->proof, "DPoP: "), *w;
    int n;

    random_bytes(jti, sizeof(jti)); /* segq does not look at it, nor at iat */
    put_b64(id, jti, sizeof(jti));
    n = snprintf(json, sizeof(json), "{\"htm\":\"POST\",\"htu\":\"%s\",\"iat\":%lld,\"jti\":\"%s\",\"nonce\":\"%s\"}",
                 url, (long long)time(NULL), id, s->nonce);
    if (n < 0 || (size_t)n >= sizeof(json) || !is_plain(url, strlen(url)))
        return -1;
    w = put_proof_head(text, &s->key);
    *w++ = '.';
    w = put_b64(w, json, (size_t)n);
    if (s->key.sign(s->key.ctx, text, (size_t)(w - text), rs) != 0)
        return -1;
    *w++ = '.';
    put_b64(w, rs, sizeof(rs));
    return 0;
}

/* Whether the key mends this refusal: the cookie is ten minutes old, or not there; or the proof had
 * an old nonce, or none. */
static int may_prove(struct segq *s, long status)
{
    int joins = s->token[0] == '\0';
    char code[WHY_MAX];

    text_of(s->answer, "code", code, sizeof(code));
    if (s->key.sign == NULL || s->proofs >= PROOFS ||
        !((status == 401 && strcmp(code, "proof_required") == 0) ||
          (status == 403 && strcmp(code, "other_device") == 0 && !joins && !s->proves)))
        return 0;
    s->proofs++;
    s->proves = !joins;
    return 1;
}

/* ---- requests ---- */

static void take_events(struct segq *s);

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
    struct segq *s = arg;
    long status = 0;

    if (s->n_answer + size * n > BODY_MAX)
        return 0; /* more than segq ever says: this answer is none */
    memcpy(s->answer + s->n_answer, p, size * n);
    s->n_answer += size * n;
    s->answer[s->n_answer] = '\0';
    curl_easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE, &status);
    if (s->listens && status == 200)
        take_events(s);
    return size * n;
}

/* NAME=VALUE at the begin of p; -1: it is no cookie of a device. */
static int take_device(struct segq *s, const char *p, size_t n)
{
    size_t k = 0;

    while (k < n && strchr(" ,;\r\n", p[k]) == NULL)
        k++;
    if (k >= DEVICE_MAX || k < sizeof(DEVICE) || memcmp(p, DEVICE, sizeof(DEVICE) - 1) != 0 ||
        memchr(p, '=', k) == NULL)
        return -1;
    memcpy(s->device, p, k);
    s->device[k] = '\0';
    return 0;
}

static void take_nonce(struct segq *s, const char *p, size_t n)
{
    while (n > 0 && (p[n - 1] == '\r' || p[n - 1] == '\n' || p[n - 1] == ' '))
        n--;
    if (n == 0 || n >= NONCE_MAX || !is_plain(p, n))
        return;
    memcpy(s->nonce, p, n);
    s->nonce[n] = '\0';
}

/* Where its value begins; 0: it is another one. */
static size_t value_at(const char *p, size_t n, const char *name)
{
    size_t at = strlen(name);

    if (n <= at || !curl_strnequal(p, name, at))
        return 0;
    while (at < n && p[at] == ' ')
        at++;
    return at;
}

/* The cookie comes with a join; with a 503, when a ticket was rebound; with a proof. */
static size_t on_head(char *p, size_t size, size_t n, void *arg)
{
    size_t at;

    n *= size;
    if ((at = value_at(p, n, "set-cookie:")) > 0)
        take_device(arg, p + at, n - at);
    else if ((at = value_at(p, n, "dpop-nonce:")) > 0)
        take_nonce(arg, p + at, n - at);
    return n;
}

/* The next one at ms from now. */
static void later(struct segq *s, int64_t ms)
{
    s->due_ms = now_ms() + ms;
}

/* ms: what we were told to wait; 0: nobody answered, so another router is tried. */
static void failed(struct segq *s, int64_t ms)
{
    int64_t grown = s->tries < 5 ? (int64_t)1000 << s->tries : WORST_MS;

    s->tries++;
    s->ticket.trouble = 1;
    s->news = 1;
    if (ms == 0)
        s->router = (s->router + 1) % s->n_routers;
    later(s, spread(s, ms > 0 ? ms : grown));
    if (s->state == SEGQ_LEAVING && s->tries >= LEAVE_TRIES)
        s->state = SEGQ_LEFT; /* it is given up in time by itself */
}

/* -1: the key does not sign. */
static int set_target(struct segq *s)
{
    char url[1024];
    int joins = s->token[0] == '\0', signs = s->key.sign != NULL && (joins || s->proves);

    if (joins)
        snprintf(url, sizeof(url), "%s/v1/queues/%s/tickets", s->routers[s->router],
                 s->queue);
    else
        snprintf(url, sizeof(url), "%s/v1/tickets/%s%s", s->routers[s->router], s->token,
                 s->proves ? "/device" : s->listens ? "/events" : "");
    if (signs && set_proof(s, url) < 0)
        return -1;
    curl_easy_reset(s->easy);
    curl_easy_setopt(s->easy, CURLOPT_URL, url);
    s->proof_line.data = s->proof;
    s->proof_line.next = joins ? s->headers : NULL;
    if (joins || signs) {
        curl_easy_setopt(s->easy, CURLOPT_POSTFIELDS, joins ? s->body : "");
        curl_easy_setopt(s->easy, CURLOPT_HTTPHEADER, signs ? &s->proof_line : s->headers);
    } else if (s->state == SEGQ_LEAVING) {
        curl_easy_setopt(s->easy, CURLOPT_CUSTOMREQUEST, "DELETE");
    }
    return 0;
}

static void end(struct segq *s, enum segq_state state, const char *why)
{
    snprintf(s->why, sizeof(s->why), "%s", why);
    s->state = state;
    s->ticket.trouble = 0;
}

static void begin(struct segq *s)
{
    if (s->state == SEGQ_LEAVING && s->token[0] == '\0') {
        s->state = SEGQ_LEFT;
        s->news = 1;
        return;
    }
    /* of a saved place a poll says more: a 404 from /events says nothing of it */
    s->listens = s->state == SEGQ_WAITING && !s->polls_only && !s->proves && s->told_ms != 0 &&
                 now_ms() >= s->deaf_ms;
    s->heard = 0;
    s->begun_ms = now_ms();
    if (set_target(s) < 0) {
        end(s, SEGQ_REFUSED, "key_failed");
        s->news = 1;
        return;
    }
    curl_easy_setopt(s->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(s->easy, CURLOPT_WRITEDATA, s);
    curl_easy_setopt(s->easy, CURLOPT_HEADERFUNCTION, on_head);
    curl_easy_setopt(s->easy, CURLOPT_HEADERDATA, s);
    if (s->device[0] != '\0')
        curl_easy_setopt(s->easy, CURLOPT_COOKIE, s->device);
    if (s->listens) {
        curl_easy_setopt(s->easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(s->easy, CURLOPT_LOW_SPEED_TIME, (long)SILENCE_S);
    } else {
        curl_easy_setopt(s->easy, CURLOPT_TIMEOUT_MS, s->timeout_ms);
    }
    curl_easy_setopt(s->easy, CURLOPT_NOSIGNAL, 1L);
    s->n_answer = 0;
    s->answer[0] = '\0';
    if (curl_multi_add_handle(s->multi, s->easy) == CURLM_OK)
        s->busy = 1;
    else
        failed(s, 0);
}

/* ---- answers ---- */

static void on_ticket(struct segq *s, const char *json)
{
    char state[16];

    text_of(json, "token", s->token, sizeof(s->token));
    text_of(json, "ticket", s->name, sizeof(s->name));
    s->proofs = 0;
    if (s->state == SEGQ_LEAVING) { /* of a join: now there is something to give back */
        s->tries = 0;
        later(s, 0);
        return;
    }
    text_of(json, "state", state, sizeof(state));
    s->ticket.position = number_of(json, "position", 0);
    s->ticket.total = number_of(json, "total", 0);
    s->ticket.eta_s = number_of(json, "eta_s", -1);
    s->ticket.trouble = 0;
    s->tries = 0;
    if (strcmp(state, "admitted") == 0) {
        text_of(json, "pass", s->pass, sizeof(s->pass));
        s->ticket.pass_expires_at = number_of(json, "pass_expires_at", 0);
        s->state = SEGQ_ADMITTED;
        return;
    }
    s->state = SEGQ_WAITING;
    s->told_ms = number_of(json, "poll_after_ms", 1000);
    later(s, s->told_ms);
}

static void on_problem(struct segq *s, const char *json, long status, int64_t wait_ms)
{
    char code[WHY_MAX], reason[WHY_MAX];

    text_of(json, "code", code, sizeof(code));
    text_of(json, "reason", reason, sizeof(reason));
    if (member(json, "ticket") != NULL)
        text_of(json, "ticket", s->name, sizeof(s->name));
    if (status == 429 || status >= 500 || code[0] == '\0')
        failed(s, number_of(json, "poll_after_ms", wait_ms)); /* without a code it is nobody of ours who answers */
    else if (strcmp(code, "ticket_gone") == 0)
        end(s, SEGQ_GONE, reason);
    else if (strcmp(code, "ticket_unknown") == 0)
        end(s, SEGQ_GONE, "unknown");
    else
        end(s, SEGQ_REFUSED, code);
}

/* ---- events ---- */

/* A whole one, without its last line end. */
static void on_event(struct segq *s, char *text)
{
    const char *name = "", *data = NULL;

    for (char *line = text, *end; line != NULL; line = end) {
        end = strchr(line, '\n');
        if (end != NULL)
            *end++ = '\0';
        if (strncmp(line, "event: ", 7) == 0)
            name = line + 7;
        else if (strncmp(line, "data: ", 6) == 0)
            data = line + 6;
    }
    if (data == NULL)
        return;
    s->heard = 1;
    if (strcmp(name, "beat") == 0)
        return; /* a sign of life, and no news */
    s->news = 1;
    if (strcmp(name, "gone") == 0)
        on_problem(s, data, 410, 0);
    else if (strcmp(name, "away") == 0)
        s->told_ms = -number_of(data, "poll_after_ms", 1000); /* no more, no less */
    else if (name[0] == '\0' && is_ticket(data))
        on_ticket(s, data);
}

static void take_events(struct segq *s)
{
    char *p = s->answer, *end;

    while ((end = strstr(p, "\n\n")) != NULL && s->state == SEGQ_WAITING) {
        *end = '\0';
        on_event(s, p);
        p = end + 2;
    }
    s->n_answer -= (size_t)(p - s->answer);
    memmove(s->answer, p, s->n_answer + 1);
}

static void be_deaf(struct segq *s)
{
    s->deaf_ms = now_ms() + spread(s, DEAF_MS);
    later(s, 0);
}

/* What stayed open has ended. Those who were told at once shall not come back at once. */
static void deaf(struct segq *s, int broken)
{
    if (!s->heard) {
        be_deaf(s);
        return;
    }
    if (broken)
        s->router = (s->router + 1) % s->n_routers;
    if (s->told_ms < 0)
        later(s, -s->told_ms);
    else
        later(s, spread(s, 2 * (s->told_ms > FIRST_MS ? s->told_ms : FIRST_MS)) -
                     2 * (s->told_ms > FIRST_MS ? s->told_ms : FIRST_MS));
}

/* Nothing has come yet: something on the way keeps it. */
static int is_kept(const struct segq *s)
{
    return s->busy && s->listens && !s->heard && now_ms() - s->begun_ms >= FIRST_MS;
}

static int is_over(const struct segq *s)
{
    return s->state >= SEGQ_ADMITTED;
}

static void cut(struct segq *s)
{
    curl_multi_remove_handle(s->multi, s->easy);
    s->busy = 0;
}

/* What a poll would be told, too, the next poll is told: a 404 from /events says nothing of the
 * ticket. */
static int is_deaf(CURLcode rc, long status)
{
    return rc != CURLE_OK || (status < 500 && status != 429);
}

/* As curl saw the end of it. */
static void done(struct segq *s, CURLcode rc)
{
    curl_off_t retry_s = 0;
    long status = 0;

    curl_easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(s->easy, CURLINFO_RETRY_AFTER, &retry_s);
    if (is_over(s))
        return;
    if (rc == CURLE_OK && may_prove(s, status)) {
        later(s, 0);
        return;
    }
    if (rc == CURLE_OK && s->proves && status >= 200 && status < 300) {
        s->proves = 0; /* what was refused is asked again */
        later(s, 0);
        return;
    }
    if (s->listens && is_deaf(rc, status)) {
        deaf(s, rc != CURLE_OK);
        return;
    }
    s->news = 1;
    if (rc != CURLE_OK)
        failed(s, 0);
    else if (s->state == SEGQ_LEAVING && (status == 204 || status == 404 || status == 410))
        end(s, SEGQ_LEFT, "");
    else if ((status == 200 || status == 201) && is_ticket(s->answer))
        on_ticket(s, s->answer);
    else
        on_problem(s, s->answer, status, (int64_t)retry_s * 1000);
}

/* ---- the loop ---- */

static void take_answer(struct segq *s)
{
    CURLMsg *m;
    int left;

    while ((m = curl_multi_info_read(s->multi, &left)) != NULL) {
        CURLcode rc = m->data.result;

        if (m->msg != CURLMSG_DONE)
            continue;
        cut(s);
        done(s, rc);
        return;
    }
}

static void step(struct segq *s)
{
    int running;

    if (!s->busy && now_ms() >= s->due_ms)
        begin(s);
    if (!s->busy)
        return;
    if (curl_multi_perform(s->multi, &running) == CURLM_OK) {
        take_answer(s);
    } else {
        cut(s);
        failed(s, 0);
    }
    if (is_kept(s)) {
        cut(s);
        be_deaf(s);
    } else if (is_over(s) && s->busy) {
        cut(s);
    }
}

enum segq_state segq_poll(struct segq *s, int wait_ms)
{
    int64_t until = now_ms() + (wait_ms > 0 ? wait_ms : 0), left;

    s->news = 0;
    while (!is_over(s)) {
        step(s);
        left = until - now_ms();
        if (s->news || left <= 0)
            break;
        if (!s->busy && s->due_ms - now_ms() < left)
            left = s->due_ms - now_ms();
        if (left > 0)
            curl_multi_poll(s->multi, NULL, 0, (int)(left < 1000 ? left : 1000), NULL);
    }
    if (s->news && s->on_news != NULL)
        s->on_news(s->ctx, s, s->state);
    return s->state;
}

const struct segq_ticket *segq_ticket(const struct segq *s)
{
    return &s->ticket;
}

void segq_leave(struct segq *s)
{
    if (s->state == SEGQ_GONE || s->state == SEGQ_REFUSED || s->state == SEGQ_LEFT)
        return;
    /* A join under way is waited for: the place that it makes is given back then. */
    if (s->busy && s->token[0] != '\0')
        cut(s);
    s->state = SEGQ_LEAVING;
    s->tries = 0;
    if (!s->busy)
        s->due_ms = 0;
}

/* ---- birth and death ---- */

static char *copy(const char *text)
{
    char *p = malloc(strlen(text) + 1);

    return p != NULL ? strcpy(p, text) : NULL;
}

static int copy_routers(struct segq *s, const struct segq_options *o)
{
    s->routers = calloc(o->n_routers, sizeof(*s->routers));
    if (s->routers == NULL)
        return -1;
    for (size_t i = 0; i < o->n_routers; i++) {
        size_t n = strlen(o->routers[i]);

        if (n > 512)
            return -1;
        s->routers[i] = copy(o->routers[i]);
        if (s->routers[i] == NULL)
            return -1;
        s->n_routers++;
        while (n > 0 && s->routers[i][n - 1] == '/')
            s->routers[i][--n] = '\0';
    }
    return 0;
}

static int init(struct segq *s, const struct segq_options *o)
{
    s->on_news = o->on_news;
    s->ctx = o->ctx;
    s->polls_only = o->polls_only;
    if (o->key != NULL)
        s->key = *o->key;
    s->timeout_ms = o->timeout_ms > 0 ? o->timeout_ms : TIMEOUT_MS;
    s->random = (uint64_t)now_ms() * 2654435761u ^ (uint64_t)(uintptr_t)s ^ 88172645463325252u;
    s->ticket = (struct segq_ticket) { s->token, 0, 0, -1, s->pass, 0, s->why, 0,
                                      s->device, s->name };
    s->multi = curl_multi_init();
    s->easy = curl_easy_init();
    s->headers = curl_slist_append(NULL, "Content-Type: application/json");
    s->queue = copy(o->queue);
    s->body = join_body(o);
    if (s->random == 0)
        s->random = 1;
    s->router = 0;
    if (o->token != NULL && strlen(o->token) < TOKEN_MAX) {
        strcpy(s->token, o->token);
        s->state = s->token[0] != '\0' ? SEGQ_WAITING : SEGQ_JOINING;
    }
    if (o->device != NULL && o->device[0] != '\0' &&
        take_device(s, o->device, strlen(o->device)) < 0)
        return -1;
    if (s->multi == NULL || s->easy == NULL || s->headers == NULL || s->queue == NULL ||
        s->body == NULL || add_key(&s->headers) < 0 || copy_routers(s, o) < 0)
        return -1;
    /* not everybody begins at the same one */
    s->router = (size_t)(spread(s, 2000) - 2000) % s->n_routers;
    return 0;
}

struct segq *segq_new(const struct segq_options *o)
{
    struct segq *s;

    if (o->n_routers == 0 || o->queue == NULL || strlen(o->queue) > 64)
        return NULL;
    s = calloc(1, sizeof(*s));
    if (s != NULL && init(s, o) < 0) {
        segq_free(s);
        return NULL;
    }
    return s;
}

void segq_free(struct segq *s)
{
    if (s == NULL)
        return;
    if (s->busy)
        cut(s);
    if (s->easy != NULL)
        curl_easy_cleanup(s->easy);
    if (s->multi != NULL)
        curl_multi_cleanup(s->multi);
    curl_slist_free_all(s->headers);
    for (size_t i = 0; i < s->n_routers; i++)
        free(s->routers[i]);
    free(s->routers);
    free(s->queue);
    free(s->body);
    free(s);
}

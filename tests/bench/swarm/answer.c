/* answer.c: the fields that the simulator needs, found in place. A million players poll
 * through here, on the same cores as the cluster that is measured: no tree is built. */
#define _GNU_SOURCE /* memmem */
#include "tests/bench/swarm/answer.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/err.h"

#define HEAD_MAX 8192u
#define BODY_MAX (1u << 20)

/* Digits only; SQ_EPROTO for anything else. */
static int64_t digits(const char *s, size_t n)
{
    int64_t v = 0;

    if (n == 0 || n > 15)
        return SQ_EPROTO;
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9')
            return SQ_EPROTO;
        v = v * 10 + (s[i] - '0');
    }
    return v;
}

static bool is_name(const char *line, size_t n, const char *name)
{
    return n == strlen(name) && strncasecmp(line, name, n) == 0;
}

/* One header line; body_len is -1 until it is known. */
static int read_header(struct answer *a, const char *line, size_t n, int64_t *body_len)
{
    const char *colon = memchr(line, ':', n), *v = colon;
    size_t name_len, len;

    if (colon == NULL || colon == line)
        return SQ_EPROTO;
    name_len = (size_t)(colon - line);
    do
        v++;
    while (v < line + n && *v == ' ');
    len = (size_t)(line + n - v);
    if (is_name(line, name_len, "content-length")) {
        if (*body_len >= 0)
            return SQ_EPROTO;
        *body_len = digits(v, len);
        return *body_len < 0 || *body_len > BODY_MAX ? SQ_EPROTO : 0;
    }
    if (is_name(line, name_len, "transfer-encoding"))
        return SQ_EPROTO; /* routers always know the length */
    if (is_name(line, name_len, "connection"))
        a->close = len == 5 && strncasecmp(v, "close", 5) == 0;
    if (is_name(line, name_len, "retry-after")) {
        int64_t s = digits(v, len);

        a->retry_after_s = s < 0 || s > 86400 ? -1 : (int)s;
    }
    return 0;
}

int64_t answer_parse(struct answer *a, const char *p, size_t n)
{
    const char *end = memmem(p, n, "\r\n\r\n", 4), *line, *eol;
    int64_t body_len = -1;
    size_t head;

    if (end == NULL)
        return n > HEAD_MAX ? SQ_EPROTO : 0;
    head = (size_t)(end - p) + 4;
    *a = (struct answer){ .retry_after_s = -1 };
    if (head < 15 || memcmp(p, "HTTP/1.1 ", 9) != 0)
        return SQ_EPROTO;
    a->status = (int)digits(p + 9, 3);
    if (a->status < 200)
        return SQ_EPROTO;
    eol = memmem(p, head, "\r\n", 2);
    for (line = eol + 2; line < end; line = eol + 2) {
        eol = memmem(line, (size_t)(p + head - line), "\r\n", 2);
        if (read_header(a, line, (size_t)(eol - line), &body_len) < 0)
            return SQ_EPROTO;
    }
    if (a->status == 204 || a->status == 304)
        body_len = 0;
    if (body_len < 0)
        return SQ_EPROTO;
    if (n - head < (size_t)body_len)
        return 0;
    a->body = p + head;
    a->len = (size_t)body_len;
    return (int64_t)head + body_len;
}

/* Skips a string that starts at its quote; NULL: not ended. */
static const char *after_string(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++)
        if (*p == '\\')
            p++;
    return p < end ? p + 1 : NULL;
}

static const char *after_spaces(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

/* Skips a value: a string, or everything up to the comma or brace of this level. */
static const char *after_value(const char *p, const char *end)
{
    int depth = 0;

    while (p != NULL && p < end) {
        if (*p == '"') {
            p = after_string(p, end);
            continue;
        }
        if (*p == '{' || *p == '[')
            depth++;
        else if (*p == '}' || *p == ']')
            depth--;
        if (depth < 0 || (depth == 0 && *p == ','))
            return p;
        p++;
    }
    return NULL;
}

bool json_member(const char *body, size_t n, const char *name, const char **v, size_t *len)
{
    const char *end = body + n, *p = after_spaces(body, end);
    size_t want = strlen(name);

    if (p >= end || *p++ != '{')
        return false;
    for (;;) {
        const char *key, *key_end, *val;

        p = after_spaces(p, end);
        if (p >= end || *p != '"')
            return false;
        key = p + 1;
        p = after_string(p, end);
        if (p == NULL)
            return false;
        key_end = p - 1;
        p = after_spaces(p, end);
        if (p >= end || *p++ != ':')
            return false;
        val = after_spaces(p, end);
        p = after_value(val, end);
        if (p == NULL)
            return false;
        if ((size_t)(key_end - key) == want && memcmp(key, name, want) == 0) {
            const char *stop = p;

            while (stop > val && (stop[-1] == ' ' || stop[-1] == '\n'))
                stop--;
            if (*val == '"') {
                val++;
                stop--;
            }
            *v = val;
            *len = (size_t)(stop - val);
            return true;
        }
        if (*p++ != ',')
            return false;
    }
}

static int64_t member_num(const char *body, size_t n, const char *name)
{
    const char *v;
    size_t len;

    return json_member(body, n, name, &v, &len) ? digits(v, len) : SQ_EPROTO;
}

/* "1700000000.123" -> milliseconds */
static int64_t seconds_ms(const char *v, size_t n)
{
    const char *dot = memchr(v, '.', n);
    size_t whole = dot != NULL ? (size_t)(dot - v) : n;
    int64_t s = digits(v, whole), frac = 0, unit = 100;

    if (s < 0)
        return SQ_EPROTO;
    for (size_t i = whole + 1; i < n && unit != 0; i++, unit /= 10) {
        if (v[i] < '0' || v[i] > '9')
            return SQ_EPROTO;
        frac += (v[i] - '0') * unit;
    }
    return s * 1000 + frac;
}

static int parse_admitted(struct ticket *t, const char *body, size_t n)
{
    const char *v;
    size_t len;

    t->state = TICKET_ADMITTED;
    if (!json_member(body, n, "pass", &t->pass, &t->pass_len) || t->pass_len == 0 ||
        !json_member(body, n, "released_at", &v, &len))
        return SQ_EPROTO;
    t->released_ms = seconds_ms(v, len);
    return t->released_ms < 0 ? SQ_EPROTO : 0;
}

static int parse_waiting(struct ticket *t, const char *body, size_t n)
{
    const char *v;
    size_t len;
    int64_t ms;

    t->state = TICKET_WAITING;
    if (!json_member(body, n, "position", &v, &len))
        return SQ_EPROTO;
    if (len != 4 || memcmp(v, "null", 4) != 0) {
        int64_t at = digits(v, len);

        if (at < 1)
            return SQ_EPROTO;
        t->has_position = true;
        t->position = (uint64_t)at;
    }
    ms = member_num(body, n, "poll_after_ms");
    if (ms < 0 || ms > UINT32_MAX)
        return SQ_EPROTO;
    t->poll_after_ms = (uint32_t)ms;
    return 0;
}

int ticket_parse(struct ticket *t, const char *body, size_t n)
{
    const char *v;
    size_t len;

    memset(t, 0, sizeof(*t));
    if (!json_member(body, n, "token", &t->token, &t->token_len) || t->token_len == 0 ||
        t->token_len > 64 || !json_member(body, n, "state", &v, &len))
        return SQ_EPROTO;
    if (len == 7 && memcmp(v, "waiting", 7) == 0)
        return parse_waiting(t, body, n);
    if (len == 8 && memcmp(v, "admitted", 8) == 0)
        return parse_admitted(t, body, n);
    return SQ_EPROTO;
}

uint64_t text_hash(const char *s, size_t n)
{
    static const uint8_t key[crypto_shorthash_KEYBYTES] = "segq swarm hash";
    uint64_t h;

    crypto_shorthash((uint8_t *)&h, (const uint8_t *)s, n, key);
    return h != 0 ? h : 1;
}

uint64_t pass_id_hash(const char *pass, size_t n)
{
    const char *dot = memchr(pass, '.', n), *end, *id;
    uint8_t raw[2048];
    size_t len, id_len;

    end = dot == NULL ? NULL : memchr(dot + 1, '.', (size_t)(pass + n - dot - 1));
    if (end == NULL ||
        sodium_base642bin(raw, sizeof(raw), dot + 1, (size_t)(end - dot - 1), NULL, &len,
                          NULL, sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
        !json_member((const char *)raw, len, "jti", &id, &id_len))
        return 0;
    return text_hash(id, id_len);
}

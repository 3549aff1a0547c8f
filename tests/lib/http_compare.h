/* http_compare.h: one request through http.c and through libhttp-parser, for fuzz_http.c
 * and test_http_compare.c. Included once per program.
 *
 * Where both accept, they must agree on every byte: where the request ends, method,
 * target, body, keep-alive. Where only one accepts, the reason must be in this list:
 *
 *   only http_parser accepts             why we refuse
 *     LIMIT     414, 413, 431            our limits are lower
 *     VERSION   505, 400                 HTTP/1.x only, spelt so, after one space
 *     CODING    501, 417                 codings, CONNECT, expectations we do not know
 *     HOST      no, two or a bad Host    it does not look (RFC 9112 3.2: 400)
 *     NEWLINE   bare LF, more empty lines before a request (2.2: tolerance is optional)
 *     FOLD      obs-fold (5.2: 400)
 *     NAME      space in or behind a name (5.1: 400)
 *     TARGET    forms and characters that are no URI's (3.2: 400)
 *     FRAMING   Transfer-Encoding that is not exactly chunked, or in HTTP/1.0; "5, 5"
 *     CONTROL   control characters in values (RFC 9110 5.5: 400)
 *     CHUNK     blanks in a chunk's size line, long ones, bad trailers
 *     TWICE     Authorization or Cookie twice
 *   only http.c accepts                  why it refuses
 *     METHOD    a method that is not in its list (ours answers 405)
 *     STRICT    an HTTP version 1.2 .. 1.9, headers named like its own special cases */
#ifndef SEGQ_TESTS_HTTP_COMPARE_H
#define SEGQ_TESTS_HTTP_COMPARE_H

/* Both headers name the methods alike: theirs get other names. */
#define http_method  peer_http_method
#define HTTP_GET     PEER_GET
#define HTTP_HEAD    PEER_HEAD
#define HTTP_POST    PEER_POST
#define HTTP_PUT     PEER_PUT
#define HTTP_DELETE  PEER_DELETE
#define HTTP_PATCH   PEER_PATCH
#define HTTP_OPTIONS PEER_OPTIONS
#include <http_parser.h>
#undef http_method
#undef HTTP_GET
#undef HTTP_HEAD
#undef HTTP_POST
#undef HTTP_PUT
#undef HTTP_DELETE
#undef HTTP_PATCH
#undef HTTP_OPTIONS
#include <string.h>

#include "common/http/http.h"

enum cmp_class {
    CMP_SAME,
    CMP_LIMIT,
    CMP_VERSION,
    CMP_CODING,
    CMP_HOST,
    CMP_NEWLINE,
    CMP_FOLD,
    CMP_NAME,
    CMP_TARGET,
    CMP_FRAMING,
    CMP_CONTROL,
    CMP_CHUNK,
    CMP_TWICE,
    CMP_METHOD,
    CMP_STRICT,
    CMP_UNEXPLAINED,
    CMP_NCLASSES
};

static const char *const cmp_names[CMP_NCLASSES] = {
    "same",   "limit",   "version", "coding", "host",  "newline", "fold",   "name",
    "target", "framing", "control", "chunk",  "twice", "method",  "strict", "UNEXPLAINED",
};

struct peer_seen {
    bool done, too_big;
    size_t used, target_n, body_n;
    unsigned method;
    bool keep_alive;
    char target[HTTP_MAX_LINE], body[HTTP_MAX_BODY + 1];
};

static int peer_target(http_parser *p, const char *at, size_t n)
{
    struct peer_seen *s = p->data;

    if (s->target_n + n > sizeof(s->target))
        s->too_big = true;
    else
        memcpy(s->target + s->target_n, at, n);
    s->target_n += n;
    return 0;
}

static int peer_body(http_parser *p, const char *at, size_t n)
{
    struct peer_seen *s = p->data;

    if (s->body_n + n > sizeof(s->body))
        s->too_big = true;
    else
        memcpy(s->body + s->body_n, at, n);
    s->body_n += n;
    return 0;
}

static int peer_done(http_parser *p)
{
    struct peer_seen *s = p->data;

    s->done = true;
    s->method = p->method;
    s->keep_alive = http_should_keep_alive(p);
    http_parser_pause(p, 1);
    return 0;
}

/* One request; true: accepted, seen is filled. *err: HPE_OK = more bytes wanted. */
static bool peer_parse(const char *t, size_t n, struct peer_seen *s, enum http_errno *err)
{
    http_parser_settings set;
    http_parser p;

    memset(s, 0, sizeof(*s));
    http_parser_settings_init(&set);
    set.on_url = peer_target;
    set.on_body = peer_body;
    set.on_message_complete = peer_done;
    http_parser_init(&p, HTTP_REQUEST);
    p.data = s;
    s->used = http_parser_execute(&p, &set, t, n);
    *err = HTTP_PARSER_ERRNO(&p);
    return s->done;
}

/* ---- what can be seen in the text of the head ---- */

static size_t head_len(const char *t, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (t[i] == '\n' &&
            (t[i - 1] == '\n' || (i >= 2 && t[i - 1] == '\r' && t[i - 2] == '\n')))
            if (i > 2)
                return i + 1;
    }
    return n;
}

static bool bare_newline(const char *t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (t[i] == '\n' && (i == 0 || t[i - 1] != '\r'))
            return true;
        if (t[i] == '\r' && i + 1 < n && t[i + 1] != '\n')
            return true;
    }
    return n > 2 && memcmp(t, "\r\n", 2) == 0 && (t[2] == '\r' || t[2] == '\n');
}

static bool line_is(const char *t, size_t n, const char *lower)
{
    size_t k = strlen(lower);

    if (n < k)
        return false;
    for (size_t i = 0; i < k; i++) {
        char c = t[i] >= 'A' && t[i] <= 'Z' ? (char)(t[i] + 32) : t[i];
        if (c != lower[i])
            return false;
    }
    return true;
}

/* Walks the lines behind the request line. */
struct lines {
    unsigned host, length, coding, authorization;
    bool fold, bad_name, control, bad_host, bad_coding, bad_length;
    bool late_keep_alive; /* in a Connection, behind an empty list member */
};

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool keep_alive_behind_empty(const char *v, size_t n)
{
    bool empty = true, some = false; /* the member at hand; one before it */

    for (size_t i = 0; i < n; i++) {
        if (v[i] == ',') {
            some |= empty;
            empty = true;
        } else if (v[i] != ' ' && v[i] != '\t') {
            if (some && empty && line_is(v + i, n - i, "keep-alive"))
                return true;
            empty = false;
        }
    }
    return false;
}

static void look_at_value(struct lines *l, const char *t, size_t n)
{
    const char *v = memchr(t, ':', n);
    size_t vn;

    if (v == NULL)
        return;
    v++;
    vn = n - (size_t)(v - t);
    while (vn > 0 && (*v == ' ' || *v == '\t'))
        v++, vn--;
    while (vn > 0 && (v[vn - 1] == ' ' || v[vn - 1] == '\t'))
        vn--;
    for (size_t i = 0; i < vn; i++)
        l->control |= ((uint8_t)v[i] < 0x20 && v[i] != '\t') || v[i] == 0x7f;
    if (line_is(t, n, "host:")) {
        for (size_t i = 0; i < vn; i++)
            l->bad_host |= !name_char(v[i]) && strchr("()=,;:[]", v[i]) == NULL;
        l->bad_host |= memchr(v, ':', vn) || memchr(v, '[', vn) || memchr(v, ']', vn) ||
                       memchr(v, '#', vn) || memchr(v, '^', vn) || memchr(v, '`', vn) ||
                       memchr(v, '|', vn);
    }
    if (line_is(t, n, "connection:"))
        l->late_keep_alive |= keep_alive_behind_empty(v, vn);
    if (line_is(t, n, "transfer-encoding:"))
        l->bad_coding |= vn != 7 || !line_is(v, vn, "chunked");
    if (line_is(t, n, "content-length:")) {
        l->bad_length |= vn == 0;
        for (size_t i = 0; i < vn; i++)
            l->bad_length |= v[i] < '0' || v[i] > '9';
    }
}

static struct lines look(const char *t, size_t n)
{
    struct lines l = { 0 };
    size_t i = n > 2 && memcmp(t, "\r\n", 2) == 0 ? 2 : 0;

    while (i < n && t[i] != '\n')
        i++;
    for (i++; i < n;) {
        const char *nl = memchr(t + i, '\n', n - i);
        size_t end = nl != NULL ? (size_t)(nl - t) : n, k = i;
        size_t len = end - i - (end > i && t[end - 1] == '\r');

        l.fold |= len > 0 && (t[i] == ' ' || t[i] == '\t');
        while (k < i + len && name_char(t[k]))
            k++;
        l.bad_name |= len > 0 && (k == i || k == i + len || t[k] != ':');
        l.host += line_is(t + i, len, "host:");
        l.length += line_is(t + i, len, "content-length:");
        l.coding += line_is(t + i, len, "transfer-encoding:");
        l.authorization += line_is(t + i, len, "authorization:");
        look_at_value(&l, t + i, len);
        i = end + 1;
    }
    return l;
}

/* The target: a form or a character that no URI has there. */
static bool odd_target(const char *p, size_t n)
{
    bool query = false;

    if (n == 0 || *p != '/')
        return true; /* absolute and asterisk forms: many ways to be wrong */
    for (size_t i = 0; i < n; i++) {
        if ((uint8_t)p[i] >= 0x7f || (uint8_t)p[i] <= 0x20 ||
            strchr("\"<>#", p[i]) != NULL)
            return true;
        if (!query && strchr("[]{}|\\^`", p[i]) != NULL)
            return true;
        query |= p[i] == '?';
    }
    return false;
}

/* "... HTTP/d.d" CRLF with one space before it, and one between method and target. */
static bool odd_line(const char *t, size_t n)
{
    size_t i = n > 2 && memcmp(t, "\r\n", 2) == 0 ? 2 : 0;
    const char *nl = memchr(t + i, '\n', n - i);
    const char *p = nl != NULL && nl - t >= 10 ? nl - 10 : NULL;
    unsigned spaces = 0;

    if (nl == NULL || nl - (t + i) < 14)
        return true;
    for (const char *q = t + i; q < nl; q++)
        spaces += *q == ' ';
    return spaces != 2 || memcmp(p, " HTTP/", 6) != 0 || p[7] != '.' || p[9] != '\r';
}

/* The request line is known to be sound. */
static bool http10(const char *t, size_t n)
{
    size_t i = n > 2 && memcmp(t, "\r\n", 2) == 0 ? 2 : 0;
    const char *nl = memchr(t + i, '\n', n - i);

    return nl != NULL && nl[-2] == '0';
}

/* http_parser accepts, http.c answers -status. */
static enum cmp_class why_refused(const char *t, size_t n, int status,
                                  const struct peer_seen *s)
{
    size_t hn = head_len(t, n);
    struct lines l = look(t, hn);

    if (status == 413 || status == 414 || status == 431)
        return CMP_LIMIT;
    if (status == 505)
        return CMP_VERSION;
    if (status == 501 || status == 417)
        return CMP_CODING;
    if (bare_newline(t, hn))
        return CMP_NEWLINE;
    if (odd_line(t, hn))
        return CMP_VERSION;
    if (odd_target(s->target,
                   s->target_n < sizeof(s->target) ? s->target_n : sizeof(s->target)))
        return CMP_TARGET;
    if (l.fold)
        return CMP_FOLD;
    if (l.bad_name)
        return CMP_NAME;
    if (l.control)
        return CMP_CONTROL;
    if (l.host > 1 || (l.host == 0 && !http10(t, hn)) || l.bad_host)
        return CMP_HOST;
    if (l.authorization > 1)
        return CMP_TWICE;
    if (l.length > 1 || l.bad_length || l.bad_coding || l.coding > 1 ||
        (l.coding > 0 && (http10(t, hn) || l.length > 0)))
        return CMP_FRAMING;
    return l.coding > 0 ? CMP_CHUNK : CMP_UNEXPLAINED;
}

/* It believes a Connection in a trailer (or what looks so, in a chunk), which says nothing of
 * the connection: RFC 9110 6.5.1. */
static bool connection_behind_head(const char *t, size_t n)
{
    size_t hn = head_len(t, n);

    if (look(t, hn).coding == 0)
        return false;
    for (size_t i = hn; i < n; i++)
        if (t[i - 1] == '\n' && line_is(t + i, n - i, "connection"))
            return true;
    return false;
}

static bool same_request(const struct http_req *r, int64_t used, const struct peer_seen *s,
                         const char *t, size_t n)
{
    static const unsigned methods[] = {
        [HTTP_GET] = PEER_GET,         [HTTP_HEAD] = PEER_HEAD,
        [HTTP_POST] = PEER_POST,       [HTTP_PUT] = PEER_PUT,
        [HTTP_DELETE] = PEER_DELETE,   [HTTP_PATCH] = PEER_PATCH,
        [HTTP_OPTIONS] = PEER_OPTIONS,
    };
    const char *body = r->body.p != NULL ? r->body.p : "";

    if (r->method != HTTP_OTHER && methods[r->method] != s->method)
        return false;
    if (r->body.n != s->body_n || memcmp(body, s->body, s->body_n) != 0)
        return false;
    /* It misses "close" behind empty list members, and "keep-alive", which HTTP/1.0 needs. */
    if (r->keep_alive && !s->keep_alive && !connection_behind_head(t, n) &&
        !(r->minor == 0 && look(t, head_len(t, n)).late_keep_alive))
        return false;
    /* It pauses at the message's last byte. */
    return s->used == (size_t)used || s->used + 1 == (size_t)used;
}

/* `t` may be changed (chunked bodies are decoded in place): give a copy. */
static enum cmp_class http_compare(char *t, size_t n, const char *original)
{
    static struct peer_seen s;
    struct http_state st = { 0 };
    struct http_req r;
    enum http_errno err;
    int64_t used = http_parse(&st, &r, t, n);
    bool theirs = peer_parse(original, n, &s, &err);

    if (theirs && used > 0)
        return same_request(&r, used, &s, original, n) ? CMP_SAME : CMP_UNEXPLAINED;
    if (theirs && used < 0)
        return why_refused(original, n, (int)-used, &s);
    if (theirs) /* we want more: only where it ends lines, or chunks, by a bare LF */
        return bare_newline(original, n) ? CMP_NEWLINE : CMP_UNEXPLAINED;
    if (used > 0 && err == HPE_INVALID_METHOD)
        return r.method == HTTP_OTHER ? CMP_METHOD : CMP_UNEXPLAINED;
    if (used > 0)
        return err == HPE_OK ? CMP_UNEXPLAINED : CMP_STRICT;
    return CMP_SAME; /* neither accepts: what it is called matters little */
}

#endif

/* http_scan.c: character classes and scanning. Pure. */
#include "common/http/http_scan.h"

#include <assert.h>
#include <string.h>

#include "common/base/text.h"

/* ---- classes: what a character c must be, then the tables, by the compiler ---- */

#define LETTER(c)     (((c) | 0x20) >= 'a' && ((c) | 0x20) <= 'z')
#define DIGIT(c)      ((c) >= '0' && (c) <= '9')
#define UNRESERVED(c) (LETTER(c) || DIGIT(c) || (c) == '-' || (c) == '.' || (c) == '_' || (c) == '~')
#define DELIM_TOKEN(c)                                                                   \
    ((c) == '!' || (c) == '$' || (c) == '&' || (c) == '\'' || (c) == '*' || (c) == '+' || (c) == '%')
#define DELIM(c)                                                                         \
    (DELIM_TOKEN(c) || (c) == '(' || (c) == ')' || (c) == ',' || (c) == ';' || (c) == '=')

#define IN_TOKEN(c)                                                                      \
    (UNRESERVED(c) || DELIM_TOKEN(c) || (c) == '#' || (c) == '|' || (c) == '^' || (c) == '`')
#define IN_HOST(c) (UNRESERVED(c) || DELIM(c))
#define IN_PATH(c) (IN_HOST(c) || (c) == ':' || (c) == '@' || (c) == '/')
#define IN_QUERY(c)                                                                      \
    (IN_PATH(c) || (c) == '?' || (c) == '[' || (c) == ']' || (c) == '{' || (c) == '}' || \
     (c) == '\\' || (c) == '|' || (c) == '^' || (c) == '`')
#define IN_HEX(c) (DIGIT(c) || (((c) | 0x20) >= 'a' && ((c) | 0x20) <= 'f'))

#define ROW(in, l)                                                                       \
    (in(l) | in(0x10 | l) << 1 | in(0x20 | l) << 2 | in(0x30 | l) << 3 |                 \
     in(0x40 | l) << 4 | in(0x50 | l) << 5 | in(0x60 | l) << 6 | in(0x70 | l) << 7)
#define ROWS(in)                                                                         \
    {                                                                                    \
        { ROW(in, 0), ROW(in, 1), ROW(in, 2), ROW(in, 3), ROW(in, 4), ROW(in, 5),        \
          ROW(in, 6), ROW(in, 7), ROW(in, 8), ROW(in, 9), ROW(in, 10), ROW(in, 11),      \
          ROW(in, 12), ROW(in, 13), ROW(in, 14), ROW(in, 15) }                           \
    }

const struct http_class http_token = ROWS(IN_TOKEN), http_path = ROWS(IN_PATH),
                        http_query = ROWS(IN_QUERY), http_host = ROWS(IN_HOST),
                        http_hex = ROWS(IN_HEX);

/* ---- scanning ---- */

char *http_plain_end(char *p, char *end)
{
    for (; p < end; p += 16) {
        for (unsigned odd = http_controls(p); odd != 0; odd &= odd - 1) {
            char *at = p + __builtin_ctz(odd);

            if (at >= end)
                return end;
            if (*at != '\t')
                return at;
        }
    }
    return end;
}

int http_crlf(struct http_cur *c)
{
    if (*c->p != '\r')
        return -400; /* bare LF, NUL, any other control character */
    if (c->p + 1 == c->end)
        return http_short(c);
    if (c->p[1] != '\n')
        return -400; /* bare CR */
    c->p += 2;
    return 1;
}

static inline int field_name(struct http_cur *c, struct http_field *f)
{
    char *p = c->p, *end = c->end;
    bool cut = (size_t)(end - p) > HTTP_MAX_NAME;

    if (cut)
        end = p + HTTP_MAX_NAME + 1;
    p = http_skip(p, end, &http_token);
    if (p == end)
        return cut ? -431 : http_short(c);
    f->name = (struct slice) { c->p, (size_t)(p - c->p) };
    if (*p != ':' || f->name.n == 0)
        return -400; /* space before the colon, obs-fold, no name, no colon */
    c->p = p + 1;
    return 1;
}

int http_field(struct http_cur *c, struct http_field *f, bool *in_value)
{
    char *v, *ve;
    int rc;

    *in_value = false;
    if (c->p == c->end)
        return http_short(c);
    if (*c->p == '\r') {
        f->name.n = 0;
        return http_crlf(c);
    }
    rc = field_name(c, f);
    if (rc <= 0)
        return rc;
    v = c->p;
    ve = http_plain_end(v, c->end);
    c->p = ve;
    if (ve == c->end) {
        *in_value = true;
        return http_short(c);
    }
    rc = http_crlf(c);
    if (rc <= 0)
        return rc;
    while (v < ve && (*v == ' ' || *v == '\t'))
        v++;
    while (ve > v && (ve[-1] == ' ' || ve[-1] == '\t'))
        ve--;
    f->value = (struct slice) { v, (size_t)(ve - v) };
    return 1;
}

bool http_digits(const char *p, size_t n)
{
    for (size_t at = 0; at < n; at += 16) {
        unsigned digits = chars16_mask((chars16)(chars16_at(p + at) - '0' <= 9));

        if (at + (unsigned)__builtin_ctz(~digits) < u64_min(n, at + 16))
            return false;
    }
    return true;
}

/* ---- chunked bodies, decoded in place ----
 *
 * The chunks are first walked (the state remembers how far, so that slow senders cost
 * O(n)); only when the last one is there the data is moved together. */

/* chunk-size [ chunk-ext ] CRLF. No blanks before ';': servers disagree about them. */
static int size_line(struct http_cur *c, size_t max, size_t *size)
{
    unsigned n = 0;

    *size = 0;
    for (; c->p < c->end && http_is(*c->p, &http_hex); c->p++, n++) {
        if (n == 16)
            return -400;
        *size = *size * 16 + (size_t)hex_value(*c->p);
        if (*size > max)
            return -413;
    }
    if (c->p == c->end)
        return http_short(c);
    if (n == 0 || (*c->p != ';' && *c->p != '\r'))
        return -400;
    c->p = http_plain_end(c->p, c->end); /* unknown extensions are ignored: 7.1.1 */
    if (c->p == c->end)
        return http_short(c);
    return http_crlf(c);
}

int http_trailers(struct http_cur *c)
{
    struct http_field f;
    bool in_value;

    for (unsigned i = 0;; i++) {
        int rc = http_field(c, &f, &in_value);

        if (rc <= 0 || f.name.n == 0)
            return rc;
        if (i == HTTP_MAX_HEADERS)
            return -431;
    }
}

int http_chunk_line(struct http_cur *c, size_t max, size_t *size)
{
    struct http_cur line = *c;
    int rc;

    http_limit(&line, c->p, HTTP_MAX_SIZE_LINE, c->end, 400);
    if (line.over == 0)
        line.over = c->over;
    rc = size_line(&line, max, size);
    c->p = rc > 0 ? line.p : c->p;
    return rc;
}

/* Reads a chunk from c->p; *last: it was the empty one. */
static int one_chunk(struct http_cur *c, size_t max, size_t *size, bool *last)
{
    int rc = http_chunk_line(c, max, size);

    if (rc <= 0)
        return rc;
    *last = *size == 0;
    if (*last)
        return 1;
    if ((size_t)(c->end - c->p) <= *size)
        return http_short(c);
    c->p += *size;
    return http_crlf(c);
}

/* All chunks are known to be good. Returns the length of the data, now at `to`. */
static size_t gather(char *to, char *end, size_t max)
{
    struct http_cur c = { .p = to, .end = end };
    char *w = to;
    size_t size;

    while (size_line(&c, max, &size) == 1 && size != 0) {
        assert(w <= c.p && size <= (size_t)(end - c.p));
        memmove(w, c.p, size);
        w += size;
        c.p += size + 2;
    }
    return (size_t)(w - to);
}

int64_t http_chunked(struct http_state *st, struct http_req *r, char *buf, size_t n)
{
    char *from = buf + st->head_len;
    size_t max = http_max_body(st);
    struct http_cur c;
    bool last = false;
    int rc;

    if (st->chunk_at == 0)
        st->chunk_at = st->head_len;
    st->want_continue = r->expect_continue && n == st->head_len;
    assert(st->chunk_at >= st->head_len && st->chunk_at <= n);
    http_limit(&c, from, max + HTTP_MAX_CHUNKING, buf + n, 413);
    c.p = buf + st->chunk_at;
    for (;;) {
        size_t size;

        rc = one_chunk(&c, max, &size, &last);
        if (rc <= 0)
            return rc;
        if (last)
            break;
        if (st->chunk_sum + size > max)
            return -413;
        st->chunk_sum += size;
        st->chunk_at = (size_t)(c.p - buf);
    }
    rc = http_trailers(&c);
    if (rc <= 0)
        return rc;
    r->body = (struct slice) { from, gather(from, c.p, max) };
    r->length = r->body.n;
    return c.p - buf;
}

/* ---- the request line: method, target in its forms, version; escapes in a path; the reasons of status
 * lines ---------------------------------------------------------------------------------- */

static enum http_method method_of(const char *p, size_t n)
{
    switch (n) {
    case 3:
        return memcmp(p, "GET", 3) == 0   ? HTTP_GET
               : memcmp(p, "PUT", 3) == 0 ? HTTP_PUT
                                          : HTTP_OTHER;
    case 4:
        return memcmp(p, "POST", 4) == 0   ? HTTP_POST
               : memcmp(p, "HEAD", 4) == 0 ? HTTP_HEAD
                                           : HTTP_OTHER;
    case 5:
        return memcmp(p, "PATCH", 5) == 0 ? HTTP_PATCH : HTTP_OTHER;
    case 6:
        return memcmp(p, "DELETE", 6) == 0 ? HTTP_DELETE : HTTP_OTHER;
    case 7:
        return memcmp(p, "OPTIONS", 7) == 0 ? HTTP_OPTIONS : HTTP_OTHER;
    default:
        return HTTP_OTHER;
    }
}

bool http_host_good(struct slice h)
{
    size_t i = 0;

    if (h.n > 0 && h.p[0] == '[') {
        i = 1;
        while (i < h.n && (http_is(h.p[i], &http_hex) || h.p[i] == ':' || h.p[i] == '.'))
            i++;
        if (i < 3 || i == h.n || h.p[i] != ']')
            return false;
        i++;
    } else {
        i = (size_t)(http_skip(h.p, h.p + h.n, &http_host) - h.p);
    }
    if (i == h.n)
        return true;
    return h.p[i] == ':' && http_digits(h.p + i + 1, h.n - i - 1);
}

/* "http://host[:port]" of an absolute-form target; leaves `t` at the path. RFC
 * 9112 3.2.2: it counts, and not the Host field. */
static bool take_authority(struct http_req *r, struct slice *t)
{
    size_t at = 0, i;

    if (t->n > 7 && http_ieq(t->p, "http", 4) && memcmp(t->p + 4, "://", 3) == 0)
        at = 7;
    else if (t->n > 8 && http_ieq(t->p, "https", 5) && memcmp(t->p + 5, "://", 3) == 0)
        at = 8;
    if (at == 0)
        return false;
    for (i = at; i < t->n && t->p[i] != '/' && t->p[i] != '?'; i++)
        continue;
    r->host = (struct slice) { t->p + at, i - at };
    if (i == at || !http_host_good(r->host))
        return false;
    if (i == t->n || t->p[i] == '?') { /* no path: "/" stands in "://" already */
        r->path = (struct slice) { t->p + at - 1, 1 };
        if (i < t->n)
            r->query = (struct slice) { t->p + i + 1, t->n - i - 1 };
        t->n = 0;
    }
    t->p += t->n != 0 ? i : 0;
    t->n -= t->n != 0 ? i : 0;
    return true;
}

/* The usual form: "/path?query". Only looks: a wrong byte is found by the caller. */
static void origin_form(struct http_cur *c, struct http_req *r)
{
    char *end = c->end, *p = http_skip(c->p, end, &http_path);

    r->path = (struct slice) { c->p, (size_t)(p - c->p) };
    if (p < end && *p == '?') {
        char *q = ++p;

        p = http_skip(p, end, &http_query);
        r->query = (struct slice) { q, (size_t)(p - q) };
    }
    c->p = p;
}

/* "http://host/path?query", or "*" for OPTIONS. */
static int other_form(struct http_req *r, struct slice t)
{
    struct http_cur c;

    if (t.n == 1 && t.p[0] == '*' && r->method == HTTP_OPTIONS) {
        r->path = t;
        return 1;
    }
    if (!take_authority(r, &t))
        return -400;
    if (t.n == 0)
        return 1;
    c = (struct http_cur) { .p = t.p, .end = t.p + t.n };
    origin_form(&c, r);
    return c.p == c.end ? 1 : -400;
}

static int target(struct http_cur *c, struct http_req *r)
{
    struct slice t = { c->p, 0 };
    bool origin = c->p < c->end && *c->p == '/';
    int rc = 1;

    if (origin)
        origin_form(c, r);
    else
        c->p = http_skip(c->p, c->end, &http_query);
    if (c->p == c->end)
        return http_short(c);
    t.n = (size_t)(c->p - t.p);
    if (*c->p != ' ' || t.n == 0)
        return -400;
    if (!origin)
        rc = other_form(r, t);
    c->p++;
    return rc;
}

static int version(struct http_cur *c, struct http_req *r)
{
    static const char want[] = "HTTP/1.";
    size_t have = (size_t)(c->end - c->p);
    char minor;

    if (SQ_LIKELY(have >= 10 && memcmp(c->p, "HTTP/1.1\r\n", 10) == 0)) {
        r->minor = 1;
        c->p += 10;
        return 1;
    }
    for (size_t i = 0; i < 8 && i < have; i++) {
        char ch = c->p[i];

        if (i == 5 || i == 7 ? ch < '0' || ch > '9' : ch != want[i])
            return -400;
    }
    if (have < 8)
        return http_short(c);
    if (c->p[5] != '1')
        return -505;
    minor = c->p[7];
    r->minor = minor == '0' ? 0 : 1;
    c->p += 8;
    if (c->p == c->end)
        return http_short(c);
    return http_crlf(c);
}

int http_request_line(struct http_cur *c, struct http_req *r)
{
    struct slice m = { c->p, 0 };
    int rc;

    if (SQ_LIKELY(c->end - c->p >= 4 && memcmp(c->p, "GET ", 4) == 0)) {
        r->method = HTTP_GET;
        c->p += 4;
        rc = target(c, r);
        return rc <= 0 ? rc : version(c, r);
    }
    c->p = http_skip(c->p, c->end, &http_token);
    if (c->p == c->end)
        return c->over ? -400 : 0;
    m.n = (size_t)(c->p - m.p);
    if (*c->p != ' ' || m.n == 0)
        return -400;
    r->method = method_of(m.p, m.n);
    if (m.n == 7 && memcmp(m.p, "CONNECT", 7) == 0)
        return -501;
    c->p++;
    rc = target(c, r);
    return rc <= 0 ? rc : version(c, r);
}

int64_t http_unescape(char *p, size_t n)
{
    char *w = n > 0 ? memchr(p, '%', n) : NULL;
    size_t i;

    if (w == NULL)
        return (int64_t)n;
    for (i = (size_t)(w - p); i < n; i++) {
        int c;

        if (p[i] != '%') {
            *w++ = p[i];
            continue;
        }
        c = hex_byte(p + i + 1, p + n);
        if (c <= 0 || c == '/')
            return -1;
        *w++ = (char)c;
        i += 2;
    }
    return w - p;
}

const char *http_reason(int status)
{
    static const struct {
        int status;
        const char *text;
    } names[] = {
        { 100, "Continue" },
        { 200, "OK" },
        { 201, "Created" },
        { 202, "Accepted" },
        { 204, "No Content" },
        { 207, "Multi-Status" },
        { 301, "Moved Permanently" },
        { 302, "Found" },
        { 303, "See Other" },
        { 304, "Not Modified" },
        { 307, "Temporary Redirect" },
        { 400, "Bad Request" },
        { 401, "Unauthorized" },
        { 403, "Forbidden" },
        { 404, "Not Found" },
        { 405, "Method Not Allowed" },
        { 408, "Request Timeout" },
        { 409, "Conflict" },
        { 410, "Gone" },
        { 412, "Precondition Failed" },
        { 413, "Content Too Large" },
        { 414, "URI Too Long" },
        { 415, "Unsupported Media Type" },
        { 417, "Expectation Failed" },
        { 422, "Unprocessable Content" },
        { 428, "Precondition Required" },
        { 429, "Too Many Requests" },
        { 431, "Request Header Fields Too Large" },
        { 500, "Internal Server Error" },
        { 501, "Not Implemented" },
        { 503, "Service Unavailable" },
        { 504, "Gateway Timeout" },
        { 505, "HTTP Version Not Supported" },
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (names[i].status == status)
            return names[i].text;
    }
    return "Unknown";
}

/* http_line.c: the request line: method, target in its forms, version; escapes in a path; the
 * reasons of status lines. Pure. */
#include "common/http/http_line.h"

#include <string.h>

#include "common/base/text.h"

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

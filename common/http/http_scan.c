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

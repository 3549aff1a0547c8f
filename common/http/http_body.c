/* http_body.c: chunked bodies, decoded in place. Pure.
 * The chunks are first walked (the state remembers how far, so that slow senders cost
 * O(n)); only when the last one is there the data is moved together. */
#include "common/http/http_body.h"

#include <assert.h>
#include <string.h>

#include "common/base/hex.h"
#include "common/http/http_scan.h"

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
    return c.p - buf;
}

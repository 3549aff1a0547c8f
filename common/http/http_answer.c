/* http_answer.c: see the header. */
#include "common/http/http_answer.h"

#include <string.h>

#include "common/http/http_scan.h"

#define LENGTH_MAX (((uint64_t)1 << 60) - 1)

static int wrong(struct http_answer *a, const char *why)
{
    a->wrong = why;
    return -400;
}

/* "HTTP/1.1 200 OK": the reason, and the blank before it, may be missing. */
static int status_line(struct http_answer *a, struct http_cur *c)
{
    static const char begins[] = "HTTP/1.";
    char *p = c->p, *end = http_plain_end(p, c->end);
    size_t n = (size_t)(end - p);
    int rc;

    if (memcmp(p, begins, u64_min(n, 7)) != 0)
        return wrong(a, "not an HTTP/1.x answer");
    if (end == c->end)
        return http_short(c);
    if (n < 12 || (p[7] != '0' && p[7] != '1') || p[8] != ' ' || !http_digits(p + 9, 3) ||
        p[9] == '0' || (n > 12 && p[12] != ' '))
        return wrong(a, "no status in the first line");
    c->p = end;
    rc = http_crlf(c);
    if (rc <= 0)
        return rc;
    a->minor = p[7] - '0';
    a->status = (unsigned)(p[9] - '0') * 100 + (unsigned)(p[10] - '0') * 10 + (unsigned)(p[11] - '0');
    return 1;
}

#define IS(f, lit) ((f)->name.n == sizeof(lit) - 1 && http_ieq((f)->name.p, lit, sizeof(lit) - 1))

static void on_field(struct http_framing *f, const struct http_field *is)
{
    if (IS(is, "content-length"))
        http_on_length(f, is->value);
    else if (IS(is, "transfer-encoding"))
        http_on_coding(f, is->value);
    else if (IS(is, "connection"))
        http_on_connection(f, is->value);
}

/* RFC 9112 6.3, without what it leaves to taste. */
static int judge(struct http_answer *a)
{
    const struct http_framing *f = &a->framing;

    if (f->bad_length || f->big_length)
        return wrong(a, "Content-Length is no number");
    if (f->lengths_differ)
        return wrong(a, "two different Content-Lengths");
    if (f->codings > 0 && (f->codings > 1 || !f->chunked))
        return wrong(a, "Transfer-Encoding is not exactly chunked");
    if (f->codings > 0 && (f->lengths > 0 || a->minor == 0))
        return wrong(a, f->lengths > 0 ? "Content-Length beside chunks" : "chunks in HTTP/1.0");
    if (a->status == 101)
        return wrong(a, "a change to another protocol");
    a->keep_alive = http_keeps_alive(f, a->minor);
    a->left = f->length;
    if (a->to_head || a->status == 204 || a->status == 304 || (f->lengths > 0 && f->length == 0))
        a->part = HTTP_ANSWER_DONE;
    else if (f->codings > 0)
        a->part = HTTP_ANSWER_CHUNK;
    else
        a->part = f->lengths > 0 ? HTTP_ANSWER_SIZED : HTTP_ANSWER_ALL;
    a->keep_alive &= a->part != HTTP_ANSWER_ALL;
    return 1;
}

/* The next line; *end: it was the empty one. */
static int line(struct http_answer *a, struct http_cur *c, char *buf, bool *end)
{
    struct http_field f;
    bool in_value;
    int rc;

    if (a->status == 0) {
        a->framing = (struct http_framing) { .max_length = LENGTH_MAX };
        rc = status_line(a, c);
        a->first = (size_t)(c->p - buf);
        return rc;
    }
    rc = http_field(c, &f, &in_value);
    if (rc > 0 && f.name.n > 0)
        on_field(&a->framing, &f);
    *end = rc > 0 && f.name.n == 0;
    if (rc > 0 && !*end && ++a->lines > HTTP_MAX_HEADERS)
        return -431;
    return rc;
}

int64_t http_answer_head(struct http_answer *a, char *buf, size_t n)
{
    struct http_cur c;
    bool end = false;
    int rc;

    http_limit(&c, buf, HTTP_MAX_ANSWER_HEAD, buf + n, 431);
    c.p = buf + a->at;
    for (;;) {
        rc = c.p < c.end ? line(a, &c, buf, &end) : http_short(&c);
        if (rc == -400 && a->wrong == NULL)
            (void)wrong(a, "malformed header line");
        if (rc <= 0)
            return rc;
        a->at = (size_t)(c.p - buf);
        if (end && (a->status >= 200 || a->status == 101))
            break;
        a->status = end ? 0 : a->status; /* behind a 1xx comes another one */
        end = false;
    }
    a->fields = (struct slice) { buf + a->first, a->at - a->first };
    rc = judge(a);
    return rc < 0 ? rc : (int64_t)a->at;
}

static size_t some(struct http_answer *a, struct http_cur *c, struct slice *data)
{
    *data = (struct slice) { c->p, u64_min((uint64_t)(c->end - c->p), a->left) };
    c->p += data->n;
    a->left -= data->n;
    return data->n;
}

/* Takes a step. 1, 0, -status: see http_scan.h. */
static int step(struct http_answer *a, struct http_cur *c, struct slice *data)
{
    size_t size;
    int rc;

    switch ((enum http_answer_part)a->part) {
    case HTTP_ANSWER_SIZED:
    case HTTP_ANSWER_CHUNKED:
        rc = some(a, c, data) > 0;
        if (a->left == 0)
            a->part = a->part == HTTP_ANSWER_SIZED ? HTTP_ANSWER_DONE : HTTP_ANSWER_CHUNK_END;
        return rc;
    case HTTP_ANSWER_CHUNK:
        rc = http_chunk_line(c, LENGTH_MAX, &size);
        if (rc > 0) {
            a->left = size;
            a->part = size > 0 ? HTTP_ANSWER_CHUNKED : HTTP_ANSWER_TRAILERS;
        }
        return rc;
    case HTTP_ANSWER_CHUNK_END:
        rc = http_crlf(c);
        a->part = rc > 0 ? HTTP_ANSWER_CHUNK : a->part;
        return rc;
    case HTTP_ANSWER_TRAILERS:
        http_limit(c, c->p, HTTP_MAX_ANSWER_HEAD, c->end, 431);
        rc = http_trailers(c);
        a->part = rc > 0 ? HTTP_ANSWER_DONE : a->part;
        return rc;
    case HTTP_ANSWER_ALL:
        a->left = UINT64_MAX;
        return some(a, c, data) > 0;
    default:
        return 0;
    }
}

int64_t http_answer_body(struct http_answer *a, char *buf, size_t n, struct slice *data)
{
    struct http_cur c = { .p = buf, .end = buf + n };
    int rc = 1;

    *data = (struct slice) { 0 };
    while (rc > 0 && data->n == 0 && c.p < c.end && a->part != HTTP_ANSWER_DONE) {
        char *from = c.p;

        rc = step(a, &c, data);
        if (rc < 0)
            return wrong(a, "malformed chunk");
        if (rc == 0)
            c.p = from;
    }
    return c.p - buf;
}

/* http.c: requests, strictly, in place. Pure.
 * Order of work: an empty line (once), request line, field lines, what they mean together
 * (framing!), body. Whatever could be read in two ways by two servers is refused. */
#include "common/http/http.h"

#include <assert.h>
#include <string.h>

#include "common/http/http_body.h"
#include "common/http/http_line.h"
#include "common/http/http_scan.h"

struct head { /* what the field lines said, before it is judged */
    unsigned hosts, lengths, codings;
    uint64_t length, max_length;
    bool bad_length, big_length, conn_close, conn_keep, chunked, refuse_coding;
    bool unknown_expect;
    bool twice; /* a field that may come once came again */
    const char *end; /* of what may be read */
};

static void on_length(struct head *h, struct slice v)
{
    h->lengths++;
    if (v.n == 0 || !http_digits(v.p, v.n)) {
        h->bad_length = true;
        return;
    }
    for (size_t i = 0; i < v.n; i++) {
        h->length = h->length * 10 + (uint64_t)(v.p[i] - '0');
        if (h->length > h->max_length) {
            h->big_length = true;
            return;
        }
    }
}

static void on_coding(struct head *h, struct slice v)
{
    h->codings++;
    if (v.n == 7 && http_ieq(v.p, "chunked", 7))
        h->chunked = true;
    else if (v.n > 7 && http_ieq(v.p + v.n - 7, "chunked", 7) &&
             (v.p[v.n - 8] == ' ' || v.p[v.n - 8] == ',' || v.p[v.n - 8] == '\t'))
        h->refuse_coding = true; /* something before it that we do not do: 501 */
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* A list: members between commas, blanks around them. */
static void on_connection(struct head *h, struct slice v)
{
    for (size_t i = 0; i < v.n; i++) {
        size_t from = i, to;

        while (i < v.n && v.p[i] != ',')
            i++;
        for (to = i; from < to && is_blank(v.p[from]); from++)
            continue;
        while (to > from && is_blank(v.p[to - 1]))
            to--;
        if (to - from == 5 && http_ieq(v.p + from, "close", 5))
            h->conn_close = true;
        else if (to - from == 10 && http_ieq(v.p + from, "keep-alive", 10))
            h->conn_keep = true;
    }
}

static bool is_type(struct slice v, const char *lower, size_t n)
{
    return v.n >= n && http_ieq(v.p, lower, n) &&
           (v.n == n || v.p[n] == ';' || is_blank(v.p[n]));
}

#define IS_TYPE(v, lit) is_type(v, lit, sizeof(lit) - 1)

/* `curl -d` says that it sends a form, whatever it sends: nobody posts forms here. */
static void on_type(struct http_req *r, struct slice v)
{
    if (!IS_TYPE(v, "application/json") &&
        !IS_TYPE(v, "application/x-www-form-urlencoded"))
        r->json = false;
}

static void once(struct head *h, struct slice *to, struct slice v)
{
    if (to->p != NULL)
        h->twice = true;
    *to = v;
}

static void on_host(struct http_req *r, struct head *h, struct slice v)
{
    if (h->hosts++ == 0 && r->host.p == NULL)
        r->host = v;
    if (!http_host_good(v, h->end))
        h->hosts = 2; /* as bad as two */
}

static void on_expect(struct http_req *r, struct head *h, struct slice v)
{
    if (v.n == 12 && http_ieq(v.p, "100-continue", 12))
        r->expect_continue = true;
    else
        h->unknown_expect = true;
}

/* RFC 6265 wants one line of browsers; HTTP/2 allows many, and a proxy may leave it so. */
static void on_cookie(struct http_req *r, struct slice v)
{
    if (r->cookies++ == 0)
        r->cookie = v;
}

/* Of too many lines the first ones go: the last one is the nearest proxy's. */
static void on_via(struct http_via *v, struct slice value)
{
    if (v->n == HTTP_MAX_VIA)
        memmove(v->line, v->line + 1, --v->n * sizeof(v->line[0]));
    assert(v->n < HTTP_MAX_VIA);
    v->line[v->n++] = value;
}

/* By length, then by first letter, then the rest: most fields cost one comparison. */
static void field(struct http_req *r, struct head *h, const struct http_field *f)
{
    const char *p = f->name.p;
    char c = (char)(p[0] | 0x20);

#define IS(lit) (c == (lit)[0] && http_ieq(p, lit, sizeof(lit) - 1))
    switch (f->name.n) {
    case 4:
        if (IS("host"))
            on_host(r, h, f->value);
        break;
    case 6:
        if (IS("cookie"))
            on_cookie(r, f->value);
        else if (IS("expect"))
            on_expect(r, h, f->value);
        break;
    case 9:
        if (IS("forwarded"))
            on_via(&r->forwarded, f->value);
        break;
    case 10:
        if (IS("connection"))
            on_connection(h, f->value);
        else if (IS("user-agent"))
            r->user_agent = f->value;
        break;
    case 12:
        if (IS("content-type"))
            on_type(r, f->value);
        break;
    case 13:
        if (IS("authorization"))
            once(h, &r->authorization, f->value);
        else if (IS("if-none-match"))
            r->if_none_match = f->value;
        break;
    case 14:
        if (IS("content-length"))
            on_length(h, f->value);
        break;
    case 15:
        if (IS("accept-language"))
            r->accept_language = f->value;
        else if (IS("x-forwarded-for"))
            on_via(&r->x_forwarded_for, f->value);
        else if (IS("idempotency-key"))
            once(h, &r->idempotency_key, f->value);
        break;
    case 17:
        if (IS("transfer-encoding"))
            on_coding(h, f->value);
        break;
    default:
        break;
    }
#undef IS
}

/* RFC 9112 6: how long is the body, and may anybody see it differently? */
static int judge(struct http_req *r, const struct head *h)
{
    if (h->hosts > 1 || (h->hosts == 0 && r->minor == 1) || h->twice)
        return -400;
    if (h->codings > 0) {
        if (h->codings > 1 || h->lengths > 0 || r->minor == 0)
            return -400;
        if (!h->chunked)
            return h->refuse_coding ? -501 : -400;
    }
    if (h->lengths > 1 || h->bad_length)
        return -400;
    if (h->big_length)
        return -413;
    if (r->minor == 1 && h->unknown_expect)
        return -417;
    r->expect_continue = r->expect_continue && r->minor == 1;
    r->keep_alive = !h->conn_close && (r->minor == 1 || h->conn_keep);
    r->has_body = h->chunked || h->length > 0;
    return 1;
}

static int fields(struct http_state *st, struct http_cur *c, struct http_req *r,
                  struct head *h, const char *buf)
{
    struct http_field f;
    bool in_value;

    for (unsigned i = 0;; i++) {
        int rc = http_field(c, &f, &in_value);

        if (rc <= 0) {
            st->scanned = rc == 0 && in_value ? (size_t)(c->p - buf) : 0;
            return rc;
        }
        if (f.name.n == 0)
            return 1;
        if (i == HTTP_MAX_HEADERS)
            return -431;
        field(r, h, &f);
    }
}

static int parse_head(struct http_state *st, struct http_req *r, struct head *h,
                      char *buf, size_t n)
{
    struct http_cur c = { .p = buf };
    int rc;

    if (n == 0)
        return 0;
    if (buf[0] == '\r') { /* RFC 9112 2.2: one empty line before a request is nothing */
        if (n == 1)
            return 0;
        if (buf[1] != '\n')
            return -400;
        c.p += 2;
    }
    http_limit(&c, c.p, HTTP_MAX_LINE, buf + n, 414);
    rc = http_request_line(&c, r);
    if (rc <= 0)
        return rc;
    http_limit(&c, buf, HTTP_MAX_HEAD, buf + n, 431);
    r->fields.p = c.p;
    h->end = c.end;
    rc = fields(st, &c, r, h, buf);
    if (rc <= 0)
        return rc;
    r->fields.n = (size_t)(c.p - r->fields.p);
    assert(c.p > buf && c.p <= buf + n);
    st->head_len = (size_t)(c.p - buf);
    return judge(r, h);
}

bool http_next(struct slice *rest, const char *lower, struct slice *v)
{
    struct http_cur c = { .p = rest->p, .end = rest->p + rest->n };
    size_t n = strlen(lower);
    struct http_field f;
    bool in_value;

    while (http_field(&c, &f, &in_value) > 0 && f.name.n > 0) {
        if (f.name.n != n || !http_ieq(f.name.p, lower, n))
            continue;
        *v = f.value;
        *rest = (struct slice) { c.p, (size_t)(c.end - c.p) };
        return true;
    }
    rest->n = 0;
    return false;
}

unsigned http_find(const struct http_req *r, const char *lower, struct slice *v)
{
    struct slice rest = r->fields;
    unsigned found = 0;

    while (http_next(&rest, lower, v))
        found++;
    return found;
}

/* The bytes since the last call lie in a field's value and are plain: nothing to learn.
 */
static bool still_in_value(struct http_state *st, char *buf, size_t n)
{
    if (st->scanned == 0 || n >= HTTP_MAX_HEAD || n < st->scanned)
        return false;
    if (http_plain_end(buf + st->scanned, buf + n) != buf + n)
        return false;
    st->scanned = n;
    return true;
}

static int64_t sized_body(struct http_state *st, struct http_req *r, char *buf, size_t n,
                          size_t length)
{
    assert(st->head_len > 0 && st->head_len <= n);
    st->need = st->head_len + length;
    if (n < st->need) {
        st->want_continue = r->expect_continue && n == st->head_len;
        return 0;
    }
    r->body = (struct slice) { buf + st->head_len, length };
    return (int64_t)st->need;
}

int64_t http_parse(struct http_state *st, struct http_req *r, char *buf, size_t n)
{
    struct head h;
    int rc;

    if (n < st->need || still_in_value(st, buf, n))
        return 0;
    memset(r, 0, sizeof(*r));
    memset(&h, 0, sizeof(h));
    h.max_length = http_max_body(st);
    r->json = true;
    rc = parse_head(st, r, &h, buf, n);
    if (rc <= 0)
        return rc;
    if (h.chunked)
        return http_chunked(st, r, buf, n);
    return sized_body(st, r, buf, n, h.length);
}

/* http.c: requests, strictly, in place. Pure.
 * Order of work: an empty line (once), request line, field lines, what they mean together
 * (framing!), body. Whatever could be read in two ways by two servers is refused. */
#include "common/http/http.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "common/base/json.h"
#include "common/http/http_scan.h"

struct head { /* content of the field lines, before it is judged */
    struct http_framing f;
    unsigned hosts;
    bool unknown_expect;
    bool twice; /* a field that may come once came again */
};

static bool is_type(struct slice v, const char *lower, size_t n)
{
    return v.n >= n && http_ieq(v.p, lower, n) &&
           (v.n == n || v.p[n] == ';' || http_blank(v.p[n]));
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
    if (!http_host_good(v))
        h->hosts = 2; /* just as bad as two */
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

/* Drops the first of too many lines: the last one is the nearest proxy's. */
static void on_via(struct http_via *v, struct slice value)
{
    if (v->n == HTTP_MAX_VIA)
        memmove(v->line, v->line + 1, --v->n * sizeof(v->line[0]));
    assert(v->n < HTTP_MAX_VIA);
    v->line[v->n++] = value;
}

/* ---- the fields that we know ---- */

enum known_field {
    HOST = 1, COOKIE, EXPECT, FORWARDED, CONNECTION, USER_AGENT, CONTENT_TYPE, AUTHORIZATION,
    IF_NONE_MATCH, CONTENT_LENGTH, ACCEPT_LANGUAGE, X_FORWARDED_FOR, IDEMPOTENCY_KEY,
    TRANSFER_ENCODING, PREFER
};

/* Each has a place of its own, by length and first letter (the compiler warns of two). */
#define PLACE(n, c) (((n) + 5u * ((unsigned)(c) & 31)) & 63)
#define KNOWN(field, text, c) [PLACE(sizeof(text) - 1, c)] = { text, sizeof(text) - 1, field }

static const struct known {
    char name[30]; /* in small letters; with the rest 32 bytes, which a shift finds */
    uint8_t n;
    uint8_t field; /* 0: nothing is here */
} known[64] = {
    KNOWN(HOST, "host", 'h'),
    KNOWN(COOKIE, "cookie", 'c'),
    KNOWN(EXPECT, "expect", 'e'),
    KNOWN(FORWARDED, "forwarded", 'f'),
    KNOWN(CONNECTION, "connection", 'c'),
    KNOWN(USER_AGENT, "user-agent", 'u'),
    KNOWN(CONTENT_TYPE, "content-type", 'c'),
    KNOWN(AUTHORIZATION, "authorization", 'a'),
    KNOWN(IF_NONE_MATCH, "if-none-match", 'i'),
    KNOWN(CONTENT_LENGTH, "content-length", 'c'),
    KNOWN(ACCEPT_LANGUAGE, "accept-language", 'a'),
    KNOWN(X_FORWARDED_FOR, "x-forwarded-for", 'x'),
    KNOWN(IDEMPOTENCY_KEY, "idempotency-key", 'i'),
    KNOWN(TRANSFER_ENCODING, "transfer-encoding", 't'),
    KNOWN(PREFER, "prefer", 'p'),
};

/* 0: none of those. Reads sixteen bytes. No other byte of a name meets ours by | 0x20. */
static inline enum known_field which(const char *name, size_t n)
{
    const struct known *k = &known[PLACE(n, name[0])];
    unsigned same;

    if (k->n != n)
        return 0;
    same = chars16_mask((chars16)((chars16_at(name) | 0x20) == chars16_at(k->name)));
    same |= ~0u << n;
    return (same & 0xffff) == 0xffff && (n <= 16 || (name[16] | 0x20) == k->name[16]) ? k->field
                                                                                      : 0;
}

static void field(struct http_req *r, struct head *h, enum known_field which, struct slice v)
{
    switch (which) {
    case HOST:
        on_host(r, h, v);
        break;
    case COOKIE:
        on_cookie(r, v);
        break;
    case EXPECT:
        on_expect(r, h, v);
        break;
    case FORWARDED:
        on_via(&r->forwarded, v);
        break;
    case CONNECTION:
        http_on_connection(&h->f, v);
        break;
    case USER_AGENT:
        r->user_agent = v;
        break;
    case CONTENT_TYPE:
        on_type(r, v);
        break;
    case AUTHORIZATION:
        once(h, &r->authorization, v);
        break;
    case IF_NONE_MATCH:
        r->if_none_match = v;
        break;
    case CONTENT_LENGTH:
        http_on_length(&h->f, v);
        break;
    case ACCEPT_LANGUAGE:
        r->accept_language = v;
        break;
    case X_FORWARDED_FOR:
        on_via(&r->x_forwarded_for, v);
        break;
    case IDEMPOTENCY_KEY:
        once(h, &r->idempotency_key, v);
        break;
    case TRANSFER_ENCODING:
        http_on_coding(&h->f, v);
        break;
    case PREFER:
        r->prefers = true;
        break;
    }
}

/* RFC 9112 6: how long is the body, and may anybody see it differently? */
static int judge(struct http_req *r, const struct head *h)
{
    const struct http_framing *f = &h->f;

    if (h->hosts > 1 || (h->hosts == 0 && r->minor == 1) || h->twice)
        return -400;
    if (f->codings > 0) {
        if (f->codings > 1 || f->lengths > 0 || r->minor == 0)
            return -400;
        if (!f->chunked)
            return f->refuse_coding ? -501 : -400;
    }
    if (f->lengths > 1 || f->bad_length)
        return -400;
    if (f->big_length)
        return -413;
    if (r->minor == 1 && h->unknown_expect)
        return -417;
    r->expect_continue = r->expect_continue && r->minor == 1;
    r->keep_alive = http_keeps_alive(f, r->minor);
    r->has_body = f->chunked || f->length > 0;
    return 1;
}

/* The first character at p that is not plain, 32 at once. Behind `end`: there is none. */
static inline char *first_not_plain(char *p, const char *end)
{
    for (; p < end; p += 32) {
        unsigned odd = ~(http_plain(p) | http_plain(p + 16) << 16);

        if (odd != 0)
            return p + __builtin_ctz(odd);
    }
    return p;
}

static inline bool is_line_end(const struct http_cur *c, const char *p)
{
    return c->end - p >= 2 && memcmp(p, "\r\n", 2) == 0;
}

/* Takes the usual line: a short name, a value of plain characters. False: who knows. */
static inline bool plain_line(struct http_cur *c, struct http_req *r, struct head *h)
{
    char *p = c->p, *cr;
    unsigned n = http_first_not(p, &http_token);
    enum known_field is;
    struct slice v;

    if (n == 16 && (n += http_first_not(p + 16, &http_token)) == HTTP_SLACK)
        return false;
    if (n == 0 || p[n] != ':')
        return false;
    v.p = p + n + 1;
    cr = first_not_plain(v.p, c->end);
    if (!is_line_end(c, cr))
        return false;
    c->p = cr + 2;
    is = which(p, n);
    if (is == 0)
        return true;
    while (*v.p == ' ')
        v.p++;
    while (cr > v.p && cr[-1] == ' ')
        cr--;
    v.n = (size_t)(cr - v.p);
    field(r, h, is, v);
    return true;
}

/* Takes usual lines, at most `max`, and leaves the cursor at the first one that is unusual, or not
 * whole: http_field() decides. Returns how many; *end: they were the last ones, and the empty line
 * is taken, too. */
static unsigned plain_lines(struct http_cur *c, struct http_req *r, struct head *h, unsigned max,
                            bool *end)
{
    unsigned n = 0;

    while (n < max && plain_line(c, r, h))
        n++;
    *end = is_line_end(c, c->p);
    c->p += *end ? 2 : 0;
    return n;
}

static int fields(struct http_state *st, struct http_cur *c, struct http_req *r,
                  struct head *h, const char *buf)
{
    struct http_field f;
    bool in_value, end;

    for (unsigned i = 0;; i++) {
        int rc;

        i += plain_lines(c, r, h, HTTP_MAX_HEADERS - i, &end);
        if (end)
            return 1;
        rc = http_field(c, &f, &in_value);
        if (rc <= 0) {
            st->scanned = rc == 0 && in_value ? (size_t)(c->p - buf) : 0;
            return rc;
        }
        if (f.name.n == 0)
            return 1;
        if (i == HTTP_MAX_HEADERS)
            return -431;
        field(r, h, which(f.name.p, f.name.n), f.value);
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
    rc = fields(st, &c, r, h, buf);
    if (rc <= 0)
        return rc;
    r->fields.n = (size_t)(c.p - r->fields.p);
    assert(c.p > buf && c.p <= buf + n);
    st->head_len = (size_t)(c.p - buf);
    return judge(r, h);
}

bool http_next_field(struct slice *rest, struct slice *name, struct slice *value)
{
    struct http_cur c = { .p = rest->p, .end = rest->p + rest->n };
    struct http_field f;
    bool in_value, found = http_field(&c, &f, &in_value) > 0 && f.name.n > 0;

    *rest = (struct slice) { c.p, found ? (size_t)(c.end - c.p) : 0 };
    if (found) {
        *name = f.name;
        *value = f.value;
    }
    return found;
}

bool http_next(struct slice *rest, const char *lower, struct slice *v)
{
    size_t n = strlen(lower);
    struct slice name, value;

    while (http_next_field(rest, &name, &value)) {
        if (name.n != n || !http_ieq(name.p, lower, n))
            continue;
        *v = value;
        return true;
    }
    return false;
}

bool http_item_next(struct slice *list, struct slice *item)
{
    char *end;

    while (list->n > 0 && (http_blank(*list->p) || *list->p == ',')) {
        list->p++;
        list->n--;
    }
    if (list->n == 0)
        return false;
    end = memchr(list->p, ',', list->n);
    *item = (struct slice){ list->p, end != NULL ? (size_t)(end - list->p) : list->n };
    list->p += item->n;
    list->n -= item->n;
    while (http_blank(item->p[item->n - 1]))
        item->n--;
    return true;
}

bool http_connection_names(struct slice fields, struct slice name)
{
    struct slice list, item;

    while (http_next(&fields, "connection", &list))
        while (http_item_next(&list, &item))
            if (item.n == name.n && strncasecmp(item.p, name.p, item.n) == 0)
                return true;
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
    r->length = length;
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
    memset(r, 0, offsetof(struct http_req, x_forwarded_for));
    r->x_forwarded_for.n = r->forwarded.n = 0; /* they have no lines yet */
    memset(&h, 0, sizeof(h));
    h.f.max_length = http_max_body(st);
    r->json = true;
    rc = parse_head(st, r, &h, buf, n);
    if (rc <= 0)
        return rc;
    if (h.f.chunked)
        return http_chunked(st, r, buf, n);
    return sized_body(st, r, buf, n, h.f.length);
}

/* ---- problem details -------------------------------------------------------------- */

#define ADD(b, lit) buf_append(b, lit, sizeof(lit) - 1)

static void text(struct buf *b, const char *s)
{
    json_ascii(b, s, strlen(s));
}

void problem_open(struct buf *b, int status, const char *code, const char *detail,
                  const char *request_id)
{
    assert(status >= 400 && status < 600 && code[0] != '\0');
    ADD(b, "{\"title\":");
    text(b, http_reason(status));
    ADD(b, ",\"status\":");
    buf_i64(b, status);
    ADD(b, ",\"code\":");
    text(b, code);
    ADD(b, ",\"detail\":");
    text(b, detail);
    ADD(b, ",\"request_id\":");
    text(b, request_id);
}

const char *problem_code_of_http(int status)
{
    return status == 413 ? "payload_too_large" : "bad_request";
}

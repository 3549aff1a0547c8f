/* httpd_out.c: answers: composed by hand into the connection's output, one write a turn.
 * An answer whose turn has not come is kept with its request until those before it are
 * out (the order of answers is the order of requests: RFC 9112 9.3.2). */
#include "common/http/httpd_out.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

#include "common/base/text.h"
#include "common/net/net.h"

void conn_dirty(struct conn *c)
{
    if (c->dirty)
        return;
    c->dirty = true;
    c->next_dirty = c->h->dirty;
    c->h->dirty = c;
}

void conn_end(struct conn *c, enum conn_end why)
{
    assert(why != END_NOT && why < END_NREASONS);
    if (c->end == END_NOT)
        c->end = (uint8_t)why;
    conn_dirty(c);
}

/* ---- requests ---- */

struct httpd_req *req_new(struct conn *c)
{
    struct httpd *h = c->h;
    struct busy *b = c->busy;
    struct httpd_req *r = h->free_req;

    if (r != NULL) {
        h->free_req = r->next;
        h->n_free_req--;
        memset(r, 0, sizeof(*r));
    } else {
        r = calloc(1, sizeof(*r));
    }
    if (r == NULL)
        return NULL;
    r->conn = c;
    if (b->first == NULL)
        b->first = r;
    else
        b->last->next = r;
    b->last = r;
    b->n_reqs++;
    return r;
}

void req_give(struct httpd *h, struct httpd_req *r)
{
    free(r->ans);
    h->counts.out_now -= r->ans_cap;
    if (h->n_free_req >= HTTPD_POOL_MAX) {
        free(r);
        return;
    }
    r->next = h->free_req;
    h->free_req = r;
    h->n_free_req++;
}

void httpd_set_user(struct httpd_req *req, void *user)
{
    req->user = user;
}

void httpd_set_lines(struct httpd_req *req, const char *lines)
{
    req->lines = lines;
}

uint64_t httpd_tag(const struct httpd_req *req)
{
    return req->conn->tag;
}

/* ---- output memory ---- */

static void out_release(struct httpd *h, char *p, size_t cap)
{
    if (cap == HTTPD_OUT_BLOCK && h->n_free_out < HTTPD_POOL_MAX)
        h->free_out[h->n_free_out++] = p;
    else
        free(p);
}

static void count_block(struct httpd *h, size_t was, size_t is)
{
    h->counts.out_now += (is > HTTPD_OUT_BLOCK ? is : 0) - (was > HTTPD_OUT_BLOCK ? was : 0);
}

void out_give(struct httpd *h, struct busy *b)
{
    if (b->out != NULL)
        out_release(h, b->out, b->out_cap);
    count_block(h, b->out_cap, 0);
    b->out = NULL;
    b->out_at = b->out_len = b->out_cap = 0;
}

/* Room for n bytes behind what is there; NULL: no memory. */
static char *out_room(struct conn *c, size_t n)
{
    struct httpd *h = c->h;
    struct busy *b = c->busy;
    size_t cap = HTTPD_OUT_BLOCK;
    char *p;

    if (b->out_cap - b->out_len >= n)
        return b->out + b->out_len;
    while (cap < b->out_len + n && cap < HTTPD_OUT_EXACT)
        cap *= 2;
    cap = cap < b->out_len + n ? b->out_len + n : cap;
    if (cap == HTTPD_OUT_BLOCK && h->n_free_out > 0)
        p = h->free_out[--h->n_free_out];
    else
        p = malloc(cap);
    if (p == NULL)
        return NULL;
    if (b->out != NULL) {
        memcpy(p, b->out, b->out_len);
        out_release(h, b->out, b->out_cap);
    }
    count_block(h, b->out_cap, cap);
    b->out = p;
    b->out_cap = cap;
    return p + b->out_len;
}

bool out_pending(const struct conn *c)
{
    return c->busy != NULL && c->busy->out_len > c->busy->out_at;
}

void out_flush(struct conn *c)
{
    struct httpd *h = c->h;
    struct busy *b = c->busy;
    ssize_t n;

    if (b->out_len == b->out_at)
        return;
    n = send(event_get_fd(&c->event), b->out + b->out_at, b->out_len - b->out_at,
             MSG_NOSIGNAL);
    h->counts.writes++;
    if (n < 0) {
        if (errno != EAGAIN && errno != EINTR)
            c->end = END_PEER;
        n = 0;
    }
    h->counts.bytes_out += (uint64_t)n;
    b->out_at += (size_t)n;
    b->progress = n > 0;
    if (b->out_at == b->out_len)
        out_give(h, b);
    else if (b->out_len - b->out_at > h->opts.max_output_bytes)
        c->end = END_SLOW_READER;
}

/* ---- composing ---- */

#define OK_LINE "HTTP/1.1 200 OK\r\n"

/* IMF-fixdate; the C library's names depend on the locale. */
static void make_common(struct httpd *h, int64_t now_s)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    time_t t = (time_t)now_s;
    struct tm tm;
    char *w = h->common_head;

    gmtime_r(&t, &tm);
    w = PUT(w, OK_LINE "X-Content-Type-Options: nosniff\r\nDate: ");
    w = text_put(w, days + 3 * tm.tm_wday, 3);
    w += strftime(w, 16, ", %d ", &tm);
    w = text_put(w, months + 3 * tm.tm_mon, 3);
    w += strftime(w, 32, " %Y %H:%M:%S GMT\r\n", &tm);
    if (h->server[0] != '\0') {
        w = PUT(w, "Server: ");
        w = text_str(w, h->server);
        w = PUT(w, "\r\n");
    }
    h->common_len = (size_t)(w - h->common_head);
    assert(h->common_len <= sizeof(h->common_head));
    h->date_s = now_s;
}

static bool brings_cache_control(const char *p, size_t n)
{
    const char *end = p + n, *lf;

    for (; p < end; p = lf != NULL ? lf + 1 : end) {
        if (strncasecmp(p, "cache-control:", 14) == 0)
            return true;
        lf = memchr(p, '\n', (size_t)(end - p));
    }
    return false;
}

struct answer {
    int status;
    const char *type, *headers, *lines, *body;
    size_t type_len, headers_len, lines_len, body_len;
    bool close, keep_header, head, open;
};

#define ANSWER_HEAD_MAX 512 /* all but type, headers and body */

static char *other_head(const struct httpd *h, int status, char *w)
{
    const size_t ok = sizeof(OK_LINE) - 1;

    w = text_u64(PUT(w, "HTTP/1.1 "), (unsigned)status);
    *w++ = ' ';
    w = PUT(text_str(w, http_reason(status)), "\r\n");
    return text_put(w, h->common_head + ok, h->common_len - ok);
}

static size_t compose(struct httpd *h, const struct answer *a, char *out)
{
    bool sized = a->status >= 200 && a->status != 204 && a->status != 304;
    char *w;

    if (SQ_LIKELY(a->status == 200))
        w = text_put(out, h->common_head, h->common_len);
    else
        w = other_head(h, a->status, out);
    if (a->type != NULL) {
        w = PUT(w, "Content-Type: ");
        w = text_put(w, a->type, a->type_len);
        w = PUT(w, "\r\n");
    }
    if (a->open) {
        w = PUT(w, "Transfer-Encoding: chunked\r\n");
    } else if (sized) {
        w = PUT(w, "Content-Length: ");
        w = text_u64(w, a->body_len);
        w = PUT(w, "\r\n");
    }
    if (!brings_cache_control(a->headers, a->headers_len))
        w = PUT(w, "Cache-Control: no-store\r\n");
    w = text_put(w, a->headers, a->headers_len);
    w = text_put(w, a->lines, a->lines_len);
    if (a->close)
        w = PUT(w, "Connection: close\r\n");
    else if (a->keep_header)
        w = PUT(w, "Connection: keep-alive\r\n");
    w = PUT(w, "\r\n");
    if (sized && !a->head && !a->open)
        w = text_put(w, a->body, a->body_len);
    return (size_t)(w - out);
}

static void count_answer(struct httpd *h, int status)
{
    h->counts.answers++;
    h->counts.status_2xx += status / 100 == 2;
    h->counts.status_3xx += status / 100 == 3;
    h->counts.status_4xx += status / 100 == 4;
    h->counts.status_5xx += status / 100 == 5;
}

static void pop_first(struct conn *c)
{
    struct busy *b = c->busy;
    struct httpd_req *r = b->first;

    b->first = r->next;
    b->n_reqs--;
    req_give(c->h, r);
}

/* The first one is out: those behind it that have been answered already follow. */
static void release_answered(struct conn *c)
{
    struct busy *b = c->busy;

    while (b->first != NULL && b->first->answered) {
        struct httpd_req *r = b->first;
        char *w = out_room(c, r->ans_len);

        if (w == NULL) {
            conn_end(c, END_ERROR);
            return;
        }
        memcpy(w, r->ans, r->ans_len);
        b->out_len += r->ans_len;
        pop_first(c);
    }
}

/* Behind what is there; false: no memory, its connection ends. */
static bool append(struct conn *c, const struct answer *a, size_t max)
{
    char *w = out_room(c, max);

    if (w == NULL)
        conn_end(c, END_ERROR);
    else
        c->busy->out_len += compose(c->h, a, w);
    return w != NULL;
}

static void answer_first(struct conn *c, const struct answer *a, size_t max)
{
    if (!append(c, a, max)) {
        c->busy->first->answered = true; /* so that nobody is told "gone" now */
        return;
    }
    pop_first(c);
    release_answered(c);
}

static void answer_later(struct httpd_req *r, const struct answer *a, size_t max)
{
    r->answered = true;
    r->ans = malloc(max);
    if (r->ans == NULL) {
        conn_end(r->conn, END_ERROR);
        return;
    }
    r->ans_cap = max;
    r->conn->h->counts.out_now += max;
    r->ans_len = compose(r->conn->h, a, r->ans);
    assert(r->ans_len <= r->ans_cap);
}

/* What is equal for all answers to r; returns the bytes that it may take, without a body. */
static inline size_t prepare(struct httpd_req *r, struct answer *a)
{
    struct conn *c = r->conn;
    struct httpd *h = c->h;
    int64_t now_s = ev_wall_ms(h->ev) / 1000;

    if (now_s != h->date_s)
        make_common(h, now_s);
    count_answer(h, a->status);
    a->lines = r->lines;
    a->head = r->head;
    a->type_len = a->type != NULL ? strlen(a->type) : 0;
    a->headers_len = *a->headers != '\0' ? strlen(a->headers) : 0; /* most have none */
    a->lines_len = a->lines != NULL ? strlen(a->lines) : 0;
    a->close = a->open || !r->keep_alive || (h->draining && r == c->busy->last);
    a->keep_header = r->http10;
    if (a->close)
        c->no_more = true;
    conn_dirty(c);
    return ANSWER_HEAD_MAX + a->type_len + a->headers_len + a->lines_len;
}

void httpd_answer(struct httpd_req *r, int status, const char *content_type,
                  const char *headers, const char *body, size_t body_len)
{
    struct answer a = { .status = status,
                        .type = content_type,
                        .headers = headers,
                        .body = body,
                        .body_len = body_len };
    size_t max = prepare(r, &a) + body_len;

    if (r->conn->busy->first == r)
        answer_first(r->conn, &a, max);
    else
        answer_later(r, &a, max);
}

/* ---- answers that stay open ---- */

#define CHUNK_MAX 8 /* beside its bytes: four digits of their number, and line ends */

bool httpd_may_open(const struct httpd_req *r)
{
    const struct conn *c = r->conn;

    return c->busy->first == r && !r->head && !r->http10 && !c->h->draining;
}

void httpd_open(struct httpd_req *r, const char *content_type, const char *headers)
{
    struct answer a = { .status = 200, .type = content_type, .headers = headers, .open = true };

    assert(httpd_may_open(r) && !r->open);
    r->open = true;
    (void)append(r->conn, &a, prepare(r, &a));
}

bool httpd_is_open(const struct httpd_req *r)
{
    return r->open;
}

bool httpd_is_behind(const struct httpd_req *r)
{
    return out_pending(r->conn);
}

void httpd_send(struct httpd_req *r, const char *piece, size_t n)
{
    struct conn *c = r->conn;
    char *w = out_room(c, n + CHUNK_MAX), *begin = w;

    assert(r->open && n > 0 && n <= UINT16_MAX); /* a chunk of no bytes would be the end */
    conn_dirty(c);
    if (w == NULL) {
        conn_end(c, END_ERROR);
        return;
    }
    for (int shift = 12; shift >= 0; shift -= 4)
        *w++ = "0123456789abcdef"[n >> shift & 15];
    w = PUT(w, "\r\n");
    w = PUT(text_put(w, piece, n), "\r\n");
    c->busy->out_len += (size_t)(w - begin);
}

void httpd_end(struct httpd_req *r)
{
    struct conn *c = r->conn;
    static const char last[] = "0\r\n\r\n";
    char *w = out_room(c, sizeof(last));

    assert(r->open && c->busy->first == r);
    conn_dirty(c);
    if (w != NULL)
        c->busy->out_len += (size_t)(text_put(w, last, sizeof(last) - 1) - w);
    else
        conn_end(c, END_ERROR);
    pop_first(c);
}

void out_error(struct conn *c, int status)
{
    struct httpd *h = c->h;
    struct httpd_req *r = req_new(c);

    c->no_more = true;
    c->busy->unread = true;
    h->counts.bad_requests++;
    if (r == NULL) {
        conn_end(c, END_ERROR);
        return;
    }
    r->own = true;
    if (h->calls.on_bad != NULL)
        h->calls.on_bad(h->ctx, r, status);
    else
        httpd_answer(r, status, NULL, "", "", 0);
}

void out_continue(struct conn *c)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    char *w;

    if (c->busy->first != NULL) /* answers before it are not out yet: the client waits */
        return;
    w = out_room(c, sizeof(text));
    if (w == NULL) {
        conn_end(c, END_ERROR);
        return;
    }
    memcpy(w, text, sizeof(text) - 1);
    c->busy->out_len += sizeof(text) - 1;
    c->busy->continued = true;
    conn_dirty(c);
}

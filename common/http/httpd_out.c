/* httpd_out.c: answers: composed into the connection's output (httpd_compose.c), one write a turn;
 * one that is all that is under way is written at once. An answer whose turn has not come is kept with its
 * request until those before it are out (the order of answers is the order of requests: RFC 9112
 * 9.3.2). */
#include "common/http/httpd_out.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "common/base/text.h"
#include "common/http/httpd_busy.h"
#include "common/http/httpd_compose.h"
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

void httpd_set_user(struct httpd_req *req, void *user)
{
    req->user = user;
}

void httpd_set_lines(struct httpd_req *req, const char *lines)
{
    req->lines = lines;
}

void httpd_set_mark(struct httpd_req *req)
{
    req->marked = true;
}

bool httpd_is_marked(const struct httpd_req *req)
{
    return req->marked;
}

bool httpd_is_closing(const struct httpd_req *req)
{
    return req->conn->eof || req->conn->end != END_NOT;
}

bool httpd_is_sealed(const struct httpd_req *req)
{
    return req->conn->sealed;
}

uint64_t httpd_tag(const struct httpd_req *req)
{
    return req->conn->tag;
}

bool httpd_peer(const struct httpd_req *req, struct ip *out)
{
    struct net_addr a = { .len = sizeof(a.in6) };

    return getpeername(req->conn->io.fd, &a.sa, &a.len) == 0 && net_ip(&a, out);
}

/* ---- writing ---- */

bool out_pending(const struct conn *c)
{
    return c->busy != NULL && c->busy->out_len > c->busy->out_at;
}

/* Number of bytes that went out; the connection may have ended. */
static size_t put_out(struct conn *c, const char *p, size_t len)
{
    struct httpd *h = c->h;
    ssize_t n = SQ_UNLIKELY(c->sealed) ? tls_sock_send(conn_sock(c), p, len)
                                       : send(c->io.fd, p, len, MSG_NOSIGNAL);

    h->counts.writes++;
    if (SQ_UNLIKELY(n < 0)) {
        if (errno != EAGAIN && errno != EINTR)
            c->end = END_PEER;
        n = 0;
    }
    h->counts.bytes_out += (uint64_t)n;
    return (size_t)n;
}

void out_flush(struct conn *c)
{
    struct httpd *h = c->h;
    struct busy *b = c->busy;
    size_t n;

    if (b->out_len == b->out_at)
        return;
    n = put_out(c, b->out + b->out_at, b->out_len - b->out_at);
    b->out_at += n;
    b->progress = n > 0 || (SQ_UNLIKELY(c->sealed) && conn_sock(c)->wire.sent);
    if (b->out_at == b->out_len)
        out_give(h, b);
    else if (b->out_len - b->out_at > h->opts.max_output_bytes)
        c->end = END_SLOW_READER;
}

/* ---- answers, in the order of their requests ---- */

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
        req_pop(c);
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

static void cannot_answer(struct httpd_req *r)
{
    r->answered = true; /* to tell nobody "gone" now */
    conn_end(r->conn, END_ERROR);
}

static void answer_first(struct conn *c, const struct answer *a, size_t max)
{
    if (!append(c, a, max)) {
        cannot_answer(c->busy->first);
        return;
    }
    req_pop(c);
    release_answered(c);
}

/* Nothing else is under way on its connection, and nothing to be settled. */
static inline bool is_alone(const struct httpd_req *r)
{
    const struct conn *c = r->conn;
    const struct busy *b = c->busy;

    return r->at_hand ||
           (!c->dirty && c->end == END_NOT && !c->no_more && !c->eof && b->first == r &&
            b->last == r && b->in_len == 0 && b->out_len == b->out_at);
}

/* The answer is in hand_out, and r is alone. What does not go out at once waits like any other output. */
static void answer_now(struct httpd_req *r, size_t n)
{
    struct conn *c = r->conn;
    const char *p = c->h->hand_out;
    size_t sent = put_out(c, p, n);
    char *w;

    assert(n <= HTTPD_HAND_ROOM);
    r->answered = true;
    if (!r->at_hand)
        req_pop(c);
    if (SQ_LIKELY(sent == n)) {
        busy_give(c);
        conn_wait(c, WAIT_IDLE, true);
        return;
    }
    conn_dirty(c);
    if (c->end != END_NOT)
        return;
    w = busy_take(c) != NULL ? out_room(c, n - sent) : NULL;
    if (w == NULL) {
        conn_end(c, END_ERROR);
        return;
    }
    memcpy(w, p + sent, n - sent);
    c->busy->out_len += n - sent;
}

static void answer_later(struct httpd_req *r, const struct answer *a, size_t max)
{
    r->ans = max <= UINT32_MAX ? malloc(max) : NULL;
    if (r->ans == NULL) {
        cannot_answer(r);
        return;
    }
    r->answered = true;
    r->ans_cap = (uint32_t)max;
    r->conn->h->counts.out_now += max;
    r->ans_len = (uint32_t)compose(r->conn->h, a, r->ans);
    assert(r->ans_len <= r->ans_cap);
}

/* No request that is here already follows. */
static bool is_last(const struct httpd_req *r)
{
    return r->at_hand || r == r->conn->busy->last;
}

/* Writes what is equal for all answers to r; returns the bytes that it may take, without a body. */
static inline size_t prepare(struct httpd_req *r, struct answer *a)
{
    struct conn *c = r->conn;

    assert(!r->answered && !r->open);
    compose_date(c->h);
    compose_count(c->h, a->status);
    a->lines = r->lines;
    a->head = r->head;
    a->type_len = a->type != NULL ? strlen(a->type) : 0;
    a->headers_len = *a->headers != '\0' ? strlen(a->headers) : 0; /* most have none */
    a->lines_len = a->lines != NULL ? strlen(a->lines) : 0;
    a->close = (a->open && !a->passing) || !r->keep_alive || (c->h->draining && is_last(r));
    if (SQ_UNLIKELY(conn_pieces(c) != NULL && c->busy->pieces->req == r)) { /* and no more of it is read */
        pieces_free(c->busy);
        c->busy->unread = a->close = true;
    }
    a->keep_header = r->http10;
    if (a->close)
        c->no_more = true;
    return ANSWER_HEAD_MAX + a->type_len + a->headers_len + a->lines_len;
}

void httpd_answer(struct httpd_req *r, int status, const char *content_type,
                  const char *headers, const char *body, size_t body_len)
{
    struct conn *c = r->conn;
    struct answer a = { .status = status,
                        .type = content_type,
                        .headers = headers,
                        .body = body,
                        .body_len = body_len };
    size_t max = prepare(r, &a) + body_len;

    if (max <= HTTPD_HAND_ROOM && !a.close && is_alone(r)) {
        answer_now(r, compose(c->h, &a, c->h->hand_out));
        return;
    }
    conn_dirty(c);
    if (r->at_hand && !req_keep(r))
        cannot_answer(r);
    else if (c->busy->first == r)
        answer_first(c, &a, max);
    else
        answer_later(r, &a, max);
}

/* ---- a body in place ---- */

char *httpd_body(struct httpd_req *r, int status, const char *type, const char *headers,
                 size_t n)
{
    struct conn *c = r->conn;
    struct httpd *h = c->h;
    struct body_head *x = &h->body_head[status == 201];
    size_t n_lines = r->lines != NULL ? strlen(r->lines) : 0, room;
    bool now = is_alone(r);
    char *w = h->hand_out;

    assert(!r->answered && (status == 200 || status == 201));
    if (!r->keep_alive || h->draining || r->head || r->http10 || (!now && c->busy->first != r))
        return NULL;
    compose_date(h);
    if (SQ_UNLIKELY(x->type != type || x->date_s != h->date_s))
        compose_body_head(h, x, status, type);
    room = x->len + n + n_lines + HTTPD_BODY_MAX + HTTPD_BODY_TOUCH;
    if (SQ_UNLIKELY(room > HTTPD_HAND_ROOM) || (!now && (w = out_room(c, room)) == NULL))
        return NULL;
    h->in_place.out = w;
    h->in_place.size = w + x->size_at;
    memcpy(w, x->text, x->len);
    w += x->len;
    if (n + n_lines > 0) /* before the empty line */
        w = PUT(text_put(text_put(w - 2, headers, n), r->lines, n_lines), "\r\n");
    return h->in_place.body = w;
}

void httpd_body_end(struct httpd_req *r, const char *end)
{
    struct conn *c = r->conn;
    struct httpd *h = c->h;
    size_t n = (size_t)(end - h->in_place.out), len = (size_t)(end - h->in_place.body);

    assert(len >= BODY_MIN && len <= HTTPD_BODY_MAX);
    text_padded(h->in_place.size, 3, (uint32_t)len);
    h->counts.answers++;
    h->counts.status_2xx++;
    if (SQ_LIKELY(h->in_place.out == h->hand_out)) {
        answer_now(r, n);
        return;
    }
    conn_dirty(c);
    assert(n <= c->busy->out_cap - c->busy->out_len);
    c->busy->out_len += n;
    req_pop(c);
    release_answered(c);
}

/* ---- answers that stay open ---- */

#define CHUNK_MAX 8 /* beside its bytes: four digits of their number, and line ends */

/* Drops what follows: it would never be answered. */
static bool nothing_follows(struct httpd_req *r)
{
    if (r->head || (r->at_hand && !req_keep(r)))
        return false;
    return r->conn->busy->first == r && is_last(r);
}

bool httpd_may_open(struct httpd_req *r)
{
    return !r->http10 && !r->conn->h->draining && nothing_follows(r);
}

bool httpd_may_open_sized(struct httpd_req *r)
{
    return nothing_follows(r);
}

static void open_it(struct httpd_req *r, struct answer *a)
{
    size_t max = prepare(r, a);

    assert(!r->at_hand && r->conn->busy->first == r); /* nothing_follows() has looked */
    r->open = true;
    conn_dirty(r->conn);
    (void)append(r->conn, a, max);
}

void httpd_open(struct httpd_req *r, const char *content_type, const char *headers)
{
    struct answer a = { .status = 200, .type = content_type, .headers = headers, .open = true };

    net_is_talked_to(r->conn->io.fd);
    open_it(r, &a);
}

void httpd_open_sized(struct httpd_req *r, int status, const char *content_type,
                      const char *headers, uint64_t length)
{
    struct answer a = { .status = status, .type = content_type, .headers = headers,
                        .body_len = length, .open = true, .sized = true };

    r->sized = r->hungry = true;
    r->left = length;
    open_it(r, &a);
}

bool httpd_may_pass(struct httpd_req *r)
{
    return !r->head && !r->http10 && (!r->at_hand || req_keep(r)) && r->conn->busy->first == r;
}

void httpd_open_passing(struct httpd_req *r, int status, const char *content_type,
                        const char *headers, uint64_t length)
{
    bool sized = length != HTTPD_UNSIZED;
    struct answer a = { .status = status, .type = content_type, .headers = headers,
                        .body_len = sized ? length : 0, .open = true, .sized = sized,
                        .passing = true };

    r->passing = r->hungry = true;
    r->sized = sized;
    r->left = sized ? length : 0;
    open_it(r, &a);
}

bool httpd_is_passing(const struct httpd_req *r)
{
    return r->passing;
}

bool httpd_is_sized(const struct httpd_req *r)
{
    return r->sized;
}

void httpd_abort(struct httpd_req *r)
{
    assert(r->sized || r->passing);
    conn_end(r->conn, END_ERROR);
}

void out_taken(struct conn *c)
{
    struct httpd_req *r = c->busy->first;

    if (out_pending(c) || c->end != END_NOT)
        return;
    r->hungry = false;
    c->h->calls.on_taken(c->h->ctx, r, r->user);
}

bool httpd_is_open(const struct httpd_req *r)
{
    return r->open;
}

bool httpd_is_behind(const struct httpd_req *r)
{
    return out_pending(r->conn);
}

#define CHUNK_HEAD 6 /* bytes of CHUNK_MAX before those of the piece */
#define LARGE      16384 /* bytes of a piece that is not copied, if the kernel takes it */

static char *put_chunk_head(char *w, size_t n)
{
    for (int shift = 12; shift >= 0; shift -= 4)
        *w++ = "0123456789abcdef"[n >> shift & 15];
    return PUT(w, "\r\n");
}

/* A large piece, at once, while nothing is under way; how many of its bytes went out, with those of the chunk. */
static size_t send_now(const struct httpd_req *r, const char *piece, size_t n)
{
    struct conn *c = r->conn;
    char head[CHUNK_HEAD];
    struct iovec v[] = { { head, CHUNK_HEAD }, { (char *)(uintptr_t)piece, n }, { (char[]){ "\r\n" }, 2 } };
    struct msghdr m = { .msg_iov = v + r->sized, .msg_iovlen = r->sized ? 1 : 3 };
    ssize_t sent;

    if (n < LARGE || out_pending(c) || c->sealed || c->end != END_NOT)
        return 0;
    (void)put_chunk_head(head, n);
    sent = sendmsg(c->io.fd, &m, MSG_NOSIGNAL);
    c->h->counts.writes++;
    if (sent <= 0) /* told again by the next write */
        return 0;
    c->h->counts.bytes_out += (uint64_t)sent;
    c->busy->progress = true;
    return (size_t)sent;
}

void httpd_send(struct httpd_req *r, const char *piece, size_t n)
{
    struct conn *c = r->conn;
    size_t all = r->sized ? n : n + CHUNK_MAX, sent;
    char *w;

    assert(r->open && n > 0); /* a chunk of no bytes would be the end */
    assert(r->sized ? n <= r->left : n <= UINT16_MAX);
    conn_dirty(c);
    r->left -= r->sized ? n : 0;
    r->hungry = r->sized || r->passing;
    sent = send_now(r, piece, n);
    if (sent == all)
        return;
    w = out_room(c, n + CHUNK_MAX);
    if (w == NULL) {
        conn_end(c, END_ERROR);
        return;
    }
    if (!r->sized)
        w = put_chunk_head(w, n);
    w = text_put(w, piece, n);
    if (!r->sized)
        (void)PUT(w, "\r\n");
    c->busy->out_at += sent;
    c->busy->out_len += all;
}

static void ends_open(struct conn *c)
{
    req_pop(c);
    release_answered(c);
}

void httpd_end(struct httpd_req *r)
{
    struct conn *c = r->conn;
    static const char last[] = "0\r\n\r\n";
    char *w;

    assert(r->open && c->busy->first == r && r->left == 0);
    conn_dirty(c);
    if (r->sized) {
        ends_open(c);
        return;
    }
    w = out_room(c, sizeof(last));
    if (w != NULL)
        c->busy->out_len += (size_t)(text_put(w, last, sizeof(last) - 1) - w);
    else
        conn_end(c, END_ERROR);
    ends_open(c);
}

void out_error(struct conn *c, int status, const struct http_req *q)
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
        h->calls.on_bad(h->ctx, r, status, q);
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

/* httpd_in.c: bytes in, requests out.
 *
 * A read goes into one buffer that all connections share; most requests are whole there,
 * and nothing is copied. Only what is left over gets memory of its own. */
#include "common/http/httpd_in.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/http/httpd_busy.h"
#include "common/http/httpd_out.h"

#define NOT_PARSED INT64_MIN

/* ---- requests out of bytes ---- */

static bool take_one(struct conn *c, const struct http_req *q)
{
    struct httpd *h = c->h;
    struct busy *b = c->busy;
    struct httpd_req *r = req_new(c);

    if (r == NULL) {
        conn_end(c, END_ERROR);
        return false;
    }
    b->st = (struct http_state) { .max_body = h->opts.max_body };
    b->fresh = true;
    b->continued = false;
    c->used = true;
    r->head = q->method == HTTP_HEAD;
    r->keep_alive = q->keep_alive;
    r->http10 = q->minor == 0;
    if (!q->keep_alive)
        c->no_more = true;
    h->counts.requests++;
    h->calls.on_request(h->ctx, r, q);
    return true;
}

/* Keeps what the parser has not used for later, or drops it if there is no later. */
static void keep_rest(struct conn *c, char *p, size_t n)
{
    struct busy *b = c->busy;

    if (c->no_more) {
        b->unread = b->unread || n > 0;
        n = 0;
    }
    if (n == 0) {
        in_free(c);
        return;
    }
    if (b->in_len > 0) {
        if (p != b->in)
            memmove(b->in, p, n);
    } else if (in_room(c, n)) {
        memcpy(b->in, p, n);
    } else {
        conn_end(c, END_ERROR);
        return;
    }
    b->in_len = n;
}

/* Unsent output means that the client does not read: its next requests wait. So they do
 * when many large answers of one turn are to be written first. */
static bool may_take(const struct conn *c)
{
    const struct busy *b = c->busy;

    return !c->no_more && c->end == END_NOT && (c->io.what & EV_IO_WRITE) == 0 &&
           !out_is_open(c) && b->n_reqs < c->h->opts.max_pipelined && b->out_len - b->out_at < HTTPD_OUT_AHEAD;
}

/* The body of *q is above max_body: it may be larger, or http_parse()'s -413 stands; -503: not now.
 * Else what the parser says of the same bytes. */
static int64_t parse_large(struct conn *c, char *p, size_t n, struct http_req *q)
{
    const struct httpd *h = c->h;
    struct http_state *st = &c->busy->st;
    int64_t used;

    assert(st->head_len > 0);
    if (st->max_body == h->opts.max_large || !h->calls.on_large(h->ctx, q))
        return -413;
    st->max_body = h->opts.max_large;
    used = http_parse(st, q, p, n);
    if (used == 0 && !in_large(c, st->need != 0 ? st->need : HTTP_MAX_REQUEST(st->max_body)))
        return -503;
    return used;
}

/* p is the shared buffer or the connection's own; all of its n bytes. used: what the parser, with
 * b->st, has said of its begin, and *q the request there; or NOT_PARSED. */
static void take(struct conn *c, char *p, size_t n, struct http_req *q, int64_t used)
{
    struct busy *b = c->busy;
    unsigned budget = HTTPD_TURN_REQUESTS;

    b->stalled = false;
    for (; n > 0 && !c->no_more; used = NOT_PARSED) {
        if (budget-- == 0 || !may_take(c)) {
            assert(used == NOT_PARSED); /* nothing of it was taken before */
            b->stalled = true;
            break;
        }
        if (used == NOT_PARSED)
            used = http_parse(&b->st, q, p, n);
        if (used == -413)
            used = parse_large(c, p, n, q);
        if (used == 0)
            break;
        if (used < 0) {
            out_error(c, (int)-used, used == -413 || used == -503 ? q : NULL);
            break;
        }
        p += used;
        n -= (size_t)used;
        if (!take_one(c, q))
            break;
    }
    if (b->st.want_continue && !b->continued)
        out_continue(c);
    keep_rest(c, p, n);
}

static void take_at_hand(struct conn *c, const struct http_req *q)
{
    struct httpd *h = c->h;
    struct httpd_req *r = req_at_hand(c);

    if (r == NULL) {
        conn_end(c, END_ERROR);
        return;
    }
    c->used = true;
    r->head = q->method == HTTP_HEAD;
    h->counts.requests++;
    h->calls.on_request(h->ctx, r, q);
    if (h->hand == r && r->answered)
        return;
    conn_dirty(c);
    if (h->hand == r && !req_keep(r)) {
        h->counts.aborted++;
        h->calls.on_gone(h->ctx, r, r->user);
        conn_end(c, END_ERROR);
    }
}

/* The first bytes of a connection that is not busy. */
static void take_first(struct conn *c, char *p, size_t n)
{
    struct http_state st = { .max_body = c->h->opts.max_body };
    struct http_req q;
    int64_t used = http_parse(&st, &q, p, n);

    if (SQ_LIKELY(used == (int64_t)n && q.keep_alive && q.minor == 1 && !c->h->draining)) {
        take_at_hand(c, &q);
        return;
    }
    conn_dirty(c);
    if (busy_take(c) == NULL) {
        conn_end(c, END_ERROR);
        return;
    }
    c->busy->st = st;
    take(c, p, n, &q, used);
}

static void take_more(struct conn *c, char *p, size_t n)
{
    struct http_req q;

    conn_dirty(c);
    take(c, p, n, &q, NOT_PARSED);
}

/* ---- reading ---- */

static void on_read_end(struct conn *c, ssize_t n)
{
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    conn_dirty(c);
    if (n < 0) {
        c->end = END_PEER;
        return;
    }
    if (out_is_open(c)) {
        c->end = END_PEER; /* no reader for the pieces to come */
        return;
    }
    c->eof = true; /* perhaps closed one way only, and waiting for answers */
    if (c->busy != NULL) {
        c->busy->stalled = false;
        in_free(c);
    }
}

void conn_linger_read(struct conn *c)
{
    struct busy *b = c->busy;
    ssize_t n = recv(c->io.fd, c->h->scratch, HTTPD_SCRATCH, 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        b->lingered += (uint32_t)n;
    if (n <= 0 || b->lingered > HTTPD_LINGER_BYTES)
        conn_end(c, END_DONE);
}

void conn_read(struct conn *c)
{
    struct httpd *h = c->h;
    struct busy *b = c->busy;
    bool own = b != NULL && b->in_len > 0;
    char *p = h->scratch;
    size_t room = HTTPD_SCRATCH;
    ssize_t n;

    if (own) {
        if (!in_room(c, HTTPD_IN_START)) {
            conn_end(c, END_ERROR);
            return;
        }
        p = b->in + b->in_len;
        room = b->in_cap - b->in_len;
    }
    n = SQ_UNLIKELY(c->sealed) ? tls_sock_recv(conn_sock(c), p, room) : recv(c->io.fd, p, room, 0);
    h->counts.reads++;
    if (n <= 0) {
        on_read_end(c, n);
        return;
    }
    h->counts.bytes_in += (uint64_t)n;
    if (b == NULL) {
        take_first(c, p, (size_t)n);
    } else if (own) {
        b->in_len += (size_t)n;
        take_more(c, b->in, b->in_len);
    } else {
        take_more(c, p, (size_t)n);
    }
}

void conn_go_on(struct conn *c)
{
    if (c->end == END_NOT && c->busy != NULL && c->busy->in_len > 0)
        take_more(c, c->busy->in, c->busy->in_len);
    if (SQ_UNLIKELY(c->sealed) && c->end == END_NOT && conn_has_more(c))
        conn_read(c);
}

/* httpd_in.c: bytes in, requests out.
 *
 * A read goes into one buffer that all connections share; most requests are whole there,
 * and nothing is copied. Only what is left over gets memory of its own. */
#include "common/http/httpd_in.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
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
    if (b->pieces != NULL)
        b->pieces->req = r;
    b->fresh = true;
    b->continued = false;
    c->used = true;
    r->head = q->method == HTTP_HEAD;
    r->keep_alive = q->keep_alive;
    r->http10 = q->minor == 0;
    if (!q->keep_alive && b->pieces == NULL)
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

/* ---- bodies in pieces ---- */

/* Decodes what is here of the body, to where it lies: *data. How many bytes that took; -400: it is malformed. */
static int64_t decode(struct http_answer *a, char *p, size_t n, struct slice *data)
{
    size_t at = 0;
    int64_t took;

    *data = (struct slice) { p, 0 };
    do {
        struct slice some;

        took = http_answer_body(a, p + at, n - at, &some);
        if (took < 0)
            return took;
        if (some.n > 0)
            memmove(p + data->n, some.p, some.n);
        data->n += some.n;
        at += (size_t)took;
    } while (took > 0 && a->part != HTTP_ANSWER_DONE);
    return (int64_t)at;
}

/* The slowest that we bear is a mean over body_ms: its deadline begins anew with each piece. */
static bool is_fast_enough(const struct httpd *h, struct pieces *s, size_t n)
{
    msec_t took = ev_now(h->ev) - s->since_ms;

    s->fresh += n;
    if (took < h->opts.body_ms)
        return true;
    if (s->fresh < (size_t)took * HTTPD_SLOWEST / 1000)
        return false;
    s->since_ms += took;
    s->fresh = 0;
    return true;
}

/* The next piece out of n bytes at p: how many it took. */
static size_t take_piece(struct conn *c, char *p, size_t n)
{
    struct httpd *h = c->h;
    struct pieces *s = c->busy->pieces;
    struct httpd_req *r = s->req;
    struct slice data;
    int64_t took = decode(&s->body, p, n, &data);
    bool last = took >= 0 && s->body.part == HTTP_ANSWER_DONE;

    s->came += data.n;
    if (!is_fast_enough(h, s, data.n)) {
        conn_end(c, END_BODY);
        return n;
    }
    if (took < 0 || s->came > s->most) {
        s->wanted = false;
        h->calls.on_piece(h->ctx, r, r->user, NULL, took < 0 ? 400 : 413, true);
        return n;
    }
    if (data.n == 0 && !last)
        return (size_t)took;
    s->wanted = false;
    if (last) {
        pieces_free(c->busy);
        c->busy->fresh = true;
        c->no_more |= !r->keep_alive;
    }
    h->calls.on_piece(h->ctx, r, r->user, data.p, data.n, last);
    return (size_t)took;
}

void httpd_more(struct httpd_req *r)
{
    struct pieces *s = r->conn->busy->pieces;

    if (s == NULL || s->req != r || s->wanted)
        return;
    s->wanted = true;
    r->conn->busy->stalled |= r->conn->busy->in_len > 0; /* bytes are here already */
    conn_dirty(r->conn);
}

/* A body of more than HTTPD_WHOLE bytes: its request begins with the first of them. */
static int64_t slice(struct conn *c, char *p, size_t n, struct http_req *q, int64_t used)
{
    struct http_state *st = &c->busy->st;
    struct pieces *s = c->busy->pieces;
    bool chunked = st->chunk_at != 0;

    if (used != 0) { /* all of it is here, or it is none */
        pieces_free(c->busy);
        return used;
    }
    if (n - st->head_len < HTTPD_BEGIN) {
        st->need = chunked ? 0 : st->head_len + HTTPD_BEGIN;
        return 0;
    }
    if (q->fields.p == NULL) /* not parsed in this turn */
        return 0;
    s->body = (struct http_answer) { .part = chunked ? HTTP_ANSWER_CHUNK : HTTP_ANSWER_SIZED,
                                     .left = chunked ? 0 : q->length };
    used = decode(&s->body, p + st->head_len, n - st->head_len, &q->body);
    if (used < 0)
        return used;
    if (q->body.n > s->most)
        return -413;
    s->came = q->body.n;
    s->since_ms = ev_now(c->h->ev);
    q->in_pieces = true;
    return (int64_t)st->head_len + used;
}

static bool pieces_begin(struct conn *c, uint64_t most)
{
    struct pieces *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return false;
    s->most = most;
    c->busy->pieces = s;
    return true;
}

/* The body of *q is above max_body: it may be larger, or http_parse()'s -413 stands; -503: not now.
 * Else what the parser says of the same bytes. */
static int64_t parse_large(struct conn *c, char *p, size_t n, struct http_req *q)
{
    const struct httpd *h = c->h;
    struct http_state *st = &c->busy->st;
    bool in_pieces = false;
    uint64_t most;
    int64_t used;

    assert(st->head_len > 0);
    if (h->opts.max_large == h->opts.max_body || (st->max_body > h->opts.max_body && st->max_body != HTTPD_WHOLE))
        return -413;
    most = h->calls.on_large(h->ctx, q, &in_pieces);
    if (most == 0)
        return -413;
    if (!in_pieces)
        st->max_body = u64_min(most, h->opts.max_large);
    else
        st->max_body = st->max_body != HTTPD_WHOLE && most > HTTPD_WHOLE ? HTTPD_WHOLE : most;
    used = http_parse(st, q, p, n);
    if (used == -413 && in_pieces && st->max_body == HTTPD_WHOLE && most > HTTPD_WHOLE) {
        st->max_body = most;
        used = http_parse(st, q, p, n);
    }
    if (used == 0 && st->max_body > HTTPD_WHOLE && in_pieces)
        return pieces_begin(c, most) ? 0 : -503;
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
        if (b->pieces != NULL && b->pieces->req != NULL) {
            used = b->pieces->wanted && c->end == END_NOT ? (int64_t)take_piece(c, p, n) : 0;
            p += used;
            n -= (size_t)used;
            if (used == 0)
                break;
            continue;
        }
        if (budget-- == 0 || !may_take(c)) {
            assert(used == NOT_PARSED); /* nothing of it was taken before */
            b->stalled = true;
            break;
        }
        if (used == NOT_PARSED) {
            q->fields.p = NULL;
            used = http_parse(&b->st, q, p, n);
        }
        if (used == -413 && b->pieces == NULL)
            used = parse_large(c, p, n, q);
        if (b->pieces != NULL)
            used = slice(c, p, n, q, used);
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
    b->stalled &= n > 0; /* httpd_more() was called meanwhile */
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
    if (conn_pieces(c) != NULL) {
        c->end = END_PEER;
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
        if (!in_room(c, b->pieces != NULL ? HTTPD_PIECE_ROOM : HTTPD_IN_START)) {
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

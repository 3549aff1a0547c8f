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

#include "common/http/httpd_out.h"

/* ---- what hangs on a connection that is not idle ---- */

static struct busy *busy_take(struct conn *c)
{
    struct httpd *h = c->h;
    struct busy *b = h->free_busy;

    if (c->busy != NULL)
        return c->busy;
    if (b != NULL) {
        h->free_busy = b->next_free;
        h->n_free_busy--;
        memset(b, 0, sizeof(*b));
    } else {
        b = calloc(1, sizeof(*b));
    }
    if (b != NULL)
        b->st.max_body = h->opts.max_body;
    c->busy = b;
    return b;
}

void in_free(struct conn *c)
{
    struct busy *b = c->busy;

    c->h->counts.in_now -= b->in_cap;
    free(b->in);
    b->in = NULL;
    b->in_len = b->in_cap = 0;
}

void busy_give(struct conn *c)
{
    struct httpd *h = c->h;
    struct busy *b = c->busy;

    if (b == NULL)
        return;
    in_free(c);
    out_give(h, b);
    c->busy = NULL;
    if (h->n_free_busy >= HTTPD_POOL_MAX) {
        free(b);
        return;
    }
    b->next_free = h->free_busy;
    h->free_busy = b;
    h->n_free_busy++;
}

/* Room for n more bytes of pending input. */
static bool in_room(struct conn *c, size_t n)
{
    struct httpd *h = c->h;
    struct busy *b = c->busy;
    size_t cap = b->in_cap != 0 ? b->in_cap : HTTPD_IN_START;
    char *p;

    if (b->in_cap - b->in_len >= n)
        return true;
    while (cap - b->in_len < n)
        cap *= 2;
    if (b->in_len + n > h->in_max ||
        h->counts.in_now + cap - b->in_cap > h->opts.max_input_bytes)
        return false;
    p = realloc(b->in, cap);
    if (p == NULL)
        return false;
    assert(cap > b->in_cap && cap >= b->in_len + n);
    h->counts.in_now += cap - b->in_cap;
    b->in = p;
    b->in_cap = cap;
    return true;
}

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

/* What the parser has not used stays for later, or is dropped if there is no later. */
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

    return !c->no_more && c->end == END_NOT && (c->interest & EV_WRITE) == 0 &&
           b->n_reqs < c->h->opts.max_pipelined && b->out_len - b->out_at < HTTPD_OUT_AHEAD;
}

/* p is the shared buffer or the connection's own; all of its n bytes. */
static void take(struct conn *c, char *p, size_t n)
{
    struct busy *b = busy_take(c);
    unsigned budget = HTTPD_TURN_REQUESTS;

    if (b == NULL) {
        conn_end(c, END_ERROR);
        return;
    }
    b->stalled = false;
    while (n > 0 && !c->no_more) {
        struct http_req q;
        int64_t used;

        if (budget-- == 0 || !may_take(c)) {
            b->stalled = true;
            break;
        }
        used = http_parse(&b->st, &q, p, n);
        if (used == 0)
            break;
        if (used < 0) {
            out_error(c, (int)-used);
            break;
        }
        p += used;
        n -= (size_t)used;
        if (!take_one(c, &q))
            break;
    }
    if (b->st.want_continue && !b->continued)
        out_continue(c);
    keep_rest(c, p, n);
}

void conn_go_on(struct conn *c)
{
    if (c->end != END_NOT || c->busy == NULL || c->busy->in_len == 0)
        return;
    conn_dirty(c);
    take(c, c->busy->in, c->busy->in_len);
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
    if (c->busy != NULL && c->busy->first != NULL && c->busy->first->open) {
        c->end = END_PEER; /* nobody reads the pieces to come */
        return;
    }
    c->eof = true; /* it may have closed one way only, and wait for its answers */
    if (c->busy != NULL) {
        c->busy->stalled = false;
        in_free(c);
    }
}

void conn_linger_read(struct conn *c)
{
    struct busy *b = c->busy;
    ssize_t n = recv(event_get_fd(&c->event), c->h->scratch, HTTPD_SCRATCH, 0);

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
    n = recv(event_get_fd(&c->event), p, room, 0);
    h->counts.reads++;
    if (n <= 0) {
        on_read_end(c, n);
        return;
    }
    h->counts.bytes_in += (uint64_t)n;
    conn_dirty(c);
    if (own) {
        b->in_len += (size_t)n;
        take(c, b->in, b->in_len);
    } else {
        take(c, p, (size_t)n);
    }
}

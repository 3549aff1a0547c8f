/* httpd_conn.c: one connection: its events, what it waits for, how it ends. Its input is in
 * httpd_in.c, its output in httpd_out.c.
 *
 *   HEAD --request--> US --answered--> IDLE --bytes--> HEAD | BODY --> US ...
 *   any  --output that the client does not take--> WRITE --> as before
 *   after the last answer: closed, or LINGER first if bytes were left unread (a close
 *   would reset the connection and the client might never see the answer)
 */
#include "common/http/httpd_conn.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "common/http/httpd_busy.h"
#include "common/http/httpd_in.h"
#include "common/http/httpd_out.h"
#include "common/http/httpd_tls.h"
#include "common/net/net.h"

#define LOG_MODULE "httpd"

static const char *const end_names[END_NREASONS] = {
    [END_NOT] = "open",           [END_DONE] = "done",
    [END_IDLE] = "idle",          [END_HEAD] = "head deadline",
    [END_BODY] = "body deadline", [END_SLOW_READER] = "slow reader",
    [END_PEER] = "peer",          [END_ERROR] = "error",
};

/* ---- events ---- */

static void on_event(void *arg, unsigned what)
{
    struct conn *c = arg;

    if (c->end != END_NOT)
        return;
    if (what & (EV_IO_WRITE | EV_IO_GONE))
        conn_dirty(c);
    if ((what & EV_IO_GONE) && out_is_open(c)) {
        c->end = END_PEER;
        return;
    }
    if ((what & EV_IO_READ) == 0)
        return;
    if (c->lingering)
        conn_linger_read(c);
    else
        conn_read(c);
}

static void too_late(struct conn *c, enum conn_end why, uint64_t *counter)
{
    if (c->busy == NULL || c->busy->in_len == 0 || conn_pieces(c) != NULL) {
        conn_end(c, why);
        return;
    }
    ++*counter;
    out_error(c, 408, NULL);
    in_free(c);
}

static void wait_write(struct conn *c, bool progress)
{
    if (progress || c->wait != WAIT_WRITE)
        c->busy->unacked = (uint32_t)net_unacked(c->io.fd);
    conn_wait(c, WAIT_WRITE, progress);
}

/* The kernel asks for more when a third of its buffer is free, and that may be megabytes: a slow
 * reader is told from a dead one by what its end has acknowledged. */
static bool is_taking(const struct conn *c)
{
    size_t least = (size_t)(c->h->wait_ms[WAIT_WRITE] * HTTPD_SLOWEST / 1000);

    return net_unacked(c->io.fd) + least < c->busy->unacked;
}

void conn_overdue(struct conn *c)
{
    struct httpd_counts *n = &c->h->counts;

    if (c->end != END_NOT || c->dirty) /* something has happened in this very turn */
        return;
    switch ((enum conn_wait)c->wait) {
    case WAIT_IDLE:
        conn_end(c, END_IDLE);
        break;
    case WAIT_HEAD:
        too_late(c, END_HEAD, &n->closed_head_deadline);
        break;
    case WAIT_BODY:
        too_late(c, END_BODY, &n->closed_body_deadline);
        break;
    case WAIT_WRITE:
        if (is_taking(c))
            wait_write(c, true);
        else
            conn_end(c, END_SLOW_READER);
        break;
    case WAIT_LINGER:
    case WAIT_US:
        conn_end(c, END_DONE);
        break;
    }
}

/* ---- the end of the turn ---- */

static void want_again(struct conn *c)
{
    struct httpd *h = c->h;

    if (!GROW(h->again, h->n_again, h->cap_again, 64)) {
        c->end = END_ERROR;
        return;
    }
    h->again[h->n_again++] = c;
}

/* All answers are out and no request will follow. */
static void finish(struct conn *c)
{
    struct busy *b = c->busy;

    assert(c->no_more || c->eof);
    if (c->lingering) {
        conn_wait(c, WAIT_LINGER, false);
        return;
    }
    if (b == NULL || !b->unread || c->eof) {
        c->end = c->no_more || c->h->draining ? END_DONE : END_PEER;
        return;
    }
    if (c->sealed)
        tls_sock_bye(conn_sock(c));
    shutdown(c->io.fd, SHUT_WR);
    c->lingering = true;
    conn_wait(c, WAIT_LINGER, true);
}

static void next_wait(struct conn *c)
{
    struct busy *b = c->busy;
    bool fresh = b != NULL && b->fresh;

    if (b != NULL && b->stalled && !out_pending(c) && !out_is_open(c) &&
        b->n_reqs < c->h->opts.max_pipelined)
        want_again(c);
    if (out_pending(c)) {
        wait_write(c, b->progress);
    } else if (b != NULL && conn_pieces(c) != NULL && b->pieces->wanted && !b->stalled) {
        conn_wait(c, WAIT_BODY, true);
    } else if (b != NULL && (b->n_reqs > 0 || b->stalled)) {
        conn_wait(c, WAIT_US, false);
    } else if (c->no_more || c->eof) {
        finish(c);
    } else if (b != NULL && b->in_len > 0) {
        conn_wait(c, b->st.head_len != 0 ? WAIT_BODY : WAIT_HEAD, fresh);
    } else if (c->h->draining) {
        c->end = END_DONE;
    } else {
        busy_give(c);
        conn_wait(c, c->used ? WAIT_IDLE : WAIT_HEAD, fresh);
    }
    if (c->busy != NULL)
        c->busy->fresh = c->busy->progress = false;
}

static void watch(struct conn *c)
{
    bool blocked = out_pending(c);
    bool done = (c->no_more && !c->lingering && !out_is_open(c)) || c->eof;
    unsigned want = blocked ? EV_IO_WRITE : 0;

    if (!blocked && !done && (c->busy == NULL || !c->busy->stalled))
        want |= conn_pieces(c) == NULL || c->busy->pieces->wanted ? EV_IO_READ : 0;
    else if (out_is_open(c) && !c->eof)
        want |= EV_IO_GONE; /* requests behind an answer that is open are not read, but its end is seen */
    if (ev_io_set(&c->io, want) < 0)
        c->end = END_ERROR;
    else if (SQ_UNLIKELY(c->sealed) && conn_has_more(c))
        want_again(c);
}

bool conn_settle(struct conn *c)
{
    if (c->end == END_NOT && c->busy != NULL)
        out_flush(c);
    if (c->end == END_NOT)
        next_wait(c);
    if (c->end == END_NOT)
        watch(c);
    if (SQ_UNLIKELY(c->busy != NULL && c->busy->first != NULL && c->busy->first->hungry))
        out_taken(c);
    return c->end == END_NOT;
}

/* ---- beginning and end ---- */

static void on_handshake(void *arg, unsigned what)
{
    struct conn *c = arg;

    (void)what;
    if (c->end != END_NOT || !conn_handshake(c))
        return;
    c->io.fn = on_event;
    conn_wait(c, WAIT_HEAD, true);
    conn_dirty(c);
    if (!c->no_more)
        conn_read(c);
}

/* The first request is here already (TCP_DEFER_ACCEPT), so it is read at once; a
 * connection for one request is then never watched at all: four system calls in its life.
 */
struct conn *conn_new(struct httpd *h, int fd, uint64_t tag)
{
    bool sealed = tls_server_is_on(h->opts.tls);
    struct conn *c = calloc(1, sealed ? sizeof(struct tls_conn) : sizeof(*c));

    if (c == NULL || (sealed && !conn_seal(c, h, fd))) {
        close(fd);
        free(c);
        return NULL;
    }
    c->h = h;
    c->tag = tag;
    ev_io_init(&c->io, h->ev, fd, on_event, c);
    h->counts.accepted++;
    h->counts.conns_now++;
    conn_wait(c, WAIT_HEAD, true);
    if (sealed) {
        c->io.fn = on_handshake;
        on_handshake(c, EV_IO_READ);
        return c;
    }
    conn_dirty(c);
    conn_read(c);
    return c;
}

static void count_end(struct conn *c)
{
    struct httpd_counts *n = &c->h->counts;

    n->closed_idle += c->end == END_IDLE;
    n->closed_head_deadline += c->end == END_HEAD;
    n->closed_body_deadline += c->end == END_BODY;
    n->closed_slow_reader += c->end == END_SLOW_READER;
    n->closed_peer += c->end == END_PEER;
    n->closed_error += c->end == END_ERROR;
    log_debug("event=conn_closed fd=%d why=\"%s\"", c->io.fd, end_names[c->end]);
}

static void drop_requests(struct conn *c)
{
    struct httpd *h = c->h;

    while (c->busy != NULL && c->busy->first != NULL) {
        struct httpd_req *r = c->busy->first;

        c->busy->first = r->next;
        if (!r->answered) {
            h->counts.aborted += !r->open;
            h->calls.on_gone(h->ctx, r, r->user);
        }
        req_give(h, r);
    }
}

void conn_free(struct conn *c)
{
    struct httpd *h = c->h;

    assert(c->end != END_NOT || h->listener == NULL); /* or the server itself ends */
    assert(!c->dirty);
    count_end(c);
    drop_requests(c);
    for (size_t i = 0; i < h->n_again; i++) {
        if (h->again[i] == c)
            h->again[i--] = h->again[--h->n_again];
    }
    ev_io_end(&c->io);
    if (c->sealed)
        conn_unseal(c, true);
    close(c->io.fd);
    conn_wait_end(c);
    busy_give(c);
    if (h->calls.on_conn_end != NULL)
        h->calls.on_conn_end(h->ctx, c->tag);
    free(c);
}

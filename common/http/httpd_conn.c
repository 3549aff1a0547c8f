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
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/text.h"
#include "common/http/httpd_busy.h"
#include "common/http/httpd_in.h"
#include "common/http/httpd_out.h"
#include "common/net/net.h"

#define LOG_MODULE "httpd"

/* ---- handshakes of TLS, from the first byte to the last; then the connection is like any other, but
 * that its bytes go through tls_sock_recv() and tls_sock_send() ---- */

static const char plain_answer[] = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n"
                                   "Content-Length: 45\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
                                   "This port speaks TLS: begin with https://...\n";

bool handshakes_due(struct httpd *h)
{
    int64_t turn = ev_now_us(h->ev);

    if (turn != h->handshake_turn_us) {
        h->handshake_turn_us = turn;
        h->handshake_us = 0;
    }
    return h->handshake_us < HTTPD_HANDSHAKE_US;
}

static struct tls_conn *oldest(const struct httpd *h)
{
    return list_entry(list_first(&h->handshakes), struct tls_conn, in_handshake);
}

bool handshakes_fit(const struct httpd *h)
{
    return h->handshakes.n < h->opts.max_handshakes || oldest(h)->conn.end != END_NOT ||
           ev_now(h->ev) - oldest(h)->began >= HTTPD_HANDSHAKE_MS;
}

static void leave_handshakes(struct tls_conn *t)
{
    if (!list_linked(&t->in_handshake))
        return;
    list_remove(&t->conn.h->handshakes, &t->in_handshake);
    t->conn.h->counts.tls_now--;
    t->conn.h->counts.tls_failed += !t->sock.done && !t->sock.wire.plain;
}

static void make_room(struct httpd *h)
{
    struct tls_conn *t = oldest(h);

    if (h->handshakes.n < h->opts.max_handshakes)
        return;
    conn_end(&t->conn, END_HEAD); /* freed at the end of the turn */
    leave_handshakes(t);
}

/* c: of struct tls_conn, new. False: no memory. */
static bool conn_seal(struct conn *c, struct httpd *h, int fd)
{
    struct tls_conn *t = (struct tls_conn *)c;

    if (!tls_sock_open(&t->sock, h->opts.tls, fd))
        return false;
    make_room(h);
    c->sealed = true;
    t->began = ev_now(h->ev);
    list_push_back(&h->handshakes, &t->in_handshake);
    h->counts.tls_now++;
    return true;
}

/* Before its end. bye: the client is told. */
static void conn_unseal(struct conn *c, bool bye)
{
    leave_handshakes((struct tls_conn *)c);
    if (bye)
        tls_sock_bye(conn_sock(c));
    tls_sock_close(conn_sock(c));
    c->sealed = false;
}

static void say(struct conn *c, bool plain, const char *why)
{
    struct httpd *h = c->h;
    struct net_addr peer = { .len = sizeof(peer.in6) };
    char text[NET_TEXT_MAX] = "?";
    uint64_t left_out;

    if (!log_may(&h->tls_log[plain], ev_now(h->ev), 1, &left_out))
        return;
    if (getpeername(c->io.fd, &peer.sa, &peer.len) == 0)
        net_ip_text(&peer, text);
    if (plain)
        log_info("event=http_at_https port=%s from=%s left_out=%" PRIu64, h->addr, text, left_out);
    else
        log_info("event=handshake_failed port=%s from=%s why=%s left_out=%" PRIu64, h->addr, text,
                 log_q(why, strlen(why)), left_out);
}

/* From here on it is a connection without TLS, whose only answer is written. */
static void answer_plain(struct conn *c)
{
    char *w;

    conn_unseal(c, false);
    c->no_more = true;
    w = busy_take(c) != NULL ? out_room(c, sizeof(plain_answer)) : NULL;
    if (w == NULL) {
        conn_end(c, END_ERROR);
        return;
    }
    memcpy(w, plain_answer, sizeof(plain_answer) - 1);
    c->busy->out_len += sizeof(plain_answer) - 1;
    c->busy->unread = true;
}

/* Goes on with it, if the turn has time left. True: it is over, or was none: c is not sealed, then,
 * its answer is written, and it takes no request. */
static bool conn_handshake(struct conn *c)
{
    struct httpd *h = c->h;
    struct tls_sock *t = conn_sock(c);
    struct err e = { 0 };
    int64_t began_us;
    int rc = 0;

    if (handshakes_due(h)) {
        began_us = ev_read_mono_us();
        rc = tls_sock_handshake(t, &e);
        h->handshake_us += ev_read_mono_us() - began_us;
    }
    if (rc == 1) {
        h->counts.tls_done++;
        h->counts.tls_resumed += tls_sock_resumed(t);
        leave_handshakes((struct tls_conn *)c);
        return true;
    }
    if (rc < 0)
        say(c, rc == SQ_EINVAL, e.text);
    if (rc == SQ_EINVAL) {
        h->counts.tls_plain++;
        answer_plain(c);
        return true;
    }
    if (rc < 0 || ev_io_set(&c->io, t->wants_write ? EV_IO_WRITE : EV_IO_READ) < 0)
        conn_end(c, END_PEER);
    return false;
}

#define ROW(name, kind, member, help) METRIC_ROW(name, kind, struct httpd_counts, member, help)

static const struct metric_row rows[] = {
    ROW("tls_handshakes", GAUGE, tls_now, "TLS handshakes under way"),
    ROW("tls_handshakes_total", COUNTER, tls_done, "TLS handshakes that were finished"),
    ROW("tls_resumed_total", COUNTER, tls_resumed, "Of these, those of clients that came again with a ticket"),
    ROW("tls_failed_total", COUNTER, tls_failed, "TLS handshakes that failed or took too long"),
    ROW("tls_plain_total", COUNTER, tls_plain, "Connections that spoke HTTP where TLS is spoken"),
};

void httpd_tls_metrics(struct buf *b, const char *prefix, const struct httpd_counts *n, int64_t lapses_s)
{
    char name[80];

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct metric_row row = rows[i];

        snprintf(name, sizeof(name), "%s%s", prefix, rows[i].name);
        row.name = name;
        metrics_rows(b, &row, 1, n);
    }
    snprintf(name, sizeof(name), "%stls_certificate_lapses_timestamp_seconds", prefix);
    metrics_value(b, name, METRIC_GAUGE, "When the first certificate of the port lapses, in Unix time; 0: it has none",
                  (double)lapses_s);
}

/* ---- connections ---- */

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

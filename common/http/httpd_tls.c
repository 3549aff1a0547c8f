/* httpd_tls.c: handshakes of TLS, from the first byte to the last; then the connection is like any
 * other, but that its bytes go through tls_sock_recv() and tls_sock_send().
 *
 * A handshake costs a hundred polls. A turn spends HTTPD_HANDSHAKE_US on them; who comes later is
 * told by the kernel again in the next turn (it is level triggered, and its ready list is the queue),
 * and new connections wait in the backlog. Those under way hold memory of OpenSSL: at their bound
 * one that has lasted for HTTPD_HANDSHAKE_MS ends for a new one, or accepting pauses.
 *
 *   HTTP in its place        400 that says so, a line in the log
 *   an alert, bytes that are no handshake, versions or ciphers that we do not speak, an end
 *                            closed, a line in the log
 *   not over in the time of a head -> closed
 * Of each kind a line a second at most; the next one says how many were left out. */
#include "common/http/httpd_tls.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/text.h"
#include "common/http/httpd_busy.h"
#include "common/http/httpd_out.h"
#include "common/net/net.h"

#define LOG_MODULE "httpd"

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

bool conn_seal(struct conn *c, struct httpd *h, int fd)
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

void conn_unseal(struct conn *c, bool bye)
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

bool conn_handshake(struct conn *c)
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

/* httpdrig.h: the server with raw client sockets in the same loop. */
#ifndef SEGQ_TESTS_HTTPDRIG_H
#define SEGQ_TESTS_HTTPDRIG_H

#include "common/http/httpd.h"
#include "common/net/net.h"
#include "tests/lib/turn.h"

#include <arpa/inet.h>
#include "tests/lib/criterion.h"
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define H         "Host: a\r\n"
#define GET(path) "GET " path " HTTP/1.1\r\n" H "\r\n"

struct world {
    struct ev *ev;
    struct httpd *h;
    uint16_t port;
    struct httpd_req *held[256]; /* requests for /later, in order of arrival */
    unsigned n_held, n_gone, n_bad, n_requests, n_taken;
    unsigned conns, max_conns; /* what on_conn lets in; 0 = all */
    uint64_t next_tag, tags_open, tag_seen;
    uint64_t most_out; /* bytes of answers, when one more was asked for */
    bool drained;
    struct httpd_req *up_req; /* the newest that came in pieces */
    uint64_t up_most;
    unsigned pieces, up_ends;
    bool up_held; /* it is told by the test when the next piece may come */
    size_t up_n;
    char up[1 << 20];
    size_t n_body; /* of /body, /made: '+' if it was written in place */
    char body[HTTPD_BODY_MAX];
    char big[200000];
};

static struct world w;
static const char in_place[] = "in/place";

static inline void answer_in_place(struct httpd_req *r, int status, const char *headers)
{
    char *to = httpd_body(r, status, in_place, headers, strlen(headers));

    if (to != NULL)
        httpd_body_end(r, (char *)memset(to, '+', w.n_body) + w.n_body);
    else
        httpd_answer(r, status, in_place, headers, memset(w.body, '-', w.n_body), w.n_body);
}

static inline void take_up(const char *p, size_t n)
{
    cr_assert_leq(w.up_n + n, sizeof(w.up));
    memcpy(w.up + w.up_n, p, n);
    w.up_n += n;
    w.pieces++;
}

static inline void on_request(void *ctx, struct httpd_req *r, const struct http_req *q)
{
    char body[64];

    (void)ctx;
    w.n_requests++;
    w.tag_seen = httpd_tag(r);
    w.most_out = u64_max(w.most_out, httpd_counts(w.h)->out_now);
    if (q->in_pieces) {
        w.up_req = r;
        w.up_n = 0;
        httpd_set_user(r, &w);
        take_up(q->body.p, q->body.n);
        if (!w.up_held)
            httpd_more(r);
    } else if (q->path.n == 3 && memcmp(q->path.p, "/up", 3) == 0) {
        take_up(q->body.p, q->body.n);
        httpd_answer(r, 204, NULL, "", "", 0);
    } else if (q->path.n == 6 && memcmp(q->path.p, "/later", 6) == 0) {
        httpd_set_user(r, &w);
        w.held[w.n_held++] = r;
    } else if (q->path.n == 5 && memcmp(q->path.p, "/open", 5) == 0 && httpd_may_open(r)) {
        httpd_set_user(r, &w);
        httpd_open(r, "text/plain", "X-A: 1\r\n");
        w.held[w.n_held++] = r;
    } else if (q->path.n == 6 && memcmp(q->path.p, "/sized", 6) == 0 && httpd_may_open_sized(r)) {
        httpd_set_user(r, &w);
        httpd_open_sized(r, 203, "text/plain", "X-A: 1\r\n", sizeof(w.big));
        w.held[w.n_held++] = r;
    } else if (q->path.n == 4 && memcmp(q->path.p, "/big", 4) == 0) {
        httpd_answer(r, 200, "text/plain", "", w.big, sizeof(w.big));
    } else if (q->path.n == 5 && memcmp(q->path.p, "/none", 5) == 0) {
        httpd_answer(r, 204, NULL, "", "", 0);
    } else if (q->path.n == 6 && memcmp(q->path.p, "/cache", 6) == 0) {
        httpd_answer(r, 200, "text/plain", "X-A: 1\r\nCache-Control: max-age=1\r\n", "c",
                     1);
    } else if (q->path.n == 5 && memcmp(q->path.p, "/body", 5) == 0) {
        answer_in_place(r, 200, "");
    } else if (q->path.n == 5 && memcmp(q->path.p, "/made", 5) == 0) {
        httpd_set_lines(r, "X-B: 2\r\n");
        answer_in_place(r, 201, "X-A: 1\r\n");
    } else {
        int n = snprintf(body, sizeof(body), "[%.*s|%.*s]", (int)q->path.n, q->path.p,
                         (int)q->body.n, q->body.p != NULL ? q->body.p : "");
        httpd_answer(r, 200, "text/plain", "", body, (size_t)n);
    }
}

static inline void on_gone(void *ctx, struct httpd_req *r, void *user)
{
    (void)ctx;
    (void)r;
    cr_expect_eq(user, &w);
    w.n_gone++;
}

static inline void on_bad(void *ctx, struct httpd_req *r, int status, const struct http_req *q)
{
    (void)ctx;
    cr_expect_eq(q != NULL, status == 413 || status == 503);
    w.n_bad++;
    httpd_answer(r, status, "text/plain", "", "bad", 3);
}

static inline void on_taken(void *ctx, struct httpd_req *r, void *user)
{
    (void)ctx;
    (void)r;
    cr_expect_eq(user, &w);
    w.n_taken++;
}

static inline uint64_t on_large(void *ctx, const struct http_req *q, bool *in_pieces)
{
    (void)ctx;
    *in_pieces = q->path.n >= 3 && memcmp(q->path.p, "/up", 3) == 0;
    return q->authorization.n == 0 ? 0 : *in_pieces ? w.up_most : UINT32_MAX;
}

static inline void on_piece(void *ctx, struct httpd_req *r, void *user, const char *p, size_t n, bool last)
{
    (void)ctx;
    cr_expect(user == &w && r == w.up_req);
    w.up_ends += last;
    if (p == NULL) {
        httpd_answer(r, (int)n, "text/plain", "", "bad", 3);
        return;
    }
    cr_expect_leq(n, HTTPD_PIECE);
    take_up(p, n);
    if (last)
        httpd_answer(r, 200, "text/plain", "", "up", 2);
    else if (!w.up_held)
        httpd_more(r);
}

static inline bool on_conn(void *ctx, const struct net_addr *peer, uint64_t *tag)
{
    struct ip ip;

    (void)ctx;
    cr_expect(net_ip(peer, &ip) && ip_is_v4(&ip) && ip.b[12] == 127);
    if (w.max_conns != 0 && w.conns >= w.max_conns)
        return false;
    w.conns++;
    *tag = ++w.next_tag;
    w.tags_open += *tag;
    return true;
}

static inline void on_conn_end(void *ctx, uint64_t tag)
{
    (void)ctx;
    w.conns--;
    w.tags_open -= tag;
}

static inline void start(struct httpd_opts o)
{
    struct httpd_calls calls = { on_request, on_gone, on_bad, on_conn, on_conn_end,
                                 on_large, on_taken, on_piece };
    struct err e = { 0 };

    memset(&w, 0, sizeof(w));
    memset(w.big, '#', sizeof(w.big)); /* in no head: a date has the b of Feb */
    cr_assert_eq(ev_new(&w.ev, &e), 0);
    o.addr = "127.0.0.1:0";
    cr_assert_eq(httpd_new(&w.h, w.ev, &o, &calls, NULL, &e), 0, "%s", e.text);
    w.up_most = sizeof(w.up);
    w.port = (uint16_t)atoi(strrchr(httpd_addr(w.h), ':') + 1);
}

static inline void stop(void)
{
    httpd_free(w.h);
    ev_free(w.ev);
}

static inline int dial_rcv(int rcvbuf)
{
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_port = htons(w.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    cr_assert_geq(fd, 0);
    if (rcvbuf != 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf));
    cr_assert_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

static inline int dial(void)
{
    return dial_rcv(0);
}

static inline void say(int fd, const char *t)
{
    cr_assert_eq(send(fd, t, strlen(t), MSG_NOSIGNAL), (ssize_t)strlen(t));
}

struct got {
    char t[300000];
    size_t n;
    bool eof;
};

static inline bool more(int fd, struct got *g)
{
    ssize_t n = recv(fd, g->t + g->n, sizeof(g->t) - 1 - g->n, 0);

    if (n == 0 || (n < 0 && errno != EAGAIN))
        g->eof = true;
    if (n > 0)
        g->n += (size_t)n;
    g->t[g->n] = '\0';
    return n > 0;
}

static inline bool has(int fd, struct got *g, const char *text)
{
    more(fd, g);
    return strstr(g->t, text) != NULL;
}

static inline bool ended(int fd, struct got *g)
{
    more(fd, g);
    return g->eof;
}

static struct got g; /* of the one client that most tests have */

static inline void settle(void)
{
    for (int i = 0; i < 20; i++)
        ev_turn(w.ev, false);
}

#endif

/* test_httpd.c: the server with raw client sockets in the same loop: keep-alive,
 * pipelining with answers in any order, deadlines, limits, drain, memory per connection.
 */
#include "common/httpd.h"
#include "common/net.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
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
    unsigned n_held, n_gone, n_bad, n_requests;
    unsigned conns, max_conns; /* what on_conn lets in; 0 = all */
    uint64_t next_tag, tags_open, tag_seen;
    bool drained;
    char big[200000];
};

static struct world w;

static void on_request(void *ctx, struct httpd_req *r, const struct http_req *q)
{
    char body[64];

    (void)ctx;
    w.n_requests++;
    w.tag_seen = httpd_tag(r);
    if (q->path.n == 6 && memcmp(q->path.p, "/later", 6) == 0) {
        httpd_set_user(r, &w);
        w.held[w.n_held++] = r;
    } else if (q->path.n == 4 && memcmp(q->path.p, "/big", 4) == 0) {
        httpd_answer(r, 200, "text/plain", "", w.big, sizeof(w.big));
    } else if (q->path.n == 5 && memcmp(q->path.p, "/none", 5) == 0) {
        httpd_answer(r, 204, NULL, "", "", 0);
    } else if (q->path.n == 6 && memcmp(q->path.p, "/cache", 6) == 0) {
        httpd_answer(r, 200, "text/plain", "X-A: 1\r\nCache-Control: max-age=1\r\n", "c",
                     1);
    } else {
        int n = snprintf(body, sizeof(body), "[%.*s|%.*s]", (int)q->path.n, q->path.p,
                         (int)q->body.n, q->body.p != NULL ? q->body.p : "");
        httpd_answer(r, 200, "text/plain", "", body, (size_t)n);
    }
}

static void on_gone(void *ctx, struct httpd_req *r, void *user)
{
    (void)ctx;
    (void)r;
    cr_expect_eq(user, &w);
    w.n_gone++;
}

static void on_bad(void *ctx, struct httpd_req *r, int status)
{
    (void)ctx;
    w.n_bad++;
    httpd_answer(r, status, "text/plain", "", "bad", 3);
}

static bool on_conn(void *ctx, const struct net_addr *peer, uint64_t *tag)
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

static void on_conn_end(void *ctx, uint64_t tag)
{
    (void)ctx;
    w.conns--;
    w.tags_open -= tag;
}

static void start(struct httpd_opts o)
{
    struct httpd_calls calls = { on_request, on_gone, on_bad, on_conn, on_conn_end };
    struct err e = { 0 };

    memset(&w, 0, sizeof(w));
    memset(w.big, 'b', sizeof(w.big));
    cr_assert_eq(ev_new(&w.ev, &e), 0);
    o.addr = "127.0.0.1:0";
    cr_assert_eq(httpd_new(&w.h, w.ev, &o, &calls, NULL, &e), 0, "%s", e.text);
    w.port = (uint16_t)atoi(strrchr(httpd_addr(w.h), ':') + 1);
}

static void stop(void)
{
    httpd_free(w.h);
    ev_free(w.ev);
}

static int dial_rcv(int rcvbuf)
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

static int dial(void)
{
    return dial_rcv(0);
}

static void say(int fd, const char *t)
{
    cr_assert_eq(send(fd, t, strlen(t), MSG_NOSIGNAL), (ssize_t)strlen(t));
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Turns until `expr` holds, or 5 s. */
#define UNTIL(expr)                                                                      \
    do {                                                                                 \
        int64_t end_ = now_ms() + 5000;                                                  \
        while (!(expr) && now_ms() < end_)                                               \
            ev_turn(w.ev, false);                                                        \
        cr_assert(expr, "waited in vain for " #expr);                                    \
    } while (0)

struct got {
    char t[300000];
    size_t n;
    bool eof;
};

static bool more(int fd, struct got *g)
{
    ssize_t n = recv(fd, g->t + g->n, sizeof(g->t) - 1 - g->n, 0);

    if (n == 0 || (n < 0 && errno != EAGAIN))
        g->eof = true;
    if (n > 0)
        g->n += (size_t)n;
    g->t[g->n] = '\0';
    return n > 0;
}

static bool has(int fd, struct got *g, const char *text)
{
    more(fd, g);
    return strstr(g->t, text) != NULL;
}

static bool ended(int fd, struct got *g)
{
    more(fd, g);
    return g->eof;
}

static struct got g; /* of the one client that most tests have */

static void settle(void)
{
    for (int i = 0; i < 20; i++)
        ev_turn(w.ev, false);
}

Test(httpd, an_answer_has_all_that_it_must)
{
    start((struct httpd_opts) { .server = "segq" });
    int fd = dial();
    say(fd, GET("/x"));
    UNTIL(has(fd, &g, "[/x|]"));
    cr_expect_eq(strncmp(g.t, "HTTP/1.1 200 OK\r\n", 17), 0);
    cr_expect(strstr(g.t, "\r\nDate: ") && strstr(g.t, " GMT\r\n"));
    cr_expect(strstr(g.t, "\r\nContent-Length: 5\r\n"));
    cr_expect(strstr(g.t, "\r\nContent-Type: text/plain\r\n"));
    cr_expect(strstr(g.t, "\r\nCache-Control: no-store\r\n"));
    cr_expect(strstr(g.t, "\r\nX-Content-Type-Options: nosniff\r\n"));
    cr_expect(strstr(g.t, "\r\nServer: segq\r\n"));
    cr_expect(!strstr(g.t, "Connection:"));
    g.n = 0;
    say(fd, GET("/cache"));
    UNTIL(has(fd, &g, "\r\n\r\nc"));
    cr_expect(strstr(g.t, "max-age=1") && !strstr(g.t, "no-store"));
    cr_expect(strstr(g.t, "\r\nX-A: 1\r\n"));
    cr_expect_eq(httpd_counts(w.h)->accepted, 1);
    close(fd);
    UNTIL(httpd_counts(w.h)->conns_now == 0);
    stop();
}

Test(httpd, head_and_204_have_no_body)
{
    start((struct httpd_opts) { 0 });
    int fd = dial();
    say(fd, "HEAD /x HTTP/1.1\r\n" H "\r\n" GET("/none") GET("/y"));
    UNTIL(has(fd, &g, "[/y|]"));
    cr_expect(!strstr(g.t, "[/x"));
    cr_expect(strstr(g.t, "Content-Length: 5\r\n"));
    char *none = strstr(g.t, "HTTP/1.1 204 No Content");
    cr_assert(none);
    char *end = strstr(none, "\r\n\r\n");
    *end = '\0';
    cr_expect(!strstr(none, "Content-Length"));
    cr_expect_eq(strncmp(end + 4, "HTTP/1.1 200", 12), 0);
    close(fd);
    stop();
}

Test(httpd, pipelined_answers_leave_in_order_of_requests)
{
    start((struct httpd_opts) { 0 });
    int fd = dial();
    say(fd, GET("/later") GET("/later") GET("/now") GET("/later") GET("/end"));
    UNTIL(w.n_held == 3 && w.n_requests == 5);
    settle();
    cr_expect(!more(fd, &g), "something left before its turn");
    httpd_answer(w.held[2], 200, "t/p", "", "third", 5);
    httpd_answer(w.held[1], 200, "t/p", "", "second", 6);
    settle();
    cr_expect(!more(fd, &g));
    uint64_t writes = httpd_counts(w.h)->writes;
    httpd_answer(w.held[0], 200, "t/p", "", "first", 5);
    UNTIL(has(fd, &g, "[/end|]"));
    cr_expect_eq(httpd_counts(w.h)->writes, writes + 1, "one write a turn");
    char *a = strstr(g.t, "first"), *b = strstr(g.t, "second"), *c = strstr(g.t, "[/now"),
         *d = strstr(g.t, "third"), *e = strstr(g.t, "[/end");
    cr_expect(a && b && c && d && e && a < b && b < c && c < d && d < e);
    close(fd);
    stop();
}

Test(httpd, every_byte_alone)
{
    static const char t[] = "POST /x HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
                            "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n" GET("/y");
    start((struct httpd_opts) { 0 });
    int fd = dial();
    for (size_t i = 0; i < sizeof(t) - 1; i++) {
        cr_assert_eq(send(fd, t + i, 1, 0), 1);
        ev_turn(w.ev, false);
        ev_turn(w.ev, false);
    }
    UNTIL(has(fd, &g, "[/y|]"));
    cr_expect(strstr(g.t, "[/x|abcde]"));
    close(fd);
    stop();
}

Test(httpd, a_bad_request_is_answered_and_closed)
{
    start((struct httpd_opts) { 0 });
    int fd = dial();
    static char junk[50000];
    memset(junk, 'j', sizeof(junk));
    say(fd, GET("/later") "GET / HTTP/1.1\r\nHost : x\r\n\r\n" GET("/never"));
    UNTIL(w.n_held == 1 && w.n_bad == 1);
    httpd_answer(w.held[0], 200, "t/p", "", "good", 4);
    UNTIL(has(fd, &g, "bad"));
    cr_expect(strstr(g.t, "good") < strstr(g.t, "HTTP/1.1 400 Bad Request"));
    cr_expect(strstr(g.t, "Connection: close"));
    cr_expect_eq(send(fd, junk, sizeof(junk), MSG_NOSIGNAL), (ssize_t)sizeof(junk));
    UNTIL(ended(fd, &g));
    cr_expect(!strstr(g.t, "never"));
    cr_expect_eq(w.n_requests, 1);
    close(fd);
    UNTIL(httpd_counts(w.h)->conns_now == 0);
    cr_expect_eq(httpd_counts(w.h)->bad_requests, 1);
    stop();
}

Test(httpd, connection_close_is_obeyed)
{
    start((struct httpd_opts) { 0 });
    int a = dial(), b = dial(), c = dial();
    static struct got gb, gc;
    say(a, "GET /x HTTP/1.1\r\n" H "Connection: close\r\n\r\n");
    UNTIL(ended(a, &g));
    cr_expect(strstr(g.t, "[/x|]") && strstr(g.t, "Connection: close\r\n"));
    say(b, "GET /x HTTP/1.0\r\n\r\n");
    UNTIL(ended(b, &gb));
    cr_expect(strstr(gb.t, "[/x|]"));
    say(c, "GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    UNTIL(has(c, &gc, "[/x|]"));
    cr_expect(strstr(gc.t, "Connection: keep-alive\r\n"));
    settle();
    cr_expect_eq(httpd_counts(w.h)->conns_now, 1);
    close(a);
    close(b);
    close(c);
    stop();
}

Test(httpd, continue_is_said_when_waited_for)
{
    start((struct httpd_opts) { 0 });
    int fd = dial();
    say(fd, "POST /x HTTP/1.1\r\n" H "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    UNTIL(has(fd, &g, "HTTP/1.1 100 Continue\r\n\r\n"));
    say(fd, "o");
    settle();
    say(fd, "k");
    UNTIL(has(fd, &g, "[/x|ok]"));
    cr_expect_eq(strstr(g.t + 10, "100 Continue"), NULL);
    close(fd);
    stop();
}

Test(httpd, half_closed_clients_get_their_answers)
{
    start((struct httpd_opts) { 0 });
    int fd = dial();
    say(fd, GET("/later"));
    shutdown(fd, SHUT_WR);
    UNTIL(w.n_held == 1);
    settle();
    httpd_answer(w.held[0], 200, "t/p", "", "late", 4);
    UNTIL(ended(fd, &g));
    cr_expect(strstr(g.t, "late"));
    close(fd);
    UNTIL(httpd_counts(w.h)->conns_now == 0);
    stop();
}

Test(httpd, owner_is_told_when_the_client_is_gone)
{
    start((struct httpd_opts) { 0 });
    int fd = dial();
    struct linger hard = { 1, 0 };
    say(fd, GET("/later") GET("/later"));
    UNTIL(w.n_held == 2);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    close(fd); /* RST */
    UNTIL(w.n_gone == 2);
    cr_expect_eq(httpd_counts(w.h)->aborted, 2);
    UNTIL(httpd_counts(w.h)->conns_now == 0);
    stop();
}

Test(httpd, deadlines)
{
    start((struct httpd_opts) { .head_ms = 150, .body_ms = 150, .idle_ms = 150 });
    int idle = dial(), head = dial(), body = dial(), quiet = dial();
    static struct got gi, gh, gb, gq;
    int64_t t0 = now_ms(), fed = 0;
    say(idle, GET("/x"));
    say(body, "POST /x HTTP/1.1\r\n" H "Content-Length: 9\r\n\r\nabc");
    while (!(gi.eof && gh.eof && gb.eof && gq.eof) && now_ms() < t0 + 3000) {
        if (!gh.eof && now_ms() - t0 >= fed * 20 && fed < 100) { /* slowloris */
            const char *drip =
                "GET / HTTP/1.1\r\nX: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
            (void)!send(head, drip + fed++, 1, MSG_NOSIGNAL);
        }
        ev_turn(w.ev, false);
        more(idle, &gi), more(head, &gh), more(body, &gb), more(quiet, &gq);
    }
    cr_expect(gi.eof && strstr(gi.t, "[/x|]"));
    cr_expect(gh.eof && strstr(gh.t, "HTTP/1.1 408 "), "%s", gh.t);
    cr_expect(gb.eof && strstr(gb.t, "HTTP/1.1 408 "));
    cr_expect(gq.eof && gq.n == 0);
    const struct httpd_counts *n = httpd_counts(w.h);
    cr_expect_eq(n->closed_idle, 1);
    cr_expect_eq(n->closed_head_deadline, 2);
    cr_expect_eq(n->closed_body_deadline, 1);
    close(idle), close(head), close(body), close(quiet);
    stop();
}

Test(httpd, a_slow_reader_falls_alone)
{
    start((struct httpd_opts) { .body_ms = 300, .max_output_bytes = 4u << 20 });
    int slow = dial_rcv(4096), good = dial();
    for (int i = 0; i < 60; i++)
        say(slow, GET("/big"));
    say(good, GET("/x"));
    UNTIL(has(good, &g, "[/x|]"));
    settle();
    cr_expect_lt(w.n_requests, 61,
                 "requests of one who does not read were not held back");
    UNTIL(httpd_counts(w.h)->closed_slow_reader == 1);
    cr_expect_eq(httpd_counts(w.h)->conns_now, 1);
    close(slow), close(good);
    stop();
}

Test(httpd, a_slow_reader_who_reads_gets_everything)
{
    start((struct httpd_opts) { .max_output_bytes = 64u << 20 });
    int fd = dial_rcv(4096);
    size_t total = 0, want = 5 * sizeof(w.big);
    for (int i = 0; i < 5; i++)
        say(fd, GET("/big"));
    for (int64_t end = now_ms() + 5000; total < want && now_ms() < end;) {
        static char b[65536];
        ssize_t n;
        ev_turn(w.ev, false);
        n = recv(fd, b, sizeof(b), 0);
        for (ssize_t i = 0; i < n; i++)
            total += b[i] == 'b';
    }
    cr_expect_eq(total, want);
    close(fd);
    stop();
}

Test(httpd, output_above_its_limit_ends_the_connection)
{
    start((struct httpd_opts) { .max_output_bytes = 100000 });
    int fd = dial_rcv(4096);
    for (int i = 0; i < 64; i++)
        say(fd, GET("/big"));
    UNTIL(httpd_counts(w.h)->closed_slow_reader == 1);
    close(fd);
    stop();
}

Test(httpd, pipelining_is_bounded_and_goes_on)
{
    start((struct httpd_opts) { .max_pipelined = 4 });
    int fd = dial();
    for (int i = 0; i < 50; i++)
        say(fd, GET("/later"));
    UNTIL(w.n_held == 4);
    settle();
    cr_expect_eq(w.n_held, 4);
    for (unsigned i = 0; i < 50; i++) {
        UNTIL(w.n_held > i);
        httpd_answer(w.held[i], 200, "t/p", "", "x", 1);
        cr_expect_leq(w.n_held, i + 4);
    }
    UNTIL((more(fd, &g), httpd_counts(w.h)->answers == 50));
    close(fd);
    stop();
}

Test(httpd, a_thousand_pipelined_requests)
{
    start((struct httpd_opts) { 0 });
    int fd = dial();
    size_t seen = 0;
    for (int i = 0; i < 1000; i++)
        say(fd, GET("/x"));
    UNTIL((more(fd, &g), httpd_counts(w.h)->answers == 1000));
    settle();
    more(fd, &g);
    for (char *p = g.t; (p = strstr(p, "[/x|]")) != NULL; p++)
        seen++;
    cr_expect_eq(seen, 1000);
    cr_expect_lt(httpd_counts(w.h)->writes, 60);
    close(fd);
    stop();
}

Test(httpd, max_conns_pauses_accepting)
{
    start((struct httpd_opts) { .max_conns = 2 });
    int a = dial(), b = dial(), c = dial();
    say(c, GET("/x"));
    UNTIL(httpd_counts(w.h)->conns_now == 2);
    settle();
    cr_expect_eq(httpd_counts(w.h)->conns_now, 2);
    cr_expect_eq(httpd_counts(w.h)->accept_paused, 1, "no busy loop");
    close(a);
    UNTIL(has(c, &g, "[/x|]"));
    close(b), close(c);
    stop();
}

Test(httpd, descriptor_limit_pauses_accepting)
{
    struct rlimit rl;
    start((struct httpd_opts) { 0 });
    int a = dial(), b = dial();
    getrlimit(RLIMIT_NOFILE, &rl);
    rlim_t cur = rl.rlim_cur;
    rl.rlim_cur = (rlim_t)b + 1; /* nothing above */
    setrlimit(RLIMIT_NOFILE, &rl);
    UNTIL(httpd_counts(w.h)->accept_paused >= 1);
    for (int i = 0; i < 1000; i++)
        ev_turn(w.ev, false);
    cr_expect_leq(httpd_counts(w.h)->accept_paused, 20, "no busy loop");
    rl.rlim_cur = cur;
    setrlimit(RLIMIT_NOFILE, &rl);
    say(a, GET("/x"));
    UNTIL(has(a, &g, "[/x|]"));
    close(a), close(b);
    stop();
}

static void on_drained(void *arg)
{
    (void)arg;
    w.drained = true;
}

Test(httpd, drain_answers_what_is_in_flight)
{
    start((struct httpd_opts) { 0 });
    int busy = dial(), idle = dial(), half = dial();
    static struct got gi, gh;
    say(idle, GET("/x"));
    say(busy, GET("/later"));
    say(half, "GET /half HTTP/1.1\r\n");
    UNTIL(has(idle, &gi, "[/x|]") && w.n_held == 1 && httpd_counts(w.h)->bytes_in >= 80);
    httpd_drain(w.h, on_drained, NULL);
    UNTIL(ended(idle, &gi));
    say(half, H "\r\n");
    UNTIL(ended(half, &gh));
    cr_expect(strstr(gh.t, "[/half|]") && strstr(gh.t, "Connection: close"));
    cr_expect(!w.drained);
    httpd_answer(w.held[0], 200, "t/p", "", "last", 4);
    UNTIL(ended(busy, &g));
    cr_expect(strstr(g.t, "last") && strstr(g.t, "Connection: close"));
    UNTIL(w.drained);
    close(busy), close(idle), close(half);
    stop();
}

/* Each connection has the tag that on_conn gave it, and each end is told. */
Test(httpd, connections_are_let_in_or_not_and_keep_their_tag)
{
    int a, b, c;

    start((struct httpd_opts) { 0 });
    w.max_conns = 2;
    a = dial();
    say(a, GET("/x"));
    UNTIL(w.n_requests == 1);
    cr_expect_eq(w.tag_seen, 1);
    b = dial();
    say(b, GET("/x"));
    UNTIL(w.n_requests == 2);
    cr_expect_eq(w.tag_seen, 2);
    c = dial();
    say(c, GET("/x"));
    UNTIL(httpd_counts(w.h)->refused == 1);
    cr_expect_eq(httpd_counts(w.h)->conns_now, 2);
    close(b);
    UNTIL(w.conns == 1);
    cr_expect_eq(w.tags_open, 1);
    close(c);
    c = dial();
    say(c, GET("/x"));
    UNTIL(w.n_requests == 3);
    cr_expect_eq(w.tag_seen, 3);
    close(a);
    close(c);
    UNTIL(w.conns == 0);
    cr_expect_eq(w.tags_open, 0);
    stop();
}

/* What the process holds for a connection that has had its answer and says nothing.
 * (The pools of buffers are shared and bounded: they are not per connection.) */
Test(httpd, idle_connections_are_small)
{
    enum { N = 400 };
    static int fd[N];
    struct mallinfo2 after;

    start((struct httpd_opts) { 0 });
    for (int i = 0; i < N; i++)
        fd[i] = dial();
    UNTIL(httpd_counts(w.h)->conns_now == N);
    for (int i = 0; i < N; i++)
        say(fd[i], GET("/x"));
    UNTIL(httpd_counts(w.h)->answers == N);
    settle();
    after = mallinfo2();
    for (int i = 0; i < N; i++)
        close(fd[i]);
    UNTIL(httpd_counts(w.h)->conns_now == 0);
    struct mallinfo2 empty = mallinfo2();
    cr_expect_leq((after.uordblks - empty.uordblks) / N, 262,
                  "%zu bytes per idle connection", (after.uordblks - empty.uordblks) / N);
    stop();
}

/* test_load.c: the load generator: answers cut at every byte, plans, requests, and
 * connections to a server that this test plays itself. */
#include "tests/bench/load/conns.h"

#include "tests/lib/criterion.h"
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/load/asks.h"
#include "tests/bench/load/plan.h"
#include "tests/bench/load/reply.h"
#include "tests/bench/swarm/now.h"

/* ---- answers ---- */

struct sample {
    const char *text;
    unsigned status;
    bool close;
};

static const struct sample good[] = {
    { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, false },
    { "HTTP/1.1 200 OK\r\ncontent-length:0\r\n\r\n", 200, false },
    { "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nCONTENT-LENGTH:  12 \r\n"
      "Connection: Close\r\n\r\n{\"code\":\"x\"}", 503, true },
    { "HTTP/1.1 204 No Content\r\nX-Segq-Queue: login\r\n\r\n", 204, false },
    { "HTTP/1.0 404 \r\nContent-Type: a/very/long/value/that/does/not/fit/where/the/start/of/"
      "a/line/is/kept\r\nContent-Length: 1\r\nconnection: keep-alive\r\n\r\nx", 404, false },
    { "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n\r\n", 201,
      false },
    { "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n1A;x=y\r\n"
      "abcdefghijklmnopqrstuvwxyz\r\n0\r\nTrailer: t\r\n\r\n", 200, false },
    { "HTTP/1.1 200 OK\nContent-Length: 3\n\nabc", 200, false },
    { "HTTP/1.1 200\r\nTE: x\r\nC: y\r\nContent-Length: 3\r\n\r\nabc", 200, false },
};

/* Feeds it in parts, each ending at one of the cuts; the bytes behind it are not taken. */
static void feed_cut(const struct sample *s, size_t a, size_t b)
{
    size_t n = strlen(s->text), cut[] = { a, b, n }, at = 0;
    struct reply r;

    memset(&r, 0xa5, sizeof(r)); /* what an answer before may have left */
    reply_start(&r);
    for (unsigned i = 0; i < 3; i++) {
        cr_assert_not(reply_is_done(&r) && cut[i] > at, "too early: %s", s->text);
        cr_assert_eq(reply_feed(&r, s->text + at, cut[i] - at), (int64_t)(cut[i] - at),
                     "cut at %zu and %zu: %s", a, b, s->text);
        at = cut[i];
    }
    cr_assert(reply_is_done(&r), "cut at %zu and %zu: %s", a, b, s->text);
    cr_assert_eq(r.status, s->status);
    cr_assert_eq(r.close, s->close);
}

Test(load, answers_cut_anywhere_are_the_same)
{
    for (unsigned i = 0; i < ARRAY_LEN(good); i++)
        for (size_t a = 0; a <= strlen(good[i].text); a++)
            for (size_t b = a; b <= strlen(good[i].text); b++)
                feed_cut(&good[i], a, b);
}

Test(load, answers_byte_by_byte)
{
    for (unsigned i = 0; i < ARRAY_LEN(good); i++) {
        size_t n = strlen(good[i].text);
        struct reply r;

        reply_start(&r);
        for (size_t at = 0; at < n; at++) {
            cr_assert_not(reply_is_done(&r));
            cr_assert_eq(reply_feed(&r, good[i].text + at, 1), 1);
        }
        cr_assert(reply_is_done(&r));
        cr_assert_eq(r.status, good[i].status);
    }
}

Test(load, bytes_behind_an_answer_are_not_taken)
{
    for (unsigned i = 0; i < ARRAY_LEN(good); i++) {
        size_t n = strlen(good[i].text);
        char two[1024];
        struct reply r;

        snprintf(two, sizeof(two), "%s%s", good[i].text, good[i].text);
        reply_start(&r);
        cr_expect_eq(reply_feed(&r, two, strlen(two)), (int64_t)n, "%s", good[i].text);
        cr_expect(reply_is_done(&r));
    }
}

static const char *const bad[] = {
    "HTTP/2 200 OK\r\n\r\n",
    "HTTP/1.1 2x0 OK\r\n\r\n",
    "HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 1 1\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\n",
    "HTTP/1.1 200 OK\r\nServer: x\r\n\r\n", /* ends with its connection */
    "hello\r\n",
};

Test(load, bad_answers_are_refused_at_every_split)
{
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
        for (size_t cut = 0, n = strlen(bad[i]); cut < n; cut++) {
            struct reply r;
            int64_t rc;

            reply_start(&r);
            rc = reply_feed(&r, bad[i], cut);
            if (rc >= 0)
                rc = reply_feed(&r, bad[i] + cut, n - cut);
            cr_assert_eq(rc, SQ_EPROTO, "cut at %zu: %s", cut, bad[i]);
        }
}

Test(load, a_head_without_end_is_refused)
{
    char part[1000];
    struct reply r;
    unsigned fed = 0;

    memset(part, 'x', sizeof(part));
    reply_start(&r);
    cr_assert_eq(reply_feed(&r, "HTTP/1.1 200 OK\r\n", 17), 17);
    while (fed < 100 && reply_feed(&r, part, sizeof(part)) > 0)
        fed++;
    cr_expect_geq(fed, REPLY_HEAD_MAX / sizeof(part) - 1);
    cr_expect_leq(fed, REPLY_HEAD_MAX / sizeof(part));
}

/* ---- plans ---- */

Test(load, a_plan_keeps_its_rate_whatever_happens)
{
    struct plan p;
    int64_t due, last = -1;
    uint64_t n = 0;

    plan_init(&p, 30000, 1000, 1000 + 10000000); /* a gap of 33.3 us, 10 s */
    cr_expect_eq(plan_due_us(&p), 1000);
    cr_expect_not(plan_take(&p, 999, &due));
    for (int64_t now = 1000; plan_due_us(&p) != INT64_MAX; now += 7919)
        for (; plan_take(&p, now, &due); n++) {
            cr_assert_leq(due, now);
            cr_assert(last < 0 || (due - last >= 33 && due - last <= 34));
            last = due;
        }
    cr_expect_eq(n, 300000);
    cr_expect_not(plan_take(&p, INT64_MAX, &due));
}

Test(load, a_stopped_plan_keeps_due_requests)
{
    struct plan p;
    int64_t due;
    unsigned n = 0;

    plan_init(&p, 1000, 0, INT64_MAX);
    plan_stop(&p, 5000);
    plan_stop(&p, 9000); /* it cannot begin again */
    while (plan_take(&p, 1000000, &due))
        n++;
    cr_expect_eq(n, 5);
}

/* ---- counts ---- */

Test(load, the_report_counts_each_error)
{
    static struct tally t;
    char text[400];
    FILE *f = fmemopen(text, sizeof(text), "w");

    tally_add(&t, ENDED_ANSWERED, 200, 10);
    tally_add(&t, ENDED_ANSWERED, 204, 20);
    tally_add(&t, ENDED_ANSWERED, 503, 30);
    tally_add(&t, ENDED_ANSWERED, 410, 30);
    tally_add(&t, ENDED_TIMEOUT, 0, 5000000);
    tally_add(&t, ENDED_CLOSED, 0, 0);
    tally_write_errors(&t, f);
    fputc(' ', f);
    tally_write_lat(&t, f);
    fputc(' ', f);
    tally_write_hist(&t, f);
    fclose(f);
    cr_expect_eq(t.ok, 2);
    cr_expect_eq(tally_errors(&t), 4);
    cr_expect_str_eq(text, "\"errors\":{\"410\":1,\"503\":1,\"closed\":1,\"timeout\":1} "
                           "\"lat_us\":{\"p50\":20,\"p90\":30,\"p99\":30,\"p999\":30,"
                           "\"max\":30,\"mean\":22.5} \"hist_us\":[[10,1],[20,1],[30,2]]");
}

/* ---- requests ---- */

Test(load, requests_match_the_options)
{
    static struct asks a;
    struct opts o = { .join = "login", .seed = 1 };
    struct err e;
    size_t n;

    cr_assert_eq(asks_init(&a, &o, &e), 0);
    cr_expect_str_eq(asks_next(&a, &n), "POST /v1/queues/login/tickets HTTP/1.1\r\n"
                                        "Host: bench\r\nContent-Length: 0\r\n\r\n");
    cr_expect_eq(n, strlen(a.out));
    asks_fini(&a);
    o = (struct opts){ .path = "/x", .close = true };
    cr_assert_eq(asks_init(&a, &o, &e), 0);
    cr_expect_str_eq(asks_next(&a, &n),
                     "GET /x HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n");
    asks_fini(&a);
    o = (struct opts){ .path = "/x", .header = "A: b c" };
    cr_assert_eq(asks_init(&a, &o, &e), 0);
    cr_expect_str_eq(asks_next(&a, &n), "GET /x HTTP/1.1\r\nHost: bench\r\nA: b c\r\n\r\n");
    asks_fini(&a);
    o = (struct opts){ .path = "/v1/tickets/EAAAAAAAAAAAAAAAAAAAAAAA", .browser = true };
    cr_assert_eq(asks_init(&a, &o, &e), 0);
    asks_next(&a, &n);
    cr_expect(n > 650 && n < 710, "%zu", n);
    cr_expect_eq(memcmp(a.out + n - 4, "\r\n\r\n", 4), 0);
    o.close = true;
    cr_assert_eq(asks_init(&a, &o, &e), 0);
    cr_expect_null(strstr(asks_next(&a, &n), "keep-alive"));
    asks_fini(&a);
}

Test(load, tokens_of_all_lengths_take_turns_by_chance)
{
    static struct asks a;
    char path[] = "/tmp/segq-test-load.XXXXXX", want[200];
    static const char *const token[] = { "a", "token-two", "_3", "four" };
    unsigned seen[4] = { 0 };
    struct opts o = { .tokens = path, .seed = 5 };
    struct err e;
    FILE *f = fdopen(mkstemp(path), "w");

    fputs("a\ntoken-two\n\n_3\nfour", f);
    fclose(f);
    cr_assert_eq(asks_init(&a, &o, &e), 0);
    unlink(path);
    cr_assert_eq(a.n_tokens, 4);
    for (unsigned i = 0; i < 4000; i++) {
        size_t n, k;
        const char *text = asks_next(&a, &n);

        for (k = 0; k < 4; k++) {
            int len = snprintf(want, sizeof(want),
                               "GET /v1/tickets/%s HTTP/1.1\r\nHost: bench\r\n\r\n", token[k]);

            if ((size_t)len == n && memcmp(text, want, n) == 0)
                break;
        }
        cr_assert_lt(k, 4, "%.*s", (int)n, text);
        seen[k]++;
    }
    for (unsigned k = 0; k < 4; k++)
        cr_expect(seen[k] > 800 && seen[k] < 1200);
    asks_fini(&a);
}

Test(load, files_without_tokens_are_refused)
{
    static struct asks a;
    struct opts o = { .tokens = "/nonexistent/tokens" };
    struct err e;

    cr_expect_eq(asks_init(&a, &o, &e), SQ_ESYS);
    o.tokens = "/dev/null";
    cr_expect_eq(asks_init(&a, &o, &e), SQ_EINVAL);
}

/* ---- connections ---- */

#define ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

struct rig { /* the server's side; one connection */
    int listener, fd;
    struct conns *c;
    struct conns_end end[CONNS_BATCH];
};

static void rig_open(struct rig *r, bool close_each)
{
    struct conns_opts o = { .n = 1, .close = close_each, .timeout_us = 60000000 };
    struct err e;

    r->listener = net_listen("127.0.0.1:0", false, 16, &e);
    cr_assert_geq(r->listener, 0);
    o.addr.len = sizeof(o.addr.in6);
    cr_assert_eq(getsockname(r->listener, &o.addr.sa, &o.addr.len), 0);
    cr_assert_eq(conns_new(&r->c, &o, &e), 0, "%s", e.text);
    r->fd = -1;
}

static void until_readable(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    cr_assert_eq(poll(&p, 1, 60000), 1);
}

static void rig_accept(struct rig *r)
{
    struct net_addr peer;

    until_readable(r->listener);
    if (r->fd >= 0)
        close(r->fd);
    r->fd = net_accept(r->listener, &peer);
    cr_assert_geq(r->fd, 0);
}

static void rig_close(struct rig *r)
{
    conns_free(r->c);
    close(r->fd);
    close(r->listener);
}

static void rig_ask(struct rig *r)
{
    cr_assert_eq(conns_ask(r->c, 0, "GET", 3, 7, now_us()), 0);
}

/* Waits for the next request's end. */
static const struct conns_end *rig_end(struct rig *r)
{
    for (int64_t until = now_us() + 610000000; now_us() < until;)
        if (conns_wait(r->c, 100000, r->end) > 0)
            return &r->end[0];
    cr_assert_fail("nothing ended");
    return NULL;
}

/* What the server reads next, until the other side closes: 0. */
static ssize_t rig_read(struct rig *r)
{
    char in[256];

    until_readable(r->fd);
    return recv(r->fd, in, sizeof(in), 0);
}

static void rig_say(struct rig *r, const char *text)
{
    cr_assert_eq(send(r->fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

Test(load, a_connection_is_used_again)
{
    struct rig r;

    rig_open(&r, false);
    rig_accept(&r);
    for (unsigned i = 0; i < 3; i++) {
        rig_ask(&r);
        cr_assert_eq(rig_read(&r), 3);
        rig_say(&r, "HTTP/1.1 200 OK\r\nContent-");
        cr_expect_eq(conns_wait(r.c, 0, r.end), 0);
        rig_say(&r, "Length: 2\r\n\r\nok");
        cr_expect_eq(rig_end(&r)->how, ENDED_ANSWERED);
        cr_expect_eq(r.end[0].status, 200);
        cr_expect_eq(r.end[0].from_us, 7);
    }
    rig_close(&r);
}

Test(load, a_break_is_an_error_only_while_an_answer_is_due)
{
    struct rig r;

    rig_open(&r, false);
    rig_accept(&r);
    rig_ask(&r);
    rig_say(&r, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no");
    close(r.fd);
    r.fd = -1;
    cr_expect_eq(rig_end(&r)->how, ENDED_CLOSED);
    rig_ask(&r); /* opens another one */
    rig_accept(&r);
    rig_say(&r, ANSWER);
    cr_expect_eq(rig_end(&r)->how, ENDED_ANSWERED);
    close(r.fd);
    r.fd = -1;
    cr_expect_eq(conns_wait(r.c, 100000, r.end), 0); /* the end of an idle one */
    rig_ask(&r);
    rig_accept(&r);
    rig_say(&r, ANSWER);
    cr_expect_eq(rig_end(&r)->how, ENDED_ANSWERED);
    rig_close(&r);
}

Test(load, more_than_was_asked_for_is_an_error)
{
    struct rig r;

    rig_open(&r, false);
    rig_accept(&r);
    rig_ask(&r);
    rig_say(&r, ANSWER "x");
    cr_expect_eq(rig_end(&r)->how, ENDED_PROTOCOL);
    rig_close(&r);
}

Test(load, a_silent_server_times_out)
{
    struct rig r;
    int64_t from = -1;

    rig_open(&r, false);
    rig_accept(&r);
    rig_ask(&r);
    cr_expect_eq(conns_next_asked(r.c, 0, &from), 0);
    cr_expect_eq(from, 7);
    cr_expect_eq(conns_overdue(r.c, now_us(), r.end), 0);
    cr_expect_eq(conns_overdue(r.c, now_us() + 61000000, r.end), 1);
    cr_expect_eq(r.end[0].how, ENDED_TIMEOUT);
    cr_expect_eq(conns_next_asked(r.c, 0, &from), -1);
    rig_close(&r);
}

Test(load, a_connection_for_each_request)
{
    struct rig r;

    rig_open(&r, true);
    rig_accept(&r); /* the one that showed that somebody is there */
    for (unsigned i = 0; i < 3; i++) {
        rig_ask(&r);
        rig_accept(&r);
        rig_say(&r, ANSWER);
        cr_expect_eq(rig_end(&r)->how, ENDED_ANSWERED);
        cr_expect_eq(rig_read(&r), 3);
        cr_expect_eq(rig_read(&r), 0); /* it hung up */
    }
    rig_close(&r);
}

Test(load, connection_refused_is_counted)
{
    struct rig r;
    int64_t from;

    rig_open(&r, true);
    close(r.listener);
    if (conns_ask(r.c, 0, "GET", 3, 7, now_us()) == 0) /* else it is known at once */
        cr_expect_eq(rig_end(&r)->how, ENDED_CONNECT);
    cr_expect_eq(conns_next_asked(r.c, 0, &from), -1);
    r.listener = -1;
    rig_close(&r);
}

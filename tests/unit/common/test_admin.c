/* test_admin.c: a small client in the same loop asks; limits, tokens, late 401. */
#include "tests/lib/criterion.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/http/admin.h"
#include "common/http/request_headers.h"
#include "common/net/net.h"
#include "common/supervisor/program.h"

static struct ev *ev;
static struct admin *adm;
static bool sick, uneasy;
static char answer[1 << 16];
static char seen[2048];
static char seen_more[200]; /* what the handler was asked */
static size_t seen_body;
static bool seen_https;
static char seen_forwarded[200];
#define BIG 40000000
static struct admin_held *held; /* of the last /later */

static void on_metrics(void *ctx, struct buf *b)
{
    (void)ctx;
    buf_str(b, "segq_test 1\n");
}

static bool healthy(void *ctx, struct buf *why)
{
    (void)ctx;
    if (sick || uneasy)
        buf_str(why, "no \"manager\"");
    return !sick;
}

static void handler(void *ctx, const struct admin_req *q, struct admin_ans *a)
{
    const struct admin_forwarded *f = &q->forwarded;

    (void)ctx;
    snprintf(seen, sizeof(seen), "%s %s ?%s im=%s", q->method, q->path, q->query,
             q->if_match);
    snprintf(seen_more, sizeof(seen_more), "%s|%s|%d", q->if_none_match, q->operator_name,
             q->gzip);
    seen_body = q->body_len;
    seen_https = q->https;
    snprintf(seen_forwarded, sizeof(seen_forwarded), "%s|%s|%s|%d|%zu|%.*s", f->user, f->email, f->groups,
             f->twice, f->via->n, f->via->n > 0 ? (int)f->via->line[f->via->n - 1].n : 0,
             f->via->n > 0 ? f->via->line[f->via->n - 1].p : "");
    if (strcmp(q->path, "/nothing") == 0)
        return;
    if (q->token_len != 6 || memcmp(q->token, "s3cret", 6) != 0) {
        admin_problem(a, 401, "unauthorized", "a token, please");
        return;
    }
    a->status = 200;
    a->content_type = "text/plain";
    snprintf(a->etag_buf, sizeof(a->etag_buf), "\"7\"");
    a->etag = a->etag_buf;
    buf_str(&a->body, "hello");
    if (strcmp(q->path, "/big") == 0) {
        memset(buf_reserve(&a->body, BIG), 'b', BIG);
        a->body.len = BIG;
    }
    if (strcmp(q->path, "/later") == 0)
        held = admin_hold(a);
}

static void setup(void)
{
    struct admin_opts o = { .addr = "127.0.0.1:0",
                            .metrics = on_metrics,
                            .handler = handler,
                            .healthy = healthy,
                            .refused = prog_refused };

    cr_assert_eq(ev_new(&ev, NULL), 0);
    cr_assert_eq(admin_new(&adm, ev, &o, NULL), 0);
}

static void teardown(void)
{
    admin_free(adm);
    ev_free(ev);
}

TestSuite(admin, .init = setup, .fini = teardown, .timeout = 200);

static int open_conn(void)
{
    struct net_addr a;
    struct pollfd p = { .events = POLLOUT };

    cr_assert_eq(net_parse(&a, admin_addr(adm), NULL), 0);
    p.fd = net_connect(&a, NULL);
    cr_assert_eq(poll(&p, 1, 5000), 1);
    return p.fd;
}

/* Reads until the other end closes; true then. */
static bool drained(int fd)
{
    size_t have = strlen(answer);
    ssize_t n = read(fd, answer + have, sizeof(answer) - 1 - have);

    if (n > 0)
        answer[have + (size_t)n] = '\0';
    return n == 0 || (n < 0 && errno != EAGAIN);
}

static void turn_until_closed(int fd)
{
    msec_t end = ev_now(ev) + 20000;

    answer[0] = '\0';
    while (!drained(fd)) {
        ev_turn(ev, false);
        cr_assert_lt(ev_now(ev), end, "no answer");
        usleep(200);
    }
    close(fd);
}

static const char *ask(const char *request)
{
    int fd = open_conn();

    cr_assert_eq(write(fd, request, strlen(request)), (ssize_t)strlen(request));
    turn_until_closed(fd);
    return answer;
}

#define TAIL          " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
#define AUTH          "Authorization: Bearer s3cret\r\n"
#define HAS(part)     cr_expect_neq(strstr(answer, part), NULL, "no %s: %s", part, answer)
#define HAS_NOT(part) cr_expect_eq(strstr(answer, part), NULL, "%s in:\n%s", part, answer)

static void turn_until_held(void)
{
    msec_t end = ev_now(ev) + 20000;

    while (held == NULL) {
        ev_turn(ev, false);
        cr_assert_lt(ev_now(ev), end, "not asked");
        usleep(200);
    }
}

static int ask_later(void)
{
    static const char request[] = "GET /later" TAIL AUTH "\r\n";
    int fd = open_conn();

    held = NULL;
    cr_assert_eq(write(fd, request, sizeof(request) - 1), (ssize_t)sizeof(request) - 1);
    turn_until_held();
    return fd;
}

Test(admin, an_answer_may_be_kept_back)
{
    int fd = ask_later();

    for (int i = 0; i < 20; i++)
        ev_turn(ev, false);
    answer[0] = '\0';
    cr_expect_not(drained(fd));
    cr_expect_str_eq(answer, "", "nothing yet");
    buf_str(&admin_held_ans(held)->body, ", at last");
    admin_send(held);
    turn_until_closed(fd);
    HAS(" 200 OK");
    HAS("hello, at last");
    HAS("ETag: \"7\"");
}

Test(admin, an_answer_kept_back_may_become_another)
{
    int fd = ask_later();

    admin_problem(admin_held_ans(held), 503, "queue_unavailable", "not sure");
    admin_send(held);
    turn_until_closed(fd);
    HAS(" 503 ");
    HAS("not sure");
    HAS_NOT("hello");
}

/* Nobody waits for it any more; and one is still kept back when the server ends. */
Test(admin, an_answer_kept_back_for_nobody)
{
    int fd = ask_later();

    close(fd);
    for (int i = 0; i < 100; i++)
        ev_turn(ev, false);
    admin_send(held);
    close(ask_later());
}

Test(admin, metrics_need_no_token)
{
    ask("GET /metrics" TAIL "\r\n");
    HAS("HTTP/1.1 200 OK\r\n");
    HAS("text/plain; version=0.0.4");
    HAS("\r\n\r\nsegq_test 1\n");
    HAS("X-Content-Type-Options: nosniff");
}

Test(admin, health)
{
    ask("GET /healthz" TAIL "\r\n");
    HAS(" 200 ");
    HAS("{\"status\":\"ok\"}");
    uneasy = true;
    ask("GET /healthz" TAIL "\r\n");
    HAS(" 200 ");
    HAS("{\"status\":\"ok\",\"warning\":\"no \\\"manager\\\"\"}");
    sick = true;
    ask("GET /healthz" TAIL "\r\n");
    HAS(" 503 ");
    HAS("Retry-After: 1");
    HAS("\"detail\":\"no \\\"manager\\\"\"");
}

Test(admin, what_reloads_have_refused_shows)
{
    struct err e = { .text = "a.yaml: tls_key: missing" };

    ask("GET /metrics" TAIL "\r\n");
    HAS("\nsegq_reload_refused 0\n");
    prog_refuse(&e);
    prog_refuse(&(struct err){ .text = "admin_cert: missing" });
    prog_refuse(&e);
    ask("GET /metrics" TAIL "\r\n");
    HAS("\nsegq_reload_refused 1\n");
    ask("GET /healthz" TAIL "\r\n");
    HAS(" 200 ");
    HAS("\"warning\":\"a.yaml: tls_key: missing; admin_cert: missing\"}");
}

Test(admin, head_has_no_body)
{
    ask("HEAD /metrics" TAIL "\r\n");
    HAS(" 200 ");
    HAS_NOT("Content-Length: 0\r\n");
    HAS_NOT("segq_test");
}

Test(admin, method_not_allowed)
{
    ask("POST /metrics" TAIL "Content-Length: 0\r\n\r\n");
    HAS(" 405 ");
    HAS("Allow: GET, HEAD\r\n");
    HAS("application/problem+json");
    HAS("\"code\":\"method_not_allowed\"");
}

Test(admin, handler_sees_the_request)
{
    ask("PUT /v1/a%20b?x=1&y=%32" TAIL AUTH
        "If-Match: \"7\"\r\nContent-Length: 4\r\n\r\nbody");
    HAS(" 200 ");
    HAS("ETag: \"7\"");
    HAS("\r\n\r\nhello");
    cr_expect_str_eq(seen, "PUT /v1/a b ?x=1&y=%32 im=\"7\"");
    cr_expect_eq(seen_body, 4u);
    ask("PATCH /v1/q" TAIL AUTH "Content-Length: 2\r\n\r\n{}");
    HAS(" 200 ");
    cr_expect_eq(strncmp(seen, "PATCH", 5), 0);
}

/* What a cookie has to fit is how the browser came: a proxy may turn one into the other. */
Test(admin, handler_sees_how_the_browser_came)
{
    static const struct {
        const char *fields;
        bool https;
    } v[] = {
        { "", false },
        { "X-Forwarded-Proto: https\r\n", true },
        { "X-Forwarded-Proto: http\r\n", false },
        { "Origin: https://ops.example\r\n", true },
        { "Origin: http://ops.example\r\nX-Forwarded-Proto: https\r\n", false },
        { "Origin: https://ops.example\r\nX-Forwarded-Proto: http\r\n", true },
        { "Origin: null\r\nX-Forwarded-Proto: https\r\n", true },
    };
    char text[300];

    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        snprintf(text, sizeof(text), "GET /v1/x" TAIL AUTH "%s\r\n", v[i].fields);
        ask(text);
        HAS(" 200 ");
        cr_expect_eq(seen_https, v[i].https, "%s", v[i].fields);
    }
}

/* It is the handler who knows whom to believe: each is told as it came. */
Test(admin, handler_sees_what_a_proxy_says)
{
    ask("GET /v1/x" TAIL AUTH "X_Forwarded_User: eve\r\nX-Forwarded-User_: eve\r\nx-forwarded-USER:  a b \r\n"
        "X-Forwarded-Groups: g, h\r\nX-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 2.2.2.2\r\n\r\n");
    HAS(" 200 ");
    cr_expect_str_eq(seen_forwarded, "a b||g, h|0|2|2.2.2.2");
    ask("GET /v1/x" TAIL AUTH "X-Forwarded-Email: a@b\r\nX-Forwarded-Email: c@d\r\n\r\n");
    HAS(" 200 ");
    cr_expect_str_eq(seen_forwarded, "|c@d||1|0|");
    ask("GET /v1/x" TAIL AUTH "\r\n");
    HAS(" 200 ");
    cr_expect_str_eq(seen_forwarded, "|||0|0|");
}

Test(admin, unknown_paths_are_404)
{
    ask("GET /nothing" TAIL AUTH "\r\n");
    HAS(" 404 ");
    HAS("\"code\":\"not_found\"");
    HAS("\"request_id\":\"");
}

Test(admin, wrong_token_is_answered_late)
{
    msec_t start = ev_now(ev);

    ev_turn(ev, false);
    start = ev_now(ev);
    ask("GET /v1/x" TAIL "Authorization: Bearer s3cre\r\n\r\n");
    HAS(" 401 ");
    HAS("WWW-Authenticate: Bearer");
    HAS("\"code\":\"unauthorized\"");
    cr_expect_geq(ev_now(ev) - start, 199);
    ask("GET /v1/x" TAIL "Authorization: Basic s3cret\r\n\r\n");
    HAS(" 401 ");
    ask("GET /v1/x" TAIL "\r\n");
    HAS(" 401 ");
}

Test(admin, wrong_tokens_in_parallel_are_bounded)
{
    int fd[80], busy = 0, late = 0;

    for (int i = 0; i < 80; i++) {
        static const char req[] = "GET /v1/x" TAIL "\r\n";

        fd[i] = open_conn();
        cr_assert_eq(write(fd[i], req, sizeof(req) - 1), (ssize_t)sizeof(req) - 1);
    }
    for (int i = 0; i < 80; i++) {
        turn_until_closed(fd[i]);
        busy += strstr(answer, " 503 ") != NULL;
        late += strstr(answer, " 401 ") != NULL;
    }
    cr_expect_eq(late + busy, 80);
    cr_expect_geq(late, 64);
    cr_expect_gt(busy, 0);
}

Test(admin, client_disconnect_and_server_shutdown)
{
    static const char req[] = "GET /v1/x HTTP/1.1\r\nHost: x\r\n\r\n";
    int a = open_conn(), b = open_conn();
    msec_t end;

    cr_assert_eq(write(a, req, sizeof(req) - 1), (ssize_t)sizeof(req) - 1);
    end = ev_now(ev) + 50;
    while (ev_now(ev) < end)
        ev_turn(ev, false);
    close(a);
    end = ev_now(ev) + 300;
    while (ev_now(ev) < end)
        ev_turn(ev, false);
    cr_assert_eq(write(b, req, sizeof(req) - 1), (ssize_t)sizeof(req) - 1);
    end = ev_now(ev) + 50;
    while (ev_now(ev) < end)
        ev_turn(ev, false);
    close(b); /* teardown frees the server while its answer is still due */
}

/* Every refusal is the same kind of document, and the connection ends. */
Test(admin, limits)
{
    static char big[40000];
    size_t n;

    n = (size_t)snprintf(big, sizeof(big), "GET /metrics HTTP/1.1\r\nX: ");
    memset(big + n, 'a', 30000);
    snprintf(big + n + 30000, sizeof(big) - n - 30000, "\r\n\r\n");
    ask(big);
    HAS("HTTP/1.1 431 ");
    HAS("application/problem+json");
    n = (size_t)snprintf(big, sizeof(big), "GET /metrics?");
    memset(big + n, 'a', 9000);
    snprintf(big + n + 9000, sizeof(big) - n - 9000, " HTTP/1.1\r\nHost: x\r\n\r\n");
    ask(big);
    HAS("HTTP/1.1 414 ");
    ask("PUT /v1/x" TAIL AUTH "Content-Length: 1048577\r\n\r\n");
    HAS("HTTP/1.1 413 ");
    HAS("\"code\":\"payload_too_large\"");
    ask("PUT /v1/x" TAIL AUTH "Transfer-Encoding: chunked\r\n\r\n100001\r\n");
    HAS("HTTP/1.1 413 ");
    ask("GET /a%00b" TAIL AUTH "\r\n");
    HAS(" 400 ");
    ask("GET /a%zz" TAIL AUTH "\r\n");
    HAS(" 400 ");
    ask("OPTIONS *" TAIL AUTH "\r\n");
    HAS(" 400 ");
    ask("GET /v1/x" TAIL AUTH "If-Match: 1\r\nIf-Match: 2\r\n\r\n");
    HAS(" 400 ");
    cr_expect_str_eq(seen, "", "the handler saw none of them");
}

static void put_a_mebibyte(const char *head, const char *end)
{
    static char body[1 << 20];
    size_t sent = 0;
    int fd = open_conn();

    memset(body, 'x', sizeof(body));
    cr_assert_eq(write(fd, head, strlen(head)), (ssize_t)strlen(head));
    while (sent < sizeof(body)) {
        ssize_t k = write(fd, body + sent, sizeof(body) - sent);

        sent += k > 0 ? (size_t)k : 0;
        ev_turn(ev, false);
    }
    cr_assert_eq(write(fd, end, strlen(end)), (ssize_t)strlen(end));
    turn_until_closed(fd);
    HAS(" 200 ");
    cr_expect_eq(seen_body, sizeof(body));
}

Test(admin, a_body_of_a_mebibyte_comes_whole)
{
    put_a_mebibyte("PUT /v1/x" TAIL AUTH "Content-Length: 1048576\r\n\r\n", "");
    put_a_mebibyte("PUT /v1/x" TAIL AUTH "Transfer-Encoding: chunked\r\n\r\n100000\r\n",
                   "\r\n0\r\n\r\n");
}

Test(admin, expect_100_continue_gets_its_body_read)
{
    ask("PUT /v1/x" TAIL AUTH "Expect: 100-continue\r\nContent-Length: 2\r\n\r\nab");
    HAS("HTTP/1.1 200 ");
    ask("PUT /v1/x" TAIL AUTH "Expect: 100-continue\r\nContent-Length: 1048577\r\n\r\n");
    HAS("HTTP/1.1 413 ");
    ask("PUT /v1/x" TAIL AUTH "Expect: money\r\nContent-Length: 2\r\n\r\nab");
    HAS("HTTP/1.1 417 ");
}

static unsigned count(const char *part)
{
    unsigned n = 0;

    for (const char *p = answer; (p = strstr(p, part)) != NULL; p++)
        n++;
    return n;
}

/* Three requests in one write, one of them answered later: three answers, in order. */
Test(admin, requests_of_a_connection_are_answered_in_order)
{
    static const char requests[] = "GET /later HTTP/1.1\r\nHost: x\r\n" AUTH "\r\n"
                                   "HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
                                   "GET /healthz" TAIL "\r\n";
    int fd = open_conn();

    cr_assert_eq(write(fd, requests, sizeof(requests) - 1), (ssize_t)sizeof(requests) - 1);
    turn_until_held();
    for (int i = 0; i < 20; i++)
        ev_turn(ev, false);
    admin_send(held);
    turn_until_closed(fd);
    cr_expect_eq(count("HTTP/1.1 200 "), 3, "%s", answer);
    cr_expect_lt(strstr(answer, "hello"), strstr(answer, "version=0.0.4"));
    cr_expect_lt(strstr(answer, "version=0.0.4"), strstr(answer, "\"status\":\"ok\""));
}

/* What one server could take for the end of a request, and another one not. */
Test(admin, ambiguous_requests_are_refused)
{
#define SMUGGLED "GET /smuggled" TAIL "\r\n"
    static const char *const t[] = {
        "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n"
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" SMUGGLED,
        "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n"
        "Content-Length: 44\r\n\r\n" SMUGGLED,
        "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length : 44\r\n\r\n" SMUGGLED,
        "GET /metrics HTTP/1.1\r\nHost: x\r\nA: b\r\n Content-Length: 44\r\n\r\n" SMUGGLED,
        "GET /metrics HTTP/1.1\nHost: x\n\n" SMUGGLED,
        "POST /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n" SMUGGLED,
        "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: +4\r\n\r\nabcd" SMUGGLED,
        "GET /metrics\r\n" SMUGGLED,
    };

    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        ask(t[i]);
        cr_expect_eq(strncmp(answer, "HTTP/1.1 400 ", 13), 0, "%zu: %s", i, answer);
        cr_expect_eq(count("HTTP/1.1 "), 1, "%zu: %s", i, answer);
        HAS("application/problem+json");
    }
    cr_expect_str_eq(seen, "");
}

/* 40 MB, to one who reads slowly but does read. */
Test(admin, a_big_answer_is_sent_whole)
{
    static const char req[] = "GET /big" TAIL AUTH "\r\n";
    int fd = open_conn();
    static char part[100000];
    size_t got = 0;
    ssize_t n;

    cr_assert_eq(write(fd, req, sizeof(req) - 1), (ssize_t)sizeof(req) - 1);
    for (msec_t end = ev_now(ev) + 60000; ev_now(ev) < end;) {
        ev_turn(ev, false);
        n = read(fd, part, sizeof(part));
        got += n > 0 ? (size_t)n : 0;
        if (n == 0 || (n < 0 && errno != EAGAIN))
            break;
    }
    close(fd);
    cr_expect_gt(got, BIG);
    cr_expect_lt(got, BIG + 1500);
}

/* Answers that nobody reads are bounded: who asks then is told to come later. */
Test(admin, unread_answers_are_bounded)
{
    static const char req[] = "GET /big" TAIL AUTH "\r\n";
    int fd[4];

    for (int i = 0; i < 4; i++) {
        fd[i] = open_conn();
        cr_assert_eq(write(fd[i], req, sizeof(req) - 1), (ssize_t)sizeof(req) - 1);
        for (int k = 0; k < 200; k++)
            ev_turn(ev, false);
    }
    ask("GET /metrics" TAIL "\r\n");
    HAS("HTTP/1.1 503 ");
    HAS("not read");
    for (int i = 0; i < 4; i++)
        close(fd[i]);
    for (int k = 0; k < 200; k++)
        ev_turn(ev, false);
    ask("GET /metrics" TAIL "\r\n");
    HAS("HTTP/1.1 200 ");
}

Test(admin, port_taken)
{
    struct admin_opts o = { .addr = admin_addr(adm) };
    struct admin *other = NULL;
    struct err e;

    cr_expect_eq(admin_new(&other, ev, &o, &e), SQ_ESYS);
    cr_expect_neq(strstr(e.text, "admin"), NULL, "%s", e.text);
}

/* Texts are ended in place: that must not end the search for the next one. */
Test(admin, headers_in_any_order)
{
    ask("PUT /v1/q" TAIL AUTH "Accept-Encoding: gzip\r\nIf-None-Match: *\r\nX-Segq-Operator: anna\r\n"
        "If-Match: \"9\"\r\nContent-Length: 0\r\n\r\n");
    cr_expect_str_eq(seen, "PUT /v1/q ? im=\"9\"");
    cr_expect_str_eq(seen_more, "*|anna|1");
    ask("PUT /v1/q" TAIL AUTH "If-Match: \"9\"\r\nX-Segq-Operator: anna\r\nIf-None-Match: *\r\n"
        "Accept-Encoding: br\r\nContent-Length: 0\r\n\r\n");
    cr_expect_str_eq(seen_more, "*|anna|0");
    ask("PUT /v1/q" TAIL AUTH "Accept-Encoding: gzip\r\nIf-Match: \"9\"\r\nIf-Match: \"8\"\r\n"
        "Content-Length: 0\r\n\r\n");
    HAS(" 400 ");
}

Test(admin, gzip_is_sent_to_those_who_take_it)
{
    static const struct {
        const char *value;
        bool yes;
    } v[] = { { "gzip", true },          { "gzip, deflate, br", true }, { "br;q=1, gzip;q=0.5", true },
              { "gzip; q=0", false },    { "gzip;q=0.000", false },     { "", false },
              { "identity, br", false }, { "gzip;q=0, gzip", true },    { "gzip;q=1.0", true } };

    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        cr_expect_eq(admin_takes_gzip(v[i].value), v[i].yes, "%s", v[i].value);
}

Test(admin, query_strings)
{
    char v[8];

    cr_expect(admin_query("a=1&bb=two+2&c=%41%2f", "bb", v, sizeof(v)));
    cr_expect_str_eq(v, "two 2");
    cr_expect(admin_query("a=1&bb=two&c=%41%2f", "c", v, sizeof(v)));
    cr_expect_str_eq(v, "A/");
    cr_expect(admin_query("a=&b", "a", v, sizeof(v)));
    cr_expect_str_eq(v, "");
    cr_expect_not(admin_query("a=1&bb=2", "b", v, sizeof(v)));
    cr_expect_not(admin_query("bb", "bb", v, sizeof(v)));
    cr_expect_not(admin_query("a=12345678", "a", v, sizeof(v)), "too long");
    cr_expect_not(admin_query("a=%4", "a", v, sizeof(v)));
    cr_expect_not(admin_query("a=%00", "a", v, sizeof(v)));
    cr_expect_not(admin_query("", "a", v, sizeof(v)));
}

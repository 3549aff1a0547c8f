/* test_httpd.c: requests and answers: keep-alive, pipelining with answers in any order, clients
 * that close early. */
#include "tests/lib/httpdrig.h"

Test(httpd, answers_have_the_mandatory_headers)
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

/* The answer to `request`, which asks for /body. */
static const char *answer_to(const char *request, size_t n_body)
{
    int fd = dial();

    w.n_body = n_body;
    g.n = 0;
    say(fd, request);
    UNTIL(has(fd, &g, "\r\n\r\n") && strlen(strstr(g.t, "\r\n\r\n") + 4) == n_body);
    close(fd);
    return g.t;
}

/* In place, and by httpd_answer(), which has a connection's last answer. */
static void same_answer(const char *path, size_t n_body)
{
    char request[100], t[2000], *at;

    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n" H "\r\n", path);
    strcpy(t, answer_to(request, n_body));
    cr_expect_eq(strspn(strchr(t, '+'), "+"), n_body);
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n" H "Connection: close\r\n\r\n", path);
    answer_to(request, n_body);
    at = strstr(g.t, "Connection: close\r\n");
    cr_assert_not_null(at);
    memmove(at, at + 19, strlen(at + 19) + 1);
    while ((at = strchr(strstr(g.t, "\r\n\r\n"), '-')) != NULL)
        *at = '+';
    cr_expect_str_eq(g.t, t, "%s: %zu bytes", path, n_body);
}

Test(httpd, a_body_in_place_is_the_same_answer)
{
    const size_t sizes[] = { 100, 366, HTTPD_BODY_MAX };

    start((struct httpd_opts) { .server = "segq" });
    for (unsigned i = 0; i < ARRAY_LEN(sizes); i++) {
        same_answer("/body", sizes[i]);
        same_answer("/made", sizes[i]);
    }
    cr_expect(strstr(g.t, "HTTP/1.1 201 Created\r\n") && strstr(g.t, "X-A: 1\r\nX-B: 2\r\n"));
    stop();
}

Test(httpd, an_answer_that_is_all_that_is_under_way_leaves_at_once)
{
    start((struct httpd_opts) { 0 });
    int fd = dial();
    for (unsigned i = 0; i < 2; i++) { /* it is idle between, and good for the next */
        say(fd, GET("/later"));
        UNTIL(w.n_held == i + 1);
        settle();
        uint64_t writes = httpd_counts(w.h)->writes;
        httpd_answer(w.held[i], 200, "t/p", "", i == 0 ? "first" : "second", 5 + i);
        cr_expect_eq(httpd_counts(w.h)->writes, writes + 1, "no turn is waited for");
        UNTIL(has(fd, &g, i == 0 ? "first" : "second"));
    }
    close(fd);
    stop();
}

Test(httpd, an_answer_at_once_keeps_what_has_come_of_the_next_request)
{
    start((struct httpd_opts) { 0 });
    int fd = dial();
    say(fd, GET("/later") "GET /ne");
    UNTIL(w.n_held == 1);
    settle();
    httpd_answer(w.held[0], 200, "t/p", "", "first", 5);
    UNTIL(has(fd, &g, "first"));
    say(fd, "xt HTTP/1.1\r\n" H "\r\n");
    UNTIL(has(fd, &g, "[/next|]"));
    say(fd, GET("/later"));
    UNTIL(w.n_held == 2);
    shutdown(fd, SHUT_WR);
    settle();
    httpd_answer(w.held[1], 200, "t/p", "", "last", 4);
    UNTIL(has(fd, &g, "last") && ended(fd, &g));
    close(fd);
    stop();
}

Test(httpd, a_body_in_place_is_of_plain_answers_only)
{
    start((struct httpd_opts) { 0 });
    w.n_body = 100;
    int fd = dial();
    say(fd, GET("/later") GET("/body") GET("/body"));
    UNTIL(w.n_requests == 3);
    httpd_answer(w.held[0], 200, "t/p", "", "first", 5);
    UNTIL(has(fd, &g, "first") && httpd_counts(w.h)->answers == 3);
    cr_expect(strchr(strstr(g.t, "first"), '-') && !strchr(strstr(g.t, "first"), '+'));
    g.n = 0;
    say(fd, GET("/body") GET("/body")); /* the first in line can have it */
    UNTIL(has(fd, &g, "+") && httpd_counts(w.h)->answers == 5);
    say(fd, "GET /body HTTP/1.0\r\n" H "Connection: keep-alive\r\n\r\n");
    UNTIL(has(fd, &g, "Connection: keep-alive") && strchr(strstr(g.t, "keep-alive"), '-'));
    g.n = 0;
    say(fd, "HEAD /body HTTP/1.1\r\n" H "\r\n" GET("/z"));
    UNTIL(has(fd, &g, "[/z|]"));
    cr_expect(strstr(g.t, "Content-Length: 100") && !strchr(g.t, '+'));
    close(fd);
    stop();
}

Test(httpd, what_a_client_leaves_unread_waits)
{
    unsigned asked = 0, got = 0;
    uint64_t before;

    start((struct httpd_opts) { 0 });
    int fd = dial_rcv(2000);
    do { /* one request in each read, until the server takes no more */
        before = httpd_counts(w.h)->requests;
        say(fd, GET("/one"));
        asked++;
        settle();
    } while (httpd_counts(w.h)->requests > before);
    cr_expect_gt(asked, 10);
    while (got < asked) {
        UNTIL(has(fd, &g, "[/one|]"));
        for (char *p = g.t; (p = strstr(p, "[/one|]")) != NULL; p += 7)
            got++;
        char *rest = strrchr(g.t, ']') + 1;
        g.n = strlen(rest);
        memmove(g.t, rest, g.n + 1);
    }
    cr_expect_eq(got, asked);
    cr_expect_eq(httpd_counts(w.h)->answers, asked);
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

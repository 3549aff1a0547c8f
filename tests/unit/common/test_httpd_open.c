/* test_httpd_open.c: answers that stay open and are sent in pieces. */
#include "tests/lib/httpdrig.h"

static int open_one(void)
{
    int fd = dial();

    say(fd, GET("/open"));
    UNTIL(has(fd, &g, "\r\n\r\n"));
    cr_assert_eq(w.n_held, 1);
    return fd;
}

Test(httpd_open, pieces_arrive_when_they_are_sent)
{
    start((struct httpd_opts) { .idle_ms = 50, .body_ms = 50 });
    int fd = open_one();
    cr_expect(strstr(g.t, "HTTP/1.1 200 OK\r\n") && strstr(g.t, "Transfer-Encoding: chunked\r\n"));
    cr_expect(strstr(g.t, "Connection: close\r\n") && strstr(g.t, "X-A: 1\r\n"));
    cr_expect(!strstr(g.t, "Content-Length"));
    cr_expect(httpd_is_open(w.held[0]) && !httpd_is_behind(w.held[0]));
    httpd_send(w.held[0], "one", 3);
    cr_expect(httpd_is_behind(w.held[0]), "it has not left yet");
    UNTIL(has(fd, &g, "\r\n\r\n0003\r\none\r\n"));
    int64_t until = now_ms() + 200; /* no deadline of ours ends it */
    while (now_ms() < until)
        ev_turn(w.ev, false);
    cr_expect_eq(httpd_counts(w.h)->conns_now, 1);
    httpd_send(w.held[0], w.big, 1000);
    httpd_end(w.held[0]);
    UNTIL(ended(fd, &g));
    cr_expect(strstr(g.t, "one\r\n03e8\r\n####"));
    cr_expect_str_eq(g.t + g.n - 8, "#\r\n0\r\n\r\n");
    cr_expect_eq(w.n_gone, 0);
    close(fd);
    stop();
}

Test(httpd_open, a_client_that_goes_is_noticed)
{
    start((struct httpd_opts) { 0 });
    int fd = open_one();
    close(fd);
    UNTIL(w.n_gone == 1);
    cr_expect_eq(httpd_counts(w.h)->aborted, 0, "it had its answer");
    int half = dial();
    say(half, GET("/open"));
    UNTIL(w.n_held == 2);
    shutdown(half, SHUT_WR);
    UNTIL(w.n_gone == 2);
    close(half);
    stop();
}

Test(httpd_open, what_follows_the_request_is_not_taken)
{
    start((struct httpd_opts) { 0 });
    int fd = dial();
    say(fd, GET("/open") GET("/x"));
    UNTIL(w.n_held == 1);
    say(fd, GET("/x"));
    settle();
    cr_expect_eq(w.n_requests, 1);
    httpd_end(w.held[0]);
    UNTIL(ended(fd, &g));
    close(fd);
    stop();
}

Test(httpd_open, only_where_the_whole_connection_is_free_for_it)
{
    start((struct httpd_opts) { 0 });
    int behind = dial(), old = dial();
    static struct got go;
    say(behind, GET("/later") GET("/open"));
    say(old, "GET /open HTTP/1.0\r\n\r\n");
    UNTIL(w.n_requests == 3);
    httpd_answer(w.held[0], 200, "text/plain", "", "x", 1);
    UNTIL(has(behind, &g, "[/open|]") && has(old, &go, "[/open|]"));
    say(behind, "HEAD /open HTTP/1.1\r\n" H "\r\n");
    UNTIL(w.n_requests == 4);
    cr_expect_eq(w.n_held, 1);
    close(behind), close(old);
    stop();
}

Test(httpd_open, not_before_a_request_that_was_taken_already)
{
    start((struct httpd_opts) { 0 });
    int fd = dial();
    say(fd, GET("/later") GET("/x"));
    UNTIL(w.n_requests == 2);
    cr_expect(!httpd_may_open(w.held[0]), "its answer would wait for ever");
    httpd_answer(w.held[0], 204, NULL, "", "", 0);
    UNTIL(has(fd, &g, "[/x|]"));
    close(fd);
    stop();
}

Test(httpd_open, a_client_that_does_not_read_is_dropped)
{
    start((struct httpd_opts) { .body_ms = 100 });
    int fd = dial_rcv(4096);
    say(fd, GET("/open"));
    UNTIL(w.n_held == 1);
    while (w.n_gone == 0) {
        if (!httpd_is_behind(w.held[0]))
            httpd_send(w.held[0], w.big, 60000);
        ev_turn(w.ev, false);
    }
    cr_expect_eq(httpd_counts(w.h)->closed_slow_reader, 1);
    cr_expect_lt(w.most_out, 100000);
    close(fd);
    stop();
}

enum { EACH = 60000, CHUNK = EACH + 8 };

/* What has come behind the head, from byte `at` of the chunks on. */
static size_t expect_chunks(int fd, size_t at)
{
    static char t[1 << 16];
    ssize_t n = recv(fd, t, sizeof(t), 0);

    for (ssize_t i = 0; i < n; i++, at++) {
        size_t in = at % CHUNK;
        char c = in < 6 ? "ea60\r\n"[in] : in < EACH + 6 ? w.big[in - 6] : "\r\n"[in - 6 - EACH];

        cr_assert_eq(t[i], c, "byte %zu", at);
    }
    return at;
}

/* They leave without a copy, as far as the kernel takes them; the rest follows. */
Test(httpd_open, a_large_piece_that_leaves_by_parts_keeps_its_bytes)
{
    size_t sent = 0, at = 0;

    start((struct httpd_opts) { 0 });
    for (size_t i = 0; i < EACH; i++)
        w.big[i] = (char)('a' + i * 7 % 23);
    int fd = dial_rcv(4096);
    say(fd, GET("/open"));
    UNTIL(has(fd, &g, "\r\n\r\n"));
    for (; !httpd_is_behind(w.held[0]); sent += CHUNK) {
        httpd_send(w.held[0], w.big, EACH);
        ev_turn(w.ev, false);
    }
    UNTIL((at = expect_chunks(fd, at), at == sent));
    close(fd);
    UNTIL(w.n_gone == 1);
    stop();
}

static void on_drained(void *arg)
{
    *(bool *)arg = true;
}

Test(httpd_open, a_drain_waits_for_the_end)
{
    start((struct httpd_opts) { 0 });
    int fd = open_one();
    httpd_drain(w.h, on_drained, &w.drained);
    settle();
    cr_expect(!w.drained);
    httpd_end(w.held[0]);
    UNTIL(w.drained && ended(fd, &g));
    close(fd);
    stop();
}

/* ---- of a known length ---- */

Test(httpd_open, pieces_of_a_known_length_follow_as_they_are_taken)
{
    unsigned pieces = 0;

    start((struct httpd_opts) { 0 });
    int fd = dial_rcv(4096);
    say(fd, GET("/sized"));
    int64_t until = now_ms() + 20000;
    while (!g.eof && now_ms() < until) {
        if (w.n_taken > pieces && pieces < 20) {
            httpd_send(w.held[0], w.big + pieces * 10000, 10000);
            if (++pieces == 20)
                httpd_end(w.held[0]);
        }
        ev_turn(w.ev, false);
        more(fd, &g);
    }
    cr_expect(strstr(g.t, "HTTP/1.1 203 ") && strstr(g.t, "Content-Length: 200000\r\n"));
    cr_expect(strstr(g.t, "Connection: close\r\n") && !strstr(g.t, "chunked"));
    cr_expect_eq(g.n, (size_t)(strstr(g.t, "\r\n\r\n") + 4 - g.t) + 200000);
    cr_expect_eq(w.n_taken, 20, "the head, and each piece but the last");
    cr_expect_eq(w.n_gone, 0);
    cr_expect_lt(w.most_out, 20000);
    close(fd);
    stop();
}

Test(httpd_open, one_of_a_known_length_that_breaks_ends_its_connection)
{
    start((struct httpd_opts) { 0 });
    int fd = dial();
    say(fd, GET("/sized"));
    UNTIL(w.n_taken == 1);
    httpd_send(w.held[0], w.big, 1000);
    UNTIL(w.n_taken == 2);
    httpd_abort(w.held[0]);
    UNTIL(ended(fd, &g));
    cr_expect_eq(w.n_gone, 1);
    cr_expect_eq(g.n, (size_t)(strstr(g.t, "\r\n\r\n") + 4 - g.t) + 1000);
    close(fd);
    stop();
}

Test(httpd_open, one_of_a_known_length_may_be_of_http_1_0_but_not_of_a_head)
{
    struct got old = { 0 };

    start((struct httpd_opts) { 0 });
    int fd = dial(), fd10 = dial(), behind = dial();
    say(fd, "HEAD /sized HTTP/1.1\r\n" H "\r\n");
    say(fd10, "GET /sized HTTP/1.0\r\n\r\n");
    UNTIL(has(fd, &g, "HTTP/1.1 200 OK") && has(fd10, &old, "Content-Length: 200000"));
    cr_expect(!strstr(old.t, "chunked"));
    cr_expect_eq(w.n_held, 1);
    say(behind, GET("/later") GET("/sized"));
    UNTIL(w.n_requests == 4);
    cr_expect_eq(w.n_held, 2, "the one before it has no answer yet");
    close(fd);
    close(fd10);
    httpd_answer(w.held[1], 200, "text/plain", "", "now", 3);
    close(behind);
    UNTIL(w.n_gone == 1);
    stop();
}

Test(httpd_open, a_client_that_takes_nothing_of_a_known_length_is_dropped)
{
    start((struct httpd_opts) { .body_ms = 100 });
    int fd = dial_rcv(4096);
    say(fd, GET("/sized"));
    UNTIL(w.n_taken == 1);
    httpd_send(w.held[0], w.big, sizeof(w.big) - 1);
    while (w.n_taken == 1 && w.n_gone == 0)
        ev_turn(w.ev, true);
    close(fd);
    UNTIL(w.n_gone == 1);
    stop();
}

/* test_httpd_limits.c: deadlines, slow readers, bounds on connections and descriptors, drain,
 * memory per connection. */
#include "tests/lib/httpdrig.h"

Test(httpd_limits, deadlines)
{
    start((struct httpd_opts) { .head_ms = 150, .body_ms = 150, .idle_ms = 150 });
    int idle = dial(), head = dial(), body = dial(), quiet = dial();
    static struct got gi, gh, gb, gq;
    int64_t t0 = now_ms(), fed = 0;
    say(idle, GET("/x"));
    say(body, "POST /x HTTP/1.1\r\n" H "Content-Length: 9\r\n\r\nabc");
    while (!(gi.eof && gh.eof && gb.eof && gq.eof) && now_ms() < t0 + 60000) {
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

Test(httpd_limits, a_slow_reader_falls_alone)
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

/* The kernel asks for more when a third of its buffer is free (here after 1.6 s), and acknowledges in
 * steps (of 95 kB over loopback). 800 kB/s, however slow this machine is. */
Test(httpd_limits, who_takes_less_than_the_kernel_holds_is_no_dead_reader)
{
    start((struct httpd_opts) { .body_ms = 500, .max_output_bytes = 64u << 20 });
    int fd = dial_rcv(65536);
    enum { LONG = 1400 };
    int64_t t0 = now_ms(), taken = 0;
    uint64_t writes;
    for (int i = 0; i < 40; i++)
        say(fd, GET("/big"));
    settle();
    writes = httpd_counts(w.h)->writes;
    for (int64_t past = 0; past < LONG; past = now_ms() - t0) {
        static char b[4096];
        ssize_t n = 1;
        while (n > 0 && taken < past * 300) { /* also behind a pause of ours: a small part of what it holds */
            n = recv(fd, b, sizeof(b), 0);
            taken += n > 0 ? n : 0;
        }
        ev_turn(w.ev, false);
    }
    cr_expect_eq(httpd_counts(w.h)->closed_slow_reader, 0);
    cr_expect_leq(httpd_counts(w.h)->writes, writes + 1, "it was asked for more: nothing is shown");
    UNTIL(httpd_counts(w.h)->closed_slow_reader == 1);
    close(fd);
    stop();
}

Test(httpd_limits, a_slow_reader_gets_everything)
{
    start((struct httpd_opts) { .max_output_bytes = 64u << 20 });
    int fd = dial_rcv(4096);
    size_t total = 0, want = 5 * sizeof(w.big);
    for (int i = 0; i < 5; i++)
        say(fd, GET("/big"));
    for (int64_t end = now_ms() + 60000; total < want && now_ms() < end;) {
        static char b[65536];
        ssize_t n;
        ev_turn(w.ev, false);
        n = recv(fd, b, sizeof(b), 0);
        for (ssize_t i = 0; i < n; i++)
            total += b[i] == '#';
    }
    cr_expect_eq(total, want);
    close(fd);
    stop();
}

Test(httpd_limits, output_above_its_limit_ends_the_connection)
{
    start((struct httpd_opts) { .max_output_bytes = 100000 });
    int fd = dial_rcv(4096);
    for (int i = 0; i < 64; i++)
        say(fd, GET("/big"));
    UNTIL(httpd_counts(w.h)->closed_slow_reader == 1);
    close(fd);
    stop();
}

/* 60 requests in one piece: their answers are never all in memory at the same time. */
Test(httpd_limits, large_answers_are_streamed)
{
    start((struct httpd_opts) { .max_output_bytes = 64u << 20 });
    int fd = dial();
    char all[60 * sizeof(GET("/big"))] = "";
    static char part[65536];
    size_t total = 0, want = 60 * sizeof(w.big);
    for (int i = 0; i < 60; i++)
        strcat(all, GET("/big"));
    say(fd, all);
    for (int64_t end = now_ms() + 60000; total < want && now_ms() < end;) {
        ssize_t n;
        ev_turn(w.ev, false);
        while ((n = recv(fd, part, sizeof(part), 0)) > 0)
            for (ssize_t i = 0; i < n; i++)
                total += part[i] == '#';
    }
    cr_expect_eq(total, want);
    cr_expect_lt(w.most_out, 2 * sizeof(w.big));
    UNTIL(httpd_counts(w.h)->out_now == 0);
    close(fd);
    stop();
}

Test(httpd_limits, pipelining_is_bounded_and_goes_on)
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

Test(httpd_limits, a_thousand_pipelined_requests)
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

#define LARGE(fields, n) "POST /none HTTP/1.1\r\n" H fields "Content-Length: " n "\r\n\r\n"

Test(httpd_limits, large_bodies_have_a_share_of_the_input)
{
    static char body[100000 + 1];
    static struct got gb, gc;
    int a, b, c;

    start((struct httpd_opts) { .max_large = 200000, .max_input_bytes = 4 * 250000 });
    memset(body, 'x', sizeof(body) - 1);
    a = dial(), b = dial(), c = dial();
    say(a, LARGE("Authorization: me\r\n", "200000"));
    UNTIL(httpd_counts(w.h)->large_now > 200000);
    say(a, body); /* and no more */
    say(b, LARGE("Authorization: me\r\n", "100000"));
    UNTIL(ended(b, &gb));
    cr_expect(strstr(gb.t, "HTTP/1.1 503 ") != NULL);
    say(c, LARGE("", "100000"));
    UNTIL(ended(c, &gc));
    cr_expect(strstr(gc.t, "HTTP/1.1 413 ") != NULL);
    close(b), close(c);
    gb = gc = (struct got) { 0 };
    b = dial();
    say(b, GET("/x")); /* others have theirs */
    UNTIL(has(b, &gb, "[/x|]"));
    close(a);
    UNTIL(httpd_counts(w.h)->large_now == 0);
    say(b, LARGE("Authorization: me\r\n", "100000"));
    UNTIL(httpd_counts(w.h)->large_now > 100000);
    say(b, body);
    UNTIL(w.n_requests == 2);
    settle();
    cr_expect_eq(httpd_counts(w.h)->large_now, 0);
    cr_expect_eq(httpd_counts(w.h)->in_now, 0);
    close(b);
    stop();
}

Test(httpd_limits, max_conns_pauses_accepting)
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

Test(httpd_limits, descriptor_limit_pauses_accepting)
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

Test(httpd_limits, drain_answers_requests_in_flight)
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
Test(httpd_limits, connections_are_let_in_or_not_and_keep_their_tag)
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
Test(httpd_limits, idle_connections_are_small)
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

/* test_httpd_pieces.c: bodies that are read in pieces: sized, chunked, held, broken off, too long. */
#include "tests/lib/httpdrig.h"

static char body[700000], text[2 * sizeof(body)];
static struct got g;

static void make_body(void)
{
    uint32_t x = 1;

    for (size_t i = 0; i < sizeof(body); i++)
        body[i] = (char)((x = x * 1664525 + 1013904223) >> 24);
}

/* Writes all of it, as the server takes it. */
static void send_all(int fd, const char *p, size_t n, size_t step)
{
    for (size_t at = 0; at < n;) {
        ssize_t k = send(fd, p + at, u64_min(step, n - at), MSG_NOSIGNAL | MSG_DONTWAIT);

        at += k > 0 ? (size_t)k : 0;
        cr_assert(k > 0 || errno == EAGAIN);
        ev_turn(w.ev, false);
    }
}

static size_t chunked(char *to, size_t n, size_t each)
{
    size_t at = 0;

    for (size_t done = 0, k; done < n; done += k) {
        k = u64_min(each, n - done);
        at += (size_t)sprintf(to + at, "%zx;x=y\r\n", k);
        memcpy(to + at, body + done, k);
        at += k;
        at += (size_t)sprintf(to + at, "\r\n");
    }
    return at + (size_t)sprintf(to + at, "0\r\nX-Trailer: 1\r\n\r\n");
}

#define UP(fields)      "POST /up HTTP/1.1\r\n" H "Authorization: me\r\n" fields "\r\n"
#define SIZED(n)        UP("Content-Length: " n "\r\n")
#define CHUNKED         UP("Transfer-Encoding: chunked\r\n")
#define LARGE           (struct httpd_opts){ .max_large = 1 << 20 }

static bool is_up(int fd)
{
    return has(fd, &g, "\r\n\r\nup");
}

static void begin(struct httpd_opts o)
{
    make_body();
    g = (struct got){ 0 };
    start(o);
}

Test(httpd_pieces, a_sized_body_comes_as_it_is_and_the_connection_goes_on)
{
    static const size_t steps[] = { 700000, 1499, 65536 };

    begin(LARGE);
    for (unsigned i = 0; i < ARRAY_LEN(steps); i++) {
        int fd = dial();

        g = (struct got){ 0 };
        say(fd, SIZED("700000"));
        send_all(fd, body, sizeof(body), steps[i]);
        UNTIL(is_up(fd));
        cr_expect(w.up_n == sizeof(body) && memcmp(w.up, body, sizeof(body)) == 0, "%zu", steps[i]);
        g = (struct got){ 0 };
        say(fd, GET("/x"));
        UNTIL(has(fd, &g, "[/x|]"));
        close(fd);
    }
    cr_expect_eq(w.up_ends, 3);
    cr_expect_gt(w.pieces, 6);
    cr_expect_eq(httpd_counts(w.h)->in_now, 0);
    cr_expect_eq(httpd_counts(w.h)->large_now, 0);
    stop();
}

Test(httpd_pieces, what_follows_on_the_connection_is_the_next_request)
{
    int fd;

    begin(LARGE);
    fd = dial();
    say(fd, SIZED("300000"));
    memcpy(text, body, 300000);
    strcpy(text + 300000, GET("/x"));
    send_all(fd, text, 300000 + strlen(text + 300000), 100000);
    UNTIL(has(fd, &g, "[/x|]"));
    cr_expect(strstr(g.t, "\r\n\r\nup") != NULL && w.up_n == 300000);
    close(fd);
    stop();
}

Test(httpd_pieces, chunks_of_any_size_are_the_same_body)
{
    static const size_t each[] = { 700000, 100, 65536, 300001 };

    begin(LARGE);
    for (unsigned i = 0; i < ARRAY_LEN(each); i++) {
        int fd = dial();

        g = (struct got){ 0 };
        say(fd, CHUNKED);
        send_all(fd, text, chunked(text, sizeof(body), each[i]), 50021);
        UNTIL(is_up(fd));
        cr_expect(w.up_n == sizeof(body) && memcmp(w.up, body, sizeof(body)) == 0, "%zu", each[i]);
        close(fd);
    }
    cr_expect_eq(w.up_ends, 4);
    stop();
}

Test(httpd_pieces, up_to_a_bound_a_body_is_whole)
{
    int fd;

    begin(LARGE);
    fd = dial();
    say(fd, "POST /up HTTP/1.1\r\n" H "Authorization: me\r\nContent-Length: 262144\r\n\r\n");
    send_all(fd, body, HTTPD_WHOLE, 65536);
    UNTIL(w.n_requests == 1);
    cr_expect(w.pieces == 1 && w.up_n == HTTPD_WHOLE && w.up_req == NULL);
    close(fd);
    stop();
}

Test(httpd_pieces, no_more_is_read_than_is_wanted)
{
    int fd;

    begin(LARGE);
    w.up_held = true;
    fd = dial();
    say(fd, SIZED("700000"));
    for (unsigned i = 0; i < 40; i++) {
        (void)!send(fd, body, 10000, MSG_NOSIGNAL | MSG_DONTWAIT);
        ev_turn(w.ev, false);
    }
    cr_assert_eq(w.pieces, 1);
    cr_expect_lt(w.up_n, 2 * HTTPD_BEGIN + 1);
    cr_expect_lt(httpd_counts(w.h)->in_now, 300000);
    httpd_more(w.up_req);
    UNTIL(w.pieces == 2);
    settle();
    cr_expect_eq(w.pieces, 2);
    close(fd);
    w.up_held = false;
    httpd_more(w.up_req); /* else nobody looks */
    UNTIL(w.n_gone == 1);
    stop();
}

Test(httpd_pieces, who_goes_amid_it_has_gone)
{
    int fd;

    begin(LARGE);
    fd = dial();
    say(fd, SIZED("700000"));
    send_all(fd, body, 200000, 65536);
    UNTIL(w.pieces > 0);
    shutdown(fd, SHUT_WR);
    UNTIL(w.n_gone == 1);
    cr_expect_eq(httpd_counts(w.h)->closed_body_deadline, 0, "it is known at once");
    cr_expect_eq(w.up_ends, 0);
    close(fd);
    stop();
}

Test(httpd_pieces, it_may_be_answered_amid_it)
{
    int fd;

    begin(LARGE);
    w.up_held = true;
    fd = dial();
    say(fd, SIZED("700000"));
    send_all(fd, body, 100000, 65536);
    UNTIL(w.pieces == 1);
    httpd_answer(w.up_req, 503, "text/plain", "", "no", 2);
    UNTIL(ended(fd, &g));
    cr_expect(strstr(g.t, "HTTP/1.1 503 ") != NULL && strstr(g.t, "Connection: close") != NULL, "%s", g.t);
    cr_expect_eq(w.n_gone, 0);
    close(fd);
    stop();
}

Test(httpd_pieces, too_long_or_malformed_is_told)
{
    static const struct {
        const char *rest, *status;
    } rows[] = { { NULL, "HTTP/1.1 413 " }, { "xyz\r\n", "HTTP/1.1 400 " } };

    begin(LARGE);
    w.up_most = 600000;
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        int fd = dial();
        size_t n = chunked(text, rows[i].rest == NULL ? sizeof(body) : 400000, 50000);

        g = (struct got){ 0 };
        if (rows[i].rest != NULL)
            memcpy(text + n - strlen("0\r\nX-Trailer: 1\r\n\r\n"), "xyz\r\n", 5);
        say(fd, CHUNKED);
        for (size_t at = 0; at < n && !ended(fd, &g); ev_turn(w.ev, false)) {
            ssize_t k = send(fd, text + at, u64_min(20000, n - at), MSG_NOSIGNAL | MSG_DONTWAIT);

            at += k > 0 ? (size_t)k : 0;
        }
        UNTIL(ended(fd, &g));
        cr_expect(strstr(g.t, rows[i].status) != NULL, "%s", g.t);
        close(fd);
    }
    stop();
}

Test(httpd_pieces, what_is_refused_by_its_head_sends_nothing)
{
    static const struct {
        const char *head, *status;
    } rows[] = {
        { UP("Content-Length: 700000\r\nExpect: 100-continue\r\n"), "HTTP/1.1 413 " },
        { "POST /up HTTP/1.1\r\n" H "Content-Length: 300000\r\nExpect: 100-continue\r\n\r\n", "HTTP/1.1 413 " },
        { UP("Content-Length: 300000\r\nExpect: tea\r\n"), "HTTP/1.1 417 " },
    };
    int fd;

    begin(LARGE);
    w.up_most = 600000;
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        fd = dial();
        g = (struct got){ 0 };
        say(fd, rows[i].head);
        UNTIL(ended(fd, &g));
        cr_expect_eq(strncmp(g.t, rows[i].status, strlen(rows[i].status)), 0, "%s", g.t);
        close(fd);
    }
    fd = dial();
    g = (struct got){ 0 };
    say(fd, UP("Content-Length: 300000\r\nExpect: 100-continue\r\n"));
    UNTIL(has(fd, &g, "HTTP/1.1 100 Continue\r\n\r\n"));
    send_all(fd, body, 300000, 65536);
    UNTIL(is_up(fd));
    close(fd);
    stop();
}

Test(httpd_pieces, a_connection_for_one_request_ends_behind_it)
{
    int fd;

    begin(LARGE);
    fd = dial();
    say(fd, UP("Content-Length: 700000\r\nConnection: close\r\n"));
    send_all(fd, body, sizeof(body), 65536);
    UNTIL(ended(fd, &g));
    cr_expect(strstr(g.t, "\r\n\r\nup") != NULL && w.up_n == sizeof(body));
    close(fd);
    stop();
}

Test(httpd_pieces, who_drips_is_dropped)
{
    int fd;

    begin((struct httpd_opts){ .max_large = 1 << 20, .body_ms = 150 });
    fd = dial();
    say(fd, SIZED("700000"));
    send_all(fd, body, 100000, 65536);
    for (int64_t next = 0, t0 = now_ms(); w.n_gone == 0 && now_ms() < t0 + 20000; ev_turn(w.ev, false)) {
        if (now_ms() < next)
            continue;
        (void)!send(fd, body, 1, MSG_NOSIGNAL | MSG_DONTWAIT); /* 50 bytes a second */
        next = now_ms() + 20;
    }
    cr_expect_eq(w.n_gone, 1);
    cr_expect_eq(httpd_counts(w.h)->closed_body_deadline, 1);
    close(fd);
    stop();
}

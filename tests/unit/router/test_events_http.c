/* test_events_http.c: GET /v1/tickets/{token}/events as a client sees it, and what it costs. */
#include "router/calls/events.h"
#include "tests/lib/routerrig.h"

TestSuite(events, .init = setup_all, .fini = teardown, .timeout = 200);

static const char *events_path(uint32_t number)
{
    static char p[120];

    snprintf(p, sizeof(p), "%s/events", ticket_path(number, 1));
    return p;
}

static void listen_with(uint32_t number, const char *fields)
{
    n_got = 0;
    got[0] = '\0';
    say_with("GET", events_path(number), fields, "");
}

static bool got_text(const char *text)
{
    more();
    return strstr(got, text) != NULL;
}

static unsigned count_of(const char *text)
{
    unsigned n = 0;

    for (const char *p = got; (p = strstr(p, text)) != NULL; p++)
        n++;
    return n;
}

static void again(void)
{
    close(w.fd);
    dial();
}

Test(events, the_first_event_is_the_ticket)
{
    listen_with(42, "");
    UNTIL(got_text("\n\n"));
    cr_expect(got_text("HTTP/1.1 200 OK\r\n") && got_text("Content-Type: text/event-stream\r\n"));
    cr_expect(got_text("Cache-Control: no-store\r\n") && got_text("X-Accel-Buffering: no\r\n"));
    cr_expect(got_text("retry: 3000\nid: 42\ndata: {\"token\":\""));
    cr_expect(got_text("\"state\":\"waiting\",\"position\":42,"));
    cr_expect_eq(w.places, 1, "the node was asked");
    cr_expect_eq(w.r->listeners.n, 1);
}

Test(events, who_is_in_is_told_the_pass_and_the_stream_ends)
{
    listen_with(N_ADMITTED, "");
    UNTIL(got_text("0\r\n\r\n"));
    cr_expect(got_text("retry: 30000\nid: 0\ndata: {") && got_text("\"pass\":\"a.b.c\""));
    cr_expect_eq(w.r->listeners.n, 0);
}

Test(events, errors_are_those_of_a_poll)
{
    char forged[120];

    cr_expect_eq(call("GET", events_path(N_GONE), ""), 410);
    cr_expect_str_eq(str("reason"), "no_show");
    snprintf(forged, sizeof(forged), "%s", events_path(1));
    forged[20] = forged[20] == 'A' ? 'B' : 'A';
    cr_expect_eq(call("GET", forged, ""), 404);
    cr_expect_str_eq(str("code"), "ticket_unknown");
    cr_expect_eq(call("POST", events_path(1), ""), 405);
    cr_expect(strstr(got, "\r\nAllow: GET\r\n") != NULL);
    cr_expect_eq(call("GET", events_path(N_UNKNOWN), ""), 503);
    cr_expect(strstr(got, "\r\nRetry-After: ") != NULL);
}

Test(events, above_the_bound_clients_poll)
{
    w.cfg.max_listeners = 0;
    cr_expect_eq(call("GET", events_path(1), ""), 204);
    cr_expect(strstr(got, "\r\nRetry-After: ") != NULL);
    cr_expect_eq(w.r->counts.listeners_refused, 1);
    w.cfg.max_listeners = 1;
    listen_with(1, "");
    UNTIL(got_text("\n\n"));
    int first = w.fd;
    dial();
    cr_expect_eq(call("GET", events_path(2), ""), 204);
    close(first);
    UNTIL(w.r->listeners.n == 0);
    listen_with(2, "");
    UNTIL(got_text("\n\n"));
}

/* Half of max_conns stays for everybody else. */
Test(events, half_of_the_connections_stay_free)
{
    int fd[60];

    for (int i = 0; i < 50; i++) {
        listen_with((uint32_t)i + 1, "");
        UNTIL(got_text("\n\n"));
        fd[i] = w.fd;
        dial();
    }
    cr_expect_eq(call("GET", events_path(99), ""), 204);
    for (int i = 0; i < 50; i++)
        close(fd[i]);
    UNTIL(w.r->listeners.n == 0);
}

Test(events, a_client_of_a_proxy_has_a_bound)
{
    struct gate g = { .limit = w.r->gate.limit, .conns_per_addr = 1, .client = 64 };

    cr_expect_eq(gate_listener(&g, 64), 0, "its own connection is counted");
    cr_expect_eq(gate_listener(&g, 65), 64);
    cr_expect(gate_listen(&g, 0) && gate_listen(&g, 0));
    cr_expect(gate_listen(&g, 64));
    cr_expect_not(gate_listen(&g, 64));
    gate_listen_end(&g, 64);
    cr_expect(gate_listen(&g, 64));
    gate_listen_end(&g, 64);
}

/* So a client knows from the first how long silence may last. */
Test(events, the_first_ticket_is_followed_by_a_beat)
{
    w.poll_ms = 150;
    listen_with(500, "");
    UNTIL((more(), got_text("event: beat\ndata: 5000\n\n")));
    cr_expect_geq(count_of("event: beat"), 1);
}

Test(events, a_place_that_moved_is_told_at_the_told_pace)
{
    w.poll_ms = 150;
    w.moved = 0;
    listen_with(500, "");
    UNTIL(got_text("id: 500\n"));
    UNTIL((more(), w.places >= 4));
    cr_expect_eq(count_of("data: {"), 1, "nothing has changed");
    w.moved = 3;
    UNTIL((more(), w.places >= 7));
    cr_expect_eq(count_of("data: {"), 1, "that is not to be noticed");
    w.moved = 100;
    UNTIL(got_text("id: 400\n"));
    cr_expect_eq(count_of("data: {"), 2);
    w.ends = GONE_LEFT;
    UNTIL(got_text("0\r\n\r\n"));
    cr_expect(got_text("event: gone\ndata: {") && got_text("\"reason\":\"left\""));
    cr_expect_eq(w.r->listeners.n, 0);
}

Test(events, after_a_reconnect_no_place_grows)
{
    listen_with(500, "Last-Event-ID: 480\r\n");
    UNTIL(got_text("\n\n"));
    cr_expect(got_text("id: 480\n") && got_text("\"position\":480,"));
    again();
    listen_with(500, "Last-Event-ID: 520\r\n");
    UNTIL(got_text("\n\n"));
    cr_expect(got_text("id: 500\n"));
    for (unsigned i = 0; i < 5; i++) {
        static const char *const bad[] = { "x", "-1", "", "1\t2", "99999999999999999999" };
        char line[60];

        again();
        snprintf(line, sizeof(line), "Last-Event-ID: %s\r\n", bad[i]);
        listen_with(500, line);
        UNTIL(got_text("\n\n"));
        cr_expect(got_text("id: 500\n"), "%s", bad[i]);
    }
}

static void say_raw(const char *t)
{
    n_got = 0;
    got[0] = '\0';
    cr_assert_eq(send(w.fd, t, strlen(t), MSG_NOSIGNAL), (ssize_t)strlen(t));
}

Test(events, nobody_listens_over_http_1_0)
{
    char t[300];

    snprintf(t, sizeof(t), "GET %s HTTP/1.0\r\n\r\n", events_path(5));
    say_raw(t);
    UNTIL(got_text(" 204 "));
}

/* While the node is asked the other request is taken; its answer would never come. */
Test(events, nobody_listens_where_another_request_follows)
{
    char t[400];

    snprintf(t, sizeof(t), "GET %s HTTP/1.1\r\nHost: a\r\n\r\n"
             "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", events_path(5));
    say_raw(t);
    UNTIL(got_text("HTTP/1.1 204 ") && got_text("HTTP/1.1 200 "));
    cr_expect_eq(w.r->listeners.n, 0);
}

Test(events, a_client_that_goes_is_forgotten_also_while_its_node_is_asked)
{
    w.poll_ms = 100;
    listen_with(7, "");
    UNTIL(got_text("id: 7\n"));
    w.hold = true;
    unsigned places = w.places;
    UNTIL(w.places > places);
    uint64_t polls = w.r->poll_us.n;
    close(w.fd);
    UNTIL(w.r->listeners.n == 0);
    w.hold = false;
    UNTIL(w.r->flows.n == 0);
    cr_expect_eq(w.r->poll_us.n, polls, "a look is no request");
    dial();
    w.hold = true;
    listen_with(7, "");
    UNTIL(w.r->flows.n == 1);
    again();
    UNTIL(w.r->flows.n == 0);
    cr_expect_eq(w.r->listeners.n, 0);
}

Test(events, without_an_answer_of_the_node_the_stream_stays)
{
    w.poll_ms = 100;
    listen_with(7, "");
    UNTIL(got_text("id: 7\n"));
    w.hold = true;
    uint64_t unavailable = w.r->counts.unavailable;
    UNTIL(w.r->counts.overdue >= 2);
    w.hold = false;
    w.moved = 3;
    UNTIL(got_text("id: 4\n"));
    cr_expect_eq(w.r->counts.unavailable, unavailable, "nobody was told so");
}

static void drained(void *arg)
{
    *(bool *)arg = true;
}

Test(events, who_listens_is_told_when_to_come_back)
{
    bool done = false;

    listen_with(7, "");
    UNTIL(got_text("id: 7\n"));
    router_drain(w.r, drained, &done);
    UNTIL(got_text("0\r\n\r\n"));
    cr_expect(got_text("retry: ") && got_text("event: away\ndata: {\"poll_after_ms\":"));
    UNTIL(done);
}

/* With the struct of its connection, which one that is idle has, too: 112, so 512 in all. Most cost
 * just that; others meet a table that doubles. The allocator rounds chunks up, or has them at hand, now
 * so, now so: a mean of so few is not exact, and bounds the tables alone. */
Test(events, a_listener_costs_half_a_kilobyte)
{
    enum { N = 40, EACH = 512 - 112, TABLES = 4096 };
    unsigned within = 0;
    int fd[N];
    size_t before, now, last;

    for (int i = 0; i < N; i++) {
        dial();
        cr_assert_eq(call("GET", ticket_path(5, 1), ""), 200); /* pools, figures */
        fd[i] = w.fd;
    }
    before = last = mallinfo2().uordblks;
    for (int i = 0; i < N; i++) {
        w.fd = fd[i];
        listen_with((uint32_t)i + 1, "");
        UNTIL(got_text("\n\n"));
        now = mallinfo2().uordblks;
        within += now <= last + EACH;
        last = now;
    }
    cr_expect_geq(within, N * 3 / 4, "%u of %d cost at most %d bytes", within, N, EACH);
    cr_expect_leq(last - before, N * EACH + TABLES, "%zu bytes, all of them", last - before);
    for (int i = 0; i < N; i++)
        close(fd[i]);
    UNTIL(w.r->listeners.n == 0);
    dial();
}

/* ---- a far node says the release unasked ------------------------------------------------------ */

static void let_in(uint32_t number)
{
    struct let_in_row row = { .seg = 1,
                              .number = number,
                              .pass_len = 5,
                              .pass = (const uint8_t *)"f.a.r",
                              .released_at_ms = 1000,
                              .pass_expires_s = 2000000000 };

    w.r->let_in(w.r, &row);
}

Test(events, who_is_let_in_unasked_is_told_the_pass_and_the_stream_ends)
{
    listen_with(42, "");
    UNTIL(got_text("\n\n"));
    let_in(43);
    cr_expect_eq(w.r->listeners.n, 1, "another one's");
    let_in(42);
    UNTIL(got_text("0\r\n\r\n"));
    cr_expect(got_text("\"pass\":\"f.a.r\"") && got_text("retry: 30000\nid: 0\n"));
    cr_expect_eq(w.places, 1, "nobody was asked again");
    cr_expect_eq(w.r->listeners.n, 0);
    let_in(42);
}

/* test_router.c: what a router says to its clients, its manager and its nodes, and what it
 * does when they are silent, gone or wrong. */
#include "common/base/versions.h"
#include "router/links/flows.h"
#include "tests/lib/routerrig.h"

TestSuite(router, .init = setup_all, .fini = teardown, .timeout = 200);

Test(router, a_ticket_is_joined_polled_and_left)
{
    char path[100];

    cr_assert_eq(call("POST", "/v1/queues/login/tickets", "{\"client\":\"browser\"}"),
                 201);
    cr_expect_str_eq(str("queue"), "login");
    cr_expect_str_eq(str("state"), "waiting");
    cr_expect_eq(num("position"), 1);
    cr_expect_eq(num("total"), 500);
    cr_expect_eq(num("eta_s"), 1);
    cr_expect_eq(num("segment"), 1);
    snprintf(path, sizeof(path), "/v1/tickets/%s", str("token"));
    cr_expect(strstr(got, "\r\nLocation: /v1/tickets/"));
    cr_expect_eq(call("GET", ticket_path(42, 1), ""), 200);
    cr_expect_eq(num("position"), 42);
    cr_expect_eq(num("poll_after_ms"), 3000);
    cr_expect_eq(num("eta_s"), 5);
    cr_expect_eq(call("DELETE", path, ""), 204);
    cr_expect_eq(w.drops, 1);
}

static bool told_early(const char *method, const char *path, int status)
{
    cr_expect_eq(call(method, path, ""), status);
    cr_expect(strstr(got, "\"position\":null") != NULL);
    if (strstr(got, "\"prequeue\":true") == NULL)
        return false;
    cr_expect_eq(num("opens_at"), w.when.opens_ms / 1000);
    return true;
}

/* Whether somebody draws is what the node says: the map may be of before or after the
 * opening, and the router's clock may be wrong. */
Test(router, the_node_decides_the_draw)
{
    static const char join[] = "/v1/queues/login/tickets";

    w.when = (struct map_phase){ .phase = PHASE_PREQUEUE, .opens_ms = 1700000900000 };
    send_map(5, 6, QUEUE_PAUSED, false);
    UNTIL(routes_version(w.r->routes) == 6);
    w.no_place = NO_PLACE_NOW;
    cr_expect_not(told_early("POST", join, 201), "it came too late for the draw");
    cr_expect_not(told_early("GET", ticket_path(42, 1), 200));
    w.no_place = NO_PLACE_EARLY;
    cr_expect(told_early("POST", join, 201));
    w.when.phase = PHASE_PLAIN;
    send_map(6, 7, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 7);
    cr_expect(told_early("GET", ticket_path(42, 1), 200), "it is not drawn yet");
    cr_expect(told_early("POST", join, 201));
    w.no_place = NO_PLACE_NOW;
    cr_expect_not(told_early("POST", join, 201));
}

/* The room of the early ones is closed by its node, and the manager is late, or away. */
Test(router, before_the_opening_it_is_not_full)
{
    w.when = (struct map_phase){ .phase = PHASE_PREQUEUE, .opens_ms = 1700000900000 };
    send_map(5, 6, QUEUE_PAUSED, false);
    UNTIL(routes_version(w.r->routes) == 6);
    routes_sealed(w.r->routes, 1);
    routes_sealed(w.r->routes, 2);
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", ""), 503);
    cr_expect_str_eq(str("code"), "queue_unavailable");
    cr_expect(strstr(got, "\r\nRetry-After: "));
}

/* One address: its joins, polls and bad requests each have a budget; a refusal names when
 * to come, the place is kept, and what machines ask is never refused. */
Test(router, too_fast_is_429_and_keeps_the_place)
{
    char path[100];
    unsigned polls;

    w.cfg.join_limit_per_s = w.cfg.poll_limit_per_s = w.cfg.bad_limit_per_s = 0.01;
    w.cfg.join_burst = 2;
    w.cfg.poll_burst = 3;
    w.cfg.bad_burst = 1;
    router_reload(w.r);
    for (int i = 0; i < 2; i++)
        cr_expect_eq(call("POST", "/v1/queues/login/tickets", ""), 201);
    snprintf(path, sizeof(path), "/v1/tickets/%s", str("token"));
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", ""), 429);
    cr_expect_str_eq(str("code"), "too_fast");
    cr_expect(strstr(got, "\r\nRetry-After: ") != NULL);
    cr_expect_eq(w.appends, 2);
    cr_expect_eq(call("GET", "/v1/queues/login", ""), 200);
    cr_expect_eq(call("GET", path, ""), 200);
    cr_expect_eq(call("GET", path, ""), 200);
    polls = w.places;
    cr_expect_eq(call("GET", path, ""), 429);
    cr_expect_geq(num("poll_after_ms"), 1000);
    cr_expect(strstr(str("detail"), "the place is kept") != NULL);
    cr_expect_eq(call("DELETE", path, ""), 429);
    cr_expect_eq(w.places, polls);
    cr_expect_eq(w.drops, 0);
    cr_expect_eq(call("GET", "/nothing", ""), 404);
    cr_expect_eq(call("GET", "/nothing", ""), 429);
    cr_expect_eq(call("GET", "/healthz", ""), 200);
    cr_expect_eq(call("GET", "/readyz", ""), 200);
    w.cfg.poll_limit_per_s = 0;
    router_reload(w.r);
    cr_expect_eq(call("GET", path, ""), 200); /* it was kept indeed */
}

/* Whatever its address: ten times as often as it is told, and the place is kept. Another ticket is not
 * held up by it. */
Test(router, a_ticket_that_is_polled_far_too_often_is_429)
{
    char path[100], other[100];
    unsigned polls;
    int status = 0, n = 0;

    w.cfg.ticket_poll_times = 10;
    router_reload(w.r);
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", ""), 201);
    snprintf(path, sizeof(path), "/v1/tickets/%s", str("token"));
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", ""), 201);
    snprintf(other, sizeof(other), "/v1/tickets/%s", str("token"));
    do { /* a slow machine gives some of the time back meanwhile */
        polls = w.places;
        status = call("GET", path, "");
    } while (status == 200 && ++n < 200);
    cr_expect_eq(status, 429);
    cr_expect_eq(w.places, polls);
    cr_expect(n >= 10 && n < 200, "%d polls at once", n);
    cr_expect_str_eq(str("code"), "too_fast");
    cr_expect_geq(num("poll_after_ms"), 1000);
    cr_expect(strstr(str("detail"), "its place is kept") != NULL);
    cr_expect(strstr(got, "\r\nRetry-After: ") != NULL);
    cr_expect_eq(call("GET", other, ""), 200);
    cr_expect_eq(call("DELETE", path, ""), 204);
    w.cfg.ticket_poll_times = 0;
    router_reload(w.r);
    for (int i = 0; i < 20; i++)
        cr_expect_eq(call("GET", other, ""), 200);
}

Test(router, subjects_and_lanes_reach_the_node)
{
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", "{\"subject\":\"known\"}"),
                 200);
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", "{\"lane\":\"default\"}"), 201);
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", "{\"lane\":\"vip\"}"), 403);
    cr_expect_str_eq(str("code"), "not_eligible");
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", "{\"claim\":\"x.y.z\"}"), 403);
    cr_expect_eq(call("POST", "/v1/queues/other/tickets", ""), 404);
    cr_expect_str_eq(str("code"), "queue_not_found");
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", "[]"), 400);
    cr_expect_str_eq(str("code"), "bad_request");
}

static int join_with(const char *fields, const char *body)
{
    return call_with("POST", "/v1/queues/login/tickets", fields, body);
}

#define KEY "Idempotency-Key: 8e03978e-40d5-43dd-bc93-6894a57f9324\r\n"

Test(router, an_idempotency_key_finds_its_ticket)
{
    char first[SUBJECT_TEXT_MAX + 1];

    cr_expect_eq(join_with(KEY, ""), 201);
    snprintf(first, sizeof(first), "%s", w.last_subject);
    cr_expect_eq(first[0], SUBJECT_KEY_MARK, "which no subject has");
    cr_expect_eq(strlen(first), 33);
    cr_expect_eq(join_with(KEY, "{\"client\":\"game\"}"), 201);
    cr_expect_str_eq(w.last_subject, first, "the same again");
    cr_expect_eq(join_with("Idempotency-Key: 8e03978e-40d5-43dd-bc93-6894a57f9325\r\n", ""), 201);
    cr_expect_str_neq(w.last_subject, first);
    cr_expect_eq(join_with(KEY, "{\"subject\":\"ann\"}"), 201);
    cr_expect_str_eq(w.last_subject, "ann", "a name is one place anyway");
    cr_expect_eq(join_with("", ""), 201);
    cr_expect_str_eq(w.last_subject, "");
}

/* Who guesses a key gets its place. */
Test(router, a_guessable_key_is_refused)
{
    static const char *const bad[] = {
        "Idempotency-Key:\r\n", "Idempotency-Key: 1\r\n", "Idempotency-Key: 123456789012345\r\n",
        "Idempotency-Key: 1234567890 123456\r\n", "Idempotency-Key: 1234567890\xc3\xa4" "123456\r\n",
    };
    char longer[200] = "Idempotency-Key: ";

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_eq(join_with(bad[i], ""), 400, "%s", bad[i]);
    memset(longer + 17, 'a', 129);
    strcpy(longer + 17 + 129, "\r\n");
    cr_expect_eq(join_with(longer, ""), 400);
    strcpy(longer + 17 + 128, "\r\n");
    cr_expect_eq(join_with(longer, ""), 201);
    cr_expect_eq(w.appends, 1);
}

Test(router, every_answer_of_a_segment_about_a_ticket)
{
    cr_expect_eq(call("GET", ticket_path(N_GONE, 1), ""), 410);
    cr_expect_str_eq(str("reason"), "no_show");
    cr_expect_eq(call("GET", ticket_path(N_ADMITTED, 1), ""), 200);
    cr_expect_str_eq(str("state"), "admitted");
    cr_expect_str_eq(str("pass"), "a.b.c");
    cr_expect_eq(num("pass_expires_at"), 1700000300);
    w.busy = 3;
    cr_expect_eq(call("GET", ticket_path(N_BUSY, 1), ""), 200);
    cr_expect_geq(w.r->counts.retries, 3);
    cr_expect_eq(call("GET", ticket_path(5, 50), ""), 410, "a segment long gone");
    cr_expect_str_eq(str("reason"), "finished");
    int64_t t0 = now_ms();
    cr_expect_eq(call("GET", ticket_path(N_UNKNOWN, 1), ""), 503);
    cr_expect_eq(call("GET", ticket_path(5, 500), ""), 503, "newer than the map");
    cr_expect_str_eq(str("code"), "queue_unavailable");
    cr_expect(strstr(got, "\r\nRetry-After: "));
    cr_expect_lt(now_ms() - t0, 2500);
}

Test(router, forged_tokens_cost_no_segment_anything)
{
    char path[100];

    strcpy(path, ticket_path(1, 1));
    path[14] = path[14] == 'A' ? 'B' : 'A';
    cr_expect_eq(call("GET", path, ""), 404);
    cr_expect_str_eq(str("code"), "ticket_unknown");
    cr_expect_eq(call("DELETE", path, ""), 404);
    cr_expect_eq(call("GET", "/v1/tickets/short", ""), 404);
    cr_expect_eq(w.places + w.drops, 0);
    cr_expect_eq(w.r->counts.forged, 3);
}

Test(router, the_other_paths_answer)
{
    cr_expect_eq(call("GET", "/v1/queues/login", ""), 200);
    cr_expect_eq(num("waiting"), 500);
    cr_expect_str_eq(str("limited_by"), "fixed");
    cr_expect(strstr(got, "max-age=1"));
    cr_expect_eq(call("GET", "/healthz", ""), 200);
    cr_expect_eq(call("GET", "/readyz", ""), 200);
    cr_expect_eq(call("GET", "/.well-known/jwks.json", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(js, "keys")), 1);
    cr_expect_eq(call("PUT", "/v1/queues/login", ""), 405);
    cr_expect(strstr(got, "\r\nAllow: GET, HEAD\r\n"));
    cr_expect_eq(call("GET", "/nothing", ""), 404);
    cr_expect_str_eq(str("code"), "not_found");
    n_got = 0;
    const char bad[] = "GET /x HTTP/1.1\r\n\r\n";
    cr_assert_eq(send(w.fd, bad, sizeof(bad) - 1, 0), (ssize_t)sizeof(bad) - 1);
    UNTIL((more(), strstr(got, "bad_request") != NULL));
    cr_expect(strstr(got, "HTTP/1.1 400 Bad Request"));
    struct buf b;
    buf_init(&b);
    router_metrics(w.r, &b);
    buf_byte(&b, 0);
    cr_expect(strstr((char *)b.data, "segq_router_http_requests_total"));
    cr_expect(strstr((char *)b.data, "segq_router_passes_forgotten_total{what=\"ended\"} 0"));
    cr_expect(strstr((char *)b.data, "\nsegq_router_links_dialled_total 2\n"));
    cr_expect(strstr((char *)b.data, "\nsegq_router_links_plain_total 2\n"));
    buf_fini(&b);
}

Test(router, a_turns_requests_leave_in_one_frame)
{
    char t[64 * 150];
    size_t n = 0;

    for (int i = 0; i < 60; i++)
        n += (size_t)sprintf(t + n, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n",
                             ticket_path(1 + (uint32_t)i, 1));
    cr_assert_eq(send(w.fd, t, n, 0), (ssize_t)n);
    UNTIL(w.places == 60);
    cr_expect_leq(w.place_frames, 3);
    UNTIL((more(), httpd_counts(w.r->httpd)->answers == 60));
}

Test(router, requests_collect_while_one_is_outstanding)
{
    w.hold = true;
    say("GET", ticket_path(1, 1), "");
    UNTIL(w.place_frames == 1);
    for (int i = 0; i < 5; i++)
        ev_turn(w.ev, false);
    say("GET", ticket_path(2, 1), "");
    ev_turn(w.ev, false);
    say("GET", ticket_path(3, 1), "");
    UNTIL(w.r->flows.n == 3);
    /* after 250 us they do not wait any more */
    UNTIL(w.places == 3);
    cr_expect_leq(w.place_frames, 3);
    w.hold = false;
    UNTIL((more(), httpd_counts(w.r->httpd)->answers == 3)); /* 503 at the time limit */
    cr_expect_eq(w.r->counts.overdue, 3);
    cr_expect_eq(call("GET", "/healthz", ""), 200);
}

/* Over an ocean the answer before is long in coming: what is asked meanwhile leaves with its own turn. */
Test(router, a_request_waits_for_no_answer_that_is_far_away)
{
    int64_t sent_us;

    w.hold = true;
    say("GET", ticket_path(1, 1), "");
    UNTIL(w.place_frames == 1);
    sent_us = ev_now_us(w.ev);
    UNTIL(ev_now_us(w.ev) - sent_us > 1000);
    say("GET", ticket_path(2, 1), "");
    UNTIL(w.r->flows.n == 2);
    cr_expect_eq(w.r->counts.batches, 2, "in that turn");
    UNTIL(w.places == 2);
}

/* Asked right after another, it is held back; nothing comes that wakes the router. */
Test(router, a_request_that_is_held_back_leaves_by_itself)
{
    unsigned late = 0;

    w.hold = true;
    for (uint32_t i = 0; i < 8; i++) {
        uint64_t sent = w.r->counts.batches;
        int64_t asked_us;

        say("GET", ticket_path(1 + 2 * i, 1), "");
        UNTIL(w.r->counts.batches == sent + 1);
        say("GET", ticket_path(2 + 2 * i, 1), "");
        UNTIL(w.r->flows.n == 2 * i + 2);
        asked_us = ev_read_mono_us();
        while (w.r->counts.batches == sent + 1)
            ev_turn(w.ev, true);
        late += ev_read_mono_us() - asked_us > 25000;
        UNTIL(ev_now_us(w.ev) - asked_us > 3000);
    }
    cr_expect_lt(late, 5, "of 8: they waited for a timer of others, 50 ms");
}

Test(router, a_silent_segment_costs_503_and_nothing_else)
{
    int64_t t0 = now_ms();

    cr_expect_eq(call("GET", ticket_path(N_SILENT, 1), ""), 503);
    cr_expect_lt(now_ms() - t0, 1500);
    cr_expect_eq(w.r->flows.n, 0);
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", ""), 201);
}

Test(router, polls_survive_a_broken_link)
{
    char addr[64];

    strcpy(addr, w.seg_addr);
    rpc_free(w.seg);
    w.seg = NULL;
    UNTIL(!router_is_ready(w.r));
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", ""), 503);
    cr_expect_eq(call("GET", "/readyz", ""), 503);
    say("GET", ticket_path(9, 1), "");
    ev_turn(w.ev, false);
    start_segment(addr);
    UNTIL((more(), strstr(got, "\"position\":9") || strstr(got, "queue_unavailable")));
    UNTIL(router_is_ready(w.r));
    cr_expect_eq(call("GET", ticket_path(9, 1), ""), 200);
}

/* Nobody will answer it: it is asked again over the new link, well before its deadline. */
Test(router, a_poll_whose_link_broke_is_asked_again)
{
    char addr[64];
    uint64_t retries;

    w.hold = true;
    say("GET", ticket_path(9, 1), "");
    UNTIL(w.places == 1);
    strcpy(addr, w.seg_addr);
    rpc_free(w.seg);
    w.seg = NULL;
    w.hold = false;
    UNTIL(!router_is_ready(w.r) && w.r->waiting.n == 1);
    retries = w.r->counts.retries;
    rflow_node_up(w.r, 99);
    cr_expect_eq(w.r->counts.retries, retries, "another node's link is nothing to it");
    start_segment(addr);
    UNTIL(router_is_ready(w.r));
    cr_expect_eq(w.r->waiting.n, 0, "asked as the link comes up, not when a pause of its own is over");
    UNTIL((more(), strstr(got, "\"position\":9") || strstr(got, "queue_unavailable")));
    cr_expect(strstr(got, "\"position\":9"), "%s", got);
    cr_expect_geq(w.r->counts.lost, 1);
}

/* The node may have taken it: asked again it would be a second ticket. */
Test(router, a_join_whose_link_broke_is_refused_and_not_sent_again)
{
    char addr[64];

    w.hold = true;
    say("POST", "/v1/queues/login/tickets", "");
    UNTIL(w.appends == 1);
    strcpy(addr, w.seg_addr);
    rpc_free(w.seg);
    w.seg = NULL;
    w.hold = false;
    start_segment(addr);
    UNTIL((more(), whole(got) > 0));
    cr_expect(strstr(got, "HTTP/1.1 503"), "%s", got);
    UNTIL(router_is_ready(w.r));
    cr_expect_eq(call("GET", "/healthz", ""), 200); /* a turn or two over the new link */
    cr_expect_eq(w.appends, 1);
    cr_expect_eq(w.r->counts.overdue, 0); /* told at once, not at its deadline */
}

Test(router, a_failed_join_is_not_resent)
{
    w.short_answers = true;
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", ""), 503);
    cr_expect_eq(w.appends, 1);
    cr_expect_eq(w.r->counts.lost, 1);
}

Test(router, a_join_waits_for_the_map_behind_a_sealed_tail)
{
    w.sealed = true;
    say("POST", "/v1/queues/login/tickets", "");
    UNTIL(w.append_frames == 1);
    send_map(5, 6, QUEUE_OPEN, true);
    UNTIL((more(), whole(got) > 0));
    cr_expect(strstr(got, "HTTP/1.1 201"), "%s", got);
    cr_expect(strstr(got, "\"segment\":2"));
    send_map(6, 7, QUEUE_CLOSED, true);
    UNTIL(routes_version(w.r->routes) == 7);
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", ""), 403);
    cr_expect_str_eq(str("code"), "queue_closed");
    cr_expect_eq(call("GET", ticket_path(3, 1), ""), 200, "a waiting ticket goes on waiting");
}

Test(router, a_gap_in_the_map_is_asked_for_again)
{
    unsigned regs = w.regs;

    send_map(9, 10, QUEUE_OPEN, false);
    UNTIL(w.regs == regs + 1);
    cr_expect_eq(w.last_reg_version, 0);
    cr_expect_eq(call("GET", ticket_path(3, 1), ""), 200);
}

/* Of a manager that led before: asking it again would bring the same, for ever. */
Test(router, a_map_of_an_older_epoch_is_not_asked_for_again)
{
    unsigned regs = w.regs;

    w.map_epoch = 3;
    send_map(0, 1, QUEUE_OPEN, false);
    UNTIL(routes_epoch(w.r->routes) == 3);
    w.map_epoch = 2;
    send_map(0, 9, QUEUE_CLOSED, false);
    UNTIL(w.r->counts.maps_refused == 1);
    w.map_epoch = 3;
    send_map(1, 2, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 2);
    cr_expect_eq(w.regs, regs);
    cr_expect_eq(call("GET", ticket_path(3, 1), ""), 200);
}

/* It could only be misunderstood: what is here serves on, and nothing is asked for. */
Test(router, a_map_of_a_newer_format_is_left_alone)
{
    unsigned regs = w.regs;

    w.map_format = MAP_FORMAT + 1;
    send_map(5, 6, QUEUE_CLOSED, false);
    send_map(5, 7, QUEUE_CLOSED, false);
    UNTIL(w.r->counts.maps_refused == 2);
    cr_expect_eq(routes_version(w.r->routes), 5);
    w.map_format = MAP_FORMAT;
    send_map(5, 8, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 8);
    cr_expect_eq(w.regs, regs);
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", ""), 201);
}

Test(router, an_early_disconnect_hurts_nobody)
{
    struct linger hard = { 1, 0 };

    w.hold = true;
    say("GET", ticket_path(3, 1), "");
    UNTIL(w.places == 1);
    setsockopt(w.fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    close(w.fd);
    UNTIL(httpd_counts(w.r->httpd)->conns_now == 0);
    UNTIL(w.r->flows.n == 0);
    w.hold = false;
    dial();
    cr_expect_eq(call("GET", ticket_path(3, 1), ""), 200);
}

TestSuite(router_alone, .init = setup, .fini = teardown, .timeout = 200);

Test(router_alone, without_a_map_everything_is_503)
{
    cr_expect_eq(call("GET", "/healthz", ""), 200);
    cr_expect_eq(call("GET", "/readyz", ""), 503);
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", ""), 503);
    cr_expect_eq(call("GET", ticket_path(3, 1), ""), 503);
    cr_expect_eq(call("DELETE", ticket_path(3, 1), ""), 503);
    cr_expect_eq(call("GET", "/v1/queues/login", ""), 503);
    cr_expect_eq(call("GET", "/.well-known/jwks.json", ""), 503);
}

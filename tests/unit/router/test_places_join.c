/* test_places_join.c: a join of several queues that comes to nothing, or nearly, at a whole router: it is answered
 * in time, and no place is left that nobody has. */
#include "tests/lib/routerrig.h"

#include "router/calls/places_call.h"

#define JSON "Content-Type: application/json\r\n"
#define KEY  JSON "Idempotency-Key: 0123456789abcdef\r\n"
#define BODY "{\"queues\":[\"login\",\"rides\"]}"

static void set_up(void)
{
    queue_binds = BIND_NONE;
    second_queue = true;
    setup_all();
    w.cfg.join_groups = true;
    send_map(0, 6, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 6);
}

static void end(void)
{
    teardown();
    second_queue = false;
}

TestSuite(places_join, .init = set_up, .fini = end, .timeout = 60);

static bool is_quiet(void)
{
    return w.r->flows.n == 0 && w.r->places.n == 0 && w.r->places_behind.n == 0 && w.r->n_late == 0;
}

static void say_one_late(void)
{
    say_late(0, w.n_late, false);
    w.mute = 0;
}

Test(places_join, a_place_that_was_joined_without_its_key_is_given_back)
{
    w.unsure = 1;
    w.refused = 4;
    cr_expect_eq(call_with("POST", "/v1/places", KEY, BODY), 503, "%s", got);
    cr_expect_eq(w.appends, 1);
    UNTIL(w.drops == 1);
    cr_expect_eq(w.heir, 0, "its node knows no name that keeps it");
}

Test(places_join, a_place_that_comes_behind_the_answer_is_given_back)
{
    static const struct { const char *fields; uint64_t heir; } how[] = { { JSON, 0 }, { KEY, DROP_UNLESS_KEPT } };

    for (unsigned i = 0; i < 2; i++) {
        w.mute = 4;
        w.drops = w.n_late = 0;
        cr_expect_eq(call_with("POST", "/v1/places", how[i].fields, BODY), 503, "%s", got);
        cr_expect_not_null(strstr(got, "rides"));
        UNTIL(w.drops == 1 && w.r->places_behind.n == 0);
        cr_expect_eq(w.r->n_late, 1);
        say_one_late();
        UNTIL(w.drops == 2 && is_quiet());
        cr_expect_eq(w.heir, how[i].heir);
    }
}

/* From one deadline to the next. */
Test(places_join, a_place_is_waited_for_until_its_link_ends)
{
    int64_t since_ms = now_ms();

    w.mute = 4;
    cr_expect_eq(call_with("POST", "/v1/places", JSON, BODY), 503);
    UNTIL(now_ms() - since_ms > 3 * w.cfg.request_timeout);
    cr_expect_eq(w.r->n_late, 1);
    rpc_chan_close(w.seg_ch, "killed");
    UNTIL(is_quiet());
}

/* Its node does not take the link: the join waits in the router, and goes no further. */
Test(places_join, a_join_that_was_not_sent_is_waited_for_by_nobody)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int64_t since_ms;

    cr_assert(bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0 && listen(fd, 1) == 0);
    getsockname(fd, (struct sockaddr *)&a, &len);
    snprintf(w.seg_addr, sizeof(w.seg_addr), "127.0.0.1:%d", ntohs(a.sin_port));
    send_map(0, 7, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 7);
    since_ms = now_ms();
    cr_expect_eq(call_with("POST", "/v1/places", JSON, BODY), 503);
    cr_expect_geq(now_ms() - since_ms, w.cfg.request_timeout);
    cr_expect_eq(w.r->n_late, 0);
    close(fd);
}

Test(places_join, a_found_place_that_its_node_counts_late_is_given_back)
{
    w.found = w.counts = true;
    w.mute = 4;
    cr_expect_eq(call_with("POST", "/v1/places", KEY, BODY), 503);
    say_one_late();
    UNTIL(w.drops == 2 && is_quiet());
    w.counts = false;
    w.mute = 4;
    w.n_late = 0;
    cr_expect_eq(call_with("POST", "/v1/places", KEY, BODY), 503);
    say_one_late();
    UNTIL(is_quiet());
    cr_expect_eq(w.drops, 2, "who does not count it would end it for another one");
}

Test(places_join, it_is_answered_in_the_time_of_a_request_and_goes_on_giving_back)
{
    int64_t since_ms = now_ms();

    w.mute = 4;
    w.mute_drops = true;
    cr_expect_eq(call_with("POST", "/v1/places", KEY, BODY), 503);
    cr_expect_lt(now_ms() - since_ms, 2 * w.cfg.request_timeout, "the join had all of its time, the leave none");
    say_one_late();
    UNTIL(w.drops == 2);
    cr_expect_eq(w.heir, DROP_UNLESS_KEPT);
    UNTIL(now_ms() - since_ms > 3 * w.cfg.request_timeout);
    cr_expect_eq(w.drops, 2, "said twice it would count twice");
    cr_expect_eq(w.r->n_late, 2);
    w.mute_drops = false;
    rpc_chan_close(w.seg_ch, "killed");
    UNTIL(w.drops == 4 && is_quiet());
    cr_expect_eq(w.heir, DROP_UNLESS_FOUND, "the node may have heard the first");
}

/* Others' requests need flows, too. */
Test(places_join, only_so_many_places_are_given_back_behind_answers)
{
    w.mute = 4;
    w.r->n_late = RFLOW_LATE_MAX;
    cr_expect_eq(call_with("POST", "/v1/places", JSON, BODY), 503);
    UNTIL(w.drops == 1);
    cr_expect_eq(w.r->n_late, RFLOW_LATE_MAX);
    say_one_late();
    w.r->n_late = 0;
    cr_expect_eq(call_with("POST", "/v1/places", JSON, BODY), 201, "%s", got);
    cr_expect_eq(w.drops, 1, "its answer found nobody");
    UNTIL(is_quiet());
}

/* It comes back. */
Test(places_join, a_place_whose_node_is_away_is_given_back_later)
{
    int64_t since_ms = now_ms();

    w.mute = 4;
    say_with("POST", "/v1/places", JSON, BODY);
    UNTIL(w.n_late == 1);
    rpc_free(w.seg); /* login's place is there */
    n_got = 0;
    got[0] = '\0';
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(atoi(got + 9), 503);
    UNTIL(now_ms() - since_ms > 3 * w.cfg.request_timeout);
    cr_expect_eq(w.r->n_late, 1);
    start_segment(w.seg_addr);
    UNTIL(w.drops == 1 && is_quiet());
}

/* Closing says that nobody reads answers. */
static void leave_abruptly(void)
{
    struct linger l = { .l_onoff = 1 };

    setsockopt(w.fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
    close(w.fd);
    dial();
    UNTIL(w.r->places_behind.n == 1);
}

/* One of its nodes answers when the client has gone. */
static void joins_and_goes(const char *head)
{
    w.mute = 4;
    say_with("POST", "/v1/places", head, BODY);
    UNTIL(w.n_late == 1);
    leave_abruptly();
    say_one_late();
}

Test(places_join, nobody_has_the_places_of_who_went_without_a_name)
{
    joins_and_goes(JSON);
    UNTIL(w.drops == 2 && is_quiet());
}

Test(places_join, who_has_a_key_finds_the_places_again)
{
    joins_and_goes(KEY);
    UNTIL(is_quiet());
    cr_expect_eq(w.drops, 0);
}

/* Its name is all that is known of the places. */
Test(places_join, a_turn_at_once_whose_other_places_stay_away_is_told_as_places)
{
    char path[400];

    w.enters = 4;
    w.mute_drops = true;
    cr_expect_eq(call_with("POST", "/v1/places", JSON, BODY), 201, "%s", got);
    cr_expect_str_eq(str("state"), "waiting");
    cr_expect_null(strstr(got, "pass\""), "no turn is told yet");
    cr_expect_null(strstr(got, "\"admitted\""));
    cr_expect_eq(num("poll_after_ms"), 1000);
    w.mute_drops = false;
    snprintf(path, sizeof(path), "/v1/places/%s", str("group"));
    cr_expect_eq(call("GET", path, ""), 200);
    cr_expect_str_eq(str("state"), "admitted");
    cr_expect_str_eq(str("pass"), "a.b.c");
    UNTIL(is_quiet());
}

Test(places_join, a_poll_is_answered_in_the_time_of_a_request)
{
    char path[400];
    int64_t since_ms;

    w.enters = 4;
    w.mute_drops = true;
    cr_expect_eq(call_with("POST", "/v1/places", JSON, BODY), 201);
    snprintf(path, sizeof(path), "/v1/places/%s", str("group"));
    since_ms = now_ms();
    cr_expect_eq(call("GET", path, ""), 503);
    cr_expect_lt(now_ms() - since_ms, 2 * w.cfg.request_timeout);
}

static void note(void *flag)
{
    *(bool *)flag = true;
}

Test(places_join, a_router_that_ends_gives_back_first)
{
    bool ended = false;

    w.mute = 4;
    w.mute_drops = true;
    cr_expect_eq(call_with("POST", "/v1/places", JSON, BODY), 503);
    router_drain(w.r, note, &ended);
    say_one_late();
    UNTIL(w.drops == 2);
    cr_expect_not(ended);
    w.mute_drops = false;
    rpc_chan_close(w.seg_ch, "killed");
    UNTIL(ended);
    cr_expect(is_quiet());
}

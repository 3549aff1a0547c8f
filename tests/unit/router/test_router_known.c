/* test_router_known.c: polls that a router answers from what the node has pushed: the same bytes as
 * when it asks, and whom it asks all the same. */
#include "tests/lib/routerrig.h"

static bool has_replica(void)
{
    const struct stream *st = replicas_stream(&w.r->replicas, 1);

    return st != NULL && st->state == STREAM_LIVE;
}

static void setup_known(void)
{
    replica_fresh = 60000;
    setup_all();
    UNTIL(has_replica());
}

TestSuite(router_known, .init = setup_known, .fini = teardown, .timeout = 200);

/* The answer in `got` without its date. */
static const char *dateless(void)
{
    static char t[2000];
    const char *date = strstr(got, "Date: ");

    cr_assert(date != NULL && n_got < sizeof(t));
    snprintf(t, sizeof(t), "%.*s%s", (int)(date - got), got, strchr(date, '\n') + 1);
    return t;
}

static void expect_asked(unsigned asked, const char *what)
{
    cr_expect_eq(w.places, asked, "%s: %u polls were asked", what, w.places);
    w.places = 0;
}

Test(router_known, the_answer_is_the_same_as_when_the_node_is_asked)
{
    static const uint32_t numbers[] = { 1, 9, 10, 42, 499, 500, 501, 999 };
    char known[2000];

    for (unsigned i = 0; i < ARRAY_LEN(numbers); i++) {
        w.r->replicas.fresh_ms = replica_fresh;
        cr_assert_eq(call("GET", ticket_path(numbers[i], 1), ""), 200);
        cr_expect_eq(num("position"), numbers[i]);
        cr_expect_eq(num("poll_after_ms"), 3000);
        strcpy(known, dateless());
        expect_asked(0, "known");
        w.r->replicas.fresh_ms = 0;
        cr_assert_eq(call("GET", ticket_path(numbers[i], 1), ""), 200);
        cr_expect_str_eq(dateless(), known);
        expect_asked(1, "not known");
    }
    UNTIL(w.seen > 0);
    cr_expect_eq(w.r->counts.polls, 2 * ARRAY_LEN(numbers));
    cr_expect_eq(w.r->poll_us.n, 2 * ARRAY_LEN(numbers));
    cr_expect_eq(w.r->replicas.polls[BY_REPLICA], ARRAY_LEN(numbers));
}

Test(router_known, who_does_not_wait_is_asked_for)
{
    cr_expect_eq(call("GET", ticket_path(N_ADMITTED, 1), ""), 200);
    cr_expect_str_eq(str("state"), "admitted");
    expect_asked(1, "admitted");
    cr_expect_eq(call("GET", ticket_path(N_GONE, 1), ""), 410);
    expect_asked(1, "gone");
    cr_expect_eq(call("GET", ticket_path(0, 1), ""), 200);
    expect_asked(1, "no bit");
    cr_expect_eq(w.r->replicas.polls[BY_ASKING_TICKET], 3, "each is counted once");
    cr_expect_eq(call("DELETE", ticket_path(42, 1), ""), 204);
    cr_expect_eq(call("GET", ticket_path(42, 1), ""), 200);
    expect_asked(1, "it has left");
}

Test(router_known, what_is_special_is_answered_from_it_too)
{
    char path[100];

    strcpy(path, ticket_path(42, 1));
    say("GET", path, "");
    cr_expect_eq(call("GET", path, ""), 200, "one behind the other");
    n_got = 0;
    say_with("HEAD", path, "", "");
    UNTIL((more(), strstr(got, "\r\n\r\n") != NULL));
    cr_expect(strstr(got, "Content-Length: ") && !strchr(got, '{'));
    w.message = "Come back soon.";
    send_map(5, 6, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 6);
    cr_expect_eq(call("GET", path, ""), 200);
    cr_expect_str_eq(str("message"), w.message);
    w.message = "A message that is long enough to have no place among the pieces of answers, of which "
                "each is short.";
    send_map(6, 7, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 7);
    cr_expect_eq(call("GET", path, ""), 200);
    cr_expect_str_eq(str("message"), w.message);
    expect_asked(0, "all");
    cr_expect_eq(call_with("GET", path, "Connection: close\r\n", ""), 200);
    expect_asked(0, "the last one of its connection");
}

Test(router_known, a_poll_too_soon_leaves_no_mark)
{
    unsigned refused = 0;

    limit_set(w.r->gate.limit, LIMIT_POLL, 0.001, 2);
    for (int i = 0; i < 4; i++)
        refused += call("GET", ticket_path(42, 1), "") == 429;
    cr_expect_eq(refused, 2);
    cr_expect_eq(w.r->replicas.polls[BY_REPLICA], 2);
}

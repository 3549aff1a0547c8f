/* test_take_many.c: a worker takes from several queues in one request, through a whole router. */
#include "tests/lib/taskhttprig.h"

#include "common/task/state.h"

TestSuite(take_many, .init = set_up, .fini = tear_down, .timeout = 60);

#define BOTH "\"queues\":[\"images\",\"ride/7\"]"

static int take_of(const char *body)
{
    return ask("POST", "/v1/tasks/take", body);
}

static void submit(const char *queue, unsigned n)
{
    char path[100];

    snprintf(path, sizeof(path), "/v1/queues/%s/tasks", queue);
    for (unsigned i = 0; i < n; i++)
        cr_assert_eq(ask("POST", path, "{}"), 201);
}

/* Tasks of the answer at hand that are of this queue. */
static unsigned of(const char *queue)
{
    unsigned n = 0;

    for (size_t i = 0; taken(i) != NULL; i++)
        n += strcmp(taken_str(i, "queue"), queue) == 0;
    return n;
}

Test(take_many, what_is_there_is_divided)
{
    submit("images", 5);
    submit("ride/7", 2);
    cr_assert_eq(take_of("{" BOTH ",\"n\":2}"), 200);
    cr_expect_eq(of("images"), 1);
    cr_expect_eq(of("ride/7"), 1);
    cr_assert_eq(take_of("{" BOTH ",\"n\":4}"), 200);
    cr_expect_eq(of("images"), 3, "the other one has no more");
    cr_expect_eq(of("ride/7"), 1);
    cr_assert_eq(take_of("{" BOTH ",\"n\":4}"), 200);
    cr_expect_eq(of("images"), 1);
    cr_assert_eq(take_of("{" BOTH ",\"n\":4}"), 200);
    cr_expect_null(taken(0));
    cr_expect_eq(node.given_back, 0, "nothing was taken that was too much");
}

/* Tasks of ride/7 that were in line as it got a pool of its own (strays_next()). */
Test(take_many, strays_of_a_queue_are_taken_too)
{
    submit("ride/7", 2);
    node.ride_7 = true;
    send_pools(4, 5, 9);
    UNTIL(w.r->tasking->counts.maps == 2);
    submit("ride/7", 1);
    submit("images", 1);
    cr_assert_eq(take_of("{" BOTH ",\"n\":10}"), 200);
    cr_expect_eq(of("ride/7"), 3);
    cr_expect_eq(of("images"), 1);
    cr_assert_eq(take_of("{" BOTH ",\"wait\":\"1s\"}"), 200);
    cr_expect_null(taken(0));
    cr_expect_eq(node.given_back, 0);
}

/* Those that a take had no room to ask for are asked for by the next one. */
Test(take_many, strays_have_their_turn_beside_a_queue_that_has_always_some)
{
    unsigned rides = 0;

    submit("ride/7", 2);
    node.ride_7 = true;
    send_pools(4, 5, 9);
    UNTIL(w.r->tasking->counts.maps == 2);
    submit("images", 8);
    for (unsigned i = 0; i < 8; i++) {
        cr_assert_eq(take_of("{" BOTH "}"), 200);
        rides += of("ride/7");
    }
    cr_expect_eq(rides, 2);
}

/* A worker that takes one at a time gets one of each in turn. */
Test(take_many, the_queues_take_turns)
{
    unsigned images = 0;

    submit("images", 4);
    submit("ride/7", 4);
    for (unsigned i = 0; i < 4; i++) {
        cr_assert_eq(take_of("{" BOTH "}"), 200);
        images += of("images");
    }
    cr_expect_eq(images, 2);
}

/* Two workers by turns, each with a list of its own: as if each were alone. */
Test(take_many, lists_take_turns_apart)
{
    unsigned images = 0;

    submit("images", 8);
    submit("ride/7", 8);
    for (unsigned i = 0; i < 4; i++) {
        cr_assert_eq(take_of("{" BOTH "}"), 200);
        images += of("images");
        cr_assert_eq(take_of("{\"queues\":[\"ride/7\",\"images\"]}"), 200);
        images += of("images");
    }
    cr_expect_eq(images, 4);
}

Test(take_many, a_token_is_judged_for_each_queue)
{
    uint32_t takes = node.takes;

    cr_expect_eq(call("POST", "/v1/tasks/take", "{" BOTH "}"), 401);
    cr_expect_eq(take_of("{\"queues\":[\"images\",\"other\"]}"), 403);
    cr_expect_not_null(strstr(str("detail"), "other"));
    cr_expect_eq(take_of("{\"queues\":[\"images\",\"gen\"]}"), 409);
    cr_expect_str_eq(str("code"), "queue_has_endpoint");
    cr_expect_eq(take_of(""), 400);
    cr_expect_eq(take_of("{\"queues\":[]}"), 400);
    cr_expect_eq(take_of("{\"queues\":[\"images\",\"images\"]}"), 400);
    cr_expect_eq(take_of("{\"queues\":[\"ride/*\"]}"), 400);
    cr_expect_eq(take_of("{\"queues\":\"images\"}"), 400);
    cr_expect_eq(take_of("{" BOTH ",\"queue\":\"images\"}"), 400);
    cr_expect_eq(ask("GET", "/v1/tasks/take", ""), 405);
    cr_expect_eq(node.takes, takes, "no node was asked");
}

/* Sends a take that waits, and waits until the node has both of its questions. */
static void wait_at_both(const char *wait)
{
    uint32_t takes = node.takes;
    char body[120];

    node.holds_waits = true;
    snprintf(body, sizeof(body), "{" BOTH ",\"wait\":\"%s\"}", wait);
    say_with("POST", "/v1/tasks/take", bearer, body);
    n_got = 0;
    UNTIL(node.takes == takes + 4);
    cr_assert_eq(node.n_held, 2);
}

/* A task that comes while the worker waits. */
static void submit_as_kept(const char *queue)
{
    struct kept *k = &node.v[++node.n];

    strcpy(k->queue, queue);
    k->state = TASK_WAITING;
}

static void give(unsigned held, task_no no)
{
    static struct taken_row row;
    struct msg m = { .type = MSG_TASK_TAKE_ANS, .task_take_ans = { .n = no != 0, .v = &row } };

    row = (struct taken_row){ .no = no, .attempt = 1, .key1 = "", .key2 = "" };
    if (no != 0) {
        node.v[no].state = TASK_RUNNING;
        row.lease = lease_of(no);
    }
    send_msg(node.ch, &m, node.held[held]);
}

Test(take_many, the_first_that_has_something_answers_and_the_others_waits_end)
{
    wait_at_both("30s");
    submit_as_kept("ride/7");
    submit_as_kept("images");
    give(1, 1);
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(atoi(got + 9), 200);
    cr_expect_not_null(strstr(got, "\"queue\":\"ride/7\""), "%s", got);
    UNTIL(node.unheard == node.held[0]);
    give(0, 2); /* handed out in that moment */
    UNTIL(node.given_back == 1);
    cr_expect_eq(node.back[0], 2);
    UNTIL(w.r->tasking->calls.n == 0);
}

Test(take_many, a_worker_that_goes_takes_nothing)
{
    wait_at_both("30s");
    submit_as_kept("images");
    close(w.fd);
    dial();
    UNTIL(ask("GET", "/v1/queues/images/tasks", "") == 200);
    give(0, 1);
    UNTIL(node.given_back == 1);
    give(1, 0);
    UNTIL(w.r->tasking->calls.n == 0);
}

/* The worker asks again at once, and the queue at that node is not left out for all of its wait. */
Test(take_many, a_lost_link_ends_the_wait)
{
    wait_at_both("30s");
    rpc_chan_close(node.ch, "as the test wants");
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(atoi(got + 9), 200, "%s", got);
    cr_expect_not_null(strstr(got, "\"tasks\":[]"));
    UNTIL(w.r->tasking->calls.n == 0);
}

/* A node that stops ends its takes with nothing, and others have its partitions at once. */
Test(take_many, a_wait_that_ends_early_ends_the_others)
{
    wait_at_both("30s");
    give(1, 0);
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(atoi(got + 9), 200, "%s", got);
    cr_expect_not_null(strstr(got, "\"tasks\":[]"));
    UNTIL(node.unheard == node.held[0]);
    give(0, 0);
    UNTIL(w.r->tasking->calls.n == 0);
}

/* The worker asks it again soon. */
Test(take_many, a_queue_that_cannot_be_asked_makes_the_wait_short)
{
    node.holds_waits = true;
    node.busy = "ride/7";
    say_with("POST", "/v1/tasks/take", bearer, "{" BOTH ",\"wait\":30}");
    n_got = 0;
    UNTIL(node.n_held == 2);
    cr_expect_leq(node.take_wait_ms, 1000);
    cr_expect_gt(node.take_wait_ms, 0);
    give(0, 0);
    give(1, 0);
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(atoi(got + 9), 200, "%s", got);
}

static void drained(void *arg)
{
    *(bool *)arg = true;
}

Test(take_many, a_router_that_drains_ends_its_waits)
{
    bool done = false;

    wait_at_both("30s");
    router_drain(w.r, drained, &done);
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(atoi(got + 9), 200);
    give(0, 0); /* the other one was answered when the node heard that its takes end */
    UNTIL(done);
}

Test(take_many, no_node_has_any_of_them)
{
    send_pools(4, 5, 0);
    UNTIL(w.r->tasking->counts.maps == 2);
    cr_expect_eq(take_of("{" BOTH ",\"wait\":30}"), 503);
    cr_expect_str_eq(str("code"), "queue_unavailable");
}

/* All of its questions are overdue at once: the first of them ends the others. */
Test(take_many, nodes_that_never_answer_end_by_the_time_limit)
{
    wait_at_both("500ms");
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(atoi(got + 9), 200, "%s", got);
    cr_expect_not_null(strstr(got, "\"tasks\":[]"));
    UNTIL(w.r->tasking->calls.n == 0);
    cr_expect_eq(w.r->tasking->counts.overdue, 1);
}

/* A router holds no more for a worker than a node's answer or two. */
Test(take_many, large_payloads_end_the_round)
{
    static char large[300 << 10];
    uint32_t takes = node.takes;

    memset(large, 'x', sizeof(large) - 1);
    large[0] = large[sizeof(large) - 2] = '"';
    node.payload = large;
    for (char q[] = "ride/1"; q[5] <= '4'; q[5]++)
        submit(q, 1);
    cr_assert_eq(take_of("{\"queues\":[\"ride/1\",\"ride/2\",\"ride/3\",\"ride/4\"],\"n\":4}"), 200);
    cr_expect_not_null(taken(1));
    cr_expect_null(taken(2));
    cr_expect_eq(node.takes, takes + 2);
    cr_expect_eq(node.given_back, 0);
}

/* As any request: TASK_ASK_MS, not so long for each queue. */
Test(take_many, a_silent_node_is_not_asked_for_each_queue_in_turn)
{
    msec_t before = ev_now(w.ev);

    node.silent = true;
    cr_expect_eq(take_of("{\"queues\":[\"images\",\"ride/1\",\"ride/2\"]}"), 503);
    cr_expect_lt(ev_now(w.ev) - before, 2 * TASK_ASK_MS);
}

/* The leases of the others run. */
Test(take_many, what_is_there_is_not_held_back_for_a_silent_node)
{
    msec_t before = ev_now(w.ev);

    submit("images", 2);
    node.deaf = "ride/7";
    cr_assert_eq(take_of("{" BOTH ",\"n\":2}"), 200);
    cr_expect_eq(of("images"), 1);
    cr_expect_lt(ev_now(w.ev) - before, TASK_ASK_MS);
    cr_expect_eq(node.given_back, 0);
}

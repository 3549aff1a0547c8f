/* test_out_connections.c: connections to targets: kept, replaced, given up; calls that wait for one. */
#define _GNU_SOURCE 1 /* memmem */
#include <sys/resource.h>
#include <time.h>

#include "task/out/out_call.h"
#include "tests/unit/task/outrig.h"

TestSuite(out_connections, .init = setup, .fini = teardown);

Test(out_connections, without_a_descriptor_it_is_not_the_target_that_failed)
{
    struct rlimit was, low;
    int next = dup(0);

    cr_assert(next >= 0 && close(next) == 0 && getrlimit(RLIMIT_NOFILE, &was) == 0);
    low = was;
    low.rlim_cur = (rlim_t)next;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    call("GET", "");
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
    cr_expect_eq(got.fault, CALL_LOCAL, "%s", call_fault_word(got.fault));
}

static void with_60_connections(void)
{
    struct rlimit low = { 160, 160 };

    out_target_free(target);
    out_free(out);
    target = NULL;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    cr_assert_eq(out_new(&out, ev, &(struct err){ 0 }), 0);
    cr_expect_eq(out_calls_most(out), 120, "three quarters of the descriptors");
    cr_expect_eq(out->most_kept, 10, "a sixteenth");
    out->most_conns = out->most_kept = 60; /* both ends are in this process */
    curl_multi_setopt(out->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, 60L);
    target_url();
}

Test(out_connections, connections_leave_descriptors_to_others)
{
    int fd;

    with_60_connections();
    rig.answer = NULL;
    for (unsigned i = 0; i < 200; i++)
        cr_assert_neq(send_one("GET", "", 300), NULL);
    ev_turn(ev, false);
    fd = dup(0);
    cr_expect_geq(fd, 0);
    close(fd);
    WAIT(answers == 200);
}

Test(out_connections, a_kept_connection_that_has_ended_is_replaced)
{
    call("POST", "one");
    for (unsigned i = 0; i < TARGET_CONNS; i++)
        target_hang_up(&rig.conn[i]); /* in this very turn: the loop has not seen it */
    call("POST", "two");
    cr_expect_eq(got.fault, CALL_NONE, "%s", got.why);
    cr_expect(rig.connections == 2 && rig.requests == 2);
}

Test(out_connections, a_kept_connection_that_says_what_nobody_asked_for_is_not_used)
{
    rig.answer = OK "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    call("POST", "one");
    rig.answer = OK;
    call("POST", "two");
    cr_expect(got.n == 5 && memcmp(body, "hello", 5) == 0);
    cr_expect_eq(rig.connections, 2);
}

Test(out_connections, an_answer_may_come_before_the_request_is_sent)
{
    struct buf b;

    buf_init(&b);
    cr_assert_neq(buf_reserve(&b, 8000001), NULL);
    memset(b.data, 'x', 8000000);
    b.data[8000000] = 0;
    rig.hasty = true;
    rig.answer = "HTTP/1.1 413 Long\r\nContent-Length: 2\r\n\r\nno";
    call("POST", (const char *)b.data);
    cr_expect_eq(got.fault, CALL_NONE, "%s", got.why);
    cr_expect_eq(got.status, 413);
    WAIT(rig.closed == 1);
    buf_fini(&b);
}

/* When others end, which never had one. */
Test(out_connections, calls_that_wait_for_a_connection_cost_nothing)
{
    clock_t from;

    with_60_connections();
    rig.answer = NULL;
    for (unsigned i = 0; i < 12000; i++)
        cr_assert_neq(send_one("POST", "x", i < 6000 ? 400 : 60000), NULL);
    from = clock();
    while (answers < 6000)
        ev_turn(ev, true);
    for (unsigned i = 0; i < 3; i++)
        ev_turn(ev, false);
    cr_expect_lt(clock() - from, CLOCKS_PER_SEC / 4, "6000 x 6000 steps");
}

Test(out_connections, more_calls_than_connections_wait_for_one)
{
    with_60_connections();
    for (unsigned i = 0; i < 200; i++)
        cr_assert_neq(send_one("POST", "x", 5000), NULL);
    WAIT(answers == 200);
    cr_expect(rig.requests == 200 && got.fault == CALL_NONE);
    cr_expect_eq(rig.connections, 60);
}

/* Beside as many calls by libcurl as there may be they would take the descriptors that are left for others. */
Test(out_connections, few_are_kept_where_few_descriptors_are)
{
    with_60_connections();
    out->most_kept = 10;
    for (unsigned i = 0; i < 60; i++)
        cr_assert_neq(send_one("POST", "x", 5000), NULL);
    WAIT(answers == 60);
    cr_expect_eq(out->kept.n, 10);
    cr_expect_eq(out->n_conns, 10);
}

/* A second target, beside `target`, at a machine of its own. */
static struct targetrig rig2;

static struct out_target *second_target(void)
{
    struct out_target *first = target;
    char url[128];

    target_init(&rig2, ev);
    rig2.answer = OK;
    snprintf(url, sizeof(url), "http://%s", rig2.addr);
    target = NULL;
    make_target(url, "127.0.0.0/8");
    return first;
}

static void end_second(struct out_target *first)
{
    out_target_free(target);
    target = first;
    target_fini(&rig2);
}

Test(out_connections, a_slow_target_with_many_calls_does_not_stand_before_others)
{
    struct out_target *first;

    with_60_connections();
    rig.answer = NULL;
    for (unsigned i = 0; i < 200; i++)
        cr_assert_neq(send_one("POST", "x", i < 60 ? 300 : 60000), NULL);
    first = second_target();
    cr_assert_neq(send_one("POST", "x", 30000), NULL);
    WAIT(answers == 61);
    cr_expect_eq(got.fault, CALL_NONE, "%s", got.why);
    cr_expect_eq(rig2.requests, 1);
    end_second(first);
}

Test(out_connections, the_connection_kept_longest_gives_way)
{
    struct out_target *first, *third;
    unsigned before;

    with_60_connections();
    call("POST", "x");
    first = second_target();
    before = answers;
    for (unsigned i = 0; i < 59; i++)
        cr_assert_neq(send_one("POST", "x", 5000), NULL);
    WAIT(answers == before + 59);
    third = target;
    target = first;
    call("POST", "x");
    target = NULL;
    target_url(); /* another one at the first machine */
    call("POST", "x");
    cr_expect_eq(rig.connections, 2);
    WAIT(rig2.closed == 1);
    cr_expect_eq(rig.closed, 0, "its connection was used last");
    out_target_free(target);
    target = third;
    end_second(first);
}

Test(out_connections, a_call_by_libcurl_that_gets_no_connection_is_not_the_targets_fault)
{
    struct out_rules r = { .connect_ms = 1000, .proxy = "",
                           .by_curl = true };
    char url[128];

    with_60_connections();
    rig.answer = NULL;
    snprintf(url, sizeof(url), "http://%s", rig.addr);
    r.url = url;
    cr_assert(ip_net_parse(&r.allow[r.n_allow++], "127.0.0.0/8"));
    out_target_free(target);
    cr_assert_eq(out_target_new(&target, out, &r, &(struct err){ 0 }), 0);
    for (unsigned i = 0; i < 60; i++)
        cr_assert_neq(send_one("POST", "x", 60000), NULL);
    WAIT(rig.requests == 60);
    cr_assert_neq(send_one("POST", "x", 200), NULL);
    WAIT(answers == 1);
    cr_expect_eq(got.fault, CALL_LOCAL, "%s: %s", call_fault_word(got.fault), got.why);
    cr_expect_str_eq(got.why, "no connection became free before its deadline");
}

/* test_tasks_faults.c: the API of tasks through a whole router while the node is behind, full, silent
 * or gone, the client goes, or the router drains. */
#include "tests/lib/taskhttprig.h"

#include "common/task/state.h"
#include "router/task_api/answer.h"

TestSuite(tasks_faults, .init = set_up, .fini = tear_down, .timeout = 60);

Test(tasks_faults, a_node_that_is_behind_is_asked_again)
{
    node.stale = 1; /* the map is as it should be: the node was late */
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 201);
    node.epoch = 6; /* the router's map is old: until it has a newer one */
    say_with("POST", "/v1/queues/images/tasks", bearer, "{\"payload\":7}");
    n_got = 0;
    UNTIL(w.r->tasking->waiting.n == 1);
    send_pools(4, 6, 9);
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(atoi(got + 9), 201);
    send_pools(3, 5, 9); /* of a former leader */
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 201);
    cr_expect_eq(w.r->tasking->pools.map.epoch, 4);
}

/* Who submits cannot know which bound it is by "no room" alone. */
Test(tasks_faults, no_room_names_the_bound_that_is_reached)
{
    for (enum task_full f = FULL_NONE; f < TASK_NFULLS; f++) {
        struct task_outcome o = task_put_outcome(CODE_FULL + f);

        cr_expect_eq(o.status, f == FULL_WAIT || f == FULL_QUOTA ? 429 : 503);
        cr_expect_not_null(strstr(o.detail, task_full_words(f).says), "%s", o.detail);
    }
}

Test(tasks_faults, units_without_room_are_refused_with_the_bound_and_the_range)
{
    static const char says[] = "there is no room for a task of 70 units now: 950 of at most 1000 wait in its queue "
                               "(max_waiting_units), 1 to 50 would fit; submit again later";

    node.full = "images";
    node.full_by = FULL_UNITS;
    node.full_units = 950;
    node.full_max_units = 1000;
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{\"payload\":1,\"cost\":70}"), 503);
    cr_expect_str_eq(str("code"), "queue_full");
    cr_expect_str_eq(str("detail"), says);
    cr_expect(strstr(got, "Retry-After: 3\r\n") != NULL, "%s", got);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks/batch", "[{\"payload\":1,\"cost\":70}]"), 207);
    cr_expect(strstr(got, says) != NULL && strstr(got, "\"retry_after_s\":3") != NULL, "%s", got);
    node.full_units = 1000;
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{\"payload\":1}"), 503);
    cr_expect_str_eq(str("detail"), "there is no room for a task of 1 units now: 1000 of at most 1000 wait in its "
                                    "queue (max_waiting_units), none would fit; submit again later");
}

Test(tasks_faults, nobody_has_the_partition)
{
    send_pools(4, 5, 0);
    UNTIL(w.r->tasking->counts.maps == 2);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 503);
    for (int i = 0; i < 10; i++) {
        cr_expect(strstr(got, "Retry-After: 1\r\n") != NULL, "%s", got); /* a node is awaited */
        cr_expect_str_eq(str("code"), "queue_unavailable");
        cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 503);
    }
}

Test(tasks_faults, a_broken_link_costs_503_but_what_may_be_repeated_is)
{
    char addr[64];

    strcpy(addr, node.addr);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{\"name\":\"a\"}"), 201);
    node.silent = true;
    node.n = 0;
    say_with("POST", "/v1/queues/images/tasks", bearer, "{}");
    n_got = 0;
    UNTIL(node.n == 1);
    rpc_free(node.rpc);
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(atoi(got + 9), 503);
    cr_expect(strstr(got, "it may have been done") != NULL);
    cr_expect(strstr(got, "\"outcome_unknown\"") != NULL);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 503);
    start_node(addr);
    UNTIL(link_is_up());
    say_with("POST", "/v1/queues/images/tasks", bearer, "{\"name\":\"b\"}");
    n_got = 0;
    UNTIL(strcmp(node.v[node.n].name, "b") == 0);
    node.silent = false;
    rpc_free(node.rpc);
    start_node(addr);
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(atoi(got + 9), 200); /* the same again */
}

Test(tasks_faults, what_a_node_may_have_done_that_did_not_come_back_is_not_told_as_nothing)
{
    node.silent = true;
    node.n = 0;
    say_with("POST", "/v1/queues/images/tasks", bearer, "{\"name\":\"a\"}");
    n_got = 0;
    UNTIL(node.n == 1);
    rpc_free(node.rpc);
    node.rpc = NULL;
    UNTIL((more(), whole(got) > 0)); /* after TASK_ASK_MS */
    cr_expect_eq(atoi(got + 9), 503);
    cr_expect(strstr(got, "\"outcome_unknown\"") != NULL, "%s", got);
}

Test(tasks_faults, what_was_taken_for_a_worker_that_has_gone_goes_back)
{
    struct taken_row row = { .no = 1, .key1 = "", .key2 = "" };
    struct msg m = { .type = MSG_TASK_TAKE_ANS, .task_take_ans = { .n = 1, .v = &row } };
    uint32_t before = node.frames;
    uint64_t reads;

    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 201);
    node.silent = true;
    say_with("POST", "/v1/queues/images/tasks/take", bearer, "{\"wait\":30}");
    UNTIL(node.frames >= before + 2);
    reads = httpd_counts(w.r->httpd)->reads;
    close(w.fd);
    dial();
    UNTIL(httpd_counts(w.r->httpd)->reads > reads);
    node.silent = false;
    node.v[1].state = TASK_RUNNING;
    row.lease = lease_of(1);
    send_msg(node.ch, &m, node.last_rid);
    UNTIL(node.given_back == 1);
    cr_expect_eq(node.v[1].state, TASK_WAITING, "with no attempt spent");
}

/* The link breaks under the word: it is said again, the last task first, which gets in front first. */
Test(tasks_faults, what_goes_back_is_said_again_when_the_link_broke_under_it)
{
    struct taken_row rows[2] = { { .no = 1, .key1 = "", .key2 = "" }, { .no = 2, .key1 = "", .key2 = "" } };
    struct msg m = { .type = MSG_TASK_TAKE_ANS, .task_take_ans = { .n = 2, .v = rows } };
    uint32_t takes = node.takes;
    uint64_t reads;

    cr_assert_eq(ask("POST", "/v1/queues/images/tasks/batch", "[{},{}]"), 207);
    node.holds = true;
    node.take_code = CODE_BUSY;
    say_with("POST", "/v1/queues/images/tasks/take", bearer, "{\"n\":2,\"wait\":30}");
    UNTIL(node.takes == takes + 1);
    reads = httpd_counts(w.r->httpd)->reads;
    close(w.fd);
    dial();
    UNTIL(httpd_counts(w.r->httpd)->reads > reads);
    for (uint32_t i = 0; i < 2; i++) {
        node.v[i + 1].state = TASK_RUNNING;
        rows[i].lease = lease_of(i + 1);
    }
    node.breaks = true;
    send_msg(node.ch, &m, node.held_rid);
    UNTIL(node.given_back == 2);
    cr_expect(!node.breaks && node.back[0] == 2 && node.back[1] == 1);
    UNTIL(w.r->tasking->calls.n == 0);
}

/* Whether the node gave it something nobody knows: it is told that nothing was heard. */
Test(tasks_faults, a_take_whose_link_broke_is_told_as_unheard_when_it_is_up_again)
{
    uint32_t takes = node.takes;
    uint64_t rid;

    node.holds = true;
    say_with("POST", "/v1/queues/images/tasks/take", bearer, "{\"wait\":30}");
    n_got = 0;
    UNTIL(node.takes == takes + 1);
    rid = node.held_rid;
    rpc_chan_close(node.ch, "as the test wants");
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(atoi(got + 9), 503);
    UNTIL(node.unheard == rid);
    UNTIL(w.r->tasking->calls.n == 0);
    cr_expect_eq(w.r->tasking->counts.unheard, 1);
}

static void drained(void *arg)
{
    *(bool *)arg = true;
}

/* Its client would not learn that the ack is done if the router ended under the wait. */
Test(tasks_faults, a_router_that_drains_ends_the_waits_of_takes)
{
    char path[200], body[200], lease[LEASE_TEXT_LEN + 1] = { 0 };
    uint32_t takes;
    bool done = false;

    cr_assert_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 201);
    cr_assert_eq(ask("POST", "/v1/queues/images/tasks/take", "{}"), 200);
    lease_write(lease_of(1), lease);
    snprintf(path, sizeof(path), "/v1/tasks/%s/ack", taken_str(0, "task"));
    snprintf(body, sizeof(body), "{\"lease_id\":\"%s\",\"take\":{\"queue\":\"images\",\"wait\":\"20s\"}}",
             lease);
    node.holds = true;
    takes = node.takes;
    say_with("POST", path, bearer, body);
    n_got = 0;
    UNTIL(node.takes == takes + 1);
    router_drain(w.r, drained, &done);
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(atoi(got + 9), 200);
    cr_expect(strstr(got, "\"succeeded\"") != NULL && strstr(got, "\"tasks\":[]}") != NULL, "%s", got);
    UNTIL(done);
    cr_expect_eq(w.r->tasking->calls.n, 0);
    cr_expect(node.ends_takes, "the node does not hand out a task to a router that ends");
}

/* Its node hands out a task in this very moment: the router ends when that has gone back. */
Test(tasks_faults, a_router_that_drains_gives_back_what_comes_late)
{
    struct taken_row row = { .no = 1, .key1 = "", .key2 = "" };
    struct msg m = { .type = MSG_TASK_TAKE_ANS, .task_take_ans = { .n = 1, .v = &row } };
    uint32_t takes = node.takes;
    bool done = false;
    uint64_t rid;

    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 201);
    node.silent = true;
    say_with("POST", "/v1/queues/images/tasks/take", bearer, "{\"wait\":30}");
    UNTIL(node.takes == takes + 1);
    rid = node.held_rid;
    router_drain(w.r, drained, &done);
    UNTIL((more(), whole(got) > 0));
    node.v[1].state = TASK_RUNNING;
    row.lease = lease_of(1);
    node.held_rid = 0;
    send_msg(node.ch, &m, rid);
    node.silent = false;
    UNTIL(node.given_back == 1);
    cr_expect_eq(node.v[1].state, TASK_WAITING);
    UNTIL(done);
}

/* The ack is done; then, its node says that the partition moves, and the client goes. */
Test(tasks_faults, a_client_that_goes_between_its_ack_and_its_take_gets_nothing)
{
    char path[200], body[200], lease[LEASE_TEXT_LEN + 1] = { 0 };
    uint64_t reads;
    uint32_t takes;

    cr_assert_eq(ask("POST", "/v1/queues/images/tasks/batch", "[{},{}]"), 207);
    cr_assert_eq(ask("POST", "/v1/queues/images/tasks/take", "{}"), 200);
    lease_write(lease_of(1), lease);
    snprintf(path, sizeof(path), "/v1/tasks/%s/ack", taken_str(0, "task"));
    snprintf(body, sizeof(body), "{\"lease_id\":\"%s\",\"take\":{\"queue\":\"images\"}}", lease);
    node.take_code = CODE_STALE;
    takes = node.takes;
    say_with("POST", path, bearer, body);
    UNTIL(w.r->tasking->waiting.n == 1);
    cr_expect_eq(node.v[1].state, TASK_SUCCEEDED);
    reads = httpd_counts(w.r->httpd)->reads;
    close(w.fd);
    dial();
    UNTIL(httpd_counts(w.r->httpd)->reads > reads);
    node.take_code = CODE_DONE;
    UNTIL(w.r->tasking->calls.n == 0); /* at the next tick */
    cr_expect_eq(node.v[2].state, TASK_WAITING);
    cr_expect_eq(node.takes, takes + 1, "not asked again: nobody would get it");
}

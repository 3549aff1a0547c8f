/* test_calls_http.c: /v1/call through a whole router: what is passed on, long answers, clients that
 * go, and what a target says later. */
#include "tests/lib/taskhttprig.h"

TestSuite(tasks_http, .init = set_up, .fini = tear_down, .timeout = 60);

/* ---- calls to an endpoint ---------------------------------------------------------------- */

#define GEN "/v1/queues/gen/tasks"

Test(tasks_http, a_queue_with_an_endpoint_takes_calls_and_no_worker)
{
    cr_expect_eq(ask("POST", GEN, "{\"path\":\"/a\",\"method\":\"PUT\",\"body\":\"x\"}"), 201);
    cr_expect_str_eq(node.v[1].body, "PUT /a");
    cr_expect_eq(ask("POST", GEN, "{\"payload\":1}"), 400);
    cr_expect_eq(ask("POST", GEN, "{\"path\":\"/a\",\"payload\":1}"), 400);
    cr_expect_eq(ask("POST", GEN, "{}"), 400);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{\"path\":\"/a\"}"), 400);
    cr_expect_eq(ask("POST", GEN "/batch", "[{\"path\":\"/b\"},{\"path\":\"c\"},{\"payload\":1}]"), 207);
    cr_expect_eq(json_integer_value(json_object_get(json_array_get(js, 0), "status")), 201);
    cr_expect_eq(json_integer_value(json_object_get(json_array_get(js, 1), "status")), 400);
    cr_expect_eq(json_integer_value(json_object_get(json_array_get(js, 2), "status")), 400);
    cr_expect_eq(ask("POST", GEN "/take", "{}"), 409);
    cr_expect_str_eq(str("code"), "queue_has_endpoint");
    cr_expect_eq(node.n, 2);
}

Test(tasks_http, a_target_s_answer_is_its_own_and_no_page_of_ours)
{
    static char path[200];

    cr_assert_eq(ask("POST", GEN, "{\"path\":\"/a\"}"), 201);
    strcpy(path, task_path(""));
    node.v[1].state = TASK_SUCCEEDED;
    node.as.status = 203;
    node.as.content_type = "text/html";
    node.answers = "<b>";
    cr_expect_eq(call("GET", path, ""), 200);
    cr_expect_str_eq(str("kind"), "callback");
    cr_expect_str_eq(str("endpoint"), "gen");
    cr_expect_eq(num("status"), 203);
    cr_expect_null(json_object_get(js, "result"), "it is no JSON");
    cr_expect_eq(call("GET", strcat(strcpy(task, path), "/result"), ""), 200);
    cr_expect_not_null(strstr(got, "Content-Type: text/html\r\n"));
    cr_expect_not_null(strstr(got, "segq-status: 203\r\n"));
    cr_expect_not_null(strstr(got, "Content-Security-Policy: sandbox; default-src 'none'\r\n"));
    cr_expect_not_null(strstr(got, "Content-Disposition: attachment\r\n"));
    node.as.content_type = "application/problem+json; charset=utf-8";
    cr_expect_eq(call("GET", path, ""), 200);
    cr_expect_null(json_object_get(js, "result"), "it only says that it is");
    node.answers = "{\"a\":1}";
    cr_expect_eq(call("GET", path, ""), 200);
    cr_expect_eq(json_integer_value(json_object_get(json_object_get(js, "result"), "a")), 1);
    cr_expect_eq(call("GET", strcat(strcpy(task, path), "/result"), ""), 200);
    cr_expect_null(strstr(got, "Content-Disposition"));
}

static const char own[] = "segq-token: " TOKEN "\r\nAuthorization: Basic eA==\r\nPrefer: wait=30\r\n";

Test(tasks_http, a_request_is_passed_on_and_answered_as_the_target_answers)
{
    node.finishes = true;
    node.as.status = 201;
    node.as.content_type = "text/plain";
    node.answers = "made";
    cr_expect_eq(call_with("PUT", "/v1/call/gen/a%2Fb?c=%31", own, "{}"), 201, "%s", got);
    cr_expect_str_eq(node.v[1].body, "PUT /a%2Fb?c=%31", "as it came");
    cr_expect_eq(node.waits_ms, 30000);
    cr_expect_not_null(strstr(got, "\r\nsegq-location: /v1/tasks/"));
    node.finishes = false;
    cr_expect_eq(call_with("GET", "/v1/call/gen/", "Prefer: wait=2\r\nsegq-token: " TOKEN "\r\n", ""), 202);
    cr_expect_eq(node.waits_ms, 2000);
    cr_expect_str_eq(str("state"), "waiting");
    cr_expect_eq(call_with("GET", "/v1/call/gen/", "Prefer: wait=0\r\nsegq-token: " TOKEN "\r\n", ""), 202);
    cr_expect_not_null(strstr(got, "Retry-After: 1\r\n"));
}

Test(tasks_http, a_call_says_what_it_costs_in_a_header)
{
    static const char *const bad[] = { "0", "1000000001", "99999999999999999999999", "-1", "a", "" };
    char head[200];

    cr_expect_eq(call_with("GET", "/v1/call/gen/", "Prefer: wait=0\r\nsegq-cost: 4000\r\nsegq-token: " TOKEN "\r\n",
                           ""), 202);
    cr_expect_eq(node.v[node.n].own.cost, 4000 + 1);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        snprintf(head, sizeof(head), "Prefer: wait=0\r\nsegq-cost: %s\r\nsegq-token: " TOKEN "\r\n", bad[i]);
        cr_expect_eq(call_with("GET", "/v1/call/gen/", head, ""), 400, "%s", bad[i]);
        cr_expect_not_null(strstr(got, "segq-cost must be a whole number from 1 to 1000000000"));
    }
    cr_expect_eq(node.n, 1, "none of them was submitted");
}

#define DEAR "the cost is beyond what its pool allows: 1 to 6000 units (max_cost)"

Test(tasks_http, a_cost_beyond_what_the_pool_allows_is_refused_with_the_range)
{
    static const char *const many[][2] = { { "images", "[{\"payload\":1,\"cost\":6001},{\"payload\":1,\"cost\":6000}]" },
                                           { "gen", "[{\"path\":\"/a\",\"cost\":6001},{\"path\":\"/a\",\"cost\":6000}]" } };

    cr_expect_eq(call_with("GET", "/v1/call/gen/", "segq-cost: 6001\r\nsegq-token: " TOKEN "\r\n", ""), 400);
    cr_expect_str_eq(str("detail"), DEAR);
    cr_expect_eq(ask("POST", "/v1/queues/gen/tasks", "{\"path\":\"/a\",\"cost\":6001}"), 400);
    cr_expect_str_eq(str("detail"), DEAR);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{\"payload\":1,\"cost\":1000000000}"), 400);
    cr_expect_str_eq(str("detail"), DEAR);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks",
                     "{\"payload\":1,\"then\":{\"queue\":\"gen\",\"path\":\"/a\",\"cost\":6001}}"), 400);
    cr_expect_str_eq(str("detail"), "then: " DEAR);
    cr_expect_eq(node.n, 0, "none of them was submitted");
    for (unsigned i = 0; i < ARRAY_LEN(many); i++) {
        char path[64];

        snprintf(path, sizeof(path), "/v1/queues/%s/tasks/batch", many[i][0]);
        cr_expect_eq(ask("POST", path, many[i][1]), 207, "%s", got);
        cr_expect_not_null(strstr(got, DEAR), "%s", got);
        cr_expect_eq(node.n, i + 1);
        cr_expect_eq(node.v[node.n].own.cost, 6000 + 1);
    }
}

/* What the caller of /v1/call sees of an end. */
static int ends_as(uint8_t state, uint32_t status, uint32_t length)
{
    node.finishes = true;
    node.ends_as = state;
    node.as.status = status;
    node.as.content_type = "application/json";
    node.length = length;
    node.answers = "{\"a\":1}";
    return call_with("GET", "/v1/call/gen/x", own, "");
}

Test(tasks_http, a_call_that_ends_badly_is_answered_as_the_target_answered_last)
{
    cr_expect_eq(ends_as(TASK_DEAD, 404, 0), 404);
    cr_expect_not_null(strstr(got, "segq-state: dead\r\nsegq-status: 404\r\n"));
    cr_expect_not_null(strstr(got, "\r\n\r\n{\"a\":1}"));
    cr_expect_eq(ends_as(TASK_DEAD, 599, 0), 599);
    for (const uint32_t *s = (const uint32_t[]){ 101, 302, 600, 999, 0 };; s++) {
        cr_expect_eq(ends_as(TASK_DEAD, *s, 0), 502, "%u", *s);
        cr_expect_str_eq(str("code"), "endpoint_failed");
        if (*s == 0)
            break;
    }
    cr_expect_eq(ends_as(TASK_EXPIRED, 0, 0), 502);
    cr_expect_eq(ends_as(TASK_CANCELLED, 0, 0), 502);
}

Test(tasks_http, a_long_answer_is_cut_and_says_so)
{
    cr_expect_eq(ends_as(TASK_SUCCEEDED, 200, 70000), 200);
    cr_expect_not_null(strstr(got, "Content-Length: 7\r\n"));
    cr_expect_not_null(strstr(got, "segq-length: 70000\r\n"));
    cr_expect_not_null(strstr(got, "segq-truncated: true\r\n"));
    cr_expect_not_null(strstr(got, "Content-Type: application/octet-stream\r\n"));
}

/* ---- answers that the node keeps whole ---- */

#define LONG 500000

static char noise[LONG];

/* The node has a long answer: its head comes at once. */
static void a_long_one(uint32_t piece)
{
    for (uint32_t i = 0; i < LONG; i++)
        noise[i] = (char)('a' + i * 31 / 7 % 26);
    crypto_hash_sha256(node.sha256, (const uint8_t *)noise, LONG);
    node.whole = noise;
    node.whole_n = LONG;
    node.piece = piece;
}

/* The connection ends: what came behind the head. */
static size_t body_that_came(void)
{
    char end;

    UNTIL((more(), recv(w.fd, &end, 1, MSG_PEEK) == 0));
    close(w.fd);
    dial();
    return n_got - (size_t)(strstr(got, "\r\n\r\n") + 4 - got);
}

static void say_call(void)
{
    n_got = 0;
    got[0] = '\0';
    node.finishes = true;
    node.as.status = 200;
    node.as.content_type = "image/png";
    node.answers = "";
    say_with("GET", "/v1/call/gen/x", own, "");
}

Test(tasks_http, a_long_answer_passes_whole)
{
    a_long_one(70000);
    say_call();
    UNTIL((more(), whole(got) > 0));
    cr_expect_not_null(strstr(got, "Content-Length: 500000\r\n"));
    cr_expect_not_null(strstr(got, "Content-Type: image/png\r\n"));
    cr_expect_null(strstr(got, "segq-truncated"));
    cr_expect_eq(body_that_came(), LONG);
    cr_expect_eq(memcmp(strstr(got, "\r\n\r\n") + 4, noise, LONG), 0);
    cr_expect_eq(node.reads, 8, "of which the first 1000 bytes were there");
    cr_expect_eq(w.r->tasking->wholes.n, 0);
    cr_expect_eq(w.r->tasking->counts.wholes_broken, 0);
}

Test(tasks_http, a_long_answer_goes_on_when_its_node_is_back)
{
    a_long_one(70000);
    node.lose = 3;
    say_call();
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(body_that_came(), LONG);
    cr_expect_eq(memcmp(strstr(got, "\r\n\r\n") + 4, noise, LONG), 0);
}

/* Its link breaks while nothing is asked: the next piece is wanted while the node is away. */
Test(tasks_http, a_long_answer_waits_for_its_node)
{
    a_long_one(100000);
    node.mute = true;
    say_call();
    UNTIL(node.reads == 1);
    rpc_free(node.rpc);
    UNTIL(!task_link_is_up(w.r->tasking, 9));
    for (int64_t until = ev_now(w.ev) + 700; ev_now(w.ev) < until;) /* ticks ask in vain */
        ev_turn(w.ev, false);
    node.mute = false;
    start_node(node.addr);
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(body_that_came(), LONG);
    cr_expect_eq(w.r->tasking->counts.wholes_broken, 0);
}

Test(tasks_http, a_long_answer_whose_node_stays_away_ends_early)
{
    a_long_one(100000);
    node.mute = true;
    say_call();
    UNTIL(node.reads == 1);
    rpc_free(node.rpc);
    node.rpc = NULL;
    cr_expect_eq(body_that_came(), 1000);
    cr_expect_eq(w.r->tasking->counts.wholes_broken, 1);
    UNTIL(w.r->tasking->wholes.n == 0);
}

Test(tasks_http, a_long_answer_that_is_another_one_by_now_ends_early)
{
    a_long_one(100000);
    node.sha256[5] ^= 1;
    say_call();
    cr_expect_lt(body_that_came(), LONG, "not its last byte");
    cr_expect_eq(w.r->tasking->counts.wholes_broken, 1);
    UNTIL(w.r->tasking->wholes.n == 0);
}

Test(tasks_http, a_long_answer_that_goes_meanwhile_ends_early)
{
    a_long_one(100000);
    say_call();
    UNTIL(node.reads == 2);
    node.whole = NULL;
    cr_expect_lt(body_that_came(), LONG);
    UNTIL(w.r->tasking->wholes.n == 0);
}

Test(tasks_http, who_asks_for_the_head_alone_gets_that_of_the_part)
{
    char path[200];

    a_long_one(100000);
    say_call();
    UNTIL((more(), whole(got) > 0));
    snprintf(path, sizeof(path), "%.*s/result?ack=1", 10 + TASK_TOKEN_LEN,
             strstr(got, "segq-location: ") + 15);
    (void)body_that_came();
    n_got = 0;
    got[0] = '\0';
    say("HEAD", path, "");
    UNTIL((more(), strstr(got, "\r\n\r\n") != NULL));
    cr_expect_not_null(strstr(got, "segq-truncated: true\r\n"));
    cr_expect_eq(w.r->tasking->wholes.n, 0);
    n_got = 0;
    say("GET", path, "");
    cr_expect_eq(body_that_came(), LONG);
    UNTIL(node.discards > 0);
    cr_expect(node.discards == 1 && node.marks == 0, "the head was not all of it");
}

Test(tasks_http, a_client_that_goes_ends_the_reading)
{
    a_long_one(1000);
    say_call();
    UNTIL(node.reads >= 2);
    close(w.fd);
    dial();
    UNTIL(w.r->tasking->wholes.n == 0);
    cr_expect_lt(node.reads, LONG / 1000);
}

Test(tasks_http, one_task_takes_no_more_than_its_part_of_the_readers)
{
    char path[200];
    int fd[16];

    a_long_one(100000);
    node.mute = true;
    say_call();
    UNTIL((more(), strstr(got, "\r\n\r\n") != NULL));
    snprintf(path, sizeof(path), "%.*s/result", 10 + TASK_TOKEN_LEN, strstr(got, "segq-location: ") + 15);
    for (unsigned i = 0; i < 15; i++) {
        fd[i] = w.fd;
        dial();
        say("GET", path, "");
        UNTIL(w.r->tasking->wholes.n == i + 2);
    }
    fd[15] = w.fd;
    dial();
    cr_expect_eq(call("GET", path, ""), 503);
    say_call();
    UNTIL(w.r->tasking->wholes.n == 17); /* that of another one */
    for (unsigned i = 0; i < 16; i++)
        close(fd[i]);
}

Test(tasks_http, too_many_long_answers_are_put_off)
{
    static struct { /* others' */
        struct list_node in;
        char rest[1000];
    } fake[256];
    struct list *wholes = &w.r->tasking->wholes;
    char path[200];

    a_long_one(100000);
    for (unsigned i = 0; i < ARRAY_LEN(fake); i++)
        list_push_back(wholes, &fake[i].in);
    say_call();
    UNTIL((more(), whole(got) > 0));
    cr_expect_not_null(strstr(got, "HTTP/1.1 202 "));
    cr_expect_not_null(strstr(got, "Retry-After: 1\r\n"));
    snprintf(path, sizeof(path), "%.*s/result", 10 + TASK_TOKEN_LEN, strstr(got, "Location: ") + 10);
    cr_expect_eq(call("GET", path, ""), 503);
    for (unsigned i = 0; i < ARRAY_LEN(fake); i++)
        list_remove(wholes, &fake[i].in);
    say("GET", path, "");
    UNTIL((more(), strstr(got, "Content-Length: 500000") != NULL));
    (void)body_that_came();
}

/* The client closes its connection while its request waits in line. */
static void call_and_leave(const char *more)
{
    char fields[200];

    snprintf(fields, sizeof(fields), "segq-token: " TOKEN "\r\n%s", more);
    node.waits_ms = 0;
    say_with("GET", "/v1/call/gen/a", fields, "");
    UNTIL(node.waits_ms > 0);
    close(w.fd);
    dial();
}

Test(tasks_http, a_call_whose_client_goes_is_cancelled_if_it_has_not_begun_and_nobody_comes_back)
{
    node.holds = true;
    call_and_leave("Prefer: wait=9\r\n");
    UNTIL(node.withdrawn == 1);
    cr_expect_eq(node.left, 1);
    call_and_leave("Prefer: wait=9\r\nIdempotency-Key: mine\r\n");
    call_and_leave("Prefer: wait=9, Respond-Async\r\n");
    call_and_leave("Prefer: wait=9\r\n");
    UNTIL(node.withdrawn == 2);
    cr_expect_eq(node.left, 4, "the others come back");
    cr_expect_eq(w.r->tasking->counts.left, 2);
}

Test(tasks_http, who_goes_while_there_is_too_much_to_do_is_cancelled_later)
{
    const struct linger at_once = { .l_onoff = 1 };

    node.holds = true;
    say_with("GET", "/v1/call/gen/a", own, "");
    UNTIL(node.waits_ms > 0);
    w.r->tasking->calls.n += TASK_CALLS;
    cr_assert_eq(setsockopt(w.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    close(w.fd);
    UNTIL(httpd_counts(w.r->httpd)->conns_now == 0);
    w.r->tasking->calls.n -= TASK_CALLS;
    UNTIL(node.withdrawn == 1);
    cr_expect_eq(w.r->tasking->counts.left, 1);
    dial();
}

Test(tasks_http, a_call_that_was_answered_goes_on_without_its_client)
{
    cr_expect_eq(call_with("GET", "/v1/call/gen/a", "segq-token: " TOKEN "\r\n", ""), 202);
    close(w.fd);
    dial();
    node.holds = true;
    call_and_leave("Prefer: wait=9\r\n");
    UNTIL(node.withdrawn == 1);
    cr_expect_eq(node.left, 2);
}

/* A target says how an attempt ended. */
static int completes(const char *verb, const char *json)
{
    struct attempt_right r = { .part = 1, .no = 17, .lease = 5, .attempt = 2 };
    char path[128] = "/v1/tasks/";

    right_write(&r, path + strlen(path));
    return call("POST", strcat(path, verb), json);
}

Test(tasks_http, a_target_says_later_how_a_call_ended)
{
    cr_expect_eq(completes("/complete", "{\"outcome\":\"succeeded\",\"result\":{\"a\": 1}}"), 200, "%s", got);
    cr_expect_str_eq(node.said, "0 4294967295 200 application/json {\"a\": 1} ");
    cr_expect_str_eq(str("id"), "1-17");
    cr_expect_str_eq(str("state"), "running");
    cr_expect_null(strstr(got, "\"task\""), "its token is not the target's");
    cr_expect_eq(completes("/complete", "{\"outcome\":\"failed\",\"delay\":\"2s\",\"reason\":\"no paper\"}"), 200);
    cr_expect_str_eq(node.said, "1 2000 500   no paper");
    cr_expect_eq(completes("/complete", "{\"outcome\":\"dead\",\"status\":404,\"body_base64\":\"YWI=\"}"), 200);
    cr_expect_str_eq(node.said, "2 4294967295 404 application/octet-stream ab ");
    cr_expect_eq(completes("/extend", "{\"lease\":\"5s\"}"), 200);
    cr_expect_str_eq(node.said, "3 5000 0   ");
    node.completes = CODE_SAME;
    cr_expect_eq(completes("/complete", "{\"outcome\":\"dead\"}"), 200);
    node.completes = CODE_CONFLICT;
    cr_expect_eq(completes("/complete", "{\"outcome\":\"dead\"}"), 409);
    node.completes = CODE_INVALID;
    cr_expect_eq(completes("/complete", "{\"outcome\":\"dead\"}"), 404);
    cr_expect_str_eq(str("code"), "task_unknown");
    node.completes = CODE_UNKNOWN;
    cr_expect_eq(completes("/complete", "{\"outcome\":\"dead\"}"), 410);
}

Test(tasks_http, what_a_target_cannot_say_is_refused)
{
    static const char *const bad[] = {
        "{}", "{\"outcome\":\"done\"}", "{\"outcome\":\"dead\",\"delay\":1}",
        "{\"outcome\":\"succeeded\",\"reason\":\"x\"}", "{\"outcome\":\"failed\",\"delay\":\"60d\"}",
        "{\"outcome\":\"dead\",\"body\":\"a\",\"result\":1}", "{\"outcome\":\"dead\",\"body_base64\":\"a\"}",
        "{\"outcome\":\"dead\",\"status\":600}", "{\"outcome\":\"dead\",\"lease_id\":\"x\"}",
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_eq(completes("/complete", bad[i]), 400, "%s: %s", bad[i], got);
    cr_expect_eq(completes("/extend", "{}"), 400);
    cr_expect_eq(completes("/nothing", "{}"), 404);
    cr_expect_eq(call("POST", "/v1/tasks/M/complete", "{\"outcome\":\"dead\"}"), 404);
    cr_expect_eq(call("GET", "/v1/tasks/M/complete", ""), 405);
    cr_expect_null(node.said);
}

Test(tasks_http, a_forged_right_never_costs_a_link)
{
    struct attempt_right r = { .part = 1, .no = 17, .lease = 5, .attempt = 255 };
    char path[128] = "/v1/tasks/";

    right_write(&r, path + strlen(path));
    cr_expect_eq(call("POST", strcat(path, "/complete"), "{\"outcome\":\"dead\"}"), 404, "%s", got);
    cr_expect_null(node.said);
}

Test(tasks_http, what_a_target_says_is_no_longer_than_a_message_takes)
{
    static const char begin[] = "{\"outcome\":\"dead\",\"body_base64\":\"", end[] = "\"}";
    const size_t n = (TASK_BODY_MAX / 3 + 1) * 4;
    struct attempt_right r = { .part = 1, .no = 17, .lease = 5, .attempt = 2 };
    char path[128] = "/v1/tasks/", fields[200];

    right_write(&r, path + strlen(path));
    snprintf(fields, sizeof(fields), HERS "Content-Length: %zu\r\nExpect: 100-continue\r\n",
             n + strlen(begin) + strlen(end));
    cr_assert_eq(send_head(strcat(path, "/complete"), fields), 100);
    n_got = 0;
    cr_assert_gt(send(w.fd, begin, strlen(begin), MSG_NOSIGNAL), 0);
    send_many('A', n);
    cr_assert_gt(send(w.fd, end, strlen(end), MSG_NOSIGNAL), 0);
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(atoi(got + 9), 400, "%s", got);
    cr_expect_null(node.said);
}

Test(tasks_http, only_servers_pass_requests_on_and_only_to_endpoints)
{
    cr_expect_eq(call("GET", "/v1/call/gen/a", ""), 401);
    cr_expect_eq(call("GET", "/v1/call/none/a", ""), 401, "strangers are told nothing");
    cr_expect_eq(ask("GET", "/v1/call/none/a", ""), 404);
    cr_expect_str_eq(str("code"), "endpoint_unknown");
    cr_expect_eq(ask("GET", "/v1/call/images/a", ""), 404, "it has no endpoint");
    cr_expect_eq(ask("GET", "/v1/call/gen", ""), 404);
    cr_expect_eq(call_with("GET", "/v1/call/gen/a", "segq-queue: images\r\nsegq-token: " TOKEN "\r\n", ""), 404);
    cr_expect_eq(ask("GET", "/v1/call/gen/a/../b", ""), 400);
    cr_expect_eq(node.n, 0);
}

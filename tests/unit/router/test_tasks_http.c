/* test_tasks_http.c: the API of tasks through a whole router: what is asked, and what is answered. */
#include "tests/lib/taskhttprig.h"

#include "common/task/state.h"
#include "common/wire/codec.h"

TestSuite(tasks_http, .init = set_up, .fini = tear_down, .timeout = 60);

/* ---- the life of a task ------------------------------------------------------------------ */

/* What is kept of it is no JSON: it is not shown as a part of the task. */
static void a_cut_result(const char *token)
{
    char path[100];

    node.v[1].cut = 1 + 4;
    snprintf(path, sizeof(path), "/v1/tasks/%s", token);
    cr_expect_eq(call("GET", path, ""), 200);
    cr_expect_null(strstr(got, "\"result\":"));
    cr_expect_not_null(strstr(got, "\"result_length\":11,\"result_sha256\":\"0123abff\","
                                   "\"result_truncated\":true"));
    snprintf(path, sizeof(path), "/v1/tasks/%s/result", token);
    cr_expect_eq(call("GET", path, ""), 200);
    cr_expect_str_eq(strstr(got, "\r\n\r\n") + 4, "{\"ur");
    cr_expect_not_null(strstr(got, "segq-truncated: true\r\n"));
    cr_expect_not_null(strstr(got, "application/octet-stream"));
    node.v[1].cut = 1; /* nothing of it */
    cr_expect_eq(call("GET", path, ""), 204);
    cr_expect_not_null(strstr(got, "segq-length: 11\r\n"));
    node.v[1].cut = 0;
}

Test(tasks_http, submitted_taken_acknowledged_and_read)
{
    char one[TASK_TOKEN_LEN + 1], path[200], body[300];

    cr_assert_eq(ask("POST", "/v1/queues/images/tasks",
                     "{\"key\":\"tenant7/user42\",\"payload\":{\"prompt\": \"a cat\"} }"), 201);
    strcpy(one, str("task"));
    cr_expect_eq(strlen(one), TASK_TOKEN_LEN);
    snprintf(path, sizeof(path), "Location: /v1/tasks/%s\r\n", one);
    cr_expect(strstr(got, path) != NULL);
    cr_expect_str_eq(str("state"), "waiting");
    cr_expect_str_eq(node.v[1].key1, "tenant7");
    cr_expect_str_eq(node.v[1].key2, "user42");
    cr_expect_str_eq(node.v[1].body, "{\"prompt\": \"a cat\"}"); /* byte for byte */

    cr_assert_eq(ask("POST", "/v1/queues/images/tasks/take", "{\"n\":10,\"lease\":\"30s\"}"), 200);
    cr_expect_str_eq(taken_str(0, "task"), one);
    cr_expect_str_eq(taken_str(0, "key"), "tenant7/user42");
    cr_expect(strstr(got, "\"payload\":{\"prompt\": \"a cat\"}") != NULL);
    cr_expect(strstr(got, "\"lease_expires_at\":1780000000.123") != NULL);

    snprintf(path, sizeof(path), "/v1/tasks/%s/ack", one);
    cr_expect_eq(call("POST", path, "{\"lease_id\":\"AAAAAAAAAAA\"}"), 401);
    snprintf(body, sizeof(body), "{\"lease_id\":\"%s\",\"result\":{\"url\":  1}}", "AAAAAAAAAAA");
    cr_expect_eq(ask("POST", path, body), 409);
    {
        char lease[LEASE_TEXT_LEN + 1] = { 0 };

        lease_write(lease_of(1), lease);
        snprintf(body, sizeof(body), "{\"lease_id\":\"%s\",\"result\":{\"url\":  1}}", lease);
    }
    cr_expect_eq(ask("POST", path, body), 200);
    cr_expect_str_eq(str("state"), "succeeded");
    cr_expect_eq(ask("POST", path, body), 409); /* again */

    snprintf(path, sizeof(path), "/v1/tasks/%s", one); /* needs no server's token */
    cr_expect_eq(call("GET", path, ""), 200);
    cr_expect_str_eq(str("state"), "succeeded");
    cr_expect(strstr(got, "\"result\":{\"url\":  1}") != NULL);
    snprintf(path, sizeof(path), "/v1/tasks/%s/result", one);
    cr_expect_eq(call("GET", path, ""), 200);
    cr_expect_str_eq(strstr(got, "\r\n\r\n") + 4, "{\"url\":  1}");
    cr_expect_not_null(strstr(got, "segq-status: 200\r\nsegq-length: 11\r\nsegq-sha256: 0123abff\r\n"));
    cr_expect_null(strstr(got, "segq-truncated"));
    a_cut_result(one);
    snprintf(path, sizeof(path), "/v1/tasks/%s", one);
    cr_expect_eq(call("DELETE", path, ""), 409);
    cr_expect_str_eq(str("code"), "task_final");
}

Test(tasks_http, the_same_again_is_the_same_task)
{
    static const char key[] = "Authorization: Bearer " TOKEN "\r\nIdempotency-Key: k1\r\n";
    char first[TASK_TOKEN_LEN + 1];

    cr_expect_eq(call_with("POST", "/v1/queues/images/tasks", key, "{\"payload\":1}"), 201);
    strcpy(first, str("task"));
    cr_expect_eq(call_with("POST", "/v1/queues/images/tasks", key, "{\"payload\":1}"), 200);
    cr_expect_str_eq(str("task"), first);
    cr_expect_eq(call_with("POST", "/v1/queues/images/tasks", key, "{\"payload\":2}"), 422);
    cr_expect_str_eq(str("code"), "idempotency_mismatch");
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{\"payload\":1,\"name\":\"close-7\"}"), 201);
    strcpy(first, str("task"));
    cr_expect_eq(ask("GET", "/v1/queues/images/tasks/close-7", ""), 200);
    cr_expect_str_eq(str("task"), first);
    cr_expect_eq(ask("GET", "/v1/queues/images/tasks/close-8", ""), 404);
    cr_expect_str_eq(str("code"), "task_unknown");
}

static int unique(const char *member)
{
    char body[300];

    snprintf(body, sizeof(body), "{\"payload\":1,\"unique\":%s}", member);
    return ask("POST", "/v1/queues/images/tasks", body);
}

Test(tasks_http, a_unique_key_is_of_one_task)
{
    static const char *const bad[] = { "1", "\"u\"", "{}", "{\"key\":\"\"}", "{\"key\":\"a b\"}", "{\"key\":1}",
                                       "{\"key\":\"u\",\"while\":\"dead\"}", "{\"key\":\"u\",\"key\":\"v\"}",
                                       "{\"key\":\"u\",\"on_conflict\":1}", "{\"key\":\"u\",\"until\":1}" };
    char first[TASK_TOKEN_LEN + 1];

    cr_expect_eq(unique("{\"while\":\"final\",\"key\":\"u1\"}"), 201);
    strcpy(first, str("task"));
    cr_expect_str_eq(node.v[node.n].unique, "u1");
    cr_expect_eq(node.v[node.n].unique_while, UNIQUE_FINAL);
    cr_expect_eq(unique("{\"key\":\"u1\"}"), 200);
    cr_expect_str_eq(str("task"), first);
    cr_expect_eq(unique("{\"key\":\"u1\",\"on_conflict\":\"reject\"}"), 409);
    cr_expect_str_eq(str("code"), "unique_conflict");
    cr_expect_eq(unique("{\"key\":\"u1\",\"on_conflict\":\"replace\"}"), 201);
    cr_expect_eq(node.v[node.n].unique_while, UNIQUE_RUNNING, "if it is not said");
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_eq(unique(bad[i]), 400, "%s", bad[i]);
}

Test(tasks_http, a_cancelled_one_stays_cancelled)
{
    cr_expect_eq(ask("POST", "/v1/queues/ride/7/tasks", "{\"delay\":\"2s\"}"), 201);
    cr_expect_str_eq(str("state"), "scheduled");
    cr_expect_eq(node.v[1].delay_ms, 2000);
    cr_expect_eq(call("DELETE", task_path(""), ""), 200);
    cr_expect_str_eq(str("state"), "cancelled");
    cr_expect_eq(call("DELETE", task, ""), 200);
    node.n = 0; /* it has gone */
    cr_expect_eq(call("DELETE", task, ""), 204);
    cr_expect_eq(call("GET", task, ""), 410);
    cr_expect_str_eq(str("code"), "task_gone");
}

Test(tasks_http, force_cancels_also_what_runs)
{
    cr_expect_eq(ask("POST", "/v1/queues/ride/7/tasks", "{}"), 201);
    node.v[1].state = TASK_RUNNING;
    cr_expect_eq(call("DELETE", task_path(""), ""), 200);
    cr_expect_str_eq(str("state"), "running");
    cr_expect_not_null(strstr(got, "\"stopping\":true"));
    cr_expect_null(strstr(got, "maybe_executed"));
    cr_expect_eq(node.forced, 0);
    cr_expect_eq(call("DELETE", task_path("?force=1"), ""), 200);
    cr_expect_eq(node.forced, 1);
    cr_expect_str_eq(str("state"), "cancelled");
    cr_expect_not_null(strstr(got, "\"maybe_executed\":true"));
    cr_expect_eq(call("DELETE", task_path("?force=yes"), ""), 400);
}

/* ---- waits, tags, estimates -------------------------------------------------------------- */

Test(tasks_http, a_submission_that_waits_is_answered_with_the_result_if_it_is_there_in_time)
{
    static const char wait[] = "Authorization: Bearer " TOKEN "\r\nPrefer: x=1, wait=7; y\r\n";

    cr_expect_eq(call_with("POST", "/v1/queues/images/tasks", wait, "{\"payload\":1}"), 201);
    cr_expect_str_eq(str("state"), "waiting");
    cr_expect_eq(node.waits_ms, 7000);
    cr_expect(strstr(got, "\r\nPreference-Applied: wait=7\r\n") != NULL);
    node.finishes = true;
    cr_expect_eq(call_with("POST", "/v1/queues/images/tasks", wait, "{\"payload\":1}"), 200);
    cr_expect_str_eq(str("state"), "succeeded");
    cr_expect(strstr(got, "\"result\":[7]") != NULL);
    cr_expect(strstr(got, "\r\nLocation: /v1/tasks/") != NULL);
    node.finishes = false;
    cr_expect_eq(call_with("POST", "/v1/queues/images/tasks",
                           "Authorization: Bearer " TOKEN "\r\nPrefer: wait=100000000000\r\n", "{}"), 201);
    cr_expect_eq(node.waits_ms, TASK_WAIT_MAX_MS);
    cr_expect_eq(call_with("POST", "/v1/queues/images/tasks",
                           "Authorization: Bearer " TOKEN "\r\nPrefer: await=9, wait=9x, wait=\r\n",
                           "{}"), 201);
    cr_expect_eq(node.waits_ms, TASK_WAIT_MAX_MS, "nobody has waited");
    cr_expect(strstr(got, "Preference-Applied") == NULL);
    cr_expect(strstr(got, "position") == NULL);
    cr_expect_eq(call_with("POST", "/v1/queues/images/tasks",
                           "Authorization: Bearer " TOKEN "\r\nPrefer: wait=0\r\n", "{}"), 201);
    cr_expect(strstr(got, "\"position\":1") != NULL, "its place, without a wait");
}

Test(tasks_http, what_the_client_has_already_is_not_sent_again)
{
    char tag[100], *at;

    cr_assert_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 201);
    cr_assert_eq(call("GET", task_path(""), ""), 200);
    at = strstr(got, "\r\nETag: \"");
    cr_assert(at != NULL);
    snprintf(tag, sizeof(tag), "If-None-Match: \"other\", W/%.18s\r\n", at + strlen("\r\nETag: "));
    cr_expect_eq(call_with("GET", task, tag, ""), 304);
    node.v[1].state = TASK_RUNNING;
    cr_expect_eq(call_with("GET", task, tag, ""), 200);
    cr_expect_eq(call_with("GET", task, "If-None-Match: *\r\n", ""), 304);
    cr_expect_eq(call_with("PATCH", task, "Authorization: Bearer " TOKEN "\r\nIf-Match: \"a\"\r\n",
                           "{\"order\":1}"), 400);
    cr_expect_eq(call_with("PATCH", task, "Authorization: Bearer " TOKEN "\r\nIf-Match: *\r\n",
                           "{\"order\":1}"), 200);
}

/* The member of the answer's own text. */
static bool tells(const char *text)
{
    return strstr(got, text) != NULL;
}

Test(tasks_http, a_look_says_when_it_starts_why_and_when_to_look_again)
{
    cr_assert_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 201);
    node.as = (struct msg_task_get_ans){ .eta = TASK_ETA_RATE, .eta_ms = 120001, .limited = 1,
                                         .limited_by = "tenant7", .limited_until_ms = 1780000000000 };
    cr_assert_eq(call("GET", task_path(""), ""), 200);
    cr_expect(tells("\"eta_s\":121,\"eta_reason\":\"rate\""));
    cr_expect(tells("\"limited_by\":\"rate:tenant7\",\"limited_until\":1780000000.000"));
    cr_expect(tells("\"poll_after_ms\":30000") && tells("\r\nRetry-After: 30\r\n"));
    node.as = (struct msg_task_get_ans){ .eta = TASK_ETA_NO_WORKER, .eta_ms = -1, .limited = 6,
                                         .limited_by = "images" };
    cr_assert_eq(call("GET", task, ""), 200);
    cr_expect(tells("\"eta_s\":null,\"eta_reason\":\"no_worker\""));
    cr_expect(tells("\"limited_by\":\"pause:images\""));
    cr_expect(tells("\"poll_after_ms\":5000"));
    node.as = (struct msg_task_get_ans){ .eta = TASK_ETA_DELAY, .eta_ms = 3600000 };
    cr_assert_eq(call("GET", task, ""), 200);
    cr_expect(tells("\"eta_s\":3600,\"eta_reason\":\"delay\"") && tells("\r\nRetry-After: 60\r\n"));
    node.as = (struct msg_task_get_ans){ 0 }; /* an older node */
    cr_assert_eq(call("GET", task, ""), 200);
    cr_expect(!tells("eta_s") && tells("\"poll_after_ms\":1000"));
}

/* ---- many -------------------------------------------------------------------------------- */

static json_int_t row_status(size_t i)
{
    return json_integer_value(json_object_get(json_array_get(js, i), "status"));
}

Test(tasks_http, of_a_batch_each_row_has_its_own_answer)
{
    cr_assert_eq(ask("POST", "/v1/queues/images/tasks/batch",
                     "[{\"payload\":1}, {\"payload\":2,\"colour\":3}, 7, {\"payload\":\"\\ud800\"},"
                     " {\"key\":\"\\ud800\"}, {\"idempotency_key\":\"a\"},{\"idempotency_key\":\"a\"}]"),
                 207);
    cr_expect_eq(json_array_size(js), 7);
    cr_expect_eq(row_status(0), 201);
    cr_expect_eq(row_status(1), 400);
    cr_expect(strstr(got, "unknown member colour") != NULL);
    cr_expect_eq(row_status(2), 400);
    cr_expect_eq(row_status(3), 201);
    cr_expect_eq(row_status(4), 400);
    cr_expect_eq(row_status(5), 201);
    cr_expect_eq(row_status(6), 200);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks/batch", "{\"payload\":1}\n{\"payload\":2}\n"), 207);
    cr_expect_eq(json_array_size(js), 2);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks/batch", "[{\"payload\":1},]"), 400);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks/batch", "[]"), 400);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks/batch", ""), 400);
}

Test(tasks_http, rows_of_a_turn_leave_in_one_frame)
{
    static char many[7000] = "[";
    uint32_t before;

    for (unsigned i = 0; i < 1001; i++)
        strcat(many, i == 0 ? "{}" : ",{}");
    strcat(many, "]");
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks/batch", many), 413);
    cr_expect_str_eq(str("code"), "too_many_in_batch");
    strcpy(strrchr(many, ','), "]");
    before = node.frames;
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks/batch", many), 207);
    cr_expect_eq(json_array_size(js), 1000);
    cr_expect_eq(node.frames - before, 1);
}

Test(tasks_http, a_worker_settles_many_at_once)
{
    char body[1000], one[TASK_TOKEN_LEN + 1], two[TASK_TOKEN_LEN + 1];
    char lease1[LEASE_TEXT_LEN + 1] = { 0 }, lease2[LEASE_TEXT_LEN + 1] = { 0 };

    cr_assert_eq(ask("POST", "/v1/queues/images/tasks/batch", "[{},{}]"), 207);
    cr_assert_eq(ask("POST", "/v1/queues/images/tasks/take", "{\"n\":2}"), 200);
    strcpy(one, taken_str(0, "task"));
    strcpy(two, taken_str(1, "task"));
    lease_write(lease_of(1), lease1);
    lease_write(lease_of(2), lease2);
    snprintf(body, sizeof(body),
             "[{\"task\":\"%s\",\"lease_id\":\"%s\",\"result\":[1]},"
             "{\"task\":\"%s\",\"verb\":\"nack\",\"lease_id\":\"%s\",\"delay\":2},"
             "{\"task\":\"%s\",\"lease_id\":\"%s\"},{\"task\":\"x\",\"lease_id\":\"y\"},"
             "{\"task\":\"%s\",\"lease_id\":\"%s\",\"delay\":1},"
             "{\"task\":\"%s\",\"verb\":\"nack\",\"lease_id\":\"%s\",\"delay\":\"50d\"}]",
             one, lease1, two, lease2, two, lease1, one, lease1, one, lease1);
    cr_assert_eq(ask("POST", "/v1/queues/images/tasks/settle", body), 207);
    cr_expect_eq(row_status(0), 200);
    cr_expect_eq(row_status(1), 200);
    cr_expect_eq(row_status(2), 409);
    cr_expect_eq(row_status(3), 404);
    cr_expect_eq(row_status(4), 400);
    cr_expect_eq(row_status(5), 400, "no node hears such a time");
    cr_expect_str_eq(node.v[1].result, "[1]");
    cr_expect_eq(node.v[2].state, TASK_RETRYING);
}

/* ---- done, and the next one --------------------------------------------------------------- */

/* Acknowledges task `no` (of images, partition 1), with `more` in the body. */
static int done_and(const char *verb, task_no no, const char *more)
{
    char token[TASK_TOKEN_LEN + 1] = { 0 }, lease[LEASE_TEXT_LEN + 1] = { 0 };
    char path[200], body[300];

    task_token_write(1, no, &w.r->keys.token, token);
    lease_write(lease_of(no), lease);
    snprintf(path, sizeof(path), "/v1/tasks/%s/%s", token, verb);
    snprintf(body, sizeof(body), "{\"lease_id\":\"%s\"%s}", lease, more);
    return ask("POST", path, body);
}

Test(tasks_http, an_ack_takes_the_next)
{
    cr_assert_eq(ask("POST", "/v1/queues/images/tasks/batch",
                     "[{\"payload\":1},{\"payload\":2},{\"payload\":3},{\"payload\":4}]"), 207);
    cr_assert_eq(ask("POST", "/v1/queues/images/tasks/take", "{}"), 200);
    cr_expect_eq(done_and("ack", 1, ",\"result\":[1],\"take\":{\"queue\":\"images\",\"n\":2}"), 200);
    cr_expect_str_eq(str("state"), "succeeded");
    cr_expect_str_eq(node.v[1].result, "[1]");
    cr_expect_eq(json_array_size(json_object_get(js, "tasks")), 2);
    cr_expect_eq(json_integer_value(json_object_get(taken(1), "payload")), 3);
    cr_expect_not_null(taken_str(0, "lease_id"));
    cr_expect_eq(done_and("nack", 2, ",\"delay\":7,\"take\":{\"queue\":\"images\",\"lease\":\"9s\"}"), 200);
    cr_expect_str_eq(str("state"), "retrying");
    cr_expect_eq(json_integer_value(json_object_get(taken(0), "payload")), 4);
    cr_expect_eq(done_and("ack", 3, ",\"take\":{\"queue\":\"images\"}"), 200);
    cr_expect_eq(json_array_size(json_object_get(js, "tasks")), 0, "there is none");
    cr_expect_eq(done_and("ack", 4, ",\"take\":{\"queue\":\"images\",\"wait\":\"20s\"}"), 200);
    cr_expect_eq(w.r->tasking->counts.settled, 4);
    cr_expect_eq(w.r->tasking->calls.n, 0);
}

/* ---- tasks in another pool than their queue's (strays_next()) ----------------------------------- */

static int take_7(const char *body)
{
    return ask("POST", "/v1/queues/ride/7/tasks/take", body);
}

static void a_pool_for_ride_7(void)
{
    node.ride_7 = true;
    send_pools(4, 5, 9);
    UNTIL(w.r->tasking->counts.maps == 2);
}

/* Who was in line as a more specific pool came is taken before those who came after it. */
Test(tasks_http, strays_are_taken_first)
{
    uint32_t takes;

    cr_assert_eq(ask("POST", "/v1/queues/ride/7/tasks", "{\"payload\":1}"), 201);
    cr_assert_eq(ask("POST", "/v1/queues/ride/7/tasks", "{\"payload\":2}"), 201);
    a_pool_for_ride_7();
    cr_assert_eq(ask("POST", "/v1/queues/ride/7/tasks", "{\"payload\":3}"), 201);
    cr_expect_eq(node.v[3].part, 6);
    cr_assert_eq(take_7("{}"), 200);
    cr_expect_eq(json_integer_value(json_object_get(taken(0), "payload")), 1);
    cr_expect_eq(node.took_of[0], node.v[1].part);
    cr_assert_eq(take_7("{\"n\":5,\"wait\":\"20s\"}"), 200);
    cr_expect_eq(json_integer_value(json_object_get(taken(0), "payload")), 2);
    cr_expect_null(taken(1), "what there is at once");
    takes = node.takes;
    cr_assert_eq(take_7("{\"n\":5}"), 200);
    cr_expect_eq(json_integer_value(json_object_get(taken(0), "payload")), 3);
    cr_expect_eq(node.takes, takes + 2, "first there, where nothing is left");
    cr_assert_eq(take_7("{\"n\":5}"), 200);
    cr_expect_null(taken(0));
    cr_expect_eq(node.takes, takes + 3, "and not there for a while");
    cr_expect_eq(w.r->tasking->calls.n, 0);
}

Test(tasks_http, an_ack_takes_strays)
{
    cr_assert_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 201);
    cr_assert_eq(ask("POST", "/v1/queues/ride/7/tasks", "{\"payload\":2}"), 201);
    a_pool_for_ride_7();
    cr_assert_eq(ask("POST", "/v1/queues/images/tasks/take", "{}"), 200);
    cr_expect_eq(node.took_of[1], 1, "no other pool has images");
    cr_expect_eq(done_and("ack", 1, ",\"take\":{\"queue\":\"ride/7\"}"), 200);
    cr_expect_str_eq(str("state"), "succeeded");
    cr_expect_eq(json_integer_value(json_object_get(taken(0), "payload")), 2);
    cr_expect_eq(done_and("nack", 2, ",\"take\":{\"queue\":\"ride/7\",\"wait\":\"1s\"}"), 200);
    cr_expect_str_eq(str("state"), "retrying");
    cr_expect_eq(json_array_size(json_object_get(js, "tasks")), 0);
    cr_expect_eq(node.took_of[0], 6);
    cr_expect_eq(node.take_wait_ms > 0, true, "its own pool alone is waited for");
    cr_expect_eq(node.took_of[1], node.v[2].part);
    cr_expect_eq(w.r->tasking->calls.n, 0);
}

/* Its partition is in the way of a take for a second, and of one take. */
Test(tasks_http, strays_that_cannot_be_asked_for_are_waited_for_by_one_take)
{
    a_pool_for_ride_7();
    cr_assert_eq(ask("POST", "/v1/queues/ride/7/tasks", "{\"payload\":1}"), 201);
    node.deaf_part = part_share("ride/7", 6, 2) + 2;
    cr_assert_eq(take_7("{}"), 200);
    cr_expect_eq(json_integer_value(json_object_get(taken(0), "payload")), 1);
    cr_expect_eq(node.took_of[1], node.deaf_part);
    cr_assert_eq(take_7("{}"), 200);
    cr_expect_eq(node.took_of[1], 6);
}

Test(tasks_http, a_refused_ack_takes_nothing)
{
    uint32_t takes;

    cr_assert_eq(ask("POST", "/v1/queues/images/tasks/batch", "[{},{}]"), 207);
    cr_assert_eq(ask("POST", "/v1/queues/images/tasks/take", "{}"), 200);
    takes = node.takes;
    cr_assert_eq(done_and("ack", 1, ""), 200);
    cr_expect_eq(done_and("ack", 1, ",\"take\":{\"queue\":\"images\"}"), 409);
    cr_expect_eq(done_and("ack", 77, ",\"take\":{\"queue\":\"images\"}"), 410);
    cr_expect_null(json_object_get(js, "tasks"));
    node.v[2].state = TASK_RUNNING;
    cr_expect_eq(done_and("ack", 2, ",\"take\":{\"queue\":\"images\",\"m\":1}"), 400);
    cr_expect_not_null(strstr(str("detail"), "unknown member m"), "%s", str("detail"));
    cr_expect_eq(done_and("ack", 2, ",\"take\":{\"n\":1}"), 400);
    cr_expect_not_null(strstr(str("detail"), "take: queue is missing"), "%s", str("detail"));
    cr_expect_eq(done_and("ack", 2, ",\"take\":{\"queue\":\"a//b\"}"), 400);
    cr_expect_eq(done_and("ack", 2, ",\"take\":{\"queue\":\"images\",\"n\":0}"), 400);
    cr_expect_eq(done_and("ack", 2, ",\"take\":7"), 400);
    cr_expect_eq(done_and("ack", 2, ",\"take\":{\"queue\":\"login\"}"), 403, "not its token's");
    cr_expect_eq(done_and("extend", 2, ",\"lease\":1,\"take\":{\"queue\":\"images\"}"), 400);
    cr_expect_eq(node.v[2].state, TASK_RUNNING, "nothing was done");
    cr_expect_eq(node.takes, takes);
}

Test(tasks_http, an_ack_that_is_done_says_so_whatever_becomes_of_the_take)
{
    const json_t *take;

    cr_assert_eq(ask("POST", "/v1/queues/images/tasks/batch", "[{},{}]"), 207);
    cr_assert_eq(ask("POST", "/v1/queues/images/tasks/take", "{\"n\":2}"), 200);
    node.take_code = CODE_BUSY;
    cr_expect_eq(done_and("ack", 1, ",\"take\":{\"queue\":\"images\"}"), 200);
    cr_expect_str_eq(str("state"), "succeeded");
    cr_expect_eq(json_array_size(json_object_get(js, "tasks")), 0);
    cr_expect(json_is_array(json_object_get(js, "tasks")));
    take = json_object_get(js, "take");
    cr_expect_eq(json_integer_value(json_object_get(take, "status")), 503);
    cr_expect_str_eq(json_string_value(json_object_get(take, "code")), "queue_unavailable");
    node.take_code = CODE_DONE;
    cr_expect_eq(done_and("ack", 2, ",\"take\":{\"queue\":\"gen\"}"), 200);
    take = json_object_get(js, "take");
    cr_expect_str_eq(json_string_value(json_object_get(take, "code")), "queue_has_endpoint");
    cr_expect_eq(w.r->tasking->counts.settled, 2);
}

/* ---- what is refused --------------------------------------------------------------------- */

Test(tasks_http, what_is_unfit_is_refused_by_its_name)
{
    static const struct {
        const char *body, *says;
    } bad[] = {
        { "{\"payload\":1,\"pay\":2}", "unknown member pay" },
        { "{\"payload\":1,\"dealy\":2}", "unknown member dealy; did you mean delay?" },
        { "{\"url\":\"/x\"}", "unknown member url; did you mean path?" },
        { "{\"priority\":9}", "priority must be a whole number from 0 to 7" },
        { "{\"delay\":\"2x\"}", "or seconds from 0 to 367d" },
        { "{\"max_attempts\":0}", "max_attempts must be a whole number from 1 to 62" },
        { "{\"order\":\"a\"}", "order must be a whole number of 64 bits" },
        { "{\"idempotency_key\":7}", "a string of 1 to 128 bytes" },
        { "{\"payload\":1,\"payload\":2}", "payload is there twice" },
        { "{\"payload\":{\"a\":}}", "JSON" },
        { "{\"payload\":1} x", "JSON" },
        { "{\"n\":1}", "unknown member n" },
        { "{\"delay\":\"2 s\"}", "delay must be" },
        { "{\"delay\":-1}", "delay must be" },
        { "{\"delay\":\"400d\"}", "delay must be" },
        { "{\"delay\":1,\"at\":1780000000}", "exclude" },
        { "{\"priority\":8}", "priority must be" },
        { "{\"priority\":1.5}", "priority must be" },
        { "{\"key\":\"a/b/c\"}", "key must be" },
        { "{\"key\":\"a/\"}", "key must be" },
        { "{\"name\":\"a/b\"}", "name must be" },
        { "{\"name\":7}", "name must be" },
        { "{\"ttl\":0}", "ttl must be" },
        { "{\"max_attempts\":63}", "max_attempts must be" },
        { "{\"result\":\"cut\"}", "result must be" },
        { "{\"retry\":3}", "retry must be" },
        { "{\"retry\":{\"min\":\"1s\",\"min\":\"2s\"}}", "retry must be" },
        { "{\"retry\":{\"least\":\"1s\"}}", "retry must be" },
        { "{\"retry\":{\"jitter\":101}}", "retry must be" },
        { "{\"labels\":\"a\"}", "labels must be" },
        { "{\"labels\":[\"a\",1]}", "labels must be" },
        { "{\"labels\":[\"a,b\"]}", "labels must be" },
        { "{\"labels\":[\"1\",\"2\",\"3\",\"4\",\"5\"]}", "labels must be" },
        { "[]", "JSON object" },
    };

    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        cr_expect_eq(ask("POST", "/v1/queues/images/tasks", bad[i].body), 400, "%s", bad[i].body);
        cr_expect(strstr(str("detail"), bad[i].says) != NULL, "%s: %s", bad[i].body, str("detail"));
    }
    cr_expect_eq(node.n, 0);
}

/* The row in these bytes. */
static struct task_put behind(struct arena *mem, const uint8_t *p, uint32_t n)
{
    struct msg m;

    cr_assert_eq(msg_decode(MSG_TASK_PUT, p, n, mem, &m), 0);
    cr_assert_eq(m.task_put.n, 1);
    return m.task_put.v[0];
}

Test(tasks_http, what_is_behind_a_task_goes_with_it_checked_and_packed)
{
    static const char then[] = "{\"queue\":\"gen\",\"path\":\"/x\",\"body_json\":{\"u\":{\"$result\":\"/url\"}},"
                               "\"key\":\"a/b\",\"delay\":\"2s\",\"labels\":[\"l\"],\"then\":"
                               "{\"queue\":\"images\",\"payload\":{\"x\": 1},\"cost\":7}}";
    struct arena mem;
    struct task_put row;
    char body[1000];

    arena_init(&mem);
    for (unsigned batch = 0; batch < 2; batch++) {
        snprintf(body, sizeof(body), "%s{\"payload\":1,\"then\":%s}%s", batch ? "[{}," : "", then, batch ? "]" : "");
        cr_assert_eq(ask("POST", batch ? "/v1/queues/images/tasks/batch" : "/v1/queues/images/tasks", body),
                     batch ? 207 : 201);
        row = behind(&mem, node.v[node.n].then, node.v[node.n].then_n);
        cr_expect(row.part == 4 && row.chain == (CHAIN_CALL | CHAIN_HOLES) && row.delay_ms == 2000);
        cr_expect_str_eq(row.queue, "gen");
        cr_expect_str_eq(row.key1, "a");
        cr_expect_str_eq(row.key2, "b");
        cr_expect_str_eq(row.own.labels, "l");
        row = behind(&mem, row.then.p, row.then.n);
        cr_expect(row.part == 1 && row.chain == 0 && row.own.cost == 8 && row.then.n == 0);
        cr_expect(text_is((const char *)row.body.p, row.body.n, "{\"x\": 1}"));
    }
    arena_fini(&mem);
}

Test(tasks_http, what_cannot_be_behind_a_task_is_refused_with_it)
{
    static const struct {
        const char *then;
        int status;
        const char *says;
    } bad[] = {
        { "1", 400, "then: " },
        { "{}", 400, "then: queue is missing" },
        { "{\"queue\":\"a//b\"}", 400, "then: queue must be" },
        { "{\"queue\":\"images\",\"name\":\"x\"}", 400, "then: unknown member name" },
        { "{\"queue\":\"images\",\"at\":1780000000}", 400, "then: unknown member at" },
        { "{\"queue\":\"images\",\"priority\":9}", 400, "then: priority must be" },
        { "{\"queue\":\"images\",\"path\":\"/x\"}", 400, "then: path, method, headers and body are for" },
        { "{\"queue\":\"gen\",\"payload\":1}", 400, "then: path is missing" },
        { "{\"queue\":\"images\",\"payload\":{\"$result\":1}}", 400, "then: $result must be a pointer" },
        { "{\"queue\":\"images\",\"then\":{\"queue\":\"other\"}}", 403, "then: this server's token may not submit" },
        { "{\"queue\":\"other\"}", 403, "then: this server's token may not submit" },
        { "{\"queue\":\"images\",\"result\":\"drop\",\"then\":{\"queue\":\"images\",\"payload\":{\"$result\":\"\"}}}",
          400, "then: $result needs a result" },
    };
    char body[400];

    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        snprintf(body, sizeof(body), "{\"payload\":1,\"then\":%s}", bad[i].then);
        cr_expect_eq(ask("POST", "/v1/queues/images/tasks", body), bad[i].status, "%s", body);
        cr_expect(strncmp(str("detail"), bad[i].says, strlen(bad[i].says)) == 0, "%s: %s", body, str("detail"));
    }
    cr_expect_eq(node.n, 0);
}

Test(tasks_http, what_a_task_has_of_its_own_is_asked_and_told)
{
    const struct task_own *own = &node.v[1].own;
    char path[100];

    cr_assert_eq(ask("POST", "/v1/queues/images/tasks",
                     "{\"ttl\":\"1.5s\",\"result\":\"drop\",\"max_attempts\":3,\"labels\":[ \"r\\u0065d\",\"blue\" ],"
                     "\"retry\":{\"min\":0,\"max\":\"1m\",\"doublings\":2,\"jitter\":0}}"), 201);
    cr_expect_eq(own->ttl_ms, 1501);
    cr_expect_eq(own->max_attempts, 4);
    cr_expect_eq(own->max_result, 1);
    cr_expect_eq(own->retry_min_ms, 1);
    cr_expect_eq(own->retry_max_ms, 60001);
    cr_expect_eq(own->retry_doublings, 3);
    cr_expect_eq(own->retry_jitter, 1);
    cr_expect_str_eq(own->labels, "red,blue");
    snprintf(path, sizeof(path), "/v1/tasks/%s", str("task"));
    cr_assert_eq(ask("GET", path, ""), 200);
    cr_expect(strstr(got, "\"ttl\":1.500,\"max_attempts\":3,\"retry\":{\"min\":0.000,\"max\":60.000,"
                          "\"doublings\":2,\"jitter\":0},\"labels\":[\"red\",\"blue\"]") != NULL, "%s", got);
    cr_assert_eq(ask("POST", "/v1/queues/images/tasks", "{\"labels\":[]}"), 201);
    cr_expect(own_is_none(&node.v[2].own));
}

Test(tasks_http, a_patch_says_what_it_changes_and_what_it_leaves)
{
    char path[100];

    cr_assert_eq(ask("POST", "/v1/queues/images/tasks", "{\"delay\":9}"), 201);
    snprintf(path, sizeof(path), "/v1/tasks/%s", str("task"));
    cr_assert_eq(ask("PATCH", path, "{\"priority\":0,\"labels\":[\"jump\"]}"), 200);
    cr_expect_eq(node.patch.has, PATCH_PRIORITY | PATCH_LABELS);
    cr_expect_str_eq(node.v[1].labels, "jump");
    cr_assert_eq(ask("PATCH", path, "{\"order\":-3,\"delay\":\"2s\"}"), 200);
    cr_expect_eq(node.patch.has, PATCH_ORDER | PATCH_WHEN);
    cr_expect_eq(node.patch.order, -3);
    cr_expect_eq(node.patch.delay_ms, 2000);
    cr_expect_eq(ask("PATCH", path, "{}"), 400);
    cr_expect_eq(ask("PATCH", path, "{\"ttl\":3}"), 400);
    cr_expect_eq(ask("PATCH", path, "{\"delay\":1,\"at\":1780000000}"), 400);
}

Test(tasks_http, a_payload_beyond_its_pool_s_bound_is_refused)
{
    static char body[2000] = "{\"payload\":\"";

    memset(body + 12, 'x', 998);
    strcpy(body + 12 + 998, "\"}");
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", body), 201);
    strcpy(body + 12 + 998, "x\"}");
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", body), 413);
    cr_expect_str_eq(str("detail"), "the payload, or body, is larger than its pool allows: at most 1000 bytes (max_body)");
}

/* As JSON up to 2 MiB are read, of which a payload may be a part. */
static void tells_the_limit(const char *path, const char *begins, const char *ends, const char *says)
{
    static char big[600000];
    char head[300];

    memset(big, 'x', sizeof(big));
    memcpy(big, begins, strlen(begins));
    memcpy(big + sizeof(big) - strlen(ends), ends, strlen(ends));
    snprintf(head, sizeof(head), "POST %s HTTP/1.1\r\nHost: a\r\n%sContent-Length: %zu\r\n\r\n", path, bearer,
             sizeof(big));
    n_got = 0;
    cr_assert(send(w.fd, head, strlen(head), MSG_NOSIGNAL) > 0);
    for (size_t at = 0; at < sizeof(big);) {
        ssize_t n = send(w.fd, big + at, sizeof(big) - at, MSG_NOSIGNAL | MSG_DONTWAIT);

        at += n > 0 ? (size_t)n : 0;
        ev_turn(w.ev, false);
    }
    UNTIL((more(), whole(got) > 0));
    cr_expect(strstr(got, says) != NULL, "%s", got);
    cr_expect_eq(node.n, 0);
}

Test(tasks_http, what_is_larger_than_any_submission_is_told_the_limit_and_the_way)
{
    static const char way[] = "at most 524288 bytes; a larger one goes by /v1/call with Prefer: respond-async, up to "
                              "max_body of its pool";

    tells_the_limit("/v1/queues/gen/tasks", "{\"path\":\"/a\",\"body_json\":\"", "\"}", way);
    tells_the_limit("/v1/queues/gen/tasks", "{\"path\":\"/a\",\"body\":\"", "\"}", way);
    tells_the_limit("/v1/queues/gen/tasks/batch", "[{\"path\":\"/a\",\"body_json\":\"", "\"}]", way);
    tells_the_limit("/v1/queues/images/tasks", "{\"payload\":\"", "\"}", "of 1 to 524288 bytes");
}

Test(tasks_http, strangers_can_do_nothing)
{
    cr_expect_eq(call("POST", "/v1/queues/images/tasks", "{}"), 401);
    cr_expect(strstr(got, "WWW-Authenticate: Bearer") != NULL);
    cr_expect_eq(call_with("POST", "/v1/queues/images/tasks",
                           "Authorization: Bearer server-token-of-the-testt\r\n", "{}"), 401);
    cr_expect_eq(call("POST", "/v1/queues/images/tasks/take", "{}"), 401);
    cr_expect_eq(call("GET", "/v1/queues/images/tasks/close-7", ""), 401);
    cr_expect_eq(call("GET", "/v1/tasks/AAAA", ""), 404);
    cr_expect_str_eq(str("code"), "task_unknown");
    cr_expect_eq(ask("POST", "/v1/queues/other/tasks", "{}"), 403);
    write_tokens("submit ride/*");
    router_reload(w.r);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 403);
    cr_expect_eq(ask("POST", "/v1/queues/ride/7/tasks", "{}"), 201);
    cr_expect_eq(ask("POST", "/v1/queues/ride/7/tasks/take", "{}"), 403);
    cr_expect_eq(node.n, 1);
}

static int settle_list(const char *token, const char *lease)
{
    char body[300];

    snprintf(body, sizeof(body), "[{\"task\":\"%s\",\"verb\":\"ack\",\"lease_id\":\"%s\"}]", token,
             lease);
    return ask("POST", "/v1/queues/images/tasks/settle", body);
}

static int status_of_row(void)
{
    return (int)json_integer_value(json_object_get(json_array_get(js, 0), "status"));
}

/* Each path that has a task's token, and whichever partition the pool has put it into. */
Test(tasks_http, a_server_s_token_for_one_queue_does_nothing_to_tasks_of_another)
{
    char token[TASK_TOKEN_LEN + 1], lease[20], path[100], gone[TASK_TOKEN_LEN + 1], body[100];
    static const char *const may[] = { "submit,take images", "submit,take images,ride/8,ride/7/*" };

    cr_assert_eq(ask("POST", "/v1/queues/ride/7/tasks", "{}"), 201);
    cr_assert_eq(ask("POST", "/v1/queues/ride/7/tasks/take", "{}"), 200);
    strcpy(token, taken_str(0, "task"));
    strcpy(lease, taken_str(0, "lease_id"));
    task_token_write(2, 77, &w.r->keys.token, gone);
    gone[TASK_TOKEN_LEN] = '\0';
    snprintf(body, sizeof(body), "{\"lease_id\":\"%s\",\"lease\":5}", lease);
    for (unsigned i = 0; i < ARRAY_LEN(may); i++) {
        write_tokens(may[i]);
        router_reload(w.r);
        for (unsigned j = 0; j < 2; j++) {
            const char *who = j == 0 ? token : gone;

            snprintf(path, sizeof(path), "/v1/tasks/%s", who);
            cr_expect_eq(ask("PATCH", path, "{\"priority\":3}"), 403);
            cr_expect_str_eq(str("code"), "not_eligible");
            snprintf(path, sizeof(path), "/v1/tasks/%s/extend", who);
            cr_expect_eq(ask("POST", path, body), 403);
            cr_expect_eq(settle_list(who, lease), 207);
            cr_expect_eq(status_of_row(), 403);
        }
    }
    cr_expect_eq(node.v[1].state, TASK_RUNNING);
    node.compared = 0;
    write_tokens("take images,ride/7");
    router_reload(w.r);
    snprintf(path, sizeof(path), "/v1/tasks/%s/extend", token);
    cr_expect_eq(ask("POST", path, body), 200);
    cr_expect_eq(node.compared, 1);
    write_tokens("take images,ride/*");
    router_reload(w.r);
    cr_expect_eq(settle_list(token, lease), 207);
    cr_expect_eq(status_of_row(), 200);
    cr_expect_eq(node.compared, 1, "all queues of the pool are this server's: nothing to compare");
}

Test(tasks_http, a_queue_s_slash_may_be_encoded)
{
    cr_expect_eq(ask("POST", "/v1/queues/ride%2F7/tasks", "{\"payload\":1,\"name\":\"a\"}"), 201);
    cr_expect_str_eq(node.v[1].queue, "ride/7");
    cr_expect_eq(ask("GET", "/v1/queues/ride%2f7/tasks/a", ""), 200);
    cr_expect_eq(ask("POST", "/v1/queues/ride%2F7%2Ftasks", "{\"payload\":1}"), 400);
}

Test(tasks_http, a_batch_that_is_no_list_is_refused_as_a_whole)
{
    static const char *const bodies[] = { "{\"tasks\":[{\"payload\":1},{\"payload\":2}]}", "{}", "7",
                                          "\"x\"", "null" };

    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        cr_expect_eq(ask("POST", "/v1/queues/images/tasks/batch", bodies[i]), 400, "%s", bodies[i]);
        cr_expect(strstr(str("detail"), "must be a JSON list") != NULL);
        cr_expect_eq(ask("POST", "/v1/queues/images/tasks/settle", bodies[i]), 400);
    }
    cr_expect_eq(call_with("POST", "/v1/queues/images/tasks/batch",
                           HERS "Content-Type: application/x-ndjson\r\n", "{\"payload\":1}"), 207);
    cr_expect_eq(node.n, 1);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", ""), 400);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 201);
}

Test(tasks_http, a_query_is_understood_or_refused)
{
    static const struct {
        const char *method, *more;
        int status;
    } rows[] = {
        { "GET", "?x=1", 400 },         { "GET", "?ack=1", 400 },        { "DELETE", "?x=1&force=1", 400 },
        { "DELETE", "?force=yes", 400 }, { "DELETE", "?force=1&force=0", 400 }, { "DELETE", "?force", 400 },
        { "DELETE", "?f%6Frce=1", 400 }, { "PATCH", "?force=1", 400 },   { "GET", "/result?force=1", 400 },
        { "GET", "/result?ack=2", 400 }, { "GET", "/result?ack=1&", 202 }, { "GET", "?", 200 },
        { "DELETE", "?force=0", 200 },   { "DELETE", "?force=1&", 200 },
    };
    char path[200];

    cr_assert_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 201);
    strcpy(path, task_path(""));
    cr_assert_eq(ask("POST", "/v1/queues/images/tasks/take", "{}"), 200);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char with[300];

        snprintf(with, sizeof(with), "%s%s", path, rows[i].more);
        cr_expect_eq(ask(rows[i].method, with, rows[i].method[0] == 'P' ? "{\"priority\":1}" : ""),
                     rows[i].status, "%s %s", rows[i].method, rows[i].more);
        cr_expect_eq(node.forced, i + 1 == ARRAY_LEN(rows), "%s", rows[i].more);
    }
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks?wait=5", "{}"), 400);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks/take?n=5", "{}"), 400);
    cr_expect_eq(ask("DELETE", "/v1/queues/images/tasks/close-7?forced=1", ""), 400);
    cr_expect_eq(node.n, 1);
}

static int head_of(const char *path)
{
    say_with("HEAD", path, bearer, "");
    n_got = 0;
    UNTIL((more(), strstr(got, "\r\n\r\n") != NULL));
    return atoi(got + 9);
}

Test(tasks_http, a_head_reads_no_result)
{
    char path[300];

    cr_assert_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 201);
    snprintf(path, sizeof(path), "%s?ack=1", task_path("/result"));
    node.v[1].state = TASK_SUCCEEDED;
    strcpy(node.v[1].result, "[7]");
    cr_expect_eq(head_of(path), 200);
    cr_expect_eq(head_of(task), 200);
    cr_expect_eq(ask("GET", "/v1/queues/images/tasks/none", ""), 404); /* what was told before is there */
    cr_expect_eq(node.discards + node.marks, 0);
    cr_expect_eq(ask("GET", path, ""), 200);
    UNTIL(node.discards == 1);
}

Test(tasks_http, how_many_wait_in_a_queue)
{
    node.as = (struct msg_task_get_ans){ .waiting = 50, .waiting_capped = true, .ahead_of_priority = 1,
                                         .eta = TASK_ETA_PACE, .eta_ms = 7200 };
    cr_expect_eq(ask("GET", "/v1/queues/images/tasks", ""), 200);
    cr_expect_not_null(strstr(got, "{\"queue\":\"images\",\"waiting\":50,\"waiting_capped\":true,"
                                   "\"eta_s\":8,\"eta_reason\":\"pace\"}"), "%s", got);
    cr_expect_str_eq(node.counted, "images");
    cr_expect_eq(call("GET", "/v1/queues/images/tasks", ""), 401, "it needs a server's token");
    cr_expect_eq(ask("GET", "/v1/queues/none/tasks", ""), 403);
    cr_expect_eq(ask("GET", "/v1/queues/ride/9/tasks", ""), 200, "it has no task");
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 201);
    cr_expect_eq(call("GET", task_path(""), ""), 200);
    cr_expect_not_null(strstr(got, "\"position\":1,\"waiting\":50,\"waiting_capped\":true,\"ahead_of_key\":0,"
                                   "\"ahead_of_priority\":0,\"eta_s\":8"), "%s", got);
    node.as.ahead_of_priority = 0;
    cr_expect_eq(call("GET", task_path(""), ""), 200);
    cr_expect_null(strstr(got, "ahead_of_priority"), "a node of the release before does not say it");
}

Test(tasks_http, the_first_tasks_of_a_queue_are_listed_for_those_who_may_look)
{
    write_tokens("submit,take,read images,ride/*,gen");
    router_reload(w.r);
    cr_expect_eq(ask("GET", "/v1/queues/ride/7/tasks?order=start", ""), 403, "it may not look");
    write_tokens("look ride/*,gen");
    router_reload(w.r);
    cr_expect_eq(ask("GET", "/v1/queues/ride/7/tasks", ""), 403, "it may not read");
    cr_expect_eq(ask("GET", "/v1/queues/ride/7/tasks?order=start", ""), 200);
    cr_expect_not_null(strstr(got, "{\"queue\":\"ride/7\",\"waiting\":9,\"startable\":1,\"tasks\":[{\"task\":\""), "%s", got);
    cr_expect_not_null(strstr(got, "\",\"key\":\"a/b\",\"priority\":2,\"order\":-5,\"attempts\":0,\"entered_at\":1.500},"));
    cr_expect_not_null(strstr(got, "\"priority\":0,\"order\":0,\"attempts\":1,\"entered_at\":2.500}]}"));
    cr_expect_eq(ask("GET", "/v1/queues/ride/7/tasks?limit=2&payload=1&order=start", ""), 200);
    cr_expect_not_null(strstr(got, "\"entered_at\":1.500,\"payload\":{\"n\":1}}"), "%s", got);
    cr_expect_not_null(strstr(got, "\"payload\":null}],\"cut\":true}"));
    cr_expect_eq(ask("GET", "/v1/queues/gen/tasks?order=start&payload=1", ""), 400, "they are calls");
    cr_expect_eq(ask("GET", "/v1/queues/images/tasks?order=start", ""), 403, "not this queue");
    cr_expect_eq(call("GET", "/v1/queues/ride/7/tasks?order=start", ""), 401);
}

Test(tasks_http, a_list_of_the_first_tasks_says_what_it_does_not_know)
{
    static const char *const bad[] = { "order=entry", "limit=5", "payload=1", "order=start&limit=0",
                                       "order=start&limit=1001", "order=start&limit=", "order=start&order=start",
                                       "order=start&payload=0", "order=start&limit=4294967297", "order" };

    write_tokens("look,read ride/*");
    router_reload(w.r);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char path[100];

        snprintf(path, sizeof(path), "/v1/queues/ride/7/tasks?%s", bad[i]);
        cr_expect_eq(ask("GET", path, ""), 400, "%s", bad[i]);
    }
}

Test(tasks_http, a_group_is_looked_at_sealed_and_cancelled)
{
    static const char states[] = "\"tasks\":3,\"states\":{\"scheduled\":0,\"waiting\":2,\"running\":0,\"retrying\":0,"
                                 "\"succeeded\":0,\"dead\":1,\"cancelled\":0,\"expired\":0}}";

    cr_expect_eq(ask("GET", "/v1/groups/ride/7/b7", ""), 200);
    cr_expect_not_null(strstr(got, "{\"queue\":\"ride/7\",\"group\":\"b7\",\"sealed\":false,\"over\":false,"));
    cr_expect_not_null(strstr(got, states));
    cr_expect_eq(ask("POST", "/v1/groups/ride%2F7/b7/seal", ""), 200);
    cr_expect_not_null(strstr(got, "\"sealed\":true,\"over\":false,\"tasks\":3"));
    cr_expect_eq(ask("POST", "/v1/groups/ride/7/b7/cancel", ""), 200);
    cr_expect_not_null(strstr(got, "\"cancelling\":true"));
    cr_expect_eq(ask("GET", "/v1/groups/ride/7/b8", ""), 404);
    cr_expect_str_eq(str("code"), "group_unknown");
    cr_expect_eq(ask("DELETE", "/v1/groups/ride/7/b7", ""), 405);
    cr_expect_eq(ask("POST", "/v1/groups/ride/7/b7", ""), 405);
    cr_expect_eq(ask("GET", "/v1/groups/ride/7/", ""), 404);
    cr_expect_eq(ask("GET", "/v1/groups/b7", ""), 404);
    cr_expect_eq(call("GET", "/v1/groups/ride/7/b7", ""), 401);
}

/* A part of it is where the queue was before it had a pool of its own. */
Test(tasks_http, a_group_of_a_queue_with_a_new_pool_is_counted_with_what_was_there)
{
    a_pool_for_ride_7();
    cr_expect_eq(ask("GET", "/v1/groups/ride/7/b7", ""), 200);
    cr_expect_not_null(strstr(got, "\"sealed\":false,\"over\":false,\"tasks\":6,"), "%s", got);
    cr_expect_not_null(strstr(got, "\"waiting\":4,"));
    node.groupless_part = 6; /* none of it came after that */
    cr_expect_eq(ask("POST", "/v1/groups/ride/7/b7/seal", ""), 200);
    cr_expect_not_null(strstr(got, "\"sealed\":true,\"over\":false,\"tasks\":3,"), "%s", got);
    cr_expect_eq(ask("GET", "/v1/groups/ride/7/b8", ""), 404);
}

Test(tasks_http, paths_that_nobody_has)
{
    cr_expect_eq(ask("PUT", "/v1/queues/images/tasks", ""), 405);
    cr_expect(strstr(got, "Allow: GET, HEAD, POST\r\n") != NULL);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks/dance", ""), 405);
    cr_expect_eq(ask("POST", "/v1/queues/Images/tasks", ""), 404);
    cr_expect_eq(ask("POST", "/v1/queues/images/task", ""), 404);
    cr_expect_eq(ask("GET", "/v1/tasks/", ""), 404);
    cr_expect_eq(ask("POST", "/v1/tasks/AAAA/dance", ""), 404);
}

Test(tasks_http, other_requests_have_the_bodies_that_they_had)
{
    static char big[7900];
    char head[] = "POST /v1/queues/login/tickets HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n";

    memset(big, ' ', sizeof(big) - 1);
    n_got = 0;
    cr_assert(send(w.fd, head, strlen(head), MSG_NOSIGNAL) > 0);
    for (size_t left = 20000; left > 0;) {
        ssize_t n = send(w.fd, big, left < sizeof(big) ? left : sizeof(big), MSG_NOSIGNAL);

        left -= n > 0 ? (size_t)n : 0;
        ev_turn(w.ev, false);
    }
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(atoi(got + 9), 413);
}

/* ---- the link ---------------------------------------------------------------------------------- */

/* So much has not left that nothing long may be said. */
static void fill_link(void)
{
    static uint8_t bytes[1 << 19];
    struct task_link *l;

    each_node_link (&w.r->tasking->links, l)
        while (rpc_chan_pending(l->n.ch) < (4u << 20)) {
            buf_append(rpc_begin(l->n.ch), bytes, sizeof(bytes));
            cr_assert_eq(rpc_end(l->n.ch, MSG_PING, 0), 0);
        }
}

Test(tasks_http, bodies_wait_for_room_on_the_link)
{
    uint32_t frames;

    cr_assert_eq(ask("POST", "/v1/queues/images/tasks", "{\"payload\":1}"), 201);
    frames = node.frames;
    n_got = 0;
    got[0] = 0;
    say_with("POST", "/v1/queues/images/tasks", bearer, "{\"payload\":2}");
    for (unsigned i = 0; i < 50; i++) {
        fill_link();
        ev_turn(w.ev, false);
        more();
    }
    cr_expect_eq(node.frames, frames);
    cr_expect_eq(n_got, 0);
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(atoi(got + 9), 201);
    cr_expect_eq(node.frames, frames + 1);
}

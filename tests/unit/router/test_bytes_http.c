/* test_bytes_http.c: payloads and results that are no JSON, through a whole router: in base64, or as the body of a
 * submission, with its members in the query. */
#include "common/task/call.h"
#include "tests/lib/taskhttprig.h"

TestSuite(bytes_http, .init = set_up, .fini = tear_down, .timeout = 60);

#define TASKS "/v1/queues/images/tasks"
#define PNG   HERS "Content-Type: image/png\r\n"

static struct payload kept(unsigned i)
{
    return payload_of(node.v[i].body, node.v[i].body_n);
}

static bool is(struct call_span s, const char *text)
{
    return s.n == strlen(text) && memcmp(s.p, text, s.n) == 0;
}

static int raw(const char *query, const char *fields, const char *body)
{
    char path[400];

    snprintf(path, sizeof(path), TASKS "%s", query);
    return call_with("POST", path, fields, body);
}

Test(bytes_http, a_form_that_is_cut_is_none)
{
    struct payload x = payload_of("\1\5a/b", 5);

    cr_expect(!x.typed && x.bytes.n == 5);
    cr_expect(!payload_of("\1", 1).typed && !payload_of("", 0).typed);
    x = payload_of("\1\3a/b", 5);
    cr_expect(x.typed && is(x.type, "a/b") && x.bytes.n == 0);
    x = payload_of("\1\4a/\nbxy", 8);
    cr_expect(x.typed && is(x.type, PAYLOAD_ANY) && is(x.bytes, "xy"), "no line of a head");
}

Test(bytes_http, in_base64_and_handed_out_so)
{
    cr_assert_eq(ask("POST", TASKS, "{\"key\":\"t7\",\"payload_base64\":\"iVBORw==\",\"content_type\":\"image/png\"}"), 201, "%s", got);
    cr_expect(kept(1).typed && is(kept(1).type, "image/png") && is(kept(1).bytes, "\x89PNG"));
    cr_assert_eq(ask("POST", TASKS, "{\"payload_base64\":\"YWI=\"}"), 201);
    cr_assert_eq(ask("POST", TASKS "/batch", "[{\"payload_base64\":\"\"},{\"payload_base64\":\"x\"},{\"payload\":1}]"), 207);
    cr_expect(strstr(got, "[{\"status\":201,") != NULL && strstr(got, "payload_base64 must be base64") != NULL, "%s", got);
    cr_assert_eq(ask("POST", TASKS "/take", "{\"n\":10}"), 200);
    cr_expect_str_eq(taken_str(0, "payload_base64"), "iVBORw==");
    cr_expect_str_eq(taken_str(0, "content_type"), "image/png");
    cr_expect_null(json_object_get(taken(0), "payload"));
    cr_expect_str_eq(taken_str(1, "payload_base64"), "YWI=");
    cr_expect_str_eq(taken_str(1, "content_type"), PAYLOAD_ANY);
    cr_expect_str_eq(taken_str(2, "payload_base64"), "");
    cr_expect_eq(json_integer_value(json_object_get(taken(3), "payload")), 1);
}

Test(bytes_http, the_same_bytes_of_another_type_are_another_payload)
{
    cr_assert_eq(raw("?name=a", PNG, "xyz"), 201, "%s", got);
    cr_expect_eq(raw("?name=a", PNG, "xyz"), 200);
    cr_expect_eq(raw("?name=a", HERS "Content-Type: image/gif\r\n", "xyz"), 422);
    cr_expect_eq(ask("POST", TASKS, "{\"name\":\"a\",\"payload_base64\":\"eHl6\",\"content_type\":\"image/png\"}"), 200);
}

Test(bytes_http, a_body_that_is_no_json_is_the_payload)
{
    cr_assert_eq(raw("?key=tenant7/user42&priority=3&delay=2s&labels=a,b&cost=12&ttl=60", PNG, "\x89PNG\r\n\"{"), 201, "%s", got);
    cr_expect(kept(1).typed && is(kept(1).type, "image/png") && is(kept(1).bytes, "\x89PNG\r\n\"{"));
    cr_expect_str_eq(node.v[1].key1, "tenant7");
    cr_expect_str_eq(node.v[1].key2, "user42");
    cr_expect_eq(node.v[1].priority, 3);
    cr_expect_eq(node.v[1].delay_ms, 2000);
    cr_expect_str_eq(node.v[1].labels, "a,b");
    cr_expect_eq(node.v[1].own.cost, 13);
    cr_expect_eq(node.v[1].own.ttl_ms, 60001);
    cr_assert_eq(raw("?name=123&key=a%22b", HERS "Content-Type: text/plain; charset=utf-8\r\nIdempotency-Key: k1\r\n", "hi"), 201, "%s", got);
    cr_expect(is(kept(2).type, "text/plain; charset=utf-8"));
    cr_expect_str_eq(node.v[2].name, "123");
    cr_expect_str_eq(node.v[2].key1, "a\"b");
    cr_expect_str_eq(node.v[2].idem, "k1");
}

Test(bytes_http, what_does_not_fit_is_said)
{
    static const struct {
        const char *query, *fields;
        int status;
        const char *says;
    } bad[] = {
        { "?priority=9", PNG, 400, "priority" },
        { "?prioritty=3", PNG, 400, "priority" },
        { "?payload=3", PNG, 400, "payload" },
        { "?key=%zz", PNG, 400, "escape" },
        { "?key=%ff", PNG, 400, "UTF-8" }, /* not one key for all of these */
        { "?key=a&key=b", PNG, 400, "key" },
        { "?key", PNG, 400, "key" },
        { "", HERS "Content-Type: png\r\n", 400, "Content-Type" },
        { "?key=a", HERS, 400, "no query" },
        { "", "Content-Type: image/png\r\n", 401, "" },
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cr_expect_eq(raw(bad[i].query, bad[i].fields, i == 8 ? "{}" : "x"), bad[i].status, "%zu: %s", i, got);
        cr_expect_not_null(strstr(got, bad[i].says), "%zu: %s", i, got);
    }
    cr_expect_eq(ask("POST", TASKS, "{\"payload\":1,\"payload_base64\":\"\"}"), 400);
    cr_expect_eq(ask("POST", TASKS, "{\"payload\":1,\"content_type\":\"a/b\"}"), 400);
    cr_expect_eq(ask("POST", TASKS, "{\"payload_base64\":\"\",\"content_type\":\"a\\nb/c\"}"), 400);
    cr_expect_eq(ask("POST", "/v1/queues/gen/tasks", "{\"payload_base64\":\"\"}"), 400);
    cr_expect_not_null(strstr(got, "body_base64"));
    cr_expect_eq(raw("", PNG, ""), 400);
    cr_expect_eq(node.n, 0);
}

Test(bytes_http, a_result_has_a_type_too)
{
    char path[200], lease[LEASE_TEXT_LEN + 1] = "", body[300];

    cr_assert_eq(ask("POST", TASKS, "{\"payload\":1}"), 201);
    snprintf(path, sizeof(path), "/v1/tasks/%s/ack", str("task"));
    cr_assert_eq(ask("POST", TASKS "/take", "{}"), 200);
    lease_write(lease_of(1), lease);
    snprintf(body, sizeof(body), "{\"lease_id\":\"%s\",\"result\":1,\"result_base64\":\"\"}", lease);
    cr_expect_eq(ask("POST", path, body), 400);
    snprintf(body, sizeof(body), "{\"lease_id\":\"%s\",\"result\":1,\"content_type\":\"a/b\"}", lease);
    cr_expect_eq(ask("POST", path, body), 400);
    snprintf(body, sizeof(body), "{\"lease_id\":\"%s\",\"result_base64\":\"iVBORw\"}", lease);
    cr_expect_eq(ask("POST", path, body), 400);
    snprintf(body, sizeof(body), "{\"lease_id\":\"%s\",\"result_base64\":\"iVBORw==\",\"content_type\":\"image/png\"}", lease);
    cr_expect_eq(ask("POST", path, body), 200, "%s", got);
    cr_expect_str_eq(node.v[1].result, "\x89PNG");
    cr_expect_str_eq(node.v[1].type, "image/png");
    node.as = (struct msg_task_get_ans){ .status = 200, .content_type = "image/png" };
    node.answers = "\x89PNG";
    strcpy(strrchr(path, '/'), "");
    cr_expect_eq(call("GET", path, ""), 200);
    cr_expect_not_null(strstr(got, "\"content_type\":\"image/png\""), "%s", got);
    cr_expect_null(strstr(got, "\"result\":"));
    strcat(path, "/result");
    cr_expect_eq(call("GET", path, ""), 200);
    cr_expect_str_eq(strstr(got, "\r\n\r\n") + 4, "\x89PNG");
    cr_expect(strstr(got, "Content-Type: image/png\r\n") && strstr(got, "Content-Security-Policy: sandbox"), "%s", got);
    cr_expect_not_null(strstr(got, "Content-Disposition: attachment\r\n"));
}

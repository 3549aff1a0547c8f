/* test_classic.c: calls of API queues of the classic kind become requests of our own API, the answers
 * to these become theirs; which endpoint an url is of; what is unfit is refused by its name. */
#include "router/compat/classic.h"
#include "router/state/router.h"
#include "router/task_api/look.h"

#include "tests/lib/criterion.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOW 1780000000

static struct pools pools;
static struct classic_ask c;
static struct classic_error err;

static void set_up(void)
{
    static struct map_part part[9] = { { 1, 1, 0 }, { 2, 1, 0 }, { 3, 1, 0 }, { 4, 1, 0 }, { 5, 1, 0 },
                                       { 6, 1, 0 }, { 7, 1, 0 }, { 8, 1, 0 }, { 9, 1, 0 } };
    static struct map_pool v[] = {
        { .match = "gen", .endpoint = "gen", .url = "http://gen.example:8080/api/", .n = 1, .v = &part[0] },
        { .match = "img", .endpoint = "img", .url = "http://gen.example:8080/api/img", .n = 1, .v = &part[1] },
        { .match = "host", .endpoint = "host", .url = "https://Host.example", .n = 1, .v = &part[2] },
        { .match = "a/*", .endpoint = "many", .url = "http://many", .n = 1, .v = &part[3] },
        { .match = "work", .endpoint = "", .url = "", .n = 1, .v = &part[4] },
        { .match = "bulk", .endpoint = "pay", .url = "http://pay", .n = 1, .v = &part[5] },
        { .match = "fast", .endpoint = "pay", .url = "http://pay", .n = 1, .v = &part[6] },
        { .match = "pay", .endpoint = "pay", .url = "http://pay", .n = 1, .v = &part[7] },
        { .match = "slow", .endpoint = "pay", .url = "http://pay", .n = 1, .v = &part[8] },
    };
    struct msg_task_map m = { .epoch = 1, .n_pools = ARRAY_LEN(v), .pools = v };

    pools_init(&pools);
    cr_assert_eq(pools_apply(&pools, &m), 0);
}

static void tear_down(void)
{
    classic_ask_free(&c);
    pools_fini(&pools);
}

TestSuite(classic, .init = set_up, .fini = tear_down);

static struct slice text(char *s)
{
    return (struct slice){ s, strlen(s) };
}

/* What is wrong with it; "": it is made. */
static const char *reads(enum http_method m, const char *call, const char *query, const char *body)
{
    static char path[100], bytes[4000], q[200];
    static char bearer[] = "Bearer x";
    struct http_req req = { .method = m, .json = true, .has_body = body[0] != '\0' };

    strcpy(path, call);
    strcpy(bytes, body);
    strcpy(q, query);
    req.body = text(bytes);
    req.query = text(q);
    req.authorization = text(bearer);
    classic_ask_free(&c);
    return classic_ask_read(&c, &req, text(path), &pools, NOW, &err) ? "" : err.detail;
}

static const char *submits(const char *body)
{
    return reads(HTTP_POST, "submitTask", "", body);
}

static void became(enum api_call call, const char *arg, const char *body)
{
    cr_expect_eq(c.a.call, call);
    cr_expect_eq(c.a.arg.n, strlen(arg), "%.*s", (int)c.a.arg.n, c.a.arg.p);
    cr_expect_arr_eq(c.a.arg.p, arg, strlen(arg));
    cr_expect(c.q.body.n == strlen(body) && memcmp(c.q.body.p, body, c.q.body.n) == 0, "%.*s",
              (int)c.q.body.n, c.q.body.p);
}

Test(classic, an_offline_task_is_a_submission_with_a_call)
{
    struct slice prefer;

    cr_expect_str_eq(submits("{\"target_url\":\"http://gen.example:8080/api/v1/x?a=1\",\"http_method\":\"put\","
                             "\"body\":{\"p\":  1},\"headers\":{\"X-A\":\"b\"},\"priority\":3,"
                             "\"timestamp\":1780000000,\"task_type\":\"offline\"}"), "");
    became(API_TASKS, "gen/tasks", "{\"path\":\"/v1/x?a=1\",\"method\":\"PUT\",\"body_json\":{\"p\":  1},"
                                   "\"headers\":{\"X-A\":\"b\"},\"priority\":3}");
    cr_expect_eq(http_find(&c.q, "prefer", &prefer), 1, "its place is asked for");
    cr_expect_str_eq(submits("{\"target_url\":\"https://HOST.example:443\",\"body\":\"a \\\"b\\\"\"}"), "");
    became(API_TASKS, "host/tasks", "{\"path\":\"/\",\"method\":\"POST\",\"body\":\"a \\\"b\\\"\"}");
    cr_expect_str_eq(submits("{\"target_url\":\"https://HOST.example:443\",\"body\":\"{\\\"n\\\": \\u0031}\"}"), "");
    became(API_TASKS, "host/tasks", "{\"path\":\"/\",\"method\":\"POST\",\"body_json\":{\"n\": 1}}");
    cr_expect_str_eq(submits("{\"target_url\":\"https://HOST.example:443\",\"body\":\"{} x\"}"), "");
    became(API_TASKS, "host/tasks", "{\"path\":\"/\",\"method\":\"POST\",\"body\":\"{} x\"}");
    cr_expect_str_eq(submits("{\"target_url\":\"http://pay/1\"}"), "", "of several, the one of its name");
    became(API_TASKS, "pay/tasks", "{\"path\":\"/1\",\"method\":\"POST\"}");
    cr_expect_str_eq(submits("{\"target_url\":\"https://host.example?q\",\"body\":null}"), "");
    became(API_TASKS, "host/tasks", "{\"path\":\"/?q\",\"method\":\"POST\"}");
}

Test(classic, an_online_task_is_a_permit_for_one_request)
{
    cr_expect_str_eq(submits("{\"target_url\":\"http://gen.example:8080/api/img/7?a=1\",\"task_type\":\"online\","
                             "\"http_method\":\"GET\",\"body\":1,\"priority\":0,\"claim\":\"a.b.c\"}"), "");
    became(API_PERMIT, "img/tasks", "{\"kind\":\"permit\",\"use\":\"once\",\"htm\":\"GET\","
                                    "\"htu\":\"/api/img/7\",\"claim\":\"a.b.c\"}");
    cr_expect_eq(c.queue.n, 3);
    cr_expect_str_eq(submits("{\"target_url\":\"http://gen.example:8080/api/%41\",\"task_type\":\"online\"}"),
                     "target_url: the path of an online task has 1 to 100 characters, without escapes or dots");
    cr_expect(strstr(submits("{\"target_url\":\"http://gen.example:8080/api/x\",\"task_type\":\"online\","
                             "\"priority\":1}"), "must be 0, 2 (the lane vip) or 3") != NULL);
    cr_expect_str_eq(submits("{\"target_url\":\"http://gen.example:8080/api/img/7\",\"task_type\":\"online\","
                             "\"http_method\":\"GET\",\"priority\":3}"), "");
    became(API_PERMIT, "img/tasks", "{\"kind\":\"permit\",\"use\":\"once\",\"lane\":\"svip\",\"htm\":\"GET\","
                                    "\"htu\":\"/api/img/7\"}");
    cr_expect(strstr(submits("{\"target_url\":\"http://gen.example:8080/api/x\",\"claim\":\"a\"}"),
                     "claim is of online tasks") != NULL);
}

/* The endpoint of an url; or what is wrong. */
static const char *found(const char *url)
{
    static char bytes[1200];
    struct classic_target t;
    const char *why;
    bool unknown;

    strcpy(bytes, url);
    why = classic_target_find(&t, &pools, text(bytes), &unknown);
    return why == NULL ? t.endpoint : unknown ? "unknown" : why;
}

Test(classic, the_endpoint_with_the_longest_url_that_ends_at_a_part_has_it)
{
    cr_expect_str_eq(found("http://gen.example:8080/api/v1"), "gen");
    cr_expect_str_eq(found("http://gen.example:8080/api/img/1"), "img");
    cr_expect_str_eq(found("http://gen.example:8080/api/imgs"), "gen");
    cr_expect_str_eq(found("http://gen.example:8080/api/img"), "gen", "its own url is no part below it");
    cr_expect_str_eq(found("http://gen.example:8080/apix"), "unknown");
    cr_expect_str_eq(found("http://gen.example:8080/api"), "unknown");
    cr_expect_str_eq(found("http://gen.example:8080/api?x=/api/"), "unknown");
    cr_expect_str_eq(found("http://GEN.example:8080/api/"), "gen");
    cr_expect_str_eq(found("http://gen.example/api/x"), "unknown", "another port");
    cr_expect_str_eq(found("https://gen.example:8080/api/x"), "unknown", "another scheme");
    cr_expect_str_eq(found("http://host.example"), "unknown");
    cr_expect_str_eq(found("https://host.example/a/b?c"), "host");
}

Test(classic, what_is_no_url_is_said)
{
    cr_expect_str_eq(found("ftp://host.example/"), "must be http or https, a host, a port, a path");
    cr_expect_str_eq(found("http://u:p@host.example/"), "must be http or https, a host, a port, a path");
    cr_expect_str_eq(found("/api/x"), "must be http or https, a host, a port, a path");
    cr_expect_str_eq(found("https://host.example/a b"), "has a character that must be escaped");
    cr_expect_str_eq(found("https://host.example/a\r\nb"), "has a character that must be escaped");
    cr_expect_str_eq(found("https://host.example/a#b"), "has a fragment");
    cr_expect_str_eq(found(""), "must be http or https, a host, a port, a path");
}

Test(classic, what_is_unfit_is_refused_by_its_name)
{
    static const struct {
        const char *body, *says;
        enum api_problem problem;
    } bad[] = {
        { "", "JSON object", API_BAD_REQUEST },
        { "[]", "JSON object", API_BAD_REQUEST },
        { "{\"target_url\":", "JSON", API_BAD_REQUEST },
        { "{} {}", "JSON object", API_BAD_REQUEST },
        { "{}", "target_url is missing", API_BAD_REQUEST },
        { "{\"target_url\":7}", "target_url must be a string", API_BAD_REQUEST },
        { "{\"target_url\":\"\"}", "target_url must be a string, and not empty", API_BAD_REQUEST },
        { "{\"target_url\":\"http://x/\",\"target_url\":\"http://y/\"}", "target_url is there twice", API_BAD_REQUEST },
        { "{\"target_url\":\"http://x/\",\"color\":1}", "unknown member color", API_BAD_REQUEST },
        { "{\"target_url\":\"http://x/\",\"task_id\":\"a\"}", "unknown member task_id", API_BAD_REQUEST },
        { "{\"target_url\":\"http://x/\"}", "not below the url of any endpoint", API_ENDPOINT_UNKNOWN },
        { "{\"target_url\":\"http://many/x\"}", "several pools", API_ENDPOINT_UNKNOWN },
        { "{\"target_url\":\"x\"}", "target_url must be http", API_BAD_REQUEST },
        { "{\"target_url\":\"https://host.example/\",\"task_type\":\"both\"}", "online or offline", API_BAD_REQUEST },
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cr_expect(strstr(submits(bad[i].body), bad[i].says) != NULL, "%s: %s", bad[i].body, err.detail);
        cr_expect_eq(err.problem, bad[i].problem, "%s", bad[i].body);
    }
    cr_expect_str_eq(reads(HTTP_GET, "submitTask", "", ""), "this call is POST");
    cr_expect_eq(err.problem, API_METHOD_NOT_ALLOWED);
    cr_expect_str_eq(reads(HTTP_POST, "queryTask", "task_id=a", ""), "this call is GET, HEAD");
    reads(HTTP_POST, "dance", "", "{}");
    cr_expect_eq(err.problem, API_NOT_FOUND);
}

Test(classic, the_caller_s_clock_is_near_ours)
{
    static const struct {
        const char *timestamp;
        bool good;
    } v[] = { { "1780000000", true },     { "\"1780000000\"", true }, { "1780000000123", true },
              { "1780000900.9", true },   { "1779999100", true },     { "1780000901", false },
              { "1779999099", false },    { "1e9", false },           { "\"now\"", false },
              { "-1780000000", false },   { "null", false },          { "99999999999999999999", false } };

    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        char body[200];

        snprintf(body, sizeof(body), "{\"target_url\":\"https://host.example/\",\"timestamp\":%s}",
                 v[i].timestamp);
        cr_expect_eq(submits(body)[0] == '\0', v[i].good, "%s: %s", body, err.detail);
    }
}

Test(classic, a_query_is_a_look_and_a_cancel_a_delete)
{
    cr_expect_str_eq(reads(HTTP_GET, "queryTask", "x=1&task_id=AbC-_9&y", ""), "");
    became(API_TASK, "AbC-_9", "");
    cr_expect_eq(c.q.method, HTTP_GET);
    cr_expect_str_eq(reads(HTTP_POST, "cancelTask", "", "{\"task_id\":\"AbC\"}"), "");
    became(API_TASK, "AbC", "");
    cr_expect_eq(c.q.method, HTTP_DELETE);
    cr_expect_str_eq(reads(HTTP_GET, "queryTask", "xtask_id=1", ""), "task_id is missing");
    cr_expect_str_eq(reads(HTTP_POST, "cancelTask", "", "{}"), "task_id is missing");
    cr_expect_str_eq(reads(HTTP_GET, "queryTask", "task_id=a/result", ""), "unknown task");
}

/* ---- answers ----------------------------------------------------------------------------- */

static const char *layout = "unix";

static const struct api_told nothing = { .position = -1, .eta_s = -1, .entered_s = -1, .started_s = -1,
                                         .ended_s = -1 };

static struct api_told in_state(const char *state)
{
    struct api_told x = nothing;

    strcpy(x.task, "T");
    x.state = state;
    return x;
}

static const char *told(int status, struct api_told x)
{
    static char out[4000];
    struct api_ans a;

    api_ans_init(&a);
    a.status = status;
    a.type = API_JSON;
    a.told = x;
    if (status != 204)
        buf_str(&a.body, "{}");
    classic_answer(&a, &(struct classic_clock){ NOW, layout, router_time_text });
    snprintf(out, sizeof(out), "%d %.*s", a.status, (int)a.body.len, (char *)a.body.data);
    api_ans_fini(&a);
    return out;
}

Test(classic, a_task_is_told_in_their_words)
{
    struct api_told x = in_state("waiting");

    x.position = 4;
    x.eta_s = 12;
    x.entered_s = 1;
    cr_expect_str_eq(told(201, x),
                     "200 {\"task_id\":\"T\",\"task_type\":\"offline\",\"task_status\":\"pending\",\"created_at\":\"1\","
                     "\"wait_num\":3,\"wait_time\":12,\"task_result\":\"\",\"started_at\":\"\",\"ended_at\":\"\"}");
    x = in_state("succeeded");
    x.entered_s = 1;
    x.started_s = 2;
    x.ended_s = 3;
    x.result = text("{\"a\":[1,  \"x\"]}\n");
    cr_expect_str_eq(told(200, x),
                     "200 {\"task_id\":\"T\",\"task_type\":\"offline\",\"task_status\":\"completed\",\"created_at\":\"1\","
                     "\"wait_num\":0,\"wait_time\":0,\"task_result\":\"{\\\"a\\\":[1,  \\\"x\\\"]}\\u000a\","
                     "\"started_at\":\"2\",\"ended_at\":\"3\"}");
    cr_expect_str_eq(told(202, in_state("waiting")),
                     "200 {\"task_id\":\"T\",\"task_type\":\"offline\",\"task_status\":\"pending\",\"created_at\":\"\","
                     "\"wait_num\":-1,\"wait_time\":-1,\"task_result\":\"\",\"started_at\":\"\",\"ended_at\":\"\"}");
}

static const char *at(const char *as, int64_t unix_s)
{
    static char text[ROUTER_TIME_MAX];
    size_t n = router_time_text(text, as, unix_s);

    text[n] = '\0';
    return text;
}

Test(classic, a_task_behind_a_permit_has_a_name_of_its_own)
{
    struct api_ans a = { 0 };
    char permit[TOKEN_TEXT_LEN];
    struct task_name task;

    memset(permit, 'x', sizeof(permit));
    memset(task.text, 'y', sizeof(task.text));
    api_ans_init(&a);
    api_permit_over(&a, permit, GONE_LEFT);
    cr_expect_eq(strlen(a.told.task), (size_t)TOKEN_TEXT_LEN);
    api_ans_reset(&a);
    cr_expect_str_eq(a.told.task, "");
    task_note(&a, &task, TASK_WAITING);
    cr_expect_eq(strlen(a.told.task), (size_t)TASK_TOKEN_LEN, "%s", a.told.task);
    api_ans_fini(&a);
}

Test(classic, a_moment_is_told_in_the_layout_that_the_operator_chose)
{
    setenv("TZ", "Asia/Shanghai", 1);
    tzset();
    cr_expect_str_eq(at("rfc3339", NOW), "2026-05-29T04:26:40+08:00");
    cr_expect_str_eq(at("unix", NOW), "1780000000");
    cr_expect_str_eq(at("%Y-%m-%d %H:%M:%S", NOW), "2026-05-29 04:26:40");
    setenv("TZ", "America/St_Johns", 1);
    tzset();
    cr_expect_str_eq(at("rfc3339", 1768000000), "2026-01-09T19:36:40-03:30");
    setenv("TZ", "UTC0", 1);
    tzset();
    cr_expect_str_eq(at("rfc3339", 0), "1970-01-01T00:00:00+00:00");
}

static void status_is(const char *state, const char *reason, const char *says)
{
    struct api_told x = in_state(state);

    x.reason = reason;
    cr_expect(strstr(told(200, x), says) != NULL, "%s: %s", state, told(200, x));
}

Test(classic, each_state_is_one_of_four)
{
    status_is("scheduled", NULL, "\"task_status\":\"pending\"");
    status_is("retrying", NULL, "\"task_status\":\"pending\"");
    status_is("running", NULL, "\"task_status\":\"processing\"");
    status_is("dead", NULL, "\"task_status\":\"failed\"");
    status_is("dead", NULL, "\"task_error\":{\"code\":\"dead\",");
    status_is("expired", NULL, "\"task_error\":{\"code\":\"expired\",");
    status_is("cancelled", NULL, "\"task_error\":{\"code\":\"cancelled\",");
    status_is("finished", "finished", "\"task_status\":\"completed\"");
    status_is("finished", "expired", "\"task_status\":\"completed\"");
    status_is("finished", "left", "\"task_error\":{\"code\":\"cancelled\",");
    status_is("finished", "no_show", "\"task_error\":{\"code\":\"no_show\",");
    status_is("finished", "segment_lost", "\"task_error\":{\"code\":\"lost\",");
}

Test(classic, a_permit_s_pass_is_the_result)
{
    struct api_told x = in_state("admitted");

    x.permit = true;
    x.pass = "a.b.c";
    x.pass_len = 5;
    x.pass_expires_s = 1700;
    x.started_s = 16;
    cr_expect_str_eq(told(201, x),
                     "200 {\"task_id\":\"T\",\"task_type\":\"online\",\"task_status\":\"processing\","
                     "\"created_at\":\"1780000000\",\"wait_num\":0,\"wait_time\":0,\"task_result\":\"{\\\"pass\\\":\\\"a.b.c\\\","
                     "\\\"pass_expires_at\\\":1700}\",\"started_at\":\"16\",\"ended_at\":\"\"}");
}

Test(classic, a_problem_is_a_code_and_a_message)
{
    struct api_told x = nothing;

    x.code = "task_unknown";
    x.detail = "say \"x\"";
    cr_expect_str_eq(told(404, x),
                     "404 {\"code\":\"task_unknown\",\"message\":\"say \\\"x\\\"\"}");
    cr_expect(strstr(told(204, x), "200 {\"task_id\":\"\",\"task_status\":\"failed\"") != NULL);
    cr_expect_str_eq(told(304, nothing), "304 {}");
    cr_expect_str_eq(told(200, nothing), "200 {}");
}

Test(classic, a_result_that_is_no_json_is_a_text_as_well)
{
    struct api_told x = in_state("succeeded");

    x.result = text("[[");
    cr_expect(strstr(told(200, x), "\"task_status\":\"completed\"") != NULL);
    cr_expect(strstr(told(200, x), "\"task_result\":\"[[\"") != NULL);
}

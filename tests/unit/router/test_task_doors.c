/* test_task_doors.c: the doors of the API of tasks: what strangers may send, claims, an address for
 * servers, and the compat door. */
#include "tests/lib/claimrig.h"
#include "tests/lib/taskhttprig.h"

TestSuite(tasks_http, .init = set_up, .fini = tear_down, .timeout = 60);

/* ---- large bodies ------------------------------------------------------------------------ */

#define LARGE "Content-Length: 262144\r\n"

Test(tasks_http, a_large_body_of_a_stranger_is_refused_before_it_is_sent)
{
    static const char wrong[] = LARGE "Authorization: Bearer server-token-of-the-testt\r\n";
    uint64_t refused = w.r->tasking->counts.refused;

    cr_expect_eq(send_head("/v1/queues/images/tasks/batch", LARGE), 401);
    cr_expect(strstr(got, "Connection: close\r\n") != NULL);
    cr_expect(strstr(got, "WWW-Authenticate: Bearer") != NULL);
    cr_expect(strstr(got, "\"code\":\"unauthorized\"") != NULL);
    cr_expect_eq(send_head("/v1/queues/images/tasks", wrong), 401);
    cr_expect_eq(send_head("/v1/tasks/AAAA/ack", LARGE "Expect: 100-continue\r\n"), 401);
    cr_expect_eq(send_head("/v1/queues/other/%74asks", HERS LARGE), 403);
    cr_expect_eq(w.r->tasking->counts.refused, refused + 4);
    cr_expect_eq(send_head("/v1/tasks/AAAA", HERS LARGE), 413);
    cr_expect_eq(send_head("/v1/queues/login/tickets", HERS LARGE), 413);
    cr_expect_eq(send_head("/v1/queues/images/tasks", HERS "Content-Length: 3000000\r\n"), 413);
    cr_expect(strstr(got, "the 2097152 bytes that are read here: send fewer tasks") != NULL, "%s", got);
    cr_expect_eq(w.r->tasking->counts.refused, refused + 4, "it has a token that may");
    cr_expect_eq(send_head("/v1/queues/images/tasks/batch", HERS "Content-Length: 3000000\r\n"), 413);
    cr_expect(strstr(got, "2097152 bytes") != NULL, "%s", got);
    cr_expect_eq(httpd_counts(w.r->httpd)->in_now, 0);
    cr_expect_eq(httpd_counts(w.r->httpd)->large_now, 0);
}

Test(tasks_http, a_stranger_who_sends_chunks_holds_no_more_than_an_ordinary_body)
{
    static char chunk[1024 + 8] = "400\r\n";
    static const char head[] = "POST /v1/queues/images/tasks HTTP/1.1\r\nHost: a\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n";
    uint64_t most = 0;

    memset(chunk + 5, ' ', 1024);
    memcpy(chunk + 5 + 1024, "\r\n", 2);
    n_got = 0;
    cr_assert(send(w.fd, head, strlen(head), MSG_NOSIGNAL) > 0);
    for (int i = 0; n_got == 0 && i < 1000; i++) {
        (void)!send(w.fd, chunk, 1024 + 7, MSG_NOSIGNAL);
        ev_turn(w.ev, false);
        most = u64_max(most, httpd_counts(w.r->httpd)->in_now);
        more();
    }
    cr_expect_eq(atoi(got + 9), 401);
    cr_expect_leq(most, 65536);
    cr_expect_eq(httpd_counts(w.r->httpd)->in_now, 0);
}

Test(tasks_http, a_large_body_of_a_server_passes)
{
    static const char *const path = "/v1/queues/images/%74asks/batch"; /* decoded once */

    cr_expect_eq(send_head(path, HERS LARGE "Expect: 100-continue\r\n"), 100);
    cr_expect_eq(httpd_counts(w.r->httpd)->large_now > 262144, true);
    n_got = 0;
    send_many(' ', 262144 - 14);
    cr_assert(send(w.fd, "[{},{},{},{} ]", 14, MSG_NOSIGNAL) == 14);
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(atoi(got + 9), 207);
    cr_expect_eq(node.n, 4);
    cr_expect_eq(httpd_counts(w.r->httpd)->large_now, 0);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 201); /* the connection lives */
}
/* ---- claims ------------------------------------------------------------------------------ */

static void set_up_claims(void)
{
    static char site[] = "https://game.example", *origins[] = { site };

    claim_secret = CLAIM_SECRET "\n";
    allow_origins = (struct cfg_list){ origins, 1 };
    set_up();
}

TestSuite(task_claims, .init = set_up_claims, .fini = tear_down, .timeout = 60);

/* Of the queues ride/...; said: members, each with a comma behind it. */
static const char *task_claim(const char *said)
{
    char payload[500];

    snprintf(payload, sizeof(payload), "{%s\"queues\":[\"ride/*\"],\"exp\":%lld}", said,
             (long long)router_wall_s() + 60);
    return claim_text("{\"alg\":\"HS256\",\"kid\":\"shop\"}", payload, NULL);
}

/* more: members of the body, each with a comma before it. */
static int claimed(const char *queue, const char *jwt, const char *head, const char *more)
{
    char path[100], body[3000];

    snprintf(path, sizeof(path), "/v1/queues/%s/tasks", queue);
    snprintf(body, sizeof(body), "{\"claim\":\"%s\"%s}", jwt, more);
    return call_with("POST", path, head, body);
}

#define JTI "\"jti\":\"order-17\","

Test(task_claims, one_claim_is_one_task)
{
    const char *jwt = task_claim(JTI "\"key\":\"tenant7/user42\",\"priority\":3,");
    char first[TASK_TOKEN_LEN + 1];

    cr_assert_eq(claimed("ride/5", jwt, "", ",\"payload\":[1]"), 201);
    strcpy(first, str("task"));
    cr_expect_str_eq(node.v[1].idem, "order-17");
    cr_expect_str_eq(node.v[1].key1, "tenant7");
    cr_expect_str_eq(node.v[1].key2, "user42");
    cr_expect_eq(node.v[1].priority, 3);
    cr_expect_str_eq(node.v[1].body, "[1]");
    cr_expect_eq(claimed("ride/5", jwt, "", ",\"payload\":[1],\"priority\":3,"
                         "\"key\":\"tenant7/user42\""), 200);
    cr_expect_str_eq(str("task"), first);
    cr_expect_eq(claimed("ride/5", jwt, "", ",\"payload\":[2]"), 422);
    cr_expect_eq(node.n, 1);
    cr_expect_eq(w.r->counts.claims, 3);
    cr_expect_eq(claimed("ride/5", task_claim("\"jti\":\"p\","), "",
                         ",\"payload\":{\"kind\":\"permit\"}"), 201, "a task of that word is no permit");
    limit_set(w.r->gate.limit, LIMIT_JOIN, 0.001, 1);
    cr_expect_eq(claimed("ride/5", task_claim("\"jti\":\"q\","), "", ",\"payload\":\"permit\""), 201,
                 "it costs one join");
    cr_expect_eq(claimed("ride/5", task_claim("\"jti\":\"r\","), "", ",\"payload\":1"), 429);
}

Test(task_claims, a_refused_claim_is_told_why)
{
    static const struct {
        const char *queue, *said, *head, *body, *why;
    } rows[] = {
        { "images", JTI, "", "", "the claim is not for this queue (queues)" },
        { "ride/5", "", "", "", "the claim has no jti of 1 to 128 visible ASCII characters" },
        { "ride/5", "\"jti\":\"a b\",", "", "",
          "the claim has no jti of 1 to 128 visible ASCII characters" },
        { "ride/5", JTI "\"key\":\"a/b/c\",", "", "", "the claim's key is not the key of a task" },
        { "ride/5", JTI "\"key\":7,", "", "", "the claim's key is not the key of a task" },
        { "ride/5", JTI "\"priority\":8,", "", "",
          "the claim's priority is not a whole number from 0 to 7" },
        { "ride/5", JTI, "", ",\"key\":\"a\"", "the claim is for another key (key)" },
        { "ride/5", JTI, "", ",\"priority\":1", "the claim is for another priority (priority)" },
        { "ride/5", JTI, "Idempotency-Key: other\r\n", "",
          "the Idempotency-Key of a claim is its jti" },
        { "ride/5", JTI, "", ",\"name\":\"order-18\"",
          "with a claim a task has payload, delay, at and result of its own, and nothing else" },
        { "ride/5", JTI, "", ",\"cost\":1",
          "with a claim a task has payload, delay, at and result of its own, and nothing else" },
        { "ride/5", JTI "\"iat\":9999999999,", "", "", "the claim is from the future (nbf, iat)" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cr_expect_eq(claimed(rows[i].queue, task_claim(rows[i].said), rows[i].head, rows[i].body), 403);
        cr_expect_str_eq(str("code"), "not_eligible");
        cr_expect_str_eq(str("detail"), rows[i].why);
    }
    cr_expect_eq(node.n, 0, "no node was asked");
    cr_expect_eq(w.r->counts.claims_refused, ARRAY_LEN(rows));
    cr_expect_eq(claimed("ride/5", task_claim(JTI), bearer, ""), 400, "a server needs none");
}

Test(task_claims, all_else_needs_the_token_of_a_server)
{
    static const char *const paths[] = { "/v1/queues/ride/5/tasks/batch", "/v1/queues/ride/5/tasks/take",
                                         "/v1/queues/ride/5/tasks/settle" };
    char body[3000];

    snprintf(body, sizeof(body), "{\"claim\":\"%s\"}", task_claim(JTI));
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        cr_expect_eq(call("POST", paths[i], body), 401);
    cr_expect_eq(call("POST", "/v1/queues/ride/5/tasks", "{\"payload\":1}"), 401);
    cr_expect_eq(call("GET", "/v1/queues/ride/5/tasks/order-17", ""), 401);
}

#define PREFLIGHT "Origin: https://game.example\r\nAccess-Control-Request-Method: POST\r\n"

Test(task_claims, pages_of_allowed_origins_submit_and_look)
{
    static const char line[] = "\r\nAccess-Control-Allow-Origin: https://game.example\r\n";

    cr_expect_eq(call_with("OPTIONS", "/v1/queues/ride/5/tasks", PREFLIGHT, ""), 204);
    cr_expect_not_null(strstr(got, "\r\nAccess-Control-Allow-Methods: POST\r\n"));
    cr_expect_eq(claimed("ride/5", task_claim(JTI), "Origin: https://game.example\r\n", ""), 201);
    cr_expect_not_null(strstr(got, line));
    cr_expect_eq(call_with("OPTIONS", task_path(""), PREFLIGHT, ""), 204);
    cr_expect_not_null(strstr(got, "\r\nAccess-Control-Allow-Methods: GET, HEAD, PUT, DELETE\r\n"));
    cr_expect_eq(call_with("GET", task, "Origin: https://game.example\r\n", ""), 200);
    cr_expect_not_null(strstr(got, line));
    cr_expect_eq(call_with("OPTIONS", "/v1/queues/ride/5/tasks/take", PREFLIGHT, ""), 405);
    cr_expect_null(strstr(got, line));
    cr_expect_eq(call_with("OPTIONS", "/v1/queues/ride/5", PREFLIGHT, ""), 404, "it has no methods");
}

/* ---- an address for servers -------------------------------------------------------------- */

static void set_up_apart(void)
{
    listen_tasks = (char *)"127.0.0.1:0";
    set_up();
}

static void tear_down_apart(void)
{
    tear_down();
    listen_tasks = NULL;
}

TestSuite(tasks_apart, .init = set_up_apart, .fini = tear_down_apart, .timeout = 60);

Test(tasks_apart, servers_have_an_address_of_their_own)
{
    cr_expect_eq(call("GET", "/v1/queues/login", ""), 404);
    cr_expect_eq(call("GET", "/healthz", ""), 200);
    cr_assert_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 201);
    task_path("");
    ask_at(w.r->httpd);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 403);
    cr_expect_str_eq(str("code"), "not_eligible");
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks/take", "{}"), 403);
    cr_expect_eq(ask("PATCH", task, "{\"order\":1}"), 403);
    cr_expect_eq(call("GET", task, ""), 200);
    cr_expect_eq(call("DELETE", task, ""), 200);
    cr_expect_eq(call("GET", "/v1/queues/login", ""), 200);
    cr_expect_eq(send_head("/v1/queues/images/tasks", HERS LARGE "Expect: 100-continue\r\n"), 403);
    ask_at(w.r->httpd_tasks);
    cr_expect_eq(send_head("/v1/queues/images/tasks", HERS LARGE "Expect: 100-continue\r\n"), 100);
    cr_expect_eq(node.n, 1);
}

Test(tasks_apart, the_compat_door_is_at_both_addresses_and_servers_at_theirs)
{
    static const char offline[] = "{\"target_url\":\"http://gen.example/x\"}";

    w.cfg.compat = COMPAT_CLASSIC;
    cr_assert_eq(ask("POST", "/compat/v1/submitTask", offline), 200, "%s", got);
    cr_expect_eq(call("POST", "/compat/v1/submitTask", "{\"target_url\":\"http://login.example/img\","
                      "\"task_type\":\"online\"}"), 200);
    cr_expect_eq(send_head("/compat/v1/submitTask", HERS LARGE "Expect: 100-continue\r\n"), 100);
    ask_at(w.r->httpd);
    cr_expect_eq(ask("POST", "/compat/v1/submitTask", offline), 403);
    cr_expect_str_eq(str("code"), "not_eligible");
    cr_expect_eq(send_head("/compat/v1/submitTask", HERS LARGE "Expect: 100-continue\r\n"), 403);
    cr_expect_eq(node.n, 1);
}

/* ---- in other words ---------------------------------------------------------------------- */

static int classic(const char *call_name, const char *body)
{
    char path[100];

    snprintf(path, sizeof(path), "/compat/v1/%s", call_name);
    return ask("POST", path, body);
}

/* ---- a client that was compiled against the contract of such queues: members and their types */

static const char *const submit_members[] = { "Stask_id", "Stask_status", "Screated_at", "Iwait_num" };
static const char *const cancel_members[] = { "Stask_id", "Stask_status" };
static const char *const query_members[] = { "Stask_status", "Stask_result", "Iwait_num", "Iwait_time",
                                             "Screated_at", "Sstarted_at", "Sended_at" };

#define TYPED(members) typed(members, ARRAY_LEN(members), __LINE__)

static void typed(const char *const *member, size_t n, int line)
{
    static const char *const states[] = { "pending", "processing", "completed", "failed" };
    bool known = false;

    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_object_get(js, member[i] + 1);

        cr_expect(member[i][0] == 'S' ? json_is_string(v) : json_is_integer(v), "line %d: %s in %s", line,
                  member[i] + 1, got);
    }
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        known = known || strcmp(str("task_status"), states[i]) == 0;
    cr_expect(known, "line %d", line);
}

/* Of the task of the last answer. */
static int query(void)
{
    char path[200];

    snprintf(path, sizeof(path), "/compat/v1/queryTask?task_id=%s", str("task_id"));
    return call("GET", path, "");
}

Test(tasks_http, the_compat_door_is_closed_unless_it_is_opened)
{
    cr_expect_eq(classic("submitTask", "{\"target_url\":\"http://gen.example/x\"}"), 404);
    cr_expect_str_eq(str("detail"), "no such path");
}

Test(tasks_http, an_offline_task_of_the_classic_kind_is_a_call)
{
    char body[200];

    w.cfg.compat = COMPAT_CLASSIC;
    cr_assert_eq(classic("submitTask", "{\"target_url\":\"http://gen.example/v1/x\",\"body\":{\"a\":1},"
                                       "\"priority\":2}"), 200, "%s", got);
    cr_expect_str_eq(str("task_status"), "pending");
    cr_expect_str_eq(str("task_type"), "offline");
    cr_expect_eq(num("wait_num"), 0);
    cr_expect_str_eq(node.v[1].queue, "gen");
    cr_expect_eq(node.v[1].priority, 2);
    cr_expect_eq(query(), 200);
    cr_expect_str_eq(str("task_status"), "pending");
    snprintf(body, sizeof(body), "{\"task_id\":\"%s\"}", str("task_id"));
    cr_expect_eq(classic("cancelTask", body), 200);
    cr_expect_str_eq(str("task_status"), "failed");
    cr_expect_eq(query(), 200);
    cr_expect(strstr(got, "\"task_error\":{\"code\":\"cancelled\"") != NULL);
    node.n = 0; /* it has gone */
    cr_expect_eq(query(), 410);
    cr_expect_str_eq(str("code"), "task_gone");
    cr_expect(strstr(str("message"), "not kept any more") != NULL);
    cr_expect_eq(classic("cancelTask", body), 200);
}

Test(tasks_http, a_typed_client_of_the_classic_kind_changes_its_base_url_alone)
{
    static const char offline[] = "{\"target_url\":\"http://gen.example/v1/x\",\"http_method\":\"POST\",\"body\":"
                                  "\"{\\\"a\\\": 1}\",\"priority\":2,\"timestamp\":%lld,\"task_type\":\"offline\"}";
    static const char online[] = "{\"target_url\":\"http://login.example/img/7\",\"http_method\":\"POST\","
                                 "\"body\":\"\",\"priority\":%d,\"timestamp\":%lld,\"task_type\":\"online\"}";
    char body[300];

    w.cfg.compat = COMPAT_CLASSIC;
    snprintf(body, sizeof(body), offline, (long long)router_wall_s());
    cr_assert_eq(classic("submitTask", body), 200, "%s", got);
    TYPED(submit_members);
    for (uint8_t state = TASK_SCHEDULED; state < TASK_NSTATES; state++) {
        node.v[1].state = state;
        strcpy(node.v[1].result, task_state_is_final((enum task_state)state) ? "{\"b\": [2]}" : "");
        cr_assert_eq(query(), 200);
        TYPED(query_members);
        cr_expect_str_eq(str("task_result"), node.v[1].result);
    }
    node.v[1].state = TASK_SUCCEEDED;
    node.as.status = 200; /* a target that speaks no JSON */
    node.as.content_type = "text/html";
    node.answers = "<p>\"hello\"\n";
    cr_assert_eq(query(), 200);
    TYPED(query_members);
    cr_expect_str_eq(str("task_result"), node.answers);
    node.as.status = 0;
    node.v[1].state = TASK_WAITING;
    snprintf(body, sizeof(body), "{\"task_id\":\"%s\"}", str("task_id"));
    cr_assert_eq(classic("cancelTask", body), 200);
    TYPED(cancel_members);
    node.n = 0;
    cr_assert_eq(classic("cancelTask", body), 200, "it has gone");
    TYPED(cancel_members);
    snprintf(body, sizeof(body), online, 0, (long long)router_wall_s());
    cr_assert_eq(classic("submitTask", body), 200, "%s", got);
    TYPED(submit_members);
    cr_assert_eq(query(), 200);
    TYPED(query_members);
    snprintf(body, sizeof(body), online, 2, (long long)router_wall_s());
    cr_expect_eq(classic("submitTask", body), 403, "%s", got);
    cr_expect_str_eq(str("message"), "this lane needs a signed claim");
}

Test(tasks_http, an_online_task_of_the_classic_kind_is_a_permit)
{
    w.cfg.compat_time = (char *)(uintptr_t)"unix";
    w.cfg.compat = COMPAT_CLASSIC;
    cr_assert_eq(call("POST", "/compat/v1/submitTask", "{\"target_url\":\"http://login.example/img/7?a\","
                      "\"task_type\":\"online\"}"), 200, "%s", got);
    cr_expect_str_eq(str("task_type"), "online");
    cr_expect_str_eq(str("task_status"), "pending");
    cr_expect_eq(num("wait_num"), 0);
    cr_expect_leq(router_wall_s() - atoll(str("created_at")), 5);
    cr_expect_eq(strlen(str("task_id")), TOKEN_TEXT_LEN);
    cr_expect_str_eq(w.last_subject, "\x02\x0c" "1POST /img/7", "%s", w.last_subject);
    cr_expect_eq(query(), 200);
    cr_expect_str_eq(str("task_type"), "online");
    cr_expect_eq(call("POST", "/compat/v1/submitTask", "{\"target_url\":\"http://gen.example/x\","
                      "\"task_type\":\"online\"}"), 404);
    cr_expect_str_eq(str("message"),
                     "online tasks of this target need the line of people gen: `segqctl queue add`");
    cr_expect_eq(node.n, 0, "no task node has a part in it");
}

Test(tasks_http, the_compat_door_has_the_rules_of_our_own)
{
    w.cfg.compat = COMPAT_CLASSIC;
    cr_expect_eq(call("POST", "/compat/v1/submitTask", "{\"target_url\":\"http://gen.example/x\"}"), 401);

    cr_expect_str_eq(str("code"), "unauthorized");
    cr_expect_str_eq(str("message"), "offline tasks need the token of a server that may submit: `Authorization: Bearer TOKEN`");
    for (int i = 0; i < 2; i++) { /* which addresses are endpoints is not told to strangers */
        static const char *const url[] = { "{\"target_url\":\"http://gen.example/x\"}", "{\"target_url\":\"http://other/x\"}" };

        cr_expect_eq(call("POST", "/compat/v1/submitTask", url[i]), 401);
        cr_expect_eq(strncmp(str("message"), "offline tasks need", 18), 0);
        cr_expect_eq(call_with("POST", "/compat/v1/submitTask", "Authorization: Bearer server-token-of-nobody\r\n", url[i]), 401);
        cr_expect_eq(strncmp(str("message"), "this needs the token", 20), 0);
    }
    cr_expect_eq(call_with("POST", "/compat/v1/submitTask", "Authorization: Bearer server-token-of-nobody\r\n",
                           "{\"target_url\":\"http://gen.example/x\"}"), 401);
    cr_expect_str_eq(str("message"), "this needs the token of a server that may submit: `Authorization: Bearer TOKEN`, a token "
                     "of the file task_tokens of the routers");
    cr_expect(strstr(got, "Content-Type: application/json\r\n") != NULL);
    cr_expect_eq(classic("submitTask", "{\"target_url\":\"http://other/x\"}"), 404);
    cr_expect_str_eq(str("code"), "endpoint_unknown");
    cr_expect_eq(classic("submitTask", "{\"target_url\":\"http://gen.example/../x\"}"), 400);
    cr_expect_str_eq(str("message"), "path has a part that is . or ..");
    cr_expect_eq(classic("submitTask", "{\"target_url\":\"http://gen.example/x\",\"priority\":9}"), 400);
    cr_expect(strstr(str("message"), "priority must be") != NULL);
    cr_expect_eq(ask("GET", "/compat/v1/submitTask", ""), 405);
    cr_expect(strstr(got, "\r\nAllow: POST\r\n") != NULL);
    cr_expect_eq(classic("dance", "{}"), 404);
    cr_expect_eq(call("GET", "/compat/v1/queryTask?task_id=AAAA", ""), 404);
    cr_expect_str_eq(str("code"), "task_unknown");
    cr_expect_eq(ask("GET", "/v1/tasks/AAAA", ""), 404);
    cr_expect_neq(str("detail"), NULL, "ours stay as they are");
}

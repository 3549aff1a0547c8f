/* test_tenants.c: tokens of tenants: their words in the file, what they may, and calls that wait. */
#include "router/task_api/rights.h"

#include "router/task_requests/request.h"
#include "tests/lib/taskhttprig.h"

TestSuite(tenants_http, .init = set_up, .fini = tear_down, .timeout = 60);

/* ---- words ------------------------------------------------------------------------------- */

static struct tenant t;

static const char *reads(const char *words)
{
    static char text[1000];

    copy(text, sizeof(text), words, strlen(words));
    return tenant_read(&t, text);
}

Test(tenants, words_behind_the_queues)
{
    cr_expect_null(reads(""));
    cr_expect_str_eq(t.key, "");
    cr_expect_null(reads(" key=tenant7\tpaths=/v1/chat/completions,/v1/models* wait=5 priority=2 \r"));
    cr_expect_str_eq(t.key, "tenant7");
    cr_expect_eq(t.priority, 2);
    cr_expect_eq(t.wait_s, 5);
    cr_expect_null(reads("key=a/b"));
    cr_expect_eq(t.wait_s, 600);
    cr_expect_eq(t.priority, 0);
}

Test(tenants, wrong_words_are_told)
{
    static const struct {
        const char *words, *why;
    } rows[] = {
        { "tenant7", "nothing else" }, { "keys=a", "nothing else" }, { "key", "nothing else" },
        { "key=", "key= must be" }, { "key=a/b/c", "key= must be" }, { "key=a key=b", "twice" },
        { "priority=2", "key= is missing" }, { "key=a priority=8", "priority= must be" },
        { "key=a priority=-1", "priority= must be" }, { "key=a priority=1x", "priority= must be" },
        { "key=a wait=0", "wait= must be" }, { "key=a wait=3601", "wait= must be" },
        { "key=a wait=", "wait= must be" }, { "key=a cost=0", "cost= must be" },
        { "key=a cost=1000000001", "cost= must be" }, { "cost=5", "key= is missing" }, { "key=a paths=", "paths= must be" },
        { "key=a paths=v1", "paths= must be" }, { "key=a paths=/a,", "paths= must be" },
        { "key=a paths=/a*b", "paths= must be" }, { "key=a paths=/../b", "paths= must be" },
        { "key=a paths=/a?b", "paths= must be" }, { "key=a paths=/a**", "paths= must be" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *why = reads(rows[i].words);

        cr_expect(why != NULL && strstr(why, rows[i].why) != NULL, "%s: %s", rows[i].words, why);
    }
}

static bool may(const char *path)
{
    return tenant_may_call(&t, (struct slice){ (char *)(uintptr_t)path, strlen(path) });
}

Test(tenants, paths_are_compared_as_they_come)
{
    cr_assert_null(reads("key=a paths=/v1/chat/completions,/v1/models*,/x/*"));
    cr_expect(may("/v1/chat/completions") && may("/v1/chat/completions?a=/b") && may("/v1/models"));
    cr_expect(may("/v1/models/gpt") && may("/v1/models?x") && may("/x/"));
    cr_expect_not(may("/v1/chat/completions/") || may("/v1/chat") || may("/v1/chat%2Fcompletions") ||
                  may("/") || may("/x") || may("/V1/models") || may("/?/v1/models"));
    cr_assert_null(reads("key=a"));
    cr_expect(may("/") && may("/a"));
}

static const char *binds(struct task_body *b, struct tenant_texts *texts)
{
    return tenant_bind(&t, b, texts);
}

Test(tenants, texts_of_two_tenants_never_meet)
{
    struct tenant_texts one, two, sub;
    struct task_body b = { .idempotency_key = { (char *)(uintptr_t)"once", 4 } }, c = b, d = b;

    cr_assert_null(reads("key=a"));
    cr_expect_null(binds(&b, &one));
    cr_assert_null(reads("key=b"));
    cr_expect_null(binds(&c, &two));
    cr_assert_null(reads("key=a/b"));
    cr_expect_null(binds(&d, &sub));
    cr_expect_str_eq(one.idem, "5825abafbc4b62aae36fc07e773d10db");
    cr_expect_str_neq(one.idem, two.idem);
    cr_expect_str_neq(one.idem, sub.idem);
    cr_expect_eq(b.idempotency_key.n, 32);
}

#define HASH "5994471abb01112afcc18159f6cc74b4f511b99806da59b3caf5a9c173cacfc5"

Test(tenants, a_token_is_a_tenant_s_or_not)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        { HASH " submit a\n" HASH " submit b\n", NULL }, /* as ever: the first counts */
        { HASH " submit a\n" HASH " submit b key=x\n", "line 2: this token has another line" },
        { HASH " submit a key=x\n\n" HASH " submit b key=x\n", "line 3: this token has another line" },
        { HASH " submit,take a key=x\n", "line 1: a tenant (key=) can neither take nor look" },
        { HASH " submit a key=x priority=9\n", "line 1: priority= must be" },
    };
    struct server_tokens all = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[400];
        struct err e = { 0 };
        int rc;

        copy(text, sizeof(text), rows[i].text, strlen(rows[i].text));
        rc = server_tokens_read(&all, text, &e);
        cr_expect_eq(rc, rows[i].why == NULL ? 0 : SQ_EINVAL);
        cr_expect(rows[i].why == NULL || strncmp(e.text, rows[i].why, strlen(rows[i].why)) == 0, "%s", e.text);
    }
    cr_expect_eq(all.n, 2, "the last good one stays");
    server_tokens_free(&all);
}

/* ---- through a router -------------------------------------------------------------------- */

#define OTHER "another-token-of-the-tenant"
#define GEN "/v1/queues/gen/tasks"

/* The file: one line of TOKEN, perhaps one of OTHER; it is read again. */
static void tokens(const char *hers, const char *others)
{
    uint8_t hash[32];
    char hex[65];
    FILE *f;

    write_tokens(hers);
    f = fopen(node.file, "a");
    crypto_hash_sha256(hash, (const uint8_t *)OTHER, strlen(OTHER));
    sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
    cr_assert(f != NULL && (others == NULL || fprintf(f, "%s %s\n", hex, others) > 0) && fclose(f) == 0);
    tasking_reload(w.r->tasking);
}

static const char *error_str(const char *name)
{
    const char *s = json_string_value(json_object_get(json_object_get(js, "error"), name));

    return s != NULL ? s : "";
}

Test(tenants_http, a_tenant_s_tasks_have_its_key_and_no_higher_priority)
{
    tokens("submit gen,images key=tenant7 priority=2", NULL);
    cr_expect_eq(ask("POST", GEN, "{\"path\":\"/a\"}"), 201);
    cr_expect_str_eq(node.v[1].key1, "tenant7");
    cr_expect_str_eq(node.v[1].key2, "");
    cr_expect_eq(node.v[1].priority, 2);
    cr_expect_eq(ask("POST", GEN, "{\"path\":\"/a\",\"key\":\"tenant7/u\",\"priority\":1}"), 201);
    cr_expect_str_eq(node.v[2].key2, "u");
    cr_expect_eq(node.v[2].priority, 1);
    cr_expect_eq(ask("POST", GEN, "{\"path\":\"/a\",\"key\":\"tenant77\"}"), 403);
    cr_expect_eq(ask("POST", GEN, "{\"path\":\"/a\",\"key\":\"tenant8\"}"), 403);
    cr_expect_eq(ask("POST", GEN, "{\"path\":\"/a\",\"priority\":3}"), 403);
    cr_expect_eq(ask("POST", GEN, "{\"path\":\"/a\",\"name\":\"x\"}"), 403);
    cr_expect_eq(ask("POST", GEN "/batch", "[{\"path\":\"/b\"},{\"path\":\"/c\",\"key\":\"k\"}]"), 207);
    cr_expect_str_eq(node.v[3].key1, "tenant7");
    cr_expect_eq(json_integer_value(json_object_get(json_array_get(js, 1), "status")), 403);
    cr_expect_eq(node.n, 3);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{\"unique\":{\"key\":\"cart\"},\"payload\":1}"), 201);
    cr_expect_eq(strlen(node.v[4].unique), 32);
}

Test(tenants_http, a_tenant_does_nothing_to_tasks_of_others)
{
    static const char *const calls[][2] = {
        { "POST", "/v1/queues/images/tasks/take" }, { "DELETE", "/v1/queues/images/tasks/n" },
        { "PUT", "/v1/schedules/images/n" }, { "GET", "/v1/queues/images/tasks/n" },
    };
    char text[100], images[] = "images";
    struct http_req q = { 0 };

    tokens("submit,read images,gen key=tenant7", NULL);
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        cr_expect_eq(ask(calls[i][0], calls[i][1], calls[i][0][0] == 'P' ? "{}" : ""), 403, "%s", calls[i][1]);
        cr_expect_str_eq(str("code"), "not_eligible");
    }
    cr_expect_eq(ask("GET", "/v1/queues/ride/7/tasks", ""), 403);
    q.authorization = (struct slice){ strcpy(text, "Bearer " TOKEN), strlen("Bearer " TOKEN) };
    cr_expect_not(task_server_submits(w.r->tasking, &q, (struct slice){ images, 6 }), "it opens no lane");
}

Test(tenants_http, a_file_that_gives_a_tenant_more_is_refused)
{
    uint64_t n = w.r->tasking->tokens.n;

    tokens("submit,take gen key=tenant7", NULL);
    tokens("submit gen key=tenant7 wait=x", NULL);
    cr_expect_eq(w.r->tasking->tokens.n, n);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks/take", "{}"), 200, "the file of before counts");
    tokens("submit gen key=tenant7", "submit gen key=tenant7");
    cr_expect_eq(w.r->tasking->tokens.n, 2, "two tokens of one tenant");
}

static const char two[] = "Authorization: Bearer " OTHER "\r\n";

Test(tenants_http, a_call_is_its_tenant_s_and_meets_no_call_of_others)
{
    tokens("submit gen key=tenant7 paths=/v1/*", "submit gen key=tenant8 priority=1");
    node.finishes = true;
    node.as.status = 200;
    node.as.content_type = "application/json";
    node.answers = "{}";
    cr_expect_eq(call_with("POST", "/v1/call/gen/v1/chat", HERS "Idempotency-Key: once\r\n", "{}"), 200);
    cr_expect_eq(call_with("POST", "/v1/call/gen/v1/chat", HERS "Idempotency-Key: once\r\n", "{}"), 200);
    cr_expect_eq(call_with("POST", "/v1/call/gen/v1/chat", "Authorization: Bearer " OTHER
                           "\r\nIdempotency-Key: once\r\n", "{}"), 200);
    cr_expect_eq(node.n, 2);
    cr_expect_str_eq(node.v[1].key1, "tenant7");
    cr_expect_str_eq(node.v[2].key1, "tenant8");
    cr_expect_eq(node.v[2].priority, 1);
    cr_expect_null(strstr(node.v[1].head, "once"), "to the target all tenants are one");
    cr_expect_null(strstr(node.v[1].head, TOKEN));
    cr_expect_eq(call_with("POST", "/v1/call/gen/admin", bearer, "{}"), 403);
    cr_expect_str_eq(error_str("code"), "not_eligible");
    cr_expect_str_eq(error_str("type"), "permission_error");
    cr_expect_not_null(strstr(error_str("message"), "paths="));
    cr_expect_eq(call_with("POST", "/v1/call/gen/admin", two, "{}"), 200);
    cr_expect_eq(call_with("POST", GEN, bearer, "{\"path\":\"/admin\"}"), 403);
    cr_expect_eq(w.r->tasking->counts.tenants, 5);
}

Test(tenants_http, errors_have_the_form_that_clients_of_models_read)
{
    cr_expect_eq(call("POST", "/v1/call/gen/v1/chat", "{}"), 401);
    cr_expect_str_eq(error_str("code"), "unauthorized");
    cr_expect_str_eq(error_str("type"), "authentication_error");
    cr_expect(json_is_null(json_object_get(json_object_get(js, "error"), "param")));
    cr_expect_eq(call_with("POST", "/v1/call/nobody/v1/chat", bearer, "{}"), 404);
    cr_expect_str_eq(error_str("code"), "endpoint_unknown");
    cr_expect_eq(send_head("/v1/call/gen/x", "Content-Length: 262144\r\n"), 401);
    cr_expect_not_null(strstr(got, "\"error\":{\"message\":\"this needs the token of a server"));
    close(w.fd);
    dial();
    cr_expect_eq(call("POST", "/v1/queues/images/tasks", "{}"), 401);
    cr_expect_null(json_object_get(js, "error"), "of calls alone");
    node.finishes = true;
    node.ends_as = TASK_EXPIRED;
    cr_expect_eq(call_with("GET", "/v1/call/gen/x", HERS "Prefer: wait=5\r\n", ""), 502);
    cr_expect_str_eq(error_str("type"), "server_error");
}

static void answer_look(uint8_t state)
{
    struct msg m = { .type = MSG_TASK_GET_ANS };

    m.task_get_ans = node.as;
    m.task_get_ans.code = CODE_DONE;
    m.task_get_ans.no = node.n;
    m.task_get_ans.state = state;
    m.task_get_ans.queue = m.task_get_ans.key1 = m.task_get_ans.key2 = m.task_get_ans.limited_by = "";
    m.task_get_ans.own.labels = "";
    if (state == TASK_SUCCEEDED) {
        m.task_get_ans.status = 200;
        m.task_get_ans.content_type = "text/plain";
        m.task_get_ans.result = (struct bytes_of){ 4, (const uint8_t *)"late" };
        m.task_get_ans.result_length = 4;
    }
    send_msg(node.ch, &m, node.get_rid);
}

/* A call whose client has not heard yet; at the node it is looked at. */
static void call_and_hold(const char *head)
{
    uint64_t was = node.get_rid;
    char text[500];
    int n = snprintf(text, sizeof(text), "POST /v1/call/gen/x HTTP/1.1\r\nHost: a\r\n%s\r\n", head);

    node.holds = true;
    close(w.fd);
    dial();
    n_got = 0;
    cr_assert_eq(send(w.fd, text, (size_t)n, MSG_NOSIGNAL), n);
    UNTIL(node.get_rid != was);
}

/* Looks end after their time, as at a node. */
static void let_pass(msec_t ms)
{
    msec_t until = ev_now(w.ev) + ms;

    UNTIL(ev_now(w.ev) >= until);
}

Test(tenants_http, a_call_waits_for_its_answer_and_is_never_told_202)
{
    tokens("submit gen key=tenant7 wait=70", NULL);
    call_and_hold(HERS "Content-Length: 0\r\n");
    cr_expect_eq(node.waits_ms, 60000, "in parts");
    answer_look(TASK_WAITING); /* long before its time: the node is in need */
    UNTIL((more(), n_got > 0));
    cr_expect_eq(atoi(got + 9), 503);
    tokens("submit gen key=tenant7 wait=1", NULL);
    call_and_hold(HERS "Content-Length: 0\r\n");
    cr_expect_eq(node.waits_ms, 1000);
    let_pass(1050);
    n_got = 0;
    answer_look(TASK_WAITING);
    UNTIL((more(), n_got > 0));
    cr_expect_eq(atoi(got + 9), 504);
    cr_expect_not_null(strstr(got, "\"code\":\"wait_over\""));
    UNTIL(node.withdrawn == 1);
    cr_expect_eq(w.r->tasking->counts.waits_over, 1);
}

Test(tenants_http, a_token_that_is_revoked_ends_no_call_and_begins_none)
{
    FILE *f;

    tokens("submit gen key=tenant7 wait=60", NULL);
    call_and_hold(HERS "Content-Length: 0\r\n");
    tokens("submit gen key=tenant9", NULL);
    answer_look(TASK_SUCCEEDED);
    n_got = 0;
    UNTIL((more(), n_got > 0));
    cr_expect_eq(atoi(got + 9), 200);
    cr_expect_not_null(strstr(got, "\r\n\r\nlate"));
    f = fopen(node.file, "w");
    cr_assert(f != NULL && fputs("# nobody\n", f) > 0 && fclose(f) == 0);
    tasking_reload(w.r->tasking);
    cr_expect_eq(call_with("GET", "/v1/call/gen/x", bearer, ""), 401);
}

/* What a task takes beyond a rate's burst is owed by all of its queue. */
Test(tenants_http, a_tenant_says_no_larger_cost_than_its_line)
{
    tokens("submit gen key=tenant7 cost=50", NULL);
    cr_expect_eq(ask("POST", GEN, "{\"path\":\"/a\",\"cost\":50}"), 201);
    cr_expect_eq(ask("POST", GEN, "{\"path\":\"/a\",\"cost\":51}"), 403);
    cr_expect_eq(ask("POST", GEN "/batch", "[{\"path\":\"/b\",\"cost\":51},{\"path\":\"/c\"}]"), 207);
    cr_expect_eq(json_integer_value(json_object_get(json_array_get(js, 0), "status")), 403);
    cr_expect_eq(call_with("POST", "/v1/call/gen/a", HERS "Prefer: wait=0\r\nsegq-cost: 51\r\n", "{}"), 403);
    cr_expect_not_null(strstr(error_str("message"), "cost="));
    cr_expect_eq(call_with("POST", "/v1/call/gen/a", HERS "Prefer: wait=0\r\nsegq-cost: 50\r\n", "{}"), 202);
    cr_expect_eq(node.n, 3);
    cr_expect_eq(own_cost(&node.v[3].own), 50);
}

/* Tenants are one to the target: what one of them says twice is told to no other. */
Test(tenants_http, a_tenant_says_no_idempotency_key_to_the_target)
{
    static const char *const names[] = { "Idempotency-Key", "idempotency_key" };
    char body[200], head[200];

    tokens("submit gen key=tenant7", NULL);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        snprintf(body, sizeof(body), "{\"path\":\"/a\",\"headers\":{\"%s\":\"once\"}}", names[i]);
        cr_expect_eq(ask("POST", GEN, body), 400);
        cr_expect_not_null(strstr(str("detail"), names[i]), "%s", str("detail"));
        snprintf(head, sizeof(head), HERS "Prefer: wait=0\r\n%s: once\r\n", names[i]);
        cr_expect_eq(call_with("POST", "/v1/call/gen/v1/chat", head, "{}"), 202);
        cr_expect_null(strstr(node.v[node.n].head, "once"), "%s", node.v[node.n].head);
    }
    tokens("submit gen", NULL);
    cr_expect_eq(ask("POST", GEN, body), 201, "of our own servers it is passed on");
}

/* A repeat would meet the task that was cancelled for the first one. */
Test(tenants_http, a_call_that_is_repeated_stays_and_is_told_so)
{
    tokens("submit gen key=tenant7 wait=1", NULL);
    call_and_hold(HERS "Idempotency-Key: once\r\nContent-Length: 0\r\n");
    let_pass(1050);
    n_got = 0;
    answer_look(TASK_WAITING);
    UNTIL((more(), n_got > 0));
    cr_expect_eq(atoi(got + 9), 504);
    cr_expect_null(strstr(got, "is cancelled"), "%s", got);
    cr_expect_not_null(strstr(got, "it goes on"));
    cr_expect_eq(node.withdrawn, 0);
}

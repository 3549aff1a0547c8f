/* test_mng_access.c: who may do what: the whole table of routes with each role and each part of the
 * cluster; lists show what their bearer may see; tokens that end, and a file that is refused. */
#include "tests/lib/criterion.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/http/http.h"
#include "common/supervisor/program.h"
#include "queuemng/admin/sign_in.h"
#include "queuemng/process/manager.h"
#include "queuemng/service/routes.h"
#include "queuemng/service/service.h"

enum who { ROOT, ADMIN, OPERATOR, VIEWER, SHOP, RIDES, NOBODY, CABS, STRANGER, N_WHO };

static struct {
    char dir[64], file[80];
    struct ev *ev;
    struct mng_cfg cfg;
    struct mng_service *s;
    struct admin_ans a;
    json_t *j;
    struct access_file tokens;
    char token[N_WHO][TOKEN_CAP];
    char session[400]; /* cookie of the requests */
    bool dashboard;
    const char *operator_name;
    struct admin_forwarded said; /* headers of the requests */
    struct http_via via;
} g;

static void add(enum who w, const char *name, enum role role, const char *queues, const char *pools)
{
    struct err e = { 0 };

    cr_assert_eq(access_add(&g.tokens, name, role, "", queues, pools, g.token[w], &e), 0, "%s", e.text);
}

static void setup(void)
{
    char set[4][200];
    const char *sets[] = { set[0], set[1], set[2], set[3], "create_keys=true", "listen=127.0.0.1:0",
                           "admin=127.0.0.1:0", "queues=[{name: shop}, {name: login}]",
                           "pools=[{match: images}, {match: ride/*}]",
                           "endpoints=[{name: bank, url: 'http://127.0.0.1:9/'}]" };
    struct err e = { 0 };

    log_set_level(LOG_ERROR);
    cr_assert_eq(keys_init(&e), 0);
    memset(&g, 0, sizeof(g));
    strcpy(g.dir, "/tmp/segq-access-XXXXXX");
    cr_assert_not_null(mkdtemp(g.dir));
    snprintf(g.file, sizeof(g.file), "%s/tokens.yaml", g.dir);
    add(ADMIN, "ada", ROLE_ADMIN, "*", "*");
    add(OPERATOR, "otto", ROLE_OPERATOR, "*", "*");
    add(VIEWER, "vera", ROLE_VIEWER, "*", "*");
    add(SHOP, "sam", ROLE_ADMIN, "shop", "");
    add(RIDES, "rita", ROLE_ADMIN, "", "ride/*");
    add(NOBODY, "nina", ROLE_ADMIN, "", "");
    add(CABS, "carl", ROLE_ADMIN, "", "cab");
    cr_assert_eq(access_write(&g.tokens, g.file, &e), 0, "%s", e.text);
    snprintf(set[0], sizeof(set[0]), "secret_file=%s/s", g.dir);
    snprintf(set[1], sizeof(set[1]), "admin_token_file=%s/t", g.dir);
    snprintf(set[2], sizeof(set[2]), "data_dir=%s/data", g.dir);
    snprintf(set[3], sizeof(set[3]), "admin_tokens_file=%s", g.file);
    cr_assert_eq(cfg_load(&g.cfg, sizeof(g.cfg), mng_keys, NULL, sets, ARRAY_LEN(sets), &e), 0, "%s",
                 e.text);
    cr_assert_eq(ev_new(&g.ev, &e), 0);
    cr_assert_eq(mng_service_new(&g.s, g.ev, &g.cfg, &e), 0, "%s", e.text);
    strcpy(g.token[ROOT], g.s->admin_token);
    g.operator_name = "boss";
    g.said = (struct admin_forwarded){ "", "", "", false, "", &g.via };
}

static void teardown(void)
{
    char cmd[100];

    mng_service_free(g.s);
    ev_free(g.ev);
    cfg_clear(&g.cfg, mng_keys);
    access_clear(&g.tokens);
    json_decref(g.j);
    buf_fini(&g.a.body);
    snprintf(cmd, sizeof(cmd), "rm -rf %s", g.dir);
    cr_expect_eq(system(cmd), 0);
}

TestSuite(access_api, .init = setup, .fini = teardown);

static int ask(enum who w, const char *method, const char *path, const char *query, const char *body)
{
    char full[400];
    struct admin_req q = { .method = method, .path = full, .raw_path = full, .query = query,
                           .if_match = "", .if_none_match = "", .token = g.token[w],
                           .token_len = strlen(g.token[w]), .session = g.session,
                           .session_len = strlen(g.session), .dashboard = g.dashboard, .from = "192.0.2.7",
                           .operator_name = g.operator_name, .forwarded = g.said, .body = (const uint8_t *)body,
                           .body_len = strlen(body) };

    snprintf(full, sizeof(full), "/v1/admin/%s", path);
    buf_fini(&g.a.body);
    memset(&g.a, 0, sizeof(g.a));
    buf_init(&g.a.body);
    admin_api(g.s, &q, &g.a);
    json_decref(g.j);
    g.j = json_loadb((const char *)g.a.body.data, g.a.body.len, 0, NULL);
    buf_byte(&g.a.body, '\0'); /* as a text */
    return g.a.status;
}

static const char *text(const char *key)
{
    const char *s = json_string_value(json_object_get(g.j, key));

    return s != NULL ? s : "";
}

static size_t rows(const char *list)
{
    return json_array_size(json_object_get(g.j, list));
}

/* Of the newest entry of the log of changes. */
static const char *first_entry(const char *key)
{
    const json_t *x = json_array_get(json_object_get(g.j, "entries"), 0);
    const char *s = json_string_value(json_object_get(x, key));

    return s != NULL ? s : "";
}

/* The path of a route, with names that nobody has. */
static void path_of(const struct route *r, char *out)
{
    for (const char *p = r->path; *p != '\0';) {
        if (*p == '{') {
            out = stpcpy(out, "none");
            p = strchr(p, '}') + 1;
        } else {
            *out++ = *p++;
        }
    }
    *out = '\0';
}

/* Each row with each role: whoever is below it gets 403 and nothing else, whoever is not never does;
 * a name that does not exist makes no difference. */
Test(access_api, each_route_needs_its_role)
{
    static const enum role has[] = { [ROOT] = ROLE_ADMIN, [ADMIN] = ROLE_ADMIN,
                                     [OPERATOR] = ROLE_OPERATOR, [VIEWER] = ROLE_VIEWER };

    for (size_t i = 0; i < n_routes; i++) {
        const struct route *r = &routes[i];
        char path[300];

        cr_assert(r->role >= ROLE_VIEWER && r->role <= ROLE_ADMIN, "%s %s has no role", r->method, r->path);
        cr_assert(r->about >= ABOUT_NOTHING && r->about <= ABOUT_TASK && r->answer != NULL, "%s", r->path);
        cr_expect((strcmp(r->method, "GET") == 0 && strcmp(r->path, "tasks/{task}/payload") != 0 &&
                   strcmp(r->path, "suspects") != 0) || strcmp(r->path, "session") == 0
                      ? r->role == ROLE_VIEWER : r->role > ROLE_VIEWER, "%s %s",
                  r->method, r->path);
        path_of(r, path);
        for (enum who w = ROOT; w <= VIEWER; w++) {
            int status;

            /* a restored or created one, and a body that is none, would change what is there */
            status = ask(w, r->method, path, "", "[]");
            if (has[w] < r->role) {
                cr_expect_eq(status, 403, "%s %s as %d: %d", r->method, path, w, status);
                cr_expect_str_eq(text("code"), "forbidden");
                cr_expect_not_null(strstr(text("detail"), role_word(r->role)), "%s", text("detail"));
            } else {
                cr_expect(status != 403 && status != 401 && status != 405 && status != 0,
                          "%s %s as %d: %d %s", r->method, path, w, status, text("detail"));
            }
        }
    }
}

/* Who is for one queue, or one kind of pools, or nothing, gets only that; the names in the path do not
 * exist, and the answer is the same for those that do. */
Test(access_api, each_route_looks_at_what_it_is_about)
{
    for (size_t i = 0; i < n_routes; i++) {
        const struct route *r = &routes[i];
        bool for_all = r->about != ABOUT_NOTHING && r->about != ABOUT_QUERY;
        char path[300];

        path_of(r, path);
        for (enum who w = SHOP; w <= NOBODY; w++) {
            int status = ask(w, r->method, path, "", "[]");

            cr_expect_eq(status == 403, for_all, "%s %s as %d: %d %s", r->method, path, w, status, text("detail"));
            cr_expect(strstr((const char *)g.a.body.data, "none") == NULL || !for_all, "no hint: %s",
                      text("detail"));
        }
    }
}

Test(access_api, a_queue_or_pool_of_ones_own)
{
    static const char *const mine[] = { "queues/shop/pause", "queues/shop/resume" };
    static const char *const others[] = { "queues/login/pause", "endpoints/bank/pause", "nodes/n1/drain",
                                          "task-queues/images/tasks/cancel", "queues/shopx/pause" };

    for (size_t i = 0; i < ARRAY_LEN(mine); i++)
        cr_expect_eq(ask(SHOP, "POST", mine[i], "", ""), 200, "%s", mine[i]);
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        cr_expect_eq(ask(SHOP, "POST", others[i], "", ""), 403, "%s", others[i]);
        cr_expect_not_null(strstr(text("detail"), "the token sam is not for that"), "%s", text("detail"));
    }
    cr_expect_eq(ask(SHOP, "GET", "history", "queue=shop", ""), 200);
    cr_expect_eq(ask(SHOP, "GET", "history", "queue=login", ""), 403);
    cr_expect_eq(ask(SHOP, "GET", "history", "pool=shop", ""), 403);
    cr_expect_eq(ask(SHOP, "GET", "cluster/history", "", ""), 403);
    cr_expect_eq(ask(RIDES, "GET", "pools/ride/*", "", ""), 200);
    cr_expect_eq(ask(RIDES, "GET", "pools/images", "", ""), 403);
    cr_expect_eq(ask(RIDES, "PUT", "task-queues/ride/7/tasks/keys/a/b", "", "{\"max_concurrent\": 3}"), 201);
    cr_expect_eq(ask(RIDES, "PUT", "task-queues/images/tasks/keys/a", "", "{\"max_concurrent\": 3}"), 403);
    cr_expect_eq(ask(RIDES, "GET", "task-queues/busiest", "pool=ride/*", ""), 200);
    cr_expect_eq(ask(RIDES, "GET", "task-queues/busiest", "pool=images", ""), 403);
    cr_expect_eq(ask(RIDES, "POST", "task-queues/export", "pool=images", ""), 403);
}

/* A definition that names what its bearer is not for would send calls there, or take shares of others. */
Test(access_api, a_definition_names_nothing_of_others)
{
    static const char to_bank[] = "{\"endpoint\": \"bank\"}", to_none[] = "{\"endpoint\": \"none\"}";

    cr_expect_eq(ask(RIDES, "PUT", "pools/ride/x", "", to_bank), 403, "%d", g.a.status);
    cr_expect_not_null(strstr(text("detail"), "endpoint: what it names"), "%s", text("detail"));
    cr_expect_eq(ask(RIDES, "PUT", "pools/ride/x", "", to_none), 403, "whether it exists makes no difference");
    cr_expect_eq(ask(RIDES, "PUT", "pools/ride/x", "", "{\"notify\": \"bank\"}"), 403);
    cr_expect_eq(ask(RIDES, "PUT", "pools/ride/y", "", "{}"), 201, "%s", text("detail"));
    cr_expect_eq(ask(ADMIN, "PUT", "pools/ride/x", "", to_bank), 201, "%s", text("detail"));
    cr_expect_eq(ask(RIDES, "PATCH", "pools/ride/x", "", "{\"paused\": true}"), 200, "it was so before");
    cr_expect_eq(ask(ADMIN, "PUT", "budgets/db", "", "{\"rate_per_s\": 10}"), 201, "%s", text("detail"));
    cr_expect_eq(ask(SHOP, "PATCH", "queues/shop", "", "{\"budget\": \"db\"}"), 403);
    cr_expect_eq(ask(ADMIN, "PATCH", "queues/shop", "", "{\"budget\": \"db\"}"), 200, "%s", text("detail"));
    cr_expect_eq(ask(SHOP, "PATCH", "queues/shop", "", "{\"budget_weight\": 1000}"), 403);
    cr_expect_eq(ask(SHOP, "PATCH", "queues/shop", "", "{\"budget\": \"\"}"), 403, "nor goes without");
    cr_expect_eq(ask(SHOP, "PATCH", "queues/shop", "", "{\"turn_notice\": {\"queue\": \"bank\"}}"), 403);
    cr_expect_not_null(strstr(text("detail"), "turn_notice: what it names"), "%s", text("detail"));
    cr_expect_eq(ask(SHOP, "PATCH", "queues/shop", "", "{\"message\": \"soon\"}"), 200, "%s", text("detail"));
}

/* Routers say the secret of their captcha to it. */
Test(access_api, only_who_is_for_all_says_which_site_gets_the_routers_secret)
{
    static const char site[] = "{\"challenge\": {\"verify_url\": \"https://evil.example/\"}}";

    cr_expect_eq(ask(SHOP, "PATCH", "queues/shop", "", site), 403, "%d", g.a.status);
    cr_expect_not_null(strstr(text("detail"), "challenge.verify_url: what it names"), "%s", text("detail"));
    cr_expect_eq(ask(ADMIN, "PATCH", "queues/shop", "", site), 200, "%s", text("detail"));
    cr_expect_eq(ask(SHOP, "PATCH", "queues/shop", "", "{\"challenge\": {\"mode\": \"on\"}}"), 200,
                 "it was so before: %s", text("detail"));
    cr_expect_eq(ask(SHOP, "PATCH", "queues/shop", "", "{\"challenge\": {\"verify_url\": \"\"}}"), 200, "%s",
                 text("detail"));
    cr_expect_eq(ask(SHOP, "PATCH", "queues/shop", "", site), 403);
}

/* Else whoever has one queue puts a script into the site of all. */
Test(access_api, only_who_is_for_all_says_which_script_a_page_loads)
{
    static const char url[] = "{\"challenge\": {\"verify_url\": \"https://check.example/\"}}";
    static const char check[] = "{\"page\": {\"check\": \"https://evil.example/x.js\", \"check_key\": \"k\"}}";

    cr_expect_eq(ask(ADMIN, "PATCH", "queues/shop", "", check), 400, "%d: it needs verify_url", g.a.status);
    cr_expect_eq(ask(ADMIN, "PATCH", "queues/shop", "", url), 200, "%s", text("detail"));
    cr_expect_eq(ask(SHOP, "PATCH", "queues/shop", "", check), 403, "%d", g.a.status);
    cr_expect_not_null(strstr(text("detail"), "page.check: what it names"), "%s", text("detail"));
    cr_expect_eq(ask(ADMIN, "PATCH", "queues/shop", "", check), 200, "%s", text("detail"));
    cr_expect_eq(ask(SHOP, "PATCH", "queues/shop", "", "{\"page\": {\"title\": \"Shop\"}}"), 200, "%s", text("detail"));
}

/* The pools that call an endpoint go with it: none of others does. */
Test(access_api, an_endpoint_takes_no_pool_of_others_along)
{
    cr_expect_eq(ask(ADMIN, "PUT", "endpoints/cab", "", "{\"url\": \"http://127.0.0.1:9/\"}"), 201, "%s",
                 text("detail"));
    cr_expect_eq(ask(ADMIN, "PUT", "pools/ride/x", "", "{\"endpoint\": \"cab\"}"), 201, "%s", text("detail"));
    cr_expect_eq(ask(CABS, "DELETE", "endpoints/cab", "", ""), 403, "%d", g.a.status);
    cr_expect_eq(ask(CABS, "DELETE", "endpoints/cab", "final=true", ""), 403, "%d", g.a.status);
    cr_expect_null(strstr((const char *)g.a.body.data, "ride"), "%s", text("detail"));
    cr_expect_eq(ask(ADMIN, "GET", "pools/ride/x", "", ""), 200, "it is there");
    cr_expect_eq(ask(ADMIN, "DELETE", "pools/ride/x", "final=true", ""), 200, "%s", text("detail"));
    cr_expect_eq(ask(CABS, "DELETE", "endpoints/cab", "final=true", ""), 200, "%s", text("detail"));
}

/* Whoever asks again and again for what is not theirs leaves the log, and the events in it, to others. */
Test(access_api, refused_calls_do_not_fill_the_log)
{
    uint64_t before;

    before = g.s->events.n_notable;
    for (int i = 0; i < 500; i++)
        cr_assert_eq(ask(VIEWER, "POST", "queues/shop/pause", "", ""), 403);
    cr_expect_gt(g.s->events.n_notable, before, "nothing is said");
    cr_expect_leq(g.s->events.n_notable, before + 30, "%llu lines",
                  (unsigned long long)(g.s->events.n_notable - before));
    before = g.s->events.n_notable;
    for (int i = 0; i < 500; i++)
        cr_assert_eq(ask(VIEWER, "POST", "session", "", ""), 200);
    cr_expect_leq(g.s->events.n_notable, before + 30, "%llu lines",
                  (unsigned long long)(g.s->events.n_notable - before));
}

/* An operator changes what a launch night needs; a key more, and it is an admin's. */
Test(access_api, some_keys_of_a_definition_are_an_operators)
{
    static const struct {
        const char *path, *body;
        int status;
    } v[] = {
        { "queues/shop", "{\"release_per_s\": 5, \"message\": \"soon\", \"max_active\": 9}", 200 },
        { "queues/shop", "{\"limits\": [], \"version\": 2}", 200 },
        { "queues/shop", "{\"message\": \"x\", \"page\": {\"messages\": []}}", 200 },
        { "queues/shop", "{\"page\": {\"messages\": [], \"style\": \"\"}}", 403 },
        { "queues/shop", "{\"page\": {}}", 403 },
        { "queues/shop", "{\"lanes\": []}", 403 },
        { "queues/shop", "{\"message\": \"x\", \"bypass\": {\"headers\": []}}", 403 },
        { "queues/shop", "{\"message\": \"x\", \"messag\": \"y\"}", 403 },
        { "queues/shop", "{\"\": 1}", 403 },
        { "queues/shop", "{", 400 },
        { "queues/shop", "{\"message\": \"x\", \"message\": \"y\"}", 400 },
        { "pools/images", "{\"paused\": true}", 200 },
        { "pools/images", "{\"partitions\": 4}", 403 },
        { "endpoints/bank", "{\"rate_per_s\": 5}", 200 },
        { "endpoints/bank", "{\"url\": \"http://127.0.0.1:8/\"}", 403 },
        { "queues/none", "{\"message\": \"x\"}", 404 },
        { "task-queues/images/tasks/schedules/s", "{\"paused\": true}", 503 }, /* no task node is there */
        { "task-queues/images/tasks/schedules/s", "{\"paused\": true, \"every\": 1}", 403 },
        { "task-queues/images/tasks/schedules/s", "{\"every\": 1, \"task\": {\"payload\": 1, \"payload\": 2}}", 403 },
        { "task-queues/images/tasks/schedules/s", "{\"paused\": true, \"paused\": false}", 400 },
        { "task-queues/images/tasks/schedules/s", "{}", 403 },
    };

    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        cr_expect_eq(ask(OPERATOR, "PATCH", v[i].path, "", v[i].body), v[i].status, "%zu: %d %s", i,
                     g.a.status, text("detail"));
    cr_expect_eq(ask(OPERATOR, "PATCH", "queues/shop", "", "{\"lanes\": []}"), 403);
    cr_expect_str_eq(text("detail"), "the role admin is needed to change lanes; the token otto is of role "
                     "operator");
    cr_expect_eq(ask(ADMIN, "PATCH", "queues/shop", "", "{\"lanes\": []}"), 200);
}

Test(access_api, lists_have_what_the_bearer_may_see)
{
    cr_expect_eq(ask(VIEWER, "GET", "queues", "", ""), 200);
    cr_expect_eq(rows("queues"), 2);
    cr_expect_eq(ask(SHOP, "GET", "queues", "", ""), 200);
    cr_expect_eq(rows("queues"), 1);
    cr_expect_eq(ask(SHOP, "GET", "live", "queue=login", ""), 200);
    cr_expect_eq(rows("queues"), 1);
    cr_expect(json_is_null(json_object_get(g.j, "queue")));
    cr_expect_eq(json_integer_value(json_object_get(g.j, "queues_total")), 1);
    cr_expect_eq(json_array_size(json_object_get(json_object_get(g.j, "tasks"), "pools")), 0);
    cr_expect_eq(ask(RIDES, "GET", "cluster", "", ""), 200);
    cr_expect_eq(rows("queues"), 0);
    cr_expect_eq(json_array_size(json_object_get(json_object_get(g.j, "tasks"), "pools")), 1);
    cr_expect_eq(json_array_size(json_object_get(json_object_get(g.j, "tasks"), "endpoints")), 0);
    cr_expect_eq(ask(RIDES, "GET", "pools", "", ""), 200);
    cr_expect_eq(rows("pools"), 1);
    cr_expect_eq(ask(NOBODY, "GET", "endpoints", "", ""), 200);
    cr_expect_eq(rows("endpoints"), 0);
    cr_expect_eq(ask(ADMIN, "DELETE", "queues/login", "", ""), 200);
    cr_expect_eq(ask(SHOP, "GET", "cluster", "", ""), 200);
    cr_expect_eq(rows("deleted"), 0);
    cr_expect_eq(ask(ADMIN, "GET", "cluster", "", ""), 200);
    cr_expect_eq(rows("deleted"), 1);
    cr_expect_eq(ask(SHOP, "GET", "audit", "", ""), 200);
    cr_expect_eq(rows("entries"), 0);
}

/* Events of the log name a queue of people, a task queue (with a key), a pool or an endpoint, or none. */
Test(access_api, events_are_those_of_the_bearers_part)
{
    static const char *const lines[] = { "event=queue_full queue=shop waiting=3",
                                         "event=queue_full queue=login waiting=3",
                                         "event=key_pinned queue=ride/7 key=\"tenant\" version=1",
                                         "event=key_pinned queue=shop key=\"tenant\" version=2",
                                         "event=node_forgotten node=shop" };
    char since[40];

    snprintf(since, sizeof(since), "since=%llu", (unsigned long long)g.s->events.last);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        events_add(&g.s->events, 1, LOG_INFO, lines[i]);
    cr_expect_eq(ask(SHOP, "GET", "live", since, ""), 200);
    cr_expect_eq(rows("events"), 1);
    cr_expect_not_null(strstr((const char *)g.a.body.data, "queue=shop waiting"));
    cr_expect_eq(ask(RIDES, "GET", "live", since, ""), 200);
    cr_expect_eq(rows("events"), 1);
    cr_expect_not_null(strstr((const char *)g.a.body.data, "queue=ride/7"));
    cr_expect_eq(ask(VIEWER, "GET", "live", since, ""), 200);
    cr_expect_eq(rows("events"), 5);
}

/* A header that lets visitors pass is for admins alone; nor can what was shown be written back. */
Test(access_api, secrets_of_a_definition_are_an_admins)
{
    static const char with[] = "{\"bypass\": {\"headers\": [{\"name\": \"X-Pass\", \"value\": \"s3cretvalue99\"}]}}";

    cr_assert_eq(ask(ADMIN, "PATCH", "queues/shop", "", with), 200, "%s", text("detail"));
    cr_expect_not_null(strstr((const char *)g.a.body.data, "s3cretvalue99"));
    for (enum who w = OPERATOR; w <= VIEWER; w++) {
        static const char *const paths[] = { "queues/shop", "queues", "live" };

        for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
            cr_expect_eq(ask(w, "GET", paths[i], i == 2 ? "queue=shop" : "", ""), 200);
            cr_expect_null(strstr((const char *)g.a.body.data, "s3cretvalue99"), "%s", paths[i]);
            cr_expect_not_null(strstr((const char *)g.a.body.data, "X-Pass"), "%s", paths[i]);
        }
    }
}

Test(access_api, the_log_of_changes_names_person_role_and_address)
{
    const json_t *x;

    cr_expect_eq(ask(OPERATOR, "POST", "queues/shop/pause", "", ""), 200);
    cr_expect_eq(ask(ROOT, "POST", "queues/shop/resume", "", ""), 200);
    cr_expect_eq(ask(VIEWER, "POST", "queues/shop/pause", "", ""), 403);
    cr_expect_eq(ask(VIEWER, "GET", "audit", "", ""), 200);
    cr_assert_eq(rows("entries"), 2, "what was refused has changed nothing");
    x = json_array_get(json_object_get(g.j, "entries"), 1);
    cr_expect_str_eq(json_string_value(json_object_get(x, "who")), "otto", "not what the request says");
    cr_expect_str_eq(json_string_value(json_object_get(x, "role")), "operator");
    cr_expect_str_eq(json_string_value(json_object_get(x, "from")), "192.0.2.7");
    x = json_array_get(json_object_get(g.j, "entries"), 0);
    cr_expect_str_eq(json_string_value(json_object_get(x, "who")), "boss");
    cr_expect_str_eq(json_string_value(json_object_get(x, "token")), "root");
    g.operator_name = "Otto";
    cr_expect_eq(ask(ROOT, "POST", "queues/shop/pause", "", ""), 200);
    cr_expect_eq(ask(VIEWER, "GET", "audit", "", ""), 200);
    cr_expect_str_eq(first_entry("who"), "Otto (unproved)", "nobody acts in otto's name");
}

Test(access_api, whoami)
{
    cr_expect_eq(ask(SHOP, "GET", "whoami", "", ""), 200);
    cr_expect_str_eq(text("name"), "sam");
    cr_expect_str_eq(text("role"), "admin");
    cr_expect(json_is_false(json_object_get(g.j, "all")));
    cr_expect_eq(rows("queues"), 1);
    cr_expect_eq(ask(ROOT, "GET", "whoami", "", ""), 200);
    cr_expect_str_eq(text("name"), "root");
    cr_expect(json_is_true(json_object_get(g.j, "all")));
}

Test(access_api, a_file_is_read_again_and_a_refused_one_changes_nothing)
{
    struct err e = { 0 };
    struct buf why;

    access_remove(&g.tokens, access_named(&g.tokens, "otto"));
    cr_assert_eq(access_write(&g.tokens, g.file, &e), 0);
    cr_expect_eq(ask(OPERATOR, "GET", "whoami", "", ""), 200, "not yet");
    cr_expect_eq(ask(ADMIN, "POST", "tokens/reload", "", ""), 200);
    cr_expect_eq(json_integer_value(json_object_get(g.j, "tokens")), 6);
    cr_expect_eq(ask(OPERATOR, "GET", "whoami", "", ""), 401);
    cr_expect_eq(ask(ADMIN, "GET", "audit", "", ""), 200);
    cr_expect_str_eq(first_entry("who"), "ada", "whose own row was read again meanwhile");
    cr_assert_eq(chmod(g.file, 0644), 0);
    cr_expect_eq(ask(ADMIN, "POST", "tokens/reload", "", ""), 409);
    cr_expect_not_null(strstr(text("detail"), "chmod 600"));
    cr_expect_eq(ask(VIEWER, "GET", "live", "", ""), 200, "the tokens from before");
    cr_expect_not_null(strstr(text("tokens_wrong"), "chmod 600"));
    buf_init(&why);
    cr_expect(mng_healthy(g.s, &why), "no reason to have it restarted");
    cr_expect_gt(why.len, 0);
    buf_fini(&why);
    cr_assert_eq(chmod(g.file, 0600), 0);
    mng_service_reload(g.s);
    cr_expect_eq(ask(VIEWER, "GET", "live", "", ""), 200);
    cr_expect_str_eq(text("tokens_wrong"), "");
    cr_expect_str_eq(text("reload_refused"), "");
    prog_refuse(&(struct err){ .text = "admin_cert: missing" });
    cr_expect_eq(ask(VIEWER, "GET", "live", "", ""), 200);
    cr_expect_str_eq(text("reload_refused"), "admin_cert: missing");
}

Test(access_api, a_token_that_ends_ends_while_it_is_used)
{
    struct access_token *t = access_named(&g.s->tokens, "vera");

    cr_expect_eq(ask(VIEWER, "GET", "live", "", ""), 200);
    free(t->until);
    t->until = strdup("2020-01-01T00:00:00Z");
    cr_expect_eq(ask(VIEWER, "GET", "live", "", ""), 401);
    cr_expect_str_eq(text("detail"), "the token vera has ended, at 2020-01-01T00:00:00Z");
}

/* The cookie in the last answer goes with the next requests. */
static void keep_cookie(void)
{
    const char *from = strchr(g.a.set_cookie, '=');

    cr_assert_not_null(from, "no cookie");
    snprintf(g.session, sizeof(g.session), "%.*s", (int)strcspn(from + 1, ";"), from + 1);
}

Test(access_api, a_session_is_as_good_as_its_token_until_that_goes)
{
    char kept[400], older[400], other[400];
    size_t n;

    cr_expect_eq(ask(STRANGER, "POST", "session", "", ""), 401);
    cr_expect_eq(ask(OPERATOR, "POST", "session", "", ""), 200);
    cr_expect_str_eq(text("name"), "otto");
    cr_expect_not_null(strstr(g.a.set_cookie, "; HttpOnly; SameSite=Strict"));
    cr_expect_null(strstr(g.a.set_cookie, "Secure"), "it came by http");
    cr_expect_null(strstr(g.a.set_cookie, g.token[OPERATOR]));
    keep_cookie();
    cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 200);
    cr_expect_str_eq(text("name"), "otto");
    cr_expect_eq(ask(STRANGER, "POST", "queues/shop/pause", "", ""), 403, "another site may ask so");
    cr_expect_not_null(strstr(text("detail"), "X-Segq-Dashboard"));
    g.dashboard = true;
    cr_expect_eq(ask(STRANGER, "POST", "queues/shop/pause", "", ""), 200);
    cr_expect_eq(ask(STRANGER, "POST", "queues/shop/flush", "", ""), 403, "no more than its token");
    strcpy(older, g.session);
    cr_expect_eq(ask(OPERATOR, "POST", "session", "", ""), 200);
    keep_cookie();
    strcpy(other, g.session);
    strcpy(g.session, older);
    cr_expect_eq(ask(STRANGER, "POST", "session", "", ""), 200, "its end moves");
    keep_cookie();
    cr_expect_eq(ask(VIEWER, "GET", "whoami", "", ""), 200);
    cr_expect_str_eq(text("name"), "vera", "a token goes before a session");
    cr_expect_eq(ask(STRANGER, "GET", "audit", "", ""), 200);
    cr_expect_eq(rows("entries"), 1, "a sign-in changes nothing");
    strcpy(kept, g.session);
    for (size_t i = 0; (n = strlen(kept)) > i; i++) { /* each character counts */
        strcpy(g.session, kept);
        g.session[i] ^= 1;
        cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 401, "%s", g.session);
        snprintf(g.session, sizeof(g.session), "%.*s", (int)i + 1, kept);
        cr_expect(i + 1 == n || i == 0 || ask(STRANGER, "GET", "whoami", "", "") == 401, "%s", g.session);
    }
    strcpy(g.session, kept);
    cr_expect_eq(ask(STRANGER, "DELETE", "session", "", ""), 200);
    cr_expect_not_null(strstr(g.a.set_cookie, "Max-Age=0"));
    cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 401, "a copy of the cookie ends with a sign-out");
    cr_expect_eq(ask(STRANGER, "POST", "session", "", ""), 401, "nor does its end move");
    strcpy(g.session, older);
    cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 401, "that of before its end moved, too");
    strcpy(g.session, other);
    cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 200, "another browser's stays");
    access_remove(&g.s->tokens, access_named(&g.s->tokens, "otto"));
    cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 401, "revoked");
    access_clear(&g.s->tokens);
    cr_assert_eq(access_add(&g.s->tokens, "otto", ROLE_ADMIN, "", "*", "*", g.token[NOBODY], NULL), 0);
    cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 401, "another token of the same name");
}

Test(access_api, a_session_ends_and_another_manager_knows_it)
{
    g.dashboard = true;
    cr_expect_eq(ask(ROOT, "POST", "session", "", ""), 200);
    keep_cookie();
    cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 200);
    g.s->keys.has_other_link = true; /* the secret is replaced: the old one is still accepted */
    memcpy(g.s->keys.other_link, g.s->keys.link, LINK_KEY_BYTES);
    g.s->keys.link[0] ^= 1;
    cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 200);
    g.s->keys.has_other_link = false;
    cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 401, "another cluster's");
    g.s->keys.link[0] ^= 1;
    g.cfg.session_idle_ms = 0; /* over at once */
    cr_expect_eq(ask(STRANGER, "POST", "session", "", ""), 200);
    keep_cookie();
    cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 401);
    cr_expect_not_null(strstr(text("detail"), "sign in again"));
}

/* ---- people of a proxy ---- */

/* The proxy is where requests come from; rows for a person, for groups. */
static void begin_proxy(const char *nets)
{
    const struct cfg_key *k = cfg_find(mng_keys, "admin_trusted_proxies");
    struct access_file *f = &g.s->tokens;
    struct err e = { 0 };

    cr_assert_eq(cfg_text_set(cfg_at(&g.cfg, k), k, nets, false), 0);
    cr_assert_eq(access_add_people(f, "night", ROLE_OPERATOR, "", "*", "*", "group", "ops", &e), 0, "%s", e.text);
    cr_assert_eq(access_add_people(f, "boss", ROLE_ADMIN, "", "*", "*", "email", "eva@x.org", &e), 0);
    cr_assert_eq(access_add_people(f, "shopper", ROLE_ADMIN, "", "shop", "", "user", "root", &e), 0);
    g.said.user = "paul";
    g.said.groups = "people,ops";
}

Test(access_api, a_person_of_a_proxy_needs_no_token)
{
    begin_proxy("10.0.0.0/8,192.0.2.7");
    cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 200, "%s", text("detail"));
    cr_expect_str_eq(text("name"), "paul");
    cr_expect_str_eq(text("by"), "proxy");
    cr_expect_str_eq(text("token"), "night");
    cr_expect_str_eq(text("role"), "operator");
    cr_expect_eq(ask(STRANGER, "POST", "queues/shop/pause", "", ""), 403, "another site may ask so");
    cr_expect_not_null(strstr(text("detail"), "X-Segq-Dashboard"));
    g.dashboard = true;
    g.via = (struct http_via){ 1, { { (char *)"9.9.9.9, 198.51.100.4", 21 } } };
    cr_expect_eq(ask(STRANGER, "POST", "queues/shop/pause", "", ""), 200);
    cr_expect_eq(ask(STRANGER, "POST", "queues/shop/flush", "", ""), 403);
    cr_expect_str_eq(text("detail"), "the role admin is needed; paul (row night) is of role operator");
    cr_expect_eq(ask(STRANGER, "GET", "audit", "", ""), 200);
    cr_expect_str_eq(first_entry("who"), "paul");
    cr_expect_str_eq(first_entry("token"), "night");
    cr_expect_str_eq(first_entry("role"), "operator");
    cr_expect_str_eq(first_entry("from"), "198.51.100.4", "the browser's address");
    g.via.line[0] = (struct slice){ (char *)"198.51.100.4, x", 15 };
    g.said.user = "root";
    cr_expect_eq(ask(STRANGER, "POST", "queues/shop/resume", "", ""), 200);
    cr_expect_eq(ask(STRANGER, "GET", "audit", "", ""), 200);
    cr_expect_str_eq(first_entry("who"), "root", "and not what X-Segq-Operator says");
    cr_expect_str_eq(first_entry("token"), "shopper");
    cr_expect_str_eq(first_entry("from"), "192.0.2.7", "a list that cannot be read");
    cr_expect_eq(ask(STRANGER, "POST", "queues/login/pause", "", ""), 403, "the row's part alone");
}

/* From elsewhere the headers are nothing, whatever they say. */
Test(access_api, headers_of_others_are_nothing)
{
    static const char *const nets[] = { "", "127.0.0.1", "192.0.2.6,192.0.2.8/29", "::/96" };

    g.dashboard = true;
    begin_proxy("");
    g.said.email = "eva@x.org";
    g.via = (struct http_via){ 1, { { (char *)"192.0.2.6", 9 } } };
    for (size_t i = 0; i < ARRAY_LEN(nets); i++) {
        const struct cfg_key *k = cfg_find(mng_keys, "admin_trusted_proxies");

        cr_assert_eq(cfg_text_set(cfg_at(&g.cfg, k), k, nets[i], false), 0);
        cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 401, "%s", nets[i]);
        cr_expect_eq(ask(OPERATOR, "GET", "whoami", "", ""), 200, "judged by the token");
        cr_expect_str_eq(text("name"), "otto");
        g.said.twice = true;
        cr_expect_eq(ask(OPERATOR, "POST", i % 2 == 0 ? "queues/shop/pause" : "queues/shop/resume", "", ""), 200);
        g.said.twice = false;
        cr_expect_eq(ask(OPERATOR, "GET", "audit", "", ""), 200);
        cr_expect_str_eq(first_entry("who"), "otto");
        cr_expect_str_eq(first_entry("from"), "192.0.2.7");
    }
}

/* A token before the person, the person before a cookie, a cookie before nobody. */
Test(access_api, one_of_those_who_may_ask_is_asked_for)
{
    g.dashboard = true;
    begin_proxy("192.0.2.7");
    cr_expect_eq(ask(VIEWER, "GET", "whoami", "", ""), 200);
    cr_expect_str_eq(text("name"), "vera");
    cr_expect_str_eq(text("by"), "token");
    strcpy(g.token[NOBODY], "segq_wrong");
    cr_expect_eq(ask(NOBODY, "GET", "whoami", "", ""), 401, "a wrong token is not made good");
    cr_expect_eq(ask(VIEWER, "POST", "session", "", ""), 200);
    keep_cookie();
    cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 200);
    cr_expect_str_eq(text("name"), "paul", "the browser may be another one's by now");
    g.said.groups = "";
    cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 200);
    cr_expect_str_eq(text("name"), "vera", "who has no row may have signed in");
    cr_expect_str_eq(text("by"), "session");
    g.session[0] = '\0';
    cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 401);
    cr_expect_not_null(strstr(text("detail"), "signed in paul: admin_tokens_file has no row"));
    g.said.user = "";
    cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 401, "the proxy says nobody");
    g.said.user = "b\xc3\xb6rn";
    cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 401);
    cr_expect_not_null(strstr(text("detail"), "printable"));
    g.said.user = "paul";
    g.said.groups = "ops";
    g.said.twice = true;
    cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 400, "a proxy that adds in place of replacing");
}

Test(access_api, a_proxys_session_is_not_ours_to_end)
{
    char cookie[400];

    g.dashboard = true;
    cr_expect_eq(ask(VIEWER, "POST", "session", "", ""), 200);
    keep_cookie();
    strcpy(cookie, g.session);
    begin_proxy("192.0.2.7");
    free(g.cfg.admin_sign_out_url);
    g.cfg.admin_sign_out_url = strdup("/oauth2/sign_out");
    cr_expect_eq(ask(STRANGER, "POST", "session", "", ""), 200);
    cr_expect_str_eq(g.a.set_cookie, "", "there is nothing to keep");
    cr_expect_str_eq(text("sign_out"), "/oauth2/sign_out");
    cr_expect_eq(ask(STRANGER, "DELETE", "session", "", ""), 200);
    cr_expect(json_is_false(json_object_get(g.j, "signed_out")));
    g.said.user = g.said.groups = "";
    strcpy(g.session, cookie);
    cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 401, "a cookie from before has ended with it");
    cr_expect_eq(access_add_people(&g.s->tokens, "zoe", ROLE_ADMIN, "2020-01-01T00:00:00Z", "*", "*", "user", "zoe",
                                   NULL), 0);
    g.said.user = "zoe";
    g.session[0] = '\0';
    cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 401);
    cr_expect_not_null(strstr(text("detail"), "signed in zoe, whose row zoe of admin_tokens_file has ended"));
}

/* Where others can send from the proxy's address, too. */
Test(access_api, a_proxy_may_have_to_prove_itself)
{
    struct err e = { 0 };
    char path[100];
    FILE *f;

    begin_proxy("192.0.2.7");
    free(g.cfg.admin_proxy_secret_file);
    g.cfg.admin_proxy_secret_file = strdup("/nowhere/secret");
    cr_expect_lt(mng_proxy_secret_read(g.s, &e), 0);
    cr_expect_not_null(strstr(e.text, "admin_proxy_secret_file: /nowhere/secret"), "%s", e.text);
    cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 401, "none is known");
    snprintf(path, sizeof(path), "%s/proxy", g.dir);
    f = fopen(path, "w");
    fputs("a-secret-of-the-proxy\n", f);
    fclose(f);
    cr_assert_eq(chmod(path, 0600), 0);
    free(g.cfg.admin_proxy_secret_file);
    g.cfg.admin_proxy_secret_file = strdup(path);
    cr_expect_eq(mng_proxy_secret_read(g.s, &e), 0, "%s", e.text);
    for (const char *const *p = (const char *const[]){ "", "a-secret-of-the-prox", "a-secret-of-the-proxy2",
                                                       "b-secret-of-the-proxy", NULL }; *p != NULL; p++) {
        g.said.proof = *p;
        cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 401, "%s", *p);
        cr_expect_eq(ask(VIEWER, "GET", "whoami", "", ""), 200, "a token is one from everywhere");
    }
    g.said.proof = "a-secret-of-the-proxy";
    cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 200);
    cr_expect_str_eq(text("name"), "paul");
    g.cfg.admin_proxy_secret_file[0] = '\0';
    cr_expect_eq(mng_proxy_secret_read(g.s, &e), 0);
    g.said.proof = "";
    cr_expect_eq(ask(STRANGER, "GET", "whoami", "", ""), 200, "the address is enough again");
}

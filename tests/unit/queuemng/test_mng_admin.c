/* test_mng_admin.c: the admin API and the life of queue definitions, on a real service
 * with a store of its own; no HTTP in between. */
#include "tests/lib/criterion.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "queuemng/service/api.h"
#include "queuemng/process/steps.h"
#include "queuemng/service/metrics.h"
#include "queuemng/service/service.h"

struct rig {
    char dir[64];
    struct ev *ev;
    struct mng_cfg cfg;
    struct mng_service *s;
    struct admin_ans a;
    json_t *j; /* of the last answer */
    const char *if_none_match; /* of the next requests; NULL = none */
    const char *operator_name;
};

static const char *g_metrics = "[]"; /* of the next start */
static const char *g_pools = "[]";

static void start(struct rig *g, const char *queues)
{
    char set[6][200];
    const char *sets[] = { set[0], set[1], set[2], set[3], set[4], set[5], "create_keys=true",
                           "listen=127.0.0.1:0", "admin=127.0.0.1:0" };
    struct err e = { 0 };

    log_set_level(LOG_ERROR);
    cr_assert_eq(keys_init(&e), 0);
    snprintf(set[0], sizeof(set[0]), "secret_file=%s/s", g->dir);
    snprintf(set[1], sizeof(set[1]), "admin_token_file=%s/t", g->dir);
    snprintf(set[2], sizeof(set[2]), "data_dir=%s/data", g->dir);
    snprintf(set[3], sizeof(set[3]), "queues=%s", queues);
    snprintf(set[4], sizeof(set[4]), "metrics=%s", g_metrics);
    snprintf(set[5], sizeof(set[5]), "pools=%s", g_pools);
    cr_assert_eq(cfg_load(&g->cfg, sizeof(g->cfg), mng_keys, NULL, sets, ARRAY_LEN(sets), &e),
                 0, "%s", e.text);
    cr_assert_eq(ev_new(&g->ev, &e), 0);
    cr_assert_eq(mng_service_new(&g->s, g->ev, &g->cfg, &e), 0, "%s", e.text);
}

static void begin(struct rig *g, const char *queues)
{
    memset(g, 0, sizeof(*g));
    snprintf(g->dir, sizeof(g->dir), "/tmp/segq-admin-XXXXXX");
    cr_assert_not_null(mkdtemp(g->dir));
    start(g, queues);
}

static void stop(struct rig *g)
{
    mng_service_free(g->s);
    ev_free(g->ev);
    cfg_clear(&g->cfg, mng_keys);
}

static void end(struct rig *g)
{
    char cmd[100];

    stop(g);
    json_decref(g->j);
    buf_fini(&g->a.body);
    snprintf(cmd, sizeof(cmd), "rm -rf %s", g->dir);
    cr_expect_eq(system(cmd), 0);
}

static int ask_as(struct rig *g, bool authorized, const char *method, const char *path,
                  const char *query, const char *if_match, const char *body)
{
    struct admin_req q = { .method = method, .path = path, .raw_path = path, .query = query,
                           .if_match = if_match,
                           .if_none_match = g->if_none_match != NULL ? g->if_none_match : "",
                           .token = authorized ? g->s->admin_token : "",
                           .token_len = authorized ? strlen(g->s->admin_token) : 0,
                           .operator_name = g->operator_name,
                           .from = "192.0.2.7",
                           .body = (const uint8_t *)body, .body_len = strlen(body) };

    buf_fini(&g->a.body);
    memset(&g->a, 0, sizeof(g->a));
    buf_init(&g->a.body);
    admin_api(g->s, &q, &g->a);
    json_decref(g->j);
    g->j = json_loadb((const char *)g->a.body.data, g->a.body.len, 0, NULL);
    return g->a.status;
}

static int ask(struct rig *g, const char *method, const char *path, const char *body)
{
    return ask_as(g, true, method, path, "", "", body);
}

static const char *text(const struct rig *g, const char *key)
{
    const char *s = json_string_value(json_object_get(g->j, key));

    return s != NULL ? s : "";
}

#define Q "/v1/admin/queues/"

Test(admin, nothing_without_the_token)
{
    struct rig g;

    begin(&g, "[{name: login}]");
    cr_expect_eq(ask_as(&g, false, "GET", "/v1/admin/cluster", "", "", ""), 401);
    cr_expect_eq(ask_as(&g, false, "POST", Q "login/pause", "", "", ""), 401);
    cr_expect_eq(ask_as(&g, false, "GET", "/", "", "", ""), 200);
    cr_expect_eq(ask_as(&g, false, "GET", "/x", "", "", ""), 404);
    cr_expect_str_eq(((const struct queue_def *)mng_defined(g.s->mng, DEF_QUEUE, "login", NULL))->state == DEF_OPEN ? "open" : "",
                     "open");
    end(&g);
}

Test(admin, definitions)
{
    struct rig g;

    begin(&g, "[{name: login}]");
    cr_expect_eq(ask(&g, "GET", "/v1/admin/queues", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "queues")), 1);
    cr_expect_eq(ask(&g, "GET", Q "login", ""), 200);
    cr_expect_str_eq(text(&g, "claim"), "1m");
    cr_expect_str_eq(g.a.etag, "\"1\"");
    cr_expect_eq(ask(&g, "PATCH", Q "login", "{\"claim\":\"5s\",\"idle\":{\"game\":\"3s\"}}"),
                 200);
    cr_expect_str_eq(text(&g, "claim"), "5s");
    cr_expect_str_eq(text(&g, "pass_ttl"), "5m");
    cr_expect_str_eq(g.a.etag, "\"2\"");
    cr_expect_eq(ask_as(&g, true, "PATCH", Q "login", "", "\"1\"", "{}"), 412);
    cr_expect_str_eq(text(&g, "code"), "conflict");
    cr_expect_eq(ask_as(&g, true, "PATCH", Q "login", "", "\"7\", \"2\"", "{}"), 200);
    cr_expect_eq(ask_as(&g, true, "PUT", Q "new", "", "*", "{}"), 412);
    cr_expect_str_eq(text(&g, "detail"), "no queue new; without If-Match, PUT makes it");
    cr_expect_eq(ask(&g, "PUT", Q "new", "{\"release_per_s\":5}"), 201);
    cr_expect_eq(ask(&g, "PUT", Q "new", "{\"release_per_s\":6,\"name\":\"new\",\"version\":1}"),
                 200);
    g.if_none_match = "*"; /* "only if there is none": never replaces */
    cr_expect_eq(ask(&g, "PUT", Q "new", "{\"release_per_s\":7}"), 412);
    cr_expect_eq(ask(&g, "PUT", Q "newer", "{}"), 201);
    g.if_none_match = NULL;
    cr_expect_eq(ask(&g, "GET", Q "new", ""), 200);
    cr_expect_eq(json_number_value(json_object_get(g.j, "release_per_s")), 6);
    cr_expect_eq(ask(&g, "DELETE", Q "newer", ""), 200);
    cr_expect_eq(ask(&g, "DELETE", Q "new", ""), 200);
    cr_expect_eq(ask(&g, "GET", Q "new", ""), 404);
    cr_expect_eq(ask(&g, "DELETE", Q "new", ""), 404);
    cr_expect_eq(ask(&g, "PATCH", Q "new", "{}"), 404);
    end(&g);
}

/* The answer says what happens and until when it can be undone; the picture lists it; it is
 * undone after a restart, too. */
Test(admin, a_deleted_queue_can_be_restored)
{
    const json_t *x;
    struct rig g;

    begin(&g, "[{name: login}]");
    cr_expect_eq(ask(&g, "PUT", Q "shop", "{\"release_per_s\":6,\"state\":\"paused\"}"), 201);
    cr_expect_eq(ask(&g, "DELETE", Q "shop", ""), 200);
    cr_expect_eq(json_integer_value(json_object_get(g.j, "waiting")), 0);
    cr_expect_gt(json_integer_value(json_object_get(g.j, "restore_until_ms")),
                 ev_wall_ms(g.ev) + 500000);
    cr_expect_not_null(strstr(text(&g, "detail"), "keep their places"));
    cr_expect_eq(ask(&g, "GET", Q "shop", ""), 404);
    cr_expect_eq(ask(&g, "DELETE", Q "shop", ""), 404, "once is enough");
    stop(&g);
    start(&g, "[{name: login}]");
    cr_expect_eq(ask(&g, "GET", "/v1/admin/cluster", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "queues")), 1);
    x = json_array_get(json_object_get(g.j, "deleted"), 0);
    cr_expect_str_eq(json_string_value(json_object_get(x, "queue")), "shop");
    cr_expect_eq(ask(&g, "POST", Q "shop/restore", ""), 200);
    cr_expect_str_eq(text(&g, "state"), "paused");
    cr_expect_eq(ask(&g, "GET", Q "shop", ""), 200);
    cr_expect_eq(json_number_value(json_object_get(g.j, "release_per_s")), 6);
    cr_expect_eq(ask(&g, "DELETE", Q "shop", ""), 200);
    cr_expect_eq(ask_as(&g, true, "DELETE", Q "shop", "final=true", "", ""), 200);
    cr_expect(json_is_null(json_object_get(g.j, "restore_until_ms")));
    cr_expect_eq(ask(&g, "POST", Q "shop/restore", ""), 404);
    end(&g);
}

/* As in the file: a metric that nobody measures is a slip of the pen, and is refused; the
 * queue goes on by what it had. */
Test(admin, limits_accept_only_known_metrics)
{
    static const char cup[] =
        "{\"limits\":[{\"metric\":\"cup\",\"tiers\":[{\"below\":50,\"rate_per_s\":9}]}]}";
    static const char cpu[] =
        "{\"limits\":[{\"metric\":\"cpu\",\"tiers\":[{\"below\":50,\"rate_per_s\":9}]}]}";
    const json_t *x;
    struct rig g;

    g_metrics = "[{name: cpu}, {name: load, what: memory}]";
    begin(&g, "[{name: login}]");
    cr_expect_eq(ask(&g, "PATCH", Q "login", cup), 400);
    cr_expect_not_null(strstr(text(&g, "detail"), "no metric cup"), "%s", text(&g, "detail"));
    cr_expect_not_null(strstr(text(&g, "detail"), "there are: cpu, load"));
    cr_expect_eq(ask(&g, "PUT", Q "other", cup), 400);
    cr_expect_eq(ask(&g, "GET", Q "login", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "limits")), 0);
    cr_expect_eq(ask(&g, "PATCH", Q "login", cpu), 200);
    stop(&g);
    g_metrics = "[{name: load, what: memory}]"; /* somebody takes it out of the file */
    start(&g, "[{name: login}]");
    cr_expect_eq(ask(&g, "GET", "/v1/admin/cluster", ""), 200);
    x = json_array_get(json_object_get(g.j, "metrics"), 0);
    cr_expect_str_eq(json_string_value(json_object_get(x, "name")), "cpu");
    cr_expect_not_null(strstr(json_string_value(json_object_get(x, "why")), "queuemng.yaml"));
    cr_expect_eq(ask(&g, "PATCH", Q "login", "{\"message\":\"Sorry.\"}"), 200,
                 "the rest can be changed");
    cr_expect_eq(ask(&g, "PATCH", Q "login", "{\"limits\":[]}"), 200);
    cr_expect_eq(ask(&g, "PATCH", Q "login", cpu), 400);
    mng_service_reload(g.s);
    cr_expect_eq(ask(&g, "GET", "/v1/admin/cluster", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "metrics")), 0,
                 "nobody asks for it any more");
    end(&g);
    g_metrics = "[]";
}

Test(admin, a_refused_change_changes_nothing)
{
    static const char *const bad[] = {
        "", "[]", "{", "{\"claims\":1}", "{\"claim\":\"soon\"}", "{\"claim\":-1}",
        "{\"name\":\"other\"}", "{\"claim\":null}", "{\"claim\":\"2h\"}",
        "{\"claim\":\"1s\",\"claim\":\"2s\"}", "{\"open_next_at\":2}",
        "{\"limits\":[{\"metric\":\"a\",\"tiers\":[]}]}", "{\"message\":5}",
        "{\"state\":true}", "{\"page\":{\"title\":1.5}}", "{\"page\":{\"return\":[1]}}",
    };
    struct rig g;

    begin(&g, "[{name: login}]");
    cr_expect_eq(ask(&g, "PATCH", Q "login", "{\"message\":5}"), 400);
    cr_expect_str_eq(text(&g, "detail"), "message: 5 is not allowed here; allowed: a text "
                                         "from 0 to 1000 characters (a JSON string)");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cr_expect_eq(ask(&g, "PATCH", Q "login", bad[i]), 400, "%s: %d", bad[i], g.a.status);
        cr_expect_str_eq(text(&g, "code"), "bad_request");
        cr_expect_eq(ask(&g, "PUT", Q "fresh", bad[i]), 400, "%s: %d", bad[i], g.a.status);
    }
    cr_expect_eq(ask(&g, "PUT", Q "Bad", "{}"), 400);
    cr_expect_eq(ask(&g, "GET", Q "fresh", ""), 404);
    cr_expect_eq(ask(&g, "GET", Q "login", ""), 200);
    cr_expect_str_eq(g.a.etag, "\"1\"");
    cr_expect_eq(ask(&g, "PATCH", Q "login", "{\"lanes\":[{\"name\":\"other\"}]}"), 409);
    cr_expect_str_eq(text(&g, "code"), "conflict");
    end(&g);
}

Test(admin, orders_and_wrong_ways)
{
    static const struct {
        const char *method, *path, *query;
        int status;
    } t[] = {
        { "POST", Q "login/pause", "", 200 },      { "POST", Q "login/close", "", 200 },
        { "POST", Q "login/open", "", 200 },       { "POST", Q "login/resume", "", 200 },
        { "POST", Q "login/flush", "", 200 },      { "POST", Q "login/release", "n=5", 200 },
        { "POST", Q "login/release", "n=0", 400 }, { "POST", Q "login/release", "n=-1", 400 },
        { "POST", Q "login/release", "", 400 },    { "POST", Q "nope/release", "n=5", 404 },
        { "POST", Q "nope/pause", "", 404 },       { "GET", Q "login/pause", "", 405 },
        { "POST", Q "login", "", 405 },            { "POST", Q "login/dance", "", 404 },
        { "POST", "/v1/admin/cluster", "", 405 },  { "GET", "/v1/admin/cluster/", "", 404 },
        { "GET", "/v1/admin/queues/", "", 404 },   { "POST", "/v1/admin/nodes/x/drain", "", 404 },
        { "GET", "/v1/admin/nodes/x/drain", "", 405 },
        { "POST", "/v1/admin/nodes/x/forget", "", 404 },
        { "GET", "/v1/admin/nodes/x/forget", "", 405 },
        { "POST", Q "login/restore", "", 409 },    { "POST", Q "nope/restore", "", 404 },
        { "GET", Q "login/restore", "", 405 }, { "GET", "/v1/admin/targets", "", 200 },
        { "GET", "/v1/admin/cluster", "", 200 },
    };
    struct rig g;

    begin(&g, "[{name: login}]");
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        int status = ask_as(&g, true, t[i].method, t[i].path, t[i].query, "", "");

        cr_expect_eq(status, t[i].status, "%s %s: %d", t[i].method, t[i].path, status);
        cr_expect(status != 405 || g.a.allow != NULL);
        cr_expect_not_null(g.j);
    }
    cr_expect_eq(json_array_size(json_object_get(g.j, "queues")), 1);
    end(&g);
}

Test(admin, stored_changes_and_yaml_precedence)
{
    struct rig g;

    begin(&g, "[{name: login, claim: 10s}, {name: other}]");
    cr_expect_eq(ask(&g, "PATCH", Q "login", "{\"claim\":\"20s\"}"), 200);
    cr_expect_eq(ask(&g, "POST", Q "login/pause", ""), 200);
    cr_expect_eq(ask(&g, "DELETE", Q "other", ""), 200);
    stop(&g);
    start(&g, "[{name: login, claim: 10s}, {name: other}]"); /* the same YAML */
    cr_expect_eq(ask(&g, "GET", Q "login", ""), 200);
    cr_expect_str_eq(text(&g, "claim"), "20s");
    cr_expect_str_eq(text(&g, "state"), "paused");
    cr_expect_eq(ask(&g, "GET", Q "other", ""), 200); /* does not exist: made again */
    stop(&g);
    start(&g, "[{name: login, claim: 30s}]"); /* the entry changed */
    cr_expect_eq(ask(&g, "GET", Q "login", ""), 200);
    cr_expect_str_eq(text(&g, "claim"), "30s");
    cr_expect_str_eq(text(&g, "state"), "open");
    cr_expect_eq(ask(&g, "GET", Q "other", ""), 200); /* its entry is gone, it is not */
    end(&g);
}

#define P "/v1/admin/pools/"

static int64_t number(const struct rig *g, const char *object, const char *key)
{
    const json_t *o = object != NULL ? json_object_get(g->j, object) : g->j;

    return json_integer_value(json_object_get(o, key));
}

Test(admin, pools_are_defined_like_queues)
{
    struct rig g;

    begin(&g, "[]");
    cr_expect_eq(ask(&g, "GET", P "ride/*", ""), 404);
    cr_expect_str_eq(text(&g, "code"), "pool_not_found");
    cr_expect_eq(ask(&g, "PATCH", P "ride/*", "{}"), 404);
    cr_expect_eq(ask(&g, "PUT", P "ride/*", "{\"key\": {\"max_concurrent\": 4}}"), 201);
    cr_expect_eq(number(&g, NULL, "partitions"), 16);
    cr_expect_eq(number(&g, "key", "max_concurrent"), 4);
    cr_expect_str_eq(g.a.etag, "\"1\"");
    cr_expect_eq(ask(&g, "PATCH", P "ride/*", "{\"key\": {\"burst\": 2}}"), 200);
    cr_expect_eq(number(&g, "key", "max_concurrent"), 4, "what is absent stays");
    cr_expect_eq(number(&g, NULL, "version"), 2);
    cr_expect_eq(ask_as(&g, true, "PATCH", P "ride/*", "", "\"1\"", "{}"), 412);
    cr_expect_eq(ask(&g, "PUT", P "ride/*", "{\"partitions\": 3}"), 409);
    cr_expect_eq(ask(&g, "PUT", P "ride/*", "{\"match\": \"other\"}"), 400);
    cr_expect_eq(ask(&g, "PUT", P "ride/*", "{\"nonsense\": 1}"), 400);
    cr_expect_eq(ask(&g, "PUT", P "ri*de", "{}"), 400);
    cr_expect_eq(ask(&g, "PUT", P "x", "{\"retry\": {\"min\": \"2m\", \"max\": \"1m\"}}"), 400);
    cr_expect_eq(ask(&g, "PUT", P "x",
                     "{\"priorities\": [{\"head_start\": \"2m\"}, {\"head_start\": \"1m\"}]}"), 400);
    cr_expect_eq(ask(&g, "POST", P "ride/*", ""), 405);
    cr_expect_eq(ask(&g, "GET", "/v1/admin/pools", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "pools")), 1);
    cr_expect_eq(ask(&g, "GET", "/v1/admin/task-queues", ""), 200);
    cr_assert_eq(json_array_size(json_object_get(g.j, "pools")), 1);
    cr_expect_eq(json_array_size(json_object_get(json_array_get(json_object_get(g.j, "pools"), 0),
                                                 "partitions")), 16);
    cr_expect_eq(ask(&g, "DELETE", P "ride/*", ""), 200);
    cr_expect_eq(ask(&g, "DELETE", P "ride/*", ""), 404);
    end(&g);
}

#define K "/v1/admin/task-queues/ride/7/tasks/keys/"

Test(admin, keys_are_pinned_like_queues_are_defined)
{
    struct rig g;

    begin(&g, "[]");
    cr_expect_eq(ask(&g, "PUT", K "a", "{}"), 404);
    cr_expect_str_eq(text(&g, "code"), "pool_not_found");
    cr_assert_eq(ask(&g, "PUT", P "ride/*", "{}"), 201);
    cr_expect_eq(ask(&g, "GET", K "a/b", ""), 404);
    cr_expect_str_eq(text(&g, "code"), "key_not_found");
    cr_expect_eq(ask(&g, "PATCH", K "a/b", "{}"), 404);
    cr_expect_eq(ask(&g, "PUT", K "a/b", "{\"rate_per_s\": 5, \"key\": \"a/b\", \"queue\": \"ride/7\"}"), 201);
    cr_expect_str_eq(text(&g, "queue"), "ride/7");
    cr_expect_str_eq(text(&g, "key"), "a/b");
    cr_expect_str_eq(g.a.etag, "\"1\"");
    cr_expect_eq(ask(&g, "PATCH", K "a/b", "{\"weight\": 2}"), 200);
    cr_expect_eq(number(&g, NULL, "rate_per_s"), 5, "what is absent stays");
    cr_expect_eq(ask_as(&g, true, "PATCH", K "a/b", "", "\"1\"", "{}"), 412);
    cr_expect_eq(ask(&g, "PUT", K "a/b", "{\"queue\": \"ride/8\"}"), 400);
    cr_expect_eq(ask(&g, "PUT", K "a/b", "{\"key\": \"a\"}"), 400);
    cr_expect_eq(ask(&g, "PUT", K "a/b/c", "{}"), 400, "three levels");
    cr_expect_eq(ask(&g, "PUT", K "a b", "{}"), 400);
    cr_expect_eq(ask(&g, "PUT", K "a/b", "{\"inherit\": true, \"weight\": 2}"), 400);
    cr_expect_eq(ask(&g, "GET", "/v1/admin/pinned-keys", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "keys")), 1);
    cr_expect_eq(ask(&g, "DELETE", K "a/b", ""), 200);
    cr_expect_eq(ask(&g, "DELETE", K "a/b", ""), 404);
    end(&g);
}

Test(admin, a_key_is_paused_whether_it_is_pinned_or_not)
{
    struct rig g;

    begin(&g, "[]");
    cr_assert_eq(ask(&g, "PUT", P "ride/*", "{}"), 201);
    cr_expect_eq(ask(&g, "POST", K "a/resume", ""), 404);
    cr_expect_eq(ask(&g, "POST", K "a/pause", ""), 200);
    cr_expect(json_is_true(json_object_get(g.j, "inherit")));
    cr_expect(json_is_true(json_object_get(g.j, "paused")));
    cr_expect_eq(ask(&g, "POST", K "a/resume", ""), 200);
    cr_expect_eq(ask(&g, "GET", K "a", ""), 404, "it has no limits of its own");
    cr_assert_eq(ask(&g, "PUT", K "a/pause", "{\"max_concurrent\": 3}"), 201);
    cr_expect_eq(ask(&g, "POST", K "a/pause/pause", ""), 200);
    cr_expect(json_is_false(json_object_get(g.j, "inherit")));
    cr_expect_eq(ask(&g, "POST", K "a/pause/resume", ""), 200);
    cr_expect_eq(number(&g, NULL, "max_concurrent"), 3);
    cr_expect_eq(ask(&g, "POST", K "a/pause/stop", ""), 405, "it is a key's name");
    end(&g);
}

Test(admin, a_pool_of_the_configuration_is_applied_when_its_entry_changes)
{
    struct rig g;

    g_pools = "[{\"match\": \"images\", \"lease\": \"10s\"}]";
    begin(&g, "[]");
    cr_expect_eq(ask(&g, "PATCH", P "images", "{\"paused\": true}"), 200);
    stop(&g);
    start(&g, "[]");
    cr_expect_eq(ask(&g, "GET", P "images", ""), 200);
    cr_expect(json_is_true(json_object_get(g.j, "paused")), "the API's change stays");
    stop(&g);
    g_pools = "[{\"match\": \"images\", \"lease\": \"20s\"}]";
    start(&g, "[]");
    cr_expect_eq(ask(&g, "GET", P "images", ""), 200);
    cr_expect(json_is_false(json_object_get(g.j, "paused")));
    cr_expect_str_eq(text(&g, "lease"), "20s");
    end(&g);
}

Test(admin, epochs_grow_and_two_managers_cannot_share)
{
    struct mng_service *second;
    struct mng_counts c;
    struct rig g;
    struct err e;

    begin(&g, "[]");
    mng_count(g.s->mng, &c);
    cr_expect_eq(c.epoch, 1);
    cr_expect_lt(mng_service_new(&second, g.ev, &g.cfg, &e), 0);
    stop(&g);
    start(&g, "[]");
    mng_count(g.s->mng, &c);
    cr_expect_eq(c.epoch, 2);
    end(&g);
}

Test(admin, metrics_page)
{
    struct rig g;
    struct buf b;

    begin(&g, "[{name: login, release_per_s: 12}]");
    buf_init(&b);
    mng_metrics(g.s, &b);
    buf_byte(&b, 0);
    cr_assert(!b.failed);
    cr_expect(strstr((char *)b.data, "segq_manager_epoch 1\n") != NULL);
    cr_expect(strstr((char *)b.data, "\nsegq_manager_links_plain_total 0\n") != NULL);
    cr_expect(strstr((char *)b.data, "segq_lane_waiting{queue=\"login\",lane=\"default\"} 0\n"));
    cr_expect(strstr((char *)b.data, "segq_queue_allowed_per_second{queue=\"login\","
                                     "limited_by=\"fixed\"} 12\n") != NULL);
    buf_fini(&b);
    end(&g);
}

/* A step of the core could not be noted down (box.failed): nothing of it is kept or said,
 * and another core begins from what is stored, under the next epoch. */
Test(admin, a_core_without_memory_is_begun_anew)
{
    struct mng_counts before, after;
    struct rig g;

    begin(&g, "[{name: login}]");
    mng_count(g.s->mng, &before);
    mng_service_step(g.s)->box.failed = true;
    cr_expect_eq(ask(&g, "PUT", Q "other", "{}"), 503);
    ev_turn(g.ev, false); /* its end replaces the core */
    cr_expect_null(mng_defined(g.s->mng, DEF_QUEUE, "other", NULL), "it was not kept");
    cr_expect_not_null(mng_defined(g.s->mng, DEF_QUEUE, "login", NULL));
    mng_count(g.s->mng, &after);
    cr_expect_eq(after.epoch, before.epoch + 1);
    cr_expect_eq(ask(&g, "PUT", Q "other", "{}"), 201);
    cr_expect_not_null(mng_defined(g.s->mng, DEF_QUEUE, "other", NULL));
    stop(&g);
    start(&g, "[{name: login}]");
    cr_expect_not_null(mng_defined(g.s->mng, DEF_QUEUE, "other", NULL), "now it is kept");
    end(&g);
}

/* ---- the message of the moment ---- */

static size_t n_messages(struct rig *g)
{
    cr_expect_eq(ask(g, "GET", Q "login", ""), 200);
    return json_array_size(json_object_get(json_object_get(g->j, "page"), "messages"));
}

/* "Back soon" in one language and "We are open" in another are worse than one language for all. */
Test(messages, a_new_message_takes_translations_of_the_old_one_away)
{
    static const char both[] = "{\"message\":\"Back soon\",\"page\":{\"messages\":[{\"lang\":\"de\","
                               "\"text\":\"Gleich\"}]}}";
    struct rig g;

    begin(&g, "[{name: login}]");
    cr_expect_eq(ask(&g, "PATCH", Q "login", both), 200);
    cr_expect_eq(n_messages(&g), 1);
    cr_expect_eq(ask(&g, "PATCH", Q "login", "{\"page\":{\"title\":\"Sale\"}}"), 200);
    cr_expect_eq(n_messages(&g), 1, "another key leaves them");
    cr_expect_eq(ask(&g, "PATCH", Q "login", "{\"message\":\"Back soon\"}"), 200);
    cr_expect_eq(n_messages(&g), 1, "so does the same message");
    cr_expect_eq(ask(&g, "PATCH", Q "login", "{\"message\":\"We are open\"}"), 200);
    cr_expect_eq(n_messages(&g), 0);
    cr_expect_eq(ask(&g, "PATCH", Q "login", both), 200);
    cr_expect_eq(ask(&g, "POST", Q "login/pause", ""), 200);
    cr_expect_str_eq(json_string_value(json_object_get(g.j, "message")), "Back soon", "it stands");
    cr_expect_eq(ask(&g, "PATCH", Q "login", "{\"message\":\"\"}"), 200);
    cr_expect_eq(n_messages(&g), 0);
    cr_expect_eq(ask(&g, "PATCH", Q "login", "{\"page\":{\"messages\":[{\"lang\":\"de\",\"text\":\"x\"}]}}"),
                 400, "of nothing");
    end(&g);
}

/* ---- the dashboard ---- */

static const json_t *part(const struct rig *g, const char *list, size_t i)
{
    return json_array_get(json_object_get(g->j, list), i);
}

static const char *member(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));

    return s != NULL ? s : "";
}

Test(dash, files_are_public_and_nothing_else_is)
{
    struct rig g;

    begin(&g, "[{name: login}]");
    cr_expect_eq(ask_as(&g, false, "GET", "/", "", "", ""), 200);
    cr_expect_str_eq(g.a.content_type, "text/html; charset=utf-8");
    cr_expect_eq(ask_as(&g, false, "GET", "/dashboard/main.js", "", "", ""), 200);
    cr_expect_str_eq(g.a.content_type, "text/javascript; charset=utf-8");
    cr_expect_gt(g.a.body.len, 1000);
    cr_expect_eq(ask_as(&g, false, "GET", "/dashboard/dashboard.css", "", "", ""), 200);
    cr_expect_str_eq(g.a.content_type, "text/css; charset=utf-8");
    cr_expect_eq(ask_as(&g, false, "POST", "/dashboard/main.js", "", "", ""), 405);
    cr_expect_eq(ask_as(&g, false, "GET", "/dashboard/", "", "", ""), 404);
    cr_expect_eq(ask_as(&g, false, "GET", "/dashboard/../secrets", "", "", ""), 404);
    cr_expect_eq(ask_as(&g, false, "GET", "/v1/admin/live", "", "", ""), 401);
    cr_expect_eq(ask_as(&g, false, "GET", "/v1/admin/history", "queue=login", "", ""), 401);
    cr_expect_eq(ask_as(&g, false, "GET", "/v1/admin/audit", "", "", ""), 401);
    end(&g);
}

Test(dash, live)
{
    const json_t *q;
    struct rig g;

    begin(&g, "[{name: login, message: hello}, {name: shop}, {name: shop-2}]");
    cr_expect_eq(ask(&g, "GET", "/v1/admin/live", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "queues")), 3);
    cr_expect(json_is_null(json_object_get(g.j, "queue")));
    cr_expect(json_is_true(json_object_get(g.j, "healthy")));
    cr_expect_str_eq(json_string_value(part(&g, "states", 0)), "open");
    cr_expect_str_eq(json_string_value(part(&g, "modes", 1)), "slots");
    cr_expect_eq(ask_as(&g, true, "GET", "/v1/admin/live", "queue=login&find=shop", "", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "queues")), 2);
    cr_expect_eq(json_integer_value(json_object_get(g.j, "queues_total")), 3);
    q = json_object_get(g.j, "queue");
    cr_expect_str_eq(member(q, "queue"), "login");
    cr_expect_str_eq(member(q, "state"), "open");
    cr_expect_str_eq(member(q, "message"), "hello");
    cr_expect_eq(json_array_size(json_object_get(q, "lanes")), 1);
    cr_expect_str_eq(member(json_object_get(q, "def"), "claim"), "1m");
    cr_expect_eq(ask_as(&g, true, "GET", "/v1/admin/live", "queue=nope", "", ""), 200);
    cr_expect(json_is_null(json_object_get(g.j, "queue")));
    cr_expect_eq(ask_as(&g, true, "GET", "/v1/admin/history", "queue=login", "", ""), 200);
    cr_expect_eq(json_integer_value(json_object_get(g.j, "step_ms")), HISTORY_STEP_MS);
    cr_expect_eq(ask_as(&g, true, "GET", "/v1/admin/queues/login/history", "range=1h", "", ""), 200);
    cr_expect_eq(json_integer_value(json_object_get(g.j, "step_ms")), 10000);
    cr_expect_str_eq(member(g.j, "queue"), "login");
    cr_expect_eq(ask_as(&g, true, "POST", "/v1/admin/queues/login/history", "", "", ""), 405);
    cr_expect_eq(ask_as(&g, true, "GET", "/v1/admin/queues/nope/history", "", "", ""), 404);
    cr_expect_eq(ask_as(&g, true, "GET", "/v1/admin/cluster/history", "range=24h", "", ""), 200);
    cr_expect_eq(json_integer_value(json_object_get(g.j, "step_ms")), 300000);
    cr_expect_eq(ask_as(&g, true, "GET", "/v1/admin/cluster/history", "range=1d", "", ""), 400);
    cr_expect_eq(ask_as(&g, true, "GET", "/v1/admin/cluster/history", "range=123456789", "", ""), 400);
    cr_expect_eq(ask_as(&g, true, "GET", "/v1/admin/history", "queue=nope", "", ""), 404);
    cr_expect_eq(ask_as(&g, true, "GET", "/v1/admin/history", "", "", ""), 400);
    end(&g);
}

/* The words above the dashboard are about all queues, and not about those that are looked for. */
Test(dash, live_has_the_sums_of_all_queues_and_which_are_unusual_whatever_is_found)
{
    struct rig g;

    begin(&g, "[{name: login}, {name: shop}, {name: shop-2}]");
    cr_expect_eq(ask(&g, "POST", Q "shop/pause", ""), 200);
    cr_expect_eq(ask_as(&g, true, "GET", "/v1/admin/live", "find=login", "", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "queues")), 1);
    cr_expect_eq(json_array_size(json_object_get(g.j, "unusual")), 1);
    cr_expect_str_eq(member(part(&g, "unusual", 0), "queue"), "shop");
    cr_expect_eq(json_integer_value(json_object_get(json_object_get(g.j, "all"), "waiting")), 0);
    cr_expect_eq(json_integer_value(json_object_get(json_object_get(g.j, "all"), "queues_waiting")), 0);
    cr_expect(json_is_null(json_object_get(json_object_get(g.j, "all"), "longest")));
    cr_expect_eq(ask(&g, "POST", Q "shop/open", ""), 200);
    cr_expect_eq(ask(&g, "GET", "/v1/admin/live", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "unusual")), 0);
    end(&g);
}

/* 200 are listed: that there are more is not kept back. */
Test(dash, live_says_how_many_queues_are_unusual_beyond_those_that_it_lists)
{
    char name[100];
    struct rig g;

    begin(&g, "[{name: login}]");
    for (unsigned i = 0; i < 203; i++) {
        snprintf(name, sizeof(name), Q "event-%u", i);
        cr_assert_eq(ask(&g, "PUT", name, "{\"state\": \"paused\"}"), 201);
    }
    cr_assert_eq(ask(&g, "PUT", Q "over", "{\"state\": \"closed\"}"), 201); /* on purpose: nobody is in it */
    cr_expect_eq(ask(&g, "GET", "/v1/admin/live", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "unusual")), 200);
    cr_expect_eq(json_integer_value(json_object_get(g.j, "unusual_total")), 203);
    end(&g);
}

Test(dash, lanes_are_the_same_objects_as_in_the_cluster)
{
    json_t *lanes;
    struct rig g;

    begin(&g, "[{name: login}]");
    cr_expect_eq(ask(&g, "GET", "/v1/admin/cluster", ""), 200);
    lanes = json_incref(json_object_get(part(&g, "queues", 0), "lanes"));
    cr_expect_eq(json_array_size(lanes), 1);
    cr_expect_eq(ask_as(&g, true, "GET", "/v1/admin/live", "queue=login", "", ""), 200);
    cr_expect(json_equal(lanes, json_object_get(json_object_get(g.j, "queue"), "lanes")));
    json_decref(lanes);
    end(&g);
}

/* What an operator does shows among the events, whatever the log's level is. */
Test(dash, events_since_the_last_look)
{
    char since[40];
    struct rig g;
    json_int_t last;

    begin(&g, "[{name: login}]");
    cr_expect_eq(ask(&g, "GET", "/v1/admin/live", ""), 200);
    last = json_integer_value(json_object_get(g.j, "events_last"));
    cr_expect_gt(last, 0);
    cr_expect_eq(ask(&g, "POST", Q "login/pause", ""), 200);
    snprintf(since, sizeof(since), "since=%lld", (long long)last);
    cr_expect_eq(ask_as(&g, true, "GET", "/v1/admin/live", since, "", ""), 200);
    cr_expect_gt(json_integer_value(json_object_get(g.j, "events_last")), last);
    cr_expect(strstr(member(part(&g, "events", 0), "text"), "event=queue_state queue=login") !=
              NULL, "%s", member(part(&g, "events", 0), "text"));
    cr_expect(strstr(member(part(&g, "events", 1), "text"), "event=admin_change queue=login") !=
              NULL, "%s", member(part(&g, "events", 1), "text"));
    end(&g);
}

/* ---- the log of changes ---- */

static void expect_change(const struct rig *g, size_t i, const char *key, const char *from,
                          const char *to)
{
    const json_t *x = json_array_get(json_object_get(part(g, "entries", 0), "changes"), i);

    cr_expect_str_eq(member(x, "key"), key);
    cr_expect_str_eq(member(x, "from"), from);
    cr_expect_str_eq(member(x, "to"), to);
}

Test(audit, records_old_and_new_values)
{
    struct rig g;

    begin(&g, "[{name: login}]");
    cr_expect_eq(ask(&g, "GET", "/v1/admin/audit", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "entries")), 0);
    cr_expect_eq(ask(&g, "PATCH", Q "login", "{\"claim\":\"5s\",\"idle\":{\"game\":\"3s\"}}"),
                 200);
    cr_expect_eq(ask(&g, "GET", "/v1/admin/audit", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "entries")), 1);
    cr_expect_str_eq(member(part(&g, "entries", 0), "who"), "unnamed");
    cr_expect_str_eq(member(part(&g, "entries", 0), "method"), "PATCH");
    cr_expect_str_eq(member(part(&g, "entries", 0), "name"), "login");
    expect_change(&g, 0, "idle.game", "1m", "3s");
    expect_change(&g, 1, "claim", "1m", "5s");
    g.operator_name = "an\na";
    cr_expect_eq(ask(&g, "POST", Q "login/pause", ""), 200);
    cr_expect_eq(ask_as(&g, true, "POST", Q "login/release", "n=500", "", ""), 200);
    cr_expect_eq(ask(&g, "GET", "/v1/admin/audit", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "entries")), 3);
    cr_expect_str_eq(member(part(&g, "entries", 0), "who"), "an?a");
    cr_expect_str_eq(member(part(&g, "entries", 0), "query"), "n=500");
    cr_expect_str_eq(member(part(&g, "entries", 0), "from"), "192.0.2.7");
    cr_expect_eq(ask_as(&g, true, "GET", "/v1/admin/audit", "n=2", "", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "entries")), 2);
    cr_expect_eq(ask_as(&g, true, "GET", "/v1/admin/audit", "n=0", "", ""), 400);
    cr_expect_eq(ask_as(&g, true, "GET", "/v1/admin/audit", "n=501", "", ""), 400);
    cr_expect_eq(ask_as(&g, true, "GET", "/v1/admin/audit", "n=x", "", ""), 400);
    stop(&g); /* and over a restart */
    start(&g, "[{name: login}]");
    cr_expect_eq(ask(&g, "GET", "/v1/admin/audit", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "entries")), 3);
    end(&g);
}

Test(audit, changes_of_pools_are_noted_with_their_whole_name)
{
    struct rig g;

    begin(&g, "[]");
    cr_assert_eq(ask(&g, "PUT", P "ride/x*", "{}"), 201);
    cr_assert_eq(ask(&g, "PATCH", P "ride/x*", "{\"lease\": \"1m\"}"), 200);
    cr_assert_eq(ask(&g, "GET", "/v1/admin/audit", ""), 200);
    cr_expect_str_eq(member(part(&g, "entries", 0), "name"), "ride/x*");
    cr_expect_str_eq(member(part(&g, "entries", 0), "kind"), "pool");
    expect_change(&g, 0, "lease", "30s", "1m");
    end(&g);
}

Test(audit, changes_of_pinned_keys_are_noted_with_queue_and_key)
{
    struct rig g;

    begin(&g, "[]");
    cr_assert_eq(ask(&g, "PUT", P "ride/*", "{}"), 201);
    cr_assert_eq(ask(&g, "PUT", K "a/b", "{}"), 201);
    cr_assert_eq(ask(&g, "POST", K "a/b/pause", ""), 200);
    cr_assert_eq(ask(&g, "GET", "/v1/admin/audit", ""), 200);
    cr_expect_str_eq(member(part(&g, "entries", 0), "name"), "ride/7 a/b");
    cr_expect_str_eq(member(part(&g, "entries", 0), "kind"), "key");
    cr_expect_eq(json_array_size(json_object_get(part(&g, "entries", 0), "changes")), 1);
    end(&g);
}

/* Who reads the log of changes need not be able to walk past the room. */
Test(audit, no_secret_is_noted)
{
    struct rig g;
    char *said, file[8192];
    FILE *f;

    begin(&g, "[{name: login, bypass: {headers: [{name: X-Probe, value: hush-one}]}}]");
    cr_expect_eq(ask(&g, "PATCH", Q "login",
                     "{\"bypass\":{\"headers\":[{\"name\":\"X-Probe\",\"value\":"
                     "\"hush-two\"},{\"name\":\"X-Any\"}]}}"),
                 200);
    cr_expect_eq(ask(&g, "GET", "/v1/admin/audit", ""), 200);
    said = json_dumps(g.j, 0);
    cr_expect_null(strstr(said, "hush"), "%s", said);
    cr_expect_not_null(strstr(said, "(secret)"), "%s", said);
    cr_expect_not_null(strstr(said, "X-Any"), "%s", said);
    free(said);
    snprintf(file, sizeof(file), "%s/data/audit.jsonl", g.dir);
    f = fopen(file, "r");
    cr_assert_not_null(f, "%s", file);
    file[fread(file, 1, sizeof(file) - 1, f)] = '\0';
    fclose(f);
    cr_expect_not_null(strstr(file, "(secret)"), "%s", file);
    cr_expect_null(strstr(file, "hush"), "%s", file);
    cr_expect_eq(ask(&g, "GET", Q "login", ""), 200);
    said = json_dumps(g.j, 0); /* the definition itself has it: it is what was set */
    cr_expect_not_null(strstr(said, "hush-two"), "%s", said);
    free(said);
    end(&g);
}

/* What is looked at, refused, or not there has changed nothing. */
Test(audit, records_only_applied_changes)
{
    struct rig g;

    begin(&g, "[{name: login}]");
    cr_expect_eq(ask(&g, "GET", Q "login", ""), 200);
    cr_expect_eq(ask(&g, "PATCH", Q "login", "{\"claim\":\"soon\"}"), 400);
    cr_expect_eq(ask_as(&g, true, "PATCH", Q "login", "", "\"9\"", "{}"), 412);
    cr_expect_eq(ask(&g, "POST", Q "nope/pause", ""), 404);
    cr_expect_eq(ask(&g, "POST", Q "login", ""), 405);
    cr_expect_eq(ask_as(&g, false, "POST", Q "login/pause", "", "", ""), 401);
    cr_expect_eq(ask(&g, "GET", "/v1/admin/audit", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "entries")), 0);
    cr_expect_eq(ask(&g, "PUT", Q "new", "{}"), 201);
    cr_expect_eq(ask(&g, "DELETE", Q "new", ""), 200);
    cr_expect_eq(ask(&g, "GET", "/v1/admin/audit", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "entries")), 2);
    cr_expect_str_eq(member(part(&g, "entries", 0), "method"), "DELETE");
    end(&g);
}

/* The log of changes cannot be written: the pause is done, and everybody is told. */
Test(audit, a_full_disk_takes_no_button_away)
{
    char path[120];
    struct rig g;

    begin(&g, "[{name: login}]");
    snprintf(path, sizeof(path), "%s/data/audit.jsonl", g.dir);
    cr_assert_eq(mkdir(path, 0700), 0); /* what cannot be opened for writing */
    log_set_level(LOG_ERROR);
    cr_expect_eq(ask(&g, "POST", Q "login/pause", ""), 200);
    cr_expect_eq(((const struct queue_def *)mng_defined(g.s->mng, DEF_QUEUE, "login", NULL))->state, DEF_PAUSED);
    cr_expect_eq(ask(&g, "GET", "/v1/admin/audit", ""), 200);
    cr_expect_eq(json_integer_value(json_object_get(g.j, "unwritten")), 1);
    cr_expect_eq(json_array_size(json_object_get(g.j, "entries")), 1);
    cr_expect_eq(ask(&g, "GET", "/v1/admin/live", ""), 200);
    cr_expect_eq(json_integer_value(json_object_get(g.j, "audit_unwritten")), 1);
    cr_assert_eq(rmdir(path), 0);
    op_log_tick(g.s->op_log, ev_wall_ms(g.ev));
    cr_expect_eq(ask(&g, "GET", "/v1/admin/live", ""), 200);
    cr_expect_eq(json_integer_value(json_object_get(g.j, "audit_unwritten")), 0);
    end(&g);
}

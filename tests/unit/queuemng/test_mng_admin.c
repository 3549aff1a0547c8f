/* test_mng_admin.c: the admin API and the life of queue definitions. */
#include "tests/unit/queuemng/adminrig.h"

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

#define GEN "/v1/admin/endpoints/gen"

Test(admin, an_endpoint_whose_pool_refuses_each_call_is_taken_with_a_warning)
{
    static const char says[] = "cost.min 2000 is above max_cost 1000 of pool ride/*: it refuses each call";
    struct rig g;

    begin(&g, "[]");
    cr_expect_eq(ask(&g, "PUT", GEN, "{\"url\": \"http://a.example\"}"), 201, "%s", text(&g, "detail"));
    cr_expect_eq(ask(&g, "PUT", P "ride/*", "{\"endpoint\": \"gen\", \"max_cost\": 1000}"), 201);
    cr_expect_eq(ask(&g, "PATCH", GEN, "{\"cost\": {\"min\": 1000}}"), 200);
    cr_expect_null(json_object_get(g.j, "warning"));
    cr_expect_eq(ask(&g, "PATCH", GEN, "{\"cost\": {\"min\": 2000}}"), 200);
    cr_expect_str_eq(text(&g, "warning"), says);
    cr_expect_eq(ask(&g, "PATCH", GEN, "{\"version\": 3, \"warning\": \"w\"}"), 200, "as it was read");
    cr_expect_str_eq(text(&g, "warning"), says);
    cr_expect_eq(ask(&g, "GET", GEN, ""), 200);
    cr_expect_null(json_object_get(g.j, "warning"));
    cr_expect_eq(ask(&g, "PATCH", P "ride/*", "{\"max_cost\": 1999}"), 400);
    cr_expect_eq(ask(&g, "PATCH", P "ride/*", "{\"max_cost\": 2000}"), 200);
    cr_expect_eq(ask(&g, "PATCH", GEN, "{}"), 200);
    cr_expect_null(json_object_get(g.j, "warning"));
    end(&g);
}

Test(admin, a_target_is_drained_by_its_url)
{
    struct rig g;
    char was[40];

    begin(&g, "[]");
    cr_expect_eq(ask(&g, "PUT", GEN, "{\"targets\": [{\"url\": \"http://a.example/\"}, "
                     "{\"url\": \"http://b.example\"}]}"), 201, "%s", text(&g, "detail"));
    cr_expect_eq(ask_as(&g, true, "POST", GEN "/drain", "url=http://b.example", "", ""), 200);
    cr_expect(json_is_true(json_object_get(part(&g, "targets", 1), "draining")));
    snprintf(was, sizeof(was), "%s", g.a.etag);
    cr_expect_eq(ask_as(&g, true, "POST", GEN "/drain", "url=http://b.example", "", ""), 200);
    cr_expect_str_eq(g.a.etag, was, "it is so already");
    cr_expect_eq(ask_as(&g, true, "POST", GEN "/drain", "url=http://a.example", "", ""), 400);
    cr_expect_not_null(strstr(text(&g, "detail"), "did you mean http://a.example/?"), "%s", text(&g, "detail"));
    cr_expect_eq(ask_as(&g, true, "POST", GEN "/drain", "url=ftp://elsewhere", "", ""), 400);
    cr_expect_null(strstr(text(&g, "detail"), "did you mean"));
    cr_expect_eq(ask(&g, "POST", GEN "/drain", ""), 400);
    cr_expect_eq(ask(&g, "GET", GEN, ""), 200);
    cr_expect_str_eq(g.a.etag, was, "what is refused changes nothing");
    end(&g);
}

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

/* A queue names what calls people: it comes after it, and holds it. */
Test(admin, a_queue_of_the_configuration_may_tell_people_by_an_endpoint_of_it)
{
    struct rig g;

    g_endpoints = "[{\"name\": \"mailer\", \"url\": \"http://m/\"}]";
    begin(&g, "[{\"name\": \"shop\", \"turn_notice\": {\"queue\": \"mailer\"}}]");
    cr_assert_eq(ask(&g, "GET", Q "shop", ""), 200);
    cr_expect_eq(ask(&g, "DELETE", "/v1/admin/endpoints/mailer", ""), 409);
    cr_expect_str_eq(text(&g, "detail"), "pool mailer: queue shop tells people of their turn by its calls "
                                         "(turn_notice). With final=true it is removed all the same");
    cr_expect_eq(ask(&g, "PATCH", Q "shop", "{\"turn_notice\": {\"queue\": \"\"}}"), 200);
    cr_expect_eq(ask(&g, "DELETE", "/v1/admin/endpoints/mailer", ""), 200);
    end(&g);
}

Test(admin, a_page_has_a_button_or_a_field_where_somebody_is_told)
{
#define KEY "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
#define NO_KEY                                                                                              \
    "queue shop: turn_notice: push_key is no VAPID public key: 87 characters of base64url that begin with B, as " \
    "`web-push generate-vapid-keys` says them"
    struct rig g;

    g_endpoints = "[{\"name\": \"mailer\", \"url\": \"http://m/\"}]";
    begin(&g, "[{\"name\": \"shop\", \"turn_notice\": {\"queue\": \"mailer\"}}]");
    cr_expect_eq(ask(&g, "PATCH", Q "shop", "{\"turn_notice\": {\"push_key\": \"" KEY "\"}}"), 200);
    cr_expect_eq(ask(&g, "PATCH", Q "shop", "{\"turn_notice\": {\"push_key\": \"B\"}}"), 400);
    cr_expect_str_eq(text(&g, "detail"), NO_KEY);
    cr_expect_eq(ask(&g, "PATCH", Q "shop", "{\"turn_notice\": {\"push_key\": \"C" KEY "\"}}"), 400, "too long");
    cr_expect_eq(ask(&g, "PATCH", Q "shop", "{\"turn_notice\": {\"queue\": \"\"}}"), 400);
    cr_expect_str_eq(text(&g, "detail"), "queue shop: turn_notice: push_key without queue: nobody would be told");
    cr_expect_eq(ask(&g, "PATCH", Q "shop", "{\"turn_notice\": {\"push_key\": \"\", \"field\": \"email\"}}"), 200);
    cr_expect_eq(ask(&g, "PATCH", Q "shop", "{\"turn_notice\": {\"queue\": \"\"}}"), 400);
    cr_expect_str_eq(text(&g, "detail"), "queue shop: turn_notice: field without queue: nobody would be told");
    cr_expect_eq(ask(&g, "PATCH", Q "shop", "{\"turn_notice\": {\"field\": \"mail\"}}"), 400);
    end(&g);
}

Test(admin, an_endpoint_of_a_push_service_has_no_auth)
{
#define AUTH "\"auth\": {\"secret_file\": \"/x\"}"
#define REFUSED "pool mailer/p.example: endpoint p has `auth`, which would replace the signature of Web Push " \
                "(turn_notice.push_contact of a queue)"
    static const char pushes[] = "{\"turn_notice\": {\"push_contact\": \"mailto:a@b\"}}";
    struct rig g;

    g_endpoints = "[{\"name\": \"mailer\", \"url\": \"http://m/\"}]";
    begin(&g, "[{\"name\": \"shop\", \"turn_notice\": {\"queue\": \"mailer\"}}]");
    cr_assert_eq(ask(&g, "PUT", "/v1/admin/endpoints/p", "{\"url\": \"https://P.example\", " AUTH "}"), 201, "%s", text(&g, "detail"));
    cr_assert_eq(ask(&g, "PUT", P "mailer/p.example", "{\"endpoint\": \"p\"}"), 201);
    cr_expect_eq(ask(&g, "PATCH", Q "shop", pushes), 400);
    cr_expect_str_eq(text(&g, "detail"), "queue shop: " REFUSED);
    cr_expect_eq(ask(&g, "PATCH", "/v1/admin/endpoints/p", "{\"auth\": {\"secret_file\": \"\"}}"), 200, "%s", text(&g, "detail"));
    cr_expect_eq(ask(&g, "PATCH", Q "shop", pushes), 200);
    cr_expect_eq(ask(&g, "PATCH", "/v1/admin/endpoints/p", "{" AUTH "}"), 400);
    cr_expect_str_eq(text(&g, "detail"), "endpoint p: " REFUSED);
    cr_expect_eq(ask(&g, "PATCH", "/v1/admin/endpoints/mailer", "{" AUTH "}"), 200, "it is no push service");
    cr_expect_eq(ask(&g, "PUT", "/v1/admin/endpoints/q", "{\"url\": \"https://q.example\", " AUTH "}"), 201);
    cr_expect_eq(ask(&g, "PUT", P "mailer/x.example", "{\"endpoint\": \"q\"}"), 201, "nor that, which is elsewhere");
    cr_expect_eq(ask(&g, "PUT", P "mailer/q.example", "{\"endpoint\": \"q\"}"), 400);
    end(&g);
}

Test(admin, routers_that_push_to_nobody_are_warned_of)
{
#define NOBODY "turn_notice.push_contact: no browser can be told, since no pool mailer/HOST has the endpoint of a push " \
               "service: segqctl endpoint add fcm url=https://fcm.googleapis.com; segqctl pool add " \
               "mailer/fcm.googleapis.com endpoint=fcm; others: docs/turn.md"
    static const char pushes[] = "{\"turn_notice\": {\"push_contact\": \"mailto:a@b\"}}";
    struct rig g;

    g_endpoints = "[{\"name\": \"mailer\", \"url\": \"http://m/\"}]";
    begin(&g, "[{\"name\": \"shop\", \"turn_notice\": {\"queue\": \"mailer\"}}]");
    cr_assert_eq(ask(&g, "PATCH", Q "shop", pushes), 200);
    cr_expect_str_eq(text(&g, "warning"), NOBODY);
    cr_assert_eq(ask(&g, "GET", "/v1/admin/cluster", ""), 200);
    cr_expect_str_eq(json_string_value(json_object_get(json_array_get(json_object_get(g.j, "queues"), 0), "warning")), NOBODY);
    cr_assert_eq(ask(&g, "GET", "/v1/admin/live", ""), 200);
    cr_expect_str_eq(json_string_value(json_object_get(json_array_get(json_object_get(g.j, "unusual"), 0), "warning")), NOBODY);
    cr_assert_eq(ask(&g, "PUT", "/v1/admin/endpoints/p", "{\"url\": \"https://elsewhere.example\"}"), 201);
    cr_assert_eq(ask(&g, "PUT", P "mailer/p.example", "{\"endpoint\": \"p\"}"), 201);
    cr_assert_eq(ask(&g, "PATCH", Q "shop", pushes), 200);
    cr_expect_str_eq(text(&g, "warning"), NOBODY, "its endpoint is elsewhere");
    cr_assert_eq(ask(&g, "PATCH", "/v1/admin/endpoints/p", "{\"url\": \"https://p.example\"}"), 200);
    cr_assert_eq(ask(&g, "PATCH", Q "shop", pushes), 200);
    cr_expect_null(json_object_get(g.j, "warning"));
    cr_assert_eq(ask(&g, "GET", "/v1/admin/live", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "unusual")), 0);
    cr_expect_eq(ask(&g, "DELETE", P "mailer/p.example", ""), 409);
    cr_expect_str_eq(text(&g, "detail"), "pool mailer/p.example: queue shop tells people of their turn by its calls "
                                         "(turn_notice). With final=true it is removed all the same");
    cr_expect_eq(ask(&g, "PATCH", Q "shop", "{\"turn_notice\": {\"push_contact\": \"\"}}"), 200);
    cr_expect_eq(ask(&g, "DELETE", P "mailer/p.example", ""), 200, "%s", text(&g, "detail"));
    end(&g);
}

Test(admin, a_push_service_may_have_targets)
{
#define TARGETS(a, b) "{\"url\": \"\", \"targets\": [{\"url\": \"https://" a "/1\"}, {\"url\": \"https://" b "/2\"}]"
    static const char pushes[] = "{\"turn_notice\": {\"push_contact\": \"mailto:a@b\"}}";
    struct rig g;

    g_endpoints = "[{\"name\": \"mailer\", \"url\": \"http://m/\"}]";
    begin(&g, "[{\"name\": \"shop\", \"turn_notice\": {\"queue\": \"mailer\"}}]");
    cr_assert_eq(ask(&g, "PUT", "/v1/admin/endpoints/p", TARGETS("p.example", "P.example") "}"), 201, "%s", text(&g, "detail"));
    cr_assert_eq(ask(&g, "PUT", P "mailer/p.example", "{\"endpoint\": \"p\"}"), 201);
    cr_assert_eq(ask(&g, "PATCH", Q "shop", pushes), 200);
    cr_expect_null(json_object_get(g.j, "warning"));
    cr_expect_eq(ask(&g, "DELETE", P "mailer/p.example", ""), 409);
    cr_expect_eq(ask(&g, "PATCH", "/v1/admin/endpoints/p", "{" AUTH "}"), 400);
    cr_expect_str_eq(text(&g, "detail"), "endpoint p: " REFUSED);
    cr_expect_eq(ask(&g, "PATCH", "/v1/admin/endpoints/p", TARGETS("p.example", "q.example") "}"), 200, "%s", text(&g, "detail"));
    cr_assert_eq(ask(&g, "PATCH", Q "shop", pushes), 200);
    cr_expect_str_eq(text(&g, "warning"), NOBODY, "one of them is elsewhere");
    end(&g);
}

/* The same of a pool that notifies: it is said before ends go untold, and a pause is not refused for it later. */
Test(admin, an_endpoint_that_hears_of_the_ends_of_tasks_goes_only_with_final)
{
    struct rig g;

    g_endpoints = "[{\"name\": \"hook\", \"url\": \"http://h/\"}]";
    begin(&g, "[]");
    cr_expect_eq(ask(&g, "PATCH", P "hook", "{\"notify\": \"hook\"}"), 200);
    cr_expect_eq(ask(&g, "PUT", P "jobs", "{\"notify\": \"hook\"}"), 201);
    cr_expect_eq(ask(&g, "DELETE", "/v1/admin/endpoints/hook", ""), 409);
    cr_expect_str_eq(text(&g, "detail"), "pool hook: pool jobs tells the ends of its tasks by its calls "
                                         "(notify). With final=true it is removed all the same");
    cr_expect_eq(ask(&g, "PATCH", P "jobs", "{\"notify\": \"\"}"), 200);
    cr_expect_eq(ask(&g, "DELETE", "/v1/admin/endpoints/hook", ""), 200, "its own ends hold nothing");

    cr_expect_eq(ask(&g, "PUT", "/v1/admin/endpoints/hook", "{\"url\": \"http://h/\"}"), 201);
    cr_expect_eq(ask(&g, "PATCH", P "jobs", "{\"notify\": \"hook\"}"), 200);
    cr_expect_eq(ask_as(&g, true, "DELETE", "/v1/admin/endpoints/hook", "final=true", "", ""), 200);
    cr_expect_eq(ask(&g, "PATCH", P "jobs", "{\"paused\": true}"), 200, "%s", text(&g, "detail"));
    cr_expect_eq(ask(&g, "PATCH", P "jobs", "{\"notify\": \"other\"}"), 400);
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

/* ---- suspects that routers tell ---- */

static void tell_suspects(struct rig *g, peer_no p, const struct suspect_row *v, uint32_t n)
{
    struct msg m = { .type = MSG_JOINS, .joins = { .n_suspects = n } };

    m.joins.suspects = (struct suspect_row *)(uintptr_t)v;
    mng_msg(g->s->mng, ev_now(g->ev), p, &m, mng_service_step(g->s));
}

static const json_t *suspect(const struct rig *g, size_t i)
{
    return json_array_get(json_object_get(g->j, "suspects"), i);
}

static json_int_t number_of(const json_t *o, const char *name)
{
    return json_integer_value(json_object_get(o, name));
}

Test(admin, suspects_of_all_routers_are_added_up_by_prefix)
{
    const struct suspect_row one[] = {
        { .queue = 1, .net = 0xcb00710000000000u, .bits = 24, .score = 30, .places = 50, .silent = 30, .since_s = 1000 },
        { .queue = 1, .net = 0x20010db800010000u, .bits = 48, .script = true, .score = 60, .posing = 60, .since_s = 900 },
        { .queue = 99, .net = 1, .bits = 24, .score = 5 }, /* a queue that is gone */
    };
    const struct suspect_row two = one[0];
    struct rig g;

    begin(&g, "[{name: login},{name: shop}]");
    mng_peer_up(g.s->mng, ev_now(g.ev), 71, RPC_ROUTER, "r1", 7, mng_service_step(g.s));
    mng_peer_up(g.s->mng, ev_now(g.ev), 72, RPC_ROUTER, "r2", 7, mng_service_step(g.s));
    tell_suspects(&g, 71, one, 3);
    tell_suspects(&g, 72, &two, 1);
    cr_expect_eq(ask(&g, "GET", "/v1/admin/suspects", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "suspects")), 2);
    cr_expect_str_eq(json_string_value(json_object_get(suspect(&g, 0), "prefix")), "2001:db8:1::/48");
    cr_expect_eq(number_of(suspect(&g, 0), "since_ms"), 900000);
    cr_expect_eq(number_of(suspect(&g, 0), "routers"), 1);
    cr_expect_str_eq(json_string_value(json_object_get(suspect(&g, 1), "prefix")), "203.0.113.0/24");
    cr_expect_eq(number_of(suspect(&g, 1), "score"), 60);
    cr_expect_eq(number_of(suspect(&g, 1), "silent"), 60);
    cr_expect_eq(number_of(suspect(&g, 1), "routers"), 2);
    cr_expect_eq(ask_as(&g, true, "GET", "/v1/admin/suspects", "queue=shop", "", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "suspects")), 0);
    cr_expect_eq(ask_as(&g, true, "GET", "/v1/admin/suspects", "queue=none", "", ""), 404);
    tell_suspects(&g, 71, NULL, 0);
    cr_expect_eq(ask(&g, "GET", "/v1/admin/suspects", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "suspects")), 1, "not told again: none any more");
    end(&g);
}

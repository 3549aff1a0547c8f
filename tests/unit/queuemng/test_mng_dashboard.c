/* test_mng_dashboard.c: what the dashboard is given: its files, figures, events. */
#include "tests/unit/queuemng/adminrig.h"

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

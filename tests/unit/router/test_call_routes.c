/* test_call_routes.c: routes of calls: which endpoints a body gets, and a router that goes from one to the next. */
#include "router/task_api/request_body.h"

#include "tests/lib/taskhttprig.h"

TestSuite(routes_http, .init = set_up, .fini = tear_down, .timeout = 60);

/* ---- by the body ------------------------------------------------------------------------- */

static const char *gpt[] = { "gpt-*", "o1" }, *exact[] = { "exact" };
static struct map_route rows[] = {
    { .name = "llm", .pointer = "/model", .rule = 0, .n_match = 2, .match = gpt, .endpoint = "paid",
      .max_wait_ms = 2000 },
    { .name = "llm", .pointer = "/model", .rule = 0, .n_match = 2, .match = gpt, .endpoint = "gen" },
    { .name = "llm", .pointer = "/model", .rule = 1, .n_match = 1, .match = exact, .endpoint = "gen" },
    { .name = "any", .pointer = "/a/b", .rule = 0, .n_match = 1, .match = exact, .endpoint = "paid" },
    { .name = "any", .pointer = "/a/b", .rule = 1, .endpoint = "gen" },
    { .name = "all", .pointer = "/model", .rule = 0, .endpoint = "gen" },
};

static struct route_ways ways;

static enum route_end find(const char *route, const char *body)
{
    struct pools t = { .map = { .n_routes = ARRAY_LEN(rows), .routes = rows } };
    static char text[1000];
    enum route_end end;
    struct buf b;

    buf_init(&b);
    strcpy(text, body);
    end = route_find(&t, (struct slice){ (char *)(uintptr_t)route, strlen(route) },
                     (struct slice){ text, strlen(text) }, strlen(text), &b, &ways);
    cr_expect_str_eq(text, body, "the body stays as it is");
    buf_fini(&b);
    return end;
}

Test(call_routes, the_word_of_a_body_says_the_way)
{
    cr_expect_eq(find("llm", "{\"x\":[1,{\"model\":\"exact\"}],\"model\":\"gpt-4\"}"), ROUTE_FOUND);
    cr_expect_eq(ways.n, 2);
    cr_expect_str_eq(ways.endpoint[0], "paid");
    cr_expect_eq(ways.max_wait_ms[0], 2000);
    cr_expect_str_eq(ways.endpoint[1], "gen");
    cr_expect_eq(find("llm", "{\"model\":\"exact\"}"), ROUTE_FOUND);
    cr_expect_eq(ways.n, 1);
    cr_expect_str_eq(ways.endpoint[0], "gen");
    cr_expect_eq(find("llm", " { \"mod\\u0065l\" : \"\\u006f1\" } "), ROUTE_FOUND, "escapes mean what they say");
    cr_expect_eq(ways.n, 2);
    cr_expect_eq(find("any", "{\"a\":{\"b\":\"exact\"}}"), ROUTE_FOUND);
    cr_expect_str_eq(ways.endpoint[0], "paid");
}

Test(call_routes, other_bodies_go_by_the_rule_for_all)
{
    static const char *const bodies[] = {
        "", "no json", "[]", "{}", "{\"model\":7}", "{\"model\":\"\"}", "{\"model\":\"gpt\"}", "{\"model\":\"exactly\"}",
        "{\"model\":\"exact\"", "{\"Model\":\"exact\"}", "{\"a\":\"exact\"}",
    };

    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        cr_expect_eq(find("llm", bodies[i]), ROUTE_NO_MATCH, "%s", bodies[i]);
        cr_expect_eq(find("any", bodies[i]), ROUTE_FOUND, "%s", bodies[i]);
        cr_expect_str_eq(ways.endpoint[0], "gen");
    }
    cr_expect_eq(find("llm", "{\"model\":\"exact\",\"model\":\"gpt-4\"}"), ROUTE_TWICE, "targets differ in it");
    cr_expect_eq(find("nobody", "{}"), ROUTE_UNKNOWN);
    cr_expect_eq(find("ll", "{}"), ROUTE_UNKNOWN);
}

/* An object whose model comes before a list that lies n deep. */
static enum route_end find_deep(const char *route, unsigned n)
{
    char body[200];

    snprintf(body, sizeof(body), "{\"model\":\"exact\",\"x\":%.*s%.*s}", (int)n,
             "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", (int)n, "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
    return find(route, body);
}

Test(call_routes, a_body_that_is_nested_too_deeply_goes_no_other_way)
{
    cr_expect_eq(find_deep("llm", 31), ROUTE_FOUND);
    cr_expect_str_eq(ways.endpoint[0], "gen");
    cr_expect_eq(find_deep("llm", 32), ROUTE_DEEP);
    cr_expect_eq(find_deep("any", 32), ROUTE_DEEP, "nor by the rule for all");
    cr_expect_eq(find_deep("all", 32), ROUTE_FOUND, "where no word counts");
}

/* ---- through a router -------------------------------------------------------------------- */

/* A pool with an endpoint `gen`, and one of `images`, which is another's here. */
static void tell_routes(void)
{
    struct map_task_node n = { 9, "task1", node.addr };
    struct map_part images = { 1, 5, 9 }, calls = { 4, 5, 9 };
    struct map_pool pools[] = { { .match = "images", .endpoint = "images", .max_body = 500, .n = 1, .v = &images,
                                  .url = "http://paid.example",
                                  .cost = { "/n", COST_PER_BYTE_PART, 10, 5, 1000 } },
                                { .match = "gen", .endpoint = "gen", .max_body = 1000, .n = 1, .v = &calls,
                                  .url = "http://gen.example", .cancel_on_disconnect = true,
                                  .cost = { "/o/m", 0, 0, 3, 900 } } };
    struct map_route r[] = {
        { .name = "llm", .pointer = "/model", .rule = 0, .n_match = 2, .match = gpt, .endpoint = "images",
          .max_wait_ms = 2000 },
        { .name = "llm", .pointer = "/model", .rule = 0, .n_match = 2, .match = gpt, .endpoint = "gen" },
        { .name = "llm", .pointer = "/model", .rule = 1, .n_match = 1, .match = exact, .endpoint = "other" },
    };
    struct msg m = { .type = MSG_TASK_MAP };
    uint64_t was = w.r->tasking->counts.maps;

    m.task_map = (struct msg_task_map){ .epoch = 3, .n_nodes = 1, .n_pools = 2, .nodes = &n, .pools = pools,
                                        .n_routes = ARRAY_LEN(r), .routes = r };
    send_msg(w.mng_ch, &m, 0);
    UNTIL(w.r->tasking->counts.maps > was);
    node.finishes = true;
    node.as.status = 200;
    node.as.content_type = "application/json";
    node.answers = "{}";
}

#define ROUTE "/v1/route/llm/v1/chat"
#define WAITS HERS "Prefer: wait=5\r\n"

Test(routes_http, a_call_goes_to_the_first_way_that_takes_it)
{
    tell_routes();
    cr_expect_eq(call_with("POST", ROUTE, WAITS "segq-queue: e\r\n", "{\"model\":\"gpt-4\"}"), 400);
    cr_expect_eq(call_with("POST", ROUTE "?a=1", WAITS, "{\"model\":\"gpt-4\"}"), 200);
    cr_expect_eq(node.n, 1);
    cr_expect_str_eq(node.v[1].queue, "images");
    cr_expect_eq(node.v[1].may_wait, 2000);
    node.full = "images";
    cr_expect_eq(call_with("POST", ROUTE "?a=1", WAITS "Idempotency-Key: k\r\n", "{\"model\":\"gpt-4\"}"), 200);
    cr_expect_eq(node.n, 2);
    cr_expect_str_eq(node.v[2].queue, "gen");
    cr_expect_str_eq(node.v[2].body, "POST /v1/chat?a=1");
    cr_expect_str_eq(node.v[2].idem, "k");
    cr_expect_eq(node.v[2].may_wait, 0, "the last one takes what comes");
    cr_expect_eq(w.r->tasking->counts.elsewhere, 1);
    cr_expect_eq(w.r->tasking->counts.routed, 2);
    node.full = "gen";
    cr_expect_eq(call_with("POST", ROUTE, WAITS, "{\"model\":\"gpt-4\"}"), 200);
    node.full = "*";
    cr_expect_eq(call_with("POST", ROUTE, WAITS, "{\"model\":\"gpt-4\"}"), 429);
    cr_expect_str_eq(str("code"), "wait_too_long");
    cr_expect_eq(node.n, 3);
}

Test(routes_http, a_line_that_has_no_room_is_one_to_try_another)
{
    tell_routes();
    node.full = "images";
    node.full_by = FULL_DISK;
    cr_expect_eq(call_with("POST", ROUTE, WAITS, "{\"model\":\"gpt-4\"}"), 200);
    cr_expect_str_eq(node.v[1].queue, "gen");
    node.full = "*";
    cr_expect_eq(call_with("POST", ROUTE, WAITS, "{\"model\":\"gpt-4\"}"), 503);
    cr_expect_str_eq(str("code"), "queue_full");
    cr_expect_eq(node.n, 1);
}

/* {"model":"gpt-4"} in a body of n bytes. */
static const char *body_of(size_t n)
{
    static char body[1200];

    cr_assert_lt(n, sizeof(body));
    snprintf(body, sizeof(body), "{\"model\":\"gpt-4\"%*s}", (int)n - 17, "");
    return body;
}

Test(routes_http, a_way_that_has_no_room_for_the_body_is_left_out)
{
    tell_routes();
    cr_expect_eq(call_with("POST", ROUTE, WAITS, body_of(500)), 200);
    cr_expect_str_eq(node.v[1].queue, "images");
    cr_expect_eq(call_with("POST", ROUTE, WAITS, body_of(501)), 200);
    cr_expect_str_eq(node.v[2].queue, "gen");
    cr_expect_eq(node.v[2].may_wait, 0, "it is the last one");
    cr_expect_eq(call_with("POST", ROUTE, WAITS, body_of(1000)), 200);
    cr_expect_eq(call_with("POST", ROUTE, WAITS, body_of(1001)), 413);
    cr_expect(strstr(str("detail"), "at most 1000 bytes (max_body)") != NULL, "%s", got);
    cr_expect_eq(node.n, 3);
}

/* Its caller waits, and has no name for it. */
Test(routes_http, a_client_that_goes_cancels_where_the_pool_of_the_way_says_so)
{
    tell_routes();
    cr_expect_eq(call_with("POST", ROUTE, WAITS, "{\"model\":\"gpt-4\"}"), 200);
    cr_expect_str_eq(node.v[1].queue, "images");
    cr_expect_not(node.leaves);
    node.full = "images";
    cr_expect_eq(call_with("POST", ROUTE, WAITS, "{\"model\":\"gpt-4\"}"), 200);
    cr_expect_str_eq(node.v[2].queue, "gen");
    cr_expect(node.leaves);
    cr_expect_eq(call_with("POST", ROUTE, WAITS "Idempotency-Key: k\r\n", "{\"model\":\"gpt-4\"}"), 200);
    cr_expect_not(node.leaves);
}

static uint64_t cost_of(uint32_t no)
{
    return own_cost(&node.v[no].own);
}

Test(routes_http, a_call_costs_what_its_endpoint_estimates_wherever_it_goes)
{
    tell_routes();
    cr_expect_eq(call_with("POST", "/v1/call/images/x", WAITS, "{\"n\":300,\"o\":{\"m\":7}}"), 200);
    cr_expect_eq(cost_of(1), 300 + 10 + 21);
    cr_expect_eq(call_with("POST", "/v1/call/images/x", WAITS, "no JSON"), 200);
    cr_expect_eq(cost_of(2), 10 + 7);
    cr_expect_eq(call_with("POST", "/v1/call/images/x", WAITS "segq-cost: 2\r\n", "{\"n\":300}"), 200);
    cr_expect_eq(cost_of(3), 5, "at least so many, whatever it says");
    cr_expect_eq(call_with("POST", "/v1/queues/gen/tasks", HERS, "{\"path\":\"/\",\"body_json\":{\"\\u006f\":{\"m\":41.5}}}"),
                 201);
    cr_expect_eq(cost_of(4), 42);
    cr_expect_eq(call_with("POST", "/v1/queues/gen/tasks/batch", HERS, "[{\"path\":\"/\",\"body\":\"{\\\"o\\\":{\\\"m\\\":1e9}}\"}]"),
                 207);
    cr_expect_eq(cost_of(5), 900, "at most so many");
    node.full = "images";
    cr_expect_eq(call_with("POST", ROUTE, WAITS, "{\"model\":\"gpt-4\",\"n\":300,\"o\":{\"m\":77}}"), 200);
    cr_expect_str_eq(node.v[6].queue, "gen");
    cr_expect_eq(cost_of(6), 77, "where it went in the end");
    cr_expect_eq(call_with("POST", ROUTE, WAITS "segq-cost: 20\r\n", "{\"model\":\"gpt-4\",\"o\":{\"m\":77}}"), 200);
    cr_expect_eq(cost_of(7), 20);
}

Test(routes_http, units_that_cannot_be_read_are_refused)
{
    tell_routes();
    cr_expect_eq(call_with("POST", "/v1/call/images/x", WAITS, "{\"n\":1,\"n\":300}"), 400);
    cr_expect_eq(call_with("POST", "/v1/queues/images/tasks", HERS, "{\"path\":\"/\",\"body_json\":{\"n\":1,\"n\":3}}"), 400);
    cr_expect_eq(call_with("POST", "/v1/call/images/x", WAITS "segq-cost: 7\r\n", "{\"n\":1,\"n\":300}"), 200,
                 "nobody needs them");
    cr_expect_eq(call_with("POST", "/v1/call/images/x", WAITS, "{\"n\":\"300\",\"m\":{\"n\":4}}"), 200);
    cr_expect_eq(cost_of(2), 10 + 23, "what is no number says nothing");
}

Test(routes_http, refusals_say_why)
{
    tell_routes();
    cr_expect_eq(call_with("POST", "/v1/route/nobody/v1/chat", WAITS, "{}"), 404);
    cr_expect_str_eq(str("code"), "route_unknown");
    cr_expect_eq(call_with("POST", ROUTE, WAITS, "{\"model\":\"other\"}"), 422);
    cr_expect_str_eq(str("code"), "no_route");
    cr_expect_not_null(json_object_get(js, "error"));
    cr_expect_eq(call_with("POST", ROUTE, WAITS, "{\"model\":\"a\",\"model\":\"b\"}"), 400);
    cr_expect_eq(call_with("POST", ROUTE, WAITS, "{\"x\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}"), 400);
    cr_expect_eq(call_with("POST", ROUTE, WAITS, "{\"model\":\"exact\"}"), 404, "that endpoint has no queue");
    cr_expect_str_eq(str("code"), "endpoint_unknown");
    cr_expect_eq(call("POST", ROUTE, "{\"model\":\"gpt-4\"}"), 401);
    write_tokens("submit gen key=tenant7 paths=/v1/chat");
    tasking_reload(w.r->tasking);
    cr_expect_eq(call_with("POST", ROUTE, WAITS, "{\"model\":\"gpt-4\"}"), 200, "by the way that its token may go");
    cr_expect_str_eq(node.v[1].queue, "gen");
    cr_expect_str_eq(node.v[1].key1, "tenant7");
    cr_expect_eq(call_with("POST", "/v1/route/llm/v1/other", WAITS, "{\"model\":\"gpt-4\"}"), 403);
    cr_expect_eq(call_with("POST", ROUTE, WAITS, body_of(1001)), 413);
    write_tokens("submit other key=tenant7");
    tasking_reload(w.r->tasking);
    cr_expect_eq(call_with("POST", ROUTE, WAITS, "{\"model\":\"gpt-4\"}"), 403, "no queue of them is opened");
    cr_expect_str_eq(str("code"), "not_eligible");
    write_tokens("take gen");
    tasking_reload(w.r->tasking);
    cr_expect_eq(call_with("POST", ROUTE, WAITS, "{\"model\":\"gpt-4\"}"), 403);
    cr_expect_eq(node.n, 1);
}

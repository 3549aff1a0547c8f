/* test_aws_http.c: the public API of AWS' waiting room at a whole router: each call, and what it refuses. */
#include "tests/lib/routerrig.h"

static struct cfg_aws_event event = { (char *)(uintptr_t)"Sample", (char *)(uintptr_t)"login" };

static bool has_replica(void)
{
    const struct stream *st = replicas_stream(&w.r->replicas, 1);

    return st != NULL && st->state == STREAM_LIVE;
}

static void set_up(void)
{
    queue_binds = BIND_NONE;
    replica_fresh = 60000;
    map_base = 500;
    setup_all();
    w.cfg.aws_events = (struct cfg_list){ &event, 1 };
    UNTIL(has_replica());
}

TestSuite(aws_http, .init = set_up, .fini = teardown, .timeout = 60);

#define JSON "Content-Type: application/json\r\n"

/* The text of a ticket of segment 1. */
static const char *id(uint32_t number)
{
    return ticket_path(number, 1) + strlen("/v1/tickets/");
}

static int get(const char *path, uint32_t number)
{
    char url[200];

    snprintf(url, sizeof(url), "%s?event_id=Sample&request_id=%s", path, id(number));
    return call("GET", url, "");
}

static int token(uint32_t number)
{
    char body[200];

    snprintf(body, sizeof(body), "{\"event_id\":\"Sample\",\"request_id\":\"%s\"}", id(number));
    return call_with("POST", "/generate_token", JSON, body);
}

Test(aws_http, a_place_its_number_and_who_is_served)
{
    struct token t;

    cr_expect_eq(call_with("POST", "/assign_queue_num", JSON, "{\"event_id\":\"Sample\"}"), 200, "%s", got);
    cr_expect_eq(w.appends, 1);
    cr_assert_eq(token_read(&t, &w.r->keys.token, str("api_request_id"), TOKEN_TEXT_LEN), 0);
    cr_expect_eq(t.client, CLIENT_BROWSER);
    cr_expect_eq(get("/queue_num", 42), 200);
    cr_expect_eq(num("queue_number"), 542);
    cr_expect_str_eq(str("event_id"), "Sample");
    cr_expect_eq(num("status"), 1);
    cr_expect_eq(w.places, 0, "the router knows");
    cr_expect_eq(call("GET", "/serving_num?event_id=Sample", ""), 200);
    cr_expect_eq(num("serving_counter"), 500, "1 to 999 wait");
    cr_expect_eq(call("GET", "/waiting_num?event_id=Sample", ""), 200);
    cr_expect_not_null(json_object_get(js, "waiting_num"));
}

Test(aws_http, a_token_once_it_is_served)
{
    cr_expect_eq(token(42), 202);
    cr_expect_str_eq(str("error"), "Request ID not being served yet");
    cr_expect_eq(get("/queue_pos_expiry", 42), 202);
    cr_expect_eq(token(N_ADMITTED), 200);
    cr_expect_str_eq(str("access_token"), "a.b.c");
    cr_expect_str_eq(str("id_token"), "a.b.c");
    cr_expect_str_eq(str("token_type"), "Bearer");
    cr_expect_eq(get("/queue_pos_expiry", N_ADMITTED), 200);
    cr_expect_eq(num("expires_in"), 0, "it was released long ago");
    cr_expect_eq(token(N_GONE), 410);
    cr_expect_eq(get("/queue_num", N_GONE), 410);
    cr_expect_eq(call("GET", "/public_key?event_id=Sample", ""), 200);
    cr_expect_str_eq(str("kty"), "OKP");
}

Test(aws_http, what_is_not_of_the_event_is_refused)
{
    char url[200];

    cr_expect_eq(call("GET", "/serving_num", ""), 400);
    cr_expect_eq(call("GET", "/serving_num?event_id=Sampl", ""), 400);
    cr_expect_eq(call("GET", "/serving_num?event_id=Samples", ""), 400);
    cr_expect_eq(call("GET", "/queue_num?event_id=Sample", ""), 404);
    snprintf(url, sizeof(url), "/queue_num?event_id=Sample&request_id=%s",
             ticket_path(1, 3) + strlen("/v1/tickets/"));
    cr_expect_eq(call("GET", url, ""), 410, "of no segment any more");
    cr_expect_eq(call_with("POST", "/generate_token", "Content-Type: text/plain\r\n", "{}"), 415);
    cr_expect_eq(call("GET", "/generate_token", ""), 405);
    cr_expect_eq(call("POST", "/serving_num?event_id=Sample", ""), 405);
    w.cfg.aws_events.n = 0;
    cr_expect_eq(call("GET", "/serving_num?event_id=Sample", ""), 404);
    cr_expect_eq(call("GET", "/generate_token", ""), 404);
}

Test(aws_http, a_second_line_is_another_event)
{
    static struct cfg_aws_event two[] = { { (char *)(uintptr_t)"Rides", (char *)(uintptr_t)"rides" },
                                          { (char *)(uintptr_t)"Sample", (char *)(uintptr_t)"login" } };
    char url[200];

    w.cfg.aws_events = (struct cfg_list){ two, 2 };
    snprintf(url, sizeof(url), "/queue_num?event_id=Rides&request_id=%s", id(42));
    cr_expect_eq(call("GET", url, ""), 404, "that queue is not there");
    second_queue = true;
    send_map(5, 6, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 6);
    cr_expect_eq(call("GET", url, ""), 403, "it gives up silent people");
    cr_expect_eq(get("/queue_num", 42), 200);
    second_queue = false;
}

Test(aws_http, a_manager_of_before_tells_no_numbers)
{
    map_base = 0;
    send_map(0, 6, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 6);
    cr_expect_eq(call("GET", "/serving_num?event_id=Sample", ""), 503);
    cr_expect_eq(get("/queue_num", 42), 202);
    cr_expect_str_eq(str("error"), "Request ID not found");
    cr_expect_eq(token(42), 202, "a token needs none");
}

Test(aws_http, too_many_questions_cost_no_place)
{
    unsigned refused = 0;

    limit_set(w.r->gate.limit, LIMIT_POLL, 0.001, 2);
    for (int i = 0; i < 4; i++)
        refused += call("GET", "/serving_num?event_id=Sample", "") == 429;
    cr_expect_eq(refused, 2);
    limit_set(w.r->gate.limit, LIMIT_JOIN, 0.001, 1);
    cr_expect_eq(call("OPTIONS", "/assign_queue_num", ""), 405, "a browser's question before it is no join");
    cr_expect_eq(call_with("POST", "/assign_queue_num", JSON, "{\"event_id\":\"Sample\"}"), 200);
    cr_expect_eq(call_with("POST", "/assign_queue_num", JSON, "{\"event_id\":\"Sample\"}"), 429);
    cr_expect_eq(w.appends, 1);
}

Test(aws_http, what_the_configuration_may_not_say)
{
    struct cfg_aws_event v[2] = { event, event };
    struct err e = { 0 };

    cr_expect_eq(router_cfg_check(&w.cfg, &e), 0, "%s", e.text);
    w.cfg.aws_events = (struct cfg_list){ v, 2 };
    cr_expect_eq(router_cfg_check(&w.cfg, &e), SQ_EINVAL);
    cr_expect_str_eq(e.text, "aws_events: event_id \"Sample\" is there twice");
    v[1].event_id = (char *)(uintptr_t)"More";
    cr_expect_eq(router_cfg_check(&w.cfg, &e), SQ_EINVAL);
    cr_expect_str_eq(e.text, "aws_events: queue \"login\" is there twice");
    v[1].queue = (char *)(uintptr_t)"a b";
    cr_expect_eq(router_cfg_check(&w.cfg, &e), SQ_EINVAL);
    cr_expect_str_eq(e.text, "aws_events: \"a b\" of \"More\" is not a valid queue name");
    v[1].event_id = (char *)(uintptr_t)"a/b";
    cr_expect_eq(router_cfg_check(&w.cfg, &e), SQ_EINVAL);
    cr_expect_str_eq(e.text, "aws_events: event_id \"a/b\" must have letters, digits, . _ - alone");
    w.cfg.aws_events.n = 1;
    w.cfg.replica_fresh = 0; /* the counter would stand still for ever */
    cr_expect_eq(router_cfg_check(&w.cfg, &e), SQ_EINVAL);
    cr_expect_str_eq(e.text, "aws_events: the number that is served comes from what segment nodes push: replica_fresh "
                             "must not be 0");
    w.cfg.aws_events.n = 0;
    cr_expect_eq(router_cfg_check(&w.cfg, &e), 0, "%s", e.text);
}

/* test_api.c: paths to calls; results to status, headers and JSON (parsed again with
 * jansson); the JSON body of a join. */
#include "router/api/request.h"

#include "common/ticket/pace.h"
#include "router/api/response.h"

#include "tests/lib/criterion.h"
#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* ---- routing ---- */

static struct api_req route(enum http_method m, const char *path)
{
    static char buf[300];
    struct http_req q = { .method = m };
    struct api_req a;

    strcpy(buf, path);
    q.path = (struct slice) { buf, strlen(buf) };
    api_route(&q, &a);
    return a;
}

static bool arg_is(const struct api_req *a, const char *t)
{
    return a->arg.n == strlen(t) && memcmp(a->arg.p, t, a->arg.n) == 0;
}

/* The usual path goes its own way, and comes to the same. */
Test(api, a_path_with_a_token_is_like_any_other)
{
    char path[] = "/v1/tickets/TTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT";
    char *token = path + strlen("/v1/tickets/");
    struct api_req a = route(HTTP_GET, path);

    cr_assert_eq(strlen(token), TOKEN_TEXT_LEN);
    cr_expect(a.call == API_POLL && arg_is(&a, token) && a.open);
    cr_expect_eq(route(HTTP_DELETE, path).call, API_LEAVE);
    cr_expect_eq(route(HTTP_PUT, path).call, API_BAD_METHOD);
    for (size_t i = 0; i < TOKEN_TEXT_LEN; i++) {
        token[i] = '/';
        cr_expect_eq(route(HTTP_GET, path).call, API_NO_PATH, "%zu", i);
        token[i] = '%';
        cr_expect_eq(route(HTTP_GET, path).call, API_BAD_PATH, "%zu", i);
        token[i] = 'T';
    }
}

static const struct {
    enum http_method m;
    const char *path;
    enum api_call call;
    const char *arg;
} calls[] = {
    { HTTP_POST, "/v1/queues/login/tickets", API_JOIN, "login" },
    { HTTP_POST, "/v1/queues/l%6Fgin/tickets", API_JOIN, "login" },
    { HTTP_GET, "/v1/queues/login/tickets", API_BAD_METHOD, NULL },
    { HTTP_GET, "/v1/queues/login", API_QUEUE, "login" },
    { HTTP_HEAD, "/v1/queues/login", API_QUEUE, "login" },
    { HTTP_POST, "/v1/queues/login", API_BAD_METHOD, NULL },
    { HTTP_GET, "/v1/tickets/abc", API_POLL, "abc" },
    { HTTP_HEAD, "/v1/tickets/abc", API_POLL, "abc" },
    { HTTP_DELETE, "/v1/tickets/abc", API_LEAVE, "abc" },
    { HTTP_PUT, "/v1/tickets/abc", API_BAD_METHOD, NULL },
    { HTTP_GET, "/v1/tickets/abc/events", API_EVENTS, "abc" },
    { HTTP_POST, "/v1/tickets/abc/device", API_DEVICE, "abc" },
    { HTTP_DELETE, "/v1/tickets/abc/events", API_BAD_METHOD, NULL },
    { HTTP_GET, "/v1/tickets//events", API_NO_PATH, NULL },
    { HTTP_GET, "/v1/tickets/a/b/events", API_NO_PATH, NULL },
    { HTTP_OTHER, "/v1/tickets/abc", API_BAD_METHOD, NULL },
    { HTTP_GET, "/healthz", API_HEALTH, NULL },
    { HTTP_GET, "/readyz", API_READY, NULL },
    { HTTP_GET, "/.well-known/jwks.json", API_JWKS, NULL },
    { HTTP_DELETE, "/healthz", API_BAD_METHOD, NULL },
    { HTTP_OPTIONS, "*", API_NO_PATH, NULL },
    { HTTP_GET, "/", API_START, NULL },
    { HTTP_POST, "/", API_BAD_METHOD, NULL },
    { HTTP_GET, "//", API_NO_PATH, NULL },
    { HTTP_GET, "/q/login/leave", API_UNFORM, "login" },
    { HTTP_DELETE, "/q/login/leave", API_BAD_METHOD, NULL },
    { HTTP_GET, "/v1/tickets/", API_NO_PATH, NULL },
    { HTTP_GET, "/v1/tickets/a/b", API_NO_PATH, NULL },
    { HTTP_GET, "/v1/tickets/a/", API_NO_PATH, NULL },
    { HTTP_GET, "/v1/tickets/a%2fb", API_BAD_PATH, NULL },
    { HTTP_POST, "/v1/queues/ride%2F7/tasks", API_TASKS, "ride/7/tasks" },
    { HTTP_POST, "/v1/queues/a%2fb%2Fc/tasks/take", API_TASKS, "a/b/c/tasks/take" },
    { HTTP_POST, "/v1/queues/a%2Fb/%74asks", API_TASKS, "a/b/tasks" },
    { HTTP_POST, "/v1/queues/a%2Ftasks/tasks", API_BAD_PATH, NULL }, /* a front sees other parts */
    { HTTP_POST, "/v1/queues/a/tasks%2Ftake", API_BAD_PATH, NULL },
    { HTTP_POST, "/v1/queues/a%2Ftasks", API_BAD_PATH, NULL },
    { HTTP_POST, "/v1/queues/a%01b/tasks", API_BAD_PATH, NULL },
    { HTTP_POST, "/v1/queues/a%252Fb/tasks", API_TASKS, "a%2Fb/tasks" },
    { HTTP_POST, "/v1/queues/log%2Fin/tickets", API_BAD_PATH, NULL },
    { HTTP_GET, "/v1/queues/log%2Fin", API_BAD_PATH, NULL },
    { HTTP_GET, "/v1/schedules/ride%2F7/nightly", API_SCHEDULES, "ride/7/nightly" },
    { HTTP_GET, "/v1/schedules/ride%2F7/", API_SCHEDULES, "ride/7/" },
    { HTTP_GET, "/v1/schedules/ride%2Fnightly", API_BAD_PATH, NULL },
    { HTTP_POST, "/v1/schedules/ride%2F7/nightly/run", API_SCHEDULES, "ride/7/nightly/run" },
    { HTTP_POST, "/v1/schedules/q/na%2Fme/run", API_BAD_PATH, NULL }, /* not `me` of `q/na` */
    { HTTP_POST, "/v1/schedules/q/na%2Fme", API_BAD_PATH, NULL },
    { HTTP_POST, "/v1/schedules/q/nightly%2Frun", API_BAD_PATH, NULL },
    { HTTP_POST, "/v1/schedules/q%2Fnightly/run", API_BAD_PATH, NULL },
    { HTTP_PUT, "/v1/schedules/q%2Fa/run", API_SCHEDULES, "q/a/run" }, /* `run` of `q/a` */
    { HTTP_GET, "/v1/groups/ride%2F7/b7", API_SCHEDULES, "ride/7/b7" },
    { HTTP_POST, "/v1/groups/ride%2F7/b7/seal", API_SCHEDULES, "ride/7/b7/seal" },
    { HTTP_POST, "/v1/groups/q/b%2F7/cancel", API_BAD_PATH, NULL },
    { HTTP_GET, "/v1/queues/q/tasks/na%2Fme", API_BAD_PATH, NULL },
    { HTTP_POST, "/v1/queues/q/tasks/na%2Fme/pause", API_BAD_PATH, NULL },
    { HTTP_GET, "/v1/tasks/a%2Fb/result", API_BAD_PATH, NULL },
    { HTTP_POST, "/q/a%2Fb/join", API_BAD_PATH, NULL },
    { HTTP_GET, "/v1/tasks/a%2Fack", API_BAD_PATH, NULL },
    { HTTP_GET, "/v1/tickets/%zz", API_BAD_PATH, NULL },
    { HTTP_GET, "/v1/tickets/%00", API_BAD_PATH, NULL },
    { HTTP_GET, "/v1/./tickets/a", API_NO_PATH, NULL },
    { HTTP_GET, "//v1/tickets/a", API_NO_PATH, NULL },
    { HTTP_GET, "/V1/tickets/a", API_NO_PATH, NULL },
    { HTTP_GET, "/v1/queues/../tickets/a", API_NO_PATH, NULL },
    { HTTP_GET, "/v1/queues//tickets", API_NO_PATH, NULL },
    { HTTP_POST, "/v1/queues//tickets", API_NO_PATH, NULL },
    { HTTP_POST, "/v1/queues/tickets", API_BAD_METHOD, NULL },
    { HTTP_GET, "/healthz/", API_NO_PATH, NULL },
    { HTTP_GET, "/metrics", API_NO_PATH, NULL },
    { HTTP_GET, "/v1/admin/cluster", API_NO_PATH, NULL },
    { HTTP_GET, "/%2561dmin", API_NO_PATH, NULL },
};

Test(api, each_path_and_method_has_its_call)
{
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        struct api_req a = route(calls[i].m, calls[i].path);

        cr_expect_eq(a.call, calls[i].call, "%s: %d", calls[i].path, a.call);
        if (calls[i].arg != NULL)
            cr_expect(arg_is(&a, calls[i].arg), "%s", calls[i].path);
        if (a.call == API_BAD_METHOD)
            cr_expect(a.allow != NULL && a.allow[0] != '\0');
    }
    cr_expect_str_eq(route(HTTP_PUT, "/v1/tickets/a").allow, "GET, HEAD, DELETE");
    cr_expect_str_eq(route(HTTP_PUT, "/v1/queues/a/tickets").allow, "POST");
}

Test(api, queue_names_are_checked)
{
    char longest[66];

    memset(longest, 'a', sizeof(longest));
    cr_expect(api_is_name("a", 1) && api_is_name("0a-_z", 5) && api_is_name(longest, 64));
    cr_expect(!api_is_name("", 0) && !api_is_name("-a", 2) && !api_is_name("_a", 2));
    cr_expect(!api_is_name("A", 1) && !api_is_name("a.b", 3) &&
              !api_is_name(longest, 65));
}

/* ---- answers ---- */

static struct api_ans ans;

static void setup(void)
{
    api_ans_init(&ans);
}

static void teardown(void)
{
    api_ans_fini(&ans);
}

TestSuite(api_ans, .init = setup, .fini = teardown);

static json_t *body(void)
{
    json_error_t e;
    json_t *o =
        json_loadb((const char *)ans.body.data, ans.body.len, JSON_REJECT_DUPLICATES, &e);

    cr_assert(o != NULL, "%s: %.*s", e.text, (int)ans.body.len,
              (const char *)ans.body.data);
    return o;
}

static const char *str(json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    cr_assert(s != NULL, "no string %s", key);
    return s;
}

static json_int_t num(json_t *o, const char *key)
{
    cr_assert(json_is_integer(json_object_get(o, key)), "no integer %s", key);
    return json_integer_value(json_object_get(o, key));
}

static struct route_queue queue; /* of ticket() */

static struct api_ticket ticket(const struct lane_stats *s)
{
    static struct map_lane lane = { .name = "default" };
    struct api_ticket t = { .queue = &queue,
                            .position = 1234,
                            .poll_after_ms = 5000,
                            .segment = 17 };

    queue = (struct route_queue) {
        .map = { .name = "login", .n_lanes = 1, .lanes = &lane }, .said = "", .stats.lane = { *s }
    };
    memset(t.token, 'T', sizeof(t.token));
    return t;
}

Test(api_ans, a_waiting_ticket_has_position_total_and_eta)
{
    struct lane_stats s = { .waiting = 56789, .rate_milli_per_s = 20000 };
    struct api_ticket t = ticket(&s);
    char want[100];

    api_ticket(&ans, 201, &t, true);
    json_t *o = body();
    cr_expect_eq(ans.status, 201);
    cr_expect_str_eq(ans.type, "application/json");
    cr_expect_eq(strlen(str(o, "token")), TOKEN_TEXT_LEN);
    cr_expect_str_eq(str(o, "queue"), "login");
    cr_expect_str_eq(str(o, "lane"), "default");
    cr_expect_str_eq(str(o, "state"), "waiting");
    cr_expect_eq(num(o, "position"), 1234);
    cr_expect_eq(num(o, "total"), 56789);
    cr_expect_eq(num(o, "eta_s"), 62, "1234 / 20 rounded up");
    cr_expect_eq(num(o, "poll_after_ms"), 5000);
    cr_expect_eq(num(o, "segment"), 17);
    snprintf(want, sizeof(want), "Location: /v1/tickets/%.55s\r\n", t.token);
    cr_expect_str_eq(api_headers(&ans), want);
    json_decref(o);
}

Test(api_ans, total_is_never_below_the_position_and_unknowns_are_null)
{
    struct lane_stats s = { .waiting = 10 };
    struct api_ticket t = ticket(&s);

    api_ticket(&ans, 200, &t, false);
    json_t *o = body();
    cr_expect_eq(num(o, "total"), 1234);
    cr_expect(json_is_null(json_object_get(o, "eta_s")));
    cr_expect_str_eq(api_headers(&ans), "");
    json_decref(o);
    api_ans_reset(&ans);
    t.position = 0;
    api_ticket(&ans, 200, &t, false);
    o = body();
    cr_expect(json_is_null(json_object_get(o, "position")));
    cr_expect(json_is_null(json_object_get(o, "eta_s")));
    json_decref(o);
}

Test(api_ans, an_admitted_ticket_has_its_pass)
{
    struct lane_stats s = { .waiting = 5 };
    struct api_ticket t = ticket(&s);

    t.admitted = true;
    t.pass = "aaa.bbb.cccXXX";
    t.pass_len = 11;
    t.released_at_ms = 1700000000042;
    t.pass_expires_s = 1700000300;
    api_ticket(&ans, 200, &t, false);
    json_t *o = body();
    cr_expect_str_eq(str(o, "state"), "admitted");
    cr_expect_eq(num(o, "position"), 0);
    cr_expect_str_eq(str(o, "pass"), "aaa.bbb.ccc");
    cr_expect_eq(num(o, "pass_expires_at"), 1700000300);
    cr_expect_float_eq(json_real_value(json_object_get(o, "released_at")), 1700000000.042,
                       1e-6);
    buf_byte(&ans.body, 0);
    cr_expect(strstr((char *)ans.body.data, "\"released_at\":1700000000.042,") != NULL);
    json_decref(o);
}

static int64_t eta(uint64_t position, uint64_t rate_milli_per_s, uint32_t leave_ppm)
{
    struct lane_stats s = { .rate_milli_per_s = rate_milli_per_s, .leave_ppm = leave_ppm };

    return api_eta_s(position, &s);
}

Test(api_ans, an_eta_is_rounded_up_or_unknown)
{
    cr_expect_eq(eta(1, 0, 0), -1);
    cr_expect_eq(eta(0, 1000, 0), 0);
    cr_expect_eq(eta(1, 1000, 0), 1);
    cr_expect_eq(eta(1001, 1000000, 0), 2);
    cr_expect_eq(eta(10, 400, 0), 25);
    cr_expect_eq(eta(UINT64_MAX, 1, 0), -1);
    /* 1000 places at 10/s, of whom one in a thousand leaves each second: ln(1.1)/0.001 */
    cr_expect_eq(eta(1000, 10000, 1000), 96);
    cr_expect_eq(eta(1000, 0, 1000), -1);
    for (uint64_t p = 1, last = 0; p < 1000000; p += p / 7 + 1) {
        uint64_t now = (uint64_t)eta(p, 3300, 700);

        cr_expect_geq(now, last, "who is further back waits longer: %llu",
                      (unsigned long long)p);
        last = now;
    }
}

Test(api_ans, an_eta_says_its_reason)
{
    static const char *const names[] = { NULL, "slower", "faster", "paused", "stopped", "stay", NULL };

    for (uint8_t i = 0; i < ARRAY_LEN(names); i++) {
        struct lane_stats s = { .waiting = 10, .rate_milli_per_s = 1000, .eta_reason = i };
        struct api_ticket t = ticket(&s);
        json_t *o;

        api_ans_reset(&ans);
        api_ticket(&ans, 200, &t, false);
        o = body();
        if (names[i] != NULL)
            cr_expect_str_eq(str(o, "eta_reason"), names[i]);
        else
            cr_expect_eq(json_object_get(o, "eta_reason"), NULL);
        json_decref(o);
    }
}

Test(api_ans, a_position_beyond_the_cap_is_capped)
{
    struct lane_stats s = { .waiting = 56789, .rate_milli_per_s = 1000 };
    struct api_ticket t = ticket(&s);
    json_t *o;

    queue.map.position_cap = 1000;
    api_ticket(&ans, 200, &t, false);
    o = body();
    cr_expect_eq(num(o, "position"), 1000);
    cr_expect_eq(num(o, "total"), 1000, "how many there are is not told either");
    cr_expect(json_is_true(json_object_get(o, "position_capped")));
    cr_expect_eq(num(o, "eta_s"), 1234, "his time is that of his place");
    json_decref(o);
    api_ans_reset(&ans);
    queue.map.position_cap = 1234;
    api_ticket(&ans, 200, &t, false);
    o = body();
    cr_expect_eq(num(o, "position"), 1234);
    cr_expect_eq(num(o, "total"), 56789);
    cr_expect_eq(json_object_get(o, "position_capped"), NULL);
    json_decref(o);
}

Test(api_ans, the_longest_ticket_is_whole)
{
    struct lane_stats s = { .waiting = UINT64_MAX, .eta_reason = ETA_STOPPED };
    struct api_ticket t = ticket(&s);
    static char name[NAME_MAX_LEN + 1];
    json_t *o;

    memset(name, 'n', NAME_MAX_LEN);
    queue.map.name = queue.map.lanes[0].name = name;
    queue.map.when.opens_ms = INT64_MIN;
    queue.map.position_cap = INT64_MAX - 1;
    t.position = INT64_MAX;
    t.poll_after_ms = t.number = UINT32_MAX;
    t.segment = t.of = UINT64_MAX;
    t.early = true;
    api_ticket(&ans, 200, &t, false);
    cr_expect_lt(ans.body.len, 540);
    o = json_loadb((const char *)ans.body.data, ans.body.len, JSON_DECODE_INT_AS_REAL, NULL);
    cr_expect_str_eq(str(o, "lane"), name);
    cr_expect_str_eq(str(o, "ticket"), "18446744073709551615-4294967295");
    json_decref(o);
}

Test(api_ans, every_end_of_a_flow_has_status_and_code)
{
    static const struct {
        enum flow_result result;
        uint8_t reason;
        int status;
        const char *code, *reason_text;
    } v[] = {
        { FLOW_GONE, GONE_EXPIRED, 410, "ticket_gone", "expired" },
        { FLOW_GONE, GONE_LEFT, 410, "ticket_gone", "left" },
        { FLOW_GONE, GONE_NO_SHOW, 410, "ticket_gone", "no_show" },
        { FLOW_GONE, GONE_FINISHED, 410, "ticket_gone", "finished" },
        { FLOW_GONE, GONE_LOST, 410, "ticket_gone", "segment_lost" },
        { FLOW_NO_QUEUE, 0, 404, "queue_not_found", NULL },
        { FLOW_CLOSED, 0, 403, "queue_closed", NULL },
        { FLOW_FULL, 0, 503, "queue_full", NULL },
        { FLOW_UNAVAIL, 0, 503, "queue_unavailable", NULL },
    };

    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        struct flow f = { .kind = FLOW_POLL,
                          .result = v[i].result,
                          .reason = v[i].reason };

        api_ans_reset(&ans);
        api_failed(&ans, &f, 1, i * 12345);
        json_t *o = body();
        cr_expect_eq(ans.status, v[i].status);
        cr_expect_str_eq(ans.type, "application/problem+json");
        cr_expect_eq(num(o, "status"), v[i].status);
        cr_expect_str_eq(str(o, "code"), v[i].code);
        cr_expect(str(o, "title")[0] && str(o, "detail")[0]);
        cr_expect_eq(strlen(str(o, "request_id")), 16);
        if (v[i].reason_text != NULL)
            cr_expect_str_eq(str(o, "reason"), v[i].reason_text);
        cr_expect_eq(strstr(api_headers(&ans), "Retry-After: ") != NULL,
                     v[i].status == 503);
        json_decref(o);
    }
}

static unsigned long told_to_wait(enum api_problem p, uint64_t salt)
{
    const char *line;

    api_ans_reset(&ans);
    api_problem(&ans, p, "d", salt);
    line = strstr(api_headers(&ans), "Retry-After: ");
    return line != NULL ? strtoul(line + strlen("Retry-After: "), NULL, 10) : 0;
}

/* A node that was killed is back in a third of a second: who is sent away for three has waited in vain. */
Test(api_ans, only_what_is_known_to_last_is_waited_for)
{
    unsigned long least = 99, most = 0, s;

    for (uint64_t salt = 0; salt < 100; salt++) {
        cr_expect_eq(told_to_wait(API_QUEUE_UNAVAILABLE, salt), 1);
        cr_expect_eq(told_to_wait(API_OUTCOME_UNKNOWN, salt), 1);
        s = told_to_wait(API_QUEUE_FULL, salt);
        cr_expect(s >= 10 && s <= 20);
        s = told_to_wait(API_OVERLOADED, salt);
        least = s < least ? s : least;
        most = s > most ? s : most;
    }
    cr_expect(least == 1 && most == 3, "they come back spread: %lu to %lu", least, most);
    for (int kind = FLOW_JOIN; kind <= FLOW_SESSION; kind++) {
        struct flow f = { .kind = (enum flow_kind)kind, .result = FLOW_UNAVAIL };

        api_ans_reset(&ans);
        api_failed(&ans, &f, 1, 7);
        json_t *o = body();
        cr_expect_eq(strstr(str(o, "detail"), "the place is kept") != NULL, kind == FLOW_POLL,
                     "who leaves may have left");
        json_decref(o);
    }
}

Test(api_ans, all_problems_are_sound)
{
#define X(name, st, text)                                                                \
    api_ans_reset(&ans);                                                                 \
    api_problem(&ans, API_##name, "d", 7);                                               \
    cr_expect_eq(ans.status, st);                                                        \
    {                                                                                    \
        json_t *o = body();                                                              \
        cr_expect_str_eq(str(o, "code"), text);                                          \
        cr_expect_str_eq(str(o, "title"), http_reason(st));                              \
        json_decref(o);                                                                  \
    }
    API_PROBLEMS(X)
#undef X
    api_ans_reset(&ans);
    api_problem(&ans, API_TOO_FAST, "d", 7);
    cr_expect(strstr(api_headers(&ans), "Retry-After: "));
    api_ans_reset(&ans);
    api_problem(&ans, API_BAD_REQUEST, "{\"a\\\": \n\x1b\xff\xc3\xa9", 7);
    json_t *quoted = body();
    cr_expect_str_eq(str(quoted, "detail"), "{\"a\\\": ?????");
    json_decref(quoted);
    api_ans_reset(&ans);
    api_bad_method(&ans, "POST", 1);
    cr_expect_str_eq(api_headers(&ans), "Allow: POST\r\n");
    api_ans_reset(&ans);
    api_bad_http(&ans, 413, 1);
    cr_expect_eq(ans.status, 413);
    json_t *o = body();
    cr_expect_str_eq(str(o, "code"), "payload_too_large");
    json_decref(o);
}

Test(api_ans, a_queue_has_its_figures_and_lanes)
{
    struct map_lane lanes[] = { { .name = "default" }, { .name = "vip" } };
    struct route_queue q = {
        .map = { .name = "login", .state = QUEUE_PAUSED, .n_lanes = 2, .lanes = lanes },
        .said = "",
    };

    q.stats.ready = 3;
    q.stats.active = 4;
    q.stats.rate_milli_per_s = 1500;
    q.stats.limited_by = "cpu";
    q.stats.lane[0] = (struct lane_stats) { .waiting = 100, .rate_milli_per_s = 1000 };
    q.stats.lane[1] = (struct lane_stats) { .waiting = 7, .rate_milli_per_s = 0 };
    api_queue(&ans, &q);
    json_t *o = body();
    cr_expect_str_eq(str(o, "queue"), "login");
    cr_expect_str_eq(str(o, "state"), "paused");
    cr_expect_eq(num(o, "waiting"), 107);
    cr_expect_eq(num(o, "ready"), 3);
    cr_expect_eq(num(o, "active"), 4);
    cr_expect_float_eq(json_real_value(json_object_get(o, "release_per_s")), 1.5, 1e-9);
    cr_expect_str_eq(str(o, "limited_by"), "cpu");
    cr_expect_eq(num(o, "eta_s"), 100);
    json_t *l = json_array_get(json_object_get(o, "lanes"), 1);
    cr_expect_str_eq(str(l, "name"), "vip");
    cr_expect_eq(num(l, "waiting"), 7);
    cr_expect(json_is_null(json_object_get(l, "eta_s")));
    cr_expect_str_eq(api_headers(&ans), "Cache-Control: public, max-age=1\r\n");
    json_decref(o);
}

/* The time of who joins now: 0 if some are let in, though no speed was measured yet. */
static void expect_eta_of_nobody(uint64_t milli_per_s, uint32_t entry, bool known)
{
    struct map_lane lane = { .name = "default" };
    struct route_queue q = { .map = { .name = "login", .n_lanes = 1, .lanes = &lane },
                             .said = "" };
    json_t *o, *eta;

    q.stats.rate_milli_per_s = milli_per_s;
    q.stats.entry = entry;
    q.stats.limited_by = "";
    api_queue(&ans, &q);
    o = body();
    eta = json_object_get(o, "eta_s");
    cr_expect(known ? json_is_integer(eta) && json_integer_value(eta) == 0
                    : json_is_null(eta));
    cr_expect(json_equal(eta, json_object_get(json_array_get(json_object_get(o, "lanes"), 0),
                                              "eta_s")));
    json_decref(o);
}

Test(api_ans, the_eta_of_an_empty_line_is_0)
{
    expect_eta_of_nobody(1500, 0, true);
}

Test(api_ans, the_eta_of_a_free_slot_is_0)
{
    expect_eta_of_nobody(0, 3, true);
}

Test(api_ans, the_eta_without_releases_is_null)
{
    expect_eta_of_nobody(0, 0, false);
}

Test(api_ans, published_keys_follow_rfc_8037)
{
    /* RFC 8037, appendix A.2 */
    static const uint8_t key[1][32] = {
        { 0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe,
          0xd3, 0xc9, 0x64, 0x07, 0x3a, 0x0e, 0xe1, 0x72, 0xf3, 0xda, 0xa6,
          0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a }
    };

    api_jwks(&ans, key, 1);
    json_t *o = body(), *k = json_array_get(json_object_get(o, "keys"), 0);
    cr_expect_str_eq(str(k, "kty"), "OKP");
    cr_expect_str_eq(str(k, "crv"), "Ed25519");
    cr_expect_str_eq(str(k, "x"), "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
    cr_expect_eq(strlen(str(k, "kid")), 11);
    json_decref(o);
    api_ans_reset(&ans);
    api_jwks(&ans, NULL, 0);
    o = body();
    cr_expect_eq(json_array_size(json_object_get(o, "keys")), 0);
    json_decref(o);
}

Test(api_ans, readiness_is_200_or_503)
{
    api_health(&ans);
    json_decref(body());
    api_ans_reset(&ans);
    api_ready(&ans, false, 0, 0, 0);
    cr_expect_eq(ans.status, 503);
    cr_expect(strstr(api_headers(&ans), "Retry-After"));
    json_decref(body());
    api_ans_reset(&ans);
    api_ready(&ans, true, 9, 1, 2);
    cr_expect_eq(ans.status, 200);
    json_decref(body());
}

/* ---- the body of a join ---- */

static bool join(struct join_body *b, const char *t)
{
    struct body_error e;
    char copy[32 + 12 * JSON_MEMBERS_MAX]; /* it is changed */
    bool good;

    strcpy(copy, t);
    good = body_join(b, (struct slice){ copy, strlen(copy) }, &e);
    cr_expect_eq(good, e.text[0] == '\0', "a refusal says why: %s", t);
    return good;
}

Test(body, valid_bodies_are_accepted)
{
    struct join_body b;

    cr_expect(join(&b, ""));
    cr_expect(b.client == CLIENT_GAME && b.subject_len == 0 && b.lane_len == 0);
    cr_expect(join(&b, "{}"));
    cr_expect(
        join(&b, " {\"client\":\"browser\",\"subject\":\"u\\u00fc\",\"lane\":\"vip\"} "));
    cr_expect_eq(b.client, CLIENT_BROWSER);
    cr_expect(b.subject_len == 3 && memcmp(b.subject, "u\xc3\xbc", 3) == 0);
    cr_expect(b.lane_len == 3 && memcmp(b.lane, "vip", 3) == 0 && b.claim_len == 0);
    cr_expect(join(&b, "{\"client\":\"mobile\",\"claim\":\"x\",\"new\":[{\"a\":[1]}]}"));
    cr_expect(b.client == CLIENT_MOBILE && b.claim_len > 0);
}

Test(body, invalid_bodies_are_refused)
{
    static const char *const v[] = {
        "{",
        "[]",
        "null",
        "1",
        "\"x\"",
        "{}x",
        "{\"client\":\"browser\",\"client\":\"game\"}",
        "{\"x\":1,\"x\":1}",
        "{\"client\":\"\"}",
        "{\"client\":1}",
        "{\"client\":null}",
        "{\"subject\":\"\"}",
        "{\"subject\":1}",
        "{\"subject\":[\"a\"]}",
        "{\"subject\":\"a\\u0000b\"}",
        "{\"subject\":\"a\\nb\"}",
        "{\"subject\":\"\\u007f\"}",
        "{\"subject\":\"\xff\"}",
        "{\"lane\":\"\"}",
        "{\"lane\":true}",
        "{\"claim\":{}}",
        "{'client':'game'}",
        "{\"client\":\"game\",}",
        " ",
    };
    struct join_body b;
    char t[400];

    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        cr_expect_not(join(&b, v[i]), "%s", v[i]);
    snprintf(t, sizeof(t), "{\"subject\":\"%0128d\"}", 1);
    cr_expect(join(&b, t));
    snprintf(t, sizeof(t), "{\"subject\":\"%0129d\"}", 1);
    cr_expect_not(join(&b, t));
}

Test(body, what_is_passed_over_is_bounded)
{
    struct join_body b;
    char t[32 + 12 * JSON_MEMBERS_MAX] = "{\"lane\":\"vip\"";
    size_t n = strlen(t);

    for (unsigned i = 0; i < JSON_MEMBERS_MAX; i++)
        n += (size_t)sprintf(t + n, ",\"x%u\":0", i);
    strcpy(t + n, "}");
    cr_expect(join(&b, t) && b.lane_len == 3);
    strcpy(t + n, ",\"y\":0}");
    cr_expect_not(join(&b, t));
}

/* A refusal names the member, and its range. */
Test(body, a_refusal_is_a_sentence)
{
    static const struct {
        const char *body, *says;
    } v[] = {
        { "{\"client\":\"x\"}", "client must be browser, mobile or game" },
        { "{\"subject\":\"\"}", "subject must be a string without control characters, of 1 to 128 bytes" },
        { "{\"lane\":1}", "lane must be a string of 1 to 64 bytes" },
        { "{\"claim\":\"\"}", "claim must be a string of 1 to 2048 bytes" },
        { "{\"x\":1,\"x\":2}", "x is there twice" },
        { "{}x", "the body must be one JSON object in UTF-8" },
    };
    struct join_body b;
    struct body_error e;

    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        char t[100];

        strcpy(t, v[i].body);
        cr_expect_not(body_join(&b, (struct slice){ t, strlen(t) }, &e));
        cr_expect_str_eq(e.text, v[i].says);
    }
}

Test(body, a_nul_is_refused)
{
    static const char *const v[] = { "{\"a\":5@}", "{\"a\":5}@", "@{}", "{\"a\":[1@,2]}",
                                     "{\"client\":\"game\"}@", "{\"client\":\"game@\"}" };
    struct join_body b;
    struct body_error e;

    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        char t[100];
        size_t n = strlen(v[i]);

        memcpy(t, v[i], n);
        *(char *)memchr(t, '@', n) = '\0';
        cr_expect_not(body_join(&b, (struct slice){ t, n }, &e), "%s", v[i]);
    }
}

static bool nested(unsigned depth)
{
    char t[200] = "{\"a\":";
    struct join_body b;

    for (unsigned i = 1; i < depth; i++)
        strcat(t, "[");
    for (unsigned i = 1; i < depth; i++)
        strcat(t, "]");
    if (depth == 1)
        strcat(t, "1");
    strcat(t, "}");
    return join(&b, t);
}

Test(body, deep_nesting_is_refused)
{
    struct join_body b;

    cr_expect(nested(1));
    cr_expect(nested(32));
    cr_expect_not(nested(33));
    cr_expect(
        join(&b, "{\"a\":\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[[\"}"));
}

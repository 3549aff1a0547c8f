/* test_places_http.c: one person in several queues, at a whole router: names that are not ours, the
 * limits of who asks too often, clients and routers that go amid a call. */
#include "tests/lib/routerrig.h"

#include "router/calls/places_call.h"

static void set_up(void)
{
    queue_binds = BIND_NONE;
    setup_all();
    w.cfg.join_groups = true;
}

TestSuite(places_http, .init = set_up, .fini = teardown, .timeout = 60);

/* Path of the group of these tickets of segment 1. */
static bool keeps; /* its rule */

static const char *group(unsigned n, const uint32_t *numbers)
{
    static char path[20 + GROUP_NAME_ROOM] = "/v1/places/";
    struct places p = { .n = (uint8_t)n, .keeps = keeps };

    for (unsigned i = 0; i < n; i++)
        p.v[i].token = (struct token){ .seg = 1, .number = numbers[i], .issued_s = 1700000000 };
    group_name_write(&p, &w.r->keys.token, path + strlen("/v1/places/"));
    return path;
}

static const uint32_t both[] = { 41, 42 };

Test(places_http, the_first_turn_is_told_and_the_other_place_given_up)
{
    static const uint32_t turn[] = { 41, N_ADMITTED };

    cr_expect_eq(call("GET", group(2, both), ""), 200, "%s", got);
    cr_expect_str_eq(str("state"), "waiting");
    cr_expect_eq(w.drops, 0);
    cr_expect_eq(call("GET", group(2, turn), ""), 200);
    cr_expect_str_eq(str("state"), "admitted");
    cr_expect_str_eq(str("pass"), "a.b.c");
    cr_expect_not_null(strstr(got, "\"reason\":\"given_up\""));
    cr_expect_eq(w.drops, 1);
    cr_expect_eq(call("DELETE", group(2, both), ""), 204);
    cr_expect_eq(w.drops, 3);
}

Test(places_http, others_are_kept_where_the_group_says_so)
{
    static const uint32_t turn[] = { 41, N_ADMITTED }, turns[] = { N_ADMITTED, N_ADMITTED, N_GONE },
                          away[] = { N_UNKNOWN, 41 };
    static const char one[] = "\"state\":\"admitted\"", pass[] = "\"pass\":\"a.b.c\",\"pass_expires_at\":1700000300}";
    const char *at;

    keeps = true;
    cr_expect_eq(call("GET", group(2, turn), ""), 200);
    cr_expect_str_eq(str("state"), "waiting", "%s", got);
    at = strstr(got, one);
    cr_expect(at != NULL && strstr(at, pass) != NULL, "its place has the pass: %s", got);
    cr_expect_eq(num("poll_after_ms"), 3000);
    cr_expect_eq(call("GET", group(3, turns), ""), 200);
    cr_expect_str_eq(str("state"), "admitted");
    at = strstr(got, pass);
    cr_expect(at != NULL && strstr(at + 1, pass) != NULL, "both are told: %s", got);
    cr_expect_not_null(strstr(got, "no_show"));
    cr_expect_eq(num("poll_after_ms"), 30000, "for its end");
    cr_expect_null(json_object_get(js, "pass"));
    cr_expect_eq(w.drops, 0);
    cr_expect_eq(call("GET", group(2, away), ""), 200, "one line that cannot be reached: %s", got);
    cr_expect_eq(call("DELETE", group(2, both), ""), 204);
    cr_expect_eq(w.drops, 2);
}

Test(places_http, the_rule_is_said_of_queues)
{
#define JSON "Content-Type: application/json\r\n"
    second_queue = true;
    send_map(0, 6, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 6);
    cr_expect_eq(call_with("POST", "/v1/places", JSON, "{\"queues\":[\"login\",\"rides\"],\"others\":\"drop\"}"), 400);
    cr_expect_eq(call_with("POST", "/v1/places", JSON, "{\"group\":\"worlds\",\"others\":\"keep\"}"), 400);
    cr_expect_eq(call_with("POST", "/v1/places", JSON, "{\"queues\":[\"login\",\"rides\"],\"others\":\"keep\"}"), 201);
    cr_expect_eq(w.appends, 2);
    keeps = false;
    second_queue = false;
}

/* Another try with that key, at another router, may have found the place: its node knows. */
Test(places_http, a_join_that_failed_gives_back_what_nobody_else_has_found)
{
    static const char both_queues[] = "{\"queues\":[\"login\",\"rides\"]}", json[] = "Content-Type: application/json\r\n";

    second_queue = true;
    send_map(0, 6, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 6);
    w.refused = 4;
    cr_expect_eq(call_with("POST", "/v1/places", json, both_queues), 503, "%s", got);
    cr_expect(w.drops == 1 && w.heir == 0, "nobody can find a place without a name");
    cr_expect_eq(call_with("POST", "/v1/places", "Content-Type: application/json\r\nIdempotency-Key: 0123456789abcdef\r\n",
                           both_queues), 503);
    cr_expect(w.drops == 2 && w.heir == DROP_UNLESS_KEPT);
    second_queue = false;
}

/* Nobody else may have it by now: the node knows. What another node told of is not counted there. */
Test(places_http, a_join_that_failed_gives_back_what_it_has_found)
{
    static const char both_queues[] = "{\"queues\":[\"login\",\"rides\"]}",
                      key[] = "Content-Type: application/json\r\nIdempotency-Key: 0123456789abcdef\r\n";

    second_queue = true;
    send_map(0, 6, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 6);
    w.refused = 4;
    w.found = w.counts = true;
    cr_expect_eq(call_with("POST", "/v1/places", key, both_queues), 503, "%s", got);
    cr_expect(w.drops == 1 && w.heir == DROP_UNLESS_KEPT);
    w.counts = false;
    cr_expect_eq(call_with("POST", "/v1/places", key, both_queues), 503, "%s", got);
    cr_expect_eq(w.drops, 1, "an older node would end it: it counts nothing");
    second_queue = false;
}

Test(places_http, all_groups_of_a_person_have_one_order)
{
    static char list[4][NAME_MAX_LEN + 1] = { "d", "c", "b", "a" };
    struct places p = { .n = 4, .step = PLACES_JOIN };

    for (unsigned i = 0; i < 4; i++)
        p.v[i].token = (struct token){ .number = i, .issued_s = i == 1 ? 8 : 9 };
    places_one_order(&p, list);
    cr_expect(p.v[0].token.number == 1, "the oldest one");
    cr_expect(p.v[1].token.number == 3 && p.v[2].token.number == 2 && p.v[3].token.number == 0);
}

Test(places_http, a_name_that_is_not_ours_is_refused)
{
    static const char odd[] = "AA.%00=";
    char path[600], good[400];
    size_t n;

    strcpy(good, group(2, both));
    n = strlen(good);
    for (size_t i = strlen("/v1/places/"); i < n; i += 7) {
        strcpy(path, good);
        path[i] = path[i] == 'A' ? 'B' : 'A';
        cr_expect_eq(call("GET", path, ""), 404, "%zu", i);
    }
    for (size_t i = 0; odd[i] != '\0'; i++) {
        snprintf(path, sizeof(path), "%s%.*s", good, (int)i + 1, odd);
        cr_expect_geq(call("GET", path, ""), 400);
    }
    snprintf(path, sizeof(path), "/v1/places/%0300d", 0);
    cr_expect_eq(call("GET", path, ""), 404);
    cr_expect_eq(call("GET", "/v1/places/", ""), 404);
    cr_expect_eq(call("GET", "/v1/places/A", ""), 404);
    cr_expect_eq(call("PUT", good, ""), 405);
    cr_expect_eq(call("GET", good, ""), 200);
}

Test(places_http, a_name_of_the_older_secret_is_ours_while_it_changes)
{
    struct token_key *k = &w.r->keys.token;
    char path[400];

    strcpy(path, group(2, both));
    memcpy(k->other_mac, k->mac, sizeof(k->mac));
    k->mac[0] ^= 1;
    cr_expect_eq(call("GET", path, ""), 404);
    k->has_other = true;
    cr_expect_eq(call("GET", path, ""), 200);
    snprintf(path, sizeof(path), "/v1/places/%s", str("group"));
    k->has_other = false;
    cr_expect_eq(call("GET", path, ""), 200, "the answer names it by the new one");
}

Test(places_http, each_place_is_a_poll_for_the_limits)
{
    limit_set(w.r->gate.limit, LIMIT_POLL, 0.001, 3);
    cr_expect_eq(call("GET", group(2, both), ""), 200);
    cr_expect_eq(call("GET", group(2, both), ""), 429, "two of three were left");
    cr_expect_eq(w.places, 2);
}

Test(places_http, one_that_is_polled_far_too_often_is_told_so)
{
    static const uint32_t slow[] = { 41, 43 };
    int status = 200;

    w.poll_ms = 20000;
    w.cfg.ticket_poll_times = 3;
    router_reload(w.r);
    for (unsigned i = 0; i < 3; i++)
        cr_expect_eq(call("GET", group(2, slow), ""), 200);
    for (unsigned i = 0; i < 3 && status == 200; i++)
        status = call("GET", group(2, slow), "");
    cr_expect_eq(status, 429);
    cr_expect_str_eq(str("code"), "too_fast");
    cr_expect_eq(call("DELETE", group(2, slow), ""), 204, "it may leave");
}

Test(places_http, a_client_goes_and_then_the_router_amid_a_call)
{
    static const uint32_t silent[] = { N_SILENT, 41 };

    say("GET", group(2, silent), "");
    UNTIL(w.places == 2);
    close(w.fd);
    dial();
    cr_expect_eq(call("GET", group(2, both), ""), 200);
    cr_expect_eq(w.r->flows.n, 2, "its asks go on, and are freed with the router");
    say("GET", group(2, silent), "");
    UNTIL(w.places >= 6);
}

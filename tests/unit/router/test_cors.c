/* test_cors.c: pages of other origins that use the API. */
#include "tests/lib/routerrig.h"

static char ours[] = "https://game.example", dev[] = "http://127.0.0.1:8000";
static char *origins[] = { ours, dev };

static void set_up(void)
{
    allow_origins = (struct cfg_list) { origins, ARRAY_LEN(origins) };
    setup_all();
}

TestSuite(cors, .init = set_up, .fini = teardown, .timeout = 60);

static bool told(const char *line)
{
    return strstr(got, line) != NULL;
}

#define FROM_GAME "Origin: https://game.example\r\n"

Test(cors, an_allowed_origin_may_read_every_answer_about_its_ticket)
{
    cr_expect_eq(call_with("GET", ticket_path(42, 1), FROM_GAME, ""), 200);
    cr_expect(told("\r\nAccess-Control-Allow-Origin: https://game.example\r\n"));
    cr_expect(told("\r\nVary: Origin\r\n"));
    cr_expect_not(told("Allow-Credentials"));
    cr_expect_str_eq(str("queue"), "login");
    cr_expect_eq(call_with("GET", "/v1/tickets/forged", FROM_GAME, ""), 404);
    cr_expect_eq(num("status"), 404);
    cr_expect(told("\r\nAccess-Control-Allow-Origin: https://game.example\r\n"),
              "also what went wrong");
    cr_expect_eq(call_with("GET", "/v1/queues/login",
                           "Origin: http://127.0.0.1:8000\r\n", ""), 200);
    cr_expect(told("\r\nAccess-Control-Allow-Origin: http://127.0.0.1:8000\r\n"));
}

Test(cors, preflight_lists_the_route_methods)
{
    const char *ask = FROM_GAME "Access-Control-Request-Method: POST\r\n"
                                "Access-Control-Request-Headers: content-type\r\n";

    cr_expect_eq(call_with("OPTIONS", "/v1/queues/login/tickets", ask, ""), 204);
    cr_expect(told("\r\nAccess-Control-Allow-Methods: POST\r\n"));
    cr_expect(told("\r\nAccess-Control-Allow-Headers: Content-Type, Idempotency-Key, Last-Event-ID, Prefer, "
                   "If-None-Match, segq-challenge, segq-verify\r\n"));
    cr_expect_eq(call_with("OPTIONS", ticket_path(42, 1), ask, ""), 204);
    cr_expect(told("\r\nAccess-Control-Allow-Methods: GET, HEAD, PUT, DELETE\r\n"));
    cr_expect_eq(call_with("OPTIONS", "/v1/queues/login/tickets", FROM_GAME, ""), 405);
}

Test(cors, other_origins_get_no_header)
{
    static const char *const others[] = {
        "", "Origin: https://evil.example\r\n", "Origin: null\r\n",
        "Origin: https://game.example.evil.example\r\n", "Origin: HTTPS://GAME.EXAMPLE\r\n",
        "Origin: https://game.example:444\r\n", FROM_GAME FROM_GAME
    };

    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        cr_expect_eq(call_with("GET", ticket_path(42, 1), others[i], ""), 200);
        cr_expect_not(told("Access-Control"), "%s", others[i]);
    }
    cr_expect_eq(call_with("OPTIONS", "/v1/queues/login/tickets",
                           "Origin: https://evil.example\r\n"
                           "Access-Control-Request-Method: POST\r\n", ""), 405);
    cr_expect_not(told("Access-Control"));
}

Test(cors, cookie_routes_are_not_opened)
{
    cr_expect_eq(call_with("GET", "/v1/verify", FROM_GAME, ""), 401);
    cr_expect_not(told("Access-Control"));
    cr_expect_eq(call_with("OPTIONS", "/q/login/leave",
                           FROM_GAME "Access-Control-Request-Method: POST\r\n", ""), 405);
    cr_expect_not(told("Access-Control"));
}

Test(cors_origin, accepts_only_browser_origins)
{
    static const char *const good[] = { "*", "https://a", "http://a.example:8080",
                                        "https://[::1]:1" };
    static const char *const bad[] = { "", "https://", "a.example", "https://a/", "null",
                                       "https://A", "ftp://a", "https://a b", "https://*" };

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        cr_expect(cors_is_origin(good[i]), "%s", good[i]);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_not(cors_is_origin(bad[i]), "%s", bad[i]);
}

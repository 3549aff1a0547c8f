/* test_site_check.c: joins that a service of the operator's lets in, at a whole router; the service answers
 * as siteverify does. */
#include "tests/lib/claimrig.h"
#include "tests/lib/routerrig.h"
#include "tests/lib/solve.h"

#include "router/links/site_asks.h"

#define JOIN "/v1/queues/login/tickets"

static struct {
    struct httpd *httpd;
    const char *says; /* body of its answers; NULL: it holds them */
    int status;
    unsigned asked;
    char body[600], key[100];
    struct httpd_req *held[2];
    unsigned n_held;
    char url[100];
} site;

static void site_answer(struct httpd_req *req)
{
    httpd_answer(req, site.status, "application/json", "", site.says, strlen(site.says));
}

static void on_ask(void *ctx, struct httpd_req *req, const struct http_req *q)
{
    struct slice key;

    (void)ctx;
    site.asked++;
    snprintf(site.body, sizeof(site.body), "%.*s", (int)q->body.n, q->body.p);
    if (http_find(q, "x-api-key", &key) > 0)
        snprintf(site.key, sizeof(site.key), "%.*s", (int)key.n, key.p);
    if (site.says != NULL)
        site_answer(req);
    else
        site.held[site.n_held++ % 2] = req;
}

static void on_ask_gone(void *ctx, struct httpd_req *req, void *user)
{
    (void)ctx;
    (void)user;
    for (unsigned i = 0; i < 2; i++)
        if (site.held[i] == req)
            site.held[i] = NULL;
}

static void set_up(void)
{
    static char *proxies[] = { (char *)"127.0.0.1" };
    static const struct httpd_calls calls = { .on_request = on_ask, .on_gone = on_ask_gone };
    struct httpd_opts o = { .addr = "127.0.0.1:0" };
    struct err e = { 0 };

    claim_secret = CLAIM_SECRET "\n";
    trusted_proxies = (struct cfg_list){ proxies, 1 };
    memset(&challenged, 0, sizeof(challenged));
    memset(&site, 0, sizeof(site));
    challenged.mode = CHALLENGE_ON;
    challenged.keys = 1024;
    challenged.verify_url = site.url;
    site.status = 200;
    site.says = "{\"success\":true,\"hostname\":\"a\"}";
    setup_all();
    cr_assert_eq(httpd_new(&site.httpd, w.ev, &o, &calls, NULL, &e), 0, "%s", e.text);
    snprintf(site.url, sizeof(site.url), "http://%s/siteverify", httpd_addr(site.httpd));
    strcpy(w.r->verify_secret.text, "a/secret of 20 bytes");
    w.r->verify_secret.n = strlen(w.r->verify_secret.text);
    send_map(5, 6, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 6);
}

static void tear_down(void)
{
    teardown();
}

TestSuite(site_check, .init = set_up, .fini = tear_down, .timeout = 60);

static void ends(void)
{
    httpd_free(site.httpd);
}

static int join(const char *lines, const char *body)
{
    char t[3000];

    snprintf(t, sizeof(t), "X-Forwarded-For: 10.0.0.1\r\n%s", lines);
    return call_with("POST", JOIN, t, body);
}

static void rule(uint32_t fallback, const char *url)
{
    uint64_t version = routes_version(w.r->routes);

    challenged.fallback = fallback;
    if (url != site.url)
        snprintf(site.url, sizeof(site.url), "%s", url);
    send_map(version, version + 1, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == version + 1);
}

Test(site_check, a_join_brings_a_token_and_the_service_is_asked_once)
{
    cr_expect_eq(join("", ""), 428, "%s", got);
    cr_expect_str_eq(str("code"), "challenge_required");
    cr_expect(json_is_true(json_object_get(js, "verify")));
    cr_expect_null(json_object_get(js, "challenge"));
    cr_expect_eq(join("segq-verify: a+token\r\n", ""), 201, "%s", got);
    cr_expect_str_eq(site.body, "secret=a%2Fsecret%20of%2020%20bytes&response=a%2Btoken");
    cr_expect_str_eq(site.key, "a/secret of 20 bytes");
    cr_expect_eq(w.last_subject[0], SUBJECT_KEY_MARK, "its place is known by the token");
    cr_expect_eq(join("segq-verify: a+token\r\n", ""), 201, "the answer got lost");
    cr_expect_eq(site.asked, 1);
    cr_expect_eq(join("segq-verify: a+token\r\n", "{\"subject\":\"bert\"}"), 403, "another person");
    cr_expect_str_eq(str("code"), "challenge_used");
    cr_expect_eq(join("segq-verify: a+token\r\n", ""), 201);
    cr_expect_eq(join("segq-verify: a+token\r\n", ""), 403, "not for ever");
    cr_expect_eq(site.asked, 1);
    cr_expect_eq(w.r->site_results[SITE_GOOD], 1);
    ends();
}

Test(site_check, whom_it_refuses_has_no_place)
{
    site.says = "{\"success\":false,\"error-codes\":[\"invalid-input-response\"]}";
    cr_expect_eq(join("segq-verify: x\r\n", "{\"subject\":\"anna\"}"), 403, "%s", got);
    cr_expect_str_eq(str("code"), "challenge_unverified");
    cr_expect_eq(w.appends, 0);
    site.says = "{\"success\":true}";
    cr_expect_eq(join("segq-verify: y\r\n", "{\"subject\":\"anna\"}"), 201);
    cr_expect_str_eq(w.last_subject, "anna");
    ends();
}

/* A wrong secret, an error page, nonsense: nobody is to be refused for that. */
Test(site_check, what_is_wrong_with_the_service_is_no_verdict_about_people)
{
    static const char *const bad[] = { "{\"success\":false,\"error-codes\":[\"invalid-input-secret\"]}", "<html>",
                                       "{\"success\":\"yes\"}", "{}" };

    rule(VERIFY_LET_IN, site.url);
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        site.says = bad[i];
        cr_expect_eq(join("segq-verify: x\r\n", ""), 201, "%s: %s", bad[i], got);
    }
    site.says = "{\"success\":true}";
    site.status = 500;
    cr_expect_eq(join("segq-verify: x\r\n", ""), 201);
    cr_expect_eq(w.r->site_results[SITE_FALLBACK], 5);
    site.says = "{\"success\":false}";
    cr_expect_eq(join("segq-verify: x\r\n", ""), 201, "%s", got);
    site.says = "{\"success\":true}";
    site.status = 400;
    cr_expect_eq(join("segq-verify: x\r\n", ""), 201, "nobody is one by an error");
    site.says = "{\"success\":false,\"error\":{\"error_code\":\"sitekey_invalid\"}}";
    cr_expect_eq(join("segq-verify: x\r\n", ""), 201, "%s", got);
    site.says = "{\"success\":false,\"error-codes\":[\"bad-request\"]}";
    cr_expect_eq(join("segq-verify: malformed\r\n", ""), 403, "whoever sends a malformed one chose the fallback");
    ends();
}

Test(site_check, each_fallback_does_what_it_says)
{
    char lines[3000], *text;

    rule(VERIFY_REFUSE, "http://127.0.0.1:1/");
    cr_expect_eq(join("segq-verify: x\r\n", ""), 503, "%s", got);
    cr_expect_str_eq(str("code"), "queue_unavailable");
    cr_expect(strstr(got, "\r\nRetry-After: 10\r\n") != NULL);
    rule(VERIFY_WORK, "http://127.0.0.1:1/");
    cr_assert_eq(join("segq-verify: x\r\n", ""), 428, "%s", got);
    text = json_dumps(json_object_get(js, "challenge"), JSON_SORT_KEYS | JSON_COMPACT);
    cr_assert(text != NULL);
    snprintf(lines, sizeof(lines), "segq-challenge: %s\r\nsegq-verify: x\r\n", challenge_solved(text));
    free(text);
    cr_expect_eq(join(lines, ""), 201, "%s", got);
    ends();
}

/* As calls are: one that is not public, and in no network of verify_allow; though it would answer. */
Test(site_check, a_private_address_is_not_asked)
{
    challenged.verify_is_foreign = true;
    rule(VERIFY_REFUSE, site.url);
    cr_expect_eq(join("segq-verify: x\r\n", ""), 503, "%s", got);
    cr_expect_eq(site.asked, 0);
    ends();
}

Test(site_check, a_claim_needs_no_token)
{
    char payload[200], body[1000];

    snprintf(payload, sizeof(payload), "{\"aud\":\"login\",\"lane\":\"vip\",\"exp\":%lld}",
             (long long)router_wall_s() + 60);
    snprintf(body, sizeof(body), "{\"claim\":\"%s\"}",
             claim_text("{\"alg\":\"HS256\",\"kid\":\"shop\"}", payload, NULL));
    cr_expect_eq(join("", body), 201, "%s", got);
    cr_expect_eq(site.asked, 0);
    ends();
}

Test(site_check, joins_of_a_suspect_without_a_token_keep_it_one)
{
    challenged.mode = CHALLENGE_OFF;
    challenged.suspects = SUSPECTS_CHALLENGE;
    rule(VERIFY_REFUSE, site.url);
    for (unsigned i = 0; i < 5; i++)
        (void)join("User-Agent: Mozilla/5.0\r\n", "");
    cr_expect_eq(join("", ""), 428, "%s", got);
    cr_expect(json_is_true(json_object_get(js, "verify")));
    cr_expect_eq(w.r->suspects_acts[SUSPECT_WORKS], 2);
    cr_expect_eq(join("segq-verify: person\r\n", ""), 201, "%s", got);
    cr_expect_eq(w.r->suspects_acts[SUSPECT_WORKS], 2);
    ends();
}

/* Tokens that it takes long to look at, by the dozen, would be an end of the service for everybody. */
Test(site_check, one_network_does_not_take_all_questions)
{
    site.says = NULL;
    for (unsigned i = 0; i < SITE_ASKS_OF_ONE; i++) {
        char line[100];

        snprintf(line, sizeof(line), "X-Forwarded-For: 10.0.0.1\r\nsegq-verify: slow%u\r\n", i);
        say_with("POST", JOIN, line, "");
    }
    UNTIL(w.r->site_results[SITE_ASKED] == SITE_ASKS_OF_ONE);
    dial();
    cr_expect_eq(call_with("POST", JOIN, "X-Forwarded-For: 10.0.0.2\r\nsegq-verify: person\r\n", ""), 429, "%s", got);
    say_with("POST", JOIN, "X-Forwarded-For: 10.0.1.1\r\nsegq-verify: person\r\n", "");
    UNTIL(w.r->site_results[SITE_ASKED] == SITE_ASKS_OF_ONE + 1);
    ends();
}

/* A service that says so twice. */
Test(site_check, a_token_that_two_bring_at_once_is_one_place)
{
    static const char line[] = "X-Forwarded-For: 10.0.0.1\r\nsegq-verify: one\r\n";

    site.says = NULL;
    say_with("POST", JOIN, line, "{\"subject\":\"anna\"}");
    UNTIL(site.held[0] != NULL);
    say_with("POST", JOIN, line, "{\"subject\":\"bert\"}");
    UNTIL(site.held[1] != NULL);
    site.says = "{\"success\":true}";
    for (unsigned i = 0; i < 2; i++)
        site_answer(site.held[i]);
    UNTIL(w.r->site_results[SITE_USED] == 1);
    cr_expect_eq(w.r->site_results[SITE_GOOD], 1);
    UNTIL(w.appends == 1);
    ends();
}

/* Polls of others are answered meanwhile; then the client goes, or the router ends. */
Test(site_check, a_service_that_is_slow_holds_up_nobody_else)
{
    static const struct linger reset = { 1, 0 };

    site.says = NULL;
    say_with("POST", JOIN, "X-Forwarded-For: 10.0.0.1\r\nsegq-verify: slow\r\n", "");
    UNTIL(site.held[0] != NULL);
    setsockopt(w.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(w.fd); /* both ways: one that closes its own still waits for the answer */
    dial();
    cr_expect_eq(call_with("GET", "/v1/queues/login", "X-Forwarded-For: 10.0.0.1\r\n", ""), 200, "%s", got);
    site.says = "{\"success\":true}";
    site_answer(site.held[0]);
    UNTIL(w.r->site_results[SITE_GOOD] == 1);
    cr_expect_eq(w.appends, 0);
    cr_expect_eq(join("segq-verify: slow\r\n", ""), 201, "it comes again: %s", got);
    cr_expect_eq(site.asked, 1, "and the service would say that it was used");
    site.says = NULL;
    say_with("POST", JOIN, "X-Forwarded-For: 10.0.0.1\r\nsegq-verify: slower\r\n", "");
    UNTIL(site.held[1] != NULL);
    ends(); /* and the router, while it asks */
}

/* ---- on the waiting page ---- */

#define LOOKS "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\nX-Forwarded-For: 10.0.0.1\r\n"
#define FORM "Sec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\nX-Forwarded-For: 10.0.0.1\r\n"
#define WIDGET "{\"check\":\"https://check.example/w.js\",\"check_key\":\"site-1\"}"

static int form(const char *verify)
{
    char body[300];

    snprintf(body, sizeof(body), "return=/x&key=0123456789abcdef0123%s%s", verify[0] != '\0' ? "&verify=" : "", verify);
    return call_with("POST", "/q/login/join", FORM, body);
}

static bool shows(const char *what)
{
    return strstr(got, what) != NULL;
}

Test(site_check, a_page_has_the_widget_and_its_token_is_a_place)
{
    w.page = WIDGET;
    rule(VERIFY_WORK, site.url);
    cr_expect_eq(call_with("GET", "/q/login?return=/x", LOOKS, ""), 200, "%s", got);
    cr_expect(shows("\"state\":\"check\""), "%s", got);
    cr_expect(shows(" src=\"https://check.example/w.js\" id=\"widget\""));
    cr_expect(shows("class=\"captcha\" data-sitekey=\"site-1\" data-callback=\"segqChecked\""));
    cr_expect(shows("; frame-src 'self' https://check.example;"));
    cr_expect(shows("; connect-src 'self' https://check.example;"));
    cr_expect(shows("name=\"door\""), "two tabs are one place");
    cr_expect_eq(form(""), 200);
    cr_expect_not(shows("name=\"door\""), "who joins anew has a ticket that is over");
    cr_expect(shows("\"state\":\"check\""), "without a token it is asked again");
    cr_expect_eq(site.asked, 0);
    cr_expect_eq(w.appends, 0);
    cr_expect_eq(form("a%2Btoken"), 303, "%s", got);
    cr_expect(shows("segq_ticket="));
    cr_expect(strstr(site.body, "response=a%2Btoken") != NULL, "%s", site.body);
    cr_expect_eq(w.appends, 1);
    cr_expect_eq(form("a%2Btoken"), 303, "pressed twice: %s", got);
    cr_expect_eq(site.asked, 1);
    ends();
}

Test(site_check, a_page_says_what_the_service_says)
{
    w.page = WIDGET;
    rule(VERIFY_REFUSE, site.url);
    site.says = "{\"success\":false}";
    cr_expect_eq(form("robot"), 200, "%s", got);
    cr_expect(shows("\"state\":\"check\""), "the widget anew");
    cr_expect_eq(w.r->site_results[SITE_REFUSED], 1);
    site.says = "<html>";
    cr_expect_eq(form("person"), 503, "%s", got);
    cr_expect(shows("\"state\":\"unavailable\""));
    rule(VERIFY_WORK, site.url);
    cr_expect_eq(form("person"), 200, "%s", got);
    cr_expect(shows("\"state\":\"work\""), "its fallback: %s", got);
    cr_expect_eq(w.appends, 0);
    rule(VERIFY_LET_IN, site.url);
    cr_expect_eq(form("person"), 303, "%s", got);
    cr_expect_eq(w.appends, 1);
    ends();
}

/* Presets have their origins; without verify_url a page works as ever. */
Test(site_check, a_page_without_a_service_works)
{
    w.page = "{\"check\":\"turnstile\",\"check_key\":\"k\"}";
    rule(VERIFY_WORK, site.url);
    cr_expect_eq(call_with("GET", "/q/login", LOOKS, ""), 200);
    cr_expect(shows("; frame-src 'self' https://challenges.cloudflare.com;"), "%s", got);
    cr_expect(shows("class=\"cf-turnstile\""));
    rule(VERIFY_WORK, "");
    cr_expect_eq(call_with("GET", "/q/login", LOOKS, ""), 200);
    cr_expect(shows("\"state\":\"work\""), "%s", got);
    cr_expect_not(shows("cloudflare"));
    ends();
}

/* A browser goes while the service is asked; and one whose router ends meanwhile. */
Test(site_check, a_page_that_is_held_may_go)
{
    static const char body[] = "return=/x&verify=slow", other[] = "return=/x&verify=slower";

    w.page = WIDGET;
    rule(VERIFY_WORK, site.url);
    site.says = NULL;
    say_with("POST", "/q/login/join", FORM, body);
    UNTIL(site.held[0] != NULL);
    close(w.fd);
    dial();
    say_with("POST", "/q/login/join", FORM, other);
    UNTIL(site.held[1] != NULL);
    ends();
}

/* test_session_http.c: POST /v1/session: who may say what of a session, and what a router
 * makes of it; and what gates tell of requests at GET /v1/verify. */
#include "tests/lib/passrig.h"


#include "common/ticket/pass.h"

static char line[4000];
static char *proxies[] = { (char *)"127.0.0.0/8" };

#define SECRET "0123456789abcdef-secret"

static void set_up(void)
{
    pass_setup();
    w.r->gate_secret.n = strlen(SECRET);
    strcpy(w.r->gate_secret.text, SECRET);
}

TestSuite(session_http, .init = set_up, .fini = teardown, .timeout = 60);
TestSuite(gate_http, .init = set_up, .fini = teardown, .timeout = 60);

static struct pass_claims claims(void)
{
    int64_t now = router_wall_s();

    return (struct pass_claims){ .iss = "segq", .aud = "login", .lane = "default",
                                 .seg = 1, .number = 5, .iat_s = now - 10,
                                 .exp_s = now + 290 };
}

static bool has(const char *header)
{
    return strstr(got, header) != NULL;
}

static int check(const char *path, const char *pass, const char *more)
{
    snprintf(line, sizeof(line), "Authorization: Bearer %s\r\n%s", pass, more);
    return call_with("GET", path, line, "");
}

static int tell(const char *pass, const char *secret, const char *body)
{
    snprintf(line, sizeof(line), "Cookie: segq_pass=%s\r\n%s%s%s", pass,
             secret != NULL ? "X-Segq-Gate-Secret: " : "", secret != NULL ? secret : "",
             secret != NULL ? "\r\n" : "");
    return call_with("POST", "/v1/session", line, body);
}

/* The map again, with what the world says of its queue. */
static void new_map(uint64_t version)
{
    send_map(version - 1, version, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == version);
}

Test(session_http, release_needs_the_pass_only_and_works_here_at_once)
{
    struct pass_claims c = claims();

    cr_assert_eq(check("/v1/verify", pass_of(&c), ""), 204);
    cr_assert_eq(tell(pass_of(&c), NULL, "{\"command\":\"release\"}"), 204);
    cr_expect_eq(w.sess.seg, 1);
    cr_expect_eq(w.sess.number, 5);
    cr_expect_eq(w.sess.command, SESS_RELEASE);
    cr_expect_eq(check("/v1/verify", pass_of(&c), ""), 403);
    cr_expect_str_eq(str("code"), "pass_revoked");
    cr_expect_eq(num("status"), 403);
    cr_expect_eq(tell(pass_of(&c), NULL, "command=release"), 204, "it was over already");
    cr_expect_eq(w.n_sess, 2, "a node was asked: it may have forgotten");
}

Test(session_http, revoke_and_extend_need_the_secret)
{
    static const char *const wrong[] = { NULL, "", "0123456789abcdef-secreT",
                                         "0123456789abcdef-secre", "0" };
    struct pass_claims c = claims();

    w.session_max_s = 3600;
    new_map(6);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        cr_expect_eq(tell(pass_of(&c), wrong[i], "command=revoke"), 401);
        cr_expect_str_eq(str("code"), "unauthorized");
        cr_expect_eq(tell(pass_of(&c), wrong[i], "command=extend"), 401);
    }
    cr_expect_eq(w.n_sess, 0, "nobody was asked");
    cr_expect_eq(tell(pass_of(&c), SECRET, "command=revoke"), 204);
    cr_expect_eq(w.sess.command, SESS_REVOKE);
    w.r->gate_secret.n = 0;
    cr_expect_eq(tell(pass_of(&c), "", "command=revoke"), 401, "none is set: nobody may");
}

Test(session_http, extend_is_bounded_and_reaches_the_old_pass)
{
    struct pass_claims c = claims();
    char expires[60];

    cr_expect_eq(tell(pass_of(&c), SECRET, "command=extend=600"), 403);
    cr_expect_str_eq(str("code"), "not_eligible");
    w.session_max_s = 3600;
    new_map(6);
    cr_assert_eq(tell(pass_of(&c), SECRET, "command=extend%3D600"), 204);
    cr_expect_eq(w.sess.command, SESS_EXTEND);
    cr_expect(w.sess.until_s >= c.iat_s + 610 && w.sess.until_s <= c.iat_s + 640);
    snprintf(expires, sizeof(expires), "\r\nX-Segq-Expires: %ld\r\n", (long)w.sess.until_s);
    cr_expect(has(expires));
    cr_assert_eq(check("/v1/verify", pass_of(&c), ""), 204);
    cr_expect(has(expires));
    cr_assert_eq(tell(pass_of(&c), SECRET, "{\"command\":\"extend\"}"), 204);
    cr_expect(w.sess.until_s >= c.iat_s + 310 && w.sess.until_s <= c.iat_s + 340,
              "another pass_ttl; the node makes nothing shorter");
    cr_assert_eq(tell(pass_of(&c), SECRET, "command=extend=99999"), 204);
    cr_expect_eq(w.sess.until_s, c.iat_s + 3600);
    w.sess_state = SESS_GONE;
    cr_expect_eq(tell(pass_of(&c), SECRET, "command=extend"), 410);
    cr_expect_str_eq(str("code"), "ticket_gone");
}

Test(session_http, an_expired_pass_is_good_in_an_extended_session)
{
    struct pass_claims c = claims();
    struct sess_req rows[1] = { { .seg = 1, .number = 5, .command = SESS_EXTEND } };
    struct msg m = { .type = MSG_SESSION };

    c.exp_s = router_wall_s() - 5;
    rows[0].until_s = c.exp_s + 300;
    cr_assert_eq(check("/v1/verify", pass_of(&c), ""), 401);
    cr_expect_eq(tell(pass_of(&c), NULL, "command=release"), 401);
    cr_assert_eq(call("GET", ticket_path(42, 1), ""), 200); /* the node has its link */
    m.session = (struct msg_session){ 1, rows };
    send_msg(w.seg_ch, &m, 0);
    UNTIL(w.r->extended.n == 1);
    cr_expect_eq(check("/v1/verify?queue=login", pass_of(&c), ""), 204);
    cr_expect_eq(tell(pass_of(&c), NULL, "command=release"), 204);
    cr_expect_eq(check("/v1/verify", pass_of(&c), ""), 403);
    cr_expect_eq(tell(pass_of(&c), SECRET, "command=extend"), 403);
}

Test(session_http, unknown_commands_are_refused)
{
    static const char *const bad[] = {
        "", "{}", "[]", "{\"command\":1}", "{\"command\":\"\"}", "{\"command\":\"Release\"}",
        "{\"command\":\"extend=\"}", "{\"command\":\"extend=0\"}", "{\"command\":\"extend=-1\"}",
        "{\"command\":\"extend=1e3\"}", "{\"command\":\"extend=99999999999\"}",
        "{\"command\":\"release\",\"command\":\"revoke\"}", "{\"command\":[[[[\"release\"]]]]}",
        "command=", "command=release&x=1", "x=1&command=release", "command=extend=1 ",
        "command=extend%3d%31", "release", "{\"command\":\"release\"",
    };
    struct pass_claims c = claims();

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cr_expect_eq(tell(pass_of(&c), SECRET, bad[i]), 400, "%s", bad[i]);
        cr_expect_str_eq(str("code"), "bad_request", "and it is JSON");
    }
    cr_expect_eq(tell("a.b.c", SECRET, "command=release"), 401);
    cr_expect_str_eq(str("code"), "pass_invalid");
    cr_expect_eq(call("GET", "/v1/session", ""), 405);
    cr_expect_eq(w.n_sess, 0);
}

/* ---- what gates tell ------------------------------------------------------------------- */

static void trust(void)
{
    cr_assert(ip_net_parse(&w.r->gate.proxies[0], proxies[0]));
    w.r->gate.n_proxies = 1;
    close(w.fd); /* whether it is trusted is asked when a connection is made */
    dial();
}

static int ask(const char *fields)
{
    return call_with("GET", "/v1/verify?queue=login", fields, "");
}

Test(gate_http, the_room_gets_the_address_to_return_to)
{
    cr_expect_eq(ask("X-Original-URI: /shop?a=1&b=/x\r\n"), 401);
    cr_expect(has("\r\nX-Segq-Location: /q/login\r\n"), "not of somebody whom we do not know");
    trust();
    cr_expect_eq(ask("X-Original-URI: /shop?a=1&b=%22\r\n"), 401);
    cr_expect(has("\r\nX-Segq-Location: /q/login?return=/shop%3Fa%3D1%26b%3D%2522\r\n"), "%s", got);
    cr_expect_eq(ask("X-Original-URI: /a\r\nX-Original-URI: /b\r\n"), 401);
    cr_expect(has("\r\nX-Segq-Location: /q/login\r\n"));
    cr_expect_eq(call_with("GET", "/v1/verify?queue=login&redirect=1",
                           "X-Original-URI: /shop\r\n", ""), 303);
    cr_expect(has("\r\nLocation: /q/login?return=/shop\r\n"));
    cr_expect_eq(call_with("GET", "/v1/verify?redirect=1", "", ""), 401, "whose page?");
}

static int ask_for_redirect(const char *fields)
{
    return call_with("GET", "/v1/verify?queue=login&redirect=1", fields, "");
}

/* Nobody reads a page in the answer to a fetch, and a redirect loses the body of a POST. */
Test(gate_http, programs_get_problem_json)
{
    static const char call[] = "X-Original-URI: /api\r\nX-Original-Method: POST\r\n"
                               "Referer: http://a/app?x=1\r\n";

    trust();
    cr_expect_eq(ask(call), 401);
    cr_expect(has("\r\nX-Segq-Visit: call\r\n"), "%s", got);
    cr_expect(has("\r\nX-Segq-Location: /q/login?return=/app%3Fx%3D1\r\n"), "%s", got);
    cr_expect(has("\r\nRetry-After: "));
    cr_expect_str_eq(str("location"), "/q/login?return=/app%3Fx%3D1");
    cr_expect_eq(ask_for_redirect(call), 401, "it is not sent anywhere");
    cr_expect_str_eq(str("location"), "/q/login?return=/app%3Fx%3D1");
    cr_expect(has("\r\nX-Segq-Location: "));
    cr_expect_eq(ask_for_redirect("X-Original-URI: /a\r\nX-Original-Method: GET\r\n"
                                  "Accept: application/json\r\n"), 401);
    cr_expect_str_eq(str("location"), "/q/login");
    cr_expect_eq(ask_for_redirect("Sec-Fetch-Mode: cors\r\n"), 401);
    cr_expect_eq(ask("X-Original-URI: /a\r\nX-Original-Method: GET\r\nAccept: text/html\r\n"), 401);
    cr_expect(has("\r\nX-Segq-Visit: page\r\n"));
    cr_expect_str_eq(str("location"), "/q/login?return=/a");
    cr_expect_eq(ask("X-Original-URI: /a\r\n"), 401);
    cr_expect(has("\r\nX-Segq-Visit: page\r\n"), "a gate of an older release");
}

Test(gate_http, a_form_goes_to_the_room_and_back_to_its_page)
{
    static const char form[] = "X-Original-URI: /buy\r\nX-Original-Method: POST\r\n"
                               "Sec-Fetch-Mode: navigate\r\nReferer: http://a/cart\r\n";

    trust();
    cr_expect_eq(ask_for_redirect(form), 303);
    cr_expect(has("\r\nLocation: /q/login?return=/cart\r\n"), "%s", got);
    cr_expect_eq(ask(form), 401);
    cr_expect(has("\r\nX-Segq-Visit: form\r\n"));
    w.cfg.gate_uri_header = URI_FORWARDED; /* Traefik's Host is our own */
    cr_expect_eq(ask_for_redirect("X-Forwarded-Method: POST\r\nX-Forwarded-Host: a.example\r\n"
                                  "Sec-Fetch-Mode: navigate\r\nReferer: https://a.example/x\r\n"),
                 303);
    cr_expect(has("\r\nLocation: /q/login?return=/x\r\n"), "%s", got);
    cr_expect_eq(ask_for_redirect("X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /shop\r\n"), 303,
                 "it tells the method, but handed on nothing else");
    cr_expect(has("\r\nLocation: /q/login?return=/shop\r\n"));
}

Test(gate_http, bypass_uses_the_address_named_by_the_proxy)
{
    static const char office[] = "X-Forwarded-For: 10.1.2.3\r\n";

    w.gate = "{\"bypass\":{\"addresses\":[\"10.1.0.0/16\"],\"paths\":[\"/static\"],"
             "\"subjects\":[\"anna\"]}}";
    new_map(6);
    cr_expect_eq(ask("X-Original-URI: /static/x\r\n"), 401, "anybody can write that");
    cr_expect_eq(ask(office), 401);
    trust();
    cr_expect_eq(ask("X-Original-URI: /static/x\r\n"), 204);
    cr_expect(has("\r\nX-Segq-Bypass: path\r\n"));
    cr_expect(has("\r\nX-Segq-Queue: login\r\n"));
    cr_expect_not(has("X-Segq-Ticket"));
    cr_expect_eq(ask("X-Original-URI: /static/../x\r\n"), 401);
    cr_expect_eq(ask(office), 204);
    cr_expect(has("\r\nX-Segq-Bypass: address\r\n"));
    cr_expect_eq(ask("X-Forwarded-For: 10.1.2.3, 10.2.0.1\r\n"), 401, "the last one counts");
    cr_expect_eq(ask("X-Original-Subject: anna\r\n"), 401, "nobody said that it is set");
    strcpy(w.r->gate_subject, "x-original-subject");
    cr_expect_eq(ask("X-Original-Subject: anna\r\n"), 204);
    cr_expect(has("\r\nX-Segq-Bypass: subject\r\n"));
    w.cfg.gate_uri_header = URI_FORWARDED;
    cr_expect_eq(ask("X-Original-URI: /static/x\r\n"), 401);
    cr_expect_eq(ask("X-Forwarded-Uri: /static/x\r\n"), 204);
    cr_expect_eq(call_with("GET", "/v1/verify", office, ""), 401, "of which queue?");
    cr_expect_eq(call_with("GET", "/v1/verify?queue=other", office, ""), 401);
    cr_expect_eq(w.r->counts.bypassed[BYPASS_PATH], 2);
    cr_expect_eq(w.r->counts.bypassed[BYPASS_ADDRESS], 1);
}

/* Who has a pass is told so: the backend knows whom it has. */
Test(gate_http, a_good_pass_comes_before_the_rules)
{
    struct pass_claims c = claims();

    w.gate = "{\"rollout\":0}";
    new_map(6);
    trust();
    cr_expect_eq(check("/v1/verify?queue=login", pass_of(&c),
                        "X-Forwarded-For: 192.0.2.1\r\n"), 204);
    cr_expect(has("\r\nX-Segq-Ticket: 1-5\r\n"));
    cr_expect_not(has("X-Segq-Bypass"));
    cr_expect_eq(ask("X-Forwarded-For: 192.0.2.1\r\n"), 204);
    cr_expect(has("\r\nX-Segq-Bypass: rollout\r\n"));
    w.gate = "{\"nonsense\":";
    new_map(7);
    cr_expect_eq(ask("X-Forwarded-For: 192.0.2.1\r\n"), 401);
}

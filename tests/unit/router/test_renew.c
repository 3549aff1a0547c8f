/* test_renew.c: passes that are renewed while a gate asks about them: when, by whom, how often,
 * and what happens if it does not come off. The rig's node answers with w.renewed. */
#include "tests/lib/passrig.h"


#include "common/ticket/pass.h"
#include "router/calls/session.h"

#define IDLE_S 300
#define MAX_S  3600

static char line[4000];
static char *proxies[] = { (char *)"127.0.0.0/8" };

static void set_up(void)
{
    pass_setup();
    w.session_max_s = MAX_S;
    w.session_idle_s = IDLE_S;
    w.renewed = "new.pass.text";
    send_map(5, 6, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 6);
    cr_assert_eq(call("GET", ticket_path(42, 1), ""), 200); /* the node has its link */
}

TestSuite(renew, .init = set_up, .fini = teardown, .timeout = 60);

/* Of a pass that was released `ago` seconds ago and lives for `left` more. */
static const char *pass_aged(int64_t ago, int64_t left)
{
    int64_t now = router_wall_s();
    struct pass_claims c = { .iss = "segq", .aud = "login", .lane = "default", .seg = 1,
                             .number = 5, .iat_s = now - ago, .exp_s = now + left };

    return pass_of(&c);
}

static int by_cookie(const char *pass)
{
    snprintf(line, sizeof(line), "Cookie: a=b; segq_pass=%s\r\n", pass);
    return call_with("GET", "/v1/verify?queue=login", line, "");
}

static int by_bearer(const char *pass)
{
    snprintf(line, sizeof(line), "Authorization: Bearer %s\r\n", pass);
    return call_with("GET", "/v1/verify?queue=login", line, "");
}

static bool has(const char *header)
{
    return strstr(got, header) != NULL;
}

static int64_t expires(void)
{
    const char *at = strstr(got, "\r\nX-Segq-Expires: ");

    return at != NULL ? atoll(at + strlen("\r\nX-Segq-Expires: ")) : 0;
}

static int64_t max_age(void)
{
    const char *at = strstr(got, "; Max-Age=");

    return at != NULL ? atoll(at + strlen("; Max-Age=")) : -1;
}

Test(renew_rule, renews_when_a_third_of_the_idle_time_is_gone)
{
    cr_expect_eq(renew_until_s(1000, 1300, 300, 3600, 1000), 0, "just released");
    cr_expect_eq(renew_until_s(1000, 1300, 300, 3600, 1100), 0);
    cr_expect_eq(renew_until_s(1000, 1300, 300, 3600, 1101), 1401);
    cr_expect_eq(renew_until_s(1000, 1300, 300, 3600, 1299), 1599);
    cr_expect_eq(renew_until_s(1000, 1300, 300, 3600, 1400), 1700, "it was extended elsewhere");
    cr_expect_eq(renew_until_s(1000, 1300, 1200, 3600, 1000), 2200, "longer than a pass");
    cr_expect_eq(renew_until_s(1000, 1300, 30, 3600, 1200), 0, "shorter than a pass");
    cr_expect_eq(renew_until_s(1000, 1300, 0, 3600, 1299), 0, "not renewed here");
}

Test(renew_rule, never_renews_beyond_session_max)
{
    cr_expect_eq(renew_until_s(1000, 4500, 300, 3600, 4400), 4600);
    cr_expect_eq(renew_until_s(1000, 4600, 300, 3600, 4590), 0, "it has all there is");
    cr_expect_eq(renew_until_s(1000, 1300, 300, 200, 1290), 0, "session_max was lowered");
}

Test(renew, a_cookie_is_renewed_for_the_browser)
{
    int64_t now = router_wall_s();

    w.cfg.replica_fresh = 250;
    cr_assert_eq(by_cookie(pass_aged(150, 150)), 204);
    cr_expect_not(has("X-Segq-Keep"), "the next request must not get this one's cookie");
    cr_expect_eq(w.sess.seg, 1);
    cr_expect_eq(w.sess.number, 5);
    cr_expect_eq(w.sess.command, SESS_EXTEND);
    cr_expect_eq(w.sess.renews, 1);
    cr_expect(w.sess.until_s >= now + IDLE_S && w.sess.until_s <= now + IDLE_S + 30);
    cr_expect(has("\r\nSet-Cookie: segq_pass=new.pass.text; Max-Age="));
    cr_expect(has("; Path=/; HttpOnly; SameSite=Lax\r\n"));
    cr_expect_not(has("X-Segq-Pass"));
    cr_expect(max_age() > MAX_S - 200 && max_age() <= MAX_S - 150, "as long as it may slide");
    cr_expect_eq(expires(), w.sess.until_s);
    cr_expect(has("\r\nX-Segq-Ticket: 1-5\r\n"));
    cr_expect_eq(w.r->counts.renewed, 1);
    cr_expect_eq(w.r->counts.verified, 1);
}

Test(renew, the_cookie_is_for_https_where_the_visitor_is)
{
    const char *pass = pass_aged(150, 150);

    cr_assert(ip_net_parse(&w.r->gate.proxies[0], proxies[0]));
    w.r->gate.n_proxies = 1;
    close(w.fd);
    dial();
    snprintf(line, sizeof(line), "Cookie: segq_pass=%s\r\nX-Forwarded-Proto: https\r\n", pass);
    cr_assert_eq(call_with("GET", "/v1/verify?queue=login", line, ""), 204);
    cr_expect(has("; SameSite=Lax; Secure\r\n"));
}

Test(renew, bearers_get_a_header)
{
    cr_assert_eq(by_bearer(pass_aged(150, 150)), 204);
    cr_expect(has("\r\nX-Segq-Pass: new.pass.text\r\n"));
    cr_expect_not(has("Set-Cookie"));
}

Test(renew, a_young_pass_costs_nothing)
{
    cr_assert_eq(by_cookie(pass_aged(20, 280)), 204);
    cr_expect_not(has("Set-Cookie"));
    cr_expect_eq(w.n_sess, 0);
}

/* A gate that does not hand it on, a client that does not take it over. */
Test(renew, the_old_pass_costs_one_renewal_a_third_of_the_idle_time)
{
    const char *pass = pass_aged(150, 150);

    for (int i = 0; i < 5; i++)
        cr_expect_eq(by_cookie(pass), 204);
    cr_expect_eq(w.n_sess, 1);
    cr_expect_not(has("Set-Cookie"));
    cr_expect_eq(expires(), w.sess.until_s, "its session is longer all the same");
}

Test(renew, an_expired_pass_in_an_extended_session_is_renewed)
{
    struct sess_req row = { .seg = 1, .number = 5, .command = SESS_EXTEND,
                            .until_s = router_wall_s() + 60 };
    struct msg m = { .type = MSG_SESSION, .session = { 1, &row } };
    const char *pass = pass_aged(310, -10);

    cr_expect_eq(by_cookie(pass), 401);
    send_msg(w.seg_ch, &m, 0);
    UNTIL(w.r->extended.n == 1);
    cr_expect_eq(by_cookie(pass), 204);
    cr_expect(has("Set-Cookie: segq_pass=new.pass.text"));
    for (int i = 0; i < 3; i++)
        cr_expect_eq(by_cookie(pass), 204);
    cr_expect_eq(w.r->counts.pass_checks, 2, "its signature was looked at before, and once now");
}

Test(renew, a_renewal_ends_at_session_max)
{
    const char *pass = pass_aged(MAX_S - 50, 20);

    cr_assert_eq(by_cookie(pass), 204);
    cr_expect_eq(w.sess.until_s - router_wall_s(), 50);
    cr_expect_eq(by_cookie(pass_aged(MAX_S - 20, 20)), 204);
    cr_expect_eq(w.n_sess, 1, "it has all there is");
}

Test(renew, renew_off_renews_nothing)
{
    w.session_idle_s = 0;
    send_map(6, 7, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 7);
    cr_expect_eq(by_cookie(pass_aged(150, 150)), 204);
    cr_expect_eq(w.n_sess, 0);
}

Test(renew, a_refused_pass_is_not_renewed)
{
    struct pass_row row = { .seg = 1, .number = 5, .until_s = router_wall_s() + 900 };
    struct msg m = { .type = MSG_PASSES, .passes = { 1, &row } };

    cr_expect_eq(by_cookie(pass_aged(400, -1)), 401);
    send_msg(w.seg_ch, &m, 0);
    UNTIL(w.r->revoked.n == 1);
    cr_expect_eq(by_cookie(pass_aged(150, 150)), 403);
    cr_expect_eq(w.n_sess, 0);
}

Test(renew, a_silent_node_delays_one_request_only)
{
    const char *pass = pass_aged(150, 150);
    int64_t from = now_ms();

    w.sess_silent = true;
    cr_assert_eq(by_cookie(pass), 204);
    cr_expect_not(has("Set-Cookie"));
    cr_expect_eq(w.r->counts.renew_late, 1);
    cr_expect_lt(now_ms() - from, 20000);
    cr_expect_eq(by_cookie(pass), 204);
    cr_expect_eq(w.n_sess, 1, "the next request does not wait");
    cr_expect_eq(w.r->counts.unavailable, 0);
    w.sess_silent = false;
    UNTIL(ev_now(w.ev) > from + FLOW_RENEW_MS + RENEW_PAUSE_MS);
    cr_expect_eq(by_cookie(pass), 204);
    cr_expect_eq(w.n_sess, 2, "later it is tried again");
    cr_expect(has("Set-Cookie"));
}

Test(renew, an_unreachable_node_costs_no_time)
{
    static const uint8_t states[] = { SESS_BUSY, SESS_MOVED, SESS_UNKNOWN, SESS_GONE };
    int64_t late;

    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        w.sess_state = states[i];
        cr_expect_eq(by_cookie(pass_aged(150 + (int64_t)i, 150)), 204, "%zu", i);
        cr_expect_not(has("Set-Cookie"));
    }
    rpc_free(w.seg);
    w.seg = NULL;
    cr_assert_eq(call("GET", ticket_path(42, 1), ""), 503);
    late = (int64_t)w.r->counts.renew_late;
    cr_expect_eq(by_cookie(pass_aged(170, 150)), 204);
    cr_expect_eq((int64_t)w.r->counts.renew_late, late, "nobody waited");
    cr_expect_eq(w.r->counts.renew_failed, 5);
    cr_expect_eq(w.r->counts.verify_refused, 0);
}

/* It knows how to extend, but makes no pass. */
Test(renew, a_node_of_an_older_release_keeps_the_visitor_inside_all_the_same)
{
    w.renewed = NULL;
    cr_assert_eq(by_cookie(pass_aged(150, 150)), 204);
    cr_expect_not(has("Set-Cookie"));
    cr_expect_eq(expires(), w.sess.until_s);
}

Test(renew, the_client_disconnects_during_renewal)
{
    snprintf(line, sizeof(line), "Cookie: segq_pass=%s\r\n", pass_aged(150, 150));
    w.sess_silent = true;
    n_got = 0;
    say_with("GET", "/v1/verify?queue=login", line, "");
    UNTIL(w.n_sess == 1);
    close(w.fd);
    UNTIL(w.r->counts.renew_late == 1);
    dial();
    cr_expect_eq(call("GET", ticket_path(42, 1), ""), 200);
}

/* test_verify.c: GET /v1/verify: who is let in by a router that asks nobody. */
#include "tests/lib/passrig.h"


#include "common/ticket/pass.h"

static char line[7000];

TestSuite(verify, .init = pass_setup, .fini = teardown, .timeout = 60);

static struct pass_claims claims(void)
{
    int64_t now = router_wall_s();

    return (struct pass_claims){ .iss = "segq", .aud = "login", .lane = "default",
                                 .seg = 17, .number = 5, .iat_s = now,
                                 .exp_s = now + 300 };
}

/* With a header line; its status. */
static int ask(const char *path, const char *fmt, const char *pass)
{
    snprintf(line, sizeof(line), fmt, pass);
    return call_with("GET", path, line, "");
}

#define BEARER "Authorization: Bearer %s\r\n"
#define COOKIE "Cookie: a=b; segq_pass=%s; c=d\r\n"

static bool has(const char *header)
{
    return strstr(got, header) != NULL;
}

Test(verify, a_good_pass_is_accepted_with_its_headers)
{
    struct pass_claims c = claims();
    char expires[60];

    c.sub = "J\303\266rg %\r\n";
    c.sub_len = strlen(c.sub);
    snprintf(expires, sizeof(expires), "\r\nX-Segq-Expires: %ld\r\n", (long)c.exp_s);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(ask("/v1/verify", BEARER, pass_of(&c)), 204);
        cr_expect(has("\r\nX-Segq-Queue: login\r\n"));
        cr_expect(has("\r\nX-Segq-Ticket: 17-5\r\n"));
        cr_expect(has("\r\nX-Segq-Subject: J%C3%B6rg%20%25%0D%0A\r\n"), "%s", got);
        cr_expect(has("\r\nX-Segq-Lane: default\r\n"));
        cr_expect(has(expires));
        cr_expect(has("\r\nCache-Control: no-store\r\n"));
    }
    cr_expect_eq(w.r->counts.pass_checks, 1, "the signature is looked at once");
    cr_expect_eq(ask("/v1/verify?queue=login", COOKIE, pass_of(&c)), 204);
    cr_expect_eq(ask("/v1/verify?x=1&queue=login", COOKIE, pass_of(&c)), 204);
    cr_expect_eq(w.places, 0, "no node was asked");
}

/* A gate may give a good verdict by itself for replica_fresh, and no other. */
Test(verify, only_a_good_pass_may_be_kept_and_not_in_its_last_second)
{
    struct pass_claims c = claims();

    cr_expect_eq(ask("/v1/verify?queue=login", COOKIE, pass_of(&c)), 204);
    cr_expect_not(has("X-Segq-Keep"), "replica_fresh is 0");
    w.cfg.replica_fresh = 250;
    cr_expect_eq(ask("/v1/verify?queue=login", COOKIE, pass_of(&c)), 204);
    cr_expect(has("\r\nX-Segq-Keep: 250\r\n"), "%s", got);
    cr_expect_eq(ask("/v1/verify?queue=sale", COOKIE, pass_of(&c)), 403);
    cr_expect_not(has("X-Segq-Keep"));
    c.seg = 1;
    cr_expect_eq(ask("/v1/verify?queue=login&use=once", COOKIE, pass_of(&c)), 204);
    cr_expect_not(has("X-Segq-Keep"), "it is good once");
    c.exp_s = router_wall_s() + 1;
    cr_expect_eq(ask("/v1/verify?queue=login", COOKIE, pass_of(&c)), 204);
    cr_expect_not(has("X-Segq-Keep"));
}

/* An application may use Authorization for itself. */
Test(verify, the_cookie_counts_if_the_bearer_is_foreign)
{
    struct pass_claims c = claims();
    char two[2500];

    snprintf(two, sizeof(two), "Authorization: Bearer abc.def.ghi\r\n" COOKIE, pass_of(&c));
    cr_expect_eq(ask("/v1/verify", "%s", two), 204);
}

/* Cookies of one name: of another path, of a domain above, of an older visit. */
Test(verify, the_good_one_of_several_passes_counts)
{
    struct pass_claims c = claims(), over = claims(), other = claims();
    char good[1500], old[1500], sale[1500], two[6000];

    over.exp_s = router_wall_s() - 1;
    over.number = 6;
    other.aud = "sale";
    other.number = 7;
    snprintf(good, sizeof(good), "%s", pass_of(&c));
    snprintf(old, sizeof(old), "%s", pass_of(&over));
    snprintf(sale, sizeof(sale), "%s", pass_of(&other));
    snprintf(two, sizeof(two), "segq_pass=bad; segq_pass=%s", good);
    cr_expect_eq(ask("/v1/verify?queue=login", "Cookie: %s\r\n", two), 204);
    snprintf(two, sizeof(two), "segq_pass=%s; segq_pass=%s\r\nCookie: segq_pass=%s", old, sale,
             good);
    cr_expect_eq(ask("/v1/verify?queue=login", "Cookie: %s\r\n", two), 204, "of two lines");
    cr_expect(has("\r\nX-Segq-Ticket: 17-5\r\n"));
    cr_expect_eq(ask("/v1/verify?queue=sale", "Cookie: %s\r\n", two), 204);
    cr_expect(has("\r\nX-Segq-Ticket: 17-7\r\n"));
    snprintf(two, sizeof(two), "segq_pass=%s; segq_pass=%s", old, sale);
    cr_expect_eq(ask("/v1/verify?queue=login", "Cookie: %s\r\n", two), 401);
    cr_expect(strstr(got, "not valid at this time") != NULL, "the first one is spoken of");
    snprintf(two, sizeof(two), "segq_pass=a; segq_pass=b; segq_pass=c; segq_pass=d; segq_pass=%s",
             good);
    cr_expect_eq(ask("/v1/verify?queue=login", "Cookie: %s\r\n", two), 401,
                 "no request costs more than four signatures");
}

Test(verify, a_bad_or_missing_pass_is_401)
{
    struct pass_claims c = claims();
    char bad[1500];

    cr_expect_eq(call("GET", "/v1/verify", ""), 401);
    cr_expect_str_eq(str("code"), "pass_invalid");
    cr_expect_eq(num("status"), 401);
    cr_expect(has("\r\nWWW-Authenticate: Bearer"));
    cr_expect_not(has("X-Segq-Location"));
    cr_expect_eq(call("GET", "/v1/verify?queue=login", ""), 401);
    cr_expect(has("\r\nX-Segq-Location: /q/login\r\n"));
    cr_expect_eq(call("GET", "/v1/verify?queue=%0d%0aX:", ""), 401);
    cr_expect_not(has("X-Segq-Location"));
    strcpy(bad, pass_of(&c));
    bad[strlen(bad) - 10] ^= 1;
    cr_expect_eq(ask("/v1/verify", BEARER, bad), 401);
    cr_expect_eq(ask("/v1/verify", "Authorization: Basic %s\r\n", pass_of(&c)), 401);
    cr_expect_eq(ask("/v1/verify", "Cookie: xsegq_pass=%s\r\n", pass_of(&c)), 401);
    cr_expect_eq(ask("/v1/verify", "X-Segq-Queue: login\r\nX-Segq-Ticket: %s\r\n", "1-1"),
                 401);
    c.exp_s = router_wall_s() - 1;
    cr_expect_eq(ask("/v1/verify", BEARER, pass_of(&c)), 401);
    cr_expect(has("\r\nX-Segq-Location: /q/login\r\n"));
    c = claims();
    c.iat_s += 3600; /* not yet */
    c.exp_s += 3600;
    cr_expect_eq(ask("/v1/verify", BEARER, pass_of(&c)), 401);
    c = claims();
    c.iat_s += 20; /* clocks differ */
    cr_expect_eq(ask("/v1/verify", BEARER, pass_of(&c)), 204);
    cr_expect_eq(call("POST", "/v1/verify", ""), 405);
}

static void tell_stats(void)
{
    uint64_t n = w.r->counts.stats;

    send_stats();
    UNTIL(w.r->counts.stats > n);
}

/* The manager's clock is a day ahead, then right; ours is right. */
Test(verify, passes_use_the_issuing_clock)
{
    struct pass_claims early = claims(), late, over;
    int64_t now = early.iat_s, day = 86400;

    late = over = early;
    late.iat_s += day;
    late.exp_s += day;
    over.iat_s -= 301;
    over.exp_s -= 301;
    cr_expect_eq(ask("/v1/verify", BEARER, pass_of(&late)), 401);
    w.clock_ms = (now + day) * 1000;
    tell_stats();
    cr_expect_eq(ask("/v1/verify", BEARER, pass_of(&late)), 204);
    cr_expect_eq(ask("/v1/verify", BEARER, pass_of(&early)), 204);
    w.clock_ms = now * 1000;
    tell_stats();
    cr_expect_eq(ask("/v1/verify", BEARER, pass_of(&late)), 204);
    cr_expect_eq(ask("/v1/verify", BEARER, pass_of(&early)), 204);
    cr_expect_eq(ask("/v1/verify", BEARER, pass_of(&over)), 401);
}

Test(verify, another_queues_pass_is_403)
{
    struct pass_claims c = claims();

    cr_expect_eq(ask("/v1/verify?queue=sale", BEARER, pass_of(&c)), 403);
    cr_expect(has("\r\nX-Segq-Location: /q/sale\r\n"));
    cr_expect_str_eq(str("code"), "not_eligible");
}

Test(verify, a_revoked_pass_is_403)
{
    struct pass_claims c = claims();
    struct pass_row rows[2] = { { .seg = 17, .number = 6, .until_s = c.exp_s },
                                { .seg = 17, .number = 5, .until_s = c.exp_s } };
    struct msg m = { .type = MSG_PASSES };

    cr_assert_eq(call("GET", ticket_path(42, 1), ""), 200); /* the node has its link */
    m.passes = (struct msg_passes){ 1, rows };
    send_msg(w.seg_ch, &m, 0);
    UNTIL(w.r->revoked.n == 1);
    cr_expect_eq(ask("/v1/verify", BEARER, pass_of(&c)), 204);
    m.passes.rows = rows + 1;
    send_msg(w.seg_ch, &m, 0);
    UNTIL(w.r->revoked.n == 2);
    cr_expect_eq(ask("/v1/verify", BEARER, pass_of(&c)), 403);
    cr_expect_str_eq(str("code"), "pass_revoked");
}

Test(verify, passthrough_lets_everybody_by)
{
    struct pass_claims c = claims();

    w.cfg.replica_fresh = 250;
    w.when = (struct map_phase){ .phase = PHASE_PASSTHROUGH };
    send_map(5, 6, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 6);
    cr_expect_eq(call("GET", "/v1/verify?queue=login", ""), 204);
    cr_expect(has("\r\nX-Segq-Bypass: passthrough\r\n"));
    cr_expect_not(has("X-Segq-Keep"));
    cr_expect(has("\r\nX-Segq-Queue: login\r\n"));
    cr_expect_eq(ask("/v1/verify?queue=login", BEARER, "no.good.pass"), 204);
    cr_expect(has("X-Segq-Bypass"));
    cr_expect_eq(ask("/v1/verify?queue=login", BEARER, pass_of(&c)), 204);
    cr_expect(has("\r\nX-Segq-Ticket: 17-5\r\n"), "a good pass says whose it is");
    cr_expect_not(has("X-Segq-Bypass"));
    cr_expect_eq(call("GET", "/v1/verify", ""), 401, "of which queue?");
    cr_expect_eq(call("GET", "/v1/verify?queue=sale", ""), 401);
    w.when = (struct map_phase){ .phase = PHASE_REJECT };
    send_map(6, 7, QUEUE_CLOSED, false);
    UNTIL(routes_version(w.r->routes) == 7);
    cr_expect_eq(call("GET", "/v1/verify?queue=login", ""), 401);
    cr_expect_eq(ask("/v1/verify?queue=login", BEARER, pass_of(&c)), 204, "who is inside stays");
}

Test(verify, a_withdrawn_key_verifies_nothing)
{
    static const uint8_t other[1][32] = { { 9, 9 } };
    struct pass_claims c = claims();

    cr_expect_eq(ask("/v1/verify", BEARER, pass_of(&c)), 204);
    map_keys = other;
    send_map(5, 6, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 6);
    cr_expect_eq(ask("/v1/verify", BEARER, pass_of(&c)), 401);
}

/* ---- rules of the router's file ---------------------------------------------------------- */

static void gate_setup(void)
{
    static char *proxies[] = { (char *)"127.0.0.1" };

    trusted_proxies = (struct cfg_list){ proxies, 1 };
    pass_setup();
}

TestSuite(verify_rules, .init = gate_setup, .fini = teardown, .timeout = 60);

#define T(s)    ((char *)(uintptr_t)(s))
#define NOTHING                                                                                     \
    .host = T(""), .path = T(""), .method = T(""), .header = T(""), .value = T(""), .cookie = T(""), \
    .address = T(""), .address_file = T(""), .country = T(""), .crawler = T("")

static void with_rules(void)
{
    static struct gate_rule v[] = { { NOTHING, .queue = T("") }, { NOTHING, .queue = T("sale") },
                                        { NOTHING, .queue = T("nosuch") } };
    struct err e = { 0 };

    v[0].path = T("/static");
    v[1].path = T("/sale");
    v[2].path = T("/typo");
    w.cfg.replica_fresh = 250;
    cr_assert_eq(gate_rules_load(&w.r->gate_rules, v, ARRAY_LEN(v), "", &e), 0, "%s", e.text);
}

static int ask_for(const char *path, const char *uri, const char *pass)
{
    snprintf(line, sizeof(line), "X-Original-URI: %s\r\nX-Forwarded-For: 192.0.2.1\r\n" BEARER, uri, pass);
    return call_with("GET", path, line, "");
}

Test(verify_rules, the_room_is_that_of_the_rule_and_the_gates_queue_where_none_decides)
{
    struct pass_claims c = claims();

    with_rules();
    cr_expect_eq(ask_for("/v1/verify?queue=login", "/static/a.css", "none"), 204);
    cr_expect(has("\r\nX-Segq-Bypass: rule\r\n") && !has("X-Segq-Queue"), "%s", got);
    cr_expect_eq(w.r->counts.bypassed[BYPASS_RULE], 1);
    cr_expect_eq(ask_for("/v1/verify?queue=sale", "/Sale/7", "none"), 401);
    cr_expect(has("X-Segq-Location: /q/sale?"), "%s", got);
    cr_expect_eq(ask_for("/v1/verify?queue=login", "//sale/7", pass_of(&c)), 401, "by login's pass it would be another room's page");
    cr_expect(!has("X-Segq-Location") && strstr(got, "two rooms") != NULL, "%s", got);
    cr_expect_eq(ask_for("/v1/verify?queue=login", "/about%20us", pass_of(&c)), 204);
    cr_expect_eq(ask_for("/v1/verify?queue=login", "/sale/7", pass_of(&c)), 403, "it is login's");
    cr_expect_eq(ask_for("/v1/verify?queue=login", "/about", pass_of(&c)), 204);
    cr_expect_not(has("X-Segq-Keep"), "the gate would let this pass by at /sale, too");
    c.aud = "sale";
    cr_expect_eq(ask_for("/v1/verify?queue=login", "/sale/7", pass_of(&c)), 204);
    cr_expect(has("\r\nX-Segq-Queue: sale\r\n"));
    cr_expect_eq(ask_for("/v1/verify?queue=login", "/typo", pass_of(&c)), 403, "closed");
}

Test(verify_rules, what_decides_is_explained_to_who_knows_the_secret_and_nothing_is_done)
{
    struct pass_claims c = claims();

    with_rules();
    snprintf(w.r->gate_secret.text, sizeof(w.r->gate_secret.text), "%s", "0123456789abcdef");
    w.r->gate_secret.n = 16;
    cr_expect_eq(ask_for("/v1/verify?queue=login&explain=1", "/sale/7", pass_of(&c)), 401, "no secret");
#define SECRET "X-Segq-Gate-Secret: 0123456789abcdef\r\n"
    snprintf(line, sizeof(line), SECRET "X-Original-URI: /sale/7\r\n" BEARER, pass_of(&c));
    cr_expect_eq(call_with("GET", "/v1/verify?queue=login&explain=1", line, ""), 200);
    cr_expect(strstr(got, "{\"verdict\":\"room\",\"rule\":1,\"other_rule\":null,\"queue\":\"sale\",\"queue_known\":") != NULL, "%s", got);
    cr_expect(strstr(got, "\"pass\":\"the pass is for another queue\",\"bypass\":null,\"trusted\":true,"
                          "\"unclear\":false,\"uri\":\"/sale/7\",\"method\":null,") != NULL, "%s", got);
    cr_expect_eq(call_with("GET", "/v1/verify?queue=login&explain=1", SECRET "X-Original-URI: //static\r\n", ""), 200);
    cr_expect(strstr(got, "{\"verdict\":\"refused\",\"rule\":1,\"other_rule\":2,") != NULL && strstr(got, "\"unclear\":true") != NULL, "%s", got);
    cr_expect_eq(call_with("GET", "/v1/verify?queue=login&explain=1", SECRET "X-Original-URI: /static/a\r\n", ""), 200);
    cr_expect(strstr(got, "{\"verdict\":\"bypass\",\"rule\":0,\"other_rule\":null,\"queue\":null,") != NULL, "%s", got);
    cr_expect(strstr(got, "\"bypass\":\"rule\"") != NULL, "%s", got);
    cr_expect_eq(w.r->counts.bypassed[BYPASS_RULE] + w.r->counts.verified, 0, "nothing is counted");
}

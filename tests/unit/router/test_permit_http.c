/* test_permit_http.c: permits: tickets of a line of people in the words of tasks, at a whole router that
 * has no tasks; what their passes are bound to, and GET /v1/verify of such passes. */
#include "tests/lib/claimrig.h"
#include "tests/lib/passrig.h"

#define PERMITS "/v1/queues/login/tasks"

static void set_up(void)
{
    static char proxy[] = "127.0.0.1/32", *proxies[] = { proxy };

    trusted_proxies = (struct cfg_list){ proxies, 1 };
    claim_secret = CLAIM_SECRET "\n";
    pass_setup();
}

TestSuite(permits, .init = set_up, .fini = teardown, .timeout = 60);

static int asks(const char *more)
{
    char body[3000];

    snprintf(body, sizeof(body), "{\"kind\":\"permit\"%s}", more);
    return call("POST", PERMITS, body);
}

static const char *path_of(uint32_t number)
{
    static char path[100];

    snprintf(path, sizeof(path), "/v1/tasks/%s", ticket_path(number, 1) + strlen("/v1/tickets/"));
    return path;
}

Test(permits, a_permit_is_a_ticket_in_the_words_of_tasks)
{
    char line[100];

    cr_assert_eq(asks(",\"client\":\"mobile\""), 201, "%s", got);
    cr_expect_str_eq(str("kind"), "permit");
    cr_expect_str_eq(str("queue"), "login");
    cr_expect_str_eq(str("state"), "waiting");
    cr_expect_eq(num("position"), 1);
    cr_expect_eq(num("poll_after_ms"), 1000);
    cr_expect_eq(strlen(str("task")), TOKEN_TEXT_LEN);
    cr_expect_eq(w.last_append.client, CLIENT_MOBILE);
    cr_expect_eq(w.last_append.subject_len, 0, "it is bound to nothing");
    snprintf(line, sizeof(line), "\r\nLocation: /v1/tasks/%s\r\n", str("task"));
    cr_expect_not_null(strstr(got, line));
    cr_expect_eq(asks(",\"subject\":\"known\""), 200, "the subject's ticket");
    cr_expect_eq(w.r->counts.joins, 2);
}

Test(permits, its_token_polls_and_leaves)
{
    cr_expect_eq(call("GET", path_of(42), ""), 200);
    cr_expect_str_eq(str("kind"), "permit");
    cr_expect_str_eq(str("state"), "waiting");
    cr_expect_eq(call("GET", path_of(N_ADMITTED), ""), 200);
    cr_expect_str_eq(str("state"), "admitted");
    cr_expect_str_eq(str("pass"), "a.b.c");
    cr_expect_eq(num("pass_expires_at"), 1700000300);
    cr_expect_eq(call("GET", path_of(N_GONE), ""), 200);
    cr_expect_str_eq(str("state"), "finished");
    cr_expect_str_eq(str("reason"), "no_show");
    cr_expect_eq(call("DELETE", path_of(42), ""), 200);
    cr_expect_str_eq(str("state"), "finished");
    cr_expect_str_eq(str("reason"), "left");
    cr_expect_eq(w.drops, 1);
    cr_expect_eq(call("PATCH", path_of(42), ""), 405);
    cr_expect_not_null(strstr(got, "\r\nAllow: GET, HEAD, DELETE\r\n"));
    cr_expect_eq(call("GET", "/v1/tasks/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", ""), 404);
    cr_expect_eq(call("GET", "/v1/tasks/AAAA", ""), 404, "there are no tasks here");
}

Test(permits, the_rules_of_joins_hold)
{
    char body[3000], payload[200];

    cr_expect_eq(asks(",\"lane\":\"vip\""), 403);
    cr_expect_str_eq(str("detail"), "this lane needs a signed claim");
    snprintf(payload, sizeof(payload), "{\"aud\":\"login\",\"lane\":\"vip\",\"exp\":%lld}",
             (long long)router_wall_s() + 60);
    snprintf(body, sizeof(body), ",\"claim\":\"%s\"",
             claim_text("{\"alg\":\"HS256\",\"kid\":\"shop\"}", payload, NULL));
    cr_expect_eq(asks(body), 201);
    cr_expect_str_eq(str("lane"), "vip");
    cr_expect_eq(call("POST", "/v1/queues/other/tasks", "{\"kind\":\"permit\"}"), 404);
    cr_expect_str_eq(str("code"), "queue_not_found");
    cr_expect_eq(call("POST", PERMITS, "{\"kind\":\"other\",\"x\":\"permit\"}"), 404, "it is a task");
    cr_expect_eq(call_with("POST", PERMITS, "Authorization: Bearer x\r\n", "{\"kind\":\"permit\"}"), 404,
                 "a server submits tasks");
    cr_expect_eq(asks(",\"client\":7"), 400);
}

/* Of the last join: its head and its name. */
static void kept(const char *head, const char *name)
{
    char text[SUBJECT_TEXT_MAX + 1];

    snprintf(text, sizeof(text), "\x02%c%s%s", (int)strlen(head), head, name);
    cr_expect_eq(w.last_append.subject_len, strlen(text));
    cr_expect_str_eq(w.last_subject, text);
}

Test(permits, what_the_pass_is_bound_to_stands_before_the_name)
{
    cr_expect_eq(asks(",\"htm\":\"POST\",\"htu\":\"/api/images\""), 201);
    kept("-POST /api/images", "");
    cr_expect_neq(w.last_append.subject_hash, 0);
    cr_expect_eq(asks(",\"htm\":\"GET\",\"subject\":\"ann\""), 201);
    kept("-GET ", "ann");
    cr_expect_eq(asks(",\"htm\":\"get\""), 400);
    cr_expect_eq(asks(",\"htm\":7"), 400);
    cr_expect_eq(asks(",\"htu\":\"api\""), 400);
    cr_expect_str_eq(str("detail"),
                     "htu must be a path of 1 to 100 characters, without escapes, dots or a query");
    cr_expect_eq(asks(",\"use\":\"once\""), 201);
    kept("1 ", "");
    cr_expect_eq(asks(",\"use\":\"twice\""), 400);
    cr_expect_str_eq(str("detail"), "use can only be \"once\"");
}

/* ---- verified ---------------------------------------------------------------------------- */

/* At a gate that tells of a request. */
static int verify_as(const char *pass, const char *told)
{
    static char lines[3000];

    snprintf(lines, sizeof(lines), "Authorization: Bearer %s\r\n%s", pass, told);
    return call_with("GET", "/v1/verify?queue=login", lines, "");
}

#define TOLD(method, uri) "X-Original-Method: " method "\r\nX-Original-URI: " uri "\r\n"

Test(permits, a_bound_pass_opens_its_method_and_path_only)
{
    static const struct bound b = { .htm = "POST", .htu = "/api/images" };
    int64_t now = router_wall_s();
    const char *pass = pass_of(&(struct pass_claims){ .iss = "segq", .aud = "login",
                                                      .lane = "default", .seg = 17, .number = 5,
                                                      .iat_s = now, .exp_s = now + 300, .bound = &b });

    w.cfg.replica_fresh = 250;
    cr_expect_eq(verify_as(pass, TOLD("POST", "/api/images")), 204, "%s", got);
    cr_expect_null(strstr(got, "X-Segq-Keep"), "no gate gives this by itself");
    cr_expect_eq(verify_as(pass, TOLD("POST", "/api/images/7?x=1")), 204);
    cr_expect_eq(w.r->counts.pass_checks, 2, "it is not remembered");
    cr_expect_eq(verify_as(pass, TOLD("GET", "/api/images")), 403);
    cr_expect_str_eq(str("code"), "pass_other_method");
    cr_expect_eq(verify_as(pass, TOLD("POST", "/api/imagesx")), 403);
    cr_expect_str_eq(str("code"), "pass_other_url");
    cr_expect_eq(verify_as(pass, TOLD("POST", "/api/images/../keys")), 403);
    cr_expect_eq(verify_as(pass, TOLD("POST", "/api/images/%2e%2e/keys")), 403);
    cr_expect_eq(verify_as(pass, ""), 403, "a gate that does not tell");
    cr_expect_eq(verify_as(pass, "X-Original-Method: POST\r\n"), 403);
    cr_expect_str_eq(str("code"), "pass_other_url");
}

static const char *pass_with(const struct bound *b)
{
    int64_t now = router_wall_s();

    return pass_of(&(struct pass_claims){ .iss = "segq", .aud = "login", .lane = "default", .seg = 1,
                                          .number = 5, .iat_s = now, .exp_s = now + 300, .bound = b });
}

Test(permits, a_pass_that_is_good_once_is_asked_about_at_its_segment)
{
    static const struct bound b = { .once = true, .htm = "POST" };
    const char *pass = pass_with(&b);

    cr_expect_eq(verify_as(pass, TOLD("GET", "/")), 403);
    cr_expect_eq(w.n_sess, 0, "what it does not open does not use it");
    cr_expect_eq(verify_as(pass, TOLD("POST", "/")), 204, "%s", got);
    cr_expect_not_null(strstr(got, "\r\nX-Segq-Ticket: 1-5\r\n"));
    cr_expect_eq(w.sess.command, SESS_USE);
    cr_expect_eq(w.sess.number, 5);
    cr_expect_gt(w.sess.until_s, 0, "the use has a number");
    cr_expect_eq(w.n_sess, 1);
    cr_expect_eq(verify_as(pass, TOLD("POST", "/")), 403);
    cr_expect_str_eq(str("code"), "pass_used");
    cr_expect_null(strstr(got, "ocation: "), "its room would send it back: it is still let in");
    cr_expect_eq(w.n_sess, 1, "this router knows it now");
    cr_expect_eq(w.r->counts.used, 1);
}

Test(permits, a_pass_that_was_used_elsewhere_is_refused)
{
    static const struct bound b = { .once = true };
    const char *pass = pass_with(&b);
    char lines[2000];

    w.sess_state = SESS_GONE;
    snprintf(lines, sizeof(lines), "Authorization: Bearer %s\r\nAccept: text/html\r\n", pass);
    cr_expect_eq(call_with("GET", "/v1/verify?queue=login&redirect=1", lines, ""), 403);
    cr_expect_null(strstr(got, "ocation: "), "not round in circles");
    cr_expect_eq(call_with("GET", "/v1/verify?queue=login&redirect=1", lines, ""), 403);
    cr_expect_null(strstr(got, "ocation: "));
    cr_expect_str_eq(str("code"), "pass_used");
    cr_expect_eq(w.n_sess, 1);
}

Test(permits, without_its_segment_a_pass_that_is_good_once_opens_nothing)
{
    static const struct bound b = { .once = true };
    const char *pass = pass_with(&b);

    w.sess_silent = true;
    cr_expect_eq(verify_as(pass, ""), 503);
    cr_expect_str_eq(str("code"), "queue_unavailable");
    w.sess_silent = false;
    w.sess_state = SESS_UNKNOWN;
    cr_expect_eq(verify_as(pass, ""), 503);
    w.sess_state = SESS_OK;
    cr_expect_eq(verify_as(pass, ""), 204, "nobody has been let in");
}

Test(permits, a_gate_that_asks_again_asks_the_same)
{
    static const struct bound b = { .once = true };
    const char *pass = pass_with(&b);
    int64_t number;

    strcpy(w.r->gate_secret.text, "only the gate has it");
    w.r->gate_secret.n = strlen(w.r->gate_secret.text);
#define PROOF "X-Segq-Gate-Secret: only the gate has it\r\n"
    w.sess_silent = true;
    cr_expect_eq(verify_as(pass, PROOF "X-Segq-Ask: 7\r\n"), 503);
    number = w.sess.until_s;
    cr_expect_eq(verify_as(pass, PROOF "X-Segq-Ask: 8\r\n"), 503);
    cr_expect_neq(w.sess.until_s, number, "another request");
    cr_expect_eq(verify_as(pass, "X-Segq-Ask: 7\r\n"), 503);
    cr_expect_neq(w.sess.until_s, number, "a visitor may not choose it");
    cr_expect_eq(verify_as(pass, PROOF), 503);
    cr_expect_gt(w.sess.until_s, 0);
    w.sess_silent = false;
    cr_expect_eq(verify_as(pass, PROOF "X-Segq-Ask: 7\r\n"), 204);
    cr_expect_eq(w.sess.until_s, number);
    cr_expect_eq(verify_as(pass, PROOF "X-Segq-Ask: 7\r\n"), 204, "this router's answer was lost");
    cr_expect_eq(w.sess.until_s, number);
    cr_expect_eq(w.r->counts.used, 1, "the same use");
    w.sess_state = SESS_GONE;
    cr_expect_eq(verify_as(pass, PROOF "X-Segq-Ask: 8\r\n"), 403, "another request");
    cr_expect_str_eq(str("code"), "pass_used");
    cr_expect_eq(verify_as(pass, "X-Segq-Ask: 7\r\n"), 403, "a visitor may not choose it");
}

static const char *numbered_pass(char to[2000], uint32_t number)
{
    static const struct bound b = { .once = true };
    int64_t now = router_wall_s();

    snprintf(to, 2000, "%s", pass_of(&(struct pass_claims){ .iss = "segq", .aud = "login",
             .lane = "default", .seg = 1, .number = number, .iat_s = now, .exp_s = now + 300,
             .bound = &b }));
    return to;
}

/* Gates name each question, so whoever shows a used pass again would have the segment asked each
 * time. */
Test(permits, a_used_pass_that_is_shown_again_costs_its_segment_nothing)
{
    char x[2000], y[2000];
    const char *one = numbered_pass(x, 5), *two = numbered_pass(y, 6);

    strcpy(w.r->gate_secret.text, "only the gate has it");
    w.r->gate_secret.n = strlen(w.r->gate_secret.text);
    cr_assert_eq(verify_as(one, PROOF "X-Segq-Ask: 7\r\n"), 204, "%s", got);
    cr_assert_eq(verify_as(two, PROOF "X-Segq-Ask: 8\r\n"), 204, "%s", got);
    cr_assert_eq(w.n_sess, 2);
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(verify_as(one, PROOF "X-Segq-Ask: 8\r\n"), 403, "the other pass's name");
        cr_expect_str_eq(str("code"), "pass_used");
        cr_expect_eq(verify_as(two, PROOF "X-Segq-Ask: 7\r\n"), 403);
        cr_expect_eq(verify_as(one, PROOF "X-Segq-Ask: 9\r\n"), 403);
        cr_expect_eq(verify_as(one, PROOF), 403);
    }
    cr_expect_eq(w.n_sess, 2, "the segment was asked: %u", w.n_sess);
    cr_expect_eq(w.r->counts.use_refused, 12, "the metric counts each");
    cr_expect_eq(verify_as(one, PROOF "X-Segq-Ask: 7\r\n"), 204, "a lost answer asked again");
    cr_expect_eq(verify_as(two, PROOF "X-Segq-Ask: 8\r\n"), 204);
    cr_expect_eq(w.n_sess, 4);
    cr_expect_eq(w.r->counts.used, 2);
}

/* This router did not see the use, or has forgotten it: once it is told whose question it was. */
Test(permits, a_pass_that_was_used_elsewhere_is_asked_about_until_the_use_is_known)
{
    char x[2000];
    const char *pass = numbered_pass(x, 5);

    strcpy(w.r->gate_secret.text, "only the gate has it");
    w.r->gate_secret.n = strlen(w.r->gate_secret.text);
    cr_assert_eq(verify_as(pass, PROOF "X-Segq-Ask: 7\r\n"), 204, "%s", got);
    w.sess_used = w.sess.until_s;
    w.sess_state = SESS_GONE;
    revoked_fini(&w.r->used); /* the row was evicted */
    cr_expect_eq(verify_as(pass, PROOF "X-Segq-Ask: 8\r\n"), 403);
    cr_expect_eq(w.n_sess, 2, "nothing is known here");
    cr_expect_eq(verify_as(pass, PROOF "X-Segq-Ask: 8\r\n"), 403);
    cr_expect_eq(verify_as(pass, PROOF "X-Segq-Ask: 9\r\n"), 403);
    cr_expect_eq(verify_as(pass, ""), 403);
    cr_expect_eq(w.n_sess, 2, "now it is known");
    w.sess_state = SESS_OK;
    cr_expect_eq(verify_as(pass, PROOF "X-Segq-Ask: 7\r\n"), 204, "whose answer was lost there");
    cr_expect_eq(w.n_sess, 3);
    w.sess_state = SESS_GONE;
    w.sess_used = -1; /* its machine was lost: it counts as used, by no question */
    revoked_fini(&w.r->used);
    cr_expect_eq(verify_as(pass, PROOF "X-Segq-Ask: 7\r\n"), 403);
    cr_expect_eq(verify_as(pass, PROOF "X-Segq-Ask: 7\r\n"), 403);
    cr_expect_eq(w.n_sess, 4);
}

Test(permits, a_gate_may_let_every_pass_in_once)
{
    char lines[2000];
    const char *pass = pass_with(NULL);

    snprintf(lines, sizeof(lines), "Authorization: Bearer %s\r\n", pass);
    cr_expect_eq(call_with("GET", "/v1/verify?queue=login&use=once", lines, ""), 204);
    cr_expect_eq(call_with("GET", "/v1/verify?queue=login&use=once", lines, ""), 403);
    cr_expect_eq(call_with("GET", "/v1/verify?queue=login", lines, ""), 204, "another gate");
    cr_expect_eq(call_with("GET", "/v1/verify?queue=login&use=twice", lines, ""), 401);
    cr_expect_eq(w.n_sess, 1);
}

/* The pass was used elsewhere, and nobody needs one now. */
Test(permits, who_needs_no_pass_spends_none)
{
    static const struct bound b = { .once = true };

    w.sess_state = SESS_GONE;
    w.when = (struct map_phase){ .phase = PHASE_PASSTHROUGH };
    send_map(5, 6, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 6);
    cr_expect_eq(verify_as(pass_with(&b), ""), 204, "%s", got);
    cr_expect_eq(w.n_sess, 0);
}

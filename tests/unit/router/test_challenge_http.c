/* test_challenge_http.c: joins that cost work, at a whole router. */
#include "tests/lib/claimrig.h"
#include "tests/lib/routerrig.h"
#include "tests/lib/solve.h"

#define JOIN "/v1/queues/login/tickets"
#define LOOKS_OF "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"

static void set_up(void)
{
    static char *proxies[] = { (char *)"127.0.0.1" };

    claim_secret = CLAIM_SECRET "\n";
    trusted_proxies = (struct cfg_list){ proxies, 1 };
    memset(&challenged, 0, sizeof(challenged));
    challenged.mode = CHALLENGE_ON;
    challenged.keys = 1024;
    setup_all();
}

TestSuite(challenge_http, .init = set_up, .fini = teardown, .timeout = 60);

/* A join of an address, with more header lines. */
static int join(const char *addr, const char *lines, const char *body)
{
    char t[3000];

    snprintf(t, sizeof(t), "X-Forwarded-For: %s\r\n%s", addr, lines);
    return call_with("POST", JOIN, t, body);
}

/* The answer to the challenge of the last 428, as the header has it. */
static const char *solved(void)
{
    static char line[2200];
    const json_t *c = json_object_get(js, "challenge");
    char *text = json_dumps(c, JSON_SORT_KEYS | JSON_COMPACT);

    cr_assert(c != NULL && text != NULL, "%s", got);
    snprintf(line, sizeof(line), "segq-challenge: %s\r\n", challenge_solved(text));
    free(text);
    return line;
}

static uint64_t found(enum challenge_state s)
{
    return w.r->door.refused[s];
}

Test(challenge_http, a_join_is_asked_for_work_and_let_in_with_its_answer)
{
    char lines[3000], token[60];

    cr_assert_eq(join("10.0.0.1", "", ""), 428, "%s", got);
    cr_expect_str_eq(str("code"), "challenge_required");
    cr_expect_eq(w.appends, 0, "no segment was asked");
    snprintf(lines, sizeof(lines), "%s", solved());
    cr_assert_eq(join("10.0.0.9", lines, ""), 201, "another host of the network: %s", got);
    snprintf(token, sizeof(token), "%s", str("token"));
    cr_expect_eq(w.last_subject[0], SUBJECT_KEY_MARK, "its place is known by the challenge");
    cr_expect_eq(w.appends, 1);
    cr_expect_eq(join("10.0.0.1", lines, ""), 201, "the fake node does not know that it is the same");
    cr_expect_eq(join("10.0.0.1", lines, ""), 201);
    cr_expect_eq(join("10.0.0.1", lines, ""), 403);
    cr_expect_str_eq(str("code"), "challenge_used");
    cr_expect_eq(found(CHALLENGE_GOOD), 3);
    cr_expect_eq(found(CHALLENGE_USED), 1);
}

/* Beyond the puzzles of a second a network is put off, with a sentence. */
Test(challenge_http, more_asks_than_puzzles_are_put_off)
{
    int status = 428;

    for (unsigned i = 0; i < 20 * PUZZLES && status == 428; i++)
        status = join("10.0.0.1", "", "");
    cr_assert_eq(status, 429, "%s", got);
    cr_expect_str_eq(str("code"), "too_fast");
    cr_expect(strstr(str("detail"), "challenges") != NULL, "%s", str("detail"));
    cr_expect(strstr(got, "\r\nRetry-After: 1\r\n") != NULL);
    cr_expect_eq(w.appends, 0);
    cr_expect_eq(join("10.1.0.1", "", ""), 428, "another network is not");
}

/* Each answer of an altcha widget is a form's field, or a member. */
Test(challenge_http, the_answer_may_be_a_member_of_the_body)
{
    char body[3000];

    cr_assert_eq(join("10.0.0.1", "", "{}"), 428, "%s", got);
    snprintf(body, sizeof(body), "{\"altcha\":\"%s", solved() + strlen("segq-challenge: "));
    strcpy(body + strlen(body) - 2, "\"}");
    cr_assert_eq(join("10.0.0.1", "", body), 201, "%s", got);
    cr_expect_eq(join("10.0.0.1", "", "{\"altcha\":7}"), 400);
}

/* Whoever has an answer cannot use it elsewhere, or for another person. */
Test(challenge_http, each_binding_has_its_code)
{
    char lines[3000];

    cr_assert_eq(join("10.0.0.1", "Idempotency-Key: 0123456789abcdef\r\n", ""), 428, "%s", got);
    snprintf(lines, sizeof(lines), "%s", solved());
    cr_expect_eq(join("10.0.1.1", lines, ""), 403);
    cr_expect_str_eq(str("code"), "challenge_other_address");
    cr_expect_eq(join("10.0.0.1", lines, ""), 403);
    cr_expect_str_eq(str("code"), "challenge_other_join");
    cr_expect_eq(join("10.0.0.1", lines, "{\"subject\":\"anna\"}"), 403);
    cr_expect_str_eq(str("code"), "challenge_other_join");
    cr_expect_eq(join("10.0.0.1", "segq-challenge: bm9uc2Vuc2U=\r\n", ""), 403);
    cr_expect_str_eq(str("code"), "challenge_invalid");
    cr_expect_eq(w.appends, 0);
    strcat(lines, "Idempotency-Key: 0123456789abcdef\r\n");
    cr_expect_eq(join("10.0.0.1", lines, ""), 201, "%s", got);
}

Test(challenge_http, the_subject_that_asked_gets_its_place)
{
    cr_assert_eq(join("10.0.0.1", "", "{\"subject\":\"anna\"}"), 428, "%s", got);
    cr_assert_eq(join("10.0.0.1", solved(), "{\"subject\":\"anna\"}"), 201, "%s", got);
    cr_expect_str_eq(w.last_subject, "anna");
}

Test(challenge_http, a_claim_needs_none)
{
    char payload[200], body[1000];

    snprintf(payload, sizeof(payload), "{\"aud\":\"login\",\"lane\":\"vip\",\"exp\":%lld}",
             (long long)router_wall_s() + 60);
    snprintf(body, sizeof(body), "{\"claim\":\"%s\"}",
             claim_text("{\"alg\":\"HS256\",\"kid\":\"shop\"}", payload, NULL));
    cr_expect_eq(join("10.0.0.1", "", body), 201, "%s", got);
    cr_expect_eq(w.r->door.spared, 1);
    strcpy(strstr(body, "\"}") - 3, "xxx\"}");
    cr_expect_eq(join("10.0.0.1", "", body), 403, "one that is not good");
    cr_expect_str_eq(str("code"), "not_eligible");
}

static uint64_t cost_of_next(const char *addr)
{
    static char look[100];

    snprintf(look, sizeof(look), LOOKS_OF "X-Forwarded-For: %s\r\n", addr);
    cr_expect_eq(call_with("GET", "/q/login?return=/x", look, ""), 200, "%s", got);
    return strstr(got, "\"keys\":") != NULL ? strtoul(strstr(got, "\"keys\":") + 7, NULL, 10) : 0;
}

/* A place is asked for once, and paid for once: five asks are five. */
Test(challenge_http, neither_answers_nor_claims_raise_the_price)
{
    char payload[200], body[1000], lines[3000];

    for (unsigned i = 0; i < 5; i++) {
        cr_assert_eq(join("10.0.0.1", "", ""), 428, "%s", got);
        snprintf(lines, sizeof(lines), "%s", solved());
        cr_expect_eq(join("10.0.0.1", lines, ""), 201, "%s", got);
    }
    cr_expect_eq(cost_of_next("10.0.0.1"), 1024, "the sixth");
    challenged.mode = CHALLENGE_AUTO;
    challenged.per_address = 100;
    send_map(5, 6, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 6);
    snprintf(payload, sizeof(payload), "{\"aud\":\"login\",\"lane\":\"vip\",\"exp\":%lld}",
             (long long)router_wall_s() + 60);
    snprintf(body, sizeof(body), "{\"claim\":\"%s\"}",
             claim_text("{\"alg\":\"HS256\",\"kid\":\"shop\"}", payload, NULL));
    for (unsigned i = 0; i < 100; i++)
        cr_assert_eq(join("10.2.0.1", "", body), 201, "%s", got);
    cr_expect_eq(join("10.2.0.1", "", ""), 201, "%s", got);
}

/* Where the rules of bypass name its address; a header that anybody can write is none. */
Test(challenge_http, an_address_of_a_rule_needs_none)
{
    w.gate = "{\"bypass\":{\"addresses\":[\"10.0.0.0/24\"],\"headers\":[{\"name\":\"x-ours\",\"value\":\"1\"}]}}";
    send_map(5, 6, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 6);
    cr_expect_eq(join("10.0.0.1", "", ""), 201, "%s", got);
    cr_expect_eq(join("10.0.1.1", "x-ours: 1\r\n", ""), 428);
}

/* Joins are told to the manager, whose word turns it on and off for all. */
Test(challenge_http, the_manager_hears_of_joins_and_turns_it_on)
{
    challenged.mode = CHALLENGE_AUTO;
    challenged.from = 3;
    send_map(5, 6, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 6);
    cr_expect_eq(join("10.0.0.1", "", ""), 201, "%s", got);
    UNTIL(challenged.told == 1);
    challenged.level = 1;
    send_stats();
    UNTIL(routes_queue(w.r->routes, "login", 5)->stats.challenge == 1);
    cr_expect_eq(join("10.0.0.2", "", ""), 428);
    challenged.level = 0;
    send_stats();
    UNTIL(routes_queue(w.r->routes, "login", 5)->stats.challenge == 0);
    cr_expect_eq(join("10.0.0.3", "", ""), 201);
}

/* ---- while the cluster's secret is changed ---- */

/* As if this router had been started anew, with another first line; what it had is its second. */
static void change_secret(void)
{
    struct router *r = w.r;
    struct hmac256 names;
    uint8_t mac[HMAC256_BYTES], next[32] = { 9 };
    uint64_t prefix[2] = { 3, 5 };

    hmac256_key(&names, r->keys.challenge, CHALLENGE_KEY_BYTES);
    hmac256_of(mac, &names, "prefix", 6);
    memcpy(r->other_prefix, mac, sizeof(r->other_prefix));
    limit_prefix_key(r->gate.limit, prefix);
    memcpy(r->keys.token.other_subject, r->keys.token.subject, TOKEN_KEY_BYTES);
    memcpy(r->keys.token.other_mac, r->keys.token.mac, TOKEN_KEY_BYTES);
    r->keys.token.has_other = r->door.keys.has_other = true;
    r->keys.token.subject[0] ^= 1;
    r->keys.token.mac[0] ^= 1;
    r->door.keys.other = r->door.keys.first;
    challenge_key_make(&r->door.keys.first, next);
}

Test(challenge_http, an_answer_of_the_secret_before_is_for_its_address_and_its_name_only)
{
    char lines[3000];

    cr_assert_eq(join("10.0.0.1", "", "{\"subject\":\"anna\"}"), 428, "%s", got);
    snprintf(lines, sizeof(lines), "%s", solved());
    change_secret();
    cr_expect_eq(join("10.0.1.1", lines, "{\"subject\":\"anna\"}"), 403);
    cr_expect_str_eq(str("code"), "challenge_other_address");
    cr_expect_eq(join("10.0.0.1", lines, "{\"subject\":\"bert\"}"), 403);
    cr_expect_str_eq(str("code"), "challenge_other_join");
    cr_expect_eq(join("10.0.0.1", lines, ""), 403, "nor for nobody");
    cr_expect_eq(w.appends, 0);
    cr_expect_eq(join("10.0.0.9", lines, "{\"subject\":\"anna\"}"), 201, "%s", got);
}

Test(challenge_http, an_answer_of_the_secret_before_is_for_its_key_only)
{
    char lines[3000], with[3100];

    cr_assert_eq(join("10.0.0.1", "Idempotency-Key: 0123456789abcdef\r\n", ""), 428, "%s", got);
    snprintf(lines, sizeof(lines), "%s", solved());
    change_secret();
    snprintf(with, sizeof(with), "%sIdempotency-Key: another-key-abcdef\r\n", lines);
    cr_expect_eq(join("10.0.0.1", with, ""), 403);
    cr_expect_str_eq(str("code"), "challenge_other_join");
    snprintf(with, sizeof(with), "%sIdempotency-Key: 0123456789abcdef\r\n", lines);
    cr_expect_eq(join("10.0.0.1", with, ""), 201, "%s", got);
}

/* ---- the page ---- */

#define LOOKS LOOKS_OF "X-Forwarded-For: 10.0.0.1\r\n"
#define FORM "Sec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\nX-Forwarded-For: 10.0.0.1\r\n"

/* The challenge in the page's data. */
static const char *in_page(void)
{
    static char text[1000];
    const char *at = strstr(got, "\"challenge\":"), *end;

    cr_assert(at != NULL, "%s", got);
    end = strstr(strstr(at, "\"signature\":"), "\"}");
    snprintf(text, sizeof(text), "%.*s", (int)(end + 2 - at - 12), at + 12);
    return text;
}

/* Base64 as a form sends it. */
static const char *form_of(const char *answer)
{
    static char text[4000];
    char *to = text + sprintf(text, "return=/x&key=0123456789abcdef0123&altcha=");

    for (; *answer != '\0'; answer++)
        to += strchr("+/=", *answer) != NULL ? sprintf(to, "%%%02X", *answer) : sprintf(to, "%c", *answer);
    return text;
}

Test(challenge_http, a_browser_works_before_it_gets_its_place)
{
    cr_expect_eq(call_with("GET", "/q/login?return=/x", LOOKS, ""), 200);
    cr_expect(strstr(got, "worker-src blob:") != NULL);
    cr_expect(strstr(got, "\"state\":\"work\"") != NULL);
    cr_expect(strstr(got, "\"keys\":1024") != NULL);
    cr_expect_eq(w.appends, 0);
    cr_expect_eq(call_with("POST", "/q/login/join", FORM, form_of(challenge_solved(in_page()))), 303, "%s", got);
    cr_expect_eq(w.appends, 1);
    cr_expect(strstr(got, "segq_ticket=") != NULL);
}

/* It can read no page: it waits until joins are free again. */
Test(challenge_http, a_program_of_another_room_reads_json)
{
    w.cfg.page_compat = PAGE_COMPAT_CLOUDFLARE;
    cr_expect_eq(call_with("GET", "/q/login", "Accept: application/json\r\nX-Forwarded-For: 10.0.0.1\r\n", ""), 200);
    cr_expect(strstr(got, "{\"cfWaitingRoom\":{\"inWaitingRoom\":true,") != NULL, "%s", got);
    cr_expect(strstr(got, "\"refreshIntervalSeconds\":30,") != NULL, "%s", got);
    cr_expect_eq(w.appends, 0);
}

/* Without an answer, with nonsense, or at once without having waited: asked anew. */
Test(challenge_http, a_form_without_an_answer_is_asked_too)
{
    const char *ask, *end;
    char said[3000];

    cr_expect_eq(call_with("POST", "/q/login/join", FORM, "return=/x&key=0123456789abcdef0123"), 200);
    cr_expect(strstr(got, "\"state\":\"work\"") != NULL);
    cr_expect_eq(call_with("POST", "/q/login/join", FORM, "return=/x&altcha=bm9uc2Vuc2U"), 200);
    ask = strstr(got, "name=\"altcha\" value=\"");
    cr_assert(ask != NULL);
    end = strchr(ask + 21, '"');
    snprintf(said, sizeof(said), "%.*s", (int)(end - ask - 21), ask + 21);
    cr_expect_eq(call_with("POST", "/q/login/join", FORM, form_of(said)), 200, "patience");
    cr_expect_eq(w.appends, 0);
    cr_expect_eq(found(CHALLENGE_INVALID), 1);
    cr_expect_eq(found(CHALLENGE_UNSOLVED), 1);
}

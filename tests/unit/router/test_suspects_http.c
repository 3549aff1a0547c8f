/* test_suspects_http.c: joins of suspects, at a whole router. */
#include "tests/lib/claimrig.h"
#include "tests/lib/routerrig.h"
#include "tests/lib/solve.h"

#define JOIN  "/v1/queues/login/tickets"
#define POSES "User-Agent: Mozilla/5.0 (X11)\r\n"
#define READS "Accept-Language: de\r\n"

static void set_up(void)
{
    static char *proxies[] = { (char *)"127.0.0.1" };

    claim_secret = CLAIM_SECRET "\n";
    trusted_proxies = (struct cfg_list){ proxies, 1 };
    memset(&challenged, 0, sizeof(challenged));
    challenged.suspects = SUSPECTS_REJECT;
    challenged.keys = 1024;
    setup_all();
}

TestSuite(suspects_http, .init = set_up, .fini = teardown, .timeout = 60);

static int join(const char *addr, const char *lines, const char *body)
{
    char t[3000];

    snprintf(t, sizeof(t), "X-Forwarded-For: %s\r\n%s", addr, lines);
    return call_with("POST", JOIN, t, body);
}

static void rule(uint32_t suspects)
{
    static uint64_t version = 5;

    version = routes_version(w.r->routes);
    challenged.suspects = suspects;
    send_map(version, version + 1, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == version + 1);
}

/* Four of five that make one: each is let in. */
static void pose_as(const char *addr)
{
    for (unsigned i = 0; i < 4; i++)
        cr_assert_eq(join(addr, POSES, ""), 201, "%s", got);
}

Test(suspects_http, a_network_whose_joins_pose_is_refused_and_told_when_to_come)
{
    pose_as("10.0.0.1");
    cr_expect_eq(join("10.0.0.2", POSES, ""), 429, "%s", got);
    cr_expect_str_eq(str("code"), "suspect_network");
    cr_expect(strstr(got, "\r\nRetry-After: 120\r\n") != NULL);
    cr_expect_eq(join("10.0.0.3", "", ""), 429, "all of its network");
    cr_expect_eq(join("10.0.1.1", "", ""), 201, "no other one");
    cr_expect_eq(w.appends, 5);
    cr_expect_eq(w.r->suspects_acts[SUSPECT_SENT_AWAY], 2);
}

/* Each browser says its languages; a program need not say to be one. */
Test(suspects_http, browsers_and_honest_programs_do_not_pose)
{
    for (unsigned i = 0; i < 10; i++) {
        cr_assert_eq(join("10.0.0.1", POSES READS, ""), 201, "%s", got);
        cr_assert_eq(join("10.0.0.1", "User-Agent: okhttp/4.9\r\n", ""), 201);
        cr_assert_eq(join("10.0.0.1", "", ""), 201);
    }
}

Test(suspects_http, whoever_has_a_place_keeps_it)
{
    char path[100];

    pose_as("10.0.0.1");
    snprintf(path, sizeof(path), "/v1/tickets/%s", str("token"));
    cr_expect_eq(join("10.0.0.1", POSES, ""), 429);
    cr_expect_eq(call_with("GET", path, "X-Forwarded-For: 10.0.0.1\r\n", ""), 200, "%s", got);
    cr_expect_eq(call_with("DELETE", path, "X-Forwarded-For: 10.0.0.1\r\n", ""), 204, "%s", got);
}

Test(suspects_http, a_claim_and_an_address_of_a_rule_are_spared)
{
    char payload[200], body[1000];

    pose_as("10.0.0.1");
    cr_expect_eq(join("10.0.0.1", POSES, ""), 429);
    snprintf(payload, sizeof(payload), "{\"aud\":\"login\",\"lane\":\"vip\",\"exp\":%lld}",
             (long long)router_wall_s() + 60);
    snprintf(body, sizeof(body), "{\"claim\":\"%s\"}",
             claim_text("{\"alg\":\"HS256\",\"kid\":\"shop\"}", payload, NULL));
    cr_expect_eq(join("10.0.0.1", "", body), 201, "%s", got);
    w.gate = "{\"bypass\":{\"addresses\":[\"10.0.0.7/32\"]}}";
    rule(SUSPECTS_REJECT);
    cr_expect_eq(join("10.0.0.7", "", ""), 201, "%s", got);
    cr_expect_eq(join("10.0.0.8", "", ""), 429);
    cr_expect_eq(w.r->suspects_acts[SUSPECT_SPARED], 2);
}

Test(suspects_http, by_challenge_they_work_whatever_the_rate)
{
    char lines[3000];

    rule(SUSPECTS_CHALLENGE);
    pose_as("10.0.0.1");
    cr_assert_eq(join("10.0.0.1", POSES, ""), 428, "%s", got);
    {
        char *text = json_dumps(json_object_get(js, "challenge"), JSON_SORT_KEYS | JSON_COMPACT);

        snprintf(lines, sizeof(lines), "segq-challenge: %s\r\n", challenge_solved(text));
        free(text);
    }
    cr_expect_eq(join("10.0.0.1", lines, ""), 201, "%s", got);
    cr_expect_eq(join("10.0.1.1", "", ""), 201, "another network is free");
}

Test(suspects_http, watch_does_nothing_and_off_counts_nothing)
{
    rule(SUSPECTS_WATCH);
    for (unsigned i = 0; i < 20; i++)
        cr_assert_eq(join("10.0.0.1", POSES, ""), 201, "%s", got);
    cr_expect_eq(w.r->suspects_acts[SUSPECT_WATCHED], 16);
    rule(SUSPECTS_OFF);
    cr_expect_eq(join("10.0.0.1", POSES, ""), 201);
    cr_expect_eq(w.r->suspects_acts[SUSPECT_WATCHED], 16);
    rule(SUSPECTS_REJECT);
    cr_expect_eq(join("10.0.0.1", "", ""), 429, "what was counted before is known");
}

Test(suspects_http, the_manager_hears_of_them_with_their_prefix)
{
    pose_as("10.1.2.3");
    cr_expect_eq(join("10.1.2.4", POSES, ""), 429);
    UNTIL(challenged.suspect.queue != 0);
    cr_expect_eq(challenged.suspect.net, 0x0a01020000000000u);
    cr_expect_eq(challenged.suspect.bits, 24);
    cr_expect_eq(challenged.suspect.posing, 5);
    cr_expect(challenged.suspect.script);
    cr_expect_eq(w.r->suspects_n, 1);
}

Test(suspects_http, the_page_says_so_in_words)
{
    pose_as("10.0.0.1");
    cr_expect_eq(join("10.0.0.1", POSES, ""), 429);
    cr_expect_eq(call_with("GET", "/q/login?return=/x", "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"
                           READS "X-Forwarded-For: 10.0.0.1\r\n", ""), 429, "%s", got);
    cr_expect(strstr(got, "<html") != NULL);
    cr_expect_eq(w.appends, 4);
}

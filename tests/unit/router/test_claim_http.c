/* test_claim_http.c: joins with claims at a whole router: lanes, subjects, keys that are
 * changed, the page. */
#include "tests/lib/claimrig.h"
#include "tests/lib/routerrig.h"

static void set_up(void)
{
    claim_secret = CLAIM_SECRET "\n";
    setup_all();
}

TestSuite(claim_http, .init = set_up, .fini = teardown, .timeout = 60);

/* A claim of the queue login; more: members, each with a comma before it. */
static const char *claim(const char *lane, const char *more)
{
    char payload[500];

    snprintf(payload, sizeof(payload),
             "{\"aud\":\"login\",\"lane\":\"%s\",\"exp\":%lld%s}", lane,
             (long long)router_wall_s() + 60, more);
    return claim_text("{\"alg\":\"HS256\",\"kid\":\"shop\"}", payload, NULL);
}

/* Joins; more: members of the body, each with a comma before it. */
static int join(const char *jwt, const char *more)
{
    char body[3000];

    snprintf(body, sizeof(body), "{\"claim\":\"%s\"%s}", jwt, more);
    return call("POST", "/v1/queues/login/tickets", body);
}

Test(claim_http, a_good_claim_opens_its_lane)
{
    cr_assert_eq(join(claim("vip", ""), ""), 201, "%s", got);
    cr_expect_str_eq(str("lane"), "vip");
    cr_expect_eq(w.last_append.seg, 3);
    cr_expect_eq(join(claim("vip", ""), ",\"lane\":\"vip\",\"client\":\"mobile\""), 201);
    cr_expect_eq(w.last_append.client, CLIENT_MOBILE);
    cr_expect_eq(join(claim("default", ""), ""), 201);
    cr_expect_eq(w.last_append.seg, 1);
    cr_expect_eq(w.r->counts.claims, 3);
}

/* Joins login and rides with a claim; aud, more: as JSON. */
static int join_both(const char *aud, const char *more)
{
    char payload[500], body[3000];

    w.cfg.join_groups = true;
    second_queue = true;
    send_map(0, 6, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 6);
    snprintf(payload, sizeof(payload), "{\"aud\":%s,\"lane\":\"default\",\"exp\":%lld%s}", aud,
             (long long)router_wall_s() + 60, more);
    snprintf(body, sizeof(body), "{\"queues\":[\"login\",\"rides\"],\"claim\":\"%s\"}",
             claim_text("{\"alg\":\"HS256\",\"kid\":\"shop\"}", payload, NULL));
    return call_with("POST", "/v1/places", "Content-Type: application/json\r\nIdempotency-Key: 0123456789abcdef\r\n", body);
}

Test(claim_http, a_claim_names_the_person_of_a_group)
{
    cr_expect_eq(join_both("[\"login\",\"rides\"]", ",\"sub\":\"anna\""), 201, "%s", got);
    cr_expect_eq(w.appends, 2);
    cr_expect_str_eq(w.last_subject, "anna", "a key is not needed");
    cr_expect_eq(join_both("\"login\"", ",\"sub\":\"anna\""), 403);
    cr_expect_str_eq(str("detail"), "none of the queues was joined, for rides: the claim is not for this queue (aud)");
    cr_expect_eq(join_both("[\"login\",\"rides\"]", ",\"replaces\":\"" "0000000000000000000000000000000000000000000000000000000" "\""), 403);
    cr_expect_eq(w.appends, 2);
    cr_expect_eq(join_both("[\"login\",\"rides\"]", ",\"sub\":\"known\""), 201, "%s", got);
    cr_expect_eq(w.drops, 0, "places of that name are found");
    cr_expect_eq(join_both("[\"login\",\"rides\"]", ""), 201);
    cr_expect_eq(strlen(w.last_subject), 33, "without a name by the key");
    second_queue = false;
}

Test(claim_http, a_refused_claim_is_told_why)
{
    static const struct {
        const char *lane, *more, *body, *why;
    } rows[] = {
        { "vip", "", ",\"lane\":\"default\"", "the claim is for another lane" },
        { "gold", "", "", "this queue does not have that lane" },
        { "vip", ",\"sub\":\"anna\"", ",\"subject\":\"bob\"",
          "the claim is for another subject (sub)" },
        { "vip", ",\"iat\":9999999999", "", "the claim is from the future (nbf, iat)" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cr_expect_eq(join(claim(rows[i].lane, rows[i].more), rows[i].body), 403);
        cr_expect_str_eq(str("code"), "not_eligible");
        cr_expect_str_eq(str("detail"), rows[i].why);
    }
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", "{\"lane\":\"vip\"}"), 403);
    cr_expect_str_eq(str("detail"), "this lane needs a signed claim");
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", "{\"claim\":7}"), 400);
    cr_expect_eq(w.appends, 0, "no segment was asked");
    cr_expect_eq(w.r->counts.claims_refused, 4);
}

/* The fake node lets its tickets wait in both lanes. */
Test(claim_http, a_claim_replaces_a_ticket)
{
    char more[100], old[60];
    unsigned drops;

    cr_assert_eq(join(claim("default", ""), ""), 201, "%s", got);
    snprintf(old, sizeof(old), "%s", str("token"));
    snprintf(more, sizeof(more), ",\"replaces\":\"%s\"", old);
    drops = w.drops;
    cr_assert_eq(join(claim("vip", more), ""), 201, "%s", got);
    cr_expect_str_eq(str("lane"), "vip");
    cr_expect_eq(w.last_append.seg, 3);
    cr_expect_eq(w.last_append.old_seg, 1);
    cr_expect_eq(w.last_append.subject_len, 33, "a key, for those who try again");
    cr_expect_eq(w.drops, drops + 1);
    cr_expect_eq(join(claim("default", more), ""), 200, "it is there already");
    cr_expect_str_eq(str("token"), old);
    cr_expect_eq(w.drops, drops + 1);
    more[20] ^= 1;
    cr_expect_eq(join(claim("vip", more), ""), 403);
    cr_expect_str_eq(str("detail"), "the claim's replaces is not a ticket of ours");
}

Test(claim_http, a_claim_binds_the_subject)
{
    cr_expect_eq(join(claim("vip", ",\"sub\":\"anna\""), ""), 201);
    cr_expect_str_eq(w.last_subject, "anna");
    cr_expect_eq(join(claim("vip", ",\"sub\":\"anna\""), ",\"subject\":\"anna\""), 201);
    cr_expect_eq(join(claim("vip", ""), ",\"subject\":\"bob\""), 201);
    cr_expect_str_eq(w.last_subject, "bob");
}

/* Else whoever knows anna's name would be given her place, and her pass. */
Test(claim_http, subject_needs_claim_refuses_bare_subjects)
{
    w.cfg.subject_needs_claim = true;
    router_reload(w.r);
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", "{\"subject\":\"anna\"}"), 403);
    cr_expect_str_eq(str("code"), "not_eligible");
    cr_expect_str_eq(str("detail"), "a subject needs a signed claim that names it (sub)");
    cr_expect_eq(join(claim("vip", ""), ",\"subject\":\"anna\""), 403);
    cr_expect_eq(join(claim("default", ""), ",\"subject\":\"anna\""), 403);
    cr_expect_eq(w.appends, 0, "no segment was asked");
    cr_expect_eq(join(claim("default", ",\"sub\":\"anna\""), ",\"subject\":\"anna\""), 201);
    cr_expect_str_eq(w.last_subject, "anna");
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", "{}"), 201, "who has no name");
    w.cfg.subject_needs_claim = false;
    router_reload(w.r);
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", "{\"subject\":\"bob\"}"), 201);
}

/* A new secret works after HUP; a broken file changes nothing. */
Test(claim_http, keys_are_read_again)
{
    const char *old = strdup(claim("vip", ""));

    write_claim_key("too short\n");
    router_reload(w.r);
    cr_expect_eq(join(old, ""), 201, "kept");
    write_claim_key("another secret of 32 characters!");
    router_reload(w.r);
    cr_expect_eq(join(old, ""), 403);
    cr_expect_str_eq(str("detail"), "the claim's signature is wrong");
    free((char *)old);
}

/* ---- the page ---- */

static const char *header(const char *name)
{
    static char v[3000];
    char key[80], *at;

    snprintf(key, sizeof(key), "\r\n%s: ", name);
    at = strstr(got, key);
    snprintf(v, sizeof(v), "%.*s", at != NULL ? (int)strcspn(at + strlen(key), "\r") : 0,
             at != NULL ? at + strlen(key) : "");
    return v;
}

/* As a browser that goes there. */
static int visit(const char *method, const char *path, const char *fields,
                 const char *form)
{
    char all[600];

    snprintf(all, sizeof(all), "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n%s",
             fields);
    return call_with(method, path, all, form);
}

static const char *cookie(uint32_t number, seg_id seg)
{
    static char line[200];

    snprintf(line, sizeof(line), "Cookie: segq_ticket=%s\r\n",
             ticket_path(number, seg) + 12);
    return line;
}

Test(claim_http, the_page_accepts_a_claim_and_drops_it_from_the_url)
{
    char path[3000];

    snprintf(path, sizeof(path), "/q/login?claim=%s&return=/shop?a=1", claim("vip", ""));
    cr_assert_eq(visit("GET", path, "", ""), 303);
    cr_expect_eq(w.last_append.seg, 3);
    cr_expect(strstr(header("Set-Cookie"), "segq_ticket=") == header("Set-Cookie"));
    cr_expect_str_eq(header("Location"), "/q/login?r=1&return=%2Fshop%3Fa%3D1");
    cr_expect_eq(visit("GET", path, cookie(9, 3), ""), 303, "it is in this lane already");
    cr_expect_eq(w.appends, 1);
    cr_expect_eq(visit("GET", path, cookie(9, 1), ""), 303, "it was in another");
    cr_expect_eq(w.appends, 2);
    cr_expect_eq(w.last_append.seg, 3);
}

/* A link with a claim is sent by mail and chat, which look at it before anybody does. */
Test(claim_http, a_preview_of_its_link_joins_nobody)
{
    char path[3000], field[3000];

    snprintf(path, sizeof(path), "/q/login?claim=%s&return=/shop", claim("vip", ""));
    cr_assert_eq(call_with("GET", path, "", ""), 200);
    cr_expect_eq(w.appends, 0);
    snprintf(field, sizeof(field), "name=\"claim\" value=\"%s\"", claim("vip", ""));
    cr_expect(strstr(got, field) != NULL, "the button has it");
    cr_expect_eq(call_with("GET", "/q/login?claim=x.y.z", "", ""), 403);
}

Test(claim_http, the_page_refuses_a_bad_claim)
{
    cr_expect_eq(visit("GET", "/q/login?claim=x.y.z", "", ""), 403);
    cr_expect(strstr(got, "This invitation is not valid any more"), "%s", got);
    cr_expect(strstr(got, "action=\"/q/login/join\""), "the ordinary line is open to it");
    cr_expect_eq(w.appends, 0);
    cr_expect_eq(visit("GET", "/q/login?claim=x.y.z", cookie(9, 1), ""), 200,
                 "its place is kept");
    cr_expect_eq(visit("GET", "/q/login?return=/shop?a=1&claim=x", "", ""), 200,
                 "that one is the shop's");
    cr_expect_eq(w.appends, 1);
}

Test(claim_http, form_join_accepts_a_claim)
{
    char form[3000];

    snprintf(form, sizeof(form), "return=%%2Fshop&claim=%s",
             claim("vip", ",\"sub\":\"anna\""));
    cr_expect_eq(visit("POST", "/q/login/join", cookie(9, 1), form), 303);
    cr_expect_eq(w.last_append.seg, 3);
    cr_expect_str_eq(w.last_subject, "anna");
    cr_expect_str_eq(header("Location"), "/q/login?r=1&return=%2Fshop");
    cr_expect_eq(visit("POST", "/q/login/join", "", "claim=x"), 403);
    cr_expect_eq(w.appends, 1);
}

/* test_device_http.c: tickets and passes that work only with the device that joined, at a whole router:
 * over the API, at the page, at the gate. */
#include "router/gate/proof.h"
#include "tests/lib/claimrig.h"
#include "tests/lib/passrig.h"
#include "tests/lib/proofs.h"

static void set_up(void)
{
    queue_binds = BIND_DEVICE;
    queue_moved = NULL;
    pass_setup();
}

TestSuite(device_http, .init = set_up, .fini = teardown, .timeout = 60);

#define JOINS  "/v1/queues/login/tickets"
#define COOKIE "segq_device_login"
#define SECRET "AAECAwQFBgcICQoLDA0ODw"

/* The cookie that the last answer sets; "": none. */
static const char *cookie(void)
{
    static char v[DEVICE_LEN + 1];
    const char *at = strstr(got, "\r\nSet-Cookie: " COOKIE "=");

    v[0] = '\0';
    if (at != NULL)
        snprintf(v, sizeof(v), "%s", at + strlen("\r\nSet-Cookie: " COOKIE "="));
    return v;
}

static const char *with(const char *secret)
{
    static char line[200];

    snprintf(line, sizeof(line), "Cookie: a=b; " COOKIE "=%s\r\n", secret);
    return line;
}

/* Path of the ticket that the last answer is about. */
static const char *path(void)
{
    static char p[100];

    snprintf(p, sizeof(p), "/v1/tickets/%s", str("token"));
    return p;
}

static void new_map(uint64_t version)
{
    send_map(version - 1, version, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == version);
}

Test(device_http, a_ticket_works_with_the_cookie_of_its_join)
{
    char secret[DEVICE_LEN + 1], mine[100];

    cr_assert_eq(call("POST", JOINS, ""), 201, "%s", got);
    strcpy(secret, cookie());
    strcpy(mine, path());
    cr_assert(device_text_ok(secret, strlen(secret)));
    cr_expect_not_null(strstr(got, "; Path=/; HttpOnly; SameSite=Lax\r\n"));
    cr_expect_eq(call_with("GET", mine, with(secret), ""), 200, "%s", got);
    cr_expect_eq(num("position"), 0, "the made-up node's: its number is 0");
    cr_expect_eq(call("GET", mine, ""), 403);
    cr_expect_str_eq(str("code"), "other_device");
    cr_expect_str_eq(str("ticket"), "1-0");
    cr_expect_eq(call_with("GET", mine, with(SECRET), ""), 403);
    cr_expect_eq(call_with("GET", mine, with("short"), ""), 403);
    cr_expect_eq(call("DELETE", mine, ""), 403);
    cr_expect_eq(w.drops, 0, "its place is kept");
    strcat(mine, "/events");
    cr_expect_eq(call("GET", mine, ""), 403);
    cr_expect_eq(w.r->counts.other_device, 5);
    mine[strlen(mine) - strlen("/events")] = '\0';
    cr_expect_eq(call_with("DELETE", mine, with(secret), ""), 204);
}

/* Who copied a ticket is told of its turn as little as it may poll, and takes no word away. */
Test(device_http, another_device_says_no_contact)
{
    char secret[DEVICE_LEN + 1], mine[100];

    w.turn_queue = "gen";
    new_map(6);
    cr_assert_eq(call("POST", JOINS, ""), 201, "%s", got);
    strcpy(secret, cookie());
    snprintf(mine, sizeof(mine), "%s/contact", path());
    cr_expect_eq(call("PUT", mine, "{\"contact\":\"eve\"}"), 403);
    cr_expect_str_eq(str("code"), "other_device");
    cr_expect_eq(call("DELETE", mine, ""), 403);
    cr_expect_eq(w.n_contacts, 0);
    cr_expect_eq(call_with("PUT", mine, with(secret), "{\"contact\":\"anna\"}"), 204, "%s", got);
    cr_expect_eq(w.contact.claim_ms, 240000);
    cr_expect_eq(call_with("DELETE", mine, with(secret), ""), 204);
    cr_expect_eq(w.n_contacts, 2);
}

Test(device_http, a_cookie_that_is_there_is_used_again)
{
    static const char line[] = "Cookie: " COOKIE "=rubbish\r\nCookie: " COOKIE "=" SECRET "\r\n";
    char mine[100];

    cr_assert_eq(call_with("POST", JOINS, with(SECRET), ""), 201);
    strcpy(mine, path());
    cr_expect_str_eq(cookie(), SECRET);
    cr_expect_eq(call_with("GET", mine, line, ""), 200, "of another path or domain");
    cr_expect_eq(w.r->counts.other_device, 0);
}

Test(device_http, the_same_join_again_is_the_same_device)
{
    static const char key[] = "Idempotency-Key: 0123456789abcdef\r\n";
    char first[DEVICE_LEN + 1];

    cr_assert_eq(call_with("POST", JOINS, key, ""), 201);
    strcpy(first, cookie());
    cr_assert_eq(call_with("POST", JOINS, key, ""), 201);
    cr_expect_str_eq(cookie(), first, "its answer was lost");
    cr_assert_eq(call_with("POST", JOINS, "Idempotency-Key: 0123456789abcdeg\r\n", ""), 201);
    cr_expect_str_neq(cookie(), first);
    cr_assert_eq(call_with("POST", JOINS, key, "{\"subject\":\"ann\"}"), 201);
    strcpy(first, cookie());
    cr_assert_eq(call_with("POST", JOINS, key, "{\"subject\":\"ann\"}"), 201);
    cr_expect_str_eq(cookie(), first);
}

Test(device_http, what_is_kept_of_it_has_the_id)
{
    char id[DEVICE_LEN + 1], want[100];

    device_id(SECRET, id);
    cr_assert_eq(call_with("POST", JOINS, with(SECRET), "{\"subject\":\"ann\"}"), 201);
    snprintf(want, sizeof(want), "\x02%c-  %sann", 3 + DEVICE_LEN, id);
    cr_expect_str_eq(w.last_subject, want);
    cr_assert_eq(call_with("POST", "/v1/queues/login/tasks", with(SECRET),
                           "{\"kind\":\"permit\",\"htm\":\"GET\",\"htu\":\"/a\"}"), 201);
    snprintf(want, sizeof(want), "\x02%c-GET /a %s", 8 + DEVICE_LEN, id);
    cr_expect_str_eq(w.last_subject, want);
    cr_expect_neq(w.last_append.subject_hash, 0);
}

Test(device_http, a_head_that_is_too_long_is_refused)
{
    char body[300], htu[101];

    memset(htu, 'a', 100);
    htu[0] = '/';
    htu[100] = '\0';
    snprintf(body, sizeof(body), "{\"kind\":\"permit\",\"htm\":\"GET\",\"htu\":\"%s\"}", htu);
    cr_expect_eq(call("POST", "/v1/queues/login/tasks", body), 400);
    htu[80] = '\0';
    snprintf(body, sizeof(body), "{\"kind\":\"permit\",\"htm\":\"GET\",\"htu\":\"%s\"}", htu);
    cr_expect_eq(call("POST", "/v1/queues/login/tasks", body), 201, "%s", got);
}

Test(device_http, a_place_that_another_device_has_by_that_name_is_refused)
{
    cr_expect_eq(call("POST", JOINS, "{\"subject\":\"alien\"}"), 403);
    cr_expect_str_eq(str("code"), "other_device");
    cr_expect_str_eq(cookie(), "");
}

Test(device_http, without_bind_nothing_is_asked_of_it)
{
    char mine[100];

    cr_assert_eq(call("POST", JOINS, ""), 201);
    strcpy(mine, path());
    cr_expect_eq(call("GET", mine, ""), 403);
    queue_binds = BIND_NONE;
    new_map(6);
    cr_expect_eq(call("GET", mine, ""), 200, "the operator has changed it");
    cr_assert_eq(call("POST", JOINS, ""), 201);
    cr_expect_str_eq(cookie(), "");
    strcpy(mine, path());
    queue_binds = BIND_DEVICE;
    new_map(7);
    cr_expect_eq(call("GET", mine, ""), 200, "a ticket from before works with any");
}

/* ---- another device takes it over ---- */

Test(device_http, the_next_device_takes_a_ticket_over_once)
{
    char mine[100], secret[DEVICE_LEN + 1], taker[DEVICE_LEN + 1], line[100], id[DEVICE_LEN + 1];

    cr_assert_eq(call("POST", JOINS, ""), 201);
    strcpy(secret, cookie());
    strcpy(mine, path());
    queue_moved = "1-9 1000 -\n1-0 4000000000 -\n";
    new_map(6);
    cr_expect_eq(call_with("GET", mine, with(secret), ""), 200, "it has it until then");
    cr_expect_str_eq(w.device, "");
    cr_expect_eq(call("GET", mine, ""), 503);
    strcpy(taker, cookie());
    cr_assert_eq(strlen(taker), DEVICE_LEN);
    device_id(taker, id);
    UNTIL(w.device[0] != '\0');
    snprintf(line, sizeof(line), "1-0 %s", id);
    cr_expect_str_eq(w.device, line, "the manager is told");
    cr_expect_eq(call_with("GET", mine, with(SECRET), ""), 503, "nobody has it yet");
    cr_expect_str_eq(cookie(), SECRET);
    snprintf(line, sizeof(line), "1-0 4000000000 %s\n", id);
    queue_moved = line;
    new_map(7);
    cr_expect_eq(call_with("GET", mine, with(taker), ""), 200);
    cr_expect_eq(call_with("GET", mine, with(secret), ""), 403, "the old one has lost it");
    cr_expect_eq(call_with("GET", mine, with(SECRET), ""), 403, "the other one was late");
    snprintf(line, sizeof(line), "1-0 4000000000 -%s\n", id);
    new_map(8);
    w.device[0] = '\0';
    cr_expect_eq(call_with("GET", mine, with(taker), ""), 200, "open again: who has it keeps it");
    cr_expect_str_eq(w.device, "", "and takes nothing over from itself");
    cr_expect_eq(call_with("GET", mine, with(secret), ""), 503, "whoever had it before is any other one");
    snprintf(line, sizeof(line), "1-0 1000 -%s\n", id);
    new_map(9);
    cr_expect_eq(call_with("GET", mine, with(taker), ""), 200, "nobody came for it");
    cr_expect_eq(call_with("GET", mine, with(secret), ""), 403);
    queue_moved = "1-0 1000 -\n";
    new_map(10);
    cr_expect_eq(call_with("GET", mine, with(SECRET), ""), 403, "too late");
    cr_expect_eq(call_with("GET", mine, with(secret), ""), 200);
}

Test(device_http, a_pass_and_a_name_go_with_the_ticket)
{
    struct bound b = { .device = "AAAAAAAAAAAAAAAAAAAAAA" };
    int64_t now = router_wall_s();
    struct pass_claims c = { .iss = "segq", .aud = "login", .lane = "default", .seg = 1, .number = 0,
                             .iat_s = now, .exp_s = now + 300, .bound = &b };
    char lines[2000], id[DEVICE_LEN + 1], line[100];

    device_id(SECRET, id);
    snprintf(line, sizeof(line), "1-0 4000000000 %s\n", id);
    snprintf(lines, sizeof(lines), "Cookie: segq_pass=%s; " COOKIE "=" SECRET "\r\n", pass_of(&c));
    cr_expect_eq(call_with("GET", "/v1/verify?queue=login", lines, ""), 403);
    queue_moved = line;
    new_map(6);
    cr_expect_eq(call_with("GET", "/v1/verify?queue=login", lines, ""), 204);
    cr_expect_eq(call_with("POST", JOINS, with(SECRET), "{\"subject\":\"alien\"}"), 200, "%s", got);
}

/* ---- the page ---- */

#define LOOKS "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"

Test(device_http, the_page_shows_its_own_place_only)
{
    char secret[DEVICE_LEN + 1], token[TOKEN_TEXT_LEN + 1], line[400];

    cr_assert_eq(call_with("GET", "/q/login", LOOKS, ""), 200);
    strcpy(secret, cookie());
    cr_assert_eq(strlen(secret), DEVICE_LEN);
    snprintf(token, sizeof(token), "%s", strstr(got, "Set-Cookie: segq_ticket=") + strlen("Set-Cookie: segq_ticket="));
    snprintf(line, sizeof(line), LOOKS "Cookie: segq_ticket=%s; " COOKIE "=%s\r\n", token, secret);
    cr_expect_eq(call_with("GET", "/q/login", line, ""), 200);
    cr_expect_not_null(strstr(got, "class=\"waiting"));
    snprintf(line, sizeof(line), LOOKS "Cookie: segq_ticket=%s\r\n", token);
    cr_expect_eq(call_with("GET", "/q/login", line, ""), 403);
    cr_expect_not_null(strstr(got, "class=\"other_device\""));
    cr_expect_not_null(strstr(got, "<code>1-0</code>"));
    cr_expect_eq(w.appends, 1, "nobody joins by looking");
    snprintf(line, sizeof(line), LOOKS "Cookie: segq_ticket=%s\r\nSec-Fetch-Site: same-origin\r\n", token);
    cr_expect_eq(call_with("POST", "/q/login/leave", line, "token="), 303);
    cr_expect_eq(w.drops, 0);
    cr_expect_eq(call_with("POST", "/q/login/join", line, "key=0123456789abcdef"), 303);
    cr_expect_eq(w.appends, 2, "a place of its own");
    cr_expect_eq(strlen(cookie()), DEVICE_LEN);
}

Test(device_http, a_link_takes_a_ticket_over_at_the_page)
{
    char token[TOKEN_TEXT_LEN + 1] = { 0 }, secret[DEVICE_LEN + 1], page[200], line[400];
    struct token t = { .seg = 1, .number = 7, .client = CLIENT_BROWSER, .device = 1 };

    token_write(&t, &w.r->keys.token, token);
    snprintf(page, sizeof(page), "/q/login?take=%s", token);
    cr_expect_eq(call_with("GET", page, LOOKS, ""), 403, "it is not open");
    queue_moved = "1-7 4000000000 -\n";
    new_map(6);
    snprintf(line, sizeof(line), "Set-Cookie: segq_ticket=%s;", token);
    cr_expect_eq(call("GET", page, ""), 303, "a preview of the link takes nothing over");
    cr_expect_str_eq(cookie(), "");
    cr_expect_not_null(strstr(got, line));
    cr_expect_not_null(strstr(got, "\r\nLocation: /q/login"));
    cr_expect_eq(call("GET", "/q/login", ""), 200, "that has no cookies: the door");
    cr_expect_str_eq(cookie(), "");
    cr_expect_eq(call_with("GET", page, LOOKS, ""), 503);
    strcpy(secret, cookie());
    cr_expect_eq(strlen(secret), DEVICE_LEN);
    cr_expect_not_null(strstr(got, line));
    snprintf(line, sizeof(line), "Cookie: segq_ticket=%s\r\n", token);
    cr_expect_eq(call_with("GET", "/q/login", line, ""), 503, "a browser over http has them");
    cr_expect_eq(strlen(cookie()), DEVICE_LEN);
    cr_expect_eq(w.appends, 0);
}

/* ---- the gate ---- */

Test(device_http, a_pass_is_let_in_with_its_device)
{
    struct bound b = { 0 };
    int64_t now = router_wall_s();
    struct pass_claims c = { .iss = "segq", .aud = "login", .lane = "default", .seg = 1, .number = 5,
                             .iat_s = now, .exp_s = now + 300, .bound = &b };
    char line[2000];
    const char *pass;

    device_id(SECRET, b.device);
    pass = pass_of(&c);
    w.cfg.replica_fresh = 250;
    snprintf(line, sizeof(line), "Cookie: segq_pass=%s; " COOKIE "=" SECRET "\r\n", pass);
    cr_expect_eq(call_with("GET", "/v1/verify?queue=login", line, ""), 204);
    cr_expect_null(strstr(got, "X-Segq-Keep"), "no gate gives this by itself");
    snprintf(line, sizeof(line), "\r\nX-Segq-Device: %s\r\n", b.device);
    cr_expect_not_null(strstr(got, line), "the site knows which: %s", got);
    snprintf(line, sizeof(line), "Cookie: segq_pass=%s; " COOKIE "=" SECRET "\r\n", pass);
    cr_expect_eq(call_with("GET", "/v1/verify?queue=login", line, ""), 204);
    cr_expect_eq(w.r->counts.pass_checks, 1, "its signature is remembered");
    snprintf(line, sizeof(line), "Cookie: segq_pass=%s\r\n", pass);
    cr_expect_eq(call_with("GET", "/v1/verify?queue=login", line, ""), 403);
    cr_expect_str_eq(str("code"), "other_device");
    cr_expect_eq(call_with("POST", "/v1/session", line, "command=release"), 403);
    cr_expect_eq(w.n_sess, 0);
    challenged.mode = CHALLENGE_ON;
    challenged.keys = 1024;
    new_map(6);
    cr_expect_eq(call_with("POST", JOINS, line, ""), 428, "a copied pass spares nobody the work");
    snprintf(line, sizeof(line), "Cookie: segq_pass=%s; " COOKIE "=" SECRET "\r\n", pass);
    cr_expect_eq(call_with("POST", JOINS, line, ""), 201);
    challenged.mode = CHALLENGE_OFF;
    snprintf(line, sizeof(line), "Cookie: segq_pass=%s\r\n", pass);
    strcpy(w.r->gate_secret.text, "0123456789abcdef");
    w.r->gate_secret.n = 16;
    strcat(line, "X-Segq-Gate-Secret: 0123456789abcdef\r\n");
    cr_expect_eq(call_with("GET", "/v1/verify?queue=login&explain=1", line, ""), 200);
    cr_expect_str_eq(str("verdict"), "room", "as without explain");
    cr_expect_str_eq(str("pass"), "the pass works only with the device that joined");
    snprintf(line, sizeof(line), "Cookie: segq_pass=%s; " COOKIE "=%.21sg\r\n", pass, SECRET);
    cr_expect_eq(call_with("GET", "/v1/verify?queue=login", line, ""), 403);
    queue_binds = BIND_NONE;
    new_map(7);
    cr_expect_eq(call_with("GET", "/v1/verify?queue=login", line, ""), 204);
    cr_expect_null(strstr(got, "X-Segq-Device"), "any device may show it");
}

/* ---- bind: key ---- */

static struct proof_key keys[2];

static void keyed_set_up(void)
{
    claim_secret = CLAIM_SECRET "\n";
    set_up();
    queue_binds = BIND_KEY;
    new_map(6);
    proof_key_new(&keys[0]);
    proof_key_new(&keys[1]);
}

static void keyed_tear_down(void)
{
    EVP_PKEY_free(keys[0].pair);
    EVP_PKEY_free(keys[1].pair);
    teardown();
}

TestSuite(keyed_http, .init = keyed_set_up, .fini = keyed_tear_down, .timeout = 60);

/* The cookie that the last answer sets: a key's. */
static const char *keyed_cookie(void)
{
    static char v[2 * DEVICE_LEN + 2];
    const char *at = strstr(got, "\r\nSet-Cookie: " COOKIE "=");

    cr_assert_not_null(at, "%s", got);
    snprintf(v, sizeof(v), "%s", at + strlen("\r\nSet-Cookie: " COOKIE "="));
    cr_assert(v[DEVICE_LEN] == '.' && strcspn(v, ";") == sizeof(v) - 1, "%s", v);
    return v;
}

/* Is it a secret's? */
static bool got_secret(void)
{
    const char *at = strstr(got, "\r\nSet-Cookie: " COOKIE "=");

    return at != NULL && at[strlen("\r\nSet-Cookie: " COOKIE "=") + DEVICE_LEN] == ';';
}

static const char *nonce_of_answer(void)
{
    static char v[DEVICE_LEN + 1];
    const char *at = strstr(got, "\r\nDPoP-Nonce: ");

    cr_assert_not_null(at, "%s", got);
    snprintf(v, sizeof(v), "%s", at + strlen("\r\nDPoP-Nonce: "));
    return v;
}

/* A POST there that k proves; the nonce is that of a first one without. */
static int prove(const struct proof_key *k, const char *where, const char *lines, const char *body)
{
    static char all[3000];

    cr_assert_eq(call_with("POST", where, "DPoP: none\r\n", body), 401, "%s", got);
    cr_assert_str_eq(str("code"), "proof_required");
    cr_assert_not_null(strstr(got, "\r\nWWW-Authenticate: DPoP "), "%s", got);
    snprintf(all, sizeof(all), "%sDPoP: %s\r\n", lines, proof_of(k, proof_head(k), proof_body(where, nonce_of_answer())));
    return call_with("POST", where, all, body);
}

/* That cookie, as it was then. */
static const char *aged(const char *keyed, int64_t s)
{
    static char v[2 * DEVICE_LEN + 2];

    snprintf(v, sizeof(v), "%.*s.", DEVICE_LEN, keyed);
    stamp_put(&w.r->keys.token, v, router_wall_s() - s, v + DEVICE_LEN + 1);
    return with(v);
}

Test(keyed_http, a_ticket_works_with_the_key_of_its_join)
{
    char mine[100], device[120], cookies[100], id[DEVICE_LEN + 1] = "";

    cr_assert_eq(prove(&keys[0], JOINS, "", ""), 201, "%s", got);
    strcpy(cookies, keyed_cookie());
    strcpy(mine, path());
    memcpy(id, cookies, DEVICE_LEN);
    cr_expect_not_null(strstr(w.last_subject, id), "its pass will have the key's id");
    cr_expect_eq(call_with("GET", mine, with(cookies), ""), 200, "%s", got);
    cr_expect_eq(call_with("GET", mine, aged(cookies, 599), ""), 200);
    cr_expect_eq(call_with("GET", mine, aged(cookies, 602), ""), 401, "the key must be proved anew");
    cr_expect_str_eq(str("code"), "proof_required");
    cr_expect_eq(strlen(nonce_of_answer()), DEVICE_LEN);
    cr_expect_eq(call_with("GET", mine, aged(cookies, -61), ""), 401, "from a clock that is wrong");
    cr_expect_eq(call_with("DELETE", mine, aged(cookies, 602), ""), 401);
    cr_expect_eq(w.drops, 0);
    cr_expect_eq(w.r->counts.other_device, 0, "it is no other one");
    snprintf(device, sizeof(device), "%s/device", mine);
    cr_expect_eq(prove(&keys[0], device, aged(cookies, 602), ""), 204, "%s", got);
    cr_expect_eq(strlen(nonce_of_answer()), DEVICE_LEN, "for the next time");
    cr_expect_eq(call_with("GET", mine, with(keyed_cookie()), ""), 200);
    cr_expect_eq(prove(&keys[0], device, "", ""), 204, "the cookie was lost, the key was not");
    cr_expect_eq(prove(&keys[1], device, with(cookies), ""), 403);
    cr_expect_str_eq(str("code"), "other_device");
    cr_expect_null(strstr(got, "Set-Cookie"));
    cr_expect_eq(call("POST", device, ""), 401);
    cr_expect_eq(call("GET", device, ""), 405);
}

/* The id of a key is public: it stands in passes and proofs. */
Test(keyed_http, nobody_has_a_key_by_its_id)
{
    char mine[100], cookies[100], forged[100], own[100];

    cr_assert_eq(prove(&keys[0], JOINS, "", ""), 201);
    strcpy(cookies, keyed_cookie());
    strcpy(mine, path());
    snprintf(forged, sizeof(forged), "%.*s", DEVICE_LEN, cookies);
    cr_expect_eq(call_with("GET", mine, with(forged), ""), 403, "not as a secret");
    cr_expect_eq(call_with("POST", JOINS, with(forged), ""), 201);
    cr_expect_str_eq(cookie(), forged, "that is a device of its own");
    cr_expect_eq(call_with("GET", mine, with(cookie()), ""), 403);
    cr_assert_eq(prove(&keys[1], JOINS, "", ""), 201);
    strcpy(own, keyed_cookie());
    snprintf(forged, sizeof(forged), "%.*s%s", DEVICE_LEN, cookies, own + DEVICE_LEN);
    cr_expect_eq(call_with("GET", mine, with(forged), ""), 403, "nor with another one's stamp");
    cr_expect_eq(call_with("GET", mine, with(own), ""), 403);
    cr_expect_eq(call_with("POST", JOINS, aged(cookies, 602), ""), 201);
    cr_expect(cookie()[0] != '\0' && strncmp(cookie(), cookies, DEVICE_LEN) != 0, "an old cookie gets no fresh one");
}

Test(keyed_http, a_proof_is_for_one_ticket)
{
    char first[100], second[120], all[3000];
    const char *proof;

    cr_assert_eq(prove(&keys[0], JOINS, "", ""), 201);
    snprintf(first, sizeof(first), "%s/device", path());
    cr_assert_eq(prove(&keys[0], JOINS, "", "{\"subject\":\"ann\"}"), 201);
    snprintf(second, sizeof(second), "%s/device", path());
    cr_assert_str_neq(first, second);
    cr_assert_eq(call("POST", first, ""), 401);
    proof = proof_of(&keys[0], proof_head(&keys[0]), proof_body(first, nonce_of_answer()));
    snprintf(all, sizeof(all), "DPoP: %s\r\n", proof);
    cr_expect_eq(call_with("POST", second, all, ""), 401);
    cr_expect_eq(call_with("POST", JOINS, all, ""), 401, "nor for a join");
    cr_expect_eq(call_with("POST", first, all, ""), 204);
    cr_expect_eq(call_with("POST", first, all, ""), 204, "a second time it gives the same");
    snprintf(all, sizeof(all), "DPoP: %s\r\nDPoP: %s\r\n", proof, proof);
    cr_expect_eq(call_with("POST", first, all, ""), 401, "two are none");
}

Test(keyed_http, without_a_key_the_cookie_will_do)
{
    char secret[DEVICE_LEN + 1], mine[100], device[120];

    cr_assert_eq(call("POST", JOINS, ""), 201);
    strcpy(secret, cookie());
    cr_assert_eq(strlen(secret), DEVICE_LEN);
    strcpy(mine, path());
    cr_expect_eq(call_with("GET", mine, with(secret), ""), 200);
    cr_expect_eq(call("GET", mine, ""), 403);
    snprintf(device, sizeof(device), "%s/device", mine);
    cr_expect_eq(prove(&keys[0], device, with(secret), ""), 403, "no key is its");
    queue_binds = BIND_DEVICE;
    new_map(7);
    cr_expect_eq(call("POST", device, ""), 409, "no queue of keys");
    cr_expect_eq(call_with("POST", JOINS, "DPoP: none\r\n", ""), 201);
    cr_expect_eq(strlen(cookie()), DEVICE_LEN);
}

Test(keyed_http, a_claim_replaces_a_ticket_whose_key_was_proved)
{
    char cookies[100], lines[400], payload[300], body[3000];

    cr_assert_eq(prove(&keys[0], JOINS, "", ""), 201);
    strcpy(cookies, keyed_cookie());
    snprintf(payload, sizeof(payload), "{\"aud\":\"login\",\"lane\":\"vip\",\"exp\":%lld,\"replaces\":\"%s\"}",
             (long long)router_wall_s() + 60, str("token"));
    snprintf(body, sizeof(body), "{\"claim\":\"%s\"}", claim_text("{\"alg\":\"HS256\",\"kid\":\"shop\"}", payload, NULL));
    cr_expect_eq(call("POST", JOINS, body), 403);
    cr_expect_str_eq(str("detail"), "the ticket that the claim replaces works only with the device that joined");
    snprintf(lines, sizeof(lines), "%s", aged(cookies, 602));
    cr_expect_eq(call_with("POST", JOINS, lines, body), 403);
    cr_expect_not_null(strstr(str("detail"), "proved"), "%s", str("detail"));
    cr_expect_eq(w.drops, 0);
    cr_expect_eq(call_with("POST", JOINS, with(cookies), body), 201, "%s", got);
}

/* Who has taken a ticket over has it by a cookie's secret. */
Test(keyed_http, a_ticket_that_was_taken_over_is_no_longer_the_key_s)
{
    char mine[100], device[120], cookies[100], id[DEVICE_LEN + 1], line[100];

    cr_assert_eq(prove(&keys[0], JOINS, "", ""), 201);
    strcpy(cookies, keyed_cookie());
    strcpy(mine, path());
    snprintf(device, sizeof(device), "%s/device", mine);
    queue_moved = "1-0 4000000000 -\n";
    new_map(7);
    cr_expect_eq(prove(&keys[0], device, "", ""), 204, "it has it until then");
    device_id(SECRET, id);
    snprintf(line, sizeof(line), "1-0 4000000000 %s\n", id);
    queue_moved = line;
    new_map(8);
    cr_expect_eq(prove(&keys[0], device, with(cookies), ""), 403);
    cr_expect_str_eq(str("code"), "other_device");
    cr_expect_null(strstr(got, "Set-Cookie"));
    cr_expect_eq(call_with("GET", mine, with(cookies), ""), 403);
    cr_expect_eq(call_with("GET", mine, with(SECRET), ""), 200);
}

Test(keyed_http, a_gate_takes_an_old_cookie)
{
    struct bound b = { 0 };
    int64_t now = router_wall_s();
    struct pass_claims c = { .iss = "segq", .aud = "login", .lane = "default", .seg = 1, .number = 5,
                             .iat_s = now, .exp_s = now + 300, .bound = &b };
    char line[2000], cookies[100];

    cr_assert_eq(prove(&keys[0], JOINS, "", ""), 201);
    strcpy(cookies, keyed_cookie());
    memcpy(b.device, cookies, DEVICE_LEN);
    snprintf(line, sizeof(line), "Cookie: segq_pass=%s\r\n%s", pass_of(&c), aged(cookies, 86400));
    cr_expect_eq(call_with("GET", "/v1/verify?queue=login", line, ""), 204, "pages there sign nothing");
    snprintf(line, sizeof(line), "Cookie: segq_pass=%s\r\n%s", pass_of(&c), with(b.device));
    cr_expect_eq(call_with("GET", "/v1/verify?queue=login", line, ""), 403);
}

/* What page.js and key.js do. */
Test(keyed_http, the_page_joins_with_a_key)
{
    char nonce[DEVICE_LEN + 1], body[2000], line[400], token[TOKEN_TEXT_LEN + 1], cookies[100];
    const char *at;

    cr_assert_eq(call_with("GET", "/q/login", LOOKS, ""), 200);
    cr_expect_not_null(strstr(got, "class=\"door\""));
    cr_expect_eq(w.appends, 0, "the script joins");
    at = strstr(got, "\"proof\":\"");
    cr_assert_not_null(at);
    snprintf(nonce, sizeof(nonce), "%s", at + strlen("\"proof\":\""));
    snprintf(body, sizeof(body), "key=0123456789abcdef&door=1&proof=%s",
             proof_of(&keys[0], proof_head(&keys[0]), proof_body("/q/login/join", nonce)));
    cr_expect_eq(call_with("POST", "/q/login/join", "Sec-Fetch-Site: same-origin\r\n", body), 303);
    cr_expect_eq(w.appends, 1);
    strcpy(cookies, keyed_cookie());
    at = strstr(got, "Set-Cookie: segq_ticket=");
    cr_assert_not_null(at);
    snprintf(token, sizeof(token), "%s", at + strlen("Set-Cookie: segq_ticket="));
    snprintf(line, sizeof(line), LOOKS "Cookie: segq_ticket=%s\r\n%s", token, with(cookies));
    cr_expect_eq(call_with("GET", "/q/login", line, ""), 200);
    cr_expect_not_null(strstr(got, "class=\"waiting"));
    snprintf(line, sizeof(line), LOOKS "Cookie: segq_ticket=%s\r\n%s", token, aged(cookies, 602));
    cr_expect_eq(call_with("GET", "/q/login", line, ""), 403, "the script proves, and comes again");
    cr_expect_not_null(strstr(got, "\"proof\":\""));
    snprintf(body, sizeof(body), "\"token\":\"%s\"", token);
    cr_expect_not_null(strstr(got, body));
    cr_expect_eq(w.r->counts.other_device, 0);
    snprintf(line, sizeof(line), "Sec-Fetch-Site: same-origin\r\nCookie: segq_ticket=%s\r\n%s", token, aged(cookies, 602));
    snprintf(body, sizeof(body), "token=%s", token);
    cr_expect_eq(call_with("POST", "/q/login/leave", line, body), 303);
    cr_expect_null(strstr(got, "left=1"), "it has not left: %s", got);
    cr_expect_eq(w.drops, 0);
    cr_expect_eq(call_with("POST", "/q/login/join", "Sec-Fetch-Site: same-origin\r\n", "key=0123456789abcdeg&proof=a.b.c"), 303);
    cr_expect(got_secret(), "a proof that is not good is none");
    for (int two = 0; two < 2; two++) {
        const char *proof = proof_of(&keys[0], proof_head(&keys[0]), proof_body("/q/login/join", nonce));

        snprintf(body, sizeof(body), "key=0123456789abcde%d&proof=%s%s%s", two, proof, two ? "&proof=" : "", two ? proof : "");
        cr_expect_eq(call_with("POST", "/q/login/join", "Sec-Fetch-Site: same-origin\r\n", body), 303);
        cr_expect_eq(got_secret(), two == 1, "two are none");
    }
}

/* test_places_page.c: one page for a person in several queues, at a whole router: who joins and who does
 * not, cookies, forms, the first turn, what the configuration may say. */
#include "tests/lib/claimrig.h"
#include "tests/lib/routerrig.h"

#include "router/calls/places_call.h"

static char *both_queues[] = { (char *)"login", (char *)"rides" };
static struct cfg_group worlds[] = { { (char *)"worlds", GROUP_GIVES_UP, { both_queues, 2 } } };

static void set_up(void)
{
    queue_binds = BIND_NONE;
    second_queue = true;
    claim_secret = CLAIM_SECRET "\n";
    setup_all();
    w.cfg.groups = (struct cfg_list){ worlds, 1 };
}

TestSuite(places_page, .init = set_up, .fini = teardown, .timeout = 60);

#define LOOKS "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"

static int ask(const char *method, const char *path, const char *fields, const char *form)
{
    n_got = 0;
    got[0] = '\0';
    say_with(method, path, fields, form);
    UNTIL((more(), method[0] == 'H' ? strstr(got, "\r\n\r\n") != NULL : whole(got) > 0));
    return atoi(got + 9);
}

static bool has(const char *text)
{
    return strstr(got, text) != NULL;
}

/* Cookie of the places of these two tickets. */
static const char *places(uint32_t login, uint32_t rides)
{
    static char line[100 + GROUP_NAME_ROOM];
    struct places p = { .n = 2, .keeps = worlds[0].others == GROUP_KEEPS };
    size_t n = (size_t)sprintf(line, LOOKS "Cookie: a=b; segq_places=");

    p.v[0].token = (struct token){ .seg = 1, .number = login, .issued_s = 1700000000 };
    p.v[1].token = (struct token){ .seg = 4, .number = rides, .issued_s = 1700000000 };
    group_name_write(&p, &w.r->keys.token, line + n);
    return strcat(line, "; c=d\r\n");
}

Test(places_page, the_first_visit_joins_all_and_the_next_polls)
{
    char line[100 + GROUP_NAME_ROOM] = LOOKS "Cookie: ", *at;

    cr_assert_eq(ask("GET", "/q/worlds", LOOKS, ""), 200, "%s", got);
    cr_expect_eq(w.appends, 2);
    cr_expect(has(">login</dt><dd><b>1</b>") && has(">rides</dt><dd><b>2</b>"), "%s", got);
    cr_expect(has("You are in several lines") && has("role=\"status\" aria-live=\"polite\""));
    cr_expect(has("url=/q/worlds?r=1&amp;return="), "without scripts it is loaded again");
    cr_expect(has("1-0, 4-1"), "its tickets");
    cr_expect(has("replaceChildren") && has("\"turn\":"), "its script and that one's texts");
    cr_expect(has("Path=/q/worlds; HttpOnly; SameSite=Lax"));
    at = strstr(got, "segq_places=");
    cr_assert_not_null(at);
    strncat(line, at, strcspn(at, ";"));
    strcat(line, "\r\n");
    cr_expect_eq(ask("GET", "/q/worlds?r=1", line, ""), 200);
    cr_expect_eq(w.appends, 2);
    cr_expect_eq(w.places, 2);
    cr_expect(has("id=\"places\""));
    cr_expect_eq(ask("GET", "/q/nowhere", LOOKS, ""), 404);
}

Test(places_page, nobody_joins_without_looking)
{
    cr_expect_eq(ask("GET", "/q/worlds", "", ""), 200);
    cr_expect(has("action=\"/q/worlds/join\""), "it is the door");
    cr_expect_eq(ask("HEAD", "/q/worlds", LOOKS, ""), 200);
    cr_expect_eq(ask("GET", "/q/worlds?r=1", LOOKS, ""), 200);
    cr_expect(has("allow cookies"));
    cr_expect_eq(ask("GET", "/q/worlds?left=1", LOOKS, ""), 200);
    cr_expect_eq(ask("POST", "/q/worlds/join", "Sec-Fetch-Site: cross-site\r\n", ""), 403);
    cr_expect_eq(ask("GET", "/q/worlds/words", LOOKS, ""), 404);
    cr_expect_eq(ask("GET", "/q/worlds/worker.js", LOOKS, ""), 404);
    cr_expect_eq(w.appends, 0);
    cr_expect_eq(ask("POST", "/q/worlds/join", "Sec-Fetch-Site: same-origin\r\n", "key=0123456789abcdef"), 303);
    cr_expect(has("Location: /q/worlds?r=1&return=\r\n") && has("segq_places="));
    cr_expect_eq(w.appends, 2);
    cr_expect_eq(ask("POST", "/q/worlds/join", places(41, 42), "door=1"), 303);
    cr_expect_eq(w.appends, 2, "another tab has joined");
}

Test(places_page, the_first_turn_is_taken)
{
    cr_expect_eq(ask("GET", "/q/worlds", places(41, N_ADMITTED), ""), 303);
    cr_expect_eq(w.drops, 1);
    cr_expect(has("Location: /\r\n") && has("segq_pass=a.b.c"));
    cr_expect_eq(ask("GET", "/q/worlds?return=/shop", places(41, N_ADMITTED), ""), 303);
    cr_expect(has("Location: /shop\r\n"));
    cr_expect_eq(ask("GET", "/q/worlds?return=https://evil.example/", places(41, N_ADMITTED), ""), 303);
    cr_expect(has("Location: /\r\n"));
}

Test(places_page, each_turn_is_shown_where_the_others_are_kept)
{
#define SAME "Sec-Fetch-Site: same-origin\r\n"
    char line[300 + GROUP_NAME_ROOM];

    worlds[0].others = GROUP_KEEPS;
    cr_expect_eq(ask("GET", "/q/worlds?return=%2Fa%22b", places(41, N_ADMITTED), ""), 200);
    cr_expect(has("Each turn is told here") && has(">login</dt><dd><b>41</b>"), "%s", got);
    cr_expect(has("action=\"/q/worlds/enter\" target=\"_blank\"><input type=\"hidden\" name=\"queue\" value=\"rides\">"));
    cr_expect(has("value=\"/a&quot;b\"><button class=\"main\">") && !has("value=\"login\""));
    cr_expect(!has("segq_pass="));
    snprintf(line, sizeof(line), SAME "%s", places(41, N_ADMITTED));
    cr_expect_eq(ask("POST", "/q/worlds/enter", line, "queue=rides&return=/shop"), 303);
    cr_expect(has("Location: /shop\r\n") && has("segq_pass=a.b.c"));
    cr_expect_eq(ask("POST", "/q/worlds/enter", line, "queue=login"), 303);
    cr_expect(has("Location: /q/worlds?r=1") && !has("segq_pass="), "it waits there");
    cr_expect_eq(ask("POST", "/q/worlds/enter", line, "queue=nowhere"), 303);
    cr_expect(!has("segq_pass="));
    snprintf(line, sizeof(line), "Sec-Fetch-Site: cross-site\r\n%s", places(41, N_ADMITTED));
    cr_expect_eq(ask("POST", "/q/worlds/enter", line, "queue=rides"), 403);
    cr_expect_eq(w.drops, 0);
    worlds[0].others = GROUP_GIVES_UP;
    snprintf(line, sizeof(line), SAME "%s", places(41, N_ADMITTED));
    cr_expect_eq(ask("POST", "/q/worlds/enter", line, "queue=rides"), 303);
    cr_expect(has("Location: /q/worlds?r=1"), "there one is let in by the page itself");
}

Test(places_page, each_turn_leads_to_its_own_site)
{
    w.page = "{\"title\":\"Log <in>\",\"return\":[\"https://login.example\"]}";
    send_map(0, 6, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 6);
    cr_expect_eq(ask("GET", "/q/worlds", places(41, 42), ""), 200);
    cr_expect(has(">Log &lt;in&gt;</dt>"), "%s", got);
    cr_expect(has("form-action 'self' https://login.example;"));
    cr_expect_eq(ask("GET", "/q/worlds", places(N_ADMITTED, 42), ""), 303);
    cr_expect(has("Location: https://login.example/\r\n"));
    cr_expect_eq(ask("GET", "/q/worlds?return=https%3A%2F%2Flogin.example%2Fa", places(N_ADMITTED, 42), ""), 303);
    cr_expect(has("Location: https://login.example/a\r\n"));
    cr_expect_eq(ask("GET", "/q/worlds?return=https%3A%2F%2Flogin.example%2Fa", places(41, N_ADMITTED), ""), 303);
    cr_expect(has("Location: /\r\n"), "rides may not lead there");
}

Test(places_page, all_are_left_or_over)
{
    cr_expect_eq(ask("POST", "/q/worlds/leave", places(41, 42), ""), 303);
    cr_expect_eq(w.drops, 2);
    cr_expect(has("segq_places=; Max-Age=0") && has("?left=1"));
    cr_expect_eq(ask("GET", "/q/worlds", places(41, N_GONE), ""), 200);
    cr_expect(has("<dd><small>Your turn has passed"), "the others go on");
    cr_expect_eq(ask("GET", "/q/worlds", places(N_GONE, N_GONE), ""), 200);
    cr_expect(has("class=\"no_show\"") && has("/q/worlds/join"));
    w.ends = GONE_FINISHED;
    cr_expect_eq(ask("GET", "/q/worlds", places(41, 42), ""), 303);
    cr_expect(has("segq_places=; Max-Age=0") && has("Location: /q/worlds?return="));
}

Test(places_page, a_queue_that_cannot_be_joined_is_said_in_words)
{
    send_map(0, 6, QUEUE_CLOSED, false);
    UNTIL(routes_version(w.r->routes) == 6);
    cr_expect_eq(ask("GET", "/q/worlds", LOOKS, ""), 403);
    cr_expect(has("class=\"closed\"") && has("method=\"get\" action=\"/q/worlds\""));
    second_queue = false;
    send_map(0, 7, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 7);
    cr_expect_eq(ask("GET", "/q/worlds", LOOKS, ""), 503);
    cr_expect_eq(w.appends, 0);
}

/* For both queues, unless `aud` says another one; sub "": it names nobody. */
static const char *claim(const char *aud, const char *lane, const char *sub)
{
    static char line[1000];
    char said[300];

    snprintf(said, sizeof(said), "{\"aud\":[\"login\",\"%s\"],\"lane\":\"%s\"%s%s%s,\"exp\":%lld}", aud, lane,
             sub[0] != '\0' ? ",\"sub\":\"" : "", sub, sub[0] != '\0' ? "\"" : "", (long long)router_wall_s() + 60);
    snprintf(line, sizeof(line), "claim=%s", claim_text("{\"alg\":\"HS256\",\"kid\":\"shop\"}", said, NULL));
    return line;
}

static const char *at(const char *claims)
{
    static char path[1100];

    return snprintf(path, sizeof(path), "/q/worlds?%s&return=/shop", claims), path;
}

#define CLEAN (has("Location: /q/worlds?r=1&return=%2Fshop\r\n") && has("Referrer-Policy: no-referrer"))

Test(places_page, a_claim_joins_all_and_does_not_stay_in_the_address)
{
    cr_expect_eq(ask("GET", at(claim("rides", "default", "anna")), LOOKS, ""), 303, "%s", got);
    cr_expect(CLEAN && has("segq_places=") && !has("claim="), "%s", got);
    cr_expect_eq(w.appends, 2);
    cr_expect(strncmp(w.last_subject, "anna", 4) == 0);
    cr_expect_eq(ask("GET", at(claim("rides", "default", "bob")), places(41, 42), ""), 303);
    cr_expect(CLEAN);
    cr_expect_eq(w.appends, 4, "who the claim names need not be who came before");
    cr_expect_eq(ask("GET", at(claim("rides", "default", "")), places(41, 42), ""), 303);
    cr_expect(CLEAN);
    cr_expect_eq(w.appends, 4, "it has places in those lanes");
    cr_expect_eq(w.places, 2);
}

Test(places_page, a_claim_waits_at_the_door_and_comes_with_its_form)
{
    char form[1100];
    const char *good = claim("rides", "default", "anna");

    cr_expect_eq(ask("GET", at(good), places(41, 42) + strlen(LOOKS), ""), 200);
    cr_expect(has("class=\"door\"") && has("name=\"claim\" value=\"eyJ"), "%s", got);
    cr_expect_eq(ask("HEAD", at(good), LOOKS, ""), 200);
    cr_expect_eq(w.appends, 0);
    snprintf(form, sizeof(form), "return=/shop&key=0123456789abcdef&door=1&%s", good);
    cr_expect_eq(ask("POST", "/q/worlds/join", places(41, 42), form), 303, "%s", got);
    cr_expect(CLEAN);
    cr_expect_eq(w.appends, 2);
    cr_expect(strncmp(w.last_subject, "anna", 4) == 0, "the name counts, not the page's key");
}

Test(places_page, a_claim_that_is_refused_is_told_in_words)
{
    cr_expect_eq(ask("GET", at(claim("other", "default", "anna")), LOOKS, ""), 403);
    cr_expect(has("class=\"refused\"") && has("action=\"/q/worlds/join\"") && !has("value=\"eyJ"), "%s", got);
    cr_expect_eq(ask("GET", at(claim("rides", "vip", "anna")), LOOKS, ""), 403);
    cr_expect(has("class=\"refused\""), "rides has no such lane");
    cr_expect_eq(ask("GET", at("claim=a.b.c"), LOOKS, ""), 403);
    cr_expect_eq(ask("POST", "/q/worlds/join", "Sec-Fetch-Site: same-origin\r\n", "claim=a.b.c"), 403);
    cr_expect_eq(w.appends, 0);
    cr_expect_eq(ask("GET", at("claim=a.b.c"), places(41, 42), ""), 303);
    cr_expect(CLEAN && !has("Set-Cookie"), "who waits goes on waiting");
    cr_expect_eq(w.places, 2);
}

Test(places_page, a_claim_is_not_lost_while_a_queue_is_closed)
{
    send_map(0, 6, QUEUE_CLOSED, false);
    UNTIL(routes_version(w.r->routes) == 6);
    cr_expect_eq(ask("GET", at(claim("rides", "default", "anna")), LOOKS, ""), 403);
    cr_expect(has("class=\"closed\"") && has("name=\"claim\" value=\"eyJ"), "%s", got);
    cr_expect(has("url=/q/worlds?return=%2Fshop&amp;claim=eyJ"));
}

/* A link that is used again after the visit is for its lane again. */
Test(places_page, a_claim_is_not_lost_with_a_visit_that_is_over)
{
    w.ends = GONE_FINISHED;
    cr_expect_eq(ask("GET", at(claim("rides", "default", "")), places(41, 42), ""), 303);
    cr_expect(has("segq_places=; Max-Age=0") && has("Location: /q/worlds?return=%2Fshop&claim=eyJ"), "%s", got);
    cr_expect(has("Referrer-Policy: no-referrer"));
}

Test(places_page, each_place_counts_for_the_limits)
{
    limit_set(w.r->gate.limit, LIMIT_POLL, 0.001, 3);
    limit_set(w.r->gate.limit, LIMIT_JOIN, 0.001, 3);
    cr_expect_eq(ask("GET", "/q/worlds", places(41, 42), ""), 200);
    cr_expect_eq(ask("GET", "/q/worlds", places(41, 42), ""), 429);
    cr_expect_eq(w.places, 2);
    cr_expect_eq(ask("GET", "/q/worlds", LOOKS, ""), 200);
    cr_expect_eq(ask("GET", "/q/worlds", LOOKS, ""), 429);
    cr_expect(has("class=\"too_fast\""));
    cr_expect_eq(w.appends, 2);
    cr_expect_eq(ask("GET", "/q/login", LOOKS, ""), 200, "what the refused one wanted was not taken");
    cr_expect_eq(ask("GET", "/q/rides", LOOKS, ""), 429);
}

static unsigned refused;

static void count_refused(void *ctx, enum log_level level, const char *line)
{
    (void)ctx, (void)level;
    refused += strstr(line, "event=group_refused") != NULL;
}

Test(places_page, a_crowd_before_a_group_that_is_wrong_does_not_fill_the_log)
{
    both_queues[1] = (char *)"gone";
    log_set_sink(count_refused, NULL);
    for (unsigned i = 0; i < 20; i++)
        cr_expect_eq(ask("GET", "/q/worlds", LOOKS, ""), 503, "%.200s", got);
    log_set_sink(NULL, NULL);
    both_queues[1] = (char *)"rides";
    cr_expect(refused >= 4 && refused < 20, "%u lines", refused);
    cr_expect_eq(w.appends, 0);
}

static unsigned unknown, known;

static void count_names(void *ctx, enum log_level level, const char *line)
{
    (void)ctx, (void)level;
    unknown += strstr(line, "event=queue_names_unknown") != NULL;
    known += strstr(line, "event=queue_names_known") != NULL;
}

Test(places_page, a_queue_that_nobody_has_defined_is_told_once)
{
    static char *rooms[] = { (char *)"logn" };

    log_set_sink(count_names, NULL);
    queue_names_look(w.r);
    cr_expect(w.r->names.n == 0 && unknown + known == 0);
    both_queues[1] = (char *)"ridse";
    queue_names_look(w.r);
    queue_names_look(w.r);
    cr_expect_eq(unknown, 1);
    cr_expect_str_eq(w.r->names.text, "groups: worlds names queue ridse, which does not exist; near: rides");
    w.cfg.rooms = (struct cfg_list){ rooms, 1 };
    queue_names_look(w.r);
    cr_expect(unknown == 2 && w.r->names.n == 2);
    cr_expect(strstr(w.r->names.text, "; rooms names queue logn, which does not exist; near: login") != NULL, "%s",
              w.r->names.text);
    both_queues[1] = (char *)"zebra";
    w.cfg.rooms.n = 0;
    queue_names_look(w.r);
    cr_expect_str_eq(w.r->names.text, "groups: worlds names queue zebra, which does not exist");
    second_queue = false;
    both_queues[1] = (char *)"rides";
    send_map(0, 7, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 7);
    cr_expect_str_eq(w.r->names.text, "groups: worlds names queue rides, which does not exist", "one that was deleted");
    second_queue = true;
    send_map(0, 8, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 8);
    cr_expect(w.r->names.n == 0 && known == 1);
    log_set_sink(NULL, NULL);
}

Test(places_page, a_queue_of_that_name_comes_first)
{
    worlds[0].name = (char *)"login";
    cr_expect_eq(ask("GET", "/q/login", LOOKS, ""), 200);
    worlds[0].name = (char *)"worlds";
    cr_expect(has("segq_ticket=") && !has("segq_places="));
}

Test(places_page, the_api_joins_by_the_groups_name)
{
#define JSON "Content-Type: application/json\r\n"
    cr_expect_eq(call_with("POST", "/v1/places", JSON, "{\"group\":\"worlds\"}"), 201, "%s", got);
    cr_expect_eq(w.appends, 2);
    cr_expect_eq(json_array_size(json_object_get(js, "places")), 2);
    cr_expect_eq(call_with("POST", "/v1/places", JSON, "{\"group\":\"world\"}"), 404);
    cr_expect_str_eq(str("code"), "queue_not_found");
    cr_expect_eq(call_with("POST", "/v1/places", JSON, "{\"queues\":[\"login\",\"rides\"]}"), 403,
                 "join_groups is off: named ones only");
    cr_expect_eq(call_with("POST", "/v1/places", JSON, "{\"group\":\"worlds\",\"queues\":[\"login\",\"rides\"]}"), 400);
    cr_expect_eq(call_with("POST", "/v1/places", JSON, "{}"), 400);
    w.cfg.groups.n = 0;
    cr_expect_eq(call_with("POST", "/v1/places", JSON, "{\"group\":\"worlds\"}"), 404);
    cr_expect_str_eq(str("code"), "not_found");
    cr_expect_eq(w.appends, 2);
}

Test(places_page, what_the_configuration_may_not_say)
{
    static char *twice[] = { (char *)"login", (char *)"login" }, *odd[] = { (char *)"login", (char *)"a b" };
    struct cfg_group v[2] = { worlds[0], worlds[0] };
    struct cfg_list was = w.cfg.groups;
    struct err e = { 0 };

    cr_expect_eq(router_cfg_check(&w.cfg, &e), 0, "%s", e.text);
    w.cfg.groups = (struct cfg_list){ v, 2 };
    cr_expect_eq(router_cfg_check(&w.cfg, &e), SQ_EINVAL);
    cr_expect_str_eq(e.text, "groups: \"worlds\" is there twice");
    v[1] = (struct cfg_group){ (char *)"w/", GROUP_GIVES_UP, { both_queues, 2 } };
    cr_expect_eq(router_cfg_check(&w.cfg, &e), SQ_EINVAL);
    cr_expect_str_eq(e.text, "groups: \"w/\" is not a valid name");
    v[1] = (struct cfg_group){ (char *)"b", GROUP_GIVES_UP, { twice, 2 } };
    cr_expect_eq(router_cfg_check(&w.cfg, &e), SQ_EINVAL);
    cr_expect_str_eq(e.text, "groups: \"b\" has queue \"login\" twice");
    v[1].queues.v = odd;
    cr_expect_eq(router_cfg_check(&w.cfg, &e), SQ_EINVAL);
    cr_expect_str_eq(e.text, "groups: \"a b\" in \"b\" is not a valid queue name");
    w.cfg.groups = was;
}

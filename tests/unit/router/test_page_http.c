/* test_page_http.c: the waiting page at a whole router: who joins and who does not, cookies,
 * forms, redirects, headers, what an operator changes. */
#include "tests/lib/routerrig.h"

#include <sodium.h>

#include "common/ticket/keys.h"
#include "common/ticket/pass.h"

static struct pass_key signer;

static void set_up(void)
{
    static uint8_t public[1][32];

    cr_assert_geq(sodium_init(), 0);
    crypto_sign_keypair(signer.public, signer.secret);
    memcpy(public[0], signer.public, 32);
    map_keys = (const uint8_t(*)[32])public;
    setup_all();
}

TestSuite(page_http, .init = set_up, .fini = teardown, .timeout = 60);

#define LOOKS "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"

/* Asks, waits for the answer, returns its status. */
static int fetch_page(const char *method, const char *path, const char *fields,
                      const char *form)
{
    n_got = 0;
    got[0] = '\0';
    say_with(method, path, fields, form);
    UNTIL((more(), method[0] == 'H' ? strstr(got, "\r\n\r\n") != NULL : whole(got) > 0));
    return atoi(got + 9);
}

/* As a browser that goes there. */
static int visit(const char *method, const char *path, const char *fields,
                 const char *form)
{
    char all[1000];

    snprintf(all, sizeof(all), LOOKS "%s", fields);
    return fetch_page(method, path, all, form);
}

static const char *header(const char *name)
{
    static char v[3000];
    char key[80], *at;

    snprintf(key, sizeof(key), "\r\n%s: ", name);
    at = strstr(got, key);
    if (at == NULL)
        return "";
    snprintf(v, sizeof(v), "%.*s", (int)strcspn(at + strlen(key), "\r"), at + strlen(key));
    return v;
}

/* A Cookie line with a ticket; number as for the made-up node. */
static const char *ticket(uint32_t number, const char *behind)
{
    static char line[200];

    snprintf(line, sizeof(line), "Cookie: a=b; segq_ticket=%s%s; c=d\r\n",
             ticket_path(number, 1) + 12, behind);
    return line;
}

Test(page_http, the_first_visit_joins_and_the_next_polls)
{
    char line[200];

    cr_assert_eq(visit("GET", "/q/login?return=/shop", "", ""), 200);
    cr_expect_eq(w.appends, 1);
    cr_expect(strstr(header("Content-Type"), "text/html"));
    cr_expect_str_eq(header("Cache-Control"), "no-store");
    cr_expect_str_eq(header("Referrer-Policy"), "no-referrer");
    cr_expect_str_eq(header("X-Content-Type-Options"), "nosniff");
    cr_expect(strstr(header("Content-Security-Policy"), "default-src 'none'; script-src "
                                                        "'nonce-"));
    cr_expect(strstr(header("Content-Security-Policy"), "frame-ancestors 'none'"));
    cr_expect(strstr(header("Set-Cookie"), "segq_ticket=") == header("Set-Cookie"));
    cr_expect(strstr(header("Set-Cookie"), "; Path=/q/login; HttpOnly; SameSite=Lax"));
    cr_expect(strstr(header("Set-Cookie"), "Secure") == NULL);
    snprintf(line, sizeof(line), "Cookie: %.*s\r\n",
             (int)strcspn(header("Set-Cookie"), ";"), header("Set-Cookie"));
    cr_assert_eq(visit("GET", "/q/login?r=1&return=%2Fshop", line, ""), 200);
    cr_expect_eq(w.appends, 1, "the same place");
    cr_expect_eq(w.places, 1);
    cr_expect_str_eq(header("Set-Cookie"), "");
}

/* Named in the address it is kept; a bare return is the site's, whatever stands in it. */
Test(page_http, the_language_is_chosen_and_kept)
{
    char line[300];

    snprintf(line, sizeof(line), "%sAccept-Language: fr\r\n", ticket(5, ""));
    visit("GET", "/q/login?return=/shop", line, "");
    cr_expect_str_eq(header("Content-Language"), "fr");
    visit("GET", "/q/login?lang=de-AT&return=/shop", line, "");
    cr_expect_str_eq(header("Content-Language"), "de");
    cr_expect(strstr(got, "\r\nSet-Cookie: segq_lang=de; Max-Age=31536000; Path=/q/; "));
    visit("GET", "/q/login?return=/shop?a=b&lang=de", line, "");
    cr_expect_str_eq(header("Content-Language"), "fr");
    cr_expect(strstr(got, "segq_lang") == NULL);
    visit("GET", "/q/login?lang=%0d%0aX:y", line, "");
    cr_expect_str_eq(header("Content-Language"), "fr");
    cr_expect(strstr(got, "segq_lang") == NULL);
    snprintf(line, sizeof(line), "%sAccept-Language: fr\r\nCookie: segq_lang=zh-Hant\r\n",
             ticket(5, ""));
    visit("GET", "/q/login", line, "");
    cr_expect_str_eq(header("Content-Language"), "zh-Hant");
    cr_expect(strstr(got, "<html lang=\"zh-Hant\" dir=\"ltr\">"));
    cr_expect(strstr(got, "Set-Cookie: segq_lang") == NULL);
    fetch_page("GET", "/q/login/words", "Cookie: segq_lang=ja\r\n", "");
    cr_expect(strstr(got, "待合室"));
    cr_expect_str_eq(header("Vary"), "Accept-Language, Cookie");
}

/* whole() stops at a zero byte. */
static bool has_all_bytes(void)
{
    const char *end = strstr(got, "\r\n\r\n");

    return end != NULL && n_got >= (size_t)(end + 4 - got) + (size_t)atoi(header("Content-Length"));
}

Test(page_http, gzip_for_browsers_that_take_it)
{
    char line[300];

    snprintf(line, sizeof(line), LOOKS "%sAccept-Encoding: gzip, deflate, br\r\n", ticket(5, ""));
    n_got = 0;
    got[0] = '\0';
    say_with("GET", "/q/login", line, "");
    UNTIL((more(), has_all_bytes()));
    cr_expect_str_eq(header("Content-Encoding"), "gzip");
    cr_expect_str_eq(header("Vary"), "Accept-Encoding, Accept-Language, Cookie");
    cr_expect(memcmp(strstr(got, "\r\n\r\n") + 4, "\x1f\x8b", 2) == 0);
    cr_expect_leq(atoi(header("Content-Length")), 12 * 1024);
    visit("GET", "/q/login", ticket(5, ""), "");
    cr_expect_str_eq(header("Content-Encoding"), "");
    cr_expect(strstr(got, "</html>"));
    snprintf(line, sizeof(line), "%sAccept-Encoding: gzip;q=0\r\n", ticket(5, ""));
    visit("GET", "/q/login", line, "");
    cr_expect_str_eq(header("Content-Encoding"), "");
}

/* An operator looks at what people would see: nobody takes a place, nothing is sent from there. */
Test(page_http, previews)
{
    static const struct {
        const char *state, *shows;
    } v[] = { { "head", "of 1,240 waiting" }, { "far", "1,234,567" },
              { "paused", "The line is paused" }, { "draw", "You are here early" },
              { "countdown", "Not open yet" }, { "turn", "It is your turn" },
              { "full", "The line is full" }, { "nosuch", "of 1,240 waiting" } };
    char ticket_text[PREVIEW_TEXT_CAP], path[200];
    int64_t now_s = (int64_t)time(NULL);

    preview_write(ticket_text, &w.r->keys, "login", now_s + 60);
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        snprintf(path, sizeof(path), "/q/login?preview=%s&ticket=%s", v[i].state, ticket_text);
        cr_expect_eq(visit("GET", path, "", ""), 200);
        cr_expect(strstr(got, v[i].shows), "%s", v[i].state);
        cr_expect(strstr(got, "<a href=\"?preview=tail&amp;ticket="));
        cr_expect(strstr(header("Content-Security-Policy"), "sandbox allow-scripts;"));
        cr_expect(strstr(header("Content-Security-Policy"), "connect-src") == NULL);
        cr_expect_str_eq(header("Set-Cookie"), "");
    }
    cr_expect_eq(w.appends, 0);
    ticket_text[strlen(ticket_text) - 1] ^= 1;
    snprintf(path, sizeof(path), "/q/login?preview=head&ticket=%s", ticket_text);
    cr_expect_eq(visit("GET", path, "", ""), 403);
    cr_expect_eq(visit("GET", "/q/login?preview=head", "", ""), 403);
    cr_expect_eq(w.appends, 0);
    cr_expect_eq(visit("GET", "/q/login?return=/x?preview=1", "", ""), 200);
    cr_expect_eq(w.appends, 1, "that is the site's");
}

Test(page_http, a_nonce_is_used_once)
{
    char first[300];

    visit("GET", "/q/login", ticket(5, ""), "");
    snprintf(first, sizeof(first), "%s", header("Content-Security-Policy"));
    visit("GET", "/q/login", ticket(5, ""), "");
    cr_expect_str_neq(header("Content-Security-Policy"), first);
}

Test(page_http, only_a_navigation_joins)
{
    cr_expect_eq(visit("HEAD", "/q/login", "", ""), 200);
    cr_expect_eq(visit("GET", "/q/login", "Sec-Purpose: prefetch\r\n", ""), 503);
    cr_expect_eq(fetch_page("GET", "/q/login", "Sec-Purpose: prefetch\r\n", ""), 503);
    cr_expect_eq(visit("GET", "/q/login?r=1", "", ""), 200);
    cr_expect(strstr(got, "allow cookies"));
    cr_expect_eq(visit("GET", "/q/login?left=1", "", ""), 200);
    cr_expect(strstr(got, "You have left the line"));
    cr_expect_eq(visit("GET", "/q/other", "", ""), 404);
    cr_expect(strstr(got, "There is no line here"));
    cr_expect_eq(visit("GET", "/q/UPPER%22%3E", "", ""), 404);
    cr_expect(strstr(got, "UPPER") == NULL, "nothing is repeated");
    cr_expect_eq(visit("DELETE", "/q/login", "", ""), 405);
    cr_expect_eq(visit("GET", "/q/login/none", "", ""), 404);
    cr_expect_eq(visit("GET", "/q/", "", ""), 404);
    cr_expect_eq(w.appends, 0);
    cr_expect_eq(visit("GET", "/q/login", "Cookie: segq_ticket=forged\r\n", ""), 200);
    cr_expect_eq(w.appends, 1, "what is not ours is no ticket");
}

/* As the GET of a program: the same headers, with the length, and no body. */
Test(page_http, head_is_the_page_without_its_body)
{
    static const char *const paths[] = { "/q/login?return=/shop", "/q/login?left=1", "/q/other", "/",
                                         "/q/login/words" };
    char length[24];

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        int status = fetch_page("GET", paths[i], "", "");

        snprintf(length, sizeof(length), "%s", header("Content-Length"));
        cr_expect_gt(atoi(length), 10);
        cr_expect_eq(fetch_page("HEAD", paths[i], "", ""), status, "%s", paths[i]);
        cr_expect_str_eq(header("Content-Length"), length, "%s", paths[i]);
        cr_expect_eq(strlen(strstr(got, "\r\n\r\n")), 4, "no body: %s", paths[i]);
    }
    cr_expect_eq(visit("HEAD", "/q/login", ticket(N_ADMITTED, ""), ""), 200);
    cr_expect_str_eq(header("Set-Cookie"), "", "nobody goes in by it");
    cr_expect_eq(visit("GET", "/q/login", ticket(5, ""), ""), 200);
    cr_expect(strncmp(got, "HTTP/1.1 200", 12) == 0, "nothing of a body was in between");
    cr_expect_eq(w.appends, 0);
    w.when = (struct map_phase){ .phase = PHASE_PASSTHROUGH };
    send_map(5, 6, QUEUE_OPEN, false);
    UNTIL(fetch_page("HEAD", "/q/login?return=/shop", "", "") == 303);
    cr_expect_str_eq(header("Location"), "/shop");
}

Test(page_http, a_queue_has_a_language_for_readers_of_none)
{
    w.page = "{\"lang\":\"zh-Hant\"}";
    send_map(5, 6, QUEUE_OPEN, false);
    UNTIL((visit("GET", "/q/login", ticket(5, ""), ""), strcmp(header("Content-Language"), "zh-Hant") == 0));
    visit("GET", "/q/login", "Accept-Language: fi, de;q=0.2\r\n", "");
    cr_expect_str_eq(header("Content-Language"), "de");
    visit("GET", "/q/login?lang=ar", "Accept-Language: fi\r\n", "");
    cr_expect_str_eq(header("Content-Language"), "ar");
    visit("GET", "/q/login", "Accept-Language: fi\r\nCookie: segq_lang=ja\r\n", "");
    cr_expect_str_eq(header("Content-Language"), "ja");
    fetch_page("GET", "/q/login/words", "Accept-Language: fi\r\n", "");
    cr_expect(strstr(got, "排隊等候"), "%s", got);
    visit("GET", "/q/other", "", "");
    cr_expect_str_eq(header("Content-Language"), "en", "that is no queue");
}

static bool is_door(void)
{
    return strstr(got, "There is a line here") != NULL &&
           strstr(got, "action=\"/q/login/join\"") != NULL &&
           strstr(got, "name=\"door\" value=\"1\"") != NULL;
}

/* Previews of links, crawlers, pictures, frames; and browsers that do not say what they do. */
Test(page_http, only_a_browsers_own_visit_takes_a_place)
{
    static const char *const others[] = {
        "", "User-Agent: Slackbot-LinkExpanding 1.0\r\nAccept: */*\r\n",
        "User-Agent: Mozilla/5.0 (compatible; Googlebot/2.1)\r\nAccept: text/html\r\n",
        "Sec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\n",
        "Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n",
        "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n",
    };

    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        cr_expect_eq(fetch_page("GET", "/q/login?return=/shop", others[i], ""), 200);
        cr_expect(is_door(), "%s", others[i]);
        cr_expect_str_eq(header("Set-Cookie"), "");
    }
    cr_expect(strstr(got, "<meta name=\"robots\" content=\"noindex\">") != NULL);
    cr_expect_eq(w.appends, 0);
    cr_expect_eq(fetch_page("GET", "/q/login", ticket(5, ""), ""), 200);
    cr_expect(strstr(got, "<b id=\"position\">5</b>") != NULL, "a ticket is shown to any");
}

/* What the door's script or button sends. */
Test(page_http, the_door_joins_by_its_form)
{
    char line[200];

    cr_assert_eq(fetch_page("POST", "/q/login/join", "", "return=%2Fshop&door=1"), 303);
    cr_expect_eq(w.appends, 1);
    cr_expect_str_eq(header("Location"), "/q/login?r=1&return=%2Fshop");
    cr_expect(strstr(header("Set-Cookie"), "segq_ticket=E") == header("Set-Cookie"));
    snprintf(line, sizeof(line), "Cookie: %.*s\r\n",
             (int)strcspn(header("Set-Cookie"), ";"), header("Set-Cookie"));
    cr_expect_str_eq(w.last_subject, "");
    cr_assert_eq(fetch_page("POST", "/q/login/join", "", "door=1&key=AAAAAAAAAAAAAAAAAAAAAA"), 303);
    cr_expect_eq(w.last_subject[0], SUBJECT_KEY_MARK, "pressed twice it is one place");
    w.appends = 1;
    cr_assert_eq(fetch_page("POST", "/q/login/join", line, "return=%2Fshop&door=1"), 303);
    cr_expect_eq(w.appends, 1, "another tab was at the door, too");
    cr_expect_str_eq(header("Location"), "/q/login?return=%2Fshop");
    w.when = (struct map_phase){ .phase = PHASE_PASSTHROUGH };
    send_map(5, 6, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 6);
    cr_expect_eq(fetch_page("POST", "/q/login/join", "", "return=%2Fshop&door=1"), 303);
    cr_expect_str_eq(header("Location"), "/shop");
    cr_expect_eq(w.appends, 1);
}

/* A form that was answered with a page stands in the address line: people press Enter there. */
Test(page_http, a_forms_address_leads_back_to_the_page)
{
    cr_expect_eq(visit("GET", "/q/login/join", "", ""), 303);
    cr_expect_str_eq(header("Location"), "/q/login?return=%2F");
    cr_expect_eq(visit("GET", "/q/login/leave", ticket(5, ""), ""), 303);
    cr_expect_eq(visit("DELETE", "/q/login/leave", ticket(5, ""), ""), 405);
    cr_expect_eq(w.appends + w.drops, 0);
}

/* Whatever of its address is wrong: a page in the visitor's language, no way to nothing. */
Test(page_http, a_queue_that_there_is_not_has_a_page_that_says_so)
{
    static const char *const paths[] = { "/q/BAD", "/q/BAD/join", "/q/BAD/leave", "/q/nothing/join",
                                         "/q/nothing/enter", "/q/%20/join", "/q/log%2Fin/join",
                                         "/q/%zz/join", "/q//join", "/q/login/jion" };

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        cr_expect_eq(visit("GET", paths[i], "Accept-Language: de\r\n", ""), 404, "%s: %s", paths[i], got);
        cr_expect(strstr(header("Content-Type"), "text/html"), "%s", paths[i]);
        cr_expect(strstr(got, "<html lang=\"de\"") != NULL, "%s", paths[i]);
        cr_expect_str_eq(header("Location"), "", "%s", paths[i]);
    }
    cr_expect_eq(visit("POST", "/q/nothing/join", "", ""), 404);
    cr_expect_eq(fetch_page("GET", "/q/%zz/join", "Accept: application/json\r\n", ""), 400, "a program");
    cr_expect_eq(w.appends, 0);
}

/* "Back to the site", and the end of a wait without `return`, at a router that stands alone. */
Test(page_http, a_router_alone_has_a_front_door)
{
    char line[2000];
    struct pass_claims c = { .iss = "segq", .aud = "login", .lane = "default", .seg = 17,
                             .number = 5 };
    int n;

    cr_expect_eq(visit("GET", "/", "", ""), 200);
    cr_expect(strstr(got, "This is a waiting room") != NULL);
    cr_expect(strstr(got, "/q/login") == NULL, "which queues there are is nobody's business");
    cr_expect_eq(visit("HEAD", "/", "", ""), 200);
    cr_expect_eq(visit("GET", "/", "Cookie: segq_pass=a.b.c\r\n", ""), 200);
    cr_expect(strstr(got, "This is a waiting room") != NULL);
    c.iat_s = router_wall_s();
    c.exp_s = c.iat_s + 300;
    n = snprintf(line, sizeof(line), "Cookie: segq_pass=");
    n += pass_make(&c, &signer, line + n, sizeof(line) - (size_t)n - 3);
    strcpy(line + n, "\r\n");
    cr_expect_eq(fetch_page("GET", "/", line, ""), 200);
    cr_expect(strstr(got, "You are in") != NULL, "%s", got);
    cr_expect(strstr(got, "<b id=\"good\">about 5 minutes</b>") != NULL);
    cr_expect(strstr(got, ">Back to the site<") == NULL, "there is none");
    cr_expect_str_eq(header("Cache-Control"), "no-store");
}

Test(page_http, the_front_door_links_to_named_rooms)
{
    static char *names[] = { (char *)"login", (char *)"sale" };

    w.cfg.rooms = (struct cfg_list){ .v = names, .n = 2 };
    cr_expect_eq(visit("GET", "/", "", ""), 200);
    cr_expect(strstr(got, "<a href=\"/q/login\">login</a>") != NULL);
    cr_expect(strstr(got, "<a href=\"/q/sale\">sale</a>") != NULL);
    w.cfg.rooms = (struct cfg_list){ 0 };
}

Test(page_http, people_are_not_answered_in_json)
{
    static const char *const paths[] = { "/q/", "/q", "/q/login/", "/index.html", "/shop" };

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        cr_expect_eq(visit("GET", paths[i], "", ""), 404);
        cr_expect(strstr(got, "There is no line here") != NULL, "%s", paths[i]);
        cr_expect_eq(fetch_page("GET", paths[i], "Accept: application/json\r\n", ""), 404);
        cr_expect_str_eq(header("Content-Type"), "application/problem+json");
    }
}

Test(page_http, places_and_progress)
{
    visit("GET", "/q/login", ticket(40, ".160"), "");
    cr_expect(strstr(got, "<b id=\"position\">40</b>"));
    cr_expect(strstr(got, "value=\"75\""));
    cr_expect(strstr(got, "content=\"3; url="));
    cr_expect_str_eq(header("Set-Cookie"), "");
    visit("GET", "/q/login", ticket(40, ".160x"), "");
    cr_expect(strstr(header("Set-Cookie"), ".40; Max-Age"), "%s", header("Set-Cookie"));
    visit("GET", "/q/login", ticket(40, ".99999999999999999999"), "");
    cr_expect(strstr(got, "value=\"2\""));
}

Test(page_http, the_admitted_get_the_pass_and_go_on)
{
    cr_assert_eq(visit("GET", "/q/login?return=%2Fshop%3Fa%3D1", ticket(N_ADMITTED, ""), ""),
                 303);
    cr_expect_str_eq(header("Location"), "/shop?a=1");
    cr_expect(strstr(header("Set-Cookie"), "segq_pass=a.b.c; Max-Age=") ==
              header("Set-Cookie"));
    cr_expect(strstr(header("Set-Cookie"), "; Path=/; HttpOnly; SameSite=Lax"));
    cr_expect_str_eq(header("Cache-Control"), "no-store");
    cr_expect_eq(visit("GET", "/q/login?return=//evil", ticket(N_ADMITTED, ""), ""), 303);
    cr_expect_str_eq(header("Location"), "/");
    cr_expect_eq(visit("GET", "/q/login?return=%2F%5Cevil", ticket(N_ADMITTED, ""), ""), 303);
    cr_expect_str_eq(header("Location"), "/");
    cr_expect_eq(visit("GET", "/q/login?return=%2Fa%0D%0AX:y", ticket(N_ADMITTED, ""), ""),
                 303);
    cr_expect_str_eq(header("Location"), "/");
    cr_expect_eq(visit("GET", "/q/login?return=https://shop.example/", ticket(N_ADMITTED, ""),
                       ""),
                 303);
    cr_expect_str_eq(header("Location"), "/", "not allowed by the definition");
}

Test(page_http, the_ends_of_a_wait)
{
    cr_expect_eq(visit("GET", "/q/login", ticket(N_GONE, ""), ""), 200);
    cr_expect(strstr(got, "Your turn has passed"));
    cr_expect(strstr(got, "action=\"/q/login/join\""));
    cr_expect(strstr(got, "http-equiv") == NULL, "it does not join again by itself");
    cr_expect_eq(visit("GET", "/q/login", ticket(N_UNKNOWN, ""), ""), 503);
    cr_expect(strstr(got, "One moment, please"));
    cr_expect_str_neq(header("Retry-After"), "");
    cr_expect_eq(w.appends, 0);
    send_map(5, 6, QUEUE_CLOSED, false);
    UNTIL(visit("GET", "/q/login", "", "") == 403);
    cr_expect(strstr(got, "The line is closed"));
    send_map(6, 7, QUEUE_FULL, false);
    UNTIL(visit("GET", "/q/login", "", "") == 503);
    cr_expect(strstr(got, "The line is full"));
    cr_expect_str_neq(header("Retry-After"), "");
    send_map(7, 8, QUEUE_PAUSED, false);
    UNTIL(visit("GET", "/q/login", ticket(5, ""), "") == 200 &&
          strstr(got, "Nobody is being let in") != NULL);
}

/* What the operator has said of the queue is told as far as anybody can use it. */
Test(page_http, rejecting_and_unopened_queues)
{
    w.message = "Say \"hello\" at eight";
    w.when = (struct map_phase){ .phase = PHASE_REJECT };
    send_map(5, 6, QUEUE_CLOSED, false);
    UNTIL(routes_version(w.r->routes) == 6);
    cr_expect_eq(visit("GET", "/q/login", "", ""), 403);
    cr_expect(strstr(got, "Not available at the moment"));
    cr_expect_eq(visit("GET", "/q/login", "Accept-Language: zh\r\n", ""), 403);
    cr_expect(strstr(got, "暂时无法进入"));
    cr_expect_eq(visit("GET", "/q/login", ticket(5, ""), ""), 200, "places are kept");
    cr_expect(strstr(got, "Nobody is being let in"));
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", ""), 403);
    cr_expect_str_eq(str("code"), "queue_closed");
    cr_expect_str_eq(str("message"), "Say \"hello\" at eight");
    cr_expect_eq(call("GET", "/v1/queues/login", ""), 200);
    cr_expect_str_eq(str("state"), "reject");
    w.when = (struct map_phase){ .phase = PHASE_EARLY,
                                 .opens_ms = (router_wall_s() + 1800) * 1000 };
    send_map(6, 7, QUEUE_CLOSED, false);
    UNTIL(routes_version(w.r->routes) == 7);
    cr_expect_eq(visit("GET", "/q/login", "", ""), 403);
    cr_expect(strstr(got, "Not open yet"));
    cr_expect(strstr(got, "Opens in <b id=\"opens\">about 30 minutes"), "%s", got);
    cr_expect(strstr(got, "content=\"60; url=/q/login"), "%s", got);
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", ""), 403);
    cr_expect_eq(num("opens_at"), w.when.opens_ms / 1000);
    w.when.opens_ms = (router_wall_s() + 7) * 1000; /* and then it looks when it opens */
    send_map(7, 8, QUEUE_CLOSED, false);
    UNTIL(routes_version(w.r->routes) == 8);
    cr_expect_eq(visit("GET", "/q/login", "", ""), 403);
    cr_expect(strstr(got, "content=\"60; url=/q/login") == NULL);
    cr_expect_eq(w.appends, 0);
}

Test(page_http, early_visitors_see_the_opening_time)
{
    w.when = (struct map_phase){ .phase = PHASE_PREQUEUE,
                                 .opens_ms = (router_wall_s() + 7200) * 1000,
                                 .draw = "{\"commitment\":\"ab\"}" };
    w.no_place = NO_PLACE_EARLY;
    send_map(5, 6, QUEUE_PAUSED, false);
    UNTIL(routes_version(w.r->routes) == 6);
    cr_expect_eq(visit("GET", "/q/login", ticket(0, ""), ""), 200);
    cr_expect(strstr(got, "You are here early"));
    cr_expect(strstr(got, "<b id=\"position\">drawn at random at the opening</b>"));
    cr_expect(strstr(got, "<p id=\"note\" hidden></p>"), "waiting for the hour is no pause");
    cr_expect(strstr(got, "<code>ab</code>") && strstr(got, "<div hidden><dt>Seed</dt>"), "the draw");
    cr_expect(strstr(got, "<dt id=\"wait\">Opens in</dt><dd><b id=\"eta\">about 2 hours"));
    cr_expect_eq(call("GET", "/v1/queues/login", ""), 200);
    cr_expect_str_eq(str("state"), "prequeue");
    cr_expect_eq(num("opens_at"), w.when.opens_ms / 1000);
    cr_expect(strstr(got, "\"draw\":{\"commitment\":\"ab\"}"));
    cr_expect_eq(visit("GET", "/q/login", ticket(9, ""), ""), 200, "the draw was");
    cr_expect(strstr(got, "You are in line"));
}

Test(page_http, drawn_visitors_get_the_draw_to_check)
{
    w.when = (struct map_phase){ .draw = "{\"commitment\":\"ab\",\"seed\":\"cd\","
                                         "\"segments\":[{\"segment\":1,\"count\":3}]}" };
    send_map(5, 6, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 6);
    cr_expect_eq(visit("GET", "/q/login", ticket(9, ""), ""), 200);
    cr_expect(strstr(got, "<code>ab</code>") && strstr(got, "<code id=\"seed\">cd</code>"), "%s", got);
    cr_expect(strstr(got, "<code>1-9</code>"), "its own name");
    w.when.draw = "{\"commitment\":\"ab\",\"seed\":\"cd\","
                  "\"segments\":[{\"segment\":11,\"count\":3}]}";
    send_map(6, 7, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 7);
    cr_expect_eq(visit("GET", "/q/login", ticket(9, ""), ""), 200);
    cr_expect(strstr(got, "<details>") == NULL, "who came after the opening drew nothing");
}

/* Nobody has to wait, or to have a pass. */
Test(page_http, passthrough_sends_straight_on)
{
    w.when = (struct map_phase){ .phase = PHASE_PASSTHROUGH };
    send_map(5, 6, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 6);
    cr_expect_eq(visit("GET", "/q/login?return=/shop", "", ""), 303);
    cr_expect_str_eq(header("Location"), "/shop");
    cr_expect_str_eq(header("Set-Cookie"), "");
    cr_expect_eq(visit("GET", "/q/login?return=/shop", ticket(5, ""), ""), 303);
    cr_expect_eq(w.appends, 0);
    cr_expect_eq(call("GET", "/v1/queues/login", ""), 200);
    cr_expect_str_eq(str("state"), "passthrough");
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", ""), 201, "whoever wants a ticket");
}

Test(page_http, a_finished_visit_begins_anew)
{
    char line[200];

    snprintf(line, sizeof(line), "Cookie: segq_ticket=%s\r\n", ticket_path(5, 50) + 12);
    cr_expect_eq(visit("GET", "/q/login?return=/x", line, ""), 303);
    cr_expect_str_eq(header("Location"), "/q/login?return=%2Fx");
    cr_expect(strstr(header("Set-Cookie"), "segq_ticket=; Max-Age=0; Path=/q/login"));
}

#define OURS "Sec-Fetch-Site: same-origin\r\n"

Test(page_http, forms)
{
    char form[300], both[400];

    snprintf(both, sizeof(both), "%s" OURS, ticket(40, ""));
    cr_expect_eq(visit("POST", "/q/login/leave", both, "return=%2Fx"), 303);
    cr_expect_str_eq(header("Location"), "/q/login?left=1&return=%2Fx");
    cr_expect(strstr(header("Set-Cookie"), "segq_ticket=; Max-Age=0"));
    cr_expect_eq(w.drops, 1);
    cr_expect_eq(visit("POST", "/q/login/join", both, "return=%2Fx"), 303);
    cr_expect_str_eq(header("Location"), "/q/login?r=1&return=%2Fx", "a new place");
    cr_expect_eq(w.appends, 1);
    cr_expect(strstr(header("Set-Cookie"), "segq_ticket=E") == header("Set-Cookie"));
    cr_expect_eq(visit("POST", "/q/login/enter", both, "return=%2Fx"), 303);
    cr_expect_str_eq(header("Location"), "/q/login?r=1&return=%2Fx", "it waits still");
    snprintf(form, sizeof(form), "token=%s&return=%%2Fx", ticket_path(N_ADMITTED, 1) + 12);
    cr_expect_eq(visit("POST", "/q/login/enter", both, form), 303);
    cr_expect_str_eq(header("Location"), "/x", "the form's ticket counts, not the cookie's");
    cr_expect(strstr(got, "\r\nSet-Cookie: segq_pass=a.b.c; "));
    cr_expect(strstr(got, "\r\nSet-Cookie: segq_ticket=E"));
    cr_expect_eq(visit("POST", "/q/login/enter", OURS, "return=%2Fx"), 303);
    cr_expect_str_eq(header("Location"), "/q/login?r=1&return=%2Fx", "no ticket at all");
    cr_expect_eq(w.appends, 1);
}

/* A claim gave the browser another place, in another tab, and this tab's ticket has left. */
Test(page_http, a_tab_whose_ticket_is_over_keeps_the_other_tabs_cookie)
{
    char form[300], both[400];

    snprintf(form, sizeof(form), "token=%s&return=%%2Fx", ticket_path(N_GONE, 1) + 12);
    snprintf(both, sizeof(both), "%s" OURS, ticket(40, ""));
    cr_expect_eq(visit("POST", "/q/login/enter", both, form), 303);
    cr_expect_str_eq(header("Location"), "/q/login?r=1&return=%2Fx");
    cr_expect_str_eq(header("Set-Cookie"), "");
    cr_expect_eq(visit("POST", "/q/login/enter", OURS, form), 303, "without a cookie");
    cr_expect(strstr(header("Set-Cookie"), ticket_path(N_GONE, 1) + 12) != NULL,
              "the page that follows says why");
}

Test(page_http, forms_of_other_sites_do_nothing)
{
    char form[300], both[400];

    snprintf(form, sizeof(form), "token=%s", ticket_path(N_ADMITTED, 1) + 12);
    snprintf(both, sizeof(both), "%sSec-Fetch-Site: cross-site\r\n", ticket(40, ""));
    cr_expect_eq(visit("POST", "/q/login/leave", both, ""), 403);
    cr_expect_eq(visit("POST", "/q/login/enter", both, form), 403);
    snprintf(both, sizeof(both), "%sOrigin: https://evil.example\r\n", ticket(40, ""));
    cr_expect_eq(visit("POST", "/q/login/leave", both, ""), 403);
    cr_expect_eq(w.drops, 0);
    /* an old browser that says nothing: only what the cookie proves */
    cr_expect_eq(visit("POST", "/q/login/enter", "", form), 303);
    cr_expect_str_eq(header("Location"), "/q/login?r=1&return=%2F");
    cr_expect_str_eq(header("Set-Cookie"), "");
    cr_expect_eq(visit("POST", "/q/login/leave", ticket(40, ""), ""), 303);
    cr_expect_eq(w.drops, 1);
}

Test(page_http, too_fast_in_words)
{
    w.cfg.join_limit_per_s = w.cfg.poll_limit_per_s = 0.01;
    w.cfg.join_burst = w.cfg.poll_burst = 1;
    router_reload(w.r);
    cr_expect_eq(visit("GET", "/q/login", "", ""), 200);
    cr_expect_eq(visit("GET", "/q/login", "", ""), 429);
    cr_expect(strstr(got, "A little slower"));
    cr_expect_str_neq(header("Retry-After"), "");
    cr_expect_eq(visit("GET", "/q/login", ticket(5, ""), ""), 200);
    cr_expect_eq(visit("GET", "/q/login", ticket(5, ""), ""), 429);
    cr_expect_eq(w.appends, 1);
}

Test(page_http, https_as_configured)
{
    w.cfg.page_https = HTTPS_ALWAYS;
    visit("GET", "/q/login", "", "");
    cr_expect(strstr(header("Set-Cookie"), "; Secure"));
    w.cfg.page_https = HTTPS_AUTO;
    visit("GET", "/q/login", "X-Forwarded-Proto: https\r\n", "");
    cr_expect(strstr(header("Set-Cookie"), "; Secure") == NULL, "nobody trusts this one");
}

Test(page_http, operator_message_is_shown)
{
    uint32_t version;

    cr_assert_eq(call("GET", "/v1/queues/login", ""), 200);
    cr_expect_eq(num("page"), 0);
    w.page = "{\"title\":\"Shop <b>\",\"message\":\"We open at ten\",\"accent\":\"#00aa44\","
             "\"logo\":\"/logo.svg\",\"return\":[\"https://shop.example\"],"
             "\"texts\":[{\"lang\":\"zh\",\"title\":\"商店\",\"message\":\"\"}]}";
    send_map(5, 6, QUEUE_OPEN, false);
    UNTIL((call("GET", "/v1/queues/login", ""), num("page") != 0));
    version = (uint32_t)num("page");
    visit("GET", "/q/login?return=https://shop.example/x", ticket(5, ""), "");
    cr_expect(strstr(got, "Shop &lt;b&gt;") && strstr(got, "We open at ten"));
    cr_expect(strstr(got, "--accent:#00aa44") && strstr(got, "<img src=\"/logo.svg\""));
    cr_expect(strstr(header("Content-Security-Policy"),
                     "form-action 'self' https://shop.example;"));
    visit("GET", "/q/login", "Accept-Language: zh-CN,en;q=0.5\r\n", "");
    cr_expect(strstr(got, "商店") && strstr(got, "We open at ten"));
    cr_expect_eq(visit("GET", "/q/login?return=https%3A%2F%2Fshop.example%2Fx",
                       ticket(N_ADMITTED, ""), ""),
                 303);
    cr_expect_str_eq(header("Location"), "https://shop.example/x");
    visit("GET", "/q/login?return=/x", ticket(N_ADMITTED, ""), "");
    cr_expect_str_eq(header("Location"), "/x");
    visit("GET", "/q/login", ticket(N_ADMITTED, ""), "");
    cr_expect_str_eq(header("Location"), "https://shop.example/", "where nothing is said");
    cr_assert_eq(call("GET", "/q/login/words", ""), 200);
    cr_expect_str_eq(str("message"), "We open at ten");
    cr_expect_eq(num("page"), version);
    w.page = "{\"message\":\"We opened\"}";
    send_map(6, 7, QUEUE_OPEN, false);
    UNTIL((call("GET", "/v1/queues/login", ""), num("page") != version));
    cr_assert_eq(call("GET", "/q/login/words", ""), 200);
    cr_expect_str_eq(str("message"), "We opened");
    cr_expect_str_eq(str("title"), "Waiting room");
    w.page = "{\"nonsense\":1}";
    send_map(7, 8, QUEUE_OPEN, false);
    UNTIL((call("GET", "/q/login/words", ""), str("message")[0] == '\0'));
    cr_expect_eq(visit("GET", "/q/login", ticket(5, ""), ""), 200);
}

/* The word of the moment: on the page and in the answers, escaped for each; told apart from
 * the page's own by the same number. */
Test(page_http, the_word_of_the_moment)
{
    uint32_t version;

    cr_assert_eq(call("GET", "/v1/queues/login", ""), 200);
    cr_expect_null(json_object_get(js, "message"));
    w.message = "\"Half\" of <it>\nsoon";
    send_map(5, 6, QUEUE_OPEN, false);
    UNTIL((call("GET", "/v1/queues/login", ""), num("page") != 0));
    cr_expect_str_eq(str("message"), w.message);
    version = (uint32_t)num("page");
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", "{}"), 201);
    cr_expect_str_eq(str("message"), w.message);
    cr_expect_eq(visit("GET", "/q/login", ticket(5, ""), ""), 200);
    cr_expect(strstr(got, "&quot;Half&quot; of &lt;it&gt;") != NULL, "%s", got);
    cr_assert_eq(call("GET", "/q/login/words", ""), 200);
    cr_expect_str_eq(str("message"), w.message);
    cr_expect_eq(num("page"), version);
    w.message = "All of it";
    send_map(6, 7, QUEUE_OPEN, false);
    UNTIL((call("GET", "/v1/queues/login", ""), num("page") != version));
    w.page = "{\"message\":\"We open at ten\"}";
    version = (uint32_t)num("page");
    send_map(7, 8, QUEUE_OPEN, false);
    UNTIL((call("GET", "/v1/queues/login", ""), num("page") != version));
    cr_assert_eq(call("GET", "/q/login/words", ""), 200);
    cr_expect_str_eq(str("message"), "All of it\n\nWe open at ten");
    w.message = w.page = "";
    send_map(8, 9, QUEUE_OPEN, false);
    UNTIL((call("GET", "/v1/queues/login", ""), num("page") == 0));
    cr_expect_null(json_object_get(js, "message"));
}

/* Who goes away while its flow is under way leaves nothing behind (the leak checker). */
Test(page_http, visitors_that_disconnect)
{
    w.hold = true;
    say_with("GET", "/q/login", LOOKS, "");
    UNTIL(w.append_frames == 1);
    close(w.fd);
    dial();
    say_with("GET", "/q/login", ticket(5, ""), "");
    UNTIL(w.place_frames == 1);
    cr_expect_eq(w.r->flows.n, 2);
}

/* ---- a program of another waiting room: room_json.h ---- */

#define JSON "Accept: application/json\r\n"

Test(page_http, a_program_of_another_room_joins_polls_and_reads_json)
{
    char cookie[300];

    w.cfg.page_compat = PAGE_COMPAT_CLOUDFLARE;
    cr_assert_eq(fetch_page("GET", "/q/login?return=/shop", JSON, ""), 200);
    cr_expect_eq(w.appends, 1);
    cr_expect_str_eq(header("Content-Type"), "application/json");
    cr_expect_str_eq(header("Cache-Control"), "no-store");
    cr_expect_str_eq(header("Vary"), "Accept, Cookie");
    cr_expect(strstr(got, "{\"cfWaitingRoom\":{\"inWaitingRoom\":true,"));
    cr_expect(strstr(got, "\"queueIsFull\":false"));
    cr_expect(strstr(got, "\"lastUpdated\":\"20"));
    cr_expect(strstr(got, "\"refreshIntervalSeconds\":"));
    cr_expect(strstr(got, "\"queueingMethod\":\"fifo\""));
    json_t *o = json_loads(strstr(got, "\r\n\r\n") + 4, 0, NULL);
    cr_expect(json_is_object(json_object_get(o, "cfWaitingRoom")));
    json_decref(o);
    snprintf(cookie, sizeof(cookie), JSON "Cookie: %.*s\r\n", (int)strcspn(header("Set-Cookie"), ";"),
             header("Set-Cookie"));
    cr_assert_eq(fetch_page("GET", "/q/login?return=/shop", cookie, ""), 200);
    cr_expect_eq(w.appends, 1, "it polls");
    cr_expect_geq(w.places, 1);
}

/* Else programs get what they got: the door, and nobody joins by it. */
Test(page_http, without_page_compat_a_program_does_not_join)
{
    cr_assert_eq(fetch_page("GET", "/q/login", JSON, ""), 200);
    cr_expect_eq(w.appends, 0);
    cr_expect(strstr(header("Content-Type"), "text/html"));
    w.cfg.page_compat = PAGE_COMPAT_CLOUDFLARE;
    cr_assert_eq(fetch_page("GET", "/q/login", "Accept: text/html, application/json\r\n", ""), 200);
    cr_expect_eq(w.appends, 0, "a browser that takes both reads HTML");
    cr_assert_eq(fetch_page("HEAD", "/q/login", JSON, ""), 200);
    cr_expect_eq(w.appends, 0);
}

/* Nobody is there to press a button: the place that is over is forgotten, and the next request joins. */
Test(page_http, a_program_whose_place_is_over_joins_anew)
{
    char fields[400];

    w.cfg.page_compat = PAGE_COMPAT_CLOUDFLARE;
    snprintf(fields, sizeof(fields), JSON "%s", ticket(N_GONE, ""));
    cr_assert_eq(fetch_page("GET", "/q/login", fields, ""), 200);
    cr_expect(strstr(got, "\"waitTimeKnown\":false"));
    cr_expect(strstr(header("Set-Cookie"), "segq_ticket=; Max-Age=0"));
    cr_expect_eq(w.appends, 0);
}

/* ticket_poll_times counts whoever polls by the page, too: HTML or JSON. */
Test(page_http, a_ticket_that_is_polled_far_too_often_by_the_page_is_429)
{
    char cookie[400];
    int n = 0, status = 0;

    w.cfg.page_compat = PAGE_COMPAT_CLOUDFLARE;
    w.cfg.ticket_poll_times = 3;
    router_reload(w.r);
    cr_assert_eq(fetch_page("GET", "/q/login", JSON, ""), 200);
    snprintf(cookie, sizeof(cookie), JSON "Cookie: %.*s\r\n", (int)strcspn(header("Set-Cookie"), ";"),
             header("Set-Cookie"));
    while (n < 10 && (status = fetch_page("GET", "/q/login", cookie, "")) == 200)
        n++;
    cr_expect_eq(status, 429);
    cr_expect(n >= 3 && n <= 5, "%d polls at once", n);
    cr_expect(strstr(got, "\"inWaitingRoom\":true"));
    cr_expect(strstr(got, "\r\nRetry-After: "));
    cr_expect_eq(fetch_page("GET", "/q/login", cookie + strlen(JSON), ""), 429);
    cr_expect(strstr(header("Content-Type"), "text/html"));
    cr_expect_eq(w.appends, 1);
}

/* A place that was given back is over as well: no HTML for a program. */
Test(page_http, a_program_whose_place_was_left_reads_json)
{
    char fields[400];

    w.cfg.page_compat = PAGE_COMPAT_CLOUDFLARE;
    w.ends = GONE_LEFT;
    snprintf(fields, sizeof(fields), JSON "%s", ticket(1, ""));
    cr_assert_eq(fetch_page("GET", "/q/login", fields, ""), 200);
    cr_expect_str_eq(header("Content-Type"), "application/json");
    cr_expect(strstr(header("Set-Cookie"), "segq_ticket=; Max-Age=0"));
}

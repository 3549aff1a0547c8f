/* test_tell_http.c: the waiting page of a queue with turn_notice: the button for Web Push, its worker, and the
 * field in which people say where they are told. */
#define _GNU_SOURCE /* memmem */
#include "router/state/contact.h"
#include "tests/lib/routerrig.h"

#define KEY "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"

static void begin(void)
{
    setup_all();
    w.turn_queue = "gen";
}

TestSuite(tell_http, .init = begin, .fini = teardown, .timeout = 60);

static void page_has(const char *key, uint32_t field)
{
    static uint64_t version = 5;

    w.push_key = key;
    w.turn_field = field;
    send_map(version, version + 1, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == version + 1);
    version++;
}

static int ask(const char *method, const char *path, const char *form)
{
    char fields[300];

    snprintf(fields, sizeof(fields), "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: "
             "document\r\nCookie: segq_ticket=%s\r\n", ticket_path(40, 1) + 12);
    n_got = 0;
    got[0] = '\0';
    say_with(method, path, fields, form);
    UNTIL((more(), whole(got) > 0));
    return atoi(got + 9);
}

static bool has(const char *what)
{
    return strstr(got, what) != NULL;
}

Test(tell_http, a_page_has_what_its_queue_names_and_no_more)
{
    page_has(NULL, TURN_FIELD_NONE);
    cr_assert_eq(ask("GET", "/q/login", ""), 200);
    cr_expect(!has("id=\"push\"") && !has("id=\"tell\"") && !has("worker-src"));
    cr_expect_eq(ask("GET", "/q/login/worker.js", ""), 404);
    page_has(KEY, TURN_FIELD_NONE);
    cr_assert_eq(ask("GET", "/q/login", ""), 200);
    cr_expect(has("data-key=\"" KEY "\"") && has("worker-src 'self'") && !has("id=\"tell\""));
    cr_assert_eq(ask("GET", "/q/login/worker.js", ""), 200);
    cr_expect(has("\r\nContent-Type: text/javascript") && has("showNotification") && has("connect-src 'self'"));
    w.push_contact = "mailto:ops@example.org";
    page_has(NULL, TURN_FIELD_NONE);
    cr_assert_eq(ask("GET", "/q/login", ""), 200);
    cr_expect(strlen(w.r->push.text) == PUSH_KEY_LEN && has(w.r->push.text), "a key of its own");
    cr_assert_eq(ask("GET", "/q/login/worker.js", ""), 200);
    w.push_contact = NULL;
    page_has(NULL, TURN_FIELD_EMAIL);
    cr_assert_eq(ask("GET", "/q/login", ""), 200);
    cr_expect(!has("id=\"push\"") && has("id=\"tell\"") && has("type=\"email\""));
    cr_expect(has("http-equiv=\"refresh\" content=\"30;"), "whoever writes has time for it");
    page_has(NULL, TURN_FIELD_TEXT);
    cr_assert_eq(ask("GET", "/q/login?told=0", ""), 200);
    cr_expect(has("type=\"text\"") && has("That did not work"));
    w.turn_queue = NULL; /* a queue that tells nobody asks for nothing */
    page_has(KEY, TURN_FIELD_EMAIL);
    cr_assert_eq(ask("GET", "/q/login", ""), 200);
    cr_expect(!has("id=\"push\"") && !has("id=\"tell\""));
}

Test(tell_http, what_is_written_is_the_tickets_contact)
{
    char plain[CONTACT_PLAIN_MAX];

    page_has(NULL, TURN_FIELD_EMAIL);
    cr_assert_eq(ask("POST", "/q/login/tell", "return=%2Fx&contact=a%22b%40example.org"), 303);
    cr_expect(has("Location: /q/login?told=1&return=%2Fx"), "%s", got);
    cr_expect(w.contact.number == 40 && w.contact.claim_ms == 240000);
    cr_assert_eq(contact_open(&w.r->keys, w.contact_bytes, w.contact.n_sealed, plain), 0);
    cr_expect_str_eq(plain + TOKEN_TEXT_LEN, "\"a\\u0022b@example.org\"");
    cr_assert_eq(ask("GET", "/q/login?told=1", ""), 200);
    cr_expect(has("you may close this page"));
    w.contact_state = CONTACT_FULL;
    cr_assert_eq(ask("POST", "/q/login/tell", "contact=a%40example.org"), 303);
    cr_expect(has("Location: /q/login?told=0"));
    w.contact_state = CONTACT_INSIDE;
    cr_assert_eq(ask("POST", "/q/login/tell", "contact=a%40example.org"), 303);
    cr_expect(has("Location: /q/login?r=1"));
}

Test(tell_http, what_is_unfit_is_said_and_sent_nowhere)
{
    static const char *const bad[] = { "", "contact=", "contact=anna", "contact=%40x", "contact=a%40", "contact=a%40b%0d%0aTo:+c",
                                       "contact=a+b%40c", "contact=a%40b&contact=c%40d", "contact=%ff%40b" };
    char form[400];

    page_has(NULL, TURN_FIELD_EMAIL);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cr_expect_eq(ask("POST", "/q/login/tell", bad[i]), 303, "%s", bad[i]);
        cr_expect(has("Location: /q/login?told=0"), "%s", bad[i]);
    }
    snprintf(form, sizeof(form), "contact=%0*d%%40x", 253, 0);
    cr_expect_eq(ask("POST", "/q/login/tell", form), 303);
    cr_expect(has("Location: /q/login?told=0"));
    page_has(KEY, TURN_FIELD_NONE);
    cr_expect_eq(ask("POST", "/q/login/tell", "contact=a%40b"), 303);
    cr_expect(has("Location: /q/login?told=0"), "no field was there");
    cr_expect_eq(w.n_contacts, 0);
}

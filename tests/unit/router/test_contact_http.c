/* test_contact_http.c: PUT and DELETE /v1/tickets/{token}/contact, and what a router makes of a node's word
 * that a ticket is let in (router/task_requests/notice.h). */
#define _GNU_SOURCE /* memmem */
#include "router/links/flows.h"
#include "router/state/contact.h"
#include "tests/lib/taskhttprig.h"

static char path[200];

static void begin(void)
{
    set_up();
    w.turn_queue = "gen";
    send_map(5, 6, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 6);
    strcpy(path, ticket_path(42, 1));
    strcat(path, "/contact");
}

TestSuite(contact_http, .init = begin, .fini = tear_down, .timeout = 60);

static int put_contact(const char *body)
{
    return call("PUT", path, body);
}

Test(contact_http, it_is_sealed_for_its_ticket)
{
    cr_assert_eq(put_contact("{\"contact\":\"anna@example.org\"}"), 204);
    cr_expect_eq(w.contact.seg, 1);
    cr_expect_eq(w.contact.number, 42);
    cr_expect_eq(w.contact.claim_ms, 240000);
    cr_expect_null(memmem(w.contact_bytes, w.contact.n_sealed, "anna", 4));
    cr_expect_null(memmem(w.contact_bytes, w.contact.n_sealed, "example", 7));
    cr_assert_eq(call("DELETE", path, ""), 204);
    cr_expect_eq(w.contact.n_sealed, 0);
}

Test(contact_http, what_is_unfit_is_refused)
{
    static const char *const bad[] = { "", "{}", "[]", "{\"contact\":\"\"}", "{\"contact\":7}", "{\"contact\":null}",
                                       "{\"contact\":[\"x\"]}", "{\"contact\":\"x\"", "{\"contact\":\"x\",\"contact\":\"y\"}" };
    static char body[CONTACT_MAX + 100];

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cr_expect_eq(put_contact(bad[i]), 400, "%s", bad[i]);
        cr_expect_str_eq(str("code"), "bad_request");
    }
    snprintf(body, sizeof(body), "{\"contact\":\"%0*d\"}", CONTACT_MAX - 1, 0);
    cr_expect_eq(put_contact(body), 400);
    cr_expect_str_eq(str("detail"), "contact must be a text or an object, of at most 2048 bytes as JSON");
    cr_expect_eq(w.n_contacts, 0);
    snprintf(body, sizeof(body), "{\"contact\":\"%0*d\"}", CONTACT_MAX - 2, 0);
    cr_expect_eq(put_contact(body), 204);
    cr_expect_eq(call("PUT", "/v1/tickets/x/contact", "{\"contact\":\"x\"}"), 404);
    cr_expect_eq(call("GET", path, ""), 405);
    cr_expect_not_null(strstr(got, "\r\nAllow: PUT, DELETE\r\n"));
    w.turn_queue = NULL;
    send_map(6, 7, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 7);
    cr_expect_eq(put_contact("{\"contact\":\"x\"}"), 403);
    cr_expect_str_eq(str("code"), "not_eligible");
    cr_expect_eq(call("DELETE", path, ""), 204, "what was said before may be taken back");
}

Test(contact_http, what_the_node_says_is_told)
{
    w.contact_state = CONTACT_INSIDE;
    cr_expect_eq(put_contact("{\"contact\":\"x\"}"), 409);
    w.contact_state = CONTACT_FULL;
    cr_expect_eq(put_contact("{\"contact\":\"x\"}"), 503);
    cr_expect_str_eq(str("code"), "queue_full");
    w.contact_state = CONTACT_GONE;
    cr_expect_eq(put_contact("{\"contact\":\"x\"}"), 410);
    cr_expect_str_eq(str("reason"), "left");
    cr_expect_eq(call("DELETE", path, ""), 204);
}

/* As the node says it; waits for the answer. */
static void word(enum turn_word what, const uint8_t *sealed, uint32_t n, int64_t at_ms)
{
    struct msg m = { .type = MSG_TURN };
    unsigned was = w.n_turns;

    m.turn = (struct msg_turn){ .seg = 1, .number = 42, .word = (uint8_t)what, .at_ms = at_ms,
                                .until_ms = at_ms + 240000, .n_sealed = n, .sealed = sealed };
    send_msg(w.seg_ch, &m, 0);
    UNTIL(w.n_turns > was);
    cr_expect(w.turn.seg == 1 && w.turn.number == 42 && w.turn.word == what);
}

static void turn(const uint8_t *sealed, uint32_t n, int64_t at_ms)
{
    word(TURN_NOW, sealed, n, at_ms);
}

Test(contact_http, a_turn_is_one_call_however_often_it_is_said)
{
    uint8_t first[CONTACT_SEALED_MAX];
    uint32_t n;

    cr_assert_eq(put_contact("{\"contact\":{\"endpoint\":\"https://push.example/a\\u00e9\",\"keys\":{}}}"), 204);
    n = w.contact.n_sealed;
    memcpy(first, w.contact_bytes, n);
    turn(first, n, 1700000000000);
    cr_expect(w.turn.told);
    cr_assert_eq(node.n, 1);
    cr_expect_str_eq(node.v[1].queue, "gen");
    cr_expect_str_eq(node.v[1].idem, "turn 1-42 now");
    cr_expect_str_eq(node.v[1].labels, "segq-turn");
    cr_expect_str_eq(node.v[1].body, "POST /turns");
    cr_assert_eq(put_contact("{\"contact\":\"y\"}"), 204, "sealed anew");
    turn(w.contact_bytes, w.contact.n_sealed, 1700000000777);
    cr_expect(w.turn.told, "it was told before");
    cr_expect_eq(node.n, 1);
    cr_expect_eq(w.r->tasking->counts.turns, 1);
    first[n - 1] ^= 1;
    turn(first, n, 1700000000000);
    cr_expect_not(w.turn.told, "none of ours");
    cr_expect_gt(w.turn.later_ms, 0);
    cr_expect_eq(w.r->tasking->counts.turns_failed, 1);
}

#define SUBSCRIPTION(host)                                                                                      \
    "{\"contact\":{\"endpoint\":\"https://" host "/x?y=1\",\"keys\":{\"p256dh\":\"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-" \
    "JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4\",\"auth\":\"BTBZMqHH6r4Tts7J_aSIgg\"}}}"

Test(contact_http, a_subscription_becomes_a_call_of_its_push_service)
{
    w.push_contact = "mailto:ops@example.org";
    send_map(6, 7, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 7);
    cr_expect_eq(put_contact("{\"contact\":{\"endpoint\":\"https://push.example/x\"}}"), 400);
    cr_expect_str_eq(str("detail"), "contact is no push subscription: keys.p256dh and keys.auth are 65 and 16 bytes in base64url");
    cr_expect_eq(put_contact(SUBSCRIPTION("inside.example:8080")), 400);
    cr_expect_eq(put_contact(SUBSCRIPTION("[::1]")), 403, "no queue is called so");
    cr_expect_str_eq(str("detail"), "::1 is no push service that this queue uses: poll the ticket");
    cr_expect_eq(put_contact(SUBSCRIPTION("refunds")), 403, "a queue of calls, whose endpoint is elsewhere");
    cr_expect_str_eq(str("detail"), "refunds is no push service that this queue uses: poll the ticket");
    cr_expect_eq(put_contact(SUBSCRIPTION("push.example.")), 403);
    cr_expect_eq(put_contact(SUBSCRIPTION("push.example.com")), 403);
    cr_assert_eq(put_contact(SUBSCRIPTION("Push.Example:443")), 204);
    cr_assert_eq(put_contact(SUBSCRIPTION("push.example")), 204);
    turn(w.contact_bytes, w.contact.n_sealed, 1700000000000);
    cr_expect(w.turn.told);
    cr_assert_eq(node.n, 1);
    cr_expect_str_eq(node.v[1].queue, "gen/push.example");
    cr_expect_str_eq(node.v[1].idem, "turn 1-42 now");
    cr_expect_str_eq(node.v[1].body, "POST /x?y=1");
    cr_expect_eq(node.v[1].own.ttl_ms, 60001, "it is not sent when it is late: the least");
    cr_assert_eq(put_contact("{\"contact\":\"anna@example.org\"}"), 204, "a field beside the button");
    cr_expect_eq(put_contact(SUBSCRIPTION("www.example")), 403, "a pool of many names, gen/w*, names none of them");
}

Test(contact_http, a_subscription_of_before_calls_no_host_that_is_not_named)
{
    cr_assert_eq(put_contact(SUBSCRIPTION("www.example")), 204, "a service of the operator's sends");
    w.push_contact = "mailto:ops@example.org";
    send_map(6, 7, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 7);
    turn(w.contact_bytes, w.contact.n_sealed, 1700000000000);
    cr_expect(w.turn.told);
    cr_assert_eq(node.n, 1);
    cr_expect_str_eq(node.v[1].queue, "gen");
    cr_expect_str_eq(node.v[1].body, "POST /turns");
}

static void routers_push(void)
{
    w.push_contact = "mailto:ops@example.org";
    send_map(6, 7, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 7);
}

/* The endpoint of gen/push.example has another url from now on. */
static void push_service_is(const char *url, uint64_t epoch)
{
    uint64_t maps = w.r->tasking->counts.maps;

    node.push_url = url;
    send_pools(epoch, 5, 9);
    UNTIL(w.r->tasking->counts.maps > maps);
}

static void no_way(const char *why)
{
    uint64_t was = w.r->tasking->counts.turns_no_way;

    turn(w.contact_bytes, w.contact.n_sealed, 1700000000000);
    cr_expect_not(w.turn.told);
    cr_expect_eq(w.turn.later_ms, 30000);
    cr_expect_eq(w.r->tasking->counts.turns_no_way, was + 1);
    cr_expect_str_eq(w.r->untold.text, why);
    cr_expect_gt(w.r->untold.until, ev_now(w.r->ev));
    cr_expect_eq(node.n, 0, "nobody is called, least of all who has nothing to do with it");
}

#define GONE "queue login: people are not told of their turn by push.example: no pool has an endpoint of that host"

Test(contact_http, a_push_service_that_went_is_not_called_and_nobody_in_its_place)
{
    routers_push();
    cr_assert_eq(put_contact(SUBSCRIPTION("push.example")), 204);
    push_service_is("https://elsewhere.example", 4);
    no_way(GONE);
    no_way(GONE);
    push_service_is(NULL, 5);
    turn(w.contact_bytes, w.contact.n_sealed, 1700000000000);
    cr_expect(w.turn.told, "it is back in time");
    cr_assert_eq(node.n, 1);
    cr_expect_str_eq(node.v[1].queue, "gen/push.example");
}

Test(contact_http, what_routers_were_to_push_is_not_posted_when_they_push_no_more)
{
    routers_push();
    cr_assert_eq(put_contact(SUBSCRIPTION("push.example")), 204);
    w.push_contact = NULL;
    send_map(7, 8, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 8);
    no_way("queue login: people are not told of their turn by push.example: turn_notice.push_contact was unset");
}

/* Its push service has said so when the turn came near. */
Test(contact_http, a_subscription_that_had_ended_is_not_called_again)
{
    static const struct { uint32_t status; bool ended; } said[] = { { 404, true }, { 410, true }, { 413, false } };
    static struct attempt_row last;
    uint64_t ended = 0;

    routers_push();
    cr_assert_eq(put_contact(SUBSCRIPTION("push.example")), 204);
    for (size_t i = 0; i < ARRAY_LEN(said); i++) {
        node.n = 0;
        word(TURN_SOON, w.contact_bytes, w.contact.n_sealed, 1700000000000);
        cr_assert(w.turn.told && node.n == 1);
        cr_expect_eq(strncmp(node.v[1].name, "turn 1-42 ", 10), 0);
        node.v[1].state = TASK_DEAD;
        last = (struct attempt_row){ .no = 1, .end = ATTEMPT_STATUS, .number = said[i].status, .reason = { 0 } };
        node.as.n_history = 1;
        node.as.history = &last;
        turn(w.contact_bytes, w.contact.n_sealed, 1700000000000);
        cr_expect(w.turn.told);
        cr_expect_eq(node.n, said[i].ended ? 1 : 2, "%u", said[i].status);
        ended += said[i].ended;
        cr_expect_eq(w.r->tasking->counts.turns_ended, ended);
    }
    last.number = 410;
    cr_assert_eq(put_contact(SUBSCRIPTION("push.example/new")), 204, "who has subscribed again");
    turn(w.contact_bytes, w.contact.n_sealed, 1700000000000);
    cr_expect(w.turn.told);
    cr_expect_eq(w.r->tasking->counts.turns_ended, ended);
}

/* Joins and polls come between. */
Test(contact_http, a_crowd_that_is_let_in_at_once_is_pushed_in_portions)
{
    struct msg m = { .type = MSG_TURN };
    unsigned was, all = 1000;
    uint64_t told;

    routers_push();
    cr_assert_eq(put_contact(SUBSCRIPTION("push.example")), 204);
    m.turn = (struct msg_turn){ .seg = 1, .word = TURN_NOW, .at_ms = 1700000000000, .until_ms = 1700000240000,
                                .n_sealed = w.contact.n_sealed, .sealed = w.contact_bytes };
    was = w.n_turns;
    for (m.turn.number = 0; m.turn.number < all; m.turn.number++)
        send_msg(w.seg_ch, &m, 0);
    UNTIL(w.n_turns == was + all);
    told = w.r->tasking->counts.turns;
    cr_expect(told > 0 && told < all, "%lu", (unsigned long)told);
    cr_expect_eq(w.r->tasking->counts.turns_failed, 0);
    turn(w.contact_bytes, w.contact.n_sealed, 1700000000000);
    cr_expect(w.turn.told, "the next turn has time again");
}

/* As an older router seals it: nothing says how its person is told. */
Test(contact_http, a_subscription_of_an_older_router_is_posted_nowhere)
{
    static char text[1000];
    struct contact_in c = { .text = { text, 0 } };

    routers_push();
    cr_assert_eq(put_contact("{\"contact\":\"x\"}"), 204, "the node is reached");
    c.text.n = strlen(SUBSCRIPTION("push.example")) - strlen("{\"contact\":}");
    memcpy(text, SUBSCRIPTION("push.example") + strlen("{\"contact\":"), c.text.n);
    w.contact.n_sealed = contact_seal(&w.r->keys, ticket_path(42, 1) + 12, &c, w.contact_bytes);
    push_service_is("https://elsewhere.example", 4);
    no_way(GONE);
    push_service_is(NULL, 5);
    turn(w.contact_bytes, w.contact.n_sealed, 1700000000000);
    cr_expect(w.turn.told && node.n == 1);
}

/* Its segment is newer than the router's map, which says neither whether its queue pushes, nor where. */
Test(contact_http, before_its_queue_is_known_nobody_is_chosen)
{
    char newer[200], plain[CONTACT_PLAIN_MAX];

    w.next_seg = 2;
    routers_push();
    w.next_seg = 0;
    snprintf(newer, sizeof(newer), "%s/contact", ticket_path(42, 2));
    n_got = 0;
    got[0] = '\0';
    say_with("PUT", newer, "", SUBSCRIPTION("push.example"));
    UNTIL(w.r->flows.n > 0);
    send_map(routes_version(w.r->routes), routes_version(w.r->routes) + 1, QUEUE_OPEN, true);
    UNTIL((more(), whole(got) > 0));
    cr_assert_str_eq(strtok(got + 9, " "), "204");
    cr_expect_eq(contact_open(&w.r->keys, w.contact_bytes, w.contact.n_sealed, plain), 0);
    cr_expect_eq(contact_way(plain), CONTACT_UNSAID);
    turn(w.contact_bytes, w.contact.n_sealed, 1700000000000);
    cr_expect(w.turn.told);
    cr_assert_eq(node.n, 1);
    cr_expect_str_eq(node.v[1].queue, "gen/push.example", "pushed, and not posted");
}

/* ---- bounds, and a change of the secret ---------------------------------------------------------- */

Test(contact_http, the_longest_fits)
{
    static char body[CONTACT_MAX + 100];

    snprintf(body, sizeof(body), "{\"contact\":{\"x\":\"%0*d\"}}", CONTACT_MAX - 8, 0);
    cr_assert_eq(put_contact(body), 204);
    cr_expect_eq(w.contact.n_sealed, CONTACT_SEALED_MAX);
}

/* A router has the secret's new line first, another one not yet: each shows the key of its first. */
Test(contact_http, what_signs_is_the_key_that_the_browser_subscribed_with)
{
    static const char of[] = "{\"push_key\":\"%s\",%s";
    char body[1000], plain[CONTACT_PLAIN_MAX];

    routers_push();
    w.r->keys.token.has_other = true;
    memset(w.r->keys.other_contact, 9, sizeof(w.r->keys.other_contact));
    cr_assert_eq(web_push_key_of(&w.r->other_push, w.r->keys.other_contact), 0);
    snprintf(body, sizeof(body), of, w.r->other_push.text, SUBSCRIPTION("push.example") + 1);
    cr_assert_eq(put_contact(body), 204);
    cr_expect_eq(contact_open(&w.r->keys, w.contact_bytes, w.contact.n_sealed, plain), 1);
    cr_expect_eq(contact_way(plain), CONTACT_PUSHED);
    snprintf(body, sizeof(body), of, w.r->push.text, SUBSCRIPTION("push.example") + 1);
    cr_assert_eq(put_contact(body), 204);
    cr_expect_eq(contact_open(&w.r->keys, w.contact_bytes, w.contact.n_sealed, plain), 0);
    snprintf(body, sizeof(body), of, w.r->other_push.text, SUBSCRIPTION("push.example") + 1);
    w.r->keys.token.has_other = false;
    cr_assert_eq(put_contact(body), 400);
    cr_expect_str_eq(str("detail"), "contact is no push subscription: push_key is not this queue's (any more): load the page again");
    cr_assert_eq(put_contact("{\"contact\":\"x\",\"push_key\":\"B\"}"), 400);
    cr_expect_str_eq(str("detail"), "push_key must be the key with which the browser subscribed: 87 characters");
    cr_assert_eq(put_contact("{\"contact\":\"x\"}"), 204);
}

/* The cluster's secret is changed in three steps (old first, new first, new alone) while people wait. */
Test(contact_http, what_the_other_secret_sealed_can_be_read)
{
    struct cluster_keys was = w.r->keys, is = w.r->keys;
    struct contact_in anna = { .text = { (char *)(uintptr_t)"\"anna\"", 6 } };
    char plain[CONTACT_PLAIN_MAX];
    uint8_t sealed[CONTACT_SEALED_MAX];
    char token[TOKEN_TEXT_LEN + 1];
    uint16_t n;

    memset(token, 't', TOKEN_TEXT_LEN);
    was.token.has_other = false;
    is.token.has_other = true;
    memcpy(is.other_contact, was.contact, sizeof(is.other_contact));
    memset(is.contact, 7, sizeof(is.contact));
    n = contact_seal(&was, token, &anna, sealed);
    cr_assert_eq(contact_open(&is, sealed, n, plain), 1);
    cr_expect_str_eq(plain + TOKEN_TEXT_LEN, "\"anna\"");
    cr_expect_eq(contact_open(&is, sealed, (size_t)n - 7, plain), SQ_EAUTH, "as short as none is");
    is.token.has_other = false;
    cr_expect_eq(contact_open(&is, sealed, n, plain), SQ_EAUTH, "that secret is gone");
    n = contact_seal(&is, token, &anna, sealed);
    cr_expect_eq(contact_open(&was, sealed, n, plain), SQ_EAUTH, "a router that has not got the new one yet");
}

Test(contact_http, it_is_said_again_when_nobody_takes_it)
{
    cr_assert_eq(put_contact("{\"contact\":\"x\"}"), 204);
    node.full = "*";
    turn(w.contact_bytes, w.contact.n_sealed, 1700000000000);
    cr_expect_not(w.turn.told);
    cr_expect_eq(w.turn.later_ms, 5000);
    node.full = NULL;
    turn(w.contact_bytes, w.contact.n_sealed, 1700000000000);
    cr_expect(w.turn.told);
    cr_expect_eq(node.n, 1);
    w.turn_queue = NULL;
    send_map(6, 7, QUEUE_OPEN, false);
    UNTIL(routes_version(w.r->routes) == 7);
    turn(w.contact_bytes, w.contact.n_sealed, 1700000000000);
    cr_expect_not(w.turn.told);
    cr_expect_eq(w.turn.later_ms, 30000);
}

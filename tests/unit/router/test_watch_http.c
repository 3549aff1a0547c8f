/* test_watch_http.c: GET /v1/tasks/{task}/events and POST .../progress through a whole router, as clients see
 * them; what becomes of a stream when its node, its client, or its router goes. */
#include "router/task_requests/queue_calls.h"
#include "router/task_requests/watch.h"
#include "tests/lib/taskhttprig.h"

TestSuite(watch_http, .init = set_up, .fini = tear_down, .timeout = 60);

#define END "0\r\n\r\n"

static bool came(const char *text)
{
    more();
    return strstr(got, text) != NULL;
}

static unsigned count_of(const char *text)
{
    unsigned n = 0;

    for (const char *p = got; (p = strstr(p, text)) != NULL; p++)
        n++;
    return n;
}

static void turns(unsigned n)
{
    while (n-- > 0)
        ev_turn(w.ev, false);
    more();
}

static void submit(void)
{
    cr_assert_eq(ask("POST", "/v1/queues/images/tasks", "{\"payload\":1}"), 201);
    task_path("");
}

static void watch(void)
{
    char path[300];

    snprintf(path, sizeof(path), "%s/events", task);
    node.holds_looks = true;
    node.get_rid = 0;
    n_got = 0;
    got[0] = '\0';
    say("GET", path, "");
    UNTIL(came("\n\n") && node.places);
}

static void tell(struct place_row r)
{
    struct msg m = { .type = MSG_TASK_PLACES, .task_places = { 1, &r } };

    r.rid = node.get_rid;
    send_msg(node.ch, &m, 0);
}

static void look_ends(uint8_t code, enum task_state state)
{
    struct msg m = { .type = MSG_TASK_GET_ANS };

    m.task_get_ans = (struct msg_task_get_ans){ .code = code, .no = node.n, .state = (uint8_t)state, .attempts = 2,
                                                .queue = "images", .key1 = "", .key2 = "", .limited_by = "",
                                                .content_type = "", .own.labels = "" };
    send_msg(node.ch, &m, node.get_rid);
}

Test(watch_http, a_task_is_told_as_it_goes)
{
    struct place_row runs = { .state = TASK_RUNNING, .attempts = 1, .eta_ms = -1,
                              .progress = { 1780000001500, 41, { 6, (const uint8_t *)"page 4" },
                                            { 9, (const uint8_t *)"{\n\"a\":4}\n" } } };

    submit();
    watch();
    cr_expect_eq(strncmp(got, "HTTP/1.1 200 OK\r\n", 17), 0);
    cr_expect(came("Content-Type: text/event-stream\r\n") && came("Cache-Control: no-store\r\n"));
    cr_expect(came("retry: 1000\ndata: {\"task\":\"") && came("\"state\":\"waiting\""));
    cr_expect_eq(node.waits_ms, WATCH_WAIT_MS);
    cr_expect_eq(w.r->watches, 1);
    tell((struct place_row){ .state = TASK_WAITING, .position = 3, .ahead_of_priority = 2, .eta = TASK_ETA_PACE,
                             .eta_ms = 1500 });
    UNTIL(came("data: {\"state\":\"waiting\",\"attempts\":0,\"position\":3,\"ahead_of_priority\":1,\"eta_s\":2,"
               "\"eta_reason\":\"pace\"}\n\n"));
    tell(runs);
    UNTIL(came("data: {\"state\":\"running\",\"attempts\":1,\"progress\":{\"at\":1780000001.500,\"percent\":40,"
               "\"text\":\"page 4\",\"data\":{ \"a\":4} }}\n\n"));
    tell(runs);
    turns(30);
    cr_expect_eq(count_of("\"state\":\"running\""), 1, "what is as it was is not told");
    look_ends(CODE_DONE, TASK_SUCCEEDED);
    UNTIL(came(END));
    cr_expect(came("retry: 30000\nevent: end\ndata: {\"task\":\"") && came("\"state\":\"succeeded\""));
    cr_expect_eq(w.r->watches, 0);
    cr_expect_eq(w.r->tasking->calls.n, 0);
}

Test(watch_http, one_that_is_over_ends_at_once_and_one_that_goes_is_told_gone)
{
    submit();
    node.v[node.n].state = TASK_DEAD;
    n_got = 0;
    got[0] = '\0';
    say("GET", task_path("/events"), "");
    UNTIL(came(END));
    cr_expect(came("event: end\ndata: {\"task\":\"") && came("\"state\":\"dead\""));
    close(w.fd);
    dial();
    submit();
    watch();
    look_ends(CODE_UNKNOWN, TASK_FREE);
    UNTIL(came(END));
    cr_expect(came("event: gone\ndata: {\"type\":") || came("event: gone\ndata: {"));
    cr_expect(came("\"code\":\"task_gone\""));
    cr_expect_eq(w.r->watches, 0);
}

Test(watch_http, errors_are_those_of_a_look)
{
    char path[300];

    submit();
    snprintf(path, sizeof(path), "%s/events", task);
    cr_expect_eq(call("POST", path, ""), 405);
    path[20] = path[20] == 'A' ? 'B' : 'A';
    cr_expect_eq(call("GET", path, ""), 404);
    task_token_write(4, 9 << 24, &w.r->keys.token, task + 10);
    snprintf(path, sizeof(path), "%s/events", task);
    cr_expect_eq(call("GET", path, ""), 410, "%s", got);
    cr_expect_eq(w.r->watches, 0);
}

Test(watch_http, a_link_that_breaks_ends_no_stream)
{
    submit();
    watch();
    node.get_rid = 0;
    rpc_chan_close(node.ch, "as the test wants");
    UNTIL(node.get_rid != 0);
    cr_expect(node.places);
    cr_expect(!came(END));
    tell((struct place_row){ .state = TASK_RUNNING, .attempts = 1, .eta_ms = -1 });
    UNTIL(came("data: {\"state\":\"running\",\"attempts\":1}\n\n"));
    look_ends(CODE_DONE, TASK_SUCCEEDED);
    UNTIL(came("event: end\n"));
}

Test(watch_http, a_node_that_answers_at_once_is_not_asked_all_the_time)
{
    uint64_t rid, first;
    msec_t at;

    submit();
    at = ev_now(w.ev);
    watch();
    first = rid = node.get_rid;
    for (unsigned i = 0; i < 2; i++) {
        look_ends(CODE_DONE, TASK_WAITING);
        UNTIL(node.get_rid != rid);
        rid = node.get_rid;
    }
    cr_expect_leq(rid - first, 2);
    cr_expect_geq(ev_now(w.ev) - at, 1900);
    cr_expect(!came(END));
}

Test(watch_http, a_client_that_goes_leaves_nothing_behind)
{
    submit();
    watch();
    cr_expect_eq(w.r->tasking->calls.n, 1);
    close(w.fd);
    UNTIL(w.r->watches == 0);
    cr_expect_eq(w.r->tasking->calls.n, 0);
    dial();
    look_ends(CODE_DONE, TASK_SUCCEEDED); /* to nobody */
    cr_expect_eq(ask("GET", task, ""), 200);
}

static void drained(void *arg)
{
    *(bool *)arg = true;
}

Test(watch_http, a_router_that_stops_says_when_to_come_back)
{
    bool done = false;

    submit();
    watch();
    router_drain(w.r, drained, &done);
    UNTIL(came(END));
    cr_expect(came("retry: 500\nevent: away\ndata: {\"poll_after_ms\":500}\n\n"), "%s", got);
    UNTIL(done);
}

Test(watch_http, above_the_bound_clients_look)
{
    submit();
    ((struct router_cfg *)(uintptr_t)w.r->cfg)->max_listeners = 1;
    watch();
    close(w.fd);
    dial();
    UNTIL(w.r->watches == 0);
    watch();
    w.fd = -1; /* stays open */
    dial();
    cr_expect_eq(call("GET", (strcat(task, "/events"), task), ""), 204);
    cr_expect(came("Retry-After: "));
    cr_expect_eq(w.r->counts.listeners_refused, 1);
}

Test(watch_http, progress_goes_to_the_node_with_its_lease)
{
    char body[1600], lease[40];

    submit();
    cr_assert_eq(ask("POST", "/v1/queues/images/tasks/take", "{}"), 200);
    snprintf(lease, sizeof(lease), "%s", taken_str(0, "lease_id"));
    snprintf(body, sizeof(body), "{\"lease_id\":\"%s\",\"percent\":0,\"text\":\"a \\\"b\\\"\",\"data\":[1, 2],\"lease\":\"2s\"}", lease);
    strcat(task, "/progress");
    cr_expect_eq(ask("POST", task, body), 200, "%s", got);
    cr_expect_str_eq(node.said, "1 a \"b\" [1, 2] 2000");
    cr_expect(came("\"state\":\"running\",\"lease_expires_at\":1780000009"), "%s", got);
    snprintf(body, sizeof(body), "{\"lease_id\":\"%s\",\"percent\":100}", lease);
    cr_expect_eq(ask("POST", task, body), 200);
    cr_expect_str_eq(node.said, "101   0");
    snprintf(body, sizeof(body), "{\"lease_id\":\"%s\",\"percent\":101}", lease);
    cr_expect_eq(ask("POST", task, body), 400);
    cr_expect_not_null(strstr(str("detail"), "0 to 100"), "%s", str("detail"));
    snprintf(body, sizeof(body), "{\"lease_id\":\"%s\"}", lease);
    cr_expect_eq(ask("POST", task, body), 400);
    snprintf(body, sizeof(body), "{\"lease_id\":\"%s\",\"text\":\"%0201d\"}", lease, 7);
    cr_expect_eq(ask("POST", task, body), 400);
    snprintf(body, sizeof(body), "{\"lease_id\":\"%s\",\"data\":\"%01023d\"}", lease, 7);
    cr_expect_eq(ask("POST", task, body), 413, "%s", got);
    lease[0] = lease[0] == 'A' ? 'B' : 'A';
    snprintf(body, sizeof(body), "{\"lease_id\":\"%s\",\"percent\":1}", lease);
    cr_expect_eq(ask("POST", task, body), 409);
    cr_expect_eq(call("POST", task, body), 401);
    cr_expect_eq(ask("GET", task, ""), 405);
}

/* ---- of a queue ---- */

static void listen_at(const char *more_fields)
{
    char fields[300];

    snprintf(fields, sizeof(fields), "%s%s", bearer, more_fields);
    n_got = 0;
    got[0] = '\0';
    say_with("GET", "/v1/queues/images/tasks/events", fields, "");
    UNTIL(came("\n\n"));
}

Test(watch_http, starts_and_ends_of_a_queue_have_numbers)
{
    char name[TASK_TOKEN_LEN + 1] = "", want[300];

    listen_at("");
    cr_expect(came("HTTP/1.1 200 OK\r\n") && came("id: 1000\nretry: 1000\nevent: beat\ndata: 15000\n\n"), "%s", got);
    node.feed_rows = 2;
    task_token_write(1, node.feed_no + 1, &w.r->keys.token, name);
    UNTIL(came("id: 1002\n"));
    snprintf(want, sizeof(want), "id: 1001\ndata: {\"task\":\"%s\",\"state\":\"running\",\"attempts\":1,\"at\":1780000001.500}\n\n", name);
    cr_expect(came(want), "%s", got);
    node.feed_gap = true;
    node.feed_rows = 1;
    UNTIL(came("id: 1003\n"));
    cr_expect(came("id: 1002\nevent: gap\ndata: {\"after\":\"1002\"}\n\nid: 1003\n"), "%s", got);
    close(w.fd);
    dial();
    UNTIL(w.r->watches == 0);
    node.feed_rows = 600; /* three questions, one after the other */
    listen_at("Last-Event-ID: 1003\r\n");
    cr_expect(came("id: 1003\nretry: 1000\nevent: beat\n"));
    UNTIL(came("id: 1603\n"));
    cr_expect_eq(count_of("\"state\":\"running\""), 600);
}

Test(watch_http, a_number_of_somebody_else_is_one_behind_which_there_is_a_gap)
{
    listen_at("Last-Event-ID: 7f3a-12\r\n");
    cr_expect(came("id: 1\n"), "as it was asked: %s", got);
    close(w.fd);
    dial();
    UNTIL(w.r->watches == 0);
    listen_at("Last-Event-ID: \r\n");
    cr_expect(came("id: 1000\n"), "%s", got);
}

Test(watch_http, a_queue_is_for_servers_that_may_look)
{
    unsigned n;

    cr_expect_eq(call("GET", "/v1/queues/images/tasks/events", ""), 401);
    cr_expect_eq(ask("GET", "/v1/queues/other/tasks/events", ""), 403);
    write_tokens("submit,take,read images");
    router_reload(w.r);
    cr_expect_eq(ask("GET", "/v1/queues/images/tasks/events", ""), 403);
    write_tokens("look images");
    router_reload(w.r);
    node.take_code = CODE_FULL;
    cr_expect_eq(ask("GET", "/v1/queues/images/tasks/events", ""), 503, "%s", got);
    cr_expect(strstr(str("detail"), "64 queues of this partition") != NULL && strcmp(str("code"), "queue_full") == 0);
    cr_expect_neq(node.feed_whose, 0);
    node.feed_of_token = true;
    cr_expect_eq(ask("GET", "/v1/queues/images/tasks/events", ""), 503, "%s", got);
    cr_expect_not_null(strstr(str("detail"), "this token follows as many queues"), "%s", str("detail"));
    node.take_code = CODE_DONE;
    cr_expect_eq(w.r->watches, 0);
    listen_at("");
    node.take_code = CODE_BUSY; /* it goes on, and is asked once a second */
    n = node.feeds;
    for (msec_t at = ev_now(w.ev); ev_now(w.ev) - at < 1500;)
        turns(1);
    cr_expect_leq(node.feeds - n, 3);
    node.take_code = CODE_DONE;
    node.feed_rows = 1;
    UNTIL(came("id: 1001\n"));
}

#define OTHER "token-of-another-server"

static void write_line(FILE *f, const char *token, const char *may)
{
    uint8_t hash[32];
    char hex[65];

    crypto_hash_sha256(hash, (const uint8_t *)token, strlen(token));
    cr_assert(f != NULL && fprintf(f, "%s %s\n", sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash)), may) > 0);
}

/* More of a token at one router than are free; and each asks the nodes five times a second. */
static void set_up_wide(void)
{
    max_conns = 2000;
    set_up();
}

Test(watch_http, a_token_has_no_more_feeds_open_than_are_free, .init = set_up_wide)
{
    int fd[FEEDS_OPEN_MAX];
    FILE *f = fopen(node.file, "w");
    unsigned n = 0;

    write_line(f, OTHER, "look images");
    write_line(f, TOKEN, "look images");
    fclose(f);
    router_reload(w.r);
    for (; n < FEEDS_OPEN_MAX / 2; n++) {
        listen_at("");
        cr_assert(came("HTTP/1.1 200 "), "%u: %s", n, got);
        fd[n] = w.fd;
        dial();
    }
    cr_expect_eq(ask("GET", "/v1/queues/images/tasks/events", ""), 503, "%s", got);
    cr_expect_str_eq(str("code"), "queue_full");
    cr_expect_not_null(strstr(str("detail"), "256 of 512"), "%s", str("detail"));
    cr_expect(came("Retry-After: "));
    cr_expect_eq(w.r->watches, FEEDS_OPEN_MAX / 2);
    say_with("GET", "/v1/queues/images/tasks/events", "Authorization: Bearer " OTHER "\r\n", "");
    n_got = 0;
    got[0] = '\0';
    UNTIL(came("HTTP/1.1 200 "));
    fd[n++] = w.fd;
    close(fd[0]);
    dial();
    UNTIL(w.r->watches == FEEDS_OPEN_MAX / 2);
    listen_at("");
    cr_expect(came("HTTP/1.1 200 "), "one has gone: %s", got);
    while (--n > 0)
        close(fd[n]);
}

/* ---- and its token goes ---- */

static void reload(const char *may)
{
    write_tokens(may);
    router_reload(w.r);
}

Test(watch_http, a_feed_ends_when_its_token_may_no_more)
{
    static const struct { const char *now, *code; } v[] = {
        { "submit,take,read images,ride/*,gen", "not_eligible" }, /* look is gone; */
        { "look ride/*", "not_eligible" },                        /* the queue; */
        { "", "unauthorized" },                                   /* the token, another one came */
    };

    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        reload("take,look images");
        listen_at("");
        reload("look ride/*,images"); /* same token, and still may */
        node.feed_rows = 1;
        UNTIL(came("\ndata: {\"task\":"));
        cr_expect(!came(END));
        if (v[i].now[0] != '\0') {
            reload(v[i].now);
        } else {
            FILE *f = fopen(node.file, "w");

            cr_assert(f != NULL && fprintf(f, "%064d look images\n", 7) > 0 && fclose(f) == 0);
            router_reload(w.r);
        }
        UNTIL(came(END));
        cr_expect_eq(count_of("event: gone\n"), 1, "%s", got);
        cr_expect(came("retry: 30000\nevent: gone\ndata: {"), "%s", got);
        cr_expect(came(v[i].code), "%s", got);
        cr_expect_eq(w.r->watches, 0);
        cr_expect_eq(w.r->tasking->calls.n, 0);
        close(w.fd);
        dial();
    }
}

Test(watch_http, one_that_is_not_open_yet_is_refused)
{
    unsigned n = node.feeds;

    node.silent = true;
    say_with("GET", "/v1/queues/images/tasks/events", bearer, "");
    UNTIL(node.feeds > n);
    reload("look ride/*");
    node.silent = false;
    rpc_chan_close(node.ch, "as the test wants"); /* asked again, and answered */
    UNTIL(came("\"code\":\"not_eligible\""));
    cr_expect(came("HTTP/1.1 403 "), "%s", got);
    cr_expect_eq(w.r->watches, 0);
}

Test(watch_http, a_file_that_is_refused_and_streams_of_tasks_change_nothing)
{
    FILE *f;

    listen_at("");
    f = fopen(node.file, "w");
    cr_assert(f != NULL && fprintf(f, "nonsense\n") > 0 && fclose(f) == 0);
    router_reload(w.r);
    node.feed_rows = 1;
    UNTIL(came("id: 1001\n"));
    close(w.fd);
    dial();
    UNTIL(w.r->watches == 0);
    submit();
    watch(); /* by its own token: nobody's right ends */
    reload("look ride/*");
    turns(30);
    cr_expect(!came("event: gone") && w.r->watches == 1);
}

Test(watch_http, a_take_that_waits_is_asked_again)
{
    static const char *const body[] = { "{\"wait\":\"30s\"}", "{\"wait\":\"30s\",\"queues\":[\"images\",\"ride/7\"]}" };
    static const char *const path[] = { "/v1/queues/images/tasks/take", "/v1/tasks/take" };

    for (unsigned i = 0; i < 2; i++) {
        reload("take images,ride/*");
        node.holds_waits = true;
        node.unheard = node.n_held = 0;
        n_got = 0;
        got[0] = '\0';
        say_with("POST", path[i], bearer, body[i]);
        UNTIL(node.n_held == i + 1);
        reload("look ride/*");
        UNTIL(came("{\"tasks\":[]"));
        UNTIL(node.unheard != 0); /* so that no task goes to it meanwhile */
        node.holds_waits = false;
        cr_expect_eq(ask("POST", path[i], body[i]), 403, "%s", got);
    }
}

/* A take that waits at the node, for longer than UNTIL does. */
static void wait_for_tasks(const char *path, const char *fields, const char *body)
{
    unsigned n = node.n_held;

    node.holds_waits = true;
    node.unheard = 0;
    n_got = 0;
    got[0] = '\0';
    say_with("POST", path, fields, body);
    UNTIL(node.n_held > n);
    turns(5); /* all rows */
}

static void gives(unsigned i)
{
    static struct taken_row row = { .no = 1, .lease = 7, .attempt = 1, .key1 = "", .key2 = "" };
    struct msg m = { .type = MSG_TASK_TAKE_ANS, .task_take_ans = { .code = CODE_DONE, .n = 1, .v = &row } };

    row.body = (struct bytes_of){ 1, (const uint8_t *)"7" };
    send_msg(node.ch, &m, node.held[i]);
}

/* An operator who reads the file again for another token, or for nothing, wakes no worker. */
Test(watch_http, a_take_goes_on_while_its_token_may)
{
    static const char *const now[] = { "take images,ride/*", "look,take ride/*,other,images", "take *" };

    reload("take images,ride/*");
    wait_for_tasks("/v1/queues/images/tasks/take", bearer, "{\"wait\":\"60s\"}");
    for (size_t i = 0; i < ARRAY_LEN(now); i++) {
        reload(now[i]);
        turns(10);
        cr_expect(!came("{\"tasks\"") && node.unheard == 0, "%zu: %s", i, got);
    }
    gives(0);
    UNTIL(came("{\"tasks\":[{\"task\":"));
    wait_for_tasks("/v1/tasks/take", bearer, "{\"wait\":\"60s\",\"queues\":[\"images\",\"ride/7\"]}");
    reload("take images,ride/7");
    turns(10);
    cr_expect(!came("{\"tasks\"") && node.unheard == 0, "%s", got);
    reload("take images,ride/8");
    UNTIL(came("{\"tasks\":[]"));
    UNTIL(node.unheard != 0);
}

Test(watch_http, takes_of_a_token_that_goes_end_and_those_of_another_do_not)
{
    FILE *f = fopen(node.file, "w");
    int others;

    write_line(f, OTHER, "take images");
    write_line(f, TOKEN, "take images");
    fclose(f);
    router_reload(w.r);
    wait_for_tasks("/v1/queues/images/tasks/take", "Authorization: Bearer " OTHER "\r\n", "{\"wait\":\"60s\"}");
    others = w.fd;
    dial();
    wait_for_tasks("/v1/queues/images/tasks/take", bearer, "{\"wait\":\"60s\"}");
    f = fopen(node.file, "w");
    write_line(f, OTHER, "take images");
    fclose(f);
    router_reload(w.r);
    UNTIL(came("{\"tasks\":[]"));
    UNTIL(node.unheard != 0);
    close(w.fd);
    n_got = 0;
    got[0] = '\0';
    w.fd = others;
    turns(10);
    cr_expect(!came("{\"tasks\""), "%s", got);
    gives(0);
    UNTIL(came("{\"tasks\":[{\"task\":"));
}

/* The file is read while the take asks for strays (strays_next()): it takes what is there, and waits for nothing. */
Test(watch_http, a_take_that_has_not_come_to_its_wait_does_not_wait)
{
    static const char *const body[] = { "{\"wait\":\"60s\"}", "{\"wait\":\"60s\",\"queues\":[\"ride/7\"]}" };
    static const char *const path[] = { "/v1/queues/ride/7/tasks/take", "/v1/tasks/take" };
    uint32_t takes;

    node.ride_7 = true;
    send_pools(4, 5, 9);
    UNTIL(w.r->tasking->counts.maps == 2);
    node.deaf_part = part_share("ride/7", 6, 2) + 2;
    for (unsigned i = 0; i < 2; i++) {
        reload("take ride/*");
        memset(w.r->tasking->strays, 0, sizeof(w.r->tasking->strays));
        node.holds_waits = true;
        n_got = 0;
        got[0] = '\0';
        takes = node.takes;
        say_with("POST", path[i], bearer, body[i]);
        UNTIL(node.takes > takes);
        reload("look ride/*");
        UNTIL(came("{\"tasks\":[]"));
        cr_expect_eq(node.n_held, 0);
    }
}

Test(watch_http, one_that_is_not_open_yet_may_again)
{
    unsigned n = node.feeds;

    node.silent = true;
    say_with("GET", "/v1/queues/images/tasks/events", bearer, "");
    UNTIL(node.feeds > n);
    reload("look ride/*");
    reload("look images");
    node.silent = false;
    rpc_chan_close(node.ch, "as the test wants");
    UNTIL(came("\n\n"));
    cr_expect(came("HTTP/1.1 200 "), "%s", got);
    cr_expect_eq(w.r->watches, 1);
}

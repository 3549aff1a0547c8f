/* test_passing_http.c: an answer to /v1/call while it comes, through a whole router: its head, its pieces,
 * its end; and that nothing looks whole which is not. */
#include "common/task/call.h"
#include "router/task_requests/passing.h"
#include "tests/lib/taskhttprig.h"

TestSuite(passing_http, .init = set_up, .fini = tear_down, .timeout = 60);

static const char hers[] = "segq-token: " TOKEN "\r\nPrefer: wait=30\r\n";
static char noise[65536];

/* A call waits for its end. */
static void begin_with(const char *fields)
{
    n_got = 0;
    got[0] = '\0';
    node.holds = true;
    node.get_rid = node.told = node.more = 0;
    node.flow_left = 0;
    say_with("GET", "/v1/call/gen/x", fields, "");
    UNTIL(node.get_rid != 0);
}

static void tell(enum piece_step step, const char *bytes, size_t n)
{
    struct msg m = { .type = MSG_TASK_PIECE };

    m.task_piece = (struct msg_task_piece){ .step = (uint8_t)step, .call = 77, .at = node.told,
                                            .data = { (uint32_t)n, (const uint8_t *)bytes },
                                            .content_type = "" };
    node.told += n;
    send_msg(node.ch, &m, node.get_rid);
}

/* length -1: it is not known. */
static void head(int64_t length, const char *bytes)
{
    struct msg m = { .type = MSG_TASK_PIECE };

    m.task_piece = (struct msg_task_piece){ .step = PIECE_HEAD, .call = 77, .part = 4, .no = node.n,
                                            .status = 200, .content_type = "text/event-stream",
                                            .sized = length >= 0,
                                            .length = length >= 0 ? (uint64_t)length : 0,
                                            .data = { (uint32_t)strlen(bytes), (const uint8_t *)bytes } };
    node.told = strlen(bytes);
    send_msg(node.ch, &m, node.get_rid);
}

static bool came(const char *text)
{
    more();
    return strstr(got, text) != NULL;
}

/* Its connection has ended, behind what came. */
static void expect_end(void)
{
    char c;

    UNTIL((more(), recv(w.fd, &c, 1, MSG_PEEK) == 0));
    close(w.fd);
    dial();
}

Test(passing_http, head_and_pieces_come_as_they_do_and_the_connection_goes_on)
{
    char id[40];

    begin_with(hers);
    cr_expect_eq(node.window, WINDOW_BYTES);
    cr_expect(node.leaves);
    cr_expect(node.v[node.n].read, "announced");
    head(-1, "");
    UNTIL(came("\r\n\r\n"));
    cr_expect_eq(strncmp(got, "HTTP/1.1 200 OK\r\n", 17), 0);
    cr_expect_not_null(strstr(got, "Transfer-Encoding: chunked\r\n"));
    cr_expect_not_null(strstr(got, "Content-Type: text/event-stream\r\n"));
    cr_expect_not_null(strstr(got, "segq-location: /v1/tasks/"));
    snprintf(id, sizeof(id), "segq-task: 4-%u\r\n", node.n);
    cr_expect_not_null(strstr(got, id), "%s", got);
    cr_expect_null(strstr(got, "Connection: close"));
    tell(PIECE_MORE, "data: 1\n\n", 9);
    UNTIL(came("\r\n0009\r\ndata: 1\n\n\r\n"));
    tell(PIECE_MORE, "data: 2\n\n", 9);
    UNTIL(came("data: 2\n\n\r\n"));
    cr_expect_null(strstr(got, "\r\n0\r\n\r\n"));
    tell(PIECE_WHOLE, "", 0);
    UNTIL(came("\r\n0\r\n\r\n"));
    UNTIL(w.r->tasking->passings.n == 0);
    cr_expect_eq(w.r->tasking->counts.passed_bytes, 18);
    cr_expect_eq(w.r->tasking->counts.passings_broken, 0);
    begin_with(hers); /* on the same connection */
    head(5, "he");
    UNTIL(came("Content-Length: 5\r\n"));
    cr_expect_null(strstr(got, "chunked"));
    tell(PIECE_MORE, "llo", 3);
    tell(PIECE_WHOLE, "", 0);
    UNTIL(came("\r\n\r\nhello"));
    cr_expect_eq(call_with("GET", "/healthz", "", ""), 200, "and again");
}

Test(passing_http, what_comes_amid_it_is_answered_behind_it)
{
    begin_with(hers);
    head(-1, "one");
    UNTIL(came("one"));
    say("GET", "/healthz", "");
    tell(PIECE_MORE, "two", 3);
    UNTIL(came("two"));
    for (unsigned i = 0; i < 20; i++)
        ev_turn(w.ev, false);
    more();
    cr_expect_null(strstr(strstr(got, "two"), "HTTP/1.1"));
    tell(PIECE_WHOLE, "", 0);
    UNTIL(came("\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n"));
}

Test(passing_http, nothing_looks_whole_that_is_not)
{
    for (unsigned how = 0; how < 5; how++) {
        begin_with(hers);
        head(how == 1 ? 10 : -1, "abc");
        UNTIL(came("abc"));
        if (how == 0)
            tell(PIECE_BROKEN, "", 0);
        else if (how == 1)
            tell(PIECE_WHOLE, "", 0); /* seven bytes too few */
        else if (how == 2)
            node.told++; /* a gap */
        else if (how == 3)
            node.told--; /* again */
        if (how == 2 || how == 3)
            tell(PIECE_MORE, "xyz", 3);
        if (how == 4)
            rpc_chan_close(node.ch, "as the test wants");
        expect_end();
        cr_expect_null(strstr(got, "\r\n0\r\n\r\n"), "%u", how);
        cr_expect_null(strstr(got, "xyz"), "%u", how);
        UNTIL(w.r->tasking->passings.n == 0);
        cr_expect_eq(w.r->tasking->counts.passings_broken, how + 1);
        cr_expect_eq(w.r->tasking->counts.passings_left, 0);
        UNTIL(task_link_is_up(w.r->tasking, 9));
    }
}

/* The client reads nothing: the window is all that comes. Then it reads. */
Test(passing_http, a_slow_reader_has_a_window_and_asks_for_more_when_it_has_taken_it)
{
    struct window_out out = window_out(WINDOW_BYTES);
    size_t all = 24 << 20;

    memset(noise, 'x', sizeof(noise));
    begin_with(hers);
    head((int64_t)all, "");
    UNTIL(w.r->tasking->passings.n == 1);
    for (unsigned idle = 0; idle < 50;) { /* as long as the kernel takes something */
        uint32_t n = u32_min(window_room(&out), 30000);

        if (n > 0) {
            tell(PIECE_MORE, noise, n);
            window_tell(&out, n);
        }
        ev_turn(w.ev, false);
        usleep(n > 0 ? 0 : 1000);
        idle = n > 0 || node.more > 0 ? 0 : idle + 1;
        cr_assert(window_more(&out, (uint32_t)node.more));
        node.more = 0;
        cr_assert_lt(out.told, all);
        cr_assert_leq(httpd_counts(w.r->httpd)->out_now, WINDOW_BYTES + 4096);
    }
    cr_expect_eq(window_room(&out), 0);
    while (out.told < all) {
        uint32_t n = u32_min(window_room(&out), (uint32_t)u64_min(all - out.told, 30000));

        if (n > 0) {
            tell(PIECE_MORE, noise, n);
            window_tell(&out, n);
        }
        n_got = 0; /* taken, and let go */
        more();
        ev_turn(w.ev, false);
        cr_assert(window_more(&out, (uint32_t)node.more));
        node.more = 0;
    }
    tell(PIECE_WHOLE, "", 0);
    UNTIL((n_got = 0, more(), w.r->tasking->passings.n == 0));
    cr_expect_eq(w.r->tasking->counts.passings_broken, 0);
    cr_expect_eq(w.r->tasking->counts.passed_bytes, all);
}

/* More is asked for by halves of the window: what has less costs no turn of the loop. */
Test(passing_http, what_is_taken_in_small_pieces_wakes_nobody)
{
    bool woken = false;

    begin_with(hers);
    head(-1, "");
    for (unsigned i = 0; i < 20; i++) {
        tell(PIECE_MORE, "data: 1\n\n", 9);
        n_got = 0;
        got[0] = '\0';
        UNTIL((woken |= w.r->tasking->eased.n > 0, came("data: 1\n\n\r\n")));
    }
    cr_expect_not(woken);
    cr_expect_eq(node.more, 0);
    memset(noise, 'x', sizeof(noise));
    tell(PIECE_MORE, noise, 40000);
    UNTIL((n_got = 0, more(), node.more > 0));
    cr_expect_eq(node.more, 20 * (9 + WINDOW_PIECE) + 40000 + WINDOW_PIECE);
    tell(PIECE_WHOLE, "", 0);
    UNTIL((n_got = 0, more(), w.r->tasking->passings.n == 0));
}

Test(passing_http, a_client_that_goes_is_told_to_the_node)
{
    begin_with(hers);
    head(-1, "abc");
    UNTIL(came("abc"));
    close(w.fd);
    dial();
    UNTIL(node.flow_left == 1);
    cr_expect_eq(w.r->tasking->passings.n, 0);
    cr_expect_eq(w.r->tasking->counts.passings_left, 1);
    cr_expect_eq(w.r->tasking->counts.passings_broken, 0);
    tell(PIECE_MORE, "def", 3); /* on their way then */
    tell(PIECE_WHOLE, "", 0);
    cr_expect_eq(call_with("GET", "/healthz", "", ""), 200);
    begin_with(hers); /* and who goes before the head comes */
    close(w.fd);
    dial();
    UNTIL(w.r->tasking->counts.left > 0);
    head(-1, "abc");
    UNTIL(node.flow_left == 1);
    cr_expect_eq(w.r->tasking->passings.n, 0);
}

Test(passing_http, a_client_that_goes_is_seen_behind_a_request_that_waits)
{
    begin_with(hers);
    head(-1, "abc");
    UNTIL(came("abc"));
    say("GET", "/healthz", "");
    for (unsigned i = 0; i < 20; i++)
        ev_turn(w.ev, false);
    cr_expect_eq(w.r->tasking->passings.n, 1);
    close(w.fd);
    dial();
    UNTIL(node.flow_left == 1); /* with no further piece */
    cr_expect_eq(w.r->tasking->passings.n, 0);
    cr_expect_eq(call_with("GET", "/healthz", "", ""), 200);
}

Test(passing_http, who_cannot_take_pieces_or_wants_none_is_not_told_any)
{
    static const char token[] = "segq-token: " TOKEN "\r\nPrefer: wait=30, whole\r\n";
    char text[300];

    begin_with(token);
    cr_expect_eq(node.window, 0);
    cr_expect(!node.v[node.n].read);
    close(w.fd);
    dial();
    begin_with("segq-token: " TOKEN "\r\nPrefer: wait=30\r\nIdempotency-Key: k1\r\n");
    cr_expect_eq(node.window, WINDOW_BYTES);
    cr_expect(!node.leaves, "it comes back");
    close(w.fd);
    dial();
    node.get_rid = 0;
    snprintf(text, sizeof(text), "GET /v1/call/gen/x HTTP/1.0\r\n%s\r\n", hers);
    cr_assert_eq(send(w.fd, text, strlen(text), 0), (ssize_t)strlen(text));
    UNTIL(node.get_rid != 0);
    cr_expect_eq(node.window, 0);
    close(w.fd);
    dial();
    node.get_rid = 0;
    say_with("HEAD", "/v1/call/gen/x", hers, "");
    UNTIL(node.get_rid != 0);
    cr_expect_eq(node.window, 0);
}

/* ---- who reads along ---------------------------------------------------------------------- */

/* A task that runs, and a client that asks for its result so. */
static void follow_with(const char *query)
{
    static char path[300];

    cr_assert_eq(ask("POST", "/v1/queues/gen/tasks", "{\"path\":\"/a\"}"), 201);
    snprintf(path, sizeof(path), "%s?%s", task_path("/result"), query);
    n_got = 0;
    got[0] = '\0';
    node.holds = true;
    node.get_rid = node.told = node.more = 0;
    node.follow = node.flow_left = node.waits_ms = 0;
    say("GET", path, "");
    UNTIL(node.get_rid != 0);
}

/* The end, and which hash all of it has. */
static void end_with(const char *bytes, uint64_t length, uint32_t status)
{
    struct msg m = { .type = MSG_TASK_PIECE };
    uint8_t sha256[RESULT_SHA256];

    crypto_hash_sha256(sha256, (const uint8_t *)bytes, strlen(bytes));
    m.task_piece = (struct msg_task_piece){ .step = PIECE_WHOLE, .call = 77, .at = node.told, .status = status,
                                            .content_type = "", .length = length,
                                            .sha256 = { sizeof(sha256), sha256 } };
    send_msg(node.ch, &m, node.get_rid);
}

Test(passing_http, who_follows_has_the_targets_head_and_the_end_when_the_hash_is_right)
{
    follow_with("follow=1&wait=20");
    cr_expect_eq(node.follow, WINDOW_BYTES);
    cr_expect_eq(node.window, 0, "an older node takes it for no reader of the call");
    cr_expect_eq(node.waits_ms, 20000);
    head(-1, "");
    UNTIL(came("\r\n\r\n"));
    cr_expect_eq(strncmp(got, "HTTP/1.1 200 OK\r\n", 17), 0);
    cr_expect_not_null(strstr(got, "Content-Type: text/event-stream\r\n"));
    cr_expect_not_null(strstr(got, "Content-Disposition: attachment\r\n"));
    cr_expect_not_null(strstr(got, "segq-task: 4-1\r\n"), "%s", got);
    tell(PIECE_MORE, "data: 1\n\n", 9);
    UNTIL(came("data: 1\n\n\r\n"));
    cr_expect_null(strstr(got, "\r\n0\r\n\r\n"));
    end_with("data: 1\n\n", 9, 200);
    UNTIL(came("\r\n0\r\n\r\n"));
    UNTIL(w.r->tasking->passings.n == 0);
    cr_expect_eq(w.r->tasking->counts.followings, 1);
    cr_expect_eq(node.flow_left, 0);
}

Test(passing_http, where_the_length_is_known_the_last_byte_waits_for_the_hash)
{
    follow_with("follow=1");
    head(5, "");
    tell(PIECE_MORE, "hell", 4);
    tell(PIECE_MORE, "o", 1);
    UNTIL(came("\r\n\r\nhell"));
    for (unsigned i = 0; i < 20; i++)
        ev_turn(w.ev, false);
    cr_expect(!came("hello"));
    end_with("hello", 5, 200);
    UNTIL(came("\r\n\r\nhello"));
    cr_expect_eq(call_with("GET", "/healthz", "", ""), 200, "and its connection goes on");
}

Test(passing_http, what_is_followed_never_looks_whole_if_it_is_not)
{
    for (unsigned how = 0; how < 6; how++) {
        follow_with("follow=1");
        head(how < 3 ? 3 : -1, "");
        tell(PIECE_MORE, "abc", 3);
        UNTIL(came("ab"));
        if (how == 0 || how == 3)
            end_with("abd", 3, 200); /* another attempt's */
        else if (how == 1 || how == 4)
            tell(PIECE_BROKEN, "", 0);
        else if (how == 2)
            rpc_chan_close(node.ch, "as the test wants");
        else
            tell(PIECE_WHOLE, "", 0); /* without a hash */
        expect_end();
        cr_expect_null(strstr(got, how < 3 ? "abc" : "\r\n0\r\n\r\n"), "%u", how);
        UNTIL(w.r->tasking->passings.n == 0);
        cr_expect_eq(w.r->tasking->counts.passings_broken, how + 1);
        UNTIL(task_link_is_up(w.r->tasking, 9));
    }
}

Test(passing_http, a_follower_that_goes_is_told_to_the_node)
{
    follow_with("follow=1");
    head(-1, "abc");
    UNTIL(came("abc"));
    close(w.fd);
    dial();
    UNTIL(node.flow_left == 1);
}

/* A dead task is the operators'. */
Test(passing_http, what_was_followed_to_its_end_was_read_if_it_succeeded)
{
    for (unsigned ok = 0; ok < 2; ok++) {
        unsigned before = node.discards;

        follow_with("follow=1&ack=1");
        head(-1, "abc");
        UNTIL(came("abc"));
        end_with("abc", 3, ok ? 200 : 0);
        UNTIL(came("\r\n0\r\n\r\n"));
        for (unsigned i = 0; i < 20; i++)
            ev_turn(w.ev, false);
        cr_expect_eq(node.discards - before, ok);
    }
}

Test(passing_http, a_query_of_a_result_is_read_to_its_last_letter)
{
    static const char *const bad[] = { "follow=2", "follow=1&follow=1", "wait=3", "follow=1&wait=61", "follow=1&wait=",
                                       "follow=1&wait=1x", "follow", "follow=1&wait=1&wait=2", "a=1", "follow=1&force=1" };
    char path[300];

    cr_assert_eq(ask("POST", "/v1/queues/gen/tasks", "{\"path\":\"/a\"}"), 201);
    strcpy(task, task_path("/result"));
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        snprintf(path, sizeof(path), "%s?%s", task, bad[i]);
        cr_expect_eq(call("GET", path, ""), 400, "%s", bad[i]);
    }
}

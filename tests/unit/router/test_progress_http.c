/* test_progress_http.c: a caller in line is told its place in the event stream that it waits for, through a whole
 * router: what it sees of that, of the answer behind it, and of one that is no event stream. */
#include "common/task/call.h"
#include "router/task_requests/passing.h"
#include "router/task_requests/progress.h"
#include "tests/lib/taskhttprig.h"

TestSuite(progress_http, .init = set_up, .fini = tear_down, .timeout = 60);

#define HERS_TOO "segq-token: " TOKEN "\r\nPrefer: wait=30\r\n"
#define EVENTS   "Accept: text/event-stream\r\n"

static const char comments[] = HERS_TOO EVENTS "segq-progress: 1\r\n";

static void begin_so(const char *method, const char *fields, const char *body)
{
    n_got = 0;
    got[0] = '\0';
    node.holds = true;
    node.places = false;
    node.get_rid = node.told = node.more = 0;
    node.flow_left = 0;
    say_with(method, "/v1/call/gen/x", fields, body);
    UNTIL(node.get_rid != 0);
}

static void begin(const char *fields)
{
    begin_so("GET", fields, "");
}

static bool came(const char *text)
{
    more();
    return strstr(got, text) != NULL;
}

static void turns(unsigned n)
{
    while (n-- > 0)
        ev_turn(w.ev, false);
    more();
}

static void tell_place(enum task_state state, uint64_t position, int64_t eta_ms, bool capped)
{
    struct place_row r = { .rid = node.get_rid, .state = (uint8_t)state, .capped = capped, .eta = TASK_ETA_PACE,
                           .position = position, .eta_ms = eta_ms };
    struct msg m = { .type = MSG_TASK_PLACES, .task_places = { 1, &r } };

    send_msg(node.ch, &m, 0);
}

static void piece(enum piece_step step, uint32_t status, const char *type, const char *bytes)
{
    struct msg m = { .type = MSG_TASK_PIECE };

    m.task_piece = (struct msg_task_piece){ .step = (uint8_t)step, .call = 77, .at = node.told, .part = 4,
                                            .no = node.n, .status = status, .content_type = type,
                                            .data = { (uint32_t)strlen(bytes), (const uint8_t *)bytes } };
    node.told += strlen(bytes);
    send_msg(node.ch, &m, node.get_rid);
}

static void end_with(const char *bytes)
{
    if (bytes[0] != '\0')
        piece(PIECE_MORE, 0, "", bytes);
    piece(PIECE_WHOLE, 0, "", "");
}

#define END "\r\n0\r\n\r\n"

Test(progress_http, places_are_comments_and_the_targets_events_follow_in_the_same_answer)
{
    begin(comments);
    cr_expect(node.places);
    cr_expect_eq(node.window, WINDOW_BYTES);
    turns(20);
    cr_expect_eq(n_got, 0, "no head before there is news");
    tell_place(TASK_WAITING, 12, 29001, false);
    UNTIL(came(": segq place=12 eta_s=30\n\n"));
    cr_expect_eq(strncmp(got, "HTTP/1.1 200 OK\r\n", 17), 0);
    cr_expect_not_null(strstr(got, "Content-Type: text/event-stream\r\n"));
    cr_expect_not_null(strstr(got, "segq-task: 4-1\r\n"));
    cr_expect_not_null(strstr(got, "segq-location: /v1/tasks/"));
    tell_place(TASK_WAITING, 100, -1, true);
    UNTIL(came(": segq place=100+\n\n"));
    tell_place(TASK_RUNNING, 0, -1, false);
    UNTIL(came(": segq running\n\n"));
    piece(PIECE_HEAD, 200, "text/event-stream; charset=utf-8", "data: 1\n\n");
    UNTIL(came("data: 1\n\n"));
    cr_expect_null(strstr(got, END));
    end_with("data: 2\n\n");
    UNTIL(came("data: 2\n\n\r\n0\r\n\r\n"));
    cr_expect_null(strstr(strstr(got, "\r\n\r\n"), "HTTP/1.1"));
    cr_expect_eq(w.r->tasking->counts.progresses, 1);
    cr_expect_eq(call_with("GET", "/healthz", "", ""), 200, "its connection goes on");
}

Test(progress_http, a_call_that_is_answered_before_has_its_own_status)
{
    begin(comments);
    piece(PIECE_HEAD, 429, "application/json", "{}");
    UNTIL(came("\r\n\r\n"));
    cr_expect_eq(strncmp(got, "HTTP/1.1 429 ", 13), 0);
    end_with("");
    UNTIL(came(END));
}

Test(progress_http, as_events_if_it_says_so)
{
    begin(HERS_TOO EVENTS "segq-progress: events\r\n");
    tell_place(TASK_WAITING, 3, 2000, false);
    UNTIL(came("event: segq.progress\ndata: {\"state\":\"waiting\",\"position\":3,\"eta_s\":2,\"eta_reason\":\"pace\"}\n\n"));
    piece(PIECE_HEAD, 200, "text/event-stream", "");
    end_with("data: 1\n\n");
    UNTIL(came("data: 1\n\n\r\n0\r\n\r\n"));
}

Test(progress_http, an_error_of_the_target_is_an_event)
{
    begin(comments);
    tell_place(TASK_WAITING, 1, 0, false);
    UNTIL(came(": segq place=1 eta_s=0\n\n"));
    piece(PIECE_HEAD, 400, "application/json", "{\"error\":{\"message\":\"no\",\n");
    end_with("\"code\":\"odd\"}}");
    UNTIL(came(END));
    cr_expect_not_null(strstr(got, "event: error\ndata: {\"status\":400,\"content_type\":\"application/json\","
                                   "\"error\":{\"message\":\"no\", \"code\":\"odd\"},\"body\":{\"error\":{\"message\":\"no\", "
                                   "\"code\":\"odd\"}}}\n\n"), "%s", got);
    UNTIL(w.r->tasking->passings.n == 0);
    cr_expect_eq(w.r->tasking->counts.passings_broken, 0);
}

Test(progress_http, an_answer_that_is_no_event_stream_is_one_and_is_cut_where_it_is_long)
{
    static char noise[30001];
    size_t all = 0;

    begin(comments);
    tell_place(TASK_RUNNING, 0, -1, false);
    UNTIL(came(": segq running"));
    memset(noise, 'x', sizeof(noise) - 1);
    piece(PIECE_HEAD, 200, "text/plain", "");
    for (unsigned i = 0; i < 4; i++) {
        piece(PIECE_MORE, 0, "", noise);
        UNTIL((i & 1) == 0 || node.more > 0); /* nobody but us takes it */
        all += strlen(noise);
    }
    n_got = 0;
    piece(PIECE_WHOLE, 0, "", "");
    UNTIL(w.r->tasking->passings.n == 0);
    turns(20);
    cr_expect_not_null(strstr(got, "event: error\ndata: {\"status\":200,\"content_type\":\"text/plain\",\"error\":{\"message\":"
                                   "\"the answer is no event stream\",\"type\":\"endpoint_answer\",\"param\":null,\"code\":\"200\"},"
                                   "\"truncated\":true,\"body\":\"xxx"), "%.300s", got);
    cr_expect_gt(all, PROGRESS_BODY_MAX);
}

/* Told at its end, as what came whole with its head. */
Test(progress_http, an_answer_that_is_there_at_once_is_events_or_an_event)
{
    static const struct {
        uint32_t status;
        const char *type, *answers, *sees;
    } v[] = { { 200, "text/event-stream", "data: 9\n\n", "data: 9\n\n\r\n0\r\n\r\n" },
              { 503, "text/plain", "a \"b\"", "event: error\ndata: {\"status\":503,\"content_type\":\"text/plain\",\"error\":"
                "{\"message\":\"the answer is 503\",\"type\":\"endpoint_answer\",\"param\":null,\"code\":\"503\"},"
                "\"body\":\"a \\\"b\\\"\"}\n\n" } };

    for (unsigned i = 0; i < ARRAY_LEN(v); i++) {
        struct msg m = { .type = MSG_TASK_GET_ANS };

        begin(comments);
        tell_place(TASK_RUNNING, 0, -1, false);
        UNTIL(came(": segq running"));
        m.task_get_ans = (struct msg_task_get_ans){
            .no = node.n, .state = TASK_SUCCEEDED, .queue = "gen", .key1 = "", .key2 = "", .limited_by = "",
            .own = { .labels = "" }, .status = v[i].status, .content_type = v[i].type,
            .result = { (uint32_t)strlen(v[i].answers), (const uint8_t *)v[i].answers },
            .result_length = strlen(v[i].answers), .result_sha256 = { 4, (const uint8_t *)"abcd" } };
        send_msg(node.ch, &m, node.get_rid);
        UNTIL(came(END));
        cr_expect_not_null(strstr(got, v[i].sees), "%s", got);
    }
}

Test(progress_http, a_wait_that_is_over_is_an_event)
{
    struct msg m = { .type = MSG_TASK_GET_ANS };

    begin(comments);
    tell_place(TASK_WAITING, 1, -1, false);
    UNTIL(came(": segq place=1\n\n"));
    m.task_get_ans = (struct msg_task_get_ans){ .no = node.n, .state = TASK_WAITING, .queue = "gen", .key1 = "", .key2 = "",
                                                .limited_by = "", .own = { .labels = "" }, .content_type = "" };
    send_msg(node.ch, &m, node.get_rid);
    UNTIL(came(END));
    cr_expect_not_null(strstr(got, "event: error\ndata: {\"status\":202,"));
    cr_expect_not_null(strstr(got, "\"type\":\"wait_over\""));
    cr_expect_not_null(strstr(got, "\"body\":{\"task\":\""));
}

Test(progress_http, a_client_that_goes_leaves_the_line)
{
    begin(comments);
    tell_place(TASK_WAITING, 1, -1, false);
    UNTIL(came(": segq place=1\n\n"));
    close(w.fd);
    dial();
    UNTIL(node.withdrawn == 1);
    tell_place(TASK_WAITING, 1, -1, false);
    cr_expect_eq(call_with("GET", "/healthz", "", ""), 200);
}

Test(progress_http, a_broken_answer_is_a_broken_transfer)
{
    for (unsigned i = 0; i < 2; i++) {
        char c;

        begin(comments);
        tell_place(TASK_RUNNING, 0, -1, false);
        UNTIL(came(": segq running"));
        piece(PIECE_HEAD, i == 0 ? 200 : 400, i == 0 ? "text/event-stream" : "application/json", "data: 1\n\n");
        piece(PIECE_BROKEN, 0, "", "");
        UNTIL((more(), recv(w.fd, &c, 1, MSG_PEEK) == 0));
        cr_expect_null(strstr(got, END));
        close(w.fd);
        dial();
    }
}

Test(progress_http, who_wants_no_event_stream_is_told_nothing)
{
    static const struct {
        const char *method, *fields, *body;
        bool told;
    } v[] = { { "GET", HERS_TOO "segq-progress: 1\r\n", "", false },
              { "GET", HERS_TOO EVENTS, "", false },
              { "GET", HERS_TOO EVENTS "segq-progress: 0\r\n", "", false },
              { "HEAD", HERS_TOO EVENTS "segq-progress: 1\r\n", "", false },
              { "POST", HERS_TOO "segq-progress: 1\r\nContent-Type: application/json\r\n", "{\"stream\":true}", true },
              { "POST", HERS_TOO "segq-progress: 1\r\nContent-Type: application/json\r\n", "{\"stream\":false}", false },
              { "GET", HERS_TOO "Accept: text/html, Text/Event-Stream;q=0.5\r\nsegq-progress: 1\r\n", "", true } };

    for (unsigned i = 0; i < ARRAY_LEN(v); i++) {
        begin_so(v[i].method, v[i].fields, v[i].body);
        cr_expect_eq(node.places, v[i].told, "%u", i);
        close(w.fd);
        dial();
    }
    cr_expect_eq(call_with("GET", "/v1/call/gen/x", HERS_TOO EVENTS "segq-progress: yes\r\n", ""), 400);
}

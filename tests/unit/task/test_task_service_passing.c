/* test_task_service_passing.c: a whole task node: the answer to a call is told while it comes (tellrig.h). */
#define _GNU_SOURCE 1 /* memmem */
#include "task/service/caller.h"

#include "task/bodies/answers.h"
#include "tests/lib/tellrig.h"

TestSuite(task_service_passing, .init = task_node_setup, .fini = task_node_teardown, .timeout = 60);

static uint64_t read_as_it_comes(task_no no, bool leaves)
{
    say(&rtr, &(struct msg){ .type = MSG_TASK_GET,
                             .task_get = { 3, 8, no, "", "", 60000, true, WINDOW_BYTES, leaves } }, ++last_rid);
    return last_rid;
}

static bool piece_is(enum piece_step step, uint64_t at, const char *data)
{
    return piece->step == step && piece->at == at && piece->data.n == strlen(data) &&
           (piece->data.n == 0 || memcmp(piece->data.p, data, piece->data.n) == 0);
}

static const struct attempt_row *last_attempt(task_no no)
{
    const struct msg_task_get_ans *g = get(no);

    cr_assert_gt(g->n_history, 0);
    return &g->history[g->n_history - 1];
}

static bool reason_is(const struct attempt_row *a, const char *text)
{
    return a->reason.n >= strlen(text) && memcmp(a->reason.p, text, strlen(text)) == 0;
}

static task_no begin(bool leaves)
{
    task_no no;
    uint64_t rid;

    open_calls(HEAD);
    no = put_call();
    rid = read_as_it_comes(no, leaves);
    WAIT(rtr.seen[MSG_TASK_PIECE] == 1);
    cr_expect_eq(rtr.rid[MSG_TASK_PIECE], rid);
    cr_expect(piece_is(PIECE_HEAD, 0, ""));
    return no;
}

Test(task_service_passing, each_piece_leaves_in_the_turn_in_which_it_came)
{
    task_no no = begin(true);
    struct call_span fields = { (const char *)piece->fields.p, piece->fields.n }, name, value;
    const struct msg_task_get_ans *g;

    cr_expect(piece->part == 3 && piece->no == no && piece->status == 200 && !piece->sized);
    cr_expect_str_eq(piece->content_type, "text/event-stream");
    cr_assert(call_header_next(&fields, &name, &value));
    cr_expect(name.n == 4 && value.n == 3);
    target_says("9\r\ndata: 1\n\n\r\n");
    WAIT(piece_is(PIECE_MORE, 0, "data: 1\n\n"));
    target_says("4\r\ndata\r\n1\r\n:\r\n4\r\n 2\n\n\r\n");
    WAIT(piece_is(PIECE_MORE, 9, "data: 2\n\n"));
    cr_expect_eq(get(no)->state, TASK_RUNNING);
    target_says("0\r\nX-Trailer: 1\r\n\r\n");
    WAIT(piece->step == PIECE_WHOLE);
    cr_expect_eq(piece->at, 18);
    g = get(no);
    cr_expect_eq(g->state, TASK_SUCCEEDED, "it is written before that is said");
    cr_expect(g->result.n == 18 && memcmp(g->result.p, "data: 1\n\ndata: 2\n\n", 18) == 0);
    target_fini(&target);
}

Test(task_service_passing, who_comes_a_little_later_gets_what_there_is_first)
{
    task_no no;

    open_calls(HEAD "3\r\nabc\r\n");
    no = put_call();
    WAIT(target.requests == 1);
    for (unsigned i = 0; i < 20; i++)
        ev_turn(ev, false);
    (void)read_as_it_comes(no, false);
    WAIT(rtr.seen[MSG_TASK_PIECE] == 1);
    cr_expect(piece_is(PIECE_HEAD, 0, "abc"));
    target_says("3\r\ndef\r\n0\r\n\r\n");
    WAIT(piece->step == PIECE_WHOLE);
    cr_expect_eq(piece->at, 6);
    target_fini(&target);
}

Test(task_service_passing, what_is_all_there_at_once_is_told_as_ever)
{
    uint64_t rid;
    task_no no;

    open_calls("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
    no = put_call();
    rid = read_as_it_comes(no, false);
    WAIT(rtr.rid[MSG_TASK_GET_ANS] == rid);
    cr_expect_eq(rtr.seen[MSG_TASK_PIECE], 0);
    target_fini(&target);
}

Test(task_service_passing, a_target_that_goes_amid_it_leaves_no_whole_answer_and_is_not_asked_again)
{
    task_no no = begin(true);

    target_says("3\r\nabc\r\n");
    WAIT(piece_is(PIECE_MORE, 0, "abc"));
    for (unsigned i = 0; i < TARGET_CONNS; i++)
        target_hang_up(&target.conn[i]);
    WAIT(piece->step == PIECE_BROKEN);
    cr_expect_eq(get(no)->state, TASK_DEAD);
    cr_expect_eq(last_attempt(no)->end, ATTEMPT_INTERRUPTED);
    cr_expect(reason_is(last_attempt(no), "3 bytes were passed on: reset: "));
    node_end();
    start_node();
    cr_expect_eq(get(no)->state, TASK_DEAD);
    cr_expect_eq(target.requests, 1);
    target_fini(&target);
}

/* Nobody has a byte of it: it is tried again, as ever. */
Test(task_service_passing, an_answer_that_is_no_last_one_is_not_told)
{
    uint64_t rid;
    task_no no;

    open_calls("HTTP/1.1 503 No\r\nContent-Length: 9\r\n\r\nabc");
    no = put_call();
    rid = read_as_it_comes(no, true);
    WAIT(target.requests == 1);
    for (unsigned i = 0; i < 20; i++)
        ev_turn(ev, false);
    target.answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    target_says("defghi");
    WAIT(rtr.rid[MSG_TASK_GET_ANS] == rid);
    cr_expect_eq(rtr.seen[MSG_TASK_PIECE], 0);
    cr_expect_eq(get(no)->state, TASK_SUCCEEDED);
    cr_expect_eq(get(no)->attempts, 2);
    target_fini(&target);
}

Test(task_service_passing, a_node_that_begins_anew_does_not_try_again_what_was_begun)
{
    task_no no = begin(false);

    target_says("3\r\nabc\r\n");
    WAIT(piece_is(PIECE_MORE, 0, "abc"));
    node_end(); /* as a kill does: the call's end is not written */
    start_node();
    cr_expect_eq(get(no)->state, TASK_RUNNING, "until its lease is over");
    cr_expect_eq(get(no)->attempts, 1);
    node_end(); /* by a snapshot, too: journal_snapshot is small */
    start_node();
    WAIT(tasktab_tasks(node->tab) == 1);
    target_fini(&target);
}

static void flow(uint32_t more, bool left)
{
    say(&rtr, &(struct msg){ .type = MSG_TASK_FLOW, .task_flow = { piece->call, more, left } }, 0);
}

Test(task_service_passing, a_reader_that_leaves_ends_the_call_if_it_said_so)
{
    task_no no = begin(true);

    target_says("3\r\nabc\r\n");
    WAIT(piece_is(PIECE_MORE, 0, "abc"));
    flow(0, true);
    WAIT(target.closed == 1);
    cr_expect_eq(get(no)->state, TASK_CANCELLED);
    cr_expect(task_maybe_executed(get(no)));
    cr_expect_eq(last_attempt(no)->end, ATTEMPT_INTERRUPTED);
    cr_expect(reason_is(last_attempt(no), "3 bytes were passed on: its caller left"));
    cr_expect_eq(node->caller.calls.going.n, 0);
    cr_expect_eq(rtr.seen[MSG_TASK_PIECE], 2, "and is told no more");
    target_fini(&target);
}

Test(task_service_passing, a_link_that_breaks_is_a_reader_that_leaves)
{
    task_no no = begin(true);

    rpc_link_free(rtr.link);
    rtr.ch = NULL;
    WAIT(target.closed == 1);
    rtr.link = rpc_dial(rtr.rpc, rpc_listen_addr(node->node.rpc), RPC_TASK, &calls, &rtr);
    WAIT(rtr.ch != NULL);
    cr_expect_eq(get(no)->state, TASK_CANCELLED);
    target_fini(&target);
}

Test(task_service_passing, without_such_a_reader_the_call_goes_on_to_its_end)
{
    task_no no = begin(false);

    target_says("3\r\nabc\r\n");
    WAIT(piece_is(PIECE_MORE, 0, "abc"));
    flow(0, true);
    cr_expect_eq(get(no)->state, TASK_RUNNING); /* heard behind it */
    target_says("3\r\ndef\r\n0\r\n\r\n");
    WAIT(get(no)->state == TASK_SUCCEEDED);
    cr_expect(get(no)->result.n == 6 && memcmp(get(no)->result.p, "abcdef", 6) == 0);
    cr_expect_eq(rtr.seen[MSG_TASK_PIECE], 2);
    target_fini(&target);
}

static void expect_bound(uint64_t heard, uint64_t asked)
{
    cr_expect_leq(heard, WINDOW_BYTES + asked);
}

Test(task_service_passing, no_more_is_read_from_the_target_than_the_reader_has_room_for)
{
    static char answer[3 << 20];
    int n = snprintf(answer, sizeof(answer), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", sizeof(answer) - 100);
    uint64_t asked = 0, all = sizeof(answer) - 100;
    task_no no;

    memset(answer + n, 'x', all);
    open_calls(answer);
    target.answer_n = (size_t)n + all;
    no = put_call();
    (void)read_as_it_comes(no, false);
    WAIT(rtr.seen[MSG_TASK_PIECE] > 0);
    for (unsigned idle = 0, seen = 0; idle < 30; idle++) { /* it stands */
        ev_turn(ev, false);
        usleep(1000);
        idle = rtr.seen[MSG_TASK_PIECE] != seen ? 0 : idle;
        seen = rtr.seen[MSG_TASK_PIECE];
        expect_bound(piece->at + piece->data.n, 0);
    }
    cr_expect_gt(piece->at + piece->data.n, WINDOW_BYTES / 2);
    while (piece->step != PIECE_WHOLE) {
        uint64_t heard = piece->at + piece->data.n;

        if (heard >= asked + WINDOW_BYTES / 2) {
            flow(WINDOW_BYTES / 4, false);
            asked += WINDOW_BYTES / 4;
        }
        ev_turn(ev, false);
        expect_bound(piece->at + piece->data.n, asked);
        arena_reset(&rtr.mem);
    }
    cr_expect_eq(piece->at, all);
    cr_expect_eq(get(no)->state, TASK_SUCCEEDED);
    cr_expect_eq(get(no)->result_length, all);
    target_fini(&target);
}

Test(task_service_passing, who_asks_for_more_than_a_window_hears_no_more)
{
    task_no no = begin(false);

    flow(1, false);
    cr_expect_eq(get(no)->state, TASK_RUNNING); /* heard behind it */
    target_says("3\r\nabc\r\n0\r\n\r\n");
    WAIT(get(no)->state == TASK_SUCCEEDED);
    cr_expect_eq(rtr.seen[MSG_TASK_PIECE], 1);
    target_fini(&target);
}

/* A breaker that heard of it would keep all others from a target that is well. */
static void expect_nothing_against_the_target(void)
{
    static char answer[3 << 20];
    size_t all = sizeof(answer) - 100;
    int n = snprintf(answer, sizeof(answer), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", all);
    const struct endpoint *ep;
    task_no no;

    memset(answer + n, 'x', all);
    open_calls_for(answer, 1500);
    target.answer_n = (size_t)n + all;
    no = put_call();
    (void)read_as_it_comes(no, false);
    WAIT(piece->step == PIECE_BROKEN);
    ep = list_entry(list_first(&node->caller.calls.endpoints), struct endpoint, in);
    cr_expect_eq(ep->n.sent, 1);
    cr_expect_eq(ep->n.of_fault[CALL_TIMEOUT], 1);
    cr_expect_eq(ep->n.failed, 0);
    cr_expect_eq(last_attempt(no)->end, ATTEMPT_INTERRUPTED);
    cr_expect_gt(piece->at, WINDOW_BYTES / 2);
    target_fini(&target);
}

Test(task_service_passing, a_reader_that_lets_the_deadline_pass_tells_nothing_against_the_target)
{
    expect_nothing_against_the_target();
}

Test(task_service_passing, nor_by_libcurl_which_has_room_left_that_a_piece_does_not_fit_in)
{
    by_curl = true;
    expect_nothing_against_the_target();
}

/* 3 MiB, more than is kept, by a target that says them at once to a caller whose reader is announced. */
static task_no begin_fast(void)
{
    static char answer[3 << 20];
    int n = snprintf(answer, sizeof(answer), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", sizeof(answer) - 100);
    task_no no;

    memset(answer + n, 'x', sizeof(answer) - 100);
    open_calls(answer);
    target.answer_n = (size_t)n + sizeof(answer) - 100;
    reader_follows = true;
    no = put_call();
    WAIT(target.requests == 1);
    for (unsigned i = 0; i < 30; i++) {
        ev_turn(ev, false);
        usleep(1000);
    }
    cr_expect_eq(get(no)->state, TASK_RUNNING);
    return no;
}

static void a_fast_target_waits(void)
{
    task_no no = begin_fast();
    uint64_t at = 0;

    (void)read_as_it_comes(no, false);
    WAIT(piece->step == PIECE_HEAD && piece->data.n > 0);
    at = piece->data.n;
    cr_expect(piece->at == 0 && at <= WINDOW_BYTES - WINDOW_PIECE);
    say(&rtr, &(struct msg){ .type = MSG_TASK_FLOW, .task_flow = { piece->call, WINDOW_BYTES / 2, false } }, 0);
    WAIT(piece->step == PIECE_MORE);
    cr_expect_geq(piece->at, at);
    target_fini(&target);
}

Test(task_service_passing, a_fast_target_waits_for_the_reader_who_follows)
{
    a_fast_target_waits();
}

Test(task_service_passing, a_fast_target_waits_for_the_reader_who_follows_by_libcurl)
{
    by_curl = true;
    a_fast_target_waits();
}

Test(task_service_passing, a_reader_who_does_not_come_is_not_waited_for)
{
    task_no no = begin_fast();

    WAIT(get(no)->state == TASK_SUCCEEDED);
    cr_expect_eq(get(no)->result_length, (3 << 20) - 100);
    target_fini(&target);
}

Test(task_service_passing, a_reader_whose_link_breaks_before_it_comes_is_not_waited_for)
{
    task_no no = begin_fast();

    rpc_link_free(rtr.link);
    rtr.ch = NULL;
    rtr.link = rpc_dial(rtr.rpc, rpc_listen_addr(node->node.rpc), RPC_TASK, &calls, &rtr);
    WAIT(rtr.ch != NULL);
    WAIT(get(no)->state == TASK_SUCCEEDED);
    target_fini(&target);
}

Test(task_service_passing, a_node_without_descriptors_leaves_calls_in_line)
{
    task_no no = begin(false), other;

    node->caller.calls.most = 1;
    other = put_call();
    for (unsigned i = 0; i < 30; i++)
        ev_turn(ev, false);
    cr_expect_eq(target.requests, 1);
    cr_expect_eq(get(other)->state, TASK_WAITING, "no attempt has begun");
    cr_expect(node->caller.calls.full);
    target_says("0\r\n\r\n");
    WAIT(target.requests == 2);
    cr_expect_eq(get(no)->state, TASK_SUCCEEDED);
    target_fini(&target);
}

static void open_beside(void)
{
    const char *allow[] = { "127.0.0.0/8" };
    char url[128];
    struct msg_endpoint m = { .epoch = 5, .name = "beside", .serial = 2, .version = 1, .url = url,
                              .n_allow = 1, .allow = allow, .rate = ENDPOINT_ANY, .burst = 1,
                              .max_concurrent = 8, .deadline_ms = 20000, .connect_timeout_ms = 500,
                              .breaker_ratio = 50, .breaker_min = 20, .breaker_open_ms = 60000,
                              .auth_field = "", .auth_file = "", .reading_path = "", .secret_file = "", .ca_file = "",
                              .cert_file = "", .key_file = "", .proxy = "", .budget = "", .max_answer = 200000 };

    snprintf(url, sizeof(url), "http://%s/beside", target.addr);
    say(&mng, &(struct msg){ .type = MSG_ENDPOINT, .endpoint = m }, 0);
    say(&mng, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { .epoch = 5, .part = 4, .part_epoch = 8, .match = "beside/*",
                                            .max_tasks = 1000, .endpoint = "beside" } }, 0);
}

Test(task_service_passing, at_a_node_without_descriptors_endpoints_take_turns)
{
    const struct endpoint *gen, *beside;

    open_calls("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    open_beside();
    WAIT(endpoints_find(&node->caller.calls.endpoints, "beside") != NULL);
    gen = endpoints_find(&node->caller.calls.endpoints, "gen");
    beside = endpoints_find(&node->caller.calls.endpoints, "beside");
    WAIT(gen->usable && beside->usable);
    node->caller.calls.most = 0;
    for (unsigned i = 0; i < 6; i++)
        put_call();
    for (unsigned i = 0; i < 6; i++)
        put_call_to(4, "beside/a");
    node->caller.calls.most = 1;
    WAIT(gen->n.succeeded + beside->n.succeeded >= 4);
    cr_expect_geq(beside->n.succeeded, 1);
    cr_expect_geq(gen->n.succeeded, 1);
    WAIT(gen->n.succeeded == 6 && beside->n.succeeded == 6);
    for (unsigned i = 0; i < 5; i++)
        ev_turn(ev, false);
    cr_expect(!node->caller.calls.full, "nobody waits");
    target_fini(&target);
}

/* A second call waits while the file of the first one's answer has the other descriptor. */
Test(task_service_passing, a_long_answer_that_is_written_counts_as_a_call)
{
    static char much[100001], rest[50001];
    task_no first, second;

    memset(much, 'x', 100000);
    memset(rest, 'y', 50000);
    open_calls("HTTP/1.1 200 OK\r\nContent-Length: 150000\r\n\r\n");
    endpoints_find(&node->caller.calls.endpoints, "gen")->ramp = MSEC_NEVER; /* or that holds the second one */
    node->caller.calls.most = 2;
    first = put_call();
    WAIT(target.requests == 1);
    target_says(much);
    WAIT(answers_counts(node->answers)->writing == 1);
    second = put_call();
    for (unsigned i = 0; i < 30; i++)
        ev_turn(ev, false);
    cr_expect_eq(target.requests, 1);
    cr_expect_eq(get(second)->state, TASK_WAITING);
    target_says(rest);
    WAIT(target.requests == 2);
    cr_expect(get(first)->result_whole);
    cr_expect_eq(answers_counts(node->answers)->writing, 0);
    node->caller.calls.most = 1; /* all are taken: it is cut, and takes none of those for links */
    target_says(much);
    target_says(rest);
    WAIT(get(second)->state == TASK_SUCCEEDED);
    cr_expect(!get(second)->result_whole && get(second)->result_length == 150000);
    cr_expect_eq(answers_counts(node->answers)->no_room, 1);
    target_fini(&target);
}

/* ---- a link that has no room ------------------------------------------------------------------- */

static void fill_link(bool on)
{
    each_node_peer (&node->node, p)
        if (p->role == RPC_ROUTER)
            p->handed += on ? -(uint64_t)LINK_PORTION : LINK_PORTION;
}

static void turns(void)
{
    for (unsigned i = 0; i < 30; i++) {
        ev_turn(ev, false);
        usleep(1000);
    }
}

static void expect_pieces_to_wait(void)
{
    task_no no = begin(true);

    fill_link(true);
    turns();
    target_says("3\r\nabc\r\n");
    turns();
    target_says("3\r\ndef\r\n0\r\n\r\n");
    turns();
    cr_expect_eq(rtr.seen[MSG_TASK_PIECE], 1);
    cr_expect_eq(get(no)->state, TASK_RUNNING, "what is short goes on");
    fill_link(false);
    WAIT(piece->step == PIECE_WHOLE);
    cr_expect_eq(piece->at, 6);
    cr_expect_eq(get(no)->state, TASK_SUCCEEDED);
    target_fini(&target);
}

Test(task_service_passing, pieces_wait_for_room_on_the_link)
{
    expect_pieces_to_wait();
}

Test(task_service_passing, so_they_do_by_libcurl)
{
    by_curl = true;
    expect_pieces_to_wait();
}

static char many[600000];
static const size_t many_n = sizeof(many) - 100;

/* Nothing of it has been told when the link has no room. */
static task_no begin_held(bool leaves)
{
    int n = snprintf(many, sizeof(many), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", many_n);
    task_no no;

    memset(many + n, 'x', many_n);
    open_calls(many);
    target.answer_n = (size_t)n + many_n;
    fill_link(true);
    no = put_call();
    (void)read_as_it_comes(no, leaves);
    WAIT(target.requests == 1);
    turns();
    cr_expect_eq(rtr.seen[MSG_TASK_PIECE], 0);
    return no;
}

static void hear_all(task_no no)
{
    while (piece->step != PIECE_WHOLE) {
        cr_assert_neq(piece->step, PIECE_BROKEN);
        if (piece->step == PIECE_MORE)
            flow((uint32_t)piece->data.n + WINDOW_PIECE, false);
        WAIT(rtr.seen[MSG_TASK_PIECE] > 0);
        rtr.seen[MSG_TASK_PIECE] = 0;
        WAIT(rtr.seen[MSG_TASK_PIECE] > 0 || piece->step == PIECE_WHOLE);
    }
    cr_expect_eq(piece->at, many_n);
    cr_expect_eq(get(no)->result_length, many_n);
}

Test(task_service_passing, a_head_waits_for_room_and_its_target_for_the_head)
{
    task_no no = begin_held(true);

    cr_expect_eq(get(no)->state, TASK_RUNNING);
    fill_link(false);
    hear_all(no);
    target_fini(&target);
}

Test(task_service_passing, a_head_whose_link_breaks_is_for_who_comes_next)
{
    task_no no = begin_held(false);

    rpc_link_free(rtr.link);
    rtr.ch = NULL;
    rtr.link = rpc_dial(rtr.rpc, rpc_listen_addr(node->node.rpc), RPC_TASK, &calls, &rtr);
    WAIT(rtr.ch != NULL);
    WAIT(get(no)->state == TASK_SUCCEEDED); /* read on to its end */
    cr_expect_eq(get(no)->result_length, many_n);
    target_fini(&target);
}

/* ---- what a deadline says of the target -------------------------------------------------------- */

static void expect_failed(const char *answer, const char *more, uint64_t failed)
{
    const struct endpoint *ep;
    task_no no;

    open_calls_for(answer, 1500);
    no = put_call();
    (void)read_as_it_comes(no, false);
    WAIT(rtr.seen[MSG_TASK_PIECE] > 0);
    if (more[0] != 0) {
        target_says(more);
        WAIT(piece->step == PIECE_MORE);
    }
    WAIT(piece->step == PIECE_BROKEN);
    ep = list_entry(list_first(&node->caller.calls.endpoints), struct endpoint, in);
    cr_expect_eq(ep->n.of_fault[CALL_TIMEOUT], 1);
    cr_expect_eq(ep->n.failed, failed);
    cr_expect_eq(last_attempt(no)->end, ATTEMPT_INTERRUPTED);
    target_fini(&target);
}

Test(task_service_passing, a_stream_that_the_deadline_ends_tells_nothing_against_the_target)
{
    expect_failed(HEAD, "9\r\ndata: 1\n\n\r\n", 0);
}

Test(task_service_passing, a_head_alone_is_no_stream)
{
    expect_failed(HEAD, "", 1);
}

Test(task_service_passing, who_does_not_keep_up_with_the_length_that_it_said_is_slow)
{
    expect_failed("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", "abc", 1);
}

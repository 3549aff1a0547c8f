/* test_task_service_following.c: a whole task node: those who read an answer along, from the first byte to the
 * end that is checked; that they change nothing, and are told nothing whole that is not (tellrig.h). */
#define _GNU_SOURCE 1 /* memmem */
#include "task/service/caller.h"

#include <sodium.h>

#include "task/node/following.h"
#include "tests/lib/tellrig.h"

static struct reader { /* what one of them was told */
    uint64_t rid, call, owed;
    bool slow; /* asks for no more */
    struct msg_task_piece head, last;
    unsigned heads, ends;
    struct buf got;
} v[80];
static unsigned n_v;

static void hears(const struct msg *m, uint64_t rid)
{
    for (unsigned i = 0; m->type == MSG_TASK_PIECE && i < n_v; i++) {
        const struct msg_task_piece *p = &m->task_piece;

        if (v[i].rid != rid)
            continue;
        cr_assert_eq(v[i].ends, 0, "nothing follows the end");
        cr_assert_eq(p->at, v[i].got.len, "no gap");
        cr_assert_eq(p->step == PIECE_HEAD, v[i].heads == 0);
        buf_append(&v[i].got, p->data.p, p->data.n);
        v[i].call = p->call;
        v[i].owed += p->data.n > 0 ? p->data.n + WINDOW_PIECE : 0;
        v[i].heads += p->step == PIECE_HEAD;
        v[i].ends += p->step == PIECE_WHOLE || p->step == PIECE_BROKEN;
        if (p->step == PIECE_HEAD)
            v[i].head = *p;
        v[i].last = *p;
    }
}

static void setup(void)
{
    task_node_setup();
    n_v = 0;
    rtr.hears = hears;
}

static void teardown(void)
{
    rtr.hears = NULL;
    for (unsigned i = 0; i < n_v; i++) {
        buf_fini(&v[i].got);
        v[i] = (struct reader){ 0 };
    }
    task_node_teardown();
}

TestSuite(task_service_following, .init = setup, .fini = teardown, .timeout = 60);

static struct reader *ask_for(task_no no, bool follows, uint32_t wait_ms)
{
    struct msg_task_get q = { .part = 3, .epoch = 8, .no = no, .queue = "", .name = "", .wait_ms = wait_ms,
                              .result = true };
    struct reader *r = &v[n_v++];

    cr_assert_lt(n_v, ARRAY_LEN(v));
    *(follows ? &q.follow : &q.window) = WINDOW_BYTES;
    buf_init(&r->got);
    say(&rtr, &(struct msg){ .type = MSG_TASK_GET, .task_get = q }, r->rid = ++last_rid);
    return r;
}

static struct reader *follow(task_no no)
{
    return ask_for(no, true, 60000);
}

static void flow(struct reader *r, bool left)
{
    say(&rtr, &(struct msg){ .type = MSG_TASK_FLOW, .task_flow = { r->call, (uint32_t)r->owed, left } }, 0);
    r->owed = 0;
}

static bool has(struct reader *r, const char *text)
{
    return r->got.len == strlen(text) && memcmp(r->got.data, text, r->got.len) == 0;
}

static bool is_whole(const struct reader *r)
{
    uint8_t is[RESULT_SHA256];

    crypto_hash_sha256(is, r->got.data, r->got.len);
    return r->last.step == PIECE_WHOLE && r->last.length == r->got.len && r->last.sha256.n == sizeof(is) &&
           memcmp(r->last.sha256.p, is, sizeof(is)) == 0;
}

static bool is_broken(const struct reader *r)
{
    return r->last.step == PIECE_BROKEN && r->ends == 1;
}

static void turns(unsigned n)
{
    while (n-- > 0) {
        ev_turn(ev, false);
        for (unsigned i = 0; i < n_v; i++)
            if (!v[i].slow && v[i].owed > WINDOW_BYTES / 2)
                flow(&v[i], false);
        usleep(200);
    }
}

#define UNTIL(cond) for (unsigned turn_ = 0; !(cond); turn_++) { cr_assert_lt(turn_, 20000, "%s", #cond); turns(1); }

static void hang_up(void)
{
    for (unsigned i = 0; i < TARGET_CONNS; i++)
        target_hang_up(&target.conn[i]);
}

Test(task_service_following, several_read_along_beside_the_caller_and_one_comes_amid_it)
{
    struct reader *own, *a, *b, *late;
    task_no no;

    open_calls(HEAD);
    no = put_call();
    a = follow(no);
    own = ask_for(no, false, 60000);
    b = follow(no);
    UNTIL(a->heads == 1 && b->heads == 1 && own->heads == 1);
    cr_expect(a->head.part == 3 && a->head.no == no && a->head.status == 200 && !a->head.sized);
    cr_expect_str_eq(a->head.content_type, "text/event-stream");
    cr_expect_gt(a->head.fields.n, 0);
    target_says("3\r\nabc\r\n");
    UNTIL(has(a, "abc") && has(b, "abc") && has(own, "abc"));
    late = follow(no);
    UNTIL(has(late, "abc"));
    target_says("3\r\ndef\r\n");
    UNTIL(has(a, "abcdef") && has(b, "abcdef") && has(own, "abcdef") && has(late, "abcdef"));
    cr_expect_eq(a->ends + b->ends + own->ends + late->ends, 0);
    target_says("0\r\n\r\n");
    UNTIL(is_whole(a) && is_whole(b) && is_whole(late) && own->last.step == PIECE_WHOLE);
    cr_expect_eq(a->last.status, 200, "it has succeeded");
    cr_expect_eq(get(no)->state, TASK_SUCCEEDED);
    cr_expect_eq(node->tab->followers.n, 0);
    target_fini(&target);
}

/* Nobody waits for it: the target tells all, and it is there when the reader takes it. */
static void slow_reader(size_t all, bool in_file)
{
    char *answer = malloc(all + 200);
    int n = snprintf(answer, 200, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", all);
    struct reader *r, *quick;
    task_no no;

    for (size_t i = 0; i < all; i++)
        answer[(size_t)n + i] = (char)('a' + i % 23);
    open_calls(answer);
    target.answer_n = (size_t)n + all;
    target.step = in_file ? 0 : 40;
    no = put_call();
    r = follow(no);
    quick = follow(no);
    r->slow = true;
    UNTIL(r->heads == 1);
    cr_expect(r->head.sized && r->head.length == all);
    UNTIL(get(no)->state == TASK_SUCCEEDED);
    UNTIL(is_whole(quick));
    turns(20);
    cr_expect_eq(r->ends, 0);
    cr_expect_leq(r->got.len, WINDOW_BYTES);
    r->slow = false;
    UNTIL(is_whole(r));
    cr_expect(r->got.len == all && memcmp(r->got.data, answer + n, all) == 0);
    cr_expect_eq(node->tab->followers.n + node->tab->behind.n, 0);
    target_fini(&target);
    free(answer);
}

Test(task_service_following, a_slow_one_is_told_the_rest_behind_the_end_out_of_the_file)
{
    slow_reader(190000, true);
}

/* 1500 pieces count for more than the window. */
Test(task_service_following, a_slow_one_is_told_the_rest_of_a_short_answer_out_of_memory)
{
    slow_reader(60000, false);
}

Test(task_service_following, an_attempt_that_breaks_is_tried_again_and_nothing_is_put_behind_it)
{
    struct reader *r, *again;
    task_no no;

    open_calls(HEAD);
    no = put_call();
    r = follow(no);
    UNTIL(r->heads == 1);
    target_says("3\r\nabc\r\n");
    UNTIL(has(r, "abc"));
    hang_up();
    UNTIL(is_broken(r));
    cr_expect_eq(get(no)->state, TASK_RETRYING, "a reader changes nothing");
    again = follow(no);
    UNTIL(again->heads == 1);
    target_says("3\r\nxyz\r\n0\r\n\r\n");
    UNTIL(is_whole(again));
    cr_expect(has(again, "xyz"));
    cr_expect(has(r, "abc"));
    cr_expect_eq(get(no)->attempts, 2);
    target_fini(&target);
}

Test(task_service_following, what_is_tried_again_is_not_told)
{
    struct reader *r;
    task_no no;

    open_calls("HTTP/1.1 503 No\r\nContent-Length: 9\r\n\r\nabc");
    no = put_call();
    r = follow(no);
    UNTIL(target.requests == 1);
    turns(20);
    target.answer = HEAD;
    target_says("defghi");
    UNTIL(target.requests == 2);
    target_says("1\r\nx\r\n");
    UNTIL(has(r, "x"));
    cr_expect_eq(r->head.status, 200);
    hang_up();
    target_fini(&target);
}

Test(task_service_following, who_leaves_or_whose_link_goes_ends_nothing)
{
    struct reader *r, *other;
    task_no no;

    open_calls(HEAD);
    no = put_call();
    r = follow(no);
    other = follow(no);
    UNTIL(r->heads + other->heads == 2);
    flow(r, true);
    cr_expect_eq(get(no)->state, TASK_RUNNING); /* heard behind it */
    target_says("3\r\nabc\r\n");
    UNTIL(has(other, "abc"));
    cr_expect_eq(r->got.len, 0);
    cr_expect_eq(node->tab->followers.n, 1);
    rpc_link_free(rtr.link);
    rtr.ch = NULL;
    UNTIL(node->tab->followers.n == 0);
    rtr.link = rpc_dial(rtr.rpc, rpc_listen_addr(node->node.rpc), RPC_TASK, &calls, &rtr);
    UNTIL(rtr.ch != NULL);
    target_says("0\r\n\r\n");
    UNTIL(get(no)->state == TASK_SUCCEEDED);
    cr_expect_eq(target.closed, 0);
    target_fini(&target);
}

/* max_answer is 200000. */
Test(task_service_following, beyond_what_is_kept_who_keeps_up_hears_all_and_who_does_not_is_broken_off)
{
    static char chunk[4096 + 9];
    struct reader *slow, *quick, *late;
    task_no no;

    memset(chunk, 'x', sizeof(chunk));
    memcpy(chunk, "1000\r\n", 6);
    memcpy(chunk + 6 + 4096, "\r\n", 3);
    open_calls(HEAD);
    no = put_call();
    slow = follow(no);
    quick = follow(no);
    slow->slow = true;
    UNTIL(slow->heads + quick->heads == 2);
    for (unsigned i = 1; i <= 60; i++) {
        target_says(chunk);
        UNTIL(quick->got.len == i * 4096u);
    }
    late = follow(no); /* it has missed something: it waits for the end */
    turns(20);
    cr_expect_eq(late->heads, 0);
    slow->slow = false;
    flow(slow, false);
    UNTIL(is_broken(slow));
    target_says("0\r\n\r\n");
    UNTIL(is_whole(quick));
    UNTIL(rtr.rid[MSG_TASK_GET_ANS] == late->rid);
    cr_expect_eq(rtr.last[MSG_TASK_GET_ANS].task_get_ans.result_length, 60 * 4096);
    target_fini(&target);
}

Test(task_service_following, more_than_so_many_of_one_hear_of_its_end)
{
    unsigned live = 0;
    task_no no;

    open_calls(HEAD);
    no = put_call();
    for (unsigned i = 0; i < FOLLOWERS_OF_ONE + 2; i++)
        (void)follow(no);
    UNTIL(v[0].heads == 1);
    turns(20);
    for (unsigned i = 0; i < n_v; i++)
        live += v[i].heads;
    cr_expect_eq(live, FOLLOWERS_OF_ONE);
    target_says("3\r\nabc\r\n0\r\n\r\n");
    UNTIL(is_whole(&v[0]) && rtr.seen[MSG_TASK_GET_ANS] == 2);
    target_fini(&target);
}

/* A shared store that does not answer for a moment. */
Test(task_service_following, a_head_that_comes_amid_a_hold_is_told_behind_it)
{
    struct reader *r, *own;
    task_no no;

    open_calls(NULL);
    no = put_call();
    UNTIL(target.requests == 1);
    r = follow(no);
    own = ask_for(no, false, 60000);
    turns(20);
    tasktab_part_hold(node->tab, 3, true);
    target_says(HEAD);
    target_says("3\r\nabc\r\n");
    turns(20);
    cr_expect_eq(r->heads + own->heads, 0);
    tasktab_part_hold(node->tab, 3, false);
    UNTIL(has(r, "abc") && has(own, "abc"));
    target_says("0\r\n\r\n");
    UNTIL(is_whole(r) && own->last.step == PIECE_WHOLE);
    target_fini(&target);
}

Test(task_service_following, who_waits_for_a_begin_does_so_no_longer_than_it_said)
{
    struct reader *r;
    task_no no;

    open_calls(NULL);
    no = put_call();
    UNTIL(target.requests == 1);
    r = ask_for(no, true, 50);
    UNTIL(rtr.rid[MSG_TASK_GET_ANS] == r->rid);
    cr_expect_eq(rtr.last[MSG_TASK_GET_ANS].task_get_ans.state, TASK_RUNNING);
    cr_expect_eq(r->heads, 0);
    target_fini(&target);
}

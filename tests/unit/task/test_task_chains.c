/* test_task_chains.c: a task behind a task begins with its success, once, here or on its way
 * elsewhere; with the result in it; and not without it. */
#include "tests/unit/task/tablerig.h"

#include "common/json/json_point.h"
#include "common/task/call.h"
#include "common/wire/codec.h"
#include "task/engine/change.h"
#include "task/engine/look.h"
#include "task/node/body.h"

static struct buf packed, thens[16]; /* bytes of payloads, of what is behind tasks */
static unsigned n_thens;

static void end(void)
{
    teardown();
    buf_fini(&packed);
    for (unsigned i = 0; i < n_thens; i++)
        buf_fini(&thens[i]);
}

TestSuite(task_chains, .init = setup, .fini = end);

/* What is behind a task: in partition `part`, with this payload, and this behind it. */
static struct bytes_of then_of(part_no part, const char *payload, struct bytes_of then)
{
    const char *why;
    struct task_put row = { .part = part, .queue = "next", .key1 = "k", .key2 = "", .name = "",
                            .own.labels = "", .then = then,
                            .body = { (uint32_t)strlen(payload), (const uint8_t *)payload } };
    struct msg m = { .type = MSG_TASK_PUT, .task_put = { 1, &row } };
    struct slice text = { (char *)(uintptr_t)payload, strlen(payload) };
    struct buf *b = &thens[n_thens++];

    cr_assert_leq(n_thens, ARRAY_LEN(thens));
    row.chain = json_holes(text, &why) > 0 ? CHAIN_HOLES : 0;
    cr_assert_eq(msg_encode(&m, b), 0);
    return (struct bytes_of){ (uint32_t)b->len, b->data };
}

static task_no put_then(struct bytes_of then)
{
    struct task_put one = { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "", .name = "",
                            .body = { 1, (const uint8_t *)"1" }, .then = then };
    struct task_put_row row = put_row(&one);

    cr_assert_eq(row.code, CODE_DONE);
    turn();
    return row.no;
}

static void open_all(part_no no, uint64_t epoch, const char *match)
{
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { EPOCH, no, epoch, match, 0, NULL, 100, false } });
    turn();
}

static void anew(void)
{
    again();
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
}

static void begin(void)
{
    ok(EPOCH, 77);
    open_all(3, 8, "*");
}

static struct taken_row take_one(const char *queue)
{
    const struct msg_task_take_ans *a = take(RTR, queue, 1, 0);
    struct taken_row k;

    cr_assert(a != NULL && a->n == 1, "%s has a task", queue);
    k = a->v[0];
    buf_append(&packed, k.body.p, k.body.n);
    k.body.p = packed.data + packed.len - k.body.n;
    turn();
    return k;
}

static uint8_t ack_with(const struct taken_row *k, const char *result)
{
    struct settle_row r = { 3, 8, SETTLE_ACK, k->no, k->lease, 0,
                            { (uint32_t)strlen(result), (const uint8_t *)result }, { 0 }, { 0 } };
    struct msg_task_settle q = { 1, &r, { 0 } };

    send(RTR, &(struct msg){ .type = MSG_TASK_SETTLE, .task_settle = q });
    return answer(next_rid)->task_settle_ans.v[0].code;
}

static struct msg_task_get_ans look(task_no no)
{
    send(RTR, &(struct msg){ .type = MSG_TASK_GET,
                             .task_get = { .part = 3, .epoch = 8, .no = no, .queue = "", .name = "" } });
    return answer(next_rid)->task_get_ans;
}

/* The hand-over of this turn; NULL: there is none. */
static const struct msg_task_notice *handed(void)
{
    for (uint32_t k = 0; k < out.n; k++)
        if (out.v[k].m.type == MSG_TASK_NOTICE && out.v[k].m.task_notice.put.n > 0)
            return &out.v[k].m.task_notice;
    return NULL;
}

static void answer_hand(const struct msg_task_notice *m, uint8_t code, task_no made)
{
    struct msg_task_notice_ans a = { m->part, m->id, m->no, code, made != 0 ? 9 : 0, made };

    send(RTR, &(struct msg){ .type = MSG_TASK_NOTICE_ANS, .task_notice_ans = a });
    turn();
}

static const struct bytes_of none = { 0 };

Test(task_chains, the_next_task_begins_with_the_success_and_has_the_result)
{
    task_no first;
    struct taken_row k;
    struct msg_task_get_ans a;

    begin();
    first = put_then(then_of(3, "{\"a\":{\"$result\":\"/url\"}}", then_of(3, "2", none)));
    cr_expect_eq(look(first).then, CHAIN_WAITS);
    anew();
    k = take_one("q");
    cr_expect_eq(take(RTR, "next", 1, 0)->n, 0);
    cr_expect_eq(ack_with(&k, "{\"url\": \"cat.png\"}"), CODE_DONE);
    turn();
    anew();
    a = look(first);
    cr_expect(a.state == TASK_SUCCEEDED && a.then == CHAIN_BEGUN && a.then_part == 3);
    k = take_one("next");
    cr_expect_eq(k.no, a.then_no);
    cr_expect(text_is((const char *)k.body.p, k.body.n, "{\"a\":\"cat.png\"}"));
    cr_expect_str_eq(k.key1, "k");
    a = look(k.no);
    cr_expect(a.after_part == 3 && a.after_no == first && a.then == CHAIN_WAITS);
    cr_expect_eq(ack_with(&k, "1"), CODE_DONE);
    turn();
    k = take_one("next");
    cr_expect(text_is((const char *)k.body.p, k.body.n, "2"));
    cr_expect_eq(look(k.no).then, CHAIN_NONE);
    cr_expect_eq(tasktab_part(t, 3)->relays.by_id.n, 0);
}

Test(task_chains, a_turn_that_is_not_written_has_neither_the_success_nor_the_next)
{
    struct taken_row k;

    begin();
    (void)put_then(then_of(3, "2", none));
    k = take_one("q");
    cr_expect_eq(ack_with(&k, "1"), CODE_DONE);
    anew();
    cr_expect_eq(look(k.no).state, TASK_RUNNING);
    cr_expect_eq(take(RTR, "next", 1, 0)->n, 0);
    cr_expect_eq(ack_with(&k, "1"), CODE_DONE);
    turn();
    anew();
    cr_expect_eq(ack_with(&k, "1"), CODE_SAME);
    turn();
    (void)take_one("next");
    cr_expect_eq(take(RTR, "next", 1, 0)->n, 0, "a repeated ack begins no other");
}

Test(task_chains, into_another_partition_it_is_handed_over_until_that_has_it)
{
    struct msg_task_notice m;
    task_no first;
    struct taken_row k;
    struct arena mem;
    struct msg put;

    begin();
    first = put_then(then_of(9, "[{\"$result\":\"\"}]", then_of(3, "2", none)));
    k = take_one("q");
    cr_expect_eq(ack_with(&k, "7"), CODE_DONE);
    turn();
    cr_assert_not_null(handed());
    cr_expect_eq(look(first).then, CHAIN_SENT);
    anew();
    pass(0);
    cr_assert_not_null(handed(), "said again by a node that begins anew");
    m = *handed();
    arena_init(&mem);
    cr_assert_eq(msg_decode(MSG_TASK_PUT, m.put.p, m.put.n, &mem, &put), 0);
    cr_expect(text_is((const char *)put.task_put.v[0].body.p, put.task_put.v[0].body.n, "[7]"));
    cr_expect(put.task_put.v[0].after_part == 3 && put.task_put.v[0].after_no == first);
    cr_expect_gt(put.task_put.v[0].then.n, 0);
    arena_fini(&mem);
    answer_hand(&m, CODE_FULL, 0);
    cr_expect_null(handed());
    pass(999);
    cr_expect_null(handed());
    pass(1);
    cr_assert_not_null(handed());
    answer_hand(&m, CODE_INVALID, 0); /* a router of before */
    pass(1000);
    cr_assert_not_null(handed());
    answer_hand(&m, CODE_SAME, 77);
    pass(20000);
    cr_expect_null(handed());
    anew();
    cr_expect(look(first).then == CHAIN_BEGUN && look(first).then_part == 9 && look(first).then_no == 77);
    cr_expect_eq(tasktab_part(t, 3)->relays.by_id.n, 0);
}

/* Also a refusal: whoever may take it now is not asked ten seconds later. */
Test(task_chains, a_hand_over_whose_answer_met_a_hold_is_said_again_at_its_end)
{
    struct msg_task_notice m;
    struct taken_row k;

    for (int all = 0; all < 2; all++) {
        begin();
        (void)put_then(then_of(9, "1", none));
        k = take_one("q");
        cr_expect_eq(ack_with(&k, "7"), CODE_DONE);
        turn();
        m = *handed();
        all ? tasktab_hold(t, true) : tasktab_part_hold(t, 3, true);
        answer_hand(&m, all ? CODE_SAME : CODE_FULL, all ? 77 : 0);
        pass(10);
        cr_expect_null(handed());
        all ? tasktab_hold(t, false) : tasktab_part_hold(t, 3, false);
        cr_expect_eq(tasktab_idle_ms(t, now), 0);
        turn();
        cr_assert_not_null(handed());
        answer_hand(&m, CODE_SAME, 77);
        cr_expect(look(k.no).then == CHAIN_BEGUN && look(k.no).then_no == 77);
        end();
        setup();
    }
}

Test(task_chains, one_that_is_refused_for_ever_is_a_chain_that_failed)
{
    struct taken_row k;

    begin();
    (void)put_then(then_of(9, "1", none));
    k = take_one("q");
    cr_expect_eq(ack_with(&k, "7"), CODE_DONE);
    turn();
    answer_hand(handed(), CODE_MISMATCH, 0);
    cr_expect(look(k.no).then == CHAIN_FAILED && look(k.no).then_why == CHAIN_WHY_REFUSED);
    cr_expect_eq(tasktab_part(t, 3)->relays.by_id.n, 0);
}

Test(task_chains, a_full_queue_holds_up_no_other_chain)
{
    struct msg_task_notice m;
    struct taken_row k;

    begin();
    (void)put_then(then_of(9, "1", none));
    (void)put_then(then_of(9, "2", none));
    k = take_one("q");
    cr_expect_eq(ack_with(&k, "7"), CODE_DONE);
    turn();
    m = *handed();
    answer_hand(&m, CODE_FULL, 0);
    k = take_one("q");
    cr_expect_eq(ack_with(&k, "7"), CODE_DONE);
    turn();
    cr_assert_not_null(handed(), "at once");
    cr_expect_neq(handed()->id, m.id);
}

static void fails(const char *payload, const char *result, uint8_t why)
{
    task_no first = put_then(then_of(3, payload, none));
    struct taken_row k = take_one("q");
    struct msg_task_get_ans a;

    cr_expect_eq(ack_with(&k, result), CODE_DONE);
    turn();
    anew();
    a = look(first);
    cr_expect(a.state == TASK_SUCCEEDED && a.then == CHAIN_FAILED && a.then_why == why, "%s: %u",
              result, a.then_why);
    cr_expect_eq(take(RTR, "next", 1, 0)->n, 0);
}

Test(task_chains, without_what_it_needs_of_the_result_the_next_does_not_begin)
{
    static char large[70000];

    memset(large, '1', sizeof(large) - 1);
    begin();
    fails("{\"$result\":\"/a\"}", "{\"b\":1}", CHAIN_WHY_NOTHING);
    fails("{\"$result\":\"\"}", "words", CHAIN_WHY_NO_JSON);
    fails("{\"$result\":\"\"}", "", CHAIN_WHY_NO_RESULT);
    fails("{\"$result\":\"\"}", large, CHAIN_WHY_TRUNCATED);
    large[60000] = 0;
    fails("[{\"$result\":\"\"},{\"$result\":\"\"},{\"$result\":\"\"}]", large, CHAIN_WHY_TOO_LARGE);
}

Test(task_chains, a_chain_ends_with_a_task_that_does_not_succeed)
{
    struct engine *e;
    task_no first, second;
    struct taken_row k;

    begin();
    first = put_then(then_of(3, "1", none));
    e = &tasktab_part(t, 3)->e;
    cr_expect_gt(e->chains.bytes, sizeof(struct chain));
    cr_expect_eq(engine_cancel(e, first), 0);
    turn();
    cr_expect_eq(look(first).then, CHAIN_ENDED);
    cr_expect_eq(e->chains.bytes, sizeof(struct chain), "what would have come is forgotten");
    second = put_then(then_of(3, "1", none));
    k = take_one("q");
    cr_expect_eq(k.no, second);
    cr_expect_geq(engine_cancel(e, second), 0); /* runs: its last attempt */
    cr_expect_eq(ack_with(&k, "7"), CODE_DONE);
    turn();
    anew();
    cr_expect(look(second).state == TASK_SUCCEEDED && look(second).then == CHAIN_ENDED);
    cr_expect_eq(take(RTR, "next", 1, 0)->n, 0);
}

Test(task_chains, a_dead_one_that_is_redriven_still_has_its_next)
{
    struct attempt bad = { .end = ATTEMPT_GIVEN_BACK };
    struct taken_row k = { 0 };
    struct task_put one = { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "", .name = "",
                            .own.max_attempts = 2, .then = then_of(3, "5", none) };
    struct engine *e;

    begin();
    (void)put_row(&one);
    turn();
    k = take_one("q");
    cr_expect_eq(settle(SETTLE_NACK, &k), CODE_DONE);
    turn();
    anew();
    e = &tasktab_part(t, 3)->e;
    (void)bad;
    cr_assert_eq(look(k.no).state, TASK_DEAD);
    cr_expect_eq(engine_redrive(e, k.no), 0);
    turn();
    k = take_one("q");
    cr_expect_eq(ack_with(&k, "7"), CODE_DONE);
    turn();
    (void)take_one("next");
}

Test(task_chains, what_is_behind_tasks_has_a_bound)
{
    struct task_put one = { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "", .name = "",
                            .then = then_of(3, "5", none) };

    begin();
    tasktab_part(t, 3)->e.chains.bytes = CHAINS_BYTES_MAX;
    cr_expect_eq(put_row(&one).code, CODE_FULL + FULL_CHAINS);
    one.then = none;
    cr_expect_eq(put_row(&one).code, CODE_DONE);
    tasktab_part(t, 3)->e.chains.bytes = 0;
}

/* A call: results stand in its body. */
Test(task_chains, results_stand_in_the_body_of_a_call)
{
    struct task_put row = { .part = 9, .queue = "next", .key1 = "", .key2 = "", .name = "",
                            .own.labels = "", .chain = CHAIN_CALL | CHAIN_HOLES };
    struct msg m = { .type = MSG_TASK_PUT, .task_put = { 1, &row } }, got;
    struct buf form, b;
    struct taken_row k;
    struct arena mem;
    struct call c;

    buf_init(&form);
    buf_init(&b);
    call_pack_begin(&form, (struct call_span){ "POST", 4 }, (struct call_span){ "/x", 2 });
    call_pack_header(&form, (struct call_span){ "x-a", 3 }, (struct call_span){ "b", 1 });
    call_pack_body(&form, (struct call_span){ "{\"v\":{\"$result\":\"/0\"}}", 22 });
    row.body = (struct bytes_of){ (uint32_t)form.len, form.data };
    cr_assert_eq(msg_encode(&m, &b), 0);
    begin();
    (void)put_then((struct bytes_of){ (uint32_t)b.len, b.data });
    k = take_one("q");
    cr_expect_eq(ack_with(&k, "[true]"), CODE_DONE);
    turn();
    cr_assert_not_null(handed());
    arena_init(&mem);
    cr_assert_eq(msg_decode(MSG_TASK_PUT, handed()->put.p, handed()->put.n, &mem, &got), 0);
    cr_assert_eq(call_unpack(got.task_put.v[0].body.p, got.task_put.v[0].body.n, &c), 0);
    cr_expect(text_is(c.body.p, c.body.n, "{\"v\":true}"));
    cr_expect(text_is(c.path.p, c.path.n, "/x"));
    cr_expect_eq(c.headers.n > 0, true);
    arena_fini(&mem);
    buf_fini(&form);
    buf_fini(&b);
}

/* test_task_looks.c: what callers and operators are told of tasks, and who may order what. */
#include "task/engine/change.h"
#include "tests/unit/task/tablerig.h"

TestSuite(task_looks, .init = setup, .fini = teardown);

Test(task_looks, a_look_waits_for_the_end)
{
    struct taken_row k;
    uint64_t rid;

    open_part(3, 8);
    k.no = put_at(3, 8, "q", "body").no;
    turn();
    send(RTR2, &(struct msg){ .type = MSG_TASK_GET,
                              .task_get = { 3, 8, k.no, "", "", 60000, true } });
    rid = next_rid;
    cr_assert_null(answer(rid));
    k = take(RTR, "q", 1, 0)->v[0];
    turn();
    cr_assert_null(answer(rid));
    cr_assert_eq(settle(SETTLE_ACK, &k), CODE_DONE);
    turn();
    cr_assert_eq(answer(rid)->task_get_ans.state, TASK_SUCCEEDED);
    cr_assert_eq(answer(rid)->task_get_ans.result.n, 2);
    cr_assert_eq(answer(rid)->task_get_ans.result_length, 2);
    cr_assert_eq(answer(rid)->task_get_ans.result_sha256.n, RESULT_SHA256);
}

Test(task_looks, a_result_that_is_no_json_has_its_type)
{
    struct settle_row r = { .part = 3, .epoch = 8, .verb = SETTLE_ACK, .result = { 3, (const uint8_t *)"a\0b" },
                            .type = { 9, (const uint8_t *)"image/png" } };
    const struct msg_task_get_ans *m;
    struct taken_row k;

    open_part(3, 8);
    for (unsigned i = 0; i < 2; i++) {
        put_at(3, 8, "q", "x");
        k = take(RTR, "q", 1, 0)->v[0];
        r.no = k.no;
        r.lease = k.lease;
        r.result.n = i == 0 ? 3 : 0;
        send(RTR, &(struct msg){ .type = MSG_TASK_SETTLE, .task_settle = { .n = 1, .v = &r } });
        cr_assert_eq(answer(next_rid)->task_settle_ans.v[0].code, CODE_DONE);
        turn();
        if (i == 1)
            again();
        if (i == 1)
            tasktab_up(t, RTR2, RPC_ROUTER, "r2", &out);
        send(RTR2, &(struct msg){ .type = MSG_TASK_GET, .task_get = { 3, 8, k.no, "", "", 0, true } });
        m = &answer(next_rid)->task_get_ans;
        cr_expect_str_eq(m->content_type, "image/png");
        cr_expect(m->status == 200 && m->result_length == r.result.n && m->result.n == r.result.n);
        cr_expect(m->result.n == 0 || memcmp(m->result.p, "a\0b", 3) == 0);
    }
}

Test(task_looks, of_a_result_that_is_dropped_length_and_hash_stay)
{
    struct task_put one = { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "",
                            .name = "", .own = { .max_result = 0 + 1 } };
    const struct msg_task_get_ans *m;
    struct taken_row k;

    open_part(3, 8);
    send(RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } });
    k = take(RTR, "q", 1, 0)->v[0];
    cr_assert_eq(settle(SETTLE_ACK, &k), CODE_DONE);
    turn();
    again();
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    send(RTR, &(struct msg){ .type = MSG_TASK_GET, .task_get = { 3, 8, k.no, "", "", 0, true } });
    m = &answer(next_rid)->task_get_ans;
    cr_expect_eq(m->state, TASK_SUCCEEDED);
    cr_expect_eq(m->result.n, 0);
    cr_expect_eq(m->result_length, 2);
    cr_expect_eq(m->own.max_result, 0 + 1);
}

/* ---- operators --------------------------------------------------------------------- */

static const struct msg_task_do_ans *operate(struct msg_task_do q)
{
    q.part = q.part != 0 ? q.part : 3;
    q.epoch = q.epoch != 0 ? q.epoch : 8;
    q.queue = q.queue != NULL ? q.queue : "";
    q.key1 = q.key1 != NULL ? q.key1 : "";
    q.key2 = "";
    q.label = q.label != NULL ? q.label : "";
    send(MNG, &(struct msg){ .type = MSG_TASK_DO, .task_do = q });
    cr_assert_not_null(answer(next_rid));
    return &answer(next_rid)->task_do_ans;
}

static const struct msg_task_do_ans *order(enum task_do verb, task_no no)
{
    return operate((struct msg_task_do){ .verb = verb, .no = no });
}

Test(task_looks, callers_are_told_no_place_beyond_the_cap_and_operators_are)
{
    struct task_rules rules;
    const struct msg_task_get_ans *m;
    task_no last = 0;

    ok(EPOCH, 77);
    rules_default(&rules);
    rules.position_cap = 2;
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { EPOCH, 3, 8, "q*", sizeof(rules) / sizeof(uint64_t),
                                            (uint64_t *)&rules, 100, false } });
    turn();
    for (uint64_t i = 1; i <= 3; i++) {
        last = put_at(3, 8, "q", "x").no;
        send(RTR, &(struct msg){ .type = MSG_TASK_GET, .task_get = { 3, 8, last, "", "", 0, false } });
        m = &answer(next_rid)->task_get_ans;
        cr_expect(m->position == (i < 2 ? i : 2) && m->position_capped == (i > 2));
        cr_expect_eq(m->ahead_of_priority, i, "and one: it is not said where it is 0");
    }
    last = put_at(3, 8, "q", "x").no;
    send(RTR, &(struct msg){ .type = MSG_TASK_GET, .task_get = { 3, 8, last, "", "", 0, false } });
    cr_expect_eq(answer(next_rid)->task_get_ans.ahead_of_priority, 2 + 1, "2, or more");
    cr_expect_eq(order(DO_LOOK, last)->v[0].position, 4);
    cr_expect_eq(order(DO_LOOK, last)->v[0].ahead_of_priority, 3 + 1);
}

Test(task_looks, an_operator_is_told_of_a_task_and_steers_it)
{
    const struct msg_task_do_ans *m;
    task_no first, second;

    ok(EPOCH, 77);
    open_part(3, 8);
    first = put_at(3, 8, "q", "one").no;
    second = put_at(3, 8, "q", "two").no;
    m = order(DO_LOOK, second);
    cr_assert(m->code == CODE_DONE && m->n == 1);
    cr_expect_eq(m->v[0].position, 2);
    cr_expect_eq(order(DO_RUN, second)->code, CODE_DONE);
    cr_expect_eq(take(RTR, "q", 1, 0)->v[0].no, second, "before the first one");
    m = order(DO_REDRIVE, first);
    cr_assert(m->code == CODE_CONFLICT && m->n == 1, "refused, with its state");
    cr_expect_eq(m->v[0].state, TASK_WAITING);
    m = order(DO_CANCEL, first);
    cr_assert(m->code == CODE_DONE && m->v[0].state == TASK_CANCELLED);
    m = order(DO_DISCARD, first);
    cr_expect(m->code == CODE_DONE && m->n == 0, "nothing is left to be told");
    cr_expect_eq(order(DO_LOOK, first)->code, CODE_UNKNOWN);
    cr_expect_eq(order(DO_NVERBS + 5, second)->code, CODE_INVALID, "of a newer manager");
    cr_expect_eq(operate((struct msg_task_do){ .verb = DO_LOOK, .no = second, .epoch = 7 })->code,
                 CODE_STALE);
    turn();
}

static const struct msg_task_first_ans *first(uint32_t most, bool bodies)
{
    send(RTR, &(struct msg){ .type = MSG_TASK_FIRST, .task_first = { 3, 8, "q", most, bodies } });
    cr_assert_not_null(answer(next_rid));
    return &answer(next_rid)->task_first_ans;
}

Test(task_looks, the_first_tasks_are_listed_in_order_and_none_starts)
{
    const struct msg_task_first_ans *f;
    const struct msg_task_do_ans *m;
    task_no one, two;

    ok(EPOCH, 77);
    open_part(3, 8);
    one = put_at(3, 8, "q", "one").no;
    two = put_at(3, 8, "q", "two").no;
    cr_expect_eq(order(DO_RUN, two)->code, CODE_DONE);
    f = first(9, true);
    cr_assert(f->code == CODE_DONE && f->n == 2 && f->now == 2 && f->waiting == 2 && !f->cut);
    cr_expect(f->v[0].no == two && f->v[1].no == one);
    cr_expect(f->v[0].body.n == 3 && memcmp(f->v[0].body.p, "two", 3) == 0);
    f = first(1, false);
    cr_expect(f->n == 1 && f->v[0].no == two && f->v[0].body.n == 0);
    m = operate((struct msg_task_do){ .verb = DO_FIRST, .queue = "q", .most = 5 });
    cr_assert(m->code == CODE_DONE && m->n == 2 && m->done == 2 && m->after == 0);
    cr_expect(m->v[0].no == two && m->v[1].no == one && m->v[1].state == TASK_WAITING);
    cr_expect_eq(operate((struct msg_task_do){ .verb = DO_FIRST, .queue = "q" })->code, CODE_INVALID);
    cr_expect_eq(take(RTR, "q", 2, 0)->v[0].no, two);
    turn();
}

/* An answer fits into a frame, however long the payloads are. */
Test(task_looks, long_payloads_cut_the_list_of_the_first_tasks)
{
    static char body[200 << 10];
    const struct msg_task_first_ans *f;

    memset(body, '7', sizeof(body) - 1);
    ok(EPOCH, 77);
    open_part(3, 8);
    for (unsigned i = 0; i < 8; i++)
        put_at(3, 8, "q", body);
    f = first(8, true);
    cr_expect(f->code == CODE_DONE && f->n == 3 && f->cut && f->now == 8, "%u", f->n);
    f = first(8, false);
    cr_expect(f->n == 8 && !f->cut);
}

/* Of all queues, page by page, with their bodies; and none that is over. */
Test(task_looks, an_export_has_each_task_once_with_its_payload)
{
    static char body[200 << 10];
    struct msg_task_do q = { .verb = DO_EXPORT, .states = UINT32_MAX, .most = 100 };
    const struct msg_task_do_ans *m;
    unsigned seen = 0, pages = 0;
    task_no gone;

    memset(body, '7', sizeof(body) - 1);
    ok(EPOCH, 77);
    open_part(3, 8);
    gone = put_at(3, 8, "q", "x").no;
    for (unsigned i = 0; i < 8; i++)
        put_at(3, 8, i % 2 == 0 ? "q" : "qq", body);
    cr_expect_eq(order(DO_CANCEL, gone)->code, CODE_DONE);
    do {
        m = operate(q);
        cr_assert(m->code == CODE_DONE && m->n == m->n_more && m->n <= 3);
        for (uint32_t i = 0; i < m->n; i++) {
            cr_expect_eq(m->more[i].body.n, sizeof(body) - 1);
            cr_expect_eq(m->more[i].place, 1 + (seen + i) / 2);
            cr_expect_eq(m->more[i].attempts_left, 0);
        }
        seen += m->n;
        q.after = m->after;
        pages++;
    } while (q.after != 0);
    cr_expect(seen == 8 && pages >= 3, "%u in %u", seen, pages);
}

Test(task_looks, a_list_goes_on_where_it_was)
{
    struct msg_task_do q = { .verb = DO_LIST, .queue = "q", .states = 1u << TASK_WAITING,
                             .most = 2 };
    const struct msg_task_do_ans *m;
    unsigned seen = 0;

    ok(EPOCH, 77);
    open_part(3, 8);
    for (unsigned i = 0; i < 5; i++)
        put_at(3, 8, i == 3 ? "qq" : "q", "x");
    do {
        m = operate(q);
        cr_assert_eq(m->code, CODE_DONE);
        for (uint32_t i = 0; i < m->n; i++)
            cr_expect_str_eq(m->v[i].queue, "q");
        seen += m->n;
        q.after = m->after;
    } while (q.after != 0);
    cr_expect_eq(seen, 4);
    q.queue = "nothing";
    cr_expect_eq(operate(q)->n, 0);
    tasktab_hold(t, true);
    q.queue = "q";
    cr_expect_eq(operate(q)->n, 2, "also while nothing can be written");
    cr_expect_eq(order(DO_CANCEL, m->v[0].no)->code, CODE_BUSY);
    tasktab_hold(t, false);
}

Test(task_looks, a_list_and_a_cancel_know_labels)
{
    struct task_put one = { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "",
                            .name = "", .own = { .labels = "red,blue" } };
    struct msg_task_do q = { .verb = DO_LIST, .queue = "q", .states = UINT32_MAX, .most = 9,
                             .label = "blue" };

    ok(EPOCH, 77);
    open_part(3, 8);
    put_at(3, 8, "q", "x");
    send(RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } });
    cr_expect_eq(operate(q)->n, 1);
    q.label = "blu";
    cr_expect_eq(operate(q)->n, 0);
    q.verb = DO_CANCEL_LABEL;
    q.label = "";
    cr_expect_eq(operate(q)->code, CODE_INVALID, "it would be all of them");
    q.label = "red";
    cr_expect_eq(operate(q)->done, 1);
    q = (struct msg_task_do){ .verb = DO_LIST, .queue = "q", .states = 1u << TASK_WAITING, .most = 9 };
    cr_expect_eq(operate(q)->n, 1, "the one without a label");
    turn();
}

/* A list knows when a task came, or ended, and the name that its caller gave it. */
Test(task_looks, tasks_are_found_by_name_and_by_time)
{
    struct task_put one = { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "", .name = "order-7" };
    struct msg_task_do q = { .verb = DO_NAMED, .queue = "q", .key1 = "order-7", .states = UINT32_MAX, .most = 9 };
    struct msg_task_do l = { .verb = DO_LIST, .queue = "q", .states = UINT32_MAX, .most = 9 };
    const struct msg_task_do_ans *m;
    uint64_t first, second;

    ok(EPOCH, 77);
    open_part(3, 8);
    put_at(3, 8, "q", "x");
    first = (uint64_t)operate(l)->v[0].entered_ms;
    now.ms += 5000;
    now.wall_ms += 5000;
    turn();
    send(RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } });
    m = operate(q);
    cr_assert_eq(m->n, 1);
    cr_expect_eq(m->v[0].entered_ms, (int64_t)first + 5000);
    second = first + 5000;
    q.states = 1u << TASK_DEAD;
    cr_expect_eq(operate(q)->n, 0, "it is in another state");
    q.states = UINT32_MAX;
    q.key1 = "order-";
    cr_expect_eq(operate(q)->n, 0);
    q.key1 = "order-7";
    q.queue = "other";
    cr_expect_eq(operate(q)->n, 0);
    cr_expect_eq(operate(l)->n, 2);
    l.since_ms = second;
    cr_expect_eq(operate(l)->n, 1);
    l.since_ms = second + 1;
    cr_expect_eq(operate(l)->n, 0);
    l = (struct msg_task_do){ .verb = DO_LIST, .queue = "q", .states = UINT32_MAX, .most = 9, .until_ms = second };
    m = operate(l);
    cr_assert_eq(m->n, 1);
    cr_expect_eq(m->v[0].entered_ms, (int64_t)first);
    l.until_ms = first;
    cr_expect_eq(operate(l)->n, 0);
    l.since_ms = 1; /* long before this node was there */
    l.until_ms = second + 1;
    cr_expect_eq(operate(l)->n, 2);
    turn();
}

/* Its body is that of the order; all else is the old one's, which stays as it is. */
Test(task_looks, another_task_is_made_like_one_that_is_over_and_names_it)
{
    struct task_put one = { .part = 3, .epoch = 8, .queue = "q", .key1 = "a", .key2 = "b", .name = "order-7",
                            .priority = 2, .own = { .labels = "red", .max_attempts = 1 + 1 },
                            .body = { 3, (const uint8_t *)"one" } };
    struct msg_task_do q = { .verb = DO_RESUBMIT, .body = { 5, (const uint8_t *)"other" } };
    const struct msg_task_do_ans *m;
    struct settle_row r;
    struct taken_row k;
    task_no fresh;

    ok(EPOCH, 77);
    open_part(3, 8);
    send(RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } });
    q.no = answer(next_rid)->task_put_ans.v[0].no;
    m = operate(q);
    cr_expect(m->code == CODE_CONFLICT && m->n == 1 && m->v[0].no == q.no, "it is not over");
    m = order(DO_BODY, q.no);
    cr_assert(m->code == CODE_DONE && m->n == 1 && m->n_more == 1 && m->v[0].result_length == 0);
    cr_expect(m->more[0].body.n == 3 && memcmp(m->more[0].body.p, "one", 3) == 0);
    k = take(RTR, "q", 1, 0)->v[0];
    r = (struct settle_row){ .part = 3, .epoch = 8, .verb = SETTLE_NACK, .no = k.no, .lease = k.lease };
    send(RTR, &(struct msg){ .type = MSG_TASK_SETTLE, .task_settle = { 1, &r, { 0 } } });
    turn();
    m = operate(q);
    cr_assert(m->code == CODE_DONE && m->n == 1);
    fresh = m->v[0].no;
    cr_expect(fresh != q.no && m->v[0].state == TASK_WAITING && m->v[0].priority == 2);
    cr_expect(m->v[0].after_part == 3 && m->v[0].after_no == q.no, "it says of which it was made");
    cr_expect_str_eq(m->v[0].key2, "b");
    cr_expect_str_eq(m->v[0].own.labels, "red");
    cr_expect_neq(operate(q)->v[0].no, fresh, "no order is the same again");
    turn();
    again();
    tasktab_up(t, MNG, RPC_MANAGER, "m1", &out);
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    ok(EPOCH, 77);
    cr_expect_eq(order(DO_LOOK, fresh)->v[0].after_no, q.no, "also after a restart");
    cr_expect_eq(order(DO_LOOK, q.no)->v[0].state, TASK_DEAD, "the old one stays");
    k = take(RTR, "q", 1, 0)->v[0];
    cr_expect_eq(k.no, fresh);
    cr_expect(k.body.n == 5 && memcmp(k.body.p, "other", 5) == 0);
    cr_assert_eq(settle(SETTLE_ACK, &k), CODE_DONE);
    turn();
    m = order(DO_BODY, fresh);
    cr_assert(m->code == CODE_DONE && m->n_more == 1);
    cr_expect(m->more[0].body.n == 0 && m->v[0].result.n == 2 && m->v[0].result_length == 2, "a result is in its place");
    cr_expect_eq(order(DO_BODY, fresh + 77)->code, CODE_UNKNOWN);
    q.no = fresh + 77;
    cr_expect_eq(operate(q)->code, CODE_UNKNOWN);
    turn();
}

Test(task_looks, no_other_task_gets_into_a_sealed_group)
{
    struct task_put one = { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "", .name = "", .group = "b7",
                            .body = { 1, (const uint8_t *)"1" } };
    struct msg_task_do q = { .verb = DO_RESUBMIT, .body = { 1, (const uint8_t *)"2" } };
    struct trec_text queue = tasktab_text("q"), group = tasktab_text("b7");

    ok(EPOCH, 77);
    open_part(3, 8);
    send(RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } });
    q.no = answer(next_rid)->task_put_ans.v[0].no;
    cr_assert_eq(order(DO_CANCEL, q.no)->code, CODE_DONE);
    cr_expect_eq(operate(q)->code, CODE_DONE);
    cr_assert_eq(engine_group_seal(&tasktab_part(t, 3)->e, &queue, &group), 0);
    cr_expect_eq(operate(q)->code, CODE_CONFLICT, "not BUSY: it is of no use to ask again");
    turn();
}

Test(task_looks, two_looks_tell_the_same_moment_however_two_clocks_are_rounded)
{
    task_no no;
    int64_t first;

    ok(EPOCH, 77);
    open_part(3, 8);
    no = put_at(3, 8, "q", "one").no;
    first = order(DO_LOOK, no)->v[0].entered_ms;
    now.ms += 10;
    now.wall_ms += 11;
    turn();
    cr_expect_eq(order(DO_LOOK, no)->v[0].entered_ms, first);
    now.ms += 10;
    now.wall_ms += 9;
    turn();
    cr_expect_eq(order(DO_LOOK, no)->v[0].entered_ms, first);
    now.wall_ms += 3000;
    turn();
    cr_expect_eq(order(DO_LOOK, no)->v[0].entered_ms, first + 3000, "the wall was set");
}

Test(task_looks, a_look_tells_attempts_a_list_does_not)
{
    const struct msg_task_take_ans *k;
    const struct msg_task_do_ans *m;
    struct settle_row r;
    task_no no;

    ok(EPOCH, 77);
    open_part(3, 8);
    no = put_at(3, 8, "q", "one").no;
    k = take(RTR, "q", 1, 0);
    r = (struct settle_row){ .part = 3, .epoch = 8, .verb = SETTLE_NACK, .no = no,
                             .lease = k->v[0].lease, .ms = 5000,
                             .reason = { 3, (const uint8_t *)"why" } };
    now.ms += 250;
    now.wall_ms += 250;
    turn();
    send(RTR, &(struct msg){ .type = MSG_TASK_SETTLE, .task_settle = { 1, &r, { 0 } } });
    cr_assert_eq(answer(next_rid)->task_settle_ans.v[0].code, CODE_DONE);
    turn();
    again();
    tasktab_up(t, MNG, RPC_MANAGER, "m1", &out);
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    ok(EPOCH, 77);
    m = order(DO_LOOK, no);
    cr_assert_eq(m->v[0].n_history, 1, "also after a restart");
    cr_expect_eq(m->v[0].history[0].no, 1);
    cr_expect_eq(m->v[0].history[0].end, ATTEMPT_GIVEN_BACK);
    cr_expect_eq(m->v[0].history[0].ended_ms - m->v[0].history[0].started_ms, 250);
    cr_expect_geq(m->v[0].history[0].again_ms - m->v[0].history[0].ended_ms, 5000);
    cr_expect_eq(m->v[0].history[0].reason.n, 3);
    m = operate((struct msg_task_do){ .verb = DO_LIST, .queue = "q", .states = UINT32_MAX, .most = 9 });
    cr_expect(m->n == 1 && m->v[0].n_history == 0, "a thousand of them would be a long frame");
    cr_assert_eq(order(DO_CANCEL, no)->code, CODE_DONE);
    cr_assert_eq(order(DO_DISCARD, no)->code, CODE_DONE);
    r.no = put_at(3, 8, "q", "next").no;
    cr_assert_eq(r.no & (TASKS_MAX - 1), no & (TASKS_MAX - 1), "in its slot");
    cr_expect_eq(order(DO_LOOK, r.no)->v[0].n_history, 0, "nothing of the one before it");
    turn();
}

Test(task_looks, a_paused_pool_runs_nothing_by_order)
{
    task_no no;

    ok(EPOCH, 77);
    open_part(3, 8);
    no = put_at(3, 8, "q", "x").no;
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { EPOCH, 3, 8, "q*", 0, NULL, 100, true } });
    cr_expect_eq(order(DO_RUN, no)->code, CODE_CONFLICT);
}

Test(task_looks, a_lease_cannot_be_guessed)
{
    struct taken_row k[20];
    uint64_t seen;

    open_part(3, 8);
    for (unsigned i = 0; i < ARRAY_LEN(k); i++)
        put_at(3, 8, "q", "x");
    for (unsigned i = 0; i < ARRAY_LEN(k); i++)
        k[i] = take(RTR, "q", 1, 0)->v[0];
    for (uint64_t i = 0; i < 100; i++) /* as a count from 1, or near that of another one */
        for (unsigned j = 0; j < ARRAY_LEN(k); j++) {
            cr_expect_eq(settle(SETTLE_EXTEND, &(struct taken_row){ .no = k[j].no, .lease = i }),
                         CODE_CONFLICT);
            seen = k[(j + 1) % ARRAY_LEN(k)].lease + i;
            cr_expect_eq(settle(SETTLE_EXTEND, &(struct taken_row){ .no = k[j].no, .lease = seen }),
                         CODE_CONFLICT);
        }
    cr_expect_eq(settle(SETTLE_EXTEND, &k[1]), CODE_DONE);
    turn();
    again(); /* it is the same after a restart */
    tasktab_up(t, MNG, RPC_MANAGER, "m1", &out);
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    ok(EPOCH, 77);
    cr_expect_eq(settle(SETTLE_ACK, &k[0]), CODE_DONE);
    cr_expect_eq(settle(SETTLE_NACK, &k[1]), CODE_DONE);
}

Test(task_looks, who_had_an_offered_task_hears_so_though_it_stands_in_another_queue_since)
{
    struct task_put one = { .part = 3, .epoch = 8, .queue = "q/a", .key1 = "", .key2 = "", .name = "", .digest = 1,
                            .body = { 1, (const uint8_t *)"x" }, .offer = { 3, (const uint8_t *)"q/b" } };
    struct taken_row k, gone;

    open_part(3, 8);
    cr_assert_eq(put_row(&one).code, CODE_DONE);
    k = take(RTR, "q/b", 1, 0)->v[0];
    cr_expect_eq(settle_in("q/b", SETTLE_NACK, &k), CODE_DONE);
    cr_expect_eq(settle_in("q/b", SETTLE_NACK, &k), CODE_SAME, "its answer was lost");
    cr_expect_eq(settle_in("q/b", SETTLE_ACK, &k), CODE_CONFLICT, "another may have it");
    cr_expect_eq(settle_in("q/b", SETTLE_EXTEND, &k), CODE_CONFLICT);
    cr_expect_eq(settle_in("q/c", SETTLE_ACK, &k), CODE_DENIED);
    gone = (struct taken_row){ .no = k.no + (1ull << TASK_SLOT_BITS), .lease = k.lease };
    cr_expect_eq(settle_in("q/b", SETTLE_ACK, &gone), CODE_DENIED);
}

Test(task_looks, who_may_not_in_its_queue_does_not_learn_whether_there_is_a_task)
{
    struct msg_task_change c = { .part = 3, .epoch = 8, .verb = CHANGE_PATCH, .queue = "", .name = "",
                                 .patch = { .has = PATCH_PRIORITY, .priority = 3, .labels = "" } };
    struct taken_row k;

    open_part(3, 8);
    put_at(3, 8, "q/a", "x");
    k = take(RTR, "q/a", 1, 0)->v[0];
    for (unsigned i = 0; i < 2; i++) {
        const struct taken_row row = { .no = i == 0 ? k.no : 99, .lease = k.lease };

        cr_expect_eq(settle_in("q/b,other,q/a/*", SETTLE_ACK, &row), CODE_DENIED);
        cr_expect_eq(answer(next_rid)->task_settle_ans.v[0].state, 0);
        cr_expect_eq(settle_in("q/b", SETTLE_NACK, &row), CODE_DENIED);
        cr_expect_eq(settle_in("q/", SETTLE_EXTEND, &row), CODE_DENIED);
        c.no = row.no;
        c.queues = (struct bytes_of){ 3, (const uint8_t *)"q/b" };
        send(RTR, &(struct msg){ .type = MSG_TASK_CHANGE, .task_change = c });
        cr_expect_eq(answer(next_rid)->task_change_ans.code, CODE_DENIED);
        cr_expect_eq(answer(next_rid)->task_change_ans.state, 0);
    }
    cr_expect_eq(settle_in("q/b,q/*", SETTLE_EXTEND, &k), CODE_DONE);
    cr_expect_eq(settle_in("q/b,q/a", SETTLE_ACK, &k), CODE_DONE);
}

/* test_task_table.c: which orders a node obeys, what it answers to submissions and takes, and who waits. */
#include "tests/unit/task/tablerig.h"

#include "task/engine/change.h"
#include "task/engine/submit.h"

TestSuite(task_table, .init = setup, .fini = teardown);

/* ---- orders ---------------------------------------------------------------------- */

Test(task_table, a_partition_is_opened_once_and_never_under_a_lower_epoch)
{
    ok(EPOCH, 77);
    open_part(3, 8);
    cr_assert_eq(tasktab_part(t, 3)->epoch, 8);
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { EPOCH, 3, 7, "q*", 0, NULL, 100, false } });
    cr_assert_eq(out.v[0].m.type, MSG_ERROR);
    cr_assert_eq(tasktab_part(t, 3)->epoch, 8);
    open_part(3, 9);
    cr_assert_eq(tasktab_part(t, 3)->epoch, 9);
    cr_assert_eq(put_at(3, 8, "q", "x").code, CODE_STALE);
    cr_assert_eq(put_at(4, 9, "q", "x").code, CODE_STALE);
    cr_assert_eq(put_at(3, 9, "q", "x").code, CODE_DONE);
    cr_assert_eq(put_at(3, 9, "other", "x").code, CODE_UNKNOWN);
}

Test(task_table, limits_of_keys_are_kept_and_bad_ones_refused)
{
    struct key_limit keys[] = { { .queue = "", .key = "*", .at_once = 1, .weight = 4 } };
    struct msg open = { .type = MSG_PART_OPEN,
                        .part_open = { EPOCH, 3, 8, "q*", 0, NULL, 100, .n_keys = 1, .keys = keys } };

    ok(EPOCH, 77);
    send(MNG, &open);
    cr_assert_eq(tasktab_part(t, 3)->e.pool[0]->keys.pattern[0].weight, 4);
    turn();
    keys[0].key = "a*b";
    send(MNG, &open);
    cr_assert_eq(out.v[0].m.type, MSG_ERROR);
    turn();
    again();
    cr_assert_eq(tasktab_part(t, 3)->e.pool[0]->keys.pattern[0].weight, 4, "as before the bad one");
}

static const struct key_rule *queue_rule(void)
{
    return &tasktab_part(t, 3)->e.pool[0]->level[0];
}

/* Numbers of zones are the manager's of that moment: a partition has its own. */
Test(task_table, zones_of_calendar_windows_keep_their_numbers_whatever_the_order_is_in)
{
    const char *zones[] = { "", "Europe/Berlin" }, *turned[] = { "Europe/Berlin", "" };
    struct key_limit keys[] = { { .queue = "", .key = "*", .units_1 = 5, .per_1 = PER_HOUR, .windows = 1 } };
    struct task_rules r;
    struct msg open = { .type = MSG_PART_OPEN, .part_open = { EPOCH, 3, 8, "q*", sizeof(r) / 8, (uint64_t *)&r, 100,
                                                              .n_keys = 1, .keys = keys, .n_zones = 2, .zones = zones } };

    rules_default(&r);
    r.queue_units_1 = 10;
    r.queue_per_1 = PER_DAY;
    r.windows = 2;
    ok(EPOCH, 77);
    send(MNG, &open);
    turn();
    turn();
    cr_assert_eq(queue_rule()->units[0].window, 2 * RATE_NPERS + PER_DAY);
    cr_expect_eq(tasktab_part(t, 3)->e.pool[0]->keys.pattern[0].units[0].window, RATE_NPERS + PER_HOUR);
    cr_expect(window_at(&tasktab_part(t, 3)->e.tree, RATE_NPERS + PER_HOUR)->no == 1, "it has begun");
    open.part_open.zones = turned;
    r.windows = 1;
    keys[0].windows = 2;
    send(MNG, &open);
    turn();
    cr_expect_eq(queue_rule()->units[0].window, 2 * RATE_NPERS + PER_DAY);
    cr_expect_eq(tasktab_part(t, 3)->e.pool[0]->keys.pattern[0].units[0].window, RATE_NPERS + PER_HOUR);
    r.windows = 3;
    send(MNG, &open);
    cr_expect_eq(out.v[0].m.type, MSG_ERROR, "one that was not told");
    turn();
    again();
    cr_expect_eq(queue_rule()->units[0].window, 2 * RATE_NPERS + PER_DAY);
    cr_expect_eq(window_at(&tasktab_part(t, 3)->e.tree, RATE_NPERS + PER_HOUR)->no, 1);
}

/* Numbers of zones that no rule has any more are taken again; what the others count goes on. */
Test(task_table, zones_may_change_as_often_as_one_likes)
{
    char name[RATE_ZONES_MAX + 1][16];
    const char *zones[RATE_ZONES_MAX] = { "" };
    struct key_limit keys[RATE_ZONES_MAX - 1];
    struct task_rules r;
    struct msg open = { .type = MSG_PART_OPEN, .part_open = { EPOCH, 3, 8, "q*", sizeof(r) / 8, (uint64_t *)&r, 100,
                                                              .n_keys = 1, .keys = keys, .n_zones = 2, .zones = zones } };

    rules_default(&r);
    r.queue_units_1 = 10;
    r.queue_per_1 = PER_DAY;
    r.windows = 1;
    keys[0] = (struct key_limit){ .queue = "", .key = "*", .units_1 = 5, .per_1 = PER_HOUR, .windows = 2, .weight = 1 };
    ok(EPOCH, 77);
    for (unsigned i = 0; i < 3 * RATE_ZONES_MAX; i++) {
        snprintf(name[0], sizeof(name[0]), "Zone/%u", i);
        zones[1] = name[0];
        send(MNG, &open);
        cr_assert(out.n == 0 || out.v[0].m.type != MSG_ERROR, "the %u-th: %s", i, out.v[0].m.error.text);
        turn();
        turn();
        if (i % 40 == 39) {
            again();
            tasktab_up(t, MNG, RPC_MANAGER, "m1", &out);
            ok(EPOCH, 77);
        }
        cr_assert_str_eq(tasktab_part(t, 3)->e.tree.windows->zone[tasktab_part(t, 3)->e.pool[0]->keys.pattern[0].units[0]
                             .window / RATE_NPERS], name[0]);
        cr_assert_eq(queue_rule()->units[0].window, RATE_NPERS + PER_DAY);
        cr_assert_eq(window_at(&tasktab_part(t, 3)->e.tree, RATE_NPERS + PER_DAY)->no, 1, "it goes on");
    }
    for (unsigned all = 0; all < 2; all++) { /* all of them at once, and all others: definitions between were missed */
        for (unsigned i = 0; i < RATE_ZONES_MAX; i++) {
            snprintf(name[i], sizeof(name[0]), "%s/%u", all ? "All" : "Other", i);
            zones[i] = name[i];
            if (i > 0)
                keys[i - 1] = (struct key_limit){ .queue = "", .key = "*", .units_1 = 5, .per_1 = PER_HOUR,
                                                  .windows = i + 1, .weight = 1 };
        }
        open.part_open.n_zones = RATE_ZONES_MAX;
        open.part_open.n_keys = RATE_ZONES_MAX - 1;
        send(MNG, &open);
        cr_assert(out.n == 0 || out.v[0].m.type != MSG_ERROR, "%s", out.v[0].m.error.text);
        turn();
        again();
        tasktab_up(t, MNG, RPC_MANAGER, "m1", &out);
        ok(EPOCH, 77);
        cr_expect_eq(tasktab_part(t, 3)->e.pool[0]->keys.n, RATE_ZONES_MAX - 1);
        cr_expect_str_eq(tasktab_part(t, 3)->e.tree.windows->zone[queue_rule()->units[0].window / RATE_NPERS], name[0]);
    }
}

Test(task_table, a_unique_key_that_another_task_has_is_told_apart)
{
    struct task_put one[] = {
        { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "", .name = "",
          .unique = { 1, (const uint8_t *)"u" }, .unique_while = UNIQUE_RUNNING },
        { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "", .name = "",
          .unique = { 1, (const uint8_t *)"u" }, .on_conflict = UNIQUE_REJECT },
        { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "", .name = "",
          .unique = { 1, (const uint8_t *)"u" }, .on_conflict = UNIQUE_RETURN },
    };
    const struct task_put_row *v;

    ok(EPOCH, 77);
    open_part(3, 8);
    send(RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { 3, one } });
    v = answer(next_rid)->task_put_ans.v;
    cr_expect_eq(v[0].code, CODE_DONE);
    cr_expect_eq(v[1].code, CODE_HELD);
    cr_expect_eq(v[2].code, CODE_SAME);
    cr_expect_eq(v[2].no, v[0].no);
}

Test(task_table, a_rate_is_of_the_partition_and_its_epoch)
{
    uint64_t rules[POOL_RULES_MAX] = { 0 };
    struct task_rules r;
    const struct msg_task_take_ans *a;
    struct tasktab_counts n;

    rules_default(&r);
    r.until_told = 1;
    memcpy(rules, &r, sizeof(r));
    ok(EPOCH, 77);
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { EPOCH, 3, 8, "q*", sizeof(r) / 8, rules, 100, false } });
    turn();
    cr_assert_eq(put_at(3, 8, "q", "x").code, CODE_DONE);
    cr_assert_eq(take(RTR, "q", 1, 0)->n, 0, "by the rules nothing, while no rate is said");
    now.ms += 1000;
    turn();
    tasktab_count(t, &n);
    cr_expect_eq(n.held[HOLD_LIMITS], 1, "no worker is missing");
    send(MNG, &(struct msg){ .type = MSG_PART_RATE, .part_rate = { EPOCH, 3, 7, 1000000 } });
    cr_assert_eq(take(RTR, "q", 1, 0)->n, 0, "said to an owner of before");
    send(MNG, &(struct msg){ .type = MSG_PART_RATE, .part_rate = { EPOCH, 3, 8, 1000000 } });
    a = take(RTR, "q", 1, 0);
    cr_assert(a != NULL && a->n == 1);
}

Test(task_table, payloads_have_a_bound_and_what_is_there_already_is_still_known)
{
    uint64_t rules[POOL_RULES_MAX] = { 0 };
    struct task_put first = { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "",
                              .name = "first", .body = { 1, (const uint8_t *)"x" } };
    const struct msg_task_take_ans *a;
    struct tasktab_counts n;
    struct task_rules r;

    rules_default(&r);
    r.max_bytes = 2;
    memcpy(rules, &r, sizeof(r));
    ok(EPOCH, 77);
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { EPOCH, 3, 8, "q*", sizeof(r) / 8, rules, 100, false } });
    turn();
    first.digest = 1;
    cr_assert_eq(put_row(&first).code, CODE_DONE);
    cr_assert_eq(put_at(3, 8, "q", "y").code, CODE_DONE);
    cr_expect_eq(put_at(3, 8, "q", "z").code, CODE_FULL + FULL_BYTES);
    cr_expect_eq(put_row(&first).code, CODE_SAME);
    turn();
    again();
    tasktab_up(t, MNG, RPC_MANAGER, "m1", &out);
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    ok(EPOCH, 77);
    cr_expect_eq(put_at(3, 8, "q", "z").code, CODE_FULL + FULL_BYTES, "a replay counts them, too");
    tasktab_count(t, &n);
    cr_expect_eq(n.waiting_bytes, 2);
    a = take(RTR, "q", 1, 0);
    cr_assert(a != NULL && a->n == 1);
    cr_assert_eq(settle(SETTLE_ACK, &a->v[0]), CODE_DONE);
    cr_expect_eq(put_at(3, 8, "q", "z").code, CODE_DONE, "what is over has room for others");
}

Test(task_table, what_was_somewhere_never_begins_empty)
{
    ok(EPOCH, 77);
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { EPOCH, 3, 8, "q*", 0, NULL, 100, false, true } });
    cr_assert_eq(out.v[0].m.type, MSG_ERROR);
    cr_assert_null(tasktab_part(t, 3));
}

Test(task_table, a_partition_under_a_higher_epoch_is_not_dropped)
{
    ok(EPOCH, 77);
    open_part(3, 8);
    send(MNG, &(struct msg){ .type = MSG_PART_DROP, .part_drop = { EPOCH, 3, 7 } });
    cr_assert_not_null(tasktab_part(t, 3));
    send(MNG, &(struct msg){ .type = MSG_PART_DROP, .part_drop = { EPOCH, 3, 8 } });
    cr_assert_null(tasktab_part(t, 3));
}

Test(task_table, managers_below_the_epoch_and_of_another_store_are_refused)
{
    ok(EPOCH, 77);
    tasktab_up(t, MNG2, RPC_MANAGER, "m2", &out);
    send(MNG2, &(struct msg){ .type = MSG_TASK_OK, .task_ok = { EPOCH - 1, 1, 77 } });
    cr_assert_eq(out.v[0].m.type, MSG_ERROR, "a lower epoch");
    send(MNG2, &(struct msg){ .type = MSG_TASK_OK, .task_ok = { EPOCH, 1, 77 } });
    cr_assert_eq(out.v[0].m.type, MSG_ERROR, "the same epoch, another manager");
    send(MNG2, &(struct msg){ .type = MSG_TASK_OK, .task_ok = { EPOCH + 1, 1, 78 } });
    cr_assert_eq(out.v[0].m.type, MSG_ERROR, "another store");
    send(MNG2, &(struct msg){ .type = MSG_TASK_OK, .task_ok = { EPOCH + 1, 1, 77 } });
    cr_assert_eq(t->epoch, EPOCH + 1);
    send(RTR, &(struct msg){ .type = MSG_PART_DROP, .part_drop = { EPOCH + 1, 3 } });
    cr_assert_eq(out.v[0].m.type, MSG_ERROR, "no manager");
}

Test(task_table, a_take_waits_until_there_is_a_task_or_its_time_is_over)
{
    struct task_put_row put;
    uint64_t rid;

    open_part(3, 8);
    cr_assert_null(take(RTR, "q", 2, 1000));
    rid = next_rid;
    pass(999);
    cr_assert_null(answer(rid));
    pass(1);
    cr_assert_eq(answer(rid)->task_take_ans.n, 0);
    cr_assert_null(take(RTR, "q", 2, 1000));
    rid = next_rid;
    cr_assert_null(take(RTR2, "q", 2, 1000));
    put = put_at(3, 8, "q", "body");
    cr_assert_eq(put.code, CODE_DONE);
    cr_assert_eq(put.state, TASK_WAITING);
    turn();
    cr_assert_eq(answer(rid)->task_take_ans.n, 1, "the one who waits longest");
    cr_assert_null(answer(rid + 1));
    cr_assert_eq(t->ends.n, 1);
    tasktab_down(t, RTR2);
    cr_assert_eq(t->ends.n, 0);
}

Test(task_table, at_its_end_nobody_waits)
{
    uint64_t rid;

    open_part(3, 8);
    cr_assert_null(take(RTR, "q", 2, 1000));
    rid = next_rid;
    tasktab_stop(t, &out);
    cr_assert_eq(answer(rid)->task_take_ans.n, 0);
    cr_assert_eq(take(RTR, "q", 2, 1000)->n, 0);
}

Test(task_table, a_delay_runs_from_the_moment_at_which_it_was_asked_for)
{
    struct task_put one = { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "",
                            .name = "", .delay_ms = 50 };
    uint64_t rid;

    open_part(3, 8);
    put_at(3, 8, "other q", "the clock of this turn");
    now.ms += 30; /* the same turn */
    send(RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } });
    cr_assert_null(take(RTR, "q", 1, 1000));
    rid = next_rid;
    pass(50);
    cr_assert_null(answer(rid), "perhaps not 50 ms yet");
    pass(1);
    cr_assert_eq(answer(rid)->task_take_ans.n, 1);
}

Test(task_table, of_too_many_waiting_calls_the_oldest_is_answered)
{
    uint64_t first;

    open_part(3, 8);
    cr_assert_null(take(RTR, "q", 1, 60000));
    first = next_rid;
    for (unsigned i = 1; i < WAITS_PER_LINK; i++)
        cr_assert_null(take(RTR, i % 2 ? "q" : "q1", 1, 60000));
    cr_assert_null(take(RTR2, "q", 1, 60000), "of another link");
    cr_assert_null(take(RTR, "q", 1, 60000));
    cr_assert_eq(answer(first)->task_take_ans.n, 0);
    cr_assert_eq(t->ends.n, WAITS_PER_LINK + 1);
}

Test(task_table, a_paused_pool_gives_nothing)
{
    uint64_t rid;

    open_part(3, 8);
    put_at(3, 8, "q", "body");
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { EPOCH, 3, 8, "q*", 0, NULL, 100, true } });
    cr_assert_null(take(RTR, "q", 1, 5000));
    turn();
    again();
    cr_assert(tasktab_part(t, 3)->paused);
    tasktab_up(t, MNG, RPC_MANAGER, "m1", &out);
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    cr_assert_null(take(RTR, "q", 1, 5000));
    rid = next_rid;
    open_part(3, 8);
    cr_assert_eq(answer(rid)->task_take_ans.n, 1);
}

/* The answer to an `ack` was lost with the node, or its link: the same again is the same. */
Test(task_table, a_repeated_ack_is_the_same)
{
    struct taken_row k, other;

    open_part(3, 8);
    put_at(3, 8, "q", "body");
    put_at(3, 8, "q", "another");
    k = take(RTR, "q", 1, 0)->v[0];
    other = take(RTR, "q", 1, 0)->v[0];
    cr_assert_eq(settle(SETTLE_ACK, &k), CODE_DONE);
    cr_expect_eq(settle(SETTLE_ACK, &k), CODE_SAME);
    cr_expect_eq(settle(SETTLE_NACK, &k), CODE_CONFLICT, "another outcome is none");
    turn();
    again();
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    cr_expect_eq(settle(SETTLE_ACK, &k), CODE_SAME, "also behind a kill");
    buf_reset(&rig.log.b);
    cr_assert(!tasktab_snapshot(t, true, tabrig_record, &rig.snap));
    again();
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    cr_expect_eq(settle(SETTLE_ACK, &k), CODE_SAME, "from a snapshot, too");
    k.lease++;
    cr_expect_eq(settle(SETTLE_ACK, &k), CODE_CONFLICT, "another lease is none");
    cr_expect_eq(settle(SETTLE_ACK, &other), CODE_DONE);
}

static const struct settled_row *say_settle(struct settle_row r)
{
    r.part = 3;
    r.epoch = 8;
    send(RTR, &(struct msg){ .type = MSG_TASK_SETTLE, .task_settle = { 1, &r, { 0 } } });
    return &answer(next_rid)->task_settle_ans.v[0];
}

Test(task_table, a_repeated_nack_is_the_same)
{
    const struct settled_row *a;
    struct taken_row k, again_row;
    int64_t until;

    open_part(3, 8);
    put_at(3, 8, "q", "body");
    k = take(RTR, "q", 1, 0)->v[0];
    a = say_settle((struct settle_row){ .verb = SETTLE_NACK, .no = k.no, .lease = k.lease, .ms = 5000 });
    cr_assert_eq(a->code, CODE_DONE);
    until = a->until_ms;
    a = say_settle((struct settle_row){ .verb = SETTLE_NACK, .no = k.no, .lease = k.lease, .ms = 5000 });
    cr_expect(a->code == CODE_SAME && a->state == TASK_RETRYING && a->until_ms == until);
    cr_expect_eq(settle(SETTLE_ACK, &k), CODE_CONFLICT, "another outcome is none");
    turn();
    again();
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    cr_expect_eq(settle(SETTLE_NACK, &k), CODE_SAME, "also behind a kill");
    pass(5001);
    again_row = take(RTR, "q", 1, 0)->v[0];
    cr_expect_eq(settle(SETTLE_NACK, &k), CODE_SAME, "another worker has it by now");
    cr_assert_eq(engine_cancel(&tasktab_part(t, 3)->e, k.no), 1);
    cr_expect_eq(settle(SETTLE_NACK, &again_row), CODE_DONE, "and is stopped");
    cr_expect_eq(settle(SETTLE_NACK, &again_row), CODE_SAME);
    cr_expect_eq(settle(SETTLE_NACK, &k), CODE_CONFLICT, "long ago");
}

Test(task_table, a_nack_whose_lease_was_over_is_a_conflict)
{
    struct taken_row k;

    open_part(3, 8);
    put_at(3, 8, "q", "body");
    k = take(RTR, "q", 1, 0)->v[0];
    pass(60001);
    cr_expect_eq(settle(SETTLE_NACK, &k), CODE_CONFLICT);
    cr_expect_eq(settle(SETTLE_NACK, &k), CODE_CONFLICT);
}

/* The link broke under the answer: its router says so when it is up again. */
Test(task_table, what_a_take_was_given_that_was_not_heard_waits_again)
{
    const struct msg_task_take_ans *k;
    struct taken_row first;
    uint64_t rid;

    open_part(3, 8);
    put_at(3, 8, "q", "one");
    put_at(3, 8, "q", "two");
    put_at(3, 8, "q", "three");
    k = take(RTR, "q", 2, 0);
    cr_assert_eq(k->n, 2);
    first = k->v[0];
    rid = next_rid;
    turn();
    tasktab_down(t, RTR);
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    cr_expect_eq(say_settle((struct settle_row){ .verb = SETTLE_UNHEARD, .lease = rid + 100 })->code, CODE_DONE);
    cr_expect_eq(tasktab_part(t, 3)->e.store.n[TASK_RUNNING], 2, "another take");
    cr_expect_eq(say_settle((struct settle_row){ .verb = SETTLE_UNHEARD, .lease = rid })->code, CODE_DONE);
    cr_expect_eq(tasktab_part(t, 3)->e.store.n[TASK_RUNNING], 0);
    cr_expect_eq(settle(SETTLE_ACK, &first), CODE_CONFLICT);
    k = take(RTR, "q", 3, 0);
    cr_assert_eq(k->n, 3);
    for (uint32_t i = 0; i < 3; i++)
        cr_expect(k->v[i].body.n == (i == 2 ? 5 : 3) && k->v[i].attempt == 1, "in their order");
    cr_expect_eq(k->v[0].no, first.no);
    cr_expect_eq(say_settle((struct settle_row){ .verb = SETTLE_UNHEARD, .lease = rid })->code, CODE_DONE);
    cr_expect_eq(tasktab_part(t, 3)->e.store.n[TASK_RUNNING], 3, "once");
}

/* Its router has a new link, and says what it did not hear on the one before, which is still up here. */
Test(task_table, a_take_that_waits_on_a_link_which_its_router_has_given_up_gets_nothing)
{
    uint64_t rid;

    open_part(3, 8);
    cr_assert_null(take(RTR, "q", 1, 5000));
    rid = next_rid;
    cr_assert_null(take(RTR, "q", 1, 5000));
    tasktab_up(t, RTR2 + 10, RPC_ROUTER, "r1", &out);
    cr_expect_eq(say_settle((struct settle_row){ .verb = SETTLE_UNHEARD, .lease = rid })->code, CODE_DONE);
    put_at(3, 8, "q", "body");
    turn();
    cr_expect_null(answer(rid));
    cr_assert_not_null(answer(rid + 1), "others have their turn");
    cr_expect_eq(answer(rid + 1)->task_take_ans.n, 1);
    put_at(3, 8, "q", "body");
    rid = next_rid + 2; /* bytes of that link which are read only now */
    cr_expect_eq(say_settle((struct settle_row){ .verb = SETTLE_UNHEARD, .lease = rid })->code, CODE_DONE);
    cr_expect_eq(take(RTR, "q", 1, 5000)->n, 0);
    cr_expect_eq(tasktab_part(t, 3)->e.store.n[TASK_WAITING], 1);
}

/* The newest GIVEN_KEPT starts are known, each by its take; the index has one place for all that go on. */
Test(task_table, takes_that_were_not_heard_are_known_among_the_newest_starts)
{
    enum { ALL = 5 * GIVEN_KEPT / 2, EACH = 300 };
    const struct engine *e;
    uint64_t rid[ALL / EACH];
    uint32_t n = 0;

    open_part(3, 8);
    e = &tasktab_part(t, 3)->e;
    for (uint32_t i = 0; i < ALL; i++) {
        struct taken_row k;

        if (i % EACH == 0)
            put_at(3, 8, "q", "");
        next_rid += i % EACH == EACH - 1 ? GIVEN_KEPT - next_rid % GIVEN_KEPT : 0;
        k = take(RTR, "q", 1, 0)->v[0];
        if (i % EACH == EACH - 1)
            rid[n++] = next_rid;
        else
            cr_assert_eq(settle(SETTLE_UNSEEN, &k), CODE_DONE);
    }
    cr_assert_eq(e->store.n[TASK_RUNNING], n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t runs = e->store.n[TASK_RUNNING];

        say_settle((struct settle_row){ .verb = SETTLE_UNHEARD, .lease = rid[i] });
        cr_expect_eq(e->store.n[TASK_RUNNING], runs - (ALL - i * EACH - EACH < GIVEN_KEPT), "%u of %u", i, n);
    }
}

Test(task_table, a_router_that_stops_ends_its_takes_and_no_others)
{
    uint64_t his, others, looks;
    task_no no;

    open_part(3, 8);
    no = put_at(3, 8, "p", "body").no;
    cr_assert_null(take(RTR, "q", 1, 5000));
    his = next_rid;
    send(RTR, &(struct msg){ .type = MSG_TASK_GET, .task_get = { .part = 3, .epoch = 8, .no = no, .wait_ms = 5000,
                                                                 .queue = "", .name = "" } });
    looks = next_rid;
    cr_assert_null(take(RTR2, "q", 1, 5000));
    others = next_rid;
    cr_expect_eq(say_settle((struct settle_row){ .verb = SETTLE_UNHEARD })->code, CODE_DONE);
    cr_assert_not_null(answer(his));
    cr_expect(answer(his)->task_take_ans.n == 0 && answer(his)->task_take_ans.code == CODE_DONE);
    cr_expect_null(answer(looks));
    cr_expect_null(answer(others));
}

/* Nobody takes them: nothing happens at the partition, and their age grows all the same. */
Test(task_table, the_oldest_grows_older_while_no_worker_comes)
{
    struct tasktab_counts n;

    open_part(3, 8);
    put_at(3, 8, "q", "body");
    pass(60000);
    put_at(3, 8, "q", "another");
    for (int s = 0; s < 180; s++)
        pass(1000);
    tasktab_count(t, &n);
    cr_expect_eq(n.oldest_ms, 240000, "%llu", (unsigned long long)n.oldest_ms);
    cr_assert_not_null(take(RTR, "q", 1, 0));
    for (int s = 0; s < 10; s++)
        pass(1000);
    tasktab_count(t, &n);
    cr_expect_eq(n.oldest_ms, 190000, "%llu", (unsigned long long)n.oldest_ms);
}

/* Some wait for their delay: more than a report looks at. */
Test(task_table, the_age_of_those_who_have_gone_is_not_that_of_who_comes_next)
{
    struct submit later = { .queue = { "q", 1 }, .delay_ms = 3600000 };
    struct tasktab_counts n;
    task_no no;

    t->o.max_tasks = 200000;
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { EPOCH, 3, 8, "q*", 0, NULL, 200000, false } });
    put_at(3, 8, "q", "body");
    for (int i = 0; i < 140000; i++)
        cr_assert_eq(engine_submit(&tasktab_part(t, 3)->e, &later, &no), 0);
    for (int s = 0; s < 60; s++)
        pass(1000);
    tasktab_count(t, &n);
    cr_expect_geq(n.oldest_ms, 60000);
    cr_assert_eq(take(RTR, "q", 1, 0)->n, 1);
    pass(1000);
    put_at(3, 8, "q", "another");
    for (int s = 1; s <= 3; s++) {
        pass(1000);
        tasktab_count(t, &n);
        cr_expect_leq(n.oldest_ms, 1000 * s, "%llu", (unsigned long long)n.oldest_ms);
    }
    cr_expect_eq(n.oldest_ms, 3000);
}

/* The bound of the node: what is over at any of its partitions gives way, also to another one. */
Test(task_table, a_node_at_its_bound_lets_go_what_is_over)
{
    struct tasktab_counts n;

    t->o.max_tasks = 20;
    open_part(3, 8);
    open_part(4, 8);
    for (int i = 0; i < 20; i++)
        cr_assert_eq(put_at(3, 8, "q", "body").code, CODE_DONE);
    cr_expect_eq(put_at(4, 8, "q", "body").code, CODE_FULL + FULL_NODE, "all of them wait");
    pass(1);
    pass(3 * 3600000 + 1000); /* task_ttl: they expire */
    for (int i = 0; i < 20; i++)
        cr_assert_eq(put_at(4, 8, "q", "body").code, CODE_DONE, "%d", i);
    cr_expect_eq(put_at(3, 8, "q", "body").code, CODE_FULL + FULL_NODE);
    tasktab_count(t, &n);
    cr_expect_eq(n.tasks, 20);
    cr_expect_eq(n.engine.gave_way, 20);
}

static double full(void)
{
    struct tasktab_counts n;

    tasktab_count(t, &n);
    return n.full;
}

/* The nearest bound counts: a partition has 100, the node more at first. */
Test(task_table, how_full_it_is_says_its_nearest_bound_without_what_gives_way)
{
    struct taken_row k;

    t->o.max_tasks = 1000;
    open_part(3, 8);
    open_part(4, 8);
    cr_expect_eq(full(), 0);
    for (int i = 0; i < 80; i++)
        cr_assert_eq(put_at(3, 8, "q", "body").code, CODE_DONE);
    for (int i = 0; i < 20; i++)
        cr_assert_eq(put_at(4, 8, "q", "body").code, CODE_DONE);
    cr_expect_float_eq(full(), 0.8, 1e-9);
    for (int i = 0; i < 40; i++) {
        k = take(RTR, "q", 1, 0)->v[0];
        cr_assert_eq(settle(SETTLE_ACK, &k), CODE_DONE);
    }
    cr_expect_float_eq(full(), 0.4, 1e-9, "what is over gives way");
    t->o.max_tasks = 100;
    cr_expect_float_eq(full(), 0.6, 1e-9, "both partitions");
}

/* The bound that the manager hears of. */
static enum task_full told_full(void)
{
    enum task_full f = TASK_NFULLS;

    pass(1000);
    for (uint32_t i = 0; i < out.n; i++)
        if (out.v[i].m.type == MSG_PART_STATUS)
            f = (enum task_full)out.v[i].m.part_status.v[0].full;
    return f;
}

Test(task_table, the_manager_hears_which_bound_refuses_tasks_while_it_does)
{
    open_part(3, 8);
    t->o.max_tasks = 1;
    cr_assert_eq(put_at(3, 8, "q", "x").code, CODE_DONE);
    cr_expect_eq(told_full(), FULL_NONE, "nobody was refused");
    cr_assert_eq(put_at(3, 8, "q", "y").code, CODE_FULL + FULL_NODE);
    cr_expect_eq(told_full(), FULL_NODE);
    for (int i = 0; i < 10; i++)
        (void)told_full();
    cr_expect_eq(told_full(), FULL_NONE);
}

Test(task_table, a_new_task_that_costs_more_than_its_pool_allows_is_refused)
{
    struct task_put put = { .part = 3, .epoch = 8, .queue = "q1", .key1 = "", .key2 = "", .name = "", .digest = 4,
                            .key = { 1, (const uint8_t *)"k" }, .body = { 4, (const uint8_t *)"body" },
                            .own = { .cost = 500 + 1 } };
    struct task_rules rules;

    open_part(3, 8);
    cr_assert_eq(put_row(&put).code, CODE_DONE);
    rules_default(&rules);
    rules.max_cost = 499;
    cr_assert_eq(engine_define(&tasktab_part(t, 3)->e, "q*", &rules), 0);
    cr_expect_eq(put_row(&put).code, CODE_SAME, "it is there already");
    put.key.p = (const uint8_t *)"l";
    cr_expect_eq(put_row(&put).code, CODE_INVALID);
    put.own.cost = 499 + 1;
    cr_expect_eq(put_row(&put).code, CODE_DONE);
    rules.max_cost = 1;
    cr_assert_eq(engine_define(&tasktab_part(t, 3)->e, "q*", &rules), 0);
    put.own.cost = 0;
    put.key.p = (const uint8_t *)"m";
    cr_expect_eq(put_row(&put).code, CODE_DONE, "one that says nothing costs 1");
}

/* What is no new task costs nobody a result: least of all the very one that is asked for again. */
Test(task_table, only_a_new_task_makes_a_result_give_way)
{
    struct task_put done = { .part = 3, .epoch = 8, .queue = "q1", .key1 = "", .key2 = "", .name = "", .digest = 4,
                             .key = { 1, (const uint8_t *)"k" }, .body = { 4, (const uint8_t *)"body" } };
    struct task_put held = done, full = done, other = done;
    struct task_rules rules;
    struct tasktab_counts n;
    struct taken_row k;
    struct task_put_row first;
    uint64_t bodies;

    t->o.max_tasks = 3;
    open_part(3, 8);
    rules_default(&rules);
    rules.max_waiting = 1;
    cr_assert_eq(engine_define(&tasktab_part(t, 3)->e, "q*", &rules), 0);
    first = put_row(&done);
    k = take(RTR, "q1", 1, 0)->v[0];
    cr_assert_eq(settle(SETTLE_ACK, &k), CODE_DONE);
    held.queue = "q2";
    held.key.n = 0;
    held.unique = (struct bytes_of){ 1, (const uint8_t *)"u" };
    held.on_conflict = UNIQUE_REJECT;
    cr_assert_eq(put_row(&held).code, CODE_DONE);
    full.queue = "q3";
    full.key.n = 0;
    cr_assert_eq(put_row(&full).code, CODE_DONE);
    bodies = rig.n_bodies;
    cr_expect_eq(put_row(&done).code, CODE_SAME);
    other.digest++;
    cr_expect_eq(put_row(&other).code, CODE_MISMATCH);
    cr_expect_eq(put_row(&held).code, CODE_HELD);
    cr_expect_eq(put_row(&full).code, CODE_FULL + FULL_WAITING, "its queue is full");
    tasktab_full(t, true);
    cr_expect_eq(put_row(&done).code, CODE_SAME, "the disk has no room, and needs none");
    full.queue = "q4";
    cr_expect_eq(put_row(&full).code, CODE_FULL + FULL_DISK);
    tasktab_full(t, false);
    tasktab_count(t, &n);
    cr_expect_eq(n.engine.gave_way, 0);
    cr_expect_eq(rig.n_bodies, bodies, "no payload is written for what is refused, or there already");
    cr_expect_eq(put_row(&done).no, first.no);
    cr_expect_eq(put_row(&full).code, CODE_DONE);
    tasktab_count(t, &n);
    cr_expect_eq(n.engine.gave_way, 1);
    cr_expect_eq(n.tasks, 3);
}

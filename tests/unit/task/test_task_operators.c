/* test_task_operators.c: what operators do to many tasks: redrive, discard, cancel, list, run. */
#include "tests/unit/task/enginerig.h"

#include <stdio.h>

#include "task/engine/change.h"
#include "task/keys/tree.h"

/* Tasks that have died, in this order; each has one attempt. */
static void kill_some(struct enginerig *r, task_no *no, unsigned n)
{
    uint64_t lease;

    for (unsigned i = 0; i < n; i++) {
        no[i] = rig_submit(r, (struct submit){ .body = i + 1 });
        cr_assert_eq(rig_take(r, &lease), no[i]);
        cr_assert_eq(engine_nack(&r->e, no[i], lease, -1, &given_back), 0);
        rig_flush(r);
        cr_assert_eq(rig_state(r, no[i]), TASK_DEAD);
    }
}

static void rig_one_attempt(struct enginerig *r)
{
    struct task_rules rules;

    rules_default(&rules);
    rules.max_attempts = 1;
    rig_init(r, &rules);
}

static unsigned count_state(struct enginerig *r, const task_no *no, unsigned n, enum task_state s)
{
    unsigned k = 0;

    for (unsigned i = 0; i < n; i++)
        k += rig_state(r, no[i]) == s;
    return k;
}

Test(operators, a_redrive_goes_at_its_rate_in_the_order_of_deaths_over_a_restart)
{
    struct trec_text q = rig_text("q");
    struct enginerig r;
    struct queue_view v;
    task_no no[10], later;

    rig_one_attempt(&r);
    cr_expect_eq(engine_redrive_all(&r.e, &q, 0), SQ_EUNKNOWN);
    kill_some(&r, no, 10);
    cr_expect_eq(engine_redrive_all(&r.e, &q, RATE_PER_1000_S + 1), SQ_EINVAL);
    cr_expect_eq(engine_redrive_all(&r.e, &q, 2000), 10, "two a second");
    rig_flush(&r);
    rig_compare(&r);
    kill_some(&r, &later, 1);
    rig_advance(&r, 0);
    cr_expect_eq(count_state(&r, no, 10, TASK_WAITING), 1);
    rig_advance(&r, 499);
    cr_expect_eq(count_state(&r, no, 10, TASK_WAITING), 1);
    rig_advance(&r, 1);
    cr_expect_eq(rig_state(&r, no[1]), TASK_WAITING);
    cr_expect_eq(rig_state(&r, no[2]), TASK_DEAD);
    rig_compare(&r);
    rig_restart(&r, 5000);
    cr_expect_eq(count_state(&r, no, 10, TASK_WAITING), 2, "its bucket is empty");
    cr_assert_eq(engine_look_queue(&r.e, &q, &v), 0);
    cr_expect(v.redriving);
    for (unsigned i = 0; i < 8; i++)
        rig_advance(&r, 500);
    cr_expect_eq(count_state(&r, no, 10, TASK_WAITING), 10);
    cr_expect_eq(rig_state(&r, later), TASK_DEAD, "it died after the order");
    cr_assert_eq(engine_look_queue(&r.e, &q, &v), 0);
    cr_expect_not(v.redriving);
    cr_expect_eq(v.dead, 1);
    cr_expect_eq(rig_take(&r, NULL), no[0]);
    rig_compare(&r);
    rig_fini(&r);
}

Test(operators, a_redrive_without_a_rate_takes_a_thousand_a_turn_and_can_be_stopped)
{
    static task_no no[2500];
    struct trec_text q = rig_text("q");
    struct enginerig r;

    rig_one_attempt(&r);
    kill_some(&r, no, 2500);
    cr_expect_eq(engine_redrive_all(&r.e, &q, 0), 2500);
    cr_expect(engine_advance(&r.e, r.now, 1000), "there is more to do");
    rig_flush(&r);
    cr_expect_eq(count_state(&r, no, 2500, TASK_WAITING), 1000);
    cr_expect_eq(engine_idle_ms(&r.e, r.now), 0);
    cr_expect_eq(engine_redrive_stop(&r.e, &q), 0);
    rig_advance(&r, 1000);
    rig_compare(&r);
    cr_expect_eq(count_state(&r, no, 2500, TASK_WAITING), 1000);
    cr_expect_eq(engine_redrive(&r.e, no[2499]), 0, "one of them");
    cr_expect_eq(engine_redrive_all(&r.e, &q, 0), 1499);
    cr_expect_eq(engine_discard(&r.e, no[2498]), 0, "the last one goes meanwhile");
    rig_advance(&r, 0);
    cr_expect_eq(count_state(&r, no, 2500, TASK_WAITING), 2499);
    rig_compare(&r);
    rig_fini(&r);
}

Test(operators, the_dead_are_discarded_those_first_that_died_first)
{
    struct trec_text q = rig_text("q");
    struct enginerig r;
    task_no no[5];

    rig_one_attempt(&r);
    kill_some(&r, no, 5);
    cr_expect_eq(engine_redrive(&r.e, no[3]), 0);
    cr_expect_eq(engine_discard_dead(&r.e, &q, 2), 2);
    rig_flush(&r);
    rig_compare(&r);
    cr_expect_eq(rig_state(&r, no[0]), TASK_FREE);
    cr_expect_eq(rig_state(&r, no[1]), TASK_FREE);
    cr_expect_eq(rig_state(&r, no[2]), TASK_DEAD);
    cr_expect_eq(engine_discard_dead(&r.e, &q, 100), 2);
    cr_expect_eq(rig_state(&r, no[3]), TASK_WAITING);
    cr_expect_eq(engine_discard_dead(&r.e, &q, 100), 0);
    cr_expect_eq(engine_discard(&r.e, no[3]), SQ_ECONFLICT);
    cr_expect_eq(engine_cancel(&r.e, no[3]), 0);
    cr_expect_eq(engine_discard(&r.e, no[3]), 0);
    cr_expect_eq(engine_discard_dead(&r.e, &q, 100), 0, "there is no such queue any more");
    rig_flush(&r);
    rig_compare(&r);
    rig_fini(&r);
}

static task_no submit_of(struct enginerig *r, const char *key1, const char *key2)
{
    return rig_submit(r, (struct submit){ .key1 = rig_text(key1), .key2 = rig_text(key2) });
}

Test(operators, tasks_of_a_key_are_listed_and_cancelled_with_those_below_it)
{
    struct task_filter f = { .queue = rig_text("q"), .key1 = rig_text("a"),
                             .states = 1u << TASK_WAITING };
    struct enginerig r;
    task_no no[4], out[4];
    task_slot at = 0;

    rig_init(&r, NULL);
    no[0] = submit_of(&r, "a", NULL);
    no[1] = submit_of(&r, "b", "x");
    no[2] = submit_of(&r, "a", "x");
    no[3] = rig_submit(&r, (struct submit){ .key1 = rig_text("a"), .delay_ms = 1000 });
    cr_assert_eq(engine_list(&r.e, &f, &at, out, 1), 1);
    cr_expect_eq(out[0], no[0]);
    cr_assert_eq(engine_list(&r.e, &f, &at, out, 4), 1, "it goes on behind the first");
    cr_expect_eq(out[0], no[2]);
    cr_expect_eq(at, SLOT_NONE);
    at = 0;
    f.key2 = rig_text("x");
    cr_assert_eq(engine_list(&r.e, &f, &at, out, 4), 1);
    cr_expect_eq(out[0], no[2]);
    at = 0;
    f.key2 = rig_text("y");
    cr_expect_eq(engine_list(&r.e, &f, &at, out, 4), 0);
    cr_expect_eq(at, SLOT_NONE);
    at = 0;
    f.key2.n = 0;
    f.states = UINT32_MAX;
    cr_expect_eq(engine_cancel_some(&r.e, &f, false, &at, 100), 3);
    cr_expect_eq(rig_state(&r, no[1]), TASK_WAITING);
    cr_expect_eq(count_state(&r, no, 4, TASK_CANCELLED), 3);
    rig_flush(&r);
    rig_compare(&r);
    rig_fini(&r);
}

Test(operators, the_hottest_keys_come_first)
{
    struct trec_text q = rig_text("q");
    struct enginerig r;
    struct key_view v[3];
    uint32_t at = 0;
    unsigned n = 0;
    char key[8];

    rig_init(&r, NULL);
    for (unsigned i = 0; i < 9; i++)
        for (unsigned k = 0; k <= (i * 4) % 9; k++) { /* 1, 5, 9, 4, 8, 3, 7, 2, 6 */
            snprintf(key, sizeof(key), "k%u", i);
            submit_of(&r, key, i == 4 ? "below" : NULL);
        }
    rig_submit(&r, (struct submit){ .queue = rig_text("r"), .key1 = rig_text("z") });
    engine_top_keys(&r.e, &q, &at, v, &n, 3);
    cr_assert_eq(n, 3);
    cr_expect_eq(at, SLOT_NONE);
    cr_expect_str_eq(v[0].key1, "k2");
    cr_expect_eq(v[0].waiting, 9);
    cr_expect_str_eq(v[1].key1, "k4");
    cr_expect_str_eq(v[1].key2, "below");
    cr_expect_eq(v[1].waiting, 8);
    cr_expect_str_eq(v[2].key1, "k6");
    cr_expect_str_eq(v[2].key2, "");
    rig_fini(&r);
}

Test(operators, the_busiest_queues_come_first_and_their_dead_count)
{
    struct trec_text q = rig_text("q");
    struct enginerig r;
    struct key_view v[2];
    uint32_t at = 0;
    unsigned n = 0;
    task_no no[3];

    rig_one_attempt(&r);
    kill_some(&r, no, 3);
    rig_submit(&r, (struct submit){ .queue = rig_text("few") });
    for (unsigned i = 0; i < 2; i++)
        rig_submit(&r, (struct submit){ .queue = rig_text("some"), .key1 = rig_text("z") });
    engine_top_queues(&r.e, &at, LIST_STEPS, v, &n, 2);
    cr_assert_eq(n, 2);
    cr_expect_eq(at, SLOT_NONE);
    cr_expect_str_eq(v[0].key1, "q");
    cr_expect_eq(v[0].dead, 3);
    cr_expect_eq(v[0].waiting, 0);
    cr_expect_not(v[0].redriving);
    cr_expect_str_eq(v[1].key1, "some");
    cr_expect_eq(v[1].waiting, 2, "of all of its keys");
    cr_assert_eq(engine_redrive_all(&r.e, &q, 1000), 3);
    at = n = 0;
    engine_top_queues(&r.e, &at, LIST_STEPS, v, &n, 2);
    cr_expect(v[0].redriving);
    rig_fini(&r);
}

/* All of them, one turn a call. */
static void count_held(const struct enginerig *r, uint64_t held[TASK_NHOLDS])
{
    uint32_t at = 1;

    memset(held, 0, TASK_NHOLDS * sizeof(*held));
    for (unsigned calls = 0; at != 0; calls++) {
        cr_assert_lt(calls, 100);
        tree_held(&r->e.tree, &at, 1, held);
    }
}

Test(operators, those_in_line_are_counted_by_the_lowest_limit_that_holds_them_up)
{
    struct task_rules rules;
    uint64_t held[TASK_NHOLDS];
    struct enginerig r;

    rules_default(&rules);
    rules.key_at_once = 1;
    rules.queue_at_once = 2;
    rig_init(&r, &rules);
    for (unsigned i = 0; i < 4; i++)
        submit_of(&r, "a", NULL);
    for (unsigned i = 0; i < 3; i++)
        submit_of(&r, "b", "below");
    submit_of(&r, "c", NULL);
    count_held(&r, held);
    for (unsigned h = 0; h < TASK_NHOLDS; h++)
        cr_expect_eq(held[h], 0, "nothing runs: workers are missing");
    (void)rig_take(&r, NULL);
    count_held(&r, held);
    cr_expect_eq(held[HOLD_KEY_AT_ONCE], 3, "of the key that has started, those behind");
    (void)rig_take(&r, NULL);
    count_held(&r, held);
    cr_expect_eq(held[HOLD_KEY_AT_ONCE], 3 + 2, "of the key above theirs, too");
    cr_expect_eq(held[HOLD_QUEUE_AT_ONCE], 1, "of the key that could, the queue");
    rig_fini(&r);
}

Test(operators, a_task_that_is_told_to_run_goes_first_whatever_limits_and_delays_say)
{
    struct task_rules rules;
    struct task_view v;
    struct enginerig r;
    task_no first, no[3];
    uint64_t lease;

    rules_default(&rules);
    rules.queue_at_once = 1;
    rig_init(&r, &rules);
    first = rig_submit(&r, (struct submit){ 0 });
    no[0] = rig_submit(&r, (struct submit){ 0 });
    no[1] = rig_submit(&r, (struct submit){ 0 });
    no[2] = rig_submit(&r, (struct submit){ .delay_ms = 100000 });
    cr_expect_eq(rig_take(&r, &lease), first);
    cr_expect_eq(rig_take(&r, NULL), 0, "one at once");
    cr_expect_eq(engine_run(&r.e, no[1]), 0);
    cr_expect_eq(engine_run(&r.e, no[1]), 0, "again: nothing");
    cr_expect_eq(engine_run(&r.e, no[2]), 0);
    rig_flush(&r);
    rig_compare(&r);
    cr_assert_eq(engine_look(&r.e, no[2], &v), 0);
    cr_expect(v.first);
    cr_expect_eq(v.position, 3, "its place is by entry, as before");
    rig_restart(&r, 10);
    cr_expect_eq(rig_take(&r, NULL), no[1]);
    cr_expect_eq(engine_run(&r.e, no[1]), SQ_ECONFLICT);
    cr_expect_eq(engine_cancel(&r.e, no[2]), 0);
    cr_expect_eq(rig_take(&r, NULL), 0);
    cr_expect_eq(engine_ack(&r.e, first, lease, 0), 0);
    cr_expect_eq(rig_take(&r, NULL), 0, "the one that was told to run counts");
    rig_flush(&r);
    rig_compare(&r);
    rig_fini(&r);
}

Test(operators, a_strict_line_keeps_its_order_whoever_is_told_to_run)
{
    struct task_rules rules;
    struct enginerig r;
    task_no no[2];
    uint64_t lease;

    rules_default(&rules);
    rules.order = ORDER_STRICT;
    rig_init(&r, &rules);
    no[0] = rig_submit(&r, (struct submit){ 0 });
    no[1] = rig_submit(&r, (struct submit){ 0 });
    cr_expect_eq(engine_run(&r.e, no[1]), SQ_EINVAL);
    cr_expect_eq(rig_take(&r, &lease), no[0]);
    cr_expect_eq(engine_nack(&r.e, no[0], lease, 60000, &given_back), 0);
    cr_expect_eq(rig_take(&r, NULL), 0);
    cr_expect_eq(engine_run(&r.e, no[0]), 0, "its back-off is over");
    cr_expect_eq(rig_take(&r, &lease), no[0]);
    rig_flush(&r);
    rig_compare(&r);
    rig_fini(&r);
}

Test(operators, tasks_are_found_by_a_label)
{
    struct task_filter f = { .queue = rig_text("q"), .states = UINT32_MAX, .label = rig_text("red") };
    struct enginerig r;
    task_no no[3], out[3];
    task_slot at = 0;

    rig_init(&r, NULL);
    no[0] = rig_submit(&r, (struct submit){ .own = { .labels = "blue,red" } });
    no[1] = rig_submit(&r, (struct submit){ .own = { .labels = "redder" } });
    no[2] = rig_submit(&r, (struct submit){ 0 });
    cr_assert_eq(engine_list(&r.e, &f, &at, out, 3), 1);
    cr_expect_eq(out[0], no[0]);
    at = 0;
    cr_expect_eq(engine_cancel_some(&r.e, &f, false, &at, 3), 1);
    cr_expect_eq(count_state(&r, no, 3, TASK_WAITING), 2);
    rig_flush(&r);
    rig_compare(&r);
    rig_fini(&r);
}

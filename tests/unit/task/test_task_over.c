/* test_task_over.c: tasks that are over give way, the oldest first, before a submission is refused. */
#include "tests/unit/task/enginerig.h"

#define MOST 50

static void few(struct enginerig *r, const struct task_rules *rules)
{
    rig_init(r, rules);
    engine_limit(&r->e, MOST);
    r->opts.max_tasks = MOST;
}

/* A task that has ended well. */
static task_no over(struct enginerig *r)
{
    uint64_t lease;
    task_no no = rig_submit(r, (struct submit){ 0 });

    cr_assert_eq(rig_take(r, &lease), no);
    cr_assert_eq(engine_ack(&r->e, no, lease, 0), 0);
    rig_flush(r);
    return no;
}

static int submit(struct enginerig *r, task_no *no)
{
    int rc = engine_submit(&r->e, &(const struct submit){ .queue = rig_text("q") }, no);

    rig_flush(r);
    return rc;
}

Test(over, the_oldest_give_way_before_a_submission_is_refused)
{
    task_no old[3 * MOST], no;
    struct enginerig r;

    few(&r, NULL);
    for (int i = 0; i < 3 * MOST; i++) {
        old[i] = over(&r);
        rig_advance(&r, 100);
    }
    for (int i = 0; i < 3 * MOST; i++)
        cr_expect_eq(rig_state(&r, old[i]), i < 2 * MOST ? TASK_FREE : TASK_SUCCEEDED, "%d", i);
    cr_expect_eq(r.e.counts.gave_way, 2 * MOST);
    rig_compare(&r);
    rig_restart(&r, 1000);
    cr_assert_eq(submit(&r, &no), 0);
    cr_expect_eq(rig_state(&r, old[2 * MOST]), TASK_FREE, "also over a restart");
    cr_expect_eq(rig_state(&r, old[2 * MOST + 1]), TASK_SUCCEEDED);
    for (int i = 1; i < MOST; i++)
        cr_assert_eq(submit(&r, &no), 0, "%d", i);
    cr_expect_eq(submit(&r, &no), SQ_EFULL, "all of them wait");
    rig_compare(&r);
    rig_fini(&r);
}

/* A result that was read has a shorter life, so it goes before one that is older and unread. */
Test(over, what_was_read_gives_way_first)
{
    struct enginerig r;
    task_no a, b, no;

    few(&r, NULL);
    a = over(&r);
    rig_advance(&r, 1000);
    b = over(&r);
    cr_assert_eq(engine_read(&r.e, b), 0);
    for (int i = 2; i <= MOST; i++)
        cr_assert_eq(submit(&r, &no), 0);
    cr_expect_eq(rig_state(&r, b), TASK_FREE);
    cr_expect_eq(rig_state(&r, a), TASK_SUCCEEDED);
    rig_compare(&r);
    rig_fini(&r);
}

/* Operators look at dead ones and let them run again; one that was cut may still be at work. */
Test(over, neither_the_dead_nor_those_that_were_cut_give_way)
{
    struct task_rules rules;
    struct enginerig r;
    task_no dead, cut, no;
    uint64_t lease;

    rules_default(&rules);
    rules.max_attempts = 1;
    few(&r, &rules);
    dead = rig_submit(&r, (struct submit){ 0 });
    cr_assert_eq(rig_take(&r, &lease), dead);
    cr_assert_eq(engine_nack(&r.e, dead, lease, -1, &given_back), 0);
    cut = rig_submit(&r, (struct submit){ 0 });
    cr_assert_eq(rig_take(&r, NULL), cut);
    cr_assert_eq(engine_cut(&r.e, cut), 0);
    for (int i = 2; i < MOST; i++)
        cr_assert_eq(submit(&r, &no), 0);
    cr_expect_eq(submit(&r, &no), SQ_EFULL);
    cr_expect_eq(rig_state(&r, dead), TASK_DEAD);
    cr_expect_eq(rig_state(&r, cut), TASK_CANCELLED);
    rig_compare(&r);
    rig_restart(&r, 1);
    cr_expect_eq(submit(&r, &no), SQ_EFULL);
    rig_advance(&r, (msec_t)rules.lease_ms);
    cr_expect_eq(submit(&r, &no), 0, "its attempt has ended");
    cr_expect_eq(rig_state(&r, cut), TASK_FREE);
    rig_compare(&r);
    rig_fini(&r);
}

Test(over, max_waiting_counts_only_what_is_not_over)
{
    struct task_rules rules;
    struct enginerig r;
    task_no no;

    rules_default(&rules);
    rules.max_waiting = 2;
    few(&r, &rules);
    for (int i = 0; i < 10; i++)
        over(&r);
    cr_expect_eq(submit(&r, &no), 0);
    cr_expect_eq(submit(&r, &no), 0);
    cr_expect_eq(submit(&r, &no), SQ_EFULL);
    cr_expect_eq(r.e.counts.gave_way, 0, "nothing goes for one that is refused");
    rig_restart(&r, 1);
    cr_expect_eq(submit(&r, &no), SQ_EFULL);
    rig_compare(&r);
    rig_fini(&r);
}

/* An Idempotency-Key outlives its task: the same submission is still the same. */
Test(over, the_key_of_one_that_gave_way_still_means_it)
{
    struct submit named = { .queue = rig_text("q"), .key = rig_text("n"), .digest = 7 };
    struct enginerig r;
    uint64_t lease;
    task_no no, same;

    few(&r, NULL);
    no = rig_submit(&r, named);
    cr_assert_eq(rig_take(&r, &lease), no);
    cr_assert_eq(engine_ack(&r.e, no, lease, 0), 0);
    for (int i = 0; i < MOST; i++)
        over(&r);
    cr_assert_eq(rig_state(&r, no), TASK_FREE);
    cr_expect_eq(engine_submit(&r.e, &named, &same), 1);
    cr_expect_eq(same, no);
    rig_fini(&r);
}

Test(over, a_shorter_life_acts_on_what_is_there)
{
    struct task_rules rules;
    struct enginerig r;
    task_no a, b;

    rules_default(&rules);
    few(&r, &rules);
    a = over(&r);
    rig_advance(&r, 60000);
    b = over(&r);
    rules.result_ms = 61000;
    cr_assert_eq(engine_define(&r.e, "*", &rules), 0);
    rig_flush(&r);
    rig_advance(&r, 1000);
    cr_expect_eq(rig_state(&r, a), TASK_FREE);
    cr_expect_eq(rig_state(&r, b), TASK_SUCCEEDED);
    rig_compare(&r);
    rules.result_ms = 3600000;
    cr_assert_eq(engine_define(&r.e, "*", &rules), 0);
    rig_advance(&r, 60000);
    cr_expect_eq(rig_state(&r, b), TASK_FREE, "a longer one is for those that end from now on");
    rig_compare(&r);
    rig_fini(&r);
}

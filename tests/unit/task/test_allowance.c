/* test_allowance.c: what a partition may start as a whole, by a rate that the manager says. */
#include "task/engine/pool.h"

#include "tests/unit/task/enginerig.h"

static const struct submit plain;

/* How many start from now on in so many milliseconds, looked at each 10. */
static unsigned starts(struct enginerig *r, msec_t ms)
{
    unsigned n = 0;

    for (msec_t t = 0; t < ms; t += 10) {
        rig_advance(r, 10);
        while (rig_take(r, NULL) != 0)
            n++;
    }
    return n;
}

static void setup(struct enginerig *r, uint64_t fallback)
{
    struct task_rules rules;

    rules_default(&rules);
    rules.until_told = fallback + 1;
    rules.lease_ms = 3600000;
    rig_init(r, &rules);
    for (unsigned i = 0; i < 5000; i++)
        rig_submit(r, plain);
}

Test(allowance, what_was_said_holds_for_a_while_then_the_fallback)
{
    struct enginerig r;
    unsigned n;

    setup(&r, 5000); /* 5 a second */
    n = starts(&r, 10000);
    cr_expect(n >= 49 && n <= 51, "%u by the fallback", n);
    allowance_tell(&r.e.allowance, 50000, r.e.at);
    n = starts(&r, ALLOWANCE_TOLD_MS - 10);
    cr_expect(n >= 740 && n <= 756, "%u by what was said", n);
    n = starts(&r, 10000);
    cr_expect(n >= 49 && n <= 52, "%u by the fallback again", n);
    rig_fini(&r);
}

Test(allowance, by_a_rate_of_zero_nothing_starts_but_what_is_told_to_run)
{
    struct enginerig r;
    struct task_view v;
    task_no no;

    setup(&r, 5000);
    allowance_tell(&r.e.allowance, 0, r.e.at);
    cr_expect_eq(starts(&r, 5000), 0);
    no = rig_submit(&r, plain);
    cr_assert_eq(engine_look(&r.e, no, &v), 0);
    cr_expect_eq(v.limited, CLOSED_RATE);
    cr_expect_str_eq(v.limited_by, "*");
    cr_expect_eq(v.eta_ms, -1);
    cr_assert_eq(engine_run(&r.e, no), 0);
    cr_expect_eq(rig_take(&r, NULL), no);
    allowance_tell(&r.e.allowance, 1000000, r.e.at);
    cr_expect_geq(starts(&r, 1000), 900);
    rig_fini(&r);
}

/* As of a partition that had nobody, and the rate of nearly nothing, and now has a crowd. */
Test(allowance, a_rate_that_rises_counts_at_once_whatever_the_old_one_owed)
{
    struct enginerig r;
    unsigned n;

    setup(&r, 1);
    rig_advance(&r, 1000000);
    cr_expect_eq(starts(&r, 10), 1, "the next one in 1000 s");
    allowance_tell(&r.e.allowance, 100000, r.e.at);
    n = starts(&r, 1000);
    cr_expect(n >= 99 && n <= 101, "%u", n);
    rig_restart(&r, 10);
    allowance_tell(&r.e.allowance, 100000, r.e.at);
    n = starts(&r, 1000);
    cr_expect(n >= 99 && n <= 101, "%u after a start anew", n);
    allowance_tell(&r.e.allowance, 0, r.e.at);
    allowance_tell(&r.e.allowance, 100000, r.e.at);
    cr_expect_leq(starts(&r, 10), 1, "nothing fills it meanwhile");
    rig_fini(&r);
}

/* Who takes from any queue asks again when nothing may start: that is nobody's turn. */
Test(allowance, queues_have_their_turns_while_it_lets_single_ones_go)
{
    unsigned of[2] = { 0 };
    struct enginerig r;
    struct task_view v;
    struct taken t;

    setup(&r, 10000);
    for (unsigned i = 0; i < 100; i++)
        rig_submit(&r, (struct submit){ .queue = rig_text("other") });
    for (unsigned i = 0; i < 100; i++) {
        rig_advance(&r, 100);
        while (engine_take_call(&r.e, 0, UINT64_MAX, &t) == 1) {
            cr_assert_eq(engine_look(&r.e, t.no, &v), 0);
            of[v.queue[0] == 'o']++;
        }
        cr_assert_not(engine_has_open(&r.e));
        rig_flush(&r);
    }
    cr_expect_leq(of[0], of[1] + 1, "%u, %u", of[0], of[1]);
    cr_expect_leq(of[1], of[0] + 1, "%u, %u", of[0], of[1]);
    rig_fini(&r);
}

Test(allowance, a_start_anew_begins_with_the_fallback_and_an_empty_bucket)
{
    struct enginerig r;

    setup(&r, 1000);
    allowance_tell(&r.e.allowance, 1000000, r.e.at);
    rig_restart(&r, 10);
    cr_expect_eq(rig_take(&r, NULL), 0);
    cr_expect_eq(starts(&r, 3000), 3);
    rig_compare(&r);
    rig_fini(&r);
}

Test(allowance, the_partition_wakes_when_the_next_may_start)
{
    struct enginerig r;
    msec_t idle;

    setup(&r, 1000);
    rig_advance(&r, 2000);
    cr_expect_neq(rig_take(&r, NULL), 0);
    idle = engine_idle_ms(&r.e, r.now);
    cr_expect(idle > 900 && idle <= 1000, "%ld", (long)idle);
    rig_advance(&r, idle);
    cr_expect_neq(rig_take(&r, NULL), 0);
    rig_fini(&r);
}

Test(allowance, without_limits_by_metrics_there_is_none)
{
    struct task_rules rules;
    struct enginerig r;

    setup(&r, 0);
    cr_expect_eq(starts(&r, 1000), 0);
    rules_default(&rules);
    cr_assert_eq(engine_define(&r.e, "*", &rules), 0);
    rig_flush(&r);
    cr_expect_eq(starts(&r, 10), 5000);
    rig_fini(&r);
}

/* test_unique.c: a unique key belongs to one task at a time: single flight, debounce. */
#include "tests/unit/task/enginerig.h"

static struct submit with(enum unique_while lasts, enum unique_conflict on_conflict)
{
    return (struct submit){ .queue = { "q", 1 }, .unique = { "u", 1 }, .unique_while = lasts,
                            .on_conflict = on_conflict };
}

/* Another submission with the key; what it is answered. */
static int again(struct enginerig *r, enum unique_conflict on_conflict, task_no *no)
{
    struct submit s = with(UNIQUE_RUNNING, on_conflict);
    int rc = engine_submit(&r->e, &s, no);

    rig_flush(r);
    return rc;
}

Test(unique, the_task_that_has_the_key_is_returned_or_the_other_refused)
{
    struct enginerig r;
    task_no a, b;

    rig_init(&r, NULL);
    a = rig_submit(&r, with(UNIQUE_RUNNING, UNIQUE_REJECT));
    cr_expect_eq(again(&r, UNIQUE_RETURN, &b), 1);
    cr_expect_eq(b, a);
    cr_expect_eq(again(&r, UNIQUE_REJECT, &b), SQ_EHELD);
    cr_expect_eq(b, 0);
    rig_submit(&r, (struct submit){ .queue = rig_text("other"), .unique = { "u", 1 } });
    rig_compare(&r);
    rig_restart(&r, 10);
    cr_expect_eq(again(&r, UNIQUE_RETURN, &b), 1, "after a restart, too");
    rig_fini(&r);
}

Test(unique, a_task_that_waits_is_replaced_and_one_that_runs_is_not)
{
    struct enginerig r;
    task_no a, b, c;
    uint64_t lease;

    rig_init(&r, NULL);
    a = rig_submit(&r, with(UNIQUE_RUNNING, UNIQUE_RETURN));
    cr_assert_eq(again(&r, UNIQUE_REPLACE, &b), 0);
    cr_expect_eq(rig_state(&r, a), TASK_CANCELLED);
    cr_expect_eq(rig_take(&r, &lease), b);
    cr_expect_eq(again(&r, UNIQUE_REPLACE, &c), SQ_EHELD);
    cr_expect_eq(rig_state(&r, b), TASK_RUNNING);
    rig_compare(&r);
    cr_assert_eq(engine_ack(&r.e, b, lease, 0), 0);
    cr_expect_eq(again(&r, UNIQUE_REJECT, &c), 0, "it is final");
    rig_compare(&r);
    rig_fini(&r);
}

Test(unique, the_key_lasts_as_long_as_it_was_said)
{
    static const struct { enum unique_while lasts; int running, final, gone; } of[] = {
        { UNIQUE_WAITING, 0, 0, 0 },
        { UNIQUE_RUNNING, SQ_EHELD, 0, 0 },
        { UNIQUE_FINAL, SQ_EHELD, SQ_EHELD, 0 },
    };

    for (unsigned i = 0; i < 3 * ARRAY_LEN(of); i++) { /* each at one of three moments */
        const int want[] = { of[i / 3].running, of[i / 3].final, of[i / 3].gone };
        struct enginerig r;
        uint64_t lease;
        task_no a, b;

        rig_init(&r, NULL);
        a = rig_submit(&r, with(of[i / 3].lasts, UNIQUE_RETURN));
        cr_expect_eq(again(&r, UNIQUE_REJECT, &b), SQ_EHELD, "while it waits");
        cr_assert_eq(rig_take(&r, &lease), a);
        if (i % 3 > 0)
            cr_assert_eq(engine_ack(&r.e, a, lease, 0), 0);
        if (i % 3 > 1)
            cr_assert_eq(engine_discard(&r.e, a), 0);
        rig_flush(&r);
        rig_compare(&r);
        cr_expect_eq(again(&r, UNIQUE_REJECT, &b), want[i % 3], "%u", i);
        rig_compare(&r);
        rig_fini(&r);
    }
}

Test(unique, a_replacement_has_the_room_of_that_one_and_another_task_has_none)
{
    struct task_rules rules;
    struct enginerig r;
    task_no a, b;

    rules_default(&rules);
    rules.max_waiting = 1;
    rig_init(&r, &rules);
    a = rig_submit(&r, with(UNIQUE_RUNNING, UNIQUE_RETURN));
    cr_expect_eq(again(&r, UNIQUE_REPLACE, &b), 0);
    cr_expect_neq(b, a);
    a = b;
    cr_expect_eq(engine_submit(&r.e, &(const struct submit){ .queue = { "q", 1 } }, &b), SQ_EFULL);
    rig_flush(&r);
    cr_expect_eq(rig_state(&r, a), TASK_WAITING);
    cr_expect_eq(again(&r, UNIQUE_RETURN, &b), 1);
    cr_expect_eq(b, a);
    rig_compare(&r);
    rig_fini(&r);
}

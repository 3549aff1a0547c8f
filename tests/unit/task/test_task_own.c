/* test_task_own.c: what a task has of its own: kept once, over restarts, until it goes. */
#include "tests/unit/task/enginerig.h"

#include <stdio.h>

#include "task/store/extras.h"

Test(own, its_life_its_attempts_and_its_backoff_are_its_own)
{
    struct submit s = { .own = { .ttl_ms = 5001, .max_attempts = 3, .retry_min_ms = 301,
                                 .retry_max_ms = 301, .retry_jitter = 1 } };
    struct enginerig r;
    struct task_view v;
    uint64_t lease;
    task_no no, late;

    rig_init(&r, NULL);
    no = rig_submit(&r, s);
    cr_expect_eq(rig_take(&r, &lease), no);
    cr_expect_eq(engine_nack(&r.e, no, lease, -1, &given_back), 0);
    rig_flush(&r);
    rig_compare(&r);
    rig_advance(&r, 299);
    cr_expect_eq(rig_state(&r, no), TASK_RETRYING);
    rig_advance(&r, 1);
    cr_expect_eq(rig_state(&r, no), TASK_WAITING);
    rig_restart(&r, 0);
    cr_expect_eq(rig_take(&r, &lease), no);
    cr_expect_eq(engine_nack(&r.e, no, lease, -1, &given_back), 0);
    cr_expect_eq(rig_state(&r, no), TASK_DEAD, "two attempts");
    cr_expect_eq(engine_redrive(&r.e, no), 0);
    cr_assert_eq(engine_look(&r.e, no, &v), 0);
    cr_expect_eq(v.until_ms, r.now.ms + 5000, "its life begins anew with its entry");
    late = rig_submit(&r, (struct submit){ .own = { .ttl_ms = 101 }, .delay_ms = 50 });
    rig_compare(&r);
    rig_advance(&r, 50);
    rig_advance(&r, 99);
    cr_expect_eq(rig_state(&r, late), TASK_WAITING);
    rig_advance(&r, 1);
    cr_expect_eq(rig_state(&r, late), TASK_EXPIRED);
    rig_advance(&r, 4850);
    cr_expect_eq(rig_state(&r, no), TASK_EXPIRED);
    rig_compare(&r);
    rig_fini(&r);
}

Test(own, what_is_out_of_range_is_refused)
{
    static const struct task_own bad[] = {
        { .ttl_ms = 1 },
        { .max_attempts = ATTEMPTS_MAX + 2 },
        { .retry_jitter = 102 },
        { .labels = "a,b,c,d,e" },
        { .labels = "a,,b" },
        { .labels = "a," },
        { .labels = "with blank" },
        { .labels = "a-label-of-more-than-32-characters" },
    };
    struct trec_text q = rig_text("q");
    struct enginerig r;
    task_no no;

    rig_init(&r, NULL);
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        struct submit s = { .queue = q, .own = bad[i] };

        cr_expect_eq(engine_submit(&r.e, &s, &no), SQ_EINVAL, "%u", i);
    }
    rig_fini(&r);
}

Test(own, equal_ones_are_kept_once_and_go_with_their_last_task)
{
    struct task_own a = { .ttl_ms = 7, .labels = "x" }, b = { .ttl_ms = 8, .labels = "x" };
    const struct task_own none = { 0 };
    struct owns o;

    owns_init(&o);
    for (task_slot s = 0; s < 1000; s++)
        cr_assert_eq(owns_set(&o, s, &a), 0);
    cr_expect_eq(o.n, 1);
    cr_expect_str_eq(owns_of(&o, 999)->labels, "x");
    cr_assert_eq(owns_set(&o, 5, &b), 0);
    cr_expect_eq(o.n, 2);
    cr_expect_eq(owns_of(&o, 5)->ttl_ms, 8);
    cr_expect_eq(owns_of(&o, 6)->ttl_ms, 7);
    cr_assert_eq(owns_set(&o, 5, &a), 0);
    cr_assert_eq(owns_set(&o, 6, &b), 0);
    cr_expect_eq(o.n, 2, "the place of the one that went");
    cr_assert_eq(owns_set(&o, 6, &none), 0);
    for (task_slot s = 0; s < 1000; s++)
        owns_drop(&o, s);
    cr_expect_eq(o.by_slot.n + o.by_hash.n, 0);
    owns_fini(&o);
}

Test(own, a_record_says_all_of_it_and_damaged_ones_are_refused)
{
    struct task_own a = { .ttl_ms = 70000, .max_attempts = 3, .retry_jitter = 1, .labels = "x,yy",
                          .cost = TASK_COST_MAX + 1 };
    char labels[LABELS_TEXT_MAX + 1];
    struct task_own back;
    struct buf b;

    buf_init(&b);
    own_encode(&a, &b);
    cr_assert_eq(own_decode(&back, labels, (const char *)b.data, (uint32_t)b.len), 0);
    cr_expect(own_equal(&a, &back));
    for (uint32_t n = 0; n < 5; n++)
        cr_expect_eq(own_decode(&back, labels, (const char *)b.data, n), SQ_EPROTO, "%u", n);
    cr_expect_eq(own_decode(&back, labels, (const char *)b.data, 5), 0, "an older one: no numbers");
    buf_byte(&b, 0);
    cr_expect_eq(own_decode(&back, labels, (const char *)b.data, (uint32_t)b.len), SQ_EPROTO);
    buf_fini(&b);
}

Test(own, a_task_that_jumps_has_the_place_of_its_entry_in_its_new_line)
{
    struct task_patch jump = { .has = PATCH_PRIORITY, .priority = 2 };
    struct enginerig r;
    struct task_view v;
    task_no no[6];

    rig_init(&r, NULL);
    for (unsigned i = 0; i < 6; i++) { /* 0 and 3 wait in the line of priority 0 */
        no[i] = rig_submit(&r, (struct submit){ .key1 = rig_text("a"), .priority = i % 3 == 0 ? 0 : 2 });
        rig_advance(&r, 1);
    }
    cr_expect_eq(engine_patch(&r.e, no[3], &jump), 0);
    cr_expect_eq(engine_patch(&r.e, no[3], &jump), 0, "again: nothing");
    rig_flush(&r);
    rig_compare(&r);
    cr_assert_eq(engine_look(&r.e, no[3], &v), 0);
    cr_expect_eq(v.priority, 2);
    cr_expect_eq(v.position, 4, "as it was");
    cr_expect_eq(v.ahead_of_key, 2);
    cr_expect_eq(v.ahead_of_priority, 2);
    cr_expect_eq(rig_take(&r, NULL), no[1]);
    cr_expect_eq(engine_patch(&r.e, no[1], &jump), SQ_ECONFLICT);
    cr_expect_eq(rig_take(&r, NULL), no[2]);
    rig_restart(&r, 0);
    cr_expect_eq(rig_take(&r, NULL), no[3]);
    cr_expect_eq(rig_take(&r, NULL), no[4]);
    rig_compare(&r);
    rig_fini(&r);
}

Test(own, nobody_is_told_a_place_in_front_of_those_that_go_first)
{
    struct submit plain = { .queue = rig_text("plain") };
    struct enginerig r;
    struct task_view v;
    task_no first, second, none;

    rig_init(&r, NULL);
    first = rig_submit(&r, plain);
    second = rig_submit(&r, plain);
    cr_assert_eq(engine_run(&r.e, first), 0);
    cr_assert_eq(engine_look(&r.e, second, &v), 0);
    cr_expect(v.position == 2 && v.ahead_of_priority == 1, "behind the one that was told to run");
    engine_foresee(&r.e, &plain, &v);
    cr_expect_eq(v.position, 3);
    rig_submit(&r, (struct submit){ .key1 = rig_text("a") });
    none = rig_submit(&r, (struct submit){ .key1 = rig_text("") });
    cr_assert_eq(engine_look(&r.e, none, &v), 0);
    cr_expect(v.position == 2 && v.ahead_of_priority == 1 && v.ahead_of_key == 0, "without a key, behind one with a key");
    rig_compare(&r);
    rig_fini(&r);
}

Test(own, a_patch_changes_all_that_it_has_or_nothing)
{
    struct task_patch p = { .has = PATCH_PRIORITY | PATCH_WHEN | PATCH_LABELS, .priority = 7,
                            .delay_ms = 5000, .labels = "red" };
    struct enginerig r;
    struct task_view v;
    uint64_t lease;
    task_no no;

    rig_init(&r, NULL);
    no = rig_submit(&r, (struct submit){ .delay_ms = 1000, .own = { .ttl_ms = 70001 } });
    cr_expect_eq(engine_patch(&r.e, no, &p), 0);
    rig_flush(&r);
    rig_compare(&r);
    p.labels = "a b";
    p.priority = 3;
    cr_expect_eq(engine_patch(&r.e, no, &p), SQ_EINVAL);
    p = (struct task_patch){ .has = PATCH_PRIORITY | PATCH_ORDER, .priority = 3 };
    cr_expect_eq(engine_patch(&r.e, no, &p), SQ_EINVAL, "this queue does not go by order");
    cr_assert_eq(engine_look(&r.e, no, &v), 0);
    cr_expect_eq(v.priority, 7);
    cr_expect_str_eq(v.own->labels, "red");
    cr_expect_eq(v.own->ttl_ms, 70001);
    rig_advance(&r, 4999);
    cr_expect_eq(rig_take(&r, &lease), 0);
    rig_advance(&r, 1);
    p = (struct task_patch){ .has = PATCH_WHEN, .delay_ms = 5 };
    cr_expect_eq(engine_patch(&r.e, no, &p), SQ_ECONFLICT, "it waits already");
    cr_expect_eq(rig_take(&r, &lease), no);
    p = (struct task_patch){ .has = PATCH_LABELS, .labels = "" };
    cr_expect_eq(engine_patch(&r.e, no, &p), 0, "also of one that runs");
    rig_flush(&r);
    rig_compare(&r);
    rig_fini(&r);
}

/* A probe that fails costs nothing, but what may be sent once is sent once. */
Test(own, the_last_attempt_is_not_excused)
{
    const struct call_failed f = { .delay_ms = 1000, .excused = true, .how.end = ATTEMPT_UNANSWERED };
    struct task_rules rules;
    struct enginerig r;
    uint64_t lease;
    task_no no;

    rules_default(&rules);
    rules.max_attempts = 2;
    rig_init(&r, &rules);
    no = rig_submit(&r, (struct submit){ .body = 1 });
    for (unsigned i = 0; i < 5; i++) { /* one is left over all the time */
        cr_assert_eq(rig_take(&r, &lease), no);
        cr_assert_eq(engine_call_failed(&r.e, no, lease, &f), 0);
        cr_expect_eq(rig_state(&r, no), TASK_RETRYING);
        rig_advance(&r, 2000);
    }
    rig_fini(&r);
    rules.max_attempts = 1;
    rig_init(&r, &rules);
    no = rig_submit(&r, (struct submit){ .body = 1 });
    cr_assert_eq(rig_take(&r, &lease), no);
    cr_assert_eq(engine_call_failed(&r.e, no, lease, &f), 0);
    cr_expect_eq(rig_state(&r, no), TASK_DEAD);
    rig_flush(&r);
    rig_compare(&r);
    rig_fini(&r);
}

/* A target that is down for days: none of those calls counts, however many there are. */
Test(own, spared_attempts_cost_none_without_an_end)
{
    const struct call_failed away = { .delay_ms = 1000, .spared = true, .how.end = ATTEMPT_UNANSWERED };
    const struct call_failed failed = { .delay_ms = 1000, .how.end = ATTEMPT_STATUS };
    struct task_rules rules;
    struct enginerig r;
    uint64_t lease;
    task_no no;

    rules_default(&rules);
    rules.max_attempts = 20;
    rig_init(&r, &rules);
    no = rig_submit(&r, (struct submit){ .body = 1 });
    for (unsigned real = 1; real <= 20; real++) {
        for (unsigned i = 0; i < 50; i++) {
            cr_assert_eq(rig_take(&r, &lease), no);
            cr_assert_eq(engine_call_failed(&r.e, no, lease, &away), 0);
            cr_assert_eq(rig_state(&r, no), TASK_RETRYING, "%u, after %u that counted", i, real - 1);
            rig_advance(&r, 2000);
        }
        rig_flush(&r);
        rig_compare(&r);
        cr_assert_eq(rig_take(&r, &lease), no);
        cr_assert_eq(engine_call_failed(&r.e, no, lease, &failed), 0);
        cr_assert_eq(rig_state(&r, no), real < 20 ? TASK_RETRYING : TASK_DEAD, "%u", real);
        rig_advance(&r, 2000);
    }
    rig_flush(&r);
    rig_compare(&r);
    rig_fini(&r);
}

/* max_tasks was lowered: its slot is above it. */
Test(own, what_is_above_a_lower_limit_is_spared_as_well)
{
    const struct call_failed f = { .delay_ms = 1000, .spared = true,
                                   .how.end = ATTEMPT_UNANSWERED };
    struct task_rules rules;
    struct enginerig r;
    uint64_t lease;
    task_no no;

    rules_default(&rules);
    rules.max_attempts = 1;
    rig_init(&r, &rules);
    for (unsigned i = 0; i < 2; i++) {
        rig_submit(&r, (struct submit){ .body = 1 });
        no = rig_take(&r, &lease);
    }
    engine_limit(&r.e, 1);
    cr_assert_eq(engine_call_failed(&r.e, no, lease, &f), 0);
    cr_expect_eq(rig_state(&r, no), TASK_RETRYING);
    rig_flush(&r);
    rig_compare(&r);
    rig_fini(&r);
}

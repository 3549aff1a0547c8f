/* test_task_engine.c: the life of tasks, and that the journal knows all of it. */
#include "tests/unit/task/enginerig.h"

#include <stdio.h>

#define MINUTE ((msec_t)60000)

static const struct submit plain;

/* What was freed since the last time, in this order; 0 ends it. */
static void freed(struct enginerig *r, uint64_t a, uint64_t b)
{
    uint64_t want[2] = { a, b }, n = (a != 0) + (b != 0);

    cr_assert_eq(r->e.freed.len, n * sizeof(uint64_t));
    cr_assert(n == 0 || memcmp(r->e.freed.data, want, n * sizeof(uint64_t)) == 0);
    buf_reset(&r->e.freed);
}

Test(engine, a_body_is_freed_once_when_its_task_has_it_no_longer)
{
    struct enginerig r;
    struct task_view v;
    uint64_t lease;
    task_no no;

    rig_init(&r, NULL);
    no = rig_submit(&r, (struct submit){ .body = 77 });
    cr_assert_eq(engine_moved(&r.e, no, 78), 0);
    freed(&r, 77, 0);
    rig_flush(&r);
    rig_compare(&r);
    cr_assert_eq(rig_take(&r, &lease), no);
    cr_assert_eq(engine_moved(&r.e, no, 79), 0);
    cr_assert_eq(engine_ack(&r.e, no, lease, 5), 0);
    freed(&r, 78, 79);
    cr_assert_eq(engine_moved(&r.e, no, 6), 0);
    cr_assert_eq(engine_look(&r.e, no, &v), 0);
    cr_expect_eq(v.body, 6);
    cr_expect_eq(v.state, TASK_SUCCEEDED);
    rig_flush(&r);
    rig_compare(&r);
    cr_assert_eq(engine_discard(&r.e, no), 0);
    freed(&r, 5, 6);
    cr_assert_eq(engine_moved(&r.e, no, 7), SQ_EUNKNOWN);
    freed(&r, 0, 0);
    rig_fini(&r);
}

/* The next attempt fails: the target has said `reply`. */
static void fail(struct enginerig *r, task_no no, uint64_t reply, bool for_good)
{
    const struct call_failed f = { .delay_ms = 0, .for_good = for_good, .reply = reply,
                                   .how.end = ATTEMPT_STATUS };
    uint64_t lease;

    rig_advance(r, 1);
    cr_assert_eq(rig_take(r, &lease), no);
    cr_assert_eq(engine_call_failed(&r->e, no, lease, &f), 0);
    rig_flush(r);
    rig_compare(r);
}

Test(engine, the_last_reply_is_kept_until_its_task_is_done_redriven_or_gone)
{
    struct enginerig r;
    uint64_t lease;
    task_no no;

    rig_init(&r, NULL);
    no = rig_submit(&r, (struct submit){ .body = 77 });
    cr_expect_eq(engine_moved_reply(&r.e, no, 9), SQ_EUNKNOWN);
    fail(&r, no, 1, false);
    fail(&r, no, 0, false); /* no answer */
    cr_expect_eq(replies_of(&r.e.replies, task_slot_of(no)), 1);
    fail(&r, no, 2, true);
    freed(&r, 1, 0);
    cr_assert_eq(engine_moved_reply(&r.e, no, 3), 0);
    freed(&r, 2, 0);
    rig_flush(&r);
    rig_restart(&r, 1000);
    cr_expect_eq(replies_of(&r.e.replies, task_slot_of(no)), 3);
    cr_assert_eq(engine_redrive(&r.e, no), 0);
    freed(&r, 3, 0);
    fail(&r, no, 4, false);
    rig_advance(&r, 1);
    cr_assert_eq(rig_take(&r, &lease), no);
    cr_assert_eq(engine_ack(&r.e, no, lease, 5), 0);
    freed(&r, 77, 4);
    no = rig_submit(&r, (struct submit){ .body = 6 });
    fail(&r, no, 7, true);
    cr_assert_eq(engine_discard(&r.e, no), 0);
    freed(&r, 6, 7);
    no = rig_submit(&r, (struct submit){ 0 });
    fail(&r, no, 8, false);
    cr_assert_eq(engine_cancel(&r.e, no), 0);
    freed(&r, 8, 0);
    cr_expect_eq(r.e.replies.by_slot.n, 0);
    rig_flush(&r);
    rig_compare(&r);
    rig_fini(&r);
}

Test(engine, a_task_is_taken_acknowledged_kept_and_gone)
{
    struct enginerig r;
    struct task_view v;
    uint64_t lease;
    task_no no;

    rig_init(&r, NULL);
    no = rig_submit(&r, (struct submit){ .body = 77 });
    cr_expect_eq(rig_state(&r, no), TASK_WAITING);
    rig_compare(&r);
    cr_expect_eq(rig_take(&r, &lease), no);
    cr_expect_eq(rig_take(&r, NULL), 0);
    rig_compare(&r);
    cr_expect_eq(engine_ack(&r.e, no, lease + 1, 5), SQ_ECONFLICT);
    cr_expect_eq(engine_ack(&r.e, no, lease, 5), 0);
    cr_expect_eq(engine_ack(&r.e, no, lease, 5), SQ_ECONFLICT);
    rig_flush(&r);
    rig_compare(&r);
    cr_assert_eq(engine_look(&r.e, no, &v), 0);
    cr_expect_eq(v.state, TASK_SUCCEEDED);
    cr_expect_eq(v.body, 5);
    cr_expect_str_eq(v.queue, "q");
    cr_expect_eq(engine_read(&r.e, no), 0);
    rig_flush(&r);
    rig_compare(&r);
    rig_advance(&r, 5 * MINUTE - 1);
    cr_expect_eq(rig_state(&r, no), TASK_SUCCEEDED);
    rig_advance(&r, 1);
    cr_expect_eq(rig_state(&r, no), TASK_FREE);
    cr_expect_eq(r.e.queues_now, 0, "an empty queue costs nothing");
    cr_expect_eq(r.e.tree.turns_now + r.e.tree.limiters_now, 0);
    rig_compare(&r);
    rig_fini(&r);
}

/* As long as it is kept; of those that have gone the latest are known. */
Test(engine, the_start_of_what_was_done_is_known_however_much_was_done_since)
{
    struct enginerig r;
    uint64_t first_start, start;
    task_no first, no;

    rig_init(&r, NULL);
    rig_submit(&r, (struct submit){ .delay_ms = 0 });
    first = rig_take(&r, &first_start);
    cr_assert_eq(engine_ack(&r.e, first, first_start, 0), 0);
    for (int i = 0; i < 2 * END_MARKS; i++) {
        rig_submit(&r, (struct submit){ .delay_ms = 0 });
        no = rig_take(&r, &start);
        cr_assert_eq(engine_ack(&r.e, no, start, 0), 0);
        cr_assert_eq(engine_discard(&r.e, no), 0);
        rig_flush(&r);
    }
    cr_expect_eq(engine_done_start(&r.e, no), start);
    cr_expect_eq(engine_done_start(&r.e, first), first_start);
    rig_compare(&r);
    rig_restart(&r, 1000);
    cr_expect_eq(engine_done_start(&r.e, no), start);
    cr_expect_eq(engine_done_start(&r.e, first), first_start);
    rig_fini(&r);
}

Test(engine, a_delay_is_never_early_and_survives_restarts)
{
    struct enginerig r;
    task_no a, b;

    rig_init(&r, NULL);
    a = rig_submit(&r, (struct submit){ .delay_ms = 366 * 24 * 60 * MINUTE });
    b = rig_submit(&r, (struct submit){ .delay_ms = 10000 });
    rig_advance(&r, 9999);
    cr_expect_eq(rig_state(&r, b), TASK_SCHEDULED);
    rig_compare(&r);
    rig_restart(&r, 0);
    cr_expect_eq(rig_state(&r, b), TASK_SCHEDULED);
    rig_advance(&r, 1);
    cr_expect_eq(rig_take(&r, NULL), b);
    rig_restart(&r, 366 * 24 * 60 * MINUTE - 10001);
    cr_expect_eq(rig_state(&r, a), TASK_SCHEDULED);
    rig_advance(&r, 1);
    cr_expect_eq(rig_state(&r, a), TASK_WAITING);
    rig_compare(&r);
    rig_fini(&r);
}

Test(engine, a_moment_of_the_wall_is_obeyed_however_the_wall_jumps)
{
    struct enginerig r;
    task_no no;

    rig_init(&r, NULL);
    no = rig_submit(&r, (struct submit){ .at_wall_ms = RIG_START + 10 * MINUTE });
    rig_advance(&r, 9 * MINUTE);
    r.now.wall_ms -= 60 * MINUTE;
    rig_advance(&r, 2 * MINUTE);
    cr_expect_eq(rig_state(&r, no), TASK_SCHEDULED);
    rig_compare(&r);
    r.now.wall_ms += 58 * MINUTE;
    rig_advance(&r, MINUTE - 1);
    cr_expect_eq(rig_state(&r, no), TASK_SCHEDULED);
    rig_advance(&r, 1);
    cr_expect_eq(rig_state(&r, no), TASK_WAITING);
    cr_expect_eq(engine_patch(&r.e, no, &(struct task_patch){ .has = PATCH_WHEN, .delay_ms = 5 }),
                 SQ_ECONFLICT);
    rig_fini(&r);
}

Test(engine, after_the_wall_went_back_moments_come_in_their_order)
{
    struct enginerig r;
    task_no late, soon;

    rig_init(&r, NULL);
    rig_advance(&r, 90 * MINUTE);
    r.now.wall_ms -= 60 * MINUTE;
    rig_advance(&r, 0);
    late = rig_submit(&r, (struct submit){ .at_wall_ms = r.now.wall_ms + 50 * MINUTE });
    soon = rig_submit(&r, (struct submit){ .at_wall_ms = r.now.wall_ms + 10 * MINUTE });
    rig_advance(&r, 10 * MINUTE);
    cr_expect_eq(rig_state(&r, soon), TASK_WAITING);
    cr_expect_eq(rig_state(&r, late), TASK_SCHEDULED);
    rig_fini(&r);
}

Test(engine, delays_and_moments_of_the_wall_enter_in_the_order_in_which_they_were_due)
{
    struct enginerig r;
    task_no at_2, in_1, in_3, at_4;

    for (unsigned restart = 0; restart < 2; restart++) {
        rig_init(&r, NULL);
        r.now.wall_ms += 7; /* the node's axis is another one from now on */
        rig_advance(&r, 0);
        at_4 = rig_submit(&r, (struct submit){ .at_wall_ms = r.now.wall_ms + 4 * MINUTE });
        in_3 = rig_submit(&r, (struct submit){ .delay_ms = 3 * MINUTE });
        at_2 = rig_submit(&r, (struct submit){ .at_wall_ms = r.now.wall_ms + 2 * MINUTE });
        in_1 = rig_submit(&r, (struct submit){ .delay_ms = MINUTE });
        if (restart)
            rig_restart(&r, 10 * MINUTE);
        else
            rig_advance(&r, 10 * MINUTE);
        rig_compare(&r);
        cr_expect_eq(rig_take(&r, NULL), in_1);
        cr_expect_eq(rig_take(&r, NULL), at_2);
        cr_expect_eq(rig_take(&r, NULL), in_3);
        cr_expect_eq(rig_take(&r, NULL), at_4);
        rig_fini(&r);
    }
}

Test(engine, what_the_wall_jumped_over_enters_as_of_the_last_turn)
{
    struct enginerig r;
    struct task_view v;
    task_no at, in;

    rig_init(&r, NULL);
    in = rig_submit(&r, (struct submit){ .delay_ms = MINUTE });
    at = rig_submit(&r, (struct submit){ .at_wall_ms = r.now.wall_ms + 9 * MINUTE });
    r.now.wall_ms += 10 * MINUTE;
    rig_advance(&r, 2 * MINUTE);
    cr_assert_eq(engine_look(&r.e, at, &v), 0);
    cr_expect_eq(v.entered_ms, RIG_START);
    cr_expect_eq(rig_take(&r, NULL), at);
    cr_expect_eq(rig_take(&r, NULL), in);
    rig_fini(&r);
}

Test(engine, a_lease_that_lapses_is_a_failed_attempt_and_the_last_one_is_the_end)
{
    struct task_rules rules;
    struct enginerig r;
    uint64_t lease, old;
    task_no no;

    rules_default(&rules);
    rules.max_attempts = 2;
    rules.retry_jitter = 0;
    rig_init(&r, &rules);
    no = rig_submit(&r, plain);
    cr_expect_eq(rig_take(&r, &old), no);
    cr_expect_eq(engine_extend(&r.e, no, old, 40000), 0);
    rig_advance(&r, 39999);
    cr_expect_eq(rig_state(&r, no), TASK_RUNNING);
    rig_advance(&r, 1);
    cr_expect_eq(rig_state(&r, no), TASK_RETRYING);
    cr_expect_eq(engine_ack(&r.e, no, old, 1), SQ_ECONFLICT);
    rig_compare(&r);
    rig_advance(&r, 999);
    cr_expect_eq(rig_take(&r, &lease), 0);
    rig_advance(&r, 1);
    cr_expect_eq(rig_take(&r, &lease), no);
    cr_expect_eq(engine_nack(&r.e, no, old, 0, &given_back), SQ_ECONFLICT);
    cr_expect_eq(engine_nack(&r.e, no, lease, 0, &given_back), 0);
    rig_flush(&r);
    cr_expect_eq(rig_state(&r, no), TASK_DEAD);
    rig_compare(&r);
    cr_expect_eq(engine_redrive(&r.e, no), 0);
    rig_flush(&r);
    cr_expect_eq(rig_take(&r, &lease), no);
    cr_expect_eq(engine_ack(&r.e, no, old, 1), SQ_ECONFLICT, "attempts begin anew, leases do not");
    cr_expect_eq(engine_ack(&r.e, no, lease, 1), 0);
    cr_expect_eq(engine_redrive(&r.e, no), SQ_ECONFLICT);
    rig_flush(&r);
    rig_compare(&r);
    rig_fini(&r);
}

/* A router took it for a worker who had gone: as if nobody had taken it, also on its last attempt. */
Test(engine, what_nobody_saw_waits_where_it_was_and_spends_no_attempt)
{
    struct task_rules rules;
    struct task_view v;
    struct enginerig r;
    uint64_t lease, other;
    task_no first, second, third;

    rules_default(&rules);
    rules.max_attempts = 1;
    rig_init(&r, &rules);
    first = rig_submit(&r, plain);
    second = rig_submit(&r, plain);
    third = rig_submit(&r, plain);
    rig_advance(&r, 10);
    cr_assert_eq(rig_take(&r, &lease), first);
    cr_assert_eq(rig_take(&r, &other), second);
    rig_advance(&r, 10);
    cr_expect_eq(engine_unseen(&r.e, first, lease + 100), SQ_ECONFLICT);
    cr_assert_eq(engine_unseen(&r.e, second, other), 0);
    cr_assert_eq(engine_unseen(&r.e, first, lease), 0);
    cr_expect_eq(engine_unseen(&r.e, first, lease), SQ_ECONFLICT, "once");
    rig_flush(&r);
    rig_compare(&r);
    cr_assert_eq(engine_look(&r.e, first, &v), 0);
    cr_expect(v.state == TASK_WAITING && v.attempts == 0 && v.position == 1);
    cr_expect_eq(v.entered_ms, RIG_START, "as old as it was");
    cr_assert_eq(engine_look(&r.e, third, &v), 0);
    cr_expect_eq(v.position, 3);
    cr_assert_eq(rig_take(&r, &lease), first);
    cr_assert_eq(rig_take(&r, &other), second);
    cr_expect_eq(engine_nack(&r.e, first, lease, 0, &given_back), 0);
    rig_flush(&r);
    cr_expect_eq(rig_state(&r, first), TASK_DEAD, "somebody saw it");
    cr_assert_eq(engine_cancel(&r.e, second), 1);
    cr_assert_eq(engine_unseen(&r.e, second, other), 0);
    rig_flush(&r);
    cr_expect_eq(rig_state(&r, second), TASK_CANCELLED, "it was to stop");
    cr_expect(!engine_was_tried(&r.e, second), "nobody can have done it");
    rig_compare(&r);
    rig_fini(&r);
}

Test(engine, the_same_again_is_the_same_task_and_another_payload_is_refused)
{
    struct submit s = { .queue = rig_text("q"), .name = rig_text("close-1"),
                        .key = rig_text("k"), .digest = 5 };
    struct enginerig r;
    task_no no, again;

    rig_init(&r, NULL);
    no = rig_submit(&r, s);
    cr_expect_eq(engine_submit(&r.e, &s, &again), 1);
    cr_expect_eq(again, no);
    s.digest = 6;
    cr_expect_eq(engine_submit(&r.e, &s, &again), SQ_ECONFLICT);
    s.digest = 5;
    s.name = rig_text("other");
    cr_expect_eq(engine_submit(&r.e, &s, &again), 1, "its key says the same");
    s.queue = rig_text("r");
    cr_expect_eq(engine_submit(&r.e, &s, &again), 0, "another queue");
    rig_flush(&r);
    rig_restart(&r, 1000);
    rig_compare(&r);
    s.queue = rig_text("q");
    s.name = rig_text("close-1");
    cr_expect_eq(engine_submit(&r.e, &s, &again), 1);
    cr_expect_eq(engine_named(&r.e, &s.queue, &s.name), no);
    cr_expect_eq(engine_cancel(&r.e, no), 0);
    rig_advance(&r, 60 * MINUTE);
    cr_expect_eq(rig_state(&r, no), TASK_FREE);
    cr_expect_eq(engine_named(&r.e, &s.queue, &s.name), 0);
    cr_expect_eq(engine_submit(&r.e, &s, &again), 1, "remembered for a day after its end");
    cr_expect_eq(again, no);
    rig_compare(&r);
    rig_advance(&r, 23 * 60 * MINUTE);
    cr_expect_eq(engine_submit(&r.e, &s, &again), 0);
    rig_fini(&r);
}

Test(engine, cancelled_means_that_no_attempt_begins)
{
    struct enginerig r;
    uint64_t lease;
    task_no no, run;

    rig_init(&r, NULL);
    no = rig_submit(&r, plain);
    cr_expect_eq(engine_cancel(&r.e, no), 0);
    cr_expect_eq(engine_cancel(&r.e, no), SQ_ECONFLICT);
    rig_flush(&r);
    cr_expect_eq(rig_take(&r, NULL), 0);
    run = rig_submit(&r, plain);
    cr_expect_eq(rig_take(&r, &lease), run);
    cr_expect_eq(engine_cancel(&r.e, run), 1);
    rig_flush(&r);
    rig_compare(&r);
    rig_restart(&r, 100);
    cr_expect_eq(engine_nack(&r.e, run, lease, 0, &given_back), 0);
    rig_flush(&r);
    cr_expect_eq(rig_state(&r, run), TASK_CANCELLED);
    rig_compare(&r);
    rig_fini(&r);
}

/* J4: who has it may go on with it. */
Test(engine, one_that_is_cancelled_by_force_holds_its_slot_until_its_lease_would_have_ended)
{
    struct enginerig r;
    struct task_rules rules;
    struct task_view v;
    uint64_t lease;
    task_no no, next;

    rules_default(&rules);
    rules.queue_at_once = 1;
    rig_init(&r, &rules);
    no = rig_submit(&r, plain);
    next = rig_submit(&r, plain);
    cr_assert_eq(rig_take(&r, &lease), no);
    cr_expect_eq(engine_cut(&r.e, no), 0);
    rig_flush(&r);
    cr_expect_eq(rig_state(&r, no), TASK_CANCELLED);
    cr_expect(engine_was_tried(&r.e, no));
    cr_expect_eq(engine_ack(&r.e, no, lease, 0), SQ_ECONFLICT, "its lease has ended");
    cr_expect_eq(engine_extend(&r.e, no, lease, 1000), SQ_ECONFLICT);
    cr_expect_eq(engine_cut(&r.e, no), SQ_ECONFLICT);
    cr_expect_eq(engine_discard(&r.e, no), SQ_ECONFLICT, "its slot would be lost");
    cr_expect_eq(rig_take(&r, NULL), 0);
    cr_assert_eq(engine_look(&r.e, no, &v), 0);
    cr_expect_eq(v.until_ms, r.e.at + (msec_t)(rules.lease_ms + rules.result_ms));
    rig_compare(&r);
    rig_restart(&r, 1000);
    rig_compare(&r);
    cr_expect_eq(rig_take(&r, NULL), 0, "also over a restart");
    rig_advance(&r, (msec_t)rules.lease_ms);
    cr_expect_eq(rig_take(&r, NULL), next);
    cr_expect_eq(rig_state(&r, no), TASK_CANCELLED);
    cr_expect(engine_was_tried(&r.e, no));
    rig_compare(&r);
    rig_advance(&r, (msec_t)rules.result_ms);
    cr_expect_eq(rig_state(&r, no), TASK_FREE);
    rig_compare(&r);
    rig_fini(&r);
}

/* Whatever ends it: its caller has a part of the answer. */
Test(engine, one_whose_answer_has_begun_to_be_passed_on_is_not_tried_again)
{
    struct enginerig r;
    struct task_rules rules;
    struct attempt a[ATTEMPTS_KEPT + 1];
    struct call_failed f = { .delay_ms = -1, .spared = true, .how.end = ATTEMPT_UNANSWERED };
    uint64_t lease;
    uint32_t earlier;

    rules_default(&rules);
    rig_init(&r, &rules);
    for (unsigned how = 0; how < 4; how++) {
        task_no no = rig_submit(&r, plain);

        cr_assert_eq(rig_take(&r, &lease), no);
        cr_expect_eq(engine_pass(&r.e, no, lease + 1), SQ_ECONFLICT);
        cr_expect_eq(engine_pass(&r.e, no, lease), 0);
        cr_expect_eq(engine_pass(&r.e, no, lease), 0, "and once more");
        cr_expect(engine_is_passed(&r.e, no, lease));
        rig_flush(&r);
        rig_compare(&r);
        if (how == 0)
            cr_expect_eq(engine_call_failed(&r.e, no, lease, &f), 0);
        if (how == 1)
            cr_expect_eq(engine_give_up(&r.e, no, lease, 2000,
                                        &(struct attempt){ .reason = "gone", .reason_len = 4 }), 0);
        rig_flush(&r);
        if (how == 3)
            rig_restart(&r, 1000);
        rig_compare(&r);
        if (how == 1) {
            rig_advance(&r, 1999);
            cr_expect_eq(engine_discard(&r.e, no), SQ_ECONFLICT, "its slot is held");
            rig_advance(&r, 2);
            cr_expect_eq(engine_discard(&r.e, no), 0, "but not as long as its lease was");
            rig_flush(&r);
            continue;
        }
        if (how >= 2)
            rig_advance(&r, (msec_t)rules.lease_ms);
        cr_expect_eq(rig_state(&r, no), TASK_DEAD, "%u", how);
        cr_assert_eq(look_at_history(&r.e, task_slot_of(no), a, &earlier), 1);
        cr_expect_eq(a[0].end, ATTEMPT_INTERRUPTED);
        rig_compare(&r);
        cr_expect_eq(engine_redrive(&r.e, no), 0);
        cr_assert_eq(rig_take(&r, &lease), no);
        cr_expect(!engine_is_passed(&r.e, no, lease), "another attempt");
        cr_expect_eq(engine_ack(&r.e, no, lease, 0), 0);
        rig_flush(&r);
        rig_compare(&r);
    }
    rig_fini(&r);
}

Test(engine, one_is_withdrawn_only_until_an_attempt_has_begun)
{
    struct enginerig r;
    uint64_t lease;
    task_no no;

    rig_init(&r, NULL);
    no = rig_submit(&r, plain);
    cr_expect_eq(engine_withdraw(&r.e, no), 0);
    cr_expect_eq(rig_state(&r, no), TASK_CANCELLED);
    no = rig_submit(&r, plain);
    cr_assert_eq(rig_take(&r, &lease), no);
    cr_expect_eq(engine_withdraw(&r.e, no), SQ_ECONFLICT);
    cr_expect_eq(engine_nack(&r.e, no, lease, 0, &given_back), 0);
    cr_expect_eq(engine_withdraw(&r.e, no), SQ_ECONFLICT, "it was begun");
    cr_expect_eq(rig_state(&r, no), TASK_RETRYING);
    cr_expect_eq(engine_withdraw(&r.e, 5), SQ_EUNKNOWN);
    rig_fini(&r);
}

Test(engine, by_force_one_that_waits_is_just_cancelled)
{
    struct enginerig r;
    task_no no;

    rig_init(&r, NULL);
    no = rig_submit(&r, plain);
    cr_expect_eq(engine_cut(&r.e, no), 0);
    cr_expect_not(engine_was_tried(&r.e, no));
    cr_expect_eq(r.e.cuts, 0);
    cr_expect_eq(engine_discard(&r.e, no), 0);
    rig_flush(&r);
    rig_compare(&r);
    rig_fini(&r);
}

Test(engine, what_waits_too_long_expires_but_not_while_the_node_stands)
{
    struct enginerig r;
    task_no no;

    rig_init(&r, NULL);
    no = rig_submit(&r, plain);
    rig_advance(&r, 100 * MINUTE);
    rig_submit(&r, plain); /* the last that the journal knows */
    rig_restart(&r, 600 * MINUTE);
    rig_advance(&r, 80 * MINUTE - 1);
    cr_expect_eq(rig_state(&r, no), TASK_WAITING);
    rig_compare(&r);
    rig_advance(&r, 1);
    cr_expect_eq(rig_state(&r, no), TASK_EXPIRED);
    rig_compare(&r);
    rig_fini(&r);
}

Test(engine, a_crash_leaves_unknown_attempts_their_slots_and_buckets_what_they_had)
{
    struct task_rules rules;
    struct enginerig r;
    struct task_view v;
    task_no no, next;

    rules_default(&rules);
    rules.key_at_once = 1;
    rules.queue_rate = 1000;
    rules.queue_burst = 2;
    rig_init(&r, &rules);
    no = rig_submit(&r, (struct submit){ .key1 = rig_text("a") });
    next = rig_submit(&r, (struct submit){ .key1 = rig_text("a") });
    cr_expect_eq(rig_take(&r, NULL), no);
    rig_restart(&r, 100);
    rig_submit(&r, (struct submit){ .key1 = rig_text("b") });
    cr_expect_neq(rig_take(&r, NULL), 0, "b: one of two was left");
    cr_assert_eq(engine_look(&r.e, next, &v), 0);
    cr_expect_eq(v.limited, CLOSED_AT_ONCE);
    cr_expect_str_eq(v.limited_by, "a");
    rig_submit(&r, (struct submit){ .key1 = rig_text("c") });
    cr_expect_eq(rig_take(&r, NULL), 0, "none is left");
    rig_advance(&r, 1000);
    cr_expect_neq(rig_take(&r, NULL), 0, "c");
    rig_advance(&r, 1000);
    cr_expect_eq(rig_take(&r, NULL), 0, "a has its slot taken until the lease ends");
    rig_advance(&r, 28000 - 100);
    cr_expect_eq(rig_state(&r, no), TASK_RETRYING);
    cr_expect_eq(rig_take(&r, NULL), next);
    rig_compare(&r);
    rig_fini(&r);
}

Test(engine, by_number_the_place_shown_is_that_of_entry)
{
    struct task_rules rules;
    struct enginerig r;
    struct task_view v;
    task_no no[5];

    rules_default(&rules);
    rules.order = ORDER_NUMBER;
    rig_init(&r, &rules);
    for (unsigned i = 0; i < 5; i++)
        no[i] = rig_submit(&r, (struct submit){ .order = 10 - (int64_t)i });
    cr_assert_eq(engine_look(&r.e, no[2], &v), 0);
    cr_expect_eq(v.position, 3);
    cr_expect_eq(engine_patch(&r.e, no[2], &(struct task_patch){ .has = PATCH_ORDER, .order = -7 }), 0);
    rig_flush(&r);
    cr_assert_eq(engine_look(&r.e, no[2], &v), 0);
    cr_expect_eq(v.position, 3);
    rig_compare(&r);
    cr_expect_eq(rig_take(&r, NULL), no[2]);
    cr_expect_eq(rig_take(&r, NULL), no[4]);
    rig_restart(&r, 5);
    cr_expect_eq(rig_take(&r, NULL), no[3]);
    rig_compare(&r);
    rig_fini(&r);
}

Test(engine, a_fenced_owner_does_nothing)
{
    struct submit s = { .queue = rig_text("q") };
    struct enginerig r;
    struct taken t;
    uint64_t lease;
    task_no no, other;

    rig_init(&r, NULL);
    no = rig_submit(&r, plain);
    rig_submit(&r, plain);
    cr_assert_eq(rig_take(&r, &lease), no);
    engine_fence(&r.e, true);
    cr_expect_eq(engine_take(&r.e, &s.queue, 1, 0, &t), SQ_ESTALE);
    cr_expect_eq(engine_submit(&r.e, &s, &other), SQ_ESTALE);
    cr_expect_eq(engine_ack(&r.e, no, lease, 1), SQ_ESTALE);
    cr_expect_eq(engine_cancel(&r.e, no), SQ_ESTALE);
    rig_advance(&r, 100 * MINUTE);
    cr_expect_eq(rig_state(&r, no), TASK_RUNNING);
    cr_expect_eq(r.e.log.len, 0);
    rig_fini(&r);
}

Test(engine, rules_are_checked_and_take_effect_at_once)
{
    struct task_rules rules;
    struct enginerig r;

    rules_default(&rules);
    cr_expect_null(rules_check(&rules));
    rules.max_attempts = 0;
    cr_expect_str_eq(rules_check(&rules), "max_attempts");
    rules.max_attempts = 63;
    cr_expect_str_eq(rules_check(&rules), "max_attempts");
    rules_default(&rules);
    rules.queue_at_once = 1;
    rig_init(&r, &rules);
    rig_submit(&r, plain);
    rig_submit(&r, plain);
    cr_expect_neq(rig_take(&r, NULL), 0);
    cr_expect_eq(rig_take(&r, NULL), 0);
    rules.queue_at_once = 2;
    cr_expect_eq(engine_define(&r.e, "*", &rules), 0);
    rig_flush(&r);
    cr_expect_neq(rig_take(&r, NULL), 0);
    rig_compare(&r);
    rules.max_attempts = 0;
    cr_expect_eq(engine_define(&r.e, "*", &rules), SQ_EINVAL);
    rig_fini(&r);
}

Test(engine, what_is_out_of_range_is_refused_and_leaves_nothing)
{
    struct submit s = { .queue = rig_text("q"), .key2 = rig_text("b") };
    struct enginerig r;
    task_no no;

    rig_init(&r, NULL);
    cr_expect_eq(engine_submit(&r.e, &s, &no), SQ_EINVAL, "a key below none");
    s = (struct submit){ .queue = rig_text("q"), .priority = 8 };
    cr_expect_eq(engine_submit(&r.e, &s, &no), SQ_EINVAL);
    s = (struct submit){ .queue = rig_text("q"), .delay_ms = DELAY_MAX_MS + 1 };
    cr_expect_eq(engine_submit(&r.e, &s, &no), SQ_EINVAL);
    s = (struct submit){ .queue = rig_text("") };
    cr_expect_eq(engine_submit(&r.e, &s, &no), SQ_EINVAL);
    cr_expect_eq(r.e.queues_now + r.e.log.len, 0);
    rig_fini(&r);
}

/* J21, and R10: small queues. */
Test(engine, a_task_costs_at_most_64_bytes)
{
    struct enginerig r;
    char name[32];

    rig_init(&r, NULL);
    for (unsigned i = 0; i < 99840; i++) /* whole pages */
        rig_submit(&r, (struct submit){ .delay_ms = i % 3 == 0 ? 3600000 : 0 });
    cr_expect_leq(engine_bytes(&r.e), 99840ull * 64, "%lu", engine_bytes(&r.e) / 99840);
    rig_fini(&r);
    rig_init(&r, NULL);
    for (unsigned i = 0; i < 50000; i++) {
        snprintf(name, sizeof(name), "ride/%u", i / 10);
        rig_submit(&r, (struct submit){ .queue = rig_text(name) });
    }
    cr_expect_eq(r.e.queues_now, 5000);
    cr_expect_leq(engine_bytes(&r.e), 50000ull * 110, "%lu", engine_bytes(&r.e) / 50000);
    rig_fini(&r);
}

static void expect_eta(struct enginerig *r, task_no no, enum task_eta by, int64_t ms)
{
    struct task_view v;

    cr_assert_eq(engine_look(&r->e, no, &v), 0);
    cr_expect_eq(v.eta, by, "%d", v.eta);
    cr_expect_eq(v.eta_ms, ms, "%lld", (long long)v.eta_ms);
}

/* A minute in which nobody waited is no pace, and a rate that binds says from the first second how long it is. */
Test(engine, idle_time_is_no_pace_of_a_line)
{
    struct task_rules rules;
    struct task_view v;
    struct enginerig r;
    uint64_t lease;
    task_no no[28];

    rules_default(&rules);
    rules.queue_rate = 5000; /* five a second */
    rules.queue_burst = 1;
    rig_init(&r, &rules);
    for (unsigned i = 0; i < 3; i++) { /* now and then one, which starts at once */
        no[0] = rig_submit(&r, (struct submit){ 0 });
        cr_assert_eq(rig_take(&r, &lease), no[0]);
        cr_assert_eq(engine_ack(&r.e, no[0], lease, 0), 0);
        rig_advance(&r, 20000);
    }
    for (unsigned i = 0; i < ARRAY_LEN(no); i++)
        no[i] = rig_submit(&r, (struct submit){ 0 });
    cr_assert_eq(rig_take(&r, NULL), no[0]);
    cr_assert_eq(engine_look(&r.e, no[27], &v), 0);
    cr_expect_leq(v.eta_ms, 5600, "%lld", (long long)v.eta_ms);
    cr_expect_geq(v.eta_ms, 5000, "%lld", (long long)v.eta_ms);
    for (unsigned i = 1; i < 15; i++) {
        rig_advance(&r, 200);
        cr_assert_eq(rig_take(&r, NULL), no[i]);
        cr_assert_eq(engine_look(&r.e, no[27], &v), 0);
        cr_expect_float_eq((double)v.eta_ms, 200.0 * (27 - i), 800, "%u: %lld", i, (long long)v.eta_ms);
    }
    rig_fini(&r);
}

Test(engine, a_place_counts_those_that_go_before_by_priority)
{
    struct task_rules rules;
    struct task_view v;
    struct enginerig r;
    task_no vip;

    rules_default(&rules);
    rig_init(&r, &rules);
    for (unsigned i = 0; i < 28; i++)
        (void)rig_submit(&r, (struct submit){ 0 });
    vip = rig_submit(&r, (struct submit){ .priority = 7 });
    cr_assert_eq(engine_look(&r.e, vip, &v), 0);
    cr_expect_eq(v.position, 1, "%llu", (unsigned long long)v.position);
    cr_expect_eq(rig_take(&r, NULL), vip);
    rig_fini(&r);
}

Test(engine, the_start_is_reckoned_by_delay_pace_and_rate)
{
    struct task_rules rules;
    struct enginerig r;
    task_no no[31];

    rules_default(&rules);
    rules.key_rate = 100; /* one in ten seconds */
    rules.key_burst = 1;
    rig_init(&r, &rules);
    expect_eta(&r, rig_submit(&r, (struct submit){ .delay_ms = 3600000 }), TASK_ETA_DELAY, 3600000);
    for (unsigned i = 0; i < ARRAY_LEN(no); i++)
        no[i] = rig_submit(&r, (struct submit){ 0 });
    expect_eta(&r, no[0], TASK_ETA_NO_WORKER, -1);
    for (unsigned i = 0; i < 10; i++) { /* one a second */
        cr_assert_eq(rig_take(&r, NULL), no[i]);
        rig_advance(&r, 1000);
    }
    expect_eta(&r, no[10], TASK_ETA_PACE, 1000);
    expect_eta(&r, no[30], TASK_ETA_PACE, 21000);
    while (rig_take(&r, NULL) != 0)
        ;
    for (unsigned i = 0; i < 3; i++)
        no[i] = rig_submit(&r, (struct submit){ .key1 = rig_text("a") });
    cr_assert_eq(rig_take(&r, NULL), no[0]);
    expect_eta(&r, no[1], TASK_ETA_RATE, 10000);
    expect_eta(&r, no[2], TASK_ETA_RATE, 20000);
    rig_advance(&r, 61000);
    expect_eta(&r, no[2], TASK_ETA_NO_WORKER, -1);
    rig_fini(&r);
}

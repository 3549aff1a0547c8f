/* test_task_settle.c: what a call took is known when its answer is there: rates and shares are charged the
 * difference to what it was started for, or given it back. */
#include "tests/unit/task/enginerig.h"

struct begun {
    task_no no;
    uint64_t lease;
};

static task_no submit(struct enginerig *r, const char *key, uint64_t cost)
{
    const char *slash = strchr(key, '/');
    struct submit s = { .key1 = { key, (uint32_t)(slash != NULL ? slash - key : (long)strlen(key)) },
                        .key2 = rig_text(slash != NULL ? slash + 1 : ""), .own = { .cost = cost > 1 ? cost + 1 : 0 } };

    return rig_submit(r, s);
}

static struct begun begin(struct enginerig *r)
{
    struct begun b = { 0 };

    b.no = rig_take(r, &b.lease);
    return b;
}

static void settle(struct enginerig *r, struct begun b, uint64_t units)
{
    cr_assert_eq(engine_settle(&r->e, b.no, b.lease, units), 0);
    rig_flush(r);
}

static void ends(struct enginerig *r, struct begun b, uint64_t units)
{
    settle(r, b, units);
    cr_assert_eq(engine_ack(&r->e, b.no, b.lease, 0), 0);
    rig_flush(r);
}

static int64_t used(struct enginerig *r, task_no no)
{
    struct task_view v;

    cr_assert_eq(engine_look(&r->e, no, &v), 0);
    return v.is_settled ? (int64_t)v.cost_used : -1;
}

static void limited(struct enginerig *r, uint64_t units, uint64_t room)
{
    struct task_rules rules;

    rules_default(&rules);
    rules.key_units_1 = units, rules.key_per_1 = PER_MINUTE, rules.key_room_1 = room;
    rules.queue_units_2 = 0;
    rules.queue_units_1 = units * 10, rules.queue_per_1 = PER_MINUTE, rules.queue_room_1 = room * 10;
    rig_init(r, &rules);
}

Test(task_settle, more_is_charged)
{
    struct enginerig r;
    struct begun b;

    limited(&r, 60, 100); /* one a second */
    submit(&r, "a", 10);
    submit(&r, "a", 60);
    b = begin(&r);
    cr_assert_neq(b.no, 0);
    settle(&r, b, 50);
    cr_expect_eq(used(&r, b.no), 50);
    cr_expect_eq(begin(&r).no, 0, "50 are left");
    rig_advance(&r, 9999);
    cr_expect_eq(begin(&r).no, 0);
    rig_advance(&r, 1);
    cr_expect_neq(begin(&r).no, 0);
    rig_compare(&r);
    rig_fini(&r);
}

Test(task_settle, less_is_given_back_and_what_waits_for_it_starts)
{
    struct enginerig r;
    struct begun b;

    limited(&r, 60, 100);
    submit(&r, "a", 90);
    submit(&r, "a", 40);
    submit(&r, "a", 50);
    b = begin(&r);
    cr_expect_eq(begin(&r).no, 0, "10 are left");
    ends(&r, b, 40);
    cr_expect_neq(begin(&r).no, 0, "60 are");
    cr_expect_eq(begin(&r).no, 0, "20 are");
    rig_advance(&r, 29999);
    cr_expect_eq(begin(&r).no, 0);
    rig_advance(&r, 1);
    cr_expect_neq(begin(&r).no, 0, "not one unit more than was taken too much");
    rig_compare(&r);
    rig_fini(&r);
}

Test(task_settle, no_more_is_given_back_than_goes_into_the_bucket)
{
    struct enginerig r;
    struct begun b;

    limited(&r, 6000, 100);
    submit(&r, "a", 90);
    b = begin(&r);
    rig_advance(&r, 800);
    ends(&r, b, 0);
    submit(&r, "a", 100);
    submit(&r, "a", 1);
    cr_expect_neq(begin(&r).no, 0);
    cr_expect_eq(begin(&r).no, 0);
    rig_fini(&r);
}

Test(task_settle, the_newest_word_counts_and_the_same_again_is_nothing)
{
    struct enginerig r;
    struct begun b;
    size_t n;

    limited(&r, 60, 100);
    submit(&r, "a", 10);
    submit(&r, "a", 81);
    b = begin(&r);
    settle(&r, b, 60);
    n = r.journal.len;
    settle(&r, b, 60);
    cr_expect_eq(r.journal.len, n);
    cr_expect_eq(begin(&r).no, 0);
    settle(&r, b, 20);
    cr_expect_eq(begin(&r).no, 0, "80 are left");
    settle(&r, b, 19);
    cr_expect_neq(begin(&r).no, 0);
    cr_expect_eq(r.e.settled.more, 50);
    cr_expect_eq(r.e.settled.back, 41);
    cr_expect_eq(engine_settle(&r.e, b.no, b.lease + 1, 5), SQ_ECONFLICT, "another attempt's");
    cr_expect_eq(engine_settle(&r.e, b.no, b.lease, TASK_COST_MAX + 1ull), SQ_EINVAL);
    rig_compare(&r);
    rig_fini(&r);
}

/* Units that were taken in truth: 'a' says wrong ones, 'b' true ones. */
static void share(uint64_t said, uint64_t truth, uint64_t had[128])
{
    struct enginerig r;
    struct task_view v;

    rig_init(&r, NULL);
    for (unsigned i = 0; i < 3000; i++) {
        submit(&r, "a", said);
        submit(&r, "b", 10);
    }
    for (unsigned i = 0; i < 3000; i++) {
        struct begun b = begin(&r);
        uint64_t units;

        cr_assert_eq(engine_look(&r.e, b.no, &v), 0);
        units = v.key1[0] == 'a' ? truth : 10;
        had[(unsigned char)v.key1[0]] += units;
        ends(&r, b, units);
    }
    cr_assert_null(tree_check(&r.e.tree));
    rig_fini(&r);
}

Test(task_settle, shares_are_of_true_units)
{
    static const uint64_t v[][2] = { { 100, 10 }, { 1, 10 }, { 10, 100 }, { 1000, 1 }, { 1, 300 } };

    for (unsigned i = 0; i < ARRAY_LEN(v); i++) {
        uint64_t had[128] = { 0 }, last = 2 * (v[i][0] + v[i][1] + 10);

        share(v[i][0], v[i][1], had);
        cr_expect(had['a'] + last >= had['b'] && had['b'] + last >= had['a'], "said %lu, took %lu: %lu beside %lu",
                  v[i][0], v[i][1], had['a'], had['b']);
    }
}

Test(task_settle, a_key_that_was_alone_stores_up_no_head_start)
{
    struct enginerig r;
    struct begun b[200];
    unsigned of_a = 0;

    rig_init(&r, NULL);
    for (unsigned i = 0; i < 1200; i++)
        submit(&r, "a", 100);
    for (unsigned i = 0; i < 200; i++)
        b[i] = begin(&r);
    for (unsigned i = 0; i < 200; i++)
        ends(&r, b[i], 1);
    for (unsigned i = 0; i < 1000; i++)
        submit(&r, "b", 1);
    for (unsigned i = 0; i < 1000; i++) {
        struct begun n = begin(&r);
        struct task_view v;

        cr_assert_eq(engine_look(&r.e, n.no, &v), 0);
        of_a += v.key1[0] == 'a';
        ends(&r, n, 1);
    }
    cr_expect(of_a >= 499 && of_a <= 601, "but for what one of its tasks paid: %u", of_a);
    rig_fini(&r);
}

/* kill -9 before its record is as if it had not been said; behind it, it is said once. */
Test(task_settle, it_outlives_a_kill_once)
{
    for (int snapshot = 0; snapshot < 2; snapshot++) {
        struct enginerig r;
        struct begun b, lost;

        limited(&r, 60, 100);
        submit(&r, "a", 10);
        submit(&r, "a", 10);
        b = begin(&r);
        lost = begin(&r);
        ends(&r, b, 300);
        cr_expect_eq(engine_settle(&r.e, lost.no, lost.lease, 1000), 0);
        engine_log_reset(&r.e); /* never written */
        if (snapshot) {
            settle(&r, lost, 10);
            buf_reset(&r.journal);
            engine_snapshot(&r.e, &r.journal);
        }
        rig_restart(&r, 10);
        cr_expect_eq(used(&r, b.no), 300);
        cr_expect_eq(used(&r, lost.no), snapshot ? 10 : -1);
        cr_expect_eq(r.e.settled.more - r.e.settled.back, 290, "J24: %lu", r.e.settled.more);
        if (!snapshot) {
            ends(&r, lost, 20);
            cr_expect_eq(r.e.settled.more, 300, "J24");
        }
        rig_compare(&r);
        rig_fini(&r);
    }
}

Test(task_settle, what_did_not_begin_is_given_back)
{
    const struct call_failed refused = { .delay_ms = 0, .spared = true, .how = { .end = ATTEMPT_STATUS } };
    const struct call_failed broken = { .delay_ms = 0, .how = { .end = ATTEMPT_STATUS } };
    struct enginerig r;
    struct begun b;

    limited(&r, 60, 100);
    submit(&r, "a", 100);
    for (unsigned i = 0; i < 3; i++) {
        b = begin(&r);
        cr_assert_neq(b.no, 0, "nobody saw it, or the target refused it");
        cr_assert_eq(i == 0 ? engine_unseen(&r.e, b.no, b.lease)
                     : i == 1 ? engine_call_failed(&r.e, b.no, b.lease, &refused)
                              : engine_call_failed(&r.e, b.no, b.lease, &broken), 0);
        rig_flush(&r);
        cr_expect_eq(used(&r, b.no), -1);
        rig_advance(&r, 1);
    }
    cr_expect_eq(begin(&r).no, 0, "the target may have done its work");
    cr_expect_eq(r.e.settled.back, 200);
    rig_advance(&r, 100000);
    b = begin(&r);
    settle(&r, b, 7);
    cr_assert_eq(engine_call_failed(&r.e, b.no, b.lease, &refused), 0);
    rig_flush(&r);
    cr_expect_eq(r.e.settled.back, 293, "it said what it took");
    rig_compare(&r);
    rig_fini(&r);
}

/* From the journal, from a snapshot, and from a snapshot of which the task has gone. */
Test(task_settle, what_is_owed_outlives_a_kill)
{
    for (int how = 0; how < 3; how++) {
        struct enginerig r;
        struct begun b[5];

        limited(&r, 60, 10); /* one a second, 10 at once; ten times as much of the queue */
        for (unsigned i = 0; i < 10; i++)
            submit(&r, "a/b", 1);
        for (unsigned i = 0; i < 5; i++)
            b[i] = begin(&r);
        for (unsigned i = 0; i < 5; i++)
            ends(&r, b[i], 9); /* none beyond the bucket: 45 of 10 are gone */
        if (how == 2) {
            struct trec_text q = rig_text("q");
            struct task_filter f = { .queue = q, .states = 1u << TASK_SUCCEEDED };
            task_no no[8];
            task_slot at = 0;
            unsigned n = engine_list(&r.e, &f, &at, no, 8);

            for (unsigned i = 0; i < n; i++)
                cr_assert_eq(engine_discard(&r.e, no[i]), 0);
            rig_flush(&r);
        }
        if (how > 0) {
            buf_reset(&r.journal);
            engine_snapshot(&r.e, &r.journal);
        }
        rig_restart(&r, 1000);
        rig_advance(&r, 34000);
        cr_expect_eq(begin(&r).no, 0, "J23, J24: 35 are owed, and one is needed (%d)", how);
        rig_advance(&r, 1000);
        cr_expect_neq(begin(&r).no, 0, "%d", how);
        rig_fini(&r);
    }
}

/* Its limiter is there without a task, until that is paid back. */
Test(task_settle, a_key_without_tasks_owes_what_it_owed_over_a_snapshot)
{
    struct enginerig r;
    struct begun b;
    struct trec_text k = rig_text("a"), none = rig_text(""), q = rig_text("q");

    limited(&r, 60, 10);
    submit(&r, "a", 1);
    b = begin(&r);
    ends(&r, b, 31);
    cr_assert_eq(engine_discard(&r.e, b.no), 0);
    rig_flush(&r);
    buf_reset(&r.journal);
    engine_snapshot(&r.e, &r.journal);
    rig_restart(&r, 1);
    submit(&r, "a", 1);
    cr_expect_neq(tqueue_limiter(&r.e, &q, &k, &none), 0);
    rig_advance(&r, 21000);
    cr_expect_eq(begin(&r).no, 0, "21 are owed, and one is needed");
    rig_advance(&r, 1000);
    cr_expect_neq(begin(&r).no, 0);
    rig_advance(&r, 60000);
    rig_fini(&r);
}

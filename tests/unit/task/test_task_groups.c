/* test_task_groups.c: counts of a group are those of its tasks, also of those that have gone; sealed,
 * over, told; cancelled, some with each turn; forgotten. */
#include "tests/unit/task/enginerig.h"

#include "task/engine/change.h"

static const struct attempt back_ = { .end = ATTEMPT_GIVEN_BACK };

static struct submit in(const char *group)
{
    return (struct submit){ .group = rig_text(group) };
}

static const struct group *group(struct enginerig *r, const char *name)
{
    struct trec_text q = rig_text("q"), n = rig_text(name);

    return engine_group(&r->e, &q, &n);
}

static int seal(struct enginerig *r, const char *name, bool cancel)
{
    struct trec_text q = rig_text("q"), n = rig_text(name);
    int rc = cancel ? engine_group_cancel(&r->e, &q, &n) : engine_group_seal(&r->e, &q, &n);

    rig_flush(r);
    return rc;
}

static bool advance(struct enginerig *r, unsigned most)
{
    bool more = engine_groups_advance(&r->e, most);

    rig_flush(r);
    return more;
}

Test(groups, counts_are_those_of_its_tasks_and_of_those_that_have_gone)
{
    struct submit late = in("b"), other = { .queue = rig_text("r"), .group = rig_text("b") };
    struct enginerig r;
    uint64_t lease;
    task_no no;

    rig_init(&r, NULL);
    (void)rig_submit(&r, in("b"));
    (void)rig_submit(&r, in("b"));
    (void)rig_submit(&r, (struct submit){ .priority = 1 });
    late.delay_ms = 1000;
    (void)rig_submit(&r, late);
    (void)rig_submit(&r, other);
    cr_expect(group(&r, "b")->n[TASK_WAITING] == 2 && group(&r, "b")->n[TASK_SCHEDULED] == 1);
    cr_expect_eq(r.e.groups.n, 2, "one of each queue");
    rig_compare(&r);
    for (int i = 0; i < 3; i++) {
        no = rig_take(&r, &lease);
        cr_expect_eq(engine_ack(&r.e, no, lease, 0), 0);
        rig_flush(&r);
        cr_expect_eq(engine_discard(&r.e, no), 0);
        rig_flush(&r);
    }
    cr_expect_eq(group(&r, "b")->n[TASK_SUCCEEDED], 2);
    cr_expect_eq(group_open(group(&r, "b")), 1);
    rig_compare(&r);
    rig_restart(&r, 10);
    cr_expect_eq(group(&r, "b")->n[TASK_SUCCEEDED], 2);
    rig_advance(&r, 1000);
    no = rig_take(&r, &lease);
    cr_expect_eq(group(&r, "b")->n[TASK_RUNNING], 1);
    cr_expect_geq(engine_nack(&r.e, no, lease, 5, &back_), 0);
    rig_flush(&r);
    cr_expect_eq(group(&r, "b")->n[TASK_RETRYING], 1);
    rig_compare(&r);
    rig_fini(&r);
}

Test(groups, a_sealed_one_lets_nobody_in_and_is_over_with_its_last)
{
    struct submit again = in("b");
    struct enginerig r;
    uint64_t lease;
    task_no no, same;

    rig_init(&r, NULL);
    cr_expect_eq(seal(&r, "b", false), SQ_EUNKNOWN);
    again.key = rig_text("k");
    again.unique = rig_text("u");
    no = rig_submit(&r, again);
    cr_expect_not(group_is_over(group(&r, "b")));
    cr_expect_eq(seal(&r, "b", false), 0);
    cr_expect_eq(seal(&r, "b", false), 1);
    cr_expect_eq(engine_submit(&r.e, &(struct submit){ .queue = rig_text("q"), .group = rig_text("b") }, &same),
                 SQ_ESEALED);
    again.queue = rig_text("q");
    cr_expect_eq(engine_submit(&r.e, &again, &same), 1, "the same again is there");
    cr_expect_eq(same, no);
    again.key = rig_text("");
    cr_expect_eq(engine_submit(&r.e, &again, &same), 1, "so is who has its unique key");
    cr_expect_eq(same, no);
    rig_flush(&r);
    rig_restart(&r, 0);
    cr_expect_not(group_is_over(group(&r, "b")));
    cr_expect_eq(rig_take(&r, &lease), no);
    cr_expect_eq(engine_ack(&r.e, no, lease, 0), 0);
    rig_flush(&r);
    cr_expect(group_is_over(group(&r, "b")));
    rig_compare(&r);
    rig_fini(&r);
}

Test(groups, a_cancel_goes_on_in_steps_and_over_a_restart)
{
    struct enginerig r;
    uint64_t lease;

    rig_init(&r, NULL);
    for (int i = 0; i < 20; i++)
        (void)rig_submit(&r, in("b"));
    (void)rig_take(&r, &lease);
    cr_expect_eq(seal(&r, "b", true), 0);
    cr_expect_eq(engine_groups_idle_ms(&r.e, r.now.ms), 0);
    cr_expect(advance(&r, 5));
    cr_expect_eq(group(&r, "b")->n[TASK_CANCELLED], 5);
    rig_restart(&r, 10);
    while (advance(&r, 7))
        continue;
    cr_expect(group(&r, "b")->n[TASK_CANCELLED] == 19 && group(&r, "b")->n[TASK_RUNNING] == 1);
    cr_expect_eq(group(&r, "b")->flags, GROUP_SEALED);
    cr_expect_neq(engine_groups_idle_ms(&r.e, r.now.ms), 0);
    rig_compare(&r);
    rig_fini(&r);
}

/* The partition begins anew at another node, from its snapshot. */
static void move(struct enginerig *r)
{
    struct buf snap;

    buf_init(&snap);
    engine_snapshot(&r->e, &snap);
    buf_reset(&r->journal);
    buf_append(&r->journal, snap.data, snap.len);
    buf_fini(&snap);
    rig_restart(r, 0);
}

Test(groups, a_cancel_goes_on_at_another_node_with_the_snapshot)
{
    struct enginerig r;

    rig_init(&r, NULL);
    for (int i = 0; i < 20; i++)
        (void)rig_submit(&r, in("b"));
    cr_expect_eq(seal(&r, "b", true), 0);
    cr_expect(advance(&r, 5));
    move(&r);
    cr_expect_eq(group(&r, "b")->flags, GROUP_SEALED | GROUP_CANCELLING);
    while (advance(&r, 7))
        continue;
    cr_expect_eq(group(&r, "b")->n[TASK_CANCELLED], 20);
    cr_expect_eq(group(&r, "b")->flags, GROUP_SEALED);
    rig_compare(&r);
    rig_fini(&r);
}

Test(groups, a_redriven_one_makes_it_open_again)
{
    struct submit s = in("b");
    struct enginerig r;
    uint64_t lease;
    task_no no;

    rig_init(&r, NULL);
    s.own.max_attempts = 2;
    no = rig_submit(&r, s);
    cr_expect_eq(seal(&r, "b", false), 0);
    (void)rig_take(&r, &lease);
    cr_expect_geq(engine_nack(&r.e, no, lease, -1, &back_), 0);
    rig_flush(&r);
    cr_expect(group_is_over(group(&r, "b")) && group(&r, "b")->n[TASK_DEAD] == 1);
    cr_expect_eq(engine_redrive(&r.e, no), 0);
    rig_flush(&r);
    cr_expect(!group_is_over(group(&r, "b")) && group(&r, "b")->n[TASK_DEAD] == 0);
    rig_compare(&r);
    rig_fini(&r);
}

Test(groups, one_without_tasks_goes_after_a_day)
{
    struct enginerig r;
    task_no no;

    rig_init(&r, NULL);
    no = rig_submit(&r, in("b"));
    cr_expect_eq(engine_cancel(&r.e, no), 0);
    cr_expect_eq(engine_discard(&r.e, no), 0);
    rig_flush(&r);
    rig_advance(&r, GROUP_KEPT_MS - 1000);
    cr_expect_not(advance(&r, 100));
    cr_expect_eq(engine_groups_idle_ms(&r.e, r.now.ms), 1000);
    rig_compare(&r);
    rig_restart(&r, 0);
    cr_expect_not_null(group(&r, "b"));
    rig_advance(&r, 1000);
    (void)advance(&r, 100);
    cr_expect_null(group(&r, "b"));
    cr_expect(r.e.groups.n == 0 && r.e.groups.kept == 0);
    (void)rig_submit(&r, in("c"));
    rig_compare(&r);
    rig_fini(&r);
}

Test(groups, their_number_has_a_bound)
{
    struct submit s = in("new");
    struct enginerig r;
    task_no no;

    rig_init(&r, NULL);
    (void)rig_submit(&r, in("old"));
    s.queue = rig_text("q");
    r.e.groups.n += GROUPS_MAX - 1;
    cr_expect_eq(engine_submit(&r.e, &s, &no), SQ_EFULL);
    cr_expect_eq(r.e.full, FULL_GROUPS);
    (void)rig_submit(&r, in("old"));
    r.e.groups.n -= GROUPS_MAX - 1;
    cr_expect_eq(engine_submit(&r.e, &s, &no), 0);
    rig_fini(&r);
}

/* A task with a group costs twelve bytes more, in pages of 256; one without nothing. */
Test(groups, a_task_of_a_group_costs_twelve_bytes)
{
    struct enginerig r;
    uint64_t before;

    rig_init(&r, NULL);
    for (int i = 0; i < 10000; i++)
        (void)rig_submit(&r, (struct submit){ .priority = 0 });
    cr_expect_eq(pages_bytes(&r.e.groups.members), 0);
    before = groups_bytes(&r.e.groups);
    for (int i = 0; i < 10000; i++)
        (void)rig_submit(&r, in("b"));
    cr_expect_leq(groups_bytes(&r.e.groups) - before, 10000 * 13 + 8192);
    rig_fini(&r);
}

/* test_task_first.c: the first tasks of a queue are listed as takes would start them, and stay where
 * they are. With limits, moves and crashes: sim_tasks (J34). */
#include "tests/unit/task/enginerig.h"

#include "common/base/rng.h"
#include "task/engine/worker.h"

#define MOST 100u

static task_no got[MOST];

static struct first_tasks first(struct enginerig *r)
{
    struct trec_text q = rig_text("q");
    struct first_tasks f;

    cr_assert_eq(engine_first(&r->e, &q, MOST, got, &f), 0);
    cr_assert_null(tree_check(&r->e.tree), "%s", tree_check(&r->e.tree));
    return f;
}

static task_no put(struct enginerig *r, const char *key)
{
    return rig_submit(r, (struct submit){ .key1 = rig_text(key) });
}

Test(task_first, what_stops_the_queue_says_when_and_not_in_which_order)
{
    struct task_rules rules;
    struct first_tasks f;
    struct enginerig r;
    task_no want[6];

    rules_default(&rules);
    rules.queue_rate = 1000;
    rules.queue_burst = 2;
    rig_init(&r, &rules);
    for (unsigned i = 0; i < 6; i++)
        want[i % 3 * 2 + i / 3] = put(&r, i < 3 ? "a" : "b");
    f = first(&r);
    cr_expect(f.n == 6 && f.now == 2 && f.waiting == 6 && !f.cut, "%u, %u now", f.n, f.now);
    cr_expect_arr_eq(got, want, sizeof(want));
    for (unsigned i = 0; i < 6; i++) {
        if (i >= 2)
            rig_advance(&r, 1000);
        cr_expect_eq(rig_take(&r, NULL), want[i]);
    }
    cr_expect_eq(first(&r).n, 0);
    rig_fini(&r);
}

Test(task_first, of_a_key_that_is_stopped_those_are_listed_that_may_start)
{
    struct task_rules rules;
    struct first_tasks f;
    struct enginerig r;
    task_no a, run;

    rules_default(&rules);
    rules.key_at_once = 1;
    rig_init(&r, &rules);
    a = put(&r, "a");
    (void)put(&r, "a");
    (void)put(&r, "b");
    run = put(&r, "b");
    cr_assert_eq(engine_run(&r.e, run), 0);
    rig_flush(&r);
    f = first(&r);
    cr_expect(f.n == 2 && f.now == 2 && f.waiting == 4, "%u, %u now", f.n, f.now);
    cr_expect(got[0] == run && got[1] == a, "it holds the slot of its key");
    cr_expect_eq(rig_take(&r, NULL), run);
    cr_expect_eq(rig_take(&r, NULL), a);
    cr_expect_eq(rig_take(&r, NULL), 0);
    rig_fini(&r);
}

static void draw(struct rng *g, struct submit *s)
{
    static const char *const keys[] = { "", "a", "b", "c", "d", "e" };

    *s = (struct submit){ .key1 = rig_text(keys[rng_below(g, 6)]), .priority = (uint8_t)rng_below(g, 3),
                          .order = (int64_t)rng_below(g, 20) };
    if (s->key1.n > 0)
        s->key2 = rig_text(keys[rng_below(g, 6)]);
    if (rng_chance(g, 0.3))
        s->own.cost = 2 + rng_below(g, 30);
}

/* Two partitions hear the same; of one the first tasks are asked again and again. */
static void looked_at(enum task_order order, bool units)
{
    struct enginerig r, other;
    struct task_rules rules;
    struct rng g;

    rng_seed(&g, 7 + (uint64_t)order);
    rules_default(&rules);
    rules.order = order;
    rules.key_units_1 = units ? 60 : 0;
    rules.key_at_once = units ? 0 : 4;
    rig_init(&r, &rules);
    rig_init(&other, &rules);
    for (unsigned i = 0; i < 3000; i++) {
        struct submit s;
        task_no no;

        draw(&g, &s);
        cr_assert_eq(rig_submit(&r, s), rig_submit(&other, s));
        (void)first(&r);
        if (i % 7 == 0) {
            rig_advance(&r, 400);
            rig_advance(&other, 400);
        }
        for (unsigned k = 0; rng_chance(&g, 0.55) && k < 4; k++) {
            struct first_tasks f = first(&r);
            uint64_t lease, other_lease;

            no = rig_take(&r, &lease);
            cr_assert_eq(no, f.now > 0 ? got[0] : 0);
            cr_assert_eq(rig_take(&other, &other_lease), no, "the look has changed something");
            if (no == 0 || rng_chance(&g, 0.3))
                continue;
            cr_assert_eq(engine_ack(&r.e, no, lease, 0), 0);
            cr_assert_eq(engine_ack(&other.e, no, other_lease, 0), 0);
        }
    }
    cr_expect_eq(engine_digest(&r.e), engine_digest(&other.e));
    rig_fini(&r);
    rig_fini(&other);
}

Test(task_first, a_look_changes_nothing)
{
    looked_at(ORDER_START, false);
    looked_at(ORDER_START, true);
    looked_at(ORDER_NUMBER, false);
    looked_at(ORDER_NUMBER, true);
    looked_at(ORDER_STRICT, true);
}

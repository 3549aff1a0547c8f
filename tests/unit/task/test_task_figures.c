/* test_task_figures.c: figures of single queues, for /metrics (task/node/busiest.h). */
#include "tests/unit/task/tablerig.h"

#include "task/node/busiest.h"

TestSuite(task_figures, .init = setup, .fini = teardown);

static struct key_view v[3 + BUSIEST_MAX];

static void put_some(part_no part, const char *queue, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        cr_assert_eq(put_at(part, 8, queue, "x").code, CODE_DONE);
}

/* The busiest of the node, over its partitions, most of them first; what they have now, not when they were chosen. */
Test(task_figures, the_busiest_queues_have_figures_of_their_own)
{
    t->o.busiest = 2;
    open_part(3, 8);
    open_part(4, 8);
    put_some(3, "q1", 1);
    put_some(3, "q3", 3);
    put_some(4, "q2", 2);
    pass(1000);
    cr_assert_eq(tasktab_queue_views(t, NULL, 0, v), 2);
    cr_expect_str_eq(v[0].key1, "q3");
    cr_expect_eq(v[0].waiting, 3);
    cr_expect_str_eq(v[1].key1, "q2");
    cr_assert_eq(take(RTR, "q3", 2, 0)->n, 2);
    cr_assert_eq(tasktab_queue_views(t, NULL, 0, v), 2);
    cr_expect_str_eq(v[0].key1, "q2");
    cr_expect_eq(v[1].waiting, 1);
    cr_expect_eq(v[1].running, 2);
    put_some(3, "q1", 5);
    pass(1000);
    cr_assert_eq(tasktab_queue_views(t, NULL, 0, v), 2);
    cr_expect_str_eq(v[0].key1, "q1");
    cr_expect_eq(v[0].waiting, 6);
}

/* A named one always, once, also where it has no task here; nor does it cost one of the busiest its place. */
Test(task_figures, queues_that_an_operator_named_have_them_always)
{
    static const char names[][TASK_NAME_MAX + 1] = { "q9", "q1" };

    t->o.busiest = 1;
    open_part(3, 8);
    put_some(3, "q1", 3);
    pass(1000);
    cr_assert_eq(tasktab_queue_views(t, names, 2, v), 2);
    cr_expect_str_eq(v[0].key1, "q9");
    cr_expect_eq(v[0].waiting, 0);
    cr_expect_str_eq(v[1].key1, "q1");
    cr_expect_eq(v[1].waiting, 3);
    put_some(3, "q2", 4);
    pass(1000);
    cr_assert_eq(tasktab_queue_views(t, names, 2, v), 3);
    cr_expect_str_eq(v[2].key1, "q2");
    t->o.busiest = 0;
    cr_expect_eq(tasktab_queue_views(t, names, 1, v), 1);
}

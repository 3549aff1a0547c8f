/* test_mng_parts.c: partitions of task queues that other nodes can open, and their moves. */
#include "tests/lib/pooltest.h"

#include "queuemng/core/orders.h"

/* ---- partitions that other nodes can open ------------------------------------------- */

static struct pr *shared_rig(void)
{
    struct pr *r = pr_new(1);
    struct err e = { 0 };

    r->shared = true;
    pr_node_run(r, 0, true);
    pr_node_run(r, 1, true);
    cr_assert_eq(pr_pool(r, "{\"match\": \"ride/*\"}", &e), 0, "%s", e.text);
    pr_run(r, 3000);
    pr_all_served(r);
    return r;
}

Test(mng_tasks, a_lost_node_is_followed_where_its_partitions_can_be_opened)
{
    struct pr *r = shared_rig();

    pr_node_run(r, 0, false);
    pr_run(r, 400);
    cr_expect_eq(r->node[1].n, 8);
    pr_run(r, 400);
    cr_expect_eq(r->node[1].n, 16);
    pr_all_served(r);
    pr_node_run(r, 0, true); /* with what it had when it was cut off: that goes, */
    pr_run(r, 10000);
    cr_expect_eq(r->node[0].n, 8, "and it gets its half");
    cr_expect_eq(r->node[1].n, 8);
    pr_all_served(r);
    done(r);
}

Test(mng_tasks, a_node_that_is_started_again_at_once_opens_what_it_had)
{
    struct pr *r = shared_rig();

    pr_node_wipe(r, 0);
    r->node[0].store = 0;
    pr_run(r, 2000);
    cr_expect_eq(r->node[0].n, 8);
    cr_expect_eq(r->node[1].n, 8);
    pr_all_served(r);
    done(r);
}

Test(mng_tasks, a_new_manager_waits_for_nodes_that_it_has_not_seen)
{
    struct pr *r = shared_rig();

    pr_manager_end(r);
    pr_node_run(r, 0, false);
    pr_manager_begin(r);
    pr_run(r, 4000);
    cr_expect_eq(r->node[1].n, 8);
    pr_run(r, 2000);
    cr_expect_eq(r->node[1].n, 16);
    pr_all_served(r);
    done(r);
}

Test(mng_tasks, a_node_that_left_its_store_is_not_used_and_another_one_goes_on)
{
    struct pr *r = shared_rig();

    pr_node_wipe(r, 0);
    r->shared = false; /* of those that register from now on */
    pr_run(r, 300);
    r->shared = true;
    pr_run(r, 2000);
    cr_expect_eq(r->node[0].n, 0);
    cr_expect_eq(r->node[1].n, 16);
    done(r);
}

/* ---- moves ----------------------------------------------------------------------------- */

static void drain(struct pr *r, const char *name)
{
    struct err e;

    cr_assert_eq(mng_drain(r->m, r->now, name, true, &r->out, &e), 0, "%s", e.text);
    pr_flush(r);
}

Test(mng_tasks, a_new_node_gets_partitions_until_counts_differ_by_one_at_most)
{
    struct pr *r = rig(1, "{\"match\": \"ride/*\"}");

    pr_run(r, 3000);
    pr_all_served(r);
    pr_node_run(r, 1, true);
    pr_run(r, 5000);
    cr_expect_eq(r->node[1].n, 8);
    pr_node_run(r, 2, true);
    pr_run(r, 25000);
    for (int i = 0; i < 3; i++)
        cr_expect(r->node[i].n == 5 || r->node[i].n == 6, "node %d has %u", i, r->node[i].n);
    pr_all_served(r);
    done(r);
}

Test(mng_tasks, a_drained_node_is_emptied_and_then_forgotten)
{
    struct pr *r = rig(2, "{\"match\": \"ride/*\"}");

    pr_run(r, 3000);
    pr_all_served(r);
    drain(r, "task-0");
    pr_run(r, 15000);
    cr_expect_eq(r->node[0].n, 0);
    cr_expect_eq(r->node[1].n, 16);
    pr_all_served(r);
    pr_node_run(r, 0, false);
    pr_run(r, 310000);
    cr_expect_eq(r->map.n_nodes, 1);
    done(r);
}

/* The empty one has its tasks elsewhere: it can take nothing from a journal. */
Test(mng_tasks, a_node_is_emptied_to_one_that_keeps_tasks_where_it_does)
{
    struct pr *r = rig(2, "{\"match\": \"ride/*\"}");

    pr_run(r, 3000);
    r->shared = true;
    pr_node_run(r, 2, true);
    pr_run(r, 500);
    r->shared = false;
    drain(r, "task-0");
    pr_run(r, 15000);
    cr_expect_eq(r->node[0].n, 0);
    cr_expect_eq(r->node[1].n, 16);
    cr_expect_eq(r->node[2].n, 0);
    pr_all_served(r);
    done(r);
}

/* The one partition of two nodes is on its way from `from`, which stands still. */
static struct pr *moving(int *from)
{
    struct pr *r = rig(2, "{\"match\": \"images\"}");

    pr_run(r, 3000);
    cr_assert(pr_submit(r, 0, 0));
    *from = r->node[0].n == 1 ? 0 : 1;
    r->node[*from].stands = true;
    drain(r, *from == 0 ? "task-0" : "task-1");
    pr_run(r, 2000);
    return r;
}

Test(mng_tasks, a_move_whose_target_goes_is_aborted)
{
    int from;
    struct pr *r = moving(&from);

    cr_assert(pr_submit(r, 0, 0), "it is in service while it is copied");
    pr_node_run(r, !from, false);
    pr_run(r, 1000);
    cr_expect_eq(r->node[from].part[0].epoch, 3, "above the epoch that the target was to have");
    cr_expect(pr_submit(r, 0, 0));
    pr_node_run(r, !from, true);
    r->node[from].stands = false;
    pr_run(r, 20000);
    cr_expect_eq(r->node[from].n, 0, "and begins again");
    cr_expect(pr_submit(r, 0, 0));
    done(r);
}

Test(mng_tasks, a_move_goes_on_under_another_manager)
{
    int from;
    struct pr *r = moving(&from);

    pr_manager_end(r);
    r->node[from].stands = false;
    pr_manager_begin(r);
    pr_run(r, 3000);
    cr_expect_eq(r->map.pools[0].v[0].epoch, 2, "the move that was stored");
    cr_expect_eq(r->node[!from].n, 1);
    cr_expect(pr_submit(r, 0, 0));
    done(r);
}

/* ---- moves where other nodes can open them ----------------------------------------------- */

/* As moving(), in a shared store: calls of `from` are under way. */
static struct pr *leaving(int *from)
{
    struct pr *r = pr_new(1);
    struct err e = { 0 };

    r->shared = true;
    for (int i = 0; i < 2; i++)
        pr_node_run(r, i, true);
    cr_assert_eq(pr_pool(r, "{\"match\": \"images\", \"partitions\": 1}", &e), 0, "%s", e.text);
    pr_run(r, 3000);
    cr_assert(pr_submit(r, 0, 0));
    *from = r->node[0].n == 1 ? 0 : 1;
    r->node[*from].stands = true;
    drain(r, *from == 0 ? "task-0" : "task-1");
    pr_run(r, 2000);
    return r;
}

static void check_moved(struct pr *r, int from)
{
    cr_expect_eq(r->node[from].n, 0);
    cr_expect_eq(r->node[!from].n, 1);
    cr_expect(pr_submit(r, 0, 0));
}

Test(mng_tasks, a_shared_partition_leaves_when_its_calls_have_ended)
{
    int from;
    struct pr *r = leaving(&from);

    cr_expect_eq(r->node[from].n, 1);
    cr_expect(pr_submit(r, 0, 0), "it is in service until then");
    r->node[from].stands = false;
    pr_run(r, 2500);
    check_moved(r, from);
    done(r);
}

Test(mng_tasks, it_leaves_a_node_whose_calls_do_not_end)
{
    int from;
    struct pr *r = leaving(&from);

    pr_run(r, 31000);
    cr_expect_eq(r->node[from].n, 1);
    pr_run(r, 5000);
    check_moved(r, from);
    done(r);
}

Test(mng_tasks, it_stays_under_its_epoch_when_its_target_goes)
{
    int from;
    struct pr *r = leaving(&from);

    pr_node_run(r, !from, false);
    pr_run(r, 1000);
    cr_expect_eq(r->node[from].part[0].epoch, 1, "its calls go on");
    cr_expect(pr_submit(r, 0, 0));
    pr_node_run(r, !from, true);
    r->node[from].stands = false;
    pr_run(r, 10000);
    check_moved(r, from);
    done(r);
}

/* Redis held up what the source said of a move that was aborted: calls may have begun since. */
Test(mng_tasks, a_late_word_of_an_aborted_move_ends_no_later_one)
{
    int from;
    struct pr *r = leaving(&from);

    pr_node_run(r, !from, false);
    pr_run(r, 1000);
    pr_node_run(r, !from, true);
    pr_run(r, 6000);
    cr_assert_eq(r->node[from].n, 1, "the second move, of which the source has not heard");
    r->node[from].part[0].left_for = 2;
    pr_status(r, from);
    pr_run(r, 1000);
    cr_expect_eq(r->node[from].n, 1);
    r->node[from].stands = false;
    pr_run(r, 10000);
    check_moved(r, from);
    done(r);
}

Test(mng_tasks, it_leaves_under_another_manager)
{
    int from;
    struct pr *r = leaving(&from);

    pr_manager_end(r);
    r->node[from].stands = false;
    pr_manager_begin(r);
    pr_run(r, 3000);
    check_moved(r, from);
    done(r);
}

/* A third node is to have it instead: the target of the move drops what it has, and no keys. */
Test(mng_tasks, a_source_that_dies_is_followed_and_its_keys_stay)
{
    int from;
    struct pr *r = leaving(&from);
    const char *other = from == 0 ? "task-1" : "task-0";

    pr_node_run(r, 2, true);
    drain(r, other);
    pr_node_run(r, from, false);
    pr_run(r, 3000);
    cr_expect_eq(r->node[2].n, 1);
    cr_expect(pr_submit(r, 0, 0));
    done(r);
}

/* ---- forgotten --------------------------------------------------------------------------- */

Test(mng_tasks, what_a_forgotten_node_had_is_lost_and_only_by_force)
{
    struct pr *r = rig(2, "{\"match\": \"images\"}");
    struct mng_forget_end end;
    const char *name;
    struct err e;
    int owner;

    pr_run(r, 3000);
    cr_assert(pr_submit(r, 0, 0));
    pr_run(r, 2000);
    owner = r->node[0].n == 1 ? 0 : 1;
    name = owner == 0 ? "task-0" : "task-1";
    cr_expect_eq(mng_forget(r->m, r->now, name, true, &end, &r->out, &e), SQ_ECONFLICT, "it is up");
    pr_flush(r);
    pr_node_run(r, owner, false);
    cr_expect_eq(mng_forget(r->m, r->now, name, false, &end, &r->out, &e), SQ_ECONFLICT);
    cr_expect(strstr(e.text, "1 partitions") != NULL && strstr(e.text, "1 tasks") != NULL, "%s",
              e.text);
    cr_assert_eq(mng_forget(r->m, r->now, name, true, &end, &r->out, &e), 0);
    cr_expect(end.forgotten);
    pr_flush(r);
    pr_run(r, 3000);
    cr_expect_neq(r->map.pools[0].v[0].part, 1, "another number");
    cr_expect(pr_submit(r, 0, 0), "at the other node");
    done(r);
}

/* test_mng_tasks.c: pools of task queues, their partitions, and the nodes that have them. */
#include "tests/lib/poolrig.h"

#include <criterion/criterion.h>

#include "common/task/queue_name.h"
#include "queuemng/core/budgets.h"
#include "queuemng/core/forget.h"
#include "queuemng/core/orders.h"
#include "queuemng/core/pins.h"
#include "tests/lib/quiet.h"

static struct pr *rig(unsigned nodes, const char *pool)
{
    struct pr *r = pr_new(1);
    struct err e = { 0 };

    for (unsigned i = 0; i < nodes; i++)
        pr_node_run(r, (int)i, true);
    cr_assert_eq(pr_pool(r, pool, &e), 0, "%s", e.text);
    return r;
}

static void good(struct pr *r)
{
    cr_assert_str_empty(r->why, "%s", r->why);
}

static void done(struct pr *r)
{
    good(r);
    pr_free(r);
}

Test(mng_tasks, a_pool_gets_its_partitions_and_routers_the_map)
{
    struct pr *r = rig(1, "{\"match\": \"images\", \"max_body\": \"1k\"}");

    pr_run(r, 3000);
    cr_assert_eq(r->map.n_pools, 1);
    cr_expect_str_eq(r->map.pools[0].match, "images");
    cr_expect_eq(r->map.pools[0].max_body, 1024);
    cr_assert_eq(r->map.pools[0].n, 1);
    cr_expect_eq(r->map.n_nodes, 1);
    cr_expect_str_eq(r->map.nodes[0].addr, "10.0.0.1:7400");
    cr_expect(pr_submit(r, 0, 0));
    done(r);
}

Test(mng_tasks, nodes_that_come_together_share_a_pool)
{
    struct pr *r = rig(3, "{\"match\": \"ride/*\"}");

    pr_run(r, 3000);
    pr_all_served(r);
    for (int i = 0; i < 3; i++)
        cr_expect_geq(r->node[i].n, 5, "node %d has %u", i, r->node[i].n);
    cr_expect_eq(r->node[0].n + r->node[1].n + r->node[2].n, 16);
    done(r);
}

Test(mng_tasks, names_go_before_patterns_and_long_patterns_before_short_ones)
{
    struct pr *r = rig(1, "{\"match\": \"*\"}");
    static const char *const want[] = { "ride/1", "ride/x*", "ride/*", "*" };
    struct err e;

    cr_assert_eq(pr_pool(r, "{\"match\": \"ride/*\"}", &e), 0);
    cr_assert_eq(pr_pool(r, "{\"match\": \"ride/1\"}", &e), 0);
    cr_assert_eq(pr_pool(r, "{\"match\": \"ride/x*\"}", &e), 0);
    pr_run(r, 2000);
    cr_assert_eq(r->map.n_pools, 4);
    for (unsigned i = 0; i < 4; i++)
        cr_expect_str_eq(r->map.pools[i].match, want[i]);
    done(r);
}

Test(mng_tasks, a_node_that_is_away_keeps_its_partitions)
{
    struct pr *r = rig(1, "{\"match\": \"images\"}");
    part_no no;

    pr_run(r, 3000);
    no = r->map.pools[0].v[0].part;
    cr_assert(pr_submit(r, 0, 0));
    pr_node_run(r, 0, false);
    pr_node_run(r, 1, true);
    pr_run(r, 60000);
    cr_expect_eq(r->node[1].n, 0, "its tasks are on the disk of the other one");
    pr_node_run(r, 0, true);
    pr_run(r, 3000);
    cr_expect_eq(r->map.pools[0].v[0].part, no);
    cr_expect_eq(r->node[0].part[0].tasks, 1);
    cr_expect(pr_submit(r, 0, 0));
    done(r);
}

Test(mng_tasks, a_manager_that_restarts_knows_the_owners_before_they_come)
{
    struct pr *r = rig(2, "{\"match\": \"ride/*\", \"partitions\": 4}");

    pr_run(r, 3000);
    pr_manager_end(r);
    pr_node_run(r, 0, false);
    pr_node_run(r, 1, false);
    r->map.n_pools = 0;
    pr_manager_begin(r);
    pr_run(r, 3000);
    cr_assert_eq(r->map.n_pools, 1);
    cr_assert_eq(r->map.pools[0].n, 4);
    for (unsigned i = 0; i < 4; i++)
        cr_expect_neq(r->map.pools[0].v[i].node, 0);
    cr_expect_eq(r->map.n_nodes, 2);
    done(r);
}

Test(mng_tasks, a_partition_that_a_node_lost_gets_another_number)
{
    struct pr *r = rig(1, "{\"match\": \"images\"}");
    part_no no;

    pr_run(r, 3000);
    no = r->map.pools[0].v[0].part;
    cr_assert(pr_submit(r, 0, 0));
    pr_node_wipe(r, 0);
    pr_run(r, 3000);
    cr_expect_neq(r->map.pools[0].v[0].part, no);
    cr_expect(pr_submit(r, 0, 0));
    done(r);
}

Test(mng_tasks, an_order_is_repeated_until_the_node_reports_the_partition)
{
    struct pr *r = rig(1, "{\"match\": \"images\"}");
    struct err e;

    r->node[0].mute = true;
    pr_run(r, 3000);
    cr_assert_eq(pr_pool(r, "{\"match\": \"images\", \"max_body\": \"2k\"}", &e), 0);
    pr_run(r, 2000);
    cr_assert_eq(r->map.pools[0].max_body, 2048);
    cr_expect_eq(r->map.pools[0].v[0].node, 0, "routers are not told before");
    r->node[0].mute = false;
    pr_run(r, 2000);
    cr_expect(pr_submit(r, 0, 0));
    done(r);
}

Test(mng_tasks, a_pause_reaches_nodes_and_routers)
{
    struct pr *r = rig(1, "{\"match\": \"images\"}");
    struct err e;

    pr_run(r, 3000);
    cr_assert_eq(pr_pool(r, "{\"match\": \"images\", \"paused\": true}", &e), 0);
    pr_run(r, 1000);
    cr_expect(r->node[0].part[0].paused);
    cr_expect(r->map.pools[0].paused);
    cr_assert_eq(pr_pool(r, "{\"match\": \"images\"}", &e), 0);
    pr_run(r, 1000);
    cr_expect_not(r->node[0].part[0].paused);
    done(r);
}

Test(mng_tasks, limits_of_keys_reach_nodes_in_their_order)
{
    struct pr *r = rig(1, "{\"match\": \"images\"}");
    struct err e;

    pr_run(r, 3000);
    cr_assert_eq(pr_pool(r, "{\"match\": \"images\", \"keys\": [{\"match\": \"gold*\", \"weight\": 7},"
                            " {\"match\": \"*/*\", \"rate_per_s\": 2}]}", &e), 0, "%s", e.text);
    pr_run(r, 1000);
    cr_expect_eq(r->node[0].part[0].n_keys, 2);
    cr_expect_eq(r->node[0].part[0].weights, 71);
    cr_assert_eq(pr_pool(r, "{\"match\": \"images\", \"keys\": [{\"match\": \"a*b\"}]}", &e), SQ_EINVAL);
    cr_expect_not_null(strstr(e.text, "keys.0: match: "), "%s", e.text);
    cr_assert_eq(pr_pool(r, "{\"match\": \"images\", \"keys\": [{\"match\": \"a\"}, {\"match\": \"a\"}]}", &e),
                 SQ_EINVAL);
    cr_expect_not_null(strstr(e.text, "keys.1: keys.0 has the same match"), "%s", e.text);
    pr_manager_end(r);
    pr_manager_begin(r);
    pr_run(r, 3000);
    cr_expect_eq(r->node[0].part[0].weights, 71, "they are stored");
    done(r);
}

static int pin(struct pr *r, const char *key, int64_t weight, struct err *e)
{
    struct key_pin d = { .queue = "ride/7", .key = (char *)key, .limit.burst = 1, .weight = weight };

    return mng_pin_put(r->m, r->now, &d, &r->out, e);
}

/* Of the partition that has ride/7, wherever it is. */
static uint64_t weights(struct pr *r)
{
    const struct map_pool *p = &r->map.pools[0];
    part_no no = p->v[part_share("ride/7", 6, p->n)].part;

    for (unsigned i = 0; i < PR_NODES; i++)
        if (r->node[i].runs && pr_has(&r->node[i], no) != NULL)
            return pr_has(&r->node[i], no)->weights;
    return 0;
}

static uint32_t limits_of_keys(const struct pr *r)
{
    uint32_t n = 0;

    for (unsigned i = 0; i < PR_NODES; i++)
        for (uint32_t k = 0; k < r->node[i].n; k++)
            n += r->node[i].part[k].n_keys;
    return n;
}

Test(mng_tasks, a_pinned_key_is_told_to_the_owner_of_its_queue_before_all_patterns)
{
    struct pr *r = rig(1, "{\"match\": \"ride/*\", \"partitions\": 4, \"keys\": [{\"match\": \"*\", \"weight\": 7}]}");
    struct err e;

    pr_run(r, 3000);
    cr_assert_eq(pin(r, "b", 2, &e), 0, "%s", e.text);
    cr_assert_eq(pin(r, "a", 1, &e), 0, "%s", e.text);
    pr_flush(r);
    pr_run(r, 1000);
    cr_expect_eq(weights(r), 127, "in the order of keys, then patterns");
    cr_expect_eq(limits_of_keys(r), 4 + 2, "nobody else is told");
    pr_manager_end(r);
    pr_manager_begin(r);
    cr_assert_eq(pin(r, "c", 3, &e), 0, "%s", e.text);
    pr_flush(r);
    pr_run(r, 3000);
    cr_expect_eq(weights(r), 1237, "they are stored");
    cr_expect_eq(limits_of_keys(r), 4 + 3, "nor when all are told anew");
    pr_node_run(r, 1, true);
    cr_assert_eq(mng_drain(r->m, r->now, "task-0", true, &r->out, &e), 0);
    pr_flush(r);
    pr_run(r, 30000);
    cr_expect_eq(r->node[0].n, 0);
    cr_expect_eq(weights(r), 1237, "they go along");
    cr_assert_eq(mng_pin_delete(r->m, r->now, "ride/7", "b", &r->out, &e), 0);
    pr_flush(r);
    pr_run(r, 1000);
    cr_expect_eq(weights(r), 137);
    cr_expect_eq(mng_pin_delete(r->m, r->now, "ride/7", "b", &r->out, &e), SQ_EUNKNOWN);
    done(r);
}

Test(mng_tasks, pinned_keys_of_a_pool_are_bounded_and_go_with_the_last_pool_of_their_queue)
{
    struct pr *r = rig(1, "{\"match\": \"ride/*\"}");
    struct err e = { 0 };
    char key[16];

    cr_assert_eq(pr_pool(r, "{\"match\": \"ride/7\"}", &e), 0);
    for (unsigned i = 0; i < PINS_MAX; i++) {
        snprintf(key, sizeof(key), "k%u", i);
        cr_assert_eq(pin(r, key, 1, &e), 0, "%s", e.text);
        mng_out_reset(&r->out); /* the rig's store is small */
    }
    cr_expect_eq(pin(r, "one-more", 1, &e), SQ_ECONFLICT);
    cr_expect_eq(pin(r, "k7", 9, &e), 0, "one that is there is changed");
    cr_assert_eq(mng_pool_delete(r->m, r->now, "ride/7", true, &r->out, &e), 0);
    mng_out_reset(&r->out);
    cr_expect_not_null(mng_pin_get(r->m, "ride/7", "k7", NULL), "the other pool has the queue");
    cr_assert_eq(mng_pool_delete(r->m, r->now, "ride/*", true, &r->out, &e), 0);
    mng_out_reset(&r->out);
    cr_expect_null(mng_pin_get(r->m, "ride/7", "k7", NULL));
    cr_expect_eq(pin(r, "k7", 1, &e), SQ_EUNKNOWN, "no pool has it");
    done(r);
}

/* Of all partitions that a node has. */
static uint64_t rates_of(const struct pr *r)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < PR_NODES; i++)
        for (uint32_t k = 0; k < r->node[i].n; k++)
            sum += r->node[i].part[k].rate;
    return sum;
}

static void reading(struct pr *r, double cpu)
{
    mng_reading(r->m, r->now, "cpu", cpu, r->now);
    pr_run(r, 1200);
}

Test(mng_tasks, a_rate_by_metrics_is_shared_out_by_what_waits)
{
    struct pr *r = rig(2, "{\"match\": \"ride/*\", \"partitions\": 4, \"fallback_per_s\": 8, \"limits\": [{\"metric\": "
                          "\"cpu\", \"tiers\": [{\"below\": 70, \"rate_per_s\": 100}, {\"below\": 90, \"rate_per_s\": 20}]}]}");

    pr_run(r, 3000);
    cr_expect_eq(rates_of(r), 8000, "nothing is measured: the fallback; %lu", rates_of(r));
    reading(r, 50);
    cr_expect_eq(rates_of(r), 100000);
    for (unsigned i = 0; i < 37; i++)
        cr_assert(pr_submit(r, 0, 1));
    reading(r, 50);
    for (unsigned i = 0; i < 2; i++)
        for (uint32_t k = 0; k < r->node[i].n; k++)
            cr_expect_eq(r->node[i].part[k].rate, r->node[i].part[k].tasks > 0 ? 38u * 100000 / 41 : 100000u / 41);
    reading(r, 80);
    cr_expect(rates_of(r) <= 20000 && rates_of(r) > 19990, "%lu", rates_of(r));
    reading(r, 95);
    cr_expect_eq(rates_of(r), 0, "above the last tier");
    done(r);
}

Test(mng_tasks, an_owner_that_is_not_heard_keeps_what_it_was_told_and_others_get_the_rest)
{
    struct pr *r = rig(2, "{\"match\": \"ride/*\", \"partitions\": 2, \"fallback_per_s\": 10, \"limits\": [{\"metric\": "
                          "\"cpu\", \"tiers\": [{\"below\": 70, \"rate_per_s\": 100}]}]}");

    pr_run(r, 3000);
    reading(r, 50);
    cr_assert_eq(r->node[0].part[0].rate, 50000);
    pr_node_run(r, 1, false);
    for (unsigned s = 0; s < 8; s++)
        reading(r, 50);
    cr_expect_eq(r->node[0].part[0].rate, 50000, "the other may use its half");
    for (unsigned s = 0; s < 8; s++)
        reading(r, 50);
    cr_expect_eq(r->node[0].part[0].rate, 95000, "it has its share of the fallback now");
    done(r);
}

/* Lines stand by it. */
Test(mng_tasks, the_order_stays)
{
    struct pr *r = rig(1, "{\"match\": \"images\", \"order\": \"strict\"}");
    struct err e;

    cr_expect_eq(pr_pool(r, "{\"match\": \"images\", \"order\": \"number\"}", &e), SQ_ECONFLICT);
    cr_expect_str_eq(e.text, "pool images: order stays what it was when it was made: tasks stand "
                             "in line by it; delete it, or add another");
    cr_expect_eq(pr_pool(r, "{\"match\": \"images\", \"order\": \"strict\", "
                            "\"max_tasks\": 10}", &e), 0);
    done(r);
}

Test(mng_tasks, the_number_of_partitions_stays)
{
    struct pr *r = rig(1, "{\"match\": \"ride/*\", \"partitions\": 4}");
    struct err e;

    cr_expect_eq(pr_pool(r, "{\"match\": \"ride/*\", \"partitions\": 5}", &e), SQ_ECONFLICT);
    cr_expect_eq(pr_pool(r, "{\"match\": \"ride/*\", \"lease\": \"1m\"}", &e), 0, "%s", e.text);
    cr_expect_eq(mng_pool_get(r->m, "ride/*", NULL)->partitions, 4);
    cr_expect_eq(pr_pool(r, "{\"match\": \"big\", \"partitions\": 4096}", &e), SQ_ECONFLICT);
    done(r);
}

Test(mng_tasks, a_pool_with_tasks_is_removed_by_force_alone)
{
    struct pr *r = rig(1, "{\"match\": \"images\"}");
    struct err e;

    pr_run(r, 3000);
    cr_assert(pr_submit(r, 0, 0));
    pr_run(r, 2000);
    cr_expect_eq(mng_pool_delete(r->m, r->now, "images", false, &r->out, &e), SQ_ECONFLICT);
    cr_assert_eq(mng_pool_delete(r->m, r->now, "images", true, &r->out, &e), 0);
    pr_flush(r);
    pr_run(r, 1000);
    cr_expect_eq(r->node[0].n, 0, "the node is told to drop it");
    cr_expect_eq(r->map.n_pools, 0);
    cr_assert_eq(pr_pool(r, "{\"match\": \"images\"}", &e), 0);
    pr_run(r, 3000);
    cr_expect_neq(r->map.pools[0].v[0].part, 1, "no number is used again");
    done(r);
}

Test(mng_tasks, a_pool_with_schedules_is_removed_by_force_alone)
{
    struct pr *r = rig(1, "{\"match\": \"images\"}");
    struct err e = { 0 };

    pr_run(r, 3000);
    r->node[0].part[0].schedules = 2;
    pr_run(r, 2000);
    cr_expect_eq(mng_pool_delete(r->m, r->now, "images", false, &r->out, &e), SQ_ECONFLICT);
    cr_expect(strstr(e.text, "2 schedules"), "%s", e.text);
    r->node[0].part[0].schedules = 0;
    pr_run(r, 2000);
    cr_assert_eq(mng_pool_delete(r->m, r->now, "images", false, &r->out, &e), 0, "%s", e.text);
    pr_flush(r);
    done(r);
}

Test(mng_tasks, a_node_that_was_away_drops_what_a_removed_pool_left_there)
{
    struct pr *r = rig(1, "{\"match\": \"images\"}");
    struct err e;

    pr_run(r, 3000);
    pr_node_run(r, 0, false);
    cr_expect_eq(mng_pool_delete(r->m, r->now, "images", false, &r->out, &e), SQ_ECONFLICT,
                 "nobody knows what is there");
    cr_assert_eq(mng_pool_delete(r->m, r->now, "images", true, &r->out, &e), 0);
    pr_flush(r);
    pr_node_run(r, 0, true);
    pr_run(r, 1000);
    cr_expect_eq(r->node[0].n, 0);
    done(r);
}

Test(mng_tasks, a_node_of_another_store_gets_no_orders)
{
    struct pr *r = rig(0, "{\"match\": \"images\"}");

    r->node[0].store = 4711;
    pr_node_run(r, 0, true);
    pr_run(r, 3000);
    cr_expect_eq(r->node[0].n, 0);
    cr_expect_eq(r->node[0].store, 4711);
    done(r);
}

Test(mng_tasks, a_node_with_a_later_manager_fences_this_one)
{
    struct pr *r = rig(0, "{\"match\": \"images\"}");

    r->node[0].mng_epoch = 100;
    pr_node_run(r, 0, true);
    pr_run(r, 1000);
    cr_expect_geq(mng_fenced_by(r->m), 1);
    done(r);
}

Test(mng_tasks, a_partition_that_was_never_given_out_is_left_alone)
{
    struct pr *r = rig(0, "{\"match\": \"images\"}");

    r->node[0].n = 1;
    r->node[0].part[0] = (struct pr_part){ .no = 77, .epoch = 1, .tasks = 1 };
    r->tasks[77] = 1;
    pr_node_run(r, 0, true);
    pr_run(r, 3000);
    cr_expect_not_null(pr_has(&r->node[0], 77));
    done(r);
}

Test(mng_tasks, without_pools_routers_hear_nothing_of_tasks)
{
    struct pr *r = pr_new(1);

    pr_run(r, 3000);
    cr_expect_eq(r->maps, 0);
    done(r);
}

Test(mng_tasks, what_has_been_anothers_since_is_dropped)
{
    struct pr *r = rig(2, "{\"match\": \"images\"}");
    int owner;

    pr_run(r, 3000);
    cr_assert(pr_submit(r, 0, 0));
    owner = r->node[0].n == 1 ? 0 : 1;
    pr_node_run(r, !owner, false);
    r->node[!owner].part[0] = r->node[owner].part[0]; /* an older copy of it */
    r->node[!owner].n = 1;
    r->node[owner].part[0].epoch++;
    pr_node_run(r, owner, false);
    pr_node_run(r, owner, true);
    pr_run(r, 2000);
    pr_node_run(r, !owner, true);
    pr_run(r, 2000);
    cr_expect_eq(r->node[!owner].n, 0);
    cr_assert_eq(r->node[owner].n, 1);
    cr_expect_eq(r->node[owner].part[0].tasks, 1);
    done(r);
}

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

Test(mng_tasks, a_move_whose_target_goes_is_aborted)
{
    struct pr *r = rig(2, "{\"match\": \"images\"}");
    int from;

    pr_run(r, 3000);
    cr_assert(pr_submit(r, 0, 0));
    from = r->node[0].n == 1 ? 0 : 1;
    r->node[from].stands = true;
    drain(r, from == 0 ? "task-0" : "task-1");
    pr_run(r, 2000);
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
    struct pr *r = rig(2, "{\"match\": \"images\"}");
    int from;

    pr_run(r, 3000);
    cr_assert(pr_submit(r, 0, 0));
    from = r->node[0].n == 1 ? 0 : 1;
    r->node[from].stands = true;
    drain(r, from == 0 ? "task-0" : "task-1");
    pr_run(r, 2000);
    pr_manager_end(r);
    r->node[from].stands = false;
    pr_manager_begin(r);
    pr_run(r, 3000);
    cr_expect_eq(r->map.pools[0].v[0].epoch, 2, "the move that was stored");
    cr_expect_eq(r->node[!from].n, 1);
    cr_expect(pr_submit(r, 0, 0));
    done(r);
}

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

/* ---- endpoints ------------------------------------------------------------------- */

#define E(more) "{\"name\": \"e\", \"url\": \"http://a/\"" more "}"

static uint64_t slots(const struct pr *r)
{
    uint64_t sum = 0;

    for (int i = 0; i < PR_NODES; i++)
        sum += r->node[i].endpoint[0].slots;
    return sum;
}

Test(mng_tasks, an_endpoint_without_a_pool_gets_one_of_its_name)
{
    struct pr *r = rig(1, "{\"match\": \"*\"}");
    struct err e = { 0 };

    cr_expect_eq(pr_pool(r, "{\"match\": \"a\", \"endpoint\": \"e\"}", &e), SQ_EINVAL);
    cr_expect_str_eq(e.text, "pool a: there is no endpoint e");
    cr_assert_eq(pr_endpoint(r, E(""), &e), 0, "%s", e.text);
    pr_run(r, 3000);
    cr_assert_eq(r->map.n_pools, 2);
    cr_expect_str_eq(r->map.pools[0].match, "e");
    cr_expect_str_eq(r->map.pools[0].endpoint, "e");
    cr_expect_str_eq(r->map.pools[1].endpoint, "");
    cr_expect_eq(r->node[0].endpoint[0].slots, ENDPOINT_ANY);
    cr_expect_eq(pr_pool(r, "{\"match\": \"e\"}", &e), SQ_ECONFLICT, "its tasks are calls");
    cr_expect_eq(pr_pool(r, "{\"match\": \"*\", \"endpoint\": \"e\"}", &e), SQ_ECONFLICT);
    cr_expect_eq(pr_pool(r, "{\"match\": \"a\", \"endpoint\": \"e\"}", &e), 0);
    cr_expect_eq(mng_endpoint_delete(r->m, r->now, "e", false, &r->out, &e), SQ_ECONFLICT);
    cr_expect_eq(mng_endpoint_delete(r->m, r->now, "none", true, &r->out, &e), SQ_EUNKNOWN);
    cr_assert_eq(mng_endpoint_delete(r->m, r->now, "e", true, &r->out, &e), 0);
    pr_flush(r);
    pr_run(r, 3000);
    cr_expect_eq(r->map.n_pools, 1);
    cr_expect_eq(r->node[0].endpoint[0].serial, 0);
    done(r);
}

Test(mng_tasks, routers_are_told_the_url_of_an_endpoint_and_of_its_change)
{
    struct pr *r = rig(1, "{\"match\": \"*\"}");
    struct err e = { 0 };

    cr_assert_eq(pr_endpoint(r, E(""), &e), 0, "%s", e.text);
    pr_run(r, 3000);
    cr_expect_str_eq(r->map.pools[0].url, "http://a/");
    cr_expect_str_eq(r->map.pools[1].url, "");
    cr_assert_eq(pr_endpoint(r, "{\"name\": \"e\", \"url\": \"http://b/\"}", &e), 0, "%s", e.text);
    pr_flush(r);
    pr_run(r, 100);
    cr_expect_str_eq(r->map.pools[0].url, "http://b/");
    done(r);
}

Test(mng_tasks, a_name_that_a_pool_of_workers_has_is_refused)
{
    struct pr *r = rig(1, "{\"match\": \"e\"}");
    struct err e = { 0 };

    cr_expect_eq(pr_endpoint(r, E(""), &e), SQ_ECONFLICT);
    cr_expect_null(mng_endpoint_get(r->m, "e", NULL));
    done(r);
}

Test(mng_tasks, an_endpoint_is_divided_and_waits_for_those_who_have_too_much)
{
    struct pr *r = rig(1, "{\"match\": \"*\"}");
    struct err e = { 0 };
    uint64_t sent;

    r->bears[0] = 5;
    cr_assert_eq(pr_endpoint(r, E(", \"max_concurrent\": 5"), &e), 0);
    cr_assert_eq(pr_pool(r, "{\"match\": \"e/*\", \"endpoint\": \"e\"}", &e), 0);
    pr_run(r, 3000);
    cr_expect_eq(r->node[0].endpoint[0].slots, 5);
    cr_expect_eq(r->node[0].endpoint[0].n, 5, "it calls as much as it may");
    pr_node_run(r, 1, true);
    pr_run(r, 2000);
    cr_expect_lt(slots(r), 6);
    cr_expect_lt(r->node[1].endpoint[0].slots, 2, "the other one's calls go on");
    pr_run(r, 60000);
    cr_expect_eq(r->node[0].endpoint[0].slots, 3);
    cr_expect_eq(r->node[1].endpoint[0].slots, 2);
    good(r);
    pr_manager_end(r);
    pr_manager_begin(r); /* it knows from its store who may use what */
    pr_run(r, 3000);
    cr_expect_eq(slots(r), 5);
    r->bears[0] = 0;
    cr_assert_eq(pr_endpoint(r, E(", \"max_concurrent\": 1"), &e), 0);
    pr_run(r, 60000);
    cr_expect_leq(slots(r), 1);
    sent = r->node[0].endpoint[0].sent;
    cr_expect_gt(r->node[1].endpoint[0].sent, 0);
    r->node[1].wants[0] = 0;
    pr_run(r, 60000);
    cr_expect_eq(r->node[0].endpoint[0].slots, 1, "the other one has nothing to call");
    cr_expect_gt(r->node[0].endpoint[0].sent, sent);
    done(r);
}

static void steer(struct pr *r, enum endpoint_order o)
{
    cr_assert(mng_endpoint_order(r->m, r->now, "e", o, &r->out));
    pr_flush(r);
    pr_run(r, 1500);
}

static unsigned answered;

static void on_probe(void *ctx, const void *view)
{
    const struct mng_probe_view *v = view;

    (void)ctx;
    answered += v->there && v->state == PROBE_ANSWERED && v->ms == 12 &&
                strcmp(v->said, "server_error") == 0;
}

static unsigned probes_answered(const struct pr *r)
{
    answered = 0;
    mng_each_probe(r->m, "e", on_probe, NULL);
    return answered;
}

/* By nodes that come, by a new manager, and by a new definition. */
Test(mng_tasks, a_tripped_endpoint_stays_so_until_its_reset)
{
    struct pr *r = rig(1, "{\"match\": \"*\"}");
    const struct pc_endpoint *x[2] = { &r->node[0].endpoint[0], &r->node[1].endpoint[0] };
    struct err e = { 0 };
    uint64_t probe;

    cr_expect_not(mng_endpoint_order(r->m, r->now, "none", ENDPOINT_TRIP, &r->out));
    cr_assert_eq(pr_endpoint(r, E(", \"max_concurrent\": 4"), &e), 0);
    cr_assert_eq(pr_pool(r, "{\"match\": \"e/*\", \"endpoint\": \"e\"}", &e), 0);
    pr_run(r, 3000);
    steer(r, ENDPOINT_TRIP);
    cr_expect(x[0]->tripped && x[0]->resets == 0);
    pr_node_run(r, 1, true);
    pr_run(r, 15000);
    cr_expect_gt(x[1]->slots, 0);
    cr_expect(x[1]->tripped, "a new owner");
    pr_manager_end(r);
    pr_manager_begin(r);
    pr_run(r, 3000);
    cr_assert_eq(pr_endpoint(r, E(", \"max_concurrent\": 6"), &e), 0);
    pr_run(r, 3000);
    cr_expect(x[0]->tripped && x[1]->tripped && mng_endpoint_tripped(r->m, "e"));
    cr_expect_eq(probes_answered(r), 0);
    steer(r, ENDPOINT_PROBE);
    probe = x[0]->probe;
    cr_expect(probe != 0 && x[1]->probe == probe && x[0]->tripped);
    cr_expect_eq(probes_answered(r), 2);
    steer(r, ENDPOINT_PROBE);
    cr_expect_neq(x[0]->probe, probe, "another one");
    steer(r, ENDPOINT_RESET);
    cr_expect(!x[0]->tripped && !x[1]->tripped && x[0]->resets != 0 && x[1]->resets == x[0]->resets);
    probe = x[0]->resets;
    pr_manager_end(r);
    pr_manager_begin(r);
    pr_run(r, 3000);
    cr_expect_eq(x[0]->resets, probe, "it was stored: a node that missed it hears of it");
    cr_expect_not(mng_endpoint_tripped(r->m, "e"));
    good(r);
    done(r);
}

Test(mng_tasks, an_adaptive_endpoint_is_divided_as_one_with_its_greatest_limit)
{
    struct pr *r = rig(2, "{\"match\": \"*\"}");
    struct err e = { 0 };

    cr_assert_eq(pr_endpoint(r, E(", \"adaptive\": {\"min\": 4, \"max\": 20}"), &e), 0);
    cr_assert_eq(pr_pool(r, "{\"match\": \"e/*\", \"endpoint\": \"e\"}", &e), 0);
    pr_run(r, 3000);
    cr_expect_eq(slots(r), 20);
    cr_expect_eq(r->node[0].endpoint[0].slots, 10);
    cr_expect_eq(r->node[0].endpoint[0].adaptive_min, 2);
    cr_assert_eq(pr_endpoint(r, E(", \"max_concurrent\": 10, \"adaptive\": {\"max\": 0, \"min\": 1}"), &e), 0);
    pr_run(r, 60000);
    cr_expect_eq(slots(r), 10);
    cr_expect_eq(r->node[0].endpoint[0].adaptive_min, 0);
    done(r);
}

Test(mng_tasks, what_a_node_does_not_use_of_an_endpoint_goes_to_the_others)
{
    struct pr *r = rig(2, "{\"match\": \"*\"}");
    struct err e = { 0 };

    r->longest = 100;
    r->node[0].wants[0] = 0;
    cr_assert_eq(pr_endpoint(r, E(", \"max_concurrent\": 8, \"rate_per_s\": 100, \"burst\": 10"), &e), 0);
    cr_assert_eq(pr_pool(r, "{\"match\": \"e/*\", \"endpoint\": \"e\"}", &e), 0);
    pr_run(r, 8000);
    cr_expect_eq(r->node[0].endpoint[0].slots, 1);
    cr_expect_eq(r->node[1].endpoint[0].slots, 7);
    cr_expect_eq(r->node[0].endpoint[0].rate, 3125, "an equal part's sixteenth");
    cr_expect_eq(r->node[1].endpoint[0].rate, 96875);
    cr_expect_eq(r->node[1].endpoint[0].burst, 9);
    cr_expect_eq(r->node[0].endpoint[0].burst, 1);
    pr_manager_end(r);
    r->node[0].wants[0] = 8;
    pr_run(r, 10000);
    cr_expect_eq(r->node[0].endpoint[0].slots, 1, "without a manager parts stay as they are");
    pr_manager_begin(r);
    pr_run(r, 5000);
    cr_expect_eq(r->node[0].endpoint[0].slots, 4);
    cr_expect_eq(r->node[1].endpoint[0].slots, 4);
    done(r);
}

Test(mng_tasks, a_node_that_is_away_holds_its_part_until_it_has_no_partition_and_its_calls_are_over)
{
    struct pr *r = rig(2, "{\"match\": \"*\"}");
    struct err e = { 0 };

    r->shared = true;
    r->bears[0] = 4;
    cr_assert_eq(pr_endpoint(r, E(", \"max_concurrent\": 4"), &e), 0);
    cr_assert_eq(pr_pool(r, "{\"match\": \"e/*\", \"endpoint\": \"e\"}", &e), 0);
    pr_run(r, 5000);
    cr_expect_eq(slots(r), 4);
    pr_node_run(r, 1, false);
    pr_run(r, 20000);
    cr_expect_eq(r->node[0].endpoint[0].slots, 2, "its calls may still be at the target");
    pr_run(r, 40000);
    cr_expect_eq(r->node[0].endpoint[0].slots, 4);
    done(r);
}

static const char *refused(const char *more)
{
    static struct err e;
    struct pr *r = rig(1, "{\"match\": \"*\"}");
    char json[400];

    e = (struct err){ 0 };
    snprintf(json, sizeof(json), "{\"name\": \"e\", %s}", more);
    (void)pr_endpoint(r, json, &e);
    done(r);
    return e.text;
}

static void budget(struct pr *r, const char *json)
{
    struct budget_def d = { 0 };
    struct cfg_node *doc = NULL;
    struct err e = { 0 };

    cr_assert_eq(cfg_parse_json(&doc, json, strlen(json), &e), 0, "%s", e.text);
    cr_assert_eq(cfg_bind(&d, sizeof(d), budget_def_keys, doc, NULL, &e), 0, "%s", e.text);
    cr_assert_eq(mng_budget_put(r->m, r->now, &d, &r->out, &e), 0, "%s", e.text);
    pr_flush(r);
    cfg_clear(&d, budget_def_keys);
    cfg_node_free(doc);
}

/* For so long at most `most` calls of both endpoints are at their targets. */
static void together(struct pr *r, msec_t ms, unsigned most)
{
    for (msec_t end = r->now + ms; r->now < end;) {
        const struct pc_endpoint *x = r->node[0].endpoint;

        pr_run(r, 100);
        cr_assert_leq(x[0].n + x[1].n, most);
    }
}

Test(mng_tasks, what_an_endpoint_that_leaves_has_at_its_target_is_still_its_budgets)
{
    struct pr *r = rig(1, "{\"match\": \"*\"}");
    const struct pc_endpoint *x = r->node[0].endpoint;
    struct err e = { 0 };

    budget(r, "{\"name\": \"gpu\", \"max_active\": 6}");
    cr_assert_eq(pr_endpoint(r, E(", \"budget\": \"gpu\", \"deadline\": \"30s\""), &e), 0, "%s", e.text);
    r->node[0].wants[1] = 0;
    together(r, 5000, 6);
    cr_expect_gt(x[0].n, 3, "there is nobody else");
    cr_assert_eq(mng_endpoint_delete(r->m, r->now, "e", true, &r->out, &e), 0);
    pr_flush(r);
    r->node[0].wants[1] = 16;
    cr_assert_eq(pr_endpoint(r, "{\"name\": \"f\", \"url\": \"http://b/\", \"budget\": \"gpu\"}", &e), 0);
    together(r, 60000, 6);
    cr_expect_gt(x[1].n, 3, "and then it has all of it");
    cr_assert_eq(pr_endpoint(r, E(", \"budget\": \"gpu\""), &e), 0);
    r->node[0].wants[0] = 16;
    cr_assert_eq(pr_endpoint(r, "{\"name\": \"f\", \"url\": \"http://b/\", \"max_concurrent\": 1}", &e), 0);
    for (int i = 0; i < 300; i++) { /* it had up to 6, and has another budget: none */
        pr_run(r, 100);
        cr_assert_leq(x[0].n + x[1].n, 7);
    }
    done(r);
}

Test(mng_tasks, an_endpoint_is_one_that_can_be_called)
{
    static const char *const v[][2] = {
        { "\"url\": \"ftp://a/\"", "url must begin with http:// or https://" },
        { "\"url\": \"http://u:p@a/\"", "url has a user's name in it: credentials go into headers of calls" },
        { "\"url\": \"http:///x\"", "url has no host, or no such host and port" },
        { "\"url\": \"http://a:0/\"", "url has no host, or no such host and port" },
        { "\"url\": \"http://[::1/\"", "url has no host, or no such host and port" },
        { "\"url\": \"http://a/?b\"", "url has a query or a fragment" },
        { "\"url\": \"http://a/#b\"", "url has a query or a fragment" },
        { "\"url\": \"http://a/ b\"", "url has a character that must be escaped" },
        { "\"url\": \"http://a/\", \"proxy\": \"http://p/x\"", "proxy has a path" },
        { "\"url\": \"http://a/\", \"proxy\": \"https://p\"", "proxy must begin with http://" },
        { "\"url\": \"http://a/\", \"tls\": {\"cert_file\": \"c\"}",
          "tls: cert_file and key_file go together" },
        { "\"url\": \"http://a/\", \"deadline\": \"1s\", \"connect_timeout\": \"2s\"",
          "connect_timeout is above deadline" },
        { "\"url\": \"http://a/\", \"adaptive\": {\"min\": 4}", "adaptive: min without max" },
        { "\"url\": \"http://a/\", \"adaptive\": {\"min\": 4, \"max\": 3}",
          "adaptive: min is above max, or above max_concurrent" },
        { "\"url\": \"http://a/\", \"max_concurrent\": 3, \"adaptive\": {\"min\": 4, \"max\": 9}",
          "adaptive: min is above max, or above max_concurrent" },
        { "\"url\": \"http://a/\", \"adaptive\": {\"min\": 4, \"max\": 4}", "" },
        { "\"url\": \"http://a/\", \"allow\": [\"10.0.0.1/8\"]",
          "allow.0: 10.0.0.1/8 is no network (10.0.0.0/8, fd00::/8, an address; bits behind the prefix are 0)" },
        { "\"url\": \"https://[2001:db8::1]:8443/a/b%20c\"", "" },
        { "\"url\": \"http://a-b.c:80\", \"allow\": [\"fd00::/8\", \"10.1.2.3\"]", "" },
    };

    for (unsigned i = 0; i < ARRAY_LEN(v); i++) {
        const char *said = refused(v[i][0]);

        cr_expect_str_eq(said + (v[i][1][0] != 0 ? strlen("endpoint e: ") : 0), v[i][1], "%s: %s", v[i][0],
                         said);
    }
}

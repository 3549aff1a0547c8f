/* test_mng_tasks.c: pools of task queues, their partitions, and the nodes that have them. */
#include "tests/lib/pooltest.h"

#include "common/task/rules.h"
#include "queuemng/core/orders.h"
#include "queuemng/core/task_view.h"

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

Test(mng_tasks, routers_know_the_largest_cost_and_nodes_if_it_is_no_default)
{
    struct pr *r = rig(1, "{\"match\": \"images\"}");
    struct pool_def d = { .max_cost = 10000000 };
    struct task_rules rules;
    struct err e;

    pr_run(r, 3000);
    cr_expect_eq(r->map.pools[0].max_cost, 10000000);
    cr_assert_eq(pr_pool(r, "{\"match\": \"images\", \"max_cost\": 500}", &e), 0);
    pr_run(r, 2000);
    cr_expect_eq(r->map.pools[0].max_cost, 500);
    cr_expect(pr_pool(r, "{\"match\": \"images\", \"max_cost\": 0}", &e) < 0);
    pool_def_rules(&d, &rules);
    cr_expect_eq(rules.max_cost, 0, "a node of the release before reads these rules");
    d.max_cost = 500;
    pool_def_rules(&d, &rules);
    cr_expect_eq(rules.max_cost, 500);
    done(r);
}

Test(mng_tasks, nodes_know_max_waiting_units_and_tell_what_waits)
{
    struct pr *r = rig(1, "{\"match\": \"images\"}");
    struct pool_def d = { .max_waiting_units = 0 };
    struct task_rules rules;
    struct err e;

    cr_assert_eq(pr_pool(r, "{\"match\": \"images\", \"max_waiting_units\": 500000}", &e), 0);
    cr_expect(pr_pool(r, "{\"match\": \"images\", \"max_waiting_units\": -1}", &e) < 0);
    pool_def_rules(&d, &rules);
    cr_expect_eq(rules.max_waiting_units, 0);
    d.max_waiting_units = 500000;
    pool_def_rules(&d, &rules);
    cr_expect_eq(rules.max_waiting_units, 500000);
    done(r);
}

static void keep_view(void *ctx, const void *view)
{
    *(struct mng_pool_view *)ctx = *(const struct mng_pool_view *)view;
}

Test(mng_tasks, a_pool_is_crowded_beyond_the_bound_that_an_operator_set)
{
    struct pr *r = rig(1, "{\"match\": \"images\", \"warn_waiting\": 10}");
    struct mng_pool_view v;

    pr_run(r, 3000);
    mng_each_pool(r->m, keep_view, &v);
    cr_assert_eq(v.warn_waiting, 10);
    v.sum.waiting = 10;
    cr_expect_not(mng_is_crowded(&v));
    v.sum.waiting = 11;
    cr_expect(mng_is_crowded(&v));
    v.warn_waiting = 0;
    cr_expect_not(mng_is_crowded(&v), "no bound");
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

    return mng_define(r->m, DEF_PIN, r->now, &d, &r->out, e);
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
    cr_assert_eq(mng_undefine(r->m, DEF_PIN, r->now, "ride/7:b", false, &r->out, &e), 0);
    pr_flush(r);
    pr_run(r, 1000);
    cr_expect_eq(weights(r), 137);
    cr_expect_eq(mng_undefine(r->m, DEF_PIN, r->now, "ride/7:b", false, &r->out, &e), SQ_EUNKNOWN);
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
    cr_assert_eq(mng_undefine(r->m, DEF_POOL, r->now, "ride/7", true, &r->out, &e), 0);
    mng_out_reset(&r->out);
    cr_expect_not_null(mng_defined(r->m, DEF_PIN, "ride/7:k7", NULL), "the other pool has the queue");
    cr_assert_eq(mng_undefine(r->m, DEF_POOL, r->now, "ride/*", true, &r->out, &e), 0);
    mng_out_reset(&r->out);
    cr_expect_null(mng_defined(r->m, DEF_PIN, "ride/7:k7", NULL));
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
    cr_expect_eq(((const struct pool_def *)mng_defined(r->m, DEF_POOL, "ride/*", NULL))->partitions, 4);
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
    cr_expect_eq(mng_undefine(r->m, DEF_POOL, r->now, "images", false, &r->out, &e), SQ_ECONFLICT);
    cr_assert_eq(mng_undefine(r->m, DEF_POOL, r->now, "images", true, &r->out, &e), 0);
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
    cr_expect_eq(mng_undefine(r->m, DEF_POOL, r->now, "images", false, &r->out, &e), SQ_ECONFLICT);
    cr_expect(strstr(e.text, "2 schedules"), "%s", e.text);
    r->node[0].part[0].schedules = 0;
    pr_run(r, 2000);
    cr_assert_eq(mng_undefine(r->m, DEF_POOL, r->now, "images", false, &r->out, &e), 0, "%s", e.text);
    pr_flush(r);
    done(r);
}

Test(mng_tasks, a_node_that_was_away_drops_what_a_removed_pool_left_there)
{
    struct pr *r = rig(1, "{\"match\": \"images\"}");
    struct err e;

    pr_run(r, 3000);
    pr_node_run(r, 0, false);
    cr_expect_eq(mng_undefine(r->m, DEF_POOL, r->now, "images", false, &r->out, &e), SQ_ECONFLICT,
                 "nobody knows what is there");
    cr_assert_eq(mng_undefine(r->m, DEF_POOL, r->now, "images", true, &r->out, &e), 0);
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

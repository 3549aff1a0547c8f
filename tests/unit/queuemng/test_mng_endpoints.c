/* test_mng_endpoints.c: endpoints, their budgets, and what each task node may call of them. */
#include "tests/lib/pooltest.h"

#include "queuemng/core/definitions.h"
#include "queuemng/core/task_view.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/table.h"
#include "queuemng/tasks/targets.h"

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
    cr_expect_eq(mng_undefine(r->m, DEF_ENDPOINT, r->now, "e", false, &r->out, &e), SQ_ECONFLICT);
    cr_expect_eq(mng_undefine(r->m, DEF_ENDPOINT, r->now, "none", true, &r->out, &e), SQ_EUNKNOWN);
    cr_assert_eq(mng_undefine(r->m, DEF_ENDPOINT, r->now, "e", true, &r->out, &e), 0);
    pr_flush(r);
    pr_run(r, 3000);
    cr_expect_eq(r->map.n_pools, 1);
    cr_expect_eq(r->node[0].endpoint[0].serial, 0);
    done(r);
}

Test(mng_tasks, a_pool_does_not_refuse_each_call_of_its_endpoint)
{
    static const char small[] = "{\"match\": \"a/*\", \"endpoint\": \"e\", \"max_cost\": 999}";
    struct pr *r = rig(1, "{\"match\": \"*\"}");
    struct err e = { 0 };

    cr_assert_eq(pr_endpoint(r, E(", \"cost\": {\"min\": 20000000, \"max\": 30000000}"), &e), 0, "%s", e.text);
    pr_run(r, 3000);
    cr_expect_eq(r->map.pools[0].max_cost, 20000000, "of the pool that it was given");
    cr_assert_eq(pr_endpoint(r, E(", \"cost\": {\"min\": 1000}"), &e), 0, "%s", e.text);
    cr_expect_eq(pr_pool(r, small, &e), SQ_EINVAL);
    cr_expect_str_eq(e.text, "pool a/*: max_cost 999 is below cost.min 1000 of endpoint e: each call would be refused");
    cr_assert_eq(pr_pool(r, "{\"match\": \"a/*\", \"endpoint\": \"e\", \"max_cost\": 1000}", &e), 0, "%s", e.text);
    cr_expect_eq(pr_pool(r, small, &e), SQ_EINVAL);
    cr_assert_eq(pr_endpoint(r, E(", \"cost\": {\"min\": 1001}"), &e), 0, "a file may raise both: %s", e.text);
    cr_expect_eq(pr_pool(r, "{\"match\": \"a/*\", \"endpoint\": \"e\", \"max_cost\": 1000, "
                         "\"paused\": true}", &e), 0, "that it stays so stops nobody: %s", e.text);
    cr_expect_eq(pr_pool(r, "{\"match\": \"a/*\", \"endpoint\": \"e\", \"max_cost\": 2000}", &e), 0);
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
    cr_expect_null(mng_defined(r->m, DEF_ENDPOINT, "e", NULL));
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

static uint64_t parts(const struct pr *r)
{
    uint64_t sum = 0;

    for (int i = 0; i < PR_NODES; i++)
        sum += r->node[i].endpoint[0].parts;
    return sum;
}

/* Runs so long; the nodes' parts are never more than the whole. */
static void with_parts(struct pr *r, msec_t ms)
{
    for (msec_t t = 0; t < ms; t += 200) {
        pr_run(r, 200);
        cr_assert_leq(parts(r), UNIT_PARTS);
    }
}

Test(mng_tasks, rates_in_units_are_divided_by_who_has_calls)
{
    struct pr *r = rig(2, "{\"match\": \"*\"}");
    struct err e = { 0 };

    r->longest = 100;
    r->node[0].wants[0] = 0;
    cr_assert_eq(pr_endpoint(r, E(", \"rates\": [{\"units\": 600}, {\"units\": 5000, \"per\": \"hour\"}]"), &e), 0);
    cr_assert_eq(pr_pool(r, "{\"match\": \"e/*\", \"endpoint\": \"e\"}", &e), 0);
    with_parts(r, 8000);
    cr_expect_eq(r->node[0].endpoint[0].parts, UNIT_PARTS / 32, "an equal part's sixteenth");
    cr_expect_eq(parts(r), UNIT_PARTS);
    r->node[0].wants[0] = 8;
    pr_manager_end(r);
    with_parts(r, 3000);
    pr_manager_begin(r); /* it knows from its store who may use what */
    with_parts(r, 6000);
    cr_expect_eq(r->node[0].endpoint[0].parts, UNIT_PARTS / 2);
    cr_expect_eq(parts(r), UNIT_PARTS);
    pr_node_run(r, 0, false);
    with_parts(r, 20000);
    cr_expect_eq(r->node[1].endpoint[0].parts, UNIT_PARTS / 2, "its partitions are still there");
    cr_assert_eq(pr_endpoint(r, E(""), &e), 0);
    with_parts(r, 3000);
    cr_expect_eq(parts(r), 0, "any");
    pr_node_run(r, 0, true);
    cr_assert_eq(pr_endpoint(r, E(", \"rates\": [{\"units\": 1}]"), &e), 0);
    with_parts(r, 60000);
    cr_expect_eq(parts(r), UNIT_PARTS);
    done(r);
}

/* Whether its last link has ended before it comes, or is found to be over only then. */
Test(mng_tasks, a_node_that_begins_anew_is_told_the_part_that_was_kept_for_it)
{
    struct pr *r = rig(2, "{\"match\": \"*\"}");
    const struct pc_endpoint *x = &r->node[0].endpoint[0];
    struct err e = { 0 };

    cr_assert_eq(pr_endpoint(r, E(", \"rates\": [{\"units\": 600}]"), &e), 0);
    cr_assert_eq(pr_pool(r, "{\"match\": \"e/*\", \"endpoint\": \"e\"}", &e), 0);
    with_parts(r, 8000);
    cr_expect_eq(x->parts, UNIT_PARTS / 2);
    *pr_peer(r, 0) = 0; /* as if the machine had gone: nothing says that its link is over */
    r->node[0].incarnation++;
    pr_run(r, 1000);
    cr_expect_eq(x->kept, UNIT_PARTS / 2, "%lu", x->kept);
    pr_node_run(r, 0, false);
    pr_run(r, 1000);
    r->node[0].endpoint[0].kept = 0;
    pr_node_run(r, 0, true);
    pr_run(r, 1000);
    cr_expect_eq(x->kept, UNIT_PARTS / 2, "%lu", x->kept);
    pr_manager_end(r);
    r->node[0].endpoint[0].kept = 0;
    pr_manager_begin(r);
    pr_run(r, 3000);
    cr_expect_geq(x->kept, UNIT_PARTS / 2, "it is stored");
    done(r);
}

/* J28, over managers that end amid a window and nodes that are killed. */
Test(mng_tasks, units_of_a_calendar_window_are_given_once)
{
    struct pr *r = rig(2, "{\"match\": \"*\"}");
    unsigned full = 0;
    struct err e = { 0 };

    r->longest = 100;
    cr_assert_eq(pr_endpoint(r, E(", \"rates\": [{\"units\": 100, \"window\": \"calendar\"}]"), &e), 0, "%s", e.text);
    cr_assert_eq(pr_pool(r, "{\"match\": \"e/*\", \"endpoint\": \"e\"}", &e), 0);
    for (unsigned minute = 0; minute < 20; minute++) {
        pr_run(r, 25000);
        if (minute % 3 == 1) {
            pr_manager_end(r);
            pr_run(r, 2000);
            pr_manager_begin(r);
        }
        if (minute % 4 == 2)
            pr_node_run(r, 0, minute % 8 != 2);
        pr_run(r, 35000);
    }
    for (unsigned i = 0; i < PC_MINUTES; i++) {
        unsigned sum = r->node[0].endpoint[0].begun[i] + r->node[1].endpoint[0].begun[i];

        cr_expect_leq(sum, 100, "%u", i);
        full += sum >= 90;
    }
    cr_expect_geq(full, 10, "%u windows are used", full);
    cr_expect_eq(pr_endpoint(r, E(", \"rates\": [{\"units\": 1, \"window\": \"calendar\", \"zone\": \"No/Where\"}]"), &e),
                 SQ_EINVAL);
    cr_expect_str_eq(e.text, "endpoint e: rates: zone: there is no No/Where here");
    cr_expect_eq(pr_pool(r, "{\"match\": \"x\", \"queue\": {\"rates\": [{\"units\": 1, \"window\": \"calendar\"}]}}", &e), 0);
    cr_expect_eq(pr_pool(r, "{\"match\": \"x\", \"key\": {\"rates\": [{\"units\": 1, \"window\": \"calendar\", \"zone\": "
                            "\"No/Where\"}]}}", &e), SQ_EINVAL);
    cr_expect_eq(pr_endpoint(r, E(", \"rates\": [{\"units\": 1, \"window\": \"calendar\", \"burst\": 3}]"), &e), SQ_EINVAL);
    done(r);
}

static bool any_zone(void *ctx, const char *zone, int64_t at_s, int32_t *offset_s)
{
    (void)ctx;
    (void)zone;
    (void)at_s;
    *offset_s = 0;
    return true;
}

/* As many zones as may be: n keys with one each, and `last` of the queue. */
static int pool_of_zones(struct pr *r, const char *name, unsigned n, const char *last, struct err *e)
{
    char text[8192];
    int at = snprintf(text, sizeof(text), "{\"match\": \"%s\", \"queue\": {\"rates\": [{\"units\": 1, \"window\": "
                      "\"calendar\", \"zone\": \"%s\"}]}, \"keys\": [", name, last);

    for (unsigned i = 0; i < n; i++)
        at += snprintf(text + at, sizeof(text) - (size_t)at, "%s{\"match\": \"k%u\", \"rates\": [{\"units\": 1, "
                       "\"window\": \"calendar\", \"zone\": \"Z/%u\"}]}", i > 0 ? ", " : "", i, i);
    snprintf(text + at, sizeof(text) - (size_t)at, "]}");
    return pr_pool(r, text, e);
}

Test(mng_tasks, zones_have_a_bound_and_one_comes_in_the_place_of_another)
{
    static const struct zones zones = { any_zone, NULL };
    struct pr *r = rig(1, "{\"match\": \"*\"}");
    struct err e = { 0 };

    r->m->opts.zones = &zones;
    cr_assert_eq(pool_of_zones(r, "x", RATE_ZONES_MAX - 1, "A", &e), 0, "%s", e.text);
    cr_expect_eq(pool_of_zones(r, "y", 0, "B", &e), SQ_ECONFLICT);
    cr_expect_str_eq(e.text, "rates: zone: calendar windows of queues and keys have 31 zones, as many as may be");
    cr_expect_eq(pool_of_zones(r, "y", 0, "A", &e), 0, "%s", e.text);
    cr_expect_eq(pool_of_zones(r, "x", RATE_ZONES_MAX - 1, "B", &e), SQ_ECONFLICT, "another pool has it");
    cr_expect_eq(pool_of_zones(r, "x", RATE_ZONES_MAX - 2, "A", &e), 0, "%s", e.text);
    cr_expect_eq(pool_of_zones(r, "y", 0, "B", &e), 0, "%s", e.text);
    cr_expect_eq(pool_of_zones(r, "y", 0, "C", &e), 0, "%s", e.text);
    done(r);
}

#define WINDOW(units, per) "{\"units\": " #units ", \"per\": \"" per "\", \"window\": \"calendar\"}"

/* J28: else each change of another rate would give the whole window once more. */
Test(mng_tasks, a_calendar_window_goes_on_at_whatever_place_its_rate_is)
{
    struct pr *r = rig(1, "{\"match\": \"*\"}");
    struct err e = { 0 };
    uint64_t minute, hour, given;
    const struct mendpoint *x;
    const struct mshare *s;

    r->longest = 100;
    cr_assert_eq(pr_endpoint(r, E(", \"rates\": [" WINDOW(100, "minute") "]"), &e), 0, "%s", e.text);
    cr_assert_eq(pr_pool(r, "{\"match\": \"e/*\", \"endpoint\": \"e\"}", &e), 0);
    pr_run(r, 65000);
    x = list_entry(list_first(&r->m->tasks.endpoints), struct mendpoint, in);
    s = list_entry(list_first(&x->shares), struct mshare, in);
    minute = x->meter[0].window.no;
    given = s->given[0];
    cr_assert(minute != 0 && given > 0 && x->meter[0].given == given);
    cr_assert_eq(pr_endpoint(r, E(", \"rates\": [" WINDOW(9000, "hour") ", " WINDOW(100, "minute") "]"), &e), 0, "%s", e.text);
    cr_expect_eq(x->meter[1].window.no, minute);
    cr_expect_geq(s->given[1], given);
    pr_run(r, 2000);
    hour = x->meter[0].window.no;
    cr_expect(hour > minute && x->meter[1].window.no == minute, "the new one begins, the other one goes on");
    cr_assert_eq(pr_endpoint(r, E(", \"rates\": [" WINDOW(120, "minute") ", " WINDOW(8000, "hour") ", " WINDOW(100, "minute")
                                  "]"), &e), 0, "%s", e.text);
    cr_expect_eq(x->meter[2].window.no, minute, "of two of a length, that of the same rate");
    cr_expect_eq(x->meter[1].window.no, hour, "other units");
    cr_expect(x->meter[0].window.no == 0 || x->meter[0].window.no > hour);
    cr_assert_eq(pr_endpoint(r, E(", \"rates\": [" WINDOW(90, "minute") "]"), &e), 0, "%s", e.text);
    cr_expect(x->meter[0].window.no != 0 && x->meter[1].window.no == 0 && s->given[1] == 0 && s->given[2] == 0);
    done(r);
}

/* Calls of 60 at two nodes, of which a window of 100 has room for one; and of 150, alone. */
Test(mng_tasks, what_a_window_had_no_room_for_goes_first_in_the_next_one)
{
    struct pr *r = rig(3, "{\"match\": \"*\"}");
    unsigned cost[] = { 150, 60, 60 }, windows[3] = { 0 };
    struct err e = { 0 };

    r->longest = 100;
    cr_assert_eq(pr_endpoint(r, E(", \"rates\": [{\"units\": 100, \"window\": \"calendar\"}]"), &e), 0, "%s", e.text);
    cr_assert_eq(pr_pool(r, "{\"match\": \"e/*\", \"endpoint\": \"e\"}", &e), 0);
    for (unsigned i = 0; i < 3; i++)
        r->node[i].endpoint[0].cost = cost[i];
    pr_run(r, 20 * 60000);
    for (unsigned i = 0; i < PC_MINUTES; i++) {
        unsigned sum = 0;

        for (unsigned k = 0; k < 3; k++) {
            sum += r->node[k].endpoint[0].begun[i];
            windows[k] += r->node[k].endpoint[0].begun[i] > 0;
        }
        cr_expect(sum <= 100 || sum == 150, "%u in window %u", sum, i);
    }
    for (unsigned k = 0; k < 3; k++)
        cr_expect_geq(windows[k], 2, "node %u in %u windows", k, windows[k]);
    done(r);
}

#define LEFT ", \"remaining\": [{\"header\": \"x-left\", \"reset\": \"x-reset\"}]"

Test(mng_tasks, what_answers_say_at_one_node_is_told_to_those_that_have_heard_nothing)
{
    struct pr *r = rig(2, "{\"match\": \"*\"}");
    const struct pc_endpoint *b = &r->node[1].endpoint[0];
    struct err e = { 0 };

    cr_assert_eq(pr_endpoint(r, E(LEFT), &e), 0, "%s", e.text);
    cr_assert_eq(pr_pool(r, "{\"match\": \"e/*\", \"endpoint\": \"e\"}", &e), 0);
    pr_run(r, 5000);
    cr_expect_eq(b->told_ms, 0);
    r->node[0].endpoint[0].says_left = 7;
    r->node[0].endpoint[0].says_ms = 60000;
    pr_run(r, 3000);
    cr_expect_eq(b->told_left, 7);
    cr_expect_gt(b->told_ms, 50000);
    r->node[1].endpoint[0].says_left = 3; /* now it has heard less */
    r->node[1].endpoint[0].says_ms = 30000;
    pr_run(r, 3000);
    cr_expect_eq(b->told_left, 7, "and is told nothing more");
    r->node[1].endpoint[0].says_ms = r->node[0].endpoint[0].says_ms = 0; /* both are over */
    pr_run(r, 40000);
    r->node[1].endpoint[0].told_ms = 0;
    pr_run(r, 3000);
    cr_expect_eq(b->told_ms, 0);
    done(r);
}

Test(mng_tasks, what_answers_said_is_forgotten_by_a_reset_and_with_the_names_of_their_fields)
{
    struct pr *r = rig(2, "{\"match\": \"*\"}");
    struct pc_endpoint *a = &r->node[0].endpoint[0], *b = &r->node[1].endpoint[0];
    struct err e = { 0 };

    cr_assert_eq(pr_endpoint(r, E(LEFT), &e), 0, "%s", e.text);
    cr_assert_eq(pr_pool(r, "{\"match\": \"e/*\", \"endpoint\": \"e\"}", &e), 0);
    pr_run(r, 5000);
    a->says_ms = 600000;
    pr_run(r, 3000);
    cr_expect_gt(b->told_ms, 500000);
    cr_assert(mng_endpoint_order(r->m, r->now, "e", ENDPOINT_RESET, &r->out));
    pr_flush(r);
    a->says_ms = 0; /* nodes obey */
    pr_run(r, 3000);
    cr_expect(a->told_ms == 0 && b->told_ms == 0, "%lu %lu", a->told_ms, b->told_ms);
    a->says_ms = 600000;
    pr_run(r, 3000);
    cr_expect_gt(b->told_ms, 500000, "later answers say it again");
    cr_assert_eq(pr_endpoint(r, E(", \"remaining\": [{\"header\": \"y-left\", \"reset\": \"y-reset\"}]"), &e), 0);
    a->says_ms = 0;
    pr_run(r, 3000);
    cr_expect(a->told_ms == 0 && b->told_ms == 0, "another quota");
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

static int route(struct pr *r, const char *json, struct err *e)
{
    struct route_def d = { 0 };
    struct cfg_node *doc = NULL;
    int rc = cfg_parse_json(&doc, json, strlen(json), e);

    if (rc == 0)
        rc = cfg_bind(&d, sizeof(d), route_def_keys, doc, NULL, e);
    if (rc == 0)
        rc = mng_define(r->m, DEF_ROUTE, r->now, &d, &r->out, e);
    pr_flush(r);
    cfg_clear(&d, route_def_keys);
    cfg_node_free(doc);
    return rc;
}

#define LLM(rules) "{\"name\": \"llm\", \"rules\": [" rules "]}"
#define TO_E       "{\"endpoints\": [\"e\"]}"

Test(mng_tasks, a_route_is_told_to_routers_and_holds_its_endpoints)
{
    struct pr *r = rig(1, "{\"match\": \"*\"}");
    struct err e = { 0 };

    cr_expect_eq(route(r, LLM(TO_E), &e), SQ_EINVAL);
    cr_expect_str_eq(e.text, "route llm: there is no endpoint e");
    cr_assert_eq(pr_endpoint(r, E(""), &e), 0, "%s", e.text);
    cr_assert_eq(pr_endpoint(r, "{\"name\": \"f\", \"url\": \"http://f/\"}", &e), 0, "%s", e.text);
    cr_assert_eq(route(r, LLM("{\"match\": [\"gpt-*\", \"o1\"], \"endpoints\": [\"f\", \"e\"], \"max_wait\": \"2s\"}, "
                              TO_E), &e), 0, "%s", e.text);
    pr_run(r, 3000);
    cr_assert_eq(r->map.n_routes, 3);
    cr_expect_str_eq(r->map.routes[0].name, "llm");
    cr_expect_str_eq(r->map.routes[0].pointer, "/model");
    cr_expect_str_eq(r->map.routes[0].match[1], "o1");
    cr_expect_str_eq(r->map.routes[0].endpoint, "f");
    cr_expect_eq(r->map.routes[0].max_wait_ms, 2000);
    cr_expect_str_eq(r->map.routes[1].endpoint, "e");
    cr_expect_eq(r->map.routes[1].rule, 0);
    cr_expect_eq(r->map.routes[2].rule, 1);
    cr_expect_eq(r->map.routes[2].n_match, 0);
    cr_expect_eq(mng_undefine(r->m, DEF_ENDPOINT, r->now, "f", true, &r->out, &e), SQ_ECONFLICT);
    cr_expect_str_eq(e.text, "endpoint f: route llm names it: change that one first");
    cr_assert_eq(route(r, LLM(TO_E), &e), 0, "%s", e.text);
    pr_run(r, 1000);
    cr_expect_eq(r->map.n_routes, 1);
    cr_assert_eq(mng_undefine(r->m, DEF_ENDPOINT, r->now, "f", true, &r->out, &e), 0, "%s", e.text);
    pr_flush(r);
    cr_assert_eq(mng_undefine(r->m, DEF_ROUTE, r->now, "llm", false, &r->out, &e), 0, "%s", e.text);
    pr_flush(r);
    pr_run(r, 1000);
    cr_expect_eq(r->map.n_routes, 0);
    done(r);
}

Test(mng_tasks, a_route_that_is_none_is_told_why)
{
    static const struct {
        const char *json, *why;
    } v[] = {
        { LLM("{\"endpoints\": [\"e\", \"e\"]}"), "rules.0: endpoint e is there twice" },
        { LLM("{\"endpoints\": [\"E e\"]}"), "rules.0: endpoints.0 is no name" },
        { LLM("{\"match\": [\"a*b\"], \"endpoints\": [\"e\"]}"), "rules.0: match.0: a star stands at the end alone" },
        { LLM("{\"match\": [\"\"], \"endpoints\": [\"e\"]}"), "is not allowed here" },
        { LLM(TO_E ", " TO_E), "rules.0 fits every request: none behind it would count" },
        { "{\"name\": \"a/b\", \"rules\": [" TO_E "]}", "name: small letters, digits, . _ -" },
        { "{\"name\": \"a\", \"pointer\": \"model\", \"rules\": [" TO_E "]}", "pointer: a slash before each name" },
        { "{\"name\": \"a\", \"pointer\": \"/a//b\", \"rules\": [" TO_E "]}", "pointer: a slash before each name" },
        { "{\"name\": \"a\", \"rules\": []}", "rules" },
        { "{\"name\": \"a\"}", "rules" },
    };
    struct pr *r = rig(1, "{\"match\": \"*\"}");
    struct err e = { 0 };

    cr_assert_eq(pr_endpoint(r, E(""), &e), 0, "%s", e.text);
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        cr_expect_eq(route(r, v[i].json, &e), SQ_EINVAL, "%s", v[i].json);
        cr_expect_not_null(strstr(e.text, v[i].why), "%s: %s", v[i].json, e.text);
    }
    done(r);
}

static void budget(struct pr *r, const char *json)
{
    struct err e = { 0 };

    cr_assert_eq(pr_budget(r, json, &e), 0, "%s", e.text);
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
    cr_assert_eq(mng_undefine(r->m, DEF_ENDPOINT, r->now, "e", true, &r->out, &e), 0);
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

Test(mng_tasks, nodes_are_told_the_rates_of_a_budget_and_their_changes)
{
    struct pr *r = rig(1, "{\"match\": \"*\"}");
    const struct pc_endpoint *x = r->node[0].endpoint;
    struct err e = { 0 };

    budget(r, "{\"name\": \"gpu\", \"rates\": [{\"units\": 900, \"per\": \"minute\"}]}");
    cr_assert_eq(pr_endpoint(r, E(", \"budget\": \"gpu\", \"rates\": [{\"units\": 50, \"per\": \"second\"}]"), &e),
                 0, "%s", e.text);
    cr_assert_eq(pr_endpoint(r, "{\"name\": \"f\", \"url\": \"http://b/\", \"budget\": \"gpu\"}", &e), 0);
    pr_run(r, 5000);
    cr_assert_eq(x[0].n_rates, 6, "its own, and behind it the budget's");
    cr_expect_eq(x[0].rates[0], 50);
    cr_expect_eq(x[0].rates[3], 900);
    cr_assert_eq(x[1].n_rates, 3);
    cr_expect_eq(x[1].n_shared, 1);
    cr_expect_gt(x[1].shared, 0);
    cr_expect_leq(x[0].shared + x[1].shared, UNIT_PARTS);
    budget(r, "{\"name\": \"gpu\", \"rates\": [{\"units\": 700, \"per\": \"minute\"}]}");
    pr_run(r, 100);
    cr_expect_eq(x[0].rates[3], 700);
    cr_expect_eq(x[1].rates[0], 700);
    cr_expect_eq(pr_endpoint(r, E(", \"budget\": \"gpu\", \"rates\": [{\"units\": 1, \"per\": \"second\"}, "
                                  "{\"units\": 2, \"per\": \"minute\"}, {\"units\": 3, \"per\": \"hour\"}]"),
                             &e), SQ_EINVAL);
    cr_expect_str_eq(e.text, "endpoint e: its rates and those of budget gpu are 4: at most 3 together");
    cr_assert_eq(pr_endpoint(r, E(""), &e), 0);
    pr_run(r, 3000);
    cr_expect_eq(x[0].n_rates, 0, "it has left the budget");
    done(r);
}

#define OWN ", \"rates\": [{\"units\": 50, \"per\": \"second\"}]"

/* Until it is known what is its own of that, it has none; and of its own rates all the same. */
Test(mng_tasks, the_part_of_one_budget_is_no_part_of_another)
{
    struct pr *r = rig(1, "{\"match\": \"*\"}");
    const struct pc_endpoint *x = r->node[0].endpoint;
    struct err e = { 0 };

    budget(r, "{\"name\": \"a\", \"rates\": [{\"units\": 900, \"per\": \"minute\"}]}");
    budget(r, "{\"name\": \"b\", \"rates\": [{\"units\": 900, \"per\": \"minute\"}]}");
    cr_assert_eq(pr_endpoint(r, E(OWN), &e), 0, "%s", e.text);
    cr_assert_eq(pr_endpoint(r, "{\"name\": \"f\", \"url\": \"http://b/\", \"budget\": \"b\"}", &e), 0);
    pr_run(r, 5000);
    cr_expect_eq(x[1].shared, UNIT_PARTS);
    for (int i = 0; i < 2; i++) { /* from none, and from the other one */
        cr_assert_eq(pr_endpoint(r, i == 0 ? E(OWN ", \"budget\": \"a\"") : E(OWN ", \"budget\": \"b\""), &e), 0);
        each_share(bearer_find(r->m, "e"), s) {
            cr_expect_eq(s->said.shared, 0, "%d: %lu", i, s->said.shared);
            cr_expect_eq(s->said.units, UNIT_PARTS, "%d: %lu", i, s->said.units);
        }
        pr_run(r, 5000);
        cr_expect_gt(x[0].shared, 0);
        cr_expect(i == 0 || x[0].shared + x[1].shared <= UNIT_PARTS);
    }
    done(r);
}

Test(mng_tasks, an_endpoint_is_one_that_can_be_called)
{
    static const char *const v[][2] = {
        { "\"url\": \"ftp://a/\"", "url must begin with http:// or https://" },
        { "\"url\": \"http://u:p@a/\"", "url has a user's name in it: credentials go into headers of calls" },
        { "\"url\": \"http://a/\", \"remaining\": [{\"header\": \"a b\", \"reset\": \"c\"}]", "remaining.0.header: a b has a name that is none" },
        { "\"url\": \"http://a/\", \"remaining\": [{\"header\": \"a\", \"reset\": \"b\"}, {\"header\": \"A\", "
          "\"reset\": \"c\"}]", "remaining.1: A is there twice" },
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

/* ---- several targets ----------------------------------------------------------------------------- */

static const struct mendpoint *target(const struct pr *r, const char *url)
{
    const struct mendpoint *x = defined_find(r->m, DEF_ENDPOINT, "e");

    each_target(x, t)
        if (strcmp(t->def.url, url) == 0)
            return t;
    return NULL;
}

#define ONE_TARGET "{\"name\": \"e\", \"targets\": [{\"url\": \"http://a/\", \"max_concurrent\": 4}]}"

static void holds(const struct mendpoint *x, uint64_t first, uint64_t second)
{
    unsigned n = 0;

    each_share(x, s)
        s->held.slots = n++ == 0 ? first : second;
    cr_assert_eq(n, 2u);
}

/* The url was a target's before, whose calls are not over, and then the endpoint's: both count. */
Test(mng_tasks, a_target_begins_with_what_was_called_by_its_url)
{
    struct pr *r = rig(2, "{\"match\": \"*\"}");
    struct err e = { 0 };
    const struct mendpoint *t;
    unsigned n = 0;

    cr_assert_eq(pr_endpoint(r, ONE_TARGET, &e), 0, "%s", e.text);
    cr_assert_eq(pr_pool(r, "{\"match\": \"e/*\", \"endpoint\": \"e\"}", &e), 0);
    pr_run(r, 3000);
    t = target(r, "http://a/");
    cr_assert_not_null(t);
    holds(t, 1, 0);
    cr_assert_eq(pr_endpoint(r, E(", \"max_concurrent\": 6"), &e), 0, "%s", e.text);
    cr_expect(target(r, "http://a/")->gone);
    holds(t, 1, 0);
    holds(defined_find(r->m, DEF_ENDPOINT, "e"), 4, 2);
    cr_assert_eq(pr_endpoint(r, ONE_TARGET, &e), 0, "%s", e.text);
    cr_expect_eq(target(r, "http://a/"), t);
    cr_expect_not(t->gone);
    each_share(t, s) {
        cr_expect_eq(s->held.slots, n++ == 0 ? 4u : 2u, "so often nodes may have called it");
        cr_expect_eq(s->said.slots, 0, "none may begin before it is known how many go on");
    }
    pr_free(r);
}

Test(mng_tasks, affinity_is_of_targets)
{
    struct pr *r = rig(1, "{\"match\": \"*\"}");
    struct err e = { 0 };

    cr_expect_eq(pr_endpoint(r, E(", \"affinity\": \"key\""), &e), SQ_EINVAL);
    cr_expect_str_eq(e.text, "endpoint e: affinity chooses among targets, and it has a url");
    cr_expect_eq(pr_endpoint(r, "{\"name\": \"e\", \"affinity\": \"subkey\", \"affinity_bound\": 1.5, "
                                "\"targets\": [{\"url\": \"http://a/\"}]}", &e), 0, "%s", e.text);
    cr_assert_eq(pr_pool(r, "{\"match\": \"e/*\", \"endpoint\": \"e\"}", &e), 0);
    pr_run(r, 3000);
    cr_expect_eq(r->node[0].endpoint[0].affinity, AFFINITY_SUBKEY);
    cr_expect_eq(r->node[0].endpoint[0].affinity_bound, 150);
    pr_free(r);
}

/* One pool has them all. */
Test(mng_tasks, nodes_can_report_all_endpoints_and_targets)
{
    struct pr *r = rig(0, "{\"match\": \"*\"}");
    struct err e = { 0 };
    char json[4000];
    int n, rc = 0;

    for (unsigned k = 0; rc == 0 && k < 100; k++) {
        n = snprintf(json, sizeof(json), "{\"name\": \"e%u\", \"targets\": [", k);
        for (unsigned i = 0; i < 31; i++)
            n += snprintf(json + n, sizeof(json) - (size_t)n, "%s{\"url\": \"http://a%u/\"}", i > 0 ? ", " : "", i);
        snprintf(json + n, sizeof(json) - (size_t)n, "]}");
        rc = pr_endpoint(r, json, &e);
        cr_assert(rc == 0 ? k < 32 : k == 32, "%u: %s", k, e.text);
    }
    cr_expect_eq(rc, SQ_ECONFLICT);
    cr_expect_eq(pr_endpoint(r, E(""), &e), SQ_ECONFLICT);
    cr_expect_eq(pr_endpoint(r, "{\"name\": \"e1\", \"url\": \"http://b/\"}", &e), 0, "%s", e.text);
    pr_free(r);
}

#define F(more) "{\"name\": \"f\", \"url\": \"http://b/\", \"budget\": \"gpu\"" more "}"

/* J28, J35: of both endpoints at all nodes together, over managers that end amid a window and nodes that are killed. */
Test(mng_tasks, a_calendar_window_of_a_budget_is_given_once_to_all_its_endpoints)
{
    struct pr *r = rig(2, "{\"match\": \"*\"}");
    unsigned full = 0, of[2] = { 0 };
    struct err e = { 0 };

    r->longest = 100;
    budget(r, "{\"name\": \"gpu\", \"rates\": [" WINDOW(100, "minute") "]}");
    cr_assert_eq(pr_endpoint(r, E(", \"budget\": \"gpu\""), &e), 0, "%s", e.text);
    cr_assert_eq(pr_endpoint(r, F(""), &e), 0, "%s", e.text);
    cr_expect_eq(pr_budget(r, "{\"name\": \"g\", \"rates\": [{\"units\": 1, \"window\": \"calendar\", "
                           "\"zone\": \"No/Where\"}]}", &e), SQ_EINVAL);
    cr_expect_str_eq(e.text, "budget g: rates: zone: there is no No/Where here");
    r->node[1].endpoint[1].cost = 30;
    for (unsigned minute = 0; minute < 20; minute++) {
        pr_run(r, 25000);
        if (minute % 3 == 1) {
            pr_manager_end(r);
            pr_run(r, 2000);
            pr_manager_begin(r);
        }
        if (minute % 4 == 2)
            pr_node_run(r, 0, minute % 8 != 2);
        pr_run(r, 35000);
    }
    for (unsigned i = 0; i < PC_MINUTES; i++) {
        unsigned sum = 0;

        for (unsigned k = 0; k < 2; k++)
            for (unsigned n = 0; n < 2; n++) {
                sum += r->node[n].endpoint[k].begun[i];
                of[k] += r->node[n].endpoint[k].begun[i];
            }
        cr_expect_leq(sum, 100, "%u in %u", sum, i);
        full += sum >= 90;
    }
    cr_expect_geq(full, 8, "%u windows are used", full);
    cr_expect(of[0] > 100 && of[1] > 100, "%u, %u", of[0], of[1]);
    done(r);
}

/* Calls of 60 and of 20: once the day of the first has no room for one, the minute of both is the other's. */
Test(mng_tasks, of_a_budgets_window_nothing_is_given_to_whom_its_own_has_no_room_for)
{
    struct pr *r = rig(1, "{\"match\": \"*\"}");
    const struct mshare *s;
    struct err e = { 0 };

    r->longest = 100;
    budget(r, "{\"name\": \"gpu\", \"rates\": [" WINDOW(100, "minute") "]}");
    cr_assert_eq(pr_endpoint(r, E(", \"budget\": \"gpu\", \"rates\": [" WINDOW(70, "day") "]"), &e), 0, "%s", e.text);
    cr_assert_eq(pr_endpoint(r, F(""), &e), 0, "%s", e.text);
    r->node[0].endpoint[0].cost = 60;
    r->node[0].endpoint[1].cost = 20;
    pr_run(r, 6 * 60000 + 30000);
    s = list_entry(list_first(&list_entry(list_first(&r->m->tasks.endpoints), struct mendpoint, in)->shares), struct mshare, in);
    cr_expect(s->st.used[0] == 60 && s->st.needs == 60, "%lu %lu", s->st.used[0], s->st.needs);
    cr_expect_lt(s->given[1], 60, "%lu", s->given[1]);
    done(r);
}

Test(mng_tasks, a_window_of_a_budget_goes_on_where_its_rates_and_those_of_an_endpoint_change)
{
    struct pr *r = rig(1, "{\"match\": \"*\"}");
    struct err e = { 0 };
    const struct mendpoint *x;
    const struct mbudget *b;
    const struct mshare *s;
    uint64_t no, given, all;

    r->longest = 100;
    budget(r, "{\"name\": \"gpu\", \"rates\": [" WINDOW(1000, "day") "]}");
    cr_assert_eq(pr_endpoint(r, E(", \"budget\": \"gpu\""), &e), 0, "%s", e.text);
    pr_run(r, 5000);
    b = list_entry(list_first(&r->m->budgets), struct mbudget, in);
    x = list_entry(list_first(&r->m->tasks.endpoints), struct mendpoint, in);
    s = list_entry(list_first(&x->shares), struct mshare, in);
    no = b->meter[0].window.no;
    given = s->given[0];
    cr_assert(no != 0 && given > 0 && b->meter[0].given == given, "%lu %lu", no, given);
    cr_assert_eq(pr_endpoint(r, E(", \"budget\": \"gpu\", \"rates\": [" WINDOW(50, "minute") "]"), &e), 0, "%s", e.text);
    cr_expect(s->given[1] == given || s->given[1] == b->meter[0].given, "behind its own");
    budget(r, "{\"name\": \"gpu\", \"rates\": [" WINDOW(600, "hour") ", " WINDOW(1000, "day") "]}");
    cr_expect_eq(b->meter[1].window.no, no);
    cr_expect_geq(s->given[2], given);
    pr_run(r, 3000);
    cr_expect_eq(b->meter[1].window.no, no);
    cr_expect(b->meter[0].window.no > no && x->meter[0].window.no > no);
    cr_expect_eq(s->given[2], b->meter[1].given);
    all = b->meter[1].given;
    cr_assert_eq(pr_endpoint(r, E(""), &e), 0, "%s", e.text);
    cr_expect(s->given[0] == 0 && s->given[1] == 0 && s->given[2] == 0);
    cr_assert_eq(pr_endpoint(r, E(", \"budget\": \"gpu\""), &e), 0, "%s", e.text);
    cr_expect_eq(b->meter[1].given, all, "what it had is gone from that window");
    done(r);
}

Test(mng_tasks, an_endpoint_is_stored_with_a_window_of_its_budget_where_it_is_given_of_it)
{
    struct pr *r = rig(1, "{\"match\": \"*\"}");
    struct err e = { 0 };
    unsigned was[3];

    r->longest = 100;
    budget(r, "{\"name\": \"gpu\", \"rates\": [" WINDOW(1000, "day") "]}");
    cr_assert_eq(pr_endpoint(r, E(", \"budget\": \"gpu\""), &e), 0, "%s", e.text);
    cr_assert_eq(pr_endpoint(r, F(", \"paused\": true"), &e), 0, "%s", e.text);
    pr_run(r, 20000);
    was[0] = pr_times(r->mem, "endpoint/e");
    was[1] = pr_times(r->mem, "endpoint/f");
    was[2] = pr_times(r->mem, "budget/gpu");
    pr_run(r, 30000);
    cr_expect_gt(pr_times(r->mem, "endpoint/e"), was[0] + 5);
    cr_expect_gt(pr_times(r->mem, "budget/gpu"), was[2] + 5);
    cr_expect_leq(pr_times(r->mem, "endpoint/f"), was[1], "%u", pr_times(r->mem, "endpoint/f") - was[1]);
    done(r);
}

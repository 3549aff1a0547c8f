/* test_task_units.c: tasks that cost more than one unit: shares and rates count what they cost. */
#include "tests/unit/task/enginerig.h"

#include "common/base/rng.h"
#include "tests/unit/task/keyrig.h"

#define MINUTE ((msec_t)60000)

static struct submit costing(const char *key, uint64_t cost)
{
    return (struct submit){ .key1 = rig_text(key), .own = { .cost = cost > 1 ? cost + 1 : 0 } };
}

static const char *key_of(const struct enginerig *r, task_no no)
{
    static struct task_view v;

    look_at_task(&r->e, task_slot_of(no), &v);
    return v.key1;
}

/* The next one that starts: what it costs, 0: none does. */
static uint64_t take_cost(struct enginerig *r, char *key)
{
    task_no no = rig_take(r, NULL);

    if (no != 0)
        *key = key_of(r, no)[0];
    return no != 0 ? task_cost(&r->e, task_slot_of(no)) : 0;
}

Test(task_units, keys_share_units_whatever_their_tasks_cost)
{
    struct key_limit heavy = { .queue = "", .key = "w", .weight = 3 };
    uint64_t had[128] = { 0 }, all = 0, cost;
    struct enginerig r;
    struct buf keys;
    char key = 0;

    rig_init(&r, NULL);
    buf_init(&keys);
    key_limits_encode(&heavy, 1, &keys);
    cr_assert_eq(engine_define_keys(&r.e, "*", &keys), 0);
    for (unsigned i = 0; i < 40; i++)
        rig_submit(&r, costing("a", 1000));
    for (unsigned i = 0; i < 4000; i++) {
        rig_submit(&r, costing("b", 1));
        if (i < 1500)
            rig_submit(&r, costing("w", 1 + i % 17));
    }
    for (; all < 11000; all += cost) {
        cost = take_cost(&r, &key);
        cr_assert_gt(cost, 0);
        had[(unsigned char)key] += cost;
    }
    cr_expect(had['a'] + 1000 >= had['b'] && had['b'] + 1000 >= had['a'], "J10: %lu, %lu", had['a'], had['b']);
    cr_expect(had['w'] / 3 + 1020 >= had['b'] && had['b'] + 1020 >= had['w'] / 3, "J10: weight 3: %lu, %lu",
              had['w'], had['b']);
    buf_fini(&keys);
    rig_fini(&r);
}

static int submits(struct enginerig *r, struct submit s)
{
    task_no no;
    int rc;

    s.queue = rig_text("q");
    rc = engine_submit(&r->e, &s, &no);
    rig_flush(r);
    return rc;
}

static uint64_t units_of_q(const struct enginerig *r)
{
    const struct tqueue *q = tqueue_find(&r->e, "q", 1);

    cr_expect_eq(r->e.units, q != NULL ? q->units : 0);
    return r->e.units;
}

/* J36. */
Test(task_units, a_line_has_max_waiting_units_at_most_and_its_first_task_always_fits)
{
    struct submit late = costing("a", 40);
    struct task_rules rules;
    struct enginerig r;
    uint64_t lease;
    task_no no;

    rules_default(&rules);
    rules.max_waiting_units = 100;
    rules.max_attempts = 2;
    rules.retry_min_ms = rules.retry_max_ms = 1000;
    rules.retry_jitter = 0;
    rig_init(&r, &rules);
    cr_expect_eq(submits(&r, costing("a", 500)), 0, "nothing waits");
    cr_expect_eq(submits(&r, costing("a", 1)), SQ_EFULL);
    cr_expect_eq(r.e.full, FULL_UNITS);
    rig_restart(&r, 1);
    cr_expect_eq(units_of_q(&r), 500);
    no = rig_take(&r, &lease);
    rig_flush(&r);
    cr_expect_eq(units_of_q(&r), 0, "it has started");
    cr_expect_eq(submits(&r, costing("a", 60)), 0);
    late.delay_ms = 60000;
    cr_expect_eq(submits(&r, late), 0, "what is delayed waits, too");
    cr_expect_eq(submits(&r, costing("a", 1)), SQ_EFULL);
    late.delay_ms = 1;
    late.own.cost = 0;
    cr_expect_eq(submits(&r, late), SQ_EFULL);
    cr_assert_eq(engine_nack(&r.e, no, lease, -1, &(const struct attempt){ .end = ATTEMPT_GIVEN_BACK }), 0);
    rig_flush(&r);
    cr_expect_eq(units_of_q(&r), 600, "what is tried again comes back, bound or not");
    rig_restart(&r, 1000);
    cr_expect_eq(units_of_q(&r), 600);
    cr_assert_eq(engine_cancel(&r.e, no), 0);
    rig_flush(&r);
    cr_expect_eq(units_of_q(&r), 100);
    rig_compare(&r);
    rig_fini(&r);
}

Test(task_units, one_that_waits_for_its_time_fits_or_is_refused)
{
    struct submit late = costing("a", 1000000), behind;
    struct task_rules rules;
    struct enginerig r;
    task_no no;

    rules_default(&rules);
    rules.max_waiting_units = 100;
    rig_init(&r, &rules);
    late.queue = rig_text("q");
    late.delay_ms = 86400000;
    cr_expect_eq(submits(&r, late), SQ_EFULL, "no queue yet");
    behind = late;
    behind.after_part = behind.after_no = 1;
    cr_assert_eq(engine_submit(&r.e, &behind, &no), 0, "behind a task it was accepted with that");
    cr_assert_eq(engine_cancel(&r.e, no), 0);
    rig_flush(&r);
    late.delay_ms = 0;
    late.at_wall_ms = r.e.wall_at + 1;
    cr_expect_eq(submits(&r, late), SQ_EFULL);
    late.at_wall_ms = r.e.wall_at;
    cr_expect_eq(submits(&r, late), 0, "its moment has come");
    rig_fini(&r);
}

Test(task_units, a_task_that_replaces_another_has_its_room)
{
    struct submit s = costing("a", 60);
    struct task_rules rules;
    struct enginerig r;

    rules_default(&rules);
    rules.max_waiting_units = 100;
    rules.max_waiting = 2;
    rig_init(&r, &rules);
    s.queue = rig_text("q");
    s.unique = rig_text("u");
    s.unique_while = UNIQUE_RUNNING;
    s.on_conflict = UNIQUE_REPLACE;
    cr_assert_eq(submits(&r, s), 0);
    cr_assert_eq(submits(&r, costing("b", 40)), 0);
    cr_expect_eq(submits(&r, costing("c", 1)), SQ_EFULL);
    cr_expect_eq(submits(&r, s), 0, "60 go, 60 come");
    cr_expect_eq(units_of_q(&r), 100);
    s.own.cost++;
    cr_expect_eq(submits(&r, s), SQ_EFULL, "61 do not");
    cr_expect_eq(r.e.full, FULL_UNITS);
    cr_expect_eq(units_of_q(&r), 100, "and nothing is lost");
    s.own.cost = 0;
    cr_expect_eq(submits(&r, s), 0);
    cr_expect_eq(units_of_q(&r), 41);
    cr_expect_eq(submits(&r, costing("c", 1)), SQ_EFULL);
    cr_expect_eq(r.e.full, FULL_WAITING);
    rig_compare(&r);
    rig_fini(&r);
}

Test(task_units, a_task_that_is_over_leaves_no_room)
{
    struct submit s = costing("a", 60);
    struct task_rules rules;
    struct enginerig r;
    uint64_t lease;
    task_no no;

    rules_default(&rules);
    rules.max_waiting_units = 100;
    rig_init(&r, &rules);
    s.queue = rig_text("q");
    s.unique = rig_text("u");
    s.unique_while = UNIQUE_FINAL;
    s.on_conflict = UNIQUE_REPLACE;
    cr_assert_eq(submits(&r, s), 0);
    no = rig_take(&r, &lease);
    cr_assert_eq(engine_ack(&r.e, no, lease, 0), 0);
    rig_flush(&r);
    cr_assert_eq(submits(&r, costing("b", 70)), 0);
    cr_expect_eq(submits(&r, s), SQ_EFULL);
    rig_fini(&r);
}

Test(task_units, the_dead_leave_the_sum_and_come_back_when_they_are_redriven)
{
    struct task_rules rules;
    struct enginerig r;
    uint64_t lease;
    task_no no;

    rules_default(&rules);
    rules.max_waiting_units = 10;
    rules.max_attempts = 1;
    rules.ttl_ms = 1000;
    rig_init(&r, &rules);
    cr_assert_eq(submits(&r, costing("a", 10)), 0);
    no = rig_take(&r, &lease);
    cr_assert_eq(engine_nack(&r.e, no, lease, -1, &(const struct attempt){ .end = ATTEMPT_GIVEN_BACK }), 0);
    rig_flush(&r);
    cr_expect_eq(units_of_q(&r), 0);
    cr_expect_eq(submits(&r, costing("b", 11)), 0, "one alone fits, though it is larger");
    cr_assert_eq(engine_redrive(&r.e, no), 0);
    rig_flush(&r);
    cr_expect_eq(units_of_q(&r), 21);
    rig_advance(&r, 1001);
    cr_expect_eq(units_of_q(&r), 0, "they have expired");
    rig_compare(&r);
    rig_fini(&r);
}

/* A round is a step for those who wake, not one for each who owes. (Amortised: many may wake in one.) */
Test(task_units, keys_in_debt_cost_no_steps)
{
    enum { KEYS = 5000 };
    struct keyrig r;
    uint64_t of_small = 0, steps;

    keyrig_init(&r);
    cr_assert_eq(tree_reach_costs(&r.tree), 0);
    for (unsigned i = 0; i < KEYS; i++)
        for (unsigned k = 0; k < 2; k++)
            keyrig_add(&r, 2 + i, 0, 0);
    for (unsigned i = 0; i < KEYS; i++)
        keyrig_add(&r, 1, 0, 0);
    steps = r.tree.steps;
    for (unsigned i = 0; i < 2 * KEYS; i++) {
        uint32_t served;
        task_slot slot = tree_pick(&r.tree, r.limiter, r.head_start, &served);
        bool large;

        cr_assert_neq(slot, SLOT_NONE);
        large = tree_turn_at(&r.tree, served)->tasks < KEYS;
        of_small += !large;
        tree_pay(&r.tree, served, large ? 1000000 : 1);
        tree_start(&r.tree, slot, true, 1, r.now);
        task_set_state(&r.store, slot, TASK_RUNNING);
    }
    cr_expect_eq(of_small, KEYS, "while all others owe a million it is always its turn");
    cr_expect_lt((r.tree.steps - steps) / (2 * KEYS), 30, "%lu", r.tree.steps - steps);
    cr_expect_null(tree_check(&r.tree));
    keyrig_fini(&r);
}

/* A key that has one task at a time gets no more than others for that. */
Test(task_units, what_a_key_owes_is_not_forgotten_while_it_has_no_task_in_line)
{
    struct enginerig r;
    uint64_t had[128] = { 0 }, cost;
    char key = 'a';

    rig_init(&r, NULL);
    for (unsigned i = 0; i < 1000; i++)
        rig_submit(&r, costing("b", 1));
    for (unsigned i = 0; i < 600; i++) {
        if (key == 'a')
            rig_submit(&r, costing("a", 100));
        cost = take_cost(&r, &key);
        had[(unsigned char)key] += cost;
    }
    cr_expect(had['a'] <= had['b'] + 200, "J10: %lu, %lu", had['a'], had['b']);
    rig_fini(&r);
}

/* Rounds end also where each of the others has one task, comes and goes. */
Test(task_units, a_key_in_debt_has_its_turn_beside_keys_that_come_and_go)
{
    struct enginerig r;
    unsigned others = 0;
    char name[16], key = 0;

    rig_init(&r, NULL);
    rig_submit(&r, costing("a", 10));
    rig_submit(&r, costing("a", 1));
    for (unsigned i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof(name), "b%u", i);
        rig_submit(&r, costing(name, 1));
    }
    cr_expect_eq(take_cost(&r, &key), 10);
    for (key = 0; key != 'a' && others < 200; others++) {
        (void)snprintf(name, sizeof(name), "b%u", 3 + others);
        rig_submit(&r, costing(name, 1));
        cr_expect_eq(take_cost(&r, &key), 1);
    }
    cr_expect_eq(key, 'a');
    cr_expect(others >= 9 * 3 && others <= 9 * 4 + 4, "J10: 9 rounds of 3 or 4, in which it owes: %u", others);
    rig_fini(&r);
}

static void limits(struct enginerig *r, uint64_t units, enum rate_per per, uint64_t room)
{
    struct task_rules rules;

    rules_default(&rules);
    rules.key_units_1 = units;
    rules.key_per_1 = per;
    rules.key_room_1 = room;
    rig_init(r, &rules);
}

Test(task_units, a_rate_in_units_lets_as_many_start_as_it_says)
{
    struct enginerig r;
    uint64_t units = 0;
    char key;

    limits(&r, 6000, PER_MINUTE, 500); /* 100 a second */
    for (unsigned i = 0; i < 400; i++)
        rig_submit(&r, costing("a", 1 + i % 60));
    for (msec_t ms = 0; ms <= 20000; ms += 10) {
        for (uint64_t cost; (cost = take_cost(&r, &key)) != 0;)
            units += cost;
        cr_assert_leq(units, 500 + (uint64_t)ms / 10, "J23 at %ld ms", ms);
        rig_advance(&r, 10);
    }
    cr_expect_geq(units, 500 + 2000 - 60, "and it is used: %lu", units);
    rig_fini(&r);
}

Test(task_units, one_that_does_not_fit_goes_before_smaller_ones_of_its_key_and_holds_up_no_other_key)
{
    struct task_view v;
    struct enginerig r;
    task_no large;
    char key;

    limits(&r, 60, PER_MINUTE, 100); /* one a second */
    rig_submit(&r, costing("a", 90));
    large = rig_submit(&r, costing("a", 40));
    rig_submit(&r, costing("a", 1));
    rig_submit(&r, costing("b", 5));
    cr_expect_eq(take_cost(&r, &key), 90);
    cr_expect_eq(take_cost(&r, &key), 5, "another key");
    cr_expect_eq(take_cost(&r, &key), 0, "10 are left, and 1 would fit");
    cr_assert_eq(engine_look(&r.e, large, &v), 0);
    cr_expect_eq(v.limited, CLOSED_RATE);
    cr_expect_str_eq(v.limited_by, "a");
    cr_expect_eq(v.limited_until, r.e.at + 30000);
    cr_expect_eq(v.eta, TASK_ETA_RATE);
    cr_expect_eq(v.eta_ms, 30000);
    engine_foresee(&r.e, &(struct submit){ .queue = rig_text("q"), .key1 = rig_text("a"), .own.cost = 31 }, &v);
    cr_expect_eq(v.eta_ms, 80000, "two before it, as if they cost 30, too: %ld", v.eta_ms);
    rig_advance(&r, 29999);
    cr_expect_eq(take_cost(&r, &key), 0);
    rig_advance(&r, 1);
    cr_expect_eq(take_cost(&r, &key), 40);
    rig_advance(&r, 1000);
    cr_expect_eq(take_cost(&r, &key), 1);
    rig_fini(&r);
}

Test(task_units, what_a_limit_waits_for_goes_with_the_task_that_needed_it)
{
    struct enginerig r;
    task_no large;
    char key;

    limits(&r, 60, PER_MINUTE, 100); /* one a second */
    rig_submit(&r, costing("a", 90));
    large = rig_submit(&r, costing("a", 100));
    rig_submit(&r, costing("a", 10));
    cr_expect_eq(take_cost(&r, &key), 90);
    cr_expect_eq(take_cost(&r, &key), 0, "10 are left");
    cr_assert_eq(engine_cancel(&r.e, large), 0);
    rig_flush(&r);
    cr_expect_eq(take_cost(&r, &key), 10, "as soon as what did not fit is not there");
    rig_fini(&r);
}

Test(task_units, a_higher_priority_does_not_wait_for_what_a_lower_one_needs)
{
    struct task_rules rules;
    struct enginerig r;
    struct submit urgent = costing("a", 5), other = costing("b", 4);
    char key;

    rules_default(&rules);
    rules.key_units_1 = 60, rules.key_per_1 = PER_MINUTE, rules.key_room_1 = 100;
    rules.queue_units_1 = 60, rules.queue_per_1 = PER_MINUTE, rules.queue_room_1 = 110;
    for (unsigned i = 0; i < TASK_PRIORITIES - 1; i++)
        (&rules.head_start_1)[i] = 2 * (uint64_t)MINUTE;
    urgent.priority = other.priority = 3;
    rig_init(&r, &rules);
    rig_submit(&r, costing("a", 90));
    rig_submit(&r, costing("a", 100));
    rig_submit(&r, costing("c", 100));
    cr_expect_eq(take_cost(&r, &key), 90);
    cr_expect_eq(take_cost(&r, &key), 0, "10 are left of the key, 20 of the queue");
    rig_submit(&r, urgent);
    cr_expect_eq(take_cost(&r, &key), 5, "of the key");
    cr_expect_eq(take_cost(&r, &key), 0);
    rig_submit(&r, other);
    cr_expect_eq(take_cost(&r, &key), 4, "of the queue");
    cr_expect_eq(take_cost(&r, &key), 0);
    rig_advance(&r, 94999);
    cr_expect_eq(take_cost(&r, &key), 100, "a or c");
    rig_fini(&r);
}

Test(task_units, one_that_is_larger_than_the_bucket_starts_when_it_is_full_and_the_rest_is_owed)
{
    struct enginerig r;
    char key;

    limits(&r, 60, PER_MINUTE, 10);
    rig_submit(&r, costing("a", 2));
    rig_submit(&r, costing("a", 100));
    rig_submit(&r, costing("a", 1));
    cr_expect_eq(take_cost(&r, &key), 2);
    rig_advance(&r, 1999);
    cr_expect_eq(take_cost(&r, &key), 0, "8 and a bit are not a full one");
    rig_advance(&r, 1);
    cr_expect_eq(take_cost(&r, &key), 100);
    rig_advance(&r, 90999);
    cr_expect_eq(take_cost(&r, &key), 0, "90 are owed, and one is needed");
    rig_advance(&r, 1);
    cr_expect_eq(take_cost(&r, &key), 1);
    rig_fini(&r);
}

/* From the journal and from a snapshot. */
Test(task_units, what_is_owed_outlives_a_kill)
{
    for (int snapshot = 0; snapshot < 2; snapshot++) {
        struct enginerig r;
        char key;

        limits(&r, 60, PER_MINUTE, 10);
        rig_submit(&r, costing("a", 70));
        rig_submit(&r, costing("a", 1));
        cr_expect_eq(take_cost(&r, &key), 70);
        if (snapshot) {
            buf_reset(&r.journal);
            engine_snapshot(&r.e, &r.journal);
        }
        rig_restart(&r, 1000);
        rig_advance(&r, 59999);
        cr_expect_eq(take_cost(&r, &key), 0, "J23");
        rig_advance(&r, 10000);
        cr_expect_eq(take_cost(&r, &key), 1);
        rig_fini(&r);
    }
}

Test(task_units, all_rates_must_let_it_start)
{
    struct task_rules rules;
    struct enginerig r;
    uint64_t units = 0;
    char key;

    rules_default(&rules);
    rules.queue_units_1 = 100, rules.queue_per_1 = PER_SECOND;
    rules.queue_units_2 = 150, rules.queue_per_2 = PER_MINUTE;
    rules.queue_rate = 1000, rules.queue_burst = 2; /* and one start a second */
    rig_init(&r, &rules);
    for (unsigned i = 0; i < 20; i++)
        rig_submit(&r, costing("a", 50));
    for (unsigned i = 0; i < 2; i++)
        units += take_cost(&r, &key);
    cr_expect_eq(units, 100);
    cr_expect_eq(take_cost(&r, &key), 0, "no third start");
    rig_advance(&r, 1000);
    cr_expect_eq(take_cost(&r, &key), 50);
    rig_advance(&r, 1000);
    cr_expect_eq(take_cost(&r, &key), 0, "150 in this minute");
    rig_advance(&r, 18000);
    cr_expect_eq(take_cost(&r, &key), 50, "2.5 a second");
    rig_fini(&r);
}

Test(task_units, a_cost_is_kept_and_other_limits_count_at_once)
{
    struct enginerig r;
    struct task_rules rules;
    struct task_view v;
    task_no no;
    char key;

    rig_init(&r, NULL);
    no = rig_submit(&r, costing("a", 123456));
    rig_submit(&r, costing("b", 1));
    rig_compare(&r);
    rig_restart(&r, 10);
    cr_assert_eq(engine_look(&r.e, no, &v), 0);
    cr_expect_eq(own_cost(v.own), 123456);
    rules_default(&rules);
    rules.queue_units_1 = 1000, rules.queue_per_1 = PER_SECOND, rules.queue_room_1 = 10;
    cr_assert_eq(engine_define(&r.e, "*", &rules), 0);
    cr_expect_eq(take_cost(&r, &key), 123456, "the bucket of a new rate is full");
    cr_expect_eq(take_cost(&r, &key), 0);
    rules.queue_units_1 = 0, rules.queue_per_1 = 0, rules.queue_room_1 = 0;
    cr_assert_eq(engine_define(&r.e, "*", &rules), 0);
    cr_expect_eq(take_cost(&r, &key), 1);
    rig_compare(&r);
    rig_fini(&r);
}

/* A call is taken from any queue: one whose next task does not fit hides no other. */
Test(task_units, a_queue_that_has_no_units_left_holds_up_no_call_of_another)
{
    struct enginerig r;
    struct submit s = costing("a", 3);
    struct taken t;

    limits(&r, 60, PER_MINUTE, 3);
    for (unsigned i = 0; i < 5; i++) {
        s.queue = rig_text(i < 4 ? "q" : "z");
        rig_submit(&r, s);
    }
    cr_expect_eq(engine_take_call(&r.e, 1000, UINT64_MAX, &t), 1);
    cr_expect_eq(engine_take_call(&r.e, 1000, UINT64_MAX, &t), 1, "the other queue's");
    rig_flush(&r);
    s.queue = rig_text("z"), s.key1 = rig_text("b");
    rig_submit(&r, s);
    cr_expect_eq(engine_take_call(&r.e, 1000, UINT64_MAX, &t), 1, "another key of the other queue");
    cr_expect_eq(engine_take_call(&r.e, 1000, UINT64_MAX, &t), 0);
    cr_expect_not(engine_has_open(&r.e));
    rig_flush(&r);
    rig_fini(&r);
}

/* Of any numbers: nothing passes before its time, and no moment is beyond what timers can. */
Test(task_units, moments_are_right_for_all_numbers)
{
    struct rng g;

    rng_seed(&g, 7);
    for (unsigned i = 0; i < 100000; i++) {
        struct unit_rate_numbers n = { 1 + rng_below(&g, rng_chance(&g, 0.5) ? 100 : RATE_UNITS_MAX),
                                       rng_below(&g, RATE_NPERS), rng_below(&g, RATE_UNITS_MAX) };
        struct unit_rate u = unit_rate_make(&n);
        uint64_t cost = 1 + rng_below(&g, rng_chance(&g, 0.5) ? 1000 : TASK_COST_MAX);
        msec_t now = RIG_START, when;
        int64_t tat = 0;

        for (unsigned k = 0; k < 8; k++)
            tat = units_pass(&u, tat, cost, now);
        when = units_when(&u, tat, cost);
        cr_assert(when >= 0 && when < (msec_t)WHEEL_MAX, "%ld", when);
        cr_assert(units_let(&u, tat, cost, when));
        cr_assert(when == 0 || !units_let(&u, tat, cost, when - 1));
        cr_assert_leq(units_when(&u, tat, 0), when);
    }
}

/* What a call's endpoint does not let begin stays the next, and nothing smaller goes before it. */
Test(task_units, a_call_of_more_than_its_endpoint_has_stays_the_next)
{
    struct enginerig r;
    struct submit s = costing("a", 50);
    struct taken t;
    task_no first;

    rig_init(&r, NULL);
    s.queue = rig_text("q");
    first = rig_submit(&r, s);
    s = costing("b", 1);
    s.queue = rig_text("z");
    rig_submit(&r, s);
    for (unsigned i = 0; i < 3; i++) {
        cr_expect_eq(engine_take_call(&r.e, 1000, 49, &t), 0);
        cr_expect_eq(t.cost, 50, "try %u", i);
    }
    cr_expect_eq(engine_take_call(&r.e, 1000, 50, &t), 1);
    cr_expect(t.no == first && t.cost == 50);
    cr_expect_eq(engine_take_call(&r.e, 1000, 50, &t), 1);
    cr_expect_eq(t.cost, 1);
    cr_expect_eq(engine_take_call(&r.e, 1000, 50, &t), 0);
    cr_expect_eq(t.cost, 0, "there is none");
    first = rig_submit(&r, s);
    cr_assert_eq(engine_run(&r.e, first), 0);
    cr_expect_eq(engine_take_call(&r.e, 1000, 0, &t), 0);
    cr_expect_eq(t.cost, 1, "an operator's word does not go beyond its endpoint");
    rig_fini(&r);
}

static void restart(struct enginerig *r, bool by_snapshot)
{
    if (by_snapshot) {
        buf_reset(&r->journal);
        engine_snapshot(&r->e, &r->journal);
    }
    rig_restart(r, 1000);
    rig_compare(r);
}

/* J27: of a day's units nothing is lost by a kill, and nothing is had twice; also of a key that nobody has. */
Test(task_units, levels_outlive_a_restart)
{
    struct task_rules rules;
    struct enginerig r;
    uint64_t lease;
    task_no no;
    char key;

    for (int snapshot = 0; snapshot < 2; snapshot++) {
        rules_default(&rules);
        rules.key_units_1 = 100;
        rules.key_per_1 = PER_DAY;
        rules.queue_rate = 10; /* one in 100 s, three at once */
        rules.queue_burst = 3;
        rig_init(&r, &rules);
        rig_submit(&r, costing("a", 60));
        no = rig_take(&r, &lease);
        cr_assert_eq(engine_ack(&r.e, no, lease, 0), 0);
        cr_assert_eq(engine_discard(&r.e, no), 0);
        rig_flush(&r);
        restart(&r, snapshot != 0);
        rig_submit(&r, costing("a", 40));
        rig_submit(&r, costing("a", 10));
        rig_submit(&r, costing("b", 100));
        cr_expect_eq(take_cost(&r, &key), 40, "at once: 40 are left of today's");
        restart(&r, snapshot != 0);
        cr_expect_eq(take_cost(&r, &key), 100, "another key");
        restart(&r, snapshot != 0);
        rig_advance(&r, 100000 - 3000);
        cr_expect_eq(take_cost(&r, &key), 0, "none is left of a's");
        cr_expect_eq(r.e.tree.limiters_now, 3);
        rig_advance(&r, 86400000 / 10 - 100000);
        restart(&r, snapshot != 0);
        cr_expect_eq(take_cost(&r, &key), 10);
        rig_fini(&r);
    }
}

/* A power cut may have taken starts: then all is empty, and stays so over the next restart. */
Test(task_units, where_starts_may_be_missing_buckets_are_empty)
{
    struct enginerig r;
    char key;

    for (int snapshot = 0; snapshot < 2; snapshot++) {
        limits(&r, 6000, PER_MINUTE, 500);
        rig_submit(&r, costing("a", 10));
        cr_expect_eq(take_cost(&r, &key), 10);
        rig_restart(&r, 0);
        engine_empty_buckets(&r.e);
        rig_flush(&r);
        restart(&r, snapshot != 0);
        rig_submit(&r, costing("a", 101));
        rig_submit(&r, costing("unheard", 100));
        rig_submit(&r, costing("unheard", 50));
        cr_expect_eq(take_cost(&r, &key), 100, "what came in within a second");
        cr_expect_eq(take_cost(&r, &key), 0);
        rig_advance(&r, 10);
        cr_expect_eq(take_cost(&r, &key), 101);
        rig_fini(&r);
    }
}

/* A larger bucket since then: what is in it is no less for a snapshot. */
Test(task_units, buckets_that_were_empty_once_have_what_came_in_since)
{
    struct task_rules rules;
    struct enginerig r;
    char key;

    limits(&r, 100, PER_SECOND, 100);
    rig_submit(&r, costing("a", 10));
    cr_expect_eq(take_cost(&r, &key), 10);
    rig_restart(&r, 0);
    engine_empty_buckets(&r.e);
    rig_submit(&r, costing("a", 1));
    rig_advance(&r, 5000);
    rules_default(&rules);
    rules.key_units_1 = 100;
    rules.key_per_1 = PER_SECOND;
    rules.key_room_1 = 1000000;
    cr_assert_eq(engine_define(&r.e, "*", &rules), 0);
    rig_flush(&r);
    restart(&r, true);
    rig_submit(&r, costing("a", 2000));
    cr_expect_eq(take_cost(&r, &key), 1);
    cr_expect_eq(take_cost(&r, &key), 2000);
    rig_fini(&r);
}

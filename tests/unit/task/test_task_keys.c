/* test_task_keys.c: order inside a key, fair shares between keys, priorities, limits; what is
 * blocked costs nothing. */
#include "tests/unit/task/keyrig.h"

#include <stdlib.h>

#include "common/base/rng.h"

Test(task_keys, without_a_key_first_come_first_served)
{
    struct keyrig r;
    task_slot slot[100];

    keyrig_init(&r);
    for (unsigned i = 0; i < 100; i++)
        slot[i] = keyrig_add(&r, 0, 0, 0);
    for (unsigned i = 0; i < 100; i++)
        cr_assert_eq(keyrig_take(&r), slot[i]);
    cr_expect_eq(keyrig_take(&r), SLOT_NONE);
    keyrig_fini(&r);
}

Test(task_keys, keys_take_turns_and_each_keeps_its_order)
{
    struct keyrig r;
    task_slot last[4] = { 0 };
    unsigned served[4] = { 0 };

    keyrig_init(&r);
    for (unsigned i = 0; i < 900; i++) /* the first key has most of them */
        keyrig_add(&r, 1, 0, 0);
    for (unsigned i = 0; i < 100; i++) {
        keyrig_add(&r, 2, 0, 0);
        keyrig_add(&r, 3, 0, 0);
    }
    for (unsigned i = 0; i < 300; i++) {
        task_slot slot = keyrig_take(&r);
        unsigned key = slot < 900 ? 1 : 2 + slot % 2;

        cr_assert(served[key] == 0 || slot > last[key], "order inside a key");
        last[key] = slot;
        served[key]++;
        for (unsigned a = 1; a <= 3; a++)
            cr_assert_leq(served[1] > served[a] ? served[1] - served[a] : served[a] - served[1],
                          1, "J10");
    }
    keyrig_fini(&r);
}

Test(task_keys, weights_are_shares)
{
    struct key_rule heavy = { .weight = 5 };
    struct keyrig r;
    unsigned n[2] = { 0 };

    keyrig_init(&r);
    for (unsigned i = 0; i < 600; i++) {
        keyrig_add(&r, 1, 0, 0);
        keyrig_add_ruled(&r, 2, 0, 0, &heavy);
    }
    for (unsigned i = 0; i < 600; i++) {
        n[keyrig_take(&r) % 2]++;
        cr_assert_lt(abs((int)n[0] * 5 - (int)n[1]), 6, "J10: a quantum");
    }
    keyrig_fini(&r);
}

Test(task_keys, a_key_and_what_is_below_it_share)
{
    struct keyrig r;
    unsigned n[4] = { 0 };

    keyrig_init(&r);
    for (unsigned i = 0; i < 400; i++) {
        keyrig_add(&r, 1, 0, 0);   /* 0: the key's own */
        keyrig_add(&r, 1, 10, 0);  /* 1, 2: below it */
        keyrig_add(&r, 1, 11, 0);
        keyrig_add(&r, 2, 0, 0);   /* 3: another key */
    }
    for (unsigned i = 0; i < 600; i++)
        n[keyrig_take(&r) % 4]++;
    cr_expect_eq(n[3], 300);
    cr_expect_eq(n[0], 100);
    cr_expect_eq(n[1], 100);
    cr_expect_eq(n[2], 100);
    keyrig_fini(&r);
}

Test(task_keys, tasks_at_once_hold_at_every_level)
{
    struct keyrig r;
    task_slot a, b;

    keyrig_init(&r);
    r.queue.at_once = 3;
    r.key.at_once = 2;
    r.below.at_once = 1;
    for (unsigned i = 0; i < 10; i++)
        keyrig_add(&r, 1, 10, 0);
    a = keyrig_take(&r);
    cr_expect_eq(keyrig_take(&r), SLOT_NONE, "one below");
    for (unsigned i = 0; i < 10; i++) {
        keyrig_add(&r, 1, 11, (uint8_t)(i % 3));
        keyrig_add(&r, 2, 20 + i, 0);
        keyrig_add(&r, 3, 30 + i, 1);
    }
    b = keyrig_take(&r);
    cr_expect_neq(keyrig_take(&r), SLOT_NONE);
    cr_expect_eq(keyrig_take(&r), SLOT_NONE, "three of the queue");
    cr_expect_eq(tree_limiter_at(&r.tree, r.limiter)->running, 3);
    keyrig_done(&r, a);
    cr_expect_neq(keyrig_take(&r), SLOT_NONE);
    keyrig_done(&r, b);
    cr_expect_null(tree_check(&r.tree));
    keyrig_fini(&r);
}

Test(task_keys, a_rate_closes_and_opens_its_key_alone)
{
    struct key_rule slow = { .rate = rate_make(10, 2), .weight = 1 };
    struct keyrig r;
    unsigned n = 0;

    keyrig_init(&r);
    for (unsigned i = 0; i < 100; i++)
        keyrig_add_ruled(&r, 1, 0, 0, &slow);
    for (; r.now < KEYRIG_START + 1000; r.now += 7)
        for (task_slot s; (s = keyrig_take(&r)) != SLOT_NONE; n++)
            keyrig_done(&r, s);
    cr_expect(n >= 10 && n <= 12, "%u", n);
    keyrig_add(&r, 2, 0, 0);
    cr_expect_neq(keyrig_take(&r), SLOT_NONE);
    keyrig_fini(&r);
}

Test(task_keys, emptying_a_line_does_not_reset_its_limit)
{
    struct key_rule slow = { .rate = rate_make(1, 1), .weight = 1 };
    struct keyrig r;

    keyrig_init(&r);
    keyrig_add_ruled(&r, 1, 0, 0, &slow);
    keyrig_done(&r, keyrig_take(&r));
    cr_expect_eq(r.tree.turns_now, 0);
    cr_expect_eq(r.tree.limiters_now, 2, "its bucket is not full");
    keyrig_add_ruled(&r, 1, 0, 0, &slow);
    cr_expect_eq(keyrig_take(&r), SLOT_NONE);
    r.now += 1000;
    keyrig_done(&r, keyrig_take(&r));
    r.now += 1000;
    tree_advance(&r.tree, r.now);
    cr_expect_eq(r.tree.limiters_now, 0);
    keyrig_fini(&r);
}

Test(task_keys, after_a_replay_buckets_are_empty)
{
    struct key_rule slow = { .rate = rate_make(1, 5), .weight = 1 };
    struct keyrig r;

    keyrig_init(&r);
    for (unsigned i = 0; i < 10; i++)
        keyrig_add_ruled(&r, 1, 0, 0, &slow);
    tree_empty_buckets(&r.tree, r.now);
    cr_expect_eq(keyrig_take(&r), SLOT_NONE);
    r.now += 1000;
    cr_expect_neq(keyrig_take(&r), SLOT_NONE);
    cr_expect_eq(keyrig_take(&r), SLOT_NONE);
    for (unsigned i = 0; i < 10; i++) /* a key of which the journal says nothing any more */
        keyrig_add_ruled(&r, 2, 0, 0, &slow);
    cr_expect_neq(keyrig_take(&r), SLOT_NONE);
    cr_expect_eq(keyrig_take(&r), SLOT_NONE, "one second since the buckets were empty");
    keyrig_fini(&r);
}

Test(task_keys, a_higher_priority_has_a_bounded_head_start)
{
    struct keyrig r;
    task_slot old, near, urgent;

    keyrig_init(&r);
    r.head_start[1] = 10000;
    old = keyrig_add(&r, 0, 0, 0);
    r.now += 9000;
    near = keyrig_add(&r, 0, 0, 0);
    r.now += 2000;
    urgent = keyrig_add(&r, 0, 0, 1); /* 11 s after the old one, 2 s after the other */
    cr_expect_eq(keyrig_take(&r), old);
    cr_expect_eq(keyrig_take(&r), urgent);
    cr_expect_eq(keyrig_take(&r), near);
    keyrig_fini(&r);
}

/* J11 in a key beside others: its own oldest goes, whichever priority got the turn. */
Test(task_keys, inside_a_key_nobody_is_overtaken_by_more_than_the_head_start)
{
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct keyrig r;
        struct rng g;

        keyrig_init(&r);
        rng_seed(&g, seed);
        for (unsigned p = 1; p < TASK_PRIORITIES; p++)
            r.head_start[p] = r.head_start[p - 1] + (msec_t)rng_below(&g, 5000);
        for (unsigned i = 0; i < 3000; i++) {
            task_slot slot;

            if (rng_chance(&g, 0.55))
                keyrig_add(&r, rng_below(&g, 4), 0, (uint8_t)rng_below(&g, TASK_PRIORITIES));
            r.now += (msec_t)rng_below(&g, 200);
            slot = rng_chance(&g, 0.5) ? keyrig_take(&r) : SLOT_NONE;
            if (slot == SLOT_NONE)
                continue;
            for (task_slot s = 0; s < r.store.n_slots; s++) {
                const struct task *a = task_at(&r.store, slot), *b = task_at(&r.store, s);

                if (b->state != TASK_WAITING || tree_turn_at(&r.tree, a->turn)->limiter !=
                                                    tree_turn_at(&r.tree, b->turn)->limiter)
                    continue;
                cr_assert_leq(a->entered_ms, b->entered_ms + (uint64_t)(10 * 5000) +
                              (uint64_t)r.head_start[a->priority] -
                              (uint64_t)r.head_start[b->priority] - 10 * 5000);
            }
        }
        keyrig_fini(&r);
    }
}

Test(task_keys, strict_lines_stand_while_one_is_not_final)
{
    struct keyrig r;
    task_slot a, b;

    keyrig_init(&r);
    r.strict = true;
    a = keyrig_add(&r, 1, 0, 0);
    b = keyrig_add(&r, 1, 0, 0);
    keyrig_add(&r, 2, 0, 0);
    cr_expect_eq(keyrig_take(&r), a);
    cr_expect_eq(keyrig_take(&r), 2u, "the other key");
    cr_expect_eq(keyrig_take(&r), SLOT_NONE);
    tree_end(&r.tree, a, false); /* it failed, and will be tried again */
    task_set_state(&r.store, a, TASK_RETRYING);
    cr_expect_eq(keyrig_take(&r), SLOT_NONE);
    task_set_state(&r.store, a, TASK_WAITING);
    tree_wait(&r.tree, a, WAIT_FIRST);
    cr_expect_eq(keyrig_take(&r), a, "before those behind it");
    keyrig_done(&r, a);
    cr_expect_eq(keyrig_take(&r), b);
    keyrig_fini(&r);
}

Test(task_keys, by_order_the_smallest_goes_and_equals_by_entry)
{
    struct keyrig r;
    struct rng g;
    static int64_t order[5000];
    unsigned n = 0, taken = 0;

    keyrig_init(&r);
    r.by_order = true;
    rng_seed(&g, 5);
    while (taken < 4000) {
        task_slot slot;

        if (n < 5000 && rng_chance(&g, 0.6)) {
            slot = keyrig_add(&r, 1, 0, 0);
            tree_unwait(&r.tree, slot); /* as a change of its order does */
            order[slot] = task_at(&r.store, slot)->order = (int64_t)rng_below(&g, 300) - 150;
            tree_wait(&r.tree, slot, WAIT_LAST);
            n++;
            continue;
        }
        slot = keyrig_take(&r);
        if (slot == SLOT_NONE)
            continue;
        taken++;
        for (task_slot s = 0; s < r.store.n_slots; s++)
            if (task_at(&r.store, s)->state == TASK_WAITING)
                cr_assert(order[slot] < order[s] || (order[slot] == order[s] && slot < s));
    }
    keyrig_fini(&r);
}

/* J9: what a take costs does not depend on how many keys are blocked. */
Test(task_keys, blocked_keys_cost_nothing)
{
    uint64_t steps[2];

    for (unsigned with = 0; with < 2; with++) {
        struct key_rule stopped = { .at_once = 1, .weight = 1 };
        struct keyrig r;
        uint64_t before;

        keyrig_init(&r);
        for (uint64_t k = 0; with && k < 100000; k++) {
            keyrig_add_ruled(&r, 1000 + k, 0, 0, &stopped);
            keyrig_add_ruled(&r, 1000 + k, 0, 0, &stopped);
        }
        while (keyrig_take(&r) != SLOT_NONE)
            ;
        for (unsigned i = 0; i < 1000; i++)
            keyrig_add(&r, 1 + i % 10, 0, 0);
        before = r.tree.steps;
        for (unsigned i = 0; i < 1000; i++)
            cr_assert_neq(keyrig_take(&r), SLOT_NONE);
        cr_assert_eq(keyrig_take(&r), SLOT_NONE);
        steps[with] = r.tree.steps - before;
        keyrig_fini(&r);
    }
    cr_expect_eq(steps[0], steps[1]);
    cr_expect_leq(steps[0], 1000 * 40);
}

/* Anything in any order: rings stay right, and all come to an end. */
Test(task_keys, any_mix_leaves_rings_right_and_nobody_behind)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct key_rule rule[4] = { { .weight = 1 }, { .at_once = 1, .weight = 3 },
                                    { .rate = rate_make(20, 3), .weight = 2 },
                                    { .rate = rate_make(50, 1), .at_once = 2, .weight = 1 } };
        task_slot running[4096];
        struct keyrig r;
        struct rng g;
        unsigned n = 0, added = 0, ended = 0;

        rng_seed(&g, seed);
        keyrig_init(&r);
        r.queue.at_once = (uint32_t)rng_below(&g, 10);
        r.strict = rng_chance(&g, 0.3);
        for (unsigned i = 0; i < 20000 && (i < 3000 || ended < added); i++) {
            uint64_t key = rng_below(&g, 8);
            task_slot slot;

            if (i < 3000 && rng_chance(&g, 0.5)) {
                keyrig_add_ruled(&r, key, key % 2 == 0 ? rng_below(&g, 3) : 0,
                                 (uint8_t)rng_below(&g, 3), &rule[key % 4]);
                added++;
            }
            r.now += (msec_t)rng_below(&g, 30);
            if (rng_chance(&g, 0.5) && (slot = keyrig_take(&r)) != SLOT_NONE)
                running[n++] = slot;
            if (n > 0 && rng_chance(&g, 0.5)) {
                unsigned k = (unsigned)rng_below(&g, n);

                keyrig_done(&r, running[k]);
                running[k] = running[--n];
                ended++;
            }
            if (i % 16 == 0)
                cr_assert_null(tree_check(&r.tree), "seed %lu step %u: %s", seed, i,
                               tree_check(&r.tree));
        }
        cr_expect_eq(ended, added, "seed %lu", seed);
        keyrig_fini(&r);
    }
}

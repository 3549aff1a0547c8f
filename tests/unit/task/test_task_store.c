/* test_task_store.c: numbers find their slots and only their own tasks; states; names. */
#include "task/store/store.h"

#include "tests/lib/criterion.h"
#include <stdlib.h>

#include "common/base/err.h"
#include "common/base/rng.h"

static task_no put(struct task_store *s)
{
    task_no no = task_store_next(s);

    cr_assert_neq(no, 0);
    cr_assert_eq(task_store_put(s, no), 0);
    task_set_state(s, task_slot_of(no), TASK_WAITING);
    return no;
}

static void end(struct task_store *s, task_no no)
{
    task_set_state(s, task_slot_of(no), TASK_CANCELLED);
    task_set_state(s, task_slot_of(no), TASK_FREE);
    task_store_give(s, task_slot_of(no));
}

Test(store, an_old_number_never_means_the_task_that_has_its_slot)
{
    struct task_store s;
    task_no a, b;

    task_store_init(&s, 10);
    a = put(&s);
    end(&s, a);
    b = put(&s);
    cr_expect_eq(task_slot_of(a), task_slot_of(b));
    cr_expect_eq(task_find(&s, a), SLOT_NONE);
    cr_expect_eq(task_find(&s, b), task_slot_of(b));
    cr_expect_eq(task_find(&s, 0), SLOT_NONE);
    cr_expect_eq(task_find(&s, 7), SLOT_NONE);
    task_store_fini(&s);
}

Test(store, full_is_said_and_ends)
{
    struct task_store s;
    task_no no[3];

    task_store_init(&s, 3);
    for (unsigned i = 0; i < 3; i++)
        no[i] = put(&s);
    cr_expect_eq(task_store_next(&s), 0);
    end(&s, no[1]);
    cr_expect_eq(task_slot_of(task_store_next(&s)), task_slot_of(no[1]));
    task_store_fini(&s);
}

/* As a replay does whose first tasks have gone. */
Test(store, numbers_come_back_in_any_order_and_with_gaps)
{
    struct task_store s;

    task_store_init(&s, 1000);
    cr_assert_eq(task_store_put(&s, (task_no)77 << TASK_SLOT_BITS | 600), 0);
    task_set_state(&s, 600, TASK_SCHEDULED);
    cr_assert_eq(task_store_put(&s, (task_no)50 << TASK_SLOT_BITS | 3), 0);
    task_set_state(&s, 3, TASK_WAITING);
    cr_expect_eq(task_store_put(&s, (task_no)78 << TASK_SLOT_BITS | 3), SQ_EPROTO);
    cr_expect_eq(s.n[TASK_FREE], 599);
    cr_expect_eq(task_store_next(&s) >> TASK_SLOT_BITS, 78);
    for (unsigned i = 0; i < 998; i++)
        put(&s);
    cr_expect_eq(task_store_next(&s), 0);
    cr_expect_eq(s.n[TASK_FREE], 0);
    task_store_fini(&s);
}

Test(store, the_order_of_acceptance_has_forty_bits)
{
    struct task_store s;
    task_no no;

    task_store_init(&s, 10);
    s.next_order = TASK_ORDER_MAX;
    no = put(&s);
    cr_expect_eq(no >> TASK_SLOT_BITS, TASK_ORDER_MAX);
    cr_expect_eq(task_find(&s, no), task_slot_of(no));
    cr_expect_eq(task_store_next(&s), 0, "all numbers are used up");
    task_store_fini(&s);
}

Test(state, final_ones_lead_nowhere)
{
    for (enum task_state s = TASK_FREE; s < TASK_NSTATES; s++) {
        cr_expect_eq(task_state_may_follow(TASK_EXPIRED, s), s == TASK_FREE);
        cr_expect_eq(task_state_may_follow(TASK_DEAD, s), s == TASK_FREE || s == TASK_WAITING);
        cr_expect_not(task_state_may_follow(s, s));
    }
    cr_expect_not(task_state_may_follow(TASK_SCHEDULED, TASK_RUNNING));
    cr_expect_not(task_state_may_follow(TASK_WAITING, TASK_SUCCEEDED));
    cr_expect_str_eq(task_state_word(TASK_RETRYING), "retrying");
}

static const uint8_t seed[NAMES_SEED] = { 1, 2, 3 };

static struct name_hash hash(const struct names *t, enum name_kind kind, unsigned i)
{
    return names_hash(t, kind, "q", 1, (const char *)&i, sizeof(i));
}

Test(names, queue_kind_and_text_all_matter)
{
    struct names t;
    struct name_hash a, b, c, d;

    names_init(&t, 10, seed, 1);
    a = names_hash(&t, NAME_KEY, "ab", 2, "c", 1);
    b = names_hash(&t, NAME_KEY, "a", 1, "bc", 2);
    c = names_hash(&t, NAME_NAME, "ab", 2, "c", 1);
    d = names_hash(&t, NAME_KEY, "ab", 2, "c", 1);
    cr_expect(a.lo != b.lo && a.lo != c.lo && b.lo != c.lo);
    cr_expect(a.lo == d.lo && a.hi == d.hi);
    names_fini(&t);
}

Test(names, a_name_goes_with_its_task_and_a_key_some_time_after_its_end)
{
    struct names t;
    struct name_hash name, key;

    names_init(&t, 10, seed, 1000);
    name = hash(&t, NAME_NAME, 1);
    key = hash(&t, NAME_KEY, 2);
    cr_assert_eq(names_add(&t, NAME_NAME, name, 42, 7), 0);
    cr_assert_eq(names_add(&t, NAME_KEY, key, 42, 8), 0);
    cr_expect_eq(names_find(&t, name)->digest, 7);
    names_end(&t, 42, 5000);
    names_live(&t, 42); /* redriven */
    names_advance(&t, 6000);
    cr_expect_eq(names_find(&t, key)->no, 42);
    names_end(&t, 42, 9000);
    names_gone(&t, 42);
    cr_expect_null(names_find(&t, name));
    cr_expect_eq(names_find(&t, key)->no, 42);
    names_advance(&t, 8999);
    cr_expect_not_null(names_find(&t, key));
    names_advance(&t, 9000);
    cr_expect_null(names_find(&t, key));
    cr_expect_eq(t.n, 0);
    names_fini(&t);
}

Test(names, entries_are_used_again_and_full_is_said)
{
    struct names t;

    names_init(&t, 1000, seed, 1);
    for (unsigned round = 0; round < 5; round++) {
        for (unsigned i = 0; i < 1000; i++)
            cr_assert_eq(names_add(&t, NAME_NAME, hash(&t, NAME_NAME, i), 1 + i / 2, i), 0);
        cr_expect_eq(names_add(&t, NAME_NAME, hash(&t, NAME_NAME, 5000), 9, 9), SQ_EFULL);
        cr_expect_eq(names_add(&t, NAME_NAME, hash(&t, NAME_NAME, 5), 9, 9), SQ_ECONFLICT);
        for (unsigned i = 0; i < 1000; i++)
            cr_assert_eq(names_find(&t, hash(&t, NAME_NAME, i))->digest, i);
        for (unsigned i = 0; i < 500; i++)
            names_gone(&t, 1 + i);
        cr_expect_eq(t.n, 0);
    }
    cr_expect_leq(t.n_slots, 1000);
    names_fini(&t);
}

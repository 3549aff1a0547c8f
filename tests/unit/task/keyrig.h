/* keyrig.h: a queue with keys, for tests of task/keys: tasks are added by key and priority,
 * and started as tree_pick says. */
#ifndef SEGQ_TEST_KEYRIG_H
#define SEGQ_TEST_KEYRIG_H


#include "tests/lib/criterion.h"

#include "tests/lib/engine_state.h"

#define KEYRIG_START ((msec_t)1780000000000)

struct keyrig {
    struct task_store store;
    struct tree tree;
    struct key_rule queue, key, below;
    msec_t head_start[TASK_PRIORITIES];
    uint32_t limiter; /* the queue's */
    bool strict, by_order;
    msec_t now;
};

static inline void keyrig_init(struct keyrig *r)
{
    *r = (struct keyrig){ .now = KEYRIG_START };
    r->queue.weight = r->key.weight = r->below.weight = 1;
    task_store_init(&r->store, TASKS_MAX);
    tree_init(&r->tree, &r->store, 1u << 22, r->now);
}

static inline void keyrig_fini(struct keyrig *r)
{
    cr_expect_null(tree_check(&r->tree), "%s", tree_check(&r->tree));
    tree_fini(&r->tree);
    task_store_fini(&r->store);
}

static inline uint32_t keyrig_limiter(struct keyrig *r, uint32_t parent, uint64_t key,
                                      const struct key_rule *rule)
{
    struct key_name k = { "key", 3, key };
    uint32_t i = tree_find_limiter(&r->tree, parent, key);

    return i != 0 ? i : tree_new_limiter(&r->tree, parent, &k, rule);
}

/* A task that waits; k1, k2: 0 = no key. rule: NULL = the rig's. */
static inline task_slot keyrig_add_ruled(struct keyrig *r, uint64_t k1, uint64_t k2,
                                         uint8_t priority, const struct key_rule *rule)
{
    struct turn_kind kind = { priority, r->strict, r->by_order };
    task_no no = task_store_next(&r->store);
    task_slot slot = task_slot_of(no);
    uint32_t l, turn;

    cr_assert_eq(task_store_put(&r->store, no), 0);
    task_set_state(&r->store, slot, TASK_WAITING);
    l = r->limiter = keyrig_limiter(r, 0, 1, &r->queue);
    turn = tree_turn(&r->tree, l, 0, kind);
    if (k1 != 0) {
        l = keyrig_limiter(r, l, k1, rule != NULL ? rule : &r->key);
        turn = tree_turn(&r->tree, l, turn, kind);
    }
    if (k2 != 0) {
        l = keyrig_limiter(r, l, k2, &r->below);
        turn = tree_turn(&r->tree, l, turn, kind);
    }
    cr_assert_neq(turn, 0);
    task_at(&r->store, slot)->priority = priority;
    task_at(&r->store, slot)->entered_ms = (uint64_t)r->now & (((uint64_t)1 << 42) - 1);
    task_at(&r->store, slot)->entry = (uint32_t)(no >> TASK_SLOT_BITS);
    tree_join(&r->tree, slot, turn);
    tree_wait(&r->tree, slot, WAIT_LAST);
    return slot;
}

static inline task_slot keyrig_add(struct keyrig *r, uint64_t k1, uint64_t k2, uint8_t priority)
{
    return keyrig_add_ruled(r, k1, k2, priority, NULL);
}

/* The next one starts; SLOT_NONE. */
static inline task_slot keyrig_take(struct keyrig *r)
{
    uint32_t served;
    task_slot slot;

    tree_advance(&r->tree, r->now);
    if (r->limiter == 0 || tree_limiter_at(&r->tree, r->limiter)->rule == NULL)
        return SLOT_NONE;
    slot = tree_pick(&r->tree, r->limiter, r->head_start, &served);
    if (slot == SLOT_NONE)
        return slot;
    tree_pay(&r->tree, served, 1);
    tree_start(&r->tree, slot, true, 1, r->now);
    task_set_state(&r->store, slot, TASK_RUNNING);
    return slot;
}

static inline void keyrig_leave(struct keyrig *r, task_slot slot)
{
    tree_leave(&r->tree, slot, r->now);
    task_set_state(&r->store, slot, TASK_FREE);
    task_store_give(&r->store, slot);
}

static inline void keyrig_done(struct keyrig *r, task_slot slot)
{
    tree_end(&r->tree, slot, true);
    task_set_state(&r->store, slot, TASK_SUCCEEDED);
    keyrig_leave(r, slot);
}

#endif

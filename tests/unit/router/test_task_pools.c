/* test_task_pools.c: which pool of the map has a queue, and where others may have tasks of it. */
#include "router/task_api/pools.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/task/rules.h"

static struct pools t;

/* A longer pattern, a shorter one and all, in the order of the map, of one partition each: 1, 2, 3. */
static void map(uint8_t left_out_1, uint8_t left_out_2, uint8_t left_out_3)
{
    struct map_part parts[3] = { { 1, 5, 9 }, { 2, 5, 9 }, { 3, 5, 9 } };
    struct map_pool pools[3] = {
        { .match = "ride/new*", .endpoint = "", .url = "", .n = 1, .v = &parts[0], .left_out = left_out_1 },
        { .match = "ride/*", .endpoint = "", .url = "", .n = 1, .v = &parts[1], .left_out = left_out_2 },
        { .match = "*", .endpoint = "", .url = "", .n = 1, .v = &parts[2], .left_out = left_out_3 },
    };
    struct msg_task_map m = { .epoch = 1, .n_pools = 3, .pools = pools };

    pools_init(&t);
    cr_assert_eq(pools_apply(&t, &m), 0);
}

static part_no at(const char *queue, uint32_t place)
{
    const struct task_way *w = pools_of_queue_at(&t, queue, strlen(queue), place);

    return w != NULL ? w->part : 0;
}

Test(task_pools, the_first_that_matches_has_the_queue_and_the_others_follow)
{
    map(0, 0, 0);
    cr_expect_eq(at("ride/new7", 0), 1);
    cr_expect_eq(at("ride/new7", 1), 2);
    cr_expect_eq(at("ride/new7", 2), 3);
    cr_expect_eq(at("ride/new7", 3), 0);
    cr_expect_eq(at("images", 0), 3);
    cr_expect_eq(at("images", 1), 0);
    cr_expect_eq(pools_of_queue(&t, "ride/7", 6)->part, 2);
    pools_fini(&t);
}

Test(task_pools, a_rollout_leaves_queues_to_the_next_pool_that_matches)
{
    unsigned mine = 0;
    char queue[20];

    map(100, 70, 0);
    for (unsigned i = 0; i < 1000; i++) {
        bool in;

        snprintf(queue, sizeof(queue), "ride/%u", i);
        in = queue_is_among(queue, strlen(queue), 30);
        cr_expect_eq(at(queue, 0), in ? 2 : 3);
        cr_expect_eq(at(queue, 1), in ? 3 : 2, "where tasks of before may be");
        cr_expect_eq(at(queue, 2), 0);
        mine += in;
    }
    cr_expect(mine > 250 && mine < 350, "%u", mine);
    cr_expect_eq(at("ride/new0", 1), 1, "one that takes none");
    pools_fini(&t);
}

Test(task_pools, a_queue_that_all_leave_out_goes_by_the_first)
{
    map(100, 100, 100);
    cr_expect_eq(at("ride/new7", 0), 1);
    cr_expect_eq(at("ride/new7", 1), 2);
    cr_expect_eq(at("images", 0), 3);
    cr_expect_eq(at("images", 1), 0);
    pools_fini(&t);
}

/* test_queue_name.c: which names queues may have, what patterns match, and shares that no
 * release may change: they were computed by another program. */
#include "common/task/rules.h"

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <string.h>

Test(queue_name, parts_of_small_letters_with_slashes_between)
{
    static const char *const good[] = { "images", "ride/123", "a/b/c", "0", "x_y-z.1", "tasks2" };
    static const char *const bad[] = { "",  "/a", "a/", "a//b", "A", "-a", "a b", "tasks", "a/tasks",
                                       "tasks/a", "a/*", "..", "a/../b", "\xc3\xa4" };
    char longest[TASK_NAME_MAX + 1];

    for (unsigned i = 0; i < ARRAY_LEN(good); i++)
        cr_expect(queue_name_ok(good[i], strlen(good[i])), "%s", good[i]);
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_not(queue_name_ok(bad[i], strlen(bad[i])), "%s", bad[i]);
    memset(longest, 'a', sizeof(longest));
    cr_expect(queue_name_ok(longest, TASK_NAME_MAX));
    cr_expect_not(queue_name_ok(longest, TASK_NAME_MAX + 1));
}

static bool matches(const char *match, const char *queue)
{
    return queue_matches(match, queue, strlen(queue));
}

Test(queue_name, a_pattern_is_a_name_or_its_beginning_and_a_star)
{
    cr_expect(queue_match_ok("images") && queue_match_ok("ride/*") && queue_match_ok("im*"));
    cr_expect(queue_match_ok("*"));
    cr_expect_not(queue_match_ok("") || queue_match_ok("a*b") || queue_match_ok("**") ||
                  queue_match_ok("tasks") || queue_match_ok("/*"));
    cr_expect(matches("images", "images") && matches("*", "images") && matches("im*", "images"));
    cr_expect(matches("ride/*", "ride/7"));
    cr_expect_not(matches("images", "image") || matches("images", "images2") ||
                  matches("ride/*", "ride") || matches("ride/*", "rides/7"));
}

Test(queue_name, shares_stay_as_they_are_in_every_release)
{
    uint32_t n[16] = { 0 };
    char name[32];

    cr_expect_eq(part_share("images", 6, 1), 0);
    cr_expect_eq(part_share("images", 6, 1000000007), 857276170);
    cr_expect_eq(part_share("ride/7", 6, 1000000007), 584233148);
    for (unsigned i = 0; i < 16000; i++) {
        snprintf(name, sizeof(name), "ride/%u", i);
        n[part_share(name, strlen(name), 16)]++;
    }
    for (unsigned i = 0; i < 16; i++)
        cr_expect(n[i] > 850 && n[i] < 1150);
}

/* More percent have the same queues and others; each share of a pool has its part of them. */
Test(queue_name, a_part_of_all_queues_grows_and_is_spread_over_all_shares)
{
    unsigned among[4] = { 0 }, in_share[4] = { 0 };
    static const unsigned percent[4] = { 0, 10, 30, 100 };
    char name[20];

    for (unsigned i = 0; i < 10000; i++) {
        size_t n = (size_t)snprintf(name, sizeof(name), "ride/%u", i);
        bool before = false;

        for (unsigned k = 0; k < 4; k++) {
            bool now = queue_is_among(name, n, percent[k]);

            cr_expect(now || !before, "%s leaves at %u", name, percent[k]);
            among[k] += before = now;
        }
        in_share[part_share(name, n, 4)] += queue_is_among(name, n, 30);
    }
    cr_expect_eq(among[0], 0);
    cr_expect(among[1] > 900 && among[1] < 1100, "%u", among[1]);
    cr_expect(among[2] > 2850 && among[2] < 3150, "%u", among[2]);
    cr_expect_eq(among[3], 10000);
    for (unsigned k = 0; k < 4; k++)
        cr_expect(in_share[k] > 650 && in_share[k] < 850, "%u", in_share[k]);
    cr_expect(queue_is_among("ride/7", 6, 100));
    cr_expect_eq(queue_is_among("ride/7", 6, 50), true, "as in every release");
    cr_expect_eq(queue_is_among("images", 6, 50), false);
}

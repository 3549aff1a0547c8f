/* test_quota.c: rates in units of an endpoint at one node: its part of each, and calls of more than a bucket. */
#include "task/calls/quota.h"

#include "tests/lib/criterion.h"

#include "common/base/rng.h"

#define NOW ((msec_t)1000000)

static const uint64_t minute[] = { 600, PER_MINUTE, 100 }; /* ten a second */

static struct quota of(const uint64_t *numbers, uint32_t n, uint64_t part)
{
    struct quota q = { 0 };

    quota_define(&q, numbers, n, (struct quota_parts){ .own = part }, NOW);
    return q;
}

Test(quota, without_rates_any_call_may_begin)
{
    struct quota q = of(NULL, 0, 0);

    cr_expect_eq(quota_most(&q, NOW), QUOTA_ANY);
    cr_expect_eq(quota_when(&q, NOW), 0);
    quota_pays(&q, 1000000, NOW);
    cr_expect_eq(quota_most(&q, NOW), QUOTA_ANY);
    cr_expect_not(quota_is_set(&q));
}

Test(quota, a_bucket_begins_empty_and_fills_to_its_room)
{
    struct quota q = of(minute, 1, UNIT_PARTS);

    cr_expect_eq(quota_most(&q, NOW), 0);
    cr_expect_eq(quota_used(&q, 0, NOW), 100);
    cr_expect_eq(quota_when(&q, NOW), NOW + 100);
    cr_expect_eq(quota_most(&q, NOW + 1000), 10);
    cr_expect_eq(quota_most(&q, NOW + 100000), 100);
    cr_expect_eq(quota_used(&q, 0, NOW + 100000), 0);
    quota_pays(&q, 60, NOW + 100000);
    cr_expect_eq(quota_most(&q, NOW + 100000), 40);
    cr_expect_eq(quota_used(&q, 0, NOW + 100000), 60);
    quota_returns(&q, 60, 0, NOW + 100000);
    cr_expect_eq(quota_most(&q, NOW + 100000), 100);
    quota_returns(&q, 60, 0, NOW + 100000);
    cr_expect_eq(quota_most(&q, NOW + 100000), 100, "no more than its room");
}

Test(quota, all_rates_must_let_it)
{
    static const uint64_t both[] = { 10, PER_SECOND, 0, 60, PER_MINUTE, 30 };
    struct quota q = of(both, 2, UNIT_PARTS);
    uint64_t units = 0;

    cr_expect_eq(quota_most(&q, NOW + 100000), 10);
    for (msec_t at = NOW + 100000; at < NOW + 160000; at += 100)
        if (quota_most(&q, at) >= 5) {
            quota_pays(&q, 5, at);
            units += 5;
        }
    cr_expect(units > 80 && units <= 90, "%lu of 30 and 60 more", units);
}

Test(quota, a_part_is_of_rate_and_room)
{
    struct quota q = of(minute, 1, UNIT_PARTS / 4), none = of(minute, 1, 0);

    cr_expect_eq(quota_most(&q, NOW + 2000), 5);
    cr_expect_eq(quota_most(&q, NOW + 1000000), 25);
    cr_expect_eq(quota_most(&none, NOW + 1000000), 0);
    cr_expect_eq(quota_when(&none, NOW), MSEC_NEVER);
    quota_define(&none, minute, 1, (struct quota_parts){ .own = UNIT_PARTS }, NOW + 1000000);
    cr_expect_eq(quota_most(&none, NOW + 1000000), 0, "empty behind none");
}

/* A node's part follows demand each second: what is in the bucket stays, to a part of a unit. */
Test(quota, changes_of_its_part_neither_make_units_nor_lose_them)
{
    static const uint64_t slow[] = { 1, PER_MINUTE, 5 };
    struct quota q = of(slow, 1, UNIT_PARTS / 2);
    msec_t at = NOW;

    for (unsigned i = 1; i <= 180; i++) {
        at += 1000;
        quota_define(&q, slow, 1, (struct quota_parts){ .own = UNIT_PARTS / 2 + i % 2 }, at);
    }
    cr_expect_eq(quota_most(&q, at), 1, "of 1.5 in three minutes");
    quota_define(&q, slow, 1, (struct quota_parts){ .own = UNIT_PARTS }, at);
    cr_expect_eq(quota_most(&q, at + 29000), 1);
    cr_expect_eq(quota_most(&q, at + 31000), 2);
    quota_define(&q, slow, 1, (struct quota_parts){ .own = UNIT_PARTS / 3 }, at + 1000000);
    cr_expect_eq(quota_most(&q, at + 1000000), 1, "its room is less");
    quota_define(&q, slow, 1, (struct quota_parts){ .own = 100 }, at + 1000000);
    quota_pays(&q, 1, at + 1000000);
    cr_expect_eq(quota_most(&q, at + 1000000), 0, "less than one unit");
    cr_expect_eq(quota_most(&q, quota_when(&q, NOW)), 1, "and one call can still begin some time");
}

Test(quota, a_call_of_more_than_the_room_waits_until_so_many_are_there_and_nothing_is_owed)
{
    struct quota q = of(minute, 1, UNIT_PARTS);
    msec_t at = NOW + 1000000; /* full */

    cr_expect_eq(quota_most(&q, at), 100);
    quota_waits(&q, 250, at);
    cr_expect_eq(quota_when(&q, NOW), at + 15000, "idle time before does not count");
    cr_expect_eq(quota_most(&q, at + 14999), 249);
    cr_expect_eq(quota_most(&q, at + 15000), 250);
    cr_expect_eq(quota_most(&q, at + 1000000), 250);
    quota_pays(&q, 250, at + 15000);
    cr_expect_eq(quota_most(&q, at + 15000), 0);
    cr_expect_eq(quota_most(&q, at + 16000), 10);
    quota_waits(&q, 250, at + 16000);
    quota_waits(&q, 7, at + 60000); /* another one is next */
    cr_expect_eq(quota_most(&q, at + 60000), 100);
}

Test(quota, the_nth_call_waits_for_those_before_as_calls_have_cost)
{
    struct quota q = of(minute, 1, UNIT_PARTS);

    for (unsigned i = 0; i < 4; i++)
        quota_pays(&q, 20, NOW);
    cr_expect_eq(quota_nth(&q, 1, 0, NOW), NOW + 10000);
    cr_expect_eq(quota_nth(&q, 11, 0, NOW), NOW + 30000);
    cr_expect_eq(quota_nth(&q, 11, 50, NOW), NOW + 33000);
    quota_waits(&q, 100, NOW); /* the next one is larger than they were */
    cr_expect_eq(quota_nth(&q, 1, 0, NOW), NOW + 18000);
    cr_expect_eq(quota_nth(&q, 2, 0, NOW), NOW + 20000);
    cr_expect_eq(quota_nth(&q, 2, 50, NOW), NOW + 23000);
}

/* Else on_quota: reject would refuse it for ever. */
Test(quota, a_call_that_all_nodes_have_room_for_waits_for_no_more_than_a_full_bucket)
{
    struct quota q = of(minute, 1, UNIT_PARTS / 2);

    cr_expect_eq(quota_nth(&q, 1, 80, NOW), NOW + 10000);
    cr_expect_leq(quota_nth(&q, 1, 80, NOW + 10000), NOW + 10000);
    cr_expect_gt(quota_nth(&q, 1, 101, NOW + 100000), NOW + 100000, "no node ever has room for it");
}

Test(quota, what_is_owed_has_a_bound)
{
    static const uint64_t few[] = { 1, PER_DAY, 1 };
    struct quota q = of(few, 1, UNIT_PARTS);

    for (unsigned i = 0; i < 40; i++) {
        quota_owes(&q, TASK_COST_MAX, NOW);
        cr_expect_eq(quota_most(&q, NOW), 0);
        cr_expect_gt(quota_when(&q, NOW), NOW + 1000 * (msec_t)86400);
    }
}

/* Whatever happens, over nodes that share it: J23. */
Test(quota, nodes_together_never_begin_more_than_all_may)
{
    enum { NODES = 3, COST = 150, STEPS = 4000, WINDOW = 20000 };
    static struct {
        msec_t at;
        uint64_t cost;
    } begun[STEPS * NODES];
    struct quota q[NODES] = { 0 };
    struct rng r;
    msec_t at = NOW;
    unsigned n = 0, from = 0;
    uint64_t sum = 0, most = 0, next[NODES] = { 1, 1, 1 };

    rng_seed(&r, 7);
    for (unsigned step = 0; step < STEPS; step++) {
        uint64_t left = UNIT_PARTS;

        at += 1 + (msec_t)rng_below(&r, 200);
        if (rng_chance(&r, 0.1)) /* those that get less first, as the manager does it */
            for (unsigned i = 0; i < NODES; i++) {
                uint64_t part = i + 1 == NODES ? left : rng_below(&r, left + 1);

                if (rng_chance(&r, 0.02))
                    q[i] = (struct quota){ 0 }; /* killed */
                quota_define(&q[i], minute, 1, (struct quota_parts){ .own = part }, at);
                left -= part;
            }
        for (unsigned i = 0; i < NODES; i++) {
            if (!quota_is_set(&q[i]) || quota_most(&q[i], at) < next[i]) {
                quota_waits(&q[i], next[i], at);
                continue;
            }
            quota_pays(&q[i], next[i], at);
            begun[n].at = at;
            begun[n++].cost = next[i];
            sum += next[i];
            next[i] = rng_chance(&r, 0.1) ? COST : 1 + rng_below(&r, 20);
        }
        for (; from < n && begun[from].at <= at - WINDOW; from++)
            sum -= begun[from].cost;
        most = sum > most ? sum : most;
        cr_assert(sum <= 100 + 200 + NODES * COST, "%lu units in a window", sum);
    }
    cr_expect(most > 200, "%lu", most);
}

Test(quota, the_rates_of_a_budget_have_a_part_of_their_own)
{
    static const uint64_t both[] = { 100, PER_SECOND, 0, 10, PER_SECOND, 0 };
    struct quota q = { 0 };

    quota_define(&q, both, 2, (struct quota_parts){ UNIT_PARTS, UNIT_PARTS / 2, 1 }, NOW);
    cr_expect_eq(quota_room(&q, 0), 100);
    cr_expect_eq(quota_room(&q, 1), 5, "half of the budget's");
    cr_expect_eq(quota_most(&q, NOW + 100000), 5, "the lower one counts");
    quota_define(&q, both, 2, (struct quota_parts){ UNIT_PARTS, 0, 1 }, NOW);
    cr_expect_eq(quota_most(&q, NOW + 100000), 0, "without a part of the budget nothing begins");
    quota_define(&q, both, 2, (struct quota_parts){ 0, UNIT_PARTS, 1 }, NOW);
    cr_expect_eq(quota_most(&q, NOW + 100000), 0);
    quota_define(&q, both + 3, 1, (struct quota_parts){ 0, UNIT_PARTS, 1 }, NOW);
    cr_expect_eq(quota_most(&q, NOW + 100000), 10, "it has no rates of its own");
}

Test(quota, behind_a_restart_buckets_of_a_budget_are_empty)
{
    static const uint64_t both[] = { 100, PER_SECOND, 0, 10, PER_SECOND, 0 };
    const int64_t units[UNIT_RATES_MAX] = { 40, 9, 0 }, owed[UNIT_RATES_MAX] = { 40, -20, 0 };
    struct quota_kept was = { both, 2, { UNIT_PARTS, UNIT_PARTS, 1 }, units, NULL };
    struct quota q = { 0 };

    quota_resume(&q, &was, 100, NOW);
    cr_expect_eq(quota_level(&q, 0, NOW), 50, "its own went on");
    cr_expect_eq(quota_level(&q, 1, NOW), 0, "others may have had the budget's");
    was.units = owed;
    quota_resume(&q, &was, 100, NOW);
    cr_expect_eq(quota_level(&q, 1, NOW), -20, "what is owed is owed");
}

/* The endpoint's first rate goes, and the budget's is the first one: it has what it had. */
Test(quota, what_is_in_a_bucket_stays_there_when_another_rate_goes_or_comes)
{
    static const uint64_t own[] = { 100, PER_SECOND, 0, 86400, PER_DAY, 0 }, day[] = { 86400, PER_DAY, 0 };
    const struct quota_parts shared = { UNIT_PARTS, UNIT_PARTS, 1 }, alone = { UNIT_PARTS, 0, 0 };
    const struct quota_parts parts[] = { shared, alone };

    for (unsigned i = 0; i < 2; i++) {
        struct quota q = { 0 };

        quota_define(&q, own, 2, parts[i], NOW);
        quota_define(&q, own, 2, parts[i], NOW + 10000);
        cr_expect_eq(quota_level(&q, 0, NOW + 10000), 100);
        cr_expect_eq(quota_level(&q, 1, NOW + 10000), 10);
        quota_define(&q, day, 1, parts[i], NOW + 10000);
        cr_expect_eq(quota_level(&q, 0, NOW + 10000), 10, "not what the other one had");
        quota_define(&q, own, 2, parts[i], NOW + 20000);
        cr_expect_eq(quota_level(&q, 0, NOW + 20000), 0, "a new one begins empty");
        cr_expect_eq(quota_level(&q, 1, NOW + 20000), 20);
    }
}

Test(quota, without_a_part_of_the_budget_it_keeps_what_it_had_of_its_own)
{
    static const uint64_t both[] = { 86400, PER_DAY, 0, 10, PER_SECOND, 0 };
    struct quota q = { 0 };

    quota_define(&q, both, 2, (struct quota_parts){ UNIT_PARTS, UNIT_PARTS, 1 }, NOW);
    quota_define(&q, both, 2, (struct quota_parts){ UNIT_PARTS, 0, 1 }, NOW + 100000);
    cr_expect_eq(quota_most(&q, NOW + 200000), 0);
    cr_expect_eq(quota_when(&q, NOW), MSEC_NEVER);
    cr_expect_eq(quota_level(&q, 0, NOW + 200000), 200);
    quota_define(&q, both, 2, (struct quota_parts){ UNIT_PARTS, UNIT_PARTS, 1 }, NOW + 200000);
    cr_expect_eq(quota_level(&q, 0, NOW + 200000), 200);
    cr_expect_eq(quota_level(&q, 1, NOW + 200000), 0, "others may have had that");
}

Test(quota, what_is_owed_stays_owed_while_the_node_has_no_part)
{
    static const uint64_t second[] = { 10, PER_SECOND, 0 };
    struct quota q = { 0 };

    quota_define(&q, second, 1, (struct quota_parts){ .own = UNIT_PARTS }, NOW);
    quota_owes(&q, 30, NOW);
    cr_expect_eq(quota_level(&q, 0, NOW), -30);
    quota_define(&q, second, 1, (struct quota_parts){ 0 }, NOW);
    cr_expect_eq(quota_most(&q, NOW + 5000), 0);
    cr_expect_eq(quota_when(&q, NOW), MSEC_NEVER);
    quota_define(&q, second, 1, (struct quota_parts){ .own = UNIT_PARTS }, NOW + 5000);
    cr_expect_leq(quota_level(&q, 0, NOW + 5000), -29, "nothing came in meanwhile");
    quota_define(&q, second, 1, (struct quota_parts){ .own = UNIT_PARTS }, NOW + 60000);
    quota_define(&q, second, 1, (struct quota_parts){ 0 }, NOW + 60000);
    quota_define(&q, second, 1, (struct quota_parts){ .own = UNIT_PARTS }, NOW + 60000);
    cr_expect_eq(quota_level(&q, 0, NOW + 60000), 0, "what was there went to others");
}

static void follow(struct quota *q, uint64_t no, uint64_t to, uint64_t given, const struct quota_kept *kept, bool fresh)
{
    const uint64_t v[WINDOW_NUMBERS] = { no, 0, to, given, 0 };

    quota_follow(q, &(struct quota_windows){ v, WINDOW_NUMBERS, 0, fresh, kept }, NOW);
}

/* Else its node would look again at once, and again, until a manager says more. */
Test(quota, what_is_left_of_a_window_that_is_over_is_waited_for_no_more)
{
    struct quota q = of(minute, 1, UNIT_PARTS);

    follow(&q, 1, NOW + 1000, 50, NULL, false);
    cr_expect_eq(quota_when(&q, NOW + 999), 0);
    cr_expect_eq(quota_when(&q, NOW + 1000), MSEC_NEVER);
    follow(&q, 2, NOW + 2000, 40, NULL, false);
    cr_expect_eq(quota_when(&q, NOW + 1000), 0);
}

Test(quota, a_calendar_window_has_what_was_given_until_its_end)
{
    struct quota q = of(minute, 1, UNIT_PARTS);

    follow(&q, 1, NOW + 1000, 50, NULL, false);
    cr_expect_eq(quota_most(&q, NOW), 50, "at once, and not by the rate");
    quota_pays(&q, 30, NOW);
    cr_expect_eq(quota_most(&q, NOW + 999), 20);
    cr_expect_eq(quota_most(&q, NOW + 1000), 0, "it is over");
    cr_expect_eq(quota_nth(&q, 1, 21, NOW), NOW + 1000, "with the next window");
    cr_expect_eq(quota_nth(&q, 1, 20, NOW), 0);
    quota_returns(&q, 10, NOW, NOW);
    cr_expect_eq(quota_most(&q, NOW), 20, "paid as the window came: in the one before, for all that is known");
    quota_returns(&q, 10, NOW + 1, NOW + 1);
    cr_expect_eq(quota_most(&q, NOW), 30);
    follow(&q, 2, NOW + 2000, 40, NULL, false);
    quota_pays(&q, 15, NOW);
    quota_returns(&q, 10, NOW - 1, NOW);
    cr_expect_eq(quota_most(&q, NOW), 25, "nothing of what was paid in another one comes back");
    quota_define(&q, minute, 1, (struct quota_parts){ .own = UNIT_PARTS / 2 }, NOW);
    cr_expect_eq(quota_most(&q, NOW), 25, "parts do not count");
    quota_owes(&q, 100, NOW);
    cr_expect_eq(quota_most(&q, NOW), 0);
    cr_expect_eq(quota_used(&q, 0, NOW), 115, "the manager hears of it");
    quota_follow(&q, &(struct quota_windows){ 0 }, NOW);
    cr_expect_lt(quota_most(&q, NOW), 100, "a bucket again");
}

Test(quota, behind_a_restart_a_window_has_what_is_known_to_be_left)
{
    const uint64_t windows[UNIT_RATES_MAX] = { 7 };
    const int64_t taken[UNIT_RATES_MAX] = { 12 };
    struct quota_kept kept = { minute, 1, { .own = UNIT_PARTS }, taken, windows };
    struct quota q = of(minute, 1, UNIT_PARTS);

    follow(&q, 7, NOW + 1000, 50, &kept, true);
    cr_expect_eq(quota_most(&q, NOW), 38);
    q = of(minute, 1, UNIT_PARTS);
    follow(&q, 8, NOW + 1000, 50, &kept, true);
    cr_expect_eq(quota_most(&q, NOW), 0, "what was taken of this one is not known");
    follow(&q, 8, NOW + 1000, 60, NULL, false);
    cr_expect_eq(quota_most(&q, NOW), 10);
}

/* Rates that come and go beside it move a window to another place. */
Test(quota, a_calendar_window_keeps_what_it_has_at_whatever_place)
{
    const uint64_t numbers[] = { 1000, PER_DAY, 0, 100, PER_MINUTE, 0 };
    const uint64_t moved[] = { 9, 0, NOW + 9000, 500, 0, 7, 0, NOW + 1000, 50, 0 };
    const uint64_t alone[] = { 7, 0, NOW + 1000, 60, 0 };
    const uint64_t windows[UNIT_RATES_MAX] = { 7, 9 };
    const int64_t taken[UNIT_RATES_MAX] = { 30, 4 };
    struct quota_kept kept = { numbers, 2, { .own = UNIT_PARTS }, taken, windows };
    struct quota q = of(&numbers[3], 1, UNIT_PARTS);

    follow(&q, 7, NOW + 1000, 50, NULL, false);
    quota_pays(&q, 30, NOW + 10);
    quota_define(&q, numbers, 2, (struct quota_parts){ .own = UNIT_PARTS }, NOW + 20);
    quota_follow(&q, &(struct quota_windows){ moved, 10, 0, false, NULL }, NOW + 20);
    cr_expect_eq(quota_most(&q, NOW + 20), 20);
    cr_expect_eq(quota_used(&q, 0, NOW + 20), 0, "the other one is new");
    cr_expect_eq(quota_used(&q, 1, NOW + 20), 30);
    quota_returns(&q, 5, NOW + 10, NOW + 30);
    cr_expect_eq(quota_used(&q, 1, NOW + 30), 25, "of a call of before the change");
    cr_expect_eq(quota_used(&q, 0, NOW + 30), 0);
    quota_pays(&q, 1, NOW + 40);
    quota_define(&q, &numbers[3], 1, (struct quota_parts){ .own = UNIT_PARTS }, NOW + 50);
    quota_follow(&q, &(struct quota_windows){ alone, 5, 0, false, NULL }, NOW + 50);
    cr_expect_eq(quota_most(&q, NOW + 50), 34);
    follow(&q, 3, NOW + 1000, 40, NULL, false);
    cr_expect_eq(quota_most(&q, NOW + 50), 40, "of another budget, whose window began before");
    q = of(numbers, 2, UNIT_PARTS);
    quota_follow(&q, &(struct quota_windows){ moved, 10, 0, true, &kept }, NOW + 60);
    cr_expect_eq(quota_used(&q, 0, NOW + 60), 4, "behind a restart, by the number");
    cr_expect_eq(quota_used(&q, 1, NOW + 60), 30);
}

/* test_recur.c: ticks, which of those that are due together count, and jitter. */
#include "common/recur/recur.h"

#include "tests/lib/criterion.h"

static const struct zone utc = { NULL, "UTC" };

static struct due due_of(const struct recur *r, int64_t last, int64_t now, enum catch_up how,
                         unsigned most)
{
    struct due d;

    recur_due(r, &utc, last, now, how, most, &d);
    return d;
}

static struct recur by_cron(const char *text)
{
    struct recur r = { 0 };
    struct cron_error e;

    cr_assert(cron_read(&r.cron, text, &e));
    return r;
}

Test(recur, every_is_a_multiple_since_1970_or_since_from)
{
    struct recur r = { .every_ms = 900000 };

    cr_expect_eq(recur_next(&r, &utc, 0), 900000);
    cr_expect_eq(recur_next(&r, &utc, 899999), 900000);
    cr_expect_eq(recur_next(&r, &utc, 900000), 1800000);
    r.from_ms = 1000000;
    cr_expect_eq(recur_next(&r, &utc, 0), 1000000);
    cr_expect_eq(recur_next(&r, &utc, 1000000), 1900000);
}

Test(recur, from_and_until_count_themselves)
{
    struct recur r = by_cron("* * * * *");

    r.from_ms = 120000;
    r.until_ms = 180000;
    cr_expect_eq(recur_next(&r, &utc, 0), 120000);
    cr_expect_eq(recur_next(&r, &utc, 120000), 180000);
    cr_expect_eq(recur_next(&r, &utc, 180000), RECUR_NEVER);
    r = (struct recur){ .every_ms = 60000, .until_ms = 60000 };
    cr_expect_eq(recur_next(&r, &utc, 0), 60000);
    cr_expect_eq(recur_next(&r, &utc, 60000), RECUR_NEVER);
}

Test(recur, numbers_out_of_range_are_said)
{
    struct recur r = { .every_ms = 500 };

    cr_expect_not_null(recur_wrong(&r));
    r.every_ms = 1500;
    cr_expect_not_null(recur_wrong(&r));
    r.every_ms = 2000;
    cr_expect_null(recur_wrong(&r));
    r.from_ms = 5000;
    r.until_ms = 4000;
    cr_expect_str_eq(recur_wrong(&r), "until is before from");
}

Test(recur, one_tick_that_is_due_counts_whatever_is_made_up_for)
{
    struct recur r = { .every_ms = 60000 };

    for (enum catch_up how = CATCH_UP_NONE; how < CATCH_UP_NKINDS; how++) {
        struct due d = due_of(&r, 60000, 120007, how, 5);

        cr_expect(d.n == 1 && d.v[0] == 120000 && d.missed == 0 && d.newest == 0);
        cr_expect_eq(due_of(&r, 120000, 120007, how, 5).n, 0);
        cr_expect_eq(due_of(&r, 240000, 120007, how, 5).n, 0); /* the clock went back */
    }
}

Test(recur, after_a_stop)
{
    struct recur every = { .every_ms = 60000 }, daily = by_cron("0 9 * * *");
    struct due d = due_of(&every, 60000, 610000, CATCH_UP_ALL, 3);

    cr_expect(d.n == 3 && d.v[0] == 480000 && d.v[2] == 600000 && d.missed == 6 && d.newest == 420000);
    d = due_of(&every, 60000, 610000, CATCH_UP_ALL, 100);
    cr_expect(d.n == 9 && d.v[0] == 120000 && d.missed == 0);
    d = due_of(&every, 60000, 610000, CATCH_UP_LAST, 3);
    cr_expect(d.n == 1 && d.v[0] == 600000 && d.missed == 8 && d.newest == 540000);
    d = due_of(&every, 60000, 610000, CATCH_UP_NONE, 3);
    cr_expect(d.n == 1 && d.v[0] == 600000);
    d = due_of(&daily, 0, 3 * 86400000, CATCH_UP_NONE, 1);
    cr_expect(d.n == 0 && d.missed == 3 && d.newest == 2 * 86400000 + 9 * 3600000);
    d = due_of(&daily, 0, 3 * 86400000, CATCH_UP_LAST, 1);
    cr_expect(d.n == 1 && d.v[0] == 2 * 86400000 + 9 * 3600000 && d.missed == 2);
    d = due_of(&daily, 0, 3 * 86400000, CATCH_UP_ALL, 2);
    cr_expect(d.n == 2 && d.v[0] == 86400000 + 9 * 3600000 && d.missed == 1);
    cr_expect_eq(d.newest, 9 * 3600000);
}

Test(recur, years_of_seconds_are_passed_over_at_once)
{
    struct recur r = { .every_ms = 1000 };
    int64_t now = INT64_C(1800000000000);
    struct due d = due_of(&r, 0, now, CATCH_UP_ALL, 2);

    cr_expect(d.n == 2 && d.v[1] == now && d.v[0] == now - 1000);
    cr_expect(d.missed == 1800000000 - 2 && d.newest == now - 2000);
    r.until_ms = 5000;
    d = due_of(&r, 0, now, CATCH_UP_ALL, 2);
    cr_expect(d.n == 2 && d.v[0] == 4000 && d.v[1] == 5000 && d.missed == 3);
}

static unsigned looks;

static bool counted(void *ctx, const char *zone, int64_t at_s, int32_t *offset_s)
{
    (void)ctx;
    (void)zone;
    (void)at_s;
    looks++;
    *offset_s = 3600;
    return true;
}

Test(recur, years_of_minutes_cost_as_little_as_a_day)
{
    static const struct zones zones = { counted, NULL };
    const struct zone z = { &zones, "X" };
    int64_t now = INT64_C(1800000000000);
    struct recur r = by_cron("* * * * *");
    struct due d;

    recur_due(&r, &z, 0, now, CATCH_UP_ALL, 2, &d);
    cr_expect(d.n == 2 && d.v[1] == now && d.v[0] == now - 60000 && d.newest == now - 120000);
    cr_expect(d.missed >= RECUR_COUNTED - 2 && looks < 10000, "%lu, %u", d.missed, looks);
    r = by_cron("0 9 * * *"); /* of those that are few, all are counted */
    recur_due(&r, &z, now - INT64_C(900) * 86400000, now, CATCH_UP_LAST, 1, &d);
    cr_expect(d.n == 1 && d.missed == 899);
}

Test(recur, jitter_is_that_of_a_name_and_a_tick)
{
    uint64_t sum = 0;

    for (int64_t tick = 0; tick < 1000; tick++) {
        int64_t j = recur_jitter("nightly", tick * 60000, 1000);

        cr_expect(j >= 0 && j <= 1000);
        cr_expect_eq(j, recur_jitter("nightly", tick * 60000, 1000));
        sum += (uint64_t)j;
    }
    cr_expect(sum > 450000 && sum < 550000);
    cr_expect_eq(recur_jitter("nightly", 60000, 0), 0);
    cr_expect_neq(recur_jitter("nightly", 60000, 100000), recur_jitter("monthly", 60000, 100000));
}

/* test_cron.c: which expressions are read, when they come next, and what they do when clocks change.
 * Moments are UTC, but for what the zone's own clocks show. */
#include "common/recur/recur.h"

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/recur/zones.h"
#include "tests/lib/zonerig.h"

static char dir[64];

static void begin(void)
{
    cr_assert(zonerig_begin(dir));
}

static void end(void)
{
    zonerig_end(dir);
}

TestSuite(cron, .init = begin, .fini = end);

/* "2026-03-29 01:00" as Unix seconds. */
static int64_t at(const char *text)
{
    struct tm tm = { 0 };

    cr_assert_eq(sscanf(text, "%d-%d-%d %d:%d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
                        &tm.tm_min), 5);
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    return (int64_t)timegm(&tm);
}

static const char *text_of(int64_t s)
{
    static char text[32];
    time_t t = (time_t)s;
    struct tm tm;

    if (s == CRON_NEVER)
        return "never";
    gmtime_r(&t, &tm);
    strftime(text, sizeof(text), tm.tm_sec == 0 ? "%Y-%m-%d %H:%M" : "%Y-%m-%d %H:%M:%S", &tm);
    return text;
}

static struct cron cron_of(const char *text)
{
    struct cron_error e;
    struct cron c = { 0 };

    cr_assert(cron_read(&c, text, &e), "%s: %s", text, e.text);
    return c;
}

/* expected: what follows `from`, each behind the one before; up to four, NULL ends them. */
struct row {
    const char *zone, *cron, *from, *expected[5];
};

static void check(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct cron c = cron_of(rows[i].cron);
        struct zone z = { &system_zones, rows[i].zone };
        int64_t now = at(rows[i].from);

        for (unsigned k = 0; rows[i].expected[k] != NULL; k++) {
            now = cron_next(&c, &z, now);
            cr_expect_str_eq(text_of(now), rows[i].expected[k], "%s %s from %s, number %u",
                             rows[i].zone, rows[i].cron, rows[i].from, k);
            if (now == CRON_NEVER)
                break;
        }
    }
}

Test(cron, fields_lists_ranges_steps_names_and_words)
{
    static const struct row rows[] = {
        { "UTC", "* * * * *", "2026-01-01 00:00", { "2026-01-01 00:01", "2026-01-01 00:02" } },
        { "UTC", "*/15 * * * *", "2026-01-01 00:01", { "2026-01-01 00:15", "2026-01-01 00:30" } },
        { "UTC", "7-59/20 9-17/4 * * *", "2026-01-01 09:08",
          { "2026-01-01 09:27", "2026-01-01 09:47", "2026-01-01 13:07" } },
        { "UTC", "0,30 6,18 * * *", "2026-01-01 06:30", { "2026-01-01 18:00", "2026-01-01 18:30" } },
        { "UTC", "5 4 * * sun", "2026-01-01 00:00", { "2026-01-04 04:05", "2026-01-11 04:05" } },
        { "UTC", "5 4 * * 7", "2026-01-01 00:00", { "2026-01-04 04:05" } },
        { "UTC", "0 0 * Feb-APR mon-Fri", "2026-01-31 00:00", { "2026-02-02 00:00" } },
        { "UTC", "0 0 29 2 *", "2096-03-01 00:00", { "2104-02-29 00:00" } },
        { "UTC", "0 0 31 * *", "2026-01-31 00:00", { "2026-03-31 00:00", "2026-05-31 00:00" } },
        { "UTC", "@hourly", "2026-01-01 00:00", { "2026-01-01 01:00" } },
        { "UTC", "@daily", "2026-01-01 00:00", { "2026-01-02 00:00" } },
        { "UTC", "@weekly", "2026-01-01 00:00", { "2026-01-04 00:00" } },
        { "UTC", "@Monthly", "2026-01-01 00:00", { "2026-02-01 00:00" } },
        { "", "@yearly", "2026-01-01 00:00", { "2027-01-01 00:00" } },
        { "UTC", "  0\t12 * *  * ", "1969-12-30 00:00", { "1969-12-30 12:00" } },
    };

    check(rows, ARRAY_LEN(rows));
}

/* Vixie: two limited fields are an "or", one that begins with a star makes it an "and". */
Test(cron, day_of_month_and_weekday)
{
    static const struct row rows[] = {
        { "UTC", "0 0 13 * fri", "2026-02-01 00:00",
          { "2026-02-06 00:00", "2026-02-13 00:00", "2026-02-20 00:00" } },
        { "UTC", "0 0 1 * mon", "2026-01-27 00:00", { "2026-02-01 00:00", "2026-02-02 00:00" } },
        { "UTC", "0 0 */2 * mon", "2026-01-06 00:00", { "2026-01-19 00:00" } },
        { "UTC", "0 0 13 * *", "2026-02-01 00:00", { "2026-02-13 00:00", "2026-03-13 00:00" } },
    };

    check(rows, ARRAY_LEN(rows));
}

Test(cron, what_is_wrong_is_said_by_its_field)
{
    static const char *const rows[][2] = {
        { "", "five fields are needed: minute hour day month weekday" },
        { "* * * *", "five fields are needed: minute hour day month weekday" },
        { "* * * * * *", "five fields are needed: minute hour day month weekday" },
        { "60 * * * *", "minute: 60 is not in 0-59" },
        { "* 24 * * *", "hour: 24 is not in 0-23" },
        { "* * 0 * *", "day of the month: 0 is not in 1-31" },
        { "* * * 13 *", "month: 13 is not in 1-12" },
        { "* * * * 8", "day of the week: 8 is not in 0-7" },
        { "* * * foo *", "month: \"foo\" is no number, and no name" },
        { "x * * * *", "minute: \"x\" is no number" },
        { "5-1 * * * *", "minute: the range 5-1 goes backwards" },
        { "1- * * * *", "minute: \"\" is no number" },
        { "1, * * * *", "minute: \"\" is no number" },
        { "5/10 * * * *", "minute: a step needs a star or a range before it" },
        { "*/0 * * * *", "minute: the step \"0\" is not in 1-59" },
        { "*/x * * * *", "minute: the step \"x\" is not in 1-59" },
        { "** * * * *", "minute: \"*\" is not understood" },
        { "99999 * * * *", "minute: \"99999\" is no number" },
        { "@reboot", "\"@reboot\" is not known: @hourly, @daily, @weekly, @monthly, @yearly" },
        { "0 0 30 2 *", "this date never comes" },
        { "0 0 31 4,6,9,11 *", "this date never comes" },
    };
    struct cron_error e;
    struct cron c;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cr_expect_not(cron_read(&c, rows[i][0], &e), "%s", rows[i][0]);
        cr_expect_str_eq(e.text, rows[i][1], "%s", rows[i][0]);
    }
}

Test(cron, a_fixed_time_in_a_skipped_hour_comes_at_the_change)
{
    static const struct row rows[] = {
        /* 02:00 CET is 03:00 CEST */
        { "Europe/Berlin", "30 2 * * *", "2026-03-28 00:00",
          { "2026-03-28 01:30", "2026-03-29 01:00", "2026-03-30 00:30" } },
        { "Europe/Berlin", "0,30 2 * * *", "2026-03-28 02:00",
          { "2026-03-29 01:00", "2026-03-30 00:00" } }, /* once */
        { "America/New_York", "15 2 * * *", "2026-03-07 08:00",
          { "2026-03-08 07:00", "2026-03-09 06:15" } },
        /* midnight itself is skipped */
        { "America/Sao_Paulo", "@daily", "2018-11-03 03:00",
          { "2018-11-04 03:00", "2018-11-05 02:00" } },
        /* half an hour: 02:00 is 02:30 */
        { "Australia/Lord_Howe", "15 2 * * *", "2026-10-02 16:00",
          { "2026-10-03 15:30", "2026-10-04 15:15" } },
    };

    check(rows, ARRAY_LEN(rows));
}

Test(cron, a_fixed_time_in_a_doubled_hour_comes_once)
{
    static const struct row rows[] = {
        { "Europe/Berlin", "30 2 * * *", "2026-10-24 12:00",
          { "2026-10-25 00:30", "2026-10-26 01:30" } },
        { "America/New_York", "30 1 * * *", "2026-10-31 12:00",
          { "2026-11-01 05:30", "2026-11-02 06:30" } },
        { "America/Sao_Paulo", "30 23 * * *", "2018-02-16 12:00",
          { "2018-02-17 01:30", "2018-02-18 01:30", "2018-02-19 02:30" } },
        { "Australia/Lord_Howe", "45 1 * * *", "2026-04-04 00:00",
          { "2026-04-04 14:45", "2026-04-05 15:15" } },
    };

    check(rows, ARRAY_LEN(rows));
}

Test(cron, a_star_follows_the_clock)
{
    static const struct row rows[] = {
        { "Europe/Berlin", "*/30 2 * * *", "2026-03-28 01:30", { "2026-03-30 00:00" } },
        { "Europe/Berlin", "*/30 2 * * *", "2026-10-24 12:00",
          { "2026-10-25 00:00", "2026-10-25 00:30", "2026-10-25 01:00", "2026-10-25 01:30" } },
        { "Europe/Berlin", "0 * * * *", "2026-03-29 00:00",
          { "2026-03-29 01:00", "2026-03-29 02:00" } },
        { "America/New_York", "0 * * * *", "2026-11-01 04:30",
          { "2026-11-01 05:00", "2026-11-01 06:00", "2026-11-01 07:00" } },
        { "Australia/Lord_Howe", "0 * * * *", "2026-10-03 14:45",
          { "2026-10-03 16:00", "2026-10-03 17:00" } }, /* 02:00 is not shown */
        { "Australia/Lord_Howe", "45 * * * *", "2026-04-04 14:00",
          { "2026-04-04 14:45", "2026-04-04 15:15", "2026-04-04 16:15" } },
    };

    check(rows, ARRAY_LEN(rows));
}

Test(cron, zones_without_summer_time)
{
    static const struct row rows[] = {
        { "Asia/Kathmandu", "0 9 * * *", "2026-01-01 00:00", { "2026-01-01 03:15" } },
        { "Asia/Kathmandu", "*/20 * * * *", "2026-01-01 00:00", { "2026-01-01 00:15" } },
        { "America/Sao_Paulo", "0 9 * * *", "2026-01-01 00:00", { "2026-01-01 12:00" } },
        { "UTC", "30 2 * * *", "2026-03-29 00:00", { "2026-03-29 02:30" } },
        { "Mars/Olympus", "30 2 * * *", "2026-03-29 00:00", { "never" } },
    };

    check(rows, ARRAY_LEN(rows));
}

Test(cron, names_of_zones)
{
    static const char *const bad[] = { "", "/etc/passwd", "../x", "a//b", "a/", "a b", "tzdata.zi" };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_not(zone_name_ok(bad[i]), "%s", bad[i]);
    cr_expect(zone_name_ok("Etc/GMT+5") && zone_name_ok("America/Port-au-Prince"));
}

static unsigned looks;

static bool counted(void *ctx, const char *zone, int64_t at_s, int32_t *offset_s)
{
    looks++;
    return system_zones.offset(ctx, zone, at_s, offset_s);
}

/* The last Sunday of March: 02:00 is 03:00, year by year. */
Test(cron, a_time_that_clocks_always_skip_is_not_looked_for_long)
{
    static const struct zones zones = { counted, NULL };
    const struct zone z = { &zones, "Europe/Berlin" };
    struct cron c = cron_of("* 2 25-31 3 */7");

    looks = 0;
    cr_expect_eq(cron_next(&c, &z, at("2027-01-01 00:00")), CRON_NEVER);
    cr_expect_lt(looks, 10000);
}

/* At 2026-03-14 00:01 it is 01:01. */
static bool in_mid_hour(void *ctx, const char *zone, int64_t at_s, int32_t *offset_s)
{
    (void)ctx;
    (void)zone;
    *offset_s = at_s >= at("2026-03-14 00:01") ? 3600 : 0;
    return true;
}

Test(cron, clocks_that_change_within_an_hour)
{
    static const struct zones zones = { in_mid_hour, NULL };
    const struct zone z = { &zones, "X" };
    struct cron c = cron_of("*/2 1 * * *");

    cr_expect_str_eq(text_of(cron_next(&c, &z, at("2026-03-13 12:00"))), "2026-03-14 00:02");
}

/* Each moment that fits, by looking at every minute: what next finds, no more and no less. */
Test(cron, as_a_walk_over_all_minutes_of_a_year)
{
    static const char *const crons[] = { "*/7 * * * *", "* 2 * * *", "*/20 1-3 25-31 3,10 *",
                                         "30 * * 4,11 sun" };
    static const char *const zones[] = { "Europe/Berlin", "America/New_York", "Australia/Lord_Howe" };

    for (size_t i = 0; i < ARRAY_LEN(crons) * ARRAY_LEN(zones); i++) {
        struct cron c = cron_of(crons[i / ARRAY_LEN(zones)]);
        struct zone z = { &system_zones, zones[i % ARRAY_LEN(zones)] };
        int64_t next = cron_next(&c, &z, at("2025-12-31 23:59"));

        for (int64_t t = at("2026-01-01 00:00"); t < at("2027-01-01 00:00"); t += 60) {
            int32_t offset;
            time_t shown;
            struct tm tm;
            bool day, week, fits;

            cr_assert(zone_offset(&z, t, &offset));
            shown = (time_t)(t + offset);
            gmtime_r(&shown, &tm);
            day = (c.days >> tm.tm_mday & 1) != 0;
            week = (c.weekdays >> tm.tm_wday & 1) != 0;
            fits = (c.minutes >> tm.tm_min & 1) != 0 && (c.hours >> tm.tm_hour & 1) != 0 &&
                   (c.months >> (tm.tm_mon + 1) & 1) != 0 &&
                   (c.either_day ? day || week : day && week);
            cr_assert_eq(fits, next == t, "%s %s at %s", crons[i / ARRAY_LEN(zones)], z.name, text_of(t));
            if (fits)
                next = cron_next(&c, &z, t);
        }
    }
}

/* A fixed time, whatever clocks do: one moment for each of its days. */
Test(cron, a_fixed_time_comes_once_a_day_all_the_year)
{
    static const char *const zones[] = { "Europe/Berlin", "America/New_York", "America/Sao_Paulo",
                                         "Australia/Lord_Howe", "Asia/Kathmandu", "UTC" };
    char text[32];

    for (size_t i = 0; i < ARRAY_LEN(zones); i++)
        for (int m = 0; m < 24 * 60; m += 45) {
            struct zone z = { &system_zones, zones[i] };
            struct cron c;
            unsigned n = 0;

            snprintf(text, sizeof(text), "%d %d * * *", m % 60, m / 60);
            c = cron_of(text);
            for (int64_t t = at("2018-01-01 12:00"); t < at("2019-01-01 12:00"); n++)
                t = cron_next(&c, &z, t);
            cr_expect(n == 365 || n == 366, "%s %s: %u", zones[i], text, n);
        }
}

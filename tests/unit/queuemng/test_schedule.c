/* test_schedule.c: opening and closing by the wall clock, once each. */
#include "tests/lib/criterion.h"
#include <sodium.h>
#include <string.h>

#include "common/base/buf.h"
#include "queuemng/policy/schedule.h"

#define T0 1800000000000 /* 2027-01-15T08:00:00Z */
#define MIN 60000ll

static struct schedule s;
static struct schedule_def d;
static uint8_t secret[DRAW_SEED];

static void set(const char *opens, const char *closes, int64_t prequeue_ms)
{
    d = (struct schedule_def){ .opens_at = (char *)(uintptr_t)opens,
                               .closes_at = (char *)(uintptr_t)closes,
                               .prequeue_ms = prequeue_ms };
    schedule_set(&s, &d);
}

static uint8_t at(int64_t ms)
{
    secret[0]++;
    (void)schedule_step(&s, &d, T0 + ms, secret);
    return s.phase;
}

static void reset(void)
{
    memset(&s, 0, sizeof(s));
    memset(secret, 0x5a, sizeof(secret));
}

TestSuite(schedule, .init = reset, .timeout = 60);

Test(schedule, dates_follow_rfc_3339)
{
    static const struct {
        const char *text;
        int64_t ms; /* -1: refused */
    } v[] = {
        { "2027-01-15T08:00:00Z", T0 },
        { "2027-01-15T09:00:00+01:00", T0 },
        { "2027-01-15 01:30:00.25-06:30", T0 + 250 },
        { "1970-01-01T00:00:00.001z", 1 },
        { "2000-02-29T12:00:00Z", 951825600000 },
        { "2024-12-31T23:59:59.9999Z", 1735689599999 },
        { "2100-02-28T00:00:00Z", 4107456000000 },
        { "2027-02-29T08:00:00Z", -1 },
        { "2100-02-29T08:00:00Z", -1 },
        { "2027-01-15T08:00:00", -1 }, /* which zone? */
        { "2027-01-15T24:00:00Z", -1 },
        { "2027-01-15T08:60:00Z", -1 },
        { "2027-01-15T08:00:60Z", -1 },
        { "2027-13-15T08:00:00Z", -1 },
        { "2027-00-15T08:00:00Z", -1 },
        { "2027-01-00T08:00:00Z", -1 },
        { "2027-01-15T08:00:00.Z", -1 },
        { "2027-01-15T08:00:00+1:00", -1 },
        { "2027-01-15T08:00:00Z ", -1 },
        { "2027-1-15T08:00:00Z", -1 },
        { "tomorrow", -1 },
        { "", -1 },
    };

    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        int64_t ms = 0;
        int rc = schedule_parse(v[i].text, &ms);

        cr_expect_eq(rc, v[i].ms < 0 ? SQ_EINVAL : 0, "%s", v[i].text);
        cr_expect(v[i].ms < 0 || ms == v[i].ms, "%s: %lld", v[i].text, (long long)ms);
    }
}

Test(schedule, nonsense_is_refused_by_name)
{
    struct err e = { 0 };

    set("soon", "", 0);
    cr_expect_eq(schedule_check(&d, &e), SQ_EINVAL);
    cr_expect(strstr(e.text, "opens_at: \"soon\""), "%s", e.text);
    set("2027-01-15T08:00:00Z", "2027-01-15T08:00:00Z", 0);
    cr_expect_eq(schedule_check(&d, &e), SQ_EINVAL);
    cr_expect(strstr(e.text, "closes_at is not after opens_at"), "%s", e.text);
    set("2027-01-15T08:00:00Z", "2027-01-15T08:00:01Z", 0);
    cr_expect_eq(schedule_check(&d, &e), 0);
}

/* Each change is stored. */
Test(schedule, a_moment_that_has_come_changes_nothing_any_more)
{
    set("2027-01-15T08:00:00Z", "2027-01-15T10:00:00Z", 30 * MIN);
    for (int64_t ms = -60 * MIN; ms <= 180 * MIN; ms += 30 * MIN) {
        (void)at(ms);
        cr_expect_not(schedule_step(&s, &d, T0 + ms + 1, secret), "%lld", (long long)ms);
    }
}

Test(schedule, without_times_a_queue_is_open)
{
    set("", "", 30 * MIN);
    cr_expect_eq(at(0), SCHED_PLAIN);
    cr_expect_eq(s.draw, DRAW_NONE);
}

Test(schedule, phases_follow_each_other_from_early_to_over)
{
    set("2027-01-15T08:00:00Z", "2027-01-15T10:00:00Z", 30 * MIN);
    cr_expect_eq(at(-60 * MIN), SCHED_EARLY);
    cr_expect_eq(s.draw, DRAW_SECRET, "told before anybody can come");
    cr_expect_eq(at(-30 * MIN - 1), SCHED_EARLY);
    cr_expect_eq(at(-30 * MIN), SCHED_PREQUEUE);
    cr_expect_eq(at(-1), SCHED_PREQUEUE);
    cr_expect_eq(s.draw, DRAW_SECRET);
    cr_expect_eq(at(0), SCHED_PLAIN);
    cr_expect_eq(s.draw, DRAW_TOLD);
    cr_expect_eq(at(120 * MIN - 1), SCHED_PLAIN);
    cr_expect_eq(at(120 * MIN), SCHED_OVER);
    set("2027-01-15T08:00:00Z", "", 30 * MIN);
    cr_expect_eq(at(121 * MIN), SCHED_PLAIN, "and open again, by the operator");
}

/* One opening, one draw, one seed, whatever the clock says later. */
/* Passes are out there: what is an hour wrong for a minute must not show in new ones. */
Test(schedule, the_clock_of_passes_does_not_leap_with_the_wall_clock)
{
    struct wall_guard g = { 0 };
    msec_t ms = 1000;

    cr_expect_eq(wall_steady(&g, ms, T0 + ms), T0 + ms);
    for (; ms < 11000; ms += 1000) /* set right soon after the start */
        cr_expect_eq(wall_steady(&g, ms, T0 + 60 * MIN + ms), T0 + ms, "at %lld", (long long)ms);
    for (; ms < 20 * MIN; ms += 1000)
        cr_expect_eq(wall_steady(&g, ms, T0 + 60 * MIN + ms), T0 + 60 * MIN + ms);
    for (; ms < 25 * MIN; ms += 1000) /* then it is wrong for five minutes */
        cr_expect_eq(wall_steady(&g, ms, T0 + ms), T0 + 60 * MIN + ms);
    for (; ms < 26 * MIN; ms += 1000)
        cr_expect_eq(wall_steady(&g, ms, T0 + 60 * MIN + ms), T0 + 60 * MIN + ms);
    for (; ms < 36 * MIN; ms += 1000) /* and for ever */
        cr_expect_eq(wall_steady(&g, ms, T0 + ms), T0 + 60 * MIN + ms);
    cr_expect_eq(wall_steady(&g, ms, T0 + ms), T0 + ms);
}

Test(schedule, a_clock_set_back_undoes_nothing)
{
    uint8_t seed[DRAW_SEED];

    set("2027-01-15T08:00:00Z", "2027-01-15T10:00:00Z", 30 * MIN);
    cr_expect_eq(at(-20 * MIN), SCHED_PREQUEUE);
    memcpy(seed, s.seed, sizeof(seed));
    cr_expect_eq(at(-90 * MIN), SCHED_PREQUEUE, "who is there stays");
    cr_expect_eq(at(5), SCHED_PLAIN);
    cr_expect_eq(at(-90 * MIN), SCHED_PLAIN);
    cr_expect_eq(at(6), SCHED_PLAIN);
    cr_expect_arr_eq(s.seed, seed, sizeof(seed));
    cr_expect_eq(at(121 * MIN), SCHED_OVER);
    cr_expect_eq(at(60 * MIN), SCHED_OVER);
    cr_expect_eq(s.draw, DRAW_TOLD);
}

Test(schedule, a_later_opening_keeps_the_seed_and_the_next_has_its_own)
{
    uint8_t seed[DRAW_SEED];

    set("2027-01-15T08:00:00Z", "", 30 * MIN);
    cr_expect_eq(at(-5 * MIN), SCHED_PREQUEUE);
    memcpy(seed, s.seed, sizeof(seed));
    set("2027-01-15T12:00:00Z", "", 30 * MIN); /* put off */
    cr_expect_eq(at(-4 * MIN), SCHED_EARLY);
    cr_expect_arr_eq(s.seed, seed, sizeof(seed), "nobody draws twice");
    cr_expect_eq(at(220 * MIN), SCHED_PREQUEUE);
    cr_expect_eq(at(240 * MIN), SCHED_PLAIN);
    schedule_add_draw(&s, 17, 200);
    set("2027-01-16T08:00:00Z", "", 30 * MIN);
    cr_expect_eq(at(300 * MIN), SCHED_EARLY);
    cr_expect_arr_neq(s.seed, seed, sizeof(seed));
    cr_expect_eq(s.n_draws, 0);
    set("", "", 30 * MIN); /* at once */
    cr_expect_eq(at(301 * MIN), SCHED_PLAIN);
    cr_expect_eq(s.draw, DRAW_TOLD);
}

Test(schedule, a_returning_manager_opens_late)
{
    set("2027-01-15T08:00:00Z", "2027-01-15T10:00:00Z", 30 * MIN);
    cr_expect_eq(at(-20 * MIN), SCHED_PREQUEUE);
    cr_expect_eq(at(30 * MIN), SCHED_PLAIN);
    reset();
    set("2027-01-15T08:00:00Z", "", 30 * MIN);
    cr_expect_eq(at(30 * MIN), SCHED_PLAIN, "and without early ones: nothing to draw");
    cr_expect_eq(s.draw, DRAW_NONE);
}

Test(schedule, the_seed_is_told_after_the_opening_only)
{
    char hex[DRAW_HEX + 1], hash_hex[DRAW_HEX + 1];
    uint8_t hash[DRAW_SEED];
    struct buf b;

    set("2027-01-15T08:00:00Z", "", 30 * MIN);
    buf_init(&b);
    schedule_put_draw(&s, "login", &b);
    cr_expect_eq(b.len, 0);
    at(-20 * MIN);
    sodium_bin2hex(hex, sizeof(hex), s.seed, DRAW_SEED);
    draw_commitment("login", s.seed, hash);
    sodium_bin2hex(hash_hex, sizeof(hash_hex), hash, DRAW_SEED);
    schedule_put_draw(&s, "login", &b);
    buf_byte(&b, 0);
    cr_expect(strstr((char *)b.data, hash_hex));
    cr_expect(strstr((char *)b.data, hex) == NULL);
    cr_expect(strstr((char *)b.data, "seed") == NULL);
    buf_reset(&b);
    at(0);
    schedule_add_draw(&s, 17, 200);
    schedule_put_draw(&s, "login", &b);
    buf_byte(&b, 0);
    cr_expect(strstr((char *)b.data, hash_hex));
    cr_expect(strstr((char *)b.data, hex));
    cr_expect(strstr((char *)b.data, "[{\"segment\":17,\"count\":200}]"), "%s", (char *)b.data);
    buf_fini(&b);
}

/* ---- clocks -------------------------------------------------------------------------- */

Test(schedule, a_lasting_clock_leap_is_believed)
{
    struct wall_guard g = { 0 };

    cr_expect_eq(wall_believed(&g, 1000, T0), T0);
    cr_expect_eq(wall_believed(&g, 2000, T0 + 1003), T0 + 1003, "a clock is set a little");
    cr_expect_eq(wall_believed(&g, 3000, T0 + 90 * MIN), T0 + 2003, "not yet");
    cr_expect_eq(wall_believed(&g, 4000, T0 + 3003), T0 + 3003, "it was an error");
    for (msec_t ms = 5000; ms < 15000; ms += 1000)
        cr_expect_eq(wall_believed(&g, ms, T0 + 90 * MIN + ms), T0 - 997 + ms);
    cr_expect_eq(wall_believed(&g, 15000, T0 + 90 * MIN + 15000), T0 + 90 * MIN + 15000);
    cr_expect_eq(wall_believed(&g, 16000, T0), T0 + 90 * MIN + 16000, "nor one back");
}

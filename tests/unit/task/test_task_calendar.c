/* test_task_calendar.c: calendar windows of rates of queues and keys. */
#include "tests/unit/task/enginerig.h"

#include "common/base/log.h"
#include "common/recur/zones.h"
#include "task/engine/engine.h"
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

TestSuite(task_calendar, .init = begin, .fini = end);

#define H        ((msec_t)3600000)
#define NOON     ((msec_t)1795863600000) /* Saturday, 28 November 2026, 12:00 in Berlin */
#define BERLIN   1u
#define KEY_DAY  ((uint64_t)BERLIN << LIMIT_WINDOWS)

static void define(struct enginerig *r, const struct task_rules *rules)
{
    cr_assert_eq(engine_define(&r->e, "*", rules), 0);
    rig_flush(r);
    rig_advance(r, 0);
}

static struct task_rules day(uint64_t units)
{
    struct task_rules rules;

    rules_default(&rules);
    rules.ttl_ms = 0;
    rules.key_units_1 = units, rules.key_per_1 = PER_DAY;
    rules.windows = KEY_DAY;
    return rules;
}

static void rig_at(struct enginerig *r, msec_t wall, const struct task_rules *rules)
{
    rig_init(r, NULL);
    r->e.zones = r->opts.zones = &system_zones;
    cr_assert_eq(engine_zone(&r->e, "Europe/Berlin", &(uint32_t){ 0 }), BERLIN);
    cr_assert_eq(engine_zone(&r->e, "Europe/Berlin", &(uint32_t){ 0 }), BERLIN, "again");
    r->now.wall_ms = wall;
    rig_advance(r, 0);
    define(r, rules);
}

static task_no submit(struct enginerig *r, const char *key, uint64_t cost)
{
    return rig_submit(r, (struct submit){ .key1 = rig_text(key), .own = { .cost = cost > 1 ? cost + 1 : 0 } });
}

/* What starts now: units. */
static uint64_t take(struct enginerig *r)
{
    task_no no = rig_take(r, NULL);

    return no != 0 ? task_cost(&r->e, task_slot_of(no)) : 0;
}

static uint64_t taken(const struct enginerig *r, const char *key)
{
    struct trec_text text = rig_text(key);
    const struct tqueue *q = tqueue_find(&r->e, "q", 1);
    uint32_t i = tqueue_key(&r->e, q->limiter, &text);

    return i != 0 ? (uint64_t)bucket_of(&r->e.tree, i)->tat[0] : 0;
}

/* A tenant with 100 000 units a day in Berlin. */
Test(task_calendar, a_tenants_day)
{
    struct task_rules rules = day(100000);
    struct task_view v;
    struct enginerig r;
    task_no next;

    rig_at(&r, NOON + 3 * H, &rules);
    submit(&r, "t", 60000);
    submit(&r, "t", 40000);
    next = submit(&r, "t", 30000);
    submit(&r, "other", 7);
    cr_expect_eq(take(&r) + take(&r) + take(&r), 100007, "all at once, and the others their own");
    cr_expect_eq(take(&r), 0);
    cr_assert_eq(engine_look(&r.e, next, &v), 0);
    cr_expect_eq(v.limited, CLOSED_RATE | CLOSED_WINDOW);
    cr_expect_str_eq(v.limited_by, "t");
    cr_expect_eq(v.limited_until, r.e.at + 9 * H, "midnight");
    cr_expect_eq(v.eta, TASK_ETA_RATE);
    cr_expect_eq(v.eta_ms, 9 * H);
    cr_expect_eq(engine_idle_ms(&r.e, r.now) > 0, 1, "nothing spins");
    engine_foresee(&r.e, &(struct submit){ .queue = rig_text("q"), .key1 = rig_text("t"), .own.cost = 90001 }, &v);
    cr_expect_eq(v.eta_ms, 33 * H, "two days on: %ld", v.eta_ms);
    rules.key_units_1 = 120000; /* the operator raises the limit */
    define(&r, &rules);
    cr_expect_eq(take(&r), 0, "20 000 more are there, not 120 000");
    submit(&r, "t", 20000);
    rules.key_units_1 = 130000;
    define(&r, &rules);
    cr_expect_eq(take(&r), 30000);
    cr_expect_eq(take(&r), 0);
    rig_compare(&r);
    rig_advance(&r, 9 * H - 1);
    cr_expect_eq(take(&r), 0);
    rig_restart(&r, 0);
    cr_expect_eq(take(&r), 0);
    rig_advance(&r, 1);
    cr_expect_eq(take(&r), 20000, "midnight");
    cr_expect_eq(taken(&r, "t"), 20000);
    rig_compare(&r);
    rig_fini(&r);
}

/* 29 March 2026 has 23 hours, 25 October 25. */
Test(task_calendar, days_are_those_of_the_zones_clocks)
{
    static const struct {
        msec_t noon, hours;
    } rows[] = { { 1774778400000, 23 }, { 1792926000000, 25 } };
    struct task_rules rules = day(10);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct enginerig r;

        rig_at(&r, rows[i].noon - (rows[i].hours - 12) * H, &rules);
        submit(&r, "t", 10);
        submit(&r, "t", 10);
        cr_expect_eq(take(&r), 10, "midnight");
        rig_advance(&r, rows[i].hours * H - 1);
        cr_expect_eq(take(&r), 0);
        rig_advance(&r, 1);
        cr_expect_eq(take(&r), 10);
        rig_fini(&r);
    }
}

static unsigned unknown;

static void on_line(void *ctx, enum log_level level, const char *line)
{
    (void)ctx;
    unknown += level == LOG_ERROR && strstr(line, "event=zone_unknown zone=No/Where ") != NULL;
}

/* As in an image without tzdata, where the manager has it. */
Test(task_calendar, a_zone_that_is_not_known_here_begins_nothing_and_is_said)
{
    struct task_rules rules = day(10);
    struct enginerig r;

    log_set_tap(on_line, NULL);
    rig_at(&r, NOON, &rules);
    cr_expect_eq(unknown, 0);
    cr_assert_eq(engine_zone(&r.e, "No/Where", &(uint32_t){ 1u << BERLIN }), BERLIN + 1);
    rules.windows = (uint64_t)(BERLIN + 1) << LIMIT_WINDOWS;
    define(&r, &rules);
    submit(&r, "t", 1);
    cr_expect_eq(take(&r), 0);
    cr_expect_eq(unknown, 1);
    rig_advance(&r, 59999);
    cr_expect_eq(unknown, 1, "%u", unknown);
    rig_advance(&r, 1);
    cr_expect_eq(take(&r), 0);
    cr_expect_eq(unknown, 2, "each minute");
    log_set_tap(NULL, NULL);
    rig_fini(&r);
}

Test(task_calendar, one_of_more_than_a_window_runs_alone_in_its_turn)
{
    struct task_rules rules = day(100);
    struct enginerig r;

    rig_at(&r, NOON, &rules);
    submit(&r, "t", 10);
    submit(&r, "t", 500);
    submit(&r, "t", 1);
    cr_expect_eq(take(&r), 10);
    cr_expect_eq(take(&r), 0, "it is in front");
    rig_advance(&r, 12 * H);
    cr_expect_eq(take(&r), 500);
    cr_expect_eq(take(&r), 0);
    rig_advance(&r, 24 * H);
    cr_expect_eq(take(&r), 1);
    rig_fini(&r);
}

Test(task_calendar, what_was_not_used_comes_back_within_its_window_alone)
{
    struct task_rules rules = day(100);
    uint64_t lease, old_lease;
    struct enginerig r;
    task_no no, old;

    rig_at(&r, NOON, &rules);
    submit(&r, "t", 60);
    submit(&r, "t", 40);
    submit(&r, "t", 30);
    old = rig_take(&r, &old_lease);
    no = rig_take(&r, &lease);
    cr_expect_eq(take(&r), 0);
    cr_assert_eq(engine_settle(&r.e, no, lease, 10), 0);
    rig_flush(&r);
    cr_expect_eq(take(&r), 30, "30 are given back");
    cr_assert_eq(engine_extend(&r.e, old, old_lease, 20 * H), 0);
    rig_flush(&r);
    submit(&r, "t", 95);
    cr_expect_eq(take(&r), 0);
    rig_advance(&r, 12 * H);
    cr_expect_eq(take(&r), 95);
    rig_restart(&r, 0);
    cr_assert_eq(engine_settle(&r.e, old, old_lease, 1), 0);
    rig_flush(&r);
    cr_expect_eq(taken(&r, "t"), 95, "59 of yesterday");
    cr_assert_eq(engine_settle(&r.e, old, old_lease, 5), 0);
    rig_flush(&r);
    cr_expect_eq(taken(&r, "t"), 99, "more is of now");
    rig_compare(&r);
    rig_fini(&r);
}

Test(task_calendar, a_window_goes_on_at_whatever_place_its_rate_is)
{
    struct task_rules rules = day(100);
    struct enginerig r;

    rig_at(&r, NOON, &rules);
    submit(&r, "t", 70);
    submit(&r, "t", 31);
    submit(&r, "u", 1);
    cr_expect_eq(take(&r), 70);
    cr_expect_eq(take(&r), 1);
    rules.key_units_2 = 100, rules.key_per_2 = PER_DAY;
    rules.key_units_1 = 1000, rules.key_per_1 = PER_MINUTE;
    rules.windows = (uint64_t)BERLIN << (LIMIT_WINDOWS + ZONE_BITS);
    define(&r, &rules);
    cr_expect_eq(take(&r), 0, "30 are left");
    rig_compare(&r);
    rules = day(100);
    rules.windows = 0; /* sliding: full, as one that is new */
    define(&r, &rules);
    cr_expect_eq(take(&r), 31);
    rig_fini(&r);
}

/* A clock that goes back begins nothing anew; one that was days ahead was wrong. */
Test(task_calendar, odd_clocks)
{
    struct task_rules rules = day(100);
    struct enginerig r;

    rig_at(&r, NOON, &rules);
    for (unsigned i = 0; i < 6; i++)
        submit(&r, "t", 60);
    cr_expect_eq(take(&r), 60);
    r.now.wall_ms += 12 * H;
    rig_advance(&r, 1);
    cr_expect_eq(take(&r), 60, "the next day");
    r.now.wall_ms -= 12 * H;
    rig_advance(&r, 1);
    cr_expect_eq(take(&r), 0, "the same");
    rig_restart(&r, 1);
    cr_expect_eq(take(&r), 0);
    rig_advance(&r, 36 * H);
    cr_expect_eq(take(&r), 60, "when its midnight has come");
    r.now.wall_ms += 1000 * H;
    rig_advance(&r, 1);
    cr_expect_eq(take(&r), 60);
    r.now.wall_ms -= 1000 * H;
    rig_advance(&r, 1);
    cr_expect_eq(take(&r), 60, "or else it would stand for weeks");
    cr_expect_eq(take(&r), 0);
    rig_compare(&r);
    rig_fini(&r);
}

/* Keys without a task stay until their window is over, and go then. */
Test(task_calendar, a_key_without_tasks_is_kept_as_long_as_its_window)
{
    struct task_rules rules = day(100);
    struct enginerig r;
    uint64_t lease;
    task_no no;

    rig_at(&r, NOON, &rules);
    submit(&r, "t", 100);
    no = rig_take(&r, &lease);
    cr_assert_eq(engine_ack(&r.e, no, lease, 0), 0);
    cr_assert_eq(engine_discard(&r.e, no), 0);
    rig_flush(&r);
    rig_advance(&r, 2 * H);
    cr_expect_eq(r.e.tree.limiters_now, 2);
    submit(&r, "t", 1);
    cr_expect_eq(take(&r), 0);
    rig_restart(&r, 0);
    cr_expect_eq(take(&r), 0);
    rig_advance(&r, 10 * H);
    no = rig_take(&r, &lease);
    cr_assert_eq(engine_ack(&r.e, no, lease, 0), 0);
    cr_assert_eq(engine_discard(&r.e, no), 0);
    rig_flush(&r);
    rig_advance(&r, 24 * H);
    rig_advance(&r, 20000);
    cr_expect_eq(r.e.tree.limiters_now, 0);
    rig_compare(&r);
    rig_fini(&r);
}

Test(task_calendar, a_key_without_tasks_goes_when_its_rate_has_no_window_any_more)
{
    struct task_rules rules = day(100);
    struct enginerig r;
    uint64_t lease;
    task_no no;

    rig_at(&r, NOON, &rules);
    submit(&r, "t", 100);
    no = rig_take(&r, &lease);
    cr_assert_eq(engine_ack(&r.e, no, lease, 0), 0);
    cr_assert_eq(engine_discard(&r.e, no), 0);
    rig_flush(&r);
    cr_assert_eq(r.e.tree.limiters_now, 2);
    rules.key_units_1 = rules.key_per_1 = rules.windows = 0;
    define(&r, &rules);
    rig_advance(&r, 10);
    cr_expect_eq(r.e.tree.limiters_now, 0);
    rig_fini(&r);
}

/* A power cut may have taken starts: what is left of the window is nobody's, also of keys that come later. */
Test(task_calendar, where_starts_may_be_missing_the_window_is_used_up)
{
    struct task_rules rules = day(100);
    struct enginerig r;
    struct buf snap;

    for (int snapshot = 0; snapshot < 2; snapshot++) {
        rig_at(&r, NOON, &rules);
        submit(&r, "t", 10);
        submit(&r, "t", 10);
        cr_expect_eq(take(&r), 10);
        engine_empty_buckets(&r.e);
        rig_flush(&r);
        buf_init(&snap);
        engine_snapshot(&r.e, &snap);
        if (snapshot) {
            buf_reset(&r.journal);
            buf_append(&r.journal, snap.data, snap.len);
            rig_restart(&r, 0);
        }
        buf_fini(&snap);
        cr_expect_eq(take(&r), 0);
        submit(&r, "u", 10);
        cr_expect_eq(take(&r), 0);
        rig_compare(&r);
        rig_advance(&r, 12 * H);
        cr_expect_eq(take(&r) + take(&r), 20);
        rig_fini(&r);
    }
}

/* Keys that a replay keeps longer than they were kept are too many for it. */
Test(task_calendar, a_replay_keeps_no_key_longer_than_it_was_kept)
{
    struct task_rules rules = day(100);
    struct enginerig r;
    struct buf snap;
    uint64_t lease;
    char key[16];
    task_no no;

    rig_at(&r, NOON, &rules);
    submit(&r, "t", 100);
    no = rig_take(&r, &lease);
    cr_assert_eq(engine_ack(&r.e, no, lease, 0), 0);
    cr_assert_eq(engine_discard(&r.e, no), 0);
    rig_flush(&r);
    for (unsigned i = 0; i < 50; i++) { /* in a snapshot they are before it */
        snprintf(key, sizeof(key), "k%u", i);
        rig_submit(&r, (struct submit){ .key1 = rig_text(key), .delay_ms = 100 * H });
    }
    r.opts.max_keys = r.e.tree.max_limiters = r.e.tree.limiters_now;
    buf_init(&snap);
    engine_snapshot(&r.e, &snap);
    buf_reset(&r.journal);
    buf_append(&r.journal, snap.data, snap.len);
    buf_fini(&snap);
    rig_advance(&r, 12 * H);
    rig_advance(&r, 10);
    submit(&r, "new", 1);
    rig_restart(&r, 0);
    cr_expect_eq(take(&r), 1);
    rig_fini(&r);
}

static uint64_t take_and_ack(struct enginerig *r)
{
    uint64_t lease, cost;
    task_no no = rig_take(r, &lease);

    if (no == 0)
        return 0;
    cost = task_cost(&r->e, task_slot_of(no));
    cr_assert_eq(engine_ack(&r->e, no, lease, 0), 0);
    rig_flush(r);
    return cost;
}

/* What a window closed is opened by parts, and nothing is taken twice meanwhile. */
Test(task_calendar, a_window_of_many_keys_begins_in_parts)
{
    struct task_rules rules = day(100);
    const unsigned n = 40000;
    struct enginerig r;
    unsigned turns = 0;
    uint64_t all = 0;
    char key[16];

    rig_at(&r, NOON, &rules);
    for (unsigned day = 0; day < 2; day++)
        for (unsigned i = 0; i < n; i++) {
            snprintf(key, sizeof(key), "k%u", i);
            submit(&r, key, 60);
        }
    for (uint64_t got; (got = take_and_ack(&r)) != 0;)
        all += got;
    cr_expect_eq(all, 60 * n);
    rig_advance(&r, 12 * H);
    while (engine_idle_ms(&r.e, r.now) == 0 && turns++ < 100) {
        all += take_and_ack(&r);
        rig_advance(&r, 0);
    }
    cr_expect(turns >= n / 8192 && turns <= 1 + n / 8192, "%u", turns);
    rig_compare(&r);
    for (uint64_t got; (got = take_and_ack(&r)) != 0;)
        all += got;
    cr_expect_eq(all, 120 * n);
    for (unsigned i = 0; i < 10; i++)
        submit(&r, "k39999", 60);
    rig_advance(&r, 24 * H);
    rig_advance(&r, 24 * H); /* before it has been looked at all */
    cr_expect_eq(take_and_ack(&r), 60);
    cr_expect_eq(take_and_ack(&r), 0);
    rig_compare(&r);
    rig_fini(&r);
}

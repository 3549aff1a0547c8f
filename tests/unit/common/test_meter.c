/* test_meter.c: windows of the calendar, and units of one that are shared out among nodes. */
#include "common/recur/meter.h"

#include "tests/lib/criterion.h"

#include "common/base/rng.h"
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

TestSuite(meter, .init = begin, .fini = end);

#define H INT64_C(3600000)

Test(meter, windows_are_those_of_the_zones_clocks)
{
    static const struct {
        const char *zone;
        int64_t per;
        int64_t at, from, to; /* hours of 2026 UTC */
    } rows[] = {
        { "", 86400, 30, 24, 48 },
        { "America/New_York", 86400, 4, -19, 5 },
        { "America/New_York", 86400, 5, 5, 29 },
        { "Europe/Berlin", 86400, 87 * 24 + 12, 87 * 24 - 1, 87 * 24 + 22 },    /* 29 March: 23 hours */
        { "Europe/Berlin", 86400, 297 * 24 + 12, 297 * 24 - 2, 297 * 24 + 23 }, /* 25 October: 25 */
        { "Europe/Berlin", 3600, 297 * 24, 297 * 24, 297 * 24 + 1 }, /* one that comes twice: two of them */
        { "Europe/Berlin", 3600, 297 * 24 + 1, 297 * 24 + 1, 297 * 24 + 2 },
    };
    const int64_t year = INT64_C(1767225600000);
    struct meter_window w;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (int64_t off = 0; off < H; off += H - 1) {
            struct zone z = { &system_zones, rows[i].zone };

            cr_assert(meter_window_at(&w, rows[i].per, &z, year + rows[i].at * H + off), "%zu", i);
            cr_expect_eq(w.from_ms, year + rows[i].from * H, "%zu: %ld", i, (long)((w.from_ms - year) / H));
            cr_expect_eq(w.to_ms, year + rows[i].to * H, "%zu: %ld", i, (long)((w.to_ms - year) / H));
        }
    cr_assert(meter_window_at(&w, 60, &(struct zone){ NULL, "UTC" }, year + 61999));
    cr_expect_eq(w.from_ms, year + 60000);
    cr_expect_eq(w.to_ms, year + 120000);
    cr_expect_not(meter_window_at(&w, 1, &(struct zone){ NULL, "UTC" }, year));
    cr_expect_not(meter_window_at(&w, 86400, &(struct zone){ &system_zones, "No/Where" }, year));
}

Test(meter, a_clock_that_goes_back_begins_nothing_anew)
{
    const struct meter_window first = { 0, 0, 60000 }, second = { 0, 60000, 120000 };
    struct meter m = { .units = 10 };

    cr_expect(meter_is_over(&m, 0));
    meter_begins(&m, &first, 1);
    m.given = 7;
    cr_expect_not(meter_is_over(&m, 59999));
    cr_expect(meter_is_over(&m, 60000));
    meter_begins(&m, &second, 2);
    cr_expect_eq(m.given, 0);
    cr_expect_eq(m.window.no, 2);
    cr_expect_not(meter_is_over(&m, 59999));
    cr_expect_not(meter_is_over(&m, -24 * H + 60000), "a day back");
    cr_expect(meter_is_over(&m, -24 * H + 59999), "it began while a clock was wrong");
}

Test(meter, a_purse_counts_each_window_for_itself)
{
    const struct meter_window one = { 1, 0, 1000 }, two = { 2, 1000, 2000 };
    struct purse p = { 0 }, kept;

    purse_gets(&p, &one, 10);
    purse_pays(&p, 6);
    purse_gets(&p, &one, 10);
    purse_gets(&p, &one, 8); /* late */
    cr_expect_eq(purse_most(&p, 100, 999), 4);
    cr_expect_eq(purse_most(&p, 100, 1000), 0, "its window is over");
    purse_returns(&p, 1, 2);
    cr_expect_eq(purse_most(&p, 100, 999), 6);
    kept = p;
    purse_gets(&p, &two, 5);
    purse_gets(&p, &one, 100);
    purse_returns(&p, 1, 4);
    cr_expect_eq(purse_most(&p, 100, 1000), 5, "nothing of the window before");
    cr_expect_eq(purse_most(&p, 100, 500), 5, "a clock behind is in the window that the manager says");
    purse_resumes(&p, &one, 12, &kept);
    cr_expect_eq(purse_most(&p, 100, 0), 8);
    purse_resumes(&p, &two, 12, &kept);
    cr_expect_eq(purse_most(&p, 100, 1000), 0, "what it may have taken is not known");
    purse_gets(&p, &two, 13);
    cr_expect_eq(purse_most(&p, 100, 1000), 1);
}

Test(meter, what_is_taken_beyond_is_counted_once)
{
    struct meter m = { { 1, 0, 1000 }, .units = 100, .given = 10 };
    struct purse p = { { 1, 0, 1000 }, 10, 25 };
    uint64_t given = meter_hears(&m, &p, 10);

    cr_expect_eq(given, 25);
    cr_expect_eq(meter_hears(&m, &p, given), 25);
    cr_expect_eq(m.given, 25);
    p.window.no = 0;
    cr_expect_eq(meter_hears(&m, &p, 10), 10);
    m.given = 120;
    cr_expect_eq(meter_gives(&m, &p, 25, 1, 1), 25, "all are gone");
}

Test(meter, a_call_of_more_than_a_window_gets_a_whole_one)
{
    const struct meter_window w = { 0, 0, 1000 };
    struct meter m = { .units = 100 };
    struct purse p = { 0 };

    meter_begins(&m, &w, 1);
    cr_expect_eq(meter_gives(&m, &p, 0, 60, 1), 60);
    cr_expect_eq(meter_gives(&m, &p, 0, 41, 1), 0, "what does not fit takes nothing");
    cr_expect_eq(meter_gives(&m, &p, 0, 150, 1), 0, "others began in it");
    cr_expect_eq(meter_gives(&m, &p, 0, 40, 1), 40);
    meter_begins(&m, &w, 2);
    cr_expect_eq(meter_gives(&m, &p, 0, 150, 1), 150);
    cr_expect_eq(meter_gives(&m, &p, 0, 1, 1), 0);
}

Test(meter, what_was_given_for_a_large_call_is_no_more_than_a_window_for_others)
{
    struct meter m = { { 1, 0, 1000 }, .units = 100, .given = 150 };
    struct purse p = { { 1, 0, 1000 }, 150, 0 };

    cr_expect_eq(purse_most(&p, 100, 0), 150);
    purse_pays(&p, 10); /* that one went, and a smaller one came */
    cr_expect_eq(purse_most(&p, 100, 0), 90);
    cr_expect(meter_can_give(&m, &p, 150, 90));
    cr_expect_not(meter_can_give(&m, &p, 150, 91), "the manager knows that");
    purse_returns(&p, 1, 10);
    cr_expect_eq(purse_most(&p, 100, 0), 150);
    purse_pays(&p, 150);
    cr_expect_eq(purse_most(&p, 100, 0), 0);
}

/* J28: whatever is lost, late, killed or stored and not told, units started in a window are at most its units.
 * Where nothing of that happens, at least nine of ten are used. */
static double play(uint64_t seed, bool faults)
{
    enum { NODES = 3, UNITS = 1000, LATE = 16, STEP = 100, WINDOWS = 20 };
    struct meter stored = { .units = UNITS }, m = stored;
    struct {
        struct purse p, kept, said;
        uint64_t given, stored; /* as the manager has it, and its store */
        uint64_t needs;
        struct { int64_t at; struct meter_window w; uint64_t given; } late[LATE];
        int64_t off; /* of its clock */
    } n[NODES] = { 0 };
    uint64_t started[4 * WINDOWS] = { 0 }, all = 0, numbers = 0;
    struct rng r;

    rng_seed(&r, seed);
    for (int64_t now = 0, manager = 0; now < WINDOWS * 60000; now += STEP) {
        struct meter_window at;

        if (faults && rng_chance(&r, 0.002))
            manager = (int64_t)rng_below(&r, 20000) - 10000; /* another one, with another clock */
        cr_assert(meter_window_at(&at, 60, &(struct zone){ NULL, "" }, now + manager));
        if (faults && rng_chance(&r, 0.01)) { /* manager killed: as it is stored */
            m = stored;
            for (unsigned i = 0; i < NODES; i++) {
                n[i].given = n[i].stored;
                n[i].said = (struct purse){ 0 };
            }
        }
        if (meter_is_over(&m, now + manager)) {
            meter_begins(&m, &at, ++numbers);
            for (unsigned i = 0; i < NODES; i++)
                n[i].given = 0;
        }
        for (unsigned i = 0; i < NODES; i++) {
            if (!faults || rng_chance(&r, 0.5))
                n[i].said = n[i].p; /* report */
            n[i].given = meter_gives(&m, &n[i].said, n[i].given, n[i].needs, NODES);
        }
        if (!faults || !rng_chance(&r, 0.05)) { /* the write is through; else nothing is told */
            stored = m;
            for (unsigned i = 0; i < NODES; i++) {
                unsigned k = (unsigned)rng_below(&r, LATE);

                n[i].stored = n[i].given;
                n[i].late[k].at = faults ? now + (int64_t)rng_below(&r, 3000) : now;
                n[i].late[k].w = m.window;
                n[i].late[k].given = n[i].given;
            }
        }
        for (unsigned i = 0; i < NODES; i++) {
            struct purse *p = &n[i].p;

            for (unsigned k = 0; k < LATE; k++)
                if (n[i].late[k].w.no != 0 && n[i].late[k].at <= now) {
                    purse_gets(p, &n[i].late[k].w, n[i].late[k].given);
                    n[i].late[k].w.no = 0;
                }
            if (faults && rng_chance(&r, 0.005)) /* killed, with its journal or without; its clock is set */
                purse_resumes(p, &stored.window, n[i].stored, rng_chance(&r, 0.7) ? &n[i].kept : NULL);
            if (faults && rng_chance(&r, 0.005))
                n[i].off = (int64_t)rng_below(&r, 10000) - 5000;
            n[i].needs = n[i].needs != 0 ? n[i].needs : 1 + rng_below(&r, 9);
            while (purse_most(p, UNITS, now + n[i].off) >= n[i].needs) {
                purse_pays(p, n[i].needs);
                cr_assert_lt(p->window.no, ARRAY_LEN(started));
                started[p->window.no] += n[i].needs;
                all += n[i].needs;
                if (rng_chance(&r, 0.05)) { /* no connection */
                    purse_returns(p, p->window.no, n[i].needs);
                    started[p->window.no] -= n[i].needs;
                    all -= n[i].needs;
                }
                n[i].needs = 1 + rng_below(&r, 9);
            }
            n[i].kept = *p; /* in the group of the calls */
        }
        for (unsigned no = 0; no < ARRAY_LEN(started); no++)
            cr_assert_leq(started[no], UNITS, "seed %lu: %lu units in window %u", seed, started[no], no);
    }
    return (double)all / (WINDOWS * UNITS);
}

Test(meter, nodes_together_never_start_more_than_the_window_has)
{
    double least = 1;

    for (uint64_t seed = 1; seed <= 200; seed++)
        least = play(seed, true) < least ? play(seed, true) : least;
    cr_expect_gt(least, 0.3, "%f", least);
    for (uint64_t seed = 1; seed <= 5; seed++)
        cr_expect_gt(play(seed, false), 0.9);
}

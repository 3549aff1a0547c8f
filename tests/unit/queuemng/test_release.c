/* test_release.c: the controller: exact, never above what the tiers allow, fair. */
#include "queuemng/policy/release.h"

#include "tests/lib/criterion.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"

static void def_set(struct queue_def *d, const char *yaml)
{
    struct cfg_node *doc;
    struct err e;

    cr_assert_eq(cfg_parse_yaml(&doc, yaml, strlen(yaml), "def", &e), 0, "%s", e.text);
    cr_assert_eq(cfg_bind(d, sizeof(*d), queue_def_keys, doc, "def", &e), 0, "%s", e.text);
    cr_assert_eq(queue_def_check(d, &e), 0, "%s", e.text);
    cfg_node_free(doc);
}

#define CPU                                                                              \
    "name: q\nfallback_per_s: 10\nlimits:\n - metric: cpu\n   tiers: [{below: 50, "      \
    "rate_per_s: 2000}, {below: 70, rate_per_s: 500}, {below: 85, rate_per_s: 50}]\n"

struct rig {
    struct queue_def def;
    struct release r;
    struct metric m[4];
    const struct metric *mp[16];
    struct release_in in;
    struct release_out out;
    int64_t weights[LANES_MAX];
};

static void rig_set(struct rig *g, const char *yaml)
{
    memset(g, 0, sizeof(*g));
    def_set(&g->def, yaml);
    for (int i = 0; i < 4; i++)
        g->mp[i] = &g->m[i];
    g->in = (struct release_in){ .now_ms = 1000, .def = &g->def, .metrics = g->mp,
                                 .n_lanes = 1, .weights = g->weights };
    g->weights[0] = 1;
    g->in.waiting[0] = 1000000000;
}

/* One tick dt later; what lane 0 got. */
static uint64_t step(struct rig *g, msec_t dt)
{
    g->in.now_ms += dt;
    release_tick(&g->r, &g->in, &g->out);
    return g->out.n[0];
}

static double rate_at(struct rig *g, double cpu)
{
    metric_set(&g->m[0], cpu, 100, g->in.now_ms + 100, g->in.now_ms + 100);
    step(g, 100);
    return g->out.allowed_per_s;
}

static void done(struct rig *g)
{
    cfg_clear(&g->def, queue_def_keys);
}

static int refused(const char *yaml)
{
    struct queue_def d = { 0 };
    struct cfg_node *doc;
    struct err e;
    int rc = cfg_parse_yaml(&doc, yaml, strlen(yaml), "def", &e);

    if (rc == 0)
        rc = cfg_bind(&d, sizeof(d), queue_def_keys, doc, "def", &e);
    if (rc == 0)
        rc = queue_def_check(&d, &e);
    cfg_node_free(doc);
    cfg_clear(&d, queue_def_keys);
    return rc;
}

Test(queue_def, defaults_and_refusals)
{
    struct queue_def d = { 0 };

    def_set(&d, "name: q");
    cr_expect(d.claim_ms == 60000 && d.grace_ms == 120000 && d.pass_ttl_ms == 300000);
    cr_expect(d.idle.game_ms == 60000 && d.idle.browser_ms == 180000 && d.merge);
    cr_expect(d.segment_capacity == 100000 && d.open_next_at == 0.8 && d.hysteresis == 5);
    cfg_clear(&d, queue_def_keys);
    cr_expect_lt(refused("name: Q"), 0);
    cr_expect_lt(refused("name: q\nlanes: [{name: a}, {name: a}]"), 0);
    cr_expect_lt(refused("name: q\npoll_min: 10s\npoll_max: 5s"), 0);
    cr_expect_lt(refused("name: q\nclaim: 10m\npass_ttl: 5m"), 0);
    cr_expect_lt(refused("name: q\nlimits: [{metric: a, tiers: []}]"), 0);
    cr_expect_lt(refused("name: q\nmode: slots"), 0);
    cr_expect_lt(refused("name: q\nmode: both"), 0);
    cr_expect_eq(refused("name: q\nmode: both\nmax_active: 1"), 0);
    cr_expect_lt(refused("name: q\nlimits: [{metric: a, tiers: [{below: 5, rate_per_s: 1},"
                         "{below: 5, rate_per_s: 0}]}]"), 0);
    cr_expect_lt(refused("name: q\nlimits: [{metric: a, tiers: [{below: 5, rate_per_s: 1},"
                         "{below: 6, rate_per_s: 2}]}]"), 0);
}

Test(metric, impossible_definitions_are_refused)
{
    static const double bad[] = { NAN, INFINITY, -INFINITY, -0.001, 100.1, 1e308 };
    struct metric m = { 0 };

    cr_expect(!metric_usable(&m, 0));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        metric_set(&m, bad[i], 100, 5000, 5000);
        cr_expect(!metric_usable(&m, 5000), "%g", bad[i]);
        cr_expect(m.why[0] != 0);
    }
    metric_set(&m, 5, 100, 20001, 5000);
    cr_expect(!m.ok, "from the future");
    metric_set(&m, 5, 100, 5000, 5000 + METRIC_FRESH_MS + 1);
    cr_expect(!m.ok, "stale");
    metric_set(&m, 5, 100, 5000, 5000);
    cr_expect(metric_usable(&m, 5000 + METRIC_FRESH_MS));
    cr_expect(!metric_usable(&m, 5001 + METRIC_FRESH_MS));
    metric_fail(&m, "gone");
    cr_expect(!metric_usable(&m, 5000));
    cr_expect_str_eq(m.why, "gone");
}

Test(release, fractions_are_exact_over_a_hundred_thousand_ticks)
{
    static const double per_s[] = { 4, 0.1, 33.3, 1234.5678, 9999.99 };

    for (size_t i = 0; i < ARRAY_LEN(per_s); i++) {
        struct rig g;
        uint64_t sum = 0;

        rig_set(&g, "name: q\nrelease_per_s: 1");
        g.def.release_per_s = per_s[i];
        step(&g, 0);
        for (int k = 0; k < 100000; k++)
            sum += step(&g, 100);
        cr_expect_eq(sum, (uint64_t)(per_s[i] * 10000 + 1e-6), "%g: %lu", per_s[i],
                     (unsigned long)sum);
        cr_expect_eq(g.r.granted, sum);
        done(&g);
    }
}

Test(release, starts_empty_and_does_not_make_up_for_sleep)
{
    struct rig g;

    rig_set(&g, "name: q\nrelease_per_s: 100");
    cr_expect_eq(step(&g, 5000), 0);
    cr_expect_eq(step(&g, 100), 10);
    cr_expect_eq(step(&g, 60000), 20); /* two ticks' worth, not a minute's */
    cr_expect_eq(step(&g, -500), 0);    /* a clock that runs back gives nothing */
    g.in.waiting[0] = 0;
    for (int i = 0; i < 100; i++)
        step(&g, 100);
    g.in.waiting[0] = 1000;
    cr_expect_eq(step(&g, 100), 11); /* one was kept while nobody waited, and no more */
    cr_expect_eq(step(&g, 100), 10);
    cr_expect_str_eq(g.r.limited_by, "fixed");
    done(&g);
}

Test(release, slots_release_free_ones_without_credit)
{
    struct rig g;

    rig_set(&g, "name: q\nmode: slots\nmax_active: 100\nrelease_per_s: 1");
    g.in.slots = 100;
    cr_expect_eq(step(&g, 100), 100); /* at once, also in the first tick */
    g.in.slots = 0;
    cr_expect_eq(step(&g, 60000), 0);
    cr_expect_str_eq(g.r.limited_by, "slots");
    g.in.slots = 3;
    g.in.waiting[0] = 2;
    cr_expect_eq(step(&g, 100), 2);
    g.def.state = DEF_PAUSED;
    cr_expect_eq(step(&g, 100), 0);
    cr_expect_str_eq(g.r.limited_by, "paused");
    done(&g);
}

Test(release, both_gives_the_smaller_of_rate_and_slots)
{
    struct rig g;

    rig_set(&g, "name: q\nmode: both\nmax_active: 100\nrelease_per_s: 100");
    g.in.slots = 1000;
    step(&g, 0);
    cr_expect_eq(step(&g, 100), 10);
    cr_expect_str_eq(g.r.limited_by, "fixed");
    g.in.slots = 4;
    cr_expect_eq(step(&g, 100), 4);
    cr_expect_str_eq(g.r.limited_by, "slots");
    g.in.slots = 0;
    for (int i = 0; i < 50; i++)
        cr_expect_eq(step(&g, 100), 0);
    g.in.slots = 1000;
    cr_expect_eq(step(&g, 100), 10); /* what the rate earned meanwhile is gone */
    done(&g);
}

Test(release, a_tier_rises_only_clearly_below_its_border)
{
    struct rig g;
    unsigned changes = 0;
    double last;

    rig_set(&g, CPU);
    cr_expect_eq(rate_at(&g, 10), 2000);
    cr_expect_str_eq(g.r.limited_by, "cpu");
    cr_expect_eq(rate_at(&g, 50), 500); /* worse: at once */
    cr_expect_eq(rate_at(&g, 46), 500); /* better: not yet */
    cr_expect_eq(rate_at(&g, 44), 2000);
    cr_expect_eq(rate_at(&g, 90), 0);
    cr_expect_eq(rate_at(&g, 66), 50); /* one tier up, not two: 66 is not 5 below 70 */
    cr_expect_eq(rate_at(&g, 30), 2000);
    last = rate_at(&g, 49);
    for (int i = 0; i < 1000; i++) { /* flapping about a border changes nothing */
        double now = rate_at(&g, i % 2 ? 49 : 51);

        changes += now != last;
        last = now;
    }
    cr_expect_eq(changes, 1);
    done(&g);
}

Test(release, flapping_between_0_and_100_gives_at_most_the_good_half)
{
    struct rig g;
    uint64_t sum = 0;

    rig_set(&g, CPU);
    rate_at(&g, 0);
    for (int i = 0; i < 1000; i++) {
        metric_set(&g.m[0], i % 2 ? 0 : 100, 100, g.in.now_ms + 100, g.in.now_ms + 100);
        sum += step(&g, 100);
    }
    cr_expect_leq(sum, 1000 * 200 / 2);
    done(&g);
}

Test(release, without_a_reading_the_fallback_applies_and_never_raises)
{
    struct rig g;

    rig_set(&g, CPU);
    step(&g, 100);
    cr_expect_eq(g.out.allowed_per_s, 10);
    cr_expect_str_eq(g.r.limited_by, "fallback");
    cr_expect(g.r.fallback);
    cr_expect_eq(rate_at(&g, 10), 2000);
    cr_expect(!g.r.fallback);
    cr_expect_eq(rate_at(&g, NAN), 10);
    cr_expect_eq(rate_at(&g, 1e308), 10);
    cr_expect_eq(rate_at(&g, 95), 0);
    cr_expect_eq(rate_at(&g, NAN), 0); /* it was 0 a moment ago */
    for (int i = 0; i < 16; i++)
        step(&g, 1000);
    cr_expect_eq(g.out.allowed_per_s, 10); /* but not for ever */
    g.mp[0] = NULL;
    step(&g, 100);
    cr_expect_eq(g.out.allowed_per_s, 10);
    done(&g);
}

Test(release, a_queue_without_limits_has_nothing_to_fall_back_from)
{
    struct rig g;

    rig_set(&g, "name: q\nfallback_per_s: 7\n");
    step(&g, 100);
    cr_expect_eq(g.out.allowed_per_s, 7);
    cr_expect_str_eq(g.r.limited_by, "no_limits");
    cr_expect_not(g.r.fallback);
    done(&g);
}

Test(release, smallest_limit_wins_and_pause_stops)
{
    struct rig g;

    rig_set(&g, "name: q\nlimits:\n - {metric: cpu, tiers: [{below: 50, rate_per_s: 100}]}\n"
                " - {metric: mem, tiers: [{below: 50, rate_per_s: 30}]}\n");
    metric_set(&g.m[0], 1, 100, 1000, 1000);
    metric_set(&g.m[1], 1, 100, 1000, 1000);
    step(&g, 100);
    cr_expect(g.out.allowed_per_s == 30 && strcmp(g.r.limited_by, "mem") == 0);
    metric_set(&g.m[0], 60, 100, 1100, 1100);
    step(&g, 100);
    cr_expect(g.out.allowed_per_s == 0 && strcmp(g.r.limited_by, "cpu") == 0);
    g.def.state = DEF_PAUSED;
    step(&g, 100);
    cr_expect_str_eq(g.r.limited_by, "paused");
    done(&g);
}

/* Whatever limits the queue otherwise; and back at once. */
Test(release, passthrough_lets_all_in_and_reject_nobody)
{
    struct rig g;

    rig_set(&g, "name: q\nmode: both\nmax_active: 5\nrelease_per_s: 1\nmax_rise_per_s: 1");
    g.in.waiting[0] = 1000000;
    g.in.slots = 0;
    step(&g, 0);
    g.def.state = DEF_PASSTHROUGH;
    step(&g, 100);
    cr_expect_eq(step(&g, 100), 10000);
    cr_expect_str_eq(g.r.limited_by, "passthrough");
    g.def.state = DEF_REJECT;
    cr_expect_eq(step(&g, 100), 0);
    cr_expect_str_eq(g.r.limited_by, "reject");
    g.def.state = DEF_PASSTHROUGH;
    step(&g, 100);
    g.def.state = DEF_OPEN;
    g.in.slots = 1000;
    cr_expect_leq(step(&g, 100), 1);
    done(&g);
}

Test(release, rises_slowly_falls_at_once)
{
    struct rig g;

    rig_set(&g, CPU "max_rise_per_s: 100\n");
    cr_expect_eq(rate_at(&g, 1), 0);
    for (int i = 1; i <= 10; i++) {
        double rate = rate_at(&g, 1);

        cr_expect_float_eq(rate, 10.0 * i, 1e-6);
    }
    cr_expect_str_eq(g.r.limited_by, "max_rise");
    cr_expect_eq(rate_at(&g, 84), 50);
    cr_expect_eq(rate_at(&g, 99), 0);
    done(&g);
}

Test(release, refund_is_bounded)
{
    struct rig g;

    rig_set(&g, "name: q\nrelease_per_s: 100");
    step(&g, 0);
    for (int i = 0; i < 50; i++) {
        uint64_t n = step(&g, 100);

        cr_expect_leq(n, 21);
        release_refund(&g.r, n, 10);
    }
    cr_expect_eq(g.r.granted, 0);
    cr_expect_leq(step(&g, 100), 21);
    cr_expect_eq(step(&g, 100), 10);
    done(&g);
}

/* Whatever readings come: granted in any window <= integral of what was allowed + a tick */
Test(release, never_more_than_the_tiers_allowed_in_any_window)
{
    struct rng rnd;

    rng_seed(&rnd, 11);
    for (int round = 0; round < 50; round++) {
        struct rig g;
        double allowed = 0, worst = 0, low = 0, given = 0;

        rig_set(&g, CPU);
        g.def.max_rise_per_s = round % 3 == 0 ? 300 : 0;
        for (int i = 0; i < 2000; i++) {
            msec_t dt = rng_chance(&rnd, 0.02) ? 3000 : 50 + (msec_t)rng_below(&rnd, 100);
            double before = g.out.allowed_per_s, x = rng_unit(&rnd) * 140 - 20;
            uint64_t n;

            if (rng_chance(&rnd, 0.3))
                metric_set(&g.m[0], rng_chance(&rnd, 0.1) ? NAN : x, 100,
                           g.in.now_ms + dt, g.in.now_ms + dt);
            g.in.waiting[0] = rng_chance(&rnd, 0.3) ? rng_below(&rnd, 30) : 1000000;
            n = step(&g, dt);
            cr_assert_leq(n, g.in.waiting[0]);
            allowed += before * (double)dt / 1000;
            given += (double)n;
            low = fmin(low, given - allowed); /* worst window ends here: max over starts */
            worst = fmax(worst, given - allowed - low);
            if (rng_chance(&rnd, 0.1)) {
                release_refund(&g.r, n, before * 0.1);
                given -= (double)n;
            }
        }
        cr_expect_leq(worst, 2000 * 0.15 + 2, "round %d: %g too many", round, worst);
        done(&g);
    }
}

#define LANES "name: q\nrelease_per_s: 100\nlanes: [{name: a}, {name: b}, {name: c}]\n"

Test(release, lanes_share_by_weight_within_one_ticket)
{
    struct rng rnd;

    rng_seed(&rnd, 3);
    for (int round = 0; round < 200; round++) {
        uint64_t got[3] = { 0 }, total = 0, out[LANES_MAX];
        struct rig g;
        int64_t sum = 0;

        rig_set(&g, LANES);
        g.in.n_lanes = 3;
        for (int i = 0; i < 3; i++) {
            g.weights[i] = 1 + (int64_t)rng_below(&rnd, 10);
            sum += g.weights[i];
            g.in.waiting[i] = 1000000;
        }
        for (int i = 0; i < 300; i++) {
            uint64_t n = rng_below(&rnd, 50);

            release_share(&g.r, &g.in, n, out);
            total += n;
            for (int k = 0; k < 3; k++) {
                double fair = (double)total * (double)g.weights[k] / (double)sum;

                got[k] += out[k];
                cr_assert(fabs((double)got[k] - fair) <= 1.0 + 1e-9, "lane %d has %lu of %g",
                          k, (unsigned long)got[k], fair);
            }
        }
        cr_assert_eq(got[0] + got[1] + got[2], total);
        done(&g);
    }
}

Test(release, lanes_share_unused_rate)
{
    uint64_t out[LANES_MAX];
    struct rig g;

    rig_set(&g, LANES);
    g.in.n_lanes = 3;
    g.weights[0] = 1000;
    g.weights[1] = g.weights[2] = 1;
    g.in.waiting[0] = 5;
    g.in.waiting[1] = 1000000;
    g.in.waiting[2] = 0;
    release_share(&g.r, &g.in, 1000, out);
    cr_expect(out[0] == 5 && out[1] == 995 && out[2] == 0);
    release_share(&g.r, &g.in, UINT64_MAX, out);
    cr_expect(out[0] == 5 && out[1] == 1000000 && out[2] == 0);
    g.def.sharing = SHARE_STRICT;
    g.in.waiting[2] = 9;
    release_share(&g.r, &g.in, 10, out);
    cr_expect(out[0] == 5 && out[1] == 5 && out[2] == 0);
    done(&g);
}

Test(release, what_a_split_tick_has_left_over_stays_for_its_rest)
{
    struct rig g;

    rig_set(&g, "name: q\nrelease_per_s: 1000\n");
    step(&g, 100);
    step(&g, 100);
    g.in.keep = 30;
    g.in.waiting[0] = 1;
    cr_expect_eq(step(&g, 50), 1);
    g.in.waiting[0] = 1000;
    cr_expect_eq(step(&g, 2), 33, "30, what 2 ms have earned, and the one that is always kept");
    g.in.waiting[0] = 1;
    cr_expect_eq(step(&g, 98), 1);
    g.in.waiting[0] = 1000;
    cr_expect_eq(step(&g, 100), 101, "after the tick only the one");
    done(&g);
}

/* ---- another list of limits -------------------------------------------------------- */

static const char *const metrics3[] = { "cpu", "memory", "line" };

/* A list of 0 to 3 metrics in any order, 1 to 4 tiers each. */
static void draw_limits(struct queue_def *d, struct rng *r)
{
    size_t first = rng_below(r, 3), n = rng_below(r, 4), len;
    char text[1000];

    len = (size_t)snprintf(text, sizeof(text), "name: q\nfallback_per_s: 10\nlimits:%s\n", n == 0 ? " []" : "");
    for (size_t i = 0; i < n; i++) {
        double below = 10, rate = 3000;

        len += (size_t)snprintf(text + len, sizeof(text) - len, " - metric: %s\n   tiers: [",
                                metrics3[(first + i) % 3]);
        for (size_t k = rng_below(r, 4) + 1; k > 0; k--) {
            below += (double)rng_below(r, 40);
            rate -= (double)rng_below(r, 700);
            len += (size_t)snprintf(text + len, sizeof(text) - len, "{below: %g, rate_per_s: %g}%s", below,
                                    rate, k > 1 ? ", " : "]\n");
            below++;
        }
    }
    def_set(d, text);
}

/* The readings that the list names, 100 ms later; now and then there is none. */
static void draw_readings(struct rig *g, struct rng *r)
{
    const struct def_limit *l = g->def.limits.v;
    double value[3];

    for (int i = 0; i < 3; i++)
        value[i] = rng_chance(r, 0.2) ? NAN : (double)rng_below(r, 150);
    for (size_t i = 0; i < g->def.limits.n; i++)
        for (int k = 0; k < 3; k++)
            if (strcmp(l[i].metric, metrics3[k]) == 0)
                metric_set(&g->m[i], value[k], 1000, g->in.now_ms + 100, g->in.now_ms + 100);
}

static void expect_as_a_fresh_start(struct rig *g, int seed, bool idle)
{
    struct release fresh = { .last_ms = g->r.last_ms };
    struct release_out out;

    if (idle) { /* nobody waits: readings are looked at without a tick */
        g->in.now_ms += 100;
        release_look(&g->r, &g->in);
        release_look(&fresh, &g->in);
        g->in.now_ms -= 100;
    }
    step(g, 100);
    release_tick(&fresh, &g->in, &out);
    cr_assert_eq(g->out.allowed_per_s, out.allowed_per_s, "seed %d: %g/s, but %g/s anew", seed,
                 g->out.allowed_per_s, out.allowed_per_s);
    cr_assert_str_eq(g->r.limited_by, fresh.limited_by, "seed %d", seed);
    cr_assert_eq(memcmp(g->r.tier, fresh.tier, sizeof(fresh.tier)), 0, "seed %d", seed);
    cr_assert_eq(memcmp(g->r.tier_known, fresh.tier_known, sizeof(fresh.tier_known)), 0, "seed %d", seed);
}

Test(release, after_a_change_of_limits_nothing_is_held_of_those_before)
{
    struct rig g;

    for (int seed = 1; seed <= 3000; seed++) {
        struct rng r;

        rng_seed(&r, (uint64_t)seed);
        rig_set(&g, CPU);
        for (int change = 0; change < 4; change++) {
            struct queue_def was = g.def;

            memset(&g.def, 0, sizeof(g.def));
            draw_limits(&g.def, &r);
            draw_readings(&g, &r);
            if (metric_limits_digest(&was.limits) != metric_limits_digest(&g.def.limits))
                expect_as_a_fresh_start(&g, seed, rng_chance(&r, 0.3));
            cfg_clear(&was, queue_def_keys);
            for (int n = (int)rng_below(&r, 5); n > 0; n--) {
                draw_readings(&g, &r);
                step(&g, 100);
            }
        }
        done(&g);
    }
}

Test(release, fewer_tiers_than_before_let_people_in)
{
    struct rig g;

    rig_set(&g, "name: q\nlimits:\n - metric: cpu\n   tiers: [{below: 50, rate_per_s: 3000}, "
                "{below: 70, rate_per_s: 2000}, {below: 101, rate_per_s: 1000}]\n");
    cr_expect_eq(rate_at(&g, 100), 1000);
    cfg_clear(&g.def, queue_def_keys);
    memset(&g.def, 0, sizeof(g.def));
    def_set(&g.def, "name: q\nlimits:\n - metric: cpu\n   tiers: [{below: 60, rate_per_s: 3000}, "
                    "{below: 101, rate_per_s: 800}]\n");
    cr_expect_eq(rate_at(&g, 100), 800);
    done(&g);
}

Test(release, a_limit_that_comes_into_the_place_of_a_removed_one_begins_anew)
{
    struct rig g;

    rig_set(&g, CPU " - metric: memory\n   tiers: [{below: 90, rate_per_s: 700}]\n");
    metric_set(&g.m[1], 10, 100, g.in.now_ms, g.in.now_ms);
    cr_expect_eq(rate_at(&g, 60), 500);
    cfg_clear(&g.def, queue_def_keys);
    memset(&g.def, 0, sizeof(g.def));
    def_set(&g.def, "name: q\nlimits:\n - metric: memory\n   tiers: [{below: 90, rate_per_s: 700}]\n");
    cr_expect_eq(rate_at(&g, 88), 700, "not held by what cpu was");
    done(&g);
}

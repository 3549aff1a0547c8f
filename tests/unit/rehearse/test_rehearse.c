/* Nights that are rehearsed: what arithmetic says, what the policy says, and that nobody is lost. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "rehearse/limits.h"
#include "rehearse/lineup.h"
#include "rehearse/page.h"
#include "rehearse/past.h"
#include "tests/unit/rehearse/nights.h"

Test(rehearse, same_seed_same_bytes)
{
    struct buf b[3];

    for (int i = 0; i < 3; i++) {
        struct played *x = night("release_per_s: 20", i < 2 ? "seed: 7\ncrowd: {arrivals: [{at: 0s, per_s: 50}, {at: 1m, per_s: 50}]}"
                                                            : "seed: 8\ncrowd: {arrivals: [{at: 0s, per_s: 50}, {at: 1m, per_s: 50}]}");

        buf_init(&b[i]);
        report_json(&b[i], x, 1);
        over(x);
    }
    cr_assert_eq(b[0].len, b[1].len);
    cr_assert_eq(memcmp(b[0].data, b[1].data, b[0].len), 0);
    cr_assert(b[2].len != b[0].len || memcmp(b[0].data, b[2].data, b[0].len) != 0, "another seed, the same night");
    for (int i = 0; i < 3; i++)
        buf_fini(&b[i]);
}

/* 10 000 come in 10 s, 50 a second go in: the last one waits 190 s, the median person 95. */
Test(rehearse, a_fixed_rate_has_the_waits_of_arithmetic)
{
    struct played *x = night("release_per_s: 50", CROWD STAY);

    cr_assert_eq(x->f.admitted, 10000);
    cr_assert_float_eq(x->f.all.most, 190, 4, "%f", x->f.all.most);
    cr_assert_float_eq(x->f.all.p50, 95, 3, "%f", x->f.all.p50);
    cr_assert(x->f.bin[0].off_p50 < 20, "the estimate was off by %f s", x->f.bin[0].off_p50);
    all_kept(x);
    over(x);
}

/* 100 slots, a stay of a minute: 100 a minute. */
Test(rehearse, slots_have_the_waits_of_arithmetic)
{
    struct played *x = night("mode: slots, max_active: 1000", CROWD STAY);

    cr_assert_eq(x->f.admitted, 10000);
    cr_assert_float_eq(x->f.all.most, 9 * 60 - 10, 25, "%f", x->f.all.most);
    for (uint32_t i = 0; i < x->f.n; i++)
        cr_assert_leq(x->f.s[i].inside, 1000);
    over(x);
}

static double rate_over(const struct played *x, uint32_t from_s, uint32_t end_s)
{
    double sum = 0;

    for (uint32_t i = from_s; i < end_s; i++)
        sum += x->f.s[i].released;
    return sum / (end_s - from_s);
}

/* Each person inside costs 0.01: below 40 there are 100 a second, above 10, and back only with hysteresis. */
Test(rehearse, a_tier_acts_when_it_does_in_the_policy)
{
    struct played *x = night("hysteresis: 10, no_show_boost: 1, limits: [{metric: cpu, tiers: [{below: 40, rate_per_s: 100}, "
                             "{below: 90, rate_per_s: 10}]}]",
                             CROWD "stay: {kind: fixed, mean: 19m}}\nbackend: {base: 10, per_person: 0.01, per_release: 0, sample: 1s}");
    uint32_t at = 0;

    while (at < x->f.n && x->f.s[at].backend < 40)
        at++;
    cr_assert_leq(x->f.s[at].inside, 3400);
    cr_assert_geq(x->f.s[at].inside, 3000);
    cr_assert_float_eq(rate_over(x, 5, at - 5), 100, 2, "%f", rate_over(x, 5, at - 5));
    cr_assert_float_eq(rate_over(x, at + 5, at + 65), 10, 0.5, "%f", rate_over(x, at + 5, at + 65));
    all_kept(x);
    over(x);
}

Test(rehearse, a_killed_node_delays_and_loses_nobody)
{
    static const char *const kills[] = { "events: []", "events: [{at: 30s, what: kill_node, no: 1, for: 4s}]",
                                         "events: [{at: 30s, what: kill_node, no: 1, for: 0}, {at: 40s, what: kill_router, no: 2}]" };
    double most[3];

    for (int i = 0; i < 3; i++) {
        char rest[600];
        struct played *x;

        snprintf(rest, sizeof(rest), CROWD STAY "\n%s", kills[i]);
        x = night("release_per_s: 50, segment_capacity: 3000", rest);
        cr_assert_eq(x->f.admitted, 10000, "night %d: %llu are in", i, (unsigned long long)x->f.admitted);
        cr_assert_eq(x->f.over_limit + x->f.grew + x->f.out_of_order, 0);
        cr_assert_eq(x->f.overtaken > 0, i == 2, "after 5 s the rest goes on");
        most[i] = x->f.all.most;
        over(x);
    }
    cr_assert_gt(most[1], most[0] + 2, "%f %f", most[0], most[1]);
    cr_assert_lt(most[1], most[0] + 8, "%f %f", most[0], most[1]);
}

/* A backend that people of its own rate bring down is said to be. */
Test(rehearse, a_crash_is_seen)
{
    struct played *x = night("release_per_s: 100", CROWD STAY "\nbackend: {base: 10, per_person: 0.05, restart: 1m}");
    struct verdict v[FIGURES_VERDICTS];
    unsigned bad = figures_judge(&x->f, &x->night, v);
    float most = 0;

    cr_assert_gt(x->f.crashes, 0);
    cr_assert_eq(bad, 1);
    for (uint32_t s = 0; s < x->f.n; s++)
        most = fmaxf(most, x->f.s[s].backend);
    cr_expect_gt(most, 95, "at most %f, and it went down", (double)most);
    over(x);
}

/* A router that is asked for more than its core has says so; and people come again. */
Test(rehearse, a_full_core_is_seen_and_loses_nobody)
{
    struct played *x = night("release_per_s: 500", CROWD STAY "\ncluster: {routers: 1, join_us: 3000}");

    cr_assert_gt(x->f.late, 0);
    cr_assert_gt(x->f.slowest_s, 0.9);
    cr_assert_eq(x->f.admitted, 10000);
    over(x);
}

/* Of several queues one is played; which one must be said. */
Test(rehearse, one_of_several_queues_is_played)
{
    static const char text[] = "queues: [{name: a}, {name: b, release_per_s: 50}]\ncrowd: {%sarrivals: [{at: 0s, per_s: 9}, "
                               "{at: 9s, per_s: 9}]}\n";
    static const char *const named[] = { "", "queue: c, ", "queue: b, " };

    for (int i = 0; i < 3; i++) {
        struct night n = { 0 };
        struct cfg_node *doc = NULL;
        struct err e = { 0 };
        char all[300];

        snprintf(all, sizeof(all), text, named[i]);
        cr_assert_eq(cfg_parse_yaml(&doc, all, strlen(all), "night.yaml", &e), 0, "%s", e.text);
        cr_assert_eq(cfg_bind(&n, sizeof(n), night_keys, doc, "night.yaml", &e), 0, "%s", e.text);
        cfg_node_free(doc);
        cr_assert_eq(night_check(&n, &e), i < 2 ? SQ_EINVAL : 0);
        cr_assert(i < 2 ? strncmp(e.text, "crowd.queue", 11) == 0 : night_queue(&n)->release_per_s == 50, "%s", e.text);
        cfg_clear(&n, night_keys);
    }
}

/* A backend that goes down each second throws out only who was inside by then: 300 times and more. */
Test(rehearse, many_crashes_count_who_is_inside)
{
    struct played *x = night("release_per_s: 50", "for: 30m\ncrowd: {arrivals: [{at: 0s, per_s: 20}, {at: 15m, per_s: 20}], "
                             "patience: {kind: none}, no_shows: 0, stay: {kind: uniform, mean: 5m}}\n"
                             "backend: {base: 10, per_person: 1, crash_above: 25, restart: 1s}");

    cr_assert_gt(x->f.crashes, 300);
    cr_assert_gt(x->f.more_marks, 0, "marks beyond the room for them are counted");
    cr_assert_leq(x->f.thrown_out, x->f.admitted);
    cr_assert_eq(x->f.s[x->f.n - 1].inside, 0, "%u inside when all have left", x->f.s[x->f.n - 1].inside);
    over(x);
}

/* 1000 come, 960 are in at the end: the 40 others count, so 95 % of all is 99 % of those. */
Test(rehearse, who_still_waits_counts_in_the_goal)
{
    struct played *x = night("release_per_s: 1", "for: 16m\ncrowd: {arrivals: [{at: 0s, per_s: 1000}, {at: 1s, per_s: 1000}], "
                             "patience: {kind: none}, no_shows: 0, " STAY);
    double all = (double)(x->f.admitted + x->f.waiting + x->f.ready);

    cr_assert_eq(all, 1000);
    cr_assert_gt(x->f.waiting, 30);
    cr_assert_float_eq(x->f.all.p95, 0.95 * (double)x->f.admitted, 5, "%f", x->f.all.p95);
    cr_assert_float_eq(x->f.goal[1], 0.95 * all, 5, "%f of all", x->f.goal[1]);
    cr_assert(isinf(x->f.goal[2]) && isinf(x->f.goal[3]));
    over(x);
}

/* Paused for a minute: nobody goes in meanwhile, and the last one waits a minute longer. */
Test(rehearse, a_pause_delays_by_its_length)
{
    struct played *x = night("release_per_s: 50", CROWD STAY "\nevents: [{at: 60s, what: state, state: paused}, "
                             "{at: 120s, what: state, state: open}]");

    cr_assert_eq(rate_over(x, 61, 119), 0);
    cr_assert_float_eq(x->f.all.most, 250, 5, "%f", x->f.all.most);
    all_kept(x);
    over(x);
}

/* Of the released a third does not come: more are let in, the judge knows by how much, and about the rate comes. */
Test(rehearse, no_shows_are_made_up_for_within_the_limit)
{
    struct played *x = night("release_per_s: 20, no_show_boost: 1.2, claim: 10s",
                             "crowd: {arrivals: [{at: 0s, per_s: 500}, {at: 20s, per_s: 500}], patience: {kind: none}, no_shows: 33, " STAY);

    cr_assert_float_eq(x->f.boost, 1.2, 1e-6, "%f", x->f.boost);
    cr_assert_float_eq(rate_over(x, 120, 300), 24, 0.5, "%f", rate_over(x, 120, 300));
    all_kept(x);
    over(x);
}

/* Mode both: neither more people than slots nor more a second than the rate. */
Test(rehearse, slots_and_rate_are_both_kept)
{
    struct played *x = night("mode: both, max_active: 300, release_per_s: 10", CROWD STAY
                             "\nevents: [{at: 120s, what: max_active, value: 600}]");

    cr_assert_float_eq(rate_over(x, 5, 28), 10, 0.5, "%f", rate_over(x, 5, 28));
    cr_assert_leq(x->f.s[100].inside, 300);
    cr_assert_float_eq(rate_over(x, 400, 1000), 10, 0.6, "600 slots, a minute each: %f", rate_over(x, 400, 1000));
    all_kept(x);
    over(x);
}

static int refusal(const char *rest)
{
    struct night n = { 0 };
    struct cfg_node *doc = NULL;
    struct err e = { 0 };
    int rc = cfg_parse_yaml(&doc, rest, strlen(rest), "night.yaml", &e);

    if (rc == 0)
        rc = cfg_bind(&n, sizeof(n), night_keys, doc, "night.yaml", &e);
    cfg_node_free(doc);
    if (rc == 0)
        rc = night_check(&n, &e);
    cfg_clear(&n, night_keys);
    return rc;
}

/* What cannot be or does nothing is refused, not played. */
Test(rehearse, what_makes_no_sense_is_refused)
{
#define NIGHT_ "queues: [{name: a, release_per_s: 5}]\ncrowd: {arrivals: [{at: 0s, per_s: 9}, {at: 9s, per_s: 9}]}\n"
    cr_assert_eq(refusal(NIGHT_), 0);
    cr_assert_neq(refusal("queues: [{name: a}]\ncrowd: {arrivals: [{at: 9s, per_s: 9}, {at: 0s, per_s: 9}]}\n"), 0);
    cr_assert_neq(refusal(NIGHT_ "events: [{at: 1s, what: max_active, value: 5}]\n"), 0, "mode rate has no slots");
    cr_assert_neq(refusal(NIGHT_ "events: [{at: 1s, what: rate, value: 1000001}]\n"), 0);
    cr_assert_eq(refusal(NIGHT_ "events: [{at: 1s, what: rate, value: 7}]\n"), 0);
}

/* The page says what happened, asks for nothing elsewhere, and takes a name as text. */
Test(rehearse, the_page_is_whole)
{
    struct played *x = night("release_per_s: 500", CROWD STAY "\nevents: [{at: 5s, what: kill_router, no: 1}]");
    struct buf b;

    snprintf(x->name, sizeof(x->name), "<script>&");
    buf_init(&b);
    page_html(&b, x, 1);
    buf_byte(&b, 0);
    cr_assert_not_null(strstr((char *)b.data, "router 1 is killed"));
    cr_assert_not_null(strstr((char *)b.data, "</html>"));
    cr_assert_null(strstr((char *)b.data, "<script"));
    cr_assert_null(strstr((char *)b.data, "nan"));
    cr_assert_null(strstr((char *)b.data, "href="));
    cr_assert_null(strstr((char *)b.data, "src="));
    buf_reset(&b);
    snprintf(x->name, sizeof(x->name), "a=\"\\");
    report_json(&b, x, 1);
    buf_byte(&b, 0);
    cr_assert_not_null(strstr((char *)b.data, "{\"variant\":\"a=\\\"\\\\\","), "%.60s", (char *)b.data);
    buf_fini(&b);
    over(x);
}

/* ---- a night that was ---- */

static int csv(struct cfg_list *out, const char *text, struct err *e)
{
    char copy[400];

    *out = (struct cfg_list){ 0 };
    snprintf(copy, sizeof(copy), "%s", text);
    return past_csv(out, copy, "n.csv", e);
}

/* Only the first line may be names: a second one would be people who are left out in silence. */
Test(past, one_line_may_be_names)
{
    struct cfg_list v = { 0 };
    struct err e = { 0 };

    cr_assert_eq(csv(&v, "time,count\n20.00h,600\n20:00,x\n20:00,1\n20:01,2\n", &e), SQ_EINVAL);
    cr_assert_eq(csv(&v, "time,count\nold,new\n20:00,1\n20:01,2\n", &e), SQ_EINVAL);
    cr_assert(strncmp(e.text, "n.csv:2: ", 9) == 0, "%s", e.text);
}

Test(lineup, says_that_there_are_too_many_segments)
{
    struct lineup l;
    uint32_t order;
    uint16_t seg;
    int rc = 0;

    lineup_init(&l, 1);
    for (uint32_t i = 0; i <= UINT16_MAX && rc == 0; i++)
        rc = lineup_join(&l, 0, &seg, &order);
    cr_assert_eq(rc, SQ_EFULL);
    cr_assert_eq(l.n, UINT16_MAX);
    lineup_fini(&l);
}

/* Three minutes of four are there; nobody came in the other one, and the sum is that of the lines. */
Test(past, lines_are_people_and_a_gap_is_nobody)
{
    static const char *const forms[] = { "time,count\n20:00,600\n20:01,1200\n20:03,300\n",
                                         "\xef\xbb\xbf\"time\";\"count\"\r\n\"20:00:00\";600\r\n20:01:00;1200\r\n\r\n20:03:00;300\r\n",
                                         "# of last year\n1000,600\n1060,1200\n1180,300",
                                         "2026-01-31T23:59:00Z,600\n2026-02-01T00:00:00Z,1200\n2026-02-01T02:02:00+02:00,300\n" };

    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        struct night n = { .for_ms = 3600000 };
        struct err e = { 0 };

        cr_assert_eq(csv(&n.crowd.arrivals, forms[i], &e), 0, "%zu: %s", i, e.text);
        cr_assert_eq(night_check(&n, &e), SQ_EINVAL, "there is no queue; sums are made before");
        cr_assert_eq(night_arrived(&n, 30000), 300, "form %zu", i);
        cr_assert_eq(night_arrived(&n, 60000), 600);
        cr_assert_eq(night_arrived(&n, 90000), 1200);
        cr_assert_eq(night_arrived(&n, 120000), 1800);
        cr_assert_eq(night_arrived(&n, 180000), 1800, "nobody came in the gap");
        cr_assert_eq(night_arrived(&n, 210000), 1950);
        cr_assert_eq(night_arrived(&n, 3600000), 2100);
        free(n.crowd.arrivals.v);
    }
}

Test(past, what_is_no_line_is_refused_with_file_and_line)
{
    static const char *const bad[][2] = {
        { "20:00,6\n20:00,1\n", "n.csv:2: not later" },
        { "t,n\n20:00,6\n19:59,1\n", "n.csv:3: not later" },
        { "20:00,6\n8 pm,3\n", "n.csv:2: \"8 pm\" is no time" },
        { "8 pm,3\n20:00,6\n", "n.csv:1: \"8 pm\" is no time" },
        { "20:00,6\n20:01,-3\n", "n.csv:2: \"-3\" is no count" },
        { "20:00,6\n20:01,nan\n", "n.csv:2: \"nan\" is no count" },
        { "20:00,6\n25:01,3\n", "n.csv:2: \"25:01\" is no time" },
        { "20:00,6\n", "two lines at least" },
        { "", "two lines at least" },
        { "20:00 4\n", "n.csv:1: time,count is expected" },
        { "0,4\n20:00,4\n", "n.csv:2: times must be seconds" },
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct cfg_list v;
        struct err e = { 0 };

        cr_assert_eq(csv(&v, bad[i][0], &e), SQ_EINVAL, "%zu", i);
        cr_assert_not_null(strstr(e.text, bad[i][1]), "%zu: %s", i, e.text);
    }
}

#define LINE(time, event, ticket, more) \
    "{\"time\":\"2026-11-21T20:0" time "Z\",\"event\":\"" event "\",\"ticket\":\"" ticket "\",\"queue\":\"q\"" more "}\n"

/* Each person's own fate, of lines in any order, of several nodes; others' are left out. */
Test(past, the_trail_says_who_came_and_what_became_of_them)
{
    static const char *const lines[] = {
        LINE("0:10.500", "joined", "7-1", ",\"client\":\"browser\""), LINE("0:10.000", "joined", "7-0", ""),
        LINE("1:10.000", "admitted", "7-0", ",\"state\":\"ready\""), LINE("5:10.000", "finished", "7-0", ",\"state\":\"admitted\""),
        LINE("2:10.500", "left", "7-1", ",\"state\":\"waiting\""), LINE("0:11.000", "joined", "8-0", ""),
        LINE("3:11.000", "expired", "8-0", ",\"state\":\"waiting\""), LINE("0:12.000", "joined", "8-1", ""),
        LINE("1:12.000", "no_show", "8-1", ",\"state\":\"ready\""), LINE("0:13.000", "joined", "8-2", ""),
        LINE("1:00.000", "no_show", "8-2", ",\"state\":\"ready\""), LINE("1:13.000", "admitted", "8-2", ",\"state\":\"grace\""),
        LINE("0:14.000", "joined", "8-3", ",\"lane\":\"vip\""), LINE("0:09.000", "left", "6-9", ",\"state\":\"waiting\""),
        "{\"time\":\"2026-11-21T20:00:01.000Z\",\"event\":\"joined\",\"ticket\":\"9-1\",\"queue\":\"q2\"}\n",
        "{\"time\":\"2026-11-21T20:00:01.000Z\",\"event\":\"gap\",\"n\":17}\n", "{\"ti", "\n",
        "{\"time\":\"2026-11-21T20:00:15.000Z\",\"event\":\"joined\",\"ticket\":\"9-2\",\"queue\":\"q\",\"cl\n",
    };
    static const struct night_past want[] = { { 0, 60000, 240000, PAST_IN, 0 }, { 500, 120000, UINT32_MAX, PAST_LEFT, 0 },
                                              { 1000, 180000, UINT32_MAX, PAST_SILENT, 0 },
                                              { 2000, UINT32_MAX, UINT32_MAX, PAST_NO_SHOW, 0 },
                                              { 3000, 60000, UINT32_MAX, PAST_IN, 0 },
                                              { 4000, UINT32_MAX, UINT32_MAX, PAST_WAITS, 1 } };
    struct def_lane lanes[] = { { (char[]){ "default" }, 1 }, { (char[]){ "vip" }, 1 } };
    struct queue_def d = { .name = (char[]){ "q" }, .lanes = { lanes, 2 } };
    struct past p = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        past_line(&p, lines[i], &d);
    cr_assert_eq(past_end(&p, 0, 600000), 0);
    cr_assert_eq(p.n_people, ARRAY_LEN(want));
    cr_assert_eq(p.before, 1);
    cr_assert_eq(p.missing, 17 + 2, "two lines are cut");
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        cr_assert_eq(memcmp(&p.people[i], &want[i], sizeof(want[i])), 0, "person %zu: %u %u %u %u", i, p.people[i].came_ms,
                     p.people[i].waited_ms, p.people[i].stay_ms, p.people[i].fate);
    past_fini(&p);
    d.name = (char[]){ "nobodys" };
    past_line(&p, lines[0], &d);
    cr_assert_eq(past_end(&p, 0, 600000), SQ_EUNKNOWN);
    past_fini(&p);
}

/* 3000 who came in 30 s and went in at 50 a second, but for those who left: the same again. */
Test(past, a_night_that_was_is_as_it_was)
{
    static struct night_past v[3000];
    struct played x = { 0 };
    struct cfg_node *doc = NULL;
    struct err e = { 0 };
    static const char text[] = "for: 5m\nqueues: [{name: q, direct_entry: false, release_per_s: 50}]\nbackend: {crash_above: 0}\n";
    unsigned in = 0;

    for (unsigned i = 0; i < 3000; i++) {
        v[i] = (struct night_past){ i * 10, in * 20 > i * 10 ? in * 20 - i * 10 : 1, 1000, PAST_IN, 0 };
        if (i % 10 == 9)
            v[i] = (struct night_past){ i * 10, 5000, UINT32_MAX, i % 20 == 9 ? PAST_LEFT : PAST_WAITS, 0 };
        in += v[i].fate != PAST_LEFT;
    }
    cr_assert_eq(cfg_parse_yaml(&doc, text, strlen(text), "night.yaml", &e), 0, "%s", e.text);
    cr_assert_eq(cfg_bind(&x.night, sizeof(x.night), night_keys, doc, "night.yaml", &e), 0, "%s", e.text);
    cfg_node_free(doc);
    cr_assert_eq(night_check(&x.night, &e), SQ_EINVAL, "nobody comes");
    x.night.past = v;
    x.night.n_past = 3000;
    cr_assert_eq(night_check(&x.night, &e), 0, "%s", e.text);
    cr_assert_eq(play_night(&x.f, &x.night, (struct play_watch){ 0 }), 0);
    cr_assert_eq(x.f.people, 3000);
    cr_assert_geq(x.f.gave_up, 120);
    cr_assert_eq(x.f.past_all.in, 2700);
    cr_assert_float_eq(x.f.past_all.p50, x.f.all.p50, 2, "%f, that night %f", x.f.all.p50, x.f.past_all.p50);
    all_kept(&x);
    figures_fini(&x.f);
    cfg_clear(&x.night, night_keys);
}

/* CPU of a process is that of its requests, and what it uses with nobody there, while it runs. */
Test(rehearse, a_process_that_idles_uses_what_it_is_said_to)
{
    struct played *x = night("release_per_s: 50", "crowd: {arrivals: [{at: 2m, per_s: 100}, {at: 3m, per_s: 100}], patience: {kind: none}, " STAY
                             "\ncluster: {router_idle_ms: 20, node_idle_ms: 10, poll_us: 0, join_us: 100, connect_us: 0}\n"
                             "events: [{at: 1m, what: kill_node, no: 2, for: 10s}]");
    const float *quiet = &x->f.cpu[10 * x->f.procs], *killed = &x->f.cpu[65 * x->f.procs], *busy = &x->f.cpu[130 * x->f.procs];

    cr_assert_float_eq(quiet[0], 0.020, 1e-6);
    cr_assert_float_eq(quiet[2], 0.010, 1e-6);
    cr_assert_float_eq(killed[2], 0.010, 1e-6);
    cr_assert_eq(killed[3], 0, "a dead one uses none");
    cr_assert_float_eq(busy[0] + busy[1], 0.040 + 100 * 100e-6, 0.002, "%f", busy[0] + busy[1]);
    over(x);
}

/* ---- lanes, second places, scripts ---- */

#define MANY "arrivals: [{at: 0s, per_s: 500}, {at: 20s, per_s: 500}], patience: {kind: none}, no_shows: 0, "

/* A fifth in a lane of the same weight: half of the releases until it is empty, then all are the others'. */
Test(rehearse, lanes_share_by_weight)
{
    struct played *x = night("release_per_s: 50, lanes: [{name: default, weight: 1}, {name: vip, weight: 1}]",
                             "crowd: {" MANY "lanes: [{lane: vip, percent: 20}], " STAY);

    cr_assert_eq(x->f.admitted, 10000);
    cr_assert_float_eq((double)x->f.lane[1].came, 2000, 100);
    cr_assert_float_eq(x->f.lane[1].most, 2000 / 25.0 - 20, 6, "%f", x->f.lane[1].most);
    cr_assert_float_eq(x->f.lane[0].most, 180, 4, "%f", x->f.lane[0].most);
    all_kept(x);
    over(x);
    x = night("release_per_s: 50, sharing: strict, lanes: [{name: vip}, {name: default}]",
              "crowd: {" MANY "lanes: [{lane: default, percent: 80}], " STAY);
    cr_assert_float_eq(x->f.lane[0].most, 2000 / 50.0 - 20, 22, "%f", x->f.lane[0].most);
    cr_assert_float_eq(x->f.lane[1].most, 180, 4, "%f", x->f.lane[1].most);
    all_kept(x);
    over(x);
}

/* Half hold two places: 15000 places for 10000 people; each is in once, the other place is a no-show. */
Test(rehearse, a_second_place_lets_nobody_in_twice)
{
    struct played *x = night("release_per_s: 50, no_show_boost: 1, claim: 10s", "crowd: {" MANY "second_places: 50, " STAY);

    cr_assert_eq(x->f.people, 10000);
    cr_assert_eq(x->f.joined, 15000);
    cr_assert_eq(x->f.admitted, 10000);
    cr_assert_eq(x->f.no_shows, 5000);
    cr_assert_eq(x->f.all.in, 10000);
    cr_assert_float_eq(x->f.all.most, 280, 4, "%f", x->f.all.most);
    all_kept(x);
    over(x);
}

/* 1000 tries a second of 20 addresses, 5 a second each at two routers: 200 get places. */
Test(rehearse, scripts_take_what_the_limit_of_addresses_lets_through)
{
    struct played *x = night("release_per_s: 100", "crowd: {" MANY "bots: {per_s: 1000, for: 10s, addresses: 20}, " STAY);

    cr_assert_eq(x->f.people, 10000);
    cr_assert_float_eq((double)x->f.bots, 2000, 2);
    cr_assert_float_eq((double)x->f.bots_refused, 8000, 2);
    cr_assert_eq(x->f.bots_in, x->f.bots);
    cr_assert_eq(x->f.all.in, 10000, "%u people are in", x->f.all.in);
    cr_assert_float_eq(x->f.all.most, 100, 4, "people wait for them, too: %f", x->f.all.most);
    all_kept(x);
    over(x);
}

/* ---- several people in a row ---- */

/* Of 72000: in rows of ten, and of a hundred, which are 720 alone. Sums and waits are about those of one by one. */
Test(rehearse, rows_of_several_people_have_the_waits_of_one_by_one)
{
    static const char rest[] = "crowd: {arrivals: [{at: 0s, per_s: 500}, {at: 2m, per_s: 700}], patience: {kind: exponential, mean: 10m}, "
                               "lanes: [{lane: vip, percent: 20}], stay: {kind: exponential, mean: 3m}}\n"
                               "backend: {base: 10, per_person: 0.003, per_release: 0}\nevents: [{at: 3m, what: kill_node, no: 1, for: 8s}]";
    static const int per_row[] = { 1, 10, 100 };
    static const double off[] = { 0, 0.03, 0.1 };
    struct played *x[3];

    for (int i = 0; i < 3; i++) {
        char all[1200];

        snprintf(all, sizeof(all), "%s\npeople_per_row: %d", rest, per_row[i]);
        x[i] = night("lanes: [{name: default, weight: 3}, {name: vip, weight: 2}], limits: [{metric: cpu, tiers: [{below: 60, rate_per_s: 200}, "
                     "{below: 90, rate_per_s: 20}]}]", all);
        all_kept(x[i]);
        cr_assert_float_eq((double)x[i]->f.people, (double)x[0]->f.people, per_row[i]);
        cr_assert_float_eq((double)x[i]->f.admitted / (double)x[0]->f.admitted, 1, off[i]);
        cr_assert_float_eq((double)x[i]->f.polls / (double)x[0]->f.polls, 1, off[i], "%d: %llu polls, %llu", i,
                           (unsigned long long)x[i]->f.polls, (unsigned long long)x[0]->f.polls);
        cr_assert_float_eq(x[i]->f.all.p50 / x[0]->f.all.p50, 1, off[i], "%d: %f %f", i, x[i]->f.all.p50, x[0]->f.all.p50);
        cr_assert_float_eq(x[i]->f.all.p95 / x[0]->f.all.p95, 1, off[i], "%d: %f %f", i, x[i]->f.all.p95, x[0]->f.all.p95);
        cr_assert_float_eq(x[i]->f.lane[1].p50 / x[0]->f.lane[1].p50, 1, 2 * off[i], "%d: %f %f", i, x[i]->f.lane[1].p50, x[0]->f.lane[1].p50);
    }
    for (int i = 0; i < 3; i++)
        over(x[i]);
}

/* ---- what breaks first ---- */

static const char *first_of(const struct played *x, unsigned *broke)
{
    struct limit v[LIMITS];

    *broke = limits_of(&x->f, &x->night, v);
    return v[0].what;
}

Test(limits, the_scarce_part_breaks_first)
{
    static const char *const nights[][2] = {
        { "cluster: {routers: 1, join_us: 3000}", "a router's core" },
        { "cluster: {node_join_us: 3000}", "a lane's tail" },
        { "cluster: {node_poll_us: 3000}", "a segment node's core" },
        { "cluster: {max_conns: 1000}", "a router's connections" },
        { "cluster: {max_tickets: 1000}", "a segment node's places" },
        { "backend: {base: 10, per_person: 0.05, restart: 1m}", "the backend" },
    };
    unsigned broke;
    struct played *x;

    for (size_t i = 0; i < ARRAY_LEN(nights); i++) {
        char rest[600];

        snprintf(rest, sizeof(rest), CROWD STAY "\n%s", nights[i][0]);
        x = night("release_per_s: 100", rest);
        cr_assert_str_eq(first_of(x, &broke), nights[i][1]);
        cr_assert_eq(broke, i == 1 ? 2 : 1, "%s: %u; a tail breaks its node, too", nights[i][1], broke);
        over(x);
    }
    x = night("release_per_s: 100", CROWD STAY);
    (void)first_of(x, &broke);
    cr_assert_eq(broke, 0);
    over(x);
}

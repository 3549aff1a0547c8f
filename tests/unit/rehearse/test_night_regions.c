/* Nights over several regions: ways cost what they are long, a region that is lost loses nobody. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tests/unit/rehearse/nights.h"

#define WORLD(eu, us)                                                                                        \
    "\ncluster: {routers: 4, segment_nodes: 4, ways: [{from: eu, to: us, way: 80ms}], "                       \
    "regions: [{region: eu, routers: 2, segment_nodes: 2, people: " eu "}, "                                  \
    "{region: us, routers: 2, segment_nodes: 2, people: " us "}]}\n"
#define SMALL "release_per_s: 50, segment_capacity: 1000"

static double join_ms(const struct played *x, unsigned region)
{
    return x->f.times[region].join_ms / (double)x->f.times[region].joins;
}

static double pass_ms(const struct played *x, unsigned region)
{
    return x->f.times[region].pass_ms / (double)x->f.times[region].passes;
}

/* A join takes the way to the tail and back, a pass that of the news, of the question and of the answer. */
Test(night_regions, ways_cost_what_they_are_long)
{
    struct played *x = night(SMALL, CROWD STAY WORLD("70", "30"));

    cr_assert_eq(x->f.admitted, 10000);
    cr_assert_float_eq(x->f.region[1].came, 3000, 100);
    cr_assert_lt(join_ms(x, 0), 10, "%f", join_ms(x, 0));
    cr_assert_float_eq(join_ms(x, 1), 160, 10, "%f", join_ms(x, 1));
    cr_assert_float_eq(pass_ms(x, 1) - pass_ms(x, 0), 240, 40, "%f, %f", pass_ms(x, 1), pass_ms(x, 0));
    cr_assert_float_eq(x->f.all.most, 190, 4, "%f", x->f.all.most);
    all_kept(x);
    over(x);
}

/* Back, it may take another time. */
Test(night_regions, a_way_back_of_its_own)
{
    struct played *x = night(SMALL, CROWD STAY
                             "\ncluster: {routers: 2, segment_nodes: 1, ways: [{from: eu, to: us, way: 80ms}, {from: us, to: eu, way: 200ms}], "
                             "regions: [{region: eu, routers: 1, segment_nodes: 1, people: 50}, {region: us, routers: 1, segment_nodes: 0, people: 50}]}");

    cr_assert_float_eq(join_ms(x, 1), 280, 10, "%f", join_ms(x, 1));
    all_kept(x);
    over(x);
}

/* Segments are opened where most people join, not where the manager is. */
Test(night_regions, tails_are_where_most_people_join)
{
    struct played *x = night(SMALL, CROWD STAY WORLD("10", "90"));

    cr_assert_lt(join_ms(x, 1), 40, "%f", join_ms(x, 1));
    cr_assert_gt(join_ms(x, 0), 120, "%f", join_ms(x, 0));
    all_kept(x);
    over(x);
}

static struct played *lost(const char *region, const char *span)
{
    char rest[1200];

    snprintf(rest, sizeof(rest), CROWD STAY WORLD("50", "50") "events: [{at: 30s, what: lose_region, region: %s, for: %s}]", region, span);
    return night(SMALL, rest);
}

Test(night_regions, a_region_that_is_away_delays_and_loses_nobody)
{
    static const char *const regions[] = { "eu", "us" };

    for (unsigned i = 0; i < 2; i++) {
        struct played *x = lost(regions[i], "1m");
        const float *away = &x->f.cpu[60 * x->f.procs];

        cr_assert_eq(x->f.admitted, 10000, "%s: %llu", regions[i], (unsigned long long)x->f.admitted);
        cr_assert_eq(away[2 * i], 0, "its routers serve nobody");
        cr_assert_gt(away[2 * (1 - i)], 0, "its people ask elsewhere");
        cr_assert_lt(x->f.all.most, 190 + 60 + 10, "%f", x->f.all.most);
        all_kept(x);
        over(x);
    }
}

/* After lost_after (30 s) its segments are elsewhere, and a manager elsewhere leads. */
Test(night_regions, a_region_that_is_gone_for_ever_loses_nobody)
{
    struct played *x = lost("eu", "0s");

    cr_assert_eq(x->f.admitted, 10000);
    cr_assert_lt(x->f.all.most, 190 + 30 + 10, "%f", x->f.all.most);
    cr_assert(strstr(x->f.mark[x->f.n_marks - 1].text, "a manager in us leads") != NULL, "%s", x->f.mark[x->f.n_marks - 1].text);
    all_kept(x);
    over(x);
}

/* The region that is back first leads then, and not the one that was to lead and is lost, too. */
Test(night_regions, all_regions_are_lost)
{
    struct played *x = night(SMALL, CROWD STAY WORLD("50", "50")
                             "events: [{at: 30s, what: lose_region, region: eu, for: 20s}, {at: 31s, what: lose_region, region: us, for: 3m}]");
    bool leads = false;

    cr_assert_eq(x->f.admitted, 10000);
    cr_assert_lt(x->f.all.most, 190 + 20 + 3 + 10, "%f", x->f.all.most);
    for (unsigned i = 0; i < x->f.n_marks; i++) {
        cr_assert(i == 0 || x->f.mark[i].ms >= x->f.mark[i - 1].ms, "%s", x->f.mark[i].text);
        cr_assert(strstr(x->f.mark[i].text, "in us leads") == NULL);
        leads |= strstr(x->f.mark[i].text, "in eu leads") != NULL && x->f.mark[i].ms > 50000;
    }
    cr_assert(leads);
    all_kept(x);
    over(x);
}

/* What would be behind the end of the night is not told. */
Test(night_regions, a_region_is_lost_in_the_last_second)
{
    struct played *x = night(SMALL, CROWD STAY WORLD("50", "50") "events: [{at: 1199s, what: lose_region, region: eu}]");

    cr_assert(strstr(x->f.mark[x->f.n_marks - 1].text, "region eu is lost") != NULL, "%s", x->f.mark[x->f.n_marks - 1].text);
    all_kept(x);
    over(x);
}

/* What is killed for good is not back with its region. */
Test(night_regions, a_dead_node_stays_dead)
{
    struct played *x = night(SMALL, CROWD STAY WORLD("50", "50")
                             "events: [{at: 20s, what: kill_node, no: 3, for: 0s}, {at: 30s, what: lose_region, region: us, for: 10s}]");

    for (unsigned i = 0; i < x->f.n_marks; i++)
        cr_assert(strstr(x->f.mark[i].text, "segment node 3 is back") == NULL);
    all_kept(x);
    over(x);
}

Test(night_regions, a_join_waits_for_the_disk)
{
    struct played *x = night("release_per_s: 50", CROWD STAY "\ncluster: {segment_nodes: 1, disk: 30ms}");

    cr_assert_float_eq(join_ms(x, 0), 30, 1, "%f", join_ms(x, 0));
    over(x);
    x = night("release_per_s: 50", CROWD STAY "\ncluster: {segment_nodes: 1}\nevents: [{at: 5s, what: slow_disk, no: 1, value: 400, for: 1s}]");
    cr_assert_eq(x->f.times[0].most_join_ms, 400);
    cr_assert_float_eq(join_ms(x, 0), 40, 5, "a tenth of them: %f", join_ms(x, 0));
    all_kept(x);
    over(x);
}

/* Who is on the way to a pass as the backend goes down is out, too, and not once more as it leaves. */
Test(night_regions, a_crash_amid_the_way_of_passes)
{
    struct played *x = night("mode: both, release_per_s: 50, max_active: 100000, segment_capacity: 1000",
                             "crowd: {arrivals: [{at: 0s, per_s: 100}, {at: 60s, per_s: 100}], patience: {kind: none}, no_shows: 0, "
                             STAY WORLD("50", "50") "backend: {base: 0, per_person: 1, per_release: 0, crash_above: 1000, restart: 30s}");

    cr_assert_gt(x->f.crashes, 1);
    for (uint32_t i = 0; i < x->f.n; i++)
        cr_assert_lt(x->f.s[i].backend, 1600, "second %u: %f", i, (double)x->f.s[i].backend);
    cr_assert_eq(x->f.s[x->f.n - 1].inside, 0);
    over(x);
}

/* A region that is alone has the figures of all. */
Test(night_regions, one_region)
{
    struct played *x = night(SMALL, CROWD STAY "\ncluster: {regions: [{region: eu, routers: 2, segment_nodes: 2, people: 100}]}");

    cr_assert_eq(x->f.region[0].in, 10000);
    cr_assert_eq(x->f.region[0].p95, x->f.all.p95);
    over(x);
}

static void refused(const char *rest, const char *expected)
{
    struct played x = { .name = "" };
    struct cfg_node *doc = NULL;
    struct err e = { 0 };
    char text[1600];

    snprintf(text, sizeof(text), "queues: [{name: q}]\n%s", rest);
    cr_assert_eq(cfg_parse_yaml(&doc, text, strlen(text), "night.yaml", &e), 0, "%s", e.text);
    cr_assert_eq(cfg_bind(&x.night, sizeof(x.night), night_keys, doc, "night.yaml", &e), 0, "%s", e.text);
    cfg_node_free(doc);
    cr_assert_eq(night_check(&x.night, &e), SQ_EINVAL, "%s", rest);
    cr_assert(strstr(e.text, expected) != NULL, "%s: %s", expected, e.text);
    cfg_clear(&x.night, night_keys);
}

#define EU    "{region: eu, routers: 1, segment_nodes: 1, people: 50}"
#define US    "{region: us, routers: 1, segment_nodes: 1, people: 50}"
#define NIGHT CROWD STAY "\ncluster: {regions: [" EU ", " US "], "

Test(night_regions, worlds_that_make_no_sense_are_refused)
{
    refused(NIGHT "routers: 3, ways: [{from: eu, to: us, way: 1ms}]}", "cluster.routers: 3, but cluster.regions have 2");
    refused(NIGHT "ways: []}", "cluster.ways: none between eu and us");
    refused(NIGHT "ways: [{from: eu, to: ap, way: 1ms}]}", "cluster.ways[0].to: there is no region \"ap\"");
    refused(NIGHT "ways: [{from: eu, to: eu, way: 1ms}]}", "leads to another region");
    refused(CROWD STAY "\ncluster: {regions: [" EU ", " EU "]}", "cluster.regions[1].region: \"eu\" is there already");
    refused(CROWD STAY "\ncluster: {regions: [" EU "], routers: 1, segment_nodes: 1}", "50 percent; 100");
    refused(CROWD STAY "\ncluster: {ways: [{from: eu, to: us, way: 1ms}]}", "of which there are none");
    refused(CROWD STAY "\nevents: [{at: 1s, what: lose_region, region: eu}]", "cluster.regions are 0; at least 2");
    refused(CROWD STAY "\ncluster: {regions: [{region: eu, routers: 1, segment_nodes: 1, people: 100}], routers: 1, segment_nodes: 1}"
            "\nevents: [{at: 1s, what: lose_region, region: eu}]", "cluster.regions are 1; at least 2");
    refused(NIGHT "ways: [{from: eu, to: us, way: 1ms}, {from: us, to: eu, way: 1ms}, {from: eu, to: us, way: 2ms}]}",
            "cluster.ways[2]: from eu to us is said already");
    refused(NIGHT "ways: [{from: eu, to: us, way: 1ms}]}\nevents: [{at: 1s, what: lose_region, region: u}]", "no region \"u\"");
    refused(CROWD STAY "\nevents: [{at: 1s, what: slow_disk, no: 3, value: 5}]", "there are 2 segment nodes");
    refused(CROWD STAY "\nevents: [{at: 1s, what: slow_disk}]", "1 to 10000 ms");
}

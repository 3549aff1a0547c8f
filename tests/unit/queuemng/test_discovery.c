/* test_discovery.c: which addresses of a name count, and when it is asked for again; names of targets at the
 * manager. */
#include "tests/lib/pooltest.h"

#include "common/base/text.h"
#include "queuemng/core/task_view.h"
#include "queuemng/policy/addresses.h"

static const struct discovery_rules rules = { 5000, 60000, 3 };

static struct name_part says(const char *list, uint32_t ttl_s) /* "": none; NULL: it failed */
{
    struct name_part p = { .how = list == NULL ? NAME_FAILED : list[0] == 0 ? NAME_NONE : NAME_FOUND, .ttl_s = ttl_s };

    copy_text(p.why, sizeof(p.why), list == NULL ? "no answer" : list[0] == 0 ? "no address" : "");
    while (list != NULL && *list != 0) {
        size_t n = strcspn(list, " ");

        snprintf(p.address[p.n++], DISCOVER_TEXT, "%.*s", (int)n, list);
        list += n + (list[n] != 0);
    }
    return p;
}

static char *text(const struct discovered *d)
{
    static char out[200];

    out[0] = 0;
    for (unsigned i = 0; i < d->n; i++)
        snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%s", i > 0 ? " " : "", d->address[i]);
    return out;
}

Test(discovery, what_is_known_follows_what_name_servers_say)
{
    static const struct {
        const char *v4, *v6, *known, *why;
        bool other;
        unsigned left_out;
    } v[] = {
        { "", "", "", "no address", false, 0 },
        { NULL, NULL, "", "no answer", false, 0 },
        { "10.0.0.2 10.0.0.1", "", "10.0.0.1 10.0.0.2", "", true, 0 },
        { "10.0.0.1 10.0.0.2 10.0.0.1", "", "10.0.0.1 10.0.0.2", "", false, 0 }, /* order, twice */
        { "10.0.0.2 10.0.0.3", "", "10.0.0.2 10.0.0.3", "", true, 0 },           /* one went, one came */
        { NULL, NULL, "10.0.0.2 10.0.0.3", "no answer", false, 0 },              /* silent */
        { "", "", "10.0.0.2 10.0.0.3", "no address", false, 0 },                 /* empty */
        { NULL, "", "10.0.0.2 10.0.0.3", "no answer", false, 0 },
        { "", NULL, "10.0.0.2 10.0.0.3", "no address", false, 0 },
        { "10.0.0.3", "fd00::1", "10.0.0.3 fd00::1", "", true, 0 },
        { "10.0.0.3", NULL, "10.0.0.3 fd00::1", "no answer", false, 0 }, /* of the other version nothing is heard */
        { NULL, "fd00::2", "10.0.0.3 fd00::2", "no answer", true, 0 },
        { "10.0.0.3", "", "10.0.0.3", "", true, 0 },
        { "10.0.0.0 10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4", "", "10.0.0.0 10.0.0.1 10.0.0.3", "", true, 2 }, /* known stay */
        { "10.0.0.4 10.0.0.3 10.0.0.2 10.0.0.1", "fd00::1", "10.0.0.1 10.0.0.2 10.0.0.3", "", true, 2 },
        { "10.0.0.9", NULL, "10.0.0.9", "", true, 0 },
    };
    struct discovered d = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        struct name_answer a = { says(v[i].v4, 10), says(v[i].v6, 20) };

        cr_expect_eq(discovered_hear(&d, &a, &rules, 1000), v[i].other, "row %zu", i);
        cr_expect_str_eq(text(&d), v[i].known, "row %zu: %s", i, text(&d));
        cr_expect_str_eq(d.why, v[i].why, "row %zu: %s", i, d.why);
        cr_expect_eq(d.left_out, v[i].left_out, "row %zu", i);
    }
}

Test(discovery, all_that_two_full_answers_have_is_bounded)
{
    struct discovery_rules r = { 1000, 1000, DISCOVER_MOST };
    struct name_answer a = { .v4.how = NAME_FOUND, .v6.how = NAME_FOUND };
    struct discovered d = { 0 };

    for (; a.v4.n < DISCOVER_MOST; a.v4.n++, a.v6.n++) {
        snprintf(a.v4.address[a.v4.n], DISCOVER_TEXT, "10.0.0.%u", a.v4.n);
        snprintf(a.v6.address[a.v6.n], DISCOVER_TEXT, "fd00::%x", a.v6.n);
    }
    cr_expect(discovered_hear(&d, &a, &r, 0));
    cr_expect_eq(d.n, DISCOVER_MOST);
    cr_expect_eq(d.left_out, DISCOVER_MOST);
    r.addresses = 1;
    cr_expect(discovered_hear(&d, &a, &r, 0));
    cr_expect_str_eq(text(&d), "10.0.0.0");
}

Test(discovery, it_is_asked_for_again_by_the_least_ttl_within_bounds)
{
    static const struct {
        const char *v4, *v6;
        uint32_t ttl4, ttl6;
        msec_t after;
    } v[] = {
        { "10.0.0.1", "", 20, 7, 20000 },   { "10.0.0.1", "fd00::1", 20, 7, 7000 },
        { "10.0.0.1", "", 0, 0, 5000 },     { "10.0.0.1", "", UINT32_MAX, 0, 60000 },
        { NULL, NULL, 30, 30, 5000 },       { "", "", 30, 30, 5000 },
        { "10.0.0.1", NULL, 30, 30, 30000 }, /* it has none of that version, as far as is known */
    };

    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        struct name_answer a = { says(v[i].v4, v[i].ttl4), says(v[i].v6, v[i].ttl6) };
        struct discovered d = { 0 };

        (void)discovered_hear(&d, &a, &rules, 1000);
        cr_expect_eq(d.due, 1000 + v[i].after, "row %zu: %ld", i, (long)d.due);
    }
}

/* ---- at the manager -------------------------------------------------------------------------- */

#define N(more) "{\"name\": \"e\", \"targets\": [{\"url\": \"http://n.test:80/\", \"max_concurrent\": 2, \"discover\": " \
                "\"dns\"}" more "], \"discovery\": {\"min\": \"2s\"}}"

static unsigned asked;

static void ask(void *ctx, const char *endpoint, const char *url)
{
    (void)ctx;
    cr_expect_str_eq(endpoint, "e");
    cr_expect_str_eq(url, "http://n.test:80/");
    asked++;
}

static unsigned due(struct pr *r)
{
    asked = 0;
    mng_each_name_due(r->m, r->now, ask, NULL);
    return asked;
}

static void tell(struct pr *r, const char *v4)
{
    struct name_answer a = { says(v4, 10), says(v4 != NULL ? "" : NULL, 10) };

    mng_name_told(r->m, r->now, "e", "http://n.test:80/", &a, &r->out);
    pr_flush(r);
    pr_run(r, 1000);
}

static void add(void *ctx, const void *view)
{
    const struct mng_target_view *v = view;
    char *out = ctx;

    snprintf(out + strlen(out), 400 - strlen(out), "%s%s%s ", v->address[0] != 0 ? v->address : v->url,
             v->gone ? " gone" : "", v->max_concurrent == 2 ? " 2" : "");
}

static const char *targets(struct pr *r)
{
    static char out[400];

    out[0] = 0;
    mng_each_target(r->m, "e", add, out);
    return out;
}

static struct mng_name_view name;

static void see(void *ctx, const void *view)
{
    (void)ctx;
    name = *(const struct mng_name_view *)view;
}

static struct pr *begin(const char *json)
{
    struct pr *r = rig(1, "{\"match\": \"*\"}");
    struct err e = { 0 };

    cr_assert_eq(pr_endpoint(r, json, &e), 0, "%s", e.text);
    pr_run(r, 1000);
    return r;
}

Test(discovery, each_address_of_a_name_is_a_target)
{
    struct pr *r = begin(N(", {\"url\": \"http://x/\", \"max_concurrent\": 2}"));

    cr_expect_eq(due(r), 1);
    cr_expect_eq(due(r), 0, "it is being asked for");
    cr_expect_str_eq(targets(r), "http://x/ 2 ");
    tell(r, "10.0.0.2 10.0.0.1");
    cr_expect_str_eq(targets(r), "http://x/ 2 10.0.0.1 2 10.0.0.2 2 ");
    cr_expect_eq(due(r), 0);
    pr_run(r, 10000);
    cr_expect_eq(due(r), 1, "its TTL is over");
    tell(r, "10.0.0.2");
    cr_expect_str_eq(targets(r), "http://x/ 2 10.0.0.1 gone 10.0.0.2 2 ", "calls of it may be under way");
    tell(r, NULL);
    tell(r, "");
    mng_each_name(r->m, "e", see, NULL);
    cr_expect_eq(name.addresses, 1);
    cr_expect_str_eq(name.why, "no address");
    cr_expect_gt(name.heard_ms, 1000);
    cr_expect_leq(name.failing_ms, 10000, "just now");
    pr_run(r, 70000);
    tell(r, "");
    mng_each_name(r->m, "e", see, NULL);
    cr_expect_geq(name.failing_ms, 70000, "since the first of them");
    cr_expect_str_eq(targets(r), "http://x/ 2 10.0.0.1 gone 10.0.0.2 2 ");
    tell(r, "10.0.0.1 10.0.0.2");
    cr_expect_str_eq(targets(r), "http://x/ 2 10.0.0.1 2 10.0.0.2 2 ");
    mng_each_name(r->m, "e", see, NULL);
    cr_expect_eq(name.failing_ms, 0);
    done(r);
}

Test(discovery, the_next_manager_begins_with_what_was_known_and_asks_at_once)
{
    struct pr *r = begin(N(""));

    tell(r, "10.0.0.1 10.0.0.2");
    pr_manager_end(r);
    pr_manager_begin(r);
    pr_run(r, 3000);
    cr_expect_str_eq(targets(r), "10.0.0.1 2 10.0.0.2 2 ");
    cr_expect_eq(due(r), 1);
    tell(r, NULL);
    cr_expect_str_eq(targets(r), "10.0.0.1 2 10.0.0.2 2 ");
    tell(r, "10.0.0.3");
    cr_expect_str_eq(targets(r), "10.0.0.1 gone 10.0.0.2 gone 10.0.0.3 2 ");
    pr_manager_end(r);
    pr_manager_begin(r);
    pr_run(r, 3000);
    cr_expect_str_eq(targets(r), "10.0.0.1 gone 10.0.0.2 gone 10.0.0.3 2 ", "what has gone does not come back by that");
    done(r);
}

Test(discovery, a_definition_that_names_it_no_more_ends_it)
{
    struct pr *r = begin(N(""));
    struct err e = { 0 };

    tell(r, "10.0.0.1");
    cr_assert_eq(pr_endpoint(r, "{\"name\": \"e\", \"targets\": [{\"url\": \"http://n.test:80/\", \"max_concurrent\": 2}]}",
                             &e), 0, "%s", e.text);
    pr_run(r, 3000);
    cr_expect_str_eq(targets(r), "10.0.0.1 gone http://n.test:80/ 2 ");
    cr_expect_eq(due(r), 0);
    tell(r, "10.0.0.2"); /* to a question of before */
    cr_expect_str_eq(targets(r), "10.0.0.1 gone http://n.test:80/ 2 ");
    done(r);
}

Test(discovery, what_cannot_be_discovered_is_refused)
{
    static const struct {
        const char *json, *why;
    } v[] = {
        { "\"targets\": [{\"url\": \"http://10.0.0.1/\", \"discover\": \"dns\"}]", "needs a name in its url" },
        { "\"targets\": [{\"url\": \"http://[fd00::1]/\", \"discover\": \"dns\"}]", "needs a name in its url" },
        { "\"targets\": [{\"url\": \"http://n/\", \"discover\": \"dns\"}], \"proxy\": \"http://p:1\"", "it is the proxy" },
        { "\"targets\": [{\"url\": \"http://n/\", \"discover\": \"srv\"}]", "none, dns" },
        { "\"targets\": [{\"url\": \"http://n/\", \"discover\": \"dns\"}], \"discovery\": {\"addresses\": 33}", "32" },
        { "\"targets\": [{\"url\": \"http://n/\"}], \"discovery\": {\"min\": \"9s\", \"max\": \"8s\"}", "min is above max" },
        { "\"targets\": [{\"url\": \"http://n/\", \"discover\": \"dns\"}, {\"url\": \"http://m/\", \"discover\": \"dns\"}], "
          "\"discovery\": {\"addresses\": 32}", "lower discovery.addresses" },
    };
    struct pr *r = rig(1, "{\"match\": \"*\"}");

    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        struct err e = { 0 };
        char json[400];

        snprintf(json, sizeof(json), "{\"name\": \"e\", %s}", v[i].json);
        cr_expect_lt(pr_endpoint(r, json, &e), 0, "%s", json);
        cr_expect_not_null(strstr(e.text, v[i].why), "%s: %s", json, e.text);
    }
    done(r);
}

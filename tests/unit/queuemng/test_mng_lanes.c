/* test_mng_lanes.c: a queue gets lanes and becomes plain again; nobody loses a place by it.
 * The manager core and three node cores (mngrig.h). */
#include "tests/lib/mngrig.h"

#define QUEUE(lanes)                                                                     \
    "{\"name\": \"q\", \"release_per_s\": 20, \"segment_capacity\": 20, \"lanes\": " lanes \
    ", \"pass_ttl\": \"10s\", \"claim\": \"5s\", \"grace\": \"0\", "                       \
    "\"idle\": {\"game\": \"20m\", \"mobile\": \"20m\", \"browser\": \"20m\"}}"
#define TWO   QUEUE("[{\"name\": \"usual\"}, {\"name\": \"vip\", \"weight\": 3}]")
#define PLAIN QUEUE("[]")

static int put(struct mr *r, const char *json, struct err *e)
{
    struct cfg_node *doc = NULL;
    struct queue_def d = { 0 };
    int rc;

    cr_assert_eq(cfg_parse_json(&doc, json, strlen(json), e), 0);
    cr_assert_eq(cfg_bind(&d, sizeof(d), queue_def_keys, doc, "test", e), 0, "%s", e->text);
    rc = mng_define(r->m, DEF_QUEUE, r->now, &d, &r->out, e);
    mr_flush_mng(r);
    cfg_clear(&d, queue_def_keys);
    cfg_node_free(doc);
    return rc;
}

static void count(void *ctx, const void *view)
{
    (void)view;
    ++*(unsigned *)ctx;
}

static unsigned lanes(const struct mr *r)
{
    unsigned n = 0;

    mng_each_lane(r->m, 0, count, &n);
    return n;
}

Test(mng_lanes, a_lane_with_tickets_cannot_be_removed)
{
    struct mr *r = mr_new("lanes");
    struct err e = { 0 };

    r->crowd = true;
    cr_assert_eq(put(r, TWO, &e), 0);
    mr_order(r, MNG_PAUSE);
    mr_run(r, 500);
    mr_join(r, 5);
    r->lane = 1;
    mr_join(r, 7);
    mr_play(r, 1000);
    cr_expect_eq(put(r, PLAIN, &e), SQ_ECONFLICT);
    cr_expect_not_null(strstr(e.text, "lane vip"), "%s", e.text);
    cr_expect_not_null(strstr(e.text, "7 wait, 0 are inside"), "%s", e.text);
    cr_expect_eq(lanes(r), 2);
    mr_play(r, 1000);
    mr_free(r);
}

Test(mng_lanes, a_queue_becomes_plain_when_its_last_lane_is_gone)
{
    struct mr *r = mr_new("plain");
    struct err e = { 0 };
    struct route_tail tail;

    r->crowd = true;
    cr_assert_eq(put(r, TWO, &e), 0);
    mr_run(r, 500);
    mr_join(r, 400);
    r->lane = 1;
    mr_join(r, 7);
    mr_run(r, 4000);
    r->may_lose = true;
    mr_play(r, 500);
    cr_expect_eq(put(r, PLAIN, &e), SQ_ECONFLICT, "they are inside");
    mr_play(r, 12000);
    cr_assert_eq(put(r, PLAIN, &e), 0, "%s", e.text);
    mr_run(r, 500);
    cr_expect_eq(lanes(r), 1);
    cr_expect_str_eq(routes_queue(r->routes, "q", 1)->map.lanes[0].name, "default");
    cr_expect_eq(routes_tail(r->routes, mr_queue(r), 1, &tail), SQ_EUNKNOWN);
    mr_restart_manager(r);
    mr_run(r, 1000);
    cr_expect_eq(lanes(r), 1);
    r->lane = 0;
    mr_join(r, 3);
    mr_play(r, 1000);
    cr_assert_eq(put(r, QUEUE("[{\"name\": \"default\"}, {\"name\": \"new\"}]"), &e), 0);
    mr_run(r, 500);
    r->lane = 1;
    mr_join(r, 3);
    mr_play(r, 1000);
    mr_free(r);
}

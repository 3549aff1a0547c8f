/* test_routes.c: the router's chain map: whole maps, changes, chunks, look-ups. */
#include "router/flow/routes.h"

#include "common/base/err.h"

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct map_node nodes2[] = { { 1, "node-a", "10.0.0.1:7200" },
                                    { 2, "node-b", "10.0.0.2:7200" } };

static struct msg_map map_of(uint64_t from, uint64_t version, struct map_queue *q, uint32_t n)
{
    return (struct msg_map){ .epoch = 5,
                             .from_version = from,
                             .version = version,
                             .next_seg = 1000,
                             .n_nodes = 2,
                             .nodes = nodes2,
                             .n_queues = n,
                             .queues = q };
}

static struct map_seg login_segs[] = { { 11, 1, SEG_SEALED, 0 },
                                       { 12, 2, SEG_OPEN, 0 },
                                       { 13, 1, SEG_OPEN, 0 } };
static struct map_seg vip_segs[] = { { 20, 2, SEG_OPEN, 0 } };
static struct map_alias login_aliases[] = { { 9, 11, 0 }, { 10, 11, 0 } };
static struct map_lane login_lanes[] = {
    { .name = "default", .n_segs = 3, .segs = login_segs, .n_aliases = 2,
      .aliases = login_aliases },
    { .name = "vip", .n_segs = 1, .segs = vip_segs },
};
static struct map_queue login = { .id = 7, .name = "login-eu", .state = QUEUE_OPEN,
                                  .n_lanes = 2, .lanes = login_lanes };

static struct routes *with_login(void)
{
    struct routes *r = routes_new();
    struct msg_map m = map_of(0, 1, &login, 1);

    cr_assert_not_null(r);
    cr_assert_eq(routes_apply(r, &m), 0);
    return r;
}

static const struct route_queue *by_name(struct routes *r, const char *name)
{
    return routes_queue(r, name, strlen(name));
}

Test(routes, nothing_is_known_before_the_first_map)
{
    struct routes *r = routes_new();
    struct route_owner o;
    struct route_tail t;

    cr_expect_eq(routes_version(r), 0);
    cr_expect_null(by_name(r, "login-eu"));
    cr_expect_eq(routes_owner(r, 11, &o), SQ_ESTALE);
    cr_expect_eq(routes_tail(r, 7, 0, &t), SQ_EUNKNOWN);
    routes_free(r);
    routes_free(NULL);
}

Test(routes, finds_queues_tails_and_owners)
{
    struct routes *r = with_login();
    const struct route_queue *q = by_name(r, "login-eu");
    struct route_owner o;
    struct route_tail t;

    cr_assert_not_null(q);
    cr_expect_eq(q->map.id, 7);
    cr_expect_eq(q->map.n_lanes, 2);
    cr_expect_str_eq(q->map.lanes[1].name, "vip");
    cr_expect_null(by_name(r, "login"));
    cr_expect_null(by_name(r, "login-eu2"));
    cr_expect_eq(routes_tail(r, 7, 0, &t), 0);
    cr_expect(t.seg == 12 && t.node == 2, "the first open one, not the last");
    cr_expect_eq(routes_tail(r, 7, 2, &t), SQ_EUNKNOWN);
    cr_expect_eq(routes_owner(r, 11, &o), 0);
    cr_expect(o.seg == 11 && o.node == 1 && o.queue == q && o.lane == 0 && !o.lost);
    cr_expect_eq(routes_owner(r, 9, &o), 0);
    cr_expect_eq(o.seg, 11, "by its alias");
    cr_expect_eq(routes_owner(r, 20, &o), 0);
    cr_expect_eq(o.lane, 1);
    cr_expect_eq(routes_owner(r, 8, &o), SQ_EGONE);
    cr_expect_eq(routes_owner(r, 1000, &o), SQ_ESTALE);
    routes_free(r);
}

Test(routes, a_sealed_answer_is_remembered_across_maps)
{
    struct routes *r = with_login();
    struct route_tail t;
    struct msg_map again = map_of(1, 2, &login, 1), whole = map_of(0, 3, &login, 1);

    routes_sealed(r, 12);
    cr_expect_eq(routes_tail(r, 7, 0, &t), 0);
    cr_expect_eq(t.seg, 13);
    cr_expect_eq(routes_apply(r, &again), 0); /* still calls 12 open */
    cr_expect_eq(routes_tail(r, 7, 0, &t), 0);
    cr_expect_eq(t.seg, 13);
    cr_expect_eq(routes_apply(r, &whole), 0);
    cr_expect_eq(routes_tail(r, 7, 0, &t), 0);
    cr_expect_eq(t.seg, 13);
    routes_sealed(r, 13);
    routes_sealed(r, 999);
    cr_expect_eq(routes_tail(r, 7, 0, &t), SQ_EFULL);
    routes_free(r);
}

Test(routes, a_change_replaces_only_its_queue)
{
    struct routes *r = with_login();
    struct map_seg s = { 30, 1, SEG_OPEN, 0 }, s2 = { 12, 2, SEG_LOST, 0 };
    struct map_lane l = { .name = "default", .n_segs = 1, .segs = &s };
    struct map_queue q = { .id = 8, .name = "shop", .state = QUEUE_OPEN,
                           .n_lanes = 1, .lanes = &l };
    struct msg_map m = map_of(1, 2, &q, 1);
    struct route_owner o;

    cr_expect_eq(routes_apply(r, &m), 0);
    cr_expect_not_null(by_name(r, "login-eu"));
    cr_expect_not_null(by_name(r, "shop"));
    l.segs = &s2; /* login shrinks to one lost segment */
    q = (struct map_queue){ .id = 7, .name = "login-eu", .state = QUEUE_CLOSED,
                            .n_lanes = 1, .lanes = &l };
    m = map_of(2, 3, &q, 1);
    cr_expect_eq(routes_apply(r, &m), 0);
    cr_expect_eq(by_name(r, "login-eu")->map.state, QUEUE_CLOSED);
    cr_expect_eq(routes_owner(r, 12, &o), 0);
    cr_expect(o.lost);
    cr_expect_eq(routes_owner(r, 11, &o), SQ_EGONE);
    cr_expect_eq(routes_owner(r, 9, &o), SQ_EGONE, "its alias went with it");
    cr_expect_eq(routes_owner(r, 30, &o), 0);
    routes_free(r);
}

Test(routes, removed_queues_are_gone)
{
    struct routes *r = with_login();
    queue_id gone = 7;
    struct msg_map m = map_of(1, 2, NULL, 0), whole = map_of(0, 9, &login, 1);
    struct route_owner o;

    m.removed = &gone;
    m.n_removed = 1;
    cr_expect_eq(routes_apply(r, &m), 0);
    cr_expect_null(by_name(r, "login-eu"));
    cr_expect_eq(routes_owner(r, 11, &o), SQ_EGONE);
    cr_expect_eq(routes_apply(r, &whole), 0);
    cr_expect_not_null(by_name(r, "login-eu"));
    whole = map_of(0, 10, NULL, 0); /* a whole map without it */
    cr_expect_eq(routes_apply(r, &whole), 0);
    cr_expect_null(by_name(r, "login-eu"));
    routes_free(r);
}

Test(routes, a_map_with_a_gap_is_stale)
{
    struct routes *r = with_login();
    struct msg_map gap = map_of(4, 5, NULL, 0), old = map_of(1, 2, NULL, 0);
    struct msg_map whole = map_of(0, 1, &login, 1);

    cr_expect_eq(routes_apply(r, &gap), SQ_ESTALE);
    old.epoch = 4;
    cr_expect_eq(routes_apply(r, &old), SQ_ESTALE, "a former manager");
    old.epoch = 6;
    cr_expect_eq(routes_apply(r, &old), SQ_ESTALE, "a new one begins with a whole map");
    cr_expect_eq(routes_version(r), 1);
    whole.epoch = 6;
    cr_expect_eq(routes_apply(r, &whole), 0);
    cr_expect_eq(routes_epoch(r), 6);
    routes_free(r);
}

Test(routes, a_map_of_another_store_is_refused_until_ours_is_disowned)
{
    struct routes *r = routes_new();
    struct msg_map m = map_of(0, 1, &login, 1);
    struct msg_map other = map_of(0, 9, NULL, 0);

    m.store = 77;
    other.store = 78;
    other.epoch = 6;
    cr_assert_eq(routes_apply(r, &m), 0);
    cr_expect_eq(routes_store(r), 77);
    cr_expect_eq(routes_apply(r, &other), SQ_ESTALE, "whatever its epoch");
    cr_expect_not_null(by_name(r, "login-eu"));
    other.epoch = m.epoch;
    other.from_version = 1;
    cr_expect_eq(routes_apply(r, &other), SQ_ESTALE, "a change of it neither");
    routes_disown(r);
    cr_expect_not_null(by_name(r, "login-eu"), "it serves until another comes");
    other.epoch = 2;
    other.from_version = 0;
    cr_expect_eq(routes_apply(r, &other), 0, "a lower epoch of others does not matter");
    cr_expect_null(by_name(r, "login-eu"));
    cr_expect_eq(routes_store(r), 78);
    routes_free(r);
}

Test(routes, chunks_become_valid_together)
{
    struct routes *r = with_login();
    struct map_seg s = { 30, 1, SEG_OPEN, 0 };
    struct map_lane l = { .name = "default", .n_segs = 1, .segs = &s };
    struct map_queue a = { .id = 8, .name = "shop", .state = QUEUE_OPEN,
                           .n_lanes = 1, .lanes = &l },
                     b = { .id = 9, .name = "bank", .state = QUEUE_OPEN };
    struct msg_map m1 = map_of(1, 2, &a, 1), m2 = map_of(1, 2, &b, 1);

    m1.more = true;
    cr_expect_eq(routes_apply(r, &m1), 0);
    cr_expect_eq(routes_version(r), 1);
    cr_expect_null(by_name(r, "shop"));
    cr_expect_eq(routes_apply(r, &m2), 0);
    cr_expect_eq(routes_version(r), 2);
    cr_expect_not_null(by_name(r, "shop"));
    cr_expect_not_null(by_name(r, "bank"));
    routes_free(r);
}

Test(routes, a_broken_off_map_leaves_nothing_behind)
{
    struct routes *r = with_login();
    struct map_queue a = { .id = 8, .name = "shop", .state = QUEUE_OPEN };
    struct msg_map m1 = map_of(1, 2, &a, 1), m2 = map_of(0, 3, &login, 1);

    m1.more = true;
    cr_expect_eq(routes_apply(r, &m1), 0);
    cr_expect_eq(routes_apply(r, &m2), 0); /* after a reconnect: everything again */
    cr_expect_null(by_name(r, "shop"));
    cr_expect_eq(routes_version(r), 3);
    routes_free(r);
}

Test(routes, a_node_has_the_address_of_the_newest_map)
{
    struct routes *r = with_login();
    const struct route_node *v;
    struct map_node moved[] = { { 1, "node-a", "10.0.0.1:7200" },
                                { 2, "node-b", "10.0.0.9:7200" } };
    struct msg_map m = map_of(1, 2, NULL, 0);

    m.nodes = moved;
    cr_expect_eq(routes_apply(r, &m), 0);
    cr_assert_eq(routes_nodes(r, &v), 2);
    cr_expect_str_eq(v[0].addr, "10.0.0.1:7200");
    cr_expect_str_eq(v[1].addr, "10.0.0.9:7200");
    routes_free(r);
}

Test(routes, keys_and_stats_are_copied_and_kept)
{
    struct routes *r = with_login();
    uint8_t key[1][32] = { { 1, 2, 3 } };
    const uint8_t(*k)[32];
    char why[] = "cpu";
    struct queue_stats qs[] = { { .id = 7, .ready = 3, .rate_milli_per_s = 5000,
                                  .limited_by = why, .n_lanes = 2, .lane = { { 44, 5 } } },
                                { .id = 70, .limited_by = "" } };
    struct msg_stats s = { .n = 2, .queues = qs };
    struct msg_map m = map_of(1, 2, &login, 1);

    m.n_keys = 1;
    m.keys = (const uint8_t(*)[32])key;
    routes_stats(r, &s);
    memset(why, 'x', 3);
    cr_expect_eq(routes_apply(r, &m), 0);
    memset(key, 0, sizeof(key));
    cr_assert_eq(routes_keys(r, &k), 1);
    cr_expect_eq(k[0][2], 3);
    cr_expect_str_eq(by_name(r, "login-eu")->stats.limited_by, "cpu");
    cr_expect_eq(by_name(r, "login-eu")->stats.lane[0].waiting, 44);
    routes_free(r);
}

Test(routes, alias_loops_end)
{
    struct map_alias loop[] = { { 1, 2, 0 }, { 2, 1, 0 } };
    struct map_lane l = { .name = "default", .n_aliases = 2, .aliases = loop };
    struct map_queue q = { .id = 3, .name = "odd", .state = QUEUE_OPEN,
                           .n_lanes = 1, .lanes = &l };
    struct msg_map m = map_of(0, 1, &q, 1);
    struct routes *r = routes_new();
    struct route_owner o;

    cr_expect_eq(routes_apply(r, &m), 0);
    cr_expect_eq(routes_owner(r, 1, &o), SQ_EGONE);
    routes_free(r);
}

#define MANY 10000

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* A queue's segments are 10 * id + 1 (sealed) and + 2 (open). */
static struct map_queue *many_queues(void)
{
    struct map_queue *q = calloc(MANY, sizeof(*q));

    for (uint32_t i = 0; i < MANY; i++) {
        struct map_seg *s = calloc(2, sizeof(*s));
        struct map_lane *l = calloc(1, sizeof(*l));
        char *name = malloc(24);

        snprintf(name, 24, "queue-%u", i + 1);
        s[0] = (struct map_seg){ 10 * (i + 1) + 1, 1, SEG_SEALED, 0 };
        s[1] = (struct map_seg){ 10 * (i + 1) + 2, 2, SEG_OPEN, 0 };
        *l = (struct map_lane){ .name = "default", .n_segs = 2, .segs = s };
        q[i] = (struct map_queue){ .id = i + 1, .name = name, .state = QUEUE_OPEN,
                                   .n_lanes = 1, .lanes = l };
    }
    return q;
}

Test(routes, ten_thousand_queues_and_a_change_costs_one)
{
    struct map_queue *q = many_queues();
    struct routes *r = routes_new();
    struct msg_map m = map_of(0, 1, q, MANY);
    double t0, whole_us, one_us;

    m.next_seg = 10 * (MANY + 2);
    t0 = now_us();
    cr_assert_eq(routes_apply(r, &m), 0);
    whole_us = now_us() - t0;
    for (uint32_t i = 0; i < MANY; i++) {
        const struct route_queue *f = by_name(r, q[i].name);
        struct route_tail t;
        struct route_owner o;

        cr_assert(f != NULL && f->map.id == i + 1);
        cr_assert(routes_tail(r, f->map.id, 0, &t) == 0 && t.seg == 10 * (i + 1) + 2);
        cr_assert(routes_owner(r, 10 * (i + 1) + 1, &o) == 0 && o.queue == f);
    }
    t0 = now_us();
    for (uint64_t v = 1; v <= 1000; v++) {
        m = map_of(v, v + 1, &q[v * 7 % MANY], 1);
        cr_assert_eq(routes_apply(r, &m), 0);
    }
    one_us = (now_us() - t0) / 1000;
    cr_expect_lt(one_us * 50, whole_us, "one %.1f us, all %.1f us", one_us, whole_us);
    routes_free(r);
    for (uint32_t i = 0; i < MANY; i++) {
        free(q[i].lanes->segs);
        free(q[i].lanes);
        free((char *)(uintptr_t)q[i].name);
    }
    free(q);
}

Test(routes, a_whole_map_of_an_older_epoch_is_refused_whatever_its_version)
{
    struct routes *r = with_login();
    struct msg_map m = map_of(0, 1000, &login, 1);

    m.epoch = 4;
    cr_expect_eq(routes_apply(r, &m), SQ_ESTALE);
    cr_expect_eq(routes_epoch(r), 5);
    cr_expect_eq(routes_version(r), 1);
    m.epoch = 6;
    m.version = 1;
    cr_expect_eq(routes_apply(r, &m), 0);
    cr_expect_eq(routes_epoch(r), 6);
    routes_free(r);
}

/* test_mng_rebuild.c: how long a lost segment waits for its people, and what clocks and
 * other faults do to it: the manager and three real nodes. */
#include "tests/lib/mngrig.h"

/* With so few polls a second whoever is far back is told to stay away for minutes. */
#define QUEUE(capacity, budget)                                                          \
    "{\"name\": \"q\", \"state\": \"open\", \"release_per_s\": 0.001, "                 \
    "\"segment_capacity\": " capacity ", \"merge\": false, "                             \
    "\"idle\": {\"game\": \"3s\", \"mobile\": \"3s\", \"browser\": \"3s\"}, "            \
    "\"poll_max\": \"4s\", \"poll_budget_per_s\": " budget ", \"pass_ttl\": \"5m\"}"

static struct mr *crowd(const char *queue, uint32_t n)
{
    struct mr *r = mr_new("rebuild");
    struct place_ans a;

    r->crowd = true;
    mr_put_queue(r, queue);
    mr_run(r, 500);
    for (int i = 0; i < 600; i++) {
        if (r->n_tickets < n) /* no rush, which would be told longer intervals */
            mr_join(r, 1);
        mr_run(r, 1000);
        for (uint32_t k = 0; k < r->n_tickets; k++)
            (void)mr_poll(r, &r->ticket[k], &a);
    }
    return r;
}

/* Who of first .. end - 1 is told to stay away longest, and for how long. */
static uint32_t told_longest(struct mr *r, uint32_t first, uint32_t end, msec_t *told)
{
    uint32_t who = first;

    *told = 0;
    for (uint32_t k = first; k < end; k++) {
        struct place_ans a;

        cr_assert(mr_poll(r, &r->ticket[k], &a));
        cr_assert_eq(a.state, PLACE_WAITING);
        if (a.poll_after_ms <= *told)
            continue;
        *told = a.poll_after_ms;
        who = k;
    }
    return who;
}

static void expect_waiting(struct mr *r, uint32_t who)
{
    struct place_ans a;

    cr_assert(mr_poll(r, &r->ticket[who], &a));
    cr_assert_eq(a.state, PLACE_WAITING, "ticket %u is in state %u, reason %u", who, a.state,
                 a.reason);
}

/* What a manager let people be told does not go with it. */
Test(mng_rebuild, a_polling_ticket_keeps_its_place_across_managers)
{
    struct mr *r = crowd(QUEUE("200", "3"), 200);
    msec_t told;
    uint32_t who = told_longest(r, 100, 200, &told);

    cr_assert_gt(told, 40000, "%ld ms", told);
    mr_restart_manager(r);
    for (int i = 0; i < MR_NODES; i++)
        mr_lose(r, i);
    mr_run(r, told + 1000);
    expect_waiting(r, who);
    mr_free(r);
}

/* ... also if it is restarted again and again, or the crowd has become small meanwhile. */
Test(mng_rebuild, a_place_outlives_two_restarts_and_a_shrunken_crowd)
{
    struct mr *r = crowd(QUEUE("200", "3"), 200);
    msec_t told;
    uint32_t who = told_longest(r, 100, 200, &told);

    for (uint32_t k = 0; k < 200; k++)
        if (k != who)
            mr_leave(r, k);
    mr_run(r, 2000);
    mr_restart_manager(r);
    mr_run(r, 2000);
    mr_restart_manager(r);
    for (int i = 0; i < MR_NODES; i++)
        mr_lose(r, i);
    mr_run(r, told - 3000);
    expect_waiting(r, who);
    mr_free(r);
}

/* A node that the manager does not reach goes on telling what it was told last. */
Test(mng_rebuild, tickets_told_by_a_cut_off_node_keep_their_place)
{
    struct mr *r = crowd(QUEUE("40", "1"), 120);
    struct route_owner o;
    msec_t told;
    uint32_t who, n = 0;
    int no;

    cr_assert_eq(routes_owner(r->routes, r->ticket[119].seg, &o), 0);
    no = mr_node_no(r, o.node);
    mr_link_down(r, &r->link[no], 60000);
    for (uint32_t k = 0; k < 80; k++) {
        cr_assert_eq(routes_owner(r->routes, r->ticket[k].seg, &o), 0);
        if (mr_node_no(r, o.node) == no)
            continue;
        mr_leave(r, k);
        n++;
    }
    cr_assert_geq(n, 40);
    mr_run(r, 28000);
    who = told_longest(r, 80, 120, &told);
    cr_assert_gt(told, 150000);
    mr_run(r, 4000);
    cr_assert_eq(routes_owner(r->routes, r->ticket[who].seg, &o), 0);
    cr_assert_neq(mr_node_no(r, o.node), no, "it is lost by now");
    mr_run(r, told - 3000);
    expect_waiting(r, who);
    mr_free(r);
}

/* A clock that is a day ahead for a while makes nobody's pass over. */
Test(mng_rebuild, a_clock_jump_forgets_no_release)
{
    struct mr *r = mr_new("clock");

    r->crowd = true;
    mr_put_queue(r, "{\"name\": \"q\", \"state\": \"open\", \"release_per_s\": 20, "
                    "\"segment_capacity\": 40, \"pass_ttl\": \"10m\"}");
    mr_run(r, 500);
    mr_join(r, 60);
    mr_play(r, 2000);
    cr_assert(r->ticket[0].admitted);
    mr_order(r, MNG_PAUSE);
    r->wall += 86400000;
    mr_run(r, 30000); /* it is believed by then */
    r->wall -= 86400000;
    for (int i = 0; i < MR_NODES; i++)
        mr_lose(r, i);
    mr_play(r, 3000); /* says so if anybody is gone or has another pass */
    cr_assert(r->ticket[30].admitted);
    mr_free(r);
}

static void see_segs(void *ctx, const void *view)
{
    *(size_t *)ctx += ((const struct mng_lane_view *)view)->n_segs;
}

static size_t segments(struct mr *r)
{
    size_t n = 0;

    mng_each_lane(r->m, 0, see_segs, &n);
    return n;
}

/* Who joined before its time does not join now: no room is made for them, and nobody is told
 * the intervals of a rush. */
Test(mng_rebuild, a_new_manager_takes_no_crowd_for_a_rush)
{
    struct mr *r = crowd(QUEUE("20", "10"), 200);
    size_t before = segments(r);
    msec_t was, now;

    (void)told_longest(r, 100, 200, &was);
    mr_restart_manager(r);
    mr_run(r, 3000);
    cr_assert_leq(segments(r), before + 1, "%zu segments, %zu before", segments(r), before);
    (void)told_longest(r, 100, 200, &now);
    cr_assert_leq(now, was * 3 / 2, "%ld ms are told, %ld before", now, was);
    mr_free(r);
}

/* While no node has opened it yet, it is not gone: people are told to come again. */
Test(mng_rebuild, segments_without_room_stay_missing)
{
    struct mr *r = crowd(QUEUE("20", "100"), 30);
    struct place_ans a;

    for (int i = 0; i < MR_NODES; i++) {
        r->refuses[i] = true;
        mr_lose(r, i);
    }
    mr_run(r, 2000);
    for (uint32_t k = 0; k < 30; k++)
        cr_assert(!mr_poll(r, &r->ticket[k], &a), "ticket %u: state %u", k, a.state);
    for (int i = 0; i < MR_NODES; i++)
        r->refuses[i] = false;
    mr_run(r, 12000);
    for (uint32_t k = 0; k < 30; k++)
        expect_waiting(r, k);
    mr_free(r);
}

static void on_lane(void *ctx, const void *view)
{
    *(struct mng_lane_view *)ctx = *(const struct mng_lane_view *)view;
}

static void expect_missing(struct mr *r, uint64_t people, size_t away)
{
    struct mng_lane_view v = { 0 };

    mng_each_lane(r->m, 0, on_lane, &v);
    cr_expect_eq(v.missing, people, "%lu are missing", (unsigned long)v.missing);
    cr_expect_eq(v.n_away, away, "%zu segments are away", v.n_away);
}

/* An operator is not told that all is well while some have not come back. */
Test(mng_rebuild, absent_tickets_are_counted)
{
    struct mr *r = crowd(QUEUE("20", "100"), 30);
    struct place_ans a;

    expect_missing(r, 0, 0);
    for (int i = 0; i < MR_NODES; i++) {
        r->refuses[i] = true;
        mr_lose(r, i);
    }
    mr_run(r, 2000);
    expect_missing(r, 30, 2);
    for (int i = 0; i < MR_NODES; i++)
        r->refuses[i] = false;
    for (int i = 0; i < 60 && !mr_poll(r, &r->ticket[0], &a); i++)
        mr_run(r, 500);
    mr_run(r, 1500);
    expect_missing(r, 29, 2);
    for (uint32_t k = 1; k < 12; k++)
        cr_assert(mr_poll(r, &r->ticket[k], &a));
    mr_run(r, 1500);
    expect_missing(r, 18, 2);
    mr_run(r, 60000); /* the others do not come */
    expect_missing(r, 0, 0);
    mr_free(r);
}

/* With all of them there, one more was missing with each release. */
Test(mng_rebuild, who_came_back_and_went_in_is_not_missing)
{
    struct mr *r = crowd(QUEUE("20", "100"), 30);
    struct place_ans a;

    for (int i = 0; i < MR_NODES; i++)
        mr_lose(r, i);
    for (int i = 0; i < 60 && !mr_poll(r, &r->ticket[0], &a); i++)
        mr_run(r, 500);
    for (uint32_t k = 1; k < 12; k++)
        cr_assert(mr_poll(r, &r->ticket[k], &a));
    mr_run(r, 1500);
    expect_missing(r, 18, 2);
    for (uint32_t k = 0; k < 3; k++)
        mr_leave(r, k);
    mr_run(r, 1500);
    expect_missing(r, 18, 2);
    mr_free(r);
}

/* ---- what was merged ----------------------------------------------------------------- */

static void see_lane(void *ctx, const void *view)
{
    *(size_t *)ctx += ((const struct mng_lane_view *)view)->n_aliases;
}

static size_t aliases(struct mr *r)
{
    size_t n = 0;

    mng_each_lane(r->m, 0, see_lane, &n);
    return n;
}

static void expect_order(const struct mr *r)
{
    int64_t last = 0;

    for (uint32_t i = 0; i < r->n_tickets; i++) {
        const struct mr_ticket *k = &r->ticket[i];

        if (k->left)
            continue;
        cr_assert(k->admitted, "ticket %u never got in", i);
        cr_assert_geq(k->released_at_ms, last, "ticket %u was overtaken", i);
        last = k->released_at_ms;
    }
}

static void drain(struct mr *r, int node, bool on)
{
    struct err e = { 0 };

    cr_assert_eq(mng_drain(r->m, r->now, mr_name[node], on, &r->out, &e), 0, "%s", e.text);
    mr_flush_mng(r);
}

/* The head goes to another node, half released as it is. */
static void drain_head(struct mr *r)
{
    struct route_owner o;
    int no;

    cr_assert_eq(routes_owner(r->routes, r->ticket[19].seg, &o), 0);
    no = mr_node_no(r, o.node);
    drain(r, no, true);
    mr_play(r, 4000);
    drain(r, no, false);
    cr_assert_geq(aliases(r), 1);
}

/* Some released before segments are merged into one another, and some after; then all of it
 * is lost. Which restarts: bit 0 between the merges and those releases, bit 1 at the end;
 * bit 2: a drain before all of this. */
#define MERGING(ttl)                                                                     \
    "{\"name\": \"q\", \"state\": \"paused\", \"release_per_s\": 5, "                      \
    "\"segment_capacity\": 20, \"poll_max\": \"4s\", \"claim\": \"10s\", "                 \
    "\"grace\": \"1s\", \"pass_ttl\": \"" ttl "\", "                                       \
    "\"idle\": {\"game\": \"12s\", \"mobile\": \"12s\", \"browser\": \"12s\"}}"

static struct mr *merged(unsigned restarts, uint32_t inside, bool over)
{
    struct mr *r = mr_new("merged");

    r->crowd = true;
    r->may_lose = over; /* who polls after his pass is gone */
    mr_put_queue(r, over ? MERGING("10s") : MERGING("10m"));
    mr_run(r, 500);
    mr_join(r, 170);
    mr_order(r, MNG_RESUME);
    mr_play(r, 2000);
    mr_order(r, MNG_PAUSE);
    if (restarts & 4)
        drain_head(r);
    for (uint32_t i = 15; i < 165; i++)
        if (i % 4 != 1)
            mr_leave(r, i);
    mr_play(r, 9000);
    cr_assert_geq(aliases(r), 2);
    if (restarts & 1)
        mr_restart_manager(r);
    mr_order(r, MNG_RESUME);
    while (mr_admitted(r) < inside)
        mr_play(r, 500);
    mr_order(r, MNG_PAUSE);
    return r;
}

static void merged_and_lost(unsigned restarts, uint32_t inside)
{
    struct mr *r = merged(restarts, inside, false);

    if (restarts & 2)
        mr_restart_manager(r);
    for (int i = 0; i < MR_NODES; i++)
        mr_lose(r, i);
    mr_order(r, MNG_RESUME);
    mr_play(r, 60000);
    expect_order(r);
    mr_free(r);
}

Test(mng_rebuild, merged_tickets_return_in_order)
{
    for (uint32_t inside = 11; inside < 45; inside += 3)
        for (unsigned restarts = 0; restarts < 8; restarts++)
            merged_and_lost(restarts, inside);
}

/* The same, but their passes are over by then, and perhaps no record of them is left: how
 * far each segment was released is known all the same. */
static void merged_and_over(unsigned restarts, uint32_t inside)
{
    struct mr *r = merged(restarts, inside, true);
    struct place_ans a;

    for (int i = 0; i < (inside % 2 == 0 ? 4 : 20); i++) {
        mr_run(r, 5000);
        for (uint32_t k = 0; k < r->n_tickets; k++)
            if (!r->ticket[k].admitted && !r->ticket[k].left)
                (void)mr_poll(r, &r->ticket[k], &a);
    }
    if (restarts & 2)
        mr_restart_manager(r);
    for (int i = 0; i < MR_NODES; i++)
        mr_lose(r, i);
    mr_run(r, 3000);
    for (uint32_t k = 0; k < r->n_tickets; k++) {
        const struct mr_ticket *t = &r->ticket[k];

        if (t->left)
            continue;
        cr_assert(mr_poll(r, &r->ticket[k], &a), "ticket %u", k);
        cr_assert_eq(a.state, t->admitted ? PLACE_GONE : PLACE_WAITING,
                     "ticket %u, admitted %d, is in state %u", k, t->admitted, a.state);
    }
    mr_free(r);
}

Test(mng_rebuild, long_released_tickets_do_not_wait_again)
{
    for (uint32_t inside = 1; inside < 45; inside += 5)
        for (unsigned restarts = 0; restarts < 8; restarts++)
            merged_and_over(restarts, inside);
}

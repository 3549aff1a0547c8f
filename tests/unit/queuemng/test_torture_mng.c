/* test_torture_mng.c: the manager's core without memory, beside real nodes: two stories
 * (tails opened and filled, merged, a node drained, people released) in which the k-th
 * allocation of the core fails, for every k. A step that could not be noted down is cured
 * as queuemng/service does it: another core begins from what is stored. Everybody stays in
 * line, and everything comes to rest. */
#include "tests/lib/failing.h"
#include "tests/lib/mngrig.h"

#define QUEUE(state, rate)                                                               \
    "{\"name\": \"q\", \"state\": \"" state "\", \"release_per_s\": " rate ", "          \
    "\"segment_capacity\": 30, \"merge\": true, \"claim\": \"60s\", \"grace\": "         \
    "\"60s\", \"idle\": {\"game\": \"1h\", \"mobile\": \"1h\", \"browser\": \"1h\"}, "   \
    "\"pass_ttl\": \"10m\"}"

static void around(bool in)
{
    failing_pause(!in);
}

static void begin_anew(struct mr *r)
{
    mr_restart_manager(r);
    r->failed = false;
}

static void go(struct mr *r, msec_t ms)
{
    for (; ms > 0; ms -= 100) {
        mng_out_fini(&r->out); /* a step has no memory of the last one's */
        mng_out_init(&r->out);
        mr_run(r, 100);
        if (r->failed)
            begin_anew(r);
    }
}

/* Joins as far as there is room now; the rest later. */
static void join(struct mr *r, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct append_req q = { .client = CLIENT_GAME };
        struct append_ans a;
        struct route_tail t;

        if (routes_queue(r->routes, "q", 1) == NULL ||
            routes_tail(r->routes, mr_queue(r), 0, &t) < 0) {
            go(r, 200);
            continue;
        }
        q.seg = t.seg;
        segtab_append(r->t[mr_node_no(r, t.node)], (struct seg_now) { r->now, r->wall }, &q,
                      1, &a, &r->mem);
        if (a.state == APPEND_SEALED)
            routes_sealed(r->routes, t.seg);
        if (a.state == APPEND_OK)
            r->ticket[r->n_tickets++] =
                (struct mr_ticket) { .seg = a.seg, .number = a.number };
        if (i % 8 == 7)
            go(r, 100);
    }
}

static void put_queue(struct mr *r, const char *json)
{
    failing_pause(true); /* its text is parsed by the shell */
    mr_put_queue(r, json);
}

static void drain(struct mr *r, const char *node)
{
    struct err e = { 0 };
    int rc;

    around(true);
    rc = mng_drain(r->m, r->now, node, true, &r->out, &e);
    around(false);
    mr_flush_mng(r);
    go(r, 100);
    cr_assert(rc == 0 || rc == SQ_ENOMEM, MR_SAY ": %s", MR_AT(r), e.text);
}

static void story(struct mr *r)
{
    put_queue(r, QUEUE("paused", "2"));
    go(r, 500);
    join(r, 100);
    go(r, 1000);
    for (uint32_t i = 0; i < r->n_tickets; i++)
        if (i % 5 > 1 && i < 60)
            mr_leave(r, i);
    go(r, 6000);
    drain(r, "seg-b");
    go(r, 4000);
    mr_link_down(r, &r->link[0], 300);
    mr_link_down(r, &r->link[MR_LINKS - 1], 0);
    go(r, 1000);
}

static void count_move(void *ctx, const void *view)
{
    (void)view;
    ++*(unsigned *)ctx;
}

struct sums {
    uint64_t told, held;
};

static void count_lane(void *ctx, const void *view)
{
    const struct mng_lane_view *v = view;

    ((struct sums *)ctx)->told += v->waiting + v->returning;
}

static void at_rest(struct mr *r)
{
    struct sums s = { 0 };
    unsigned moves = 0;

    mng_each_move(r->m, count_move, &moves);
    mng_each_lane(r->m, 0, count_lane, &s);
    for (int i = 0; i < MR_NODES; i++) {
        struct segtab_counts c;

        segtab_count(r->t[i], &c);
        s.held += c.waiting + c.returning;
    }
    cr_assert_eq(moves, 0, MR_SAY ": %u moves", MR_AT(r), moves);
    cr_assert_eq(s.told, s.held, MR_SAY ": the manager counts %llu of %llu", MR_AT(r),
                 (unsigned long long)s.told, (unsigned long long)s.held);
}

static bool once(uint32_t k, uint64_t n)
{
    struct mr *r = mr_new("allocation");
    bool failed;

    r->at = k;
    r->may_fail = true;
    r->around = around;
    failing_arm(k, n);
    around(false);
    story(r);
    failed = failing_disarm();
    r->may_fail = false;
    r->around = NULL;
    if (r->failed)
        begin_anew(r);
    mr_play(r, 40000);
    at_rest(r);
    join(r, 20);
    mr_put_queue(r, QUEUE("open", "1000"));
    mr_play(r, 10000);
    for (uint32_t i = 0; i < r->n_tickets; i++)
        cr_assert(r->ticket[i].left || r->ticket[i].admitted,
                  MR_SAY ": ticket %u was never released", MR_AT(r), i);
    cr_assert_gt(r->n_tickets, 90, MR_SAY ": only %u joined", MR_AT(r), r->n_tickets);
    mr_free(r);
    return failed;
}

Test(torture_mng, without_a_fault)
{
    cr_assert_not(once(0, 0));
}

Test(torture_mng, each_allocation_fails_once, .timeout = 600)
{
    uint32_t k = 1;

    for (unsigned through = 0; through < 3; k++)
        through = once(k, 1) ? 0 : through + 1;
    cr_assert_gt(k, 100, "only %u allocations", k);
}

/* test_replica_push.c: what routers are told of lines is what the node has, whatever happens to
 * tickets, segments and links; and no more is told than has changed. */
#include "common/base/rng.h"
#include "segment/tickets/timeouts.h"
#include "tests/lib/replicarig.h"

static struct rig *r;
static struct replicarig x;
static uint64_t seq;

static void start(int nodes)
{
    r = rig_new(nodes, 1u << 22);
    replicarig_new(&x, r);
    seq = 0;
}

static void teardown(void)
{
    if (r == NULL)
        return;
    rig_pump(r, UINT32_MAX);
    rig_free(r);
    replicarig_fini(&x);
    r = NULL;
}

TestSuite(replica_push, .fini = teardown);

static void asks(int node, peer_no router)
{
    rig_seen(r, node, router, (struct msg_seen) { .clock_ms = 5, .seq = ++seq });
}

static uint32_t same(int node, seg_id name)
{
    return same_as_node(x.m[node][0], r->t[node], name);
}

Test(replica_push, who_has_not_asked_gets_nothing)
{
    start(1);
    rig_open(r, 0, 1, OPEN_TAIL, 100, 0);
    rig_join(r, 0, 1, 10);
    rig_leave(r, 0, 1, 3);
    rig_run(r, 1000);
    cr_expect_eq(x.m[0][0]->n_frames, 0);
    cr_expect_eq(segtab_seg(r->t[0], 1)->said.n_died, 0);
    asks(0, RIG_ROUTER);
    cr_expect_eq(same(0, 1), 9);
    cr_expect(x.m[0][0]->n_whole == 1 && x.m[0][0]->n_ends == 1);
}

Test(replica_push, joins_leaves_releases_and_time_outs_are_told)
{
    start(1);
    rig_open(r, 0, 1, OPEN_TAIL, 5000, 700);
    asks(0, RIG_ROUTER);
    rig_join(r, 0, 1, 3000);
    rig_run(r, 100);
    cr_expect_eq(same(0, 1), 3000);
    for (uint32_t i = 5; i < 3000; i += 31)
        rig_leave(r, 0, 1, i);
    rig_join(r, 0, 1, 40);
    rig_leave(r, 0, 1, 3039); /* came and went between two pushes */
    rig_run(r, 100);
    cr_expect_eq(same(0, 1), 2942);
    cr_expect_eq(rig_pop(r, 0, 1, 1, 600), 600);
    cr_expect_eq(same(0, 1), 2342); /* at once */
    cr_expect_eq(x.m[0][0]->n_new, 1);
    for (uint32_t i = 1000; i < 3000; i++)
        if (i % 3 == 0)
            rig_poll(r, 0, 1, i);
    rig_heard(r, 0, RIG_ROUTER, 5000);
    for (uint32_t i = 1000; i < 3000; i++)
        if (i % 3 == 0)
            rig_poll(r, 0, 1, i);
    rig_heard(r, 0, RIG_ROUTER, 5000);
    cr_expect_lt(same(0, 1), 700);
}

Test(replica_push, what_is_released_and_not_stored_counts_until_it_is)
{
    start(1);
    rig_open(r, 0, 1, OPEN_TAIL, 100, 10);
    rig_join(r, 0, 1, 50);
    asks(0, RIG_ROUTER);
    rig_order(r, 0, (struct msg) { .type = MSG_SEG_POP,
                                   .seg_pop = { .epoch = 1, .seg = 1, .tick = 1, .n = 5,
                                                .released_at_ms = 1 } });
    rig_run(r, 100);
    cr_expect_eq(same(0, 1), 45);
    cr_expect_eq(x.m[0][0]->name[1].row.before, 15);
    rig_order(r, 0, (struct msg) { .type = MSG_SEG_AHEAD,
                                   .seg_ahead = { .epoch = 1, .n_kept = 1,
                                                  .kept = &(struct kept_entry) { 1, 1 } } });
    cr_expect_eq(same(0, 1), 45);
    cr_expect_eq(x.m[0][0]->name[1].row.before, 10, "at once");
}

Test(replica_push, ahead_pace_and_early_lines_are_told)
{
    struct pace_entry pace = { 7, 0, 2000, 9000, 10, 0 };

    start(1);
    rig_open(r, 0, 1, OPEN_TAIL, 100, AHEAD_UNKNOWN);
    rig_join(r, 0, 1, 50);
    asks(0, RIG_ROUTER);
    cr_expect_eq(x.m[0][0]->name[1].row.flags & REPLICA_NO_PLACE, REPLICA_NO_PLACE);
    cr_expect_eq(same(0, 1), 50);
    rig_order(r, 0,
              (struct msg) { .type = MSG_SEG_AHEAD,
                             .seg_ahead = { .epoch = 1, .n = 1, .n_pace = 1, .pace = &pace,
                                            .v = &(struct ahead_entry) { 1, 77 } } });
    rig_run(r, 100);
    cr_expect_eq(same(0, 1), 50);
    cr_expect_eq(x.m[0][0]->name[1].row.flags & REPLICA_NO_PLACE, 0);
    cr_expect(x.m[0][0]->pace[0].min_ms == 2000 && x.m[0][0]->pace[0].us_per_place == 10);
}

Test(replica_push, drawn_and_rebuilt_lines_are_asked)
{
    start(1);
    rig_order(r, 0, (struct msg) { .type = MSG_SEG_OPEN,
                                   .seg_open = { .epoch = 1, .seg = 1, .queue = 7, .kind = OPEN_TAIL,
                                                 .capacity = 50, .early = true } });
    rig_join(r, 0, 1, 50);
    asks(0, RIG_ROUTER);
    cr_expect_eq(same(0, 1), 50);
    cr_expect_eq(x.m[0][0]->name[1].row.flags & REPLICA_EARLY, REPLICA_EARLY);
    rig_order(r, 0, (struct msg) { .type = MSG_SEG_SEAL,
                                   .seg_seal = { .epoch = 1, .seg = 1, .next = 2,
                                                 .draw = { .n = 50, .seed = { 3 } } } });
    cr_expect_eq(x.m[0][0]->name[1].row.flags & REPLICA_ASK, REPLICA_ASK, "at once");
    rig_order(r, 0, (struct msg) { .type = MSG_SEG_OPEN,
                                   .seg_open = { .epoch = 1, .seg = 3, .queue = 7,
                                                 .kind = OPEN_REBUILD, .capacity = 50,
                                                 .for_ms = 300 } });
    rig_poll(r, 0, 3, 7);
    rig_poll(r, 0, 3, 9);
    rig_leave(r, 0, 3, 9);
    rig_run(r, 100);
    cr_expect(!x.m[0][0]->name[3].known);
    rig_run(r, 1000);
    cr_expect_eq(same(0, 3), 1);
}

static void move(int y, uint64_t id, seg_id from, seg_id to, bool commit)
{
    rig_order(r, 0, (struct msg) { .type = MSG_MOVE_IN, .move_in = { 1, id, from, to, 5000 } });
    rig_order(r, y, (struct msg) { .type = MSG_MOVE_OUT,
                                   .move_out = { 1, id, from, to, "node0", "127.0.0.1:1" } });
    rig_run(r, 1000);
    cr_expect(x.m[y][0]->name[from].row.flags & REPLICA_FENCED);
    cr_expect_eq(x.m[y][0]->name[from].row.host, to);
    for (int i = 0; i < r->n; i++)
        rig_order(r, i, (struct msg) { .type = MSG_MOVE_END,
                                       .move_end = { 1, id, from, to, commit } });
}

static void merge(int nodes)
{
    int y = nodes - 1;

    start(nodes);
    for (seg_id s = 1; s <= 3; s++) {
        rig_open(r, s == 1 ? 0 : y, s, OPEN_TAIL, 3000, 100 * s);
        rig_join(r, s == 1 ? 0 : y, s, 1100);
        rig_seal(r, s == 1 ? 0 : y, s, s + 1);
    }
    if (nodes == 2)
        rig_link(r);
    for (int i = 0; i < nodes; i++)
        asks(i, RIG_ROUTER);
    rig_leave(r, y, 2, 50);
    rig_leave(r, y, 3, 7);
    move(y, 40, 2, 1, true);
    if (nodes == 2)
        cr_expect(!x.m[1][0]->name[2].known);
    cr_expect_eq(x.m[0][0]->name[2].row.host, 1);
    cr_expect_eq(same(0, 1) + same(0, 2), 2199);
    move(y, 41, 3, 1, false);
    rig_run(r, 100);
    cr_expect_eq(same(y, 3), 1099);
    cr_expect_eq(x.m[y][0]->name[3].row.flags & REPLICA_FENCED, 0);
    move(y, 42, 3, 1, true);
    rig_leave(r, 0, 1, 1050);
    rig_up(r, 0, RIG_ROUTER2, RPC_ROUTER, "rt2");
    asks(0, RIG_ROUTER2); /* its own and the absorbed share a block */
    rig_leave(r, 0, 2, 1099);
    rig_leave(r, 0, 3, 600);
    rig_pop(r, 0, 1, 1, 512);
    rig_pop(r, 0, 1, 2, 512);
    rig_pop(r, 0, 1, 3, 512);
    cr_expect_eq(same(0, 1) + same(0, 2) + same(0, 3), 3298 - 3 - 3 * 512);
    for (seg_id s = 1; s <= 3; s++)
        same_as_node(x.m[0][1], r->t[0], s);
    rig_order(r, 0, (struct msg) { .type = MSG_SEG_REMOVE,
                                   .seg_remove = { .epoch = 1, .seg = 1, .force = true } });
    for (seg_id s = 1; s <= 3; s++)
        cr_expect(!x.m[0][0]->name[s].known);
}

Test(replica_push, moves_between_nodes_are_told)
{
    merge(2);
}

Test(replica_push, moves_within_a_node_are_told)
{
    merge(1);
}

Test(replica_push, a_push_of_a_quiet_tick_is_a_stamp_and_a_busy_one_is_small)
{
    uint32_t n;

    start(1);
    rig_open(r, 0, 1, OPEN_TAIL, 60000, 0);
    rig_join(r, 0, 1, 50000);
    rig_run(r, 100);
    asks(0, RIG_ROUTER);
    cr_expect_lt(x.m[0][0]->n_bytes, 100, "a fresh crowd is one run: %u", x.m[0][0]->n_bytes);
    x.m[0][0]->n_bytes = 0;
    rig_run(r, 100);
    cr_expect_lt(x.m[0][0]->n_bytes, 20, "%u", x.m[0][0]->n_bytes);
    for (uint32_t i = 0; i < 50; i++)
        rig_leave(r, 0, 1, 1000 + i * 941);
    rig_join(r, 0, 1, 100);
    x.m[0][0]->n_bytes = 0;
    rig_pop(r, 0, 1, 1, 200);
    n = x.m[0][0]->n_bytes;
    cr_expect(n > 100 && n < 200, "%u bytes", n);
    cr_expect_eq(same(0, 1), 50000 - 50 + 100 - 200);
}

Test(replica_push, many_deaths_come_as_lines_and_too_many_as_a_new_row)
{
    start(1);
    rig_open(r, 0, 1, OPEN_TAIL, 60000, 0);
    rig_join(r, 0, 1, 50000);
    asks(0, RIG_ROUTER);
    x.m[0][0]->n_bytes = x.m[0][0]->n_new = 0;
    for (uint32_t i = 20000; i < 25000; i += 2)
        rig_leave(r, 0, 1, i);
    rig_run(r, 100);
    cr_expect_lt(x.m[0][0]->n_bytes, 900);
    cr_expect_eq(same(0, 1), 47500);
    for (uint32_t i = 1; i < 2 * DIED_MAX + 9; i += 2)
        rig_leave(r, 0, 1, i);
    rig_run(r, 100);
    cr_expect_eq(x.m[0][0]->n_new, 1);
    cr_expect_eq(same(0, 1), segtab_seg(r->t[0], 1)->b.q.waiting);
}

/* A whole push of a node goes over several ticks, and the line moves meanwhile. */
Test(replica_push, a_whole_push_in_pieces_meets_what_changes)
{
    static const uint32_t joined = 60000;
    struct rmodel *m;
    uint32_t pieces = 0;

    start(1);
    m = x.m[0][0];
    for (seg_id s = 1; s <= 50; s++) {
        rig_open(r, 0, s, OPEN_TAIL, joined + 2000, 0);
        rig_join(r, 0, s, joined);
        for (uint32_t i = (uint32_t)s; i < joined; i += 2 + (uint32_t)s % 5)
            rig_leave(r, 0, s, i);
    }
    asks(0, RIG_ROUTER);
    rig_up(r, 0, RIG_ROUTER2, RPC_ROUTER, "rt2");
    for (uint64_t tick = 1; m->whole && tick < 100; tick++, pieces++) {
        for (seg_id s = 1; s <= 50; s += 3) {
            rig_leave(r, 0, s, (uint32_t)(tick * 977));
            rig_join(r, 0, s, 3);
            rig_pop(r, 0, s, tick, 7);
        }
        if (tick == 1)
            asks(0, RIG_ROUTER2);
        rig_run(r, 100);
    }
    cr_expect_gt(pieces, 0);
    cr_expect_lt(m->most_bytes, 65536);
    rig_run(r, 1000);
    cr_expect(!m->whole && m->n_whole == 1 && x.m[0][1]->n_ends == 1);
    for (seg_id s = 1; s <= 50; s++) {
        same(0, s);
        same_as_node(x.m[0][1], r->t[0], s);
    }
}

Test(replica_push, a_slow_router_gets_everything_when_it_has_read)
{
    struct rmodel *m;

    start(1);
    m = x.m[0][0];
    rig_open(r, 0, 1, OPEN_TAIL, 1000, 0);
    rig_join(r, 0, 1, 500);
    asks(0, RIG_ROUTER);
    segtab_pending(r->t[0], RIG_ROUTER, 5u << 20);
    rig_run(r, 100);
    m->n_frames = 0;
    for (uint32_t i = 0; i < 10; i++) {
        rig_leave(r, 0, 1, i);
        rig_run(r, 100);
    }
    cr_expect_eq(m->n_frames, 0);
    segtab_pending(r->t[0], RIG_ROUTER, 1000);
    rig_run(r, 100);
    cr_expect_eq(m->n_whole, 2);
    cr_expect_eq(same(0, 1), 490);
}

Test(replica_push, a_stamp_says_what_was_read_before_it)
{
    struct rmodel *m;

    start(1);
    m = x.m[0][0];
    asks(0, RIG_ROUTER);
    cr_expect(m->stamp.stamp_ms == r->now.now_ms && m->stamp.echo_ms == 5 && m->stamp.seen == 1);
    m->n_stamps = 0;
    rig_run(r, 1000);
    cr_expect_eq(m->n_stamps, 1, "nobody waits: once a second");
    rig_seen(r, 0, RIG_ROUTER, (struct msg_seen) { .clock_ms = 99, .seq = 7, .flags = SEEN_ECHO });
    cr_expect(m->n_stamps == 2 && m->stamp.echo_ms == 99 && m->stamp.seen == 7);
    rig_seen(r, 0, RIG_ROUTER, (struct msg_seen) { .clock_ms = 100, .seq = 3 });
    cr_expect_eq(m->n_stamps, 2);
    rig_open(r, 0, 1, OPEN_TAIL, 1000, 0);
    rig_join(r, 0, 1, 1);
    rig_run(r, 500);
    cr_expect_geq(m->n_stamps, 7);
    cr_expect(m->stamp.echo_ms == 100 && m->stamp.seen == 7);
}

/* Everything at random, with two routers that come and go. */
Test(replica_push, whatever_happens_routers_have_what_the_node_has)
{
    struct rng g;
    uint64_t tick = 0;

    rng_seed(&g, 12);
    start(1);
    for (seg_id s = 1; s <= 4; s++)
        rig_open(r, 0, s, OPEN_TAIL, 3000, 10 * s);
    asks(0, RIG_ROUTER);
    for (unsigned k = 0; k < 400; k++) {
        seg_id s = k < 250 ? 1 + rng_below(&g, 4) : 1 + 3 * rng_below(&g, 2);

        rig_join(r, 0, s, k >= 250 && s < 4 ? 0 : (uint32_t)rng_below(&g, 6));
        for (unsigned i = 0; i < rng_below(&g, 9); i++)
            rig_leave(r, 0, 1 + rng_below(&g, 4), (uint32_t)rng_below(&g, 1500));
        if (rng_chance(&g, 0.3))
            rig_pop(r, 0, s, ++tick, (uint32_t)rng_below(&g, 20));
        if (rng_chance(&g, 0.01))
            segtab_pending(r->t[0], RIG_ROUTER, (uint32_t)rng_below(&g, 2) * (5u << 20));
        if (k == 250)
            for (s = 2; s <= 3; s++) {
                rig_seal(r, 0, s, s + 1);
                rig_seal(r, 0, 1, 2);
                rig_order(r, 0, (struct msg) { .type = MSG_MOVE_IN,
                                               .move_in = { 1, s, s, 1, 5000 } });
                rig_order(r, 0, (struct msg) { .type = MSG_MOVE_OUT,
                                               .move_out = { 1, s, s, 1, "node0", "x:1" } });
                rig_run(r, 1000);
                rig_order(r, 0, (struct msg) { .type = MSG_MOVE_END,
                                               .move_end = { 1, s, s, 1, true } });
            }
        rig_run(r, 100 * rng_below(&g, 4));
    }
    segtab_pending(r->t[0], RIG_ROUTER, 0);
    rig_run(r, 200);
    for (seg_id s = 1; s <= 4; s++)
        same(0, s);
}

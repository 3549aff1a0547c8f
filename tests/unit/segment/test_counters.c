/* test_counters.c: counters at their edges (F33): ids, ticks, positions and clocks beyond
 * 32 bits, the last numbers of a segment, positions 0 and 1, a million in one segment. */
#include "segment/node/segtab.h"

#include "common/ticket/token.h"
#include "queuemng/policy/release.h"
#include "router/flow/routes.h"
#include "segment/line/segq.h"
#include "segment/line/session.h"
#include "segment/line/ticket_idx.h"
#include "tests/lib/segrig.h"

static const seg_id ids[] = { UINT32_MAX - 1ull, UINT32_MAX, 1ull << 32, (1ull << 32) + 1,
                              1ull << 53, (1ull << 53) + 1, UINT64_MAX - 1 };

Test(counters, ids_of_segments_have_64_bits)
{
    struct rig *r = rig_new(1, 1u << 20);

    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        rig_open(r, 0, ids[i], OPEN_TAIL, 100, 100 * i);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        rig_join(r, 0, ids[i], (uint32_t)i + 1);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        struct place_ans last = rig_poll(r, 0, ids[i], (uint32_t)i);

        cr_expect_eq(last.state, PLACE_WAITING, "segment %llu", (unsigned long long)ids[i]);
        cr_expect_eq(last.position, 100 * i + i + 1);
        cr_expect_neq(rig_poll(r, 0, ids[i], (uint32_t)i + 1).state, PLACE_WAITING,
                      "another segment's number");
    }
    rig_free(r);
}

Test(counters, a_token_carries_the_highest_ids_and_numbers)
{
    struct token_key key = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        struct token in = { .seg = ids[i], .number = UINT32_MAX - (uint32_t)i }, out;
        char text[TOKEN_TEXT_LEN];

        token_write(&in, &key, text);
        cr_assert_eq(token_read(&out, &key, text, sizeof(text)), 0);
        cr_expect_eq(out.seg, in.seg);
        cr_expect_eq(out.number, in.number);
    }
}

Test(counters, routes_compare_all_64_bits)
{
    static struct map_node node = { 1, "a", "h:1" };
    static struct map_seg segs[] = { { 5, 1, SEG_SEALED, 0 }, { (1ull << 32) + 5, 1, SEG_OPEN, 0 } };
    static struct map_alias alias = { (1ull << 33) + 5, (1ull << 32) + 5, 0 };
    struct map_lane lane = { "default", 2, 1, segs, &alias };
    struct map_queue q = { .id = 7, .name = "login", .state = QUEUE_OPEN,
                           .n_lanes = 1, .lanes = &lane };
    struct msg_map m = { .epoch = UINT32_MAX, .version = UINT64_MAX - 1,
                         .next_seg = (1ull << 33) + 9, .n_nodes = 1, .nodes = &node,
                         .n_queues = 1, .queues = &q };
    struct routes *r = routes_new();
    struct route_owner o;

    cr_assert_eq(routes_apply(r, &m), 0);
    cr_assert_eq(routes_owner(r, 5, &o), 0);
    cr_expect_eq(o.seg, 5);
    cr_assert_eq(routes_owner(r, (1ull << 33) + 5, &o), 0);
    cr_expect_eq(o.seg, (1ull << 32) + 5);
    routes_free(r);
}

Test(counters, positions_above_32_bits_fall_one_by_one)
{
    struct rig *r = rig_new(1, 1u << 20);
    const uint64_t ahead = (1ull << 32) - 3;

    rig_open(r, 0, 1, OPEN_TAIL, 1000, ahead);
    rig_join(r, 0, 1, 10);
    for (uint32_t i = 0; i < 10; i++)
        cr_expect_eq(rig_poll(r, 0, 1, i).position, ahead + i + 1);
    rig_leave(r, 0, 1, 0); /* the tenth goes from 2^32 + 7 - 1 to one less */
    rig_run(r, 200);
    for (uint32_t i = 1; i < 10; i++)
        cr_expect_eq(rig_poll(r, 0, 1, i).position, ahead + i);
    rig_free(r);
}

Test(counters, ticks_above_32_bits_are_told_apart)
{
    static const uint64_t ticks[] = { UINT32_MAX, 1ull << 32, (1ull << 32) + UINT32_MAX,
                                      1ull << 63 };
    struct rig *r = rig_new(1, 1u << 20);

    rig_open(r, 0, 1, OPEN_TAIL, 1000, 0);
    rig_join(r, 0, 1, 20);
    for (uint32_t i = 0; i < ARRAY_LEN(ticks); i++) {
        cr_expect_eq(rig_pop(r, 0, 1, ticks[i], 2), 2);
        cr_expect_eq(rig_pop(r, 0, 1, ticks[i], 2), 2, "repeated");
        cr_expect_eq(rig_poll(r, 0, 1, 2 * i + 2).position, 1, "nobody else was released");
    }
    rig_free(r);
}

/* Milliseconds pass 2^31, 2^32 and 2^53: who polls stays, who does not goes in time. */
Test(counters, clocks_above_32_bits_neither_expire_nor_keep)
{
    static const msec_t edge[] = { (msec_t)1 << 31, (msec_t)1 << 32, (msec_t)1 << 53 };

    for (size_t e = 0; e < ARRAY_LEN(edge); e++) {
        struct rig *r = rig_new(1, 1u << 20);

        r->now.now_ms = edge[e] - 2500;
        rig_run(r, 100);
        rig_open(r, 0, 1, OPEN_TAIL, 1000, 0);
        rig_join(r, 0, 1, 2);
        for (int i = 0; i < 30; i++) { /* 30 s: far beyond any time-out, and over the edge */
            rig_run(r, 1000);
            arena_reset(&r->mem);
            cr_assert_eq(rig_poll(r, 0, 1, 1).state, PLACE_WAITING, "after %d s", i);
        }
        cr_expect_eq(rig_poll(r, 0, 1, 0).reason, GONE_EXPIRED);
        cr_expect_eq(rig_poll(r, 0, 1, 1).position, 1);
        rig_free(r);
    }
}

/* The clock of idle times is a byte: it wraps every 256 units, of a tenth
 * of a second or more. */
Test(counters, the_idle_byte_wraps_many_times)
{
    struct rig *r = rig_new(1, 1u << 20);

    rig_open(r, 0, 1, OPEN_TAIL, 1000, 0);
    rig_join(r, 0, 1, 3);
    for (msec_t ms = 0; ms < 600000; ms += 1000) {
        rig_run(r, 1000);
        arena_reset(&r->mem);
        cr_assert_eq(rig_poll(r, 0, 1, 0).state, PLACE_WAITING, "after %lld ms", (long long)ms);
    }
    cr_expect_eq(rig_poll(r, 0, 1, 1).reason, GONE_EXPIRED);
    rig_free(r);
}

Test(counters, positions_begin_at_one)
{
    struct rig *r = rig_new(1, 1u << 20);

    rig_open(r, 0, 1, OPEN_TAIL, 2, 0);
    rig_join(r, 0, 1, 2);
    cr_expect_eq(rig_poll(r, 0, 1, 0).position, 1);
    cr_expect_eq(rig_pop(r, 0, 1, 1, 0), 0, "none is asked for, none comes");
    cr_expect_eq(rig_poll(r, 0, 1, 0).position, 1);
    cr_expect_eq(rig_pop(r, 0, 1, 2, 1), 1);
    cr_expect_eq(rig_poll(r, 0, 1, 1).position, 1);
    cr_expect_eq(rig_pop(r, 0, 1, 3, UINT32_MAX), 1, "all that there are");
    cr_expect_eq(rig_pop(r, 0, 1, 4, 1), 0);
    rig_free(r);
}

Test(counters, a_million_in_one_segment_and_the_middle_leaves)
{
    enum { N = 1000000, FROM = 400000, TO = 600000 };
    struct block_pool pool;
    struct segq q;
    uint32_t number;

    block_pool_init(&pool, N / BLOCK_SLOTS + 1);
    segq_init(&q, &pool);
    for (uint32_t i = 0; i < N; i++) {
        cr_assert_eq(segq_append(&q, 1, &number), 0);
        cr_assert_eq(number, i);
    }
    for (uint32_t i = FROM; i < TO; i++)
        cr_assert(segq_drop(&q, i, DEAD_LEFT));
    cr_expect_not(segq_drop(&q, FROM, DEAD_LEFT), "only once");
    segq_settle(&q);
    for (uint32_t i = 0; i < N; i++)
        if (i < FROM || i >= TO)
            cr_assert_eq(segq_rank(&q, i), i < FROM ? i : i - (TO - FROM), "number %u", i);
    cr_expect_eq(q.waiting, N - (TO - FROM));
    segq_fini(&q);
    cr_expect_eq(pool.n_blocks, 0);
    block_pool_fini(&pool);
}

/* Numbers end before SEGQ_NONE; what cannot be reserved is refused, and nothing changes. */
Test(counters, no_number_is_given_twice_at_the_end_of_32_bits)
{
    struct block_pool pool;
    struct segq q;
    uint32_t number;

    block_pool_init(&pool, 16);
    segq_init(&q, &pool);
    cr_assert_eq(segq_append(&q, 1, &number), 0);
    cr_expect_eq(segq_reserve(&q, UINT32_MAX), SQ_ENOMEM);
    cr_expect_eq(segq_reserve(&q, UINT32_MAX - 2 * BLOCK_SLOTS), SQ_ENOMEM);
    cr_assert_eq(segq_append(&q, 1, &number), 0);
    cr_expect_eq(number, 1);
    segq_fini(&q);
    block_pool_fini(&pool);
}

/* Tables of a segment's people: more than an index counts are refused, and nothing changes. */
Test(counters, no_table_grows_beyond_what_its_index_counts)
{
    struct ticket_idx x;
    struct sessions s;

    ticket_idx_init(&x, sizeof(struct session));
    cr_expect_eq(ticket_idx_grown(&x, NULL, UINT32_MAX / 2 + 1ull, UINT32_MAX / 2), TICKET_IDX_NONE);
    cr_expect_eq(x.cap, 0);
    cr_expect_eq(ticket_idx_grown(&x, NULL, 1, 0), 16);
    cr_expect_eq(ticket_idx_grown(&x, NULL, 16, 16), 16);
    cr_expect_eq(ticket_idx_grown(&x, NULL, 17, 16), 24);
    cr_expect_eq(ticket_idx_grown(&x, NULL, 100, 16), 100);
    ticket_idx_fini(&x);
    sessions_init(&s);
    cr_expect_eq(sessions_reserve(&s, UINT32_MAX / 2 + 1), SQ_ENOMEM);
    cr_assert_eq(sessions_reserve(&s, 1), 0);
    cr_expect_eq(sessions_reserve(&s, UINT32_MAX), SQ_ENOMEM);
    cr_expect_eq(s.cap, 16);
    sessions_fini(&s);
}

/* A rate that has run for a long time is as exact as on the first day. */
Test(counters, a_century_of_ticks_keeps_its_fractions)
{
    struct queue_def def = { .release_per_s = 0.4 };
    int64_t weights[LANES_MAX] = { 1 };
    struct release r = { 0 };
    struct release_out out;
    struct release_in in = { .def = &def, .n_lanes = 1, .weights = weights };
    uint64_t n = 0;

    in.waiting[0] = UINT64_MAX / 2;
    in.now_ms = 100ll * 366 * 86400 * 1000; /* beyond 2^41 */
    release_tick(&r, &in, &out);
    for (int i = 0; i < 100000; i++) {
        in.now_ms += 100;
        release_tick(&r, &in, &out);
        n += out.n[0];
    }
    cr_expect(n == 4000 || n == 3999, "0.4 a second for 10 000 s: %llu", (unsigned long long)n);
}

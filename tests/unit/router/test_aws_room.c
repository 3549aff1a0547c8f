/* test_aws_room.c: the number up to which a line is served, out of the map and of what nodes have told:
 * it reaches a ticket's when nobody before it waits, and it itself does not. */
#include "router/compat/aws_room.h"

#include "tests/lib/criterion.h"
#include <string.h>

#include "common/base/text.h"
#include "common/wire/replica_bytes.h"

#define OURS 1000000 /* our clock when a node's is 0 */
#define NAMES 4

/* Segments 11 to 14 of ten places each: 11 was merged into 12 (node 1), 13 is on node 2, 14 behind it. A
 * target without a base stands before them. */
static struct map_node nodes[] = { { 1, "a", "h:1" }, { 2, "b", "h:2" } };
static struct map_seg segs[] = { { 90, 1, SEG_SEALED, 0 },
                                 { 12, 1, SEG_SEALED, 11 },
                                 { 13, 2, SEG_OPEN, 21 },
                                 { 14, 1, SEG_OPEN, 31 } };
static struct map_alias alias = { 11, 12, 1 };
static struct map_lane lane = { "default", 4, 1, segs, &alias };

static struct routes *r;
static struct replicas known;
static struct aws_line l;
static msec_t now;

static struct said { /* what a node says of a name; bits: of those that wait */
    seg_id name, host;
    uint32_t end;
    uint64_t bits;
    uint8_t flags;
} said[2][NAMES];

static void map(uint64_t version)
{
    struct map_queue q = { .id = 7, .name = "login", .state = QUEUE_OPEN, .n_lanes = 1, .lanes = &lane,
                           .silent_s = 3600 };
    struct msg_map m = { .epoch = 1, .from_version = version - 1, .version = version, .next_seg = 100,
                         .n_nodes = 2, .nodes = nodes, .n_queues = 1, .queues = &q };

    cr_assert_eq(routes_apply(r, &m), 0);
}

/* The node says all that it has, of this moment. */
static void push(node_no node)
{
    static uint8_t bytes[NAMES][80];
    struct replica_row row[NAMES];
    struct pace_entry pace = { .queue = 7, .min_ms = 1000, .max_ms = 30000 };
    struct stream *st = replicas_stream(&known, node);
    struct msg_replica m = { .stamp_ms = now, .echo_ms = OURS + now - 10, .flags = REPLICA_WHOLE | REPLICA_END,
                             .v = row, .n_pace = 1, .pace = &pace };

    for (unsigned i = 0; i < NAMES && said[node - 1][i].name != 0; i++) {
        const struct said *s = &said[node - 1][i];
        uint32_t next = 0;
        uint8_t *p = lines_put(bytes[i], &next, 0, 0, 1);

        memset(p, 0, 64);
        memcpy(p, &s->bits, sizeof(s->bits));
        row[m.n++] = (struct replica_row){ .name = s->name, .host = s->host, .queue = 7, .end = s->end,
                                           .flags = REPLICA_NEW | s->flags, .told_max_ms = 60000,
                                           .lines = bytes[i], .n_lines = s->end > 0 ? (uint32_t)(p + 64 - bytes[i]) : 0 };
    }
    st->clock_ms = OURS + now - 5;
    cr_assert_eq(stream_apply(st, &m, OURS + now), 0);
}

/* Some time later than what was looked at. */
static void both(void)
{
    now += 20;
    push(1);
    push(2);
}

static const struct route_queue *queue(void)
{
    return routes_queue(r, "login", 5);
}

/* Some time later. */
static uint64_t served(void)
{
    uint64_t n = 0;

    now += AWS_LOOK_MS;
    cr_assert(aws_served(&l, r, &known, queue(), OURS + now, &n));
    return n;
}

static void begin(void)
{
    static const struct said first[2][NAMES] = {
        { { 11, 12, 10, 0x3fc, 0 }, { 12, 12, 10, 0x3ff, 0 }, { 14, 14, 0, 0, 0 }, { 90, 90, 0, 0, 0 } },
        { { 13, 13, 3, 7, 0 } },
    };

    now = 5000;
    l = (struct aws_line){ 0 };
    memcpy(said, first, sizeof(said));
    segs[2].state = SEG_OPEN;
    r = routes_new();
    map(1);
    replicas_init(&known, 250, 15000, 7);
    for (node_no n = 1; n <= 2; n++) {
        struct msg_seen m;

        stream_up(replicas_stream(&known, n), OURS + now - 20);
        cr_assert(stream_seen(replicas_stream(&known, n), OURS + now - 20, &m));
    }
    both();
}

static void end(void)
{
    replicas_fini(&known);
    routes_free(r);
}

TestSuite(aws_room, .init = begin, .fini = end);

Test(aws_room, up_to_the_first_who_waits)
{
    cr_expect_eq(served(), 2);
    said[0][0].bits = 0x3f0; /* two more are let in */
    push(1);
    cr_expect_eq(served(), 4);
    said[0][0].bits = 0x3d0; /* 6 leaves: nobody is told of it yet */
    push(1);
    cr_expect_eq(served(), 4);
    said[0][0].bits = 0x3c0; /* 5 is let in: 6 is passed */
    push(1);
    cr_expect_eq(served(), 6);
    said[0][0].bits = 0; /* the merged one is dry: on to the next */
    said[0][1].bits = 0x3fe;
    push(1);
    cr_expect_eq(served(), 11);
}

Test(aws_room, numbers_are_in_the_order_of_the_line)
{
    cr_expect_eq(aws_number(r, queue(), &(struct token){ .seg = 11, .number = 0 }), 1);
    cr_expect_eq(aws_number(r, queue(), &(struct token){ .seg = 11, .number = 9 }), 10);
    cr_expect_eq(aws_number(r, queue(), &(struct token){ .seg = 12, .number = 0 }), 11);
    cr_expect_eq(aws_number(r, queue(), &(struct token){ .seg = 13, .number = 2 }), 23);
    cr_expect_eq(aws_number(r, queue(), &(struct token){ .seg = 90 }), 0, "nobody joined it");
    cr_expect_eq(aws_number(r, queue(), &(struct token){ .seg = 55 }), 0);
}

Test(aws_room, who_is_about_to_join_is_not_served)
{
    said[0][0].bits = said[0][1].bits = 0;
    said[1][0].bits = 0;
    both();
    (void)served();
    both();
    cr_expect_eq(served(), 23, "the next is 24, though 14 begins with 31");
    said[1][0].end = 5; /* two come, and are let in at once */
    push(2);
    cr_expect_eq(served(), 25);
}

Test(aws_room, a_segment_that_was_just_sealed_may_have_one_more)
{
    said[0][0].bits = said[0][1].bits = said[1][0].bits = 0;
    said[1][0].end = 9;
    both();
    (void)served();
    both();
    cr_expect_eq(served(), 29);
    segs[2].state = SEG_SEALED; /* the tenth has filled it: its node has not told us of him */
    map(2);
    cr_expect_eq(served(), 29);
    cr_expect_eq(served(), 29, "however long ago");
    said[1][0].end = 10;
    said[1][0].bits = 0x200;
    both();
    cr_expect_eq(served(), 29, "he waits");
    said[1][0].bits = 0;
    both();
    cr_expect_eq(served(), 30);
}

Test(aws_room, nothing_known_of_a_segment_holds_the_counter)
{
    said[0][0].flags = REPLICA_ASK;
    said[0][1].bits = said[1][0].bits = 0;
    both();
    cr_expect_eq(served(), 0);
    said[0][0].flags = 0;
    said[0][0].bits = 0x3e0;
    both();
    cr_expect_eq(served(), 5);
    said[0][0].flags = REPLICA_ASK; /* it is rebuilt */
    both();
    cr_expect_eq(served(), 5, "it never falls");
}

Test(aws_room, a_segment_on_its_way_still_counts)
{
    said[0][0].flags = REPLICA_FENCED;
    said[0][0].host = 13;
    both();
    cr_expect_eq(served(), 2);
}

Test(aws_room, a_node_that_is_away_is_passed_over)
{
    struct silent_node silent = { 1, 4000 };
    struct msg_stats s = { .reach = true, .n_unreached = 1, .unreached = &silent };

    (void)replicas_reach(&known, &s, OURS + now);
    cr_expect_eq(served(), 2, "it may come back");
    silent.silent_ms = 6000;
    (void)replicas_reach(&known, &s, OURS + now);
    cr_expect_eq(served(), 2, "nobody behind was let in: the queue may be paused");
    said[1][0].bits = 6; /* node 2: the first of 13 was let in */
    push(2);
    (void)replicas_reach(&known, &s, OURS + now);
    cr_expect_eq(served(), 21);
    s.n_unreached = 0;
    (void)replicas_reach(&known, &s, OURS + now);
    cr_expect_eq(served(), 21, "whoever is back is served");
}

Test(aws_room, a_map_without_ordinals_has_no_numbers)
{
    uint64_t n;

    for (unsigned i = 0; i < 4; i++)
        segs[i].base = 0;
    alias.base = 0;
    map(2);
    cr_expect_not(aws_served(&l, r, &known, queue(), OURS + now, &n));
    cr_expect_eq(aws_number(r, queue(), &(struct token){ .seg = 11, .number = 1 }), 0);
}

/* An older manager leads for a while; the next newer one gives other numbers (PROTOCOL 31). */
Test(aws_room, numbers_that_are_given_anew_are_not_served_by_the_old_ones)
{
    uint64_t n;

    said[0][0].bits = said[0][1].bits = said[1][0].bits = 0;
    both();
    (void)served();
    both();
    cr_expect_eq(served(), 23);
    for (unsigned i = 0; i < 4; i++)
        segs[i].base = 0;
    alias.base = 0;
    map(2);
    now += AWS_LOOK_MS;
    cr_expect_not(aws_served(&l, r, &known, queue(), OURS + now, &n), "none are told");
    alias.base = 1;
    segs[1].base = 5;
    segs[2].base = 8;
    map(3);
    cr_expect_eq(served(), 10, "the next is 11");
}

Test(aws_room, another_queue_begins_anew)
{
    uint64_t n;

    (void)served();
    l.queue = 8;
    l.served = 77;
    cr_expect(aws_served(&l, r, &known, queue(), OURS + now, &n));
    cr_expect_eq(n, 2);
}

Test(aws_room, queues_that_have_no_door)
{
    struct route_queue q = { .map = { .silent_s = AWS_SILENT_LEAST_S, .when.draw = "" } };

    cr_expect_null(aws_unfit(&q));
    q.map.silent_s--;
    cr_expect_not_null(strstr(aws_unfit(&q), "silence"));
    q.map.position_cap = 9;
    cr_expect_not_null(strstr(aws_unfit(&q), "position_cap"));
    q.map.bind = BIND_KEY;
    cr_expect_not_null(strstr(aws_unfit(&q), "bind"));
    q.map.when.draw = "{}";
    cr_expect_not_null(strstr(aws_unfit(&q), "prequeue"));
}

Test(aws_room, bodies)
{
    static const struct {
        const char *text;
        bool good;
    } rows[] = {
        { "{\"event_id\":\"a\"}", true },         { "{\"event_id\":\"a\",\"more\":[1]}", true },
        { "{\"request_id\":\"b\"}", true },       { "{\"event_id\":\"\"}", false },
        { "{\"event_id\":null}", false },         { "{\"event_id\":\"a\",\"event_id\":\"a\"}", false },
        { "[]", false },                          { "{\"event_id\":\"a\"", false },
        { "{\"event_id\":\"a\"} x", false },
    };
    char text[100];
    struct body_error e;
    struct aws_asked a;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        strcpy(text, rows[i].text);
        cr_expect_eq(aws_body(&a, (struct slice){ text, strlen(text) }, &e), rows[i].good, "%s", rows[i].text);
    }
    strcpy(text, "event_id=a&request_id=b&event_id=c");
    aws_query(&a, (struct slice){ text, strlen(text) });
    cr_expect(slice_is(a.event_id, "a") && slice_is(a.request_id, "b"), "the first");
    aws_query(&a, (struct slice){ text, 0 });
    cr_expect(a.event_id.n == 0 && a.request_id.n == 0);
}

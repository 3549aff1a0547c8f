/* test_replica_stream.c: what a node has told this router, how old that is, and the place that is
 * told from it. */
#include "router/replica/replicas.h"

#include "tests/lib/criterion.h"
#include <string.h>

#include "common/wire/replica_bytes.h"

#define NODE   3
#define FRESH  250
#define KEEP   15000
#define OURS   1000000 /* our clock when the node's is 0 */

static struct replicas all;
static struct stream *st;
static uint8_t full[16];
static struct place_ans ans;

/* A whole push with stamp 5000, whose echo was read 10 ms before: 100 people wait in name 7, 50
 * before them. */
static struct pace_entry pace = { .queue = 2, .lane = 1, .min_ms = 1000, .max_ms = 30000 };
static struct replica_row row;

static void begin(void)
{
    uint32_t next = 0;

    replicas_init(&all, FRESH, KEEP, 7);
    st = replicas_stream(&all, NODE);
    row = (struct replica_row) { .name = 7, .host = 7, .queue = 2, .lane = 1, .flags = REPLICA_NEW,
                                 .end = 100, .told_max_ms = 60000, .before = 50, .lines = full };
    row.n_lines = (uint32_t)(lines_put(full, &next, 0, 1, 0) - full);
}

static void end(void)
{
    replicas_fini(&all);
}

static struct msg_seen hear(msec_t node_ms)
{
    struct msg_seen m;

    cr_assert(stream_seen(st, OURS + node_ms, &m));
    return m;
}

/* Our clock was said 5 ms before. */
static int apply(struct msg_replica m, msec_t node_ms)
{
    st->clock_ms = ms_max(st->clock_ms, OURS + node_ms - 5);
    return stream_apply(st, &m, OURS + node_ms);
}
#define APPLY(node_ms, ...) apply((struct msg_replica) { __VA_ARGS__ }, (node_ms))
#define STAMP(ms) .stamp_ms = (ms), .echo_ms = OURS + (ms) - 10

static void said(void)
{
    stream_up(st, OURS + 4990);
    hear(4990);
    cr_assert_eq(APPLY(5005, STAMP(5000), .flags = REPLICA_WHOLE | REPLICA_END, .n = 1, .v = &row,
                       .n_pace = 1, .pace = &pace), 0);
}

static bool place(seg_id name, uint32_t number, msec_t node_ms)
{
    struct token t = { .seg = name, .number = number, .client = CLIENT_MOBILE };

    return replicas_place(&all, NODE, row.host, &t, OURS + node_ms, &ans);
}

static bool asks(enum replica_by by, uint32_t number, msec_t node_ms)
{
    uint64_t was = all.polls[by];

    return !place(7, number, node_ms) && all.polls[by] == was + 1;
}

/* ---- distance ---- */

/* Whole push of that moment, whose echo was said way_ms before it came. */
static void push_over(msec_t way_ms, msec_t stamp_ms)
{
    hear(stamp_ms - way_ms / 2);
    cr_assert_eq(stream_apply(st, &(struct msg_replica){ .stamp_ms = stamp_ms,
                                                         .echo_ms = OURS + stamp_ms - way_ms / 2,
                                                         .flags = REPLICA_WHOLE | REPLICA_END,
                                                         .n = 1, .v = &row,
                                                         .n_pace = 1, .pace = &pace },
                              OURS + stamp_ms + way_ms / 2), 0);
}

static void said_over(msec_t way_ms)
{
    stream_up(st, OURS + 4000);
    push_over(way_ms, 5000);
}

Test(replica_far, over_an_ocean_the_way_there_and_back_counts_for_nothing, .init = begin, .fini = end)
{
    said_over(300);
    cr_expect(place(7, 3, 5151), "it has just come, and is 300 ms old at least");
    cr_expect(place(7, 3, 5150 + FRESH - 2));
    cr_expect(asks(BY_ASKING_STALE, 3, 5150 + FRESH + 1));
}

Test(replica_far, but_the_shortest_told_interval_does, .init = begin, .fini = end)
{
    pace.min_ms = 500; /* 450 with its jitter */
    said_over(300);
    cr_expect(place(7, 3, 5290));
    cr_expect(asks(BY_ASKING_PACE, 3, 5301));
}

Test(replica_far, beyond_a_second_in_all_nodes_are_asked, .init = begin, .fini = end)
{
    pace.min_ms = 10000;
    said_over(1100);
    cr_expect(asks(BY_ASKING_STALE, 3, 5551));
}

Test(replica_far, a_way_counts_as_the_shortest_of_the_last_seconds, .init = begin, .fini = end)
{
    said_over(300);
    hear(5700);
    cr_assert_eq(APPLY(5710, .stamp_ms = 5705, .echo_ms = OURS + 5700), 0);
    cr_expect_eq(st->far_ms, 0, "it is near: what was before was a jam");
    stream_down(st);
    stream_up(st, OURS + 6000);
    cr_expect_eq(st->far_ms, 0);
}

/* ---- places ----------------------------------------------------------------------------- */

Test(replica_place, a_waiting_ticket_is_told_its_place_and_interval, .init = begin, .fini = end)
{
    said();
    cr_assert(place(7, 3, 5010));
    cr_expect_eq(ans.state, PLACE_WAITING);
    cr_expect_eq(ans.position, 50 + 3 + 1);
    cr_expect(ans.poll_after_ms >= 900 && ans.poll_after_ms <= 1100);
    cr_expect_eq(all.polls[BY_REPLICA], 1);
    cr_expect_eq(seen_waiting(&st->seen), 1);
}

Test(replica_place, what_the_node_did_not_say_is_asked, .init = begin, .fini = end)
{
    struct token t = { .seg = 7 };

    cr_expect_not(replicas_place(&all, NODE, 7, &t, OURS, &ans), "before any link");
    said();
    cr_expect(asks(BY_ASKING_TICKET, 100, 5010), "behind the end");
    cr_expect_not(place(8, 3, 5010));
    cr_expect_not(replicas_place(&all, NODE + 1, 7, &t, OURS + 5010, &ans), "of another node");
    cr_expect_not(replicas_place(&all, NODE, 9, &t, OURS + 5010, &ans), "the map has moved it");
    cr_expect_eq(all.polls[BY_ASKING_NAME], 4);
    all.fresh_ms = 0;
    cr_expect_not(place(7, 3, 5010));
}

Test(replica_place, a_place_that_is_not_known_has_its_reason, .init = begin, .fini = end)
{
    row.flags |= REPLICA_EARLY;
    pace.us_per_place = 100000;
    said();
    cr_assert(place(7, 3, 5010));
    cr_expect(ans.position == 0 && ans.reason == NO_PLACE_EARLY);
    cr_expect_gt(ans.poll_after_ms, 2500, "the sum chooses the interval");
    row.flags = REPLICA_NO_PLACE;
    cr_assert_eq(APPLY(5100, STAMP(5100), .n = 1, .v = &row), 0);
    cr_assert(place(7, 3, 5110));
    cr_expect(ans.position == 0 && ans.reason == NO_PLACE_NOW);
}

Test(replica_place, fenced_unfinished_and_refused_names_are_asked, .init = begin, .fini = end)
{
    static const uint8_t flags[] = { REPLICA_ASK, REPLICA_MORE, REPLICA_FENCED, 128 };

    said();
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        bool fenced = flags[i] == REPLICA_FENCED;

        row.flags = flags[i];
        cr_assert_eq(APPLY(5010, STAMP(5010), .n = 1, .v = &row), 0);
        cr_expect(asks(fenced ? BY_ASKING_FENCED : BY_ASKING_NAME, 3, 5020), "flag %u", flags[i]);
    }
    row.flags = 0; /* of what an unknown flag has made void nothing is known */
    cr_assert_eq(APPLY(5010, STAMP(5010), .n = 1, .v = &row), 0);
    cr_expect(asks(BY_ASKING_NAME, 3, 5020));
    row.flags = REPLICA_NEW;
    cr_assert_eq(APPLY(5010, STAMP(5010), .n = 1, .v = &row), 0);
    cr_expect(place(7, 3, 5020));
}

Test(replica_place, the_longest_interval_of_the_node_holds, .init = begin, .fini = end)
{
    pace.us_per_place = 1000000;
    row.told_max_ms = 700;
    said();
    cr_assert(place(7, 90, 5010));
    cr_expect_eq(ans.poll_after_ms, 700);
    row.flags = row.told_max_ms = 0;
    cr_assert_eq(APPLY(5010, STAMP(5010), .n = 1, .v = &row), 0);
    cr_expect(asks(BY_ASKING_NAME, 90, 5010), "nobody comes back after 0 ms");
}

Test(replica_place, a_ticket_that_is_over_here_is_asked, .init = begin, .fini = end)
{
    struct token t = { .seg = 7, .number = 3 };

    said();
    replicas_over(&all, NODE, &t);
    replicas_over(&all, NODE + 1, &t);
    cr_expect(asks(BY_ASKING_TICKET, 3, 5010));
}

/* ---- a node that cannot be asked --------------------------------------------------------- */

/* The manager's word: it does not reach the node, and has not heard it since; 0: it does. */
static void word(msec_t node_ms, msec_t heard_ms)
{
    struct silent_node n = { NODE, (uint32_t)(node_ms - heard_ms) };
    struct msg_stats m = { .reach = true, .n_unreached = heard_ms != 0, .unreached = &n };

    replicas_reach(&all, &m, OURS + node_ms);
}

static bool tells(enum replica_by by, uint32_t number, msec_t node_ms)
{
    uint64_t was = all.polls[by];

    return place(7, number, node_ms) && all.polls[by] == was + 1 &&
           (ans.position == 0) == (by == BY_NO_PLACE);
}

static void node_is_killed(void)
{
    said();
    stream_down(st);
}

Test(replica_kept, while_it_is_fresh_the_place_is_sure, .init = begin, .fini = end)
{
    node_is_killed();
    cr_expect(tells(BY_REPLICA, 3, 5000 + FRESH - 12));
    cr_expect_eq(ans.position, 54);
    cr_expect_eq(seen_waiting(&st->seen), 1, "the node will hear of it");
    cr_expect(asks(BY_ASKING_STALE, 3, 5000 + FRESH - 11), "somebody may be told a shorter interval");
}

Test(replica_kept, then_only_if_the_manager_does_not_reach_it_either, .init = begin, .fini = end)
{
    node_is_killed();
    cr_expect(asks(BY_ASKING_STALE, 3, 7000), "no word");
    word(7000, 4990);
    cr_expect(tells(BY_LAST_KNOWN, 3, 7000));
    cr_expect_eq(ans.position, 54);
    cr_expect(tells(BY_LAST_KNOWN, 3, 9499));
    cr_expect(asks(BY_ASKING_STALE, 3, 9500), "no fresh word");
    word(9600, 5000 + FRESH - 12); /* each word says it a little later than it was */
    cr_expect(tells(BY_LAST_KNOWN, 3, 9600));
    word(9700, 0);
    cr_expect(tells(BY_LAST_KNOWN, 3, 9700 + FRESH), "our link to it comes up");
    word(9750, 0);
    cr_expect(asks(BY_ASKING_STALE, 3, 9701 + FRESH), "only we do not reach it");
    word(9800, 5000 + FRESH - 11);
    cr_expect(asks(BY_ASKING_STALE, 3, 9800), "it lived on without us");
}

/* This process has stood still, or was cut off from the manager, too. */
Test(replica_kept, but_not_by_a_word_that_says_late_that_it_is_back, .init = begin, .fini = end)
{
    node_is_killed();
    word(5100, 4990);
    cr_expect(tells(BY_LAST_KNOWN, 3, 7599));
    word(7600, 0);
    cr_expect(asks(BY_ASKING_STALE, 3, 7601), "it told others newer things meanwhile");
}

/* They were said one after the other, and come together. */
Test(replica_kept, nor_by_one_that_comes_right_behind_a_late_one, .init = begin, .fini = end)
{
    node_is_killed();
    word(5100, 4990);
    word(9000, 4990);
    word(9001, 0);
    cr_expect(asks(BY_ASKING_STALE, 3, 9002), "it may be back for seconds");
    word(9900, 4990);
    word(10000, 0);
    cr_expect(tells(BY_LAST_KNOWN, 3, 10001), "these were in time");
}

/* A link that is lost after the stamp of last_ms. */
static void link_of(msec_t way_ms, msec_t from_ms, msec_t last_ms)
{
    stream_up(st, OURS + from_ms - way_ms);
    for (msec_t ms = from_ms; ms <= last_ms; ms += 500)
        push_over(way_ms, ms);
    stream_down(st);
}

/* The last moment at which the manager may have heard the node after link_of(): a state counts as
 * of its echo. */
static msec_t heard_over(msec_t way_ms, msec_t last_ms)
{
    return last_ms - way_ms / 2 - 2 + FRESH + way_ms;
}

Test(replica_kept, over_an_ocean_the_manager_hears_a_way_after_it, .init = begin, .fini = end)
{
    link_of(400, 5000, 20000);
    word(21300, heard_over(400, 20000));
    cr_expect(tells(BY_LAST_KNOWN, 3, 21300));
    word(21400, heard_over(400, 20000) + 1);
    cr_expect(asks(BY_ASKING_STALE, 3, 21400));
}

Test(replica_kept, but_a_jam_is_no_ocean, .init = begin, .fini = end)
{
    link_of(400, 5000, 10000);
    word(11300, heard_over(400, 10000));
    cr_expect(asks(BY_ASKING_STALE, 3, 11300), "perhaps it is one: it has not been so for long");
    link_of(10, 12000, 12500);
    link_of(400, 20000, 40000);
    word(41300, heard_over(400, 40000));
    cr_expect(asks(BY_ASKING_STALE, 3, 41300), "the way was short once");
}

Test(replica_kept, a_word_from_before_the_state_does_not_count, .init = begin, .fini = end)
{
    node_is_killed();
    word(4900, 4890);
    cr_expect(asks(BY_ASKING_STALE, 3, 6000), "it was back since");
    word(6010, 4890);
    cr_expect(tells(BY_LAST_KNOWN, 3, 6010));
}

Test(replica_kept, an_older_manager_says_nothing, .init = begin, .fini = end)
{
    struct msg_stats older = { .reach = false };

    node_is_killed();
    replicas_reach(&all, &older, OURS + 7000);
    cr_expect(asks(BY_ASKING_STALE, 3, 7000));
}

Test(replica_kept, who_waits_is_answered_for_so_long, .init = begin, .fini = end)
{
    struct token over = { .seg = 7, .number = 4 };

    node_is_killed();
    replicas_over(&all, NODE, &over);
    word(5000 + KEEP - 12, 4990);
    cr_expect(tells(BY_LAST_KNOWN, 3, 5000 + KEEP - 12));
    cr_expect(tells(BY_NO_PLACE, 100, 5000 + KEEP - 12), "joined after its last word");
    cr_expect(ans.reason == NO_PLACE_NOW && ans.poll_after_ms >= 1000 && ans.poll_after_ms < 2000);
    cr_expect(asks(BY_ASKING_TICKET, 4, 5000 + KEEP - 12));
    cr_expect(asks(BY_ASKING_STALE, 3, 5000 + KEEP - 11));
    cr_expect(asks(BY_ASKING_STALE, 100, 5000 + KEEP - 11));
}

Test(replica_kept, a_node_that_does_not_answer_in_time_cannot_be_asked, .init = begin, .fini = end)
{
    struct token t = { .seg = 7, .number = 3 };

    said();
    word(7000, 4990);
    cr_expect(asks(BY_ASKING_STALE, 3, 7000));
    cr_assert(replicas_unanswered(&all, NODE, 7, &t, OURS + 7000, &ans));
    cr_expect(ans.state == PLACE_WAITING && ans.position == 54);
}

Test(replica_kept, a_fenced_name_has_no_places, .init = begin, .fini = end)
{
    said();
    row.flags = REPLICA_FENCED;
    row.host = 6;
    cr_assert_eq(APPLY(5010, STAMP(5010), .n = 1, .v = &row), 0);
    stream_down(st);
    row.host = 7;
    cr_expect(tells(BY_NO_PLACE, 3, 5020));
}

/* ---- a name on its way to segment 6 of the next node ------------------------------------------ */

#define HEIR 6

static struct stream *heirs;

static int apply_heirs(struct msg_replica m, msec_t node_ms)
{
    heirs->clock_ms = ms_max(heirs->clock_ms, OURS + node_ms - 5);
    return stream_apply(heirs, &m, OURS + node_ms);
}
#define APPLY_HEIRS(node_ms, ...) apply_heirs((struct msg_replica) { __VA_ARGS__ }, (node_ms))

static void fence(void)
{
    struct replica_row own = row;

    said();
    own.name = own.host = HEIR;
    row.flags = REPLICA_FENCED;
    row.host = HEIR;
    cr_assert_eq(APPLY(5010, STAMP(5010), .n = 1, .v = &row), 0);
    heirs = replicas_stream(&all, NODE + 1);
    stream_up(heirs, OURS + 4990);
    cr_assert_eq(APPLY_HEIRS(5005, STAMP(5000), .flags = REPLICA_WHOLE | REPLICA_END, .n = 1,
                             .v = &own, .n_pace = 1, .pace = &pace), 0);
}

/* The node that told it; 0: it is asked. */
static node_no moving(node_no of_heir, msec_t node_ms)
{
    struct token t = { .seg = 7, .number = 3 };
    node_no node = NODE;

    if (replicas_place(&all, NODE, 7, &t, OURS + node_ms, &ans))
        return 99;
    cr_expect_eq(replicas_heads_for(&all, NODE, &t), HEIR);
    return replicas_place_moving(&all, &node, HEIR, of_heir, &t, OURS + node_ms, &ans) ? node : 0;
}

Test(replica_moving, a_fenced_name_counts_while_its_heirs_node_does_not_list_it, .init = begin,
     .fini = end)
{
    fence();
    cr_expect_eq(moving(NODE + 1, 5000 + FRESH - 12), NODE);
    cr_expect_eq(ans.position, 54);
    cr_expect_eq(all.polls[BY_ASKING_FENCED], 0, "counted once");
    cr_expect_eq(seen_waiting(&st->seen), 1);
    cr_expect_eq(moving(NODE + 1, 5000 + FRESH - 11), 0, "of the heir's node nothing is fresh");
    cr_assert_eq(APPLY_HEIRS(5300, STAMP(5300)), 0);
    cr_expect_eq(moving(NODE + 1, 5300), 0, "nor of its own: it may be free again");
    cr_assert_eq(APPLY(5300, STAMP(5300)), 0);
    cr_expect_eq(moving(NODE + 1, 5300), NODE);
    cr_expect_eq(moving(NODE, 5300), 0, "the map knows it elsewhere");
    cr_expect_eq(moving(NODE + 2, 5300), 0);
}

Test(replica_moving, a_node_that_has_lost_the_heir_knows_of_no_commit, .init = begin, .fini = end)
{
    seg_id heir = HEIR;

    fence();
    cr_assert_eq(APPLY_HEIRS(5010, STAMP(5010), .n_gone = 1, .gone = &heir), 0);
    cr_expect_eq(moving(NODE + 1, 5010), 0);
}

Test(replica_moving, the_row_of_the_new_host_wins, .init = begin, .fini = end)
{
    struct replica_row there = row;

    fence();
    there.host = HEIR;
    there.before = 20;
    cr_assert_eq(APPLY_HEIRS(5100, STAMP(5100), .n = 1, .v = &there), 0);
    cr_expect_eq(moving(NODE + 1, 5110), NODE + 1);
    cr_expect_eq(ans.position, 24);
    cr_expect_eq(seen_waiting(&heirs->seen), 1);
    there.flags = REPLICA_FENCED; /* it moves on */
    cr_assert_eq(APPLY_HEIRS(5120, STAMP(5120), .n = 1, .v = &there), 0);
    cr_expect_eq(moving(NODE + 1, 5120), 0);
}

Test(replica_moving, what_there_was_no_room_for_may_be_there, .init = begin, .fini = end)
{
    struct replica_row there = row;

    fence();
    there.host = HEIR;
    all.pool.max_bytes = all.pool.n_bytes;
    cr_assert_eq(APPLY_HEIRS(5100, STAMP(5100), .n = 1, .v = &there), 0);
    cr_expect_eq(moving(NODE + 1, 5110), 0);
}

/* ---- age -------------------------------------------------------------------------------- */

Test(replica_stream, age_counts_from_the_stamp_and_not_from_the_arrival, .init = begin, .fini = end)
{
    said(); /* the echo is 10 ms older than the stamp; 2 ms for drift */
    cr_expect_eq(stream_age_ms(st, OURS + 5005), 17);
    cr_expect(place(7, 3, 5000 + FRESH - 12));
    cr_expect(asks(BY_ASKING_STALE, 3, 5000 + FRESH - 11));
    cr_assert_eq(APPLY(5400, STAMP(5100)), 0);
    cr_expect(asks(BY_ASKING_STALE, 3, 5400), "it was 300 ms on its way");
}

Test(replica_stream, the_node_that_was_silent_longest_is_the_oldest, .init = begin, .fini = end)
{
    stream_up(replicas_stream(&all, NODE + 2), OURS);
    cr_expect_eq(replicas_oldest_ms(&all, OURS + 5005), 0, "nobody has said anything");
    fence();
    cr_expect_eq(replicas_oldest_ms(&all, OURS + 5010), 22);
    cr_assert_eq(APPLY(5300, STAMP(5300)), 0);
    cr_expect_eq(replicas_oldest_ms(&all, OURS + 5310), 322, "the other node's");
}

Test(replica_stream, without_an_echo_nothing_is_fresh, .init = begin, .fini = end)
{
    stream_up(st, OURS);
    hear(0);
    cr_assert_eq(APPLY(5000, .stamp_ms = 5000, .flags = REPLICA_WHOLE | REPLICA_END, .n = 1,
                       .v = &row, .n_pace = 1, .pace = &pace), 0);
    cr_expect(asks(BY_ASKING_STALE, 3, 5000));
}

Test(replica_stream, the_quickest_echo_of_ten_seconds_counts, .init = begin, .fini = end)
{
    said();
    for (msec_t ms = 5100; ms < 20000; ms += 100) {
        cr_assert_eq(APPLY(ms + 5, .stamp_ms = ms, .echo_ms = OURS + ms - 90), 0);
        if (ms < 9900)
            cr_assert_eq(stream_age_ms(st, OURS + ms + 5), 17, "at %ld", (long)ms);
    }
    cr_expect_eq(stream_age_ms(st, OURS + 20000), 20000 - 19900 + 90 + 2);
}

Test(replica_stream, a_clock_that_leads_makes_nothing_young, .init = begin, .fini = end)
{
    said();
    cr_assert_eq(APPLY(5100, STAMP(900000)), SQ_EPROTO, "an echo that was never said");
    cr_assert_eq(APPLY(5100, .stamp_ms = 900000), 0);
    cr_expect(stream_age_ms(st, OURS + 5100) >= 0);
    cr_expect(asks(BY_ASKING_STALE, 3, 5100 + FRESH + 1));
}

Test(replica_stream, short_intervals_need_a_younger_state, .init = begin, .fini = end)
{
    pace.min_ms = 100;
    said();
    cr_expect(place(7, 3, 5000 + 90 - 12));
    cr_expect(asks(BY_ASKING_PACE, 3, 5000 + 90 - 11));
    pace.min_ms = 4000;
    cr_assert_eq(APPLY(5100, STAMP(5100), .n_pace = 1, .pace = &pace), 0);
    cr_expect(asks(BY_ASKING_PACE, 3, 5200), "who was told 90 ms comes now");
    cr_assert_eq(APPLY(7101, STAMP(7101)), 0);
    cr_expect(place(7, 3, 7300));
}

/* ---- pushes and links ------------------------------------------------------------------- */

Test(replica_stream, a_whole_push_counts_when_its_end_is_here, .init = begin, .fini = end)
{
    said();
    row.before = 20;
    cr_assert_eq(APPLY(5100, .flags = REPLICA_WHOLE, .n = 1, .v = &row, .n_pace = 1, .pace = &pace),
                 0);
    cr_assert_eq(APPLY(5100, STAMP(5100)), 0);
    cr_assert(place(7, 3, 5200));
    cr_expect_eq(ans.position, 54, "as before");
    cr_expect(asks(BY_ASKING_STALE, 3, 5000 + FRESH), "stamps are of the new one");
    cr_assert_eq(APPLY(5300, STAMP(5300), .flags = REPLICA_END), 0);
    cr_assert(place(7, 3, 5300));
    cr_expect_eq(ans.position, 24);
}

Test(replica_stream, names_that_a_node_has_no_more_are_asked, .init = begin, .fini = end)
{
    seg_id gone = 7;

    said();
    cr_assert_eq(APPLY(5100, STAMP(5100), .n_gone = 1, .gone = &gone), 0);
    cr_expect(asks(BY_ASKING_NAME, 3, 5100));
    cr_assert_eq(APPLY(5100, STAMP(5100), .flags = REPLICA_WHOLE | REPLICA_END), 0);
    cr_expect_eq(all.pool.n_bytes, 0);
}

Test(replica_stream, after_the_link_the_state_ages_and_is_replaced, .init = begin, .fini = end)
{
    said();
    all.keep_ms = 0;
    stream_down(st);
    cr_expect(place(7, 3, 5200));
    cr_expect(asks(BY_ASKING_STALE, 3, 5300));
    stream_up(st, OURS + 6000);
    cr_assert_eq(APPLY(6100, .stamp_ms = 10), 0, "its clock began anew");
    cr_expect_eq(APPLY(6100, STAMP(6100), .n = 1, .v = &row), SQ_EPROTO, "no whole push");
    cr_expect(asks(BY_ASKING_STALE, 3, 6100));
}

Test(replica_stream, frames_that_do_not_follow_are_refused, .init = begin, .fini = end)
{
    said();
    cr_expect_eq(APPLY(5100, .stamp_ms = 4999), SQ_EPROTO, "the clock falls");
    cr_expect_eq(APPLY(5100, .stamp_ms = 5100, .flags = REPLICA_END), SQ_EPROTO, "the end of what?");
    cr_expect_eq(APPLY(5100, .stamp_ms = 5100, .seen = 99), SQ_EPROTO, "never said");
    row.flags = 0;
    row.end = 99;
    cr_expect_eq(APPLY(5100, STAMP(5100), .n = 1, .v = &row), SQ_EPROTO, "its end falls");
    row.end = 100;
    row.flags = REPLICA_NEW;
    row.before = UINT64_MAX - 5;
    cr_expect_eq(APPLY(5100, STAMP(5100), .n = 1, .v = &row), SQ_EPROTO, "positions wrap");
}

Test(replica_stream, a_name_whose_row_ends_in_a_refusal_is_asked, .init = begin, .fini = end)
{
    struct replica_row v[2];

    said();
    row.n_lines = 0;
    row.end = 1700;
    v[0] = v[1] = row;
    v[0].flags = REPLICA_MORE;
    v[1].flags = 0;
    v[1].before = UINT64_MAX - 5;
    cr_expect_eq(APPLY(5010, STAMP(5010), .n = 2, .v = v), SQ_EPROTO);
    cr_expect(asks(BY_ASKING_NAME, 600, 5020), "its ranks were not counted anew");
}

Test(replica_stream, a_full_pool_makes_names_asked, .init = begin, .fini = end)
{
    all.pool.max_bytes = 100;
    said();
    cr_expect(asks(BY_ASKING_NAME, 3, 5010));
    cr_expect_leq(all.pool.n_bytes, 100);
}

/* ---- what is said to the node ------------------------------------------------------------ */

Test(replica_stream, marks_are_said_and_stamps_asked_for_at_least_so_often, .init = begin, .fini = end)
{
    struct msg_seen m;

    cr_expect_not(stream_seen(st, OURS, &m), "no link");
    stream_up(st, OURS);
    m = hear(0);
    cr_expect(m.seq == 1 && m.flags == SEEN_ECHO && m.n == 0 && m.clock_ms == OURS);
    cr_expect_not(stream_seen(st, OURS + SEEN_EVERY_MS - 100, &m));
    cr_assert(seen_add(&st->seen, 7, CLIENT_GAME, 5, 1000));
    m = hear(SEEN_EVERY_MS - 50);
    cr_expect(m.seq == 2 && m.flags == 0 && m.n == 1 && m.v[0].name == 7);
    m = hear(SEEN_EVERY_MS);
    cr_expect(m.seq == 3 && m.flags == SEEN_ECHO && m.n == 0);
    stream_down(st);
    stream_up(st, OURS + 1200);
    m = hear(1200);
    cr_expect(m.seq == 2 && m.flags == SEEN_ECHO && m.n == 1, "again, and as the first");
    stream_farewell(st, OURS + 1300, &m);
    cr_expect(m.seq == 4 && m.flags == SEEN_LAST);
}

/* test_replica_feed.c: the link over which a node pushes its lines: damage, the end. */
#include "tests/lib/routerrig.h"

#include "router/links/seg_link.h"

static struct stream *stream(void)
{
    return replicas_stream(&w.r->replicas, 1);
}

static bool has_replica(void)
{
    return stream()->state == STREAM_LIVE;
}

static void setup_feed(void)
{
    replica_fresh = 60000;
    setup_all();
    UNTIL(has_replica());
}

static void expect_asked(unsigned n)
{
    w.places = 0;
    cr_expect_eq(call("GET", ticket_path(5, 1), ""), 200);
    cr_expect_eq(w.places, n);
}

TestSuite(replica_feed, .fini = teardown, .timeout = 200);

Test(replica_feed, damage_closes_the_link_and_the_next_one_begins_anew, .init = setup_feed)
{
    struct msg m = { .type = MSG_REPLICA };

    m.replica = (struct msg_replica) { .stamp_ms = 1, .echo_ms = INT64_MAX / 2 };
    send_msg(w.seg_ch, &m, 0);
    UNTIL(!stream()->up);
    UNTIL(stream()->up && has_replica());
    expect_asked(0);
}

static void on_done(void *arg)
{
    *(bool *)arg = true;
}

Test(replica_feed, the_farewell_waits_until_all_polls_are_confirmed, .init = setup_feed)
{
    bool done = false;

    expect_asked(0);
    seg_links_farewell(w.r->segs, on_done, &done);
    cr_expect_not(done);
    UNTIL(done);
    cr_expect_eq(w.seen, 1);
    cr_expect(w.seen_flags & SEEN_LAST);
}

Test(replica_feed, a_farewell_that_nobody_confirms_ends_soon, .init = setup_feed)
{
    msec_t from = ev_now(w.r->ev); /* the turn's: the clock may be ahead of it */
    bool done = false;

    w.does_with_seen = SEEN_UNHEARD;
    seg_links_farewell(w.r->segs, on_done, &done);
    UNTIL(done);
    cr_expect_geq(ev_now(w.r->ev) - from, 200);
}

/* Waits for nothing: the link is down, or was never up. */
static void setup_alone(void)
{
    replica_fresh = 60000;
    setup();
    start_manager();
}

Test(replica_feed, who_hears_no_node_says_farewell_at_once, .init = setup_alone)
{
    bool done = false;

    seg_links_farewell(w.r->segs, on_done, &done);
    cr_expect(done);
}

static bool is_told(void)
{
    return w.left.number == 42;
}

static bool is_repeated(void)
{
    return w.drops == 2;
}

Test(replica_feed, who_has_left_is_told_to_managers_and_the_node_hears_it_again, .init = setup_feed)
{
    cr_expect_eq(call("DELETE", ticket_path(42, 1), ""), 204);
    cr_expect_not(is_told(), "the node tells it");
    rpc_chan_close(w.seg_ch, "killed");
    UNTIL(is_told());
    cr_expect_eq(call("GET", ticket_path(42, 1), ""), 410);
    cr_expect_str_eq(str("reason"), "left");
    UNTIL(is_repeated());
    cr_expect_eq(w.r->leave_us.n, 1, "its repetition is nobody's request");
}

/* A router that stood still finds both links closed in the same turn. */
Test(replica_feed, who_has_left_is_told_later_if_the_manager_goes_with_the_node, .init = setup_feed)
{
    cr_expect_eq(call("DELETE", ticket_path(42, 1), ""), 204);
    rpc_chan_close(w.seg_ch, "killed");
    rpc_chan_close(w.mng_ch, "killed");
    UNTIL(is_told());
    UNTIL(is_repeated());
}

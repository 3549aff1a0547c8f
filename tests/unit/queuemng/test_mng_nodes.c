/* test_mng_nodes.c: segment nodes register, report, fall silent, are forgotten. */
#include "tests/lib/mngmade.h"

#include "queuemng/chain/chain.h"
#include "queuemng/chain/move_state.h"
#include "queuemng/core/map.h"
#include "queuemng/core/segment_nodes.h"
#include "queuemng/core/view.h"
#include "queuemng/state/node.h"
#include "queuemng/state/segment.h"

MADE_SUITE(mng_nodes, "\"merge\": false", w.m->cluster_id = 77);

static void say_hello(struct mnode *n, uint64_t store, uint64_t epoch)
{
    struct msg_node_reg g = { .addr = "1.2.3.4:5", .admin = "", .store = store,
                              .epoch_seen = epoch, .max_tickets = 1000,
                              .max_segments = 10 };

    on_node_reg(w.m, n, &g);
}

static void report_all(struct mnode *n, const struct seg_status *v, uint32_t count)
{
    struct msg_seg_status g = { .epoch = 1, .full = true, .n = count, .max_tickets = 1000 };

    g.v = (struct seg_status *)(uintptr_t)v; /* only read */
    on_seg_status(w.m, n, &g);
}

Test(mng_nodes, a_node_is_up_when_its_report_is_complete)
{
    peer_no to;

    say_hello(a, 77, 0);
    cr_assert_not(a->registered);
    cr_assert_eq(made_sent(&w, MSG_NODE_OK, &to)->node_ok.no, a->no);
    cr_assert_eq(to, a->peer);
    report_all(a, NULL, 0);
    cr_assert(a->registered);
}

static void look_where(void *ctx, const void *view)
{
    const struct mng_node_view *v = view;

    if (v->no == a->no)
        snprintf(ctx, 32, "%s/%s", v->region, v->zone);
}

Test(mng_nodes, a_node_says_where_it_is_and_one_of_before_does_not)
{
    struct msg_node_reg g = { .addr = "1.2.3.4:5", .admin = "", .store = 77, .max_tickets = 1000,
                              .max_segments = 10, .region = "eu", .zone = "eu-1a" };
    char where[32];

    on_node_reg(w.m, a, &g);
    mng_each_node(w.m, look_where, where);
    cr_expect_str_eq(where, "eu/eu-1a");
    g.region = "\xff";
    g.zone = "a\nevent=b";
    on_node_reg(w.m, a, &g);
    mng_each_node(w.m, look_where, where);
    cr_expect_str_eq(where, "/", "no names: JSON would refuse the whole list, and a line of the log is one line");
    g.region = "us";
    on_node_reg(w.m, a, &g);
    say_hello(a, 77, 0);
    mng_each_node(w.m, look_where, where);
    cr_expect_str_eq(where, "/");
}

Test(mng_nodes, a_segment_that_nobody_knows_is_to_be_forgotten)
{
    struct seg_status st = { .seg = 555, .queue = 1, .state = SEG_SEALED };

    say_hello(a, 77, 0);
    report_all(a, &st, 1);
    cr_assert(made_sent(&w, MSG_SEG_REMOVE, NULL)->seg_remove.force);
    cr_assert_gt(w.m->next_seg, 555, "its id is not given again");
}

Test(mng_nodes, a_segment_that_its_node_does_not_report_is_lost)
{
    struct mseg *s = made_sealed(&w, a, 100, 10);

    say_hello(a, 77, 0);
    report_all(a, NULL, 0);
    cr_assert(seg_is_lost(s) && s->absent);
}

Test(mng_nodes, one_that_was_to_be_removed_and_is_not_reported_is_gone)
{
    struct mseg *s = made_sealed(&w, a, 100, 0);
    seg_id id = s->id;

    s->want_remove = true;
    say_hello(a, 77, 0);
    report_all(a, NULL, 0);
    cr_assert_null(seg_find(w.m, id));
    cr_assert_eq(w.m->count.removed, 1);
}

Test(mng_nodes, a_node_of_another_cluster_gets_no_orders)
{
    say_hello(a, 78, 0);
    cr_assert(a->foreign);
    cr_assert_null(made_sent(&w, MSG_NODE_OK, NULL));
}

Test(mng_nodes, a_node_that_has_seen_a_higher_epoch_fences_this_manager)
{
    say_hello(a, 77, 9);
    cr_assert_eq(mng_fenced_by(w.m), 9);
}

Test(mng_nodes, a_refusal_drops_what_is_not_open_yet_and_spares_the_node_for_a_while)
{
    struct mseg *s = made_open(&w, a, 0, 0);
    seg_id id = s->id;

    s->phase = SEG_OPENING;
    b->tickets = 900000;
    on_open_refused(w.m, a);
    cr_assert_null(seg_find(w.m, id));
    cr_assert_eq(place_pick(w.m, NULL, NULL, 0), b);
    made_step(&w, MADE_NOW + MNG_REFUSED_MS);
    nodes_tick(w.m);
    cr_assert_eq(place_pick(w.m, NULL, NULL, 0), a);
}

Test(mng_nodes, a_silent_node_is_given_up_after_lost_after)
{
    struct mseg *s = made_sealed(&w, a, 100, 10);

    made_node_down(&w, a, MADE_NOW);
    made_step(&w, MADE_NOW + w.m->opts.lost_after_ms - 1);
    nodes_tick(w.m);
    cr_assert_not(seg_is_lost(s));
    made_step(&w, MADE_NOW + w.m->opts.lost_after_ms);
    nodes_tick(w.m);
    cr_assert(seg_is_lost(s) && a->given_up);
}

Test(mng_nodes, one_that_is_given_up_leaves_the_directory_when_its_segments_are_elsewhere)
{
    struct mseg *s = made_sealed(&w, a, 100, 10);

    a->came = true;
    (void)directory_look(w.m);
    b->draining = true; /* no room for it */
    made_node_down(&w, a, MADE_NOW);
    made_step(&w, MADE_NOW + w.m->opts.lost_after_ms);
    nodes_tick(w.m);
    lane_plan(w.m, w.l);
    nodes_tick(w.m);
    cr_assert(a->given_up && a->member && s->node == a);
    b->draining = false;
    lane_plan(w.m, w.l);
    cr_assert(a->member && s->node == b);
    nodes_tick(w.m);
    cr_assert_not(a->member);
}

Test(mng_nodes, a_drained_node_is_forgotten_when_its_passes_are_over)
{
    msec_t session = queue_session_ms(&w.q->def);

    w.m->opts.forget_after_ms = 1;
    a->draining = true;
    memset(a->pass_key, 1, 32); /* it alone has this key */
    made_node_down(&w, a, MADE_NOW);
    made_step(&w, MADE_NOW + session - 1);
    nodes_tick(w.m);
    cr_assert(a->retired);
    cr_assert_eq(node_forget_in_ms(w.m, a), 1);
    made_step(&w, MADE_NOW + session);
    nodes_tick(w.m);
    cr_assert_null(node_by_name(w.m, "a"));
}

Test(mng_nodes, a_change_of_the_directory_is_stored_and_told_to_all)
{
    a->came = b->came = true;
    cr_assert(directory_look(w.m));
    cr_assert_eq(made_sent(&w, MSG_MEMBERS, NULL)->members.n, 2);
    cr_assert_eq(w.m->members_version, ((uint64_t)1 << 24) + 1);
    cr_assert_str_eq(w.out.act[w.out.n - 1].key, "directory");
    cr_assert_not(directory_look(w.m), "nothing has changed since");
}

/* ---- routers hear which are not reached ----------------------------------------------------- */

static void reports(const struct mseg *s, uint64_t move, bool rebuild)
{
    struct seg_status st = { .seg = s->id, .queue = w.q->id, .state = SEG_SEALED, .waiting = 10,
                             .move = move, .rebuild = rebuild };

    report_all(s->node, &st, 1);
}

Test(mng_nodes, what_is_left_of_a_move_is_not_the_segment_that_is_rebuilt)
{
    struct mseg *s = made_sealed(&w, a, 100, 10);
    uint64_t move = move_next_id(w.m);

    w.m->next_move++;
    seg_lost(w.m, s);
    lane_plan(w.m, w.l);
    cr_assert(seg_is_rebuilding(s) && !seg_is_announced(s));
    reports(s, move, false);
    cr_assert(seg_is_rebuilding(s) && !seg_is_announced(s));
    reports(s, 0, true);
    cr_assert(seg_is_reported(s));
    seg_set_phase(s, SEG_OPENING); /* as the next manager has it, but for the opening itself: */
    seg_set_phase(s, SEG_STORED);
    say_hello(s->node, 77, 0);
    reports(s, move, false);
    cr_assert(seg_is_lost(s), "its node does not have it");
}

static const struct msg_stats *said_of_nodes(msec_t now_ms)
{
    const struct msg *m;

    made_step(&w, now_ms);
    stats_look(w.m);
    if (!w.m->stats_now)
        return NULL;
    w.m->stats_now = false;
    stats_flush(w.m);
    m = made_sent(&w, MSG_STATS, NULL);
    cr_assert(m != NULL && m->stats.reach);
    return &m->stats;
}

Test(mng_nodes, routers_hear_at_once_which_nodes_are_not_reached)
{
    struct mrouter router = { .peer = 9, .registered = true };
    const struct msg_stats *s;

    list_push_back(&w.m->routers, &router.in);
    made_sealed(&w, a, 100, 10);
    a->heard_ms = w.m->now_ms;
    cr_expect_null(said_of_nodes(a->heard_ms + MNG_SILENT_MS));
    s = said_of_nodes(a->heard_ms + MNG_SILENT_MS + 1);
    cr_assert(s != NULL && s->n_unreached == 1);
    cr_expect(s->unreached[0].no == a->no && s->unreached[0].silent_ms == MNG_SILENT_MS + 1);
    cr_expect_null(said_of_nodes(a->heard_ms + 2000), "it is said already");
    a->heard_ms = w.m->now_ms;
    s = said_of_nodes(w.m->now_ms);
    cr_assert(s != NULL && s->n_unreached == 0);
    made_node_down(&w, a, w.m->now_ms);
    s = said_of_nodes(w.m->now_ms + 10);
    cr_assert(s != NULL && s->n_unreached == 1);
    list_remove(&w.m->routers, &router.in);
}

/* A tick is late by `late_ms`; the next one is due at once. */
static void stand_still(msec_t late_ms)
{
    w.m->tick_due_ms = w.m->now_ms;
    made_step(&w, w.m->now_ms + late_ms);
    mng_forgive(w.m, w.m->now_ms);
}

Test(mng_nodes, a_time_in_which_the_manager_stood_still_gives_no_node_up)
{
    msec_t down_ms = w.m->now_ms - 100;

    made_node_down(&w, b, down_ms);
    stand_still(5000);
    cr_expect_eq(b->down_ms, down_ms + 5000);
    mng_forgive(w.m, w.m->now_ms);
    cr_expect_eq(b->down_ms, down_ms + 5000, "once for each time");
    stand_still(900);
    cr_expect_eq(b->down_ms, down_ms + 5000, "a tick may be a little late");
}

/* Routers show places as last known of a node that nobody has heard since, so that is told as it was;
 * and nobody behind it is told less until it is heard again. */
Test(mng_nodes, the_manager_stood_still_and_no_node_was_heard_meanwhile)
{
    struct mrouter router = { .peer = 9, .registered = true };
    const struct msg_stats *s;

    list_push_back(&w.m->routers, &router.in);
    made_sealed(&w, a, 100, 10);
    a->heard_ms = w.m->now_ms;
    stand_still(5000);
    cr_expect_not(node_is_reached(w.m, a));
    s = said_of_nodes(w.m->now_ms);
    cr_assert(s != NULL && s->n_unreached == 1);
    cr_expect_eq(s->unreached[0].silent_ms, 5000);
    list_remove(&w.m->routers, &router.in);
}

/* Its tick is late by a second, every three seconds, for as long as it takes. */
Test(mng_nodes, a_dead_node_is_given_up_also_by_a_manager_that_stumbles)
{
    msec_t from = w.m->now_ms;

    made_node_down(&w, b, from);
    while (!b->given_up && w.m->now_ms - from < 60000) {
        for (int i = 0; i < 20; i++) {
            made_step(&w, w.m->now_ms + 100);
            nodes_tick(w.m);
        }
        stand_still(1000);
    }
    cr_expect_leq(w.m->now_ms - from, w.m->opts.lost_after_ms * 3 / 2 + 3000);
}

/* How many rows a router is told at this moment. */
static uint32_t told_left(struct mrouter *to, msec_t now_ms)
{
    const struct msg *m;
    peer_no peer = 0;

    made_step(&w, now_ms);
    left_flush(w.m, to);
    m = made_sent(&w, MSG_LEFT, &peer);
    cr_assert(m == NULL || peer == to->peer);
    return m != NULL ? m->left.n : 0;
}

Test(mng_nodes, who_has_left_is_passed_on_to_all_other_routers)
{
    struct mrouter from = { .peer = 8, .registered = true }, other = { .peer = 9, .registered = true };
    struct left_row row[] = { { 11, 4 }, { 12, 5 } };
    const struct msg *m;
    peer_no to = 0;
    msec_t now = MADE_NOW;

    list_push_back(&w.m->routers, &from.in);
    list_push_back(&w.m->routers, &other.in);
    made_step(&w, now);
    left_pass_on(w.m, &from, &(struct msg_left) { 2, row });
    m = made_sent(&w, MSG_LEFT, &to);
    cr_assert(m != NULL && to == 9 && w.out.box.n == 1);
    cr_expect(m->left.n == 2 && m->left.v[1].seg == 12 && m->left.v[1].number == 5);
    cr_expect_eq(told_left(&other, now + 2 * REPLICA_KEEP_MS - 1), 2, "it registers later");
    cr_expect_eq(told_left(&other, now + 2 * REPLICA_KEEP_MS), 0, "too late to matter");
    list_remove(&w.m->routers, &from.in);
    list_remove(&w.m->routers, &other.in);
}

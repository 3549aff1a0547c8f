/* test_mng_pop.c: whom the manager releases from, what it moves and what it keeps, message
 * by message, against two nodes that say whatever a test makes them say. */
#include "tests/lib/criterion.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/chain/move_state.h"
#include "queuemng/core/mng.h"
#include "tests/lib/quiet.h"

#define SEGS 200
#define QUEUE                                                                            \
    "{\"name\": \"q\", \"release_per_s\": 10, \"segment_capacity\": 10, "                \
    "\"merge\": false, \"open_next_at\": 0.5}"

struct world {
    struct mng *m;
    struct mng_out out;
    msec_t now;
    uint64_t epoch;
    seg_id opened[SEGS]; /* in the order of their opening */
    node_no at[SEGS];    /* 1 or 2: which node */
    unsigned n_opened;
    struct msg_seg_pop pop; /* the last */
    peer_no popped_at;      /* 0: none since it was looked at */
    unsigned pops;
    uint64_t next_seg; /* as stored */
    char chain[4096];  /* as stored */
    struct msg_move_in move; /* the last one ordered; move 0: none */
    struct msg_seg_open rebuild; /* the last one; its marks are not there any more */
    struct mark_row last_mark;   /* but this one is */
    peer_no rebuilt_at;
    unsigned removes;
    seg_id ahead_of; /* the last that was told how many are before it */
    uint64_t ahead;
};

static struct world w;

static void keep(const struct mng_act *a)
{
    const char *next = strstr(a->val, "\"next_seg\":");

    if (strcmp(a->key, "meta") == 0)
        w.next_seg = strtoull(next + strlen("\"next_seg\":"), NULL, 10);
    if (strncmp(a->key, "chain/", 6) == 0)
        snprintf(w.chain, sizeof(w.chain), "%s", a->val);
}

static void see_rebuild(const struct msg_seg_open *o, peer_no at)
{
    w.rebuild = *o;
    w.rebuilt_at = at;
    if (o->n_marks > 0)
        w.last_mark = o->marks[o->n_marks - 1];
}

/* Takes what the manager keeps and sends. */
static void take(void)
{
    cr_assert_not(w.out.box.failed);
    for (uint32_t i = 0; i < w.out.n; i++)
        if (w.out.act[i].kind == MNG_PUT)
            keep(&w.out.act[i]);
    for (uint32_t i = 0; i < w.out.box.n; i++) {
        const struct out_item *it = &w.out.box.v[i];
        bool known = false;

        if (it->m.type == MSG_NODE_OK)
            w.epoch = it->m.node_ok.epoch;
        if (it->m.type == MSG_SEG_POP) {
            w.pop = it->m.seg_pop;
            w.popped_at = it->to;
            w.pops++;
        }
        if (it->m.type == MSG_MOVE_IN)
            w.move = it->m.move_in;
        if (it->m.type == MSG_SEG_AHEAD && it->m.seg_ahead.n > 0) {
            w.ahead_of = it->m.seg_ahead.v[it->m.seg_ahead.n - 1].seg;
            w.ahead = it->m.seg_ahead.v[it->m.seg_ahead.n - 1].ahead;
        }
        w.removes += it->m.type == MSG_SEG_REMOVE;
        if (it->m.type == MSG_SEG_OPEN && it->m.seg_open.kind == OPEN_REBUILD)
            see_rebuild(&it->m.seg_open, it->to);
        if (it->m.type != MSG_SEG_OPEN)
            continue;
        cr_assert_lt(it->m.seg_open.seg, w.next_seg, "an id that may be given again");
        for (unsigned k = 0; k < w.n_opened; k++)
            known |= w.opened[k] == it->m.seg_open.seg;
        if (known)
            continue;
        cr_assert_lt(w.n_opened, SEGS);
        w.opened[w.n_opened] = it->m.seg_open.seg;
        w.at[w.n_opened++] = it->to;
    }
    mng_out_reset(&w.out);
}

static void say(peer_no from, struct msg m)
{
    mng_msg(w.m, w.now, from, &m, &w.out);
    take();
}

static void tick(unsigned n)
{
    for (; n > 0; n--) {
        w.now += 100;
        mng_tick(w.m, w.now, 1700000000000 + w.now, &w.out);
        take();
    }
}

static struct seg_status status(unsigned i, enum seg_state state, uint32_t joined,
                                uint32_t waiting)
{
    return (struct seg_status){ .seg = w.opened[i], .queue = 1, .state = state,
                                .capacity = 10, .joined = joined, .waiting = waiting };
}

static void report_moving(unsigned i, enum seg_state state, uint32_t joined,
                          uint32_t waiting, uint64_t move)
{
    struct seg_status s = status(i, state, joined, waiting);
    struct msg m = { .type = MSG_SEG_STATUS };

    s.move = move;
    m.seg_status.epoch = w.epoch;
    m.seg_status.n = 1;
    m.seg_status.v = &s;
    m.seg_status.max_tickets = 1000000;
    say(w.at[i], m);
}

static void report(unsigned i, enum seg_state state, uint32_t joined, uint32_t waiting)
{
    report_moving(i, state, joined, waiting, 0);
}

static void answer_pop(unsigned i, uint64_t epoch, uint32_t n, uint32_t waiting)
{
    struct msg m = { .type = MSG_SEG_POPPED };

    m.seg_popped.epoch = epoch;
    m.seg_popped.seg = w.opened[i];
    m.seg_popped.tick = w.pop.tick;
    m.seg_popped.n = n;
    m.seg_popped.status = status(i, SEG_OPEN, 8, waiting);
    say(w.at[i], m);
}

/* has: NULL, or the one segment that it has. */
static void node_up(peer_no p, const char *name, struct seg_status *has)
{
    struct msg reg = { .type = MSG_NODE_REG }, full = { .type = MSG_SEG_STATUS };

    mng_peer_up(w.m, w.now, p, 2, name, 1, &w.out);
    take();
    reg.node_reg.addr = "127.0.0.1:1";
    reg.node_reg.admin = "";
    reg.node_reg.max_tickets = 1000000;
    reg.node_reg.max_segments = 100;
    say(p, reg);
    full.seg_status.epoch = w.epoch;
    full.seg_status.full = true;
    full.seg_status.n = has != NULL;
    full.seg_status.v = has;
    full.seg_status.max_tickets = 1000000;
    say(p, full);
}

static void put_queue(const char *json)
{
    struct cfg_node *doc = NULL;
    struct queue_def d = { 0 };
    struct err e = { 0 };

    cr_assert_eq(cfg_parse_json(&doc, json, strlen(json), &e), 0, "%s", e.text);
    cr_assert_eq(cfg_bind(&d, sizeof(d), queue_def_keys, doc, "test", &e), 0, "%s", e.text);
    cr_assert_eq(mng_define(w.m, DEF_QUEUE, w.now, &d, &w.out, &e), 0, "%s", e.text);
    take();
    cfg_clear(&d, queue_def_keys);
    cfg_node_free(doc);
}

/* Two nodes; the head, with 8 joined, and its successor, which is open already. */
static void setup(void)
{
    quiet_log();
    memset(&w, 0, sizeof(w));
    w.now = 1000;
    w.m = mng_new(&(struct mng_opts){ .seed = 1 });
    mng_out_init(&w.out);
    mng_start(w.m, w.now, 1700000000000, &w.out);
    take();
    node_up(1, "a", NULL);
    node_up(2, "b", NULL);
    put_queue(QUEUE);
    cr_assert_geq(w.n_opened, 1);
    report(0, SEG_OPEN, 8, 0);
    tick(1);
    cr_assert_geq(w.n_opened, 2, "a successor is opened");
    report(1, SEG_OPEN, 0, 0);
    w.pops = 0;
}

static void teardown(void)
{
    mng_free(w.m);
    mng_out_fini(&w.out);
}

TestSuite(mng_pop, .init = setup, .fini = teardown);

static void see_queue(void *ctx, const void *view)
{
    *(struct mng_queue_view *)ctx = *(const struct mng_queue_view *)view;
}

static uint64_t granted(void)
{
    struct mng_queue_view v = { 0 };

    mng_each_queue(w.m, see_queue, &v);
    return v.granted;
}

static uint64_t released(void)
{
    struct mng_counts c;

    mng_count(w.m, &c);
    return c.released;
}

/* People released in so many ticks, 100 a second, by a node whose answers take way_ms. */
static uint64_t released_over(msec_t way_ms, unsigned ticks)
{
    uint64_t was = released();
    msec_t due = 0;

    put_queue("{\"name\": \"q\", \"release_per_s\": 100, \"segment_capacity\": 10, "
              "\"merge\": false, \"open_next_at\": 0.5}");
    report(0, SEG_OPEN, 8, 5000);
    w.popped_at = 0;
    for (; ticks > 0; ticks--) {
        tick(1);
        if (w.popped_at != 0 && due == 0)
            due = w.now + way_ms;
        if (due != 0 && w.now >= due) {
            w.popped_at = 0;
            due = 0;
            answer_pop(0, w.epoch, w.pop.n, 5000);
        }
    }
    return released() - was;
}

Test(mng_pop, a_far_head_gets_the_whole_rate)
{
    uint64_t n;

    (void)released_over(300, 100); /* by then it knows how far it is */
    n = released_over(300, 200);
    cr_expect(n >= 1900 && n <= 2010, "%llu of 2000 in 20 s", (unsigned long long)n);
}

/* The most people beyond the rate in any window, of 1000 ticks that come as late as dice say: a head
 * whose answers take way_ms, 12 a second. As tests/chaos/check_history.py counts. */
static double most_beyond(msec_t way_ms, unsigned late_ms)
{
    double spent = 0, lead = 0, most = 0;
    msec_t due = 0, began = w.now, next;
    uint64_t was = released();
    uint32_t dice = 1;

    put_queue("{\"name\": \"q\", \"release_per_s\": 12, \"segment_capacity\": 10, "
              "\"merge\": false, \"open_next_at\": 0.5, \"no_show_boost\": 1}");
    report(0, SEG_OPEN, 8, 50000);
    for (unsigned i = 0; i < 1000; i++) {
        next = w.now + (msec_t)(((dice = dice * 1664525 + 1013904223) >> 16) % (late_ms + 1));
        if (due != 0 && due <= next + 100) {
            w.now = due;
            due = 0;
            answer_pop(0, w.epoch, w.pop.n, 50000);
        }
        w.now = next;
        w.popped_at = 0;
        tick(1);
        if (w.popped_at == 0 || due != 0)
            continue;
        due = w.now + way_ms + ((dice >> 8) % 8 == 0 ? 700 : 0); /* now and then a jam, which is no way */
        spent = (double)(released() - was) + w.pop.n - 0.012 * (double)(w.now - began);
        most = fmax(most, spent - lead);
        lead = fmin(lead, spent - w.pop.n);
    }
    return most;
}

/* A late tick, the one that is carried, and the way there and back, with what is less than one: so much
 * the judge of a history allows, too (F64_regions.sh). */
Test(mng_pop, a_far_head_gets_no_more_than_the_way_takes_at_once)
{
    double near = most_beyond(5, 100), far = most_beyond(170, 100);

    cr_expect_leq(near, 1 + 12 * 0.3, "%g", near);
    cr_expect_leq(far, 1 + 12 * (0.3 + 0.17), "%g", far);
    cr_expect_gt(far, 1 + 12 * 0.301, "%g: no more than a near one", far);
}

Test(mng_pop, what_a_stopped_node_did_not_release_is_not_made_up_for)
{
    cr_expect_leq(released_over(5000, 52), 11, "what a tick earns");
    cr_expect_leq(released_over(0, 10), 121, "and not the five seconds");
}

static uint64_t skipped(void)
{
    struct mng_counts c;

    mng_count(w.m, &c);
    return c.pops_skipped;
}

/* The head may have got two more, and sealed itself, since it last said that it is empty. */
Test(mng_pop, an_open_head_is_asked_first)
{
    report(1, SEG_OPEN, 3, 3);
    tick(5);
    cr_assert_gt(w.pops, 0);
    cr_assert_eq(w.pop.seg, w.opened[0], "asked is %lu", w.pop.seg);
}

Test(mng_pop, a_dry_head_is_passed_over)
{
    report(0, SEG_SEALED, 10, 0);
    report(1, SEG_OPEN, 3, 3);
    tick(5);
    cr_assert_gt(w.pops, 0);
    cr_assert_eq(w.pop.seg, w.opened[1], "asked is %lu", w.pop.seg);
}

/* Nobody waits there yet: but it may be the target of an earlier manager's move, committed,
 * and not aware of it. */
Test(mng_pop, a_head_in_an_unknown_move_is_not_passed_over)
{
    report_moving(0, SEG_SEALED, 10, 0, 77);
    report(1, SEG_OPEN, 3, 3);
    tick(5);
    cr_assert_gt(w.pops, 0);
    cr_assert_eq(w.pop.seg, w.opened[0], "asked is %lu", w.pop.seg);
}

Test(mng_pop, the_answer_under_an_older_epoch_counts_for_nothing)
{
    report(0, SEG_OPEN, 8, 5);
    tick(5);
    cr_assert_gt(w.pops, 0);
    answer_pop(0, w.epoch - 1, 1, 4);
    cr_assert_eq(released(), 0);
    answer_pop(0, w.epoch, 1, 4);
    cr_assert_eq(released(), 1);
}

Test(mng_pop, the_answer_to_another_tick_counts_for_nothing)
{
    report(0, SEG_OPEN, 8, 5);
    tick(5);
    w.pop.tick++;
    answer_pop(0, w.epoch, 1, 4);
    cr_assert_eq(released(), 0);
}

/* Nobody knows whether it happened: it stays counted as given (I7). */
Test(mng_pop, an_abandoned_release_stays_spent)
{
    uint64_t before;

    report(0, SEG_OPEN, 8, 5);
    tick(5);
    cr_assert_gt(w.pops, 0);
    before = granted();
    cr_assert_geq(before, w.pop.n);
    mng_peer_down(w.m, w.now, w.at[0], &w.out);
    take();
    while (skipped() == 0) {
        cr_assert_eq(granted(), before, "not given up yet");
        cr_assert_lt(w.now, 20000);
        tick(1);
    }
    cr_assert_eq(granted(), before);
}

Test(mng_pop, a_late_answer_is_asked_for_again_with_the_same_tick)
{
    uint64_t first;

    report(0, SEG_OPEN, 8, 5);
    tick(5);
    cr_assert_eq(w.pops, 1);
    first = w.pop.tick;
    tick(30);
    cr_assert_gt(w.pops, 1);
    cr_assert_eq(w.pop.tick, first);
    cr_assert_eq(w.pop.seg, w.opened[0]);
}

Test(mng_pop, a_paused_queue_releases_nobody_whatever_its_rate)
{
    put_queue("{\"name\": \"q\", \"release_per_s\": 1000, \"segment_capacity\": 10, "
              "\"merge\": false, \"open_next_at\": 0.5, \"state\": \"paused\"}");
    report(0, SEG_OPEN, 8, 5);
    tick(20);
    cr_assert_eq(w.pops, 0);
}

/* ---- what it keeps ------------------------------------------------------------------ */

/* take() compares each with what was stored before the order to open it. */
Test(mng_pop, segment_ids_are_reserved_before_use)
{
    for (unsigned i = 0; i < SEGS - 20; i++) {
        report(i, SEG_SEALED, 10, 0);
        tick(1);
        cr_assert_gt(w.n_opened, i + 1);
    }
}

Test(mng_pop, an_assumed_sealed_tail_stays_sealed)
{
    char sealed[64];

    snprintf(sealed, sizeof(sealed), "[%lu,%u,%d,", w.opened[0], w.at[0], SEG_SEALED);
    cr_assert_null(strstr(w.chain, sealed), "%s", w.chain);
    mng_peer_down(w.m, w.now, w.at[0], &w.out);
    take();
    tick(30);
    cr_assert_not_null(strstr(w.chain, sealed), "%s", w.chain);
}

/* ---- moves -------------------------------------------------------------------------- */

#define MERGING                                                                          \
    "{\"name\": \"q\", \"release_per_s\": 0.01, \"segment_capacity\": 10, "              \
    "\"merge\": true, \"open_next_at\": 0.5}"

static void say_move(peer_no from, uint8_t side, uint8_t what, uint32_t tickets)
{
    struct msg m = { .type = MSG_MOVE_STATUS };

    m.move_status.epoch = w.epoch;
    m.move_status.move = w.move.move;
    m.move_status.from = w.move.from;
    m.move_status.to = w.move.to;
    m.move_status.side = side;
    m.move_status.report = what;
    m.move_status.tickets = tickets;
    m.move_status.why = "test";
    say(from, m);
}

/* Committed, and then its target has no copy any more: the source has them all. */
Test(mng_pop, an_undone_move_leaves_no_alias)
{
    char alias[64];

    put_queue(MERGING);
    report(0, SEG_SEALED, 10, 3);
    report(1, SEG_SEALED, 10, 3);
    tick(15);
    cr_assert_neq(w.move.move, 0, "they are merged");
    snprintf(alias, sizeof(alias), "[%lu,%lu,", w.move.from, w.move.to);
    say_move(w.at[0], MOVE_SIDE_IN, MOVE_ACCEPTED, 0);
    say_move(w.at[1], MOVE_SIDE_OUT, MOVE_COPYING, 3);
    say_move(w.at[0], MOVE_SIDE_IN, MOVE_FENCED, 3);
    cr_assert_not_null(strstr(w.chain, alias), "the commit is kept: %s", w.chain);
    say_move(w.at[0], MOVE_SIDE_IN, MOVE_ABORTED, 0);
    tick(1);
    cr_assert_null(strstr(w.chain, alias), "it is undone: %s", w.chain);
}

/* Taken for sealed while nobody reached it; but it says that it is open. */
Test(mng_pop, open_segments_are_not_moved)
{
    struct seg_status s = status(0, SEG_OPEN, 8, 3);

    put_queue(MERGING);
    report(1, SEG_SEALED, 10, 3);
    mng_peer_down(w.m, w.now, w.at[0], &w.out);
    take();
    tick(30);
    node_up(w.at[0], w.at[0] == 1 ? "a" : "b", &s);
    tick(15);
    cr_assert_eq(w.move.move, 0, "a move of what is open");
    report(0, SEG_SEALED, 8, 3);
    tick(15);
    cr_assert_neq(w.move.move, 0, "now they are merged");
}

/* ---- what is lost -------------------------------------------------------------------- */

/* It was over, and its record is not stored any more: there is nobody to wait for. */
Test(mng_pop, a_segment_being_removed_is_not_lost_with_its_node)
{
    report(0, SEG_SEALED, 10, 0);
    tick(1);
    cr_assert_gt(w.removes, 0);
    mng_peer_down(w.m, w.now, w.at[0], &w.out);
    take();
    tick(330);
    cr_assert_neq(w.rebuild.seg, w.opened[0], "it is opened elsewhere");
}

static void report_marks(unsigned i, const struct mark_row *v, uint32_t n)
{
    struct seg_status s = status(i, SEG_OPEN, 10, 5);
    struct msg m = { .type = MSG_SEG_STATUS };

    s.marks = v;
    s.n_marks = n;
    m.seg_status.epoch = w.epoch;
    m.seg_status.n = 1;
    m.seg_status.v = &s;
    m.seg_status.max_tickets = 1000000;
    say(w.at[i], m);
}

/* More than fit into a message, before the second is over in which they are dropped. */
Test(mng_pop, of_too_many_releases_the_latest_are_told)
{
    static struct mark_row v[1000];

    for (unsigned k = 0; k < 10; k++) {
        for (unsigned i = 0; i < ARRAY_LEN(v); i++)
            v[i] = (struct mark_row){ w.opened[0], i % 8, i % 8 + 1, true,
                                      1700000000000 + k * 1000 + i };
        report_marks(0, v, ARRAY_LEN(v));
    }
    mng_peer_down(w.m, w.now, w.at[0], &w.out);
    take();
    node_up(w.at[0], w.at[0] == 1 ? "a" : "b", NULL); /* empty */
    cr_assert_eq(w.rebuild.seg, w.opened[0]);
    cr_assert_eq(w.rebuild.n_marks, MSG_MARKS_MAX);
    cr_assert_eq(w.last_mark.at_ms, 1700000000000 + 9 * 1000 + 999);
}

/* The one before it may be in a move of which we know nothing, and counts as full till that
 * is clear. Who has forgotten what people were told must not hear such a bound (I4). */
Test(mng_pop, a_rebuilt_segment_gets_a_safe_bound)
{
    struct seg_status s;

    report(0, SEG_SEALED, 10, 3);
    report(1, SEG_SEALED, 10, 4);
    mng_peer_down(w.m, w.now, w.at[1], &w.out);
    take();
    s = status(0, SEG_SEALED, 10, 3);
    node_up(w.at[1], w.at[1] == 1 ? "a" : "b", w.at[0] == w.at[1] ? &s : NULL);
    cr_assert_eq(w.rebuild.seg, w.opened[1]);
    for (unsigned i = 1; i < w.n_opened; i++)
        if (w.opened[i] == w.rebuild.seg)
            w.at[i] = w.rebuilt_at;
    w.ahead_of = 0;
    report_moving(0, SEG_SEALED, 10, 3, 77);
    report(1, SEG_SEALED, 10, 4); /* whole again */
    tick(2);
    cr_assert_neq(w.ahead_of, w.opened[1], "told %lu", w.ahead);
    report(0, SEG_SEALED, 10, 3);
    tick(2);
    cr_assert_eq(w.ahead_of, w.opened[1]);
    cr_assert_eq(w.ahead, 3);
}

static void lose(unsigned i)
{
    mng_peer_down(w.m, w.now, w.at[i], &w.out);
    take();
    node_up(w.at[i], w.at[i] == 1 ? "a" : "b", NULL); /* empty */
}

/* Nobody is back yet: those behind it wait. */
Test(mng_pop, a_head_under_rebuild_is_not_skipped)
{
    struct seg_status s;
    struct msg m = { .type = MSG_SEG_STATUS };

    report(0, SEG_SEALED, 10, 5);
    report(1, SEG_OPEN, 3, 3);
    cr_assert_neq(w.at[0], w.at[1]);
    lose(0);
    cr_assert_eq(w.rebuild.seg, w.opened[0]);
    w.at[0] = w.rebuilt_at;
    w.pops = 0;
    tick(20);
    cr_assert_eq(w.pops, 0, "asked is %lu before it is opened", w.pop.seg);
    s = status(0, SEG_SEALED, 10, 0);
    s.rebuild = true;
    m.seg_status.epoch = w.epoch;
    m.seg_status.n = 1;
    m.seg_status.v = &s;
    m.seg_status.max_tickets = 1000000;
    say(w.at[0], m);
    tick(5);
    cr_assert_gt(w.pops, 0);
    cr_assert_eq(w.pop.seg, w.opened[0], "asked is %lu", w.pop.seg);
}

static void refuse(peer_no p)
{
    struct msg m = { .type = MSG_ERROR };

    m.error.code = SQ_EUNAVAIL;
    m.error.about = MSG_SEG_OPEN;
    m.error.text = "too many segments";
    say(p, m);
}

/* No node has room for it: waited for, but not for ever. */
Test(mng_pop, a_lost_head_is_waited_for_and_then_passed_over)
{
    report(0, SEG_SEALED, 10, 5);
    report(1, SEG_OPEN, 3, 3);
    cr_assert_neq(w.at[0], w.at[1]);
    refuse(1);
    refuse(2);
    report(1, SEG_OPEN, 3, 3);
    lose(0);
    cr_assert_eq(w.rebuild.seg, 0, "nobody has room");
    w.pops = 0;
    tick(30);
    cr_assert_eq(w.pops, 0, "asked is %lu", w.pop.seg);
    tick(30);
    cr_assert_gt(w.pops, 0);
    cr_assert_eq(w.pop.seg, w.opened[1], "asked is %lu", w.pop.seg);
}

/* It was told to commit, the manager never heard that it had, took it for lost, and let the
 * source go on. What it brings back has the source's tickets in it, too. */
Test(mng_pop, a_target_of_an_undone_commit_is_not_taken_back)
{
    struct seg_status s;
    seg_id y;

    put_queue(MERGING);
    report(0, SEG_SEALED, 10, 3);
    report(1, SEG_SEALED, 10, 3);
    tick(15);
    cr_assert_neq(w.move.move, 0, "they are merged");
    cr_assert_eq(w.move.to, w.opened[0]);
    y = w.move.from;
    say_move(w.at[0], MOVE_SIDE_IN, MOVE_ACCEPTED, 0);
    say_move(w.at[1], MOVE_SIDE_OUT, MOVE_COPYING, 3);
    say_move(w.at[0], MOVE_SIDE_IN, MOVE_FENCED, 3);
    mng_peer_down(w.m, w.now, w.at[0], &w.out);
    take();
    for (int i = 0; i < 33; i++) {
        refuse(w.at[1]); /* nobody else has room */
        tick(10);
    }
    cr_assert_neq(w.rebuild.seg, w.opened[0]);
    w.removes = 0;
    s = status(0, SEG_SEALED, 10, 6);
    s.absorbed = &y;
    s.n_absorbed = 1;
    node_up(w.at[0], w.at[0] == 1 ? "a" : "b", &s);
    cr_assert_gt(w.removes, 0, "what it brings is taken");
    say_move(w.at[1], MOVE_SIDE_OUT, MOVE_ABORTED, 0);
    tick(20);
    cr_assert_eq(w.rebuild.seg, w.opened[0], "its people bring it back");
}

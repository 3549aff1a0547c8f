/* test_mng_pop.c: whom the manager releases from, message by message, against two nodes
 * that say whatever a test makes them say. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "queuemng/mng.h"

#define QUEUE                                                                            \
    "{\"name\": \"q\", \"release_per_s\": 10, \"segment_capacity\": 10, "                \
    "\"merge\": false, \"open_next_at\": 0.5}"

struct world {
    struct mng *m;
    struct mng_out out;
    msec_t now;
    uint64_t epoch;
    seg_id opened[8]; /* in the order of their opening */
    node_no at[8];    /* 1 or 2: which node */
    unsigned n_opened;
    struct msg_seg_pop pop; /* the last */
    peer_no popped_at;      /* 0: none since it was looked at */
    unsigned pops;
};

static struct world w;

static void quiet(void *ctx, enum log_level level, const char *line)
{
    (void)ctx;
    (void)level;
    (void)line;
}

/* Takes what the manager sends. */
static void take(void)
{
    cr_assert_not(w.out.box.failed);
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
        if (it->m.type != MSG_SEG_OPEN)
            continue;
        for (unsigned k = 0; k < w.n_opened; k++)
            known |= w.opened[k] == it->m.seg_open.seg;
        if (known)
            continue;
        cr_assert_lt(w.n_opened, 8);
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

static void node_up(peer_no p, const char *name)
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
    full.seg_status.max_tickets = 1000000;
    say(p, full);
}

/* Two nodes; the head, with 8 joined, and its successor, which is open already. */
static void setup(void)
{
    struct cfg_node *doc = NULL;
    struct queue_def d = { 0 };
    struct err e = { 0 };

    log_set_sink(quiet, NULL);
    memset(&w, 0, sizeof(w));
    w.now = 1000;
    w.m = mng_new(&(struct mng_opts){ .seed = 1 });
    mng_out_init(&w.out);
    mng_start(w.m, w.now, 1700000000000, &w.out);
    take();
    node_up(1, "a");
    node_up(2, "b");
    cr_assert_eq(cfg_parse_json(&doc, QUEUE, strlen(QUEUE), &e), 0, "%s", e.text);
    cr_assert_eq(cfg_bind(&d, sizeof(d), queue_def_keys, doc, "test", &e), 0, "%s", e.text);
    cr_assert_eq(mng_queue_put(w.m, w.now, &d, &w.out, &e), 0, "%s", e.text);
    take();
    cfg_clear(&d, queue_def_keys);
    cfg_node_free(doc);
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

/* The head may have got two more, and sealed itself, since it last said that it is empty. */
Test(mng_pop, an_open_head_is_asked_before_those_behind_it)
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
Test(mng_pop, a_release_that_is_given_up_stays_spent)
{
    uint64_t before;

    report(0, SEG_OPEN, 8, 5);
    tick(5);
    cr_assert_gt(w.pops, 0);
    before = granted();
    cr_assert_geq(before, w.pop.n);
    mng_peer_down(w.m, w.now, w.at[0], &w.out);
    take();
    tick(49);
    cr_assert_eq(granted(), before, "not given up yet");
    tick(5); /* skip_after_ms: 5 s */
    cr_assert_geq(granted(), before);
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

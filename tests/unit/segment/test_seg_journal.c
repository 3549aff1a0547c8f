/* test_seg_journal.c: a segment node's table and its journal together, on a disk that
 * fills up and breaks: nothing that was acknowledged is ever missing after a restart. */
#include <errno.h>

#include "common/journal/format.h"
#include "segment/core/location.h"
#include "segment/core/state.h"
#include "segment/service/journal.h"
#include "tests/lib/segrig.h"
#include "tests/lib/sim/disk.c" /* unit programs link no simulation */

struct jnode {
    struct simdisk *sd;
    struct node_cfg cfg;
    struct seg_journal *j;
    uint64_t boot; /* of the machine */
    struct rig r; /* one node of it; no wire */
};

static struct jnode n;

/* What a service does whose turn was not written. */
static void undo_turn(void)
{
    struct segtab_opts o = rig_opts(1u << 20);
    struct err e = { 0 };

    o.log = seg_journal_log;
    o.log_room = seg_journal_room;
    o.log_ctx = n.j;
    segtab_free(n.r.t[0]);
    n.r.t[0] = segtab_new(&o);
    cr_assert_eq(seg_journal_again(n.j, n.r.t[0], n.r.now, &e), 0, "%s", e.text);
    rig_start(&n.r, 0);
}

/* What was said since the last flush may be sent? If not it was not. */
static bool flush(void)
{
    if (seg_journal_flush(n.j))
        return true;
    undo_turn();
    return false;
}

static bool turn(void)
{
    n.r.now.now_ms += 100;
    n.r.now.wall_ms += 100;
    rig_step(&n.r, 0, (struct segtab_in) { .kind = SEGTAB_TICK });
    seg_journal_tick(n.j, n.r.now.now_ms);
    return flush();
}

static void start(void)
{
    struct segtab_opts o = rig_opts(1u << 20);
    struct err e = { 0 };

    cr_assert_eq(seg_journal_new(&n.j, &n.cfg, simdisk_disk(n.sd), &e), 0, "%s", e.text);
    seg_journal_set_boot(n.j, n.boot);
    o.log = seg_journal_log;
    o.log_room = seg_journal_room;
    o.log_ctx = n.j;
    n.r.t[0] = segtab_new(&o);
    cr_assert_eq(seg_journal_recover(n.j, n.r.t[0], n.r.now, &e), 0, "%s", e.text);
    rig_start(&n.r, 0);
}

static void restart(void)
{
    simdisk_die_at(n.sd, 1); /* what is not flushed by now is gone */
    segtab_free(n.r.t[0]);
    seg_journal_free(n.j);
    simdisk_kill(n.sd);
    start();
}

static void setup(void)
{
    memset(&n, 0, sizeof(n));
    log_set_level(LOG_ERROR);
    n.sd = simdisk_new(3);
    n.cfg.node = strdup("seg.0");
    n.cfg.journal = JOURNAL_OS;
    n.r.n = 1;
    n.r.epoch = 1;
    n.boot = 1;
    n.r.now = (struct seg_now) { 1000000, 1700000000000 };
    arena_init(&n.r.mem);
    start();
    rig_open(&n.r, 0, 1, OPEN_TAIL, 100000, 0);
    cr_assert(turn());
}

static void teardown(void)
{
    for (uint32_t i = n.r.head; i != n.r.tail; i++)
        buf_fini(&n.r.q[i % ARRAY_LEN(n.r.q)].body);
    segtab_free(n.r.t[0]);
    seg_journal_free(n.j);
    simdisk_free(n.sd);
    free(n.cfg.node);
    arena_fini(&n.r.mem);
}

TestSuite(seg_journal, .init = setup, .fini = teardown);

static struct keeper_counts counts(void)
{
    struct keeper_counts c;

    seg_journal_count(n.j, &c);
    return c;
}

static uint64_t waiting(void)
{
    struct segtab_counts c;

    segtab_count(n.r.t[0], &c);
    return c.waiting;
}

Test(seg_journal, a_turn_is_durable_after_its_flush)
{
    cr_assert(seg_journal_reserve(n.j, 10));
    rig_join(&n.r, 0, 1, 10);
    cr_assert(seg_journal_flush(n.j));
    rig_join(&n.r, 0, 1, 5); /* nobody was told */
    restart();
    cr_assert_eq(waiting(), 10);
    cr_assert_eq(counts().recovered, 10);
    cr_assert_eq(rig_join_as(&n.r, 0, 1, NULL).number, 10);
}

static void power_cut(void)
{
    simdisk_die_at(n.sd, 1);
    segtab_free(n.r.t[0]);
    seg_journal_free(n.j);
    simdisk_crash(n.sd);
    n.boot++;
    start();
}

/* With `os` the joins of the last second may be gone after a power cut. Their numbers are not:
 * who joins next must not get the place, and the pass, of somebody who has it on his token. */
Test(seg_journal, a_number_is_never_given_twice_after_a_power_cut)
{
    for (int i = 0; i < 12; i++)
        cr_assert(turn()); /* synced so far */
    rig_join(&n.r, 0, 1, 10);
    cr_assert(seg_journal_flush(n.j), "they were told");
    power_cut();
    cr_assert_leq(waiting(), 10);
    cr_assert_eq(rig_join_as(&n.r, 0, 1, NULL).state, APPEND_SEALED);
    restart();
    cr_assert_eq(rig_join_as(&n.r, 0, 1, NULL).state, APPEND_SEALED, "that is kept");
    rig_open(&n.r, 0, 2, OPEN_TAIL, 100, 0);
    cr_assert(turn());
    restart();
    cr_assert_eq(rig_join_as(&n.r, 0, 2, NULL).state, APPEND_OK, "a kill -9 seals nothing");
}

Test(seg_journal, a_full_disk_refuses_joins_and_keeps_tickets)
{
    rig_join(&n.r, 0, 1, 1000);
    cr_assert(turn());
    simdisk_set_room(n.sd, simdisk_used(n.sd));
    while (seg_journal_reserve(n.j, 10000)) /* what was set aside before runs out */
        ;
    cr_assert_gt(counts().refused, 0);
    cr_assert_eq(rig_leave(&n.r, 0, 1, 3).state, DROP_OK);
    cr_assert(turn(), "leaves have their room");
    cr_assert_eq(counts().holding, 0);
    simdisk_set_room(n.sd, UINT64_MAX);
    for (int i = 0; i < 12; i++) /* promises that nobody took come back */
        cr_assert(turn());
    cr_assert(seg_journal_reserve(n.j, 10));
    restart();
    cr_assert_eq(waiting(), 999);
    cr_assert_eq(rig_poll(&n.r, 0, 1, 3).reason, GONE_LEFT);
}

/* Else people would be sent to it, in vain. */
Test(seg_journal, a_full_disk_is_told_also_after_a_turn_that_was_taken_back_and_after_a_restart)
{
    simdisk_set_room(n.sd, simdisk_used(n.sd));
    while (seg_journal_reserve(n.j, 10000))
        ;
    for (int i = 0; i < 12; i++)
        cr_assert(turn());
    cr_assert(n.r.t[0]->no_room);
    simdisk_fail_at(n.sd, 1, EIO);
    rig_join(&n.r, 0, 1, 1);
    cr_assert_not(flush());
    cr_expect(n.r.t[0]->no_room);
    restart();
    simdisk_set_room(n.sd, 1u << 19); /* less than what each log sets aside */
    restart();
    (void)turn();
    cr_expect(n.r.t[0]->no_room, "before anybody has asked");
    simdisk_set_room(n.sd, UINT64_MAX);
    for (int i = 0; i < 12; i++)
        (void)turn();
    cr_expect_not(n.r.t[0]->no_room);
}

/* The turn in which a write fails is not told; from then on nothing new is promised, until
 * a whole snapshot is on the disk. */
Test(seg_journal, a_failed_write_takes_the_turn_back_and_is_cured_by_a_snapshot)
{
    rig_join(&n.r, 0, 1, 100);
    cr_assert(turn());
    rig_join(&n.r, 0, 1, 7);
    simdisk_fail_at(n.sd, 1, EIO);
    cr_assert_not(flush());
    cr_assert_eq(counts().taken_back, 1);
    cr_assert_eq(counts().holding, 1);
    cr_assert_eq(waiting(), 100, "as if it had not been");
    cr_assert_eq(rig_join_as(&n.r, 0, 1, NULL).state, APPEND_BUSY);
    cr_assert_not(seg_journal_reserve(n.j, 1));
    cr_assert_eq(rig_poll(&n.r, 0, 1, 50).position, 51, "polls go on");
    for (int i = 0; i < 100 && counts().holding; i++)
        (void)turn();
    cr_assert_eq(counts().holding, 0);
    cr_assert_eq(counts().file.snapshots, 1);
    cr_assert_eq(rig_join_as(&n.r, 0, 1, NULL).state, APPEND_OK);
    cr_assert(turn());
    restart();
    cr_assert_eq(waiting(), 101);
}

/* Whatever the disk cannot write has not happened: in its turn, and after it. */
static void cannot_leave(int error)
{
    rig_join(&n.r, 0, 1, 100);
    cr_assert(turn());
    cr_assert_eq(rig_poll(&n.r, 0, 1, 90).position, 91);
    simdisk_break(n.sd, 1, error);
    cr_assert_eq(rig_leave(&n.r, 0, 1, 10).state, DROP_OK);
    cr_assert_not(turn(), "so nobody hears of it");
    for (int i = 0; i < 20; i++) {
        cr_assert_eq(rig_leave(&n.r, 0, 1, 20 + i).state, DROP_BUSY);
        cr_assert_eq(rig_session(&n.r, 0, 1, 20 + i, SESS_RELEASE, 0).state, SESS_BUSY);
        cr_assert(turn());
        cr_assert_eq(rig_poll(&n.r, 0, 1, 90).position, 91);
        cr_assert_eq(rig_poll(&n.r, 0, 1, 10).state, PLACE_WAITING);
    }
    simdisk_break(n.sd, 0, 0);
    restart();
    cr_assert_eq(waiting(), 100);
    cr_assert_eq(rig_leave(&n.r, 0, 1, 10).state, DROP_OK);
    cr_assert(turn());
    restart();
    cr_assert_eq(rig_poll(&n.r, 0, 1, 10).reason, GONE_LEFT);
    cr_assert_eq(rig_poll(&n.r, 0, 1, 90).position, 90);
}

Test(seg_journal, nobody_leaves_while_writes_fail)
{
    cannot_leave(EIO);
}

Test(seg_journal, a_full_disk_refuses_leaves)
{
    cannot_leave(ENOSPC);
}

/* "Used" is written before it is answered: after a kill, and behind a snapshot, it is known. */
Test(seg_journal, what_was_used_stays_used)
{
    rig_join(&n.r, 0, 1, 100);
    rig_pop(&n.r, 0, 1, 1, 3);
    cr_assert_eq(rig_poll(&n.r, 0, 1, 0).state, PLACE_ADMITTED);
    cr_assert_eq(rig_session(&n.r, 0, 1, 0, SESS_USE, 7).state, SESS_OK);
    cr_assert(turn());
    simdisk_break(n.sd, 1, EIO);
    cr_assert_eq(rig_session(&n.r, 0, 1, 1, SESS_USE, 7).state, SESS_OK);
    cr_assert_not(turn(), "so nobody hears of it");
    cr_assert_eq(rig_session(&n.r, 0, 1, 1, SESS_USE, 8).state, SESS_BUSY);
    simdisk_break(n.sd, 0, 0);
    for (int i = 0; i < 2; i++) { /* the second time from the snapshot of the first */
        restart();
        cr_expect_eq(rig_session(&n.r, 0, 1, 0, SESS_USE, 8).state, SESS_GONE);
        cr_expect_eq(rig_session(&n.r, 0, 1, 0, SESS_USE, 7).state, SESS_OK);
    }
    cr_expect_eq(rig_session(&n.r, 0, 1, 1, SESS_USE, 8).state, SESS_OK, "it did not happen");
}

/* What was written and not synced is there for the kernel only. */
Test(seg_journal, an_unsynced_leave_is_undone)
{
    n.cfg.journal = JOURNAL_FSYNC;
    restart();
    rig_join(&n.r, 0, 1, 100);
    cr_assert(turn());
    cr_assert_eq(rig_leave(&n.r, 0, 1, 10).state, DROP_OK);
    simdisk_fail_at(n.sd, 2, EIO); /* write, sync */
    cr_assert_not(flush());
    cr_assert_eq(rig_poll(&n.r, 0, 1, 10).state, PLACE_WAITING);
    cr_assert_eq(rig_poll(&n.r, 0, 1, 90).position, 91);
}

/* The time in which nothing could be written does not count, and what was said of the place
 * ahead is taken when it can be written. */
Test(seg_journal, nobody_expires_and_no_position_falls_while_nothing_can_be_written)
{
    rig_open(&n.r, 0, 2, OPEN_TAIL, 100, 500);
    rig_join(&n.r, 0, 2, 10);
    cr_assert(turn());
    simdisk_break(n.sd, 1, ENOSPC);
    rig_join(&n.r, 0, 1, 1);
    cr_assert_not(turn());
    for (int i = 0; i < 200; i++) {
        struct ahead_entry v = { 2, 400 - (uint64_t)i };

        rig_order(&n.r, 0, (struct msg) { .type = MSG_SEG_AHEAD,
                                          .seg_ahead = { .epoch = 1, .v = &v, .n = 1 } });
        (void)turn();
        cr_assert_eq(rig_poll(&n.r, 0, 2, 9).position, 510);
    }
    cr_assert_eq(waiting(), 10, "20 s, and 3 would have been too long");
    simdisk_break(n.sd, 0, 0);
    for (int i = 0; i < 100 && counts().holding; i++)
        (void)turn();
    cr_assert_eq(counts().holding, 0);
    cr_assert_eq(rig_poll(&n.r, 0, 2, 9).position, 211);
    cr_assert(turn());
    restart();
    cr_assert_leq(rig_poll(&n.r, 0, 2, 9).position, 211);
    for (int i = 0; i < 3000 && waiting() > 0; i++)
        cr_assert(turn());
    cr_assert_eq(waiting(), 0, "then time goes on");
}

/* ---- by chance: what was told is so after a kill ------------------------------------ */
#define PEOPLE 400

struct told { /* of a number of segment 1 */
    bool joined, left, gone;
    uint64_t position; /* the last */
};

struct world {
    struct rng rng;
    struct told sure[PEOPLE], now[PEOPLE]; /* what was sent; and said in this turn */
    bool asked[PEOPLE]; /* to leave; perhaps without an answer, and then either may be so */
    uint64_t tick;
};

static struct world w;

static void hear(uint32_t i)
{
    struct place_ans a = rig_poll(&n.r, 0, 1, i);
    struct told *x = &w.now[i];

    if (a.state == PLACE_BUSY)
        return;
    cr_assert(!x->left || a.state == PLACE_GONE, "%u has left, and waits", i);
    if (a.state != PLACE_GONE) {
        cr_assert(!x->gone, "%u was gone, and is back", i);
        cr_assert(x->position == 0 || a.state != PLACE_WAITING || a.position <= x->position,
                  "%u was at %lu, and is at %lu", i, (unsigned long)x->position,
                  (unsigned long)a.position);
        x->position = a.state == PLACE_WAITING ? a.position : 1;
        return;
    }
    cr_assert_neq(a.reason, GONE_LOST, "%u has joined, and is not known", i);
    cr_assert(a.reason != GONE_LEFT || w.asked[i], "%u has not left", i);
    x->gone = true;
}

static void join_or_leave(void)
{
    uint32_t i = (uint32_t)rng_below(&w.rng, PEOPLE);
    struct append_ans a;

    if (w.now[i].joined) {
        if (rng_chance(&w.rng, 0.3)) {
            w.asked[i] = true;
            w.now[i].left |= rig_leave(&n.r, 0, 1, i).state == DROP_OK;
        }
        return;
    }
    if (!seg_journal_reserve(n.j, 1))
        return;
    a = rig_join_as(&n.r, 0, 1, NULL);
    if (a.state == APPEND_OK && a.number < PEOPLE) {
        cr_assert_not(w.now[a.number].joined, "number %u twice", a.number);
        w.now[a.number].joined = true;
        w.now[a.number].position = a.position;
    }
}

static void act(void)
{
    uint64_t what = rng_below(&w.rng, 100);
    uint32_t i = (uint32_t)rng_below(&w.rng, PEOPLE);

    if (what < 50)
        join_or_leave();
    else if (what < 90 && w.now[i].joined)
        hear(i);
    else if (what < 95)
        rig_pop(&n.r, 0, 1, ++w.tick, (uint32_t)rng_below(&w.rng, 4));
    else
        rig_jump(&n.r, (msec_t)rng_below(&w.rng, 900));
}

static void break_or_mend(void)
{
    switch (rng_below(&w.rng, 5)) {
    case 0:
        simdisk_break(n.sd, rng_chance(&w.rng, 0.5) ? 1 : 0.3, EIO);
        break;
    case 1:
        simdisk_break(n.sd, rng_chance(&w.rng, 0.5) ? 1 : 0.3, ENOSPC);
        break;
    case 2:
        simdisk_set_room(n.sd, simdisk_used(n.sd) + rng_below(&w.rng, 5000));
        break;
    default:
        simdisk_break(n.sd, 0, 0);
        simdisk_set_room(n.sd, UINT64_MAX / 4);
    }
}

static void kill_it(void)
{
    simdisk_break(n.sd, 0, 0);
    simdisk_set_room(n.sd, UINT64_MAX / 4);
    restart();
    memcpy(w.now, w.sure, sizeof(w.now));
}

static void live(uint64_t seed)
{
    memset(&w, 0, sizeof(w));
    rng_seed(&w.rng, seed);
    simdisk_set_short(n.sd, seed % 3 == 0 ? 0.2 : 0);
    for (int i = 0; i < 400; i++) {
        for (uint64_t k = rng_below(&w.rng, 6); k > 0; k--)
            act();
        arena_reset(&n.r.mem);
        if (turn())
            memcpy(w.sure, w.now, sizeof(w.sure));
        else
            memcpy(w.now, w.sure, sizeof(w.now));
        if (rng_chance(&w.rng, 0.05))
            break_or_mend();
        if (rng_chance(&w.rng, 0.02))
            kill_it();
    }
    kill_it();
    for (uint32_t i = 0; i < PEOPLE; i++)
        if (w.now[i].joined)
            hear(i);
}

Test(seg_journal, answers_survive_a_kill_with_a_failing_disk)
{
    const char *seeds = getenv("SEEDS"), *first = getenv("FIRST");
    uint64_t at = first != NULL ? strtoull(first, NULL, 10) : 1;
    uint64_t end = at + (seeds != NULL ? strtoull(seeds, NULL, 10) : 300);

    log_set_level(LOG_ERROR);
    for (; at < end; at++) {
        teardown();
        setup();
        n.cfg.journal_snapshot = at % 2 == 0 ? 8192 : 0;
        n.cfg.journal = at % 5 == 0 ? JOURNAL_FSYNC : JOURNAL_OS;
        restart();
        live(at);
    }
}

/* The k-th call of the disk fails, for every k: whatever was told is there afterwards. */
Test(seg_journal, answers_survive_every_failing_call)
{
    for (uint64_t k = 1; k <= 60; k++) {
        uint64_t told = 0;

        simdisk_fail_at(n.sd, k, k % 2 == 0 ? EIO : ENOSPC);
        for (int i = 0; i < 30; i++) {
            bool joined = seg_journal_reserve(n.j, 1) &&
                          rig_join_as(&n.r, 0, 1, NULL).state == APPEND_OK;
            uint64_t now = waiting();

            if (turn() && joined)
                told = now;
        }
        simdisk_fail_at(n.sd, 0, 0);
        restart();
        cr_assert_geq(waiting(), told, "call %llu", (unsigned long long)k);
    }
    cr_assert_gt(waiting(), 60);
}

/* ---- what a move brings is more than a group ------------------------------------------ */

#define MANY 12000 /* with names of 200 bytes: 2.9 MB of records */

static void named(seg_id seg, uint32_t count)
{
    char name[240];

    for (uint32_t i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "u%llu-%u%0180d", (unsigned long long)seg, i, 0);
        cr_assert_eq(rig_join_as(&n.r, 0, seg, name).state, APPEND_OK);
    }
}

static void begin_again(void)
{
    teardown();
    setup();
    rig_open(&n.r, 0, 2, OPEN_TAIL, 100000, 0);
    rig_join(&n.r, 0, 1, 10);
    named(2, MANY);
    rig_seal(&n.r, 0, 1, 2);
    rig_seal(&n.r, 0, 2, 9);
    cr_assert(turn());
}

static struct msg move_end(uint64_t move, bool commit)
{
    return (struct msg){ .type = MSG_MOVE_END, .move_end = { n.r.epoch, move, 2, 1, commit } };
}

/* Segment 2 goes into segment 1: all that is left is to commit it. */
static void copy(uint64_t move)
{
    rig_order(&n.r, 0, (struct msg){ .type = MSG_MOVE_IN, .move_in = { n.r.epoch, move, 2, 1, MANY } });
    rig_order(&n.r, 0, (struct msg){ .type = MSG_MOVE_OUT, .move_out = { n.r.epoch, move, 2, 1, "", "" } });
    for (int i = 0; i < 20 && n.r.in_report != MOVE_FENCED; i++)
        cr_assert(turn());
    cr_assert_eq(n.r.in_report, MOVE_FENCED, "%s", n.r.why);
    n.r.in_report = 0;
    cr_assert(turn());
}

static bool is_in(seg_id host)
{
    const struct seg *g = segtab_seg(n.r.t[0], host);

    return g != NULL && g->b.subjects.n == MANY && g->b.q.waiting >= MANY;
}

static bool is_whole(void)
{
    bool moved = is_in(1), stayed = is_in(2);

    cr_assert(moved != stayed);
    cr_assert_eq(waiting(), MANY + 10);
    cr_assert_eq(rig_poll(&n.r, 0, 2, 77).state, (moved ? PLACE_WAITING : PLACE_BUSY));
    return moved;
}

/* What is said of both segments after it counts; and the move is made again, if it has not happened. */
static void goes_on(bool moved)
{
    cr_assert_eq(rig_leave(&n.r, 0, 1, 3).state, DROP_OK);
    if (!moved)
        rig_order(&n.r, 0, move_end(5, false));
    cr_assert_eq(rig_leave(&n.r, 0, 2, 7).state, DROP_OK);
    cr_assert(turn());
    restart();
    cr_assert_eq(waiting(), MANY + 8);
    if (!moved) {
        copy(6);
        rig_order(&n.r, 0, move_end(6, true));
        cr_assert(turn());
        restart();
    }
    cr_assert(segtab_seg(n.r.t[0], 1)->b.subjects.n == MANY - 1 && segtab_seg(n.r.t[0], 2) == NULL);
    cr_assert_eq(rig_poll(&n.r, 0, 1, 3).reason, GONE_LEFT);
    cr_assert_eq(rig_poll(&n.r, 0, 2, 7).state, PLACE_GONE);
    cr_assert_eq(rig_poll(&n.r, 0, 2, MANY - 1).position, segtab_seg(n.r.t[0], 1)->b.q.waiting);
}

/* The machine loses its power, or the process is killed, at each call of the disk. */
static unsigned dies_at(uint64_t k, enum journal_mode mode)
{
    bool moved;

    begin_again();
    n.cfg.journal = mode;
    restart();
    copy(5);
    simdisk_die_at(n.sd, k);
    rig_order(&n.r, 0, move_end(5, true));
    if (seg_journal_flush(n.j) && !simdisk_is_dead(n.sd))
        return 0;
    segtab_free(n.r.t[0]);
    seg_journal_free(n.j);
    if (mode == JOURNAL_FSYNC)
        simdisk_crash(n.sd);
    else
        simdisk_kill(n.sd);
    start();
    moved = is_whole();
    goes_on(moved);
    return moved ? 2 : 1;
}

Test(seg_journal, a_move_of_many_groups_is_whole_or_undone, .timeout = 120)
{
    for (int mode = JOURNAL_OS; mode <= JOURNAL_FSYNC; mode++) {
        unsigned undone = 0, k = 1, was;

        while ((was = dies_at(k, (enum journal_mode)mode)) != 0) {
            undone += was == 1;
            k++;
        }
        cr_expect_gt(undone, 3, "%u writes", k);
    }
}

/* The turn has not happened, and what is in the file of it is worth nothing later. */
Test(seg_journal, a_move_whose_groups_cannot_be_written_is_undone, .timeout = 120)
{
    unsigned undone = 0;

    for (uint64_t k = 2; k <= 21; k++) {
        begin_again();
        rig_open(&n.r, 0, 3, OPEN_TAIL, 100, 0);
        copy(5);
        simdisk_fail_at(n.sd, k / 2, k % 2 == 0 ? EIO : ENOSPC);
        rig_order(&n.r, 0, move_end(5, true));
        if (flush()) { /* a call that may fail */
            cr_assert(is_whole());
            continue;
        }
        undone++;
        cr_assert_not(is_whole());
        for (int i = 0; i < 100 && counts().holding; i++)
            (void)turn();
        cr_assert_eq(counts().holding, 0);
        cr_assert_eq(rig_leave(&n.r, 0, 1, 9).state, DROP_OK); /* it counts */
        rig_join(&n.r, 0, 3, 1);
        cr_assert(turn());
        restart();
        cr_assert_not(is_whole());
        goes_on(false);
    }
    cr_expect_geq(undone, 6, "%u", undone);
}

/* Groups of such a turn have other records, too: they are in the file, so they count, told or not. Else
 * what is written behind them would not fit to them, and no start could read it. */
Test(seg_journal, what_a_move_is_written_with_stays_when_that_cannot_be, .timeout = 120)
{
    unsigned undone = 0;

    for (uint64_t k = 2; k <= 21; k++) {
        uint64_t now;

        begin_again();
        rig_open(&n.r, 0, 3, OPEN_TAIL, 1000, 0);
        cr_assert(turn());
        copy(5);
        rig_join(&n.r, 0, 3, 2);
        simdisk_fail_at(n.sd, k / 2, k % 2 == 0 ? EIO : ENOSPC);
        rig_order(&n.r, 0, move_end(5, true));
        undone += !flush();
        simdisk_fail_at(n.sd, 0, 0);
        for (int i = 0; i < 100 && (counts().holding || i == 0); i++)
            (void)turn();
        cr_assert_eq(counts().holding, 0);
        rig_join(&n.r, 0, 3, 4);
        rig_leave(&n.r, 0, 3, 0);
        cr_assert(turn());
        now = waiting();
        restart();
        cr_assert_eq(waiting(), now, "call %llu", (unsigned long long)k);
    }
    cr_expect_geq(undone, 6, "%u", undone);
}

/* It is asked before: the node goes on, and nothing of it is in the file. */
Test(seg_journal, a_move_that_finds_no_room_is_given_up)
{
    uint64_t bytes;

    begin_again();
    copy(5);
    simdisk_set_room(n.sd, simdisk_used(n.sd) + (2u << 20));
    bytes = counts().file.bytes;
    rig_order(&n.r, 0, move_end(5, true));
    cr_expect_eq(n.r.in_report, MOVE_ABORTED);
    cr_expect_str_eq(n.r.why, "there is no room in the journal for what it brings");
    cr_assert(flush());
    cr_expect_lt(counts().file.bytes - bytes, 1000);
    cr_expect(!counts().holding && !is_whole());
    simdisk_set_room(n.sd, UINT64_MAX / 4);
    cr_assert(turn());
    goes_on(false);
}

/* The bytes of a turn in memory: two moves that are committed in one are no more than one. */
Test(seg_journal, two_moves_of_one_turn_are_more_than_a_group)
{
    uint64_t bytes, writes;

    begin_again();
    rig_open(&n.r, 0, 3, OPEN_TARGET, 100000, 0);
    rig_open(&n.r, 0, 4, OPEN_TAIL, 100000, 0);
    named(4, MANY);
    rig_seal(&n.r, 0, 4, 9);
    cr_assert(turn());
    copy(5);
    rig_order(&n.r, 0, (struct msg){ .type = MSG_MOVE_IN, .move_in = { n.r.epoch, 6, 4, 3, MANY } });
    rig_order(&n.r, 0, (struct msg){ .type = MSG_MOVE_OUT, .move_out = { n.r.epoch, 6, 4, 3, "", "" } });
    for (int i = 0; i < 20 && n.r.in_report != MOVE_FENCED; i++)
        cr_assert(turn());
    bytes = counts().file.bytes;
    writes = counts().file.writes;
    rig_order(&n.r, 0, move_end(5, true));
    rig_order(&n.r, 0, (struct msg){ .type = MSG_MOVE_END, .move_end = { n.r.epoch, 6, 4, 3, true } });
    cr_assert(flush());
    cr_expect_gt((counts().file.writes - writes) * (5u << 18), counts().file.bytes - bytes,
                 "groups of a MiB each");
    cr_expect_gt(counts().file.bytes - bytes, 9u << 19);
    restart();
    cr_expect(is_in(1) && is_in(3) && segtab_seg(n.r.t[0], 4) == NULL);
}

Test(seg_journal, off_refuses_an_existing_journal)
{
    struct seg_journal *j;

    n.cfg.journal = JOURNAL_OFF;
    segtab_free(n.r.t[0]);
    seg_journal_free(n.j);
    n.r.t[0] = NULL;
    n.j = NULL;
    simdisk_kill(n.sd);
    cr_assert_eq(seg_journal_new(&j, &n.cfg, simdisk_disk(n.sd), NULL), SQ_EPROTO);
    cr_assert_null(j);
    cr_assert(seg_journal_reserve(NULL, 1000));
    cr_assert(seg_journal_flush(NULL));
}

/* test_journal_faults.c: the disk fails, fills up or loses power at every call. What was
 * promised is there afterwards, whole turns only, old or new, never neither. */
#include "tests/lib/jrig.h"

#include "common/journal/format.h"
#include "common/journal/keeper.h"
#include "tests/lib/sim/disk.c" /* unit programs link no simulation */

static const enum journal_mode modes[] = { JOURNAL_OS, JOURNAL_FSYNC };

/* A short life with everything in it. What fails is noted by the rig and gone on from. */
static void live(struct jrig *r)
{
    for (unsigned i = 0; i < 6; i++) {
        (void)jrig_turn(r, 1 + i % 3);
        (void)jrig_tick(r, 400);
    }
    (void)jrig_snapshot(r, 5);
    for (unsigned i = 0; i < 4; i++) {
        (void)jrig_turn(r, 2);
        (void)jrig_tick(r, 400);
    }
    (void)jrig_snapshot(r, 3);
    (void)jrig_turn(r, 2);
}

static uint64_t calls_of_a_life(enum journal_mode mode)
{
    struct jrig *r = jrig_new(1, mode);
    uint64_t n;

    jrig_open(r, 0);
    simdisk_fail_at(r->disk, 0, 0);
    live(r);
    n = simdisk_calls(r->disk);
    jrig_free(r);
    return n;
}

/* After a fault the journal must come to work again by snapshots alone. */
static void cure(struct jrig *r)
{
    simdisk_fail_at(r->disk, 0, 0);
    (void)jrig_tick(r, 6000);
    if (!journal_ok(r->j)) {
        cr_assert(journal_snap_due(r->j));
        cr_assert_lt(jrig_turn(r, 1), 0, "nothing is acknowledged by a failed journal");
        cr_assert_not(journal_reserve(r->j, 1));
        cr_assert_eq(jrig_snapshot(r, 2), 0, "%s", r->e.text);
    }
    cr_assert(journal_ok(r->j));
    cr_assert_eq(jrig_turn(r, 1), 0, "%s", r->e.text);
    cr_assert_eq(r->told, r->put);
}

static void fail_each_call(enum journal_mode mode, int error)
{
    uint64_t calls = calls_of_a_life(mode);

    cr_assert_gt(calls, 20);
    for (uint64_t k = 1; k <= calls; k++)
        for (unsigned then = 0; then < 4; then++) {
            struct jrig *r = jrig_new(k * 4 + then, mode);

            jrig_open(r, 0);
            simdisk_fail_at(r->disk, k, error);
            live(r);
            if (then >= 2)
                cure(r);
            if (then % 2 == 0)
                jrig_crash(r);
            else
                jrig_kill(r);
            cr_assert_eq(jrig_turn(r, 2), 0, "call %lu: %s", (unsigned long)k, r->e.text);
            jrig_restart(r);
            jrig_free(r);
        }
}

Test(journal_faults, an_io_error_at_every_call)
{
    for (unsigned m = 0; m < ARRAY_LEN(modes); m++)
        fail_each_call(modes[m], EIO);
}

Test(journal_faults, no_room_at_every_call)
{
    for (unsigned m = 0; m < ARRAY_LEN(modes); m++)
        fail_each_call(modes[m], ENOSPC);
}

Test(journal_faults, a_signal_at_every_call_changes_nothing)
{
    for (unsigned m = 0; m < ARRAY_LEN(modes); m++)
        for (uint64_t k = 1, calls = calls_of_a_life(modes[m]); k <= calls; k++) {
            struct jrig *r = jrig_new(k, modes[m]);

            jrig_open(r, 0);
            simdisk_fail_at(r->disk, k, EINTR);
            live(r);
            cr_assert(journal_ok(r->j), "call %lu", (unsigned long)k);
            jrig_restart(r);
            jrig_free(r);
        }
}

Test(journal_faults, power_is_cut_at_every_call)
{
    for (unsigned m = 0; m < ARRAY_LEN(modes); m++)
        for (uint64_t k = 1, calls = calls_of_a_life(modes[m]); k <= calls; k++)
            for (unsigned seed = 0; seed < 8; seed++) {
                struct jrig *r = jrig_new(k * 8 + seed, modes[m]);

                jrig_open(r, 0);
                simdisk_die_at(r->disk, k);
                live(r);
                cr_assert(simdisk_is_dead(r->disk));
                if (seed == 0)
                    jrig_kill(r); /* the same steps, but only the process died */
                else
                    jrig_crash(r);
                (void)jrig_turn(r, 1);
                jrig_restart(r);
                jrig_free(r);
            }
}

/* One recovery, cut off at its k-th call. False: it was over before. */
static bool die_in_recovery(struct jrig *r, uint64_t k, uint64_t at_least)
{
    int rc;

    simdisk_die_at(r->disk, k);
    rc = jrig_try_open(r);
    if (rc == 0)
        jrig_check(r, at_least);
    simdisk_die_at(r->disk, 1);
    journal_close(r->j);
    r->j = NULL;
    simdisk_crash(r->disk);
    return rc < 0;
}

Test(journal_faults, power_is_cut_at_every_call_of_recovery)
{
    for (uint64_t k = 1, calls = calls_of_a_life(JOURNAL_OS); k <= calls; k += 3) {
        struct jrig *r = jrig_new(k, JOURNAL_OS);
        uint64_t safe;

        jrig_open(r, 0);
        simdisk_fail_at(r->disk, k, EIO); /* leaves a log that failed, perhaps a void one */
        live(r);
        safe = r->safe;
        jrig_forget(r);
        simdisk_crash(r->disk);
        for (uint64_t at = 1; die_in_recovery(r, at, safe); at++)
            ;
        jrig_open(r, safe);
        jrig_free(r);
    }
}

Test(journal_faults, a_failed_sync_is_not_believed_the_second_time)
{
    struct jrig *r = jrig_new(3, JOURNAL_FSYNC);
    uint64_t told, put;

    jrig_open(r, 0);
    cr_assert_eq(jrig_turn(r, 2), 0);
    told = r->told;
    jrig_put(r, 2);
    simdisk_fail_at(r->disk, 2, EIO); /* write, sync */
    cr_assert_eq(jrig_flush(r), SQ_ESYS);
    simdisk_fail_at(r->disk, 0, 0);
    cr_assert_eq(jrig_turn(r, 1), SQ_ESYS);
    cr_assert_eq(simdisk_calls(r->disk), 0, "the file is left alone");
    cr_assert_eq(r->told, told);
    cure(r);
    put = r->put;
    jrig_crash(r);
    cr_assert_eq(r->seen, put, "the snapshot held what the log had lost");
    jrig_free(r);
}

Test(journal_faults, reserved_space_suffices_on_a_full_disk)
{
    struct jrig *r = jrig_new(5, JOURNAL_FSYNC);
    uint64_t promised = 0;

    simdisk_set_room(r->disk, 1 << 20);
    jrig_open(r, 0);
    while (journal_reserve(r->j, JOURNAL_COST(61)))
        promised++;
    cr_assert(promised > 9000 && promised < (1 << 20) / JOURNAL_COST(61));
    simdisk_set_room(r->disk, 0); /* somebody else took the rest */
    for (unsigned i = 0; i < JRIG_MAX; i++) {
        cr_assert_eq(jrig_turn(r, 1), 0, "record %u of %lu: %s", i, (unsigned long)promised,
                     r->e.text);
        cr_assert_not(journal_reserve(r->j, JOURNAL_COST(61)));
    }
    simdisk_set_room(r->disk, 8 << 20);
    cr_assert_not(journal_reserve(r->j, 1), "asked again once a tick only");
    cr_assert_eq(jrig_tick(r, 100), 0);
    cr_assert(journal_reserve(r->j, JOURNAL_COST(61)));
    jrig_crash(r);
    jrig_free(r);
}

Test(journal_faults, a_promise_given_back_is_room_again)
{
    struct jrig *r = jrig_new(5, JOURNAL_OS);
    struct journal_counts c;

    simdisk_set_room(r->disk, 1 << 20);
    jrig_open(r, 0);
    cr_assert(journal_reserve(r->j, 900000));
    cr_assert_not(journal_reserve(r->j, 200000));
    journal_give_back(r->j, 300000);
    cr_assert(journal_reserve(r->j, 200000));
    journal_counts(r->j, &c);
    cr_assert_eq(c.promised, 800000);
    journal_give_back(r->j, UINT64_MAX);
    journal_counts(r->j, &c);
    cr_assert_eq(c.promised, 0);
    jrig_free(r);
}

Test(journal_faults, a_new_log_takes_the_promises_along)
{
    struct jrig *r = jrig_new(5, JOURNAL_OS);

    simdisk_set_room(r->disk, 5 << 20);
    jrig_open(r, 0);
    cr_assert(journal_reserve(r->j, 3 << 20));
    cr_assert_eq(jrig_turn(r, 2), 0);
    cr_assert_eq(jrig_snap_begin(r), SQ_EFULL, "no room for a second log of that size");
    cr_assert_not(journal_snap_running(r->j));
    cr_assert(journal_ok(r->j));
    cr_assert_eq(jrig_turn(r, 2), 0);
    simdisk_set_room(r->disk, 10 << 20);
    cr_assert_eq(jrig_tick(r, 6000), 0);
    cr_assert_eq(jrig_snapshot(r, 2), 0, "%s", r->e.text);
    simdisk_set_room(r->disk, 0);
    for (unsigned i = 0; i < JRIG_MAX - 10; i++)
        cr_assert_eq(jrig_turn(r, 1), 0, "%s", r->e.text);
    simdisk_set_room(r->disk, 10 << 20);
    jrig_kill(r);
    jrig_free(r);
}

Test(journal_faults, a_turn_without_room_is_kept_and_goes_with_the_next)
{
    struct jrig *r = jrig_new(7, JOURNAL_OS);

    jrig_open(r, 0);
    simdisk_fail_at(r->disk, 2, ENOSPC); /* taking room was the first call */
    cr_assert_eq(jrig_turn(r, 3), 0);
    simdisk_fail_at(r->disk, 1, ENOSPC);
    cr_assert_eq(jrig_turn(r, 3), SQ_EFULL);
    cr_assert(journal_ok(r->j));
    cr_assert_not(journal_reserve(r->j, 1));
    cr_assert_eq(jrig_turn(r, 2), 0, "%s", r->e.text);
    cr_assert(journal_reserve(r->j, 1));
    cr_assert_eq(r->told, 8);
    jrig_kill(r);
    cr_assert_eq(r->seen, 8);
    jrig_free(r);
}

/* A group has a largest size; beyond it the journal behaves as without memory. */
Test(journal_faults, out_of_memory_fails_and_recovers)
{
    struct jrig *r = jrig_new(9, JOURNAL_OS);

    jrig_open(r, 0);
    cr_assert_eq(jrig_turn(r, 2), 0);
    for (unsigned i = 0; i <= JGROUP_MAX / JOURNAL_RECORD_MAX; i++)
        memset(journal_put(r->j, 1, JOURNAL_RECORD_MAX), 1, JOURNAL_RECORD_MAX);
    cr_assert_not(journal_ok(r->j));
    cr_assert_eq(jrig_flush(r), SQ_ESYS);
    cure(r);
    jrig_kill(r);
    jrig_free(r);
}

Test(journal_faults, snapshot_is_due_when_logs_grew)
{
    struct jrig *r = jrig_new(1, JOURNAL_OS);
    unsigned turns = 0;

    r->snap_after = 20000;
    jrig_open(r, 0);
    for (; !journal_snap_due(r->j); turns++)
        cr_assert_eq(jrig_turn(r, 4), 0);
    cr_assert(turns > 20 && turns < 200);
    jrig_kill(r);
    cr_assert(journal_snap_due(r->j), "the logs before the restart count");
    cr_assert_eq(jrig_snapshot(r, 4), 0);
    cr_assert_not(journal_snap_due(r->j));
    for (unsigned i = 0; i < 64; i++)
        jrig_kill(r);
    cr_assert(journal_snap_due(r->j), "many restarts leave many logs");
    jrig_free(r);
}

/* ---- by chance ------------------------------------------------------------------------ */
struct snap_state {
    bool running;
    uint64_t next;
};

static void snap_step(struct jrig *r, struct rng *rng, struct snap_state *s)
{
    int rc = 0;

    if (!s->running) {
        s->running = jrig_snap_begin(r) == 0;
        s->next = 0;
        return;
    }
    if (rng_chance(rng, 0.7))
        rc = jrig_snap_put(r, s->next++);
    else if (s->next > 0)
        s->running = jrig_snap_commit(r) != 0 && false;
    if (rc < 0 || rng_chance(rng, 0.02)) {
        journal_snap_abort(r->j);
        s->running = false;
    }
}

static void break_something(struct jrig *r, struct rng *rng)
{
    static const int errors[] = { EIO, ENOSPC, EINTR, EDQUOT };

    switch (rng_below(rng, 3)) {
    case 0:
        simdisk_fail_at(r->disk, 1 + rng_below(rng, 12), errors[rng_below(rng, 4)]);
        break;
    case 1:
        simdisk_set_room(r->disk, simdisk_used(r->disk) + rng_below(rng, 4096));
        break;
    default:
        simdisk_set_room(r->disk, UINT64_MAX / 4);
    }
}

/* The next process; its first tries may meet a dying disk, too. */
static void next_process(struct jrig *r, struct rng *rng, bool power)
{
    uint64_t least = power ? r->safe : r->told;

    jrig_forget(r);
    power ? simdisk_crash(r->disk) : simdisk_kill(r->disk);
    simdisk_set_room(r->disk, UINT64_MAX / 4);
    while (rng_chance(rng, 0.4)) {
        simdisk_die_at(r->disk, 1 + rng_below(rng, 40));
        if (jrig_try_open(r) == 0)
            jrig_check(r, least);
        jrig_forget(r);
        if (power)
            simdisk_crash(r->disk);
        else
            simdisk_kill(r->disk);
    }
    jrig_open(r, least);
    r->safe = r->put;
}

static void live_by_chance(uint64_t seed)
{
    struct jrig *r = jrig_new(seed, modes[seed % 2]);
    struct snap_state snap = { 0 };
    struct rng rng;

    r->seed = seed;
    rng_seed(&rng, seed);
    simdisk_set_short(r->disk, seed % 3 == 0 ? 0.1 : 0);
    r->snap_after = 2000;
    jrig_open(r, 0);
    for (unsigned i = 0; i < 150; i++) {
        uint64_t what = rng_below(&rng, 100);

        if (what < 60)
            (void)jrig_turn(r, (unsigned)rng_below(&rng, 6));
        else if (what < 75)
            (void)jrig_tick(r, (msec_t)rng_below(&rng, 1500));
        else if (what < 93)
            snap_step(r, &rng, &snap);
        else if (what < 96)
            break_something(r, &rng);
        else {
            next_process(r, &rng, what < 98);
            snap.running = false;
        }
    }
    simdisk_set_room(r->disk, UINT64_MAX / 4);
    if (snap.running)
        journal_snap_abort(r->j);
    cure(r);
    jrig_restart(r);
    jrig_free(r);
}

Test(journal_faults, thousands_of_lives)
{
    const char *n = getenv("SEEDS"), *first = getenv("FIRST");
    uint64_t at = first != NULL ? strtoull(first, NULL, 10) : 0;
    uint64_t end = at + (n != NULL ? strtoull(n, NULL, 10) : 5000);

    for (; at < end; at++)
        live_by_chance(at);
}

static const char *warned_of(const struct keeper *k)
{
    static char text[300];
    struct buf b;

    buf_init(&b);
    keeper_warn(k, &b);
    snprintf(text, sizeof(text), "%.*s", (int)b.len, (const char *)b.data);
    buf_fini(&b);
    return text;
}

/* Joins were refused for as long as the disk was full, and neither log, warning nor figure said so: what
 * is there went on with the room that it had reserved, so no write failed. */
Test(journal_faults, a_disk_without_room_for_what_is_new_is_told)
{
    struct simdisk *disk = simdisk_new(5);
    struct keeper_opts o = { .parent = "sim", .node = "t1", .mode = JOURNAL_OS, .format = 1,
                             .disk = simdisk_disk(disk), .thing_bytes = 128 };
    struct keeper_counts n;
    uint64_t n_things = 0;
    struct keeper *k;
    struct err e = { 0 };

    cr_assert_eq(keeper_new(&k, &o, &e), 0);
    cr_assert_eq(keeper_open(k, &(struct journal_replay){ 0 }, &e), 0, "%s", e.text);
    simdisk_set_room(disk, 1 << 20);
    while (keeper_reserve(k, 1))
        n_things++;
    keeper_promise(k, n_things - 3);
    cr_expect(!keeper_reserve(k, 32), "a turn with so many, though one alone has room");
    cr_assert(keeper_tick(k, 1000));
    cr_expect_str_eq(warned_of(k), "no room on the disk of its journal: nothing new is accepted; what is "
                                   "there goes on");
    keeper_count(k, &n);
    cr_expect_eq(n.no_room, 1);
    cr_expect_eq(n.holding, 0);
    cr_assert(keeper_tick(k, 2000));
    cr_expect_str_neq(warned_of(k), "", "nobody asked meanwhile");
    cr_assert(keeper_tick(k, 2500 + 1000));
    cr_expect_str_neq(warned_of(k), "", "three have left: no line for each who leaves and each who follows");
    cr_expect(keeper_reserve(k, 3));
    cr_expect(!keeper_reserve(k, 1));
    cr_expect(keeper_no_room(k));
    simdisk_set_room(disk, 8 << 20);
    cr_assert(keeper_tick(k, 5000));
    cr_expect_str_eq(warned_of(k), "");
    cr_expect_not(keeper_no_room(k));
    keeper_count(k, &n);
    cr_expect_eq(n.no_room, 0);
    cr_expect(keeper_reserve(k, 1));
    keeper_free(k);
    simdisk_free(disk);
}

/* test_bodies_faults.c: disks that are full, fail, forget; files that somebody changed. */
#include "tests/lib/bodyrig.h"

#include "task/bodies/body_files.h"
#include "tests/lib/sim/disk.c" /* unit programs link no simulation */

/* Whatever fails, and whenever: what was flushed is there, what was not is nobody's. */
static void run_until_it_fails(struct brig *r, struct rng *rng, unsigned turns)
{
    for (unsigned turn = 0; turn < turns; turn++) {
        int rc = 0;

        for (unsigned i = rng_below(rng, 6); i > 0; i--)
            (void)!brig_put(r);
        for (uint32_t k = r->n - (uint32_t)u64_min(r->n, 40); k < r->n; k++)
            if (r->ref[k] != 0 && r->is_flushed[k] && rng_below(rng, 6) == 0)
                brig_give(r, k, 0);
        rc = brig_flush(r);
        if (rc < 0 && brig_again(r) != 0) { /* the process ends; then the disk is mended */
            simdisk_break(r->disk, 0, 0);
            cr_assert_eq(brig_restart(r, false), 0, "seed %lu", (unsigned long)r->seed);
        }
        if (rc == 0 && turn % 11 == 10)
            brig_snapshot(r);
        if (turn % 8 == 7)
            brig_check(r);
        brig_step(r, 100);
    }
}

Test(bodies_faults, a_failing_disk_loses_nothing_that_was_flushed)
{
    static const int errors[] = { EIO, ENOSPC };

    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct brig *r = brig_open_new(seed, seed % 3 != 0);
        struct rng rng;

        rng_seed(&rng, seed);
        for (unsigned round = 0; round < 12; round++) {
            simdisk_break(r->disk, 0.02 + 0.1 * (double)(seed % 4), errors[seed % 2]);
            run_until_it_fails(r, &rng, 30);
            simdisk_break(r->disk, 0, 0);
            simdisk_set_short(r->disk, 0.2);
            run_until_it_fails(r, &rng, 10);
            simdisk_set_short(r->disk, 0);
            cr_assert_eq(brig_flush(r), 0);
            cr_assert_eq(brig_restart(r, r->sync && round % 2 == 0), 0);
            brig_check(r);
        }
        brig_free(r);
    }
}

Test(bodies_faults, a_full_disk_refuses_and_later_accepts)
{
    for (unsigned sync = 0; sync < 2; sync++) {
        struct brig *r = brig_open_new(5, sync);
        struct bodies_counts c;
        uint32_t before;

        simdisk_set_room(r->disk, 300 * 1024);
        while (brig_put(r) == 0)
            cr_assert_eq(brig_flush(r), 0, "what was accepted has room");
        before = r->n;
        cr_assert_lt(before, BRIG_MAX);
        cr_assert_eq(brig_flush(r), 0);
        cr_assert_eq(brig_put(r), SQ_EFULL);
        bodies_counts(r->b, &c);
        cr_assert_gt(c.full, 0);
        brig_step(r, 1000);
        bodies_counts(r->b, &c);
        cr_expect_eq(c.no_room, 1, "submissions were refused, and nothing said so");
        brig_step(r, 1000);
        bodies_counts(r->b, &c);
        cr_expect_eq(c.no_room, 1, "nobody asked meanwhile");
        brig_check(r);
        for (uint32_t i = 0; i < before; i++)
            brig_give(r, i, 0);
        cr_assert_eq(brig_flush(r), 0);
        brig_step(r, 10);
        brig_step(r, BODIES_LINGER_MS);
        cr_assert_eq(brig_flush(r), 0);
        cr_assert_eq(brig_put(r), 0);
        cr_assert_eq(brig_flush(r), 0);
        simdisk_set_room(r->disk, 8 << 20);
        brig_step(r, 1000);
        bodies_counts(r->b, &c);
        cr_expect_eq(c.no_room, 0);
        brig_check(r);
        brig_free(r);
    }
}

Test(bodies_faults, a_failed_sync_is_never_believed_again)
{
    for (uint64_t k = 1; k < 12; k++)
        for (uint64_t seed = 1; seed <= 10; seed++) {
            struct brig *r = brig_open_new(seed, true);

            for (unsigned i = 0; i < 5; i++)
                cr_assert_eq(brig_put(r), 0);
            cr_assert_eq(brig_flush(r), 0);
            simdisk_fail_at(r->disk, k, EIO);
            for (unsigned turn = 0; turn < 6; turn++) {
                (void)!brig_put(r);
                if (brig_flush(r) < 0) {
                    cr_assert_eq(brig_flush(r), SQ_ESYS, "not before bodies_again()");
                    cr_assert_eq(brig_put(r), SQ_ESYS);
                    cr_assert_eq(brig_again(r), 0);
                }
            }
            simdisk_fail_at(r->disk, 0, 0);
            cr_assert_eq(brig_flush(r), 0);
            cr_assert_eq(brig_restart(r, true), 0);
            brig_check(r);
            brig_free(r);
        }
}

/* The pages of a sync that failed may be on the disk or not, and are called clean: the next sync says
 * nothing about them. The journal has them. */
Test(bodies_faults, what_a_failed_sync_left_behind_is_written_again)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct brig *r = brig_open_new(seed, true);

        for (unsigned i = 0; i < 4; i++) {
            cr_assert_eq(brig_put(r), 0);
            cr_assert_eq(brig_flush(r), 0);
        }
        simdisk_fail_at(r->disk, 1, EIO);
        if (seed % 2 == 0)
            brig_snapshot(r);
        else
            brig_step(r, 2000);
        cr_assert_gt(r->kept.len, 0, "the journal must not forget");
        cr_assert_eq(brig_flush(r), SQ_ESYS);
        cr_assert_eq(brig_again(r), 0);
        brig_snapshot(r);
        cr_assert_eq(r->kept.len, 0);
        cr_assert_eq(brig_restart(r, true), 0);
        brig_check(r);
        brig_free(r);
    }
}

Test(bodies_faults, what_a_journal_cannot_have_been_given_is_refused)
{
    static const struct { uint64_t file, at; size_t n; } v[] = {
        { 0, 0, 16 }, { BODY_FILE_MAX + 1, 0, 16 }, { 1, 0, 0 }, { 1, BODY_END_MAX - 15, 16 },
        { 1, UINT64_MAX, 16 }, { 1, 0, SIZE_MAX },
    };
    struct brig *r = brig_new(1, true);

    cr_assert_eq(brig_try_open(r), 0);
    for (unsigned i = 0; i < ARRAY_LEN(v); i++)
        cr_expect_eq(bodies_redo(r->b, v[i].file, v[i].at, NULL, v[i].n), SQ_EPROTO, "%u", i);
    brig_free(r);
}

Test(bodies_faults, a_process_that_dies_at_any_call_loses_nothing_that_was_flushed)
{
    for (uint64_t k = 1; k < 120; k++) {
        struct brig *r = brig_open_new(k, true);

        simdisk_die_at(r->disk, k);
        for (unsigned turn = 0; turn < 40 && !simdisk_is_dead(r->disk); turn++) {
            for (unsigned i = 0; i < 6; i++)
                (void)!brig_put(r);
            if (brig_flush(r) == 0 && turn % 2 == 1)
                for (uint32_t i = r->n - 9; i < r->n - 1; i++)
                    brig_give(r, i, 0);
            if (brig_flush(r) == 0)
                brig_step(r, 10);
        }
        cr_assert_eq(brig_restart(r, k % 2 == 0), 0, "%lu", (unsigned long)k);
        brig_check(r);
        brig_free(r);
    }
}

Test(bodies_faults, a_file_that_somebody_deleted_is_a_body_that_cannot_be_read)
{
    struct brig *r = brig_open_new(7, true);
    struct bodies_counts c;
    struct buf got;

    buf_init(&got);
    for (unsigned i = 0; i < 200; i++) {
        cr_assert_eq(brig_put(r), 0);
        cr_assert_eq(brig_flush(r), 0);
    }
    brig_snapshot(r);
    cr_assert_eq(brig_restart(r, false), 0);
    simdisk_remove(r->disk, "body-00000001");
    cr_assert_eq(bodies_get(r->b, r->ref[0], &got), SQ_EPROTO);
    bodies_counts(r->b, &c);
    cr_assert_eq(c.damaged, 1);
    cr_assert_eq(bodies_get(r->b, r->ref[199], &got), 0);
    buf_fini(&got);
    cr_assert_gt(brig_restart(r, false), 0, "found at the start, too");
    brig_check(r);
    brig_free(r);
}

Test(bodies_faults, a_changed_bit_is_noticed_wherever_it_is)
{
    struct brig *r = brig_new(7, true);
    struct buf got;
    uint8_t *p;
    size_t n;

    r->longest = 60;
    cr_assert_eq(brig_try_open(r), 0);
    bodies_opened(r->b);
    buf_init(&got);
    cr_assert_eq(brig_put(r), 0);
    cr_assert_eq(brig_flush(r), 0);
    p = simdisk_bytes(r->disk, "body-00000001", &n);
    cr_assert_not_null(p);
    for (size_t i = 0; i < BODY_HEAD + 1; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            p[i] ^= (uint8_t)(1u << bit);
            cr_assert_eq(bodies_get(r->b, r->ref[0], &got), SQ_EPROTO);
            p[i] ^= (uint8_t)(1u << bit);
        }
    cr_assert_eq(bodies_get(r->b, r->ref[0], &got), 0);
    buf_fini(&got);
    brig_free(r);
}

Test(bodies_faults, what_was_read_ahead_and_is_wrong_is_read_again)
{
    struct brig *r = brig_open_new(7, false);
    struct bodies_counts c;
    struct buf got;
    uint8_t *p;
    size_t n;

    r->longest = 60;
    buf_init(&got);
    for (unsigned i = 0; i < 3; i++)
        cr_assert_eq(brig_put(r), 0);
    cr_assert_eq(brig_flush(r), 0);
    p = simdisk_bytes(r->disk, "body-00000001", &n);
    cr_assert_not_null(p);
    p[n - 1 - BODY_UNIT] ^= 1;
    for (unsigned i = 0; i < 2; i++)
        cr_assert_eq(bodies_get(r->b, r->ref[i], &got), 0);
    p[n - 1 - BODY_UNIT] ^= 1;
    cr_assert_eq(bodies_get(r->b, r->ref[2], &got), 0);
    bodies_counts(r->b, &c);
    cr_assert_eq(c.damaged, 0);
    buf_fini(&got);
    brig_free(r);
}

Test(bodies_faults, references_that_nobody_gave_are_refused)
{
    struct brig *r = brig_open_new(7, true);
    struct bodies_counts before, after;
    struct rng rng;
    struct buf got;
    uint64_t to;

    buf_init(&got);
    for (unsigned i = 0; i < 50; i++)
        cr_assert_eq(brig_put(r), 0);
    rng_seed(&rng, 1);
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t ref = i % 2 == 0 ? rng_u64(&rng) : r->ref[0] ^ (1ull << rng_below(&rng, 64));

        if (i == 10000)
            cr_assert_eq(brig_flush(r), 0);
        if (ref != 0)
            cr_assert_eq(bodies_get(r->b, ref, &got), SQ_EPROTO);
        cr_assert_eq(bodies_copy(r->b, ref, &to), SQ_EINVAL);
    }
    bodies_counts(r->b, &before);
    for (unsigned i = 0; i < 20000; i++)
        bodies_drop(r->b, rng_u64(&rng) >> 20);
    bodies_counts(r->b, &after);
    cr_assert_leq(after.living_bytes, before.living_bytes);
    brig_check(r);
    buf_fini(&got);
    brig_free(r);
}

Test(bodies_faults, a_folder_is_of_one_process_and_other_files_in_it_are_left_alone)
{
    struct brig *r = brig_open_new(7, true);
    struct bodies *mine = r->b;
    size_t n;

    cr_assert_eq(brig_try_open(r), SQ_EBUSY);
    r->b = mine;
    simdisk_put(r->disk, "body-0000000g", "x", 1);
    simdisk_put(r->disk, "body-00000000", "x", 1);
    simdisk_put(r->disk, "body-00000009.txt", "x", 1);
    simdisk_put(r->disk, "body-00000009", "torn", 4);
    cr_assert_eq(brig_restart(r, false), 0);
    brig_step(r, 10);
    cr_assert_not_null(simdisk_bytes(r->disk, "body-0000000g", &n));
    cr_assert_not_null(simdisk_bytes(r->disk, "body-00000000", &n));
    cr_assert_not_null(simdisk_bytes(r->disk, "body-00000009.txt", &n));
    cr_assert_null(simdisk_bytes(r->disk, "body-00000009", &n), "nobody has anything in it");
    cr_assert_eq(brig_put(r), 0);
    cr_assert_eq(body_place_of(r->ref[0]).file, 10, "a number is not given again");
    brig_free(r);
}

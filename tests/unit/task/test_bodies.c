/* test_bodies.c: what was put is there again, byte for byte; what is dead takes no room. */
#include "tests/lib/bodyrig.h"

#include "tests/lib/sim/disk.c" /* unit programs link no simulation */

static const bool syncs[] = { false, true };

Test(bodies, what_was_put_is_there_before_and_after_the_flush)
{
    struct brig *r = brig_open_new(1, true);

    for (unsigned i = 0; i < 100; i++)
        cr_assert_eq(brig_put(r), 0);
    brig_check(r);
    cr_assert_eq(brig_flush(r), 0);
    brig_check(r);
    brig_free(r);
}

Test(bodies, no_bytes_are_no_body)
{
    struct brig *r = brig_open_new(1, true);
    struct buf got;
    uint64_t ref = 1;

    buf_init(&got);
    cr_assert_eq(bodies_put(r->b, NULL, 0, &ref), 0);
    cr_assert_eq(ref, 0);
    cr_assert_eq(bodies_get(r->b, 0, &got), 0);
    cr_assert_eq(got.len, 0);
    bodies_drop(r->b, 0);
    brig_free(r);
}

Test(bodies, the_longest_fits_and_one_byte_more_does_not)
{
    struct brig *r = brig_open_new(1, true);
    uint8_t *p = calloc(1, TASK_BODY_MAX + 1);
    struct buf got;
    uint64_t ref;

    buf_init(&got);
    cr_assert_eq(bodies_put(r->b, p, TASK_BODY_MAX + 1, &ref), SQ_ETOOBIG);
    p[TASK_BODY_MAX - 1] = 7;
    cr_assert_eq(bodies_put(r->b, p, TASK_BODY_MAX, &ref), 0);
    cr_assert_eq(brig_flush(r), 0);
    cr_assert_eq(bodies_get(r->b, ref, &got), 0);
    cr_assert_eq(got.len, TASK_BODY_MAX);
    cr_assert_eq(got.data[TASK_BODY_MAX - 1], 7);
    buf_fini(&got);
    free(p);
    brig_free(r);
}

/* Behind the second body the disk is not asked: what it had there is gone. */
Test(bodies, those_that_are_asked_for_in_their_order_are_read_at_once)
{
    struct brig *r = brig_open_new(1, false);
    struct buf got;
    uint8_t *p;
    size_t n;

    buf_init(&got);
    for (unsigned i = 0; i < 100; i++)
        cr_assert_eq(brig_put(r), 0);
    cr_assert_eq(brig_flush(r), 0);
    for (unsigned i = 0; i < 2; i++)
        cr_assert_eq(bodies_get(r->b, r->ref[i], &got), 0);
    p = simdisk_bytes(r->disk, "body-00000001", &n);
    cr_assert_not_null(p);
    memset(p, 0, n);
    for (unsigned i = 2; i < 8; i++)
        cr_assert_eq(bodies_get(r->b, r->ref[i], &got), 0);
    cr_assert_eq(bodies_get(r->b, r->ref[0], &got), SQ_EPROTO, "that is behind them");
    cr_assert_eq(bodies_get(r->b, r->ref[99], &got), SQ_EPROTO, "that is not near");
    buf_fini(&got);
    r->n = 0;
    brig_free(r);
}

/* In their order, and out of it: each is what was put. */
Test(bodies, what_is_read_ahead_is_what_was_written)
{
    struct brig *r = brig_open_new(3, false);
    struct buf got;

    buf_init(&got);
    for (unsigned turn = 0; turn < 60; turn++) {
        for (unsigned i = 0; i < 1 + turn % 7; i++)
            cr_assert_eq(brig_put(r), 0);
        cr_assert_eq(brig_flush(r), 0);
        for (unsigned i = turn; i + 1 < r->n && i < turn + 5; i++)
            cr_assert_eq(bodies_get(r->b, r->ref[i + (turn + i) % 2], &got), 0);
        brig_check(r);
    }
    buf_fini(&got);
    brig_free(r);
}

Test(bodies, a_killed_process_loses_nothing_that_was_flushed)
{
    for (unsigned s = 0; s < ARRAY_LEN(syncs); s++) {
        struct brig *r = brig_open_new(2, syncs[s]);

        for (unsigned turn = 0; turn < 50; turn++) {
            for (unsigned i = 0; i <= turn % 7; i++)
                cr_assert_eq(brig_put(r), 0);
            if (turn % 5 != 4)
                cr_assert_eq(brig_flush(r), 0);
            if (turn % 5 == 4)
                cr_assert_eq(brig_restart(r, false), 0);
            brig_check(r);
        }
        brig_free(r);
    }
}

Test(bodies, a_power_cut_loses_nothing_that_was_synced)
{
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct brig *r = brig_open_new(seed, true);

        for (unsigned turn = 0; turn < 30; turn++) {
            cr_assert_eq(brig_put(r), 0);
            if (turn % 7 == 6) {
                cr_assert_eq(brig_restart(r, true), 0);
            } else {
                cr_assert_eq(brig_flush(r), 0);
            }
            if (turn % 7 == seed % 7 && turn % 7 != 6)
                brig_snapshot(r);
            brig_check(r);
        }
        brig_free(r);
    }
}

Test(bodies, a_turn_of_usual_size_is_not_synced_and_a_large_one_is)
{
    struct brig *r = brig_open_new(1, true);
    uint8_t *p = calloc(1, BODIES_KEPT_MOST);
    struct bodies_counts c;
    uint64_t ref;

    cr_assert_eq(brig_put(r), 0);
    cr_assert_eq(brig_flush(r), 0);
    bodies_counts(r->b, &c);
    cr_expect_eq(c.syncs, 0);
    cr_expect_eq(r->keeps, 1);
    cr_assert_eq(bodies_put(r->b, p, BODIES_KEPT_MOST, &ref), 0);
    cr_assert_eq(brig_flush(r), 0);
    bodies_counts(r->b, &c);
    cr_expect_eq(c.syncs, 1);
    cr_expect_eq(r->keeps, 1);
    free(p);
    brig_free(r);
}

/* Its number is still in the journal: what comes next must not be overwritten by it. */
Test(bodies, the_number_of_a_file_that_the_journal_knows_is_not_given_again)
{
    struct brig *r = brig_open_new(1, true);

    cr_assert_eq(brig_put(r), 0);
    cr_assert_eq(brig_flush(r), 0);
    brig_give(r, 0, 0);
    cr_assert_eq(brig_flush(r), 0);
    cr_assert_eq(brig_restart(r, false), 0);
    brig_step(r, 10); /* the file goes */
    cr_assert_eq(brig_restart(r, false), 0);
    cr_assert_eq(brig_put(r), 0);
    r->keeps = 4; /* it is synced */
    cr_assert_eq(brig_flush(r), 0);
    cr_assert_eq(brig_restart(r, true), 0);
    brig_check(r);
    brig_free(r);
}

/* `os`: what is not there is found at the start, or by its checksum: never other bytes. */
Test(bodies, after_a_power_cut_what_was_not_synced_is_gone_or_damaged_but_never_another)
{
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct brig *r = brig_open_new(seed, false);
        static uint8_t want[TASK_BODY_MAX];
        struct buf got;

        buf_init(&got);
        for (unsigned i = 0; i < 40; i++) {
            cr_assert_eq(brig_put(r), 0);
            cr_assert_eq(brig_flush(r), 0);
        }
        (void)brig_restart(r, true);
        for (unsigned i = 0; i < 40; i++) { /* new ones beside them */
            cr_assert_eq(brig_put(r), 0);
            cr_assert_eq(brig_flush(r), 0);
        }
        for (uint32_t i = 0; i < r->n; i++) {
            uint32_t n = brig_fill(r, want, i);

            buf_reset(&got);
            if (r->ref[i] == 0 || bodies_get(r->b, r->ref[i], &got) < 0) {
                cr_assert_lt(i, 40);
                continue;
            }
            cr_assert_eq(got.len, n);
            cr_assert_eq(memcmp(got.data, want, n), 0);
        }
        buf_fini(&got);
        brig_free(r);
    }
}

Test(bodies, a_step_syncs_what_is_only_in_the_kernel)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct brig *r = brig_open_new(seed, false);

        for (unsigned i = 0; i < 100; i++) {
            cr_assert_eq(brig_put(r), 0);
            cr_assert_eq(brig_flush(r), 0);
        }
        brig_step(r, 1001);
        cr_assert_eq(brig_restart(r, true), 0);
        brig_check(r);
        brig_free(r);
    }
}

static uint64_t most_that_may_be_taken(const struct brig *r, const struct bodies_counts *c)
{
    return 4 * c->living_bytes + 2 * (uint64_t)(r->file_bytes + r->longest + 64);
}

Test(bodies, files_take_at_most_four_times_what_lives_and_two_files_more)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct brig *r = brig_open_new(seed, true);
        struct bodies_counts c;
        uint64_t copies = 0;
        struct rng rng;

        rng_seed(&rng, seed);
        for (unsigned turn = 0; turn < 1200; turn++) {
            for (unsigned i = rng_below(&rng, 5); i > 0; i--)
                (void)brig_put(r);
            for (uint32_t k = r->n - u64_min(r->n, 60); k < r->n; k++)
                if (r->ref[k] != 0 && k % 31 != 0 && rng_below(&rng, 9) == 0) /* some stay */
                    brig_give(r, k, 0);
            brig_step(r, 20);
            cr_assert_eq(brig_flush(r), 0);
            if (rng_below(&rng, 100) == 0)
                cr_assert_eq(brig_restart(r, rng_below(&rng, 2) == 0), 0);
            if (rng_below(&rng, 50) == 0)
                brig_check(r);
            brig_step(r, 20);
            cr_assert_eq(brig_flush(r), 0);
            bodies_counts(r->b, &c);
            copies = u64_max(copies, c.copies);
            cr_assert_leq(c.disk_bytes, most_that_may_be_taken(r, &c), "seed %lu turn %u: %lu of %lu",
                          (unsigned long)seed, turn, (unsigned long)c.disk_bytes,
                          (unsigned long)c.living_bytes);
        }
        cr_assert_gt(copies, 0);
        brig_check(r);
        for (uint32_t i = 0; i < r->n; i++)
            if (r->ref[i] != 0)
                brig_give(r, i, 0);
        cr_assert_eq(brig_flush(r), 0);
        brig_step(r, 20);
        bodies_counts(r->b, &c);
        cr_assert_leq(c.files, 1);
        cr_assert_eq(c.damaged, 0);
        brig_free(r);
    }
}

Test(bodies, many_starts_leave_few_files)
{
    struct brig *r = brig_open_new(3, true);
    struct bodies_counts c;

    for (unsigned i = 0; i < 100; i++) {
        cr_assert_eq(brig_put(r), 0);
        cr_assert_eq(brig_flush(r), 0);
        brig_step(r, 10);
        cr_assert_eq(brig_flush(r), 0);
        brig_step(r, 10);
        cr_assert_eq(brig_restart(r, false), 0);
    }
    brig_check(r);
    bodies_counts(r->b, &c);
    cr_assert_leq(c.files, 20, "%lu", (unsigned long)c.files);
    brig_free(r);
}

Test(bodies, under_os_a_dead_file_stays_until_the_journal_is_surely_synced)
{
    struct brig *r = brig_open_new(3, false);
    struct bodies_counts c;

    for (unsigned i = 0; i < 100; i++)
        cr_assert_eq(brig_put(r), 0);
    cr_assert_eq(brig_flush(r), 0);
    cr_assert_eq(brig_put(r), 0); /* the next file */
    cr_assert_eq(brig_flush(r), 0);
    for (uint32_t i = 0; i < 100; i++)
        brig_give(r, i, 0);
    cr_assert_eq(brig_flush(r), 0);
    brig_step(r, 10);
    brig_step(r, BODIES_LINGER_MS - 1);
    bodies_counts(r->b, &c);
    cr_assert_eq(c.files, 2);
    brig_step(r, 1);
    bodies_counts(r->b, &c);
    cr_assert_eq(c.files, 1);
    brig_free(r);
}

Test(bodies, what_is_dropped_in_its_own_turn_is_never_written)
{
    struct brig *r = brig_open_new(3, true);
    struct bodies_counts c;
    uint64_t ref;

    cr_assert_eq(brig_put(r), 0);
    cr_assert_eq(bodies_put(r->b, (const uint8_t *)"not wanted", 10, &ref), 0);
    bodies_drop(r->b, ref);
    cr_assert_eq(brig_put(r), 0);
    cr_assert_eq(brig_flush(r), 0);
    brig_check(r);
    bodies_counts(r->b, &c);
    cr_assert_eq(c.living_bytes, c.disk_bytes);
    brig_free(r);
}

/* test_directory.c: a share of the directory: who may have a ticket, and who has. */
#include "segment/line/directory.h"

#include "tests/lib/criterion.h"

#include "common/base/rng.h"

static struct directory d;
static struct dir_row has;
static uint16_t other;

static void setup(void)
{
    directory_init(&d);
    cr_assert_eq(directory_reset(&d, 3), 0);
    for (uint16_t i = 0; i < 3; i++) {
        directory_begin(&d, i);
        directory_end(&d, i);
    }
}

static void teardown(void)
{
    directory_fini(&d);
}

TestSuite(directory, .init = setup, .fini = teardown);

static enum dir_word claim(uint16_t holder, uint64_t hash)
{
    return directory_claim(&d, holder, hash, (struct ticket_id){ 0 }, &has, &other);
}

static void put(uint16_t holder, uint64_t hash, seg_id seg, uint32_t number)
{
    struct dir_row r = { .hash = hash, .seg = seg, .number = number, .issued_s = 9,
                         .client = CLIENT_MOBILE };

    cr_assert_eq(directory_put(&d, holder, &r), 0);
}

Test(directory, one_holder_is_granted_and_the_others_wait)
{
    cr_expect_eq(claim(0, 7), DIR_GRANTED);
    cr_expect_eq(claim(1, 7), DIR_BUSY);
    cr_expect_eq(other, 0);
    cr_expect_eq(claim(0, 7), DIR_GRANTED, "it asks again: it has not heard");
    cr_expect_eq(claim(1, 8), DIR_GRANTED);
    directory_free(&d, 0, 7);
    cr_expect_eq(claim(1, 7), DIR_GRANTED);
}

Test(directory, the_ticket_is_named)
{
    cr_assert_eq(claim(2, 7), DIR_GRANTED);
    put(2, 7, 41, 5);
    cr_expect_eq(claim(0, 7), DIR_EXISTS);
    cr_expect(has.hash == 7 && has.seg == 41 && has.number == 5 && has.issued_s == 9 &&
              has.client == CLIENT_MOBILE && other == 2);
    cr_expect_eq(claim(2, 7), DIR_GRANTED, "its holder has looked: that one is over");
}

Test(directory, a_moved_ticket_has_two_holders_for_a_while)
{
    put(0, 7, 41, 5);
    put(1, 7, 41, 5);
    directory_free(&d, 0, 7);
    cr_expect_eq(claim(2, 7), DIR_EXISTS);
    cr_expect_eq(other, 1);
    put(0, 7, 41, 5);
    directory_free(&d, 1, 7); /* the move is aborted */
    cr_expect_eq(claim(2, 7), DIR_EXISTS);
    cr_expect_eq(other, 0);
    directory_free(&d, 0, 7);
    cr_expect_eq(claim(2, 7), DIR_GRANTED);
}

/* Moves brought both to one holder: the old ticket, and the one that was given in its place. */
Test(directory, of_two_tickets_of_one_holder_the_later_one_counts)
{
    const struct ticket_id old = { 41, 5 };
    struct dir_row late = { .hash = 7, .seg = 52, .number = 1, .issued_s = 20 };

    put(0, 7, old.seg, old.number);
    cr_assert_eq(directory_put(&d, 0, &late), 0);
    for (int again = 0; again < 2; again++) {
        put(0, 7, old.seg, old.number); /* a move, then all that it holds */
        cr_expect_eq(directory_claim(&d, 1, 7, old, &has, &other), DIR_EXISTS, "no third one");
        cr_expect(has.seg == 52 && has.number == 1);
        directory_begin(&d, 0);
        cr_assert_eq(directory_put(&d, 0, &late), 0);
    }
    directory_begin(&d, 0);
    put(0, 7, old.seg, old.number);
    directory_end(&d, 0);
    cr_expect_eq(directory_claim(&d, 1, 7, old, &has, &other), DIR_GRANTED, "the later one is over");
}

Test(directory, no_grant_before_every_holder_reported)
{
    cr_assert_eq(directory_reset(&d, 2), 0);
    directory_begin(&d, 0);
    put(0, 7, 41, 5);
    directory_end(&d, 0);
    cr_expect_eq(claim(0, 9), DIR_BUSY);
    directory_begin(&d, 1);
    cr_expect_eq(claim(0, 9), DIR_BUSY);
    directory_end(&d, 1);
    cr_expect_eq(claim(0, 9), DIR_GRANTED);
    cr_expect_eq(claim(1, 7), DIR_EXISTS);
}

Test(directory, a_full_report_counts_when_complete)
{
    put(0, 7, 41, 5);
    put(0, 8, 41, 6);
    put(1, 9, 42, 1);
    directory_begin(&d, 0);
    put(0, 8, 41, 6);
    cr_expect_eq(claim(2, 7), DIR_EXISTS, "it may yet be said");
    cr_assert_eq(claim(0, 10), DIR_GRANTED);
    directory_end(&d, 0);
    cr_expect_eq(claim(2, 7), DIR_GRANTED);
    cr_expect_eq(claim(2, 8), DIR_EXISTS);
    cr_expect_eq(claim(2, 9), DIR_EXISTS);
    cr_expect_eq(claim(2, 10), DIR_BUSY, "granted meanwhile");
    directory_end(&d, 0); /* without a beginning: nothing */
    cr_expect_eq(claim(2, 8), DIR_EXISTS);
}

/* Against a plain table of who holds what. */
Test(directory, many_changes)
{
    enum { HASHES = 50, STEPS = 200000 };
    bool model[3][HASHES] = { { false } };
    struct rng r;

    rng_seed(&r, 5);
    for (unsigned i = 0; i < STEPS; i++) {
        uint16_t who = (uint16_t)rng_below(&r, 3);
        uint64_t h = rng_below(&r, HASHES);
        bool others = false;

        for (uint16_t k = 0; k < 3; k++)
            others |= k != who && model[k][h];
        if (rng_chance(&r, 0.4)) {
            directory_free(&d, who, h + 1);
            model[who][h] = false;
        } else if (rng_chance(&r, 0.2)) {
            put(who, h + 1, 3, 4);
            model[who][h] = true;
        } else {
            cr_assert_eq(claim(who, h + 1) == DIR_GRANTED, !others);
            model[who][h] |= !others;
        }
    }
    for (uint16_t who = 0; who < 3; who++)
        for (uint64_t h = 0; h < HASHES; h++)
            directory_free(&d, who, h + 1);
    cr_expect_eq(d.n, 0);
    cr_expect_leq(d.cap, 3 * HASHES, "what is free is used again");
}

Test(directory, removing_a_member_moves_only_its_share)
{
    static const node_no four[] = { 3, 5, 9, 12 }, three[] = { 3, 5, 12 };
    unsigned n[4] = { 0 };
    struct rng r;

    rng_seed(&r, 1);
    for (unsigned i = 0; i < 40000; i++) {
        uint64_t h = rng_u64(&r);
        uint16_t was = directory_owner(h, four, 4), is = directory_owner(h, three, 3);

        n[was]++;
        cr_assert(four[was] == 9 || four[was] == three[is]);
    }
    for (unsigned i = 0; i < 4; i++)
        cr_expect(n[i] > 9000 && n[i] < 11000, "share %u is %u of 40000", i, n[i]);
}

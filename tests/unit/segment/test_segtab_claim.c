/* test_segtab_claim.c: joins that need another node's word: one place per person, also when
 * the word comes late or not at all. */
#include "segment/node/segtab_int.h"
#include "tests/lib/dirrig.h"

static struct rig *r;
static const char *name; /* the second node keeps its share */

static void setup(void)
{
    r = rig_new(2, 100000);
    rig_open(r, 0, 2, OPEN_TAIL, 100, 0);
    rig_open(r, 0, 3, OPEN_TAIL, 100, 0);
    rig_open(r, 1, 4, OPEN_TAIL, 100, 0);
    dirrig_members(r);
    name = dirrig_others_name();
}

static void teardown(void)
{
    rig_free(r);
}

TestSuite(segtab_claim, .init = setup, .fini = teardown, .timeout = 60);

static int join(int node, seg_id seg)
{
    return rig_join_as(r, node, seg, name).state;
}

/* The first node's step; what it says stays on the wire. */
static void tick(msec_t after_ms)
{
    rig_jump(r, after_ms);
    rig_step(r, 0, (struct segtab_in) { .kind = SEGTAB_TICK });
}

static bool has_place(int state)
{
    return state == APPEND_OK || state == APPEND_EXISTING;
}

Test(segtab_claim, a_join_gets_its_place_when_the_word_is_here)
{
    cr_assert_eq(join(0, 2), APPEND_BUSY);
    rig_run(r, 100);
    cr_assert_eq(join(0, 2), APPEND_OK);
    cr_assert_eq(join(1, 4), APPEND_BUSY, "it is granted, and its ticket is not told yet");
    rig_run(r, 100);
    cr_assert_eq(join(1, 4), APPEND_EXISTING);
}

/* The word to a first claim is late; meanwhile the tail is full, and who comes again comes to
 * the next one. The first word is not the answer to a second claim: between them the
 * subject was given back. */
Test(segtab_claim, a_late_word_makes_no_second_ticket)
{
    cr_assert_eq(join(0, 2), APPEND_BUSY);
    tick(1);
    rig_pump(r, 1); /* asked, and granted: that word is on the wire */
    for (int i = 0; i < 3; i++)
        tick(DIR_CLAIM_MS);
    segtab_seg(r->t[0], 2)->b.q.sealed = true;
    cr_assert_eq(join(0, 2), APPEND_SEALED);
    tick(1);
    cr_assert_eq(join(0, 3), APPEND_BUSY);
    tick(1);
    while (join(0, 3) != APPEND_OK) {
        cr_assert_neq(r->head, r->tail, "the word comes");
        rig_pump(r, 1);
    }
    for (tick(1); r->head != r->tail; rig_pump(r, 1)) /* the other node looks at any moment */
        cr_assert_neq(join(1, 4), APPEND_OK, "a second ticket");
    cr_expect_eq(join(1, 4), APPEND_EXISTING);
}

/* It was lost: one of the nodes had no memory for it. */
Test(segtab_claim, a_word_that_never_comes_is_asked_for_again)
{
    msec_t waited = 0;

    cr_assert_eq(join(0, 2), APPEND_BUSY);
    r->lose_at = r->copies + 1;
    rig_run(r, 100);
    r->lose_at = 0;
    for (; !has_place(join(0, 2)) && waited <= 3 * DIR_ANSWER_MS; waited += 100)
        rig_run(r, 100);
    cr_expect_geq(waited, DIR_ANSWER_MS - 200, "it may only be late");
    cr_expect_leq(waited, DIR_ANSWER_MS + 1000);
    rig_run(r, 100);
    cr_expect_eq(join(1, 4), APPEND_EXISTING);
}

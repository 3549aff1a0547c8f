/* test_closing.c: a segment of early ones closes by its node's clock: nobody who comes
 * after the opening is in the draw, whether the manager says so or not. */
#include "tests/lib/segrig.h"
#include "tests/lib/segtape.h"

#define SEG     5
#define IN_MS   5000 /* from the beginning to the opening */
#define OPENS   (1700000000000 + IN_MS)

static struct rig *r;
static struct tape tape;

static void setup(void)
{
    void *ctx[] = { &tape };

    r = rig_new_logged(1, 1u << 20, on_log, ctx);
}

static void teardown(void)
{
    rig_free(r);
    tape_fini(&tape);
}

TestSuite(closing, .init = setup, .fini = teardown);

static void open_early(int64_t closes_ms)
{
    struct msg m = { .type = MSG_SEG_OPEN,
                     .seg_open = { .epoch = 1, .seg = SEG, .queue = 7, .kind = OPEN_TAIL,
                                   .capacity = 100, .early = true, .closes_ms = closes_ms } };

    rig_order(r, 0, m);
}

static void next(seg_id seg, int64_t closes_ms)
{
    rig_order(r, 0, (struct msg) { .type = MSG_SEG_NEXT,
                                   .seg_next = { 1, SEG, seg, closes_ms } });
}

/* Only its clock goes on: no tick, no order. */
static enum append_state join_at(int64_t wall_ms)
{
    r->now.now_ms += wall_ms - r->now.wall_ms;
    r->now.wall_ms = wall_ms;
    return (enum append_state)rig_join_as(r, 0, SEG, NULL).state;
}

Test(closing, nobody_joins_from_the_opening_on)
{
    open_early(OPENS);
    cr_assert_eq(r->status[SEG].closes_ms, OPENS);
    cr_assert_eq(join_at(OPENS - 1), APPEND_OK);
    cr_assert_eq(join_at(OPENS), APPEND_SEALED);
    cr_assert(segtab_urgent(r->t[0]), "the manager hears of it at once");
    rig_run(r, 200);
    cr_assert_eq(r->status[SEG].state, SEG_SEALED);
    cr_assert(r->status[SEG].closed);
    cr_assert_eq(r->status[SEG].joined, 1);
    cr_assert_not(r->status[SEG].drawn);
}

Test(closing, the_tick_closes_an_idle_prequeue)
{
    open_early(OPENS);
    rig_run(r, IN_MS - 100);
    cr_assert_eq(r->status[SEG].state, SEG_OPEN);
    rig_run(r, 300);
    cr_assert_eq(r->status[SEG].state, SEG_SEALED);
}

Test(closing, a_clock_set_back_reopens_nothing)
{
    open_early(OPENS);
    cr_assert_eq(join_at(OPENS), APPEND_SEALED);
    cr_assert_eq(join_at(OPENS - 4000), APPEND_SEALED);
}

Test(closing, the_opening_is_put_off_or_comes_sooner)
{
    open_early(OPENS);
    next(6, 0);
    cr_assert_eq(r->status[SEG].closes_ms, OPENS, "a successor changes no time");
    next(6, OPENS + 9000);
    cr_assert_eq(r->status[SEG].closes_ms, OPENS + 9000);
    cr_assert_eq(r->status[SEG].next, 6);
    cr_assert_eq(join_at(OPENS + 8999), APPEND_OK);
    next(6, OPENS + 8000);
    cr_assert_eq(join_at(OPENS + 8999), APPEND_SEALED);
}

Test(closing, without_a_time_only_an_order_seals)
{
    open_early(0);
    cr_assert_eq(join_at(OPENS + 100000000), APPEND_OK);
    rig_seal(r, 0, SEG, 0);
    cr_assert_eq(join_at(OPENS + 100000001), APPEND_SEALED);
    rig_run(r, 200);
    cr_assert_not(r->status[SEG].closed);
}

/* A process that died before the opening and is back after it knows until when. */
static void restart(void)
{
    struct segtab *t = replay(&tape);

    cr_assert_eq(segtab_digest(t), segtab_digest(r->t[0]));
    segtab_free(r->t[0]);
    r->t[0] = t;
    cr_assert_eq(segtab_replayed(t, r->now), 0);
}

Test(closing, a_restarted_node_knows_the_time)
{
    open_early(OPENS);
    restart();
    cr_assert_eq(join_at(OPENS - 1), APPEND_OK);
    restart();
    cr_assert_eq(join_at(OPENS), APPEND_SEALED);
    restart();
    cr_assert_eq(join_at(OPENS - 10), APPEND_SEALED, "it was written down");
}

Test(closing, a_changed_close_time_survives_a_snapshot)
{
    open_early(OPENS);
    next(0, OPENS + 500);
    do
        tape_snap(&tape, r->t[0], 1);
    while (tape.snapping);
    restart();
    cr_assert_eq(join_at(OPENS + 499), APPEND_OK);
    cr_assert_eq(join_at(OPENS + 500), APPEND_SEALED);
}

Test(closing, answers_name_the_draw)
{
    struct append_ans a;

    open_early(OPENS);
    a = rig_join_as(r, 0, SEG, NULL);
    cr_assert_eq(a.position, 0);
    cr_assert_eq(a.no_place, NO_PLACE_EARLY);
    cr_assert_eq(rig_poll(r, 0, SEG, 0).reason, NO_PLACE_EARLY);
    rig_open(r, 0, 6, OPEN_TAIL, 10, AHEAD_UNKNOWN);
    a = rig_join_as(r, 0, 6, NULL);
    cr_assert_eq(a.position, 0);
    cr_assert_eq(a.no_place, NO_PLACE_NOW);
    cr_assert_eq(rig_poll(r, 0, 6, 0).reason, NO_PLACE_NOW);
}

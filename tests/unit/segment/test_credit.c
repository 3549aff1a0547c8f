/* test_credit.c: joins that a node lets in at once, on credit: when it may, with which numbers,
 * and that they are the same after a restart. */
#include "tests/lib/segtape.h"

static struct rig *r;
static struct tape tp;
static uint64_t tick;

static void setup(void)
{
    void *ctx[] = { &tp };

    memset(&tp, 0, sizeof(tp));
    r = rig_new_logged(1, 1u << 20, on_log, ctx);
    rig_open(r, 0, 1, OPEN_TAIL, 1000, 0);
    tick = 1ull << 32;
}

static void teardown(void)
{
    rig_free(r);
    tape_fini(&tp);
}

TestSuite(credit, .init = setup, .fini = teardown);

static void order(uint32_t from, uint32_t end, uint32_t aside)
{
    rig_order(r, 0,
              (struct msg) { .type = MSG_SEG_CREDIT,
                             .seg_credit = { .epoch = r->epoch, .seg = 1, .tick = ++tick,
                                             .from = from, .end = end, .lease_ms = 300,
                                             .released_at_ms = r->now.wall_ms,
                                             .aside = aside } });
}

static struct append_ans join_with(struct append_req q)
{
    struct append_ans a;

    segtab_append(r->t[0], r->now, &q, 1, &a, &r->mem);
    return a;
}

static struct append_ans join(void)
{
    return join_with((struct append_req) { .seg = 1 });
}

static void expect_credit(uint32_t at, uint32_t end, uint32_t aside_end)
{
    const struct seg_status *s = &r->status[1];

    cr_expect(s->credit_at == at && s->credit_end == end && s->aside_end == aside_end,
              "%u %u %u", s->credit_at, s->credit_end, s->aside_end);
    cr_expect_eq(s->credit_tick, tick);
}

Test(credit, a_join_into_an_empty_line_gets_its_pass_with_its_answer)
{
    struct append_ans a;
    struct place_ans again;

    order(0, 0, 8);
    expect_credit(0, 0, 8);
    cr_expect_eq(r->status[1].unused, 8);
    order(0, 3, 8);
    expect_credit(0, 3, 11);
    a = join();
    cr_assert_eq(a.state, APPEND_ENTERED);
    cr_expect(a.number == 0 && a.pass_len > 0 && a.released_at_ms == r->now.wall_ms);
    again = rig_poll(r, 0, 1, 0);
    cr_assert_eq(again.state, PLACE_ADMITTED);
    cr_expect(again.pass_len == a.pass_len && memcmp(again.pass, a.pass, a.pass_len) == 0);
    cr_expect_eq(join().number, 1);
    rig_run(r, 100);
    expect_credit(2, 3, 11);
    cr_expect(r->status[1].active == 2 && r->status[1].entered == 2 && r->status[1].unused == 9);
}

Test(credit, a_join_that_gives_back_a_place_gets_a_place)
{
    struct append_req q = { .seg = 1, .old_seg = 9, .old_number = 1 };

    order(0, 0, 8);
    order(0, 8, 0);
    cr_expect_eq(join_with(q).state, APPEND_OK);
    cr_expect_eq(join().state, APPEND_OK, "somebody waits");
    cr_expect_eq(rig_pop(r, 0, 1, 1, 2), 2);
    rig_run(r, 100);
    cr_expect_eq(join().number, 10, "it has ended with the first who waited");
}

Test(credit, a_join_that_waits_ends_it_and_gets_a_later_number)
{
    struct append_ans a;

    order(0, 0, 8);
    order(0, 1, 0);
    cr_expect_eq(join().state, APPEND_ENTERED);
    a = join();
    cr_expect(a.state == APPEND_OK && a.number == 8 && a.position == 1);
    order(1, 8, 0);
    expect_credit(8, 8, 8);
    cr_expect_eq(join().number, 9);
    cr_expect_eq(rig_pop(r, 0, 1, 1, 2), 2);
    cr_expect_eq(join().number, 10, "it was refused while somebody waited");
}

Test(credit, numbers_are_set_aside_with_the_release_of_the_last_one_who_waits)
{
    cr_expect_eq(join().number, 0);
    order(0, 0, 8);
    expect_credit(0, 0, 0);
    cr_expect_eq(rig_pop(r, 0, 1, 1, 1), 1);
    rig_run(r, 100);
    expect_credit(1, 1, 9);
    order(1, 5, 0);
    cr_expect_eq(join().number, 1);
}

Test(credit, when_half_of_it_is_used_and_when_all_is_the_node_reports_at_once)
{
    order(0, 0, 8);
    order(0, 4, 0);
    rig_run(r, 100);
    join();
    cr_expect_not(segtab_urgent(r->t[0]));
    join();
    cr_expect(segtab_urgent(r->t[0]));
    rig_run(r, 100);
    cr_expect_not(segtab_urgent(r->t[0]));
    join();
    cr_expect_not(segtab_urgent(r->t[0]));
    join();
    cr_expect(segtab_urgent(r->t[0]));
}

Test(credit, it_ends_with_its_lease)
{
    order(0, 0, 8);
    order(0, 4, 0);
    rig_run(r, 300);
    cr_expect_eq(join().state, APPEND_OK);
    cr_expect_eq(join().number, 9);
}

Test(credit, it_is_extended_and_what_was_not_used_of_one_that_is_over_is_never_given)
{
    struct msg m = { .type = MSG_SEG_CREDIT };

    order(0, 0, 20);
    order(0, 2, 0);
    m.seg_credit = (struct msg_seg_credit) { .epoch = r->epoch, .seg = 1, .tick = ++tick,
                                             .from = 0, .end = 4, .lease_ms = 300,
                                             .released_at_ms = r->now.wall_ms };
    cr_expect_eq(join().number, 0);
    rig_order(r, 0, m);
    expect_credit(1, 4, 20);
    cr_expect_eq(join().number, 1);
    rig_run(r, 400);
    m.seg_credit.tick = ++tick; /* was sent before it was over */
    m.seg_credit.end = 6;
    rig_order(r, 0, m);
    expect_credit(4, 6, 20);
    cr_expect_eq(join().number, 4);
    m.seg_credit.tick--; /* an older order, late */
    m.seg_credit.end = 20;
    rig_order(r, 0, m);
    expect_credit(5, 6, 20);
    order(6, 21, 0);
    cr_expect_eq(join().state, APPEND_OK, "more than was set aside");
}

Test(credit, a_registration_a_seal_and_a_hold_end_it)
{
    order(0, 0, 8);
    order(0, 4, 0);
    segtab_hold(r->t[0], true);
    cr_expect_eq(join().state, APPEND_BUSY);
    segtab_hold(r->t[0], false);
    cr_expect_eq(join().state, APPEND_ENTERED);
    rig_down(r, 0, RIG_MNG);
    rig_up(r, 0, RIG_MNG, RPC_MANAGER, "mng");
    rig_run(r, 100);
    cr_expect_eq(r->status[1].credit_at, r->status[1].credit_end);
    cr_expect_eq(join().state, APPEND_OK, "the manager takes it for over");
    rig_seal(r, 0, 1, 0);
    order(4, 8, 0);
    cr_expect_eq(join().state, APPEND_SEALED);
}

Test(credit, numbers_set_aside_leave_room_for_one_that_waits)
{
    order(0, 0, 5000);
    cr_expect_eq(r->status[1].aside_end, 999);
    cr_expect_eq(join().number, 999);
    cr_expect_eq(r->status[1].state, SEG_OPEN);
    cr_expect_eq(join().state, APPEND_SEALED);
}

Test(credit, a_restart_keeps_who_entered_and_gives_no_number_twice)
{
    uint64_t digest;

    order(0, 0, 8);
    order(0, 4, 0);
    cr_expect_eq(join().number, 0);
    while (tape_snap(&tp, r->t[0], 1), tp.snapping)
        ;
    cr_expect_eq(join().number, 1);
    order(0, 4, 10);
    digest = segtab_digest(r->t[0]);
    segtab_free(r->t[0]);
    r->t[0] = replay_within(&tp, 1u << 20);
    cr_expect_eq(segtab_digest(r->t[0]), digest);
    cr_assert_eq(segtab_replayed(r->t[0], r->now), 0);
    rig_start(r, 0);
    cr_expect_eq(rig_poll(r, 0, 1, 0).state, PLACE_ADMITTED);
    cr_expect_eq(rig_poll(r, 0, 1, 1).state, PLACE_ADMITTED);
    cr_expect_eq(r->status[1].unused, 12);
    cr_expect_eq(join().number, 14);
}

Test(credit, a_record_that_sets_nobody_aside_is_damage)
{
    struct jrec x = { .kind = JREC_ASIDE, .seg = 1 };
    struct segtab *t = replay_within(&tp, 1u << 20);

    cr_expect_eq(segtab_replay(t, &x), SQ_EPROTO);
    x.run.first = UINT32_MAX;
    cr_expect_eq(segtab_replay(t, &x), SQ_EPROTO);
    segtab_free(t);
}

/* test_restart.c: what people see of a segment node that is started again with its journal. */
#include "tests/lib/segtape.h"

static void restart(struct rig *r, struct tape *tp)
{
    segtab_free(r->t[0]);
    r->t[0] = replay(tp);
    cr_assert_eq(segtab_replayed(r->t[0], r->now), 0);
    rig_start(r, 0);
}

Test(restart, places_passes_and_reasons_are_as_before)
{
    struct tape tp = { 0 };
    void *ctx[] = { &tp };
    struct rig *r = rig_new_logged(1, 1u << 20, on_log, ctx);
    struct place_ans pass, again;
    char text[MSG_PASS_MAX];

    rig_open(r, 0, 1, OPEN_TAIL, 1000, 40);
    (void)rig_join_as(r, 0, 1, "ann");
    rig_join(r, 0, 1, 600);
    rig_leave(r, 0, 1, 9);
    rig_pop(r, 0, 1, 1, 3);
    pass = rig_poll(r, 0, 1, 0);
    memcpy(text, pass.pass, pass.pass_len);
    arena_reset(&r->mem);
    restart(r, &tp);
    again = rig_poll(r, 0, 1, 0);
    cr_assert_eq(again.state, PLACE_ADMITTED);
    cr_assert_eq(again.pass_len, pass.pass_len);
    cr_assert_arr_eq(again.pass, text, pass.pass_len);
    cr_assert_eq(rig_poll(r, 0, 1, 1).state, PLACE_ADMITTED, "ready, not yet collected");
    cr_assert_eq(rig_poll(r, 0, 1, 9).reason, GONE_LEFT);
    cr_assert_eq(rig_poll(r, 0, 1, 3).position, 41);
    cr_assert_eq(rig_poll(r, 0, 1, 600).position, 600 + 1 + 40 - 4);
    cr_assert_eq(rig_join_as(r, 0, 1, "ann").state, APPEND_EXISTING);
    cr_assert_eq(rig_join_as(r, 0, 1, NULL).number, 601);
    cr_assert_eq(rig_pop(r, 0, 1, 1, 3), 3, "the same tick, the same answer");
    cr_assert_eq(rig_poll(r, 0, 1, 3).state, PLACE_WAITING);
    rig_free(r);
    tape_fini(&tp);
}

Test(restart, everybody_gets_a_whole_idle_time_out_after_a_restart)
{
    struct tape tp = { 0 };
    void *ctx[] = { &tp };
    struct rig *r = rig_new_logged(1, 1u << 20, on_log, ctx);

    rig_open(r, 0, 1, OPEN_TAIL, 1000, 0);
    rig_join(r, 0, 1, 10);
    rig_run(r, 3000);
    restart(r, &tp);
    rig_run(r, 3000);
    cr_assert_eq(rig_poll(r, 0, 1, 5).state, PLACE_WAITING);
    rig_run(r, 120000);
    cr_assert_eq(rig_poll(r, 0, 1, 5).reason, GONE_EXPIRED);
    rig_free(r);
    tape_fini(&tp);
}

Test(restart, a_lowered_limit_keeps_places)
{
    struct tape tp = { 0 };
    void *ctx[] = { &tp };
    struct rig *r = rig_new_logged(1, 1u << 20, on_log, ctx);

    rig_open(r, 0, 1, OPEN_TAIL, 5000, 0);
    rig_join(r, 0, 1, 2000);
    segtab_free(r->t[0]);
    r->t[0] = replay_within(&tp, 1024);
    cr_assert_eq(segtab_replayed(r->t[0], r->now), 0);
    rig_start(r, 0);
    cr_assert_eq(rig_poll(r, 0, 1, 1999).position, 2000);
    rig_join(r, 0, 1, 48); /* to the end of the last block */
    cr_assert_eq(rig_join_as(r, 0, 1, NULL).state, APPEND_BUSY);
    cr_assert_eq(rig_pop(r, 0, 1, 1, 1024), 1024);
    cr_assert_eq(rig_join_as(r, 0, 1, NULL).state, APPEND_BUSY, "two blocks are left, of two");
    cr_assert_eq(rig_pop(r, 0, 1, 2, 512), 512);
    cr_assert_eq(rig_join_as(r, 0, 1, NULL).state, APPEND_OK);
    rig_free(r);
    tape_fini(&tp);
}

static bool reports_at_once(struct rig *r, bool holds)
{
    cr_assert(segtab_urgent(r->t[0]));
    rig_step(r, 0, (struct segtab_in) { .kind = SEGTAB_REPORT });
    rig_pump(r, UINT32_MAX);
    return r->holds == holds;
}

Test(restart, the_manager_hears_at_once_that_nothing_is_written_and_that_it_is_again)
{
    struct rig *r = rig_new(1, 1u << 20);

    rig_open(r, 0, 1, OPEN_TAIL, 1000, 0);
    rig_join(r, 0, 1, 10);
    rig_step(r, 0, (struct segtab_in) { .kind = SEGTAB_REPORT });
    cr_assert_not(segtab_urgent(r->t[0]));
    segtab_hold(r->t[0], true);
    cr_expect(reports_at_once(r, true));
    segtab_hold(r->t[0], false);
    cr_expect(reports_at_once(r, false));
    segtab_no_room(r->t[0], true);
    cr_expect(reports_at_once(r, false) && r->no_room);
    segtab_no_room(r->t[0], false);
    cr_expect(reports_at_once(r, false) && !r->no_room);
    rig_free(r);
}

Test(restart, new_tickets_wait_without_a_log)
{
    struct rig *r = rig_new(1, 1u << 20);

    rig_open(r, 0, 1, OPEN_TAIL, 1000, 0);
    rig_join(r, 0, 1, 10);
    rig_pop(r, 0, 1, 1, 1);
    segtab_hold(r->t[0], true);
    cr_assert_eq(rig_join_as(r, 0, 1, NULL).state, APPEND_BUSY);
    cr_assert_eq(rig_pop(r, 0, 1, 2, 1), 0);
    cr_assert(r->popped.busy);
    cr_assert_eq(rig_poll(r, 0, 1, 0).state, PLACE_BUSY);
    cr_assert_eq(rig_poll(r, 0, 1, 5).position, 5);
    segtab_hold(r->t[0], false);
    cr_assert_eq(rig_pop(r, 0, 1, 2, 1), 1);
    cr_assert_eq(rig_poll(r, 0, 1, 0).state, PLACE_ADMITTED);
    rig_free(r);
}

Test(restart, nobody_times_out_without_a_log)
{
    struct rig *r = rig_new(1, 1u << 20);

    rig_open(r, 0, 1, OPEN_TAIL, 1000, 0);
    rig_join(r, 0, 1, 10);
    segtab_hold(r->t[0], true);
    rig_run(r, 60000);
    segtab_hold(r->t[0], false);
    rig_run(r, 1000);
    cr_expect_eq(r->status[1].expired, 0, "that time does not count");
    rig_run(r, 60000);
    cr_expect_eq(r->status[1].expired, 10);
    rig_free(r);
}

/* From its word on people join behind it, at another node. */
Test(restart, a_seal_without_a_log_comes_before_the_next_join)
{
    struct tape tp = { 0 };
    void *ctx[] = { &tp };
    struct rig *r = rig_new_logged(1, 1u << 20, on_log, ctx);

    rig_open(r, 0, 1, OPEN_TAIL, 1000, 0);
    rig_join(r, 0, 1, 10);
    segtab_hold(r->t[0], true);
    rig_seal(r, 0, 1, 2);
    cr_expect(r->status[1].shut && r->status[1].state == SEG_OPEN, "a kill would open it again");
    segtab_hold(r->t[0], false);
    cr_expect_eq(rig_join_as(r, 0, 1, NULL).state, APPEND_SEALED);
    cr_expect(reports_at_once(r, false));
    cr_expect(!r->status[1].shut && r->status[1].state == SEG_SEALED);
    rig_free(r);
    tape_fini(&tp);
}

/* People have been told how long they are good for; routers refuse one that is taken back
 * for as long as it could be shown. */
Test(restart, a_lowered_pass_ttl_keeps_issued_passes)
{
    struct tape tp = { 0 };
    void *ctx[] = { &tp };
    struct rig *r = rig_new_logged(1, 1u << 20, on_log, ctx);
    int64_t t0 = r->now.wall_ms / 1000;

    r->ttl_s = 30;
    rig_open(r, 0, 1, OPEN_TAIL, 1000, 0);
    rig_join(r, 0, 1, 10);
    rig_pop(r, 0, 1, 1, 3);
    for (uint32_t i = 0; i < 3; i++)
        cr_assert_eq(rig_poll(r, 0, 1, i).pass_expires_s, t0 + 30);
    rig_run(r, 2000);
    r->ttl_s = 4;
    rig_order(r, 0, (struct msg) { .type = MSG_RULES, .rules = rig_rules(r) });
    rig_pop(r, 0, 1, 2, 1);
    cr_expect_eq(rig_poll(r, 0, 1, 3).pass_expires_s, t0 + 6, "a new one is short");
    for (int round = 0; round < 3; round++) {
        cr_expect_eq(rig_poll(r, 0, 1, 0).pass_expires_s, t0 + 30, "round %d", round);
        rig_run(r, 5000);
        if (round == 1)
            tape_snap(&tp, r->t[0], UINT64_MAX); /* the old rules go with it */
        restart(r, &tp);
    }
    cr_expect_eq(rig_poll(r, 0, 1, 3).reason, GONE_FINISHED);
    rig_leave(r, 0, 1, 1);
    rig_run(r, 100);
    cr_expect_eq(r->ended.number, 1);
    cr_expect_eq(r->ended.until_s, t0 + 30);
    rig_run(r, 13000);
    cr_expect_eq(rig_poll(r, 0, 1, 0).reason, GONE_FINISHED, "and no longer");
    rig_free(r);
    tape_fini(&tp);
}

/* A damaged journal calls it a segment of early arrivals again; the order to draw comes again. */
Test(restart, a_drawn_segment_is_not_drawn_again)
{
    struct tape tp = { 0 };
    void *ctx[] = { &tp };
    struct rig *r = rig_new_logged(1, 1u << 20, on_log, ctx);
    struct jrec early = { .kind = JREC_EARLY, .seg = 1 };
    struct msg draw = { .type = MSG_SEG_SEAL,
                        .seg_seal = { .epoch = 1, .seg = 1, .draw = { .n = 5, .seed = { 1 } } } };
    uint64_t position[5];

    rig_order(r, 0, (struct msg) { .type = MSG_SEG_OPEN,
                                   .seg_open = { .epoch = 1, .seg = 1, .queue = 7,
                                                 .kind = OPEN_TAIL, .capacity = 10,
                                                 .early = true } });
    rig_join(r, 0, 1, 5);
    rig_order(r, 0, draw);
    rig_run(r, 200);
    cr_assert(r->status[1].drawn);
    for (uint32_t i = 0; i < 5; i++)
        position[i] = rig_poll(r, 0, 1, i).position;
    on_log(&tp, &early);
    restart(r, &tp);
    rig_order(r, 0, draw);
    rig_run(r, 200);
    for (uint32_t i = 0; i < 5; i++)
        cr_expect_eq(rig_poll(r, 0, 1, i).position, position[i], "number %u", i);
    rig_free(r);
    tape_fini(&tp);
}

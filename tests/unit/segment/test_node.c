/* test_node.c: a segment node's orders, clocks and answers, without moves. */
#include "tests/lib/segrig.h"

static struct rig *r;

static void setup(void)
{
    r = rig_new(1, 1u << 20);
    rig_open(r, 0, 1, OPEN_TAIL, 1000, 0);
}

static void teardown(void)
{
    rig_free(r);
}

TestSuite(node, .init = setup, .fini = teardown);

static struct segtab_counts counts(void)
{
    struct segtab_counts c;

    segtab_count(r->t[0], &c);
    return c;
}

Test(node, positions_follow_joins_and_leaves)
{
    for (uint64_t i = 0; i < 600; i++) {
        struct append_ans a = rig_join_as(r, 0, 1, NULL);

        cr_assert_eq(a.state, APPEND_OK);
        cr_assert_eq(a.number, i);
        cr_assert_eq(a.position, i + 1);
        cr_assert_eq(a.issued_s, 1700000000);
    }
    cr_assert_eq(rig_leave(r, 0, 1, 5).state, DROP_OK);
    cr_assert_eq(rig_leave(r, 0, 1, 5).state, DROP_OK, "leaving twice is fine");
    cr_assert_eq(rig_poll(r, 0, 1, 5).reason, GONE_LEFT);
    rig_run(r, 100);
    cr_assert_eq(rig_poll(r, 0, 1, 4).position, 5);
    cr_assert_eq(rig_poll(r, 0, 1, 6).position, 6);
    cr_assert_eq(rig_poll(r, 0, 1, 599).position, 599);
    cr_assert_eq(r->status[1].waiting, 599);
    cr_assert_eq(r->status[1].left, 1);
    cr_assert_eq(rig_poll(r, 0, 1, 600).reason, GONE_LOST);
    cr_assert_eq(rig_poll(r, 0, 99, 0).state, PLACE_UNKNOWN);
}

Test(node, ahead_only_falls)
{
    struct ahead_entry e = { 1, 500 };
    struct msg m = { .type = MSG_SEG_AHEAD,
                     .seg_ahead = { .epoch = 1, .n = 1, .v = &e } };

    rig_open(r, 0, 2, OPEN_TAIL, 10, 700);
    e.seg = 2;
    rig_order(r, 0, m);
    cr_assert_eq(rig_join_as(r, 0, 2, NULL).position, 501);
    e.ahead = 600;
    rig_order(r, 0, m);
    cr_assert_eq(rig_poll(r, 0, 2, 0).position, 501);
}

#define FIRST_MS 20 /* SEGTAB_FIRST_MS */

/* Who comes to an empty line may be let in at once. But a line that is empty again after
 * every join makes no report of each. */
Test(node, the_first_one_is_reported_before_the_tick)
{
    rig_open(r, 0, 2, OPEN_TAIL, 1000, 0);
    rig_step(r, 0, (struct segtab_in) { .kind = SEGTAB_REPORT });
    rig_join(r, 0, 2, 1);
    cr_assert_not(segtab_urgent(r->t[0]), "there was a report just now");
    rig_jump(r, FIRST_MS);
    rig_join(r, 0, 2, 1);
    cr_assert_not(segtab_urgent(r->t[0]), "the second one of the line");
    cr_assert_eq(rig_leave(r, 0, 2, 0).state, DROP_OK);
    cr_assert_eq(rig_leave(r, 0, 2, 1).state, DROP_OK);
    rig_join(r, 0, 2, 1);
    cr_assert(segtab_urgent(r->t[0]));
    rig_step(r, 0, (struct segtab_in) { .kind = SEGTAB_REPORT });
    rig_pump(r, UINT32_MAX);
    cr_assert_eq(r->status[2].waiting, 1);
    cr_assert_not(segtab_urgent(r->t[0]));
}

Test(node, filling_up_is_reported_before_the_tick)
{
    rig_open(r, 0, 2, OPEN_TAIL, 16, 0);
    rig_join(r, 0, 2, 1);
    rig_step(r, 0, (struct segtab_in) { .kind = SEGTAB_REPORT });
    rig_pump(r, UINT32_MAX);
    rig_join(r, 0, 2, 6);
    cr_assert_not(segtab_urgent(r->t[0]));
    rig_join(r, 0, 2, 1); /* half */
    cr_assert(segtab_urgent(r->t[0]));
    rig_step(r, 0, (struct segtab_in) { .kind = SEGTAB_REPORT });
    rig_pump(r, UINT32_MAX);
    cr_assert_eq(r->status[2].joined, 8);
    cr_assert_not(segtab_urgent(r->t[0]));
    rig_join(r, 0, 2, 8);
    cr_assert(segtab_urgent(r->t[0]));
    rig_step(r, 0, (struct segtab_in) { .kind = SEGTAB_REPORT });
    rig_pump(r, UINT32_MAX);
    cr_assert_eq(r->status[2].state, SEG_SEALED);
    cr_assert_eq(r->status[2].waiting, 16);
}

Test(node, full_seals_itself_and_names_the_successor)
{
    struct append_ans a;

    rig_open(r, 0, 2, OPEN_TAIL, 3, 0);
    rig_join(r, 0, 2, 3);
    a = rig_join_as(r, 0, 2, NULL);
    cr_assert_eq(a.state, APPEND_SEALED);
    cr_assert_eq(a.next, 0);
    rig_order(r, 0, (struct msg) { .type = MSG_SEG_NEXT, .seg_next = { 1, 2, 3 } });
    a = rig_join_as(r, 0, 2, NULL);
    cr_assert_eq(a.state, APPEND_SEALED);
    cr_assert_eq(a.next, 3);
    cr_assert_eq(r->status[2].state, SEG_SEALED);
    cr_assert_eq(r->status[2].next, 3);
    rig_seal(r, 0, 1, 2);
    cr_assert_eq(rig_join_as(r, 0, 1, NULL).next, 2);
    cr_assert_eq(rig_join_as(r, 0, 77, NULL).state, APPEND_UNKNOWN);
}

Test(node, a_released_ticket_gets_the_same_pass)
{
    struct place_ans a;
    char first[200];

    rig_join(r, 0, 1, 3);
    cr_assert_eq(rig_pop(r, 0, 1, 1, 2), 2);
    cr_assert_eq(r->status[1].ready, 2);
    a = rig_poll(r, 0, 1, 0);
    cr_assert_eq(a.state, PLACE_ADMITTED);
    cr_assert_eq(a.released_at_ms, r->now.wall_ms);
    cr_assert_eq(a.pass_expires_s, r->now.wall_ms / 1000 + 10);
    snprintf(first, sizeof(first), "%.*s", a.pass_len, a.pass);
    rig_run(r, 1500);
    a = rig_poll(r, 0, 1, 0);
    cr_assert(a.pass_len == strlen(first) && memcmp(a.pass, first, a.pass_len) == 0);
    cr_assert_eq(r->status[1].active, 1);
    cr_assert_eq(rig_poll(r, 0, 1, 2).position, 1, "who was third is first");
    for (int i = 0; i < 10; i++) {
        rig_run(r, 1000);
        rig_poll(r, 0, 1, 2);
    }
    cr_assert_eq(rig_poll(r, 0, 1, 0).state, PLACE_GONE);
    cr_assert_eq(rig_poll(r, 0, 1, 0).reason, GONE_FINISHED);
    rig_run(r, 200);
    cr_assert_eq(r->status[1].active, 0);
}

Test(node, a_repeated_tick_repeats_its_answer)
{
    rig_join(r, 0, 1, 100);
    cr_assert_eq(rig_pop(r, 0, 1, 5, 7), 7);
    cr_assert_eq(rig_pop(r, 0, 1, 5, 7), 7);
    cr_assert_eq(r->popped.tick, 5);
    cr_assert_eq(counts().popped, 7);
    cr_assert_eq(rig_pop(r, 0, 1, 4, 50), 7, "a stale tick gets the last answer");
    cr_assert_eq(r->popped.tick, 5);
    cr_assert_eq(rig_pop(r, 0, 1, 6, 500), 93);
    cr_assert_eq(counts().popped, 100);
    rig_pop(r, 0, 33, 1, 5);
    cr_assert(r->gone[33]);
}

Test(node, no_show_may_come_back_to_the_front)
{
    rig_join(r, 0, 1, 5);
    rig_pop(r, 0, 1, 1, 2);
    rig_run(r, 2500); /* claim window 2 s */
    cr_assert_eq(r->status[1].ready, 0);
    cr_assert_eq(r->status[1].no_shows, 2);
    cr_assert_eq(r->status[1].records, 2);
    for (uint32_t i = 2; i < 5; i++)
        rig_poll(r, 0, 1, i);
    cr_assert_eq(rig_poll(r, 0, 1, 1).state, PLACE_WAITING);
    cr_assert_eq(rig_poll(r, 0, 1, 1).position, 1);
    cr_assert_eq(rig_poll(r, 0, 1, 2).position, 1, "a return moves nobody back");
    rig_run(r, 200);
    cr_assert_eq(r->status[1].returning, 1);
    cr_assert_eq(r->status[1].waiting, 3);
    cr_assert_eq(rig_pop(r, 0, 1, 2, 2), 2);
    cr_assert_eq(rig_poll(r, 0, 1, 1).state, PLACE_ADMITTED);
    cr_assert_eq(rig_poll(r, 0, 1, 2).state, PLACE_ADMITTED);
    rig_run(r, 2600); /* grace 3 s */
    cr_assert_eq(rig_poll(r, 0, 1, 0).state, PLACE_GONE);
    cr_assert_eq(rig_poll(r, 0, 1, 0).reason, GONE_NO_SHOW);
}

Test(node, all_who_came_back_go_before_all_who_wait)
{
    const uint32_t n = 700; /* more than are taken out of the line at once */
    uint32_t back;

    rig_join(r, 0, 1, n + 50);
    cr_assert_eq(rig_pop(r, 0, 1, 1, n), n);
    rig_run(r, 2500);
    for (uint32_t i = 0; i < n + 50; i++)
        cr_assert_eq(rig_poll(r, 0, 1, i).state, PLACE_WAITING);
    back = rig_pop(r, 0, 1, 2, n);
    cr_assert(back > 0 && back < n, "only so many in one order: none of the others goes with them");
    for (uint32_t i = 0; i < n + 50; i++)
        cr_assert_eq(rig_poll(r, 0, 1, i).state, i < back ? PLACE_ADMITTED : PLACE_WAITING, "%u", i);
    cr_assert_eq(rig_pop(r, 0, 1, 3, n - back + 10), n - back + 10);
    for (uint32_t i = 0; i < n + 50; i++)
        cr_assert_eq(rig_poll(r, 0, 1, i).state, i < n + 10 ? PLACE_ADMITTED : PLACE_WAITING, "%u", i);
}

Test(node, nobody_times_out_early_and_nobody_stays_for_ever)
{
    struct append_ans a = rig_join_as(r, 0, 1, NULL);
    struct place_ans p;
    msec_t since;

    for (int i = 0; i < 5; i++) { /* as told, to the millisecond, is in time */
        rig_run(r, 3000 + (a.poll_after_ms + 99) / 100 * 100 - 100);
        p = rig_poll(r, 0, 1, 0);
        cr_assert_eq(p.state, PLACE_WAITING, "round %d", i);
        a.poll_after_ms = p.poll_after_ms;
    }
    since = r->now.now_ms;
    while (counts().expired == 0 && r->now.now_ms - since < 60000)
        rig_run(r, 100);
    cr_assert_geq(r->now.now_ms - since, 3000 + p.poll_after_ms);
    cr_assert_leq(r->now.now_ms - since, 3000 + p.poll_after_ms + 2000);
    cr_assert_eq(rig_poll(r, 0, 1, 0).reason, GONE_EXPIRED);
    rig_run(r, 100);
    cr_assert_eq(r->status[1].expired, 1);
}

Test(node, a_pause_of_ours_expires_nobody)
{
    rig_join(r, 0, 1, 50);
    rig_pop(r, 0, 1, 1, 1);
    rig_jump(r, 3600 * 1000);
    rig_run(r, 500);
    cr_assert_eq(counts().expired, 0);
    cr_assert_eq(counts().no_shows, 0, "nor is who was released a no-show");
    rig_down(r, 0, RIG_ROUTER); /* cut off from all routers */
    rig_run(r, 60000);
    cr_assert_eq(counts().expired, 0);
    rig_up(r, 0, RIG_ROUTER, RPC_ROUTER, "rt");
    rig_run(r, 1000);
    cr_assert_eq(counts().expired, 0);
    rig_run(r, 30000 + 20000);
    cr_assert_eq(counts().expired, 49);
    cr_assert_eq(counts().no_shows, 1);
}

/* Who found no router comes as late as they are back: that time does not count either, nor
 * that in which a router was dead and its link was not yet known to be. */
Test(node, a_router_outage_expires_no_returning_ticket)
{
    rig_join(r, 0, 1, 50);
    rig_poll_all(r, 0, 1, 50);
    rig_run(r, 1000);
    rig_run_silent(r, 3000); /* three heartbeats: then the link is closed */
    rig_down(r, 0, RIG_ROUTER);
    rig_run(r, 12000);
    rig_up(r, 0, RIG_ROUTER, RPC_ROUTER, "rt");
    rig_run(r, 14000);
    rig_up(r, 0, RIG_MNG2, RPC_ROUTER, "rt2"); /* the other one comes a little later */
    rig_run(r, 14000);
    cr_assert_eq(counts().expired, 0);
    rig_poll_all(r, 0, 1, 20);
    rig_run(r, 2000);
    cr_assert_eq(counts().expired, 0);
    for (int i = 0; i < 60; i++) {
        rig_poll_all(r, 0, 1, 20);
        rig_run(r, 1000);
    }
    cr_assert_eq(counts().expired, 30, "the others are gone, in the end");
}

/* A router that goes and comes while the others serve stops no time for long. */
Test(node, a_flapping_router_does_not_stop_expiry)
{
    rig_join(r, 0, 1, 50);
    rig_down(r, 0, RIG_ROUTER);
    rig_run(r, 40000);
    rig_up(r, 0, RIG_ROUTER, RPC_ROUTER, "rt");
    for (int i = 0; i < 20; i++) {
        rig_up(r, 0, RIG_MNG2, RPC_ROUTER, "rt2");
        rig_run(r, 5000);
        rig_down(r, 0, RIG_MNG2);
    }
    cr_assert_eq(counts().expired, 50);
}

Test(node, a_longer_interval_keeps_the_remaining_time)
{
    struct pace_entry e = {
        .queue = 7, .min_ms = 60000, .max_ms = 600000, .us_per_place = 0
    };
    struct msg m = { .type = MSG_SEG_AHEAD,
                     .seg_ahead = { .epoch = 1, .n_pace = 1, .pace = &e } };
    uint32_t told;

    rig_join(r, 0, 1, 2);
    rig_order(r, 0, m); /* the unit grows from 360 ms to more than 6 s */
    rig_run(r, 3900);
    cr_assert_eq(counts().expired, 0);
    told = rig_poll(r, 0, 1, 1).poll_after_ms;
    cr_assert_geq(told, 30000);
    rig_run(r, told + 3000);
    cr_assert_eq(rig_poll(r, 0, 1, 1).state, PLACE_WAITING);
    cr_assert_eq(rig_poll(r, 0, 1, 0).reason, GONE_EXPIRED);
}

Test(node, lower_epochs_and_rivals_are_refused)
{
    rig_join(r, 0, 1, 10);
    rig_up(r, 0, RIG_MNG2, RPC_MANAGER, "other");
    rig_order_as(r, 0, RIG_MNG2,
                 (struct msg) { .type = MSG_NODE_OK, .node_ok = { 1, 1 } });
    rig_pump(r, UINT32_MAX);
    cr_assert_eq(r->error, SQ_ESTALE, "same epoch, another identity");
    r->error = 0;
    rig_order_as(r, 0, RIG_MNG2,
                 (struct msg) { .type = MSG_NODE_OK, .node_ok = { 5, 1 } });
    rig_pump(r, UINT32_MAX);
    cr_assert_eq(r->error, 0);
    cr_assert_eq(r->last_epoch, 5, "everything is reported under the new epoch");
    cr_assert_eq(rig_pop(r, 0, 1, 1, 3), 0);
    cr_assert_eq(r->error, SQ_ESTALE);
    cr_assert_eq(counts().popped, 0);
    cr_assert_geq(counts().stale_orders, 2);
    rig_down(r, 0, RIG_MNG2);
    rig_pop(r, 0, 1, 1, 3);
    cr_assert_eq(counts().popped, 0, "the old one stays refused");
}

Test(node, a_manager_of_another_store_is_refused_whatever_its_epoch)
{
    const struct msg mine = { .type = MSG_NODE_OK, .node_ok = { 1, 1, 77 } };
    const struct msg other = { .type = MSG_NODE_OK, .node_ok = { 9, 1, 78 } };
    const struct msg successor = { .type = MSG_NODE_OK, .node_ok = { 3, 1, 77 } };

    rig_order(r, 0, mine);
    rig_join(r, 0, 1, 10);
    rig_up(r, 0, RIG_MNG2, RPC_MANAGER, "other");
    rig_order_as(r, 0, RIG_MNG2, other);
    rig_pump(r, UINT32_MAX);
    cr_assert_eq(r->error, SQ_ESTALE);
    cr_assert_geq(counts().stale_orders, 1);
    r->error = 0;
    rig_order_as(r, 0, RIG_MNG2,
                 (struct msg) { .type = MSG_SEG_REMOVE, .seg_remove = { 9, 1, true } });
    rig_pump(r, UINT32_MAX);
    cr_assert_eq(r->error, SQ_ESTALE, "nor do its later orders count");
    cr_assert_eq(rig_poll(r, 0, 1, 1).state, PLACE_WAITING);
    r->error = 0;
    rig_order_as(r, 0, RIG_MNG2, successor);
    rig_pump(r, UINT32_MAX);
    cr_assert_eq(r->error, 0, "one that has our store takes over");
}

Test(node, same_manager_may_come_back_on_another_link)
{
    rig_up(r, 0, RIG_MNG2, RPC_MANAGER, "mng");
    rig_order_as(r, 0, RIG_MNG2,
                 (struct msg) { .type = MSG_NODE_OK, .node_ok = { 1, 1 } });
    rig_down(r, 0, RIG_MNG);
    rig_join(r, 0, 1, 1);
    r->n_frames = 0;
    rig_run(r, 200);
    cr_assert_gt(r->n_frames, 0);
    cr_assert_eq(r->error, 0);
}

Test(node, remove_needs_an_empty_sealed_segment_or_force)
{
    struct msg m = { .type = MSG_SEG_REMOVE, .seg_remove = { 1, 1, false } };

    rig_order(r, 0, m);
    cr_assert_not(r->gone[1], "it is open");
    rig_join(r, 0, 1, 2);
    rig_seal(r, 0, 1, 2);
    rig_pop(r, 0, 1, 1, 2);
    rig_poll(r, 0, 1, 0);
    rig_order(r, 0, m);
    cr_assert_not(r->gone[1], "a pass is valid, one may still come");
    rig_run(r, 12000);
    cr_assert_eq(r->status[1].records, 0);
    rig_order(r, 0, m);
    cr_assert(r->gone[1]);
    cr_assert_eq(counts().blocks, 0);
    rig_order(r, 0, m);
    cr_assert(r->gone[1], "again: the same answer");
    rig_open(r, 0, 2, OPEN_TAIL, 10, 0);
    rig_join(r, 0, 2, 5);
    m.seg_remove = (struct msg_seg_remove) { 1, 2, true };
    rig_order(r, 0, m);
    cr_assert(r->gone[2]);
    cr_assert_eq(counts().segments, 0);
    cr_assert_eq(counts().blocks, 0);
    m = (struct msg) { .type = MSG_SEG_OPEN,
                       .seg_open = { .epoch = 1, .seg = 3, .queue = 7, .lane = 0,
                                     .kind = OPEN_TAIL, .capacity = 10, .ahead = 0 } };
    r->error = 0;
    rig_order(r, 0, m);
    cr_assert_eq(r->error, SQ_EUNAVAIL, "its queue's rules went with the last segment");
}

Test(node, a_subject_has_one_ticket)
{
    struct append_ans a = rig_join_as(r, 0, 1, "ann"), b;
    struct place_ans p;
    char pass[200];

    rig_join_as(r, 0, 1, "bob");
    b = rig_join_as(r, 0, 1, "ann");
    cr_assert_eq(b.state, APPEND_EXISTING);
    cr_assert_eq(b.number, a.number);
    cr_assert_eq(b.issued_s, a.issued_s);
    cr_assert_eq(b.position, 1);
    rig_pop(r, 0, 1, 1, 1);
    p = rig_poll(r, 0, 1, a.number);
    snprintf(pass, sizeof(pass), "%.*s", p.pass_len, p.pass);
    cr_assert_not_null(strstr(pass, "/ann/"));
    cr_assert_eq(rig_join_as(r, 0, 1, "ann").state, APPEND_EXISTING);
    rig_seal(r, 0, 1, 2);
    cr_assert_eq(rig_join_as(r, 0, 1, "bob").state, APPEND_EXISTING, "also when sealed");
    cr_assert_eq(rig_join_as(r, 0, 1, "cat").state, APPEND_SEALED);
    rig_open(r, 0, 2, OPEN_TAIL, 100, 0);
    a = rig_join_as(r, 0, 2, "dan");
    rig_leave(r, 0, 2, a.number);
    b = rig_join_as(r, 0, 2, "dan");
    cr_assert_eq(b.state, APPEND_OK);
    cr_assert_neq(b.number, a.number);
    rig_run(r, 40000); /* timed out: the name is free */
    cr_assert_eq(rig_join_as(r, 0, 2, "dan").state, APPEND_OK);
}

/* A key is nobody's name: it finds the ticket again, and passes do not say it. */
/* ann, who joins with that device: a letter, 21 times; 0: she says none. */
static struct append_ans ann_of(char device)
{
    char name[64];
    struct append_req q = { .seg = 1, .subject = name, .subject_hash = 7 };
    struct append_ans a;

    if (device != 0)
        snprintf(name, sizeof(name), "\x02%c-  %.*sAann", 3 + DEVICE_LEN, DEVICE_LEN - 1,
                 device == 'a' ? "aaaaaaaaaaaaaaaaaaaaa" : "bbbbbbbbbbbbbbbbbbbbb");
    else
        strcpy(name, "ann");
    q.subject_len = (uint8_t)strlen(name);
    segtab_append(r->t[0], r->now, &q, 1, &a, &r->mem);
    return a;
}

Test(node, a_subject_has_one_device)
{
    struct append_ans a = ann_of('a'), b = ann_of('a'), c = ann_of('b');

    cr_expect(a.state == APPEND_OK && b.state == APPEND_EXISTING && c.state == APPEND_EXISTING);
    cr_expect_eq(b.position, 1);
    cr_expect_eq(c.position, APPEND_ALIEN);
    cr_expect_eq(c.number, a.number);
    cr_expect_eq(ann_of(0).position, 1, "a join that names no device");
}

Test(node, an_idempotency_key_lives_until_a_later_poll)
{
    struct append_ans a = rig_join_as(r, 0, 1, "\001key"), b;
    struct place_ans p;
    char pass[200];

    rig_join_as(r, 0, 1, "\001other");
    rig_join_as(r, 0, 1, "ann");
    rig_poll(r, 0, 1, a.number); /* perhaps a router's, for a join that it holds */
    b = rig_join_as(r, 0, 1, "\001key");
    cr_assert_eq(b.state, APPEND_EXISTING);
    cr_assert_eq(b.number, a.number);
    r->now.wall_ms += 61000;
    for (uint32_t i = 0; i < 3; i++)
        rig_poll(r, 0, 1, i);
    cr_assert_eq(rig_join_as(r, 0, 1, "ann").state, APPEND_EXISTING, "a name stays");
    b = rig_join_as(r, 0, 1, "\001key");
    cr_assert_eq(b.state, APPEND_OK, "who polled has the answer");
    rig_pop(r, 0, 1, 1, 4);
    p = rig_poll(r, 0, 1, b.number);
    snprintf(pass, sizeof(pass), "%.*s", p.pass_len, p.pass);
    cr_assert_null(strchr(pass, '\001'), "%s", pass);
    cr_assert_eq(rig_join_as(r, 0, 1, "\001key").state, APPEND_EXISTING, "also with its pass");
}

Test(node, leaving_ends_a_session)
{
    rig_join(r, 0, 1, 2);
    rig_pop(r, 0, 1, 1, 2);
    rig_poll(r, 0, 1, 0);
    cr_assert_eq(rig_leave(r, 0, 1, 0).state, DROP_OK);
    cr_assert_eq(rig_leave(r, 0, 1, 1).state, DROP_OK);
    rig_run(r, 200);
    cr_assert_eq(r->status[1].active, 0);
    cr_assert_eq(r->status[1].records, 1, "who has a pass is remembered as long as it");
    cr_assert_eq(rig_poll(r, 0, 1, 0).reason, GONE_LEFT);
    cr_assert_eq(rig_poll(r, 0, 1, 1).reason, GONE_LEFT);
    rig_run(r, 700000);
    cr_assert_eq(r->status[1].records, 0);
}

Test(node, memory_is_bounded_by_blocks)
{
    struct rig *s = rig_new(1, 1024);

    rig_open(s, 0, 1, OPEN_TAIL, 5000, 0);
    rig_join(s, 0, 1, 1024);
    cr_assert_eq(rig_join_as(s, 0, 1, NULL).state, APPEND_BUSY);
    cr_assert_eq(rig_poll(s, 0, 1, 1023).position, 1024, "what is there is kept");
    rig_pop(s, 0, 1, 1, 512);
    cr_assert_eq(rig_join_as(s, 0, 1, NULL).state, APPEND_OK);
    rig_free(s);
}

Test(node, idle_queues_cost_no_messages_and_no_ticks)
{
    for (seg_id i = 100; i < 5100; i++)
        rig_open(r, 0, i, OPEN_TAIL, 10, 0);
    rig_run(r, 2000);
    r->n_status = r->n_frames = 0;
    rig_run(r, 5000);
    cr_assert_eq(r->n_status, 0);
    cr_assert_leq(r->n_frames, 5, "one beat a second");
    rig_join(r, 0, 200, 1);
    rig_run(r, 1000);
    cr_assert_geq(r->n_status, 1);
    cr_assert_leq(r->n_status, 3);
}

Test(node, a_new_link_is_told_everything_in_chunks)
{
    for (seg_id i = 100; i < 5099; i++)
        rig_open(r, 0, i, OPEN_TAIL, 10, 0);
    rig_down(r, 0, RIG_MNG);
    r->n_status = r->n_full = 0;
    rig_up(r, 0, RIG_MNG, RPC_MANAGER, "mng");
    rig_pump(r, UINT32_MAX);
    cr_assert_eq(r->n_status, 5000);
    cr_assert_eq(r->n_full, 3);
}

Test(node, orders_are_safe_to_repeat_and_nonsense_is_answered)
{
    rig_join(r, 0, 1, 4);
    rig_open(r, 0, 1, OPEN_TAIL, 77, 9);
    cr_assert_eq(r->status[1].capacity, 1000);
    cr_assert_eq(r->status[1].waiting, 4);
    rig_order(r, 0,
              (struct msg) { .type = MSG_SEG_OPEN,
                             .seg_open = { .epoch = 1, .seg = 40, .queue = 8, .lane = 0,
                                           .kind = OPEN_TAIL, .capacity = 10,
                                           .ahead = 0 } });
    cr_assert_eq(r->error, SQ_EUNAVAIL, "no rules for queue 8");
    r->error = 0;
    rig_order(r, 0, (struct msg) { .type = MSG_STATS });
    cr_assert_eq(r->error, SQ_EUNKNOWN);
    rig_seal(r, 0, 41, 0);
    cr_assert(r->gone[41]);
}

/* ---- what planted bugs showed to be untested (tests/mutants) ----------------------- */

Test(node, each_class_has_its_own_patience)
{
    static const uint8_t client[] = { CLIENT_GAME, CLIENT_MOBILE, CLIENT_BROWSER };
    static const msec_t idle[] = { 3000, 5000, 8000 };
    struct append_req q = { .seg = 1 };
    struct append_ans a[3];

    for (unsigned i = 0; i < 3; i++) {
        q.client = client[i];
        segtab_append(r->t[0], r->now, &q, 1, &a[i], &r->mem);
        cr_assert_eq(a[i].state, APPEND_OK);
    }
    for (unsigned i = 0; i < 3; i++) { /* each alone is still there just before its time */
        struct segtab_counts c = counts();
        msec_t left = idle[i] + a[i].poll_after_ms - 100 - (r->now.now_ms - 1000000);

        rig_run(r, left / 100 * 100);
        c = counts();
        cr_assert_geq(c.waiting, 3 - i, "class %u went early", i);
    }
    rig_run(r, 3000);
    cr_assert_eq(counts().expired, 3);
}

Test(node, remove_refuses_a_segment_with_tickets)
{
    struct msg m = { .type = MSG_SEG_REMOVE, .seg_remove = { 1, 1, false } };

    rig_join(r, 0, 1, 2);
    rig_seal(r, 0, 1, 0);
    rig_order(r, 0, m);
    cr_assert_not(r->gone[1]);
    cr_assert_eq(rig_poll(r, 0, 1, 0).state, PLACE_WAITING);
}

Test(node, the_epoch_just_below_is_refused_too)
{
    rig_order(r, 0, (struct msg) { .type = MSG_NODE_OK, .node_ok = { 5, 1 } });
    rig_join(r, 0, 1, 3);
    r->error = 0;
    r->epoch = 4;
    rig_pop(r, 0, 1, 1, 3);
    cr_assert_eq(r->error, SQ_ESTALE);
    cr_assert_eq(counts().popped, 0);
    r->epoch = 5;
    cr_assert_eq(rig_pop(r, 0, 1, 1, 3), 3);
}

Test(node, a_pass_is_over_in_time_even_if_the_tick_is_late)
{
    rig_join(r, 0, 1, 2);
    rig_pop(r, 0, 1, 1, 1);
    cr_assert_eq(rig_poll(r, 0, 1, 0).state, PLACE_ADMITTED);
    rig_jump(r, 9999);
    cr_assert_eq(rig_poll(r, 0, 1, 0).state, PLACE_ADMITTED);
    rig_jump(r, 1);
    cr_assert_eq(rig_poll(r, 0, 1, 0).state, PLACE_GONE);
    cr_assert_eq(rig_poll(r, 0, 1, 0).reason, GONE_FINISHED);
}

/* Not even under an epoch above all that were seen. */
Test(node, only_managers_give_orders)
{
    struct msg pop = { .type = MSG_SEG_POP, .seg_pop = { 9, 1, 1, 3, r->now.wall_ms } };
    struct msg seal = { .type = MSG_SEG_SEAL, .seg_seal = { 9, 1, 0 } };

    rig_join(r, 0, 1, 3);
    rig_up(r, 0, RIG_PEER, RPC_SEGMENT, "node1");
    for (peer_no p = RIG_ROUTER; p <= RIG_PEER; p++) {
        r->error = 0;
        rig_order_as(r, 0, p, pop);
        rig_order_as(r, 0, p, seal);
        rig_pump(r, UINT32_MAX);
        cr_assert_eq(counts().popped, 0, "peer %u", p);
        cr_assert_eq(rig_join_as(r, 0, 1, NULL).state, APPEND_OK, "peer %u", p);
        cr_assert_eq(counts().epoch, 1, "peer %u", p);
    }
}

/* Who was released and is not stored yet still counts before the others: once, also before
 * those whose block has not been told of the release. */
Test(node, nobody_is_told_a_larger_place_by_a_release)
{
    struct msg pop = { .type = MSG_SEG_POP };

    rig_open(r, 0, 1, OPEN_TAIL, 5000, 0);
    rig_join(r, 0, 1, 800);
    rig_run(r, 100);
    cr_assert_eq(rig_poll(r, 0, 1, 700).position, 701);
    pop.seg_pop = (struct msg_seg_pop){ .epoch = r->epoch, .seg = 1, .tick = 1, .n = 7,
                                        .released_at_ms = r->now.wall_ms };
    rig_order(r, 0, pop);
    cr_assert_eq(r->popped.n, 7);
    cr_expect_eq(rig_poll(r, 0, 1, 700).position, 701);
    cr_expect_eq(rig_poll(r, 0, 1, 10).position, 11);
    rig_run(r, 100);
    cr_expect_eq(rig_poll(r, 0, 1, 700).position, 701);
}

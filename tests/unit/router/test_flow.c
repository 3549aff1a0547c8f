/* test_flow.c: a request's way, answer by answer. */
#include "router/flow/flow.h"

#include "tests/lib/flowrig.h"

TestSuite(flow, .init = setup, .fini = teardown);

static struct flow poll_of(seg_id seg, uint32_t number, msec_t now_ms)
{
    struct flow f;
    struct token t = { .seg = seg, .number = number };

    memset(&f, 0xee, sizeof(f)); /* nothing of what was there may matter */
    flow_poll(&f, r, NULL, &t, now_ms);
    return f;
}

static struct flow leave_of(seg_id seg, msec_t now_ms)
{
    struct flow f;
    struct token t = { .seg = seg, .number = 3 };

    flow_leave(&f, r, &t, now_ms);
    return f;
}

Test(flow, join_asks_the_first_open_segment_and_makes_the_token)
{
    struct flow f = join(1000);
    struct append_ans a = { .state = APPEND_OK, .seg = 12, .number = 5, .issued_s = 99,
                            .client = CLIENT_MOBILE, .position = 40, .poll_after_ms = 900 };

    cr_assert(ASKS(f, 2, 12));
    flow_append_ans(&f, r, &a, 1001);
    cr_expect(IS_DONE(f, FLOW_OK));
    cr_expect(f.token.seg == 12 && f.token.number == 5 && f.token.issued_s == 99);
    cr_expect(f.token.subject_hash == 77 && f.token.client == CLIENT_MOBILE);
    cr_expect(f.position == 40 && f.poll_after_ms == 900 && f.serving == 12);
}

/* Another node than the one that has the ticket says so. */
static struct flow found_elsewhere(struct append_ans *a)
{
    struct flow f = join(0);

    *a = (struct append_ans){ .state = APPEND_EXISTING, .seg = 9, .number = 1, .client = CLIENT_GAME };
    flow_append_ans(&f, r, a, 1);
    return f;
}

Test(flow, join_with_a_live_ticket_returns_it)
{
    struct append_ans a;
    struct flow f = found_elsewhere(&a);
    struct place_ans p = { .state = PLACE_WAITING, .position = 3, .poll_after_ms = 700 };

    cr_expect(ASKS(f, 1, 11) && f.asks == FLOW_JOIN, "the node that has it is to count this join");
    cr_expect_eq(f.token.client, CLIENT_MOBILE, "as the join had said");
    a.counted = APPEND_COUNTED;
    a.position = 1;
    flow_append_ans(&f, r, &a, 2);
    cr_expect(ASKS(f, 1, 9) && f.asks == FLOW_POLL, "it may be inside: how it stands is asked where it is");
    flow_place_ans(&f, r, &p, 3);
    cr_expect(IS_DONE(f, FLOW_EXISTING) && flow_got(&f));
    cr_expect(f.token.seg == 9 && f.token.client == CLIENT_GAME);
    cr_expect(f.position == 3 && f.poll_after_ms == 700);
}

Test(flow, a_live_ticket_that_waits_is_told_with_the_word_that_counts_it)
{
    struct append_ans a;
    struct flow f = found_elsewhere(&a);

    a.counted = APPEND_COUNTED;
    a.position = 40;
    a.poll_after_ms = 900;
    flow_append_ans(&f, r, &a, 2);
    cr_expect(IS_DONE(f, FLOW_EXISTING) && flow_got(&f));
    cr_expect(f.token.seg == 9 && f.token.client == CLIENT_GAME && f.position == 40 && f.poll_after_ms == 900);
    cr_expect_eq(f.no_place, NO_PLACE_NONE);
}

/* An older node, or one that has forgotten its key. */
Test(flow, a_live_ticket_whose_node_counts_no_joins_is_told)
{
    static const enum append_state says[] = { APPEND_EXISTING, APPEND_BUSY, APPEND_SEALED };
    struct place_ans p = { .state = PLACE_WAITING, .position = 3, .poll_after_ms = 700 };

    for (unsigned i = 0; i < ARRAY_LEN(says); i++) {
        struct append_ans a;
        struct flow f = found_elsewhere(&a);

        flow_append_ans(&f, r, &(struct append_ans){ .state = (uint8_t)says[i], .seg = 9, .number = 1,
                                                     .client = CLIENT_GAME }, 2);
        cr_assert(ASKS(f, 1, 9) && f.asks == FLOW_POLL, "%u", i);
        flow_place_ans(&f, r, &p, 3);
        cr_expect(IS_DONE(f, FLOW_EXISTING) && f.token.client == CLIENT_GAME && !flow_got(&f), "%u", i);
    }
}

/* Who is told of it uncounted would lose it to a join that gives it back. */
Test(flow, a_live_ticket_whose_node_is_busy_or_away_is_found_anew)
{
    static const enum append_state says[] = { APPEND_BUSY, APPEND_UNKNOWN };

    for (unsigned i = 0; i < ARRAY_LEN(says) + 2; i++) {
        struct append_ans a;
        struct flow f = found_elsewhere(&a);

        if (i == ARRAY_LEN(says))
            flow_lost(&f, 2);
        else if (i > ARRAY_LEN(says))
            flow_unreached(&f, 2);
        else
            flow_append_ans(&f, r, &(struct append_ans){ .state = (uint8_t)says[i], .poll_after_ms = 20 }, 2);
        cr_assert_eq(f.todo, FLOW_WAIT_MAP, "%u", i);
        flow_retry(&f, r, f.wake_ms);
        cr_assert(ASKS(f, 2, 12) && f.asks == FLOW_JOIN && f.token.client == CLIENT_MOBILE, "%u", i);
        a.seg = 9;
        flow_append_ans(&f, r, &a, f.wake_ms - 1);
        cr_expect(ASKS(f, 1, 11) && f.asks == FLOW_JOIN, "%u", i);
    }
}

/* However often the tail was busy before: else it would be told uncounted in the end. */
Test(flow, the_owner_of_a_live_ticket_is_asked_after_many_asks)
{
    struct append_ans busy = { .state = APPEND_BUSY, .poll_after_ms = 5 }, sealed = { .state = APPEND_SEALED },
                      a = { .state = APPEND_EXISTING, .seg = 9, .number = 1, .client = CLIENT_GAME };
    struct flow f = join(0);
    unsigned n = 0;

    for (; n < 20; n++) {
        flow_append_ans(&f, r, &busy, 10 * n);
        flow_retry(&f, r, 10 * n + 5);
    }
    cr_assert(ASKS(f, 2, 12));
    flow_append_ans(&f, r, &a, 200);
    cr_assert(ASKS(f, 1, 11) && f.asks == FLOW_JOIN);
    a.seg = 12;
    flow_append_ans(&f, r, &a, 201);
    cr_assert_eq(f.todo, FLOW_WAIT_MAP, "nodes that name one another are not asked in circles");
    flow_retry(&f, r, f.wake_ms);
    cr_assert(ASKS(f, 2, 12));
    flow_append_ans(&f, r, &sealed, 400);
    cr_expect(f.asks == FLOW_JOIN, "the tail is sealed, not the ticket's segment");
}

/* It would get a second place, though the first one is known: that node is busy while it moves the segment. */
Test(flow, a_join_whose_key_has_a_ticket_does_not_go_without_it)
{
    struct append_ans a = { .state = APPEND_EXISTING, .seg = 9, .number = 1 },
                      busy = { .state = APPEND_BUSY, .poll_after_ms = 20 };
    struct flow f = join(0);
    unsigned n = 0;

    f.keyed = true;
    for (msec_t now = 0; f.todo != FLOW_DONE; now = f.wake_ms) {
        flow_retry(&f, r, now);
        for (; f.todo == FLOW_ASK; n++)
            flow_append_ans(&f, r, f.node == 2 ? &a : &busy, now);
    }
    cr_expect(IS_DONE(f, FLOW_UNAVAIL) && !f.bare);
    cr_expect_gt(n, 2 * FLOW_KEY_MS / 20);
}

/* The ticket's node was busy, and at the next ask the directory is not sure. */
Test(flow, nor_when_nobody_is_sure_of_it_any_more)
{
    struct append_ans a = { .state = APPEND_EXISTING, .seg = 9, .number = 1 },
                      busy = { .state = APPEND_BUSY, .poll_after_ms = 20 };
    struct flow f = join(0);

    f.keyed = true;
    flow_append_ans(&f, r, &a, 1);
    cr_assert(f.todo == FLOW_ASK && f.whose);
    for (msec_t now = 1; f.todo != FLOW_DONE; now = f.wake_ms) {
        flow_retry(&f, r, now);
        while (f.todo == FLOW_ASK)
            flow_append_ans(&f, r, &busy, now);
    }
    cr_expect(IS_DONE(f, FLOW_UNAVAIL) && !f.bare);
}

/* The ticket has ended since, and its segment takes joins. */
Test(flow, a_place_may_be_got_where_the_ticket_was)
{
    struct append_ans a;
    struct flow f = found_elsewhere(&a);

    flow_append_ans(&f, r, &(struct append_ans){ .state = APPEND_OK, .seg = 11, .number = 8,
                                                 .client = CLIENT_MOBILE, .position = 5 }, 2);
    cr_expect(IS_DONE(f, FLOW_OK) && f.fresh && f.token.seg == 11 && f.token.client == CLIENT_MOBILE);
}

/* The node that has it knows whose it is; then it is asked how it stands. */
Test(flow, a_join_of_a_device_asks_the_node_that_has_its_ticket)
{
    struct flow f = join(0);
    struct append_ans a = { .state = APPEND_EXISTING, .seg = 9, .number = 1, .client = CLIENT_GAME };
    struct place_ans p = { .state = PLACE_WAITING, .position = 3, .poll_after_ms = 700 };

    f.token.device = 77;
    flow_append_ans(&f, r, &a, 1);
    cr_expect(ASKS(f, 1, 11) && f.asks == FLOW_JOIN);
    cr_expect_eq(f.token.client, CLIENT_MOBILE, "as the join had said");
    a.position = APPEND_ALIEN;
    flow_append_ans(&f, r, &a, 2);
    cr_expect(ASKS(f, 1, 9) && f.asks == FLOW_POLL);
    flow_place_ans(&f, r, &p, 3);
    cr_expect(IS_DONE(f, FLOW_EXISTING) && f.alien);
    cr_expect(f.token.device == 77 && f.token.number == 1);
}

Test(flow, a_join_of_a_device_is_not_asked_in_circles)
{
    struct append_ans at_1 = { .state = APPEND_EXISTING, .seg = 9, .number = 1 },
                      at_2 = { .state = APPEND_EXISTING, .seg = 12, .number = 1 };
    struct flow f = join(0);
    unsigned n = 0;

    f.token.device = 77;
    for (; f.todo == FLOW_ASK && n < 100; n++)
        flow_append_ans(&f, r, f.node == 1 ? &at_2 : &at_1, 1);
    cr_expect(n < 20 && f.todo == FLOW_WAIT_MAP, "%u", n);
}

Test(flow, an_ended_ticket_is_joined_anew)
{
    struct append_ans a;
    struct flow f = found_elsewhere(&a);
    struct place_ans p = { .state = PLACE_GONE, .reason = GONE_EXPIRED };

    flow_append_ans(&f, r, &a, 2);
    cr_assert_eq(f.asks, FLOW_POLL);
    flow_place_ans(&f, r, &p, 2);
    cr_assert_eq(f.todo, FLOW_WAIT_MAP);
    flow_retry(&f, r, f.wake_ms);
    cr_expect(ASKS(f, 2, 12) && f.asks == FLOW_JOIN);
    cr_expect(f.token.client == CLIENT_MOBILE, "as the join had said");
}

Test(flow, an_unreachable_ticket_is_not_joined_anew)
{
    struct append_ans a;
    struct flow f = found_elsewhere(&a);

    flow_append_ans(&f, r, &a, 1);
    while (f.todo != FLOW_DONE) {
        cr_assert_eq(f.asks, FLOW_POLL, "as where it is nobody counts it");
        flow_lost(&f, f.wake_ms - 1);
        flow_retry(&f, r, f.wake_ms);
    }
    cr_expect(IS_DONE(f, FLOW_UNAVAIL));
}

Test(flow, a_pending_subject_check_is_retried_until_the_deadline)
{
    struct flow f = join(0);
    struct append_ans busy = { .state = APPEND_BUSY, .poll_after_ms = 5 };
    unsigned n = 0;

    for (msec_t now = 0; f.todo != FLOW_DONE; now = f.wake_ms, n++) {
        flow_retry(&f, r, now);
        if (f.todo == FLOW_ASK)
            flow_append_ans(&f, r, &busy, now);
    }
    cr_expect(IS_DONE(f, FLOW_UNAVAIL));
    cr_expect_gt(n, FLOW_TIMEOUT_MS / 10);
}

/* A key saves a second place where that can be had; nobody is sent away for it. */
Test(flow, a_join_with_only_a_key_may_lose_it)
{
    struct flow f = join(0);
    struct append_ans busy = { .state = APPEND_BUSY, .poll_after_ms = 5 };
    struct append_ans ok = { .state = APPEND_OK, .seg = 12, .number = 3, .position = 4 };
    msec_t now = 0;

    f.keyed = true;
    while (!f.bare && now < FLOW_TIMEOUT_MS) {
        flow_retry(&f, r, now);
        if (f.todo == FLOW_ASK)
            flow_append_ans(&f, r, &busy, now);
        if (!f.bare)
            now = f.wake_ms;
    }
    cr_expect_geq(now, FLOW_KEY_MS);
    cr_expect_lt(now, FLOW_KEY_MS + 200);
    cr_assert(ASKS(f, 2, 12));
    flow_append_ans(&f, r, &ok, now);
    cr_expect(IS_DONE(f, FLOW_OK));
}

/* Likewise in a group, where a key counts as a name. What it may have got without it nothing would find. */
Test(flow, a_join_without_its_key_is_not_sent_again_behind_a_link_that_ended)
{
    struct flow f = join(0);
    struct append_ans busy = { .state = APPEND_BUSY, .poll_after_ms = 5 };

    f.keyed = f.named = true;
    flow_append_ans(&f, r, &busy, FLOW_KEY_MS);
    cr_assert(ASKS(f, 2, 12) && f.bare);
    flow_lost(&f, FLOW_KEY_MS + 1);
    cr_expect(IS_DONE(f, FLOW_UNAVAIL));
}

Test(flow, sealed_goes_to_the_successor_for_everybody)
{
    struct flow f = join(0), g;
    struct append_ans sealed = { .state = APPEND_SEALED, .next = 13 };

    flow_append_ans(&f, r, &sealed, 1);
    cr_expect(ASKS(f, 1, 13));
    g = join(2);
    cr_expect(ASKS(g, 1, 13));
}

Test(flow, without_an_open_segment_a_join_waits_for_the_map)
{
    struct flow f = join(0), late;
    struct append_ans sealed = { .state = APPEND_SEALED };
    struct map_seg more[] = { { 13, 1, SEG_OPEN, 0 }, { 15, 2, SEG_OPEN, 0 } };
    struct map_lane l = { "default", 2, 0, more, NULL };

    flow_append_ans(&f, r, &sealed, 1);
    flow_append_ans(&f, r, &sealed, 2);
    cr_assert_eq(f.todo, FLOW_WAIT_MAP);
    late = f;
    apply(r, 2, QUEUE_OPEN, &l);
    flow_retry(&f, r, 500);
    cr_expect(ASKS(f, 2, 15));
    routes_sealed(r, 15);
    cr_expect_leq(late.wake_ms, FLOW_TIMEOUT_MS);
    flow_retry(&late, r, FLOW_TIMEOUT_MS);
    cr_expect(IS_DONE(late, FLOW_FULL));
}

/* Nobody is told that there are too many people because a machine is gone. */
Test(flow, a_lost_tail_is_not_a_full_line)
{
    struct map_seg lost[] = { { 11, 1, SEG_SEALED, 0 }, { 12, 2, SEG_LOST, 0 } };
    struct map_lane l = { "default", 2, 0, lost, NULL };
    struct flow f;

    apply(r, 2, QUEUE_OPEN, &l);
    f = join(1000);
    cr_expect_eq(f.todo, FLOW_WAIT_MAP);
    flow_retry(&f, r, 1000 + FLOW_TIMEOUT_MS);
    cr_expect(IS_DONE(f, FLOW_UNAVAIL));
    apply(r, 3, QUEUE_OPEN, &lane);
    f = join(5000);
    cr_expect(ASKS(f, 2, 12));
}

Test(flow, closed_and_full_queues_refuse_joins)
{
    struct flow f = { .kind = FLOW_POLL };

    apply(r, 2, QUEUE_CLOSED, &lane);
    f = join(0);
    cr_expect(IS_DONE(f, FLOW_CLOSED));
    apply(r, 3, QUEUE_FULL, &lane);
    f = join(0);
    cr_expect(IS_DONE(f, FLOW_FULL));
    apply(r, 4, QUEUE_PAUSED, &lane);
    f = join(0);
    cr_expect_eq(f.todo, FLOW_ASK);
    flow_join(&f, r, NULL, 0, 0);
    cr_expect(IS_DONE(f, FLOW_NO_QUEUE));
}

Test(flow, before_the_first_map_nothing_is_certain)
{
    struct routes *empty = routes_new();
    struct flow f = { .kind = FLOW_JOIN };
    struct token t = { .seg = 5 };

    flow_join(&f, empty, NULL, 0, 0);
    cr_expect(IS_DONE(f, FLOW_UNAVAIL));
    flow_poll(&f, empty, NULL, &t, 0);
    cr_expect_eq(f.todo, FLOW_WAIT_MAP);
    flow_retry(&f, empty, FLOW_TIMEOUT_MS);
    cr_expect(IS_DONE(f, FLOW_UNAVAIL));
    routes_free(empty);
}

/* Its name finds the place, if it was recorded: at the same tail or at another. */
Test(flow, a_join_with_a_name_whose_link_broke_is_asked_again)
{
    struct flow f = join(0);
    struct append_ans a = { .state = APPEND_EXISTING, .seg = 12, .number = 4, .client = CLIENT_GAME };
    struct place_ans p = { .state = PLACE_WAITING, .position = 3, .poll_after_ms = 700 };

    f.named = true;
    flow_lost(&f, 1);
    cr_assert_eq(f.todo, FLOW_WAIT_MAP);
    cr_expect_lt(f.wake_ms, 1000);
    flow_append_ans(&f, r, &a, 2);
    cr_expect_eq(f.todo, FLOW_WAIT_MAP, "a late answer changes nothing");
    flow_retry(&f, r, f.wake_ms);
    cr_assert(ASKS(f, 2, 12) && f.asks == FLOW_JOIN);
    flow_unreached(&f, 150);
    cr_assert_eq(f.todo, FLOW_WAIT_MAP, "its link is not up yet");
    flow_retry(&f, r, f.wake_ms);
    flow_append_ans(&f, r, &a, 300);
    flow_place_ans(&f, r, &p, 310);
    cr_expect(IS_DONE(f, FLOW_EXISTING) && f.token.number == 4);
}

Test(flow, it_is_asked_so_long_also_if_the_place_that_it_found_is_gone)
{
    struct flow f = join(0);
    struct append_ans a = { .state = APPEND_EXISTING, .seg = 12, .number = 4, .client = CLIENT_GAME };
    struct place_ans p = { .state = PLACE_GONE };

    f.named = true;
    flow_lost(&f, 1);
    flow_retry(&f, r, f.wake_ms);
    flow_append_ans(&f, r, &a, 200);
    cr_assert_neq(f.asks, FLOW_JOIN);
    flow_lost(&f, 210);
    flow_retry(&f, r, f.wake_ms);
    flow_place_ans(&f, r, &p, 400);
    flow_retry(&f, r, f.wake_ms);
    cr_assert(f.todo == FLOW_ASK && f.asks == FLOW_JOIN);
    flow_unreached(&f, 500);
    cr_expect_eq(f.todo, FLOW_WAIT_MAP);
}

Test(flow, a_join_is_asked_again_until_its_deadline)
{
    struct flow f = join(0);
    unsigned n = 0;

    f.named = true;
    flow_lost(&f, 1);
    for (msec_t now = 1; f.todo != FLOW_DONE && n < 100; n++) {
        cr_assert_leq(f.wake_ms, FLOW_TIMEOUT_MS);
        now = f.wake_ms;
        flow_retry(&f, r, now);
        if (f.todo == FLOW_ASK)
            flow_unreached(&f, now);
    }
    cr_expect(IS_DONE(f, FLOW_UNAVAIL));
    cr_expect_geq(n, FLOW_TIMEOUT_MS / 100 - 1);
}

/* Nobody gets a second place, and a tail that is away holds no crowd here. */
Test(flow, other_joins_are_not)
{
    struct flow f = join(0), g = join(0), h = join(0);

    f.keyed = true;
    flow_lost(&f, 1);
    cr_expect(IS_DONE(f, FLOW_UNAVAIL), "with only a key the client asks again");
    flow_lost(&g, 1);
    cr_expect(IS_DONE(g, FLOW_UNAVAIL));
    h.named = true;
    flow_unreached(&h, 1);
    cr_expect(IS_DONE(h, FLOW_UNAVAIL), "it was never asked");
}

Test(flow, a_join_whose_link_broke_is_not_repeated)
{
    struct flow f = join(0);
    struct append_ans late = { .state = APPEND_OK, .seg = 12 };

    flow_lost(&f, 1);
    cr_expect(IS_DONE(f, FLOW_UNAVAIL));
    flow_append_ans(&f, r, &late, 2);
    cr_expect(IS_DONE(f, FLOW_UNAVAIL), "a late answer changes nothing");
}

Test(flow, a_busy_node_ends_a_join_and_an_unknown_segment_waits)
{
    struct flow f = join(0), g = join(0);
    struct append_ans a = { .state = APPEND_BUSY };

    flow_append_ans(&f, r, &a, 1);
    cr_expect(IS_DONE(f, FLOW_UNAVAIL));
    a.state = APPEND_UNKNOWN;
    flow_append_ans(&g, r, &a, 1);
    cr_expect_eq(g.todo, FLOW_WAIT_MAP);
    cr_expect_lt(g.wake_ms, FLOW_TIMEOUT_MS);
}

Test(flow, a_poll_has_position_or_pass)
{
    struct flow f = poll_of(12, 3, 0), g = poll_of(12, 3, 0);
    struct place_ans w = { .state = PLACE_WAITING, .position = 8, .poll_after_ms = 700 };
    struct place_ans a = { .state = PLACE_ADMITTED, .released_at_ms = 123,
                           .pass_expires_s = 456 };

    cr_assert(ASKS(f, 2, 12));
    flow_place_ans(&f, r, &w, 1);
    cr_expect(IS_DONE(f, FLOW_OK));
    cr_expect(!f.admitted && f.position == 8 && f.poll_after_ms == 700);
    flow_place_ans(&g, r, &a, 1);
    cr_expect(IS_DONE(g, FLOW_OK));
    cr_expect(g.admitted && g.released_at_ms == 123 && g.pass_expires_s == 456);
    cr_expect_eq(g.position, 0);
}

Test(flow, poll_of_a_merged_segment_asks_its_owner_by_its_own_name)
{
    struct flow f = poll_of(9, 3, 0);

    cr_expect(ASKS(f, 1, 9));
    cr_expect_eq(f.serving, 11);
}

Test(flow, a_poll_of_a_gone_ticket_says_why)
{
    struct flow f = poll_of(12, 3, 0);
    struct place_ans g = { .state = PLACE_GONE, .reason = GONE_EXPIRED };

    flow_place_ans(&f, r, &g, 1);
    cr_expect(IS_DONE(f, FLOW_GONE) && f.reason == GONE_EXPIRED);
    f = poll_of(3, 1, 0);
    cr_expect(IS_DONE(f, FLOW_GONE) && f.reason == GONE_FINISHED);
    f = poll_of(14, 1, 0);
    cr_expect(IS_DONE(f, FLOW_GONE) && f.reason == GONE_LOST);
}

Test(flow, busy_is_asked_again_with_the_next_map_or_in_20_ms)
{
    struct flow f = poll_of(12, 3, 100);
    struct place_ans busy = { .state = PLACE_BUSY };
    msec_t now = 100;

    for (int i = 0; f.todo != FLOW_DONE && i < 1000; i++) {
        cr_assert(ASKS(f, 2, 12));
        flow_place_ans(&f, r, &busy, ++now);
        if (f.todo == FLOW_DONE)
            break;
        cr_assert_eq(f.todo, FLOW_WAIT_MAP);
        cr_assert_leq(f.wake_ms, now + FLOW_BUSY_MS);
        now = f.wake_ms;
        flow_retry(&f, r, now);
    }
    cr_expect(IS_DONE(f, FLOW_UNAVAIL), "never hangs");
    cr_expect_eq(now, 100 + FLOW_TIMEOUT_MS);
}

Test(flow, moved_is_followed_at_once_if_the_map_knows_the_target)
{
    struct flow f = poll_of(12, 3, 0), g = poll_of(12, 3, 0);
    struct place_ans m = { .state = PLACE_MOVED, .moved_to = 13 };

    flow_place_ans(&f, r, &m, 1);
    cr_expect(ASKS(f, 1, 12), "named by the token's segment");
    cr_expect_eq(f.serving, 13);
    m.moved_to = 500; /* newer than the map */
    flow_place_ans(&g, r, &m, 1);
    cr_expect_eq(g.todo, FLOW_WAIT_MAP);
}

Test(flow, going_in_circles_slows_down)
{
    struct flow f = poll_of(12, 3, 0);
    struct place_ans m = { .state = PLACE_MOVED };
    int quick = 0;

    while (f.todo == FLOW_ASK && quick < 100) {
        m.moved_to = f.serving == 12 ? 13 : 12;
        flow_place_ans(&f, r, &m, 1);
        quick++;
    }
    cr_expect_eq(f.todo, FLOW_WAIT_MAP);
    cr_expect_lt(quick, 20);
}

Test(flow, unknown_waits_for_a_newer_map)
{
    struct flow f = poll_of(12, 3, 0);
    struct place_ans u = { .state = PLACE_UNKNOWN };
    struct map_seg now_in[] = { { 13, 1, SEG_OPEN, 0 } };
    struct map_alias al[] = { { 12, 13, 0 } };
    struct map_lane l = { "default", 1, 1, now_in, al };

    flow_place_ans(&f, r, &u, 1);
    cr_assert_eq(f.todo, FLOW_WAIT_MAP);
    apply(r, 2, QUEUE_OPEN, &l);
    flow_retry(&f, r, 40);
    cr_expect(ASKS(f, 1, 12));
}

Test(flow, a_poll_whose_link_broke_is_asked_again)
{
    struct flow f = poll_of(12, 3, 0);

    flow_lost(&f, 1);
    cr_assert_eq(f.todo, FLOW_WAIT_MAP);
    cr_expect_lt(f.wake_ms, FLOW_TIMEOUT_MS);
    flow_retry(&f, r, f.wake_ms);
    cr_expect(ASKS(f, 2, 12));
    flow_retry(&f, r, 1000);
    cr_expect(ASKS(f, 2, 12), "an ask under way goes on");
    flow_retry(&f, r, FLOW_TIMEOUT_MS);
    cr_expect(IS_DONE(f, FLOW_UNAVAIL));
}

Test(flow, a_leave_of_a_gone_ticket_succeeds)
{
    struct flow f = leave_of(12, 0), old = leave_of(3, 0), lost = leave_of(14, 0);
    struct drop_ans a = { .state = DROP_OK };

    cr_assert(ASKS(f, 2, 12));
    flow_drop_ans(&f, r, &a, 1);
    cr_expect(IS_DONE(f, FLOW_OK));
    cr_expect(IS_DONE(old, FLOW_OK));
    cr_expect(IS_DONE(lost, FLOW_OK));
}

Test(flow, a_leave_follows_a_move)
{
    struct flow f = leave_of(12, 0), g = leave_of(12, 0), h = leave_of(12, 0);
    struct drop_ans a = { .state = DROP_MOVED, .moved_to = 13 };

    flow_drop_ans(&f, r, &a, 1);
    cr_expect(ASKS(f, 1, 12));
    a.state = DROP_BUSY;
    flow_drop_ans(&g, r, &a, 1);
    cr_expect_eq(g.todo, FLOW_WAIT_MAP);
    a.state = DROP_UNKNOWN;
    flow_drop_ans(&h, r, &a, 1);
    cr_expect_eq(h.todo, FLOW_WAIT_MAP);
}

/* Whatever comes after the deadline changes nothing of what was answered then. */
Test(flow, an_answer_after_the_deadline_is_not_taken)
{
    struct place_ans p = { .state = PLACE_WAITING, .position = 5 };
    struct append_ans a = { .state = APPEND_OK, .seg = 12, .number = 3 };
    struct drop_ans d = { .state = DROP_OK };
    struct flow f = poll_of(12, 1, 0);

    flow_retry(&f, r, FLOW_TIMEOUT_MS);
    cr_assert_eq(f.result, FLOW_UNAVAIL);
    flow_place_ans(&f, r, &p, FLOW_TIMEOUT_MS + 1);
    cr_expect(f.todo == FLOW_DONE && f.result == FLOW_UNAVAIL);
    f = join(0);
    flow_retry(&f, r, FLOW_TIMEOUT_MS);
    flow_append_ans(&f, r, &a, FLOW_TIMEOUT_MS + 1);
    cr_expect(f.todo == FLOW_DONE && f.result == FLOW_UNAVAIL);
    f = leave_of(12, 0);
    flow_retry(&f, r, FLOW_TIMEOUT_MS);
    flow_drop_ans(&f, r, &d, FLOW_TIMEOUT_MS + 1);
    cr_expect(f.todo == FLOW_DONE && f.result == FLOW_UNAVAIL);
}

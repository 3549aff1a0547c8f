/* test_direct_entry.c: a join whose answer waits a moment for its admission. */
#include "router/flow/flow.h"

#include "tests/lib/flowrig.h"

TestSuite(direct_entry, .init = setup, .fini = teardown);

static void entry(uint64_t places)
{
    struct queue_stats q = { .id = 7, .entry = places, .limited_by = "fixed", .n_lanes = 1 };
    struct msg_stats st = { .n = 1, .queues = &q };

    routes_stats(r, &st);
}

/* A join at t = 0 that has come to this position. */
static struct flow joined_at(uint64_t position)
{
    struct append_ans a = { .state = APPEND_OK, .seg = 12, .number = 5, .issued_s = 99,
                            .client = CLIENT_MOBILE, .position = position,
                            .poll_after_ms = 900 };
    struct flow f = join(0);

    flow_append_ans(&f, r, &a, 0);
    return f;
}

Test(direct_entry, a_join_near_the_entry_is_held_and_admitted)
{
    struct place_ans waits = { .state = PLACE_WAITING, .position = 1 };
    struct place_ans in = { .state = PLACE_ADMITTED, .released_at_ms = 7, .pass_expires_s = 8 };
    struct flow f;

    entry(3);
    f = joined_at(4);
    cr_expect(IS_DONE(f, FLOW_OK), "there is a line");
    f = joined_at(0);
    cr_expect(IS_DONE(f, FLOW_OK), "its place is not known");
    f = joined_at(3);
    cr_assert(f.todo == FLOW_WAIT_MAP && f.wake_ms > 0 && f.wake_ms <= 20);
    flow_retry(&f, r, f.wake_ms);
    cr_assert(ASKS(f, 2, 12) && f.asks == FLOW_POLL && f.kind == FLOW_JOIN);
    flow_place_ans(&f, r, &waits, 10);
    cr_assert(f.todo == FLOW_WAIT_MAP && f.wake_ms > 10);
    flow_retry(&f, r, f.wake_ms);
    flow_place_ans(&f, r, &in, 40);
    cr_expect(IS_DONE(f, FLOW_OK) && f.admitted && f.released_at_ms == 7);
    cr_expect(f.pass_expires_s == 8 && f.token.number == 5);
}

/* It never waits for longer than it is held, and asks some times only. */
Test(direct_entry, a_held_join_ends_with_its_ticket)
{
    struct place_ans waits = { .state = PLACE_WAITING, .position = 1 };
    unsigned asks = 0;
    struct flow f;

    entry(1);
    f = joined_at(1);
    while (f.todo != FLOW_DONE) {
        msec_t now = f.wake_ms;

        cr_assert_leq(now, FLOW_HOLD_MS);
        flow_retry(&f, r, now);
        if (f.todo == FLOW_ASK) {
            asks++;
            flow_place_ans(&f, r, &waits, now + 1);
        }
    }
    cr_expect(IS_DONE(f, FLOW_OK) && !f.admitted);
    cr_expect(f.position == 1 && f.poll_after_ms == 900 && f.token.number == 5);
    cr_expect(asks >= 3 && asks <= 9, "%u", asks);
}

Test(direct_entry, whatever_happens_a_held_join_has_its_ticket)
{
    struct place_ans bad[] = { { .state = PLACE_GONE, .reason = GONE_EXPIRED },
                               { .state = PLACE_MOVED, .moved_to = 13 },
                               { .state = PLACE_UNKNOWN } };
    struct flow f;

    entry(1);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        f = joined_at(1);
        flow_retry(&f, r, f.wake_ms);
        flow_place_ans(&f, r, &bad[i], 10);
        cr_expect(IS_DONE(f, FLOW_OK) && !f.admitted && f.position == 1, "%zu", i);
    }
    f = joined_at(1);
    flow_retry(&f, r, f.wake_ms);
    flow_lost(&f, 10);
    cr_expect(IS_DONE(f, FLOW_OK), "the node died");
    f = joined_at(1);
    flow_retry(&f, r, f.wake_ms);
    flow_retry(&f, r, FLOW_TIMEOUT_MS);
    cr_expect(IS_DONE(f, FLOW_OK), "the node says nothing");
    f = joined_at(1);
    flow_let_go(&f);
    cr_expect(IS_DONE(f, FLOW_OK), "nobody is there any more");
}

Test(direct_entry, a_closed_or_paused_queue_holds_nobody)
{
    struct flow f = join(0);
    struct append_ans a = { .state = APPEND_OK, .seg = 12, .position = 1 };

    entry(5);
    apply(r, 2, QUEUE_PAUSED, &lane);
    flow_append_ans(&f, r, &a, 1);
    cr_expect(IS_DONE(f, FLOW_OK));
}

/* The node has let it in: nothing is held, whatever the entry. */
Test(direct_entry, a_join_that_its_node_lets_in_has_the_pass_at_once)
{
    struct append_ans a = { .state = APPEND_ENTERED, .seg = 12, .number = 5, .issued_s = 99,
                            .client = CLIENT_MOBILE, .released_at_ms = 7, .pass_expires_s = 8 };
    struct flow f = join(0);

    entry(3);
    flow_append_ans(&f, r, &a, 0);
    cr_expect(IS_DONE(f, FLOW_OK) && f.admitted && f.hold_ms == 0);
    cr_expect(f.released_at_ms == 7 && f.pass_expires_s == 8 && f.token.number == 5);
}

/* test_replace.c: a join that replaces an older ticket. */
#include "router/flow/steps.h"

#include "tests/lib/flowrig.h"

TestSuite(replace, .init = setup, .fini = teardown);

static const struct place_ans waits = { .state = PLACE_WAITING, .position = 3 };
static const struct place_ans is_gone = { .state = PLACE_GONE, .reason = GONE_LEFT };
static const struct append_ans fresh = { .state = APPEND_OK, .seg = 12, .number = 5 };
static const struct append_ans found = { .state = APPEND_EXISTING, .seg = 12, .number = 5 };

/* A queue with a second lane; the older ticket is number 3 of its only segment. */
static struct flow replacement(void)
{
    static struct map_seg vips[] = { { 21, 2, SEG_OPEN, 0 } };
    static struct map_lane lanes[] = { { "default", 4, 1, segs, aliases },
                                       { "vip", 1, 0, vips, NULL } };
    struct map_queue q = { .id = 7, .name = "login", .n_lanes = 2, .lanes = lanes };
    struct msg_map m = { .epoch = 1, .from_version = 0, .version = 2, .next_seg = 100,
                         .n_nodes = 2, .nodes = nodes, .n_queues = 1, .queues = &q };
    struct token old = { .seg = 21, .number = 3, .client = CLIENT_GAME };
    struct flow f = { .token = { .client = CLIENT_MOBILE, .subject_hash = 77 } };

    cr_assert_eq(routes_apply(r, &m), 0);
    flow_replace(&f, r, routes_queue(r, "login", 5), 0, &old, 0);
    return f;
}

/* Up to the older ticket's leave. */
static struct flow leaving(const struct append_ans *a)
{
    struct flow f = replacement();

    flow_place_ans(&f, r, &waits, 1);
    cr_assert(f.todo == FLOW_ASK && f.asks == FLOW_JOIN && f.seg == 12);
    flow_append_ans(&f, r, a, 2);
    if (a == &found) {
        cr_assert(f.todo == FLOW_ASK && f.asks == FLOW_POLL && f.seg == 12, "it may be over");
        flow_place_ans(&f, r, &waits, 2);
    }
    cr_assert(f.todo == FLOW_ASK && f.asks == FLOW_LEAVE && f.seg == 21);
    cr_assert(flow_ticket(&f)->number == 3 && flow_heir(&f) == 77);
    return f;
}

static void dropped(struct flow *f, enum drop_state state)
{
    struct drop_ans a = { .state = (uint8_t)state };

    flow_drop_ans(f, r, &a, 3);
}

/* A router does not tell its place from its replica any more. */
static void expect_over(const struct flow *f, bool over)
{
    const struct token *t;
    node_no node;

    t = flow_saw_the_end(f, &node);
    cr_expect_eq(t != NULL, over);
    cr_expect(t == NULL || (t->seg == 21 && t->number == 3 && node == 2));
}

Test(replace, a_replacement_takes_the_new_place_and_leaves_the_old_one)
{
    struct flow f = replacement();

    cr_assert(f.todo == FLOW_ASK && f.asks == FLOW_POLL && f.seg == 21 && f.node == 2);
    cr_assert(f.token.number == 3 && f.token.client == CLIENT_GAME);
    f = leaving(&fresh);
    expect_over(&f, false);
    dropped(&f, DROP_OK);
    cr_expect(IS_DONE(f, FLOW_OK) && f.token.seg == 12 && f.token.number == 5);
    expect_over(&f, true);
    f = leaving(&fresh);
    flow_lost(&f, 3);
    cr_expect(f.todo == FLOW_WAIT_MAP, "it may have left: it is asked again");
    flow_retry(&f, r, f.wake_ms);
    dropped(&f, DROP_GONE);
    cr_expect(IS_DONE(f, FLOW_OK));
}

/* The answer to a first try was lost, before or after the older ticket had left. */
Test(replace, a_replacement_that_is_tried_again_has_the_same_place)
{
    struct flow f = leaving(&found);

    dropped(&f, DROP_OK);
    cr_assert(f.todo == FLOW_ASK && f.asks == FLOW_POLL && f.seg == 12);
    flow_place_ans(&f, r, &waits, 4);
    cr_expect(IS_DONE(f, FLOW_EXISTING) && f.token.number == 5);
    expect_over(&f, true);
    f = replacement();
    flow_place_ans(&f, r, &is_gone, 1);
    cr_assert(f.todo == FLOW_ASK && f.asks == FLOW_JOIN);
    flow_append_ans(&f, r, &found, 2);
    flow_place_ans(&f, r, &waits, 3);
    cr_expect(IS_DONE(f, FLOW_EXISTING) && f.token.number == 5);
}

/* Who remembers the place of the first try has not heard yet that it has timed out. */
Test(replace, the_old_place_is_kept_while_the_one_that_was_found_is_over)
{
    struct flow f = replacement();

    flow_place_ans(&f, r, &waits, 1);
    flow_append_ans(&f, r, &found, 2);
    flow_place_ans(&f, r, &is_gone, 3);
    cr_assert_eq(f.todo, FLOW_WAIT_MAP);
    flow_retry(&f, r, f.wake_ms);
    cr_assert(f.todo == FLOW_ASK && f.asks == FLOW_JOIN && f.seg == 12);
    flow_append_ans(&f, r, &fresh, f.wake_ms);
    cr_assert(f.asks == FLOW_LEAVE && flow_ticket(&f)->number == 3);
    dropped(&f, DROP_OK);
    cr_expect(IS_DONE(f, FLOW_OK) && f.token.number == 5);
}

/* A first try was cut off, another tab has found its place, and changes lanes back. What it finds
 * there is the earlier ticket, which that first try may give up at any moment. */
Test(replace, a_place_is_never_given_up_for_an_earlier_one)
{
    static const struct append_ans earlier = { .state = APPEND_EXISTING, .seg = 12, .number = 5,
                                               .issued_s = 99 };
    static const uint8_t end[] = { DROP_OK, DROP_GONE, DROP_INSIDE };

    for (unsigned i = 0; i < ARRAY_LEN(end); i++) {
        struct flow f = replacement();

        f.old.issued_s = 100;
        f.old.subject_hash = 77;
        flow_place_ans(&f, r, &waits, 1);
        flow_append_ans(&f, r, &earlier, 2);
        flow_place_ans(&f, r, &waits, 2);
        cr_assert(f.todo == FLOW_ASK && f.asks == FLOW_LEAVE && f.seg == 12);
        cr_assert(flow_ticket(&f)->number == 5 && flow_heir(&f) == 77, "only if it waits");
        dropped(&f, (enum drop_state)end[i]);
        expect_over(&f, false);
        if (end[i] != DROP_INSIDE) {
            flow_retry(&f, r, f.wake_ms);
            cr_assert(f.todo == FLOW_ASK && f.asks == FLOW_JOIN && f.seg == 12);
            flow_append_ans(&f, r, &fresh, f.wake_ms);
        }
        cr_assert(f.asks == FLOW_LEAVE && f.seg == 21 && flow_ticket(&f)->number == 3);
    }
}

/* The claim, or who joins with it, names somebody who has a place already. */
Test(replace, the_place_of_another_name_is_never_ended)
{
    static const struct append_ans earlier = { .state = APPEND_EXISTING, .seg = 12, .number = 5,
                                               .issued_s = 99 };
    static const uint64_t own[] = { 0, 78 };

    for (unsigned i = 0; i < ARRAY_LEN(own); i++) {
        struct flow f = replacement();

        f.old.issued_s = 100;
        f.old.subject_hash = own[i];
        flow_place_ans(&f, r, &waits, 1);
        flow_append_ans(&f, r, &earlier, 2);
        flow_place_ans(&f, r, &waits, 2);
        cr_assert(f.asks == FLOW_LEAVE && flow_ticket(&f)->number == 3, "may it go at all?");
        dropped(&f, own[i] != 0 ? DROP_NAMED : DROP_OK);
        cr_expect(own[i] == 0 ? f.asks == FLOW_POLL : IS_DONE(f, FLOW_NAMED));
    }
}

/* Up to the older ticket's leave. */
static struct flow found_again(const struct append_ans *a)
{
    struct flow f = replacement();

    flow_place_ans(&f, r, &waits, 1);
    flow_append_ans(&f, r, a, 2);
    flow_place_ans(&f, r, &waits, 2);
    cr_assert(f.todo == FLOW_ASK && f.asks == FLOW_LEAVE && f.seg == 21);
    return f;
}

/* Another try may have it: its node knows. Behind a link that ended, it may have counted that already. */
Test(replace, a_place_that_was_found_is_given_back_too)
{
    static const struct append_ans elsewhere = { .state = APPEND_EXISTING, .seg = 12, .number = 5, .position = 3 };
    struct append_ans here = elsewhere;
    struct flow f;

    here.counted = APPEND_COUNTED;
    f = found_again(&here);
    dropped(&f, DROP_INSIDE);
    cr_assert(f.todo == FLOW_ASK && f.asks == FLOW_LEAVE && flow_ticket(&f)->number == 5);
    cr_expect_eq(flow_heir(&f), DROP_UNLESS_KEPT);
    flow_unreached(&f, 3);
    flow_retry(&f, r, f.wake_ms);
    cr_expect(f.todo == FLOW_ASK && flow_heir(&f) == DROP_UNLESS_KEPT, "nobody was asked");
    flow_lost(&f, 4);
    flow_retry(&f, r, f.wake_ms);
    cr_expect(f.todo == FLOW_ASK && flow_heir(&f) == DROP_UNLESS_FOUND);
    dropped(&f, DROP_INSIDE);
    cr_expect(IS_DONE(f, FLOW_INSIDE));
    f = found_again(&elsewhere);
    dropped(&f, DROP_INSIDE);
    cr_expect(IS_DONE(f, FLOW_INSIDE), "another node told of it, or an older one: that does not know of this join");
    here.no_place = NO_PLACE_EARLY;
    f = found_again(&here);
    dropped(&f, DROP_INSIDE);
    cr_expect(IS_DONE(f, FLOW_INSIDE), "no other word means that");
}

/* A claim that is used again later: a fresh place is given back. */
Test(replace, what_is_gone_is_not_replaced)
{
    struct flow f = replacement();

    flow_place_ans(&f, r, &is_gone, 1);
    flow_append_ans(&f, r, &fresh, 2);
    cr_assert(f.todo == FLOW_ASK && f.asks == FLOW_LEAVE && f.seg == 12);
    cr_assert(flow_ticket(&f)->number == 5 && flow_heir(&f) == DROP_UNLESS_KEPT, "unless another join has it");
    dropped(&f, DROP_OK);
    cr_expect(IS_DONE(f, FLOW_GONE) && f.reason == GONE_LEFT);
}

Test(replace, whoever_is_let_in_or_has_another_name_is_not_replaced)
{
    struct place_ans in = { .state = PLACE_ADMITTED };
    struct flow f = replacement();

    flow_place_ans(&f, r, &in, 1);
    cr_expect(IS_DONE(f, FLOW_INSIDE), "nothing was taken");
    f = leaving(&fresh);
    dropped(&f, DROP_INSIDE);
    cr_assert(f.todo == FLOW_ASK && flow_ticket(&f)->number == 5, "in this moment: given back");
    dropped(&f, DROP_OK);
    cr_expect(IS_DONE(f, FLOW_INSIDE));
    expect_over(&f, true);
    f = leaving(&fresh);
    dropped(&f, DROP_NAMED);
    flow_retry(&f, r, FLOW_TIMEOUT_MS);
    cr_expect(IS_DONE(f, FLOW_NAMED), "its node is silent: the place times out");
    expect_over(&f, false);
}

Test(replace, without_the_old_tickets_node_nothing_is_told)
{
    struct flow f = leaving(&fresh);

    flow_retry(&f, r, FLOW_TIMEOUT_MS);
    cr_expect(IS_DONE(f, FLOW_UNAVAIL));
}

/* test_permit.c: joins that need another node's word: one place per person, also when
 * the word comes late or not at all. */
#include "segment/directory/exchange.h"
#include "segment/core/state.h"
#include "tests/lib/dirrig.h"
#include "segment/core/location.h"

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

TestSuite(permit, .init = setup, .fini = teardown, .timeout = 60);

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

/* How long it joins for its place; much more than DIR_ANSWER_MS: it has none. */
static msec_t waits_for(int node, seg_id seg)
{
    msec_t waited = 0;

    for (; !has_place(join(node, seg)) && waited <= 3 * DIR_ANSWER_MS; waited += 100)
        rig_run(r, 100);
    return waited;
}

/* The first node asks for the name; of what is said for that, the k-th is lost. */
static void asks_and_loses(uint64_t k)
{
    cr_assert_eq(join(0, 2), APPEND_BUSY);
    r->lose_at = r->copies + k;
    rig_run(r, 100);
    r->lose_at = 0;
    cr_assert_eq(r->t[0]->dir.asked.n, 1);
}

Test(permit, a_join_gets_its_place_when_the_word_is_here)
{
    cr_assert_eq(join(0, 2), APPEND_BUSY);
    rig_run(r, 100);
    cr_assert_eq(join(0, 2), APPEND_OK);
    cr_assert_eq(join(1, 4), APPEND_BUSY, "it is granted, and its ticket is not told yet");
    rig_run(r, 100);
    cr_assert_eq(join(1, 4), APPEND_EXISTING);
}

/* Obeys its manager, which has not said yet who keeps the directory: to take that for "nobody
 * does" would give a person two places. */
Test(permit, a_join_waits_until_the_members_are_known)
{
    struct segtab_opts o = rig_opts(1000);

    segtab_free(r->t[0]);
    r->t[0] = segtab_new(&o);
    rig_up(r, 0, RIG_MNG, RPC_MANAGER, "mng");
    rig_order(r, 0, (struct msg) { .type = MSG_NODE_OK, .node_ok = { 1, 1 } });
    rig_open(r, 0, 6, OPEN_TAIL, 100, 0);
    cr_expect_eq(join(0, 6), APPEND_BUSY);
    cr_expect_eq(rig_join_as(r, 0, 6, NULL).state, APPEND_OK);
    rig_member(r, 0);
    cr_expect_eq(join(0, 6), APPEND_OK);
}

/* What its pass is bound to is kept as a name is, and is none. */
Test(permit, a_join_without_a_name_asks_nobody)
{
    char text[] = "\x02\x07" "1GET /a";

    for (char c = 'a'; c <= 'z'; c++) {
        text[8] = c;
        cr_assert_eq(rig_join_as(r, 0, 2, text).state, APPEND_OK);
        cr_assert_eq(rig_join_as(r, 0, 3, text).state, APPEND_OK, "nobody is found by it");
    }
    dir_say_self_all(r->t[0]);
    cr_expect_eq(r->t[0]->dir.own.by_hash.n, 0, "nor is anybody told of it");
}

/* The word to a first claim is late; meanwhile the tail is full, and who comes again comes to
 * the next one. The first word is not the answer to a second claim: between them the
 * subject was given back. */
Test(permit, a_late_word_makes_no_second_ticket)
{
    cr_assert_eq(join(0, 2), APPEND_BUSY);
    tick(1);
    rig_pump(r, 1); /* asked, and granted: that word is on the wire */
    for (int i = 0; i < 3; i++)
        tick(DIR_PERMIT_MS);
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
Test(permit, an_unanswered_check_is_repeated)
{
    msec_t waited;

    asks_and_loses(1);
    waited = waits_for(0, 2);
    cr_expect_geq(waited, DIR_ANSWER_MS - 200, "it may only be late");
    cr_expect_leq(waited, DIR_ANSWER_MS + 1000);
    rig_run(r, 100);
    cr_expect_eq(join(1, 4), APPEND_EXISTING);
}

/* The member has granted it, and the word was lost; whoever asked does not come again. */
Test(permit, a_grant_that_was_not_heard_of_hinders_nobody_for_ever)
{
    asks_and_loses(2);
    cr_assert_eq(join(1, 4), APPEND_BUSY, "granted to the other node");
    cr_expect_leq(waits_for(1, 4), DIR_ANSWER_MS + 1000);
}

/* It may have had no memory for what was said before, either. */
Test(permit, a_member_that_does_not_answer_is_told_all_again)
{
    const char *first = name;
    char other[16];

    for (int i = 0; i == 0 || directory_owner(dirrig_hash(other), dirrig_nodes, 2) != 1; i++)
        snprintf(other, sizeof(other), "q%d", i);
    cr_assert_leq(waits_for(0, 2), 200);
    rig_run(r, 100);
    directory_free(&r->t[1]->dir.own, 0, dirrig_hash(first));
    name = other;
    asks_and_loses(1);
    for (msec_t waited = 0; waited < DIR_ANSWER_MS + 500; waited += 500) {
        rig_run(r, 500);
        cr_assert_eq(rig_poll(r, 0, 2, 0).state, PLACE_WAITING);
    }
    name = first;
    cr_expect_eq(join(1, 4), APPEND_EXISTING);
}

/* ---- a join that replaces a ticket ---------------------------------------------------------- */

static uint64_t hash_of(const char *subject) /* as rig_join_as() */
{
    uint64_t h = 0;

    for (const char *c = subject; *c != 0; c++)
        h = h * 31 + (uint8_t)*c + 1;
    return h;
}

static uint32_t old_issued_s; /* token of the older ticket */

static struct append_ans replace(int node, seg_id seg, seg_id old_seg, uint32_t old_number)
{
    struct append_req q = { .seg = seg, .client = CLIENT_GAME, .old_seg = old_seg,
                            .old_number = old_number, .old_issued_s = old_issued_s, .subject = name,
                            .subject_len = (uint8_t)strlen(name) };
    struct append_ans a;

    q.subject_hash = hash_of(name);
    segtab_append(r->t[node], r->now, &q, 1, &a, &r->mem);
    return a;
}

static enum drop_state leave_for(int node, seg_id seg, uint32_t number, uint64_t heir_hash)
{
    struct drop_req q = { .seg = seg, .number = number, .heir_hash = heir_hash };
    struct drop_ans a;

    segtab_drop(r->t[node], r->now, &q, 1, &a);
    return a.state;
}

static void first_place(void)
{
    (void)join(0, 2);
    rig_run(r, 100);
    cr_assert_eq(join(0, 2), APPEND_OK);
    rig_run(r, 100);
}

/* A join of several queues that failed in another one. What a second device, or router, has found in the
 * meantime is that one's, too; likewise what this process knows from its journal only. */
Test(permit, a_fresh_place_is_given_back_unless_another_join_has_found_it)
{
    first_place();
    cr_expect_eq(leave_for(0, 2, 0, DROP_UNLESS_FOUND), DROP_OK);
    rig_run(r, 100);
    first_place();
    cr_assert_eq(join(0, 2), APPEND_EXISTING, "the other device");
    cr_expect_eq(leave_for(0, 2, 1, DROP_UNLESS_FOUND), DROP_INSIDE);
    cr_expect_eq(join(0, 2), APPEND_EXISTING, "it is still there");
    cr_expect_eq(leave_for(0, 2, 1, DROP_UNLESS_FOUND), DROP_INSIDE);
    cr_expect_eq(leave_for(0, 2, 1, 0), DROP_OK, "whoever leaves, leaves");
    cr_expect_eq(leave_for(0, 2, 1, DROP_UNLESS_FOUND), DROP_INSIDE);
}

/* Two devices of a person, each of which misses another queue: the later one takes the place along. */
Test(permit, a_place_whose_joins_have_all_given_it_back_is_left)
{
    first_place();
    cr_assert_eq(join(0, 2), APPEND_EXISTING);
    cr_assert_eq(join(0, 2), APPEND_EXISTING, "a third one");
    for (int i = 0; i < 2; i++)
        cr_expect_eq(leave_for(0, 2, 0, DROP_UNLESS_KEPT), DROP_INSIDE);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(leave_for(0, 2, 0, DROP_UNLESS_FOUND), DROP_INSIDE, "it may have been counted before");
    cr_expect_eq(leave_for(0, 2, 0, DROP_UNLESS_KEPT), DROP_OK);
    cr_expect_eq(leave_for(0, 2, 0, DROP_UNLESS_KEPT), DROP_INSIDE);
}

/* No counter runs over: a place that many know is kept. */
Test(permit, a_place_that_many_joins_have_found_stays)
{
    first_place();
    for (int i = 0; i < 300; i++) {
        struct append_ans a = rig_join_as(r, 0, 2, name);

        cr_assert_eq(a.state, APPEND_EXISTING);
        cr_assert_eq(a.counted == APPEND_COUNTED, i + 2 < 256, "what is not counted is not given back: %d", i);
    }
    for (int i = 0; i < 600; i++)
        cr_assert_eq(leave_for(0, 2, 0, DROP_UNLESS_KEPT), DROP_INSIDE);
}

/* The second node keeps the subject's share: it need not ask, the first one does. */
Test(permit, a_replacement_may_have_the_old_tickets_subject)
{
    struct append_ans a = { .state = APPEND_BUSY };

    cr_assert_eq(join(1, 4), APPEND_OK);
    cr_assert_eq(join(0, 2), APPEND_BUSY);
    rig_run(r, 100);
    cr_assert_eq(join(0, 2), APPEND_EXISTING);
    for (int i = 0; i < 20 && a.state == APPEND_BUSY; i++) {
        a = replace(0, 2, 4, 0);
        rig_run(r, 100);
    }
    cr_assert_eq(a.state, APPEND_OK);
    a = replace(0, 3, 4, 0);
    cr_expect(a.state == APPEND_EXISTING && a.seg == 2, "there is one, and no other");
    cr_expect_eq(leave_for(1, 4, 0, hash_of(name)), DROP_OK);
    rig_run(r, 100);
    a = rig_join_as(r, 1, 4, name);
    cr_expect(a.state == APPEND_EXISTING && a.seg == 2, "its owner knows where it is now");
}

Test(permit, a_ticket_is_later_than_the_one_that_it_replaces)
{
    struct append_ans a, b;

    cr_assert_eq(join(1, 4), APPEND_OK);
    a = rig_join_as(r, 1, 4, name);
    rig_open(r, 1, 5, OPEN_TAIL, 100, 0);
    r->now.wall_ms -= 86400000; /* the clock leaps back */
    old_issued_s = a.issued_s;
    b = replace(1, 5, 4, 0);
    old_issued_s = 0;
    cr_expect(b.state == APPEND_OK && b.issued_s == a.issued_s + 1, "%u", b.issued_s);
}

Test(permit, the_owner_may_replace_it_too)
{
    struct append_ans a;

    first_place();
    a = replace(1, 4, 2, 0);
    cr_assert_eq(a.state, APPEND_OK);
    rig_run(r, 100);
    a = replace(1, 4, 2, 0);
    cr_expect(a.state == APPEND_EXISTING && a.seg == 4);
    cr_expect_eq(leave_for(0, 2, 0, hash_of(name)), DROP_OK);
}

Test(permit, another_lane_of_the_same_node_may_have_it_too)
{
    struct append_ans a = { .state = APPEND_BUSY };

    first_place();
    for (int i = 0; i < 20 && a.state == APPEND_BUSY; i++) {
        a = replace(0, 3, 2, 0);
        rig_run(r, 100);
    }
    cr_expect_eq(a.state, APPEND_OK);
    cr_expect_eq(leave_for(0, 2, 0, hash_of(name)), DROP_OK);
    rig_run(r, 100);
    a = rig_join_as(r, 1, 4, name);
    cr_expect(a.state == APPEND_EXISTING && a.seg == 3, "the directory knows the new place");
}

Test(permit, only_what_waits_and_has_no_other_name_leaves_for_a_replacement)
{
    first_place();
    rig_join(r, 0, 2, 2);
    cr_expect_eq(leave_for(0, 2, 0, hash_of(name) + 1), DROP_NAMED);
    cr_expect_eq(rig_poll(r, 0, 2, 0).state, PLACE_WAITING);
    cr_expect_eq(rig_pop(r, 0, 2, 1, 1), 1);
    cr_expect_eq(leave_for(0, 2, 0, hash_of(name)), DROP_INSIDE);
    cr_expect_eq(rig_poll(r, 0, 2, 0).state, PLACE_ADMITTED, "and nothing is taken from it");
    cr_expect_eq(leave_for(0, 2, 1, 5), DROP_OK, "it has no name");
    cr_expect_eq(leave_for(0, 2, 1, 5), DROP_GONE);
}

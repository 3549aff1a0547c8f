/* test_parked.c: joins that wait at a node for another's word, and are answered when it is here. */
#include "segment/core/state.h"
#include "tests/lib/dirrig.h"

enum { OTHER_ROUTER = 9 };

static struct rig *r;
static const char *name; /* the second node keeps its share */
static struct answered {
    peer_no peer;
    uint64_t rid;
    struct append_ans a;
} heard[8];
static unsigned n_heard, n_frames;

static void hear(void *ctx, const struct rig_wire *w, const struct msg *m)
{
    (void)ctx;
    n_frames += m->type == MSG_APPEND_ANS;
    for (uint32_t i = 0; m->type == MSG_APPEND_ANS && i < m->append_ans.n; i++)
        heard[n_heard++ % ARRAY_LEN(heard)] = (struct answered) { w->peer, w->rid, m->append_ans.ans[i] };
}

static void setup(void)
{
    n_heard = n_frames = 0;
    r = rig_new(2, 100000);
    rig_open(r, 0, 2, OPEN_TAIL, 100, 0);
    rig_open(r, 0, 3, OPEN_TAIL, 100, 0);
    rig_open(r, 1, 4, OPEN_TAIL, 100, 0);
    dirrig_members(r);
    rig_up(r, 0, OTHER_ROUTER, RPC_ROUTER, "rt2");
    name = dirrig_others_name();
    r->hear = hear;
}

static void teardown(void)
{
    rig_free(r);
}

TestSuite(parked, .init = setup, .fini = teardown, .timeout = 60);

static struct append_req asked(const char *subject)
{
    struct append_req q = { .seg = 2, .subject = subject, .later = 1 };

    if (subject == NULL)
        return q;
    q.subject_len = (uint8_t)strlen(subject);
    q.subject_hash = dirrig_hash(subject);
    return q;
}

static struct append_ans now[MSG_BATCH_MAX];

/* How many of them are answered at once: now[]. */
static uint32_t batch(peer_no peer, uint64_t rid, const struct append_req *q, uint32_t n)
{
    struct append_from from = { peer, rid };

    return segtab_append_from(r->t[0], r->now, &from, q, n, now, &r->mem);
}

static uint32_t join(peer_no peer, uint64_t rid, const char *subject)
{
    struct append_req q = asked(subject);

    return batch(peer, rid, &q, 1);
}

/* As a turn ends; what is said is heard. */
static void turn(void)
{
    if (segtab_asks(r->t[0]))
        rig_step(r, 0, (struct segtab_in) { .kind = SEGTAB_ASK });
    rig_pump(r, UINT32_MAX);
}

/* The word is asked for, is here, and is used. */
static void word(void)
{
    turn();
    turn();
}

static struct segtab_counts counts(void)
{
    struct segtab_counts c;

    segtab_count(r->t[0], &c);
    return c;
}

Test(parked, a_join_is_answered_once_when_the_word_is_here)
{
    cr_expect_eq(join(RIG_ROUTER, 7, name), 0);
    cr_expect_eq(counts().waiting, 0, "it has no place meanwhile");
    turn();
    cr_expect_eq(n_heard, 0);
    turn();
    cr_assert_eq(n_heard, 1);
    cr_expect(heard[0].peer == RIG_ROUTER && heard[0].rid == 7);
    cr_expect(heard[0].a.state == APPEND_OK && heard[0].a.position == 1);
    cr_expect_eq(counts().waiting, 1);
    cr_expect_eq(counts().dir_waited, 1);
    cr_expect_eq(counts().dir_busy, 0);
    rig_run(r, 100);
    cr_expect_eq(rig_join_as(r, 1, 4, name).state, APPEND_EXISTING, "its owner knows it");
}

/* Names whose shares this node keeps, and rows without one, wait for nobody. */
Test(parked, rows_of_a_batch_are_answered_as_their_words_come)
{
    struct append_req q[] = { asked(NULL), asked(name), asked(NULL) };

    cr_assert_eq(batch(RIG_ROUTER, 7, q, 3), 2);
    cr_expect(now[0].row == 0 && now[0].state == APPEND_OK && now[0].position == 1);
    cr_expect(now[1].row == 2 && now[1].state == APPEND_OK && now[1].position == 2);
    word();
    cr_assert_eq(n_heard, 1);
    cr_expect(heard[0].a.row == 1 && heard[0].a.state == APPEND_OK);
    cr_expect_eq(heard[0].a.position, 3, "the place is given with the answer");
    cr_assert_eq(batch(RIG_ROUTER, 8, (struct append_req[]) { asked(NULL), asked(NULL) }, 2), 2);
    cr_expect(now[0].row == 0 && now[1].row == 0, "all of them are here, in their order");
}

Test(parked, what_is_due_of_a_batch_is_one_frame)
{
    char other[4][16];
    struct append_req q[5];
    unsigned n = 0;

    q[n++] = asked(name);
    for (int i = 0; n < 5 && i < 100; i++) {
        snprintf(other[n - 1], sizeof(other[0]), "q%d", i);
        if (directory_owner(dirrig_hash(other[n - 1]), dirrig_nodes, 2) == 1) {
            q[n] = asked(other[n - 1]);
            n++;
        }
    }
    cr_assert_eq(batch(RIG_ROUTER, 7, q, 3), 0);
    cr_assert_eq(batch(OTHER_ROUTER, 7, q + 3, 2), 0);
    word();
    cr_assert_eq(n_heard, 5);
    cr_expect_eq(n_frames, 2);
    for (unsigned i = 0; i < 5; i++) {
        cr_expect_eq(heard[i].peer, (i < 3 ? RIG_ROUTER : OTHER_ROUTER));
        cr_expect(heard[i].a.row == i % 3 && heard[i].a.position == i + 1);
    }
}

Test(parked, one_subject_gets_one_ticket_whoever_asks)
{
    cr_assert_eq(join(RIG_ROUTER, 7, name), 0);
    cr_assert_eq(join(OTHER_ROUTER, 7, name), 0);
    cr_assert_eq(join(RIG_ROUTER, 8, name), 0);
    word();
    cr_assert_eq(n_heard, 3);
    cr_expect_eq(heard[0].a.state, APPEND_OK);
    for (int i = 1; i < 3; i++)
        cr_expect(heard[i].a.state == APPEND_EXISTING && heard[i].a.number == heard[0].a.number);
    cr_expect_eq(counts().waiting, 1);
}

/* Another node has the ticket: each of them is told, one word after the other. */
Test(parked, who_has_a_place_elsewhere_is_told_so)
{
    cr_assert_eq(rig_join_as(r, 1, 4, name).state, APPEND_OK);
    rig_run(r, 100);
    cr_assert_eq(join(RIG_ROUTER, 7, name), 0);
    cr_assert_eq(join(RIG_ROUTER, 8, name), 0);
    word();
    cr_assert_eq(n_heard, 1);
    word();
    cr_assert_eq(n_heard, 2);
    for (int i = 0; i < 2; i++)
        cr_expect(heard[i].a.state == APPEND_EXISTING && heard[i].a.seg == 4);
}

Test(parked, the_joins_of_a_router_end_with_its_link)
{
    cr_assert_eq(join(RIG_ROUTER, 7, name), 0);
    cr_assert_eq(join(OTHER_ROUTER, 7, name), 0);
    rig_down(r, 0, RIG_ROUTER);
    word();
    cr_assert_eq(n_heard, 1);
    cr_expect(heard[0].peer == OTHER_ROUTER && heard[0].a.state == APPEND_OK);
}

/* The word comes for nobody: it is given back, and another node may have it. */
Test(parked, a_word_that_nobody_waits_for_is_given_back)
{
    cr_assert_eq(join(RIG_ROUTER, 7, name), 0);
    turn();
    rig_down(r, 0, RIG_ROUTER);
    turn();
    cr_expect_eq(n_heard, 0);
    cr_expect_eq(rig_join_as(r, 1, 4, name).state, APPEND_BUSY);
    rig_run(r, DIR_PERMIT_MS + 200);
    cr_expect_eq(rig_join_as(r, 1, 4, name).state, APPEND_OK);
}

Test(parked, without_its_owner_a_join_is_told_busy_at_once)
{
    cr_assert_eq(join(RIG_ROUTER, 7, name), 0);
    rig_cut(r);
    turn();
    cr_assert_eq(n_heard, 1);
    cr_expect(heard[0].a.state == APPEND_BUSY && heard[0].a.poll_after_ms == DIR_WAIT_MS);
    cr_expect_eq(join(RIG_ROUTER, 8, name), 1, "there is nobody to ask");
    cr_expect_eq(now[0].state, APPEND_BUSY);
}

/* A node that hangs, or an answer that was lost. */
Test(parked, a_join_waits_for_so_long_and_is_told_busy)
{
    cr_assert_eq(join(RIG_ROUTER, 7, name), 0);
    r->lose_at = r->copies + 1;
    turn();
    for (msec_t ms = 0; ms < DIR_PARK_MS; ms += 100) {
        cr_assert_eq(n_heard, 0, "after %d ms", (int)ms);
        rig_run(r, 100);
        turn();
    }
    cr_assert_eq(n_heard, 1);
    cr_expect(heard[0].rid == 7 && heard[0].a.state == APPEND_BUSY);
    cr_assert_eq(join(RIG_ROUTER, 8, name), 0, "it may wait again");
}

/* Who else has the grant may give it back any moment: the router decides how long it asks. */
Test(parked, while_another_node_has_the_word_a_join_is_told_busy)
{
    struct append_req q = asked(name);
    struct append_ans a;

    r->now.now_ms += 1;
    segtab_append(r->t[1], r->now, &q, 1, &a, &r->mem);
    cr_assert_eq(a.state, APPEND_UNKNOWN, "its own segment is another");
    q.seg = 4;
    segtab_append(r->t[1], r->now, &q, 1, &a, &r->mem);
    cr_assert_eq(a.state, APPEND_OK);
    /* its ticket is there, and not told of yet: as if it were a grant */
    directory_free(&r->t[1]->dir.own, 1, q.subject_hash);
    cr_assert_eq(directory_claim(&r->t[1]->dir.own, 1, q.subject_hash, (struct ticket_id) { 0 },
                                 &(struct dir_row) { 0 }, &(uint16_t) { 0 }), DIR_GRANTED);
    cr_assert_eq(join(RIG_ROUTER, 7, name), 0);
    word();
    cr_assert_eq(n_heard, 1);
    cr_expect_eq(heard[0].a.state, APPEND_BUSY);
}

Test(parked, its_segment_may_be_full_when_the_word_comes)
{
    cr_assert_eq(join(RIG_ROUTER, 7, name), 0);
    rig_seal(r, 0, 2, 9);
    word();
    cr_assert_eq(n_heard, 1);
    cr_expect(heard[0].a.state == APPEND_SEALED && heard[0].a.next == 9);
    rig_run(r, 100);
    cr_expect_eq(rig_join_as(r, 1, 4, name).state, APPEND_OK, "the word was given back");
}

Test(parked, its_segment_may_be_gone_when_the_word_comes)
{
    cr_assert_eq(join(RIG_ROUTER, 7, name), 0);
    rig_order(r, 0, (struct msg) { .type = MSG_SEG_REMOVE, .seg_remove = { r->epoch, 2, true } });
    word();
    cr_assert_eq(n_heard, 1);
    cr_expect_eq(heard[0].a.state, APPEND_UNKNOWN);
}

Test(parked, nothing_is_given_while_the_journal_holds)
{
    cr_assert_eq(join(RIG_ROUTER, 7, name), 0);
    turn();
    segtab_hold(r->t[0], true);
    turn();
    cr_assert_eq(n_heard, 1);
    cr_expect_eq(heard[0].a.state, APPEND_BUSY);
    cr_expect_eq(counts().waiting, 0);
}

Test(parked, an_older_router_asks_again)
{
    struct append_req q = asked(name);

    q.later = 0;
    cr_assert_eq(batch(RIG_ROUTER, 7, &q, 1), 1);
    cr_expect(now[0].state == APPEND_BUSY && now[0].poll_after_ms == DIR_WAIT_MS);
    word();
    cr_expect_eq(n_heard, 0);
    cr_assert_eq(batch(RIG_ROUTER, 8, &q, 1), 1);
    cr_expect_eq(now[0].state, APPEND_OK);
}

/* Its credit and its empty line are those of the moment when the word is here. */
Test(parked, a_join_may_be_let_in_at_once_when_the_word_is_here)
{
    const uint32_t end[] = { 0, 3 };

    cr_assert_eq(join(RIG_ROUTER, 7, name), 0);
    for (unsigned i = 0; i < 2; i++)
        rig_order(r, 0, (struct msg) { .type = MSG_SEG_CREDIT,
                                       .seg_credit = { .epoch = r->epoch, .seg = 2, .tick = i + 1,
                                                       .end = end[i],
                                                       .lease_ms = 300, .aside = 8,
                                                       .released_at_ms = r->now.wall_ms } });
    word();
    cr_assert_eq(n_heard, 1);
    cr_expect(heard[0].a.state == APPEND_ENTERED && heard[0].a.number == 0 && heard[0].a.pass_len > 0);
    cr_expect_eq(rig_poll(r, 0, 2, 0).state, PLACE_ADMITTED);
}

/* The word belongs to the join that it was asked for: another one's may not give back the same place. */
Test(parked, a_join_that_replaces_a_place_waits_for_a_word_of_its_own)
{
    struct append_req q = asked(name);

    cr_assert_eq(rig_join_as(r, 1, 4, name).state, APPEND_OK);
    rig_run(r, 100);
    q.old_seg = 4;
    cr_assert_eq(batch(RIG_ROUTER, 7, &q, 1), 0);
    cr_assert_eq(join(OTHER_ROUTER, 8, name), 0);
    word();
    cr_assert_eq(n_heard, 2);
    cr_expect(heard[0].rid == 7 && heard[0].a.state == APPEND_OK, "%u", heard[0].a.state);
    cr_expect(heard[1].rid == 8 && heard[1].a.state == APPEND_EXISTING && heard[1].a.seg == 2);
    cr_expect_eq(counts().waiting, 1);
}

/* As many answers as there are, not as many as are due: 16384 frames of one would take 256 MB. */
Test(parked, a_frame_takes_no_memory_for_those_of_others)
{
    struct segtab_in in = { .kind = SEGTAB_ASK };
    struct outbox out;
    const char *a, *b;

    for (uint64_t rid = 1; rid <= 300; rid++)
        cr_assert_eq(join(RIG_ROUTER, rid, name), 0);
    rig_cut(r);
    in.now = r->now;
    outbox_init(&out);
    segtab_step(r->t[0], &in, &out);
    cr_assert_eq(out.n, 300);
    a = (const char *)out.v[0].m.append_ans.ans;
    b = (const char *)out.v[1].m.append_ans.ans;
    cr_expect_eq(b - a, sizeof(struct append_ans), "%ld bytes", (long)(b - a));
    outbox_fini(&out);
}

Test(parked, so_many_wait_and_no_more)
{
    for (uint64_t rid = 1; rid <= DIR_PARKED_MAX; rid++)
        cr_assert_eq(join(RIG_ROUTER, rid, name), 0);
    cr_assert_eq(join(RIG_ROUTER, DIR_PARKED_MAX + 1, name), 1);
    cr_expect_eq(now[0].state, APPEND_BUSY);
    rig_down(r, 0, RIG_ROUTER);
    cr_expect_eq(join(OTHER_ROUTER, 1, name), 0, "there is room again");
}

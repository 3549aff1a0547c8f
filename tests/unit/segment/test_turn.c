/* test_turn.c: people who are told that they are let in: contacts beside tickets, what is said to
 * routers, and until when (segment/tickets/turn.h). */
#include "common/journal/format.h"
#include "segment/core/location.h"
#include "tests/lib/segtape.h"

static struct heard {
    uint32_t n;
    struct msg_turn last;
    char sealed[CONTACT_SEALED_MAX + 1];
    char why[200]; /* a move was given up */
} heard;

static void hear(void *ctx, const struct rig_wire *w, const struct msg *m)
{
    (void)ctx;
    if (m->type == MSG_MOVE_STATUS && m->move_status.why != NULL && heard.why[0] == '\0')
        snprintf(heard.why, sizeof(heard.why), "%s", m->move_status.why);
    if (m->type != MSG_TURN)
        return;
    cr_assert_eq(w->peer, RIG_ROUTER);
    heard.n++;
    heard.last = m->turn;
    snprintf(heard.sealed, sizeof(heard.sealed), "%.*s", (int)m->turn.n_sealed, (const char *)m->turn.sealed);
}

static struct rig *world(struct tape *tp)
{
    void *ctx[] = { tp };
    struct rig *r = tp != NULL ? rig_new_logged(1, 1u << 20, on_log, ctx) : rig_new(1, 1u << 20);

    memset(&heard, 0, sizeof(heard));
    r->hear = hear;
    r->ttl_s = 60;
    rig_open(r, 0, 1, OPEN_TAIL, 1000, 0);
    rig_join(r, 0, 1, 10);
    return r;
}

static struct contact_ans contact(struct rig *r, uint32_t number, const char *sealed, uint32_t claim_ms)
{
    struct contact_req q = { .seg = 1, .number = number, .claim_ms = claim_ms,
                             .n_sealed = (uint16_t)strlen(sealed), .sealed = (const uint8_t *)sealed };
    struct contact_ans a;

    segtab_contact(r->t[0], r->now, &q, 1, &a);
    return a;
}

static void told(struct rig *r, uint32_t number, bool is, uint32_t later_ms)
{
    struct msg m = { .type = MSG_TURN_ANS };

    m.turn_ans = (struct msg_turn_ans){ .seg = 1, .number = number, .word = TURN_NOW, .told = is,
                                        .later_ms = later_ms };
    rig_order_as(r, 0, RIG_ROUTER, m);
}

static struct segtab_counts count(struct rig *r)
{
    struct segtab_counts c;

    segtab_count(r->t[0], &c);
    return c;
}

Test(turn, a_release_is_said_until_it_is_told)
{
    struct rig *r = world(NULL);
    int64_t at = r->now.wall_ms;

    cr_assert_eq(contact(r, 2, "anna", 20000).state, CONTACT_OK);
    rig_run(r, 1000);
    cr_assert_eq(heard.n, 0, "it waits");
    at = r->now.wall_ms;
    rig_pop(r, 0, 1, 1, 5);
    rig_run(r, 9000);
    cr_assert_eq(heard.n, 1, "only who asked, and a router is not pressed");
    cr_expect(heard.last.seg == 1 && heard.last.number == 2 && heard.last.word == TURN_NOW);
    cr_expect_str_eq(heard.sealed, "anna");
    cr_expect_eq(heard.last.at_ms, at);
    cr_expect_eq(heard.last.until_ms, at + 20000);
    cr_expect_eq(count(r).contacts_due, 1);
    rig_run(r, 2000);
    cr_assert_eq(heard.n, 2, "it did not answer");
    told(r, 2, false, 3000);
    rig_run(r, 2500);
    cr_assert_eq(heard.n, 2, "later");
    rig_run(r, 1000);
    cr_assert_eq(heard.n, 3);
    told(r, 2, true, 0);
    rig_run(r, 4000);
    cr_assert_eq(heard.n, 3);
    cr_expect_eq(count(r).contacts, 1, "how long it may take is known");
    cr_expect_eq(count(r).contacts_due, 0);
    cr_expect_eq(count(r).turns_told, 1);
    cr_expect_eq(count(r).turns_later, 1);
    cr_assert_eq(rig_poll(r, 0, 1, 2).state, PLACE_ADMITTED, "long after others' time");
    cr_assert_neq(rig_poll(r, 0, 1, 3).state, PLACE_ADMITTED);
    rig_run(r, 60000);
    cr_expect_eq(count(r).contacts, 0, "its session has ended");
    rig_free(r);
}

Test(turn, a_release_that_may_be_undone_is_not_told)
{
    struct rig *r = world(NULL);

    (void)contact(r, 0, "anna", 20000);
    rig_order(r, 0, (struct msg) { .type = MSG_SEG_POP,
                                   .seg_pop = { .epoch = 1, .seg = 1, .tick = 1, .n = 1,
                                                .released_at_ms = r->now.wall_ms } });
    rig_run(r, 3000);
    cr_assert_eq(heard.n, 0);
    rig_stored(r, 0, 1, 1);
    rig_run(r, 100);
    cr_assert_eq(heard.n, 1);
    rig_free(r);
}

Test(turn, it_waits_without_polls_and_is_not_skipped)
{
    struct rig *r = world(NULL);

    (void)contact(r, 1, "anna", 20000);
    (void)contact(r, 3, "boris", 20000);
    rig_run(r, 300000);
    cr_assert_eq(rig_poll(r, 0, 1, 0).state, PLACE_GONE);
    cr_assert_eq(count(r).waiting, 2);
    rig_order(r, 0, (struct msg) { .type = MSG_SEG_POP,
                                   .seg_pop = { .epoch = 1, .seg = 1, .tick = 1, .n = 1, .away_ms = 1000,
                                                .released_at_ms = r->now.wall_ms } });
    rig_stored(r, 0, 1, 1);
    rig_run(r, 100);
    cr_assert_eq(heard.last.number, 1, "it was not away");
    cr_assert_eq(contact(r, 3, "", 0).state, CONTACT_OK);
    rig_run(r, 300000);
    cr_assert_eq(rig_poll(r, 0, 1, 3).state, PLACE_GONE, "it took that back");
    cr_assert_eq(count(r).waiting, 0);
    rig_free(r);
}

Test(turn, what_has_ended_is_told_nothing)
{
    struct rig *r = world(NULL);

    for (uint32_t i = 0; i < 4; i++)
        (void)contact(r, i, "anna", 20000);
    rig_leave(r, 0, 1, 0);
    cr_assert_eq(count(r).contacts, 3, "with its ticket");
    rig_pop(r, 0, 1, 1, 3);
    rig_leave(r, 0, 1, 1);
    (void)rig_session(r, 0, 1, 2, SESS_REVOKE, 0);
    cr_assert_eq(contact(r, 3, "", 0).state, CONTACT_OK, "taken back in time");
    rig_run(r, 1000);
    cr_assert_eq(heard.n, 0);
    cr_assert_eq(count(r).contacts, 0);
    cr_expect_eq(contact(r, 0, "late", 1).state, CONTACT_GONE);
    cr_expect_eq(contact(r, 0, "late", 1).reason, GONE_LEFT);
    rig_free(r);
}

/* The manager's word, which places' turn comes soon. */
static void soon(struct rig *r, uint64_t places)
{
    struct pace_entry e = { .queue = 7, .min_ms = 1000, .max_ms = 1000, .soon = places };

    rig_order(r, 0, (struct msg) { .type = MSG_SEG_AHEAD,
                                   .seg_ahead = { .epoch = 1, .n_pace = 1, .pace = &e } });
}

static void told_soon(struct rig *r, uint32_t number, bool is)
{
    struct msg m = { .type = MSG_TURN_ANS };

    m.turn_ans = (struct msg_turn_ans){ .seg = 1, .number = number, .word = TURN_SOON, .told = is,
                                        .later_ms = 60000 };
    rig_order_as(r, 0, RIG_ROUTER, m);
}

Test(turn, soon_is_told_once_and_before)
{
    struct tape tp = { 0 };
    struct rig *r = world(&tp);

    (void)contact(r, 4, "anna", 20000);
    (void)contact(r, 8, "boris", 20000);
    rig_run(r, 1000);
    cr_assert_eq(heard.n, 0, "nobody says what is soon");
    soon(r, 6);
    rig_run(r, 1000);
    cr_assert_eq(heard.n, 1);
    cr_expect(heard.last.number == 4 && heard.last.word == TURN_SOON && heard.last.until_ms == 0);
    cr_expect_str_eq(heard.sealed, "anna");
    cr_expect_eq(contact(r, 5, "clara", 20000).state, CONTACT_OK);
    rig_run(r, 1000);
    cr_assert_eq(heard.n, 1, "she knows that it is soon");
    told_soon(r, 4, true);
    soon(r, 0);
    soon(r, 6);
    segtab_free(r->t[0]);
    r->t[0] = replay(&tp);
    cr_assert_eq(segtab_replayed(r->t[0], r->now), 0);
    rig_start(r, 0);
    soon(r, 9);
    rig_run(r, 1000);
    cr_assert_eq(heard.n, 2, "once: boris");
    cr_expect_eq(heard.last.number, 8);
    rig_pop(r, 0, 1, 1, 9);
    rig_run(r, 100);
    cr_assert_eq(heard.n, 5, "all three are let in, whether that was answered or not");
    cr_expect_eq(heard.last.word, TURN_NOW);
    told_soon(r, 8, false);
    for (uint32_t i = 0; i < 3; i++)
        told(r, (const uint32_t[]){ 4, 5, 8 }[i], true, 0);
    rig_run(r, 15000);
    cr_assert_eq(heard.n, 5);
    rig_free(r);
    tape_fini(&tp);
}

Test(turn, only_who_waits_gets_one)
{
    struct contact_req q = { .seg = 9, .number = 1, .n_sealed = 1, .sealed = (const uint8_t *)"x" };
    struct rig *r = world(NULL);
    struct contact_ans a;

    segtab_contact(r->t[0], r->now, &q, 1, &a);
    cr_expect_eq(a.state, CONTACT_UNKNOWN);
    rig_pop(r, 0, 1, 1, 1);
    cr_expect_eq(contact(r, 0, "anna", 1).state, CONTACT_INSIDE);
    cr_expect_eq(contact(r, 0, "", 0).state, CONTACT_OK, "it has none, as is wished");
    segtab_hold(r->t[0], true);
    cr_expect_eq(contact(r, 1, "anna", 1).state, CONTACT_BUSY);
    segtab_hold(r->t[0], false);
    segtab_full(r->t[0], true);
    cr_expect_eq(contact(r, 1, "anna", 1).state, CONTACT_FULL);
    segtab_full(r->t[0], false);
    cr_expect_eq(contact(r, 1, "anna", 1).state, CONTACT_OK);
    cr_expect_eq(contact(r, 1, "anna the second", 1).state, CONTACT_OK);
    segtab_full(r->t[0], true);
    cr_expect_eq(contact(r, 1, "anna the third", 1).state, CONTACT_FULL, "it is written, too");
    cr_expect_eq(contact(r, 2, "", 0).state, CONTACT_OK);
    segtab_full(r->t[0], false);
    rig_pop(r, 0, 1, 2, 1);
    rig_run(r, 100);
    cr_expect_str_eq(heard.sealed, "anna the second");
    rig_free(r);
}

static void restart(struct rig *r, struct tape *tp)
{
    segtab_free(r->t[0]);
    r->t[0] = replay(tp);
    cr_assert_eq(segtab_replayed(r->t[0], r->now), 0);
    rig_start(r, 0);
}

/* snap: by a snapshot that is taken before each restart. */
static void over_restarts(bool snap)
{
    struct tape tp = { 0 };
    struct rig *r = world(&tp);

    (void)contact(r, 0, "anna", 20000);
    (void)contact(r, 1, "boris", 20000);
    (void)contact(r, 2, "clara", 20000);
    (void)contact(r, 2, "", 0);
    (void)contact(r, 3, "dora", 20000);
    rig_leave(r, 0, 1, 3);
    do
        tape_snap(&tp, r->t[0], 100);
    while (snap && tp.snapping);
    restart(r, &tp);
    cr_assert_eq(count(r).contacts, 2);
    rig_pop(r, 0, 1, 1, 3);
    do
        tape_snap(&tp, r->t[0], 100);
    while (snap && tp.snapping);
    restart(r, &tp);
    rig_run(r, 100);
    cr_assert_eq(heard.n, 2, "nobody had heard of it");
    told(r, 0, true, 0);
    told(r, 1, true, 0);
    do
        tape_snap(&tp, r->t[0], 100);
    while (snap && tp.snapping);
    restart(r, &tp);
    rig_run(r, 15000);
    cr_assert_eq(heard.n, 2, "it is written down that they were told");
    cr_assert_eq(rig_poll(r, 0, 1, 0).state, PLACE_ADMITTED, "the longer window, too");
    cr_assert_neq(rig_poll(r, 0, 1, 2).state, PLACE_ADMITTED);
    rig_free(r);
    tape_fini(&tp);
}

Test(turn, restarts_lose_nobody_and_tell_nobody_twice)
{
    over_restarts(false);
}

Test(turn, snapshots_have_them)
{
    over_restarts(true);
}

/* Over all segments of the queue. */
Test(turn, a_queue_has_so_many_and_no_more)
{
    struct rig *r = rig_new(1, 1u << 20);
    struct contact_req q = { .n_sealed = 1, .sealed = (const uint8_t *)"x" };
    struct contact_ans a;

    for (uint32_t i = 0; i <= QUEUE_CONTACTS_MAX; i++) {
        q.seg = 1 + i / 60000;
        q.number = i % 60000;
        if (q.number == 0)
            rig_open(r, 0, q.seg, OPEN_TAIL, 60000, i);
        rig_join(r, 0, q.seg, 1);
        segtab_contact(r->t[0], r->now, &q, 1, &a);
        cr_assert_eq(a.state, i < QUEUE_CONTACTS_MAX ? CONTACT_OK : CONTACT_FULL, "%u", i);
    }
    q.number--;
    segtab_contact(r->t[0], r->now, &q, 1, &a);
    cr_expect_eq(a.state, CONTACT_OK, "another one of the same ticket");
    rig_leave(r, 0, 1, 7);
    q.number++;
    segtab_contact(r->t[0], r->now, &q, 1, &a);
    cr_expect_eq(a.state, CONTACT_OK, "one has ended");
    rig_join(r, 0, q.seg, 2);
    q.number++;
    segtab_contact(r->t[0], r->now, &q, 1, &a);
    cr_expect_eq(a.state, CONTACT_FULL);
    rig_pop(r, 0, 1, 1, 1);
    rig_run(r, 100);
    told(r, 0, true, 0);
    segtab_contact(r->t[0], r->now, &q, 1, &a);
    cr_expect_eq(a.state, CONTACT_OK, "whoever was told is inside, perhaps for hours");
    rig_free(r);
}

/* pass_ttl was lowered while it waited. */
Test(turn, its_time_is_no_longer_than_a_pass)
{
    struct rig *r = world(NULL);
    int64_t at;

    (void)contact(r, 0, "anna", 86400000);
    at = r->now.wall_ms;
    rig_pop(r, 0, 1, 1, 1);
    rig_run(r, 100);
    cr_expect_eq(heard.last.until_ms, at + 60000);
    rig_run(r, 61000);
    cr_assert_eq(rig_poll(r, 0, 1, 0).state, PLACE_WAITING, "in grace, and back");
    rig_free(r);
}

/* Back too late for its window, it is first in line: it is let in once more, and that is what is told. */
Test(turn, who_came_late_and_waits_again_is_not_let_in)
{
    struct rig *r = world(NULL);
    int64_t at;

    (void)contact(r, 0, "anna", 4000);
    rig_pop(r, 0, 1, 1, 1);
    rig_run(r, 100);
    cr_assert_eq(heard.n, 1);
    told(r, 0, false, 6500); /* the pool is full */
    rig_run(r, 6000);
    cr_assert_eq(rig_poll(r, 0, 1, 0).state, PLACE_WAITING, "in grace, and back");
    rig_run(r, 1000);
    cr_assert_eq(heard.n, 1, "it waits");
    cr_expect_eq(count(r).contacts_due, 0);
    at = r->now.wall_ms;
    rig_pop(r, 0, 1, 2, 1);
    rig_run(r, 100);
    cr_assert_eq(heard.n, 2);
    cr_expect_eq(heard.last.at_ms, at);
    cr_expect_eq(heard.last.until_ms, at + 4000);
    rig_free(r);
}

Test(turn, without_a_router_it_waits)
{
    struct rig *r = world(NULL);

    (void)contact(r, 0, "anna", 20000);
    rig_down(r, 0, RIG_ROUTER);
    rig_pop(r, 0, 1, 1, 1);
    rig_run(r, 3000);
    cr_assert_eq(heard.n, 0);
    rig_up(r, 0, RIG_ROUTER, RPC_ROUTER, "rt");
    rig_run(r, 100);
    cr_assert_eq(heard.n, 1);
    rig_free(r);
}

/* ---- long ones: subscriptions of some browsers ---------------------------------------------------------- */

static const char *of_bytes(uint32_t n)
{
    static char text[CONTACT_SEALED_MAX + 1];

    memset(text, 'x', n);
    text[n] = '\0';
    return text;
}

Test(turn, a_queue_has_so_many_bytes_and_no_more)
{
    struct rig *r = rig_new(1, 1u << 20);
    uint32_t most = QUEUE_CONTACT_BYTES / CONTACT_SEALED_MAX, rest = QUEUE_CONTACT_BYTES % CONTACT_SEALED_MAX;

    rig_open(r, 0, 1, OPEN_TAIL, most + 10, 0);
    rig_join(r, 0, 1, most + 5);
    for (uint32_t i = 0; i < most; i++)
        cr_assert_eq(contact(r, i, of_bytes(CONTACT_SEALED_MAX), 1).state, CONTACT_OK, "%u", i);
    cr_expect_eq(contact(r, most, of_bytes(rest + 1), 1).state, CONTACT_FULL);
    cr_expect_eq(contact(r, most, of_bytes(rest), 1).state, CONTACT_OK);
    cr_expect_eq(contact(r, most + 1, "x", 1).state, CONTACT_FULL);
    cr_expect_eq(contact(r, 3, of_bytes(CONTACT_SEALED_MAX - 1), 1).state, CONTACT_OK, "a shorter one in its place");
    cr_expect_eq(contact(r, 3, of_bytes(CONTACT_SEALED_MAX), 1).state, CONTACT_OK, "and as before");
    cr_expect_eq(contact(r, most, of_bytes(rest + 1), 1).state, CONTACT_FULL, "but no longer one");
    rig_leave(r, 0, 1, 4);
    cr_expect_eq(contact(r, most + 1, of_bytes(CONTACT_SEALED_MAX), 1).state, CONTACT_OK, "its bytes went with it");
    rig_pop(r, 0, 1, 1, 1);
    rig_run(r, 100);
    told(r, 0, true, 0);
    cr_expect_eq(contact(r, most + 2, of_bytes(CONTACT_SEALED_MAX), 1).state, CONTACT_OK, "and of who was told");
    cr_expect_eq(contact(r, most + 3, "x", 1).state, CONTACT_FULL);
    rig_free(r);
}

#define LONG (XFER_CONTACT_MAX + 7)

/* Segment 2 of the second node, whose people have contacts of so many bytes. */
static struct rig *two_nodes(uint32_t bytes)
{
    struct rig *r = rig_new(2, 1u << 20);
    struct contact_req q = { .seg = 2, .claim_ms = 20000, .n_sealed = (uint16_t)bytes,
                             .sealed = (const uint8_t *)of_bytes(bytes) };
    struct contact_ans a;

    memset(&heard, 0, sizeof(heard));
    r->hear = hear;
    r->ttl_s = 60;
    rig_open(r, 0, 1, OPEN_TAIL, 1000, 0);
    rig_open(r, 1, 2, OPEN_TAIL, 1000, 0);
    rig_join(r, 1, 2, LONG);
    for (q.number = 0; q.number < LONG; q.number++)
        segtab_contact(r->t[1], r->now, &q, 1, &a);
    rig_up(r, 0, RIG_PEER, RPC_SEGMENT, "node1");
    rig_up(r, 1, RIG_PEER, RPC_SEGMENT, "node0");
    r->linked = true;
    rig_pump(r, UINT32_MAX);
    rig_order(r, 0, (struct msg){ .type = MSG_SEG_SEAL, .seg_seal = { .epoch = 1, .seg = 1 } });
    rig_order(r, 1, (struct msg){ .type = MSG_SEG_SEAL, .seg_seal = { .epoch = 1, .seg = 2 } });
    return r;
}

static void give(struct rig *r, uint32_t bytes)
{
    struct contact_req q = { .seg = 2, .number = 5, .claim_ms = 1, .n_sealed = (uint16_t)bytes,
                             .sealed = (const uint8_t *)of_bytes(bytes) };
    struct contact_ans a;

    segtab_contact(r->t[1], r->now, &q, 1, &a);
    cr_assert_eq(a.state, CONTACT_OK);
}

/* meanwhile: one gets a contact of so many bytes while it is copied. */
static bool moves(struct rig *r, uint64_t move, uint32_t meanwhile)
{
    struct msg end = { .type = MSG_MOVE_END, .move_end = { r->epoch, move, 2, 1, true } };

    heard.why[0] = '\0';
    rig_order(r, 0, (struct msg){ .type = MSG_MOVE_IN, .move_in = { 1, move, 2, 1, LONG } });
    rig_order_as(r, 1, RIG_MNG, (struct msg){ .type = MSG_MOVE_OUT, .move_out = { 1, move, 2, 1, "node0", "127.0.0.1:1" } });
    if (meanwhile > 0)
        give(r, meanwhile);
    rig_run(r, 1000);
    if (heard.why[0] == '\0') {
        rig_order(r, 0, end);
        rig_order(r, 1, end);
        return true;
    }
    end.move_end.commit = false;
    rig_order(r, 0, end);
    rig_order(r, 1, end);
    return false;
}

Test(turn, a_move_takes_the_longest_along)
{
    struct rig *r = two_nodes(CONTACT_SEALED_MAX);

    cr_assert(moves(r, 1, CONTACT_SEALED_MAX), "%s", heard.why);
    cr_expect_eq(count(r).contacts, LONG);
    rig_pop(r, 0, 1, 1, 1);
    rig_run(r, 100);
    cr_assert_eq(heard.n, 1);
    cr_expect(heard.last.seg == 2 && heard.last.number == 0 && heard.last.n_sealed == CONTACT_SEALED_MAX);
    rig_free(r);
}

#define TOO_LARGE "its contacts, subjects and passes are more than 256 MiB: it stays until it is shorter"

static void name_many(struct rig *r, uint64_t bytes)
{
    struct subjects *all = &segtab_seg(r->t[1], 2)->b.subjects;
    struct subject x = { .id = { 2, 1000 }, .len = SUBJECT_TEXT_MAX, .text = (char *)(uintptr_t)of_bytes(SUBJECT_TEXT_MAX) };

    x.text[0] = 'u';
    for (uint64_t n = 0; n < bytes; n += XFER_RECORD + x.len, x.id.number++, x.hash++)
        cr_assert_eq(subjects_add(all, &x), 0);
}

/* As full nodes make it, one after the other, by moves to another. */
Test(turn, a_segment_with_more_than_a_target_writes_in_a_turn_stays)
{
    struct rig *r = two_nodes(40);
    struct contacts *all = &segtab_seg(r->t[1], 2)->b.contacts;
    struct contact x = { .id = { 2, 1000 }, .sealed = (uint8_t *)(uintptr_t)of_bytes(CONTACT_SEALED_MAX) };
    const uint64_t most = XFER_RECORDS_MAX - LONG * (40 + XFER_RECORD);
    uint64_t n = most / (XFER_RECORD + SUBJECT_TEXT_MAX) * (XFER_RECORD + SUBJECT_TEXT_MAX);

    name_many(r, n);
    x.n = (uint16_t)(most > n + XFER_RECORD ? most - n - XFER_RECORD : 0);
    cr_assert(x.n == 0 || contacts_put(all, &x) == 0); /* nothing more has room, */
    cr_assert_not(moves(r, 1, CONTACT_SEALED_MAX), "and one grew while it was copied");
    cr_expect_str_eq(heard.why, TOO_LARGE);
    cr_expect_eq(rig_poll(r, 1, 2, 0).state, PLACE_WAITING);
    cr_assert_not(moves(r, 2, 0));
    cr_expect_str_eq(heard.why, TOO_LARGE);
    cr_expect_eq(rig_poll(r, 1, 2, 0).state, PLACE_WAITING, "where they were");
    rig_free(r);
}

/* It is written in groups. */
Test(turn, a_move_brings_more_than_a_group)
{
    struct rig *r = two_nodes(40);

    name_many(r, JGROUP_MAX);
    cr_assert(moves(r, 1, 0), "%s", heard.why);
    cr_expect_eq(count(r).contacts, LONG);
    cr_expect_eq(rig_poll(r, 0, 2, 0).state, PLACE_WAITING);
    rig_free(r);
}

/* Everybody at the node waits while it writes; the manager gives the order again. */
Test(turn, two_large_moves_are_not_committed_in_one_turn)
{
    struct rig *r = two_nodes(40);
    struct msg end = { .type = MSG_MOVE_END, .move_end = { 1, 1, 2, 1, true } };

    rig_order(r, 0, (struct msg){ .type = MSG_MOVE_IN, .move_in = { 1, 1, 2, 1, LONG } });
    rig_order_as(r, 1, RIG_MNG, (struct msg){ .type = MSG_MOVE_OUT, .move_out = { 1, 1, 2, 1, "node0", "127.0.0.1:1" } });
    rig_run(r, 1000);
    r->t[0]->absorbed = XFER_RECORDS_MAX - LONG * (40 + XFER_RECORD); /* another one, just before */
    rig_order(r, 0, end);
    cr_expect_eq(r->in_report, MOVE_FENCED, "not this turn");
    rig_run(r, 100);
    rig_order(r, 0, end);
    cr_expect_eq(r->in_report, MOVE_COMMITTED);
    cr_expect_geq(r->t[0]->absorbed, LONG * (40 + XFER_RECORD));
    cr_expect_eq(count(r).contacts, LONG);
    rig_free(r);
}

/* The longest numbers: a record is no longer than a move reckons. */
Test(turn, records_are_as_long_as_moves_reckon)
{
    struct jrec r = { .kind = JREC_SUBJECT, .seg = (1ull << 49) - 1 };
    struct buf b;

    r.subject = (struct jrec_subject){ .id = { (1ull << 49) - 1, UINT32_MAX }, .issued_s = UINT32_MAX, .client = CLIENT_NCLASSES - 1,
                                       .hash = UINT64_MAX, .text = { of_bytes(SUBJECT_TEXT_MAX), SUBJECT_TEXT_MAX } };
    buf_init(&b);
    jrec_encode(&r, &b);
    cr_expect_leq(JRECORD_BYTES + b.len, XFER_RECORD + SUBJECT_TEXT_MAX);
    buf_reset(&b);
    r = (struct jrec){ .kind = JREC_CONTACT, .seg = (1ull << 49) - 1 };
    r.contact = (struct jrec_contact){ .id = { (1ull << 49) - 1, UINT32_MAX }, .said = 3, .claim_ms = UINT32_MAX,
                                       .sealed = { of_bytes(CONTACT_SEALED_MAX), CONTACT_SEALED_MAX } };
    jrec_encode(&r, &b);
    cr_expect_leq(JRECORD_BYTES + b.len, XFER_RECORD + CONTACT_SEALED_MAX);
    buf_fini(&b);
}

/* test_segtab_ticket.c: one ticket to another lane at its node: its old place leads to the
 * new one, once, through restarts and moves of its segment. */
#include "segment/node/segtab_int.h"
#include "tests/lib/dirrig.h"

static struct rig *r;

static void setup(void)
{
    r = rig_new(2, 100000);
}

static void teardown(void)
{
    rig_free(r);
}

TestSuite(segtab_ticket, .init = setup, .fini = teardown, .timeout = 60);

/* What the node wants the new place to be told, in the last call: step 0, nothing. */
static struct msg_ticket asked;
static char asked_subject[SUBJECT_MAX_LEN + 1];

static void hear_asked(const struct outbox *out)
{
    memset(&asked, 0, sizeof(asked));
    for (uint32_t i = 0; i < out->n; i++) {
        const struct msg_ticket *m = &out->v[i].m.ticket;

        if (out->v[i].m.type != MSG_TICKET || m->step != TICKET_NAME ||
            m->state != TICKET_ASKED)
            continue;
        asked = *m;
        snprintf(asked_subject, sizeof(asked_subject), "%s", m->subject);
        asked.subject = asked_subject;
    }
}

/* What the node answers to this order. */
static struct msg_ticket order(uint8_t step, seg_id seg, uint32_t number, seg_id to,
                               uint32_t to_number)
{
    struct msg_ticket m = { .epoch = 1, .order = 7, .step = step, .seg = seg,
                            .number = number, .to = to, .to_number = to_number,
                            .client = CLIENT_MOBILE, .subject = "" };
    struct outbox out;

    outbox_init(&out);
    segtab_ticket(r->t[0], 1, &m, &out);
    cr_assert_geq(out.n, 1);
    cr_assert_eq(out.v[out.n - 1].m.type, MSG_TICKET);
    m = out.v[out.n - 1].m.ticket;
    hear_asked(&out);
    outbox_fini(&out);
    return m;
}

/* The manager passes on what was asked; the answer. */
static uint8_t name_it(void)
{
    struct msg_ticket m = asked;
    struct outbox out;

    outbox_init(&out);
    segtab_ticket(r->t[0], 1, &m, &out);
    cr_assert_eq(out.n, 1);
    m = out.v[0].m.ticket;
    outbox_fini(&out);
    return m.state;
}

/* And that it is named. */
static void named(void)
{
    struct msg_ticket m = asked;
    struct outbox out;

    m.step = TICKET_NAMED;
    m.state = TICKET_DONE;
    outbox_init(&out);
    segtab_ticket(r->t[0], 1, &m, &out);
    outbox_fini(&out);
}

static void tick(void)
{
    struct segtab_in in = { .kind = SEGTAB_TICK };
    struct outbox out;

    outbox_init(&out);
    r->now.now_ms += 300;
    in.now = r->now;
    segtab_step(r->t[0], &in, &out);
    hear_asked(&out);
    outbox_fini(&out);
}

static struct drop_ans leave(seg_id seg, uint32_t number)
{
    return rig_leave(r, 0, seg, number);
}

static void moved_is(uint32_t number, seg_id to, uint32_t to_number)
{
    struct place_ans p = rig_poll(r, 0, 2, number);

    cr_assert_eq(p.state, PLACE_MOVED);
    cr_assert_eq(p.moved_to, to);
    cr_assert_eq(p.poll_after_ms, to_number + 1);
}

/* Segment 2 of one lane with five people, segment 3 of another with two. */
static void two_lanes(void)
{
    rig_open(r, 0, 2, OPEN_TAIL, 100, 0);
    rig_open(r, 0, 3, OPEN_TAIL, 100, 0);
    rig_join(r, 0, 2, 5);
    rig_join(r, 0, 3, 2);
}

Test(segtab_ticket, step_by_step_to_the_last_place)
{
    struct msg_ticket a;

    two_lanes();
    cr_assert_eq(order(TICKET_LOOK, 2, 1, 0, 0).state, TICKET_WAITS);
    a = order(TICKET_ADD, 2, 1, 3, 0);
    cr_assert_eq(a.state, TICKET_DONE);
    cr_assert(a.to == 3 && a.to_number == 2);
    cr_assert_eq(rig_poll(r, 0, 2, 1).state, PLACE_WAITING, "nothing has changed for it");
    cr_assert_eq(order(TICKET_FORWARD, 2, 1, 3, 2).state, TICKET_DONE);
    moved_is(1, 3, 2);
    cr_assert_eq(rig_poll(r, 0, 3, 2).position, 3);
    cr_assert_eq(rig_poll(r, 0, 2, 2).position, 2, "who was behind it is nearer");
    cr_assert_eq(leave(2, 1).state, DROP_MOVED);
    cr_assert_eq(leave(2, 1).moved_number, 3);
    rig_run(r, 200);
    cr_assert_eq(r->status[2].waiting, 4);
    cr_assert_eq(r->status[2].records, 1, "its segment is kept for it");
}

Test(segtab_ticket, once_however_often_it_is_asked)
{
    struct msg_ticket a;

    two_lanes();
    cr_assert_eq(order(TICKET_FORWARD, 2, 1, 3, 0).state, TICKET_DONE);
    a = order(TICKET_FORWARD, 2, 1, 3, 1);
    cr_assert_eq(a.state, TICKET_AWAY);
    cr_assert(a.to == 3 && a.to_number == 0, "the first one counts");
    a = order(TICKET_LOOK, 2, 1, 0, 0);
    cr_assert(a.state == TICKET_AWAY && a.to == 3 && a.to_number == 0);
    moved_is(1, 3, 0);
}

Test(segtab_ticket, who_does_not_wait_is_not_moved)
{
    two_lanes();
    cr_assert_eq(rig_pop(r, 0, 2, 1, 1), 1);
    cr_assert_eq(order(TICKET_FORWARD, 2, 0, 3, 0).state, TICKET_INSIDE);
    cr_assert_eq(rig_leave(r, 0, 2, 1).state, DROP_OK);
    cr_assert_eq(order(TICKET_FORWARD, 2, 1, 3, 0).state, TICKET_GONE);
    cr_assert_eq(order(TICKET_LOOK, 2, 99, 0, 0).state, TICKET_GONE);
    cr_assert_eq(order(TICKET_LOOK, 55, 0, 0, 0).state, TICKET_BUSY, "it may be elsewhere");
}

Test(segtab_ticket, a_place_that_is_not_needed_is_given_back)
{
    struct msg_ticket a;

    two_lanes();
    a = order(TICKET_ADD, 2, 1, 3, 0);
    cr_assert_eq(order(TICKET_UNDO, 2, 1, a.to, a.to_number).state, TICKET_DONE);
    cr_assert_eq(rig_poll(r, 0, 3, a.to_number).state, PLACE_GONE);
}

Test(segtab_ticket, a_full_segment_takes_nobody)
{
    two_lanes();
    rig_seal(r, 0, 3, 0);
    cr_assert_eq(order(TICKET_ADD, 2, 1, 3, 0).state, TICKET_SEALED);
}

Test(segtab_ticket, its_record_is_kept_while_it_is_asked_for)
{
    two_lanes();
    cr_assert_eq(order(TICKET_FORWARD, 2, 1, 3, 0).state, TICKET_DONE);
    for (int i = 0; i < 10; i++) {
        rig_run(r, 30000);
        moved_is(1, 3, 0);
    }
    rig_run(r, 120000);
    cr_assert_eq(rig_poll(r, 0, 2, 1).state, PLACE_GONE);
}

/* ---- one place per person --------------------------------------------------------------- */

/* A sixth and last one of segment 2, who has a name. */
static void with_anna(void)
{
    two_lanes();
    cr_assert_eq(rig_join_as(r, 0, 2, "anna").number, 5);
}

static void anna_is(seg_id seg, uint32_t number)
{
    struct append_ans a = rig_join_as(r, 0, 3, "anna");

    cr_assert_eq(a.state, APPEND_EXISTING);
    cr_assert(a.seg == seg && a.number == number, "%llu-%u", (unsigned long long)a.seg,
              a.number);
}

Test(segtab_ticket, its_subject_follows)
{
    with_anna();
    cr_assert_eq(order(TICKET_ADD, 2, 5, 3, 0).to_number, 2);
    anna_is(2, 5);
    cr_assert_eq(order(TICKET_FORWARD, 2, 5, 3, 2).state, TICKET_DONE);
    cr_assert_eq(asked.step, TICKET_NAME);
    cr_assert_str_eq(asked.subject, "anna");
    anna_is(2, 5);
    cr_assert_eq(name_it(), TICKET_DONE);
    cr_assert_eq(name_it(), TICKET_DONE, "asked again");
    named();
    anna_is(3, 2);
    tick();
    cr_assert_eq(asked.step, 0, "and no more is asked");
    cr_assert_eq(rig_pop(r, 0, 3, 1, 3), 3);
    cr_assert_not_null(strstr(rig_poll(r, 0, 3, 2).pass, "/anna/3-2/"));
    cr_assert_eq(leave(3, 2).state, DROP_OK);
    cr_assert_eq(rig_join_as(r, 0, 3, "anna").state, APPEND_OK, "only then another place");
}

Test(segtab_ticket, its_subject_is_said_until_it_is_heard)
{
    with_anna();
    cr_assert_eq(order(TICKET_ADD, 2, 5, 3, 0).to_number, 2);
    cr_assert_eq(order(TICKET_FORWARD, 2, 5, 3, 2).state, TICKET_DONE);
    for (int i = 0; i < 5; i++) {
        tick();
        cr_assert_eq(asked.step, TICKET_NAME);
        anna_is(2, 5);
    }
    cr_assert_eq(leave(3, 2).state, DROP_OK);
    cr_assert_eq(name_it(), TICKET_GONE, "it has left");
    named();
    cr_assert_eq(rig_join_as(r, 0, 3, "anna").state, APPEND_OK);
}

/* A pass does not change: who has one without the subject keeps that, and nobody else gets
 * a place for the subject until he has gone. */
Test(segtab_ticket, a_pass_that_is_out_gets_no_subject)
{
    struct place_ans p;

    with_anna();
    cr_assert_eq(order(TICKET_ADD, 2, 5, 3, 0).to_number, 2);
    cr_assert_eq(order(TICKET_FORWARD, 2, 5, 3, 2).state, TICKET_DONE);
    cr_assert_eq(rig_pop(r, 0, 3, 1, 3), 3);
    p = rig_poll(r, 0, 3, 2);
    cr_assert_eq(p.state, PLACE_ADMITTED);
    cr_assert_eq(name_it(), TICKET_BUSY);
    anna_is(2, 5);
    cr_assert_str_eq(rig_poll(r, 0, 3, 2).pass, p.pass);
    cr_assert_eq(leave(3, 2).state, DROP_OK);
    cr_assert_eq(name_it(), TICKET_GONE);
}

/* There, and back into the segment that still has its subject under the old name. */
Test(segtab_ticket, its_subject_follows_all_the_way)
{
    struct msg_ticket first;

    with_anna();
    cr_assert_eq(order(TICKET_FORWARD, 2, 5, 3, order(TICKET_ADD, 2, 5, 3, 0).to_number).state,
                 TICKET_DONE);
    first = asked;
    cr_assert_eq(order(TICKET_FORWARD, 3, 2, 2, order(TICKET_ADD, 3, 2, 2, 0).to_number).state,
                 TICKET_DONE);
    cr_assert_eq(asked.step, 0, "its subject is not here yet");
    asked = first;
    cr_assert_eq(name_it(), TICKET_DONE);
    tick();
    cr_assert_eq(asked.step, TICKET_NAME);
    if (asked.seg != 3) /* both are asked for; 3 is the second */
        asked = (struct msg_ticket){ .epoch = 1, .step = TICKET_NAME, .seg = 3, .number = 2,
                                     .to = 2, .to_number = 6, .subject = asked_subject,
                                     .subject_hash = first.subject_hash };
    cr_assert_eq(name_it(), TICKET_BUSY, "the first place is forgotten first");
    asked = first;
    named();
    tick();
    cr_assert_eq(asked.seg, 3);
    cr_assert_eq(name_it(), TICKET_DONE);
    named();
    anna_is(2, 6);
    tick();
    cr_assert_eq(asked.step, 0);
}

/* The draw is among those who came: nobody goes before it. */
Test(segtab_ticket, nobody_leaves_a_lane_that_waits_for_its_draw)
{
    two_lanes();
    segtab_seg(r->t[0], 2)->early = true;
    cr_assert_eq(order(TICKET_LOOK, 2, 1, 0, 0).state, TICKET_EARLY);
    cr_assert_eq(order(TICKET_FORWARD, 2, 1, 3, 2).state, TICKET_EARLY);
    cr_assert_eq(order(TICKET_ADD, 3, 1, 2, 0).state, TICKET_DONE, "but into it");
}

/* ---- the directory ---------------------------------------------------------------------- */

/* The old place forgets the subject only when the directory knows it at the new one: it
 * would be free in between. */
Test(segtab_ticket, the_directory_hears_of_it_first)
{
    const char *name = dirrig_others_name();

    two_lanes();
    dirrig_members(r);
    cr_assert_eq(rig_join_as(r, 0, 2, name).state, APPEND_BUSY, "the other node is asked");
    rig_run(r, 100);
    cr_assert_eq(rig_join_as(r, 0, 2, name).number, 5);
    cr_assert_eq(order(TICKET_ADD, 2, 5, 3, 0).to_number, 2);
    cr_assert_eq(order(TICKET_FORWARD, 2, 5, 3, 2).state, TICKET_DONE);
    cr_assert_eq(name_it(), TICKET_BUSY);
    rig_step(r, 0, (struct segtab_in){ .kind = SEGTAB_TICK });
    cr_assert_eq(name_it(), TICKET_BUSY, "it is said, and not heard");
    rig_pump(r, UINT32_MAX);
    cr_assert_eq(name_it(), TICKET_DONE);
}

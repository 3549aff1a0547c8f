/* test_mng_ticket.c: the manager's steps of a ticket that goes to another lane. What nodes
 * answer is said here by hand (the real ones: sim_lanes, sys_lanes). */
#include "tests/lib/mngfake.h"

#define VIP_SEG 2 /* each lane has one segment, opened in the order of the lanes */

static struct world *w;

static void setup(void)
{
    w = world_new(1);
    put_queue(w, "{\"name\":\"q\",\"release_per_s\":0.001,\"lanes\":[{\"name\":\"default\"},"
                 "{\"name\":\"vip\"}]}");
    router_join(w);
    join(w, 3);
    tick(w, 3);
}

static void teardown(void)
{
    world_free(w);
}

TestSuite(mng_ticket, .init = setup, .fini = teardown);

static int order(uint32_t number, uint64_t *id)
{
    struct err e = { 0 };
    int rc = mng_ticket_move(w->m, w->now, "q", 1, number, "vip", &w->out, id, &e);

    if (rc == 0)
        run(w);
    return rc;
}

static void answer(uint64_t id, enum ticket_step step, enum ticket_state state)
{
    struct msg m = { .type = MSG_TICKET };

    m.ticket = (struct msg_ticket){ .epoch = w->node[0].epoch, .order = id,
                                    .step = (uint8_t)step, .state = (uint8_t)state,
                                    .to = VIP_SEG, .to_number = 7, .subject = "" };
    tell(w, &w->node[0], &m);
}

static struct mng_ticket_end ended(uint64_t id)
{
    struct mng_ticket_end e = { .rc = 1 };

    cr_assert(mng_ticket_ended(w->m, id, &e));
    return e;
}

Test(mng_ticket, it_waits_gets_a_place_and_is_led_to_it)
{
    struct mng_ticket_end e;
    uint64_t id;

    cr_assert_eq(order(1, &id), 0);
    cr_assert_eq(order(1, &(uint64_t){ 0 }), SQ_ECONFLICT, "two at once");
    answer(id, TICKET_ADD, TICKET_DONE); /* nobody has asked for that yet */
    answer(id, TICKET_LOOK, TICKET_WAITS);
    answer(id, TICKET_ADD, TICKET_DONE);
    cr_assert_not(mng_ticket_ended(w->m, id, &e));
    answer(id, TICKET_FORWARD, TICKET_DONE);
    e = ended(id);
    cr_expect_eq(e.rc, 0);
    cr_expect_eq(e.seg, VIP_SEG);
    cr_expect_eq(e.number, 7);
    cr_expect_not(e.was);
}

Test(mng_ticket, let_in_meanwhile_its_new_place_is_given_back)
{
    struct mng_ticket_end e;
    uint64_t id;

    cr_assert_eq(order(1, &id), 0);
    answer(id, TICKET_LOOK, TICKET_WAITS);
    answer(id, TICKET_ADD, TICKET_DONE);
    answer(id, TICKET_FORWARD, TICKET_INSIDE);
    cr_assert_not(mng_ticket_ended(w->m, id, &e), "it is told when the place is free");
    answer(id, TICKET_UNDO, TICKET_DONE);
    cr_expect_eq(ended(id).rc, SQ_ECONFLICT);
}

Test(mng_ticket, asked_again_while_the_node_is_busy)
{
    struct mng_ticket_end e;
    uint64_t id;

    cr_assert_eq(order(1, &id), 0);
    answer(id, TICKET_LOOK, TICKET_BUSY);
    answer(id, TICKET_LOOK, TICKET_WAITS);
    cr_assert_not(mng_ticket_ended(w->m, id, &e));
    tick(w, 2);
    answer(id, TICKET_LOOK, TICKET_INSIDE);
    cr_expect_eq(ended(id).rc, SQ_ECONFLICT);
}

/* Who asked may have gone: what nobody asks about is not kept for ever. */
Test(mng_ticket, there_is_room_again_when_nobody_asks_how_they_ended)
{
    uint64_t id, first;
    uint32_t n = 1;

    cr_assert_eq(order(0, &first), 0);
    while (order(n, &id) == 0)
        cr_assert_lt(++n, 1000);
    cr_expect_eq(order(n, &id), SQ_EBUSY);
    tick(w, 50);
    cr_expect_eq(order(n, &id), SQ_EBUSY, "ended, and may be asked about");
    cr_expect_eq(ended(first).rc, SQ_EUNAVAIL);
    tick(w, 60);
    for (uint32_t i = 0; i < n; i++)
        cr_assert_eq(order(i, &id), 0, "%u", i);
}

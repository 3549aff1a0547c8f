/* test_mng_slots.c: mode slots: never more inside than max_active, whatever is lost, and a
 * slot that comes back is given to the next. The manager core and three node cores
 * (mngrig.h), with one fault at every few messages of the story. */
#include "tests/lib/mngrig.h"

#define MAX 20
#define QUEUE(max) QUEUE_GRACE(max, "2s")
#define QUEUE_PASS(ttl) QUEUE_DEF(20, "2s", ttl)
#define QUEUE_GRACE(max, grace) QUEUE_DEF(max, grace, "10m")
#define QUEUE_DEF(max, grace, ttl)  QUEUE_MAX(max, grace, ttl, "0")
#define QUEUE_RENEWED(ttl) QUEUE_MAX(20, "2s", ttl, "1h")
#define QUEUE_MAX(max, grace, ttl, session_max)                                             \
    "{\"name\": \"q\", \"mode\": \"slots\", \"max_active\": " #max                       \
    ", \"lanes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"segment_capacity\": 40, "    \
    "\"claim\": \"3s\", \"grace\": \"" grace "\", "                                      \
    "\"idle\": {\"game\": \"12s\", \"mobile\": \"12s\", \"browser\": \"12s\"}, "         \
    "\"poll_max\": \"4s\", \"pass_ttl\": \"" ttl "\", \"session_max\": \"" session_max "\"}"

/* Who has a pass that is good, and has not gone. */
static unsigned inside(const struct mr *r)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < r->n_tickets; i++)
        n += r->ticket[i].admitted && !r->ticket[i].left;
    return n;
}

static void play(struct mr *r, unsigned halves, unsigned max)
{
    while (halves-- > 0) {
        mr_poll_all(r);
        cr_assert_leq(inside(r), max, MR_SAY ": %u inside", MR_AT(r), inside(r));
        mr_run(r, 500);
    }
    mr_poll_all(r);
    cr_assert_leq(inside(r), max, MR_SAY ": %u inside", MR_AT(r), inside(r));
}

/* The first n of those inside, as far as their nodes can be asked. */
static void leave(struct mr *r, unsigned n)
{
    for (uint32_t i = 0; i < r->n_tickets && n > 0; i++) {
        struct mr_ticket *k = &r->ticket[i];
        struct drop_req req = { .seg = k->seg, .number = k->number };
        struct route_owner o;
        struct drop_ans a;

        if (!k->admitted || k->left || routes_owner(r->routes, k->seg, &o) < 0)
            continue;
        segtab_drop(r->t[mr_node_no(r, o.node)], (struct seg_now) { r->now, r->wall },
                    &req, 1, &a);
        k->left = a.state == DROP_OK;
        n--;
    }
}

/* Two lanes; their order in each other's sight is not looked at. */
static struct mr *story(const char *name, uint32_t people)
{
    struct mr *r = mr_new(name);

    r->crowd = true;
    mr_put_queue(r, QUEUE(20));
    mr_run(r, 500);
    mr_join(r, people / 2);
    r->lane = 1;
    mr_join(r, people / 2);
    play(r, 4, MAX);
    cr_assert_eq(inside(r), MAX, MR_SAY ": %u inside", MR_AT(r), inside(r));
    return r;
}

Test(mng_slots, a_returned_slot_goes_to_the_next)
{
    struct mr *r = story("leaving", 130);

    for (unsigned round = 0; round < 6; round++) {
        leave(r, 7 + round);
        play(r, 3, MAX);
        cr_assert_eq(inside(r), MAX, "round %u: %u inside", round, inside(r));
    }
    mr_free(r);
}

/* Nobody waits, so nothing else of the queue is looked at. */
Test(mng_slots, routers_hear_of_every_ended_session)
{
    struct mr *r = mr_new("figures");
    const struct route_queue *q;

    mr_put_queue(r, QUEUE(20));
    mr_run(r, 500);
    mr_join(r, 15);
    play(r, 8, MAX);
    for (unsigned left = 15; left > 0; left -= 5) {
        q = routes_queue(r->routes, "q", 1);
        cr_assert_eq(q->stats.active, left, "%lu", (unsigned long)q->stats.active);
        leave(r, 5);
        mr_run(r, 3000);
    }
    q = routes_queue(r->routes, "q", 1);
    cr_expect_eq(q->stats.active, 0);
    mr_free(r);
}

Test(mng_slots, max_active_can_be_changed)
{
    struct mr *r = story("changed", 130);

    mr_put_queue(r, QUEUE(35));
    play(r, 3, 35);
    cr_assert_eq(inside(r), 35);
    mr_put_queue(r, QUEUE(10)); /* nobody is thrown out */
    leave(r, 20);
    play(r, 3, 35);
    cr_assert_eq(inside(r), 15);
    leave(r, 8);
    play(r, 3, 15);
    cr_assert_eq(inside(r), 10);
    mr_free(r);
}

/* Who does not collect his pass holds a slot for the claim window, and no longer. */
Test(mng_slots, no_shows_give_their_slots_back)
{
    struct mr *r = mr_new("no-shows");

    mr_put_queue(r, QUEUE(20));
    mr_run(r, 500);
    mr_join(r, 60);
    mr_run(r, 1000); /* the first 20 are released and nobody asks */
    for (uint32_t i = 0; i < 20; i++)
        r->ticket[i].left = true; /* they never come again */
    play(r, 2, MAX);
    cr_assert_eq(inside(r), 0);
    play(r, 8, MAX);
    cr_assert_eq(inside(r), MAX, "%u inside", inside(r));
    mr_free(r);
}

/* Those of [from, to) that are inside. */
static unsigned inside_of(const struct mr *r, uint32_t from, uint32_t to)
{
    unsigned n = 0;

    for (uint32_t i = from; i < to; i++)
        n += r->ticket[i].admitted && !r->ticket[i].left;
    return n;
}

/* Who was called and not there, and comes back inside the grace, is the next to enter. */
Test(mng_slots, a_return_within_grace_enters_first)
{
    struct mr *r = mr_new("grace");

    mr_put_queue(r, QUEUE_GRACE(20, "60s"));
    mr_run(r, 500);
    mr_join(r, 60);
    mr_run(r, 1000);
    for (uint32_t i = 0; i < 20; i++)
        r->ticket[i].left = true; /* away, for a while */
    play(r, 8, MAX);
    cr_assert_eq(inside_of(r, 20, 40), MAX);
    for (uint32_t i = 0; i < 10; i++)
        r->ticket[i].left = false;
    play(r, 1, MAX);
    cr_assert_eq(inside_of(r, 0, 20), 0, "there is no slot for them yet");
    leave(r, 10);
    play(r, 3, MAX);
    cr_assert_eq(inside_of(r, 0, 10), 10);
    cr_assert_eq(inside_of(r, 40, 60), 0);
    mr_free(r);
}

/* Who is inside when the line is sent away stays inside, until the pass is over. */
static void flush(bool restart)
{
    struct mr *r = mr_new("flushed");

    r->crowd = true;
    mr_put_queue(r, QUEUE_PASS("60s"));
    mr_run(r, 500);
    mr_join(r, 70);
    play(r, 4, MAX);
    mr_order(r, MNG_PAUSE);
    leave(r, 5);
    mr_run(r, 500);
    cr_assert_eq(inside(r), MAX - 5);
    mr_order(r, MNG_FLUSH);
    mr_run(r, 500);
    mr_order(r, MNG_RESUME);
    for (uint32_t i = 0; i < r->n_tickets; i++)
        r->ticket[i].left = true; /* their tickets are gone, 15 have a pass */
    mr_join(r, 60);
    if (restart)
        mr_restart_manager(r);
    play(r, 20, 5);
    cr_assert_eq(inside(r), 5);
    leave(r, 5);
    mr_order(r, MNG_PAUSE);
    play(r, 110, 0);
    mr_order(r, MNG_RESUME);
    play(r, 4, MAX);
    cr_assert_eq(inside(r), MAX);
    mr_free(r);
}

static void on_view(void *ctx, const void *view)
{
    *(struct mng_queue_view *)ctx = *(const struct mng_queue_view *)view;
}

/* 0 of 20 slots are taken by people that anybody can see, and yet nobody goes in: it is said
 * why, and for how long. */
Test(mng_slots, after_a_flush_the_slot_holders_are_shown)
{
    struct mr *r = story("said", 60);
    struct mng_queue_view v;

    mng_each_queue(r->m, on_view, &v);
    cr_expect_eq(v.inside, MAX);
    cr_expect_eq(v.inside_flushed, 0);
    cr_expect_eq(v.flushed_until_ms, 0);
    cr_expect_str_eq(v.limited_by, "slots");
    mr_order(r, MNG_FLUSH);
    r->n_tickets = r->first_waiting = 0;
    play(r, 2, 0);
    mr_join(r, 6);
    play(r, 4, 0);
    mng_each_queue(r->m, on_view, &v);
    cr_expect_eq(v.inside, MAX);
    cr_expect_eq(v.inside_flushed, MAX);
    cr_expect_eq(v.flushed_until_ms, r->wall - 3000 + 600000, "%lld",
                 (long long)(v.flushed_until_ms - r->wall));
    cr_expect_str_eq(v.limited_by, "flushed");
    cr_expect_str_eq(v.public_state, "open");
    play(r, 1300, MAX);
    mng_each_queue(r->m, on_view, &v);
    cr_expect_eq(v.inside_flushed, 0);
    cr_expect_str_neq(v.limited_by, "flushed");
    mr_free(r);
}

Test(mng_slots, a_flush_sends_nobody_out_and_gives_no_slot_twice)
{
    flush(false);
    flush(true);
}

/* ---- faults ------------------------------------------------------------------------- */

static void node_cut(struct mr *r, int arg)
{
    mr_link_down(r, &r->link[arg % MR_NODES], arg / MR_NODES);
}

/* And one node is not there for so long that releases go past it. */
static void restart_and_cut(struct mr *r, int no)
{
    mr_restart_manager_in(r, 0);
    mr_link_down(r, &r->link[no], 8000);
}

/* With memory and journal; back at once, empty. */
static void node_lost(struct mr *r, int no)
{
    segtab_free(r->t[no]);
    r->t[no] = NULL;
    for (int k = 0; k < MR_NODES; k++) {
        mr_link_down(r, mr_copy_link(r, no, k), 0);
        mr_link_down(r, mr_copy_link(r, k, no), 0);
    }
    mr_link_down(r, &r->link[no], 300);
    r->t[no] = mr_node_new();
    r->incarnation[no]++;
    mr_router_up(r, no);
}

static bool once(const char *name, void (*fault)(struct mr *, int), int arg, uint32_t at)
{
    struct mr *r = story(name, 130);
    bool hit;

    r->armed = 1;
    r->at = at;
    r->fault = fault;
    r->arg = arg;
    for (unsigned i = 0; i < 3; i++) {
        leave(r, 9);
        play(r, 3, MAX);
    }
    hit = r->armed > at;
    r->armed = 0;
    /* A lost node cannot say who left: their slots come back with their passes' end. */
    play(r, fault == node_lost ? 60 : 30, MAX);
    if (fault != node_lost)
        cr_assert_eq(inside(r), MAX, MR_SAY ": %u inside", MR_AT(r), inside(r));
    mr_free(r);
    return hit;
}

static void everywhere(const char *name, void (*fault)(struct mr *, int), int arg)
{
    uint32_t at = 1;

    while (once(name, fault, arg, at))
        at += 2;
    cr_assert_gt(at, 20, "%s: no messages", name);
}

Test(mng_slots, never_more_when_the_manager_restarts)
{
    everywhere("manager restarts:", mr_restart_manager_in, 0);
    everywhere("manager restarts, nodes come later:", mr_restart_manager_in, 900);
    for (int no = 0; no < MR_NODES; no++)
        everywhere("manager restarts, a node stays away:", restart_and_cut, no);
}

Test(mng_slots, never_more_when_a_node_is_cut_off)
{
    for (int no = 0; no < MR_NODES; no++) {
        everywhere("cut off for a moment:", node_cut, no);
        everywhere("cut off for long:", node_cut, no + MR_NODES * 8000);
    }
}

Test(mng_slots, never_more_when_a_node_loses_everything)
{
    for (int no = 0; no < MR_NODES; no++)
        everywhere("lost:", node_lost, no);
}

/* Sessions that are renewed may last an hour; but not of a node that is gone. */
static void lose_all(bool restart)
{
    struct mr *r = mr_new("all are lost");

    r->crowd = true;
    mr_put_queue(r, QUEUE_RENEWED("10s"));
    mr_run(r, 500);
    mr_join(r, 70);
    play(r, 4, MAX);
    cr_assert_eq(inside(r), MAX);
    for (uint32_t i = 0; i < r->n_tickets; i++) /* inside, and renewed until they are lost */
        r->ticket[i].left = r->ticket[i].admitted;
    for (int no = 0; no < MR_NODES; no++)
        node_lost(r, no);
    mr_run(r, 1000);
    if (restart)
        mr_restart_manager(r);
    play(r, 36, 0);
    play(r, 14, MAX); /* less than the life of a pass */
    cr_expect_eq(inside(r), MAX, "%u inside", inside(r));
    mr_free(r);
}

Test(mng_slots, slots_of_a_lost_node_are_free_after_two_idle_times)
{
    lose_all(false);
    lose_all(true);
}

/* It was only away: nobody is counted twice. */
Test(mng_slots, a_returning_node_keeps_its_slots)
{
    struct mr *r = mr_new("given up, and back");
    struct mng_queue_view v;

    r->crowd = true;
    mr_put_queue(r, QUEUE_RENEWED("10m"));
    mr_run(r, 500);
    mr_join(r, 70);
    play(r, 4, MAX);
    for (int i = 0; i < MR_NODES; i++) {
        r->refuses[i] = true;
        mr_link_down(r, &r->link[i], 40000);
    }
    play(r, 70, MAX);
    mng_each_queue(r->m, on_view, &v);
    cr_expect_geq(v.inside, MAX);
    for (int i = 0; i < MR_NODES; i++)
        r->refuses[i] = false;
    play(r, 30, MAX);
    mng_each_queue(r->m, on_view, &v);
    cr_expect_eq(v.inside, inside(r), "%lu, %u", (unsigned long)v.inside, inside(r));
    leave(r, 5);
    play(r, 4, MAX);
    cr_expect_eq(inside(r), MAX);
    mr_free(r);
}

/* And no other node takes its segments for now: who was inside there still is. */
Test(mng_slots, never_more_while_a_lost_segment_has_no_node)
{
    for (int no = 0; no < MR_NODES; no++) {
        struct mr *r = story("lost, and nobody takes it:", 130);

        node_lost(r, no);
        mr_link_down(r, &r->link[no], 60000);
        for (int i = 0; i < MR_NODES; i++)
            r->refuses[i] = true;
        for (unsigned i = 0; i < 12; i++) {
            play(r, 8, MAX);
            leave(r, 1);
        }
        mr_free(r);
    }
}

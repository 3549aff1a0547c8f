/* test_mng_room.c: a queue that found no room for a tail gets one as soon as there is some,
 * whoever makes it: no change of its definition, and no visitor, is needed for that. The
 * manager core and three node cores (mngrig.h). */
#include "tests/lib/mngrig.h"

#define QUEUE(more)                                                                      \
    "{\"name\": \"q\", \"release_per_s\": 1, \"segment_capacity\": 20" more "}"

static void drain_all(struct mr *r, bool on)
{
    struct err e = { 0 };

    for (int i = 0; i < MR_NODES; i++) {
        cr_assert_eq(mng_drain(r->m, r->now, mr_name[i], on, &r->out, &e), 0, "%s", e.text);
        mr_flush_mng(r);
    }
}

/* Whoever comes now has a segment to join. */
static bool has_tail(const struct mr *r)
{
    const struct route_queue *q = routes_queue(r->routes, "q", 1);
    struct route_tail tail;

    return q != NULL && routes_tail(r->routes, q->map.id, 0, &tail) == 0;
}

static bool gets_tail(struct mr *r)
{
    for (int i = 0; i < 30 && !has_tail(r); i++)
        mr_run(r, 100);
    return has_tail(r);
}

Test(mng_room, a_queue_made_while_all_nodes_drain_opens_a_tail_later)
{
    struct mr *r = mr_new("made");

    drain_all(r, true);
    mr_put_queue(r, QUEUE(""));
    mr_run(r, 5000);
    cr_expect_not(has_tail(r));
    drain_all(r, false);
    cr_expect(gets_tail(r));
    mr_free(r);
}

Test(mng_room, a_queue_flushed_while_all_nodes_drain_opens_a_tail_later)
{
    struct mr *r = mr_new("flushed");

    r->crowd = r->may_lose = true;
    mr_put_queue(r, QUEUE(""));
    mr_run(r, 500);
    mr_join(r, 30);
    drain_all(r, true);
    mr_run(r, 1000);
    mr_order(r, MNG_FLUSH);
    mr_run(r, 5000);
    cr_expect_not(has_tail(r));
    drain_all(r, false);
    cr_expect(gets_tail(r));
    mr_free(r);
}

/* Another queue's segments took all there is; nothing tells of each that goes. */
Test(mng_room, a_queue_opens_a_tail_when_segments_become_free)
{
    struct mr *r = mr_new("taken");
    struct mng_deleted_view v;
    struct err e = { 0 };

    for (int i = 0; i < MR_NODES * 64; i++) {
        char json[80];

        snprintf(json, sizeof(json), "{\"name\": \"x%d\"}", i);
        mr_put_queue(r, json);
    }
    mr_run(r, 1000);
    mr_put_queue(r, QUEUE(""));
    mr_run(r, 20000);
    cr_expect_not(has_tail(r));
    cr_assert_eq(mng_queue_delete(r->m, r->now, "x7", true, &v, &r->out, &e), 0);
    mr_flush_mng(r);
    cr_expect(gets_tail(r));
    mr_free(r);
}

/* While it was closed nobody made a tail for it. */
Test(mng_room, a_queue_made_closed_opens_a_tail_when_it_is_opened)
{
    struct mr *r = mr_new("closed");

    mr_put_queue(r, QUEUE(", \"state\": \"closed\""));
    mr_run(r, 2000);
    cr_expect_not(has_tail(r));
    mr_order(r, MNG_OPEN);
    cr_expect(gets_tail(r));
    mr_order(r, MNG_CLOSE);
    mr_order(r, MNG_FLUSH);
    mr_run(r, 2000);
    mr_order(r, MNG_OPEN);
    cr_expect(gets_tail(r));
    mr_free(r);
}

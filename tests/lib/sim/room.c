/* room.c: a queue whose lane has no tail gets one when some node has had room for a
 * while, whatever took the tail and whoever waits: else nobody can ever join it again. */
#include "tests/lib/sim/room.h"

#include "tests/lib/sim/engine.h"

#include <string.h>

#define LONGEST_US 13000000 /* a node that refused is not asked again for 10 s */

struct room_look {
    const struct mng *core;
    struct smng *mng;
    bool room, open;
    usec_t now;
    const char *dead; /* a queue that has waited for too long */
};

static void on_node(void *ctx, const void *view)
{
    const struct mng_node_view *n = view;
    struct room_look *l = ctx;

    l->room |= n->up && !n->draining && n->segments < n->max_segments &&
               n->tickets * 100 < n->max_tickets * 97;
}

static void on_seg(void *ctx, const void *view)
{
    const struct mng_seg_view *g = view;

    ((struct room_look *)ctx)->open |= g->state == SEG_OPEN;
}

static void on_lane(void *ctx, const void *view)
{
    const struct mng_lane_view *v = view;
    struct room_look *l = ctx, seg = { 0 };
    usec_t *since = &l->mng->no_tail[(v->queue % SIM_QUEUES_MAX) * LANES_MAX + v->lane_no];

    mng_each_seg(l->core, v->queue, v->lane_no, on_seg, &seg);
    if (seg.open || !l->room || !l->open) {
        *since = 0;
        return;
    }
    if (*since == 0)
        *since = l->now;
    if (l->now - *since > LONGEST_US)
        l->dead = v->queue_name;
}

static void on_queue(void *ctx, const void *view)
{
    const struct mng_queue_view *q = view;
    struct room_look *l = ctx;

    l->open = strcmp(q->public_state, "closed") != 0 && strcmp(q->public_state, "reject") != 0;
    mng_each_lane(l->core, q->id, on_lane, l);
}

void check_room(struct sim *s, struct proc *mng)
{
    struct room_look l = { .core = mng->mng->core, .mng = mng->mng, .now = s->now };

    mng_each_node(l.core, on_node, &l);
    mng_each_queue(l.core, on_queue, &l);
    if (l.dead != NULL)
        sim_fail(s, "I1: queue %s has no tail, and there is room", l.dead);
}

/* draws.c: closes and draws the pre-queue. */
#include "queuemng/chain/draws.h"

#include <assert.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/chain/reconcile.h"
#include "queuemng/state/changed.h"
#include "queuemng/state/node.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "prequeue"
#define SKEW_MS 5000 /* a node's clock that is further ahead than this is wrong */

/* Between the opening by a node's clock and by ours people cannot join, but that is short. */
struct mnode *draws_place(struct mng *m, const struct mlane *l, const struct mseg *near,
                         bool *by_order)
{
    bool early = lane_is_early(l);
    int64_t opens_ms = early ? l->q->sched.opens_ms : 0;
    struct mnode *n = place_pick(m, near, NULL, early, opens_ms);

    *by_order = n == NULL && opens_ms - m->sched_ms > SKEW_MS;
    return *by_order ? place_pick(m, near, NULL, early, 0) : n;
}

/* Everybody who is in it is known, and nobody comes any more. */
static bool may_draw(const struct mseg *s)
{
    return s->pre.early && s->pre.n == 0 && seg_is_reported(s) && !seg_is_recovering(s) &&
           s->st.state == SEG_SEALED && s->st.waiting != 0 && !s->st.drawn;
}

static void draw(struct mng *m, struct mseg *s)
{
    struct mqueue *q = s->lane->q;

    assert(s->pre.early && s->pre.n == 0);
    /* a rebuilt one may have given any of its numbers */
    s->pre.n = s->kind == OPEN_REBUILD ? s->capacity : s->st.joined;
    memcpy(s->pre.seed, q->sched.seed, sizeof(s->pre.seed));
    schedule_add_draw(&q->sched, s->id, s->pre.n);
    log_info("event=draw_made seg=%llu queue=%s lane=%u count=%u waiting=%u",
             (unsigned long long)s->id, q->def.name, s->lane->no, s->pre.n, s->st.waiting);
    q->put_sched = true;
    queue_chain_changed(m, q);
    queue_mapped(m, q);
    seg_wish(m, s); /* sent after the store has it */
}

void draws_plan(struct mng *m, struct mlane *l)
{
    const struct schedule *sched = &l->q->sched;

    each_seg(l, s)
        if (prequeue_time_is_new(s) && !list_linked(&s->in_todo))
            seg_wish(m, s);
    if (!schedule_is_opened(sched) || sched->draw != DRAW_TOLD)
        return;
    each_seg(l, s)
        if (may_draw(s))
            draw(m, s);
}

/* True: the first open segment is of the pre-queue, so people can join no other any more. */
static bool lane_is_ready(const struct mlane *l)
{
    bool any = false;

    each_seg(l, s) {
        if (s->state != SEG_OPEN)
            continue;
        if (!s->pre.early)
            return false;
        any |= seg_is_announced(s);
    }
    return any;
}

void draws_ready(struct mng *m, struct mqueue *q)
{
    if (q->early_ready || q->sched.phase != SCHED_PREQUEUE)
        return;
    for (unsigned i = 0; i < q->n_lanes; i++)
        if (!lane_is_ready(&q->lane[i]))
            return;
    q->early_ready = true;
    log_info("event=prequeue queue=%s", q->def.name);
    queue_mapped(m, q);
}

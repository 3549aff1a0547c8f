/* lots.c: segments of early ones, and the draw. Who comes before a queue opens joins such
 * a segment and is shown no position; at the opening it is sealed, and its people draw
 * their places (common/ticket/draw.h).
 *
 *   PREQUEUE: the lane's tail is a segment of early ones --opening--> sealed, as soon as a
 *   tail behind it is there --> its numbers are counted and stored with the seed (from here
 *   on the order is fixed, whatever fails) --> its node is told (SEG_SEAL) --> draws, says so
 *
 * It also seals itself when its node's clock comes to the opening, whoever is away then: who
 * is told later that he is in has not come later. Nobody else can join in the meantime.
 *
 * Until then nobody is released from it, nor from behind it; it is in no move. Afterwards it
 * absorbs others like any segment, but stays where it is: its table of places is its node's.
 * If one is lost before the draw, its people bring it back first (rebuild.c), and all numbers
 * that it may have given are drawn; after it, the new node is told the draw at once. */
#include "queuemng/core/mng_int.h"

#include <stdio.h>
#include <string.h>

#include "common/base/log.h"

#define LOG_MODULE "lots"

#define SKEW_MS 5000 /* a node's clock that is further ahead than this is wrong */

#define list_seg(it) list_entry(it, struct mseg, in_lane)

bool lane_is_early(const struct mlane *l)
{
    return l->q->sched.phase == SCHED_PREQUEUE;
}

bool lots_fit(const struct mseg *s)
{
    return s->lots.early == lane_is_early(s->lane);
}

bool lots_pending(const struct mseg *s)
{
    return s->lots.early && !s->st.drawn;
}

uint64_t lane_capacity(const struct mlane *l)
{
    const struct queue_def *d = &l->q->def;

    return (uint64_t)(lane_is_early(l) ? d->when.prequeue_capacity : d->segment_capacity);
}

/* ---- closing by the clock ---------------------------------------------------------- */

int64_t lots_closes_ms(const struct mseg *s)
{
    bool joined = s->lots.early && s->kind == OPEN_TAIL;

    return joined && !s->lots.by_order ? s->lane->q->sched.opens_ms : 0;
}

bool lots_clock_order(const struct mseg *s)
{
    int64_t at_ms = lots_closes_ms(s);

    return at_ms != 0 && s->node->closes && s->confirmed && s->known && !s->want_seal &&
           s->st.state == SEG_OPEN && s->st.closes_ms != at_ms;
}

void lots_sealed(struct mng *m, struct mseg *s)
{
    const struct schedule *sched = &s->lane->q->sched;

    if (!s->st.closed || !lane_is_early(s->lane))
        return;
    s->node->past_ms = sched->opens_ms;
    log_info("event=closed_early seg=%llu node=%s queue=%s by_ms=%lld",
             (unsigned long long)s->id, s->node->name, s->lane->q->def.name,
             (long long)(sched->opens_ms - m->sched_ms));
}

/* Between the opening by a node's clock and by ours who comes has to wait, but not for long. */
struct mnode *lots_place(struct mng *m, const struct mlane *l, const struct mseg *near,
                         bool *by_order)
{
    bool early = lane_is_early(l);
    int64_t opens_ms = early ? l->q->sched.opens_ms : 0;
    struct mnode *n = place_pick(m, near, NULL, early, opens_ms);

    *by_order = n == NULL && opens_ms - m->sched_ms > SKEW_MS;
    return *by_order ? place_pick(m, near, NULL, early, 0) : n;
}

/* ---- the draw ------------------------------------------------------------------------ */

/* Everybody who is in it is known, and nobody comes any more. */
static bool may_draw(const struct mseg *s)
{
    return s->lots.early && s->lots.n == 0 && s->confirmed && s->known && !seg_is_away(s) &&
           s->st.state == SEG_SEALED && s->st.waiting != 0 && !s->st.drawn;
}

static void draw(struct mng *m, struct mseg *s)
{
    struct mqueue *q = s->lane->q;

    /* a rebuilt one may have given any of its numbers */
    s->lots.n = s->kind == OPEN_REBUILD ? s->capacity : s->st.joined;
    memcpy(s->lots.seed, q->sched.seed, sizeof(s->lots.seed));
    schedule_drawn(&q->sched, s->id, s->lots.n);
    log_info("event=draw seg=%llu queue=%s lane=%u count=%u waiting=%u",
             (unsigned long long)s->id, q->def.name, s->lane->no, s->lots.n, s->st.waiting);
    q->put_sched = true;
    queue_keep(m, q, false);
    queue_mapped(m, q);
    seg_wish(m, s); /* sent after the store has it */
}

void lots_plan(struct mng *m, struct mlane *l)
{
    const struct schedule *sched = &l->q->sched;

    list_each(&l->segs, it)
        if (lots_clock_order(list_seg(it)) && !list_linked(&list_seg(it)->in_todo))
            seg_wish(m, list_seg(it));
    if (!schedule_is_opened(sched) || sched->draw != DRAW_TOLD)
        return;
    list_each(&l->segs, it)
        if (may_draw(list_seg(it)))
            draw(m, list_seg(it));
}

/* The first that is joined is one for early ones, and no other can be any more. */
static bool lane_is_ready(const struct mlane *l)
{
    bool any = false;

    list_each(&l->segs, it) {
        const struct mseg *s = list_seg(it);

        if (s->state != SEG_OPEN)
            continue;
        if (!s->lots.early)
            return false;
        any |= s->confirmed;
    }
    return any;
}

void lots_ready(struct mng *m, struct mqueue *q)
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

bool lots_order(const struct mseg *s)
{
    return s->lots.n != 0 && lots_pending(s) && !seg_is_away(s) && s->st.state == SEG_SEALED;
}

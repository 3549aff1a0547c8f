/* chain.c: plans a lane. */
#include "queuemng/chain/chain.h"

#include <assert.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/chain/lifecycle.h"
#include "queuemng/chain/move.h"
#include "queuemng/chain/reconcile.h"
#include "queuemng/state/node.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

#define MNG_OPEN_MAX      64    /* segments of one lane open ahead of the joins */
#define MNG_SPARE_MS      60000 /* unused room ahead of the joins, left over for so long, goes */
#define LOG_MODULE "chain"

/* Some of them will have left meanwhile without a word: not more than this. */
static uint64_t seg_missing(const struct mseg *s)
{
    uint64_t back = seg_is_lost(s) ? 0 : s->st.waiting + s->st.returning;

    return seg_is_recovering(s) && s->was_waiting > back ? s->was_waiting - back : 0;
}

static bool takes_joins(const struct mseg *s)
{
    return s->state == SEG_OPEN && !s->want_seal && !node_is_closed(s->node) && prequeue_fits(s);
}

static void lane_sum(struct mlane *l)
{
    const uint64_t active = l->active;

    l->waiting = l->returning = l->ready = l->active = l->room = 0;
    l->joined = l->left = l->expired = l->no_shows = 0;
    l->has_lost = l->has_missing_source = false;
    l->missing = l->n_away = l->n_unused = 0;
    each_seg(l, s) {
        l->joined += s->st.joined - s->st.unused;
        l->left += s->st.left;
        l->expired += s->st.expired;
        l->no_shows += s->st.no_shows;
        l->has_lost |= seg_is_lost(s);
        l->has_missing_source |= s->missing_source;
        l->n_away += seg_is_recovering(s);
        l->missing += seg_missing(s);
        l->waiting += s->st.waiting;
        l->returning += s->st.returning;
        l->ready += s->st.ready;
        l->active += s->st.active;
        if (!takes_joins(s))
            continue;
        l->n_unused += l->room > 0 && s->st.joined == 0;
        l->room += s->capacity - s->st.joined;
    }
    if (l->active != active) /* also when nobody waits, and nothing else looks at it */
        l->q->stats_dirty = true;
}

/* A node that we do not reach, or that cannot write its journal, shows positions by the last `ahead`
 * that it heard, or wrote. Segments behind it are not told less meanwhile, or their people would seem
 * to be before those. (A silent node may be cut off, or stopped, without our having seen it.) */
static uint64_t shown_ahead(const struct mng *m, const struct mseg *s)
{
    bool follows = seg_reachable(s) && node_is_reached(m, s->node) && !s->node->holds;

    if (follows || s->st.waiting == 0 || s->st.ahead == AHEAD_UNKNOWN)
        return s->ahead;
    return u64_max(s->ahead, s->st.ahead);
}

/* True: nobody is shown a position in it; in the target of a move somebody will be, at once. */
static bool nobody_is_shown(const struct mseg *s)
{
    return s->st.state == SEG_SEALED && s->st.waiting == 0 && s->move == NULL;
}

/* PROTOCOL.md section 5: bounds only fall, so what is sent only falls. */
static void lane_aheads(struct mng *m, struct mlane *l)
{
    uint64_t run = 0;
    bool known = true, sure = true, bounded;

    each_seg(l, s) {
        assert(s->lane == l);
        s->ahead = run;
        /* A rebuilt segment has forgotten what it was told: no bound must be too large,
         * as one is by what a node shows that is not reached. */
        bounded =
            known && run != AHEAD_UNKNOWN && (sure || s->kind != OPEN_REBUILD);
        if (bounded && seg_is_announced(s) && s->ahead != s->ahead_sent && seg_reachable(s) &&
            !nobody_is_shown(s)) {
            batch_ahead(m, s->node, s->id, s->ahead);
            s->ahead_sent = s->ahead;
        }
        /* Segments behind one that is being rebuilt keep their bounds: nobody comes back beyond
         * the people counted then. */
        run = run == AHEAD_UNKNOWN || seg_is_recovering(s) ? AHEAD_UNKNOWN
                                                     : shown_ahead(m, s) + seg_bound(s);
        if (s->phase == SEG_STORED)
            known = false;
        if (seg_is_uncertain(s) || shown_ahead(m, s) > s->ahead)
            sure = false;
    }
}

static struct mseg *next_open(const struct mlane *l, const struct mseg *s)
{
    for (struct list_node *it = list_next(&l->segs, &s->in_lane); it != NULL;
         it = list_next(&l->segs, it)) {
        struct mseg *x = list_seg(it);

        if (x->kind == OPEN_TAIL && !seg_is_announced(x))
            return NULL; /* the turn of x comes first */
        if (x->state == SEG_OPEN)
            return x;
    }
    return NULL;
}

/* For routers and later managers it is sealed from now on; its node seals it when it can. */
static void seal_by_map(struct mng *m, struct mseg *s, const char *why)
{
    log_warn("event=tail_unreachable seg=%llu node=%s why=%s", (unsigned long long)s->id,
             s->node->name, why);
    s->want_seal = true;
    s->state = SEG_SEALED; /* st.state follows when the node says so */
    seg_used(s);
    seg_todo(m, s);
    queue_mapped(m, s->lane->q);
    queue_chain_changed(m, s->lane->q); /* a later manager must not open it again (I3) */
}

/* A tail that nobody reaches, or whose node is being emptied, has no room on its disk or cannot write
 * its journal, or that is a pre-queue when the queue has opened (or the other way round), is not joined
 * any more. */
static void lane_seal(struct mng *m, struct mlane *l)
{
    each_seg(l, s) {
        msec_t down = s->node->peer != 0 ? 0 : m->now_ms - s->node->down_ms;

        if (s->state != SEG_OPEN || seg_is_lost(s))
            continue;
        if (down >= MNG_TAIL_AFTER_MS) {
            if (seg_is_announced(s))
                seal_by_map(m, s, "down");
            else
                seg_lost(m, s); /* unknown to all: as good as not there */
        } else if (s->st.shut) {
            seal_by_map(m, s, "holds");
        } else if ((node_is_closed(s->node) || !prequeue_fits(s)) && seg_is_announced(s) &&
                   !s->want_seal && next_open(l, s) != NULL) {
            s->want_seal = true;
            s->want_next = next_open(l, s)->id;
            seg_wish(m, s);
        }
    }
}

static void lane_nexts(struct mng *m, struct mlane *l)
{
    each_seg(l, s) {
        struct mseg *next;

        if (!seg_is_reported(s) || seg_is_lost(s) || s->st.next != 0 ||
            s->want_next != 0)
            continue;
        next = next_open(l, s);
        if (next == NULL)
            continue;
        s->want_next = next->id;
        seg_wish(m, s);
    }
}

static bool open_one(struct mng *m, struct mlane *l)
{
    struct mseg *last = list_seg(list_last(&l->segs));
    bool by_order;
    struct mnode *n = draws_place(m, l, last, &by_order);
    struct mseg *s;

    if (n == NULL)
        return false;
    s = seg_new(m, l, n, seg_id_take(m), (uint32_t)lane_capacity(l), OPEN_TAIL, NULL);
    if (s == NULL)
        return false;
    s->pre.early = lane_is_early(l);
    s->pre.by_order = by_order;
    seg_set_base(s);
    if (last != NULL)
        s->ahead = last->ahead == AHEAD_UNKNOWN || seg_is_recovering(last)
                       ? AHEAD_UNKNOWN
                       : last->ahead + seg_bound(last);
    l->room += s->capacity;
    queue_chain_changed(m, l->q);
    m->count.opened++;
    log_info("event=segment_opened seg=%llu queue=%s lane=%u node=%s",
             (unsigned long long)s->id, l->q->def.name, l->no, n->name);
    seg_wish(m, s);
    return true;
}

/* The last one is sealed only when there is another behind it: an emptied node asks for that,
 * however much room there is in front (and also while the queue is closed). A full disk does not: its
 * segments count as no room, and where nobody misses that, disks that are full in turn cost nothing. */
static bool end_is_drained(const struct mlane *l)
{
    const struct mseg *last = list_seg(list_last(&l->segs));

    return last != NULL && last->state == SEG_OPEN && !seg_is_lost(last) && !last->want_seal &&
           seg_is_announced(last) && last->node->draining;
}

/* Room for what will join until the next look, and never less than the threshold. */
static uint64_t room_wanted(const struct mlane *l)
{
    uint64_t least = (uint64_t)((1.0 - l->q->def.open_next_at) * (double)lane_capacity(l));

    return u64_max(u64_max(least, 1), (uint64_t)l->join_per_s);
}

/* May go without its room being missed. The one at the end stays: others lead to it. */
static struct mseg *spare_seg(struct mlane *l)
{
    bool first = true;

    each_seg(l, s) {
        if (!takes_joins(s))
            continue;
        if (!first && s->st.joined == 0 && seg_is_reported(s) && !s->pre.early &&
            next_open(l, s) != NULL && l->room - s->capacity >= room_wanted(l))
            return s;
        first = false;
    }
    return NULL;
}

/* Seals what a rush has opened ahead of itself, and then did not join: sealed empty, it is removed
 * like any that is over. Not at once, a crowd comes in waves. */
static void lane_spare(struct mng *m, struct mlane *l)
{
    struct mseg *s = l->n_unused > 1 && m->started ? spare_seg(l) : NULL;

    if (s == NULL)
        l->spare_ms = 0;
    else if (l->spare_ms == 0)
        l->spare_ms = m->now_ms;
    else if (m->now_ms - l->spare_ms >= MNG_SPARE_MS) {
        log_info("event=segment_unused seg=%llu queue=%s", (unsigned long long)s->id,
                 l->q->def.name);
        s->want_seal = true;
        s->want_next = next_open(l, s)->id;
        seg_wish(m, s);
    }
}

static void lane_open(struct mng *m, struct mlane *l)
{
    uint64_t want = room_wanted(l);
    unsigned open = 0;

    if (!m->started)
        return;
    each_seg(l, s)
        open += s->state == SEG_OPEN;
    if (end_is_drained(l) && open < MNG_OPEN_MAX && open_one(m, l))
        open++;
    if (!queue_wants_room(l->q))
        return;
    while (l->room < want && open < MNG_OPEN_MAX && open_one(m, l))
        open++;
}

static bool lane_is_short(const struct mlane *l)
{
    bool no_tail = l->no < l->q->n_lanes && l->room == 0 && queue_wants_room(l->q);

    return no_tail || l->has_lost || l->has_missing_source || end_is_drained(l);
}

bool lane_is_waiting(const struct mlane *l)
{
    return lane_is_short(l) || l->n_unused > 1;
}

static bool seg_over(const struct mseg *s)
{
    return seg_is_reported(s) && s->st.state == SEG_SEALED && s->st.waiting == 0 &&
           s->st.returning == 0 && s->st.records == 0 && s->move == NULL &&
           s->st.move == 0 && s->state == SEG_SEALED && !s->missing_source && !seg_is_recovering(s);
}

/* The source has not come back in all that time: as for a node, its people bring it back. */
static void lane_give_up_source(struct mng *m, struct mseg *x)
{
    if (m->now_ms - m->started_ms < m->opts.lost_after_ms)
        return;
    log_error("event=source_lost into=%llu queue=%s", (unsigned long long)x->id,
              x->lane->q->def.name);
    seg_unmerge(m, x, true);
}

static void lane_remove(struct mng *m, struct mlane *l)
{
    each_seg(l, s) {
        if (s->missing_source && s->move == NULL && !seg_is_lost(s))
            lane_give_up_source(m, s);
        if (seg_over(s) && !s->want_remove) {
            s->want_remove = true;
            queue_chain_changed(m, l->q); /* over, not lost, for a later manager, too */
            seg_wish(m, s);
        } else if (s->want_remove && !seg_over(s)) {
            s->want_remove = false; /* somebody came back inside the grace */
            queue_chain_changed(m, l->q);
        }
    }
}

static void queue_limit(struct mng *m, struct mqueue *q)
{
    uint64_t waiting = 0;
    bool full;

    for (unsigned i = 0; i < q->n_lanes; i++)
        waiting += q->lane[i].waiting;
    full = q->def.max_waiting > 0 && waiting >= (uint64_t)q->def.max_waiting;
    if (full == q->full)
        return;
    q->full = full;
    if (full)
        log_info("event=queue_full queue=%s waiting=%llu", q->def.name,
                 (unsigned long long)waiting);
    else
        log_info("event=queue_not_full queue=%s waiting=%llu", q->def.name,
                 (unsigned long long)waiting);
    queue_mapped(m, q);
}

void lane_plan(struct mng *m, struct mlane *l)
{
    assert(l == &l->q->lane[l->no]);
    lane_sum(l);
    lane_seal(m, l);
    lane_rebuild(m, l);
    lane_sum(l); /* sealed segments have no room */
    if (l->no < l->q->n_lanes)
        lane_open(m, l);
    lane_spare(m, l);
    lane_nexts(m, l);
    draws_plan(m, l);
    lane_remove(m, l);
    moves_plan(m, l);
    lane_sum(l);
    lane_aheads(m, l);
    queue_limit(m, l->q);
    draws_ready(m, l->q);
}

/* Lanes that had nowhere to go may have now. */
void lanes_look(struct mng *m)
{
    each_queue(m, q) {
        for (unsigned i = 0; i < q->n_lanes; i++)
            if (lane_is_short(&q->lane[i]))
                lane_touch(m, &q->lane[i]);
    }
}

/* Closes and draws the pre-queue. */

#define SKEW_MS 5000 /* a node's clock that is further ahead than this is wrong */

/* Between the opening by a node's clock and by ours people cannot join, but that is short. */
struct mnode *draws_place(struct mng *m, const struct mlane *l, const struct mseg *near,
                         bool *by_order)
{
    int64_t opens_ms = lane_is_early(l) ? l->q->sched.opens_ms : 0;
    struct mnode *n = place_pick(m, near, NULL, opens_ms);

    *by_order = n == NULL && opens_ms - m->sched_ms > SKEW_MS;
    return *by_order ? place_pick(m, near, NULL, 0) : n;
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

/* lifecycle.c: a segment comes into its chain, is reported, is lost, goes. */
#include "queuemng/chain/lifecycle.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/chain/move_state.h"
#include "queuemng/chain/reconcile.h"
#include "queuemng/state/marks.h"
#include "queuemng/state/node.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "chain"

/* before NULL = at the end of the chain. Only the end may be joined (I3). */
struct mseg *seg_new(struct mng *m, struct mlane *l, struct mnode *n, seg_id id,
                     uint32_t capacity, uint8_t kind, struct mseg *before)
{
    struct mseg *s = calloc(1, sizeof(*s));

    assert(seg_find(m, id) == NULL && (before == NULL || before->lane == l));
    if (s == NULL || map_set_ptr(&m->seg_by_id, id, s) < 0) {
        free(s);
        return NULL;
    }
    s->id = id;
    s->lane = l;
    s->node = n;
    s->capacity = s->st.capacity = capacity;
    s->kind = kind;
    s->state = s->st.state = kind == OPEN_TAIL ? SEG_OPEN : SEG_SEALED;
    s->health = kind == OPEN_REBUILD ? SEG_REBUILDING : SEG_WHOLE;
    s->st.seg = id;
    s->ahead_sent = UINT64_MAX;
    if (before != NULL)
        list_insert_after(&l->segs, before->in_lane.prev, &s->in_lane);
    else
        list_push_back(&l->segs, &s->in_lane);
    list_push_back(&n->segs, &s->on_node);
    seg_used(s);
    return s;
}

void seg_unlink(struct mng *m, struct mseg *s)
{
    struct mlane *l = s->lane;

    pop_seg_gone(m, s);
    assert(s->move == NULL || s->move->from == s || s->move->to == s);
    if (s->move != NULL) { /* a move without one of its ends is over */
        if (s->move->from == s)
            s->move->from = NULL;
        else
            s->move->to = NULL;
    }
    l->gone_joined += s->st.joined - s->st.unused;
    l->gone_left += s->st.left;
    l->gone_expired += s->st.expired;
    l->gone_no_shows += s->st.no_shows;
    if (list_linked(&s->in_todo))
        list_remove(&m->todo, &s->in_todo);
    assert(!s->used || s->node->used > 0);
    if (s->used)
        s->node->used--;
    list_remove(&s->node->segs, &s->on_node);
    list_remove(&l->segs, &s->in_lane);
    map_del(&m->seg_by_id, s->id);
    free(s->absorbed);
    /* aliases to it have nowhere to go */
    for (uint32_t i = l->n_alias; i-- > 0;)
        if (l->alias[i].to == s->id)
            alias_drop(l, l->alias[i].from);
    free(s);
}

/* People who have not come back by now have no place any more: from here on the segment is like
 * any other. */
static void seg_whole(struct mng *m, struct mseg *s)
{
    if (seg_is_rebuilding(s) && !s->st.rebuild) {
        log_info("event=segment_rebuilt seg=%llu queue=%s waiting=%u",
                 (unsigned long long)s->id, s->lane->q->def.name, s->st.waiting);
        m->count.rebuilt++;
    }
    seg_set_health(s, s->st.rebuild ? SEG_REBUILDING : SEG_WHOLE);
}

/* Both only grow; smaller than before: it counts anew. Of a new manager's first report
 * nothing is new. */
static uint64_t growth(const struct mseg *s, uint64_t before, uint64_t now)
{
    return seg_is_reported(s) && now > before ? now - before : 0;
}

static void take_no_shows(struct mseg *s, const struct seg_status *st)
{
    struct no_show *c = &s->lane->q->no_show;
    uint64_t missed;

    c->claimed += growth(s, s->st.claimed, st->claimed);
    missed = growth(s, s->st.no_shows, st->no_shows);
    c->missed += missed - u64_min(missed, growth(s, s->st.away, st->away)); /* cost nothing */
}

/* Whoever was let in, has left or was silent for too long since the loss had come back: not missing. */
static void take_back_and_gone(struct mseg *s, const struct seg_status *st)
{
    uint64_t gone = growth(s, s->st.popped, st->popped) + growth(s, s->st.left, st->left) +
                    growth(s, s->st.expired, st->expired);

    s->was_waiting -= (uint32_t)u64_min(gone, s->was_waiting);
}

/* Releases, no-shows and polls since its last report. */
static void take_people(struct mng *m, struct mseg *s, const struct seg_status *st)
{
    struct mqueue *q = s->lane->q;

    if (seg_is_recovering(s))
        take_back_and_gone(s, st);
    marks_take(m, s, st);
    take_no_shows(s, st);
    if (growth(s, s->st.polls, st->polls) != 0)
        quiet_poll(&q->quiet, m->now_ms, pop_quiet_ms(q));
    s->unconfirmed = 0;
}

/* Numbers are used in their order. Those of which that cannot be said exactly (of two credits, or
 * while an order is under way) count as released. */
static void take_unused(struct mseg *s, const struct seg_status *st, uint64_t used)
{
    struct mcredit *c = &s->credit;
    bool obeyed = c->tick == st->credit_tick;

    if (used > 0 && obeyed && c->was_at == c->was_end && c->at + used == st->credit_at) {
        c->at = st->credit_at;
    } else if (used > 0) {
        c->at = c->end;
        c->was_at = c->was_end;
    }
    if (!obeyed)
        return;
    if (c->was_at < c->was_end)
        marks_unused(s->lane, s->id, c->was_at, c->was_end);
    c->was_at = c->was_end;
    if (st->credit_at < st->credit_end)
        return;
    if (c->at < c->end)
        marks_unused(s->lane, s->id, c->at, c->end);
    c->at = c->end;
}

/* Takes what was let in on credit; gives back what will not be used. Of a new link's report
 * nothing is known: all may have been used. */
static void take_credit(struct mng *m, struct mseg *s, const struct seg_status *st)
{
    struct mcredit *c = &s->credit;
    struct mlane *l = s->lane;
    uint64_t used = growth(s, s->st.entered, st->entered), left = st->credit_end - st->credit_at;
    uint64_t came = s->kind == OPEN_REBUILD ? 0 /* all its numbers count as given */
                                            : growth(s, s->st.joined - s->st.unused, st->joined - st->unused);

    take_unused(s, st, used);
    c->open -= u64_min(c->open, used);
    l->released += used;
    m->count.released += used;
    m->count.entered += used;
    if (c->tick == st->credit_tick && c->open > left) {
        if (l->q->def.mode != MODE_SLOTS)
            release_refund(&l->q->rel, c->open - left, one_tick(m, l->q));
        c->open = left;
    }
    if (used > 0) /* room to give as many anew */
        queue_urgent(m, l->q);
    l->came += came;
    l->came_ever += came;
    if (came > 0) {
        l->came_ms = m->now_ms;
        queue_wake(m, l->q);
    }
}

void seg_credit_void(struct mseg *s)
{
    s->credit = (struct mcredit){ 0 };
}

static void take_figures(struct mseg *s, const struct seg_status *st)
{
    uint32_t joined = s->st.joined, unused = s->st.unused;

    s->st = *st;
    s->st.absorbed = NULL; /* seg_set_absorbed() has them */
    s->st.marks = NULL;
    s->st.n_marks = 0;
    if (s->kind == OPEN_REBUILD) {
        s->st.joined = joined;
        s->st.unused = unused;
    }
    if (s->phase == SEG_STORED)
        s->lane->joined_before += s->st.joined - s->st.unused; /* before our time: that is no rush */
}

static void take_phase(struct mng *m, struct mseg *s)
{
    bool first = !seg_is_announced(s);

    seg_set_phase(s, SEG_REPORTED);
    if (!first)
        return;
    if (s->move != NULL)
        s->move->sent_ms = 0; /* waiting for its target: goes on at the next tick */
    queue_mapped(m, s->lane->q);
}

static void take_seal(struct mng *m, struct mseg *s)
{
    if (s->st.state == SEG_SEALED && s->state == SEG_OPEN) {
        s->state = SEG_SEALED;
        prequeue_sealed(m, s);
        queue_mapped(m, s->lane->q);
        log_info("event=segment_sealed seg=%llu queue=%s joined=%u",
                 (unsigned long long)s->id, s->lane->q->def.name, s->st.joined);
    }
    if (s->st.state == SEG_OPEN && s->state == SEG_SEALED && !s->want_seal) {
        s->want_seal = true; /* taken for sealed while nobody reached it, by this manager */
        seg_todo(m, s);      /* or by an earlier one */
    }
}

void seg_status(struct mng *m, struct mseg *s, const struct seg_status *st)
{
    assert(st->seg == s->id);
    if (seg_is_lost(s))
        return; /* given up: what it holds is not ours any more */
    take_people(m, s, st);
    take_credit(m, s, st);
    take_figures(s, st);
    s->absent = false;
    seg_whole(m, s);
    take_phase(m, s);
    take_seal(m, s);
    seg_used(s);
    if (st->waiting + st->returning + st->ready != 0)
        queue_wake(m, s->lane->q);
    lane_touch(m, s->lane);
}

/* Certainly nobody is in it. (A target is not joined, it has what was moved in.) */
static bool seg_unused(const struct mseg *s)
{
    const struct mlane *l = s->lane;

    if (s->want_remove)
        return true; /* everybody in it is gone, and it is not stored any more */
    if (s->kind == OPEN_REBUILD)
        return false;
    if (!seg_is_announced(s))
        return true;
    if (s->kind != OPEN_TARGET)
        return seg_is_reported(s) && s->st.state == SEG_SEALED && s->st.joined == 0 &&
               s->st.waiting == 0 && s->st.records == 0; /* an open one: perhaps since then */
    for (uint32_t i = 0; i < l->n_alias; i++)
        if (l->alias[i].to == s->id)
            return false;
    return true;
}

/* Notes a loss: its node came back without it, or has been silent for too long: the next plan of its
 * lane opens it elsewhere (lifecycle.c), unless the node is faster and has it after all. */
void seg_lost(struct mng *m, struct mseg *s)
{
    struct mlane *l = s->lane;

    if (seg_is_lost(s))
        return; /* known already */
    lane_touch(m, l);
    queue_chain_changed(m, l->q);
    queue_mapped(m, l->q);
    if (seg_unused(s)) {
        log_info("event=segment_dropped seg=%llu node=%s", (unsigned long long)s->id,
                 s->node->name);
        seg_unlink(m, s);
        return;
    }
    log_error("event=segment_lost seg=%llu node=%s queue=%s waiting=%u",
              (unsigned long long)s->id, s->node->name, l->q->def.name, s->st.waiting);
    m->count.lost_segments++;
    pop_seg_gone(m, s);
    slots_lost(m, s);
    seg_credit_void(s); /* stored releases count now */
    if (!seg_is_rebuilding(s)) /* else those of before are awaited still */
        s->was_waiting = s->st.waiting + s->st.returning;
    seg_set_health(s, seg_is_rebuilding(s) ? SEG_GONE_AGAIN : SEG_GONE);
    s->state = SEG_SEALED; /* closed to joins */
    s->lost_ms = m->now_ms;
    s->st.returning = s->st.ready = s->st.active = s->st.records = 0;
    s->st.move = 0;
    if (list_linked(&s->in_todo))
        list_remove(&m->todo, &s->in_todo);
    seg_used(s);
}

/* Queues made, emptied, freed. */

struct mqueue *queue_new(struct mng *m, queue_id id)
{
    struct mqueue *q = calloc(1, sizeof(*q));

    assert(queue_by_id(m, id) == NULL);
    if (q == NULL || map_set_ptr(&m->queue_by_id, id, q) < 0) {
        free(q);
        return NULL;
    }
    q->id = id;
    for (unsigned i = 0; i < LANES_MAX; i++) {
        q->lane[i].q = q;
        q->lane[i].no = i;
        list_init(&q->lane[i].segs);
    }
    list_push_back(&m->queues, &q->in_all);
    return q;
}

/* The caller has told the nodes and the store what it wants them to know. */
void queue_free(struct mng *m, struct mqueue *q)
{
    for (unsigned i = 0; i < LANES_MAX; i++) {
        struct mlane *l = &q->lane[i];

        each_seg(l, s)
            seg_unlink(m, s);
        if (list_linked(&l->in_dirty))
            list_remove(&m->dirty_lanes, &l->in_dirty);
        assert(l->segs.n == 0);
        free(l->alias);
        marks_forget(m, l, false);
    }
    if (q->active)
        list_remove(&m->active, &q->in_active);
    if (list_linked(&q->in_puts))
        list_remove(&m->puts, &q->in_puts);
    if (list_linked(&q->in_urgent))
        list_remove(&m->urgent, &q->in_urgent);
    list_remove(&m->queues, &q->in_all);
    m->count_no++;
    map_del(&m->queue_by_id, q->id);
    if (q->deleted_until_ms != 0)
        m->n_deleted--;
    else if (q->def.name != NULL)
        queue_unname(m, q);
    cfg_clear(&q->def, queue_def_keys);
    free(q->shadow);
    free(q->moved);
    free(q);
}

/* Nodes forget the segments of a queue that is deleted or flushed; one that cannot be
 * reached now is told when it reports a segment that nobody knows. */
void segs_forget(struct mng *m, struct mlane *l)
{
    each_seg(l, s) {
        if (s->node->registered) {
            struct msg_seg_remove *r =
                &mng_to(m, s->node->peer, MSG_SEG_REMOVE)->seg_remove;

            r->epoch = m->epoch;
            r->seg = s->id;
            r->force = true;
        }
        seg_unlink(m, s);
    }
    l->n_alias = 0;
    marks_forget(m, l, true);
    l->pop.busy = false;
    l->manual = 0;
}

static void tomb_add(struct mng *m, queue_id id)
{
    if (m->n_tombs == MNG_TOMBSTONES) { /* routers with an older map get all of it */
        uint32_t half = MNG_TOMBSTONES / 2;

        m->tomb_floor = m->tomb[half - 1].version;
        memmove(m->tomb, m->tomb + half, (MNG_TOMBSTONES - half) * sizeof(m->tomb[0]));
        m->n_tombs -= half;
    }
    assert(m->n_tombs < MNG_TOMBSTONES);
    m->tomb[m->n_tombs++] = (struct tombstone){ .id = id, .version = ++m->map_version };
}

void queue_gone(struct mng *m, struct mqueue *q)
{
    char key[96];

    log_info("event=queue_gone queue=%s id=%u", q->def.name, q->id);
    for (unsigned i = 0; i < q->n_lanes; i++)
        segs_forget(m, &q->lane[i]);
    tomb_add(m, q->id);
    snprintf(key, sizeof(key), "queue/%s", q->def.name);
    out_del(m, key);
    snprintf(key, sizeof(key), "chain/%u", q->id);
    out_del(m, key);
    snprintf(key, sizeof(key), "sched/%u", q->id);
    out_del(m, key);
    queue_free(m, q);
}

/* ---- lost segments are opened elsewhere ---- */


static struct mseg *unmerge_one(struct mng *m, struct mseg *s, const struct malias *a,
                                struct mseg *behind)
{
    struct mlane *l = s->lane;
    struct mseg *y;

    assert(a->to == s->id && a->capacity != 0);
    y = seg_new(m, l, s->node, a->from, a->capacity, OPEN_REBUILD,
                list_seg(list_next(&l->segs, &behind->in_lane)));
    if (y == NULL)
        return behind; /* the alias stays, and the next plan tries again */
    y->mark_end = a->mark_end;
    y->base = a->base;
    seg_lost(m, y);
    if (seg_is_lost(s)) /* with it all who were inside of y were counted */
        slots_found(m, y);
    return y;
}

void seg_unmerge(struct mng *m, struct mseg *s, bool only_missing)
{
    struct mlane *l = s->lane;
    struct mseg *behind = s;

    for (uint32_t i = 0; i < l->n_alias;) {
        struct malias a = l->alias[i];

        if (a.to != s->id || (only_missing && seg_has_absorbed(s, a.from))) {
            i++;
            continue;
        }
        if (a.capacity != 0 && seg_find(m, a.from) == NULL) {
            struct mseg *y = unmerge_one(m, s, &a, behind);

            if (y == behind)
                return;
            behind = y;
        }
        alias_drop(l, a.from);
    }
    seg_check_absorbed(s);
    queue_chain_changed(m, l->q);
    queue_mapped(m, l->q);
}

static void reopen(struct mng *m, struct mseg *s, struct mnode *n)
{
    log_warn("event=segment_rebuild seg=%llu queue=%s node=%s was=%s released=%u",
             (unsigned long long)s->id, s->lane->q->def.name, n->name, s->node->name,
             s->mark_end);
    assert(seg_is_lost(s) && s->move == NULL && n->registered && !s->used);
    list_remove(&s->node->segs, &s->on_node);
    list_push_back(&n->segs, &s->on_node);
    s->node = n;
    s->kind = OPEN_REBUILD;
    s->moves_from = move_next_id(m);
    s->state = s->st.state = SEG_SEALED;
    s->st.waiting = 0;
    s->st.drawn = false;
    s->st.last_tick = 0;
    s->st.next = s->want_next = 0;
    seg_set_health(s, SEG_REBUILDING);
    seg_set_phase(s, SEG_OPENING);
    s->want_seal = s->want_remove = false;
    s->n_absorbed = 0;
    s->ahead_sent = UINT64_MAX;
    seg_used(s);
    queue_chain_changed(m, s->lane->q);
    queue_mapped(m, s->lane->q);
    seg_wish(m, s);
}

/* A move that it was in is ended first: only then is it clear what was in it. */
static bool find_place(struct mng *m, struct mlane *l, struct mseg *s)
{
    struct mnode *n;

    if (!seg_is_lost(s) || s->move != NULL)
        return false;
    n = place_pick(m, list_seg(list_prev(&l->segs, &s->in_lane)), NULL, 0);
    if (n == NULL)
        return false;
    seg_unmerge(m, s, false);
    for (uint32_t i = 0; i < l->n_alias; i++)
        if (l->alias[i].to == s->id)
            return false; /* no memory */
    if (s->kind == OPEN_TARGET) { /* never joined: it is what it had absorbed */
        queue_chain_changed(m, l->q);
        queue_mapped(m, l->q);
        seg_unlink(m, s);
    } else {
        reopen(m, s, n);
    }
    return true;
}

void lane_rebuild(struct mng *m, struct mlane *l)
{
    struct list_node *it = l->has_lost ? list_first(&l->segs) : NULL;

    while (it != NULL)
        it = find_place(m, l, list_seg(it)) ? list_first(&l->segs)
                                            : list_next(&l->segs, it);
}

/* Makes its list of absorbed segments agree with the chain: a commit that was undone when it went
 * is not in the chain, but its tickets would be in the segment. */
bool seg_take_back(struct mng *m, struct mseg *s, const struct seg_status *st, bool full)
{
    assert(seg_is_lost(s));
    if (!full && s->kind != OPEN_REBUILD)
        return false;
    for (uint32_t i = 0; i < st->n_absorbed; i++)
        if (alias_of(s->lane, st->absorbed[i]) != s->id)
            return false;
    log_info("event=segment_back seg=%llu node=%s", (unsigned long long)s->id,
             s->node->name);
    seg_set_health(s, seg_is_rebuilding(s) ? SEG_REBUILDING : SEG_WHOLE);
    slots_found(m, s);
    queue_chain_changed(m, s->lane->q);
    lane_touch(m, s->lane);
    return true;
}

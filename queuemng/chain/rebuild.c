/* rebuild.c: opens lost segments elsewhere. */
#include "queuemng/chain/rebuild.h"

#include <assert.h>

#include "common/base/log.h"
#include "queuemng/chain/lifecycle.h"
#include "queuemng/chain/move_state.h"
#include "queuemng/chain/reconcile.h"
#include "queuemng/state/node.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/slots.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "rebuild"

static struct mseg *unmerge_one(struct mng *m, struct mseg *s, const struct malias *a,
                                struct mseg *behind)
{
    struct mlane *l = s->lane;
    uint64_t capacity = a->capacity;
    struct mseg *y;

    assert(a->to == s->id && a->capacity != 0);
    if (capacity == MNG_CAPACITY_UNKNOWN) /* record of an older version's store */
        capacity = u64_max((uint64_t)l->q->def.segment_capacity, s->capacity);
    y = seg_new(m, l, s->node, a->from, (uint32_t)capacity, OPEN_REBUILD,
                list_seg(list_next(&l->segs, &behind->in_lane)));
    if (y == NULL)
        return behind; /* the alias stays, and the next plan tries again */
    y->mark_end = a->mark_end;
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

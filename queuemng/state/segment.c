/* segment.c: the allowed steps of a segment, and questions about it. */
#include "queuemng/state/segment.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "prequeue"
#define TO(state) (1u << (state))

static const unsigned phase_next[SEG_NPHASES] = {
    [SEG_OPENING] = TO(SEG_STORED) | TO(SEG_REPORTED),
    [SEG_STORED] = TO(SEG_OPENING) | TO(SEG_REPORTED),
    [SEG_REPORTED] = TO(SEG_OPENING),
};

static const unsigned health_next[SEG_NHEALTHS] = {
    [SEG_WHOLE] = TO(SEG_GONE) | TO(SEG_REBUILDING), /* REBUILDING: its node says so */
    [SEG_REBUILDING] = TO(SEG_WHOLE) | TO(SEG_GONE_AGAIN),
    [SEG_GONE] = TO(SEG_WHOLE) | TO(SEG_REBUILDING),
    [SEG_GONE_AGAIN] = TO(SEG_REBUILDING),
};

/* A segment that was never opened has nobody to lose, unless it is opened for those of a lost one. */
static bool is_possible(const struct mseg *s)
{
    return s->phase != SEG_OPENING || s->health != SEG_GONE;
}

void seg_set_phase(struct mseg *s, enum seg_phase to)
{
    assert(s->phase < SEG_NPHASES && to < SEG_NPHASES);
    assert(to == s->phase || (phase_next[s->phase] & TO(to)) != 0);
    s->phase = to;
    assert(is_possible(s));
}

void seg_set_health(struct mseg *s, enum seg_health to)
{
    assert(s->health < SEG_NHEALTHS && to < SEG_NHEALTHS);
    assert(to == s->health || (health_next[s->health] & TO(to)) != 0);
    s->health = to;
    assert(is_possible(s));
}

bool seg_reachable(const struct mseg *s)
{
    return !seg_is_lost(s) && s->node->registered;
}

/* In a move of an earlier manager, or one that has just ended: perhaps a target that was
 * committed and has not heard of it, so that its report lacks what it will hold. */
bool seg_in_unknown_move(const struct mseg *s)
{
    return s->st.move != 0 && s->move == NULL;
}

bool seg_is_uncertain(const struct mseg *s)
{
    return seg_in_unknown_move(s) || s->missing_source;
}

bool seg_is_recovering(const struct mseg *s)
{
    return seg_is_lost(s) || seg_is_rebuilding(s);
}

bool seg_dry(const struct mseg *s)
{
    bool closed = s->st.state == SEG_SEALED || (s->st.shut && s->state == SEG_SEALED);

    return seg_is_reported(s) && !seg_is_recovering(s) && !seg_is_uncertain(s) && closed &&
           s->st.waiting == 0 && s->st.returning == 0;
}

uint64_t seg_bound(const struct mseg *s)
{
    if (seg_is_recovering(s))
        return s->st.waiting; /* no position is told by it */
    if (s->phase == SEG_STORED || (s->phase == SEG_REPORTED && seg_is_uncertain(s)))
        return s->capacity; /* full */
    if (s->st.state == SEG_SEALED)
        return s->st.waiting;
    return (uint64_t)s->st.waiting + s->capacity - s->st.joined;
}

/* Keeps node->used in step with what the segment is. */
void seg_used(struct mseg *s)
{
    bool used =
        s->state == SEG_OPEN || seg_is_rebuilding(s) || s->st.waiting + s->st.returning != 0;

    if (seg_is_lost(s))
        used = false;
    if (used != s->used)
        s->node->used += used ? 1 : -1;
    s->used = used;
    assert(s->node->used <= s->node->segs.n);
}

/* Ids are reserved in the store some at a time: one given out is never given again. */
seg_id seg_id_take(struct mng *m)
{
    if (m->next_seg >= m->seg_reserved) {
        m->seg_reserved = m->next_seg + MNG_SEG_IDS;
        m->put_meta = true;
    }
    assert(m->next_seg != 0 && m->next_seg < m->seg_reserved);
    return m->next_seg++;
}

void seg_set_base(struct mseg *s)
{
    s->base = s->lane->ordinals + 1;
    s->lane->ordinals += s->capacity;
}

/* ---- segments of the pre-queue --------------------------------------------------- */

bool lane_is_early(const struct mlane *l)
{
    return l->q->sched.phase == SCHED_PREQUEUE;
}

bool prequeue_fits(const struct mseg *s)
{
    return s->pre.early == lane_is_early(s->lane);
}

bool seg_is_undrawn(const struct mseg *s)
{
    return s->pre.early && !s->st.drawn;
}

uint64_t lane_capacity(const struct mlane *l)
{
    const struct queue_def *d = &l->q->def;

    return (uint64_t)(lane_is_early(l) ? d->when.prequeue_capacity : d->segment_capacity);
}

int64_t prequeue_closes_ms(const struct mseg *s)
{
    bool joined = s->pre.early && s->kind == OPEN_TAIL;

    return joined && !s->pre.by_order ? s->lane->q->sched.opens_ms : 0;
}

bool prequeue_time_is_new(const struct mseg *s)
{
    int64_t at_ms = prequeue_closes_ms(s);

    return at_ms != 0 && seg_is_reported(s) && !s->want_seal &&
           s->st.state == SEG_OPEN && s->st.closes_ms != at_ms;
}

bool prequeue_draw_is_due(const struct mseg *s)
{
    return s->pre.n != 0 && seg_is_undrawn(s) && !seg_is_recovering(s) && s->st.state == SEG_SEALED;
}

void prequeue_sealed(struct mng *m, struct mseg *s)
{
    const struct schedule *sched = &s->lane->q->sched;

    assert(s->state == SEG_SEALED);
    if (!s->st.closed || !lane_is_early(s->lane))
        return;
    s->node->past_opening_ms = sched->opens_ms;
    log_info("event=closed_early seg=%llu node=%s queue=%s by_ms=%lld",
             (unsigned long long)s->id, s->node->name, s->lane->q->def.name,
             (long long)(sched->opens_ms - m->sched_ms));
}

/* The aliases of a lane, where a ticket lives by them, and what nodes have absorbed. */

struct mseg *seg_find(const struct mng *m, seg_id id)
{
    return map_get_ptr(&m->seg_by_id, id);
}

seg_id alias_of(const struct mlane *l, seg_id from)
{
    for (uint32_t i = 0; i < l->n_alias; i++)
        if (l->alias[i].from == from)
            return l->alias[i].to;
    return 0;
}

struct mlane *lane_of(const struct mng *m, seg_id seg)
{
    const struct mseg *s = seg_find(m, seg);

    if (s != NULL)
        return s->lane;
    each_queue(m, q) {
        for (unsigned i = 0; i < q->n_lanes; i++)
            if (alias_of(&q->lane[i], seg) != 0)
                return &q->lane[i];
    }
    return NULL;
}

struct mseg *seg_resolve(const struct mng *m, seg_id seg)
{
    const struct mlane *l = lane_of(m, seg);
    seg_id to = l != NULL ? alias_of(l, seg) : 0;

    return seg_find(m, to != 0 ? to : seg);
}

int alias_add(struct mlane *l, struct malias a)
{
    assert(a.from != a.to && alias_of(l, a.from) == 0);
    if (!GROW(l->alias, l->n_alias, l->cap_alias, 8))
        return SQ_ENOMEM;
    l->alias[l->n_alias++] = a;
    return 0;
}

static void alias_del(struct mlane *l, uint32_t i)
{
    assert(i < l->n_alias);
    memmove(l->alias + i, l->alias + i + 1, (l->n_alias - i - 1) * sizeof(*l->alias));
    l->n_alias--;
}

void alias_drop(struct mlane *l, seg_id from)
{
    for (uint32_t i = 0; i < l->n_alias; i++)
        if (l->alias[i].from == from) {
            alias_del(l, i);
            return;
        }
}

/* The first that leads to `to`, if any. */
static uint32_t alias_to(const struct mlane *l, seg_id to)
{
    uint32_t i = 0;

    while (i < l->n_alias && l->alias[i].to != to)
        i++;
    return i;
}

static uint32_t alias_at(const struct mlane *l, seg_id from)
{
    uint32_t i = 0;

    while (i < l->n_alias && l->alias[i].from != from)
        i++;
    return i;
}

void alias_fold(struct mlane *l, seg_id from, seg_id to)
{
    uint32_t i;

    assert(from != to);
    for (uint32_t k = 1; (i = alias_to(l, from)) < l->n_alias; k++) {
        struct malias a = l->alias[i];
        uint32_t at;

        a.to = to;
        alias_del(l, i);
        at = alias_at(l, from) + k;
        at = at < l->n_alias ? at : l->n_alias;
        memmove(l->alias + at + 1, l->alias + at, (l->n_alias - at) * sizeof(*l->alias));
        l->alias[at] = a;
        l->n_alias++;
    }
}

/* ---- absorbed, by a node's word --------------------------------------------------- */

bool seg_has_absorbed(const struct mseg *s, seg_id id)
{
    for (uint32_t i = 0; i < s->n_absorbed; i++)
        if (s->absorbed[i] == id)
            return true;
    return false;
}

void seg_check_absorbed(struct mseg *s)
{
    const struct mlane *l = s->lane;

    s->missing_source = false;
    for (uint32_t i = 0; i < l->n_alias; i++)
        s->missing_source |= l->alias[i].to == s->id && !seg_has_absorbed(s, l->alias[i].from);
}

void seg_add_absorbed(struct mng *m, struct mseg *s, seg_id id)
{
    seg_id *v;

    if (seg_has_absorbed(s, id))
        return;
    v = realloc(s->absorbed, (s->n_absorbed + 1) * sizeof(*v));
    if (v == NULL) { /* the source counts as missing, and is rebuilt one day */
        m->out->box.failed = true;
        return;
    }
    s->absorbed = v;
    v[s->n_absorbed++] = id;
    seg_check_absorbed(s);
}

void seg_set_absorbed(struct mng *m, struct mseg *s, const struct seg_status *st)
{
    s->n_absorbed = 0;
    for (uint32_t i = 0; i < st->n_absorbed; i++)
        seg_add_absorbed(m, s, st->absorbed[i]);
    seg_check_absorbed(s);
}

void seg_set_heard(struct mng *m, struct mseg *s)
{
    const struct mlane *l = s->lane;

    for (uint32_t i = 0; i < l->n_alias; i++)
        if (l->alias[i].to == s->id)
            seg_add_absorbed(m, s, l->alias[i].from);
}

/* mseg.c: one segment as the manager sees it: what its node last said (st), what it should
 * be (confirmed, want_seal, want_next, want_remove), and the order that is given while the
 * two differ. Nothing here waits for an answer: what was ordered is in mng.todo, and
 * seg_reconcile() orders it again every second until a report shows it. */
#include "queuemng/core/mng_int.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

#define LOG_MODULE "chain"

/* ---- one segment ----------------------------------------------------------------- */

struct mseg *seg_find(const struct mng *m, seg_id id)
{
    return map_get_ptr(&m->seg_by_id, id);
}

bool seg_reachable(const struct mseg *s)
{
    return !s->lost && s->node->registered;
}

/* In a move of an earlier manager, or one that has just ended: perhaps a target that was
 * committed and has not heard of it, so that its report lacks what it will hold. */
bool seg_is_orphan(const struct mseg *s)
{
    return s->st.move != 0 && s->move == NULL;
}

bool seg_is_unsure(const struct mseg *s)
{
    return seg_is_orphan(s) || s->lacks;
}

bool seg_dry(const struct mseg *s)
{
    return s->known && !seg_is_away(s) && !seg_is_unsure(s) &&
           s->st.state == SEG_SEALED && s->st.waiting == 0 && s->st.returning == 0;
}

uint64_t seg_bound(const struct mseg *s)
{
    if (seg_is_away(s))
        return s->st.waiting; /* nobody is told a position by it */
    if (s->confirmed && (!s->known || seg_is_unsure(s)))
        return s->capacity; /* it cannot hold more */
    if (s->st.state == SEG_SEALED)
        return s->st.waiting;
    return (uint64_t)s->st.waiting + s->capacity - s->st.joined;
}

/* Keeps node->used in step with what the segment is. */
void seg_used(struct mseg *s)
{
    bool used =
        s->state == SEG_OPEN || s->rebuild || s->st.waiting + s->st.returning != 0;

    if (s->lost)
        used = false;
    if (used != s->used)
        s->node->used += used ? 1 : -1;
    s->used = used;
}

/* before NULL = at the end of the chain. Only the end may be joined (I3). */
struct mseg *seg_new(struct mng *m, struct mlane *l, struct mnode *n, seg_id id,
                     uint32_t capacity, uint8_t kind, struct mseg *before)
{
    struct mseg *s = calloc(1, sizeof(*s));

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
    s->rebuild = kind == OPEN_REBUILD;
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
    if (s->move != NULL) { /* a move without one of its ends is over */
        if (s->move->from == s)
            s->move->from = NULL;
        else
            s->move->to = NULL;
    }
    l->gone_joined += s->st.joined;
    l->gone_left += s->st.left;
    l->gone_expired += s->st.expired;
    l->gone_no_shows += s->st.no_shows;
    if (list_linked(&s->in_todo))
        list_remove(&m->todo, &s->in_todo);
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

/* ---- what it has absorbed -------------------------------------------------------- */

void seg_add_absorbed(struct mng *m, struct mseg *s, seg_id id)
{
    seg_id *v;

    if (seg_has_absorbed(s, id))
        return;
    v = realloc(s->absorbed, (s->n_absorbed + 1) * sizeof(*v));
    if (v == NULL) { /* what it lacks is taken for lost one day */
        m->out->box.failed = true;
        return;
    }
    s->absorbed = v;
    v[s->n_absorbed++] = id;
    seg_look_absorbed(s);
}

void seg_set_absorbed(struct mng *m, struct mseg *s, const struct seg_status *st)
{
    s->n_absorbed = 0;
    for (uint32_t i = 0; i < st->n_absorbed; i++)
        seg_add_absorbed(m, s, st->absorbed[i]);
    seg_look_absorbed(s);
}

void seg_set_heard(struct mng *m, struct mseg *s)
{
    const struct mlane *l = s->lane;

    for (uint32_t i = 0; i < l->n_alias; i++)
        if (l->alias[i].to == s->id)
            seg_add_absorbed(m, s, l->alias[i].from);
}

void seg_look_absorbed(struct mseg *s)
{
    const struct mlane *l = s->lane;

    s->lacks = false;
    for (uint32_t i = 0; i < l->n_alias; i++)
        s->lacks |= l->alias[i].to == s->id && !seg_has_absorbed(s, l->alias[i].from);
}

bool seg_has_absorbed(const struct mseg *s, seg_id id)
{
    for (uint32_t i = 0; i < s->n_absorbed; i++)
        if (s->absorbed[i] == id)
            return true;
    return false;
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
    list_each(&m->queues, it) {
        struct mqueue *q = container_of(it, struct mqueue, in_all);

        for (unsigned i = 0; i < q->n_lanes; i++)
            if (alias_of(&q->lane[i], seg) != 0)
                return &q->lane[i];
    }
    return NULL;
}

struct mseg *home_of(const struct mng *m, seg_id seg)
{
    const struct mlane *l = lane_of(m, seg);
    seg_id to = l != NULL ? alias_of(l, seg) : 0;

    return seg_find(m, to != 0 ? to : seg);
}

int alias_add(struct mlane *l, struct malias a)
{
    if (l->n_alias == l->cap_alias) {
        uint32_t cap = l->cap_alias != 0 ? l->cap_alias * 2 : 8;
        struct malias *v = realloc(l->alias, cap * sizeof(*v));

        if (v == NULL)
            return SQ_ENOMEM;
        l->alias = v;
        l->cap_alias = cap;
    }
    l->alias[l->n_alias++] = a;
    return 0;
}

static void alias_del(struct mlane *l, uint32_t i)
{
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

void seg_todo(struct mng *m, struct mseg *s)
{
    s->ordered_ms = 0;
    if (!list_linked(&s->in_todo))
        list_push_back(&m->todo, &s->in_todo);
}

void lane_touch(struct mng *m, struct mlane *l)
{
    if (l->dirty)
        return;
    l->dirty = true;
    list_push_back(&m->dirty_lanes, &l->in_dirty);
}

static void queue_wake(struct mng *m, struct mqueue *q)
{
    if (q->active)
        return;
    q->active = true;
    list_push_back(&m->active, &q->in_active);
}

/* Who has not come back by now has no place any more: from here on it is like any other. */
static void seg_whole(struct mng *m, struct mseg *s)
{
    if (s->rebuild && !s->st.rebuild) {
        log_info("event=segment_rebuilt seg=%llu queue=%s waiting=%u",
                 (unsigned long long)s->id, s->lane->q->def.name, s->st.waiting);
        m->count.rebuilt++;
    }
    s->rebuild = s->st.rebuild;
}

/* Both only grow; smaller than before: it counts anew. Of a new manager's first report
 * nothing is new. */
static uint64_t growth(const struct mseg *s, uint64_t before, uint64_t now)
{
    return s->known && now > before ? now - before : 0;
}

static void claims_take(struct mseg *s, const struct seg_status *st)
{
    struct claims *c = &s->lane->q->claims;
    uint64_t missed;

    c->claimed += growth(s, s->st.claimed, st->claimed);
    missed = growth(s, s->st.no_shows, st->no_shows);
    c->missed += missed - u64_min(missed, growth(s, s->st.away, st->away)); /* cost nothing */
}

void seg_status(struct mng *m, struct mseg *s, const struct seg_status *st)
{
    struct mqueue *q = s->lane->q;
    uint32_t joined = s->st.joined;

    if (s->lost)
        return; /* given up: what it holds is not ours any more */
    marks_take(m, s, st);
    claims_take(s, st);
    if (growth(s, s->st.polls, st->polls) != 0)
        hearing_poll(&q->hearing, m->now_ms, pop_quiet_ms(q));
    s->maybe_inside = 0;
    s->st = *st;
    s->st.absorbed = NULL;
    s->st.marks = NULL;
    s->st.n_marks = 0;
    if (s->kind == OPEN_REBUILD)
        s->st.joined = joined; /* it takes all its numbers for given */
    if (!s->known && s->confirmed)
        s->lane->joined_before += s->st.joined; /* before our time: that is no rush */
    s->known = true;
    s->missing = false;
    seg_whole(m, s);
    if (!s->confirmed) {
        s->confirmed = true;
        if (s->move != NULL)
            s->move->sent_ms = 0; /* it waits for its target: goes on at the next tick */
        queue_mapped(m, q);
    }
    if (st->state == SEG_SEALED && s->state == SEG_OPEN) {
        s->state = SEG_SEALED;
        lots_sealed(m, s);
        queue_mapped(m, q);
        log_info("event=segment_sealed seg=%llu queue=%s joined=%u",
                 (unsigned long long)s->id, q->def.name, st->joined);
    }
    if (st->state == SEG_OPEN && s->state == SEG_SEALED && !s->want_seal) {
        s->want_seal = true; /* taken for sealed while nobody reached it, by this manager */
        seg_todo(m, s);      /* or by an earlier one */
    }
    seg_used(s);
    if (st->waiting + st->returning + st->ready != 0)
        queue_wake(m, q);
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
    if (!s->confirmed)
        return true;
    if (s->kind != OPEN_TARGET)
        return s->known && s->st.state == SEG_SEALED && s->st.joined == 0 &&
               s->st.waiting == 0 && s->st.records == 0; /* an open one: perhaps since then */
    for (uint32_t i = 0; i < l->n_alias; i++)
        if (l->alias[i].to == s->id)
            return false;
    return true;
}

/* Its node came back without it, or has been silent for too long: the next plan of its
 * lane opens it elsewhere (rebuild.c), unless the node is faster and has it after all. */
void seg_lost(struct mng *m, struct mseg *s)
{
    struct mlane *l = s->lane;

    lane_touch(m, l);
    queue_keep(m, l->q, false);
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
    if (!s->rebuild) /* else those of before are awaited still */
        s->was_waiting = s->st.waiting + s->st.returning;
    s->lost = true;
    s->state = SEG_SEALED; /* nobody joins it */
    s->lost_ms = m->now_ms;
    s->st.returning = s->st.ready = s->st.active = s->st.records = 0;
    s->st.move = 0;
    if (list_linked(&s->in_todo))
        list_remove(&m->todo, &s->in_todo);
    seg_used(s);
}

/* ---- orders ---------------------------------------------------------------------- */

void lane_pace_to(struct mng *m, const struct mlane *l, struct mnode *n)
{
    const struct pace_entry e = { .queue = l->q->id,
                                  .lane = (uint8_t)l->no,
                                  .min_ms = l->pace.min_ms,
                                  .max_ms = l->pace.max_ms,
                                  .us_per_place = l->pace.us_per_place };

    node_pace(m, n, &e);
}

static struct seg_draw draw_of(const struct mseg *s)
{
    struct seg_draw d = { .n = s->lots.n };

    memcpy(d.seed, s->lots.seed, sizeof(d.seed));
    return d;
}

static void order_open(struct mng *m, struct mseg *s)
{
    struct msg_seg_open *o;

    queue_rules_to(m, s->lane->q, s->node);
    o = &mng_to(m, s->node->peer, MSG_SEG_OPEN)->seg_open;
    o->epoch = m->epoch;
    o->seg = s->id;
    o->queue = s->lane->q->id;
    o->lane = (uint8_t)s->lane->no;
    o->kind = s->kind;
    o->capacity = s->capacity;
    o->ahead = s->ahead;
    o->early = s->lots.early;
    o->closes_ms = lots_closes_ms(s);
    o->draw = draw_of(s);
    if (s->kind == OPEN_REBUILD)
        order_rebuild(m, s, o);
    if (s->lane->pace.min_ms != 0)
        lane_pace_to(m, s->lane, s->node);
}

static void order_seal(struct mng *m, const struct mseg *s)
{
    struct msg_seg_seal *o = &mng_to(m, s->node->peer, MSG_SEG_SEAL)->seg_seal;

    o->epoch = m->epoch;
    o->seg = s->id;
    o->next = s->want_next;
    o->draw = draw_of(s);
}

static void order_next(struct mng *m, const struct mseg *s)
{
    struct msg_seg_next *o = &mng_to(m, s->node->peer, MSG_SEG_NEXT)->seg_next;

    o->epoch = m->epoch;
    o->seg = s->id;
    o->next = s->want_next != 0 ? s->want_next : s->st.next;
    o->closes_ms = lots_closes_ms(s);
}

static void order_remove(struct mng *m, const struct mseg *s)
{
    struct msg_seg_remove *o = &mng_to(m, s->node->peer, MSG_SEG_REMOVE)->seg_remove;

    o->epoch = m->epoch;
    o->seg = s->id;
    o->force = s->force;
}

/* One order at a time; the report that shows its effect brings the next. */
void seg_reconcile(struct mng *m, struct mseg *s)
{
    bool next = s->want_next != 0 && s->st.next != s->want_next;

    if (!seg_reachable(s))
        return; /* stays in the list */
    s->ordered_ms = m->now_ms;
    if (!s->confirmed)
        order_open(m, s);
    else if (s->want_remove)
        order_remove(m, s);
    else if (s->want_seal && s->st.state != SEG_SEALED)
        order_seal(m, s);
    else if (next && s->st.state == SEG_SEALED)
        order_seal(m, s); /* "sealed" may be said again, with the successor */
    else if (lots_order(s))
        order_seal(m, s); /* ... or with the draw */
    else if (next || lots_clock_order(s))
        order_next(m, s);
    else
        list_remove(&m->todo, &s->in_todo);
}

void seg_wish(struct mng *m, struct mseg *s)
{
    seg_todo(m, s);
    seg_reconcile(m, s);
}

/* chain.c: the chain of one lane: its segments in order, what each should be and what its
 * node says it is; `ahead`; opening successors; removing what is over.
 *
 * Every segment has wishes (confirmed, want_seal, want_next, want_remove) and a last
 * report (st). While they differ it is in mng.todo, and seg_reconcile() gives the order
 * again every second. Nothing here waits for an answer. */
#include "queuemng/mng_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"

#define LOG_MODULE "chain"

#define list_seg(it) list_entry(it, struct mseg, in_lane)

/* ---- one segment ----------------------------------------------------------------- */

struct mseg *seg_find(const struct mng *m, seg_id id)
{
    return map_get_ptr(&m->seg_by_id, id);
}

bool seg_reachable(const struct mseg *s)
{
    return s->state != SEG_LOST && s->node->registered;
}

/* In a move of an earlier manager, or one that has just ended: perhaps a target that was
 * committed and has not heard of it, so that its report lacks what it will hold. */
bool seg_is_orphan(const struct mseg *s)
{
    return s->st.move != 0 && s->move == NULL;
}

bool seg_dry(const struct mseg *s)
{
    return s->state == SEG_LOST ||
           (s->known && !seg_is_orphan(s) && s->st.state == SEG_SEALED &&
            s->st.waiting == 0 && s->st.returning == 0);
}

uint64_t seg_bound(const struct mseg *s)
{
    if (s->state == SEG_LOST)
        return 0;
    if (s->confirmed && (!s->known || seg_is_orphan(s)))
        return s->capacity; /* it cannot hold more */
    if (s->st.state == SEG_SEALED)
        return s->st.waiting;
    return (uint64_t)s->st.waiting + s->capacity - s->st.joined;
}

/* Keeps node->used in step with what the segment is. */
void seg_used(struct mseg *s)
{
    bool used = s->state == SEG_OPEN || s->st.waiting + s->st.returning != 0;

    if (s->state == SEG_LOST)
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
    s->state = s->st.state = kind == OPEN_TARGET ? SEG_SEALED : SEG_OPEN;
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
    /* aliases to it have nowhere to go */
    for (uint32_t i = 0; i < l->n_alias;)
        if (l->alias[i].to == s->id)
            l->alias[i] = l->alias[--l->n_alias];
        else
            i++;
    free(s);
}

seg_id alias_of(const struct mlane *l, seg_id from)
{
    for (uint32_t i = 0; i < l->n_alias; i++)
        if (l->alias[i].from == from)
            return l->alias[i].to;
    return 0;
}

int alias_add(struct mlane *l, seg_id from, seg_id to)
{
    if (l->n_alias == l->cap_alias) {
        uint32_t cap = l->cap_alias != 0 ? l->cap_alias * 2 : 8;
        struct map_alias *v = realloc(l->alias, cap * sizeof(*v));

        if (v == NULL)
            return SQ_ENOMEM;
        l->alias = v;
        l->cap_alias = cap;
    }
    l->alias[l->n_alias++] = (struct map_alias){ .from = from, .to = to };
    return 0;
}

void alias_drop(struct mlane *l, seg_id from)
{
    for (uint32_t i = 0; i < l->n_alias; i++)
        if (l->alias[i].from == from) {
            l->alias[i] = l->alias[--l->n_alias];
            return;
        }
}

void alias_fold(struct mlane *l, seg_id from, seg_id to)
{
    for (uint32_t i = 0; i < l->n_alias; i++)
        if (l->alias[i].to == from)
            l->alias[i].to = to;
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

void seg_status(struct mng *m, struct mseg *s, const struct seg_status *st)
{
    struct mqueue *q = s->lane->q;

    if (s->state == SEG_LOST)
        return; /* given up: what it holds is not ours any more */
    s->st = *st;
    s->st.absorbed = NULL;
    s->known = true;
    if (!s->confirmed) {
        s->confirmed = true;
        queue_mapped(m, q);
    }
    if (st->state == SEG_SEALED && s->state == SEG_OPEN) {
        s->state = SEG_SEALED;
        queue_mapped(m, q);
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

/* Certainly nobody was ever in it. (A target is not joined, it has what was moved in.) */
static bool seg_unused(const struct mseg *s)
{
    const struct mlane *l = s->lane;

    if (!s->confirmed)
        return true;
    if (s->kind != OPEN_TARGET)
        return s->known && s->st.joined == 0 && s->st.waiting == 0 && s->st.records == 0;
    for (uint32_t i = 0; i < l->n_alias; i++)
        if (l->alias[i].to == s->id)
            return false;
    return true;
}

/* Its node came back without it, or has been silent for too long. */
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
    s->state = SEG_LOST;
    s->lost_ms = m->now_ms;
    s->st.waiting = s->st.returning = s->st.ready = s->st.active = s->st.records = 0;
    s->st.move = 0;
    if (list_linked(&s->in_todo))
        list_remove(&m->todo, &s->in_todo);
    seg_used(s);
}

/* ---- orders ---------------------------------------------------------------------- */

static void lane_pace_to(struct mng *m, const struct mlane *l, struct mnode *n)
{
    const struct pace_entry e = { .queue = l->q->id,
                                  .lane = (uint8_t)l->no,
                                  .min_ms = l->pace.min_ms,
                                  .max_ms = l->pace.max_ms,
                                  .us_per_place = l->pace.us_per_place };

    node_pace(m, n, &e);
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
    if (s->lane->pace.min_ms != 0)
        lane_pace_to(m, s->lane, s->node);
}

static void order_seal(struct mng *m, const struct mseg *s)
{
    struct msg_seg_seal *o = &mng_to(m, s->node->peer, MSG_SEG_SEAL)->seg_seal;

    o->epoch = m->epoch;
    o->seg = s->id;
    o->next = s->want_next;
}

static void order_next(struct mng *m, const struct mseg *s)
{
    struct msg_seg_next *o = &mng_to(m, s->node->peer, MSG_SEG_NEXT)->seg_next;

    o->epoch = m->epoch;
    o->seg = s->id;
    o->next = s->want_next;
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
    else if (next)
        order_next(m, s);
    else
        list_remove(&m->todo, &s->in_todo);
}

static void wish(struct mng *m, struct mseg *s)
{
    seg_todo(m, s);
    seg_reconcile(m, s);
}

/* ---- the plan of a lane ---------------------------------------------------------- */

static void lane_sum(struct mlane *l)
{
    l->waiting = l->returning = l->ready = l->active = l->room = 0;
    l->joined = l->left = l->expired = l->no_shows = 0;
    list_each(&l->segs, it) {
        const struct mseg *s = list_seg(it);

        l->joined += s->st.joined;
        l->left += s->st.left;
        l->expired += s->st.expired;
        l->no_shows += s->st.no_shows;
        if (s->state == SEG_LOST)
            continue;
        l->waiting += s->st.waiting;
        l->returning += s->st.returning;
        l->ready += s->st.ready;
        l->active += s->st.active;
        if (s->state == SEG_OPEN && !s->want_seal && !s->node->draining)
            l->room += s->capacity - s->st.joined;
    }
}

/* PROTOCOL.md section 5: bounds only fall, so what is sent only falls. */
static void lane_aheads(struct mng *m, struct mlane *l)
{
    uint64_t run = 0;
    bool known = true;

    list_each(&l->segs, it) {
        struct mseg *s = list_seg(it);

        s->ahead = run;
        s->ahead_known = known;
        if (known && s->confirmed && s->ahead != s->ahead_sent && seg_reachable(s) &&
            !(s->st.state == SEG_SEALED && s->st.waiting == 0)) {
            node_ahead(m, s->node, s->id, s->ahead);
            s->ahead_sent = s->ahead;
        }
        run += seg_bound(s);
        if (!s->known && s->confirmed && s->state != SEG_LOST)
            known = false;
    }
}

static struct mseg *next_open(const struct mlane *l, const struct mseg *s)
{
    for (struct list_node *it = list_next(&l->segs, &s->in_lane); it != NULL;
         it = list_next(&l->segs, it)) {
        struct mseg *x = list_seg(it);

        if (x->kind == OPEN_TAIL && !x->confirmed)
            return NULL; /* its turn comes first */
        if (x->state == SEG_OPEN)
            return x;
    }
    return NULL;
}

/* A tail that nobody reaches, or whose node is being emptied, is not joined any more. */
static void lane_seal(struct mng *m, struct mlane *l)
{
    list_each(&l->segs, it) {
        struct mseg *s = list_seg(it);
        msec_t down = s->node->peer != 0 ? 0 : m->now_ms - s->node->down_ms;

        if (s->state != SEG_OPEN)
            continue;
        if (down >= MNG_TAIL_AFTER_MS) {
            if (!s->confirmed) {
                seg_lost(m, s); /* nobody knows it: it may as well not be */
                continue;
            }
            log_warn("event=tail_unreachable seg=%llu node=%s", (unsigned long long)s->id,
                     s->node->name);
            s->want_seal = true;
            s->state = SEG_SEALED; /* st.state follows when the node says so */
            seg_used(s);
            seg_todo(m, s);
            queue_mapped(m, l->q);
            queue_keep(m, l->q, false); /* a later manager must not open it again (I3) */
        } else if (s->node->draining && s->confirmed && !s->want_seal &&
                   next_open(l, s) != NULL) {
            s->want_seal = true;
            s->want_next = next_open(l, s)->id;
            wish(m, s);
        }
    }
}

static void lane_nexts(struct mng *m, struct mlane *l)
{
    list_each(&l->segs, it) {
        struct mseg *s = list_seg(it);
        struct mseg *next;

        if (!s->confirmed || !s->known || s->state == SEG_LOST || s->st.next != 0 ||
            s->want_next != 0)
            continue;
        next = next_open(l, s);
        if (next == NULL)
            continue;
        s->want_next = next->id;
        wish(m, s);
    }
}

/* Ids are reserved in the store some at a time: one given out is never given again. */
seg_id seg_id_take(struct mng *m)
{
    if (m->next_seg >= m->seg_reserved) {
        m->seg_reserved = m->next_seg + MNG_SEG_IDS;
        m->put_meta = true;
    }
    return m->next_seg++;
}

static bool open_one(struct mng *m, struct mlane *l)
{
    struct mseg *last = list_seg(list_last(&l->segs));
    struct mnode *n = place_pick(m, last, NULL);
    struct mseg *s;

    if (n == NULL)
        return false;
    s = seg_new(m, l, n, seg_id_take(m), (uint32_t)l->q->def.segment_capacity, OPEN_TAIL,
                NULL);
    if (s == NULL)
        return false;
    if (last != NULL)
        s->ahead = last->ahead + seg_bound(last);
    l->room += s->capacity;
    queue_keep(m, l->q, false);
    m->count.opened++;
    log_info("event=segment_opened seg=%llu queue=%s lane=%u node=%s",
             (unsigned long long)s->id, l->q->def.name, l->no, n->name);
    wish(m, s);
    return true;
}

/* Room for what will join until the next look, and never less than the threshold. */
static void lane_open(struct mng *m, struct mlane *l)
{
    const struct queue_def *d = &l->q->def;
    uint64_t capacity = (uint64_t)d->segment_capacity;
    uint64_t want = (uint64_t)((1.0 - d->open_next_at) * (double)capacity);
    unsigned open = 0;

    want = u64_max(u64_max(want, 1), (uint64_t)l->join_per_s);
    if (d->state == DEF_CLOSED || !m->started)
        return;
    list_each(&l->segs, it)
        open += list_seg(it)->state == SEG_OPEN;
    while (l->room < want && open < MNG_OPEN_MAX && open_one(m, l))
        open++;
}

static bool seg_over(const struct mseg *s)
{
    return s->known && s->st.state == SEG_SEALED && s->st.waiting == 0 &&
           s->st.returning == 0 && s->st.records == 0 && s->move == NULL &&
           s->st.move == 0 && s->state == SEG_SEALED;
}

static void lane_remove(struct mng *m, struct mlane *l)
{
    list_each(&l->segs, it) {
        struct mseg *s = list_seg(it);

        if (s->state == SEG_LOST && m->now_ms - s->lost_ms > MNG_LOST_KEEP_MS) {
            seg_unlink(m, s);
            queue_keep(m, l->q, false);
            queue_mapped(m, l->q);
        } else if (seg_over(s) && !s->want_remove) {
            s->want_remove = true;
            queue_keep(m, l->q, false); /* over, not lost, for a later manager, too */
            wish(m, s);
        } else if (s->want_remove && !s->force && !seg_over(s)) {
            s->want_remove = false; /* somebody came back inside the grace */
            queue_keep(m, l->q, false);
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
    log_info("event=queue_%s queue=%s waiting=%llu", full ? "full" : "not_full",
             q->def.name, (unsigned long long)waiting);
    queue_mapped(m, q);
}

void lane_plan(struct mng *m, struct mlane *l)
{
    lane_sum(l);
    lane_seal(m, l);
    lane_sum(l); /* what was sealed has no room */
    if (l->no < l->q->n_lanes)
        lane_open(m, l);
    lane_nexts(m, l);
    lane_remove(m, l);
    moves_plan(m, l);
    lane_sum(l);
    lane_aheads(m, l);
    queue_limit(m, l->q);
}

/* ---- how often waiters are told to poll ------------------------------------------ */

static bool pace_differs(const struct pace *a, const struct pace *b)
{
    uint32_t d = a->us_per_place > b->us_per_place ? a->us_per_place - b->us_per_place
                                                   : b->us_per_place - a->us_per_place;

    return a->min_ms != b->min_ms || a->max_ms != b->max_ms ||
           (uint64_t)d * 20 > b->us_per_place;
}

/* Lanes share the queue's budget as they share its waiters. */
void lane_pace(struct mng *m, struct mlane *l)
{
    const struct queue_def *d = &l->q->def;
    uint64_t all = 0;
    double share;
    struct pace p;

    for (unsigned i = 0; i < l->q->n_lanes; i++)
        all += l->q->lane[i].waiting;
    share = all != 0 ? (double)l->waiting / (double)all : 1.0;
    p = pace_plan(l->waiting, (uint32_t)((double)d->poll_budget_per_s * share + 0.5),
                  (uint32_t)d->poll_min_ms, (uint32_t)d->poll_max_ms);
    if (!pace_differs(&p, &l->pace))
        return;
    l->pace = p;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->node[i] != NULL && m->node[i]->registered)
            lane_pace_to(m, l, m->node[i]);
}

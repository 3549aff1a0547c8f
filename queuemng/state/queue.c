/* queue.c: queues by name and number, and their state as others see it. */
#include "queuemng/state/queue.h"

#include <assert.h>
#include <string.h>

#include "queuemng/state/marks.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

/* ---- people inside ---- */

static bool is_certain(const struct mseg *s)
{
    return seg_is_reported(s) && !seg_is_lost(s) && !seg_is_uncertain(s);
}

/* Stored releases of the segment, and of what was moved into it, that may be inside. */
static uint64_t by_marks(const struct mng *m, const struct mlane *l, const struct mseg *s)
{
    int64_t life = seg_is_lost(s) ? l->q->def.pass_ttl_ms : queue_session_ms(&l->q->def);
    uint64_t n = 0;

    for (uint32_t i = 0; i < l->n_chunks; i++)
        for (uint32_t k = 0; k < l->chunk[i]->n; k++) {
            const struct mark_row *r = &l->chunk[i]->v[k];

            if ((r->seg == s->id || alias_of(l, r->seg) == s->id) &&
                r->at_ms + life >= m->wall_ms)
                n += r->end - r->from;
        }
    return n;
}

static uint64_t seg_inside(const struct mng *m, const struct mseg *s)
{
    uint64_t n = (uint64_t)s->st.ready + s->st.active + s->unconfirmed + s->credit.open;
    uint64_t marks;

    if (is_certain(s))
        return n;
    marks = by_marks(m, s->lane, s);
    return marks > n ? marks : n;
}

/* By both clocks, as for marks: the wall clock may have leapt. */
static uint64_t unreported_n(const struct mng *m, const struct mqueue *q,
                             const struct munreported *u)
{
    bool over = m->wall_ms > u->until_ms &&
                m->now_ms - u->since_ms > queue_unreported_ms(&q->def);

    return over ? 0 : u->n;
}

static void unreported_set(const struct mng *m, const struct mqueue *q, struct munreported *u,
                           uint64_t n)
{
    u->n = n;
    u->until_ms = m->wall_ms + queue_unreported_ms(&q->def);
    u->since_ms = m->now_ms;
}

uint64_t slots_flushed(const struct mng *m, const struct mqueue *q)
{
    return unreported_n(m, q, &q->flushed);
}

void slots_flush(const struct mng *m, struct mqueue *q)
{
    unreported_set(m, q, &q->flushed, slots_inside(m, q));
    q->lost.n = 0;
}

void slots_lost(const struct mng *m, struct mseg *s)
{
    struct mqueue *q = s->lane->q;

    assert(!seg_is_lost(s)); /* else it counts by its stored releases already */
    s->lost_inside = seg_inside(m, s);
    if (q->def.mode != MODE_RATE && s->lost_inside > 0)
        unreported_set(m, q, &q->lost, unreported_n(m, q, &q->lost) + s->lost_inside);
}

/* The time of the lost may be over, or run on with what was lost since: then they stay counted. */
void slots_found(const struct mng *m, struct mseg *s)
{
    struct mqueue *q = s->lane->q;

    if (q->lost.n >= s->lost_inside && m->now_ms - s->lost_ms <= queue_unreported_ms(&q->def))
        q->lost.n -= s->lost_inside;
    s->lost_inside = 0;
}

uint64_t slots_inside(const struct mng *m, const struct mqueue *q)
{
    uint64_t n = slots_flushed(m, q) + unreported_n(m, q, &q->lost);

    for (unsigned i = 0; i < q->n_lanes; i++) {
        const struct mlane *l = &q->lane[i];

        n += l->pop.busy ? l->pop.n : 0;
        each_seg(l, s)
            n += seg_inside(m, s);
    }
    return n;
}

bool slots_known(const struct mqueue *q)
{
    for (unsigned i = 0; i < q->n_lanes; i++)
        each_seg(&q->lane[i], s)
            if (s->phase == SEG_STORED && !seg_is_lost(s))
                return false;
    return true;
}

uint64_t slots_free(const struct mng *m, const struct mqueue *q)
{
    uint64_t inside, max = (uint64_t)q->def.max_active;

    assert(q->def.max_active >= 0);
    if (q->def.mode == MODE_RATE)
        return UINT64_MAX;
    if (!slots_known(q))
        return 0;
    inside = slots_inside(m, q);
    return inside < max ? max - inside : 0;
}

/* ---- queues and lanes ---- */

#define QUIET_MS 2000 /* a poll is reported at most this long after it came */

static uint64_t name_key(const char *name)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a; map.h mixes it with its own seed */

    for (; *name != '\0'; name++)
        h = (h ^ (uint8_t)*name) * 0x100000001b3u;
    return h;
}

unsigned def_lane_count(const struct queue_def *d)
{
    return d->lanes.n != 0 ? (unsigned)d->lanes.n : 1;
}

const char *def_lane_name(const struct queue_def *d, unsigned i)
{
    assert(i < def_lane_count(d));
    return d->lanes.n != 0 ? ((const struct def_lane *)d->lanes.v)[i].name : "default";
}

struct mqueue *queue_by_id(const struct mng *m, queue_id id)
{
    return map_get_ptr(&m->queue_by_id, id);
}

/* A name whose hash collides is kept under the next key: names are compared. */
struct mqueue *queue_find(const struct mng *m, const char *name)
{
    for (uint64_t key = name_key(name);; key++) {
        uint64_t id = map_get(&m->queue_by_name, key);
        struct mqueue *q;

        if (id == MAP_NONE)
            return NULL;
        q = queue_by_id(m, (queue_id)id);
        if (q != NULL && strcmp(q->def.name, name) == 0)
            return q;
    }
}

struct mqueue *queue_deleted(const struct mng *m, const char *name)
{
    each_queue(m, q) {
        if (q->deleted_until_ms != 0 && strcmp(q->def.name, name) == 0)
            return q;
    }
    return NULL;
}

/* id 0 = a tombstone, so that the chain of colliding keys stays whole */
static int name_set(struct mng *m, const char *name, queue_id old, queue_id id)
{
    for (uint64_t key = name_key(name);; key++) {
        uint64_t v = map_get(&m->queue_by_name, key);

        if (v == MAP_NONE || v == old)
            return map_set(&m->queue_by_name, key, id);
    }
}

int queue_name(struct mng *m, const struct mqueue *q)
{
    assert(q->def.name != NULL && q->id != 0);
    return name_set(m, q->def.name, 0, q->id);
}

void queue_unname(struct mng *m, const struct mqueue *q)
{
    (void)name_set(m, q->def.name, q->id, 0); /* overwrites: cannot fail */
}

bool sched_holds(const struct mqueue *q)
{
    return q->sched.phase == SCHED_EARLY || q->sched.phase == SCHED_PREQUEUE;
}

bool queue_is_free(const struct mqueue *q)
{
    return q->def.state == DEF_PASSTHROUGH ||
           (q->def.shadow && q->def.state != DEF_REJECT && !sched_holds(q));
}

bool queue_wants_room(const struct mqueue *q)
{
    bool now = q->sched.phase == SCHED_PLAIN || q->sched.phase == SCHED_PREQUEUE;

    return q->def.state != DEF_CLOSED && q->def.state != DEF_REJECT &&
           (now || q->def.state == DEF_PASSTHROUGH);
}

/* People may join now. */
static bool queue_takes_joins(const struct mqueue *q)
{
    return queue_wants_room(q) && (q->sched.phase != SCHED_PREQUEUE || q->early_ready);
}

uint8_t queue_map_state(const struct mqueue *q)
{
    if (!queue_takes_joins(q))
        return QUEUE_CLOSED;
    if (q->full)
        return QUEUE_FULL;
    return !queue_is_free(q) && (q->def.state == DEF_PAUSED || q->sched.phase == SCHED_PREQUEUE)
               ? QUEUE_PAUSED
               : QUEUE_OPEN;
}

static uint8_t queue_phase(const struct mqueue *q)
{
    if (q->def.state == DEF_PASSTHROUGH)
        return PHASE_PASSTHROUGH;
    if (q->def.state == DEF_REJECT)
        return PHASE_REJECT;
    if (q->def.state == DEF_CLOSED)
        return PHASE_PLAIN;
    switch ((enum schedule_phase)q->sched.phase) {
    case SCHED_EARLY:
        return PHASE_EARLY;
    case SCHED_PREQUEUE:
        return q->early_ready ? PHASE_PREQUEUE : PHASE_EARLY;
    case SCHED_OVER:
        return PHASE_OVER;
    case SCHED_PLAIN:
        break;
    }
    return PHASE_PLAIN;
}

struct map_phase queue_map_phase(const struct mqueue *q)
{
    return (struct map_phase){ .phase = queue_phase(q),
                               .opens_ms = q->sched.opens_ms,
                               .closes_ms = q->sched.closes_ms,
                               .draw = "" };
}

const char *queue_public_state(const struct mqueue *q)
{
    return queue_state_name(queue_phase(q), queue_map_state(q));
}

uint32_t poll_max_longest(const struct mqueue *q)
{
    const struct pace most = { .max_ms = (uint32_t)q->def.poll_max_ms };

    return pace_longest_ms(&most);
}

/* ---- the release under way ------------------------------------------------------- */

double one_tick(const struct mng *m, const struct mqueue *q)
{
    assert(m->opts.tick_ms > 0);
    return q->allowed_per_s * (double)m->opts.tick_ms / 1000.0;
}

void pop_end(struct mng *m, struct mlane *l, uint64_t unused, bool refund)
{
    l->pop.busy = false;
    l->pop.left = 0;
    if (unused != 0 && refund)
        release_refund(&l->q->rel, unused, one_tick(m, l->q));
}

void pop_seg_gone(struct mng *m, struct mseg *s)
{
    if (s->lane->pop.busy && s->lane->pop.seg == s->id)
        pop_end(m, s->lane, 0, false);
}

/* A gap counts as silence only above the longest told interval (a single client may poll that
 * rarely) and above half of `away` (a person who returns in the other half is not overdue). */
msec_t pop_quiet_ms(const struct mqueue *q)
{
    msec_t ms = q->def.away_ms / 2;

    for (unsigned i = 0; i < q->n_lanes; i++)
        ms = ms_max(ms, q->lane[i].most_ms + QUIET_MS);
    return ms;
}

/* Notes what has changed, for the end of the step. */

void queue_mapped(struct mng *m, struct mqueue *q)
{
    q->map_version = ++m->map_version;
    list_remove(&m->queues, &q->in_all);
    list_push_back(&m->queues, &q->in_all);
}

void map_nodes_changed(struct mng *m)
{
    m->nodes_version = ++m->map_version;
}

void queue_put_later(struct mng *m, struct mqueue *q)
{
    if (!list_linked(&q->in_puts))
        list_push_back(&m->puts, &q->in_puts);
}

void queue_def_changed(struct mng *m, struct mqueue *q)
{
    q->put_def = true;
    queue_put_later(m, q);
}

void queue_chain_changed(struct mng *m, struct mqueue *q)
{
    q->put_chain = true;
    queue_put_later(m, q);
}

void queue_wake(struct mng *m, struct mqueue *q)
{
    if (q->active)
        return;
    assert(!list_linked(&q->in_active));
    q->active = true;
    list_push_back(&m->active, &q->in_active);
}

void queue_urgent(struct mng *m, struct mqueue *q)
{
    if (q->active && !list_linked(&q->in_urgent))
        list_push_back(&m->urgent, &q->in_urgent);
}

void queue_fit_lanes(struct mng *m, struct mqueue *q)
{
    q->n_lanes = def_lane_count(&q->def);
    assert(q->n_lanes >= 1 && q->n_lanes <= LANES_MAX);
    for (unsigned i = 0; i < q->n_lanes; i++)
        lane_touch(m, &q->lane[i]);
}

void lane_touch(struct mng *m, struct mlane *l)
{
    if (l->dirty)
        return;
    assert(!list_linked(&l->in_dirty));
    l->dirty = true;
    list_push_back(&m->dirty_lanes, &l->in_dirty);
}

void seg_todo(struct mng *m, struct mseg *s)
{
    s->ordered_ms = 0;
    if (!list_linked(&s->in_todo))
        list_push_back(&m->todo, &s->in_todo);
}

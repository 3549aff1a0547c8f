/* mng_queue.c: queues, their lanes, and the orders of operators about them. */
#include "queuemng/core/mng_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

#define LOG_MODULE "queue"

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
    return name_set(m, q->def.name, 0, q->id);
}

void queue_unname(struct mng *m, const struct mqueue *q)
{
    (void)name_set(m, q->def.name, q->id, 0); /* overwrites: cannot fail */
}

bool queue_wants_room(const struct mqueue *q)
{
    bool now = q->sched.phase == SCHED_PLAIN || q->sched.phase == SCHED_PREQUEUE;

    return q->def.state != DEF_CLOSED && q->def.state != DEF_REJECT &&
           (now || q->def.state == DEF_PASSTHROUGH);
}

bool queue_takes_joins(const struct mqueue *q)
{
    return queue_wants_room(q) && (q->sched.phase != SCHED_PREQUEUE || q->early_ready);
}

uint8_t queue_map_state(const struct mqueue *q)
{
    if (!queue_takes_joins(q))
        return QUEUE_CLOSED;
    if (q->full)
        return QUEUE_FULL;
    return q->def.state == DEF_PAUSED || q->sched.phase == SCHED_PREQUEUE ? QUEUE_PAUSED
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

struct mqueue *queue_new(struct mng *m, queue_id id)
{
    struct mqueue *q = calloc(1, sizeof(*q));

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

        list_each(&l->segs, it)
            seg_unlink(m, container_of(it, struct mseg, in_lane));
        if (list_linked(&l->in_dirty))
            list_remove(&m->dirty_lanes, &l->in_dirty);
        free(l->alias);
        marks_forget(m, l, false);
    }
    if (q->active)
        list_remove(&m->active, &q->in_active);
    if (list_linked(&q->in_puts))
        list_remove(&m->puts, &q->in_puts);
    if (list_linked(&q->in_hurry))
        list_remove(&m->hurry, &q->in_hurry);
    list_remove(&m->queues, &q->in_all);
    map_del(&m->queue_by_id, q->id);
    if (q->deleted_until_ms != 0)
        m->n_deleted--;
    else if (q->def.name != NULL)
        queue_unname(m, q);
    cfg_clear(&q->def, queue_def_keys);
    free(q);
}

void queue_mapped(struct mng *m, struct mqueue *q)
{
    q->map_version = ++m->map_version;
    list_remove(&m->queues, &q->in_all);
    list_push_back(&m->queues, &q->in_all);
}

void queue_keep(struct mng *m, struct mqueue *q, bool def)
{
    q->put_def |= def;
    q->put_chain |= !def;
    queue_put_later(m, q);
}

void queue_put_later(struct mng *m, struct mqueue *q)
{
    if (!list_linked(&q->in_puts))
        list_push_back(&m->puts, &q->in_puts);
}

void queue_fit_lanes(struct mng *m, struct mqueue *q)
{
    q->n_lanes = def_lane_count(&q->def);
    for (unsigned i = 0; i < q->n_lanes; i++)
        lane_touch(m, &q->lane[i]);
}

static uint32_t clamp_u32(int64_t v)
{
    return v < 0 ? 0 : v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

void queue_rules_to(struct mng *m, const struct mqueue *q, struct mnode *n)
{
    struct arena *a = &m->out->box.mem;
    struct msg_rules *r = &mng_to(m, n->peer, MSG_RULES)->rules;

    r->epoch = m->epoch;
    r->queue = q->id;
    r->name = arena_strdup(a, q->def.name);
    r->issuer = m->issuer;
    r->idle_ms[CLIENT_GAME] = clamp_u32(q->def.idle.game_ms);
    r->idle_ms[CLIENT_MOBILE] = clamp_u32(q->def.idle.mobile_ms);
    r->idle_ms[CLIENT_BROWSER] = clamp_u32(q->def.idle.browser_ms);
    r->claim_ms = clamp_u32(q->def.claim_ms);
    r->grace_ms = clamp_u32(q->def.grace_ms);
    r->pass_ttl_s = clamp_u32((q->def.pass_ttl_ms + 999) / 1000);
    r->session_hold_s = clamp_u32(queue_hold_ms(&q->def) / 1000);
    r->n_lanes = q->n_lanes;
    for (unsigned i = 0; i < q->n_lanes; i++)
        r->lanes[i] = arena_strdup(a, def_lane_name(&q->def, i));
}

/* ---- orders ---------------------------------------------------------------------- */

/* To every node that hosts something of the queue. */
static void rules_everywhere(struct mng *m, const struct mqueue *q)
{
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        struct mnode *n = m->node[i];

        if (n == NULL || !n->registered)
            continue;
        list_each(&n->segs, it)
            if (container_of(it, struct mseg, on_node)->lane->q == q) {
                queue_rules_to(m, q, n);
                break;
            }
    }
}

/* Certainly nobody is in it: nobody loses a place, or a slot that he has. */
static bool lane_is_empty(const struct mlane *l)
{
    if (l->waiting + l->returning + l->ready + l->active != 0 || l->pop.busy)
        return false;
    list_each(&l->segs, it) {
        const struct mseg *s = list_entry(it, struct mseg, in_lane);

        if (!s->known || s->lost || s->move != NULL || !seg_reachable(s))
            return false;
    }
    return true;
}

static int lanes_may_go(const struct mqueue *q, unsigned from, struct err *e)
{
    for (unsigned i = from; i < q->n_lanes; i++) {
        const struct mlane *l = &q->lane[i];

        if (!lane_is_empty(l))
            return err_set(e, SQ_ECONFLICT,
                           "queue %s: lane %s is removed when nobody is in it: %llu wait, "
                           "%llu are inside. Give no more claims for it; who waits can be "
                           "moved to another lane (.../tickets/{ticket}/move), or sent away "
                           "(flush)",
                           q->def.name, def_lane_name(&q->def, i),
                           (unsigned long long)(l->waiting + l->returning),
                           (unsigned long long)(l->ready + l->active));
    }
    return 0;
}

/* Lanes keep their numbers for ever: some may be added or removed at the end, none renamed
 * (but the first, when the queue is made plain: it is "default" then). */
static int lanes_fit(const struct mqueue *q, const struct queue_def *d, struct err *e)
{
    unsigned n = def_lane_count(d);

    for (unsigned i = 0; i < q->n_lanes && i < n && d->lanes.n != 0; i++)
        if (strcmp(def_lane_name(d, i), def_lane_name(&q->def, i)) != 0)
            return err_set(e, SQ_ECONFLICT,
                           "queue %s: lane %s cannot be renamed or moved; lanes are added and "
                           "removed at the end", d->name, def_lane_name(&q->def, i));
    return lanes_may_go(q, n, e);
}

static int queue_create(struct mng *m, const struct queue_def *d, struct mqueue **out,
                        struct err *e)
{
    struct mqueue *q = queue_new(m, m->next_queue);

    if (q == NULL)
        return err_set(e, SQ_ENOMEM, "queue %s: out of memory", d->name);
    if (cfg_copy(&q->def, sizeof(q->def), queue_def_keys, d) < 0 ||
        queue_name(m, q) < 0) {
        queue_free(m, q);
        return err_set(e, SQ_ENOMEM, "queue %s: out of memory", d->name);
    }
    m->next_queue++;
    m->put_meta = true;
    *out = q;
    return 0;
}

int queue_load(struct mng *m, queue_id id, uint64_t version, const struct queue_def *d,
               const struct queue_undo *undo, struct err *e)
{
    struct mqueue *q = queue_by_id(m, id);

    if (q == NULL)
        q = queue_new(m, id);
    if (q == NULL || cfg_copy(&q->def, sizeof(q->def), queue_def_keys, d) < 0 ||
        (undo->until_ms == 0 && queue_name(m, q) < 0))
        return err_set(e, SQ_ENOMEM, "stored queue %s: out of memory", d->name);
    q->deleted_until_ms = undo->until_ms;
    q->deleted_state = undo->state;
    m->n_deleted += undo->until_ms != 0;
    q->version = version;
    m->next_queue = (queue_id)u64_max(m->next_queue, (uint64_t)id + 1);
    return 0;
}

static int queue_put(struct mng *m, const struct queue_def *d, struct err *e)
{
    struct mqueue *q = queue_find(m, d->name);
    int rc = queue_def_check(d, e);

    if (rc == 0)
        rc = metrics_check(m, d, q != NULL ? &q->def : NULL, e);
    if (rc < 0)
        return rc;
    if (q == NULL) {
        rc = queue_make_way(m, d->name, e);
        if (rc == 0)
            rc = queue_create(m, d, &q, e);
        if (rc < 0)
            return rc;
        log_info("event=queue_created queue=%s id=%u", d->name, q->id);
    } else {
        rc = lanes_fit(q, d, e);
        if (rc < 0)
            return rc;
        if (cfg_equal(&q->def, d, queue_def_keys))
            return 0;
        rc = cfg_copy(&q->def, sizeof(q->def), queue_def_keys, d);
        if (rc < 0)
            return err_set(e, rc, "queue %s: %s", d->name, sq_strerror(rc));
        for (unsigned i = def_lane_count(d); i < q->n_lanes; i++)
            segs_forget(m, &q->lane[i]);
        log_info("event=queue_changed queue=%s version=%llu", d->name,
                 (unsigned long long)q->version + 1);
    }
    q->version++;
    q->stats_dirty = true;
    sched_set(m, q);
    queue_keep(m, q, true);
    if (def_lane_count(d) < q->n_lanes)
        queue_keep(m, q, false);
    queue_fit_lanes(m, q);
    rules_everywhere(m, q);
    queue_mapped(m, q);
    if (q->version > 1)
        queue_figures_now(m, q);
    return 0;
}

int mng_queue_put(struct mng *m, msec_t now_ms, const struct queue_def *d,
                  struct mng_out *out, struct err *e)
{
    int rc;

    mng_begin(m, now_ms, out);
    rc = queue_put(m, d, e);
    mng_end(m);
    return rc;
}

/* Nodes forget the segments of a queue that is deleted or flushed; one that cannot be
 * reached now is told when it reports a segment that nobody knows. */
void segs_forget(struct mng *m, struct mlane *l)
{
    list_each(&l->segs, it) {
        struct mseg *s = container_of(it, struct mseg, in_lane);

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

const struct queue_def *mng_queue_get(const struct mng *m, const char *name,
                                      uint64_t *version)
{
    const struct mqueue *q = queue_find(m, name);

    if (q == NULL)
        return NULL;
    if (version != NULL)
        *version = q->version;
    return &q->def;
}

static void queue_flush(struct mng *m, struct mqueue *q)
{
    log_warn("event=queue_flushed queue=%s", q->def.name);
    slots_flush(m, q);
    for (unsigned i = 0; i < q->n_lanes; i++) {
        segs_forget(m, &q->lane[i]);
        lane_touch(m, &q->lane[i]);
    }
    queue_keep(m, q, false);
}

int mng_order(struct mng *m, msec_t now_ms, const char *queue, enum mng_order o,
              struct mng_out *out, struct err *e)
{
    static const int state_of[] = {
        [MNG_PAUSE] = DEF_PAUSED,
        [MNG_RESUME] = DEF_OPEN,
        [MNG_CLOSE] = DEF_CLOSED,
        [MNG_OPEN] = DEF_OPEN,
        [MNG_PASSTHROUGH] = DEF_PASSTHROUGH,
        [MNG_REJECT] = DEF_REJECT,
    };
    struct mqueue *q = queue_find(m, queue);

    if (q == NULL)
        return err_set(e, SQ_EUNKNOWN, "no queue %s", queue);
    mng_begin(m, now_ms, out);
    if (o == MNG_FLUSH) {
        queue_flush(m, q);
    } else if (q->def.state != state_of[o]) {
        q->def.state = state_of[o];
        q->version++;
        q->stats_dirty = true;
        queue_keep(m, q, true);
        log_info("event=queue_state queue=%s state=%s", queue,
                 def_state_names[q->def.state]);
        queue_fit_lanes(m, q); /* while it was closed nobody looked if it has a tail */
    }
    queue_mapped(m, q);
    queue_figures_now(m, q);
    mng_end(m);
    return 0;
}

int mng_release(struct mng *m, msec_t now_ms, const char *queue, uint64_t n,
                struct mng_out *out, struct err *e)
{
    struct mqueue *q = queue_find(m, queue);

    if (q == NULL)
        return err_set(e, SQ_EUNKNOWN, "no queue %s", queue);
    if (sched_holds(q))
        return err_set(e, SQ_ECONFLICT, "queue %s is not open yet: who is early has no place",
                       queue);
    mng_begin(m, now_ms, out);
    pops_by_hand(m, q, n);
    log_info("event=release_by_hand queue=%s n=%llu", queue, (unsigned long long)n);
    pops_tick(m, q);
    mng_end(m);
    return 0;
}

int mng_drain(struct mng *m, msec_t now_ms, const char *node, bool on, struct mng_out *out,
              struct err *e)
{
    struct mnode *n = node_by_name(m, node);

    if (n == NULL)
        return err_set(e, SQ_EUNKNOWN, "no node %s", node);
    mng_begin(m, now_ms, out);
    if (n->draining != on) {
        n->draining = on;
        node_put(m, n);
        log_info("event=drain node=%s on=%d segments=%zu", node, on, n->segs.n);
    }
    list_each(&n->segs, it)
        lane_touch(m, container_of(it, struct mseg, on_node)->lane);
    if (!on)
        lanes_look(m);
    mng_end(m);
    return 0;
}

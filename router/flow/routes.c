/* routes.c: every question is one or two table look-ups; then how maps get in. */
#include "router/flow/routes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "router/flow/routes_queue.h"

#define ALIAS_HOPS 8 /* the manager keeps aliases final; more hops than this are a loop */

struct routes *routes_new(void)
{
    struct routes *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return NULL;
    map_init(&r->queues, 0); /* all keys are the manager's own numbers */
    map_init(&r->names, 0);
    map_init(&r->segs, 0);
    map_init(&r->aliases, 0);
    return r;
}

void routes_free(struct routes *r)
{
    if (r == NULL)
        return;
    routes_forget(r);
    free(r);
}

uint64_t routes_version(const struct routes *r)
{
    return r->version;
}

uint64_t routes_epoch(const struct routes *r)
{
    return r->epoch;
}

uint64_t routes_store(const struct routes *r)
{
    return r->store;
}

void routes_disown(struct routes *r)
{
    r->store = r->epoch = 0;
}

size_t routes_nodes(const struct routes *r, const struct route_node **v)
{
    *v = r->nodes;
    return r->n_nodes;
}

size_t routes_keys(const struct routes *r, const uint8_t (**keys)[32])
{
    *keys = (const uint8_t(*)[32])r->keys;
    return r->n_keys;
}

uint64_t routes_keys_generation(const struct routes *r)
{
    return r->keys_generation;
}

uint64_t routes_changes(const struct routes *r)
{
    return r->changes;
}

void routes_stats(struct routes *r, const struct msg_stats *s)
{
    r->changes++;
    for (uint32_t i = 0; i < s->n; i++) {
        const struct queue_stats *from = &s->queues[i];
        struct rt_queue *q = map_get_ptr(&r->queues, from->id);

        if (q == NULL)
            continue; /* figures of a queue that the map has not named yet */
        q->pub.stats = *from;
        memset(q->limited_by, 0, sizeof(q->limited_by));
        if (from->limited_by != NULL)
            strncpy(q->limited_by, from->limited_by, sizeof(q->limited_by) - 1);
        q->pub.stats.limited_by = q->limited_by;
    }
}

uint64_t routes_entry(const struct routes *r, queue_id id)
{
    const struct rt_queue *q = map_get_ptr(&r->queues, id);

    return q != NULL && q->pub.map.state == QUEUE_OPEN ? q->pub.stats.entry : 0;
}

const struct route_queue *routes_queue(const struct routes *r, const char *name, size_t n)
{
    const struct rt_queue *q = map_get_ptr(&r->names, rt_name_hash(name, n));

    while (q != NULL && (strncmp(q->pub.map.name, name, n) != 0 || q->pub.map.name[n] != '\0'))
        q = q->same_hash;
    return q != NULL ? &q->pub : NULL;
}

const struct route_queue *routes_next(const struct routes *r, size_t *i)
{
    uint64_t key, val;

    *i = map_next(&r->queues, *i, &key, &val);
    return *i != 0 ? &((const struct rt_queue *)(uintptr_t)val)->pub : NULL;
}

static bool lost_its_end(const struct rt_lane *l)
{
    return l->n_segs > 0 && l->segs[l->n_segs - 1].state == SEG_LOST;
}

int routes_tail(const struct routes *r, queue_id id, unsigned lane, struct route_tail *t)
{
    const struct rt_queue *q = map_get_ptr(&r->queues, id);
    const struct rt_lane *l;

    if (q == NULL || lane >= q->pub.map.n_lanes)
        return SQ_EUNKNOWN;
    l = &q->lane[lane];
    if (l->tail >= l->n_segs) /* the early ones' is closed, and what follows comes soon */
        return q->pub.map.when.phase == PHASE_PREQUEUE || lost_its_end(l) ? SQ_EUNAVAIL : SQ_EFULL;
    assert(l->segs[l->tail].state == SEG_OPEN);
    t->seg = l->segs[l->tail].id;
    t->node = l->segs[l->tail].node;
    return 0;
}

void routes_sealed(struct routes *r, seg_id seg)
{
    struct rt_seg *s = map_get_ptr(&r->segs, seg);
    struct rt_lane *l;

    if (s == NULL || s->state != SEG_OPEN)
        return;
    s->state = SEG_SEALED;
    assert(s->lane < s->queue->pub.map.n_lanes);
    l = &s->queue->lane[s->lane];
    while (l->tail < l->n_segs && l->segs[l->tail].state != SEG_OPEN)
        l->tail++;
}

int routes_owner(const struct routes *r, seg_id token_seg, struct route_owner *o)
{
    const struct rt_seg *s;
    seg_id id = token_seg;

    for (int hop = 0; hop < ALIAS_HOPS; hop++) {
        uint64_t to;

        s = map_get_ptr(&r->segs, id);
        if (s != NULL) {
            o->seg = s->id;
            o->node = s->node;
            o->queue = &s->queue->pub;
            o->lane = s->lane;
            o->lost = s->state == SEG_LOST;
            return 0;
        }
        to = map_get(&r->aliases, id);
        if (to == MAP_NONE)
            break;
        id = to;
    }
    return id != 0 && id < r->next_seg ? SQ_EGONE : SQ_ESTALE;
}

bool routes_name(const struct routes *r, const struct route_queue *q, unsigned lane, uint32_t *i,
                 struct route_name *n)
{
    const struct rt_queue *own = map_get_ptr(&r->queues, q->map.id);
    const struct rt_lane *l = own != NULL && lane < q->map.n_lanes ? &own->lane[lane] : NULL;
    struct route_owner o;
    uint32_t k = (*i)++;

    if (l == NULL || k >= l->n_segs + l->n_aliases)
        return false;
    if (k < l->n_segs) {
        const struct rt_seg *s = &l->segs[k];

        *n = (struct route_name){
            s->id, s->id, s->node, s->base, s->state == SEG_OPEN, s->state == SEG_LOST
        };
    } else {
        const struct map_alias *a = &l->aliases[k - l->n_segs];

        *n = (struct route_name){ .name = a->from, .base = a->base, .lost = true };
        if (routes_owner(r, a->from, &o) == 0)
            *n = (struct route_name){ a->from, o.seg, o.node, a->base, false, o.lost };
    }
    return true;
}

/* ---- a new map, frame by frame ---- */

static void free_staged(struct rt_queue *q)
{
    while (q != NULL) {
        struct rt_queue *next = q->staged;

        rt_queue_free(q);
        q = next;
    }
}

static void stage_clear(struct rt_stage *s)
{
    free_staged(s->queues);
    free(s->removed);
    free(s->nodes);
    free(s->keys);
    *s = (struct rt_stage){ 0 };
}

void routes_forget(struct routes *r)
{
    uint64_t key, val;

    r->changes++;
    stage_clear(&r->stage);
    for (size_t i = 0; (i = map_next(&r->queues, i, &key, &val)) != 0;)
        rt_queue_free((struct rt_queue *)(uintptr_t)val);
    map_fini(&r->queues);
    map_fini(&r->names);
    map_fini(&r->segs);
    map_fini(&r->aliases);
    map_init(&r->queues, 0);
    map_init(&r->names, 0);
    map_init(&r->segs, 0);
    map_init(&r->aliases, 0);
    free(r->nodes);
    free(r->keys);
    r->nodes = NULL;
    r->keys = NULL;
    r->n_nodes = r->n_keys = 0;
    r->keys_generation++;
    r->version = 0; /* the epoch stays: an older manager is still refused */
    r->next_seg = 0;
}

static int stage_nodes(struct rt_stage *s, const struct msg_map *m)
{
    struct route_node *v = calloc(m->n_nodes > 0 ? m->n_nodes : 1, sizeof(*v));

    if (v == NULL)
        return SQ_ENOMEM;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        v[i].no = m->nodes[i].no;
        strncpy(v[i].name, m->nodes[i].name, sizeof(v[i].name) - 1);
        strncpy(v[i].addr, m->nodes[i].addr, sizeof(v[i].addr) - 1);
    }
    free(s->nodes);
    s->nodes = v;
    s->n_nodes = m->n_nodes;
    s->has_nodes = true;
    return 0;
}

static int stage_keys(struct rt_stage *s, const struct msg_map *m)
{
    uint8_t(*v)[32] = malloc(m->n_keys * sizeof(*v));

    if (v == NULL)
        return SQ_ENOMEM;
    memcpy(v, m->keys, m->n_keys * sizeof(*v));
    free(s->keys);
    s->keys = v;
    s->n_keys = m->n_keys;
    return 0;
}

static int stage_queues(struct rt_stage *s, const struct msg_map *m)
{
    queue_id *removed;

    for (uint32_t i = 0; i < m->n_queues; i++) {
        struct rt_queue *q;

        if (m->queues[i].n_lanes > LANES_MAX)
            return SQ_EPROTO;
        q = rt_queue_new(&m->queues[i]);
        if (q == NULL)
            return SQ_ENOMEM;
        q->staged = s->queues;
        s->queues = q;
    }
    if (m->n_removed == 0)
        return 0;
    removed = realloc(s->removed, (s->n_removed + m->n_removed) * sizeof(*removed));
    if (removed == NULL)
        return SQ_ENOMEM;
    memcpy(removed + s->n_removed, m->removed, m->n_removed * sizeof(*removed));
    s->removed = removed;
    s->n_removed += m->n_removed;
    return 0;
}

static int stage_add(struct rt_stage *s, const struct msg_map *m)
{
    int rc;

    if (s->active && (s->epoch != m->epoch || s->from_version != m->from_version ||
                      s->version != m->version))
        stage_clear(s); /* the link broke in the middle of that one */
    s->active = true;
    s->epoch = m->epoch;
    s->from_version = m->from_version;
    s->version = m->version;
    rc = stage_queues(s, m);
    if (rc == 0 && (m->n_nodes > 0 || !s->has_nodes))
        rc = stage_nodes(s, m);
    if (rc == 0 && m->n_keys > 0)
        rc = stage_keys(s, m);
    return rc;
}

/* ---- the last frame has come --------------------------------------------------------- */

static struct rt_queue *reversed(struct rt_queue *q)
{
    struct rt_queue *out = NULL;

    while (q != NULL) {
        struct rt_queue *next = q->staged;

        q->staged = out;
        out = q;
        q = next;
    }
    return out;
}

static int commit_queues(struct routes *r, struct rt_stage *s)
{
    struct rt_queue *q;

    s->queues = reversed(s->queues);
    while ((q = s->queues) != NULL) {
        struct rt_queue *old = map_get_ptr(&r->queues, q->pub.map.id);

        s->queues = q->staged;
        q->staged = NULL;
        q->stamp = r->stamp;
        assert(old != q);
        rt_queue_inherit(q, r);
        if (old != NULL)
            rt_queue_unlink(r, old);
        if (rt_queue_link(r, q) < 0) {
            rt_queue_unlink(r, q);
            return SQ_ENOMEM;
        }
    }
    return 0;
}

static void drop_queue(struct routes *r, queue_id id)
{
    struct rt_queue *q = map_get_ptr(&r->queues, id);

    if (q != NULL)
        rt_queue_unlink(r, q);
}

/* After a whole map: queues that were not in it are gone. One at a time, since a table
 * must not change under its iterator; such maps are rare, and so are deleted queues. */
static void drop_unstamped(struct routes *r)
{
    struct rt_queue *victim;
    uint64_t key, val;

    do {
        victim = NULL;
        for (size_t i = 0; (i = map_next(&r->queues, i, &key, &val)) != 0;) {
            struct rt_queue *q = (struct rt_queue *)(uintptr_t)val;

            if (q->stamp == r->stamp)
                continue;
            victim = q;
            break;
        }
        if (victim != NULL)
            rt_queue_unlink(r, victim);
    } while (victim != NULL);
}

static void commit_nodes(struct routes *r, struct rt_stage *s)
{
    free(r->nodes);
    r->nodes = s->nodes;
    r->n_nodes = s->n_nodes;
    s->nodes = NULL;
}

static void commit_keys(struct routes *r, struct rt_stage *s)
{
    if (r->n_keys != s->n_keys || memcmp(r->keys, s->keys, s->n_keys * sizeof(*s->keys)) != 0)
        r->keys_generation++;
    free(r->keys);
    r->keys = s->keys;
    r->n_keys = s->n_keys;
    s->keys = NULL;
}

static int commit(struct routes *r, struct rt_stage *s, const struct msg_map *m)
{
    assert(s->active && s->version == m->version);
    r->stamp++;
    if (commit_queues(r, s) < 0)
        return SQ_ENOMEM;
    for (size_t i = 0; i < s->n_removed; i++)
        drop_queue(r, s->removed[i]);
    if (s->from_version == 0)
        drop_unstamped(r);
    commit_nodes(r, s);
    if (s->keys != NULL)
        commit_keys(r, s);
    r->epoch = m->epoch;
    r->store = m->store;
    r->version = m->version;
    r->next_seg = m->next_seg;
    return 0;
}

/* Same epoch: versions count up, a change fits only on the version it was made from. A
 * higher epoch starts its own count and begins with a whole map. */
static bool follows(const struct routes *r, const struct msg_map *m)
{
    if (m->epoch < r->epoch || (r->store != 0 && m->store != 0 && r->store != m->store))
        return false;
    if (m->from_version == 0)
        return m->epoch > r->epoch || m->version >= r->version;
    return m->epoch == r->epoch && m->from_version == r->version;
}

int routes_apply(struct routes *r, const struct msg_map *m)
{
    int rc;

    if (!follows(r, m)) {
        stage_clear(&r->stage);
        return SQ_ESTALE;
    }
    rc = stage_add(&r->stage, m);
    if (rc < 0) {
        stage_clear(&r->stage);
        return rc;
    }
    if (m->more)
        return 0;
    r->changes++;
    rc = commit(r, &r->stage, m);
    stage_clear(&r->stage);
    if (rc < 0)
        routes_forget(r);
    return rc;
}

/* routes.c: looking things up in the chain map. Every question is one or two table
 * look-ups. How maps get in: routes_apply.c. */
#include "router/flow/routes.h"

#include "common/base/err.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "router/flow/routes_apply.h"
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

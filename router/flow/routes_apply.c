/* routes_apply.c: see routes_apply.h. */
#include "router/flow/routes_apply.h"

#include "common/base/err.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "router/flow/routes_queue.h"

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

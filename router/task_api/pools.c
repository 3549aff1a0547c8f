/* pools.c: see pools.h. */
#include "router/task_api/pools.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/text.h"
#include "common/task/rules.h"

void pools_init(struct pools *t)
{
    *t = (struct pools){ 0 };
    arena_init(&t->memory);
    map_init(&t->by_part, 0);
}

void pools_fini(struct pools *t)
{
    map_fini(&t->by_part);
    arena_fini(&t->memory);
}

/* Refuses a partition that the map names twice. */
static int add_part(struct pools *t, const struct map_part *p, const struct map_pool *of, const char *cost_says,
                    const char *body_says)
{
    struct task_way *w = arena_alloc(&t->memory, sizeof(*w));

    if (w == NULL)
        return SQ_ENOMEM;
    if (p->part == 0 || map_get_ptr(&t->by_part, p->part) != NULL)
        return SQ_EPROTO;
    *w = (struct task_way){ p->part, of->n, p->epoch, p->node, of->max_body, of->endpoint, of->url,
                             of->cancel_on_disconnect, of->cost, of->max_cost, cost_says, body_says,
                             of->match };
    return map_set_ptr(&t->by_part, p->part, w);
}

/* The urls, with blanks between them. NULL: no memory. */
static const char *join_urls(struct pools *t, const struct map_pool *from)
{
    size_t n = strlen(from->url) + 1;
    char *all, *w;

    for (uint32_t i = 1; i < from->n_urls; i++)
        n += strlen(from->urls[i]) + 1;
    w = all = arena_alloc(&t->memory, n);
    if (all == NULL)
        return NULL;
    w = stpcpy(w, from->url);
    for (uint32_t i = 1; i < from->n_urls; i++) {
        *w++ = ' ';
        w = stpcpy(w, from->urls[i]);
    }
    return all;
}

static const char *says_most(struct pools *t, const char *before, uint32_t most, const char *behind)
{
    char text[120];

    snprintf(text, sizeof(text), "%s%u%s", before, (unsigned)most, behind);
    return arena_strdup(&t->memory, text);
}

static int add_pool(struct pools *t, struct map_pool *to, const struct map_pool *from)
{
    const char *cost = says_most(t, "the cost is beyond what its pool allows: 1 to ", from->max_cost,
                                 " units (max_cost)");
    const char *body = says_most(t, "the payload, or body, is larger than its pool allows: at most ",
                                 from->max_body != 0 ? from->max_body : TASK_BODY_MAX, " bytes (max_body)");
    int rc = 0;

    *to = *from;
    to->match = arena_strdup(&t->memory, from->match);
    to->endpoint = arena_strdup(&t->memory, from->endpoint);
    to->url = join_urls(t, from);
    to->cost.pointer = cost_has_rule(&from->cost) ? arena_strdup(&t->memory, from->cost.pointer) : "";
    to->urls = NULL;
    to->n_urls = 0;
    to->v = arena_memdup(&t->memory, from->v, from->n * sizeof(*from->v));
    if (to->match == NULL || to->endpoint == NULL || to->url == NULL || to->v == NULL ||
        to->cost.pointer == NULL || cost == NULL || body == NULL)
        return SQ_ENOMEM;
    if (from->n == 0 || !queue_match_ok(from->match))
        return SQ_EPROTO;
    for (uint32_t i = 0; rc == 0 && i < from->n; i++)
        rc = add_part(t, &from->v[i], to, cost, body);
    return rc;
}

static int add_route(struct pools *t, struct map_route *to, const struct map_route *from)
{
    bool ok;

    *to = *from;
    to->name = arena_strdup(&t->memory, from->name);
    to->pointer = arena_strdup(&t->memory, from->pointer);
    to->endpoint = arena_strdup(&t->memory, from->endpoint);
    to->match = arena_array(&t->memory, from->n_match, sizeof(*to->match));
    ok = to->name != NULL && to->pointer != NULL && to->endpoint != NULL && to->match != NULL;
    for (uint32_t i = 0; ok && i < from->n_match; i++)
        ok = (to->match[i] = arena_strdup(&t->memory, from->match[i])) != NULL;
    return ok ? 0 : SQ_ENOMEM;
}

static int copy(struct pools *t, const struct msg_task_map *m)
{
    int rc = 0;

    t->known = true;
    t->map = *m;
    t->map.nodes = arena_array(&t->memory, m->n_nodes, sizeof(*m->nodes));
    t->map.pools = arena_array(&t->memory, m->n_pools, sizeof(*m->pools));
    t->map.routes = arena_array(&t->memory, m->n_routes, sizeof(*m->routes));
    if (t->map.nodes == NULL || t->map.pools == NULL || t->map.routes == NULL)
        return SQ_ENOMEM;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        struct map_task_node *n = &t->map.nodes[i];

        *n = (struct map_task_node){ m->nodes[i].no, arena_strdup(&t->memory, m->nodes[i].name),
                                     arena_strdup(&t->memory, m->nodes[i].addr) };
        if (n->name == NULL || n->addr == NULL)
            return SQ_ENOMEM;
    }
    for (uint32_t i = 0; rc == 0 && i < m->n_pools; i++)
        rc = add_pool(t, &t->map.pools[i], &m->pools[i]);
    for (uint32_t i = 0; rc == 0 && i < m->n_routes; i++)
        rc = add_route(t, &t->map.routes[i], &m->routes[i]);
    return rc;
}

int pools_apply(struct pools *t, const struct msg_task_map *m)
{
    struct pools fresh;
    int rc;

    if (m->epoch < t->map.epoch)
        return SQ_ESTALE;
    pools_init(&fresh);
    rc = copy(&fresh, m);
    if (rc < 0) {
        pools_fini(&fresh);
        return rc;
    }
    pools_fini(t);
    *t = fresh;
    return 0;
}

const struct task_way *pools_of_queue(const struct pools *t, const char *name, size_t n)
{
    return pools_of_queue_at(t, name, n, 0);
}

/* The pool that has the queue: the first that matches and does not leave it out; of such that all do, the
 * first. NULL: none matches. */
static const struct map_pool *own_pool(const struct pools *t, const char *name, size_t n)
{
    const struct map_pool *first = NULL;

    for (const struct map_pool *p = t->map.pools; p < t->map.pools + t->map.n_pools; p++) {
        if (!queue_matches(p->match, name, n))
            continue;
        if (p->left_out == 0 || queue_is_among(name, n, 100u - p->left_out))
            return p;
        first = first != NULL ? first : p;
    }
    return first;
}

static const struct task_way *way_in(const struct pools *t, const struct map_pool *p, const char *name, size_t n)
{
    assert(p->n > 0); /* add_pool() has seen to it */
    return pools_of_part(t, p->v[part_share(name, n, p->n)].part);
}

const struct task_way *pools_of_queue_at(const struct pools *t, const char *name, size_t n,
                                         uint32_t place)
{
    const struct map_pool *own = own_pool(t, name, n);

    if (own == NULL || place == 0)
        return own != NULL ? way_in(t, own, name, n) : NULL;
    for (const struct map_pool *p = t->map.pools; p < t->map.pools + t->map.n_pools; p++)
        if (p != own && queue_matches(p->match, name, n) && --place == 0)
            return way_in(t, p, name, n);
    return NULL;
}

uint32_t pools_count_of(const struct pools *t, const char *name, size_t n)
{
    uint32_t k = 1;

    while (k < POOLS_OF_QUEUE_MOST && pools_of_queue_at(t, name, n, k) != NULL)
        k++;
    return k;
}

const char *pools_queue_of(const struct pools *t, const char *endpoint, size_t n)
{
    const struct task_way *own = pools_of_queue(t, endpoint, n);
    const char *found = NULL;

    if (own != NULL && text_is(endpoint, n, own->endpoint))
        return own->endpoint;
    for (uint32_t i = 0; i < t->map.n_pools; i++) {
        const struct map_pool *p = &t->map.pools[i];

        if (!text_is(endpoint, n, p->endpoint))
            continue;
        if (found != NULL)
            return NULL;
        found = p->match;
    }
    return found != NULL && queue_name_ok(found, strlen(found)) ? found : NULL;
}

const struct task_way *pools_of_part(const struct pools *t, part_no part)
{
    return map_get_ptr(&t->by_part, part);
}

/* regions.c: see the header. Pure. */
#include "rehearse/regions.h"

#include <limits.h>
#include <math.h>
#include <string.h>

unsigned regions_no(const struct night *n, const char *name)
{
    const struct night_region *v = n->cluster.regions.v;

    for (unsigned i = 0; i < n->cluster.regions.n; i++)
        if (name != NULL && strcmp(v[i].region, name) == 0)
            return i;
    return UINT_MAX;
}

const char *regions_name(const struct night *n, unsigned no)
{
    return n->cluster.regions.n > 0 ? ((const struct night_region *)n->cluster.regions.v)[no].region : "";
}

unsigned regions_of(const struct night *n, uint32_t person)
{
    const struct night_region *v = n->cluster.regions.v;
    double part = (double)((person * 3266489917u) >> 8) / 16777216.0 * 100;
    unsigned no = 0;

    while (no + 1 < n->cluster.regions.n && part >= v[no].people)
        part -= v[no++].people;
    return no;
}

/* ---- what is given ---- */

/* Milliseconds as the file says them for this direction; -1: nothing. */
static int64_t said_way(const struct night *n, unsigned from, unsigned to)
{
    const struct night_way *v = n->cluster.ways.v;

    for (size_t i = 0; i < n->cluster.ways.n; i++)
        if (regions_no(n, v[i].from) == from && regions_no(n, v[i].to) == to)
            return v[i].ms;
    return -1;
}

static int ways_check(const struct night *n, struct err *e)
{
    const struct night_way *v = n->cluster.ways.v;
    unsigned regions = (unsigned)n->cluster.regions.n;

    for (size_t i = 0; i < n->cluster.ways.n; i++) {
        const char *const ends[] = { v[i].from, v[i].to };

        for (unsigned k = 0; k < 2; k++)
            if (regions_no(n, ends[k]) == UINT_MAX)
                return err_set(e, SQ_EINVAL, "cluster.ways[%zu].%s: there is no region \"%s\" in cluster.regions", i,
                               k == 0 ? "from" : "to", ends[k]);
        if (strcmp(v[i].from, v[i].to) == 0)
            return err_set(e, SQ_EINVAL, "cluster.ways[%zu].to: a way leads to another region", i);
        for (size_t j = 0; j < i; j++)
            if (strcmp(v[j].from, v[i].from) == 0 && strcmp(v[j].to, v[i].to) == 0)
                return err_set(e, SQ_EINVAL, "cluster.ways[%zu]: from %s to %s is said already", i, v[i].from, v[i].to);
    }
    for (unsigned a = 0; a < regions; a++)
        for (unsigned b = 0; b < a; b++)
            if (said_way(n, a, b) < 0 && said_way(n, b, a) < 0)
                return err_set(e, SQ_EINVAL, "cluster.ways: none between %s and %s; one of from and to is enough",
                               regions_name(n, b), regions_name(n, a));
    return 0;
}

int regions_check(const struct night *n, struct err *e)
{
    const struct night_region *v = n->cluster.regions.v;
    int64_t routers = 0, nodes = 0;
    double people = 0;

    if (n->cluster.regions.n == 0)
        return n->cluster.ways.n == 0 ? 0 : err_set(e, SQ_EINVAL, "cluster.ways: between cluster.regions, of which there are none");
    for (size_t i = 0; i < n->cluster.regions.n; i++) {
        if (regions_no(n, v[i].region) != i)
            return err_set(e, SQ_EINVAL, "cluster.regions[%zu].region: \"%s\" is there already", i, v[i].region);
        routers += v[i].routers;
        nodes += v[i].nodes;
        people += v[i].people;
    }
    if (routers != n->cluster.routers || nodes != n->cluster.nodes)
        return err_set(e, SQ_EINVAL, "cluster.%s: %lld, but cluster.regions have %lld in all",
                       routers != n->cluster.routers ? "routers" : "segment_nodes",
                       (long long)(routers != n->cluster.routers ? n->cluster.routers : n->cluster.nodes),
                       (long long)(routers != n->cluster.routers ? routers : nodes));
    if (fabs(people - 100) > 0.01)
        return err_set(e, SQ_EINVAL, "cluster.regions: people of all are %g percent; 100 are allowed", people);
    return ways_check(n, e);
}

/* ---- while it is played ---- */

void world_add_router(struct world *w, unsigned no, unsigned region)
{
    w->of_router[no] = (uint8_t)region;
    w->router[region][w->routers[region]++] = (uint16_t)no;
}

void world_init(struct world *w, const struct night *n)
{
    const struct night_region alone = { .routers = n->cluster.routers, .nodes = n->cluster.nodes };
    const struct night_region *v = n->cluster.regions.n > 0 ? n->cluster.regions.v : &alone;
    unsigned router = 0, node = 0;

    w->n = n->cluster.regions.n > 0 ? (unsigned)n->cluster.regions.n : 1;
    for (unsigned a = 0; a < w->n; a++) {
        for (int64_t i = 0; i < v[a].routers; i++)
            world_add_router(w, router++, a);
        for (int64_t i = 0; i < v[a].nodes; i++)
            w->of_node[node++] = (uint8_t)a;
        for (unsigned b = 0; b < w->n; b++) {
            int64_t ms = said_way(n, a, b);

            if (ms < 0 && a != b)
                ms = said_way(n, b, a);
            w->way[a][b] = (uint32_t)(ms > 0 ? ms : 0);
        }
    }
}

bool world_second(struct world *w, const struct night *n, uint32_t now_ms)
{
    struct region_joins sum[REGIONS_MAX];
    unsigned regions = 0;

    for (unsigned i = 0; i < w->n; i++) {
        w->per_s[i] += (w->joined[i] - w->per_s[i]) / 20;
        w->joined[i] = 0;
        region_add(sum, &regions, regions_name(n, i), w->per_s[i]);
    }
    return region_second(&w->most, sum, regions, now_ms);
}

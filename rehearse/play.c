/* play.c: the clock of a night: who comes, who is due, ticks, seconds. Pure. */
#include "rehearse/play.h"

#include <stdlib.h>

#include "rehearse/manager.h"
#include "rehearse/people.h"
#include "rehearse/state.h"

static void start_lanes(struct play *p)
{
    const struct def_lane *l = p->d.lanes.v;

    for (unsigned i = 0; i < p->n_lanes; i++) {
        lineup_init(&p->lane[i].line, (uint32_t)p->d.segment_capacity / p->k + (p->k > 1));
        p->lane[i].last_order = UINT32_MAX;
        p->weight[i] = p->d.lanes.n > 0 ? l[i].weight : 1;
    }
}

static int start(struct play *p, struct figures *f, const struct night *n)
{
    uint32_t routers = (uint32_t)n->cluster.routers;
    const struct night_event *e = n->events.v;

    *p = (struct play){ .n = n, .f = f, .d = *night_queue(n),
                        .n_routers = (unsigned)n->cluster.routers, .n_lanes = night_lanes(night_queue(n)) };
    p->k = night_per_row(n);
    p->people = (uint32_t)night_rows(n);
    for (size_t i = 0; i < n->events.n; i++)
        routers += e[i].what == ADD_ROUTER;
    if (figures_init(f, (uint32_t)((n->for_ms + 999) / 1000), routers, routers + (uint32_t)n->cluster.nodes) < 0)
        return SQ_ENOMEM;
    rng_seed(&p->rng, (uint64_t)n->seed);
    start_lanes(p);
    world_init(&p->world, n);
    for (int64_t i = 0; i < n->cluster.nodes; i++)
        p->node[i].disk_ms = (uint32_t)n->cluster.disk_ms;
    p->cal = calloc(1, sizeof(*p->cal));
    p->v = calloc(p->people, sizeof(*p->v));
    if (p->cal == NULL || p->v == NULL)
        return SQ_ENOMEM;
    calendar_init(p->cal);
    manager_start(p);
    return 0;
}

static void end(struct play *p)
{
    for (unsigned i = 0; i < p->n_lanes; i++) {
        lineup_fini(&p->lane[i].line);
        free(p->lane[i].by_order);
    }
    free(p->cal);
    free(p->v);
}

static void count(struct play *p)
{
    struct figures *f = p->f;

    f->people = p->persons;
    for (uint32_t i = 0; i < p->came; i++) {
        const struct person *x = &p->v[i];
        bool in_line = x->state == WAITING || x->state == SILENT;

        f->coming += x->state == COMING || x->state == AT_SEA;
        f->ready += in_line && x->released != 0;
        in_line = in_line && x->released == 0 && lineup_waits(&p->lane[x->lane].line, x->seg, x->order);
        f->waiting += in_line;
        f->still += x->kind == PERSON && x->in == 0 && (in_line || x->state == COMING || x->state == AT_SEA);
    }
}

static int run(struct play *p, struct play_watch watch)
{
    uint32_t until = p->f->n * 1000;

    for (p->now = 0; p->now < until; p->now += CALENDAR_MS) {
        int rc = people_arrive(p);

        if (rc == 0)
            rc = people_due(p);
        if (rc < 0)
            return rc;
        if ((p->now + CALENDAR_MS) % TICK_MS == 0)
            manager_tick(p);
        if ((p->now + CALENDAR_MS) % 1000 == 0) {
            manager_second(p);
            if (watch.fn != NULL)
                watch.fn(watch.ctx, p->now / 1000 + 1, p->f->n);
        }
    }
    count(p);
    if (figures_waits(p->f, p->v, p->n->past, p->came, p->n_lanes, (unsigned)p->n->cluster.regions.n,
                      (uint32_t)p->n->for_ms) < 0)
        return SQ_ENOMEM;
    figures_people(p->f, p->k);
    return 0;
}

int play_night(struct figures *f, const struct night *n, struct play_watch watch)
{
    struct play *p = calloc(1, sizeof(*p));
    int rc;

    *f = (struct figures){ 0 };
    rc = p == NULL ? SQ_ENOMEM : start(p, f, n);

    if (rc == 0)
        rc = run(p, watch);
    if (p != NULL)
        end(p);
    free(p);
    if (rc < 0)
        figures_fini(f);
    return rc;
}

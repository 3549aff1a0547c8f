/* movedays.h: what happens to the nodes of moverig.h in a simulation: processes, links, the manager
 * and its store fail, operators drain nodes; and in the end all is well again. */
#ifndef SEGQ_TESTS_MOVEDAYS_H
#define SEGQ_TESTS_MOVEDAYS_H

#include "tests/lib/moverig.h"

static inline void mv_drain(struct mv *w, int i, bool on)
{
    struct pr *r = w->r;
    char name[16];
    struct err e;

    snprintf(name, sizeof(name), "task-%d", i);
    if (r->m != NULL && mng_drain(r->m, r->now, name, on, &r->out, &e) == 0)
        pr_flush(r);
}

/* more: NULL, or what else a sim has happen to a node, as kinds 9 and 10. */
static inline void mv_happen(struct mv *w, unsigned kinds, void (*more)(struct mv *w, int i))
{
    struct pr *r = w->r;
    int node = (int)rng_below(&r->rng, PR_NODES), other = (int)rng_below(&r->rng, PR_NODES + 1);

    switch (rng_below(&r->rng, kinds)) {
    case 0:
        pr_cut(r, node);
        break;
    case 1:
        pr_cut(r, PR_ROUTER);
        break;
    case 2:
        mv_link_down(w, other, node);
        break;
    case 3:
        if (!r->node[node].runs)
            pr_node_run(r, node, true);
        break;
    case 4:
        pr_manager_end(r);
        break;
    case 5:
        r->store_fails = rng_below(&r->rng, 3) == 0;
        break;
    case 6:
    case 7:
        mv_drain(w, node, rng_below(&r->rng, 2) == 0);
        break;
    case 8:
        r->slow = (unsigned)rng_below(&r->rng, 6);
        break;
    case 9:
    case 10:
        if (more != NULL)
            more(w, node);
        break;
    default:
        break;
    }
    if (r->m == NULL && !r->store_fails && rng_below(&r->rng, 2) == 0)
        pr_manager_begin(r);
}

static inline void mv_draw(struct mv *w)
{
    struct rng *g = &w->r->rng;

    w->kill = rng_chance(g, 0.5) ? rng_unit(g) * 0.02 : 0;
    w->fail = rng_chance(g, 0.3) ? rng_unit(g) * 0.02 : 0;
    w->snap = rng_unit(g) * 0.2;
    for (int i = 0; i < PR_NODES; i++)
        pr_node_run(w->r, i, i == 0 || rng_chance(g, 0.5));
}

static inline void mv_heal(struct mv *w)
{
    struct pr *r = w->r;

    w->kill = w->fail = 0;
    r->store_fails = false;
    r->slow = 0;
    pr_manager_begin(r);
    for (int i = 0; i < PR_NODES; i++) {
        if (!r->node[i].runs)
            pr_node_run(r, i, true);
        mv_drain(w, i, false);
    }
    pr_run(r, 60000);
    w->quiet = true;
    pr_run(r, 12000); /* what a router did not answer is said again after ten seconds */
}

#endif

/* limits.c: see the header. Pure. */
#include "rehearse/limits.h"

#include <math.h>
#include <stdio.h>

#define MEAN_S  10
#define PLANNED 0.6 /* share of a core, as in deploy/SIZING.md */

/* Takes in a second's share. */
static void full(struct limit *l, double share, uint32_t s)
{
    if (l->share >= 1 || share <= l->share) /* when it broke, not when it was worst */
        return;
    l->share = share;
    l->at_s = s;
}

/* A core that is all taken shows a little less in a mean of whole requests. */
static double of_core(double mean)
{
    return mean > 0.98 ? fmax(1, mean) : mean;
}

static void cores(struct limit *l, const struct figures *f, uint32_t first, uint32_t end)
{
    for (uint32_t p = first; p < end; p++) {
        double sum = 0;

        for (uint32_t s = 0; s < f->n; s++) {
            sum += (double)f->cpu[(size_t)s * f->procs + p];
            sum -= s >= MEAN_S ? (double)f->cpu[(size_t)(s - MEAN_S) * f->procs + p] : 0;
            full(l, of_core(sum / MEAN_S), s);
        }
    }
}

static void routers(struct limit *l, const struct figures *f)
{
    l->what = "a router's core";
    cores(l, f, 0, f->routers);
    if (l->share < PLANNED)
        snprintf(l->next, sizeof(l->next), "more routers, above %.0f %%", 100 * PLANNED);
    else if (l->share < 1)
        snprintf(l->next, sizeof(l->next), "more routers: with %.0f it is at %.0f %%", ceil(f->routers * l->share / PLANNED),
                 100 * PLANNED);
    else
        snprintf(l->next, sizeof(l->next), "more routers: --vary routers=%u,%u,%u", 2 * f->routers, 4 * f->routers,
                 8 * f->routers);
}

static void nodes(struct limit *l, const struct figures *f)
{
    l->what = "a segment node's core";
    cores(l, f, f->routers, f->procs);
    snprintf(l->next, sizeof(l->next), "more segment nodes, or a lower poll_budget_per_s");
}

static void tails(struct limit *l, const struct figures *f)
{
    double sum = 0;

    l->what = "a lane's tail";
    for (uint32_t s = 0; s < f->n; s++) {
        sum += (double)f->s[s].tail;
        sum -= s >= MEAN_S ? (double)f->s[s - MEAN_S].tail : 0;
        full(l, of_core(sum / MEAN_S), s);
    }
    snprintf(l->next, sizeof(l->next), "more lanes or queues: all joins of a lane go to one node, its tail");
}

/* A connection lasts for keepalive behind its last request. */
static void connections(struct limit *l, const struct figures *f, const struct night *n)
{
    uint32_t keep = (uint32_t)(n->cluster.keepalive_ms / 1000);
    double asked = 0;

    l->what = "a router's connections";
    for (uint32_t s = 0; s < f->n; s++) {
        asked += (double)f->s[s].joined + f->s[s].polls;
        asked -= s >= keep ? (double)f->s[s - keep].joined + f->s[s - keep].polls : 0;
        full(l, fmin(asked, (double)f->s[s].waiting + f->s[s].joined) / f->routers / (double)n->cluster.max_conns, s);
    }
    snprintf(l->next, sizeof(l->next), "max_conns (5 KB each), more routers, or a shorter idle_timeout");
}

static void places(struct limit *l, const struct figures *f, const struct night *n)
{
    l->what = "a segment node's places";
    for (uint32_t s = 0; s < f->n; s++)
        full(l, (double)f->s[s].waiting / (double)n->cluster.nodes / (double)n->cluster.max_tickets, s);
    snprintf(l->next, sizeof(l->next), "more segment nodes, or max_tickets (1.3 bytes each)");
}

static void backend(struct limit *l, const struct figures *f, const struct night *n)
{
    l->what = "the backend";
    for (uint32_t s = 0; s < f->n && n->backend.crash_above > 0; s++)
        full(l, (double)f->s[s].backend / n->backend.crash_above, s);
    snprintf(l->next, sizeof(l->next), "lower tiers or max_rise_per_s; then a larger backend");
}

static bool is_before(const struct limit *x, const struct limit *y)
{
    if ((x->share >= 1) != (y->share >= 1))
        return x->share >= 1;
    return x->share >= 1 ? x->at_s < y->at_s : x->share > y->share;
}

unsigned limits_of(const struct figures *f, const struct night *n, struct limit out[LIMITS])
{
    unsigned broke = 0;

    memset(out, 0, LIMITS * sizeof(*out));
    routers(&out[0], f);
    tails(&out[1], f);
    nodes(&out[2], f);
    connections(&out[3], f, n);
    places(&out[4], f, n);
    backend(&out[5], f, n);
    for (unsigned i = 1; i < LIMITS; i++) /* equal ones stay: a tail breaks its node, too */
        for (unsigned k = i; k > 0 && is_before(&out[k], &out[k - 1]); k--) {
            struct limit x = out[k];

            out[k] = out[k - 1];
            out[k - 1] = x;
        }
    while (broke < LIMITS && out[broke].share >= 1)
        broke++;
    return broke;
}

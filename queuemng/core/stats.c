/* stats.c: the queues' figures for routers. */
#include "queuemng/core/stats.h"

#include <assert.h>

#include "queuemng/release/credit.h"
#include "queuemng/state/node.h"
#include "queuemng/state/out.h"
#include "queuemng/state/state.h"

#define STATS_CHUNK 1024         /* queues in one STATS frame */

static void queue_figures(const struct mng *m, struct arena *a, const struct mqueue *q,
                          struct queue_stats *s)
{
    s->id = q->id;
    s->entry = direct_entry_reach(m, q);
    s->rate_milli_per_s = (uint64_t)(q->allowed_per_s * 1000.0 + 0.5);
    s->limited_by = arena_strdup(a, q->rel.limited_by);
    s->n_lanes = q->n_lanes;
    for (unsigned i = 0; i < q->n_lanes; i++) {
        const struct mlane *l = &q->lane[i];

        s->ready += l->ready;
        s->active += l->active;
        s->lane[i].waiting = l->waiting;
        s->lane[i].rate_milli_per_s = (uint64_t)(eta_told_rate(&l->eta) * 1000.0 + 0.5);
        s->lane[i].leave_ppm = (uint32_t)(l->eta.told_leave * ETA_PPM + 0.5);
        s->lane[i].eta_reason = l->eta.reason;
    }
}

/* Counts from our begin: who led before may have heard it until then. */
static uint32_t silent_ms(const struct mng *m, const struct mnode *n)
{
    return (uint32_t)u64_min((uint64_t)(m->now_ms - ms_max(n->heard_ms, m->started_ms)),
                             UINT32_MAX);
}

/* Without memory nothing is said of any. */
static void unreached(const struct mng *m, struct arena *a, struct msg_stats *g)
{
    uint32_t n = 0;

    each_node(m, x)
        n += x->unreached;
    g->unreached = arena_array(a, n, sizeof(*g->unreached));
    g->reach = n == 0 || g->unreached != NULL;
    each_node(m, x)
        if (g->reach && x->unreached)
            g->unreached[g->n_unreached++] = (struct silent_node) { x->no, silent_ms(m, x) };
}

static void stats_to(struct mng *m, struct mrouter *r, bool all)
{
    struct arena *a = &m->out->box.mem;
    struct msg_stats *g = &mng_to(m, r->peer, MSG_STATS)->stats; /* each second, for its clock */

    g->clock_ms = m->wall_ms;
    unreached(m, a, g);
    each_queue(m, q) {
        if (!all && !q->stats_dirty)
            continue;
        assert(g->n <= STATS_CHUNK);
        if (g->n == STATS_CHUNK)
            g = &mng_to(m, r->peer, MSG_STATS)->stats;
        if (g->n == 0) {
            g->queues = arena_array(a, STATS_CHUNK, sizeof(*g->queues));
            if (g->queues == NULL)
                return;
        }
        queue_figures(m, a, q, &g->queues[g->n++]);
    }
}

void stats_look(struct mng *m)
{
    each_node(m, n) {
        bool is = n->segs.n != 0 && !node_is_reached(m, n);

        m->stats_now = m->stats_now || is != n->unreached;
        n->unreached = is;
    }
}

void stats_flush(struct mng *m)
{
    each_router(m, r) {
        if (!r->registered)
            continue;
        stats_to(m, r, r->stats_all);
        r->stats_all = false;
    }
    each_queue(m, q)
        q->stats_dirty = false;
}

/* stats.c: the queues' figures for routers. */
#include "queuemng/core/stats.h"

#include <assert.h>

#include "queuemng/release/direct_entry.h"
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

static void stats_to(struct mng *m, struct mrouter *r, bool all)
{
    struct arena *a = &m->out->box.mem;
    struct msg_stats *g = &mng_to(m, r->peer, MSG_STATS)->stats; /* each second, for its clock */

    g->clock_ms = m->wall_ms;

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

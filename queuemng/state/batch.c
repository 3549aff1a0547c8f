/* batch.c: what is collected for a node during a step, and sent as few messages. */
#include "queuemng/state/batch.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/grow.h"
#include "queuemng/state/out.h"
#include "queuemng/state/state.h"

void batch_ahead(struct mng *m, struct mnode *n, seg_id seg, uint64_t ahead)
{
    assert(n->n_ahead <= n->cap_ahead);
    if (!GROW(n->ahead, n->n_ahead, n->cap_ahead, 64)) {
        m->out->box.failed = true;
        return;
    }
    n->ahead[n->n_ahead++] = (struct ahead_entry){ .seg = seg, .ahead = ahead };
}

void batch_pace(struct mng *m, struct mnode *n, const struct pace_entry *p)
{
    assert(n->n_pace <= n->cap_pace);
    if (!GROW(n->pace, n->n_pace, n->cap_pace, 16)) {
        m->out->box.failed = true;
        return;
    }
    n->pace[n->n_pace++] = *p;
}

void batch_stored(struct mnode *n, seg_id seg, uint64_t tick)
{
    assert(n->n_stored <= n->cap_stored);
    if (!GROW(n->stored, n->n_stored, n->cap_stored, 16))
        return; /* said again later */
    n->stored[n->n_stored++] = (struct kept_entry){ .seg = seg, .tick = tick };
}

void batch_send(struct mng *m, struct mnode *n)
{
    uint32_t a = 0, p = 0, k = 0;

    while (n->registered && (a < n->n_ahead || p < n->n_pace || k < n->n_stored)) {
        struct msg_seg_ahead *g = &mng_to(m, n->peer, MSG_SEG_AHEAD)->seg_ahead;
        uint32_t na = (uint32_t)u64_min(n->n_ahead - a, MSG_STATUS_MAX);
        uint32_t np = (uint32_t)u64_min(n->n_pace - p, MSG_STATUS_MAX);
        uint32_t nk = (uint32_t)u64_min(n->n_stored - k, MSG_STATUS_MAX);

        g->epoch = m->epoch;
        g->v = arena_memdup(&m->out->box.mem, n->ahead + a, na * sizeof(*n->ahead));
        g->pace = arena_memdup(&m->out->box.mem, n->pace + p, np * sizeof(*n->pace));
        g->kept = arena_memdup(&m->out->box.mem, n->stored + k, nk * sizeof(*n->stored));
        g->n_kept = g->kept != NULL ? nk : 0;
        g->n = g->v != NULL ? na : 0;
        g->n_pace = g->pace != NULL ? np : 0;
        a += na;
        p += np;
        k += nk;
    }
    n->n_ahead = n->n_pace = n->n_stored = 0;
}

void batch_lane_pace(struct mng *m, const struct mlane *l, struct mnode *n)
{
    const struct pace_entry e = { .queue = l->q->id,
                                  .lane = (uint8_t)l->no,
                                  .min_ms = l->pace.min_ms,
                                  .max_ms = l->pace.max_ms,
                                  .us_per_place = l->pace.us_per_place };

    batch_pace(m, n, &e);
}

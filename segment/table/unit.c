/* unit.c: the unit of a segment's idle deadlines. */
#include "segment/table/unit.h"

#include "segment/table/log.h"
#include "segment/table/rules.h"
#include "segment/table/state.h"

#define MARK_MORE 11 /* a mark says an eleventh more than was told, at most (pace_class()) */

struct rescale {
    uint8_t old_now, new_now;
    uint32_t old_ms, new_ms;
};

static uint8_t rescale(void *ctx, uint8_t deadline)
{
    const struct rescale *r = ctx;
    uint32_t left = idle_left(deadline, r->old_now);
    uint32_t units = (left * r->old_ms + r->new_ms - 1) / r->new_ms;

    if (left > 0)
        units++;
    return (uint8_t)(r->new_now + (units < IDLE_HORIZON ? units : IDLE_HORIZON));
}

/* A unit only grows: a finer one could not hold what is left to those already told. */
void segtab_fit_unit(struct segtab *t, struct seg *g)
{
    const struct queue *q = g->queue;
    uint64_t idle = queue_longest_idle_ms(q);
    uint64_t told = pace_longest_ms(&q->pace[g->lane]) + 1ull, need;
    struct rescale r = { .old_ms = g->unit_ms };

    told = u64_max(told, t->o.retry_ms);
    told += told / MARK_MORE + 1 + SEEN_LATE_MS;
    need = u64_min(told + idle, UINT32_MAX / 2);
    if ((g->unit_ms == 0 || need > 120ull * g->unit_ms) && g->out == NULL &&
        !t->replaying) {
        r.old_now = g->unit_ms > 0 ? segtab_unit(t, g) : 0;
        g->unit_ms = (uint32_t)u64_max(SEGTAB_UNIT_MS, (need + 99) / 100);
        g->per_unit = 1.0 / g->unit_ms;
        r.new_ms = g->unit_ms;
        r.new_now = segtab_unit(t, g);
        if (r.old_ms > 0)
            segq_remark(&g->b.q, rescale, &r);
        g->swept_unit = (uint8_t)(r.new_now - 1);
        segtab_log_set(t, JREC_UNIT, g->b.id, g->unit_ms);
    }
    need = 120ull * g->unit_ms;
    idle += SEEN_LATE_MS;
    told = need > idle ? (need - idle) / (MARK_MORE + 1) * MARK_MORE : 0;
    g->told_max_ms = (uint32_t)u64_max(told, t->o.retry_ms);
}

/* closing.c: a segment of early tickets closes at its time. */
#include "segment/table/closing.h"

#include <assert.h>
#include <inttypes.h>

#include "common/base/log.h"
#include "segment/table/changed.h"
#include "segment/table/log.h"

#define LOG_MODULE "draw"

static bool closes(const struct seg *g)
{
    return g->early && g->closes_ms != 0 && !g->b.q.sealed;
}

void segtab_close_at(struct segtab *t, struct seg *g, int64_t closes_ms)
{
    g->closes_ms = closes_ms;
    if (closes(g) && (t->close_ms == 0 || closes_ms < t->close_ms))
        t->close_ms = closes_ms;
}

static void close_now(struct segtab *t, struct seg *g)
{
    assert(g->early && !t->replaying);
    segq_seal(&g->b.q);
    g->closed = true;
    segtab_log_set(t, JREC_SEAL, g->b.id, g->next);
    log_info("event=segment_closed seg=%" PRIu64 " queue=%s joined=%" PRIu32, g->b.id,
             g->queue->name, g->b.joined);
    t->urgent = true;
    segtab_touch(t, g);
}

void segtab_close_due(struct segtab *t)
{
    if (t->replaying)
        return;
    t->close_ms = 0;
    each_seg (t, g) {
        if (closes(g) && t->now.wall_ms >= g->closes_ms)
            close_now(t, g);
        else
            segtab_close_at(t, g, g->closes_ms);
    }
}

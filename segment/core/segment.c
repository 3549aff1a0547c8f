/* segment.c: a segment's life. */
#include "segment/core/segment.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "segment/core/location.h"
#include "segment/core/recording.h"
#include "segment/core/rules.h"

#define LOG_MODULE "draw"

uint64_t segtab_max_blocks(const struct segtab_opts *o)
{
    return (o->max_tickets + BLOCK_SLOTS - 1) / BLOCK_SLOTS;
}

struct seg *segtab_seg_new(struct segtab *t, const struct msg_seg_open *m,
                           struct queue *q)
{
    struct seg *g = calloc(1, sizeof(*g));

    assert(m->seg != 0 && q != NULL && m->lane < LANES_MAX);
    if (g == NULL)
        return NULL;
    g->tab = t;
    contents_init(&g->b, m->seg, &t->pool);
    if ((m->kind == OPEN_REBUILD && segq_rebuild(&g->b.q, m->capacity) < 0) ||
        segtab_location_set(t, m->seg, AT_SEG, g) < 0) {
        contents_fini(&g->b);
        free(g);
        return NULL;
    }
    if (m->kind == OPEN_REBUILD)
        g->b.joined = m->capacity;
    g->queue = q;
    g->lane = m->lane;
    g->capacity = m->capacity;
    g->ahead = m->ahead;
    g->ahead_due = AHEAD_UNKNOWN;
    g->snap_no = t->snap_no;
    if (m->kind == OPEN_TARGET)
        segq_seal(&g->b.q);
    segtab_log_open(t, g, m->kind);
    segtab_fit_unit(t, g);
    list_push_back(&t->segs, &g->node);
    list_push_back(&q->segs, &g->queued);
    return g;
}

/* Homes that point elsewhere by now (moved, or absorbed here) stay. The rules of a queue
 * go with its last segment: they come again with the next one. */
void segtab_seg_free(struct segtab *t, struct seg *g)
{
    struct queue *q = g->queue;

    assert(g->out == NULL && g->in == NULL);
    segtab_location_drop(t, g->b.id, g, AT_SEG);
    for (uint32_t i = 0; i < g->b.relocs.n; i++)
        segtab_location_drop(t, g->b.relocs.v[i]->seg, g->b.relocs.v[i], AT_RELOC);
    list_remove(&t->segs, &g->node);
    list_remove(&q->segs, &g->queued);
    if (list_linked(&g->dirty))
        list_remove(&t->dirty, &g->dirty);
    if (list_linked(&g->active))
        list_remove(&t->active, &g->active);
    contents_fini(&g->b);
    marks_clear(&g->unstored);
    draw_free(g->draw);
    free(g->said.died);
    free(g);
    if (q->segs.n == 0 && !t->partial) { /* else: some of them are not read yet */
        map_del(&t->queues, q->id);
        segtab_queue_free(q);
    }
}

/* ---- what a change entails -------------------------------------------------------- */

void segtab_touch(struct segtab *t, struct seg *g)
{
    if (!list_linked(&g->dirty))
        list_push_back(&t->dirty, &g->dirty);
}

void segtab_wake(struct segtab *t, struct seg *g)
{
    if (!list_linked(&g->active))
        list_push_back(&t->active, &g->active);
}

void segtab_due(struct segtab *t, struct ticket_id id)
{
    if (SQ_LIKELY(t->replica.n_wants == 0))
        return;
    id = segtab_outside(t, id);
    for (uint32_t i = 0; i < t->n_peers; i++)
        wants_due(&t->peers[i].listener.wants, id);
}

void segtab_note_died(struct said_seg *s, uint32_t slot)
{
    if (s->lost)
        return;
    s->lost = s->n_died >= DIED_MAX || !GROW(s->died, s->n_died, s->cap_died, 64);
    if (!s->lost)
        s->died[s->n_died++] = slot;
}

/* ---- closing ---------------------------------------------------------------------- */

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

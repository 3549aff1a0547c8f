/* seg_life.c: a segment's beginning and end. */
#include "segment/table/seg_life.h"

#include <assert.h>
#include <stdlib.h>

#include "segment/table/log.h"
#include "segment/table/rules.h"
#include "segment/table/unit.h"
#include "segment/table/where.h"

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
    marks_fini(&g->unstored);
    draw_free(g->draw);
    free(g->said.died);
    free(g);
    if (q->segs.n == 0 && !t->partial) { /* else: some of them are not read yet */
        map_del(&t->queues, q->id);
        segtab_queue_free(q);
    }
}

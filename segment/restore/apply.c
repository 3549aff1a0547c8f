/* apply.c: what a record does to a segment. */
#include "segment/restore/apply.h"

#include <assert.h>
#include <string.h>

#include "segment/core/location.h"
#include "segment/core/rules.h"
#include "segment/core/segment.h"
#include "segment/directory/rows.h"
#include "segment/tickets/draw.h"
#include "segment/tickets/rebuild.h"
#include "segment/transfer/move.h"

struct seg *replay_seg(struct segtab *t, seg_id id)
{
    struct seg *g = segtab_seg(t, id);

    if (g != NULL || map_get(&t->locations, id) == MAP_NONE)
        return g;
    each_seg (t, x)
        if (x->b.id == id)
            return x;
    return NULL;
}

int replay_new_seg(struct segtab *t, seg_id id, const struct jrec_open *o,
                   struct seg **out)
{
    struct queue *q = segtab_queue(t, o->queue, false);
    struct msg_seg_open m = { .seg = id,
                              .queue = o->queue,
                              .lane = o->lane,
                              .kind = o->kind,
                              .capacity = o->capacity,
                              .ahead = o->ahead };

    if (q == NULL || id == 0 || o->lane >= LANES_MAX || q->lanes[o->lane] == NULL ||
        o->capacity >= SEGQ_NONE / 2 ||
        (o->kind == OPEN_REBUILD && o->capacity > SEGTAB_REBUILD_MAX) || replay_seg(t, id) != NULL)
        return SQ_EPROTO;
    *out = segtab_seg_new(t, &m, q);
    if (*out == NULL)
        return SQ_ENOMEM;
    segtab_dir_watch(*out);
    return 0;
}

void replay_unit(struct seg *g, uint64_t unit_ms)
{
    g->unit_ms = (uint32_t)u64_max(unit_ms, 1);
    g->per_unit = 1.0 / g->unit_ms;
}

void replay_drop_moves(struct segtab *t, struct seg *g)
{
    if (g->out != NULL)
        segtab_move_free(t, g->out);
    assert(g->out == NULL && g->in == NULL); /* a target's move is not in the journal */
}

void replay_remove(struct segtab *t, struct seg *g)
{
    replay_drop_moves(t, g);
    segtab_seg_free(t, g);
}

int replay_append(struct seg *g, uint32_t n)
{
    uint32_t number;

    for (; n > 0; n--)
        if (segq_append(&g->b.q, 0, &number) < 0)
            return SQ_ENOMEM;
    return 0;
}

struct subject replay_subject_of(const struct jrec_subject *s)
{
    return (struct subject) {
        .id = s->id,
        .issued_s = s->issued_s,
        .client = s->client,
        .len = (uint8_t)s->text.n,
        .hash = s->hash,
        .text = (char *)(uintptr_t)s->text.p, /* only read */
    };
}

bool replay_is_known(const struct segtab *t, const struct seg *g)
{
    return t->partial && (g == NULL || g->known);
}

int replay_rebuild(struct seg *g, const struct jrec_rebuild *h)
{
    if (!g->b.q.rebuilding || h->mark_end > g->b.q.end || h->for_ms == 0)
        return SQ_EPROTO;
    g->mark_end = g->certain = h->mark_end;
    if (g->b.q.popped_end < h->mark_end)
        g->b.q.popped_end = h->mark_end;
    g->for_ms = h->for_ms;
    return 0;
}

void replay_early(struct segtab *t, struct seg *g, uint64_t closes_ms)
{
    g->early = g->draw == NULL; /* a damaged journal's word about a drawn segment is too late */
    segtab_close_at(t, g, (int64_t)closes_ms);
}

int replay_draw(struct segtab *t, struct seg *g, const struct jrec_draw *r, bool now)
{
    struct seg_draw d = { .n = r->n };

    memcpy(d.seed, r->seed, sizeof(d.seed));
    if (d.n > SEGQ_NONE / 2 || g->draw != NULL || (now && d.n > 0 && d.n < g->b.q.end))
        return SQ_EPROTO;
    return now ? segtab_draw_now(g, &d) : segtab_draw_was(t, g, &d);
}

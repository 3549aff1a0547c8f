/* pass.c: the pass of a released ticket. */
#include "segment/tickets/pass.h"

#include "segment/table/times.h"
#include "segment/table/where.h"

int segtab_make_pass(struct segtab *t, const struct seg *g, const struct session *x,
                     struct arena *mem, const char **out)
{
    const struct subject *sub = subjects_by_ticket(&g->b.subjects, x->id);
    bool named = sub != NULL && !subject_is_key(sub->text, sub->len);
    struct ticket_id id = segtab_outside(t, x->id);
    struct seg_pass p = {
        .queue = g->queue->name,
        .lane = g->queue->lanes[g->lane],
        .issuer = g->queue->issuer,
        .subject = named ? sub->text : NULL,
        .subject_len = named ? sub->len : 0,
        .seg = id.seg,
        .number = id.number,
        .released_at_ms = x->released_at_ms,
        .expires_s = segtab_until_s(g, x),
    };
    char *text = arena_alloc(mem, MSG_PASS_MAX);
    int n = text != NULL ? t->o.make_pass(t->o.ctx, &p, text) : -1;

    *out = text;
    t->n.passes_made += n >= 0;
    return n;
}

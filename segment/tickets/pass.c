/* pass.c: the pass of a released ticket. */
#include "segment/tickets/pass.h"

#include "segment/core/auditing.h"
#include "segment/core/clock.h"
#include "segment/core/location.h"
#include "segment/core/recording.h"
#include "segment/core/segment.h"

int segtab_make_pass(struct segtab *t, const struct seg *g, const struct session *x,
                     struct arena *mem, const char **out)
{
    const struct subject *sub = subjects_by_ticket(&g->b.subjects, x->id);
    size_t head = sub != NULL ? subject_head(sub->text, sub->len) : 0;
    bool named = sub != NULL && sub->len > head && !subject_is_key(sub->text, sub->len);
    struct ticket_id id = segtab_outside(t, x->id);
    struct seg_pass p = {
        .queue = g->queue->name,
        .lane = g->queue->lanes[g->lane],
        .issuer = g->queue->issuer,
        .subject = named ? sub->text + head : NULL,
        .subject_len = named ? sub->len - head : 0,
        .bound = head > 0 ? sub->text + 2 : NULL,
        .bound_len = head > 0 ? head - 2 : 0,
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

void segtab_admit(struct segtab *t, struct seg *g, struct session *x)
{
    segtab_audit_session(t, g, x, AUDIT_ADMITTED, NULL);
    session_set(&g->b.released, x, SESSION_ADMITTED, x->expires_ms);
    segtab_log_session(t, g, x);
    t->n.admitted++;
    g->claimed++;
    segtab_touch(t, g);
}

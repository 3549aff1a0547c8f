/* leave.c: leaves. */
#include "segment/tickets/leave.h"

#include <string.h>

#include "segment/core/auditing.h"
#include "segment/core/clock.h"
#include "segment/core/location.h"
#include "segment/core/recording.h"
#include "segment/core/segment.h"
#include "segment/tickets/lapse.h"
#include "segment/tickets/rebuild.h"
#include "segment/tickets/revoke.h"

static inline __attribute__((always_inline)) void drop_here(struct segtab *t,
                            const struct location *s)
{
    struct seg *g = s->seg;
    struct session *x;

    if (s->slot != SEGQ_NONE && segq_drop(&g->b.q, s->slot, DEAD_LEFT)) {
        segtab_audit_ticket(t, g, s->id, AUDIT_LEFT);
        subjects_del(&g->b.subjects, s->id);
        segtab_died(g, s->slot);
        g->left++;
        t->n.left++;
        if (segtab_logs(t)) /* asked here: a record costs as much as a leave */
            segtab_log_drops(t, g, &s->slot, 1, DEAD_LEFT);
        segtab_touch(t, g);
        return;
    }
    x = sessions_find(&g->b.released, s->id);
    if (x != NULL && x->state == SESSION_ADMITTED && x->expires_ms > t->now.now_ms)
        segtab_revoke(t, g, x, GONE_LEFT);
    else if (x != NULL && x->state != SESSION_OVER && x->state != SESSION_REVOKED)
        segtab_over(t, g, x, GONE_LEFT);
    else if (x == NULL && g->b.q.rebuilding)
        segtab_rebuild_leave(t, s);
}

void segtab_leave(struct segtab *t, const struct location *s)
{
    drop_here(t, s);
}

/* May it be replaced by a ticket with this subject? */
static enum drop_state may_replace(const struct location *s, uint64_t heir_hash)
{
    const struct contents *b = &s->seg->b;
    const struct subject *own = subjects_by_ticket(&b->subjects, s->id);
    const struct session *x;

    if (s->slot == SEGQ_NONE || !segq_is_alive(&b->q, s->slot)) {
        x = sessions_find(&b->released, s->id);
        if (x != NULL && x->state != SESSION_OVER && x->state != SESSION_REVOKED)
            return DROP_INSIDE;
        return x == NULL && b->q.rebuilding ? DROP_BUSY : DROP_GONE;
    }
    return own == NULL || subject_is_key(own->text, own->len) ||
                   !subject_has_name(own->text, own->len) || own->hash == heir_hash
               ? DROP_OK
               : DROP_NAMED;
}

static void drop_one(struct segtab *t, enum found k, const struct location *s,
                     uint64_t heir_hash, struct drop_ans *a)
{
    memset(a, 0, sizeof(*a));
    if (k == FOUND_NOWHERE) {
        a->state = DROP_UNKNOWN;
        t->n.unknown++;
    } else if (k == FOUND_MOVED) {
        a->state = DROP_MOVED;
        a->moved_to = s->moved_to;
        t->n.moved++;
    } else if (t->hold || seg_is_fenced(s->seg)) {
        a->state = DROP_BUSY;
        t->n.busy++;
    } else {
        a->state = SQ_UNLIKELY(heir_hash != 0) ? may_replace(s, heir_hash) : DROP_OK;
        if (SQ_LIKELY(a->state == DROP_OK))
            drop_here(t, s);
    }
}

void segtab_drop(struct segtab *t, struct seg_now now, const struct drop_req *req,
                 uint32_t n, struct drop_ans *ans)
{
    struct ahead h;

    segtab_heard(t, now);
    for (uint32_t from = 0, k; from < n; from += k) {
        k = n - from < LOOK_AHEAD ? n - from : LOOK_AHEAD;
        for (uint32_t i = 0; i < k; i++)
            look_ahead(t, &h, i, req[from + i].seg, req[from + i].number);
        for (uint32_t i = 0; i < k; i++)
            drop_one(t, h.kind[i], &h.at[i], req[from + i].heir_hash, &ans[from + i]);
    }
    t->n.drops += n;
}

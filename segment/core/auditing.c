/* auditing.c: what happens to tickets, told to the audit trail at the moment it does.
 * The counters of segtab_counts are raised at the same places: their sums are equal. */
#include "segment/core/auditing.h"

#include <assert.h>

#include "segment/core/state.h"
#include "segment/core/location.h"

static const char *const state_name[SESSION_NSTATES] = {
    [SESSION_READY] = "ready",         [SESSION_ADMITTED] = "admitted",
    [SESSION_GRACE] = "grace",         [SESSION_RETURNING] = "returning",
    [SESSION_OVER] = "over",           [SESSION_REVOKED] = "revoked",
};

static const char *const client_name[CLIENT_NCLASSES] = {
    [CLIENT_GAME] = "game", [CLIENT_MOBILE] = "mobile", [CLIENT_BROWSER] = "browser"
};

static struct audit_event event(const struct segtab *t, const struct seg *g,
                                enum audit_kind kind)
{
    assert(t->o.audit != NULL && !t->replaying);
    return (struct audit_event) { .kind = kind,
                                  .wall_ms = t->now.wall_ms,
                                  .queue = g->queue->name,
                                  .lane = g->queue->lanes[g->lane],
                                  .segment = g->b.id };
}

static void put_name(struct audit_event *e, const char *text, size_t n, uint64_t hash)
{
    size_t head = subject_head(text, n);

    if (n == head || subject_is_key(text, n))
        return;
    e->subject = text + head;
    e->subject_len = n - head;
    e->subject_hash = hash;
}

static void put_ticket(const struct segtab *t, const struct seg *g, struct audit_event *e,
                       struct ticket_id id)
{
    const struct subject *s =
        g->b.subjects.n > 0 ? subjects_by_ticket(&g->b.subjects, id) : NULL;

    e->id = segtab_outside(t, id);
    if (s != NULL)
        put_name(e, s->text, s->len, s->hash);
}

void segtab_audit_join_now(const struct segtab *t, const struct seg *g,
                           const struct append_req *r, uint32_t number)
{
    struct audit_event e = event(t, g, AUDIT_JOINED);

    e.id = (struct ticket_id) { g->b.id, number };
    e.client = client_name[r->client < CLIENT_NCLASSES ? r->client : CLIENT_GAME];
    put_name(&e, r->subject, r->subject_len, r->subject_hash);
    t->o.audit(t->o.audit_ctx, &e);
}

void segtab_audit_ticket_now(const struct segtab *t, const struct seg *g,
                             struct ticket_id id, enum audit_kind kind)
{
    struct audit_event e = event(t, g, kind);

    e.state = kind == AUDIT_RESTORED ? NULL : "waiting";
    put_ticket(t, g, &e, id);
    t->o.audit(t->o.audit_ctx, &e);
}

void segtab_audit_died_now(const struct segtab *t, const struct seg *g,
                           const uint32_t *slot, uint32_t n, enum audit_kind kind)
{
    for (uint32_t i = 0; i < n; i++)
        segtab_audit_ticket_now(t, g, contents_ticket(&g->b, slot[i]), kind);
}

static void tell_session(const struct segtab *t, const struct seg *g,
                         struct audit_event *e, const struct session *x)
{
    put_ticket(t, g, e, x->id);
    e->released_ms = x->released_at_ms;
    if (e->kind == AUDIT_ADMITTED || e->kind == AUDIT_EXTENDED)
        e->expires_s = segtab_until_s(g, x);
    t->o.audit(t->o.audit_ctx, e);
}

void segtab_audit_session_now(const struct segtab *t, const struct seg *g,
                              const struct session *x, enum audit_kind kind,
                              const char *why)
{
    struct audit_event e = event(t, g, kind);

    e.state = state_name[x->state];
    e.why = why;
    tell_session(t, g, &e, x);
}

void segtab_audit_released_now(const struct segtab *t, const struct seg *g,
                               const struct session *x, bool again)
{
    struct audit_event e = event(t, g, AUDIT_RELEASED);

    e.tick = t->popping;
    e.again = again;
    tell_session(t, g, &e, x);
}

void segtab_audit_seg_now(const struct segtab *t, const struct seg *g,
                          enum audit_kind kind, seg_id from, uint64_t n)
{
    struct audit_event e = event(t, g, kind);

    e.from = from;
    e.n = n;
    e.has_n = kind != AUDIT_REBUILDING;
    if (kind == AUDIT_REMOVED)
        e.n_released = sessions_live(&g->b.released);
    t->o.audit(t->o.audit_ctx, &e);
}

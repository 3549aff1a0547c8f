/* poll.c: polls: what a segment answers a million times a second. */
#include "segment/tickets/poll.h"

#include <assert.h>
#include <string.h>

#include "segment/core/auditing.h"
#include "segment/core/location.h"
#include "segment/core/recording.h"
#include "segment/core/segment.h"
#include "segment/core/state.h"
#include "segment/tickets/passes.h"
#include "segment/tickets/rebuild.h"
#include "segment/tickets/waiting.h"

static void place_gone(struct place_ans *a, unsigned reason)
{
    a->state = PLACE_GONE;
    a->reason = (uint8_t)reason;
}

static void place_pass(struct segtab *t, const struct seg *g, const struct session *x,
                       struct place_ans *a, struct arena *mem)
{
    int n = segtab_make_pass(t, g, x, mem, &a->pass);

    if (n < 0) { /* no memory, or an impossible name: ask again */
        a->state = PLACE_BUSY;
        return;
    }
    a->state = PLACE_ADMITTED;
    a->pass_len = (uint16_t)n;
    a->released_at_ms = x->released_at_ms;
    a->pass_expires_s = segtab_until_s(g, x);
}

static void place_returning(struct segtab *t, struct seg *g, struct session *x,
                            unsigned client, struct place_ans *a)
{
    uint32_t retry = t->o.retry_ms;
    msec_t until = t->service_ms + idle_ms(g, client) + retry;
    bool comes = x->state != SESSION_RETURNING;

    if (comes && t->hold) {
        a->state = PLACE_BUSY;
        return;
    }
    if (comes) {
        t->n.returned++;
        segtab_audit_session(t, g, x, AUDIT_RETURNED, NULL);
        segtab_touch(t, g);
    }
    session_set(&g->b.released, x, SESSION_RETURNING, until);
    if (comes)
        segtab_log_session(t, g, x);
    a->state = PLACE_WAITING;
    a->position = 1;
    a->poll_after_ms = retry;
}

/* Released, but nobody may hear of it yet: in a moment, if the manager is there. */
static void place_unstored(const struct segtab *t, struct place_ans *a)
{
    a->state = t->manager != 0 ? PLACE_BUSY : PLACE_WAITING;
    a->reason = NO_PLACE_NOW;
    a->poll_after_ms = t->o.retry_ms;
}

static void place_released(struct segtab *t, struct seg *g, struct session *x,
                           unsigned client, struct place_ans *a, struct arena *mem)
{
    x->client = (uint8_t)client;
    switch ((enum session_state)x->state) {
    case SESSION_READY:
        if (t->hold) { /* the release is perhaps not written down */
            a->state = PLACE_BUSY;
            return;
        }
        if (SQ_UNLIKELY(g->unstored.n > 0) && marks_has(&g->unstored, x->id)) {
            place_unstored(t, a);
            return;
        }
        if (x->expires_ms <= t->now.now_ms) { /* we were away for a pass's whole life */
            place_returning(t, g, x, client, a);
            return;
        }
        /* fall through */
    case SESSION_ADMITTED:
        if (x->expires_ms <= t->now.now_ms) {
            place_gone(a, GONE_FINISHED);
            return;
        }
        place_pass(t, g, x, a, mem);
        if (x->state == SESSION_READY && a->state == PLACE_ADMITTED)
            segtab_admit(t, g, x);
        return;
    case SESSION_GRACE:
    case SESSION_RETURNING:
        place_returning(t, g, x, client, a);
        return;
    default:
        assert(x->state == SESSION_OVER || x->state == SESSION_REVOKED);
        place_gone(a, x->reason);
    }
}

void segtab_forget_key(struct segtab *t, struct seg *g, uint32_t slot)
{
    struct ticket_id id = contents_ticket(&g->b, slot);
    const struct subject *x = subjects_by_ticket(&g->b.subjects, id);

    if (x != NULL && subject_is_key(x->text, x->len) && subject_head(x->text, x->len) == 0 &&
        g->out == NULL && t->now.wall_ms / 1000 - x->issued_s >= SEGTAB_KEY_S)
        subjects_del(&g->b.subjects, id);
}

static void place_one(struct segtab *t, const struct place_req *r, enum found k,
                      const struct location *s, struct place_ans *a, struct arena *mem)
{
    struct session *x;

    memset(a, 0, sizeof(*a));
    if (SQ_UNLIKELY(k == FOUND_NOWHERE)) {
        a->state = PLACE_UNKNOWN;
        t->n.unknown++;
    } else if (SQ_UNLIKELY(k == FOUND_MOVED)) {
        a->state = PLACE_MOVED;
        a->moved_to = s->moved_to;
        t->n.moved++;
    } else if (SQ_UNLIKELY(seg_is_fenced(s->seg))) {
        a->state = PLACE_BUSY;
        t->n.busy++;
    } else if (s->slot != SEGQ_NONE && segq_is_alive(&s->seg->b.q, s->slot)) {
        place_waiting(t, s, r->client, a);
        if (SQ_UNLIKELY(s->seg->b.subjects.n > 0))
            segtab_forget_key(t, s->seg, s->slot);
    } else if ((x = sessions_find(&s->seg->b.released, s->id)) != NULL) {
        place_released(t, s->seg, x, r->client, a, mem);
    } else if (SQ_UNLIKELY(s->seg->b.q.rebuilding) && segtab_rebuild_poll(t, s)) {
        if (segq_is_alive(&s->seg->b.q, s->slot))
            place_waiting(t, s, r->client, a);
        else
            a->state = PLACE_BUSY; /* no memory, or it could not be written down */
    } else {
        place_gone(a, segtab_reason(s));
    }
}

void segtab_place(struct segtab *t, struct seg_now now, const struct place_req *req,
                  uint32_t n, struct place_ans *ans, struct arena *mem)
{
    struct ahead h;

    segtab_heard(t, now);
    for (uint32_t from = 0, k; from < n; from += k) {
        k = n - from < LOOK_AHEAD ? n - from : LOOK_AHEAD;
        for (uint32_t i = 0; i < k; i++)
            look_ahead(t, &h, i, req[from + i].seg, req[from + i].number);
        for (uint32_t i = 0; i < k; i++)
            place_one(t, &req[from + i], h.kind[i], &h.at[i], &ans[from + i], mem);
    }
    t->n.places += n;
}

void segtab_place_one(struct segtab *t, const struct place_req *r, struct place_ans *a,
                      struct arena *mem)
{
    struct location s;
    enum found k = segtab_find(t, r->seg, r->number, &s);

    place_one(t, r, k, &s, a, mem);
}

/* commands.c: leaves, and a backend's commands: end a session now (release, revoke), or extend it;
 * and the use of a pass that is good once.
 *
 * The backend shows a pass: it was collected, even if its record says otherwise (the record
 * that it was admitted may be lost in a crash). So it is revoked from every state in which
 * the pass is good, and extended from READY, too. A renewal (a router's, of its own accord,
 * because the bearer is at work) is an extension whose answer has the pass, made anew. */
#include "segment/tickets/commands.h"

#include <assert.h>
#include <string.h>

#include "segment/core/auditing.h"
#include "segment/core/location.h"
#include "segment/core/recording.h"
#include "segment/core/segment.h"
#include "segment/tickets/passes.h"
#include "segment/tickets/rebuild.h"
#include "segment/tickets/timeouts.h"

/* ---- leaves ------------------------------------------------------------------------ */

/* Ends the ticket's place, its session, or its return to a segment under rebuild. */
static inline __attribute__((always_inline)) void drop_here(struct segtab *t,
                            const struct location *s)
{
    struct seg *g = s->seg;
    struct session *x;

    if (s->slot != SEGQ_NONE && segq_drop(&g->b.q, s->slot, DEAD_LEFT)) {
        segtab_audit_ticket(t, g, s->id, AUDIT_LEFT);
        contents_forget(&g->b, s->id);
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

/* May it be given up, for a place of the same person elsewhere? Under rebuild a ticket without a
 * record was not released, as far as anybody was told. */
static enum drop_state may_give_up(const struct segtab *t, const struct location *s)
{
    const struct session *x = sessions_find(&s->seg->b.released, s->id);
    bool inside = x != NULL && x->state == SESSION_ADMITTED && x->expires_ms > t->now.now_ms;

    return inside ? DROP_INSIDE : DROP_OK;
}

/* May it be given back by a join that took or found it? Not if another one of that name still has it. */
static enum drop_state may_give_back(const struct location *s, bool surely)
{
    return subjects_give_back(&s->seg->b.subjects, s->id, surely) ? DROP_OK : DROP_INSIDE;
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
        a->state = SQ_LIKELY(heir_hash == 0)           ? DROP_OK
                   : heir_hash == DROP_UNLESS_ADMITTED ? may_give_up(t, s)
                   : heir_hash == DROP_UNLESS_KEPT     ? may_give_back(s, false)
                   : heir_hash == DROP_UNLESS_FOUND    ? may_give_back(s, true)
                                                       : may_replace(s, heir_hash);
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

/* ---- commands ---------------------------------------------------------------------- */

static bool is_inside(const struct segtab *t, const struct session *x)
{
    return x != NULL && x->state != SESSION_OVER && x->state != SESSION_REVOKED &&
           x->expires_ms > t->now.now_ms;
}

static void end(struct segtab *t, const struct location *s, const struct sess_req *r)
{
    struct session *x = sessions_find(&s->seg->b.released, s->id);

    assert(!t->hold && !seg_is_fenced(s->seg));
    if (is_inside(t, x))
        segtab_revoke(t, s->seg, x, r->command == SESS_REVOKE ? GONE_FINISHED : GONE_LEFT);
    else
        drop_here(t, s);
}

/* Not beyond what a manager counts with that gives us up: its word is not older than ours. */
static int64_t within_hold(const struct segtab *t, const struct queue *q, int64_t until_s)
{
    msec_t silent = t->manager != 0 ? 0 : t->now.now_ms - t->word_ms;
    int64_t most = (t->now.wall_ms - silent) / 1000 + q->session_hold_s;

    return q->session_hold_s == 0 || until_s < most ? until_s : most;
}

/* Without memory for it the session lasts longer all the same: routers are told so. */
static void add_pass(struct segtab *t, const struct location *s, const struct session *x,
                     struct sess_ans *a, struct arena *mem)
{
    int n = segtab_make_pass(t, s->seg, x, mem, &a->pass);

    a->pass_len = n > 0 ? (uint16_t)n : 0;
}

static void extend(struct segtab *t, const struct location *s, const struct sess_req *r,
                   struct sess_ans *a, struct arena *mem)
{
    struct session *x = sessions_find(&s->seg->b.released, s->id);

    if (!is_inside(t, x) || (x->state != SESSION_READY && x->state != SESSION_ADMITTED)) {
        a->state = SESS_GONE;
    } else {
        segtab_extend(t, s->seg, x, within_hold(t, s->seg->queue, r->until_s), !r->renews);
        a->until_s = segtab_until_s(s->seg, x);
        if (r->renews)
            add_pass(t, s, x, a, mem);
    }
}

/* Written before it is answered, as all is: a second use finds it whatever happens meanwhile. The
 * same use again is one whose answer was lost. */
static void use(struct segtab *t, const struct location *s, const struct sess_req *r,
                struct sess_ans *a)
{
    struct session *x = sessions_find(&s->seg->b.released, s->id);
    uint64_t by = (uint64_t)r->until_s;

    if (!is_inside(t, x) || !session_has_use(x->state) || by == 0 ||
        (x->used != 0 && x->used != by)) {
        a->state = SESS_GONE;
        if (x != NULL && session_has_use(x->state))
            a->until_s = (int64_t)x->used;
        return;
    }
    if (x->state == SESSION_READY)
        segtab_admit(t, s->seg, x);
    if (x->used == 0) {
        x->used = by;
        segtab_log_used(t, s->seg, x->id, by);
    }
}

static void run_command(struct segtab *t, const struct sess_req *r, struct sess_ans *a,
                        struct arena *mem)
{
    struct location s = { 0 };
    enum found k = segtab_find(t, r->seg, r->number, &s);

    memset(a, 0, sizeof(*a));
    a->state = SESS_OK;
    if (k == FOUND_NOWHERE) {
        a->state = SESS_UNKNOWN;
        t->n.unknown++;
    } else if (k == FOUND_MOVED) {
        a->state = SESS_MOVED;
        a->moved_to = s.moved_to;
        t->n.moved++;
    } else if (t->hold || seg_is_fenced(s.seg)) {
        a->state = SESS_BUSY;
        t->n.busy++;
    } else if (r->command == SESS_EXTEND) {
        extend(t, &s, r, a, mem);
    } else if (r->command == SESS_USE) {
        use(t, &s, r, a);
    } else {
        end(t, &s, r);
    }
}

void segtab_session(struct segtab *t, struct seg_now now, const struct sess_req *req,
                    uint32_t n, struct sess_ans *ans, struct arena *mem)
{
    segtab_heard(t, now);
    for (uint32_t i = 0; i < n; i++)
        run_command(t, &req[i], &ans[i], mem);
    t->n.sessions += n;
}

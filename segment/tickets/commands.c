/* commands.c: a backend's session commands: end it now (release, revoke), or extend it; and the use
 * of a pass that is good once.
 *
 * The backend shows a pass: it was collected, even if its record says otherwise (the record
 * that it was admitted may be lost in a crash). So it is revoked from every state in which
 * the pass is good, and extended from READY, too. A renewal (a router's, of its own accord,
 * because the bearer is at work) is an extension whose answer has the pass, made anew. */
#include "segment/tickets/commands.h"

#include <assert.h>
#include <string.h>

#include "segment/core/clock.h"
#include "segment/core/location.h"
#include "segment/core/recording.h"
#include "segment/core/segment.h"
#include "segment/tickets/leave.h"
#include "segment/tickets/pass.h"
#include "segment/tickets/revoke.h"

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
        segtab_leave(t, s);
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

    if (!is_inside(t, x) || !session_has_use(x->state) || by == 0 || (x->used != 0 && x->used != by)) {
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

static void one(struct segtab *t, const struct sess_req *r, struct sess_ans *a,
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
        one(t, &req[i], &ans[i], mem);
    t->n.sessions += n;
}

/* state.c: peers, and messages to them; the service clock, and the ends of passes and sessions. */
#include "segment/core/state.h"

#include <assert.h>
#include <string.h>

#include "segment/core/segment.h"

struct peer *segtab_peer(struct segtab *t, peer_no no)
{
    for (uint32_t i = 0; i < t->n_peers; i++)
        if (t->peers[i].no == no)
            return &t->peers[i];
    return NULL;
}

const struct peer *segtab_peer_named(const struct segtab *t, const char *name,
                                     uint8_t role)
{
    for (uint32_t i = 0; i < t->n_peers; i++)
        if (t->peers[i].role == role && strcmp(t->peers[i].name, name) == 0)
            return &t->peers[i];
    return NULL;
}

struct outbox *segtab_to(struct segtab *t, peer_no peer, struct outbox *out)
{
    return peer == SEGTAB_SELF ? &t->loop[t->loop_in] : out;
}

void segtab_error(struct outbox *out, peer_no to, int code, uint32_t about,
                  const char *text)
{
    outbox_add(out, to, MSG_ERROR)->error = (struct msg_error) { code, about, text };
}

/* ---- the service clock ------------------------------------------------------------ */

/* Advanced by every call, not by the tick alone, so that a poll just before a late tick
 * is not dated back; and never by more than a step for time in which nobody called. A router
 * that is not heard may be dead: its silence counts when it says something. So without routers the
 * clock stands. */
void segtab_clock(struct segtab *t, struct seg_now now)
{
    msec_t to = ms_min(now.now_ms, t->heard_ms), d = to - t->clock_at_ms;

    t->now = now;
    if (SQ_UNLIKELY(t->close_ms != 0 && now.wall_ms >= t->close_ms))
        segtab_close_due(t);
    if (d <= 0)
        return;
    assert(to <= now.now_ms);
    t->clock_at_ms = to;
    if (!t->hold && to >= t->rest_until_ms)
        t->service_ms += ms_min(d, SEGTAB_MAX_STEP_MS);
}

void segtab_heard(struct segtab *t, struct seg_now now)
{
    t->heard_ms = now.now_ms;
    segtab_clock(t, now);
}

void segtab_rest(struct segtab *t)
{
    msec_t now = t->now.now_ms;

    if (t->n_routers == 0 && t->heard_ms != 0) {
        t->back_ms = now;
        t->away_ms = ms_min(now - t->heard_ms, SEGTAB_REST_MS);
        t->rest_until_ms = now + t->away_ms;
    } else if (now < t->rest_until_ms) {
        t->rest_until_ms = ms_min(now + t->away_ms, t->back_ms + 2 * SEGTAB_REST_MS);
    }
    t->heard_ms = t->clock_at_ms = now;
}

/* ---- ends of passes and sessions -------------------------------------------------- */

/* Life of a pass that was released then: a lowered pass_ttl is for later ones. */
static uint32_t ttl_s(const struct queue *q, int64_t released_at_ms)
{
    bool before = released_at_ms < q->ttl_until_ms && q->ttl_was_s > q->pass_ttl_s;

    return before ? q->ttl_was_s : q->pass_ttl_s;
}

/* By the wall clock; but a clock that went back makes no life longer than a whole one. */
static msec_t end_of(const struct segtab *t, int64_t at_ms, msec_t life_ms)
{
    msec_t left_ms = at_ms + life_ms - t->now.wall_ms;

    return t->now.now_ms + (left_ms < life_ms ? left_ms : life_ms);
}

msec_t segtab_pass_end(const struct segtab *t, const struct seg *g, int64_t at_ms)
{
    return end_of(t, at_ms, ttl_s(g->queue, at_ms) * 1000ll);
}

int64_t segtab_until_s(const struct seg *g, const struct session *x)
{
    int64_t s = x->released_at_ms / 1000 + ttl_s(g->queue, x->released_at_ms);

    return x->until_s > s ? x->until_s : s;
}

msec_t segtab_session_end(const struct segtab *t, const struct seg *g,
                          const struct session *x)
{
    if (x->until_s == 0)
        return segtab_pass_end(t, g, x->released_at_ms);
    return end_of(t, x->released_at_ms,
                  segtab_until_s(g, x) * 1000 - x->released_at_ms);
}

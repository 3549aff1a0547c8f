/* times.c: when passes and sessions end. */
#include "segment/table/times.h"

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

/* reconcile.c: gives the orders about one segment. */
#include "queuemng/chain/reconcile.h"

#include <assert.h>
#include <string.h>

#include "queuemng/state/marks.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

#define SLACK_MS 3000 /* for an answer 503 and its Retry-After */

static uint32_t clamp_u32(int64_t v)
{
    return v < 0 ? 0 : v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

void queue_rules_to(struct mng *m, const struct mqueue *q, struct mnode *n)
{
    struct arena *a = &m->out->box.mem;
    struct msg_rules *r = &mng_to(m, n->peer, MSG_RULES)->rules;

    r->epoch = m->epoch;
    r->queue = q->id;
    r->name = arena_strdup(a, q->def.name);
    r->issuer = m->issuer;
    r->idle_ms[CLIENT_GAME] = clamp_u32(q->def.idle.game_ms);
    r->idle_ms[CLIENT_MOBILE] = clamp_u32(q->def.idle.mobile_ms);
    r->idle_ms[CLIENT_BROWSER] = clamp_u32(q->def.idle.browser_ms);
    r->claim_ms = clamp_u32(q->def.claim_ms);
    r->grace_ms = clamp_u32(q->def.grace_ms);
    r->pass_ttl_s = clamp_u32((q->def.pass_ttl_ms + 999) / 1000);
    r->session_hold_s = clamp_u32(queue_hold_ms(&q->def) / 1000);
    r->n_lanes = q->n_lanes;
    for (unsigned i = 0; i < q->n_lanes; i++)
        r->lanes[i] = arena_strdup(a, def_lane_name(&q->def, i));
}

static struct seg_draw draw_of(const struct mseg *s)
{
    struct seg_draw d = { .n = s->pre.n };

    memcpy(d.seed, s->pre.seed, sizeof(d.seed));
    return d;
}

/* The slowest client comes once in its idle time and the interval that it was told; by a router
 * perhaps that has not heard yet that the node is given up. */
static uint32_t rebuild_ms(const struct mng *m, const struct mlane *l)
{
    const struct queue_def *d = &l->q->def;
    int64_t idle = d->idle.game_ms;
    msec_t told = l->told_ms - m->now_ms;

    idle = idle > d->idle.mobile_ms ? idle : d->idle.mobile_ms;
    idle = idle > d->idle.browser_ms ? idle : d->idle.browser_ms;
    if (told < (msec_t)d->poll_min_ms)
        told = (msec_t)d->poll_min_ms;
    return (uint32_t)u64_min((uint64_t)(idle + told) + REPLICA_KEEP_MS + SLACK_MS, UINT32_MAX / 2);
}

static void order_rebuild(struct mng *m, const struct mseg *s, struct msg_seg_open *o)
{
    o->ahead = AHEAD_UNKNOWN; /* comes when it is known */
    o->for_ms = rebuild_ms(m, s->lane);
    o->mark_end = s->mark_end < s->capacity ? s->mark_end : s->capacity;
    o->marks = marks_of(s->lane, s->id, &m->out->box.mem, &o->n_marks);
    if (o->marks == NULL)
        o->n_marks = 0; /* no memory: the step fails, and it is ordered again */
}

static void order_open(struct mng *m, struct mseg *s)
{
    struct msg_seg_open *o;

    queue_rules_to(m, s->lane->q, s->node);
    o = &mng_to(m, s->node->peer, MSG_SEG_OPEN)->seg_open;
    o->epoch = m->epoch;
    o->seg = s->id;
    o->queue = s->lane->q->id;
    o->lane = (uint8_t)s->lane->no;
    o->kind = s->kind;
    o->capacity = s->capacity;
    o->ahead = s->ahead;
    o->early = s->pre.early;
    o->closes_ms = prequeue_closes_ms(s);
    o->draw = draw_of(s);
    if (s->kind == OPEN_REBUILD)
        order_rebuild(m, s, o);
    if (s->lane->pace.min_ms != 0)
        batch_lane_pace(m, s->lane, s->node);
}

static void order_seal(struct mng *m, const struct mseg *s)
{
    struct msg_seg_seal *o = &mng_to(m, s->node->peer, MSG_SEG_SEAL)->seg_seal;

    o->epoch = m->epoch;
    o->seg = s->id;
    o->next = s->want_next;
    o->draw = draw_of(s);
}

static void order_next(struct mng *m, const struct mseg *s)
{
    struct msg_seg_next *o = &mng_to(m, s->node->peer, MSG_SEG_NEXT)->seg_next;

    o->epoch = m->epoch;
    o->seg = s->id;
    o->next = s->want_next != 0 ? s->want_next : s->st.next;
    o->closes_ms = prequeue_closes_ms(s);
}

static void order_remove(struct mng *m, const struct mseg *s)
{
    struct msg_seg_remove *o = &mng_to(m, s->node->peer, MSG_SEG_REMOVE)->seg_remove;

    o->epoch = m->epoch;
    o->seg = s->id;
}

/* Gives a single order at a time; the report that shows its effect brings the next. */
void seg_reconcile(struct mng *m, struct mseg *s)
{
    bool next = s->want_next != 0 && s->st.next != s->want_next;
    bool seal = s->want_seal && s->st.state != SEG_SEALED;

    assert(list_linked(&s->in_todo));
    if (!seg_reachable(s))
        return; /* stays in the list */
    s->ordered_ms = m->now_ms;
    if (!seg_is_announced(s))
        order_open(m, s);
    else if (s->want_remove)
        order_remove(m, s);
    else if (seal && s->st.shut)
        return; /* the node has noted that, and seals it when it can write */
    else if (seal)
        order_seal(m, s);
    else if (next && s->st.state == SEG_SEALED)
        order_seal(m, s); /* "sealed" may be said again, with the successor */
    else if (prequeue_draw_is_due(s))
        order_seal(m, s); /* ... or with the draw */
    else if (next || prequeue_time_is_new(s))
        order_next(m, s);
    else
        list_remove(&m->todo, &s->in_todo);
}

void seg_wish(struct mng *m, struct mseg *s)
{
    seg_todo(m, s);
    seg_reconcile(m, s);
}

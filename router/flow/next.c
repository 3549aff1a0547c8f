/* next.c: see next.h. */
#include "router/flow/next.h"

#include <assert.h>

#include "common/base/err.h"

#define FLOW_QUICK_MAX 8 /* asks without a pause: more means that we go in circles */

void flow_pause(struct flow *f, msec_t wake_ms, msec_t now_ms, enum flow_result late)
{
    if (now_ms >= f->deadline_ms || f->renews) {
        flow_end(f, late);
        return;
    }
    f->todo = FLOW_WAIT_MAP;
    f->wake_ms = ms_min(wake_ms, f->deadline_ms);
    assert(f->wake_ms <= f->deadline_ms); /* never waits past its end */
}

/* Another step of a flow sets f->todo to FLOW_WAIT_MAP before: it may ask without a pause. */
void flow_ask(struct flow *f, seg_id serving, seg_id name, node_no node, msec_t now_ms)
{
    if (f->tries >= FLOW_QUICK_MAX && f->todo == FLOW_ASK) {
        flow_wait_map(f, now_ms); /* the answer to the last ask led straight to this one */
        return;
    }
    f->tries += f->tries < UINT8_MAX;
    f->todo = FLOW_ASK;
    f->wake_ms = f->deadline_ms;
    f->serving = serving;
    f->seg = name;
    f->node = node;
}

void flow_ask_tail(struct flow *f, struct routes *r, msec_t now_ms)
{
    struct route_tail t;
    int rc = routes_tail(r, f->queue, f->lane, &t);

    assert(f->kind == FLOW_JOIN && f->asks == FLOW_JOIN);
    if (rc == 0)
        flow_ask(f, t.seg, t.seg, t.node, now_ms);
    else if (rc == SQ_EFULL || rc == SQ_EUNAVAIL)
        flow_pause(f, f->deadline_ms, now_ms, rc == SQ_EFULL ? FLOW_FULL : FLOW_UNAVAIL);
    else if (routes_version(r) > 0)
        flow_end(f, FLOW_NO_QUEUE); /* deleted while we waited */
    else
        flow_wait_map(f, now_ms);
}

enum gone_reason flow_ask_owner(struct flow *f, struct routes *r, seg_id of, msec_t now_ms)
{
    struct route_owner o;
    int rc = routes_owner(r, of, &o);

    if (SQ_UNLIKELY(rc < 0)) {
        if (rc == SQ_EGONE)
            return GONE_FINISHED;
        flow_wait_map(f, now_ms);
    } else if (SQ_UNLIKELY(f->step != REPLACE_NONE && o.queue->map.id != f->queue)) {
        flow_end(f, FLOW_OTHER);
    } else {
        f->queue = o.queue->map.id;
        if (f->step == REPLACE_NONE) /* else it is the join's */
            f->lane = (uint8_t)o.lane;
        if (o.lost)
            return GONE_LOST;
        flow_ask(f, o.seg, of, o.node, now_ms);
    }
    return GONE_NREASONS;
}

void flow_follow(struct flow *f, struct routes *r, seg_id to, msec_t now_ms)
{
    struct route_owner o;

    if (to != f->serving && routes_owner(r, to, &o) == 0 && !o.lost)
        flow_ask(f, o.seg, f->seg, o.node, now_ms);
    else
        flow_wait_map(f, now_ms);
}

void flow_join_again(struct flow *f, msec_t now_ms)
{
    assert(f->kind == FLOW_JOIN && f->hold_ms == 0);
    f->asks = FLOW_JOIN;
    f->lane = f->join_lane;
    f->token.client = f->join_client;
    flow_wait_fence(f, now_ms);
}

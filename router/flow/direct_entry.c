/* direct_entry.c: see direct_entry.h. */
#include "router/flow/direct_entry.h"

#include <assert.h>

#include "router/flow/next.h"

static bool is_over(const struct flow *f, msec_t now_ms)
{
    return now_ms >= f->hold_ms || now_ms >= f->deadline_ms;
}

/* Soon at first: the way through the manager takes some ms. Then as its ticks come. */
static void hold(struct flow *f, msec_t now_ms)
{
    static const uint16_t gaps_ms[] = { 6, 12, 25, 50 };
    unsigned i = f->looks < ARRAY_LEN(gaps_ms) - 1 ? f->looks : ARRAY_LEN(gaps_ms) - 1;

    assert(f->kind == FLOW_JOIN && f->step == REPLACE_NONE && f->position != 0);
    if (is_over(f, now_ms)) {
        flow_end(f, FLOW_OK);
        return;
    }
    f->looks += f->looks < UINT8_MAX;
    f->todo = FLOW_WAIT_MAP;
    f->wake_ms = ms_min(now_ms + gaps_ms[i], ms_min(f->hold_ms, f->deadline_ms));
}

void hold_begin(struct flow *f, msec_t now_ms)
{
    assert(f->hold_ms == 0 && f->fresh);
    f->hold_ms = now_ms + FLOW_HOLD_MS;
    hold(f, now_ms);
}

void hold_look(struct flow *f, struct routes *r, msec_t now_ms)
{
    struct route_owner o;

    assert(f->hold_ms != 0 && f->todo == FLOW_WAIT_MAP);
    if (is_over(f, now_ms) || routes_owner(r, f->token.seg, &o) < 0 || o.lost) {
        flow_end(f, FLOW_OK);
        return;
    }
    f->asks = FLOW_POLL;
    flow_ask(f, o.seg, f->token.seg, o.node, now_ms);
}

void hold_ans(struct flow *f, const struct place_ans *a, msec_t now_ms)
{
    assert(f->hold_ms != 0 && f->asks == FLOW_POLL);
    if (a->state == PLACE_WAITING || a->state == PLACE_BUSY) {
        hold(f, now_ms);
        return;
    }
    if (a->state == PLACE_ADMITTED)
        flow_admitted(f, a->released_at_ms, a->pass_expires_s);
    flow_end(f, FLOW_OK); /* if it is none of these, its next poll says what has become of it */
}

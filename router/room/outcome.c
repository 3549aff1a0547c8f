/* outcome.c: see outcome.h. */
#include "router/room/outcome.h"

#include <assert.h>
#include <string.h>

#include "router/calls/bearer.h"
#include "router/calls/ticket.h"
#include "router/room/files.h"
#include "router/room/show.h"
#include "router/state/router.h"

#define RETRY_MS 5000
#define FULL_MS  15000

/* Lasts as long as the pass is good, or its session may be renewed: a gate that does not hand the
 * renewed pass on throws nobody out by that. */
static void pass_cookie(struct router *r, const struct page_ask *a,
                        const struct route_queue *q, const struct api_ticket *t)
{
    int64_t from_s = t->released_at_ms / 1000, end_s = t->pass_expires_s;
    int64_t now_s = pass_clock_s(&r->pass_clock, ev_now(r->ev), router_wall_s(), from_s, end_s);

    if (q->map.session_idle_s != 0 && from_s + q->map.session_max_s > end_s)
        end_s = from_s + q->map.session_max_s;
    bearer_put_cookie(&r->ans.headers, t->pass, t->pass_len,
                         end_s - now_s, a->https);
}

static enum page_state state_of(const struct flow *f, const struct route_queue *q,
                                int64_t wall_ms, uint32_t *retry_ms)
{
    *retry_ms = 0;
    switch (f->result) {
    case FLOW_GONE:
        return f->reason == GONE_NO_SHOW ? PAGE_NO_SHOW
               : f->reason == GONE_LEFT  ? PAGE_LEFT
               : f->reason == GONE_LOST  ? PAGE_LOST
                                         : PAGE_EXPIRED;
    case FLOW_NO_QUEUE:
        return PAGE_NO_QUEUE;
    case FLOW_OTHER:
    case FLOW_INSIDE:
    case FLOW_NAMED:
        return PAGE_REFUSED;
    case FLOW_CLOSED:
        return q != NULL ? page_of_closed(q, wall_ms, retry_ms) : PAGE_CLOSED;
    case FLOW_FULL:
        *retry_ms = FULL_MS;
        return PAGE_FULL;
    default:
        *retry_ms = RETRY_MS;
        return PAGE_UNAVAILABLE;
    }
}

static void other(struct router *r, struct rflow *rf, const struct route_queue *q)
{
    const struct page_ask *a = rf->page;
    struct page_view v = { .lang = a->lang,
                           .chosen = a->chosen,
                           .gzip = a->gzip,
                           .queue = a->name,
                           .target = a->target,
                           .eta_s = -1 };

    v.wall_ms = ev_wall_ms(r->ev);
    v.state = state_of(&rf->flow, q, v.wall_ms, &v.poll_after_ms);
    if (q != NULL) {
        v.opens_ms = v.state == PAGE_EARLY ? q->map.when.opens_ms : 0;
        v.def = page_room_def(r, q);
        v.style = page_room_style(r, q);
        v.message = q->map.message;
        v.version = q->page_version;
    }
    page_show(r, &v);
}

static void waiting(struct router *r, struct rflow *rf, const struct api_ticket *t,
                    const struct route_queue *q)
{
    const struct page_ask *a = rf->page;
    bool capped = api_is_capped(t);
    uint64_t position = api_position(t);
    uint64_t start = position > a->start ? position : a->start;
    struct page_view v = { .state = PAGE_WAITING,
                           .lang = a->lang,
                           .chosen = a->chosen,
                           .gzip = a->gzip,
                           .queue = a->name,
                           .def = page_room_def(r, q),
                           .style = page_room_style(r, q),
                           .message = q->map.message,
                           .version = q->page_version,
                           .target = a->target,
                           .token = t->token,
                           .position = position,
                           .total = capped ? position
                                           : u64_max(position, api_lane_stats(t)->waiting),
                           .capped = capped,
                           .start = start,
                           .eta_s = -1,
                           .poll_after_ms = t->poll_after_ms,
                           .opens_ms = t->early ? q->map.when.opens_ms : 0,
                           .wall_ms = ev_wall_ms(r->ev),
                           .paused = (q->map.state == QUEUE_PAUSED && /* a pre-queue, too */
                                      q->map.when.phase != PHASE_PREQUEUE) ||
                                     q->map.when.phase == PHASE_REJECT };

    v.kept_s = q->map.kept_s;
    v.draw = q->map.when.draw;
    v.ticket_seg = t->of;
    v.ticket_number = t->number;
    if (t->position > 0)
        v.eta_s = api_eta_s(t->position, api_lane_stats(t));
    if (a->act == ACT_ENTER || a->joins || start != a->start)
        page_ticket_cookie(r, a, t->token, start);
    if (a->act == ACT_ENTER || a->claimed || a->posted)
        page_send_back(r, a, "?r=1");
    else
        page_show(r, &v);
}

static void admitted(struct router *r, struct rflow *rf, const struct route_queue *q,
                     const struct api_ticket *t)
{
    const struct page_ask *a = rf->page;

    assert(t->admitted && t->queue == q);
    r->counts.page_enters++;
    pass_cookie(r, a, q, t);
    if (a->act == ACT_ENTER || a->joins)
        page_ticket_cookie(r, a, t->token, a->start);
    page_send_to(r, a->target);
}

/* After "enter" the page must be that of this ticket; but a place that another tab has taken since
 * (by a claim, in exchange for this one) stays this browser's. */
static void gone(struct router *r, struct rflow *rf, const struct route_queue *q)
{
    const struct page_ask *a = rf->page;

    if (rf->flow.reason == GONE_FINISHED) { /* visit is over: this is another one */
        page_ticket_cookie(r, a, "", 0);
        page_send_back(r, a, "");
    } else if (a->act == ACT_ENTER) {
        if (!a->other)
            page_ticket_cookie(r, a, rf->text, 0);
        page_send_back(r, a, "?r=1");
    } else {
        other(r, rf, q);
    }
}

void page_done(struct router *r, struct rflow *rf)
{
    const struct page_ask *a = rf->page;
    const struct route_queue *q = routes_queue(r->routes, a->name, strlen(a->name));
    const struct flow *f = &rf->flow;
    bool ok = f->result == FLOW_OK || f->result == FLOW_EXISTING;
    struct api_ticket t;

    assert(a != NULL && f->todo == FLOW_DONE);
    if (a->act == ACT_LEAVE && (ok || f->result == FLOW_GONE)) {
        page_ticket_cookie(r, a, "", 0);
        page_send_back(r, a, "?left=1");
    } else if (f->result == FLOW_INSIDE && a->had) { /* then it goes in with what it has */
        page_send_back(r, a, "?r=1");
    } else if (f->result == FLOW_GONE) {
        gone(r, rf, q);
    } else if (ok && q != NULL && router_ticket(r, rf, &t)) {
        if (t.queue != q) /* another queue's: it is none here */
            page_send_back(r, a, "?r=1");
        else if (t.admitted)
            admitted(r, rf, q, &t);
        else
            waiting(r, rf, &t, q);
    } else {
        other(r, rf, q);
    }
}

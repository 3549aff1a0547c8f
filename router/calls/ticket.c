/* ticket.c: see ticket.h. */
#include "router/calls/ticket.h"

#include <assert.h>
#include <string.h>

#include "router/calls/device.h"
#include "router/state/router.h"

_Static_assert(WAITING_BODY_MAX <= HTTPD_BODY_MAX && WAITING_TOUCH <= HTTPD_BODY_TOUCH,
               "any body can be written in place");

/* A token that is not ours, or that is bound to a device; true: to that of the request. */
static __attribute__((noinline)) bool may_all_the_same(struct router *r, struct httpd_req *req,
                                                       const struct http_req *q, const struct token *t)
{
    if (t->device != 0)
        return device_may(r, req, q, t);
    router_forged(r, req);
    return false;
}

struct rflow *ticket_call(struct router *r, struct httpd_req *req, const struct http_req *q,
                          struct slice text, rflow_done done, const char *busy, struct token *t)
{
    if (token_read(t, &r->keys.token, text.p, text.n) != 0 && !may_all_the_same(r, req, q, t))
        return NULL;
    suspecting_heard(r, t, q->method == HTTP_GET || q->method == HTTP_HEAD);
    return rflow_call(r, req, done, busy);
}

/* All but its text: a ticket that its segment says to be waiting, or the router in its place. Without
 * a place the node says whether it takes part in the draw: our map and clock may be behind. */
static void ticket_waiting(struct api_ticket *t, const struct route_owner *o, const struct token *of,
                    const struct place_ans *a)
{
    assert(a->state == PLACE_WAITING && o->lane < o->queue->map.n_lanes);
    *t = (struct api_ticket) { .queue = o->queue,
                               .lane = o->lane,
                               .position = a->position,
                               .of = of->seg,
                               .number = of->number,
                               .early = a->position == 0 && a->reason == NO_PLACE_EARLY,
                               .poll_after_ms = a->poll_after_ms,
                               .segment = o->seg };
}

bool router_ticket(struct router *r, const struct rflow *rf, struct api_ticket *t)
{
    const struct flow *f = &rf->flow;
    struct route_owner o;

    assert(f->todo == FLOW_DONE && (f->result == FLOW_OK || f->result == FLOW_EXISTING));
    if (routes_owner(r->routes, f->token.seg, &o) < 0 || o.queue == NULL)
        return false;
    if (f->kind == FLOW_POLL)
        memcpy(t->token, rf->text, TOKEN_TEXT_LEN);
    else
        token_write(&f->token, &r->keys.token, t->token);
    assert(o.lane < o.queue->map.n_lanes);
    t->permit = false;
    t->queue = o.queue;
    t->lane = o.lane;
    t->admitted = f->admitted;
    t->position = f->position;
    t->poll_after_ms = f->poll_after_ms;
    t->segment = f->serving;
    t->of = f->token.seg;
    t->number = f->token.number;
    t->early = !f->admitted && f->position == 0 && f->no_place == NO_PLACE_EARLY;
    t->pass = rf->pass;
    t->pass_len = rf->pass_len;
    t->released_at_ms = f->released_at_ms;
    t->pass_expires_s = f->pass_expires_s;
    return true;
}

/* The pieces of its answer's body. NULL: api_ticket() has to say it. */
static const struct waiting_text *pieces(struct router *r, const struct rflow *rf)
{
    const struct flow *f = &rf->flow;
    const struct waiting_text *x;

    if (rf->req == NULL || f->result != FLOW_OK || f->admitted)
        return NULL;
    x = waiting_text_of(&r->waiting_texts, r->routes, f->token.seg);
    return x != NULL && x->owner.seg == f->serving && waiting_text_tells(x, f->position) ? x : NULL;
}

bool ticket_told(struct router *r, struct rflow *rf)
{
    const struct waiting_text *x = pieces(r, rf);
    const struct flow *f = &rf->flow;
    char line[API_LOCATION_LEN], *body;

    assert(f->kind == FLOW_JOIN || f->kind == FLOW_POLL);
    if (x == NULL)
        return false;
    if (f->kind == FLOW_JOIN) {
        if (SQ_UNLIKELY(f->token.device != 0)) /* with its cookie */
            return false;
        token_write(&f->token, &r->keys.token, rf->text);
        api_location(line, rf->text);
        body = httpd_body(rf->req, 201, API_JSON, line, sizeof(line));
    } else {
        body = httpd_body(rf->req, 200, API_JSON, "", 0);
    }
    if (SQ_UNLIKELY(body == NULL))
        return false;
    httpd_body_end(rf->req, waiting_text_put(x, body, rf->text, f->token.number, f->position,
                                             f->poll_after_ms));
    rf->req = NULL;
    return true;
}

/* ---- GET: a poll ------------------------------------------------------------------------- */

uint32_t ticket_over_ms(struct router *r, const struct token *t)
{
    uint32_t wait_ms;

    if (SQ_LIKELY(!r->gate.hears))
        return 0;
    suspecting_heard(r, t, true);
    if (r->gate.ticket_times == 0)
        return 0;
    wait_ms = ticket_polls_over_ms(r->gate.tickets, t, ev_now(r->ev));
    r->gate.ticket_refused += wait_ms > 0;
    return wait_ms;
}

bool ticket_may_poll(struct router *r, struct httpd_req *req, const struct token *t)
{
    uint32_t wait_ms = ticket_over_ms(r, t);

    if (SQ_LIKELY(wait_ms == 0))
        return true;
    api_too_fast(&r->ans, wait_ms,
                 "this ticket is polled far more often than it is told to (poll_after_ms); its place is kept",
                 router_request_id(r));
    router_answer(r, req);
    return false;
}

void ticket_polled(struct router *r, const struct token *t, uint32_t told_ms)
{
    if (SQ_UNLIKELY(r->gate.ticket_times != 0))
        ticket_polls_told(r->gate.tickets, t, told_ms, r->gate.ticket_times, ev_now(r->ev));
}

/* Answered from what its node has told, without asking it. */
static bool known(struct router *r, struct httpd_req *req, const struct token *t,
                  const char *text)
{
    const struct waiting_text *x = waiting_text_of(&r->waiting_texts, r->routes, t->seg);
    struct place_ans a;
    struct api_ticket b;
    char *body;

    if (x == NULL || !replicas_place_now(&r->replicas, x->owner.node, x->owner.seg, t,
                                         ev_now(r->ev), &a))
        return false;
    r->counts.polls++;
    ticket_polled(r, t, a.poll_after_ms);
    histo_add(&r->poll_us, 0);
    body = waiting_text_tells(x, a.position) ? httpd_body(req, 200, API_JSON, "", 0) : NULL;
    if (SQ_LIKELY(body != NULL)) {
        httpd_body_end(req, waiting_text_put(x, body, text, t->number, a.position,
                                             a.poll_after_ms));
        return true;
    }
    ticket_waiting(&b, &x->owner, t, &a);
    memcpy(b.token, text, TOKEN_TEXT_LEN);
    api_ticket(&r->ans, 200, &b, false);
    router_answer(r, req);
    return true;
}

static void poll_done(struct router *r, struct rflow *rf)
{
    struct api_ticket t;

    if (rf->flow.result == FLOW_OK && !rf->flow.admitted)
        ticket_polled(r, &rf->flow.token, rf->flow.poll_after_ms);
    if (ticket_told(r, rf))
        return;
    if (rf->flow.result == FLOW_OK && router_ticket(r, rf, &t))
        api_ticket(&r->ans, 200, &t, false);
    else
        router_failed(r, &rf->flow);
}

void poll_start(struct router *r, struct httpd_req *req, const struct http_req *q, struct slice text)
{
    struct token t;
    struct rflow *rf;

    if (SQ_UNLIKELY(token_read(&t, &r->keys.token, text.p, text.n) != 0) && !may_all_the_same(r, req, q, &t))
        return;
    if (!ticket_may_poll(r, req, &t) || known(r, req, &t, text.p))
        return;
    rf = rflow_call(r, req, poll_done, "the router is overloaded; your place is kept, try again");
    if (rf == NULL)
        return;
    r->counts.polls++;
    memcpy(rf->text, text.p, TOKEN_TEXT_LEN); /* a token has a single spelling, so this is also the answer's */
    flow_poll(&rf->flow, r->routes, &r->replicas, &t, ev_now(r->ev));
    rflow_begin(r, rf);
}

/* ---- DELETE: a leave --------------------------------------------------------------------- */

static void leave_done(struct router *r, struct rflow *rf)
{
    if (rf->flow.result == FLOW_OK)
        r->ans.status = 204;
    else
        router_failed(r, &rf->flow);
}

void leave_start(struct router *r, struct httpd_req *req, const struct http_req *q, struct slice text)
{
    struct token t;
    struct rflow *rf = ticket_call(r, req, q, text, leave_done, "the router is overloaded; try again", &t);

    if (rf == NULL)
        return;
    r->counts.leaves++;
    flow_leave(&rf->flow, r->routes, &t, ev_now(r->ev));
    rflow_begin(r, rf);
}

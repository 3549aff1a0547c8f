/* poll.c: see poll.h. */
#include "router/calls/poll.h"

#include <string.h>

#include "router/calls/ticket.h"
#include "router/state/answer.h"

static void done(struct router *r, struct rflow *rf)
{
    struct api_ticket t;

    if (rf->flow.result == FLOW_OK && router_ticket(r, rf, &t))
        api_ticket(&r->ans, 200, &t, false);
    else
        api_failed(&r->ans, &rf->flow, router_request_id(r));
}

void poll_start(struct router *r, struct httpd_req *req, struct slice text)
{
    struct token t;
    struct rflow *rf = ticket_call(r, req, text, done, "too much to do; the place is kept", &t);

    if (rf == NULL)
        return;
    r->counts.polls++;
    memcpy(rf->text, text.p, TOKEN_TEXT_LEN); /* there is one spelling, so also the answer's */
    flow_poll(&rf->flow, r->routes, &r->replicas, &t, ev_now(r->ev));
    rflow_begin(r, rf);
}

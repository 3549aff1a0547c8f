/* leave.c: see leave.h. */
#include "router/calls/leave.h"

#include "router/calls/ticket.h"
#include "router/state/router.h"

static void done(struct router *r, struct rflow *rf)
{
    if (rf->flow.result == FLOW_OK)
        r->ans.status = 204;
    else
        api_failed(&r->ans, &rf->flow, router_request_id(r));
}

void leave_start(struct router *r, struct httpd_req *req, struct slice text)
{
    struct token t;
    struct rflow *rf = ticket_call(r, req, text, done, "the router is overloaded; try again", &t);

    if (rf == NULL)
        return;
    r->counts.leaves++;
    flow_leave(&rf->flow, r->routes, &t, ev_now(r->ev));
    rflow_begin(r, rf);
}

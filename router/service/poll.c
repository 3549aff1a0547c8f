/* poll.c: GET /v1/tickets/{token}, top to bottom. The hot path: nothing is allocated for
 * a waiting ticket, and a forged token costs one MAC. */
#include "router/service/page_room.h"
#include "router/service/router_flow.h"

#include <string.h>

void poll_start(struct router *r, struct httpd_req *req, struct slice text)
{
    struct token t;
    struct rflow *rf;

    if (token_read(&t, &r->keys.token, text.p, text.n) < 0) {
        router_forged(r, req);
        return;
    }
    rf = rflow_new(r, req, NULL);
    if (rf == NULL) {
        router_problem(r, req, API_QUEUE_UNAVAILABLE,
                       "too much to do; the place is kept");
        return;
    }
    r->counts.polls++;
    memcpy(rf->text, text.p, TOKEN_TEXT_LEN); /* there is one spelling, so also the answer's */
    flow_poll(&rf->flow, r->routes, &t, ev_now(r->ev));
    rflow_begin(r, rf);
}

void poll_done(struct router *r, struct rflow *rf)
{
    struct api_ticket t;

    if (rf->page != NULL) {
        page_done(r, rf);
        return;
    }
    if (rf->flow.result == FLOW_OK && router_ticket(r, rf, &t))
        api_ticket(&r->ans, 200, &t, false);
    else
        api_failed(&r->ans, &rf->flow, router_request_id(r));
}

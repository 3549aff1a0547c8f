/* join.c: POST /v1/queues/{queue}/tickets, top to bottom. */
#include <string.h>

#include "router/body.h"
#include "router/page_room.h"
#include "router/router_flow.h"

/* 0: into the default lane; -1: refused and answered. */
static int check_lane(struct router *r, struct httpd_req *req,
                      const struct route_queue *q, const struct join_body *b)
{
    if (b->has_claim) {
        router_problem(r, req, API_NOT_ELIGIBLE, "no claim can be verified here");
        return -1;
    }
    if (b->lane_len == 0 || (q->n_lanes > 0 && strlen(q->lanes[0]) == b->lane_len &&
                             memcmp(q->lanes[0], b->lane, b->lane_len) == 0))
        return 0;
    router_problem(r, req, API_NOT_ELIGIBLE, "this lane needs a signed claim");
    return -1;
}

static void begin(struct router *r, struct httpd_req *req, const struct route_queue *q,
                  const struct join_body *b)
{
    struct rflow *rf = rflow_new(r, req);

    if (rf == NULL) {
        router_problem(r, req, API_QUEUE_UNAVAILABLE,
                       "too much to do; nothing was promised");
        return;
    }
    r->counts.joins++;
    rf->flow.token = (struct token) { .client = b->client };
    rf->subject_len = b->subject_len;
    memcpy(rf->subject, b->subject, b->subject_len);
    if (b->subject_len > 0)
        rf->flow.token.subject_hash =
            token_subject_hash(&r->keys.token, q->id, b->subject, b->subject_len);
    flow_join(&rf->flow, r->routes, q, 0, ev_now(r->ev));
    rflow_begin(r, rf);
}

void join_start(struct router *r, struct httpd_req *req, const struct http_req *q,
                struct slice name)
{
    const struct route_queue *queue = routes_queue(r->routes, name.p, name.n);
    struct join_body b;
    const char *why;
    int rc;

    if (q->has_body && !q->json) {
        router_problem(r, req, API_UNSUPPORTED_MEDIA_TYPE, "the body must be JSON");
        return;
    }
    rc = body_join(&b, q->body.p, q->body.n, &why);
    if (rc == SQ_EINVAL)
        router_problem(r, req, API_BAD_REQUEST, why);
    else if (rc < 0 || routes_version(r->routes) == 0)
        router_problem(r, req, API_QUEUE_UNAVAILABLE, "not available now");
    else if (queue == NULL)
        router_problem(r, req, API_QUEUE_NOT_FOUND, "there is no such queue");
    else if (check_lane(r, req, queue, &b) == 0)
        begin(r, req, queue, &b);
}

void join_done(struct router *r, struct rflow *rf)
{
    bool ok = rf->flow.result == FLOW_OK || rf->flow.result == FLOW_EXISTING;
    struct api_ticket t;

    if (rf->page != NULL) {
        page_done(r, rf);
        return;
    }
    if (!ok || !router_ticket(r, rf, &t)) {
        api_failed(&r->ans, &rf->flow, router_request_id(r));
        return;
    }
    api_ticket(&r->ans, rf->flow.result == FLOW_OK ? 201 : 200, &t, true);
}

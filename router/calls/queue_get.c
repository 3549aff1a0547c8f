/* queue_get.c: see queue_get.h. */
#include "router/calls/queue_get.h"

#include "router/state/router.h"

void queue_get(struct router *r, struct httpd_req *req, struct slice name)
{
    const struct route_queue *q = routes_queue(r->routes, name.p, name.n);

    if (routes_version(r->routes) == 0) {
        router_problem(r, req, API_QUEUE_UNAVAILABLE, "this router has no map of the queues yet; try again");
    } else if (q == NULL) {
        router_problem(r, req, API_QUEUE_NOT_FOUND, "there is no such queue");
    } else {
        api_queue(&r->ans, q);
        router_answer(r, req);
    }
}

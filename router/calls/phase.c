/* phase.c: see phase.h. */
#include "router/calls/phase.h"

#include "router/state/router.h"

bool phase_is_free(const struct route_queue *q)
{
    return q != NULL && q->map.when.phase == PHASE_PASSTHROUGH;
}

static void refuse(struct router *r, struct httpd_req *req, const struct route_queue *q,
                   const char *why)
{
    api_closed(&r->ans, q, why, router_request_id(r));
    router_answer(r, req);
}

bool phase_refused(struct router *r, struct httpd_req *req, const struct route_queue *q)
{
    if (q->map.state != QUEUE_CLOSED)
        return false;
    if (q->map.when.phase == PHASE_REJECT)
        refuse(r, req, q, "nobody is let in at present");
    else if (q->map.when.phase == PHASE_EARLY)
        refuse(r, req, q, "the queue is not open yet");
    else if (q->map.when.phase == PHASE_OVER)
        refuse(r, req, q, "the queue has closed");
    else
        return false;
    return true;
}

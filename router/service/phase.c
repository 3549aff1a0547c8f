/* phase.c: phases of a queue, as requests meet them. */
#include "router/service/phase.h"

#define CLOSED_MS 60000
#define EARLY_MAX 60000 /* a page that waits for the opening looks again at least so often */

bool phase_is_free(const struct route_queue *q)
{
    return q != NULL && q->when.phase == PHASE_PASSTHROUGH;
}

static void refuse(struct router *r, struct httpd_req *req, const struct route_queue *q,
                   const char *why)
{
    api_closed(&r->ans, q, why, router_request_id(r));
    router_answer(r, req);
}

bool phase_refused(struct router *r, struct httpd_req *req, const struct route_queue *q)
{
    if (q->state != QUEUE_CLOSED)
        return false;
    if (q->when.phase == PHASE_REJECT)
        refuse(r, req, q, "nobody is let in at present");
    else if (q->when.phase == PHASE_EARLY)
        refuse(r, req, q, "the queue is not open yet");
    else if (q->when.phase == PHASE_OVER)
        refuse(r, req, q, "the queue has closed");
    else
        return false;
    return true;
}

void phase_let_by(struct router *r, const struct route_queue *q)
{
    struct buf *b = &r->ans.headers;

    r->counts.verified++;
    r->ans.status = 204;
    buf_str(b, "X-Segq-Queue: ");
    buf_str(b, q->name);
    buf_str(b, "\r\nX-Segq-Bypass: passthrough\r\n");
}

enum page_state phase_page(const struct route_queue *q, int64_t wall_ms, uint32_t *retry_ms)
{
    int64_t left = q->when.opens_ms - wall_ms;

    *retry_ms = CLOSED_MS;
    if (q->when.phase == PHASE_REJECT)
        return PAGE_REJECT;
    if (q->when.phase != PHASE_EARLY)
        return PAGE_CLOSED;
    if (left < EARLY_MAX) /* people and pages spread themselves: see page.js */
        *retry_ms = left > 2000 ? (uint32_t)left : 2000;
    return PAGE_EARLY;
}

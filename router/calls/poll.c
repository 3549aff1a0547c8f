/* poll.c: see poll.h. */
#include "router/calls/poll.h"

#include <string.h>

#include "router/calls/ticket.h"
#include "router/state/router.h"

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

static void done(struct router *r, struct rflow *rf)
{
    struct api_ticket t;

    if (ticket_told(r, rf))
        return;
    if (rf->flow.result == FLOW_OK && router_ticket(r, rf, &t))
        api_ticket(&r->ans, 200, &t, false);
    else
        api_failed(&r->ans, &rf->flow, router_request_id(r));
}

void poll_start(struct router *r, struct httpd_req *req, struct slice text)
{
    struct token t;
    struct rflow *rf;

    if (token_read(&t, &r->keys.token, text.p, text.n) < 0) {
        router_forged(r, req);
        return;
    }
    if (known(r, req, &t, text.p))
        return;
    rf = rflow_call(r, req, done, "the router is overloaded; your place is kept, try again");
    if (rf == NULL)
        return;
    r->counts.polls++;
    memcpy(rf->text, text.p, TOKEN_TEXT_LEN); /* a token has a single spelling, so this is also the answer's */
    flow_poll(&rf->flow, r->routes, &r->replicas, &t, ev_now(r->ev));
    rflow_begin(r, rf);
}

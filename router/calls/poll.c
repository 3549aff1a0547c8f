/* poll.c: see poll.h. */
#include "router/calls/poll.h"

#include <string.h>

#include "router/calls/ticket.h"
#include "router/state/answer.h"

_Static_assert(WAITING_BODY_MAX <= HTTPD_BODY_MAX && WAITING_TOUCH <= HTTPD_BODY_TOUCH,
               "any body can be written in place");

/* That a ticket waits. False: api_ticket() has to say it. */
static bool say_waiting(struct httpd_req *req, const struct waiting_text *x, const char *text,
                        uint32_t number, uint64_t position, uint32_t poll_after_ms)
{
    char *body = waiting_text_tells(x, position) ? httpd_body(req, API_JSON) : NULL;

    if (SQ_UNLIKELY(body == NULL))
        return false;
    httpd_body_end(req, waiting_text_put(x, body, text, number, position, poll_after_ms));
    return true;
}

/* Answered from what its node has told, without asking it. */
static bool known(struct router *r, struct httpd_req *req, const struct token *t,
                  const char *text)
{
    const struct waiting_text *x = waiting_text_of(&r->waiting_texts, r->routes, t->seg);
    struct place_ans a;
    struct api_ticket b;

    if (x == NULL || !replicas_place_now(&r->replicas, x->owner.node, x->owner.seg, t,
                                         ev_now(r->ev), &a))
        return false;
    r->counts.polls++;
    histo_add(&r->poll_us, 0);
    if (say_waiting(req, x, text, t->number, a.position, a.poll_after_ms))
        return true;
    ticket_waiting(&b, &x->owner, t, &a);
    memcpy(b.token, text, TOKEN_TEXT_LEN);
    api_ticket(&r->ans, 200, &b, false);
    router_answer(r, req);
    return true;
}

/* The same, as the node has said it. */
static bool told(struct router *r, struct rflow *rf)
{
    const struct flow *f = &rf->flow;
    const struct waiting_text *x = rf->req != NULL ? ticket_pieces(r, rf) : NULL;

    return x != NULL &&
           say_waiting(rf->req, x, rf->text, f->token.number, f->position, f->poll_after_ms);
}

static void done(struct router *r, struct rflow *rf)
{
    struct api_ticket t;

    if (told(r, rf))
        rf->req = NULL; /* it is answered */
    else if (rf->flow.result == FLOW_OK && router_ticket(r, rf, &t))
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
    rf = rflow_call(r, req, done, "too much to do; the place is kept");
    if (rf == NULL)
        return;
    r->counts.polls++;
    memcpy(rf->text, text.p, TOKEN_TEXT_LEN); /* there is one spelling, so also the answer's */
    flow_poll(&rf->flow, r->routes, &r->replicas, &t, ev_now(r->ev));
    rflow_begin(r, rf);
}

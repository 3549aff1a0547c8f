/* ticket.c: see ticket.h. */
#include "router/calls/ticket.h"

#include <assert.h>
#include <string.h>

#include "router/state/answer.h"

_Static_assert(WAITING_BODY_MAX <= HTTPD_BODY_MAX && WAITING_TOUCH <= HTTPD_BODY_TOUCH,
               "any body can be written in place");

struct rflow *ticket_call(struct router *r, struct httpd_req *req, struct slice text,
                          rflow_done done, const char *busy, struct token *t)
{
    if (token_read(t, &r->keys.token, text.p, text.n) == 0)
        return rflow_call(r, req, done, busy);
    router_forged(r, req);
    return NULL;
}

/* Without a place; its node says whether it takes part in the draw: our map and clock may be
 * behind. */
static bool draws(unsigned no_place, const struct route_queue *q)
{
    return no_place == NO_PLACE_UNSAID ? q->map.when.phase == PHASE_PREQUEUE
                                       : no_place == NO_PLACE_EARLY;
}

void ticket_waiting(struct api_ticket *t, const struct route_owner *o, const struct token *of,
                    const struct place_ans *a)
{
    assert(a->state == PLACE_WAITING && o->lane < o->queue->map.n_lanes);
    *t = (struct api_ticket) { .queue = o->queue,
                               .lane = o->lane,
                               .position = a->position,
                               .of = of->seg,
                               .number = of->number,
                               .early = a->position == 0 && draws(a->reason, o->queue),
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
    t->queue = o.queue;
    t->lane = o.lane;
    t->admitted = f->admitted;
    t->position = f->position;
    t->poll_after_ms = f->poll_after_ms;
    t->segment = f->serving;
    t->of = f->token.seg;
    t->number = f->token.number;
    t->early = !f->admitted && f->position == 0 && draws(f->no_place, o.queue);
    t->pass = rf->pass;
    t->pass_len = rf->pass_len;
    t->released_at_ms = f->released_at_ms;
    t->pass_expires_s = f->pass_expires_s;
    return true;
}

bool ticket_say_waiting(struct httpd_req *req, int status, const struct waiting_text *x,
                        const char *text, uint32_t number, uint64_t position,
                        uint32_t poll_after_ms)
{
    char line[API_LOCATION_LEN], *body;
    size_t n = status == 201 ? (size_t)(api_location(line, text) - line) : 0;

    if (SQ_UNLIKELY(!waiting_text_tells(x, position)))
        return false;
    body = httpd_body(req, status, API_JSON, line, n);
    if (SQ_UNLIKELY(body == NULL))
        return false;
    httpd_body_end(req, waiting_text_put(x, body, text, number, position, poll_after_ms));
    return true;
}

bool ticket_told(struct router *r, struct rflow *rf)
{
    const struct flow *f = &rf->flow;
    bool joins = f->kind == FLOW_JOIN;
    const struct waiting_text *x;

    assert(joins || f->kind == FLOW_POLL);
    if (rf->req == NULL || f->result != FLOW_OK || f->admitted)
        return false;
    x = waiting_text_of(&r->waiting_texts, r->routes, f->token.seg);
    if (x == NULL || x->owner.seg != f->serving)
        return false;
    if (joins)
        token_write(&f->token, &r->keys.token, rf->text);
    if (!ticket_say_waiting(rf->req, joins ? 201 : 200, x, rf->text, f->token.number, f->position,
                            f->poll_after_ms))
        return false;
    rf->req = NULL;
    return true;
}

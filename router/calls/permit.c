/* permit.c: see permit.h. */
#include "router/calls/permit.h"

#include <string.h>

#include "common/base/json_in.h"
#include "common/ticket/bound.h"
#include "router/calls/join.h"
#include "router/calls/ticket.h"

#define TASKS "/tasks"

/* "login" of "login/tasks"; n 0: it is another path. */
static struct slice queue_of(struct slice arg)
{
    size_t tail = sizeof(TASKS) - 1;

    if (arg.n <= tail || memcmp(arg.p + arg.n - tail, TASKS, tail) != 0)
        return (struct slice){ 0 };
    return (struct slice){ arg.p, arg.n - tail };
}

/* By its bytes: nearly every body of a task is told at once. */
static bool body_may_be_permit(const char *p, size_t n)
{
    static const char word[] = "\"permit\"";

    for (size_t i = 0; i + sizeof(word) - 1 <= n; i++)
        if (p[i] == '"' && memcmp(p + i, word, sizeof(word) - 1) == 0)
            return true;
    return false;
}

/* Reads the bindings of the pass. 0; SQ_EUNKNOWN: it is no permit's body; SQ_EINVAL and *why: one
 * sentence of ours. */
static int body_permit(struct bound *b, struct slice body, const char **why)
{
    json_t *o = body_too_deep(body.p, body.n) ? NULL : json_in(body.p, body.n, NULL);
    const char *kind = json_string_value(json_object_get(o, "kind"));
    int rc = SQ_EUNKNOWN;

    if (kind != NULL && strcmp(kind, "permit") == 0) {
        *why = bound_take(b, o);
        rc = *why == NULL ? 0 : SQ_EINVAL;
    }
    json_decref(o);
    return rc;
}

/* A join with that: it stands in j's head. */
static void body_bind(struct join_body *j, const struct bound *b)
{
    size_t n = bound_write(b, j->head + 2);

    j->head[0] = SUBJECT_BOUND_MARK;
    j->head[1] = (char)n;
    j->head_len = (uint8_t)(n > 0 ? n + 2 : 0);
}

enum api_call permit_call(const struct http_req *q, const struct api_req *a)
{
    bool joins = a->call == API_TASKS;

    if (joins && q->method == HTTP_POST && queue_of(a->arg).n > 0 && api_bearer(q).n == 0 &&
        body_may_be_permit(q->body.p, q->body.n))
        return API_PERMIT;
    if (joins || a->arg.n != TOKEN_TEXT_LEN || memchr(a->arg.p, '/', a->arg.n) != NULL)
        return a->call;
    return q->method == HTTP_GET || q->method == HTTP_HEAD || q->method == HTTP_DELETE
               ? API_PERMIT_ONE
               : API_BAD_METHOD;
}

/* The ticket of rf, or what became of it. */
static void tell(struct router *r, struct rflow *rf, int status, bool joined)
{
    struct api_ticket t;

    if (router_ticket(r, rf, &t)) {
        t.permit = true;
        api_ticket(&r->ans, status, &t, joined);
    } else {
        api_failed(&r->ans, &rf->flow, router_request_id(r));
    }
}

static void joined(struct router *r, struct rflow *rf)
{
    if (rf->flow.result == FLOW_OK || rf->flow.result == FLOW_EXISTING)
        tell(r, rf, rf->flow.result == FLOW_OK ? 201 : 200, true);
    else
        api_failed(&r->ans, &rf->flow, router_request_id(r));
}

static void polled(struct router *r, struct rflow *rf)
{
    if (rf->flow.result == FLOW_OK)
        tell(r, rf, 200, false);
    else if (rf->flow.result == FLOW_GONE)
        api_permit_over(&r->ans, rf->text, rf->flow.reason);
    else
        api_failed(&r->ans, &rf->flow, router_request_id(r));
}

static void has_left(struct router *r, struct rflow *rf)
{
    if (rf->flow.result == FLOW_OK)
        api_permit_over(&r->ans, rf->text, GONE_LEFT);
    else
        api_failed(&r->ans, &rf->flow, router_request_id(r));
}

bool permit_join(struct router *r, struct httpd_req *req, const struct http_req *q,
                 const struct api_req *a)
{
    struct join_body b;
    struct bound bound;
    const char *why;
    int rc = body_permit(&bound, q->body, &why);

    if (rc == SQ_EUNKNOWN)
        return false;
    if (rc < 0) {
        router_problem(r, req, API_BAD_REQUEST, why);
    } else if (join_read(r, req, q, &b)) {
        body_bind(&b, &bound);
        b.any_lane = a->any_lane;
        join_ask(r, req, q, queue_of(a->arg), &b, joined);
    }
    return true;
}

void permit_one(struct router *r, struct httpd_req *req, const struct http_req *q,
                struct slice arg)
{
    bool leaves = q->method == HTTP_DELETE;
    struct token t;
    struct rflow *rf = ticket_call(r, req, arg, leaves ? has_left : polled,
                                   "the router is overloaded; your place is kept, try again", &t);

    if (rf == NULL)
        return;
    memcpy(rf->text, arg.p, TOKEN_TEXT_LEN);
    r->counts.leaves += leaves;
    r->counts.polls += !leaves;
    if (leaves)
        flow_leave(&rf->flow, r->routes, &t, ev_now(r->ev));
    else
        flow_poll(&rf->flow, r->routes, &r->replicas, &t, ev_now(r->ev));
    rflow_begin(r, rf);
}

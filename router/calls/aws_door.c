/* aws_door.c: see aws_door.h. */
#include "router/calls/aws_door.h"

#include <string.h>

#include "router/calls/join.h"
#include "router/calls/ticket.h"

struct aws_call {
    const struct cfg_aws_event *event;
    struct aws_line *line; /* line of its queue */
    const struct route_queue *queue;
    struct aws_asked asked;
};

/* ---- answers of flows ---- */

static void assigned(struct router *r, struct rflow *rf)
{
    char token[TOKEN_TEXT_LEN];

    if (rf->flow.result != FLOW_OK && rf->flow.result != FLOW_EXISTING) {
        router_failed(r, &rf->flow);
        return;
    }
    token_write(&rf->flow.token, &r->keys.token, token);
    aws_assigned(&r->ans, token);
}

/* The ticket waits: it is told so. */
static bool is_waiting(struct router *r, const struct rflow *rf)
{
    if (rf->flow.result != FLOW_OK || rf->flow.admitted)
        return false;
    ticket_polled(r, &rf->flow.token, rf->flow.poll_after_ms);
    return true;
}

static const struct cfg_aws_event *event_of(const struct router *r, const char *queue)
{
    const struct cfg_aws_event *v = r->cfg->aws_events.v;

    for (size_t i = 0; i < r->cfg->aws_events.n; i++)
        if (strcmp(v[i].queue, queue) == 0)
            return &v[i];
    return NULL;
}

static void numbered(struct router *r, struct rflow *rf)
{
    const struct flow *f = &rf->flow;
    const struct cfg_aws_event *event = NULL;
    struct route_owner o;
    uint64_t number = 0;

    if (f->result != FLOW_OK) {
        router_failed(r, f);
        return;
    }
    (void)is_waiting(r, rf);
    if (routes_owner(r->routes, f->token.seg, &o) == 0 && o.queue != NULL) {
        event = event_of(r, o.queue->map.name); /* by now: the id may have changed */
        number = aws_number(r->routes, o.queue, &f->token);
    }
    if (number == 0 || event == NULL)
        aws_not_yet(&r->ans, "Request ID not found");
    else
        aws_numbered(&r->ans, number, f->token.issued_s, event->event_id);
}

static void put_pass(struct router *r, const struct rflow *rf)
{
    int64_t left_s = rf->flow.pass_expires_s - router_wall_s();

    aws_tokens(&r->ans, rf->pass, rf->pass_len, left_s);
}

static void put_left(struct router *r, const struct rflow *rf)
{
    int64_t left_s = rf->flow.pass_expires_s - router_wall_s();

    aws_count(&r->ans, "expires_in", left_s > 0 ? (uint64_t)left_s : 0);
}

static void served(struct router *r, struct rflow *rf, void (*put)(struct router *, const struct rflow *))
{
    if (is_waiting(r, rf))
        aws_not_yet(&r->ans, "Request ID not being served yet");
    else if (rf->flow.result == FLOW_OK)
        put(r, rf);
    else
        router_failed(r, &rf->flow);
}

static void let_in(struct router *r, struct rflow *rf)
{
    served(r, rf, put_pass);
}

static void expiring(struct router *r, struct rflow *rf)
{
    served(r, rf, put_left);
}

/* ---- requests ---- */

static const struct cfg_aws_event *find_event(const struct router *r, struct slice id, size_t *i)
{
    const struct cfg_aws_event *v = r->cfg->aws_events.v;

    for (*i = 0; *i < r->cfg->aws_events.n; ++*i)
        if (slice_is(id, v[*i].event_id))
            return &v[*i];
    return NULL;
}

static bool read_asked(struct router *r, struct httpd_req *req, const struct http_req *q, struct aws_asked *a)
{
    struct body_error e;

    if (q->method != HTTP_POST) {
        aws_query(a, q->query);
    } else if (q->has_body && !q->json) {
        router_problem(r, req, API_UNSUPPORTED_MEDIA_TYPE, "the body must be JSON");
        return false;
    } else if (!aws_body(a, q->body, &e)) {
        router_problem(r, req, API_BAD_REQUEST, e.text);
        return false;
    }
    return true;
}

/* False: answered. */
static bool read_call(struct router *r, struct httpd_req *req, const struct http_req *q, struct aws_call *c)
{
    const char *why;
    size_t i;

    if (!read_asked(r, req, q, &c->asked))
        return false;
    c->event = find_event(r, c->asked.event_id, &i);
    if (c->event == NULL) {
        router_problem(r, req, API_BAD_REQUEST, "event_id must be one of this door's events (aws_events)");
        return false;
    }
    c->line = &r->aws_lines[i];
    c->queue = routes_queue(r->routes, c->event->queue, strlen(c->event->queue));
    if (routes_version(r->routes) == 0) {
        router_problem(r, req, API_QUEUE_UNAVAILABLE, "this router has no map of the queues yet; try again");
        return false;
    }
    if (c->queue == NULL) {
        router_problem(r, req, API_QUEUE_NOT_FOUND, "there is no such queue");
        return false;
    }
    why = aws_unfit(c->queue);
    if (why != NULL)
        router_problem(r, req, API_NOT_ELIGIBLE, why);
    return why == NULL;
}

static void assign(struct router *r, struct httpd_req *req, const struct http_req *q, const struct aws_call *c)
{
    struct slice name = { c->event->queue, strlen(c->event->queue) };
    struct join_body b;
    struct body_error e;

    if (!body_join(&b, (struct slice){ (char *)"", 0 }, &e)) {
        router_problem(r, req, API_BAD_REQUEST, e.text);
        return;
    }
    b.client = CLIENT_BROWSER;
    join_ask(r, req, q, name, &b, assigned);
}

/* A ticket of this event's queue; false: answered. */
static bool is_of_event(struct router *r, struct httpd_req *req, const struct aws_call *c, const struct token *t)
{
    struct route_owner o;

    if (routes_owner(r->routes, t->seg, &o) < 0 || o.queue == NULL || (o.queue == c->queue && o.lane == 0))
        return true;
    router_problem(r, req, API_BAD_REQUEST, "request_id is of another event");
    return false;
}

static void ask(struct router *r, struct httpd_req *req, const struct aws_call *c, rflow_done done)
{
    struct slice id = c->asked.request_id;
    struct rflow *rf;
    struct token t;

    if (token_read(&t, &r->keys.token, id.p, id.n) != 0) {
        router_forged(r, req);
        return;
    }
    if (!is_of_event(r, req, c, &t) || !ticket_may_poll(r, req, &t))
        return;
    rf = rflow_call(r, req, done, "the router is overloaded; your place is kept, try again");
    if (rf == NULL)
        return;
    r->counts.polls++;
    memcpy(rf->text, id.p, TOKEN_TEXT_LEN);
    flow_poll(&rf->flow, r->routes, &r->replicas, &t, ev_now(r->ev));
    rflow_begin(r, rf);
}

static void serving(struct router *r, struct httpd_req *req, const struct aws_call *c)
{
    uint64_t n;

    if (!aws_served(c->line, r->routes, &r->replicas, c->queue, ev_now(r->ev), &n)) {
        router_problem(r, req, API_QUEUE_UNAVAILABLE, "the numbers of this queue are not known yet; try again");
        return;
    }
    aws_count(&r->ans, "serving_counter", n);
    router_answer(r, req);
}

static void key(struct router *r, struct httpd_req *req)
{
    const uint8_t(*keys)[32];

    if (routes_keys(r->routes, &keys) == 0) {
        router_problem(r, req, API_QUEUE_UNAVAILABLE, "keys are not known yet");
        return;
    }
    aws_key(&r->ans, keys[0]);
    router_answer(r, req);
}

static bool method_is(const struct http_req *q, const struct api_req *a)
{
    bool posts = strcmp(a->allow, "POST") == 0;

    return posts ? q->method == HTTP_POST : q->method == HTTP_GET || q->method == HTTP_HEAD;
}

static void dispatch(struct router *r, struct httpd_req *req, const struct http_req *q,
                     const struct api_req *a, const struct aws_call *c)
{
    switch (a->call) {
    case API_AWS_ASSIGN:
        assign(r, req, q, c);
        break;
    case API_AWS_NUMBER:
        ask(r, req, c, numbered);
        break;
    case API_AWS_TOKEN:
        ask(r, req, c, let_in);
        break;
    case API_AWS_EXPIRY:
        ask(r, req, c, expiring);
        break;
    case API_AWS_SERVING:
        serving(r, req, c);
        break;
    case API_AWS_WAITING:
        aws_count(&r->ans, "waiting_num", c->queue->stats.lane[0].waiting);
        router_answer(r, req);
        break;
    default: /* API_AWS_KEY */
        key(r, req);
    }
}

void aws_route(const struct router *r, const struct http_req *q, struct api_req *a)
{
    if (r->cfg->aws_events.n == 0)
        *a = (struct api_req){ .call = API_NO_PATH };
    else if (!method_is(q, a))
        a->call = API_BAD_METHOD;
}

void aws_start(struct router *r, struct httpd_req *req, const struct http_req *q, const struct api_req *a)
{
    struct aws_call c;

    if (read_call(r, req, q, &c))
        dispatch(r, req, q, a, &c);
}

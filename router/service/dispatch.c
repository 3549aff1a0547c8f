/* dispatch.c: see dispatch.h. */
#include "router/service/dispatch.h"

#include <assert.h>
#include <stdio.h>

#include "router/api/request.h"
#include "router/calls/aws_door.h"
#include "router/calls/challenge.h"
#include "router/calls/contact.h"
#include "router/calls/device.h"
#include "router/calls/events.h"
#include "router/calls/join.h"
#include "router/calls/places.h"
#include "router/calls/session.h"
#include "router/calls/ticket.h"
#include "router/calls/verify.h"
#include "router/compat/classic.h"
#include "router/links/flows.h"
#include "router/page_http/page_request.h"
#include "router/task_requests/ask.h"
#include "router/task_requests/passing.h"
#include "router/task_requests/pieces.h"
#include "router/task_requests/progress.h"
#include "router/task_requests/request.h"
#include "router/task_requests/watch.h"

static bool on_conn(void *ctx, const struct net_addr *peer, uint64_t *tag)
{
    struct router *r = ctx;

    return gate_conn(&r->gate, peer, ev_now(r->ev), tag);
}

static void on_conn_end(void *ctx, uint64_t tag)
{
    struct router *r = ctx;

    gate_conn_end(&r->gate, tag);
}

/* The budget that a request is taken from; LIMIT_NKINDS: none here (the operator's own machines
 * ask, and an answer "too fast" would take us out of service; or the page says it in words). */
static const uint8_t budget_of[] = {
    [API_JOIN] = LIMIT_JOIN,         [API_POLL] = LIMIT_POLL,
    [API_EVENTS] = LIMIT_POLL,
    [API_LEAVE] = LIMIT_POLL,        [API_QUEUE] = LIMIT_POLL,
    [API_CONTACT] = LIMIT_JOIN,      [API_UNCONTACT] = LIMIT_POLL,
    [API_DEVICE] = LIMIT_POLL,
    [API_JWKS] = LIMIT_POLL,         [API_VERIFY] = LIMIT_NKINDS,
    [API_SESSION] = LIMIT_NKINDS, /* session.c: by the secret */
    [API_PAGE] = LIMIT_NKINDS,       [API_WORDS] = LIMIT_POLL,
    [API_FORM] = LIMIT_NKINDS,       [API_UNFORM] = LIMIT_POLL,
    [API_WORKER] = LIMIT_POLL,
    [API_TASKS] = LIMIT_NKINDS,      [API_TASK] = LIMIT_NKINDS, /* task_requests/request.c */
    [API_PERMIT] = LIMIT_JOIN,       [API_PERMIT_ONE] = LIMIT_POLL,
    [API_CALL] = LIMIT_NKINDS,       [API_SCHEDULES] = LIMIT_NKINDS,
    [API_PLACES] = LIMIT_JOIN,       [API_PLACE_GROUP] = LIMIT_POLL,
    [API_AWS_ASSIGN] = LIMIT_JOIN,   [API_AWS_NUMBER] = LIMIT_POLL,
    [API_AWS_TOKEN] = LIMIT_POLL,    [API_AWS_EXPIRY] = LIMIT_POLL,
    [API_AWS_SERVING] = LIMIT_POLL,  [API_AWS_WAITING] = LIMIT_POLL,
    [API_AWS_KEY] = LIMIT_POLL,
    [API_START] = LIMIT_POLL,        [API_HEALTH] = LIMIT_NKINDS,
    [API_READY] = LIMIT_NKINDS,      [API_BAD_METHOD] = LIMIT_BAD,
    [API_BAD_PATH] = LIMIT_BAD,      [API_NO_PATH] = LIMIT_BAD,
};

static void jwks(struct router *r)
{
    const uint8_t(*keys)[32];
    size_t n = routes_keys(r->routes, &keys);

    if (routes_version(r->routes) == 0)
        api_problem(&r->ans, API_QUEUE_UNAVAILABLE, "keys are not known yet",
                    router_request_id(r));
    else
        api_jwks(&r->ans, keys, n);
}

bool router_is_ready(const struct router *r)
{
    size_t up, of;

    seg_links_count(r->segs, &up, &of);
    return routes_version(r->routes) > 0 && up > 0;
}

static void ready(struct router *r)
{
    size_t up, of;

    seg_links_count(r->segs, &up, &of);
    api_ready(&r->ans, router_is_ready(r), routes_version(r->routes), up, of);
}

/* Calls of people in a line; false: it is none of these. */
static bool start_of_people(struct router *r, struct httpd_req *req, const struct http_req *q,
                            const struct api_req *a)
{
    switch (a->call) {
    case API_POLL:
        poll_start(r, req, q, a->arg);
        return true;
    case API_EVENTS:
        events_start(r, req, q, a->arg);
        return true;
    case API_JOIN:
        join_start(r, req, q, a->arg);
        return true;
    case API_LEAVE:
        leave_start(r, req, q, a->arg);
        return true;
    case API_CONTACT:
    case API_UNCONTACT:
        contact_start(r, req, q, a);
        return true;
    case API_DEVICE:
        device_prove(r, req, q, a->arg);
        return true;
    case API_QUEUE:
        queue_get(r, req, a->arg);
        return true;
    case API_VERIFY:
        verify(r, req, q);
        return true;
    case API_SESSION:
        session_start(r, req, q);
        return true;
    case API_PERMIT_ONE:
        permit_one(r, req, q, a->arg);
        return true;
    default:
        return false;
    }
}

/* Calls of tasks, and those with a permit, which may be either's; false: it is none of these. */
static bool start_of_tasks(struct router *r, struct httpd_req *req, const struct http_req *q,
                           const struct api_req *a, bool servers)
{
    switch (a->call) {
    case API_TASKS:
    case API_TASK:
    case API_SCHEDULES:
    case API_CALL:
        break;
    case API_PERMIT:
        if (permit_join(r, req, q, a))
            return true;
        if (r->tasking == NULL)
            return page_nothing(r, req, q);
        break;
    default:
        return false;
    }
    task_request(r->tasking, req, q, a, servers);
    return true;
}

/* Pages, and what a waiting room may have there; false: it is none of these, or nothing is there. */
static bool start_of_pages(struct router *r, struct httpd_req *req, const struct http_req *q,
                           const struct api_req *a)
{
    switch (a->call) {
    case API_PAGE:
    case API_FORM:
    case API_WORDS:
    case API_WORKER:
    case API_UNFORM:
        page_start(r, req, q, a);
        return true;
    case API_START:
        page_front(r, req, q);
        return true;
    case API_PLACES:
    case API_PLACE_GROUP:
        if (!r->cfg->join_groups && r->cfg->groups.n == 0)
            return page_nothing(r, req, q);
        places_start(r, req, q, a->arg);
        return true;
    case API_AWS_ASSIGN:
    case API_AWS_NUMBER:
    case API_AWS_TOKEN:
    case API_AWS_EXPIRY:
    case API_AWS_SERVING:
    case API_AWS_WAITING:
    case API_AWS_KEY:
        aws_start(r, req, q, a);
        return true;
    case API_NO_PATH:
    case API_BAD_PATH:
        return page_nothing(r, req, q);
    default:
        return false;
    }
}

/* Calls that are answered later, or by others; false: it is none of these. */
static bool start(struct router *r, struct httpd_req *req, const struct http_req *q,
                  const struct api_req *a, bool servers)
{
    return start_of_people(r, req, q, a) || start_of_tasks(r, req, q, a, servers) ||
           start_of_pages(r, req, q, a);
}

/* Calls whose answer this router knows by itself. */
static void answer(struct router *r, struct httpd_req *req, const struct api_req *a)
{
    switch (a->call) {
    case API_JWKS:
        jwks(r);
        break;
    case API_HEALTH:
        api_health(&r->ans);
        break;
    case API_READY:
        ready(r);
        break;
    case API_BAD_METHOD:
        api_bad_method(&r->ans, a->allow, router_request_id(r));
        break;
    case API_BAD_PATH:
        api_problem(&r->ans, API_BAD_REQUEST, "the path has a bad escape, or an encoded slash that is not in the name of a task queue",
                    router_request_id(r));
        break;
    default: /* API_NO_PATH */
        api_problem(&r->ans, API_NOT_FOUND, "no such path",
                    router_request_id(r));
    }
    router_answer(r, req);
}

static void serve(struct router *r, struct httpd_req *req, const struct http_req *q,
                  struct api_req *a, bool servers)
{
    enum limit_kind k;
    const char *lines;

    if (a->call == API_TASKS || a->call == API_TASK)
        a->call = permit_call(q, a);
    if (SQ_UNLIKELY((r->tasking == NULL && api_is_of_tasks(a->call)) || a->call == API_COMPAT))
        a->call = API_NO_PATH;
    if (SQ_UNLIKELY(api_is_of_aws(a->call)))
        aws_route(r, q, a);
    lines = cors_lines(r->cors, q, a);
    httpd_set_lines(req, lines);
    assert(a->call < ARRAY_LEN(budget_of) && r->ans.status == 0);
    k = (enum limit_kind)budget_of[a->call];
    if (k != LIMIT_NKINDS && !router_may_pass(r, req, k))
        return;
    if (lines != NULL && cors_preflight(q, a))
        httpd_answer(req, 204, NULL, "", "", 0);
    else if (!start(r, req, q, a, servers))
        answer(r, req, a);
}

/* True: such a line of people exists; an online task says only an url. */
static bool has_line(struct router *r, struct classic_ask *c, struct classic_error *e)
{
    if (c->queue.n == 0 || routes_version(r->routes) == 0 ||
        routes_queue(r->routes, c->queue.p, c->queue.n) != NULL)
        return true;
    e->problem = API_QUEUE_NOT_FOUND;
    snprintf(e->detail, sizeof(e->detail), "online tasks of this target need the line of people "
             "%.*s: `segqctl queue add`", (int)c->queue.n, c->queue.p);
    return false;
}

/* Answers a call in other words, likewise. */
static void compat(struct router *r, struct httpd_req *req, const struct http_req *q,
                   struct slice rest, bool servers)
{
    struct classic_error e;
    struct classic_ask c;

    httpd_set_mark(req);
    if (classic_ask_read(&c, q, rest, &r->tasking->pools, router_wall_s(), &e) &&
        has_line(r, &c, &e)) {
        c.a.any_lane = servers && c.queue.n > 0 && task_server_submits(r->tasking, q, c.queue);
        serve(r, req, &c.q, &c.a, servers);
    } else if ((e.problem != API_ENDPOINT_UNKNOWN || !task_refuse_stranger(r->tasking, req, q, servers)) &&
               router_may_pass(r, req, LIMIT_BAD)) {
        if (e.problem == API_METHOD_NOT_ALLOWED)
            api_bad_method(&r->ans, e.allow, router_request_id(r));
        else
            api_problem(&r->ans, e.problem, e.detail, router_request_id(r));
        router_answer(r, req);
    }
    classic_ask_free(&c);
}

static bool is_compat(const struct router *r, const struct api_req *a)
{
    return SQ_UNLIKELY(a->call == API_COMPAT) && r->cfg->compat != COMPAT_OFF && r->tasking != NULL;
}

static void on_request(void *ctx, struct httpd_req *req, const struct http_req *q)
{
    struct router *r = ctx;
    bool servers = !router_tasks_apart(r->cfg);
    struct api_req a;

    api_route(q, &a);
    gate_request(&r->gate, httpd_tag(req), q);
    if (is_compat(r, &a))
        compat(r, req, q, a.arg, servers);
    else
        serve(r, req, q, &a, servers);
}

/* At listen_tasks: tasks, and whether this process is well. */
static void on_task_request(void *ctx, struct httpd_req *req, const struct http_req *q)
{
    struct router *r = ctx;
    struct api_req a;

    api_route(q, &a);
    gate_request(&r->gate, httpd_tag(req), q);
    if (is_compat(r, &a)) {
        compat(r, req, q, a.arg, true);
        return;
    }
    if (api_is_of_tasks(a.call)) {
        task_request(r->tasking, req, q, &a, true);
        return;
    }
    if (a.call != API_HEALTH && a.call != API_READY) {
        a.call = API_NO_PATH;
        if (!router_may_pass(r, req, LIMIT_BAD))
            return;
    }
    answer(r, req, &a);
}

static void on_gone(void *ctx, struct httpd_req *req, void *user)
{
    if (httpd_is_passing(req) && *(const enum waiter *)user == WAITS_PASSING)
        passing_gone(user);
    else if (httpd_is_passing(req))
        left_now(user);
    else if (httpd_is_sized(req))
        whole_gone(user);
    else if (httpd_is_open(req) && httpd_is_marked(req))
        watch_gone(user);
    else if (httpd_is_open(req))
        events_gone(ctx, user);
    else if (*(const enum waiter *)user == WAITS_UPLOAD)
        upload_gone(user);
    else if (*(const enum waiter *)user == WAITS_SITE)
        site_held_gone(user);
    else if (*(const enum waiter *)user == WAITS_TASK)
        left_now(user);
    else if (*(const enum waiter *)user == WAITS_PLACES)
        places_gone(user);
    else
        rflow_client_gone(user);
}

static void on_taken(void *ctx, struct httpd_req *req, void *user)
{
    (void)ctx;
    if (httpd_is_passing(req) && *(const enum waiter *)user == WAITS_PASSING)
        passing_taken(user);
    else if (httpd_is_passing(req))
        progress_taken(user);
    else
        whole_taken(user);
}

static uint64_t on_large(void *ctx, const struct http_req *q, bool *in_pieces)
{
    const struct router *r = ctx;

    return task_may_be_large(r->tasking, q, in_pieces); /* where servers ask */
}

static void on_piece(void *ctx, struct httpd_req *req, void *user, const char *p, size_t n, bool last)
{
    (void)ctx;
    (void)req;
    upload_piece(user, p, n, last);
}

static void bad(struct router *r, struct httpd_req *req, int status, const struct http_req *q,
                bool servers)
{
    gate_request(&r->gate, httpd_tag(req), q);
    if (q != NULL && api_is_compat(q) && r->cfg->compat != COMPAT_OFF)
        httpd_set_mark(req);
    if (status == 503) {
        router_problem(r, req, API_OVERLOADED, "too many large bodies are on their way");
        return;
    }
    if (q != NULL && r->tasking != NULL && task_refuse_large(r->tasking, req, q, servers))
        return;
    if (!router_may_pass(r, req, LIMIT_BAD))
        return;
    api_bad_http(&r->ans, status, router_request_id(r));
    router_answer(r, req);
}

static void on_bad(void *ctx, struct httpd_req *req, int status, const struct http_req *q)
{
    const struct router *r = ctx;

    bad(ctx, req, status, q, !router_tasks_apart(r->cfg));
}

static void on_task_bad(void *ctx, struct httpd_req *req, int status, const struct http_req *q)
{
    bad(ctx, req, status, q, true);
}

const struct httpd_calls dispatch_task_calls = { on_task_request, on_gone, on_task_bad, on_conn,
                                                 on_conn_end, on_large, on_taken, on_piece };
const struct httpd_calls dispatch_calls = { on_request, on_gone, on_bad, on_conn, on_conn_end,
                                            on_large, on_taken, on_piece };

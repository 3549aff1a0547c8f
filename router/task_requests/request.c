/* request.c: see request.h. A server's token opens the queues that its line names; a claim in the
 * body is enough to submit the one task that it is for; a task's own token to look at it, and to
 * cancel it. */
#include "router/task_requests/request.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/submit/body.h"
#include "common/task/rules.h"
#include "common/ticket/token.h"
#include "router/state/router.h"
#include "router/task_api/request_body.h"
#include "router/task_requests/ask.h"
#include "router/task_requests/pieces.h"
#include "router/task_requests/queue_calls.h"
#include "router/task_requests/single_task.h"
#include "router/task_requests/submit.h"
#include "router/task_requests/take_many.h"
#include "router/task_requests/watch.h"
#include "router/task_requests/work.h"

/* A header of ours, so that Authorization may be for the target. False: there is none. */
static bool has_own_token(const struct http_req *q, struct slice *token)
{
    return http_find(q, "segq-token", token) > 0;
}

/* Refuses strangers and guesses, within their address's budget. */
static void refuse(struct tasking *t, struct httpd_req *req, enum api_problem p, const char *why)
{
    t->counts.refused++;
    if (router_may_pass(t->r, req, LIMIT_BAD))
        router_problem(t->r, req, p, why);
}

static void not_ours(struct tasking *t, struct httpd_req *req, const char *why)
{
    t->r->counts.forged++;
    refuse(t, req, API_TASK_UNKNOWN, why);
}

/* Sentences by what is needed: enum server_may. */
static const struct {
    const char *nobody, *other;
} rights[] = {
#define RIGHT(what)                                                                              \
    { "this needs the token of a server that may " what ": `Authorization: Bearer TOKEN`, a token " \
      "of the file task_tokens of the routers",                                                  \
      "this server's token may not " what " in this queue: see its line in task_tokens" }
    [MAY_SUBMIT] = RIGHT("submit"), [MAY_TAKE] = RIGHT("take"), [MAY_READ] = RIGHT("read"),
    [MAY_LOOK] = RIGHT("look"),
#undef RIGHT
};

struct refusal {
    enum api_problem problem;
    const char *why; /* NULL: none */
    bool wraps;      /* see api_ans */
    uint64_t most;   /* bytes that the large body of a call may have; 0: it is no call */
};

static struct refusal refusal(enum api_problem p, const char *why)
{
    return (struct refusal){ .problem = p, .why = why };
}

/* Why the call cannot go to this queue of an endpoint; why NULL: it can. *cost: as call_cost() has it. */
static struct refusal way_unfit(const struct tasking *t, const struct task_asked *x, const char *queue,
                                int64_t *cost)
{
    const struct task_way *w = queue != NULL ? pools_of_queue(&t->pools, queue, strlen(queue)) : NULL;
    const char *why;

    if (w == NULL)
        return refusal(API_ENDPOINT_UNKNOWN, "no endpoint of this rule has a queue of its own: a pool "
                                             "that names it, and no other");
    if (!queues_match(x->opens.p, x->opens.n, queue, strlen(queue)))
        return refusal(API_NOT_ELIGIBLE, rights[MAY_SUBMIT].other);
    if (task_body_length(x->q) > upload_most(w) && task_body_length(x->q) != BODY_UNKNOWN)
        return refusal(API_PAYLOAD_TOO_LARGE, w->body_says);
    why = call_cost(w, x->tenant, task_body_seen(x->q), task_body_length(x->q), cost);
    if (why != NULL)
        return refusal(tenant_bears(x->tenant, *cost) ? API_BAD_REQUEST : API_NOT_ELIGIBLE, why);
    return (struct refusal){ 0 };
}

/* The reason that is told: size, before rights, before what is not there. */
static struct refusal nearer(struct refusal a, struct refusal b)
{
    return b.problem == API_PAYLOAD_TOO_LARGE || a.why == NULL || a.problem == API_ENDPOINT_UNKNOWN
               ? b : a;
}

/* The ways of a route that the token may go, and the body fits, by the queues of their endpoints.
 * False: that has been answered. */
static bool find_ways(struct tasking *t, struct task_asked *x)
{
    static const struct {
        enum api_problem problem;
        const char *why;
    } ends[] = {
        [ROUTE_UNKNOWN] = { API_ROUTE_UNKNOWN, "there is no such route" },
        [ROUTE_NO_MATCH] = { API_NO_ROUTE, "no rule of this route is for that body (segqctl route show)" },
        [ROUTE_TWICE] = { API_BAD_REQUEST, "the member that says the way is there twice" },
        [ROUTE_DEEP] = { API_BAD_REQUEST, "the JSON is nested too deeply to read the member that says the way" },
    };
    enum route_end end = route_find(&t->pools, x->path.endpoint, task_body_seen(x->q),
                                    task_body_length(x->q), &t->form, &x->ways);
    struct refusal no = { 0 };
    struct slice queue;
    unsigned n = 0;
    int64_t named;

    if (call_cost_named(x->q, &named) != NULL)
        named = 0; /* submit_request() says so */
    if (http_find(x->q, "segq-queue", &queue) > 0) {
        router_problem(t->r, x->req, API_BAD_REQUEST,
                       "segq-queue is for /v1/call: the route says whose queue a call gets into");
        return false;
    }
    if (end != ROUTE_FOUND) {
        router_problem(t->r, x->req, ends[end].problem, ends[end].why);
        return false;
    }
    for (unsigned i = 0; i < x->ways.n; i++) {
        const char *name = x->ways.endpoint[i];
        const char *way = pools_queue_of(&t->pools, name, strlen(name));
        int64_t cost = named;
        struct refusal unfit = way_unfit(t, x, way, &cost);

        if (unfit.why != NULL) {
            no = nearer(no, unfit);
            continue;
        }
        x->ways.endpoint[n] = way;
        x->ways.cost[n] = cost;
        x->ways.max_wait_ms[n++] = x->ways.max_wait_ms[i];
    }
    x->ways.n = n;
    if (n == 0 && no.problem == API_NOT_ELIGIBLE)
        refuse(t, x->req, no.problem, no.why);
    else if (n == 0)
        router_problem(t->r, x->req, no.problem, no.why);
    else
        x->path.queue = slice_of(x->ways.endpoint[0]);
    return n > 0;
}

static void pass_on(struct tasking *t, struct task_asked *x)
{
    struct slice token;

    if (!t->pools.known)
        router_problem(t->r, x->req, API_QUEUE_UNAVAILABLE, "endpoints are not known yet; ask again");
    else if (x->path.queue.n == 0 && !x->path.by_route)
        router_problem(t->r, x->req, API_ENDPOINT_UNKNOWN,
                       "there is no such endpoint, or segq-queue must name one of its queues");
    else if (!x->path.by_route || find_ways(t, x))
        submit_request(t, x, !has_own_token(x->q, &token));
}

static void complete(struct tasking *t, const struct task_asked *x)
{
    struct attempt_right right;

    /* The node checks its MAC; no attempt of ours has another number. */
    if (right_read(&right, x->path.token.p, x->path.token.n) && right.attempt <= ATTEMPTS_MAX)
        complete_start(t, x, &right);
    else
        not_ours(t, x->req, "this is not the right of an attempt of ours");
}

static const struct {
    uint8_t needs; /* rights that the server's token must have; 0: none is needed */
    void (*start)(struct tasking *t, const struct task_asked *x); /* answers, or begins a call */
    bool tenants; /* may do it, too: it is about no task of others */
} ops[] = {
    [TASK_SUBMIT] = { MAY_SUBMIT, submit_start, .tenants = true },
    [TASK_COUNT] = { MAY_READ, one_count, .tenants = true },
    [TASK_FIRST] = { MAY_LOOK, one_first },
    [TASK_BATCH] = { MAY_SUBMIT, submit_batch, .tenants = true },
    [TASK_TAKE] = { MAY_TAKE, work_take },
    [TASK_TAKE_MANY] = { MAY_TAKE, take_many_start },
    [TASK_SETTLE] = { MAY_TAKE, work_settle },
    [TASK_NAMED] = { MAY_READ, one_look },
    [TASK_UNNAME] = { MAY_SUBMIT, one_change },
    [TASK_FEED] = { MAY_LOOK, feed_start },
    [TASK_LOOK] = { 0, one_look },
    [TASK_RESULT] = { 0, one_look },
    [TASK_EVENTS] = { 0, watch_start },
    [TASK_CANCEL] = { 0, one_change },
    [TASK_PATCH] = { MAY_SUBMIT, one_change },
    [TASK_ACK] = { MAY_TAKE, work_one },
    [TASK_NACK] = { MAY_TAKE, work_one },
    [TASK_EXTEND] = { MAY_TAKE, work_one },
    [TASK_PROGRESS] = { MAY_TAKE, work_progress },
    [TASK_CALL] = { MAY_SUBMIT, NULL, .tenants = true }, /* pass_on() */
    [TASK_PUT_SCHEDULE] = { MAY_SUBMIT, schedule_put },
    [TASK_GET_SCHEDULE] = { MAY_READ, schedule_ask },
    [TASK_DELETE_SCHEDULE] = { MAY_SUBMIT, schedule_ask },
    [TASK_LIST_SCHEDULES] = { MAY_READ, schedule_ask },
    [TASK_RUN_SCHEDULE] = { MAY_SUBMIT, schedule_run },
    [TASK_GROUP_LOOK] = { MAY_READ, group_ask },
    [TASK_GROUP_SEAL] = { MAY_SUBMIT, group_ask },
    [TASK_GROUP_CANCEL] = { MAY_SUBMIT, group_ask },
    [TASK_COMPLETE] = { 0, complete },
    [TASK_PROLONG] = { 0, complete },
};

static const struct server_token *who_is(struct tasking *t, const struct http_req *q,
                                         enum task_op op)
{
    struct slice token;

    if (op != TASK_CALL || !has_own_token(q, &token))
        token = api_bearer(q);
    return server_tokens_find(&t->tokens, token);
}

bool task_server_submits(struct tasking *t, const struct http_req *q, struct slice queue)
{
    const struct server_token *who = who_is(t, q, TASK_SUBMIT);

    return !server_is_tenant(who) && server_token_may(who, MAY_SUBMIT, queue);
}

static struct refusal judge(const struct server_token *who, const struct task_path *p, bool servers)
{
    enum server_may need = (enum server_may)ops[p->op].needs;

    if (need != 0 && !servers)
        return refusal(API_NOT_ELIGIBLE, "servers ask at another address: listen_tasks of this router");
    if (need != 0 && who == NULL)
        return refusal(API_UNAUTHORIZED, rights[need].nobody);
    if (need != 0 && !(p->queue.n > 0 ? server_token_may(who, need, p->queue)
                                      : server_token_may_at_all(who, need)))
        return refusal(API_NOT_ELIGIBLE, rights[need].other);
    if (need != 0 && server_is_tenant(who) && !ops[p->op].tenants)
        return refusal(API_NOT_ELIGIBLE, "this token is a tenant's (key= in task_tokens): it submits "
                                 "and calls; a task's own token looks at it, and cancels it");
    if (p->op == TASK_CALL && !tenant_may_call(&who->tenant, p->path))
        return refusal(API_NOT_ELIGIBLE,
                       "this token may not call this path: see paths= of its line in task_tokens");
    return (struct refusal){ 0 };
}

static struct refusal judge_again(const struct server_token *who, enum task_op op, const char *queue)
{
    struct task_path p = { .op = op, .queue = { (char *)(uintptr_t)queue, strlen(queue) } };

    return judge(who, &p, true);
}

/* For calls that have not come to their wait yet. */
static void take_no_wait(struct task_call *c)
{
    c->next.wait_ms = 0;
    if (c->many != NULL)
        take_many_no_wait(c->many);
}

static bool may_take_on(const struct task_call *c, const struct server_token *who)
{
    bool may = true;

    for (uint32_t i = 0; may && i < c->n; i++)
        may = judge_again(who, TASK_TAKE, c->v[i].take.queue).why == NULL;
    return may;
}

void task_rights_changed(struct tasking *t)
{
    const struct server_token *who = NULL;
    uint64_t id = 0;

    list_each_of (&t->feeds, struct watch, in_feeds, w) {
        struct refusal no = judge_again(server_tokens_of(&t->tokens, w->whose), TASK_FEED, w->queue);

        watch_judged(w, (uint8_t)no.problem, no.why);
    }
    list_each_of (&t->calls, struct task_call, in_all, c) {
        if (c->whose == 0)
            continue;
        who = c->whose == id ? who : server_tokens_of(&t->tokens, c->whose);
        id = c->whose;
        if (c->wait_ms == 0)
            take_no_wait(c);
        else if (!may_take_on(c, who))
            ask_end_takes(c);
    }
}

/* A submission without any token may have a claim. True: that has been answered. */
static bool is_claimed(struct tasking *t, const struct task_asked *x)
{
    if (x->path.op != TASK_SUBMIT || api_bearer(x->q).n > 0)
        return false;
    return (!x->path.paid && !router_may_pass(t->r, x->req, LIMIT_JOIN)) || submit_by_claim(t, x);
}

/* False: that has been answered. The operator's own servers are not limited. Of a path that has the
 * task alone, the node compares the task's queue with those of the server's token. */
static bool may(struct tasking *t, struct task_asked *x, bool servers)
{
    const struct task_path *p = &x->path;
    const struct server_token *who = who_is(t, x->q, p->op);
    struct refusal no = judge(who, p, servers);

    if (ops[p->op].needs != 0 && who != NULL && (p->queue.n == 0 || p->op == TASK_SETTLE || p->op == TASK_SUBMIT || p->op == TASK_BATCH))
        x->opens = (struct slice){ (char *)(uintptr_t)who->queues, who->queues_n };
    x->tenant = who != NULL ? &who->tenant : NULL;
    t->counts.tenants += no.why == NULL && server_is_tenant(who) && ops[p->op].needs != 0;
    if (no.why == NULL)
        return who != NULL || router_may_pass(t->r, x->req, LIMIT_POLL);
    if (!is_claimed(t, x))
        refuse(t, x->req, no.problem, no.why);
    return false;
}

/* Reads its partition and number, if it has one; false: that has been answered. */
static bool read_token(struct tasking *t, struct task_asked *x)
{
    const struct slice *text = &x->path.token;

    if (text->p == NULL || x->path.op == TASK_COMPLETE || x->path.op == TASK_PROLONG ||
        task_token_read(&x->id.part, &x->id.no, &t->r->keys.token, text->p, text->n) == 0)
        return true;
    not_ours(t, x->req, "unknown task");
    return false;
}

static void start(struct tasking *t, struct task_asked *x, bool servers)
{
    bool free = x->path.op == TASK_CALL || (x->path.op == TASK_SUBMIT && is_raw_body(x->q));
    const char *why = free ? NULL : task_path_ask(&x->path, x->q->query);

    if (!may(t, x, servers))
        return;
    if (why != NULL)
        router_problem(t->r, x->req, API_BAD_REQUEST, why);
    else if (x->path.op == TASK_CALL)
        pass_on(t, x);
    else if (read_token(t, x))
        ops[x->path.op].start(t, x);
}

/* Finds the queue of /v1/call: the one that segq-queue names, if it is the endpoint's; or else the
 * endpoint's own. n 0: there is none. */
static struct slice queue_of_call(const struct tasking *t, const struct http_req *q,
                                  const struct task_path *p)
{
    struct slice queue = { 0 };
    const struct task_way *w;
    const char *own;

    if (http_find(q, "segq-queue", &queue) == 0) {
        own = pools_queue_of(&t->pools, p->endpoint.p, p->endpoint.n);
        return own != NULL ? slice_of(own) : queue;
    }
    w = queue_name_ok(queue.p, queue.n) ? pools_of_queue(&t->pools, queue.p, queue.n) : NULL;
    if (w == NULL || strlen(w->endpoint) != p->endpoint.n ||
        memcmp(w->endpoint, p->endpoint.p, p->endpoint.n) != 0)
        queue.n = 0;
    return queue;
}

static void read_path(const struct tasking *t, struct task_path *p, const struct http_req *q,
                      const struct api_req *a)
{
    if (a->call == API_TASKS || a->call == API_PERMIT) {
        task_path_queue(p, q->method, a->arg);
        p->paid = a->call == API_PERMIT;
    } else if (a->call == API_TASK) {
        task_path_task(p, q->method, a->arg);
    } else if (a->call == API_SCHEDULES) {
        if (a->group)
            task_path_group(p, q->method, a->arg);
        else
            task_path_schedule(p, q->method, a->arg);
    } else {
        task_path_call(p, a->arg, q->query);
        p->by_route = a->by_route;
        if (p->op == TASK_CALL && !p->by_route)
            p->queue = queue_of_call(t, q, p);
    }
}

/* Bytes that a call may have, by its path; 0: it leads nowhere. */
static uint64_t call_most(const struct tasking *t, const struct task_path *p)
{
    const struct map_route *v = t->pools.map.routes;
    uint64_t most = 0;

    if (!t->pools.known)
        return TASK_BODY_MAX;
    if (!p->by_route)
        return p->queue.n > 0 ? upload_most(pools_of_queue(&t->pools, p->queue.p, p->queue.n)) : 0;
    for (uint32_t i = 0; i < t->pools.map.n_routes; i++) {
        const char *queue = text_is(p->endpoint.p, p->endpoint.n, v[i].name)
                                ? pools_queue_of(&t->pools, v[i].endpoint, strlen(v[i].endpoint)) : NULL;

        if (queue != NULL)
            most = u64_max(most, upload_most(pools_of_queue(&t->pools, queue, strlen(queue))));
    }
    return most;
}

/* Calls that need no token have no large bodies. */
static struct refusal judge_large(struct tasking *t, const struct http_req *q,
                                  bool servers)
{
    char path[HTTP_MAX_LINE + HTTP_SLACK]; /* decoded there: the head will be read again */
    struct http_req copy = *q;
    struct task_path p;
    struct api_req a;
    struct refusal no;

    assert(q->path.n <= HTTP_MAX_LINE);
    copy.path.p = memcpy(path, q->path.p, q->path.n);
    api_route(&copy, &a);
    if (a.call == API_COMPAT && t->r->cfg->compat != COMPAT_OFF)
        return judge(who_is(t, q, TASK_SUBMIT), &(struct task_path){ .op = TASK_SUBMIT }, servers);
    if (api_is_of_tasks(a.call)) {
        read_path(t, &p, &copy, &a);
        if (p.op == TASK_COMPLETE) /* a right can be checked by its node alone: as of a worker */
            p.op = TASK_ACK;
        if (p.op < ARRAY_LEN(ops) && ops[p.op].needs != 0) {
            no = judge(who_is(t, q, p.op), &p, servers);
            no.wraps = a.call == API_CALL;
            no.most = p.op == TASK_CALL && no.why == NULL ? call_most(t, &p) : 0;
            if (p.op == TASK_CALL && no.why == NULL && no.most == 0)
                no = (struct refusal){ API_ENDPOINT_UNKNOWN, "there is no such endpoint, or segq-queue must name one "
                                       "of its queues", true, 0 };
            return no;
        }
    }
    return refusal(API_PAYLOAD_TOO_LARGE, "the body is too large");
}

uint64_t task_may_be_large(struct tasking *t, const struct http_req *q, bool *in_pieces)
{
    struct refusal no = judge_large(t, q, true);

    *in_pieces = no.most > 0;
    return no.why != NULL ? 0 : no.most > 0 ? no.most : TASK_LARGEST;
}

bool task_refuse_large(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                       bool servers)
{
    struct refusal no = judge_large(t, q, servers);
    bool may = no.why == NULL;
    char why[120];

    if (no.most == 0 && no.problem == API_PAYLOAD_TOO_LARGE)
        return false;
    if (no.most == 0 && may) {
        _Static_assert(TASK_LARGEST == 2097152, "as the text says");
        no = refusal(API_PAYLOAD_TOO_LARGE, "the body is larger than the 2097152 bytes that are read here: send fewer "
                                            "tasks at once, or a large one by /v1/call with Prefer: respond-async");
    }
    if (no.most > 0) {
        snprintf(why, sizeof(why), "the body is larger than its pool allows: at most %llu bytes (max_body)",
                 (unsigned long long)no.most);
        no.problem = t->pools.known ? API_PAYLOAD_TOO_LARGE : API_QUEUE_UNAVAILABLE;
        no.why = t->pools.known ? why : "endpoints are not known yet; ask again";
    }
    t->r->ans.wraps = no.wraps;
    t->counts.refused += !may;
    if (router_may_pass(t->r, req, LIMIT_BAD))
        router_problem(t->r, req, no.problem, no.why);
    t->r->ans.wraps = false;
    return true;
}

bool task_refuse_stranger(struct tasking *t, struct httpd_req *req, const struct http_req *q, bool servers)
{
    struct refusal no = judge(who_is(t, q, TASK_SUBMIT), &(struct task_path){ .op = TASK_SUBMIT }, servers);

    if (no.why != NULL)
        refuse(t, req, no.problem, no.why);
    return no.why != NULL;
}

void task_request(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                  const struct api_req *a, bool servers)
{
    struct task_asked x = { .req = req, .q = q };

    read_path(t, &x.path, q, a);
    t->r->ans.wraps = a->call == API_CALL;
    if (x.path.op == TASK_BAD_METHOD) {
        if (!router_may_pass(t->r, req, LIMIT_BAD))
            return;
        api_bad_method(&t->r->ans, x.path.allow, router_request_id(t->r));
        router_answer(t->r, req);
    } else if (x.path.op == TASK_NO_PATH) {
        if (router_may_pass(t->r, req, LIMIT_BAD))
            router_problem(t->r, req, API_NOT_FOUND, "no such path");
    } else {
        start(t, &x, servers);
    }
    t->r->ans.wraps = false;
}

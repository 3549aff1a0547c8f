/* request.c: see request.h. A server's token opens the queues that its line names; a claim in the
 * body is enough to submit the one task that it is for; a task's own token to look at it, and to
 * cancel it. */
#include "router/task_requests/request.h"

#include <assert.h>
#include <string.h>

#include "router/state/router.h"
#include "common/task/queue_name.h"
#include "common/ticket/task_token.h"
#include "router/task_requests/schedule.h"
#include "router/task_requests/single_task.h"
#include "router/task_requests/submit.h"
#include "router/task_requests/work.h"

/* Rights that the server's token must have; 0: none is needed. */
static const uint8_t needs[] = {
    [TASK_SUBMIT] = MAY_SUBMIT, [TASK_BATCH] = MAY_SUBMIT, [TASK_TAKE] = MAY_TAKE,
    [TASK_SETTLE] = MAY_TAKE,   [TASK_NAMED] = MAY_READ,   [TASK_UNNAME] = MAY_SUBMIT,
    [TASK_LOOK] = 0,            [TASK_RESULT] = 0,         [TASK_CANCEL] = 0,
    [TASK_PATCH] = MAY_SUBMIT,  [TASK_ACK] = MAY_TAKE,     [TASK_NACK] = MAY_TAKE,
    [TASK_EXTEND] = MAY_TAKE,   [TASK_CALL] = MAY_SUBMIT,
    [TASK_PUT_SCHEDULE] = MAY_SUBMIT,    [TASK_GET_SCHEDULE] = MAY_READ,
    [TASK_DELETE_SCHEDULE] = MAY_SUBMIT, [TASK_LIST_SCHEDULES] = MAY_READ,
    [TASK_RUN_SCHEDULE] = MAY_SUBMIT,
    [TASK_COMPLETE] = 0,        [TASK_PROLONG] = 0,
};

/* A header of ours, so that Authorization may be for the target. False: there is none. */
static bool has_own_token(const struct http_req *q, struct slice *token)
{
    return http_find(q, "segq-token", token) > 0;
}

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
    return server_token_may(who_is(t, q, TASK_SUBMIT), MAY_SUBMIT, queue);
}

/* Refuses strangers and guesses, within their address's budget. */
static void refuse(struct tasking *t, struct httpd_req *req, enum api_problem p, const char *why)
{
    t->counts.refused++;
    if (router_may_pass(t->r, req, LIMIT_BAD))
        router_problem(t->r, req, p, why);
}

struct refusal {
    enum api_problem problem;
    const char *why; /* NULL: none */
};

/* Sentences by what is needed: enum server_may. */
static const struct {
    const char *nobody, *other;
} rights[] = {
#define RIGHT(what)                                                                              \
    { "this needs the token of a server that may " what ": `Authorization: Bearer TOKEN`, a token " \
      "of the file task_tokens of the routers",                                                  \
      "this server's token may not " what " in this queue: see its line in task_tokens" }
    [MAY_SUBMIT] = RIGHT("submit"), [MAY_TAKE] = RIGHT("take"), [MAY_READ] = RIGHT("read"),
#undef RIGHT
};

static struct refusal judge(const struct server_token *who, const struct task_path *p, bool servers)
{
    enum server_may need = (enum server_may)needs[p->op];

    if (need != 0 && !servers)
        return (struct refusal){ API_NOT_ELIGIBLE,
                                 "servers ask at another address: listen_tasks of this router" };
    if (need != 0 && who == NULL)
        return (struct refusal){ API_UNAUTHORIZED, rights[need].nobody };
    if (need != 0 && !(p->queue.n > 0 ? server_token_may(who, need, p->queue)
                                      : server_token_may_at_all(who, need)))
        return (struct refusal){ API_NOT_ELIGIBLE, rights[need].other };
    return (struct refusal){ 0 };
}

/* A submission without any token may have a claim. True: that has been answered. */
static bool is_claimed(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                       const struct task_path *p)
{
    if (p->op != TASK_SUBMIT || api_bearer(q).n > 0)
        return false;
    return (!p->paid && !router_may_pass(t->r, req, LIMIT_JOIN)) ||
           submit_by_claim(t, req, q, p->queue);
}

/* False: that has been answered. The operator's own servers are not limited. *opens: the queues of
 * the server's token, which the node compares with the task's, if the path has the task alone. */
static bool may(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                const struct task_path *p, bool servers, struct slice *opens)
{
    const struct server_token *who = who_is(t, q, p->op);
    struct refusal no = judge(who, p, servers);

    *opens = needs[p->op] != 0 && who != NULL && (p->queue.n == 0 || p->op == TASK_SETTLE)
                 ? (struct slice){ (char *)(uintptr_t)who->queues, who->queues_n }
                 : (struct slice){ 0 };

    if (no.why != NULL && is_claimed(t, req, q, p))
        return false;
    if (no.why != NULL) {
        refuse(t, req, no.problem, no.why);
        return false;
    }
    return who != NULL || router_may_pass(t->r, req, LIMIT_POLL);
}

static void not_ours(struct tasking *t, struct httpd_req *req, const char *why)
{
    t->r->counts.forged++;
    refuse(t, req, API_TASK_UNKNOWN, why);
}

/* Reads its partition and number; false: that has been answered. */
static bool read_token(struct tasking *t, struct httpd_req *req, const struct task_path *p,
                       struct task_id *id)
{
    *id = (struct task_id){ 0 };
    if (p->token.p == NULL ||
        task_token_read(&id->part, &id->no, &t->r->keys.token, p->token.p, p->token.n) == 0)
        return true;
    not_ours(t, req, "unknown task");
    return false;
}

static void pass_on(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                    const struct task_path *p)
{
    struct slice token;

    if (!t->pools.known)
        router_problem(t->r, req, API_QUEUE_UNAVAILABLE, "endpoints are not known yet; ask again");
    else if (p->queue.n == 0)
        router_problem(t->r, req, API_ENDPOINT_UNKNOWN,
                       "there is no such endpoint, or segq-queue must name one of its queues");
    else
        submit_request(t, req, q, p->queue, p->path, !has_own_token(q, &token));
}

static void complete(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                     const struct task_path *p)
{
    struct attempt_right right;

    /* The node checks its MAC; no attempt of ours has another number. */
    if (right_read(&right, p->token.p, p->token.n) && right.attempt <= ATTEMPTS_MAX)
        complete_start(t, req, q, p->op, &right);
    else
        not_ours(t, req, "this is not the right of an attempt of ours");
}

/* ---- starts of calls by subject; false: it is of another ---- */

static bool submits(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                    const struct task_path *p)
{
    switch (p->op) {
    case TASK_CALL:
        pass_on(t, req, q, p);
        return true;
    case TASK_SUBMIT:
        submit_start(t, req, q, p->queue);
        return true;
    case TASK_BATCH:
        submit_batch(t, req, q, p->queue);
        return true;
    default:
        return false;
    }
}

static bool works(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                  const struct task_path *p, const struct task_id *id, struct slice opens)
{
    switch (p->op) {
    case TASK_TAKE:
        work_take(t, req, q, p->queue);
        return true;
    case TASK_SETTLE:
        work_settle(t, req, q, p->queue, opens);
        return true;
    case TASK_ACK:
    case TASK_NACK:
    case TASK_EXTEND:
        work_one(t, req, q, p->op, id, opens);
        return true;
    default:
        return false;
    }
}

static bool schedules(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                      struct task_path *p)
{
    switch (p->op) {
    case TASK_PUT_SCHEDULE:
        schedule_put(t, req, q, p);
        return true;
    case TASK_RUN_SCHEDULE:
        schedule_run(t, req, q, p);
        return true;
    case TASK_GET_SCHEDULE:
    case TASK_DELETE_SCHEDULE:
    case TASK_LIST_SCHEDULES:
        schedule_ask(t, req, p);
        return true;
    default:
        return false;
    }
}

static void start(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                  struct task_path *p, bool servers)
{
    const char *why = p->op == TASK_CALL ? NULL : task_path_ask(p, q->query);
    struct slice opens;
    struct task_id id;

    if (!may(t, req, q, p, servers, &opens))
        return;
    if (why != NULL) {
        router_problem(t->r, req, API_BAD_REQUEST, why);
        return;
    }
    if (p->op == TASK_COMPLETE || p->op == TASK_PROLONG) {
        complete(t, req, q, p);
        return;
    }
    if (!read_token(t, req, p, &id) || submits(t, req, q, p) || works(t, req, q, p, &id, opens) ||
        schedules(t, req, q, p))
        return;
    if (p->op == TASK_LOOK || p->op == TASK_RESULT || p->op == TASK_NAMED)
        one_look(t, req, q, p, &id);
    else
        one_change(t, req, q, p, &id, opens);
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
        return own != NULL ? (struct slice){ (char *)(uintptr_t)own, strlen(own) } : queue;
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
        task_path_schedule(p, q->method, a->arg);
    } else {
        task_path_call(p, a->arg, q->query);
        if (p->op == TASK_CALL)
            p->queue = queue_of_call(t, q, p);
    }
}

/* Calls that need no token have no large bodies. */
static struct refusal judge_large(struct tasking *t, const struct http_req *q,
                                  bool servers)
{
    char path[HTTP_MAX_LINE + HTTP_SLACK]; /* decoded there: the head will be read again */
    struct http_req copy = *q;
    struct task_path p;
    struct api_req a;

    assert(q->path.n <= HTTP_MAX_LINE);
    copy.path.p = memcpy(path, q->path.p, q->path.n);
    api_route(&copy, &a);
    if (a.call == API_COMPAT && t->r->cfg->compat != COMPAT_OFF)
        return judge(who_is(t, q, TASK_SUBMIT), &(struct task_path){ .op = TASK_SUBMIT }, servers);
    if (api_is_of_tasks(a.call)) {
        read_path(t, &p, &copy, &a);
        if (p.op == TASK_COMPLETE) /* a right can be checked by its node alone: as of a worker */
            p.op = TASK_ACK;
        if (p.op < ARRAY_LEN(needs) && needs[p.op] != 0)
            return judge(who_is(t, q, p.op), &p, servers);
    }
    return (struct refusal){ API_PAYLOAD_TOO_LARGE, "the body is too large" };
}

bool task_may_be_large(struct tasking *t, const struct http_req *q)
{
    return judge_large(t, q, true).why == NULL;
}

bool task_refuse_large(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                       bool servers)
{
    struct refusal no = judge_large(t, q, servers);

    if (no.why == NULL || no.problem == API_PAYLOAD_TOO_LARGE)
        return false;
    refuse(t, req, no.problem, no.why);
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
    struct task_path p;

    read_path(t, &p, q, a);
    if (p.op == TASK_BAD_METHOD) {
        if (!router_may_pass(t->r, req, LIMIT_BAD))
            return;
        api_bad_method(&t->r->ans, p.allow, router_request_id(t->r));
        router_answer(t->r, req);
    } else if (p.op == TASK_NO_PATH) {
        if (router_may_pass(t->r, req, LIMIT_BAD))
            router_problem(t->r, req, API_NOT_FOUND, "no such path");
    } else {
        start(t, req, q, &p, servers);
    }
}

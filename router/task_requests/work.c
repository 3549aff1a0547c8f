/* work.c: see work.h. */
#include "router/task_requests/work.h"

#include <assert.h>
#include <string.h>

#include "common/submit/submission.h"
#include "common/task/call.h"
#include "common/task/rules.h"
#include "router/state/router.h"
#include "router/task_requests/ask.h"
#include "router/task_requests/call.h"
#include "router/task_requests/tasking.h"

#define ROOM 8 /* ends of texts */
#define OF_A_TAKE       (WITH(N) | WITH(LEASE) | WITH(WAIT))
#define OF_A_PROGRESS   (WITH(LEASE_ID) | WITH(PERCENT) | WITH(TEXT) | WITH(DATA) | WITH(LEASE))
#define OF_A_SETTLEMENT (WITH(LEASE_ID) | WITH(RESULT) | WITH(RESULT_BASE64) | WITH(CONTENT_TYPE) | WITH(DELAY) | WITH(REASON) | WITH(LEASE))

/* ---- take -------------------------------------------------------------------------------- */

static void taken(struct task_call *c, const struct msg *m)
{
    static const struct msg_task_take_ans none;
    struct router *r = c->t->r;
    const struct ask *a = &c->v[0];
    struct task_outcome o = task_take_outcome(a->code);
    bool there; /* the worker */

    if (c->settled.n > 0)
        task_answer_resume(&r->ans, c->settled);
    if (o.status >= 400 && c->settled.n > 0) {
        task_answer_not_taken(&r->ans, o.problem, o.detail);
        return;
    }
    if (call_failed(c, &o))
        return;
    assert(m != NULL && m->type == MSG_TASK_TAKE_ANS);
    there = c->req != NULL && !httpd_is_closing(c->req);
    if (!there)
        give_back(c->t, a->part, &m->task_take_ans);
    c->t->counts.taken += there ? m->task_take_ans.n : 0;
    task_answer_taken(&r->ans, there ? &m->task_take_ans : &none, a->part, &r->keys.token);
}

static void take_row(struct ask *a, struct slice queue, const struct msg_task_take *m)
{
    struct task_call *c = a->call;

    c->queue = (struct slice){ call_text(c, queue), queue.n };
    a->kind = ASK_TAKE;
    a->queue = c->queue;
    a->take = *m;
    a->take.queue = c->queue.p;
    if (c->t->r->drained != NULL) /* see asks_drain() */
        a->take.wait_ms = 0;
}

static void stray_taken(struct task_call *c, const struct msg *m);

/* A call that takes from the next pool with strays of the queue, behind `place`, or else from its own.
 * said: the answer to the settlement before it. NULL: as call_new(). */
static struct task_call *new_take(struct tasking *t, struct httpd_req *req, struct slice said,
                                  struct slice queue, const struct msg_task_take *take, uint32_t place)
{
    const struct task_way *w = strays_next(t, queue, &place);
    struct task_call *c = call_new(t, req, 1, said.n + queue.n + ROOM, w == NULL ? take->wait_ms : 0,
                                   w == NULL ? taken : stray_taken);

    if (c == NULL)
        return NULL;
    c->settled = call_bytes(c, said);
    take_row(&c->v[0], queue, take);
    if (w == NULL)
        return c;
    c->place = place;
    c->next = *take;
    c->next.queue = c->queue.p;
    c->v[0].queue = (struct slice){ 0 };
    c->v[0].part = w->part;
    c->v[0].take.wait_ms = 0;
    c->deadline = ev_now(t->r->ev) + STRAYS_ASK_MS;
    return c;
}

static void stray_taken(struct task_call *c, const struct msg *m)
{
    const struct ask *a = &c->v[0];
    bool some = a->code == CODE_DONE && m->task_take_ans.n > 0;
    bool there = c->req != NULL && !httpd_is_closing(c->req);
    struct task_call *next = NULL;

    if (some)
        strays_found(c->t, c->queue, a->part);
    else if (there)
        next = new_take(c->t, NULL, c->settled, c->queue, &c->next, c->place);
    if (next == NULL) {
        taken(c, m);
        return;
    }
    call_hand_over(c, next);
    call_begin(next);
}

static struct msg_task_take take_of(const struct task_body *b)
{
    return (struct msg_task_take){ .most = b->n > 0 ? (uint32_t)b->n : 1,
                                   .lease_ms = (uint32_t)b->lease,
                                   .wait_ms = (uint32_t)b->wait };
}

void work_take(struct tasking *t, const struct task_asked *x)
{
    struct msg_task_take take;
    struct task_body b;
    struct task_call *c;

    if (!task_body_taken(t, x, OF_A_TAKE, &b))
        return;
    take = take_of(&b);
    c = new_take(t, x->req, (struct slice){ 0 }, x->path.queue, &take, 0);
    if (c == NULL)
        return;
    c->whose = server_token_id(x->tenant);
    call_begin(c);
}

/* ---- settle ------------------------------------------------------------------------------ */

/* Reads a result that is no JSON, if there is one. NULL, or a sentence. */
static const char *read_bytes(struct task_body *b)
{
    int64_t n;

    if ((b->has & WITH(RESULT_BASE64)) == 0)
        return (b->has & WITH(CONTENT_TYPE)) != 0 ? "content_type is for result_base64: a result is JSON" : NULL;
    if ((b->has & WITH(RESULT)) != 0)
        return "result and result_base64 exclude each other";
    n = callback_base64(b->result_base64);
    if (n < 0)
        return "result_base64 must be base64, with padding";
    if (n > TASK_BODY_MAX)
        return "result_base64 is too long";
    b->result = (struct slice){ b->result_base64.p, (size_t)n };
    if ((b->has & WITH(CONTENT_TYPE)) == 0)
        b->content_type = (struct slice){ (char *)(uintptr_t)PAYLOAD_ANY, sizeof(PAYLOAD_ANY) - 1 };
    return NULL;
}

/* The row as it is asked; NULL, or a sentence: it is unfit. */
static const char *settle_row(struct ask *a, enum task_verb verb, struct task_body *b,
                              const struct task_id *id)
{
    const char *why = read_bytes(b);
    uint64_t lease;

    _Static_assert((int)VERB_ACK == SETTLE_ACK && (int)VERB_NACK == SETTLE_NACK &&
                       (int)VERB_EXTEND == SETTLE_EXTEND, "one order");
    if (!lease_read(&lease, b->lease_id.p, b->lease_id.n))
        return "lease_id must be as it was taken with";
    if (verb == VERB_EXTEND && (b->has & WITH(LEASE)) == 0)
        return "lease is missing: how long from now";
    if (why != NULL)
        return why;
    if ((verb != VERB_ACK && (b->has & (WITH(RESULT) | WITH(RESULT_BASE64))) != 0) ||
        (verb != VERB_NACK && (b->has & (WITH(DELAY) | WITH(REASON))) != 0) ||
        (verb != VERB_EXTEND && (b->has & WITH(LEASE)) != 0))
        return "result is for ack, delay and reason for nack, lease for extend";
    if (b->delay >= SETTLE_BY_BACKOFF)
        return "delay must be less than 49 days";
    a->kind = ASK_SETTLE;
    a->part = id->part;
    a->no = id->no;
    a->repeats = verb == VERB_EXTEND;
    a->settle = (struct settle_row){ .verb = (uint8_t)verb, .no = id->no, .lease = lease,
                                     .ms = verb == VERB_EXTEND          ? (uint32_t)b->lease
                                           : (b->has & WITH(DELAY)) != 0 ? (uint32_t)b->delay
                                                                         : SETTLE_BY_BACKOFF,
                                     .result = call_bytes_in(a->call, b->result),
                                     .reason = call_bytes_in(a->call, b->reason),
                                     .type = call_bytes_in(a->call, b->content_type) };
    return NULL;
}

static struct settled_row row_of(const struct ask *a)
{
    return (struct settled_row){ .code = (uint8_t)a->code, .state = a->state,
                                 .until_ms = a->until_ms };
}

/* The client waits for a call of its own: that of the settlement may have a large result. */
static void take_next(struct task_call *c)
{
    struct api_ans *ans = &c->t->r->ans;
    struct slice said = { (char *)ans->body.data, ans->body.len };
    struct slice queue = slice_of(c->next.queue);
    struct task_call *n = new_take(c->t, NULL, said, queue, &c->next, 0);

    if (n == NULL) {
        task_answer_not_taken(ans, API_OVERLOADED, "the router is overloaded; try again");
        return;
    }
    api_ans_reset(ans);
    call_hand_over(c, n);
    call_begin(n);
}

static void settled(struct task_call *c, const struct msg *m)
{
    const struct ask *a = &c->v[0];
    struct task_outcome o = task_token_outcome(a->code);
    struct task_name name = row_name(a, a->no);
    struct settled_row row = row_of(a);

    (void)m;
    c->t->counts.settled += o.status < 400;
    if (call_failed(c, &o))
        return;
    task_answer_settled(&c->t->r->ans, &name, (enum task_verb)a->settle.verb, &row);
    if (c->next.queue != NULL && c->req != NULL && !httpd_is_closing(c->req))
        take_next(c);
}

/* Reads `take`: what is taken once the task is settled. NULL, or a sentence: nothing can be. */
static const char *read_next(struct task_call *c, const struct task_body *b, struct body_error *e,
                             enum api_problem *p)
{
    struct task_body take;

    *p = API_BAD_REQUEST;
    if (b->take.p[0] != '{')
        return "take must be an object: {\"queue\":\"images\",\"n\":1,\"lease\":\"30s\",\"wait\":\"20s\"}";
    if (!task_body_whole(&take, b->take, OF_A_TAKE | WITH(QUEUE), e))
        return e->text;
    if (!queue_name_ok(take.queue.p, take.queue.n))
        return "take: queue is missing, or is no valid name of a queue";
    *p = API_NOT_ELIGIBLE;
    if (!queues_match(c->opens.p, c->opens.n, take.queue.p, take.queue.n))
        return "take: this server's token may not take in this queue: see its line in task_tokens";
    c->next = take_of(&take);
    c->next.queue = call_text(c, take.queue);
    return NULL;
}

void work_one(struct tasking *t, const struct task_asked *x)
{
    enum task_verb verb = x->path.op == TASK_ACK ? VERB_ACK : x->path.op == TASK_NACK ? VERB_NACK : VERB_EXTEND;
    struct task_body b;
    struct body_error e;
    struct task_call *c;
    enum api_problem p = API_BAD_REQUEST;
    const char *why;

    if (!task_body_taken(t, x, OF_A_SETTLEMENT | (verb == VERB_EXTEND ? 0 : WITH(TAKE)), &b))
        return;
    c = call_new(t, x->req, 1, b.result.n + b.result_base64.n + b.reason.n + REPLY_TYPE_MAX + x->opens.n + TASK_NAME_MAX + ROOM,
                 0, settled);
    if (c == NULL)
        return;
    c->opens = call_bytes(c, x->opens);
    why = settle_row(&c->v[0], verb, &b, &x->id);
    if (why == NULL && (b.has & WITH(TAKE)) != 0)
        why = read_next(c, &b, &e, &p);
    if (why == NULL) {
        c->whose = c->next.queue != NULL ? server_token_id(x->tenant) : 0;
        call_begin(c);
        return;
    }
    call_drop(c);
    router_problem(t->r, x->req, p, why);
}

static void all_settled(struct task_call *c, const struct msg *m)
{
    struct api_ans *ans = &c->t->r->ans;

    (void)m;
    task_list_begin(ans);
    for (uint32_t i = 0; i < c->n; i++) {
        const struct ask *a = &c->v[i];
        struct task_outcome o = task_token_outcome(a->code);
        struct task_name name = row_name(a, a->no);
        struct settled_row row = row_of(a);

        c->t->counts.settled += a->why == NULL && o.status < 400;
        if (a->why != NULL)
            task_list_problem(ans, (enum api_problem)a->problem, a->why, 0);
        else if (o.status >= 400)
            task_list_problem(ans, o.problem, o.detail, 0);
        else
            task_list_settled(ans, &name, (enum task_verb)a->settle.verb, &row);
    }
    task_list_end(ans);
}

static void read_row(struct ask *a, struct slice text)
{
    struct task_id id;
    struct task_body b;
    struct body_error e;
    const char *why;

    if (!task_body_whole(&b, text, OF_A_SETTLEMENT | WITH(TASK) | WITH(VERB), &e)) {
        row_refuse(a, e.too_large ? API_PAYLOAD_TOO_LARGE : API_BAD_REQUEST, e.text);
    } else if (task_token_read(&id.part, &id.no, &a->call->t->r->keys.token, b.task.p, b.task.n) < 0) {
        row_refuse(a, API_TASK_UNKNOWN, "unknown task");
    } else {
        why = settle_row(a, (enum task_verb)b.verb, &b, &id);
        if (why != NULL)
            row_refuse(a, API_BAD_REQUEST, why);
    }
}

void work_settle(struct tasking *t, const struct task_asked *x)
{
    struct task_call *c = call_of_rows(t, x, x->opens, read_row, all_settled);

    if (c != NULL)
        call_begin(c);
}

/* ---- progress ---------------------------------------------------------------------------- */

static void noted(struct task_call *c, const struct msg *m)
{
    const struct ask *a = &c->v[0];
    struct task_outcome o = task_token_outcome(a->code);
    struct task_name name = row_name(a, a->no);
    struct settled_row row = row_of(a);

    (void)m;
    if (!call_failed(c, &o))
        task_answer_settled(&c->t->r->ans, &name, VERB_EXTEND, &row);
}

/* NULL, or a sentence. */
static const char *read_progress(struct msg_task_progress *m, const struct task_body *b)
{
    uint64_t lease;

    if ((b->has & (WITH(PERCENT) | WITH(TEXT) | WITH(DATA))) == 0)
        return "one of percent (0 to 100), text (200 bytes) and data (any JSON of 1 KiB) must be there";
    if (!lease_read(&lease, b->lease_id.p, b->lease_id.n))
        return "lease_id must be as it was taken with";
    m->lease = lease;
    m->percent = (b->has & WITH(PERCENT)) != 0 ? (uint8_t)(b->percent + 1) : 0;
    m->ms = (uint32_t)b->lease;
    return NULL;
}

void work_progress(struct tasking *t, const struct task_asked *x)
{
    struct msg_task_progress m = { .no = x->id.no };
    struct task_body b;
    struct task_call *c;
    const char *why;

    if (!task_body_taken(t, x, OF_A_PROGRESS, &b))
        return;
    why = read_progress(&m, &b);
    if (why != NULL) {
        router_problem(t->r, x->req, API_BAD_REQUEST, why);
        return;
    }
    c = call_new(t, x->req, 1, b.text.n + b.data.n + x->opens.n + ROOM, 0, noted);
    if (c == NULL)
        return;
    c->opens = call_bytes(c, x->opens);
    m.text = call_bytes_in(c, b.text);
    m.data = call_bytes_in(c, b.data);
    c->v[0].kind = ASK_PROGRESS;
    c->v[0].part = x->id.part;
    c->v[0].no = x->id.no;
    c->v[0].repeats = true; /* the same again says the same */
    c->v[0].progress = m;
    call_begin(c);
}

#define RESULTS (WITH(RESULT) | WITH(BODY) | WITH(BODY_BASE64))
#define SAYS    (WITH(OUTCOME) | WITH(STATUS) | WITH(DELAY) | WITH(REASON) | RESULTS)
#define RIGHT_ROOM (RIGHT_MAC_BYTES + 8)

/* Reads what a target gives, and its Content-Type. NULL, or a sentence. */
static const char *result_of(struct task_body *b, struct slice *result, const char **type)
{
    int64_t n = (int64_t)b->body.n;

    if (__builtin_popcount(b->has & RESULTS) > 1)
        return "result, body and body_base64 exclude each other";
    *type = (b->has & WITH(RESULT)) != 0        ? API_JSON
            : (b->has & WITH(BODY)) != 0        ? "text/plain; charset=utf-8"
            : (b->has & WITH(BODY_BASE64)) != 0 ? "application/octet-stream"
                                                : "";
    *result = (b->has & WITH(RESULT)) != 0 ? b->result : b->body;
    if ((b->has & WITH(BODY_BASE64)) == 0)
        return NULL;
    n = callback_base64(b->body_base64);
    if (n < 0)
        return "body_base64 must be base64, with padding";
    *result = (struct slice){ b->body_base64.p, (size_t)n };
    return n <= TASK_BODY_MAX ? NULL : "body_base64 is too long";
}

/* NULL, or a sentence: it is unfit. */
static const char *fill(struct ask *a, enum task_op op, struct task_body *b)
{
    struct msg_task_complete *m = &a->complete;
    struct slice result = { 0 };
    const char *why;

    m->content_type = "";
    if (op == TASK_PROLONG) {
        m->verb = COMPLETE_EXTEND;
        m->ms = (uint32_t)b->lease;
        return (b->has & WITH(LEASE)) != 0 ? NULL : "lease is missing: how long from now";
    }
    if ((b->has & WITH(OUTCOME)) == 0)
        return "outcome is missing: succeeded, failed or dead";
    if (b->outcome != COMPLETE_FAILED && (b->has & WITH(DELAY)) != 0)
        return "delay is for an outcome that is failed";
    if (b->delay >= SETTLE_BY_BACKOFF)
        return "delay must be less than 49 days";
    if (b->outcome == COMPLETE_SUCCEEDED && (b->has & WITH(REASON)) != 0)
        return "reason is for an outcome that is failed or dead";
    why = result_of(b, &result, &m->content_type);
    if (why != NULL)
        return why;
    m->verb = (uint8_t)b->outcome;
    m->ms = (b->has & WITH(DELAY)) != 0 ? (uint32_t)b->delay : SETTLE_BY_BACKOFF;
    m->status = (b->has & WITH(STATUS)) != 0        ? (uint32_t)b->status
                : b->outcome == COMPLETE_SUCCEEDED ? 200
                                                   : 500;
    m->result = call_bytes_in(a->call, result);
    m->reason = call_bytes_in(a->call, b->reason);
    return NULL;
}

static void told(struct task_call *c, const struct msg *m)
{
    const struct ask *a = &c->v[0];
    struct task_outcome o = task_complete_outcome(a->code);

    (void)m;
    c->t->counts.settled += o.status < 400;
    if (!call_failed(c, &o))
        task_answer_completed(&c->t->r->ans, a->part, a->complete.no, a->state, a->until_ms);
}

void complete_start(struct tasking *t, const struct task_asked *x, const struct attempt_right *right)
{
    struct slice mac = { (char *)(uintptr_t)right->mac, RIGHT_MAC_BYTES };
    struct task_body b;
    struct task_call *c;
    const char *why;
    struct ask *a;

    if (!task_body_taken(t, x, x->path.op == TASK_COMPLETE ? SAYS : WITH(LEASE), &b))
        return;
    c = call_new(t, x->req, 1, x->q->body.n + RIGHT_ROOM, 0, told);
    if (c == NULL)
        return;
    a = &c->v[0];
    a->kind = ASK_COMPLETE;
    a->part = right->part;
    a->repeats = true; /* the same again is answered as before */
    a->complete = (struct msg_task_complete){
        .no = right->no, .lease = right->lease, .attempt = right->attempt,
        .right = call_bytes_in(c, mac),
    };
    why = fill(a, x->path.op, &b);
    if (why == NULL) {
        call_begin(c);
        return;
    }
    call_drop(c);
    router_problem(t->r, x->req, API_BAD_REQUEST, why);
}

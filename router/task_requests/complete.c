/* complete.c: see complete.h. */
#include "router/task_requests/complete.h"

#include <assert.h>

#include "router/state/router.h"
#include "router/task_api/callback.h"
#include "router/task_requests/ask.h"

#define RESULTS (WITH(RESULT) | WITH(BODY) | WITH(BODY_BASE64))
#define SAYS    (WITH(OUTCOME) | WITH(STATUS) | WITH(DELAY) | WITH(REASON) | RESULTS)
#define ROOM    (RIGHT_MAC_BYTES + 8)

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
    struct slice result = { 0 }, reason;
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
    result = call_bytes(a->call, result);
    reason = call_bytes(a->call, b->reason);
    m->verb = (uint8_t)b->outcome;
    m->ms = (b->has & WITH(DELAY)) != 0 ? (uint32_t)b->delay : SETTLE_BY_BACKOFF;
    m->status = (b->has & WITH(STATUS)) != 0        ? (uint32_t)b->status
                : b->outcome == COMPLETE_SUCCEEDED ? 200
                                                   : 500;
    m->result = (struct bytes_of){ (uint32_t)result.n, (const uint8_t *)result.p };
    m->reason = (struct bytes_of){ (uint32_t)reason.n, (const uint8_t *)reason.p };
    return NULL;
}

static void told(struct task_call *c, const struct msg *m)
{
    struct router *r = c->t->r;
    const struct ask *a = &c->v[0];
    struct task_outcome o = task_complete_outcome(a->code);

    (void)m;
    c->t->counts.settled += o.status < 400;
    if (o.status >= 400)
        api_problem(&r->ans, o.problem, o.detail, router_request_id(r));
    else
        task_answer_completed(&r->ans, a->part, a->complete.no, a->state, a->until_ms);
}

void complete_start(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                    enum task_op op, const struct attempt_right *right)
{
    struct slice mac = { (char *)(uintptr_t)right->mac, RIGHT_MAC_BYTES };
    struct task_body b;
    struct body_error e;
    struct task_call *c;
    const char *why;
    struct ask *a;

    if (!task_body_whole(&b, q->body, op == TASK_COMPLETE ? SAYS : WITH(LEASE), &e)) {
        router_problem(t->r, req, e.too_large ? API_PAYLOAD_TOO_LARGE : API_BAD_REQUEST, e.text);
        return;
    }
    c = call_new(t, req, 1, q->body.n + ROOM, 0, told);
    if (c == NULL)
        return;
    a = &c->v[0];
    a->kind = ASK_COMPLETE;
    a->part = right->part;
    a->repeats = true; /* the same again is answered as before */
    a->complete = (struct msg_task_complete){
        .no = right->no, .lease = right->lease, .attempt = right->attempt,
        .right = { RIGHT_MAC_BYTES, (const uint8_t *)call_bytes(c, mac).p },
    };
    why = fill(a, op, &b);
    if (why == NULL) {
        call_begin(c);
        return;
    }
    call_drop(c);
    router_problem(t->r, req, API_BAD_REQUEST, why);
}

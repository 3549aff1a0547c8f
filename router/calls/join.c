/* join.c: see join.h. */
#include "router/calls/join.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "common/base/json.h"
#include "common/ticket/pass.h"
#include "router/calls/challenge.h"
#include "router/calls/device.h"
#include "router/calls/ticket.h"

void queue_get(struct router *r, struct httpd_req *req, struct slice name)
{
    const struct route_queue *q = routes_queue(r->routes, name.p, name.n);

    if (routes_version(r->routes) == 0) {
        router_problem(r, req, API_QUEUE_UNAVAILABLE,
                       "this router has no map of the queues yet; try again");
    } else if (q == NULL) {
        router_problem(r, req, API_QUEUE_NOT_FOUND, "there is no such queue");
    } else {
        api_queue(&r->ans, q);
        router_answer(r, req);
    }
}

bool join_may_replace(const struct router *r, const struct http_req *q, const struct join_body *b,
                      const char **why)
{
    enum device_word word = SQ_LIKELY(!b->replaces || b->old.device == 0) ? DEVICE_SAME : device_of(r, q, &b->old);

    if (SQ_LIKELY(word == DEVICE_SAME))
        return true;
    *why = word == DEVICE_STALE ? "the key of the ticket that the claim replaces was proved more than ten minutes "
                                  "ago: POST a proof to its /device"
                                : "the ticket that the claim replaces works only with the device that joined";
    return false;
}

int join_lane(struct router *r, const struct route_queue *q, struct join_body *b,
              unsigned *lane, const char **why)
{
    int rc = claim_lane(&r->claims, r->cfg->claim_max_ttl / 1000, router_wall_s(), q, b,
                        lane, why);

    if (rc == 0 && b->replaces &&
        token_read(&b->old, &r->keys.token, b->old_text, TOKEN_TEXT_LEN) < 0) {
        *why = "the claim's replaces is not a ticket of ours";
        rc = SQ_EAUTH;
    }
    if (b->claim_len > 0) {
        r->counts.claims += rc == 0;
        r->counts.claims_refused += rc < 0;
    }
    return rc;
}

/* A second try finds the place of the first. A subject does the same. */
static void key_of_old(struct router *r, const struct route_queue *q, struct join_body *b)
{
    if (b->subject_len == 0 || b->keyed)
        join_by_key(&r->keys.token, q, b, (struct slice){ b->old_text, TOKEN_TEXT_LEN });
    b->keyed = false; /* no place without it: the old one would be left for a second one */
}

/* A pass that is bound: that stands before the name, of which there may be none. */
static void put_head(struct rflow *rf, const struct join_body *b)
{
    memmove(rf->subject + b->head_len, rf->subject, rf->subject_len);
    memcpy(rf->subject, b->head, b->head_len);
    rf->head_len = b->head_len;
    rf->subject_len = (uint8_t)(rf->subject_len + b->head_len);
    if (rf->flow.token.subject_hash == 0)
        randombytes_buf(&rf->flow.token.subject_hash, sizeof(rf->flow.token.subject_hash));
}

void join_flow(struct router *r, struct rflow *rf, const struct route_queue *q,
               struct join_body *b, unsigned lane)
{
    bool named;

    assert(q != NULL && b->subject_len <= SUBJECT_MAX_LEN && b->head_len <= SUBJECT_HEAD_MAX);
    if (b->replaces)
        key_of_old(r, q, b);
    named = b->subject_len > 0 && !b->keyed;
    r->counts.joins++;
    if (SQ_UNLIKELY(q->map.suspects != SUSPECTS_OFF)) {
        rf->client = r->gate.client;
        rf->as = RFLOW_WATCHED;
    }
    rf->subject_len = b->subject_len;
    memcpy(rf->subject, b->subject, b->subject_len);
    rf->flow.token = (struct token) { .client = b->client };
    if (b->subject_len > 0)
        rf->flow.token.subject_hash =
            token_subject_hash(&r->keys.token, q->map.id, b->subject, b->subject_len);
    if (SQ_UNLIKELY(b->device[0] != '\0'))
        device_bind(r, rf, b);
    if (SQ_UNLIKELY(b->head_len > 0))
        put_head(rf, b);
    if (b->replaces)
        flow_replace(&rf->flow, r->routes, q, lane, &b->old, ev_now(r->ev));
    else
        flow_join(&rf->flow, r->routes, q, lane, ev_now(r->ev));
    rf->flow.keyed = b->keyed;
    rf->flow.named = named;
}

/* Does the place that it has found belong to another device? Else the device has its cookie. */
static bool is_refused(struct router *r, const struct rflow *rf)
{
    const struct flow *f = &rf->flow;
    struct route_owner o;

    if (SQ_LIKELY(f->token.device == 0) || (f->result != FLOW_OK && f->result != FLOW_EXISTING))
        return false;
    if (device_is_alien(r, rf)) {
        device_refuse(r, f->token.seg, f->token.number);
        return true;
    }
    if (routes_owner(r->routes, f->token.seg, &o) == 0 && o.queue != NULL)
        device_put_cookie(r, rf, o.queue->map.name);
    return false;
}

static void done(struct router *r, struct rflow *rf)
{
    bool ok = rf->flow.result == FLOW_OK || rf->flow.result == FLOW_EXISTING;
    struct api_ticket t;

    if (ticket_told(r, rf) || is_refused(r, rf))
        return;
    if (ok && router_ticket(r, rf, &t))
        api_ticket(&r->ans, rf->flow.result == FLOW_OK ? 201 : 200, &t, true);
    else
        router_failed(r, &rf->flow);
}

/* http NULL: the join was held. */
static void begin(struct router *r, struct httpd_req *req, const struct http_req *http,
                  const struct route_queue *q, struct join_body *b, struct slice key, unsigned lane, rflow_done end)
{
    const char *why = NULL;
    struct rflow *rf;

    if (SQ_UNLIKELY(q->map.bind != BIND_NONE) && http != NULL)
        why = device_join(r, req, http, q, b, key, device_proof(http));
    if (SQ_UNLIKELY(why != NULL)) {
        device_unproved(r, req, why);
        return;
    }
    rf = rflow_call(r, req, end, "the router is overloaded; you have not joined: try again");
    if (rf == NULL)
        return;
    if (key.p != NULL && b->subject_len == 0) /* a subject is one place anyway */
        join_by_key(&r->keys.token, q, b, key);
    join_flow(r, rf, q, b, lane);
    rflow_begin(r, rf);
}

/* A join that was held; its key and its device stand in b. */
static void go(struct router *r, struct httpd_req *req, const struct route_queue *q, struct join_body *b,
               const struct join_then *then)
{
    begin(r, req, NULL, q, b, (struct slice){ 0 }, then->lane, then->end);
}

static void refuse(struct router *r, struct httpd_req *req, const struct route_queue *q,
                   const char *why)
{
    api_closed(&r->ans, q, why, router_request_id(r));
    router_answer(r, req);
}

/* True: its phase refuses the join, with a reason better than "closed"; that is answered. */
static bool phase_refused(struct router *r, struct httpd_req *req, const struct route_queue *q)
{
    if (q->map.state != QUEUE_CLOSED)
        return false;
    if (q->map.when.phase == PHASE_REJECT)
        refuse(r, req, q, "nobody is let in at present");
    else if (q->map.when.phase == PHASE_EARLY)
        refuse(r, req, q, "the queue is not open yet");
    else if (q->map.when.phase == PHASE_OVER)
        refuse(r, req, q, "the queue has closed");
    else
        return false;
    return true;
}

void join_ask(struct router *r, struct httpd_req *req, const struct http_req *q, struct slice name,
              struct join_body *b, rflow_done end)
{
    const struct route_queue *queue = routes_queue(r->routes, name.p, name.n);
    const char *why;
    unsigned lane;
    int rc;

    if (q->idempotency_key.p != NULL && !join_key_ok(q->idempotency_key))
        router_problem(r, req, API_BAD_REQUEST,
                       "Idempotency-Key must be 16 to 128 visible ASCII characters");
    else if (routes_version(r->routes) == 0)
        router_problem(r, req, API_QUEUE_UNAVAILABLE,
                       "this router has no map of the queues yet; try again");
    else if (queue == NULL)
        router_problem(r, req, API_QUEUE_NOT_FOUND, "there is no such queue");
    else if (phase_refused(r, req, queue))
        return;
    else if ((rc = join_lane(r, queue, b, &lane, &why)) == SQ_EAUTH || !join_may_replace(r, q, b, &why))
        router_problem(r, req, API_NOT_ELIGIBLE, why);
    else if (rc < 0)
        router_problem(r, req, API_QUEUE_UNAVAILABLE, "this router is out of memory; try again");
    else if (SQ_LIKELY(challenge_is_free(queue)) ||
             challenge_passes(r, req, q, queue, b, &(const struct join_then){ .go = go, .lane = lane, .end = end }))
        begin(r, req, q, queue, b, q->idempotency_key, lane, end);
}

/* A join's body; false: that has been answered. Then the rest; b may have a head. */
static bool join_read(struct router *r, struct httpd_req *req, const struct http_req *q,
               struct join_body *b)
{
    struct body_error e;

    if (q->has_body && !q->json)
        router_problem(r, req, API_UNSUPPORTED_MEDIA_TYPE, "the body must be JSON");
    else if (body_join(b, q->body, &e))
        return true;
    else
        router_problem(r, req, API_BAD_REQUEST, e.text);
    return false;
}

void join_start(struct router *r, struct httpd_req *req, const struct http_req *q,
                struct slice name)
{
    struct join_body b;

    if (join_read(r, req, q, &b))
        join_ask(r, req, q, name, &b, done);
}

/* ---- permits ---- */

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

/* Reads the bindings of the pass, and leaves the bytes as they are: another call may be meant. 0;
 * SQ_EUNKNOWN: it is no permit's body; SQ_EINVAL and *why: one sentence of ours. */
static int body_permit(struct bound *b, struct slice body, const char **why)
{
    json_t *o = json_scan_is_whole(body) ? json_in(body.p, body.n, NULL) : NULL;
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
        router_failed(r, &rf->flow);
    }
}

static void joined(struct router *r, struct rflow *rf)
{
    if (is_refused(r, rf))
        return;
    if (rf->flow.result == FLOW_OK || rf->flow.result == FLOW_EXISTING)
        tell(r, rf, rf->flow.result == FLOW_OK ? 201 : 200, true);
    else
        router_failed(r, &rf->flow);
}

static void polled(struct router *r, struct rflow *rf)
{
    if (rf->flow.result == FLOW_OK)
        tell(r, rf, 200, false);
    else if (rf->flow.result == FLOW_GONE)
        api_permit_over(&r->ans, rf->text, rf->flow.reason);
    else
        router_failed(r, &rf->flow);
}

static void has_left(struct router *r, struct rflow *rf)
{
    if (rf->flow.result == FLOW_OK)
        api_permit_over(&r->ans, rf->text, GONE_LEFT);
    else
        router_failed(r, &rf->flow);
}

/* For the longest name and a device, too, if the queue has them. */
static bool has_room(const struct router *r, struct slice queue, const struct bound *b)
{
    const struct route_queue *q = routes_queue(r->routes, queue.p, queue.n);

    return q == NULL || q->map.bind == BIND_NONE || strlen(b->htm) + strlen(b->htu) <= 90;
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
    if (rc == 0 && !has_room(r, queue_of(a->arg), &bound)) {
        rc = SQ_EINVAL;
        why = "htm and htu together are at most 90 characters in a queue that binds tickets to devices";
    }
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
    struct rflow *rf = ticket_call(r, req, q, arg, leaves ? has_left : polled,
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

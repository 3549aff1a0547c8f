/* submit.c: see submit.h. */
#include "router/task_requests/submit.h"

#include <assert.h>
#include <string.h>

#include "common/submit/body.h"
#include "common/task/call.h"
#include "router/state/router.h"
#include "router/task_api/look.h"
#include "router/task_api/path.h"
#include "router/task_api/request_body.h"
#include "router/task_api/result.h"
#include "router/task_api/rights.h"
#include "router/task_requests/ask.h"
#include "router/task_requests/call.h"
#include "router/task_requests/passing.h"
#include "router/task_requests/pieces.h"
#include "router/task_requests/progress.h"
#include "router/task_requests/submission.h"

/* The row as it is asked, with what is behind it, which is in t->then. False: no memory. */
static bool put_row(struct ask *a, const struct task_body *b, struct slice bytes)
{
    const struct buf *then = &a->call->t->then;

    a->kind = ASK_PUT;
    a->queue = a->call->queue;
    a->repeats = b->name.n > 0 || b->idempotency_key.n > 0;
    a->is_call = bytes.p != b->payload.p;
    a->put = submit_row(a->call, b, bytes, a->repeats);
    if ((b->has & WITH(THEN)) != 0)
        a->put.then = call_more(a->call, then);
    return (b->has & WITH(THEN)) == 0 || a->put.then.p != NULL;
}

/* ---- one --------------------------------------------------------------------------------- */

static bool look(struct task_call *c);

static void count(struct tasking *t, const struct task_outcome *o)
{
    t->counts.submitted += o->status == 201;
    t->counts.same += o->status == 200;
}

/* Problems of calls have the form that clients of language models read, too. */
static void call_problem(struct task_call *c, enum api_problem p, const char *why)
{
    struct api_ans *a = &c->t->r->ans;

    a->wraps = c->passes_on;
    api_problem(a, p, why, router_request_id(c->t->r));
    a->wraps = false;
}

/* A caller who said nothing of 202 knows only answers of the target: it waits on, or has an error.
 * m NULL: how it is is not known. */
static void wait_on(struct task_call *c, const struct msg_task_get_ans *m)
{
    msec_t now = ev_now(c->t->r->ev), left = c->until - now;
    bool early = c->deadline - TASK_ASK_MS - now > c->wait_ms / 2; /* the node cannot wait now */

    if (m == NULL || (early && left > 0)) {
        call_problem(c, API_OUTCOME_UNKNOWN, "the line cannot be reached now, and the call may have begun");
        return;
    }
    c->wait_ms = ms_min(left, TASK_WAIT_MAX_MS);
    if (left > 0 && c->req != NULL) {
        if (!look(c))
            call_problem(c, API_OUTCOME_UNKNOWN, "the router is overloaded, and the call may have begun");
        return;
    }
    c->t->counts.waits_over++;
    call_problem(c, API_WAIT_OVER, c->leaves
                 ? "the target has not answered in the time that this token waits (wait= in task_tokens); a "
                   "call that had not begun is cancelled"
                 : "the target has not answered in the time that this token waits (wait= in task_tokens); it "
                   "goes on: if the request had an Idempotency-Key, that finds it again");
    left_over(c);
}

/* Answers as the target does. A long answer follows piece by piece; if too many do, it is looked at
 * later, as one that takes long. */
static void pass_back(struct task_call *c, const struct task_name *name, const struct msg_task_get_ans *m)
{
    struct router *r = c->t->r;
    const struct ask *a = &c->v[0];
    struct passed_from from = ask_from(a);
    bool passes = task_state_is_final((enum task_state)m->state) && result_not_passed_on(m) == NULL;
    struct msg_task_get_ans g = *m;
    struct whole *w;

    if (passes && whole_is_crowded(c->t, a->part, m)) {
        c->t->counts.wholes_crowded++;
        if (c->until != 0)
            call_problem(c, API_OVERLOADED, "too many long answers are on their way; try again");
        else
            task_answer_later(&r->ans, name, m, from.endpoint);
        return;
    }
    w = passes ? whole_new(c, a->part, m) : NULL;
    g.result_whole = w != NULL;
    g.part = a->part;
    r->ans.wraps = true;
    task_answer_call(&r->ans, name, &g, &from, router_request_id(r));
    r->ans.wraps = false;
    if (c->until == 0)
        wait_applied(&r->ans, c->wait_ms);
    if (w != NULL)
        whole_start(c, w, NULL);
}

/* Answers once it is written. m: how it is now; NULL: nothing newer is known. */
static void answer(struct task_call *c, const struct msg_task_get_ans *m)
{
    struct router *r = c->t->r;
    const struct ask *a = &c->v[0];
    struct task_name name;

    task_token_write(a->part, a->no, &r->keys.token, name.text);
    if (m != NULL)
        task_name_then(&name, m, &r->keys.token);
    if (c->until != 0 && (m == NULL || !task_state_is_final((enum task_state)m->state))) {
        wait_on(c, m);
        return;
    }
    if (m != NULL && c->passes_on) {
        pass_back(c, &name, m);
        return;
    }
    if (m != NULL)
        task_answer_waited(&r->ans, c->fresh, &name, m, ask_endpoint(a));
    else if (c->passes_on)
        task_answer_put(&r->ans, 202, &name, c->queue, a->state);
    else
        task_answer_put(&r->ans, c->fresh ? 201 : 200, &name, c->queue, a->state);
    wait_applied(&r->ans, c->wait_ms);
}

static void waited(struct task_call *c, const struct msg *m)
{
    bool seen = c->v[0].code == CODE_DONE;
    struct task_name name;

    if (seen && m->type == MSG_TASK_PIECE) {
        task_token_write(c->v[0].part, c->v[0].no, &c->t->r->keys.token, name.text);
        passing_begin(c, &name, &m->task_piece);
        return;
    }
    assert(!seen || (m != NULL && m->type == MSG_TASK_GET_ANS));
    answer(c, seen ? &m->task_get_ans : NULL);
}

/* How it is when it has ended, or after wait_ms. False: no memory. */
static bool look(struct task_call *c)
{
    const struct ask *was = &c->v[0];
    struct task_call *next = call_new(c->t, NULL, 1, c->queue.n + 1, c->wait_ms, waited);

    if (next == NULL)
        return false;
    call_hand_over(c, next);
    next->queue = (struct slice){ call_text(next, c->queue), c->queue.n };
    next->fresh = c->fresh;
    next->passes_on = c->passes_on;
    next->leaves = c->leaves;
    next->until = c->until;
    next->whole_only = c->whole_only;
    next->v[0].kind = ASK_GET;
    next->v[0].repeats = true;
    next->v[0].part = was->part;
    next->v[0].no = was->no;
    next->v[0].state = was->state;
    next->v[0].get = (struct msg_task_get){ .no = was->no, .queue = "", .name = "",
                                            .wait_ms = (uint32_t)c->wait_ms, .result = true,
                                            .leaves = c->leaves };
    if (passing_may(next)) {
        next->v[0].get.window = c->whole_only ? 0 : WINDOW_BYTES;
        next->v[0].get.places = next->progress != PROGRESS_NONE;
    }
    call_begin(next);
    return true;
}

#define ANY_WAIT INT64_MAX /* refused only while its endpoint is down */

static void submitted(struct task_call *c, const struct msg *m);

/* How long it may wait there; the last way has no bound. */
static uint64_t may_wait(uint32_t max_wait_ms, unsigned left)
{
    return left == 0 ? 0 : max_wait_ms != 0 ? max_wait_ms : ANY_WAIT;
}

static void goes_by(struct task_call *c, const struct task_way *w)
{
    c->way = w;
    c->leaves = c->may_leave && w != NULL && w->cancel_on_disconnect;
}

static size_t ways_room(const struct route_ways *w)
{
    size_t n = w->n > 1 ? sizeof(struct other_ways) + 8 : 0;

    for (unsigned i = 1; i < w->n; i++)
        n += strlen(w->endpoint[i]) + 1;
    return n;
}

static void keep_ways(struct task_call *c, const struct route_ways *w)
{
    if (w->n < 2)
        return;
    c->memory += -(uintptr_t)c->memory & 7;
    c->ways = (struct other_ways *)(void *)c->memory;
    c->memory += sizeof(*c->ways);
    *c->ways = (struct other_ways){ .n = w->n - 1 };
    for (unsigned i = 1; i < w->n; i++) {
        size_t n = strlen(w->endpoint[i]);

        c->ways->queue[i - 1] = (struct slice){ call_text(c, (struct slice){ (char *)(uintptr_t)w->endpoint[i], n }), n };
        c->ways->max_wait_ms[i - 1] = w->max_wait_ms[i];
        c->ways->cost[i - 1] = w->cost[i];
    }
}

/* Submits it where it may go else. False: nowhere, or nobody waits. */
static bool go_elsewhere(struct task_call *c)
{
    const struct task_put *was = &c->v[0].put;
    struct route_ways w = { 0 };
    struct task_call *next = NULL;
    struct ask *a;

    for (unsigned i = 0; c->ways != NULL && i < c->ways->n; i++) {
        w.endpoint[w.n] = c->ways->queue[i].p;
        w.cost[w.n] = c->ways->cost[i];
        w.max_wait_ms[w.n++] = c->ways->max_wait_ms[i];
    }
    if (w.n > 0 && c->req != NULL)
        next = call_new(c->t, NULL, 1, ways_room(&w) + was->body.n + was->key.n + strlen(was->key1) +
                        strlen(was->key2) + strlen(w.endpoint[0]) + SUBMIT_ROOM, 0, submitted);
    if (next == NULL)
        return false;
    c->t->counts.elsewhere++;
    call_hand_over(c, next);
    next->wait_ms = c->wait_ms;
    next->until = c->until;
    next->passes_on = c->passes_on;
    next->may_leave = c->may_leave;
    next->whole_only = c->whole_only;
    next->looks = c->looks;
    keep_ways(next, &w);
    next->queue = (struct slice){ call_copy(next, w.endpoint[0]), strlen(w.endpoint[0]) };
    goes_by(next, pools_of_queue(&c->t->pools, next->queue.p, next->queue.n));
    a = &next->v[0];
    a->kind = ASK_PUT;
    a->queue = next->queue;
    a->repeats = c->v[0].repeats;
    a->is_call = c->v[0].is_call;
    a->put = *was;
    a->put.own.cost = task_own_cost(w.cost[0]);
    a->put.queue = next->queue.p;
    a->put.key1 = call_copy(next, was->key1);
    a->put.key2 = call_copy(next, was->key2);
    a->put.name = a->put.group = a->put.own.labels = ""; /* a call has none */
    a->put.key = call_bytes_of(next, was->key);
    a->put.body = call_bytes_of(next, was->body);
    a->put.may_wait_ms = may_wait(w.max_wait_ms[0], w.n - 1);
    call_begin(next);
    return true;
}

/* Detail of a row's refusal; with numbers, where its node says them. */
static const char *detail_of(const struct ask *a, const struct task_outcome *o)
{
    if (a->code == CODE_INVALID && a->put.offer.n > 0)
        return "offer_to names different queues of a pool whose order is not strict; or a number is out of its range";
    return a->code == CODE_FULL + FULL_UNITS && a->max_units != 0
               ? task_no_units(a->call->t->no_units, own_cost(&a->put.own), a->units, a->max_units) : o->detail;
}

/* Certainly not there: the line is too long, or has no room, or nobody has it. */
static bool was_refused(const struct task_call *c, const struct task_outcome *o)
{
    return o->problem == API_WAIT_TOO_LONG || o->problem == API_QUEUE_FULL || c->v[0].code == ASK_NOBODY;
}

static void submitted(struct task_call *c, const struct msg *m)
{
    struct router *r = c->t->r;
    struct task_outcome o = task_put_outcome(c->v[0].code);

    (void)m;
    if (c->ways != NULL && o.status >= 400 && was_refused(c, &o) && go_elsewhere(c))
        return;
    count(c->t, &o);
    c->fresh = o.status == 201;
    r->ans.wraps = c->passes_on;
    o.detail = detail_of(&c->v[0], &o);
    if (o.problem == API_WAIT_TOO_LONG || (o.status >= 400 && c->v[0].too_long_ms > 0))
        api_problem_later(&r->ans, o.problem, o.detail, c->v[0].too_long_ms, router_request_id(r));
    else
        (void)!call_failed(c, &o);
    r->ans.wraps = false;
    if (o.status >= 400)
        return;
    if (left_before(c) || !c->looks || c->req == NULL || !look(c))
        answer(c, NULL);
}

/* The body and the Idempotency-Key of one. raw: memory for the members of one that is no JSON. False: that has
 * been answered. */
static bool read_one(struct tasking *t, const struct task_asked *x, uint64_t members,
                     struct task_body *b, struct buf *raw)
{
    struct body_error e;

    if (is_raw_body(x->q) ? !raw_body_read(b, raw, x->q, &e) : !task_body_whole(b, x->q->body, members, &e)) {
        router_problem(t->r, x->req, e.too_large ? API_PAYLOAD_TOO_LARGE : API_BAD_REQUEST, e.text);
        return false;
    }
    if (x->q->idempotency_key.p == NULL)
        return true;
    if (x->q->idempotency_key.n > TASK_IDEM_MAX || !task_text_ok(x->q->idempotency_key) ||
        b->idempotency_key.n > 0) {
        router_problem(t->r, x->req, API_BAD_REQUEST,
                       "Idempotency-Key must be 1 to 128 visible ASCII characters, once");
        return false;
    }
    b->idempotency_key = x->q->idempotency_key;
    return true;
}

enum { PASSES_ON = 1, MAY_LEAVE = 2, WHOLE = 4, WAITS_ON = 8 }; /* members of struct task_call */

struct how {
    unsigned bits;
    uint8_t progress;
};

/* w: of the queue; NULL: none is known. wait_ms -1: how it is then is not asked. */
static void ask_one(struct tasking *t, const struct task_asked *x, const struct task_way *w,
                    const struct task_body *b, struct slice bytes, size_t room, msec_t wait_ms, struct how how)
{
    struct slice queue = x->path.queue;
    struct task_call *c = call_new(t, x->req, 1, room + queue.n + SUBMIT_ROOM + ways_room(&x->ways), 0, submitted);

    if (c == NULL)
        return;
    c->wait_ms = ms_min(ms_max(wait_ms, 0), TASK_WAIT_MAX_MS); /* once it is written */
    c->passes_on = (how.bits & PASSES_ON) != 0;
    c->may_leave = (how.bits & MAY_LEAVE) != 0;
    c->whole_only = (how.bits & WHOLE) != 0;
    c->progress = how.progress;
    c->until = (how.bits & WAITS_ON) != 0 ? ev_now(t->r->ev) + wait_ms : 0;
    c->looks = wait_ms > 0 || (wait_ms == 0 && !c->passes_on);
    c->queue = (struct slice){ call_text(c, queue), queue.n };
    goes_by(c, w);
    if (!x->q->in_pieces) /* whose body is at one node */
        keep_ways(c, &x->ways);
    if (!put_row(&c->v[0], b, bytes)) {
        httpd_set_user(x->req, NULL);
        call_drop(c);
        router_problem(t->r, x->req, API_OVERLOADED, "the router is overloaded; try again");
        return;
    }
    if (c->ways != NULL)
        c->v[0].put.may_wait_ms = may_wait(x->ways.max_wait_ms[0], c->ways->n);
    c->v[0].put.read = c->looks && !c->whole_only && passing_may(c);
    if (x->q->in_pieces)
        upload_start(c, x);
    else
        call_begin(c);
}

static void submit(struct tasking *t, const struct task_asked *x, struct task_body *b)
{
    /* Text of a claim, shorter than the claim in the body. */
    size_t room = x->q->body.n + x->q->query.n + x->q->idempotency_key.n + CALLBACK_MORE + TENANT_ROOM + REPLY_TYPE_MAX;
    const struct task_way *w = pools_of_queue(&t->pools, x->path.queue.p, x->path.queue.n);
    struct slice bytes;
    enum api_problem p;
    struct body_error e;
    struct tenant_texts texts;
    const char *why = tenant_bind(x->tenant, b, &texts);

    if (why != NULL) {
        router_problem(t->r, x->req, API_NOT_ELIGIBLE, why);
        return;
    }
    why = chain_pack(&(struct chain_ask){ t, x->opens, x->tenant }, b, &p, &e);
    if (why == NULL)
        why = submit_unfit(t, w, b, &bytes, &p, &e);
    if (why == NULL)
        why = submit_cost(w, x->tenant, b, bytes, &p);
    if (why == NULL && b->offer_to.n > 0)
        why = offer_wrong(&(struct offer_ask){ t, x->opens, x->path.queue, w }, b->offer_to, &p);
    if (why != NULL)
        router_problem(t->r, x->req, p, why);
    else
        ask_one(t, x, w, b, bytes, room, wait_preferred(x->q, -1), (struct how){ 0 });
}

/* A caller who has a name for it, or said that he asks later, comes back. */
static bool will_come_back(const struct http_req *q)
{
    return q->idempotency_key.n > 0 || prefers_async(q);
}

static bool is_tenant(const struct task_asked *x)
{
    return x->tenant != NULL && x->tenant->key[0] != '\0';
}

static const char *cost_of_request(const struct task_way *w, const struct task_asked *x, int64_t *cost,
                                   enum api_problem *p)
{
    const char *why = call_cost(w, x->tenant, task_body_seen(x->q), task_body_length(x->q), cost);

    if (why != NULL)
        *p = tenant_bears(x->tenant, *cost) ? API_BAD_REQUEST : API_NOT_ELIGIBLE;
    return why;
}

void submit_request(struct tasking *t, const struct task_asked *x, bool ours)
{
    const struct task_way *w = pools_of_queue(&t->pools, x->path.queue.p, x->path.queue.n);
    struct task_body b = { 0 };
    enum api_problem p = API_BAD_REQUEST;
    msec_t wait_ms = wait_preferred(x->q, t->r->cfg->call_wait);
    struct body_error e;
    struct tenant_texts texts;
    struct how how = { PASSES_ON, PROGRESS_NONE };
    unsigned drops = ours ? CALLBACK_NO_AUTH : 0;
    const char *why;

    buf_reset(&t->form);
    if (is_tenant(x)) {
        drops |= CALLBACK_NO_IDEM;
        if (!x->q->prefers) {
            wait_ms = (msec_t)x->tenant->wait_s * 1000;
            how.bits |= WAITS_ON;
        }
    }
    if (wait_ms > 0 && !will_come_back(x->q))
        how.bits |= MAY_LEAVE;
    if (prefers_whole(x->q))
        how.bits |= WHOLE;
    if (x->q->idempotency_key.n > TASK_IDEM_MAX ||
        (x->q->idempotency_key.n > 0 && !task_text_ok(x->q->idempotency_key)))
        why = "Idempotency-Key must be 1 to 128 visible ASCII characters";
    else
        why = callback_of_request(&t->form, x->q, x->path.path, drops, &e)
                  ? submit_size_wrong(t, w, x->q->in_pieces ? x->q->length : x->q->body.n, t->form.len, &p) : e.text;
    if (why == NULL) {
        p = API_BAD_REQUEST;
        why = call_cost_named(x->q, &b.cost);
    }
    if (why == NULL)
        why = progress_of(x->q, &how.progress);
    if (why != NULL) {
        router_problem(t->r, x->req, p, why);
        return;
    }
    b.idempotency_key = x->q->idempotency_key;
    p = API_NOT_ELIGIBLE;
    why = tenant_bind(x->tenant, &b, &texts);
    if (why == NULL)
        why = cost_of_request(w, x, &b.cost, &p);
    if (why != NULL) {
        router_problem(t->r, x->req, p, why);
        return;
    }
    t->counts.routed += x->ways.n > 0;
    ask_one(t, x, w, &b, (struct slice){ (char *)t->form.data, t->form.len },
            t->form.len + b.idempotency_key.n + TENANT_ROOM, wait_ms, how);
}

void submit_start(struct tasking *t, const struct task_asked *x)
{
    struct task_body b;
    struct buf raw;

    buf_init(&raw);
    if (x->q->body.n == 0)
        router_problem(t->r, x->req, API_BAD_REQUEST,
                       "the body is missing: a JSON object, {} for a task without a payload");
    else if (read_one(t, x, SUBMIT_MEMBERS, &b, &raw))
        submit(t, x, &b);
    buf_fini(&raw);
}

bool submit_by_claim(struct tasking *t, const struct task_asked *x)
{
    struct router *r = t->r;
    struct task_claim c;
    struct task_body b;
    const char *why;
    int rc;

    if (is_raw_body(x->q))
        return false;
    if (!read_one(t, x, (SUBMIT_MEMBERS & ~CALL_MEMBERS) | WITH(CLAIM), &b, NULL))
        return true;
    if ((b.has & WITH(CLAIM)) == 0)
        return false;
    rc = task_claim_check(&c, b.claim, r->claims.key, r->claims.n, x->path.queue,
                          r->cfg->claim_max_ttl / 1000, router_wall_s(), &why);
    if (rc == 0)
        why = task_claim_bind(&c, &b);
    r->counts.claims += rc == 0 && why == NULL;
    r->counts.claims_refused += rc != 0 || why != NULL;
    if (rc == SQ_ENOMEM)
        router_problem(r, x->req, API_QUEUE_UNAVAILABLE, "this router is out of memory; try again");
    else if (why != NULL)
        router_problem(r, x->req, API_NOT_ELIGIBLE, why);
    else
        submit(t, x, &b);
    return true;
}

/* ---- many -------------------------------------------------------------------------------- */

static void all_submitted(struct task_call *c, const struct msg *m)
{
    struct router *r = c->t->r;

    (void)m;
    task_list_begin(&r->ans);
    for (uint32_t i = 0; i < c->n; i++) {
        const struct ask *a = &c->v[i];
        struct task_outcome o = task_put_outcome(a->code);
        struct task_name name;

        if (a->why != NULL) {
            task_list_problem(&r->ans, (enum api_problem)a->problem, a->why, 0);
            continue;
        }
        count(c->t, &o);
        if (o.status >= 400) {
            task_list_problem(&r->ans, o.problem, detail_of(a, &o), a->too_long_ms);
            continue;
        }
        name = row_name(a, a->no);
        task_list_put(&r->ans, o.status, &name, a->state);
    }
    task_list_end(&r->ans);
}

static void read_row(struct ask *a, struct slice text)
{
    struct task_call *c = a->call;
    struct slice bytes;
    enum api_problem p;
    struct task_body b;
    struct body_error e;
    struct tenant_texts texts;
    const char *why;

    if (!task_body_whole(&b, text, SUBMIT_MEMBERS, &e)) {
        row_refuse(a, e.too_large ? API_PAYLOAD_TOO_LARGE : API_BAD_REQUEST, e.text);
        return;
    }
    why = tenant_bind(c->tenant, &b, &texts);
    if (why != NULL) {
        row_refuse(a, API_NOT_ELIGIBLE, why);
        return;
    }
    why = chain_pack(&(struct chain_ask){ c->t, c->opens, c->tenant }, &b, &p, &e);
    if (why == NULL)
        why = submit_unfit(c->t, c->way, &b, &bytes, &p, &e);
    if (why == NULL)
        why = submit_cost(c->way, c->tenant, &b, bytes, &p);
    if (why == NULL && b.offer_to.n > 0)
        why = offer_wrong(&(struct offer_ask){ c->t, c->opens, c->queue, c->way }, b.offer_to, &p);
    if (why != NULL)
        row_refuse(a, p, why);
    else if (!put_row(a, &b, bytes))
        row_refuse(a, API_OVERLOADED, "the router is overloaded; try again");
}

void submit_batch(struct tasking *t, const struct task_asked *x)
{
    struct task_call *c = call_of_rows(t, x, x->opens, read_row, all_submitted);

    if (c != NULL)
        call_begin(c);
}

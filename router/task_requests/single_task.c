/* See single_task.h. */
#include "router/task_requests/single_task.h"

#include <assert.h>
#include <string.h>

#include "common/task/call.h"
#include "router/state/router.h"
#include "router/task_api/look.h"
#include "router/task_api/path.h"
#include "router/task_requests/ask.h"
#include "router/task_requests/passing.h"
#include "router/task_requests/pieces.h"

#define FIRST_N 100 /* tasks without ?limit= */
#define ROOM (4 + LABELS_TEXT_MAX) /* ends of its texts; labels */

/* Answers about a task that was named by the caller: a missing one was perhaps never there. */
static struct task_outcome outcome_of(const struct ask *a)
{
    struct task_outcome o = task_token_outcome(a->code);

    if (a->code == CODE_UNKNOWN && a->queue.n > 0) {
        o.problem = API_TASK_UNKNOWN;
        o.status = api_problem_status(o.problem);
        o.detail = "no task of this name is in the queue";
    }
    return o;
}

/* By its token, or by queue and name; the partition's number is found then. */
static struct task_call *new_call(struct tasking *t, const struct task_asked *x, size_t bytes,
                                  msec_t wait_ms, call_done done)
{
    struct task_call *c = call_new(t, x->req, 1, x->path.queue.n + x->path.name.n + ROOM + bytes, wait_ms, done);

    if (c == NULL)
        return NULL;
    c->what = (uint8_t)x->path.op;
    c->v[0].part = x->id.part;
    c->v[0].repeats = true;
    if (x->path.queue.n > 0)
        c->queue = (struct slice){ call_text(c, x->path.queue), x->path.queue.n };
    c->v[0].queue = c->queue;
    return c;
}

/* ---- looking ----------------------------------------------------------------------------- */

/* Notes that its result has been read: it is kept for a shorter time. */
static void mark_read(struct tasking *t, part_no part, task_no no)
{
    struct msg_task_change m = { .verb = CHANGE_READ, .no = no };

    (void)ask_change(t, part, &m); /* else it is kept for as long as the others */
}

/* Or no more. */
static void discard(struct tasking *t, part_no part, task_no no)
{
    struct msg_task_change m = { .verb = CHANGE_DISCARD, .no = no };

    (void)ask_change(t, part, &m);
}

static void nobody_cares(struct tasking *t, part_no part, task_no no)
{
    (void)t;
    (void)part;
    (void)no;
}

/* Answers with its bytes alone, with the rest behind those that are here. */
static void give_result(struct task_call *c, const struct msg_task_get_ans *m)
{
    struct tasking *t = c->t;
    part_no part = c->v[0].part;
    struct passed_from from = ask_from(&c->v[0]);
    struct msg_task_get_ans g = *m;
    struct task_name name = row_name(&c->v[0], g.no);
    whole_done read = g.state != TASK_SUCCEEDED || c->req == NULL || !c->reads ? nobody_cares
                      : c->frees                                  ? discard
                                                                  : mark_read;
    struct whole *w;

    if (whole_is_crowded(t, part, &g)) {
        t->counts.wholes_crowded++;
        api_problem(&t->r->ans, API_OVERLOADED, "too many long results are being read; ask again",
                    router_request_id(t->r));
        return;
    }
    w = whole_new(c, part, &g);
    g.result_whole = w != NULL;
    g.part = part;
    if (c->follows)
        task_answer_result_as_told(&t->r->ans, &name, &g, &from, router_request_id(t->r));
    else
        task_answer_result(&t->r->ans, &g, &from, router_request_id(t->r));
    if (w != NULL)
        whole_start(c, w, read);
    else if (!m->result_whole) /* a reader of a part may come for the rest */
        read(t, part, g.no);
}

static void looked(struct task_call *c, const struct msg *m)
{
    struct router *r = c->t->r;
    struct task_outcome o = outcome_of(&c->v[0]);
    const struct msg_task_get_ans *g;
    struct task_name name;

    if (call_failed(c, &o))
        return;
    if (m->type == MSG_TASK_PIECE) {
        name = row_name(&c->v[0], m->task_piece.no);
        passing_follow(c, &name, &m->task_piece, c->frees ? discard : mark_read);
        return;
    }
    assert(m->type == MSG_TASK_GET_ANS);
    g = &m->task_get_ans;
    c->t->counts.looked++;
    if (c->what == TASK_RESULT) {
        give_result(c, g);
        return;
    }
    name = row_name(&c->v[0], g->no);
    task_name_then(&name, g, &r->keys.token);
    task_answer_look(&r->ans, &name, g, ask_endpoint(&c->v[0]));
    wait_applied(&r->ans, c->wait_ms);
    answer_tag(&r->ans, c->known);
}

/* A follower waits until there is something to follow: the node needs a moment to see. */
static msec_t wait_of(const struct tasking *t, const struct task_asked *x)
{
    if (!x->path.follow)
        return wait_preferred(x->q, 0);
    return ms_max(x->path.wait_ms >= 0 ? x->path.wait_ms : wait_preferred(x->q, t->r->cfg->call_wait), 1);
}

void one_look(struct tasking *t, const struct task_asked *x)
{
    struct task_call *c = new_call(t, x, x->q->if_none_match.n, wait_of(t, x), looked);

    if (c == NULL)
        return;
    c->follows = x->path.follow && x->q->method == HTTP_GET;
    c->known = call_bytes(c, x->q->if_none_match);
    c->frees = x->path.ack && x->q->method == HTTP_GET;
    c->reads = x->q->method == HTTP_GET; /* a HEAD shows no byte of it */
    c->v[0].kind = ASK_GET;
    c->v[0].get = (struct msg_task_get){ .no = x->id.no, .queue = "", .name = "",
                                         .wait_ms = (uint32_t)c->wait_ms, .result = true };
    if (c->follows && httpd_may_pass(x->req))
        c->v[0].get.follow = WINDOW_BYTES;
    if (x->path.op == TASK_NAMED) {
        c->v[0].get.queue = c->queue.p;
        c->v[0].get.name = call_text(c, x->path.name);
    }
    call_begin(c);
}

/* A node of an older release knows no task without number and name. */
static struct task_outcome count_outcome(int code)
{
    if (code == CODE_UNKNOWN)
        return task_take_outcome(code);
    return task_token_outcome(code);
}

static void counted(struct task_call *c, const struct msg *m)
{
    struct task_outcome o = count_outcome(c->v[0].code);

    if (call_failed(c, &o))
        return;
    assert(m != NULL && m->type == MSG_TASK_GET_ANS);
    c->t->counts.looked++;
    task_answer_count(&c->t->r->ans, c->queue, &m->task_get_ans);
    answer_tag(&c->t->r->ans, c->known);
}

void one_count(struct tasking *t, const struct task_asked *x)
{
    struct task_call *c = new_call(t, x, x->q->if_none_match.n, 0, counted);

    if (c == NULL)
        return;
    c->known = call_bytes(c, x->q->if_none_match);
    c->v[0].kind = ASK_GET;
    c->v[0].get = (struct msg_task_get){ .queue = c->queue.p, .name = "" };
    call_begin(c);
}

static void first_listed(struct task_call *c, const struct msg *m)
{
    const struct ask *a = &c->v[0];
    struct task_outcome o = task_take_outcome(a->code);

    if (call_failed(c, &o))
        return;
    assert(m != NULL && m->type == MSG_TASK_FIRST_ANS);
    c->t->counts.looked++;
    task_answer_first(&c->t->r->ans, c->queue, &m->task_first_ans, a->part, &c->t->r->keys.token,
                      a->first.bodies);
}

void one_first(struct tasking *t, const struct task_asked *x)
{
    const struct task_way *w = pools_of_queue(&t->pools, x->path.queue.p, x->path.queue.n);
    struct task_call *c;

    if (x->path.payload && w != NULL && w->endpoint[0] != '\0') {
        router_problem(t->r, x->req, API_BAD_REQUEST, "payload=1: the tasks of this queue are calls");
        return;
    }
    c = new_call(t, x, 0, 0, first_listed);
    if (c == NULL)
        return;
    c->v[0].kind = ASK_FIRST;
    c->v[0].first = (struct msg_task_first){ .queue = c->queue.p, .most = x->path.limit != 0 ? x->path.limit : FIRST_N,
                                             .bodies = x->path.payload };
    call_begin(c);
}

/* ---- changing ---------------------------------------------------------------------------- */

/* True: cancelled already, or gone, is as good. */
static bool cancelled_before(struct task_call *c, const struct ask *a)
{
    struct task_name name = row_name(a, a->change.no);

    if (a->code != CODE_UNKNOWN || a->queue.n > 0)
        return false;
    c->t->r->ans.status = 204;
    if (c->req != NULL && httpd_is_marked(c->req)) /* callers of another API want its name */
        task_answer_changed(&c->t->r->ans, &name, TASK_CANCELLED, false, false);
    return true;
}

static void changed(struct task_call *c, const struct msg *m)
{
    struct router *r = c->t->r;
    const struct ask *a = &c->v[0];
    bool cancels = c->what != TASK_PATCH;
    struct task_outcome o = outcome_of(a);
    struct task_name name;

    (void)m;
    if (cancels && cancelled_before(c, a))
        return;
    if (cancels && a->code == CODE_CONFLICT) {
        o = (struct task_outcome){ .status = 200 };
        if (a->state != TASK_CANCELLED)
            o = (struct task_outcome){ api_problem_status(API_TASK_FINAL), API_TASK_FINAL,
                                       "the task is over already" };
    }
    if (call_failed(c, &o))
        return;
    c->t->counts.changed++;
    name = row_name(a, a->no != 0 ? a->no : a->change.no);
    task_answer_changed(&r->ans, &name, a->state, cancels && a->state == TASK_RUNNING,
                        a->maybe_executed);
}

#define PATCH_MEMBERS (WITH(ORDER) | WITH(DELAY) | WITH(AT) | WITH(PRIORITY) | WITH(LABELS))

/* Reads the body of a PATCH. NULL, or a sentence: nothing that can be done. */
static const char *patch_of(struct task_patch *m, const struct task_body *b)
{
    if (b->has == 0)
        return "one of order, delay, at, priority and labels must be there";
    if ((b->has & WITH(DELAY)) != 0 && (b->has & WITH(AT)) != 0)
        return "delay and at exclude each other";
    *m = (struct task_patch){ .order = b->order, .delay_ms = b->delay, .at_ms = b->at,
                              .priority = (uint8_t)b->priority };
    m->has = ((b->has & WITH(ORDER)) != 0 ? PATCH_ORDER : 0) |
             ((b->has & (WITH(DELAY) | WITH(AT))) != 0 ? PATCH_WHEN : 0) |
             ((b->has & WITH(PRIORITY)) != 0 ? PATCH_PRIORITY : 0) |
             ((b->has & WITH(LABELS)) != 0 ? PATCH_LABELS : 0);
    return NULL;
}

/* Reads the change. NULL, or a sentence: nothing that can be done. */
static const char *change_of(struct msg_task_change *m, struct task_body *b,
                             const struct task_asked *x, struct body_error *e)
{
    struct slice match;

    if (http_find(x->q, "if-match", &match) > 0 && !(match.n == 1 && match.p[0] == '*'))
        return "If-Match must be *: a task's ETag changes with its place, without anybody's doing";
    m->force = x->path.force;
    if (x->path.op != TASK_PATCH)
        return NULL;
    return task_body_whole(b, x->q->body, PATCH_MEMBERS, e) ? patch_of(&m->patch, b) : e->text;
}

void one_change(struct tasking *t, const struct task_asked *x)
{
    struct msg_task_change m = { .verb = x->path.op == TASK_PATCH ? CHANGE_PATCH : CHANGE_CANCEL,
                                 .no = x->id.no, .queue = "", .name = "" };
    struct task_body b = { 0 };
    struct body_error e = { 0 };
    const char *why = change_of(&m, &b, x, &e);
    struct task_call *c;

    if (why != NULL) {
        router_problem(t->r, x->req, API_BAD_REQUEST, why);
        return;
    }
    c = new_call(t, x, x->opens.n, 0, changed);
    if (c == NULL)
        return;
    c->opens = call_bytes(c, x->opens);
    c->v[0].kind = ASK_CHANGE;
    c->v[0].change = m;
    c->v[0].change.patch.labels = call_text(c, b.labels);
    if (x->path.op == TASK_UNNAME) {
        c->v[0].change.queue = c->queue.p;
        c->v[0].change.name = call_text(c, x->path.name);
    }
    call_begin(c);
}

/* upload.c: see upload.h. */
#include "router/task_requests/upload.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/task/call.h"
#include "router/state/router.h"
#include "router/task_requests/ask.h"
#include "router/task_requests/submission.h"

struct upload {
    enum waiter waits;    /* WAITS_UPLOAD; httpd's user pointer, dispatch.c */
    struct list_node in;  /* tasking.uploads */
    struct tasking *t;    /* ref */
    struct httpd_req *req; /* ref; NULL: its client has gone */
    struct task_call *c;  /* owned: not begun */
    part_no part;         /* 0: nothing was asked yet */
    uint64_t whose;       /* server_token_id() */
    uint64_t id, length;  /* length: as announced; 0: it is chunked */
    uint64_t at;          /* bytes that the node has */
    msec_t began;
    struct buf piece;     /* bytes behind them; */
    size_t gone;          /* the first of these have got there, too */
    bool last;            /* `piece` has the body's end */
    bool asks;
};

uint64_t upload_most(const struct task_way *w)
{
    return w == NULL || w->max_body == 0 ? TASK_BODY_MAX : w->max_body;
}

static void forget(struct upload *u)
{
    list_remove(&u->t->uploads, &u->in);
    buf_fini(&u->piece);
    free(u);
}

static void nothing(struct task_call *c, const struct msg *m)
{
    (void)c;
    (void)m;
}

/* The node forgets what it has. Where that does not get to, its link's end does it. */
static void take_back(const struct upload *u)
{
    struct task_call *c = u->part != 0 ? call_new(u->t, NULL, 1, 0, 0, nothing) : NULL;

    if (c == NULL)
        return;
    c->v[0].kind = ASK_UPLOAD;
    c->v[0].part = u->part;
    c->v[0].upload = (struct msg_task_upload){ .upload = u->id, .left = true };
    call_begin(c);
}

static void give_up(struct upload *u)
{
    u->t->counts.uploads_given_up++;
    take_back(u);
    call_drop(u->c);
    forget(u);
}

static void refuse(struct upload *u, enum api_problem p, const char *why)
{
    struct router *r = u->t->r;

    r->ans.wraps = u->c->passes_on;
    router_problem(r, u->req, p, why);
    r->ans.wraps = false;
    give_up(u);
}

/* here: the node's word, not that of the way to it. */
static void refuse_by(struct upload *u, int code, bool here)
{
    struct task_outcome o;

    if (code == CODE_INVALID) {
        refuse(u, API_PAYLOAD_TOO_LARGE, "in this queue a body has at most 262144 bytes: its task node keeps no larger "
               "ones (store: redis, large_bodies_max_bytes: 0), or its endpoint signs its calls");
    } else if (code >= CODE_FULL && code < TASK_NCODES) {
        refuse(u, API_QUEUE_FULL, "its task node has no room for this body (large_bodies_max_bytes, or its disk): "
               "try again later");
    } else if (here && code == CODE_UNKNOWN) {
        refuse(u, API_QUEUE_UNAVAILABLE, "the task node that had the begin of this body has gone; nothing was "
               "submitted: send it again");
    } else {
        o = task_put_outcome(code);
        refuse(u, o.status >= 400 ? o.problem : API_QUEUE_UNAVAILABLE,
               o.status >= 400 ? o.detail : "the task node cannot take this body now");
    }
}

static void submit(struct upload *u, const struct bytes_of *sha256)
{
    struct task_call *c = u->c;
    struct task_put *put = &c->v[0].put;
    struct slice form = { (char *)(uintptr_t)put->body.p, put->body.n }; /* in the call's own memory */
    struct call_file f = { .length = u->at, .upload = u->id };
    msec_t now = ev_now(u->t->r->ev);

    memcpy(f.sha256, sha256->p, sizeof(f.sha256));
    call_pack_file_end((uint8_t *)form.p, form.n, &f);
    if (c->v[0].repeats)
        put->digest = submit_digest_of_call(form);
    c->deadline = now + TASK_ASK_MS;
    c->until += c->until != 0 ? now - u->began : 0;
    u->t->counts.uploads++;
    u->t->counts.upload_bytes += u->at;
    httpd_set_user(u->req, c);
    forget(u);
    call_begin(c);
}

static void ask(struct upload *u);

static void heard(struct task_call *c, const struct msg *m)
{
    struct upload *u = c->upload;
    const struct msg_task_upload *q = &c->v[0].upload;
    int code = c->v[0].code;

    u->asks = false;
    u->part = c->v[0].part;
    if (u->req == NULL) {
        give_up(u);
        return;
    }
    if (code != CODE_DONE || m == NULL || (q->last && m->task_upload_ans.sha256.n != RESULT_SHA256)) {
        refuse_by(u, code, m != NULL);
        return;
    }
    u->at += q->data.n;
    u->gone += q->data.n;
    if (q->last)
        submit(u, &m->task_upload_ans.sha256);
    else if (u->gone < u->piece.len || u->last)
        ask(u);
    else
        httpd_more(u->req);
}

static void ask(struct upload *u)
{
    struct task_call *c = call_new(u->t, NULL, 1, 0, 0, heard);
    size_t left = u->piece.len - u->gone, n = u64_min(left, TASK_UPLOAD_MAX);

    if (c == NULL) {
        refuse(u, API_OVERLOADED, "the router is overloaded; try again");
        return;
    }
    u->asks = true;
    c->upload = u;
    c->v[0].kind = ASK_UPLOAD;
    c->v[0].queue = u->c->queue;
    c->v[0].upload = (struct msg_task_upload){ .upload = u->id, .at = u->at, .length = u->length,
                                               .data = { (uint32_t)n, u->piece.data + u->gone },
                                               .last = u->last && n == left };
    call_begin(c);
}

/* Too long, or malformed: none follows. */
static void broken(struct upload *u, size_t status)
{
    char why[120];

    snprintf(why, sizeof(why), "the body is larger than its pool allows: at most %llu bytes (max_body)",
             (unsigned long long)upload_most(pools_of_queue(&u->t->pools, u->c->queue.p, u->c->queue.n)));
    refuse(u, status == 413 ? API_PAYLOAD_TOO_LARGE : API_BAD_REQUEST, status == 413 ? why : "malformed chunk");
}

void upload_piece(void *user, const char *p, size_t n, bool last)
{
    struct upload *u = user;

    assert(!u->asks && !u->last);
    if (p == NULL) {
        broken(u, n);
        return;
    }
    buf_reset(&u->piece);
    u->gone = 0;
    buf_append(&u->piece, p, n);
    u->last = last;
    if (u->piece.failed)
        refuse(u, API_OVERLOADED, "the router is out of memory; try again");
    else
        ask(u);
}

static unsigned uploads_of(const struct tasking *t, uint64_t whose)
{
    unsigned n = 0;

    list_each_of (&t->uploads, struct upload, in, u)
        n += u->whose == whose;
    return n;
}

void upload_start(struct task_call *c, const struct task_asked *x)
{
    struct tasking *t = c->t;
    uint64_t whose = x->tenant != NULL ? server_token_id(x->tenant) : 0;
    bool room = uploads_of(t, whose) < UPLOADS_MOST - t->uploads.n;
    struct upload *u = room ? calloc(1, sizeof(*u)) : NULL;

    if (u == NULL) {
        router_problem(t->r, c->req, API_OVERLOADED, room ? "the router is out of memory; try again" :
                       "too many large bodies with this token are on their way to this router; try again");
        call_drop(c);
        return;
    }
    *u = (struct upload){ .waits = WAITS_UPLOAD, .t = t, .req = c->req, .c = c, .whose = whose,
                          .id = ++t->last_upload, .length = x->q->length, .began = ev_now(t->r->ev) };
    buf_init(&u->piece);
    list_push_back(&t->uploads, &u->in);
    c->deadline = MSEC_NEVER; /* until it begins */
    c->way = NULL;
    httpd_set_user(u->req, u);
    upload_piece(u, x->q->body.p, x->q->body.n, false);
}

void upload_gone(void *user)
{
    struct upload *u = user;

    u->req = NULL;
    if (!u->asks)
        give_up(u);
}

void uploads_free(struct tasking *t)
{
    list_each_of (&t->uploads, struct upload, in, u)
        forget(u);
}

/* pieces.c: see pieces.h. */
#include "router/task_requests/pieces.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/task/call.h"
#include "common/task/sha256.h"
#include "router/state/router.h"
#include "router/task_requests/ask.h"
#include "router/task_requests/submission.h"

#define LOG_MODULE "whole"

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

/* ---- long answer -------------------------------------------------------------------------- */

struct whole {
    struct list_node in;       /* tasking.wholes */
    struct list_node in_taken; /* tasking.taken: the next piece is wanted */
    struct tasking *t;         /* ref */
    struct httpd_req *req;     /* ref: the answer that is open; NULL: its client has gone */
    whole_done done;
    part_no part;
    task_no no;
    uint64_t at, length; /* bytes that were sent, of so many */
    uint8_t sha256[RESULT_SHA256];
    struct sha256 hash; /* hash of the bytes that were sent */
    msec_t deadline;
    msec_t away; /* moment since when its node gives no piece; 0: it does */
    bool asks;   /* a piece is on its way */
    bool again;  /* and is asked for again with the next tick */
    bool broken; /* connection ends */
};

static bool is_longer(const struct msg_task_get_ans *m)
{
    return m->result_whole && m->result_length > m->result.n && m->result.n > 0 &&
           m->result_sha256.n == RESULT_SHA256;
}

static unsigned readers_of(const struct tasking *t, part_no part, task_no no)
{
    unsigned n = 0;

    list_each_of (&t->wholes, struct whole, in, w)
        n += w->part == part && w->no == no;
    return n;
}

bool whole_is_crowded(const struct tasking *t, part_no part, const struct msg_task_get_ans *m)
{
    return is_longer(m) && (t->wholes.n >= WHOLES_MOST ||
                            readers_of(t, part, m->no) >= WHOLES_OF_ONE);
}

static void long_answer_forget(struct whole *w)
{
    list_remove(&w->t->wholes, &w->in);
    if (list_linked(&w->in_taken))
        list_remove(&w->t->taken, &w->in_taken);
    sha256_drop(&w->hash);
    free(w);
}

struct whole *whole_new(struct task_call *c, part_no part, const struct msg_task_get_ans *m)
{
    struct tasking *t = c->t;
    struct whole *w;

    if (!is_longer(m) || c->req == NULL || c->ends != NULL ||
        httpd_is_marked(c->req) || !httpd_may_open_sized(c->req) ||
        (w = calloc(1, sizeof(*w))) == NULL)
        return NULL;
    *w = (struct whole){ .t = t, .part = part, .no = m->no, .length = m->result_length };
    if (!sha256_begin(&w->hash)) {
        free(w);
        return NULL;
    }
    memcpy(w->sha256, m->result_sha256.p, sizeof(w->sha256));
    w->deadline = ev_now(t->r->ev) + WHOLE_GRACE_MS +
                  (msec_t)(w->length / WHOLE_SLOWEST * 1000);
    list_push_back(&t->wholes, &w->in);
    return w;
}

void whole_start(struct task_call *c, struct whole *w, whole_done done)
{
    const struct buf *first = &c->t->r->ans.body;

    assert(c->req != NULL && first->len < w->length);
    w->done = done;
    w->at = first->len;
    sha256_add(&w->hash, first->data, first->len);
    w->req = c->req;
    c->req = NULL;
    c->silent = true;
    c->t->counts.wholes++;
    httpd_set_user(w->req, w);
    if (!router_answer_begin(c->t->r, w->req, w->length))
        long_answer_forget(w); /* answered already */
}

/* on_gone follows, which frees it. */
static void breaks(struct whole *w, const char *why)
{
    if (w->broken)
        return;
    w->broken = true;
    w->t->counts.wholes_broken++;
    log_info("event=answer_broken task=%" PRIu32 "-%" PRIu64 " sent=%" PRIu64 " of=%" PRIu64
             " why=\"%s\"", w->part, w->no, w->at, w->length, why);
    httpd_abort(w->req);
}

/* ---- pieces ----------------------------------------------------------------------------- */

static bool is_right(struct whole *w)
{
    uint8_t is[RESULT_SHA256];

    sha256_end(&w->hash, is);
    return memcmp(is, w->sha256, sizeof(is)) == 0;
}

static void send_on(struct whole *w, const struct bytes_of *piece)
{
    w->away = 0;
    sha256_add(&w->hash, piece->p, piece->n);
    w->at += piece->n;
    if (w->at == w->length && !is_right(w)) {
        breaks(w, "SHA-256 of the stored answer does not match");
        return;
    }
    httpd_send(w->req, (const char *)piece->p, piece->n);
    if (w->at < w->length)
        return;
    httpd_end(w->req);
    if (w->done != NULL)
        w->done(w->t, w->part, w->no);
    long_answer_forget(w);
}

/* A node that is started again has it still. */
static void put_off(struct whole *w)
{
    msec_t now = ev_now(w->t->r->ev);

    if (w->away == 0)
        w->away = now;
    if (now - w->away < TASK_ASK_MS)
        w->again = true;
    else
        breaks(w, "the task node is away");
}

static void long_answer_heard(struct task_call *c, const struct msg *m)
{
    struct whole *w = c->whole;
    const struct bytes_of *piece = m != NULL ? &m->task_read_ans.data : NULL;

    w->asks = false;
    if (w->req == NULL)
        long_answer_forget(w);
    else if (w->broken)
        return;
    else if (c->v[0].code == CODE_UNKNOWN)
        breaks(w, "the answer is not kept any more");
    else if (c->v[0].code == CODE_DONE && piece != NULL && piece->n > 0 &&
             piece->n <= w->length - w->at)
        send_on(w, piece);
    else
        put_off(w);
}

static void long_answer_ask(struct whole *w)
{
    struct task_call *c = call_new(w->t, NULL, 1, 0, 0, long_answer_heard);

    if (c == NULL) {
        breaks(w, "the router is overloaded");
        return;
    }
    w->asks = true;
    w->again = false;
    c->whole = w;
    c->v[0].kind = ASK_READ;
    c->v[0].repeats = true;
    c->v[0].part = w->part;
    c->v[0].read = (struct msg_task_read){ .no = w->no, .sha256 = { RESULT_SHA256, w->sha256 },
                                           .at = w->at, .most = TASK_READ_MAX };
    call_begin(c);
}

static void run_taken(void *arg)
{
    struct tasking *t = arg;

    while (t->taken.n > 0) {
        struct whole *w = container_of(list_first(&t->taken), struct whole, in_taken);

        list_remove(&t->taken, &w->in_taken);
        if (!w->broken && !w->asks)
            long_answer_ask(w);
    }
}

/* ---- the client ------------------------------------------------------------------------- */

void whole_taken(void *user)
{
    struct whole *w = user;
    struct tasking *t = w->t;

    if (w->broken || list_linked(&w->in_taken))
        return;
    list_push_back(&t->taken, &w->in_taken);
    if (t->taken.n == 1)
        ev_post(t->r->ev, run_taken, t);
}

void whole_gone(void *user)
{
    struct whole *w = user;

    w->req = NULL;
    if (list_linked(&w->in_taken))
        list_remove(&w->t->taken, &w->in_taken);
    if (!w->asks)
        long_answer_forget(w);
}

void wholes_tick(struct tasking *t)
{
    msec_t now = ev_now(t->r->ev);

    list_each_of (&t->wholes, struct whole, in, w)
        if (w->req != NULL && w->deadline <= now)
            breaks(w, "the client is too slow");
        else if (w->again && w->req != NULL && !w->broken)
            long_answer_ask(w);
}

void wholes_free(struct tasking *t)
{
    list_each_of (&t->wholes, struct whole, in, w)
        long_answer_forget(w);
}

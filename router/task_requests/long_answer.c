/* long_answer.c: see long_answer.h. */
#include "router/task_requests/long_answer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/task/sha256.h"
#include "router/state/router.h"
#include "router/task_requests/ask.h"

#define LOG_MODULE "whole"

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

static void forget(struct whole *w)
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
        forget(w); /* answered already */
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
    forget(w);
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

static void heard(struct task_call *c, const struct msg *m)
{
    struct whole *w = c->whole;
    const struct bytes_of *piece = m != NULL ? &m->task_read_ans.data : NULL;

    w->asks = false;
    if (w->req == NULL)
        forget(w);
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

static void ask(struct whole *w)
{
    struct task_call *c = call_new(w->t, NULL, 1, 0, 0, heard);

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
            ask(w);
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
        forget(w);
}

void wholes_tick(struct tasking *t)
{
    msec_t now = ev_now(t->r->ev);

    list_each_of (&t->wholes, struct whole, in, w)
        if (w->req != NULL && w->deadline <= now)
            breaks(w, "the client is too slow");
        else if (w->again && w->req != NULL && !w->broken)
            ask(w);
}

void wholes_free(struct tasking *t)
{
    list_each_of (&t->wholes, struct whole, in, w)
        forget(w);
}

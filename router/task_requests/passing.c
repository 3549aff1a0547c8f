/* passing.c: see passing.h. */
#include "router/task_requests/passing.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/task/call.h"
#include "common/task/sha256.h"
#include "router/task_requests/progress.h"

#define LOG_MODULE "passing"
#define SLICE_MAX  65535u /* bytes that httpd_send() is given at once: all of a window */

struct following { /* check of what a reader along is told */
    struct sha256 hash; /* hash of the bytes that came */
    passing_done read;
    char last; /* byte that is held back */
    bool holds;
};

struct passing {
    enum waiter waits;         /* WAITS_PASSING; httpd's user pointer, dispatch.c */
    struct list_node in;       /* tasking.passings */
    struct list_node in_eased; /* tasking.eased: more may come */
    struct tasking *t;         /* ref */
    struct task_link *link;    /* ref; NULL: it is down, and the client is being dropped */
    struct httpd_req *req;     /* ref */
    uint64_t rid, call;
    part_no part;
    task_no no;
    struct window_in window;
    struct collected *collects; /* owned: it is said at its end, in an event; NULL: it is passed on */
    struct following *follows; /* owned; NULL: it is the caller's own answer */
    uint32_t more; /* in_eased: bytes that are to be asked for */
    bool broken;   /* the connection ends */
};

bool passing_may(const struct task_call *c)
{
    return c->passes_on && c->req != NULL && !httpd_is_marked(c->req) && httpd_may_pass(c->req);
}

static void say(struct task_link *l, uint64_t rid, const struct msg_task_flow *flow)
{
    struct msg m = { .type = MSG_TASK_FLOW, .task_flow = *flow };

    if (l != NULL && l->n.ch != NULL)
        (void)!rpc_send(l->n.ch, &m, rid); /* without memory it stands until the client is too slow */
}

void passing_refuse(struct task_link *l, uint64_t rid, const struct msg_task_piece *m)
{
    say(l, rid, &(struct msg_task_flow){ .call = m->call, .left = true });
}

static void following_free(struct following *f)
{
    if (f != NULL)
        sha256_drop(&f->hash);
    free(f);
}

static void forget(struct passing *p)
{
    list_remove(&p->t->passings, &p->in);
    if (list_linked(&p->in_eased))
        list_remove(&p->t->eased, &p->in_eased);
    if (p->link != NULL)
        map_del(&p->link->passings, p->rid);
    following_free(p->follows);
    collected_free(p->collects);
    free(p);
}

/* on_gone follows, which frees it. */
static void breaks(struct passing *p, const char *why)
{
    if (p->broken)
        return;
    p->broken = true;
    p->t->counts.passings_broken++;
    log_info("event=answer_interrupted task=%" PRIu32 "-%" PRIu64 " passed=%" PRIu64 " why=\"%s\"",
             p->part, p->no, p->window.heard, why);
    httpd_abort(p->req);
}

/* ---- pieces ------------------------------------------------------------------------------- */

/* All that came is taken. */
static void ease(struct passing *p)
{
    uint32_t more = window_taken(&p->window);

    if (more > 0)
        say(p->link, p->rid, &(struct msg_task_flow){ .call = p->call, .more = more });
}

/* Where the client sees the end by the length, it shall not before it is known to be right. How many bytes of
 * these wait. */
static uint32_t hold_back(struct passing *p, const uint8_t *data, uint32_t n)
{
    struct following *f = p->follows;

    sha256_add(&f->hash, data, n);
    f->holds = p->window.sized && p->window.heard == p->window.length;
    f->last = (char)data[n - 1];
    return f->holds;
}

static void send_on(struct passing *p, const struct msg_task_piece *m)
{
    uint32_t n = m->data.n;

    if (m->data.n == 0)
        return;
    if (!window_hear(&p->window, m->at, m->data.n)) {
        breaks(p, "its task node told other bytes than the next ones");
        return;
    }
    p->t->counts.passed_bytes += m->data.n;
    if (p->collects != NULL) {
        collected_add(p->collects, m->data.p, n);
        ease(p);
        return;
    }
    if (p->follows != NULL)
        n -= hold_back(p, m->data.p, m->data.n);
    for (uint32_t at = 0; at < n; at += SLICE_MAX)
        httpd_send(p->req, (const char *)m->data.p + at, u32_min(n - at, SLICE_MAX));
}

/* True: these are all bytes that its node has, and have that hash. */
static bool ends_well(struct passing *p, const struct msg_task_piece *m)
{
    uint8_t is[RESULT_SHA256];

    if (m->at != p->window.heard || !window_is_whole(&p->window))
        return false;
    if (p->follows == NULL)
        return true;
    sha256_end(&p->follows->hash, is);
    if (m->length != m->at || m->sha256.n != sizeof(is) || memcmp(m->sha256.p, is, sizeof(is)) != 0)
        return false;
    if (p->follows->holds)
        httpd_send(p->req, &p->follows->last, 1);
    return true;
}

/* The head is composed into r->ans. NULL: no memory. */
static struct passing *passing_new(struct task_call *c, const struct msg_task_piece *m)
{
    struct tasking *t = c->t;
    struct passing *p = calloc(1, sizeof(*p));

    if (p == NULL)
        return NULL;
    *p = (struct passing){ .waits = WAITS_PASSING, .t = t, .link = t->piece.link, .rid = t->piece.rid, .call = m->call,
                           .part = m->part, .no = m->no,
                           .window = window_in(WINDOW_BYTES, m->sized, m->length) };
    if (map_set_ptr(&p->link->passings, p->rid, p) < 0) {
        free(p);
        return NULL;
    }
    list_push_back(&t->passings, &p->in);
    return p;
}

static bool has_gone(const struct task_call *c)
{
    return c->req == NULL || httpd_is_closing(c->req);
}

/* r->ans is its head. */
static void start(struct task_call *c, struct passing *p, const struct msg_task_piece *m)
{
    struct router *r = c->t->r;

    p->req = c->req;
    c->req = NULL;
    c->silent = true;
    httpd_set_user(p->req, p);
    if (c->ends != NULL) {
        api_ans_reset(&r->ans);
    } else if (!router_answer_passing(r, p->req, m->sized ? m->length : HTTPD_UNSIZED)) {
        passing_refuse(p->link, p->rid, m);
        forget(p); /* answered already */
        return;
    }
    c->t->counts.passings++;
    send_on(p, m);
}

void passing_begin(struct task_call *c, const struct task_name *name, const struct msg_task_piece *m)
{
    struct router *r = c->t->r;
    struct passed_from from = ask_from(&c->v[0]);
    struct passing *p = has_gone(c) ? NULL : passing_new(c, m);

    if (p != NULL && c->ends != NULL && !progress_fits(m->status, m->content_type) &&
        (p->collects = collected_new(m->status, m->content_type)) == NULL) {
        forget(p);
        p = NULL;
    }
    if (p == NULL) {
        passing_refuse(c->t->piece.link, c->t->piece.rid, m);
        if (c->leaves)
            api_problem(&r->ans, API_ENDPOINT_FAILED, "the call was ended amid its answer: its client closed "
                        "the connection, or the router is out of memory", router_request_id(r));
        else
            task_answer_put(&r->ans, 202, name, c->queue, TASK_RUNNING);
        return;
    }
    task_answer_passing(&r->ans, name, m, &from);
    wait_applied(&r->ans, c->wait_ms);
    start(c, p, m);
}

void passing_follow(struct task_call *c, const struct task_name *name, const struct msg_task_piece *m,
                    passing_done read)
{
    struct passed_from from = ask_from(&c->v[0]);
    struct following *f = has_gone(c) ? NULL : calloc(1, sizeof(*f));
    struct passing *p = f != NULL && sha256_begin(&f->hash) ? passing_new(c, m) : NULL;

    if (p == NULL) {
        following_free(f);
        passing_refuse(c->t->piece.link, c->t->piece.rid, m);
        api_problem(&c->t->r->ans, API_OVERLOADED, "the router is out of memory; try again",
                    router_request_id(c->t->r));
        return;
    }
    f->read = read;
    p->follows = f;
    task_answer_followed(&c->t->r->ans, name, m, &from);
    c->t->counts.followings++;
    start(c, p, m);
}

void passing_hear(struct task_link *l, uint64_t rid, const struct msg_task_piece *m)
{
    struct passing *p = map_get_ptr(&l->passings, rid);

    if (p == NULL || p->broken)
        return; /* gone with its client, which the node hears */
    if (m->step == PIECE_MORE) {
        send_on(p, m);
    } else if (m->step == PIECE_WHOLE && ends_well(p, m)) {
        if (p->collects != NULL)
            collected_say(p->collects, p->req);
        httpd_end(p->req);
        if (p->follows != NULL && m->status != 0)
            p->follows->read(p->t, p->part, p->no);
        forget(p);
    } else {
        breaks(p, m->step == PIECE_BROKEN ? "the call ended amid it" : "its length, or its hash, is not what was said");
    }
}

void passings_lost(struct task_link *l)
{
    uint64_t rid, val;

    for (size_t i = 0; (i = map_next(&l->passings, i, &rid, &val)) != 0;) {
        struct passing *p = (struct passing *)(uintptr_t)val;

        p->link = NULL;
        breaks(p, "the link to its task node broke");
    }
    map_fini(&l->passings);
    map_init(&l->passings, 0);
}

/* ---- the client --------------------------------------------------------------------------- */

static void run_eased(void *arg)
{
    struct tasking *t = arg;

    while (t->eased.n > 0) {
        struct passing *p = container_of(list_first(&t->eased), struct passing, in_eased);

        list_remove(&t->eased, &p->in_eased);
        say(p->link, p->rid, &(struct msg_task_flow){ .call = p->call, .more = p->more });
    }
}

void passing_taken(void *user)
{
    struct passing *p = user;
    struct tasking *t = p->t;

    if (p->broken || list_linked(&p->in_eased))
        return;
    p->more = window_taken(&p->window); /* now: the client may not have taken what comes later */
    if (p->more == 0)
        return;
    list_push_back(&t->eased, &p->in_eased);
    if (t->eased.n == 1)
        ev_post(t->r->ev, run_eased, t);
}

void passing_gone(void *user)
{
    struct passing *p = user;

    say(p->link, p->rid, &(struct msg_task_flow){ .call = p->call, .left = true }); /* nothing, if it is over */
    p->t->counts.passings_left += !p->broken;
    forget(p);
}

void passings_free(struct tasking *t)
{
    list_each_of (&t->passings, struct passing, in, p)
        forget(p);
}

/* take_many.c: see take_many.h. */
#include "router/task_requests/take_many.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/task/rules.h"
#include "router/state/router.h"
#include "router/task_api/request_body.h"
#include "router/task_requests/ask.h"
#include "router/task_requests/tasking.h"

#define SOURCES_MAX (2 * TAKE_QUEUES_MAX)
#define ANSWERS_MAX (3 * SOURCES_MAX) /* two rounds, and the wait */
#define BYTES_MAX   TASK_BODY_MAX /* with so much no other queue is asked */
#define EARLY_MS    100
#define REFUSED_MS  1000 /* wait while a queue could not be asked: it may be there by then */
#define HELD_MS     1000 /* tasks are held for so long while others are asked: their leases run */

struct given { /* an answer that had tasks */
    part_no part;
    uint32_t n;
};

struct source { /* is asked */
    uint8_t queue;  /* index */
    part_no stray;  /* 0: that of the queue; else a partition with strays of it (tasking.h) */
};

struct take_many {
    struct take_body b;
    uint32_t n_from;
    struct source from[SOURCES_MAX];
    msec_t until;        /* the end of its wait */
    msec_t rounds_end;   /* moment after which no queue is asked that does not wait */
    uint32_t first, asked, left; /* the source with which a round begins; those asked in it; tasks wanted still */
    bool again;          /* the second round: of those that had more than their share */
    bool more[SOURCES_MAX];
    uint32_t heard;      /* questions that a node has answered */
    int refused;         /* the first one's code of those that none has */
    uint32_t n_given;
    struct given given[ANSWERS_MAX];
    struct buf rows;     /* struct taken_row, texts unset: to give back */
    struct buf tasks;    /* JSON */
};

static void many_free(struct take_many *m)
{
    buf_fini(&m->rows);
    buf_fini(&m->tasks);
    free(m);
}

static bool is_there(const struct task_call *c)
{
    return c->req != NULL && !httpd_is_closing(c->req);
}

/* The last ones first: each gets in front. */
static void give_all_back(struct tasking *t, const struct take_many *m)
{
    struct taken_row *end = (struct taken_row *)(void *)m->rows.data + m->rows.len / sizeof(*end);

    for (uint32_t i = m->n_given; i > 0; i--) {
        const struct given *g = &m->given[i - 1];

        end -= g->n;
        give_back(t, g->part, &(struct msg_task_take_ans){ .n = g->n, .v = end });
    }
}

/* Keeps a row's answer. */
static void keep(struct take_many *m, const struct ask *a, const struct msg *msg)
{
    const struct msg_task_take_ans *ans = a->code == CODE_DONE ? &msg->task_take_ans : NULL;
    struct slice queue = slice_of(a->take.queue);
    size_t before = m->rows.len;

    if (ans == NULL) {
        m->refused = m->refused == CODE_DONE ? a->code : m->refused;
        return;
    }
    m->heard++;
    if (ans->n == 0)
        return;
    buf_append(&m->rows, ans->v, ans->n * sizeof(ans->v[0]));
    if (m->rows.failed) { /* these are taken by nobody; those that are kept are the others */
        m->rows.failed = false;
        m->rows.len = before;
        give_back(a->call->t, a->part, ans);
        return;
    }
    m->given[m->n_given++] = (struct given){ a->part, ans->n };
    m->left -= u32_min(m->left, ans->n);
    task_add_taken(&m->tasks, ans, a->part, &a->call->t->r->keys.token, queue);
}

/* ---- the answer -------------------------------------------------------------------------- */

static void ask_again(struct tasking *t, const struct take_many *m, const struct source *s)
{
    const char *queue = m->b.queue[s->queue];

    if (s->stray != 0)
        strays_found(t, slice_of(queue), s->stray);
}

/* Strays that there was no room to ask for have their turn with the next take. */
static void leave_unasked(struct tasking *t, const struct take_many *m)
{
    for (uint32_t k = m->again ? m->n_from : m->asked; k < m->n_from; k++)
        ask_again(t, m, &m->from[(m->first + k) % m->n_from]);
}

static void compose(struct task_call *c)
{
    struct take_many *m = c->many;
    struct router *r = c->t->r;
    bool none = m->heard == 0 && m->refused != CODE_DONE;
    struct task_outcome o = task_take_outcome(none ? m->refused : CODE_DONE);

    leave_unasked(c->t, m);
    if (!is_there(c) || m->tasks.failed) {
        give_all_back(c->t, m);
        m->tasks.len = 0;
    } else {
        c->t->counts.taken += m->rows.len / sizeof(struct taken_row);
    }
    if (m->tasks.failed)
        api_problem(&r->ans, API_OVERLOADED, "the router is overloaded; try again", router_request_id(r));
    else if (!call_failed(c, &o))
        task_answer_taken_of(&r->ans, &m->tasks);
}

static void waited(struct task_call *c, const struct msg *msg)
{
    (void)msg;
    compose(c);
}

/* ---- questions --------------------------------------------------------------------------- */

static void take_row(struct ask *a, const struct take_many *m, uint32_t i, uint32_t most, msec_t wait_ms)
{
    char *queue = (char *)(uintptr_t)m->b.queue[i]; /* m lasts as long as its call */

    a->kind = ASK_TAKE;
    a->queue = (struct slice){ queue, strlen(queue) };
    a->take = (struct msg_task_take){ .queue = queue, .most = most, .lease_ms = (uint32_t)m->b.lease,
                                      .wait_ms = (uint32_t)wait_ms };
}

/* Asks it for `most`, with none waiting. */
static void ask_source(struct ask *a, const struct take_many *m, const struct source *s, uint32_t most)
{
    take_row(a, m, s->queue, most, 0);
    a->call->deadline = m->rounds_end;
    if (s->stray == 0)
        return;
    a->queue = (struct slice){ 0 };
    a->part = s->stray;
    a->call->deadline = ms_min(m->rounds_end, ev_now(a->call->t->r->ev) + STRAYS_ASK_MS);
}

/* Finds the next question, with none waiting. -1: nothing more. *most: so many. */
static int next_source(struct take_many *m, uint32_t *most)
{
    while (m->left > 0 && m->tasks.len < BYTES_MAX) {
        uint32_t i = (m->first + m->asked) % m->n_from, open = m->n_from - m->asked;

        if (open == 0 && (m->again || m->n_given == 0))
            return -1;
        if (open == 0) {
            m->again = true;
            m->asked = 0;
            continue;
        }
        m->asked++;
        *most = m->again ? m->left : (m->left + open - 1) / open;
        if (!m->again || m->more[i])
            return (int)i;
    }
    return -1;
}

static void asked_one(struct task_call *c, const struct msg *msg);

/* The worker waits for `next` now. */
static struct task_call *follow(struct task_call *c, struct task_call *next)
{
    if (next == NULL)
        return NULL;
    next->many = c->many;
    next->many_free = many_free;
    c->many = NULL;
    call_hand_over(c, next);
    return next;
}

/* Ends the waits of the others once one has something; or if one ends early, with its node's link or since
 * the node stops: the worker asks again, and the queue is not left out for all of the wait. */
static void waited_row(struct ask *a, const struct msg *msg)
{
    struct task_call *c = a->call;
    struct take_many *m = c->many;
    uint32_t given = m->n_given;
    bool early = a->code == CODE_DONE && m->until - ev_now(c->t->r->ev) > EARLY_MS;

    keep(m, a, msg);
    if (m->n_given == given && !early && a->code != ASK_LOST)
        return;
    for (uint32_t i = 0; i < c->n; i++)
        if (!c->v[i].answered)
            ask_end_take(&c->v[i]);
}

static struct task_call *wait_for_any(struct task_call *c)
{
    struct take_many *m = c->many;
    msec_t now = ev_now(c->t->r->ev), left;
    bool waits;
    struct task_call *next;

    if (m->refused != CODE_DONE)
        m->until = ms_min(m->until, now + REFUSED_MS);
    left = m->until - now;
    waits = left > 0 && m->n_given == 0 && m->heard > 0 && c->t->r->drained == NULL;
    next = waits ? call_new(c->t, NULL, m->b.n_queues, 0, left, waited) : NULL;

    for (uint32_t i = 0; next != NULL && i < m->b.n_queues; i++)
        take_row(&next->v[i], m, i, (uint32_t)m->b.n, left);
    if (next != NULL)
        next->each = waited_row;
    return follow(c, next);
}

static void go_on(struct task_call *c)
{
    struct task_call *next = NULL;
    uint32_t most = 0;
    bool asks = is_there(c) && ev_now(c->t->r->ev) < c->many->rounds_end;
    int i = asks ? next_source(c->many, &most) : -1;

    if (i >= 0) {
        next = follow(c, call_new(c->t, NULL, 1, 0, 0, asked_one));
        if (next != NULL) {
            ask_source(&next->v[0], next->many, &next->many->from[i], most);
        }
    } else if (is_there(c)) {
        next = wait_for_any(c);
    }
    if (next != NULL)
        call_begin(next);
    else
        compose(c);
}

static void asked_one(struct task_call *c, const struct msg *msg)
{
    const struct ask *a = &c->v[0];
    struct take_many *m = c->many;
    uint32_t before = m->left;
    bool first = m->n_given == 0;
    uint32_t at = (m->first + m->asked - 1) % m->n_from;

    keep(m, a, msg);
    if (m->left < before)
        ask_again(c->t, m, &m->from[at]);
    if (first && m->n_given > 0)
        m->rounds_end = ms_min(m->rounds_end, ev_now(c->t->r->ev) + HELD_MS);
    if (!m->again)
        m->more[at] = before - m->left == a->take.most;
    go_on(c);
}

/* ---- the request ------------------------------------------------------------------------- */

/* Each list has turns of its own: among workers who ask one after the other, each with other queues, one
 * would begin with the same one for ever. */
static uint32_t *turn_of(struct tasking *t, const struct take_body *b)
{
    static const uint8_t any[crypto_shorthash_KEYBYTES];
    uint64_t h;

    crypto_shorthash((uint8_t *)&h, (const uint8_t *)b->queue, b->n_queues * sizeof(b->queue[0]), any);
    return &t->turn[h % TASK_TURNS];
}

/* Strays go before their queue's own. */
static void find_sources(struct tasking *t, struct take_many *m)
{
    for (uint32_t i = 0; i < m->b.n_queues; i++) {
        struct slice queue = { m->b.queue[i], strlen(m->b.queue[i]) };
        uint32_t place = 0, room = SOURCES_MAX - m->n_from - (m->b.n_queues - i);
        const struct task_way *w;

        for (; room > 0 && (w = strays_next(t, queue, &place)) != NULL; room--)
            m->from[m->n_from++] = (struct source){ (uint8_t)i, w->part };
        m->from[m->n_from++] = (struct source){ (uint8_t)i, 0 };
    }
}

static struct take_many *many_new(struct tasking *t, const struct take_body *b)
{
    struct take_many *m = calloc(1, sizeof(*m));

    if (m == NULL)
        return NULL;
    m->b = *b;
    m->left = (uint32_t)b->n;
    find_sources(t, m);
    m->first = (*turn_of(t, b))++ % m->n_from;
    m->until = ev_now(t->r->ev) + b->wait;
    m->rounds_end = ev_now(t->r->ev) + TASK_ASK_MS;
    m->refused = CODE_DONE;
    buf_init(&m->rows);
    buf_init(&m->tasks);
    return m;
}

/* The first queue that is not this token's, or that no worker takes from. NULL: there is none. */
static const char *unfit(const struct tasking *t, const struct take_body *b, struct slice opens, enum api_problem *p)
{
    for (uint32_t i = 0; i < b->n_queues; i++) {
        const struct task_way *w = pools_of_queue(&t->pools, b->queue[i], strlen(b->queue[i]));

        *p = !queues_match(opens.p, opens.n, b->queue[i], strlen(b->queue[i])) ? API_NOT_ELIGIBLE
             : t->pools.known && w == NULL                                     ? API_QUEUE_NOT_FOUND
             : t->pools.known && w->endpoint[0] != '\0'                        ? API_QUEUE_HAS_ENDPOINT
                                                                               : API_BAD_REQUEST;
        if (*p != API_BAD_REQUEST)
            return b->queue[i];
    }
    return NULL;
}

static void refuse(struct tasking *t, struct httpd_req *req, enum api_problem p, const char *queue)
{
    const char *why = p == API_NOT_ELIGIBLE      ? "this server's token may not take in queue "
                      : p == API_QUEUE_NOT_FOUND ? "no pool has a queue "
                                                 : "no worker takes from a queue with an endpoint: ";
    char text[80 + TASK_NAME_MAX];

    strcpy(text, why);
    strcat(text, queue);
    router_problem(t->r, req, p, text);
}

void take_many_no_wait(struct take_many *m)
{
    m->until = 0;
}

void take_many_start(struct tasking *t, const struct task_asked *x)
{
    struct take_body b;
    struct body_error e;
    enum api_problem p;
    const char *queue;
    struct task_call *c;
    uint32_t most;
    int i;

    if (!take_body_read(&b, x->q->body, &e)) {
        router_problem(t->r, x->req, API_BAD_REQUEST, e.text);
        return;
    }
    queue = unfit(t, &b, x->opens, &p);
    if (queue != NULL) {
        refuse(t, x->req, p, queue);
        return;
    }
    c = call_new(t, x->req, 1, 0, 0, asked_one);
    if (c == NULL)
        return;
    c->whose = server_token_id(x->tenant);
    c->many = many_new(t, &b);
    c->many_free = many_free;
    if (c->many == NULL) {
        call_drop(c);
        router_problem(t->r, x->req, API_OVERLOADED, "the router is overloaded; try again");
        return;
    }
    i = next_source(c->many, &most);
    ask_source(&c->v[0], c->many, &c->many->from[i], most);
    call_begin(c);
}

/* task_link.c: see task_link.h. */
#include "router/task_requests/task_link.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "router/task_requests/ask.h"
#include "router/task_requests/notice.h"
#include "router/task_requests/passing.h"
#include "router/task_requests/progress.h"
#include "router/task_requests/watch.h"

#define LOG_MODULE "task_link"
#define FAREWELL_MS 1000
#define READS_MOST 16 /* pieces on their way on one link: 2 MiB */
#define PORTION    (4u << 20) /* bytes that have not left; then bodies wait */

struct sent { /* a frame that has no answer yet */
    uint64_t rid;
    uint8_t kind; /* enum ask_kind */
    part_no part; /* TAKE: of its tasks */
    uint32_t n;
    struct ask *v[]; /* ref; NULL: it has ended */
};

static void sent_lost(struct sent *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        struct ask *a = s->v[i];

        if (a == NULL)
            continue;
        ask_forget(a);
        ask_lost(a);
    }
    free(s);
}

/* With the link. */
static void sent_unheard(struct tasking *t, struct sent *s)
{
    part_no part = s->part;
    uint64_t rid = s->kind == ASK_TAKE ? s->rid : 0;

    sent_lost(s);
    if (rid != 0)
        give_back_unheard(t, part, rid);
}

/* ---- out --------------------------------------------------------------------------------- */

/* A frame says once which queues its rows may be of. */
static bool of_same(const struct ask *a, const struct ask *b)
{
    return a->queues.n == b->queues.n &&
           (a->queues.p == b->queues.p || memcmp(a->queues.p, b->queues.p, a->queues.n) == 0);
}

/* How many of the open ones go into the next frame. */
static uint32_t frame_rows(const struct list *open, enum ask_kind kind)
{
    const struct ask *first = NULL;
    size_t bytes = 0;
    uint32_t n = 0;

    if (ask_forms[kind].row == 0)
        return 1;
    list_each (open, it) {
        const struct ask *a = container_of(it, struct ask, in_list);

        bytes += kind == ASK_PUT ? a->put.body.n : a->settle.result.n + a->settle.reason.n;
        first = n == 0 ? a : first;
        if (n == TASK_ROWS_MAX || (n > 0 && bytes > TASK_BODY_MAX) || !of_same(a, first))
            break;
        n++;
    }
    return n;
}

static void fill(struct tasking *t, const struct sent *s, struct msg *m)
{
    const struct ask_form *f = &ask_forms[s->kind];
    const struct ask *a = s->v[0];

    m->type = f->asks;
    for (uint32_t i = 0; f->row != 0 && i < s->n; i++)
        memcpy((char *)&t->rows + i * f->size, &s->v[i]->put, f->size);
    if (s->kind == ASK_PUT)
        m->task_put = (struct msg_task_put){ s->n, t->rows.put };
    else if (s->kind == ASK_SETTLE)
        m->task_settle = (struct msg_task_settle){ s->n, t->rows.settle, a->queues };
    else
        memcpy(&m->task_get, &a->get, f->size);
    if (s->kind == ASK_CHANGE)
        m->task_change.queues = a->queues;
    if (s->kind == ASK_PROGRESS)
        m->task_progress.queues = a->queues;
}

/* False: no memory; the questions stay where they are. */
static bool send_frame(struct task_link *l, enum ask_kind kind)
{
    struct tasking *t = l->t;
    uint32_t n = frame_rows(&l->open[kind], kind);
    struct sent *s = malloc(sizeof(*s) + n * sizeof(s->v[0]));
    struct msg m = { 0 };
    int rc;

    if (s == NULL || map_set_ptr(&l->sent, t->next_rid + 1, s) < 0) {
        free(s);
        return false;
    }
    *s = (struct sent){ .rid = ++t->next_rid, .kind = (uint8_t)kind, .n = n };
    for (uint32_t i = 0; i < n; i++) {
        struct ask *a = container_of(list_first(&l->open[kind]), struct ask, in_list);

        ask_leave(a);
        s->v[i] = a;
        a->slot = &s->v[i];
        a->rid = s->rid;
        s->part = a->part;
    }
    fill(t, s, &m);
    rc = rpc_send(l->n.ch, &m, s->rid);
    if (rc < 0) {
        log_error("event=not_asked node=%s message=%s why=\"%s\"", l->n.name, msg_name(m.type),
                  sq_strerror(rc));
        map_del(&l->sent, s->rid);
        sent_lost(s);
    }
    l->reads += rc == 0 && kind == ASK_READ;
    t->counts.frames += rc == 0;
    t->counts.rows += rc == 0 ? n : 0;
    return true;
}

/* Pieces of long answers do not fill the way of all others. Submissions and results leave in portions: what
 * is more waits with its client, and not in the link's buffer, whose bound closes it. */
static bool may_send(const struct task_link *l, enum ask_kind kind)
{
    bool bulk = kind == ASK_PUT || kind == ASK_SETTLE || kind == ASK_SCHEDULE || kind == ASK_COMPLETE ||
                kind == ASK_UPLOAD;

    if (bulk && rpc_chan_pending(l->n.ch) >= PORTION) {
        rpc_chan_turn_below(l->n.ch, PORTION);
        return false;
    }
    return kind != ASK_READ || l->reads < READS_MOST;
}

void tasking_links_send(struct tasking *t)
{
    struct task_link *l;

    each_node_link (&t->links, l) {
        for (int k = 0; l->n.ch != NULL && k < ASK_NKINDS; k++)
            while (l->open[k].n > 0 && may_send(l, (enum ask_kind)k) && send_frame(l, (enum ask_kind)k))
                ;
    }
}

/* ---- in ---------------------------------------------------------------------------------- */

static struct sent *take_sent(struct task_link *l, uint64_t rid)
{
    struct sent *s = map_get_ptr(&l->sent, rid);

    if (s != NULL) {
        map_del(&l->sent, rid);
        l->reads -= s->kind == ASK_READ;
    }
    return s;
}

/* Some may have ended meanwhile. */
static void on_places(const struct task_link *l, const struct msg_task_places *m)
{
    for (uint32_t i = 0; i < m->n; i++) {
        const struct sent *s = map_get_ptr(&l->sent, m->v[i].rid);

        if (s == NULL || s->kind != ASK_GET || s->v[0] == NULL)
            continue;
        if (s->v[0]->call->watch != NULL)
            watch_hear(s->v[0]->call->watch, &m->v[i]);
        else
            progress_hear(s->v[0]->call, &m->v[i]);
    }
}

/* The first one of an answer is that to its question, and what follows is of a client. */
static int on_piece(struct task_link *l, const struct msg *m, uint64_t rid)
{
    struct sent *s = m->task_piece.step == PIECE_HEAD ? take_sent(l, rid) : NULL;
    struct ask *a = s != NULL ? s->v[0] : NULL;

    if (m->task_piece.step != PIECE_HEAD) {
        passing_hear(l, rid, &m->task_piece);
        return 0;
    }
    if (s == NULL || s->kind != ASK_GET || (a != NULL && a->get.window == 0 && a->get.follow == 0)) {
        if (s != NULL)
            sent_lost(s);
        return SQ_EPROTO;
    }
    if (a == NULL) {
        passing_refuse(l, rid, &m->task_piece);
    } else {
        l->t->piece.link = l;
        l->t->piece.rid = rid;
        ask_forget(a);
        ask_answered(a, m, 0);
    }
    free(s);
    return 0;
}

/* Does the answer fit to the question? */
static bool fits(const struct sent *s, const struct msg *m)
{
    uint32_t rows = s->kind == ASK_PUT ? m->task_put_ans.n : m->task_settle_ans.n;

    return m->type == ask_forms[s->kind].answers && (ask_forms[s->kind].row == 0 || rows == s->n);
}

static int on_answer(struct task_link *l, const struct msg *m, uint64_t rid)
{
    struct sent *s = take_sent(l, rid);

    if (s == NULL)
        return SQ_EPROTO;
    if (!fits(s, m)) {
        sent_lost(s);
        return SQ_EPROTO;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        struct ask *a = s->v[i];

        if (a != NULL) {
            ask_forget(a);
            ask_answered(a, m, i);
        } else if (m->type == MSG_TASK_TAKE_ANS) {
            give_back(l->t, s->part, &m->task_take_ans);
        }
    }
    free(s);
    return 0;
}

static int on_msg(struct node_link *n, const struct msg *m, uint64_t rid)
{
    struct task_link *l = container_of(n, struct task_link, n);

    if (m->type == MSG_TASK_NOTICE) {
        notice_heard(l->t, n->no, &m->task_notice);
        return 0;
    }
    if (m->type == MSG_TASK_PLACES) {
        on_places(l, &m->task_places);
        return 0;
    }
    return m->type == MSG_TASK_PIECE ? on_piece(l, m, rid) : on_answer(l, m, rid);
}

static bool on_refused(struct node_link *n, const struct msg_error *m, uint64_t rid)
{
    struct sent *s = take_sent(container_of(n, struct task_link, n), rid);

    (void)m;
    if (s != NULL)
        sent_lost(s);
    return false;
}

/* ---- takes that are under way when the router ends ---------------------------------------- */

static bool next_take(const struct task_link *l, size_t *i, const struct sent **s)
{
    uint64_t rid, val;

    while ((*i = map_next(&l->sent, *i, &rid, &val)) != 0) {
        *s = (const struct sent *)(uintptr_t)val;
        if ((*s)->kind == ASK_TAKE)
            return true;
    }
    return false;
}

static bool have_takes(const struct tasking *t)
{
    const struct task_link *l;
    const struct sent *s;

    each_node_link (&t->links, l)
        if (next_take(l, &(size_t){ 0 }, &s))
            return true;
    return false;
}

static void end_takes(struct tasking *t)
{
    const struct task_link *l;
    const struct sent *s;
    struct map said; /* part_no -> 1 */

    map_init(&said, 0);
    each_node_link (&t->links, l)
        for (size_t i = 0; next_take(l, &i, &s);)
            if (map_get(&said, s->part) == MAP_NONE && map_set(&said, s->part, 1) == 0)
                give_back_waits(t, s->part);
    map_fini(&said);
}

void tasking_farewell(struct tasking *t, ev_fn done, void *arg)
{
    t->farewell = done;
    t->farewell_arg = arg;
    t->farewell_limit = ev_now(t->r->ev) + FAREWELL_MS;
    end_takes(t);
}

void tasking_farewell_look(struct tasking *t)
{
    ev_fn done = t->farewell;

    if (done == NULL ||
        ((t->calls.n > 0 || have_takes(t)) && ev_now(t->r->ev) < t->farewell_limit))
        return;
    t->farewell = NULL;
    done(t->farewell_arg);
}

/* ---- the links --------------------------------------------------------------------------- */

/* Everything asked on this link is lost; what has not left may be asked again. */
static void on_lost(struct node_link *n, bool was_up)
{
    struct task_link *l = container_of(n, struct task_link, n);
    struct map sent = l->sent;
    uint64_t rid, val;

    (void)was_up;
    l->reads = 0;
    passings_lost(l);
    map_init(&l->sent, 0); /* first out of reach, then told: they may ask again */
    for (size_t i = 0; (i = map_next(&sent, i, &rid, &val)) != 0;)
        sent_unheard(l->t, (struct sent *)(uintptr_t)val);
    map_fini(&sent);
    for (int k = 0; k < ASK_NKINDS; k++) {
        while (l->open[k].n > 0) {
            struct ask *a = container_of(list_first(&l->open[k]), struct ask, in_list);

            ask_leave(a);
            ask_unsent(a);
        }
    }
}

static void on_up(struct node_link *n)
{
    asks_retry(container_of(n, struct task_link, n)->t);
}

static void link_init(struct node_link *n)
{
    struct task_link *l = container_of(n, struct task_link, n);

    l->t = container_of(n->of, struct tasking, links);
    for (int k = 0; k < ASK_NKINDS; k++)
        list_init(&l->open[k]);
    map_init(&l->passings, 0);
    map_init(&l->sent, 0);
}

static const struct node_links_kind kind = {
    .role = RPC_TASK,
    .size = sizeof(struct task_link),
    .init = link_init,
    .up = on_up,
    .msg = on_msg,
    .refused = on_refused,
    .lost = on_lost,
};

void tasking_links_init(struct tasking *t)
{
    node_links_init(&t->links, t->r, &kind);
}

void tasking_links_sync(struct tasking *t)
{
    const struct msg_task_map *m = &t->pools.map;

    node_links_begin(&t->links);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        node_links_want(&t->links, m->nodes[i].no, m->nodes[i].name, m->nodes[i].addr);
    node_links_end(&t->links);
}

/* task_link.c: see task_link.h. */
#include "router/tasking/task_link.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/wire/codec.h"
#include "router/tasking/ask.h"
#include "router/tasking/give_back.h"

#define LOG_MODULE "task_link"

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

/* ---- out --------------------------------------------------------------------------------- */

static bool has_rows(enum ask_kind kind)
{
    return kind == ASK_PUT || kind == ASK_SETTLE;
}

/* How many of the open ones go into the next frame. */
static uint32_t frame_rows(const struct list *open, enum ask_kind kind)
{
    size_t bytes = 0;
    uint32_t n = 0;

    if (!has_rows(kind))
        return 1;
    list_each (open, it) {
        const struct ask *a = container_of(it, struct ask, in_list);

        bytes += kind == ASK_PUT ? a->put.body.n : a->settle.result.n;
        if (n == TASK_ROWS_MAX || (n > 0 && bytes > TASK_BODY_MAX))
            break;
        n++;
    }
    return n;
}

static void fill(struct tasking *t, const struct sent *s, struct msg *m)
{
    const struct ask *a = s->v[0];

    switch ((enum ask_kind)s->kind) {
    case ASK_PUT:
        m->type = MSG_TASK_PUT;
        m->task_put = (struct msg_task_put){ s->n, t->rows.put };
        for (uint32_t i = 0; i < s->n; i++)
            t->rows.put[i] = s->v[i]->put;
        break;
    case ASK_SETTLE:
        m->type = MSG_TASK_SETTLE;
        m->task_settle = (struct msg_task_settle){ s->n, t->rows.settle };
        for (uint32_t i = 0; i < s->n; i++)
            t->rows.settle[i] = s->v[i]->settle;
        break;
    case ASK_GET:
        m->type = MSG_TASK_GET;
        m->task_get = a->get;
        break;
    case ASK_TAKE:
        m->type = MSG_TASK_TAKE;
        m->task_take = a->take;
        break;
    default:
        assert(s->kind == ASK_CHANGE);
        m->type = MSG_TASK_CHANGE;
        m->task_change = a->change;
        break;
    }
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
        s->part = a->part;
    }
    fill(t, s, &m);
    rc = rpc_send(l->ch, &m, s->rid);
    if (rc < 0) {
        log_error("event=not_asked node=%s message=%s why=\"%s\"", l->name, msg_name(m.type),
                  sq_strerror(rc));
        map_del(&l->sent, s->rid);
        sent_lost(s);
    }
    t->counts.frames += rc == 0;
    t->counts.rows += rc == 0 ? n : 0;
    return true;
}

void tasking_links_send(struct tasking *t)
{
    uint64_t no, val;

    for (size_t i = 0; (i = map_next(&t->links, i, &no, &val)) != 0;) {
        struct task_link *l = (struct task_link *)(uintptr_t)val;

        for (int k = 0; l->ch != NULL && k < ASK_NKINDS; k++)
            while (l->open[k].n > 0 && send_frame(l, (enum ask_kind)k))
                ;
    }
}

/* ---- in ---------------------------------------------------------------------------------- */

static struct sent *take_sent(struct task_link *l, uint64_t rid)
{
    struct sent *s = map_get_ptr(&l->sent, rid);

    if (s != NULL)
        map_del(&l->sent, rid);
    return s;
}

/* Does the answer fit to the question? */
static bool fits(const struct sent *s, const struct msg *m)
{
    switch (m->type) {
    case MSG_TASK_PUT_ANS:
        return s->kind == ASK_PUT && s->n == m->task_put_ans.n;
    case MSG_TASK_SETTLE_ANS:
        return s->kind == ASK_SETTLE && s->n == m->task_settle_ans.n;
    case MSG_TASK_GET_ANS:
        return s->kind == ASK_GET;
    case MSG_TASK_TAKE_ANS:
        return s->kind == ASK_TAKE;
    default:
        return m->type == MSG_TASK_CHANGE_ANS && s->kind == ASK_CHANGE;
    }
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

static void on_error(struct task_link *l, const struct msg_error *m, uint64_t rid)
{
    const char *text = m->text != NULL ? m->text : "";
    struct sent *s = take_sent(l, rid);

    log_warn("event=refused node=%s why=\"%s\" text=%s", l->name, sq_strerror(m->code),
             log_q(text, strlen(text)));
    if (s != NULL)
        sent_lost(s);
}

static void on_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    struct task_link *l = ctx;
    struct router *r = l->t->r;
    struct msg m;
    int rc = msg_decode(f->type, f->body, f->len, &r->arena, &m);

    if (rc == 0 && m.type == MSG_ERROR)
        on_error(l, &m.error, f->rid);
    else if (rc == 0)
        rc = on_answer(l, &m, f->rid);
    if (rc == SQ_EUNKNOWN) /* a newer node: not for us */
        log_debug("event=unknown_message node=%s type=%u", l->name, f->type);
    else if (rc < 0)
        rpc_chan_close(ch, rc == SQ_ENOMEM ? "no memory for an answer" : "bad answer");
    arena_reset(&r->arena);
}

/* ---- the links --------------------------------------------------------------------------- */

/* Everything asked on this link is lost; what has not left may be asked again. */
static void all_lost(struct task_link *l)
{
    struct map sent = l->sent;
    uint64_t rid, val;

    map_init(&l->sent, 0); /* first out of reach, then told: they may ask again */
    for (size_t i = 0; (i = map_next(&sent, i, &rid, &val)) != 0;)
        sent_lost((struct sent *)(uintptr_t)val);
    map_fini(&sent);
    for (int k = 0; k < ASK_NKINDS; k++) {
        while (l->open[k].n > 0) {
            struct ask *a = container_of(list_first(&l->open[k]), struct ask, in_list);

            ask_leave(a);
            ask_unsent(a);
        }
    }
}

static void on_up(void *ctx, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    struct task_link *l = ctx;

    if (strcmp(peer->node, l->name) != 0) {
        log_error("event=wrong_node addr=%s node=%s expected=%s", peer->addr, peer->node, l->name);
        l->failed = true;
        rpc_chan_close(ch, "another node than the map says");
        return;
    }
    log_info("event=node_up node=%s addr=%s", l->name, peer->addr);
    assert(l->ch == NULL); /* one link at a time */
    l->ch = ch;
    l->failed = false;
    asks_retry(l->t);
}

static void on_down(void *ctx, struct rpc_chan *ch, const char *why)
{
    struct task_link *l = ctx;

    (void)ch;
    if (l->ch != NULL)
        log_warn("event=node_down node=%s why=%s", l->name, log_q(why, strlen(why)));
    l->ch = NULL;
    l->failed = true;
    all_lost(l);
}

static void on_fail(void *ctx, const char *why)
{
    struct task_link *l = ctx;

    if (!l->failed)
        log_warn("event=node_unreachable node=%s why=%s", l->name, log_q(why, strlen(why)));
    l->failed = true;
    all_lost(l);
}

static const struct rpc_calls calls = {
    .on_up = on_up,
    .on_frame = on_frame,
    .on_down = on_down,
    .on_fail = on_fail,
};

static void link_free(struct task_link *l)
{
    struct rpc_link *rl = l->link;

    l->ch = NULL;
    l->failed = true;
    if (rl != NULL)
        rpc_link_free(rl);
    all_lost(l);
    map_fini(&l->sent);
    free(l);
}

static void link_add(struct tasking *t, const struct map_task_node *n)
{
    struct task_link *l = calloc(1, sizeof(*l));

    if (l == NULL) {
        log_error("event=no_memory what=link node=%s", n->name);
        return;
    }
    l->t = t;
    l->stays = true;
    snprintf(l->name, sizeof(l->name), "%s", n->name);
    snprintf(l->addr, sizeof(l->addr), "%s", n->addr);
    for (int k = 0; k < ASK_NKINDS; k++)
        list_init(&l->open[k]);
    map_init(&l->sent, 0);
    if (map_set_ptr(&t->links, n->no, l) < 0 ||
        (l->link = rpc_dial(t->r->rpc, l->addr, RPC_TASK, &calls, l)) == NULL) {
        log_error("event=no_memory what=link node=%s", n->name);
        map_del(&t->links, n->no);
        map_fini(&l->sent);
        free(l);
    }
}

static void drop_stale(struct tasking *t)
{
    uint64_t no, val;

    for (size_t i = 0; (i = map_next(&t->links, i, &no, &val)) != 0;) {
        struct task_link *l = (struct task_link *)(uintptr_t)val;

        if (l->stays)
            continue;
        map_del(&t->links, no);
        log_info("event=node_removed node=%s", l->name);
        link_free(l);
        i = 0; /* the map has changed: from its beginning */
    }
}

void tasking_links_sync(struct tasking *t)
{
    const struct msg_task_map *m = &t->pools.map;
    uint64_t no, val;

    for (size_t i = 0; (i = map_next(&t->links, i, &no, &val)) != 0;)
        ((struct task_link *)(uintptr_t)val)->stays = false;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        struct task_link *l = map_get_ptr(&t->links, m->nodes[i].no);

        if (l != NULL && strcmp(l->name, m->nodes[i].name) == 0 &&
            strcmp(l->addr, m->nodes[i].addr) == 0)
            l->stays = true;
    }
    drop_stale(t);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (map_get_ptr(&t->links, m->nodes[i].no) == NULL)
            link_add(t, &m->nodes[i]);
}

void tasking_links_free(struct tasking *t)
{
    uint64_t no, val;

    for (size_t i = 0; (i = map_next(&t->links, i, &no, &val)) != 0; i = 0) {
        map_del(&t->links, no);
        link_free((struct task_link *)(uintptr_t)val);
    }
    map_fini(&t->links);
}

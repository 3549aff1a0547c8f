/* node_links.c: see node_links.h. */
#include "router/state/node_links.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/codec.h"

#define LOG_MODULE "node_link"

static void on_error(struct node_link *l, const struct msg_error *m, uint64_t rid)
{
    const char *text = m->text != NULL ? m->text : "";

    uint64_t left_out;

    if (!l->of->kind->refused(l, m, rid) && log_may(&l->refused, ev_now(l->of->r->ev), 1, &left_out))
        log_warn("event=refused node=%s why=\"%s\" text=%s left_out=%" PRIu64, l->name, sq_strerror(m->code),
                 log_q(text, strlen(text)), left_out);
}

static void on_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    struct node_link *l = ctx;
    struct arena *mem = &l->of->r->arena;
    struct msg m;
    int rc = msg_decode(f->type, f->body, f->len, mem, &m);

    if (rc == 0 && m.type == MSG_ERROR)
        on_error(l, &m.error, f->rid);
    else if (rc == 0)
        rc = l->of->kind->msg(l, &m, f->rid);
    if (rc == SQ_EUNKNOWN) /* a newer node: not for us */
        log_debug("event=unknown_message node=%s type=%u", l->name, f->type);
    else if (rc < 0)
        rpc_chan_close(ch, rc == SQ_ENOMEM ? "no memory for an answer" : "bad answer");
    arena_reset(mem);
}

static void on_up(void *ctx, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    struct node_link *l = ctx;

    if (strcmp(peer->node, l->name) != 0) {
        log_error("event=wrong_node addr=%s node=%s expected=%s", peer->addr, peer->node, l->name);
        l->failed = true;
        rpc_chan_close(ch, "another node than the map says");
        return;
    }
    log_info("event=node_up node=%s addr=%s", l->name, peer->addr);
    assert(l->ch == NULL); /* a single link at a time */
    l->ch = ch;
    l->failed = false;
    l->of->kind->up(l);
}

static void lost(struct node_link *l)
{
    bool was_up = l->ch != NULL;

    l->ch = NULL;
    l->failed = true;
    l->of->kind->lost(l, was_up);
}

static void on_down(void *ctx, struct rpc_chan *ch, const char *why)
{
    struct node_link *l = ctx;

    (void)ch;
    if (l->ch != NULL)
        log_warn("event=node_down node=%s why=%s", l->name, log_q(why, strlen(why)));
    lost(l);
}

static void on_fail(void *ctx, const char *why)
{
    struct node_link *l = ctx;

    if (!l->failed)
        log_warn("event=node_unreachable node=%s why=%s", l->name, log_q(why, strlen(why)));
    lost(l);
}

static const struct rpc_calls calls = {
    .on_up = on_up,
    .on_frame = on_frame,
    .on_down = on_down,
    .on_fail = on_fail,
};

/* Removes it from all tables first: those who are told of their loss do not find it. */
static void link_free(struct node_link *l)
{
    struct rpc_link *rl = l->link;

    l->ch = NULL;
    rpc_link_free(rl);
    lost(l);
    free(l);
}

static void drop(struct node_links *s, struct node_link *l)
{
    node_no no = l->no;

    map_del(&s->by_no, no);
    log_info("event=node_removed node=%s", l->name);
    link_free(l);
    if (s->kind->removed != NULL)
        s->kind->removed(s->r, no);
}

static void add(struct node_links *s, node_no no, const char *name, const char *addr)
{
    struct node_link *l = calloc(1, s->kind->size);

    if (l == NULL) {
        log_error("event=no_memory what=link node=%s", name);
        return;
    }
    l->of = s;
    l->no = no;
    l->stays = true;
    snprintf(l->name, sizeof(l->name), "%s", name);
    snprintf(l->addr, sizeof(l->addr), "%s", addr);
    s->kind->init(l);
    if (map_set_ptr(&s->by_no, no, l) < 0 ||
        (l->link = rpc_dial(s->r->rpc, l->addr, s->kind->role, &calls, l)) == NULL) {
        log_error("event=no_memory what=link node=%s", name);
        map_del(&s->by_no, no);
        free(l);
    }
}

void node_links_begin(struct node_links *s)
{
    struct node_link *l;

    each_node_link (s, l)
        l->stays = false;
}

void node_links_want(struct node_links *s, node_no no, const char *name, const char *addr)
{
    struct node_link *l = map_get_ptr(&s->by_no, no);

    if (l != NULL && strcmp(l->name, name) == 0 && strcmp(l->addr, addr) == 0) {
        l->stays = true;
        return;
    }
    if (l != NULL)
        drop(s, l);
    add(s, no, name, addr);
}

static struct node_link *stale(const struct node_links *s)
{
    struct node_link *l;

    each_node_link (s, l)
        if (!l->stays)
            return l;
    return NULL;
}

void node_links_end(struct node_links *s)
{
    struct node_link *l;

    while ((l = stale(s)) != NULL)
        drop(s, l);
}

void node_links_count(const struct node_links *s, size_t *up, size_t *of)
{
    const struct node_link *l;

    *up = 0;
    *of = s->by_no.n;
    each_node_link (s, l)
        *up += l->ch != NULL;
}

void node_links_init(struct node_links *s, struct router *r, const struct node_links_kind *kind)
{
    *s = (struct node_links){ .r = r, .kind = kind };
    map_init(&s->by_no, 0);
}

void node_links_free(struct node_links *s)
{
    struct node_link *l;

    while ((l = node_links_next(s, &(size_t) { 0 })) != NULL) {
        map_del(&s->by_no, l->no);
        link_free(l);
    }
    map_fini(&s->by_no);
}

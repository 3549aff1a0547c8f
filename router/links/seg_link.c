/* seg_link.c: see seg_link.h. */
#include "router/links/seg_link.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/wire/codec.h"
#include "router/links/replica_feed.h"
#include "router/links/seg_ask.h"
#include "router/links/seg_batch.h"
#include "router/state/pass_time.h"

#define LOG_MODULE "seg_link"

#define HOOK_RANK 5 /* before httpd's: what fails here is answered in this turn */

static void on_error(struct seg_link *l, const struct msg_error *m, uint64_t rid)
{
    const char *text = m->text != NULL ? m->text : "";

    if (m->code == SQ_EUNKNOWN && replica_feed_refused(l, rid))
        return;
    log_warn("event=refused node=%s why=\"%s\" text=%s", l->name, sq_strerror(m->code),
             log_q(text, strlen(text)));
    seg_batch_refused(l, rid);
}

static int on_passes(struct router *r, const struct msg_passes *m)
{
    int64_t now_s = router_least_s(r);

    for (uint32_t i = 0; i < m->n; i++)
        revoked_add(&r->revoked, &m->rows[i], now_s);
    return 0;
}

/* Sessions that were extended. */
static int on_longer(struct router *r, const struct msg_session *m)
{
    int64_t now_s = router_least_s(r);

    for (uint32_t i = 0; i < m->n; i++) {
        const struct sess_req *x = &m->req[i];

        if (x->command == SESS_EXTEND)
            revoked_add(&r->extended, &(struct pass_row) { .seg = x->seg, .number = x->number,
                                                           .until_s = x->until_s }, now_s);
    }
    return 0;
}

static void on_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    struct seg_link *l = ctx;
    struct router *r = l->s->r;
    struct msg m;
    int rc = msg_decode(f->type, f->body, f->len, &r->arena, &m);

    if (rc == 0) {
        switch (m.type) {
        case MSG_PLACE_ANS:
        case MSG_APPEND_ANS:
        case MSG_DROP_ANS:
        case MSG_SESSION_ANS:
            rc = seg_batch_answer(l, &m, f->rid);
            break;
        case MSG_PASSES:
            rc = on_passes(r, &m.passes);
            break;
        case MSG_SESSION:
            rc = on_longer(r, &m.session);
            break;
        case MSG_REPLICA:
            rc = replica_feed_in(l, &m.replica);
            break;
        case MSG_ERROR:
            on_error(l, &m.error, f->rid);
            break;
        default:
            rc = SQ_EPROTO;
            break;
        }
    }
    if (rc == SQ_EUNKNOWN) /* a newer node: not for us */
        log_debug("event=unknown_message node=%s type=%u", l->name, f->type);
    else if (rc < 0)
        rpc_chan_close(ch, rc == SQ_ENOMEM ? "no memory for an answer" : "bad answer");
    arena_reset(&r->arena);
}

static void on_up(void *ctx, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    struct seg_link *l = ctx;

    if (strcmp(peer->node, l->name) != 0) {
        log_error("event=wrong_node addr=%s node=%s expected=%s", peer->addr, peer->node,
                  l->name);
        l->failed = true;
        rpc_chan_close(ch, "another node than the map says");
        return;
    }
    log_info("event=node_up node=%s addr=%s", l->name, peer->addr);
    assert(l->ch == NULL); /* one link at a time */
    l->ch = ch;
    l->failed = false;
    replica_feed_up(l);
}

static void on_down(void *ctx, struct rpc_chan *ch, const char *why)
{
    struct seg_link *l = ctx;

    (void)ch;
    if (l->ch != NULL)
        log_warn("event=node_down node=%s why=%s", l->name, log_q(why, strlen(why)));
    if (l->ch != NULL)
        replica_feed_down(l);
    l->ch = NULL;
    l->failed = true;
    seg_batches_lost(l);
}

static void on_fail(void *ctx, const char *why)
{
    struct seg_link *l = ctx;

    if (!l->failed)
        log_warn("event=node_unreachable node=%s why=%s", l->name, log_q(why, strlen(why)));
    l->failed = true;
    seg_batches_lost(l);
}

static const struct rpc_calls calls = {
    .on_up = on_up,
    .on_frame = on_frame,
    .on_down = on_down,
    .on_fail = on_fail,
};

static void link_free(struct seg_link *l)
{
    struct rpc_link *rl = l->link;

    l->ch = NULL;
    l->failed = true;
    if (rl != NULL)
        rpc_link_free(rl);
    seg_batches_lost(l);
    for (int i = 0; i < SEG_KINDS; i++)
        assert(l->kind[i].open.n == 0 && l->kind[i].sent.n == 0); /* no flow refers to it */
    free(l);
}

static void link_add(struct seg_links *s, const struct route_node *n)
{
    struct seg_link *l = calloc(1, sizeof(*l));

    if (l == NULL) {
        log_error("event=no_memory what=link node=%s", n->name);
        return;
    }
    l->s = s;
    l->no = n->no;
    l->generation = n->generation;
    l->stays = true;
    strcpy(l->name, n->name);
    for (int i = 0; i < SEG_KINDS; i++)
        list_init(&l->kind[i].open), list_init(&l->kind[i].sent);
    if (map_set_ptr(&s->by_no, n->no, l) < 0 ||
        (l->link = rpc_dial(s->r->rpc, n->addr, RPC_SEGMENT, &calls, l)) == NULL) {
        log_error("event=no_memory what=link node=%s", n->name);
        map_del(&s->by_no, n->no);
        free(l);
    }
}

static void drop_stale(struct seg_links *s)
{
    uint64_t no, val;

    for (size_t i = 0; (i = map_next(&s->by_no, i, &no, &val)) != 0;) {
        struct seg_link *l = (struct seg_link *)(uintptr_t)val;

        if (l->stays)
            continue;
        map_del(&s->by_no, no);
        log_info("event=node_removed node=%s", l->name);
        link_free(l);
        replicas_forget(&s->r->replicas, (node_no)no);
        i = 0; /* the map has changed: from its beginning */
    }
}

void seg_links_sync(struct seg_links *s)
{
    const struct route_node *v;
    size_t n = routes_nodes(s->r->routes, &v);
    uint64_t no, val;

    for (size_t i = 0; (i = map_next(&s->by_no, i, &no, &val)) != 0;)
        ((struct seg_link *)(uintptr_t)val)->stays = false;
    for (size_t i = 0; i < n; i++) {
        struct seg_link *l = map_get_ptr(&s->by_no, v[i].no);

        if (l != NULL && l->generation == v[i].generation)
            l->stays = true;
    }
    drop_stale(s);
    for (size_t i = 0; i < n; i++) {
        if (map_get_ptr(&s->by_no, v[i].no) == NULL)
            link_add(s, &v[i]);
    }
}

static void on_turn_end(void *arg)
{
    seg_batches_send(arg);
}

struct seg_links *seg_links_new(struct router *r)
{
    struct seg_links *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    s->r = r;
    map_init(&s->by_no, 0);
    list_init(&s->free_batches);
    if (replica_feed_init(s) < 0) {
        free(s);
        return NULL;
    }
    if (ev_hook(r->ev, HOOK_RANK, on_turn_end, s) < 0) {
        replica_feed_fini(s);
        free(s);
        return NULL;
    }
    return s;
}

void seg_links_free(struct seg_links *s)
{
    uint64_t no, val;

    if (s == NULL)
        return;
    ev_unhook(s->r->ev, on_turn_end, s);
    replica_feed_fini(s);
    for (size_t i = 0; (i = map_next(&s->by_no, i, &no, &val)) != 0; i = 0) {
        map_del(&s->by_no, no);
        link_free((struct seg_link *)(uintptr_t)val);
    }
    list_each (&s->free_batches, it)
        free(container_of(it, struct batch, in_list));
    map_fini(&s->by_no);
    free(s);
}

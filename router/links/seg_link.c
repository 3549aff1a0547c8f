/* seg_link.c: see seg_link.h. */
#include "router/links/seg_link.h"

#include <stdlib.h>

#include "router/links/replica_feed.h"
#include "router/links/seg_batch.h"
#include "router/links/seg_links.h"

#define HOOK_RANK 5 /* before httpd's: what fails here is answered in this turn */

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

static int on_msg(struct node_link *n, const struct msg *m, uint64_t rid)
{
    struct seg_link *l = container_of(n, struct seg_link, n);

    switch (m->type) {
    case MSG_PLACE_ANS:
    case MSG_APPEND_ANS:
    case MSG_DROP_ANS:
    case MSG_SESSION_ANS:
        return seg_batch_answer(l, m, rid);
    case MSG_PASSES:
        return on_passes(l->s->r, &m->passes);
    case MSG_SESSION:
        return on_longer(l->s->r, &m->session);
    case MSG_REPLICA:
        return replica_feed_in(l, &m->replica);
    default:
        return SQ_EPROTO;
    }
}

static bool on_refused(struct node_link *n, const struct msg_error *m, uint64_t rid)
{
    struct seg_link *l = container_of(n, struct seg_link, n);

    if (m->code == SQ_EUNKNOWN && replica_feed_refused(l, rid))
        return true;
    seg_batch_refused(l, rid);
    return false;
}

static void on_up(struct node_link *n)
{
    replica_feed_up(container_of(n, struct seg_link, n));
}

static void on_lost(struct node_link *n, bool was_up)
{
    struct seg_link *l = container_of(n, struct seg_link, n);

    if (was_up)
        replica_feed_down(l);
    seg_batches_lost(l);
}

static void on_removed(struct router *r, node_no no)
{
    replicas_forget(&r->replicas, no);
}

static void link_init(struct node_link *n)
{
    struct seg_link *l = container_of(n, struct seg_link, n);

    l->s = container_of(n->of, struct seg_links, nodes);
    for (int i = 0; i < SEG_KINDS; i++)
        list_init(&l->kind[i].open), list_init(&l->kind[i].sent);
}

static const struct node_links_kind kind = {
    .role = RPC_SEGMENT,
    .size = sizeof(struct seg_link),
    .init = link_init,
    .up = on_up,
    .msg = on_msg,
    .refused = on_refused,
    .lost = on_lost,
    .removed = on_removed,
};

void seg_links_sync(struct seg_links *s)
{
    const struct route_node *v;
    size_t n = routes_nodes(s->r->routes, &v);

    node_links_begin(&s->nodes);
    for (size_t i = 0; i < n; i++)
        node_links_want(&s->nodes, v[i].no, v[i].name, v[i].addr);
    node_links_end(&s->nodes);
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
    node_links_init(&s->nodes, r, &kind);
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
    if (s == NULL)
        return;
    ev_unhook(s->r->ev, on_turn_end, s);
    replica_feed_fini(s);
    node_links_free(&s->nodes);
    list_each (&s->free_batches, it)
        free(container_of(it, struct batch, in_list));
    free(s);
}

/* peers.c: links to routers and nodes come up, carry messages, go down. */
#include "queuemng/core/peers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/chain/move.h"
#include "queuemng/core/map.h"
#include "queuemng/core/mng.h"
#include "queuemng/core/orders.h"
#include "queuemng/core/segment_nodes.h"
#include "queuemng/release/pop.h"
#include "queuemng/state/node.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/table.h"
#include "queuemng/tasks/task_nodes.h"

#define LOG_MODULE "mng"

static void router_up(struct mng *m, peer_no p, const char *name, uint64_t incarnation)
{
    struct mrouter *r = calloc(1, sizeof(*r));

    if (r == NULL || map_set_ptr(&m->peer_router, p, r) < 0) {
        log_error("event=no_memory what=router router=%s", name);
        m->out->box.failed = true;
        free(r);
        return;
    }
    r->peer = p;
    r->incarnation = incarnation;
    strncpy(r->name, name, NAME_MAX_LEN);
    list_push_back(&m->routers, &r->in);
    log_info("event=router_up router=%s", name);
}

static void node_up(struct mng *m, peer_no p, const char *name, uint64_t incarnation)
{
    struct mnode *n = node_by_name(m, name);

    if (n == NULL)
        n = node_new(m, m->next_node, name);
    if (n == NULL || map_set(&m->peer_node, p, n->no) < 0) {
        log_error("event=no_memory what=node node=%s", name);
        m->out->box.failed = true;
        return;
    }
    n->foreign = false; /* until it registers */
    if (n->peer != 0)
        map_del(&m->peer_node, n->peer); /* the older link of the two is not heard any more */
    if (n->peer != 0 && n->incarnation != incarnation)
        moves_node_down(m, n); /* released, though we have not heard of it */
    n->peer = p;
    n->registered = false;
    if (n->incarnation != incarnation)
        log_info("event=node_up node=%s incarnation=%016llx", name,
                 (unsigned long long)incarnation);
    n->incarnation = incarnation;
}

void mng_peer_up(struct mng *m, msec_t now_ms, peer_no p, int role, const char *node,
                 uint64_t incarnation, struct mng_out *out)
{
    assert(p != 0 && (role == RPC_SEGMENT || role == RPC_ROUTER || role == RPC_TASK));
    mng_begin(m, now_ms, out);
    if (role == RPC_SEGMENT)
        node_up(m, p, node, incarnation);
    else if (role == RPC_TASK)
        task_node_up(m, p, node, incarnation);
    else
        router_up(m, p, node, incarnation);
    mng_end(m);
}

void mng_peer_down(struct mng *m, msec_t now_ms, peer_no p, struct mng_out *out)
{
    struct mrouter *r = map_get_ptr(&m->peer_router, p);
    struct mtask_node *t = task_node_of(m, p);
    uint64_t no = map_get(&m->peer_node, p);

    mng_begin(m, now_ms, out);
    if (t != NULL)
        task_node_down(m, t);
    if (r != NULL) {
        log_info("event=router_down router=%s", r->name);
        map_del(&m->peer_router, p);
        list_remove(&m->routers, &r->in);
        free(r);
    }
    if (no != MAP_NONE) {
        struct mnode *n = node_by_no(m, (node_no)no);

        assert(n != NULL && n->peer == p);
        map_del(&m->peer_node, p);
        n->peer = 0;
        n->registered = n->foreign = false;
        n->down_ms = now_ms;
        log_warn("event=node_down node=%s segments=%zu", n->name, n->segs.n);
        moves_node_down(m, n);
    }
    mng_end(m);
}

static void on_router_reg(struct mng *m, struct mrouter *r, const struct msg_router_reg *g)
{
    strncpy(r->http, g->http != NULL ? g->http : "", sizeof(r->http) - 1);
    strncpy(r->admin, g->admin != NULL ? g->admin : "", sizeof(r->admin) - 1);
    where_set(&r->where, g->region, g->zone);
    r->registered = true;
    if (nodes_are_foreign(m))
        tell_foreign(m, r->peer);
    if (g->map_epoch > m->epoch) /* refuses maps of ours */
        m->fenced_by = u64_max(m->fenced_by, g->map_epoch);
    r->sent_version = g->map_epoch == m->epoch ? g->map_version : 0;
    r->sent_tasks = 0;
    r->stats_all = true;
    m->stats_now = true; /* passes of its first second are judged by our clock */
    left_flush(m, r);
}

static void node_msg(struct mng *m, struct mnode *n, const struct msg *g)
{
    assert(n->peer != 0);
    if (n->foreign && g->type != MSG_NODE_REG)
        return;
    n->heard_ms = m->now_ms;
    switch (g->type) {
    case MSG_NODE_REG:
        on_node_reg(m, n, &g->node_reg);
        break;
#define X(name, number, member, ways)                                                    \
    case MSG_##name:                                                                     \
        on_##member(m, n, &g->member);                                                   \
        break;
        MSG_REPORTS(X)
#undef X
    case MSG_ERROR:
        note_refusal(m, n->name, &g->error);
        if (g->error.code != SQ_ESTALE && g->error.about == MSG_SEG_OPEN)
            on_open_refused(m, n);
        break;
    default:
        log_warn("event=unexpected node=%s type=%s", n->name, msg_name(g->type));
        break;
    }
}

static void on_joins(struct mng *m, struct mrouter *r, const struct msg_joins *g)
{
    r->joined += g->all;
    r->suspects_ms = m->now_ms;
    r->n_suspects = g->n_suspects;
    if (g->n_suspects > 0)
        memcpy(r->suspects, g->suspects, g->n_suspects * sizeof(*g->suspects));
    for (uint32_t i = 0; i < g->n; i++) {
        struct mqueue *q = queue_by_id(m, g->v[i].queue);

        if (q != NULL)
            q->flood.came += g->v[i].n;
    }
}

void mng_msg(struct mng *m, msec_t now_ms, peer_no p, const struct msg *msg,
             struct mng_out *out)
{
    struct mrouter *r = map_get_ptr(&m->peer_router, p);
    struct mtask_node *t = task_node_of(m, p);
    uint64_t no = map_get(&m->peer_node, p);

    mng_begin(m, now_ms, out);
    if (no != MAP_NONE)
        node_msg(m, node_by_no(m, (node_no)no), msg);
    else if (t != NULL)
        task_node_msg(m, t, msg);
    else if (r != NULL && msg->type == MSG_ROUTER_REG)
        on_router_reg(m, r, &msg->router_reg);
    else if (r != NULL && msg->type == MSG_LEFT)
        left_pass_on(m, r, &msg->left);
    else if (r != NULL && msg->type == MSG_JOINS)
        on_joins(m, r, &msg->joins);
    else if (r != NULL && msg->type == MSG_DEVICE)
        rebind_take(m, &msg->device);
    else
        log_debug("event=ignored peer=%u type=%s", p, msg_name(msg->type));
    mng_end(m);
}

/* node_peers.c: see node_peers.h. */
#include "common/node/node_peers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/node/node_frames.h"

#define LOG_MODULE "node"

/* ---- channels -------------------------------------------------------------------- */

void node_peer_up(struct node *n, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    struct node_peer *p = calloc(1, sizeof(*p));

    if (p == NULL) {
        rpc_chan_close(ch, "no memory for a peer");
        return;
    }
    p->no = ++n->last_peer;
    p->ch = ch;
    p->role = peer->role;
    p->speaks = peer->speaks;
    list_push_back(&n->peers, &p->in_peers);
    rpc_chan_set_data(ch, p);
    log_debug("event=peer_up peer=%u role=%s node=%s addr=%s", p->no, rpc_role_name(p->role),
              peer->node, peer->addr);
    n->kind->up(n->ctx, p, peer->node);
}

static void forget(struct node *n, struct node_peer *p)
{
    assert(rpc_chan_data(p->ch) == p);
    rpc_chan_set_data(p->ch, NULL);
    list_remove(&n->peers, &p->in_peers);
}

void node_peer_down(struct node *n, struct rpc_chan *ch)
{
    struct node_peer *p = rpc_chan_data(ch);

    if (p == NULL)
        return;
    forget(n, p);
    n->kind->down(n->ctx, p);
    free(p);
}

void node_take_back(struct node *n)
{
    each_node_peer (n, p) {
        rpc_chan_drop(p->ch, "what was answered cannot be kept");
        forget(n, p);
        free(p);
    }
    outbox_reset(&n->out);
}

static void on_up(void *ctx, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    node_peer_up(ctx, ch, peer);
}

static void on_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    node_frame(ctx, ch, f);
}

static void on_down(void *ctx, struct rpc_chan *ch, const char *why)
{
    (void)why; /* rpc.c has logged it */
    node_peer_down(ctx, ch);
}

const struct rpc_calls node_peer_calls = { .on_up = on_up, .on_frame = on_frame,
                                           .on_down = on_down };

/* ---- managers -------------------------------------------------------------------- */

static bool dial(struct node *n, const char *addr)
{
    struct rpc_link *l = rpc_dial(n->rpc, addr, RPC_MANAGER, &node_peer_calls, n);

    if (l != NULL)
        n->manager[n->n_managers++] = l;
    return l != NULL;
}

int node_dial_managers(struct node *n, const struct cfg_list *managers, struct err *e)
{
    char *const *addr = managers->v;

    if (managers->n > NODE_MANAGERS)
        return err_set(e, SQ_ETOOBIG, "managers: more than %d", NODE_MANAGERS);
    for (size_t i = 0; i < managers->n; i++)
        if (!dial(n, addr[i]))
            return err_set(e, SQ_ENOMEM, "manager %s", addr[i]);
    return 0;
}

/* Is that one among the managers that we know? While one of them is silent: perhaps. */
static bool is_known(const struct node *n, const char *name)
{
    for (size_t i = 0; i < n->n_managers; i++) {
        const struct rpc_chan *ch = rpc_link_chan(n->manager[i]);

        if (ch == NULL || strcmp(rpc_chan_peer(ch)->node, name) == 0)
            return true;
    }
    return false;
}

void node_follow_leader(struct node *n)
{
    if (n->told_leader.addr[0] == 0)
        return;
    if (!is_known(n, n->told_leader.name) && n->n_managers < NODE_MANAGERS)
        (void)dial(n, n->told_leader.addr); /* if there is no memory, it is named again */
    n->told_leader.addr[0] = 0;
}

void node_peers_free(struct node *n)
{
    for (size_t i = 0; i < n->n_managers; i++)
        rpc_link_free(n->manager[i]);
    each_node_peer (n, p)
        free(p);
    list_init(&n->peers);
    n->n_managers = 0;
}

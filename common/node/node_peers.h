/* node_peers.h: a node's channels: peers that connect, managers and other nodes that it dials; what
 * they say, and what is said to them (node.h: what follows where that cannot be). Shell. Links are
 * made and dropped at the end of a turn only, where no channel is inside a callback of ours. */
#ifndef SEGQ_NODE_PEERS_H
#define SEGQ_NODE_PEERS_H

#include "common/node/node.h"
#include "common/wire/msg.h"

extern const struct rpc_calls node_peer_calls; /* ctx: struct node */

SQ_CHECK int node_dial_managers(struct node *n, const struct cfg_list *managers, struct err *e);
/* At the end of a turn: dials the leader that a standby manager has named in it, if that one is
 * not among those that we know. */
void node_follow_leader(struct node *n);
/* An answer to it cannot be told: its link ends, and nobody calls kind.down. */
void node_peer_cut(struct node *n, struct node_peer *p);
/* Nothing that was said in this turn is sent: all links end, and nobody is connected. */
void node_take_back(struct node *n);
void node_peers_free(struct node *n);

/* NULL: this channel is gone. */
struct node_peer *node_peer_find(const struct node *n, peer_no no);
/* All that is in n->out, which is empty then. */
void node_send(struct node *n);

/* Links to other nodes of the same kind, for as long as the table wants them. */
struct node_dials {
    struct node *n;   /* ref */
    struct list v;    /* owned */
    struct buf last;  /* a list of struct node_want: as last looked at */
    bool look;        /* in any case: there was no memory, or links were taken back */
    void (*failed)(void *ctx, const char *name); /* told when a node cannot be reached. May be NULL */
    void *ctx;
};

void node_dials_init(struct node_dials *d, struct node *n,
                     void (*failed)(void *ctx, const char *name), void *ctx);
/* At the end of a turn, where no channel is inside a callback of ours: dials those that are not
 * dialled yet, drops those that are not wanted any more. */
void node_dials_look(struct node_dials *d, const struct node_want *v, size_t n);
/* Ends without telling anybody. Also for a zeroed struct. */
void node_dials_free(struct node_dials *d);

#endif

/* node_peers.h: a node's channels: peers that connect, managers that it dials. Links are made and
 * dropped at the end of a turn only, where no channel is inside a callback of ours. */
#ifndef SEGQ_NODE_PEERS_H
#define SEGQ_NODE_PEERS_H

#include "common/node/node.h"

extern const struct rpc_calls node_peer_calls; /* ctx: struct node */

/* A channel that somebody else has dialled for the node has the same life. */
void node_peer_up(struct node *n, struct rpc_chan *ch, const struct rpc_peer *peer);
void node_peer_down(struct node *n, struct rpc_chan *ch);

SQ_CHECK int node_dial_managers(struct node *n, const struct cfg_list *managers, struct err *e);
/* At the end of a turn: dials the leader that a standby manager has named in it, if that one is
 * not among those that we know. */
void node_follow_leader(struct node *n);
/* Nothing that was said in this turn is sent: all links end, and nobody is connected. */
void node_take_back(struct node *n);
void node_peers_free(struct node *n);

#endif

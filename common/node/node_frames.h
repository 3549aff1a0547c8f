/* node_frames.h: incoming messages of all channels of a node. */
#ifndef SEGQ_NODE_FRAMES_H
#define SEGQ_NODE_FRAMES_H

#include "common/node/node.h"

/* A channel that sends a damaged message, or one that its role may not send, is closed. */
void node_frame(struct node *n, struct rpc_chan *ch, const struct frame *f);

#endif

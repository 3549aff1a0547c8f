/* node_say.h: what a node says to its peers. node.h says what follows when it cannot. */
#ifndef SEGQ_NODE_SAY_H
#define SEGQ_NODE_SAY_H

#include "common/node/node.h"

/* NULL: this channel is gone. */
struct node_peer *node_peer_find(const struct node *n, peer_no no);
/* All that is in n->out, which is empty then. */
void node_send(struct node *n);
/* code: enum sq_err, about the frame f. */
void node_send_error(struct node *n, struct node_peer *p, const struct frame *f, int code);

#endif

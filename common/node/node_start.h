/* node_start.h: what the process of a node gives to it. Shell. */
#ifndef SEGQ_NODE_START_H
#define SEGQ_NODE_START_H

#include "common/node/node.h"

/* Reads (or creates) the cluster's secret; *secret must outlive node_open(), and is wiped by the
 * caller. The supervisor is told when the node is ready; the loop ends when it is gone. */
SQ_CHECK int node_start(struct node_opts *o, struct cluster_keys *secret,
                        const struct node_cfg *c, struct ev *ev, struct err *e);

#endif

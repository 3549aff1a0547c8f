/* registration.h: a segment node registers and reports its segments.
 *
 * A full report is the truth about what exists on the node; the chains are the truth about
 * what should. Messages of one node come in the order in which it sent them. */
#ifndef SEGQ_QUEUEMNG_NODES_REGISTRATION_H
#define SEGQ_QUEUEMNG_NODES_REGISTRATION_H

#include "common/base/base.h"

struct mng;
struct mnode;
struct msg_node_reg;
struct msg_seg_status;

/* The router is to listen to another manager. */
void tell_foreign(struct mng *m, peer_no router);
/* The hello; the node is up when its full report is complete. */
void on_node_reg(struct mng *m, struct mnode *n, const struct msg_node_reg *g);
/* A report: full, or what has changed. */
void on_seg_status(struct mng *m, struct mnode *n, const struct msg_seg_status *g);
/* The node has no room: what it has not opened yet is opened elsewhere. */
void on_open_refused(struct mng *m, struct mnode *n);

#endif

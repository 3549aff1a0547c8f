/* segment_nodes.h: segment nodes: they register, report their segments, fall silent, are drained and
 * go; which of them keep the directory of subjects.
 *
 * A full report is the truth about what exists on the node; the chains are the truth about
 * what should. Messages of one node come in the order in which it sent them. */
#ifndef SEGQ_MNG_CORE_SEGMENT_NODES_H
#define SEGQ_MNG_CORE_SEGMENT_NODES_H

#include "common/base/base.h"

/* The directory of subjects (PROTOCOL.md section 22) is kept by all segment nodes that can, from their
 * first registration until they are given up as lost, or are drained and empty.
 *
 * Every change has another version, is stored before anybody hears of it, and has all of them
 * say anew what they hold: so a restart of the manager, and a node that comes back in time,
 * change nothing. */

struct json_t;
struct mng;
struct mnode;

/* true: the members have changed, and all of them were told. */
bool directory_look(struct mng *m);
/* The stored record. SQ_EPROTO, SQ_ENOMEM. */
SQ_CHECK int directory_load(struct mng *m, struct json_t *j);

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

/* By the clock: a silent one is given up, a draining one is emptied, and in the end forgotten.
 *
 * A node is known by its name for ever, since what is in its segments is there when it comes back;
 * until an operator has drained it and it is gone, or says himself that it will not come (core/orders.c).
 *
 *   draining, empty, no link = retired: routers and Prometheus are not told of it any more
 *   retired for forget_after, or by order = forgotten: as if it had never been
 *
 * The rest on its disk is nobody's: its segments were moved or opened elsewhere. Should it
 * come back, it is a new node, and is told to forget them. The key with which it signed passes
 * stays in the map as long as such a pass can be good, unless another node has it, too. */

/* Opens its segments elsewhere from now on. */
void node_lost(struct mng *m, struct mnode *n);
/* Every tick, each node. */
void nodes_tick(struct mng *m);

/* No link, no segments, no moves. */
bool is_gone(const struct mnode *n);
/* The time for which passes may be good that only its key proves. */
msec_t key_needed_ms(const struct mng *m, const struct mnode *n);
/* -1: not by itself. */
msec_t node_forget_in_ms(const struct mng *m, const struct mnode *n);
/* n is freed. */
void node_forget(struct mng *m, struct mnode *n, const char *why);

#endif

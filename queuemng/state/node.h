/* node.h: the table of segment nodes: found by name or number, made, freed. A number is never
 * given to another name. */
#ifndef SEGQ_QUEUEMNG_STATE_NODE_H
#define SEGQ_QUEUEMNG_STATE_NODE_H

#include "common/base/base.h"

struct mng;
struct mnode;

/* NULL: no such node (any more). */
struct mnode *node_by_no(const struct mng *m, node_no no);
/* NULL: no such node (any more). */
struct mnode *node_by_name(const struct mng *m, const char *name);
/* The node with the next number above `no`; NULL: none. */
struct mnode *node_after(const struct mng *m, node_no no);
/* All nodes, by number; n may be freed in the body. */
#define each_node(m, n)                                                                  \
    for (struct mnode *n = node_after(m, 0), *n##_next;                                  \
         n != NULL && (n##_next = node_after(m, n->no), true); n = n##_next)
/* The number must be free. NULL: no memory. */
struct mnode *node_new(struct mng *m, node_no no, const char *name);
/* For records of the store, which come in any order: made if need be. NULL: no memory. */
struct mnode *node_at(struct mng *m, node_no no);
/* Frees it; its segments are gone already. */
void node_free(struct mnode *n);
/* True: it has a link, has registered, and says something: what it is told it hears. */
bool node_is_reached(const struct mng *m, const struct mnode *n);
/* Nodes are there, and all of them obey managers of another cluster. */
bool nodes_are_foreign(const struct mng *m);

#endif

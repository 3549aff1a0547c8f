/* node.h: the table of segment nodes: found by name or number, made, freed. A number is never
 * given to another name. */
#ifndef SEGQ_QUEUEMNG_STATE_NODE_H
#define SEGQ_QUEUEMNG_STATE_NODE_H

#include "common/base/base.h"

struct mng;
struct mnode;

struct mnode *node_by_no(const struct mng *m, node_no no);
struct mnode *node_by_name(const struct mng *m, const char *name);
struct mnode *node_new(struct mng *m, node_no no, const char *name);
/* Of the store: made if need be. */
struct mnode *node_at(struct mng *m, node_no no);
void node_free(struct mnode *n);
bool nodes_are_foreign(const struct mng *m);

#endif

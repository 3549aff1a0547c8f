/* records.h: what the manager must not lose about tasks, as key and JSON text:
 *
 *   tasks           the next number of a partition, of a task node; partitions that nodes are to
 *                   drop [number, node, up to which epoch]
 *   task_node/NAME  number and addresses, for routers that come before the node; draining
 *   endpoint/NAME   version, definition; what nodes may be using of it [node, rate, slots]
 *   pin/QUEUE:KEY   version, definition of a pinned key (pools.h)
 *   pool/MATCH      version, definition; its partitions by share [number, owner, epoch, opened,
 *                   move: target, its epoch]
 *
 * What state/records.h says of news and formats holds here, too. */
#ifndef SEGQ_QUEUEMNG_TASKS_RECORDS_H
#define SEGQ_QUEUEMNG_TASKS_RECORDS_H

#include "common/base/err.h"

struct json_t;
struct mng;
struct mtask_node;

/* Stores it now; its number, too. */
void task_node_put(struct mng *m, const struct mtask_node *n);
/* At the end of each step. */
void tasks_put(struct mng *m);

/* Each: 0, SQ_EPROTO, SQ_ENOMEM. Records come in any order. */
SQ_CHECK int tasks_load(struct mng *m, struct json_t *j);
SQ_CHECK int task_node_load(struct mng *m, struct json_t *j);
SQ_CHECK int pool_load(struct mng *m, const char *key, struct json_t *j, struct err *e);
SQ_CHECK int endpoint_load(struct mng *m, const char *key, struct json_t *j, struct err *e);

#endif

/* endpoint_tell.h: what a task node is told of an endpoint, or of a target. */
#ifndef SEGQ_QUEUEMNG_TASKS_ENDPOINT_TELL_H
#define SEGQ_QUEUEMNG_TASKS_ENDPOINT_TELL_H

#include "queuemng/state/state.h"

/* ENDPOINT: the definition, and what the node may use of it (said, burst, serial). The node is
 * registered. */
void endpoint_tell(struct mng *m, struct mendpoint *x, struct mshare *s);
/* ENDPOINT_DROP; a node that is away is told when it lists the endpoint. */
void endpoint_drop(struct mng *m, const struct mtask_node *n, const char *name);

#endif

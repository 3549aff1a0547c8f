/* takeover.h: partitions of a task node that is gone, where other nodes can open them: these get
 * them, each under an epoch above the lost node's, which is fenced when it comes back. */
#ifndef SEGQ_QUEUEMNG_TASKS_TAKEOVER_H
#define SEGQ_QUEUEMNG_TASKS_TAKEOVER_H

struct mng;

void takeover_tick(struct mng *m);

#endif

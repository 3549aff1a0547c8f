/* live.h: the cluster as it is now: once, or again and again. See ctl/commands.h. */
#ifndef SEGQ_CTL_LIVE_H
#define SEGQ_CTL_LIVE_H

#include "queuemng/ctl_ask/round_trip.h"

int cmd_status(struct ctl *c, char **argv);
int cmd_watch(struct ctl *c, char **argv); /* status every second */
int cmd_top(struct ctl *c, char **argv);
int cmd_task_queues(struct ctl *c); /* pools and task nodes */
/* the same every second; of a queue: its pool, by partition */
int cmd_task_top(struct ctl *c, char **argv);

#endif

/* schedules.h: segqctl's commands about schedules of task queues. */
#ifndef SEGQ_CTL_SCHEDULES_H
#define SEGQ_CTL_SCHEDULES_H

#include "queuemng/ctl_ask/round_trip.h"

/* QUEUE: a list; WORD QUEUE SCHEDULE [KEY=VALUE]...: one. Returns enum ctl_exit. */
int cmd_task_schedules(struct ctl *c, char **argv);

#endif

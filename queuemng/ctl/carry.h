/* carry.h: tasks from one pool to another, of this or another cluster: as lines of JSON, in order. */
#ifndef SEGQ_CTL_CARRY_H
#define SEGQ_CTL_CARRY_H

#include "queuemng/ctl_ask/round_trip.h"

int cmd_task_export(struct ctl *c, char **argv);
int cmd_task_import(struct ctl *c, char **argv);
/* Cancels a task, or those of a file of ids: what an import has printed. */
int cmd_task_cancel(struct ctl *c, char **argv);

#endif

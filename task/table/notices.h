/* notices.h: a pool that names a queue in `notify` has each end of a task told there: a router makes a
 * call of it (task/notices/notices.h). Pure. For the files of this room. */
#ifndef SEGQ_TASKTAB_NOTICES_H
#define SEGQ_TASKTAB_NOTICES_H

#include "task/archive/archive_line.h"
#include "task/table/state.h"

/* What is told has this label, so its own end is told nowhere: two queues that name each other would
 * go on for ever. */
#define NOTICE_LABEL "segq-notice"

/* A task of the partition has ended in this turn. */
void tasktab_notice(struct part *p, const struct task_end *end);
/* Some of those that wait leave for a router. */
void tasktab_notices_send(struct tasktab *t, struct part *p, struct outbox *out);
void tasktab_notice_answered(struct tasktab *t, const struct msg_task_notice_ans *m);

#endif

/* task_schedule.h: schedules of task queues, for operators: looked at, defined, changed, deleted where the queue's
 * tasks are; and when one would fire. A definition is read as routers read it (common/submit/submission.h). */
#ifndef SEGQ_QUEUEMNG_ADMIN_TASK_SCHEDULE_H
#define SEGQ_QUEUEMNG_ADMIN_TASK_SCHEDULE_H

#include "queuemng/admin/answers.h"
#include "queuemng/admin/walk.h"

/* .../task-queues/QUEUE/tasks/schedules/NAME[/run] */
void admin_schedule(struct admin_call *c, const struct schedule_path *k);
/* GET /v1/admin/ticks?cron=&zone= or ?every=: the next times */
void admin_ticks(struct admin_call *c);

#endif

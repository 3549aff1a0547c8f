/* schedule_requests.h: schedules are defined, looked at, listed, deleted. Pure. */
#ifndef SEGQ_TASK_SCHEDULE_REQUESTS_H
#define SEGQ_TASK_SCHEDULE_REQUESTS_H

#include "task/schedules/schedules.h"

/* Answers a router's question. What *a points to is in `mem`, and in the schedules. */
void schedules_ask(struct schedules *s, const struct schedules_host *h,
                   const struct msg_task_schedule *q, int64_t wall_ms, struct buf *log,
                   struct msg_task_schedule_ans *a, struct arena *mem);

/* Answers an operator's: DO_SCHEDULE, DO_PUT_SCHEDULE, DO_DROP_SCHEDULE. */
void schedules_do(struct schedules *s, const struct schedules_host *h, const struct msg_task_do *q, int64_t wall_ms,
                  struct buf *log, struct msg_task_do_ans *m, struct arena *mem);

#endif

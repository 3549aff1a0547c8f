/* task_view.h: tasks and their queues as text. Pure. */
#ifndef SEGQ_CTL_TASK_VIEW_H
#define SEGQ_CTL_TASK_VIEW_H

#include "queuemng/ctl_view/columns.h"

/* GET /v1/admin/task-queues: pools and task nodes. queue not NULL: the pool that takes a queue of
 * this name (or is called so), and its partitions. False: there is none. */
bool view_task_queues(struct buf *b, const json_t *doc, const char *queue);
/* GET /v1/admin/pools: is there one of this name? If not, writes a sentence with the one that
 * may be meant. */
bool view_is_pool(struct buf *b, const json_t *doc, const char *name);

/* The same answer's endpoints, and a line for each pool that refuses tasks, or whose tasks no worker
 * takes; a probe and the targets of an endpoint. */
ctl_view view_endpoints, view_task_trouble, view_probe, view_targets_of;
/* GET /v1/admin/task-queues/QUEUE/tasks, and what is behind it; orders about many. */
ctl_view view_tasks, view_task_keys, view_task_schedules, view_task_schedule, view_schedule_changed,
    view_schedule_deleted, view_task_order;
ctl_view view_busiest, view_pinned_keys; /* GET /v1/admin/task-queues/busiest, /v1/admin/pinned-keys */
/* GET /v1/admin/tasks/TASK, and the answers to orders about one. */
ctl_view view_task;

#endif

/* task_view.h: tasks and their queues as text. Pure. */
#ifndef SEGQ_CTL_TASK_VIEW_H
#define SEGQ_CTL_TASK_VIEW_H

#include <jansson.h>

#include "common/base/buf.h"

/* GET /v1/admin/task-queues: pools and task nodes. queue not NULL: the pool that takes a queue of
 * this name (or is called so), and its partitions. False: there is none. */
bool view_task_queues(struct buf *b, const json_t *doc, const char *queue);
/* GET /v1/admin/pools: is there one of this name? If not, writes a sentence with the one that
 * may be meant. */
bool view_is_pool(struct buf *b, const json_t *doc, const char *name);

/* The endpoints of the same answer. */
void view_endpoints(struct buf *b, const json_t *doc);
/* A line for each pool that refuses tasks, or whose tasks no worker takes: GET /v1/admin/task-queues. */
void view_task_trouble(struct buf *b, const json_t *doc);
void view_probe(struct buf *b, const json_t *doc);
void view_targets_of(struct buf *b, const json_t *doc);

/* GET /v1/admin/task-queues/QUEUE/tasks */
void view_tasks(struct buf *b, const json_t *doc);
/* ... and behind it: /keys; orders about many */
void view_busiest(struct buf *b, const json_t *doc);
void view_task_schedules(struct buf *b, const json_t *doc);
void view_task_schedule(struct buf *b, const json_t *doc);
void view_schedule_changed(struct buf *b, const json_t *doc); /* from what to what, and when it fires */
void view_schedule_deleted(struct buf *b, const json_t *doc);
void view_task_keys(struct buf *b, const json_t *doc);
void view_pinned_keys(struct buf *b, const json_t *doc); /* GET /v1/admin/pinned-keys */
void view_task_order(struct buf *b, const json_t *doc);
/* GET /v1/admin/tasks/TASK, and the answers to orders about one. */
void view_task(struct buf *b, const json_t *task);

#endif

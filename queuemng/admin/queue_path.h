/* queue_path.h: names of task queues, and of their keys, in paths: both have slashes. Pure. */
#ifndef SEGQ_MNG_QUEUE_PATH_H
#define SEGQ_MNG_QUEUE_PATH_H

#include "common/base/base.h"
#include "common/task/key_limit.h"

/* "QUEUE/tasks", "QUEUE/tasks/REST": no part of a queue's name is "tasks" ("tasks-old" may be). REST,
 * or ""; NULL: it is no such path. */
const char *queue_path_read(const char *path, char queue[TASK_NAME_MAX + 1]);

struct key_path {
    char queue[TASK_NAME_MAX + 1], key[KEY_TEXT_MAX + 1];
    char verb[8]; /* verb of an order: "pause", "resume"; else "" */
};
/* Behind task-queues/: "QUEUE/tasks/keys/KEY"; of an order "QUEUE/tasks/keys/KEY/VERB". False: it is no
 * such path. */
bool key_path_read(struct key_path *k, const char *path, bool order);

#endif

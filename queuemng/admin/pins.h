/* pins.h: pinned keys: paths of their definitions, and orders about them. */
#ifndef SEGQ_QUEUEMNG_ADMIN_PINS_H
#define SEGQ_QUEUEMNG_ADMIN_PINS_H

#include "queuemng/admin/answers.h"

struct key_path;

/* /v1/admin/task-queues/QUEUE/tasks/keys/KEY[/ORDER] */
void admin_pin(struct admin_call *c, const struct key_path *k);

#endif

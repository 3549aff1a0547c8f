/* pins.h: pinned keys: their definitions, and their orders. */
#ifndef SEGQ_QUEUEMNG_ADMIN_PINS_H
#define SEGQ_QUEUEMNG_ADMIN_PINS_H

#include "queuemng/admin/answers.h"

struct key_path;

void admin_pins(struct admin_call *c); /* GET /v1/admin/pinned-keys */
/* /v1/admin/task-queues/QUEUE/tasks/keys/KEY[/ORDER] */
void admin_pin(struct admin_call *c, const struct key_path *k);

#endif

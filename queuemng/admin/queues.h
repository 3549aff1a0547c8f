/* queues.h: queue definitions, and orders about queues. */
#ifndef SEGQ_MNG_QUEUES_H
#define SEGQ_MNG_QUEUES_H

#include "queuemng/admin/answers.h"

/* New reference; NULL: no memory. version 0: without it. */
json_t *admin_def_json(const struct queue_def *d, uint64_t version);
void admin_queues(struct admin_call *c);                  /* GET /v1/admin/queues */
void admin_queue(struct admin_call *c);                   /* /v1/admin/queues/NAME */
void admin_order(struct admin_call *c, const char *verb); /* POST /v1/admin/queues/NAME/VERB */

#endif

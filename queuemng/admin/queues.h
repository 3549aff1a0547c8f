/* queues.h: paths of queues: their definitions, orders about them, a link to their page. */
#ifndef SEGQ_MNG_QUEUES_H
#define SEGQ_MNG_QUEUES_H

#include "queuemng/admin/answers.h"

void admin_queues(struct admin_call *c);                  /* GET /v1/admin/queues */
void admin_queue(struct admin_call *c);                   /* /v1/admin/queues/NAME */
/* GET queues/{queue}/preview: a link to the states of its waiting page, for an hour. */
void admin_preview(struct admin_call *c);
void admin_suspects(struct admin_call *c); /* GET /v1/admin/suspects?queue= */
void admin_order(struct admin_call *c); /* POST /v1/admin/queues/NAME/VERB */

#endif

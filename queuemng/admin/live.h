/* live.h: what the dashboard asks for: once a second, and of the last 10 minutes, hour, day. */
#ifndef SEGQ_MNG_LIVE_H
#define SEGQ_MNG_LIVE_H

#include "queuemng/admin/answers.h"

void admin_live(struct admin_call *c);            /* GET /v1/admin/live */
void admin_history(struct admin_call *c);         /* GET /v1/admin/history?queue=, ?pool= */
void admin_cluster_history(struct admin_call *c); /* GET /v1/admin/cluster/history */
void admin_queue_history(struct admin_call *c);   /* /v1/admin/queues/NAME/history, any method */

#endif

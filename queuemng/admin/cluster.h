/* cluster.h: the whole cluster in one answer, and its metrics addresses. */
#ifndef SEGQ_MNG_CLUSTER_H
#define SEGQ_MNG_CLUSTER_H

#include "queuemng/admin/answers.h"

void admin_cluster(struct admin_call *c); /* GET /v1/admin/cluster */
void admin_targets(struct admin_call *c); /* GET /v1/admin/targets */

#endif

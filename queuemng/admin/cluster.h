/* cluster.h: the whole cluster in one answer, and its metrics addresses; which manager leads; orders
 * about nodes. */
#ifndef SEGQ_MNG_CLUSTER_H
#define SEGQ_MNG_CLUSTER_H

#include "queuemng/admin/answers.h"

void admin_cluster(struct admin_call *c); /* GET /v1/admin/cluster */
void admin_targets(struct admin_call *c); /* GET /v1/admin/targets */

/* GET /v1/admin/manager: what this manager is; each answers for itself. */
void admin_manager(struct admin_call *c);
/* The answer of a standby: a question is sent on by 307, an order refused by 409. */
void admin_elsewhere(struct admin_call *c);

/* POST /v1/admin/nodes/NAME/VERB; the name is in c->name. */
void admin_node(struct admin_call *c, const char *verb);

#endif

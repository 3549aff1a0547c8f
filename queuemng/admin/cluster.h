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
void admin_node(struct admin_call *c);

/* The cluster's objects as JSON, for every answer that shows them. What a view has no
 * value for is null. NULL: no memory. */

/* Without its lanes. */
json_t *admin_queue_json(const struct mng_queue_view *q);
/* The lanes of a queue, each with its first segments_max segments. */
json_t *admin_lanes_json(const struct mng *m, queue_id q, size_t segments_max);
/* The figures of a lane; or those of a queue, if `l` is the sum of its lanes. */
json_t *admin_figures_json(const struct mng_lane_view *l);
/* Sets nodes, routers, moves, metrics, deleted, tasks. */
void admin_set_lists(json_t *j, const struct admin_call *c, const char *pool);

#endif

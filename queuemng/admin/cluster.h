/* cluster.h: the cluster as JSON. */
#ifndef SEGQ_MNG_CLUSTER_H
#define SEGQ_MNG_CLUSTER_H

#include "queuemng/admin/answers.h"

void admin_cluster(struct admin_call *c); /* GET /v1/admin/cluster */
void admin_targets(struct admin_call *c); /* GET /v1/admin/targets */
void admin_cluster_parts(struct admin_call *c, json_t *j); /* nodes, routers, moves, metrics */
const char *admin_seg_state(int state);
json_t *admin_eta(double s); /* -1: null; a decimal is enough */
json_t *admin_text(const char *text); /* NULL: null */

#endif

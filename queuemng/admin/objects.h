/* objects.h: the cluster's objects as JSON, for every answer that shows them. What a view has no
 * value for is null. NULL: no memory. */
#ifndef SEGQ_MNG_OBJECTS_H
#define SEGQ_MNG_OBJECTS_H

#include "queuemng/admin/answers.h"

/* Without its lanes. */
json_t *admin_queue_json(const struct mng_queue_view *q);
/* The lanes of a queue, each with its first segments_max segments. */
json_t *admin_lanes_json(const struct mng *m, queue_id q, size_t segments_max);
/* The figures of a lane; or those of a queue, if `l` is the sum of its lanes. */
json_t *admin_figures_json(const struct mng_lane_view *l);
/* Sets nodes, routers, moves, metrics, deleted, tasks. */
void admin_set_lists(json_t *j, const struct mng_service *s, const char *pool);

#endif

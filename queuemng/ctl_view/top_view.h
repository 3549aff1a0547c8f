/* top_view.h: the whole cluster on one screen: totals, queues, nodes, routers, metrics, tasks.
 * Pure. */
#ifndef SEGQ_CTL_TOP_VIEW_H
#define SEGQ_CTL_TOP_VIEW_H

#include <jansson.h>

#include "common/base/buf.h"

/* now: GET /v1/admin/live; then: an earlier one, which rates of change are counted from (NULL:
 * there is none, they are "-"). lines: there is room for so many, the quietest queues are left
 * out (0: any number). */
void view_top(struct buf *b, const json_t *now, const json_t *then, size_t lines);

#endif

/* status_view.h: the cluster as text: as a list, or on one screen. Pure.
 * In all views: members that are missing or of another type print as "-" or 0, so that a newer
 * or older queuemng is still shown. */
#ifndef SEGQ_CTL_STATUS_VIEW_H
#define SEGQ_CTL_STATUS_VIEW_H

#include "queuemng/ctl_view/columns.h"

/* GET /v1/admin/cluster. queue NULL: all of them, and if they are many the busiest, with
 * the number of those left out (all: none is); else only that one. False: it has no such
 * queue (nothing is appended). */
bool view_cluster(struct buf *b, const json_t *cluster, const char *queue, bool all);
/* Parts of that, or of GET /v1/admin/live: metrics and moves; pools and task nodes. Each list is
 * behind a blank line; an empty one has no lines. */
ctl_view view_metrics_and_moves, view_tasks_of;

/* The whole cluster on one screen: totals, queues, nodes, routers, metrics, tasks.
 * now: GET /v1/admin/live; then: an earlier one, which rates of change are counted from (NULL:
 * there is none, they are "-"). lines: there is room for so many, the quietest queues are left
 * out (0: any number). */
void view_top(struct buf *b, const json_t *now, const json_t *then, size_t lines);

#endif

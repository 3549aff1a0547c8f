/* endpoint_tell.h: what a task node is told of an endpoint, or of a target: the definition, its part of
 * rates and calendar windows, what is left of quotas. */
#ifndef SEGQ_QUEUEMNG_TASKS_ENDPOINT_TELL_H
#define SEGQ_QUEUEMNG_TASKS_ENDPOINT_TELL_H

#include "queuemng/state/state.h"
#include "queuemng/state/tasks.h"

/* Calendar windows of rates in units: whose turn it is, and which node gets how much of one
 * (common/recur/meter.h). */

struct mng;
struct mbudget;

/* Where they are due: begins those that are over, gives units of them to nodes that run low, of all endpoints of its
 * budget at once; what changed is stored, then told. */
void windows_look(struct mng *m, struct mendpoint *x);
/* Replaces its own rates and the name of its budget (meters_move()). */
void windows_change(const struct mng *m, struct mendpoint *x, const struct cfg_list *rates, const char *budget);

/* ENDPOINT: the definition, and what the node may use of it (said, burst, serial). The node is
 * registered. */
void endpoint_tell(struct mng *m, struct mendpoint *x, struct mshare *s);
/* ENDPOINT_DROP; a node that is away is told when it lists the endpoint. */
void endpoint_drop(struct mng *m, const struct mtask_node *n, const char *name);

/* Quotas: what answers of an endpoint, or a target, say is left (task/calls/told.h): heard of by one
 * task node, and passed on to the others. */

/* A node has reported it, and goes by the definition of now: a word of before a reset is not heard. */
void quotas_left_hear(struct mng *m, struct mendpoint *x, const struct endpoint_row *r);
/* By a reset, or since other fields say it: of the endpoint, and of its targets. */
void quotas_left_forget(struct mendpoint *x);
/* Each second: tells it to nodes that have heard nothing themselves. */
void quotas_left_spread(struct mng *m, struct mendpoint *x);

#endif

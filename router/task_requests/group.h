/* group.h: requests about a group of a queue's tasks: how many are in each state; it is sealed, or
 * cancelled. Shell. */
#ifndef SEGQ_ROUTER_GROUP_H
#define SEGQ_ROUTER_GROUP_H

#include "router/task_requests/call.h"

void group_ask(struct tasking *t, const struct task_asked *x);

#endif

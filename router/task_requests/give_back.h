/* give_back.h: tasks that were taken for a worker that has gone: they wait again at once, instead
 * of when their leases end. Shell. */
#ifndef SEGQ_ROUTER_GIVE_BACK_H
#define SEGQ_ROUTER_GIVE_BACK_H

#include "router/task_requests/call.h"

void give_back(struct tasking *t, part_no part, const struct msg_task_take_ans *m);

#endif

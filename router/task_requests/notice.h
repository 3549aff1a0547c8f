/* notice.h: a task node says that a task has ended, of a pool with `notify`: the end becomes a call in
 * the queue that this names. Shell.
 * The call is POST /notices with {"type":"task.STATE","timestamp":..,"data":{"task":TOKEN,..}}, the
 * form that Standard Webhooks (standardwebhooks.com) recommends. The node says it again until it is
 * answered; the Idempotency-Key makes one task of that. */
#ifndef SEGQ_ROUTER_NOTICE_H
#define SEGQ_ROUTER_NOTICE_H

#include "router/task_requests/call.h"

void notice_begin(struct tasking *t, node_no node, const struct msg_task_notice *m);

#endif

/* notice.h: what task nodes say by themselves, until it is answered: a task has ended, of a pool with
 * `notify`; or the next task of a chain has its turn, in another partition than the one before it. Shell.
 *
 * An end becomes a call in the queue that the pool names: POST /notices with {"type":"task.STATE",
 * "timestamp":..,"data":{"task":TOKEN,..}}, the form that Standard Webhooks (standardwebhooks.com)
 * recommends. A next task becomes what it is. Either has an Idempotency-Key made of the number of the
 * task of which it came, so it is one task however often this comes. */
#ifndef SEGQ_ROUTER_NOTICE_H
#define SEGQ_ROUTER_NOTICE_H

#include "router/task_requests/call.h"

void notice_heard(struct tasking *t, node_no node, const struct msg_task_notice *m);

#endif

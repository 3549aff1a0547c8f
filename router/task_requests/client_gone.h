/* client_gone.h: clients of /v1/call who close their connection while their request waits in
 * line: it is cancelled, unless it has begun (task_call.leaves). Shell.
 * A closed connection is seen at the next tick, one that broke at once. A client that closes its side
 * and goes on reading counts as gone, and is answered all the same. A router that stops tells nobody:
 * it is the router that goes. */
#ifndef SEGQ_ROUTER_CLIENT_GONE_H
#define SEGQ_ROUTER_CLIENT_GONE_H

#include "router/task_requests/call.h"

/* Notes that its task is submitted. True: its client has gone meanwhile. */
bool left_before(struct task_call *c);
/* For httpd_calls.on_gone: c's connection is no more. */
void left_now(struct task_call *c);
/* Each tick: whose clients have gone? */
void left_look(struct tasking *t);

#endif

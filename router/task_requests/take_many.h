/* take_many.h: a worker takes from several queues in one request. Shell.
 *
 * Each queue may be at another node, and a node that was asked has handed out what it answers. So they
 * are asked one after the other, none of them waiting, each for its share of what is still wanted,
 * beginning with another one at each request; then those that had more than their share, for the
 * rest. What is there is divided fairly, and nothing is taken that is too much. All of this takes no
 * longer than the question of any other request; what has been taken by then is the answer.
 *
 * Only if all are empty, and the worker waits, all are asked to wait at the same time. The first that has
 * something answers the request, as does one whose node stops; the waits of the others end
 * (SETTLE_UNHEARD), and what they have handed out in that moment goes back, with no attempt spent. */
#ifndef SEGQ_ROUTER_TAKE_MANY_H
#define SEGQ_ROUTER_TAKE_MANY_H

#include "router/task_requests/call.h"

/* TASK_TAKE_MANY. */
void take_many_start(struct tasking *t, const struct task_asked *x);
/* Ends its wait before that begins: all are asked, and what is there is the answer. */
void take_many_no_wait(struct take_many *m);

#endif

/* give_back.h: tasks that were taken for a worker that never saw them wait again at once, with no
 * attempt spent, instead of when their leases end. Shell.
 *
 *   what happens                            what is said
 *   a worker goes while its take waits      SETTLE_UNSEEN of each task that it is given then
 *   the link breaks under a take            SETTLE_UNHEARD of its request id, when the link is up again
 *   the router stops                        SETTLE_UNHEARD 0: the node ends its takes; those that it
 *                                           had answered by then are UNSEEN. The router ends when all
 *                                           have been answered, or after a second
 *   the router is killed, the node begins   nothing: leases end by themselves; each was an attempt,
 *     anew, the partition moves meanwhile   since nobody knows that no worker began */
#ifndef SEGQ_ROUTER_GIVE_BACK_H
#define SEGQ_ROUTER_GIVE_BACK_H

#include "router/task_requests/call.h"

void give_back(struct tasking *t, part_no part, const struct msg_task_take_ans *m);
/* The link is down: what the take of this request id was given goes back when it is up. */
void give_back_unheard(struct tasking *t, part_no part, uint64_t rid);
/* Takes that wait at the link's node for this partition end. */
void give_back_waits(struct tasking *t, part_no part);

#endif

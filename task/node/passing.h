/* passing.h: answers to calls that are told to a router while they come from the target. Pure.
 *
 *   who         the oldest of those who wait for the task's end and say that they take pieces; of one
 *               task one. The others hear of it at its end
 *   when        from its head on, if by that it is the last answer of the task (call_may_pass());
 *               also a little later, as long as all of it that has come is in memory
 *   soon        whose TASK_PUT said that a reader follows: until that is here, or does not come within
 *               READER_COMES_MS, no more is read than it can be told
 *   once        record PASSED is written before the head leaves: whatever happens then, no other
 *               attempt follows, also behind a kill
 *   how much    struct window_in: none is kept here: no more is read from the target than has room, with the
 *               reader, and on its link (body.h)
 *   whole       is said of an answer that ended well, when the task is settled by it
 *   gone        the reader, or its link: the call is given up, if the reader said so; else it goes on
 *               to its end, for those who look at it later */
#ifndef SEGQ_TASKTAB_PASSING_H
#define SEGQ_TASKTAB_PASSING_H

#include "task/calls/calls.h"
#include "task/node/state.h"

void tasktab_flow(struct tasktab *t, peer_no from, const struct msg_task_flow *m);
/* Their link is down. */
void tasktab_readers_gone(struct tasktab *t, struct tpeer *peer);

#endif

/* following.h: answers to calls that are told to those who read along (GET .../result?follow=1): what
 * there is, and then the rest as it comes. Pure.
 *
 *   who      each who waits for the task's end and says so, up to FOLLOWERS_OF_ONE of a task and
 *            FOLLOWERS_MOST of the node; the others hear of its end. They come from the head on, and at
 *            any time later at which all of it so far is kept
 *   kept     who has taken all hears what comes at once; who has not is told what is kept of it, in
 *            memory or in its file. So nobody waits for a reader, neither the target nor another one.
 *            Where that is not kept (max_answer, result: drop) what is told to this reader is broken off
 *   changes nothing  a reader holds nothing up, ends no call, and writes no record: an attempt that
 *            fails amid it is followed by the next one, as ever. What was told of it is broken off, and
 *            nothing of another attempt is put behind it
 *   whole    is said when the task is settled by it, with the hash of all bytes; also to who is behind
 *            then, once that one has taken the rest */
#ifndef SEGQ_TASKTAB_FOLLOWING_H
#define SEGQ_TASKTAB_FOLLOWING_H

#include "task/calls/calls.h"
#include "task/node/state.h"

#define FOLLOWERS_OF_ONE 64
#define FOLLOWERS_MOST   4096
#define FOLLOWS          (1ull << 63) /* in the `call` of its pieces: it is a follower's number */

/* Somebody has come who would follow the task; it runs. */
void tasktab_follow(struct tasktab *t, const struct part *p, task_no no);
/* Notes what all of it is: its answer is here. */
void tasktab_follow_answered(struct going_call *g, const struct call_answer *a);
void tasktab_follow_more(struct tasktab *t, struct going_call *g, const void *p, size_t n, struct outbox *out);
void tasktab_follow_end(struct tasktab *t, struct going_call *g, struct outbox *out);
void tasktab_follow_flow(struct tasktab *t, peer_no from, const struct msg_task_flow *m);
/* Their link is down. */
void tasktab_followers_gone(struct tasktab *t, const struct tpeer *peer);
void tasktab_followers_free(struct tasktab *t);

#endif

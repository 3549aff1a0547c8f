/* portions.h: what a node has to say on a link leaves in portions: once LINK_PORTION bytes are on their
 * way, what is long waits where it is already, and not in the link's buffer, whose bound closes it. Pure.
 * For the files of this room.
 *
 *   a look      at a result: by the numbers of its question and its task (tpeer.owed)
 *   an answer   that is told as it comes: with its target, of which no more is read (tpeer.held)
 *   a take      at its queue's door, for as long as it waits: tasks that nobody carries do not start
 *   a copy      in its partition
 *   a piece     of an answer that is kept whole is not held: a router asks for few at a time
 *
 * The oldest goes first, looks and answers by turns, each of these with a window's bytes at most; so an
 * answer's own pieces keep their order, and no answer waits for the end of another. What is short is
 * never held, nor what goes to another link. On its way is what is in an outbox, also in one that waits
 * for a shared store, and what the link has not sent. */
#ifndef SEGQ_TASKTAB_PORTIONS_H
#define SEGQ_TASKTAB_PORTIONS_H

#include "task/calls/calls.h"
#include "task/node/state.h"

struct tpeer *tasktab_peer(const struct tasktab *t, peer_no no); /* NULL: it is down */

/* May something long be said? If not: it is looked at again when it may. NULL: yes, and nobody hears it. */
SQ_CHECK bool tasktab_has_room(struct tpeer *p);
/* The last message is one of so many bytes, for this link. */
void tasktab_weigh(struct tpeer *p, size_t bytes, struct outbox *out);

/* Something waits for its room, and there is some that nobody was given in this turn. */
bool tasktab_may_let_go(const struct tpeer *p);

/* No more of the call's answer is read until the link has room. */
void tasktab_hold_call(struct tpeer *p, struct going_call *g);
/* Also of one that is not held. */
void tasktab_unhold(struct going_call *g);
void tasktab_unhold_all(struct tpeer *p);

/* Writes the head of an answer, as its target gave it, into its first piece. Without memory: fields_cut. */
void tasktab_answer_head(struct msg_task_piece *m, const struct call_answer *a, struct arena *mem);

#endif

/* seg_batch.h: batches of requests on their way to segment nodes, and their answers. Shell.
 *
 * Self-clocked: when a turn ends, the requests of one kind leave in one frame if nothing of
 * that kind is outstanding to the node, else they collect until the answer is back, or there
 * are 64, or 250 us have passed (looked at when a turn ends: a loop with nothing to do is woken by
 * the very answer that is awaited, and within 2 ms if that is far away). So a quiet cluster answers
 * at once and a busy one works in large batches.
 *
 * A batch keeps, in the order of the requests in its frame, pointers to the flows; the node's
 * answer has the frame's request id and one answer for each, in the same order.
 *
 *   what fails                                   what follows
 *   link breaks; node answers with an error      flow_lost() for all flows of its batches, also
 *     or with garbage                              of those still collected: flow.c says which
 *                                                  of them ask again
 *   a flow ends before its answer (deadline)     its slot is emptied, the answer is dropped */
#ifndef SEGQ_SEG_BATCH_H
#define SEGQ_SEG_BATCH_H

#include "router/links/flows.h"

void seg_batches_send(struct seg_links *s); /* at the end of a turn */
void seg_batches_held(void *arg);           /* by held_timer: this turn ends, too */
/* Everything asked on this link is lost: its flows are told. */
void seg_batches_lost(struct seg_link *l);
/* 0, or SQ_EPROTO: the answer does not fit to any question of ours. */
SQ_CHECK int seg_batch_answer(struct seg_link *l, const struct msg *m, uint64_t rid);
/* The node refuses the frame with this request id. */
void seg_batch_refused(struct seg_link *l, uint64_t rid);

#endif

/* redrive.h: the dead of a queue wait again at a rate, or are discarded. Pure.
 * Of one task: engine_redrive(), engine_discard() (change.h). Which they are: engine_list()
 * (look.h). */
#ifndef SEGQ_TASK_REDRIVE_H
#define SEGQ_TASK_REDRIVE_H

#include "task/engine/engine.h"

/* All that are dead now wait again, in the order of their deaths; at most per_1000_s of them in
 * 1000 s (0: as many as turns let through), by engine_advance(). Their queue's limits hold as
 * for all others. Whoever dies meanwhile, again too, is not among them. It goes on over a
 * restart and a move. Said again: for those that are dead then, at the new rate.
 * How many; SQ_EINVAL: above RATE_PER_1000_S; SQ_EUNKNOWN: no such queue; SQ_ENOMEM, SQ_ESTALE. */
SQ_CHECK int engine_redrive_all(struct engine *e, const struct trec_text *queue,
                                uint64_t per_1000_s);
/* No more of them do. 0, also if none did; SQ_EUNKNOWN, SQ_ESTALE. */
SQ_CHECK int engine_redrive_stop(struct engine *e, const struct trec_text *queue);
/* At most `most` of those that have been dead for longest go. How many; SQ_ESTALE. */
SQ_CHECK int engine_discard_dead(struct engine *e, const struct trec_text *queue, unsigned most);

#endif

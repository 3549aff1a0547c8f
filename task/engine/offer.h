/* offer.h: a task that stands in several queues of its pool: the first worker who takes it has it, and in that
 * moment it stands in none of the others (places.h). Pure. For the files of this room, and submissions. */
#ifndef SEGQ_TASK_OFFER_H
#define SEGQ_TASK_OFFER_H

#include "task/engine/submit.h"

/* The next name of "b,c", which goes on behind it; n 0: there is none. */
struct trec_text offer_next(struct trec_text *list);
/* Has each further queue room for it? 0; SQ_EINVAL: they are not different queues of one pool whose order is not
 * strict; SQ_EFULL. other: gives way to it; 0: none. */
SQ_CHECK int offer_may_stand(struct engine *e, const struct submit *s, task_no other);
/* Lets what is over give way to its places. Before its queue is made: a queue goes with its last task. */
void offer_make_room(struct engine *e, const struct submit *s);
/* Says its places, before its number is known. As engine_submit(). */
SQ_CHECK int offer_begin(struct engine *e, const struct submit *s);
/* Takes that back, and all that the log has since. */
void offer_undo(struct engine *e);
/* Finds the task for which the slot stands in a line: it starts there. */
task_slot offer_take(struct engine *e, task_slot place);

static inline bool submit_starts_at_once(const struct engine *e, const struct submit *s)
{
    return s->delay_ms == 0 && s->at_wall_ms <= e->wall_at;
}

/* Where nothing waits there is room for any that may start at once: what is larger than the bound would never get
 * in. One that waits for its time would shut the queue to all others until then; behind a task it was accepted
 * already, and comes in. */
static inline bool submit_fits_units(const struct engine *e, const struct pool *p, uint64_t there, const struct submit *s)
{
    uint64_t most = p->rules.max_waiting_units;
    bool may = submit_starts_at_once(e, s) || s->after_no != 0;

    return most == 0 || (there == 0 && may) || there + own_cost(&s->own) <= most;
}

#endif

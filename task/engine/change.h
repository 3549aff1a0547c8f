/* change.h: callers and operators change tasks; the dead of a queue wait again at a rate, or go.
 * Groups are sealed, and cancelled. Pure.
 * Of all: SQ_EUNKNOWN: there is no such task; SQ_ECONFLICT: it is past that; SQ_ESTALE. */
#ifndef SEGQ_TASK_CHANGE_H
#define SEGQ_TASK_CHANGE_H

#include "common/task/rules.h"
#include "task/engine/engine.h"
#include "task/engine/look.h"
#include "task/engine/submit.h"

/* 0: cancelled: no attempt begins any more. 1: it runs; this attempt is its last. */
SQ_CHECK int engine_cancel(struct engine *e, task_no no);
/* The same, unless an attempt has ever begun: SQ_ECONFLICT. */
SQ_CHECK int engine_withdraw(struct engine *e, task_no no);
/* The same by force: one that runs is cancelled, too, and its lease ends. What it takes up of
 * limits is held until then: what was begun may go on at its target. 0. */
SQ_CHECK int engine_cut(struct engine *e, task_no no);
/* At most `most` tasks of those that `f` means are cancelled (force: cut), or told to stop, from
 * slot *at on over some slots, as engine_list() goes (look.h). How many; SQ_ESTALE. */
SQ_CHECK int engine_cancel_some(struct engine *e, const struct task_filter *f, bool force,
                                task_slot *at, unsigned most);
/* Puts it before all others of its queue, whatever limits and delays say: the next take has
 * it. Where the order is strict only its delay or back-off is over. SQ_EINVAL: it waits in a
 * strict line. SQ_ENOMEM, SQ_EFULL. */
SQ_CHECK int engine_run(struct engine *e, task_no no);
/* All that it has, or nothing. Labels also of one that runs. SQ_EINVAL: out of range, an order
 * where none counts, a priority where the order is strict. SQ_ENOMEM. */
SQ_CHECK int engine_patch(struct engine *e, task_no no, const struct task_patch *p);
/* A dead one waits again, with all of its attempts. SQ_ENOMEM, SQ_EFULL (rank.h). */
SQ_CHECK int engine_redrive(struct engine *e, task_no no);
/* Notes that its result has been read: it is kept for a shorter time. Again: nothing. */
SQ_CHECK int engine_read(struct engine *e, task_no no);
/* A final one goes now. */
SQ_CHECK int engine_discard(struct engine *e, task_no no);
/* Moves its body, or its result, to another place: the old one is freed. */
SQ_CHECK int engine_moved(struct engine *e, task_no no, uint64_t body);
/* The same of its reply. */
SQ_CHECK int engine_moved_reply(struct engine *e, task_no no, uint64_t reply);
/* The bytes of its reply are not there: it has none. */
void engine_lost_reply(struct engine *e, task_no no);
/* on: another node has the partition: every command answers SQ_ESTALE, and nothing happens by
 * itself. */
void engine_fence(struct engine *e, bool on);

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

/* Groups of a queue's tasks (task/store/queue_extras.h): sealed, when the last task was submitted;
 * cancelled, what is left of them; forgotten, a while after their last task has gone. */

/* NULL: there is none. Borrowed until the next command. */
const struct group *engine_group(const struct engine *e, const struct trec_text *queue,
                                 const struct trec_text *name);
/* No more tasks get in. 0; 1: it was sealed, or over. SQ_EUNKNOWN, SQ_ESTALE. */
SQ_CHECK int engine_group_seal(struct engine *e, const struct trec_text *queue, const struct trec_text *name);
/* Seals it; its tasks that are not final are cancelled, as engine_cancel(), some with each
 * engine_groups_advance(), also after a restart. As engine_group_seal(). */
SQ_CHECK int engine_group_cancel(struct engine *e, const struct trec_text *queue, const struct trec_text *name);

/* Behind engine_advance(): cancels, and forgets; at most so many. True: there are more. */
bool engine_groups_advance(struct engine *e, unsigned most);
/* How long there is nothing to do; MSEC_NEVER. ms: as engine_advance() has it. */
msec_t engine_groups_idle_ms(const struct engine *e, msec_t ms);

/* ---- for the other files of this room ---------------------------------------------- */
/* 0; SQ_ESEALED: no more tasks get in; SQ_EFULL: there are too many. */
SQ_CHECK int group_may_enter(struct engine *e, const struct submit *s);
/* Enters the group that it names, before ACCEPT. As task_perform(). */
SQ_CHECK int group_enter(struct engine *e, const struct submit *s, task_no no);

#endif

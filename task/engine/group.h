/* group.h: groups of a queue's tasks (task/store/groups.h): sealed, when the last task was submitted;
 * cancelled, what is left of them; forgotten, a while after their last task has gone. Pure. */
#ifndef SEGQ_TASK_GROUP_H
#define SEGQ_TASK_GROUP_H

#include "task/engine/submit.h"

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

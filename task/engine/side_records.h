/* side_records.h: what stands beside tasks and queues, as records change it, and as a snapshot has it: groups,
 * calendar windows, places of tasks that are offered to several queues. Pure. For the files of this room. */
#ifndef SEGQ_TASK_SIDE_RECORDS_H
#define SEGQ_TASK_SIDE_RECORDS_H

#include "task/engine/engine.h"

/* ---- groups -------------------------------------------------------------------------- */

struct trec group_record(const struct group *k, uint8_t flags);
/* GROUP, MEMBER, GROUP_GONE, like task_apply(). */
SQ_CHECK int group_apply(struct engine *e, const struct trec *r);
/* Writes all groups, for a snapshot. */
void group_write_all(const struct engine *e, struct buf *out);

/* ---- calendar windows ---------------------------------------------------------------- */

/* Calendar windows as records have them (WINDOW). */
SQ_CHECK int window_apply(struct engine *e, const struct trec *r);
/* Rules are other ones: notes which windows they have. False: one whose zone no record has named. */
bool windows_want(struct engine *e);
/* Appends all that are there, to a snapshot. */
void windows_write(const struct engine *e, struct buf *out);

/* ---- places of an offered task ------------------------------------------------------- */

/* The places of an offered task, as records change them.
 *
 * The task belongs to the first queue, but while a worker has it, and when it ends so: then to that worker's.
 * It comes back to where it stood, in all of them. */

/* The number of the task that is, or is stood for by, the slot. */
task_no places_task(const struct engine *e, task_slot slot);
/* Gives the places that were said to the task, which is new. 0; SQ_ENOMEM; SQ_EPROTO. */
SQ_CHECK int places_adopt(struct engine *e, task_slot slot);
/* Lets them go: they are in no row, and in no line. */
void places_drop(struct engine *e, struct offer *f);
/* Enters the rows of all queues: with the numbers that it had, or fresh ones. 0; SQ_ENOMEM, SQ_EFULL: none. */
SQ_CHECK int places_enter(struct engine *e, struct offer *f, bool fresh);
/* Puts the others into their lines, when the task waits. */
void places_stand(struct engine *e, struct offer *f, bool fresh);
/* Leaves all rows, and the lines of the others: it starts at f->at. */
void places_leave(struct engine *e, struct offer *f);
/* Changes places with what stands for it there; neither is in a line. */
void places_move(struct engine *e, struct offer *f, unsigned to);
/* Moves it to its first queue: its attempt is over. */
void places_home(struct engine *e, struct offer *f);
/* Becomes final; it has left its own row and line. */
void places_finish(struct engine *e, struct offer *f, enum task_state to);
/* Makes what another priority needs. 0 or SQ_ENOMEM. */
SQ_CHECK int places_reach_priority(struct engine *e, const struct offer *f, uint8_t priority);
/* Lets go of that. */
void places_tidy_priority(struct engine *e, const struct offer *f, uint8_t priority);
/* Gives the others what the task has now. */
void places_set_priority(struct engine *e, struct offer *f, uint8_t priority);
void places_set_order(struct engine *e, struct offer *f, int64_t order);
/* Gives a slot that is in no line the turn of another priority; any one another order. */
void place_set_priority(struct engine *e, task_slot slot, uint32_t turn, uint64_t priority);
void place_set_order(struct engine *e, task_slot slot, int64_t order, bool in_line);
/* Tells who listens to its other queues of its start, or end. */
void places_tell(struct engine *e, const struct offer *f, enum task_state state);
/* Writes them, for a snapshot. */
void places_write(const struct engine *e, task_slot slot, const struct trec *task, struct buf *out);

#endif

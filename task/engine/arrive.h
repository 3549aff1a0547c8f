/* arrive.h: a task gets its slot, its queue, its key, its timer; and leaves them. Pure.
 * For the files of this room. */
#ifndef SEGQ_TASK_ARRIVE_H
#define SEGQ_TASK_ARRIVE_H

#include "task/engine/engine.h"

/* Applies ACCEPT, like task_apply(): scheduled, or waiting; r->until: when it is due, or expires (0:
 * never). */
SQ_CHECK int arrive_accept(struct engine *e, const struct trec *r);
/* TASK, of a snapshot: any state. Lines and rows of entries are made by arrive_end(). */
SQ_CHECK int arrive_task(struct engine *e, const struct trec *r);
/* All tasks of the snapshot are there: those that wait get into line, by their entries. */
SQ_CHECK int arrive_end(struct engine *e);
enum place {
    PLACE_END,   /* end of its line */
    PLACE_FRONT, /* front of its queue and line, with its old age: a strict retry, one that nobody saw */
    PLACE_FIRST, /* before all of its queue: told to run */
};
/* Applies PLACE, like task_apply(). */
SQ_CHECK int arrive_place(struct engine *e, const struct trec *r);
/* Begins to wait: an entry in its queue's row, and a place. */
SQ_CHECK int arrive_enter(struct engine *e, task_slot slot, const struct trec *r, enum place to);
/* Tells a task that waits, in no line, to run. */
void arrive_first(struct engine *e, task_slot slot);
/* A task is over since `at`. */
void over_begins(struct engine *e, task_slot slot, uint64_t at);
/* A final task goes, and its queue with the last one. */
void arrive_gone(struct engine *e, task_slot slot);
/* Applies REPLY, like task_apply(): the reply that it had goes. */
SQ_CHECK int arrive_reply(struct engine *e, const struct trec *r);
/* Takes its body, its reply, away. */
void task_frees_body(struct engine *e, task_slot slot);
void task_frees_reply(struct engine *e, task_slot slot);
/* Sets its timer on the node's axis; 0: none. */
void task_arm(struct engine *e, task_slot slot, uint64_t until);

#endif

/* task_link.h: a link to each task node of the map: questions that were collected leave when the
 * turn ends, those of one kind that have rows in one frame, the others in one each. Shell.
 * A frame that was sent keeps, in the order of its rows, pointers to them; the answer has its
 * request id and a row for each. What a TAKE hands out that nobody waits for any more goes back.
 * What nodes say by themselves: notice.h. */
#ifndef SEGQ_ROUTER_TASK_LINK_H
#define SEGQ_ROUTER_TASK_LINK_H

#include "router/task_requests/tasking.h"

void tasking_links_init(struct tasking *t);
/* Dials and drops as the map says. */
void tasking_links_sync(struct tasking *t);
/* At the end of a turn. */
void tasking_links_send(struct tasking *t);
/* The router ends: `done`, once what was taken and not heard has been given back, or a second is over. */
void tasking_farewell(struct tasking *t, ev_fn done, void *arg);
/* At the end of a turn: has it? */
void tasking_farewell_look(struct tasking *t);

#endif

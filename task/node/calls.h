/* calls.h: tasks of pools with an endpoint: the node takes them itself, and settles them by what the
 * target answered. Pure.
 *
 * A task that is taken leaves the turn as an answer to a TAKE of PEER_SELF, with the id of its call
 * (task/calls/calls.h) as its request id: so it leaves when its CALL is written, as that of a
 * worker. Its lease ends some seconds behind its deadline: a call of which nobody knows the end (a
 * restart, a move) keeps its slot until then, and is followed by another attempt. */
#ifndef SEGQ_TASKTAB_CALLS_H
#define SEGQ_TASKTAB_CALLS_H

#include "task/calls/calls.h"
#include "task/node/answer.h"

/* ENDPOINT, ENDPOINT_DROP of a manager that is obeyed. NULL, or why not. */
const char *tasktab_endpoint_order(struct tasktab *t, const struct msg *m);
/* Partitions and endpoints have come or gone. */
void tasktab_calls_bind(struct tasktab *t);
/* In a turn, before the records are taken: tasks start. */
void tasktab_calls_take(struct tasktab *t, struct outbox *out);
/* Takes what a target says later of an attempt that is under way, or of one that has ended so already. */
void tasktab_complete(struct tasktab *t, struct asker a, const struct msg_task_complete *q,
                      struct outbox *out);
void tasktab_report_endpoints(struct tasktab *t, struct outbox *out);

#endif

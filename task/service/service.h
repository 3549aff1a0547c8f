/* service.h: a task node: the table (task/node) between its links. Shell.
 *
 *   routers --- rpc (listen) --- table --- rpc (dialled) --- queuemng, all of them
 *                                  |
 *                          journal, bodies
 *
 * A turn: what came in is carried out, and answered into the links' output; at its end the clock's
 * doings, the waiting calls, then bodies and journal are flushed; only then does output leave.
 *
 * Failures, and what follows (of links: node.h):
 *   all managers unreachable       partitions stay in service
 *   what was done cannot be kept   the turn's answers are not sent; keeper.h
 *   the journal cannot be read     the process does not start, and says why */
#ifndef SEGQ_TASK_SERVICE_H
#define SEGQ_TASK_SERVICE_H

#include "common/node/node.h"
#include "task/service/config.h"

struct task_service;

struct task_service_opts {
    const struct task_cfg *cfg;        /* read during task_service_new() only */
    struct node_opts node;
};

/* Reads the journal, listens and dials. */
SQ_CHECK int task_service_new(struct task_service **out, struct ev *ev,
                              const struct task_service_opts *o, struct err *e);
/* Not from inside a callback. */
void task_service_free(struct task_service *s);
/* Accepts nobody new, answers what is on its way, then calls node_opts.on_gone. */
void task_service_stop(struct task_service *s);
void task_service_reload(struct task_service *s, const struct task_cfg *c);

#endif

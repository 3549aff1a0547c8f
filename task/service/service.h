/* service.h: a task node: the table (task/table) between its links. Shell.
 *
 *   routers --- rpc (listen) --- table --- rpc (dialled) --- queuemng, all of them
 *                                  |
 *                          journal, bodies
 *
 * A turn: what came in is carried out, and answered into the links' output; at its end the clock's
 * doings, the waiting calls, then bodies and journal are flushed; only then does output leave.
 *
 * Failures, and what follows:
 *   unknown message type           MSG_ERROR SQ_EUNKNOWN, the link stays
 *   damaged body                   that link is closed, with the reason
 *   a type this peer may not send  the same
 *   no memory for an answer        the same: the peer asks again on the next link
 *   all managers unreachable       partitions stay in service
 *   what was done cannot be kept   the turn's answers are not sent; keeper.h
 *   the journal cannot be read     the process does not start, and says why */
#ifndef SEGQ_TASK_SERVICE_H
#define SEGQ_TASK_SERVICE_H

#include "common/net/ev.h"
#include "common/ticket/keys.h"
#include "task/service/config.h"

struct task_service;

struct task_service_opts {
    const struct task_cfg *cfg;        /* read during task_service_new() only */
    const struct cluster_keys *secret; /* the same */
    uint64_t incarnation;
    void (*on_ready)(void *ctx); /* once: registered, or waited long enough */
    void (*on_gone)(void *ctx);  /* after task_service_stop(), when all is sent */
    void *ctx;
};

/* Reads the journal, listens and dials. */
SQ_CHECK int task_service_new(struct task_service **out, struct ev *ev,
                              const struct task_service_opts *o, struct err *e);
/* Not from inside a callback. */
void task_service_free(struct task_service *s);
/* Accepts nobody new, answers what is on its way, then calls on_gone. */
void task_service_stop(struct task_service *s);
const char *task_service_addr(const struct task_service *s);  /* as bound */
const char *task_service_admin(const struct task_service *s); /* as bound */

#endif

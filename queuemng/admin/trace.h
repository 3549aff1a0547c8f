/* trace.h: GET /v1/admin/tickets/{token}: one ticket's story. Nodes are asked; the answer
 * waits for them. */
#ifndef SEGQ_MNG_TRACE_H
#define SEGQ_MNG_TRACE_H

#include "queuemng/admin/answers.h"

/* text: a token, or "<segment>-<number>" */
void admin_trace(struct admin_call *c);
/* POST /v1/admin/tickets/{ticket}/rebind: the next device that shows it takes it over (core/orders.h) */
void admin_rebind(struct admin_call *c);
/* A node's answer. */
void mng_trace_answer(struct mng_service *s, const char *node, const struct msg_why_ans *a);
void mng_trace_tick(struct mng_service *s); /* answers what has waited for too long */
void mng_trace_end(struct mng_service *s);  /* answers all, with what is known */

#endif

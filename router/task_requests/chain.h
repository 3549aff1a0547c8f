/* chain.h: tasks behind a task (`then` of a submission): read, checked and packed as they will be
 * submitted; and those of which a node says that their turn has come, in another partition than the
 * task before them: each becomes a submission under an Idempotency-Key made of that one's number, so
 * it is one task however often this comes. Shell. */
#ifndef SEGQ_ROUTER_CHAIN_H
#define SEGQ_ROUTER_CHAIN_H

#include "router/task_requests/call.h"

struct chain_ask { /* whose chain it is */
    struct tasking *t;
    struct slice opens; /* queues of the token that submits all of it: queues_match() */
    const struct tenant *tenant; /* NULL: nobody's */
};

/* Packs what is behind b into t->then (empty: nothing is). NULL, or what is wrong: a sentence, which may
 * be e's; then *p. */
const char *chain_pack(const struct chain_ask *a, const struct task_body *b, enum api_problem *p,
                       struct body_error *e);
/* A node hands a task over. */
void chain_relay(struct tasking *t, node_no node, const struct msg_task_notice *m);

#endif

/* chain.h: tasks behind a task (`then` of a submission): read, checked and packed as they will be
 * submitted. What becomes of them when their turn has come: notice.h. Shell. */
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
#endif

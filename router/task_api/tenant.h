/* tenant.h: tokens of tenants: a row of the file of servers' tokens (rights.h) that has more words,
 * behind its queues:
 *   key=tenant7   whose tasks they are: key of one or two levels; of one, a task may say the second
 *   priority=2    highest priority that a task may ask for, and what it has without asking; 0
 *   paths=A,B     paths behind /v1/call/ENDPOINT that may be called, with a star at the end; all
 *   wait=600      seconds that a call waits for its answer, where it does not say (Prefer); 600
 *   cost=20000    most units that one of its tasks may say, or be estimated, to take; any. What is beyond a
 *                 rate's burst is owed by all of the queue, so one who says a thousand million stops it for
 *                 days. What an answer says in the end is charged, whatever it is
 *
 * A tenant submits and calls, and that is all: other calls of a queue are about everybody's tasks. It
 * meets no task of others: its Idempotency-Keys, and what its tasks are unique by, are its own. Weights
 * and rates are of the key, in the pool. Pure. */
#ifndef SEGQ_TASK_API_TENANT_H
#define SEGQ_TASK_API_TENANT_H

#include "common/task/queue_name.h"
#include "common/submit/body.h"

#define TENANT_WAIT_S     600  /* clients of language models do so */
#define TENANT_WAIT_MOST  3600
#define TENANT_PATHS_TEXT 512

struct tenant { /* key "": it is the operator's own server */
    char key[2 * TASK_NAME_MAX + 2];
    uint8_t priority;
    uint16_t wait_s;
    uint32_t cost; /* 0: any */
    char paths[TENANT_PATHS_TEXT]; /* commas between; "": all */
};

/* words: what stands behind the queues; it is cut up. NULL, or what is wrong. */
const char *tenant_read(struct tenant *t, char *words);
/* path: behind the endpoint, with its query. */
bool tenant_may_call(const struct tenant *t, struct slice path);

/* NULL is nobody's. */
bool tenant_bears(const struct tenant *t, int64_t cost);

struct tenant_texts { /* a bound body points into them */
    char idem[33], unique[33];
};
#define TENANT_ROOM (2 * TASK_NAME_MAX + 2 + sizeof(struct tenant_texts)) /* by which a body may grow */

/* The body of a submission gets what the tenant has; t must last as long. NULL, or what the body says
 * beside it: one sentence. Nothing, if it is none. */
const char *tenant_bind(const struct tenant *t, struct task_body *b, struct tenant_texts *texts);

#endif

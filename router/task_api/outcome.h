/* outcome.h: what task nodes say of a question, as a status, or as a problem in words. Pure. */
#ifndef SEGQ_TASK_API_OUTCOME_H
#define SEGQ_TASK_API_OUTCOME_H

#include "common/wire/msg.h"
#include "router/api/response.h"

enum task_failure { /* beside enum task_code: what a router says of a question by itself */
    ASK_LOST = TASK_NCODES, /* sent, and no answer came: it may be done */
    ASK_NOBODY,             /* no node has the partition now, or it is not reached */
    ASK_OTHER_KIND,         /* the queue's tasks are calls, and this is of workers; or vice versa */
};

/* Answer to a row of a submission. */
struct task_outcome {
    int status;
    enum api_problem problem; /* status >= 400 */
    const char *detail;
};

/* code: enum task_code or task_failure. */
struct task_outcome task_put_outcome(int code);
struct task_outcome task_take_outcome(int code);
/* Answer about a task that was named by its token: CODE_UNKNOWN: it has gone. */
struct task_outcome task_token_outcome(int code);
/* Answer about an attempt that was named by its right. */
struct task_outcome task_complete_outcome(int code);

#endif

/* outcome.c: see outcome.h. */
#include "router/task_api/outcome.h"

#define FAILED(p, d) (struct task_outcome){ api_problem_status(API_##p), API_##p, d }

/* Answers to codes that mean the same everywhere. */
static struct task_outcome common(int code)
{
    switch (code) {
    case CODE_INVALID:
        return FAILED(BAD_REQUEST, "a number is out of its range");
    case CODE_FULL:
        return FAILED(QUEUE_FULL, "there is no room for more tasks now: max_waiting or max_bytes of the queue's "
                      "pool, or max_tasks of the pool or of its task node, is reached; submit again later");
    case ASK_LOST:
        return FAILED(OUTCOME_UNKNOWN, "no answer came in time; it may have been done");
    case ASK_NOBODY:
        return FAILED(QUEUE_UNAVAILABLE, "no task node has this queue now; nothing was done");
    default:
        return FAILED(QUEUE_UNAVAILABLE, "nothing can be written now; nothing was done, ask again");
    }
}

struct task_outcome task_put_outcome(int code)
{
    switch (code) {
    case CODE_DONE:
        return (struct task_outcome){ .status = 201 };
    case CODE_SAME:
        return (struct task_outcome){ .status = 200 };
    case CODE_HELD:
        return FAILED(UNIQUE_CONFLICT, "another task has this unique key");
    case CODE_MISMATCH:
        return FAILED(IDEMPOTENCY_MISMATCH,
                      "this Idempotency-Key or name belongs to a task with another payload");
    case CODE_UNKNOWN:
        return FAILED(QUEUE_NOT_FOUND, "no pool has a queue of this name");
    case CODE_CONFLICT:
        return FAILED(CONFLICT, "the key and the name belong to different tasks");
    case ASK_OTHER_KIND:
        return FAILED(BAD_REQUEST, "path, method, headers and body are for queues with an endpoint, "
                                   "payload is for the others");
    default:
        return common(code);
    }
}

struct task_outcome task_take_outcome(int code)
{
    if (code == CODE_DONE)
        return (struct task_outcome){ .status = 200 };
    if (code == ASK_OTHER_KIND)
        return FAILED(QUEUE_HAS_ENDPOINT, "the tasks of this queue are calls to its endpoint, which "
                                          "we make ourselves: no worker takes them");
    return code == CODE_UNKNOWN ? FAILED(QUEUE_NOT_FOUND, "no pool has a queue of this name")
                                : common(code);
}

struct task_outcome task_token_outcome(int code)
{
    switch (code) {
    case CODE_DONE:
    case CODE_SAME:
        return (struct task_outcome){ .status = 200 };
    case CODE_UNKNOWN:
        return FAILED(TASK_GONE, "this task is over, and is not kept any more");
    case CODE_DENIED:
        return FAILED(NOT_ELIGIBLE, "this server's token is not for the queue of this task, or the "
                                    "task is over and is not kept any more");
    case CODE_CONFLICT:
        return FAILED(CONFLICT, "the task is not in a state, or under a lease, that allows it");
    default:
        return common(code);
    }
}

struct task_outcome task_complete_outcome(int code)
{
    if (code == CODE_INVALID)
        return FAILED(TASK_UNKNOWN, "this is not the right of an attempt of ours");
    if (code == CODE_CONFLICT)
        return FAILED(CONFLICT, "the attempt is over: its time ended, or it was told otherwise");
    return task_token_outcome(code);
}

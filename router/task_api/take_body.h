/* take_body.h: the body of a take from several queues: {"queues":["images","ride/7"],"n":10,"lease":"30s",
 * "wait":"20s"}. Pure. */
#ifndef SEGQ_TASK_API_TAKE_BODY_H
#define SEGQ_TASK_API_TAKE_BODY_H

#include "common/task/rules.h"
#include "common/submit/json_members.h"

#define TAKE_QUEUES_MAX 16

struct take_body {
    int64_t n, lease, wait; /* lease 0: as the pools say; ms */
    uint32_t n_queues;
    char queue[TAKE_QUEUES_MAX][TASK_NAME_MAX + 1]; /* different ones */
};

/* The whole body. False: *e says why. */
SQ_CHECK bool take_body_read(struct take_body *b, struct slice text, struct body_error *e);

#endif

/* request_body.h: bodies of requests that are read in one place each. Pure.
 *
 * A submission whose body is its payload, byte for byte: what is no JSON by its Content-Type. Its
 * members stand in the query: ?key=tenant7&priority=3&delay=2s&labels=a,b. */
#ifndef SEGQ_REQUEST_BODY_H
#define SEGQ_REQUEST_BODY_H

#include "common/base/buf.h"
#include "common/http/http.h"
#include "common/submit/body.h"
#include "common/submit/json_members.h"
#include "common/task/rules.h"

#define RAW_MEMBERS                                                                                   \
    (WITH(KEY) | WITH(DELAY) | WITH(AT) | WITH(PRIORITY) | WITH(ORDER) | WITH(NAME) | WITH(TTL) |     \
     WITH(MAX_ATTEMPTS) | WITH(LABELS) | WITH(COST) | WITH(GROUP) | WITH(RESULT))

static inline bool is_raw_body(const struct http_req *q)
{
    return q->has_body && !q->json;
}

/* Into b, whose texts lie in `text`, and in the request. False: e says why. */
SQ_CHECK bool raw_body_read(struct task_body *b, struct buf *text, const struct http_req *q, struct body_error *e);

/* The body of a take from several queues: {"queues":["images","ride/7"],"n":10,"lease":"30s",
 * "wait":"20s"}. */

#define TAKE_QUEUES_MAX 16

struct take_body {
    int64_t n, lease, wait; /* lease 0: as the pools say; ms */
    uint32_t n_queues;
    char queue[TAKE_QUEUES_MAX][TASK_NAME_MAX + 1]; /* different ones */
};

/* The whole body. False: *e says why. */
SQ_CHECK bool take_body_read(struct take_body *b, struct slice text, struct body_error *e);

#endif

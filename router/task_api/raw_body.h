/* raw_body.h: a submission whose body is its payload, byte for byte: what is no JSON by its Content-Type. Its
 * members stand in the query: ?key=tenant7&priority=3&delay=2s&labels=a,b. Pure. */
#ifndef SEGQ_TASK_API_RAW_BODY_H
#define SEGQ_TASK_API_RAW_BODY_H

#include "common/base/buf.h"
#include "common/http/http.h"
#include "common/submit/body.h"

#define RAW_MEMBERS                                                                                   \
    (WITH(KEY) | WITH(DELAY) | WITH(AT) | WITH(PRIORITY) | WITH(ORDER) | WITH(NAME) | WITH(TTL) |     \
     WITH(MAX_ATTEMPTS) | WITH(LABELS) | WITH(COST) | WITH(GROUP) | WITH(RESULT))

static inline bool is_raw_body(const struct http_req *q)
{
    return q->has_body && !q->json;
}

/* Into b, whose texts lie in `text`, and in the request. False: e says why. */
SQ_CHECK bool raw_body_read(struct task_body *b, struct buf *text, const struct http_req *q, struct body_error *e);

#endif

/* request_body.h: what bodies of requests say, where one place reads it. Pure.
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
#include "router/task_api/pools.h"
#include "router/task_api/rights.h"

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

/* Routes of calls (/v1/route/NAME/PATH): from a word of a request's body to the endpoints
 * that may have it, in the order in which they are tried. */

#define ROUTE_WAYS_MAX 8

enum route_end {
    ROUTE_FOUND, ROUTE_UNKNOWN, ROUTE_NO_MATCH,
    ROUTE_TWICE, /* the word is, in one object */
    ROUTE_DEEP,  /* JSON, nested deeper than is read: perhaps the word is there */
};

struct route_ways {
    unsigned n;
    const char *endpoint[ROUTE_WAYS_MAX];  /* lives until the next map */
    uint32_t max_wait_ms[ROUTE_WAYS_MAX];  /* 0: any */
    int64_t cost[ROUTE_WAYS_MAX];          /* units, there; by who has read them */
};

/* scratch: the word is copied there, since reading changes it. */
enum route_end route_find(const struct pools *t, struct slice name, struct slice body,
                          uint64_t length, struct buf *scratch,
                          struct route_ways *out);

/* Units of a call at the door: what its caller says, or what the endpoint's rule estimates. */

/* Units that the header segq-cost names; 0: it is not there. NULL, or what is wrong. */
const char *call_cost_named(const struct http_req *q, int64_t *cost);
/* *cost: what is named (0: nothing), then what the call with this body takes, in this way (NULL: none is
 * known) and for this tenant (NULL: nobody's). NULL, or why it cannot go there. */
const char *call_cost(const struct task_way *w, const struct tenant *t, struct slice body, uint64_t length,
                      int64_t *cost);
/* The same of a call in its form. */
const char *call_cost_of_form(const struct task_way *w, const struct tenant *t, struct slice form, int64_t *cost);
/* NULL, or why its pool has no task of such a cost (0: none is named). */
const char *call_cost_beyond(const struct task_way *w, int64_t cost);

#endif

/* call_route.h: routes of calls (/v1/route/NAME/PATH): from a word of a request's body to the endpoints
 * that may have it, in the order in which they are tried. Pure. */
#ifndef SEGQ_TASK_API_CALL_ROUTE_H
#define SEGQ_TASK_API_CALL_ROUTE_H

#include "common/base/buf.h"
#include "common/http/http.h"
#include "router/task_api/pools.h"
#include "router/task_api/rights.h"

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

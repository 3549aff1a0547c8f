/* call_cost.h: units of a call at the door: what its caller says, or what the endpoint's rule estimates. Pure. */
#ifndef SEGQ_TASK_API_CALL_COST_H
#define SEGQ_TASK_API_CALL_COST_H

#include "common/http/http.h"
#include "router/task_api/pools.h"
#include "router/task_api/tenant.h"

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

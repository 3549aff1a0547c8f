/* endpoints.h: endpoints are defined, changed and removed. One that no pool has gets a pool of its
 * own name, so that it can be called. */
#ifndef SEGQ_QUEUEMNG_TASKS_ENDPOINTS_H
#define SEGQ_QUEUEMNG_TASKS_ENDPOINTS_H

#include "common/base/err.h"
#include "queuemng/state/tasks.h"

struct mng;

/* A new definition (endpoint: NULL), or a changed one, that endpoint_def_check() has passed. SQ_EINVAL,
 * SQ_ECONFLICT, SQ_ENOMEM. */
SQ_CHECK int endpoint_define(struct mng *m, void *endpoint, const void *def, struct err *e);
/* The same, and it gets no pool. */
SQ_CHECK int endpoint_define_alone(struct mng *m, void *endpoint, const void *def, struct err *e);
/* By hand. TRIP: no call begins until a reset, at whatever node, over restarts. RESET: that ends,
 * breakers close, and what nodes know of failures is forgotten. PROBE: each node that calls it sends
 * one call, if it is down. */
enum endpoint_order { ENDPOINT_TRIP, ENDPOINT_RESET, ENDPOINT_PROBE, ENDPOINT_NORDERS };
void endpoint_order(struct mng *m, struct mendpoint *x, enum endpoint_order o);
/* SQ_ECONFLICT, unless final: pools have it, beside one of its own name whose tasks are all at their
 * end. */
SQ_CHECK int endpoint_may_remove(const struct mng *m, const void *endpoint, bool final, struct err *e);
/* Removes it with all pools that have it, and their tasks. */
void endpoint_remove(struct mng *m, void *endpoint);

#endif

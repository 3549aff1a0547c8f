/* endpoints.h: endpoints are defined, changed and removed; one that no pool has gets a pool of its own
 * name, so that it can be called.
 *
 * What an endpoint bears is divided: each task node that has a partition of its pools may
 * use a part of its rate and of its calls at once, by demand: a node could use what it uses, a quarter
 * more, and what waits there for nothing but its share; one that is not heard keeps what it holds.
 *
 * What a node may be using (`held`) is stored before it is told, and counts until the node says that
 * less is in force, and that no more calls are under way. Only what nobody holds is given to others:
 * so the sum is never above the whole, whatever is lost, and whichever manager leads. A node that
 * has none of these partitions any more begins no call, since it cannot write that one starts; if it
 * is away, what it held is free when its calls have ended. */
#ifndef SEGQ_QUEUEMNG_TASKS_ENDPOINTS_H
#define SEGQ_QUEUEMNG_TASKS_ENDPOINTS_H

#include "common/base/err.h"
#include "queuemng/state/tasks.h"

struct mng;

/* At the end of each step: divided anew, if something has changed (mtasks.split), and told. */
void shares_flush(struct mng *m);
void on_endpoint_status(struct mng *m, struct mtask_node *n, const struct msg_endpoint_status *g);
/* The node's link is new, or gone: what it was told is said again. */
void shares_unsaid(struct mng *m, const struct mtask_node *n);
/* The node is forgotten. */
void shares_forget(struct mng *m, const struct mtask_node *n);

/* Each second: what the nodes have reported is looked at. */
void demand_second(struct mng *m);
/* Sets the aims of all shares: the whole is divided among the owners. */
void demand_aims(struct mng *m, struct mendpoint *x, struct bears whole);

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

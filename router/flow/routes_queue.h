/* routes_queue.h: one queue's record: built from the map, put into the tables, taken out. Pure.
 * Replacing one queue touches only its own segments and aliases. */
#ifndef SEGQ_ROUTES_QUEUE_H
#define SEGQ_ROUTES_QUEUE_H

#include "router/flow/routes_state.h"

/* A queue's record made of a map's; NULL: no memory. */
struct rt_queue *rt_queue_new(const struct map_queue *m);
/* A new record keeps what the router learnt by itself: figures, "sealed" answers. */
void rt_queue_inherit(struct rt_queue *q, const struct routes *r);
/* 0 or SQ_ENOMEM: then it may be linked in part, and is to be unlinked. */
SQ_CHECK int rt_queue_link(struct routes *r, struct rt_queue *q);
void rt_queue_unlink(struct routes *r, struct rt_queue *q); /* q is freed */
void rt_queue_free(struct rt_queue *q);
uint64_t rt_name_hash(const char *name, size_t n);

#endif

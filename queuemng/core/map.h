/* map.h: what routers are told: the chain map (queues, lanes, segments, aliases, nodes and keys), to each
 * router the changes since the version that it has; the map of tasks (pools, partitions, owners), all of
 * it, when a router registers and at the end of a step that changed something; and once a second the
 * figures of queues (waiting people, rates, waiting times), this manager's clock, and the nodes that it
 * does not reach. */
#ifndef SEGQ_QUEUEMNG_CORE_MAP_H
#define SEGQ_QUEUEMNG_CORE_MAP_H

#include "common/base/base.h"

struct mng;

/* To each router what has changed since its version; without memory with the next step. */
void maps_flush(struct mng *m);

/* The map of tasks, likewise. */
void task_maps_flush(struct mng *m);

/* Routers hear at the end of this step if another node is reached, or one is not any more. */
void stats_look(struct mng *m);
/* To all routers: queues whose figures have changed, and the clock. */
void stats_flush(struct mng *m);

struct mrouter;
struct msg_left;
/* A router knows who has left, of a node that is not reached: all others hear of it. */
void left_pass_on(struct mng *m, const struct mrouter *from, const struct msg_left *g);
/* The same that was told lately, to a router that has just come. */
void left_flush(struct mng *m, const struct mrouter *to);

#endif

/* task_map.h: pools, partitions and owners as routers are told: all of it, each time, when a
 * router registers and at the end of a step that changed something. */
#ifndef SEGQ_QUEUEMNG_TASKS_TASK_MAP_H
#define SEGQ_QUEUEMNG_TASKS_TASK_MAP_H

struct mng;

void task_maps_flush(struct mng *m);

#endif

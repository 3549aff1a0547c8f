/* pools.h: the manager's map of pools and partitions, as a router keeps it: from a queue's name, or
 * from a task's partition, to the node that has it. Pure.
 * Each map replaces the one before as a whole. What is borrowed lives until the next one. */
#ifndef SEGQ_TASK_API_POOLS_H
#define SEGQ_TASK_API_POOLS_H

#include "common/base/map.h"
#include "common/base/memory.h"
#include "common/wire/msg.h"

struct task_way { /* to a partition */
    part_no part;
    uint32_t of; /* partitions of its pool */
    uint64_t epoch;    /* epoch of its owner */
    node_no node;      /* 0: nobody has it now */
    uint32_t max_body; /* bound of its pool, as is */
    const char *endpoint; /* "": workers take its tasks */
    const char *url;      /* url of the endpoint; or of its targets, for url_next() */
    bool cancel_on_disconnect; /* see map_pool */
    struct cost_rule cost;     /* likewise */
    uint32_t max_cost;         /* units of a task; 0: any */
    const char *cost_says;     /* for one that has more */
    const char *body_says;     /* for one whose body is larger */
    const char *match;    /* pattern of its pool: all queues of the partition fit */
};

struct pools {
    struct arena memory;
    struct msg_task_map map; /* in it */
    struct map by_part;      /* part_no -> struct task_way * in it */
    bool known;              /* a map has come */
};

void pools_init(struct pools *t);
void pools_fini(struct pools *t);
/* 0; SQ_ESTALE: of a former leader; SQ_EPROTO: it contradicts itself; SQ_ENOMEM. On error the one
 * before stays. */
SQ_CHECK int pools_apply(struct pools *t, const struct msg_task_map *m);

#define POOLS_OF_QUEUE_MOST 32

/* NULL: no pool matches. */
const struct task_way *pools_of_queue(const struct pools *t, const char *name, size_t n);
/* The i-th pool that matches; NULL: there are no more. The first is the one that has the queue; tasks and
 * schedules of before may be in the others. */
const struct task_way *pools_of_queue_at(const struct pools *t, const char *name, size_t n, uint32_t i);
/* How many those are, POOLS_OF_QUEUE_MOST at most; 1 if there are none. */
uint32_t pools_count_of(const struct pools *t, const char *name, size_t n);
/* The queue to which calls of an endpoint go that name none: that of the endpoint's own name, or the
 * only pool that has it and is a name. NULL: there is none, or there are several. */
const char *pools_queue_of(const struct pools *t, const char *endpoint, size_t n);
/* NULL: no such partition. */
const struct task_way *pools_of_part(const struct pools *t, part_no part);

#endif

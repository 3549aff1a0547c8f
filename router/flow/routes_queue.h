/* routes_queue.h: inside of routes: one record per queue, in one piece of memory, and the tables that
 * find it. A record is built from the map, put into the tables, taken out; replacing one queue
 * touches only its own segments and aliases. Pure; for routes.c only. */
#ifndef SEGQ_ROUTES_QUEUE_H
#define SEGQ_ROUTES_QUEUE_H

#include "router/flow/routes.h"

struct rt_queue;

struct rt_seg {
    seg_id id;
    struct rt_queue *queue; /* ref: the record that it is a part of */
    node_no node;
    uint8_t state; /* enum seg_state; SEALED also if only the segment itself said so */
    uint8_t lane;
    uint64_t base; /* struct map_seg */
};

struct rt_lane {
    struct rt_seg *segs; /* in the queue's memory, chain order */
    struct map_alias *aliases;
    uint32_t n_segs, n_aliases;
    uint32_t tail; /* index of the first open one; n_segs: none is open */
};

struct rt_queue { /* a single malloc: segments, aliases and names follow the struct */
    struct route_queue pub;
    struct rt_queue *same_hash; /* next queue whose name has the same hash */
    struct rt_queue *staged;    /* next record of a map that is not complete yet */
    struct bypass *bypass;      /* owned; NULL: none */
    uint64_t hash, stamp;       /* stamp: the map application that brought it */
    char limited_by[NAME_MAX_LEN + 1];
    struct rt_lane lane[LANES_MAX];
};

struct rt_stage { /* frames of a map whose last one has not come yet */
    bool active, has_nodes;
    uint64_t epoch, from_version, version;
    struct rt_queue *queues; /* newest first */
    queue_id *removed;
    struct route_node *nodes;
    uint8_t (*keys)[32];
    size_t n_removed, n_nodes, n_keys;
};

struct routes {
    uint64_t version, epoch, store, stamp, changes;
    seg_id next_seg;
    struct map queues;  /* queue_id -> rt_queue, owned */
    struct map names;   /* hash of the name -> first rt_queue */
    struct map segs;    /* seg_id -> rt_seg */
    struct map aliases; /* seg_id -> the seg_id that holds its tickets */
    struct route_node *nodes;
    uint8_t (*keys)[32];
    size_t n_nodes, n_keys;
    uint64_t keys_generation; /* counts changes of the keys */
    struct rt_stage stage;
};

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

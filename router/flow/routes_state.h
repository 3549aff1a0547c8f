/* routes_state.h: inside of routes: one record per queue, in one piece of memory, and the
 * tables that find it; data only. Only routes.c, routes_apply.c and routes_queue.c include
 * this. */
#ifndef SEGQ_ROUTES_STATE_H
#define SEGQ_ROUTES_STATE_H

#include "router/flow/routes.h"

struct rt_queue;

struct rt_seg {
    seg_id id;
    struct rt_queue *queue; /* ref: the record that it is a part of */
    node_no node;
    uint8_t state; /* enum seg_state; SEALED also if only the segment itself said so */
    uint8_t lane;
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

#endif

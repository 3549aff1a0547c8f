/* routes.h: what a router knows of the cluster: the chain map and the queues' figures.
 * Pure. Applied from MSG_MAP and MSG_STATS; asked by flow.c. Owns copies of everything. */
#ifndef SEGQ_ROUTES_H
#define SEGQ_ROUTES_H

#include "common/base/map.h"
#include "common/wire/msg.h"
#include "router/gate/bypass.h"

struct routes;

struct route_node {
    node_no no;
    char name[NAME_MAX_LEN + 1], addr[64];
};

struct routes *routes_new(void); /* NULL: no memory */
void routes_free(struct routes *r);

void routes_stats(struct routes *r, const struct msg_stats *s);

uint64_t routes_version(const struct routes *r); /* 0: no map yet */
uint64_t routes_changes(const struct routes *r); /* counts maps and STATS: what is borrowed from r
                                                  * is good as long as it stays */
uint64_t routes_epoch(const struct routes *r);
uint64_t routes_store(const struct routes *r); /* whose map it is: of no others is one taken */
void routes_disown(struct routes *r); /* used on until any other comes */
size_t routes_nodes(const struct routes *r, const struct route_node **v);
size_t routes_keys(const struct routes *r, const uint8_t (**keys)[32]);
uint64_t routes_keys_generation(const struct routes *r); /* another number: other keys */

struct route_queue { /* borrowed until the next routes_apply */
    struct map_queue map; /* the manager's map; texts are never NULL. Lanes without
                           * their segments: routes_tail(), routes_owner() */
    const char *said;     /* map.message as `,"message":"..."` of an answer; "": none */
    uint32_t page_version; /* a hash of page and message: the same at every router; 0: both "" */
    const struct bypass *bypass; /* map.gate, read; NULL: all go through the room */
    struct queue_stats stats;    /* zero until known */
};
/* NULL: no such queue (only certain if routes_version() > 0). */
const struct route_queue *routes_queue(const struct routes *r, const char *name, size_t n);

/* for (size_t i = 0; (q = routes_next(r, &i)) != NULL;) all queues, in no order. */
const struct route_queue *routes_next(const struct routes *r, size_t *i);

/* Passthrough: no pass is needed for it. */
static inline bool route_is_free(const struct route_queue *q)
{
    return q != NULL && q->map.when.phase == PHASE_PASSTHROUGH;
}

struct route_tail { /* where a join goes */
    seg_id seg;
    node_no node;
};
/* 0; SQ_EUNKNOWN no such lane; SQ_EFULL: no segment of the lane is open; SQ_EUNAVAIL: as
 * long as early joins are closed out and the queue has not opened, or since its
 * last one was lost with its node. */
SQ_CHECK int routes_tail(const struct routes *r, queue_id q, unsigned lane,
                         struct route_tail *t);
/* Joins that come to this place or one before it may be let in at once (struct
 * queue_stats); 0: none. */
uint64_t routes_entry(const struct routes *r, queue_id q);
/* A segment has answered "sealed": joins of its lane go past it from now on. */
void routes_sealed(struct routes *r, seg_id seg);

struct route_owner {
    seg_id seg; /* the one that holds its tickets now */
    node_no node;
    const struct route_queue *queue;
    unsigned lane;
    bool lost;
};
/* 0; SQ_EGONE: was unlinked (all its tickets are over), or its queue was deleted;
 * SQ_ESTALE: newer than the map here. */
SQ_CHECK int routes_owner(const struct routes *r, seg_id token_seg, struct route_owner *o);

/* A segment as the tokens of a lane name it, and the one that has its tickets now. */
struct route_name {
    seg_id name, host;
    node_no node;
    uint64_t base; /* ordinal of its number 0 in the lane; 0: not told, or nobody ever joined it */
    bool open; /* more may join it */
    bool lost;
};
/* The next of the lane's, in no order; *i: 0 to begin with. False: there is no other. */
bool routes_name(const struct routes *r, const struct route_queue *q, unsigned lane, uint32_t *i,
                 struct route_name *n);

/* ---- a new map, frame by frame ----
 * Frames with `more` are staged; the last one makes all of it valid at once. Without memory the
 * router forgets everything and asks anew: it never goes on with half a map. */

/* 0 applied; SQ_ESTALE: does not follow what is here (ask for everything again: register
 * with version 0); SQ_ENOMEM (same cure), SQ_EPROTO. A frame with `more` is kept aside until
 * the last one. */
SQ_CHECK int routes_apply(struct routes *r, const struct msg_map *m);
/* Everything, staged frames too; the epoch stays: an older manager is still refused. */
void routes_forget(struct routes *r);

#endif

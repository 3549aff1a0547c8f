/* seg_links.h: the links to segment nodes, and the batches of requests that are collected on them.
 * Shell. Nothing is sent from here, so nobody is called back: batches leave when the turn ends.
 *
 *   seg_links.c   a flow's request goes into its node's next batch
 *   seg_batch.c   sends batches, takes answers
 *   seg_link.c    dials; what comes in
 * Nobody else looks inside. */
#ifndef SEGQ_SEG_LINKS_H
#define SEGQ_SEG_LINKS_H

#include "common/wire/msg.h"
#include "router/links/flows.h"
#include "router/state/node_links.h"

struct batch {
    struct list_node in_list; /* member of its kind's open or sent ones, or of the free ones */
    uint64_t rid;
    int64_t since_us; /* when the first one came */
    uint32_t n;
    struct rflow *v[MSG_BATCH_MAX]; /* ref; NULL: the flow has ended */
};

#define SEG_KINDS (FLOW_SESSION + 1)

struct kind {         /* kind: place, append, drop, session */
    struct list open; /* being collected, oldest first: all but the last one are full */
    struct list sent; /* oldest first */
};

struct seg_link {
    struct node_link n;
    struct seg_links *s; /* ref */
    struct kind kind[SEG_KINDS]; /* by enum flow_kind */
    uint64_t seen_rid;           /* id of the last MSG_SEEN */
};

struct seg_links {
    struct router *r; /* ref */
    struct node_links nodes;
    uint64_t next_rid;
    struct list free_batches;
    struct ev_timer *seen_timer;
    ev_fn farewell_done; /* NULL: the process does not end */
    void *farewell_arg;
    union { /* requests of the frame being made */
        struct place_req place[MSG_BATCH_MAX];
        struct append_req append[MSG_BATCH_MAX];
        struct drop_req drop[MSG_BATCH_MAX];
        struct sess_req session[MSG_BATCH_MAX];
    } req;
};

/* Puts rf's request into the next batch. 0; SQ_EUNAVAIL: the node cannot be asked; SQ_EUNKNOWN: it
 * is of an older release, which would not understand it. While a link is being dialled for the
 * first time, one batch of requests waits for it. */
SQ_CHECK int seg_link_ask(struct seg_links *s, struct rflow *rf);
/* Nodes that are reached, and nodes in the map. */
void seg_links_count(const struct seg_links *s, size_t *up, size_t *of);

/* Given back when a sent batch has its answers. b is in no list. */
void batch_free(struct seg_links *s, struct batch *b);

#endif

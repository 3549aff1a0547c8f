/* seg_int.h: inside of seg_link.c (links) and seg_batch.c (batches). Nobody else's. */
#ifndef SEGQ_SEG_INT_H
#define SEGQ_SEG_INT_H

#include "common/wire/codec.h"
#include "router/service/router_flow.h"
#include "router/service/seg_link.h"

struct batch {
    struct list_node in_sent;
    uint64_t rid;
    int64_t since_us; /* when the first one came */
    uint32_t n;
    struct rflow *v[MSG_BATCH_MAX]; /* ref; NULL: the flow has ended */
};

#define SEG_KINDS (FLOW_SESSION + 1)

struct kind {           /* one of place, append, drop, session */
    struct batch *open; /* being collected; NULL: none */
    struct list sent;   /* oldest first */
};

struct seg_link {
    struct seg_links *s; /* ref */
    struct rpc_link *link;
    struct rpc_chan *ch; /* NULL: down */
    node_no no;
    uint64_t generation;
    bool failed; /* since it was last up: do not let anybody wait for it */
    bool stays;  /* in the newest map */
    char name[NAME_MAX_LEN + 1];
    struct kind kind[SEG_KINDS]; /* by enum flow_kind */
};

struct seg_links {
    struct router *r; /* ref */
    struct map by_no; /* node_no -> struct seg_link, owned */
    uint64_t next_rid;
    struct list free_batches;
    union { /* requests of the frame being made */
        struct place_req place[MSG_BATCH_MAX];
        struct append_req append[MSG_BATCH_MAX];
        struct drop_req drop[MSG_BATCH_MAX];
        struct sess_req session[MSG_BATCH_MAX];
    } req;
};

/* seg_batch.c */
void seg_batches_send(struct seg_links *s); /* at the end of a turn */
/* Everything asked on this link is lost: its flows are told. */
void seg_batches_lost(struct seg_link *l);
/* 0, or SQ_EPROTO: the answer does not fit to any question of ours. */
SQ_CHECK int seg_batch_answer(struct seg_link *l, const struct msg *m, uint64_t rid);
void seg_batch_refused(struct seg_link *l, uint64_t rid);

#endif

/* lineup.h: the chain of segments over nodes: each is a real line (segment/line/segq.h). Pure. */
#ifndef SEGQ_REHEARSE_LINEUP_H
#define SEGQ_REHEARSE_LINEUP_H

#include "segment/line/segq.h"

#define LINEUP_POP_MAX 16384

struct lineup_seg {
    struct segq q;
    uint32_t first; /* order of its number 0 */
    uint32_t ahead; /* people in the segments before, as of the last tick */
    uint16_t node;
};

struct lineup {
    struct block_pool pool;
    struct lineup_seg *v; /* owned */
    uint32_t n, cap, head; /* segments before head are dry for good */
    uint32_t capacity, joined;
    uint64_t waiting;
};

void lineup_init(struct lineup *l, uint32_t capacity);
void lineup_fini(struct lineup *l);
/* A place at the tail; the next segment is opened on `node` if the tail is full, or
 * its node is another one that is away (sealed: by the caller). SQ_ENOMEM;
 * SQ_EFULL: there are 65535 segments. */
SQ_CHECK int lineup_join(struct lineup *l, unsigned node, uint16_t *seg, uint32_t *order);
/* The node of the tail that takes joins; UINT_MAX: there is none, the next join opens one. */
unsigned lineup_tail(const struct lineup *l);
void lineup_seal(struct lineup *l); /* the tail's node is away */
uint32_t lineup_place(const struct lineup *l, unsigned seg, uint32_t order);
bool lineup_waits(const struct lineup *l, unsigned seg, uint32_t order);
void lineup_drop(struct lineup *l, unsigned seg, uint32_t order, enum dead why);
/* Up to n (at most LINEUP_POP_MAX) of segment seg: their orders. */
uint32_t lineup_pop(struct lineup *l, unsigned seg, uint32_t n, uint32_t *out);
void lineup_settle(struct lineup *l); /* once a tick */

#endif

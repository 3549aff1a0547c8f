/* frame.h: the frames of a push: rows are collected until a frame is full, and given to one
 * router, or the same to all that listen. Pure. */
#ifndef SEGQ_SEG_REPLICA_FRAME_H
#define SEGQ_SEG_REPLICA_FRAME_H

#include "common/wire/msg.h"
#include "segment/replica/rows.h"

struct build { /* a push being built */
    struct segtab *t;
    struct outbox *out;
    struct peer *to;      /* NULL: each that has begun */
    struct msg_replica m; /* the frame at hand */
    size_t bytes;         /* bytes of it, about */
    unsigned frames;      /* still for the one; for all: not limited */
    bool heard;           /* somebody has begun */
    bool waiting;         /* somebody waits here */
    bool said;            /* something to all */
    bool failed;          /* no memory: something is left out */
};

/* A row as it is: what died, and numbers that are new, are all that changed. */
void frame_row(struct build *b, struct name_of n, const struct replica_row *row,
               const uint32_t *died, uint32_t n_died);
/* A row with the pace of its lane and all lines from `block` on, in as many frames as it takes;
 * for one router: as it still may have. The block to go on with, or FRAME_ALL. */
#define FRAME_ALL UINT32_MAX
uint32_t frame_whole(struct build *b, struct name_of n, const struct replica_row *row,
                     uint32_t block);
void frame_pace(struct build *b, const struct queue *q, unsigned lane); /* once a frame */
void frame_gone(struct build *b, seg_id name);
/* Sends what is collected, if it is anything. */
void frame_close(struct build *b);
/* The end of the push for this router. */
void frame_stamp(struct build *b);

#endif

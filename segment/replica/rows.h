/* rows.h: the numbers of one name as bytes of a row of MSG_REPLICA (lines of bits, and the dead),
 * and the frames of a push: rows are collected until a frame is full, and given to one router, or
 * the same to all that listen. Pure.
 *
 * A name is a segment as tokens call it: a hosted one (r NULL: slots below `joined` are its
 * numbers), or one that its host has absorbed. */
#ifndef SEGQ_SEG_REPLICA_ROWS_H
#define SEGQ_SEG_REPLICA_ROWS_H

#include "common/base/memory.h"
#include "common/wire/msg.h"
#include "segment/core/state.h"

struct name_of {
    struct seg *host;
    const struct reloc *r; /* NULL: the host itself */
};

/* The first and the one behind the last slot that can have tickets of it. */
uint32_t name_slot(struct name_of n);
uint32_t name_slot_end(struct name_of n);
/* Numbers that it ever gave; the first that lives, or that. */
uint32_t name_end(struct name_of n);
uint32_t name_head(struct name_of n);
/* Living tickets of the host before its first slot. Tags must be settled. */
uint32_t name_rank(struct name_of n);

#define FRAME_ROWS 512u

struct build { /* a push being built */
    struct segtab *t;
    struct outbox *out;
    struct peer *to;      /* NULL: each that has begun */
    struct msg_replica m; /* the frame at hand */
    size_t bytes;         /* bytes of it, about */
    uint32_t rows;        /* room of a frame: FRAME_ROWS, or less */
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

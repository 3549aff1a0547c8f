/* xfer_out.h: the source's end of a move: what of a segment is sent when. Pure. */
#ifndef SEGQ_SEG_COPY_XFER_OUT_H
#define SEGQ_SEG_COPY_XFER_OUT_H

#include "segment/copy/xfer.h"

enum xfer_phase {
    XFER_BEGUN,    /* COPY_BEGIN is sent; nothing more until it is acknowledged (as 0) */
    XFER_BLOCKS,   /* sending blocks */
    XFER_TOUCHING, /* blocks are sent; sending what changed meanwhile */
    XFER_REST,     /* fenced: the last touches */
    XFER_SESSIONS, /* fenced */
    XFER_RELOCS,   /* fenced */
    XFER_SUBJECTS, /* fenced */
    XFER_CONTACTS, /* fenced */
    XFER_LAST,     /* fenced: COPY_END is next */
    XFER_SENT,     /* fenced: everything is sent */
};

struct xfer_out {
    uint64_t move;
    seg_id from, to;
    enum xfer_phase phase;
    uint32_t seq, acked; /* last sent, last acknowledged */
    uint32_t n_blocks;   /* blocks of the source; those before next_block have been sent */
    uint32_t next_block;
    uint64_t *touched; /* owned; one bit per slot of sent blocks */
    uint32_t n_touched, touch_word, rounds;
    struct reloc *frozen;            /* owned; from the fence on */
    const struct session *returning; /* ref: next to be sent */
    uint32_t cursor;                 /* in the list of the present phase */
    uint32_t portion; /* rows of a message, at most; 0: as many as fit */
    bool waits; /* no fence now */
    uint64_t ahead;                  /* `ahead` of the source, kept up to date; said at the end */
};

/* 0 or SQ_ENOMEM. */
SQ_CHECK int xfer_out_init(struct xfer_out *x, const struct contents *b, uint64_t move,
                           seg_id to, uint64_t ahead);
void xfer_out_fini(struct xfer_out *x);
void xfer_out_begin(const struct xfer_out *x, const struct contents *b,
                    const struct xfer_time *tm, struct outbox *out, peer_no peer);
/* NULL, or why no target may have the segment (before the copy, and at its fence). */
const char *xfer_out_unfit(const struct contents *b);
/* The ticket at this slot was polled, popped, dropped or timed out. */
void xfer_out_touch(struct xfer_out *x, uint32_t slot);
/* Sends what the window allows. NULL, or why the move cannot go on. */
const char *xfer_out_pump(struct xfer_out *x, struct contents *b, const struct xfer_time *tm,
                          struct outbox *out, peer_no peer);
/* NULL, or why it is nonsense. */
const char *xfer_out_ack(struct xfer_out *x, uint32_t seq);
static inline bool xfer_out_is_fenced(const struct xfer_out *x)
{
    return x->phase >= XFER_REST;
}
/* Everything is sent: the target may be complete, so only MOVE_END decides from now on.
 */
static inline bool xfer_out_is_final(const struct xfer_out *x)
{
    return x->phase == XFER_SENT;
}

#endif

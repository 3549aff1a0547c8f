/* xfer.h: both ends of a move: what is sent when, and what is made of it. Pure.
 * proto/PROTOCOL.md section 6 has the sequence; segment/transfer/move.c the orders around it.
 *
 * source: BEGUN -> BLOCKS -> TOUCHING -> (fence) -> REST -> SESSIONS -> RELOCS ->
 * SUBJECTS Up to the fence the segment serves everything; what is done to a ticket whose
 * block has been sent is noted in a bitmap and sent again as a touch. From the fence on
 * the caller lets nothing in the segment change. target: stages the blocks beside its own
 * line; the commit appends what is alive behind it. The chunks, touches and extras carry
 * one sequence of numbers; a gap is refused, so a lost message aborts the move and never
 * damages it. */
#ifndef SEGQ_XFER_H
#define SEGQ_XFER_H

#include "common/wire/outbox.h"
#include "segment/line/body.h"

#define XFER_WINDOW      8    /* messages not yet acknowledged */
#define XFER_TOUCH_MAX   2048 /* in one message */
#define XFER_SESSION_MAX 2048
#define XFER_SUBJECT_MAX 1024
#define XFER_RELOC_MAX   (900u << 10) /* must fit into a frame */
#define XFER_MIN_LEFT_MS 5000         /* idle time that a moved ticket has at least */

struct xfer_time { /* of the segment that is moved, or moved into */
    msec_t now_ms, service_ms;
    int64_t wall_ms;
    uint32_t unit_ms;
    uint8_t unit_now; /* modulo 256 */
};

/* ---- source ---------------------------------------------------------------------- */

enum xfer_phase {
    XFER_BEGUN,    /* COPY_BEGIN is sent; nothing more until it is acknowledged (as 0) */
    XFER_BLOCKS,   /* sending blocks */
    XFER_TOUCHING, /* blocks are sent; sending what changed meanwhile */
    XFER_REST,     /* fenced: the last touches */
    XFER_SESSIONS, /* fenced */
    XFER_RELOCS,   /* fenced */
    XFER_SUBJECTS, /* fenced */
    XFER_LAST,     /* fenced: COPY_END is next */
    XFER_SENT,     /* fenced: everything is sent */
};

struct xfer_out {
    uint64_t move;
    seg_id from, to;
    enum xfer_phase phase;
    uint32_t seq, acked; /* last sent, last acknowledged */
    uint32_t n_blocks;   /* of the source; blocks before next_block have been sent */
    uint32_t next_block;
    uint64_t *touched; /* owned; one bit per slot of sent blocks */
    uint32_t n_touched, touch_word, rounds;
    struct reloc *frozen;            /* owned; from the fence on */
    const struct session *returning; /* ref: next to be sent */
    uint32_t cursor;                 /* in the list of the present phase */
    bool waits; /* no fence now */
    uint64_t ahead;                  /* of the source, kept up to date; said at the end */
};

/* 0 or SQ_ENOMEM. */
SQ_CHECK int xfer_out_init(struct xfer_out *x, const struct body *b, uint64_t move,
                           seg_id to, uint64_t ahead);
void xfer_out_fini(struct xfer_out *x);
void xfer_out_begin(const struct xfer_out *x, const struct body *b,
                    const struct xfer_time *tm, struct outbox *out, peer_no peer);
/* The ticket at this slot was polled, popped, dropped or timed out. */
void xfer_out_touch(struct xfer_out *x, uint32_t slot);
/* Sends what the window allows. NULL, or why the move cannot go on. */
const char *xfer_out_pump(struct xfer_out *x, struct body *b, const struct xfer_time *tm,
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

/* ---- target ---------------------------------------------------------------------- */

struct xfer_in {
    uint64_t move;
    seg_id from, to;
    bool begun, complete;
    uint32_t seq;
    uint32_t end, joined, unit_ms, waiting;
    uint64_t ahead;
    uint32_t n_blocks;
    struct block **stage;    /* owned; idle[] holds units left */
    struct block_pool *pool; /* ref */
    struct session_rec *rec; /* owned */
    uint32_t n_recs, cap_recs;
    struct reloc_list relocs; /* owned; [last] is the source itself once complete */
    struct reloc *self;       /* ref into relocs */
    struct subjects subjects; /* owned */
};

void xfer_in_init(struct xfer_in *x, uint64_t move, seg_id from, seg_id to,
                  struct block_pool *pool);
void xfer_in_fini(struct xfer_in *x);
/* NULL, or why the move is refused. Sets `complete` when everything is here, compared,
 * and room in `b` is reserved. */
const char *xfer_in_msg(struct xfer_in *x, const struct msg *m, struct body *b);
/* 0: the tickets are b's; the tables are in b->relocs with host == NULL. SQ_ENOMEM:
 * nothing has changed; try again. */
SQ_CHECK int xfer_in_commit(struct xfer_in *x, struct body *b, const struct xfer_time *tm,
                            uint32_t pass_ttl_s);

#endif

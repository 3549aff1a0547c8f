/* xfer_in.h: the target's end of a move: what is made of the copy. Pure. */
#ifndef SEGQ_SEG_COPY_XFER_IN_H
#define SEGQ_SEG_COPY_XFER_IN_H

#include "segment/copy/xfer.h"

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
    struct contacts contacts; /* owned */
    uint64_t text_bytes; /* bytes of their records, at most */
    bool with_own; /* the target's own subjects and contacts are among them: xfer_in_people() */
};

void xfer_in_init(struct xfer_in *x, uint64_t move, seg_id from, seg_id to,
                  struct block_pool *pool);
void xfer_in_fini(struct xfer_in *x);
/* NULL, or why the move is refused. Sets `complete` when everything is here, compared,
 * and room in `b` is reserved. */
const char *xfer_in_msg(struct xfer_in *x, const struct msg *m, struct contents *b);
/* Bytes of records that its commit writes, at most. */
uint64_t xfer_in_records(const struct xfer_in *x);
/* 0: the tickets are b's; the tables are in b->relocs with host == NULL. The caller writes it down, then
 * calls xfer_in_people(). SQ_ENOMEM: nothing has changed; try again. */
SQ_CHECK int xfer_in_commit(struct xfer_in *x, struct contents *b, const struct xfer_time *tm,
                            uint32_t pass_ttl_s);
/* The end of a commit: subjects and contacts are in b, and none in x. True: the order in which b has its
 * subjects is another one. */
bool xfer_in_people(struct xfer_in *x, struct contents *b);

#endif

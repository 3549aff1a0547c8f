/* seg_life.h: a segment of this node: its beginning and its end, and whether it may change. */
#ifndef SEGQ_SEG_TABLE_SEG_LIFE_H
#define SEGQ_SEG_TABLE_SEG_LIFE_H

#include "segment/table/state.h"

static inline bool seg_is_fenced(const struct seg *g)
{
    return g->out != NULL && g->out->stage == STAGE_COPYING &&
           xfer_out_is_fenced(&g->out->out);
}

/* max_tickets in blocks. */
uint64_t segtab_max_blocks(const struct segtab_opts *o);
/* The caller sets the watch of its subjects (segtab_dir_watch). NULL: no memory. */
struct seg *segtab_seg_new(struct segtab *t, const struct msg_seg_open *m,
                           struct queue *q);
/* With its names, unless they lead elsewhere by now; the rules of its queue go with the last
 * segment. */
void segtab_seg_free(struct segtab *t, struct seg *g);

#endif

/* segment.h: a segment of this node: its beginning and its end, and what a change of it entails:
 * a report, a place among the segments that each tick visits, a copy and the routers' replica,
 * which follow. A segment of early tickets closes by itself at its time: later joins do not
 * draw. */
#ifndef SEGQ_SEG_CORE_SEGMENT_H
#define SEGQ_SEG_CORE_SEGMENT_H

#include "segment/core/state.h"

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

/* Notes a change: the segment is settled, and reported to the manager. */
void segtab_touch(struct segtab *t, struct seg *g);
/* Makes each tick visit it: it has waiting or released tickets. */
void segtab_wake(struct segtab *t, struct seg *g);
/* A ticket was released: routers that want to hear of it will, once that is stored. */
void segtab_due(struct segtab *t, struct ticket_id id);
void segtab_note_died(struct said_seg *s, uint32_t slot); /* for the next push */
/* The ticket left the line: a copy of it and the routers' replica must follow. */
static inline void segtab_died(struct seg *g, uint32_t slot)
{
    if (g->out != NULL)
        xfer_out_touch(&g->out->out, slot);
    if (g->tab->replica.n_listeners > 0)
        segtab_note_died(&g->said, slot);
}

/* Closes an early one at this time of our wall clock; 0: by order alone. */
void segtab_close_at(struct segtab *t, struct seg *g, int64_t closes_ms);
void segtab_close_due(struct segtab *t); /* closes those that are due */

#endif

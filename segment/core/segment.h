/* segment.h: a segment of this node, and the rules of its queue.
 *
 * Its beginning and its end; what a change of it entails: a report, a place among the segments that
 * each tick visits, a copy and the routers' replica, which follow. A segment of early tickets closes
 * by itself at its time: later joins do not draw.
 *
 * Rules come from the manager or from the journal. What follows from them for each segment: the unit
 * of its idle deadlines, which are one byte each. */
#ifndef SEGQ_SEG_CORE_SEGMENT_H
#define SEGQ_SEG_CORE_SEGMENT_H

#include "segment/core/state.h"

/* ---- rules of queues -------------------------------------------------------------- */

static inline uint32_t queue_longest_idle_ms(const struct queue *q)
{
    uint32_t ms = 0;

    for (unsigned i = 0; i < CLIENT_NCLASSES; i++)
        ms = q->idle_ms[i] > ms ? q->idle_ms[i] : ms;
    return ms;
}

/* The queue of this id; make: with default rules if there is none. NULL: none, or no memory. */
struct queue *segtab_queue(struct segtab *t, queue_id id, bool make);
/* SQ_ENOMEM: no memory for the queue. Texts stay as they were if there is no memory for them. */
int segtab_set_rules(struct segtab *t, const struct msg_rules *m, bool *changed);
/* When a pass_ttl was lowered is not in the journal: now. */
void segtab_rules_replayed(struct segtab *t);
void segtab_queue_free(struct queue *q);

static inline uint8_t segtab_unit(const struct segtab *t, const struct seg *g)
{
    return (uint8_t)(uint64_t)((double)t->service_ms * g->per_unit);
}

/* Time in which a released ticket must be polled: longer for one that is told of its release. What came
 * with its contact may be of a longer life of passes. */
static inline msec_t seg_claim_ms(const struct seg *g, struct ticket_id id)
{
    const struct contact *x = contacts_find(&g->b.contacts, id);
    const struct queue *q = g->queue;

    return x != NULL ? ms_max(q->claim_ms, ms_min(x->claim_ms, q->pass_ttl_s * 1000ll)) : q->claim_ms;
}

/* After rules or pace changed: idle time and told interval must fit into a byte of units. */
void segtab_fit_unit(struct segtab *t, struct seg *g);

/* ---- segments --------------------------------------------------------------------- */

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

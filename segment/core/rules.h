/* rules.h: the rules of queues, from the manager or from the journal, and what follows from them
 * for each segment: the unit of its idle deadlines, which are one byte each. */
#ifndef SEGQ_SEG_CORE_RULES_H
#define SEGQ_SEG_CORE_RULES_H

#include "segment/core/state.h"

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

#endif

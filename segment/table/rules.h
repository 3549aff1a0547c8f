/* rules.h: the rules of queues: from the manager, or from the journal. */
#ifndef SEGQ_SEG_TABLE_RULES_H
#define SEGQ_SEG_TABLE_RULES_H

#include "segment/table/state.h"

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

#endif

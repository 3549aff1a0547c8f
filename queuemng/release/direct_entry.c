/* direct_entry.c: how near a place must be to be let in with its join. */
#include "queuemng/release/direct_entry.h"

#include "queuemng/budgets/parts.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/slots.h"
#include "queuemng/state/state.h"

#define ENTRY_S 0.2 /* part of the 0.3 s that a router holds a join for (FLOW_HOLD_MS) */

uint64_t queue_lets_in(const struct mng *m, const struct mqueue *q)
{
    return u64_min(slots_free(m, q), budget_lets_in(m, q));
}

/* The free slots; the credit that the rate has left over, and earns while a join is held. */
uint64_t direct_entry_reach(const struct mng *m, const struct mqueue *q)
{
    double earned = q->rel.carry + q->allowed_per_s * ENTRY_S;
    uint64_t by_rate = q->allowed_per_s > 0 && earned > 0 ? (uint64_t)earned : 0;

    if (!q->def.direct_entry)
        return 0;
    if (q->def.mode == MODE_RATE || q->def.state == DEF_PASSTHROUGH)
        return by_rate;
    if (q->def.state == DEF_PAUSED || q->def.state == DEF_REJECT || sched_holds(q))
        return 0;
    return q->def.mode == MODE_SLOTS ? queue_lets_in(m, q) : u64_min(queue_lets_in(m, q), by_rate);
}

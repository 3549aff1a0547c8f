/* offers.h: tasks that stand in several queues at once. Pure.
 *
 * Such a task has a *place* in each of its queues. In one of them it stands itself; in each of the others a
 * slot of the store stands for it: one with a number and a turn, but FREE, which is no task: nobody counts it,
 * lists it, or finds it by its number. While the task waits, all of its places do; else none. */
#ifndef SEGQ_TASK_OFFERS_H
#define SEGQ_TASK_OFFERS_H

#include "common/base/map.h"
#include "common/task/rules.h"
#include "task/store/store.h"

struct offer_place {
    task_slot slot; /* slot that stands there: the task's own, or one for it */
    uint64_t entry; /* number in the row of the queue, also while it is held; 0: none yet, or any more */
};

struct offer {
    task_slot task;
    uint8_t n;   /* places; the first is that of the queue named first */
    uint8_t own; /* where the task is itself: the first, but from a start to the end of the attempt */
    uint8_t at;  /* where its next start is */
    struct offer_place v[OFFER_QUEUES];
};

struct offers {
    struct map by_slot; /* slot of a task, and of each of its places -> struct offer *; owned by the task */
    struct offer *next; /* owned; of the task that is accepted next; NULL: it has none */
    uint32_t n;
    uint32_t places; /* slots that stand for tasks */
    size_t log_len;  /* length of the log before the places of the next task; likewise: */
    msec_t logged_at;
    uint64_t order;
};

void offers_init(struct offers *o);
void offers_fini(struct offers *o);
/* A place of the task that comes next. slot: SLOT_NONE: its own. 0; SQ_ENOMEM; SQ_EPROTO: too many. */
SQ_CHECK int offers_add(struct offers *o, task_slot slot, uint64_t entry);
/* The places of the next task are this one's. 0; SQ_ENOMEM. */
SQ_CHECK int offers_adopt(struct offers *o, task_slot task);
/* They are of the next one again. */
void offers_orphan(struct offers *o, struct offer *f);
/* Forgets it: also that of the next task. */
void offers_drop(struct offers *o, struct offer *f);
uint64_t offers_bytes(const struct offers *o);

/* NULL: it is not offered. */
static inline struct offer *offers_of(const struct offers *o, task_slot slot)
{
    return o->n > 0 ? map_get_ptr(&o->by_slot, slot) : NULL;
}

#endif

/* debts.h: items of a ring that have had more units than their share, and are passed over until the
 * others have had as much. Pure. For the files of this room. The rules: tree.h.
 *
 * A ring counts its rounds. An item that is n rounds in debt leaves the circle and sleeps until that
 * round has come, in a heap by rounds; a circle that would be empty goes on with the next round in
 * which somebody wakes. So a start costs O(log n), amortised, whatever tasks cost. Debts stay with an item that
 * leaves the ring (a key without a waiting task) as long as its turn is there. There are none while no
 * task costs more than one unit: then nothing is kept. */
#ifndef SEGQ_TASK_DEBTS_H
#define SEGQ_TASK_DEBTS_H

#include "task/keys/tree.h"

struct turn_debt {
    uint64_t wake[2];  /* round in which an item of it (ring.h) is served again */
    uint64_t round;    /* round of its own ring */
    uint32_t credit[2]; /* units that it paid too much, beyond what it owed when that was known */
    uint32_t child[2]; /* links of its items in the heap */
    uint32_t last;     /* item with which the round of its own ring ends; 0: the circle is empty */
    uint32_t asleep;   /* root of the heap of its own ring; 0: nobody sleeps */
};

static inline struct turn_debt *debt_at(const struct tree *t, uint32_t turn)
{
    return t->trial == NULL ? pages_at(&t->debts, turn) : trial_at(t->trial, TRIAL_DEBTS, turn);
}

/* The item, which is not in the circle, sleeps in the ring of `owner` until wake[]. */
void debt_sleep(struct tree *t, uint32_t owner, uint32_t item);
/* The item leaves the heap. */
void debt_wake(struct tree *t, uint32_t owner, uint32_t item);
/* The root, if it wakes in this round or before; 0: nobody. */
uint32_t debt_due(const struct tree *t, uint32_t owner);

#endif

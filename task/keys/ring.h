/* ring.h: the rings of turns: what can be served now, and who in a queue is next. Pure. The rules:
 * tree.h. An item is a turn in its parent's ring (2 * turn) or a turn's line in its own
 * (2 * turn + 1). */
#ifndef SEGQ_TASK_RING_H
#define SEGQ_TASK_RING_H

#include "task/keys/tree.h"

/* Items of a ring that have had more units than their share, and are passed over until the
 * others have had as much.
 *
 * A ring counts its rounds. An item that is n rounds in debt leaves the circle and sleeps until that
 * round has come, in a heap by rounds; a circle that would be empty goes on with the next round in
 * which somebody wakes. So a start costs O(log n), amortised, whatever tasks cost. Debts stay with an item that
 * leaves the ring (a key without a waiting task) as long as its turn is there. There are none while no
 * task costs more than one unit: then nothing is kept. */

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

/* queue: its limiter. head_start: of TASK_PRIORITIES. SLOT_NONE: nobody may start now.
 * served: the turn whose share pays. Changes nothing. */
task_slot tree_pick(struct tree *t, uint32_t queue, const msec_t *head_start, uint32_t *served);
/* The limiter of a queue in which somebody may start now, each in its turn: it has been served
 * once; 0: there is none. */
uint32_t tree_next_queue(struct tree *t);
/* The share of the turn, and of those above it, pays for a task. Before tree_start. */
void tree_pay(struct tree *t, uint32_t served, uint64_t cost);

/* The share of the turn, and of those above it, that paid `was` for a task pays `cost`. What is more than it
 * still owes is credit for the next ones, `was` at most: nobody stores up a head start. */
void tree_pay_anew(struct tree *t, uint32_t turn, uint64_t was, uint64_t cost);

/* ---- for the files of this room ---------------------------------------------------- */
/* Puts the turn where it now belongs: into its parent's ring if it can be served, out of it
 * if not; and so on upwards. */
void ring_settle(struct tree *t, uint32_t turn);
/* The same of its own line. */
void ring_settle_line(struct tree *t, uint32_t turn);
bool ring_has_line(const struct tree *t, uint32_t turn);
bool ring_has_turn(const struct tree *t, uint32_t turn);
/* Debts are kept from now on: each ring is at the beginning of a round. */
void ring_begin_rounds(struct tree *t);
/* Bounds its turn after a change of its rule: it is not served for longer than its weight now
 * says. */
void ring_reweigh(struct tree *t, uint32_t turn);

#endif

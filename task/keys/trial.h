/* trial.h: a tree that is tried out: picks and starts of ring.h and tree.h, of which the live tree
 * sees nothing. Pure.
 *
 * The tree of a trial is a copy of the struct, which shares the pages of the live one. A limiter, a
 * turn, what is kept beside them is copied at the first look at it, and written there: a trial costs
 * what it touches, however many keys there are. No timer is set. Lines are not copied: their links are
 * in the tasks, so what leaves one must be back before the trial ends. */
#ifndef SEGQ_TASK_TRIAL_H
#define SEGQ_TASK_TRIAL_H

#include "common/base/err.h"
#include "task/containers/wheel.h"

enum trial_of { TRIAL_LIMITERS, TRIAL_TURNS, TRIAL_BUCKETS, TRIAL_DEBTS, TRIAL_NKINDS };

struct trial {
    struct trial_copies {
        const struct pages *live;
        char *piece;    /* owned; only what was touched is there, and costs memory */
        uint64_t *here; /* owned; bits */
    } v[TRIAL_NKINDS];
};

struct tree;
/* Makes *t a tree of this trial, which must stay where it is. 0 or SQ_ENOMEM: nothing has begun. */
SQ_CHECK int trial_begin(struct trial *r, const struct tree *live, struct tree *t);
void trial_end(struct trial *r);

/* For tree_turn_at() and its like: the copy. */
void *trial_at(struct trial *r, enum trial_of kind, uint32_t i);

#endif

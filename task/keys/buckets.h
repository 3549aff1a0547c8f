/* buckets.h: what a limiter's rates let start, of tasks and of units. Pure. For the files of this room.
 *
 * A limiter that no rate in units has ever closed knows its next moment by the rate of starts. One that is
 * closed since its next task did not fit has what that task needs (struct unit_bucket): then it opens. */
#ifndef SEGQ_TASK_BUCKETS_H
#define SEGQ_TASK_BUCKETS_H

#include "task/keys/tree.h"
#include "task/keys/windows.h"

/* NULL: the limiter has no rates in units. */
static inline struct unit_bucket *bucket_of(const struct tree *t, uint32_t i)
{
    struct unit_bucket *b;

    if (!t->has_units || tree_limiter_at(t, i)->rule->units[0].units == 0)
        return NULL;
    b = t->trial == NULL ? pages_at(&t->buckets, i) : trial_at(t->trial, TRIAL_BUCKETS, i);
    if (t->windows != NULL)
        windows_forget(t, b);
    return b;
}
bool bucket_has_rate(const struct tree *t, uint32_t limiter);
/* When its rates let the next one pass, as far as it is known; 0: long ago. */
msec_t bucket_lets_when(const struct tree *t, uint32_t limiter);
msec_t bucket_full_at(const struct tree *t, uint32_t limiter);
struct settlement { /* a start under `lease`, of `was` units, took `used` */
    uint64_t was, used, lease;
};
void bucket_settle(struct tree *t, uint32_t limiter, const struct settlement *s, msec_t now);
/* A task starts. */
void bucket_pay(struct tree *t, uint32_t limiter, uint64_t cost, msec_t now);
/* The rule is another one, or the limiter is new. */
void bucket_anew(struct tree *t, uint32_t limiter, msec_t now);
/* Empties all; what is owed in units stays owed. */
void bucket_empty(struct tree *t, uint32_t limiter, msec_t now);

#endif

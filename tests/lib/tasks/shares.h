/* shares.h: keys that wait, and that no limit stops, start units in proportion to their weights (J10).
 *
 * Of each pair of keys of a queue it is counted how many rounds (units by weight) one is ahead of
 * the other since both began to wait. It is never more than one; where tasks cost more, two and the rounds
 * that the last task of each costs beyond its share; and, where starts were given back, of one of these.
 * Where attempts are settled, shares are of what is known at a start, and are not judged here
 * (test_task_settle). The tasks without a key are a key
 * of weight 1. Judged in seeds without a second level, with one priority, and not strict: only there
 * a key that has tasks is always in the round. */
#ifndef SEGQ_TASKS_SHARES_H
#define SEGQ_TASKS_SHARES_H

#include <string.h>

#define SHARES_QUEUES 3u
#define SHARES_KEYS   6u

struct world;
struct mtask;

struct shares {
    double ahead[SHARES_QUEUES][SHARES_KEYS][SHARES_KEYS];
};

/* The task starts, and was not told to. */
void shares_start(struct world *w, const struct mtask *t);
/* A line may have been empty for a moment, or weights have changed. */
static inline void shares_begin(struct shares *s)
{
    memset(s, 0, sizeof(*s));
}

#endif

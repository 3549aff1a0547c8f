/* shadow.h: the line beside a queue that lets everybody in at once (`shadow: true`): joins go in, the
 * queue's own policy lets out, by the same tick as a real release. The figures say who would have
 * waited, and how long. Kept in memory alone: another manager begins with an empty line. */
#ifndef SEGQ_QUEUEMNG_RELEASE_SHADOW_H
#define SEGQ_QUEUEMNG_RELEASE_SHADOW_H

#include "queuemng/policy/release.h"
#include "queuemng/policy/shadow.h"

struct mng;
struct mqueue;

struct shadow_play {
    struct shadow line;
    struct release rel;         /* by which the line is let out */
    uint64_t joined[LANES_MAX]; /* sums that the line knows of */
};

/* Each second: a line for a queue that has become a shadow, none for others. No memory: it has none. */
void shadow_second(struct mqueue *q);
/* in: the question to the controller, as for a real line; waiting and slots are set here. */
void shadow_tick(struct mng *m, struct mqueue *q, struct release_in *in);
/* True: somebody waits in it, so the queue needs ticks. */
bool shadow_is_busy(const struct mqueue *q);

#endif

/* shadow.h: the line beside a queue that lets everybody in at once (`shadow: true`): joins go in, the
 * queue's own policy lets out, by the same tick as a real release. The figures say who would have
 * waited, and how long. Kept in memory alone: another manager begins with an empty line. */
#ifndef SEGQ_QUEUEMNG_RELEASE_SHADOW_H
#define SEGQ_QUEUEMNG_RELEASE_SHADOW_H

#include "common/base/base.h"
#include "queuemng/policy/release.h"

/* The line that a queue with `shadow: true` would have. Everybody is let in at once there;
 * beside it each join stands in this line, which the queue's own policy releases as it would. Pure.
 *
 * A line is a row of buckets: when so many came. First come, first served in each lane, so the oldest
 * bucket says how long whoever is next has waited. There are SHADOW_BUCKETS; when they are full, two
 * neighbours become one, as of the earlier time, and the next buckets are twice as long: a wait is
 * told at most two parts in SHADOW_BUCKETS of the longest too long, and never too short.
 * Nobody gives up in this line, so it is the upper bound of a real one. */

#define SHADOW_BUCKETS   512
#define SHADOW_AT_ONCE_MS 1000 /* shorter than that is no wait */

struct shadow_bucket {
    msec_t at_ms; /* the first of them came */
    uint64_t n;
};

struct shadow_lane {
    struct shadow_bucket v[SHADOW_BUCKETS]; /* oldest first */
    unsigned n;
    msec_t wide_ms; /* width of a bucket; 0: as each comes */
    uint64_t waiting;
};

struct shadow { /* zero = new */
    struct shadow_lane lane[LANES_MAX];
    uint64_t came, went;  /* ever */
    uint64_t would_wait;  /* went after more than SHADOW_AT_ONCE_MS */
    msec_t longest_ms;    /* longest wait of any that went */
};

void shadow_join(struct shadow *s, unsigned lane, uint64_t n, msec_t now_ms);
/* n: at most those that wait in the lane. */
void shadow_release(struct shadow *s, unsigned lane, uint64_t n, msec_t now_ms);
uint64_t shadow_waiting(const struct shadow *s); /* in all lanes */
/* The longest that anybody has waited who waits; 0: nobody waits. */
msec_t shadow_wait_ms(const struct shadow *s, msec_t now_ms);

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

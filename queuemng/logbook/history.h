/* history.h: what queues (of people, or pools of task queues) did in the last ten minutes, a point
 * every five seconds: a fresh dashboard shows more than this moment. Pure.
 *
 * Kept of the queues in which something happens, at most HISTORY_QUEUES (3 KB each): beyond
 * that the one that has been quiet longest makes room. */
#ifndef SEGQ_HISTORY_H
#define SEGQ_HISTORY_H

#include "common/base/map.h"

#define HISTORY_STEP_MS 5000
#define HISTORY_POINTS  120
#define HISTORY_QUEUES  256
#define HISTORY_LEVELS  3
#define HISTORY_COUNTS  4

/* Of one queue, now. Something happens while one of the first two levels is not 0, and when one of
 * the first two counts has grown. */
struct history_sums {
    double level[HISTORY_LEVELS];
    uint64_t count[HISTORY_COUNTS]; /* counted up */
};

struct history_point {
    float level[HISTORY_LEVELS], per_s[HISTORY_COUNTS];
};

struct history_queue {
    uint32_t id;
    struct history_point point[HISTORY_POINTS]; /* a ring */
    uint64_t n, seen;   /* points ever; the last round in which it was there */
    uint64_t busy;      /* the last round in which something happened */
    struct history_sums before;
};

struct history {
    uint64_t round;
    int64_t wall_ms, gap_ms; /* of the last round; since the one before */
    msec_t last_ms;
    struct map queue; /* id -> struct history_queue, owned */
};

void history_init(struct history *h);
void history_fini(struct history *h);
/* A round: begin, add each queue that is there, end. */
void history_begin(struct history *h, msec_t now_ms, int64_t wall_ms);
void history_add(struct history *h, uint32_t id, const struct history_sums *s);
void history_end(struct history *h); /* forgets the queues that are not there any more */

/* NULL: nothing is known of it. */
const struct history_queue *history_of(const struct history *h, uint32_t id);
/* i-th oldest point, i < history_n() */
size_t history_n(const struct history_queue *q);
const struct history_point *history_at(const struct history_queue *q, size_t i);

#endif

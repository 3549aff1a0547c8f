/* history.h: what queues did in the last ten minutes, a point every five seconds: a fresh
 * dashboard shows more than this moment. Pure.
 *
 * Kept of the queues in which something happens, at most HISTORY_QUEUES (3 KB each): beyond
 * that the one that has been quiet longest makes room. */
#ifndef SEGQ_HISTORY_H
#define SEGQ_HISTORY_H

#include "common/base/map.h"

#define HISTORY_STEP_MS 5000
#define HISTORY_POINTS  120
#define HISTORY_QUEUES  256

struct history_sums { /* of one queue, now; those of the second line are counted up */
    uint64_t waiting, active;
    uint64_t joined, released, no_shows, left; /* left: and timed out */
    double allowed_per_s;
};

struct history_point {
    float waiting, active, joined_per_s, released_per_s, no_shows_per_s, left_per_s,
        allowed_per_s;
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

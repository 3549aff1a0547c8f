/* history.h: what queues (of people, or pools of task queues) did in the last 10 minutes, hour and
 * day, and what all of them together did. Pure.
 *
 * A point is a span of time: 2 s, 10 s or 5 minutes; it has the mean of each figure, and of some
 * the least and the most. A span in which nobody looked (another manager led, the machine slept) has
 * no point: a gap, not a zero. A point's time is counted back from the last one: the wall clock
 * may be set without moving what is known.
 *
 * Memory is fixed: HISTORY_BYTES for each of at most HISTORY_QUEUES queues, those in which something
 * happens. Beyond that the one that has been quiet longest makes room. */
#ifndef SEGQ_HISTORY_H
#define SEGQ_HISTORY_H

#include "common/base/map.h"
#include "common/task/state.h"

#define HISTORY_STEP_MS 2000 /* a round, and a point of HISTORY_10M */
#define HISTORY_QUEUES  512
#define HISTORY_LEVELS  3
#define HISTORY_COUNTS  4
#define HISTORY_FIGURES (HISTORY_LEVELS + HISTORY_COUNTS)
#define HISTORY_TOPS    2 /* the first so many counts, whose most is kept */
#define HISTORY_WAITS   2

enum history_range { HISTORY_10M, HISTORY_1H, HISTORY_24H, HISTORY_RANGES };
#define HISTORY_POINTS_10M 300
#define HISTORY_POINTS_1H  360
#define HISTORY_POINTS_24H 288
#define HISTORY_POINTS     (HISTORY_POINTS_10M + HISTORY_POINTS_1H + HISTORY_POINTS_24H)

/* Figures of a queue, now. Something happens while one of the first two levels is not 0, and when one of
 * the first two counts has grown. */
struct history_sums {
    double level[HISTORY_LEVELS];
    uint64_t count[HISTORY_COUNTS]; /* counted up */
    struct waits waits;             /* likewise; 0: none are counted */
};

struct history_point {
    uint32_t slot;                 /* number of a slot of its range, from 1 on; 0: none */
    uint16_t n, n_rates;           /* looks that it is made of; of them, with rates */
    float mean[HISTORY_FIGURES];   /* levels, then counts per second; those are NAN if n_rates is 0 */
    float least, most;             /* least and most of the first level */
    float top[HISTORY_TOPS];       /* the most of the first counts per second; or NAN */
    float wait[HISTORY_WAITS];     /* p50 and p99 in ms of the waits that ended in it; or NAN */
};

struct history_queue {
    uint32_t id;
    uint32_t first[HISTORY_RANGES]; /* oldest slot ever */
    uint64_t seen, busy;            /* the last round in which it was there; something happened */
    int64_t still_ms;               /* moment of line_ms: since then some wait and none has begun; 0: not so */
    struct history_sums before;
    struct waits waits[HISTORY_RANGES]; /* waits that ended in the present point */
    struct history_point point[HISTORY_POINTS]; /* a ring for each range, one behind the other */
};

#define HISTORY_BYTES sizeof(struct history_queue)

struct history {
    uint64_t round;
    int64_t wall_ms, gap_ms; /* moment of the last round; time since the one before, 0: not known */
    msec_t last_ms;
    int64_t line_ms;   /* the time that slots are made of: it only grows */
    struct map queue;  /* id -> struct history_queue, owned */
    struct history_queue *all; /* owned; NULL before the first round, or without memory */
    struct history_sums sums;  /* sums of this round */
    size_t n_seen, n_before;   /* queues in this round, in the one before */
    uint64_t full;             /* the last round that found no quiet one */
};

void history_init(struct history *h);
void history_fini(struct history *h);
/* A round: begin, add each queue that is there (id not 0), end. */
void history_begin(struct history *h, msec_t now_ms, int64_t wall_ms);
void history_add(struct history *h, uint32_t id, const struct history_sums *s);
void history_end(struct history *h); /* forgets the queues that are not there any more */

/* id 0: all of them together. NULL: nothing is known of it. */
const struct history_queue *history_of(const struct history *h, uint32_t id);
int64_t history_step_ms(enum history_range r);
/* The slots from the oldest that is known to the present one; 0: none. */
size_t history_n(const struct history *h, const struct history_queue *q, enum history_range r);
/* The i-th oldest of them, i < history_n(); NULL: a gap. The last one began at most a step before
 * wall_ms of the last round, and may get more. */
const struct history_point *history_at(const struct history *h, const struct history_queue *q,
                                       enum history_range r, size_t i);
/* For how long the first level has not been 0 while the second count (released, started) did not grow:
 * nobody went in, no task began. 0: that is not so, or the history began with this look. */
int64_t history_still_ms(const struct history *h, const struct history_queue *q);
/* The counts per second as last looked at, 0 where that is not known. */
void history_rates(const struct history *h, const struct history_queue *q,
                   float out[HISTORY_COUNTS]);

#endif

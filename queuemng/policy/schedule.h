/* schedule.h: when a queue opens and closes, by the wall clock. Pure.
 *
 *   EARLY --opens_at - prequeue--> PREQUEUE --opens_at--> PLAIN --closes_at--> OVER
 *
 * Phases that have come are stored: a clock that goes back opens, draws or closes
 * nothing again, and nothing that was closed opens of itself. A new opens_at is a new
 * opening. A manager that was away at the moment does it when it is back. */
#ifndef SEGQ_SCHEDULE_H
#define SEGQ_SCHEDULE_H

#include "common/ticket/draw.h"
#include "common/base/err.h"

#define SCHEDULE_DRAWS_MAX 64 /* segments of one opening that are listed */

struct schedule_def { /* a part of the queue's definition */
    char *opens_at, *closes_at; /* RFC 3339; "": not said */
    int64_t prequeue_ms;        /* before opens_at people may come; 0: they may not */
    int64_t prequeue_capacity;  /* places in one draw */
};

enum schedule_phase { SCHED_PLAIN, SCHED_EARLY, SCHED_PREQUEUE, SCHED_OVER };

enum draw_state { DRAW_NONE, DRAW_SECRET, DRAW_TOLD }; /* state of the seed */

struct schedule_draw { /* draw of a segment */
    uint64_t seg;
    uint32_t count; /* numbers that drew their places */
};

struct schedule { /* state of a queue; zero = new */
    int64_t opens_ms, closes_ms; /* times as defined; 0: not said */
    uint8_t phase;               /* enum schedule_phase */
    /* stored: */
    int64_t early_for, opened_for, closed_for; /* the moments that have come */
    uint8_t draw;                              /* enum draw_state */
    uint8_t seed[DRAW_SEED];
    uint32_t n_draws;
    struct schedule_draw draws[SCHEDULE_DRAWS_MAX];
};

/* "2026-11-21T20:00:00+01:00"; Unix milliseconds. SQ_EINVAL: it is none. */
SQ_CHECK int schedule_parse(const char *text, int64_t *ms);
/* 0 or SQ_EINVAL with a sentence. */
SQ_CHECK int schedule_check(const struct schedule_def *d, struct err *e);

/* d has changed. */
void schedule_set(struct schedule *s, const struct schedule_def *d);
/* Looks at the clock; secret: 32 bytes that nobody knows, for the seed of the next draw, if
 * one is needed now. True: something has changed and is to be stored. */
bool schedule_step(struct schedule *s, const struct schedule_def *d, int64_t wall_ms,
                   const uint8_t secret[DRAW_SEED]);
bool schedule_is_opened(const struct schedule *s);
/* A segment of the pre-queue is drawn: for the list, which is in the order of the line. */
void schedule_add_draw(struct schedule *s, uint64_t seg, uint32_t count);
/* The public part of the draw, as JSON; nothing: there is none. */
struct buf;
void schedule_put_draw(const struct schedule *s, const char *queue, struct buf *b);

/* A wall clock that leaps is believed when it has stayed there: one wrong answer of a time
 * server opens no queue. */
struct wall_guard { /* zero = new */
    bool known;
    int64_t offset_ms;           /* wall - monotonic, as believed */
    int64_t other_ms;            /* offset that the wall clock shows now */
    msec_t since_ms;             /* begin of other_ms; 0: none */
    msec_t known_ms;             /* since when there has been no leap */
};
int64_t wall_believed(struct wall_guard *g, msec_t now_ms, int64_t wall_ms);
/* The clock of passes: a leap is believed when it has stayed as long as the clock was right
 * before, or ten minutes. So one that is set soon after the start is; and passes that are out
 * there are good when a clock was wrong for a while. */
int64_t wall_steady(struct wall_guard *g, msec_t now_ms, int64_t wall_ms);

#endif

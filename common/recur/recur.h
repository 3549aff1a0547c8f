/* recur.h: a schedule's ticks: the moments at which it makes a task, those that are due, and what
 * is made up for after a stop. Pure; the clock is an argument.
 *
 * Ticks are a function of the definition alone: by a cron expression in its zone, or each multiple
 * of `every` since 1970-01-01 UTC (with `from`: since that). So whoever computes them gets the same
 * ones, and a tick has happened if it is not above the last one that was dealt with. A clock that
 * goes back makes nothing due again; one that goes forward, or a stop, makes ticks due together:
 * `catch_up` says which of them count.
 *
 * All moments: Unix ms, whole seconds. */
#ifndef SEGQ_RECUR_H
#define SEGQ_RECUR_H

#include "common/recur/cron.h"

#define RECUR_NEVER     INT64_MAX
#define RECUR_EVERY_MIN 1000
#define RECUR_EVERY_MAX (INT64_C(400) * 86400000)
#define RECUR_LATE_MS   60000 /* CATCH_UP_NONE: what is due for longer is missed */
#define RECUR_AHEAD_MS  86400000 /* a tick that lies further ahead has not happened: a clock was wrong */
#define RECUR_MAKE_UP   100   /* ticks, at most */
#define RECUR_COUNTED   1000  /* missed ticks of an expression are counted so far at least */
#define RECUR_AT_MAX    ((INT64_C(1) << 42) - 1) /* in the year 2109, as timers (task/containers/wheel.h) */

/* The choice among ticks that are due together. */
enum catch_up {
    CATCH_UP_NONE, /* the newest, if it is not older than RECUR_LATE_MS */
    CATCH_UP_LAST, /* the newest, however old */
    CATCH_UP_ALL,  /* the newest n */
    CATCH_UP_NKINDS
};

/* The rule if the task of the tick before is not over. */
enum overlap { OVERLAP_ALLOW, OVERLAP_SKIP, OVERLAP_CANCEL_OLD, OVERLAP_NKINDS };

/* The outcome of a tick. */
enum tick_outcome {
    TICK_NONE,    /* no tick yet, or the clock was set back (RECUR_AHEAD_MS) */
    TICK_FIRED,   /* task made */
    TICK_SKIPPED, /* the task of the one before was not over */
    TICK_MISSED,  /* too late: catch_up */
    TICK_REFUSED, /* impossible task, as it is defined */
    TICK_NOUTCOMES
};

struct recur { /* a definition's times */
    struct cron cron;
    int64_t every_ms;          /* 0: by cron */
    int64_t from_ms, until_ms; /* none before, none after; 0: no bound */
};

/* A sentence about the numbers; NULL: they are well. */
const char *recur_wrong(const struct recur *r);
/* The first tick after `after_ms`. RECUR_NEVER: none, or the zone is not known here. */
int64_t recur_next(const struct recur *r, const struct zone *z, int64_t after_ms);

struct due {
    int64_t v[RECUR_MAKE_UP]; /* these count, in their order */
    unsigned n;
    uint64_t missed; /* these do not (RECUR_COUNTED); */
    int64_t newest;  /* the newest of them that lies before v[0]; 0: there is none */
};

/* Chooses among the ticks in (last_ms, now_ms], by catch_up; most: of CATCH_UP_ALL, 1 .. RECUR_MAKE_UP. */
void recur_due(const struct recur *r, const struct zone *z, int64_t last_ms, int64_t now_ms,
               enum catch_up how, unsigned most, struct due *d);

/* 0 .. jitter_ms, the same for a name and a tick wherever it is computed. */
int64_t recur_jitter(const char *name, int64_t tick_ms, int64_t jitter_ms);

const char *tick_outcome_word(unsigned outcome); /* "fired"; "" of TICK_NONE, and unknown ones */

#endif

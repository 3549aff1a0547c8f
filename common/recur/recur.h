/* recur.h: times that come again: a cron expression, read, and the moment at which it comes next; and the
 * ticks of a schedule. Pure; the clock is an argument.
 *
 * Five fields: minute, hour, day of the month, month, day of the week (0 and 7: Sunday). A field is
 * a list of `*`, N, N-M; a star and a range may have a step behind a slash; months and days of the
 * week have their first three letters as names, too. Or a word: @hourly, @daily (@midnight), @weekly,
 * @monthly, @yearly (@annually).
 *
 * Days, as in Paul Vixie's cron: if neither field of days begins with a star, a day that fits
 * either of them counts; else it must fit both.
 *
 * When a zone's clocks change, as in Vixie's cron since 3.0 (Debian): if minute or hour begins with
 * a star, the expression follows the clocks: nothing in an hour that is skipped, and twice in one
 * that comes twice. Else its times are fixed ones, each once a day: one that is skipped is made up
 * for at the moment of the change, one that comes twice counts the first time. (systemd does the
 * same for the skipped hour; Quartz leaves it out and runs twice in the doubled one.)
 *
 * Moments of expressions: Unix seconds. */
#ifndef SEGQ_RECUR_H
#define SEGQ_RECUR_H

#include "common/base/base.h"

/* ---- time zones ---------------------------------------------------------------------- */

/* Time zones: how far their clocks are ahead of UTC at a moment. The owner chooses where that comes
 * from (common/recur/zones.c: the system's zone files). */
#define ZONE_NAME_MAX 63 /* "America/Argentina/ComodRivadavia" has 32 */

struct zones {
    /* Seconds to be added to UTC at `at_s` (Unix), east of Greenwich positive. False: there is no
     * such zone here. */
    bool (*offset)(void *ctx, const char *zone, int64_t at_s, int32_t *offset_s);
    void *ctx;
};

struct zone {
    const struct zones *of; /* ref; NULL: only UTC is known */
    const char *name;       /* ref; "" and "UTC": no clock of it ever changes */
};

/* True: a name to look for: parts of [A-Za-z0-9_+-] with slashes between them. */
bool zone_name_ok(const char *name);
/* False: it is not known here. */
SQ_CHECK bool zone_offset(const struct zone *z, int64_t at_s, int32_t *offset_s);

/* ---- expressions --------------------------------------------------------------------- */

#define CRON_TEXT_MAX 255
#define CRON_NEVER    INT64_MAX

struct cron { /* sets: a bit for each number that fits */
    uint64_t minutes;
    uint32_t hours, days, months;
    uint8_t weekdays;  /* Sunday: bit 0 */
    bool either_day;   /* both fields of days are limited */
    bool fixed;        /* times of the day, not steps of the clock */
};

struct cron_error {
    char text[120]; /* "hour: 25 is not in 0-23" */
};

/* False: *e says why. A date that never comes (30 February) is refused, too. */
SQ_CHECK bool cron_read(struct cron *c, const char *text, struct cron_error *e);
/* The first moment after `after_s`; CRON_NEVER: none, or the zone is not known here. */
int64_t cron_next(const struct cron *c, const struct zone *z, int64_t after_s);

/* ---- dates --------------------------------------------------------------------------- */

/* Dates: days since 1970-01-01, and dates of the proleptic Gregorian calendar. Years count
 * from March, so that a leap day is their last (H. Hinnant, "chrono-Compatible Low-Level Date
 * Algorithms"). */

static inline void date_of_day(int64_t day, int *y, int *m, int *d)
{
    int64_t z = day + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;

    *d = (int)(doy - (153 * mp + 2) / 5 + 1);
    *m = (int)(mp < 10 ? mp + 3 : mp - 9);
    *y = (int)(yoe + era * 400 + (*m <= 2));
}

static inline int64_t day_of_date(int64_t y, int64_t m, int64_t d)
{
    int64_t yy = m <= 2 ? y - 1 : y, era = (yy >= 0 ? yy : yy - 399) / 400;
    int64_t yoe = yy - era * 400, doy = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;

    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

/* ---- ticks of a schedule ------------------------------------------------------------- */

/* A schedule's ticks: the moments at which it makes a task, those that are due, and what
 * is made up for after a stop.
 *
 * Ticks are a function of the definition alone: by a cron expression in its zone, or each multiple
 * of `every` since 1970-01-01 UTC (with `from`: since that). So whoever computes them gets the same
 * ones, and a tick has happened if it is not above the last one that was dealt with. A clock that
 * goes back makes nothing due again; one that goes forward, or a stop, makes ticks due together:
 * `catch_up` says which of them count.
 *
 * Moments of ticks: Unix ms, whole seconds. */

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

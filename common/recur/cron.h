/* cron.h: a cron expression: read, and the moment at which it comes next. Pure.
 *
 * Five fields: minute, hour, day of the month, month, day of the week (0 and 7: Sunday). A field is
 * a list of `*`, N, N-M; a star and a range may have a step behind a slash; months and days of the
 * week have their first three letters as names, too. Or a word: @hourly, @daily (@midnight), @weekly, @monthly, @yearly (@annually).
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
 * Moments: Unix seconds. */
#ifndef SEGQ_RECUR_CRON_H
#define SEGQ_RECUR_CRON_H

#include "common/base/base.h"

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

#endif

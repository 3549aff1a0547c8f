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

#endif

/* trail_day.h: days and moments (UTC) as text, as the lines and files of a trail have them. Pure. */
#ifndef SEGQ_TRAIL_DAY_H
#define SEGQ_TRAIL_DAY_H

#include "common/base/base.h"

#define TRAIL_DAY_MS   86400000ll
#define TRAIL_DAY_LEN  10 /* "2026-11-21" */
#define TRAIL_TIME_LEN 24 /* "2026-11-21T09:30:00.000Z" */

/* The day into out[TRAIL_DAY_LEN + 1]. */
void trail_day(int64_t wall_ms, char *out);
/* Days since 1970; -1: not the text of a day. */
SQ_CHECK int64_t trail_day_parse(const char *text, size_t len);
/* Writes the moment, TRAIL_TIME_LEN bytes; their end. */
char *trail_time(char *p, int64_t wall_ms);

#endif

/* date.h: days since 1970-01-01, and dates of the proleptic Gregorian calendar. Pure. Years count
 * from March, so that a leap day is their last (H. Hinnant, "chrono-Compatible Low-Level Date
 * Algorithms"). */
#ifndef SEGQ_DATE_H
#define SEGQ_DATE_H

#include "common/base/base.h"

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

/* zone.h: what a schedule asks of a time zone: how far its clocks are ahead of UTC at a moment. Pure.
 * Who answers is the owner's choice (task/service/zones.c: the system's zone files). */
#ifndef SEGQ_RECUR_ZONE_H
#define SEGQ_RECUR_ZONE_H

#include "common/base/base.h"

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

#endif

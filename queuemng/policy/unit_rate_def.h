/* unit_rate_def.h: rates in units, as operators write them for queues, keys, endpoints and targets. Pure. */
#ifndef SEGQ_UNIT_RATE_DEF_H
#define SEGQ_UNIT_RATE_DEF_H

#include "common/config/cfg.h"
#include "common/task/rules.h"

enum unit_window { WINDOW_SLIDING, WINDOW_CALENDAR };

struct unit_rate_def { /* units of what starts (`cost` of a task) in a span of time */
    int64_t units, burst; /* burst 0: as many as units */
    int per;              /* enum rate_per */
    int window;           /* enum unit_window */
    char *zone;           /* time zone of a calendar window; "": UTC */
};

extern const struct cfg_key unit_rate_keys[];

/* A key `rates`; at: offset of a struct cfg_list of struct unit_rate_def. */
#define UNIT_RATES_KEY(at, help)                                                         \
    { "rates", CFG_OBJS, at, "", 0, UNIT_RATES_MAX, true, help, 0, unit_rate_keys,       \
      sizeof(struct unit_rate_def) }

/* After cfg_bind: what the table cannot say. 0 or SQ_EINVAL with a sentence. */
SQ_CHECK int unit_rates_check(const struct cfg_list *rates, struct err *e);
/* Both have the same window: what is counted in one goes on in the other. */
bool unit_rate_same_window(const struct unit_rate_def *a, const struct unit_rate_def *b);
const char *unit_rate_per(const struct unit_rate_def *r); /* "minute" */
const char *unit_rate_window(const struct unit_rate_def *r); /* "calendar" */
int64_t unit_rate_seconds(const struct unit_rate_def *r); /* length of its span */
/* numbers: units, per, units at once of each, for UNIT_RATES_MAX of them. */
void unit_rates_put(const struct cfg_list *rates, uint64_t *numbers);

struct rate_zones { /* zones of calendar windows of queues and keys, as task nodes are told them */
    const char *v[RATE_ZONES_MAX]; /* borrowed; zone 1 and up; "": UTC */
    uint32_t n;
    bool full; /* another one had no room */
};
/* Packed, LIMIT_WINDOWS bits (common/task/rules.h); a zone that is new goes to the end of the list. */
uint64_t unit_rates_windows(const struct cfg_list *rates, struct rate_zones *z);

#endif

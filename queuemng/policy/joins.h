/* joins.h: conclusions from joins that all routers tell: the region in which most people join, where new
 * segments go; whether joins of a queue need a challenge. Pure.
 *
 * The region changes with a clear majority that lasts, so that two regions alike do not take turns: another
 * one has half as many joins more for REGION_HOLD_MS, without a second in which it has not. Nobody is
 * moved: only what is opened from then on is there. */
#ifndef SEGQ_MNG_POLICY_JOINS_H
#define SEGQ_MNG_POLICY_JOINS_H

#include "common/base/base.h"
#include "common/wire/msg_router_manager.h"

#define REGION_HOLD_MS  30000
#define REGION_LEAST    1.0 /* joins a second of all: with less nobody is the most */
#define REGION_PERCENT  25  /* a node elsewhere counts as so much fuller */
#define REGIONS_MAX  16  /* further ones are not looked at */

struct region_joins { /* joins of the routers of a region */
    const char *region;
    double per_s;
};

struct region_choice { /* zero: no region */
    char region[NAME_MAX_LEN + 1], rival[NAME_MAX_LEN + 1];
    msec_t since_ms; /* since when the rival has more */
};

/* Adds a router's joins to its region's; "" is none. */
void region_add(struct region_joins *v, unsigned *n, const char *region, double per_s);
/* Once a second; true: the region has changed. */
bool region_second(struct region_choice *x, const struct region_joins *v, unsigned n, msec_t now_ms);

/* Challenges: what counts is the middle one of the last three seconds: routers tell their joins once a second by
 * clocks of their own, so now and then one of ours has two seconds of theirs, or none.
 *
 * On at `from` joins; twice the work at FLOOD_FIERCE times of that. Off, or down by a level, only after
 * FLOOD_CALM_S seconds below half of what turned it on: joins that were asked for work count like
 * others, so a flood that gives up does not turn it off and on. */

#define FLOOD_FIERCE 8
#define FLOOD_CALM_S 30

enum flood_why { FLOOD_CALM, FLOOD_BY_HAND, FLOOD_JOINS };

struct flood {
    uint64_t came;      /* joins told since the last step */
    uint64_t last[2];   /* in the two steps before */
    uint64_t per_s;     /* in the middle one of three */
    unsigned by_joins;  /* level that these make */
    unsigned level;     /* 0: off */
    enum flood_why why;
    unsigned calm_s;    /* seconds below half */
    int64_t since_ms;   /* wall clock: begin of this reason; 0: it was never another */
    uint64_t began_per_s; /* joins per second that turned it on */
};

/* A second has passed; from: 0: only by hand. True: level or reason is another now. */
SQ_CHECK bool flood_second(struct flood *f, enum challenge_mode mode, uint64_t from, int64_t wall_ms);
extern const char *const flood_whys[]; /* "" (off), by_hand, joins */

#endif

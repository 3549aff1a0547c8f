/* flood.h: whether joins of a queue need a challenge, by how many come to all routers. Pure.
 *
 * What counts is the middle one of the last three seconds: routers tell their joins once a second by
 * clocks of their own, so now and then one of ours has two seconds of theirs, or none.
 *
 * On at `from` joins; twice the work at FLOOD_FIERCE times of that. Off, or down by a level, only after
 * FLOOD_CALM_S seconds below half of what turned it on: joins that were asked for work count like
 * others, so a flood that gives up does not turn it off and on. */
#ifndef SEGQ_FLOOD_H
#define SEGQ_FLOOD_H

#include "common/wire/msg_router_manager.h"

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

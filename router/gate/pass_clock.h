/* pass_clock.h: by which clock a pass is judged. Its times are of the manager's clock of
 * releases, which STATS tells each second; the wall clock of this machine may be another.
 * Pure.
 *
 *   the clock that is told    passes that were stamped since it is told
 *   the one told before it    passes that were stamped by then: a pass outlives a leap
 *   the wall clock            a pass that is good by it; all that counts when no clock is told
 *                             (an older manager, none yet)
 *
 * So a pass is good for its life as its holder sees it, whatever clock is wrong. Where all
 * clocks agree to d seconds, a pass that is over is refused d + PASS_CLOCK_SLACK_MS later at
 * the latest. */
#ifndef SEGQ_PASS_CLOCK_H
#define SEGQ_PASS_CLOCK_H

#include "common/base/base.h"

#define PASS_CLOCK_SLACK_MS 5000 /* a stamp that is late by less is of the same clock */
#define PASS_CLOCK_NBF_S    60   /* clocks of machines differ */

struct told_clock {
    bool known;
    int64_t ahead_ms;      /* lead over our monotonic clock */
    int64_t from_s, to_s;  /* passes that it stamped, Unix seconds of its own */
};

struct pass_clock {
    struct told_clock now, before;
};

/* stamp_ms: as it was told at now_ms (monotonic); 0: not told, nothing changes. */
void pass_clock_told(struct pass_clock *c, msec_t now_ms, int64_t stamp_ms);
/* Unix seconds: the time for a pass that was released at nbf_s and is good until until_s. It
 * is wall_s if the pass is good by no clock. */
int64_t pass_clock_s(const struct pass_clock *c, msec_t now_ms, int64_t wall_s, int64_t nbf_s,
                     int64_t until_s);
/* By no clock is it earlier: what ended by then is over for good. */
int64_t pass_clock_least_s(const struct pass_clock *c, msec_t now_ms, int64_t wall_s);
static inline bool pass_clock_good(int64_t at_s, int64_t nbf_s, int64_t until_s)
{
    return until_s > at_s && nbf_s <= at_s + PASS_CLOCK_NBF_S;
}

#endif

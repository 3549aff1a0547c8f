/* eta_lane.h: what the people of one lane are told about their waiting time. Pure.
 *
 * Two figures are told, releases per second and the share that gives up; everybody's time
 * follows from them and the place (common/ticket/pace.h). They are measured every second and told
 * like steps: what was told stays told until what is measured is clearly something else. So
 * the time of somebody who waits only falls, except when the rate really changed; then
 * everybody is told why for as long as it takes until all have polled.
 *
 *   the controller allows another rate      at once, by the same factor
 *   measured over ETA_FAST_S clearly off    after ETA_SURE_S seconds: what is new counts alone
 *   measured over ETA_SLOW_S a little off   after ETA_SURE_S seconds
 *   paused, or nothing is allowed           unknown at once; after it as before
 *   a lost segment is rebuilt, or the nodes as before; unknown while that lets nobody in
 *   of all who wait are away
 *   slots are full, and nobody leaves       as many as follow when each stays for the longest time: as
 *                                           a rule they come sooner. It is the mean, and no bound: who
 *                                           came in together leave together, and what others hold of a
 *                                           budget comes to its queues when they have left
 *
 * Only a second in which more waited than were let in says how fast it goes: else the rate
 * is that of the joins. Before the first one, what is allowed is told.
 *
 * Promises are probed: what the last in line would be told is compared with when the
 * releases have passed that number. */
#ifndef SEGQ_ETA_LANE_H
#define SEGQ_ETA_LANE_H

#include "common/ticket/pace.h"

#define ETA_FAST_S   8
#define ETA_SLOW_S   40
#define ETA_SURE_S   5
#define ETA_PROBES   8
#define ETA_PROBE_MS 5000  /* between two probes at first; twice as much each time it is full */
#define ETA_STALE_MS 60000 /* after this long without a look it begins anew */

struct eta_probe {
    seg_id seg; /* 0 = free */
    uint32_t number;
    double promised_s;
    msec_t at_ms;
};

struct eta_lane { /* zero = new */
    double fast, slow, leave; /* measured; per second */
    uint32_t n;               /* seconds that said something */
    double told_rate, told_leave; /* rate 0: nothing is known yet */
    double allowed;           /* at the last look */
    uint32_t off_s;           /* seconds for which it has been something else */
    double by_stay;           /* at the last look */
    uint8_t reason;           /* enum eta_reason */
    msec_t reason_until_ms, last_ms;
    struct eta_probe probe[ETA_PROBES];
    msec_t probe_ms, probe_every_ms;
};

struct eta_in { /* a second of a lane */
    msec_t now_ms;
    uint64_t waiting;          /* at its end */
    uint64_t released, gone;   /* in it; gone: left or timed out in line */
    double allowed;            /* per second, for this lane; 0: only measuring tells (slots) */
    double by_stay;            /* by slots: as many follow a second in the long run, since no session
                                * lasts for ever; 0: not known */
    bool paused, stopped;      /* by the operator; by what limits, or as `held`, if that lets nobody in */
    bool held;                 /* by a rebuild, or nodes that are away: how many are let in says nothing about later */
    msec_t told_for_ms;        /* the longest that anybody stays away as told */
};
void eta_second(struct eta_lane *e, const struct eta_in *in);
/* Nothing is known from now on, until a second that is neither. */
void eta_hold(struct eta_lane *e, bool paused);
/* The rate that is told now; 0: unknown. */
double eta_told_rate(const struct eta_lane *e);

/* ---- probes ---- */

struct eta_errors { /* |promised - real| */
    uint64_t le[12]; /* by eta_bounds; the last: above them all */
    uint64_t n;
    double sum_s, promised_s;
};
extern const double eta_bounds[11]; /* seconds */

/* The last in line is `number` of segment seg, and `waiting` people wait. */
void eta_probe(struct eta_lane *e, msec_t now_ms, seg_id seg, uint32_t number,
               uint64_t waiting);
/* Numbers of seg below `end` have been released. */
void eta_passed(struct eta_lane *e, msec_t now_ms, seg_id seg, uint32_t end,
                struct eta_errors *sum);

#endif

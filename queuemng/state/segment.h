/* segment.h: one segment: its phase and health, and answers to the questions of the plan. Nothing
 * here gives an order.
 *
 *   phase:   OPENING --its node has it--> REPORTED <--its node has it-- STORED (loaded)
 *               '<--------------- opened on another node ---------------'
 *
 *   health:  WHOLE <----------- it is back after all ----------- GONE
 *              |   '------------ its node is gone ----------------^ |
 *              |                                                    | opened elsewhere
 *              '<-- all are back, or time is over -- REBUILDING <---'
 *                                                     |     ^
 *                              its node is gone, too  v     | opened elsewhere, or back after all
 *                                                    GONE_AGAIN */
#ifndef SEGQ_QUEUEMNG_STATE_SEGMENT_H
#define SEGQ_QUEUEMNG_STATE_SEGMENT_H

#include "queuemng/state/state.h"

/* The step must be one of the drawing above; staying is one. */
void seg_set_phase(struct mseg *s, enum seg_phase to);
void seg_set_health(struct mseg *s, enum seg_health to);

/* Routers may know it. */
static inline bool seg_is_announced(const struct mseg *s)
{
    return s->phase != SEG_OPENING;
}

/* True: its node has reported it to this manager. */
static inline bool seg_is_reported(const struct mseg *s)
{
    return s->phase == SEG_REPORTED;
}

/* True: its node is gone with it. */
static inline bool seg_is_lost(const struct mseg *s)
{
    return s->health == SEG_GONE || s->health == SEG_GONE_AGAIN;
}

/* True: its people are coming back, or were when it was lost again. */
static inline bool seg_is_rebuilding(const struct mseg *s)
{
    return s->health == SEG_REBUILDING || s->health == SEG_GONE_AGAIN;
}

bool seg_reachable(const struct mseg *s);
/* In a move that we do not know. */
bool seg_in_unknown_move(const struct mseg *s);
/* True: uncertain contents: in a move that we do not know, or with a missing source. */
bool seg_is_uncertain(const struct mseg *s);
/* Not all of its people are known to be in it: lost, or being rebuilt. */
bool seg_is_recovering(const struct mseg *s);
/* Certainly nobody in it will be popped any more. */
bool seg_dry(const struct mseg *s);
/* At most so many people stand in it: what is behind it is at least that near. */
uint64_t seg_bound(const struct mseg *s);
/* Updates its node's count of used segments, after each change of its state. */
void seg_used(struct mseg *s);
/* Never given before, and never again. */
seg_id seg_id_take(struct mng *m);

#endif

/* clock.h: the times of a node. Idle time-outs and claim windows run on its service clock, which
 * stands still while nobody could reach us (segtab.h). Passes and sessions end by what passes say
 * (seconds of the wall clock), and on the monotonic clock of this process. */
#ifndef SEGQ_SEG_CORE_CLOCK_H
#define SEGQ_SEG_CORE_CLOCK_H

#include "segment/core/state.h"

/* Every call begins with it: the present time, and segments whose time to close has come. */
void segtab_clock(struct segtab *t, struct seg_now now);
/* The same for a call with which a router says something: its silence counts up to now. */
void segtab_heard(struct segtab *t, struct seg_now now);
/* A router's link is up. Nobody could poll while there was none, and now people come one
 * after the other (those, too, whose routers are back a little later): the clock stands for as
 * long again. */
void segtab_rest(struct segtab *t);

/* When the pass that was released then is over: on the monotonic clock, as are the others. */
msec_t segtab_pass_end(const struct segtab *t, const struct seg *g, int64_t at_ms);
/* The same as its pass says it: Unix seconds; of an extended session the later end. */
int64_t segtab_until_s(const struct seg *g, const struct session *x);
/* When the session is over. */
msec_t segtab_session_end(const struct segtab *t, const struct seg *g,
                          const struct session *x);

#endif

/* hearing.h: is a queue's crowd heard, so that a silent one is silent himself? Pure.
 *
 *   polls:  | | |  | |       silence        | || | | | |
 *   heard:  -----------------.              '----away---------- may be passed over
 *
 * Who is called and has not polled for `away` is passed over (segment/node/segtab_away.c). But when
 * a load balancer restarts, a line to a country is cut, or all routers are away, the whole
 * line falls silent, and each would lose his turn to whoever happens to be back first. So
 * nobody is passed over while nobody is heard, nor after it until all have had the time to
 * come back, which is as long as anybody may be silent: `away`. */
#ifndef SEGQ_HEARING_H
#define SEGQ_HEARING_H

#include "common/base/base.h"

struct hearing { /* zero = nobody yet */
    msec_t last_ms, since_ms;
};

/* Somebody has polled. quiet_ms: with less between two polls it is no silence. */
void hearing_poll(struct hearing *h, msec_t now_ms, msec_t quiet_ms);
/* After what lateness to pass over: away_ms, or 0: nobody. */
uint32_t hearing_away_ms(const struct hearing *h, msec_t now_ms, msec_t quiet_ms, msec_t away_ms);

#endif

/* ev_coalesce.h: turns of a loop (ev.h) that come too fast wait for company. Shell. */
#ifndef SEGQ_EV_COALESCE_H
#define SEGQ_EV_COALESCE_H

#include "common/base/base.h"

struct ev;

/* While turns come faster than one in two gaps, each begins at least gap_us after the one
 * before: the same events in fewer wake-ups, for at most gap_us of latency. 0 = never. */
void ev_coalesce(struct ev *ev, uint32_t gap_us);
/* For ev.c: before the next turn's wait; returns what time it is then, about. */
int64_t ev_calm_down(struct ev *ev, int64_t now_us);

#endif

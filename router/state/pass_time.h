/* pass_time.h: the time that passes are judged by, from this router's clocks. Shell. */
#ifndef SEGQ_ROUTER_PASS_TIME_H
#define SEGQ_ROUTER_PASS_TIME_H

#include "router/state/router.h"

int64_t router_wall_s(void); /* Unix seconds */
/* By no clock is it earlier: what ended by then is over. pass_clock.h. */
int64_t router_least_s(const struct router *r);

#endif

/* pass_time.h: the time that passes are judged by, from this router's clocks. Shell. */
#ifndef SEGQ_ROUTER_PASS_TIME_H
#define SEGQ_ROUTER_PASS_TIME_H

#include "router/state/router.h"

int64_t router_wall_s(void); /* Unix seconds */
/* By no clock is it earlier: what ended by then is over. pass_clock.h. */
int64_t router_least_s(const struct router *r);

#define ROUTER_TIME_MAX 72
/* A moment as text: "rfc3339", "unix", or a layout of strftime(), in the time zone of the process; how
 * many bytes, no 0 behind them. 0: the layout is none. */
size_t router_time_text(char out[ROUTER_TIME_MAX], const char *layout, int64_t unix_s);
#define ROUTER_TIME_LONGEST (ROUTER_TIME_MAX - 9) /* bytes, by a layout */
/* Is the layout one at each hour of a leap year? Names of months and weekdays differ in length, so a
 * text that has room today may have none in a Wednesday of September. */
bool router_time_fits(const char *layout);

#endif

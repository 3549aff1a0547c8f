/* pass_time.c: see pass_time.h. */
#include "router/state/pass_time.h"

#include <time.h>

int64_t router_wall_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec;
}

int64_t router_least_s(const struct router *r)
{
    return pass_clock_least_s(&r->pass_clock, ev_now(r->ev), router_wall_s());
}

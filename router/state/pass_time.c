/* pass_time.c: see pass_time.h. */
#include "router/state/pass_time.h"

#include <stdio.h>
#include <string.h>
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

size_t router_time_text(char out[ROUTER_TIME_MAX], const char *layout, int64_t unix_s)
{
    bool rfc3339 = strcmp(layout, "rfc3339") == 0;
    time_t t = (time_t)unix_s;
    struct tm at;
    long off;
    size_t n;

    if (strcmp(layout, "unix") == 0)
        return (size_t)snprintf(out, ROUTER_TIME_MAX, "%lld", (long long)unix_s);
    if (localtime_r(&t, &at) == NULL)
        return 0;
    n = strftime(out, ROUTER_TIME_MAX - 8, rfc3339 ? "%Y-%m-%dT%H:%M:%S" : layout, &at);
    off = at.tm_gmtoff < 0 ? -at.tm_gmtoff : at.tm_gmtoff;
    if (rfc3339 && n > 0)
        n += (size_t)snprintf(out + n, 8, "%c%02ld:%02ld", at.tm_gmtoff < 0 ? '-' : '+',
                              off / 3600 % 24, off / 60 % 60);
    return n;
}

bool router_time_fits(const char *layout)
{
    const int64_t begin_s = 1830297600 + 59 * 60 + 59, hours = 366 * 24; /* 2028 */
    char text[ROUTER_TIME_MAX];

    for (int64_t i = 0; i < hours; i++)
        if (router_time_text(text, layout, begin_s + i * 3600) == 0)
            return false;
    return true;
}

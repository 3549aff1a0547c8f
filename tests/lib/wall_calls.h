/* wall_calls.h: the calls that tell the wall clock, moved by wall_ahead_s(); the monotonic clock
 * is left alone. For libraries that are preloaded; included once in each, behind the definition
 * of `static time_t wall_ahead_s(void)`, with _GNU_SOURCE. */
#ifndef SEGQ_TESTS_WALL_CALLS_H
#define SEGQ_TESTS_WALL_CALLS_H

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *ts)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, ts);

    if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        ts->tv_sec += wall_ahead_s();
    return rc;
}

time_t time(time_t *out)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    if (out != NULL)
        *out = ts.tv_sec;
    return ts.tv_sec;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    struct timespec ts;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &ts);
    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;
    return 0;
}

#endif

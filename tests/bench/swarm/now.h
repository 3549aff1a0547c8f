/* now.h: the simulator's clock, read at every send and answer: a turn that serves hundreds
 * of connections takes longer than what is measured. */
#ifndef SEGQ_SWARM_NOW_H
#define SEGQ_SWARM_NOW_H

#include <stdint.h>
#include <time.h>

static inline int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Unix time, which is what releases are dated in. */
static inline int64_t now_wall_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

#endif

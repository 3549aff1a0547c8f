/* ev_clock.c: a loop's clock: read when somebody first asks in a turn, then kept until its end. */
#include "common/net/ev_clock.h"

#include <time.h>

#include "common/net/ev_int.h"

static int64_t read_us(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t ev_read_mono_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

int64_t ev_read_wall_ms(void)
{
    return read_us(CLOCK_REALTIME) / 1000;
}

/* The questions take a const ev: that an answer is remembered is nobody's business. */
void ev_read_clock(const struct ev *cev)
{
    struct ev *ev = (struct ev *)(uintptr_t)cev;

    ev->clock.mono_us = ev_read_mono_us();
    ev->clock.mono_ms = ev->clock.mono_us / 1000;
    ev->clock.wall_ms = ev_read_wall_ms();
    ev->clock.stale = false;
}

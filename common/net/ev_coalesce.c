/* ev_coalesce.c: turns that come too fast wait a little for company, as a network card
 * coalesces its interrupts (see ethtool's rx-usecs): at half load nearly every request
 * would wake the process for itself, and every hop would carry one request; the wake-ups
 * then cost more than the work. Under full load turns are long and this never waits. */
#include "common/net/ev_coalesce.h"

#include <sys/prctl.h>
#include <time.h>

#include "common/net/ev_int.h"

#define WINDOW_GAPS 32      /* the rate of turns is looked at over so many gaps */
#define SLACK_NS    1000UL  /* the kernel's 50 us would be half of the gap */

void ev_coalesce(struct ev *ev, uint32_t gap_us)
{
    ev->calm = (struct ev_calm){ .gap_us = gap_us };
    if (gap_us != 0)
        (void)prctl(PR_SET_TIMERSLACK, SLACK_NS, 0, 0, 0); /* else: waits are longer */
}

static bool fast(struct ev_calm *c, int64_t now_us)
{
    c->turns++;
    if (now_us - c->window_us >= WINDOW_GAPS * c->gap_us) {
        c->fast = c->turns >= WINDOW_GAPS / 2 &&
                  now_us - c->window_us < 2 * WINDOW_GAPS * c->gap_us;
        c->window_us = now_us;
        c->turns = 0;
    }
    return c->fast;
}

int64_t ev_calm_down(struct ev *ev, int64_t now_us)
{
    struct ev_calm *c = &ev->calm;
    int64_t until_us = ev->clock.mono_us + c->gap_us; /* this turn's begin */
    struct timespec ts = { .tv_nsec = (until_us - now_us) * 1000 };

    if (!fast(c, now_us) || ev->clock.stale || ts.tv_nsec <= 0)
        return now_us;
    c->waits++;
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL); /* a signal: the loop will see to it */
    return until_us;
}

/* quiet.c: since when a queue's polls have come without a break. Pure. */
#include "queuemng/policy/quiet.h"

#include <assert.h>

void quiet_poll(struct quiet *h, msec_t now_ms, msec_t quiet_ms)
{
    if (h->last_ms == 0 || now_ms - h->last_ms > quiet_ms)
        h->since_ms = now_ms;
    h->last_ms = now_ms;
    assert(h->since_ms <= h->last_ms);
}

uint32_t quiet_away_ms(const struct quiet *h, msec_t now_ms, msec_t quiet_ms, msec_t away_ms)
{
    if (h->last_ms == 0 || now_ms - h->last_ms > quiet_ms ||
        now_ms - h->since_ms < away_ms)
        return 0;
    return away_ms < UINT32_MAX ? (uint32_t)away_ms : UINT32_MAX;
}

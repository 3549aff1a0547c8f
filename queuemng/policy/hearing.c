/* hearing.c: since when a queue's crowd has been heard without a break. */
#include "queuemng/policy/hearing.h"

void hearing_poll(struct hearing *h, msec_t now_ms, msec_t quiet_ms)
{
    if (h->last_ms == 0 || now_ms - h->last_ms > quiet_ms)
        h->since_ms = now_ms;
    h->last_ms = now_ms;
}

uint32_t hearing_away_ms(const struct hearing *h, msec_t now_ms, msec_t quiet_ms, msec_t away_ms)
{
    if (h->last_ms == 0 || now_ms - h->last_ms > quiet_ms ||
        now_ms - h->since_ms < away_ms)
        return 0;
    return away_ms < UINT32_MAX ? (uint32_t)away_ms : UINT32_MAX;
}

/* absence.c: a moving average over decided tickets; gaps between polls. Pure. */
#include "queuemng/policy/absence.h"

#include <assert.h>

void no_show_second(struct no_show *c)
{
    double came = (double)(c->claimed - c->seen_claimed);
    double n = came + (double)(c->missed - c->seen_missed);
    double before = (double)(c->seen_claimed + c->seen_missed), memory;

    assert(c->claimed >= c->seen_claimed && c->missed >= c->seen_missed);
    if (n == 0)
        return;
    /* the mean of all of them at first, later one that forgets */
    memory = before + n < NO_SHOW_MEMORY ? before + n : NO_SHOW_MEMORY;
    c->rate += (came / n - c->rate) * (n < memory ? n / memory : 1);
    assert(c->rate >= 0 && c->rate <= 1);
    c->seen_claimed = c->claimed;
    c->seen_missed = c->missed;
}

double no_show_share_come(const struct no_show *c)
{
    return c->seen_claimed + c->seen_missed < NO_SHOW_FEW ? 1 : c->rate;
}

double no_show_boost(const struct no_show *c, double most)
{
    double rate = no_show_share_come(c);

    if (most <= 1 || rate >= 1)
        return 1;
    return rate * most <= 1 ? most : 1 / rate;
}

/* ---- silence --------------------------------------------------------------------- */

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

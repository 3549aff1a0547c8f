/* no_show.c: a moving average over decided tickets. Pure. */
#include "queuemng/policy/no_show.h"

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

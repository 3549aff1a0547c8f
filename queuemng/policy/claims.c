/* claims.c: a moving average over decided tickets. Pure. */
#include "queuemng/policy/claims.h"

void claims_look(struct claims *c)
{
    double came = (double)(c->claimed - c->seen_claimed);
    double n = came + (double)(c->missed - c->seen_missed);
    double before = (double)(c->seen_claimed + c->seen_missed), memory;

    if (n == 0)
        return;
    /* the mean of all of them at first, later one that forgets */
    memory = before + n < CLAIMS_MEMORY ? before + n : CLAIMS_MEMORY;
    c->rate += (came / n - c->rate) * (n < memory ? n / memory : 1);
    c->seen_claimed = c->claimed;
    c->seen_missed = c->missed;
}

double claims_rate(const struct claims *c)
{
    return c->seen_claimed + c->seen_missed < CLAIMS_FEW ? 1 : c->rate;
}

double claims_boost(const struct claims *c, double most)
{
    double rate = claims_rate(c);

    if (most <= 1 || rate >= 1)
        return 1;
    return rate * most <= 1 ? most : 1 / rate;
}

/* allowance.c: a bucket with room for a tenth of a second. */
#include "task/engine/allowance.h"

#include <assert.h>

static void set(struct allowance *b, uint64_t per_1000_s, msec_t now)
{
    b->none = per_1000_s == 0;
    b->rate = rate_make((double)per_1000_s / 1000, (uint32_t)(per_1000_s / 10000) + 1);
    if (!b->none)
        b->tat = rate_anew(&b->rate, b->tat, now);
}

void allowance_rules(struct allowance *b, const struct task_rules *r, msec_t now)
{
    b->is_on = r->until_told > 0;
    b->fallback = b->is_on ? r->until_told - 1 : 0;
    if (b->told_until == 0)
        set(b, b->fallback, now);
}

void allowance_tell(struct allowance *b, uint64_t per_1000_s, msec_t now)
{
    assert(per_1000_s <= RATE_PER_1000_S);
    set(b, per_1000_s, now);
    b->told_until = now + ALLOWANCE_TOLD_MS;
}

void allowance_advance(struct allowance *b, msec_t now)
{
    if (b->told_until == 0 || now < b->told_until)
        return;
    b->told_until = 0;
    set(b, b->fallback, now);
}

msec_t allowance_next(const struct allowance *b, msec_t now)
{
    msec_t lets = allowance_lets(b, now) || b->none ? MSEC_NEVER : rate_when(&b->rate, b->tat);

    return b->is_on && b->told_until != 0 ? ms_min(lets, b->told_until) : lets;
}

void allowance_empty(struct allowance *b, msec_t now)
{
    b->tat = rate_empty(&b->rate, now);
}

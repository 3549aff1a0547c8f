/* budget.c: a bucket that may be overdrawn. */
#include "task/calls/budget.h"

#define ONE 1000000 /* a retry */

void budget_init(struct budget *b, msec_t now)
{
    *b = (struct budget){ .micros = (int64_t)BUDGET_LEAST * ONE, .at = now, .began = now };
}

/* Retries that 10 s bring at the pace of now. */
static int64_t of_span(const struct budget *b)
{
    uint64_t firsts = u64_max(b->firsts, b->before);

    return ((int64_t)BUDGET_LEAST + (int64_t)u64_min(firsts, 1000000) / BUDGET_PER) * ONE;
}

static void advance(struct budget *b, msec_t now)
{
    msec_t passed = now > b->at ? now - b->at : 0;

    if (now - b->began >= BUDGET_SPAN_MS) {
        b->before = now - b->began < 2 * BUDGET_SPAN_MS ? b->firsts : 0;
        b->firsts = 0;
        b->began = now;
    }
    passed = ms_min(passed, BUDGET_WAIT_MS);
    b->micros += (int64_t)BUDGET_LEAST * ONE * passed / BUDGET_SPAN_MS;
    b->at = now;
    if (b->micros > of_span(b))
        b->micros = of_span(b);
}

void budget_first(struct budget *b, msec_t now)
{
    advance(b, now);
    b->firsts++;
    b->micros += ONE / BUDGET_PER;
}

msec_t budget_retry(struct budget *b, msec_t now)
{
    advance(b, now);
    b->micros -= ONE;
    if (b->micros >= 0)
        return 0;
    return ms_min(-b->micros / (of_span(b) / BUDGET_SPAN_MS), BUDGET_WAIT_MS);
}

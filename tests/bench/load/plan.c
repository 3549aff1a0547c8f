/* plan.c: times from the number of the request, so that roundings do not add up. */
#include "tests/bench/load/plan.h"

void plan_init(struct plan *p, double per_s, int64_t start_us, int64_t end_us)
{
    *p = (struct plan){ .start_us = start_us, .end_us = end_us, .gap_us = 1e6 / per_s };
}

int64_t plan_due_us(const struct plan *p)
{
    int64_t due = p->start_us + (int64_t)((double)p->next * p->gap_us);

    return due < p->end_us ? due : INT64_MAX;
}

bool plan_take(struct plan *p, int64_t now_us, int64_t *due_us)
{
    *due_us = plan_due_us(p);
    if (*due_us > now_us || *due_us == INT64_MAX)
        return false;
    p->next++;
    return true;
}

void plan_stop(struct plan *p, int64_t end_us)
{
    if (end_us < p->end_us)
        p->end_us = end_us;
}

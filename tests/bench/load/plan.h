/* plan.h: when requests are due in an open loop: a constant rate, and nothing that a slow
 * server does moves it. Pure.
 *
 * What is due and not taken yet is the queue of those who wait for a free connection; it
 * needs no memory, since the k-th request's time is known from k. */
#ifndef SEGQ_LOAD_PLAN_H
#define SEGQ_LOAD_PLAN_H

#include "common/base/base.h"

struct plan {
    int64_t start_us, end_us; /* nothing is due at the end or later */
    double gap_us;
    uint64_t next;            /* number of the next request */
};

void plan_init(struct plan *p, double per_s, int64_t start_us, int64_t end_us);
/* When the next one is due; INT64_MAX: there is none. */
int64_t plan_due_us(const struct plan *p);
/* Takes the next one if it is due: true, and when it was. */
bool plan_take(struct plan *p, int64_t now_us, int64_t *due_us);
/* Nothing is due at that time or later. */
void plan_stop(struct plan *p, int64_t end_us);

#endif

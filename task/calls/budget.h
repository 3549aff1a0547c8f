/* budget.h: how many calls to an endpoint may be retries. Pure.
 *
 * Each first attempt adds a fifth of a retry, and time adds three in 10 s; a bucket holds as many as
 * 10 s bring, three at least. A retry is paid for when its attempt has failed: what is not there is
 * owed, and the retry waits for as long as the bucket needs, at the pace of the last 10 s, to pay it
 * back. So what exceeds the budget waits in its back-off and stops nobody else, and no attempt is
 * lost. (The shape of Finagle's RetryBudget.) */
#ifndef SEGQ_CALLS_BUDGET_H
#define SEGQ_CALLS_BUDGET_H

#include "common/base/base.h"

#define BUDGET_LEAST   3 /* retries, in */
#define BUDGET_SPAN_MS 10000
#define BUDGET_PER     5 /* first attempts are worth one retry */
#define BUDGET_WAIT_MS 3600000 /* longer waits nobody */

struct budget {
    int64_t micros;   /* millionths of a retry that are there; below 0: owed */
    msec_t at;
    uint64_t firsts, before; /* first attempts since `began`, and in the span before it */
    msec_t began;
};

void budget_init(struct budget *b, msec_t now); /* full */
void budget_first(struct budget *b, msec_t now);
/* Counts another retry: how long it waits, beside its back-off. */
msec_t budget_retry(struct budget *b, msec_t now);

#endif

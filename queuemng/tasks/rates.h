/* rates.h: pools with limits by metrics: the controller's rate, shared out among the owners of the
 * pool's partitions. Pure.
 *
 * The shares of a pool never exceed its rate: an owner that is not heard may still use what it was
 * told last, for as long as that holds, and its share of the fallback from then on. The others get
 * the rest by what waits there; those where nobody waits a little, so that a task which comes need
 * not wait for the next second. */
#ifndef SEGQ_QUEUEMNG_TASKS_RATES_H
#define SEGQ_QUEUEMNG_TASKS_RATES_H

struct mng;

/* Each tick. */
void pool_rates_tick(struct mng *m);

#endif

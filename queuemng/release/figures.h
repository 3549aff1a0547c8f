/* figures.h: the allowed rate of a queue, and what limits it, brought up to date outside of
 * its ticks: for pages and operators. */
#ifndef SEGQ_QUEUEMNG_RELEASE_FIGURES_H
#define SEGQ_QUEUEMNG_RELEASE_FIGURES_H

#include "common/base/base.h"

struct mng;
struct mqueue;

/* The rate that a queue without ticks would allow; routers are told only if it has changed. */
void idle_figures(struct mng *m, struct mqueue *q);
/* An operator or the clock has just changed the queue: routers are told with this step, and not a
 * second later. */
void queue_figures_now(struct mng *m, struct mqueue *q);

#endif

/* places.h: callers in line that wait for an end, and are told their places meanwhile. Pure.
 *
 *   who    a TASK_GET that waits and says so (`places`), a second after it came, and then once a second at most
 *   how    the clock looks at those who were looked at longest ago, PLACES_TURN of them in a turn of it, so
 *          10 000 are looked at each 2.5 s, and cost no more than 4000; what is as it was is not told again.
 *          What there is for one link is one message */
#ifndef SEGQ_TASKTAB_PLACES_H
#define SEGQ_TASKTAB_PLACES_H

#include "task/node/state.h"

#define PLACES_EACH_MS 1000
#define PLACES_TURN    400u /* a tenth of a second */

#endif

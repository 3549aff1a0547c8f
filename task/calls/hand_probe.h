/* hand_probe.h: a probe that an operator orders of an endpoint that is down: one call at once,
 * whatever the breaker says. Pure.
 *
 *   ASKED -> SENT -> ANSWERED     and what came: a target that is well again lets probes follow
 *     |        '---> LOST         its task was cancelled
 *     '-> NO_TASK, NO_NEED, PAUSED, LIMITED, UNUSABLE: nothing was sent
 *
 * One that fails does not prolong the time for which the breaker is open, and a tripped endpoint
 * stays tripped whatever it says: the operator decides. Rate and slots hold for it, too. */
#ifndef SEGQ_CALLS_HAND_PROBE_H
#define SEGQ_CALLS_HAND_PROBE_H

#include "common/base/base.h"
#include "common/wire/msg_task_manager.h"

struct hand_probe { /* zero: none yet */
    uint64_t no;   /* number of the order */
    uint8_t state; /* enum probe_state */
    uint64_t call; /* SENT: going_call.id */
    uint64_t ms;   /* ANSWERED: it took so long, */
    char said[PROBE_SAID_MAX + 1]; /* and ended so, in words */
};

#endif

/* backoff.h: how long a failed task waits before it is tried again. Pure.
 * min * 2^(failures - 1), at most `doublings` doublings and at most max; then up to a share
 * `jitter` longer, never shorter, so that a retry is not before what was promised. */
#ifndef SEGQ_TASK_BACKOFF_H
#define SEGQ_TASK_BACKOFF_H

#include "common/base/base.h"
#include "common/task/rules.h"


struct backoff {
    uint32_t min_ms, max_ms; /* min <= max <= BACKOFF_MAX */
    uint8_t doublings;       /* at most 30 */
    uint8_t jitter;          /* percent, at most 100 */
};

/* failures: 1 after the first. salt: anything that differs from task to task. */
msec_t backoff_ms(const struct backoff *b, unsigned failures, uint64_t salt);

#endif

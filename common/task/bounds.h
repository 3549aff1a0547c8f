/* bounds.h: what a task's numbers are, and how large they get: for all who speak of tasks. Pure. */
#ifndef SEGQ_COMMON_TASK_BOUNDS_H
#define SEGQ_COMMON_TASK_BOUNDS_H

#include "common/base/base.h"

typedef uint64_t task_no; /* within its partition; 0: none. The low TASK_SLOT_BITS are its slot */
typedef uint32_t part_no; /* a partition, never used again; 0: none */

#define TASK_SLOT_BITS  24
#define TASKS_MAX       (1u << TASK_SLOT_BITS) /* in a partition */
#define TASK_PRIORITIES 8
#define ATTEMPTS_MAX    62
#define TASK_KEY_LEVELS 3   /* queue, key, key below it */
#define TASK_NAME_MAX   64  /* bytes of a queue's name, of a key, of a caller's name */
#define TASK_IDEM_MAX   128 /* bytes of an Idempotency-Key */
#define DELAY_MAX_MS    ((msec_t)367 * 24 * 3600 * 1000)
#define BACKOFF_MAX     ((msec_t)24 * 3600 * 1000)
#define BYTES_WAIT_MAX  (1ull << 50) /* bytes of payloads of a partition */
#define RATE_BURST_MAX  1000000u
#define RATE_PER_1000_S 1000000000u /* at most */
#define TASK_BODY_MAX   (512u << 10) /* also of all bodies in one frame */
#define TASK_RESULT_MAX (64u << 10) /* bytes kept of a result; given: TASK_BODY_MAX */
#define ANSWER_READ_MAX (16u << 20) /* bytes that are read of a target's answer */
#define RESULT_SHA256   32u
#define TASK_ROWS_MAX   1000 /* tasks of one request */
#define AHEAD_MOST      100 /* counted so far: then it is "100 or more" */

#endif

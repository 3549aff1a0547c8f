/* patch.h: what a caller changes of a task that has not begun. Pure. */
#ifndef SEGQ_COMMON_TASK_PATCH_H
#define SEGQ_COMMON_TASK_PATCH_H

#include "common/task/bounds.h"

enum patch { PATCH_ORDER = 1, PATCH_WHEN = 2, PATCH_PRIORITY = 4, PATCH_LABELS = 8 };

struct task_patch {
    uint32_t has;    /* enum patch, bits; the rest is 0 */
    int64_t order;   /* where its queue goes by it, it goes before or behind others now */
    int64_t delay_ms, at_ms; /* another moment, of one that is scheduled: from now, or Unix ms */
    uint8_t priority; /* new priority; the place is that of its entry, in that line */
    const char *labels; /* borrowed; "a,b" (own.h) */
};

#endif

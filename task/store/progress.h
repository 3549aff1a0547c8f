/* progress.h: what workers say of the attempts that run: how far they are. Pure.
 *
 * In memory alone. No record has it, so an update costs no write: a process that begins anew, and another
 * owner, know nothing until the worker speaks again. It goes with its attempt: task_set_state() (store.h)
 * drops it. A task without costs nothing, one with it 60 bytes and what was said. */
#ifndef SEGQ_TASK_PROGRESS_H
#define SEGQ_TASK_PROGRESS_H

#include "common/base/map.h"
#include "common/task/state.h"

#define PROGRESSES_BYTES (16u << 20) /* bytes that a partition keeps */

struct worker_said { /* borrowed */
    uint8_t percent; /* the value + 1; 0: not said */
    const char *text, *data; /* UTF-8; a JSON value; n 0: none */
    uint32_t text_n, data_n;
};

struct progress { /* newest word of a task's worker */
    msec_t at;
    uint64_t serial; /* rises with each update */
    uint8_t percent;
    uint16_t text_n, data_n;
    char bytes[]; /* text, then data */
};

struct progresses {
    struct map by_slot; /* -> struct progress, owned */
    uint64_t bytes;     /* bytes of all of them */
    uint64_t serial;
};

void progresses_init(struct progresses *p);
void progresses_fini(struct progresses *p);
/* In place of what was said before. 0; SQ_EINVAL: too long; SQ_ENOMEM: nothing has changed. */
SQ_CHECK int progresses_set(struct progresses *p, uint32_t slot, const struct worker_said *s, msec_t at);
void progresses_drop(struct progresses *p, uint32_t slot);
uint64_t progresses_bytes(const struct progresses *p);

/* NULL: nothing was said. Borrowed until the next update of the task, or its end. */
static inline const struct progress *progress_of_slot(const struct progresses *p, uint32_t slot)
{
    return p->by_slot.n > 0 ? map_get_ptr(&p->by_slot, slot) : NULL;
}

#endif

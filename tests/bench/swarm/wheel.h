/* wheel.h: when which player acts next: a hashed timing wheel, one millisecond a slot. Pure.
 * A player is in at most one slot; the links are the wheel's, four bytes each. */
#ifndef SEGQ_SWARM_WHEEL_H
#define SEGQ_SWARM_WHEEL_H

#include "common/base/base.h"

#define WHEEL_SLOTS 65536u
#define WHEEL_NONE  UINT32_MAX

struct wheel {
    uint32_t head[WHEEL_SLOTS];
    uint32_t *next;  /* owned; per player */
    int64_t *due_ms; /* owned; per player */
    int64_t now_ms;  /* slots up to this one have been emptied */
    size_t n;        /* players in it */
};

SQ_CHECK int wheel_init(struct wheel *w, uint32_t players, int64_t now_ms); /* or SQ_ENOMEM */
void wheel_fini(struct wheel *w);
/* Not before the next millisecond. */
void wheel_add(struct wheel *w, uint32_t who, int64_t due_ms);
/* Calls fn for each one due until now_ms, by time; fn may add. */
void wheel_advance(struct wheel *w, int64_t now_ms,
                   void (*fn)(void *ctx, uint32_t who, int64_t due_ms), void *ctx);

#endif

/* arena.h: memory that is given back all at once. Pure.
 * For what one call or one turn needs: decoded messages, an outbox. */
#ifndef SEGQ_ARENA_H
#define SEGQ_ARENA_H

#include "common/base/base.h"

struct arena_chunk;
struct arena {
    struct arena_chunk *chunk; /* newest first */
    size_t used;               /* in the newest */
    bool failed;               /* an allocation failed since the last reset */
};

void arena_init(struct arena *a);
/* The first `cap` bytes come from memory that the caller lends until arena_fini(): 16-byte
 * aligned, ARENA_LENT(cap) bytes. */
#define ARENA_LENT(cap) ((cap) + 32u)
void arena_init_lent(struct arena *a, void *mem, size_t cap);
void arena_fini(struct arena *a);
/* Zeroed, 16-byte aligned; NULL: no memory (and `failed` is set). n may be 0. */
void *arena_alloc(struct arena *a, size_t n);
void *arena_array(struct arena *a, size_t n, size_t size); /* checks n * size */
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n); /* s may be NULL if n is 0 */
void *arena_memdup(struct arena *a, const void *p, size_t n);
/* Everything handed out is invalid. Keeps one chunk, so a turn does not malloc. */
void arena_reset(struct arena *a);

#endif

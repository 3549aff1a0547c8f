/* arena.c: bump allocation in chunks; only the newest chunk has room. */
#include "common/base/arena.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_ALIGN      16u
#define ARENA_FIRST      4096u
#define ARENA_CHUNK_MAX  (256u << 10) /* growth stops here; bigger only on demand */
#define ARENA_KEEP_MAX   (1u << 20)   /* a rare huge turn does not keep its memory */

struct arena_chunk {
    struct arena_chunk *next; /* older */
    size_t cap;
    bool lent;                /* not ours to free */
    _Alignas(ARENA_ALIGN) uint8_t data[];
};

void arena_init(struct arena *a)
{
    memset(a, 0, sizeof(*a));
}

static_assert(ARENA_LENT(0) == offsetof(struct arena_chunk, data), "a chunk's head");

void arena_init_lent(struct arena *a, void *mem, size_t cap)
{
    assert((uintptr_t)mem % ARENA_ALIGN == 0);
    arena_init(a);
    a->chunk = mem;
    *a->chunk = (struct arena_chunk) { .cap = cap, .lent = true };
}

static void free_chunks(struct arena_chunk *c)
{
    while (c != NULL) {
        struct arena_chunk *next = c->next;

        if (!c->lent)
            free(c);
        c = next;
    }
}

void arena_fini(struct arena *a)
{
    free_chunks(a->chunk);
    memset(a, 0, sizeof(*a));
}

static bool add_chunk(struct arena *a, size_t need)
{
    size_t cap = ARENA_FIRST;
    struct arena_chunk *c;

    if (a->chunk != NULL)
        cap = a->chunk->cap < ARENA_CHUNK_MAX / 2 ? a->chunk->cap * 2 : ARENA_CHUNK_MAX;
    if (cap < need)
        cap = need;
    assert(cap >= need && need % ARENA_ALIGN == 0);
    c = malloc(sizeof(*c) + cap);
    if (c == NULL)
        return false;
    *c = (struct arena_chunk) { .next = a->chunk, .cap = cap };
    a->chunk = c;
    a->used = 0;
    return true;
}

/* Room for n bytes, not cleared. */
static void *take(struct arena *a, size_t n)
{
    size_t need;
    void *p;

    if (n > SIZE_MAX / 2)
        goto fail;
    need = (n + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    if (a->chunk == NULL || need > a->chunk->cap - a->used)
        if (!add_chunk(a, need))
            goto fail;
    p = a->chunk->data + a->used;
    a->used += need;
    return p;
fail:
    a->failed = true;
    return NULL;
}

void *arena_alloc(struct arena *a, size_t n)
{
    void *p = take(a, n);

    if (p != NULL)
        memset(p, 0, n);
    return p;
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes))
        bytes = SIZE_MAX; /* fails, and says so */
    return arena_alloc(a, bytes);
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_memdup(a, s, strlen(s) + 1);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    size_t len = n > 0 ? strnlen(s, n) : 0;
    char *p = take(a, len + 1);

    if (p == NULL)
        return NULL;
    if (len > 0)
        memcpy(p, s, len);
    p[len] = '\0';
    return p;
}

void *arena_memdup(struct arena *a, const void *p, size_t n)
{
    void *q = take(a, n);

    if (q != NULL && n != 0)
        memcpy(q, p, n);
    return q;
}

void arena_reset(struct arena *a)
{
    struct arena_chunk *keep = a->chunk;

    if (keep != NULL) {
        free_chunks(keep->next);
        keep->next = NULL;
        if (keep->cap > ARENA_KEEP_MAX) {
            free_chunks(keep);
            a->chunk = NULL;
        }
    }
    a->used = 0;
    a->failed = false;
}

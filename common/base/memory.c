/* memory.c: slabs; arenas. */
#include "common/base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- slabs: each is its header, then pieces: below n_fresh those that were used at least once (the
 * unused of them in a list), above it untouched memory ---- */

#define KEEP_BYTES ((size_t)128 << 10) /* an empty slab with more goes without pages */

struct slab {
    struct list_node node; /* in pool.open or pool.full */
    void *free;            /* given back: each begins with a pointer to the next */
    uint32_t n_used, n_fresh;
};

_Static_assert(sizeof(struct slab) <= SLAB_LINE, "the header is one line");

void slab_init(struct slab_pool *p, size_t piece)
{
    assert(piece >= sizeof(void *) && piece % sizeof(void *) == 0);
    assert(piece <= SLAB_BYTES / 4);
    memset(p, 0, sizeof(*p));
    list_init(&p->open);
    list_init(&p->full);
    p->piece = piece;
    p->per_slab = (uint32_t)((SLAB_BYTES - SLAB_LINE) / piece);
}

static void slab_free(struct slab_pool *p, struct list *l, struct slab *s)
{
    list_remove(l, &s->node);
    p->n_bytes -= s->n_fresh * p->piece;
    munmap(s, SLAB_BYTES);
}

void slab_fini(struct slab_pool *p)
{
    list_each (&p->open, it)
        slab_free(p, &p->open, container_of(it, struct slab, node));
    list_each (&p->full, it)
        slab_free(p, &p->full, container_of(it, struct slab, node));
}

/* 2 MiB at a multiple of 2 MiB: out of twice as much, the rest goes back. */
static void *map_aligned(void)
{
    char *p = mmap(NULL, 2 * SLAB_BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    size_t before;

    if (p == MAP_FAILED)
        return NULL;
    before = -(uintptr_t)p & (SLAB_BYTES - 1);
    if (before > 0)
        munmap(p, before);
    munmap(p + before + SLAB_BYTES, SLAB_BYTES - before);
    return p + before;
}

static struct slab *slab_new(struct slab_pool *p)
{
    struct slab *s = map_aligned();

    if (s == NULL)
        return NULL;
    if (p->n_used > 0)
        (void)madvise(s, SLAB_BYTES, MADV_HUGEPAGE); /* a hint */
    list_push_front(&p->open, &s->node); /* the rest is zero */
    p->n_empty++;
    return s;
}

void *slab_take(struct slab_pool *p)
{
    struct slab *s = list_entry(list_first(&p->open), struct slab, node);
    void *piece;

    if (s == NULL)
        s = slab_new(p);
    if (s == NULL)
        return NULL;
    piece = s->free;
    if (piece != NULL) {
        memcpy(&s->free, piece, sizeof(s->free));
    } else {
        piece = (char *)s + SLAB_LINE + s->n_fresh++ * p->piece;
        p->n_bytes += p->piece;
    }
    assert(s->n_used < p->per_slab && s->n_fresh <= p->per_slab);
    p->n_used++;
    if (s->n_used++ == 0)
        p->n_empty--;
    if (s->n_used == p->per_slab) {
        list_remove(&p->open, &s->node);
        list_push_back(&p->full, &s->node);
    }
    return piece;
}

/* Nothing is in s any more. */
static void retire(struct slab_pool *p, struct slab *s)
{
    assert(s->n_used == 0);
    if (p->n_empty > 0) {
        slab_free(p, &p->open, s);
        return;
    }
    p->n_empty++;
    if (s->n_fresh * p->piece <= KEEP_BYTES)
        return;
    list_remove(&p->open, &s->node);
    p->n_bytes -= s->n_fresh * p->piece;
    if (madvise(s, SLAB_BYTES, MADV_DONTNEED) < 0) /* on failure the page is not zero yet */
        memset(s, 0, sizeof(*s));
    list_push_back(&p->open, &s->node);
}

void slab_give(struct slab_pool *p, void *piece)
{
    struct slab *s =
        (struct slab *)(void *)((char *)piece - ((uintptr_t)piece & (SLAB_BYTES - 1)));

    assert(s->n_used > 0 && p->n_used > 0); /* given back once only */
    if (s->n_used == p->per_slab) {
        list_remove(&p->full, &s->node);
        list_push_front(&p->open, &s->node);
    }
    memcpy(piece, &s->free, sizeof(s->free));
    s->free = piece;
    p->n_used--;
    if (--s->n_used == 0)
        retire(p, s);
}

/* ---- arenas: bump allocation in chunks; only the newest chunk has room ---- */

#define ARENA_ALIGN      16u
#define ARENA_FIRST      4096u
#define ARENA_CHUNK_MAX  (256u << 10) /* growth stops here; bigger only on demand */
#define ARENA_KEEP_MAX   (1u << 20)   /* a rare huge turn does not keep its memory */

struct arena_chunk {
    struct arena_chunk *next; /* older */
    size_t cap;
    _Alignas(ARENA_ALIGN) uint8_t data[];
};

void arena_init(struct arena *a)
{
    memset(a, 0, sizeof(*a));
}

static void free_chunks(struct arena_chunk *c)
{
    while (c != NULL) {
        struct arena_chunk *next = c->next;

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

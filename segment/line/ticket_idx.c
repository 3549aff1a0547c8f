/* ticket_idx.c: linear probing with backward-shift deletion: no tombstones to clean up. */
#include "segment/line/ticket_idx.h"

#include <assert.h>
#include <stdlib.h>

void ticket_idx_init(struct ticket_idx *x, size_t stride)
{
    *x = (struct ticket_idx){ .stride = stride };
}

void ticket_idx_fini(struct ticket_idx *x)
{
    free(x->slot);
    *x = (struct ticket_idx){ .stride = x->stride };
}

static const struct ticket_id *id_of(const struct ticket_idx *x, const void *recs,
                                     uint32_t i)
{
    return (const struct ticket_id *)(const void *)((const char *)recs + i * x->stride);
}

static uint32_t home(const struct ticket_idx *x, struct ticket_id id)
{
    uint64_t h = (id.seg * 0x9e3779b97f4a7c15u) ^ id.number;

    h *= 0xd6e8feb86659fd93u;
    return (uint32_t)(h >> 32) & (x->cap - 1);
}

int ticket_idx_reserve(struct ticket_idx *x, const void *recs, uint32_t n)
{
    struct ticket_idx y = { .stride = x->stride, .cap = x->cap > 0 ? x->cap : 16 };

    if ((uint64_t)n * 4 <= (uint64_t)x->cap * 3)
        return 0;
    while ((uint64_t)n * 4 > (uint64_t)y.cap * 3) {
        if (y.cap >= 1u << 31)
            return SQ_ENOMEM;
        y.cap *= 2;
    }
    y.slot = calloc(y.cap, sizeof(*y.slot));
    if (y.slot == NULL)
        return SQ_ENOMEM;
    for (uint32_t s = 0; s < x->cap; s++)
        if (x->slot[s] != 0)
            ticket_idx_put(&y, recs, x->slot[s] - 1);
    free(x->slot);
    *x = y;
    return 0;
}

uint32_t ticket_idx_grown(struct ticket_idx *x, const void *recs, uint64_t n, uint32_t cap)
{
    if (n > UINT32_MAX / 2 || ticket_idx_reserve(x, recs, (uint32_t)n) < 0)
        return TICKET_IDX_NONE;
    return n <= cap ? cap : (uint32_t)u64_max(n, cap < 16 ? 16 : cap * 3ull / 2);
}

uint32_t ticket_idx_find(const struct ticket_idx *x, const void *recs, struct ticket_id id)
{
    if (x->n == 0)
        return TICKET_IDX_NONE;
    for (uint32_t s = home(x, id); x->slot[s] != 0; s = (s + 1) & (x->cap - 1)) {
        const struct ticket_id *at = id_of(x, recs, x->slot[s] - 1);

        if (at->number == id.number && at->seg == id.seg)
            return x->slot[s] - 1;
    }
    return TICKET_IDX_NONE;
}

void ticket_idx_put(struct ticket_idx *x, const void *recs, uint32_t i)
{
    uint32_t s = home(x, *id_of(x, recs, i));

    assert((uint64_t)(x->n + 1) * 4 <= (uint64_t)x->cap * 3);
    while (x->slot[s] != 0)
        s = (s + 1) & (x->cap - 1);
    x->slot[s] = i + 1;
    x->n++;
}

/* Closes the gap at s: each entry that may move up to it without passing its home does. */
static void close_gap(struct ticket_idx *x, const void *recs, uint32_t s)
{
    uint32_t mask = x->cap - 1;

    for (uint32_t t = (s + 1) & mask; x->slot[t] != 0; t = (t + 1) & mask) {
        uint32_t h = home(x, *id_of(x, recs, x->slot[t] - 1));

        if (((t - h) & mask) < ((t - s) & mask))
            continue;
        x->slot[s] = x->slot[t];
        s = t;
    }
    x->slot[s] = 0;
}

void ticket_idx_del(struct ticket_idx *x, const void *recs, uint32_t i)
{
    uint32_t s = home(x, *id_of(x, recs, i));

    while (x->slot[s] != i + 1) {
        assert(x->slot[s] != 0);
        s = (s + 1) & (x->cap - 1);
    }
    x->n--;
    close_gap(x, recs, s);
}

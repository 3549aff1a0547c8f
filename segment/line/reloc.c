/* reloc.c: rank and select over a frozen bitmap. */
#include "segment/line/reloc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"

#define GROUP 8u /* words per prefix count */

struct reloc *reloc_new(seg_id seg, uint32_t base, uint32_t bits, const uint64_t *alive)
{
    uint32_t words = reloc_words(bits), groups = words / GROUP + 1;
    struct reloc *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return NULL;
    r->alive = calloc(1, words * sizeof(*r->alive) + groups * sizeof(*r->before));
    if (r->alive == NULL) {
        free(r);
        return NULL;
    }
    r->before = (uint32_t *)(r->alive + words);
    r->seg = seg;
    r->base = base;
    r->bits = bits;
    if (alive != NULL && words > 0)
        memcpy(r->alive, alive, words * sizeof(*alive));
    reloc_count(r);
    return r;
}

void reloc_free(struct reloc *r)
{
    if (r == NULL)
        return;
    free(r->alive);
    free(r);
}

void reloc_count(struct reloc *r)
{
    uint32_t words = reloc_words(r->bits);

    if (r->bits % 64 != 0)
        r->alive[words - 1] &= (1ull << (r->bits % 64)) - 1;
    r->count = 0;
    r->first = r->bits;
    for (uint32_t w = 0; w < words; w++) {
        if (w % GROUP == 0)
            r->before[w / GROUP] = r->count;
        if (r->count == 0 && r->alive[w] != 0)
            r->first = w * 64 + (uint32_t)__builtin_ctzll(r->alive[w]);
        r->count += bits64(r->alive[w]);
    }
    if (words % GROUP == 0)
        r->before[words / GROUP] = r->count;
}

uint32_t reloc_rank(const struct reloc *r, uint32_t n)
{
    uint32_t w = n / 64, rank = r->before[w / GROUP];

    for (uint32_t i = w / GROUP * GROUP; i < w; i++)
        rank += bits64(r->alive[i]);
    if (n % 64 != 0)
        rank += bits64(r->alive[w] & ((1ull << (n % 64)) - 1));
    return rank;
}

uint32_t reloc_slot(const struct reloc *r, uint32_t n)
{
    if (!((r->alive[n / 64] >> (n % 64)) & 1))
        return RELOC_NONE;
    return r->base + reloc_rank(r, n);
}

/* The last group before which at most k are alive. */
static uint32_t find_group(const struct reloc *r, uint32_t k)
{
    uint32_t lo = 0, hi = (reloc_words(r->bits) + GROUP - 1) / GROUP;

    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (r->before[mid] <= k)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

uint32_t reloc_number(const struct reloc *r, uint32_t k)
{
    uint32_t g = find_group(r, k), w = g * GROUP;
    uint64_t m;

    k -= r->before[g];
    while (k >= bits64(r->alive[w]))
        k -= bits64(r->alive[w++]);
    m = r->alive[w];
    for (; k > 0; k--)
        m &= m - 1;
    return w * 64 + (uint32_t)__builtin_ctzll(m);
}

struct reloc *reloc_freeze(const struct segq *q, seg_id seg, uint32_t bits)
{
    struct reloc *r = reloc_new(seg, 0, bits, NULL);
    uint32_t words = reloc_words(bits);

    if (r == NULL)
        return NULL;
    for (uint32_t b = 0; b < q->n_blocks && b * BLOCK_WORDS < words; b++) {
        uint32_t n = words - b * BLOCK_WORDS;

        if (q->block[b] != NULL)
            memcpy(r->alive + b * BLOCK_WORDS, q->block[b]->alive,
                   (n < BLOCK_WORDS ? n : BLOCK_WORDS) * sizeof(uint64_t));
    }
    reloc_count(r);
    return r;
}

static bool is_in(const struct reloc *f, uint32_t slot)
{
    return slot < f->bits && ((f->alive[slot / 64] >> (slot % 64)) & 1);
}

struct reloc *reloc_compose(const struct reloc *r, const struct reloc *f)
{
    uint32_t base = reloc_rank(f, r->base < f->bits ? r->base : f->bits);
    struct reloc *c = reloc_new(r->seg, base, r->bits, r->alive);
    uint32_t slot = r->base;

    if (c == NULL)
        return NULL;
    for (uint32_t w = 0; w < reloc_words(r->bits); w++)
        for (uint64_t m = r->alive[w]; m != 0; m &= m - 1, slot++)
            if (!is_in(f, slot))
                c->alive[w] &= ~(m & -m);
    reloc_count(c);
    return c;
}

/* ---- list ------------------------------------------------------------------------ */

int reloc_list_reserve(struct reloc_list *l, uint32_t n)
{
    return GROW_BY(l->v, l->n, n, l->cap, 1) ? 0 : SQ_ENOMEM;
}

/* Absorbed tickets are put behind all others, so bases rise; kept by insertion since the
 * parts of one move may come in any order. */
void reloc_list_add(struct reloc_list *l, struct reloc *take)
{
    uint32_t i = l->n;

    assert(l->n < l->cap); /* reserved */
    l->n++;
    for (; i > 0 && l->v[i - 1]->base > take->base; i--)
        l->v[i] = l->v[i - 1];
    l->v[i] = take;
}

void reloc_list_fini(struct reloc_list *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        reloc_free(l->v[i]);
    free(l->v);
    memset(l, 0, sizeof(*l));
}

/* Empty tables share their base with the next: the last one that holds the slot. */
const struct reloc *reloc_list_at(const struct reloc_list *l, uint32_t slot)
{
    uint32_t lo = 0, hi = l->n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (l->v[mid]->base <= slot)
            lo = mid + 1;
        else
            hi = mid;
    }
    while (lo-- > 0)
        if (l->v[lo]->count > 0)
            return slot - l->v[lo]->base < l->v[lo]->count ? l->v[lo] : NULL;
    return NULL;
}

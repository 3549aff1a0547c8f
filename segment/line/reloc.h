/* reloc.h: where the tickets of an absorbed segment are now. Pure.
 *
 * A move keeps order, so the source's alive bitmap at the moment of the freeze is a whole
 * relocation table: number n, if alive then, is slot base + (alive numbers before n) of
 * the segment that absorbed it; and back: slot s is the (s - base)-th alive number.
 *
 * Memory: a reloc owns its bitmap: 1.25 bits per number of the source. */
#ifndef SEGQ_RELOC_H
#define SEGQ_RELOC_H

#include "common/base/err.h"
#include "segment/line/segq.h"

#define RELOC_NONE UINT32_MAX

struct reloc {
    seg_id seg;      /* the absorbed segment, as its tokens name it */
    uint32_t base;   /* slot of its first ticket */
    uint32_t bits;   /* numbers it ever gave: 0 .. bits - 1 */
    uint32_t count;  /* alive at the freeze */
    uint32_t first;  /* the first alive number; bits if there was none */
    uint64_t *alive; /* owned; (bits + 63) / 64 words */
    uint32_t
        *before; /* alive numbers before each group of 8 words; same piece of memory */
    void *host;  /* ref: the owner's business */
};

static inline uint32_t reloc_words(uint32_t bits)
{
    return (uint32_t)(((uint64_t)bits + 63) / 64);
}

/* alive: copied; NULL: all 0, to be set by the caller, then reloc_count(). Bits at and
 * above `bits` are cleared. */
struct reloc *reloc_new(seg_id seg, uint32_t base, uint32_t bits, const uint64_t *alive);
void reloc_free(struct reloc *r);
void reloc_count(struct reloc *r); /* sets what follows from the bitmap */

/* The slot of number n, or RELOC_NONE if it was dead at the freeze. n < bits. */
uint32_t reloc_slot(const struct reloc *r, uint32_t n);
/* Alive numbers before n; n <= bits. */
uint32_t reloc_rank(const struct reloc *r, uint32_t n);
/* The number at slot base + k; k < count. */
uint32_t reloc_number(const struct reloc *r, uint32_t k);

/* The frozen bitmap of a whole segq (its slots first .. end). NULL: no memory. */
struct reloc *reloc_freeze(const struct segq *q, seg_id seg, uint32_t bits);
/* r's host has been frozen as f and moves on: a new table with r's numbers relative to
 * f's living (add f's new base to its base). NULL: no memory. */
struct reloc *reloc_compose(const struct reloc *r, const struct reloc *f);

struct reloc_list {
    struct reloc **v; /* owned, and what it points to; by rising base */
    uint32_t n, cap;
};
SQ_CHECK int reloc_list_reserve(struct reloc_list *l, uint32_t n); /* n more */
void reloc_list_add(struct reloc_list *l, struct reloc *take);     /* reserved */
void reloc_list_fini(struct reloc_list *l);
/* The table with the ticket at this slot; NULL: one of the host's own. */
const struct reloc *reloc_list_at(const struct reloc_list *l, uint32_t slot);

#endif

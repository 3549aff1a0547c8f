/* pages.h: an array of pieces of one size that grows by pages, so that no piece ever moves. Pure.
 *
 * A piece is found by its index: one look into the table of pages. A new page is zeroed. What
 * was reached stays until the end. */
#ifndef SEGQ_TASK_PAGES_H
#define SEGQ_TASK_PAGES_H

#include <assert.h>

#include "common/base/base.h"

#define PAGES_SHIFT 8
#define PAGES_EACH  (1u << PAGES_SHIFT) /* pieces of a page */

struct pages {
    char **page; /* owned; NULL: not reached yet */
    uint32_t n_pages, cap;
    uint32_t size;  /* bytes of a piece */
    uint32_t taken; /* pages that are there */
};

void pages_init(struct pages *p, uint32_t size);
void pages_fini(struct pages *p);
/* Makes piece i usable. 0 or SQ_ENOMEM; nothing has changed then. */
SQ_CHECK int pages_reach(struct pages *p, uint32_t i);

static inline bool pages_has(const struct pages *p, uint32_t i)
{
    return i >> PAGES_SHIFT < p->n_pages && p->page[i >> PAGES_SHIFT] != NULL;
}

/* The piece must have been reached. */
static inline void *pages_at(const struct pages *p, uint32_t i)
{
    assert(pages_has(p, i));
    return p->page[i >> PAGES_SHIFT] + (size_t)(i & (PAGES_EACH - 1)) * p->size;
}

static inline uint64_t pages_bytes(const struct pages *p)
{
    return (uint64_t)p->taken * PAGES_EACH * p->size + (uint64_t)p->cap * sizeof(*p->page);
}

#endif

/* pages.c: a table of pages, each allocated when its first piece is wanted. */
#include "task/containers/pages.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"

void pages_init(struct pages *p, uint32_t size)
{
    assert(size > 0);
    memset(p, 0, sizeof(*p));
    p->size = size;
}

void pages_fini(struct pages *p)
{
    for (uint32_t i = 0; i < p->n_pages; i++)
        free(p->page[i]);
    free(p->page);
    pages_init(p, p->size);
}

int pages_reach(struct pages *p, uint32_t i)
{
    uint32_t at = i >> PAGES_SHIFT;

    if (at >= p->n_pages) {
        if (!GROW_BY(p->page, p->n_pages, at + 1 - p->n_pages, p->cap, 4))
            return SQ_ENOMEM;
        memset(p->page + p->n_pages, 0, (at + 1 - p->n_pages) * sizeof(*p->page));
        p->n_pages = at + 1;
    }
    if (p->page[at] == NULL) {
        p->page[at] = calloc(PAGES_EACH, p->size);
        if (p->page[at] == NULL)
            return SQ_ENOMEM;
        p->taken++;
    }
    assert(pages_has(p, i));
    return 0;
}

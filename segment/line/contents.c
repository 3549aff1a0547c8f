/* contents.c: the parts of a segment together. */
#include "segment/line/contents.h"

void contents_init(struct contents *b, seg_id id, struct block_pool *pool)
{
    *b = (struct contents){ .id = id };
    segq_init(&b->q, pool);
    sessions_init(&b->released);
    subjects_init(&b->subjects);
}

void contents_fini(struct contents *b)
{
    segq_fini(&b->q);
    sessions_fini(&b->released);
    subjects_fini(&b->subjects);
    reloc_list_fini(&b->relocs);
}

struct ticket_id contents_ticket(const struct contents *b, uint32_t slot)
{
    const struct reloc *r = slot < b->joined ? NULL : reloc_list_at(&b->relocs, slot);

    if (r == NULL)
        return (struct ticket_id){ b->id, slot };
    return (struct ticket_id){ r->seg, reloc_number(r, slot - r->base) };
}

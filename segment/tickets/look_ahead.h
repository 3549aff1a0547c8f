/* look_ahead.h: where the tickets of a batch are, found before any is dealt with: they are all
 * over the memory, and so the lines that they need are fetched side by side. */
#ifndef SEGQ_SEG_TICKETS_LOOK_AHEAD_H
#define SEGQ_SEG_TICKETS_LOOK_AHEAD_H

#include "segment/table/where.h"

#define LOOK_AHEAD 64u /* tickets that are looked up before they are dealt with */

/* Polls and leaves move no ticket: what was found stays true during the batch. */
struct ahead {
    seg_id seg; /* segment of the last: neighbours are mostly of one segment */
    uint64_t entry; /* entry of it in segtab.locations */
    enum found kind[LOOK_AHEAD];
    struct location at[LOOK_AHEAD];
};

static inline void look_ahead(const struct segtab *t, struct ahead *h, uint32_t i,
                              seg_id seg, uint32_t number)
{
    struct location *s = &h->at[i];
    const struct block *b;

    if (i == 0 || seg != h->seg) {
        h->seg = seg;
        h->entry = map_get(&t->locations, seg);
    }
    h->kind[i] = find_at(t, h->entry, seg, number, s);
    if (h->kind[i] != FOUND_HERE || s->slot == SEGQ_NONE)
        return;
    b = segq_block(&s->seg->b.q, s->slot);
    if (b == NULL)
        return;
    __builtin_prefetch(b->alive, 1);
    __builtin_prefetch(&b->idle[s->slot & (BLOCK_SLOTS - 1)], 1);
}

#endif

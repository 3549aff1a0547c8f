/* look_ahead.h: where the tickets of a batch are, found before any is dealt with: they are all
 * over the memory, and so the lines that they need are fetched side by side. */
#ifndef SEGQ_SEG_TICKETS_LOOK_AHEAD_H
#define SEGQ_SEG_TICKETS_LOOK_AHEAD_H

#include "segment/table/where.h"

#define LOOK_AHEAD 64u /* tickets that are looked up before they are dealt with */

/* Where the tickets of a batch are, found before any is dealt with: they are all over the
 * memory, and so the lines that they need are fetched side by side. Polls and leaves
 * change nobody's spot. */
struct ahead {
    seg_id seg; /* of the last: neighbours are mostly of one segment */
    uint64_t home;
    enum spot_kind kind[LOOK_AHEAD];
    struct spot spot[LOOK_AHEAD];
};

static inline void look_ahead(const struct segtab *t, struct ahead *h, uint32_t i,
                              seg_id seg, uint32_t number)
{
    struct spot *s = &h->spot[i];
    const struct block *b;

    if (i == 0 || seg != h->seg) {
        h->seg = seg;
        h->home = map_get(&t->homes, seg);
    }
    h->kind[i] = find_at(t, h->home, seg, number, s);
    if (h->kind[i] != SPOT_HERE || s->slot == SEGQ_NONE)
        return;
    b = segq_block(&s->seg->b.q, s->slot);
    if (b == NULL)
        return;
    __builtin_prefetch(b->alive, 1);
    __builtin_prefetch(&b->idle[s->slot & (BLOCK_SLOTS - 1)], 1);
}

#endif

/* location.h: where a token's ticket is: the names of segments that this node knows (hosted,
 * absorbed here, moved away), and the slot of a number. */
#ifndef SEGQ_SEG_CORE_LOCATION_H
#define SEGQ_SEG_CORE_LOCATION_H

#include "segment/core/state.h"
#include "segment/line/reloc.h"

struct location { /* where a token's ticket is */
    struct seg *seg;
    struct ticket_id id; /* id in here: after a draw the number is the place */
    uint32_t slot;  /* SEGQ_NONE: it was dead when its segment was absorbed */
    uint8_t reason; /* enum gone_reason if it is dead and there is no record */
    seg_id moved_to;
};

enum found { FOUND_HERE, FOUND_MOVED, FOUND_NOWHERE };

/* v: what `locations` has for seg. */
static inline enum found find_at(const struct segtab *t, uint64_t v, seg_id seg,
                                     uint32_t number, struct location *s)
{
    const struct reloc *r = (const struct reloc *)(uintptr_t)(v & ~3ull);

    if (v == MAP_NONE)
        return FOUND_NOWHERE;
    s->id = (struct ticket_id) { seg, number };
    if (SQ_LIKELY((v & 3) == AT_SEG)) {
        s->seg = (struct seg *)(uintptr_t)v;
        if (SQ_UNLIKELY(s->seg->draw != NULL))
            s->id.number = number = draw_place(s->seg->draw, number);
        s->slot = number < s->seg->b.joined ? number : SEGQ_NONE;
        s->reason = number >= s->seg->b.joined ? GONE_LOST : GONE_EXPIRED;
        return FOUND_HERE;
    }
    if ((v & 3) == AT_MOVED) {
        s->moved_to = t->moved[v >> 2].to;
        return FOUND_MOVED;
    }
    if (r->host == NULL) /* a commit that is not complete */
        return FOUND_NOWHERE;
    s->seg = r->host;
    s->slot = number < r->bits ? reloc_slot(r, number) : SEGQ_NONE;
    /* Numbers before the first that waited had been released, as far as we can know. */
    s->reason = number >= r->bits   ? GONE_LOST
                : number < r->first ? GONE_FINISHED
                                    : GONE_EXPIRED;
    return FOUND_HERE;
}

/* Where the token's ticket is; *s is whole if it is FOUND_HERE, and has moved_to if FOUND_MOVED. */
enum found segtab_find(const struct segtab *t, seg_id seg, uint32_t number,
                           struct location *s);
/* Why a dead ticket without a record is dead, as far as that is still known: enum gone_reason. */
unsigned segtab_reason(const struct location *s);
/* A ticket as tokens, passes and other processes name it: after a draw the number in here
 * is the place, and the number outside is the order of arrival. */
struct ticket_id segtab_outside(const struct segtab *t, struct ticket_id id);
/* The segment that is hosted under this name, or NULL. */
struct seg *segtab_seg(const struct segtab *t, seg_id id);
/* The name leads to p: a struct seg or a struct reloc. SQ_ENOMEM, or 0. */
SQ_CHECK int segtab_location_set(struct segtab *t, seg_id id, enum location_kind k, void *p);
/* The name, which must be known here, leads to another node's segment from now on. */
void segtab_location_moved(struct segtab *t, seg_id id, seg_id to);
/* Forgets the name, if it still leads to p. */
void segtab_location_drop(struct segtab *t, seg_id id, const void *p, enum location_kind k);
/* The tickets of `from` are in the segment `to` of this node. */
bool segtab_has_absorbed(const struct segtab *t, seg_id from, seg_id to);

/* ---- the tickets of a batch ---------------------------------------------------------
 * They are found before any is dealt with: they are all over the memory, and so the lines that
 * they need are fetched side by side. */

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

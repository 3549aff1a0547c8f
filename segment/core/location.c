/* location.c: where a token's ticket is. */
#include "segment/core/location.h"

#include <assert.h>
#include <stdlib.h>

#include "segment/core/state.h"

enum found segtab_find(const struct segtab *t, seg_id seg, uint32_t number,
                           struct location *s)
{
    return find_at(t, map_get(&t->locations, seg), seg, number, s);
}

unsigned segtab_reason(const struct location *s)
{
    const struct segq *q = &s->seg->b.q;

    if (s->slot == SEGQ_NONE)
        return s->reason;
    switch (segq_death(q, s->slot)) {
    case DEAD_LEFT:
        return GONE_LEFT;
    case DEAD_EXPIRED:
        return GONE_EXPIRED;
    case DEAD_POPPED:
        return GONE_FINISHED;
    case DEAD_UNKNOWN:
        break;
    }
    return s->slot < q->popped_end ? GONE_FINISHED : GONE_EXPIRED;
}

struct ticket_id segtab_outside(const struct segtab *t, struct ticket_id id)
{
    const struct seg *g = segtab_seg(t, id.seg);

    if (g != NULL && g->draw != NULL)
        id.number = draw_number(g->draw, id.number);
    return id;
}

/* ---- names of segments ------------------------------------------------------------ */

int segtab_location_set(struct segtab *t, seg_id id, enum location_kind k, void *p)
{
    assert(id != 0 && p != NULL && ((uintptr_t)p & 3) == 0 && k != AT_MOVED);
    t->names_version++;
    t->replica.now = true;
    return map_set(&t->locations, id, (uint64_t)(uintptr_t)p | k);
}

/* The id must be in `locations`. */
void segtab_location_moved(struct segtab *t, seg_id id, seg_id to)
{
    uint32_t i = t->n_moved % SEGTAB_MOVED_MAX;

    t->names_version++;
    t->replica.now = true;
    if (t->moved == NULL)
        t->moved = calloc(SEGTAB_MOVED_MAX, sizeof(*t->moved));
    if (t->moved == NULL) {
        map_del(&t->locations, id); /* "unknown" also makes the router look for a newer map */
        return;
    }
    if (t->n_moved >= SEGTAB_MOVED_MAX &&
        map_get(&t->locations, t->moved[i].id) == ((uint64_t)i << 2 | AT_MOVED))
        map_del(&t->locations, t->moved[i].id);
    t->moved[i] = (struct moved) { id, to };
    t->n_moved++;
    if (map_set(&t->locations, id, (uint64_t)i << 2 | AT_MOVED) < 0)
        map_del(&t->locations, id);
}

struct seg *segtab_seg(const struct segtab *t, seg_id id)
{
    uint64_t v = map_get(&t->locations, id);

    return v != MAP_NONE && (v & 3) == AT_SEG ? (struct seg *)(uintptr_t)v : NULL;
}

void segtab_location_drop(struct segtab *t, seg_id id, const void *p, enum location_kind k)
{
    t->names_version++;
    t->replica.now = true;
    if (map_get(&t->locations, id) == ((uint64_t)(uintptr_t)p | k))
        map_del(&t->locations, id);
}

bool segtab_has_absorbed(const struct segtab *t, seg_id from, seg_id to)
{
    uint64_t v = map_get(&t->locations, from);
    const struct reloc *r = (const struct reloc *)(uintptr_t)(v & ~3ull);
    const struct seg *g = segtab_seg(t, to);

    return v != MAP_NONE && (v & 3) == AT_RELOC && g != NULL && r->host == g;
}

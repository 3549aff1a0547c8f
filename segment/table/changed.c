/* changed.c: what a change entails. */
#include "segment/table/changed.h"

#include "common/base/buf.h"

void segtab_touch(struct segtab *t, struct seg *g)
{
    if (!list_linked(&g->dirty))
        list_push_back(&t->dirty, &g->dirty);
}

void segtab_wake(struct segtab *t, struct seg *g)
{
    if (!list_linked(&g->active))
        list_push_back(&t->active, &g->active);
}

void segtab_note_died(struct said_seg *s, uint32_t slot)
{
    if (s->lost)
        return;
    s->lost = s->n_died >= DIED_MAX || !GROW(s->died, s->n_died, s->cap_died, 64);
    if (!s->lost)
        s->died[s->n_died++] = slot;
}

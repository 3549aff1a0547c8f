/* changed.c: what a change entails. */
#include "segment/table/changed.h"

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

void segtab_died(struct seg *g, uint32_t slot)
{
    if (g->out != NULL)
        xfer_out_touch(&g->out->out, slot);
    if (g->b.subjects.n > 0)
        subjects_del(&g->b.subjects, contents_ticket(&g->b, slot));
}

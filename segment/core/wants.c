/* wants.c: see wants.h. */
#include "segment/core/wants.h"

#include <stdlib.h>

#include "common/base/buf.h"

void wants_fini(struct wants *w)
{
    free(w->v);
    ticket_idx_fini(&w->idx);
    *w = (struct wants) { 0 };
}

void wants_add(struct wants *w, struct ticket_id id, uint8_t client)
{
    uint32_t i;

    if (w->cap == 0)
        ticket_idx_init(&w->idx, sizeof(*w->v));
    if ((i = ticket_idx_find(&w->idx, w->v, id)) != TICKET_IDX_NONE) {
        w->v[i].client = client;
        w->v[i].n += w->v[i].n < UINT16_MAX;
        return;
    }
    if (w->n == WANTS_MAX || !GROW(w->v, w->n, w->cap, 64) ||
        ticket_idx_reserve(&w->idx, w->v, w->n + 1) < 0)
        return;
    w->v[w->n] = (struct want) { id, client, 1 };
    ticket_idx_put(&w->idx, w->v, w->n++);
}

/* Both are there. */
static void swap(struct wants *w, uint32_t i, uint32_t j)
{
    struct want x = w->v[i];

    if (i == j)
        return;
    ticket_idx_del(&w->idx, w->v, i);
    ticket_idx_del(&w->idx, w->v, j);
    w->v[i] = w->v[j];
    w->v[j] = x;
    ticket_idx_put(&w->idx, w->v, i);
    ticket_idx_put(&w->idx, w->v, j);
}

void wants_del(struct wants *w, struct ticket_id id)
{
    uint32_t i = w->n > 0 ? ticket_idx_find(&w->idx, w->v, id) : TICKET_IDX_NONE;

    if (i == TICKET_IDX_NONE)
        return;
    if (i < w->n_due) {
        swap(w, i, --w->n_due);
        i = w->n_due;
    }
    swap(w, i, w->n - 1);
    ticket_idx_del(&w->idx, w->v, --w->n);
}

void wants_less(struct wants *w, struct ticket_id id)
{
    uint32_t i = w->n > 0 ? ticket_idx_find(&w->idx, w->v, id) : TICKET_IDX_NONE;

    if (i != TICKET_IDX_NONE && --w->v[i].n == 0)
        wants_del(w, id);
}

void wants_not_due(struct wants *w, uint32_t i)
{
    swap(w, i, --w->n_due);
}

void wants_due(struct wants *w, struct ticket_id id)
{
    uint32_t i = w->n > 0 ? ticket_idx_find(&w->idx, w->v, id) : TICKET_IDX_NONE;

    if (i != TICKET_IDX_NONE && i >= w->n_due)
        swap(w, i, w->n_due++);
}

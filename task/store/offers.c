/* offers.c: a block of memory for each, found by the slots of all of its places. */
#include "task/store/offers.h"

#include <stdlib.h>

#include "common/base/err.h"

void offers_init(struct offers *o)
{
    *o = (struct offers){ 0 };
    map_init(&o->by_slot, 0);
}

void offers_fini(struct offers *o)
{
    uint64_t slot, val;

    if (o->next != NULL)
        offers_drop(o, o->next);
    for (size_t i = 0; (i = map_next(&o->by_slot, i, &slot, &val)) != 0;)
        if (--((struct offer *)(uintptr_t)val)->n == 0) /* by the last of its slots; the next one's own is not there */
            free((void *)(uintptr_t)val);
    map_fini(&o->by_slot);
}

int offers_add(struct offers *o, task_slot slot, uint64_t entry)
{
    struct offer *f = o->next != NULL ? o->next : calloc(1, sizeof(*f));

    if (f == NULL)
        return SQ_ENOMEM;
    if (f->n == 0)
        f->task = SLOT_NONE;
    o->next = f;
    if (f->n == OFFER_QUEUES || (slot == SLOT_NONE && f->n > f->own && f->v[f->own].slot == SLOT_NONE))
        return SQ_EPROTO;
    if (slot != SLOT_NONE && map_set_ptr(&o->by_slot, slot, f) < 0)
        return SQ_ENOMEM;
    if (slot == SLOT_NONE)
        f->own = f->n;
    f->v[f->n++] = (struct offer_place){ slot, entry };
    return 0;
}

int offers_adopt(struct offers *o, task_slot task)
{
    struct offer *f = o->next;

    if (f->v[f->own].slot != SLOT_NONE)
        return SQ_EPROTO;
    if (map_set_ptr(&o->by_slot, task, f) < 0)
        return SQ_ENOMEM;
    f->task = f->v[f->own].slot = task;
    o->next = NULL;
    o->n++;
    return 0;
}

void offers_orphan(struct offers *o, struct offer *f)
{
    (void)map_del(&o->by_slot, f->task);
    f->task = f->v[f->own].slot = SLOT_NONE;
    o->next = f;
    o->n--;
}

void offers_drop(struct offers *o, struct offer *f)
{
    for (unsigned i = 0; i < f->n; i++)
        if (f->v[i].slot != SLOT_NONE)
            (void)map_del(&o->by_slot, f->v[i].slot);
    if (o->next == f)
        o->next = NULL;
    else
        o->n--;
    free(f);
}

uint64_t offers_bytes(const struct offers *o)
{
    return o->n * sizeof(struct offer) + o->by_slot.cap * sizeof(struct map_slot);
}

/* replies.c: a map by slots. */
#include "task/store/replies.h"

void replies_init(struct replies *r)
{
    map_init(&r->by_slot, 0);
}

void replies_fini(struct replies *r)
{
    map_fini(&r->by_slot);
}

int replies_set(struct replies *r, task_slot slot, uint64_t ref)
{
    assert(ref != 0 && ref != MAP_NONE);
    return map_set(&r->by_slot, slot, ref);
}

void replies_drop(struct replies *r, task_slot slot)
{
    if (r->by_slot.n > 0)
        (void)map_del(&r->by_slot, slot);
}

uint64_t replies_bytes(const struct replies *r)
{
    return r->by_slot.cap * sizeof(struct map_slot);
}

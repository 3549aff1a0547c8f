/* chains.c: a block of memory for each, and one for what is to be submitted. */
#include "task/store/chains.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"

void chains_init(struct chains *c)
{
    *c = (struct chains){ 0 };
    map_init(&c->by_slot, 0);
}

static void forget(struct chains *c, struct chain *k)
{
    c->bytes -= sizeof(*k) + k->n;
    free(k->then);
    free(k);
}

void chains_fini(struct chains *c)
{
    uint64_t slot, val;

    for (size_t i = 0; (i = map_next(&c->by_slot, i, &slot, &val)) != 0;)
        forget(c, (struct chain *)(uintptr_t)val);
    map_fini(&c->by_slot);
}

int chains_set(struct chains *c, task_slot slot, const struct chain *is)
{
    struct chain *was = map_get_ptr(&c->by_slot, slot), *k;
    char *then;

    if (was != NULL && is->n == 0) { /* needs no memory */
        c->bytes -= was->n;
        free(was->then);
        *was = *is;
        was->then = NULL;
        return 0;
    }
    k = malloc(sizeof(*k));
    then = is->n > 0 ? malloc(is->n) : NULL;

    if (k == NULL || (is->n > 0 && then == NULL) || map_set_ptr(&c->by_slot, slot, k) < 0) {
        free(then);
        free(k);
        return SQ_ENOMEM;
    }
    *k = *is;
    k->then = is->n > 0 ? memcpy(then, is->then, is->n) : NULL;
    c->bytes += sizeof(*k) + k->n;
    if (was != NULL)
        forget(c, was);
    return 0;
}

void chains_drop(struct chains *c, task_slot slot)
{
    struct chain *k = c->by_slot.n > 0 ? map_get_ptr(&c->by_slot, slot) : NULL;

    if (k == NULL)
        return;
    (void)map_del(&c->by_slot, slot);
    forget(c, k);
}

void chains_end(struct chains *c, task_slot slot)
{
    struct chain *k = c->by_slot.n > 0 ? map_get_ptr(&c->by_slot, slot) : NULL;

    if (k == NULL || k->state != CHAIN_WAITS)
        return;
    c->bytes -= k->n;
    free(k->then);
    k->then = NULL;
    k->n = 0;
    k->state = CHAIN_ENDED;
}

uint64_t chains_bytes(const struct chains *c)
{
    return c->bytes + c->by_slot.cap * sizeof(struct map_slot);
}

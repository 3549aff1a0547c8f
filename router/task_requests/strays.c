/* strays.c: see strays.h. */
#include "router/task_requests/strays.h"

#include <sodium.h>

/* Two that have one entry are only asked more often. */
static struct stray_asked *entry_of(struct tasking *t, struct slice queue, part_no part, uint64_t *hash)
{
    static const uint8_t any[crypto_shorthash_KEYBYTES];

    crypto_shorthash((uint8_t *)hash, (const uint8_t *)queue.p, queue.n, any);
    *hash += part;
    return &t->strays[*hash % STRAYS_ENTRIES];
}

static bool may_ask(struct tasking *t, struct slice queue, part_no part)
{
    msec_t now = ev_now(t->r->ev);
    uint64_t hash;
    struct stray_asked *e = entry_of(t, queue, part, &hash);

    if (e->hash == hash && now < e->until)
        return false;
    *e = (struct stray_asked){ hash, now + STRAYS_MS };
    return true;
}

const struct task_way *strays_next(struct tasking *t, struct slice queue, uint32_t *place)
{
    const struct task_way *w;

    while ((w = pools_of_queue_at(&t->pools, queue.p, queue.n, ++*place)) != NULL)
        if (w->endpoint[0] == '\0' && may_ask(t, queue, w->part))
            return w;
    return NULL;
}

void strays_found(struct tasking *t, struct slice queue, part_no part)
{
    uint64_t hash;
    struct stray_asked *e = entry_of(t, queue, part, &hash);

    if (e->hash == hash)
        e->until = 0;
}

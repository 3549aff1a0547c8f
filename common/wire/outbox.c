/* outbox.c: messages a core wants sent, kept in order until the shell takes them. */
#include "common/wire/outbox.h"

#include <stdlib.h>
#include <string.h>

#define OUTBOX_FIRST      16u
#define OUTBOX_KEEP_BYTES (1u << 20) /* a rare huge step does not keep its memory */

void outbox_init(struct outbox *o)
{
    memset(o, 0, sizeof(*o));
    arena_init(&o->mem);
}

void outbox_fini(struct outbox *o)
{
    arena_fini(&o->mem);
    free(o->v);
    memset(o, 0, sizeof(*o));
}

void outbox_reset(struct outbox *o)
{
    arena_reset(&o->mem);
    o->n = 0;
    o->failed = false;
    if (o->cap * sizeof(*o->v) > OUTBOX_KEEP_BYTES) {
        free(o->v);
        o->v = NULL;
        o->cap = 0;
    }
}

static bool grow(struct outbox *o)
{
    uint32_t cap = o->cap != 0 ? o->cap * 2 : OUTBOX_FIRST;
    struct out_item *v;

    if (cap < o->cap)
        return false;
    v = reallocarray(o->v, cap, sizeof(*v));
    if (v == NULL)
        return false;
    o->v = v;
    o->cap = cap;
    return true;
}

struct msg *outbox_add(struct outbox *o, peer_no to, enum msg_type t)
{
    struct msg *m = &o->scratch;

    if (o->n < o->cap || grow(o)) {
        o->v[o->n].to = to;
        m = &o->v[o->n].m;
        o->n++;
    } else {
        o->failed = true;
    }
    memset(m, 0, sizeof(*m));
    m->type = t;
    return m;
}

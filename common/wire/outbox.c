/* outbox.c: messages a core wants sent, kept in order until the shell takes them. */
#include "common/wire/outbox.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"

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

struct msg *outbox_add(struct outbox *o, peer_no to, enum msg_type t)
{
    return outbox_answer(o, to, 0, t);
}

struct msg *outbox_answer(struct outbox *o, peer_no to, uint64_t rid, enum msg_type t)
{
    struct msg *m = &o->scratch;

    if (GROW(o->v, o->n, o->cap, OUTBOX_FIRST)) {
        o->v[o->n].to = to;
        o->v[o->n].rid = rid;
        m = &o->v[o->n].m;
        o->n++;
    } else {
        o->failed = true;
    }
    memset(m, 0, sizeof(*m));
    assert(t != MSG_NONE);
    m->type = t;
    return m;
}

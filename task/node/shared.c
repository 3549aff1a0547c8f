/* shared.c: what is ordered waits here until it has been read. */
#include "task/node/shared.h"

#include <stdlib.h>

#include "common/base/text.h"
#include "task/node/parts.h"

/* ---- openings ---------------------------------------------------------------------- */

struct opening_part *tasktab_opening(const struct tasktab *t, part_no no)
{
    list_each_of (&t->openings, struct opening_part, in, o) {
        if (o->m.part == no)
            return o;
    }
    return NULL;
}

int tasktab_shared_open(struct tasktab *t, const struct msg_part_open *m,
                        struct part_rules *r)
{
    struct opening_part *o = tasktab_opening(t, m->part);

    if (o == NULL) {
        o = calloc(1, sizeof(*o));
        if (o == NULL)
            return SQ_ENOMEM;
        list_push_back(&t->openings, &o->in);
    }
    o->m = *m;
    o->m.match = o->match;
    o->m.endpoint = o->endpoint;
    o->m.notify = o->notify;
    o->m.rules = NULL;
    o->m.keys = NULL;
    o->m.n_rules = o->m.n_keys = 0;
    buf_fini(&o->rules.keys);
    o->rules = *r;
    buf_init(&r->keys);
    copy_text(o->match, sizeof(o->match), m->match);
    copy_text(o->endpoint, sizeof(o->endpoint), m->endpoint);
    copy_text(o->notify, sizeof(o->notify), m->notify);
    return t->o.shared->open(t->o.shared_ctx, m->part, m->part_epoch);
}

void tasktab_opening_over(struct tasktab *t, struct opening_part *o)
{
    list_remove(&t->openings, &o->in);
    buf_fini(&o->rules.keys);
    free(o);
}

void tasktab_openings_free(struct tasktab *t)
{
    list_each_of (&t->openings, struct opening_part, in, o)
        tasktab_opening_over(t, o);
}

/* ---- bodies ------------------------------------------------------------------------ */

int tasktab_body_put(struct tasktab *t, const struct part *p, const struct bytes_of *body,
                     uint64_t *ref)
{
    const struct tab_bodies *b = &t->o.bodies;

    *ref = 0;
    if (body->n == 0)
        return 0;
    if (t->o.shared != NULL)
        return t->o.shared->put(t->o.shared_ctx, p->no, body->p, body->n, ref);
    return b->put(b->ctx, body->p, body->n, ref);
}

void tasktab_body_drop(struct tasktab *t, const struct part *p, uint64_t ref)
{
    if (ref == 0)
        return;
    if (t->o.shared != NULL)
        t->o.shared->drop(t->o.shared_ctx, p->no, ref);
    else
        t->o.bodies.drop(t->o.bodies.ctx, ref);
}

static bool load_later(struct tasktab *t, const struct part *p, uint64_t ref, struct bytes_of *to,
                       struct arena *mem)
{
    const struct tab_shared *s = t->o.shared;
    uint32_t n = s->bytes(ref);
    uint8_t *room = arena_alloc(mem, n);

    if (room == NULL || s->want(t->o.shared_ctx, p->no, ref, room) < 0)
        return false;
    *to = (struct bytes_of){ n, room };
    return true;
}

bool tasktab_body_load(struct tasktab *t, const struct part *p, uint64_t ref, struct bytes_of *to,
                       struct arena *mem)
{
    int rc;

    *to = (struct bytes_of){ 0 };
    if (ref == 0)
        return true;
    if (t->o.shared != NULL)
        return load_later(t, p, ref, to, mem);
    buf_reset(&t->bytes);
    rc = t->o.bodies.get(t->o.bodies.ctx, ref, &t->bytes);
    t->n.lost_bodies += rc == SQ_EPROTO;
    if (rc < 0 || t->bytes.failed)
        return false;
    to->n = (uint32_t)t->bytes.len;
    to->p = arena_memdup(mem, t->bytes.data, t->bytes.len);
    return to->p != NULL;
}

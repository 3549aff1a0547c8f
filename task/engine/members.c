/* members.c: a group, with its counts in a snapshot; a task in it. */
#include "task/engine/members.h"

#include "common/base/buf.h"

struct trec group_record(const struct group *k, uint8_t flags)
{
    return (struct trec){ .kind = TREC_GROUP, .lo = k->id, .hi = k->hash, .state = flags,
                          .name = { k->text, k->queue_n }, .key1 = { k->text + k->queue_n, k->name_n } };
}

static int apply_group(struct engine *e, const struct trec *r)
{
    const uint8_t *p = (const uint8_t *)r->own.p, *end = p + r->own.n;
    struct group *k;
    int rc;

    if (r->state > (GROUP_SEALED | GROUP_CANCELLING) || r->until >= (uint64_t)WHEEL_MAX)
        return SQ_EPROTO;
    rc = groups_set(&e->groups, r->lo, r->hi, r->name.p, r->name.n, r->key1.p, r->key1.n, (uint8_t)r->state);
    if (rc < 0 || r->own.n == 0)
        return rc;
    k = map_get_ptr(&e->groups.by_id, r->lo);
    k->since = (msec_t)r->until;
    for (int s = 0; s < TASK_NSTATES; s++) {
        uint64_t n;

        p = varint_get(p, end, &n);
        if (p == NULL || n > UINT32_MAX)
            return SQ_EPROTO;
        k->n[s] = (uint32_t)n;
    }
    return 0;
}

int group_apply(struct engine *e, const struct trec *r)
{
    task_slot slot = task_slot_of(r->no);

    if (r->kind == TREC_GROUP)
        return apply_group(e, r);
    if (r->kind == TREC_GROUP_GONE)
        return groups_drop(&e->groups, r->lo);
    if (r->no >> TASK_SLOT_BITS == 0 || slot >= e->store.max ||
        (e->loading ? task_find(&e->store, r->no) == SLOT_NONE : task_find(&e->store, r->no) != SLOT_NONE))
        return SQ_EPROTO;
    return groups_join(&e->groups, slot, r->lo);
}

/* ---- snapshots --------------------------------------------------------------------- */

static void write(const struct group *k, struct buf *out)
{
    struct trec r = group_record(k, k->flags);
    struct buf b;

    buf_init(&b);
    for (int s = 0; s < TASK_NSTATES; s++)
        buf_varint(&b, k->n[s]);
    r.own = (struct trec_text){ (const char *)b.data, (uint32_t)b.len };
    r.until = k->first == 0 ? (uint64_t)k->since : 0;
    trec_append(&r, out);
    out->failed |= b.failed;
    buf_fini(&b);
}

void group_write_all(const struct engine *e, struct buf *out)
{
    list_each (&e->groups.empty, it)
        write(container_of(it, struct group, in), out);
    for (uint32_t i = 0; i < e->groups.n_v; i++)
        if (e->groups.v[i] != NULL && e->groups.v[i]->first != 0)
            write(e->groups.v[i], out);
}

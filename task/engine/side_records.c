/* side_records.c: a group, with its counts in a snapshot; a task in it. */
#include "task/engine/side_records.h"

#include <string.h>

#include "common/base/buf.h"
#include "common/recur/cron.h"
#include "task/keys/buckets.h"

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

/* See the header. */
int window_apply(struct engine *e, const struct trec *r)
{
    const struct window w = { r->hi, (int64_t)r->wall, (int64_t)r->entered, r->lease, .emptied = r->state != 0 };
    const struct window *is;

    if (r->lo < RATE_NPERS || r->lo >= UNIT_WINDOWS || r->name.n > ZONE_NAME_MAX || (r->wall | r->entered) > INT64_MAX)
        return SQ_EPROTO;
    if (r->hi == 0)
        return windows_name(&e->tree, (unsigned)r->lo / RATE_NPERS, r->name.p, r->name.n);
    is = window_at(&e->tree, (uint8_t)r->lo);
    if (is == NULL || (is->no != 0 && r->hi != is->no + 1) || w.from_ms >= w.to_ms)
        return SQ_EPROTO;
    window_begins(&e->tree, (uint8_t)r->lo, &w, e->at);
    return 0;
}

static bool wants(const struct engine *e, const struct key_rule *r, uint32_t n)
{
    bool known = true;

    for (uint32_t i = 0; i < n; i++)
        for (unsigned k = 0; k < UNIT_RATES_MAX; k++) {
            struct window *w = window_at(&e->tree, r[i].units[k].window);

            known &= r[i].units[k].window == 0 || w != NULL;
            if (w != NULL)
                w->wanted = true;
        }
    return known;
}

bool windows_want(struct engine *e)
{
    bool known = true;

    for (unsigned k = 0; e->tree.windows != NULL && k < UNIT_WINDOWS; k++)
        e->tree.windows->v[k].wanted = false;
    for (uint32_t i = 0; i < e->n_pools; i++) {
        const struct pool *p = e->pool[i];

        known &= wants(e, p->level, TASK_KEY_LEVELS);
        known &= wants(e, p->keys.pin, p->keys.n_pinned);
        known &= wants(e, p->keys.pattern, p->keys.n - p->keys.n_pinned);
    }
    e->windows_at = e->tree.windows != NULL ? 0 : MSEC_NEVER;
    return known;
}

void windows_write(const struct engine *e, struct buf *out)
{
    for (unsigned k = RATE_NPERS; e->tree.windows != NULL && k < UNIT_WINDOWS; k++) {
        const char *zone = e->tree.windows->zone[k / RATE_NPERS];
        const struct window *w = &e->tree.windows->v[k];
        struct trec r = { .kind = TREC_WINDOW, .lo = k };

        if (zone != NULL && k % RATE_NPERS == 0) {
            r.name = (struct trec_text){ zone, (uint32_t)strlen(zone) };
            trec_append(&r, out);
        }
        if (w->no == 0)
            continue;
        r = (struct trec){ .kind = TREC_WINDOW, .lo = k, .hi = w->no, .wall = (uint64_t)w->from_ms,
                           .entered = (uint64_t)w->to_ms, .lease = w->lease, .state = w->emptied };
        trec_append(&r, out);
    }
}

/* alias.c: the aliases of a lane, where a ticket lives by them, and what nodes have absorbed. */
#include "queuemng/state/alias.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

struct mseg *seg_find(const struct mng *m, seg_id id)
{
    return map_get_ptr(&m->seg_by_id, id);
}

seg_id alias_of(const struct mlane *l, seg_id from)
{
    for (uint32_t i = 0; i < l->n_alias; i++)
        if (l->alias[i].from == from)
            return l->alias[i].to;
    return 0;
}

struct mlane *lane_of(const struct mng *m, seg_id seg)
{
    const struct mseg *s = seg_find(m, seg);

    if (s != NULL)
        return s->lane;
    each_queue(m, q) {
        for (unsigned i = 0; i < q->n_lanes; i++)
            if (alias_of(&q->lane[i], seg) != 0)
                return &q->lane[i];
    }
    return NULL;
}

struct mseg *seg_resolve(const struct mng *m, seg_id seg)
{
    const struct mlane *l = lane_of(m, seg);
    seg_id to = l != NULL ? alias_of(l, seg) : 0;

    return seg_find(m, to != 0 ? to : seg);
}

int alias_add(struct mlane *l, struct malias a)
{
    assert(a.from != a.to && alias_of(l, a.from) == 0);
    if (!GROW(l->alias, l->n_alias, l->cap_alias, 8))
        return SQ_ENOMEM;
    l->alias[l->n_alias++] = a;
    return 0;
}

static void alias_del(struct mlane *l, uint32_t i)
{
    assert(i < l->n_alias);
    memmove(l->alias + i, l->alias + i + 1, (l->n_alias - i - 1) * sizeof(*l->alias));
    l->n_alias--;
}

void alias_drop(struct mlane *l, seg_id from)
{
    for (uint32_t i = 0; i < l->n_alias; i++)
        if (l->alias[i].from == from) {
            alias_del(l, i);
            return;
        }
}

/* The first that leads to `to`, if any. */
static uint32_t alias_to(const struct mlane *l, seg_id to)
{
    uint32_t i = 0;

    while (i < l->n_alias && l->alias[i].to != to)
        i++;
    return i;
}

static uint32_t alias_at(const struct mlane *l, seg_id from)
{
    uint32_t i = 0;

    while (i < l->n_alias && l->alias[i].from != from)
        i++;
    return i;
}

void alias_fold(struct mlane *l, seg_id from, seg_id to)
{
    uint32_t i;

    assert(from != to);
    for (uint32_t k = 1; (i = alias_to(l, from)) < l->n_alias; k++) {
        struct malias a = l->alias[i];
        uint32_t at;

        a.to = to;
        alias_del(l, i);
        at = alias_at(l, from) + k;
        at = at < l->n_alias ? at : l->n_alias;
        memmove(l->alias + at + 1, l->alias + at, (l->n_alias - at) * sizeof(*l->alias));
        l->alias[at] = a;
        l->n_alias++;
    }
}

/* ---- absorbed, by a node's word --------------------------------------------------- */

bool seg_has_absorbed(const struct mseg *s, seg_id id)
{
    for (uint32_t i = 0; i < s->n_absorbed; i++)
        if (s->absorbed[i] == id)
            return true;
    return false;
}

void seg_check_absorbed(struct mseg *s)
{
    const struct mlane *l = s->lane;

    s->missing_source = false;
    for (uint32_t i = 0; i < l->n_alias; i++)
        s->missing_source |= l->alias[i].to == s->id && !seg_has_absorbed(s, l->alias[i].from);
}

void seg_add_absorbed(struct mng *m, struct mseg *s, seg_id id)
{
    seg_id *v;

    if (seg_has_absorbed(s, id))
        return;
    v = realloc(s->absorbed, (s->n_absorbed + 1) * sizeof(*v));
    if (v == NULL) { /* the source counts as missing, and is rebuilt one day */
        m->out->box.failed = true;
        return;
    }
    s->absorbed = v;
    v[s->n_absorbed++] = id;
    seg_check_absorbed(s);
}

void seg_set_absorbed(struct mng *m, struct mseg *s, const struct seg_status *st)
{
    s->n_absorbed = 0;
    for (uint32_t i = 0; i < st->n_absorbed; i++)
        seg_add_absorbed(m, s, st->absorbed[i]);
    seg_check_absorbed(s);
}

void seg_set_heard(struct mng *m, struct mseg *s)
{
    const struct mlane *l = s->lane;

    for (uint32_t i = 0; i < l->n_alias; i++)
        if (l->alias[i].to == s->id)
            seg_add_absorbed(m, s, l->alias[i].from);
}

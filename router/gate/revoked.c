/* revoked.c: linear probing; nothing is deleted but when the table is made anew. */
#include "router/gate/revoked.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MIN_CAP 64u

void revoked_init(struct revoked *r, uint64_t seed)
{
    *r = (struct revoked){ .max = REVOKED_MAX, .full_s = -1, .seed = seed };
}

void revoked_fini(struct revoked *r)
{
    free(r->v);
    revoked_init(r, r->seed);
}

static uint32_t place_of(const struct revoked *r, seg_id seg, uint32_t number)
{
    uint64_t h = (seg ^ r->seed) * 0x9e3779b97f4a7c15u + number;

    h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
    return (uint32_t)(h >> 32) & (r->cap - 1);
}

/* The entry, or the free one where it would be. cap is not 0, and one is free. */
static struct revoked_row *entry_of(const struct revoked *r, seg_id seg, uint32_t number)
{
    uint32_t i = place_of(r, seg, number);

    assert(r->n < r->cap); /* a free one: the search ends */
    while (r->v[i].seg != 0 && (r->v[i].seg != seg || r->v[i].number != number))
        i = (i + 1) & (r->cap - 1);
    return &r->v[i];
}

/* Into a new table, without what has expired. */
static bool anew(struct revoked *r, uint32_t cap, int64_t now_s)
{
    struct revoked to = *r;

    assert(cap > 0 && (cap & (cap - 1)) == 0);
    to.v = calloc(cap, sizeof(*to.v));
    if (to.v == NULL)
        return false;
    to.cap = cap;
    to.n = 0;
    for (uint32_t i = 0; i < r->cap; i++) {
        if (r->v[i].seg == 0 || r->v[i].until_s <= now_s)
            continue;
        *entry_of(&to, r->v[i].seg, r->v[i].number) = r->v[i];
        to.n++;
    }
    assert(to.n <= cap / 2);
    free(r->v);
    *r = to;
    return true;
}

static uint32_t living(const struct revoked *r, int64_t now_s)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->cap; i++)
        n += r->v[i].seg != 0 && r->v[i].until_s > now_s;
    return n;
}

/* Room for one more, at most half full. A table that is full is looked through once a second
 * at most: by then something may have expired. */
static bool room(struct revoked *r, int64_t now_s)
{
    uint32_t cap = MIN_CAP, n;

    if (r->n < r->cap / 2)
        return true;
    if (r->full_s == now_s)
        return false;
    n = living(r, now_s) + 1;
    while (cap / 4 < n) /* a quarter full: not at once again */
        cap *= 2;
    if (cap / 4 <= r->max && anew(r, cap, now_s))
        return true;
    r->full_s = now_s;
    return false;
}

void revoked_add(struct revoked *r, const struct pass_row *row, int64_t now_s)
{
    struct revoked_row *x;

    if (row->seg == 0 || row->until_s <= now_s)
        return;
    x = r->cap > 0 ? entry_of(r, row->seg, row->number) : NULL;
    if (x != NULL && x->seg != 0) { /* said again: the later end holds */
        x->until_s = row->until_s > x->until_s ? row->until_s : x->until_s;
        return;
    }
    if (!room(r, now_s)) {
        r->lost++;
        return;
    }
    r->n++;
    *entry_of(r, row->seg, row->number) =
        (struct revoked_row){ .seg = row->seg, .number = row->number, .until_s = row->until_s };
}

bool revoked_has(const struct revoked *r, seg_id seg, uint32_t number)
{
    return r->n > 0 && entry_of(r, seg, number)->seg != 0;
}

int64_t revoked_until_s(const struct revoked *r, seg_id seg, uint32_t number)
{
    return r->n > 0 ? entry_of(r, seg, number)->until_s : 0;
}

void revoked_set_mark(struct revoked *r, seg_id seg, uint32_t number, uint32_t mark)
{
    if (revoked_has(r, seg, number))
        entry_of(r, seg, number)->mark = mark;
}

uint32_t revoked_mark(const struct revoked *r, seg_id seg, uint32_t number)
{
    return r->n > 0 ? entry_of(r, seg, number)->mark : 0;
}

/* directory.c: entries in an array, in chains by hash. */
#include "segment/line/directory.h"

#include "common/base/err.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void directory_init(struct directory *d)
{
    memset(d, 0, sizeof(*d));
    map_init(&d->by_hash, 0); /* the keys are keyed hashes */
}

void directory_fini(struct directory *d)
{
    free(d->v);
    free(d->h);
    map_fini(&d->by_hash);
    directory_init(d);
}

int directory_reset(struct directory *d, uint32_t n_holders)
{
    directory_fini(d);
    if (n_holders == 0 || n_holders >= UINT16_MAX)
        return SQ_ENOMEM;
    d->h = calloc(n_holders, sizeof(*d->h));
    if (d->h == NULL)
        return SQ_ENOMEM;
    d->n_holders = n_holders;
    return 0;
}

bool directory_is_complete(const struct directory *d)
{
    return d->n_holders > 0 && d->n_heard == d->n_holders;
}

/* ---- entries --------------------------------------------------------------------- */

static struct dir_entry *first(const struct directory *d, uint64_t hash)
{
    uint64_t i = d->n > 0 ? map_get(&d->by_hash, hash) : MAP_NONE;

    return i != MAP_NONE ? &d->v[i] : NULL;
}

static struct dir_entry *next(const struct directory *d, const struct dir_entry *e)
{
    return e->next != 0 ? &d->v[e->next - 1] : NULL;
}

static struct dir_entry *find(const struct directory *d, uint16_t holder, uint64_t hash)
{
    struct dir_entry *e = first(d, hash);

    while (e != NULL && e->holder != holder)
        e = next(d, e);
    return e;
}

static int grow(struct directory *d)
{
    uint32_t cap = d->cap < 64 ? 64 : d->cap + d->cap / 2;
    struct dir_entry *v;

    if (d->free != 0)
        return 0;
    if (cap >= UINT32_MAX / 2)
        return SQ_ENOMEM;
    v = realloc(d->v, cap * sizeof(*v));
    if (v == NULL)
        return SQ_ENOMEM;
    for (uint32_t i = cap; i-- > d->cap;) {
        v[i] = (struct dir_entry){ .next = d->free };
        d->free = i + 1;
    }
    d->v = v;
    d->cap = cap;
    return 0;
}

/* NULL: no memory. */
static struct dir_entry *add(struct directory *d, uint16_t holder, uint64_t hash)
{
    const struct dir_entry *before;
    struct dir_entry *e;
    uint32_t i;

    if (grow(d) < 0)
        return NULL;
    i = d->free - 1;
    before = first(d, hash);
    if (map_set(&d->by_hash, hash, i) < 0)
        return NULL;
    e = &d->v[i];
    d->free = e->next;
    *e = (struct dir_entry){ .hash = hash,
                             .next = before != NULL ? (uint32_t)(before - d->v) + 1 : 0,
                             .holder = holder,
                             .used = true };
    d->n++;
    return e;
}

static void unlink_entry(struct directory *d, const struct dir_entry *e)
{
    struct dir_entry *at = first(d, e->hash);
    uint32_t i = (uint32_t)(e - d->v) + 1;

    if (at == e && e->next == 0) {
        map_del(&d->by_hash, e->hash);
    } else if (at == e) {
        if (map_set(&d->by_hash, e->hash, e->next - 1) < 0)
            return; /* cannot be: the key is there */
    } else {
        while (at->next != i)
            at = next(d, at);
        at->next = e->next;
    }
}

static void del(struct directory *d, struct dir_entry *e)
{
    unlink_entry(d, e);
    *e = (struct dir_entry){ .next = d->free };
    d->free = (uint32_t)(e - d->v) + 1;
    assert(d->n > 0);
    d->n--;
}

/* ---- what holders say ------------------------------------------------------------ */

void directory_begin(struct directory *d, uint16_t holder)
{
    assert(holder < d->n_holders);
    d->h[holder].saying = true;
    d->h[holder].turn++;
}

void directory_end(struct directory *d, uint16_t holder)
{
    struct dir_holder *h = &d->h[holder];

    assert(holder < d->n_holders && d->n_heard <= d->n_holders);
    if (!h->saying)
        return;
    h->saying = false;
    for (uint32_t i = 0; i < d->cap && d->n > 0; i++)
        if (d->v[i].used && d->v[i].holder == holder && d->v[i].turn != h->turn)
            del(d, &d->v[i]);
    d->n_heard += !h->heard;
    h->heard = true;
}

int directory_put(struct directory *d, uint16_t holder, const struct dir_row *r)
{
    struct dir_entry *e = find(d, holder, r->hash);

    assert(holder < d->n_holders);
    if (e != NULL && e->seg != 0 && e->turn == d->h[holder].turn && r->issued_s < e->issued_s)
        return 0; /* two for a while: the later one was given in place of this one */
    if (e == NULL)
        e = add(d, holder, r->hash);
    if (e == NULL)
        return SQ_ENOMEM;
    e->seg = r->seg;
    e->number = r->number;
    e->issued_s = r->issued_s;
    e->client = r->client;
    e->turn = d->h[holder].turn;
    return 0;
}

void directory_free(struct directory *d, uint16_t holder, uint64_t hash)
{
    struct dir_entry *e = find(d, holder, hash);

    if (e != NULL)
        del(d, e);
}

/* An entry of the holder's own is no hindrance: it has looked, and has no such ticket. */
static enum dir_word grant(struct directory *d, uint16_t holder, uint64_t hash)
{
    struct dir_entry *e = find(d, holder, hash);

    if (e == NULL)
        e = add(d, holder, hash);
    if (e == NULL)
        return DIR_BUSY;
    e->seg = 0;
    e->turn = d->h[holder].turn;
    return DIR_GRANTED;
}

enum dir_word directory_claim(struct directory *d, uint16_t holder, uint64_t hash,
                              struct ticket_id old, struct dir_row *has,
                              uint16_t *other)
{
    *other = UINT16_MAX;
    if (!directory_is_complete(d))
        return DIR_BUSY;
    for (const struct dir_entry *e = first(d, hash); e != NULL; e = next(d, e)) {
        if (e->holder == holder ||
            (old.seg != 0 && e->seg == old.seg && e->number == old.number))
            continue;
        *other = e->holder;
        *has = (struct dir_row){ .hash = hash,
                                 .seg = e->seg,
                                 .number = e->number,
                                 .issued_s = e->issued_s,
                                 .client = e->client };
        if (e->seg != 0)
            return DIR_EXISTS;
    }
    return *other != UINT16_MAX ? DIR_BUSY : grant(d, holder, hash);
}

/* ---- shares ---------------------------------------------------------------------- */

/* The finaliser of SplitMix64: the hash is keyed already, this only mixes. */
static uint64_t weight(uint64_t hash, node_no no)
{
    uint64_t x = hash ^ (no * 0x9e3779b97f4a7c15u);

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint16_t directory_owner(uint64_t hash, const node_no *members, uint32_t n)
{
    uint64_t most = 0;
    uint16_t owner = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint64_t w = weight(hash, members[i]);

        if (i == 0 || w > most) {
            most = w;
            owner = (uint16_t)i;
        }
    }
    return owner;
}

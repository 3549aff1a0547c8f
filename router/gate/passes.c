/* passes.c: see passes.h. */
#include "router/gate/passes.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* ---- ended before their time: linear probing, nothing is deleted but when the table is made
 * anew ---- */

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

    if (r->n < r->cap / 2 && r->n < r->max)
        return true;
    if (r->full_s == now_s)
        return false;
    n = living(r, now_s) + 1;
    while (cap / 4 < n) /* a quarter full: not at once again */
        cap *= 2;
    if (n <= r->max && anew(r, cap, now_s))
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

/* ---- two clocks that were told, and the machine's own ---- */

static bool is_same(const struct told_clock *t, int64_t ahead_ms)
{
    return t->known && llabs(t->ahead_ms - ahead_ms) <= PASS_CLOCK_SLACK_MS;
}

static int64_t time_s(const struct told_clock *t, msec_t now_ms)
{
    return (now_ms + t->ahead_ms) / 1000;
}

/* The first clock has stamped what there is: there was no other. */
static struct told_clock another(const struct pass_clock *c, int64_t ahead_ms, int64_t at_s)
{
    return (struct told_clock){ .known = true,
                                .ahead_ms = ahead_ms,
                                .from_s = c->now.known ? at_s - PASS_CLOCK_NBF_S : INT64_MIN };
}

void pass_clock_told(struct pass_clock *c, msec_t now_ms, int64_t stamp_ms)
{
    int64_t ahead_ms = stamp_ms - now_ms;
    struct told_clock was = c->now;

    if (stamp_ms <= 0)
        return;
    if (!is_same(&was, ahead_ms)) { /* leapt, or leapt back */
        c->now = is_same(&c->before, ahead_ms) ? c->before
                                               : another(c, ahead_ms, stamp_ms / 1000);
        c->before = was;
    }
    c->now.ahead_ms = ahead_ms;
    c->now.to_s = stamp_ms / 1000 + PASS_CLOCK_NBF_S;
    assert(c->now.known);
}

int64_t pass_clock_s(const struct pass_clock *c, msec_t now_ms, int64_t wall_s, int64_t nbf_s,
                     int64_t until_s)
{
    int64_t told_s = time_s(&c->now, now_ms), before_s = time_s(&c->before, now_ms);

    if (c->now.known && nbf_s >= c->now.from_s && pass_clock_good(told_s, nbf_s, until_s))
        return told_s;
    if (c->before.known && nbf_s >= c->before.from_s && nbf_s <= c->before.to_s &&
        pass_clock_good(before_s, nbf_s, until_s))
        return before_s;
    return wall_s;
}

int64_t pass_clock_least_s(const struct pass_clock *c, msec_t now_ms, int64_t wall_s)
{
    int64_t told_s = time_s(&c->now, now_ms), before_s = time_s(&c->before, now_ms);

    if (c->now.known && told_s < wall_s)
        wall_s = told_s;
    return c->before.known && before_s < wall_s ? before_s : wall_s;
}

/* ---- good signatures: a table of sets of four ---- */

#define WAYS 4

struct sigcache {
    uint8_t key[SIGCACHE_KEY_BYTES];
    size_t mask; /* number of sets */
    bool used; /* else nothing of it was touched */
    struct known_pass *v; /* owned; WAYS a set */
};

struct sigcache *sigcache_new(size_t entries, const uint8_t key[SIGCACHE_KEY_BYTES])
{
    struct sigcache *v = calloc(1, sizeof(*v));
    size_t sets = 1;

    while (sets * WAYS < entries && sets < SIZE_MAX / 4 / WAYS / sizeof(*v->v))
        sets *= 2;
    if (v == NULL)
        return NULL;
    memcpy(v->key, key, sizeof(v->key));
    v->mask = sets - 1;
    v->v = calloc(sets * WAYS, sizeof(*v->v));
    if (v->v == NULL) {
        free(v);
        return NULL;
    }
    return v;
}

void sigcache_free(struct sigcache *v)
{
    if (v == NULL)
        return;
    free(v->v);
    free(v);
}

void sigcache_hash(const struct sigcache *v, const char *pass, size_t n, uint64_t hash[2])
{
    crypto_shorthash_siphashx24((uint8_t *)hash, (const uint8_t *)pass, n, v->key);
    hash[1] |= 1; /* never the empty one */
}

static struct known_pass *set_of(const struct sigcache *v, const uint64_t hash[2])
{
    return &v->v[(hash[0] & v->mask) * WAYS];
}

const struct known_pass *sigcache_find(const struct sigcache *v, const uint64_t hash[2])
{
    const struct known_pass *x = set_of(v, hash);

    for (int i = 0; i < WAYS; i++)
        if (x[i].hash[0] == hash[0] && x[i].hash[1] == hash[1])
            return &x[i];
    return NULL;
}

void sigcache_again(struct sigcache *v, const uint64_t hash[2], msec_t ms)
{
    struct known_pass *x = set_of(v, hash);

    for (int i = 0; i < WAYS; i++)
        if (x[i].hash[0] == hash[0] && x[i].hash[1] == hash[1])
            x[i].again_ms = ms;
}

void sigcache_put(struct sigcache *v, const struct known_pass *x)
{
    struct known_pass *set = set_of(v, x->hash), *to = set;

    assert((x->hash[1] & 1) != 0 && x->len <= sizeof(x->text)); /* sigcache_hash() made it */
    for (int i = 1; i < WAYS; i++) /* an empty one expired in 1970 */
        if (set[i].exp_s < to->exp_s)
            to = &set[i];
    *to = *x;
    v->used = true;
}

void sigcache_clear(struct sigcache *v)
{
    if (v->used)
        memset(v->v, 0, (v->mask + 1) * WAYS * sizeof(*v->v));
    v->used = false;
}

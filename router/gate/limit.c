/* limit.c: buckets as debts: what an address has taken and time has not given back yet,
 * in microseconds. Full = no debt; empty = the debt is the burst. A bucket is brought up to
 * date when it is looked at. */
#include "router/gate/limit.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/map.h"

#define WAYS   8
#define LINE   64
#define NO_WAY WAYS

struct bucket {
    int64_t at_us;               /* when the debts were right */
    uint32_t debt[LIMIT_NKINDS]; /* us */
    uint32_t told;               /* us: the line of those that were sent away */
};

struct set { /* the ids lie together: looking for one costs one line of the cache */
    limit_id id[WAYS]; /* 0: free */
    struct bucket b[WAYS];
};

_Static_assert(sizeof(struct set) == 4 * LINE, "a set is four lines of the cache");

struct rule {
    uint32_t cost_us; /* cost of a request; 0: not limited */
    uint32_t cap_us;  /* a debt of this = empty */
};

struct limit {
    struct set *set; /* in memory; aligned */
    size_t n_sets;   /* power of two */
    struct rule rule[LIMIT_NKINDS];
    struct limit_counts n;
    struct map conns; /* id -> how many; no more entries than connections */
    uint8_t key[LIMIT_KEY_BYTES];
    uint64_t prefix_key[2];
    void *memory; /* owned */
};

_Static_assert(LIMIT_KEY_BYTES == crypto_shorthash_siphash24_KEYBYTES, "key");

/* ---- making ---- */

/* n lines of the cache, the kernel's own zeroes. *memory: to be freed in their place. NULL: no memory. */
static void *lines_new(size_t n, void **memory)
{
    *memory = calloc(n + 1, LINE);
    return *memory == NULL ? NULL : (void *)(((uintptr_t)*memory + LINE - 1) & ~(uintptr_t)(LINE - 1));
}

struct limit *limit_new(size_t entries, const uint8_t key[LIMIT_KEY_BYTES])
{
    struct limit *l = calloc(1, sizeof(*l));

    if (l == NULL)
        return NULL;
    l->n_sets = 1;
    while (l->n_sets * WAYS < entries)
        l->n_sets *= 2;
    l->set = lines_new(l->n_sets * (sizeof(struct set) / LINE), &l->memory);
    if (l->set == NULL) {
        free(l);
        return NULL;
    }
    memcpy(l->key, key, sizeof(l->key));
    map_init(&l->conns, 0); /* keys are hashes under our key already */
    return l;
}

void limit_free(struct limit *l)
{
    if (l == NULL)
        return;
    map_fini(&l->conns);
    free(l->memory);
    free(l);
}

void limit_set(struct limit *l, enum limit_kind k, double per_s, uint32_t burst)
{
    const double most_us = LIMIT_MAX_REFILL_S * 1e6;
    double cost = per_s > 0 ? 1e6 / per_s : 0, cap;

    if (cost > 0 && cost < 1)
        cost = 1; /* a million a second */
    if (cost > most_us)
        cost = most_us;
    cap = cost * (burst > 0 ? burst : 1);
    if (cap > most_us)
        cap = most_us;
    l->rule[k] = (struct rule) { (uint32_t)(cost + 0.5), (uint32_t)(cap + 0.5) };
    if (l->rule[k].cap_us < l->rule[k].cost_us)
        l->rule[k].cap_us = l->rule[k].cost_us;
    assert(l->rule[k].cap_us <= most_us + 1);
}

const struct limit_counts *limit_counts(const struct limit *l)
{
    return &l->n;
}

void limit_prefix_key(struct limit *l, const uint64_t key[2])
{
    memcpy(l->prefix_key, key, sizeof(l->prefix_key));
}

/* Multiply and shift under a secret: universal, so two prefixes of IPv4 meet once in 2^32, two /48 once
 * in 2^24, in the upper bits; within one, /56 never do. Its secret is that of no other hash, and no
 * answer shows what it gives. */
uint32_t limit_prefix_of(const uint64_t key[2], const struct ip *ip)
{
    bool v4 = ip_is_v4(ip);
    uint64_t p = 0;

    for (unsigned i = 0; i < 7; i++)
        p = p << 8 | (v4 ? i < 3 ? ip->b[12 + i] : 0xff : i < 6 ? ip->b[i] : 0);
    p = ((p ^ key[0]) * (key[1] | 1)) >> 32;
    return (uint32_t)(v4 ? p : (p & 0xffffff00) | (uint8_t)(ip->b[6] ^ p));
}

limit_id limit_id_of(const struct limit *l, const struct ip *ip)
{
    bool v4 = ip_is_v4(ip);
    uint8_t in[9] = { v4 }, out[crypto_shorthash_siphash24_BYTES];
    limit_id id;

    memcpy(in + 1, v4 ? ip->b + 12 : ip->b, v4 ? 4 : 8);
    crypto_shorthash_siphash24(out, in, sizeof(in), l->key);
    memcpy(&id, out, sizeof(id));
    id = (id & 0xfffffffc) | (v4 ? 0 : 2) | (uint64_t)limit_prefix_of(l->prefix_key, ip) << 32;
    return id != 0 ? id : 4;
}

/* ---- buckets ---- */

static inline uint32_t less(uint32_t v, uint32_t by)
{
    return v > by ? v - by : 0;
}

/* How long ago it was looked at, as far as that matters. A clock that went back: not. */
static inline uint32_t since(const struct bucket *b, int64_t now_us)
{
    int64_t d = now_us - b->at_us;

    return d <= 0 ? 0 : d < UINT32_MAX ? (uint32_t)d : UINT32_MAX;
}

static inline void bring_up(struct bucket *b, int64_t now_us)
{
    uint32_t d = since(b, now_us);

    b->at_us = now_us;
    for (unsigned k = 0; k < LIMIT_NKINDS; k++)
        b->debt[k] = less(b->debt[k], d);
    b->told = less(b->told, d);
}

/* How much is lost with it: the higher bit if it is at a limit, then its largest debt. */
static uint64_t worth(const struct limit *l, const struct bucket *b, int64_t now_us)
{
    uint32_t d = since(b, now_us), most = 0;
    bool at_limit = false;

    for (unsigned k = 0; k < LIMIT_NKINDS; k++) {
        uint32_t debt = less(b->debt[k], d);

        most = debt > most ? debt : most;
        at_limit |= debt > 0 && debt + l->rule[k].cost_us > l->rule[k].cap_us;
    }
    return (uint64_t)at_limit << 32 | most;
}

/* A bucket of the set for an address that has none. */
static __attribute__((noinline)) unsigned claim(struct limit *l, struct set *s,
                                                limit_id id, int64_t now_us)
{
    uint64_t least = UINT64_MAX;
    unsigned best = 0;

    for (unsigned i = 0; i < WAYS; i++) {
        uint64_t w = s->id[i] == 0 ? 0 : worth(l, &s->b[i], now_us) + 1;

        if (w < least) {
            least = w;
            best = i;
        }
    }
    assert(id != 0 && best < WAYS);
    l->n.addresses += least == 0;
    l->n.forgotten += least > 1;
    s->id[best] = id;
    memset(&s->b[best], 0, sizeof(s->b[best]));
    return best;
}

static inline unsigned find(const struct set *s, limit_id id)
{
    for (unsigned i = 0; i < WAYS; i++)
        if (s->id[i] == id)
            return i;
    return NO_WAY;
}

/* cost: of what was asked for. */
static uint32_t send_away(struct limit *l, struct bucket *b, enum limit_kind k, uint64_t cost)
{
    const struct rule *r = &l->rule[k];
    uint32_t most = LIMIT_MAX_TOLD_MS * 1000u;
    uint64_t wait = (uint64_t)b->debt[k] + cost - r->cap_us + b->told;

    l->n.refused[k]++;
    b->told = cost < most - b->told ? b->told + (uint32_t)cost : most;
    return (uint32_t)((wait < most ? wait : most) / 1000) + 1;
}

uint32_t limit_take(struct limit *l, limit_id id, enum limit_kind k, int64_t now_us)
{
    const struct rule *r = &l->rule[k];
    struct set *s;
    struct bucket *b;
    unsigned i;

    if (r->cost_us == 0)
        return 0;
    s = &l->set[(id >> 8) & (l->n_sets - 1)];
    i = find(s, id);
    if (i == NO_WAY)
        i = claim(l, s, id, now_us);
    b = &s->b[i];
    bring_up(b, now_us);
    if (b->debt[k] > r->cap_us - r->cost_us)
        return send_away(l, b, k, r->cost_us);
    b->debt[k] += r->cost_us;
    return 0;
}

uint32_t limit_take_more(struct limit *l, limit_id id, enum limit_kind k, unsigned n, int64_t now_us)
{
    const struct rule *r = &l->rule[k];
    struct set *s = &l->set[(id >> 8) & (l->n_sets - 1)];
    unsigned i = find(s, id);
    uint64_t all = u64_min((uint64_t)r->cost_us * (n + 1), r->cap_us);
    struct bucket *b;

    if (r->cost_us == 0 || i == NO_WAY)
        return 0;
    b = &s->b[i];
    bring_up(b, now_us);
    b->debt[k] = less(b->debt[k], r->cost_us); /* the one that was taken */
    if (b->debt[k] + all > r->cap_us)
        return send_away(l, b, k, all);
    b->debt[k] += (uint32_t)all;
    return 0;
}

/* ---- connections ---- */

bool limit_conn_open(struct limit *l, limit_id id, uint32_t max)
{
    uint64_t n = map_get(&l->conns, id);

    assert(n != 0); /* an address without connections is not in the table */
    n = n == MAP_NONE ? 0 : n;
    if ((max != 0 && n >= max) || map_set(&l->conns, id, n + 1) < 0) {
        l->n.conns_refused++;
        return false;
    }
    return true;
}

void limit_conn_close(struct limit *l, limit_id id)
{
    uint64_t n = map_get(&l->conns, id);

    if (n == MAP_NONE)
        return;
    if (n > 1)
        (void)!map_set(&l->conns, id, n - 1); /* Entry that is known needs no room */
    else
        (void)map_del(&l->conns, id);
}

/* ---- tickets ---- */

#define TICKET_WAYS  4
#define TOLD_MOST_MS 86400000 /* two of them fit into paid_ms, with a sign */

struct entry {
    uint64_t key;     /* 0: free */
    uint32_t paid_ms; /* end of what its polls have used: low bits of the clock */
    uint32_t told_ms; /* by its last answer */
};

struct ticket_polls {
    struct entry (*set)[TICKET_WAYS]; /* in memory; aligned */
    size_t n_sets;             /* power of two */
    void *memory;              /* owned */
};

_Static_assert(sizeof(struct entry[TICKET_WAYS]) == LINE, "a set is a line of the cache");

struct ticket_polls *ticket_polls_new(size_t entries)
{
    struct ticket_polls *p = calloc(1, sizeof(*p));

    if (p == NULL)
        return NULL;
    p->n_sets = 1;
    while (p->n_sets * TICKET_WAYS < entries)
        p->n_sets *= 2;
    p->set = lines_new(p->n_sets, &p->memory);
    if (p->set == NULL) {
        free(p);
        return NULL;
    }
    return p;
}

void ticket_polls_free(struct ticket_polls *p)
{
    if (p != NULL)
        free(p->memory);
    free(p);
}

/* Never 0. Tokens are ours, so nobody aims at a place in the table. */
static uint64_t key_of(const struct token *t)
{
    uint64_t k = (t->seg ^ (uint64_t)t->number << 32) * 0x9e3779b97f4a7c15ull;

    k = (k ^ k >> 32) * 0xd6e8feb86659fd93ull;
    return (k ^ k >> 32) | 1;
}

static struct entry *set_of(const struct ticket_polls *p, uint64_t key)
{
    return p->set[key >> 8 & (p->n_sets - 1)];
}

/* How far it is ahead of the time. */
static uint32_t ahead_ms(const struct entry *x, msec_t now_ms)
{
    int32_t ms = (int32_t)(x->paid_ms - (uint32_t)now_ms);

    return ms > 0 && (uint32_t)ms <= 2 * (uint64_t)x->told_ms ? (uint32_t)ms : 0; /* beyond: of an age ago */
}

uint32_t ticket_polls_over_ms(const struct ticket_polls *p, const struct token *t, msec_t now_ms)
{
    uint64_t key = key_of(t);
    const struct entry *x = set_of(p, key);

    for (unsigned i = 0; i < TICKET_WAYS; i++)
        if (x[i].key == key) {
            uint32_t ms = ahead_ms(&x[i], now_ms);

            return ms >= x[i].told_ms ? ms - x[i].told_ms + (ms > 0) : 0;
        }
    return 0;
}

void ticket_polls_told(struct ticket_polls *p, const struct token *t, uint32_t told_ms, uint32_t times,
                       msec_t now_ms)
{
    uint64_t key = key_of(t);
    struct entry *x = set_of(p, key);
    unsigned at = 0;

    assert(times > 0);
    told_ms = (uint32_t)u64_min(told_ms, TOLD_MOST_MS);
    for (unsigned i = 1; i < TICKET_WAYS && x[at].key != key; i++)
        if (x[i].key == key || (x[at].key != 0 && ahead_ms(&x[i], now_ms) < ahead_ms(&x[at], now_ms)))
            at = i;
    if (x[at].key != key)
        x[at] = (struct entry){ .key = key };
    x[at].paid_ms = (uint32_t)now_ms + (uint32_t)u64_min(ahead_ms(&x[at], now_ms), told_ms) + told_ms / times;
    x[at].told_ms = told_ms;
}

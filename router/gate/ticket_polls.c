/* ticket_polls.c: see ticket_polls.h. */
#include "router/gate/ticket_polls.h"

#include <assert.h>
#include <stdlib.h>

#define WAYS 4
#define LINE 64
#define TOLD_MOST_MS 86400000 /* two of them fit into paid_ms, with a sign */

struct entry {
    uint64_t key;     /* 0: free */
    uint32_t paid_ms; /* end of what its polls have used: low bits of the clock */
    uint32_t told_ms; /* by its last answer */
};

struct ticket_polls {
    struct entry (*set)[WAYS]; /* in memory; aligned */
    size_t n_sets;             /* power of two */
    void *memory;              /* owned */
};

_Static_assert(sizeof(struct entry[WAYS]) == LINE, "a set is a line of the cache");

struct ticket_polls *ticket_polls_new(size_t entries)
{
    struct ticket_polls *p = calloc(1, sizeof(*p));

    if (p == NULL)
        return NULL;
    p->n_sets = 1;
    while (p->n_sets * WAYS < entries)
        p->n_sets *= 2;
    p->memory = calloc(p->n_sets + 1, LINE); /* the kernel's own zeroes */
    if (p->memory == NULL) {
        free(p);
        return NULL;
    }
    p->set = (struct entry(*)[WAYS])(((uintptr_t)p->memory + LINE - 1) & ~(uintptr_t)(LINE - 1));
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

    for (unsigned i = 0; i < WAYS; i++)
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
    for (unsigned i = 1; i < WAYS && x[at].key != key; i++)
        if (x[i].key == key || (x[at].key != 0 && ahead_ms(&x[i], now_ms) < ahead_ms(&x[at], now_ms)))
            at = i;
    if (x[at].key != key)
        x[at] = (struct entry){ .key = key };
    x[at].paid_ms = (uint32_t)now_ms + (uint32_t)u64_min(ahead_ms(&x[at], now_ms), told_ms) + told_ms / times;
    x[at].told_ms = told_ms;
}

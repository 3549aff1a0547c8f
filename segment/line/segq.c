/* segq.c: append, drop, pop and sweep over an array of blocks. */
#include "segment/line/segq.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY_BYTES                                                                      \
    (sizeof(struct block *) + sizeof(uint64_t) + sizeof(uint32_t) + sizeof(uint16_t) + 1)

void segq_init(struct segq *q, struct block_pool *pool)
{
    memset(q, 0, sizeof(*q));
    q->pool = pool;
    q->stale = SEGQ_NONE;
}

void segq_fini(struct segq *q)
{
    for (uint32_t b = 0; b < q->n_blocks; b++)
        if (q->block[b] != NULL)
            block_give(q->pool, q->block[b]);
    segq_unreserve(q);
    free(q->block);
    memset(q, 0, sizeof(*q));
}

/* ---- memory ---------------------------------------------------------------------- */

/* The five arrays live in one piece, largest elements first. */
static int grow(struct segq *q, uint32_t want)
{
    uint32_t cap = q->cap_blocks < 4 ? 4 : q->cap_blocks + q->cap_blocks / 2;
    struct segq n = *q;
    char *p;

    if (want <= q->cap_blocks)
        return 0;
    if (cap < want)
        cap = want;
    p = malloc(cap * ENTRY_BYTES);
    if (p == NULL)
        return SQ_ENOMEM;
    n.block = (struct block **)(void *)p;
    n.sub = (uint64_t *)(n.block + cap);
    n.tag = (uint32_t *)(n.sub + cap);
    n.count = (uint16_t *)(n.tag + cap);
    n.died_of = (uint8_t *)(n.count + cap);
    n.cap_blocks = cap;
    if (q->n_blocks > 0) {
        memcpy(n.block, q->block, q->n_blocks * sizeof(*n.block));
        memcpy(n.sub, q->sub, q->n_blocks * sizeof(*n.sub));
        memcpy(n.tag, q->tag, q->n_blocks * sizeof(*n.tag));
        memcpy(n.count, q->count, q->n_blocks * sizeof(*n.count));
        memcpy(n.died_of, q->died_of, q->n_blocks * sizeof(*n.died_of));
    }
    free(q->block);
    *q = n;
    return 0;
}

void segq_unreserve(struct segq *q)
{
    while (q->reserve != NULL) {
        struct block *b = q->reserve;

        q->reserve = b->next;
        block_give(q->pool, b);
    }
    q->n_reserve = 0;
}

int segq_reserve(struct segq *q, uint32_t n)
{
    /* Treats the last block as full: it may be freed before the appends come. */
    uint64_t blocks = q->n_blocks + (((uint64_t)n + BLOCK_SLOTS - 1) >> BLOCK_SHIFT);

    if (blocks >= UINT32_MAX >> BLOCK_SHIFT || grow(q, (uint32_t)blocks) < 0)
        return SQ_ENOMEM;
    while (q->n_blocks + q->n_reserve < blocks) {
        struct block *b = block_take(q->pool);

        if (b == NULL) {
            segq_unreserve(q);
            return SQ_ENOMEM;
        }
        b->next = q->reserve;
        q->reserve = b;
        q->n_reserve++;
    }
    return 0;
}

/* A tag from stale tags is as stale as they are: too large, and in order. */
static int add_block(struct segq *q)
{
    uint32_t i = q->n_blocks;
    struct block *b = q->reserve;

    if (grow(q, i + 1) < 0)
        return SQ_ENOMEM;
    if (b != NULL) {
        q->reserve = b->next;
        q->n_reserve--;
    } else {
        b = block_take(q->pool);
    }
    if (b == NULL)
        return SQ_ENOMEM;
    memset(b->alive, 0, sizeof(b->alive)); /* held the reserve's link */
    q->block[i] = b;
    q->sub[i] = 0;
    q->tag[i] = i > 0 ? q->tag[i - 1] + q->count[i - 1] : 0;
    q->count[i] = 0;
    q->died_of[i] = DEAD_UNKNOWN;
    q->n_blocks++;
    return 0;
}

/* Frees block b if nothing can live in it any more. */
static void free_dead(struct segq *q, uint32_t b)
{
    uint32_t n;

    if (q->count[b] > 0 || q->block[b] == NULL || q->rebuilding)
        return;
    n = segq_given(q, b);
    if (n < BLOCK_SLOTS && !q->sealed)
        return;
    q->died_of[b] = (uint8_t)block_death(q->block[b], n);
    block_give(q->pool, q->block[b]);
    q->block[b] = NULL;
    while (q->head < q->n_blocks && q->block[q->head] == NULL)
        q->head++;
}

/* ---- in -------------------------------------------------------------------------- */

int segq_append(struct segq *q, uint8_t deadline, uint32_t *number)
{
    uint32_t b = q->end >> BLOCK_SHIFT;

    if (SQ_UNLIKELY(q->sealed))
        return SQ_ESEALED;
    if (SQ_UNLIKELY(q->end >= SEGQ_NONE - 1))
        return SQ_ENOMEM;
    if (b == q->n_blocks && add_block(q) < 0)
        return SQ_ENOMEM;
    block_raise(q->block[b], &q->sub[b], q->end & (BLOCK_SLOTS - 1), deadline);
    q->count[b]++;
    q->waiting++;
    *number = q->end++;
    return 0;
}

int segq_append_many(struct segq *q, const uint8_t *deadline, uint32_t n)
{
    if (q->sealed)
        return SQ_ESEALED;
    if (n >= SEGQ_NONE - q->end)
        return SQ_ENOMEM;
    while (n > 0) {
        uint32_t b = q->end >> BLOCK_SHIFT, from = q->end & (BLOCK_SLOTS - 1);
        uint32_t k = BLOCK_SLOTS - from < n ? BLOCK_SLOTS - from : n;

        if (b == q->n_blocks && add_block(q) < 0)
            return SQ_ENOMEM;
        for (unsigned w = from >> 6; w << 6 < from + k; w++)
            q->block[b]->alive[w] |= bits512_run(w, from, from + k);
        memcpy(q->block[b]->idle + from, deadline, k);
        q->sub[b] = bits512_subs(q->block[b]->alive);
        q->count[b] += (uint16_t)k;
        q->waiting += k;
        q->end += k;
        deadline += k;
        n -= k;
    }
    return 0;
}

uint32_t segq_set_aside(struct segq *q, uint32_t n)
{
    uint32_t i = 0, number;

    assert(!q->sealed);
    for (; i < n && segq_append(q, 0, &number) == 0; i++) {
        segq_drop(q, number, DEAD_POPPED);
        q->popped_end = number + 1;
    }
    return i;
}

void segq_seal(struct segq *q)
{
    q->sealed = true;
    if (q->n_blocks > 0)
        free_dead(q, q->n_blocks - 1);
}

/* The numbers left over in a block that was freed at the seal are never used. */
void segq_unseal(struct segq *q)
{
    q->sealed = false;
    if (q->n_blocks > 0 && q->block[q->n_blocks - 1] == NULL)
        q->end = q->n_blocks << BLOCK_SHIFT;
}

/* ---- out ------------------------------------------------------------------------- */

static void grow_stale(struct segq *q, uint32_t b)
{
    if (b + 1 < q->stale && b + 1 < q->n_blocks)
        q->stale = b + 1;
}

bool segq_drop(struct segq *q, uint32_t number, enum dead why)
{
    uint32_t b = number >> BLOCK_SHIFT;

    if (!segq_is_alive(q, number))
        return false;
    block_kill(q->block[b], &q->sub[b], number & (BLOCK_SLOTS - 1), why);
    q->waiting--;
    grow_stale(q, b);
    if (--q->count[b] == 0)
        free_dead(q, b);
    return true;
}

enum dead segq_death(const struct segq *q, uint32_t number)
{
    uint32_t b = number >> BLOCK_SHIFT;

    if (b >= q->n_blocks)
        return DEAD_UNKNOWN;
    if (q->block[b] == NULL)
        return (enum dead)q->died_of[b];
    return (enum dead)q->block[b]->idle[number & (BLOCK_SLOTS - 1)];
}

static uint32_t pop_word(struct block *b, unsigned w, uint32_t base, uint32_t n,
                         uint32_t *out)
{
    uint32_t got = 0;

    while (got < n && b->alive[w] != 0) {
        unsigned slot = w * 64 + (unsigned)__builtin_ctzll(b->alive[w]);

        b->alive[w] &= b->alive[w] - 1;
        b->idle[slot] = DEAD_POPPED;
        out[got++] = base + slot;
    }
    return got;
}

static uint32_t pop_block(struct segq *q, uint32_t b, uint32_t n, uint32_t *out)
{
    uint32_t got = 0;

    for (unsigned w = 0; w < BLOCK_WORDS && got < n; w++)
        got += pop_word(q->block[b], w, b << BLOCK_SHIFT, n - got, out + got);
    q->sub[b] = bits512_subs(q->block[b]->alive);
    if (got == 0)
        return 0;
    assert(got <= q->count[b] && got <= q->waiting);
    q->count[b] = (uint16_t)(q->count[b] - got);
    q->waiting -= got;
    q->popped_end = out[got - 1] + 1;
    grow_stale(q, b);
    free_dead(q, b);
    return got;
}

uint32_t segq_pop(struct segq *q, uint32_t n, uint32_t *out)
{
    uint32_t got = 0;

    for (uint32_t b = q->head; b < q->n_blocks && got < n; b++)
        if (q->block[b] != NULL && q->count[b] > 0)
            got += pop_block(q, b, n - got, out + got);
    return got;
}

void segq_settle(struct segq *q)
{
    uint32_t n = q->n_blocks, sum;

    if (q->stale >= n) {
        q->stale = SEGQ_NONE;
        return;
    }
    /* Nothing lives before the head, so its tag is 0 without looking further back. */
    if (q->stale <= q->head) {
        q->stale = q->head;
        sum = 0;
    } else {
        sum = q->tag[q->stale - 1] + q->count[q->stale - 1];
    }
    for (uint32_t b = q->stale; b < n; b++) {
        q->tag[b] = sum;
        sum += q->count[b];
    }
    assert(sum == q->waiting);
    q->stale = SEGQ_NONE;
}

/* ---- looking through all --------------------------------------------------------- */

uint32_t segq_sweep(struct segq *q, uint8_t now, uint32_t *block, uint32_t *out)
{
    uint32_t b = *block < q->head ? q->head : *block, n = 0;

    while (b < q->n_blocks && (q->block[b] == NULL || q->count[b] == 0))
        b++;
    if (b >= q->n_blocks) {
        *block = q->n_blocks;
        return 0;
    }
    *block = b + 1;
    for (unsigned w = 0; w < BLOCK_WORDS; w++) {
        uint64_t due = block_due(q->block[b], w, now);

        for (; due != 0; due &= due - 1)
            out[n++] = (b << BLOCK_SHIFT) + w * 64 + (unsigned)__builtin_ctzll(due);
    }
    for (uint32_t i = 0; i < n; i++)
        segq_drop(q, out[i], DEAD_EXPIRED);
    return n;
}

static uint32_t next_in_block(const struct block *b, unsigned slot)
{
    unsigned w = slot >> 6;
    uint64_t m = b->alive[w] & (~0ull << (slot & 63));

    while (m == 0 && ++w < BLOCK_WORDS)
        m = b->alive[w];
    return m != 0 ? w * 64 + (unsigned)__builtin_ctzll(m) : SEGQ_NONE;
}

uint32_t segq_next(const struct segq *q, uint32_t from)
{
    uint32_t b = from >> BLOCK_SHIFT, slot = from & (BLOCK_SLOTS - 1);

    if (b < q->head) {
        b = q->head;
        slot = 0;
    }
    for (; b < q->n_blocks; b++, slot = 0) {
        uint32_t s = q->block[b] != NULL ? next_in_block(q->block[b], slot) : SEGQ_NONE;

        if (s != SEGQ_NONE)
            return (b << BLOCK_SHIFT) + s;
    }
    return SEGQ_NONE;
}

void segq_remark(struct segq *q, uint8_t (*fn)(void *ctx, uint8_t deadline), void *ctx)
{
    for (uint32_t b = q->head; b < q->n_blocks; b++) {
        struct block *k = q->block[b];

        for (unsigned i = 0; k != NULL && i < BLOCK_SLOTS; i++)
            if (block_is_alive(k, i))
                k->idle[i] = fn(ctx, k->idle[i]);
    }
}

/* ---- rebuild --------------------------------------------------------------------- */

int segq_rebuild(struct segq *q, uint32_t end)
{
    uint32_t blocks = (uint32_t)(((uint64_t)end + BLOCK_SLOTS - 1) >> BLOCK_SHIFT);

    if (grow(q, blocks) < 0)
        return SQ_ENOMEM;
    for (uint32_t b = 0; b < blocks; b++) {
        q->block[b] = NULL;
        q->sub[b] = 0;
        q->tag[b] = 0;
        q->count[b] = 0;
        q->died_of[b] = DEAD_UNKNOWN;
    }
    q->n_blocks = blocks;
    q->end = end;
    q->sealed = q->rebuilding = true;
    return 0;
}

bool segq_is_unknown(const struct segq *q, uint32_t number)
{
    return q->rebuilding && number < q->end && !segq_is_alive(q, number) &&
           segq_death(q, number) == DEAD_UNKNOWN;
}

static struct block *known_block(struct segq *q, uint32_t number)
{
    struct block **b = &q->block[number >> BLOCK_SHIFT];

    if (*b == NULL && (*b = block_take(q->pool)) != NULL)
        memset((*b)->idle, DEAD_UNKNOWN, sizeof((*b)->idle));
    return *b;
}

int segq_restore(struct segq *q, uint32_t number, uint8_t deadline)
{
    uint32_t b = number >> BLOCK_SHIFT;

    assert(q->rebuilding && number < q->end);
    if (known_block(q, number) == NULL)
        return SQ_ENOMEM;
    block_raise(q->block[b], &q->sub[b], number & (BLOCK_SLOTS - 1), deadline);
    q->count[b]++;
    q->waiting++;
    grow_stale(q, b);
    return 0;
}

int segq_kill(struct segq *q, uint32_t number, enum dead why)
{
    struct block *b;

    assert(q->rebuilding && number < q->end);
    b = known_block(q, number);
    if (b == NULL)
        return SQ_ENOMEM;
    b->idle[number & (BLOCK_SLOTS - 1)] = (uint8_t)why;
    return 0;
}

uint32_t segq_first_unknown(const struct segq *q, uint32_t from)
{
    while (from < q->end && !segq_is_unknown(q, from))
        from++;
    return from;
}

uint32_t segq_before(const struct segq *q, uint32_t number)
{
    uint32_t end = number >> BLOCK_SHIFT, n = 0;

    for (uint32_t b = 0; b < end && b < q->n_blocks; b++)
        n += q->count[b];
    if (end < q->n_blocks && q->block[end] != NULL)
        n += block_rank(q->block[end], q->sub[end], number & (BLOCK_SLOTS - 1));
    return n;
}

static void complete_block(struct segq *q, uint32_t b, uint32_t popped)
{
    uint32_t first = b << BLOCK_SHIFT, n = segq_given(q, b);
    struct block *k = q->block[b];

    if (k == NULL) { /* both kinds: segtab_reason() asks popped_end */
        q->died_of[b] = first >= popped       ? DEAD_EXPIRED
                     : first + n <= popped ? DEAD_POPPED
                                           : DEAD_UNKNOWN;
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!block_is_alive(k, i) && k->idle[i] == DEAD_UNKNOWN)
            k->idle[i] = first + i < popped ? DEAD_POPPED : DEAD_EXPIRED;
}

void segq_rebuilt(struct segq *q, uint32_t popped)
{
    q->rebuilding = false;
    if (q->popped_end < popped)
        q->popped_end = popped;
    for (uint32_t b = 0; b < q->n_blocks; b++) {
        complete_block(q, b, popped);
        free_dead(q, b);
    }
    while (q->head < q->n_blocks && q->block[q->head] == NULL)
        q->head++;
    q->stale = 0;
    segq_settle(q);
}

void segq_free_dead(struct segq *q)
{
    for (uint32_t b = 0; b < q->n_blocks; b++)
        free_dead(q, b);
    q->stale = 0;
    segq_settle(q);
}

size_t segq_bytes(const struct segq *q)
{
    size_t n = q->cap_blocks * ENTRY_BYTES;

    for (uint32_t b = q->head; b < q->n_blocks; b++)
        n += q->block[b] != NULL ? sizeof(struct block) : 0;
    return n;
}

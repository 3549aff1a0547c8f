/* line.c: see line.h. */
#include "router/replica/line.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/replica_bytes.h"

#define BLOCK_COST (sizeof(struct line_block *) + sizeof(uint64_t) + sizeof(uint32_t)) /* empty */
#define SETTLED    UINT32_MAX
#define OVER_MAX   256

void line_pool_init(struct line_pool *p, size_t max_bytes)
{
    slab_init(&p->slabs, sizeof(struct line_block));
    p->n_bytes = p->n_changes = p->n_links = 0;
    p->max_bytes = max_bytes;
}

void line_pool_fini(struct line_pool *p)
{
    assert(p->n_bytes == 0); /* all lines were given back */
    slab_fini(&p->slabs);
}

void line_init(struct line *l, struct line_pool *pool)
{
    *l = (struct line) { .pool = pool, .stale = SETTLED };
    map_init(&l->over, 0);
}

/* ---- memory ----------------------------------------------------------------------------- */

bool line_pool_charge(struct line_pool *p, size_t bytes)
{
    if (bytes > p->max_bytes - p->n_bytes)
        return false;
    p->n_bytes += bytes;
    return true;
}

void line_pool_credit(struct line_pool *p, size_t bytes)
{
    assert(p->n_bytes >= bytes);
    p->n_bytes -= bytes;
}

static bool grow_arrays(struct line *l, uint32_t blocks)
{
    uint64_t cap = u64_max(blocks, u64_min(l->cap * 2ull, blocks + 1024ull));
    size_t more = (size_t)(cap - l->cap) * BLOCK_COST;
    void *p;

    if (blocks <= l->cap)
        return true;
    if (!line_pool_charge(l->pool, more))
        return false;
    if ((p = reallocarray(l->block, cap, sizeof(*l->block))) != NULL)
        l->block = p;
    if (p != NULL && (p = reallocarray(l->sub, cap, sizeof(*l->sub))) != NULL)
        l->sub = p;
    if (p != NULL && (p = reallocarray(l->tag, cap, sizeof(*l->tag))) != NULL)
        l->tag = p;
    if (p == NULL) {
        line_pool_credit(l->pool, more);
        return false;
    }
    memset(l->block + l->cap, 0, (size_t)(cap - l->cap) * sizeof(*l->block));
    memset(l->sub + l->cap, 0, (size_t)(cap - l->cap) * sizeof(*l->sub));
    l->cap = (uint32_t)cap;
    return true;
}

static struct line_block *take(struct line *l, uint32_t b)
{
    if (l->block[b] == NULL && line_pool_charge(l->pool, sizeof(struct line_block))) {
        l->block[b] = slab_take(&l->pool->slabs);
        if (l->block[b] != NULL)
            memset(l->block[b], 0, sizeof(*l->block[b]));
        else
            line_pool_credit(l->pool, sizeof(struct line_block));
    }
    return l->block[b];
}

static void give(struct line *l, uint32_t b)
{
    if (l->block[b] == NULL)
        return;
    slab_give(&l->pool->slabs, l->block[b]);
    line_pool_credit(l->pool, sizeof(struct line_block));
    l->block[b] = NULL;
    l->sub[b] = 0;
}

static void forget_all(struct line *l)
{
    for (uint32_t b = l->head >> BITS512_SHIFT; b < line_blocks(l); b++)
        give(l, b);
    l->end = l->head = 0;
    l->stale = 0;
}

void line_fini(struct line *l)
{
    forget_all(l);
    line_pool_credit(l->pool, l->cap * BLOCK_COST);
    free(l->block);
    free(l->sub);
    free(l->tag);
    map_fini(&l->over);
    line_init(l, l->pool);
}

/* ---- changes ---------------------------------------------------------------------------- */

static uint32_t living(const struct line *l, uint32_t b)
{
    const unsigned last = BITS512_WORDS - 1;

    return l->block[b] == NULL ? 0 : (uint32_t)(l->sub[b] & 511) + bits64(l->block[b]->alive[last]);
}

/* The bits of block b are other ones: its counts follow. */
static void changed(struct line *l, uint32_t b)
{
    l->sub[b] = bits512_subs(l->block[b]->alive);
    if (living(l, b) == 0)
        give(l, b);
    if (b < l->stale)
        l->stale = b;
}

/* Numbers from `from` to the one before `to` live. */
static bool raise(struct line *l, uint64_t from, uint64_t to)
{
    while (from < to) {
        uint32_t b = (uint32_t)(from >> BITS512_SHIFT), i = from & (BITS512_N - 1);
        uint32_t n = (uint32_t)u64_min(to - from, BITS512_N - i);
        struct line_block *k = take(l, b);

        if (k == NULL)
            return false;
        for (unsigned w = 0; w < BITS512_WORDS; w++)
            k->alive[w] |= bits512_run(w, i, i + n);
        changed(l, b);
        from += n;
    }
    return true;
}

/* Takes a block from a row. */
static int set_block(struct line *l, uint32_t b, const uint8_t bits[sizeof(struct line_block)])
{
    uint32_t n = l->end - (b << BITS512_SHIFT);
    struct line_block *k = take(l, b);

    if (k == NULL)
        return SQ_ENOMEM;
    memcpy(k->alive, bits, sizeof(k->alive)); /* little endian, as all machines of ours */
    for (unsigned w = 0; w < BITS512_WORDS; w++)
        if ((k->alive[w] & ~bits512_below(w, n)) != 0)
            return SQ_EPROTO; /* a number that nobody was given */
    changed(l, b);
    return 0;
}

/* *low: the lowest block that may live. */
static int set_lines(struct line *l, const struct replica_row *row, uint32_t *low)
{
    struct bytes_in in = { row->lines, row->lines + row->n_lines };
    uint32_t next = 0;

    while (in.p < in.end) {
        struct lines_run r;

        if (!lines_get(&in, &next, line_blocks(l), &r))
            return SQ_EPROTO;
        *low = r.first < *low ? r.first : *low;
        if (!raise(l, (uint64_t)r.first << BITS512_SHIFT,
                   u64_min((uint64_t)(r.first + r.full) << BITS512_SHIFT, l->end)))
            return SQ_ENOMEM;
        for (uint32_t i = 0; i < r.n; i++) {
            int rc = set_block(l, r.first + r.full + i, r.bits + i * sizeof(struct line_block));

            if (rc < 0)
                return rc;
        }
    }
    return 0;
}

uint32_t line_first(const struct line *l)
{
    for (uint32_t b = l->head >> BITS512_SHIFT; b < line_blocks(l); b++)
        for (unsigned w = 0; l->block[b] != NULL && w < BITS512_WORDS; w++)
            for (uint64_t v = l->block[b]->alive[w]; v != 0; v &= v - 1) {
                uint32_t number = (b << BITS512_SHIFT) + w * 64 + (uint32_t)__builtin_ctzll(v);

                if (line_has(l, number))
                    return number;
            }
    return l->end;
}

void line_over(struct line *l, uint32_t number)
{
    if (line_has(l, number) && l->over.n < OVER_MAX && map_set(&l->over, number, true) == 0)
        l->version = ++l->pool->n_changes;
}

/* Takes a row. */
static void forget_over(struct line *l)
{
    uint64_t number, val;

    for (size_t i = 0; (i = map_next(&l->over, i, &number, &val)) != 0;)
        if (!line_bit(l, (uint32_t)number)) {
            map_del(&l->over, number);
            i = 0; /* the map has changed: from its beginning */
        }
}

static void die(struct line *l, uint32_t number)
{
    uint32_t b = number >> BITS512_SHIFT, i = number & (BITS512_N - 1);

    if (!line_bit(l, number))
        return;
    l->version = ++l->pool->n_changes;
    bits512_clear(l->block[b]->alive, &l->sub[b], i);
    if (living(l, b) == 0)
        give(l, b);
    if (b < l->stale)
        l->stale = b;
}

static int kill_dead(struct line *l, const struct replica_row *row)
{
    struct bytes_in in = { row->dead, row->dead + row->n_dead };
    uint32_t next = row->head, number;

    while (in.p < in.end) {
        if (!dead_get(&in, &next, row->end, &number))
            return SQ_EPROTO;
        die(l, number);
    }
    return 0;
}

/* All below are dead; blocks below `low` are already. */
static void move_head(struct line *l, uint32_t head, uint32_t low)
{
    uint32_t last = head >> BITS512_SHIFT, below = 0;

    for (uint32_t b = low; b < last; b++)
        if (l->block[b] != NULL) {
            give(l, b);
            l->stale = b < l->stale ? b : l->stale;
        }
    l->head = head;
    if (last >= line_blocks(l) || l->block[last] == NULL)
        return;
    for (unsigned w = 0; w < BITS512_WORDS; w++) {
        uint64_t *v = &l->block[last]->alive[w], gone = *v & bits512_below(w, head & (BITS512_N - 1));

        below += bits64(gone);
        *v &= ~gone;
    }
    if (below > 0)
        changed(l, last);
}

int line_apply(struct line *l, const struct replica_row *row)
{
    bool is_new = (row->flags & REPLICA_NEW) != 0;
    uint32_t was, low;
    int rc;

    assert(row->head <= row->end && l->head <= l->end); /* the codec has looked */
    l->version = ++l->pool->n_changes;
    if (is_new)
        forget_all(l);
    if (row->end < l->end || row->head < l->head)
        return SQ_EPROTO;
    was = l->end;
    if (!grow_arrays(l, (uint32_t)(((uint64_t)row->end + BITS512_N - 1) >> BITS512_SHIFT)))
        return SQ_ENOMEM;
    l->end = row->end;
    if (l->end > was && was >> BITS512_SHIFT < l->stale)
        l->stale = was >> BITS512_SHIFT;
    if (!is_new && !raise(l, was > row->head ? was : row->head, row->end))
        return SQ_ENOMEM;
    low = l->head >> BITS512_SHIFT;
    rc = set_lines(l, row, &low);
    if (rc == 0)
        rc = kill_dead(l, row);
    if (rc == 0)
        move_head(l, row->head, low);
    return rc;
}

void line_settle(struct line *l)
{
    uint32_t b = l->stale, n = line_blocks(l), before;

    if (l->over.n > 0)
        forget_over(l);
    if (b >= n) {
        l->stale = SETTLED;
        return;
    }
    before = b == 0 ? 0 : l->tag[b - 1] + living(l, b - 1);
    for (; b < n; b++) {
        l->tag[b] = before;
        before += living(l, b);
    }
    l->stale = SETTLED;
}

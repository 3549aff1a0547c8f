/* lineup.c: see the header. Pure. */
#include "rehearse/lineup.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>

#include "common/base/buf.h"

void lineup_init(struct lineup *l, uint32_t capacity)
{
    *l = (struct lineup){ .capacity = capacity };
    block_pool_init(&l->pool, UINT32_MAX);
}

void lineup_fini(struct lineup *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        segq_fini(&l->v[i].q);
    free(l->v);
    block_pool_fini(&l->pool);
}

unsigned lineup_tail(const struct lineup *l)
{
    return l->n == 0 || l->v[l->n - 1].q.sealed ? UINT_MAX : l->v[l->n - 1].node;
}

void lineup_seal(struct lineup *l)
{
    if (l->n > 0)
        segq_seal(&l->v[l->n - 1].q);
}

static int open_next(struct lineup *l, unsigned node)
{
    struct lineup_seg *s;

    if (l->n == UINT16_MAX)
        return SQ_EFULL;
    if (!GROW(l->v, l->n, l->cap, 16))
        return SQ_ENOMEM;
    s = &l->v[l->n++];
    *s = (struct lineup_seg){ .first = l->joined, .node = (uint16_t)node, .ahead = (uint32_t)l->waiting };
    segq_init(&s->q, &l->pool);
    return 0;
}

int lineup_join(struct lineup *l, unsigned node, uint16_t *seg, uint32_t *order)
{
    struct lineup_seg *s;
    uint32_t number;
    int rc = lineup_tail(l) == UINT_MAX ? open_next(l, node) : 0;

    if (rc < 0)
        return rc;
    s = &l->v[l->n - 1];
    if (segq_append(&s->q, 0, &number) < 0)
        return SQ_ENOMEM;
    if (s->q.end >= l->capacity)
        segq_seal(&s->q);
    *seg = (uint16_t)(l->n - 1);
    *order = l->joined++;
    assert(*order == s->first + number);
    l->waiting++;
    return 0;
}

uint32_t lineup_place(const struct lineup *l, unsigned seg, uint32_t order)
{
    const struct lineup_seg *s = &l->v[seg];

    return s->ahead + segq_rank(&s->q, order - s->first) + 1;
}

bool lineup_waits(const struct lineup *l, unsigned seg, uint32_t order)
{
    return segq_is_alive(&l->v[seg].q, order - l->v[seg].first);
}

void lineup_drop(struct lineup *l, unsigned seg, uint32_t order, enum dead why)
{
    if (segq_drop(&l->v[seg].q, order - l->v[seg].first, why))
        l->waiting--;
}

uint32_t lineup_pop(struct lineup *l, unsigned seg, uint32_t n, uint32_t *out)
{
    struct lineup_seg *s = &l->v[seg];
    uint32_t got = segq_pop(&s->q, n < LINEUP_POP_MAX ? n : LINEUP_POP_MAX, out);

    for (uint32_t i = 0; i < got; i++)
        out[i] += s->first;
    l->waiting -= got;
    return got;
}

void lineup_settle(struct lineup *l)
{
    uint32_t ahead = 0;

    while (l->head < l->n && l->v[l->head].q.sealed && l->v[l->head].q.waiting == 0)
        l->head++;
    for (uint32_t i = l->head; i < l->n; i++) {
        segq_settle(&l->v[i].q);
        l->v[i].ahead = ahead;
        ahead += l->v[i].q.waiting;
    }
}

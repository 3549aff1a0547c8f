/* segq_draw.c: the line of early ones gets its order: slot by slot to another place, dead
 * ones, too, so that what each of them died of is still known. */
#include "segment/line/segq_draw.h"

#include <stdlib.h>
#include <string.h>

#define ALIVE 0x100u

/* The contents of each slot; slots that were never given are DEAD_UNKNOWN. */
static uint16_t *read_slots(const struct segq *q, uint32_t n)
{
    uint16_t *v = calloc(n, sizeof(*v));

    for (uint32_t i = 0; v != NULL && i < n && i < q->end; i++) {
        const struct block *b = q->block[i >> BLOCK_SHIFT];
        uint32_t slot = i & (BLOCK_SLOTS - 1);

        if (b == NULL)
            v[i] = q->died_of[i >> BLOCK_SHIFT];
        else
            v[i] = (uint16_t)(b->idle[slot] | (block_is_alive(b, slot) ? ALIVE : 0));
    }
    return v;
}

/* All blocks are there; what is taken goes on a list first, so that all or none is. */
static int fill_blocks(struct segq *q, uint32_t n)
{
    uint32_t blocks = (n + BLOCK_SLOTS - 1) >> BLOCK_SHIFT, missing = blocks - q->n_blocks;

    for (uint32_t b = 0; b < q->n_blocks; b++)
        missing += q->block[b] == NULL;
    if (segq_reserve(q, missing << BLOCK_SHIFT) < 0)
        return SQ_ENOMEM;
    for (uint32_t b = 0; b < blocks; b++) {
        if (b < q->n_blocks && q->block[b] != NULL)
            continue;
        q->block[b] = q->reserve;
        q->reserve = q->reserve->next;
        q->n_reserve--;
    }
    q->n_blocks = blocks;
    segq_unreserve(q);
    return 0;
}

static void write_block(struct segq *q, uint32_t b, uint32_t n, const uint16_t *slots,
                        const uint32_t *number)
{
    struct block *k = q->block[b];

    memset(k->alive, 0, sizeof(k->alive));
    for (uint32_t i = 0, at = b << BLOCK_SHIFT; i < BLOCK_SLOTS && at < n; i++, at++) {
        k->idle[i] = (uint8_t)slots[number[at]];
        if (slots[number[at]] & ALIVE)
            k->alive[i >> 6] |= 1ull << (i & 63);
    }
    q->sub[b] = bits512_subs(k->alive);
    q->count[b] = (uint16_t)bits512_count(k->alive);
    q->died_of[b] = DEAD_UNKNOWN;
}

int segq_permute(struct segq *q, uint32_t n, const uint32_t *number)
{
    uint16_t *slots = read_slots(q, n);

    if (slots == NULL || fill_blocks(q, n) < 0) {
        free(slots);
        return SQ_ENOMEM;
    }
    q->end = n;
    q->head = 0;
    for (uint32_t b = 0; b < q->n_blocks; b++)
        write_block(q, b, n, slots, number);
    free(slots);
    segq_free_dead(q);
    return 0;
}

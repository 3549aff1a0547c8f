/* rows.c: from slots of a host to bits and numbers of a name, and these into frames. */
#include "segment/replica/rows.h"

#include <assert.h>
#include <string.h>

#include "common/wire/replica_bytes.h"

#define LINE_BYTES  64
#define RUN_BYTES   15     /* bytes of three varints */
#define AS_LINE     24     /* more deaths than that in a block: its bits are shorter */
#define FRAME_BYTES 60000u /* bytes of rows; a frame is below 64 KiB */
#define ROW_BYTES   48u    /* at most, without what is in `dead` and `lines` */
#define LINES_LEAST 4096u  /* less room: the next frame */

uint32_t name_slot(struct name_of n)
{
    return n.r != NULL ? n.r->base : 0;
}

uint32_t name_slot_end(struct name_of n)
{
    return n.r != NULL ? n.r->base + n.r->count : n.host->b.joined;
}

uint32_t name_end(struct name_of n)
{
    return n.r != NULL ? n.r->bits : n.host->b.joined;
}

static uint32_t number_at(struct name_of n, uint32_t slot)
{
    assert(slot >= name_slot(n) && slot < name_slot_end(n));
    return n.r != NULL ? reloc_number(n.r, slot - n.r->base) : slot;
}

uint32_t name_head(struct name_of n)
{
    uint32_t slot = segq_next(&n.host->b.q, name_slot(n));

    return slot < name_slot_end(n) ? number_at(n, slot) : name_end(n);
}

uint32_t name_rank(struct name_of n)
{
    const struct segq *q = &n.host->b.q;
    uint32_t slot = name_slot(n), b = slot >> BLOCK_SHIFT;

    assert(q->stale == SEGQ_NONE);
    if (b < q->head)
        return 0; /* tags there are old */
    if (b >= q->n_blocks)
        return q->waiting;
    return q->block[b] != NULL ? segq_rank(q, slot) : q->tag[b];
}

/* ---- lines ------------------------------------------------------------------------------ */

static void bits_of_host(const struct segq *q, uint32_t block, uint64_t bits[BITS512_WORDS])
{
    const struct block *k = block < q->n_blocks ? q->block[block] : NULL;

    if (k != NULL)
        memcpy(bits, k->alive, LINE_BYTES);
    else
        memset(bits, 0, LINE_BYTES);
}

static void bits_of_absorbed(struct name_of n, uint32_t block, uint64_t bits[BITS512_WORDS])
{
    uint32_t word = block * BITS512_WORDS, slot = n.r->base + reloc_rank(n.r, block << BLOCK_SHIFT);

    memset(bits, 0, LINE_BYTES);
    for (unsigned w = 0; w < BITS512_WORDS && word + w < reloc_words(n.r->bits); w++)
        for (uint64_t m = n.r->alive[word + w]; m != 0; m &= m - 1, slot++)
            if (segq_is_alive(&n.host->b.q, slot))
                bits[w] |= m & -m;
}

enum line { LINE_DEAD, LINE_FULL, LINE_MIXED };

static enum line line_of(struct name_of n, uint32_t end, uint32_t block,
                         uint64_t bits[BITS512_WORDS])
{
    uint32_t first = block << BLOCK_SHIFT;
    unsigned given = end - first < BITS512_N ? end - first : BITS512_N;
    uint64_t any = 0, missing = 0;

    if (n.r != NULL)
        bits_of_absorbed(n, block, bits);
    else
        bits_of_host(&n.host->b.q, block, bits);
    for (unsigned w = 0; w < BITS512_WORDS; w++) {
        bits[w] &= bits512_below(w, given); /* slots above are of the absorbed */
        any |= bits[w];
        missing |= bits[w] ^ bits512_below(w, given);
    }
    return any == 0 ? LINE_DEAD : missing == 0 ? LINE_FULL : LINE_MIXED;
}

/* A run is put when it is known: its varints go before its bits. */
struct runs {
    uint8_t *p, *end;
    uint32_t next, first, full, n;
    uint64_t *bits; /* bits of the run at hand; room for all that fit */
};

static void runs_close(struct runs *x)
{
    if (x->full + x->n == 0)
        return;
    x->p = lines_put(x->p, &x->next, x->first, x->full, x->n);
    memcpy(x->p, x->bits, (size_t)x->n * LINE_BYTES);
    x->p += (size_t)x->n * LINE_BYTES;
    x->full = x->n = 0;
}

static void runs_add(struct runs *x, uint32_t block, enum line kind,
                     const uint64_t bits[BITS512_WORDS])
{
    if (block != x->first + x->full + x->n || (kind == LINE_FULL && x->n > 0))
        runs_close(x);
    if (x->full + x->n == 0)
        x->first = block;
    if (kind == LINE_FULL)
        x->full++;
    else
        memcpy(x->bits + (size_t)x->n++ * BITS512_WORDS, bits, LINE_BYTES);
}

static bool runs_fit(const struct runs *x)
{
    return (size_t)(x->end - x->p) >= (size_t)(x->n + 1) * LINE_BYTES + 2 * RUN_BYTES;
}

static bool runs_begin(struct runs *x, size_t room, struct arena *mem)
{
    uint8_t *p = arena_alloc(mem, room);

    *x = (struct runs) { .p = p, .end = p + room, .bits = arena_alloc(mem, room) };
    return p != NULL && x->bits != NULL;
}

static void runs_end(struct runs *x, const uint8_t *from, struct replica_row *row)
{
    runs_close(x);
    assert(x->p <= x->end);
    row->lines = from;
    row->n_lines = (uint32_t)(x->p - from);
}

/* Sets row->lines: what lives from `block` on, in at most `room` bytes (>= 128); returns the block
 * to go on with, or the number of blocks. row->head and end are set. UINT32_MAX: no memory. */
static uint32_t rows_lines(struct name_of n, struct replica_row *row, uint32_t block, size_t room,
                           struct arena *mem)
{
    uint32_t blocks = (uint32_t)(((uint64_t)row->end + BITS512_N - 1) >> BITS512_SHIFT);
    const uint8_t *from;
    struct runs x;

    if (row->head == row->end)
        return blocks;
    if (block < row->head >> BITS512_SHIFT)
        block = row->head >> BITS512_SHIFT;
    room = u64_min(room, (blocks - block) * (uint64_t)(LINE_BYTES + RUN_BYTES) + 2 * RUN_BYTES);
    if (!runs_begin(&x, room, mem))
        return UINT32_MAX;
    from = x.p;
    for (; block < blocks && runs_fit(&x); block++) {
        uint64_t bits[BITS512_WORDS];
        enum line kind = line_of(n, row->end, block, bits);

        if (kind != LINE_DEAD)
            runs_add(&x, block, kind, bits);
    }
    runs_end(&x, from, row);
    return block;
}

/* ---- the dead --------------------------------------------------------------------------- */

/* Sets row->dead and lines: the slots that died, of rising order, all of them of this name. At most
 * 5 bytes each. false: no memory. */
static bool rows_died(struct name_of n, struct replica_row *row, const uint32_t *slot,
                      uint32_t n_slots, struct arena *mem)
{
    uint8_t *dead = arena_alloc(mem, (size_t)n_slots * DEAD_BYTES_MAX), *p = dead;
    uint32_t *number = arena_array(mem, n_slots, sizeof(*number));
    uint32_t next = row->head, k = 0;
    const uint8_t *from;
    struct runs x;

    if (dead == NULL || number == NULL ||
        !runs_begin(&x, (n_slots / AS_LINE + 1) * (size_t)(LINE_BYTES + 2 * RUN_BYTES), mem))
        return false;
    from = x.p;
    for (uint32_t i = 0; i < n_slots; i++) {
        number[k] = number_at(n, slot[i]);
        assert(k == 0 || number[k] > number[k - 1]);
        k += number[k] >= row->head;
    }
    for (uint32_t i = 0, j; i < k; i = j) {
        uint32_t block = number[i] >> BITS512_SHIFT;
        uint64_t bits[BITS512_WORDS];

        for (j = i; j < k && number[j] >> BITS512_SHIFT == block; j++)
            ;
        if (j - i > AS_LINE && line_of(n, row->end, block, bits) != LINE_DEAD) {
            runs_add(&x, block, LINE_MIXED, bits);
            continue;
        }
        for (; i < j; i++)
            p = dead_put(p, &next, number[i]);
    }
    runs_end(&x, from, row);
    row->dead = dead;
    row->n_dead = (uint32_t)(p - dead);
    return true;
}

/* ---- frames ----------------------------------------------------------------------------- */

void frame_close(struct build *b)
{
    bool empty = b->m.n + b->m.n_pace + b->m.n_gone == 0 && b->m.flags == 0;

    for (uint32_t i = 0; !empty && i < b->t->n_peers; i++) {
        const struct peer *p = &b->t->peers[i];

        if (b->to != NULL ? p == b->to : p->listener.state >= LISTENS_BEGUN)
            outbox_add(b->out, p->no, MSG_REPLICA)->replica = b->m; /* in sequence: encoded once */
    }
    if (!empty && b->to == NULL)
        b->said = true;
    if (!empty && b->to != NULL && b->frames > 0)
        b->frames--;
    b->t->n.replica_rows += b->m.n;
    b->m = (struct msg_replica) { 0 };
    b->bytes = 0;
}

/* An array of the frame at hand, of n elements, gets one more; NULL: no memory. */
#define FRAME_ADD(b, v, n)                                                               \
    ({                                                                                   \
        if ((n) == 0)                                                                    \
            (v) = arena_array(&(b)->out->mem, (b)->rows, sizeof(*(v)));                  \
        (b)->failed = (b)->failed || (v) == NULL;                                        \
        (b)->bytes += ROW_BYTES;                                                         \
        (v) != NULL ? &(v)[(n)++] : NULL;                                                \
    })

/* True: no router hears what is said to all. */
static bool is_mute(const struct build *b)
{
    return b->to == NULL && !b->heard;
}

static void make_room(struct build *b, size_t bytes)
{
    if (b->m.n == b->rows || b->m.n_pace == b->rows || b->m.n_gone == b->rows ||
        b->bytes + bytes > FRAME_BYTES)
        frame_close(b);
}

static void add(struct build *b, const struct replica_row *row)
{
    struct replica_row *v = FRAME_ADD(b, b->m.v, b->m.n);

    if (v != NULL)
        *v = *row;
    b->bytes += row->n_dead + row->n_lines;
}

void frame_row(struct build *b, struct name_of n, const struct replica_row *row,
               const uint32_t *died, uint32_t n_died)
{
    struct replica_row r = *row;

    if (is_mute(b))
        return;
    make_room(b, ROW_BYTES + (size_t)n_died * DEAD_BYTES_MAX);
    if ((r.flags & REPLICA_ASK) == 0 && n_died > 0 &&
        !rows_died(n, &r, died, n_died, &b->out->mem))
        b->failed = true;
    else
        add(b, &r);
}

uint32_t frame_whole(struct build *b, struct name_of n, const struct replica_row *row,
                     uint32_t block)
{
    uint32_t blocks = (uint32_t)(((uint64_t)row->end + BITS512_N - 1) >> BITS512_SHIFT), next;

    for (; !is_mute(b); block = next) {
        struct replica_row r = *row;

        make_room(b, 2 * ROW_BYTES + LINES_LEAST);
        if (b->to != NULL && b->frames == 0)
            return block;
        frame_pace(b, n.host->queue, n.host->lane);
        next = rows_lines(n, &r, block, FRAME_BYTES - b->bytes - ROW_BYTES, &b->out->mem);
        if (next == UINT32_MAX) {
            b->failed = true;
            break;
        }
        r.flags |= (block == 0 ? REPLICA_NEW : 0) | (next < blocks ? REPLICA_MORE : 0);
        add(b, &r);
        if (next >= blocks)
            break;
        assert(next > block);
    }
    return FRAME_ALL;
}

void frame_pace(struct build *b, const struct queue *q, unsigned lane)
{
    const struct pace *p = &q->pace[lane];
    struct pace_entry *e;

    if (is_mute(b))
        return;
    for (uint32_t i = 0; i < b->m.n_pace; i++)
        if (b->m.pace[i].queue == q->id && b->m.pace[i].lane == lane)
            return;
    make_room(b, ROW_BYTES);
    e = FRAME_ADD(b, b->m.pace, b->m.n_pace);
    if (e != NULL)
        *e = (struct pace_entry) { q->id, (uint8_t)lane, p->min_ms, p->max_ms, p->us_per_place, 0 };
}

void frame_gone(struct build *b, seg_id name)
{
    seg_id *v;

    if (is_mute(b))
        return;
    make_room(b, ROW_BYTES);
    v = FRAME_ADD(b, b->m.gone, b->m.n_gone);
    if (v != NULL)
        *v = name;
}

void frame_stamp(struct build *b)
{
    struct listener *l = &b->to->listener;

    b->m.stamp_ms = b->t->now.now_ms;
    b->m.echo_ms = l->echo_ms;
    b->m.seen = l->seen;
    outbox_add(b->out, b->to->no, MSG_REPLICA)->replica = b->m;
    l->echo = false;
    l->stamp_ms = b->t->now.now_ms;
    b->m = (struct msg_replica) { 0 };
}

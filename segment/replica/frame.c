/* frame.c: see frame.h. */
#include "segment/replica/frame.h"

#include <assert.h>

#include "common/wire/replica_bytes.h"

#define FRAME_BYTES 60000u /* bytes of rows; a frame is below 64 KiB */
#define FRAME_ROWS  512u
#define ROW_BYTES   48u    /* at most, without what is in `dead` and `lines` */
#define LINES_LEAST 4096u  /* less room: the next frame */

static bool goes_to(const struct build *b, const struct peer *p)
{
    return b->to != NULL ? p == b->to : p->listener.state >= LISTENS_BEGUN;
}

void frame_close(struct build *b)
{
    bool empty = b->m.n + b->m.n_pace + b->m.n_gone == 0 && b->m.flags == 0;

    for (uint32_t i = 0; !empty && i < b->t->n_peers; i++)
        if (goes_to(b, &b->t->peers[i])) /* in sequence: encoded once */
            outbox_add(b->out, b->t->peers[i].no, MSG_REPLICA)->replica = b->m;
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
            (v) = arena_array(&(b)->out->mem, FRAME_ROWS, sizeof(*(v)));                 \
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
    if (b->m.n == FRAME_ROWS || b->m.n_pace == FRAME_ROWS || b->m.n_gone == FRAME_ROWS ||
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
        *e = (struct pace_entry) { q->id, (uint8_t)lane, p->min_ms, p->max_ms, p->us_per_place };
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

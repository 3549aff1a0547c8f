/* records.h: the records that the manager must not lose, as key and JSON text:
 *
 *   meta          format, epoch, and the next free ids (segments: an upper bound)
 *   node/NAME     number, draining; addresses and pass key, for routers that come first
 *   queue/NAME    id, version, definition; deleted [until when it can be restored, its
 *                 state before]
 *   chain/ID      per lane: segments in order [id, node, state, capacity, kind, mark, of
 *                 the pre-queue, how many drew places, the seed of their draw],
 *                 aliases [from, to, capacity, mark], the longest told interval;
 *                 flushed, lost [how many were inside then, until when]
 *   directory     the nodes that keep the directory of subjects (nodes/directory.c), and its
 *                 version
 *   sched/ID      which of its opening and closing times have come, the seed of its draw
 *   mark/ID/LANE/N  releases [segment, from, end, wall clock, again] (state/marks.c)
 *
 * The rest is rebuilt from what the nodes report. What a newer version adds to a record, or as
 * a record, is passed over (and gone when we write it anew); what we could not understand at
 * all has another STORE_FORMAT, and is refused.
 *
 * One list of fields per row is written and read (json_row.h). */
#ifndef SEGQ_QUEUEMNG_STATE_RECORDS_H
#define SEGQ_QUEUEMNG_STATE_RECORDS_H

#include "common/ticket/draw.h"
#include "queuemng/state/json_row.h"

struct mng;
struct mnode;
struct mqueue;

struct stored_meta {
    uint32_t format; /* the first version stored none: 1 */
    uint64_t epoch, next_seg;
    queue_id next_queue;
    node_no next_node;
    uint64_t cluster_id; /* 0: an older version stored none */
};

struct stored_queue {
    queue_id id;
    uint64_t version;
    int64_t deleted_until_ms; /* 0: it is not deleted */
    uint32_t deleted_state;   /* enum def_state: before */
};

struct stored_seg {
    seg_id id;
    node_no node;
    uint8_t state, kind;
    uint32_t capacity, mark_end;
    bool early;
    uint32_t drawn;          /* numbers that drew their places; 0: not yet */
    char seed[DRAW_HEX + 1]; /* ""; of the draw */
    uint64_t moves_from;     /* see struct mseg */
};

extern const struct json_row meta_row;  /* struct stored_meta */
extern const struct json_row node_row;  /* struct mnode */
extern const struct json_row queue_row, deleted_row; /* struct stored_queue, its two parts */
extern const struct json_row seg_row;   /* struct stored_seg */
extern const struct json_row alias_row; /* struct malias */
extern const struct json_row unreported_row; /* struct munreported */
extern const struct json_row mark_row;  /* struct mark_row */
extern const struct json_row sched_row; /* struct schedule, but for its draws */
extern const struct json_row draw_row;  /* struct schedule_draw */

/* Into the store with the end of this step. Epoch and next free ids: */
void meta_put(struct mng *m);
void node_put(struct mng *m, const struct mnode *n);
/* The definition of a queue. */
void def_put(struct mng *m, const struct mqueue *q);
/* The chains of a queue. */
void chain_put(struct mng *m, const struct mqueue *q);
/* The opening hours of a queue, as far as they have come. */
void sched_put(struct mng *m, const struct mqueue *q);

#endif

/* records.h: the records that the manager must not lose, as key and JSON text:
 *
 *   meta          format, epoch, and the next free ids (segments: an upper bound)
 *   node/NAME     number, draining; addresses and pass key, for routers that come first
 *   queue/NAME    id, version, definition; deleted [until when it can be restored, its
 *                 state before]
 *   chain/ID      per lane: segments in order [id, node, state, capacity, kind, mark, of
 *                 the pre-queue, how many drew places, the seed of their draw, earlier moves,
 *                 base], aliases [from, to, capacity, mark, base], the longest told interval,
 *                 how many ordinals were given;
 *                 flushed, lost [how many were inside then, until when]
 *   directory     the nodes that keep the directory of subjects (core/segment_nodes.c), and its
 *                 version
 *   sched/ID      which of its opening and closing times have come, the seed of its draw; moved: tickets
 *                 that change their device (core/orders.h)
 *   mark/ID/LANE/N  releases [segment, from, end, wall clock, again] (state/marks.c)
 *
 * The rest is rebuilt from what the nodes report. What a newer version adds to a record, or as
 * a record, is passed over (and gone when we write it anew); what we could not understand at
 * all has another STORE_FORMAT, and is refused.
 *
 * One list of fields per row is written and read, so that what is written and what is read cannot
 * disagree. A row is an object with named members, or an array whose columns stand in the order of the
 * list. Members and columns that the list does not have are passed over. */
#ifndef SEGQ_QUEUEMNG_STATE_RECORDS_H
#define SEGQ_QUEUEMNG_STATE_RECORDS_H

#include "common/config/cfg.h"
#include "common/ticket/draw.h"

struct json_t;

enum json_row_kind {
    ROW_UINT, /* unsigned, of 1, 4 or 8 bytes; its value is below 2^63 */
    ROW_TIME, /* int64_t */
    ROW_FLAG, /* bool, as 0 or 1 */
    ROW_BOOL, /* bool, as false or true */
    ROW_TEXT, /* char[]; a longer text is refused */
    ROW_HEX,  /* uint8_t[] */
    ROW_KEYS, /* struct pass_others, as hex */
};

struct json_row_field {
    const char *name; /* name of an array's column: for readers of the list */
    enum json_row_kind kind;
    bool optional; /* may be missing; then the struct's field stays as it is */
    size_t at, size;
};

struct json_row {
    const struct json_row_field *field;
    size_t n;
    bool array;
};

#define ROW_FIELD(name_, kind_, type, member) \
    { .name = name_, .kind = kind_, .at = offsetof(type, member), \
      .size = sizeof(((type *)0)->member) }
#define ROW_OPTIONAL(name_, kind_, type, member) \
    { .name = name_, .kind = kind_, .at = offsetof(type, member), \
      .size = sizeof(((type *)0)->member), .optional = true }
#define ROW_LIST_(is_array, ...) \
    { .field = (const struct json_row_field[]){ __VA_ARGS__ }, .array = is_array, \
      .n = sizeof((struct json_row_field[]){ __VA_ARGS__ }) / sizeof(struct json_row_field) }
#define ROW_OBJECT(...) ROW_LIST_(false, __VA_ARGS__)
#define ROW_ARRAY(...)  ROW_LIST_(true, __VA_ARGS__)

/* NULL: no memory. */
struct json_t *json_row_write(const struct json_row *r, const void *data);
/* n of them, `size` bytes each, as an array of rows. */
struct json_t *json_rows_write(const struct json_row *r, const void *v, size_t n, size_t size);
/* SQ_EPROTO: j (NULL ok) is no such row; the struct may be half filled. */
SQ_CHECK int json_row_read(const struct json_row *r, const struct json_t *j, void *data);

/* Reads what is stored of a definition (def_keys_json()) under `key`; def is zeroed memory, and the
 * caller's to clear, whatever comes. A key of a newer version is passed over. */
SQ_CHECK int def_from_json(void *def, size_t size, const struct cfg_key *keys,
                           const struct json_t *j, const char *key, struct err *e);

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
    uint64_t base;           /* likewise */
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

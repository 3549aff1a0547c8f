/* jrec.h: what a segment node writes down: one record per change of its state. Pure.
 *
 * A record says what changed, not how it looks afterwards: replaying all of them in order
 * gives the same table. Consecutive joins are one record; so are all tickets of one
 * release. What is not written down: when somebody was last seen, how often to poll,
 * deadlines (after a replay everybody gets the whole of theirs).
 *
 * A snapshot is records, too: SNAP, the rules, then each segment as one SEG with its
 * BLOCKs, sessions, subjects and tables, then SNAP_END. It is read before all changes that
 * were written down since it was begun, and a segment is in it as it was when its turn
 * came: then MARK was written among the changes. What is said of a segment before its MARK
 * is in the snapshot already (or the segment was removed meanwhile, and is in neither).
 *
 * Encoded: the kind (by whoever stores it), then every number as a varint (7 bits a byte,
 * least first), every bitmap as it is in memory (little endian). Kinds and members are
 * never changed; what is new gets a new kind, and a kind that is not known is refused. */
#ifndef SEGQ_JREC_H
#define SEGQ_JREC_H

#include "common/base/buf.h"
#include "common/ticket/draw.h"
#include "common/ticket/rules.h"
#include "common/base/err.h"
#include "segment/line/block.h"
#include "segment/line/ticket_idx.h"

enum jrec_kind {
    JREC_EPOCH = 1,    /* epoch: the manager that is obeyed */
    JREC_RULES = 2,    /* rules */
    JREC_OPEN = 3,     /* open: a new segment */
    JREC_UNIT = 4,     /* set: its idle unit, ms */
    JREC_SEAL = 5,     /* set: ordered (a full one seals itself); 0 or its successor */
    JREC_NEXT = 6,     /* set: its successor */
    JREC_AHEAD = 7,    /* set */
    JREC_REMOVE = 8,   /* set */
    JREC_JOIN = 9,     /* run: these numbers joined; the last may have filled it */
    JREC_SUBJECT = 10, /* subject: of a ticket that is there */
    JREC_DROP = 11,    /* run: these slots, all alive, died of `why` */
    JREC_POP = 12,     /* pop */
    JREC_SESSION = 13, /* session: its new state; FREE: forgotten */
    JREC_ALIAS = 14,   /* set: its tickets are in segment n now */
    JREC_FINAL = 15,   /* move: its copy is complete, only MOVE_END decides */
    JREC_FREED = 16,   /* set: that move was aborted */
    JREC_ABSORB = 17,  /* set: sessions, subjects and tables that follow are absorbed */
    JREC_RELOC = 18,   /* reloc */
    JREC_ABSORBED = 19, /* set: with n tickets, and from now on they are here */
    JREC_SNAP = 20,     /* set: of n segments */
    JREC_SEG = 21,      /* seg: instead of what is known of it */
    JREC_BURIED = 22,   /* run: of its blocks, freed; why */
    JREC_BLOCK = 23,    /* block */
    JREC_SEG_END = 24,  /* set */
    JREC_SNAP_END = 25, /* nothing; also among the changes, after the last MARK */
    JREC_MARK = 26,     /* set */
    JREC_HOLLOW = 27,   /* hollow: of one that was opened to be found again; after OPEN and
                         * all RELEASED: without it they are void */
    JREC_RELEASED = 28, /* released: of a hollow one, by those who had it before */
    JREC_BACK = 29,     /* run: these numbers, all unknown, wait again */
    JREC_SOLID = 30,    /* set: whoever is still unknown is dead */
    JREC_KEPT = 31,     /* set: the manager has stored its releases */
    JREC_UNKEPT = 32,   /* mark: in snapshots only */
    JREC_STORE = 33,    /* set: of the managers that are obeyed (msg_node_ok) */
    JREC_EXTEND = 34,   /* extend: of a session that is there */
    JREC_MOVED = 35,    /* moved; of releases up to 0.1: read, not written, and its number is
                         * never given to another kind. 36 to 39 were never used */
    JREC_EARLY = 40,    /* set: its people have no places before the draw; nobody joins from
                         * this time of the wall clock on; 0: until it is sealed by order */
    JREC_DRAW = 41,     /* draw: now they have; n 0: as they came. In a snapshot, and of a
                         * hollow one: it was before */
    JREC_NKINDS /* one more than the last: kinds stand in rising order */
};

struct jrec_text { /* borrowed, not 0-terminated */
    const char *p;
    uint32_t n;
};

struct jrec_set {
    uint64_t n;
};

struct jrec_epoch {
    uint64_t epoch;
    struct jrec_text manager;
};

struct jrec_rules {
    queue_id queue;
    uint32_t idle_ms[CLIENT_NCLASSES];
    NODE_RULES(NODE_RULES_MEMBER)
    uint32_t n_lanes;
    struct jrec_text name, issuer, lanes[LANES_MAX];
};

struct jrec_open {
    queue_id queue;
    uint8_t lane, kind; /* enum open_kind */
    uint32_t capacity;
    uint64_t ahead;
};

struct jrec_run {
    uint32_t first, n;
    uint8_t why; /* enum dead */
};

struct jrec_subject {
    struct ticket_id id;
    uint32_t issued_s;
    uint8_t client;
    uint64_t hash;
    struct jrec_text text;
};

struct jrec_pop { /* the first ones of each kind; `n` is what the tick was answered */
    uint64_t tick;
    uint32_t n, returning, waiting;
    int64_t at_ms; /* wall clock, recorded by the manager */
};

struct jrec_session {
    struct ticket_id id;
    uint8_t state, reason; /* enum session_state, enum gone_reason */
    int64_t at_ms;         /* of its release; 0: as it was */
};

struct jrec_extend {
    struct ticket_id id;
    int64_t until_s;
};

struct jrec_moved { /* to another lane */
    struct ticket_id id, to;
    uint32_t slot; /* where it waited */
};

struct jrec_hollow {
    uint32_t mark_end, for_ms;
};

struct jrec_released { /* of the segment itself */
    uint32_t first, n;
    int64_t at_ms;
};

struct jrec_mark {
    seg_id src; /* as tokens name it */
    uint32_t first, n;
    uint8_t again;
    int64_t at_ms;
    uint32_t held; /* in the first one: struct marks */
};

struct jrec_move {
    uint64_t move;
    seg_id to;
};

struct jrec_draw {
    uint32_t n;
    uint8_t seed[DRAW_SEED];
};

#define JREC_WORDS 8192u
struct jrec_reloc { /* a part of a table; `words` are borrowed and may be unaligned */
    seg_id src;
    uint32_t base, bits, at, n_words; /* at: words of the parts before it */
    const void *words;
};

struct jrec_seg {
    struct jrec_open open;
    uint32_t unit_ms, joined, end, popped_end, last_n;
    uint8_t sealed;
    seg_id next;
    uint64_t last_tick, popped, no_shows, expired, left;
};

struct jrec_block {
    uint32_t index;
    uint64_t alive[BLOCK_WORDS];
    uint64_t why[2][BLOCK_WORDS]; /* bits 0 and 1 of what the dead died of */
};

struct jrec {
    uint8_t kind; /* enum jrec_kind */
    seg_id seg;   /* the segment it is about, or 0 */
    union {
        struct jrec_set set;
        struct jrec_epoch epoch;
        struct jrec_rules rules;
        struct jrec_open open;
        struct jrec_run run;
        struct jrec_subject subject;
        struct jrec_pop pop;
        struct jrec_session session;
        struct jrec_extend extend;
        struct jrec_moved moved;
        struct jrec_move move;
        struct jrec_reloc reloc;
        struct jrec_seg s;
        struct jrec_block block;
        struct jrec_hollow hollow;
        struct jrec_released released;
        struct jrec_mark mark;
        struct jrec_draw draw;
    };
};

/* Appends all but its kind. Without memory b->failed is set, as always. */
void jrec_encode(const struct jrec *r, struct buf *b);
/* Bytes of the record at p (its texts and bitmaps stay there), or SQ_EPROTO, or
 * SQ_EUNKNOWN: a kind that this program does not know. */
SQ_CHECK int64_t jrec_decode(uint8_t kind, const uint8_t *p, size_t n, struct jrec *r);
const char *jrec_name(unsigned kind); /* never NULL */

#endif

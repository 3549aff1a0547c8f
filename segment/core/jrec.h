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
 * Encoded: the kind (by the caller), then every number as a varint (7 bits a byte,
 * least first), every bitmap as it is in memory (little endian). Kinds and members are
 * never changed; what is new gets a new kind, and a kind that is not known is refused. */
#ifndef SEGQ_SEG_CORE_JREC_H
#define SEGQ_SEG_CORE_JREC_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/ticket/draw.h"
#include "common/ticket/pass.h"
#include "common/wire/msg_router_segment.h"
#include "common/wire/msg_segment_manager.h"
#include "segment/line/block.h"
#include "segment/line/ticket_idx.h"

/* name, number in the journal (never given to another), word for people, member of struct jrec:
 * what it says. In rising order. */
#define JREC_KINDS(X)                                                                    \
    X(EPOCH, 1, "epoch", epoch)      /* the manager that is obeyed */                    \
    X(RULES, 2, "rules", rules)                                                          \
    X(OPEN, 3, "open", open)         /* a new segment */                                 \
    X(UNIT, 4, "unit", set)          /* idle unit, ms */                                 \
    X(SEAL, 5, "seal", set)          /* by order (a full one seals itself): successor, or 0 */ \
    X(NEXT, 6, "next", set)          /* successor */                                     \
    X(AHEAD, 7, "ahead", set)                                                            \
    X(REMOVE, 8, "remove", set)                                                          \
    X(JOIN, 9, "join", run)          /* numbers that joined; the last may have filled it */ \
    X(SUBJECT, 10, "subject", subject) /* a ticket that is there */                      \
    X(DROP, 11, "drop", run)         /* slots, all alive, that died of `why` */          \
    X(POP, 12, "pop", pop)                                                               \
    X(SESSION, 13, "session", session) /* new state; FREE: forgotten */                  \
    X(ALIAS, 14, "alias", set)       /* tickets are in segment n now */                  \
    X(FINAL, 15, "final", move)      /* copy is complete, only MOVE_END decides */       \
    X(ABORTED, 16, "aborted", set)   /* the move */                                      \
    /* From here on absorbed: tables, sessions, subjects. Of no segment: what began so has no end. */ \
    X(ABSORB, 17, "absorb", set)                                                         \
    X(RELOC, 18, "reloc", reloc)                                                         \
    X(ABSORBED, 19, "absorbed", set) /* with n tickets: from now on they are here */     \
    X(SNAP, 20, "snap", set)         /* a snapshot of n segments */                      \
    X(SEG, 21, "seg", segment)       /* instead of what is known of it */                \
    X(FREED_BLOCKS, 22, "freed-blocks", run) /* blocks freed; why */                     \
    X(BLOCK, 23, "block", block)                                                         \
    X(SEG_END, 24, "seg-end", set)                                                       \
    X(SNAP_END, 25, "snap-end", set) /* also among the changes, after the last MARK */   \
    X(MARK, 26, "mark", set)                                                             \
    X(REBUILD, 27, "rebuild", rebuild) /* after OPEN and all RELEASED, which are void without */ \
    X(RELEASED, 28, "released", released) /* before its rebuild */                       \
    X(RESTORED, 29, "restored", run) /* numbers, all unknown, that wait again */         \
    X(REBUILT, 30, "rebuilt", set)   /* the numbers still unknown are dead */            \
    X(STORED, 31, "stored", set)     /* releases, by the manager */                      \
    X(UNSTORED, 32, "unstored", mark) /* in snapshots only */                            \
    X(CLUSTER, 33, "cluster", set)   /* cluster of the managers obeyed (msg_node_ok.store) */ \
    X(EXTEND, 34, "extend", extend)  /* a session that is there */                       \
    /* No places before the draw, and no joins from this time of the wall clock on (0:   \
     * until it is sealed by order). */                                                  \
    X(EARLY, 40, "early", set)                                                           \
    /* The draw, n 0: as they came. In a snapshot, or under rebuild: it was before. */   \
    X(DRAW, 41, "draw", draw)                                                           \
    /* The next numbers, that no waiting ticket gets. n 0, in a snapshot: so many (first) of \
     * its numbers were set aside, and nobody has them. */                               \
    X(ASIDE, 42, "aside", run)                                                           \
    X(ENTERED, 43, "entered", released) /* joined with numbers of these, and released */ \
    X(USED, 44, "used", used)        /* the pass of a session that is there */         \
    X(CONTACT, 45, "contact", contact) /* a ticket's, whole; without bytes and words: it has none */ \
    X(CONTACT_SAID, 46, "contact-said", contact) /* more words of one that is there; no bytes */

enum jrec_kind {
#define X(NAME, number, word, member) JREC_##NAME = number,
    JREC_KINDS(X)
#undef X
    JREC_NKINDS /* end of the kinds */
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

struct jrec_contact { /* segment/line/person.h */
    struct ticket_id id;
    uint8_t said;
    uint32_t claim_ms;
    struct jrec_text sealed;
};

struct jrec_pop { /* the first ones of each kind; `n` is what the tick was answered */
    uint64_t tick;
    uint32_t n, returning, waiting;
    int64_t at_ms; /* wall clock, recorded by the manager */
};

struct jrec_session {
    struct ticket_id id;
    uint8_t state, reason; /* enum session_state, enum gone_reason */
    int64_t at_ms;         /* moment of its release; 0: unchanged */
};

struct jrec_extend {
    struct ticket_id id;
    int64_t until_s;
};

struct jrec_used {
    struct ticket_id id;
    uint64_t used; /* struct session */
};

struct jrec_rebuild {
    uint32_t mark_end, for_ms;
};

struct jrec_released { /* a record of the segment itself */
    uint32_t first, n;
    int64_t at_ms;
};

struct jrec_mark {
    seg_id src; /* id in tokens */
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

struct jrec_segment {
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
        struct jrec_contact contact;
        struct jrec_pop pop;
        struct jrec_session session;
        struct jrec_extend extend;
        struct jrec_used used;
        struct jrec_move move;
        struct jrec_reloc reloc;
        struct jrec_segment segment;
        struct jrec_block block;
        struct jrec_rebuild rebuild;
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

/* msg_node_node.h: a part of msg.h: a copy on its way from one node to another: of a segment (numbers are
 * the source's own slot numbers), of a partition. Pure. Memory: msg.h. */
#ifndef SEGQ_COMMON_WIRE_MSG_NODE_NODE_H
#define SEGQ_COMMON_WIRE_MSG_NODE_NODE_H

#include "common/base/base.h"
#include "common/wire/msg_router_task.h"

struct msg_copy_begin {
    uint64_t move;
    seg_id from, to;
    uint32_t first; /* slots below are gone */
    uint32_t end;   /* end of the slots, one past the last */
    uint32_t joined;  /* end of the numbers of its own tokens (end - joined: absorbed) */
    uint32_t unit_ms; /* idle unit of this copy */
};

struct copy_block {
    uint32_t index;       /* slots index*512 .. index*512+511 */
    uint64_t alive[8];    /* bitmap */
    uint16_t n_left;      /* = popcount(alive) */
    const uint8_t *left;  /* per alive slot: idle units until it times out (0..127) */
};

struct msg_copy_chunk {
    uint64_t move;
    uint32_t seq; /* 1, 2, ... over chunk, touch and extra; acknowledged one by one */
    uint32_t n;
    struct copy_block *v;
};

struct touch_entry { /* a copied ticket was polled, left or timed out meanwhile */
    uint32_t number;
    uint8_t alive;
    uint8_t left; /* idle units */
};

struct msg_copy_touch {
    uint64_t move;
    uint32_t seq;
    uint32_t n;
    struct touch_entry *v;
};

struct session_rec { /* a released ticket; segment/line/session.h */
    seg_id seg;      /* the token's */
    uint32_t number;
    uint8_t state; /* enum session_state */
    uint8_t client;
    uint8_t reason;         /* enum gone_reason, if REVOKED */
    int64_t released_at_ms; /* wall */
    int64_t left_ms;        /* until its present state ends */
    int64_t until_s;        /* Unix seconds, if it was extended; 0: as the rules say */
    uint64_t used;          /* the use of its pass; 0: none */
};

struct reloc_rec { /* an earlier absorbed segment, relative to the source's alive tickets */
    seg_id seg;
    uint32_t base; /* how many of the source's frozen alive tickets are before its first */
    uint32_t bits; /* slots */
    uint32_t n_words;
    const uint64_t *alive; /* (bits + 63) / 64 words */
};

struct subject_rec {
    seg_id seg; /* the token's */
    uint32_t number;
    uint32_t issued_s;
    uint8_t client;
    uint8_t len;
    uint8_t joins, found; /* segment/line/person.h; found: 0 or 1 */
    uint64_t hash;
    const char *text;
};

struct contact_rec { /* segment/line/person.h */
    seg_id seg; /* the token's */
    uint32_t number;
    uint8_t said;
    uint16_t n_sealed;
    uint32_t claim_ms;
    const uint8_t *sealed;
};

struct msg_copy_extra { /* after the fence: all that is not bitmap */
    uint64_t move;
    uint32_t seq;
    uint32_t n_sessions, n_relocs, n_subjects, n_contacts;
    struct session_rec *sessions;
    struct reloc_rec *relocs;
    struct subject_rec *subjects;
    struct contact_rec *contacts; /* a node of before forgets them */
};

struct msg_copy_end {
    uint64_t move;
    uint32_t seq;
    uint32_t waiting; /* alive tickets: the target counts its own and compares */
    uint64_t ahead;   /* the source's: positions must not grow by the move */
};

struct msg_copy_ack {
    uint64_t move;
    uint32_t seq;
    bool refused;
    const char *why;
};

/* ---- which ticket has a subject: one place per person ----
 *
 * PROTOCOL.md, "One place per person".
 *
 * A subject is only ever its keyed hash, which has the queue in it (token.h). */

#define MSG_MEMBERS_MAX  1024 /* segment nodes of a cluster that keep the directory */
#define MSG_DIR_ROWS_MAX 4096 /* in one frame */

struct member_row {
    node_no no;
    const char *name, *addr;
};

/* Manager to segment nodes: their list. Each of them keeps a share of the directory. */
struct msg_members {
    uint64_t epoch;
    uint64_t version; /* another one for every other set of members; kept with the chains */
    node_no self;     /* the receiver */
    uint32_t n;
    struct member_row *v;
};

enum dir_ask { /* from the node with the ticket (the holder) to that of the share (the owner) */
    DIR_BEGIN, /* hash: a number of the holder's: all that it holds follows ... */
    DIR_PUT,   /* this subject has this ticket here */
    DIR_END,   /* ... and that was all. hash: as above; answered DIR_HEARD */
    DIR_CLAIM, /* may this subject have a ticket here? seg, number: in place of that one */
    DIR_FREE,  /* ticket is over, or not wanted */
    DIR_ECHO,  /* hash: any number; answered DIR_HEARD: all before it was heard */
    DIR_NASKS
};

enum dir_word { /* from an owner to a holder */
    DIR_GRANTED, /* yes: and nobody else may until the holder says DIR_FREE */
    DIR_EXISTS,  /* subject has this ticket */
    DIR_BUSY,    /* not certain now: ask again */
    DIR_HEARD,
    DIR_AGAIN,   /* begin anew: what comes from this link is not what was begun with */
    DIR_CHECK,   /* do you still hold it? If not: DIR_FREE */
    DIR_NWORDS
};

struct dir_row {
    uint64_t hash;
    seg_id seg; /* the token's, as all that follows; 0: no ticket yet */
    uint32_t number;
    uint32_t issued_s;
    uint8_t what; /* enum dir_ask in MSG_DIR, enum dir_word in MSG_DIR_ANS */
    uint8_t client;
};

struct msg_dir {
    uint64_t version; /* version of the members */
    uint32_t n;
    struct dir_row *v;
};

struct msg_dir_ans {
    uint64_t version;
    uint32_t n;
    struct dir_row *v;
};

/* A part of msg.h: a partition's copy from its node to the one that is to have it
 * next. Memory: msg.h. PROTOCOL.md section 26 says when it counts. */

#define PCOPY_SEED     16           /* bytes: NAMES_SEED */
#define PCOPY_DATA_MAX (960u << 10) /* bytes of a chunk: a body more than PCOPY_CHUNK_BYTES */

enum pcopy_state { /* numbers are those of the wire: never changed */
    PCOPY_GOES,    /* chunks up to seq are written */
    PCOPY_WHOLE,   /* all of it is here, and written */
    PCOPY_REFUSED, /* refused; what has come of it is gone */
    PCOPY_NSTATES
};

/* A copy begins, or begins anew. part_epoch, in all three: the one that the target is to have. */
struct msg_pcopy_begin {
    part_no part;
    uint64_t part_epoch;
    const char *match;
    uint8_t seed[PCOPY_SEED]; /* seed of its names */
    uint32_t max_tasks, tasks;
};

/* Records as in a journal (task/store/record.h), framed; kind 0: the body of the record behind it,
 * empty: one that is lost. */
struct msg_pcopy_chunk {
    part_no part;
    uint64_t part_epoch;
    uint32_t seq; /* from 1, without gaps */
    struct bytes_of data;
    bool last;      /* the source is fenced, and this is all */
    uint32_t tasks; /* then: so many there are */
};

struct msg_pcopy_ack {
    part_no part;
    uint64_t part_epoch;
    uint32_t seq; /* 0: of the begin */
    uint8_t state; /* enum pcopy_state */
};

#endif

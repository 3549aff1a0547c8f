/* msg.h: everything that processes say to one another, as plain structs. Pure.
 *
 * Cores read and write these; codec_*.c turns them into protobuf and back (the only
 * files that see generated headers). proto/PROTOCOL.md says what each message means and
 * what happens when it is lost. Every command is safe to repeat: it names its subject
 * (segment, tick, move) and carries the manager's epoch; the answer names them again, so
 * no answer can be taken for another's.
 *
 * Memory: pointers in a message are borrowed. A decoded message points into the arena
 * given to msg_decode(); a message in an outbox points into the outbox's arena.
 */
#ifndef SEGQ_MSG_H
#define SEGQ_MSG_H

#include "common/base.h"
#include "common/pass.h"

#define MSG_BATCH_MAX        256  /* place, append and drop requests in one frame */
#define MSG_STATUS_MAX       2048 /* segment statuses, aheads in one frame */
#define MSG_COPY_BLOCKS      32   /* blocks in one MSG_COPY_CHUNK */
#define MSG_MARKS_MAX        8192 /* releases in one status or SEG_OPEN */
#define MSG_PASS_MAX         1400 /* bytes of a pass */

/* name, number on the wire (never reused) */
#define MSG_TYPES(X)                                                                     \
    X(HELLO, 1)         /* the link itself: rpc.c */                                     \
    X(CHALLENGE, 2)                                                                      \
    X(PROOF, 3)                                                                          \
    X(WELCOME, 4)                                                                        \
    X(PING, 5)                                                                           \
    X(PONG, 6)                                                                           \
    X(ERROR, 7)                                                                          \
    X(PLACE, 16)        /* router -> segment: polls */                                   \
    X(PLACE_ANS, 17)                                                                     \
    X(APPEND, 18)       /* router -> segment: joins */                                   \
    X(APPEND_ANS, 19)                                                                    \
    X(DROP, 20)         /* router -> segment: leaves */                                  \
    X(DROP_ANS, 21)                                                                      \
    X(ROUTER_REG, 32)   /* router -> manager */                                          \
    X(MAP, 33)          /* manager -> router: the chain map, or what changed in it */    \
    X(STATS, 34)        /* manager -> router: figures of the queues, once a second */    \
    X(NODE_REG, 48)     /* segment node -> manager, first message on a link */           \
    X(NODE_OK, 49)      /* manager -> segment node: registered under this epoch */       \
    X(SEG_OPEN, 50)                                                                      \
    X(SEG_SEAL, 51)                                                                      \
    X(SEG_NEXT, 52)                                                                      \
    X(SEG_AHEAD, 53)                                                                     \
    X(SEG_POP, 54)      /* manager -> segment: release n */                              \
    X(SEG_POPPED, 55)                                                                    \
    X(SEG_REMOVE, 56)                                                                    \
    X(SEG_STATUS, 57)   /* segment -> manager */                                         \
    X(RULES, 58)        /* manager -> segment: a queue's time-outs and texts */          \
    X(MOVE_IN, 59)      /* manager -> target's node: prepare to receive */               \
    X(MOVE_OUT, 60)     /* manager -> source's node: start copying */                    \
    X(MOVE_END, 61)     /* manager -> both: commit or abort */                           \
    X(MOVE_STATUS, 62)  /* both -> manager */                                            \
    X(COPY_BEGIN, 80)   /* source's node -> target's node */                             \
    X(COPY_CHUNK, 81)                                                                    \
    X(COPY_TOUCH, 82)                                                                    \
    X(COPY_EXTRA, 83)                                                                    \
    X(COPY_END, 84)                                                                      \
    X(COPY_ACK, 85)     /* target's node -> source's node */

enum msg_type {
    MSG_NONE = 0,
#define X(name, number) MSG_##name = number,
    MSG_TYPES(X)
#undef X
};

const char *msg_name(enum msg_type t); /* "PLACE"; "?" for an unknown one */

/* ---- router <-> segment: batches. The i-th answer belongs to the i-th request of the
 * frame with the same request id. ------------------------------------------------- */

struct place_req { /* a poll: what the token says */
    seg_id seg;    /* the token's own segment, which may have been merged away */
    uint32_t number;
    uint8_t client; /* enum client_class */
};

enum place_state {
    PLACE_WAITING,  /* position, poll_after_ms */
    PLACE_ADMITTED, /* released; pass, released_at, pass_expires */
    PLACE_GONE,     /* reason */
    PLACE_BUSY,     /* being moved this very moment: ask again in some ms */
    PLACE_MOVED,    /* moved_to: the segment that has absorbed it */
    PLACE_UNKNOWN,  /* this node has no such segment: the asker's map is old */
    PLACE_NSTATES
};

enum gone_reason {
    GONE_EXPIRED,
    GONE_LEFT,
    GONE_NO_SHOW,
    GONE_FINISHED,
    GONE_LOST, /* "segment_lost" */
    GONE_NREASONS
};

struct place_ans {
    uint8_t state;          /* enum place_state */
    uint8_t reason;         /* enum gone_reason, if PLACE_GONE */
    uint16_t pass_len;      /* if PLACE_ADMITTED */
    uint32_t poll_after_ms; /* if PLACE_WAITING */
    union {
        uint64_t position; /* 1-based, in the lane; if PLACE_WAITING */
        seg_id moved_to;   /* if PLACE_MOVED */
    };
    int64_t released_at_ms;  /* wall clock; if PLACE_ADMITTED */
    int64_t pass_expires_s;  /* Unix seconds; if PLACE_ADMITTED */
    const char *pass;        /* if PLACE_ADMITTED; not 0-terminated */
};

struct append_req { /* a join */
    seg_id seg;
    uint8_t client;
    uint8_t subject_len; /* 0 = none */
    uint64_t subject_hash;
    const char *subject;
};

enum append_state {
    APPEND_OK,       /* a new ticket */
    APPEND_EXISTING, /* the subject's live ticket: number, issued_s, client are its own */
    APPEND_SEALED,   /* next: the successor, 0 if there is none yet */
    APPEND_BUSY,     /* no memory, or not serving: 503 */
    APPEND_UNKNOWN,  /* this node has no such segment: the asker's map is old */
    APPEND_NSTATES
};

struct append_ans {
    uint8_t state;
    uint8_t client;
    uint32_t number;
    uint32_t issued_s; /* Unix seconds; goes into the token */
    uint32_t poll_after_ms;
    union {
        uint64_t position;
        seg_id next;
    };
    seg_id seg; /* the token's segment (differs from the asked one if EXISTING and moved) */
};

struct drop_req {
    seg_id seg;
    uint32_t number;
};

enum drop_state { DROP_OK, DROP_BUSY, DROP_MOVED, DROP_UNKNOWN, DROP_NSTATES };

struct drop_ans {
    uint8_t state; /* OK also if it was gone already */
    seg_id moved_to;
};

struct msg_place {
    uint32_t n;
    struct place_req *req;
};
struct msg_place_ans {
    uint32_t n;
    struct place_ans *ans;
};
struct msg_append {
    uint32_t n;
    struct append_req *req;
};
struct msg_append_ans {
    uint32_t n;
    struct append_ans *ans;
};
struct msg_drop {
    uint32_t n;
    struct drop_req *req;
};
struct msg_drop_ans {
    uint32_t n;
    struct drop_ans *ans;
};

/* ---- router <-> manager --------------------------------------------------------- */

struct msg_router_reg {
    uint64_t map_version; /* what the router has; 0 = nothing */
    uint64_t map_epoch;   /* under whose epoch; versions of other epochs are not comparable */
    const char *http;     /* "host:port" of its public port, for people */
    const char *admin;    /* "host:port" of its admin port, "" if none */
};

struct map_node {
    node_no no;
    const char *name;
    const char *addr; /* "host:port" for routers and copying segments */
};

enum seg_state {
    SEG_OPEN = 1,   /* joins are accepted (only the first such one of a lane is joined) */
    SEG_SEALED = 2, /* for ever */
    SEG_LOST = 3,   /* its node is gone with it */
};

struct map_seg {
    seg_id id;
    node_no node;
    uint8_t state; /* enum seg_state */
};

struct map_alias { /* the tickets of `from` live in `to` now */
    seg_id from, to;
};

struct map_lane {
    const char *name;
    uint32_t n_segs, n_aliases;
    struct map_seg *segs; /* chain order, head first */
    struct map_alias *aliases;
};

enum queue_state {
    QUEUE_OPEN = 1,
    QUEUE_PAUSED = 2, /* joins go on, nobody is released */
    QUEUE_CLOSED = 3, /* no joins; releases go on */
    QUEUE_FULL = 4,   /* max_waiting is reached: joins get 503 queue_full */
};

struct map_queue {
    queue_id id;
    const char *name;
    uint8_t state; /* enum queue_state */
    uint32_t n_lanes;
    struct map_lane *lanes; /* [0] is the default lane */
    const char *page;       /* page_def.h, as JSON; NULL or "": nothing is said */
};

/* Changes from one version to the next, in one or more frames; the router's version is
 * `version` only after the frame without `more`. from_version 0: forget what you have.
 * nodes: always all of them. queues: whole, replaces the one with the same id. */
struct msg_map {
    uint32_t format; /* the lowest MAP_FORMAT that can read it; 0 = 1 */
    uint64_t epoch, from_version, version;
    seg_id next_seg; /* ids below this one and not in the map are gone for good */
    uint64_t store;  /* as in msg_node_ok */
    bool more;
    uint32_t n_nodes, n_queues, n_removed;
    struct map_node *nodes;
    struct map_queue *queues;
    queue_id *removed;
    uint32_t n_keys; /* public keys of passes, 32 bytes each, for JWKS; newest first */
    const uint8_t (*keys)[32];
};

struct lane_stats {
    uint64_t waiting;
    uint64_t rate_milli_per_s; /* smoothed releases, for the ETA */
};

struct queue_stats {
    queue_id id;
    uint64_t ready, active;
    uint64_t rate_milli_per_s; /* what the controller allows now */
    const char *limited_by;    /* "cpu", "fixed", "paused", "fallback" ... */
    uint32_t n_lanes;
    struct lane_stats lane[LANES_MAX];
};

struct msg_stats {
    uint32_t n;
    struct queue_stats *queues; /* only those that changed since the last STATS */
};

/* ---- segment node <-> manager --------------------------------------------------- */

struct msg_node_reg { /* followed by SEG_STATUS frames with `full`, the last without `more` */
    const char *addr;  /* "host:port" for routers and peers */
    const char *admin; /* "host:port" of its admin port, "" if none */
    uint64_t max_tickets;
    uint32_t max_segments;
    uint64_t epoch_seen;   /* highest epoch that ever commanded this node */
    uint64_t store;        /* whose managers it obeys (msg_node_ok); 0 = nobody's yet */
    uint8_t pass_key[32];  /* public Ed25519 key of the passes it makes */
    struct pass_others other_keys; /* also to be published */
};

struct msg_node_ok {
    uint64_t epoch;
    node_no no;
    uint64_t store; /* random, kept with the chains: managers that share them share it */
};

enum open_kind {
    OPEN_TAIL = 1,   /* joins will come */
    OPEN_TARGET = 2, /* born sealed and empty, to receive a move */
    OPEN_REBUILD = 3 /* its node is gone: its tickets come back with their polls */
};

/* Tickets of one segment (as their tokens name it) that were released at one moment. */
struct mark_row {
    seg_id seg;
    uint32_t from, end; /* the first one, and one past the last */
    bool again;         /* of one that was released before: a no-show that came back */
    int64_t at_ms;      /* wall clock: what the passes say */
};

#define AHEAD_UNKNOWN UINT64_MAX

struct msg_seg_open {
    uint64_t epoch;
    seg_id seg;
    queue_id queue;
    uint8_t lane;
    uint8_t kind; /* enum open_kind */
    uint32_t capacity;
    uint64_t ahead; /* AHEAD_UNKNOWN: comes later; until then nobody is shown a position */
    /* OPEN_REBUILD: */
    uint32_t for_ms;   /* who has not come back after this has no place any more */
    uint32_t mark_end; /* numbers below were released, left or timed out */
    uint32_t n_marks;
    const struct mark_row *marks; /* those of them whose passes may still be good */
};

struct msg_seg_seal { /* also: set the successor of a sealed one */
    uint64_t epoch;
    seg_id seg;
    seg_id next; /* 0 = none yet */
};

struct msg_seg_next { /* who follows when this one fills */
    uint64_t epoch;
    seg_id seg;
    seg_id next;
};

struct ahead_entry {
    seg_id seg;
    uint64_t ahead; /* waiting tickets in all segments before; it only falls */
};

struct pace_entry { /* how often waiters of one lane are told to poll; common/pace.h */
    queue_id queue;
    uint8_t lane;
    uint32_t min_ms, max_ms;
    uint32_t us_per_place; /* interval grows by this much per position, within min..max */
};

struct kept_entry {
    seg_id seg;
    uint64_t tick; /* its releases up to this pop are stored: they may be told */
};

struct msg_seg_ahead {
    uint64_t epoch;
    uint32_t n, n_pace, n_kept;
    struct ahead_entry *v;
    struct pace_entry *pace;
    struct kept_entry *kept;
};

struct msg_seg_pop {
    uint64_t epoch;
    seg_id seg;
    uint64_t tick; /* grows per segment; repeating the last one repeats its answer */
    uint32_t n;
    int64_t released_at_ms; /* wall clock: what the pass will say */
    bool keeps; /* nobody is told of it before a kept_entry says that it is stored */
};

struct seg_status {
    seg_id seg;
    queue_id queue;
    uint8_t lane;
    uint8_t state; /* SEG_OPEN or SEG_SEALED */
    uint32_t capacity;
    uint32_t joined;   /* tickets ever appended here by joins: capacity - joined is its room */
    uint32_t waiting;  /* in the line, not counting returning */
    uint32_t returning; /* no-shows that came back inside the grace: they go first */
    uint32_t ready;    /* released, pass not collected yet */
    uint32_t active;   /* pass collected and still valid */
    uint32_t records;  /* all records of released tickets (ready, active, in the grace,
                        * returning): 0 and waiting 0 and sealed = may be removed */
    uint64_t popped;   /* tickets released here, ever */
    uint64_t last_tick;
    uint64_t no_shows, expired, left; /* ever */
    seg_id next;
    uint32_t n_absorbed; /* segments whose tickets live here; only in a full status */
    const seg_id *absorbed;
    uint64_t move; /* move under way that this segment is a part of; 0 = none */
    bool rebuild;  /* its tickets are still coming back */
    uint32_t n_marks; /* releases that nobody has said are stored */
    const struct mark_row *marks;
};

struct msg_seg_popped {
    uint64_t epoch;
    seg_id seg;
    uint64_t tick;
    uint32_t n;    /* how many were released */
    bool busy;     /* fenced by a move: nothing was done, ask again */
    struct seg_status status;
};

struct msg_seg_remove { /* of an empty sealed segment (nobody waiting, nobody's pass valid);
                         * refused (the answer is its status) if it is not */
    uint64_t epoch;
    seg_id seg;
    bool force; /* its queue was deleted or flushed: whoever is in it is gone */
};

struct msg_seg_status {
    uint64_t epoch; /* under which the node reports: a manager ignores another's */
    bool full;      /* part of the report after NODE_REG */
    bool more;      /* full: further frames follow */
    uint32_t n;
    struct seg_status *v;
    uint32_t n_gone; /* segments that were asked about and do not exist here (any more) */
    seg_id *gone;
    uint64_t tickets; /* held by the node now */
    uint64_t max_tickets;
};

struct msg_rules { /* one queue's rules; comes before the first SEG_OPEN that needs it */
    uint64_t epoch;
    queue_id queue;
    const char *name;
    const char *issuer; /* "iss" of the pass */
    uint32_t idle_ms[CLIENT_NCLASSES];
    uint32_t claim_ms; /* from release until a ready ticket is a no-show */
    uint32_t grace_ms; /* after that: may still come back, to the front */
    uint32_t pass_ttl_s;
    uint32_t n_lanes;
    const char *lanes[LANES_MAX]; /* names */
};

/* ---- moves (merge, migration, drain) -------------------------------------------- */

struct msg_move_in {
    uint64_t epoch, move;
    seg_id from, to;
    uint32_t expect; /* tickets, about */
};

struct msg_move_out {
    uint64_t epoch, move;
    seg_id from, to;
    const char *peer_name, *peer_addr; /* the target's node */
};

struct msg_move_end {
    uint64_t epoch, move;
    seg_id from, to;
    bool commit; /* false: abort */
};

enum move_side { MOVE_SIDE_OUT = 1, MOVE_SIDE_IN = 2 };

enum move_report {
    MOVE_ACCEPTED = 1, /* in: ready to receive */
    MOVE_COPYING = 2,  /* out: streaming (progress) */
    MOVE_FENCED = 3,   /* in: has everything, source is frozen: may be committed */
    MOVE_COMMITTED = 4,
    MOVE_ABORTED = 5, /* nothing of it is left here */
};

struct msg_move_status {
    uint64_t epoch, move;
    seg_id from, to;
    uint8_t side;   /* enum move_side */
    uint8_t report; /* enum move_report */
    uint32_t tickets;
    const char *why; /* if ABORTED; else "" */
};

/* ---- segment -> segment: the copy. Numbers are the source's own slot numbers. ---- */

struct msg_copy_begin {
    uint64_t move;
    seg_id from, to;
    uint32_t first; /* slots below are gone */
    uint32_t end;   /* one past the last slot */
    uint32_t joined;  /* its own tokens have numbers below this (end - joined: absorbed) */
    uint32_t unit_ms; /* what an idle unit is in this copy */
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

struct session_rec { /* a released ticket; segment/session.h */
    seg_id seg;      /* the token's */
    uint32_t number;
    uint8_t state; /* enum session_state */
    uint8_t client;
    int64_t released_at_ms; /* wall */
    int64_t left_ms;        /* until its present state ends */
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
    uint64_t hash;
    const char *text;
};

struct msg_copy_extra { /* after the fence: all that is not bitmap */
    uint64_t move;
    uint32_t seq;
    uint32_t n_sessions, n_relocs, n_subjects;
    struct session_rec *sessions;
    struct reloc_rec *relocs;
    struct subject_rec *subjects;
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

struct msg_error {
    int32_t code; /* enum sq_err */
    uint32_t about; /* the message type that was not understood */
    const char *text;
};

struct msg {
    enum msg_type type;
    union {
        struct msg_error error;
        struct msg_place place;
        struct msg_place_ans place_ans;
        struct msg_append append;
        struct msg_append_ans append_ans;
        struct msg_drop drop;
        struct msg_drop_ans drop_ans;
        struct msg_router_reg router_reg;
        struct msg_map map;
        struct msg_stats stats;
        struct msg_node_reg node_reg;
        struct msg_node_ok node_ok;
        struct msg_seg_open seg_open;
        struct msg_seg_seal seg_seal;
        struct msg_seg_next seg_next;
        struct msg_seg_ahead seg_ahead;
        struct msg_seg_pop seg_pop;
        struct msg_seg_popped seg_popped;
        struct msg_seg_remove seg_remove;
        struct msg_seg_status seg_status;
        struct msg_rules rules;
        struct msg_move_in move_in;
        struct msg_move_out move_out;
        struct msg_move_end move_end;
        struct msg_move_status move_status;
        struct msg_copy_begin copy_begin;
        struct msg_copy_chunk copy_chunk;
        struct msg_copy_touch copy_touch;
        struct msg_copy_extra copy_extra;
        struct msg_copy_end copy_end;
        struct msg_copy_ack copy_ack;
    };
};

#endif

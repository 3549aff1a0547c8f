/* msg_segment_manager.h: a part of msg.h: the manager's orders to segment nodes, what
 * these report, and moves (merge, migration, drain). Pure. Memory: msg.h.
 */
#ifndef SEGQ_MSG_SEGMENT_MANAGER_H
#define SEGQ_MSG_SEGMENT_MANAGER_H

#include "common/base/base.h"
#include "common/ticket/draw.h"
#include "common/ticket/pass.h"
#include "common/wire/msg_router_manager.h"

/* The numbers of a queue that segment nodes need, named once. Of this list are made:
 * message RULES (struct, codec, and their test), the node's queue (struct, comparison with what
 * comes, digest), and its record in the journal, which has them in this order.
 *
 * A new one: a line at the end of the list, and JOURNAL_FORMAT + 1 (PROTOCOL.md, section 17);
 * its field in proto/segment_manager.proto; its value in queuemng/chain/reconcile.c; its use. */
#define NODE_RULES(X)                                                                    \
    X(claim_ms)   /* from release until a ready ticket is a no-show */                   \
    X(grace_ms)   /* after that: may still come back, to the front */                    \
    X(pass_ttl_s)

#define NODE_RULES_MEMBER(f) uint32_t f; /* a member of the structs that have them all */

struct seg_draw { /* common/ticket/draw.h; n 0: there is none */
    uint32_t n;
    uint8_t seed[DRAW_SEED];
};

struct msg_node_reg { /* followed by SEG_STATUS frames with `full`, the last without `more` */
    const char *addr;  /* "host:port" for routers and peers */
    const char *admin; /* "host:port" of its admin port, "" if none */
    uint64_t max_tickets;
    uint32_t max_segments;
    uint64_t epoch_seen;   /* highest epoch that ever commanded this node */
    uint64_t store;        /* whose managers it obeys (msg_node_ok); 0 = nobody's yet */
    uint8_t pass_key[32];  /* public Ed25519 key of the passes it makes */
    struct pass_others other_keys; /* also to be published */
    const char *region, *zone; /* where it runs, by its configuration; NULL or "": not said */
};

struct msg_node_ok {
    uint64_t epoch;
    node_no no;
    uint64_t store; /* random, kept with the chains: managers that share them share it */
};

enum open_kind {
    OPEN_TAIL = 1,   /* joins will come */
    OPEN_TARGET = 2, /* born sealed and empty, to receive a move */
    OPEN_REBUILD = 3 /* rebuilt: its node is gone, tickets come back with their polls */
};

/* Tickets of one segment (as their tokens name it) that were released at one moment. */
struct mark_row {
    seg_id seg;
    uint32_t from, end; /* the first one, and one past the last */
    bool again;         /* released before: a no-show that came back */
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
    bool early;     /* tickets have no position before the draw */
    int64_t closes_ms; /* an early one: sealed by its node at this time of the node's wall
                        * clock, also without a manager; 0: by order alone */
    struct seg_draw draw; /* OPEN_REBUILD: which was before its node was lost */
    /* OPEN_REBUILD: */
    uint32_t for_ms;   /* the time of the rebuild: tickets that are not back then are over */
    uint32_t mark_end; /* numbers below were released, left or timed out */
    uint32_t n_marks;
    const struct mark_row *marks; /* releases whose passes may still be good */
};

struct msg_seg_seal { /* also: set the successor of a sealed one */
    uint64_t epoch;
    seg_id seg;
    seg_id next; /* 0 = none yet */
    struct seg_draw draw; /* draw of a sealed early segment: people get their places */
};

struct msg_seg_next { /* the successor when this one fills */
    uint64_t epoch;
    seg_id seg;
    seg_id next;
    int64_t closes_ms; /* see msg_seg_open; 0: unchanged */
};

struct ahead_entry {
    seg_id seg;
    uint64_t ahead; /* waiting tickets in all segments before; it only falls */
};

struct pace_entry { /* how often waiters of one lane are told to poll; common/ticket/pace.h */
    queue_id queue;
    uint8_t lane;
    uint32_t min_ms, max_ms;
    uint32_t us_per_place; /* interval grows by this much per position, within min..max */
    uint64_t soon;         /* SEG_AHEAD: places whose turn comes soon (turn_notice); 0: none */
};

struct kept_entry {
    seg_id seg;
    uint64_t tick; /* releases up to this pop are stored: they may be told */
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
    uint32_t away_ms; /* a ticket whose told poll is later than this is skipped; 0: none */
};

/* Joins that find nobody in line may be let in at once, with the numbers from .. end in this
 * order; the manager has stored that these are released. It ends with the first join that has to
 * wait. A new order replaces the one before, whose unused numbers are never given. */
struct msg_seg_credit {
    uint64_t epoch;
    seg_id seg;
    uint64_t tick; /* grows per segment; an older one, or the same again, changes nothing */
    uint32_t from, end; /* numbers set aside; equal: no more credit */
    uint32_t lease_ms;  /* from its arrival on */
    int64_t released_at_ms; /* wall clock: what the passes will say */
    uint32_t aside; /* numbers beyond `end` to set aside: joins that wait get
                     * later ones */
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
    uint64_t away;    /* the same of no_shows that were passed over, since the node knows */
    uint64_t polls;   /* by who waits here; likewise */
    uint64_t claimed; /* passes collected here, since the node knows (it may begin anew) */
    seg_id next;
    uint32_t n_absorbed; /* segments whose tickets live here; only in a full status */
    const seg_id *absorbed;
    uint64_t move; /* move under way that this segment is a part of; 0 = none */
    bool rebuild;  /* tickets are still coming back */
    bool drawn;    /* an early one: its people have places */
    bool closed;   /* an early one: sealed by the node's clock, since the node started */
    int64_t closes_ms; /* an early one that is not drawn: as it was told */
    bool shut;     /* closed to joins: sealed as soon as that can be written */
    uint64_t ahead; /* last `ahead` that it heard: positions that are shown count from there */
    uint64_t credit_tick; /* tick of the last SEG_CREDIT that this manager has given */
    uint32_t credit_at, credit_end; /* the numbers that it still lets in; equal: none */
    uint32_t aside_end; /* numbers from there up to here are set aside, and not granted yet */
    uint32_t unused; /* part of `joined`: numbers set aside that nobody has */
    uint64_t entered; /* let in with their joins, since the node knows (it may begin anew) */
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

struct msg_seg_remove { /* for an empty sealed segment (nobody waiting, nobody's pass valid);
                         * refused (the answer is its status) if it is not */
    uint64_t epoch;
    seg_id seg;
    bool force; /* queue deleted or flushed: whoever is in it is gone */
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
    bool holds; /* the journal cannot be written: no position falls here meanwhile */
    bool no_room; /* on the disk of the journal, for one ticket more: joins are refused here */
};

struct msg_rules { /* a queue's rules; sent before the first SEG_OPEN that needs them */
    uint64_t epoch;
    queue_id queue;
    const char *name;
    const char *issuer; /* "iss" of the pass */
    uint32_t idle_ms[CLIENT_NCLASSES];
    NODE_RULES(NODE_RULES_MEMBER)
    uint32_t session_hold_s; /* without a manager sessions are not extended beyond; 0: they are */
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

/* ---- an operator's question about one ticket --------------------------------------
 * It changes nothing, so it carries no epoch. A node answers twice: at once what it knows now,
 * and, if it keeps an audit trail, the ticket's lines as soon as they are found. Lost: the
 * manager answers without it, and says so. */

#define WHY_LINES_MAX 48000 /* bytes */

struct msg_why {
    uint64_t ask; /* which question: the answers name it */
    seg_id seg;   /* the token's */
    uint32_t number;
    uint8_t client; /* enum client_class */
};

enum why_state {
    WHY_NOT_HERE, /* this node has no such segment */
    WHY_MOVED,    /* moved_to: it was moved away from here */
    WHY_AWAY,     /* node lost, and no poll since */
    WHY_WAITING,
    WHY_READY,
    WHY_ADMITTED,
    WHY_GRACE,     /* a no-show that may still come back */
    WHY_RETURNING, /* back after that, and goes first */
    WHY_GONE,      /* reason */
    WHY_ELSEWHERE, /* in another lane, to which staff moved it: number `position` of moved_to */
    WHY_NSTATES
};

struct msg_why_ans {
    uint64_t ask;
    bool more;  /* the lines are still looked for: only they come with the next answer */
    bool lines_only;
    uint8_t state;  /* enum why_state */
    uint8_t reason; /* enum gone_reason, if WHY_GONE */
    bool unstored;    /* released, but it may not be told before the manager has stored it */
    bool fenced;    /* segment is moving at this moment */
    seg_id segment; /* current segment */
    seg_id moved_to;
    uint64_t position; /* 0: not known, or not in line */
    uint64_t left_ms;  /* time left in its state: idle time, claim window, grace, pass */
    uint32_t told_ms;  /* waiting: how long it is told to wait, about */
    uint32_t silent_ms; /* waiting: since it was last seen, about */
    int64_t released_at_ms, pass_expires_s;
    bool trail;       /* the node keeps one */
    bool trail_whole; /* all of it was looked through, or the ticket's beginning was found */
    uint64_t trail_bytes; /* read */
    const char *lines;    /* newest first, each with its newline */
};

#endif

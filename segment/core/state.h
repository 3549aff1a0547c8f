/* state.h: the data of a segment node: its part in the directory of subjects, what routers were
 * told, its segments, the rules of their queues, moves, peers, clocks, and the table that has them all.
 * segtab.h says which rooms work on it. */
#ifndef SEGQ_SEG_CORE_STATE_H
#define SEGQ_SEG_CORE_STATE_H

#include "common/base/list.h"
#include "common/base/map.h"
#include "common/ticket/draw.h"
#include "common/ticket/pace.h"
#include "common/wire/msg.h"
#include "common/wire/msg_router_segment.h"
#include "segment/audit/audit_line.h"
#include "segment/copy/xfer_in.h"
#include "segment/copy/xfer_out.h"
#include "segment/core/jrec.h"
#include "segment/core/opts.h"
#include "segment/core/wants.h"
#include "segment/line/contents.h"
#include "segment/line/directory.h"
#include "segment/line/session.h"
#include "segment/line/ticket_idx.h"

/* ---- the directory of subjects (PROTOCOL.md, "One place per person") ----------------
 * The rooms segment/directory/ (what is said and asked) and segment/line/directory.h (the node's
 * own share) have the functions.
 *
 * This node is a *holder*: it says to each member which subjects of that member's share it
 * holds. And it is an *owner*: it keeps its own share, in which it is a holder like the
 * others, without a link. */

#define DIR_PERMITS_MAX 16384 /* joins that wait for another member's word */
#define DIR_PARKED_MAX  16384 /* ... of these, answered when it is here */
#define DIR_PARK_MS     1000  /* ... or told busy, so long after */
#define DIR_PERMIT_MS   1000  /* a word that nobody has come back for is given back */
#define DIR_ANSWER_MS  10000 /* a claim without an answer was lost: everything is said anew */
#define DIR_WAIT_MS    5     /* when to ask again for it */
#define DIR_AGAIN_MS   1000  /* a member that does not answer is told everything again */
#define DIR_CHUNK      2048  /* subjects said between two answers */
#define DIR_CHECKS_MAX 64    /* in a step */
#define DIR_TELL_MS    3000  /* longest wait of a move for all members to have heard of it */

enum dir_state {     /* a member's knowledge of what we hold */
    DIR_SILENT,      /* nothing: there is no link */
    DIR_SAYING,      /* being said */
    DIR_KNOWN,       /* everything */
};

struct dir_member {
    char name[NAME_MAX_LEN + 1], addr[64];
    enum dir_state state;
    peer_no to;      /* our link to it; 0: none */
    peer_no from;    /* where its present word comes from; 0: it has none */
    uint64_t begun;  /* number of its last DIR_BEGIN */
    uint64_t echo;   /* echo to await before we go on saying; 0: none */
    bool ending;     /* and that is the end */
    uint64_t heard;  /* the last number that it has answered */
    msec_t said_ms;
    seg_id at;       /* how far we are: in this segment, */
    uint32_t at_i;   /* at this subject */
    struct dir_row *row; /* owned; to be sent with the next step */
    uint32_t n, cap;
};

enum permit_state { PERMIT_ASKED, PERMIT_GRANTED, PERMIT_TAKEN };

struct permit {
    struct list_node in; /* dirs.asked or dirs.words, oldest first, or dirs.spare */
    uint64_t hash;
    enum permit_state state;
    msec_t since_ms;
    uint16_t owner;
    struct ticket_id old; /* a join that replaces it may use this claim's word */
    struct dir_row has;   /* PERMIT_TAKEN */
    struct list parked;   /* PERMIT_ASKED: joins that wait for the word, oldest first */
};

struct parked { /* a join; directory/parked.h */
    struct list_node in;      /* in permit.parked, dirs.due or dirs.park_spare */
    struct list_node in_time; /* in dirs.parked */
    struct permit *word;      /* ref; NULL: it is due */
    bool is_here;             /* due: the word is; false: none will be */
    uint8_t row;              /* place in the batch */
    struct append_from from;
    msec_t since_ms;
    struct append_req req;    /* subject: text */
    char text[SUBJECT_TEXT_MAX];
};

struct dir_check {
    uint64_t hash;
    uint16_t holder;
};

struct dirs {
    uint64_t version; /* version of the members; 0: none are known, and joins with a subject wait */
    struct dir_member *m; /* owned; [self] is this node */
    node_no *no;          /* owned; theirs */
    uint32_t n, self;     /* self == n: we are none of them */
    struct directory own;
    uint64_t count;       /* count of echoes that members are asked for */
    bool asks;            /* rows are waiting that a join waits for */
    bool self_again;      /* our own share lacks some of ours: there was no memory */
    struct permit *permit; /* owned; DIR_PERMITS_MAX, taken at the first need */
    struct map by_hash;   /* -> index of permit */
    struct list asked;     /* claims without an answer: PERMIT_ASKED */
    struct list words;     /* the others */
    struct list spare;
    struct parked *park;   /* owned; DIR_PARKED_MAX, taken at the first need */
    struct list parked;    /* oldest first */
    struct list due;       /* to be answered now */
    struct list park_spare;
    struct dir_check check[DIR_CHECKS_MAX]; /* entries of others that may be old */
    unsigned n_check;
    uint64_t n_busy, n_parked, n_exists; /* ever: joins that had to ask again; that waited here; that
                                          * found an old place */
};

/* ---- what routers have been told of this node's lines (MSG_REPLICA), and which listen --
 * segment/replica/ works on it. */

#define SEEN_LATE_MS 500  /* from a router's answer until its mark is here; a deadline has it */
#define DIED_MAX     8192 /* slots remembered between two pushes; above: all its lines again */

enum listening { /* listening of a router */
    LISTENS_NOT,   /* not asked; not a router */
    LISTENS_SLOW,  /* not reading: nothing until it does */
    LISTENS_NEXT,  /* a whole push is next */
    LISTENS_BEGUN, /* which is under way: up to the name `at`, and its block */
    LISTENS_LIVE,  /* has all, and gets what changes */
};

struct listener { /* a router, in struct peer */
    uint8_t state;    /* enum listening */
    bool echo;        /* a stamp is wanted at once */
    bool farewell;    /* said all that it told anybody */
    uint32_t block;
    uint64_t at;      /* said_name.no */
    msec_t echo_ms, stamp_ms; /* the router's clock as read last; ours as said last */
    msec_t heard_ms;  /* ours, when it said something */
    uint64_t seen;
    size_t pending;   /* bytes that it has not read */
    struct wants wants; /* tickets to which somebody listens there */
};

struct said_name {
    struct list_node node; /* in replica.names, by rising no */
    uint64_t no;
    uint32_t visit;
    seg_id host;            /* where its tickets are; row.host is a move's target */
    struct replica_row row; /* row as said last */
};

struct said_seg { /* last words about a hosted segment */
    bool known;          /* the rest is of the last push: nothing else has to be compared */
    bool lost;           /* died has not all of them */
    uint8_t flags;
    uint32_t end, waiting, n_relocs, told_max_ms;
    uint64_t base;
    uint32_t *died;      /* owned; slots, since the last push */
    uint32_t n_died, cap_died;
};

struct replica {
    struct map by_name; /* seg_id -> struct said_name * */
    struct list names;  /* owns them */
    uint64_t last_no;
    uint64_t version;   /* segtab.names_version, at the last push */
    uint32_t visit;
    uint32_t n_listeners;
    uint32_t n_wants;   /* sum of all routers */
    bool now;           /* push at the end of this step: do not wait for the tick */
};

/* ---- segments, moves, peers ------------------------------------------------------- */

#define SEGTAB_UNIT_MS     100   /* the smallest idle unit */
#define SEGTAB_MOVED_MAX   4096  /* aliases remembered after a move away */
#define SEGTAB_OVER_MS     60000 /* how long the reason of a no-show is known */
#define SEGTAB_REPORT_MS   100   /* shortest interval of reports */
#define SEGTAB_FIRST_MS    20    /* but of one that the first ticket of an empty line causes */
#define SEGTAB_KEY_S       60    /* life of an idempotency key; then until the next poll */
#define SEGTAB_BEAT_MS     1000  /* longest interval of reports */
#define SEGTAB_STALL_MS    5000  /* a copy that does not advance is aborted */
#define SEGTAB_IN_STALL_MS 30000 /* a target waits longer: its source gives up first */
#define SEGTAB_SELF UINT32_MAX /* the peer of a move within this node */

struct queue { /* the rules of one queue; owned by segtab, freed with its last segment */
    queue_id id;
    char *name, *issuer;
    char *lanes[LANES_MAX];
    uint32_t n_lanes;
    uint32_t idle_ms[CLIENT_NCLASSES];
    uint32_t idle_was_ms[CLIENT_NCLASSES]; /* the shortest that deadlines may be made by */
    msec_t idle_was_until_ms;              /* service clock; then they are of idle_ms */
    NODE_RULES(NODE_RULES_MEMBER)
    uint32_t session_hold_s; /* longest life of a session after a manager's last word; 0: any */
    uint32_t ttl_was_s;   /* the longer pass_ttl_s of passes that were released ... */
    int64_t ttl_until_ms; /* ... before this (wall clock); 0: it was never lowered */
    struct pace pace[LANES_MAX], said_pace[LANES_MAX]; /* the latter: to routers */
    uint64_t soon[LANES_MAX]; /* places whose turn comes soon; 0: none is told */
    struct list segs; /* segments on this node */
};

struct move;

struct credit { /* joins that are let in at once; segment/tickets/credit.h */
    uint64_t tick;      /* tick of its order; 0: none under this registration */
    uint32_t at, end;   /* the numbers that they get */
    uint32_t top;       /* numbers below were granted: those that are not used never will be */
    uint32_t half;      /* the half of it is used: more is asked for */
    uint32_t aside_end; /* numbers from `top` up to here are set aside */
    uint32_t aside;     /* numbers to set aside, while nobody waits */
    int64_t at_ms;      /* wall clock: their release */
    msec_t until_ms;    /* monotonic */
};

struct seg { /* a hosted segment */
    struct contents b;
    struct segtab *tab;  /* ref */
    struct queue *queue; /* ref */
    uint8_t lane;
    uint32_t capacity;
    seg_id next;
    uint64_t ahead;
    uint64_t ahead_due; /* said while nothing could be written; AHEAD_UNKNOWN: nothing was */
    bool shut;          /* to be sealed, ordered while nothing could be written: before anybody joins */
    uint32_t unit_ms;
    double per_unit;      /* 1 / unit_ms */
    uint32_t told_max_ms; /* idle time and told interval must fit into the horizon */
    uint32_t sweep_block;
    uint8_t swept_unit; /* the unit of the last whole sweep */
    bool early;         /* people wait for the draw, and have no positions */
    bool closed;        /* sealed by our clock, since the node started */
    int64_t closes_ms;  /* early: sealed then, by our wall clock; 0: by order alone */
    struct draw *draw;  /* owned; NULL: there was none. See segment/tickets/draw.c */
    uint32_t snap_no;   /* number of the last snapshot that it is in */
    bool known;         /* replaying: records before its MARK are in it already */
    uint64_t last_tick;
    uint32_t last_n; /* answer to it */
    uint64_t popped, no_shows, expired, left;
    uint64_t away, polls; /* since the node started: skipped tickets; polls of waiting ones */
    uint8_t classes;  /* classes of clients that were seen in it, a bit each; 0: any */
    msec_t spared_until_ms; /* service clock: nobody in it times out before; tickets/timeouts.h */
    struct said_seg said;   /* to routers */
    uint64_t claimed; /* since the node started: for the claim rate, which looks at growth */
    struct credit credit;
    uint32_t unused;  /* numbers that were set aside, and that nobody has */
    uint64_t entered; /* since the node started */
    struct marks unstored; /* releases that the manager has not stored yet */
    msec_t unstored_ms;    /* since when, on the service clock */
    /* while it is rebuilt (b.q.rebuilding): */
    uint32_t mark_end; /* numbers below were released before */
    uint32_t certain;  /* every number below is restored, or known to be dead */
    uint32_t for_ms;   /* time of the whole rebuild; 0: its beginning is not all in the journal */
    msec_t looked_ms;  /* service clock: what came before counts already in spent_us */
    int64_t spent_us;  /* part of for_ms */
    bool refused;      /* a ticket could not be restored since, for lack of memory */
    struct move *out, *in;   /* ref; under way */
    struct list_node node;   /* in segtab.segs */
    struct list_node queued; /* in queue.segs */
    struct list_node dirty;  /* in segtab.dirty: to be settled and reported */
    struct list_node active; /* in segtab.active: somebody waits, or was released */
};

/* The stage of a move; transfer/move.c has the steps. */
enum move_stage {
    STAGE_DIALLING,  /* out: no link to the target's node yet */
    STAGE_COPYING,   /* out: how far, perhaps fenced, is in out.phase */
    STAGE_RECEIVING, /* in: the copy arrives */
    STAGE_WHOLE,     /* in: all of it is here; the members of the directory are being told */
    STAGE_READY,     /* in: only MOVE_END decides */
    STAGE_N
};

struct move {
    struct list_node node; /* in segtab.moves */
    uint64_t id;
    seg_id from, to;
    uint8_t side; /* enum move_side */
    enum move_stage stage; /* set by move_step() alone */
    peer_no peer;    /* 0: none (any more) */
    struct seg *seg; /* ref: the local segment */
    char peer_name[NAME_MAX_LEN + 1], peer_addr[64];
    msec_t progress_ms, told_ms;
    msec_t fenced_ms; /* out: service clock when it was fenced */
    uint64_t fenced_ahead; /* out: what it had heard by then */
    uint8_t fenced_unit;
    uint64_t since; /* in: dirs.count as it began */
    uint64_t told; /* in: what the members of the directory must have heard; 0: nothing */
    msec_t whole_ms; /* in: since when the copy is whole */
    union {
        struct xfer_out out;
        struct xfer_in in;
    };
};

struct past { /* people of a segment or a copy that is gone; segment/directory/past.h */
    struct list_node node; /* in segtab.pasts */
    struct segtab *tab;    /* ref */
    queue_id queue;
    struct subjects subjects; /* owned */
    struct contacts contacts; /* owned */
    uint32_t at_subject, at_contact; /* records before have ended */
};

struct peer {
    peer_no no;
    uint8_t role;
    bool refused;   /* a manager: it has been logged */
    uint64_t store; /* a manager: what its NODE_OK said */
    char name[NAME_MAX_LEN + 1];
    struct listener listener;
};

struct pass_change { /* a pass that is revoked, or whose session lasts longer than it says */
    struct ticket_id id; /* id in tokens */
    int64_t until_s;
    bool revoked;
};

struct moved { /* a ring: the oldest is forgotten */
    seg_id id, to;
};

/* Kinds of locations of a segment's id: the low bits of a value in `locations`. */
enum location_kind { AT_SEG = 0, AT_RELOC = 1, AT_MOVED = 2 };

struct segtab {
    struct segtab_opts o;
    char addr[64], admin[64];
    struct block_pool pool;
    struct map locations;  /* seg_id -> struct seg *, struct reloc * or index of moved */
    uint64_t names_version; /* grows with each change of `locations` */
    struct map queues; /* queue_id -> struct queue * */
    struct list segs, dirty, active, moves;
    struct list pasts; /* owned */
    uint64_t absorbed; /* bytes of records of the moves that were committed here since the last tick, at most */
    struct moved *moved; /* owned ring, allocated at the first need */
    uint32_t n_moved;    /* ever */
    struct peer *peers;  /* owned */
    uint32_t n_peers, cap_peers, n_routers;
    peer_no manager; /* 0: none */
    msec_t word_ms;  /* manager 0: when there last was one */
    char manager_name[NAME_MAX_LEN + 1];
    uint64_t epoch;      /* the highest seen */
    uint64_t store;      /* whose managers are obeyed (msg_node_ok); 0: any */
    uint64_t told_epoch; /* under which, and to whom, everything was last reported */
    peer_no told_to;
    struct seg_now now; /* moment of the present call */
    int64_t close_ms;   /* no early segment closes before this; 0: none does */
    msec_t clock_at_ms; /* up to when the service clock was advanced */
    msec_t heard_ms;    /* when a router was heard last; 0: never */
    msec_t back_ms, away_ms;      /* when the first came back, and how long all were gone */
    msec_t rest_until_ms;         /* the clock stands until then: their clients come back */
    msec_t service_ms;
    msec_t report_ms, beat_ms;
    struct pass_change *changed; /* owned; what routers have not been told of yet */
    uint32_t n_changed, cap_changed;
    bool changed_all; /* they must be told all of them */
    bool urgent; /* do not wait for the tick to report */
    struct outbox loop[2]; /* messages of this node to itself */
    unsigned loop_in;      /* which one is being filled */
    struct segtab_counts n;
    struct jrec joins;       /* a run of joins that is not in the log yet; n == 0: none */
    bool hold;               /* nothing changes: it could not be written down */
    bool full;               /* joins are refused: no room for a new ticket's records */
    bool no_room;            /* the same, as the manager is told: no longer that of one turn */
    bool replaying, snap_read;
    bool partial; /* replaying what was said while a snapshot was taken */
    uint32_t snap_no;
    void (*snap)(void *ctx, const struct jrec *r); /* NULL, but while one is written */
    void *snap_ctx;
    struct stage *stage; /* owned; segment/restore/stage.c */
    uint64_t popping;    /* the tick of the order at hand; 0: none, or it is replayed */
    struct dirs dir;
    struct replica replica;
    uint32_t turn_peer; /* peer that was asked last to tell somebody */
};

/* Loops; the current one may be removed and freed. */
#define each_seg(t, g)       list_each_of(&(t)->segs, struct seg, node, g)
#define each_active(t, g)    list_each_of(&(t)->active, struct seg, active, g)
#define each_dirty(t, g)     list_each_of(&(t)->dirty, struct seg, dirty, g)
#define each_queue_seg(q, g) list_each_of(&(q)->segs, struct seg, queued, g)
#define each_move(t, v)      list_each_of(&(t)->moves, struct move, node, v)

/* ---- peers: the processes that this node has links to ----------------------------- */

struct peer *segtab_peer(struct segtab *t, peer_no no); /* or NULL */
const struct peer *segtab_peer_named(const struct segtab *t, const char *name,
                                     uint8_t role);
/* Where a message of this node goes: to `peer`, or round to ourselves. */
struct outbox *segtab_to(struct segtab *t, peer_no peer, struct outbox *out);
/* Answers that something cannot be done; about: enum msg_type. */
void segtab_error(struct outbox *out, peer_no to, int code, uint32_t about,
                  const char *text);

/* ---- clocks: idle time-outs and claim windows run on the service clock, which stands still while
 * nobody could reach us (segtab.h). Passes and sessions end by what passes say (seconds of the
 * wall clock), and on the monotonic clock of this process ---------------------------------- */

/* Every call begins with it: the present time, and segments whose time to close has come. */
void segtab_clock(struct segtab *t, struct seg_now now);
/* The same for a call with which a router says something: its silence counts up to now. */
void segtab_heard(struct segtab *t, struct seg_now now);
/* A router's link is up. Nobody could poll while there was none, and now people come one
 * after the other (those, too, whose routers are back a little later): the clock stands for as
 * long again. */
void segtab_rest(struct segtab *t);

/* When the pass that was released then is over: on the monotonic clock, as are the others. */
msec_t segtab_pass_end(const struct segtab *t, const struct seg *g, int64_t at_ms);
/* The same as its pass says it: Unix seconds; of an extended session the later end. */
int64_t segtab_until_s(const struct seg *g, const struct session *x);
/* When the session is over. */
msec_t segtab_session_end(const struct segtab *t, const struct seg *g,
                          const struct session *x);

#endif

/* state.h: the data of a simulated cluster, its players, and what is known of the truth. */
#ifndef SEGQ_SIM_STATE_H
#define SEGQ_SIM_STATE_H

#include "common/base/buf.h"
#include "common/base/map.h"
#include "common/base/memory.h"
#include "common/base/rng.h"
#include "queuemng/store/store.h"
#include "router/flow/flow.h"
#include "router/flow/routes.h"
#include "segment/node/segtab.h"
#include "tests/lib/sim/sim.h"

typedef int64_t usec_t; /* virtual time */

#define SIM_PROCS   (SIM_MNGS_MAX + SIM_SEGS_MAX + SIM_ROUTERS_MAX)
#define SIM_NOBODY  0xff
#define SIM_WALL_MS 1800000000000 /* the wall clock when a run begins */
#define SIM_NEVER_MS 100000000
#define SIM_SUBJECT_LEN 16
#define SIM_WORD_US 2500000 /* a router may know so late that a manager reaches a node again */
#define OPENING_HEX  65 /* a SHA-256 in hexadecimal digits, and its end */
#define SIM_LEASE_MS 2000
#define SIM_OUT_US  1000000 /* a sweep sees so late, at most, that a ticket waits no more */
#ifndef SIM_TRACE
#define SIM_TRACE   400
#endif
#define SIM_LANES   (SIM_QUEUES_MAX * LANES_MAX)

enum event_kind {
    E_TICK,      /* of a process */
    E_UP,        /* a: conn, b: side */
    E_DOWN,      /* a: conn, b: side */
    E_MSG,       /* a: conn, b: side that receives; c: request id; data: wire */
    E_DIAL,      /* a: whom */
    E_DIAL_FAIL, /* a: whom */
    E_START,     /* process starts again */
    E_FLOW,      /* router: a: flow, c: its generation */
    E_REQ,       /* a player's request reaches a router: data: sreq */
    E_ANS,       /* an answer reaches a player: data: sans */
    E_PLAYER,    /* a: player, c: generation of its timer */
    E_FAULT,     /* a: which */
    E_MEND,      /* a: what, b: about whom */
    E_STORE,     /* a manager's question reaches the store: data: store_msg */
    E_LEAD,      /* lead.c's own; a: which */
    E_GROUP,     /* groups.c: of nobody: a: device, c: generation of its timer; of a router: a: call that is due */
};

struct event {
    usec_t at;
    uint64_t seq;
    uint64_t c;
    void *data; /* owned by the event */
    uint32_t a, b;
    uint32_t incarnation; /* of proc; another one: the event died with the process */
    uint8_t kind, proc;
};

struct wire { /* one message in flight */
    uint16_t type;
    uint32_t len;
    usec_t sent;
    uint8_t body[];
};

struct conn { /* one connection, from dialling to the day both ends know it is dead */
    uint32_t id;
    uint8_t end[2]; /* processes; [0] dialled */
    uint32_t inc[2];
    bool told[2];   /* was told up, and not yet down */
    uint32_t term[2]; /* of a manager there: in which it was told */
    bool broken;
    bool keeps[2];  /* broken: what is on its way to that end still arrives */
    usec_t last[2]; /* arrival of the latest message towards that end */
    usec_t up_at;   /* both ends know it since */
    bool mute[2];   /* what is sent towards that end is lost without a word */
};

struct tape { /* outlives the process */
    struct buf base, log, snap; /* the last whole snapshot; since it; one being written */
    size_t snap_from, flushed;  /* of the log */
    size_t cut;   /* past `flushed`: of what a move brings, so much is there all the same */
    bool absorbing, snapping;
};

struct slead;

struct smng { /* a manager */
    struct mng *core;
    struct mng_out *out; /* of the step at hand */
    peer_no seg_peer[SIM_SEGS_MAX]; /* the latest link from each */
    usec_t lost_seg[SIM_SEGS_MAX];  /* since when there is none; 0 = there is one */
    uint32_t term;
    usec_t no_tail[SIM_LANES]; /* since when a lane has none, though there is room; 0: it has */
    struct slead *lead; /* NULL: it is alone */
};

struct proc {
    struct sim *sim; /* ref */
    uint8_t idx;
    uint8_t kind; /* enum sim_who */
    unsigned no;  /* among its kind */
    char name[16], addr[32];
    bool alive, used;
    uint32_t incarnation;
    usec_t heard;         /* a segment node: when a manager heard it last; */
    usec_t was_heard, heard_anew; /* the same before it was last taken for unreached, and its end */
    usec_t paused_until;
    usec_t stopped; /* sum of what its clock must not count as anybody's silence */
    unsigned routers;     /* a segment node: so many are linked; */
    usec_t dark_from;     /* none since then */
    usec_t rest_until;    /* counted in `stopped` already up to then */
    int64_t wall_off_ms; /* its wall clock is so far ahead of the true one */
    struct smng *mng;
    struct segtab *segtab;
    usec_t missed; /* a segment node: since then an `ahead` is lost, unnoticed; 0: none */
    usec_t was_missed, missed_until; /* the same of the last such time, and its end */
    struct tape tape;
    usec_t slow_until, busy_until; /* each turn takes long; the one at hand */
    usec_t disk_slow_until;
    bool disk_full, disk_holds; /* it is noticed by the first turn that writes something */
    bool dies_in_turn; /* after the next turn's work, before anything of it is sent */
    struct outbox box;
    struct parked_join *parked; /* owned; joins that wait for another node's word: parked.c */
    size_t n_parked, cap_parked;
    struct srouter *router;
};

/* ---- what the simulation knows of the truth ---------------------------------------- */

enum ticket_fate { T_LIVE, T_ADMITTED, T_LEFT, T_GONE };

struct ticket {
    seg_id seg;
    uint32_t number;
    uint32_t player; /* UINT32_MAX: nobody got the answer (an orphan) */
    uint16_t lane;   /* index into sim.lane */
    uint8_t fate;
    usec_t fate_at;
    bool relaxed;    /* its order is not certain: joined where a manager had given up */
    bool returned;   /* perhaps was a no-show: may be released later than its turn */
    bool lost;       /* its node has lost everything */
    bool rebuilt;    /* its segment was lost, and opened again */
    bool forgot;     /* and before that it had left: who would know? */
    bool timed_out;  /* was silent for too long, and waits no more */
    bool given_up;   /* and that before its segment was lost */
    bool revived;    /* and so it waits again, or did: those behind it were rightly let in */
    bool leaving;    /* a leave has reached its segment */
    uint64_t ord;    /* order of acknowledgement in its lane */
    usec_t out_at;   /* it waits no more, as a sweep has seen; 0: it waits */
    usec_t touch;    /* when the segment last answered its poll with "waiting", or was opened
                      * again */
    usec_t said;     /* the former */
    msec_t stale_ms;  /* of the state that was told then */
    bool perhaps_over; /* it was silent for too long before a router said that it waits */
    uint32_t told_ms; /* interval told then */
    uint8_t node;     /* who told */
    usec_t stopped;   /* of that node, then */
    uint64_t subject; /* its hash; 0: none */
    seg_id old_seg;   /* 0; else it was given in place of this ticket: */
    uint32_t old_number;
    uint32_t issued_s;
    bool replaced;    /* another one is there in its place */
    uint64_t pass;   /* hash of the pass, once shown */
    int64_t released_ms, expires_s;
    /* of its session */
    usec_t ended;    /* given back or revoked; 0: not */
    int64_t until_s; /* extended; 0: not */
    uint64_t used;   /* the use of its pass that was let in; 0: none */
    int64_t first_expires_s;
    usec_t told_since; /* its node has been telling routers; 0: not */
    uint8_t told_by;
    uint32_t sweep;  /* number of the sweep that saw it last */
    seg_id host;     /* in that sweep */
    usec_t told_at;  /* a position, the last time: of when it was */
    uint64_t told_position; /* 0: none yet */
    bool of_group, given_back; /* groups.h */
    bool contact;    /* wants to be told that it is let in, turns.c: */
    int64_t turn_ms; /* was told, of a release of then; 0: not */
    bool soon_told;  /* and that it soon will be */
};

struct sseg { /* a segment that was ever opened */
    seg_id id;
    uint16_t lane;
    uint8_t node; /* process */
    bool relaxed;
    bool gone;          /* lost, and what it had absorbed was opened again */
    usec_t rebuilt_at;  /* the last time; 0: it was never lost */
    bool by_order;      /* early, and not closed by the clock of its node, which is wrong */
    bool early, drawn;  /* who is in it draws lots; has drawn, durably, */
    bool drawn_there;   /* and its node has heard */
    uint32_t waiting_there;
    uint64_t sealed_epoch; /* routers were told "sealed" under it */
    seg_id alias;       /* durable: its tickets belong there */
    node_no owner;      /* as announced to routers, */
    uint64_t base;      /* and its ordinals; 0: not yet */
    uint64_t last_tick; /* of pops */
    uint32_t last_n;
    uint64_t last_ord;  /* in this sweep */
    uint32_t sweep;
};

struct slane {
    unsigned queue, lane;
    uint64_t next_ord;
    bool revived;       /* somebody came back to a rebuilt one who had been over before */
    seg_id last_joined; /* the furthest segment that anybody joined */
    uint64_t last_ordinal; /* base + number of the last that joined */
    uint64_t max_admitted_ord; /* of those whose order is certain */
    uint64_t let_in;
};

struct released { /* one executed SEG_POP */
    int64_t at_ms; /* the manager's stamp */
    uint32_t n;
    uint16_t queue;
    uint16_t way_ms; /* there and back to its farthest node, as the manager has measured it */
};

struct rate_change { /* what an operator has said */
    int64_t at_ms;
    double per_s;
    uint32_t slots;
};

struct spatch { /* of a definition: what no other fault changes */
    uint32_t weight[LANES_MAX];
    double boost;
    msec_t claim_ms, grace_ms, idle_ms, poll_max_ms;
    bool direct_entry;
};

struct squeue {
    char name[16];
    double rate, open_next_at;
    uint32_t slots;
    uint32_t capacity;
    bool merge;
    struct spatch patch;
    bool was_free; /* passthrough, ever */
    int state; /* enum def_state, as last ordered */
    char commitment[OPENING_HEX], seed[OPENING_HEX]; /* as published; "": not */
    struct rate_change *rate_log;
    size_t n_rates;
    uint64_t by_hand;
    struct proc *asked; /* NULL, or whom an operator waits for, */
    uint32_t asked_term; /* in which term, */
    uint64_t need;       /* and what its store must have */
    struct rate_change said; /* what this order is about */
};

enum player_state {
    P_NEW,
    P_JOINING,
    P_WAITING,
    P_REPLACING, /* waits, and asks for a place in another lane */
    P_ADMITTED,
    P_LEAVING,
    P_OVER,
};

struct player {
    uint8_t state, queue, lane, client, router;
    bool in_air;     /* a request is under way */
    usec_t listens_until; /* nothing need be asked before; 0: it does not listen */
    bool leave_asked, leave_acked, vanished;
    bool by_pass;    /* it leaves by its pass */
    uint8_t command; /* enum sess_command */
    uint32_t ticket; /* UINT32_MAX: none */
    uint32_t subject; /* 0: none */
    uint32_t gen;    /* of request and timer */
    uint32_t told_ms;
    uint64_t position; /* last shown; 0 = none; */
    usec_t position_at; /* of a state of then, at most */
    usec_t leave_at, late_at, replace_at; /* 0 = never */
    uint8_t next_lane; /* of replace_at */
    bool replace_tried; /* an earlier try may have got somewhere */
    msec_t late_for_ms;
    unsigned polls_left; /* after admission */
    usec_t over_at;
    usec_t ended_at; /* was told that it is inside, or has left; 0: not */
};

struct sreq { /* a player's request */
    uint32_t player, gen;
    uint8_t kind; /* enum flow_kind */
    uint8_t queue, lane, client;
    uint32_t subject; /* 0: none */
    uint8_t command;  /* FLOW_SESSION */
    bool replaces;    /* FLOW_JOIN: in place of `token` */
    bool starved;     /* sans.starved */
    bool listens;     /* FLOW_POLL: it is told at once, as long as it waits */
    int64_t released_s, expires_s; /* of the pass that is shown */
    struct token token;
};

struct sans { /* and its answer */
    uint32_t player, gen;
    bool reset; /* the connection broke: no answer */
    bool open;  /* an event: others may follow, */
    bool starved; /* whose looks had no answer for the whole idle time: over slow links */
    uint8_t kind;
    struct flow flow;
    uint64_t pass; /* hash */
    usec_t as_of;  /* what it tells was so then, or later */
    bool kept;     /* the node could not be asked */
    uint8_t node;  /* the process whose state it is; a manager's: nobody's */
};

struct trace {
    usec_t at;
    const char *fmt; /* NULL: text */
    uint64_t v[5];
    char text[176];
};

/* ---- the store of several managers ---------------------------------------------------- */

enum store_ask { ASK_TAKE, ASK_RENEW, ASK_FREE, ASK_WRITE, ASK_LOAD };
enum { STORE_STALE, STORE_DONE, STORE_GAP }; /* of a write, as in redis_store_int.h */

struct store_msg { /* a question, or its answer */
    uint8_t ask, proc; /* enum store_ask; who asks */
    bool whole;
    int result;
    uint32_t incarnation, link;
    uint64_t serial, epoch, rev, write_no;
    msec_t left_ms;
    uint32_t len;
    char text[]; /* '+' or '-', key, 0, value, 0 ... */
};

struct store_data {
    struct kv kv;
    uint64_t epoch, rev;
    uint64_t last_epoch, last_serial; /* the name of the last write */
    uint32_t last_inc, owner_inc;
    uint8_t last_proc, owner;
    usec_t lease_until;
};

struct sstore {
    struct store_data now, snap, replica;
    usec_t started, away_until, slow_until;
    usec_t failed_over; /* the last time; 0: never */
};

struct sim {
    struct sim_opts o;
    struct rng rng;
    usec_t now;
    uint64_t seq;
    struct event *heap;
    size_t n_heap, cap_heap;
    struct proc proc[SIM_PROCS];
    unsigned n_procs;
    struct conn **conn;
    uint32_t n_conns, cap_conns;
    struct conn *link[SIM_PROCS][SIM_PROCS]; /* [dialler][acceptor] */
    bool dialling[SIM_PROCS][SIM_PROCS];
    usec_t blocked_until[SIM_PROCS][SIM_PROCS];
    usec_t slow_until[SIM_PROCS][SIM_PROCS];
    /* the store */
    char **key, **val;
    size_t n_keys, cap_keys;
    bool crash_in_act; /* the manager dies within its next list of acts */
    struct sstore store;
    bool drained[SIM_SEGS_MAX]; /* as operators want it */
    /* truth */
    struct squeue queue[SIM_QUEUES_MAX];
    struct slane lane[SIM_LANES];
    struct ticket *ticket;
    uint32_t n_tickets, cap_tickets;
    struct map ticket_by_key;
    struct map seg_by_id; /* -> sseg */
    struct map queue_of;  /* queue_id -> queue number */
    struct released *rel;
    size_t n_rel, cap_rel;
    struct player *player;
    uint32_t n_players, cap_players;
    struct map subject_at; /* hash -> its ticket that was last seen waiting */
    uint32_t n_subjects[SIM_QUEUES_MAX];
    uint64_t uses;      /* number of the last one that a gate asked about */
    usec_t sessions_at; /* next look at what routers know */
    uint32_t sweep;
    uint8_t sweep_node;    /* whose tickets it looks at */
    uint64_t map_epoch, map_version; /* highest announced */
    int64_t wall_ahead_ms;           /* the furthest that any wall clock ever was */
    struct sgroups *groups; /* NULL: there are none */
    bool calm;     /* players do not leave, no new joins */
    bool healed;
    bool faults_on;
    bool lost_any; /* some segment was lost: its node's counts are not the truth any more */
    /* scratch */
    struct arena arena, ans_arena;
    struct buf buf;
    struct sim_counts count;
    struct trace trace[SIM_TRACE];
    uint64_t n_trace;
    uint64_t digest; /* of all notes, and when: equal for equal runs */
    bool failed;
    char why[400];
};

#endif

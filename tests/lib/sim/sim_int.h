/* sim_int.h: inside of the simulation; only tests/lib/sim*.c include it.
 *
 *   sim.c          events in time order, trace, failing
 *   sim_net.c      links between processes: delay, order, breaking, redialling
 *   sim_proc.c     segment nodes: the shell around their core; what happens to processes
 *   sim_mng.c      managers: the shell around theirs
 *   sim_lead.c     one of several: its lease, its copy of the store, terms
 *   sim_store.c    the store that they share
 *   sim_tape.c     segment nodes' journals
 *   sim_router.c   a router: routes, flows, batches like the real one
 *   sim_players.c  who joins, polls, leaves, vanishes, comes back late
 *   sim_check.c    tickets as they should be, and the invariants
 *   sim_end.c      what is checked at the end
 *   sim_subjects.c names, and one ticket for each
 *   sim_slots.c    who is inside: never more than max_active
 *   sim_opening.c  opening by the clock, lots of the early ones
 *   sim_told.c     positions of two people, as they were told
 *   sim_sessions.c extend, revoke, release; what routers know of passes
 *   sim_ops.c      operators: queue definitions, pause, drain ...
 *   sim_faults.c   faults at random, and mending all of it; the families:
 *   sim_flinks.c, sim_fprocs.c, sim_fdisks.c, sim_fclocks.c, sim_fopers.c (the store's own:
 *   sim_store.c)
 *   sim_quiet.c    waiting for the end; positions at rest */
#ifndef SEGQ_SIM_INT_H
#define SEGQ_SIM_INT_H

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/map.h"
#include "common/base/rng.h"
#include "queuemng/store/kv.h"
#include "router/flow/flow.h"
#include "router/flow/routes_apply.h"
#include "segment/node/segtab.h"
#include "tests/lib/sim/sim.h"

typedef int64_t usec_t; /* virtual time */

#define SIM_PROCS   (SIM_MNGS_MAX + SIM_SEGS_MAX + SIM_ROUTERS_MAX)
#define SIM_NOBODY  0xff
#define SIM_WALL_MS 1800000000000 /* the wall clock when a run begins */
#define SIM_NEVER_MS 100000000
#define SIM_SUBJECT_LEN 16
#define OPENING_HEX  65 /* a SHA-256 in hexadecimal digits, and its end */
#define SIM_LEASE_MS 2000
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
    E_LEAD,      /* sim_lead.c's own; a: which */
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
    bool snapping;
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
    usec_t paused_until;
    usec_t stopped; /* sum of what its clock must not count as anybody's silence */
    unsigned routers;     /* a segment node: so many are linked; */
    usec_t dark_from;     /* none since then */
    usec_t rest_until;    /* counted in `stopped` already up to then */
    int64_t wall_off_ms; /* its wall clock is so far ahead of the true one */
    struct smng *mng;
    struct segtab *segtab;
    usec_t missed; /* a segment node: since then an `ahead` is lost, unnoticed; 0: none */
    struct tape tape;
    usec_t slow_until, busy_until; /* each turn takes long; the one at hand */
    usec_t disk_slow_until;
    bool disk_full, disk_holds; /* it is noticed by the first turn that writes something */
    bool dies_in_turn; /* after the next turn's work, before anything of it is sent */
    struct outbox box;
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
    usec_t touch;    /* when the segment last answered its poll with "waiting", or was opened
                      * again */
    usec_t said;     /* the former */
    uint32_t told_ms; /* interval told then */
    uint8_t node;     /* who told */
    usec_t stopped;   /* of that node, then */
    uint64_t subject; /* its hash; 0: none */
    uint64_t pass;   /* hash of the pass, once shown */
    int64_t released_ms, expires_s;
    /* of its session */
    usec_t ended;    /* given back or revoked; 0: not */
    int64_t until_s; /* extended; 0: not */
    int64_t first_expires_s;
    usec_t told_since; /* its node has been telling routers; 0: not */
    uint8_t told_by;
    uint32_t sweep;  /* number of the sweep that saw it last */
    seg_id host;     /* in that sweep */
    usec_t told_at;  /* a position, the last time */
    uint64_t told_position; /* 0: none yet */
};

struct sseg { /* a segment that was ever opened */
    seg_id id;
    uint16_t lane;
    uint8_t node; /* process */
    bool relaxed;
    bool gone;          /* lost, and what it had absorbed was opened again */
    bool by_order;      /* early, and not closed by the clock of its node, which is wrong */
    bool early, drawn;  /* who is in it draws lots; has drawn, durably, */
    bool drawn_there;   /* and its node has heard */
    uint32_t waiting_there;
    uint64_t sealed_epoch; /* routers were told "sealed" under it */
    seg_id alias;       /* durable: its tickets belong there */
    node_no owner;      /* as announced to routers */
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
    uint64_t max_admitted_ord; /* of those whose order is certain */
    uint64_t let_in;
};

struct released { /* one executed SEG_POP */
    int64_t at_ms; /* the manager's stamp */
    uint32_t n;
    uint16_t queue;
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
    P_ADMITTED,
    P_LEAVING,
    P_OVER,
};

struct player {
    uint8_t state, queue, lane, client, router;
    bool in_air;     /* a request is under way */
    bool leave_asked, leave_acked, vanished;
    bool by_pass;    /* it leaves by its pass */
    uint8_t command; /* enum sess_command */
    uint32_t ticket; /* UINT32_MAX: none */
    uint32_t subject; /* 0: none */
    uint32_t gen;    /* of request and timer */
    uint32_t told_ms;
    uint64_t position; /* last shown; 0 = none */
    usec_t leave_at, late_at; /* 0 = never */
    msec_t late_for_ms;
    unsigned polls_left; /* after admission */
    usec_t over_at;
};

struct sreq { /* a player's request */
    uint32_t player, gen;
    uint8_t kind; /* enum flow_kind */
    uint8_t queue, lane, client;
    uint32_t subject; /* 0: none */
    uint8_t command;  /* FLOW_SESSION */
    int64_t released_s, expires_s; /* of the pass that is shown */
    struct token token;
};

struct sans { /* and its answer */
    uint32_t player, gen;
    bool reset; /* the connection broke: no answer */
    uint8_t kind;
    struct flow flow;
    uint64_t pass; /* hash */
};

struct trace {
    usec_t at;
    const char *fmt; /* NULL: text */
    uint64_t v[5];
    char text[176];
};

/* ---- the store of several managers ---------------------------------------------------- */

enum store_ask { ASK_TAKE, ASK_RENEW, ASK_FREE, ASK_WRITE, ASK_LOAD };
enum { STORE_STALE, STORE_DONE, STORE_GAP }; /* of a write, as in redis_scripts.h */

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
    usec_t sessions_at; /* next look at what routers know */
    uint32_t sweep;
    uint8_t sweep_node;    /* whose tickets it looks at */
    uint64_t map_epoch, map_version; /* highest announced */
    int64_t wall_ahead_ms;           /* the furthest that any wall clock ever was */
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

/* ---- sim.c */
void *sim_alloc(size_t n); /* zeroed; exits without memory */
void *sim_grow(void *v, size_t *cap, size_t need, size_t size);
void sim_at(struct sim *s, usec_t at, struct event e);
void sim_after_ms(struct sim *s, double ms, struct event e);
void sim_fail(struct sim *s, const char *fmt, ...) SQ_PRINTF(2, 3);
void sim_note(struct sim *s, const char *fmt, uint64_t a, uint64_t b, uint64_t c,
              uint64_t d, uint64_t e);
msec_t sim_ms(const struct sim *s);
int64_t sim_wall(const struct sim *s);
double sim_rand(struct sim *s, double lo, double hi);

/* ---- sim_net.c */
void net_want(struct sim *s, struct proc *from, struct proc *to); /* dial if need be */
void net_drop(struct sim *s, struct conn *c); /* closed by its dialler, in order */
void net_break(struct sim *s, struct conn *c, double max_ms);
void net_proc_died(struct sim *s, struct proc *p);
usec_t proc_stopped_us(const struct sim *s, const struct proc *p); /* so far */
void proc_stopped(struct proc *p, usec_t from, usec_t to); /* counts as nobody's silence */
void net_proc_hangs_up(struct sim *s, struct proc *p); /* all its links; it lives on */
void net_event(struct sim *s, const struct event *e);
struct conn *net_conn(struct sim *s, const struct proc *p, peer_no peer);
peer_no net_peer(const struct conn *c, unsigned side);
struct conn *net_up(struct sim *s, const struct proc *from, const struct proc *to);
void net_send(struct sim *s, const struct proc *from, peer_no to, const struct msg *m,
              uint64_t rid);
void net_send_outbox(struct sim *s, const struct proc *from, struct outbox *o);

/* ---- sim_proc.c */
void proc_start(struct sim *s, struct proc *p);
void proc_stop(struct sim *s, struct proc *p);
void proc_up(struct sim *s, struct proc *p, peer_no peer, const struct proc *other);
void proc_down(struct sim *s, struct proc *p, peer_no peer, const struct proc *other);
void proc_dial_fail(struct sim *s, struct proc *p, const struct proc *other);
void proc_msg(struct sim *s, struct proc *p, const struct conn *c, peer_no peer,
              uint64_t rid, const struct msg *m);
void proc_tick(struct sim *s, struct proc *p);
bool proc_wants(const struct proc *from, const struct proc *to);
struct proc *proc_named(struct sim *s, const char *name);
struct proc *proc_of(struct sim *s, enum sim_who who, unsigned no);
struct proc *proc_add(struct sim *s, enum sim_who who, unsigned no);

/* ---- sim_mng.c */
struct mng *sim_core(const struct sim *s); /* of who leads, for looking; NULL: nobody */
struct mng *sim_mng(struct sim *s, struct proc **who); /* the same, if it can be asked */
void smng_start(struct sim *s, struct proc *p);
void smng_stop(struct sim *s, struct proc *p);
void smng_up(struct sim *s, struct proc *p, peer_no peer, const struct proc *other);
void smng_down(struct sim *s, struct proc *p, peer_no peer, const struct proc *other);
void smng_msg(struct sim *s, struct proc *p, peer_no peer, const struct msg *m);
void smng_tick(struct sim *s, struct proc *p);
void smng_done(struct sim *s, struct proc *p); /* performs the acts of the step at hand */
void smng_say(struct sim *s, struct proc *p, const struct out_item *it);
void smng_core_new(struct sim *s, struct proc *p);
void smng_begin(struct sim *s, struct proc *p);
int smng_load(void *proc, const char *key, const char *val);
struct mng_out *smng_out_new(void);
void smng_out_free(struct mng_out *out);

/* ---- sim_lead.c */
void lead_start(struct sim *s, struct proc *p);
void lead_stop(struct sim *s, struct proc *p);
void lead_flush(struct sim *s, struct proc *p);
void lead_event(struct sim *s, struct proc *p, const struct event *e);
void lead_answer(struct sim *s, struct store_msg *a); /* takes a */
void lead_link_breaks(struct sim *s, struct proc *p);
bool lead_begun(const struct proc *p);
bool lead_may_order(const struct sim *s, const struct proc *p);
uint64_t lead_needs(const struct proc *p); /* what the store must have to have all of it */
bool lead_has(const struct proc *p, uint64_t need);

/* ---- sim_store.c */
void store_pairs(const struct kv *p, kv_fn fn, void *ctx);
void store_init(struct sim *s);
void store_fini(struct sim *s);
void store_asked(struct sim *s, const struct store_msg *q);

/* ---- sim_tape.c */
void tape_log(void *proc, const struct jrec *r);
void tape_flush(struct proc *p);
void tape_lose(struct proc *p);
void tape_wipe(struct proc *p); /* the disk is gone, too */ /* what was not flushed */
void tape_snap(struct proc *p); /* a slice of a snapshot */
void tape_replay(struct proc *p, struct segtab *t);
void tape_check(struct proc *p, const struct segtab_opts *o);
void tape_fini(struct proc *p);

/* ---- sim_router.c */
struct srouter *srouter_new(void);
void srouter_free(struct sim *s, struct proc *p); /* requests under way: reset */
void srouter_up(struct sim *s, struct proc *p, peer_no peer, const struct proc *other);
void srouter_down(struct sim *s, struct proc *p, const struct proc *other);
void srouter_msg(struct sim *s, struct proc *p, const struct proc *from, peer_no peer,
                 uint64_t rid, const struct msg *m);
void srouter_event(struct sim *s, struct proc *p, const struct event *e);
bool srouter_wants(const struct srouter *r, const struct proc *to);
struct revoked;
const struct revoked *srouter_revoked(const struct srouter *r);
const struct pass_clock *srouter_clock(const struct srouter *r, usec_t *told_at);
const struct revoked *srouter_extended(const struct srouter *r);

/* ---- sim_players.c */
void players_event(struct sim *s, const struct event *e);
bool players_over(const struct sim *s);

/* ---- sim_check.c: the hooks are called where the thing happens */
void check_opened(struct sim *s, const struct proc *p, const struct msg_seg_open *o);
void check_appended(struct sim *s, const struct proc *p, const struct append_req *q,
                    const struct append_ans *a);
void check_placed(struct sim *s, const struct proc *p, const struct place_req *q,
                  const struct place_ans *a);
void check_popped(struct sim *s, const struct msg_seg_popped *g, const struct msg *order);
void check_map(struct sim *s, const struct msg_map *g);
void check_stored(struct sim *s, const char *key, const char *val);
void check_answer(struct sim *s, struct player *p, const struct sans *a);
void check_sweep(struct sim *s);
void check_end(struct sim *s); /* sim_end.c */
double check_rate(const struct squeue *q, int64_t from_ms, int64_t to_ms);
uint64_t check_hash(const char *p, size_t n);
struct ticket *check_ticket(struct sim *s, seg_id seg, uint32_t number);
struct sseg *check_seg(struct sim *s, seg_id id);
struct sseg *check_host(struct sim *s, seg_id id); /* who has its tickets */
void check_room(struct sim *s, struct proc *mng);
void check_given_up(struct sim *s, const struct proc *mng); /* nodes that it takes for lost */

/* ---- sim_subjects.c */
uint64_t subject_of(const struct sreq *q, char text[SIM_SUBJECT_LEN]);
uint32_t subject_draw(struct sim *s, unsigned queue);
void subject_given(struct sim *s, struct ticket *t, const struct append_req *q);
void subject_found(struct sim *s, const struct append_req *q, const struct append_ans *a);
void subject_waits(struct sim *s, struct ticket *t);

/* ---- sim_told.c */
void told_position(struct sim *s, struct ticket *t, uint64_t position);
void told_lost(struct proc *to, unsigned type, usec_t sent);
void told_arrives(struct proc *to, unsigned type);

/* ---- sim_opening.c */
void opening_json(const struct sim *s, char *out, size_t cap); /* part of a definition */
void opening_map(struct sim *s, const struct map_queue *m);
void opening_stored(struct sim *s, const char *key, const char *val); /* sched/ID */
/* What the answer to a join says of the draw. */
void opening_told(struct sim *s, const struct flow *f);
void opening_joined(struct sim *s, const struct sseg *g, uint64_t position);
void opening_popped(struct sim *s, const struct sseg *g, int64_t ordered_ms);
void opening_look(struct sim *s);
bool opening_is_waiting_for(const struct sim *s, seg_id seg); /* its lots */

/* ---- sim_sessions.c */
bool session_ends_by_pass(struct sim *s, struct player *p);
bool session_is_extended(struct sim *s, struct player *p);
int64_t session_until_s(const struct sim *s, const struct route_queue *q,
                        const struct sreq *r);
void session_ended(struct sim *s, struct ticket *t);
void session_done(struct sim *s, const struct sess_req *q, const struct sess_ans *a);
int64_t session_last_s(const struct ticket *t); /* the session is over then */
bool session_may_say(const struct ticket *t, int64_t expires_s); /* the pass may say so */
void sessions_sweep(struct sim *s);

/* ---- sim_slots.c */
void slots_check(struct sim *s, unsigned queue, int64_t ordered_ms); /* after a pop */

/* ---- sim_ops.c */
void ops_queue_put(struct sim *s, unsigned q);
void ops_side_queue(struct sim *s);
void sim_forget(struct sim *s, unsigned seg_node);
struct spatch ops_unpatched(const struct sim *s);
void ops_kept(struct sim *s, const struct proc *p); /* its store has more */
void ops_new_leader(struct sim *s);
void ops_say_again(struct sim *s); /* all that they want: the last leader may not have kept it */

/* ---- sim_fclocks.c */
int64_t clock_wall(const struct proc *p); /* as this process sees it */
struct seg_now clock_now(const struct proc *p);
int64_t clock_true(const struct sim *s, int64_t stamp_ms); /* whosever clock said it */

/* ---- sim_faults.c; the kinds, in the order in which their first moments are drawn */
#define SIM_FAULTS(X)                                                                    \
    X(link_break)                                                                        \
    X(link_cut)                                                                          \
    X(slow_link)                                                                         \
    X(pause)                                                                             \
    X(router_restart)                                                                    \
    X(mng_restart)                                                                       \
    X(seg_lose)                                                                          \
    X(drain)                                                                             \
    X(queue_pause)                                                                       \
    X(queue_close)                                                                       \
    X(queue_put)                                                                         \
    X(release_by_hand)                                                                   \
    X(add_node)                                                                          \
    X(seg_kill)                                                                          \
    X(store_away)                                                                        \
    X(store_slow)                                                                        \
    X(store_forget)                                                                      \
    X(store_failover)                                                                    \
    X(clock_jump)                                                                        \
    X(link_oneway)                                                                       \
    X(slow_proc)                                                                         \
    X(storm)                                                                             \
    X(disk_full)                                                                         \
    X(disk_slow)                                                                         \
    X(queue_passthrough)                                                                 \
    X(queue_reject)                                                                      \
    X(queue_patch)                                                                       \
    X(drain_all)                                                                         \
    X(routers_gone)                                                                      \
    X(forget)
#define X(name) void fault_##name(struct sim *s);
SIM_FAULTS(X)
#undef X
enum mend { MEND_UNDRAIN, MEND_OPEN, MEND_ALL, MEND_SAY_AGAIN, MEND_ONEWAY, MEND_DISK };
void fault_disk_mended(struct sim *s, struct proc *p);
bool disk_refuses(const struct proc *p); /* what the turn at hand has logged */
void disk_turn(struct sim *s, struct proc *p, size_t bytes); /* so much was written */
void faults_mend_later(struct sim *s, enum mend what, uint32_t whom, double ms);
void faults_start(struct sim *s);
void faults_event(struct sim *s, const struct event *e);

#endif

/* segtab_int.h: what the parts of segtab share.
 *   segtab.c         life, peers, clock, the tick
 *   segtab_hot.c     polls, joins, leaves
 *   segtab_session.c what backends want of sessions
 *   segtab_orders.c  what the manager orders
 *   segtab_release.c releases, and which of them may be told
 *   segtab_away.c    and who is not there to be released
 *   segtab_rebuild.c a segment whose tickets come back with their polls
 *   segtab_report.c  what it is told
 *   segtab_move.c    moves, both sides, up to their end
 *   segtab_commit.c  their end
 *   segtab_rules.c   the rules of its queues
 *   segtab_dir.c     its part in the directory of subjects; with segtab_dir_say.c,
 *                    segtab_dir_ask.c, segtab_claim.c
 *   segtab_log.c     what is written down about all this
 *   segtab_hold.c    and when nothing can be
 *   segtab_replay.c  and read again; with segtab_stage.c
 *   segtab_snap.c    all of it at once
 *   segtab_why.c     what is known of one ticket
 *   segtab_audit.c   what is told to the audit trail; segtab_audit.h */
#ifndef SEGQ_SEGTAB_INT_H
#define SEGQ_SEGTAB_INT_H

#include "common/base/list.h"
#include "common/base/map.h"
#include "common/ticket/pace.h"
#include "common/ticket/draw.h"
#include "segment/audit/audit_line.h"
#include "segment/line/body.h"
#include "segment/records/jrec.h"
#include "segment/line/marks.h"
#include "segment/node/segtab.h"
#include "segment/node/segtab_dir.h"
#include "segment/copy/xfer.h"

#define SEGTAB_UNIT_MS     100   /* the smallest idle unit */
#define SEGTAB_MOVED_MAX   4096  /* aliases remembered after a move away */
#define SEGTAB_TOMB_MS     60000 /* how long the reason of a no-show is known */
#define SEGTAB_REPORT_MS   100   /* reports come at most this often */
#define SEGTAB_KEY_S       60    /* a join's key is kept so long, and until the next poll */
#define SEGTAB_FIRST_MS    20    /* but that somebody is the first, after so long */
#define SEGTAB_BEAT_MS     1000  /* and at least this often */
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
    uint32_t hold_s;      /* so long after a manager's last word sessions may last; 0: longer */
    uint32_t ttl_was_s;   /* longer than pass_ttl_s, and what passes say that were released */
    int64_t ttl_until_ms; /* before this (wall clock); 0: it was never lowered */
    struct pace pace[LANES_MAX];
    struct list segs; /* its segments on this node */
};

static inline uint32_t queue_longest_idle_ms(const struct queue *q)
{
    uint32_t ms = 0;

    for (unsigned i = 0; i < CLIENT_NCLASSES; i++)
        ms = q->idle_ms[i] > ms ? q->idle_ms[i] : ms;
    return ms;
}

struct move;

struct seg { /* one hosted segment */
    struct body b;
    struct segtab *tab;  /* ref */
    struct queue *queue; /* ref */
    uint8_t lane;
    bool dirty_tags;
    uint32_t capacity;
    seg_id next;
    uint64_t ahead;
    uint64_t ahead_due; /* said while nothing could be written; AHEAD_UNKNOWN: nothing was */
    uint32_t unit_ms;
    double per_unit;      /* 1 / unit_ms */
    uint32_t told_max_ms; /* idle time and told interval must fit into the horizon */
    uint32_t sweep_block;
    uint8_t swept_unit; /* the unit of the last whole sweep */
    bool early;         /* its people wait for the draw, and have no positions */
    bool closed;        /* sealed by our clock, since the node started */
    int64_t closes_ms;  /* early: sealed then, by our wall clock; 0: by order alone */
    struct draw *draw;  /* owned; NULL: there was none. See segtab_draw.c */
    uint32_t snap_no;   /* of the last snapshot that it is in */
    bool known;         /* replaying: what is said before its MARK is in it already */
    uint64_t last_tick;
    uint32_t last_n; /* its answer */
    uint64_t popped, no_shows, expired, left;
    uint64_t away, polls; /* since the node started: passed over; by who waits */
    uint8_t classes;  /* of clients that were seen in it, a bit each; 0: any */
    uint64_t claimed; /* since the node started: for the claim rate, which looks at growth */
    struct marks unkept; /* releases that the manager has not stored yet */
    msec_t unkept_ms;    /* since when, on the service clock */
    /* while it is hollow (b.q.hollow): */
    uint32_t mark_end; /* numbers below were released before */
    uint32_t certain;  /* every number below is back, or known to be dead */
    uint32_t for_ms;   /* how long it is; 0: its beginning was not all written down */
    msec_t looked_ms;  /* service clock: what came before counts already in spent_us */
    int64_t spent_us;  /* of for_ms */
    bool refused;      /* somebody could not be put back since */
    struct move *out, *in;   /* ref; under way */
    struct list_node node;   /* in segtab.segs */
    struct list_node queued; /* in queue.segs */
    struct list_node dirty;  /* in segtab.dirty: to be settled and reported */
    struct list_node active; /* in segtab.active: somebody waits, or was released */
};

/* Of either side. */
enum move_stage {
    MOVE_DIALLING, /* out: no link to the target's node yet */
    MOVE_RUNNING,  /* out: copying, perhaps fenced; in: receiving */
    MOVE_READY,    /* in: has everything; only MOVE_END decides */
};

struct move {
    struct list_node node; /* in segtab.moves */
    uint64_t id;
    seg_id from, to;
    uint8_t side; /* enum move_side */
    enum move_stage stage;
    peer_no peer;    /* 0: none (any more) */
    struct seg *seg; /* ref: the local segment */
    char peer_name[NAME_MAX_LEN + 1], peer_addr[64];
    msec_t progress_ms, told_ms;
    msec_t fenced_ms; /* out: service clock when it was fenced */
    uint8_t fenced_unit;
    uint64_t told; /* in: what the members of the directory must have heard; 0: nothing */
    msec_t whole_ms; /* in: since when the copy is whole */
    union {
        struct xfer_out out;
        struct xfer_in in;
    };
};

struct peer {
    peer_no no;
    uint8_t role;
    bool refused;   /* a manager: it has been logged */
    uint64_t store; /* a manager: what its NODE_OK said */
    char name[NAME_MAX_LEN + 1];
};

struct moved { /* a ring: the oldest is forgotten */
    seg_id id, to;
};

/* What a segment id in a token or request stands for: the low bits of a value in `homes`.
 */
enum home_kind { HOME_SEG = 0, HOME_RELOC = 1, HOME_MOVED = 2 };

struct segtab {
    struct segtab_opts o;
    char addr[64], admin[64];
    struct block_pool pool;
    struct map homes;  /* seg_id -> struct seg *, struct reloc * or index of moved */
    struct map queues; /* queue_id -> struct queue * */
    struct list segs, dirty, active, moves;
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
    struct seg_now now; /* of the present call */
    int64_t close_ms;   /* no early segment closes before this; 0: none does */
    msec_t clock_at_ms; /* up to when the service clock was advanced */
    bool clock_runs;
    msec_t heard_ms;    /* when a router was heard last; 0: never */
    msec_t back_ms, away_ms;      /* the first came back then, after so long without any */
    msec_t rest_until_ms;         /* until then the clock stands: their clients come back */
    msec_t service_ms;
    msec_t report_ms, beat_ms;
    struct pass_row *ended; /* owned; passes that routers have not been told of yet */
    uint32_t n_ended, cap_ended;
    struct sess_req *longer; /* owned; likewise, sessions that were extended */
    uint32_t n_longer, cap_longer;
    bool ended_all; /* they must be told all of them */
    bool urgent; /* do not wait for the tick to report */
    struct outbox loop[2]; /* messages of this node to itself */
    unsigned loop_in;      /* which one is being filled */
    struct segtab_counts n;
    struct jrec joins;       /* a run of joins that is not in the log yet; n == 0: none */
    bool hold;               /* nothing changes: it could not be written down */
    bool full;               /* nobody joins: for a new ticket's records there is no room */
    bool replaying, snap_read;
    bool partial; /* replaying what was said while a snapshot was taken */
    uint32_t snap_no;
    void (*snap)(void *ctx, const struct jrec *r); /* NULL, but while one is written */
    void *snap_ctx;
    struct stage *stage; /* owned; segtab_stage.c */
    uint64_t popping;    /* the tick of the order at hand; 0: none, or it is replayed */
    struct dirs dir;
};

/* ---- segtab.c -------------------------------------------------------------------- */
void segtab_clock(struct segtab *t, struct seg_now now);
void segtab_heard(struct segtab *t, struct seg_now now); /* and a router says something */
uint8_t segtab_unit(const struct segtab *t, const struct seg *g); /* now, modulo 256 */
void segtab_fit_unit(struct segtab *t, struct seg *g);  /* after rules or pace changed */
uint64_t segtab_max_blocks(const struct segtab_opts *o); /* what max_tickets is in blocks */
struct peer *segtab_peer(struct segtab *t, peer_no no); /* or NULL */
const struct peer *segtab_peer_named(const struct segtab *t, const char *name,
                                     uint8_t role);
void segtab_touch(struct segtab *t, struct seg *g); /* changed: settle and report */
void segtab_wake(struct segtab *t, struct seg *g);  /* has waiting or released tickets */
/* Where a message of this node goes: to `peer`, or round to ourselves. */
struct outbox *segtab_to(struct segtab *t, peer_no peer, struct outbox *out);
struct seg *segtab_seg_new(struct segtab *t, const struct msg_seg_open *m,
                           struct queue *q); /* NULL: no memory */
void segtab_seg_free(struct segtab *t, struct seg *g);
struct seg *segtab_seg(const struct segtab *t, seg_id id); /* hosted under this id */
SQ_CHECK int segtab_home_set(struct segtab *t, seg_id id, enum home_kind k, void *p);
void segtab_home_moved(struct segtab *t, seg_id id, seg_id to);
/* The ticket left the line: its name is free again, a copy of it must follow. */
void segtab_died(struct seg *g, uint32_t slot);
void segtab_over(struct segtab *t, struct seg *g, struct session *x, int reason);
/* segtab_passes.c: an admitted one is over while its pass is not, or lasts longer */
void segtab_revoke(struct segtab *t, struct seg *g, struct session *x, int reason);
/* told: also in the audit trail (a renewal is not: there is one every few minutes). */
void segtab_extend(struct segtab *t, struct seg *g, struct session *x, int64_t until_s,
                   bool told);
int64_t segtab_until_s(const struct seg *g, const struct session *x); /* as its pass says */
/* Its length, in mem; negative: no memory, or an impossible name. segtab_hot.c */
int segtab_make_pass(struct segtab *t, const struct seg *g, const struct session *x,
                     struct arena *mem, const char **out);
uint32_t segtab_ttl_s(const struct queue *q, int64_t released_at_ms); /* segtab_rules.c */
void segtab_rules_replayed(struct segtab *t);
void segtab_passes_all(struct segtab *t, peer_no to, struct outbox *out);
void segtab_passes_moved(struct segtab *t, const struct seg *g, const struct xfer_in *in);
void segtab_passes_flush(struct segtab *t, struct outbox *out);

/* ---- segtab_hot.c ---------------------------------------------------------------- */
struct spot { /* where a token's ticket is */
    struct seg *seg;
    struct ticket_id id; /* as it is called in here: after a draw the number is the place */
    uint32_t slot;  /* SEGQ_NONE: it was dead when its segment was absorbed */
    uint8_t reason; /* enum gone_reason if it is dead and there is no record */
    seg_id moved_to;
};
enum spot_kind { SPOT_HERE, SPOT_MOVED, SPOT_UNKNOWN };
void segtab_leave(struct segtab *t, const struct spot *s); /* of its own will */
/* In the lane; 0: not known. */
uint64_t segtab_position(const struct seg *g, uint32_t slot);
/* Why a dead ticket without a record is dead, as far as that is still known. */
unsigned segtab_reason(const struct spot *s);
enum spot_kind segtab_find(const struct segtab *t, seg_id seg, uint32_t number,
                           struct spot *s);

/* ---- segtab_orders.c ------------------------------------------------------------- */
void segtab_order(struct segtab *t, peer_no from, const struct msg *m,
                  struct outbox *out);
void segtab_error(struct outbox *out, peer_no to, int code, uint32_t about,
                  const char *text);

/* ---- segtab_report.c ------------------------------------------------------------- */
void segtab_register(struct segtab *t, peer_no manager, struct outbox *out);
void segtab_report_all(struct segtab *t, peer_no manager, struct outbox *out);
void segtab_report_changes(struct segtab *t, struct outbox *out);
void segtab_report_one(struct segtab *t, seg_id id, peer_no to, struct outbox *out);
void segtab_status(const struct seg *g, struct seg_status *s);
void segtab_list_marks(const struct seg *g, struct seg_status *s, struct outbox *out);

/* ---- segtab_move.c --------------------------------------------------------------- */
void order_move_in(struct segtab *t, peer_no from, const struct msg_move_in *m,
                   struct outbox *out);
void order_move_out(struct segtab *t, peer_no from, const struct msg_move_out *m,
                    struct outbox *out);
void segtab_copy(struct segtab *t, peer_no from, const struct msg *m, struct outbox *out);
void segtab_moves_tick(struct segtab *t, struct outbox *out);
void segtab_moves_peer(struct segtab *t, const struct peer *p, bool up,
                       struct outbox *out);
void segtab_moves_no_dial(struct segtab *t, const char *name, struct outbox *out);
void segtab_moves_heard(struct segtab *t, struct outbox *out); /* by the directory */
void segtab_moves_tell(struct segtab *t, struct outbox *out); /* all, to a new manager */
void segtab_moves_drop(struct segtab *t, struct seg *g, const char *why,
                       struct outbox *out);
static inline bool seg_is_fenced(const struct seg *g)
{
    return g->out != NULL && g->out->stage == MOVE_RUNNING &&
           xfer_out_is_fenced(&g->out->out);
}
void segtab_move_free(struct segtab *t, struct move *v);
struct move *segtab_move_find(const struct segtab *t, uint64_t id, uint8_t side);
void segtab_move_abort(struct segtab *t, struct move *v, const char *why,
                       struct outbox *out);
void segtab_move_tell(struct segtab *t, uint64_t move, seg_id from, seg_id to,
                      uint8_t side, uint8_t report, uint32_t tickets, const char *why,
                      struct outbox *out);
struct xfer_time segtab_move_time(const struct segtab *t, const struct seg *g);
bool segtab_has_absorbed(const struct segtab *t, seg_id from, seg_id to);

/* ---- segtab_commit.c ------------------------------------------------------------- */
void order_move_end(struct segtab *t, peer_no from, const struct msg_move_end *m,
                    struct outbox *out);

/* ---- segtab_log.c: all of them do nothing without a log, or while replaying -------- */
static inline bool segtab_logs(const struct segtab *t)
{
    return (t->o.log != NULL || t->snap != NULL) && !t->replaying;
}
void segtab_log(struct segtab *t, const struct jrec *r);
void segtab_log_set(struct segtab *t, enum jrec_kind k, seg_id seg, uint64_t n);
void segtab_log_epoch(struct segtab *t);
void segtab_log_rules(struct segtab *t, const struct queue *q);
void segtab_log_open(struct segtab *t, const struct seg *g, uint8_t kind);
void segtab_log_join(struct segtab *t, const struct seg *g, uint32_t number);
void segtab_log_joins(struct segtab *t); /* the run so far */
void segtab_log_subject(struct segtab *t, const struct seg *g, const struct subject *x);
/* Slots in rising order. */
void segtab_log_drops(struct segtab *t, const struct seg *g, const uint32_t *slot,
                      uint32_t n, enum dead why);
void segtab_log_session(struct segtab *t, const struct seg *g, const struct session *x);
void segtab_log_extend(struct segtab *t, const struct seg *g, struct ticket_id id,
                       int64_t until_s);
void segtab_log_released(struct segtab *t, const struct seg *g, const struct mark_row *r);
void segtab_log_hollow(struct segtab *t, const struct seg *g);
void segtab_log_unkept(struct segtab *t, const struct seg *g);
void segtab_log_forget(struct segtab *t, const struct seg *g, struct ticket_id id);
void segtab_log_reloc(struct segtab *t, const struct seg *g, const struct reloc *r);
void segtab_log_final(struct segtab *t, const struct seg *g, uint64_t move, seg_id to);
/* What the commit of `x` has just given to g; its tables have no host yet. */
void segtab_log_absorbed(struct segtab *t, const struct seg *g, const struct xfer_in *x);

/* ---- segtab_hold.c --------------------------------------------------------------- */
/* The order would change what cannot be written now: true, and it is answered. */
bool segtab_puts_off(struct segtab *t, peer_no from, const struct msg *m,
                     struct outbox *out);
/* It only falls; at once, or when it can be written down. */
void segtab_set_ahead(struct segtab *t, struct seg *g, uint64_t ahead);

/* ---- segtab_stage.c -------------------------------------------------------------- */
void segtab_stage_free(struct segtab *t);
/* ---- segtab_release.c ------------------------------------------------------------- */
void order_seg_pop(struct segtab *t, peer_no from, const struct msg_seg_pop *m,
                struct outbox *out);
uint32_t segtab_pop_returning(struct segtab *t, struct seg *g, uint32_t n, int64_t at_ms,
                              bool keeps);
/* ---- segtab_away.c */
#define SEGTAB_AWAY_MAX 4096 /* by one pop */
/* The first of the line, at most n, who are all later than that or all not; into ids. */
uint32_t segtab_away_run(const struct segtab *t, const struct seg *g, uint32_t away_ms,
                         uint32_t n, bool *away, struct ticket_id *ids);
/* Popped, logged, and not there. */
void segtab_away(struct segtab *t, struct seg *g, const struct ticket_id *ids, uint32_t n);

/* away: they are not there, and are no-shows at once. */
uint32_t segtab_pop_waiting(struct segtab *t, struct seg *g, uint32_t n, int64_t at_ms,
                            bool keeps, bool away);
/* Its releases up to this pop are stored: they may be told. */
void segtab_kept(struct segtab *t, const struct kept_entry *k);
/* When the pass that was released then is over, on our clock. */
msec_t segtab_pass_end(const struct segtab *t, const struct seg *g, int64_t at_ms);
msec_t segtab_session_end(const struct segtab *t, const struct seg *g,
                          const struct session *x);

/* ---- segtab_draw.c ----------------------------------------------------------------- */
/* Its people get their places; why not is logged. */
void segtab_draw(struct segtab *t, struct seg *g, const struct seg_draw *d);
/* It was before: only the numbers in tokens are not the slots. n 0: nothing. */
SQ_CHECK int segtab_draw_was(struct segtab *t, struct seg *g, const struct seg_draw *d);
SQ_CHECK int segtab_draw_now(struct seg *g, const struct seg_draw *d);
/* A ticket as tokens, passes and other processes name it; see struct spot. */
struct ticket_id segtab_outside(const struct segtab *t, struct ticket_id id);
void segtab_log_draw(struct segtab *t, const struct seg *g);
/* An early one closes by itself at this time of our wall clock; 0: by order alone. */
void segtab_close_at(struct segtab *t, struct seg *g, int64_t closes_ms);
void segtab_close_due(struct segtab *t); /* those whose time has come: nobody joins any more */

/* ---- segtab_rebuild.c -------------------------------------------------------------- */
#define SEGTAB_HOLLOW_MAX (1u << 24) /* numbers of a segment that is to be rebuilt */
#define SEGTAB_UNKEPT_MAX 1024 /* rows of one segment; a pop waits, or an old one is forgotten */
/* What the order says of its releases; SQ_ENOMEM: nothing can be said of it. */
SQ_CHECK int segtab_rebuild_begin(struct segtab *t, struct seg *g,
                                  const struct msg_seg_open *m);
/* A poll of a ticket that is neither alive nor released. false: it is dead. */
bool segtab_rebuild_poll(struct segtab *t, const struct spot *s);
void segtab_rebuild_leave(struct segtab *t, const struct spot *s);
void segtab_rebuild_tick(struct segtab *t, struct seg *g);
/* How many may be released now: none behind somebody of whom nothing is known. */
uint32_t segtab_rebuild_ready(struct seg *g);
/* first .. first + n - 1 are inside, or were. */
SQ_CHECK int segtab_rebuild_released(struct segtab *t, struct seg *g, uint32_t first,
                                     uint32_t n, int64_t at_ms);
/* ---- segtab_rules.c -------------------------------------------------------------- */
struct queue *segtab_queue(struct segtab *t, queue_id id, bool make); /* or NULL */
int segtab_set_rules(struct segtab *t, const struct msg_rules *m, bool *changed);
/* The source's end of a move whose copy was complete. SQ_ENOMEM, or 0. */
SQ_CHECK int segtab_move_recover(struct segtab *t, struct seg *g, uint64_t id, seg_id to);

#endif

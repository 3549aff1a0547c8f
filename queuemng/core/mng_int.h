/* mng_int.h: the manager core's own structures; for queuemng/mng*.c, mseg.c, chain.c, place.c,
 * move.c, pop.c, member.c, rebuild.c only. Pure.
 *
 *   mng -> queues -> lanes -> segments (chain order)      nodes -> segments hosted
 *       -> moves                                          routers
 *
 * Owner of every object is the mng; other pointers are refs. A segment is in its lane's
 * chain and in its node's list at the same time, both for its whole life. */
#ifndef SEGQ_MNG_INT_H
#define SEGQ_MNG_INT_H

#include "common/base/list.h"
#include "common/base/map.h"
#include "common/ticket/pace.h"
#include "common/base/rng.h"
#include "queuemng/core/mng.h"
#include "queuemng/policy/claims.h"
#include "queuemng/policy/eta_lane.h"
#include "queuemng/policy/hearing.h"
#include "queuemng/policy/release.h"

#define MNG_AGAIN_MS      1000  /* an order without visible effect is given again */
#define MNG_SILENT_MS     1500  /* a node in which somebody waits reports every second */
#define MNG_TAIL_AFTER_MS 2000  /* an unreachable tail is taken for sealed */
#define MNG_MOVE_IDLE_MS  20000 /* a move without progress is aborted */
#define MNG_REFUSED_MS    10000 /* a node that refused a segment is not asked again for */
#define MNG_NODE_MOVES    4     /* at one node at a time */
#define MNG_OPEN_MAX      64    /* segments of one lane open ahead of the joins */
#define MNG_SEG_IDS       64    /* ids reserved in the store at a time */
#define MNG_TOMBSTONES    1024
#define MNG_MARK_ROWS     32    /* releases in one stored record */
#define MNG_MARK_RECORDS  256   /* of one lane; older releases count as long over */

struct mqueue;
struct mlane;
struct mmove;

struct mnode { /* a segment node, for ever known by its name */
    node_no no;
    char name[NAME_MAX_LEN + 1], addr[64], admin[64];
    uint64_t incarnation;
    peer_no peer;       /* 0 = no link */
    bool registered;    /* link is up and its full report is complete */
    bool foreign;       /* it obeys managers that have another store */
    bool gave_up;       /* silent for so long that its segments were given up */
    bool draining;
    bool retired;       /* drained and gone; mng_forget.c */
    bool can_directory; /* its release can; mng_members.c */
    bool member;        /* it does */
    bool draws;         /* it can have segments of early ones */
    bool closes;        /* and seals them by its clock */
    int64_t past_ms;    /* its clock was past this opening when ours was not; 0: not seen */
    msec_t down_ms;     /* since when there is no link */
    msec_t heard_ms;    /* when it last said something */
    msec_t refused_ms;  /* when it refused to open a segment; 0 = does not */
    uint64_t tickets, max_tickets;
    uint32_t max_segments;
    uint8_t pass_key[32];
    struct pass_others other_keys;
    struct list segs;   /* mseg.on_node */
    uint32_t used;      /* of them open or with somebody in line */
    uint32_t moves;     /* it takes part in */
    struct ahead_entry *ahead; /* to be sent at the end of this step; owned */
    uint32_t n_ahead, cap_ahead;
    struct pace_entry *pace;
    uint32_t n_pace, cap_pace;
    struct kept_entry *kept;
    uint32_t n_kept, cap_kept;
};

struct mrouter {
    peer_no peer;
    char name[NAME_MAX_LEN + 1], http[64], admin[64];
    uint64_t incarnation;
    bool registered;
    uint64_t sent_version; /* of the map */
    bool stats_all;        /* has had no figures yet */
    struct list_node in;
};

struct mlots { /* of a segment that early ones join; lots.c */
    bool early;
    bool by_order; /* its node's clock is wrong: it is sealed by order alone */
    uint32_t n; /* so many numbers draw places; stored; 0: not counted yet */
    uint8_t seed[DRAW_SEED];
};

struct mseg {
    seg_id id;
    struct mlane *lane;  /* ref */
    struct mnode *node;  /* ref */
    uint8_t state;       /* enum seg_state, as announced to routers */
    uint8_t kind;        /* enum open_kind */
    uint32_t capacity;
    bool confirmed;      /* the node has reported it: routers may know it */
    bool known;          /* st is a report of this manager's time */
    bool seen;           /* in the full report being read */
    bool want_seal, want_remove, force;
    bool used;           /* counted in node->used */
    bool lost;           /* its node is gone with it: to be opened elsewhere */
    bool missing;        /* its node does not have it: merged within the node, or lost */
    bool rebuild;        /* its tickets are still coming back */
    uint32_t was_waiting; /* when it was lost: so many may come back */
    uint32_t mark_end;   /* its numbers below were released, left or timed out */
    uint64_t maybe_inside; /* of pops that were given up since its last report */
    seg_id want_next;
    struct seg_status st;
    struct mlots lots;
    seg_id *absorbed;    /* owned: whose tickets its node has said are in it */
    uint32_t n_absorbed;
    bool lacks;          /* an alias leads to it of which it has not said so */
    uint64_t ahead, ahead_sent;
    bool ahead_known;    /* every segment before has been heard of */
    msec_t ordered_ms;   /* last order to reconcile; 0 = none yet */
    msec_t lost_ms;
    uint64_t lost_inside; /* of mqueue.lost: were inside of it then */
    struct mmove *move;  /* ref; as source or target */
    struct list_node in_lane, on_node, in_todo;
};

struct munseen { /* people of whom nobody tells us, and who may be inside for a while */
    uint64_t n;
    int64_t until_ms; /* wall clock */
    msec_t since_ms;  /* our own; 0: before our time */
};

struct mpop { /* the release under way in a lane: one SEG_POP at a time */
    bool busy;
    seg_id seg;
    uint64_t tick;
    uint32_t n;
    uint64_t left;      /* to give after this one, from the next segments */
    uint64_t by_hand;   /* of that */
    msec_t sent_ms, since_ms;
    int64_t wall_ms;
};

struct malias { /* the tickets of `from` live in `to` now */
    seg_id from, to;
    uint32_t capacity; /* of `from`: 0: it never gave a number; MNG_CAPACITY_UNKNOWN */
    uint32_t mark_end; /* see struct mseg */
};
#define MNG_CAPACITY_UNKNOWN UINT32_MAX

struct mchunk { /* releases, as stored together */
    uint64_t no;
    uint32_t n;
    bool dirty;
    msec_t since_ms; /* its last row came: wall clocks jump */
    struct mark_row v[MNG_MARK_ROWS];
};

struct mlane {
    struct mqueue *q;   /* ref */
    unsigned no;
    struct list segs;
    struct malias *alias; /* owned; those of one target in the order of its line */
    uint32_t n_alias, cap_alias;
    struct mchunk **chunk; /* owned; the latest releases, oldest first */
    uint32_t n_chunks, cap_chunks;
    uint64_t next_chunk;
    bool recovering; /* the last look for somebody to release ended at a rebuild */
    bool has_lost;   /* some segment waits for a node */
    bool has_lacks;  /* or for what it absorbed */
    struct mpop pop;
    bool dirty;
    struct list_node in_dirty;
    /* sums over the chain, by lane_sum() */
    uint64_t waiting, returning, ready, active, room;
    uint64_t missing;   /* of lost segments: not back yet, at most */
    uint32_t n_away;    /* segments that are lost, or being rebuilt */
    uint64_t joined, left, expired, no_shows; /* of segments that are there */
    uint64_t gone_joined, gone_left, gone_expired, gone_no_shows; /* of those removed */
    uint64_t released;  /* ever, in this manager's time */
    /* rates */
    uint64_t joined_before, released_before;
    double join_per_s, release_per_s;
    struct eta_lane eta;
    uint64_t eta_released, eta_gone; /* at its last look */
    struct pace pace;   /* as last sent */
    msec_t told_ms;     /* until then somebody may stay away, as he was told */
    uint32_t most_ms;   /* the longest interval that some node may be telling now */
    uint64_t kept_told_ms; /* stored: not less than told_ms is away; 0: poll_max will do */
    uint64_t manual;    /* tickets an operator has released by hand, still to go */
};

struct mqueue {
    queue_id id;
    struct queue_def def; /* owned */
    uint64_t version;     /* of the definition */
    struct release rel;
    struct claims claims;
    struct hearing hearing;
    unsigned n_lanes;
    struct mlane lane[LANES_MAX];
    bool full;            /* max_waiting reached */
    uint64_t map_version; /* when its map record last changed */
    struct schedule sched;
    bool early_ready;     /* routers may send early ones */
    struct munseen flushed, lost; /* when the queue was flushed, segments were lost: slots.c */
    int64_t deleted_until_ms; /* wall clock; 0: it is not deleted; mng_delete.c */
    int deleted_state;        /* its state before */
    bool put_def, put_chain, put_marks, put_sched; /* to be stored at the end of this step */
    bool active;          /* in mng.active: somebody waits */
    bool stats_dirty;
    double allowed_per_s;
    struct list_node in_all, in_active, in_puts, in_hurry;
};

enum move_state {
    MOVE_PLANNED,    /* MOVE_IN is to be accepted by the target's node */
    MOVE_COPY,       /* source is copying */
    MOVE_COMMITTING, /* alias is durable; target is told */
    MOVE_CLEARING,   /* target has it, routers know; source is told */
    MOVE_ABORTING,   /* both are told to forget */
    MOVE_NSTATES
};

struct mmove {
    uint64_t id;
    struct mseg *from, *to;   /* refs; from is NULL from MOVE_CLEARING on */
    seg_id from_id, to_id;
    struct mnode *from_node, *to_node;
    enum move_state state;
    bool from_done, to_done;  /* aborted there */
    uint32_t tickets;
    msec_t progress_ms, sent_ms;
    struct list_node in;
};

struct tombstone {
    queue_id id;
    uint64_t version;
};

struct mticket { /* one ticket on its way to another lane; mng_ticket.c */
    uint64_t order;
    queue_id queue;
    unsigned lane;          /* the one it is to go to */
    struct msg_ticket said; /* the last order */
    peer_no peer;           /* whom it was given to */
    unsigned tries;
    msec_t began_ms, again_ms; /* again_ms: when it is to be given; 0: an answer is awaited */
    bool ended;
    struct mng_ticket_end end;
    struct list_node in;
};

struct mng {
    struct mng_opts opts;
    char issuer[128];
    bool started;
    msec_t started_ms;
    bool deaf;            /* some node with segments does not hear what it is told */
    msec_t now_ms;
    int64_t said_ms; /* the wall clock; */
    int64_t wall_ms; /* and that of releases, which does not leap: wall_steady() */
    struct wall_guard stamp_guard;
    struct wall_guard wall_guard;
    int64_t sched_ms;     /* the wall clock as far as it is believed */
    bool schedules;       /* some queue has one */
    uint64_t seeds;       /* of draws, ever made */
    struct rng rng;
    uint64_t given_epoch; /* of the term to come; 0 = the one after the stored one */
    uint64_t outranked;
    uint64_t store; /* names what is kept: whoever has it not is another cluster's */
    uint64_t epoch, next_seg, seg_reserved, next_move, pop_counter;
    queue_id next_queue;
    uint32_t n_deleted;  /* of the queues */
    node_no next_node;
    bool put_meta;
    struct mnode **node; /* by no - 1; owned */
    uint32_t n_nodes;
    uint64_t members_version; /* 0: the directory has never had a member */
    bool nodes_changed;  /* the map's node list */
    struct list routers; /* mrouter.in; owned */
    struct list queues;  /* mqueue.in_all: by map_version, oldest first; owned */
    struct map queue_by_id, seg_by_id, peer_node, peer_router;
    struct map queue_by_name; /* hash of the name -> id; names are compared after */
    struct list active;      /* mqueue.in_active */
    struct list puts;        /* mqueue.in_puts: to be stored at the end of this step */
    struct list dirty_lanes; /* mlane.in_dirty */
    struct list hurry;       /* mqueue.in_hurry: somebody has come to an empty lane */
    struct list todo;        /* mseg.in_todo: what should be differs from what is */
    struct list moves;       /* mmove.in; owned */
    struct list tickets;     /* mticket.in; owned */
    uint64_t ticket_orders;
    uint64_t map_version, nodes_version;
    struct tombstone tomb[MNG_TOMBSTONES];
    uint32_t n_tombs;
    uint64_t tomb_floor;     /* routers older than this get everything */
    struct metric metric[MNG_METRICS_MAX];
    unsigned n_metrics;
    char known[MNG_METRICS_MAX][NAME_MAX_LEN + 1]; /* monitors of the configuration */
    size_t n_known;
    bool knows;              /* them */
    bool stats_now;          /* routers get figures with this step */
    uint32_t tier_notes;     /* logged in this second */
    msec_t second_ms;        /* when the once-a-second work is due */
    struct mng_counts count;
    struct eta_errors eta_errors;
    struct mng_out *out;     /* of the step being done */
};

/* ---- mng.c */
void mng_begin(struct mng *m, msec_t now_ms, struct mng_out *out);
void queue_figures_now(struct mng *m, struct mqueue *q);
void mng_end(struct mng *m);  /* planning, stores, maps, aheads: the end of every step */
struct msg *mng_to(struct mng *m, peer_no p, enum msg_type t);

/* ---- mng_queue.c: queues and their lanes */
struct mqueue *queue_find(const struct mng *m, const char *name);
struct mqueue *queue_by_id(const struct mng *m, queue_id id);
struct mqueue *queue_new(struct mng *m, queue_id id);
void queue_free(struct mng *m, struct mqueue *q);
void queue_fit_lanes(struct mng *m, struct mqueue *q);
unsigned def_lane_count(const struct queue_def *d);
const char *def_lane_name(const struct queue_def *d, unsigned i);
void queue_mapped(struct mng *m, struct mqueue *q); /* its map record has changed */
void queue_keep(struct mng *m, struct mqueue *q, bool def); /* store its chain (or def.) */
void queue_put_later(struct mng *m, struct mqueue *q); /* what put_... say */
void queue_rules_to(struct mng *m, const struct mqueue *q, struct mnode *n);
/* A stored definition, at start. */
struct queue_undo { /* until_ms 0: it is not deleted */
    int64_t until_ms;
    int state;
};
SQ_CHECK int queue_load(struct mng *m, queue_id id, uint64_t version,
                        const struct queue_def *d, const struct queue_undo *undo,
                        struct err *e);
SQ_CHECK int queue_name(struct mng *m, const struct mqueue *q); /* may be found by it */
void queue_unname(struct mng *m, const struct mqueue *q);
void segs_forget(struct mng *m, struct mlane *l); /* everybody in the lane is gone */
bool queue_takes_joins(const struct mqueue *q);
bool queue_wants_room(const struct mqueue *q); /* its lanes have a tail */
uint8_t queue_map_state(const struct mqueue *q);
struct map_phase queue_map_phase(const struct mqueue *q);
const char *queue_public_state(const struct mqueue *q); /* as routers say it */

/* ---- mng_delete.c */
struct mqueue *queue_deleted(const struct mng *m, const char *name);
void queue_gone(struct mng *m, struct mqueue *q); /* for good; frees it */
/* A new queue gets this name: SQ_ECONFLICT if a deleted one has people in it. */
SQ_CHECK int queue_make_way(struct mng *m, const char *name, struct err *e);
void deletes_tick(struct mng *m);

/* ---- mng_monitors.c */
/* Does it name only metrics that there are? As queue_def_metrics(). */
SQ_CHECK int metrics_check(const struct mng *m, const struct queue_def *d,
                           const struct queue_def *old, struct err *e);

/* ---- mseg.c: one segment */
struct mseg *seg_find(const struct mng *m, seg_id id);
struct mseg *seg_new(struct mng *m, struct mlane *l, struct mnode *n, seg_id id,
                     uint32_t capacity, uint8_t kind, struct mseg *before);
void seg_unlink(struct mng *m, struct mseg *s); /* out of the chain, freed */
void seg_todo(struct mng *m, struct mseg *s);
void seg_status(struct mng *m, struct mseg *s, const struct seg_status *st);
void seg_lost(struct mng *m, struct mseg *s);
void seg_used(struct mseg *s);
bool seg_reachable(const struct mseg *s);
bool seg_is_orphan(const struct mseg *s); /* in a move that we do not know */
/* From a full report; and one more. Without memory a source keeps waiting. */
void seg_set_absorbed(struct mng *m, struct mseg *s, const struct seg_status *st);
void seg_add_absorbed(struct mng *m, struct mseg *s, seg_id id);
/* It was committed with: whatever leads to it is there. */
void seg_set_heard(struct mng *m, struct mseg *s);
bool seg_has_absorbed(const struct mseg *s, seg_id id);
void seg_look_absorbed(struct mseg *s); /* after its aliases changed */
/* What it holds is not certain: in a move that we do not know, or it lacks some. */
bool seg_is_unsure(const struct mseg *s);
bool seg_dry(const struct mseg *s); /* certainly nobody in it will be popped any more */
uint64_t seg_bound(const struct mseg *s);
void seg_reconcile(struct mng *m, struct mseg *s);
void seg_wish(struct mng *m, struct mseg *s); /* note it down, and order at once */
void lane_pace_to(struct mng *m, const struct mlane *l, struct mnode *n);
seg_id alias_of(const struct mlane *l, seg_id from); /* 0 = none */
/* The lane of a segment, or of one that another has absorbed; NULL: of none. */
struct mlane *lane_of(const struct mng *m, seg_id seg);
struct mseg *home_of(const struct mng *m, seg_id seg); /* who has its tickets; NULL: nobody */
SQ_CHECK int alias_add(struct mlane *l, struct malias a);
void alias_drop(struct mlane *l, seg_id from);
/* What led to `from` leads to `to` now, so that no alias points to an alias, and comes
 * directly behind `from`, where its tickets are. */
void alias_fold(struct mlane *l, seg_id from, seg_id to);
void lane_touch(struct mng *m, struct mlane *l);

/* ---- rebuild.c: segments whose node is gone */
void lane_rebuild(struct mng *m, struct mlane *l);
/* These aliases to s become segments of their own again, behind it, to be rebuilt. */
void seg_unmerge(struct mng *m, struct mseg *s, bool only_lacking);
void order_rebuild(struct mng *m, const struct mseg *s, struct msg_seg_open *o);
/* The node that was thought lost has it after all. */
bool seg_take_back(struct mng *m, struct mseg *s, const struct seg_status *st, bool full);
bool seg_is_away(const struct mseg *s); /* lost, or being rebuilt */

/* ---- mng_eta.c: once a second */
void lane_eta(const struct mng *m, struct mlane *l);
/* Seconds that the last in line is told; see struct mng_lane_view. */
double lane_eta_last(const struct mlane *l, const char **reason);

/* ---- mng_marks.c: which numbers were released when */
/* From a report: stores what is new, and tells the node that it is stored. */
void marks_take(struct mng *m, struct mseg *s, const struct seg_status *st);
void marks_load_end(const struct mng *m, struct mlane *l); /* everything is loaded */
SQ_CHECK int marks_load(struct mlane *l, uint64_t chunk, const struct mark_row *v, uint32_t n);
void marks_prune(struct mng *m, struct mlane *l);
void marks_flush(struct mng *m, struct mlane *l); /* to the store */
void marks_forget(struct mng *m, struct mlane *l, bool stored); /* all of them */
/* Of one segment, oldest first, as many of the latest as a message takes; into mem. */
const struct mark_row *marks_of(const struct mlane *l, seg_id seg, struct arena *mem,
                                uint32_t *n);

/* ---- chain.c: the plan of a lane */
void lane_plan(struct mng *m, struct mlane *l); /* sums, aheads, opening, removal */
/* It waits for something that may come without a word about this lane: room on some node,
 * time. Looked at every second. */
bool lane_is_short(const struct mlane *l);
void lane_pace(struct mng *m, struct mlane *l);
/* The longest that anybody is told, if the budget allows poll_max. */
uint32_t poll_max_longest(const struct mqueue *q);
seg_id seg_id_take(struct mng *m); /* never given before, and never again */

/* ---- lots.c */
bool lane_is_early(const struct mlane *l);
uint64_t lane_capacity(const struct mlane *l); /* of its next tail */
bool lots_fit(const struct mseg *s);     /* such segments are joined in this phase */
bool lots_pending(const struct mseg *s); /* its people have no places yet */
bool lots_order(const struct mseg *s);   /* its node is to be told to draw */
/* Its node is to seal it at this time of the node's wall clock; 0: by order alone. */
int64_t lots_closes_ms(const struct mseg *s);
bool lots_clock_order(const struct mseg *s); /* its node is to be told another such time */
void lots_sealed(struct mng *m, struct mseg *s); /* it is open for us, and its node sealed it */
/* The node for the next tail of the lane; NULL: no room. */
struct mnode *lots_place(struct mng *m, const struct mlane *l, const struct mseg *near,
                         bool *by_order);
void lots_plan(struct mng *m, struct mlane *l);
void lots_ready(struct mng *m, struct mqueue *q);

/* ---- mng_sched.c */
struct json_t;
void sched_set(struct mng *m, struct mqueue *q); /* its definition is new */
void sched_tick(struct mng *m, bool second);
bool sched_holds(const struct mqueue *q); /* nobody is released yet */
/* The record `sched/ID`, as JSON text. */
void sched_put(struct mng *m, const struct mqueue *q);
SQ_CHECK bool sched_load(struct mqueue *q, const struct json_t *record);

/* ---- place.c */
/* The node for a segment next to `near` (NULL ok), not `except`; draws: one for early ones;
 * opens_ms: whose clock is not past this; 0: any. NULL: no room anywhere. */
struct mnode *place_pick(struct mng *m, const struct mseg *near, const struct mnode *except,
                         bool draws, int64_t opens_ms);

/* ---- member.c */
struct mnode *node_by_name(const struct mng *m, const char *name);
struct mnode *node_by_no(const struct mng *m, node_no no);
struct mnode *node_at(struct mng *m, node_no no); /* of the store: made if need be */
struct mnode *node_new(struct mng *m, node_no no, const char *name);
void node_put(struct mng *m, const struct mnode *n);
void node_ahead(struct mng *m, struct mnode *n, seg_id seg, uint64_t ahead);
void node_pace(struct mng *m, struct mnode *n, const struct pace_entry *p);
void node_kept(struct mnode *n, seg_id seg, uint64_t tick);
void node_flush_ahead(struct mng *m, struct mnode *n);
void members_tick(struct mng *m);
void node_lost(struct mng *m, struct mnode *n); /* its segments are given up */
void lanes_look(struct mng *m); /* some node has room again */
void map_nodes_changed(struct mng *m);
void node_free(struct mnode *n);

/* ---- mng_forget.c */
void node_retire_tick(struct mng *m, struct mnode *n); /* n may be gone after it */
msec_t node_forget_in_ms(const struct mng *m, const struct mnode *n); /* -1: not by itself */

/* ---- member.c, messages */
void on_node_reg(struct mng *m, struct mnode *n, const struct msg_node_reg *g);
void tell_stranger(struct mng *m, peer_no router); /* it is to listen to another manager */
void on_seg_status(struct mng *m, struct mnode *n, const struct msg_seg_status *g);
void on_open_refused(struct mng *m, struct mnode *n);

/* ---- mng_members.c: who keeps the directory of subjects */
bool members_look(struct mng *m); /* true: they have changed, and were told */
void members_registered(struct mng *m, struct mnode *n, bool can, bool moved);
struct json_t;
SQ_CHECK int members_load(struct mng *m, struct json_t *j);

/* ---- move.c */
void moves_plan(struct mng *m, struct mlane *l);   /* merges */
void moves_drain(struct mng *m, struct mnode *n);  /* empties a node */
void moves_tick(struct mng *m);
void moves_node_down(struct mng *m, struct mnode *n);
void on_move_status(struct mng *m, struct mnode *n, const struct msg_move_status *g);
/* A node reports a segment with a move that this manager does not know. */
void move_orphan(struct mng *m, struct mnode *n, const struct seg_status *st);
const char *move_state_name(enum move_state s);

/* ---- mng_ticket.c */
void on_ticket(struct mng *m, struct mnode *n, const struct msg_ticket *g);
void tickets_tick(struct mng *m);
void tickets_peer_down(struct mng *m, peer_no p);
void tickets_free(struct mng *m);

/* ---- slots.c: of queues that let in by max_active */
uint64_t slots_inside(const struct mng *m, const struct mqueue *q); /* at least so many */
uint64_t slots_free(const struct mng *m, const struct mqueue *q);
/* Of those inside, released before the last flush: nobody knows who of them leaves. */
uint64_t slots_flushed(const struct mng *m, const struct mqueue *q);
void slots_lost(const struct mng *m, struct mseg *s);  /* before s->lost is set */
void slots_found(const struct mng *m, struct mseg *s); /* its node has it after all */
void slots_flush(const struct mng *m, struct mqueue *q); /* before its segments go */

/* ---- pop.c */
void pops_tick(struct mng *m, struct mqueue *q); /* one tick of one queue's release */
/* n tickets more, whatever limits say: to be given with the next tick. */
void pops_by_hand(const struct mng *m, struct mqueue *q, uint64_t n);
void pops_look(const struct mng *m, struct mqueue *q, msec_t now_ms);
double pops_peek(const struct mng *m, const struct mqueue *q, struct release *copy);
void on_seg_popped(struct mng *m, struct mnode *n, const struct msg_seg_popped *g);
msec_t pop_quiet_ms(const struct mqueue *q); /* for hearing.h */
void pop_node_up(struct mng *m, struct mnode *n);
void pop_seg_gone(struct mng *m, struct mseg *s);

/* ---- mng_map.c: what routers are told */
void maps_flush(struct mng *m);
void stats_flush(struct mng *m);

/* ---- mng_keep.c: what must not be forgotten, as JSON */
void keep_flush(struct mng *m);
void put_chain(struct mng *m, const struct mqueue *q);
void keep_put(struct mng *m, const char *key, const char *json);
struct json_t;
void keep_put_json(struct mng *m, const char *key, struct json_t *take); /* NULL: no memory */
void keep_del(struct mng *m, const char *key);

#endif

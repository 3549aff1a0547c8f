/* segment.h: one segment: its phase and health, answers to the questions of the plan, the aliases of
 * those that were merged. Nothing here gives an order.
 *
 *   phase:   OPENING --its node has it--> REPORTED <--its node has it-- STORED (loaded)
 *               '<--------------- opened on another node ---------------'
 *
 *   health:  WHOLE <----------- it is back after all ----------- GONE
 *              |   '------------ its node is gone ----------------^ |
 *              |                                                    | opened elsewhere
 *              '<-- all are back, or time is over -- REBUILDING <---'
 *                                                     |     ^
 *                              its node is gone, too  v     | opened elsewhere, or back after all
 *                                                    GONE_AGAIN */
#ifndef SEGQ_QUEUEMNG_STATE_SEGMENT_H
#define SEGQ_QUEUEMNG_STATE_SEGMENT_H

#include "common/base/base.h"
#include "common/base/list.h"
#include "common/ticket/draw.h"
#include "common/wire/msg_segment_manager.h"

struct mlane;
struct mmove;
struct mng;
struct mnode;

#define MNG_SEG_IDS       64    /* ids reserved in the store at a time */
#define MNG_TAIL_AFTER_MS 2000  /* an unreachable tail is taken for sealed */

struct mprequeue { /* state of a segment of the pre-queue (chain/chain.h) */
    bool early;
    bool by_order; /* clock of its node is wrong: it is sealed by order alone */
    uint32_t n; /* numbers that draw places; stored; 0: not counted yet */
    uint8_t seed[DRAW_SEED];
};

/* The reports that this manager has had of a segment. seg_set_phase() has the allowed steps. */
enum seg_phase {
    SEG_OPENING,  /* ordered at its node, which has not said so: routers do not know it */
    SEG_STORED,   /* from the store: routers may know it, its node has not reported it to us yet */
    SEG_REPORTED, /* st is its node's report to this manager */
    SEG_NPHASES
};

/* The whereabouts of its people. seg_set_health() has the allowed steps. Apart from the phase,
 * since a segment is lost, and found again, in any of them. */
enum seg_health {
    SEG_WHOLE,      /* all of them are in it */
    SEG_REBUILDING, /* lost, opened again, and its people are coming back */
    SEG_GONE,       /* gone with its node: to be opened elsewhere */
    SEG_GONE_AGAIN, /* the same, while they were coming back */
    SEG_NHEALTHS
};

struct mcredit { /* release/credit.h */
    uint64_t tick;      /* tick of the last order; 0: none since its node registered */
    uint64_t open;      /* numbers that are not known to be used, or to be never used */
    uint32_t from, end; /* numbers of the present credit */
    uint32_t at;        /* first of these that is not known to be used */
    uint32_t was_at, was_end; /* the same of the one before, until its node says that it is over */
    int64_t at_ms;      /* releases of it, wall clock */
    msec_t since_ms, sent_ms;
    bool ended;         /* the last order called it back */
};

/* The flags beside phase and health are no states of it: want_seal, want_remove and want_next
 * are wishes that reconcile.h has its node fulfil; seen, used, absent and missing_source are facts
 * about something else (a report, its node's count, its node, the aliases), true or false in
 * every phase. */
struct mseg {
    seg_id id;
    struct mlane *lane;  /* ref */
    struct mnode *node;  /* ref */
    uint8_t state;       /* enum seg_state, as announced to routers */
    uint8_t kind;        /* enum open_kind */
    uint32_t capacity;
    enum seg_phase phase;   /* set by seg_set_phase() alone */
    enum seg_health health; /* set by seg_set_health() alone */
    bool seen;           /* in the full report being read */
    bool want_seal, want_remove;
    bool used;           /* counted in node->used */
    bool absent;         /* missing at its node: merged within the node, or lost */
    uint32_t was_waiting; /* people in it when it was lost, without who came back and has gone since */
    uint32_t mark_end;   /* numbers below were released, left or timed out */
    uint64_t base;       /* ordinal of its number 0, seg_set_base(); 0: no ticket was given in it */
    uint64_t moves_from; /* moves with a lower number were before it was opened again; 0: it was not */
    uint64_t unconfirmed; /* releases of pops that were given up since its last report */
    struct mcredit credit;
    seg_id want_next;
    struct seg_status st;
    struct mprequeue pre;
    seg_id *absorbed;    /* owned: whose tickets its node has said are in it */
    uint32_t n_absorbed;
    bool missing_source; /* an alias leads to it of which it has not said so */
    uint64_t ahead, ahead_sent;
    msec_t ordered_ms;   /* last order to reconcile; 0 = none yet */
    msec_t lost_ms;
    uint64_t lost_inside; /* part of mqueue.lost: were inside of it then */
    struct mmove *move;  /* ref; as source or target */
    msec_t move_ms;      /* no move before */
    uint8_t moves_given_up; /* by a node; up to MOVE_AGAIN_DOUBLED */
    char move_why[160];  /* end of the last move away from here, since its node is drained; "": it was not given up */
    struct list_node in_lane, on_node, in_todo;
};

/* All of them, in order; the one at hand may be removed, or freed, in the body. */
#define each_todo(m, s)     list_each_of(&(m)->todo, struct mseg, in_todo, s)
#define each_seg(l, s)      list_each_of(&(l)->segs, struct mseg, in_lane, s)
#define each_node_seg(n, s) list_each_of(&(n)->segs, struct mseg, on_node, s)
/* NULL for NULL. */
#define list_seg(it)   list_entry(it, struct mseg, in_lane)

/* The step must be one of the drawing above; staying is one. */
void seg_set_phase(struct mseg *s, enum seg_phase to);
void seg_set_health(struct mseg *s, enum seg_health to);

/* Routers may know it. */
static inline bool seg_is_announced(const struct mseg *s)
{
    return s->phase != SEG_OPENING;
}

/* True: its node has reported it to this manager. */
static inline bool seg_is_reported(const struct mseg *s)
{
    return s->phase == SEG_REPORTED;
}

/* True: its node is gone with it. */
static inline bool seg_is_lost(const struct mseg *s)
{
    return s->health == SEG_GONE || s->health == SEG_GONE_AGAIN;
}

/* True: its people are coming back, or were when it was lost again. */
static inline bool seg_is_rebuilding(const struct mseg *s)
{
    return s->health == SEG_REBUILDING || s->health == SEG_GONE_AGAIN;
}

bool seg_reachable(const struct mseg *s);
/* In a move that we do not know. */
bool seg_in_unknown_move(const struct mseg *s);
/* True: uncertain contents: in a move that we do not know, or with a missing source. */
bool seg_is_uncertain(const struct mseg *s);
/* Not all of its people are known to be in it: lost, or being rebuilt. */
bool seg_is_recovering(const struct mseg *s);
/* Certainly nobody in it will be popped any more: it is empty, and sealed, or closed to joins by its node's
 * word and by the map. */
bool seg_dry(const struct mseg *s);
/* At most so many people stand in it: what is behind it is at least that near. */
uint64_t seg_bound(const struct mseg *s);
/* Updates its node's count of used segments, after each change of its state. */
void seg_used(struct mseg *s);
/* Never given before, and never again. */
seg_id seg_id_take(struct mng *m);

/* Ordinals of a lane, from 1 on: each segment that is joined gets as many as it has numbers, behind all
 * that were given; so of two tickets the later one has the larger, whatever becomes of their segments. */
void seg_set_base(struct mseg *s);

/* A segment of the pre-queue is sealed at the opening. Its node may do that by its own clock: it is
 * told the time (prequeue_closes_ms()), unless that clock was seen to be wrong. */

/* Joins of the lane go to the pre-queue now. */
bool lane_is_early(const struct mlane *l);
/* True: joined in this phase: of the pre-queue before the opening, else not. */
bool prequeue_fits(const struct mseg *s);
/* True: its people have no places yet. */
bool seg_is_undrawn(const struct mseg *s);
/* Numbers of its next tail. */
uint64_t lane_capacity(const struct mlane *l);
/* Wall clock of its node at which that seals it; 0: by order alone. */
int64_t prequeue_closes_ms(const struct mseg *s);
/* True: its node has not been told that time yet. */
bool prequeue_time_is_new(const struct mseg *s);
/* True: its node has not been told its draw yet. */
bool prequeue_draw_is_due(const struct mseg *s);
/* Notes that its node has sealed it: by a clock ahead of ours, if the queue is not open yet. */
void prequeue_sealed(struct mng *m, struct mseg *s);

/* Merged segments. An alias says that the tickets of one segment live in another one since
 * a move was committed; the node of that one says which segments it has absorbed.
 *
 * No alias points to an alias: alias_fold() sees to that. The aliases of one target stand in
 * the order of its line. */

struct mseg;
struct seg_status;

struct malias { /* the tickets of `from` live in `to` now */
    seg_id from, to;
    uint32_t capacity; /* capacity of `from`; 0: it never gave a number */
    uint32_t mark_end; /* see struct mseg */
    uint64_t base;     /* likewise */
};

/* NULL: no chain has it (any more). */
struct mseg *seg_find(const struct mng *m, seg_id id);
/* The segment that has the tickets of `from`; 0: no alias. */
seg_id alias_of(const struct mlane *l, seg_id from);
/* The lane of a segment, or of one that another has absorbed; NULL: of none. */
struct mlane *lane_of(const struct mng *m, seg_id seg);
/* The segment that has its tickets now; NULL: none. */
struct mseg *seg_resolve(const struct mng *m, seg_id seg);
/* Must not be there yet. SQ_ENOMEM: nothing has changed. */
SQ_CHECK int alias_add(struct mlane *l, struct malias a);
/* Nothing happens if there is none. */
void alias_drop(struct mlane *l, seg_id from);
/* Aliases to `from` lead to `to` from now on, so that no alias points to an alias, and stand
 * directly behind `from`, where their tickets are. */
void alias_fold(struct mlane *l, seg_id from, seg_id to);

/* While an alias leads to a segment whose node has not confirmed that it has those tickets, the
 * segment has a missing source (s->missing_source), and its contents are uncertain. */

/* True: its node has said so. */
bool seg_has_absorbed(const struct mseg *s, seg_id id);
/* Brings s->missing_source up to date: after the aliases to it have changed. */
void seg_check_absorbed(struct mseg *s);
/* Adds one. Without memory the step fails, and the source keeps waiting. */
void seg_add_absorbed(struct mng *m, struct mseg *s, seg_id id);
/* All of them anew, by its node's full report. */
void seg_set_absorbed(struct mng *m, struct mseg *s, const struct seg_status *st);
/* Notes that its node has confirmed a commit: all that aliases lead to it is in it. */
void seg_set_heard(struct mng *m, struct mseg *s);

#endif

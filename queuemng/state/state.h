/* state.h: the manager's data: structures alone, no functions.
 *
 *   mng -> queues -> lanes -> segments (chain order)      nodes -> segments hosted
 *       -> moves                                          routers
 *       -> pools of task queues, task nodes (tasks.h)
 *
 * Owner of every object is the mng; other pointers are refs. A segment is in its lane's
 * chain and in its node's list at the same time, both for its whole life. */
#ifndef SEGQ_QUEUEMNG_STATE_STATE_H
#define SEGQ_QUEUEMNG_STATE_STATE_H

#include "common/base/list.h"
#include "common/base/map.h"
#include "common/ticket/pace.h"
#include "common/base/rng.h"
#include "queuemng/policy/no_show.h"
#include "queuemng/policy/eta_lane.h"
#include "queuemng/policy/quiet.h"
#include "queuemng/policy/queue_def.h"
#include "queuemng/policy/release.h"
#include "queuemng/policy/schedule.h"
#include "queuemng/state/opts.h"
#include "queuemng/state/out.h"
#include "queuemng/policy/budget_def.h"
#include "queuemng/state/tasks.h"

#define MNG_AGAIN_MS      1000  /* an order without visible effect is given again */
#define MNG_SILENT_MS     1500  /* a node in which somebody waits reports every second */
#define MNG_TAIL_AFTER_MS 2000  /* an unreachable tail is taken for sealed */
#define MNG_MOVE_IDLE_MS  20000 /* a move without progress is aborted */
#define MNG_REFUSED_MS    10000 /* a node that refused a segment is not asked again for */
#define MNG_NODE_MOVES    4     /* at one node at a time */
#define MNG_OPEN_MAX      64    /* segments of one lane open ahead of the joins */
#define MNG_SPARE_MS      60000 /* unused room ahead of the joins, left over for so long, goes */
#define MNG_SEG_IDS       64    /* ids reserved in the store at a time */
#define MNG_TOMBSTONES    1024  /* deleted queues that routers are told of one by one */
#define MNG_NODE_NO_MAX   1000000 /* in a stored record; more is nonsense */
#define MNG_MARK_ROWS     32    /* releases in one stored record */
#define MNG_MARK_RECORDS  256   /* records of a lane; older releases count as long over */

struct mqueue;
struct mlane;
struct mmove;

struct mnode { /* a segment node, for ever known by its name */
    node_no no;
    char name[NAME_MAX_LEN + 1], addr[64], admin[64];
    uint64_t incarnation;
    peer_no peer;       /* 0 = no link */
    bool registered;    /* link is up and its full report is complete */
    bool foreign;       /* obeys managers that have another store */
    bool holds;         /* journal cannot be written: its people stand still */
    bool given_up;      /* silent for lost_after: its segments were given up */
    bool unreached;     /* node_is_reached() was false when routers were told last */
    bool draining;
    bool retired;       /* drained and gone; nodes/retire.h */
    bool can_directory; /* able to by its release; nodes/directory.h */
    bool member;        /* member of the directory */
    bool draws;         /* can have segments of a pre-queue */
    bool closes;        /* and seals them by its clock */
    bool credits;       /* lets joins in on credit */
    int64_t past_opening_ms;    /* opening that its clock was past when ours was not; 0: not seen */
    msec_t down_ms;     /* since when there is no link */
    msec_t heard_ms;    /* when it last said something */
    msec_t refused_ms;  /* when it refused to open a segment; 0 = does not */
    uint64_t tickets, max_tickets;
    uint32_t max_segments;
    uint8_t pass_key[32];
    struct pass_others other_keys;
    struct list segs;   /* mseg.on_node */
    uint32_t used;      /* number of them open or with somebody in line */
    uint32_t moves;     /* moves that it takes part in */
    struct ahead_entry *ahead; /* to be sent at the end of this step; owned */
    uint32_t n_ahead, cap_ahead;
    struct pace_entry *pace;
    uint32_t n_pace, cap_pace;
    struct kept_entry *stored;
    uint32_t n_stored, cap_stored;
};

struct mrouter {
    peer_no peer;
    char name[NAME_MAX_LEN + 1], http[64], admin[64];
    uint64_t incarnation;
    bool registered;
    uint64_t sent_version; /* version of the map */
    uint64_t sent_tasks;   /* the version of the map of tasks */
    bool stats_all;        /* has had no figures yet */
    struct list_node in;
};

struct mprequeue { /* state of a segment of the pre-queue; prequeue.h */
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
    uint32_t was_waiting; /* people in it when it was lost: at most these come back */
    uint32_t mark_end;   /* numbers below were released, left or timed out */
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
    struct list_node in_lane, on_node, in_todo;
};

struct munreported { /* people who may be inside for a while, though no node reports them */
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
    uint64_t by_hand;   /* part of that, let in by hand */
    msec_t sent_ms, since_ms;
    int64_t wall_ms;
};

struct malias { /* the tickets of `from` live in `to` now */
    seg_id from, to;
    uint32_t capacity; /* capacity of `from`: 0: it never gave a number; MNG_CAPACITY_UNKNOWN */
    uint32_t mark_end; /* see struct mseg */
};
#define MNG_CAPACITY_UNKNOWN UINT32_MAX

struct mchunk { /* releases, as stored together */
    uint64_t no;
    uint32_t n;
    bool dirty;
    msec_t since_ms; /* arrival of its last row: wall clocks jump */
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
    bool has_missing_source;  /* or for what it absorbed */
    struct mpop pop;
    bool dirty;
    struct list_node in_dirty;
    /* sums over the chain, by lane_sum() */
    uint64_t waiting, returning, ready, active, room;
    uint32_t n_unused;  /* open segments that nobody has joined, beyond the first open one */
    msec_t spare_ms;    /* since when there is more of them than joins want; 0: there is not */
    uint64_t missing;   /* people of lost segments: not back yet, at most */
    uint32_t n_away;    /* segments that are lost, or being rebuilt */
    uint64_t joined, left, expired, no_shows; /* sums of segments that are there */
    uint64_t gone_joined, gone_left, gone_expired, gone_no_shows; /* sums of those removed */
    uint64_t released;  /* ever, in this manager's time */
    /* rates */
    uint64_t joined_before, released_before;
    msec_t came_ms;   /* when somebody last joined; 0: not in this manager's time */
    uint64_t came;    /* since sampled_ms */
    double came_peak; /* in a tick, lately */
    msec_t sampled_ms;
    double join_per_s, release_per_s;
    struct eta_lane eta;
    uint64_t eta_released, eta_gone; /* at its last look */
    struct pace pace;   /* pace as last sent */
    msec_t told_ms;     /* until then somebody may stay away, as he was told */
    uint32_t most_ms;   /* the longest interval that some node may be telling now */
    uint64_t stored_told_ms; /* stored: not less than told_ms is away; 0: poll_max will do */
    uint64_t manual;    /* tickets an operator has released by hand, still to go */
};

struct mqueue {
    queue_id id;
    struct queue_def def; /* owned */
    uint64_t version;     /* version of the definition */
    struct release rel;
    struct no_show no_show;
    struct quiet quiet;
    unsigned n_lanes;
    struct mlane lane[LANES_MAX];
    bool full;            /* max_waiting reached */
    uint64_t map_version; /* when its map record last changed */
    struct schedule sched;
    bool early_ready;     /* routers may send people to the pre-queue */
    struct munreported flushed, lost; /* with the flush, with lost segments; slots.h */
    int64_t deleted_until_ms; /* wall clock; 0: it is not deleted; core/deleted.h */
    int deleted_state;        /* state of it before */
    bool put_def, put_chain, put_marks, put_sched; /* to be stored at the end of this step */
    bool active;          /* in mng.active: somebody waits */
    bool stats_dirty;
    double allowed_per_s;
    struct claim claim;   /* to its budget's, */
    uint64_t budget_rate; /* and how much of the rate it may use now */
    struct list_node in_all, in_active, in_puts, in_urgent;
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

struct mbudget { /* limits that queues and endpoints share that name it; their parts: claim.h */
    struct budget_def def;  /* owned */
    uint64_t version;       /* version of the definition */
    struct release release; /* controller of its limits by metrics */
    struct bears whole;     /* now */
    uint64_t queues_slots;  /* held by its queues, when mng.count_no was counted_no; then */
    const struct mqueue *asked; /* asked, and may hold more than these: */
    uint64_t asked_slots, counted_no;
    struct mleft {
        uint64_t slots;
        msec_t until_ms;
    } calls, people; /* use by endpoints and queues that are gone: may go on; a manager that begins knows
                        nothing of them */
    struct list_node in;    /* mng.budgets */
};

struct tombstone {
    queue_id id;
    uint64_t version;
};

struct mng {
    struct mng_opts opts;
    char issuer[128];
    bool started;
    msec_t started_ms;
    bool unreachable;            /* some node with segments does not hear what it is told */
    msec_t now_ms;
    int64_t wall_raw_ms; /* the wall clock; */
    int64_t wall_ms; /* and that of releases, which does not leap: wall_steady() */
    struct wall_guard stamp_guard;
    struct wall_guard wall_guard;
    int64_t sched_ms;     /* the wall clock as far as it is believed */
    bool schedules;       /* some queue has one */
    uint64_t seeds;       /* number of draws, ever made */
    struct rng rng;
    uint64_t given_epoch; /* epoch of the term to come; 0 = the one after the stored one */
    uint64_t fenced_by; /* a higher epoch that nodes obey, or ours under another manager; 0: none */
    uint64_t cluster_id; /* random, stored; nodes of another one are foreign; 0: none yet */
    uint64_t epoch, next_seg, seg_reserved, next_move, pop_counter;
    queue_id next_queue;
    uint32_t n_deleted;  /* deleted ones among the queues */
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
    struct list urgent;      /* mqueue.in_urgent: not to wait for the tick */
    struct list todo;        /* mseg.in_todo: what should be differs from what is */
    struct list moves;       /* mmove.in; owned */
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
    struct mtasks tasks;
    struct list budgets; /* mbudget.in; owned */
    uint64_t count_no;   /* number of this step, and of the queues in it: mbudget.counted_no */
    struct mng_counts count;
    struct eta_errors eta_errors;
    struct mng_out *out;     /* output of the step being done */
};

/* All of them, in order; the one at hand may be removed, or freed, in the body. node.h has
 * each_node(). */
#define each_queue(m, q)    list_each_of(&(m)->queues, struct mqueue, in_all, q)
#define each_active(m, q)   list_each_of(&(m)->active, struct mqueue, in_active, q)
#define each_budget(m, b)   list_each_of(&(m)->budgets, struct mbudget, in, b)
#define each_router(m, r)   list_each_of(&(m)->routers, struct mrouter, in, r)
#define each_move(m, v)     list_each_of(&(m)->moves, struct mmove, in, v)
#define each_todo(m, s)     list_each_of(&(m)->todo, struct mseg, in_todo, s)
#define each_seg(l, s)      list_each_of(&(l)->segs, struct mseg, in_lane, s)
#define each_node_seg(n, s) list_each_of(&(n)->segs, struct mseg, on_node, s)

/* NULL for NULL. */
#define list_seg(it)   list_entry(it, struct mseg, in_lane)
#define list_queue(it) list_entry(it, struct mqueue, in_all)

#endif

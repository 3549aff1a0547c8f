/* node.h: segment nodes and routers. The table of segment nodes: found by name or number, made,
 * freed, and chosen for the next segment. A number is never given to another name. */
#ifndef SEGQ_QUEUEMNG_STATE_NODE_H
#define SEGQ_QUEUEMNG_STATE_NODE_H

#include "common/base/list.h"
#include "common/ticket/pass.h"
#include "common/wire/msg_router_manager.h"

struct msg_error;
struct mng;
struct mseg;

#define MNG_SILENT_MS     1500  /* a node in which somebody waits reports every second */
#define MNG_REFUSED_MS    10000 /* a node that refused a segment is not asked again for */
#define MNG_NODE_NO_MAX   1000000 /* in a stored record; more is nonsense */

struct where { /* place of a process, by its configuration; "": not said */
    char region[NAME_MAX_LEN + 1], zone[NAME_MAX_LEN + 1];
};
/* NULL counts as "", and so does what is no name. */
void where_set(struct where *w, const char *region, const char *zone);

struct mnode { /* a segment node, for ever known by its name */
    node_no no;
    char name[NAME_MAX_LEN + 1], addr[64], admin[64];
    struct where where;
    uint64_t incarnation;
    peer_no peer;       /* 0 = no link */
    bool registered;    /* link is up and its full report is complete */
    bool foreign;       /* obeys managers that have another store */
    bool holds;         /* journal cannot be written: its people stand still */
    bool holds_on;      /* for MNG_TAIL_AFTER_MS by now */
    bool no_room;       /* on its disk, for what is new: it refuses joins */
    bool given_up;      /* silent for lost_after: its segments were given up */
    bool unreached;     /* node_is_reached() was false when routers were told last */
    bool draining;
    bool retired;       /* drained and gone; core/segment_nodes.h */
    bool came;          /* has registered, since this manager leads or before; core/segment_nodes.h */
    bool member;        /* member of the directory */
    int64_t past_opening_ms;    /* opening that its clock was past when ours was not; 0: not seen */
    msec_t down_ms;     /* since when there is no link */
    msec_t holds_ms;    /* since when it `holds` */
    msec_t heard_ms;    /* when it last said something */
    msec_t refused_ms;  /* when it refused to open a segment; 0 = does not */
    uint64_t tickets, max_tickets;
    uint32_t max_segments;
    uint8_t pass_key[32];
    struct pass_others other_keys;
    struct list segs;   /* mseg.on_node */
    uint32_t used;      /* number of them open or with somebody in line */
    uint32_t moves;     /* moves that it takes part in */
    struct { /* how far it is, there and back: the least time in which a release was answered, of the
              * last ten seconds, and of those before (0: of none) */
        msec_t least_ms, was_ms, since_ms;
        unsigned n; /* answers that it is made of, up to NODE_WAY_SURE */
    } way;
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
    struct where where;
    uint64_t incarnation;
    bool registered;
    uint64_t sent_version; /* version of the map */
    uint64_t sent_tasks;   /* the version of the map of tasks */
    bool stats_all;        /* has had no figures yet */
    uint64_t joined;       /* joins that it told of in this second, */
    double join_per_s;     /* and about, in the last 20 s */
    msec_t suspects_ms;    /* when it told the suspects: not told again, they are none any more */
    uint32_t n_suspects;
    struct suspect_row suspects[MSG_SUSPECTS_MAX];
    struct list_node in;
};

/* All routers, in order; the one at hand may be removed, or freed, in the body. */
#define each_router(m, r)   list_each_of(&(m)->routers, struct mrouter, in, r)

/* NULL: no such node (any more). */
struct mnode *node_by_no(const struct mng *m, node_no no);
/* NULL: no such node (any more). */
struct mnode *node_by_name(const struct mng *m, const char *name);
/* The node with the next number above `no`; NULL: none. */
struct mnode *node_after(const struct mng *m, node_no no);
/* All nodes, by number; n may be freed in the body. */
#define each_node(m, n)                                                                  \
    for (struct mnode *n = node_after(m, 0), *n##_next;                                  \
         n != NULL && (n##_next = node_after(m, n->no), true); n = n##_next)
/* The number must be free. NULL: no memory. */
struct mnode *node_new(struct mng *m, node_no no, const char *name);
/* For records of the store, which come in any order: made if need be. NULL: no memory. */
struct mnode *node_at(struct mng *m, node_no no);
/* Frees it; its segments are gone already. */
void node_free(struct mnode *n);
#define NODE_WAY_SURE 16 /* answers that were all as late: that is no jam */
void node_way_note(struct mnode *n, msec_t ms, msec_t now_ms);
/* 0: near, or not known yet. */
msec_t node_way_ms(const struct mnode *n);
/* True: it has a link, has registered, and says something: what it is told it hears. */
bool node_is_reached(const struct mng *m, const struct mnode *n);
/* True: it is to have no more people. The operator empties it, its disk has no room for them, or its
 * journal cannot be written, and that not only for a moment. */
bool node_is_closed(const struct mnode *n);
/* Nodes are there, and all of them obey managers of another cluster. */
bool nodes_are_foreign(const struct mng *m);
/* Either kind of node: an epoch that it has seen, above ours, fences this manager; */
void note_epoch(struct mng *m, const char *node, uint64_t seen);
/* a refusal is logged; that of a stale epoch fences it, too. */
void note_refusal(struct mng *m, const char *node, const struct msg_error *g);

/* The node for a segment next to `near` (NULL ok), not `except`; opens_ms: whose clock is not past this; 0: any. NULL: no room anywhere.
 *
 * It is the emptiest by memory, in steps of one percent; beside its neighbour in the chain only
 * if the others are clearly fuller (a machine that goes should not take a long run of the
 * line with it), or outside the region in which most people join (policy/joins.h); then the one with
 * fewest segments, so that many small queues spread. */
struct mnode *place_pick(const struct mng *m, const struct mseg *near,
                         const struct mnode *except, int64_t opens_ms);

#endif

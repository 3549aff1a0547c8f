/* replica.h: what routers have been told of this node's lines (MSG_REPLICA), and who of them
 * listens. Data, and the two hooks of what changes; segment/replica/ works on it. */
#ifndef SEGQ_SEG_TABLE_REPLICA_H
#define SEGQ_SEG_TABLE_REPLICA_H

#include "common/base/list.h"
#include "common/base/map.h"
#include "common/wire/msg_router_segment.h"

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
    bool now;           /* push at the end of this step: do not wait for the tick */
};

#endif

/* msg_router_manager.h: a part of msg.h: what the manager tells routers: the chain map,
 * and once a second the queues' figures. Pure. Memory: msg.h.
 */
#ifndef SEGQ_MSG_ROUTER_MANAGER_H
#define SEGQ_MSG_ROUTER_MANAGER_H

#include "common/base/base.h"

struct msg_router_reg {
    uint64_t map_version; /* version that the router has; 0 = none */
    uint64_t map_epoch;   /* under whose epoch; versions of other epochs are not comparable */
    const char *http;     /* "host:port" of its public port, for people */
    const char *admin;    /* "host:port" of its admin port, "" if none */
    const char *region, *zone; /* where it runs, by its configuration; NULL or "": not said */
};

struct map_node {
    node_no no;
    const char *name;
    const char *addr; /* "host:port" for routers and copying segments */
};

enum seg_state {
    SEG_OPEN = 1,   /* joins are accepted (only the first such one of a lane is joined) */
    SEG_SEALED = 2, /* for ever */
    SEG_LOST = 3,   /* gone with its node */
};

struct map_seg {
    seg_id id;
    node_no node;
    uint8_t state; /* enum seg_state */
    uint64_t base; /* ordinal of its number 0 in its lane; 0: not told, or nobody joined it */
};

struct map_alias { /* the tickets of `from` live in `to` now */
    seg_id from, to;
    uint64_t base; /* likewise, of `from` */
};

struct map_lane {
    const char *name;
    uint32_t n_segs, n_aliases;
    struct map_seg *segs; /* chain order, head first */
    struct map_alias *aliases;
};

enum queue_state {
    QUEUE_OPEN = 1,
    QUEUE_PAUSED = 2, /* joins go on, nobody is released */
    QUEUE_CLOSED = 3, /* no joins; releases go on */
    QUEUE_FULL = 4,   /* max_waiting is reached: joins get 503 queue_full */
};

#define QUEUE_MESSAGE_MAX 1000 /* bytes */
/* Why `state` is what it is: for people. What is to be done is in `state` alone, so a
 * router that does not know the phase does it, too. */
enum queue_phase {
    PHASE_PLAIN = 0,
    PHASE_EARLY = 1,       /* CLOSED: opens at opens_ms */
    PHASE_PREQUEUE = 2,    /* PAUSED: tickets joined now are drawn at opens_ms */
    PHASE_OVER = 3,        /* CLOSED: since closes_ms */
    PHASE_PASSTHROUGH = 4, /* OPEN: nobody needs a pass */
    PHASE_REJECT = 5,      /* CLOSED, and nobody is released */
    PHASE_LAST = PHASE_REJECT,
};

struct map_phase {
    uint8_t phase; /* enum queue_phase */
    int64_t opens_ms, closes_ms; /* wall clock; 0: not said */
    const char *draw;            /* JSON, shown as it is; NULL or "": there is none */
};
#define MAP_DRAW_MAX 8192 /* bytes */

/* The state as people are told it, in every answer: the phase's word if it has one. */
const char *queue_state_name(enum queue_phase phase, enum queue_state state);

/* Numbers of a queue's definition that routers need. A new one is listed here and in
 * router_manager.proto: the message, its codec and the codec's tests have it then. */
enum challenge_mode { CHALLENGE_OFF, CHALLENGE_AUTO, CHALLENGE_ON };
enum verify_fallback { VERIFY_WORK, VERIFY_LET_IN, VERIFY_REFUSE };
#define VERIFY_URL_MAX   1024
#define VERIFY_ALLOW_MAX 1600 /* bytes: networks, with commas between them */
enum suspects_mode { SUSPECTS_OFF, SUSPECTS_WATCH, SUSPECTS_CHALLENGE, SUSPECTS_REJECT };

/* A ticket works with whatever shows it, or with its device: by a cookie, or by a key if it has one. */
enum queue_bind { BIND_NONE, BIND_DEVICE, BIND_KEY };

#define PUSH_CONTACT_MAX 200
#define PUSH_KEY_LEN 87 /* a VAPID public key: 65 bytes in base64url (RFC 8292 3.2) */
enum turn_field { TURN_FIELD_NONE, TURN_FIELD_EMAIL, TURN_FIELD_TEXT }; /* on the waiting page */

#define MAP_QUEUE_NUMBERS(X)                                                               \
    X(uint32_t, pass_ttl_s)     /* 0: not told */                                          \
    X(uint32_t, session_max_s)  /* 0: sessions are not extended */                         \
    X(uint32_t, session_idle_s) /* life of a renewed session without a request; 0: passes  \
                                 * are not renewed */                                      \
    X(uint32_t, kept_s)         /* a browser's place while nobody asks for it, at least; 0: not told */ \
    X(uint32_t, silent_s)       /* silence by which a waiting browser loses nothing; 0: not told */ \
    X(uint64_t, position_cap)   /* the highest position that is shown; 0: all are */       \
    X(uint32_t, challenge_mode) /* enum challenge_mode; OFF: what follows says nothing */  \
    X(uint32_t, challenge_from) /* joins per second; 0: they turn nothing on */            \
    X(uint32_t, challenge_per_address) /* joins per minute of a prefix; likewise */        \
    X(uint32_t, challenge_keys) /* tries at most; 0: the router's own measure */           \
    X(uint32_t, suspects)        /* enum suspects_mode; a later one is WATCH */             \
    X(uint32_t, suspects_from)   /* score of a suspect */                                   \
    X(uint32_t, suspects_places) /* places of a prefix that are usual; 0: all are */        \
    X(uint32_t, bind)           /* enum queue_bind */                                      \
    X(uint32_t, turn_claim_s)   /* time to come for people who are told of their turn, at least */ \
    X(uint32_t, verify_fallback) /* enum verify_fallback; a later one is WORK */           \
    X(uint32_t, turn_field)     /* enum turn_field; a later one is TEXT */

struct map_queue {
    queue_id id;
    const char *name;
    uint8_t state; /* enum queue_state */
    uint32_t n_lanes;
    struct map_lane *lanes; /* [0] is the default lane */
    const char *page;       /* page_def.h, as JSON; NULL or "": nothing is said */
    const char *message;    /* the operator's notice to people in line; NULL or "": none */
    struct map_phase when;
    const char *gate;       /* gate_def.h, as JSON; NULL or "": all go through the room */
    const char *turn_queue; /* the queue of an endpoint that is told whose turn comes; NULL or "": none */
    const char *push_key;   /* the page's button for Web Push has it; NULL or "": there is no button */
    const char *push_contact; /* says who sends Web Push, which routers do; NULL or "": they do not */
    const char *verify_url; /* a service that tells people from programs; NULL or "": none */
    const char *verify_allow; /* networks not of the public internet in which it may be */
    const char *moved;      /* ticket/pass.h; NULL or "": no ticket may change its device */
#define X(type, name) type name;
    MAP_QUEUE_NUMBERS(X)
#undef X
};

/* Changes from one version to the next, in one or more frames; the router's version is
 * `version` only after the frame without `more`. from_version 0: forget what you have.
 * nodes: always all of them. queues: whole, replaces the one with the same id. */
struct msg_map {
    uint32_t format; /* the lowest MAP_FORMAT that can read it; 0 = 1 */
    uint64_t epoch, from_version, version;
    seg_id next_seg; /* ids below this one and not in the map are gone for good */
    uint64_t store;  /* see msg_node_ok */
    bool more;
    uint32_t n_nodes, n_queues, n_removed;
    struct map_node *nodes;
    struct map_queue *queues;
    queue_id *removed;
    uint32_t n_keys; /* public keys of passes, 32 bytes each, for JWKS; newest first */
    const uint8_t (*keys)[32];
};

struct lane_stats {
    uint64_t waiting;
    uint64_t rate_milli_per_s; /* releases as people are told; 0: not known (common/ticket/pace.h) */
    uint32_t leave_ppm;        /* share of the waiting that give up, per second, in millionths */
    uint8_t eta_reason;        /* enum eta_reason */
};

struct queue_stats {
    queue_id id;
    uint64_t ready, active;
    uint64_t rate_milli_per_s; /* rate that the controller allows now */
    uint64_t entry; /* places of a lane that are let in as soon as they are taken */
    uint32_t challenge; /* level of challenges that joins need now; 0: none do */
    const char *limited_by;    /* "cpu", "fixed", "paused", "fallback" ... */
    uint32_t n_lanes;
    struct lane_stats lane[LANES_MAX];
};

/* A router answers polls of people whose node it does not reach for at most so long, since the node
 * last said anything: the most that `replica_keep` can be. A rebuild waits for them. */
#define REPLICA_KEEP_MS 15000

/* Tickets that have left, by the word of a node that is not reached any more: a router tells the manager, which
 * tells the other routers. */
#define MSG_LEFT_MAX 4096
struct left_row {
    seg_id seg; /* by the name in its token */
    uint32_t number;
};
struct msg_left {
    uint32_t n;
    struct left_row *v;
};

/* Joins that came to a router since it last said so, with a challenge or without: once a second, of
 * queues that may ask for one; and, of a router that has a region, of all. */
#define MSG_JOINS_MAX 1024
struct join_row {
    queue_id queue;
    uint32_t n;
};
/* A suspect of a queue, by this router's own counts (router/gate/suspects.h), as it is now; one that is
 * not told again is none any more. */
#define MSG_SUSPECTS_MAX 128
struct suspect_row {
    queue_id queue;
    uint64_t net;  /* first eight bytes of the prefix */
    uint8_t bits;  /* length of the prefix: 24 is IPv4; 48 and 56 are IPv6 */
    bool script;   /* not by its places alone */
    uint32_t score, places, silent, posing, refused;
    uint32_t since_s; /* Unix seconds, by the router's clock */
};
struct msg_joins {
    uint32_t n;
    struct join_row *v;
    uint32_t all; /* joins of all queues; 0: none, or it has no region */
    uint32_t n_suspects;
    struct suspect_row *suspects;
};

/* A ticket that may change its device (map_queue.moved) is shown by this one. */
struct msg_device {
    seg_id seg;
    uint32_t number;
    const char *id; /* device_id() */
};

struct silent_node { /* a segment node that the manager does not reach */
    node_no no;
    uint32_t silent_ms; /* since it said anything, as far as this manager knows */
};

struct msg_stats {
    uint32_t n;
    struct queue_stats *queues; /* only those that changed since the last STATS */
    int64_t clock_ms;           /* the clock of releases, Unix ms; 0: not told */
    bool reach;                 /* the first of a flush: `unreached` is all of them */
    uint32_t n_unreached;
    struct silent_node *unreached;
};

#endif

/* router_state.h: what a router of the simulation has: routes, flows, lines as pushed, requests to
 * nodes. For router.c, router_asks.c and router_known.c. */
#ifndef SEGQ_SIM_ROUTER_STATE_H
#define SEGQ_SIM_ROUTER_STATE_H

#include "router/flow/listeners.h"
#include "router/gate/passes.h"
#include "router/replica/replicas.h"
#include "tests/lib/sim/router.h"

#define BATCH 64

enum { KIND_PLACE, KIND_APPEND, KIND_DROP, KIND_SESSION, N_KINDS };

struct ref { /* a flow, if it is still that one */
    uint32_t flow, gen;
};

struct late { /* a join whose batch is answered in part, or slowly */
    struct ref of;
    uint64_t rid;
    uint32_t row, n; /* of so many */
};

struct lane_out { /* to one node, one kind */
    struct ref pending[4096], flying[BATCH];
    uint32_t n_pending, n_flying;
    uint64_t rid;
    usec_t sent_at;
    struct late late[4096];
    uint32_t n_late;
};

struct slistener { /* a player whose connection stays open */
    struct listen_ticket l;
    struct sreq req;
    usec_t sent_at; /* the last event arrives then */
    usec_t heard_at; /* the last look that had an answer */
    bool put_off;    /* looks since then had none */
};

struct sflow {
    struct flow f;
    bool repeats;           /* it repeats a leave: nobody waits for it */
    struct slistener *look; /* it is the look of that one; NULL: a request */
    struct sreq req;
    uint32_t gen;      /* of the slot: counts its uses */
    uint64_t wake_gen; /* a timer that carries another is old */
    struct party *party; /* ref: a place of a call of several, */
    uint8_t place;
    bool late;           /* or one that is given back behind such a call, until: */
    usec_t late_until;
    uint8_t wanted; /* a request to listen: replicas_want() */
    uint64_t pass;
    uint64_t subject_hash;
    char subject[SIM_SUBJECT_LEN];
    bool used;
};

struct srouter {
    struct routes *r;
    struct replicas known;
    struct listeners listeners;
    struct revoked revoked, extended;
    struct pass_clock pass_clock;
    usec_t clock_at; /* it was told the last time */
    struct sflow *flow;
    size_t cap;
    uint32_t n;
    uint64_t next_rid, next_wake;
    struct { /* a link to a manager */
        peer_no peer;
        bool asked_all; /* registered with version 0, and no map has come since */
    } mng[SIM_MNGS_MAX];
    struct { /* the latest link to a segment node */
        peer_no peer; /* 0: none */
        node_no no;   /* by the map, when it came up; 0: the map has it no more */
    } seg[SIM_SEGS_MAX];
    struct lane_out *out[SIM_SEGS_MAX]; /* [node][kind] */
    struct party *parties; /* owned; groups.c */
};

/* Goes on with a flow, as far as it goes. */
void router_go(struct sim *s, struct proc *p, uint32_t i);
/* A flow that is not used; moves all. */
uint32_t router_flow_slot(struct srouter *r);
/* Looks that are due begin. */
void router_listen_run(struct sim *s, struct proc *p);

#endif

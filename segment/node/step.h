/* step.h: one step of a node: a tick, a message, a link that came or went. */
#ifndef SEGQ_SEG_NODE_STEP_H
#define SEGQ_SEG_NODE_STEP_H

#include "segment/core/opts.h"

struct msg;
struct outbox;
struct segtab;

enum segtab_kind {
    SEGTAB_TICK,      /* at least every 100 ms: sweep, claim windows, reports, move progress */
    SEGTAB_REPORT,    /* report now what has changed; see segtab_urgent() */
    SEGTAB_ASK,       /* send what joins wait for; see segtab_asks() */
    SEGTAB_UP,        /* peer connected: role, name */
    SEGTAB_DOWN,      /* peer gone */
    SEGTAB_MSG,       /* from peer */
    SEGTAB_DIAL_FAIL, /* the peer asked for by want_peer could not be reached: name */
};

struct segtab_in {
    struct seg_now now;
    enum segtab_kind kind;
    peer_no peer;
    uint8_t role;     /* UP, DOWN: enum rpc_role */
    const char *name; /* UP: node name of the peer; DIAL_FAIL */
    bool older;       /* UP: it speaks a protocol before PROTOCOL_BOUND */
    const struct msg *msg;
    msec_t silent_ms; /* TICK: so long ago a router was heard last; 0: now */
};

/* Fills `out` with messages. When a move needs a link to another segment node, it is
 * named in segtab_wanted() until the move is over; the shell dials and reports UP. */
void segtab_step(struct segtab *t, const struct segtab_in *in, struct outbox *out);
/* A join waits for another node's word, which has not been asked for yet (SEGTAB_ASK; every
 * other step does it, too). */
bool segtab_asks(const struct segtab *t);

#endif

/* segtab.h: all segments hosted by one segment node, and the orders they obey. Pure.
 *
 * This is the node's whole brain: the shell (segment/service/) and the simulation feed it
 * the same calls. Batches from routers are answered at once; everything else goes through
 * segtab_step() and an outbox. This header is the whole of what they may call:
 *
 *   segment/tickets/    polls, joins, leaves, session commands: answered at once
 *   segment/node/       steps: orders of the manager, reports, links
 *   segment/restore/    the journal's side: a snapshot, and records read again
 *   segment/transfer/   a segment moves to another node
 *   segment/directory/  one place per person over all nodes
 *   segment/replica/    what routers need to answer polls of waiting tickets
 *   segment/core/       the data, and what all of them need: where a ticket is, clocks, records
 *
 * Peers: the shell numbers its live connections (peer_no). The manager in charge is the
 * last one whose NODE_OK had the highest epoch; orders under a lower epoch are answered
 * with MSG_ERROR SQ_ESTALE and nothing is done.
 *
 * Two clocks arrive with every call: now_ms (monotonic) and wall_ms (only for what is
 * said in passes and tokens). Idle time-outs run on the node's *service clock*, which
 * advances with now_ms, but by at most SEGTAB_MAX_STEP_MS per tick, and only up to when a
 * router was heard last: time in which we were stopped or cut off expires nobody. When routers
 * come back after all were gone, it stands for as long again as they were away (at most
 * SEGTAB_REST_MS): clients that failed to reach them come that late. */
#ifndef SEGQ_SEG_NODE_SEGTAB_H
#define SEGQ_SEG_NODE_SEGTAB_H

#include "segment/core/opts.h"
#include "segment/node/orders.h"
#include "segment/node/report.h"
#include "segment/replica/listeners.h"
#include "segment/restore/replay.h"
#include "segment/restore/snapshot.h"
#include "segment/tickets/commands.h"
#include "segment/tickets/join.h"
#include "segment/tickets/poll.h"
#include "segment/tickets/turn.h"

struct msg;
struct outbox;
struct segtab;

struct segtab *segtab_new(const struct segtab_opts *o); /* NULL: no memory */
void segtab_free(struct segtab *t);

enum segtab_kind {
    SEGTAB_TICK,      /* at least every 100 ms: sweep, claim windows, reports, move progress */
    SEGTAB_REPORT,    /* report now what has changed; see segtab_urgent() */
    SEGTAB_ASK,       /* answer joins whose word is here, send what others wait for; see segtab_asks() */
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
    const struct msg *msg;
    msec_t silent_ms; /* TICK: so long ago a router was heard last; 0: now */
};

/* Fills `out` with messages. When a move needs a link to another segment node, it is
 * named in segtab_wanted() until the move is over; the shell dials and reports UP. */
void segtab_step(struct segtab *t, const struct segtab_in *in, struct outbox *out);
/* A join waits for another node's word, which has not been asked for yet (every other step does that,
 * too), or is here: SEGTAB_ASK. */
bool segtab_asks(const struct segtab *t);
/* Joins that this step answers; a journal's room for them comes first. */
uint32_t segtab_joins_due(const struct segtab *t);

/* Links to other segment nodes that are wanted now; returns how many (at most cap). */
size_t segtab_wanted(const struct segtab *t, struct node_want *v, size_t cap);

#endif

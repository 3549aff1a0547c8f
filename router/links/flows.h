/* flows.h: the flows under way: their memory, deadlines, waits. Shell: does what flow.h
 * decides (ask, wait, answer).
 * Every flow is in r->flows from its start to its answer (a renewal in r->renewals: it has
 * less time); all of a list have the same time limit, so the first one is due first. The few
 * that wait for a newer map (20 ms in a fence, else 100 ms at most) are in r->waiting as
 * well. One timer serves all lists. */
#ifndef SEGQ_ROUTER_FLOWS_H
#define SEGQ_ROUTER_FLOWS_H

#include "common/base/map.h"
#include "common/wire/msg.h"
#include "router/flow/flow.h"
#include "router/state/node_links.h"
#include "router/state/router.h"

struct page_ask;
struct listening;
struct renewal;
struct pass_use;
struct contact_ask;
struct places_call;
struct rflow;

/* Makes the answer of how a flow has ended, in r->ans. Set by the caller that starts the flow. */
typedef void (*rflow_done)(struct router *r, struct rflow *rf);

#define RFLOW_LATE_MAX 65536 /* at a time; further places are left to their idle times */

struct rflow { /* pooled: a poll allocates nothing */
    enum waiter waits; /* WAITS_FLOW, as long as its memory is there */
    struct flow flow;
    struct list_node in_all;
    struct list_node in_waiting;
    struct httpd_req *req; /* ref; NULL: the client has gone */
    struct rflow **slot;   /* where a batch refers to it; NULL: in none */
    rflow_done done;
    int64_t started_us;
    struct page_ask *page;   /* owned; NULL: not of a page */
    struct renewal *renewal; /* owned; NULL: it is none. Else it is in r->renewals */
    struct pass_use *use;    /* owned; NULL: it is none */
    struct contact_ask *contact; /* owned; FLOW_CONTACT */
    enum { RFLOW_CALL, RFLOW_LOOKS, RFLOW_WATCHED, RFLOW_PLACE, RFLOW_LATE } as; /* LOOKS: for somebody who listens:
                              * no request; WATCHED: a join where suspects are looked for; PLACE: one of several
                              * joins, or its place is given back; LATE: likewise, behind the answer */
    bool outlived; /* PLACE: its ask is on its way: a LATE one waits for the answer, or nobody */
    msec_t late_until_ms; /* LATE: then its place is left to its idle time */
    struct places_call *places; /* ref: place `place` of these asks; set by whoever made them */
    uint8_t place;
    struct listening *listening; /* ref: who; NULL: it is no look, or its client has gone */
    uint64_t listen_id, last_told; /* for a request to listen: gate_listener(), its Last-Event-ID, */
    uint8_t wanted;                /* and replicas_want() */
    const char *pass; /* ref, during the answer's call only */
    uint16_t pass_len;
    int64_t pass_until_s; /* FLOW_SESSION: how long the pass is good that was shown */
    limit_id client; /* WATCHED: whose join it is */
    char text[TOKEN_TEXT_LEN]; /* the token, for the answer; FLOW_POLL: as it came */
    uint8_t subject_len, head_len; /* head_len: of the subject, before its name */
    char subject[SUBJECT_TEXT_MAX]; /* ticket/pass.h */
};

struct contact_ask { /* n_sealed 0: there shall be none any more */
    uint32_t claim_ms;
    uint16_t n_sealed;
    uint8_t sealed[];
};

SQ_CHECK int rflow_init(struct router *r);
void rflow_fini(struct router *r);
/* NULL: too many under way, or no memory. req NULL: nobody is answered. renewal: taken over
 * (malloc); NULL: it is none. */
struct rflow *rflow_new(struct router *r, struct httpd_req *req, rflow_done done,
                        struct renewal *renewal);
/* The same for a call of the API. NULL: that has been answered: 503, `detail`. */
struct rflow *rflow_call(struct router *r, struct httpd_req *req, rflow_done done,
                         const char *detail);
/* After flow_join(), flow_poll() or flow_leave(). May end it. */
void rflow_begin(struct router *r, struct rflow *rf);
/* After each answer. May end it. */
void rflow_step(struct router *r, struct rflow *rf);
void rflow_client_gone(struct rflow *rf);
/* The place of a join that comes to nothing is given back, for half a minute. bare: it has no name. again: a link
 * ended under that. Without memory, or beyond RFLOW_LATE_MAX, the place times out. */
void rflow_give_back(struct router *r, const struct token *t, bool bare, bool again);
/* The answer to a LATE join's ask: it leaves what it got, or ends. Then rflow_step(). */
void rflow_came_late(struct router *r, struct rflow *rf, const struct append_ans *a);
/* Flows that wait for a newer map ask it. */
void rflow_map_changed(struct router *r);
/* Flows that wait for this node's link go on. */
void rflow_node_up(struct router *r, node_no node);

/* ---- links to segment nodes, and batches of requests that are collected on them ----
 * Nothing is sent from here, so nobody is called back: batches leave when the turn ends.
 *
 *   flows.c       a flow's request goes into its node's next batch
 *   seg_batch.c   sends batches, takes answers
 *   seg_link.c    dials; what comes in
 * Nobody else looks inside. */

struct batch {
    struct list_node in_list; /* member of its kind's open or sent ones, or of the free ones */
    uint64_t rid;
    int64_t since_us; /* when the first one came; once it is sent: since then */
    uint32_t n;
    uint32_t left;                  /* once it is sent: rows without an answer */
    struct rflow *v[MSG_BATCH_MAX]; /* ref; NULL: the flow has ended */
};

#define SEG_KINDS (FLOW_CONTACT + 1)

struct kind {         /* kind: place, append, drop, session, contact */
    struct list open; /* being collected, oldest first: all but the last one are full */
    struct list sent; /* oldest first */
    struct list late; /* joins that wait at the node: some of their batch, or a later one, have answers */
    struct map by_rid; /* the late ones: request id -> batch */
};

struct seg_link {
    struct node_link n;
    struct seg_links *s; /* ref */
    struct kind kind[SEG_KINDS]; /* by enum flow_kind */
};

struct seg_links {
    struct router *r; /* ref */
    struct node_links nodes;
    uint64_t next_rid;
    struct list free_batches;
    struct ev_timer *seen_timer;
    struct ev_timer *held_timer; /* a turn for batches that are held back */
    bool held;                   /* held_timer is armed */
    ev_fn farewell_done; /* NULL: the process does not end */
    void *farewell_arg;
    union { /* requests of the frame being made */
        struct place_req place[MSG_BATCH_MAX];
        struct append_req append[MSG_BATCH_MAX];
        struct drop_req drop[MSG_BATCH_MAX];
        struct sess_req session[MSG_BATCH_MAX];
        struct contact_req contact[MSG_BATCH_MAX];
    } req;
};

/* Puts rf's request into the next batch. 0, or SQ_EUNAVAIL: the node cannot be asked. While a link is
 * being dialled for the first time, one batch of requests waits for it. */
SQ_CHECK int seg_link_ask(struct seg_links *s, struct rflow *rf);
/* Nodes that are reached, and nodes in the map. */
void seg_links_count(const struct seg_links *s, size_t *up, size_t *of);

/* Given back when a sent batch has its answers. b is in no list. */
void batch_free(struct seg_links *s, struct batch *b);

#endif

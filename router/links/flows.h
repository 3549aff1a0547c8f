/* flows.h: the flows under way: their memory, deadlines, waits. Shell: does what flow.h
 * decides (ask, wait, answer).
 * Every flow is in r->flows from its start to its answer (a renewal in r->renewals: it has
 * less time); all of a list have the same time limit, so the first one is due first. The few
 * that wait for a newer map (20 ms in a fence, else 100 ms at most) are in r->waiting as
 * well. One timer serves all lists. */
#ifndef SEGQ_ROUTER_FLOWS_H
#define SEGQ_ROUTER_FLOWS_H

#include "router/flow/flow.h"
#include "router/state/router.h"

struct page_ask;
struct listening;
struct renewal;
struct pass_use;
struct rflow;

/* Makes the answer of how a flow has ended, in r->ans. Set by the caller that starts the flow. */
typedef void (*rflow_done)(struct router *r, struct rflow *rf);

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
    bool looks;              /* for somebody who listens: no request */
    struct listening *listening; /* ref: who; NULL: it is no look, or its client has gone */
    uint64_t listen_id, last_told; /* for a request to listen: gate_listener(), its Last-Event-ID */
    const char *pass; /* ref, during the answer's call only */
    uint16_t pass_len;
    int64_t pass_until_s; /* FLOW_SESSION: how long the pass is good that was shown */
    char text[TOKEN_TEXT_LEN]; /* the token, for the answer; FLOW_POLL: as it came */
    uint8_t subject_len, head_len; /* head_len: of the subject, before its name */
    char subject[SUBJECT_TEXT_MAX]; /* ticket/bound.h */
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
/* Flows that wait for a newer map ask it. */
void rflow_map_changed(struct router *r);

#endif

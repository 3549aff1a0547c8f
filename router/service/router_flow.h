/* router_flow.h: the flows under way: their memory, deadlines, waits. Shell. */
#ifndef SEGQ_ROUTER_FLOW_H
#define SEGQ_ROUTER_FLOW_H

#include "router/service/router_service.h"

struct rflow { /* pooled: a poll allocates nothing */
    struct flow flow;
    struct list_node in_all;
    struct list_node in_waiting;
    struct httpd_req *req; /* ref; NULL: the client has gone */
    struct rflow **slot;   /* where a batch refers to it; NULL: in none */
    int64_t started_us;
    struct page_ask *page; /* owned; NULL: not of a page */
    struct renewal *renewal; /* owned; NULL: it is none. Then it is in r->renewals */
    const char *pass; /* ref, during the answer's call only */
    uint16_t pass_len;
    int64_t pass_until_s; /* FLOW_SESSION: how long the pass is good that was shown */
    char text[TOKEN_TEXT_LEN]; /* FLOW_POLL: the token as it came, for the answer */
    uint8_t subject_len;
    char subject[SUBJECT_MAX_LEN];
};

SQ_CHECK int rflow_init(struct router *r);
void rflow_fini(struct router *r);
/* NULL: too many under way, or no memory. renewal: taken over; NULL: it is none. */
struct rflow *rflow_new(struct router *r, struct httpd_req *req, struct renewal *renewal);
/* After flow_join(), flow_poll() or flow_leave(). May end it. */
void rflow_begin(struct router *r, struct rflow *rf);
/* After each answer. May end it. */
void rflow_step(struct router *r, struct rflow *rf);
void rflow_client_gone(struct rflow *rf);
/* The ticket of a flow that ended well; false: its queue went away in this moment. */
bool router_ticket(struct router *r, const struct rflow *rf, struct api_ticket *t);
void rflow_map_changed(struct router *r);

#endif

/* router_service.h: a router: the owner of everything in the process, and what join.c,
 * poll.c, leave.c, queue_get.c and page_*.c share. Shell.
 *
 *   httpd --request--> join.c, poll.c, leave.c --> flow.c (decides) --> seg_link --> node
 *   httpd <--answer-- router_flow.c <-- flow.c <-- seg_link <-- node
 *   queuemng --MAP, STATS--> mng_link.c --> routes.c (asked by flow.c) */
#ifndef SEGQ_ROUTER_SERVICE_H
#define SEGQ_ROUTER_SERVICE_H

#include "common/http/admin.h"
#include "common/base/arena.h"
#include "common/http/httpd.h"
#include "common/ticket/keys.h"
#include "common/base/list.h"
#include "common/base/metrics.h"
#include "common/net/rpc.h"
#include "router/api/api.h"
#include "router/api/body.h"
#include "router/service/claim_keys.h"
#include "router/api/cors.h"
#include "router/service/gate.h"
#include "router/gate/pass_clock.h"
#include "router/gate/revoked.h"
#include "router/service/router_cfg.h"
#include "router/api/session_in.h"
#include "router/gate/verdicts.h"

struct seg_links;
struct mng_links;
struct rflow;
struct page_room;

struct router_counts {             /* ever */
    uint64_t joins, polls, leaves; /* requests that became flows */
    uint64_t forged;               /* tokens that are not ours */
    uint64_t unavailable, full;    /* how flows ended */
    uint64_t lost, overdue;        /* links broken under them; time limits reached */
    uint64_t retries;              /* flows that had to wait or ask again */
    uint64_t batches, batched;     /* frames to segments, requests in them */
    uint64_t maps, maps_refused, stats;
    uint64_t verified, verify_refused, pass_checks; /* GET /v1/verify; signatures looked at */
    uint64_t claims, claims_refused;
    uint64_t bypassed[BYPASS_NREASONS]; /* let past by GET /v1/verify, without a pass */
    uint64_t extended, sessions_ended, sessions_refused; /* POST /v1/session */
    uint64_t renewed, renew_failed, renew_late; /* passes, while they are verified */
    uint64_t held, entered; /* joins that waited for their admission, and had it */
    uint64_t pages, page_enters;   /* pages shown; people sent on with a pass */
};

struct router {
    const struct router_cfg *cfg; /* ref */
    struct ev *ev;                /* ref */
    struct rpc *rpc;
    struct httpd *httpd;
    struct admin *admin;
    struct routes *routes;
    struct cluster_keys keys;
    struct seg_links *segs;
    struct mng_links *mngs;
    struct arena arena; /* of the frame being handled */
    struct api_ans ans; /* of the answer being composed */
    struct gate gate;   /* who asks, and how often */
    struct verdicts *verdicts; /* passes that were found good */
    struct verdict verdict;    /* the last one */
    struct verdict not_good;   /* of the passes that were presented together */
    uint64_t keys_hash;        /* of the keys that they were found good with */
    struct pass_clock pass_clock;
    struct revoked revoked;    /* passes that are not good any more */
    struct revoked extended;   /* sessions that last longer than their pass said */
    char gate_subject[65];     /* gate_subject_header in small letters */
    struct gate_secret gate_secret;
    struct page_room *page;
    struct claim_ring claims;  /* keys that claims may be signed with */
    struct cors *cors; /* NULL: pages of other origins get nothing */
    uint64_t request_id;
    /* flows under way, router_flow.c */
    struct list flows;   /* oldest first = next deadline first */
    struct list renewals; /* likewise: those that renew a pass have less time */
    struct list waiting; /* those that wait for a moment or for a map */
    struct list free_flows;
    struct ev_timer *flow_timer;
    msec_t flow_timer_at;
    struct router_counts counts;
    struct histo join_us, poll_us, leave_us;
};

SQ_CHECK int router_new(struct router **out, struct ev *ev, const struct router_cfg *cfg,
                        struct err *e);
void router_free(struct router *r);
/* Has a map and reaches a segment node: worth sending players to. */
bool router_is_ready(const struct router *r);
/* TERM: no new connections, answer what is under way, then `done`. */
void router_drain(struct router *r, ev_fn done, void *arg);
/* HUP: r->cfg was read again. */
void router_reload(struct router *r);
/* The chain map has changed. */
void router_map_changed(struct router *r);

int64_t router_wall_s(void); /* Unix seconds */
int64_t router_least_s(const struct router *r); /* what ended by then is over: pass_clock.h */
/* The page's cookies, and those of verdicts, are for https only. */
bool router_is_https(const struct router *r, const struct httpd_req *req,
                     const struct http_req *q);
/* verify.c: GET /v1/verify */
void verify(struct router *r, struct httpd_req *req, const struct http_req *q);
void verify_let_in(struct router *r, const struct verdict *x); /* into r->ans */
void verify_keys_changed(struct router *r); /* perhaps; presented.c */
/* session.c: POST /v1/session */
void session_start(struct router *r, struct httpd_req *req, const struct http_req *q);
void session_done(struct router *r, struct rflow *rf);

/* False: its address is too fast, and it was told so. */
SQ_CHECK bool router_may_pass(struct router *r, struct httpd_req *req, enum limit_kind k);
/* Sends r->ans and empties it. */
void router_answer(struct router *r, struct httpd_req *req);
void router_problem(struct router *r, struct httpd_req *req, enum api_problem p,
                    const char *detail);
/* A token that is not ours: answered. */
void router_forged(struct router *r, struct httpd_req *req);
static inline uint64_t router_request_id(struct router *r)
{
    return r->request_id += 0x9e3779b97f4a7c15ull;
}

/* Each flow top to bottom in its own file: from the request to the ask, and from what
 * flow.c says at the end to the answer. */
void join_start(struct router *r, struct httpd_req *req, const struct http_req *q,
                struct slice queue);
void join_done(struct router *r, struct rflow *rf);
/* The first step of a join whose rules are kept. */
void join_flow(struct router *r, struct rflow *rf, const struct route_queue *q,
               const struct join_body *b, unsigned lane);
/* An Idempotency-Key that may be one: long enough that nobody guesses it. */
#define JOIN_KEY_MIN 16
#define JOIN_KEY_MAX 128
bool join_key_ok(struct slice key);
/* The place of a join that has no subject is known by its key. */
void join_by_key(struct router *r, const struct route_queue *q, struct join_body *b,
                 struct slice key);
/* claim_lane() with this router's keys and clock. */
SQ_CHECK int join_lane(struct router *r, const struct route_queue *q, struct join_body *b,
                       unsigned *lane, const char **why);
void poll_start(struct router *r, struct httpd_req *req, struct slice token);
void poll_done(struct router *r, struct rflow *rf);
void leave_start(struct router *r, struct httpd_req *req, struct slice token);
void leave_done(struct router *r, struct rflow *rf);
void queue_get(struct router *r, struct httpd_req *req, struct slice queue);

void router_metrics(void *ctx, struct buf *b); /* router_metrics.c */

#endif

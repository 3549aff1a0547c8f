/* router.h: what a router process has: the data that all its rooms share, no functions.
 * Shell; owned by service.c, which makes and frees it.
 *
 *   httpd --request--> dispatch.c --> join.c ... --> flow.c (decides) --> seg_ask.c ----> node
 *   httpd <--answer--- join.c ... <-- flows.c <----- flow.c <----------- seg_batch.c <-- node
 *   queuemng --MAP, STATS--> mng_link.c --> routes_apply.c (flow.c asks it through routes.c) */
#ifndef SEGQ_ROUTER_H
#define SEGQ_ROUTER_H

#include "common/base/arena.h"
#include "common/base/list.h"
#include "common/base/metrics.h"
#include "common/http/httpd.h"
#include "common/net/rpc.h"
#include "common/ticket/keys.h"
#include "router/api/cors.h"
#include "router/api/response.h"
#include "router/api/session_body.h"
#include "router/api/waiting_text.h"
#include "router/gate/pass_clock.h"
#include "router/gate/revoked.h"
#include "router/gate/signature_cache.h"
#include "router/listen/listeners.h"
#include "router/replica/replicas.h"
#include "router/state/cfg.h"
#include "router/state/claim_keys.h"
#include "router/state/client_gate.h"

struct admin;
struct seg_links;
struct mng_links;
struct page_room;
struct tasking;

/* First member behind httpd's user pointer of a request; not behind that of an open answer. */
enum waiter { WAITS_FLOW, WAITS_TASK };

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
    uint64_t used, use_refused;    /* passes that a gate lets in once */
    uint64_t renewed, renew_failed, renew_late; /* passes, while they are verified */
    uint64_t held, entered; /* joins that waited for their admission, and had it */
    uint64_t events, listeners_refused; /* GET .../events: told; sent away to poll */
    uint64_t pages, page_enters;   /* pages shown; people sent on with a pass */
};

struct router {
    const struct router_cfg *cfg; /* ref */
    struct ev *ev;                /* ref */
    struct rpc *rpc;
    struct httpd *httpd;
    struct httpd *httpd_tasks; /* at listen_tasks; NULL: not configured */
    unsigned answering;        /* while it ends: of these two */
    struct admin *admin;
    struct routes *routes;
    struct replicas replicas; /* copies that answer polls without a node */
    struct listeners listeners; /* clients that are told at once, events.h */
    struct ev_timer *listen_timer;
    struct cluster_keys keys;
    struct seg_links *segs;
    struct mng_links *mngs;
    struct tasking *tasking; /* NULL: there are no tasks here */
    struct arena arena; /* memory of the frame being handled */
    struct api_ans ans; /* the answer being composed */
    struct waiting_texts waiting_texts;
    struct gate gate;   /* the client's address and its limits */
    struct sigcache *sigcache;   /* passes that were found good */
    struct known_pass last_pass; /* the last one that was checked */
    struct bound last_bound;     /* binding of that, if any */
    struct known_pass not_good;  /* the first pass of this request that is ours, but not good */
    uint64_t keys_generation;    /* version of the keys that they were found good with */
    struct pass_clock pass_clock;
    struct revoked revoked;    /* passes that are not good any more */
    struct revoked used;       /* passes that are good once, and were used */
    struct revoked extended;   /* sessions that last longer than their pass said */
    char gate_subject[65];     /* gate_subject_header in small letters */
    struct gate_secret gate_secret;
    struct page_room *page;
    ev_fn drained; /* router_drain() */
    void *drained_arg;
    struct claim_ring claims;  /* keys that claims may be signed with */
    struct cors *cors; /* NULL: pages of other origins get nothing */
    uint64_t request_id;
    /* flows under way, flows.h */
    struct list flows;   /* oldest first = next deadline first */
    struct list renewals; /* likewise: those that renew a pass have less time */
    struct list waiting; /* flows that wait for a moment or for a map */
    struct list free_flows;
    struct ev_timer *flow_timer;
    msec_t flow_timer_at;
    struct router_counts counts;
    struct histo join_us, poll_us, leave_us;
};

#endif

/* router.h: a router process: the data that all its rooms share, the answer to the request at
 * hand, the time by which passes are judged, and what its table of suspects is told. Shell; owned by
 * service.c, which makes and frees it.
 *
 *   httpd --request--> dispatch.c --> join.c ... --> flow.c (decides) --> flows.c --> node
 *   httpd <--answer--- join.c ... <-- flows.c <----- flow.c <----------- seg_batch.c <-- node
 *   queuemng --MAP, STATS--> mng_link.c --> routes.c (flow.c asks it) */
#ifndef SEGQ_ROUTER_H
#define SEGQ_ROUTER_H

#include "common/base/list.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/metrics.h"
#include "common/http/httpd.h"
#include "common/net/rpc.h"
#include "common/ticket/keys.h"
#include "common/ticket/pace.h"
#include "router/api/request.h"
#include "router/api/response.h"
#include "router/api/waiting_text.h"
#include "router/compat/aws_room.h"
#include "router/flow/listeners.h"
#include "router/gate/door.h"
#include "router/gate/gate_rules.h"
#include "router/gate/passes.h"
#include "router/gate/suspects.h"
#include "router/replica/replicas.h"
#include "router/state/cfg.h"
#include "router/state/client_gate.h"
#include "router/state/contact.h"
#include "router/state/queue_names.h"
#include "router/state/secrets.h"

struct admin;
struct site_asks;
struct seg_links;
struct mng_links;
struct page_room;
struct tasking;

/* First member behind httpd's user pointer of a request; not behind that of an open answer. */
enum waiter { WAITS_FLOW, WAITS_TASK, WAITS_PASSING, WAITS_UPLOAD, WAITS_SITE, WAITS_PLACES };

enum site_result { SITE_ASKED, SITE_GOOD, SITE_REFUSED, SITE_USED, SITE_FALLBACK, SITE_NRESULTS };

struct router_counts {             /* ever */
    uint64_t joins, polls, leaves; /* requests that became flows */
    uint64_t forged;               /* tokens that are not ours */
    uint64_t other_device;         /* tickets and passes shown by another device than theirs */
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
    struct tls_server *tls;    /* owned: certificates of httpd and httpd_tasks */
    struct httpd *httpd_tasks; /* at listen_tasks; NULL: not configured */
    unsigned answering;        /* while it ends: of these two */
    struct admin *admin;
    struct routes *routes;
    struct replicas replicas; /* copies that answer polls without a node */
    struct listeners listeners; /* clients that are told at once, events.h */
    size_t watches; /* and those of tasks, watch.h */
    struct ev_timer *listen_timer;
    struct cluster_keys keys;
    struct web_push_key push, other_push; /* VAPID keys, by either line of the secret */
    struct log_limit push_refused;        /* push services that the operator has not named */
    struct {
        char text[200]; /* people who are not told of their turn, and why; */
        msec_t until;   /* before then */
    } untold;
    struct seg_links *segs;
    struct mng_links *mngs;
    /* Managers are to hear who has left (router/replica/replicas.h); NULL: there are no links to any. */
    void (*tell_left)(const struct mng_links *m);
    /* A segment node is to hear what has become of its word about a turn. */
    void (*turn_told)(struct router *r, node_no node, const struct msg_turn_ans *a);
    /* A ticket that listeners wait for is let in. */
    void (*let_in)(struct router *r, const struct let_in_row *row);
    /* Are tasks of this very queue (a pattern names nobody) calls to this host, and no other? NULL: there are no
     * tasks here. */
    bool (*is_push_service)(const struct router *r, const char *queue, const char *host);
    struct tasking *tasking; /* NULL: there are no tasks here */
    struct arena arena; /* memory of the frame being handled */
    struct api_ans ans; /* the answer being composed */
    struct waiting_texts waiting_texts;
    struct put_off put_off; /* requests whose node is awaited */
    struct gate gate;   /* the client's address and its limits */
    struct door door;   /* challenges of joins */
    struct aws_line aws_lines[AWS_EVENTS_MAX]; /* lines of cfg->aws_events */
    struct site_asks *site_asks; /* owned; NULL: none was asked yet */
    struct gate_secret verify_secret; /* known to the services that these ask */
    uint64_t site_results[SITE_NRESULTS];
    struct suspects *suspects; /* owned; NULL: no join has come to a queue that looks for any */
    uint64_t suspects_n;       /* now */
    uint64_t suspects_acts[SUSPECT_NACTS]; /* joins of suspects, by what became of them */
    uint64_t other_prefix[2];  /* limit_prefix_key() of the other secret */
    struct {
        msec_t second;
        uint64_t n;
    } join_passes; /* signatures of passes that joins had looked at in this second */
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
    struct gate_rules *gate_rules; /* NULL: none */
    struct crawler_names *crawler_names; /* NULL until there are rules */
    struct crawlers *crawlers;     /* ref: theirs */
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
    struct list places, places_behind; /* calls/places_call.h; */
    struct ev_timer *places_timer;     /* NULL: there was none yet */
    unsigned n_late;                   /* flows that give places back behind an answer */
    struct ev_timer *behind_timer;     /* the process ends once these have, or then: */
    msec_t behind_until_ms;
    struct queue_names names;
    struct log_limit group_refused; /* each visitor of a group's page may cause a line */
    struct ev_timer *flow_timer;
    msec_t flow_timer_at;
    struct router_counts counts;
    struct histo join_us, poll_us, leave_us;
};

/* ---- the answer to the request at hand: what is in r->ans, or a refusal. Each function that answers
 * does so once; req is the server's and is not to be used after. ---- */

/* Sends r->ans and empties it. */
void router_answer(struct router *r, struct httpd_req *req);
/* The same of an answer of `length` bytes, of which r->ans has the first; the rest is the caller's to
 * send (httpd_may_open_sized() has been asked). False: there is no memory; that has been answered. */
SQ_CHECK bool router_answer_begin(struct router *r, struct httpd_req *req, uint64_t length);
/* The same of one that is passed on as it comes (httpd_may_pass() has been asked): its head. length: or
 * HTTPD_UNSIZED. */
SQ_CHECK bool router_answer_passing(struct router *r, struct httpd_req *req, uint64_t length);
void router_problem(struct router *r, struct httpd_req *req, enum api_problem p,
                    const char *detail);
/* Composes the answer of a flow that ended with something else than a ticket. */
void router_failed(struct router *r, const struct flow *f);
/* False: its address is over its budget `k`; that has been answered. */
SQ_CHECK bool router_may_pass(struct router *r, struct httpd_req *req, enum limit_kind k);
/* Likewise for n more than the one that was counted: all or none. */
SQ_CHECK bool router_may_pass_more(struct router *r, struct httpd_req *req, enum limit_kind k, unsigned n);
/* Answers a request whose token is not ours. */
void router_forged(struct router *r, struct httpd_req *req);

static inline uint64_t router_request_id(struct router *r)
{
    return r->request_id += 0x9e3779b97f4a7c15ull;
}

/* ---- the time that passes are judged by, from this router's clocks ---- */

int64_t router_wall_s(void); /* Unix seconds */
/* By no clock is it earlier: what ended by then is over. passes.h. */
int64_t router_least_s(const struct router *r);

#define ROUTER_TIME_MAX 72
/* A moment as text: "rfc3339", "unix", or a layout of strftime(), in the time zone of the process; how
 * many bytes, no 0 behind them. 0: the layout is none. */
size_t router_time_text(char out[ROUTER_TIME_MAX], const char *layout, int64_t unix_s);
#define ROUTER_TIME_LONGEST (ROUTER_TIME_MAX - 9) /* bytes, by a layout */
/* Is the layout one at each hour of a leap year? Names of months and weekdays differ in length, so a
 * text that has room today may have none in a Wednesday of September. */
bool router_time_fits(const char *layout);

/* ---- suspects: what this router tells its table of them (router/gate/suspects.h) ---- */

/* False: nobody is counted: the queue looks for none, or the client is not known. */
SQ_CHECK bool suspecting_of(const struct route_queue *q, limit_id client, struct suspect_of *of);
/* A join has got a new place. client: as it was when that was asked for. */
void suspecting_placed(struct router *r, limit_id client, const struct flow *f);
/* Somebody says something of a ticket; polls: asks for its place. Cheap while no queue looks for suspects. */
void suspecting_heard_of(struct router *r, const struct token *t, bool polls);
static inline void suspecting_heard(struct router *r, const struct token *t, bool polls)
{
    if (SQ_UNLIKELY(r->suspects != NULL))
        suspecting_heard_of(r, t, polls);
}

#endif
